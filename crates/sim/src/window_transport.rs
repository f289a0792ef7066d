//! The simplest transport: a window of packets, one acknowledgement each. For tests and for
//! measuring the engine apart from any protocol.

use model::{
    Class, ConnId, Cx, Encap, Endpoint, EndpointConfig, Event, HostId, Lifetime, Packet, StuckFlow,
    Totals, Transmit,
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
            let payload =
                u16::try_from(flow.left.min(u64::from(self.encap.payload_max))).expect("a u16");
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

impl Endpoint for Window {
    fn connect(&mut self, _: &mut Cx<'_>, conn: ConnId, peer: HostId, _: Lifetime) {
        self.slots
            .insert(conn, u32::try_from(self.flows.len()).expect("few flows"));
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
            let slot = u32::try_from(self.received_bytes.len()).expect("few flows");
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
    fn poll_transmit(&mut self, _: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        let Some(packet) = self.queue.pop_front() else {
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
