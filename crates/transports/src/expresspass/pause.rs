//! Hop-by-hop pauses of a host's line: of everything, or of single connections.

use super::nic::{FIFO_MAX, Nic};
use super::{ExpressPassHost, Host};
use model::{Class, ConnId, Packet, Signal, Transmit};
use std::collections::{BTreeSet, VecDeque};
use units::Time;

/// The priority of every packet that this transport sends.
const PRIORITY: u8 = 0;

/// What may not leave.
#[derive(Default)]
pub(super) struct Pauses {
    everything: bool,
    conns: BTreeSet<ConnId>,
    /// Packets of paused connections that were in the line's FIFO.
    held: VecDeque<Packet>,
}

impl Pauses {
    /// Whether anything is paused.
    pub(super) fn any(&self) -> bool {
        self.everything || !self.conns.is_empty()
    }

    /// Whether nothing of `conn` may leave.
    pub(super) fn holds(&self, conn: ConnId) -> bool {
        self.everything || self.conns.contains(&conn)
    }

    /// The connection is no more.
    pub(super) fn forget(&mut self, conn: ConnId, nic: &mut Nic) {
        if self.conns.remove(&conn) {
            self.release(conn, nic);
        }
    }

    fn release(&mut self, conn: ConnId, nic: &mut Nic) {
        let (free, held) = self.held.drain(..).partition(|packet| packet.conn == conn);
        self.held = held;
        let free: VecDeque<Packet> = free;
        for packet in free {
            nic.push(packet);
        }
    }

    /// The line's next packet that may leave.
    pub(super) fn poll(&mut self, now: Time, host: &mut Host, out: &mut Packet) -> Transmit {
        if self.everything {
            host.nic.sleep();
            return Transmit::Nothing;
        }
        // Each turn takes a packet out of a bounded queue.
        loop {
            let said = host.nic.poll(now, out);
            if said == Transmit::Nothing || !self.conns.contains(&out.conn) {
                return said;
            }
            if out.class() == Class::Credit {
                // Credits may be lost at any time, and late ones would leave in a bunch.
                host.totals.credits_dropped += 1;
            } else if self.held.len() < FIFO_MAX {
                self.held.push_back(*out);
            } else {
                host.nic.lose();
            }
        }
    }

    pub(super) fn check(&self) {
        assert!(self.held.len() <= FIFO_MAX);
        assert!(
            self.held
                .iter()
                .all(|packet| self.conns.contains(&packet.conn))
        );
    }
}

impl ExpressPassHost {
    /// A pause or its end. Credits that come for a paused connection are wasted: what they
    /// released would leave in a bunch.
    pub(super) fn heed(&mut self, signal: Signal) {
        match signal {
            Signal::PausePriority(priority) => self.pauses.everything |= priority == PRIORITY,
            Signal::ResumePriority(priority) => self.pauses.everything &= priority != PRIORITY,
            Signal::PauseFlow(conn) => {
                if self.sender_of.get(conn).is_some() || self.receiver_of.get(conn).is_some() {
                    self.pauses.conns.insert(conn);
                }
            }
            Signal::ResumeFlow(conn) => self.pauses.forget(conn, &mut self.host.nic),
        }
        self.note_unusual();
    }
}
