//! Graphs whose nodes and edges carry named attributes.
//!
//! A node may have `kind` (`host` or `switch`; without it, a node with one edge is a host). What other files call `type` or
//! `role` is refused where it says host or switch and the edges say otherwise. An edge has `rate` with a unit or `rate_bps`, `delay` with a unit or `delay_ps`, and may have `loss`, a
//! probability. Other attributes are left alone.

use crate::{Cable, Graph, GraphNode, NodeKind, PortOrder, TextError, index32};
use std::collections::BTreeMap;
use units::text::{decimal, place};
use units::{Rate, Span};

/// What is wrong at a byte of a text. Counting lines to find its place takes time, so it is done once
/// and not for every node.
pub(super) struct Wrong {
    pub(super) offset: usize,
    pub(super) message: String,
}

impl Wrong {
    /// The same, with its place in `text`.
    pub(super) fn place(self, text: &str) -> TextError {
        let (line, column) = place(text, self.offset);
        TextError {
            line,
            column,
            message: self.message,
        }
    }
}

/// What others call the kind of a node, in any case; `kind` itself is read before. [ours]
const OTHER_NAMES: [&str; 3] = ["kind", "type", "role"];

/// A node or an edge: the byte of the file at which it begins, and its attributes as text.
pub(super) struct Labelled {
    pub(super) offset: usize,
    pub(super) attributes: BTreeMap<String, String>,
}

impl Labelled {
    pub(super) fn error(&self, message: impl Into<String>) -> Wrong {
        Wrong {
            offset: self.offset,
            message: message.into(),
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str)
    }

    /// What it says under another name of `kind`, where that is one of the two kinds: the name, the word, and the kind.
    fn kind_elsewhere(&self) -> Option<(&str, &str, NodeKind)> {
        self.attributes.iter().find_map(|(name, word)| {
            let other = OTHER_NAMES.iter().any(|own| name.eq_ignore_ascii_case(own));
            let of = |kind: &str| other && word.eq_ignore_ascii_case(kind);
            let kinds = [("host", NodeKind::Host), ("switch", NodeKind::Switch)];
            let (_, kind) = kinds.into_iter().find(|(kind, _)| of(kind))?;
            Some((name.as_str(), word.as_str(), kind))
        })
    }

    /// A quantity with its unit under `name`, or a bare number under `bare`.
    fn quantity<T: std::str::FromStr<Err = units::ParseError>>(
        &self,
        (name, bare): (&str, &str),
        like: &str,
        of: impl Fn(u64) -> T,
    ) -> Result<T, Wrong> {
        if let Some(text) = self.get(name) {
            let wrong = |e: units::ParseError| self.error(format!("{name} = \"{text}\": {e}"));
            return text.parse().map_err(wrong);
        }
        let Some(text) = self.get(bare) else {
            let message = format!("the edge has no {name}; write {name} = \"{like}\", or {bare}");
            return Err(self.error(message));
        };
        let wrong = || self.error(format!("{bare} = \"{text}\" is no number"));
        decimal(text, 0).map(of).ok_or_else(wrong)
    }
}

/// An edge, by the names of its ends.
pub(super) struct Edge {
    pub(super) a: String,
    pub(super) b: String,
    pub(super) label: Labelled,
}

