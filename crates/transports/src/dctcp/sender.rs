//! The half of a connection that has data: window, loss detection, retransmission.
//!
//! Losses are repaired in one way. `pipe` estimates what is still in the network: what was sent,
//! less what was selectively acknowledged, less what counts as lost, plus what was sent again.
//! [RFC 6675 s4] Everything below `lost_edge` that was not acknowledged counts as lost. With
//! selective acknowledgements the edge follows from the blocks; `NewReno` moves it over one packet
//! at a time [RFC 6582]; a timeout moves it over everything, which is go-back-N that skips what
//! the receiver is known to have.

mod look;

use super::Rules;
use super::alpha::Alpha;
use super::header::Ack;
use super::outgoing::{Outgoing, Segment, TooLong};
use super::rtt::Rtt;
use super::window::{Reduction, Window};
use model::Excused;
use parts::range_set::RangeSet;
use units::{Span, Time};

/// Blocks that a sender remembers; further ones are as good as not acknowledged. [ours: a window
/// of 16 MB in which every 30th packet is lost]
const BLOCKS_MAX: usize = 256;

/// Which rule chose a segment. [RFC 6675 s4, `NextSeg`]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// Rules 1 and 3: it is missing below what has arrived.
    Missing,
    /// Rule 2: it was never sent.
    New,
    /// Rule 4: the tail may be lost and nothing behind it can tell.
    Rescue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The window may grow.
    Open,
    /// It fell because of marks and may not grow or fall again before something beyond `until`,
    /// which left after that, is acknowledged; then everything below `from` was.
    /// What is acknowledged counts as `ahead` bytes more where the fall is spread.
    Reduced { until: u64, from: u64, ahead: u32 },
    /// Duplicate acknowledgements told of a loss; repaired when `until` is acknowledged.
    Recovery {
        until: u64,
        partial: bool,
        rescued: bool,
    },
    /// A timer told; repaired when `until` is acknowledged.
    Loss { until: u64 },
}

/// A packet that lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Nonsense;

/// The sending half of a connection. What every packet touches comes first, to lie together.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Sender {
    /// Everything below is acknowledged: SND.UNA.
    una: u64,
    /// Everything below was sent at least once: SND.NXT.
    next: u64,
    window: Window,
    outgoing: Outgoing,
    /// The packet whose round trip is being measured: its end and when it left. [RFC 6298 s3]
    timed: Option<(u64, Time)>,
    /// When anything last left.
    sent_at: Time,
    /// When the oldest unacknowledged packet is overdue; [`Time::NEVER`] with nothing in flight.
    rto_at: Time,
    phase: Phase,
    /// Nothing is known or presumed to be out of order: all in flight is in the network.
    calm: bool,
    /// Whether the newest acknowledgement echoed a mark.
    echoed: bool,
    /// Whether the window fell for a mark last, not for a loss.
    marked_last: bool,
    /// The next repair leaves whatever the window says. [RFC 6675 s5 step 4.3]
    forced: bool,
    /// Timeouts in a row.
    timeouts: u8,
    /// How often the timeout has doubled.
    doublings: u8,
    dup_acks: u8,

    alpha: Alpha,
    rtt: Rtt,
    /// What arrived out of order, as far as the receiver told.
    blocks: RangeSet<BLOCKS_MAX>,
    /// What is below and not acknowledged counts as lost.
    lost_edge: u64,
    /// What is missing below was sent again in this episode: `HighRxt`.
    repaired: u64,
    /// Bytes sent again and not acknowledged since.
    again: u64,
    /// Without blocks each duplicate acknowledgement stands for one packet that has arrived.
    arrived: u64,
    /// A timeout ended here: without blocks, duplicates up to here may be answers to our own
    /// repetitions and tell of no loss. [RFC 6582 s3.2 step 1]
    guard: u64,
    excused: Excused,
}

impl Sender {
    pub(super) fn new(rules: &Rules) -> Self {
        Self {
            una: 0,
            next: 0,
            window: Window::new(rules),
            outgoing: Outgoing::new(),
            phase: Phase::Open,
            calm: true,
            // The handshake's ECE counts. [authors' ns-2 `tcp-full.cc`]
            echoed: true,
            marked_last: false,
            alpha: Alpha::new(rules.alpha_initial, rules.gain),
            rtt: Rtt::new(rules),
            rto_at: Time::NEVER,
            timeouts: 0,
            doublings: 0,
            timed: None,
            sent_at: Time::ZERO,
            blocks: RangeSet::new(),
            lost_edge: 0,
            repaired: 0,
            again: 0,
            dup_acks: 0,
            arrived: 0,
            forced: false,
            guard: 0,
            excused: Excused::default(),
        }
    }

