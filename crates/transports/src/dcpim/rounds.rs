//! What hosts hear of a round before its turn comes: requests at a sender, offers at a receiver.

use super::lines::Lines;
use model::{ConnId, HostId, Rng};

/// Words of one round that are kept: one per host. [ours]
const HEARD_MAX: usize = 4096;

/// A request, or an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) peer: HostId,
    /// The connection that it came on.
    pub(super) conn: ConnId,
    pub(super) round: u64,
    pub(super) channels: u32,
    pub(super) prompt: u32,
    /// Of an offer, the same in channels of the sender, and the lines of both.
    pub(super) theirs: (u32, u32),
    pub(super) lines: Lines,
    /// Frames that the message lacks.
    pub(super) left: u32,
}

/// The words of a round, and of a later one where clocks differ: one of each host.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// By host.
    words: Vec<Word>,
}

impl Heard {
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Keeps a word, in place of an older one of its host.
    pub(super) fn keep(&mut self, word: Word) {
        match self
            .words
            .binary_search_by_key(&word.peer, |kept| kept.peer)
        {
            Ok(at) if self.words[at].round < word.round => self.words[at] = word,
            Err(at) if self.words.len() < HEARD_MAX => self.words.insert(at, word),
            Ok(_) | Err(_) => {}
        }
    }

    /// The first round that something was heard of.
    pub(super) fn first(&self) -> Option<u64> {
        self.words.iter().map(|word| word.round).min()
    }

    /// Forgets the words of this round and of those before it.
    pub(super) fn drop_until(&mut self, round: u64) {
        self.words.retain(|word| word.round > round);
        if self.words.is_empty() {
            self.words = Vec::new();
        }
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.words = Vec::new();
    }

    /// Takes a word of this round: one with the least to come, or any. [dcpim artefact: `pimhost.cpp`]
    pub(super) fn take(&mut self, rng: &mut Rng, round: u64, smallest: bool) -> Option<Word> {
        let of_round = |word: &&Word| word.round == round;
        let words = || self.words.iter().filter(of_round);
        let least = words().map(|word| word.left).min().filter(|_| smallest);
        let fits =
            |word: &Word| word.round == round && least.is_none_or(|least| word.left == least);
        let count = self.words.iter().filter(|word| fits(word)).count();
        if count == 0 {
            return None;
        }
        // Equals have equal chances, or the host with the lowest number would have them all.
        let nth = if count == 1 {
            0
        } else {
            rng.below(count as u64)
        };
        let mut places = (0..self.words.len()).filter(|&at| fits(&self.words[at]));
        let at = places.nth(usize::try_from(nth).unwrap_or(0))?;
        Some(self.words.remove(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::stream;

    fn word(peer: u32, round: u64, left: u32) -> Word {
        Word {
            peer: HostId(peer),
            conn: ConnId(peer),
            round,
            channels: 1,
            prompt: 0,
            theirs: (1, 0),
            lines: Lines::new(1, 1),
            left,
        }
    }

    #[test]
    fn the_smallest_goes_first_or_any_does_and_others_wait_for_their_round() {
        let mut rng = Rng::stream(1, stream::TEST, 1);
        let mut firsts = [0; 5];
        for smallest in [true, false] {
            for _ in 0..400 {
                let mut heard = Heard::default();
                let all = [(0, 7, 30), (1, 7, 10), (2, 7, 10), (3, 8, 1), (4, 6, 1)];
                for (peer, round, left) in all {
                    heard.keep(word(peer, round, left));
                }
                heard.keep(word(2, 6, 1));
                assert_eq!(heard.first(), Some(6));
                let mut found = Vec::new();
                while let Some(word) = heard.take(&mut rng, 7, smallest) {
                    found.push(word.peer.0);
                }
                firsts[found[0] as usize] += 1;
                assert!(!smallest || found[2] == 0, "{found:?}");
                found.sort_unstable();
                assert_eq!(found, [0, 1, 2]);
                heard.drop_until(7);
                assert_eq!(heard.first(), Some(8));
            }
            if smallest {
                assert!(
                    firsts[0] == 0 && firsts[1] > 150 && firsts[2] > 150,
                    "{firsts:?}"
                );
            }
        }
        assert!(firsts[0] > 90, "{firsts:?}");
    }

    #[test]
    fn a_flood_of_words_is_bounded() {
        let mut heard = Heard::default();
        for peer in 0..10_000 {
            heard.keep(word(peer, 1, 1));
            heard.keep(word(peer % 7, 1 + u64::from(peer), 1));
        }
        assert_eq!(heard.words.len(), HEARD_MAX);
        heard.clear();
        assert!(heard.is_empty());
    }
}
