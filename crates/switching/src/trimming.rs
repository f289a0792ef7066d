//! Data that is cut when it finds no room, and heads that take several turns for each of its.

use crate::data_queue::Peak;
use crate::discipline::{Backlog, Dequeue, Discipline, OnLine, Verdict};
use crate::form::Apart;
use crate::packets::Packets;
use crate::queues::Spilled;
use model::intent::{Limit, Over, PortSpec, QueueSpec, Share, Takes};
use model::{ByClass, DropReason, Packet, Rng};
use units::Time;

/// The number of the queue of whole packets, and of that of heads and of what is no data.
const WHOLE: usize = 0;
const HEADS: usize = 1;

/// Two queues of so many packets each. What finds the first full loses its payload and joins the second; they take
/// turns by packets. [ndp s3.1]
#[derive(Debug)]
pub struct Trimming {
    idle: Idle,
    queues: Box<Queues>,
}

/// What a packet needs that finds nothing waiting: few bytes, which lie beside the end of the line. The queues hear of it when
/// they are looked at next.
#[derive(Debug)]
struct Idle {
    /// [`Rules::data`], and whether a packet has room in each queue.
    data: u8,
    rooms: [bool; 2],
    /// Nothing waits.
    empty: bool,
    /// The queue of the packet that passed last since then, and the size of the largest; 0 where none has.
    last: u8,
    largest: u16,
}

/// The queues themselves.
#[derive(Debug)]
struct Queues {
    bytes: u64,
    peak: Peak,
    by: Rules,
    /// Packets that whose turn it is may still send in it where the other waits.
    left: u16,
    turn: usize,
    each: [Packets; 2],
    spilled: Vec<(Packet, Spilled)>,
    rng: Rng,
}

/// What such a port does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Packets that have room in each queue.
    most: [u16; 2],
    /// Packets of each in its turn.
    turns: [u16; 2],
    /// Classes whose whole packets join the first queue, as bits.
    data: u8,
    /// Bytes that a head keeps.
    to: u16,
    /// A coin says whether what comes or the last that waits is cut.
    coin: bool,
    /// A head without room goes back to its sender.
    bounce: bool,
}

impl Rules {
    /// Those of `spec`; none where it is of another form.
    pub(crate) fn of(spec: &PortSpec) -> Option<Self> {
        let [whole, heads] = spec.queues.as_slice() else {
            return None;
        };
        let Over::Trim { to, coin, bounce } = whole.over else {
            return None;
        };
        let (Limit::Packets(waits), Limit::Packets(cut)) = (whole.limit, heads.limit) else {
            return None;
        };
        let &[Share::Packets(one), Share::Packets(other)] = spec.shares.as_slice() else {
            return None;
        };
        let takes = Takes {
            classes: whole.takes.classes,
            trimmed: Some(false),
            ..Takes::ALL
        };
        let plain = |takes, level, group, queue: &QueueSpec| QueueSpec {
            takes,
            level,
            group,
            limit: queue.limit,
            over: queue.over,
            ..QueueSpec::DATA
        };
        let fits = *whole == plain(takes, whole.level, 0, whole)
            && *heads == plain(Takes::ALL, whole.level, 1, heads)
            && heads.over == Over::Drop;
        fits.then_some(Self {
            most: [waits, cut],
            turns: [one.max(1), other.max(1)],
            data: takes.classes,
            to,
            coin,
            bounce,
        })
    }

    /// What such a port has to do with others.
    pub(crate) fn apart(&self) -> Apart {
        if self.bounce {
            Apart::UnlessFull
        } else {
            Apart::Always
        }
    }

    /// Whether one of `more` packets that come may go back, where `heads` wait. Each needs the room of one head at most:
    /// its own, or that of the packet that it has cut.
    pub(crate) fn may_bounce(&self, heads: usize, more: usize) -> bool {
        self.bounce && heads + more > usize::from(self.most[HEADS])
    }
}

impl Idle {
    /// The queue that `packet` joins.
    #[inline]
    fn queue_of(&self, packet: &Packet) -> usize {
        let whole = self.data >> packet.class_index() & 1 == 1 && !packet.trimmed();
        if whole { WHOLE } else { HEADS }
    }
}

impl Trimming {
    /// The port of `spec`; none where that is another one. `rng` is that of the general port, which throws the same coins.
    pub fn new(spec: &PortSpec, rng: Rng) -> Option<Self> {
        let by = Rules::of(spec)?;
        let idle = Idle {
            data: by.data,
            rooms: by.most.map(|most| most > 0),
            empty: true,
            last: 0,
            largest: 0,
        };
        let queues = Queues {
            bytes: 0,
            peak: Peak::default(),
            by,
            left: 0,
            turn: WHOLE,
            each: Default::default(),
            spilled: Vec::new(),
            rng,
        };
        let queues = Box::new(queues);
        Some(Self { idle, queues })
    }

