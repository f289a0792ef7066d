//! The role that has data: a first window leaves unasked, then a packet for each pull, what was trimmed first.
//!
//! In the order of a message's life: it begins and ends, packets leave, words about them come, pulls come, and nothing comes.

use super::early::Early;
use super::frame::{Copies, Fate, Frame, Which};
use super::header::{Ack, Data, POSITION_MAX, PULLS_TOLD};
use super::line::Listed;
use super::settings::Settings;
use super::ways::{WORSE, Ways};
use model::Lifetime;
use parts::connections::{Sending, told};
use parts::smoothed::Smoothed;
use parts::waiting::Waiting;
use std::collections::VecDeque;
use units::{Span, Time};

/// Frames from the oldest that has not arrived to the newest that has left: what lies beyond waits. [ours: those
/// of a millisecond at 100 Gb/s in 1500 B, which is when the oldest is sent again]
pub(super) const RING_MAX: usize = 16_384;
/// Last words of the receiver that tell a bad way from an incast. [htsim]
const HISTORY: u32 = 12;
/// Vain tries and questions that are counted: the waits do not grow beyond. [ours]
const TRIES_MAX: u8 = 6;

/// One direction of a connection, at its sender. One message is under way at a time.
#[derive(Debug, Default)]
pub(super) struct Sender {
    /// The messages behind the one under way.
    waiting: Waiting,
    /// Messages that are done.
    pub(super) ordinal: u32,
    /// A message is under way.
    pub(super) active: bool,
    /// Where it begins and ends in the stream.
    base: u64,
    end: u64,
    /// Its frames, and those before the first that `ring` holds.
    frames: u64,
    first: u64,
    /// Frames that have left, from the first that has not arrived.
    ring: VecDeque<Frame>,
    /// How many of them are on their way, and how many leave again.
    in_flight: u32,
    to_repeat: u32,
    /// Those that leave again, in order; some may have arrived meanwhile.
    again: VecDeque<u64>,
    /// Frames that may leave unasked, and for pulls.
    unasked: u32,
    may: u32,
    /// Pulls so far, as the receiver numbers them; the last word of them counted from the first to the second.
    pulled: u32,
    jump: (u32, u32),
    /// Words about frames that will bring a pull each.
    expected: u32,
    /// Frames that came back and did not leave at once: so much less is on the way, for no pull comes of them.
    held_back: u32,
    /// The last words of the receiver, 1 for what has arrived, and how many there are.
    history: u16,
    words: u8,
    /// END has to leave, because the message is empty, ends earlier than was said, or is asked about.
    owes: bool,
    cut: bool,
    /// END has left before.
    ended: bool,
    /// The receiver has said something of the message.
    answered: bool,
    /// When something new was heard last, or the message began.
    pub(super) progress: Time,
    /// When the oldest frame on its way is looked at.
    look_at: Time,
    /// From when on a pull is missed.
    waits_from: Time,
    /// Repetitions in vain since something was heard, when the last of them began, and questions about this message.
    tries: u8,
    tried_at: Time,
    asked: u8,
    /// What the line knows of it.
    pub(super) listed: Listed,
    /// The burst of the message, where it begins with one, and whether it still leaves.
    pub(super) early: Option<Box<Early>>,
    bursting: bool,
    pub(super) ways: Ways,
    /// Where ports keep what was pulled: how long answers to frames take; how long they took at most for copies of which it is
    /// not known when they left, since one of which it is; and when the last of these did.
    takes: Smoothed,
    took: Span,
    newest: Time,
}

/// What leaves next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) data: Data,
    /// No pull released it, and switches may do with it what they do with such packets.
    pub(super) unscheduled: bool,
    /// It left before, on this way.
    pub(super) before: Option<u16>,
    number: u64,
}

/// What a sender does when a moment has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// Nothing: it was too early.
    Wait,
    /// It sends again what was lost: so many frames.
    Repeat(u32),
    /// It asks what the receiver knows.
    Ask,
    /// It gives up.
    GiveUp,
}

