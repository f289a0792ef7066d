//! The classic event queue over the same hosts and switches: slow, obvious, and there to be held
//! against the engine.
//!
//! It knows nothing of windows, rings or lateness. Whatever it and the engine disagree on is a
//! mistake in one of them.

use crate::beside::{Carrying, Companion, Due, Lines};
use crate::count::Window;
use crate::net::{self, SetupError};
use crate::node::{Kind, Log};
use crate::outcome::{self, Stop};
use crate::promised::{OnLinks, Promised};
use crate::setup::{Outcome, Setup};
use model::{ByClass, HostId, Packet, Peers};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use switching::{Outlet, Port};
use topology::LinkId;
use units::{Span, Time};

/// Packets on all links, by arrival, receiving node, its port, and order on the link.
type Flying = BTreeMap<(Time, u32, u16, u64), (Packet, Option<Box<Companion>>)>;

struct Out<'a> {
    book: &'a crate::book::Book<'a>,
    flying: &'a mut Flying,
    setup: &'a Setup<'a>,
    sent: &'a mut u64,
    /// What goes with the next packet.
    beside: Option<Box<Companion>>,
}

impl Outlet for Out<'_> {
    fn send(&mut self, link: u32, packet: &Packet, at: Time) {
        let far = self.setup.topology.link(LinkId(link));
        *self.sent += 1;
        let mut packet = *packet;
        packet.at = at;
        self.flying.insert(
            (at, far.to.0, far.to_port, *self.sent),
            (packet, self.beside.take()),
        );
    }

    fn sender(&self, packet: &Packet) -> Option<HostId> {
        self.book.peer(packet.to(), packet.conn)
    }
}

impl Lines for Out<'_> {
    fn send_beside(&mut self, _: u32, beside: &Companion, _: Time) {
        self.beside = Some(Box::new(*beside));
    }
}

/// What is on links, to be looked at.
struct On<'a>(&'a Setup<'a>, &'a Flying);

impl OnLinks for On<'_> {
    fn promised(&self, port: &Port, end: Time) -> Option<Promised> {
        let far = self.0.topology.link(LinkId(port.link()));
        let on = self.1.iter();
        let on = on.filter(|((_, node, port, _), _)| (*node, *port) == (far.to.0, far.to_port));
        let on = on.map(|(_, (packet, _))| packet);
        let mut promised = Promised::by(port, on.clone().next_back()?, end)?;
        on.for_each(|packet| promised.add(port, packet, end));
        Some(promised)
    }
}

/// Runs `setup` by one event queue. Samples are not taken: they belong to the engine.
///
/// # Errors
/// What in `setup` contradicts itself.
#[allow(
    clippy::too_many_lines,
    reason = "one loop, to be compared with the engine"
)]
pub fn run(setup: &Setup<'_>) -> Result<Outcome, SetupError> {
    let (world, mut nodes) = net::build(setup)?;
    let mut log = Log::default();
    let news = net::lookahead(setup);
    let (mut flying, mut sent, mut end) = (Flying::new(), 0, Time::ZERO);
    // Moments at which a node wants to act unasked; stale ones are harmless.
    let mut wakes = BinaryHeap::new();
    for (number, node) in nodes.iter().enumerate() {
        if let Kind::Host(host) = &node.kind {
            wakes.push(Reverse((
                host.next(),
                u32::try_from(number).expect("nodes have numbers of 32 bits"),
            )));
        }
    }
    let mut idle = false;
    loop {
        let arrival = flying.first_key_value().map(|(key, _)| (key.0, key.1));
        let wake = wakes.peek().map(|&Reverse(wake)| wake);
        let next = arrival.into_iter().chain(wake).min();
        if !log.firings.is_empty() && next.is_none_or(|(at, _)| at > end) {
            let book = &world.book;
            book.triggers
                .release(&mut log.firings, news, |message, at| {
                    let host = book.sender(message);
                    if let Kind::Host(sender) = &mut nodes[host as usize].kind {
                        sender.start(message, at);
                    }
                    wakes.push(Reverse((at, host)));
                });
            continue;
        }
        let Some((now, number)) = next else {
            idle = true;
            break;
        };
        if now >= setup.until {
            break;
        }
        end = now;
        while wakes
            .peek()
            .is_some_and(|&Reverse(wake)| wake == (now, number))
        {
            wakes.pop();
        }
        let node = &mut nodes[number as usize];
        let mut arrivals = Vec::new();
        while let Some(entry) = flying
            .first_entry()
            .filter(|e| (e.key().0, e.key().1) == (now, number))
        {
            let port = entry.key().2;
            let (packet, beside) = entry.remove();
            arrivals.push(Due {
                port,
                packet,
                beside,
            });
        }
        if let Some(faults) = &mut node.faults {
            for due in arrivals.drain(..) {
                faults.offer(&due);
            }
            faults.due(now.after(Span(1)), &mut arrivals);
            if faults.next() < Time::NEVER {
                wakes.push(Reverse((faults.next(), number)));
            }
        }
        if setup.digest {
            for due in &arrivals {
                node.digest.note(due.port, &due.packet);
                due.beside
                    .iter()
                    .for_each(|beside| node.digest.note_beside(beside));
            }
        }
        log.hops += arrivals.len() as u64;
        let mut out = Out {
            book: &world.book,
            flying: &mut flying,
            setup,
            sent: &mut sent,
            beside: None,
        };
        let mut out = Carrying {
            out: &mut out,
            records: &mut node.records,
        };
        let next = match &mut node.kind {
            Kind::Host(host) => {
                let arrivals = arrivals.drain(..).map(|due| (now, due));
                host.run(
                    arrivals,
                    now.after(Span(1)),
                    &world.book,
                    &mut log,
                    &mut out,
                )
            }
            Kind::Switch(at) => {
                let view = world.ways.of(at.id, &mut at.epoch, now);
                let alone = arrivals.len() == 1;
                for due in &mut arrivals {
                    let Due { port, packet, .. } = due;
                    out.records.keep(packet, *port, due.beside.as_deref());
                    at.switch
                        .arrive(now, *port, packet, || alone, &view, &mut out);
                }
                // A choice at this very moment knows of everything that arrived up to it.
                if at.switch.next() <= now {
                    at.switch.commit_before(now.after(Span(1)), &mut out);
                }
                at.switch.next()
            }
        };
        if next < Time::NEVER {
            assert!(next > now, "node {number} does not come to rest at {now}");
            wakes.push(Reverse((next, number)));
        }
    }
    let mut in_flight = ByClass::default();
    for (packet, _) in flying.values() {
        in_flight[packet.class()] += 1;
    }
    Ok(outcome::close(
        setup,
        &world,
        (nodes, Window::default()),
        &[log],
        (in_flight, &On(setup, &flying)),
        &Stop::new(setup, end, false, idle),
    ))
}
