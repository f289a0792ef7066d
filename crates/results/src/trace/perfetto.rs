//! A trace for <https://ui.perfetto.dev>: a process per node, a thread per port; and one thread per message.
//!
//! Trace Event Format as JSON. Times are microseconds with six decimals, which is exact to the
//! picosecond. [Google, Trace Event Format]

use super::{Fate, Flight, Hop, Network};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use units::Time;

/// A message as one track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    /// Its number.
    pub message: u32,
    /// Its connection.
    pub conn: u32,
    /// The host that sends it.
    pub src: u32,
    /// The host that receives it.
    pub dst: u32,
    /// Bytes.
    pub size: u64,
    /// When the sender was told to send.
    pub from: Time,
    /// When the receiver had the last byte, where it had.
    pub until: Option<Time>,
}

/// Microseconds, as text.
fn us(at: Time) -> String {
    format!("{}.{:06}", at.0 / 1_000_000, at.0 % 1_000_000)
}

/// Writes one event: `"key":value` pairs after its kind, place and time.
struct Events<'a> {
    out: &'a mut dyn Write,
    first: bool,
}

impl Events<'_> {
    fn event(&mut self, rest: &str) -> io::Result<()> {
        let comma = if std::mem::take(&mut self.first) {
            ""
        } else {
            ","
        };
        write!(self.out, "{comma}\n{{{rest}}}")
    }

    /// An event of `kind` on the port of `link` at `at`.
    fn at(
        &mut self,
        network: &Network,
        kind: char,
        link: u32,
        at: Time,
        rest: &str,
    ) -> io::Result<()> {
        let node = network.links[link as usize].from;
        self.event(&format!(
            "\"ph\":\"{kind}\",\"pid\":{node},\"tid\":{link},\"ts\":{},{rest}",
            us(at)
        ))
    }
}

/// Writes what happened: a slice while a packet is on a line, an arrow to its next line, a counter of
/// the bytes that wait at each port of a switch, a mark where a packet is dropped. What waited when
/// the trace began is not in the counters. Above them every message of `lives` that was under way has a track: a slice as
/// long as it took, and on it a mark where a packet of its connection is dropped.
///
/// # Errors
/// If `out` cannot be written.
pub fn perfetto(
    out: &mut dyn Write,
    network: &Network,
    flights: &[Flight],
    lives: &[Life],
) -> io::Result<()> {
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let mut events = Events { out, first: true };
    names(&mut events, network, flights)?;
    messages(&mut events, network, flights, lives)?;
    // By link: changes of what waits for it.
    let mut waiting: BTreeMap<u32, Vec<(Time, i64)>> = BTreeMap::new();
    for (number, flight) in flights.iter().enumerate() {
        for (n, hop) in flight.hops.iter().enumerate() {
            let came = n.checked_sub(1).map(|before| flight.hops[before].at);
            slice(&mut events, network, flight, hop, came)?;
            let kind = match (n, n + 1 == flight.hops.len()) {
                (_, true) if n == 0 => None,
                (0, false) => Some("s"),
                (_, false) => Some("t"),
                (_, true) => Some("f"),
            };
            if let Some(kind) = kind {
                let rest =
                    format!("\"id\":{number},\"name\":\"packet\",\"cat\":\"packet\",\"bp\":\"e\"");
                let kind = kind.chars().next().expect("one letter");
                events.at(network, kind, hop.link, hop.start, &rest)?;
            }
            if let Some(came) = came {
                let size = i64::from(flight.packet.size);
                let changes = waiting.entry(hop.link).or_default();
                changes.extend([(came, size), (hop.start, -size)]);
            }
        }
        if let Fate::Dropped(link, reason, at) = flight.fate {
            let name = json!(format!(
                "dropped ({}): {}",
                reason.name(),
                network.codec(flight.packet.conn).describe(&flight.packet)
            ));
            let rest = format!("\"s\":\"t\",\"name\":{name}");
            events.at(network, 'i', link, at, &rest)?;
        }
    }
    for (link, mut changes) in waiting {
        changes.sort_unstable();
        let to = network.name(network.links[link as usize].to).to_owned();
        let mut bytes = 0;
        for group in changes.chunk_by(|a, b| a.0 == b.0) {
            bytes += group.iter().map(|change| change.1).sum::<i64>();
            let name = json!(format!("waiting for {to}"));
            let rest = format!("\"name\":{name},\"args\":{{\"bytes\":{bytes}}}");
            events.at(network, 'C', link, group[0].0, &rest)?;
        }
    }
    writeln!(events.out, "\n]}}")
}

