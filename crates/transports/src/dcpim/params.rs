//! What can be set, its defaults and where they come from.

use parts::Unread;
use parts::forms::{Count, Flag, Number, Or, Time};
use parts::keys::Profiles;
use units::Span;

parts::params! {
    /// Everything that can be set in `[transport.dcpim]`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Params {
        /// Name of the profile that the absent keys come from.
        profile: &'static str = "sigcomm22";
    }
    pub(super) static KEYS {
        /// rounds of a matching; the same at every host
        rounds: u32 = 4, Count(1, ROUNDS_MAX), "[dcpim artefact]: 4";
        /// channels of a host each way: parts of its line that are matched one by one; the same at every host
        channels: u32 = 4, Count(1, CHANNELS_MAX), "[dcpim artefact]: 4";
        /// length of a round, in round trips of the smallest frames in an idle network; at least so long that half of it
        /// has room for one behind a full frame at every port; the same at every host
        beta: f64 = 1.3, Number(1.0, 1_000.0), "[dcpim artefact]: 1.3";
        /// length of an epoch, in matchings of all rounds; the same at every host
        alpha: f64 = 1.0, Number(1.0, 64.0), "[dcpim artefact]: 1";
        /// first rounds that choose the message with the least to come; the others choose by chance
        smallest: u32 = 1, Count(0, ROUNDS_MAX), "[dcpim artefact]: 1";
        /// channels that are free in the current epoch are used as soon as they are matched for the next
        prompt: bool = true, Flag, "[dcpim artefact]";
        /// full frames of the longest message that leaves unasked, or "auto": as many as an idle round trip carries
        short: Option<u32> = None, Or("auto", "a number", Count(0, WINDOW_MAX)), "[dcpim artefact]: the same";
        /// tokens of a message that may be unused where all channels are its sender's, or "auto": likewise, or as many as a
        /// round trip has where data goes both ways, if that is more
        window: Option<u32> = None, Or("auto", "a number", Count(1, WINDOW_MAX)),
            "[dcpim artefact]: an idle round trip; the rest: ours";
        /// windows on the line without a token or data after which unused tokens are forgiven
        relax: f64 = 1.1, Number(1.0, 1_000.0), "[dcpim artefact]: 1.1";
        /// windows on the line without data after the last token, until what is missing may have tokens again
        retry: f64 = 1.0, Number(1.0, 1_000.0), "[dcpim artefact]: 1";
        /// receivers leave out as many tokens as what comes unasked takes of their line
        hold: bool = true, Flag, "[dcpim artefact]";
        /// priorities that ports have: one for what carries no data, the others for messages by size
        priorities: u32 = 7, Count(1, PRIORITIES_MAX), "[dcpim artefact]: 7 of 8";
        /// messages of so many frames have the first priority of data; each further one has messages so many times as long
        base: u32 = 7, Count(2, WINDOW_MAX), "[dcpim artefact]: 7";
        /// the clock of each host is ahead by a time drawn up to this one
        skew: Span = Span::ZERO, Time(Span::ZERO, SPAN_MAX), "[dcpim artefact]: none";
        /// a message of which nothing was heard for so long is announced again; four times as long where something
        /// was; both at least three idle round trips
        rto: Span = Span::ms(1), Time(SPAN_MIN, SPAN_MAX), "ours";
        /// time without a word after which an end gives up
        timeout: Span = Span::ms(10_000), Time(SPAN_MIN, SPAN_MAX), "ours";
        /// how long a receiver remembers a message that is done, to know late copies of it
        linger: Span = Span::ms(25_000), Time(Span::ZERO, SPAN_MAX), "ours: longer than its sender asks";
    }
}

/// Frames of a window, at most. [ours]
pub(super) const WINDOW_MAX: u32 = 16_384;
/// Rounds and channels, at most: the fields have 8 bits. [ours]
const ROUNDS_MAX: u32 = 64;
pub(super) const CHANNELS_MAX: u32 = 64;
const PRIORITIES_MAX: u32 = 7;
const SPAN_MIN: Span = Span::us(1);
const SPAN_MAX: Span = Span::ms(3_600_000);

impl Params {
    /// Priorities that ports have.
    #[allow(clippy::cast_possible_truncation, reason = "seven at most")]
    pub(super) fn priorities(&self) -> u8 {
        self.priorities as u8
    }

    /// What a user should know before trusting it, a sentence each.
    pub(super) fn warnings(&self) -> Vec<String> {
        let few = (self.priorities < PRIORITIES_MAX).then(|| {
            format!(
                "dcpim has {} of {PRIORITIES_MAX} priorities: short messages and what hosts tell each other wait behind \
                 longer ones; set priorities = {PRIORITIES_MAX}",
                self.priorities
            )
        });
        let rounds = self.rounds;
        let more = (self.smallest > rounds).then(|| {
            format!(
                "dcpim has {rounds} rounds, and smallest = {} of them choose the message with the least to come; set smallest = \
                 {rounds}, or more rounds",
                self.smallest
            )
        });
        few.into_iter().chain(more).collect()
    }

    /// Keys that others leave without effect.
    pub(super) fn without_effect(&self) -> Vec<Unread> {
        // One priority is left for all data, or for everything.
        let alike = self.priorities <= 2;
        parts::unread([
            (self.short == Some(0), ("short = 0", &["hold"])),
            (alike, ("priorities of 2 or 1", &["base"])),
        ])
    }
}

/// The authors' simulator, with the values of the paper's runs. [dcpim artefact: Terabit-Ethernet/dcPIM,
/// `simulator/ext/pim*.cpp`, `simulator/py/load_100Gbps`]
pub(super) const PROFILES: &Profiles<Params> = &[("sigcomm22", || Params::DEFAULT)];
