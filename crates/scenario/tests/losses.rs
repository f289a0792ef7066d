//! What a run loses or leaves unfinished is kept small where that is promised, and said in full where it is not.

mod common;

use model::{Class, DropReason};
use results::trace::Part;
use results::{RunRecord, Status, Summary};
use scenario::{Alone, Assembled, load_text};
use units::{Span, Time};

fn assembled(text: &str, sets: &[&str]) -> Assembled {
    let sets: Vec<_> = sets.iter().map(|s| (*s).to_owned()).collect();
    let scenario = load_text("t.toml", text, &sets).unwrap_or_else(|e| panic!("{e}"));
    scenario.assemble().unwrap_or_else(|e| panic!("{e}"))
}

fn run(text: &str, sets: &[&str]) -> RunRecord {
    let of = assembled(text, sets);
    let record = of.run(1, "", &mut Alone);
    record.unwrap_or_else(|e| panic!("{e}"))
}

fn refused(text: &str, sets: &[&str]) -> String {
    let sets: Vec<_> = sets.iter().map(|s| (*s).to_owned()).collect();
    let read = load_text("t.toml", text, &sets);
    match read.and_then(scenario::Scenario::assemble) {
        Ok(_) => panic!("accepted: {sets:?}"),
        Err(errors) => errors.render(false),
    }
}

fn data_dropped(record: &RunRecord) -> u64 {
    let data = [Class::Scheduled, Class::Unscheduled, Class::Plain];
    let ports = record.ports.iter();
    ports
        .flat_map(|port| data.map(|class| port.dropped[class]))
        .sum()
}

fn said(record: &RunRecord, part: &str) -> bool {
    record.warnings.iter().any(|warning| warning.contains(part))
}

/// A pause goes out as slowly as the one way of a cable is, while the other brings as much as ever.
#[test]
fn a_cable_that_is_slow_one_way_loses_nothing_either() {
    for slow in ["tor0 -> *", "* -> tor0", "spine0 -> *", "tor0 <-> *"] {
        for rate in ["50Gbps", "1Gbps"] {
            let text = format!(
                "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 4\nslow = \"{slow}\"\n\
                 slow_rate = \"{rate}\"\n[workload]\nkind = \"all-to-all\"\nsize = \"200KB\"\n[transport]\n\
                 kind = \"none\"\n"
            );
            for control in ["pfc", "cbfc"] {
                let record = run(&text, &[&format!("switch.flow_control={control}")]);
                let all = format!("{control}, {slow} at {rate}: {:?}", record.warnings);
                assert_eq!(
                    (record.status, data_dropped(&record)),
                    (Status::Complete, 0),
                    "{all}"
                );
            }
        }
    }
}

/// A queue that takes several priorities heeds the pauses and the credits of each.
#[test]
fn bursts_in_a_queue_of_several_priorities_lose_nothing_under_pauses_of_priorities() {
    let text = "[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 3\nhosts_per_leaf = 4\n[workload]\n\
                kind = \"all-to-all\"\nsize = \"100KB\"\n[transport]\nkind = \"homa+gaps\"\n";
    for (control, set) in [
        ("pfc", "switch.pfc.lossless=8"),
        ("pfc", "switch.pfc.xoff=4KB"),
        ("cbfc", "switch.cbfc.lanes=8"),
        ("cbfc", "switch.cbfc.lanes=5"),
    ] {
        let kind = format!("switch.flow_control={control}");
        let mut sets = vec![kind.as_str(), set];
        if control == "pfc" {
            sets.push("switch.pfc.lossless=8");
        }
        let record = run(text, &sets);
        let all = format!("{sets:?}: {:?}", record.warnings);
        assert_eq!(
            (record.status, data_dropped(&record)),
            (Status::Complete, 0),
            "{all}"
        );
    }
}

