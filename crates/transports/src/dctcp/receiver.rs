//! The half of a connection that gets data: reassembly, acknowledgements, the echo of marks.

use super::Rules;
use super::header::{Ack, Data};
use model::{ConnId, Cx, Event};
use parts::range_set::RangeSet;
use std::collections::VecDeque;
use units::Time;

/// Pieces of the stream that a receiver keeps out of order; a packet that would be one more is
/// dropped as if the network had. [ours: a window of 16 MB in which every 30th packet is lost]
const PIECES_MAX: usize = 256;
/// Ends of messages that it keeps beyond a gap. [ours]
const ENDS_MAX: usize = 1024;
/// Sign extension of the 24 bits of empty frames that a packet carries.
const GAPS_SHIFT: u32 = 8;

/// In place of what had arrived at the last look: something has come since. No sequence number.
const STIRRED: u64 = u64::MAX;

/// The peer has given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gone;

/// The end of a message that lies beyond a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    /// The sequence number behind it.
    seq: u64,
    /// The stream offset behind it.
    offset: u64,
}

/// What a packet turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It brought something.
    New,
    /// All of it was there.
    Old,
    /// No honest sender sends it, or there is no room to remember it.
    Dropped,
}

/// The receiving half of a connection.
#[derive(Debug)]
pub(super) struct Receiver {
    /// Everything below has arrived: RCV.NXT.
    next: u64,
    /// Empty frames below `next`.
    gaps: u64,
    /// Where the message that is arriving starts, as a stream offset.
    message_at: u64,
    /// Which message that is.
    ordinal: u32,
    /// What arrived beyond a gap.
    pieces: RangeSet<PIECES_MAX>,
    /// Messages that end in it, in order.
    ends: VecDeque<End>,
    /// The piece that is told next where there is no newest one.
    turn: usize,
    /// Whether the last packet was marked: DCTCP.CE. [RFC 8257 s3.2]
    marked: bool,
    /// Packets since the last acknowledgement.
    unacked: u8,
    /// When they are acknowledged at the latest.
    ack_at: Time,
    /// When to look whether the sender of a message under way is still there.
    quiet_at: Time,
    /// What had arrived at the last look; [`STIRRED`] where something has come since.
    seen: u64,
    /// Looks in vain so far.
    looks: u8,
}

impl Receiver {
    pub(super) const fn new() -> Self {
        Self {
            next: 0,
            gaps: 0,
            message_at: 0,
            ordinal: 0,
            pieces: RangeSet::new(),
            ends: VecDeque::new(),
            turn: 0,
            marked: false,
            unacked: 0,
            ack_at: Time::NEVER,
            quiet_at: Time::NEVER,
            seen: 0,
            looks: 0,
        }
    }

    /// Messages that have arrived whole.
    pub(super) const fn complete(&self) -> u32 {
        self.ordinal
    }

    /// When [`Receiver::on_deadline`] is due.
    #[inline]
    pub(super) fn deadline(&self) -> Time {
        self.ack_at.min(self.quiet_at)
    }

    /// Whether no message is under way.
    fn is_idle(&self) -> bool {
        self.next == self.message_at + self.gaps && self.pieces.is_empty()
    }

