//! What a host does as a receiver: whom it asks in a matching, and the links that follow, on which it gives tokens.
//!
//! First come the messages that want tokens, by sender and rank; then the rounds of a matching, in which it asks for
//! channels and hears offers; then the links of two epochs, of which each gives a token per gap while it is used.

use super::clock::{Clock, Stage};
use super::lines::Lines;
use super::rounds::{Heard, Word};
use super::settings::Settings;
use model::{HostId, Rng};
use std::collections::{BTreeMap, BTreeSet};
use units::{Span, Time};

/// Tokens that a late driver makes good at once: one on a wire may look at its clock seldom. [ours]
const CATCH_UP: u64 = 64;
/// Tokens of links that began before their epoch are served after all others. [dcpim artefact]
const PROMPT_RANK: u8 = 7;
/// Those of the link with the shortest message. [dcpim artefact]
const FIRST_RANK: u8 = 2;
/// Epochs in which nobody answers, after which a message gets a token of no match: doubled each time, up to the second.
/// [ours]
const UNANSWERED: u32 = 64;
const UNANSWERED_MAX: u32 = 64 * UNANSWERED;
/// Who was not answered in that many epochs asks in every second, in twice as many in every third, but in one of so many
/// at least: it waits little longer than it has. [ours]
const ASKS_EVERY: u32 = 1024;

/// A message that wants tokens: bytes to come when it was ranked; then its age and place.
pub(super) type Rank = (u64, u32, u32);

/// Channels of a sender in one epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) peer: HostId,
    /// All of them, and those that are used before their epoch.
    channels: u32,
    prompt: u32,
    /// The same in channels of the sender, and the lines of both.
    theirs: (u32, u32),
    lines: Lines,
    /// Frames of its shortest message.
    left: u32,
    rank: u8,
    /// When its next token is due.
    at: Time,
    /// Until when it has nothing to give.
    asleep: Time,
}

/// The messages of one sender that want tokens.
#[derive(Debug, Default)]
struct Pair {
    wanting: BTreeSet<Rank>,
    /// The round in which it was asked last, for how many channels, and with what lines.
    asked: Option<(u64, u32, Lines)>,
}

/// The links of one epoch.
#[derive(Debug, Default)]
struct Links {
    epoch: Option<u64>,
    all: Vec<Link>,
}

impl Links {
    fn channels(&self) -> u32 {
        self.all.iter().map(|link| link.channels).sum()
    }

    fn prompt(&self) -> u32 {
        self.all.iter().map(|link| link.prompt).sum()
    }

    fn channels_of(&self, peer: HostId) -> u32 {
        let of = self.all.iter().filter(|link| link.peer == peer);
        of.map(|link| link.channels).sum()
    }

    /// The same in channels of the sender.
    fn theirs_of(&self, peer: HostId) -> u32 {
        let of = self.all.iter().filter(|link| link.peer == peer);
        of.map(|link| link.theirs.0).sum()
    }
}

/// A link whose time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    /// Which of the links: those of the epoch, then those that began before theirs.
    pub(super) at: usize,
    /// The place of its first message.
    pub(super) slot: u32,
    pub(super) channels: u32,
    /// Channels of its sender, and the lines of both.
    pub(super) theirs: u32,
    pub(super) lines: Lines,
    pub(super) rank: u8,
}

/// The receiver of a host.
#[derive(Debug, Default)]
pub(super) struct Asking {
    pairs: BTreeMap<HostId, Pair>,
    offers: Heard,
    /// The links of the epoch whose data comes, and of the one that is matched.
    now: Links,
    next: Links,
    /// When the next round begins that it has something to do in.
    round_at: Option<Time>,
    /// When the next token of a link is due, at the earliest.
    token_at: Option<Time>,
    /// Bytes on the wire that came unasked, and that no token was left out for.
    held: u64,
    /// The last epoch of a matching, unless it has slept since. Epochs in a row in which messages wanted tokens and no
    /// sender answered; after how many a token is given for that, and the number of that wait.
    counted: Option<u64>,
    unanswered: u32,
    overlooked_at: u32,
    wait: u32,
    answered: bool,
    /// Candidates of a round, kept for their room.
    chosen: Vec<(u32, HostId, Lines)>,
}

