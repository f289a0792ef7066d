//! What arrives at a switch in one window, gathered from its links and handed to it in order.

use crate::clock::Clock;
use crate::engine::{Net, Out};
use crate::node::SwitchNode;
use crate::ring::Ring;
use crate::sort::{INDEX_BITS, SortScratch, index, make_room, sort};
use crate::ways::View;
use model::Packet;
use std::sync::atomic::Ordering;
use units::{Span, Time};

/// A switch with so many ports is one of a network that lies in the cache: nothing is fetched before it is needed. [ours]
pub(crate) const FEW: usize = 8;

/// Whether these are six bits or more: from so many links on, lists by port pay. [ours: 4, 6 and 9 tried]
#[inline(always)]
pub(crate) fn is_many(bits: u64) -> bool {
    let without = |bits: u64| bits & bits.wrapping_sub(1);
    without(without(without(without(without(bits))))) != 0
}

/// What arrives at one switch in one window.
#[derive(Default)]
pub(crate) struct Inbox {
    /// A key for each packet, by which they are put in order: its moment in the window, then its number.
    keys: Vec<u64>,
    /// By number, which is the order in which they were taken: by port, and by moment at each.
    packets: Vec<*mut Packet>,
    /// The ports by which they came, where somebody minds.
    ports: Vec<u16>,
    /// Room to work in.
    room: Vec<u64>,
}

impl Inbox {
    /// How many packets it holds.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Puts them in the order of time and, at one moment, that in which they were taken.
    #[inline(always)] // from one place
    pub(crate) fn sort(&mut self, bucket_shift: u32) {
        sort(&mut self.keys, &mut self.room, bucket_shift);
    }

    /// When the last of them arrives, once they are in order.
    #[inline(always)]
    pub(crate) fn last(&self, start: Time) -> Option<Time> {
        self.keys.last().map(|&key| moment(key, start))
    }

    /// All of them, once they are in order, with the ports by which they came: those have been asked for.
    pub(crate) fn each(&self) -> impl Iterator<Item = (*mut Packet, u16)> {
        let of = |&key| (self.packets[index(key)], self.ports[index(key)]);
        self.keys.iter().map(of)
    }

    /// Room for another list of packets, with keys, while it holds none.
    #[inline(always)]
    pub(crate) fn room(&mut self, bucket_shift: u32) -> SortScratch<'_> {
        SortScratch {
            keys: &mut self.keys,
            packets: &mut self.packets,
            bucket_shift,
        }
    }
}

