//! Several transports on one host: who gets which packet, and whose frame leaves next.
//!
//! Hosts of a datacenter that is being moved to a new transport speak the old one, too. Here the
//! scenario says which connections belong to which transport; an endpoint of each runs on every host,
//! unchanged and unaware of the others. What they share is the line, and that by weight in bytes, as
//! the ports do: start-time fair queueing, where the endpoint that has had least for its weight is
//! asked first and an idle one saves nothing up. [Goyal, Vin and Cheng 1996]

use model::{
    ConnId, Count, Cx, Endpoint, HostId, LANES, Lifetime, Packet, Record, StuckFlow, Totals,
    Transmit,
};
use std::sync::Arc;
use units::Time;

/// What one byte of a frame adds to a service of weight one: the weights of two frames keep their
/// order up to this one, and a service of weight one holds 2^44 bytes. [ours]
const SCALE: u64 = 1 << 20;

/// One of the transports of a host.
struct Lane {
    endpoint: Box<dyn Endpoint>,
    weight: u64,
    /// Bytes that left over the weight, in 1/[`SCALE`]; never behind the clock where it was idle.
    served: u64,
    /// It may have something to send.
    ready: bool,
    /// What ports tell its packets by.
    number: u8,
}

/// Several transports on one host.
pub struct Lanes {
    lanes: Vec<Lane>,
    /// The transport of each connection; what is beyond belongs to the first.
    lane_of: Arc<[u8]>,
    /// What the frame that left last had been served before it: where idle lanes start.
    clock: u64,
}

impl Lanes {
    /// `endpoints` with their weights; connection `c` belongs to number `lane_of[c]`. Every packet carries
    /// the number of its transport as its lane.
    ///
    /// # Panics
    /// If there is none, or more than [`LANES`]; if a weight is 0 or a connection belongs to none of them.
    pub fn new(endpoints: Vec<(Box<dyn Endpoint>, u32)>, lane_of: Arc<[u8]>) -> Self {
        assert!(!endpoints.is_empty(), "a host speaks something");
        assert!(
            lane_of
                .iter()
                .all(|&lane| usize::from(lane) < endpoints.len())
        );
        assert!(
            endpoints.len() <= usize::from(LANES),
            "{} transports",
            endpoints.len()
        );
        let lanes = (0u8..).zip(endpoints).map(|(number, (endpoint, weight))| {
            assert!(weight > 0, "transport {number} would never send");
            Lane {
                endpoint,
                weight: u64::from(weight),
                served: 0,
                ready: false,
                number,
            }
        });
        Self {
            lanes: lanes.collect(),
            lane_of,
            clock: 0,
        }
    }

    /// The transport of a connection.
    fn lane(&mut self, conn: ConnId) -> &mut Lane {
        let known = self.lane_of.get(conn.0 as usize).copied();
        let lane = &mut self.lanes[usize::from(known.unwrap_or(0))];
        lane.wake(self.clock);
        lane
    }

    /// The one that is asked next, of those that may have something.
    fn next(&self) -> Option<usize> {
        let ready = (0..self.lanes.len()).filter(|&lane| self.lanes[lane].ready);
        ready.min_by_key(|&lane| self.lanes[lane].served)
    }
}

impl Lane {
    /// It has been called: it may have something to send from now on.
    fn wake(&mut self, clock: u64) {
        if !self.ready {
            self.ready = true;
            self.served = self.served.max(clock);
        }
    }
}

impl Endpoint for Lanes {
    fn connect(&mut self, cx: &mut Cx<'_>, conn: ConnId, peer: HostId, lifetime: Lifetime) {
        self.lane(conn).endpoint.connect(cx, conn, peer, lifetime);
    }

    fn send(&mut self, cx: &mut Cx<'_>, conn: ConnId, length: u64) {
        self.lane(conn).endpoint.send(cx, conn, length);
    }

    fn cancel(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        self.lane(conn).endpoint.cancel(cx, conn);
    }

    fn forget(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        self.lane(conn).endpoint.forget(cx, conn);
    }

    fn on_packet(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        self.lane(packet.conn).endpoint.on_packet(cx, packet);
    }

    fn on_packet_with(&mut self, cx: &mut Cx<'_>, packet: &Packet, record: &Record) {
        let lane = self.lane(packet.conn);
        lane.endpoint.on_packet_with(cx, packet, record);
    }

    fn record(&self, packet: &Packet) -> Record {
        let lane = self.lanes.get(usize::from(packet.lane()));
        lane.map_or(Record::EMPTY, |lane| lane.endpoint.record(packet))
    }

