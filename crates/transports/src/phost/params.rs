//! What can be set, its defaults and where they come from.

use parts::Unread;
use parts::forms::{Count, Flag, Number, Or, Time, Word};
use parts::keys::Profiles;
use units::Span;

parts::worded! {
    /// Which messages begin without tokens.
    pub enum Free {
        /// All of them.
        Every = "every",
        /// Those that need no others.
        Short = "short",
    }

    /// Whose turn it is.
    pub enum Choice {
        /// The message with the least to come.
        Shortest = "shortest",
        /// One after the other.
        Turns = "turns",
    }
}

parts::params! {
    /// Everything that can be set in `[transport.phost]`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Params {
        /// Name of the profile that the absent keys come from.
        profile: &'static str = "conext15";
    }
    pub(super) static KEYS {
        /// full frames of a message that leave unasked, or "auto": as many as `window`
        free: Option<u32> = None, Or("auto", "a number", Count(0, WINDOW_MAX)),
            "[phost s3.2], recalled: a bandwidth-delay product; [phost artefact]: 8";
        /// which messages have them: "every" one, or "short" ones, which need no tokens then
        free_for: Free = Free::Every, Word, "[phost s3.2], recalled: every; [phost artefact]: short";
        /// tokens of a message that its sender may leave unused before others get its turns, or "auto": as many frames
        /// as an idle round trip carries, and at least 8
        window: Option<u32> = None, Or("auto", "a number", Count(1, WINDOW_MAX)), "[phost artefact]: 8 at 10 Gb/s, the same";
        /// for how long a token may be used, in full frames on the line
        token_life: f64 = 1.5, Number(0.1, 100_000.0), "[phost artefact]: 1.5";
        /// full frames without data after which unused tokens are forgiven, or "auto": three times `window`, and one; at
        /// least an idle round trip and a frame
        relax: Option<u32> = None, Or("auto", "a number", Count(1, FRAMES_MAX)), "[phost artefact]: 25";
        /// full frames without data after the last token, until what is missing gets tokens again, or "auto": one more
        /// than `window`; at least an idle round trip and a frame
        retry: Option<u32> = None, Or("auto", "a number", Count(1, FRAMES_MAX)), "[phost artefact]: 9";
        /// a receiver gives no token while what left unasked takes its line; where all messages begin so, a line that was
        /// idle for a window has as much to spare
        hold: bool = true, Flag, "[phost artefact]; what is spared: ours";
        /// whose packet leaves next: that of the "shortest" message, or all in "turns"
        sender: Choice = Choice::Shortest, Word, "[phost artefact]: fewest packets left";
        /// who gets the next token, likewise
        receiver: Choice = Choice::Shortest, Word, "[phost artefact]: fewest packets left";
        /// long messages have a priority of their own, below short ones
        levels: bool = true, Flag, "[phost artefact]";
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
const FRAMES_MAX: u32 = 1_000_000;
const SPAN_MIN: Span = Span::us(1);
const SPAN_MAX: Span = Span::ms(3_600_000);

impl Params {
    /// The authors' simulator. [phost artefact]
    pub const ARTEFACT: Self = Self {
        profile: "artefact",
        free: Some(8),
        free_for: Free::Short,
        window: Some(8),
        ..Self::DEFAULT
    };

    /// Keys that others leave without effect.
    pub(super) fn without_effect(&self) -> Vec<Unread> {
        parts::unread([(self.free == Some(0), ("free = 0", &["free_for", "hold"]))])
    }
}

/// The paper, and its authors' simulator. [phost artefact: NetSys/simulator, `ext/capability*.cpp`]
pub(super) const PROFILES: &Profiles<Params> = &[
    ("conext15", || Params::DEFAULT),
    ("artefact", || Params::ARTEFACT),
];
