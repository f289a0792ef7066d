//! What a run says of lines that stand still, of links that are down, and of timers that pauses outlast.

use results::{RunRecord, Status};
use scenario::{Alone, Scenario, load_text};
use std::fmt::Write as _;

fn run(text: &str, sets: &[&str]) -> RunRecord {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let run = load_text("t.toml", text, &sets).and_then(Scenario::assemble);
    let run = run.unwrap_or_else(|e| panic!("{e}"));
    run.run(1, "", &mut Alone).unwrap_or_else(|e| panic!("{e}"))
}

fn said<'a>(record: &'a RunRecord, what: &str) -> Option<&'a str> {
    let mut all = record.warnings.iter().map(String::as_str);
    all.find(|said| said.contains(what))
}

const PAUSED: &str = "long been paused";

#[test]
fn of_lines_that_stand_still_those_between_switches_are_named_first_and_the_others_counted() {
    let text = "[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 5\nhost_rate = \"10Gbps\"\n\
                [[workload]]\nkind = \"incast\"\nsenders = 12\nsize = \"200KB\"\n\
                [[workload]]\nkind = \"permutation\"\nsize = \"100KB\"\n[transport]\nkind = \"none\"\n\
                [switch]\nflow_control = \"aquarius\"\n[run]\nuntil = \"1s\"\n\
                [[faults]]\nkind = \"loss\"\nlink = \"* <-> *\"\nclass = \"link\"\nchance = 0.2\n";
    let record = run(text, &[]);
    let paused = said(&record, PAUSED).expect("lines stand still");
    let (count, names) = paused.split_once(" lines have").expect("several");
    let (_, names) = names.rsplit_once(": ").expect("names");
    let (names, more) = names.split_once(" and ").expect("more");
    let names: Vec<&str> = names.split(", ").collect();
    let count: usize = count.parse().expect("a number");
    assert_eq!(more, format!("{} more", count - names.len()), "{paused}");
    let of_switches = |name: &&&str| !name.contains('h');
    let between = names.iter().take_while(of_switches).count();
    assert!(between > 0, "{paused}");
    assert!(
        !names[between..].iter().any(|name| of_switches(&name)),
        "{paused}"
    );
}

/// A pause whose end is lost and is not said again lasts for ever; who is still draining when a run ends may go on.
#[test]
fn a_bounded_run_whose_lines_wait_for_a_lost_frame_is_stuck() {
    let text = "[topology]\nkind = \"star\"\nhosts = 9\nhost_rate = \"10Gbps\"\n\
                [workload]\nkind = \"incast\"\nsenders = 8\nsize = \"2MB\"\n[transport]\nkind = \"none\"\n\
                [switch]\nflow_control = \"pfc\"\nshared_buffer = \"1MB\"\n[run]\nuntil = \"1s\"\n\
                [[faults]]\nkind = \"loss\"\nlink = \"tor0 -> h1\"\nclass = \"link\"\nfrom = \"400us\"\nuntil = \"3ms\"\n\
                chance = 0.9\n";
    let record = run(text, &[]);
    assert_eq!(record.status, Status::Stuck);
    assert!(said(&record, "behind 1 line that stays paused never will").is_some());
    assert!(!record.stuck.is_empty());
    for sets in [
        ["run.until=1ms"],
        ["switch.pfc.pause_time=100us"],
        ["faults.chance=0"],
    ] {
        assert_eq!(run(text, &sets).status, Status::Complete, "{sets:?}");
    }
}

const TRUNK: &str = "[topology]\nkind = \"dumbbell\"\npairs = 3\nhost_rate = \"10Gbps\"\n\
                     [workload]\nkind = \"permutation\"\nsize = \"300KB\"\n[transport]\nkind = \"dctcp\"\n\
                     [switch]\nflow_control = \"pfc\"\n\
                     [[faults]]\nkind = \"down\"\nlink = \"tor0 <-> tor1\"\nfrom = \"50us\"\n";

