//! The statistics of a run of a few messages, against what a reader works out by hand.

mod common;

use model::{Class, DropReason};
use results::compare::By;
use results::stats::Figure;
use results::{
    Curves, FlowControl, FlowRow, OfTag, PortSeriesRow, QueueMax, RunRecord, SLOWEST_MAX, Status,
    StuckRow, Summary, Threshold, active, active_span, fct, ports_span, slowdown, telling,
    utilisation,
};
use units::{Span, Time};

/// A message of `size` bytes from `start` to `end`, in picoseconds, that an idle network delivers in 100 ps.
fn flow(message: u32, size: u64, start: Option<u64>, end: Option<u64>) -> FlowRow {
    FlowRow {
        message,
        conn: message,
        src: 0,
        dst: 1,
        size,
        start: start.map(Time),
        end: end.map(Time),
        stopped: None,
        ideal: Span(100),
        received: if end.is_some() { size } else { 0 },
        tag: 0,
        transport: 0,
        timed: false,
    }
}

fn run(flows: Vec<FlowRow>, end: u64) -> RunRecord {
    RunRecord {
        flows,
        end: Time(end),
        ..common::record("hand", "by hand", 3)
    }
}

/// One of 1000 B for 2 ns from the start, and one that has 300 of its 900 B after 3 ns, at the end of the run.
fn half_done() -> RunRecord {
    let mut open = flow(1, 900, Some(1_000), None);
    open.received = 300;
    run(vec![flow(0, 1_000, Some(0), Some(2_000)), open], 4_000)
}

const fn exact<T>(value: T) -> Figure<T> {
    Figure {
        value,
        at_least: false,
    }
}

const fn bound<T>(value: T) -> Figure<T> {
    Figure {
        value,
        at_least: true,
    }
}

#[test]
fn a_message_takes_from_its_start_to_its_end_or_to_that_of_the_run() {
    let end = Time(4_000);
    let done = flow(0, 1, Some(500), Some(750));
    assert_eq!(
        (fct(&done, end), slowdown(&done, end)),
        (Some(exact(250)), Some(exact(2.5)))
    );
    let open = flow(0, 1, Some(500), None);
    assert_eq!(
        (fct(&open, end), slowdown(&open, end)),
        (Some(bound(3_500)), Some(bound(35.0)))
    );
    let never = flow(0, 1, None, None);
    assert_eq!((fct(&never, end), slowdown(&never, end)), (None, None));
    let timed = FlowRow {
        timed: true,
        ..done
    };
    assert_eq!((fct(&timed, end), slowdown(&timed, end)), (None, None));
}

#[test]
fn goodput_is_what_came_inside_the_window_over_its_length() {
    let mut run = half_done();
    let of = |run: &RunRecord| {
        let goodput = Summary::of(run).goodput;
        goodput.map(|goodput| (goodput.bps, goodput.from_ps, goodput.until_ps))
    };
    // 1300 B in 4 ns.
    assert_eq!(of(&run), Some((2_600_000_000_000, 0, 4_000)));
    let mut inside = vec![0; run.flows.len()];
    (inside[0], inside[1]) = (500, 200);
    run.received_inside = Some(inside);
    run.window = Time(1_000)..Time(3_000);
    assert_eq!(of(&run), Some((2_800_000_000_000, 1_000, 3_000)));
    // From the last nanosecond on the window goes on in vain.
    run.window = Time(3_000)..Time(9_000);
    assert_eq!(of(&run), Some((5_600_000_000_000, 3_000, 4_000)));
    for empty in [Time(4_000)..Time(9_000), Time(2_000)..Time(2_000)] {
        run.window = empty;
        assert_eq!(of(&run), None);
    }
}

