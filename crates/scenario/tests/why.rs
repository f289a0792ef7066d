//! Why messages took as long as they did: the parts of every message add up, to the picosecond.
//!
//! First sums, of every transport and through faults. Then what books a stretch: credit, losses, messages before, own frames, by
//! transport; pauses; and in between which runs are explained, from which record, and what reports say of ways. Lost
//! words, and frames that wait for their turn, are in `lost_words`.

mod common;

use common::assembled;
use results::trace::{Part, Why};
use scenario::{Alone, Assembled};
use units::{Span, Time};

/// Every message of a built-in scenario, explained by a second run.
fn explained(name: &str, sets: &[&str]) -> Vec<Why> {
    of(name, &assembled(name, sets))
}

fn of(name: &str, run: &Assembled) -> Vec<Why> {
    let record = run
        .run(1, "", &mut Alone)
        .unwrap_or_else(|e| panic!("{name}: {e}"));
    let all: Vec<u32> = record.flows.iter().map(|flow| flow.message).collect();
    let (whys, traced) = run
        .explain(1, &all, Time::ZERO, Time::NEVER, &mut Alone)
        .unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(
        traced.fingerprint, record.fingerprint,
        "{name}: another run"
    );
    assert_eq!(whys.len(), all.len());
    for (why, flow) in whys.iter().zip(&record.flows) {
        let fct = flow
            .end
            .unwrap_or(record.end)
            .since(flow.start.expect("it started"));
        assert_eq!(why.took(), fct, "{name}: message {}", flow.message);
        assert_eq!(why.ideal_ps, flow.ideal.0);
        check(name, why);
    }
    whys
}

/// The path covers the time from start to end without gap or overlap, and the parts are its sums.
fn check(name: &str, why: &Why) {
    let whose = format!("{name}: message {}", why.message);
    let mut at = why.start_ps;
    for segment in &why.path {
        assert_eq!(segment.from_ps, at, "{whose}: {segment:?}");
        assert!(segment.until_ps > segment.from_ps, "{whose}: {segment:?}");
        at = segment.until_ps;
    }
    assert_eq!(at, why.end_ps, "{whose}");
    let sum: u64 = why.parts.iter().map(|part| part.ps).sum();
    assert_eq!(sum, why.took().0, "{whose}");
    for part in &why.parts {
        let places: u64 = part.places.iter().map(|(_, ps)| ps).sum();
        assert_eq!(places, part.ps, "{whose}: {:?}", part.part);
    }
}

fn part(why: &Why, part: Part) -> u64 {
    let sum = why.parts.iter().find(|sum| sum.part == part);
    sum.map_or(0, |sum| sum.ps)
}

#[test]
fn the_parts_of_every_message_add_up_exactly() {
    for transport in transports::registry().iter() {
        let kind = format!("transport.kind={}", transport.name());
        for (name, sets) in [
            (
                "incast",
                &["workload.senders=16", "output.every=\"0s\""][..],
            ),
            // Losses of data and of credits, and their repair.
            ("incast", &["workload.senders=16", "switch.buffer=\"10KB\""]),
            ("web-search", &["workload.messages=40"]),
            // Standing connections, messages both ways.
            ("incast-rr", &["workload.senders=40", "workload.rounds=2"]),
        ] {
            explained(name, &[sets, &[kind.as_str()]].concat());
        }
    }
}

#[test]
fn they_add_up_when_links_lose_repeat_and_reorder() {
    let faults = "[topology]\nkind = \"star\"\nhosts = 6\n\
                  [workload]\nkind = \"incast\"\nsenders = 5\nsize = \"60KB\"\n\
                  [[faults]]\nkind = \"loss\"\nlink = \"* <-> *\"\nchance = 0.01\n\
                  [[faults]]\nkind = \"duplicate\"\nlink = \"* <-> *\"\nchance = 0.01\n\
                  [[faults]]\nkind = \"reorder\"\nlink = \"* <-> *\"\nchance = 0.01\nby = \"3us\"\n";
    // Many copies, which are on a line while the twins of their packet wait before it.
    let copies = "[topology]\nkind = \"star\"\nhosts = 6\nhost_rate = \"10Gbps\"\n\
                  [workload]\nkind = \"all-to-all\"\nsize = \"11KB\"\n\
                  [[faults]]\nkind = \"duplicate\"\nlink = \"* -> *\"\nchance = 0.2\n[run]\nuntil = \"50ms\"\n";
    for transport in transports::registry().iter() {
        for (text, seeds) in [(faults, 1..4), (copies, 7..9)] {
            for seed in seeds {
                let sets = [
                    format!("transport.kind={}", transport.name()),
                    format!("run.seed={seed}"),
                ];
                let run = scenario::load_text("faults.toml", text, &sets)
                    .and_then(scenario::Scenario::assemble);
                of(transport.name(), &run.unwrap_or_else(|e| panic!("{e}")));
            }
        }
    }
}