/// Fast hosts, one slow line, and far more from a transport without control than a port of its own would hold.
const BESIDE: &str = "[topology]\nkind = \"dumbbell\"\npairs = 7\nhost_rate = \"400Gbps\"\n\
    bottleneck_rate = \"40Gbps\"\n[[workload]]\nkind = \"permutation\"\nsize = \"127KB\"\n[[workload]]\n\
    kind = \"incast\"\nsenders = 17\nsize = \"700KB\"\nreceiver = 13\ntransport = \"none\"\n[switch]\n\
    flow_control = \"pfc\"\n";

#[test]
fn a_transport_beside_another_loses_nothing_under_a_flow_control_either() {
    for own in [
        "dctcp",
        "homa",
        "phost",
        "sird",
        "dcpim",
        "fastpass",
        "expresspass",
    ] {
        for control in ["pfc", "cbfc"] {
            let sets = [
                format!("transport.kind={own}"),
                format!("switch.flow_control={control}"),
                "switch.legacy.queue=own".to_owned(),
                "switch.pfc.lossless=8".to_owned(),
            ];
            let record = run(BESIDE, &sets.each_ref().map(String::as_str));
            let what = format!("{own} under {control}");
            assert_eq!(record.status, Status::Complete, "{what}");
            assert_eq!(data_dropped(&record), 0, "{what}");
            let memory = "is to lose none of";
            assert!(!said(&record, memory), "{what}: {:?}", record.warnings);
        }
    }
}

#[test]
fn what_cannot_be_without_loss_beside_another_transport_is_refused() {
    let own = "switch.legacy.queue=own";
    let dctcp = "transport.kind=dctcp";
    let limit = refused(BESIDE, &[dctcp, own, "switch.legacy.buffer=1MB"]);
    assert!(
        limit.contains("a limit of its own drops what pfc"),
        "{limit}"
    );
    for control in ["ideal", "bfc", "aquarius"] {
        let control = format!("switch.flow_control={control}");
        let flows = refused(BESIDE, &[dctcp, own, &control]);
        assert!(flows.contains("makes its own of one"), "{flows}");
        // As it says, one queue of both works.
        for own in [dctcp, "transport.kind=expresspass"] {
            let shared = [own, "switch.legacy.queue=shared", &control];
            let record = run(BESIDE, &shared);
            let came = (record.status, data_dropped(&record));
            assert_eq!(came, (Status::Complete, 0), "{shared:?}");
        }
    }
    // And what was resolved is read again.
    let resolved = assembled(BESIDE, &[dctcp, own]).scenario.resolved_toml();
    let again = assembled(&resolved, &[]).scenario.resolved_toml();
    assert_eq!(again, resolved);
}

/// Half of what switches say to hosts is lost, frames of a flow control alone.
const UNHEARD: &str = "[topology]\nkind = \"star\"\nhosts = 4\n[[workload]]\nkind = \"incast\"\nsenders = 3\n\
    size = \"200KB\"\n[transport]\nkind = \"none\"\n[switch]\nflow_control = \"bfc\"\n[run]\nseed = 3\n\
    [[faults]]\nkind = \"loss\"\nclass = \"link\"\nlink = \"tor0 -> *\"\nchance = 0.5\n";

#[test]
fn what_arrived_of_a_message_is_known_whoever_ended_the_run() {
    let given = run(UNHEARD, &["run.until=9s"]);
    let default = run(UNHEARD, &[]);
    assert_eq!(default.status, Status::Unfinished);
    assert_eq!(given.fingerprint, default.fingerprint);
    let received = |of: &RunRecord| of.flows.iter().map(|f| f.received).collect::<Vec<_>>();
    assert_eq!(received(&given), received(&default));
    let open = default.flows.iter().filter(|flow| flow.end.is_none());
    let part: Vec<_> = open.map(|flow| (flow.received, flow.size)).collect();
    assert!(!part.is_empty(), "every message finished");
    for (received, size) in part {
        assert!(0 < received && received < size, "{received} of {size} B");
    }
}

