//! The packets on one link: a queue of short chunks between one sending and one receiving node.
//!
//! Within a window the sender may append while the receiver reads; across windows a barrier lies
//! between. What a receiver reads was appended in an earlier window, because a link is at least one
//! window long.

use model::Packet;
use std::cell::UnsafeCell;
use std::hint::cold_path;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use switching::fetch;
use units::Time;

/// Packets in a chunk: eight measured best of 8, 16 and 32 from 128 to 8192 hosts.
const CHUNK: usize = 8;
/// Chunks that a thread keeps for reuse; more go back to the allocator.
const SPARE_MAX: usize = 1 << 14;

/// What travels on a link: packets, or what is beside them.
pub(crate) trait Slot: Copy {
    /// What a chunk is filled with.
    const EMPTY: Self;
    /// When it arrives.
    fn at(&self) -> Time;
    /// Sets that.
    fn set_at(&mut self, at: Time);
}

impl Slot for Packet {
    const EMPTY: Self = Self::EMPTY;
    #[inline]
    fn at(&self) -> Time {
        self.at
    }
    #[inline]
    fn set_at(&mut self, at: Time) {
        self.at = at;
    }
}

#[repr(C)] // packets first: a chunk begins with its first packet
pub(crate) struct Chunk<T> {
    packets: [T; CHUNK],
    next: *mut Self,
}

/// Chunks for reuse by one thread.
pub(crate) struct Pool<T = Packet> {
    spare: Vec<*mut Chunk<T>>,
    /// Chunks that this window emptied: packets in them are still referred to.
    spent: Vec<*mut Chunk<T>>,
}

// SAFETY: a pool owns the chunks in it, and nothing else refers to them.
unsafe impl<T: Send> Send for Pool<T> {}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self {
            spare: Vec::new(),
            spent: Vec::new(),
        }
    }
}

impl<T: Slot> Pool<T> {
    fn take(&mut self) -> *mut Chunk<T> {
        let fresh = || Chunk {
            packets: [T::EMPTY; CHUNK],
            next: ptr::null_mut(),
        };
        self.spare
            .pop()
            .unwrap_or_else(|| Box::into_raw(Box::new(fresh())))
    }

    /// The packets of spent chunks are no longer referred to.
    #[inline]
    pub(crate) fn recycle(&mut self) {
        while let Some(chunk) = self.spent.pop() {
            if self.spare.len() < SPARE_MAX {
                self.spare.push(chunk);
            } else {
                // SAFETY: it came from `Box::into_raw` in `take`, and left its ring when spent.
                drop(unsafe { Box::from_raw(chunk) });
            }
        }
    }
}

impl<T> Drop for Pool<T> {
    fn drop(&mut self) {
        for chunk in self.spare.drain(..).chain(self.spent.drain(..)) {
            // SAFETY: it came from `Box::into_raw` in `take`, and is in no ring.
            drop(unsafe { Box::from_raw(chunk) });
        }
    }
}

/// Whom a packet on a link reaches, and which flag tells it.
#[derive(Clone, Copy)]
pub(crate) struct Far {
    /// Place of the receiving node in the activity sets.
    pub(crate) bit: u32,
    /// Word of the news, and the bit in it; no bit for hosts, which always look.
    pub(crate) news_word: u32,
    pub(crate) news_bit: u64,
}

/// The sending node's half. Chunks are filled to the last, so the place in `chunk` is the number of
/// packets appended, modulo its size.
struct Tail<T> {
    chunk: *mut Chunk<T>,
    /// The receiver knows of every packet that arrives before this moment.
    told_until: Time,
}

/// The receiving node's half.
struct Head<T> {
    chunk: *mut Chunk<T>,
    /// Packets of `chunk` already taken.
    taken_here: usize,
    taken: u64,
}

/// One link's packets, in the order of their arrival.
#[repr(align(64))]
pub(crate) struct Ring<T = Packet> {
    tail: UnsafeCell<Tail<T>>,
    /// Packets appended since the run began.
    appended: AtomicU64,
    head: UnsafeCell<Head<T>>,
    pub(crate) far: Far,
}

const _: () = assert!(size_of::<Ring<Packet>>() == 64, "one line of the cache");