impl Sender {
    /// Queues a message; false where the stream has no room for it.
    pub(super) fn push(&mut self, now: Time, length: u64, settings: &Settings) -> bool {
        let fits = self.waiting.push(self.end, length, POSITION_MAX);
        if fits && !self.active {
            self.begin(now, settings);
        }
        fits
    }

    /// The next message begins, if one waits.
    fn begin(&mut self, now: Time, settings: &Settings) {
        let Some(length) = self.waiting.pop() else {
            return;
        };
        (self.active, self.cut, self.answered, self.ended) = (true, false, false, false);
        self.end = self.base + length;
        (self.frames, self.first) = (length.div_ceil(settings.payload_max.into()), 0);
        self.owes = length == 0;
        // What a short message leaves of its window would send again what is trimmed, before it is pulled.
        let window = u64::from(settings.window).min(self.frames);
        self.unasked = u32::try_from(window).unwrap_or(settings.window);
        (self.may, self.expected, self.held_back) = (0, 0, 0);
        (self.tries, self.asked, self.history, self.words) = (0, 0, 0, 0);
        (self.progress, self.waits_from, self.look_at) = (now, now, Time::NEVER);
        if settings.bursts && self.frames > 0 {
            self.early = Some(Box::new(Early::new(self.unasked)));
            self.bursting = true;
        }
    }

    /// The message is done: the next begins.
    pub(super) fn finish(&mut self, now: Time, settings: &Settings) {
        *self = Self {
            waiting: std::mem::take(&mut self.waiting),
            ordinal: self.ordinal.wrapping_add(1),
            base: self.end,
            end: self.end,
            pulled: self.pulled,
            jump: self.jump,
            listed: self.listed,
            takes: self.takes,
            ..Self::default()
        };
        self.begin(now, settings);
    }

    /// Takes back what has not left. END says where the message ends now, also where nothing had left.
    pub(super) fn cancel(&mut self, settings: &Settings) {
        self.waiting.clear();
        if self.active && self.next() < self.frames {
            self.unasked = self.unasked.min(self.to_repeat);
            if std::mem::take(&mut self.bursting) {
                self.unasked = 0;
                if let Some(early) = &mut self.early {
                    early.close();
                }
            }
            (self.cut, self.owes) = (self.next() > 0 || self.ended, true);
            self.frames = self.next();
            self.end = self.base + self.frames * u64::from(settings.payload_max);
        }
    }

    /// The number of the next new frame.
    #[inline]
    fn next(&self) -> u64 {
        self.first + self.ring.len() as u64
    }

    /// Whether a frame could leave if it were pulled.
    #[inline]
    fn has_more(&self) -> bool {
        self.to_repeat > 0 || (self.next() < self.frames && self.ring.len() < RING_MAX)
    }