#[test]
fn a_run_is_active_from_the_first_start_to_the_last_end() {
    let told = |run: &RunRecord| (active(run), active_span(run));
    assert_eq!(
        told(&half_done()),
        (Some((Time(0), Time(4_000))), Span(4_000))
    );
    let both = [(Some(300), Some(900)), (Some(200), Some(500))];
    let both = (0..).zip(both).map(|(n, (from, to))| flow(n, 1, from, to));
    // What comes after the last message does not count.
    let done = run(both.collect(), 7_000);
    assert_eq!(told(&done), (Some((Time(200), Time(900))), Span(700)));
    let nothing = (None, Span::ZERO);
    assert_eq!(told(&run(vec![flow(0, 1, None, None)], 9)), nothing);
    assert_eq!(told(&run(vec![flow(0, 0, Some(5), Some(5))], 9)), nothing);
}

#[test]
fn fairness_is_that_of_the_mean_rates_of_counted_messages() {
    let mut run = half_done();
    // Half a byte and a tenth per picosecond: 0.6^2 / (2 * 0.26). What takes no time has no rate.
    run.flows.push(flow(2, 0, Some(10), Some(10)));
    run.flows.push(flow(3, 9, None, None));
    let fair = Summary::of(&run).fairness.unwrap();
    assert!((fair - 0.36 / 0.52).abs() < 1e-12, "{fair}");
    // The first started before the window.
    run.window = Time(1)..Time::NEVER;
    assert_eq!(Summary::of(&run).fairness, Some(1.0));
}

#[test]
fn messages_are_counted_by_what_became_of_them() {
    let mut timed = flow(4, 900, Some(1_500), Some(1_800));
    (timed.timed, timed.received) = (true, 250);
    let mut going_on = flow(5, 900, Some(1_500), None);
    going_on.timed = true;
    let flows = vec![
        flow(0, 10, Some(0), Some(500)),
        flow(1, 20, Some(1_000), Some(1_700)),
        flow(2, 40, Some(1_999), None),
        flow(3, 80, None, None),
        timed,
        going_on,
        flow(6, 160, Some(2_000), Some(2_100)),
    ];
    let mut run = run(flows, 5_000);
    run.window = Time(1_000)..Time(2_000);
    let summary = Summary::of(&run);
    let told = |warning: &String| warning.starts_with("1 of 7 messages had not started");
    assert!(summary.warnings.iter().any(told), "{:?}", summary.warnings);
    let messages = summary.messages;
    assert_eq!((messages.total, messages.counted), (7, 4));
    assert_eq!((messages.finished, messages.unfinished), (2, 1));
    assert_eq!((messages.unfinished_total, messages.not_started), (3, 1));
    // Thresholds and comparisons mean the same as the summary.
    let named = |key: &str, is: &str| Threshold::parse(key, is).unwrap().judge(&summary).passed;
    assert!(named("messages.unfinished", "== 1") && named("messages.unfinished-total", "== 3"));
    assert_eq!(
        By::Unfinished.metric().of(&summary),
        Some(Figure::exact(1.0))
    );
    assert_eq!((messages.timed, messages.bytes), (2, 20 + 40 + 250));
}

/// A message that has not ended has taken less than its time in an idle network so far; it will not have in the end.
#[test]
fn no_bound_of_a_slowdown_is_below_one() {
    let late = flow(0, 10, Some(1_000), None);
    let ideal = late.ideal.0;
    for (took, bound) in [(ideal / 2, 1.0), (ideal * 3, 3.0)] {
        let found = slowdown(&late, Time(1_000 + took)).unwrap();
        let off = (found.value - bound).abs();
        assert!(found.at_least && off < 1e-9, "{found:?}");
    }
}

