//! `topology.txt` of the HPCC family of ns-3 simulators, and `SimAI`'s variant of it.
//!
//! ```text
//! node_count switch_count link_count
//! <ids of the switches>
//! a b rate delay error_rate          one line per link
//! ```
//!
//! Nodes not listed are hosts. `SimAI` writes six numbers first: `nodes gpus_per_server nvswitches
//! switches links gpu_type`, then the ids of `NVSwitches` and of switches; its hosts are the GPUs.
//! Unlike the original readers this one accepts comments and blank lines, and refuses what is left
//! over. [hpcc artefact, simulation/scratch/third.cc; simai artefact, `gen_Topo_Template.py`]

use crate::{CABLES_MAX, Cable, Graph, GraphNode, HOSTS_MAX, NodeKind, PortOrder, TextError};
use units::text::{Field, decimal, lines};
use units::{Rate, Span};

/// Reads `text`; `name` becomes the topology's name.
///
/// # Errors
/// With the line and column of whatever cannot be understood.
pub fn parse(name: &str, text: &str) -> Result<Graph, TextError> {
    let mut lines = lines(text).peekable();
    let head = lines.next().ok_or_else(|| TextError {
        line: 1,
        column: 1,
        message: "the file is empty; write \"nodes switches links\" first".into(),
    })?;
    let head = Head::parse(&head)?;
    // Before any memory is taken for nodes that the file cannot join.
    let hosts = u64::from(head.nodes - head.all_switches());
    let links = (text.lines().count() as u64).min(head.links.into());
    if hosts > 2 * links {
        return Err(head.error(format!(
            "{hosts} hosts and room for {links} links: every host needs an end of one"
        )));
    }
    let mut nodes: Vec<GraphNode> = (0..head.nodes)
        .map(|id| GraphNode {
            id,
            kind: NodeKind::Host,
            name: None,
        })
        .collect();
    let mut switches = 0;
    while switches < head.nvswitches + head.switches {
        let line = lines.next().ok_or_else(|| {
            head.error(format!(
                "{} switches announced, {switches} listed",
                head.all_switches()
            ))
        })?;
        for field in line {
            if switches == head.all_switches() {
                return Err(field.error(format!(
                    "more switches listed than the {switches} announced in line {}",
                    head.line
                )));
            }
            let id = node(&field, head.nodes)?;
            let entry = &mut nodes[id as usize];
            if entry.kind == NodeKind::Switch {
                return Err(field.error(format!("switch {id} is listed twice")));
            }
            entry.kind = NodeKind::Switch;
            if switches < head.nvswitches {
                entry.name = Some(format!("nvswitch{switches}"));
            }
            switches += 1;
        }
    }
    let mut cables = Vec::new();
    for line in lines {
        if cables.len() == head.links as usize {
            return Err(line[0].error(format!(
                "text after the {} links announced in line {}; correct the count or remove it",
                head.links, head.line
            )));
        }
        cables.push(cable(&line, head.nodes)?);
    }
    if cables.len() < head.links as usize {
        let message = format!("{} links announced, {} listed", head.links, cables.len());
        return Err(head.error(message));
    }
    Ok(Graph {
        name: name.to_string(),
        nodes,
        cables,
        order: PortOrder::Appearance,
        host_extra_delay: Span::ZERO,
    })
}

/// The first line.
struct Head {
    line: u32,
    nodes: u32,
    nvswitches: u32,
    switches: u32,
    links: u32,
}

