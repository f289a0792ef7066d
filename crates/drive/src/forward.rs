//! A switch made of software: datagrams of its hosts in, through the same [`Switch`] that the simulator
//! runs, and out again.
//!
//! It has one wire per host, which stands for that host: what arrives there goes to it, and what it
//! gets comes from the wires of the others. So a driver connects to the wire of its peer and needs to
//! know nothing of the switch. Reads no more of a datagram than its envelope.

use crate::cookie;
use crate::wire::{DATAGRAM_MAX, Wire};
use model::intent::{PortSpec, SwitchSpec};
use model::wire::{Below, ENVELOPE_LEN, Envelope, flow};
use model::{Class, Hop, HostId, Packet, Record, Rng, stream};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddrV4;
use std::sync::Arc;
use switching::{Counters, Line, Loss, Outlet, Routing, Switch};
use units::{LineTime, Rate, Span, Time};

/// Bytes that Ethernet, IPv4 and UDP add to a datagram, with preamble and gap.
const BELOW: u16 = 38 + 20 + 8;
/// Wire bytes of the smallest Ethernet frame, with preamble and gap.
const FRAME_MIN: u16 = 84;
/// Datagrams that may be inside at once, whatever the ports allow. [ours: 96 MB]
const LETTERS_MAX: usize = 1 << 16;

/// What a forwarder counted beside its ports' [`Counters`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forwarded {
    /// Datagrams that were handed to the switch.
    pub taken: u64,
    /// Datagrams from addresses that are none of its hosts, or that go back to where they came from.
    pub strangers: u64,
    /// Datagrams that are too long, or claim to be a link's own.
    pub refused: u64,
    /// Datagrams for which there was no memory.
    pub full: u64,
}

/// A switch between the hosts of its wires.
pub struct Forwarder<W: Wire> {
    switch: Switch,
    legs: Vec<Leg<W>>,
    by_addr: BTreeMap<SocketAddrV4, u16>,
    ways: OneWay,
    post: Post,
    counts: Forwarded,
}

/// One host, and the wire that stands for it.
struct Leg<W> {
    wire: W,
    host: SocketAddrV4,
}

/// Each host is behind the port of its number.
struct OneWay(Vec<u16>);

impl Routing for OneWay {
    fn ways(&self, host: u32) -> &[u16] {
        let at = host as usize;
        self.0.get(at..=at).unwrap_or(&[])
    }
    fn way_of_flow(_: u32, _: u32, _: u32) -> u32 {
        0
    }
}

/// The datagrams that are inside; a packet carries the place of its own in a word of the head that no
/// switch reads.
#[derive(Default)]
struct Post {
    letters: Vec<Letter>,
    free: Vec<u32>,
    /// What the switch has put on each line, until it is there.
    lines: Vec<VecDeque<(Time, u32)>>,
}

struct Letter {
    bytes: Vec<u8>,
    tos: u8,
    from: u16,
    /// Whether its envelope is one that a switch may change.
    is_ours: bool,
}

impl Post {
    fn put(&mut self, letter: Letter) -> Option<u32> {
        if let Some(place) = self.free.pop() {
            self.letters[place as usize] = letter;
            return Some(place);
        }
        let place = u32::try_from(self.letters.len()).ok()?;
        (self.letters.len() < LETTERS_MAX).then(|| self.letters.push(letter))?;
        Some(place)
    }
}

impl Outlet for Post {
    const CARRIES: bool = true;

    fn add(&mut self, packet: &Packet, hop: &Hop) {
        let letter = &mut self.letters[packet.head[0] as usize];
        // What claims a record and has none is for its receiver to refuse.
        let Ok((mut record, front)) = Record::read(&letter.bytes) else {
            return;
        };
        record.add(hop);
        let start = front.len();
        if start + record.len() < DATAGRAM_MAX {
            letter.bytes.resize(start + record.len() + 1, 0);
            let _ = record.write(&mut letter.bytes, start);
        }
    }

    fn send(&mut self, link: u32, packet: &Packet, at: Time) {
        let place = packet.head[0];
        let letter = &mut self.letters[place as usize];
        letter.tos = letter.tos & !0b11 | packet.ecn() as u8;
        if letter.is_ours {
            let mut envelope = Envelope::of(packet);
            // A record ends the datagram, and goes with what is cut off.
            envelope.record &= !packet.trimmed();
            envelope
                .write(&mut letter.bytes)
                .expect("it was read there");
            if packet.trimmed() {
                let left = usize::from(packet.size.saturating_sub(BELOW));
                letter.bytes.truncate(left.max(ENVELOPE_LEN));
            }
        }
        self.lines[link as usize].push_back((at, place));
    }

    fn lost(&mut self, _: Time, packet: &Packet, _: Loss) {
        self.free.push(packet.head[0]);
    }

    fn sender(&self, packet: &Packet) -> Option<HostId> {
        let letter = self.letters.get(packet.head[0] as usize)?;
        Some(HostId(u32::from(letter.from)))
    }
}