#[test]
fn alone_a_message_takes_three_crossings_and_its_own_frames() {
    let sets = ["workload.senders=1", "workload.size=\"1KB\""];
    let why = &explained("incast", &sets)[0];
    // Request, credit and data cross two links of 2 us and 1 us each; nothing waits for anything.
    assert_eq!(part(why, Part::Propagation), 9_000_000);
    assert_eq!(
        part(why, Part::Queueing) + part(why, Part::Retransmission),
        0
    );
    // 84 B, a credit and 1078 B cross two lines of 80 ps a byte.
    let credit = why.packets.iter().find(|row| row.class == "credit");
    let bytes = 84 + 1078 + u64::from(credit.expect("a credit").size);
    assert_eq!(part(why, Part::Serialisation), 2 * 80 * bytes);
    assert_eq!(why.largest().part, Part::Propagation);
}

#[test]
fn what_is_repaired_on_a_credit_waits_for_it() {
    for kind in [
        "\"expresspass+aeolus\"",
        "\"homa+aeolus\"\nprofile = \"sigcomm18\"",
    ] {
        let text = format!(
            "[topology]\nkind = \"star\"\nhosts = 17\nhost_rate = \"10Gbps\"\n\
             [workload]\nkind = \"incast\"\nsenders = 16\nsize = \"5KB\"\n\
             [transport]\nkind = {kind}\n"
        );
        let run =
            scenario::load_text("repair.toml", &text, &[]).and_then(scenario::Scenario::assemble);
        let all = of("repair", &run.unwrap_or_else(|e| panic!("{e}")));
        // Messages whose last byte was dropped at first, and came on a credit.
        let again = |why: &Why| part(why, Part::Retransmission);
        let repaired: Vec<_> = all.iter().filter(|why| again(why) > 0).collect();
        assert!(!repaired.is_empty(), "nothing was repaired");
        for why in repaired {
            // The loss shows within a round trip of some 10 us and what waits at the port; sixteen
            // messages share the credits of some 80 us.
            let credit = part(why, Part::Credit);
            assert!(
                again(why) < 30_000_000 && credit > 0,
                "{kind}: {:?}",
                why.parts
            );
        }
    }
}

#[test]
fn in_an_incast_expresspass_waits_for_credits_and_dctcp_in_the_receivers_queue() {
    let slowest = |kind| {
        let all = explained("incast", &["workload.senders=16", kind]);
        all.into_iter().max_by_key(Why::took).expect("some")
    };
    let credits = slowest("transport.kind=expresspass");
    assert_eq!(credits.largest().part, Part::Credit, "{:?}", credits.parts);
    let windows = slowest("transport.kind=dctcp");
    let queues = windows.parts.iter().find(|sum| sum.part == Part::Queueing);
    let (port, waited) = &queues.expect("always there").places[0];
    assert_eq!(
        (port.as_str(), part(&windows, Part::Credit)),
        ("tor0 -> h0", 0)
    );
    // 15 other initial windows of 10 frames, less what left meanwhile, stand before its own.
    assert!(*waited > 15 * 10 * 1538 * 80 / 2, "{waited} ps");
}

#[test]
fn what_was_lost_and_sent_again_is_retransmission() {
    let sets = [
        "workload.senders=16",
        "switch.buffer=\"10KB\"",
        "transport.kind=dctcp",
    ];
    let last = explained("incast", &sets).into_iter().max_by_key(Why::took);
    let last = last.expect("some");
    assert_eq!(
        last.largest().part,
        Part::Retransmission,
        "{:?}",
        last.parts
    );
    let dropped = |row: &&results::trace::Row| row.lost;
    assert!(
        last.packets.iter().any(|row| dropped(&row)),
        "its ladder shows the loss"
    );
}

/// Counts how often a run under way says how far it is: at its end at the latest.
#[derive(Default)]
struct Looks(u32);
impl scenario::Watch for Looks {
    fn progress(&mut self, _: &scenario::Progress) -> bool {
        self.0 += 1;
        true
    }
}

