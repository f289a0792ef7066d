//! Arrivals of one node and window, in order.

use model::Packet;

/// Arrivals in one node and window: 24 bits of the sort key.
pub(crate) const INDEX_BITS: u32 = 24;
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
pub(crate) fn sort(keys: &mut Vec<u64>, scratch: &mut Vec<u64>, bucket_shift: u32) {
    if keys.len() > INSERTION_MAX {
        let few = keys.len() <= FEW;
        let (buckets, coarser) = if few { (BUCKETS / 4, 2) } else { (BUCKETS, 0) };
        let shift = INDEX_BITS + bucket_shift + coarser;
        let bucket = |key: u64| {
            #[allow(clippy::cast_possible_truncation, reason = "few buckets")]
            let bucket = (key >> shift) as usize;
            debug_assert!(bucket < buckets, "{key:x} is later than its window");
            // A key out of its window would be sorted wrongly, and memory stays safe.
            bucket % BUCKETS
        };
        let mut first = [0u32; BUCKETS + 1];
        for &key in keys.iter() {
            // SAFETY: a bucket is below `BUCKETS`.
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