/// A receiver that gives a message up forgets what it had, and the next one begins without it.
#[test]
fn what_a_receiver_has_forgotten_has_not_arrived() {
    let text = "[topology]\nkind = \"star\"\nhosts = 2\n[[workload]]\nkind = \"incast\"\nsenders = 1\nsize = \"4KB\"\n\
                [transport]\nkind = \"homa\"\n[[faults]]\nkind = \"loss\"\nlink = \"* -> *\"\nchance = 0.8\n[run]\nseed = 3\n";
    for (until, received) in [("10s", 2540), ("19s", 1460), ("60s", 0)] {
        let record = run(text, &[&format!("run.until={until}")]);
        let flow = &record.flows[0];
        assert_eq!((flow.end, flow.received), (None, received), "{until}");
    }
}

#[test]
fn an_unfinished_message_has_waited_until_the_end_that_was_asked_for() {
    let cut_off = "[topology]\nkind = \"star\"\nhosts = 2\n[[workload]]\nkind = \"permutation\"\n\
        size = \"9KB\"\n[transport]\nkind = \"homa\"\n[[faults]]\nkind = \"down\"\nlink = \"* <-> *\"\n\
        from = \"3.3us\"\n";
    for (text, sets, until) in [
        (cut_off, &["run.until=5ms"][..], Span::ms(5)),
        (cut_off, &[], Span::ms(10_000)),
        (UNHEARD, &[], Span::ms(10_000)),
        (UNHEARD, &["run.until=50ms"], Span::ms(50)),
    ] {
        let of = assembled(text, sets);
        let record = of.run(1, "", &mut Alone).unwrap_or_else(|e| panic!("{e}"));
        let open = record.flows.iter().find(|flow| flow.end.is_none());
        let open = open.unwrap_or_else(|| panic!("every message finished: {sets:?}"));
        let waited = until.0 - open.start.map_or(0, |at| at.0);
        let took = results::fct(open, record.end).map(|took| (took.value, took.at_least));
        assert_eq!(took, Some((waited, true)), "{sets:?}");
        let summary = Summary::of(&record);
        assert_eq!(summary.end_ps, until.0, "{sets:?}");
        assert!(summary.slowest[0].slowdown.value > 100.0, "{sets:?}");
        let again = of.explain(1, &[open.message], Time::ZERO, Time::NEVER, &mut Alone);
        let (whys, _) = again.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(whys[0].end_ps - whys[0].start_ps, waited, "{sets:?}");
        let parts: u64 = whys[0].parts.iter().map(|part| part.ps).sum();
        assert_eq!(parts, waited, "{sets:?}: parts add up");
        // Whoever asked for a pause that never ended is named.
        let paused = whys[0].path.iter().filter(|s| s.part == Part::Paused);
        let long = paused.filter(|s| s.until_ps - s.from_ps > waited / 2);
        let by: Vec<_> = long.map(|segment| segment.place.as_str()).collect();
        assert_eq!(by.len(), usize::from(text == UNHEARD), "{sets:?}: {by:?}");
        let names = |place: &&str| place.starts_with("tor0 (h") && place.contains("-> tor0, flow");
        assert!(by.iter().all(names), "{by:?}");
    }
}

