//! The port of a credit-based fabric: a shaped credit queue beside the data queue. [xpass s3.1]

use crate::bucket::CreditBucket;
use crate::data_queue::DataQueue;
use crate::discipline::{Backlog, CreditRoom, Dequeue, Discipline, OnLine, Verdict};
use crate::packets::Packets;
use model::intent::CreditSpec;
use model::{ByClass, Class, DropReason, Packet};
use units::{LineTime, Time};

/// Credits leave first whenever the bucket lets them, data otherwise; surplus credits are dropped,
/// and that is how receivers learn their share.
#[derive(Debug)]
pub struct CreditPort {
    bucket: CreditBucket,
    credits: Packets,
    credit_bytes: u64,
    room: CreditRoom,
    peak_credits: usize,
    data: DataQueue,
    /// The frame on the line is of the data queue.
    data_on_line: bool,
}

impl CreditPort {
    /// A port on `line` with `data` as its other queue.
    pub fn new(spec: CreditSpec, line: LineTime, data: DataQueue) -> Self {
        Self {
            bucket: CreditBucket::new(spec, line),
            credits: Packets::default(),
            credit_bytes: 0,
            room: CreditRoom(spec),
            peak_credits: 0,
            data,
            data_on_line: false,
        }
    }

    #[inline]
    fn has_room_for(&self, size: u16) -> bool {
        self.room
            .has_room(self.credits.len(), self.credit_bytes, size)
    }

    /// What is to be said of the port once a packet has left.
    #[inline]
    fn left(&self) -> Dequeue {
        match self.credits.front() {
            _ if !self.data.is_empty() => Dequeue::Packet,
            Some(credit) => Dequeue::Then(self.bucket.ready(credit.size)),
            None => Dequeue::Last,
        }
    }
}

impl Discipline for CreditPort {
    #[inline(always)] // once per queued packet
    fn enqueue(&mut self, now: Time, line: OnLine, packet: &mut Packet) -> Verdict {
        if packet.class() != Class::Credit {
            return match self.data.push(now, line.only(self.data_on_line), packet) {
                Ok(()) => Verdict::Queued(1),
                Err(reason) => Verdict::Dropped(reason),
            };
        }
        if !self.has_room_for(packet.size) {
            return Verdict::Dropped(DropReason::CreditFull);
        }
        self.credit_bytes += u64::from(packet.size);
        self.credits.push_back(packet);
        self.peak_credits = self.peak_credits.max(self.credits.len());
        Verdict::Queued(0)
    }

    #[inline(always)] // once per arrival
    fn pass(&mut self, now: Time, packet: &mut Packet) -> bool {
        let is_credit = packet.class() == Class::Credit;
        let passes = if is_credit {
            let passes =
                self.has_room_for(packet.size) && self.bucket.take(now, packet.size).is_ok();
            self.peak_credits = self.peak_credits.max(usize::from(passes));
            passes
        } else {
            self.data.pass(packet)
        };
        if passes {
            self.data_on_line = !is_credit;
            if !is_credit {
                self.data.passed(packet);
            }
        }
        passes
    }

    #[inline(always)] // once per queued packet
    fn dequeue(&mut self, now: Time, out: &mut Packet) -> Dequeue {
        let mut nothing = Dequeue::Empty;
        if let Some(credit) = self.credits.front() {
            match self.bucket.take(now, credit.size) {
                Ok(()) => {
                    self.credits.pop_front(out);
                    self.credit_bytes -= u64::from(out.size);
                    self.data_on_line = false;
                    return self.left();
                }
                Err(at) => nothing = Dequeue::Wait(at),
            }
        }
        if self.data.pop(out) {
            self.data_on_line = true;
            self.left()
        } else {
            nothing
        }
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            data_bytes: self.data.bytes(),
            credits: short(self.credits.len()),
        }
    }

    fn forget_peak(&mut self, on_line: u64) {
        self.data.forget_peak(on_line);
        self.peak_credits = self.credits.len();
    }

    fn peak(&self) -> Backlog {
        Backlog {
            data_bytes: self.data.peak_bytes(),
            credits: short(self.peak_credits),
        }
    }

    #[inline]
    fn held(&self) -> u64 {
        self.data.bytes()
    }

    #[inline]
    fn counts_line(&self) -> bool {
        self.data_on_line
    }

    fn waiting(&self) -> ByClass<u64> {
        let mut count = ByClass::default();
        self.data.count_into(&mut count);
        count[Class::Credit] += self.credits.len() as u64;
        count
    }

    fn marked(&self) -> u64 {
        self.data.marked()
    }

    fn check(&self) {
        self.data.check();
        let sizes = self.credits.iter().map(|credit| u64::from(credit.size));
        assert_eq!(
            sizes.sum::<u64>(),
            self.credit_bytes,
            "credit bytes counted and waiting"
        );
    }
}

