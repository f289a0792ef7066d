//! `GraphML`, as `NetworkX` and graph editors write it. [GraphML primer, s2]
//!
//! Attributes are found by the `attr.name` of their `<key>`; `kind`, `rate`, `rate_bps`, `delay`,
//! `delay_ps` and `loss` mean what they mean in [`super::node_link`].

use super::labelled::{Edge, Labelled, build};
use crate::{Graph, TextError};
use roxmltree::{Document, Node};
use std::collections::BTreeMap;

fn place(node: Node<'_, '_>) -> (u32, u32) {
    let at = node.document().text_pos_at(node.range().start);
    (at.row, at.col)
}

fn wrong(node: Node<'_, '_>, message: impl Into<String>) -> TextError {
    let (line, column) = place(node);
    TextError {
        line,
        column,
        message: message.into(),
    }
}

fn attribute(node: Node<'_, '_>, key: &str) -> Result<String, TextError> {
    let missing = || wrong(node, format!("<{}> lacks {key}", node.tag_name().name()));
    node.attribute(key).map(str::to_owned).ok_or_else(missing)
}

/// What is wrong; the place is said elsewhere.
fn without_place(error: &roxmltree::Error) -> String {
    let whole = error.to_string();
    let (what, _) = whole.rsplit_once(" at ").unwrap_or((&whole, ""));
    what.to_owned()
}

/// Reads `text`; `name` becomes the topology's name.
///
/// # Errors
/// With the line and column of whatever cannot be understood.
pub fn parse(name: &str, text: &str) -> Result<Graph, TextError> {
    let document = Document::parse(text).map_err(|error| {
        let at = error.pos();
        TextError {
            line: at.row,
            column: at.col,
            message: format!("no XML: {}", without_place(&error)),
        }
    })?;
    let root = document.root_element();
    let named = |tag: &'static str| {
        let all = root.descendants();
        all.filter(move |node| node.tag_name().name() == tag)
    };
    let Some(graph) = named("graph").next() else {
        return Err(wrong(root, "there is no <graph>"));
    };
    if graph.attribute("edgedefault") == Some("directed") {
        return Err(wrong(
            graph,
            "the graph is directed, but a cable carries both ways; write it undirected",
        ));
    }
    let mut keys: BTreeMap<String, (String, Option<String>)> = BTreeMap::new();
    let mut defaults = Vec::new();
    for key in named("key") {
        let (id, meaning) = (attribute(key, "id")?, attribute(key, "attr.name")?);
        let of = key.attribute("for").map(str::to_owned);
        let default = key
            .children()
            .find(|child| child.tag_name().name() == "default");
        if let Some(default) = default.and_then(|node| node.text()) {
            defaults.push((of.clone(), meaning.clone(), default.trim().to_owned()));
        }
        keys.insert(id, (meaning, of));
    }
    let label = |node: Node<'_, '_>| {
        let kind = node.tag_name().name();
        let applies = |of: &Option<String>| {
            matches!(of.as_deref(), None | Some("all")) || of.as_deref() == Some(kind)
        };
        let mut attributes: BTreeMap<String, String> = defaults
            .iter()
            .filter(|(of, ..)| applies(of))
            .map(|(_, name, value)| (name.clone(), value.clone()))
            .collect();
        for data in node
            .children()
            .filter(|child| child.tag_name().name() == "data")
        {
            let key = attribute(data, "key")?;
            let Some((meaning, _)) = keys.get(&key) else {
                return Err(wrong(data, format!("no <key> has the id \"{key}\"")));
            };
            let value = data.text().unwrap_or("").trim().to_owned();
            attributes.insert(meaning.clone(), value);
        }
        Ok(Labelled {
            place: place(node),
            attributes,
        })
    };
    let nodes: Result<Vec<_>, TextError> = named("node")
        .map(|node| Ok((attribute(node, "id")?, label(node)?)))
        .collect();
    let edges: Result<Vec<_>, TextError> = named("edge")
        .map(|edge| {
            Ok(Edge {
                a: attribute(edge, "source")?,
                b: attribute(edge, "target")?,
                label: label(edge)?,
            })
        })
        .collect();
    build(name, nodes?, &edges?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Rate, Span};

    // As networkx 3.7 writes a star of two hosts.
    const STAR: &str = r#"<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d2" for="edge" attr.name="delay_ps" attr.type="long" />
  <key id="d1" for="edge" attr.name="rate" attr.type="string"><default>100Gbps</default></key>
  <key id="d0" for="node" attr.name="kind" attr.type="string" />
  <graph edgedefault="undirected">
    <node id="a" />
    <node id="b" />
    <node id="s"><data key="d0">switch</data></node>
    <edge source="a" target="s"><data key="d2">1000000</data></edge>
    <edge source="b" target="s"><data key="d1">25Gbps</data><data key="d2">2000000</data></edge>
  </graph>
</graphml>
"#;

    #[test]
    fn a_graph_is_read_with_its_attributes() {
        let topology = parse("star", STAR).unwrap().build().unwrap();
        topology.check();
        let names: Vec<_> = topology
            .nodes
            .iter()
            .map(|node| node.name.as_str())
            .collect();
        assert_eq!(names, ["a", "b", "s"]);
        assert_eq!(topology.hosts, 2);
        let links: Vec<_> = topology.links.iter().map(|l| (l.rate, l.delay)).collect();
        assert_eq!(links[0], (Rate::gbps(100), Span::us(1)));
        assert_eq!(links[2], (Rate::gbps(25), Span::us(2)));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (from, to, expected) in [
            ("</graph>", "", "13:1: no XML"),
            (
                "\"undirected\"",
                "\"directed\"",
                "6:3: the graph is directed",
            ),
            ("switch<", "router<", "9:5: kind = \"router\""),
            (
                "target=\"s\"><data key=\"d2\"",
                "target=\"t\"><data key=\"d2\"",
                "10:5: there is no node \"t\"",
            ),
            ("25Gbps", "25Gs", "11:5: rate = \"25Gs\""),
            (
                "key=\"d0\"",
                "key=\"d9\"",
                "9:18: no <key> has the id \"d9\"",
            ),
            ("id=\"b\"", "id=\"a\"", "8:5: node \"a\" is there twice"),
            (
                "1000000<",
                "soon<",
                "10:5: delay_ps = \"soon\" is no number",
            ),
        ] {
            let text = STAR.replacen(from, to, 1);
            assert_ne!(text, STAR, "{from}");
            let error = parse("x", &text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{from}: {error}");
        }
    }
}
