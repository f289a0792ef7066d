//! What a message waited for whose word or frame was lost: the books of `why`, with a fault for one packet or a few, or with
//! ports that are full.

use results::trace::{Part, Why};
use scenario::{Alone, Scenario};
use units::Time;

const US: u64 = 1_000_000;

/// Why the only message of `kind`, of so many bytes, took as long as it did, where `faults` befall it.
fn why(kind: &str, size: &str, sets: &[&str], faults: &str) -> Why {
    let text = format!(
        "[topology]\nkind = \"star\"\nhosts = 3\nhost_rate = \"10Gbps\"\nhost_delay = \"5us\"\n\
         [workload]\nkind = \"incast\"\nsenders = 1\nreceiver = 0\nsize = \"{size}\"\n[transport]\nkind = \"{kind}\"\n{faults}"
    );
    explained(kind, &text, sets, 0)
}

/// The same of a message among others, of a scenario of its own.
fn explained(kind: &str, text: &str, sets: &[&str], message: u32) -> Why {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let run = scenario::load_text("lost.toml", text, &sets).and_then(Scenario::assemble);
    let run = run.unwrap_or_else(|e| panic!("{kind}: {e}"));
    let all = run.explain(1, &[message], Time::ZERO, Time::NEVER, &mut Alone);
    let (mut all, _) = all.unwrap_or_else(|e| panic!("{kind}: {e}"));
    let why = all.remove(0);
    let sum: u64 = why.parts.iter().map(|part| part.ps).sum();
    assert!(why.finished && sum == why.took().0, "{kind}: {why:?}");
    let mut at = why.start_ps;
    for segment in &why.path {
        assert_eq!(segment.from_ps, at, "{kind}: {segment:?}");
        at = segment.until_ps;
    }
    assert_eq!(at, why.end_ps, "{kind}");
    why
}

fn part(why: &Why, part: Part) -> u64 {
    let sum = why.parts.iter().find(|sum| sum.part == part);
    sum.map_or(0, |sum| sum.ps)
}

/// The part that took longest is `longest`, and what the message waited on in vain is no time of a host.
fn mostly(why: &Why, longest: Part, kind: &str) {
    assert_eq!(why.largest().part, longest, "{kind}: {:?}", why.parts);
    assert!(part(why, Part::Host) < US, "{kind}: {:?}", why.parts);
}

/// One packet of `class` that leaves `from` is lost.
fn one(class: &str, from: &str) -> String {
    format!(
        "[[faults]]\nkind = \"loss\"\nlink = \"{from} -> tor0\"\nchance = 1.0\nmost = 1\nclass = \"{class}\"\n"
    )
}

/// The first data comes and says nothing of what follows it: the receiver learns that from REQUEST alone.
#[test]
fn a_request_that_was_lost_before_unasked_data_is_retransmission() {
    let sets = ["transport.sird.unasked=1000"];
    let why = why("sird", "100KB", &sets, &one("control", "h1"));
    mostly(&why, Part::Retransmission, "sird");
    assert!(part(&why, Part::Retransmission) >= 2_000 * US);
}

/// The second REQUEST says that less follows it unasked, or beside how many others it is said.
#[test]
fn a_request_that_was_lost_with_all_that_left_unasked_is_retransmission() {
    let faults =
        "[[faults]]\nkind = \"loss\"\nlink = \"h1 -> tor0\"\nchance = 1.0\nuntil = \"60us\"\n";
    for kind in ["aeolus", "gaps", "ssp"] {
        let kind = format!("expresspass+{kind}");
        let why = why(&kind, "100KB", &[], faults);
        mostly(&why, Part::Retransmission, &kind);
    }
}

/// RESEND stands for a grant that was lost, and what waits for it waits for a grant.
#[test]
fn a_message_whose_grant_was_lost_waits_for_a_grant() {
    for kind in ["homa", "homa+aeolus", "homa+gaps"] {
        let why = why(kind, "100KB", &[], &one("credit", "h0"));
        mostly(&why, Part::Credit, kind);
        let resend = |row: &&results::trace::Row| row.on_path && row.what.starts_with("RESEND");
        assert!(why.packets.iter().any(|row| resend(&row)), "{kind}");
        assert!(part(&why, Part::Credit) > 4_900 * US, "{:?}", why.parts);
    }
}

/// The same under everybody else: all credit, or the first of it, is lost.
#[test]
fn a_message_whose_credit_was_lost_waits_for_credit() {
    let first = "[[faults]]\nkind = \"loss\"\nlink = \"* -> tor0\"\nchance = 1.0\nclass = \"credit\"\nuntil = \"100us\"\n";
    for (kind, sets) in [
        ("expresspass", &[][..]),
        ("ndp", &[]),
        ("sird", &[]),
        ("phost", &["transport.phost.free=0"]),
        ("dcpim", &[]),
        ("fastpass", &[]),
    ] {
        let why = why(kind, "100KB", sets, first);
        mostly(&why, Part::Credit, kind);
    }
    // Fastpass' slots, of which the sender hears nothing till it asks again.
    let why = why("fastpass", "10KB", &[], &one("credit", "h2"));
    assert!(part(&why, Part::Credit) > 1_000 * US, "{:?}", why.parts);
}

