//! The message under way where it arrives, and its receiver gives a token for each frame.
//!
//! First what comes, pieces and announcements; then which frame has the next token, and what is missing again; how late
//! data is, and what is waited for. The tests show which frames are asked for where some are lost.

use crate::arriving::{self, Arriving, Came};
use crate::connections::told;
use model::{ConnId, Cx};
use units::{Bytes, Span, Time};

/// Windows that are forgiven in vain before the wait for the next grows, and how often it doubles. [ours]
const VAIN: u8 = 4;
const DOUBLED_MAX: u8 = 12;
/// How often the wait for what is missing doubles: by then it is longer than queues are, and what still does not come is lost. [ours]
const REPEATED_MAX: u8 = 6;
/// What is missing is asked for so often within `timeout`, so that one token which is lost ends nothing. [ours]
const RETRIED_IN_TIMEOUT: u64 = 4;

/// One direction of a connection at its receiver. One message is under way at a time.
#[derive(Debug, Default)]
pub struct Tokened {
    /// What of it has arrived.
    pub arriving: Arriving,
    /// Everything before this has had its token, or leaves unasked; none before it is announced.
    cursor: Option<u64>,
    /// Payload of the sender's frames in bytes; none before it is announced.
    frame: u16,
    /// Tokens of this connection so far, and the newest of them that data has come for, or that was written off.
    issued: u32,
    answered: u32,
    /// Everything before this has had a token before, or left unasked.
    once: u64,
    /// Tokens go no farther than this behind the first byte that is missing.
    reach: u64,
    /// What is missing before this has tokens again before anything else.
    redo: u64,
    /// When the last token left, or the message was announced; when data of it came; when anything did.
    token_at: Time,
    data_at: Time,
    heard: Time,
    /// When it was announced.
    announced_at: Time,
    /// A token, when it left, and how much later than in an idle network data came for the last one like it.
    timed: Option<(u16, Time)>,
    late: Option<Span>,
    /// The same of what came unasked, for where no token says it; and of others, for where nothing does.
    unasked_late: Option<Span>,
    usual: Span,
    /// Windows that were forgiven since data came, and how often all that is missing was asked for since some of it did.
    vain: u8,
    repeated: u8,
}

/// A piece of a message, as its packet tells it.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Which message of this direction, modulo 2^16.
    pub ordinal: u16,
    /// Where it begins in the stream.
    pub offset: u64,
    /// Its bytes.
    pub length: u16,
    /// The message ends with it.
    pub last: bool,
    /// The number of the token that it came for, modulo 2^16.
    pub token: Option<u16>,
}

/// An announcement, as its packet tells it.
#[derive(Clone, Copy, Debug)]
pub struct Announcement {
    /// Which message of this direction, modulo 2^16.
    pub ordinal: u16,
    /// Where it ends in the stream, and whether that is earlier than it was to.
    pub end: u64,
    /// See `end`.
    pub cut: bool,
    /// Payload of its frames, in bytes.
    pub frame: u16,
    /// How many of its first bytes leave unasked, at most.
    pub unasked: u64,
    /// Bytes that the receiver can hold behind the first that is missing: several times what is under way at once.
    pub reach: u64,
}

/// A token: where its frame begins, its number modulo 2^16, and whether the frame had one before or left unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// Where in the stream.
    pub offset: u64,
    /// Tokens of this connection so far.
    pub number: u16,
    /// See above.
    pub again: bool,
}

/// How far behind what is missing tokens may go on a host whose application holds `reassembly`, where `window` bytes
/// are under way: what is asked for again has not just left.
pub fn reach(reassembly: Bytes, window: u64) -> u64 {
    reassembly.get().max(window.saturating_mul(8))
}

