//! Arrivals of one node and window, in order.

use model::Packet;
use units::Time;

/// Arrivals in one node and window: 24 bits of the sort key.
pub(crate) const INDEX_BITS: u32 = 24;
/// Picoseconds of the longest window: a moment in it has the other bits.
pub(crate) const WINDOW_MAX: u64 = 1 << (u64::BITS - INDEX_BITS);
/// At most this many are sorted by insertion alone.
const INSERTION_MAX: usize = 16;
/// Buckets of the counting pass.
pub(crate) const BUCKETS: usize = 64;
/// Up to this many keys it makes do with a quarter of them.
const FEW: usize = 40;

/// Sorts arrivals by moment, then by ingress port: the keys of one port are already in order.
///
/// Every key's moment, counted from the window's start and shifted right by `bucket_shift`, is below
/// [`BUCKETS`]: ports send no frame that would arrive within the window.
#[inline]
pub(crate) fn sort(keys: &mut Vec<u64>, scratch: &mut Vec<u64>, bucket_shift: u32) {
    if keys.len() > INSERTION_MAX {
        count_out(keys, scratch, bucket_shift);
    }
    for place in 1..keys.len() {
        let key = keys[place];
        if keys[place - 1] <= key {
            continue;
        }
        let mut hole = place;
        while hole > 0 && keys[hole - 1] > key {
            keys[hole] = keys[hole - 1];
            hole -= 1;
        }
        keys[hole] = key;
    }
}

/// Brings keys roughly in order, by buckets.
#[inline(never)]
fn count_out(keys: &mut Vec<u64>, scratch: &mut Vec<u64>, bucket_shift: u32) {
    let few = keys.len() <= FEW;
    let (buckets, coarser) = if few { (BUCKETS / 4, 2) } else { (BUCKETS, 0) };
    let shift = INDEX_BITS + bucket_shift + coarser;
    let bucket = |key: u64| {
        #[allow(clippy::cast_possible_truncation, reason = "few buckets")]
        let bucket = (key >> shift) as usize;
        debug_assert!(bucket < buckets, "{key:x} is later than its window");
        // A key out of its window would be sorted wrongly, and memory stays safe.
        bucket & (buckets - 1)
    };
    let mut first = [0u32; BUCKETS + 1];
    for &key in keys.iter() {
        // SAFETY: a bucket is below `buckets`, a power of two.
        *unsafe { first.get_unchecked_mut(bucket(key) + 1) } += 1;
    }
    for place in 0..buckets {
        first[place + 1] += first[place];
    }
    scratch.clear();
    scratch.reserve(keys.len());
    for &key in keys.iter() {
        // SAFETY: the same.
        let place = unsafe { first.get_unchecked_mut(bucket(key)) };
        // SAFETY: places of all keys are distinct and below their number, which has room.
        unsafe { scratch.as_mut_ptr().add(*place as usize).write(key) };
        *place += 1;
    }
    // SAFETY: as many places as keys were written.
    unsafe { scratch.set_len(keys.len()) };
    std::mem::swap(keys, scratch);
}

/// Sorts packets by moment that come by several links, and by each in order; those of one moment stay in their order.
/// All of them arrive in the window that begins at `start`. Returns the last moment.
///
/// # Safety
/// They are live, and nothing else refers to them.
#[inline(always)] // once per port and window, from one place
pub(crate) unsafe fn by_moment(
    list: &mut Vec<*mut Packet>,
    start: Time,
    scratch: &mut SortScratch<'_>,
) -> Time {
    let mut latest = start;
    for &packet in list.iter() {
        // SAFETY: by contract.
        let moment = unsafe { (*packet).at };
        if latest > moment {
            // SAFETY: by contract.
            return unsafe { sort_packets(list, start, scratch) };
        }
        latest = moment;
    }
    latest
}

/// The same where they are out of order.
///
/// # Safety
/// They are live, and nothing else refers to them.
#[inline(never)]
unsafe fn sort_packets(
    list: &mut Vec<*mut Packet>,
    start: Time,
    scratch: &mut SortScratch<'_>,
) -> Time {
    // SAFETY: by contract.
    let at = |packet: *mut Packet| unsafe { (*packet).at };
    if list.len() > INSERTION_MAX {
        by_buckets(list, at, start, scratch);
    } else {
        for place in 1..list.len() {
            let (packet, moment) = (list[place], at(list[place]));
            let mut hole = place;
            while hole > 0 && at(list[hole - 1]) > moment {
                list[hole] = list[hole - 1];
                hole -= 1;
            }
            list[hole] = packet;
        }
    }
    list.last().map_or(start, |&last| at(last))
}

/// What [`by_moment`] writes into.
pub(crate) struct SortScratch<'s> {
    pub(crate) keys: &'s mut Vec<u64>,
    pub(crate) sorted: &'s mut Vec<u64>,
    pub(crate) packets: &'s mut Vec<*mut Packet>,
    pub(crate) bucket_shift: u32,
}

