//! Which numbers were seen, of those near the highest: what keeps a repeated packet from opening a
//! connection twice.

use super::NUMBERS;

/// Which of a peer's latest connection numbers were seen.
pub(super) struct Window {
    highest: u32,
    /// Bit `n` of the window is number `highest - n`.
    bits: [u64; Self::WORDS],
}

impl Window {
    const WORDS: usize = 16;
    /// As many as may be open at once, so that no open connection slides out unseen.
    const LEN: u32 = 64 * 16;

    /// A window in which `number` and those before it are new.
    pub(super) fn before(number: u32) -> Self {
        Self {
            highest: number.wrapping_sub(1) % NUMBERS,
            bits: [0; Self::WORDS],
        }
    }

    /// How far `number` is ahead; `Err` with how far it is behind.
    fn ahead(&self, number: u32) -> Result<u32, u32> {
        let ahead = number.wrapping_sub(self.highest) % NUMBERS;
        if ahead > 0 && ahead < NUMBERS / 2 {
            Ok(ahead)
        } else {
            Err((NUMBERS - ahead) % NUMBERS)
        }
    }

    pub(super) fn is_new(&self, number: u32) -> bool {
        match self.ahead(number) {
            Ok(_) => true,
            Err(behind) => behind < Self::LEN && !self.bit(behind),
        }
    }

    fn bit(&self, behind: u32) -> bool {
        self.bits[behind as usize / 64] >> (behind % 64) & 1 != 0
    }

    pub(super) fn mark(&mut self, number: u32) {
        let behind = match self.ahead(number) {
            Ok(ahead) => {
                self.shift(ahead);
                self.highest = number;
                0
            }
            Err(behind) => behind,
        };
        if behind < Self::LEN {
            self.bits[behind as usize / 64] |= 1 << (behind % 64);
        }
    }

    /// Makes everything `by` numbers older.
    fn shift(&mut self, by: u32) {
        let (words, bits) = (by as usize / 64, by % 64);
        for i in (0..Self::WORDS).rev() {
            let from = |i: usize| if i < Self::WORDS { self.bits[i] } else { 0 };
            let low = i.checked_sub(words).map_or(0, from);
            let high = i.checked_sub(words + 1).map_or(0, from);
            self.bits[i] = if bits == 0 {
                low
            } else {
                low << bits | high >> (64 - bits)
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Rng, stream};
    use std::collections::BTreeSet;

    #[test]
    fn a_window_agrees_with_a_set() {
        let mut rng = Rng::stream(4, stream::TEST, 0);
        let start = NUMBERS - 700;
        let (mut window, mut seen, mut top) = (Window::before(start), BTreeSet::new(), 0i64);
        for _ in 0..20_000 {
            // Steps forth by up to 90 numbers, and back by up to the window.
            let at = top - 900 + i64::try_from(rng.below(990)).unwrap();
            let number = u32::try_from((i64::from(start) + at).rem_euclid(NUMBERS.into())).unwrap();
            let new = at > top - i64::from(Window::LEN) && !seen.contains(&at);
            assert_eq!(window.is_new(number), new, "{at} of {top}");
            if new {
                window.mark(number);
                seen.insert(at);
                top = top.max(at);
            }
        }
        assert!(
            top > i64::from(50 * Window::LEN),
            "never left the first window: {top}"
        );
    }

    /// Numbers behind the highest that are new, of the window and one more.
    fn new(window: &Window) -> Vec<u32> {
        let number = |behind: &u32| window.highest.wrapping_sub(*behind) % NUMBERS;
        let all = 0..=Window::LEN;
        all.filter(|behind| window.is_new(number(behind))).collect()
    }

    #[test]
    fn a_number_as_old_as_the_window_is_long_is_never_new_again() {
        for first in [0, 1, 63, 5_000, NUMBERS - 1] {
            let mut window = Window::before(first);
            // Whatever came before the first one is new; it itself is one ahead.
            assert_eq!(new(&window), (0..Window::LEN).collect::<Vec<_>>());
            assert!(window.is_new(first));
            window.mark(first);
            assert_eq!(new(&window), (1..Window::LEN).collect::<Vec<_>>());
            let last = first.wrapping_sub(Window::LEN - 1) % NUMBERS;
            window.mark(last);
            window.mark(last.wrapping_sub(1) % NUMBERS); // too old: it changes nothing
            assert_eq!(new(&window), (1..Window::LEN - 1).collect::<Vec<_>>());
        }
    }

    #[test]
    fn every_step_forth_makes_all_that_was_seen_so_much_older() {
        for step in [
            1, 2, 63, 64, 65, 127, 128, 960, 1_000, 1_022, 1_023, 1_024, 5_000,
        ] {
            let mut window = Window::before(700);
            window.mark(700);
            window.mark(699);
            window.mark(700 + step);
            let seen = [0, step, step + 1];
            let expected = (0..Window::LEN).filter(|behind| !seen.contains(behind));
            assert_eq!(new(&window), expected.collect::<Vec<_>>(), "{step}");
        }
    }

    #[test]
    fn half_of_all_numbers_is_ahead_and_half_behind() {
        let mut window = Window::before(1);
        window.mark(1);
        for (number, ahead) in [
            (2, Ok(1)),
            (1, Err(0)),
            (0, Err(1)),
            (NUMBERS - 1, Err(2)),
            (NUMBERS / 2, Ok(NUMBERS / 2 - 1)),
            (NUMBERS / 2 + 1, Err(NUMBERS / 2)),
            (NUMBERS / 2 + 2, Err(NUMBERS / 2 - 1)),
        ] {
            assert_eq!(window.ahead(number), ahead, "{number}");
        }
        assert!(window.is_new(NUMBERS / 2) && !window.is_new(NUMBERS / 2 + 1));
    }
}