/// Messages that want tokens.
impl Asking {
    /// A message of a sender changes its rank.
    pub(super) fn change(
        &mut self,
        now: Time,
        peer: HostId,
        (old, new): (Option<Rank>, Option<Rank>),
        clock: &Clock,
        settings: &Settings,
    ) {
        let pair = self.pairs.entry(peer).or_default();
        if let Some(old) = old {
            pair.wanting.remove(&old);
        }
        if let Some(new) = new {
            pair.wanting.insert(new);
            self.wake(now, peer);
            self.set_round(now, clock, settings);
        } else if pair.wanting.is_empty() {
            self.pairs.remove(&peer);
        }
    }

    /// The first message of a sender, where there is another besides.
    #[inline]
    pub(super) fn first_of_several(&self, peer: HostId) -> Option<Rank> {
        let pair = self.pairs.get(&peer)?;
        if pair.wanting.len() < 2 {
            return None;
        }
        pair.wanting.first().copied()
    }

    /// The only message of a sender.
    #[inline]
    pub(super) fn only(&self, peer: HostId) -> Option<Rank> {
        let pair = self.pairs.get(&peer)?;
        pair.wanting
            .first()
            .copied()
            .filter(|_| pair.wanting.len() == 1)
    }

    /// A message of this sender takes another place among its others.
    #[inline]
    pub(super) fn rank_anew(&mut self, peer: HostId, old: Rank, new: Rank) {
        if let Some(pair) = self.pairs.get_mut(&peer) {
            pair.wanting.remove(&old);
            pair.wanting.insert(new);
        }
    }
}

/// Rounds.
impl Asking {
    /// When a round begins that it has something to do in.
    #[inline]
    pub(super) fn next_round(&self) -> Time {
        self.round_at.unwrap_or(Time::NEVER)
    }

    /// The clock is another: forgets all but messages.
    pub(super) fn clear(&mut self, now: Time, clock: &Clock, settings: &Settings) {
        (self.now, self.next) = (Links::default(), Links::default());
        self.offers.clear();
        for pair in self.pairs.values_mut() {
            pair.asked = None;
        }
        (self.round_at, self.token_at, self.counted) = (None, None, None);
        self.set_round(now, clock, settings);
    }

    /// The first round from `round` on that has something to do in any epoch: those that match, and the end of the
    /// last of them.
    fn busy(round: u64, settings: &Settings) -> u64 {
        let epoch = u64::from(settings.epoch);
        if round % epoch <= u64::from(settings.rounds) {
            round
        } else {
            round.next_multiple_of(epoch)
        }
    }

    /// The round in which the data of another epoch begins, after `round`.
    fn switch(round: u64, settings: &Settings) -> u64 {
        let (epoch, rounds) = (u64::from(settings.epoch), u64::from(settings.rounds));
        match (round + 1).checked_sub(rounds) {
            Some(behind) => behind.next_multiple_of(epoch) + rounds,
            None => rounds,
        }
    }

    /// The epoch whose data comes in `round`.
    fn data_epoch(round: u64, settings: &Settings) -> Option<u64> {
        let behind = round.checked_sub(settings.rounds.into())?;
        Some(behind / u64::from(settings.epoch))
    }

