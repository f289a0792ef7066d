//! Records: up to 63 bytes beside a packet, for what its 12 bytes of head do not hold.
//!
//! A packet says that it has one ([`Packet::set_record`](crate::Packet::set_record)), and its endpoint writes it
//! when it is asked ([`Endpoint::record`](crate::Endpoint::record)). A record is either the sender's own bytes, which
//! nobody on the way touches, or a path, to which every switch with telemetry adds what it knows of the port by
//! which the packet leaves. [hpcc s3.1: inband telemetry]

use crate::wire::DecodeError;
use units::{Rate, Time};

/// Bytes that a record holds.
pub const RECORD_MAX: usize = 63;
/// Bytes of one hop in a path. [ours; 8 in HPCC's layout, whose rates are three bits]
const HOP_LEN: usize = 12;
/// Hops that fit a path: those of three tiers, as in HPCC's. [hpcc s4.1]
pub const HOPS_MAX: usize = RECORD_MAX / HOP_LEN;
/// In the first byte: switches add to it.
const PATH: u8 = 1 << 7;
/// In the first byte: a hop had no room.
const FULL: u8 = 1 << 6;
/// In the first byte: how many bytes follow.
const LEN: u8 = FULL - 1;
/// Bytes that one unit of a hop's counters stands for. [ours]
const CELL: u64 = 64;

/// Up to [`RECORD_MAX`] bytes beside a packet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Kind and length, then the bytes.
    bytes: [u8; RECORD_MAX + 1],
}

const _: () = assert!(size_of::<Record>() == 64, "one line of the cache");

/// What a switch says of the port by which a packet leaves it, at the moment when it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hop {
    /// The moment, in whole nanoseconds modulo 2^32: 4.3 s.
    pub at_ns: u32,
    /// Bytes of data that wait at the port behind the packet, in steps of 64 B.
    pub queue: u64,
    /// Bytes that the port has sent before it, in steps of 64 B modulo 1 GiB.
    pub sent: u64,
    /// The port's rate, in steps of 100 Mb/s.
    pub rate: Rate,
}

impl Hop {
    /// What a port says at `at`, as it is read at the end of the way.
    #[allow(clippy::cast_possible_truncation, reason = "modulo 2^32")]
    pub fn new(at: Time, queue: u64, sent: u64, rate: Rate) -> Self {
        let steps = (rate.0 / 100_000_000).min(u16::MAX.into());
        Self {
            at_ns: (at.0 / 1000) as u32,
            queue: (queue / CELL).min(0xff_ffff) * CELL,
            sent: ((sent / CELL) & 0xff_ffff) * CELL,
            rate: Rate::mbps(steps * 100),
        }
    }

    /// Nanoseconds from an earlier hop of the same port to this one.
    pub const fn ns_since(&self, before: &Self) -> u32 {
        self.at_ns.wrapping_sub(before.at_ns)
    }

    /// Bytes that the port sent between an earlier hop and this one.
    pub const fn sent_since(&self, before: &Self) -> u64 {
        self.sent.wrapping_sub(before.sent) & ((CELL << 24) - 1)
    }

    fn bytes(&self) -> [u8; HOP_LEN] {
        let mut bytes = [0; HOP_LEN];
        bytes[..4].copy_from_slice(&self.at_ns.to_be_bytes());
        bytes[4..7].copy_from_slice(&(self.queue / CELL).to_be_bytes()[5..]);
        bytes[7..10].copy_from_slice(&(self.sent / CELL).to_be_bytes()[5..]);
        bytes[10..].copy_from_slice(&(self.rate.0 / 100_000_000).to_be_bytes()[6..]);
        bytes
    }

    fn read(bytes: &[u8; HOP_LEN]) -> Self {
        let word = |from: usize, to: usize| {
            let part = bytes[from..to].iter();
            part.fold(0, |word, &byte| word << 8 | u64::from(byte))
        };
        Self {
            at_ns: u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
            queue: word(4, 7) * CELL,
            sent: word(7, 10) * CELL,
            rate: Rate::mbps(word(10, 12) * 100),
        }
    }
}

impl Record {
    /// Nothing.
    pub const EMPTY: Self = Self {
        bytes: [0; RECORD_MAX + 1],
    };
    /// A path without a hop yet.
    pub const PATH: Self = {
        let mut bytes = [0; RECORD_MAX + 1];
        bytes[0] = PATH;
        Self { bytes }
    };

    /// The sender's own bytes, those beyond [`RECORD_MAX`] left out.
    #[allow(clippy::cast_possible_truncation, reason = "at most 63")]
    pub fn of(content: &[u8]) -> Self {
        let mut record = Self::EMPTY;
        let len = content.len().min(RECORD_MAX);
        record.bytes[0] = len as u8;
        record.bytes[1..=len].copy_from_slice(&content[..len]);
        record
    }

    /// Its bytes.
    pub fn content(&self) -> &[u8] {
        &self.bytes[1..=self.len()]
    }

