//! The first round trip of a sender: unscheduled packets, and the repair of what was lost of them.
//! [aeolus s3.3, s4.2; ssp abstract]

use super::header::{self, Data, Kind};
use super::sender::Sender;
use super::{Host, outgoing};
use crate::parts::pre_credit::Burst;
use model::{Cx, Encap, Packet};
use units::{Span, Time};

/// Reported gaps that a sender keeps at once; the receiver reports the others again. [ours]
const GAPS_MAX: usize = 64;

/// What is done with the first round trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FirstRtt {
    /// Nothing is sent before the first credit. [xpass s3]
    Silent,
    /// Unscheduled packets that switches drop first. [aeolus s3]
    Aeolus,
    /// Unscheduled packets that take only the gaps of the scheduled ones, and are never lost; what
    /// finds no gap within a round trip leaves again on a credit. [aeolus s2.3]
    Ideal,
    /// Unscheduled packets that switches protect; scheduled ones are dropped first. [ssp abstract]
    Ssp,
}

/// A sender's state beyond that of plain ExpressPass.
#[derive(Default)]
pub(super) struct Early {
    burst: Burst<Data>,
    /// Unscheduled packets still leave.
    bursting: bool,
    /// Unscheduled packets since the last probe.
    unprobed: u16,
    /// From then on a packet of unknown fate may be sent again: its acknowledgement is overdue.
    unknown_from: Time,
    /// Reported gaps, `[from, until)` in positions, not sent again yet.
    gaps: Vec<(u64, u64)>,
    /// When a lost unscheduled packet left again last.
    resent_at: Time,
    /// When the receiver was heard of last, or the burst began.
    heard_at: Time,
}

impl Early {
    /// Packets that must leave again, for all that is known.
    #[inline]
    pub(super) fn owed(&self, encap: Encap) -> u64 {
        let frame = u64::from(encap.payload_max);
        let gaps: u64 = self
            .gaps
            .iter()
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
        for gap in &mut self.gaps {
            gap.0 = gap.0.max(position);
        }
        self.gaps.retain(|gap| gap.0 < gap.1);
    }

    /// The sender goes back to `position`: everything from there leaves again anyway.
    pub(super) fn go_back(&mut self, position: u64) {
        self.burst.settle(position, u64::MAX);
        self.gaps.retain(|gap| gap.1 <= position);
    }

    /// Whether the receiver may have forgotten by now what came in the burst: asking for credits
    /// would open the connection, and deliver everything, a second time.
    pub(super) fn is_over(&self, now: Time, host: &Host) -> bool {
        now.since(self.heard_at) >= Span(host.settings.expiry.0 / 2)
    }

    /// The receiver misses `[from, until)`, as of half of `rtt` ago.
    pub(super) fn report(&mut self, now: Time, rtt: Span, from: u64, until: u64) {
        // What left again since then is on its way.
        if now.since(self.resent_at) < rtt && self.burst.has_resent(from, until) {
            return;
        }
        let known = self.gaps.iter().any(|gap| gap.0 < until && from < gap.1);
        if !known && self.gaps.len() < GAPS_MAX {
            self.burst.settle(from, until);
            self.gaps.push((from, until));
        }
    }

    /// The next frame on a credit, before anything that was never sent: what is known to be lost.
    pub(super) fn lost(
        &mut self,
        now: Time,
        outgoing: &outgoing::Outgoing,
        encap: Encap,
        echo: u32,
    ) -> Option<Data> {
        while let Some(gap) = self.gaps.first_mut() {
            let frame = outgoing.frame_at(gap.0, encap, echo);
            let length = frame.map_or(u64::MAX, |frame| u64::from(frame.length.max(1)));
            gap.0 = gap.0.saturating_add(length);
            if gap.0 >= gap.1 {
                self.gaps.remove(0);
            }
            if frame.is_some() {
                return frame;
            }
        }
        let data = self.burst.take_lost()?;
        self.resent_at = now;
        Some(Data {
            echo,
            again: true,
            ..data
        })
    }

    /// The next frame on a credit, after all that was never sent: what has not been acknowledged,
    /// though it could be by now.
    pub(super) fn unknown(&mut self, now: Time, echo: u32) -> Option<Data> {
        if now < self.unknown_from {
            return None;
        }
        let data = self.burst.take_unknown()?;
        self.resent_at = now;
        Some(Data {
            echo,
            again: true,
            ..data
        })
    }

    pub(super) fn check(&self) {
        self.burst.check();
        assert!(self.gaps.len() <= GAPS_MAX && self.gaps.iter().all(|gap| gap.0 < gap.1));
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
        early.unknown_from = now + host.settings.base_rtt;
        early.heard_at = now;
        true
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
    pub(super) fn burst_packet(&mut self, now: Time, host: &mut Host) -> Option<Packet> {
        let encap = host.settings.encap;
        let early = self.early.as_mut().filter(|early| early.bursting)?;
        let size = self
            .outgoing
            .next_size(encap)
            .filter(|&size| early.burst.may_send(size));
        let frame = size.and_then(|size| Some((size, self.outgoing.frame(encap, 0).ok()?)));
        let Some((size, data)) = frame else {
            self.close_burst(now, host);
            return None;
        };
        early.burst.sent(data.offset + data.blanks, data, size);
        early.unprobed += 1;
        host.totals.data_sent += 1;
        let packet = header::data(self.peer, self.conn, data, self.one_shot, size);
        let more = self
            .outgoing
            .next_size(encap)
            .is_some_and(|size| early.burst.may_send(size));
        if !more {
            self.close_burst(now, host);
        } else if host.settings.probe_every > 0 && early.unprobed >= host.settings.probe_every {
            self.probe(host);
        }
        Some(header::unscheduled(packet))
    }

    /// Ends the burst, with a probe behind its last packet. [aeolus s3.3]
    pub(super) fn close_burst(&mut self, now: Time, host: &mut Host) {
        let Some(early) = self.early.as_mut().filter(|early| early.bursting) else {
            return;
        };
        early.bursting = false;
        early.burst.close();
        early.unknown_from = now + host.settings.base_rtt;
        if early.unprobed > 0 {
            self.probe(host);
        }
    }

    fn probe(&mut self, host: &mut Host) {
        let Some(early) = &mut self.early else { return };
        early.unprobed = 0;
        if let Some(last) = early.burst.last() {
            let size = host.settings.encap.frame_min;
            host.totals.probes += 1;
            host.nic.push(header::about(
                self.peer,
                self.conn,
                Kind::Probe,
                last,
                0,
                size,
            ));
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
        self.confirm(cx, host, arrived);
        self.stop_if_done(cx.now, host);
    }
}