#[test]
fn a_size_on_the_edge_belongs_to_the_smaller_messages() {
    let edges = [
        0, 1, 10_000, 10_001, 100_000, 100_001, 1_000_000, 1_000_001, 5_000_000,
    ];
    let flows = (0..).zip(edges);
    let mut flows: Vec<FlowRow> = flows
        .map(|(n, size)| flow(n, size, Some(0), Some(200 + u64::from(n))))
        .collect();
    (flows[8].end, flows[8].received) = (None, 0);
    let bins = Summary::of(&run(flows, 900)).sizes;
    let told: Vec<_> = bins
        .iter()
        .map(|bin| (bin.name.as_str(), bin.above, bin.messages, bin.unfinished))
        .collect();
    let expected = [
        ("all", 0, 9, 1),
        ("s", 0, 3, 0),
        ("m", 10_000, 2, 0),
        ("l", 100_000, 2, 0),
        ("xl", 1_000_000, 2, 1),
    ];
    assert_eq!(told, expected);
    let slowest = |bin: usize| bins[bin].fct_ps.unwrap().max;
    assert_eq!(slowest(1), exact(202));
    assert_eq!(slowest(2), exact(204));
    assert_eq!((slowest(4), slowest(0)), (bound(900), bound(900)));
    for (bin, alone) in bins.iter().zip([true, false, false, false, false]) {
        assert_eq!(bin.is_all(), alone, "{}", bin.name);
    }
}

#[test]
fn the_slowest_come_first_and_equals_by_number() {
    let flows = (0..30).map(|n| flow(n, 1, Some(0), Some(100 * (1 + u64::from(n) / 2))));
    let slowest = Summary::of(&run(flows.collect(), 9_000)).slowest;
    let numbers: Vec<u32> = slowest.iter().map(|slow| slow.message).collect();
    assert_eq!(numbers.len(), SLOWEST_MAX);
    assert_eq!(numbers[..5], [28, 29, 26, 27, 24]);
    assert_eq!(
        (slowest[0].slowdown, slowest[0].fct_ps),
        (exact(15.0), exact(1_500))
    );
}

#[test]
fn as_many_messages_as_are_listed_are_all_among_the_slowest() {
    let listed = u32::try_from(SLOWEST_MAX).unwrap();
    let flows = (0..listed).map(|n| flow(n, 1, Some(0), Some(200)));
    let slowest = Summary::of(&run(flows.collect(), 9_000)).slowest;
    assert_eq!(slowest.len(), SLOWEST_MAX);
}

#[test]
fn messages_left_without_an_excuse_break_a_run_and_are_named() {
    let mut run = half_done();
    run.stuck.push(StuckRow {
        host: 2,
        conn: 1,
        state: "sender".into(),
        waits_for: "a credit".into(),
    });
    for (status, broken) in [
        (Status::Complete, false),
        (Status::Interrupted, false),
        (Status::Stuck, true),
        (Status::Unfinished, true),
    ] {
        run.status = status;
        let summary = Summary::of(&run);
        let named: Vec<_> = summary
            .stuck
            .iter()
            .map(|row| (row.host, row.conn))
            .collect();
        let expected: &[(u32, u32)] = if broken { &[(2, 1)] } else { &[] };
        assert_eq!(
            (summary.broken(), &named[..]),
            (broken, expected),
            "{status:?}"
        );
    }
    run.status = Status::Complete;
    run.conservation = Err("one packet is missing".into());
    assert!(Summary::of(&run).broken());
}

#[test]
fn a_window_without_an_end_has_none() {
    let mut run = half_done();
    assert_eq!(Summary::of(&run).window_ps, (0, None));
    run.window = Time(5)..Time(3_000);
    assert_eq!(Summary::of(&run).window_ps, (5, Some(3_000)));
}

#[test]
fn a_summary_that_does_not_name_its_credits_calls_them_so() {
    let mut told = serde_json::to_value(Summary::of(&half_done())).unwrap();
    let named = told.as_object_mut().unwrap().remove("credit");
    assert_eq!(named, Some("credit".into()));
    let read: Summary = serde_json::from_value(told).unwrap();
    assert_eq!(read.credit, "credit");
}