    /// The handshake measured a round trip.
    pub(super) fn on_handshake(&mut self, took: Span, rules: &Rules) {
        self.rtt.sample(took, rules);
    }

    /// Queues a message of `length` bytes.
    pub(super) fn push(&mut self, now: Time, length: u64, rules: &Rules) -> Result<(), TooLong> {
        if rules.idle_restart && self.is_idle() && self.next > 0 {
            let timeout = self.rtt.timeout(0, rules).0;
            let idle = now.since(self.sent_at).0 / timeout;
            if idle > 0 {
                self.window.after_idle(idle, rules);
            }
        }
        self.outgoing.push(length)
    }

    /// Cuts every message that has not left whole after what has left of it.
    pub(super) fn cancel(&mut self) {
        self.outgoing.cancel(self.next);
    }

    /// A message that everything is acknowledged of, each once.
    pub(super) fn take_finished(&mut self) -> Option<u32> {
        self.outgoing.take_finished(self.una)
    }

    /// Whether every message was acknowledged.
    pub(super) fn is_idle(&self) -> bool {
        self.una == self.outgoing.end()
    }

    /// Sets a timer that has run out to a later moment, where `excuse` knows one for its wait.
    pub(super) fn excuse(
        &mut self,
        now: Time,
        rules: &Rules,
        excuse: impl FnOnce(Span, &mut Excused) -> Option<Time>,
    ) {
        if self.rto_at <= now {
            let later = excuse(self.rtt.timeout(self.doublings, rules), &mut self.excused);
            self.rto_at = later.unwrap_or(self.rto_at);
        }
    }

    /// Excuses of its timer, which is that of the question while this is not answered.
    pub(super) const fn excused(&mut self) -> &mut Excused {
        &mut self.excused
    }

    /// When [`Sender::on_timeout`] is due.
    pub(super) const fn deadline(&self) -> Time {
        self.rto_at
    }
}

/// What leaves.
impl Sender {
    /// Whether [`Sender::transmit`] would give something now.
    #[inline]
    pub(super) fn can_send(&self, rules: &Rules) -> bool {
        if self.calm {
            self.has_room(rules)
        } else {
            self.choose(rules).is_some()
        }
    }

    /// Whether new data fits into the window while all in flight is in the network. The receive
    /// window bounds the congestion window, so it is kept too.
    #[inline]
    fn has_room(&self, rules: &Rules) -> bool {
        self.next < self.outgoing.end()
            && self.next - self.una + self.outgoing.next_span(self.next, rules.payload_max)
                <= self.window.size()
    }

    /// What leaves now.
    #[inline]
    pub(super) fn transmit(&mut self, now: Time, rules: &Rules) -> Option<Segment> {
        let segment = if self.calm {
            if !self.has_room(rules) {
                return None;
            }
            let segment = self.outgoing.next_segment(self.next, rules.payload_max);
            self.leave_new(now, segment.seq + segment.span());
            // While all is well, what was sent and not acknowledged is in the network.
            self.window.on_sent(self.next - self.una);
            segment
        } else {
            let (why, segment) = self.choose(rules)?;
            self.leave(now, why, segment, rules)
        };
        if self.rto_at == Time::NEVER {
            self.rto_at = self.rtt.deadline(now, self.doublings, rules);
        }
        Some(segment)
    }

    /// A new packet leaves; the next one starts at `after`.
    #[inline(always)] // once per packet of data
    fn leave_new(&mut self, now: Time, after: u64) {
        self.next = after;
        self.outgoing.on_sent(after);
        self.timed.get_or_insert((after, now));
        self.sent_at = now;
    }