impl Tokened {
    /// A piece has arrived; in an idle network one takes `rtt` from its token on.
    #[inline]
    pub fn on_piece(&mut self, cx: &mut Cx<'_>, conn: ConnId, piece: Piece, rtt: Span) -> Came {
        let of = self.arriving.of(piece.ordinal);
        if of != Came::New {
            return of;
        }
        let arriving = &mut self.arriving;
        let verdict = arriving.on_piece(cx, conn, piece.offset, piece.length, piece.last);
        if verdict == arriving::Verdict::Nonsense {
            return Came::Nonsense;
        }
        (self.heard, self.data_at) = (cx.now, cx.now);
        if let Some(token) = piece.token {
            self.on_answer(cx.now, token, rtt);
        }
        self.vain = 0;
        if verdict == arriving::Verdict::Old {
            return Came::Old;
        }
        self.repeated = 0;
        match verdict {
            arriving::Verdict::Missing => Came::Missing,
            _ => Came::New,
        }
    }

    /// Data for this token has come: those before it were used, or never will be.
    #[inline]
    fn on_answer(&mut self, now: Time, token: u16, rtt: Span) {
        let ahead = token.wrapping_sub(told(self.answered));
        if u32::from(ahead) <= self.unused() {
            self.answered = self.answered.wrapping_add(ahead.into());
        }
        if let Some((number, at)) = self.timed
            && token.wrapping_sub(number) < 1 << 15
        {
            self.timed = None;
            if token == number {
                self.late = Some(Span(now.since(at).0.saturating_sub(rtt.0)));
            }
        }
    }

    /// The sender announces a message, first time or again.
    pub fn on_announcement(&mut self, now: Time, said: Announcement) -> Came {
        let of = self.arriving.of(said.ordinal);
        if of != Came::New {
            return of;
        }
        match self.arriving.on_end(said.end, said.cut) {
            arriving::Verdict::Nonsense => return Came::Nonsense,
            // It left before the message was cut.
            arriving::Verdict::Old => return Came::Old,
            arriving::Verdict::New | arriving::Verdict::Missing => {}
        }
        self.heard = now;
        if self.cursor.is_none() {
            let from = self.arriving.base().saturating_add(said.unasked);
            (self.frame, self.cursor) = (said.frame, Some(from.min(said.end)));
            (self.reach, self.redo) = (said.reach, 0);
            (self.token_at, self.announced_at) = (now, now);
        }
        Came::New
    }

    /// A piece of the message under way, which begins at `offset`, has come unasked, and how much later than in an idle network;
    /// none where it has not been announced. There frames follow the announcement, and each other after the `gap` of one
    /// with so much payload.
    pub fn on_unasked(
        &mut self,
        now: Time,
        offset: u64,
        gap: impl FnOnce(u16) -> Span,
    ) -> Option<Span> {
        self.cursor?;
        let number = (offset - self.arriving.base()) / u64::from(self.frame.max(1));
        let idle = gap(self.frame).times(number + 1);
        let late = Span(now.since(self.announced_at).0.saturating_sub(idle.0));
        self.unasked_late = Some(late);
        self.unasked_late
    }

    /// So much later than in an idle network data of others comes, which counts until data of this one says it.
    pub fn expect(&mut self, usual: Span) {
        self.usual = usual;
    }

    /// Anything was heard of the sender.
    #[inline]
    pub fn hear(&mut self, now: Time) {
        self.heard = now;
    }

    /// When that was last.
    #[inline]
    pub fn heard(&self) -> Time {
        self.heard
    }

    /// Tokens that no data has come for.
    #[inline]
    pub fn unused(&self) -> u32 {
        self.issued.wrapping_sub(self.answered)
    }

    /// When the last token left, or the message was announced.
    #[inline]
    pub fn token_at(&self) -> Time {
        self.token_at
    }

    /// Payload of the sender's frames, in bytes; 0 before the first announcement.
    #[inline]
    pub fn frame(&self) -> u16 {
        self.frame
    }

    /// Whether the message under way was announced.
    #[inline]
    pub fn is_announced(&self) -> bool {
        self.cursor.is_some()
    }