impl Head {
    fn parse(fields: &[Field<'_>]) -> Result<Self, TextError> {
        let number = |i: usize| -> Result<u32, TextError> { fields[i].number("a count") };
        let line = fields[0].line;
        let head = match fields.len() {
            3 => Self {
                line,
                nodes: number(0)?,
                nvswitches: 0,
                switches: number(1)?,
                links: number(2)?,
            },
            6 => Self {
                line,
                nodes: number(0)?,
                nvswitches: number(2)?,
                switches: number(3)?,
                links: number(4)?,
            },
            n => {
                return Err(fields[0].error(format!(
                    "{n} fields; write \"nodes switches links\" (HPCC) or \"nodes gpus_per_server \
                     nvswitches switches links gpu_type\" (SimAI)"
                )));
            }
        };
        if head.nodes > HOSTS_MAX || head.links > CABLES_MAX {
            return Err(fields[0].error(format!(
                "at most {HOSTS_MAX} nodes and {CABLES_MAX} links are possible"
            )));
        }
        let switches = u64::from(head.nvswitches) + u64::from(head.switches);
        let hosts = u64::from(head.nodes)
            .checked_sub(switches)
            .filter(|&hosts| hosts > 0);
        let Some(hosts) = hosts else {
            return Err(fields[0].error(format!(
                "{} nodes of which {switches} are switches leave no host; the first number counts \
                 hosts and switches",
                head.nodes
            )));
        };
        if fields.len() == 6 {
            let per_server = number(1)?;
            if per_server == 0 || !hosts.is_multiple_of(u64::from(per_server)) {
                return Err(fields[1].error(format!(
                    "{hosts} GPUs do not fill servers of {per_server}; the first number counts \
                     GPUs, NVSwitches and switches, not servers"
                )));
            }
        }
        Ok(head)
    }

    fn all_switches(&self) -> u32 {
        self.nvswitches + self.switches
    }

    fn error(&self, message: String) -> TextError {
        TextError {
            line: self.line,
            column: 1,
            message,
        }
    }
}

fn cable(line: &[Field<'_>], nodes: u32) -> Result<Cable, TextError> {
    let &[a, b, rate, delay, loss] = line else {
        return Err(line[0].error(format!(
            "{} fields; a link is \"a b rate delay error_rate\", like \"0 4 100Gbps 1us 0\"",
            line.len()
        )));
    };
    let (from, to) = (node(&a, nodes)?, node(&b, nodes)?);
    if from == to {
        return Err(b.error(format!("a link from node {from} to itself; remove it")));
    }
    let rate = parse_rate(&rate)?;
    let loss_ppb = decimal(loss.text, 9)
        .and_then(|ppb| u32::try_from(ppb).ok())
        .filter(|&ppb| ppb <= 1_000_000_000)
        .ok_or_else(|| {
            loss.error(format!(
                "\"{}\" is not a loss probability from 0 to 1",
                loss.text
            ))
        })?;
    Ok(Cable {
        a: from,
        b: to,
        rate,
        delay: parse_delay(&delay)?,
        loss_ppb,
    })
}

fn node(field: &Field<'_>, nodes: u32) -> Result<u32, TextError> {
    let id = field.number("a node")?;
    if id >= nodes {
        return Err(field.error(format!("node {id} of {nodes}; nodes are numbered from 0")));
    }
    Ok(id)
}

/// An ns-3 `DataRate`: `100Gbps`, `100Gb/s`, or bits per second without a unit.
fn parse_rate(field: &Field<'_>) -> Result<Rate, TextError> {
    let rate = match decimal(field.text, 0) {
        Some(bps) => Rate(bps),
        None => field
            .text
            .replace("b/s", "bps")
            .parse()
            .map_err(|error: units::ParseError| field.error(error.to_string()))?,
    };
    super::of_a_line(rate).map_err(|why| field.error(why))
}

/// An ns-3 `Time`: `1us`, `0.001ms`, or seconds without a unit.
fn parse_delay(field: &Field<'_>) -> Result<Span, TextError> {
    match decimal(field.text, 12) {
        Some(ps) => Ok(Span(ps)),
        None => field
            .text
            .parse()
            .map_err(|error: units::ParseError| field.error(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NodeId, Routes};

    const SMALL: &str = "\
# two racks of two hosts, one spine
7 3 6
4 5 6
0 4 25Gbps 1us 0
1 4 25Gbps 1000ns 0.000000
2 5 25000000000.0 0.001ms 0
3 5 25Gb/s 0.000001 0
4 6 100Gbps 1us 0
5 6 100Gbps 1us 1e-6\r
";

    #[test]
    fn a_file_becomes_a_tiered_graph() {
        let topology = parse("small", SMALL).unwrap().build().unwrap();
        topology.check();
        let names: Vec<_> = topology.nodes.iter().map(|n| n.name.as_str()).collect();
        assert_eq!(names, ["h0", "h1", "h2", "h3", "tor0", "tor1", "agg0"]);
        assert!(topology.links[..8].iter().all(|l| l.rate == Rate::gbps(25)));
        assert!(topology.links.iter().all(|l| l.delay == Span::us(1)));
        assert_eq!(topology.links.iter().map(|l| l.loss_ppb).max(), Some(1_000));
        let routes = Routes::new(&topology, &[]);
        assert_eq!(topology.hops(&routes, 0, 3), Some(4));
        assert_eq!(routes.cut_off(), None);
    }

    #[test]
    fn hosts_may_stand_after_switches() {
        let graph = parse("mixed", "3 1 2\n0\n1 0 1Gbps 1us 0\n2 0 1Gbps 1us 0\n").unwrap();
        let hosts: Vec<_> = graph.hosts_by_id().into_iter().collect();
        assert_eq!(hosts, [(1, 0), (2, 1)]);
        assert_eq!(
            [0, 1, 2].map(|id| graph.host_index(id)),
            [None, Some(0), Some(1)]
        );
        let topology = graph.build().unwrap();
        assert_eq!(topology.node(NodeId(2)).name, "tor0");
    }

    #[test]
    fn simai_gpus_reach_their_server_by_the_nvswitch() {
        // Two servers of two GPUs, an NVSwitch each, one rail switch per GPU.
        let text = "8 2 2 2 8 H100\n4 5\n6 7\n\
            0 4 2880Gbps 0.000025ms 0\n1 4 2880Gbps 0.000025ms 0\n\
            2 5 2880Gbps 0.000025ms 0\n3 5 2880Gbps 0.000025ms 0\n\
            0 6 400Gbps 0.0005ms 0\n2 6 400Gbps 0.0005ms 0\n\
            1 7 400Gbps 0.0005ms 0\n3 7 400Gbps 0.0005ms 0\n";
        let topology = parse("simai", text).unwrap().build().unwrap();
        let routes = Routes::new(&topology, &[]);
        let via = |a: u32, b: u32| {
            let path = crate::path(&topology, &routes, a, b, 1);
            path.iter()
                .map(|&l| topology.node(topology.link(l).to).name.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(via(0, 1), ["nvswitch0", "h1"]);
        assert_eq!(via(0, 2), ["tor0", "h2"]);
        // GPU 0 and GPU 3 share no switch, and GPUs do not forward.
        assert_eq!(routes.cut_off(), Some((0, 3)));
    }

    #[test]
    fn every_mistake_has_a_place_and_a_cure() {
        let cases = [
            ("", "1:1: the file is empty"),
            ("3 1\n", "1:1: 2 fields; write \"nodes switches links\""),
            (
                "3 3 1\n",
                "1:1: 3 nodes of which 3 are switches leave no host",
            ),
            (
                "3 1 2\n2\n0 2 1Gbps 1us 0\n",
                "1:1: 2 links announced, 1 listed",
            ),
            (
                "3 1 1\n2 2\n",
                "2:3: more switches listed than the 1 announced in line 1",
            ),
            ("3 1 1\n3\n", "2:1: node 3 of 3; nodes are numbered from 0"),
            ("4 2 1\n2\n2\n", "3:1: switch 2 is listed twice"),
            (
                "3 1 1\n2\n0 2 1GBps 1us 0\n",
                "3:5: \"1GBps\" is in bytes; did you mean \"1Gbps\"?",
            ),
            ("3 1 1\n2\n0 2 0 1us 0\n", "3:5: a link of rate 0"),
            (
                "3 1 1\n2\n0 2 18446744073709551615 1us 0\n",
                "3:5: no link has more than 8Tbps",
            ),
            (
                "3 1 1\n2\n0 2 1Gbps 1furlong 0\n",
                "3:11: \"furlong\" is no unit of a time",
            ),
            (
                "3 1 1\n2\n0 2 1Gbps 1us 2\n",
                "3:15: \"2\" is not a loss probability",
            ),
            (
                "3 1 1\n2\n0 0 1Gbps 1us 0\n",
                "3:3: a link from node 0 to itself",
            ),
            ("3 1 1\n2\n0 2 1Gbps 1us\n", "3:1: 4 fields; a link is"),
            (
                "3 1 1\n2\n0 2 1Gbps 1us 0\nend\n",
                "4:1: text after the 1 links announced",
            ),
            (
                "1048576 1 1073741824\n0\n0 1 1Gbps 1us 0\n",
                "1:1: 1048575 hosts and room for 3 links: every host needs",
            ),
            ("7 4 1 1 2 A100\n", "1:3: 5 GPUs do not fill servers of 4"),
        ];
        for (text, expected) in cases {
            let error = parse("bad", text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text:?} gave {error}");
        }
        let error = parse("bad", "x 1 1\n").unwrap_err();
        assert_eq!(
            error.in_file("topology.txt"),
            "topology.txt:1:1: \"x\" is not a count; write a whole number"
        );
    }
}
