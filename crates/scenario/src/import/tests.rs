use super::{Imported, hpcc, htsim};
use crate::{Files, Scenario, load_files};
use std::sync::Arc;

const TOPOLOGY: &str = "6 2 5\n4 5\n0 4 25Gbps 1us 0\n1 4 25Gbps 1us 0\n2 5 25Gbps 1us 0\n3 5 25Gbps 1us 0\n4 5 100Gbps 1us 0\n";
const FLOWS: &str = "2\n0 2 3 100 65536 2.0\n1 3 3 200 9000 2.000001\n";
const MATRIX: &str =
    "Nodes 16\nConnections 2\n0->15 id 1 start 0 size 90000\n3->7 id 2 start 1000000 size 20000\n";
const CONFIG: &str = "ENABLE_QCN 1\nUSE_DYNAMIC_PFC_THRESHOLD 1\n\nPACKET_PAYLOAD_SIZE 1000\nTOPOLOGY_FILE mix/topology.txt\n\
    FLOW_FILE mix/flow.txt\nFCT_OUTPUT_FILE mix/fct.txt\nSIMULATOR_STOP_TIME 4.00\nCC_MODE 8\nEWMA_GAIN 0.0625\n\
    ERROR_RATE_PER_LINK 0.0000\nLINK_DOWN 100 4 5\nKMAX_MAP 2 25000000000 400 100000000000 1600\n\
    KMIN_MAP 2 25000000000 100 100000000000 400\nPMAX_MAP 2 25000000000 0.2 100000000000 0.2\nBUFFER_SIZE 32\n";

fn find(said: &str) -> Option<(String, String)> {
    let text = match said {
        "mix/topology.txt" => TOPOLOGY,
        "mix/flow.txt" => FLOWS,
        "a.cm" => MATRIX,
        _ => return None,
    };
    Some((said.to_owned(), text.to_owned()))
}

