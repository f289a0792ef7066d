//! Where the packets go that nodes send: on links, into the trace, and to those who count.

use super::Net;
use crate::activity::{Near, Raiser};
use crate::ring::{Pool, Ring};
use crate::trace::Traced;
use model::{HostId, Packet, Peers};
use std::hint::cold_path;
use std::sync::atomic::Ordering;
use switching::{Loss, Outlet};
use topology::{LinkId, NodeId};
use units::Time;

/// What a node puts on its links.
pub(crate) struct Out<'n, 'a> {
    pub(crate) net: &'n Net<'a>,
    pub(crate) rings: &'n [Ring],
    pub(crate) pool: &'n mut Pool,
    pub(crate) thread: usize,
    /// No other thread runs nodes meanwhile.
    pub(crate) alone: bool,
    /// The flags of this thread.
    pub(crate) raiser: &'n Raiser,
    pub(crate) node: u32,
    pub(crate) window: u64,
    /// The next window; nothing is near where every packet is noted.
    pub(crate) near: Near,
    #[cfg(debug_assertions)]
    pub(crate) others_until: Time,
}

impl Outlet for Out<'_, '_> {
    #[inline]
    fn send(&mut self, link: u32, packet: &Packet, at: Time) {
        #[cfg(debug_assertions)]
        assert!(
            at >= self.others_until,
            "{packet:?} arrives at {at}, where its receiver has been"
        );
        // SAFETY: nodes send on links of the topology, and each has its ring.
        let ring = unsafe { self.rings.get_unchecked(link as usize) };
        // SAFETY: a link is fed by one node, which this thread runs.
        if unsafe { ring.push(self.pool, packet, at) } {
            cold_path();
            self.tell(ring, link, packet, at);
        }
    }

    #[inline(always)] // once per port and window
    fn send_all<'p>(&mut self, link: u32, mut packets: impl Iterator<Item = (&'p Packet, Time)>) {
        // SAFETY: nodes send on links of the topology, and each has its ring.
        let ring = unsafe { self.rings.get_unchecked(link as usize) };
        // SAFETY: a link is fed by one node, which this thread runs.
        let mut writer = unsafe { ring.open() };
        loop {
            // SAFETY: the same.
            let stays = unsafe { writer.push_all(&mut packets) };
            writer.publish();
            let Some((packet, at)) = stays else {
                return;
            };
            #[cfg(debug_assertions)]
            assert!(
                at >= self.others_until,
                "{packet:?} arrives at {at}, where its receiver has been"
            );
            // SAFETY: the same.
            if unsafe { writer.push(self.pool, packet, at) } {
                // Whoever looks because of this must find it.
                writer.publish();
                self.tell(ring, link, packet, at);
            }
        }
    }

    #[cold]
    fn lost(&mut self, at: Time, packet: &Packet, why: Loss) {
        let what = match why {
            Loss::Port(link, reason) => Traced::Dropped(LinkId(link), reason),
            Loss::Switch(reason) => Traced::Stopped(NodeId(self.node), reason),
        };
        self.trace(at, packet, what);
    }

    #[cold]
    fn sender(&self, packet: &Packet) -> Option<HostId> {
        self.net.world.book.peer(packet.to(), packet.conn)
    }
}

impl<'a> Out<'_, 'a> {
    /// The same for a while.
    pub(crate) fn again(&mut self) -> Out<'_, 'a> {
        Out {
            pool: &mut *self.pool,
            ..*self
        }
    }

    /// Takes what became of `packet` into the trace, where there is one.
    #[cold]
    pub(crate) fn trace(&self, at: Time, packet: &Packet, what: Traced) {
        if let Some(tracer) = &self.net.tracer {
            // SAFETY: this is the thread of that number.
            unsafe { tracer.note(self.thread, at, packet, what) };
        }
    }

    /// Which of the links of a word of [`Net::news`] have news: they are none from now on.
    #[inline(always)] // once per node and window
    pub(crate) fn take_news(&self, word: usize) -> u64 {
        let news = &self.net.news[word];
        if !self.alone {
            return news.swap(0, Ordering::AcqRel);
        }
        let links = news.load(Ordering::Relaxed);
        news.store(0, Ordering::Relaxed);
        links
    }

    /// Wakes the receiver at the end of `ring` for a packet that arrives at `at`: once per link and
    /// window, or for every packet where each is noted.
    #[inline(never)]
    fn tell(&mut self, ring: &Ring, link: u32, packet: &Packet, at: Time) {
        if at >= self.near.until {
            return self.tell_far(ring, link, packet, at);
        }
        let raiser = self.raiser;
        raiser.raise_near(&self.near, self.window, ring.far.bit, at);
        self.tell_news(ring);
        // SAFETY: a link is fed by one node, which this thread runs.
        unsafe { ring.told(self.near.until) };
    }

    /// The same for a later window than the next, or where somebody wants to know of every packet.
    #[inline(never)] // it needs registers
    fn tell_far(&mut self, ring: &Ring, link: u32, packet: &Packet, at: Time) {
        let until = self.raiser.raise(self.window, ring.far.bit, at);
        self.tell_news(ring);
        match &self.net.data_queues {
            // SAFETY: a link is fed by one node, which this thread runs.
            None => unsafe { ring.told(until) },
            // SAFETY: the same.
            Some(queues) => unsafe { queues.note(link, packet, at) },
        }
    }

    /// Tells a switch which of its links has news.
    #[inline(always)]
    fn tell_news(&self, ring: &Ring) {
        let far = ring.far;
        if far.news_bit == 0 {
            return;
        }
        let news = &self.net.news[far.news_word as usize];
        if self.alone {
            let others = news.load(Ordering::Relaxed);
            news.store(others | far.news_bit, Ordering::Relaxed);
        } else {
            news.fetch_or(far.news_bit, Ordering::AcqRel);
        }
    }
}
