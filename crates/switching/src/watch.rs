//! What a flow control does: the gates that it opens and closes, what asked for them, and which packets joined which queue.
//! A switch notes it where it is watched: [`Switch::watch`](crate::Switch::watch).

use crate::accounts::Accounts;
use crate::discipline::{Gate, GateOf, GateState};
use crate::flow_control::{Passage, Say};
use model::{ConnId, Packet};
use std::collections::BTreeMap;
use std::ops::Range;
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
    /// The neighbour at the port is asked to pause this, for that sake.
    Asked(GateOf, Sake),
    /// The neighbour at the port does not want this flow, and this queue is closed for that; none where it wants it again.
    Kept(ConnId, Option<u8>),
    /// A packet joined this queue of the port.
    Joined(u8, Packet),
}

/// What a pause is asked for: a packet that has come, or the queue that holds most of what it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sake {
    /// The port that it waits for.
    pub egress: u16,
    /// Its queue there.
    pub queue: u8,
    /// Its priority.
    pub priority: u8,
    /// Its connection.
    pub conn: ConnId,
}

/// Notes of a switch.
#[derive(Debug)]
pub(crate) struct Watch {
    notes: Vec<Note>,
    /// What is noted: moments.
    window: Range<Time>,
    /// What was so already when that began, by port and what it is about.
    before: BTreeMap<(u16, About), Note>,
    /// Of the packets of these connections, ascending; none for all.
    conns: Option<Vec<u32>>,
    /// Notes that are kept; the others are only counted.
    most: usize,
    missed: u64,
}

/// What a note from before is about: the later one of the same counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum About {
    Gate(GateOf),
    Asked(GateOf),
    Kept(ConnId),
}

impl Watch {
    pub(crate) fn new(conns: Option<Vec<u32>>, most: usize, window: Range<Time>) -> Self {
        Self {
            notes: Vec::new(),
            window,
            before: BTreeMap::new(),
            conns,
            most,
            missed: 0,
        }
    }

    /// Notes the pauses that are asked for because `passage` has come. Of a priority it is for the sake of the queue where
    /// most waits of what the neighbour has sent at it, and not of the packet that was one too many.
    #[cold]
    pub(crate) fn note_pauses(
        &mut self,
        at: Time,
        say: &Say,
        passage: &Passage<'_>,
        accounts: Option<&Accounts>,
    ) {
        let came = Sake {
            egress: passage.egress,
            queue: passage.queue,
            priority: passage.packet.priority(),
            conn: passage.packet.conn,
        };
        // Priorities that share a room are blamed together.
        let together = |ingress: u16| {
            let own = say.blamed.iter().filter(|(port, _)| *port == ingress);
            own.fold(0u8, |bits, (_, what)| match what {
                GateOf::Priority(priority) => bits | 1 << (priority & 7),
                _ => bits,
            })
        };
        for &(ingress, what) in &say.blamed {
            let most = match what {
                GateOf::Priority(_) => {
                    accounts.and_then(|own| own.most_of(ingress, together(ingress)))
                }
                _ => None,
            };
            let sake = most.map_or(came, |(egress, queue)| Sake {
                egress,
                queue,
                ..came
            });
            self.note(at, ingress, Noted::Asked(what, sake));
        }
    }

    pub(crate) fn note(&mut self, at: Time, port: u16, what: Noted) {
        if let (Noted::Joined(_, packet), Some(conns)) = (&what, &self.conns)
            && conns.binary_search(&packet.conn.0).is_err()
        {
            return;
        }
        if at >= self.window.end {
            return;
        }
        if at < self.window.start {
            self.begin(Note { at, port, what });
        } else if self.notes.len() < self.most {
            self.notes.push(Note { at, port, what });
        } else {
            self.missed += 1;
        }
    }

    /// Keeps what is still so when the window begins.
    fn begin(&mut self, note: Note) {
        let (about, over) = match note.what {
            Noted::Gate(gate) => (About::Gate(gate.of), gate.state == GateState::Open),
            Noted::Asked(of, _) => (About::Asked(of), false),
            Noted::Kept(conn, queue) => (About::Kept(conn), queue.is_none()),
            Noted::Joined(..) => return,
        };
        let key = (note.port, about);
        if over {
            self.before.remove(&key);
        } else if matches!(about, About::Gate(_)) {
            self.before.entry(key).or_insert(note); // closed since then
        } else {
            self.before.insert(key, note);
        }
    }

    /// All notes, in the order of time, and how many there was no room for.
    pub(crate) fn all(&self) -> (Vec<Note>, u64) {
        let mut all: Vec<Note> = self.before.values().copied().collect();
        all.sort_by_key(|note| note.at);
        all.extend(&self.notes);
        (all, self.missed)
    }
}