    /// A packet of the stream arrived, `marked` by the network or not; `one_shot` where the first
    /// message is all. `emit` sends an acknowledgement.
    #[allow(
        clippy::too_many_arguments,
        reason = "the packet, its connection and its way back"
    )]
    #[inline]
    pub(super) fn on_data(
        &mut self,
        cx: &mut Cx<'_>,
        conn: ConnId,
        one_shot: bool,
        data: Data,
        marked: bool,
        rules: &Rules,
        mut emit: impl FnMut(Ack),
    ) -> Verdict {
        let Some(seq) = self.seq(data) else {
            return Verdict::Dropped;
        };
        let end = seq + data.span();
        if end > self.next + rules.receive_window {
            return Verdict::Dropped;
        }
        let turned = marked != self.marked && rules.ecn;
        if turned {
            // What came before the change is acknowledged with the old state. [RFC 8257 s3.2]
            if self.unacked > 0 {
                emit(self.acknowledge(None, one_shot));
            }
            self.marked = marked;
        }
        if seq != self.next || !self.pieces.is_empty() {
            let verdict = self.out_of_order(cx, conn, data, seq, rules);
            self.watch(cx.now, rules);
            let newest = self
                .pieces
                .holding(seq.max(self.next))
                .or_else(|| self.in_turn());
            emit(self.acknowledge(newest.filter(|_| rules.sack), one_shot));
            return verdict;
        }
        self.next = end;
        if data.length > 0 {
            cx.accept(conn, data.offset, data.length);
        }
        if data.end {
            self.finish(
                cx,
                conn,
                End {
                    seq: end,
                    offset: data.offset + u64::from(data.length),
                },
            );
            self.watch(cx.now, rules);
        } else if self.quiet_at == Time::NEVER {
            self.watch(cx.now, rules);
        }
        self.unacked += 1;
        // DEVIATES(linux): a message's end is acknowledged at once, so that the sender of a request
        // does not wait for a timer that saves it nothing.
        if turned || data.end || self.unacked >= rules.packets_per_ack {
            emit(self.acknowledge(None, one_shot));
        } else if self.ack_at == Time::NEVER {
            self.ack_at = cx.now.after(rules.ack_delay);
        }
        Verdict::New
    }

    /// Something came: its sender is watched as long as a message is under way.
    #[inline(never)]
    fn watch(&mut self, now: Time, rules: &Rules) {
        self.seen = STIRRED;
        if self.is_idle() {
            self.quiet_at = Time::NEVER;
        } else if self.quiet_at == Time::NEVER {
            self.quiet_at = now.after(rules.wait(0));
        }
    }

    /// A moment has come: gives the delayed acknowledgement if that is due.
    ///
    /// # Errors
    /// The sender has given up.
    pub(super) fn on_deadline(&mut self, now: Time, rules: &Rules) -> Result<Option<Ack>, Gone> {
        if self.quiet_at <= now {
            let stirred = self.seen != self.next;
            self.looks = if stirred { 0 } else { self.looks + 1 };
            if self.looks > rules.looks_max {
                return Err(Gone);
            }
            self.seen = self.next;
            self.quiet_at = if self.is_idle() {
                Time::NEVER
            } else {
                now.after(rules.wait(self.looks))
            };
        }
        Ok((self.ack_at <= now).then(|| self.acknowledge(None, false)))
    }

    /// What was last acknowledged, for a peer that may have missed it.
    pub(super) fn repeat(&self) -> Ack {
        Ack {
            echo: self.marked,
            ..Ack::new(self.next, None)
        }
    }

    /// The acknowledgement of all that has arrived; `one_shot` where the first message is all.
    fn acknowledge(&mut self, block: Option<(u64, u64)>, one_shot: bool) -> Ack {
        (self.unacked, self.ack_at) = (0, Time::NEVER);
        let done = one_shot && self.ordinal > 0;
        Ack {
            echo: self.marked,
            done,
            ..Ack::new(self.next, block)
        }
    }

    /// The sequence number of a packet; `None` before the first.
    #[inline]
    fn seq(&self, data: Data) -> Option<u64> {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "the low 24 bits are compared"
        )]
        let known = self.gaps as u32;
        let ahead = (data.gaps.wrapping_sub(known) << GAPS_SHIFT).cast_signed() >> GAPS_SHIFT;
        (data.offset + self.gaps).checked_add_signed(i64::from(ahead))
    }

    /// A packet beyond a gap, one that fills it, or an old one.
    #[inline(never)]
    fn out_of_order(
        &mut self,
        cx: &mut Cx<'_>,
        conn: ConnId,
        data: Data,
        seq: u64,
        rules: &Rules,
    ) -> Verdict {
        let (start, end) = (seq.max(self.next), seq + data.span());
        if start >= end || self.pieces.first_gap(start, end).is_none() {
            return Verdict::Old;
        }
        let behind = End {
            seq: end,
            offset: data.offset + u64::from(data.length),
        };
        let place = self.ends.partition_point(|known| known.seq < end);
        let known = self.ends.get(place).is_some_and(|known| known.seq == end);
        let room = self.ends.len() < ENDS_MAX || !data.end || known;
        if !room || !self.pieces.fits(start, end) {
            return Verdict::Dropped;
        }
        if data.end && !known {
            self.ends.insert(place, behind);
        }
        if data.length > 0 {
            for (from, to) in self.pieces.gaps(start, end) {
                let length = u16::try_from(to - from).expect("a part of a packet");
                cx.accept(conn, data.offset + (from - seq), length);
            }
        }
        self.pieces.insert(start, end).expect("it fits");
        if let Some((first, stop)) = self.pieces.first()
            && first <= self.next
        {
            self.pieces.drop_below(stop);
            self.next = stop;
            // Bounded by ENDS_MAX.
            while let Some(behind) = self.ends.pop_front_if(|behind| behind.seq <= stop) {
                self.finish(cx, conn, behind);
            }
        }
        debug_assert!(self.pieces.total() <= rules.receive_window);
        Verdict::New
    }

    /// The stream is complete up to the end of a message.
    #[inline(never)]
    fn finish(&mut self, cx: &mut Cx<'_>, conn: ConnId, end: End) {
        // A sender that contradicts itself about offsets gets a message without bytes.
        let length = end.offset.saturating_sub(self.message_at);
        cx.events.push(Event::Received {
            conn,
            ordinal: self.ordinal,
            length,
        });
        self.ordinal += 1;
        self.message_at = end.offset;
        self.gaps = end.seq.saturating_sub(end.offset);
    }

    /// The pieces in turn, one per acknowledgement that has no newest one to tell.
    fn in_turn(&mut self) -> Option<(u64, u64)> {
        let piece = self.pieces.get(self.turn).or_else(|| {
            self.turn = 0;
            self.pieces.first()
        });
        self.turn += 1;
        piece
    }

    /// State and what it waits for, in words; `None` between messages.
    pub(super) fn stuck(&self) -> Option<(String, String)> {
        if self.is_idle() {
            return None;
        }
        let state = format!(
            "receiver: message {} from {}, {} beyond {}",
            self.ordinal,
            self.message_at,
            self.pieces.total(),
            self.next
        );
        Some((state, format!("data at {}", self.next)))
    }

    /// Panics where an invariant of our own state is broken.
    pub(super) fn check(&self, rules: &Rules) {
        self.pieces.check();
        assert!(
            self.pieces
                .first()
                .is_none_or(|(start, _)| start > self.next),
            "{self:?}"
        );
        assert!(self.ends.len() <= ENDS_MAX);
        assert!(
            self.ends.iter().is_sorted_by(|a, b| a.seq < b.seq),
            "{:?}",
            self.ends
        );
        assert!(
            self.ends
                .iter()
                .all(|end| self.pieces.holding(end.seq - 1).is_some()),
            "{self:?}"
        );
        assert!(
            self.unacked < rules.packets_per_ack,
            "{} unacknowledged",
            self.unacked
        );
        assert_eq!(self.ack_at == Time::NEVER, self.unacked == 0, "{self:?}");
        assert!(
            self.quiet_at != Time::NEVER || self.is_idle(),
            "nobody watches the sender: {self:?}"
        );
    }
}