/// A credit queue has at most 65,535 places.
pub(crate) fn short(credits: usize) -> u32 {
    u32::try_from(credits).expect("a credit queue has at most 65,535 places")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::IDLE;
    use model::intent::{CreditCount, QueueSpec};
    use model::{ConnId, HostId, Rng};
    use units::Rate;

    fn port(count: CreditCount) -> CreditPort {
        let credit = CreditSpec {
            queue_limit: 8,
            bucket: 2,
            count,
            size_mean: 84,
            frame_max: 1538,
            share: CreditSpec::WHOLE,
        };
        let line = LineTime::new(Rate::gbps(10));
        let data = DataQueue::new(&QueueSpec::DATA, 384_500, Rng::stream(1, 2, 3));
        CreditPort::new(credit, line, data)
    }

    fn packet(class: Class, size: u16) -> Packet {
        Packet::new(HostId(1), ConnId(1), class, 0, size)
    }

    #[test]
    fn credits_win_while_tokens_last_and_data_fills_the_gaps() {
        use Dequeue::Packet as P;
        let mut port = port(CreditCount::Credits);
        let late = Time(units::PS_PER_SEC);
        for _ in 0..3 {
            assert_eq!(
                port.enqueue(late, IDLE, &mut packet(Class::Credit, 84)),
                Verdict::Queued(0)
            );
            assert_eq!(
                port.enqueue(late, IDLE, &mut packet(Class::Scheduled, 1538)),
                Verdict::Queued(1)
            );
        }
        let mut out = Packet::EMPTY;
        let order: Vec<_> = (0..5)
            .map(|_| (port.dequeue(late, &mut out), out.class().name()))
            .collect();
        assert_eq!(
            order,
            [
                (P, "credit"),
                (P, "credit"),
                (P, "scheduled"),
                (P, "scheduled"),
                (Dequeue::Then(Time(late.0 + 1_297_600)), "scheduled")
            ]
        );
        assert_eq!(
            port.dequeue(late, &mut out),
            Dequeue::Wait(Time(late.0 + 1_297_600))
        );
        assert_eq!(
            port.dequeue(Time(late.0 + 1_297_600), &mut out),
            Dequeue::Last
        );
        assert_eq!(
            port.dequeue(Time(late.0 + 9_000_000), &mut out),
            Dequeue::Empty
        );
        port.check();
    }

    #[test]
    fn the_ninth_credit_is_dropped() {
        for (count, size) in [(CreditCount::Credits, 92), (CreditCount::Bytes, 84)] {
            let mut port = port(count);
            let verdicts: Vec<_> = (0..9)
                .map(|_| port.enqueue(Time::ZERO, IDLE, &mut packet(Class::Credit, size)))
                .collect();
            assert!(verdicts[..8].iter().all(|v| *v == Verdict::Queued(0)));
            assert_eq!(verdicts[8], Verdict::Dropped(DropReason::CreditFull));
            assert_eq!(port.peak().credits, 8);
        }
    }

    #[test]
    fn counted_by_bytes_more_small_credits_fit() {
        let mut port = port(CreditCount::Bytes);
        let queued = (0..20)
            .filter(|_| {
                port.enqueue(Time::ZERO, IDLE, &mut packet(Class::Credit, 76)) == Verdict::Queued(0)
            })
            .count();
        assert_eq!(queued, 8, "672 B hold eight credits of 76 B");
        assert_eq!(
            port.enqueue(Time::ZERO, IDLE, &mut packet(Class::Credit, 64)),
            Verdict::Queued(0)
        );
    }

    /// Every token is there.
    const LATE: Time = Time(units::PS_PER_SEC);

    #[test]
    fn what_passes_an_idle_port_takes_its_token_and_counts() {
        let mut port = port(CreditCount::Credits);
        let mut pass = |class, size| port.pass(LATE, &mut packet(class, size));
        assert!(pass(Class::Credit, 84) && pass(Class::Credit, 84));
        assert!(!pass(Class::Credit, 84), "no third token");
        assert_eq!((port.peak().credits, port.counts_line()), (1, false));
        assert!(port.pass(LATE, &mut packet(Class::Plain, 1_000)));
        assert_eq!((port.peak().data_bytes, port.counts_line()), (1_000, true));
        assert_eq!(
            port.backlog(),
            Backlog {
                data_bytes: 0,
                credits: 0
            }
        );
        assert!(port.pass(Time(2 * LATE.0), &mut packet(Class::Credit, 84)));
        assert!(!port.counts_line(), "a credit is on the line now");
    }

    #[test]
    fn data_and_credits_are_counted_apart() {
        let mut port = port(CreditCount::Bytes);
        for (class, size) in [
            (Class::Credit, 84),
            (Class::Plain, 1_000),
            (Class::Credit, 80),
            (Class::Plain, 500),
        ] {
            assert!(matches!(
                port.enqueue(Time::ZERO, IDLE, &mut packet(class, size)),
                Verdict::Queued(_)
            ));
            port.check();
        }
        let backlog = Backlog {
            data_bytes: 1_500,
            credits: 2,
        };
        assert_eq!(
            (port.backlog(), port.peak(), port.held()),
            (backlog, backlog, 1_500)
        );
        let waiting = port.waiting();
        assert_eq!(
            (waiting[Class::Credit], waiting[Class::Plain], port.marked()),
            (2, 2, 0)
        );
        let mut out = Packet::EMPTY;
        // No token yet: data leaves, and then the port waits.
        assert_eq!(
            (
                port.dequeue(Time::ZERO, &mut out),
                out.size,
                port.counts_line()
            ),
            (Dequeue::Packet, 1_000, true)
        );
        assert_eq!(
            port.dequeue(Time::ZERO, &mut out),
            Dequeue::Then(Time(1_297_600))
        );
        assert_eq!(
            port.dequeue(Time::ZERO, &mut out),
            Dequeue::Wait(Time(1_297_600))
        );
        assert_eq!(
            (port.dequeue(Time(1_297_600), &mut out), out.size),
            (Dequeue::Then(Time(1_297_600 + 1_235_810)), 84)
        );
        assert!(!port.counts_line());
        port.check();
        assert_eq!(
            port.backlog(),
            Backlog {
                data_bytes: 0,
                credits: 1
            }
        );
        port.forget_peak(33);
        assert_eq!(
            port.peak(),
            Backlog {
                data_bytes: 33,
                credits: 1
            }
        );
        assert_eq!(
            (port.dequeue(LATE, &mut out), out.size),
            (Dequeue::Last, 80)
        );
    }

    #[test]
    fn a_credit_on_the_line_is_no_part_of_the_queue_of_data() {
        let mut port = port(CreditCount::Credits);
        let busy = OnLine {
            until: Time(80_000),
            ..IDLE
        };
        assert!(port.pass(LATE, &mut packet(Class::Credit, 84)));
        port.enqueue(Time::ZERO, busy, &mut packet(Class::Plain, 1_000));
        assert_eq!(port.peak().data_bytes, 1_000);
        let mut out = Packet::EMPTY;
        assert_eq!(port.dequeue(Time::ZERO, &mut out), Dequeue::Last);
        port.enqueue(Time::ZERO, busy, &mut packet(Class::Plain, 1_000));
        assert_eq!(port.peak().data_bytes, 1_100, "a frame of data is");
    }

    #[test]
    fn marks_are_those_of_the_data() {
        let mark = model::intent::MarkSpec {
            min: units::Bytes(0),
            max: units::Bytes(0),
            chance: 1.0,
            at: model::intent::MarkAt::Enqueue,
            drop_others: false,
        };
        let spec = QueueSpec {
            mark: Some(mark),
            ..QueueSpec::DATA
        };
        let mut port = CreditPort {
            data: DataQueue::new(&spec, 9_000, Rng::stream(1, 2, 3)),
            ..port(CreditCount::Credits)
        };
        let mut data = packet(Class::Plain, 84);
        data.set_ecn(model::Ecn::Capable0);
        port.enqueue(Time::ZERO, IDLE, &mut data);
        assert_eq!(port.marked(), 1);
    }

    #[test]
    fn broken_books_are_noticed() {
        let mut port = port(CreditCount::Credits);
        port.enqueue(LATE, IDLE, &mut packet(Class::Credit, 84));
        port.credit_bytes += 1;
        assert!(std::panic::catch_unwind(|| port.check()).is_err());
    }
}
