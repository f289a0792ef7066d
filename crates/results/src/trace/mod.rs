//! What happened to single packets, and what follows from it: why a message took as long as it did,
//! the packets of a window for Perfetto and Wireshark.
//!
//! The caller hands over a [`Network`] and its [`Event`]s; [`flights`] puts the events
//! of one packet together, [`Why`] walks back from a message's last byte.

mod flights;
mod pauses;
mod pcapng;
mod perfetto;
mod why;
mod words;

pub use flights::{Fate, Flight, Hop, flights};
pub use pauses::{Held, PauseRow, Pauses, Pausing, Sake};
pub use pcapng::{PORT, dissector, pcapng};
pub use perfetto::{Life, perfetto};
pub use why::{Asked, Part, PartSum, Row, Segment, Why, credit_word};
pub use words::{Line, ladder_line, moment};

use model::wire::Codec;
use model::{ConnId, DropReason, Encap, Packet};
use units::{LineTime, Rate, Span, Time};

/// The network that packets crossed.
pub struct Network {
    /// Links by number; a number and its neighbour, 2n and 2n + 1, are one cable.
    pub links: Vec<Link>,
    /// Names of nodes by number, hosts first.
    pub names: Vec<String>,
    /// How many of them are hosts.
    pub hosts: u32,
    /// The two hosts of each connection, by number.
    pub conns: Vec<(u32, u32)>,
    /// Frame sizes.
    pub encap: Encap,
    /// How the packets of each transport look.
    pub codecs: Vec<&'static dyn Codec>,
    /// The transport of each connection, by number; the first where nothing is said.
    pub codec_of: Vec<u8>,
}

/// One direction of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The node that sends.
    pub from: u32,
    /// The node that receives.
    pub to: u32,
    /// Its rate.
    pub rate: Rate,
    /// Propagation and fixed latencies.
    pub delay: Span,
}

/// Something that happened to a packet; `packet.at` is the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The packet as it was then.
    pub packet: Packet,
    /// What happened.
    pub what: What,
}

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Its last bit came in by this link.
    Arrived(u32),
    /// It was dropped where it should have waited for this link.
    Dropped(u32, DropReason),
    /// A fault of this link took it.
    Lost(u32),
    /// It was dropped at this node before a port was chosen.
    Stopped(u32, DropReason),
}

impl Network {
    /// How the packets of a connection look.
    pub fn codec(&self, conn: ConnId) -> &'static dyn Codec {
        let known = self.codec_of.get(conn.0 as usize).copied();
        self.codecs[usize::from(known.unwrap_or(0))]
    }

    /// `tor0 -> h3`.
    pub fn link_name(&self, link: u32) -> String {
        let link = self.links[link as usize];
        format!("{} -> {}", self.name(link.from), self.name(link.to))
    }

    /// The name of a node.
    pub fn name(&self, node: u32) -> &str {
        &self.names[node as usize]
    }

    /// How long `size` bytes are on the line of `link`.
    pub fn line_time(&self, link: u32, size: u16) -> Span {
        LineTime::new(self.links[link as usize].rate).of(size.into())
    }

    /// When a packet whose last bit came in by `link` at `at` went on the line.
    fn start(&self, link: u32, packet: &Packet, at: Time) -> Time {
        let under_way = self.links[link as usize].delay + self.line_time(link, packet.size);
        Time(at.0.saturating_sub(under_way.0))
    }
}