#[test]
fn whoever_has_no_way_is_told_which_link_is_down_and_since_when() {
    let record = run(TRUNK, &[]);
    let cut = said(&record, "no way").expect("the trunk is down");
    let rest =
        ", nor for 3 other messages that did not finish: tor0 <-> tor1 has been down since 50 us";
    assert!(
        cut.starts_with("no way from h") && cut.ends_with(rest),
        "{cut}"
    );
    // Not where it comes back, nor where all had ended before.
    for set in ["faults.until=1ms", "faults.from=1s"] {
        let record = run(TRUNK, &[set]);
        assert_eq!(said(&record, "no way"), None, "{set}");
        assert_eq!(said(&record, "has been down"), None, "{set}");
    }
    // Where nobody looks for another way in all the time, there is none either.
    let late = run(TRUNK, &["faults.detect=20s"]);
    assert!(said(&late, "tor0 <-> tor1 has been down since 50 us").is_some());
    // Nor is more time of any use where something else still moves.
    let moves = "[[workload]]\nkind = \"long-flows\"\npairs = [\"0 -> 1\"]\n";
    let text = TRUNK
        .replace("[workload]", "[[workload]]")
        .replace("[transport]", &format!("{moves}[transport]"));
    let record = run(&text, &["run.until=20ms"]);
    assert_eq!(said(&record, "more time"), None);
    assert!(said(&record, "no way").is_some());
}

/// One message from the first rack to the last, which is cut off by some of the links that are down.
#[test]
fn of_links_that_are_down_those_are_named_that_cut_a_message_off() {
    let one = "[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 3\n[run]\nuntil = \"2ms\"\n\
               [transport]\nkind = \"expresspass\"\n[workload]\nkind = \"incast\"\nsenders = 1\nreceiver = 8\nsize = \"3MB\"\n";
    let up_again = ("tor0 -> spine*", 5, 1_000);
    for (faults, named) in [
        (
            &[("h8 -> tor2", 30, 9_000)][..],
            "h8 -> tor2 has been down since 30 us",
        ),
        (
            &[("tor2 -> h8", 30, 9_000), ("tor0 <-> spine0", 20, 9_000)],
            "tor2 -> h8 has been down since 30 us",
        ),
        (
            &[("h0 <-> tor0", 20, 100), ("h0 <-> tor0", 50, 9_000)],
            "h0 <-> tor0 has been down since 20 us",
        ),
        (
            &[
                ("tor2 -> spine*", 30, 9_000),
                ("tor1 -> spine1", 5, 9_000),
                up_again,
            ],
            "tor2 -> spine0 has been down since 30 us, tor2 -> spine1 has been down since 30 us",
        ),
        (
            // Who is cut off beside it is no reason.
            &[
                ("tor2 <-> spine*", 30, 9_000),
                ("tor1 <-> spine*", 5, 9_000),
                ("h1 <-> tor0", 5, 9_000),
                ("h7 <-> tor2", 5, 9_000),
            ],
            "tor2 <-> spine0 has been down since 30 us, tor2 <-> spine1 has been down since 30 us",
        ),
        (
            &[("h0 -> tor0", 30, 9_000), ("tor2 -> h8", 40, 9_000)],
            "h0 -> tor0 has been down since 30 us, tor2 -> h8 has been down since 40 us",
        ),
    ] {
        let faults = faults.iter().map(|(link, from, until)| {
            format!("[[faults]]\nkind = \"down\"\nlink = \"{link}\"\nfrom = \"{from}us\"\nuntil = \"{until}us\"\n")
        });
        let record = run(&(one.to_owned() + &faults.collect::<String>()), &[]);
        let cut =
            said(&record, "no way").unwrap_or_else(|| panic!("{named}: {:?}", record.warnings));
        assert!(cut.ends_with(&format!(": {named}")), "{named}: {cut}");
    }
    // It ended before the run did, whatever became of the message.
    let short =
        "[[faults]]\nkind = \"down\"\nlink = \"h0 <-> tor0\"\nfrom = \"20us\"\nuntil = \"1ms\"\n";
    let record = run(&(one.to_owned() + short), &["transport.kind=homa"]);
    assert_eq!(said(&record, "has been down"), None);
}

