//! Messages that follow each other on connections that last.

use results::Status;
use scenario::{Alone, Scenario, load_text};

const WORKERS: usize = 6;
const ROUNDS: u32 = 12;

/// Mean times of what each worker sends, or is sent where `asked`, in microseconds; each message is as long.
fn means(kind: &str, asked: bool, lines: &str) -> Vec<f64> {
    let sizes = if asked {
        ("300KB", "200B")
    } else {
        ("200B", "300KB")
    };
    let text = format!(
        "[topology]\nkind = \"star\"\nhosts = {}\nhost_rate = \"10Gbps\"\nhost_delay = \"2us\"\n\
         [switch]\nbuffer = \"8MB\"\n[workload]\nkind = \"incast-rr\"\nsenders = {WORKERS}\nreceiver = 0\n\
         rounds = {ROUNDS}\npacing = \"closed\"\nrequest = \"{}\"\nsize = \"{}\"\n[transport]\nkind = \"{kind}\"\n{lines}",
        WORKERS + 1,
        sizes.0,
        sizes.1,
    );
    let record = load_text("lasting.toml", &text, &[])
        .and_then(Scenario::assemble)
        .and_then(|run| run.run(1, "", &mut Alone))
        .unwrap_or_else(|e| panic!("{text}\n{e}"));
    assert_eq!(record.status, Status::Complete, "{text}");
    let mut sums = vec![0.0; WORKERS];
    for flow in record.flows.iter().filter(|flow| flow.size == 300_000) {
        let worker = flow.src.max(flow.dst) as usize;
        let (Some(start), Some(end)) = (flow.start, flow.end) else {
            panic!("the run is complete")
        };
        let took = end.since(start);
        sums[worker - 1] += took.0 as f64 / 1e6 / f64::from(ROUNDS);
    }
    sums
}

#[test]
fn of_messages_with_as_much_to_go_the_older_is_first_and_nobody_waits_for_all_others() {
    for (kind, asked, lines) in [
        ("sird", false, ""),
        ("sird", true, "[transport.sird]\nshortest = 1.0\n"),
        ("phost", false, ""),
        ("homa", true, ""),
    ] {
        let means = means(kind, asked, lines);
        let most = means.iter().copied().fold(0.0, f64::max);
        let least = means.iter().copied().fold(f64::MAX, f64::min);
        println!("{kind} {asked}: {least} {most}");
        assert!(most < 1.2 * least, "{kind}, {asked}: {means:?}");
    }
}

/// Questions and answers of a connection are accepted by hosts at both of its ends: its samples say what they have together.
#[test]
fn a_connection_has_one_sample_of_each_moment() {
    let text = "[topology]\nkind = \"star\"\nhosts = 5\n\
         [workload]\nkind = \"incast-rr\"\nsenders = 4\nrounds = 20\nsize = \"30KB\"\n\
         [transport]\nkind = \"dctcp\"\n[output]\nevery = \"10us\"\nflows = true\n";
    let record = load_text("lasting.toml", text, &[])
        .and_then(Scenario::assemble)
        .and_then(|run| run.run(1, "", &mut Alone))
        .unwrap_or_else(|errors| panic!("{errors}"));
    let mut last = std::collections::BTreeMap::new();
    for row in &record.flow_series {
        let before = last.insert(row.conn, (row.at, row.received));
        let grows = before.is_none_or(|(at, received)| at < row.at && received <= row.received);
        assert!(grows, "{row:?} after {before:?}");
    }
    let answers = 20 * 30_000;
    for (conn, (_, received)) in last {
        assert!(received > answers, "{conn}: {received} B");
    }
}

/// A request of the receiver for one message comes late, behind credits of a link that were lost, and seems to be about the next
/// one, of which the receiver has not heard: that is no reason to give the connection up.
#[test]
fn a_late_word_about_one_message_ends_no_connection_at_the_next() {
    let text = "[topology]\nkind = \"fat-tree\"\nhost_rate = \"25Gbps\"\nhost_delay = \"4us\"\nk = 4\nhosts_per_edge = 2\n\
         [[workload]]\nkind = \"long-flows\"\npairs = [\"0 -> 9\", \"9 -> 0\"]\njitter = \"30us\"\nstop = \"704us\"\n\
         [[workload]]\nkind = \"incast-rr\"\nsenders = 5\nsize = \"1460B\"\nrounds = 5\npick = \"in-order\"\nwork = \"0s\"\n\
         [[workload]]\nkind = \"shuffle\"\ntasks = 1\nsize = \"5KB\"\n[transport]\nkind = \"dcpim\"\n\
         [run]\nseed = 905682\nuntil = \"20s\"\nencap = \"udp\"\n[switch]\nflow_control = \"cbfc\"\nbuffer = \"384.5KB\"\n\
         shared_buffer = \"64MB\"\nshared_alpha = 1.0\nbalance = \"packet\"\n\
         [[faults]]\nkind = \"duplicate\"\nlink = \"h2 -> *\"\nfrom = \"296us\"\nuntil = \"796us\"\nchance = 0.1\n\
         [[faults]]\nkind = \"loss\"\nlink = \"agg1 <-> *\"\nfrom = \"105us\"\nuntil = \"30105us\"\nchance = 0.3\n\
         [output]\nevery = \"0s\"\n[switch.cbfc]\nlanes = 2\nupdate = \"8KB\"\nresend = \"200us\"\ncounter_bits = 12\nblock = 1000\n";
    let record = load_text("late.toml", text, &[])
        .and_then(Scenario::assemble)
        .and_then(|run| run.run(1, "", &mut Alone))
        .unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(record.status, Status::Complete, "{:?}", record.stuck);
}
