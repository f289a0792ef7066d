//! Files of other simulators as scenarios, from the file to the finished run.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use results::{RunRecord, Status};
use scenario::{Alone, Request};
use std::path::{Path, PathBuf};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let path = std::env::temp_dir().join(format!("tidegate-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        for (name, text) in files {
            std::fs::write(path.join(name), text).unwrap();
        }
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(folder: &Path, set: &str) -> Result<RunRecord, String> {
    let file = folder.join("s.toml");
    let request = Request {
        from: file.to_str().unwrap(),
        sets: &[set.to_owned()],
    };
    let assembled = scenario::load(&request)
        .and_then(scenario::Scenario::assemble)
        .map_err(|e| e.render(false))?;
    assembled
        .run(1, "", &mut Alone)
        .map_err(|e| e.render(false))
}

const HTSIM: &str = "[topology]\nkind = \"file\"\nformat = \"htsim\"\npath = \"x.topo\"\n\
    [workload]\nkind = \"trace\"\nformat = \"htsim\"\npath = \"x.cm\"\n";
const TOPO: &str = "Nodes 8\nTiers 2\nPodsize 8\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\n\
    Radix_Up 4\nDownlink_Latency_ns 1000\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\n\
    Downlink_Latency_ns 1000\n";
/// A ring all-reduce's first steps over four hosts, in which each host's next step waits for what
/// it received, and a barrier before the last flow.
const CM: &str = "Nodes 8\nConnections 5\nTriggers 3\n\
    0->1 id 1 start 0 size 100000 recv_done_trigger 1\n\
    2->3 id 2 start 0 size 50000 recv_done_trigger 2\n\
    1->2 id 3 trigger 1 size 100000 recv_done_trigger 3 prio 1\n\
    3->0 id 4 trigger 2 size 50000 send_done_trigger 3\n\
    7->4 id 5 trigger 3 size 1000\n\
    trigger id 1 oneshot\ntrigger id 2 oneshot\ntrigger id 3 barrier count 2\n";

#[test]
fn htsim_files_run_with_their_triggers_under_every_transport() {
    let folder = Folder::new(
        "htsim",
        &[("s.toml", HTSIM), ("x.topo", TOPO), ("x.cm", CM)],
    );
    for kind in ["expresspass", "dctcp"] {
        let record = run(&folder.0, &format!("transport.kind={kind}")).unwrap();
        assert_eq!(record.status, Status::Complete, "{kind}");
        let of = |src: u32| record.flows.iter().find(|flow| flow.src == src).unwrap();
        let (start, end) = (|src| of(src).start.unwrap(), |src| of(src).end.unwrap());
        // Receiver and next sender are one host: no time passes.
        assert_eq!((start(1), start(3)), (end(0), end(2)), "{kind}");
        // The barrier hears of the last of both, from other hosts.
        assert!(start(7) > end(1).max(end(3)), "{kind}");
        let prio = |warning: &String| warning.contains("x.cm: line 6: prio is not used");
        assert!(record.warnings.iter().any(prio), "{:?}", record.warnings);
    }
}

#[test]
fn a_malformed_line_is_shown_with_file_line_and_column() {
    let graph = |format: &str| HTSIM.replacen("htsim", format, 1);
    for (scenario, topo, cm, expected) in [
        (HTSIM, "Nodes 8\nTiers 2\nPodsize x\n", CM, "x.topo:3:9"),
        (HTSIM, TOPO, "Nodes 8\n0->1 start 0 size\n", "x.cm:2:14"),
        (
            &graph("graphml"),
            "<graphml>\n <graph>\n</graphml>",
            CM,
            "x.topo:3:1",
        ),
        (
            &graph("node-link"),
            "{\"nodes\": [],\n \"edges\": [7]}",
            CM,
            "x.topo:2:12",
        ),
        (
            &graph("hpcc"),
            "3 1 2\n2\n0 2 100Gbps 1us\n",
            CM,
            "x.topo:3:1",
        ),
    ] {
        let files = [("s.toml", scenario), ("x.topo", topo), ("x.cm", cm)];
        let folder = Folder::new("malformed", &files);
        let error = run(&folder.0, "run.seed=1").unwrap_err();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

/// Two ways of two links each lie side by side, and one of them is 30 ns longer.
#[test]
fn beside_unequal_ways_the_ideal_time_is_a_bound() {
    let edge = |a: &str, b: &str, delay: u32| {
        format!(r#"{{"source": "{a}", "target": "{b}", "rate": "100Gbps", "delay": "{delay}ns"}}"#)
    };
    let edges = [
        edge("a", "s", 1000),
        edge("s", "near", 1000),
        edge("s", "far", 1030),
        edge("near", "t", 1000),
        edge("far", "t", 1000),
        edge("t", "b", 1000),
    ];
    let nodes = ["a", "b", "s", "t", "near", "far"].map(|id| format!(r#"{{"id": "{id}"}}"#));
    let graph = format!(
        r#"{{"nodes": [{}], "edges": [{}]}}"#,
        nodes.join(", "),
        edges.join(", ")
    );
    let messages: Vec<String> = (0..16).map(|i| format!("a,b,10KB,{}us", 100 * i)).collect();
    let messages = format!("src,dst,size,start\n{}\n", messages.join("\n"));
    let scenario = "[topology]\nkind = \"file\"\npath = \"x.json\"\n\
        [workload]\nkind = \"trace\"\npath = \"x.csv\"\n[transport]\nkind = \"none\"\n";
    let folder = Folder::new(
        "unequal",
        &[
            ("s.toml", scenario),
            ("x.json", &graph),
            ("x.csv", &messages),
        ],
    );
    let record = run(&folder.0, "run.seed=1").unwrap();
    let longer = record.flows.iter().map(|flow| {
        let took = flow.end.unwrap().since(flow.start.unwrap());
        took.0 - flow.ideal.0
    });
    let mut longer: Vec<u64> = longer.collect();
    longer.sort_unstable();
    longer.dedup();
    assert_eq!(longer, [0, 30_000]);
}
