//! A fabric that a file describes.

use super::in_file;
use crate::choice::TopologyFormat;
use crate::diagnostic::Diagnostic;
use crate::section::Section;
use crate::settings::File;
use topology::{Graph, NodeKind, TextError, import};
use units::text::lines;

/// The graph in `file`, which `section` names.
pub(super) fn read(section: &Section, file: &File) -> Result<Graph, Diagnostic> {
    let text = super::read(section, &file.path)?;
    let path = &file.path.path;
    let stem = path
        .file_stem()
        .map_or_else(String::new, |s| s.to_string_lossy().into_owned());
    let said = file.format;
    let format = said.unwrap_or_else(|| crate::format::of_topology(path, &text));
    let parse = match format {
        TopologyFormat::Htsim => import::htsim::parse,
        TopologyFormat::Graphml => import::graphml::parse,
        TopologyFormat::NodeLink => import::node_link::parse,
        TopologyFormat::Hpcc => import::hpcc::parse,
    };
    let whole = parse(&stem, &text).and_then(|graph| match format {
        TopologyFormat::Hpcc => single_cables(&graph, &text).map(|()| graph),
        // Hosts have one cable by construction, or the reader knows the edge that is too much.
        TopologyFormat::Htsim | TopologyFormat::Graphml | TopologyFormat::NodeLink => Ok(graph),
    });
    let mut graph = whole.map_err(|e| in_file(path, text, e.line, e.column, &e.message))?;
    graph.order = file.order.unwrap_or(graph.order);
    Ok(graph)
}

/// Refuses a second cable of a host, at its line: the format allows it, as `SimAI`'s files with a cable to `NVSwitches`
/// have it, and hosts here have one.
fn single_cables(graph: &Graph, text: &str) -> Result<(), TextError> {
    let mut cables = vec![0u32; graph.nodes.len()];
    for (number, cable) in graph.cables.iter().enumerate() {
        for end in [cable.a, cable.b] {
            let node = &graph.nodes[end as usize];
            cables[end as usize] += 1;
            if node.kind == NodeKind::Host && cables[end as usize] > 1 {
                // The cables are the file's last lines, one on each.
                let from_the_end = graph.cables.len() - number;
                let all: Vec<_> = lines(text).collect();
                let line = &all[all.len() - from_the_end];
                let message = format!(
                    "a second link of host {}, which has one already; hosts have exactly one: remove the line, or list \
                     node {} among the switches",
                    node.id, node.id
                );
                return Err(line[usize::from(end == cable.b)].error(message));
            }
        }
    }
    Ok(())
}