    #[inline(never)]
    fn leave(&mut self, now: Time, why: Why, segment: Segment, rules: &Rules) -> Segment {
        let after = segment.seq + segment.span();
        match why {
            Why::New => self.leave_new(now, after),
            Why::Missing => {
                self.repaired = after;
                let blocks = &self.blocks;
                let arrived = blocks.bytes_below(after) - blocks.bytes_below(segment.seq);
                self.again += segment.span() - arrived;
                // An answer could be to either copy. [Karn and Partridge 1987]
                (self.forced, self.timed) = (false, None);
            }
            Why::Rescue => {
                self.timed = None;
                if let Phase::Recovery { rescued, .. } = &mut self.phase {
                    *rescued = true;
                }
            }
        }
        self.window.on_sent(self.pipe(rules));
        self.sent_at = now;
        let again = why != Why::New;
        Segment { again, ..segment }
    }

    /// What may leave now, by the rules of RFC 6675's `NextSeg` in their order.
    #[inline(never)]
    fn choose(&self, rules: &Rules) -> Option<(Why, Segment)> {
        let in_order =
            (rules.window_in_order || rules.go_back_n) && matches!(self.phase, Phase::Loss { .. });
        let pipe = self.pipe(rules);
        let fits = |piece: &Segment| {
            let before = if in_order { piece.seq - self.una } else { pipe };
            before + piece.span() <= self.window.size()
        };
        if self.lost_edge > self.una
            && let Some(segment) = self.missing(self.lost_edge, rules)
        {
            return (self.forced || fits(&segment)).then_some((Why::Missing, segment));
        }
        if self.next < self.outgoing.end() {
            let segment = self.outgoing.next_segment(self.next, rules.payload_max);
            let within = self.next + segment.span() - self.una <= rules.receive_window;
            if within {
                return fits(&segment).then_some((Why::New, segment));
            }
        }
        let Phase::Recovery {
            until,
            partial,
            rescued,
        } = self.phase
        else {
            return None;
        };
        if let Some((top, _)) = self.blocks.last()
            && let Some(segment) = self.missing(top.min(until), rules)
        {
            return fits(&segment).then_some((Why::Missing, segment));
        }
        // DEVIATES(rfc6675): rule 4 repeats the tail as soon as nothing else can be sent, though it
        // may well be on its way. We wait until a repair was answered and the tail was not.
        if rescued || !partial || !rules.sack {
            return None;
        }
        self.tail(rules)
            .filter(fits)
            .map(|segment| (Why::Rescue, segment))
    }

    /// The first packet below `until` that is missing and was not sent again; after a timeout that goes
    /// back all the way, whether it is missing or not.
    fn missing(&self, until: u64, rules: &Rules) -> Option<Segment> {
        let from = self.repaired.max(self.una);
        let all = rules.go_back_n && matches!(self.phase, Phase::Loss { .. });
        let (start, stop) = if all {
            (from < until).then_some((from, until))?
        } else {
            self.blocks.first_gap(from, until)?
        };
        Some(self.outgoing.segment_at(start, stop, rules.payload_max))
    }

    /// The last packet in flight, where the receiver has not told of it and it was sent once.
    fn tail(&self, rules: &Rules) -> Option<Segment> {
        let top = self.blocks.last().map_or(self.una, |(_, end)| end);
        let from = top.max(self.repaired);
        if from >= self.next {
            return None;
        }
        let last = self
            .outgoing
            .last_segment_start(self.next, rules.payload_max);
        Some(
            self.outgoing
                .segment_at(last.max(from), self.next, rules.payload_max),
        )
    }

    /// Bytes in the network, as far as we can tell.
    #[inline]
    fn pipe(&self, rules: &Rules) -> u64 {
        let flight = self.next - self.una;
        if self.calm {
            return flight;
        }
        if !rules.limited_transmit && matches!(self.phase, Phase::Open | Phase::Reduced { .. }) {
            return flight;
        }
        let stays = !rules.lost_leaves && matches!(self.phase, Phase::Recovery { .. });
        let known = match (stays, self.forced) {
            (false, _) => self.lost(),
            (true, false) => rules.payload_max, // the first repair
            (true, true) => 0,
        };
        (flight - self.blocks.total() + self.again).saturating_sub(known + self.arrived)
    }

    /// Bytes that count as lost.
    fn lost(&self) -> u64 {
        if self.lost_edge <= self.una {
            return 0;
        }
        self.lost_edge - self.una - self.blocks.bytes_below(self.lost_edge)
    }
}

