//! The first round trip where switches drop it first: what leaves unasked is a burst, a probe closes it, and what was
//! lost of it leaves again as granted. [aeolus s3.3, s4.2]
//!
//! Grants count bytes that leave, and go beyond the end of a message by what was lost of its burst: a receiver counts
//! that when the probe comes. A sender spends what was granted on what was lost first.

use super::header::{AT_MAX, Data, Got, Granted, Probe, ProbeAck, told};
use super::host::Host;
use super::params::Params;
use super::receiver::{Receiver, Verdict};
use super::sender::{Piece, Sender};
use super::settings::Settings;
use model::intent::DropSpec;
use model::{Class, ConnId, Cx, Encap, Lifetime, Packet};
use parts::pre_credit::{Burst, Order};
use units::Time;

/// What is done with the first round trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FirstRtt {
    /// What leaves unasked is as good as what was granted. [homa s3.2]
    Plain,
    /// Switches drop what left unasked first. [aeolus s3]
    Aeolus,
    /// What leaves unasked takes only the gaps of the rest, and is never lost. [aeolus s2.3]
    Gaps,
}

impl Params {
    /// Whether what leaves unasked is a burst that a probe closes.
    pub(super) fn bursts(&self) -> bool {
        self.first_rtt != FirstRtt::Plain
    }

    /// Whom every port drops first.
    pub(super) fn drop_spec(&self, encap: Encap) -> Option<DropSpec> {
        (self.first_rtt == FirstRtt::Aeolus).then(|| DropSpec {
            victim: Class::Unscheduled,
            threshold: self.drop_threshold.bytes(encap),
            measure: self.drop_measure,
            by: self.drop_by,
        })
    }
}

impl Granted {
    /// How far it lies behind `from` in what was granted.
    #[inline]
    pub(super) const fn behind(&self, from: u64) -> u64 {
        (self.at as u64).wrapping_sub(from) & AT_MAX as u64
    }

    /// How far it lies before `granted`.
    #[inline]
    const fn before(&self, granted: u64) -> u64 {
        granted.wrapping_sub(self.at as u64) & AT_MAX as u64
    }
}

/// No more bytes than this are called missing: the field has 42 bits.
const MISSING_MAX: u64 = (1 << 42) - 1;

impl Probe {
    /// The empty piece there, which tells of the message what any piece does.
    pub(super) const fn as_data(self) -> Data {
        Data {
            offset: self.upto,
            has: self.has,
            length: 0,
            left: self.left,
            ordinal: self.ordinal,
            lifetime: self.lifetime,
            cut: self.cut,
            answer: self.answer,
        }
    }
}

/// The part of a position of grants that travels.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "28 bits")]
pub(super) const fn grants_told(position: u64) -> u32 {
    (position & AT_MAX as u64) as u32
}

/// How far the burst is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// It leaves.
    Open,
    /// It has left, and its probe has to follow.
    Owes,
    /// So has the probe.
    Asked,
    /// The probe was answered, or there is no burst.
    Known,
}

/// What a receiver says of a burst.
#[derive(Clone, Copy, Debug)]
pub(super) enum Word {
    /// The piece there has come.
    Got(u64),
    /// The probe behind what left up to there has, and so many bytes of that have not.
    Probe(u64, u64),
}

/// What a sender knows of the burst of one message.
#[derive(Debug)]
pub(super) struct Early {
    /// By the priority of each frame, and with its place and length.
    burst: Burst<(u64, u16)>,
    stage: Stage,
    /// Where it begins and ends in the stream.
    base: u64,
    until: u64,
    /// How far grants were used: what was granted beyond may leave.
    spent: u64,
    /// The least urgent priority of it: what is behind it there is behind all of it.
    priority: u8,
    /// Bytes of it that the receiver misses, until as many are all that nobody has acknowledged.
    missing: Option<u64>,
}

