//! The message that arrives on a connection, in pieces of any order; the next begins when it is complete.

use crate::connections::told;
use crate::range_set::RangeSet;
use model::{ConnId, Cx, Event};

/// Gaps that a message keeps open; a piece that would open another is not kept, and must come again. [ours]
const GAPS_MAX: usize = 4096;
/// From so many on they are filled before others are opened. [ours]
const GAPS_FULL: usize = GAPS_MAX / 2;

/// One direction of a connection, as far as it has arrived. Positions are those of its stream of bytes.
#[derive(Debug, Default)]
pub struct Arriving {
    /// Messages that are complete.
    ordinal: u32,
    /// Something of the next one has come.
    active: bool,
    /// Where it begins; everything before `next` has arrived, and of what follows `ahead`.
    base: u64,
    next: u64,
    ahead: RangeSet<GAPS_MAX>,
    /// Where it ends, if that is known, and whether that is earlier than was said.
    end: Option<u64>,
    cut: bool,
}

/// What a piece was, or a word about the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was missing, or says of the end what was not known to be wrong.
    New,
    /// Nothing new.
    Old,
    /// It is still missing: its head alone has come, or there are too many gaps for it.
    Missing,
    /// Nothing that a sender of ours would send.
    Nonsense,
}

/// What a packet was to the end that receives the messages of a direction one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// Something new, of the message under way.
    New,
    /// Nothing new.
    Old,
    /// Still missing: there are too many gaps for it.
    Missing,
    /// Of a message that is complete.
    Past,
    /// Nothing that a sender of ours would send.
    Nonsense,
}

impl Arriving {
    /// Which message `ordinal` is, modulo 2^16: the one under way, which is [`Came::New`], or one that is complete.
    pub fn of(&self, ordinal: u16) -> Came {
        match ordinal.wrapping_sub(told(self.ordinal)) {
            0 => Came::New,
            // The next message begins when this one is acknowledged.
            ahead if ahead >= 1 << 15 => Came::Past,
            _ => Came::Nonsense,
        }
    }

    /// Messages that are complete.
    #[inline]
    pub fn complete(&self) -> u32 {
        self.ordinal
    }

    /// Whether something of the next one has come.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// Where it begins.
    #[inline]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Where it ends, if that is known.
    #[inline]
    pub fn end(&self) -> Option<u64> {
        self.end
    }

    /// Everything before this has arrived.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Bytes of it that have arrived.
    #[inline]
    pub fn got(&self) -> u64 {
        self.next - self.base + self.ahead.total()
    }

    /// The first gap from `from` on.
    #[inline]
    pub fn first_gap(&self, from: u64) -> Option<(u64, u64)> {
        self.ahead.first_gap(from.max(self.next), self.end?)
    }

    /// Whether so many gaps are open that no other should be.
    #[inline]
    pub fn is_crowded(&self) -> bool {
        self.ahead.len() >= GAPS_FULL
    }

    /// Whether the byte at `at` has arrived.
    #[inline]
    pub fn has(&self, at: u64) -> bool {
        at < self.next || self.ahead.holding(at).is_some()
    }

    /// Something has come that speaks of it, and is no piece of it.
    pub fn begin(&mut self) {
        self.active = true;
    }

    /// A piece of it has come, which ends it if `last`.
    #[inline]
    pub fn on_piece(
        &mut self,
        cx: &mut Cx<'_>,
        conn: ConnId,
        offset: u64,
        length: u16,
        last: bool,
    ) -> Verdict {
        let until = offset + u64::from(length);
        if offset < self.base || !self.learn(until, last) {
            return Verdict::Nonsense;
        }
        self.active = true;
        if self.keep(offset, until) {
            cx.accept(conn, offset, length);
            return Verdict::New;
        }
        self.without_its_bytes(offset, until)
    }

    /// A piece has come whose bytes a switch has cut away.
    #[inline]
    pub fn on_head(&mut self, offset: u64, length: u16, last: bool) -> Verdict {
        let until = offset + u64::from(length);
        if offset < self.base || !self.learn(until, last) {
            return Verdict::Nonsense;
        }
        self.active = true;
        self.without_its_bytes(offset, until)
    }

    /// What a piece is that brings nothing.
    #[inline]
    fn without_its_bytes(&self, offset: u64, until: u64) -> Verdict {
        let here = until <= self.next || self.ahead.holding(offset).is_some();
        if here { Verdict::Old } else { Verdict::Missing }
    }

    /// What a piece says of the end; false where that cannot be.
    #[inline]
    fn learn(&mut self, until: u64, last: bool) -> bool {
        if let Some(end) = self.end {
            return until <= end && (!last || until == end || self.cut);
        }
        if last {
            if until < self.highest() {
                return false;
            }
            self.end = Some(until);
        }
        true
    }

    /// Behind the farthest byte that has arrived.
    #[inline]
    pub fn highest(&self) -> u64 {
        self.ahead.last().map_or(self.next, |(_, end)| end)
    }