/// What comes back.
impl Sender {
    /// An acknowledgement arrived.
    ///
    /// # Errors
    /// It acknowledges what was never sent.
    #[inline]
    pub(super) fn on_ack(&mut self, now: Time, ack: Ack, rules: &Rules) -> Result<(), Nonsense> {
        let news = self.una < ack.cumulative && ack.cumulative <= self.next;
        if !(self.calm && news && ack.reach == 0 && !ack.done) {
            return self.on_any_ack(now, ack, rules);
        }
        let echo = ack.echo && rules.ecn;
        let acked = ack.cumulative - self.una;
        self.advance(now, ack.cumulative, echo, rules);
        self.dup_acks = 0;
        self.move_window(acked, echo, rules);
        self.fall_for_mark(echo, acked, rules);
        Ok(())
    }

    /// The same for every case.
    #[inline(never)]
    fn on_any_ack(&mut self, now: Time, ack: Ack, rules: &Rules) -> Result<(), Nonsense> {
        let mut una = ack.cumulative;
        if ack.done {
            // The receiver forgot a message of which it cannot have all.
            if self.next < self.outgoing.end() {
                return Err(Nonsense);
            }
            una = self.outgoing.end();
        }
        if una > self.next || ack.block().is_some_and(|(_, end)| end > self.next) {
            return Err(Nonsense);
        }
        if una < self.una {
            // Overtaken on the way; a later one told the same and more.
            return Ok(());
        }
        let (acked, echo) = (una - self.una, ack.echo && rules.ecn);
        if acked > 0 {
            self.advance(now, una, echo, rules);
        }
        let new = match ack.block() {
            Some((start, end)) if rules.sack => self.on_block(start.max(una), end),
            _ => 0,
        };
        let duplicate = if rules.sack && !rules.go_back_n {
            new > 0
        } else {
            acked == 0 && self.una < self.next
        };
        if acked > 0 {
            self.dup_acks = 0;
        }
        self.dup_acks = self.dup_acks.saturating_add(u8::from(duplicate));
        self.step(acked, duplicate, echo, rules);
        self.fall_for_mark(echo && (acked > 0 || !rules.count_acks), acked, rules);
        self.calm = self.is_calm();
        Ok(())
    }

    /// Marks came back: the window falls, once per window. [RFC 8257 s3.3]
    #[inline]
    fn fall_for_mark(&mut self, echo: bool, acked: u64, rules: &Rules) {
        if echo && self.phase == Phase::Open {
            self.window.on_mark(self.alpha.value(), rules);
            self.marked_last = true;
            let counted = if rules.prr_ahead {
                2 * acked + rules.payload_max
            } else {
                0
            };
            self.phase = Phase::Reduced {
                until: self.next,
                from: self.una,
                ahead: u32::try_from(counted).unwrap_or(u32::MAX),
            };
            if rules.prr {
                self.spread(acked * u64::from(rules.prr_ahead), rules);
            }
        }
    }

    /// The window falls along with what is acknowledged, not at once. [RFC 6937 s3.1]
    #[inline(never)]
    fn spread(&mut self, acked: u64, rules: &Rules) {
        let Phase::Reduced { until, from, ahead } = self.phase else {
            return;
        };
        let reduction = Reduction {
            flight: until - from,
            delivered: self.una - from + u64::from(ahead),
            sent: self.next - until,
        };
        let pipe = self.pipe(rules);
        self.window.spread(&reduction, pipe, acked, rules);
    }