// SAFETY: `tail` is touched by the thread that owns the sending node alone, `head` by the one that
// owns the receiving node. A chunk passes from one to the other by `appended` (release, acquire).
unsafe impl<T: Send> Sync for Ring<T> {}
// SAFETY: a ring owns its chunks.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T: Slot> Ring<T> {
    pub(crate) fn new(far: Far) -> Self {
        let tail = Tail {
            chunk: ptr::null_mut(),
            told_until: Time::ZERO,
        };
        let head = Head {
            chunk: ptr::null_mut(),
            taken_here: 0,
            taken: 0,
        };
        Self {
            tail: tail.into(),
            appended: AtomicU64::new(0),
            head: head.into(),
            far,
        }
    }

    /// Appends a packet that arrives at `at`. Returns whether the receiver must be told of it; the
    /// caller then says, by [`Ring::told`], until when this holds.
    ///
    /// # Safety
    /// Only the thread that runs the sending node may call it.
    #[inline]
    pub(crate) unsafe fn push(&self, pool: &mut Pool<T>, packet: &T, at: Time) -> bool {
        // SAFETY: by contract this thread alone touches the tail.
        let tail = unsafe { &mut *self.tail.get() };
        let appended = self.appended.load(Ordering::Relaxed);
        #[allow(clippy::cast_possible_truncation, reason = "below CHUNK")]
        let filled = (appended % CHUNK as u64) as usize;
        if filled == 0 {
            cold_path();
            self.extend(tail, pool);
        }
        // SAFETY: `filled` is below CHUNK, and the receiver does not read this place yet.
        unsafe {
            let place = (&raw mut (*tail.chunk).packets).cast::<T>().add(filled);
            ptr::copy_nonoverlapping(packet, place, 1);
            (*place).set_at(at);
        }
        self.appended.store(appended + 1, Ordering::Release);
        at >= tail.told_until
    }

    /// Begins to append several packets, of which the receiver sees those that are published.
    ///
    /// # Safety
    /// Only the thread that runs the sending node may call it and use the writer, and nothing else appends while there is
    /// one.
    #[inline(always)] // once per port and window
    pub(crate) unsafe fn open(&self) -> Writer<'_, T> {
        let appended = self.appended.load(Ordering::Relaxed);
        #[allow(clippy::cast_possible_truncation, reason = "below CHUNK")]
        let filled = (appended % CHUNK as u64) as usize;
        // SAFETY: by contract this thread alone touches the tail.
        let chunk = unsafe { (*self.tail.get()).chunk };
        let room = if filled == 0 { 0 } else { CHUNK - filled };
        // Nothing is read or written there where there is no room.
        let place = chunk.cast::<T>().wrapping_add(filled);
        let end = place.wrapping_add(room);
        Writer {
            ring: self,
            place,
            end,
            until: appended + room as u64,
        }
    }

    /// Links a new chunk behind the last.
    #[inline(never)]
    fn extend(&self, tail: &mut Tail<T>, pool: &mut Pool<T>) {
        let chunk = pool.take();
        if tail.chunk.is_null() {
            // SAFETY: the receiver reads its half only after it has seen a packet appended.
            unsafe { (*self.head.get()).chunk = chunk };
        } else {
            // SAFETY: the receiver follows `next` only after it has seen the packet behind it.
            unsafe { (*tail.chunk).next = chunk };
        }
        tail.chunk = chunk;
    }

    /// Notes that the receiver will look before every arrival earlier than `until`.
    ///
    /// # Safety
    /// Only the thread that runs the sending node may call it.
    #[inline]
    pub(crate) unsafe fn told(&self, until: Time) {
        // SAFETY: by contract this thread alone touches the tail.
        unsafe { (*self.tail.get()).told_until = until };
    }

    /// Hands every packet that arrives before `end` to `each`, which owns it until the pool
    /// recycles. Returns the arrival of the first packet that stays.
    ///
    /// # Safety
    /// Only the thread that runs the receiving node may call it.
    #[inline]
    pub(crate) unsafe fn take_before(
        &self,
        end: Time,
        pool: &mut Pool<T>,
        mut each: impl FnMut(*mut T),
    ) -> Option<Time> {
        let head = self.head.get();
        // SAFETY: by contract this thread alone touches this part of the head.
        let mut waiting = self.appended.load(Ordering::Acquire) - unsafe { (*head).taken };
        if waiting == 0 {
            // The sender of a first packet may be writing the first chunk into the head at this moment.
            return None;
        }
        // SAFETY: by contract this thread alone touches the head once a packet was appended.
        let head = unsafe { &mut *head };
        let appended = head.taken + waiting;
        // SAFETY: a place in the chunk, or its end.
        let place = |chunk: *mut Chunk<T>, here| unsafe {
            (&raw mut (*chunk).packets).cast::<T>().add(here)
        };
        let mut packet = place(head.chunk, head.taken_here);
        let mut edge = place(head.chunk, CHUNK);
        let mut stays = None;
        while waiting > 0 {
            if packet == edge {
                cold_path();
                pool.spent.push(head.chunk);
                // SAFETY: a packet was appended behind a full chunk, so `next` is set.
                head.chunk = unsafe { (*head.chunk).next };
                (packet, edge) = (place(head.chunk, 0), place(head.chunk, CHUNK));
            }
            // SAFETY: this packet is before the end of its chunk, and was appended.
            let at = unsafe { (*packet).at() };
            if at >= end {
                stays = Some(at);
                break;
            }
            each(packet);
            // SAFETY: no further than the end of the chunk.
            packet = unsafe { packet.add(1) };
            waiting -= 1;
        }
        head.taken = appended - waiting;
        // SAFETY: both are of one chunk.
        let left = unsafe { edge.offset_from_unsigned(packet) };
        head.taken_here = CHUNK - left;
        stays
    }

    /// Hands over the packet that waits, where it is the only one and arrives before `end`: see [`Ring::take_before`].
    ///
    /// # Safety
    /// Only the thread that runs the receiving node may call it.
    #[inline(always)] // from one place
    pub(crate) unsafe fn take_only(&self, end: Time, pool: &mut Pool<T>) -> Option<*mut T> {
        // SAFETY: by contract.
        if unsafe { self.waiting() } != 1 {
            return None;
        }
        // SAFETY: by contract this thread alone touches the head once a packet was appended.
        let head = unsafe { &mut *self.head.get() };
        if head.taken_here == CHUNK {
            pool.spent.push(head.chunk);
            // SAFETY: a packet was appended behind a full chunk, so `next` is set.
            (head.chunk, head.taken_here) = (unsafe { (*head.chunk).next }, 0);
        }
        let packet = head.chunk.cast::<T>().wrapping_add(head.taken_here);
        // SAFETY: this packet is in its chunk, and was appended.
        if unsafe { (*packet).at() } >= end {
            return None;
        }
        head.taken_here += 1;
        head.taken += 1;
        Some(packet)
    }

    /// Has the cache fetch the first packets that wait.
    ///
    /// # Safety
    /// Only the thread that runs the receiving node may call it.
    #[inline(always)] // once per link and window
    pub(crate) unsafe fn fetch(&self) {
        // SAFETY: by contract this thread alone touches this part of the head.
        if self.appended.load(Ordering::Acquire) == unsafe { (*self.head.get()).taken } {
            return; // as in `take_before`
        }
        // SAFETY: by contract this thread alone touches the head once a packet was appended.
        let head = unsafe { &*self.head.get() };
        let first = head.chunk.cast::<T>().wrapping_add(head.taken_here);
        fetch(first);
        fetch(first.cast::<u8>().wrapping_add(64));
    }

    /// At most this many packets wait.
    ///
    /// # Safety
    /// Only the thread that runs the receiving node may call it.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "they are in memory")]
    pub(crate) unsafe fn waiting(&self) -> usize {
        // SAFETY: by contract this thread alone touches the head.
        (self.appended.load(Ordering::Acquire) - unsafe { (*self.head.get()).taken }) as usize
    }

    /// The last packet that waits.
    ///
    /// # Safety
    /// No thread may use either half meanwhile.
    pub(crate) unsafe fn last(&self) -> Option<T> {
        // SAFETY: by contract.
        if unsafe { self.waiting() } == 0 {
            return None;
        }
        #[allow(clippy::cast_possible_truncation, reason = "below CHUNK")]
        let place = ((self.appended.load(Ordering::Relaxed) - 1) % CHUNK as u64) as usize;
        // SAFETY: it was appended last, in the chunk of the tail, and has not been taken.
        Some(unsafe { *(*self.tail.get()).chunk.cast::<T>().add(place) })
    }

    /// Shows every packet that waits, in order.
    ///
    /// # Safety
    /// No thread may use either half meanwhile.
    pub(crate) unsafe fn each(&self, mut see: impl FnMut(&T)) {
        // SAFETY: by contract.
        let (waiting, head) = unsafe { (self.waiting(), &*self.head.get()) };
        let (mut chunk, mut here) = (head.chunk, head.taken_here);
        for _ in 0..waiting {
            if here == CHUNK {
                // SAFETY: a packet was appended behind a full chunk, so `next` is set.
                (chunk, here) = (unsafe { (*chunk).next }, 0);
            }
            // SAFETY: this packet is before the end of its chunk, and was appended.
            see(unsafe { &*chunk.cast::<T>().add(here) });
            here += 1;
        }
    }
}

