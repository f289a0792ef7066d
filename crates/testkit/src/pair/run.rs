//! One instant after another: arrivals, opens, deadlines, the choice of every idle line.

use super::{Act, Flight, Host, Node, Output, Pair, Reaction, Unfinished};
use crate::examine::{envelope, through_codec};
use crate::ladder::{Line, host_name};
use model::ConnId;
use model::{Cx, Ecn, Endpoint, Event, Gates, HostId, Packet, Record, Rng, Transmit, stream};
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use units::{Bytes, Span, Time};

/// Deadlines and polls of one host at one instant that do not move time: more is a storm.
const STORM_MAX: u32 = 1000;
/// Calls into endpoints before a run counts as endless.
const CALLS_MAX: u64 = 50_000_000;
/// Packets that may wait in one output of the hub.
const HUB_QUEUE_MAX: usize = 1 << 20;

/// The run.
impl Pair<'_> {
    /// Runs until nothing moves any more.
    ///
    /// # Panics
    /// If a message did not end, a flow is left over, or the contract was broken.
    pub fn run(&mut self) {
        if let Err(unfinished) = self.try_run() {
            self.reported = true;
            panic!("{}, seed {}: {unfinished}", self.name, self.seed);
        }
    }

    /// Runs until nothing moves any more or the limit is reached.
    ///
    /// # Errors
    /// What did not end.
    ///
    /// # Panics
    /// If the contract was broken.
    pub fn try_run(&mut self) -> Result<(), Unfinished> {
        self.start();
        self.place_script();
        let last_acts = self
            .hosts
            .iter()
            .filter_map(|host| host.acts.last_key_value());
        let last = last_acts.map(|(&(at, _), _)| at).max().unwrap_or(self.now);
        self.run_until(last.max(self.now).after(self.limit));
        let next = self.next();
        let (messages, stuck) = (self.oracle.unfinished(), self.stuck());
        if next == Time::NEVER && messages.is_empty() && stuck.is_empty() {
            return Ok(());
        }
        let reason = if next == Time::NEVER {
            format!("nothing moves after {}, but not all is done", self.now)
        } else {
            format!(
                "still running at {}; the next step would be at {next}",
                self.now
            )
        };
        Err(Unfinished {
            reason,
            messages,
            stuck,
            tail: self.tail(),
        })
    }

    /// Runs every instant up to and including `end`. May be called again with a later moment.
    pub fn run_until(&mut self, end: Time) {
        self.start();
        loop {
            self.place_script();
            let next = self.next();
            if next == Time::NEVER || next > end {
                return;
            }
            assert!(next >= self.now, "the test kit went back in time");
            self.now = next;
            self.instant();
        }
    }

    fn start(&mut self) {
        if !self.hosts.is_empty() {
            return;
        }
        for id in (0..).map(HostId).take(self.count) {
            let config = self.config(id);
            self.hosts.push(Host {
                endpoint: (self.make)(&config),
                gates: Gates::default(),
                rng: Rng::stream(self.seed, stream::HOST, u64::from(id.0)),
                free_at: Time::ZERO,
                ask: false,
                acts: BTreeMap::new(),
            });
            self.outputs.push(Output {
                queue: VecDeque::new(),
                bytes: 0,
                free_at: Time::ZERO,
            });
        }
    }

    fn place_script(&mut self) {
        for (at, host, act) in self.script.drain(..) {
            self.order += 1;
            self.hosts[host]
                .acts
                .insert((at.max(self.now), self.order), act);
        }
    }

    /// The next moment at which something happens.
    fn next(&self) -> Time {
        let mut next = self
            .flights
            .peek()
            .map_or(Time::NEVER, |flight| flight.0.at);
        for host in &self.hosts {
            if let Some((&(at, _), _)) = host.acts.first_key_value() {
                next = next.min(at);
            }
            if host.ask {
                next = next.min(host.free_at);
            }
            next = next.min(host.endpoint.deadline());
        }
        for output in self
            .outputs
            .iter()
            .filter(|output| !output.queue.is_empty())
        {
            next = next.min(output.free_at);
        }
        next.max(self.now)
    }

    fn instant(&mut self) {
        let mut arrived = Vec::new();
        while self
            .flights
            .peek()
            .is_some_and(|flight| flight.0.at <= self.now)
        {
            arrived.extend(self.flights.pop().map(|Reverse(flight)| flight));
        }
        for flight in arrived {
            match flight.node {
                Node::Hub => self.enqueue(flight.packet, flight.record, flight.line),
                Node::Host(host) => {
                    let packet = flight.packet;
                    self.oracle.tell(packet.conn, id(host));
                    if flight.injected {
                        let text = format!("{} gets {packet:?} from nowhere", host_name(id(host)));
                        self.ladder.push(Line::Note { at: self.now, text });
                    }
                    self.call(host, |endpoint, cx| match &flight.record {
                        Some(record) => endpoint.on_packet_with(cx, &packet, record),
                        None => endpoint.on_packet(cx, &packet),
                    });
                }
            }
        }
        // Hosts do not hear of each other within an instant, so each may finish it in turn.
        for host in 0..self.hosts.len() {
            self.settle(host);
        }
        for output in 0..self.outputs.len() {
            self.dequeue(output);
        }
    }

    /// Opens, deadline and line choice of one host, until this instant has nothing left for it.
    fn settle(&mut self, host: usize) {
        for _ in 0..STORM_MAX {
            self.place_script();
            while let Some(entry) = self.hosts[host].acts.first_entry() {
                if entry.key().0 > self.now {
                    break;
                }
                let act = entry.remove();
                self.perform(host, act);
                self.place_script();
            }
            if self.hosts[host].endpoint.deadline() <= self.now {
                self.call(host, |endpoint, cx| endpoint.on_deadline(cx));
            }
            if self.hosts[host].ask && self.hosts[host].free_at <= self.now {
                self.choose(host);
            }
            let state = &self.hosts[host];
            let acts = state
                .acts
                .first_key_value()
                .is_some_and(|(key, _)| key.0 <= self.now);
            let line = state.ask && state.free_at <= self.now;
            if !acts && !line && state.endpoint.deadline() > self.now {
                return;
            }
        }
        self.fail(&format!("deadline storm at {}", host_name(id(host))));
    }

    fn perform(&mut self, host: usize, act: Act) {
        let me = id(host);
        match act {
            Act::Connect(conn, peer, lifetime) => {
                self.oracle.tell(conn, me);
                self.call(host, |endpoint, cx| {
                    endpoint.connect(cx, conn, peer, lifetime);
                });
            }
            Act::Send(conn, length) => {
                self.oracle.send(conn, me, length);
                self.oracle.tell(conn, me);
                self.call(host, |endpoint, cx| endpoint.send(cx, conn, length));
            }
            Act::Cancel(conn) => {
                self.oracle.cancel(conn, me);
                let text = format!("{} cancels", host_name(me));
                self.ladder.push(Line::Note { at: self.now, text });
                self.call(host, |endpoint, cx| endpoint.cancel(cx, conn));
            }
            Act::Forget(conn) => {
                self.oracle.refused(conn);
                let text = format!("{} is told to forget", host_name(me));
                self.ladder.push(Line::Note { at: self.now, text });
                self.call(host, |endpoint, cx| endpoint.forget(cx, conn));
            }
            Act::Restart => {
                self.oracle.restarted(me);
                let text = format!("{} begins anew", host_name(me));
                self.ladder.push(Line::Note { at: self.now, text });
                self.hosts[host].endpoint = (self.make)(&self.config(me));
                self.hosts[host].ask = true;
            }
            Act::Signal(signal) => {
                let text = format!("{} hears {signal:?}", host_name(me));
                self.ladder.push(Line::Note { at: self.now, text });
                self.hosts[host].gates.heed(self.now, signal);
                self.call(host, |endpoint, cx| endpoint.on_gates(cx));
            }
            Act::Poke => self.call(host, |endpoint, cx| endpoint.on_deadline(cx)),
        }
    }

    /// One call into an endpoint, its events and its `check`.
    fn call(&mut self, host: usize, step: impl FnOnce(&mut dyn Endpoint, &mut Cx<'_>)) {
        self.with_cx(host, |endpoint, cx| step(endpoint, cx));
        self.hosts[host].ask = true;
    }

    fn with_cx<R>(
        &mut self,
        host: usize,
        step: impl FnOnce(&mut dyn Endpoint, &mut Cx<'_>) -> R,
    ) -> R {
        self.calls += 1;
        if self.calls > CALLS_MAX {
            self.fail("too many steps: the run does not end");
        }
        let state = &mut self.hosts[host];
        let mut cx = Cx {
            now: self.now,
            rng: &mut state.rng,
            events: &mut self.scratch,
            peers: &self.oracle,
            gates: &state.gates,
            wants_data: true,
        };
        let before = self.heap.map_or(0, |heap| heap());
        let result = step(&mut *state.endpoint, &mut cx);
        self.held += self.heap.map_or(0, |heap| heap()) - before;
        state.endpoint.check();
        self.hear(host);
        result
    }

    /// Takes the events of one call to the oracle, the ladder and the application.
    fn hear(&mut self, host: usize) {
        let me = id(host);
        let news = std::mem::take(&mut self.scratch);
        for &event in &news {
            let verdict = match event {
                Event::Data {
                    conn,
                    offset,
                    length,
                } => self.oracle.accept(conn, me, offset, length),
                Event::Received {
                    conn,
                    ordinal,
                    length,
                } => {
                    self.react(conn, host, ordinal);
                    self.oracle.received(conn, me, ordinal, length)
                }
                Event::Sent { conn, ordinal } => self.oracle.sent(conn, me, ordinal),
                Event::Refused { conn } => {
                    self.oracle.refused(conn);
                    Ok(())
                }
                // It changes nothing for anybody, and what follows shows in packets.
                Event::Missing { .. } => continue,
                Event::Stopped { .. } | Event::AskedAgain { .. } => Ok(()),
                Event::Forgotten { conn } => {
                    self.hosts[host].gates.forget(conn);
                    self.oracle.forgotten(conn, me)
                }
            };
            self.digest.event(self.now, me, event);
            // Ladders show what is exchanged, and forgetting is not.
            if !matches!(event, Event::Data { .. } | Event::Forgotten { .. }) {
                self.ladder.push(Line::Event {
                    at: self.now,
                    host: me,
                    event,
                });
                self.events.push((self.now, me, event));
            }
            if let Err(what) = verdict {
                self.fail(&format!("{}: {what}", host_name(me)));
            }
        }
        self.scratch = news;
        self.scratch.clear();
    }

    fn react(&mut self, conn: ConnId, host: usize, ordinal: u32) {
        let now = self.now;
        let due = |r: &Reaction| r.conn == conn && r.host == host && r.after == ordinal;
        for reaction in self.reactions.iter().filter(|r| due(r)) {
            self.script
                .push((now, host, Act::Send(conn, reaction.length)));
        }
    }

    /// The line of `host` is idle: asks what leaves now.
    fn choose(&mut self, host: usize) {
        let mut packet = Packet::EMPTY;
        let due_before = self.hosts[host].endpoint.deadline() <= self.now;
        let answer = self.with_cx(host, |endpoint, cx| endpoint.poll_transmit(cx, &mut packet));
        match answer {
            Transmit::Nothing => {
                self.hosts[host].ask = false;
                if !due_before && self.hosts[host].endpoint.deadline() <= self.now {
                    self.fail("poll_transmit sent nothing and set a deadline that has passed");
                }
            }
            Transmit::More | Transmit::Last => {
                self.hosts[host].ask = answer == Transmit::More;
                self.transmit(host, packet);
            }
        }
    }

    fn transmit(&mut self, host: usize, mut packet: Packet) {
        let from = id(host);
        let endpoint = &self.hosts[host].endpoint;
        let has = packet.has_record();
        let record = has.then(|| Box::new(endpoint.record(&packet)));
        if !self.hosts[host].gates.may_leave(&packet) {
            self.fail(&format!("{packet:?} leaves through a closed gate"));
        }
        self.examine(from, &packet);
        self.packets += 1;
        let codec = self.codec;
        let cut = self.cut(&packet);
        let may_cut = cut.is_some();
        let mut fate = self
            .faults
            .decide(&mut packet, may_cut, &|packet| codec.describe(packet));
        let left = self
            .now
            .after(self.rate.serialize(Bytes(u64::from(packet.size))));
        self.hosts[host].free_at = left;
        packet.at = left.after(self.delay).after(fate.late);
        fate.lost |= self.faults.is_down(from, self.now, packet.at);
        if self.count == 2 {
            fate.lost |= self.faults.is_down(packet.to(), self.now, packet.at);
        }
        self.digest.packet(self.now, from, &packet, fate.lost);
        let line = self.ladder.push(Line::Packet {
            at: self.now,
            from,
            packet,
            fate,
            note: "",
        });
        if fate.lost {
            return;
        }
        if let Some(cut) = cut.filter(|_| fate.trimmed) {
            let at = packet.at;
            packet = cut;
            packet.at = at;
        }
        if fate.returned {
            packet.bounce(from);
            packet.at = packet.at.after(self.delay);
        }
        let node = if self.count == 2 || fate.returned {
            Node::Host(self.index(packet.to()))
        } else {
            Node::Hub
        };
        for copy in 0..=u64::from(fate.twice) {
            self.order += 1;
            packet.at = packet.at.after(Span(copy));
            let (at, order) = (packet.at, self.order);
            self.flights.push(Reverse(Flight {
                at,
                order,
                node,
                packet,
                record: record.clone(),
                line,
                injected: false,
            }));
        }
    }

    /// Data without its payload, where it has any and its transport takes what is left.
    fn cut(&self, packet: &Packet) -> Option<Packet> {
        let payload = self
            .codec
            .payload(packet)
            .is_some_and(|(_, length)| length > 0);
        let mut cut = *packet;
        cut.trim(self.encap.frame_min);
        let host = &self.hosts[packet.to().0 as usize];
        (payload && host.endpoint.accepts(&cut)).then_some(cut)
    }

    /// The envelope and the codec must be right: this is our own code's work, not a peer's.
    fn examine(&mut self, from: HostId, packet: &Packet) {
        let peer = self.oracle.peer(from, packet.conn);
        let mut verdict = envelope(packet, from, peer, self.encap);
        if self.check_codec {
            verdict = verdict.and_then(|()| through_codec(self.codec, packet));
        }
        if let Err(wrong) = verdict {
            self.fail(&format!(
                "{} sends {packet:?}, which {wrong}",
                host_name(from)
            ));
        }
    }

    fn enqueue(&mut self, mut packet: Packet, record: Option<Box<Record>>, line: Option<usize>) {
        let size = u64::from(packet.size);
        let output = &mut self.outputs[packet.to().0 as usize];
        if output.bytes + size > self.buffer.0 || output.queue.len() == HUB_QUEUE_MAX {
            self.ladder.annotate(line, "X dropped at the hub");
            return;
        }
        let above = self
            .mark_from
            .is_some_and(|threshold| output.bytes >= threshold.0);
        if above && packet.ecn() != Ecn::NotCapable {
            packet.set_ecn(Ecn::Marked);
            self.ladder.annotate(line, "* marked at the hub");
        }
        output.bytes += size;
        output.queue.push_back((packet, record, line));
    }

    fn dequeue(&mut self, index: usize) {
        let output = &mut self.outputs[index];
        if output.free_at > self.now {
            return;
        }
        let Some((mut packet, record, line)) = output.queue.pop_front() else {
            return;
        };
        output.bytes -= u64::from(packet.size);
        output.free_at = self
            .now
            .after(self.rate.serialize(Bytes(u64::from(packet.size))));
        packet.at = output.free_at.after(self.delay);
        if self.faults.is_down(packet.to(), self.now, packet.at) {
            self.ladder.annotate(line, "X lost");
            return;
        }
        self.order += 1;
        let (at, order, node) = (packet.at, self.order, Node::Host(index));
        self.flights.push(Reverse(Flight {
            at,
            order,
            node,
            packet,
            record,
            line,
            injected: false,
        }));
    }

    /// The last lines of the conversation so far.
    pub fn tail(&self) -> String {
        self.ladder.tail(self.codec, self.count)
    }

    fn fail(&mut self, what: &str) -> ! {
        self.reported = true;
        let reason = format!("{what}, at {}", self.now);
        let (messages, stuck) = (self.oracle.unfinished(), self.stuck());
        let unfinished = Unfinished {
            reason,
            messages,
            stuck,
            tail: self.tail(),
        };
        panic!("{}, seed {}: {unfinished}", self.name, self.seed);
    }
}

fn id(host: usize) -> HostId {
    HostId(u32::try_from(host).expect("hosts are few"))
}
