//! One endpoint, driven by hand.

use crate::{A, B};
use model::{
    ConnId, Cx, Endpoint, Event, Gates, HostId, Packet, Peers, Rng, Signal, Transmit, stream,
};
use units::Time;

/// One endpoint of its own type: a test decides what it hears and when, and sees what it holds. A
/// [`Pair`](crate::Pair) is for conversations.
pub struct Alone<E> {
    /// The endpoint.
    pub host: E,
    /// The time, which goes on when the test says so.
    pub now: Time,
    /// What it has said to its application.
    pub events: Vec<Event>,
    gates: Gates,
    rng: Rng,
}

/// Every connection is one between [`A`] and [`B`].
struct TheOther;

impl Peers for TheOther {
    fn peer(&self, me: HostId, _: ConnId) -> Option<HostId> {
        Some(if me == A { B } else { A })
    }
}

impl<E: Endpoint> Alone<E> {
    /// It at time zero. Its peer is the other one of [`A`] and [`B`].
    pub fn new(host: E) -> Self {
        Self {
            host,
            now: Time::ZERO,
            events: Vec::new(),
            gates: Gates::default(),
            rng: Rng::stream(1, stream::TEST, 0),
        }
    }

    /// One step, after which its invariants hold.
    pub fn call<R>(&mut self, step: impl FnOnce(&mut E, &mut Cx<'_>) -> R) -> R {
        let mut cx = Cx {
            now: self.now,
            rng: &mut self.rng,
            events: &mut self.events,
            peers: &TheOther,
            gates: &self.gates,
            wants_data: false,
        };
        let result = step(&mut self.host, &mut cx);
        self.host.check();
        result
    }

    /// A packet arrives.
    pub fn hear(&mut self, packet: &Packet) {
        self.call(|host, cx| host.on_packet(cx, packet));
    }

    /// A signal reaches its host.
    pub fn heed(&mut self, signal: Signal) {
        self.gates.heed(self.now, signal);
        self.call(Endpoint::on_gates);
    }

    /// The packet that it puts on the idle line.
    pub fn poll(&mut self) -> Option<Packet> {
        let mut packet = Packet::EMPTY;
        let said = self.call(|host, cx| host.poll_transmit(cx, &mut packet));
        (said != Transmit::Nothing).then_some(packet)
    }
}