    /// Whether a packet may leave.
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        self.active && (self.owes || (self.unasked + self.may > 0 && self.has_more()))
    }

    /// Packets that may leave, and how many of them at most leave again.
    pub(super) fn released(&self) -> (u64, u64) {
        let left = u64::from(self.to_repeat) + self.frames - self.next();
        let all = u64::from(self.unasked + self.may).min(left);
        (all + u64::from(self.owes), self.to_repeat.into())
    }

    /// Whether END is what leaves next, where [`Sender::is_ready`].
    #[inline]
    pub(super) fn owes_end(&self) -> bool {
        self.owes
    }

    /// Whether the message under way has no bytes.
    pub(super) fn is_empty(&self) -> bool {
        self.frames == 0
    }

    /// END leaves: where the message ends, whether it is cut, and whether it said so before.
    pub(super) fn take_end(&mut self, now: Time) -> (u64, bool, bool) {
        let before = std::mem::replace(&mut self.ended, true);
        (self.owes, self.waits_from) = (false, now);
        (self.end, self.cut, before)
    }

    /// Takes the next piece, where [`Sender::is_ready`] and no END. [`Sender::sent`] follows.
    #[inline]
    pub(super) fn take(&mut self, settings: &Settings, lifetime: Lifetime, answer: bool) -> Piece {
        let repeated = if self.to_repeat > 0 && !self.bursting {
            self.take_again()
        } else {
            None
        };
        let number = repeated.map_or_else(|| self.next(), |(number, _)| number);
        let offset = self.base + number * u64::from(settings.payload_max);
        let left = self.end - offset;
        let full = left > u64::from(settings.payload_max);
        #[allow(clippy::cast_possible_truncation, reason = "at most a payload")]
        let length = if full {
            settings.payload_max
        } else {
            left as u16
        };
        let pulled = self.unasked == 0;
        let pull = match repeated {
            _ if pulled => self.take_pull(),
            Some((_, frame)) => frame.copies.another(),
            None => 0,
        };
        self.unasked -= u32::from(!pulled);
        // Where there are bursts, what leaves again after silence is protected as if it had been pulled.
        let unscheduled = !pulled && (self.bursting || !settings.bursts);
        let data = Data {
            offset,
            length,
            pull,
            way: 0,
            lifetime,
            answer,
            end: !full && !self.cut,
        };
        Piece {
            data,
            unscheduled,
            before: repeated.map(|(_, frame)| frame.way),
            number,
        }
    }

    /// The number of the pull whose frame leaves, as far as it is told. What one word released has its number.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "three bits")]
    fn take_pull(&mut self) -> u8 {
        let own = self.pulled.wrapping_sub(self.may).wrapping_add(1);
        self.may -= 1;
        let behind = own.wrapping_sub(self.jump.0);
        let of_jump = behind.wrapping_sub(1) < self.jump.1.wrapping_sub(self.jump.0);
        let number = if of_jump { self.jump.1 } else { own };
        (number % u32::from(PULLS_TOLD)) as u8
    }

    #[cold]
    #[allow(clippy::unnecessary_wraps, reason = "the caller has none otherwise")]
    fn take_again(&mut self) -> Option<(u64, Frame)> {
        while let Some(number) = self.again.pop_front() {
            let frame = number.checked_sub(self.first);
            let frame = frame.and_then(|at| self.ring.get(usize::try_from(at).ok()?));
            if let Some(&frame) = frame.filter(|frame| frame.fate.repeats()) {
                self.to_repeat -= 1;
                return Some((number, frame));
            }
        }
        unreachable!("{} frames leave again", self.to_repeat)
    }

    /// The piece leaves on `way`. Whether nothing was on its way before.
    #[inline]
    pub(super) fn sent(&mut self, now: Time, piece: &Piece, way: u16, settings: &Settings) -> bool {
        let mut frame = Frame {
            sent_at: now,
            way,
            fate: Fate::Sent,
            copies: Copies::of(piece.data.pull),
            behind: 0,
        };
        if piece.before.is_some() {
            let at = usize::try_from(piece.number - self.first).expect("within the ring");
            let before = self.ring[at];
            if before.fate == Fate::Lost {
                frame.copies = Copies::instead(piece.data.pull);
            } else {
                frame.behind = before.behind(now);
                frame.copies = before.copies.and(piece.data.pull);
            }
            self.ring[at] = frame;
        } else {
            self.ring.push_back(frame);
        }
        if self.bursting {
            self.burst_frame(piece);
        }
        let alone = self.in_flight == 0;
        if alone {
            self.look_at = now.after(self.wait(now, settings));
        }
        self.in_flight += 1;
        alone
    }

    /// A frame of the burst leaves, perhaps its last.
    fn burst_frame(&mut self, piece: &Piece) {
        let early = self.early.as_mut().expect("a burst leaves");
        debug_assert_eq!(piece.number, early.number());
        early.sent(piece.data.offset);
        self.bursting = self.unasked > 0;
    }

    /// Whether frames of a burst have left, and no more of them leave unasked.
    pub(super) fn has_burst(&self) -> bool {
        self.early.is_some() && !self.bursting && self.next() > 0
    }

    /// Whether a burst leaves.
    #[inline]
    pub(super) fn is_bursting(&self) -> bool {
        self.bursting
    }

    /// The frame of the burst with this number was lost.
    pub(super) fn lose(&mut self, number: u64, settings: &Settings) {
        let at = number.checked_sub(self.first);
        let at = at.and_then(|at| usize::try_from(at).ok());
        if let Some(at) = at.filter(|&at| at < self.ring.len()) {
            self.repeat(at, settings, false);
            let fate = &mut self.ring[at].fate;
            if settings.proven && *fate == Fate::Again {
                *fate = Fate::Lost;
            }
        }
    }

    /// A probe was answered.
    pub(super) fn hear_of_probe(&mut self, now: Time) {
        (self.progress, self.waits_from, self.tries) = (now, now, 0);
        self.answered = true;
    }

    /// The place in the ring of the frame that begins at `offset`, where such a frame has left.
    #[inline]
    fn place(&self, offset: u64, settings: &Settings) -> Option<usize> {
        let payload = u32::from(settings.payload_max);
        let from = self.base + self.first * u64::from(payload);
        let behind = u32::try_from(offset.checked_sub(from)?).ok()?;
        let at = (behind / payload) as usize;
        (behind % payload == 0 && at < self.ring.len()).then_some(at)
    }

    /// Another word of the receiver about a frame: whether it has arrived.
    #[inline]
    fn hear(&mut self, now: Time, arrived: bool) {
        (self.progress, self.waits_from) = (now, now);
        (self.tries, self.asked, self.answered) = (0, self.asked / 2, true);
        self.expected += 1;
        self.history = self.history << 1 | u16::from(arrived);
        self.words += u8::from(u32::from(self.words) < HISTORY);
    }

    /// A copy of a frame has arrived. False where no such frame is on its way.
    #[inline]
    pub(super) fn on_ack(&mut self, now: Time, ack: &Ack, settings: &Settings) -> bool {
        let Some(at) = self.place(ack.at, settings).filter(|_| self.active) else {
            return false;
        };
        let frame = &mut self.ring[at];
        let (way, fate) = (frame.way, std::mem::replace(&mut frame.fate, Fate::Arrived));
        let frame = *frame;
        match fate {
            Fate::Arrived => return false,
            Fate::Sent => self.in_flight -= 1,
            Fate::Again | Fate::Lost => self.to_repeat -= 1,
        }
        if settings.scoreboard {
            self.ways.good(way);
        }
        if settings.bursts {
            self.measure(now, &frame, ack.copy);
            // Its acknowledgement had been lost alone: the pull that it left on again brings no other one.
            self.unasked += u32::from(ack.old && frame.copies.is_instead(ack.copy));
        }
        self.hear(now, true);
        self.let_go();
        true
    }

    /// How long the answer to a copy of a frame took: known of the first and of the last. [RFC 6298 s3, s5.7]
    #[inline]
    fn measure(&mut self, now: Time, frame: &Frame, copy: u8) {
        if self.tries > 0 {
            // Frames are heard of again: what this one says of others, it says now.
            self.look_at = now;
        }
        let took = match frame.copies.which(copy) {
            Which::First => frame.age(now),
            Which::Last => now.since(frame.sent_at),
            Which::Any => {
                self.took = self.took.max(frame.age(now));
                return;
            }
        };
        self.takes.sample(took);
        let left = Time(now.0 - took.0);
        (self.newest, self.took) = (self.newest.max(left), Span::ZERO);
    }

    /// How long the answer to a probe took, of which the last frame begins at `offset`.
    pub(super) fn measure_probe(&mut self, now: Time, offset: u64, settings: &Settings) {
        let frame = self.place(offset, settings).map(|at| self.ring[at]);
        let Some(frame) = frame.filter(|frame| frame.fate == Fate::Sent) else {
            return;
        };
        if frame.behind > 0 {
            self.took = self.took.max(frame.age(now));
        } else {
            self.takes.sample(now.since(frame.sent_at));
        }
    }

    /// Lets go of frames at the front that have arrived.
    #[inline]
    fn let_go(&mut self) {
        while self
            .ring
            .front()
            .is_some_and(|frame| frame.fate == Fate::Arrived)
        {
            self.ring.pop_front();
            self.first += 1;
        }
    }

    /// Everything before `upto` has arrived.
    pub(super) fn confirm(&mut self, upto: u64, settings: &Settings) {
        if let Some(early) = &mut self.early {
            early.confirm(upto);
        }
        let payload = u64::from(settings.payload_max);
        while let Some(&frame) = self.ring.front() {
            if self.base + (self.first + 1) * payload > upto {
                return self.let_go();
            }
            match frame.fate {
                Fate::Sent => self.in_flight -= 1,
                Fate::Again | Fate::Lost => self.to_repeat -= 1,
                Fate::Arrived => {}
            }
            self.ring.pop_front();
            self.first += 1;
        }
    }

    /// The receiver says that it waits for data. Where it was asked, it is there and knows the message; unless all of it
    /// has arrived, as far as is known here: then it has forgotten what it had.
    pub(super) fn on_presence(&mut self, now: Time) {
        if self.active && self.asked > 0 && !self.has_arrived() {
            self.progress = now;
        }
    }

    /// Whether the receiver has said of every frame that it is there.
    fn has_arrived(&self) -> bool {
        self.frames > 0 && self.next() == self.frames && self.ring.is_empty()
    }

    /// Has the frame at `at` leave again; false where it is not on its way.
    fn repeat(&mut self, at: usize, settings: &Settings, worse: bool) -> bool {
        let frame = &mut self.ring[at];
        if frame.fate != Fate::Sent {
            return false;
        }
        frame.fate = Fate::Again;
        let way = frame.way;
        self.again.push_back(self.first + at as u64);
        (self.in_flight, self.to_repeat) = (self.in_flight - 1, self.to_repeat + 1);
        if settings.scoreboard {
            self.ways.bad(way, if worse { WORSE } else { 1 });
        }
        true
    }

    /// The frame that begins at `offset` was trimmed. False where no such frame is on its way.
    #[inline]
    pub(super) fn on_nack(&mut self, now: Time, offset: u64, settings: &Settings) -> bool {
        let at = self.place(offset, settings).filter(|_| self.active);
        let new = at.is_some_and(|at| self.repeat(at, settings, false));
        if new {
            self.hear(now, false);
        }
        new
    }

    /// The frame that begins at `offset` was sent back by a switch; whether it leaves at once. `None` where no
    /// such frame is on its way. [ndp s3.2.4]
    pub(super) fn on_bounced(
        &mut self,
        now: Time,
        offset: u64,
        settings: &Settings,
    ) -> Option<bool> {
        let at = self.place(offset, settings).filter(|_| self.active)?;
        if !self.repeat(at, settings, true) {
            return None;
        }
        (self.progress, self.waits_from) = (now, now);
        let recent = self.history & ((1 << HISTORY) - 1);
        let words = u32::from(self.words);
        // Nobody will pull; or others arrive, so that it was a bad way and no incast.
        let alone = self.in_flight == 0 && self.expected == 0 && self.unasked + self.may == 0;
        let bad_way = words > 0 && recent.count_ones() * 4 >= words;
        let again = alone || bad_way;
        self.unasked += u32::from(again);
        self.held_back += u32::from(!again);
        Some(again)
    }

    /// A word that tells how many pulls there were so far, perhaps of a frame that has `arrived`; whether a new one finds
    /// something to send.
    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the part that is told of a number"
    )]
    pub(super) fn on_pulls(
        &mut self,
        now: Time,
        pulls: u16,
        arrived: bool,
        settings: &Settings,
    ) -> bool {
        let ahead = pulls.wrapping_sub(self.pulled as u16);
        if ahead == 0 || ahead >= 1 << 15 {
            return false;
        }
        let before = self.pulled;
        self.pulled = before.wrapping_add(ahead.into());
        self.jump = (before, self.pulled);
        if !self.active {
            return false;
        }
        self.expected = self.expected.saturating_sub(ahead.into());
        // DEVIATES(ndp): a pull that finds nothing to send is kept for the next frame that is cut.
        // DEVIATES(aeolus): so is one that finds nothing lost and nothing unsent, while a burst is on its way.
        // An honest receiver pulls no more than has come to it, and that is no more than a window.
        let mut may = self.may + u32::from(ahead);
        if arrived && self.held_back > 0 {
            // DEVIATES(ndp): who came back is pulled no more, for as long as the message takes. The pull did not wait: nobody
            // else is pulled, and the line of the receiver has time.
            self.held_back -= 1;
            may += 1;
        }
        self.may = may.min(settings.window);
        self.waits_from = now;
        if !self.has_arrived() {
            self.progress = now;
        }
        self.answered = true;
        self.has_more()
    }

    /// Whether the receiver may have said that all has arrived.
    pub(super) fn may_be_done(&self, ordinal: u16) -> bool {
        let this = ordinal == told(self.ordinal.wrapping_add(1));
        let left = self.next() == self.frames && (self.frames > 0 || self.ended);
        self.active && left && this
    }

    /// When silence means something.
    #[inline]
    pub(super) fn due(&self, settings: &Settings) -> Time {
        if !self.active {
            Time::NEVER
        } else if self.in_flight > 0 {
            self.look_at
        } else if self.is_ready() || (self.next() == 0 && !self.ended) {
            Time::NEVER
        } else {
            self.waits_from.after(settings.patience(self.asked))
        }
    }

    /// Whether frames are to be looked at now.
    pub(super) fn looks(&self, now: Time) -> bool {
        self.in_flight > 0 && self.look_at <= now
    }

    /// The moment of [`Sender::due`] may have come.
    pub(super) fn on_silence(&mut self, now: Time, settings: &Settings) -> Silence {
        if self.due(settings) > now {
            return Silence::Wait;
        }
        if now >= self.progress.after(settings.timeout) {
            return Silence::GiveUp;
        }
        if self.in_flight > 0 {
            return self.look(now, settings);
        }
        self.asked = (self.asked + 1).min(TRIES_MAX);
        (self.owes, self.waits_from) = (true, now);
        Silence::Ask
    }

    /// How long nothing may be heard of a frame that left at `sent_at`: what left before the last repetition waits no longer for it.
    fn wait(&self, sent_at: Time, settings: &Settings) -> Span {
        let before = u8::from(sent_at < self.tried_at);
        let tries = self.tries.saturating_sub(before);
        if settings.bursts {
            // DEVIATES(ndp): `rto` is a constant, as its ports hold eight frames. Here it is what answers take at least.
            let takes = self.takes.bound().unwrap_or_default().max(self.took);
            settings.rto_behind_queues(takes, tries)
        } else {
            settings.rto(tries)
        }
    }

    /// Looks for frames of which too long nothing was heard.
    fn look(&mut self, now: Time, settings: &Settings) -> Silence {
        if self.bursting {
            // The line takes its time; probes follow.
            self.look_at = now.after(self.wait(now, settings));
            return Silence::Wait;
        }
        let (mut lost, mut newest, mut asks, mut suspects) = (0, Time::ZERO, false, 0_u32);
        self.look_at = Time::NEVER;
        for at in 0..self.ring.len() {
            let Frame { sent_at, fate, .. } = self.ring[at];
            if fate != Fate::Sent {
                continue;
            }
            let due = sent_at.after(self.wait(sent_at, settings));
            if due > now.after(settings.soon) {
                self.look_at = self.look_at.min(due);
                continue;
            }
            if self.is_probed(at, settings) {
                // Its probe, or the answer, is what is missing. It leaves no second time unless it is known lost.
                self.ring[at].behind = self.ring[at].behind(now);
                self.ring[at].sent_at = now;
                self.look_at = self.look_at.min(now.after(self.wait(now, settings)));
                asks = true;
            } else if settings.bursts && sent_at >= self.newest {
                suspects += 1;
                continue;
            } else if self.repeat(at, settings, true) {
                lost += 1;
            }
            newest = newest.max(sent_at);
        }
        if suspects > 0 {
            lost += self.try_one(now, &mut newest, settings);
        }
        if lost == 0 && !asks {
            return Silence::Wait;
        }
        // What was to come back for each of them, a pull, does not.
        self.unasked += lost;
        if newest >= self.tried_at {
            self.tries = (self.tries + 1).min(TRIES_MAX);
            self.tried_at = now;
        }
        if let Some(early) = self.early.as_mut().filter(|_| asks) {
            early.ask();
        }
        Silence::Repeat(lost)
    }

    /// Nothing that left as late as some frames, or later, has arrived: all may wait in one queue. The oldest leaves again,
    /// and says more of the others. Behind the last frame of the message there is nothing else to say it: they leave
    /// when pulled. How many leave at once.
    fn try_one(&mut self, now: Time, newest: &mut Time, settings: &Settings) -> u32 {
        let is_over = self.next() == self.frames;
        let mut tried = 0;
        for at in 0..self.ring.len() {
            let Frame { sent_at, fate, .. } = self.ring[at];
            let is_suspect = fate == Fate::Sent && sent_at >= self.newest;
            let due = sent_at.after(self.wait(sent_at, settings));
            let is_late = due <= now.after(settings.soon);
            if !is_suspect || !is_late || self.is_probed(at, settings) {
                continue;
            }
            if tried == 0 || is_over {
                self.repeat(at, settings, true);
                *newest = (*newest).max(sent_at);
                tried += 1;
            }
        }
        let again = now.after(self.wait(now, settings).times(2));
        self.look_at = self.look_at.min(again);
        tried.min(1)
    }

    /// Whether the frame at `at` is one of the burst of which a probe will tell.
    fn is_probed(&self, at: usize, settings: &Settings) -> bool {
        let number = self.first + at as u64;
        let offset = self.base + number * u64::from(settings.payload_max);
        let early = self.early.as_ref();
        early.is_some_and(|early| early.is_unknown(offset))
    }

    /// A pause explains the silence: it counts from now on.
    pub(super) fn excuse(&mut self, now: Time, until: Time) {
        (self.progress, self.waits_from, self.look_at) = (now, now, until);
    }

    /// Its state and what it waits for; `None` where it is idle.
    pub(super) fn stuck(&self) -> Option<(String, String)> {
        let state = format!(
            "sending message {}, {} of {} frames have left, {} of them in vain",
            self.ordinal,
            self.next(),
            self.frames,
            self.to_repeat
        );
        let waits_for = if self.is_ready() {
            "the line".to_owned()
        } else if self.has_more() {
            format!("pull {}", self.pulled.wrapping_add(1))
        } else if self.in_flight > 0 {
            format!("an answer to {} frames", self.in_flight)
        } else {
            "DONE".to_owned()
        };
        self.active.then_some((state, waits_for))
    }
}