impl Early {
    /// The burst that begins and ends here, whose packets may overtake each other.
    pub(super) fn new(base: u64, until: u64, overtakes: bool) -> Self {
        let order = if overtakes {
            Order::Probe
        } else {
            Order::Priority
        };
        let mut burst = Burst::new(order);
        burst.open(until - base);
        Self {
            burst,
            stage: if until > base {
                Stage::Open
            } else {
                Stage::Known
            },
            base,
            until,
            spent: until,
            priority: 0,
            missing: None,
        }
    }

    /// Bytes that may leave twice.
    #[inline]
    fn length(&self) -> u64 {
        self.until - self.base
    }

    fn sent(&mut self, piece: &Piece) {
        let frame = (piece.offset, piece.length);
        self.burst
            .sent(piece.offset, frame, piece.length, piece.priority.into());
        self.priority = self.priority.max(piece.priority);
        if piece.offset + u64::from(piece.length) == self.until {
            self.close();
        }
    }

    /// Nothing more leaves unasked.
    fn close(&mut self) {
        self.burst.close();
        self.stage = Stage::Owes;
    }

    /// What nobody has acknowledged was lost, if the receiver misses as much: where it is more, the words of what has
    /// come are still under way.
    fn infer(&mut self) {
        let owed = self.burst.owed_between(self.base, self.until);
        let owed: u64 = owed.map(|(_, length)| u64::from(length)).sum();
        if self.missing.is_some_and(|missing| owed <= missing) {
            self.missing = None;
            if let Some(last) = self.burst.last() {
                self.burst.on_probe_ack(last);
            }
        }
    }

    pub(super) fn check(&self) {
        self.burst.check();
        assert!(self.base <= self.until);
    }
}

/// With a burst.
impl Sender {
    /// How far grants can go: what may leave twice comes on top.
    #[inline]
    pub(super) fn grants_end(&self) -> u64 {
        self.end + self.early.as_ref().map_or(0, |early| early.length())
    }

    /// Whether more than what has to leave anyway may leave.
    #[inline]
    pub(super) fn may_spend(&self) -> bool {
        let Some(early) = &self.early else {
            return self.next < self.granted;
        };
        match early.stage {
            Stage::Open | Stage::Owes => true,
            Stage::Asked | Stage::Known if early.spent >= self.granted => false,
            Stage::Asked | Stage::Known => {
                early.burst.lost() > 0
                    || self.next < self.end
                    || (early.burst.owed() > 0 && !self.cut)
            }
        }
    }

    /// The priority of the probe, where it is what leaves next.
    #[inline]
    pub(super) fn probes_at(&self) -> Option<u8> {
        let early = self.early.as_ref()?;
        (early.stage == Stage::Owes).then_some(early.priority)
    }

    /// Whether the burst leaves.
    #[inline]
    pub(super) fn is_bursting(&self) -> bool {
        let early = self.early.as_ref();
        early.is_some_and(|early| early.stage == Stage::Open)
    }

    /// The probe, which leaves.
    fn take_probe(&mut self, now: Time, lifetime: Lifetime, answer: bool, whole: u32) -> Probe {
        let early = self.early.as_mut().expect("it owes a probe");
        early.stage = Stage::Asked;
        let upto = early.until;
        let data = self.data(self.empty_at(upto), lifetime, answer, whole);
        self.sent_at = now;
        Probe {
            upto,
            has: data.has,
            left: data.left,
            ordinal: data.ordinal,
            lifetime,
            cut: data.cut,
            answer,
        }
    }