    fn accepts(&self, packet: &Packet) -> bool {
        let known = self.lane_of.get(packet.conn.0 as usize).copied();
        let lane = &self.lanes[usize::from(known.unwrap_or(0))];
        lane.endpoint.accepts(packet)
    }

    fn on_gates(&mut self, cx: &mut Cx<'_>) {
        for lane in &mut self.lanes {
            lane.endpoint.on_gates(cx);
            lane.wake(self.clock);
        }
    }

    fn on_deadline(&mut self, cx: &mut Cx<'_>) {
        for lane in &mut self.lanes {
            if lane.endpoint.deadline() <= cx.now {
                lane.endpoint.on_deadline(cx);
                lane.wake(self.clock);
            }
        }
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        // Each turn silences one lane or ends the loop.
        while let Some(number) = self.next() {
            let lane = &mut self.lanes[number];
            let said = lane.endpoint.poll_transmit(cx, out);
            lane.ready = said == Transmit::More;
            if said == Transmit::Nothing {
                continue;
            }
            self.clock = lane.served;
            lane.served += u64::from(out.size) * SCALE / lane.weight;
            out.set_lane(lane.number);
            return if self.lanes.iter().any(|lane| lane.ready) {
                Transmit::More
            } else {
                Transmit::Last
            };
        }
        Transmit::Nothing
    }

    fn deadline(&self) -> Time {
        let deadlines = self.lanes.iter().map(|lane| lane.endpoint.deadline());
        deadlines.min().unwrap_or(Time::NEVER)
    }

    fn check(&self) {
        for lane in &self.lanes {
            lane.endpoint.check();
            // A transport that may send is behind by one frame for its weight at most, or has been idle.
            let frame = u64::from(u16::MAX) * SCALE / lane.weight;
            assert!(
                lane.served <= self.clock.saturating_add(frame),
                "served {} at {}",
                lane.served,
                self.clock
            );
        }
    }

    fn stuck(&self, report: &mut dyn FnMut(StuckFlow)) {
        for lane in &self.lanes {
            lane.endpoint.stuck(report);
        }
    }

    fn totals(&self) -> Totals {
        let mut sum = Totals::default();
        for lane in &self.lanes {
            sum += lane.endpoint.totals();
        }
        sum
    }

    fn counters(&self, report: &mut Count<'_>) {
        for lane in &self.lanes {
            lane.endpoint.counters(report);
        }
    }

    fn lanes(&self) -> Vec<&dyn Endpoint> {
        self.lanes.iter().map(|lane| &*lane.endpoint).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Event, Gates, Peers, Rng, stream};

    /// Sends frames of one size: as many as it is told to, from a moment on.
    struct Source {
        size: u16,
        left: u64,
        from: Time,
        woken: Time,
    }

    impl Endpoint for Source {
        fn connect(&mut self, _: &mut Cx<'_>, _: ConnId, _: HostId, _: Lifetime) {}
        fn send(&mut self, _: &mut Cx<'_>, _: ConnId, length: u64) {
            self.left += length;
        }
        fn cancel(&mut self, _: &mut Cx<'_>, _: ConnId) {
            self.left = 0;
        }
        fn forget(&mut self, _: &mut Cx<'_>, _: ConnId) {
            self.left = 0;
        }
        fn on_packet(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
            cx.events.push(Event::Stopped { conn: packet.conn });
        }
        fn on_deadline(&mut self, cx: &mut Cx<'_>) {
            self.woken = cx.now;
        }
        fn poll_transmit(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
            if self.left == 0 || cx.now < self.from {
                return Transmit::Nothing;
            }
            self.left -= 1;
            *out = Packet::new(HostId(1), ConnId(0), model::Class::Control, 0, self.size);
            if self.left == 0 {
                Transmit::Last
            } else {
                Transmit::More
            }
        }
        fn deadline(&self) -> Time {
            if self.left > 0 && self.woken < self.from {
                self.from
            } else {
                Time::NEVER
            }
        }
        fn check(&self) {}
        fn stuck(&self, _: &mut dyn FnMut(StuckFlow)) {}
        fn totals(&self) -> Totals {
            Totals {
                data_sent: self.left,
                ..Totals::default()
            }
        }
    }

    struct Nobody;
    impl Peers for Nobody {
        fn peer(&self, _: HostId, _: ConnId) -> Option<HostId> {
            None
        }
    }

    /// A host whose line takes a nanosecond per byte.
    struct Host {
        lanes: Lanes,
        now: Time,
        rng: Rng,
        events: Vec<Event>,
    }