/// A track per message that was under way between the first bit and the last.
fn messages(
    events: &mut Events<'_>,
    network: &Network,
    flights: &[Flight],
    lives: &[Life],
) -> io::Result<()> {
    let hops = || flights.iter().flat_map(|flight| &flight.hops);
    let (Some(first), Some(last)) = (
        hops().map(|hop| hop.start).min(),
        hops().map(|hop| hop.at).max(),
    ) else {
        return Ok(());
    };
    let traced: BTreeSet<u32> = flights.iter().map(|flight| flight.packet.conn.0).collect();
    // A process behind those of the nodes, and shown before them.
    let process = network.names.len();
    let mut any = false;
    for life in lives {
        let (conn, until) = (life.conn, life.until.unwrap_or(last));
        if !traced.contains(&conn) || until < first || life.from > last {
            continue;
        }
        if !std::mem::replace(&mut any, true) {
            for (what, of) in [
                ("process_name", json!({ "name": "messages" })),
                ("process_sort_index", json!({ "sort_index": -1 })),
            ] {
                events.event(&format!(
                    "\"ph\":\"M\",\"pid\":{process},\"name\":\"{what}\",\"args\":{of}"
                ))?;
            }
        }
        let number = life.message;
        let way = format!("{} -> {}", network.name(life.src), network.name(life.dst));
        events.event(&format!(
            "\"ph\":\"M\",\"pid\":{process},\"tid\":{number},\"name\":\"thread_name\",\"args\":{}",
            json!({ "name": format!("message {number}, {way}") })
        ))?;
        events.event(&format!(
            "\"ph\":\"X\",\"pid\":{process},\"tid\":{number},\"ts\":{},\"dur\":{},\"name\":{},\"cat\":\"message\",\
             \"args\":{}",
            us(life.from),
            us(Time(until.since(life.from).0)),
            json!(format!("message {number}")),
            json!({
                "connection": conn,
                "bytes": life.size,
                "from": network.name(life.src),
                "to": network.name(life.dst),
                "finished": life.until.is_some(),
            })
        ))?;
        for flight in flights.iter().filter(|flight| flight.packet.conn.0 == conn) {
            let Fate::Dropped(_, reason, at) = flight.fate else {
                continue;
            };
            if at < life.from || at > until {
                continue;
            }
            let name = json!(format!("dropped ({})", reason.name()));
            events.event(&format!(
                "\"ph\":\"i\",\"pid\":{process},\"tid\":{number},\"ts\":{},\"s\":\"t\",\"name\":{name}",
                us(at)
            ))?;
        }
    }
    Ok(())
}

fn slice(
    events: &mut Events<'_>,
    network: &Network,
    flight: &Flight,
    hop: &Hop,
    came: Option<Time>,
) -> io::Result<()> {
    let packet = &flight.packet;
    let took = network.line_time(hop.link, hop.size);
    let rest = format!(
        "\"dur\":{},\"name\":{},\"cat\":\"{}\",\"args\":{}",
        us(Time(took.0)),
        json!(network.codec(packet.conn).describe(packet)),
        packet.class().name(),
        json!({
            "connection": packet.conn.0,
            "bytes": packet.size,
            "to": network.name(packet.to().0),
            "waited_ps": came.map(|came| hop.start.since(came).0),
        })
    );
    events.at(network, 'X', hop.link, hop.start, &rest)
}

fn names(events: &mut Events<'_>, network: &Network, flights: &[Flight]) -> io::Result<()> {
    let links: BTreeSet<u32> = flights
        .iter()
        .flat_map(|flight| &flight.hops)
        .map(|hop| hop.link)
        .collect();
    let mut nodes = BTreeSet::new();
    for link in links {
        let ends = network.links[link as usize];
        let mut name = |what: &str, name: &str| {
            events.event(&format!(
                "\"ph\":\"M\",\"pid\":{},\"tid\":{link},\"name\":\"{what}\",\"args\":{}",
                ends.from,
                json!({ "name": name })
            ))
        };
        name("thread_name", &format!("-> {}", network.name(ends.to)))?;
        if nodes.insert(ends.from) {
            name("process_name", network.name(ends.from))?;
        }
    }
    Ok(())
}
