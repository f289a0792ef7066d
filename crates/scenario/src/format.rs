//! How a file is written, where the scenario does not say: by its ending, then by what it begins with.

use crate::choice::{TopologyFormat, TraceFormat};
use std::path::Path;

fn ending(path: &Path) -> String {
    let ending = path.extension().unwrap_or_default();
    ending.to_string_lossy().to_ascii_lowercase()
}

/// The first line that is neither empty nor a comment.
fn first_line(text: &str) -> &str {
    let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let says = |line: &&str| !line.is_empty() && !line.starts_with('#');
    lines.find(says).unwrap_or_default()
}

/// The format of a list of messages.
pub(crate) fn of_trace(path: &Path, text: &str) -> TraceFormat {
    match ending(path).as_str() {
        "csv" => return TraceFormat::Csv,
        "cm" => return TraceFormat::Htsim,
        _ => {}
    }
    let first = first_line(text);
    if first.starts_with("Nodes") {
        TraceFormat::Htsim
    } else if !first.is_empty() && first.bytes().all(|b| b.is_ascii_digit()) {
        TraceFormat::Hpcc // the number of flows stands alone in the first line
    } else {
        TraceFormat::Csv
    }
}

/// The format of a graph.
pub(crate) fn of_topology(path: &Path, text: &str) -> TopologyFormat {
    match ending(path).as_str() {
        "graphml" | "xml" => return TopologyFormat::Graphml,
        "json" => return TopologyFormat::NodeLink,
        "topo" => return TopologyFormat::Htsim,
        _ => {}
    }
    let first = first_line(text);
    if first.starts_with('<') {
        TopologyFormat::Graphml
    } else if first.starts_with('{') {
        TopologyFormat::NodeLink
    } else if first.starts_with(|c: char| c.is_ascii_alphabetic()) {
        TopologyFormat::Htsim
    } else {
        TopologyFormat::Hpcc
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_tells_its_format() {
        let topology = |name: &str, text: &str| of_topology(Path::new(name), text);
        assert_eq!(topology("fabric.graphml", ""), TopologyFormat::Graphml);
        assert_eq!(
            topology("fabric.txt", "\u{feff}<?xml version='1.0'?>"),
            TopologyFormat::Graphml
        );
        assert_eq!(topology("fabric.json", ""), TopologyFormat::NodeLink);
        assert_eq!(
            topology("fabric", " {\"nodes\": []}"),
            TopologyFormat::NodeLink
        );
        assert_eq!(topology("tree.topo", ""), TopologyFormat::Htsim);
        assert_eq!(
            topology("tree", "# a tree\nNodes 16\nTiers 3"),
            TopologyFormat::Htsim
        );
        assert_eq!(topology("topology.txt", "9 1 8\n8\n"), TopologyFormat::Hpcc);
        let trace = |name: &str, text: &str| of_trace(Path::new(name), text);
        assert_eq!(trace("mine.CSV", "3"), TraceFormat::Csv);
        assert_eq!(
            trace("flows.txt", "# by hand\ngpu0,gpu1,1KB,0us\n"),
            TraceFormat::Csv
        );
        assert_eq!(trace("flow.txt", "2\n0 1 3 100 5 2\n"), TraceFormat::Hpcc);
        assert_eq!(trace("perm.cm", ""), TraceFormat::Htsim);
        assert_eq!(
            trace("perm", "Nodes 16\nConnections 3\n"),
            TraceFormat::Htsim
        );
    }
}