/// Where the next packets of a link go.
pub(crate) struct Writer<'r, T> {
    ring: &'r Ring<T>,
    place: *mut T,
    /// The end of the chunk, and how many are appended once it is full.
    end: *mut T,
    until: u64,
}

impl<T: Slot> Writer<'_, T> {
    /// Appends packets as long as there is room in the chunk and the receiver need not be told of them; returns the first
    /// with which that is not so. The receiver sees none of them yet.
    ///
    /// # Safety
    /// See [`Ring::open`].
    #[inline(always)] // once per port and window
    pub(crate) unsafe fn push_all<'p>(
        &mut self,
        packets: &mut impl Iterator<Item = (&'p T, Time)>,
    ) -> Option<(&'p T, Time)>
    where
        T: 'p,
    {
        // SAFETY: by contract this thread alone touches the tail.
        let told_until = unsafe { (*self.ring.tail.get()).told_until };
        for (packet, at) in packets {
            if self.place == self.end || at >= told_until {
                return Some((packet, at));
            }
            // SAFETY: there is room, and the receiver does not read this place yet.
            unsafe { self.put(packet, at) };
        }
        None
    }

    /// Writes a packet into the next place.
    ///
    /// # Safety
    /// There is room, and see [`Ring::open`].
    #[inline(always)] // once per packet-hop
    unsafe fn put(&mut self, packet: &T, at: Time) {
        // SAFETY: by contract, and the receiver does not read this place yet.
        unsafe {
            ptr::copy_nonoverlapping(packet, self.place, 1);
            (*self.place).set_at(at);
        }
        self.place = self.place.wrapping_add(1);
    }

    /// [`Ring::push`], but for its being seen.
    ///
    /// # Safety
    /// See [`Ring::open`].
    #[inline(always)] // once per packet-hop
    pub(crate) unsafe fn push(&mut self, pool: &mut Pool<T>, packet: &T, at: Time) -> bool {
        // SAFETY: by contract this thread alone touches the tail.
        let tail = unsafe { &mut *self.ring.tail.get() };
        if self.place == self.end {
            cold_path();
            self.ring.extend(tail, pool);
            self.place = tail.chunk.cast();
            self.end = self.place.wrapping_add(CHUNK);
            self.until += CHUNK as u64;
        }
        // SAFETY: there is room.
        unsafe { self.put(packet, at) };
        at >= tail.told_until
    }

    /// Lets the receiver see what was appended.
    #[inline(always)] // once per port and window
    pub(crate) fn publish(&self) {
        // SAFETY: both are of one chunk, or the same.
        let room = unsafe { self.end.offset_from_unsigned(self.place) };
        let appended = self.until - room as u64;
        self.ring.appended.store(appended, Ordering::Release);
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        if *self.appended.get_mut() == 0 {
            return;
        }
        let mut chunk = self.head.get_mut().chunk;
        let last = self.tail.get_mut().chunk;
        loop {
            // SAFETY: chunks from head to tail are linked, live, and came from `Box::into_raw`.
            let next = unsafe { (*chunk).next };
            // SAFETY: the same; no other reference to it is left.
            drop(unsafe { Box::from_raw(chunk) });
            if chunk == last {
                return;
            }
            chunk = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_come_out_in_order_and_only_when_due() {
        let far = Far {
            bit: 0,
            news_word: 0,
            news_bit: 0,
        };
        let (ring, mut pool) = (Ring::<Packet>::new(far), Pool::default());
        let (mut next, mut seen) = (0u64, Vec::new());
        for round in 1..200u64 {
            // One by one, and several at once.
            for _ in 0..round % 13 {
                // SAFETY: one thread does both halves.
                unsafe { ring.push(&mut pool, &Packet::EMPTY, Time(next * 10)) };
                next += 1;
            }
            // SAFETY: one thread does both halves.
            let mut writer = unsafe { ring.open() };
            for _ in 0..round % 11 {
                // SAFETY: the same.
                unsafe { writer.push(&mut pool, &Packet::EMPTY, Time(next * 10)) };
                next += 1;
            }
            writer.publish();
            let end = Time(next * 10 - next.min(25));
            // SAFETY: one thread does both halves, and what is read lives until `recycle`.
            let left = unsafe {
                ring.take_before(end, &mut pool, |packet| seen.push((*packet).at.0 / 10))
            };
            assert!(left.is_none_or(|at| at >= end));
            pool.recycle();
            let mut waits = Vec::new();
            // SAFETY: one thread does both halves.
            unsafe { ring.each(|packet| waits.push(packet.at.0 / 10)) };
            let (first, seen) = (waits.first().copied().unwrap_or(next), seen.len() as u64);
            assert!(first == seen && waits.len() as u64 == next - seen);
        }
        assert!(seen.len() as u64 + 3 >= next, "{} of {next}", seen.len());
        assert!(seen.iter().enumerate().all(|(i, &at)| i as u64 == at));
    }
}
