//! A wire in memory, with a clock that goes on when its ends wait: drivers on it run through minutes
//! in milliseconds, and any source address can be forged.

use crate::wire::{BATCH, DATAGRAM_MAX, Datagram, Fill, Sent, Wire};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddrV4;
use std::rc::Rc;
use units::{Span, Time};

/// Datagrams that wait at one port; what comes on top is lost. [ours: 3 MB of 1500 B each]
const QUEUE_MAX: usize = 2_048;

/// A network in memory: every port reaches every other at once.
#[derive(Clone, Debug, Default)]
pub struct Hub(Rc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    now: Cell<u64>,
    queues: RefCell<BTreeMap<SocketAddrV4, VecDeque<Letter>>>,
}

#[derive(Clone, Debug)]
struct Letter {
    bytes: Vec<u8>,
    from: SocketAddrV4,
    tos: u8,
}

impl Hub {
    /// The end of the network at `addr`.
    ///
    /// # Panics
    /// If it is taken.
    pub fn port(&self, addr: SocketAddrV4) -> Port {
        let before = self.0.queues.borrow_mut().insert(addr, VecDeque::new());
        assert!(before.is_none(), "{addr} is taken");
        Port {
            hub: self.clone(),
            addr,
            batch: Vec::new(),
            out: Vec::new(),
        }
    }

    /// Delivers a datagram that says it comes from `from`; this is not checked.
    pub fn deliver(&self, from: SocketAddrV4, to: SocketAddrV4, tos: u8, bytes: &[u8]) {
        let mut queues = self.0.queues.borrow_mut();
        if let Some(queue) = queues.get_mut(&to)
            && queue.len() < QUEUE_MAX
        {
            let bytes = bytes.to_vec();
            queue.push_back(Letter { bytes, from, tos });
        }
    }

    /// The time.
    pub fn now(&self) -> Time {
        Time(self.0.now.get())
    }

    /// Lets time pass.
    pub fn advance(&self, by: Span) {
        self.0.now.set(self.now().after(by).0);
    }
}

/// One end of a [`Hub`].
#[derive(Debug)]
pub struct Port {
    hub: Hub,
    addr: SocketAddrV4,
    batch: Vec<Letter>,
    out: Vec<(SocketAddrV4, Letter)>,
}

impl Drop for Port {
    fn drop(&mut self) {
        self.hub.0.queues.borrow_mut().remove(&self.addr);
    }
}

impl Wire for Port {
    fn now(&self) -> Time {
        self.hub.now()
    }

    fn local_addr(&self) -> io::Result<SocketAddrV4> {
        Ok(self.addr)
    }

    fn recv(&mut self) -> io::Result<usize> {
        self.batch.clear();
        if let Some(queue) = self.hub.0.queues.borrow_mut().get_mut(&self.addr) {
            let count = queue.len().min(BATCH);
            self.batch.extend(queue.drain(..count));
        }
        Ok(self.batch.len())
    }

    fn datagram(&self, i: usize) -> Option<Datagram<'_>> {
        self.batch.get(i).map(|letter| Datagram {
            bytes: &letter.bytes,
            from: letter.from,
            tos: letter.tos,
        })
    }

    fn room(&self) -> usize {
        BATCH - self.out.len()
    }

    fn is_blocked(&self) -> bool {
        false
    }

    fn push(&mut self, to: SocketAddrV4, tos: u8, fill: &mut Fill<'_>) -> io::Result<()> {
        assert!(self.room() > 0, "pushed into a full batch");
        let mut bytes = [0; DATAGRAM_MAX];
        let len = fill(&mut bytes)?;
        let (bytes, from) = (bytes[..len].to_vec(), self.addr);
        self.out.push((to, Letter { bytes, from, tos }));
        Ok(())
    }

    fn flush(&mut self) -> io::Result<Sent> {
        let mut sent = Sent::default();
        for (to, letter) in self.out.drain(..) {
            sent.datagrams += 1;
            sent.bytes += letter.bytes.len() as u64;
            self.hub.deliver(letter.from, to, letter.tos, &letter.bytes);
        }
        Ok(sent)
    }

    /// Time goes on by all of `at_most` where nothing waits at any of them, or else not at all.
    fn wait_for_any<'a>(
        mut wires: impl Iterator<Item = &'a Self>,
        at_most: Span,
    ) -> io::Result<()> {
        let Some(first) = wires.next() else {
            return Ok(());
        };
        let queues = first.hub.0.queues.borrow();
        let is_idle = |port: &Self| queues.get(&port.addr).is_none_or(VecDeque::is_empty);
        if is_idle(first) && wires.all(is_idle) {
            first.hub.advance(at_most);
        }
        Ok(())
    }
}