#[test]
fn lost_frames_of_a_flow_control_are_said_with_what_helps() {
    for (control, helps) in [
        ("bfc", "switch.bfc.signals=periodic"),
        ("aquarius", "switch.aquarius.refresh=20us"),
        ("pfc", "switch.pfc.pause_time=100us"),
        ("ideal", ""),
    ] {
        let set = format!("switch.flow_control={control}");
        let seeds = ["run.seed=1", "run.seed=3", "run.seed=4", "run.seed=5"];
        let more = [
            "workload.size=2MB",
            "run.until=20ms",
            "switch.shared_buffer=12MB",
        ];
        let sets = |seed| [&more[..], &[seed, &set]].concat();
        let runs = seeds.map(|seed| (seed, run(UNHEARD, &sets(seed))));
        let cut = runs
            .iter()
            .find(|(_, of)| of.flows.iter().any(|f| f.end.is_none()));
        let (seed, cut) = cut.unwrap_or_else(|| panic!("{control}: no resume was lost"));
        let ends = "a pause whose resume is lost never ends";
        let before = |sets: &[&str]| assembled(UNHEARD, sets).may_stop();
        let told = before(&sets(seed)).unwrap_or_default();
        assert!(
            told.contains(&format!("may lose frames of {control}: {ends}")),
            "{told}"
        );
        assert_eq!(
            before(&[&sets(seed)[..], &["faults.class=credit"]].concat()),
            None
        );
        let frames = format!("of {control}: {ends}");
        assert!(said(cut, &frames), "{control}: {:?}", cut.warnings);
        assert!(!said(cut, "give them more time"), "{:?}", cut.warnings);
        if helps.is_empty() {
            continue;
        }
        let key = helps.split('=').next().expect("a key");
        assert!(said(cut, key), "{control}: {:?}", cut.warnings);
        assert_eq!(before(&[&sets(seed)[..], &[helps]].concat()), None);
        let healed = run(UNHEARD, &[&sets(seed)[..], &[helps]].concat());
        assert_eq!(healed.status, Status::Complete, "{control}");
        assert!(!said(&healed, "never ends"), "{:?}", healed.warnings);
    }
}

#[test]
fn what_a_small_memory_loses_under_a_flow_control_is_said() {
    for control in ["bfc", "aquarius", "ideal"] {
        let sets = [
            format!("switch.flow_control={control}"),
            "switch.legacy.queue=shared".to_owned(),
            "transport.kind=none".to_owned(),
            "switch.shared_buffer=200KB".to_owned(),
        ];
        let text = BESIDE.replace("transport = \"none\"\n", "");
        let text = text.as_str();
        let sets = [&sets[0], &sets[2], &sets[3]].map(String::as_str);
        let record = run(text, &sets);
        assert!(data_dropped(&record) > 0, "{control}: nothing was lost");
        let loss = format!("that {control} is to lose none of, shared memory full");
        assert!(said(&record, &loss), "{control}: {:?}", record.warnings);
        let enough = run(text, &[&sets[..], &["switch.shared_buffer=50MB"]].concat());
        assert_eq!(data_dropped(&enough), 0, "{control}");
        assert!(!said(&enough, "lose none of"), "{:?}", enough.warnings);
    }
    let text = BESIDE.replace("transport = \"none\"\n", "");
    let none = [
        "transport.kind=none",
        "switch.pfc.headroom=1600B",
        "switch.pfc.xoff=84B",
        "run.until=1ms",
    ];
    let record = run(&text, &none);
    let headroom = record
        .ports
        .iter()
        .map(|port| port.drop_reasons[DropReason::Headroom]);
    assert!(headroom.sum::<u64>() > 0);
    assert!(said(&record, "remove it"), "{:?}", record.warnings);
    let nobody = refused(&text, &["switch.pfc.headroom=0B"]);
    assert!(nobody.contains("holds none of 1.538KB"), "{nobody}");
    // Eight ports may hold more than there is, and nothing is lost.
    let promised = [
        "transport.kind=none",
        "switch.pfc.xoff=1MB",
        "switch.shared_buffer=3MB",
    ];
    let record = run(&text, &promised);
    assert_eq!(
        (record.status, data_dropped(&record)),
        (Status::Complete, 0)
    );
    assert!(!said(&record, "lose none of"), "{:?}", record.warnings);
}

/// Links of half a continent, and room for all.
const FAR: &str = "[topology]\nkind = \"star\"\nhosts = 5\nhost_rate = \"25Gbps\"\n[switch]\nbuffer = \"100MB\"\n\
    [[workload]]\nkind = \"permutation\"\nsize = \"100KB\"\n[[workload]]\nkind = \"all-to-all\"\nsize = \"5KB\"\n";

