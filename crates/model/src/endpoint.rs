//! The contract of a transport: one state machine per host, for all of its connections.

use crate::{Class, ConnId, Count, Cx, Encap, HostId, Packet, Record};
use units::{Bytes, Rate, Span, Time};

/// One transport on one host.
///
/// Grants, credits and shortest-first are decisions *across* flows, so the unit is the host. The
/// driver (simulator or wire) calls it with the time and asks, whenever the line is idle, what
/// leaves now. Lengths cross this boundary, never bytes.
///
/// Rules, kept by the conformance suite:
/// - a spurious [`Endpoint::on_deadline`] does nothing;
/// - [`Endpoint::poll_transmit`] never sets a deadline that has passed without sending something;
/// - it writes nothing that [`Cx::gates`] holds back, and no timer takes the silence of a pause for a
///   loss ([`Gates::excuse`](crate::Gates::excuse));
/// - no packet, however broken, makes it panic; [`Endpoint::check`] panics on our own mistakes only;
/// - state is bounded per peer, and a connection that is done costs nothing (`OneMessage`) or a few
///   bytes (`Persistent`);
/// - when nothing is kept of a connection any more, it says [`Event::Forgotten`](crate::Event::Forgotten).
pub trait Endpoint: Send {
    /// Opens a connection to `peer`. The other end learns of it from the first packet.
    fn connect(&mut self, cx: &mut Cx<'_>, conn: ConnId, peer: HostId, lifetime: Lifetime);

    /// Sends a message of `length` bytes after those already sent in this direction. Both ends of
    /// a connection may send once it is open: an answer is a message of the other direction.
    fn send(&mut self, cx: &mut Cx<'_>, conn: ConnId, length: u64);

    /// Stops the current messages of this direction: what has not left yet will not leave, and the
    /// message ends, for both sides, after the last byte that did.
    fn cancel(&mut self, cx: &mut Cx<'_>, conn: ConnId);

    /// Forgets whatever is kept of `conn`, because the peer is gone or not wanted any more: no message of it will end.
    /// Says [`Event::Forgotten`](crate::Event::Forgotten) where anything was kept. The other end, if it is still there,
    /// has its message refused: it is told now, where its packets would open the message again, or when it speaks of it.
    fn forget(&mut self, cx: &mut Cx<'_>, conn: ConnId);

    /// A packet has arrived.
    fn on_packet(&mut self, cx: &mut Cx<'_>, packet: &Packet);

    /// Several packets have arrived at once: the same as one after the other.
    fn on_packets(&mut self, cx: &mut Cx<'_>, packets: &[Packet]) {
        for packet in packets {
            self.on_packet(cx, packet);
        }
    }

    /// The same, with the record that came beside the packet: only where [`Packet::has_record`]. A transport
    /// that asks for no records need not know of it.
    fn on_packet_with(&mut self, cx: &mut Cx<'_>, packet: &Packet, record: &Record) {
        let _ = record;
        self.on_packet(cx, packet);
    }

    /// The record of `packet`, which [`Endpoint::poll_transmit`] has just written and which says that it has
    /// one. Asked at once, before anything else is. The packet's size counts what its record takes.
    fn record(&self, packet: &Packet) -> Record {
        let _ = packet;
        Record::EMPTY
    }

    /// Whether this packet, which a switch has trimmed or sent back, may reach [`Endpoint::on_packet`]. Only
    /// a transport whose fabric asks for either says yes; what it refuses is counted and dropped.
    fn accepts(&self, packet: &Packet) -> bool {
        let _ = packet;
        false
    }

    /// The gates of this host's line have changed: [`Cx::gates`] says what may leave now. The line is
    /// asked in any case; this is for endpoints that keep something by them.
    fn on_gates(&mut self, cx: &mut Cx<'_>) {
        let _ = cx;
    }

    /// The moment that [`Endpoint::deadline`] named has come.
    fn on_deadline(&mut self, cx: &mut Cx<'_>);

    /// The line is idle: writes what leaves now into `out`.
    fn poll_transmit(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit;

    /// When it next wants [`Endpoint::on_deadline`]; [`Time::NEVER`] for not at all.
    fn deadline(&self) -> Time;

    /// Panics where an invariant of our own state is broken.
    fn check(&self);

    /// Names each unfinished flow of this host and what it waits for.
    fn stuck(&self, report: &mut dyn FnMut(StuckFlow));

    /// What this host has counted so far, in the words of all transports.
    fn totals(&self) -> Totals;

    /// What it has counted besides, in words of its own: [`counters!`](crate::counters!) declares them. It
    /// reports the same counters in the same order every time.
    fn counters(&self, report: &mut Count<'_>) {
        let _ = report;
    }

    /// The transports that share this host, by their number; empty where this is one alone.
    fn lanes(&self) -> Vec<&dyn Endpoint> {
        Vec::new()
    }
}

/// What [`Endpoint::poll_transmit`] wrote.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transmit {
    /// Nothing: ask again after the next call that changes something.
    Nothing,
    /// A packet, and there may be more.
    More,
    /// A packet, and nothing else waits.
    Last,
}

/// How long a connection lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lifetime {
    /// One message from the opener, then both ends forget it.
    OneMessage,
    /// One message from the opener and one from the other end, which may send it as soon as it knows
    /// of the connection; then both forget it. An end that does not want to wait for an answer,
    /// or to give one, calls [`Endpoint::forget`].
    Exchange,
    /// Until the run ends.
    Persistent,
}

impl Lifetime {
    /// Whether the connection ends by itself.
    #[inline]
    pub fn is_one_shot(self) -> bool {
        self != Self::Persistent
    }

    /// Whether an end may send a message on it: the `opener` its only one, either end its only one, or any number.
    #[inline]
    pub fn allows_message(self, opener: bool, has_sent: bool) -> bool {
        match self {
            Self::OneMessage => opener && !has_sent,
            Self::Exchange => !has_sent,
            Self::Persistent => true,
        }
    }

    /// Whether an end has done all that it is for: its own message is `sent` and done, that of the other end `got`.
    #[inline]
    pub fn is_over(self, opener: bool, sent: bool, got: bool) -> bool {
        match self {
            Self::OneMessage if opener => sent,
            Self::OneMessage => got,
            Self::Exchange => sent && got,
            Self::Persistent => false,
        }
    }
}

/// A hop-by-hop signal for this host's uplink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// Nothing of this connection may leave.
    PauseFlow(ConnId),
    /// It may again.
    ResumeFlow(ConnId),
    /// Nothing of this priority may leave.
    PausePriority(u8),
    /// It may again.
    ResumePriority(u8),
}

impl Signal {
    /// The frame that carries it over a link: 84 B with preamble and gap.
    pub fn frame(self) -> Packet {
        let (kind, conn, priority) = match self {
            Self::PauseFlow(conn) => (0, conn, 0),
            Self::ResumeFlow(conn) => (1, conn, 0),
            Self::PausePriority(priority) => (2, ConnId(0), priority),
            Self::ResumePriority(priority) => (3, ConnId(0), priority),
        };
        let mut frame = Packet::new(HostId(0), conn, Class::Link, kind, 84);
        frame.head[0] = priority.into();
        frame.end_here();
        frame
    }

    /// The same for a pause that ends by itself after `lasting`; that ends when it is resumed where that is zero.
    /// Whole nanoseconds, rounded up, 4 s at most.
    pub fn frame_for(self, lasting: Span) -> Packet {
        let mut frame = self.frame();
        frame.head[1] = u32::try_from(lasting.0.div_ceil(1000)).unwrap_or(u32::MAX);
        frame
    }

    /// When the pause that `frame` asks for ends by itself, where it comes in at `now`.
    pub fn until(frame: &Packet, now: Time) -> Time {
        match frame.head[1] {
            0 => Time::NEVER,
            ns => now.after(Span::ns(ns.into())),
        }
    }

    /// What ends this pause; none where it is none.
    pub fn end(self) -> Option<Self> {
        match self {
            Self::PauseFlow(conn) => Some(Self::ResumeFlow(conn)),
            Self::PausePriority(priority) => Some(Self::ResumePriority(priority)),
            Self::ResumeFlow(_) | Self::ResumePriority(_) => None,
        }
    }

    /// What a frame of class [`Class::Link`] says; none where it is no signal.
    pub fn of(frame: &Packet) -> Option<Self> {
        let priority = u8::try_from(frame.head[0])
            .ok()
            .filter(|&priority| priority < 8);
        match frame.kind() {
            0 => Some(Self::PauseFlow(frame.conn)),
            1 => Some(Self::ResumeFlow(frame.conn)),
            2 => priority.map(Self::PausePriority),
            3 => priority.map(Self::ResumePriority),
            _ => None,
        }
    }
}

/// What every transport is told about its host and network when it is made: [`EndpointConfig::new`], then
/// what else is known.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EndpointConfig {
    /// The host it serves.
    pub host: HostId,
    /// Rate of the host's link.
    pub rate: Rate,
    /// Longest round trip of an idle network, with a full frame there and the smallest back.
    pub base_rtt: Span,
    /// The same with the smallest frames both ways: from a request to its answer.
    pub control_rtt: Span,
    /// Frame sizes.
    pub encap: Encap,
    /// Largest buffer a packet can wait in, per hop, for safety timers.
    pub port_buffer: Bytes,
    /// Links of the longest path.
    pub hops_max: u8,
    /// Part of every line that is this transport's, in 1/10,000, where others are beside it;
    /// [`CreditSpec::WHOLE`](crate::intent::CreditSpec::WHOLE) where it is alone.
    pub line_share: u16,
    /// Bytes of a message that its application can hold behind the first that is missing; a host of a simulator holds
    /// all of it.
    pub reassembly: Bytes,
    /// Control packets have queues of their own on the way, in which they pass data that left before them.
    pub control_passes: bool,
    /// Switches may give packets of one connection several ways, on which they overtake each other.
    pub overtakes: bool,
}

impl EndpointConfig {
    /// A host alone on a line of `rate` that takes no time to cross, with no buffer on its way.
    pub const fn new(host: HostId, rate: Rate, encap: Encap) -> Self {
        Self {
            host,
            rate,
            base_rtt: Span::ZERO,
            control_rtt: Span::ZERO,
            encap,
            port_buffer: Bytes(0),
            hops_max: 1,
            line_share: crate::intent::CreditSpec::WHOLE,
            reassembly: Bytes(u64::MAX),
            control_passes: false,
            overtakes: false,
        }
    }

    /// The same with other fields changed.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Bandwidth-delay product, in wire bytes: what the host's link carries from a request to its answer.
    pub fn bdp(&self) -> Bytes {
        self.rate.bytes_in(self.control_rtt)
    }
}

/// One flow that did not finish, for the report at the end of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StuckFlow {
    /// The connection.
    pub conn: ConnId,
    /// The role and state, in the words of the transport's state machine.
    pub state: String,
    /// What it waits for, with the moment where there is one.
    pub waits_for: String,
}

crate::counters! {
    /// What every transport counts, for one host; a run's figures are their sums. What one of them counts
    /// alone, it declares: [`counters!`](crate::counters!).
    pub struct Totals {
        /// Data packets sent, first time or again.
        data_sent: packets,
        /// Data packets sent again.
        retransmitted: packets,
        /// Packets that brought nothing new to the host: data that it has, and words of what it has forgotten.
        duplicates: packets,
        /// Credits (or grants) given out.
        credits_sent: packets,
        /// Credits that arrived at a sender.
        credits_received: packets,
        /// Credits that arrived and released nothing: nothing was left to send, or they ran out first.
        credits_wasted: packets,
        /// Credits that were dropped at this host's own link.
        credits_dropped: packets,
        /// Safety timers that fired.
        timeouts: times,
        /// Packets that made no sense and were ignored.
        nonsense: packets,
    }
}

#[cfg(test)]
mod tests {
    use super::Lifetime::{Exchange, OneMessage, Persistent};

    #[test]
    fn a_lifetime_says_who_sends_and_when_an_end_is_done() {
        let ends = [(true, false), (true, true), (false, false), (false, true)];
        for (lifetime, allows) in [
            (OneMessage, [true, false, false, false]),
            (Exchange, [true, false, true, false]),
            (Persistent, [true; 4]),
        ] {
            let found = ends.map(|(opener, sent)| lifetime.allows_message(opener, sent));
            assert_eq!(found, allows, "{lifetime:?}");
            assert_eq!(lifetime.is_one_shot(), lifetime != Persistent);
        }
        let facts = [(false, false), (false, true), (true, false), (true, true)];
        for (lifetime, opener, over) in [
            (OneMessage, true, [false, false, true, true]),
            (OneMessage, false, [false, true, false, true]),
            (Exchange, true, [false, false, false, true]),
            (Exchange, false, [false, false, false, true]),
            (Persistent, true, [false; 4]),
            (Persistent, false, [false; 4]),
        ] {
            let found = facts.map(|(sent, got)| lifetime.is_over(opener, sent, got));
            assert_eq!(found, over, "{lifetime:?} {opener}");
        }
    }
}
