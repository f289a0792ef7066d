//! One egress port of a switch: its queues, its line, and what it has counted.
//!
//! A port has a form, which keeps what waits and says what leaves next; its line, with when that is idle again; what it has
//! counted; and since when gates have been closed. A FIFO promises its line at once and keeps nothing.

mod alone;
mod apart;
mod calm;
mod told;

pub(crate) use told::Offered;

use crate::discipline::{Backlog, Dequeue, Discipline, Gate, OnLine, Verdict};
use crate::form::{Form, Wants};
use crate::queues::Spilled;
use crate::stands::Stands;
use crate::store::Paused;
use crate::switch::{Line, Loss, Outlet};
use model::{ByClass, ByReason, DropReason, Hop, Packet};
use std::collections::VecDeque;
use units::{LineTime, Span, Time};

/// Packets and bytes that went on a line, by class number; eight, so that no index is checked. Bytes are the lower half of a
/// number, and packets the upper: both lie in one line of the cache, and are counted at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent([u128; 8]);

impl Sent {
    /// Counts `packet`.
    #[inline]
    pub fn add(&mut self, packet: &Packet) {
        self.0[packet.class_index()] += 1 << 64 | u128::from(packet.size);
    }

    /// Packets so far.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the upper half")]
    pub fn packets(&self) -> ByClass<u64> {
        ByClass::from_fn(|class| (self.0[class as usize] >> 64) as u64)
    }

    /// Bytes so far.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the lower half")]
    pub fn bytes(&self) -> ByClass<u64> {
        ByClass::from_fn(|class| self.0[class as usize] as u64)
    }
}

/// What a port has done with a packet that came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// It waits, or has left.
    Kept,
    /// It waits, and others that waited had to make room.
    MadeRoom,
    /// It has no room.
    Dropped(DropReason),
    /// It goes back to its sender.
    Bounced,
}

/// What a port has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets put on the line.
    pub packets: ByClass<u64>,
    /// Bytes put on the line.
    pub bytes: ByClass<u64>,
    /// Packets dropped at the port, by class.
    pub dropped: ByClass<u64>,
    /// Packets dropped at the port, by reason.
    pub drop_reasons: ByReason<u64>,
    /// Packets dropped at the port, by priority.
    pub drop_priorities: [u64; 8],
    /// Packets that left marked.
    pub marked: u64,
    /// Most bytes of data that waited at once in the port's buffer, with what was left of the frame on
    /// the line.
    pub queue_max: u64,
    /// Most credits that waited at once.
    pub credits_max: u32,
    /// Pauses that the switch has asked of the neighbour on this line.
    pub pauses: u64,
    /// How long at least one of its own gates was closed.
    pub paused: Span,
    /// The longest that one of them was.
    pub pause_longest: Span,
}

/// A packet that a gate holds back.
#[derive(Clone, Copy, Debug)]
pub struct HeldPacket<'a> {
    /// The packet.
    pub packet: &'a Packet,
    /// The port by which it came.
    pub ingress: u16,
    /// What is paused of it.
    pub paused: Paused,
    /// Since when that gate has let nothing more pass.
    pub since: Time,
}

/// The line behind a port.
#[derive(Debug)]
#[repr(C)] // see `Port`
struct Egress {
    /// What went on it.
    sent: Sent,
    /// When the line is idle again.
    free_at: Time,
    /// When the port's next choice can be made; never, while nothing waits that may leave.
    choose_at: Time,
    delay: Span,
    line: LineTime,
    link: u32,
    /// It says what it knows in the paths beside packets that leave.
    telemetry: bool,
    /// Something waits that gates alone keep: nothing may pass it.
    held_back: bool,
}

impl Egress {
    /// What a packet is told that leaves now: what waits behind it, and what was sent before.
    #[cold]
    fn hop(&self, start: Time, queue: u64) -> Hop {
        Hop::new(start, queue, self.sent.bytes().sum(), self.line.rate())
    }

