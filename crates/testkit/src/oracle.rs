//! Every byte exactly once, every message in order: what the events of a run must add up to.

use model::{ConnId, HostId, Lifetime};
use std::collections::BTreeMap;

/// One direction of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    from: HostId,
    to: HostId,
    /// Lengths of the messages that the application has sent so far.
    lengths: Vec<u64>,
    /// Accepted bytes, as disjoint ranges that do not touch: start to end.
    accepted: BTreeMap<u64, u64>,
    /// Where in the stream the next message starts.
    base: u64,
    received: u32,
    sent: u32,
    /// The application took something back: messages may be shorter, or missing at the end.
    cancelled: bool,
    refused: bool,
    /// One message is all.
    one_shot: bool,
    /// `from` opened it.
    opener: bool,
    /// `from` has been told of the connection, and has not forgotten it since.
    told: bool,
    /// How often `from` has said that it forgot.
    forgotten: u32,
}

/// Every connection of a run, by (connection, sender).
#[derive(Clone, Debug, Default)]
pub(crate) struct Oracle {
    streams: BTreeMap<(u32, u32), Stream>,
    /// Equal-cost ways between any two hosts, as hosts are told; 0 where nobody knows.
    pub(crate) ways: u16,
}

impl Oracle {
    /// A connection exists: both of its directions may carry messages.
    pub(crate) fn connect(
        &mut self,
        conn: ConnId,
        opener: HostId,
        peer: HostId,
        lifetime: Lifetime,
    ) {
        for (from, to) in [(opener, peer), (peer, opener)] {
            let stream = Stream {
                from,
                to,
                lengths: Vec::new(),
                accepted: BTreeMap::new(),
                base: 0,
                received: 0,
                sent: 0,
                cancelled: false,
                refused: false,
                one_shot: lifetime.is_one_shot(),
                opener: from == opener,
                told: false,
                forgotten: 0,
            };
            let old = self.streams.insert((conn.0, from.0), stream);
            assert!(old.is_none(), "the test opened {conn:?} twice");
        }
    }

    fn of(&mut self, conn: ConnId, from: HostId) -> &mut Stream {
        self.streams
            .get_mut(&(conn.0, from.0))
            .unwrap_or_else(|| panic!("the test never opened {conn:?} at {from:?}"))
    }

    /// The direction of `conn` that ends at `to`.
    fn towards(&mut self, conn: ConnId, to: HostId) -> Result<&mut Stream, String> {
        self.streams
            .range_mut((conn.0, 0)..=(conn.0, u32::MAX))
            .map(|(_, stream)| stream)
            .find(|stream| stream.to == to)
            .ok_or_else(|| format!("an event names {conn:?}, which does not exist at this host"))
    }

    /// The other end of `conn`, seen from `me`.
    pub(crate) fn peer(&self, me: HostId, conn: ConnId) -> Option<HostId> {
        self.streams.get(&(conn.0, me.0)).map(|stream| stream.to)
    }

    pub(crate) fn send(&mut self, conn: ConnId, from: HostId, length: u64) {
        self.of(conn, from).lengths.push(length);
    }

    pub(crate) fn cancel(&mut self, conn: ConnId, from: HostId) {
        self.of(conn, from).cancelled = true;
    }

    /// `host` was called for the sake of the connection.
    pub(crate) fn tell(&mut self, conn: ConnId, host: HostId) {
        if let Some(stream) = self.streams.get_mut(&(conn.0, host.0)) {
            stream.told = true;
        }
    }

    /// `host` says that it keeps nothing of the connection.
    pub(crate) fn forgotten(&mut self, conn: ConnId, host: HostId) -> Result<(), String> {
        let Some(stream) = self.streams.get_mut(&(conn.0, host.0)) else {
            return Err(format!("forgot {conn:?}, which is not at this host"));
        };
        if !std::mem::take(&mut stream.told) {
            return Err(format!("forgot {conn:?} twice"));
        }
        stream.forgotten += 1;
        Ok(())
    }