impl<W: Wire> Forwarder<W> {
    /// A switch of `spec` with a port of `port` and `rate` to each of these hosts: the wire that stands
    /// for it, and its address.
    ///
    /// # Panics
    /// If the port contradicts itself or the switch, or there are 65,535 hosts or more.
    pub fn new(
        hosts: Vec<(W, SocketAddrV4)>,
        spec: &SwitchSpec,
        port: &PortSpec,
        rate: Rate,
        seed: u64,
    ) -> Self {
        spec.check(port)
            .expect("the port contradicts neither itself nor the switch: see Panics");
        let port = &Arc::new(port.clone());
        let numbers =
            || 0..u32::try_from(hosts.len()).expect("fewer than 65,535 hosts: see Panics");
        let lines = numbers().map(|link| Line {
            spec: port,
            link,
            line: LineTime::new(rate),
            delay: Span::ZERO,
            rng: Rng::stream(seed, stream::HOST, link.into()),
        });
        let rng = || Rng::stream(seed, stream::HOST, u64::MAX);
        let by_addr = (0u16..).zip(&hosts).map(|(n, &(_, host))| (host, n));
        Self {
            switch: Switch::new(spec, lines, 0, rng, None),
            by_addr: by_addr.collect(),
            ways: OneWay((0..=u16::MAX).take(hosts.len()).collect()),
            post: Post {
                lines: hosts.iter().map(|_| VecDeque::new()).collect(),
                ..Post::default()
            },
            counts: Forwarded::default(),
            legs: hosts
                .into_iter()
                .map(|(wire, host)| Leg { wire, host })
                .collect(),
        }
    }

    /// What it counted.
    pub fn counts(&self) -> Forwarded {
        self.counts
    }

    /// What the port to host number `host` counted.
    pub fn port(&self, host: usize) -> Counters {
        self.switch.ports[host].counters()
    }

    /// Takes what has arrived, sends what is due, and waits at most `wait_max` for more.
    ///
    /// # Errors
    /// A wire's.
    pub fn turn(&mut self, wait_max: Span) -> io::Result<()> {
        for to in 0..self.legs.len() {
            let got = self.legs[to].wire.recv()?;
            let now = self.now();
            (0..got).for_each(|i| self.take(now, to, i));
        }
        let now = self.now();
        self.switch
            .commit_before(now.after(Span(1)), &mut self.post);
        self.send(now)?;
        if cfg!(debug_assertions) {
            self.switch.check();
        }
        let wait = self.next().max(now).since(now).0.min(wait_max.0);
        if wait == 0 {
            return Ok(());
        }
        W::wait_for_any(self.legs.iter().map(|leg| &leg.wire), Span(wait))
    }

    /// The time, on the first wire's clock.
    fn now(&self) -> Time {
        self.legs.first().map_or(Time::ZERO, |leg| leg.wire.now())
    }

    /// When something is due although nothing arrives.
    fn next(&self) -> Time {
        let due = self.post.lines.iter().filter_map(|line| line.front());
        let due = due.map(|&(at, _)| at).min().unwrap_or(Time::NEVER);
        due.min(self.switch.next())
    }

    /// Datagram `i` of the batch of the wire that stands for host `to`.
    fn take(&mut self, now: Time, to: usize, i: usize) {
        let Some(datagram) = self.legs[to].wire.datagram(i) else {
            return;
        };
        let Some(from) = self.by_addr.get(&datagram.from).copied() else {
            self.counts.strangers += 1;
            return;
        };
        if usize::from(from) == to {
            self.counts.strangers += 1;
            return;
        }
        let (bytes, tos) = (datagram.bytes, datagram.tos);
        let envelope = Envelope::read(bytes).ok();
        let is_link = envelope.is_some_and(|envelope| envelope.class == Class::Link);
        if bytes.len() > DATAGRAM_MAX || is_link {
            self.counts.refused += 1;
            return;
        }
        let wire = u16::try_from(bytes.len()).unwrap_or(u16::MAX) + BELOW;
        let ends = (self.legs[usize::from(from)].host, self.legs[to].host);
        let below = Below {
            to: HostId(u32::try_from(to).unwrap_or(u32::MAX)),
            flow: flow(ends.0, ends.1),
            tos,
            size: wire.max(FRAME_MIN),
        };
        let mut packet = envelope.unwrap_or(foreign(bytes)).packet(&below);
        let letter = Letter {
            bytes: bytes.to_vec(),
            tos,
            from,
            is_ours: envelope.is_some(),
        };
        let Some(place) = self.post.put(letter) else {
            self.counts.full += 1;
            return;
        };
        packet.head[0] = place;
        self.counts.taken += 1;
        let (ways, post) = (&self.ways, &mut self.post);
        // Who else came at this moment is not known, so nobody passes without queueing.
        self.switch
            .arrive(now, from, &mut packet, || false, ways, post);
    }

    /// Sends what has reached the end of its line by `now`.
    fn send(&mut self, now: Time) -> io::Result<()> {
        let Post {
            letters,
            free,
            lines,
        } = &mut self.post;
        for (to, line) in lines.iter_mut().enumerate() {
            while let Some(&(at, place)) = line.front()
                && at <= now
            {
                let letter = &letters[place as usize];
                let host = self.legs[to].host;
                // It comes from the wire that stands for its sender.
                let wire = &mut self.legs[usize::from(letter.from)].wire;
                if wire.room() == 0 {
                    wire.flush()?;
                }
                if wire.room() == 0 {
                    return Ok(()); // the system takes no more now
                }
                line.pop_front();
                free.push(place);
                wire.push(host, letter.tos, &mut |out| {
                    out[..letter.bytes.len()].copy_from_slice(&letter.bytes);
                    Ok(letter.bytes.len())
                })?;
            }
        }
        for leg in &mut self.legs {
            leg.wire.flush()?;
        }
        Ok(())
    }
}

/// What a datagram without an envelope is treated as: greetings of drivers as control, anything else as
/// what no transport of ours sent.
fn foreign(bytes: &[u8]) -> Envelope {
    let class = if cookie::is_own(bytes) {
        Class::Control
    } else {
        Class::Plain
    };
    Envelope {
        class,
        priority: 0,
        trimmed: false,
        bounced: false,
        lane: 0,
        path: false,
        record: false,
        shared: 0,
    }
}