    impl Host {
        fn new(sources: &[(u16, u64, u32)]) -> Self {
            let endpoints = sources.iter().map(|&(size, from, weight)| {
                let source = Source {
                    size,
                    left: 0,
                    from: Time(from * 1_000),
                    woken: Time::ZERO,
                };
                (Box::new(source) as Box<dyn Endpoint>, weight)
            });
            let count = u8::try_from(sources.len()).unwrap();
            Self {
                lanes: Lanes::new(endpoints.collect(), (0..count).collect()),
                now: Time::ZERO,
                rng: Rng::stream(1, stream::TEST, 1),
                events: Vec::new(),
            }
        }

        fn step<T>(&mut self, step: impl FnOnce(&mut Lanes, &mut Cx<'_>) -> T) -> T {
            let mut cx = Cx {
                now: self.now,
                rng: &mut self.rng,
                events: &mut self.events,
                peers: &Nobody,
                gates: Gates::open(),
                wants_data: false,
            };
            let result = step(&mut self.lanes, &mut cx);
            self.lanes.check();
            result
        }

        fn send(&mut self, lane: u32, frames: u64) {
            self.step(|lanes, cx| lanes.send(cx, ConnId(lane), frames));
        }

        /// Bytes of either class that leave in so many nanoseconds.
        fn run(&mut self, nanoseconds: u64) -> [u64; 2] {
            let (mut out, mut bytes) = (Packet::EMPTY, [0; 2]);
            let end = Time(self.now.0 + nanoseconds * 1_000);
            while self.now < end {
                if self.lanes.deadline() <= self.now {
                    self.step(Lanes::on_deadline);
                }
                match self.step(|lanes, cx| lanes.poll_transmit(cx, &mut out)) {
                    Transmit::Nothing => self.now = self.lanes.deadline().min(end),
                    Transmit::More | Transmit::Last => {
                        bytes[usize::from(out.lane() == 1)] += u64::from(out.size);
                        self.now.0 += u64::from(out.size) * 1_000;
                    }
                }
            }
            bytes
        }
    }

    #[test]
    fn a_busy_line_is_shared_by_weight_whatever_the_frames() {
        for (sizes, weights) in [
            ((1538, 1538), (1, 1)),
            ((84, 1538), (1, 1)),
            ((1538, 84), (4, 1)),
        ] {
            let mut host = Host::new(&[(sizes.0, 0, weights.0), (sizes.1, 0, weights.1)]);
            host.send(0, 1 << 40);
            host.send(1, 1 << 40);
            let [own, beside] = host.run(10_000_000);
            let share = beside as f64 / (own + beside) as f64;
            let expected = f64::from(weights.1) / f64::from(weights.0 + weights.1);
            assert!((share - expected).abs() < 0.001, "{sizes:?}: {share}");
        }
    }

    #[test]
    fn whoever_was_idle_has_saved_nothing_up_and_lost_nothing() {
        let mut host = Host::new(&[(1000, 0, 1), (1000, 500_000, 1)]);
        host.send(0, 1 << 40);
        host.send(1, 1 << 40);
        assert_eq!(host.run(500_000), [500_000, 0], "alone it has the line");
        assert_eq!(host.run(500_000), [250_000, 250_000]);
    }

    #[test]
    fn the_line_is_told_whether_anybody_has_more() {
        let mut host = Host::new(&[(1000, 0, 1), (1000, 0, 1)]);
        host.send(0, 1);
        host.send(1, 1);
        let mut out = Packet::EMPTY;
        let said = [0; 3].map(|_| host.step(|lanes, cx| lanes.poll_transmit(cx, &mut out)));
        assert_eq!(said, [Transmit::More, Transmit::Last, Transmit::Nothing]);
    }

    #[test]
    fn a_connection_belongs_to_one_of_them_and_totals_stay_apart() {
        let mut host = Host::new(&[(1000, 0, 1), (1000, 0, 1)]);
        host.send(1, 5);
        host.send(7, 3); // nobody's: the first one has to make sense of it
        let lanes = host.lanes.lanes();
        let apart: Vec<u64> = lanes.iter().map(|of| of.totals().data_sent).collect();
        assert_eq!((apart, host.lanes.totals().data_sent), (vec![3, 5], 8));
        host.step(|lanes, cx| lanes.cancel(cx, ConnId(1)));
        assert_eq!(host.lanes.totals().data_sent, 3);
    }

    /// 65,535 bytes of weight 4 are 16,383 and three quarters.
    #[test]
    fn broken_books_are_noticed() {
        let noticed = |served| {
            let mut host = Host::new(&[(1000, 0, 4)]);
            host.lanes.lanes[0].served = served;
            let check = std::panic::AssertUnwindSafe(|| host.lanes.check());
            std::panic::catch_unwind(check).is_err()
        };
        let most = 16_383 * SCALE + SCALE * 3 / 4;
        assert!(!noticed(most));
        assert!(noticed(most + 1));
    }
}