fn explained_text(text: &str, sets: &[String]) -> Vec<Why> {
    let run = scenario::load_text("t.toml", text, sets).and_then(scenario::Scenario::assemble);
    of(text, &run.unwrap_or_else(|e| panic!("{e}")))
}

fn slowest(all: &[Why]) -> &Why {
    let slowest = all
        .iter()
        .max_by_key(|why| why.took().0 / why.ideal_ps.max(1));
    slowest.expect("a message")
}

/// What is said again may say so, or that its sender knows more by then: it is the same word.
#[test]
fn a_request_that_was_lost_is_retransmission_whatever_it_says_the_second_time() {
    let text = "[topology]\nkind = \"star\"\nhosts = 3\nhost_rate = \"10Gbps\"\nhost_delay = \"5us\"\n\
                [workload]\nkind = \"incast\"\nsenders = 1\nreceiver = 0\nsize = \"20KB\"\n[[faults]]\n\
                kind = \"loss\"\nlink = \"h1 -> tor0\"\nchance = 1.0\nmost = 1\n";
    for (kind, size) in [
        ("expresspass", 20),
        ("fastpass", 20),
        ("sird", 20),
        // Longer than what leaves unasked.
        ("phost", 200),
        ("dcpim", 200),
    ] {
        let sets = [
            format!("transport.kind={kind}"),
            format!("workload.size={size}KB"),
        ];
        let all = explained_text(text, &sets);
        let found = &all[0].parts;
        assert_eq!(
            all[0].largest().part,
            Part::Retransmission,
            "{kind}: {found:?}"
        );
        assert!(part(&all[0], Part::Host) < 1_000_000, "{kind}: {found:?}");
    }
}

/// A message on a lasting connection waits for the word that acknowledges the one before it, which was lost.
#[test]
fn what_was_lost_of_the_message_before_is_named_and_no_time_of_the_host() {
    let text = "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 4\n\
                host_rate = \"10Gbps\"\nuplink_rate = \"40Gbps\"\n[workload]\nkind = \"incast-rr\"\n\
                senders = 15\nreceiver = 0\nsize = \"30KB\"\nrequest = \"2KB\"\nrounds = 10\nwork = \"20us\"\n\
                [[faults]]\nkind = \"loss\"\nlink = \"* -> *\"\nchance = 0.01\n";
    for kind in ["phost", "sird", "dcpim"] {
        let all = explained_text(text, &[format!("transport.kind={kind}")]);
        let why = slowest(&all);
        let found = &why.parts;
        assert_eq!(
            why.largest().part,
            Part::Retransmission,
            "{kind}: {found:?}"
        );
        let of_before = "of the message before it was lost";
        let named = |why: &&Why| why.path.iter().any(|one| one.note.ends_with(of_before));
        assert!(
            all.iter().any(|why| named(&why)),
            "{kind}: nothing is named"
        );
    }
    // Where an answer needs no acknowledgement to have come, nobody waits for one.
    for why in explained_text(text, &["transport.kind=homa".to_owned()]) {
        let host = part(&why, Part::Host);
        assert!(host < 5_000_000_000, "{:?}", why.parts);
    }
}

/// The connection with the arbiter is there before those of messages, also where these last.
#[test]
fn messages_of_lasting_connections_wait_for_slots_too() {
    let sets = [
        "workload.senders=40",
        "workload.rounds=1",
        "transport.kind=fastpass",
    ];
    for why in explained("incast-rr", &sets) {
        assert!(part(&why, Part::Credit) > 0, "{:?}", why.parts);
    }
}

/// A wait that costs nothing is the message's own frames, also those that left unasked.
#[test]
fn alone_a_message_waits_for_no_pull() {
    let text = "[topology]\nkind = \"star\"\nhosts = 3\nhost_rate = \"10Gbps\"\nhost_delay = \"5us\"\n\
                [workload]\nkind = \"incast\"\nsenders = 1\nreceiver = 0\nsize = \"200KB\"\n";
    for kind in ["ndp", "homa", "sird"] {
        let why = &explained_text(text, &[format!("transport.kind={kind}")])[0];
        let found = &why.parts;
        assert_eq!(part(why, Part::Credit), 0, "{kind}: {found:?}");
    }
}