#[test]
fn far_away_nobody_takes_the_way_for_a_loss_or_the_run_says_so() {
    for transport in transports::registry().iter() {
        let name = transport.name();
        for delay in ["1ms", "5ms"] {
            let sets = [
                format!("transport.kind={name}"),
                format!("topology.host_delay={delay}"),
            ];
            let sets = sets.each_ref().map(String::as_str);
            if (name, delay) == ("fastpass", "5ms") {
                let why = refused(FAR, &sets);
                assert!(why.contains("every one would be over"), "{why}");
                continue;
            }
            let record = run(FAR, &sets);
            let what = format!("{name}, {delay}");
            assert_eq!(record.status, Status::Complete, "{what}");
            if data_dropped(&record) > 0 {
                continue; // what switches drop first is missed and sent again
            }
            let totals = &record.totals;
            // A first window beside others may be late, and leave again for credit.
            let silent = totals.timeouts == 0 && (totals.retransmitted == 0 || name.contains('+'));
            let warned = said(&record, "what is on its way counts as lost");
            assert!(silent || warned, "{what}: {totals:?}");
            assert!(!(silent && warned), "{what}: it says what does not happen");
        }
    }
}

#[test]
fn an_arbiter_looks_at_least_as_far_ahead_as_its_words_travel() {
    let sets = [
        "transport.kind=fastpass",
        "transport.fastpass.lead=65us",
        "topology.host_delay=50us",
    ];
    let record = run(FAR, &sets);
    let lost = data_dropped(&record) + record.totals.retransmitted;
    assert_eq!((record.status, lost), (Status::Complete, 0));
}

#[test]
fn more_time_is_no_vain_advice_where_it_helps() {
    // The second round begins a while after the first has ended, which is longer than the run.
    let rounds = "[topology]\nkind = \"star\"\nhosts = 3\n[workload]\nkind = \"incast-rr\"\nsenders = 2\nsize = \"20KB\"\n\
                  rounds = 4\ngap = \"30s\"\n[transport]\nkind = \"dctcp\"\n";
    let record = run(rounds, &[]);
    assert_eq!(record.status, Status::Unfinished);
    assert!(!said(&record, "hardly help"), "{:?}", record.warnings);
    // One frame takes 12 s of a line of 1 Kb/s.
    let slow = "[topology]\nkind = \"star\"\nhosts = 2\nslow = \"tor0 -> h0\"\nslow_rate = \"1Kbps\"\n[workload]\n\
                kind = \"permutation\"\nsize = \"1460B\"\n[transport]\nkind = \"none\"\n";
    let record = run(slow, &[]);
    assert_eq!(record.status, Status::Unfinished);
    assert!(
        said(&record, "give them more time"),
        "{:?}",
        record.warnings
    );
    // Seven of ten frames are lost, and the message ends after 32.7 s.
    let lossy = "[topology]\nkind = \"star\"\nhosts = 2\n[workload]\nkind = \"incast\"\nsenders = 1\nsize = \"4KB\"\n\
                 [transport]\nkind = \"expresspass\"\n[[faults]]\nkind = \"loss\"\nlink = \"* -> *\"\nchance = 0.7\n";
    let record = run(lossy, &[]);
    assert_eq!(record.status, Status::Unfinished);
    let advised = said(&record, "lose most frames") && !said(&record, "hardly help");
    assert!(advised, "{:?}", record.warnings);
    assert_eq!(run(lossy, &["run.until=100s"]).status, Status::Complete);
}

/// Homa without recovery gives nobody up, whatever its `timeout`: none would help.
#[test]
fn who_gives_nobody_up_is_not_called_patient() {
    let text = "[topology]\nkind = \"star\"\nhosts = 4\n[workload]\nkind = \"incast\"\nsenders = 3\nsize = \"20KB\"\n\
                [transport]\nkind = \"homa\"\n[[faults]]\nkind = \"loss\"\nlink = \"h1 -> tor0\"\nchance = 1.0\n";
    for (recovery, patient) in [("true", true), ("false", false)] {
        let record = run(text, &[&format!("transport.homa.recovery={recovery}")]);
        assert_eq!(record.status, Status::Unfinished, "{recovery}");
        let tells = said(&record, "give a silent peer up after 10s");
        assert_eq!(tells, patient, "{recovery}: {:?}", record.warnings);
    }
}

