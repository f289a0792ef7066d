//! The simplest transport: a window of packets, one acknowledgement each. For tests and for
//! measuring the engine apart from any protocol.

use model::{
    Class, ConnId, Cx, Encap, Endpoint, EndpointConfig, Event, Gates, HostId, Lifetime, Packet,
    StuckFlow, Totals, Transmit,
};
use std::collections::VecDeque;
use units::Time;

const DATA: u8 = 1;
const ACK: u8 = 2;

struct Flow {
    conn: ConnId,
    peer: HostId,
    left: u64,
    /// Of the whole message: every packet says it, so that they may come in any order.
    length: u32,
    in_flight: u32,
}

/// A fixed window per connection, on a network that loses nothing.
pub struct Window {
    encap: Encap,
    window: u32,
    flows: Vec<Flow>,
    slots: model::ConnMap,
    received: model::ConnMap,
    received_bytes: Vec<u64>,
    queue: VecDeque<Packet>,
    priorities: u8,
}

impl Window {
    /// `window` packets in flight per connection; packets spread over `priorities`.
    pub fn new(config: &EndpointConfig, window: u32, priorities: u8) -> Self {
        Self {
            encap: config.encap,
            window,
            flows: Vec::new(),
            slots: model::ConnMap::default(),
            received: model::ConnMap::default(),
            received_bytes: Vec::new(),
            queue: VecDeque::new(),
            priorities,
        }
    }

    #[inline]
    fn fill(&mut self, slot: u32) {
        let flow = &mut self.flows[slot as usize];
        while flow.in_flight < self.window && flow.left > 0 {
            let payload = u16::try_from(flow.left.min(u64::from(self.encap.payload_max)))
                .expect("payload_max is a u16");
            flow.left -= u64::from(payload);
            flow.in_flight += 1;
            let mut packet = Packet::new(
                flow.peer,
                flow.conn,
                Class::Plain,
                DATA,
                self.encap.wire(payload),
            );
            packet.head = [u32::from(payload), flow.length, 0];
            if self.priorities > 1 {
                packet.set_priority(
                    u8::try_from(flow.conn.0 % u32::from(self.priorities)).expect("below 8"),
                );
            }
            self.queue.push_back(packet);
        }
    }
}

impl Window {
    /// The first packet that no gate holds back; the others keep their order.
    #[cold]
    fn take_what_may_leave(&mut self, gates: &Gates) -> Option<Packet> {
        let at = self.queue.iter().position(|packet| gates.may_leave(packet));
        at.and_then(|at| self.queue.remove(at))
    }
}

impl Endpoint for Window {
    fn connect(&mut self, _: &mut Cx<'_>, conn: ConnId, peer: HostId, _: Lifetime) {
        self.slots.insert(
            conn,
            u32::try_from(self.flows.len()).expect("a ConnId has 32 bits"),
        );
        self.flows.push(Flow {
            conn,
            peer,
            left: 0,
            length: 0,
            in_flight: 0,
        });
    }

    fn send(&mut self, _: &mut Cx<'_>, conn: ConnId, length: u64) {
        let slot = self.slots.get(conn).expect("connect comes before send");
        let flow = &mut self.flows[slot as usize];
        flow.left += length;
        flow.length += u32::try_from(length).expect("messages of a model are small");
        self.fill(slot);
    }

    fn cancel(&mut self, _: &mut Cx<'_>, conn: ConnId) {
        let slot = self.slots.get(conn).expect("connect comes before cancel");
        self.flows[slot as usize].left = 0;
    }

    fn forget(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        let sender = self.slots.remove(conn);
        if let Some(slot) = sender {
            self.flows[slot as usize].left = 0;
        }
        if sender.is_some() | self.received.remove(conn).is_some() {
            cx.events.push(Event::Forgotten { conn });
        }
    }