    /// Names the next round that it has something to do in; hosts without messages sleep.
    fn set_round(&mut self, now: Time, clock: &Clock, settings: &Settings) {
        let round = clock.round(now);
        let every = self.every();
        let links = !self.now.all.is_empty() || !self.next.all.is_empty();
        let next = if every > 1 && !links && self.offers.is_empty() && !self.pairs.is_empty() {
            let epoch = u64::from(settings.epoch);
            let own = u64::from(settings.host);
            ((round / epoch + 1 + own).next_multiple_of(every) - own) * epoch
        } else if !self.pairs.is_empty() || !self.offers.is_empty() {
            Self::busy(round + 1, settings)
        } else if links {
            Self::switch(round, settings)
        } else {
            return;
        };
        let at = clock.when(next, Stage::Begin);
        self.round_at = Some(self.round_at.map_or(at, |known| known.min(at)));
    }

    /// An offer of a round that is not over, in channels of the sender: whether it was asked for.
    pub(super) fn offered(
        &mut self,
        now: Time,
        mut word: Word,
        clock: &Clock,
        settings: &Settings,
    ) -> bool {
        let asked = self.pairs.get(&word.peer).and_then(|pair| pair.asked);
        let fits = asked.is_some_and(|(round, most, lines)| {
            own(&mut word, lines, settings);
            round == word.round && word.channels <= most
        });
        if fits {
            self.offers.keep(word);
            self.set_round(now, clock, settings);
        }
        fits
    }

    /// A round begins: what was offered in the one before it is taken, through `take`. [dcpim artefact:
    /// `handle_all_grants`]
    pub(super) fn accept(
        &mut self,
        rng: &mut Rng,
        (now, round): (Time, u64),
        settings: &Settings,
        mut take: impl FnMut(Word),
    ) {
        let Some(round) = round.checked_sub(1) else {
            return;
        };
        let epoch = u64::from(settings.epoch);
        if self.next.epoch == Some(round / epoch) {
            let mut free = settings.channels - self.next.channels();
            let used = self.now.channels() + self.next.prompt();
            let mut prompt = settings.channels.saturating_sub(used);
            let smallest = round % epoch < settings.smallest.into();
            while free > 0
                && let Some(mut word) = self.offers.take(rng, round, smallest)
            {
                word.channels = word.channels.min(free);
                word.prompt = word.prompt.min(word.channels).min(prompt);
                let theirs = |own| word.lines.to_theirs(own, settings.channels);
                let (channels, offered) = word.theirs;
                let channels = channels.min(theirs(word.channels));
                word.theirs = (channels, offered.min(theirs(word.prompt)).min(channels));
                free -= word.channels;
                prompt -= word.prompt;
                self.answered = true;
                self.link(now, word);
                take(word);
            }
        }
        self.offers.drop_until(round);
    }

    /// Channels of the next epoch are a sender's; prompt ones give tokens at once.
    fn link(&mut self, now: Time, word: Word) {
        let links = &mut self.next.all;
        let at = links.iter().position(|link| link.peer == word.peer);
        let at = at.unwrap_or_else(|| {
            links.push(Link {
                peer: word.peer,
                channels: 0,
                prompt: 0,
                theirs: (0, 0),
                lines: word.lines,
                left: word.left,
                rank: PROMPT_RANK,
                at: now,
                asleep: Time::ZERO,
            });
            links.len() - 1
        });
        links[at].channels += word.channels;
        links[at].prompt += word.prompt;
        links[at].theirs.0 += word.theirs.0;
        links[at].theirs.1 += word.theirs.1;
        if word.prompt > 0 {
            links[at].at = links[at].at.max(now);
            self.token_at = Some(now);
        }
    }

    /// A sender takes back channels that it offered in `round`.
    pub(super) fn give_back(
        &mut self,
        peer: HostId,
        round: u64,
        mut channels: u32,
        settings: &Settings,
    ) {
        let epoch = Some(round / u64::from(settings.epoch));
        let links = [&mut self.now, &mut self.next];
        for links in links.into_iter().filter(|links| links.epoch == epoch) {
            for link in links.all.iter_mut().filter(|link| link.peer == peer) {
                let less = channels.min(link.theirs.0);
                channels -= less;
                link.theirs.0 -= less;
                let left = link.lines.to_own(link.theirs.0, settings.channels);
                link.channels = link.channels.min(left);
                link.theirs.1 = link.theirs.1.min(link.theirs.0);
                link.prompt = link.prompt.min(link.channels);
            }
            links.all.retain(|link| link.channels > 0);
        }
    }