impl Net<'_> {
    /// Collects in `inbox` what arrives at a switch before the end of the window: with the ports by which it came, where
    /// somebody minds. Returns the arrival of the first packet that stays, where the node's flag for it may not reach
    /// that far.
    #[inline(never)] // it needs the registers that the loop over arrivals needs
    pub(crate) fn gather(
        &self,
        at: &SwitchNode,
        left: &mut [u64],
        clock: Clock,
        out: &mut Out<'_, '_>,
        inbox: &mut Inbox,
    ) -> Time {
        let with_ports = at.minds_ingress || self.noted();
        let Inbox {
            keys,
            packets,
            ports,
            ..
        } = inbox;
        keys.clear();
        packets.clear();
        ports.clear();
        keys.reserve(packets.capacity());
        let mut n = 0;
        let next = self.each_fresh(out, clock.keep, left, &at.ingress, |port, ring, out| {
            // SAFETY: this thread runs the receiving node.
            let most = unsafe { ring.waiting() };
            if packets.capacity() - n < most {
                // SAFETY: the first `n` were written.
                unsafe { make_room(keys, packets, n, most) };
            }
            let (key, place) = (keys.as_mut_ptr(), packets.as_mut_ptr());
            // SAFETY: this thread runs the receiving node; `keys` has as much room as `packets`,
            // which has enough for all that wait.
            let stays = unsafe {
                ring.take_before(clock.end, out.pool, |packet| {
                    let at = (*packet).at.0 - clock.start.0;
                    key.add(n).write(at << INDEX_BITS | n as u64);
                    place.add(n).write(packet);
                    n += 1;
                })
            };
            if with_ports {
                ports.resize(n, port);
            }
            stays
        });
        // SAFETY: the first `n` of both were written.
        unsafe {
            keys.set_len(n);
            packets.set_len(n);
        }
        assert!(
            packets.len() < 1 << INDEX_BITS,
            "a window holds too many packets for its sort key"
        );
        next
    }

    /// Has `take` look at every link into a node that has news, or that packets stayed on: by its ingress port. It says
    /// what stays. Returns the earliest arrival of that.
    #[inline(always)] // twice
    pub(crate) fn each_fresh(
        &self,
        out: &mut Out<'_, '_>,
        keep: bool,
        left: &mut [u64],
        ingress: &[u32],
        mut take: impl FnMut(u16, &Ring, &mut Out<'_, '_>) -> Option<Time>,
    ) -> Time {
        let mut next = Time::NEVER;
        let first = self.news_of[out.node as usize] as usize;
        for (word, left) in left.iter_mut().enumerate() {
            let mut fresh = *left | out.take_news(first + word);
            // The neighbours will not tell again of what they send in the rest of their window.
            *left = if keep { fresh } else { 0 };
            if ingress.len() > FEW {
                self.fetch(fresh, &ingress[word * 64..]);
            }
            while fresh != 0 {
                let port = word * 64 + fresh.trailing_zeros() as usize;
                let ring = &self.rings[ingress[port] as usize];
                #[allow(clippy::cast_possible_truncation, reason = "topology::PORTS_MAX")]
                let stays = take(port as u16, ring, out);
                if let Some(at) = stays {
                    *left |= fresh & fresh.wrapping_neg();
                    next = next.min(at);
                }
                fresh &= fresh - 1;
            }
        }
        next
    }

    /// Has the cache fetch the first packets of these links into a node.
    #[inline(never)] // it needs registers of its own
    fn fetch(&self, mut fresh: u64, ingress: &[u32]) {
        while fresh != 0 {
            let link = ingress[fresh.trailing_zeros() as usize];
            // SAFETY: this thread runs the receiving node.
            unsafe { self.rings[link as usize].fetch() };
            fresh &= fresh - 1;
        }
    }

    /// Whether a node of at most 64 ports has news by [many](is_many) of them, or has more ports.
    #[inline(always)] // once per node and window
    pub(crate) fn has_many(&self, node: u32, left: &[u64]) -> bool {
        let first = self.news_of[node as usize] as usize;
        left.len() != 1 || is_many(left[0] | self.news[first].load(Ordering::Relaxed))
    }

    /// Hands the arrivals of a window, which are in order, to a switch.
    #[inline(never)] // it needs the registers
    pub(crate) fn hand_in_order(
        &self,
        at: &mut SwitchNode,
        clock: Clock,
        inbox: &mut Inbox,
        out: &mut Out<'_, '_>,
    ) {
        inbox.keys.push(u64::MAX); // later than any arrival
        let mut keys = inbox.keys.as_slice();
        while keys.len() > 1 {
            let first = moment(keys[0], clock.start);
            let view = self.world.ways.of(at.id, &mut at.epoch, first);
            let mut n = keys.len() - 1;
            if view.until < clock.end {
                let until = view.until.since(clock.start).0;
                n = keys.partition_point(|key| key >> INDEX_BITS < until);
            }
            let these = &keys[..=n];
            if at.switch.is_ordered() {
                arrivals::<true>(at, these, inbox, &view, out);
            } else {
                arrivals::<false>(at, these, inbox, &view, out);
            }
            keys = &keys[n..];
        }
    }
}

/// When the packet of a key arrives, in the window that begins at `start`.
#[inline(always)]
fn moment(key: u64, start: Time) -> Time {
    start + Span(key >> INDEX_BITS)
}

/// Hands all arrivals but the last, which is none, to a switch.
#[inline(always)] // twice, so that what holds for all of them is looked at once
fn arrivals<const ORDERED: bool>(
    at: &mut SwitchNode,
    keys: &[u64],
    inbox: &Inbox,
    view: &View<'_>,
    out: &mut Out<'_, '_>,
) {
    let (packets, ports) = (inbox.packets.as_slice(), inbox.ports.as_slice());
    let minds = at.minds_ingress;
    for (&key, &later) in keys.iter().zip(&keys[1..]) {
        let index = index(key);
        // SAFETY: `gather` numbered the packets; taken ones live until the pool recycles, after
        // this call.
        let packet = unsafe { &mut **packets.get_unchecked(index) };
        let alone = || later >> INDEX_BITS != key >> INDEX_BITS;
        let ingress = || match minds {
            // SAFETY: where it minds, `gather` wrote a port for each packet.
            true => unsafe { *ports.get_unchecked(index) },
            false => 0,
        };
        at.switch
            .step::<ORDERED, _>(packet.at, ingress, packet, alone, view, out);
    }
}