    /// The next piece of the burst, or what a grant releases: what was lost, what never left, and then what
    /// nobody has acknowledged. [aeolus s3.3]
    pub(super) fn take_early(&mut self, now: Time, settings: &Settings) -> Piece {
        let full = u64::from(settings.payload_max);
        let early = self.early.as_mut().expect("the caller looked");
        if early.stage == Stage::Open {
            let (offset, length) = (self.next, full.min(early.until - self.next));
            let priority = settings.unasked(self.end - offset, self.end - self.base);
            let piece = self.take_new(now, length, priority, true);
            self.early
                .as_mut()
                .expect("a burst stays while its pieces leave")
                .sent(&piece);
            return piece;
        }
        let (at, priority) = (early.spent, self.granted_at());
        let early = self
            .early
            .as_mut()
            .expect("a burst stays while its pieces leave");
        let mut repeat = early.burst.take_lost();
        if repeat.is_none() && self.next == self.end {
            repeat = early.burst.take_unknown();
        }
        let piece = match repeat {
            Some((offset, length)) => self.piece(offset, length.into(), priority, false, true),
            None => {
                let length = full.min(self.end - self.next);
                self.take_new(now, length, priority, false)
            }
        };
        let early = self
            .early
            .as_mut()
            .expect("a burst stays while its pieces leave");
        early.spent += u64::from(piece.length);
        let spent = early.spent;
        self.has_used(spent);
        Piece {
            at: Some(at),
            ..piece
        }
    }

    /// What was to leave ends where it has come to.
    pub(super) fn cut_burst(&mut self) {
        let (high, end) = (self.high, self.grants_end());
        let Some(early) = &mut self.early else {
            return;
        };
        if early.stage == Stage::Open {
            (early.until, early.spent, self.granted) = (high, high, high);
            early.close();
            if high == early.base {
                early.stage = Stage::Known;
            }
        } else {
            self.granted = self.granted.min(end);
        }
    }

    /// The receiver asks for what is before `upto`, and `[from, lost)` leaves again for that.
    pub(super) fn ask_burst(&mut self, (from, lost): (u64, u64), upto: u64) {
        if let Some(early) = &mut self.early {
            // Where the receiver knows of the burst, it has granted what was lost of it: that is spent so.
            if early.stage == Stage::Known {
                let owed = early.burst.owed_between(from, lost);
                early.spent += owed.map(|(_, length)| u64::from(length)).sum::<u64>();
            }
            early.burst.settle(from, lost);
            let grant = early.spent + upto.saturating_sub(self.next);
            self.granted = self.granted.max(grant);
        }
    }

    /// Nothing was heard of the burst: whether its probe leaves again.
    pub(super) fn asks_again(&mut self) -> bool {
        let Some(early) = &mut self.early else {
            return false;
        };
        let asks = early.stage == Stage::Asked;
        if asks {
            early.stage = Stage::Owes;
        }
        asks
    }

    /// The piece of the burst at `offset` has come.
    fn on_got(&mut self, now: Time, offset: u64) {
        let Some(early) = self.early.as_mut() else {
            return;
        };
        if early.burst.on_ack(offset) {
            early.infer();
            self.hear(now);
        }
    }

    /// The probe of the burst that ends at `upto` has come, and so many bytes of it have not.
    fn on_probe_ack(&mut self, now: Time, upto: u64, missing: u64) {
        let Some(early) = self.early.as_mut().filter(|early| early.until == upto) else {
            return;
        };
        if early.stage == Stage::Open {
            return;
        }
        early.stage = Stage::Known;
        early.missing = Some(missing);
        early.infer();
        self.hear(now);
    }
}

/// With a burst.
impl Receiver {
    /// The probe behind the burst has come: whether some of that may still come, which is waited for.
    fn waits(&mut self, now: Time, upto: u64, settings: &Settings) -> bool {
        let waits = settings.overtakes && !self.probed && self.misses(upto);
        if waits && self.closes.is_none() {
            self.closes = Some((now.after(settings.late), upto));
        }
        waits
    }

    /// Whether something before `upto` has not arrived.
    fn misses(&self, upto: u64) -> bool {
        self.missing_before(upto) > 0
    }