#[test]
fn who_cannot_ask_its_arbiter_is_cut_off_though_there_is_a_way_to_the_receiver() {
    let text = "[topology]\nkind = \"star\"\nhosts = 5\nhost_rate = \"10Gbps\"\n\
                [workload]\nkind = \"incast\"\nsenders = 1\nsize = \"3KB\"\n\
                [transport]\nkind = \"fastpass\"\n[run]\nuntil = \"1ms\"\n\
                [[faults]]\nkind = \"down\"\nlink = \"h4 <-> tor0\"\n";
    let cut = |sets: &[&str]| said(&run(text, sets), "no way").map(str::to_owned);
    let named =
        "no way between h1 and h4, which fastpass has to ask: h4 <-> tor0 has been down since 0 s";
    assert_eq!(cut(&[]).as_deref(), Some(named));
    // A link that is down to the very end counts; another host's does not, nor does it without an arbiter.
    assert_eq!(cut(&["faults.until=1ms"]).as_deref(), Some(named));
    assert_eq!(cut(&["faults.link=h3 <-> tor0"]), None);
    assert_eq!(cut(&["transport.kind=phost"]), None);
}

#[test]
fn with_another_way_what_is_lost_on_a_link_that_is_down_is_told() {
    let text = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 12\n\
                [workload]\nkind = \"incast\"\nsenders = 20\nsize = \"300KB\"\n[transport]\nkind = \"none\"\n\
                [run]\nuntil = \"20ms\"\n\
                [[faults]]\nkind = \"down\"\nlink = \"* -> spine1\"\nfrom = \"5us\"\ndetect = \"1s\"\n";
    let record = run(text, &[]);
    let lost = said(&record, "has been down since 5 us and has lost ").expect("it lost some");
    assert!(
        lost.contains("-> spine1") && lost.ends_with("did not finish"),
        "{lost}"
    );
}

#[test]
fn a_line_that_is_down_is_not_called_paused() {
    let text = "[topology]\nkind = \"star\"\nhosts = 5\nhost_rate = \"1Gbps\"\nhost_delay = \"5us\"\n\
                [workload]\nkind = \"incast\"\nsenders = 4\nsize = \"20KB\"\n[transport]\nkind = \"expresspass\"\n\
                [switch]\nflow_control = \"cbfc\"\n[run]\nuntil = \"3s\"\n\
                [[faults]]\nkind = \"down\"\nlink = \"h1 -> tor0\"\nfrom = \"20us\"\n";
    let record = run(text, &[]);
    let cut = said(&record, "no way").expect("h1 is cut off");
    let end = ": h1 -> tor0 has been down since 20 us";
    assert!(
        cut.starts_with("no way from h1 to h0") && cut.ends_with(end),
        "{cut}"
    );
    assert_eq!(said(&record, PAUSED), None);
}

/// The port of a dead line is paused for good, where credits let packets leave: nothing that is under way waits there.
#[test]
fn a_pause_before_a_dead_line_does_not_put_off_the_verdict() {
    let text = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nhost_rate = \"10Gbps\"\nhost_delay = \
                \"500ns\"\n[workload]\nkind = \"permutation\"\nshift = 2\nsize = \"200KB\"\n[transport]\nkind = \"dctcp\"\n\
                [switch]\nflow_control = \"cbfc\"\n[run]\nuntil = \"50ms\"\n\
                [[faults]]\nkind = \"down\"\nlink = \"h1 <-> tor0\"\nfrom = \"20us\"\ndetect = \"100us\"\n";
    assert_eq!(run(text, &[]).status, Status::Stuck);
}

/// A run that its scenario bounds may leave messages unfinished; those for which no link comes back are stuck.
#[test]
fn a_bounded_run_whose_messages_have_no_way_is_stuck() {
    let text = "[topology]\nkind = \"star\"\nhosts = 5\nhost_rate = \"1Gbps\"\nhost_delay = \"5us\"\n\
                [workload]\nkind = \"incast\"\nsenders = 4\nsize = \"20KB\"\n[transport]\nkind = \"expresspass\"\n\
                [run]\nuntil = \"5ms\"\n[[faults]]\nkind = \"down\"\nlink = \"h1 -> tor0\"\nfrom = \"20us\"\n";
    let record = run(text, &[]);
    assert_eq!(record.status, Status::Stuck);
    assert!(said(&record, "no way from h1 to h0").is_some());
    // It may come back, or fall when the run is over, or there is nobody who needs it.
    for set in ["faults.until=1s", "faults.from=6ms", "workload.start=6ms"] {
        assert_eq!(run(text, &[set]).status, Status::Complete, "{set}");
    }
}

