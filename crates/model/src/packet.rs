//! A packet as it travels through the simulator: 32 bytes, its header decoded.
//!
//! First what a switch may read, and the bits in which it lies; then the packet, with what hosts set and what switches
//! change: size, marks, path, hops left. A packet that waits in a node holds a `Local` in place of its moment. Last what
//! a frame costs on the wire.

use crate::{ConnId, HostId};
use std::fmt;
use units::Time;

/// What a switch may base its choice on, besides size and address. [aeolus s3.2]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Class {
    /// Requests, acknowledgements, probes, stops: small and protected.
    Control = 0,
    /// Credits, shaped so that the data they release fits the way back.
    Credit = 1,
    /// Data that a credit released.
    Scheduled = 2,
    /// Data sent before the first credit.
    Unscheduled = 3,
    /// Data of a transport that knows no credits.
    Plain = 4,
    /// Frames of one link, like pauses: no switch forwards them and no transport sees them.
    Link = 5,
}

impl Class {
    /// How many there are. A packet has three bits for its class.
    pub const COUNT: usize = 6;

    /// Every class, in the order of its number.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Control,
        Self::Credit,
        Self::Scheduled,
        Self::Unscheduled,
        Self::Plain,
        Self::Link,
    ];

    /// The name in tables and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Credit => "credit",
            Self::Scheduled => "scheduled",
            Self::Unscheduled => "unscheduled",
            Self::Plain => "plain",
            Self::Link => "link",
        }
    }
}

/// The two ECN bits of the IP header. [RFC 3168 s5]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Ecn {
    /// The transport does not react to marks.
    NotCapable = 0,
    /// ECT(1).
    Capable1 = 1,
    /// ECT(0).
    Capable0 = 2,
    /// Congestion experienced.
    Marked = 3,
}

/// Hops a packet may take before a switch drops it; fits the five bits it has. [ours]
pub const TTL_START: u8 = 31;

const CLASS: u16 = 0b111;
const PRIORITY_AT: u32 = 3;
const PRIORITY: u16 = 0b111 << PRIORITY_AT;
const ECN_AT: u32 = 6;
const ECN: u16 = 0b11 << ECN_AT;
const TRIMMED: u16 = 1 << 8;
const BOUNCED: u16 = 1 << 9;
/// The shared word holds a path: see [`Packet::set_path`].
const PATH: u16 = 1 << 10;
const TTL_AT: u32 = 11;
const TTL: u16 = 0b11111 << TTL_AT;

/// Wire bytes of the smallest frame that anything sends: a bare minimum Ethernet frame without preamble
/// and gap. Smaller than every credit (76 B).
pub const FRAME_SMALLEST: u16 = 64;
/// Hosts of a network: their numbers have 20 bits.
pub const HOSTS_MAX: u32 = 1 << 20;
/// Transports that may share a network: a lane has two bits.
pub const LANES: u8 = 4;

const HOST: u32 = HOSTS_MAX - 1;
const LANE_AT: u32 = 20;
const LANE: u32 = 0b11 << LANE_AT;
/// A record travels beside it.
const RECORD: u32 = 1 << 22;
/// A tag of the link that it is on travels beside it.
const TAG: u32 = 1 << 23;
const KIND_AT: u32 = 24;

/// One packet: the envelope that switches read, and a head that only its transport understands.
///
/// The source is not carried: it is the other end of the connection.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Packet {
    /// When its last bit arrives at the far end of the link it is on. While it waits in a switch that is over,
    /// and the place holds a [`Local`].
    pub at: Time,
    /// Destination host (20 bits), lane (2 bits), what travels beside it (2 bits), and kind (8 bits).
    to: u32,
    /// The connection, which is also the entropy of the path.
    pub conn: ConnId,
    /// Bytes on the wire, with preamble and inter-frame gap.
    pub size: u16,
    mark: u16,
    /// Decoded header: the transport's own, but for the last word where hosts and switches share it
    /// ([`Packet::shared`]).
    pub head: [u32; 3],
}

const _: () = assert!(size_of::<Packet>() == 32);

impl Packet {
    /// A fresh packet. `kind` is the transport's own number for it.
    #[inline]
    pub const fn new(to: HostId, conn: ConnId, class: Class, kind: u8, size: u16) -> Self {
        Self {
            at: Time::ZERO,
            to: (to.0 & HOST) | ((kind as u32) << KIND_AT),
            conn,
            size,
            mark: class as u16 | ((TTL_START as u16) << TTL_AT),
            head: [0; 3],
        }
    }

