//! Messages that wait behind the one under way, in one stream of bytes.

use std::collections::VecDeque;

/// Lengths of the messages of one direction that have not begun, in bytes.
#[derive(Clone, Debug, Default)]
pub struct Waiting {
    lengths: VecDeque<u64>,
    /// Their sum: adding one looks at no other.
    bytes: u64,
}

impl Waiting {
    /// Adds a message; false where the stream, which has `end` bytes without those that wait, would pass `most`.
    pub fn push(&mut self, end: u64, length: u64, most: u64) -> bool {
        let behind = end
            .checked_add(self.bytes)
            .and_then(|at| at.checked_add(length));
        let fits = behind.is_some_and(|behind| behind <= most);
        if fits {
            self.lengths.push_back(length);
            self.bytes += length;
        }
        fits
    }

    /// The message that begins: its length.
    pub fn pop(&mut self) -> Option<u64> {
        let length = self.lengths.pop_front()?;
        self.bytes -= length;
        Some(length)
    }

    /// Takes back all of them.
    pub fn clear(&mut self) {
        (self.lengths, self.bytes) = (VecDeque::new(), 0);
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Panics where an invariant is broken.
    pub fn check(&self) {
        assert_eq!(self.lengths.iter().sum::<u64>(), self.bytes);
    }
}

#[cfg(test)]
impl Waiting {
    /// One whose sum is of messages that do not wait.
    pub(crate) fn broken() -> Self {
        Self {
            bytes: 7,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_begin_in_order_and_fill_the_stream_to_its_end() {
        let mut waiting = Waiting::default();
        assert!(waiting.is_empty() && waiting.pop().is_none());
        // The stream takes 100 bytes, and 10 are there.
        let pushes = [(50, true), (0, true), (41, false), (40, true), (1, false)];
        for (length, fits) in pushes {
            assert_eq!(waiting.push(10, length, 100), fits, "{length} B");
            waiting.check();
        }
        assert!(waiting.push(10, 0, 100), "an empty message takes no room");
        assert!(!waiting.push(u64::MAX, 1, u64::MAX), "no number goes round");
        assert_eq!(waiting.pop(), Some(50));
        assert!(waiting.push(60, 0, 100) && !waiting.push(60, 1, 100));
        let rest: Vec<_> = std::iter::from_fn(|| waiting.pop()).collect();
        assert_eq!(rest, [0, 40, 0, 0]);
        waiting.check();
        assert!(waiting.push(0, 7, 7) && !waiting.is_empty());
        waiting.clear();
        waiting.check();
        assert!(waiting.is_empty() && waiting.push(0, 7, 7));
    }

    #[test]
    #[should_panic(expected = "left: 0")]
    fn a_sum_of_what_does_not_wait_is_noticed() {
        Waiting::broken().check();
    }
}
