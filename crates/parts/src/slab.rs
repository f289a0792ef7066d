//! Numbered places that are reused: what a [`model::ConnMap`] points into.

use std::ops::{Index, IndexMut};

/// Values in numbered places. A number stays the same until its value is removed.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    places: Vec<Option<T>>,
    /// Places without a value; the one freed last is used first, while it is still in the cache.
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    /// Puts `value` into a free place and returns the place's number.
    ///
    /// # Panics
    /// If 2^31 places are taken: the top bit is left to the caller.
    pub fn insert(&mut self, value: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.places[slot as usize] = Some(value);
            return slot;
        }
        let slot = u32::try_from(self.places.len())
            .ok()
            .filter(|&slot| slot < SLOTS_MAX);
        self.places.push(Some(value));
        slot.expect("a host has fewer than 2^31 connections")
    }

    /// Takes the value out of place `slot`.
    ///
    /// # Panics
    /// If there is none.
    pub fn remove(&mut self, slot: u32) -> T {
        let value = self.places[slot as usize]
            .take()
            .expect("only values that exist are removed");
        self.free.push(slot);
        value
    }

    /// The value in place `slot`, if there is one.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.places.get_mut(slot as usize)?.as_mut()
    }

    /// The value in place `slot`, if there is one.
    #[inline]
    pub fn get(&self, slot: u32) -> Option<&T> {
        self.places.get(slot as usize)?.as_ref()
    }

    /// Has the cache fetch place `slot`, if there is one, before it is needed.
    #[inline]
    pub fn fetch(&self, slot: u32) {
        if let Some(place) = self.places.get(slot as usize) {
            fetch(std::slice::from_ref(place));
        }
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every value, by place.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten()
    }

    /// At most `count` values from place `start` on, going round: a sample for checks that must
    /// stay cheap with many values.
    pub fn sample(&self, start: u64, count: usize) -> impl Iterator<Item = &T> {
        let len = self.places.len();
        let first = usize::try_from(start % (len.max(1) as u64)).expect("below a length");
        (0..count.min(len)).filter_map(move |n| self.places[(first + n) % len].as_ref())
    }
}

/// Bytes that a cache fetches at once.
const LINE: usize = 64;

/// Has the cache fetch `values` before they are needed. It changes nothing but the time.
#[inline]
pub fn fetch<T>(values: &[T]) {
    let first = values.as_ptr().cast::<u8>();
    for line in 0..size_of_val(values).div_ceil(LINE) {
        switching::fetch(first.wrapping_add(line * LINE));
    }
}

/// Places of one slab.
const SLOTS_MAX: u32 = 1 << 31;

impl<T> Index<u32> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, slot: u32) -> &T {
        self.places[slot as usize]
            .as_ref()
            .expect("only values that exist are read")
    }
}
impl<T> IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut T {
        self.places[slot as usize]
            .as_mut()
            .expect("only values that exist are changed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_place_is_used_again_and_nothing_moves() {
        let mut slab = Slab::default();
        let (a, b, c) = (slab.insert('a'), slab.insert('b'), slab.insert('c'));
        assert_eq!(slab.remove(b), 'b');
        assert_eq!(slab.get_mut(b), None);
        assert_eq!(slab.insert('d'), b);
        assert_eq!((slab[a], slab[b], slab[c], slab.len()), ('a', 'd', 'c', 3));
        assert_eq!(slab.sample(5, 2).collect::<String>(), "ca");
    }

    #[test]
    fn what_is_there_is_counted_and_found() {
        let mut slab = Slab::default();
        assert!(slab.is_empty() && slab.get(0).is_none());
        assert_eq!(slab.sample(7, 3).count(), 0);
        let [a, b, c] = ['a', 'b', 'c'].map(|value| slab.insert(value));
        assert!(!slab.is_empty() && slab.len() == 3);
        slab.remove(b);
        assert_eq!(
            (slab.len(), slab.get(a), slab.get(b)),
            (2, Some(&'a'), None)
        );
        assert!(slab.get(3).is_none() && slab.get_mut(3).is_none());
        slab[c] = 'C';
        *slab.get_mut(a).unwrap() = 'A';
        assert_eq!(slab.iter().collect::<String>(), "AC");
        // Places without a value are passed over, and nothing is shown twice.
        assert_eq!(slab.sample(1, 2).collect::<String>(), "C");
        assert_eq!(slab.sample(2, 9).collect::<String>(), "CA");
        assert_eq!(slab.sample(u64::MAX, 1).collect::<String>(), "A");
        // The place freed last is the first to be used again.
        slab.remove(a);
        assert_eq!(
            [slab.insert('x'), slab.insert('y'), slab.insert('z')],
            [a, b, 3]
        );
    }

    #[test]
    #[should_panic(expected = "only values that exist are removed")]
    fn nothing_is_removed_twice() {
        let mut slab = Slab::default();
        let place = slab.insert(());
        slab.remove(place);
        slab.remove(place);
    }
}
