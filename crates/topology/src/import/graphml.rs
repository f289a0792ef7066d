//! `GraphML`, as `NetworkX` and graph editors write it. [GraphML primer, s2]
//!
//! Attributes are found by the `attr.name` of their `<key>`; `kind`, `rate`, `rate_bps`, `delay`,
//! `delay_ps` and `loss` mean what they mean in [`super::node_link`].

use super::labelled::{Edge, Labelled, Wrong, build};
use crate::{Graph, TextError};
use roxmltree::{Document, Node};
use std::collections::BTreeMap;
use units::text::place;

fn wrong(node: Node<'_, '_>, message: impl Into<String>) -> Wrong {
    Wrong {
        offset: node.range().start,
        message: message.into(),
    }
}

fn attribute(node: Node<'_, '_>, key: &str) -> Result<String, Wrong> {
    let missing = || wrong(node, format!("<{}> lacks {key}", node.tag_name().name()));
    node.attribute(key).map(str::to_owned).ok_or_else(missing)
}

/// Attributes that one element may have: the parser compares each with each. [ours]
const ATTRIBUTES_MAX: usize = 1000;

/// The byte at which an element with too many attributes begins.
fn overgrown(text: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find('<') {
        let start = at + found;
        let rest = &text[start..];
        // What stands in a comment or as plain text has no attributes.
        let skipped = [("<!--", "-->"), ("<![CDATA[", "]]>")]
            .into_iter()
            .find(|(open, _)| rest.starts_with(open));
        if let Some((_, close)) = skipped {
            at = start + rest.find(close)? + close.len();
            continue;
        }
        let (mut quote, mut attributes) = (None, 0);
        at = text.len();
        for (i, byte) in rest.bytes().enumerate() {
            match (byte, quote) {
                (b'"' | b'\'', None) => quote = Some(byte),
                (_, Some(open)) if byte == open => quote = None,
                (b'=', None) => attributes += 1,
                (b'>', None) => {
                    at = start + i + 1;
                    break;
                }
                _ => {}
            }
        }
        if attributes > ATTRIBUTES_MAX {
            return Some(start);
        }
    }
    None
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
    if let Some(offset) = overgrown(text) {
        let (line, column) = place(text, offset);
        return Err(TextError {
            line,
            column,
            message: format!("an element with more than {ATTRIBUTES_MAX} attributes; write <data>"),
        });
    }
    let document = Document::parse(text).map_err(|error| {
        let at = error.pos();
        TextError {
            line: at.row,
            column: at.col,
            message: format!("no XML: {}", without_place(&error)),
        }
    })?;
    graph(name, document.root_element()).map_err(|wrong| wrong.place(text))
}

/// The graph in the document of `root`.
fn graph(name: &str, root: Node<'_, '_>) -> Result<Graph, Wrong> {
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
            offset: node.range().start,
            attributes,
        })
    };
    let nodes: Result<Vec<_>, Wrong> = named("node")
        .map(|node| Ok((attribute(node, "id")?, label(node)?)))
        .collect();
    let edges: Result<Vec<_>, Wrong> = named("edge")
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
            ("25Gbps", "8.1Tbps", "11:5: no link has more than 8Tbps"),
            (
                "key=\"d0\"",
                "key=\"d9\"",
                "9:18: no <key> has the id \"d9\"",
            ),
            ("id=\"b\"", "id=\"a\"", "8:5: node \"a\" is there twice"),
            (
                "source=\"b\"",
                "source=\"a\"",
                "7:5: node \"a\" has 2 edges, all to \"s\"; a host has exactly one",
            ),
            (
                "<node id=\"b\" />",
                "<node id=\"b\"><data key=\"d0\">host</data></node><edge source=\"b\" target=\"a\"><data key=\"d2\">1</data></edge>",
                "8:5: node \"b\" has 2 edges; a host has exactly one",
            ),
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

    #[test]
    fn an_element_with_very_many_attributes_is_refused_before_they_are_compared() {
        use std::fmt::Write as _;
        let crowd = |n: u32| {
            let mut text = String::from("<!-- don't <a = = =\n--><graphml><graph>\n<node");
            (0..n).for_each(|i| write!(text, " a{i}='=\"=>'").unwrap());
            text + "/></graph></graphml>"
        };
        // That many are read, and the node lacks its name.
        let error = |n| parse("x", &crowd(n)).unwrap_err().to_string();
        assert_eq!(error(1000), "3:1: <node> lacks id");
        let said = error(200_000);
        assert!(
            said.starts_with("3:1: an element with more than 1000 attributes"),
            "{said}"
        );
    }

    #[test]
    fn what_is_deep_or_long_is_read_in_time_that_grows_with_it() {
        // With its place counted anew for every node this took minutes.
        let nodes = 100_000;
        let deep = format!(
            "<graphml><graph>{}{}</graph></graphml>",
            "\n<node id='a'>".repeat(nodes),
            "</node>".repeat(nodes)
        );
        let error = parse("x", &deep).unwrap_err().to_string();
        assert!(error.contains("node \"a\" is there twice"), "{error}");
    }
}