    pub(crate) fn refused(&mut self, conn: ConnId) {
        let both = self.streams.range_mut((conn.0, 0)..=(conn.0, u32::MAX));
        both.for_each(|(_, stream)| stream.refused = true);
    }

    /// `host` knows of nothing any more: what it had accepted of messages that had not arrived whole may come again.
    pub(crate) fn restarted(&mut self, host: HostId) {
        for stream in self.streams.values_mut() {
            stream.refused |= stream.from == host || stream.to == host;
            if stream.to == host {
                let base = stream.base;
                let kept = std::mem::take(&mut stream.accepted).into_iter();
                let before = kept.filter(|&(start, _)| start < base);
                stream.accepted = before.map(|(start, end)| (start, end.min(base))).collect();
            }
            if stream.from == host {
                stream.told = false;
            }
        }
    }

    /// `to` accepted payload.
    pub(crate) fn accept(
        &mut self,
        conn: ConnId,
        to: HostId,
        offset: u64,
        length: u16,
    ) -> Result<(), String> {
        if length == 0 {
            return Ok(());
        }
        let stream = self.towards(conn, to)?;
        let end = offset + u64::from(length);
        let total: u64 = stream.lengths.iter().sum();
        if end > total {
            return Err(format!("accepted {offset}..{end} of a stream of {total} B"));
        }
        let mut whole = (offset, end);
        // The neighbours below and above; ranges never touch, so two suffice.
        if let Some((&start, &stop)) = stream.accepted.range(..=offset).next_back() {
            if stop > offset {
                return Err(format!(
                    "accepted {offset}..{end} again, {start}..{stop} was there"
                ));
            }
            if stop == offset {
                whole.0 = start;
            }
        }
        if let Some((&start, &stop)) = stream.accepted.range(offset..).next() {
            if start < end {
                return Err(format!(
                    "accepted {offset}..{end} again, {start}..{stop} was there"
                ));
            }
            if start == end {
                stream.accepted.remove(&start);
                whole.1 = stop;
            }
        }
        stream.accepted.insert(whole.0, whole.1);
        Ok(())
    }

    /// `to` says that a message is complete.
    pub(crate) fn received(
        &mut self,
        conn: ConnId,
        to: HostId,
        ordinal: u32,
        length: u64,
    ) -> Result<(), String> {
        let stream = self.towards(conn, to)?;
        if ordinal != stream.received {
            return Err(format!(
                "received message {ordinal} where {} is next",
                stream.received
            ));
        }
        let Some(&asked) = stream
            .lengths
            .get(usize::try_from(ordinal).unwrap_or(usize::MAX))
        else {
            return Err(format!("received message {ordinal}, which nobody sent"));
        };
        if length != asked && !(stream.cancelled && length < asked) {
            return Err(format!(
                "message {ordinal} has {length} B, {asked} B were sent"
            ));
        }
        let (base, end) = (stream.base, stream.base + length);
        let covered = stream
            .accepted
            .range(..=base)
            .next_back()
            .is_some_and(|(_, &stop)| stop >= end);
        if length > 0 && !covered {
            return Err(format!(
                "received message {ordinal} ({base}..{end}) with bytes missing"
            ));
        }
        stream.base = end;
        stream.received += 1;
        Ok(())
    }

    /// `from` says that it needs nothing more for a message.
    pub(crate) fn sent(&mut self, conn: ConnId, from: HostId, ordinal: u32) -> Result<(), String> {
        let Some(stream) = self.streams.get_mut(&(conn.0, from.0)) else {
            return Err(format!(
                "done with a message of {conn:?}, which is not at this host"
            ));
        };
        if ordinal != stream.sent {
            return Err(format!(
                "done with message {ordinal} where {} is next",
                stream.sent
            ));
        }
        // A host that was told to forget a connection says nothing that the sender could go by.
        if ordinal >= stream.received && !stream.cancelled && !stream.refused {
            return Err(format!(
                "done with message {ordinal} before the receiver had it"
            ));
        }
        stream.sent += 1;
        Ok(())
    }