    /// [`Rules::apart`].
    pub(crate) fn apart(&self) -> Apart {
        self.queues.by.apart()
    }

    /// [`Rules::may_bounce`], of those that come now.
    pub(crate) fn may_bounce(&self, more: usize) -> bool {
        let heads = self.queues.each[HEADS].len();
        self.queues.by.may_bounce(heads, more)
    }

    /// What is done with `packet` where nothing has room for it: how many bytes stay of it, where it is cut, and whether a
    /// head goes back.
    pub(crate) fn cuts(&self, packet: &Packet) -> (Option<u16>, bool) {
        let (whole, by) = (self.idle.queue_of(packet) == WHOLE, &self.queues.by);
        (whole.then_some(by.to.min(packet.size)), by.bounce)
    }

    /// The queues, which know of all that has passed.
    #[inline(always)] // once per queued packet
    fn queues(&mut self) -> &mut Queues {
        if self.idle.largest > 0 {
            self.tell();
        }
        &mut self.queues
    }

    /// Tells the queues what has passed.
    fn tell(&mut self) {
        let Idle { last, largest, .. } = &mut self.idle;
        self.queues.peak.passed(std::mem::take(largest));
        self.queues.serve_alone((*last).into());
    }
}

impl Queues {
    /// Takes `packet` into `queue`, if that has room.
    #[inline(always)] // once per queued packet
    fn join(&mut self, queue: usize, now: Time, line: OnLine, packet: &Packet) -> bool {
        let room = self.each[queue].len() < usize::from(self.by.most[queue]);
        if room {
            self.each[queue].push_back(packet);
            self.bytes += u64::from(packet.size);
            self.peak.note(self.bytes, now, line);
        }
        room
    }

    /// What becomes of a packet that finds its queue full.
    #[inline(never)]
    fn join_full(&mut self, queue: usize, now: Time, line: OnLine, packet: &mut Packet) -> Verdict {
        if queue == HEADS {
            // It was trimmed at a port before this one. [ndp s3.2.4]
            return if packet.trimmed() && !packet.bounced() && self.by.bounce {
                Verdict::Bounced
            } else {
                Verdict::Dropped(DropReason::Full)
            };
        }
        if self.by.coin
            && self.rng.below(2) == 0
            && let Some(mut other) = self.each[WHOLE].pop_back()
        {
            self.bytes -= u64::from(other.size);
            self.join(WHOLE, now, line, packet);
            match self.join_cut(now, line, &mut other) {
                Verdict::Queued(_) => {}
                Verdict::Dropped(reason) => self.spilled.push((other, Spilled::Dropped(reason))),
                Verdict::Bounced => self.spilled.push((other, Spilled::Bounced)),
            }
            return Verdict::Queued(0);
        }
        self.join_cut(now, line, packet)
    }

    /// What becomes of a whole packet that is cut.
    fn join_cut(&mut self, now: Time, line: OnLine, packet: &mut Packet) -> Verdict {
        // A frame no larger than a head becomes one of its own size.
        packet.trim(self.by.to.min(packet.size));
        if self.join(HEADS, now, line, packet) {
            Verdict::Queued(1)
        } else if self.by.bounce && !packet.bounced() {
            Verdict::Bounced
        } else {
            Verdict::Dropped(DropReason::Full)
        }
    }

    /// `queue` sends, and the other has nothing to send.
    #[inline]
    fn serve_alone(&mut self, queue: usize) {
        (self.turn, self.left) = (queue, 0);
    }
}

impl Discipline for Trimming {
    #[inline(always)] // once per queued packet
    fn enqueue(&mut self, now: Time, line: OnLine, packet: &mut Packet) -> Verdict {
        let queue = self.idle.queue_of(packet);
        let queues = self.queues();
        if !queues.join(queue, now, line, packet) {
            let verdict = queues.join_full(queue, now, line, packet);
            self.idle.empty = self.queues.bytes == 0;
            return verdict;
        }
        self.idle.empty = false;
        #[allow(clippy::cast_possible_truncation, reason = "one of two")]
        Verdict::Queued(queue as u8)
    }

