//! The first round trip of a sender: unscheduled packets, and the repair of what was lost of them.
//! [aeolus s3.3, s4.2; ssp abstract]

use super::header::{self, Data, Probe, SEQUENCE};
use super::sender::Sender;
use super::{Host, outgoing};
use model::{Cx, Encap, Packet};
use parts::pre_credit::Burst;
use parts::range_set::RangeSet;
use std::collections::VecDeque;
use units::{Span, Time};

/// Reported gaps that a sender keeps at once; the receiver reports the others again. [ours]
const GAPS_MAX: usize = 64;
/// Frames sent again that may be on their way for all that is known; beyond, the oldest one may be sent a
/// third time. [ours: twice the frames of a round trip of 50 us at 400 Gb/s]
const REPAIRS_MAX: usize = 4096;
/// All frames of a burst take this one path.
const PATH: u16 = 0;

/// What is done with the first round trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FirstRtt {
    /// Nothing is sent before the first credit. [xpass s3]
    Silent,
    /// Unscheduled packets that switches drop first. [aeolus s3]
    Aeolus,
    /// Unscheduled packets that take only the gaps of the scheduled ones, and are never lost; what
    /// finds no gap within a round trip leaves again on a credit. Not a bound on what others reach: the
    /// bursts meet each other. [aeolus s2.3]
    Gaps,
    /// Unscheduled packets that switches protect; scheduled ones are dropped first. [ssp abstract]
    Ssp,
}

/// A sender's state beyond that of plain ExpressPass.
#[derive(Default)]
pub(super) struct Early {
    burst: Burst<Data>,
    /// Unscheduled packets still leave.
    bursting: bool,
    /// The last request asked for no more than its burst brings.
    awaits_burst: bool,
    /// Unscheduled packets since the last probe.
    unprobed: u16,
    /// Reported gaps, in positions, not sent again yet.
    gaps: RangeSet<GAPS_MAX>,
    /// What has been sent again and may be on its way.
    repairs: VecDeque<Repair>,
    /// The latest credit that was answered.
    answered: u32,
    /// When the receiver was heard of last, or the burst began.
    heard_at: Time,
}

/// A frame that has been sent again: `[from, until)` in positions, on this credit.
#[derive(Clone, Copy, Debug)]
struct Repair {
    from: u64,
    until: u64,
    credit: u32,
}

/// Whether credit `a` was given after `b`, numbers being modulo 2^28.
const fn is_after(a: u32, b: u32) -> bool {
    let after = a.wrapping_sub(b) & SEQUENCE;
    0 < after && after <= SEQUENCE / 2
}

impl Early {
    /// Packets that must leave again, for all that is known.
    #[inline]
    pub(super) fn owed(&self, encap: Encap) -> u64 {
        let frame = u64::from(encap.payload_max);
        let gaps = self.gaps.iter();
        let gaps: u64 = gaps
            .map(|(from, until)| (until - from).div_ceil(frame))
            .sum();
        self.burst.owed() as u64 + gaps
    }

    /// Whether anything is owed.
    #[inline]
    pub(super) fn is_owing(&self) -> bool {
        self.burst.owed() > 0 || !self.gaps.is_empty()
    }

    /// The receiver has everything before `position`.
    pub(super) fn confirm(&mut self, position: u64) {
        self.burst.confirm(position);
        self.gaps.drop_below(position);
        self.repairs.retain(|repair| repair.until > position);
    }

    /// The sender goes back to `position`: everything from there leaves again anyway.
    pub(super) fn go_back(&mut self, position: u64) {
        self.burst.settle(position, u64::MAX);
        self.gaps = RangeSet::new();
        self.repairs.clear();
    }

    /// Whether the receiver may have forgotten by now what came in the burst: asking for credits
    /// would open the connection, and deliver everything, a second time.
    pub(super) fn is_over(&self, now: Time, host: &Host) -> bool {
        now.since(self.heard_at) >= Span(host.settings.expiry.0 / 2)
    }