#[test]
fn a_tag_takes_from_its_first_start_to_its_last_end_and_names_its_stragglers() {
    let ends = [(100, 200), (150, 250), (150, 350), (100, 301)];
    let mut flows: Vec<FlowRow> = (0..)
        .zip(ends)
        .map(|(n, (from, to))| flow(n, 7, Some(from), Some(to)))
        .collect();
    flows.push(FlowRow {
        tag: 1,
        ..flow(4, 9, Some(400), None)
    });
    let mut run = run(flows, 1_000);
    run.tags = vec!["rpc".into(), "bulk".into(), "nobody".into()];
    let tags = Summary::of(&run).tags;
    let told = |n: usize| {
        let tag = &tags[n];
        (tag.messages, tag.bytes, tag.unfinished, tag.stragglers)
    };
    assert_eq!(tags.len(), 2, "a tag of no message is not told of");
    // They take 100, 100, 200 and 201 ps: more than twice the median is the last alone.
    assert_eq!((told(0), tags[0].took_ps), ((4, 28, 0, 1), exact(250)));
    assert_eq!((told(1), tags[1].took_ps), ((1, 9, 1, 0), bound(600)));
}

#[test]
fn the_tag_that_lacks_messages_comes_first_and_then_the_one_with_the_longest_tail() {
    let ends = [Some(200), Some(900), None, Some(500)];
    let flows = (0u16..).zip(ends).map(|(tag, end)| FlowRow {
        tag,
        ..flow(u32::from(tag), 7, Some(100), end)
    });
    let mut run = run(flows.collect(), 300);
    run.tags = ["fast", "slow", "open", "middling"]
        .map(String::from)
        .to_vec();
    let mut tags = Summary::of(&run).tags;
    let told = |tags: &[OfTag]| -> Vec<String> {
        telling(tags).iter().map(|tag| tag.name.clone()).collect()
    };
    let expected = ["open", "slow", "middling", "fast"];
    assert_eq!(told(&tags), expected);
    tags.reverse();
    assert_eq!(told(&tags), expected, "whatever their numbers are");
}

#[test]
fn several_transports_are_told_of_each_by_itself() {
    let mut open = flow(1, 900, Some(1_000), None);
    (open.received, open.transport) = (300, 1);
    let mut run = run(vec![flow(0, 1_000, Some(0), Some(2_000)), open], 4_000);
    assert!(Summary::of(&run).transports.is_empty(), "one is the run");
    run.transports.push("dctcp".into());
    let told: Vec<_> = Summary::of(&run)
        .transports
        .iter()
        .map(|of| (of.messages, of.finished, of.goodput_bps))
        .collect();
    // Over the 4 ns of the run: 1000 B and 300 B.
    assert_eq!(
        told,
        [
            (1, 1, Some(2_000_000_000_000)),
            (1, 0, Some(600_000_000_000))
        ]
    );
}

#[test]
fn what_was_lost_is_summed_over_ports_and_credits_stand_apart() {
    let mut run = half_done();
    for (link, n) in [(1, 3), (3, 4)] {
        let port = &mut run.ports[link];
        port.dropped[Class::Credit] = 10 * n;
        port.dropped[Class::Plain] = n;
        port.dropped[Class::Control] = 1;
        port.drop_reasons[DropReason::CreditFull] = 10 * n;
        port.drop_reasons[DropReason::Full] = n + 1;
        port.lost[Class::Credit] = 100 * n;
        port.marked = 5 * n;
        port.copied[Class::Plain] = n;
    }
    (run.totals.credits_received, run.totals.credits_wasted) = (8, 2);
    let summary = Summary::of(&run);
    let drops = &summary.drops;
    assert_eq!((drops.total, drops.data), (79, 9));
    let of = |class: Class| (drops.by_class[class.name()], drops.faults[class.name()]);
    assert_eq!(
        [Class::Credit, Class::Plain, Class::Control].map(of),
        [(70, 700), (7, 0), (2, 0)]
    );
    let why = |reason: DropReason| drops.by_reason[reason.name()];
    assert_eq!(
        (why(DropReason::CreditFull), why(DropReason::Full)),
        (70, 9)
    );
    assert_eq!((summary.packets.marked, summary.packets.copied), (35, 7));
    assert_eq!(
        (summary.credits.dropped_on_way, summary.credits.waste),
        (770, Some(0.25))
    );
    assert_eq!(summary.credits.used(), 6);
    assert_eq!(
        Summary::of(&half_done()).credits.waste,
        None,
        "nobody got any"
    );
}