    /// How many bytes it has.
    pub const fn len(&self) -> usize {
        (self.bytes[0] & LEN) as usize
    }

    /// Whether it has no bytes.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether switches add to it.
    pub const fn is_path(&self) -> bool {
        self.bytes[0] & PATH != 0
    }

    /// The same with no switch to add to it: what a receiver sends back.
    #[must_use]
    pub const fn closed(mut self) -> Self {
        self.bytes[0] &= !PATH;
        self
    }

    /// Whether the way had more hops than fit.
    pub const fn is_cut(&self) -> bool {
        self.bytes[0] & FULL != 0
    }

    /// Adds a hop to a path; one that does not fit is left out, and said to be.
    #[allow(clippy::cast_possible_truncation, reason = "a hop has 12 bytes")]
    pub fn add(&mut self, hop: &Hop) {
        let len = self.len();
        if !self.is_path() {
            return;
        }
        if len + HOP_LEN > RECORD_MAX {
            self.bytes[0] |= FULL;
            return;
        }
        self.bytes[1 + len..=len + HOP_LEN].copy_from_slice(&hop.bytes());
        self.bytes[0] += HOP_LEN as u8;
    }

    /// The hops of a path, open or closed, the first of the way first.
    pub fn hops(&self) -> impl ExactSizeIterator<Item = Hop> + '_ {
        let (hops, _) = self.content().as_chunks::<HOP_LEN>();
        hops.iter().map(Hop::read)
    }

    /// Writes it to the end of a datagram of `len` bytes: its bytes, then kind and length, so that a switch that
    /// knows no header finds them. Returns the new length; `None` where it does not fit.
    pub fn write(&self, datagram: &mut [u8], len: usize) -> Option<usize> {
        let end = len + self.len() + 1;
        let place = datagram.get_mut(len..end)?;
        let (content, first) = place.split_at_mut(self.len());
        content.copy_from_slice(self.content());
        first[0] = self.bytes[0];
        Some(end)
    }

    /// Reads it from the end of a datagram; returns what is in front of it, too.
    ///
    /// # Errors
    /// Where it claims to be longer than the datagram, or has a length that none has.
    pub fn read(datagram: &[u8]) -> Result<(Self, &[u8]), DecodeError> {
        let (&first, rest) = datagram.split_last().ok_or(DecodeError::Short)?;
        let len = usize::from(first & LEN);
        let start = rest.len().checked_sub(len).ok_or(DecodeError::Short)?;
        if first & PATH != 0 && len % HOP_LEN != 0 {
            return Err(DecodeError::Field("hops"));
        }
        let (front, content) = rest.split_at(start);
        let mut record = Self::of(content);
        record.bytes[0] = first;
        Ok((record, front))
    }
}

impl Default for Record {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl std::fmt::Debug for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_path() {
            f.debug_list().entries(self.hops()).finish()
        } else {
            write!(f, "{:02x?}", self.content())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(n: u64) -> Hop {
        Hop::new(Time(n * 5_000), n * 64, n * 640, Rate::gbps(100))
    }

    #[test]
    fn a_path_takes_its_hops_and_says_when_one_did_not_fit() {
        let mut record = Record::PATH;
        for n in 1..=HOPS_MAX as u64 {
            record.add(&hop(n));
            assert!(!record.is_cut());
        }
        record.add(&hop(9));
        assert!(record.is_cut());
        let hops: Vec<_> = record.closed().hops().collect();
        assert_eq!(hops, [1, 2, 3, 4, 5].map(hop));
        let mut own = record.closed();
        own.add(&hop(9));
        assert_eq!(own, record.closed(), "nobody adds to what is closed");
    }

    #[test]
    fn counters_go_on_where_they_wrap() {
        let wrap = CELL << 24;
        let before = Hop::new(Time(4_294_967_295_000), 0, wrap - 128, Rate::gbps(400));
        let after = Hop::new(Time(4_294_967_305_000), 0, wrap + 64, Rate::gbps(400));
        assert_eq!(after.ns_since(&before), 10);
        assert_eq!(after.sent_since(&before), 192);
        assert_eq!(Hop::read(&after.bytes()), after);
    }

    #[test]
    fn what_is_written_behind_a_datagram_is_read_and_no_bytes_panic() {
        let mut datagram = [7; 128];
        let mut path = Record::PATH;
        path.add(&hop(3));
        for record in [Record::EMPTY, Record::of(&[1; 63]), path, path.closed()] {
            let len = record.write(&mut datagram, 20).unwrap();
            let (read, front) = Record::read(&datagram[..len]).unwrap();
            assert_eq!((read, front), (record, &[7; 20][..]));
        }
        assert_eq!(path.write(&mut datagram, 127), None);
        for first in 0..=u8::MAX {
            for len in [0, 1, 12, 64] {
                let mut bytes = vec![3; len];
                bytes.push(first);
                if let Ok((mut read, _)) = Record::read(&bytes) {
                    read.add(&hop(1));
                    assert!(read.hops().len() <= HOPS_MAX);
                }
            }
        }
    }
}
