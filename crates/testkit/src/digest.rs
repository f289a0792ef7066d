//! One number for all that happened in a run.

use model::{Event, HostId, Packet};
use units::Time;

/// A hash in which the order of what it takes in matters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Digest(u64);

impl Digest {
    pub(crate) fn value(self) -> u64 {
        self.0
    }

    fn mix(&mut self, word: u64) {
        // The finaliser of SplitMix64 over a running sum: every bit spreads.
        let mut z = (self.0 ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.0 = z ^ (z >> 31);
    }

    /// Words of an endpoint.
    pub(crate) fn text(&mut self, text: &str) {
        text.bytes().for_each(|byte| self.mix(byte.into()));
    }

    /// A packet that `from` put on its line at `now`.
    pub(crate) fn packet(&mut self, now: Time, from: HostId, packet: &Packet, lost: bool) {
        let [a, b, c] = packet.head.map(u64::from);
        let address = u64::from(from.0) << 32 | u64::from(packet.to().0);
        let conn = u64::from(packet.conn.0) << 8 | u64::from(packet.kind());
        let envelope = u64::from(packet.marks()) << 16 | u64::from(packet.size);
        let words = [
            now.0,
            packet.at.0,
            address,
            conn,
            envelope << 1 | u64::from(lost),
            a << 32 | b,
            c,
        ];
        for word in words {
            self.mix(word);
        }
    }

    /// Something that `host` said at `now`.
    pub(crate) fn event(&mut self, now: Time, host: HostId, event: Event) {
        let (tag, conn, a, b) = match event {
            Event::Received {
                conn,
                ordinal,
                length,
            } => (1, conn, u64::from(ordinal), length),
            Event::Sent { conn, ordinal } => (2, conn, u64::from(ordinal), 0),
            Event::Stopped { conn } => (3, conn, 0, 0),
            Event::AskedAgain { conn } => (6, conn, 0, 0),
            Event::Data {
                conn,
                offset,
                length,
            } => (4, conn, offset, u64::from(length)),
            Event::Missing { conn } => (8, conn, 0, 0),
            Event::Refused { conn } => (5, conn, 0, 0),
            Event::Forgotten { conn } => (7, conn, 0, 0),
        };
        let words = [
            now.0,
            tag << 32 | u64::from(host.0),
            u64::from(conn.0),
            a,
            b,
        ];
        for word in words {
            self.mix(word);
        }
    }
}