#[test]
fn control_packets_are_a_share_of_every_line_and_the_first_of_the_busiest_is_named() {
    let mut run = half_done();
    // In 4 ns a line of 100 Gb/s takes 50 B; of six links two carry 10 B, and one 5 B.
    for (link, bytes) in [(2, 10), (4, 10), (5, 5)] {
        run.ports[link].bytes[Class::Control] = bytes;
        run.ports[link].packets[Class::Control] = 1;
    }
    let control = Summary::of(&run).control;
    assert_eq!(
        (control.packets, control.bytes),
        (2, 20),
        "hosts put them there"
    );
    assert!((control.share_max - 0.2).abs() < 1e-12);
    assert!((control.share_mean - 0.5 / 6.0).abs() < 1e-12);
    assert_eq!(control.busiest, run.ports[2].name());
    assert_eq!(Summary::of(&half_done()).control.busiest, "");
}

#[test]
fn a_group_of_links_has_the_mean_and_the_most_of_its_lines() {
    let mut run = half_done();
    for (link, bytes, queue) in [(0, 10, 0), (1, 20, 7), (3, 50, 9), (5, 50, 8)] {
        run.ports[link].bytes[Class::Plain] = bytes;
        run.ports[link].queue_max = queue;
    }
    run.ports[5].dropped[Class::Plain] = 3;
    run.ports[1].dropped[Class::Credit] = 4;
    let links = Summary::of(&run).links;
    let (up, down) = (&links[0], &links[1]);
    assert_eq!(
        (up.name.as_str(), up.links, up.queue_max),
        ("host -> tor", 3, 0)
    );
    assert_eq!((down.links, down.queue_max, down.dropped), (3, 9, 3));
    assert_eq!(
        down.busiest,
        run.ports[3].name(),
        "of equals the first is named"
    );
    assert!((up.utilisation_mean - 0.2 / 3.0).abs() < 1e-12);
    assert!((down.utilisation_mean - 0.8).abs() < 1e-12);
    assert!((down.utilisation_max - 1.0).abs() < 1e-12);
    // 50 B take 4 ns: more than the 2 ns in which messages are under way now, and as long as the run goes on.
    run.flows[1].end = Some(Time(2_000));
    run.flows[1].received = 900;
    let links = Summary::of(&run).links;
    assert!((links[1].utilisation_max - 1.0).abs() < 1e-12);
}

#[test]
fn what_comes_after_the_last_message_makes_no_line_idle() {
    let mut run = run(vec![flow(0, 1_000, Some(0), Some(2_000))], 4_000);
    run.ports[1].bytes[Class::Plain] = 25;
    assert_eq!(ports_span(&run), Span(2_000));
    // More than fits into the time of the message has left after it.
    run.ports[1].bytes[Class::Plain] = 26;
    assert_eq!(ports_span(&run), Span(4_000));
}

#[test]
fn of_a_frame_on_the_line_at_either_end_counts_what_is_within() {
    let mut port = half_done().ports.swap_remove(1);
    // 40 B take 3.2 ns of 4; 0.4 ns of one more are ahead, and 0.8 ns of the last one come afterwards.
    port.bytes[Class::Plain] = 40;
    (port.ahead, port.rest) = (Span(400), Span(800));
    let busy = utilisation(&port, Span(4_000));
    assert!((busy - 0.7).abs() < 1e-12, "{busy}");
}

#[test]
fn the_port_that_held_the_most_data_is_named_where_that_was_asked_for() {
    let mut run = half_done();
    let told = |run: &RunRecord| Summary::of(run).data_queue_max;
    assert_eq!(told(&run), None);
    for (link, most) in [(1, 700), (3, 900), (5, 900)] {
        run.ports[link].data_max = Some(most);
    }
    let port = run.ports[3].name();
    assert_eq!(told(&run), Some(QueueMax { bytes: 900, port }));
}