/// Where packets take all ways, what they say to each other does too: one way that is silently dead stops nobody.
#[test]
fn a_way_that_is_silently_dead_stops_nobody_whose_packets_take_all() {
    let text = "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 4\nhosts_per_leaf = 4\n\
                host_rate = \"10Gbps\"\nuplink_rate = \"10Gbps\"\n[workload]\nkind = \"permutation\"\n\
                size = \"200KB\"\n[switch]\nbalance = \"packet\"\n[transport]\nkind = \"phost\"\n\
                [[faults]]\nkind = \"loss\"\nchance = 1.0\nlink = \"tor0 -> spine0\"\n[run]\nuntil = \"1s\"\n";
    for kind in ["phost", "fastpass", "sird", "dcpim", "homa", "ndp"] {
        let record = run(text, &[&format!("transport.kind={kind}")]);
        let unfinished = record.flows.iter().filter(|flow| flow.end.is_none());
        assert_eq!(
            (unfinished.count(), record.status),
            (0, Status::Complete),
            "{kind}"
        );
    }
}

/// The host of the arbiter gets data as others do, beside all requests: no queue of its holds more than others.
#[test]
fn requests_and_data_do_not_pile_up_before_an_arbiter() {
    let sets = [
        "transport.kind=fastpass",
        "switch.balance=packet",
        "workload.messages=6000",
    ];
    for seed in [1, 7] {
        let run = common::assembled(
            "aeolus-world",
            &[&sets[..], &[&format!("run.seed={seed}")]].concat(),
        );
        let record = run.run(1, "", &mut Alone).unwrap_or_else(|e| panic!("{e}"));
        let longest = record.ports.iter().map(|port| port.queue_max).max();
        assert!(longest.is_some_and(|bytes| bytes < 12_000), "{longest:?} B");
    }
}

fn counted(record: &RunRecord, name: &str) -> u64 {
    let counters = Summary::of(record).counters;
    let found = counters.iter().find(|counter| counter.name == name);
    found.unwrap_or_else(|| panic!("no {name}")).value
}

/// An arbiter whose words take all of its line gives no slots whose words come when these are over.
#[test]
fn messages_as_short_as_a_word_end_whatever_the_arbiter_has_to_say() {
    let text = "[topology]\nkind = \"star\"\nhosts = 21\nhost_rate = \"1Gbps\"\n[[workload]]\nkind = \"shuffle\"\n\
                tasks = 2\nsize = \"2000B\"\n[transport]\nkind = \"fastpass\"\n[run]\nuntil = \"50ms\"\n";
    let record = run(text, &[]);
    assert_eq!(record.status, Status::Complete);
    let (late, given) = (
        counted(&record, "slots_late"),
        counted(&record, "slots_given"),
    );
    assert!(late * 20 < given, "{late} of {given} slots were late");
}

/// Links slower than hosts carry words beside frames, and each waits for the other.
#[test]
fn no_queue_grows_where_an_arbiter_speaks_over_a_slow_link() {
    for topology in [
        "kind = \"dumbbell\"\npairs = 2\nhost_rate = \"100Gbps\"\nbottleneck_rate = \"1Gbps\"",
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 4\nhost_rate = \"100Gbps\"\n\
         uplink_rate = \"10Gbps\"",
    ] {
        let text = format!(
            "[topology]\n{topology}\n[[workload]]\nkind = \"all-to-all\"\nsize = \"300KB\"\n[transport]\n\
             kind = \"fastpass\"\n"
        );
        let record = run(&text, &[]);
        let longest = record.ports.iter().map(|port| port.queue_max).max();
        let late = counted(&record, "slots_late");
        assert_eq!(
            (record.status, data_dropped(&record)),
            (Status::Complete, 0)
        );
        assert!(longest.is_some_and(|bytes| bytes < 12_000), "{longest:?} B");
        assert!(late * 50 < counted(&record, "slots_given"), "{late} late");
    }
}