impl Sending for Sender {
    fn is_idle(&self) -> bool {
        !self.active
    }

    fn done(&self) -> u32 {
        self.ordinal
    }

    fn check(&self) {
        let count =
            |are: fn(Fate) -> bool| self.ring.iter().filter(|frame| are(frame.fate)).count();
        assert_eq!(count(|fate| fate == Fate::Sent), self.in_flight as usize);
        assert_eq!(count(Fate::repeats), self.to_repeat as usize);
        self.waiting.check();
        assert!(self.ring.len() <= RING_MAX && self.next() <= self.frames);
        assert!(self.to_repeat as usize <= self.again.len());
        assert!(self.in_flight == 0 || self.look_at < Time::NEVER);
        let front = self.ring.front();
        assert!(front.is_none_or(|frame| frame.fate != Fate::Arrived));
        if !self.active {
            assert!(self.waiting.is_empty() && self.ring.is_empty() && !self.owes);
            assert!(self.early.is_none() && !self.bursting);
        }
        if let Some(early) = &self.early {
            early.check();
        }
        self.ways.check();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn broken_books_are_noticed() {
        let breaks: [fn(&mut Sender); 4] = [
            |x| x.in_flight = 1,
            |x| x.to_repeat = 1,
            |x| x.owes = true,
            |x| x.bursting = true,
        ];
        Sender::default().check();
        for (n, spoil) in breaks.into_iter().enumerate() {
            let mut x = Sender::default();
            spoil(&mut x);
            assert!(std::panic::catch_unwind(|| x.check()).is_err(), "{n}");
        }
    }
}
