//! Since when the gates of a port stand: each by itself, and any of them.

use crate::discipline::{Gate, GateOf, GateState};
use crate::store::Paused;
use model::Packet;
use units::{Span, Time};

/// Closed gates of a port, and how long gates were closed before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stands {
    /// Ascending by gate.
    closed: Vec<(GateOf, Stood)>,
    /// Since when some are, and how long some were until the last time that all opened.
    any_since: Option<Time>,
    total: Span,
    /// The longest that one gate was closed, of those that opened again.
    longest: Span,
}

#[derive(Clone, Copy, Debug)]
struct Stood {
    since: Time,
    /// When it last changed what may pass: one that counts bytes does where some leave, or may.
    moved: Time,
}

impl Stands {
    /// What becomes of a gate; `gated` says whether any of the port is closed then.
    pub(crate) fn note(&mut self, now: Time, gate: Gate, gated: bool) {
        let place = self.closed.binary_search_by_key(&gate.of, |&(of, _)| of);
        match (place, gate.state) {
            (Ok(at), GateState::Open) => {
                let (_, stood) = self.closed.remove(at);
                self.longest = self.longest.max(now.since(stood.since));
            }
            (Ok(at), GateState::Bytes(_)) => self.closed[at].1.moved = now,
            (Err(at), GateState::Closed | GateState::Bytes(_)) => {
                let stood = Stood {
                    since: now,
                    moved: now,
                };
                self.closed.insert(at, (gate.of, stood));
            }
            (Ok(_), GateState::Closed) | (Err(_), GateState::Open) => {}
        }
        match (self.any_since, gated) {
            (None, true) => self.any_since = Some(now),
            (Some(since), false) => {
                self.total += now.since(since);
                self.any_since = None;
            }
            (None, false) | (Some(_), true) => {}
        }
    }

    /// Since when some gate has been closed; none where all are open.
    pub(crate) fn any_since(&self) -> Option<Time> {
        self.any_since
    }

    /// Since when the gate lets nothing more pass that holds `packet` back, in the queue of this number. Of a queue that is
    /// shut it is its own, or that of the packet's priority; where that of another has shut it, whichever moved last.
    pub(crate) fn since(&self, packet: &Packet, paused: Paused, number: u8) -> Time {
        let moved = |of: GateOf| {
            let place = self.closed.binary_search_by_key(&of, |&(of, _)| of);
            place.ok().map(|at| self.closed[at].1.moved)
        };
        let queue = moved(GateOf::Queue(number));
        let own = match paused {
            Paused::All => queue.max(moved(GateOf::Priority(packet.priority()))),
            Paused::Flow => moved(GateOf::Flow(packet.conn)),
            Paused::Queue(_) => queue,
        };
        let last = || self.closed.iter().map(|(_, stood)| stood.moved).max();
        own.or_else(last).unwrap_or(Time::NEVER)
    }

    /// At the end of a run: gates that are closed were so until `now`.
    pub(crate) fn close(&mut self, now: Time) {
        for (_, stood) in &self.closed {
            self.longest = self.longest.max(now.since(stood.since));
        }
        if let Some(since) = &mut self.any_since {
            self.total += now.since(*since);
            *since = now;
        }
    }

    /// How long some gate was closed, and the longest that one was.
    pub(crate) fn lasted(&self) -> (Span, Span) {
        (self.total, self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Class, ConnId, HostId};

    fn gate(of: GateOf, state: GateState) -> Gate {
        Gate { of, state }
    }

    fn packet(conn: u32, priority: u8) -> Packet {
        let mut packet = Packet::new(HostId(0), ConnId(conn), Class::Plain, 0, 84);
        packet.set_priority(priority);
        packet
    }

    #[test]
    fn each_gate_has_a_time_of_its_own() {
        let mut stands = Stands::default();
        let [one, two] = [1, 2].map(|conn| GateOf::Flow(ConnId(conn)));
        stands.note(Time(10), gate(one, GateState::Closed), true);
        stands.note(Time(20), gate(two, GateState::Closed), true);
        stands.note(Time(25), gate(two, GateState::Closed), true);
        let of = |stands: &Stands, conn| stands.since(&packet(conn, 0), Paused::Flow, 0);
        assert_eq!((of(&stands, 1), of(&stands, 2)), (Time(10), Time(20)));
        // It opens and closes while the other stands: the port has been paused since 10, and it since 40.
        stands.note(Time(30), gate(two, GateState::Open), true);
        stands.note(Time(40), gate(two, GateState::Closed), true);
        assert_eq!((of(&stands, 1), of(&stands, 2)), (Time(10), Time(40)));
        assert_eq!(stands.any_since(), Some(Time(10)));
        assert_eq!(stands.lasted(), (Span(0), Span(10)));
        stands.note(Time(70), gate(one, GateState::Open), true);
        stands.note(Time(80), gate(two, GateState::Open), false);
        stands.note(Time(90), gate(two, GateState::Open), false);
        assert_eq!(stands.lasted(), (Span(70), Span(60)));
        assert_eq!(stands.any_since(), None);
    }

    #[test]
    fn a_shut_queue_stands_as_long_as_the_priority_of_the_packet() {
        let mut stands = Stands::default();
        for (at, of) in [(5, 0), (9, 3)] {
            stands.note(
                Time(at),
                gate(GateOf::Priority(of), GateState::Closed),
                true,
            );
        }
        let of = |priority| stands.since(&packet(1, priority), Paused::All, 0);
        assert_eq!([of(0), of(3)], [Time(5), Time(9)]);
        assert_eq!(of(7), Time(9), "another priority has shut its queue");
        stands.note(Time(11), gate(GateOf::Queue(2), GateState::Closed), true);
        stands.note(Time(12), gate(GateOf::Queue(4), GateState::Closed), true);
        let queue = |paused| stands.since(&packet(1, 0), paused, 2);
        assert_eq!(queue(Paused::Queue(0)), Time(11));
        assert_eq!(queue(Paused::All), Time(11), "both shut it");
    }

    /// Where the bytes that it leaves change, packets have left or may.
    #[test]
    fn a_gate_that_counts_bytes_stands_while_its_count_does() {
        let mut stands = Stands::default();
        let mut at = |now, state: GateState| {
            let shut = state != GateState::Open;
            stands.note(Time(now), gate(GateOf::Priority(0), state), shut);
            stands.since(&packet(1, 0), Paused::All, 0)
        };
        assert_eq!(at(5, GateState::Bytes(300)), Time(5));
        assert_eq!(at(9, GateState::Bytes(200)), Time(9));
        assert_eq!(at(12, GateState::Closed), Time(9));
        assert_eq!(at(15, GateState::Open), Time::NEVER);
        assert_eq!(at(20, GateState::Closed), Time(20));
        assert_eq!(stands.lasted(), (Span(10), Span(10)));
    }

    #[test]
    fn what_is_closed_at_the_end_was_so_until_then() {
        let mut stands = Stands::default();
        stands.note(Time(5), gate(GateOf::Queue(1), GateState::Closed), true);
        stands.close(Time(25));
        stands.close(Time(25));
        assert_eq!(stands.lasted(), (Span(20), Span(20)));
    }
}