    /// A round begins: the links of another epoch give tokens, if that is so. [dcpim artefact]
    pub(super) fn switch_epoch(&mut self, now: Time, round: u64, settings: &Settings) {
        let data = Self::data_epoch(round, settings);
        if data.is_some() && self.now.epoch != data {
            self.now = if self.next.epoch == data {
                std::mem::take(&mut self.next)
            } else {
                Links::default()
            };
            self.now.epoch = data;
            self.now.all.sort_by_key(|link| link.left);
            let mut rank = FIRST_RANK;
            for link in &mut self.now.all {
                (link.prompt, link.at, link.asleep) = (0, now, Time::ZERO);
                link.rank = rank.min(PROMPT_RANK - 1);
                let channels = u8::try_from(link.channels).unwrap_or(u8::MAX);
                rank = rank.saturating_add(channels);
            }
            self.token_at = Some(now).filter(|_| !self.now.all.is_empty());
        }
        let matched = round / u64::from(settings.epoch);
        let matching = round % u64::from(settings.epoch) < u64::from(settings.rounds);
        if matching && self.next.epoch != Some(matched) {
            let before = self.counted.replace(matched).unwrap_or(matched);
            self.count_answers(matched.saturating_sub(before));
            self.next = Links {
                epoch: Some(matched),
                all: Vec::new(),
            };
        }
    }

    /// So many epochs are over.
    fn count_answers(&mut self, epochs: u64) {
        let served = std::mem::take(&mut self.answered) || !self.now.all.is_empty();
        if served || self.pairs.is_empty() {
            self.start_counting();
        } else {
            let epochs = u32::try_from(epochs).unwrap_or(u32::MAX);
            self.unanswered = self.unanswered.saturating_add(epochs);
        }
    }

    fn start_counting(&mut self) {
        self.unanswered = 0;
        (self.wait, self.overlooked_at) = (UNANSWERED, UNANSWERED);
    }

    /// A new message or data: it is worth asking again.
    #[inline]
    pub(super) fn is_heard(&mut self, now: Time, clock: &Clock, settings: &Settings) {
        let seldom = self.every() > 1;
        self.start_counting();
        if seldom {
            self.counted = None;
            self.set_round(now, clock, settings);
        }
    }

    /// In one of how many epochs senders are asked.
    fn every(&self) -> u64 {
        (1 + self.unanswered / UNANSWERED).min(ASKS_EVERY).into()
    }

    /// Nobody has answered for so long that hosts may not hear each other in time: the place of a message that gets a
    /// token all the same.
    pub(super) fn overlooked(&mut self) -> Option<u32> {
        if self.overlooked_at == 0 || self.unanswered < self.overlooked_at {
            return None;
        }
        self.wait = (2 * self.wait).min(UNANSWERED_MAX);
        self.overlooked_at = self.unanswered.saturating_add(self.wait);
        let firsts = self.pairs.values().filter_map(|pair| pair.wanting.first());
        firsts.min().map(|&(.., slot)| slot)
    }

    /// Whether senders are asked in `round`: always where they answer.
    pub(super) fn asks_in(&self, round: u64, settings: &Settings) -> bool {
        let (every, epoch) = (self.every(), u64::from(settings.epoch));
        let turn = (round / epoch + u64::from(settings.host)).is_multiple_of(every);
        every == 1 || (turn && round.is_multiple_of(epoch))
    }