/// The same for many: by buckets of moments, and from there each to its place.
#[inline(never)]
fn by_buckets(
    list: &mut Vec<*mut Packet>,
    at: impl Fn(*mut Packet) -> Time,
    start: Time,
    scratch: &mut SortScratch<'_>,
) {
    let SortScratch {
        keys: moments,
        sorted,
        packets,
        bucket_shift,
    } = scratch;
    let number = list.len();
    let (buckets, coarser) = if number <= FEW {
        (BUCKETS / 4, 2)
    } else {
        (BUCKETS, 0)
    };
    let shift = *bucket_shift + coarser;
    let bucket = |moment: u64| {
        #[allow(clippy::cast_possible_truncation, reason = "few buckets")]
        let bucket = (moment >> shift) as usize;
        debug_assert!(bucket < buckets, "{moment} is later than its window");
        // A moment out of its window would be sorted wrongly, and every place is written all the same.
        bucket & (buckets - 1)
    };
    let mut first = [0u32; BUCKETS + 1];
    moments.clear();
    moments.extend(list.iter().map(|&packet| {
        let moment = at(packet).0 - start.0;
        first[bucket(moment) + 1] += 1;
        moment
    }));
    for place in 0..buckets {
        first[place + 1] += first[place];
    }
    sorted.clear();
    packets.clear();
    sorted.reserve(number);
    packets.reserve(number);
    for (&moment, &packet) in moments.iter().zip(list.iter()) {
        let place = &mut first[bucket(moment)];
        // SAFETY: places of all packets are distinct and below their number, for which there is room.
        unsafe {
            sorted.as_mut_ptr().add(*place as usize).write(moment);
            packets.as_mut_ptr().add(*place as usize).write(packet);
        }
        *place += 1;
    }
    // SAFETY: as many places as packets were written.
    unsafe {
        sorted.set_len(number);
        packets.set_len(number);
    }
    std::mem::swap(list, packets);
    let (moments, list) = (&mut sorted[..number], &mut list[..number]);
    for place in 1..number {
        let moment = moments[place];
        if moment >= moments[place - 1] {
            continue;
        }
        let packet = list[place];
        let mut hole = place;
        while hole > 0 && moments[hole - 1] > moment {
            (moments[hole], list[hole]) = (moments[hole - 1], list[hole - 1]);
            hole -= 1;
        }
        (moments[hole], list[hole]) = (moment, packet);
    }
}

/// The place that a key numbers.
#[inline]
pub(crate) fn index(key: u64) -> usize {
    (key & ((1 << INDEX_BITS) - 1)) as usize
}

/// Makes room for `more` behind the first `n` of both.
///
/// # Safety
/// The first `n` of both have been written.
#[cold]
pub(crate) unsafe fn make_room(
    keys: &mut Vec<u64>,
    packets: &mut Vec<*mut Packet>,
    n: usize,
    more: usize,
) {
    // SAFETY: by contract.
    unsafe {
        keys.set_len(n);
        packets.set_len(n);
    }
    packets.reserve(more);
    keys.reserve(packets.capacity() - n);
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ConnId, Rng, stream};

    #[test]
    fn packets_of_several_links_are_sorted_by_moment_and_ties_keep_their_order() {
        const WINDOW: u64 = 1 << 12;
        let mut rng = Rng::stream(1, stream::TEST, 0);
        let (mut keys, mut sorted, mut room) = (Vec::new(), Vec::new(), Vec::new());
        let mut scratch = SortScratch {
            keys: &mut keys,
            sorted: &mut sorted,
            packets: &mut room,
            bucket_shift: WINDOW.ilog2() - BUCKETS.ilog2(),
        };
        let mut out_of_order = 0;
        for (links, most) in [(1, 30), (2, 3), (2, 8), (3, 9), (7, 5), (9, 20), (40, 90)] {
            let start = Time(1_000_000);
            let mut packets = Vec::new();
            for _ in 0..links {
                // Few moments, so that many are one.
                let moments = (0..rng.below(most)).map(|_| rng.below(WINDOW / 64) * 64);
                let mut moments: Vec<u64> = moments.collect();
                moments.sort_unstable();
                for moment in moments {
                    let mut packet = Packet::EMPTY;
                    packet.at = Time(start.0 + moment);
                    packets.push(packet);
                }
            }
            for (number, packet) in (0..).zip(&mut packets) {
                packet.conn = ConnId(number);
            }
            let mut expected = packets.clone();
            expected.sort_by_key(|packet| packet.at); // stable
            out_of_order += u64::from(expected != packets);
            let mut list: Vec<*mut Packet> = packets.iter_mut().map(|p| &raw mut *p).collect();
            // SAFETY: they are live, and nothing else refers to them.
            let last = unsafe { by_moment(&mut list, start, &mut scratch) };
            assert_eq!(last, expected.last().map_or(start, |packet| packet.at));
            // SAFETY: the same.
            let got: Vec<Packet> = list.iter().map(|&packet| unsafe { *packet }).collect();
            assert!(got == expected, "{links} links, {most} packets");
        }
        assert!(out_of_order >= 5, "{out_of_order}");
    }
}