    /// A slot to write into.
    pub const EMPTY: Self = Self::new(HostId(0), ConnId(0), Class::Control, 0, 0);

    /// Where it goes.
    #[inline]
    pub const fn to(&self) -> HostId {
        HostId(self.to & HOST)
    }
    /// The transport's own number for this kind of packet.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the top eight bits of 32")]
    pub const fn kind(&self) -> u8 {
        (self.to >> KIND_AT) as u8
    }
    /// What switches treat it as.
    #[inline]
    pub const fn class(&self) -> Class {
        match self.mark & CLASS {
            0 => Class::Control,
            1 => Class::Credit,
            2 => Class::Scheduled,
            3 => Class::Unscheduled,
            5 => Class::Link,
            _ => Class::Plain,
        }
    }
    /// Makes it one of another class.
    #[inline]
    pub fn set_class(&mut self, class: Class) {
        self.mark = (self.mark & !CLASS) | class as u16;
    }
    /// The number of its class, for tables of eight.
    #[inline]
    pub const fn class_index(&self) -> usize {
        (self.mark & CLASS) as usize
    }
    /// Whether it is a frame of the link's own: [`Class::Link`].
    #[inline]
    pub const fn is_of_link(&self) -> bool {
        self.mark & CLASS == Class::Link as u16
    }
    /// Strict priority, 0 the most urgent.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "three bits")]
    pub const fn priority(&self) -> u8 {
        ((self.mark & PRIORITY) >> PRIORITY_AT) as u8
    }
    /// Sets the strict priority, 0 (most urgent) to 7.
    #[inline]
    pub fn set_priority(&mut self, priority: u8) {
        debug_assert!(priority < 8);
        self.mark = (self.mark & !PRIORITY) | ((u16::from(priority) << PRIORITY_AT) & PRIORITY);
    }
    /// The ECN bits.
    #[inline]
    pub const fn ecn(&self) -> Ecn {
        match (self.mark & ECN) >> ECN_AT {
            0 => Ecn::NotCapable,
            1 => Ecn::Capable1,
            2 => Ecn::Capable0,
            _ => Ecn::Marked,
        }
    }
    /// Sets the ECN bits.
    #[inline]
    pub fn set_ecn(&mut self, ecn: Ecn) {
        self.mark = (self.mark & !ECN) | ((ecn as u16) << ECN_AT);
    }
    /// Whether no switch has trimmed or bounced it, and it is no link's own: the common case.
    #[inline]
    pub const fn is_plain(&self) -> bool {
        self.mark & (TRIMMED | BOUNCED) == 0 && self.mark & CLASS != Class::Link as u16
    }
    /// Whether a switch cut the payload off.
    #[inline]
    pub const fn trimmed(&self) -> bool {
        self.mark & TRIMMED != 0
    }
    /// Cuts the payload off, leaving `size` bytes on the wire.
    #[inline]
    pub fn trim(&mut self, size: u16) {
        self.mark |= TRIMMED;
        self.size = size;
    }
    /// Whether a switch sent it back.
    #[inline]
    pub const fn bounced(&self) -> bool {
        self.mark & BOUNCED != 0
    }
    /// Sends it back to `sender`. Where it was given a way, the way back has the same number, so that what comes back
    /// from one port takes as many ways as what went there.
    #[inline]
    pub fn bounce(&mut self, sender: HostId) {
        self.mark |= BOUNCED;
        self.to = (self.to & !HOST) | (sender.0 & HOST);
        if let Some(path) = self.path() {
            self.set_path(path);
        }
    }
    /// The number of the transport that it belongs to, where several share a network.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "two bits")]
    pub const fn lane(&self) -> u8 {
        ((self.to & LANE) >> LANE_AT) as u8
    }
    /// Makes it one of the transport of that number, below [`LANES`].
    #[inline]
    pub fn set_lane(&mut self, lane: u8) {
        debug_assert!(lane < LANES);
        self.to = (self.to & !LANE) | ((u32::from(lane) << LANE_AT) & LANE);
    }
    /// Whether a [`Record`](crate::Record) travels beside it; what a switch has trimmed has lost it.
    #[inline]
    pub const fn has_record(&self) -> bool {
        self.to & RECORD != 0 && !self.trimmed()
    }
    /// Says that a record travels beside it: its endpoint writes it when it is asked
    /// ([`Endpoint::record`](crate::Endpoint::record)).
    #[inline]
    pub fn set_record(&mut self) {
        self.to |= RECORD;
    }
    /// Whether a record travelled beside it before a switch trimmed it: its node still keeps it.
    #[inline]
    pub const fn had_record(&self) -> bool {
        self.to & RECORD != 0
    }
    /// A record that was cut off is gone for good.
    #[inline]
    pub fn settle_record(&mut self) {
        if self.trimmed() {
            self.to &= !RECORD;
        }
    }
    /// Whether the switch or host before this one has put a tag beside it.
    #[inline]
    pub const fn has_tag(&self) -> bool {
        self.to & TAG != 0
    }
    /// Says whether a tag travels beside it on the next link.
    #[inline]
    pub fn set_tagged(&mut self, tagged: bool) {
        self.to = if tagged {
            self.to | TAG
        } else {
            self.to & !TAG
        };
    }
    /// Whether anything travels beside it.
    #[inline]
    pub const fn carries(&self) -> bool {
        self.to & (RECORD | TAG) != 0
    }
    /// Nothing travels beside it any more.
    #[inline]
    pub fn drop_beside(&mut self) {
        self.to &= !(RECORD | TAG);
    }
    /// The word that hosts and switches share, where a transport and its fabric agree on one: a rank,
    /// a rate, or a path. Everywhere else it is the last word of the head, which no switch reads.
    #[inline]
    pub const fn shared(&self) -> u32 {
        self.head[2]
    }
    /// Sets the word that hosts and switches share.
    #[inline]
    pub fn set_shared(&mut self, word: u32) {
        self.head[2] = word;
    }
    /// Has it take way number `path` of all equal-cost ways to its destination, counted by the sizes
    /// of the choices on its way, the first choice lowest. Takes the shared word: the receiver finds
    /// the number there ([`Packet::path`]).
    #[inline]
    pub fn set_path(&mut self, path: u16) {
        self.mark |= PATH;
        self.head[2] = u32::from(path) << 16 | u32::from(path);
    }
    /// Says that the shared word holds a path: for a reader of both from a wire.
    #[inline]
    pub fn take_path(&mut self) {
        self.mark |= PATH;
    }
    /// Whether it was given a way.
    #[inline]
    pub const fn has_path(&self) -> bool {
        self.mark & PATH != 0
    }
    /// The way that it was given, if it was.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the upper half")]
    pub const fn path(&self) -> Option<u16> {
        if self.mark & PATH == 0 {
            None
        } else {
            Some((self.head[2] >> 16) as u16)
        }
    }
    /// Which of `ways` ways it takes at the next choice, if it was given a way; the rest of the number
    /// is for the choices that follow.
    #[inline]
    pub fn next_way(&mut self, ways: u32) -> Option<u32> {
        if self.mark & PATH == 0 {
            return None;
        }
        let left = self.head[2] & 0xffff;
        self.head[2] = (self.head[2] & !0xffff) | (left / ways);
        Some(left % ways)
    }
    /// Hops left.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "five bits")]
    pub const fn ttl(&self) -> u8 {
        ((self.mark & TTL) >> TTL_AT) as u8
    }
    /// Takes one hop; false where none was left, and the packet is to be dropped.
    #[inline]
    #[must_use]
    pub fn hop(&mut self) -> bool {
        let (mark, none_left) = self.mark.overflowing_sub(1 << TTL_AT);
        self.mark = mark;
        !none_left
    }
    /// Leaves it no hop: a switch that does not take it for itself drops it.
    #[inline]
    pub fn end_here(&mut self) {
        self.mark &= !TTL;
    }
    /// The envelope marks as one number, for digests.
    pub const fn marks(&self) -> u16 {
        self.mark
    }
}