/// Frames that are sent again take the line, and no serialisation of the message's own needs that.
#[test]
fn what_a_dead_way_takes_is_retransmission() {
    let text = "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 4\nhosts_per_leaf = 4\n\
                host_rate = \"10Gbps\"\nuplink_rate = \"10Gbps\"\n[workload]\nkind = \"permutation\"\n\
                size = \"300KB\"\n[transport]\nkind = \"fastpass\"\n[switch]\nbalance = \"packet\"\n\
                [[faults]]\nkind = \"loss\"\nchance = 1.0\nlink = \"tor0 -> spine0\"\nfrom = \"50us\"\n";
    let all = explained_text(text, &[]);
    let why = slowest(&all);
    assert_eq!(why.largest().part, Part::Retransmission, "{:?}", why.parts);
    let line = part(why, Part::Serialisation);
    assert!(line < why.ideal_ps, "{line} of {} ps", why.ideal_ps);
}

/// What a flow control does in a long run is not all of a message's: it is explained from the time in which it was under way.
#[test]
fn a_message_of_a_run_with_too_many_events_is_explained_as_in_any_other() {
    let text = "[topology]\nkind = \"star\"\nhosts = 6\n[workload]\nkind = \"random\"\nsizes = \"web-search\"\n\
                load = 0.6\nmessages = 60\n[transport]\nkind = \"homa\"\n[switch]\nflow_control = \"cbfc\"\n";
    let run = scenario::load_text("t.toml", text, &[]).unwrap();
    let run = run.assemble().unwrap();
    let all = Time::ZERO..Time::NEVER;
    let short = |&n: &u32| run.traffic.messages[n as usize].size < 100_000;
    let mut held = 0;
    for message in (0..60).filter(short).take(20) {
        let explain = |most| run.explain_with(1, &[message], &all, most, &mut Alone);
        let (whole, traced) = explain(scenario::EVENTS_MAX).unwrap();
        let (part, again) = explain(100_000).unwrap_or_else(|e| panic!("{message}: {e}"));
        assert_eq!((traced.is_part, again.is_part), (false, true));
        assert_eq!(part, whole, "message {message}");
        held += whole[0].parts.len();
    }
    assert!(held > 0);
    let why = run
        .explain_with(1, &[0], &all, 10, &mut Alone)
        .err()
        .unwrap();
    assert!(why.to_string().contains("flow control changed"), "{why}");
}

#[test]
fn a_report_explains_as_why_does_and_never_simulates_a_long_run_twice() {
    for (size, long) in [("64KB", false), ("10MB", true)] {
        let sets = [format!("workload.size={size}"), "output.every=0s".into()];
        let run = assembled("incast", &sets.each_ref().map(String::as_str));
        let mut record = run.run(1, "", &mut Alone).unwrap();
        assert_eq!(
            record.hops > scenario::HOPS_KEPT_MAX,
            long,
            "{} hops",
            record.hops
        );
        let mut summary = results::Summary::of(&record);
        let mut looks = Looks::default();
        run.explain_slowest(&mut record, &mut summary, None, 1, &mut looks);
        assert_eq!(looks.0 > 0, !long, "simulated again");
        let (mut at_once, seen) = run.run_traced(1, "", &mut Alone).unwrap();
        assert_eq!(seen.is_some(), !long, "{size}: seen");
        let mut looks = Looks::default();
        run.explain_slowest(&mut at_once, &mut summary, seen, 1, &mut looks);
        assert_eq!(looks.0, 0, "simulated once");
        assert!(
            at_once == record,
            "the run again tells what it told at once"
        );
        assert_eq!(record.why.len(), if long { 0 } else { 5 });
        for (why, slow) in record.why.iter().zip(&summary.slowest) {
            let asked = [slow.message];
            let (alone, _) = run
                .explain(1, &asked, Time::ZERO, Time::NEVER, &mut Alone)
                .unwrap();
            let same = [why.clone()] == alone[..];
            assert!(
                same,
                "message {}: `tidegate why --flow` differs",
                slow.message
            );
        }
    }
}