    /// Asks senders in `round`, if it is one of a matching: `lacks` says how many frames a message lacks and what lines it
    /// has, or nothing where its sender is not to be asked; `say` takes the place of each that asks, with channels of the
    /// sender, prompt ones and frames. [dcpim artefact: `send_all_req`]
    pub(super) fn ask(
        &mut self,
        rng: &mut Rng,
        round: u64,
        settings: &Settings,
        lacks: impl Fn(u32) -> Option<(u32, Lines)>,
        mut say: impl FnMut(u32, [u32; 3]),
    ) {
        let place = round % u64::from(settings.epoch);
        let free = settings.channels - self.next.channels();
        if place >= settings.rounds.into() || free == 0 {
            return;
        }
        let first = |pair: &Pair| pair.wanting.first().map(|&(.., slot)| slot);
        let mut chosen = std::mem::take(&mut self.chosen);
        chosen.extend(self.pairs.iter().filter_map(|(&peer, pair)| {
            let (left, lines) = lacks(first(pair)?)?;
            Some((left, peer, lines))
        }));
        if chosen.len() > settings.requests {
            // DEVIATES(dcpim artefact): it asks all, also where that takes longer than the round.
            if place < settings.smallest.into() {
                chosen.sort_unstable();
            } else {
                for n in 0..settings.requests {
                    let rest = chosen.len() - n;
                    let other = usize::try_from(rng.below(rest as u64)).unwrap_or(0);
                    chosen.swap(n, n + other);
                }
            }
            chosen.truncate(settings.requests);
        }
        let used = self.now.channels() + self.next.prompt();
        let prompt = settings.channels.saturating_sub(used);
        for (left, peer, lines) in chosen.drain(..) {
            let next = self.next.channels_of(peer);
            let have = self.now.channels_of(peer) + next;
            let all = settings.channels;
            let line = lines.to_own(all, all).saturating_sub(next);
            let lack = u64::from(left).div_ceil(settings.channel_frames);
            let more = lack.saturating_sub(have.into());
            let channels = u32::try_from(more).unwrap_or(u32::MAX);
            let channels = channels.min(free).min(line);
            // A channel of a slower line carries less than one here: the message may want several of them, or has them.
            let theirs = lines
                .wanted_of_theirs(left, settings.channel_frames)
                .saturating_sub(self.now.theirs_of(peer) + self.next.theirs_of(peer))
                .min(lines.to_theirs(channels, all));
            let asks = channels > 0 && theirs > 0;
            let Some(pair) = self.pairs.get_mut(&peer).filter(|_| asks) else {
                continue;
            };
            pair.asked = Some((round, lines.to_own(theirs, all), lines));
            if let Some(&(.., slot)) = pair.wanting.first() {
                let prompt = if settings.prompt {
                    lines.to_theirs(prompt.min(channels), all).min(theirs)
                } else {
                    0
                };
                say(slot, [theirs, prompt, left]);
            }
        }
        self.chosen = chosen;
    }

    /// Names the next round, after all was done in this one.
    pub(super) fn round_is_over(&mut self, now: Time, clock: &Clock, settings: &Settings) {
        self.round_at = None;
        if self.pairs.is_empty() {
            self.counted = None;
        }
        self.set_round(now, clock, settings);
    }

    /// When the data of the epoch ends that comes now.
    pub(super) fn data_ends(now: Time, clock: &Clock, settings: &Settings) -> Time {
        clock.when(Self::switch(clock.round(now), settings), Stage::Begin)
    }
}

/// Links.
impl Asking {
    /// When a token may be due.
    #[inline]
    pub(super) fn next_token(&self) -> Time {
        self.token_at.unwrap_or(Time::NEVER)
    }

    /// So many bytes on the wire have come unasked: they take the place of tokens, a window's at most.
    #[inline]
    pub(super) fn hold(&mut self, bytes: u16, settings: &Settings) {
        if self.token_at.is_some() && settings.hold {
            let most = u64::from(settings.window) * u64::from(settings.encap.wire_max());
            self.held = (self.held + u64::from(bytes)).min(most);
        }
    }

