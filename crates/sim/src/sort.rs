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
    let (number, buckets) = (keys.len(), Buckets::of(keys.len(), bucket_shift));
    let Some(mut places) = Places::begin(buckets, keys.iter().map(|&key| key >> INDEX_BITS)) else {
        return keys.sort_unstable();
    };
    scratch.clear();
    scratch.reserve(number);
    let to = scratch.as_mut_ptr();
    for &key in keys.iter() {
        let place = places.take(buckets, key >> INDEX_BITS);
        // SAFETY: places of all keys are distinct and below their number, which has room.
        unsafe { to.add(place).write(key) };
    }
    // SAFETY: as many places as keys were written.
    unsafe { scratch.set_len(number) };
    std::mem::swap(keys, scratch);
}

/// How a window is cut into parts of one length, by the bits of a moment in it.
#[derive(Clone, Copy)]
struct Buckets {
    shift: u32,
    mask: u64,
}

impl Buckets {
    /// Those for `number` moments: few make do with a quarter.
    #[inline(always)]
    fn of(number: usize, shift: u32) -> Self {
        let (shift, buckets) = if number <= FEW {
            (shift + 2, BUCKETS / 4)
        } else {
            (shift, BUCKETS)
        };
        Self {
            shift,
            mask: buckets as u64 - 1,
        }
    }

    /// That of a moment in the window, counted from its start.
    #[inline(always)] // twice per arrival
    #[allow(clippy::cast_possible_truncation, reason = "few buckets")]
    fn bucket(self, moment: u64) -> usize {
        let bucket = moment >> self.shift;
        debug_assert!(bucket <= self.mask, "{moment} is later than its window");
        // A moment out of its window would be sorted wrongly, and memory stays safe.
        (bucket & self.mask) as usize
    }
}

/// By bucket: the place of the next that belongs there. Words have four of them, the first in their lowest bits.
#[repr(align(8))]
struct Places([u16; BUCKETS]);

impl Places {
    /// In which place of four a number lies that is to be the lowest bits.
    const LOWEST: usize = if cfg!(target_endian = "big") { 3 } else { 0 };

    /// The first place of each bucket, for these moments; none where they are too many.
    #[inline(always)] // from two places
    fn begin(buckets: Buckets, moments: impl ExactSizeIterator<Item = u64>) -> Option<Self> {
        /// Times this, a word has in each of its four the sum of all up to it.
        const SUMS: u64 = 0x0001_0001_0001_0001;
        if moments.len() > usize::from(u16::MAX) {
            return None;
        }
        let mut places = Self([0; BUCKETS]);
        for moment in moments {
            places.0[buckets.bucket(moment) ^ Self::LOWEST] += 1;
        }
        let words: *mut u64 = (&raw mut places).cast();
        let mut before = 0;
        #[allow(clippy::cast_possible_truncation, reason = "few buckets")]
        for word in 0..=buckets.mask as usize / 4 {
            // SAFETY: the places are as aligned as words are, and as many; words are of any bits.
            let four = unsafe { &mut *words.add(word) };
            let sums = four.wrapping_mul(SUMS);
            *four = (sums << 16) + before;
            before += (sums >> 48) * SUMS;
        }
        Some(places)
    }

    /// The place of a moment, which is taken then.
    #[inline(always)] // once per arrival
    fn take(&mut self, buckets: Buckets, moment: u64) -> usize {
        let next = &mut self.0[buckets.bucket(moment) ^ Self::LOWEST];
        let place = *next;
        *next = place.wrapping_add(1);
        place.into()
    }
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
    let (number, buckets) = (list.len(), Buckets::of(list.len(), scratch.bucket_shift));
    let moment = |&packet: &*mut Packet| at(packet).0 - start.0;
    let Some(mut places) = Places::begin(buckets, list.iter().map(moment)) else {
        return list.sort_by_key(|&packet| at(packet));
    };
    let SortScratch {
        keys: sorted,
        packets,
        ..
    } = scratch;
    sorted.clear();
    packets.clear();
    sorted.reserve(number);
    packets.reserve(number);
    let to = (sorted.as_mut_ptr(), packets.as_mut_ptr());
    for packet in list.iter() {
        let moment = moment(packet);
        let place = places.take(buckets, moment);
        // SAFETY: places of all packets are distinct and below their number, for which there is room.
        unsafe {
            to.0.add(place).write(moment);
            to.1.add(place).write(*packet);
        }
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
        let (mut keys, mut room) = (Vec::new(), Vec::new());
        let mut scratch = SortScratch {
            keys: &mut keys,
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