#[test]
fn a_run_too_long_to_be_run_again_is_explained_by_what_it_has_seen() {
    let run = assembled("incast", &["workload.size=1MB", "output.every=0s"]);
    let (mut record, seen) = run.run_traced(1, "", &mut Alone).unwrap();
    assert!(
        record.hops > scenario::HOPS_AGAIN_MAX && seen.is_some(),
        "{} hops",
        record.hops
    );
    let mut summary = results::Summary::of(&record);
    let mut again = record.clone();
    let mut looks = Looks::default();
    run.explain_slowest(&mut again, &mut summary, None, 1, &mut looks);
    assert_eq!((looks.0, again.why.len()), (0, 0), "not for a report");
    run.explain_slowest(&mut record, &mut summary, seen, 1, &mut Alone);
    let asked = [summary.slowest[0].message];
    let alone = run.explain(1, &asked, Time::ZERO, Time::NEVER, &mut Alone);
    assert_eq!(record.why[0], alone.unwrap().0[0]);
    assert_eq!(record.why.len(), 5);
}

#[test]
fn what_was_trimmed_is_asked_for_again_and_waits_for_its_pull() {
    let whys = explained("incast", &["workload.senders=24", "transport.kind=ndp"]);
    let trimmed = |why: &&Why| {
        let mut path = why.path.iter();
        path.any(|s| s.part == Part::Retransmission && s.note.starts_with("trimmed at"))
    };
    let trimmed: Vec<_> = whys.iter().filter(trimmed).collect();
    assert!(trimmed.len() > 3, "{} of {}", trimmed.len(), whys.len());
    let waits = |why: &&&Why| {
        let mut path = why.path.iter();
        path.any(|s| s.part == Part::Credit && s.note.starts_with("before PULL"))
    };
    assert!(trimmed.iter().filter(waits).count() * 2 > trimmed.len());
    // What is trimmed is known at once: its receiver's port is one hop away, and nothing waits for a timer.
    let longest = trimmed
        .iter()
        .map(|why| part(why, Part::Retransmission))
        .max();
    assert!(longest < Some(500_000_000), "{longest:?} ps");
}

/// Under pHost the receiver's choice is a message's whole delay: each waits for a token from the moment when RTS came in
/// to that when its last token left, but for what its own frames take.
#[test]
fn who_is_not_the_shortest_waits_for_a_token() {
    let sets = [
        "workload.senders=16",
        "transport.kind=phost",
        "transport.phost.free=0",
    ];
    let mut whys = explained("incast", &sets);
    let token = |why: &Why| {
        let mut path = why.path.iter();
        let waits = path.find(|s| s.part == Part::Credit && s.note.starts_with("before TOKEN"));
        waits.map_or(0, |s| s.until_ps - s.from_ps)
    };
    whys.sort_by_key(Why::took);
    assert!(whys.iter().all(|why| part(why, Part::Retransmission) == 0));
    let waits: Vec<u64> = whys.iter().map(token).collect();
    for (why, &waits) in whys.iter().zip(&waits) {
        assert_eq!(part(why, Part::Credit), waits, "message {}", why.message);
    }
    // 44 tokens each, one per 123.04 ns, which is 1538 B at 100 Gb/s; and each RTS came in 6.72 ns after the one before.
    // The last sender is in another rack, 2 us away.
    let mut steps = vec![44 * 123_040 - 6_720; 15];
    steps[14] -= 2_000_000 - 13 * 6_720;
    let found: Vec<u64> = waits.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(found, steps);
}

/// The same under SIRD, where a receiver gives credit at the pace of its line for what each frame takes of it.
#[test]
fn who_is_not_the_shortest_waits_for_credit_of_a_budget() {
    let sets = [
        "workload.senders=16",
        "transport.kind=sird",
        "transport.sird.unasked=0",
    ];
    let mut whys = explained("incast", &sets);
    let credit = |why: &Why| {
        let mut path = why.path.iter();
        let waits = path.find(|s| s.part == Part::Credit && s.note.starts_with("before CREDIT"));
        waits.map_or(0, |s| s.until_ps - s.from_ps)
    };
    whys.sort_by_key(Why::took);
    assert!(whys.iter().all(|why| part(why, Part::Retransmission) == 0));
    let waits: Vec<u64> = whys.iter().map(credit).collect();
    for (why, &waits) in whys.iter().zip(&waits) {
        assert_eq!(part(why, Part::Credit), waits, "message {}", why.message);
    }
    // 43 credits of 1538 B and one of 1298 B for each at 80 ps a byte; each REQUEST came in 6.72 ns after the one before.
    let found: Vec<u64> = waits[1..15]
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .collect();
    assert_eq!(found, [43 * 123_040 + 103_840 - 6_720; 13]);
}