    #[inline(always)] // once per arrival
    fn pass(&mut self, _now: Time, packet: &mut Packet) -> bool {
        let queue = self.idle.queue_of(packet);
        let idle = &mut self.idle;
        let passes = idle.empty && idle.rooms[queue];
        if passes {
            idle.largest = idle.largest.max(packet.size);
            #[allow(clippy::cast_possible_truncation, reason = "one of two")]
            {
                idle.last = queue as u8;
            }
        }
        passes
    }

    #[inline(always)] // once per queued packet
    fn dequeue(&mut self, _now: Time, out: &mut Packet) -> Dequeue {
        let queues = self.queues();
        let [whole, heads] = &queues.each;
        match (whole.is_empty(), heads.is_empty()) {
            (true, true) => {
                queues.left = 0;
                return Dequeue::Empty;
            }
            (false, true) => queues.serve_alone(WHOLE),
            (true, false) => queues.serve_alone(HEADS),
            (false, false) => {
                if queues.left == 0 {
                    queues.turn ^= 1;
                    queues.left = queues.by.turns[queues.turn];
                }
                queues.left -= 1;
            }
        }
        queues.each[queues.turn].pop_front(out);
        queues.bytes -= u64::from(out.size);
        let empty = queues.bytes == 0;
        self.idle.empty = empty;
        if empty {
            Dequeue::Last
        } else {
            Dequeue::Packet
        }
    }

    fn backlog(&self) -> Backlog {
        Backlog::data(self.queues.bytes)
    }

    fn peak(&self) -> Backlog {
        let passed = self.idle.largest.into();
        Backlog::data(self.queues.peak.bytes().max(passed))
    }

    fn forget_peak(&mut self, on_line: u64) {
        let queues = self.queues();
        queues.peak.forget(queues.bytes + on_line);
    }

    #[inline]
    fn held(&self) -> u64 {
        self.queues.bytes
    }

    #[inline]
    fn counts_line(&self) -> bool {
        true
    }

    #[inline]
    fn has_spilled(&self) -> bool {
        !self.queues.spilled.is_empty()
    }

    fn spilled(&mut self) -> Option<(Packet, Spilled)> {
        self.queues.spilled.pop()
    }

    fn waiting(&self) -> ByClass<u64> {
        let mut count = ByClass::default();
        for packet in self.queues.each.iter().flat_map(Packets::iter) {
            count[packet.class()] += 1;
        }
        count
    }

    fn marked(&self) -> u64 {
        0
    }