    fn is_calm(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Reduced { .. })
            && self.blocks.is_empty()
            && self.arrived == 0
    }

    /// Everything below `una` has arrived; an `echo` says that it was marked.
    #[inline]
    fn advance(&mut self, now: Time, una: u64, echo: bool, rules: &Rules) {
        let top = self.top(una, rules);
        if self
            .alpha
            .on_ack(una - self.una, echo, (una, top), rules.alpha_beyond)
        {
            self.window.on_round(self.pipe(rules));
        }
        if self.repaired > self.una {
            let edge = self.repaired.min(una);
            self.again -= edge - self.una - self.blocks.drop_below(edge);
        }
        if !self.blocks.is_empty() {
            self.blocks.drop_below(una);
        }
        self.una = una;
        if let Some((end, left_at)) = self.timed
            && una >= end
        {
            self.rtt.sample(now.since(left_at), rules);
            (self.timed, self.doublings) = (None, 0);
        }
        self.timeouts = 0;
        if !rules.karn {
            self.doublings = 0;
        }
        // NewReno restarts the timer for the first partial acknowledgement alone, so that a
        // window full of holes ends in a timeout and not in one hole per round trip.
        // [RFC 6582 s4, the impatient variant]
        let keep = !rules.sack && matches!(self.phase, Phase::Recovery { partial: true, .. });
        if self.una == self.next {
            self.rto_at = Time::NEVER;
        } else if !keep {
            self.rto_at = self.rtt.deadline(now, self.doublings, rules);
        }
    }

    /// What was sent last in order: after a timeout what was sent again, where alpha follows that.
    fn top(&self, una: u64, rules: &Rules) -> u64 {
        let again = rules.marks_after_timeout && self.next == self.lost_edge;
        let repaired = self.repaired.max(una);
        if again { repaired } else { self.next }
    }

    /// Notes a block and returns how much of it is news.
    fn on_block(&mut self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        // Pieces of it that were sent again have now left the network.
        let edge = self.repaired.clamp(start, end);
        let mut new = 0;
        if start < edge {
            let again = self.blocks.insert(start, edge).unwrap_or(0);
            self.again -= again;
            new += again;
        }
        if edge < end {
            new += self.blocks.insert(edge, end).unwrap_or(0);
        }
        new
    }

    /// Without a loss: the window grows by `acked` bytes, as far as [`Growth`] lets it.
    #[inline]
    fn move_window(&mut self, acked: u64, echo: bool, rules: &Rules) {
        let mut grows = !echo || (rules.grows_marked && self.echoed);
        if acked > 0 {
            self.echoed = echo;
        }
        if let Phase::Reduced { until, .. } = self.phase {
            if self.una > until {
                // At `until` the echo is still of what left before the cut. [Linux `CA_CWR`]
                self.phase = Phase::Open;
                if rules.prr {
                    self.window.fallen();
                }
            } else if rules.prr {
                self.spread(acked, rules);
            }
            grows &= rules.grows_reduced;
        }
        if grows && acked > 0 {
            if rules.grows_marked {
                self.fall_for_mark(echo, acked, rules);
            }
            self.window.grow(acked, rules);
        }
    }

    /// Moves the state machine by `acked` new bytes, a duplicate or not.
    fn step(&mut self, acked: u64, duplicate: bool, echo: bool, rules: &Rules) {
        match self.phase {
            Phase::Open | Phase::Reduced { .. } => {
                self.move_window(acked, echo, rules);
                self.look_for_loss(acked, duplicate, rules);
            }
            Phase::Recovery { until, rescued, .. } => {
                if acked > 0 {
                    self.echoed = echo;
                }
                if self.una >= until {
                    self.end_recovery(rules);
                    return;
                }
                if rules.sack {
                    self.lost_edge = self.lost_edge.max(self.edge_of_loss(rules));
                } else if acked > 0 {
                    self.on_partial(acked, rules);
                } else if duplicate {
                    self.arrived += rules.payload_max;
                }
                if acked > 0 {
                    self.phase = Phase::Recovery {
                        until,
                        partial: true,
                        rescued,
                    };
                }
            }
            Phase::Loss { until } => {
                let first_echo = echo && !self.echoed;
                if acked > 0 {
                    self.echoed = echo;
                }
                let over = self.una >= until;
                let spared = self.marked_last && !rules.timeout_after_mark;
                let heeds = rules.marks_after_timeout && !self.marked_last && !over;
                if heeds && echo && acked > 0 {
                    self.window.on_mark(self.alpha.value(), rules);
                    (self.marked_last, self.phase) = (true, Phase::Loss { until: self.next });
                }
                if acked > 0 && !(first_echo && rules.grows_marked) {
                    self.window.grow_after_timeout(acked, rules);
                }
                if over {
                    self.phase = Phase::Open;
                    if rules.marks_after_timeout && self.marked_last {
                        self.phase = Phase::Reduced {
                            until,
                            from: until,
                            ahead: 0,
                        };
                    }
                    self.forget_loss();
                } else if spared && duplicate && self.dup_acks >= rules.dup_thresh {
                    self.on_duplicate(rules);
                }
            }
        }
    }

    /// Counts duplicates and begins a recovery where they tell of a loss. [RFC 6675 s5, RFC 6582]
    #[inline]
    fn look_for_loss(&mut self, acked: u64, duplicate: bool, rules: &Rules) {
        if !rules.sack {
            if acked > 0 {
                self.arrived = 0;
            } else if duplicate {
                // What arrived makes room for new data. [RFC 3042]
                self.arrived += rules.payload_max;
            }
        }
        if duplicate {
            self.on_duplicate(rules);
        }
    }

    fn on_duplicate(&mut self, rules: &Rules) {
        let edge = self.edge_of_loss(rules);
        let enough = self.dup_acks >= rules.dup_thresh || edge > self.una;
        let trusted = rules.sack || self.una > self.guard || self.guard == 0;
        if enough && trusted && self.una < self.next {
            let flight = self.next - self.una;
            self.window.on_loss(flight, self.alpha.value(), rules);
            self.marked_last = false;
            let first = self
                .outgoing
                .segment_at(self.una, self.next, rules.payload_max);
            self.lost_edge = edge.max(self.una + first.span());
            (self.repaired, self.again, self.forced) = (self.una, 0, true);
            let until = self.next;
            self.phase = Phase::Recovery {
                until,
                partial: false,
                rescued: false,
            };
        }
    }

    /// `NewReno`: the packet behind the repaired one is missing too. [RFC 6582 s3.2 step 3]
    fn on_partial(&mut self, acked: u64, rules: &Rules) {
        // The window falls by what was acknowledged and rises by the packet that made it so.
        self.arrived = self
            .arrived
            .saturating_sub(acked.saturating_sub(rules.payload_max));
        let first = self
            .outgoing
            .segment_at(self.una, self.next, rules.payload_max);
        self.lost_edge = self.una + first.span();
        self.forced = true;
    }

    fn end_recovery(&mut self, rules: &Rules) {
        if self.lost_edge > self.una {
            // What was sent during the repair was lost too: the next window has its own loss.
            let flight = self.next - self.una;
            self.window.on_loss(flight, self.alpha.value(), rules);
            self.marked_last = false;
            self.phase = Phase::Recovery {
                until: self.next,
                partial: false,
                rescued: false,
            };
            return;
        }
        self.phase = Phase::Open;
        self.forget_loss();
        if !rules.sack {
            self.window.after_reno(self.next - self.una, rules);
        }
    }

    fn forget_loss(&mut self) {
        assert_eq!(self.again, 0, "all that was sent again is acknowledged");
        (self.lost_edge, self.repaired) = (self.una, self.una);
        (self.dup_acks, self.arrived, self.forced) = (0, 0, false);
    }

    /// What is missing below this counts as lost: enough has arrived above. [RFC 6675 s4, `IsLost`]
    fn edge_of_loss(&self, rules: &Rules) -> u64 {
        let (mut blocks, mut bytes) = (0, 0);
        for (start, end) in self.blocks.iter().rev() {
            blocks += 1;
            bytes += end - start;
            let threshold = u64::from(rules.dup_thresh);
            if blocks >= threshold || bytes > (threshold - 1) * rules.payload_max {
                return start;
            }
        }
        self.una
    }

    /// The oldest packet is overdue. False where that is one time too many.
    pub(super) fn on_timeout(&mut self, now: Time, rules: &Rules) -> bool {
        assert!(self.una < self.next, "a timer without a packet");
        let flight = self.next - self.una;
        // What a recovery has lowered already is not lowered again for the same loss.
        let recovers = matches!(self.phase, Phase::Recovery { .. });
        let spared = self.marked_last && !rules.timeout_after_mark;
        let again = !rules.count_acks && (self.timeouts > 0 || recovers);
        let lower = !again && !spared;
        self.window
            .on_timeout(lower, flight, self.alpha.value(), rules);
        self.marked_last = spared;
        if rules.marks_after_timeout {
            self.alpha.cut_short(self.una);
        }
        self.timeouts += 1;
        self.doublings = self.doublings.saturating_add(1);
        (self.phase, self.calm) = (Phase::Loss { until: self.next }, false);
        (self.lost_edge, self.repaired, self.again) = (self.next, self.una, 0);
        (self.dup_acks, self.arrived, self.forced) = (0, 0, false);
        (self.guard, self.timed) = (self.next, None);
        self.rto_at = self.rtt.deadline(now, self.doublings, rules);
        self.timeouts <= rules.retries_max
    }
}