    /// Has what it knows written into the path beside `packet`, which leaves `queues` now.
    #[inline(always)] // nothing where nothing travels beside packets
    fn say<O: Outlet>(&self, start: Time, packet: &Packet, queues: &impl Discipline, out: &mut O) {
        if O::CARRIES && self.telemetry && packet.has_record() {
            out.add(packet, &self.hop(start, queues.backlog().data_bytes));
        }
    }

    /// The same, of `held` bytes of data that wait.
    #[inline(always)] // nothing where nothing travels beside packets
    fn say_with<O: Outlet>(&self, start: Time, packet: &Packet, held: u64, out: &mut O) {
        if O::CARRIES && self.telemetry && packet.has_record() {
            out.add(packet, &self.hop(start, held));
        }
    }

    /// What is on the line.
    #[inline]
    fn on_line(&self) -> OnLine {
        OnLine {
            until: self.free_at,
            line: self.line,
        }
    }

    /// Puts a packet on the line at `start`, as large as it came.
    #[inline(always)]
    fn transmit(&mut self, start: Time, packet: &Packet, out: &mut impl Outlet) {
        let takes = self.line.of(u64::from(packet.size));
        self.put(start + takes, packet, out);
    }

    /// Puts a packet on the line that may have been cut here.
    ///
    /// # Panics
    /// If it is smaller than any frame: the length of a simulator's window rests on that.
    #[inline(always)]
    fn transmit_checked(&mut self, start: Time, packet: &Packet, out: &mut impl Outlet) {
        if packet.size < model::FRAME_SMALLEST {
            too_small(packet);
        }
        self.transmit(start, packet, out);
    }

    /// Puts a packet on the line whose last bit is on it at `end`.
    #[inline(always)]
    fn put(&mut self, end: Time, packet: &Packet, out: &mut impl Outlet) {
        self.sent.add(packet);
        self.free_at = end;
        out.send(self.link, packet, end + self.delay);
    }
}

/// One egress port. What a packet needs that finds it idle lies in one line of the cache, but for counters: the end of the
/// line behind it, and which form it has, and where.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Port {
    egress: Egress,
    form: Form,
    /// For a first-in first-out port: below this wait, no packet is dropped or marked.
    quiet_below: Span,
    /// For a first-in first-out port: the longest time that the line was promised ahead.
    promised_max: Span,
    number: u16,
    /// Whether the port is in the switch's list of those that wait.
    listed: bool,
    /// The flow control of the switch may say something of other ports when something leaves here.
    pub(crate) loud: bool,
    shapes_credits: bool,
    /// Set at the first drop or pause.
    rare: Option<Box<Rare>>,
    /// Frames of the link's own, before everything else, and until when the last of them is on the line.
    frames: VecDeque<Packet>,
    own_until: Time,
}

const _: () = assert!(
    std::mem::offset_of!(Port, egress.free_at) % 64 == 0
        && std::mem::offset_of!(Port, form) % 64 == 48,
    "one line of the cache"
);

/// What most ports never count.
#[derive(Clone, Debug, Default)]
struct Rare {
    dropped: ByClass<u64>,
    drop_reasons: ByReason<u64>,
    drop_priorities: [u64; 8],
    pauses: u64,
    stands: Stands,
}

impl Rare {
    /// Counts a packet that was dropped before `link`.
    fn count_drop(
        &mut self,
        now: Time,
        packet: &Packet,
        reason: DropReason,
        link: u32,
        out: &mut impl Outlet,
    ) {
        self.dropped[packet.class()] += 1;
        self.drop_reasons[reason] += 1;
        self.drop_priorities[usize::from(packet.priority() & 7)] += 1;
        out.lost(now, packet, Loss::Port(link, reason));
    }
}

