//! What happened to the packets of chosen connections, node by node; costs nothing when off.
//!
//! A node notes every packet that arrives or is lost there. A frame left the previous node earlier by
//! the link's delay and its own serialisation, so no node notes departures.

use crate::net::SetupError;
use crate::setup::{Observer, Outcome, Setup};
use model::{DropReason, Packet};
use std::cell::UnsafeCell;
use std::ops::Range;
use topology::{LinkId, NodeId, Topology};
use units::Time;

/// Which packets to trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Connections, ascending; none for every connection.
    pub conns: Option<Vec<u32>>,
    /// Moments: from when, until when (exclusive).
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
}

impl Tracer {
    pub(crate) fn new(wanted: Wanted, threads: usize) -> Self {
        let notes = (0..threads).map(|_| UnsafeCell::default()).collect();
        Self { wanted, notes }
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
        }
    }

    /// Everything that was noted, by moment and node, in the order in which the node noted it.
    pub(crate) fn finish(self, topology: &Topology) -> Result<Vec<TraceEvent>, SetupError> {
        let (mut all, mut count) = (Vec::new(), 0);
        for notes in self.notes {
            let (mut events, noted) = notes.into_inner();
            count += noted;
            all.append(&mut events);
        }
        if count > self.wanted.events_max {
            return Err(SetupError(format!(
                "a trace of {count} events is asked for, and {} are the most that are kept; \
                 choose a shorter time or fewer connections",
                self.wanted.events_max
            )));
        }
        // Stable: one node's notes of one moment come from one thread, in order.
        all.sort_by_key(|event| (event.packet.at, event.what.node(topology)));
        Ok(all)
    }
}

/// Runs `setup` to its end and traces what is `wanted`. The outcome is that of [`crate::run`].
///
/// # Errors
/// What in `setup` contradicts itself, or a trace longer than `wanted` allows.
///
/// # Panics
/// If an invariant of the simulator or of a transport is broken.
pub fn trace(
    setup: &Setup<'_>,
    observer: &mut dyn Observer,
    wanted: Wanted,
) -> Result<(Outcome, Vec<TraceEvent>), SetupError> {
    let (outcome, tracer) = crate::engine::run_with(setup, observer, Some(wanted))?;
    let events = tracer.map_or(Ok(Vec::new()), |tracer| tracer.finish(&setup.topology))?;
    Ok((outcome, events))
}