    /// Bytes that have not arrived.
    #[inline]
    pub fn to_come(&self) -> u64 {
        let length = self.arriving.end().map(|end| end - self.arriving.base());
        length.map_or(0, |length| length - self.arriving.got())
    }

    /// The next frame that wants a token.
    #[inline]
    fn gap(&self) -> Option<u64> {
        let (mut from, _) = self.arriving.first_gap(self.cursor?)?;
        if self.cursor < Some(self.redo) && from >= self.redo {
            (from, _) = self.arriving.first_gap(self.once)?;
        }
        if from - self.arriving.next() >= self.reach {
            return None;
        }
        let behind = from - self.arriving.base();
        Some(from - behind % u64::from(self.frame))
    }

    /// Whether some frame of it wants a token.
    #[inline]
    pub fn wants(&self) -> bool {
        self.arriving.is_active() && self.gap().is_some()
    }

    /// Whether something is missing, and all that it can hold had tokens.
    #[inline]
    pub fn is_missing(&self) -> bool {
        self.arriving.is_active() && self.is_announced() && self.gap().is_none()
    }

    /// Since when nothing has moved: data that waits in queues is no sooner asked for again, nor its tokens written off.
    #[inline]
    pub fn since(&self) -> Time {
        let late = self.late.or(self.unasked_late).unwrap_or(self.usual);
        self.token_at.max(self.data_at).after(late)
    }

    /// Gives a token for the next frame that wants one.
    #[inline]
    pub fn give(&mut self, now: Time) -> Given {
        let offset = self.gap().expect("only who wants a token gets one");
        let until = offset + u64::from(self.frame);
        let again = offset < self.once;
        (self.cursor, self.once) = (Some(until), self.once.max(until));
        let missing = self.arriving.next();
        if until - missing > self.reach / 2 && missing >= self.redo {
            // Before its memory is full; what is farther may still be under way.
            self.go_back();
            self.redo = missing + self.reach / 4;
        } else if !again && self.arriving.is_crowded() {
            // Before there are too many; the newest gaps, whose data may be under way, come last.
            self.go_back();
        }
        self.issued = self.issued.wrapping_add(1);
        self.token_at = now;
        let number = told(self.issued);
        self.timed = self.timed.or(Some((number, now)));
        Given {
            offset,
            number,
            again,
        }
    }

    /// Unused tokens do not count any more.
    pub fn write_off(&mut self) {
        self.answered = self.issued;
    }

    /// How long unused tokens count, where the first ones do for `relax`: whoever is not there gets fewer and fewer.
    #[inline]
    pub fn relax(&self, relax: Span) -> Span {
        relax.times(1 << self.vain.saturating_sub(VAIN).min(DOUBLED_MAX))
    }

    /// Unused tokens do not count any more, and none of them says how late data is.
    pub fn forgive(&mut self) {
        self.write_off();
        self.timed = None;
        self.vain = self.vain.saturating_add(1);
    }

    /// How long what is missing is waited for, where it is for `retry` at first: twice as long each time that none of it
    /// has come, and several times within `timeout`.
    #[inline]
    pub fn retry(&self, retry: Span, timeout: Span) -> Span {
        let most = Span(timeout.0 / RETRIED_IN_TIMEOUT).max(retry);
        retry.times(1 << self.repeated.min(REPEATED_MAX)).min(most)
    }

    /// All that is missing may have tokens again, as it did not come.
    pub fn repeat(&mut self) {
        self.go_back();
        self.repeated = self.repeated.saturating_add(1);
    }

    /// What is missing may have tokens again.
    pub fn go_back(&mut self) {
        (self.cursor, self.redo) = (Some(self.arriving.next()), 0);
    }

    /// A pause explains the silence: it counts from now on, and perhaps that of the sender, too.
    pub fn excuse(&mut self, now: Time, sender: bool) {
        self.token_at = now;
        if sender {
            self.heard = now;
        }
    }