/// What a node notes of a packet while it is there, in the place of a moment that is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Local {
    /// The port by which it came.
    pub ingress: u16,
    /// The tag of the link that it came by, and then of the one by which it leaves.
    pub tag: u16,
    /// Where the node keeps its record; the node's driver knows.
    pub record: u32,
}

impl Local {
    /// Puts it into the packet.
    #[inline]
    pub fn put(self, packet: &mut Packet) {
        let (record, tag) = (u64::from(self.record), u64::from(self.tag));
        packet.at = Time(record << 32 | tag << 16 | u64::from(self.ingress));
    }

    /// Finds it in a packet that waits in a node.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "parts of a word")]
    pub const fn of(packet: &Packet) -> Self {
        let word = packet.at.0;
        Self {
            ingress: word as u16,
            tag: (word >> 16) as u16,
            record: (word >> 32) as u32,
        }
    }
}

impl fmt::Debug for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} kind {} of {:?} to {:?}, {} B, head {:x?}, at {}",
            self.class().name(),
            self.kind(),
            self.conn,
            self.to(),
            self.size,
            self.head,
            self.at
        )
    }
}

/// Bytes that Ethernet adds to an IP packet: header 14, checksum 4, preamble and gap 20. [IEEE 802.3]
pub const ETHERNET: u16 = 38;
/// Bytes that the largest IP packet of a network may have, its header included. Switches of data centers
/// carry up to 9,000 of them; with less than 1,000 headers take too much for any result to be of use. [ours]
pub const MTU: std::ops::RangeInclusive<u16> = 1000..=9000;