    /// The receiver misses `[from, until)`, having heard of credit `heard`, of which the lower half came,
    /// and of none after it.
    ///
    /// Frames keep their order, and each names its credit. So a frame that answers a later credit may be on
    /// its way, and all others are lost: no clock is asked.
    pub(super) fn report(&mut self, from: u64, until: u64, heard: u16) {
        #[allow(clippy::cast_possible_truncation, reason = "the lower half is meant")]
        let behind = (self.answered as u16).wrapping_sub(heard);
        let heard = self.answered.wrapping_sub(behind.into());
        self.repairs.retain(|repair| is_after(repair.credit, heard));
        let mut on_the_way = RangeSet::<REPAIRS_MAX>::new();
        for repair in &self.repairs {
            on_the_way.insert(repair.from, repair.until);
        }
        for (from, until) in on_the_way.gaps(from, until) {
            if self.gaps.insert(from, until).is_some() {
                self.burst.settle(from, until);
            }
        }
    }

    /// `data` leaves again, on credit `credit`.
    fn repair(&mut self, data: Data, credit: u32) -> Data {
        if self.repairs.len() == REPAIRS_MAX {
            self.repairs.pop_front();
        }
        let from = data.offset + data.blanks;
        let until = from + u64::from(data.length.max(1));
        self.repairs.push_back(Repair {
            from,
            until,
            credit,
        });
        Data {
            echo: credit,
            again: true,
            ..data
        }
    }

    /// A credit came.
    #[inline]
    pub(super) fn answer(&mut self, credit: u32) {
        // One that was overtaken must not make what answered a later one look as if it still came.
        if is_after(credit, self.answered) {
            self.answered = credit;
        }
    }

    /// Nothing has been heard for so long that nothing can be on its way.
    pub(super) fn give_up_repairs(&mut self) {
        self.repairs.clear();
    }

    /// The lower half of the last credit that was answered.
    #[allow(clippy::cast_possible_truncation, reason = "the lower half is meant")]
    pub(super) fn answered(&self) -> u16 {
        self.answered as u16
    }

    /// The next frame on a credit, before anything that was never sent: what is known to be lost.
    pub(super) fn lost(
        &mut self,
        outgoing: &outgoing::Outgoing,
        encap: Encap,
        credit: u32,
    ) -> Option<Data> {
        while let Some((from, until)) = self.gaps.first() {
            let frame = outgoing.frame_at(from, encap, credit);
            // What has been confirmed since is not kept.
            let edge = frame.map_or(until, |frame| from + u64::from(frame.length.max(1)));
            self.gaps.drop_below(edge);
            if let Some(frame) = frame {
                return Some(self.repair(frame, credit));
            }
        }
        let data = self.burst.take_lost()?;
        Some(self.repair(data, credit))
    }

    /// The next frame on a credit, after all that was never sent: what has not been acknowledged.
    pub(super) fn unknown(&mut self, credit: u32) -> Option<Data> {
        let data = self.burst.take_unknown()?;
        Some(self.repair(data, credit))
    }

    /// How many of `frames`, the last of which has `last` wire bytes, the open burst has room for.
    fn room(&self, encap: Encap, frames: u64, last: u16) -> u64 {
        if !self.bursting {
            return 0;
        }
        let size = u64::from(encap.wire_max());
        let full = (self.burst.allowance() / size).min(frames - 1);
        full + u64::from(full == frames - 1 && self.burst.allowance() - full * size >= last.into())
    }

    pub(super) fn check(&self) {
        self.burst.check();
        self.gaps.check();
        assert!(self.repairs.len() <= REPAIRS_MAX);
    }
}

impl Sender {
    /// Opens the burst of a new flow; false where there is none.
    pub(super) fn open_burst(&mut self, now: Time, host: &Host) -> bool {
        let Some(early) = &mut self.early else {
            return false;
        };
        early.burst.open(host.settings.burst);
        early.bursting = true;
        early.heard_at = now;
        true
    }

    /// How many of `frames` that are left will follow the request unasked; too few, where another message
    /// of a smaller last frame is among them.
    pub(super) fn unasked(&mut self, encap: Encap, frames: u64) -> u16 {
        let Some(early) = &mut self.early else {
            return 0;
        };
        let room = early.room(encap, frames, self.outgoing.last_size(encap));
        early.awaits_burst = room == frames;
        u16::try_from(room).unwrap_or(u16::MAX)
    }