impl Port {
    #[inline] // set-up makes one for every line
    pub(crate) fn new(form: Form, of: &Line<'_>, number: u16, telemetry: bool) -> Self {
        let quiet = form.admission().map(crate::Admission::quiet_below);
        Self {
            form,
            egress: Egress {
                line: of.line,
                delay: of.delay,
                link: of.link,
                free_at: Time::ZERO,
                choose_at: Time::NEVER,
                sent: Sent::default(),
                telemetry,
                held_back: false,
            },
            number,
            listed: false,
            loud: true,
            shapes_credits: of.spec.credit().is_some(),
            quiet_below: quiet.map_or(Span::ZERO, |bytes| of.line.of(bytes)),
            promised_max: Span::ZERO,
            frames: VecDeque::new(),
            own_until: Time::ZERO,
            rare: None,
        }
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Whether nothing has ever come to it: it has nothing to tell.
    pub fn is_untouched(&self) -> bool {
        let asked = self.listed || self.egress.held_back || self.egress.choose_at < Time::NEVER;
        let used = self.egress.free_at > Time::ZERO || !self.frames.is_empty();
        !asked && !used && self.rare.is_none()
    }

    /// A first-in first-out port by itself, for the queue before a host's line; none where what `of` asks for
    /// is not known when a packet comes.
    pub fn alone(of: &Line<'_>) -> Option<Self> {
        let (buffer, rng) = (of.spec.buffer.get(), of.rng.clone());
        let form = Form::new(of.spec, buffer, of.line, rng, Wants::Cheapest);
        matches!(form, Form::Fifo(_)).then(|| Self::new(form, of, 0, false))
    }

    /// The link that it feeds.
    #[inline]
    pub fn link(&self) -> u32 {
        self.egress.link
    }

    #[inline]
    pub(crate) fn number(&self) -> u16 {
        self.number
    }

    #[inline]
    pub(crate) fn choose_at(&self) -> Time {
        self.egress.choose_at
    }

    #[inline]
    pub(crate) fn is_fifo(&self) -> bool {
        matches!(self.form, Form::Fifo(_))
    }

    pub(crate) fn shapes_credits(&self) -> bool {
        self.shapes_credits
    }

    /// Whether the line is idle at `now` and nothing waits for it.
    #[inline]
    pub(crate) fn is_idle(&self, now: Time) -> bool {
        self.egress.choose_at == Time::NEVER && self.egress.free_at <= now && !self.egress.held_back
    }

    /// Whether it promises its line to packets that come, and counts them then.
    #[inline]
    pub fn promises(&self) -> bool {
        self.is_fifo()
    }

    /// When the line is idle again after all that it was given.
    #[inline]
    pub fn busy_until(&self) -> Time {
        self.egress.free_at
    }

    /// When the first bit of a packet went on the line that arrives at the far end at `packet.at`.
    #[inline]
    pub fn left_at(&self, packet: &Packet) -> Time {
        let takes = self.egress.line.of(u64::from(packet.size));
        Time(packet.at.0 - self.egress.delay.0 - takes.0)
    }

    /// When the line would be idle if nothing else came.
    pub(crate) fn idle_from(&self, now: Time) -> Time {
        let free = self.egress.free_at.max(now);
        match &self.form {
            Form::Fifo(_) => free,
            form => free + self.egress.line.of(form.backlog().data_bytes),
        }
    }

    /// Bytes that take room in the port's buffer or the switch's memory.
    #[inline]
    pub fn held(&self) -> u64 {
        if self.is_fifo() { 0 } else { self.form.held() }
    }

    /// Puts a packet on the line at `start`, as large as it came.
    #[inline(always)]
    pub(crate) fn transmit<O: Outlet>(&mut self, start: Time, packet: &Packet, out: &mut O) {
        self.tell(start, packet, out);
        self.egress.transmit(start, packet, out);
    }

    /// Puts a packet on the line that may have been cut here.
    ///
    /// # Panics
    /// If it is smaller than any frame.
    #[inline]
    pub(crate) fn transmit_checked<O: Outlet>(
        &mut self,
        start: Time,
        packet: &Packet,
        out: &mut O,
    ) {
        self.tell(start, packet, out);
        self.egress.transmit_checked(start, packet, out);
    }

    /// What went on the line.
    #[inline]
    pub fn sent(&self) -> &Sent {
        &self.egress.sent
    }

    /// The same, for packets that go on it past the port.
    #[inline]
    pub fn sent_mut(&mut self) -> &mut Sent {
        &mut self.egress.sent
    }

    /// Has what it knows written into the path beside `packet`, which leaves now.
    #[inline(always)] // nothing where nothing travels beside packets
    fn tell<O: Outlet>(&self, start: Time, packet: &Packet, out: &mut O) {
        if O::CARRIES && self.egress.telemetry && packet.has_record() {
            let queue = match &self.form {
                Form::Fifo(_) => 0,
                form => form.backlog().data_bytes,
            };
            out.add(packet, &self.egress.hop(start, queue));
        }
    }

    /// Promises the line of a FIFO to a packet that has come in at `now`, if it is admitted.
    ///
    /// # Panics
    /// If the port is of another form and does not admit every packet.
    #[inline(always)]
    pub fn promise(&mut self, now: Time, packet: &mut Packet, out: &mut impl Outlet) {
        let wait = self.egress.free_at.since(now);
        if wait >= self.quiet_below
            && let Err(reason) = self.judge(wait, packet)
        {
            self.drop(now, packet, reason, out);
            return;
        }
        // A branch, because it is rarely the longest.
        let promised = wait + self.egress.line.of(u64::from(packet.size));
        if promised > self.promised_max {
            self.promised_max = promised;
        }
        self.egress.put(now + promised, packet, out);
    }

    /// Judges a packet before a FIFO that has promised its line for `wait`.
    #[inline(never)]
    fn judge(&mut self, wait: Span, packet: &mut Packet) -> Result<(), DropReason> {
        let Form::Fifo(fifo) = &mut self.form else {
            unreachable!("only FIFO ports promise")
        };
        let level = crate::Level {
            queue: self.egress.line.bytes(wait),
            ..crate::Level::default()
        };
        fifo.admission.judge_closely(level, packet)
    }

    #[cold]
    pub(crate) fn drop(
        &mut self,
        now: Time,
        packet: &Packet,
        reason: DropReason,
        out: &mut impl Outlet,
    ) {
        let link = self.egress.link;
        self.rare().count_drop(now, packet, reason, link, out);
    }

    /// Offers `packet` to the queues.
    #[inline]
    pub(crate) fn enqueue(&mut self, now: Time, packet: &mut Packet) -> Verdict {
        let line = self.egress.on_line();
        self.form.enqueue(now, line, packet)
    }

    /// The same, to the queue of number `assigned` where there is one.
    pub(crate) fn enqueue_in(
        &mut self,
        now: Time,
        assigned: Option<u8>,
        packet: &mut Packet,
    ) -> Verdict {
        let line = self.egress.on_line();
        match (assigned, &mut self.form) {
            (Some(queue), Form::Numbered(queues)) => queues.enqueue_in(queue, now, line, packet),
            (Some(queue), Form::Queues(queues)) => queues.enqueue_in(queue, now, line, packet),
            (_, form) => form.enqueue(now, line, packet),
        }
    }

    /// Whether packets that waited have had to make room.
    #[inline]
    pub(crate) fn has_spilled(&self) -> bool {
        match &self.form {
            Form::Queues(queues) => queues.has_spilled(),
            Form::Trimming(queues) => queues.has_spilled(),
            _ => false,
        }
    }

    #[inline(always)] // once per arrival
    pub(crate) fn pass(&mut self, now: Time, packet: &mut Packet) -> bool {
        match &mut self.form {
            Form::Priority(queues) => queues.lets_pass(packet) || self.form.pass(now, packet),
            Form::Credit(queues) => queues.pass(now, packet),
            Form::Trimming(queues) => queues.pass(now, packet),
            form => form.pass(now, packet),
        }
    }

    #[inline]
    pub(crate) fn dequeue(&mut self, now: Time, out: &mut Packet) -> Dequeue {
        self.form.dequeue(now, out)
    }

    /// The queue of the packet that left last, where queues have numbers.
    pub(crate) fn last_queue(&self) -> u8 {
        match &self.form {
            Form::Queues(queues) => queues.last_queue(),
            Form::Gated(queues) => queues.last_queue(),
            Form::Numbered(queues) => queues.last_queue(),
            _ => 0,
        }
    }

    /// What is done with `packet` where nothing has room for it: how many bytes stay of it, where it is cut, and whether a
    /// head goes back to its sender.
    #[cold]
    pub(crate) fn cuts(&self, packet: &Packet) -> (Option<u16>, bool) {
        match &self.form {
            Form::Queues(queues) => queues.cuts(packet),
            Form::Trimming(queues) => queues.cuts(packet),
            _ => (None, false),
        }
    }

    /// A packet that had to make room, with what becomes of it.
    #[inline]
    pub(crate) fn spilled(&mut self) -> Option<(Packet, Spilled)> {
        match &mut self.form {
            Form::Queues(queues) => queues.spilled(),
            Form::Trimming(queues) => queues.spilled(),
            _ => None,
        }
    }

    pub(crate) fn gate(&mut self, now: Time, gate: Gate) {
        self.form.gate(gate);
        self.egress.held_back = false; // to be found out anew
        let gated = self.form.is_gated();
        self.rare().stands.note(now, gate, gated);
    }

    /// Since when gates have been closed; none where all are open.
    pub fn paused_since(&self) -> Option<Time> {
        self.rare.as_ref()?.stands.any_since()
    }

    /// Counts a pause that was asked of the neighbour.
    pub(crate) fn count_pause(&mut self) {
        self.rare().pauses += 1;
    }

    /// At the end of a run: gates that are closed were so until `now`.
    pub fn close_books(&mut self, now: Time) {
        if let Some(rare) = &mut self.rare {
            rare.stands.close(now);
        }
    }

    /// Packets that gates hold back.
    pub fn held_packets(&self) -> Vec<HeldPacket<'_>> {
        let Some(rare) = &self.rare else {
            return Vec::new();
        };
        let of = |(packet, paused, number)| HeldPacket {
            packet,
            ingress: ingress_of(packet),
            paused,
            since: rare.stands.since(packet, paused, number),
        };
        match &self.form {
            Form::Queues(queues) => queues.held_packets().into_iter().map(of).collect(),
            Form::Numbered(queues) => queues.held_packets().into_iter().map(of).collect(),
            Form::Gated(queues) => {
                let held = queues.held_packets();
                held.map(|packet| of((packet, Paused::All, 0))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Keeps a frame of the link's own until the line is idle.
    pub(crate) fn say(&mut self, frame: Packet) {
        self.frames.push_back(frame);
    }

    /// Puts the next frame of the link's own on the line, if there is one.
    #[inline]
    pub(crate) fn say_next(&mut self, now: Time, out: &mut impl Outlet) -> bool {
        let Some(frame) = self.frames.pop_front() else {
            return false;
        };
        self.transmit_checked(now, &frame, out);
        self.egress.choose_at = self.egress.free_at;
        self.own_until = self.egress.free_at;
        true
    }

    /// Something may leave as soon as the line is idle.
    #[inline]
    pub(crate) fn look_at(&mut self, now: Time) {
        self.egress.choose_at = self.egress.choose_at.min(now.max(self.egress.free_at));
    }

    #[inline]
    pub(crate) fn wait(&mut self, until: Time) {
        self.egress.choose_at = until;
    }

    #[inline]
    pub(crate) fn wait_after(&mut self, next: Time) {
        self.egress.choose_at = next.max(self.egress.free_at);
    }

    /// Nothing may leave until something comes, or a gate opens.
    #[inline]
    pub(crate) fn rest(&mut self, held_back: bool) {
        self.egress.choose_at = Time::NEVER;
        self.egress.held_back = held_back;
    }

    /// Puts it in the switch's list; false where it is there.
    #[inline]
    pub(crate) fn enlist(&mut self) -> bool {
        !std::mem::replace(&mut self.listed, true)
    }

    #[inline]
    pub(crate) fn delist(&mut self) {
        self.listed = false;
    }

    /// What waits at `now`: bytes of data with what is left of a frame of theirs on the line, and
    /// credits. Bytes in queues without a bound of the port's buffer are among them.
    #[inline] // once per sample
    pub fn backlog(&self, now: Time) -> Backlog {
        let line = self.data_on_line(now);
        match &self.form {
            Form::Fifo(_) => Backlog::data(line),
            form => {
                let mut backlog = form.backlog();
                backlog.data_bytes += line;
                backlog
            }
        }
    }

    /// Bytes that are left at `now` of the frame on the line, or of all to which a FIFO has promised it, where these
    /// count as the port's queue.
    #[inline] // once per sample
    fn data_on_line(&self, now: Time) -> u64 {
        let left = self.egress.free_at.since(now);
        // A frame of the link's own goes on an idle line.
        let own = self.egress.free_at == self.own_until;
        let counts = match &self.form {
            Form::Fifo(_) => true,
            form => form.counts_line(),
        };
        if left > Span::ZERO && counts && !own {
            self.egress.line.bytes(left)
        } else {
            0
        }
    }

    /// From `now` on, the greatest queue is that of what waits now and of what comes later.
    pub fn forget_peak(&mut self, now: Time) {
        let on_line = self.data_on_line(now);
        match &mut self.form {
            Form::Fifo(_) => self.promised_max = self.egress.free_at.since(now),
            form => form.forget_peak(on_line),
        }
    }

    /// Bytes put on the line so far.
    #[inline] // once per sample
    pub fn sent_bytes(&self) -> ByClass<u64> {
        self.egress.sent.bytes()
    }

    /// Packets that left marked so far.
    #[inline] // once per sample
    pub fn marked(&self) -> u64 {
        match &self.form {
            Form::Fifo(fifo) => fifo.admission.marked(),
            form => form.marked(),
        }
    }

    /// Packets dropped here so far.
    #[inline] // once per sample
    pub fn dropped(&self) -> ByClass<u64> {
        self.rare
            .as_ref()
            .map_or_else(ByClass::default, |rare| rare.dropped)
    }

    /// What it has counted so far.
    pub fn counters(&self) -> Counters {
        let mut counters = Counters {
            packets: self.egress.sent.packets(),
            bytes: self.sent_bytes(),
            dropped: self.dropped(),
            marked: self.marked(),
            ..Counters::default()
        };
        if let Some(rare) = &self.rare {
            counters.drop_reasons = rare.drop_reasons;
            counters.drop_priorities = rare.drop_priorities;
            counters.pauses = rare.pauses;
            (counters.paused, counters.pause_longest) = rare.stands.lasted();
        }
        match &self.form {
            Form::Fifo(_) => {
                counters.queue_max = self.egress.line.bytes(self.promised_max);
            }
            form => {
                counters.queue_max = form.peak().data_bytes;
                counters.credits_max = form.peak().credits;
            }
        }
        counters
    }

    /// Packets that wait, by class. A FIFO hands packets to the link as they arrive.
    pub fn waiting(&self) -> ByClass<u64> {
        let mut waiting = match &self.form {
            Form::Fifo(_) => ByClass::default(),
            form => form.waiting(),
        };
        for frame in &self.frames {
            waiting[frame.class()] += 1;
        }
        waiting
    }

    pub(crate) fn check(&self) {
        if !self.is_fifo() && !self.is_untouched() {
            self.form.check();
        }
    }
}

/// The port by which a packet came that waits at a switch with a flow control: it is kept in the place of a moment
/// that is over.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the port's number was put there"
)]
pub(crate) fn ingress_of(packet: &Packet) -> u16 {
    packet.at.0 as u16
}

#[cold]
#[inline(never)]
fn too_small(packet: &Packet) -> ! {
    panic!("{packet:?} is smaller than any frame")
}

#[cfg(test)]
mod tests;