    fn check(&self) {
        let Queues {
            bytes, each, by, ..
        } = &*self.queues;
        let sizes = each.iter().flat_map(Packets::iter);
        let waiting: u64 = sizes.map(|packet| u64::from(packet.size)).sum();
        assert_eq!(waiting, *bytes, "bytes waiting and counted");
        assert_eq!(self.idle.empty, waiting == 0);
        for (queue, most) in each.iter().zip(by.most) {
            assert!(
                queue.len() <= usize::from(most),
                "{} in {most}",
                queue.len()
            );
        }
        assert!(!self.has_spilled(), "somebody must take what was spilled");
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::discipline::IDLE;
    use model::{Class, ConnId, HostId};
    use units::Bytes;

    /// As NDP asks for it, with a coin and bounces or without.
    pub(crate) fn port(waits: u16, heads: u16, (coin, bounce): (bool, bool)) -> PortSpec {
        let data = QueueSpec {
            takes: Takes {
                trimmed: Some(false),
                ..Takes::ALL.only(Class::Plain)
            },
            limit: Limit::Packets(waits),
            over: Over::Trim {
                to: 84,
                coin,
                bounce,
            },
            ..QueueSpec::DATA
        };
        let heads = QueueSpec {
            limit: Limit::Packets(heads),
            group: 1,
            ..QueueSpec::DATA
        };
        PortSpec {
            buffer: Bytes(0),
            queues: vec![data, heads],
            shares: vec![Share::Packets(1), Share::Packets(3)],
        }
    }

    fn trimming(waits: u16, heads: u16, how: (bool, bool)) -> Trimming {
        Trimming::new(&port(waits, heads, how), Rng::stream(1, 2, 3)).expect("its port")
    }

    fn put(port: &mut Trimming, class: Class, conn: u32, size: u16) -> Verdict {
        let mut packet = Packet::new(HostId(0), ConnId(conn), class, 0, size);
        port.enqueue(Time::ZERO, IDLE, &mut packet)
    }

    /// Who leaves, with the size, until nothing waits.
    fn drain(port: &mut Trimming) -> Vec<(u32, u16)> {
        let (mut left, mut out) = (Vec::new(), Packet::EMPTY);
        while port.dequeue(Time::ZERO, &mut out) != Dequeue::Empty {
            left.push((out.conn.0, out.size));
            port.check();
        }
        left
    }

    #[test]
    fn three_heads_go_before_each_whole_packet_and_nobody_saves_turns_up() {
        let mut port = trimming(2, 9, (false, false));
        for conn in 0..6 {
            put(&mut port, Class::Plain, conn, 1_000);
        }
        put(&mut port, Class::Control, 6, 64);
        assert_eq!((port.held(), port.peak().data_bytes), (2_400, 2_400));
        let [cut, whole] = [84, 1_000];
        let order = [
            (2, cut),
            (3, cut),
            (4, cut),
            (0, whole),
            (5, cut),
            (6, 64),
            (1, whole),
        ];
        assert_eq!(drain(&mut port), order);
        // The last had the turn alone: three heads come first again.
        for conn in 0..3 {
            put(&mut port, Class::Plain, conn, 1_000);
        }
        assert_eq!(drain(&mut port)[..2], [(2, cut), (0, whole)]);
    }

    #[test]
    fn what_finds_no_room_for_its_head_is_dropped_or_goes_back() {
        for (bounce, verdict) in [
            (true, Verdict::Bounced),
            (false, Verdict::Dropped(DropReason::Full)),
        ] {
            let mut port = trimming(1, 1, (false, bounce));
            let said = [0, 1, 2].map(|conn| put(&mut port, Class::Plain, conn, 1_000));
            assert_eq!(said, [Verdict::Queued(0), Verdict::Queued(1), verdict]);
            let dropped = Verdict::Dropped(DropReason::Full);
            assert_eq!(put(&mut port, Class::Control, 3, 64), dropped, "never cut");
            assert_eq!((port.held(), drain(&mut port).len()), (1_084, 2));
        }
    }

    #[test]
    fn a_coin_says_who_is_cut() {
        let mut cut = [0, 0];
        for seed in 0..200 {
            let rng = Rng::stream(seed, 2, 3);
            let mut port = Trimming::new(&port(1, 1, (true, true)), rng).expect("its port");
            for conn in 0..2 {
                assert!(matches!(
                    put(&mut port, Class::Plain, conn, 1_000),
                    Verdict::Queued(_)
                ));
            }
            assert!(!port.has_spilled());
            let first = drain(&mut port)[0];
            assert_eq!(first.1, 84, "the head goes first");
            cut[first.0 as usize] += 1;
        }
        assert!(cut[0] > 70 && cut[1] > 70, "{cut:?}");
        // Whom the coin cuts may have no room for its head.
        let mut port = trimming(1, 0, (true, true));
        put(&mut port, Class::Plain, 0, 1_000);
        let mut spilled = Vec::new();
        for conn in 1..20 {
            put(&mut port, Class::Plain, conn, 1_000);
            spilled.extend(port.spilled());
        }
        assert!(spilled.len() > 3 && spilled.len() < 16, "{}", spilled.len());
        assert!(
            spilled
                .iter()
                .all(|(packet, fate)| packet.trimmed() && *fate == Spilled::Bounced)
        );
        port.check();
    }

    #[test]
    fn what_passes_leaves_the_turn_where_it_was_served() {
        let mut port = trimming(8, 0, (false, false));
        let mut packet = |class| {
            let mut packet = Packet::new(HostId(0), ConnId(0), class, 0, 900);
            port.pass(Time::ZERO, &mut packet)
        };
        assert!(
            packet(Class::Plain) && !packet(Class::Control),
            "no room for heads"
        );
        assert_eq!(
            (
                port.queues().turn,
                port.queues().left,
                port.peak().data_bytes
            ),
            (WHOLE, 0, 900)
        );
        put(&mut port, Class::Plain, 1, 100);
        let mut other = Packet::new(HostId(0), ConnId(0), Class::Plain, 0, 900);
        assert!(!port.pass(Time::ZERO, &mut other), "something waits");
    }

    #[test]
    fn a_peak_that_is_forgotten_is_what_waits_and_what_is_left_on_the_line() {
        let mut port = trimming(8, 8, (false, false));
        for conn in 0..2 {
            put(&mut port, Class::Plain, conn, 1_000);
        }
        let mut out = Packet::EMPTY;
        port.dequeue(Time::ZERO, &mut out);
        assert_eq!(port.peak().data_bytes, 2_000);
        port.forget_peak(84);
        assert_eq!(port.peak().data_bytes, 1_084);
        port.forget_peak(500);
        assert_eq!(port.peak().data_bytes, 1_084, "no more than ever waited");
    }
}