    /// A piece that left unasked came behind its probe, and had counted as lost: as much less is to be granted, if that
    /// has not been granted.
    pub(super) fn comes_late(&mut self, length: u16) {
        let length = u64::from(length).min(self.lost);
        if self.probed && self.granted + length <= self.grants_end() {
            self.lost -= length;
        }
    }

    /// The burst has left up to where its probe says: what is missing of it was lost, so many bytes. None where that
    /// was known.
    fn close(&mut self, upto: u64, settings: &Settings) -> u64 {
        self.closes = None;
        if self.probed {
            return 0;
        }
        self.probed = true;
        let upto = upto.min(self.end);
        self.burst_reaches(upto, settings);
        if self.granted == self.unasked && upto < self.unasked {
            // The burst is shorter than this end counts with: nobody let the rest leave.
            (self.granted, self.unasked) = (upto, upto);
        }
        let missing = self.missing_before(upto);
        self.grants_more(missing);
        missing
    }

    /// What leaves unasked goes on to here at least: where that is more than this end counts with, its frames are smaller.
    /// No word of a peer brings it farther than grants go.
    pub(super) fn burst_reaches(&mut self, until: u64, settings: &Settings) {
        let until = until.min(self.end).min(self.farthest(settings));
        self.unasked = self.unasked.max(until);
        // Grants say where they reach: those within the burst let nothing more leave.
        self.granted = self.granted.max(self.unasked.min(self.end));
    }

    /// So many bytes were granted, or left unasked, in vain. [ours: no more than the message has]
    fn grants_more(&mut self, bytes: u64) {
        self.lost = (self.lost + bytes).min(self.end - self.base);
    }

    /// A granted piece has come.
    #[inline]
    fn on_granted(&mut self, cx: &mut Cx<'_>, conn: ConnId, data: &Granted) -> Verdict {
        if data.ordinal != told(self.ordinal) {
            return self.of_another(data.ordinal);
        }
        if !self.active || data.offset + u64::from(data.length) > self.end {
            return Verdict::Nonsense;
        }
        if data.offset < self.base {
            return Verdict::Past;
        }
        (self.heard, self.tries) = (cx.now, 0);
        // What its last frame took beyond the grant counts as granted, as without a burst.
        let (within, length) = (data.before(self.granted), u64::from(data.length));
        if 0 < within && within < length {
            let beyond = self.granted + length - within;
            self.granted = beyond.min(self.grants_end());
        }
        if self.keep(cx, conn, data.offset, data.length) {
            if data.again && !self.probed && data.offset < self.unasked {
                // A more urgent repetition has overtaken the probe, which will not name it as lost.
                self.grants_more(length);
            }
            return Verdict::New;
        }
        // A grant was used for nothing: another takes its place. [ours]
        self.grants_more(length);
        Verdict::Old
    }
}

impl Host {
    /// The burst of a message has left: its probe follows.
    #[cold]
    pub(super) fn transmit_probe(&mut self, now: Time, slot: u32, priority: u8, out: &mut Packet) {
        let conn = &mut self.conns[slot];
        let whole = conn.rx.ordinal;
        let probe = conn.tx.take_probe(now, conn.lifetime, !conn.opener, whole);
        *out = probe.packet(conn.peer, conn.id, self.settings.small());
        out.set_priority(priority);
        self.counts.probes += 1;
    }

    /// A piece of a burst has come.
    pub(super) fn say_got(&mut self, slot: u32, data: &Data) {
        let conn = &self.conns[slot];
        let got = Got {
            offset: data.offset,
            ordinal: data.ordinal,
        };
        let packet = got.packet(conn.peer, conn.id, self.settings.small());
        self.say(packet);
    }