/// What waits in a long queue behind the cut arrives, and so does what needs no answer.
#[test]
fn what_is_under_way_behind_a_cut_is_not_called_stuck() {
    let queue = "[topology]\nkind = \"star\"\nhosts = 31\nhost_rate = \"1Gbps\"\n[workload]\nkind = \"incast\"\nsenders = 30\n\
                 size = \"14KB\"\n[transport]\nkind = \"dctcp\"\n[switch]\nbuffer = \"2MB\"\n[run]\nuntil = \"2ms\"\n[[faults]]\n\
                 kind = \"down\"\nlink = \"h1 -> tor0\"\nfrom = \"300us\"\n";
    let back = "[topology]\nkind = \"star\"\nhosts = 3\nhost_rate = \"1Gbps\"\n[workload]\nkind = \"incast\"\nsenders = 2\n\
                size = \"2MB\"\n[transport]\nkind = \"none\"\n[run]\nuntil = \"5ms\"\n[[faults]]\nkind = \"down\"\nlink = \
                \"tor0 -> h1\"\nfrom = \"20us\"\n";
    for text in [queue, back] {
        let cut = run(text, &[]);
        assert_eq!(cut.status, Status::Complete, "{text}");
        assert!(cut.flows.iter().any(|flow| flow.end.is_none()), "{text}");
        let whole = run(text, &["run.until=100ms"]);
        assert!(whole.flows.iter().all(|flow| flow.end.is_some()), "{text}");
    }
}

/// Whoever is cut off for good never finishes, whether others go on, have not begun, or wait for a link that comes back.
#[test]
fn one_message_without_a_way_makes_a_bounded_run_stuck_whatever_others_do() {
    let text = "[topology]\nkind = \"star\"\nhosts = 6\nhost_rate = \"1Gbps\"\n\
                [[workload]]\nkind = \"incast\"\nsenders = 4\nsize = \"2MB\"\n\
                [transport]\nkind = \"dctcp\"\n[run]\nuntil = \"5ms\"\n\
                [[faults]]\nkind = \"down\"\nlink = \"h1 -> tor0\"\nfrom = \"20us\"\n";
    let others = "[[workload]]\nkind = \"long-flows\"\npairs = [\"4 -> 3\"]\n\
                  [[workload]]\nkind = \"permutation\"\nstart = \"9ms\"\n";
    let back =
        "[[faults]]\nkind = \"down\"\nlink = \"h2 <-> tor0\"\nfrom = \"20us\"\nuntil = \"9ms\"\n";
    let one = "1 of 4 messages can never finish, because no fault brings back";
    let late = text.replace("20us", "3ms");
    let more = text.replace("[transport]", &format!("{others}[transport]"));
    for (text, first, since) in [
        (text, one, "20 us"),
        (&*late, one, "3 ms"),
        (&*more, "1 of 11 messages", "20 us"),
        (&*(text.to_owned() + back), one, "20 us"),
    ] {
        let record = run(text, &[]);
        assert_eq!(record.status, Status::Stuck, "{text}");
        assert!(said(&record, first).is_some(), "{:?}", record.warnings);
        let way = format!("no way from h1 to h0: h1 -> tor0 has been down since {since}");
        assert_eq!(said(&record, "no way from h1"), Some(&*way), "{text}");
        let stuck = &record.stuck;
        assert!(
            !stuck.is_empty() && stuck.iter().all(|row| row.conn == 0),
            "{stuck:?}"
        );
    }
    // What has passed the link may be under way.
    let last = run(&text.replace("20us", "4999us"), &[]);
    assert_eq!(last.status, Status::Complete);
    assert!(said(&last, "no way from h1 to h0").is_some());
    // What comes back is told apart; a fault that has not begun is no reason to wait in vain.
    let record = run(&(text.to_owned() + back), &[]);
    assert!(said(&record, "no way from h2 to h0: h2 <-> tor0").is_some());
    let first = "until = \"7ms\"\n[[faults]]\nkind = \"down\"\nlink = \"h1 -> tor0\"\nfrom = ";
    for (next, status) in [
        ("\"6ms\"\n", Status::Stuck),
        ("\"8ms\"\n", Status::Complete),
    ] {
        assert_eq!(run(&(text.to_owned() + first + next), &[]).status, status);
    }
}

