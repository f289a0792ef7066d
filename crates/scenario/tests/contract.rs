//! Homa, NDP, pHost, Fastpass and a small model of an arbiter stand on the contract, in the simulator: what a transport is told before a run,
//! connections without messages, fabrics that it refuses.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod models;

use model::Class;
use results::{RunRecord, Status, Summary};
use scenario::{Alone, Assembled, Scenario, load_text_with};

fn assembled(text: &str) -> Result<Assembled, scenario::Errors> {
    let all = transports::registry();
    let all = all.with(&models::arbiter::ARBITER);
    load_text_with(&all, "a.toml", text, &[]).and_then(Scenario::assemble)
}

fn run(text: &str) -> (Assembled, RunRecord) {
    let of = assembled(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let record = of.run(1, "", &mut Alone).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(record.conservation, Ok(()));
    assert_eq!(record.totals.nonsense, 0);
    (of, record)
}

const FABRIC: &str =
    "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 4\nhosts_per_leaf = 4\n";

fn homa(workload: &str) -> String {
    format!(
        "{FABRIC}[transport]\nkind = \"homa\"\nprofile = \"sigcomm18\"\n[switch]\nbuffer = \"4MB\"\n{workload}"
    )
}

#[test]
fn homa_takes_its_cutoffs_from_the_bytes_of_the_messages() {
    let resolved = |workload: &str| {
        let of = assembled(&homa(workload)).unwrap_or_else(|e| panic!("{e}"));
        // What follows from the messages is in the file, so the file alone gives the same run.
        let again = assembled(&of.scenario.resolved_toml()).unwrap_or_else(|e| panic!("{e}"));
        let [own, theirs] = [of, again].map(|of| of.scenario.factory.resolved());
        assert_eq!(own, theirs);
        own
    };
    let message = |n: u32| {
        format!("[[workload]]\nkind = \"incast\"\nsenders = 1\nreceiver = {n}\nsize = \"{n}00B\"\n")
    };
    // All of them leave unasked, so 7 of 8 priorities are theirs, with a seventh of the bytes each.
    let eight = resolved(&(1..=8).map(message).collect::<String>());
    let cutoffs = eight["cutoffs"].to_string();
    assert_eq!(
        cutoffs,
        "[\"300B\", \"400B\", \"500B\", \"600B\", \"700B\", \"800B\"]"
    );
    // Drawn sizes come from their distribution, not from the few that were drawn.
    let drawn = |n| {
        resolved(&format!(
            "[workload]\nkind = \"random\"\nload = 0.3\nsizes = \"web-server\"\nmessages = {n}\n"
        ))
    };
    let (a, b) = (drawn(20), drawn(30));
    assert_eq!(a, b);
    assert!(a["cutoffs"].as_array().unwrap().len() > 1, "{a:?}");
}

fn with_arbiter(more: &str) -> String {
    format!("{FABRIC}[transport]\nkind = \"arbiter-model\"\n[switch]\nbuffer = \"4MB\"\n{more}")
}

#[test]
fn connections_without_messages_are_open_and_are_no_messages() {
    let workload = "[workload]\nkind = \"incast\"\nsenders = 4\nreceiver = 9\nsize = \"200KB\"\n";
    let arbiter = "[transport.arbiter-model]\narbiter = true\n";
    let (of, record) = run(&with_arbiter(&format!("{workload}{arbiter}")));
    assert_eq!((record.status, record.flows.len()), (Status::Complete, 4));
    assert_eq!(of.traffic.conns.len(), 4 + 15);
    // Each of 15 hosts greeted host 0 and was greeted.
    let welcomes = |record: &RunRecord| Summary::of(record).counters[0].value;
    assert_eq!(welcomes(&record), 15);
    assert_eq!(welcomes(&run(&with_arbiter(workload)).1), 0);
    let (_, cut) = run(&with_arbiter(&format!(
        "{workload}{arbiter}[run]\nuntil = \"20us\"\n"
    )));
    assert!(
        !cut.stuck.is_empty() && cut.stuck.iter().all(|row| row.conn < 4),
        "{:?}",
        cut.stuck
    );
    // They change nothing about which connection is which.
    assert_eq!(cut.flows.len(), 4);
}

#[test]
fn what_a_transport_finds_out_before_a_run_is_told_where_it_is_written() {
    let star = "[topology]\nkind = \"star\"\nhosts = 1001\n";
    let incast = "[[workload]]\nkind = \"incast\"\nsenders = 2\nreceiver = 0\nsize = \"2KB\"\n";
    let asks = "[transport.arbiter-model]\narbiter = true\n";
    let told = |text: &str| {
        let refused = assembled(text).err().map(|errors| errors.to_string());
        refused.unwrap_or_else(|| panic!("{text}"))
    };
    let own = format!("{star}{incast}[transport]\nkind = \"arbiter-model\"\n{asks}");
    let error = told(&own);
    let line = own.lines().count();
    assert!(
        error.contains("transport.arbiter-model.arbiter cannot be used")
            && error.contains("it serves 1000 hosts, and there are 1001")
            && error.contains(&format!("a.toml:{line}:11")),
        "{error}"
    );
    // Beside another transport as well.
    let beside = format!(
        "{star}{incast}transport = \"arbiter-model\"\n[transport]\nkind = \"dctcp\"\n{asks}"
    );
    let error = told(&beside);
    let line = beside.lines().count();
    assert!(error.contains(&format!("a.toml:{line}:11")), "{error}");
}

fn ndp(more: &str) -> String {
    format!(
        "{FABRIC}host_rate = \"10Gbps\"\nhost_delay = \"500ns\"\n[transport]\nkind = \"ndp\"\n{more}"
    )
}

const JUMBO: &str = "[run]\nmtu = \"9000B\"\n[output]\nevery = \"0s\"\n";

#[test]
fn ndp_pulls_an_incast_at_the_rate_of_the_line() {
    let incast = "[workload]\nkind = \"incast\"\nsenders = 12\nreceiver = 0\nsize = \"450KB\"\njitter = \"0s\"\n";
    let (of, record) = run(&ndp(&format!("{incast}{JUMBO}")));
    assert_eq!(
        (record.status, record.totals.timeouts),
        (Status::Complete, 0)
    );
    // Ports cut frames and lose none; what they cut is sent again, once.
    let dropped: u64 = record.ports.iter().map(|port| port.dropped.sum()).sum();
    assert!(
        dropped == 0 && record.totals.retransmitted > 20,
        "{:?}",
        record.totals
    );
    assert_eq!(
        record.totals.data_sent - record.totals.retransmitted,
        12 * of.encap.frames(450_000)
    );
    assert_eq!(record.totals.duplicates, 0);
    let last = record
        .flows
        .iter()
        .filter_map(|flow| flow.end)
        .max()
        .unwrap();
    let line = 12 * of.encap.wire_total(450_000) * 800;
    assert!(last.0 < line * 103 / 100, "{last} of {line} ps");
    let most = record
        .ports
        .iter()
        .map(|port| port.queue_max)
        .max()
        .unwrap();
    assert!(most <= 9 * 9038 + 860 * 84, "{most}");
}

/// Eight hosts send to one through ports of 24 frames.
#[test]
fn phost_serves_one_after_the_other_and_sends_again_only_what_was_lost() {
    let text = |more: &str| {
        format!(
            "{FABRIC}host_rate = \"10Gbps\"\nhost_delay = \"500ns\"\n[workload]\nkind = \"incast\"\nsenders = 8\n\
             receiver = 0\nsize = \"400KB\"\njitter = \"0s\"\n[transport]\nkind = \"phost\"\n[transport.phost]\n{more}\n\
             [switch]\nbalance = \"packet\"\nbuffer = \"36864B\"\n[output]\nevery = \"0s\"\n"
        )
    };
    let ends = |record: &RunRecord| {
        let mut ends: Vec<_> = record
            .flows
            .iter()
            .map(|flow| flow.end.unwrap().0)
            .collect();
        ends.sort_unstable();
        ends
    };
    let (of, record) = run(&text(""));
    assert_eq!(record.status, Status::Complete);
    let lost = |class: Class| -> u64 { record.ports.iter().map(|p| p.dropped[class]).sum() };
    assert_eq!([Class::Control, Class::Credit].map(lost), [0; 2]);
    // What left unasked fills the port, and takes a few frames that had tokens along.
    let [unasked, asked] = [Class::Unscheduled, Class::Scheduled].map(lost);
    assert!(unasked > 20 && asked < unasked / 2, "{unasked}, {asked}");
    assert_eq!(record.totals.retransmitted, unasked + asked);
    assert_eq!(record.totals.duplicates, 0);
    let line = 8 * of.encap.wire_total(400_000) * 800;
    let one_by_one = ends(&record);
    assert!(
        one_by_one[7] < line * 105 / 100,
        "{one_by_one:?} of {line} ps"
    );
    assert!(one_by_one[0] < line / 6, "{one_by_one:?} of {line} ps");
    let in_turns = ends(&run(&text("receiver = \"turns\"")).1);
    assert!(in_turns[0] > line * 3 / 4, "{in_turns:?} of {line} ps");
    // Nothing leaves unasked: nothing is lost.
    assert_eq!(run(&text("free = 0")).1.totals.retransmitted, 0);
}

/// 16 hosts at 10 Gb/s; the last one is the arbiter and sends and receives as well.
fn fastpass(more: &str) -> String {
    format!(
        "{FABRIC}host_rate = \"10Gbps\"\nhost_delay = \"500ns\"\n[workload]\nkind = \"permutation\"\nsize = \"1MB\"\n\
         [transport]\nkind = \"fastpass\"\n[switch]\nbalance = \"packet\"\n[output]\nevery = \"0s\"\ndata_queues = true\n{more}"
    )
}

/// What Fastpass counts under this name.
fn counted(record: &RunRecord, name: &str) -> u64 {
    let counters = Summary::of(record).counters;
    let counter = counters.iter().find(|counter| counter.name == name);
    counter.unwrap_or_else(|| panic!("no {name}")).value
}

#[test]
fn fastpass_keeps_switches_empty_and_lines_full() {
    let (of, record) = run(&fastpass(""));
    assert_eq!(
        (record.status, record.totals.timeouts),
        (Status::Complete, 0)
    );
    assert_eq!(
        (record.totals.retransmitted, counted(&record, "ways_shared")),
        (0, 0)
    );
    assert_eq!(
        of.traffic.conns.len(),
        16 + 15,
        "each of 15 hosts has a connection with the arbiter"
    );
    // Hosts are at two distances, so frames meet; and what the arbiter says goes first on the links of its rack.
    let switches = || record.ports.iter().filter(|port| !port.of_host());
    let most = switches().filter_map(|port| port.data_max).max().unwrap();
    assert!(most <= 6 * 1538, "{most:?}");
    // 685 frames each, in slots 2 % longer than frames; nobody but the arbiter waits longer.
    let line = of.encap.wire_total(1_000_000) * 800;
    let took = |flow: &results::FlowRow| flow.end.unwrap().since(flow.start.unwrap()).0;
    let mut all: Vec<u64> = record.flows.iter().map(took).collect();
    all.sort_unstable();
    assert!(all[14] < line * 110 / 100, "{all:?} of {line}");
}

/// 39 allocations of 84 B take 2.6 us of the arbiter's line, and a slot 1.26 us: every third slot can be told.
#[test]
fn an_arbiter_gives_no_more_slots_than_its_line_can_tell() {
    let text = fastpass("[transport.fastpass]\nbatch = 1\n[run]\nuntil = \"20ms\"\n");
    let text = text.replace(
        "spines = 4\nhosts_per_leaf = 4",
        "spines = 10\nhosts_per_leaf = 10",
    );
    let (of, record) = run(&text);
    assert_eq!(
        record.status,
        Status::Complete,
        "{:?}",
        record.stuck.first()
    );
    let line = of.encap.wire_total(1_000_000) * 800;
    let took = |flow: &results::FlowRow| flow.end.unwrap().since(flow.start.unwrap()).0;
    let mut all: Vec<u64> = record.flows.iter().map(took).collect();
    all.sort_unstable();
    assert!(all[38] < 4 * line, "{all:?} of {line}");
    let (wasted, given) = (
        counted(&record, "slots_unused"),
        counted(&record, "slots_given"),
    );
    assert!(wasted * 50 < given, "{wasted} of {given} slots");
}

#[test]
fn without_its_arbiter_fastpass_waits_and_says_for_whom() {
    let fault = "[[faults]]\nkind = \"down\"\nlink = \"h15 <-> tor3\"\nfrom = \"300us\"\n";
    // It comes back: every message ends, late.
    let (_, record) = run(&fastpass(&format!("{fault}until = \"5ms\"\n")));
    assert_eq!(record.status, Status::Complete);
    assert!(counted(&record, "asked_again") >= 15, "{:?}", record.totals);
    // It does not: who has no slots left says what is missing.
    let (_, record) = run(&fastpass(&format!("{fault}[run]\nuntil = \"8ms\"\n")));
    let waits = |row: &&results::StuckRow| {
        row.waits_for
            .contains("slots from the arbiter, host 15, silent since")
    };
    let waiting = record.stuck.iter().filter(waits).count();
    assert!(waiting >= 14, "{:?}", record.stuck);
}

#[test]
fn fastpass_refuses_an_arbiter_that_is_not_there() {
    let text = fastpass("[transport.fastpass]\narbiter = 16\n");
    let error = assembled(&text).err().map(|errors| errors.to_string());
    assert!(error.unwrap().contains("there are hosts 0 to 15"));
    let (of, _) = run(&fastpass("[transport.fastpass]\narbiter = 3\n"));
    assert_eq!(
        of.scenario.factory.resolved()["arbiter"].as_integer(),
        Some(3)
    );
}

#[test]
fn fastpass_refuses_a_network_that_its_slots_do_not_reach_across() {
    let far = fastpass("").replace("host_delay = \"500ns\"", "host_delay = \"10ms\"");
    let said = assembled(&far).err().expect("it is refused").to_string();
    assert!(
        said.contains("error: fastpass cannot work in this network"),
        "{said}"
    );
    assert!(
        said.contains("slots are told") && !said.contains("lead"),
        "{said}"
    );
}

#[test]
fn expresspass_refuses_a_network_with_more_credits_under_way_than_data_can_name() {
    let far = |delay: &str| {
        let text = format!(
            "[topology]\nkind = \"star\"\nhosts = 3\nhost_delay = \"{delay}\"\n[workload]\nkind = \"incast\"\n\
             senders = 2\nsize = \"1KB\"\n[transport]\nkind = \"expresspass\"\n"
        );
        assembled(&text)
            .map(|_| ())
            .map_err(|errors| errors.to_string())
    };
    assert_eq!(far("64ms"), Ok(())); // 2,080,000 frames of 1538 B at 100 Gb/s
    let said = far("65ms").expect_err("it is refused");
    assert!(
        said.contains("expresspass cannot work in this network"),
        "{said}"
    );
}

#[test]
fn ndp_spreads_a_permutation_over_all_ways() {
    let all = "[workload]\nkind = \"permutation\"\nsize = \"2MB\"\n";
    let (of, record) = run(&ndp(&format!("{all}{JUMBO}")));
    assert_eq!(
        (record.status, record.totals.timeouts),
        (Status::Complete, 0)
    );
    let line = of.encap.wire_total(2_000_000) * 800;
    let last = record
        .flows
        .iter()
        .filter_map(|flow| flow.end)
        .max()
        .unwrap();
    assert!(
        last.0 < line * 115 / 100,
        "{last} of {line} ps: one way would carry two flows"
    );
    // Every uplink of a leaf carries as much as the others, to a few frames.
    let is_up = |port: &&results::PortRow| port.from_tier == 1 && port.to_tier == 2;
    let uplinks: Vec<_> = record.ports.iter().filter(is_up).collect();
    assert_eq!(uplinks.len(), 4 * 4);
    for leaf in uplinks.chunks(4) {
        let data = [Class::Unscheduled, Class::Scheduled];
        let of =
            |port: &&results::PortRow| data.map(|class| port.packets[class]).iter().sum::<u64>();
        let sent: Vec<_> = leaf.iter().map(of).collect();
        let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
        assert!(leaf.iter().all(|port| port.from == leaf[0].from));
        assert!(
            most - least < 40 && *least > 100,
            "{}: {sent:?}",
            leaf[0].from
        );
    }
}

#[test]
fn ndp_refuses_ports_that_drop_with_the_place_and_the_nearest_that_works() {
    let drops = "[workload]\nkind = \"permutation\"\nsize = \"1MB\"\n[transport.ndp]\nports = \"drop-tail\"\n";
    let Err(errors) = assembled(&ndp(drops)) else {
        panic!("taken")
    };
    assert_eq!(errors.0.len(), 1, "{errors}");
    let error = &errors.0[0];
    assert_eq!(error.message, "ndp does not work on this fabric");
    assert!(
        error.label.contains("needs ports that trim"),
        "{}",
        error.label
    );
    assert!(
        error
            .help
            .as_deref()
            .is_some_and(|help| help.contains("trim"))
    );
    let at = error.origin.as_ref().unwrap();
    assert_eq!(&at.source.text[at.span.clone()], "\"ndp\"");
}

#[test]
fn what_a_scenario_says_of_ports_that_are_the_transports_own_is_refused() {
    let marks =
        "[workload]\nkind = \"permutation\"\nsize = \"1MB\"\n[switch.mark]\nmin = \"10KB\"\n";
    let Err(errors) = assembled(&ndp(marks)) else {
        panic!("taken")
    };
    assert_eq!(errors.0[0].message, "switch.mark.min means nothing here");
}