    /// Messages received in the direction that starts at `from`.
    pub(crate) fn count_received(&self, conn: ConnId, from: HostId) -> u32 {
        self.streams
            .get(&(conn.0, from.0))
            .map_or(0, |stream| stream.received)
    }

    /// Connections for one message that their hosts have not forgotten: the opener's, and the
    /// receiver's where the message arrived.
    fn kept(&self) -> impl Iterator<Item = String> {
        let known = |conn: u32, stream: &Stream| {
            let other = self.streams.get(&(conn, stream.to.0));
            let arrived = other.is_some_and(|other| other.received > 0);
            stream.one_shot && (arrived || (stream.opener && !stream.lengths.is_empty()))
        };
        let streams = self.streams.iter();
        let kept = streams
            .filter(move |&(&(conn, _), stream)| known(conn, stream) && stream.forgotten == 0);
        kept.map(|(&(conn, _), stream)| {
            let host = crate::host_name(stream.from);
            format!("connection {conn}: {host} has not forgotten it")
        })
    }

    /// How often `host` forgot it.
    pub(crate) fn count_forgotten(&self, conn: ConnId, host: HostId) -> u32 {
        let stream = self.streams.get(&(conn.0, host.0));
        stream.map_or(0, |stream| stream.forgotten)
    }

    /// What is not finished, in words.
    pub(crate) fn unfinished(&self) -> Vec<String> {
        let mut missing: Vec<_> = self.kept().collect();
        for (&(conn, _), stream) in &self.streams {
            let asked = stream.lengths.len();
            let (received, sent) = (stream.received as usize, stream.sent as usize);
            if stream.cancelled || stream.refused || (received == asked && sent == asked) {
                continue;
            }
            let bytes: u64 = stream.accepted.iter().map(|(start, end)| end - start).sum();
            missing.push(format!(
                "connection {conn}, {} to {}: {asked} messages asked, {received} received, \
                 {sent} done, {bytes} of {} B accepted",
                crate::host_name(stream.from),
                crate::host_name(stream.to),
                stream.lengths.iter().sum::<u64>(),
            ));
        }
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{A, B};
    const CONN: ConnId = ConnId(1);

    fn one_message(length: u64) -> Oracle {
        let mut oracle = Oracle::default();
        oracle.connect(CONN, A, B, Lifetime::Persistent);
        oracle.send(CONN, A, length);
        oracle
    }

    #[test]
    fn bytes_in_any_order_complete_a_message() {
        let mut oracle = one_message(30);
        for offset in [20, 0, 10] {
            assert!(oracle.received(CONN, B, 0, 30).is_err());
            oracle.accept(CONN, B, offset, 10).unwrap();
        }
        assert!(oracle.sent(CONN, A, 0).is_err());
        oracle.received(CONN, B, 0, 30).unwrap();
        assert_eq!(oracle.unfinished().len(), 1);
        oracle.sent(CONN, A, 0).unwrap();
        assert_eq!(oracle.unfinished(), Vec::<String>::new());
    }

    #[test]
    fn a_byte_accepted_twice_or_from_nowhere_is_caught() {
        for (offset, length) in [(0, 1), (9, 1), (5, 10), (9, 2), (0, 30), (29, 2)] {
            let mut oracle = one_message(30);
            oracle.accept(CONN, B, 0, 10).unwrap();
            oracle.accept(CONN, B, 20, 10).unwrap();
            assert!(
                oracle.accept(CONN, B, offset, length).is_err(),
                "{offset} {length}"
            );
        }
        assert!(
            one_message(5).accept(CONN, A, 0, 1).is_err(),
            "nothing was sent that way"
        );
        assert!(one_message(5).accept(ConnId(2), B, 0, 1).is_err());
    }

    #[test]
    fn only_a_cancelled_message_may_be_short() {
        let mut oracle = one_message(30);
        oracle.accept(CONN, B, 0, 10).unwrap();
        assert!(oracle.received(CONN, B, 0, 10).is_err());
        oracle.cancel(CONN, A);
        assert!(oracle.received(CONN, B, 0, 20).is_err());
        oracle.received(CONN, B, 0, 10).unwrap();
    }
}