/// What a frame costs on the wire: a property of the scenario, not of the codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encap {
    /// Bytes that every data frame adds to its payload, with preamble and gap.
    pub overhead: u16,
    /// Payload of a full frame.
    pub payload_max: u16,
    /// Wire bytes of the smallest frame: 64 B of Ethernet and 20 B of preamble and gap.
    pub frame_min: u16,
}

impl Encap {
    /// The papers' frames: 1460 B of payload in 1538 B on the wire. [xpass artefact]
    pub const PAPER: Self = Self {
        overhead: 78,
        payload_max: 1460,
        frame_min: 84,
    };
    /// Ours over UDP and IPv4: Ethernet 38, IP 20, UDP 8 and 40 B of our header (24 + 16). [ours]
    pub const UDP: Self = Self {
        overhead: 106,
        payload_max: 1432,
        frame_min: 84,
    };

    /// The same headers in frames for IP packets of up to `mtu` bytes: the payload is what they leave.
    ///
    /// # Errors
    /// What is wrong with `mtu`, and what to write instead.
    pub fn with_mtu(self, mtu: u64) -> Result<Self, String> {
        let within = u16::try_from(mtu).ok().filter(|mtu| MTU.contains(mtu));
        let Some(within) = within else {
            let (least, most) = (MTU.start(), MTU.end());
            return Err(format!(
                "an IP packet of {mtu} B; write {least}B to {most}B"
            ));
        };
        let headers = self.overhead.saturating_sub(ETHERNET);
        let payload_max = within.checked_sub(headers).filter(|&payload| payload > 0);
        payload_max
            .map(|payload_max| Self {
                payload_max,
                ..self
            })
            .ok_or_else(|| {
                format!("headers of {headers} B leave no payload in an IP packet of {mtu} B")
            })
    }

    /// Bytes of the largest IP packet, its header included.
    pub const fn mtu(&self) -> u16 {
        self.wire_max() - ETHERNET
    }

