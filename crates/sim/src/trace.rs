//! What happened to the packets of chosen connections, node by node; costs nothing when off.
//!
//! A node notes every packet that arrives or is lost there. A frame left the previous node earlier by
//! the link's delay and its own serialisation, so no node notes departures.

use crate::net::SetupError;
use crate::node::{Kind, Node};
use crate::setup::{Observer, Outcome, Setup};
use model::{ConnId, DropReason, Packet, Signal};
use std::cell::UnsafeCell;
use std::ops::Range;
use switching::{GateOf, GateState, Noted, Sake};
use topology::{LinkId, NodeId, Topology};
use units::Time;

/// Which packets to trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Connections, ascending; none for every connection.
    pub conns: Option<Vec<u32>>,
    /// Moments: from when, until when (exclusive). What flow controls had paused before that counts, too.
    pub window: Range<Time>,
    /// Events at most: a trace that would be longer is refused, with its length.
    pub events_max: u64,
}

/// Something that happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// The packet as it was then; its `at` is the moment.
    pub packet: Packet,
    /// What happened.
    pub what: Traced,
}

/// Something that a flow control did.
#[derive(Clone, Copy, Debug)]
pub struct PauseEvent {
    /// When.
    pub at: Time,
    /// The link before which it happened.
    pub link: LinkId,
    /// What.
    pub what: Pausing,
}

/// What a flow control did.
#[derive(Clone, Copy, Debug)]
pub enum Pausing {
    /// A gate opened, or closed.
    Gate(GateOf, bool),
    /// The node at the link's far end asks to pause this, for the sake of a packet that waits for this other link of it.
    Asked(GateOf, LinkId, Sake),
    /// The node at the link's far end does not want this flow, and this queue is closed for that; none where it wants it
    /// again.
    Kept(ConnId, Option<u8>),
    /// This packet joined this queue.
    Joined(u8, Packet),
}

/// How long a trace would be that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany {
    /// Packets that arrive or are lost.
    pub packets: u64,
    /// What flow controls do.
    pub controls: u64,
}

/// What [`trace`] gives.
#[derive(Debug)]
pub struct Trace {
    /// What happened to packets.
    pub events: Vec<TraceEvent>,
    /// What flow controls did, by moment.
    pub pauses: Vec<PauseEvent>,
    /// When a host took what had not come of a connection for lost, where its transport says so; by moment.
    pub missed: Vec<(Time, NodeId, ConnId)>,
}

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traced {
    /// Its last bit came in by this link.
    Arrived(LinkId),
    /// It was dropped where it should have waited for this link.
    Dropped(LinkId, DropReason),
    /// A fault of this link took it; the moment is that of its arrival, had it arrived.
    Lost(LinkId),
    /// It was dropped at this node before a port was chosen.
    Stopped(NodeId, DropReason),
}

impl Traced {
    /// The node where it happened.
    pub fn node(self, topology: &Topology) -> NodeId {
        match self {
            Self::Arrived(link) | Self::Lost(link) => topology.link(link).to,
            Self::Dropped(link, _) => topology.link(link).from,
            Self::Stopped(node, _) => node,
        }
    }
}

/// Notes of all threads.
pub(crate) struct Tracer {
    wanted: Wanted,
    /// By thread: what it noted, and how much in all.
    notes: Vec<UnsafeCell<(Vec<TraceEvent>, u64)>>,
    /// What flow controls did, and how much of it was too much.
    pauses: (Vec<PauseEvent>, u64),
    /// What hosts missed.
    missed: Vec<(Time, NodeId, ConnId)>,
}

impl Tracer {
    pub(crate) fn new(wanted: Wanted, threads: usize) -> Self {
        let notes = (0..threads).map(|_| UnsafeCell::default()).collect();
        Self {
            wanted,
            notes,
            pauses: (Vec::new(), 0),
            missed: Vec::new(),
        }
    }

    /// Notes that `what` happened to `packet` at `at`.
    ///
    /// # Safety
    /// Only the thread of that number may call it.
    pub(crate) unsafe fn note(&self, thread: usize, at: Time, packet: &Packet, what: Traced) {
        let mut conns = self.wanted.conns.iter();
        if !self.wanted.window.contains(&at)
            || conns.any(|conns| conns.binary_search(&packet.conn.0).is_err())
        {
            return;
        }
        // SAFETY: by contract this thread alone touches its notes.
        let (events, count) = unsafe { &mut *self.notes[thread].get() };
        *count += 1;
        if *count <= self.wanted.events_max {
            let mut packet = *packet;
            packet.at = at;
            events.push(TraceEvent { packet, what });
        } else {
            // Nobody gets a part of a trace.
            *events = Vec::new();
        }
    }

