//! What leaves the host, and in which order: credits through their shaper, the rest in one FIFO.

use model::{Class, ConnId, Packet, Transmit};
use parts::credit_gate::CreditGate;
use parts::packet_queue::PacketQueue;
use units::{LineTime, Span, Time};

/// Packets that may wait for a host's line. Data waits only where a processing delay released it
/// in a bunch; requests pile up where many flows open at once. [ours: 512 KiB]
pub(super) const FIFO_MAX: usize = 16_384;

/// A host's line.
pub(super) struct Nic {
    /// Credits behind their shaper; `None` where they go through the FIFO.
    gate: Option<CreditGate>,
    /// Data and control, and credits without a shaper.
    fifo: PacketQueue,
    line: LineTime,
    /// When the first credit may leave, where the line will not ask by itself.
    wake: Time,
    /// Data and control that found no room.
    lost: u64,
}

impl Nic {
    pub(super) fn new(gate: Option<CreditGate>, line: LineTime) -> Self {
        Self {
            gate,
            fifo: PacketQueue::default(),
            line,
            wake: Time::NEVER,
            lost: 0,
        }
    }

    /// Queues a credit; false where it is lost.
    #[inline]
    #[must_use]
    pub(super) fn credit(&mut self, now: Time, packet: &Packet) -> bool {
        match &mut self.gate {
            Some(gate) => gate.offer(now, packet),
            None => self.put(*packet),
        }
    }

    /// Whether data or control would find room.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.fifo.len() < FIFO_MAX
    }

    /// How long what waits takes the line at most, with frames of so many bytes.
    pub(super) fn clears_in(&self, wire_max: u16) -> Span {
        self.line.of(u64::from(wire_max) * self.fifo.len() as u64)
    }

    /// Queues data or control; false where the FIFO is full and it is lost, which is counted.
    #[inline]
    pub(super) fn push(&mut self, packet: Packet) -> bool {
        let put = self.put(packet);
        if !put {
            self.lose();
        }
        put
    }

    /// Counts data or control that found no room.
    #[cold]
    pub(super) fn lose(&mut self) {
        self.lost += 1;
    }

    /// Data and control that found no room.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    #[inline]
    fn put(&mut self, packet: Packet) -> bool {
        let room = self.has_room();
        if room {
            self.fifo.push(packet);
        }
        room
    }

    /// When the line wants to be asked although nothing else happens.
    #[inline]
    pub(super) fn wake(&self) -> Time {
        self.wake
    }

    /// The moment of [`Nic::wake`] may have come: the line is about to be asked.
    #[inline]
    pub(super) fn on_deadline(&mut self, now: Time) {
        if self.wake <= now {
            self.wake = Time::NEVER;
        }
    }

    /// The line is paused: it does not want to be asked.
    pub(super) fn sleep(&mut self) {
        self.wake = Time::NEVER;
    }

    /// When the first credit may leave.
    #[inline]
    fn credit_at(&self) -> Time {
        self.gate.as_ref().map_or(Time::NEVER, CreditGate::ready_at)
    }

    /// The line is idle: a credit whose token is there, else the next of the FIFO.
    #[inline]
    pub(super) fn poll(&mut self, now: Time, out: &mut Packet) -> Transmit {
        self.wake = self.credit_at();
        // Asked after every packet that comes in, it mostly has nothing.
        if self.wake > now && self.fifo.is_empty() {
            return Transmit::Nothing;
        }
        self.take(now, out)
    }

    /// The connection whose data [`Nic::poll`] would send; `None` where it is a credit, control, or
    /// nothing.
    pub(super) fn data_next(&self, now: Time) -> Option<ConnId> {
        let first = self.fifo.front().filter(|_| self.credit_at() > now)?;
        (first.class() == Class::Scheduled).then_some(first.conn)
    }

    fn take(&mut self, now: Time, out: &mut Packet) -> Transmit {
        match &mut self.gate {
            Some(gate) if gate.ready_at() <= now => gate.take(now, out),
            _ => assert!(self.fifo.pop(out), "one of them has a packet"),
        }
        let free_at = now + self.line.of(u64::from(out.size));
        let credit_at = self.credit_at();
        if !self.fifo.is_empty() || credit_at <= free_at {
            self.wake = Time::NEVER; // the line will ask
            return Transmit::More;
        }
        self.wake = credit_at;
        Transmit::Last
    }

    pub(super) fn check(&self) {
        assert!(
            self.fifo.len() <= FIFO_MAX,
            "{} packets wait",
            self.fifo.len()
        );
        if let Some(gate) = &self.gate {
            gate.check();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::HostId;
    use model::intent::{CreditCount, CreditSpec};
    use units::Rate;

    fn nic() -> Nic {
        let line = LineTime::new(Rate::gbps(10));
        let count = CreditCount::Credits;
        let spec = CreditSpec {
            queue_limit: 8,
            bucket: 2,
            count,
            size_mean: 84,
            frame_max: 1538,
            share: CreditSpec::WHOLE,
        };
        Nic::new(Some(CreditGate::new(spec, line)), line)
    }
    fn packet(class: Class) -> Packet {
        Packet::new(
            HostId(0),
            ConnId(0),
            class,
            0,
            if class == Class::Credit { 84 } else { 1538 },
        )
    }

    #[test]
    fn credits_win_while_tokens_last_and_then_data_fills_the_gaps() {
        let mut nic = nic();
        for _ in 0..4 {
            assert!(nic.credit(Time::ZERO, &packet(Class::Credit)));
            assert!(nic.push(packet(Class::Scheduled)));
        }
        let (mut now, mut order, mut out) = (Time(1_000_000_000), String::new(), Packet::EMPTY);
        loop {
            let said = nic.poll(now, &mut out);
            if said != Transmit::Nothing {
                order.push(if out.class() == Class::Credit {
                    'c'
                } else {
                    'd'
                });
                now += nic.line.of(u64::from(out.size));
            }
            if said != Transmit::More {
                if nic.wake() == Time::NEVER {
                    break;
                }
                assert!(nic.wake() > now, "a wake is never in the past");
                now = nic.wake();
                nic.on_deadline(now);
            }
        }
        assert_eq!(order, "ccdcdcdd");
    }

    #[test]
    fn a_credit_alone_wakes_the_line_when_its_token_is_there() {
        let (mut nic, mut out) = (nic(), Packet::EMPTY);
        assert!(nic.credit(Time::ZERO, &packet(Class::Credit)));
        assert_eq!(nic.poll(Time::ZERO, &mut out), Transmit::Nothing);
        assert_eq!(nic.wake(), Time(1_297_600));
        nic.on_deadline(nic.wake());
        assert_eq!(
            nic.wake(),
            Time::NEVER,
            "a deadline is not repeated while the line is busy"
        );
        assert_eq!(nic.poll(Time(1_297_600), &mut out), Transmit::Last);
    }
}