#[test]
fn pauses_are_summed_over_ports_and_the_longest_stands_apart() {
    let mut run = half_done();
    for (link, n) in [(0, 1), (3, 4)] {
        let port = &mut run.ports[link];
        (port.pauses, port.headroom_max) = (n, 100 * n);
        (port.paused, port.pause_longest) = (Span(50 * n), Span(20 * n));
    }
    assert!(Summary::of(&run).flow_control.is_none(), "nobody pauses");
    run.flow_control = Some(FlowControl {
        name: "pfc".into(),
        counts: vec![("resumes".into(), 3)],
    });
    let told = Summary::of(&run).flow_control.unwrap();
    assert_eq!((told.name.as_str(), told.counts["resumes"]), ("pfc", 3));
    assert_eq!((told.pauses, told.paused_ps), (5, 250));
    assert_eq!((told.longest_ps, told.headroom_max), (80, 400));
}

#[test]
fn a_counter_is_summed_over_the_hosts_of_its_transport_alone() {
    const fn counter(name: &'static str) -> model::Counter {
        model::Counter {
            name,
            unit: "packets",
            meaning: "What a test says.",
            hashed: false,
        }
    }
    static KEPT: model::Counter = counter("kept");
    static LEFT: model::Counter = counter("left");
    let mut run = half_done();
    run.transports.push("dctcp".into());
    let counts = [(0, 1, 5, 1), (0, 0, 10, 2), (1, 1, 20, 3), (1, 0, 40, 4)];
    let of = |(host, transport, kept, left)| model::HostCounts {
        host,
        transport,
        totals: model::Totals::default(),
        own: vec![(&KEPT, kept), (&LEFT, left)],
    };
    run.counts = counts.map(of).to_vec();
    let counters = Summary::of(&run).counters;
    let told: Vec<_> = counters
        .iter()
        .map(|sum| (sum.transport.as_str(), sum.name.as_str(), sum.value))
        .collect();
    let expected = [
        ("expresspass", "kept", 50),
        ("expresspass", "left", 6),
        ("dctcp", "kept", 25),
        ("dctcp", "left", 4),
    ];
    assert_eq!(told, expected);
}

/// What ports 0 (of a host), 1 and 3 held every nanosecond from the start of the run on.
fn sampled(run: &mut RunRecord, queues: &[[u64; 3]]) {
    for (at, queues) in (0..).zip(queues) {
        let row = |(link, &queue): (u32, &u64)| PortSeriesRow {
            at: Time(at * 1_000),
            link,
            queue,
            credits: 0,
            sent: model::ByClass::default(),
            marked: 0,
            dropped: model::ByClass::default(),
        };
        let rows: Vec<_> = [0, 1, 3].into_iter().zip(queues).map(row).collect();
        run.port_series.push(Time(at * 1_000), rows.into_iter());
    }
}

fn queue_of(run: &RunRecord) -> Option<(u64, u64, Vec<u64>)> {
    let queue = Curves::of(run, &Summary::of(run)).queue?;
    Some((queue.from_ps, queue.until_ps, queue.most))
}

#[test]
fn a_curve_of_queues_has_the_fullest_port_of_a_switch_while_messages_are_under_way() {
    let flows = vec![flow(0, 1_000, Some(1_000), Some(5_000))];
    let mut run = run(flows, 7_000);
    assert_eq!(queue_of(&run), None, "no port was sampled");
    let queues = [
        [90, 70, 70],
        [90, 10, 0],
        [90, 10, 20],
        [90, 30, 20],
        [90, 0, 0],
        [90, 40, 50],
        [90, 60, 80],
    ];
    sampled(&mut run, &queues);
    assert_eq!(
        queue_of(&run),
        Some((1_000, 5_000, vec![10, 20, 30, 0, 50]))
    );
    let (start, end) = (run.flows[0].start, run.flows[0].end);
    (run.flows[0].start, run.flows[0].end) = (Some(Time(1_500)), Some(Time(3_500)));
    assert_eq!(queue_of(&run), Some((1_500, 3_500, vec![20, 30])));
    run.flows[0].end = Some(Time(2_500));
    assert_eq!(queue_of(&run), None, "one moment is no curve");
    (run.flows[0].start, run.flows[0].end) = (start, end);
    for link in [1, 3] {
        run.ports[link].from_tier = 0;
    }
    assert_eq!(queue_of(&run), None, "no port of a switch was sampled");
}

