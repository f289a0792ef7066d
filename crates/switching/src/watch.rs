//! What a flow control does, for whoever wants to know: gates, what asked for them, and who joined which queue.

use crate::discipline::Gate;
use crate::flow_control::Say;
use model::Packet;
use units::Time;

/// Something that the flow control of a switch did.
#[derive(Clone, Copy, Debug)]
pub struct Note {
    /// When.
    pub at: Time,
    /// The port at which it happened.
    pub port: u16,
    /// What.
    pub what: Noted,
}

/// What a [`Note`] is of.
#[derive(Clone, Copy, Debug)]
pub enum Noted {
    /// A gate of the port opened or closed.
    Gate(Gate),
    /// The neighbour at the port was asked for a pause, because of what waits for this other port.
    Asked(u16),
    /// A packet joined this queue of the port.
    Joined(u8, Packet),
}

/// Notes of a switch.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) notes: Vec<Note>,
    /// Of the packets of these connections, ascending; none for all.
    conns: Option<Vec<u32>>,
    /// Notes that are kept; the others are only counted.
    most: usize,
    pub(crate) missed: u64,
}

impl Watch {
    pub(crate) fn new(conns: Option<Vec<u32>>, most: usize) -> Self {
        Self {
            notes: Vec::new(),
            conns,
            most,
            missed: 0,
        }
    }

    /// Notes the pauses that have been asked for because of what waits for port `egress`.
    #[cold]
    pub(crate) fn note_pauses(&mut self, at: Time, say: &Say, egress: u16) {
        for &ingress in say.pauses.iter().chain(&say.blamed) {
            self.note(at, ingress, Noted::Asked(egress));
        }
    }

    pub(crate) fn note(&mut self, at: Time, port: u16, what: Noted) {
        if let (Noted::Joined(_, packet), Some(conns)) = (&what, &self.conns)
            && conns.binary_search(&packet.conn.0).is_err()
        {
            return;
        }
        if self.notes.len() < self.most {
            self.notes.push(Note { at, port, what });
        } else {
            self.missed += 1;
        }
    }
}