    /// The message is complete: says so, and waits for the next.
    pub fn finish(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        self.arriving.finish(cx, conn);
        self.cursor = None;
        (self.vain, self.repeated) = (0, 0);
        self.write_off();
    }

    /// Panics where an invariant is broken.
    pub fn check(&self) {
        self.arriving.check();
        assert!(self.arriving.is_active() || self.cursor.is_none());
        assert!(self.cursor.is_none_or(|at| at >= self.arriving.base()));
    }
}

#[cfg(test)]
mod tests {
    use super::{Announcement, Came, Given, Piece, Tokened, reach};
    use crate::bench::Bench;
    use model::ConnId;
    use std::collections::VecDeque;
    use units::{Bytes, Span, Time};

    const CONN: ConnId = ConnId(7);
    const FRAME: u16 = 100;
    const RTT: Span = Span::us(10);

    fn at(us: u64) -> Time {
        Time::ZERO.after(Span::us(us))
    }

    /// A message of 350 B is announced, of which so many leave unasked.
    fn announced(unasked: u64) -> Tokened {
        let mut message = Tokened::default();
        assert_eq!(announce(&mut message, 0, unasked), Came::New);
        message
    }

    fn announce(message: &mut Tokened, us: u64, unasked: u64) -> Came {
        let said = Announcement {
            ordinal: 0,
            end: 350,
            cut: false,
            frame: FRAME,
            unasked,
            reach: u64::MAX,
        };
        let verdict = message.on_announcement(at(us), said);
        message.check();
        verdict
    }

    fn data(message: &mut Tokened, us: u64, offset: u64, token: Option<u16>) -> Came {
        let last = offset == 300;
        let piece = Piece {
            ordinal: 0,
            offset,
            length: if last { 50 } else { FRAME },
            last,
            token,
        };
        let verdict = message.on_piece(&mut Bench::at(at(us)).cx(), CONN, piece, RTT);
        message.check();
        verdict
    }

    fn given(offset: u64, number: u16, again: bool) -> Given {
        Given {
            offset,
            number,
            again,
        }
    }

    #[test]
    fn every_frame_behind_those_that_leave_unasked_has_one_token() {
        assert_eq!(Tokened::default().frame(), 0, "nobody has said");
        let mut message = announced(100);
        assert_eq!(message.frame(), FRAME);
        assert!(message.is_announced() && message.wants() && message.to_come() == 350);
        assert_eq!(message.give(at(1)), given(100, 1, false));
        // It came unasked although it was to have a token.
        assert_eq!(data(&mut message, 2, 200, None), Came::New);
        assert_eq!(message.give(at(3)), given(300, 2, false));
        assert!(!message.wants() && message.is_missing() && message.unused() == 2);
        assert_eq!(message.to_come(), 250);
        message.go_back();
        assert!(message.wants() && !message.is_missing());
        assert_eq!(message.give(at(4)), given(0, 3, true), "it left unasked");
        assert_eq!(message.give(at(4)), given(100, 4, true));
        // Announced again, it keeps its place.
        assert_eq!(announce(&mut message, 5, 0), Came::New);
        assert_eq!(message.give(at(5)), given(300, 5, true));
    }

    #[test]
    fn data_answers_its_token_and_those_before_it() {
        let mut message = announced(0);
        for number in 1..=4 {
            assert_eq!(message.give(at(1)).number, number);
        }
        assert_eq!(data(&mut message, 20, 100, Some(2)), Came::New);
        assert_eq!(message.unused(), 2);
        assert_eq!(data(&mut message, 20, 0, Some(1)), Came::New);
        assert_eq!(data(&mut message, 21, 0, Some(1)), Came::Old);
        assert_eq!(message.unused(), 2, "what is older says nothing");
        assert_eq!(data(&mut message, 21, 200, Some(9)), Came::New);
        assert_eq!(message.unused(), 2, "nor does what was never given");
        message.forgive();
        assert_eq!(message.unused(), 0);
    }

