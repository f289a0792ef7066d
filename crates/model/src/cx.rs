//! Time, chance and news: all that an endpoint hears from and says to its host.

use crate::{ConnId, Gates, HostId, Rng};
use units::Time;

/// What an endpoint tells the application (in the simulator: the workload and the tables).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// Here, at the receiver, every byte of message `ordinal` (0, 1, ... per connection and
    /// direction) has arrived, and of every message before it.
    Received {
        /// The connection.
        conn: ConnId,
        /// Which message of this direction.
        ordinal: u32,
        /// Bytes of the message.
        length: u64,
    },
    /// Here, at the sender, the transport needs nothing more for message `ordinal`.
    Sent {
        /// The connection.
        conn: ConnId,
        /// Which message of this direction.
        ordinal: u32,
    },
    /// The receiver heard that the sender wants no more credits (the moment at which the authors'
    /// simulator takes its completion time). [xpass artefact]
    Stopped {
        /// The connection.
        conn: ConnId,
    },
    /// Here, at the sender: a STOP came too early, and credits are asked for again (the moment from
    /// which the authors' simulator then counts the completion time). [xpass artefact]
    AskedAgain {
        /// The connection.
        conn: ConnId,
    },
    /// New payload that the receiver accepted: said only where [`Cx::wants_data`] is set.
    Data {
        /// The connection.
        conn: ConnId,
        /// Position in the connection's stream, in bytes.
        offset: u64,
        /// Bytes.
        length: u16,
    },
    /// Here, at the receiver: what has not come of the message under way is taken for lost, and is given credit again when
    /// its turn comes. For who explains a run; said by a transport whose packets do not say it.
    Missing {
        /// The connection.
        conn: ConnId,
    },
    /// The peer or the local limit refused the connection; nothing will be delivered.
    Refused {
        /// The connection.
        conn: ConnId,
    },
    /// The endpoint keeps nothing of the connection any more; what waits for the line may still
    /// leave. Said once for each time that it began to keep something: of a connection that a late
    /// packet brings back, again.
    Forgotten {
        /// The connection.
        conn: ConnId,
    },
}

/// Who is at the other end of a connection.
pub trait Peers {
    /// The other end of `conn`, seen from `me`; `None` where the connection is unknown.
    fn peer(&self, me: HostId, conn: ConnId) -> Option<HostId>;

    /// Equal-cost ways from `a` to `b` in the network as it begins, for [`Packet::set_path`](crate::Packet::set_path);
    /// 1 where nobody knows.
    fn ways(&self, a: HostId, b: HostId) -> u16 {
        let _ = (a, b);
        1
    }
}

/// The context of one step of an endpoint.
pub struct Cx<'a> {
    /// The moment of this step.
    pub now: Time,
    /// The host's own random stream.
    pub rng: &'a mut Rng,
    /// News for the application, in order.
    pub events: &'a mut Vec<Event>,
    /// Who is at the other end of a connection.
    pub peers: &'a dyn Peers,
    /// What of this host may leave now.
    pub gates: &'a Gates,
    /// Whether somebody wants an [`Event::Data`] per accepted packet.
    pub wants_data: bool,
}

impl Cx<'_> {
    /// Says that the receiver accepted new payload.
    #[inline]
    pub fn accept(&mut self, conn: ConnId, offset: u64, length: u16) {
        if self.wants_data {
            self.events.push(Event::Data {
                conn,
                offset,
                length,
            });
        }
    }
}
