//! What a driver needs of a wire: datagrams in and out, in batches, and the time.

use std::io;
use std::net::SocketAddrV4;
use units::{Span, Time};

/// Largest UDP payload in the largest IPv4 packet, of 9000 B; what a driver sends may be shorter
/// ([`DriverConfig::mtu`](crate::DriverConfig::mtu)). [RFC 791, RFC 768: 9000 - 20 - 8]
pub const DATAGRAM_MAX: usize = 8972;
const _: () = assert!(DATAGRAM_MAX + 28 == *model::MTU.end() as usize);
/// Most datagrams that one call moves. A batch of frames of 1500 B takes 0.4 ms at 1 Gb/s. [ours]
pub const BATCH: usize = 32;

/// A datagram that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// What UDP carried; more than [`DATAGRAM_MAX`] bytes say that it was too long.
    pub bytes: &'a [u8],
    /// Where it says that it comes from.
    pub from: SocketAddrV4,
    /// The TOS byte. [RFC 2474 s3]
    pub tos: u8,
}

/// What one [`Wire::flush`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Datagrams that left.
    pub datagrams: u64,
    /// Their bytes after UDP.
    pub bytes: u64,
    /// Datagrams that the system refused for good.
    pub errors: u64,
}

/// Writes one datagram into the place from which it will leave, and says how long it is.
pub type Fill<'a> = dyn FnMut(&mut [u8; DATAGRAM_MAX]) -> io::Result<usize> + 'a;

/// Moves datagrams, and never blocks but in [`Wire::wait`].
///
/// [`Udp`](crate::Udp) is one over a socket, [`Port`](crate::Port) one in memory. A frame of a network
/// card's ring or a shared memory is another: it lends the place of the next datagram to
/// [`Wire::push`], and keeps those of the last batch for [`Wire::datagram`].
pub trait Wire {
    /// The time on this wire's clock: it begins at zero and never goes back.
    fn now(&self) -> Time;

    /// Where it listens.
    ///
    /// # Errors
    /// The system's.
    fn local_addr(&self) -> io::Result<SocketAddrV4>;

    /// Takes what has arrived, at most [`BATCH`] datagrams, and forgets the batch before. Returns how
    /// many; none where none waits.
    ///
    /// # Errors
    /// The system's; a datagram that cannot be taken is skipped.
    fn recv(&mut self) -> io::Result<usize>;

    /// Datagram `i` of the batch; `None` where it is none of ours. Sending does not change the batch.
    fn datagram(&self, i: usize) -> Option<Datagram<'_>>;

    /// How many datagrams can be pushed before the next flush.
    fn room(&self) -> usize;

    /// Whether pushed datagrams wait for the system.
    fn is_blocked(&self) -> bool;

    /// Adds a datagram for `to`, written in its place by `fill`; none where that fails.
    ///
    /// # Errors
    /// Those of `fill`.
    ///
    /// # Panics
    /// If there is no room.
    fn push(&mut self, to: SocketAddrV4, tos: u8, fill: &mut Fill<'_>) -> io::Result<()>;

    /// Sends what the system takes now; the rest keeps waiting.
    ///
    /// # Errors
    /// The system's, where they concern more than one datagram.
    fn flush(&mut self) -> io::Result<Sent>;

    /// Sleeps until something can be received by one of these wires, or sent where it [`Wire::is_blocked`]; at most
    /// so long.
    ///
    /// # Errors
    /// The system's.
    fn wait_for_any<'a>(wires: impl Iterator<Item = &'a Self>, at_most: Span) -> io::Result<()>
    where
        Self: Sized + 'a;

    /// The same for this wire alone.
    ///
    /// # Errors
    /// The system's.
    fn wait(&self, at_most: Span) -> io::Result<()>
    where
        Self: Sized,
    {
        Self::wait_for_any(std::iter::once(self), at_most)
    }
}