/// The imported scenario, resolved and assembled.
fn scenario(imported: &Imported) -> Scenario {
    let files: Files = ["mix/topology.txt", "mix/flow.txt", "a.cm"]
        .map(|name| find(name).unwrap())
        .into();
    let load = || {
        load_files(
            "old.toml",
            Some(&imported.toml),
            &[],
            &Arc::new(files.clone()),
        )
    };
    let found = load().unwrap_or_else(|e| panic!("{}\n{}", e.render(false), imported.toml));
    let again = load().unwrap().assemble();
    again.unwrap_or_else(|e| panic!("{}\n{}", e.render(false), imported.toml));
    found
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn a_configuration_of_hpcc_becomes_a_scenario_with_its_values() {
    let imported = hpcc("config.txt", CONFIG, &find).unwrap();
    let of = scenario(&imported);
    let resolved: toml::Table = of.resolved_toml().parse().unwrap();
    let value = |path: &str| {
        let parts = path.split('.').collect::<Vec<_>>();
        let table = toml::Value::Table(resolved.clone());
        let found = parts
            .iter()
            .try_fold(&table, |at, part| match part.parse::<usize>() {
                Ok(i) => at.get(i),
                Err(_) => at.get(part),
            });
        found.unwrap_or_else(|| panic!("{path}")).to_string()
    };
    assert_eq!(value("transport.kind"), "\"dctcp\"");
    assert_eq!(value("transport.dctcp.gain"), "0.0625");
    assert_eq!(value("run.until"), "\"4s\"");
    assert_eq!(value("run.mtu"), "\"1.04KB\"");
    assert_eq!(value("switch.flow_control"), "\"pfc\"");
    assert_eq!(value("switch.shared_buffer"), "\"33.554432MB\"");
    assert_eq!(value("switch.mark.min"), "\"100KB/25Gbps\"");
    assert_eq!(value("switch.mark.max"), "\"400KB/25Gbps\"");
    assert_eq!(value("switch.mark.chance"), "0.2");
    assert_eq!(value("faults.0.link"), "\"tor0 <-> tor1\"");
    assert_eq!(value("faults.0.from"), "\"2.0001s\"");
    assert_eq!(value("output.hpcc"), "true");
    // The law of the same name is not the same thing, and that is all there is to say.
    assert_eq!(imported.notes.len(), 1, "{:?}", imported.notes);
}

#[test]
fn whatever_is_not_the_same_in_hpcc_is_named_with_its_line() {
    let more = format!(
        "{CONFIG}CC_MODE 3\nRATE_AI 50Mb/s\nQLEN_MON_FILE mix/qlen.txt\nMY_OWN_KEY 7\nERROR_RATE_PER_LINK 0.001\n"
    );
    let imported = hpcc("config.txt", &more, &find).unwrap();
    scenario(&imported);
    let notes = imported.notes.join("\n");
    for part in [
        "CC_MODE 3: HPCC; that is not here: DCTCP stands in",
        "CC_MODE is said again in line 17",
        "line 18: RATE_AI 50Mb/s: it belongs to",
        "QLEN_MON_FILE mix/qlen.txt: queues are in series.csv",
        "line 20: MY_OWN_KEY 7: this key is not known here",
        "EWMA_GAIN 0.0625: it belongs to DCTCP",
    ] {
        assert!(notes.contains(part), "{part}\n{notes}");
        assert!(imported.toml.contains(part), "the file says it too: {part}");
    }
    assert!(imported.toml.contains("kind = \"loss\""));
    // Thresholds that do not follow the rate: those of the hosts' cables.
    let uneven = CONFIG.replace(
        "25000000000 100 100000000000 400\n",
        "100000000000 300 25000000000 100\n",
    );
    let imported = hpcc("config.txt", &uneven, &find).unwrap();
    assert!(
        imported.toml.contains("min = \"100KB\""),
        "{}",
        imported.toml
    );
    assert!(
        imported
            .notes
            .iter()
            .any(|n| n.contains("one value for all ports here, that of 25Gbps")),
        "{:?}",
        imported.notes
    );
}

#[test]
fn what_makes_no_sense_in_hpccs_file_is_refused() {
    let wrong = |text: &str| hpcc("config.txt", text, &find).unwrap_err();
    assert!(wrong("CC_MODE 8\n").contains("no TOPOLOGY_FILE"));
    assert!(
        wrong(&CONFIG.replace("mix/flow.txt", "gone.txt"))
            .contains("line 6: FLOW_FILE gone.txt: there is no such file")
    );
    assert!(wrong(&CONFIG.replace("CC_MODE 8", "CC_MODE 4")).contains("the modes are 1 DCQCN"));
    assert!(wrong(&CONFIG.replace("KMAX_MAP 2", "KMAX_MAP 3")).contains("3 pairs"));
    assert!(
        wrong(&CONFIG.replace("BUFFER_SIZE 32", "BUFFER_SIZE big")).contains("should be a number")
    );
    assert!(wrong(&CONFIG.replace("LINK_DOWN 100 4 5", "LINK_DOWN 100 4 9")).contains("no node 9"));
}

#[test]
fn a_command_line_of_htsim_becomes_a_scenario_with_its_values() {
    let line = "./htsim_ndp -nodes 16 -tiers 3 -linkspeed 40000 -tm a.cm -q 8 -cwnd 23 -strat perm -end 2000 -seed 7 -mtu 4000 -hop_latency 0.7 -switch_latency 0.2";
    let imported = htsim(&words(line), &find).unwrap();
    let of = scenario(&imported);
    assert_eq!(imported.notes.len(), 1, "{:?}", imported.notes);
    assert!(imported.notes[0].contains("all cables have one delay here"));
    let resolved = of.resolved_toml();
    for part in [
        "kind = \"ndp\"",
        "kind = \"fat-tree\"",
        "k = 4",
        "host_rate = \"40Gbps\"",
        "queue = 8",
        "window = 23",
        "until = \"2ms\"",
        "mtu = \"4KB\"",
        "host_delay = \"866.667ns\"",
        "host_extra_delay = \"0ps\"",
    ] {
        assert!(resolved.contains(part), "{part}\n{resolved}");
    }
    assert_eq!(of.run.seed, 7);
    let line = "htsim_uec -nodes 32 -tiers 2 -tm a.cm -q 100 -ecn 20 80 -strat ecmp_ar -end 99";
    let imported = htsim(&words(line), &find).unwrap();
    let resolved = scenario(&imported).resolved_toml();
    for part in [
        "leaves = 8",
        "hosts_per_leaf = 4",
        "spines = 4",
        "buffer = \"900KB\"",
        "min = \"180KB\"",
        "max = \"720KB\"",
        "balance = \"adaptive\"",
        "host_extra_delay = \"0ps\"",
    ] {
        assert!(resolved.contains(part), "{part}\n{resolved}");
    }
    assert!(
        imported.notes[0].contains("DCTCP stands in"),
        "{:?}",
        imported.notes
    );
}

#[test]
fn whatever_is_not_the_same_in_htsim_is_named() {
    let line = "main_roce -nodes 16 -tm a.cm -queue_type lossless_input -pfc_thresholds 12 15 -log flow_events -fancy -1 2 -start_delta 3 extra";
    let imported = htsim(&words(line), &find).unwrap();
    scenario(&imported);
    let notes = imported.notes.join("\n");
    for part in [
        "main_roce: RoCE is not here",
        "-pfc_thresholds 12 15: set switch.pfc.xoff to 135KB",
        "-log flow_events: results are",
        "-fancy -1 2: this option is not known here",
        "-start_delta 3 extra: this option is not known here",
        "there is no -end",
    ] {
        assert!(notes.contains(part), "{part}\n{notes}");
    }
    assert!(imported.toml.contains("flow_control = \"pfc\""));
    let wrong = |line: &str| htsim(&words(line), &find).unwrap_err();
    assert!(wrong("ls -l").contains("none of htsim's programs"));
    assert!(wrong("htsim_ndp -nodes 16").contains("no -tm"));
    assert!(wrong("htsim_ndp -tm a.cm").contains("neither -topo nor -nodes"));
    assert!(
        wrong("htsim_ndp -tm gone.cm -nodes 16").contains("-tm gone.cm: there is no such file")
    );
    assert!(wrong("htsim_ndp -tm a.cm -nodes 17").contains("like 16, 128 or 432"));
    assert!(wrong("htsim_ndp -tm a.cm -nodes x").contains("should be a number"));
    assert!(wrong("htsim_ndp stray -tm a.cm").contains("belongs to no option"));
}