    #[inline]
    fn on_packet(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        if packet.kind() == ACK {
            if let Some(slot) = self.slots.get(packet.conn) {
                let flow = &mut self.flows[slot as usize];
                flow.in_flight = flow.in_flight.saturating_sub(1); // a fault may copy one
                self.fill(slot);
                let flow = &self.flows[slot as usize];
                if flow.left == 0 && flow.in_flight == 0 {
                    cx.events.push(Event::Sent {
                        conn: packet.conn,
                        ordinal: 0,
                    });
                }
            }
            return;
        }
        let slot = self.received.get(packet.conn).unwrap_or_else(|| {
            let slot = u32::try_from(self.received_bytes.len()).expect("a ConnId has 32 bits");
            self.received.insert(packet.conn, slot);
            self.received_bytes.push(0);
            slot
        });
        let payload = u16::try_from(packet.head[0]).expect("it was a u16");
        cx.accept(packet.conn, self.received_bytes[slot as usize], payload);
        self.received_bytes[slot as usize] += u64::from(payload);
        let me = HostId(packet.to().0);
        let peer = cx.peers.peer(me, packet.conn).expect("a known connection");
        self.queue.push_back(Packet::new(
            peer,
            packet.conn,
            Class::Control,
            ACK,
            self.encap.frame_min,
        ));
        let length = self.received_bytes[slot as usize];
        if length == u64::from(packet.head[1]) {
            cx.events.push(Event::Received {
                conn: packet.conn,
                ordinal: 0,
                length,
            });
        }
    }

    fn on_deadline(&mut self, _: &mut Cx<'_>) {}

    #[inline]
    fn poll_transmit(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        let next = if cx.gates.any_closed() {
            self.take_what_may_leave(cx.gates)
        } else {
            self.queue.pop_front()
        };
        let Some(packet) = next else {
            return Transmit::Nothing;
        };
        *out = packet;
        if self.queue.is_empty() {
            Transmit::Last
        } else {
            Transmit::More
        }
    }

    #[inline]
    fn deadline(&self) -> Time {
        Time::NEVER
    }

    fn check(&self) {
        assert!(self.flows.iter().all(|flow| flow.in_flight <= self.window));
    }

    fn stuck(&self, report: &mut dyn FnMut(StuckFlow)) {
        for flow in self
            .flows
            .iter()
            .filter(|flow| flow.left > 0 || flow.in_flight > 0)
        {
            let waits_for = format!("{} acknowledgements", flow.in_flight);
            report(StuckFlow {
                conn: flow.conn,
                state: "sender, open".into(),
                waits_for,
            });
        }
    }

    fn totals(&self) -> Totals {
        Totals::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Peers, Rng, Signal, stream};
    use units::Rate;

    struct Pair;
    impl Peers for Pair {
        fn peer(&self, me: HostId, _: ConnId) -> Option<HostId> {
            Some(HostId(1 - me.0))
        }
    }

    #[test]
    fn what_a_gate_holds_back_waits_and_others_pass() {
        let config = EndpointConfig::new(HostId(0), Rate::gbps(10), Encap::PAPER);
        let mut window = Window::new(&config, 2, 1);
        let (mut gates, mut rng) = (Gates::default(), Rng::stream(1, stream::TEST, 0));
        let mut events = Vec::new();
        let mut step = |window: &mut Window, gates: &Gates| {
            let mut cx = Cx {
                now: Time(1),
                rng: &mut rng,
                events: &mut events,
                peers: &Pair,
                gates,
                wants_data: false,
            };
            if window.slots.get(ConnId(0)).is_none() {
                for conn in [ConnId(0), ConnId(1)] {
                    window.connect(&mut cx, conn, HostId(1), Lifetime::OneMessage);
                    window.send(&mut cx, conn, 4_000);
                }
            }
            let mut out = Packet::EMPTY;
            match window.poll_transmit(&mut cx, &mut out) {
                Transmit::Nothing => None,
                Transmit::More | Transmit::Last => Some(out.conn.0),
            }
        };
        gates.heed(Time(1), Signal::PauseFlow(ConnId(0)));
        let sent = [0; 3].map(|_| step(&mut window, &gates));
        assert_eq!(sent, [Some(1), Some(1), None]);
        gates.heed(Time(1), Signal::ResumeFlow(ConnId(0)));
        gates.heed(Time(1), Signal::PausePriority(0));
        assert_eq!(step(&mut window, &gates), None);
        gates.heed(Time(1), Signal::ResumePriority(0));
        let sent = [0; 3].map(|_| step(&mut window, &gates));
        assert_eq!(sent, [Some(0), Some(0), None]);
    }
}