/// Under Fastpass a frame leaves in its slot: all that is not a way is the wait for that, at the arbiter and at its host.
#[test]
fn a_message_waits_for_slots_and_for_nothing_else() {
    let whys = explained(
        "incast",
        &[
            "workload.senders=16",
            "workload.size=1KB",
            "transport.kind=fastpass",
        ],
    );
    // A slot is 2 % longer than 1538 B take at 100 Gb/s.
    let slot = 123_040 + 2_460;
    let mut slots: Vec<u64> = Vec::new();
    for why in &whys {
        assert_eq!(why.name(Part::Credit), "waiting for slots");
        let on = |what: &str| {
            let mut rows = why.packets.iter();
            rows.find(|row| row.on_path && row.what.starts_with(what))
        };
        let [asked, given, data] = ["REQ", "SLOTS", "DATA"]
            .map(|what| on(what).unwrap_or_else(|| panic!("{what}: {why:?}")));
        let ways = [asked, given].map(|row| row.arrived_ps.expect("it came in") - row.sent_ps);
        assert_eq!(asked.sent_ps, why.start_ps);
        assert_eq!(data.sent_ps % slot, 0, "in a slot");
        let waits = data.sent_ps - why.start_ps - ways[0] - ways[1];
        assert_eq!(part(why, Part::Credit), waits, "message {}", why.message);
        assert_eq!(part(why, Part::Host) + part(why, Part::Retransmission), 0);
        slots.push(data.sent_ps / slot);
    }
    // They have one receiver: no two have one slot. Their requests are read before one batch or the next.
    slots.sort_unstable();
    assert!(slots[15] - slots[0] < 32, "{slots:?}");
    assert!(slots.windows(2).all(|pair| pair[0] < pair[1]), "{slots:?}");
}

/// Under dcPIM a long message waits for a request, an offer and an answer, at the moments of the rounds, and then for its
/// tokens, which one channel of four has in every fourth frame time.
#[test]
fn a_message_waits_for_its_match_and_its_tokens() {
    let sets = [
        "workload.senders=1",
        "transport.kind=dcpim",
        "transport.dcpim.short=0",
    ];
    let why = explained("incast", &sets).remove(0);
    let row = |what: &str| {
        let mut rows = why.packets.iter();
        rows.find(|row| row.what.starts_with(what))
            .unwrap_or_else(|| panic!("{what}: {why:?}"))
    };
    let [announced, asks, offers, takes] = ["RTS", "REQ", "GRANT", "ACCEPT"].map(row);
    // RTS comes in the first round. The second begins with a request; half a round on is the offer, and half a round
    // after that its answer.
    let round = takes.sent_ps - asks.sent_ps;
    assert_eq!(asks.sent_ps, round, "the second round");
    assert_eq!(offers.sent_ps, round + round / 2);
    assert!(announced.arrived_ps.expect("it came in") < round);
    let tokens: Vec<u64> = why
        .packets
        .iter()
        .filter(|row| row.what.starts_with("TOKEN"))
        .map(|row| row.sent_ps)
        .collect();
    assert_eq!(tokens.len(), 44);
    // A small frame takes 6.72 ns, and the first token is behind the answer.
    assert_eq!(tokens[0], 2 * round + 6_720);
    let gaps = tokens[1..].windows(2).map(|pair| pair[1] - pair[0]);
    assert!(
        gaps.clone().all(|gap| gap == 4 * 123_040),
        "{:?}",
        gaps.collect::<Vec<_>>()
    );
    // All of that is the wait for tokens, but for what the message's own earlier frames take on its line.
    let waits = tokens[43] - announced.arrived_ps.expect("it came in");
    assert_eq!(part(&why, Part::Credit), waits - 43 * 123_040);
    assert_eq!(part(&why, Part::Host) + part(&why, Part::Retransmission), 0);
}

/// Eight hosts of one leaf send to one of the other, 10 Gb/s everywhere but between switches.
fn paused(control: &str, transport: &str) -> (Vec<Why>, results::RunRecord) {
    let text = format!(
        "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 8\nhost_rate = \"10Gbps\"\n\
         uplink_rate = \"100Gbps\"\n[workload]\nkind = \"incast\"\nsenders = 15\nsize = \"60KB\"\n\
         [transport]\nkind = \"{transport}\"\n[transport.dctcp]\necn = false\ninitial_window = 1000\n[switch]\nflow_control = \"{control}\"\nshared_buffer = \"2MB\"\n"
    );
    let run = scenario::load_text("paused.toml", &text, &[]).and_then(scenario::Scenario::assemble);
    let run = run.unwrap_or_else(|e| panic!("{e}"));
    let mut record = run.run(1, "", &mut Alone).unwrap_or_else(|e| panic!("{e}"));
    let mut summary = results::Summary::of(&record);
    run.explain_slowest(&mut record, &mut summary, None, 1, &mut Alone);
    (of(control, &run), record)
}