#[test]
fn timers_that_pauses_outlast_are_told_of() {
    let text = "[topology]\nkind = \"three-tier\"\nhost_rate = \"1Gbps\"\nhost_delay = \"30us\"\npods = 2\n\
                tors = 4\naggs = 4\ncores = 4\nhosts_per_tor = 3\ntor_rate = \"1Gbps\"\n\
                agg_rate = \"1Gbps\"\n[[workload]]\nkind = \"incast\"\nsenders = 39\nreceiver = 0\n\
                size = \"100KB\"\n[[workload]]\nkind = \"random\"\nsizes = \"facebook-hadoop\"\nload = 0.2\n\
                messages = 70\n[transport]\nkind = \"dctcp\"\n[transport.dctcp]\necn = false\n\
                initial_window = 1000\n[switch]\nflow_control = \"bfc\"\npriorities = 1\n[switch.bfc]\n\
                period = \"10us\"\nqueues = 32\n[run]\nmtu = \"4000B\"\nseed = 1442\nuntil = \"3s\"\n";
    let outlasted = "nothing was lost or overtaken: pauses can outlast";
    let record = run(text, &[]);
    let (timeouts, again) = (record.totals.timeouts, record.totals.retransmitted);
    assert!(
        timeouts > 0 && again > 0,
        "{timeouts} timeouts, {again} sent again"
    );
    let told = said(&record, outlasted).expect("timers run out");
    assert!(
        told.starts_with(&format!("{again} packets were sent again"))
            && told.contains("transport.dctcp"),
        "{told}"
    );
    // Nor where packets overtake each other, for which they are sent again, too.
    let overtaken = run(text, &["switch.balance=packet"]);
    assert!(overtaken.totals.retransmitted > 0);
    assert_eq!(said(&overtaken, outlasted), None);
    // A transport may send again without a timer that it counts.
    let tokens = run(
        text.split("[transport.dctcp]")
            .next()
            .expect("the first part"),
        &["transport.kind=phost"],
    );
    assert!(tokens.totals.retransmitted > 0, "{:?}", tokens.totals);
    // Not without a flow control, not where they are long enough, and not where something was lost.
    let none = run(text, &["switch.flow_control=none"]);
    assert_eq!(said(&none, outlasted), None);
    let long = run(
        text,
        &[
            "transport.dctcp.rto_initial=1s",
            "transport.dctcp.rto_min=1s",
        ],
    );
    assert_eq!((long.totals.timeouts, said(&long, outlasted)), (0, None));
    let fault = "[[faults]]\nkind = \"loss\"\nlink = \"* <-> *\"\nchance = 0.001\n";
    assert_eq!(said(&run(&format!("{text}{fault}"), &[]), outlasted), None);
}

/// Five switches in a ring, of which each sends to the next but one, under PFC.
fn ring(sets: &[&str]) -> RunRecord {
    let base = [
        "switch.flow_control=pfc",
        "switch.shared_buffer=300KB",
        "transport.kind=none",
    ];
    let sets: Vec<String> = base.iter().chain(sets).map(|&set| set.to_owned()).collect();
    let request = scenario::Request {
        from: concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ring.toml"),
        sets: &sets,
    };
    let run = scenario::load(&request).and_then(Scenario::assemble);
    let run = run.unwrap_or_else(|e| panic!("{e}"));
    run.run(1, "", &mut Alone).unwrap_or_else(|e| panic!("{e}"))
}

