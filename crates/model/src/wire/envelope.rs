//! The first sixteen bytes of every transport's datagram. They are the same for all transports, so
//! that a switch reads what it may read without knowing any of them.
//!
//! | bytes | field |
//! | --- | --- |
//! | 0 | version (4 bits), lane (2), bounced, trimmed |
//! | 1 | path, record, priority (3 bits), class (3 bits) |
//! | 2 | transport |
//! | 3 | kind, the transport's own |
//! | 4 to 7 | connection, as its receiver knows it |
//! | 8 to 11 | tag |
//! | 12 to 15 | the shared word: word 2 of the packet's head |
//!
//! Where there is a record, it ends the datagram: its bytes, then one with its kind and length.
//!
//! ECN bits are in the IP header, and a flow is told by addresses and ports. The DSCP says class and
//! priority once more, for switches that read no further than IP. The place of the hop limit is the TTL
//! of the IP header, but nothing here reads it: [`Below`] has none, and [`Envelope::packet`] begins with
//! [`TTL_START`](crate::TTL_START) hops.

use super::{DecodeError, HEADER_MAX, Link, Reader, VERSION, Writer};
use crate::{Class, ConnId, Ecn, HostId, Packet};

/// Bytes of the envelope and of what else every header begins with.
pub const ENVELOPE_LEN: usize = 16;
/// Where the word begins that hosts and switches share.
pub const SHARED_AT: usize = 12;

const TRIMMED: u8 = 1;
const BOUNCED: u8 = 1 << 1;
const LANE_AT: u8 = 2;
const LANE: u8 = 0b11 << LANE_AT;
const CLASS: u8 = 0b111;
const PRIORITY_AT: u8 = 3;
const PRIORITY: u8 = 0b111 << PRIORITY_AT;
const RECORD: u8 = 1 << 6;
const PATH: u8 = 1 << 7;

/// What a switch reads of a datagram, and may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// What it is treated as.
    pub class: Class,
    /// Strict priority, 0 the most urgent.
    pub priority: u8,
    /// A switch cut the payload off.
    pub trimmed: bool,
    /// A switch sent it back.
    pub bounced: bool,
    /// The transport that it belongs to, where several share a network.
    pub lane: u8,
    /// The shared word holds a path.
    pub path: bool,
    /// A record ends the datagram.
    pub record: bool,
    /// The word that hosts and switches share.
    pub shared: u32,
}

/// What a switch takes from the headers in front of the datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Below {
    /// The host that the destination address stands for.
    pub to: HostId,
    /// One number for addresses and ports, the same in both directions: see [`flow`].
    pub flow: ConnId,
    /// The TOS byte; its lower two bits are ECN. [RFC 2474 s3, RFC 3168 s5]
    pub tos: u8,
    /// Bytes on the wire, with preamble and gap.
    pub size: u16,
}

/// One number for two ends, whichever of them sends: the FNV-1a hash over the lower and the higher,
/// each address and then its port. [Fowler, Noll and Vo, 32 bits]
pub fn flow(a: std::net::SocketAddrV4, b: std::net::SocketAddrV4) -> ConnId {
    let ends = [a.min(b), a.max(b)];
    let bytes = ends.iter().flat_map(|end| {
        let ([a, b, c, d], [high, low]) = (end.ip().octets(), end.port().to_be_bytes());
        [a, b, c, d, high, low]
    });
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    ConnId(bytes.fold(0x811c_9dc5, step))
}

impl Envelope {
    /// That of a packet.
    pub const fn of(packet: &Packet) -> Self {
        Self {
            class: packet.class(),
            priority: packet.priority(),
            trimmed: packet.trimmed(),
            bounced: packet.bounced(),
            lane: packet.lane(),
            path: packet.path().is_some(),
            record: packet.has_record(),
            shared: packet.head[2],
        }
    }