    /// Wire bytes of a frame with `payload` bytes of data.
    #[inline]
    pub const fn wire(&self, payload: u16) -> u16 {
        let size = payload + self.overhead;
        if size < self.frame_min {
            self.frame_min
        } else {
            size
        }
    }
    /// Wire bytes of a full data frame.
    #[inline]
    pub const fn wire_max(&self) -> u16 {
        self.wire(self.payload_max)
    }
    /// Data frames that a message of `length` bytes takes; an empty message takes one.
    #[inline]
    pub const fn frames(&self, length: u64) -> u64 {
        if length == 0 {
            1
        } else {
            length.div_ceil(self.payload_max as u64)
        }
    }
    /// Wire bytes of all data frames of a message of `length` bytes.
    pub const fn wire_total(&self, length: u64) -> u64 {
        let (full, rest) = (
            length / self.payload_max as u64,
            length % self.payload_max as u64,
        );
        #[allow(
            clippy::cast_possible_truncation,
            reason = "below payload_max, which is a u16"
        )]
        let last = if rest > 0 || length == 0 {
            self.wire(rest as u16)
        } else {
            0
        };
        full * self.wire_max() as u64 + last as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_keeps_to_its_own_bits() {
        let mut packet = Packet::new(HostId(0xb_cdef), ConnId(7), Class::Plain, 0x5a, 1538);
        packet.set_priority(5);
        packet.set_ecn(Ecn::Capable0);
        packet.head = [1, 2, 3];
        packet.set_path(0x123);
        packet.set_lane(2);
        assert_eq!((packet.to(), packet.kind()), (HostId(0xb_cdef), 0x5a));
        assert_eq!((packet.lane(), packet.path()), (2, Some(0x123)));
        assert_eq!(
            (packet.class(), packet.priority(), packet.ecn()),
            (Class::Plain, 5, Ecn::Capable0)
        );
        assert_eq!(packet.ttl(), TTL_START);
        packet.bounce(HostId(1));
        packet.trim(84);
        packet.set_ecn(Ecn::Marked);
        assert_eq!(
            (packet.to(), packet.kind(), packet.size),
            (HostId(1), 0x5a, 84)
        );
        assert!(packet.bounced() && packet.trimmed() && packet.ecn() == Ecn::Marked);
        assert_eq!((packet.class(), packet.lane()), (Class::Plain, 2));
        for class in Class::ALL {
            packet.set_class(class);
            assert_eq!(packet.class(), class);
        }
    }

    #[test]
    fn what_is_sent_back_has_its_way_before_it_again() {
        let mut packet = Packet::new(HostId(1), ConnId(2), Class::Plain, 0, 84);
        packet.set_path(7);
        assert_eq!((packet.next_way(3), packet.next_way(4)), (Some(1), Some(2)));
        packet.bounce(HostId(3));
        assert_eq!((packet.next_way(3), packet.next_way(4)), (Some(1), Some(2)));
        assert_eq!(packet.path(), Some(7));
    }

    #[test]
    fn a_path_is_a_number_whose_digits_are_the_choices() {
        // Two choices among 3 and then 4 ways: 12 paths, each its own pair of choices.
        let mut seen = std::collections::BTreeSet::new();
        for path in 0..12 {
            let mut packet = Packet::EMPTY;
            assert_eq!(packet.next_way(3), None);
            packet.set_path(path);
            let choices = (packet.next_way(3), packet.next_way(4));
            assert!(seen.insert(choices), "{choices:?} twice");
            assert_eq!(packet.path(), Some(path), "the receiver reads it");
        }
    }

    #[test]
    fn a_packet_dies_after_its_last_hop() {
        let mut packet = Packet::EMPTY;
        assert_eq!(
            (0..100).take_while(|_| packet.hop()).count(),
            usize::from(TTL_START)
        );
    }

    #[test]
    fn frames_cost_what_the_papers_say() {
        assert_eq!(Encap::PAPER.wire(1460), 1538);
        assert_eq!(Encap::PAPER.wire(1), 84);
        assert_eq!(Encap::PAPER.wire_total(14_600), 15_380);
        assert_eq!(Encap::PAPER.wire_total(0), 84);
        assert_eq!(Encap::UDP.wire_max(), 1538);
    }

    #[test]
    fn a_payload_is_what_headers_leave_of_an_ip_packet() {
        for encap in [Encap::PAPER, Encap::UDP] {
            assert_eq!(encap.with_mtu(1500), Ok(encap));
            for mtu in [1000, 4096, 9000] {
                let sized = encap.with_mtu(mtu.into()).unwrap();
                assert_eq!((sized.mtu(), sized.wire_max()), (mtu, mtu + 38));
                assert_eq!(sized.overhead, encap.overhead);
            }
        }
        let payload = |encap: Encap| encap.with_mtu(9000).unwrap().payload_max;
        assert_eq!([Encap::PAPER, Encap::UDP].map(payload), [8960, 8932]);
    }

    #[test]
    fn no_frame_is_out_of_range_or_without_payload() {
        for mtu in [0, 999, 9001, 65_536 + 1500, u64::MAX] {
            let why = Encap::PAPER.with_mtu(mtu).unwrap_err();
            assert!(why.contains("1000B to 9000B"), "{why}");
        }
        let heavy = Encap {
            overhead: 38 + 1000,
            ..Encap::PAPER
        };
        let why = heavy.with_mtu(1000).unwrap_err();
        assert!(why.contains("leave no payload"), "{why}");
        assert_eq!(heavy.with_mtu(1001).unwrap().payload_max, 1);
    }
}