    #[test]
    fn what_is_missing_is_waited_for_longer_each_time_in_vain_and_windows_after_a_few() {
        let mut message = announced(0);
        let (mut waits, mut windows) = (Vec::new(), Vec::new());
        for _ in 0..9 {
            waits.push(message.retry(Span::us(1), Span::ms(1)));
            windows.push(message.relax(Span::us(1)));
            message.repeat();
            message.forgive();
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 64, 64].map(Span::us));
        assert_eq!(windows, [1, 1, 1, 1, 1, 2, 4, 8, 16].map(Span::us));
        let most = message.retry(Span::us(1), Span::us(80));
        assert_eq!(most, Span::us(20), "a quarter of the timeout");
        message.give(at(1));
        data(&mut message, 2, 0, Some(1));
        assert_eq!(message.retry(Span::us(1), Span::ms(1)), Span::us(1));
        assert_eq!(message.relax(Span::us(1)), Span::us(1));
    }

    #[test]
    fn as_late_as_data_came_last_it_is_waited_for() {
        let mut message = announced(0);
        message.give(at(1));
        assert_eq!(message.since(), at(1));
        // Ten microseconds later than in an idle network.
        data(&mut message, 21, 0, Some(1));
        assert_eq!(message.since(), at(31));
        message.give(at(40));
        message.give(at(41));
        assert_eq!((message.since(), message.token_at()), (at(51), at(41)));
        // A number half the circle away is behind it, and the timed one may still come.
        data(&mut message, 45, 100, Some(2u16.wrapping_add(1 << 15)));
        // The one that was timed never comes.
        data(&mut message, 52, 200, Some(3));
        assert_eq!(message.since(), at(62));
        message.excuse(at(80), false);
        assert_eq!((message.since(), message.heard()), (at(90), at(52)));
        message.hear(at(85));
        assert_eq!((message.since(), message.heard()), (at(90), at(85)));
    }

    #[test]
    fn a_number_half_the_circle_away_does_not_stand_for_the_token_that_is_timed() {
        let mut message = announced(0);
        message.give(at(1));
        data(&mut message, 21, 100, Some(1u16.wrapping_add(1 << 15)));
        assert_eq!(message.since(), at(21));
        data(&mut message, 31, 0, Some(1));
        assert_eq!(
            message.since(),
            at(51),
            "20 us later than in an idle network"
        );
    }

    #[test]
    fn a_later_message_has_its_tokens_by_frames_of_its_own() {
        let mut bench = Bench::at(at(1));
        let piece = |ordinal, offset, length, last| Piece {
            ordinal,
            offset,
            length,
            last,
            token: None,
        };
        let mut message = Tokened::default();
        message.on_piece(&mut bench.cx(), CONN, piece(0, 0, 333, true), RTT);
        assert!(!message.is_missing(), "nobody has announced it");
        message.finish(&mut bench.cx(), CONN);
        let said = Announcement {
            ordinal: 1,
            end: 333 + 350,
            cut: false,
            frame: FRAME,
            unasked: 0,
            reach: u64::MAX,
        };
        assert_eq!(message.on_announcement(at(2), said), Came::New);
        assert_eq!(message.to_come(), 350);
        // A frame and a half: the other half has a token for the whole frame.
        message.on_piece(&mut bench.cx(), CONN, piece(1, 333, 150, false), RTT);
        assert_eq!(message.to_come(), 200);
        assert_eq!(message.give(at(3)), given(333 + 100, 1, false));
        assert_eq!(
            message.give(at(3)),
            given(333 + 200, 2, false),
            "right behind it"
        );
    }

    #[test]
    fn broken_books_are_noticed() {
        let mut message = announced(0);
        message.finish(&mut Bench::at(at(1)).cx(), CONN);
        message.check();
        message.cursor = Some(350);
        assert!(std::panic::catch_unwind(|| message.check()).is_err());
    }

    #[test]
    fn what_left_unasked_is_waited_for_as_long_as_it_or_that_of_others_took() {
        let mut unknown = Tokened::default();
        assert_eq!(
            unknown.on_unasked(at(9), 0, |_| RTT),
            None,
            "nobody announced it"
        );
        let mut message = Tokened::default();
        announce(&mut message, 5, 200);
        message.expect(Span::us(30));
        assert_eq!(message.since(), at(35), "others say so");
        data(&mut message, 25, 0, None);
        assert_eq!(
            message.on_unasked(at(25), 0, |_| Span::us(2)),
            Some(Span::us(18))
        );
        assert_eq!(message.since(), at(43), "and now it says so itself");
        message.expect(Span::us(300));
        assert_eq!(message.since(), at(43));
        assert_eq!(
            message.on_unasked(at(6), 0, |_| Span::us(2)),
            Some(Span::ZERO),
            "sooner than that is not late"
        );
        let second = message.on_unasked(at(25), 100, |frame| Span::us(u64::from(frame) / 50));
        assert_eq!(second, Some(Span::us(16)), "it is the second frame");
    }

    #[test]
    fn frames_of_a_second_message_are_counted_from_where_it_begins() {
        let mut message = announced(350);
        for offset in [0, 100, 200, 300] {
            data(&mut message, 1, offset, None);
        }
        message.finish(&mut Bench::at(at(2)).cx(), CONN);
        let said = Announcement {
            ordinal: 1,
            end: 700,
            cut: false,
            frame: FRAME,
            unasked: 200,
            reach: u64::MAX,
        };
        assert_eq!(message.on_announcement(at(5), said), Came::New);
        let second = message.on_unasked(at(25), 450, |frame| Span::us(u64::from(frame) / 50));
        assert_eq!(second, Some(Span::us(16)));
    }

    #[test]
    fn other_messages_are_told_from_this() {
        let mut message = announced(350);
        for offset in [0, 100, 200] {
            data(&mut message, 1, offset, None);
        }
        assert!(!message.arriving.is_complete());
        data(&mut message, 2, 300, None);
        let mut bench = Bench::at(at(3));
        message.finish(&mut bench.cx(), CONN);
        message.check();
        assert!(!message.is_announced() && !message.wants());
        assert_eq!(announce(&mut message, 4, 0), Came::Past);
        assert_eq!(data(&mut message, 4, 0, None), Came::Past);
        let later = Announcement {
            ordinal: 2,
            end: 900,
            cut: false,
            frame: FRAME,
            unasked: 0,
            reach: u64::MAX,
        };
        assert_eq!(message.on_announcement(at(5), later), Came::Nonsense);
    }

    /// A message of 100 frames of 100 B of whose bytes 4,000 can be held; the data of a token comes after ten others,
    /// unless `lost` says of its frame and how often it was asked for that it never does. The frames asked for.
    fn asked(lost: impl Fn(u64, usize) -> bool) -> (Tokened, Vec<u64>) {
        let mut message = Tokened::default();
        let said = Announcement {
            ordinal: 0,
            end: 10_000,
            cut: false,
            frame: FRAME,
            unasked: 0,
            reach: reach(Bytes(4_000), 400),
        };
        message.on_announcement(at(0), said);
        let (mut asked, mut under_way) = (Vec::new(), VecDeque::new());
        let mut bench = Bench::at(at(1));
        while message.wants() {
            let frame = message.give(at(1)).offset / 100;
            let before = asked.iter().filter(|&&other| other == frame).count();
            under_way.push_back((frame, lost(frame, before)));
            asked.push(frame);
            while under_way.len() > 10 || !message.wants() && !under_way.is_empty() {
                let (frame, is_lost) = under_way.pop_front().unwrap();
                if !is_lost {
                    let piece = Piece {
                        ordinal: 0,
                        offset: frame * 100,
                        length: FRAME,
                        last: frame == 99,
                        token: None,
                    };
                    message.on_piece(&mut bench.cx(), CONN, piece, Span::ZERO);
                }
                let ahead = message.arriving.highest() - message.arriving.next();
                assert!(ahead <= 4_000, "{ahead} B wait");
                message.check();
            }
        }
        (message, asked)
    }

    #[test]
    fn what_is_missing_has_tokens_again_before_the_memory_is_full() {
        let (message, asked) = asked(|frame, before| [5, 8, 30, 90].contains(&frame) && before < 1);
        // Half of the memory is behind 5; what is less than a quarter behind it has tokens again, then what follows.
        let mut expected: Vec<u64> = (0..=25).chain([5, 8]).chain(26..=50).collect();
        expected.extend([30]);
        expected.extend(51..=99);
        assert_eq!(asked, expected);
        assert!(message.is_missing(), "90 has nothing far behind it");
        assert_eq!(message.to_come(), 100);
    }

    #[test]
    fn tokens_go_no_farther_than_the_memory() {
        let (mut message, asked) = asked(|frame, before| frame == 5 && before < 3);
        let expected: Vec<u64> = (0..=25).chain([5]).chain(26..=44).collect();
        assert_eq!(asked, expected, "40 frames from 5 on");
        assert!(!message.wants() && message.is_missing());
        message.go_back();
        assert_eq!(message.give(at(9)).offset, 500);
        assert!(!message.wants(), "nothing else may have one");
    }

    /// Every other frame never comes the first time that it is asked for.
    #[test]
    fn what_is_missing_has_tokens_again_before_there_are_too_many_gaps() {
        let said = Announcement {
            ordinal: 0,
            end: 2_000_000,
            cut: false,
            frame: FRAME,
            unasked: 0,
            reach: u64::MAX,
        };
        let mut message = Tokened::default();
        message.on_announcement(at(0), said);
        let mut bench = Bench::at(at(1));
        let (mut asked, mut most) = (0, 0);
        while message.wants() {
            let given = message.give(at(1));
            asked += 1;
            most = most.max(given.offset / 100 - message.arriving.next() / 100);
            if given.again || given.offset % 200 == 0 {
                let piece = Piece {
                    ordinal: 0,
                    offset: given.offset,
                    length: FRAME,
                    last: given.offset == 1_999_900,
                    token: None,
                };
                let came = message.on_piece(&mut bench.cx(), CONN, piece, Span::ZERO);
                assert_eq!(came, Came::New, "at {}", given.offset);
            }
        }
        message.check();
        // Of 20,000 frames half are asked for twice but those behind the last round; 2,048 gaps are 4,096 frames.
        assert!((4_000..4_200).contains(&most), "{most} frames ahead");
        assert!(message.is_missing() && (28_000..30_000).contains(&asked));
    }

    #[test]
    fn what_would_open_one_gap_too_many_is_missing() {
        let mut message = Tokened::default();
        let mut bench = Bench::at(at(1));
        let mut came = |n: u64| {
            let piece = Piece {
                ordinal: 0,
                offset: 200 * n,
                length: FRAME,
                last: false,
                token: None,
            };
            message.on_piece(&mut bench.cx(), CONN, piece, RTT)
        };
        assert!((1..=4096).all(|n| came(n) == Came::New));
        assert_eq!(came(4097), Came::Missing);
        assert_eq!(came(4096), Came::Old);
    }

    #[test]
    fn the_memory_holds_several_windows() {
        assert_eq!(reach(Bytes(4_000), 100), 4_000);
        assert_eq!(reach(Bytes(4_000), 1_000), 8_000);
        assert_eq!(reach(Bytes(u64::MAX), u64::MAX), u64::MAX);
    }
}