    /// Reads it from the front of a datagram.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn read(datagram: &[u8]) -> Result<Self, DecodeError> {
        let bytes = datagram
            .first_chunk::<ENVELOPE_LEN>()
            .ok_or(DecodeError::Short)?;
        let [first, second] = [bytes[0], bytes[1]];
        if first >> 4 != VERSION {
            return Err(DecodeError::Version(first >> 4));
        }
        let class = usize::from(second & CLASS);
        let [.., a, b, c, d] = *bytes;
        Ok(Self {
            class: *Class::ALL.get(class).ok_or(DecodeError::Field("class"))?,
            priority: (second & PRIORITY) >> PRIORITY_AT,
            trimmed: first & TRIMMED != 0,
            bounced: first & BOUNCED != 0,
            lane: (first & LANE) >> LANE_AT,
            path: second & PATH != 0,
            record: second & RECORD != 0,
            shared: u32::from_be_bytes([a, b, c, d]),
        })
    }

    fn bytes(&self) -> [u8; 2] {
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        [
            VERSION << 4
                | self.lane << LANE_AT
                | bit(self.bounced, BOUNCED)
                | bit(self.trimmed, TRIMMED),
            bit(self.path, PATH)
                | bit(self.record, RECORD)
                | self.priority << PRIORITY_AT
                | self.class as u8,
        ]
    }

    /// Writes it over the front of a datagram: what a switch has changed. The rest stays.
    ///
    /// # Errors
    /// [`DecodeError::Short`] where the datagram is too short to have one.
    pub fn write(&self, datagram: &mut [u8]) -> Result<(), DecodeError> {
        let front = datagram
            .first_chunk_mut::<ENVELOPE_LEN>()
            .ok_or(DecodeError::Short)?;
        front[..2].copy_from_slice(&self.bytes());
        front[SHARED_AT..].copy_from_slice(&self.shared.to_be_bytes());
        Ok(())
    }

    /// The packet that a switch handles: its envelope, and nothing of what only hosts read.
    pub fn packet(&self, below: &Below) -> Packet {
        let mut packet = Packet::new(below.to, below.flow, self.class, 0, below.size);
        self.mark(&mut packet);
        packet.set_ecn(ecn(below.tos));
        packet
    }

    /// Sets what [`Packet::new`] does not.
    fn mark(&self, packet: &mut Packet) {
        packet.set_priority(self.priority);
        packet.head[2] = self.shared;
        packet.set_lane(self.lane);
        if self.path {
            packet.take_path();
        }
        if self.record {
            packet.set_record();
        }
        if self.trimmed {
            packet.trim(packet.size);
        }
        if self.bounced {
            packet.bounce(packet.to());
        }
    }
}

/// The ECN bits of a TOS byte.
pub const fn ecn(tos: u8) -> Ecn {
    match tos & 0b11 {
        0 => Ecn::NotCapable,
        1 => Ecn::Capable1,
        2 => Ecn::Capable0,
        _ => Ecn::Marked,
    }
}

impl<'a> Writer<'a> {
    /// Starts a header of `transport`: envelope, kind, connection, tag and word 2 of the head.
    pub fn begin(
        out: &'a mut [u8; HEADER_MAX],
        packet: &Packet,
        link: Link,
        transport: u8,
    ) -> Self {
        let mut writer = Self::new(out);
        let [first, second] = Envelope::of(packet).bytes();
        writer.u32(u32::from_be_bytes([
            first,
            second,
            transport,
            packet.kind(),
        ]));
        writer.u32(link.conn);
        writer.u32(link.tag);
        writer.u32(packet.head[2]);
        writer
    }
}