/// The graph of these nodes, by their names, and edges.
pub(super) fn build(
    name: &str,
    nodes: Vec<(String, Labelled)>,
    edges: &[Edge],
) -> Result<Graph, Wrong> {
    let mut number: BTreeMap<&str, u32> = BTreeMap::new();
    for (i, (name, label)) in nodes.iter().enumerate() {
        if number.insert(name, index32(i)).is_some() {
            return Err(label.error(format!("node \"{name}\" is there twice")));
        }
    }
    let mut ends = vec![Ends::default(); nodes.len()];
    let mut cables = Vec::with_capacity(edges.len());
    for Edge { a, b, label } in edges {
        let end = |name: &String| {
            let unknown = || label.error(format!("there is no node \"{name}\""));
            number.get(name.as_str()).copied().ok_or_else(unknown)
        };
        let (from, to) = (end(a)?, end(b)?);
        if from == to {
            return Err(label.error(format!("an edge from \"{a}\" to itself; remove it")));
        }
        let rate = label.quantity(("rate", "rate_bps"), "100Gbps", Rate)?;
        let rate = super::of_a_line(rate).map_err(|why| label.error(why))?;
        let loss = label.get("loss").unwrap_or("0");
        let ppb = decimal(loss, 9)
            .and_then(|ppb| u32::try_from(ppb).ok())
            .filter(|&ppb| ppb <= 1_000_000_000);
        cables.push(Cable {
            a: from,
            b: to,
            rate,
            delay: label.quantity(("delay", "delay_ps"), "1us", Span)?,
            loss_ppb: ppb.ok_or_else(|| {
                label.error(format!("loss = \"{loss}\" is no probability from 0 to 1"))
            })?,
        });
        for (end, far) in [(from, to), (to, from)] {
            let ends = &mut ends[end as usize];
            ends.number += 1;
            ends.elsewhere |= ends.first.is_some_and(|first| first != far);
            ends.first.get_or_insert(far);
        }
    }
    single_edges(&nodes, &ends)?;
    let degree = ends.iter().map(|ends| ends.number);
    let node = |((id, (name, label)), degree): ((u32, (String, Labelled)), u32)| {
        let kind = kind_of(&name, &label, degree)?;
        Ok(GraphNode {
            id,
            kind,
            name: Some(name),
        })
    };
    let nodes: Result<Vec<_>, _> = (0u32..).zip(nodes).zip(degree).map(node).collect();
    Ok(Graph {
        name: name.to_owned(),
        nodes: nodes?,
        cables,
        order: PortOrder::Appearance,
        host_extra_delay: Span::ZERO,
    })
}

/// What a node with so many edges is: by its `kind`, or by them, unless another of its attributes says that it is not that.
fn kind_of(name: &str, label: &Labelled, degree: u32) -> Result<NodeKind, Wrong> {
    let found = match label.get("kind") {
        Some("host") => return Ok(NodeKind::Host),
        Some("switch") => return Ok(NodeKind::Switch),
        Some(other) => {
            return Err(label.error(format!(
                "kind = \"{other}\" of node \"{name}\"; write host or switch"
            )));
        }
        None if degree == 1 => NodeKind::Host,
        None => NodeKind::Switch,
    };
    match label.kind_elsewhere() {
        Some((key, word, kind)) if kind != found => {
            let said = format!("{key} = \"{word}\" of node \"{name}\" is not read");
            Err(label.error(match kind {
                NodeKind::Switch => {
                    format!("{said}, and with one edge it is a host; write kind = \"switch\"")
                }
                NodeKind::Host if degree == 0 => {
                    format!("{said}, and without edges it is a switch; write kind = \"host\"")
                }
                NodeKind::Host => format!(
                    "{said}, and with {degree} edges it is a switch; a host has exactly one: \
                     remove the others, or write kind = \"switch\""
                ),
            }))
        }
        _ => Ok(found),
    }
}

/// The edges of a node.
#[derive(Clone, Copy, Default)]
struct Ends {
    number: u32,
    /// Where the first one leads.
    first: Option<u32>,
    /// Another one leads elsewhere.
    elsewhere: bool,
}

/// Refuses a host with several edges, also one without a kind: two edges make a switch, which has to lead somewhere.
fn single_edges(nodes: &[(String, Labelled)], ends: &[Ends]) -> Result<(), Wrong> {
    for ((name, label), ends) in nodes.iter().zip(ends) {
        let kind = label.get("kind");
        let odd = kind == Some("host") || (kind.is_none() && !ends.elsewhere);
        if ends.number < 2 || !odd {
            continue;
        }
        let far = ends.first.filter(|_| !ends.elsewhere);
        let whither = far.map_or_else(String::new, |far| {
            format!(", all to \"{}\"", nodes[far as usize].0)
        });
        return Err(label.error(format!(
            "node \"{name}\" has {} edges{whither}; a host has exactly one: remove the others, or write kind = \"switch\"",
            ends.number
        )));
    }
    Ok(())
}