/// The ring locks, although the scenario says when the run ends and may leave messages unfinished.
#[test]
fn a_run_that_ends_in_a_deadlock_is_stuck_wherever_it_ends() {
    for until in ["run.until=20ms", "run.until=100ms"] {
        let record = ring(&[until]);
        assert!(said(&record, "deadlock: ").is_some());
        assert_eq!(record.status, Status::Stuck, "{until}");
    }
    let open = ring(&["run.until=20ms", "switch.flow_control=ideal"]);
    assert_eq!(open.status, Status::Complete);
    // What the watchdog opened is said, and is over.
    let watched = ring(&[
        "run.until=100ms",
        "switch.pfc.watchdog=5ms",
        "transport.kind=dctcp",
        "transport.dctcp.ecn=false",
    ]);
    assert!(said(&watched, "opened since").is_some());
    assert_eq!(watched.status, Status::Complete);
}

/// Each of its short words takes a whole block, and there are only as many as full frames need.
#[test]
fn an_arbiter_whose_line_is_paused_gives_no_slots_that_would_be_over() {
    let text = "[topology]\nkind = \"dumbbell\"\nhost_rate = \"40Gbps\"\npairs = 6\n[run]\nuntil = \"2ms\"\n\
                [workload]\nkind = \"shuffle\"\ntasks = 2\nsize = \"5KB\"\n\
                [transport]\nkind = \"fastpass\"\nprofile = \"yaps\"\n\
                [switch]\nflow_control = \"cbfc\"\n[switch.cbfc]\nupdate = \"1KB\"\nblock = 1000\n";
    let record = run(text, &[]);
    let left = record.flows.iter().filter(|flow| flow.end.is_none());
    assert_eq!(left.count(), 0);
}

/// Credits for the ring's lines are 20 ms on their way: meanwhile each waits for the next, and all goes on.
#[test]
fn what_waits_for_news_that_are_on_their_way_is_not_locked() {
    let mut file = "10 5 10\n5 6 7 8 9\n".to_owned();
    let mut trace = "src,dst,size,start\n".to_owned();
    for host in 0..5 {
        let (switch, next) = (5 + host, 5 + (host + 1) % 5);
        let _ = writeln!(
            file,
            "{host} {switch} 6000Mbps 1us 0\n{switch} {next} 10Gbps 20ms 0"
        );
        let _ = writeln!(trace, "{host},{},1MB,{host}us", (host + 2) % 5);
    }
    let folder = std::env::temp_dir().join(format!("tidegate-news-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let at = ["ring.txt", "ring.csv"].map(|name| folder.join(name));
    for (at, text) in at.iter().zip([file, trace]) {
        std::fs::write(at, text).expect("a file");
    }
    let text = format!(
        "[topology]\nkind = \"file\"\nformat = \"hpcc\"\npath = \"{}\"\n[[workload]]\nkind = \"trace\"\npath = \"{}\"\n\
         [transport]\nkind = \"none\"\n[switch]\nflow_control = \"cbfc\"\n[switch.cbfc]\ncounter_bits = 16\n",
        at[0].display(),
        at[1].display()
    );
    for until in ["25ms", "35ms", "60s"] {
        let record = run(&text, &[&format!("run.until={until}")]);
        assert_eq!(said(&record, "deadlock"), None, "{until}");
        let ended = record.flows.iter().all(|flow| flow.end.is_some());
        assert_eq!(ended, until == "60s");
    }
    std::fs::remove_dir_all(&folder).expect("it is there");
}

/// A run that ends before anybody can say whether a circle of waits opens by itself says that it stood.
#[test]
fn a_circle_that_stood_for_less_than_tells_is_named_as_one_of_a_while() {
    let (short, long) = (ring(&["run.until=600us"]), ring(&["run.until=20ms"]));
    let (of_a_while, deadlock) = ("a deadlock, or one of a while", "deadlock: ");
    assert!(
        said(&short, of_a_while).is_some_and(|said| said.matches(" waits for ").count() == 5),
        "{:?}",
        short.warnings
    );
    assert_eq!(said(&short, deadlock), None, "{:?}", short.warnings);
    assert!(said(&long, deadlock).is_some(), "{:?}", long.warnings);
    assert_eq!(said(&long, of_a_while), None, "{:?}", long.warnings);
}
