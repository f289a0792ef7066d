//! Packets that carry neither data nor a credit: how many, what they take, and what is left to them.

use model::Class;
use results::{RunRecord, Summary};
use scenario::{Alone, Scenario, load_text};

const PAIR: &str = "[topology]\nkind = \"star\"\nhosts = 2\nhost_rate = \"10Gbps\"\n";

fn run(workload: &str, sets: &[&str]) -> RunRecord {
    let sets: Vec<_> = sets.iter().map(|s| (*s).to_owned()).collect();
    let record = load_text("a.toml", &format!("{PAIR}[workload]\n{workload}"), &sets)
        .and_then(Scenario::assemble)
        .and_then(|of| of.run(1, "", &mut Alone))
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(record.conservation, Ok(()));
    record
}

#[test]
fn requests_probes_and_acknowledgements_are_told_apart() {
    let summary = |kind: &str| {
        let message = "kind = \"incast\"\nsenders = 1\nsize = \"3KB\"\n";
        Summary::of(&run(message, &[&format!("transport.kind={kind}")]))
    };
    let own = |of: &Summary| of.counters.iter().map(|own| own.value).collect::<Vec<_>>();
    let aeolus = summary("expresspass+aeolus");
    // Three frames of a burst and their probe, each answered; STOP and STOP_ACK besides.
    assert_eq!(own(&aeolus), [1, 1, 4, 0]);
    assert_eq!(aeolus.counters[2].name, "acks");
    let aeolus = aeolus.control;
    assert_eq!((aeolus.packets, aeolus.bytes), (8, 8 * 84));
    assert!(aeolus.share_max > 0.0 && aeolus.share_mean < aeolus.share_max);
    let plain = summary("expresspass");
    assert_eq!(own(&plain), [1, 0, 0, 0]);
}

#[test]
fn credited_data_leaves_control_packets_their_share_of_every_line() {
    let busiest = |share: &str| {
        let share = format!("transport.expresspass.control_share={share}");
        let record = run(
            "kind = \"long-flows\"\npairs = [\"0 -> 1\"]\n",
            &["run.until=5ms", &share],
        );
        let scheduled = Class::Scheduled;
        let ports = record.ports.iter();
        ports.map(|port| port.bytes[scheduled]).max().unwrap() as f64
    };
    let (all, left) = (busiest("0.0"), busiest("0.1"));
    assert!((left / all - 0.9).abs() < 0.01, "{left} of {all} B");
}

#[test]
fn a_threshold_may_ask_for_what_the_transport_counts_and_for_nothing_else() {
    let with = |more: &str| {
        let workload = "[workload]\nkind = \"incast\"\nsenders = 1\nsize = \"3KB\"\n";
        load_text("a.toml", &format!("{PAIR}{workload}{more}"), &[]).and_then(Scenario::assemble)
    };
    let asked = with("[thresholds]\ncounters.requests = \"== 1\"\n").unwrap();
    let summary = Summary::of(&asked.run(1, "", &mut Alone).unwrap());
    let verdict = asked.scenario.conditions().unwrap()[0].judge(&summary);
    assert_eq!((verdict.measured.as_str(), verdict.passed), ("1", true));
    let wrong = with("[thresholds]\ncounters.requets = \"== 1\"\n")
        .err()
        .unwrap()
        .to_string();
    assert!(
        wrong.contains("they count requests, probes, acks, line_lost"),
        "{wrong}"
    );
    let none = with("[transport]\nkind = \"dctcp\"\n[thresholds]\ncounters.requests = \"== 1\"\n");
    let none = none.err().unwrap().to_string();
    assert!(
        none.contains("no transport of this scenario declares counters"),
        "{none}"
    );
}

#[test]
fn what_a_transport_declares_is_a_column_and_is_empty_where_another_counts() {
    let text = format!(
        "{PAIR}[[workload]]\nkind = \"incast\"\nsenders = 1\nsize = \"3KB\"\n[[workload]]\nkind = \
         \"incast\"\nsenders = 1\nsize = \"3KB\"\ntransport = \"dctcp\"\n"
    );
    let run = load_text("a.toml", &text, &[])
        .and_then(Scenario::assemble)
        .and_then(|of| of.run(1, "", &mut Alone))
        .unwrap_or_else(|e| panic!("{e}"));
    let table = results::tables::hosts(results::tables::own_counters(&run));
    let mut csv = Vec::new();
    let look = results::tables::Look::of(&run);
    table.csv(&mut csv, &run.counts, look).unwrap();
    assert_eq!(
        String::from_utf8(csv).unwrap(),
        "host,name,transport,data_sent,retransmitted,duplicates,credits_sent,credits_received,credits_wasted,\
         credits_dropped,timeouts,nonsense,requests,probes,acks,line_lost\n\
         0,h0,expresspass,0,0,0,3,0,0,0,0,0,0,0,0,0\n0,h0,dctcp,0,0,0,0,0,0,0,0,0,,,,\n\
         1,h1,expresspass,3,0,0,0,3,0,0,0,0,1,0,0,0\n1,h1,dctcp,3,0,0,0,0,0,0,0,0,,,,\n"
    );
}