#[test]
fn a_pause_is_a_part_and_names_who_asked_for_it_and_for_whose_sake() {
    for (control, what) in [
        ("pfc", ", priority 0)"),
        ("ideal", ", flow "),
        ("bfc", ", "),
        ("aquarius", ", "),
        ("cbfc", ", priority 0)"),
    ] {
        for transport in ["none", "dctcp"] {
            let (whys, record) = paused(control, transport);
            let name = format!("{control}, {transport}");
            let still = |why: &&Why| part(why, Part::Paused) > 0;
            let some: Vec<&Why> = whys.iter().filter(still).collect();
            assert!(some.len() > 4, "{name}: {} of {}", some.len(), whys.len());
            let sums = some.iter().flat_map(|why| &why.parts);
            for (place, ps) in sums
                .filter(|sum| sum.part == Part::Paused)
                .flat_map(|sum| &sum.places)
            {
                assert!(place.contains(what), "{name}: {place}");
                // No line stands still for longer than its own counter says.
                let line = place
                    .split_once('(')
                    .expect("a line")
                    .1
                    .split_once(',')
                    .expect("a line")
                    .0;
                let mut ports = record.ports.iter();
                let port = ports.find(|port| format!("{} -> {}", port.from, port.to) == line);
                assert!(*ps <= port.expect("a port").paused.0, "{name}: {place}");
            }
            let root = record.pauses.first().expect("somebody stood still");
            assert_eq!(root.depth, 0, "{name}");
            let mut rows = record.pauses.iter();
            assert!(rows.any(|row| row.depth > 0), "{name}: whom it stopped");
            let whose = |why: &&&Why| {
                let mut path = why.path.iter();
                path.any(|s| s.part == Part::Paused && s.note.starts_with("for tor0 -> h0"))
            };
            assert!(
                some.iter().filter(whose).count() > 4,
                "{name}: {:?}",
                some[0].path
            );
            // All wait for the one line that is full, which nobody pauses.
            assert_eq!(
                (root.line.as_str(), root.spans.len()),
                ("tor0 -> h0", 0),
                "{name}"
            );
            assert!(record.pauses.len() > 1, "{name}: {:?}", record.pauses.len());
        }
    }
}

#[test]
fn without_a_flow_control_nothing_is_paused() {
    let (whys, record) = paused("none", "none");
    assert!(
        whys.iter()
            .all(|why| why.parts.iter().all(|sum| sum.part != Part::Paused))
    );
    assert_eq!(record.pauses, []);
}

#[test]
fn a_lone_message_is_serialisation_under_whatever_needs_no_other_round() {
    for transport in ["none", "ndp", "homa", "phost", "sird"] {
        let kind = format!("transport.kind={transport}");
        let whys = explained(
            "incast",
            &[&kind, "workload.senders=1", "workload.size=600KB"],
        );
        let why = &whys[0];
        assert_eq!(why.largest().part, Part::Serialisation, "{transport}");
        // NDP tells pulls modulo eight: of those that came while its line was busy the latest passes for the one.
        let most = if transport == "ndp" { 8 } else { 100 };
        assert!(part(why, Part::Credit) < why.took().0 / most, "{transport}");
        // There and back and there, at most: no chain of acknowledgements.
        assert!(part(why, Part::Propagation) <= Span::us(9).0, "{transport}");
    }
}