#[test]
fn a_curve_of_queues_keeps_the_most_of_moments_that_it_puts_together() {
    let mut run = run(vec![flow(0, 1_000, Some(0), Some(319_000))], 400_000);
    let queues: Vec<[u64; 3]> = (0..320).map(|n| [0, n, 320 - n]).collect();
    sampled(&mut run, &queues);
    let (_, _, most) = queue_of(&run).unwrap();
    let expected = (0..160).map(|n| (2 * n + 1).max(320 - 2 * n));
    assert_eq!(most, expected.collect::<Vec<u64>>());
}

#[test]
fn curves_have_the_quantiles_of_every_range_with_messages() {
    let run = half_done();
    let summary = Summary::of(&run);
    let curves = Curves::of(&run, &summary);
    let at = |share: u32| curves.shares.iter().position(|&at| at == share).unwrap();
    let (least, most) = (at(0), at(10_000));
    let told: Vec<_> = curves
        .sizes
        .iter()
        .map(|of| {
            (
                of.name.as_str(),
                of.messages,
                of.fct_ps[least],
                of.fct_ps[most],
            )
        })
        .collect();
    // Both are small; the open one took the 3 ns up to the end of the run, at least.
    assert_eq!(told, [("all", 2, 2_000, 3_000), ("s", 2, 2_000, 3_000)]);
    let all = &curves.sizes[0];
    assert_eq!(
        (all.fct_exact, all.slowdown_exact),
        (at(5_000) + 1, at(5_000) + 1)
    );
    assert_eq!(all.ideal_ps, vec![100; curves.shares.len()]);
    assert_eq!(all.label, "all sizes");
}

#[test]
fn data_that_a_receiver_had_to_drop_is_a_warning() {
    static NOT_KEPT: model::Counter = model::Counter {
        name: "not_kept",
        unit: "packets",
        meaning: "Data that was missing and was dropped.",
        hashed: false,
    };
    let dropped = |packets: u64| {
        let mut run = run(vec![flow(0, 1, Some(0), Some(100))], 9_000);
        run.counts = [0, 1]
            .map(|host| model::HostCounts {
                host,
                transport: 0,
                totals: model::Totals::default(),
                own: vec![(&NOT_KEPT, packets)],
            })
            .to_vec();
        let warnings = Summary::of(&run).warnings.into_iter();
        warnings
            .filter(|said| said.contains("(not_kept)"))
            .collect::<Vec<_>>()
    };
    assert_eq!(dropped(0), [""; 0]);
    let said = dropped(600).concat();
    assert!(
        said.contains("receivers of expresspass dropped 1,200 packets of data"),
        "{said}"
    );
    assert!(said.ends_with("send shorter messages"), "{said}");
}

#[test]
fn what_the_numbers_say_of_themselves_is_a_warning() {
    let says = |run: &RunRecord, what: &str| {
        let warnings = Summary::of(run).warnings;
        warnings.iter().any(|warning| warning.contains(what))
    };
    let early = "1 message finished faster than an idle network allows";
    let took = |ps| run(vec![flow(0, 1, Some(0), Some(ps))], 9_000);
    assert!(says(&took(99), early) && !says(&took(100), "faster"));
    assert!(says(&half_done(), "1 of 2 counted messages did not finish"));
    assert!(!says(&half_done(), "had not started"));
    assert!(!says(&took(100), "did not finish"));
    let mut outside = took(100);
    outside.window = Time(1)..Time(5);
    assert!(says(&outside, "widen run.window"));
    let never = run(vec![flow(0, 1, None, None)], 9);
    assert!(says(&never, "raise run.until") && !says(&never, "widen"));
    assert!(!says(&never, "had not started"), "that is said already");
}
