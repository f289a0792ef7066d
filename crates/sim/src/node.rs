//! What hosts and switches have in common.

use crate::beside::{Companion, Records};
use crate::fault::NodeFaults;
use crate::host::Host;
use crate::setup::Completion;
use crate::trigger::Firing;
use crate::ways::Epoch;
use model::{ConnId, Packet};
use switching::{Apart, Switch};
use topology::{LinkId, NodeId};
use units::Time;

/// Host or switch.
#[allow(clippy::large_enum_variant, reason = "a node is one for the whole run")]
#[repr(C)] // see `Node`
pub(crate) enum Kind {
    Host(Host),
    Switch(SwitchNode),
}

/// A switch with its place in the fabric.
#[repr(C)] // see `Node`
pub(crate) struct SwitchNode {
    /// By port: the link into it.
    pub(crate) ingress: Box<[u32]>,
    pub(crate) epoch: Epoch,
    pub(crate) id: NodeId,
    /// Whether it must know by which port a packet came: for its flow control, or to say which link brought what it
    /// had no way for, or no hop left.
    pub(crate) minds_ingress: bool,
    pub(crate) switch: Switch,
}

impl Kind {
    /// The link into it by `port`.
    #[inline]
    pub(crate) fn ingress(&self, port: usize) -> LinkId {
        let egress = match self {
            Self::Host(host) => host.link(),
            Self::Switch(node) => node.switch.ports[port].link(),
        };
        LinkId(egress).reverse()
    }
}

/// One node, with what its ingress side needs. Fields that each window needs come first and together, here and in what
/// it holds: a node that gets few packets waits for lines of the cache more than for anything else.
#[repr(C, align(64))]
pub(crate) struct Node {
    /// Whether it is a switch whose ports have nothing to do with each other ([`Switch::apart`]), in a run where no link
    /// into it is faulty, nothing travels beside packets, and nobody asks in which order its ports lose packets.
    pub(crate) apart: Apart,
    /// Whether few packets are sooner handed over one by one: where ports are apart and have queues.
    pub(crate) takes_few: bool,
    /// Where the last window begins of those in which it has itself woken. A later window that begins here is to come.
    pub(crate) looks_at: Time,
    /// Of a switch: ingress ports whose links hold packets for later windows.
    pub(crate) left: Left,
    /// Set where a link into this node is faulty.
    pub(crate) faults: Option<Box<NodeFaults>>,
    pub(crate) kind: Kind,
    /// Of packets that wait here.
    pub(crate) records: Records,
    pub(crate) digest: Digest,
}

const _: () = assert!(
    std::mem::offset_of!(Node, kind) == 48,
    "what a host or a switch is begins a line of the cache"
);

/// Ports as bits, 64 to a word.
pub(crate) struct Left {
    /// The first word, and all where there are more.
    first: u64,
    more: Box<[u64]>,
}

impl Left {
    /// Of `ports`, none.
    pub(crate) fn of(ports: usize) -> Self {
        let more = if ports > 64 { ports.div_ceil(64) } else { 0 };
        Self {
            first: 0,
            more: vec![0; more].into(),
        }
    }

    /// The word of at most 64 ports.
    #[inline(always)]
    pub(crate) fn few(&mut self) -> &mut u64 {
        debug_assert!(self.more.is_empty(), "more than 64 ports");
        &mut self.first
    }

    /// All words.
    #[inline(always)]
    pub(crate) fn words(&mut self) -> &mut [u64] {
        if self.more.is_empty() {
            std::slice::from_mut(&mut self.first)
        } else {
            &mut self.more
        }
    }
}

/// Hash of every arrival at a node, in order, where asked for.
#[derive(Default)]
pub(crate) struct Digest(pub(crate) u64);

impl Digest {
    /// Takes in what came beside a packet.
    pub(crate) fn note_beside(&mut self, beside: &Companion) {
        let mut word = u64::from(beside.tag) << 8 | u64::from(beside.record.is_path());
        for &byte in beside.record.content() {
            word = word.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte);
        }
        self.0 = (self.0 ^ word)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29);
    }

    /// Takes in an arrival.
    pub(crate) fn note(&mut self, port: u16, packet: &Packet) {
        let words = [
            packet.at.0,
            u64::from(port) << 48 | u64::from(packet.size) << 32 | u64::from(packet.conn.0),
            u64::from(packet.marks()) << 32 | u64::from(packet.to().0),
            u64::from(packet.head[0]) << 32 | u64::from(packet.head[1]),
            u64::from(packet.head[2]) << 8 | u64::from(packet.kind()),
        ];
        for word in words {
            self.0 = (self.0 ^ word)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29);
        }
    }
}

/// What one thread notes while it runs nodes; sums and sorted lists, so that no thread count shows.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) completions: Vec<Completion>,
    /// News for other hosts, until the window is over.
    pub(crate) firings: Vec<Firing>,
    /// Packets delivered over links.
    pub(crate) hops: u64,
    pub(crate) node_windows: u64,
    /// Messages started.
    pub(crate) started: u64,
    /// Messages ended.
    pub(crate) ended: u64,
    /// When a packet last arrived.
    pub(crate) last_hop: Time,
    /// When anything else last happened, at a host.
    pub(crate) last: Time,
    /// Messages that were received once more, and those that were never sent.
    pub(crate) again: u64,
    pub(crate) unsent: u64,
    /// Packets that a transport would have sent although their gate was closed: a mistake of ours.
    pub(crate) breaches: u64,
    /// Connections refused: by which host, and when.
    pub(crate) refused: Vec<(u32, ConnId, Time)>,
}