/// Words that are held up come late however soon the arbiter's line is free.
#[test]
fn an_arbiter_learns_how_long_its_words_take() {
    let text = "[topology]\nkind = \"fat-tree\"\nk = 4\n[workload]\nkind = \"permutation\"\nsize = \"20KB\"\n\
                [transport]\nkind = \"fastpass\"\n[switch]\nbalance = \"packet\"\n[[faults]]\nkind = \"reorder\"\n\
                link = \"tor* <-> agg*\"\nchance = 1.0\nby = \"100us\"\n";
    let record = run(text, &[]);
    let last = record.flows.iter().filter_map(|flow| flow.end).max();
    assert_eq!(record.status, Status::Complete);
    assert!(
        last.is_some_and(|end| end < Time(10_000_000_000)),
        "{last:?}"
    );
}

/// Where packets overtake each other a STOP may come behind the request that left after it.
#[test]
fn a_stop_that_a_request_has_overtaken_stops_nothing() {
    let text = "[topology]\nkind = \"fat-tree\"\nk = 4\n[workload]\nkind = \"all-to-all\"\nsize = \"64KB\"\n\
                [transport]\nkind = \"expresspass+aeolus\"\n[switch]\nbalance = \"packet\"\n";
    let small = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n[workload]\n\
                 kind = \"all-to-all\"\nsize = \"64KB\"\n[transport]\nkind = \"expresspass\"\n[switch]\n\
                 balance = \"packet\"\n";
    for (text, seed) in [(text, 1), (small, 7)] {
        let record = run(text, &[&format!("run.seed={seed}")]);
        let last = record.flows.iter().filter_map(|flow| flow.end).max();
        assert_eq!(record.status, Status::Complete);
        assert!(
            last.is_some_and(|end| end < Time(20_000_000_000)),
            "{last:?}"
        );
    }
}

/// Copies wait for 31 s before a line of 100 kb/s, and Homa remembers a message for 25 s.
#[test]
fn a_message_that_is_received_twice_keeps_its_first_end_and_says_why() {
    let text = "[topology]\nkind = \"star\"\nhosts = 6\nhost_rate = \"100kbps\"\nhost_delay = \"20ms\"\n[workload]\n\
                kind = \"incast\"\nsize = \"2KB\"\nsenders = 6\n[transport]\nkind = \"homa+aeolus\"\n[run]\n\
                until = \"2000s\"\nseed = 699329\n[output]\nevery = \"0s\"\n[[faults]]\nkind = \"duplicate\"\n\
                link = \"* -> *\"\nchance = 0.3\n";
    let record = run(text, &[]);
    let why = record.conservation.clone().expect_err("one is");
    assert!(
        why.starts_with(
            "1 message was received twice: packets came when their receiver had forgotten"
        ),
        "{why}"
    );
    assert!(record.flows[4].end.unwrap() < Time(20_000_000_000_000));
}

/// Holes of a long way: more of them are open at once than a message may have.
#[test]
fn data_that_a_receiver_drops_for_its_gaps_is_counted_and_said() {
    let text = "[topology]\nkind = \"star\"\nhosts = 3\nhost_delay = \"1ms\"\n[workload]\nkind = \"incast\"\nsenders = 1\n\
                receiver = 0\nsize = \"60MB\"\n[output]\nevery = \"0s\"\n[[faults]]\nkind = \"loss\"\nlink = \"h1 -> tor0\"\n";
    for kind in ["sird", "phost"] {
        let dropped = |chance| {
            let sets = [
                format!("transport.kind={kind}"),
                format!("faults.0.chance={chance}"),
            ];
            let record = run(text, &sets.each_ref().map(String::as_str));
            let summary = Summary::of(&record);
            let mut counters = summary.counters.into_iter();
            let own = counters
                .find(|own| own.name == "not_kept")
                .expect("one of them");
            let said = summary
                .warnings
                .iter()
                .any(|said| said.contains("(not_kept)"));
            assert_eq!(
                (own.value > 0, record.status),
                (said, Status::Complete),
                "{kind}"
            );
            own.value
        };
        assert!(dropped("0.4") > 100 && dropped("0.001") == 0, "{kind}");
    }
}