/// Messages between racks whose links lose 3 %, and no message waits for a host.
fn lossy(kind: &str, size: &str, loss: f64) -> impl Fn(u32) -> Why {
    let text = format!(
        "[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 3\nhosts_per_leaf = 3\nhost_rate = \"100Gbps\"\nhost_delay = \"1us\"\n\
         [workload]\nkind = \"permutation\"\nsize = \"{size}\"\n[transport]\nkind = \"{kind}\"\n\
         [[faults]]\nkind = \"loss\"\nlink = \"* -> *\"\nchance = {loss}\n"
    );
    let kind = kind.to_owned();
    move |message| explained(&kind, &text, &[], message)
}

/// No message of nine waits for a host for so long.
fn none_waits_for_a_host(why: impl Fn(u32) -> Why, least: u64) {
    for message in 0..9 {
        let parts = why(message).parts;
        let host = parts.iter().find(|of| of.part == Part::Host);
        assert!(host.is_none_or(|of| of.ps < least), "{message}: {parts:?}");
    }
}

/// RESEND names the bytes that it wants; the data that it lets go says how far grants were used.
#[test]
fn granted_data_behind_a_first_burst_waits_for_what_asked_for_it() {
    none_waits_for_a_host(lossy("homa+aeolus", "80KB", 0.03), 30 * US);
}

/// A timer sends a frame again by a pull that was there all the time.
#[test]
fn a_frame_that_leaves_again_by_a_pull_in_hand_is_retransmission() {
    none_waits_for_a_host(lossy("ndp+aeolus", "80KB", 0.03), 30 * US);
}

/// Nobody tells the host of the arbiter its slots.
#[test]
fn a_message_of_the_arbiters_host_waits_for_slots() {
    let why = lossy("fastpass", "5KB", 0.0);
    none_waits_for_a_host(&why, US / 10);
    assert_eq!(why(8).largest().part, Part::Credit, "{:?}", why(8).parts);
}

/// Forty send unasked more than the port of one holds. Their receiver says nothing of what it misses, and gives tokens or
/// credit for it when the turn of a message comes: from the moment when it misses something on, that waits for its turn.
#[test]
fn a_frame_that_was_lost_waits_for_its_turn_from_when_it_is_missed() {
    let text = "[topology]\nkind = \"leaf-spine\"\n[workload]\nkind = \"incast\"\nsenders = 40\nsize = \"77777B\"\n\
                jitter = \"3us\"\n";
    for (kind, word, least) in [("phost", "TOKEN", 50), ("sird", "CREDIT", 20)] {
        let why = explained(kind, text, &[&format!("transport.kind={kind}")], 29);
        let waits = |part: Part, note: String| {
            let mut path = why.path.iter();
            path.find(|one| one.part == part && one.note.starts_with(&note))
                .unwrap_or_else(|| panic!("{kind}: no {note}: {:?}", why.path))
        };
        let vain = waits(Part::Retransmission, "sent in vain".into());
        let turn = waits(Part::Credit, format!("before {word}"));
        assert_eq!(turn.until_ps - turn.from_ps, part(&why, Part::Credit));
        assert!(part(&why, Part::Credit) > least * US, "{kind}: {turn:?}");
        // What came of the message came a while before the receiver missed the rest.
        let came = why.packets.iter().filter(|row| row.forth);
        let came = came.filter_map(|row| row.arrived_ps.filter(|&at| at < turn.from_ps));
        let last = came.max().expect("some came");
        assert!(turn.from_ps > last + 5 * US, "{kind}: {last}, {turn:?}");
        assert_eq!(vain.until_ps, turn.from_ps, "{kind}");
    }
}

/// Alone it has its turn at once: what remains is the time until it is missed, and the ways of its token and of itself.
#[test]
fn a_lone_frame_that_was_lost_waits_for_no_turn() {
    for (kind, word) in [("phost", "TOKEN"), ("sird", "CREDIT")] {
        let why = why(kind, "20KB", &[], &one("unscheduled", "h1"));
        mostly(&why, Part::Retransmission, kind);
        assert_eq!(part(&why, Part::Credit), 0, "{kind}: {:?}", why.path);
        let mut rows = why.packets.iter();
        let given = rows.find(|row| row.on_path && row.what.starts_with(word));
        let given = given.unwrap_or_else(|| panic!("{kind}: {:?}", why.path));
        let mut path = why.path.iter();
        let vain = path.find(|one| one.part == Part::Retransmission);
        assert_eq!(vain.map(|one| one.until_ps), Some(given.sent_ps), "{kind}");
    }
}