    /// Whether the last request asked for nothing that its burst did not bring.
    pub(super) fn awaits_burst(&self) -> bool {
        self.early.as_ref().is_some_and(|early| early.awaits_burst)
    }

    /// The receiver heard the end of a burst, and neither its request nor a frame that could open the
    /// connection: all of it leaves again.
    pub(super) fn begin_again(&mut self, now: Time, host: &mut Host, tries: u8) {
        if let Some(early) = &mut self.early {
            **early = Early::default();
        }
        self.open_burst(now, host);
        self.request(now, host, true, tries);
    }

    /// Whether unscheduled packets still leave.
    pub(super) fn is_bursting(&self) -> bool {
        self.early.as_ref().is_some_and(|early| early.bursting)
    }

    /// Bytes left to send: what shortest-first looks at.
    pub(super) fn left(&self) -> u64 {
        self.outgoing.end() - self.outgoing.next()
    }

    /// The next unscheduled packet; `None`, and the end of the burst, where there is no more.
    pub(super) fn burst_packet(&mut self, host: &mut Host) -> Option<Packet> {
        let encap = host.settings.encap;
        let early = self.early.as_mut().filter(|early| early.bursting)?;
        let size = self
            .outgoing
            .next_size(encap)
            .filter(|&size| early.burst.may_send(size));
        let frame = size.and_then(|size| Some((size, self.outgoing.frame(encap, 0).ok()?)));
        let Some((size, data)) = frame else {
            self.close_burst(host);
            return None;
        };
        let position = data.offset + data.blanks;
        early.burst.sent(position, data, size, PATH);
        early.unprobed += 1;
        host.totals.data_sent += 1;
        host.totals.retransmitted += u64::from(data.again);
        let opening = Data {
            exchange: self.exchange,
            ..data.counted(self.one_shot)
        };
        let packet = opening.packet(self.peer, self.conn, size);
        let more = self
            .outgoing
            .next_size(encap)
            .is_some_and(|size| early.burst.may_send(size));
        if !more {
            self.close_burst(host);
        } else if host.settings.probe_every > 0 && early.unprobed >= host.settings.probe_every {
            self.probe(host, false);
        }
        Some(header::unscheduled(packet))
    }

    /// Ends the burst, with a probe behind its last packet. [aeolus s3.3]
    pub(super) fn close_burst(&mut self, host: &mut Host) {
        let Some(early) = self.early.as_mut().filter(|early| early.bursting) else {
            return;
        };
        early.bursting = false;
        early.burst.close();
        if early.unprobed > 0 || host.settings.probe_every > 0 {
            self.probe(host, true);
        }
    }

    fn probe(&mut self, host: &mut Host, last: bool) {
        let Some(early) = &mut self.early else { return };
        early.unprobed = 0;
        if let Some(position) = early.burst.last() {
            let size = host.settings.encap.frame_min;
            host.counts.probes += 1;
            let probe = Probe { position, last }.packet(self.peer, self.conn, size);
            // Where the burst waits for gaps, the probe waits behind it: what it overtook would leave again.
            let gaps = host.settings.first_rtt == FirstRtt::Gaps;
            host.nic.push(if gaps {
                header::unscheduled(probe)
            } else {
                probe
            });
        }
    }

    /// The receiver has the unscheduled packet at `position`, or its probe, and everything before
    /// `arrived`.
    pub(super) fn on_ack(
        &mut self,
        cx: &mut Cx<'_>,
        host: &mut Host,
        position: u64,
        arrived: u64,
        probe: bool,
    ) {
        let Some(early) = &mut self.early else {
            host.totals.nonsense += 1;
            return;
        };
        let had_work = self.outgoing.has_unsent() || early.is_owing();
        let known = if probe {
            early.burst.on_probe_ack(position)
        } else {
            early.burst.on_ack(position)
        };
        if !known && position >= self.outgoing.confirmed() {
            host.totals.duplicates += 1;
            return;
        }
        early.heard_at = cx.now;
        self.hear(cx.now, host);
        self.confirm(cx, host, arrived);
        self.stop_if_done(cx.now, host, had_work);
    }
}