    /// A piece of our burst has come, or its probe.
    pub(super) fn on_burst_word(&mut self, cx: &Cx<'_>, id: ConnId, ordinal: u16, word: Word) {
        if !self.settings.bursts {
            self.totals.nonsense += 1;
            return;
        }
        let Some(slot) = self.conns.find(id) else {
            return;
        };
        let tx = &mut self.conns[slot].tx;
        if !tx.active || ordinal != told(tx.ordinal) {
            return;
        }
        match word {
            Word::Got(offset) => tx.on_got(cx.now, offset),
            // On one way nothing that left before the probe, and no word of it, can come behind it.
            Word::Probe(upto, _) if !self.settings.overtakes => {
                tx.on_probe_ack(cx.now, upto, u64::MAX);
            }
            Word::Probe(upto, missing) => tx.on_probe_ack(cx.now, upto, missing),
        }
        self.settle(slot);
    }

    /// A receiver hears what may bring more to grant: a message that was granted whole waits for its turn again then.
    #[inline]
    fn hears<T>(&mut self, slot: u32, hear: impl FnOnce(&mut Receiver, &Settings) -> T) -> T {
        let rx = &mut self.conns[slot].rx;
        let was_granted = rx.is_granted();
        let heard = hear(rx, &self.settings);
        if was_granted && !rx.is_granted() {
            self.join_oldest(slot);
        }
        heard
    }

    /// The burst of a message has left.
    pub(super) fn on_probe(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let (id, probe) = (packet.conn, Probe::read(packet));
        if !self.settings.bursts {
            self.totals.nonsense += 1;
            return;
        }
        let data = probe.as_data();
        let Some(slot) = self.find_or_open(cx, id, &data, false) else {
            return;
        };
        let verdict = self.conns[slot].rx.on_data(cx, id, &data);
        if !self.is_news(cx, slot, verdict) {
            return;
        }
        if !self.conns[slot]
            .rx
            .waits(cx.now, probe.upto, &self.settings)
        {
            self.close_burst(slot, probe.upto);
        }
        self.after_data(cx, slot, probe.has);
    }

    /// What has not come of a burst is lost: says how much that is, and means to grant it.
    fn close_burst(&mut self, slot: u32, upto: u64) {
        let hear = |rx: &mut Receiver, settings: &Settings| rx.close(upto, settings);
        self.counts.missed += self.hears(slot, hear);
        let conn = &self.conns[slot];
        let answer = ProbeAck {
            upto,
            missing: conn.rx.missing_before(upto).min(MISSING_MAX),
            ordinal: told(conn.rx.ordinal),
        };
        let answer = answer.packet(conn.peer, conn.id, self.settings.small());
        self.say(answer);
    }

    /// Closes the burst of a message that has waited for late ones, where it is time or nothing is missing.
    pub(super) fn close_late(&mut self, now: Time, slot: u32) {
        let rx = &self.conns[slot].rx;
        if let Some((at, upto)) = rx.closes
            && (at <= now || !rx.misses(upto))
        {
            self.close_burst(slot, upto);
        }
    }

    /// A granted piece of a message whose burst switches drop first.
    #[inline]
    pub(super) fn on_granted(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let (id, data) = (packet.conn, Granted::read(packet));
        if !self.settings.bursts {
            self.totals.nonsense += 1;
            return;
        }
        let Some(slot) = self.conns.find(id) else {
            if self.conns.remembers(id) {
                self.totals.duplicates += 1;
                return self.ack(cx, id, 1);
            }
            return self.say_unknown(cx, id, data.ordinal, true);
        };
        let conn = &mut self.conns[slot];
        if conn.opener != data.answer {
            self.totals.nonsense += 1;
            return;
        }
        if !conn.rx.active && data.ordinal == told(conn.rx.ordinal) {
            return self.say_unknown(cx, id, data.ordinal, false);
        }
        let verdict = self.hears(slot, |rx, _| rx.on_granted(cx, id, &data));
        self.totals.duplicates += u64::from(verdict.is_copy());
        if verdict == Verdict::Old {
            self.on_progress(cx.now, slot);
        }
        if self.is_news(cx, slot, verdict) {
            self.after_data(cx, slot, data.has);
        }
    }
}
