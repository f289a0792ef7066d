//! The conversation as text: one line per packet, one per event.

use crate::fault::Fate;
use model::wire::Codec;
use model::{ConnId, Event, HostId, Packet};
use std::collections::VecDeque;
use std::fmt::Write;
use units::Time;

/// Lines that are kept from the beginning of a run.
const LINES_MAX: usize = 200_000;
/// Lines that are kept from its end where there are more; those in between are only counted.
pub(crate) const TAIL: usize = 40;
/// Columns for the description of a packet; longer ones push the rest to the right.
const DESCRIPTION: usize = 40;

/// `A` to `Z`, then `H26`, `H27`, ...
pub fn host_name(host: HostId) -> String {
    match u8::try_from(host.0) {
        Ok(n) if n < 26 => char::from(b'A' + n).to_string(),
        _ => format!("H{}", host.0),
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Line {
    Packet {
        at: Time,
        from: HostId,
        packet: Packet,
        fate: Fate,
        note: &'static str,
    },
    Event {
        at: Time,
        host: HostId,
        event: Event,
    },
    Note {
        at: Time,
        text: String,
    },
}

#[derive(Default)]
pub(crate) struct Ladder {
    lines: Vec<Line>,
    recent: VecDeque<Line>,
    left_out: u64,
}

impl Ladder {
    /// Adds a line and returns its number, unless the ladder is full.
    pub(crate) fn push(&mut self, line: Line) -> Option<usize> {
        if self.lines.len() == LINES_MAX {
            self.recent.push_back(line);
            if self.recent.len() > TAIL {
                self.recent.pop_front();
                self.left_out += 1;
            }
            return None;
        }
        self.lines.push(line);
        Some(self.lines.len() - 1)
    }

    /// Adds what happened later to a packet.
    pub(crate) fn annotate(&mut self, line: Option<usize>, text: &'static str) {
        if let Some(Line::Packet { note, .. }) = line.and_then(|at| self.lines.get_mut(at)) {
            *note = text;
        }
    }

    /// When each packet that is still in the ladder was sent.
    pub(crate) fn packet_times(&self) -> impl Iterator<Item = Time> {
        self.lines.iter().filter_map(|line| match line {
            Line::Packet { at, .. } => Some(*at),
            Line::Event { .. } | Line::Note { .. } => None,
        })
    }

    /// Every packet that is still in the ladder.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.lines.iter().filter_map(|line| match line {
            Line::Packet { packet, .. } => Some(packet),
            Line::Event { .. } | Line::Note { .. } => None,
        })
    }

    /// All lines that are kept.
    pub(crate) fn text(&self, codec: &dyn Codec, hosts: usize) -> String {
        let mut text = self.rows(codec, hosts, self.lines.iter());
        if self.left_out > 0 {
            let _ = writeln!(text, "... {} lines left out ...", self.left_out);
        }
        text + &self.rows(codec, hosts, self.recent.iter())
    }

    /// The last lines.
    pub(crate) fn tail(&self, codec: &dyn Codec, hosts: usize) -> String {
        let early = TAIL - self.recent.len();
        let first = self.lines.len().saturating_sub(early);
        self.rows(
            codec,
            hosts,
            self.lines.iter().skip(first).chain(&self.recent),
        )
    }

    fn rows<'a>(
        &self,
        codec: &dyn Codec,
        hosts: usize,
        lines: impl Iterator<Item = &'a Line>,
    ) -> String {
        let many = self.has_many_connections();
        let mut text = String::new();
        for line in lines {
            let row = match line {
                Line::Packet {
                    at,
                    from,
                    packet,
                    fate,
                    note,
                } => packet_row(codec, hosts, many, *at, *from, packet, *fate, note),
                Line::Event { at, host, event } => {
                    format!("{}  {}", moment(*at), told(*host, *event, many))
                }
                Line::Note { at, text } => format!("{}  {text}", moment(*at)),
            };
            text.push_str(row.trim_end());
            text.push('\n');
        }
        text
    }

    fn has_many_connections(&self) -> bool {
        let mut conns = self.packets().map(|packet| packet.conn);
        let first = conns.next();
        conns.any(|conn| Some(conn) != first)
    }
}

/// Microseconds to the nanosecond, rounded down.
fn moment(at: Time) -> String {
    format!("{:>8}.{:03}us", at.0 / 1_000_000, at.0 / 1_000 % 1_000)
}

#[allow(clippy::too_many_arguments, reason = "the columns of one row")]
fn packet_row(
    codec: &dyn Codec,
    hosts: usize,
    many: bool,
    at: Time,
    from: HostId,
    packet: &Packet,
    fate: Fate,
    note: &str,
) -> String {
    let to = packet.to();
    // Two hosts keep their columns; in a star the arrow always points to the right.
    let arrow = if hosts == 2 && from > to {
        format!("{} <- {}", host_name(to), host_name(from))
    } else {
        format!("{} -> {}", host_name(from), host_name(to))
    };
    let mut what = codec.describe(packet);
    if many {
        let _ = write!(what, " #{}", packet.conn.0);
    }
    let mut row = format!(
        "{}  {arrow}  {what:<DESCRIPTION$} {:>5} B",
        moment(at),
        packet.size
    );
    if fate.lost {
        row.push_str("  X lost");
    }
    if fate.twice {
        row.push_str("  x2 duplicated");
    }
    if fate.late.0 > 0 {
        let _ = write!(row, "  ~ late by {}", fate.late);
    }
    if fate.marked {
        row.push_str("  * marked");
    }
    if fate.returned {
        row.push_str("  < trimmed and sent back");
    } else if fate.trimmed {
        row.push_str("  - trimmed");
    }
    if !note.is_empty() {
        let _ = write!(row, "  {note}");
    }
    row
}

fn told(host: HostId, event: Event, many: bool) -> String {
    let me = host_name(host);
    let of = |conn: ConnId| {
        if many {
            format!(" of #{}", conn.0)
        } else {
            String::new()
        }
    };
    match event {
        Event::Received {
            conn,
            ordinal,
            length,
        } => {
            format!("{me} received message {ordinal}{}, {length} B", of(conn))
        }
        Event::Sent { conn, ordinal } => format!("{me} is done with message {ordinal}{}", of(conn)),
        Event::Stopped { conn } => format!("{me} heard the sender stop{}", of(conn)),
        Event::AskedAgain { conn } => format!("{me} asks again{}", of(conn)),
        Event::Data {
            conn,
            offset,
            length,
        } => {
            format!("{me} accepted {length} B at {offset}{}", of(conn))
        }
        Event::Missing { conn } => format!("{me} misses what has not come{}", of(conn)),
        Event::Refused { conn } => format!("{me} was refused{}", of(conn)),
        Event::Forgotten { conn } => format!("{me} has forgotten{}", of(conn)),
    }
}