    /// Has nodes note what flow controls do.
    pub(crate) fn watch(&self, nodes: &mut [Node]) {
        let most = usize::try_from(self.wanted.events_max).unwrap_or(usize::MAX);
        for node in nodes {
            match &mut node.kind {
                Kind::Host(host) => host.watch(most, self.wanted.window.clone()),
                Kind::Switch(node) => {
                    let (conns, window) = (self.wanted.conns.clone(), self.wanted.window.clone());
                    node.switch.watch(conns, most, window);
                }
            }
        }
    }

    /// Takes what they noted.
    pub(crate) fn gather(&mut self, nodes: &[Node]) {
        let (pauses, more) = &mut self.pauses;
        for node in nodes {
            match &node.kind {
                Kind::Host(host) => {
                    let (notes, too_many) = host.watched();
                    *more += too_many;
                    let (missed, too_many) = host.missed();
                    *more += too_many;
                    let wanted = |conn: ConnId| {
                        let mut conns = self.wanted.conns.iter();
                        conns.all(|conns| conns.binary_search(&conn.0).is_ok())
                    };
                    let missed = missed.iter().filter(|&&(_, conn)| wanted(conn));
                    let own = missed.map(|&(at, conn)| (at, NodeId(host.id), conn));
                    self.missed.extend(own);
                    let link = LinkId(host.link());
                    let events = notes.iter().map(|&(at, signal)| PauseEvent {
                        at,
                        link,
                        what: of_host(signal),
                    });
                    pauses.extend(events);
                }
                Kind::Switch(node) => {
                    let (notes, too_many) = node.switch.notes();
                    *more += too_many;
                    let link = |port: u16| LinkId(node.switch.ports[usize::from(port)].link());
                    pauses.extend(notes.iter().map(|note| {
                        let own = link(note.port);
                        let (link, what) = match note.what {
                            Noted::Gate(gate) => {
                                let open = gate.state == GateState::Open;
                                (own, Pausing::Gate(gate.of, open))
                            }
                            Noted::Asked(of, sake) => {
                                let because = link(sake.egress);
                                (own.reverse(), Pausing::Asked(of, because, sake))
                            }
                            Noted::Kept(conn, queue) => (own, Pausing::Kept(conn, queue)),
                            Noted::Joined(queue, packet) => (own, Pausing::Joined(queue, packet)),
                        };
                        PauseEvent {
                            at: note.at,
                            link,
                            what,
                        }
                    }));
                }
            }
        }
        // Stable: what one node did at one moment stays in its order.
        pauses.sort_by_key(|event| (event.at, event.link));
        self.missed
            .sort_by_key(|&(at, host, conn)| (at, host, conn.0));
    }

    /// Everything that was noted, by moment and node, in the order in which the node noted it; how much it is where
    /// that is more than was allowed.
    fn finish(self, topology: &Topology) -> Result<Trace, TooMany> {
        let (pauses, more) = self.pauses;
        let (mut all, mut count) = (Vec::new(), 0);
        for notes in self.notes {
            let (mut events, noted) = notes.into_inner();
            count += noted;
            all.append(&mut events);
        }
        let controls = pauses.len() as u64 + more;
        if count + controls > self.wanted.events_max {
            return Err(TooMany {
                packets: count,
                controls,
            });
        }
        // Stable: one node's notes of one moment come from one thread, in order.
        all.sort_by_key(|event| (event.packet.at, event.what.node(topology)));
        Ok(Trace {
            events: all,
            pauses,
            missed: self.missed,
        })
    }
}

/// What a signal does to a gate of a host.
fn of_host(signal: Signal) -> Pausing {
    let (of, open) = match signal {
        Signal::PauseFlow(conn) => (GateOf::Flow(conn), false),
        Signal::ResumeFlow(conn) => (GateOf::Flow(conn), true),
        Signal::PausePriority(priority) => (GateOf::Priority(priority), false),
        Signal::ResumePriority(priority) => (GateOf::Priority(priority), true),
    };
    Pausing::Gate(of, open)
}

/// Runs `setup` to its end and traces what is `wanted`; of a trace that would be longer than that allows, how many
/// events it would have. The outcome is that of [`crate::run`].
///
/// # Errors
/// What in `setup` contradicts itself.
///
/// # Panics
/// If an invariant of the simulator or of a transport is broken.
pub fn trace(
    setup: &Setup<'_>,
    observer: &mut dyn Observer,
    wanted: Wanted,
) -> Result<(Outcome, Result<Trace, TooMany>), SetupError> {
    let (outcome, tracer) = crate::engine::run_with(setup, observer, Some(wanted))?;
    let tracer = tracer.expect("a trace was asked for");
    Ok((outcome, tracer.finish(&setup.topology)))
}