    fn link_at(&mut self, at: usize) -> &mut Link {
        match at.checked_sub(self.now.all.len()) {
            None => &mut self.now.all[at],
            Some(at) => &mut self.next.all[at],
        }
    }

    /// Something of this sender's messages has changed: its links look again.
    #[inline]
    pub(super) fn wake(&mut self, now: Time, peer: HostId) {
        let links = self.now.all.iter_mut().chain(&mut self.next.all);
        for link in links.filter(|link| link.peer == peer && link.asleep > now) {
            link.asleep = Time::ZERO;
            link.at = link.at.max(now);
            self.token_at = Some(self.token_at.map_or(link.at, |at| at.min(link.at)));
        }
    }

    /// A link whose token is due. [`Asking::given`] or [`Asking::rest`] follows.
    pub(super) fn due(&mut self, now: Time, settings: &Settings) -> Option<Due> {
        while self.token_at.is_some_and(|at| at <= now) {
            let active = self.now.all.iter().map(|link| {
                let (theirs, _) = link.theirs;
                (link, link.channels, theirs)
            });
            let prompt = self.next.all.iter().map(|link| {
                let (_, theirs) = link.theirs;
                (link, link.prompt, theirs)
            });
            let all = active.chain(prompt).enumerate();
            let used = all.filter(|(_, (_, channels, _))| *channels > 0);
            let first = used.min_by_key(|(_, (link, ..))| link.at.max(link.asleep));
            let Some((at, (&link, channels, theirs))) = first else {
                self.token_at = None;
                break;
            };
            let due = link.at.max(link.asleep);
            if due > now {
                self.token_at = Some(due).filter(|&due| due < Time::NEVER);
                break;
            }
            let first = self
                .pairs
                .get(&link.peer)
                .and_then(|pair| pair.wanting.first());
            let Some(&(.., slot)) = first else {
                self.rest(at, Time::NEVER);
                continue;
            };
            let frame = u64::from(settings.encap.wire_max());
            if self.held >= frame {
                self.held -= frame;
                self.given(now, at, settings.gap_of(settings.payload_max, channels));
                continue;
            }
            return Some(Due {
                at,
                slot,
                channels,
                theirs: theirs.max(1),
                lines: link.lines,
                rank: link.rank,
            });
        }
        None
    }

    /// The token of a link has left; the next one a gap later.
    #[inline]
    pub(super) fn given(&mut self, now: Time, at: usize, gap: Span) {
        let earliest = Time(now.0.saturating_sub(gap.times(CATCH_UP).0));
        let link = self.link_at(at);
        link.at = link.at.after(gap).max(earliest);
    }

    /// A link has nothing to give until then, or until its sender's messages change.
    pub(super) fn rest(&mut self, at: usize, until: Time) {
        self.link_at(at).asleep = until;
    }

    /// What a message waits for that wants tokens, in words.
    pub(super) fn waits_for(&self, peer: HostId) -> String {
        let channels = self.now.channels_of(peer);
        if channels > 0 {
            format!("tokens of {channels} channels")
        } else {
            format!("channels, and asks its sender at {}", self.next_round())
        }
    }

    /// Panics where a host is matched with more than its channels.
    pub(super) fn check(&self, settings: &Settings) {
        for links in [&self.now, &self.next] {
            let channels = links.channels();
            assert!(
                channels <= settings.channels,
                "{channels} channels: {:?}",
                links.all
            );
            assert!(links.prompt() <= channels);
            assert!(links.all.iter().all(|link| link.channels > 0));
        }
        let links = || self.now.all.iter().chain(&self.next.all);
        assert!(links().all(|link| link.theirs.0 > 0), "{:?}", self.now.all);
        assert!(self.pairs.values().all(|pair| !pair.wanting.is_empty()));
        let works = !self.pairs.is_empty() || !self.now.all.is_empty() || !self.next.all.is_empty();
        assert!(
            !works || self.round_at.is_some(),
            "messages wait and no round comes"
        );
    }

