//! Node-link JSON, as `networkx.node_link_data` gives it.
//!
//! ```json
//! {"nodes": [{"id": "a"}, {"id": "b"}, {"id": "s", "kind": "switch"}],
//!  "edges": [{"source": "a", "target": "s", "rate": "100Gbps", "delay": "1us"},
//!            {"source": "b", "target": "s", "rate_bps": 100000000000, "delay_ps": 1000000}]}
//! ```
//!
//! A node without `kind` is a host where it has one edge. `loss` of an edge is a probability. Older
//! files say `links` instead of `edges`.

use super::labelled::{Edge, Labelled, Wrong, build};
use crate::{Graph, TextError};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use units::text::unmarked;

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(default)]
    directed: bool,
    #[serde(borrow)]
    nodes: Vec<&'a RawValue>,
    #[serde(borrow, alias = "links")]
    edges: Vec<&'a RawValue>,
}

/// Reads `text`; `name` becomes the topology's name.
///
/// # Errors
/// With the line and column of whatever cannot be understood.
pub fn parse(name: &str, text: &str) -> Result<Graph, TextError> {
    let text = unmarked(text);
    let document: Document<'_> = serde_json::from_str(text).map_err(|error| TextError {
        line: u32::try_from(error.line()).unwrap_or(u32::MAX),
        column: u32::try_from(error.column()).unwrap_or(u32::MAX),
        message: format!("no node-link graph: {}", reason(&error, text)),
    })?;
    if document.directed {
        return Err(TextError {
            line: 1,
            column: 1,
            message: "the graph is directed, but a cable carries both ways; write it undirected"
                .to_owned(),
        });
    }
    let node = |raw: &&RawValue| {
        let mut label = label(text, raw)?;
        Ok((take(&mut label, "id")?, label))
    };
    let edge = |raw: &&RawValue| {
        let mut label = label(text, raw)?;
        Ok(Edge {
            a: take(&mut label, "source")?,
            b: take(&mut label, "target")?,
            label,
        })
    };
    let graph = || {
        let nodes: Result<Vec<_>, Wrong> = document.nodes.iter().map(node).collect();
        let edges: Result<Vec<_>, Wrong> = document.edges.iter().map(edge).collect();
        build(name, nodes?, &edges?)
    };
    graph().map_err(|wrong| wrong.place(text))
}

/// What a user can do about it; the place is said elsewhere.
fn reason(error: &serde_json::Error, text: &str) -> String {
    let object = text.trim_start().starts_with('{');
    if text.trim().is_empty() {
        return "the file is empty; write an object with nodes and edges".to_owned();
    }
    if !object && !error.is_syntax() {
        return "write an object with nodes and edges, as networkx.node_link_data gives it".into();
    }
    let whole = error.to_string();
    let (what, _) = whole.rsplit_once(" at line ").unwrap_or((&whole, ""));
    what.replace("EOF", "the file ends")
}

/// One object of the file, with its place.
fn label(text: &str, raw: &RawValue) -> Result<Labelled, Wrong> {
    // The slice lies within the text: `RawValue` is borrowed from it.
    let empty = Labelled {
        offset: raw.get().as_ptr() as usize - text.as_ptr() as usize,
        attributes: BTreeMap::new(),
    };
    let object: BTreeMap<String, Value> =
        serde_json::from_str(raw.get()).map_err(|error| empty.error(error.to_string()))?;
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let attributes = object.into_iter().map(|(key, value)| (key, text(value)));
    Ok(Labelled {
        attributes: attributes.collect(),
        ..empty
    })
}

fn take(label: &mut Labelled, key: &str) -> Result<String, Wrong> {
    let found = label.attributes.remove(key);
    found.ok_or_else(|| label.error(format!("\"{key}\" is missing")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NodeKind;
    use units::Rate;

    const STAR: &str = r#"{"directed": false, "multigraph": false, "graph": {},
 "nodes": [{"id": 0}, {"id": 1, "kind": "host"}, {"id": "s"}],
 "edges": [
  {"source": 0, "target": "s", "rate": "40Gbps", "delay": "1us", "loss": 1e-06},
  {"source": 1, "target": "s", "rate_bps": 1e10, "delay_ps": 1000000}
 ]}"#;

    #[test]
    fn a_graph_is_read_with_its_attributes() {
        let graph = parse("star", STAR).unwrap();
        assert_eq!(graph.nodes[2].kind, NodeKind::Switch);
        let rates: Vec<_> = graph.cables.iter().map(|c| (c.rate, c.loss_ppb)).collect();
        assert_eq!(rates, [(Rate::gbps(40), 1_000), (Rate::gbps(10), 0)]);
        graph.build().unwrap().check();
        assert_eq!(parse("star", &format!("\u{feff}{STAR}")).unwrap(), graph);
        let older = STAR.replace("\"edges\"", "\"links\"");
        assert_eq!(parse("star", &older).unwrap(), graph);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (from, to, expected) in [
            ("]}", "]", "6:2: no node-link graph"),
            ("false,", "true,", "1:1: the graph is directed"),
            (
                "{\"id\": \"s\"}",
                "{\"name\": \"s\"}",
                "2:50: \"id\" is missing",
            ),
            (
                "\"host\"",
                "\"hots\"",
                "2:23: kind = \"hots\" of node \"1\"",
            ),
            (
                "\"delay_ps\": 1000000",
                "\"x\": 0",
                "5:3: the edge has no delay",
            ),
            ("40Gbps", "40", "4:3: rate = \"40\""),
            ("1e-06", "7", "4:3: loss = \"7\" is no probability"),
        ] {
            let text = STAR.replacen(from, to, 1);
            assert_ne!(text, STAR, "{from}");
            let error = parse("x", &text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{from}: {error}");
        }
    }
    #[test]
    fn a_kind_under_another_name_is_refused_where_edges_say_otherwise() {
        let with = |label: &str| STAR.replacen("{\"id\": \"s\"}", label, 1);
        let two = "is not read, and with 2 edges it is a switch; a host has exactly one: remove the \
                   others, or write kind = \"switch\"";
        for (key, word) in [("type", "host"), ("Role", "Host"), ("Kind", "host")] {
            let label = format!(r#"{{"id": "s", "{key}": "{word}"}}"#);
            let error = parse("x", &with(&label)).unwrap_err().to_string();
            let said = format!("{key} = \"{word}\" of node \"s\" {two}");
            assert!(error.ends_with(&said), "{error}");
        }
        for (from, to, expected) in [
            (
                "{\"id\": 0}",
                r#"{"id": 0, "type": "switch"}"#,
                "with one edge it is a host; write kind = \"switch\"",
            ),
            (
                "{\"id\": 0}",
                r#"{"id": 0}, {"id": 9, "role": "host"}"#,
                "without edges it is a switch; write kind = \"host\"",
            ),
        ] {
            let text = STAR.replacen(from, to, 1);
            let error = parse("x", &text).unwrap_err().to_string();
            assert!(error.ends_with(expected), "{error}");
        }
        // What says the same, or something of its own, is left alone.
        for label in [
            r#"{"id": "s", "type": "switch"}"#,
            r#"{"id": "s", "role": "spine"}"#,
            r#"{"id": "s", "type": "host", "kind": "switch"}"#,
        ] {
            assert_eq!(
                parse("star", &with(label)).unwrap().nodes[2].kind,
                NodeKind::Switch
            );
        }
    }
}