#[test]
fn a_report_knows_which_lines_between_switches_the_data_of_a_message_crosses() {
    let ways = |sets: &[&str]| {
        let run = assembled("incast", sets);
        let mut record = run.run(1, "", &mut Alone).unwrap();
        let mut summary = results::Summary::of(&record);
        run.explain_slowest(&mut record, &mut summary, None, 1, &mut Alone);
        record
    };
    let few = ["workload.size=2KB", "output.every=0s"];
    let record = ways(&few);
    assert_eq!(record.ways.len(), record.flows.len());
    for way in &record.ways {
        let flow = &record.flows[way.message as usize];
        let lines: Vec<&results::PortRow> = way
            .links
            .iter()
            .map(|&link| &record.ports[link as usize])
            .collect();
        // 16 hosts have a leaf in common, and one way goes over one spine.
        let near = flow.src / 16 == flow.dst / 16;
        assert_eq!(
            lines.len(),
            if near { 0 } else { 2 },
            "message {}",
            way.message
        );
        if let [up, down] = lines[..] {
            let (from, to) = (
                format!("tor{}", flow.src / 16),
                format!("tor{}", flow.dst / 16),
            );
            assert_eq!((&up.from, &up.to, &down.to), (&from, &down.from, &to));
            assert!(
                up.bytes[model::Class::Scheduled] > 0,
                "data crossed {}",
                up.name()
            );
        }
        assert!(!way.spread);
    }
    let sprayed = ways(&[&few[..], &["transport.kind=ndp"]].concat());
    let far = sprayed
        .ways
        .iter()
        .find(|way| !way.links.is_empty())
        .unwrap();
    assert!(
        far.spread && far.links.len() == 16,
        "up to eight spines and down: {far:?}"
    );
    let text = "[topology]\nkind = \"leaf-spine\"\n[workload]\nkind = \"incast\"\nsenders = 40\nsize = \"2KB\"\n\
                [[faults]]\nkind = \"down\"\nlink = \"h9 <-> *\"\nfrom = \"1us\"\nuntil = \"2us\"\n";
    let run = scenario::load_text("broken.toml", text, &[]).and_then(scenario::Scenario::assemble);
    let run = run.unwrap_or_else(|e| panic!("{e}"));
    let mut broken = run.run(1, "", &mut Alone).unwrap();
    let mut summary = results::Summary::of(&broken);
    run.explain_slowest(&mut broken, &mut summary, None, 1, &mut Alone);
    assert_eq!(broken.ways, [], "ways change");
}

#[test]
fn of_a_message_with_too_many_packets_why_says_what_to_do() {
    let sets = [
        "topology.hosts=2",
        "transport.kind=none",
        "workload.senders=1",
        "workload.size=1.6GB",
        "run.until=1s",
    ];
    let text = "[topology]\nkind = \"star\"\n[workload]\nkind = \"incast\"\nreceiver = 0\n";
    let sets = sets.map(str::to_owned);
    let run = scenario::load_text("long", text, &sets).unwrap();
    let run = run.assemble().unwrap();
    let whole = Time::ZERO..Time::NEVER;
    let why = run.explain(1, &[0], whole.start, whole.end, &mut Alone);
    let said = why.err().expect("it is too long").render(false);
    assert!(
        said.contains("message 0 has 4,") && said.contains("4,000,000 are the most"),
        "{said}"
    );
    assert!(
        said.contains("a shorter message") && !said.contains("topology"),
        "{said}"
    );
}

#[test]
fn a_long_run_is_explained_where_somebody_asks_for_it() {
    let explained = |sets: &[&str]| {
        let mut all = vec![
            "output.every=0s",
            "switch.flow_control=pfc",
            "switch.shared_buffer=2MB",
        ];
        all.extend(sets);
        let run = assembled("incast", &all);
        let (mut record, seen) = run.run_traced(1, "", &mut Alone).unwrap();
        let mut summary = results::Summary::of(&record);
        run.explain_slowest(&mut record, &mut summary, seen, 1, &mut Alone);
        assert!(
            record.hops > scenario::HOPS_AGAIN_MAX,
            "{} hops",
            record.hops
        );
        (record, summary)
    };
    let dctcp = ["transport.kind=dctcp", "transport.dctcp.ecn=false"];
    let long = [dctcp[0], dctcp[1], "workload.size=3MB"];
    let (record, _) = explained(&long);
    assert_eq!((record.why.len(), record.pauses.len()), (0, 0));
    let (asked, summary) = explained(&[&long[..], &["output.explain=true"]].concat());
    assert_eq!(asked.fingerprint, record.fingerprint);
    assert_eq!(
        (asked.why.len(), summary.warnings.len()),
        (5, record.warnings.len())
    );
    assert!(asked.pauses.len() > 5, "{:?}", asked.pauses);
    // A message of 2 GB has more packets than are kept.
    let (none, summary) = explained(&[
        dctcp[0],
        "workload.size=2GB",
        "workload.senders=1",
        "output.explain=true",
    ]);
    let said = summary.warnings.last().map_or("", String::as_str);
    assert_eq!(none.why.len(), 0);
    assert!(
        said.contains("not explained, as output.explain asks"),
        "{said}"
    );
}