    /// Takes a piece; false where part of it is here already, or there are too many gaps.
    #[inline]
    fn keep(&mut self, offset: u64, until: u64) -> bool {
        if offset < self.next {
            return false;
        }
        if offset == self.next && self.ahead.is_empty() {
            self.next = until;
            return true;
        }
        let free = self.ahead.first_gap(offset, until) == Some((offset, until));
        if !free || self.ahead.insert(offset, until).is_none() {
            return false;
        }
        if let Some((_, end)) = self.ahead.first().filter(|&(start, _)| start == self.next) {
            self.next = end;
            self.ahead.drop_below(end);
        }
        true
    }

    /// The sender says that it ends at `at`, which is earlier than it said before if `cut`.
    pub fn on_end(&mut self, at: u64, cut: bool) -> Verdict {
        if at < self.highest() {
            return Verdict::Nonsense;
        }
        match self.end {
            // It left before the end moved.
            Some(known) if self.cut && !cut && at > known => return Verdict::Old,
            Some(known) if at > known || at < known && (self.cut || !cut) => {
                return Verdict::Nonsense;
            }
            Some(_) | None => {}
        }
        self.active = true;
        (self.end, self.cut) = (Some(at), self.cut | cut);
        Verdict::New
    }

    /// Whether all of it is here.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.active && self.end == Some(self.next)
    }

    /// It is complete: says so, and waits for the next.
    pub fn finish(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        let (ordinal, length) = (self.ordinal, self.next - self.base);
        cx.events.push(Event::Received {
            conn,
            ordinal,
            length,
        });
        *self = Self {
            ordinal: ordinal.wrapping_add(1),
            base: self.next,
            next: self.next,
            ..Self::default()
        };
    }

    /// What of it is here, in words; `None` where nothing is under way.
    pub fn state(&self) -> Option<String> {
        let all = self.end.map_or_else(
            || "an unknown number of bytes".to_owned(),
            |end| format!("{} B", end - self.base),
        );
        let (ordinal, got) = (self.ordinal, self.got());
        let state = || format!("receiving message {ordinal}, {got} of {all} are here");
        self.active.then(state)
    }

    /// Panics where an invariant is broken.
    pub fn check(&self) {
        assert!(self.base <= self.next);
        assert!(self.end.is_none_or(|end| end >= self.highest()));
        assert!(self.active || self.ahead.is_empty());
        self.ahead.check();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Bench;
    use model::{Rng, stream};
    use units::Time;

    const CONN: ConnId = ConnId(7);
    const FRAME: u16 = 10;

    /// A message of so many bytes comes in frames of any order, some twice and some without their bytes, and is
    /// compared with a list of its frames after each of them.
    fn random_message(arriving: &mut Arriving, rng: &mut Rng, length: u64) {
        let base = arriving.base();
        let start = |n: usize| length.min(n as u64 * u64::from(FRAME));
        let mut here = vec![false; usize::try_from(length.div_ceil(FRAME.into())).unwrap()];
        let frames = here.len();
        let mut bench = Bench::at(Time(1));
        while here.contains(&false) {
            let n = usize::try_from(rng.below(frames as u64)).unwrap();
            let offset = base + start(n);
            let size = u16::try_from(start(n + 1) - start(n)).unwrap();
            let last = n + 1 == frames;
            let (verdict, missing) = if rng.below(3) == 0 {
                let verdict = arriving.on_head(offset, size, last);
                (verdict, Verdict::Missing)
            } else {
                let verdict = arriving.on_piece(&mut bench.cx(), CONN, offset, size, last);
                let accepted = bench.events.drain(..).count();
                assert_eq!(accepted, usize::from(!here[n]), "each byte once");
                (verdict, Verdict::New)
            };
            assert_eq!(verdict, if here[n] { Verdict::Old } else { missing });
            here[n] |= missing == Verdict::New;
            assert_eq!(arriving.has(offset), here[n]);
            let got = (0..frames).filter(|&n| here[n]);
            let got: u64 = got.map(|n| start(n + 1) - start(n)).sum();
            let first = here.iter().position(|&here| !here).unwrap_or(frames);
            assert_eq!(
                (arriving.got(), arriving.next()),
                (got, base + start(first))
            );
            let behind = here[first..].iter().position(|&here| here);
            let until = behind.map_or(length, |behind| start(first + behind));
            let gap = (base + start(first), base + until);
            let known = first < frames && arriving.end() == Some(base + length);
            assert_eq!(arriving.first_gap(0), known.then_some(gap));
            arriving.check();
        }
        let ordinal = arriving.complete();
        assert!(arriving.is_complete());
        arriving.finish(&mut bench.cx(), CONN);
        let received = Event::Received {
            conn: CONN,
            ordinal,
            length,
        };
        assert_eq!(bench.events, [received]);
    }

    #[test]
    fn pieces_of_any_order_make_one_message_after_the_other() {
        let mut rng = Rng::stream(1, stream::TEST, 21);
        let mut arriving = Arriving::default();
        for (ordinal, length) in (0..).zip([1, 9, 10, 11, 99, 500, 1_234]) {
            assert_eq!(arriving.complete(), ordinal);
            assert!(!arriving.is_active() && arriving.state().is_none());
            random_message(&mut arriving, &mut rng, length);
        }
        assert_eq!((arriving.base(), arriving.end()), (1_864, None));
    }

    /// One message of which `[20, 30)` has come.
    fn begun() -> Arriving {
        let mut arriving = Arriving::default();
        let verdict = arriving.on_piece(&mut Bench::at(Time(1)).cx(), CONN, 20, FRAME, false);
        assert_eq!(verdict, Verdict::New);
        assert!(arriving.is_active());
        arriving
    }

    #[test]
    fn what_is_the_farthest_may_turn_out_to_be_the_end() {
        let mut arriving = begun();
        assert_eq!(arriving.on_head(20, FRAME, true), Verdict::Old);
        assert_eq!(arriving.end(), Some(30));
        let gaps = [0, 10, 20, 30].map(|from| arriving.first_gap(from));
        assert_eq!(gaps, [Some((0, 20)), Some((10, 20)), None, None]);
    }

    #[test]
    fn the_end_moves_only_when_it_is_cut_and_never_into_what_is_here() {
        use Verdict::{Missing, New, Nonsense, Old};
        let mut arriving = begun();
        assert_eq!(arriving.on_head(0, FRAME, true), Nonsense, "it goes on");
        assert_eq!(arriving.on_end(29, false), Nonsense, "it goes on");
        assert_eq!(arriving.end(), None);
        assert_eq!(arriving.on_end(60, false), New);
        assert_eq!(arriving.on_head(50, FRAME, true), Missing, "that end");
        assert_eq!(arriving.on_head(60, 1, false), Nonsense, "behind the end");
        assert_eq!(arriving.on_head(40, FRAME, true), Nonsense, "another end");
        assert_eq!(arriving.on_end(70, true), Nonsense, "a later end");
        assert_eq!(arriving.on_end(70, false), Nonsense, "a later end");
        assert_eq!(arriving.on_end(50, false), Nonsense, "no word of a cut");
        assert_eq!((arriving.on_end(50, true), arriving.end()), (New, Some(50)));
        assert_eq!(arriving.on_end(60, false), Old, "it left before the cut");
        assert_eq!(arriving.on_end(50, false), New, "the same end");
        assert_eq!(arriving.on_end(50, true), New, "the same cut");
        assert_eq!(arriving.on_end(60, false), Old, "it left before the cut");
        assert_eq!(arriving.on_end(60, true), Nonsense, "a cut takes away");
        assert_eq!(arriving.on_end(40, true), Nonsense, "it is cut once");
        assert_eq!(arriving.on_head(30, FRAME, true), Missing, "an old end");
        assert_eq!(arriving.on_head(45, FRAME, false), Nonsense, "behind it");
        assert_eq!(arriving.got(), 10);
        arriving.check();
    }

    #[test]
    fn what_overlaps_is_no_news_and_what_is_over_nonsense() {
        let mut arriving = begun();
        let mut bench = Bench::at(Time(1));
        let mut piece = |arriving: &mut Arriving, offset, length| {
            arriving.on_piece(&mut bench.cx(), CONN, offset, length, false)
        };
        assert_eq!(piece(&mut arriving, 25, 10), Verdict::Old);
        assert_eq!(piece(&mut arriving, 15, 10), Verdict::Missing);
        assert_eq!(arriving.got(), 10, "neither was kept");
        assert_eq!(piece(&mut arriving, 0, 20), Verdict::New);
        assert_eq!(
            (arriving.next(), arriving.on_end(30, false)),
            (30, Verdict::New)
        );
        assert!(arriving.is_complete());
        arriving.finish(&mut Bench::at(Time(2)).cx(), CONN);
        assert_eq!(piece(&mut arriving, 20, 10), Verdict::Nonsense);
        assert_eq!(arriving.on_head(20, 10, false), Verdict::Nonsense);
        assert!(!arriving.is_active(), "nothing of the next has come");
        arriving.begin();
        assert_eq!(
            arriving.state().as_deref(),
            Some("receiving message 1, 0 of an unknown number of bytes are here")
        );
    }

    #[test]
    fn a_piece_that_would_open_one_gap_too_many_is_missing() {
        let mut arriving = Arriving::default();
        let mut bench = Bench::at(Time(1));
        let most = GAPS_MAX as u64;
        for n in 1..=most + 1 {
            let verdict = arriving.on_piece(&mut bench.cx(), CONN, 20 * n, FRAME, false);
            let kept = if n <= most {
                Verdict::New
            } else {
                Verdict::Missing
            };
            assert_eq!(verdict, kept, "piece {n}");
        }
        assert_eq!(arriving.got(), 10 * most);
    }

    #[test]
    fn broken_books_are_noticed() {
        let breaks: [fn(&mut Arriving); 3] = [
            |arriving| arriving.base = 1,
            |arriving| arriving.end = Some(29),
            |arriving| arriving.active = false,
        ];
        for (n, spoil) in breaks.into_iter().enumerate() {
            let mut arriving = begun();
            arriving.check();
            spoil(&mut arriving);
            assert!(
                std::panic::catch_unwind(|| arriving.check()).is_err(),
                "{n}"
            );
        }
    }
}
