//! What a host does as a sender in a matching: it offers its channels to receivers that ask.

use super::clock::{Clock, Stage};
use super::rounds::{Heard, Word};
use super::settings::Settings;
use model::{HostId, Rng};
use units::Time;

/// Channels of the data of one epoch.
#[derive(Clone, Copy, Debug, Default)]
struct Matched {
    epoch: u64,
    channels: u32,
    /// Those used before their epoch begins.
    prompt: u32,
}

/// An offer that was not answered yet.
#[derive(Clone, Copy, Debug)]
struct Offer {
    peer: HostId,
    round: u64,
    channels: u32,
    prompt: u32,
}

/// What became of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// All of it fits.
    All,
    /// So many channels are another's already.
    Over(u32),
    /// Nobody was offered that, or it was taken already.
    Unknown,
}

/// The requests that a host has heard, what it offered for them, and what was taken.
#[derive(Debug, Default)]
pub(super) struct Granting {
    heard: Heard,
    offers: Vec<Offer>,
    /// The epoch that is matched last, and the one before it.
    matched: [Option<Matched>; 2],
    /// When offers are due.
    at: Option<Time>,
}

impl Granting {
    /// When [`Granting::offer`] has something to do.
    #[inline]
    pub(super) fn next(&self) -> Time {
        self.at.unwrap_or(Time::NEVER)
    }

    /// A request in time.
    pub(super) fn ask(&mut self, clock: &Clock, word: Word) {
        self.heard.keep(word);
        self.set(clock);
    }

    fn set(&mut self, clock: &Clock) {
        let first = self.heard.first();
        self.at = first.map(|round| clock.when(round, Stage::Half));
    }

    /// Forgets all: the clock is another.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// What is matched of an epoch: channels, and prompt ones.
    fn of(&self, epoch: u64) -> Matched {
        let mut kept = self.matched.iter().flatten();
        let kept = kept.find(|kept| kept.epoch == epoch);
        kept.copied().unwrap_or(Matched {
            epoch,
            ..Matched::default()
        })
    }

    fn set_matched(&mut self, matched: Matched) {
        let epoch = |at: usize| self.matched[at].map(|kept| kept.epoch);
        let same = (0..2).find(|&at| epoch(at) == Some(matched.epoch));
        let older = usize::from(epoch(1) < epoch(0));
        self.matched[same.unwrap_or(older)] = Some(matched);
    }

    /// The middle of `round`: makes the offers of it, through `say`. [dcpim artefact: `handle_all_req`]
    pub(super) fn offer(
        &mut self,
        rng: &mut Rng,
        clock: &Clock,
        round: u64,
        settings: &Settings,
        mut say: impl FnMut(Word),
    ) {
        let epoch = round / u64::from(settings.epoch);
        let place = round % u64::from(settings.epoch);
        self.offers
            .retain(|offer| offer.round + u64::from(settings.epoch) > round);
        let (own, before) = (self.of(epoch), self.of(epoch.wrapping_sub(1)));
        let mut free = settings.channels - own.channels;
        let used = before.channels + own.prompt;
        let mut prompt = settings.channels.saturating_sub(used);
        let smallest = place < settings.smallest.into();
        while free > 0
            && place < settings.rounds.into()
            && let Some(mut word) = self.heard.take(rng, round, smallest)
        {
            word.channels = word.channels.min(free);
            word.prompt = word.prompt.min(word.channels).min(prompt);
            free -= word.channels;
            prompt -= word.prompt;
            self.offers.push(Offer {
                peer: word.peer,
                round,
                channels: word.channels,
                prompt: word.prompt,
            });
            say(word);
        }
        self.heard.drop_until(round);
        self.set(clock);
    }

    /// A receiver takes channels that it was offered in a round.
    pub(super) fn take(
        &mut self,
        peer: HostId,
        round: u64,
        (channels, prompt): (u32, u32),
        settings: &Settings,
    ) -> Taken {
        let offered = self.offers.iter().position(|offer| {
            let same = offer.peer == peer && offer.round == round;
            same && offer.channels >= channels && offer.prompt >= prompt
        });
        let Some(at) = offered else {
            return Taken::Unknown;
        };
        self.offers.swap_remove(at);
        let mut matched = self.of(round / u64::from(settings.epoch));
        let over = (matched.channels + channels).saturating_sub(settings.channels);
        matched.channels += channels - over;
        matched.prompt = (matched.prompt + prompt).min(matched.channels);
        self.set_matched(matched);
        if over > 0 {
            Taken::Over(over)
        } else {
            Taken::All
        }
    }

    /// Panics where a host is matched with more than its channels.
    pub(super) fn check(&self, settings: &Settings) {
        for matched in self.matched.iter().flatten() {
            assert!(matched.channels <= settings.channels, "{matched:?}");
            assert!(matched.prompt <= matched.channels, "{matched:?}");
        }
        let most = 2 * settings.channels * settings.epoch;
        assert!(self.offers.len() <= most as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dcpim::Params;
    use model::{Encap, EndpointConfig};
    use units::Rate;

    #[test]
    fn broken_books_are_noticed() {
        let config = EndpointConfig::new(HostId(0), Rate::gbps(10), Encap::PAPER);
        let settings = Settings::new(&Params::DEFAULT, &config);
        let broken = |offers: u32, channels, prompt| {
            let matched = Matched {
                epoch: 0,
                channels,
                prompt,
            };
            let offer = |_| Offer {
                peer: HostId(1),
                round: 0,
                channels: 1,
                prompt: 0,
            };
            let granting = Granting {
                offers: (0..offers).map(offer).collect(),
                matched: [Some(matched), None],
                ..Granting::default()
            };
            std::panic::catch_unwind(|| granting.check(&settings)).is_err()
        };
        let (channels, most) = (settings.channels, 2 * settings.channels * settings.epoch);
        assert!(!broken(most, channels, channels));
        assert!(
            broken(most + 1, 0, 0),
            "offers of more rounds than are kept"
        );
        assert!(broken(0, channels + 1, 0) && broken(0, 1, 2));
    }
}