    /// Whether a message of this rank is among those of its sender.
    pub(super) fn wants(&self, peer: HostId, rank: Rank) -> bool {
        let pair = self.pairs.get(&peer);
        pair.is_some_and(|pair| pair.wanting.contains(&rank))
    }
}

/// An offer in channels of its sender becomes one in channels here.
fn own(word: &mut Word, lines: Lines, settings: &Settings) {
    word.lines = lines;
    if lines.are_equal() {
        return;
    }
    // One of a faster line is worth several here, perhaps more than the message lacks.
    let lack = u64::from(word.left).div_ceil(settings.channel_frames);
    let lack = u32::try_from(lack.max(1)).unwrap_or(u32::MAX);
    word.channels = lines.to_own(word.channels, settings.channels).min(lack);
    word.prompt = lines.to_own(word.prompt, settings.channels);
    word.prompt = word.prompt.min(word.channels);
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Encap, EndpointConfig};
    use units::Rate;

    const LINK: Link = Link {
        peer: HostId(1),
        channels: 1,
        prompt: 0,
        theirs: (1, 0),
        lines: Lines::new(1, 1),
        left: 1,
        rank: FIRST_RANK,
        at: Time::ZERO,
        asleep: Time::ZERO,
    };

    fn settings() -> Settings {
        let config = EndpointConfig::new(HostId(0), Rate::gbps(100), Encap::PAPER);
        Settings::new(&super::super::Params::DEFAULT, &config)
    }

    #[test]
    fn a_host_with_work_and_no_round_to_come_is_noticed() {
        let settings = settings();
        let works: [fn(&mut Asking); 3] = [
            |x| {
                let pair = x.pairs.entry(HostId(1)).or_default();
                pair.wanting.insert((1, 0, 0));
            },
            |x| x.now.all.push(LINK),
            |x| x.next.all.push(LINK),
        ];
        Asking::default().check(&settings);
        for (n, work) in works.into_iter().enumerate() {
            let mut asking = Asking::default();
            work(&mut asking);
            let noticed = std::panic::catch_unwind(|| asking.check(&settings)).is_err();
            assert!(noticed, "{n}");
            asking.round_at = Some(Time(1));
            asking.check(&settings);
        }
    }

    #[test]
    fn a_message_is_wanted_under_its_rank_and_from_its_sender_alone() {
        let mut asking = Asking::default();
        let pair = asking.pairs.entry(HostId(1)).or_default();
        pair.wanting.insert((5, 0, 0));
        assert!(asking.wants(HostId(1), (5, 0, 0)));
        assert!(!asking.wants(HostId(1), (6, 0, 0)));
        assert!(!asking.wants(HostId(2), (5, 0, 0)));
    }

    #[test]
    fn several_messages_of_a_sender_have_the_place_of_the_first_and_one_another_of_its_own() {
        let (settings, peer) = (settings(), HostId(1));
        let clock = Clock::new(&settings);
        let mut asking = Asking::default();
        let [long, short] = [(9, 0, 0), (5, 0, 1)];
        let want = |asking: &mut Asking, old, new| {
            asking.change(Time::ZERO, peer, (old, new), &clock, &settings);
            (asking.only(peer), asking.first_of_several(peer))
        };
        assert_eq!(want(&mut asking, None, Some(long)), (Some(long), None));
        assert_eq!(want(&mut asking, None, Some(short)), (None, Some(short)));
        // The long one comes to have less to come than the other.
        asking.rank_anew(peer, long, (2, 0, 0));
        assert_eq!(asking.first_of_several(peer), Some((2, 0, 0)));
        assert!(!asking.wants(peer, long));
        // It is cancelled, and then the other.
        assert_eq!(
            want(&mut asking, Some((2, 0, 0)), None),
            (Some(short), None)
        );
        assert_eq!(want(&mut asking, Some(short), None), (None, None));
        assert!(asking.pairs.is_empty());
    }
}