impl Reader<'_> {
    /// Reads what [`Writer::begin`] wrote: a packet with its envelope, kind and word 2, of size 0,
    /// and its link without a cookie.
    ///
    /// # Errors
    /// What is wrong with the bytes; another transport is one of the things.
    pub fn begin(&mut self, transport: u8) -> Result<(Packet, Link), DecodeError> {
        let envelope = Envelope::read(self.0)?;
        let [_, _, of, kind] = self.u32()?.to_be_bytes();
        if of != transport {
            return Err(DecodeError::Field("transport"));
        }
        let (conn, tag) = (self.u32()?, self.u32()?);
        self.u32()?;
        let mut packet = Packet::new(HostId(0), ConnId(conn), envelope.class, kind, 0);
        envelope.mark(&mut packet);
        Ok((
            packet,
            Link {
                conn,
                tag,
                cookie: 0,
            },
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, SocketAddrV4};

    const LINK: Link = Link {
        conn: 0xc000_0007,
        tag: 0xdead_beef,
        cookie: 0,
    };
    const TRANSPORT: u8 = 9;

    fn packet() -> Packet {
        let mut packet = Packet::new(HostId(0), ConnId(LINK.conn), Class::Unscheduled, 0xa5, 0);
        packet.set_priority(6);
        packet.head[2] = 0x0102_0304;
        packet
    }

    fn written(packet: &Packet) -> [u8; ENVELOPE_LEN] {
        let mut out = [0xff; HEADER_MAX];
        assert_eq!(
            Writer::begin(&mut out, packet, LINK, TRANSPORT).len(),
            ENVELOPE_LEN
        );
        *out.first_chunk().unwrap()
    }

    #[test]
    fn every_mark_travels_by_itself() {
        let marks: [fn(&mut Packet); 4] = [
            |_| {},
            |packet| packet.trim(0),
            |packet| packet.bounce(HostId(0)),
            Packet::take_path,
        ];
        for mark in marks {
            let mut sent = packet();
            mark(&mut sent);
            let bytes = written(&sent);
            let read = Reader(&bytes).begin(TRANSPORT).unwrap();
            assert_eq!(read, (sent, LINK));
        }
    }

    #[test]
    fn a_switch_changes_its_own_part_alone() {
        let mut bytes = written(&packet());
        let before = bytes;
        let mut envelope = Envelope::read(&bytes).unwrap();
        assert_eq!(envelope.shared, 0x0102_0304);
        (envelope.shared, envelope.trimmed) = (u32::MAX, true);
        envelope.write(&mut bytes).unwrap();
        assert_eq!(bytes[2..SHARED_AT], before[2..SHARED_AT]);
        let (read, link) = Reader(&bytes).begin(TRANSPORT).unwrap();
        assert_eq!((read.head[2], read.trimmed()), (u32::MAX, true));
        assert_eq!((read.kind(), link), (0xa5, LINK));
    }

    #[test]
    fn a_switch_sees_class_priority_path_and_flow() {
        let [a, b] = [1, 2].map(|n| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, n), 4_000));
        let below = Below {
            to: HostId(3),
            flow: flow(a, b),
            tos: 0b11,
            size: 90,
        };
        let seen = Envelope::of(&packet()).packet(&below);
        assert_eq!((seen.class(), seen.priority()), (Class::Unscheduled, 6));
        assert_eq!((seen.to(), seen.size, seen.kind()), (HostId(3), 90, 0));
        assert_eq!((seen.ecn(), seen.path()), (Ecn::Marked, None));
        let mut routed = packet();
        routed.set_path(4);
        routed.set_lane(3);
        routed.set_record();
        let read = Envelope::read(&written(&routed)).unwrap();
        let mut seen = read.packet(&below);
        assert!(seen.has_record() && !seen.has_tag());
        assert_eq!((seen.path(), seen.lane()), (Some(4), 3));
        assert_eq!((seen.next_way(3), seen.next_way(3)), (Some(1), Some(1)));
        // Both directions are one flow, and other ports another.
        assert_eq!(flow(a, b), flow(b, a));
        assert_ne!(flow(a, b), flow(a, SocketAddrV4::new(*b.ip(), 4_001)));
    }

    #[test]
    fn what_has_no_meaning_is_refused() {
        let good = written(&packet());
        let refused = |at: usize, value: u8| {
            let mut bytes = good;
            bytes[at] = value;
            Reader(&bytes).begin(TRANSPORT).unwrap_err()
        };
        assert_eq!(refused(0, 0), DecodeError::Version(0));
        assert_eq!(refused(1, 6), DecodeError::Field("class"));
        assert_eq!(refused(2, 8), DecodeError::Field("transport"));
        for cut in 0..ENVELOPE_LEN {
            let read = Reader(&good[..cut]).begin(TRANSPORT);
            assert_eq!(read.unwrap_err(), DecodeError::Short);
        }
    }
}
