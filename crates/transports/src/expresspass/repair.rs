//! What a receiver knows of gaps in its stream. [ours; aeolus s3.3 tells of unscheduled packets alone, which their sender
//! accounts for]
//!
//! Where data leaves before the first credit, what lies behind a gap is kept. Packets of a flow keep their order, and every
//! report names the last credit that the receiver has heard of. So a sender knows which of the missing frames can still be
//! on their way, and a receiver may report them as often as it likes. It does at a jump in what is sent for the first time,
//! once per round trip while frames come in behind a gap, and behind a STOP, which leaves after the last frame of all.
//! Elsewhere nothing is kept, and one report has the sender send everything from there on again: it is repeated only when its
//! answer is overdue.

use super::header::Data;
use parts::reassembly::{End, Reassembly};
use units::{Span, Time};

/// How far beyond a gap data is kept, in positions: a bandwidth-delay product of 800 Gb/s and
/// 160 us. A liar cannot make a receiver keep more. [ours]
const AHEAD_MAX: u64 = 1 << 24;
/// Gaps that are reported at once. [ours]
const NACKS_MAX: usize = 16;

/// Positions from one on, up to another.
pub(super) type Gap = (u64, u64);

/// What has come beyond gaps, and what the sender has been told of them. `next` is the first position that has not
/// arrived.
#[derive(Default)]
pub(super) struct Repair {
    /// What has arrived beyond a gap, where that is kept.
    pieces: Reassembly,
    /// Every frame that was sent for the first time ends at or before this position, as far as the
    /// receiver has seen: a jump beyond it shows a loss. [ours, for ssp]
    seen: u64,
    /// The last such frame was a scheduled one, and no burst can have begun since.
    in_run: bool,
    /// When the sender was last told of all gaps.
    told_at: Option<Time>,
    /// Until then a gap that was reported is not reported again, where nothing beyond it is kept.
    again_at: Option<Time>,
}

impl Repair {
    /// Whether nothing has come beyond a gap.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// A frame from `start` to `end` has come that was sent for the first time. `always` says that it need not be behind
    /// another one in a run. Returns the gap that it shows.
    pub(super) fn note_first(&mut self, start: u64, end: u64, always: bool) -> Option<Gap> {
        let in_run = std::mem::replace(&mut self.in_run, true) || always;
        let jump = (in_run && start > self.seen).then_some((self.seen, start));
        self.seen = self.seen.max(end);
        jump
    }

    /// A burst may begin.
    #[inline]
    pub(super) fn end_run(&mut self) {
        self.in_run = false;
    }

    /// Keeps a frame that begins at `start`, behind a gap. False where part of it is here already, or where it lies too far
    /// ahead.
    pub(super) fn keep(&mut self, next: u64, start: u64, data: Data) -> bool {
        let end = start + data.positions();
        let last = data.end.then_some(End {
            at: end,
            blank: data.length == 0,
        });
        end - next <= AHEAD_MAX && self.pieces.keep(start, end, last)
    }

    /// The gap before `next` has closed: takes what follows on it, up to the next gap. Returns its end, and the ends of
    /// messages in it.
    pub(super) fn take(&mut self, next: u64) -> (u64, Vec<End>) {
        self.pieces.take(next)
    }

    /// Whether a frame from `next` to `end` reaches into what has come beyond it: whoever cuts one stream in two
    /// ways would have bytes delivered twice.
    #[inline]
    pub(super) fn reaches(&self, next: u64, end: u64) -> bool {
        let gap = self.pieces.first_gap(next);
        gap.is_some_and(|(_, until)| until < end)
    }

    /// How much is missing below what has come.
    pub(super) fn missing(&self, next: u64) -> u64 {
        let beyond = self.pieces.highest(next) - next;
        beyond - self.pieces.total().min(beyond)
    }

    /// Gaps below `end`, the oldest ones where there are many.
    pub(super) fn gaps(&self, next: u64, end: u64) -> impl Iterator<Item = Gap> {
        self.pieces.gaps(next, end).take(NACKS_MAX)
    }

    /// Whether the sender is to be told of all gaps: it was not within a round trip.
    pub(super) fn is_due(&self, now: Time, rtt: Span) -> bool {
        self.told_at.is_none_or(|at| now.since(at) >= rtt)
    }

    /// The sender is told of them now, or of as much.
    pub(super) fn tell(&mut self, now: Time) {
        self.told_at = Some(now);
    }

    /// Whether to report a gap behind which nothing is kept; then not again for as long as `patience`.
    pub(super) fn asks(&mut self, now: Time, patience: impl FnOnce() -> Span) -> bool {
        let asks = self.again_at.is_none_or(|again| now >= again);
        if asks {
            self.again_at = Some(now + patience());
        }
        asks
    }

    /// The frame after the gap has come.
    #[inline]
    pub(super) fn close(&mut self) {
        self.again_at = None;
    }

    pub(super) fn check(&self, next: u64) {
        let gap = self.pieces.first_gap(next);
        assert!(
            gap.is_none_or(|(next, piece)| piece > next),
            "kept in order: {gap:?}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Packet;

    #[test]
    fn a_jump_within_a_run_shows_a_gap_and_behind_a_burst_none() {
        let mut repair = Repair::default();
        assert_eq!(repair.note_first(3, 4, false), None, "no run yet");
        assert_eq!(repair.note_first(4, 5, false), None, "in order");
        assert_eq!(repair.note_first(7, 8, false), Some((5, 7)));
        repair.end_run();
        assert_eq!(repair.note_first(9, 10, false), None, "of a burst");
        repair.end_run();
        assert_eq!(repair.note_first(12, 13, true), Some((10, 12)));
        assert_eq!(repair.note_first(10, 11, true), None, "late, and new");
        assert_eq!(repair.note_first(13, 14, false), None, "nothing between");
    }

    #[test]
    fn what_is_kept_leaves_gaps_until_it_is_taken() {
        let frame = |length, end| Data {
            length,
            end,
            ..Data::read(&Packet::EMPTY)
        };
        let mut repair = Repair::default();
        assert!(repair.keep(0, 20, frame(10, false)) && repair.keep(0, 40, frame(10, true)));
        assert!(!repair.keep(0, 25, frame(10, false)), "half is here");
        assert!(!repair.keep(0, AHEAD_MAX, frame(10, false)), "too far");
        let gaps = |repair: &Repair, next, end| repair.gaps(next, end).collect::<Vec<_>>();
        assert_eq!(gaps(&repair, 0, 60), [(0, 20), (30, 40), (50, 60)]);
        assert_eq!(repair.missing(0), 30);
        assert!(repair.reaches(0, 21) && !repair.reaches(0, 20));
        assert_eq!(repair.take(20), (30, vec![]));
        let at = 50;
        assert_eq!(repair.take(40), (at, vec![End { at, blank: false }]));
        assert!(repair.is_empty());
    }

    #[test]
    fn a_gap_is_asked_for_once_until_the_answer_is_overdue_or_has_come() {
        let mut repair = Repair::default();
        let mut asks = |at| repair.asks(Time(at), || Span(10));
        assert_eq!([0, 9, 10, 11].map(&mut asks), [true, false, true, false]);
        repair.close();
        assert!(repair.asks(Time(12), || Span(10)));
    }
}
