//! What arrives at a switch in one window, gathered from its links and handed to it in order.

use crate::clock::Clock;
use crate::engine::{Net, Out};
use crate::node::SwitchNode;
use crate::ring::Ring;
use crate::sort::{INDEX_BITS, index, make_room};
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

impl Net<'_> {
    /// Collects what arrives at a switch before the end of the window, as sort keys (moment, then
    /// ingress port) and packets. Returns the arrival of the first packet that stays, where the
    /// node's flag for it may not reach that far.
    #[inline(never)] // it needs the registers that the loop over arrivals needs
    #[allow(clippy::too_many_arguments, reason = "lists of the caller, used anew")]
    pub(crate) fn gather(
        &self,
        at: &SwitchNode,
        left: &mut [u64],
        clock: Clock,
        out: &mut Out<'_, '_>,
        keys: &mut Vec<u64>,
        packets: &mut Vec<*mut Packet>,
        mut ports: Option<&mut Vec<u16>>,
    ) -> Time {
        keys.clear();
        packets.clear();
        keys.reserve(packets.capacity());
        let mut n = 0;
        if let Some(ports) = &mut ports {
            ports.clear();
        }
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
            if let Some(ports) = &mut ports {
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

    /// Hands the arrivals of a window to a switch: `keys` in order, with the packets that they number.
    #[inline(never)] // it needs the registers
    pub(crate) fn hand_in_order(
        &self,
        at: &mut SwitchNode,
        clock: Clock,
        keys: &mut Vec<u64>,
        packets: &[*mut Packet],
        ports: &[u16],
        out: &mut Out<'_, '_>,
    ) {
        keys.push(u64::MAX); // later than any arrival
        let mut keys = keys.as_slice();
        while keys.len() > 1 {
            let first = clock.start + Span(keys[0] >> INDEX_BITS);
            let view = self.world.ways.of(at.id, &mut at.epoch, first);
            let mut n = keys.len() - 1;
            if view.until < clock.end {
                let until = view.until.since(clock.start).0;
                n = keys.partition_point(|key| key >> INDEX_BITS < until);
            }
            let these = &keys[..=n];
            if at.switch.is_ordered() {
                arrivals::<true>(at, these, packets, ports, &view, out);
            } else {
                arrivals::<false>(at, these, packets, ports, &view, out);
            }
            keys = &keys[n..];
        }
    }
}

/// Hands all arrivals but the last, which is none, to a switch.
#[inline(always)] // twice, so that what holds for all of them is looked at once
fn arrivals<const ORDERED: bool>(
    at: &mut SwitchNode,
    keys: &[u64],
    packets: &[*mut Packet],
    ports: &[u16],
    view: &View<'_>,
    out: &mut Out<'_, '_>,
) {
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
