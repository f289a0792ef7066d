//! What can be set, its defaults and where they come from.

use parts::forms::{Count, Flag, Or, Size, Time, Words};
use parts::keys::{self, Profiles, error};
use parts::{ParamError, Parameter};
use toml::Table;
use units::Span;

/// Which of the equal-cost ways a packet takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spray {
    /// All of them in a random order, and then in another. [ndp s3.1.1]
    Permutation,
    /// One at random.
    Random,
    /// The switches choose one for each connection.
    Flow,
}

/// What ports do with data for which they have no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ports {
    /// They cut off its payload.
    Trim,
    /// They drop it.
    DropTail,
}

parts::params! {
    /// Everything that can be set in `[transport.ndp]`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Params {
        /// Name of the profile that the absent keys come from.
        profile: &'static str = "sigcomm17";
    }
    static KEYS {
        /// full frames that leave unasked, or "auto": those of an idle round trip, and 18 that wait in ports
        window: Option<u32> = None, Or("auto", "a number", Count(1, WINDOW_MAX)),
            "[ndp s3.2, s6]: 30 where a round trip holds 12";
        /// what switches do with data that has no room: "trim" it, or drop it ("drop-tail", which is refused
        /// unless it is asked for)
        ports: Ports = Ports::Trim, Words(&PORTS), "[ndp s3.1]";
        /// NDP on ports that do not trim, for comparison: what is lost waits for a timer
        allow_unsupported: bool = false, Flag, "ours";
        /// full frames that wait in a port
        queue: u16 = 8, Count(1, 1024), "[ndp s3.1, s6]: 8";
        /// bytes of a frame, from its Ethernet header on, that trimming leaves
        trim: u16 = 64, Size(64, 256), "[ndp s3.1]: 64; [UEC 1.0]: more, for longer headers";
        /// where data has no room, a fair coin says whether it or the last that waits is trimmed; otherwise it
        coin: bool = true, Flag, "[ndp s3.1]";
        /// headers and control packets that a port sends for each frame of data, where both wait
        turns: u16 = 10, Count(1, 60000), "[ndp s3.1]: 10; [htsim]: 100000";
        /// header queues have room for as many bytes as data queues times this
        header_room: u16 = 1, Count(1, 16), "[ndp s3.1]: 1 (8 frames of 9 KB, or 1125 headers); [htsim]: 2";
        /// headers for which there is no room go back to their sender; otherwise they are dropped
        bounce: bool = true, Flag, "[ndp s3.2.4]; [htsim]: off unless asked for";
        /// which way a packet takes: all in a random order ("permutation"), one at "random", or that which
        /// switches choose for the connection ("flow")
        ways: Spray = Spray::Permutation, Words(&WAYS), "[ndp s3.1.1]";
        /// senders count what becomes of packets on each way, and leave out those that do badly; with
        /// ways = "permutation" alone
        scoreboard: bool = true, Flag, "[ndp s3.2.3]";
        /// the host whose messages are pulled before all others, or "none": all take turns
        prefer: Option<u32> = None, Or("none", "the number of a host", Count(0, HOST_MAX)),
            "[ndp s3.2]: turns, or strict priority";
        /// a packet of which nothing was heard for so long is sent again; four times as long without a pull is
        /// asked about; both at least three idle round trips
        rto: Span = Span::ms(1), Time(SPAN_MIN, SPAN_MAX), "[ndp s3.2]: 1 ms";
        /// time without progress after which an end gives up
        timeout: Span = Span::ms(10_000), Time(SPAN_MIN, SPAN_MAX), "ours";
        /// how long a receiver remembers a message that is done, to know late copies of it
        linger: Span = Span::ms(25_000), Time(Span::ZERO, SPAN_MAX),
            "ours: longer than its sender asks; [ndp s3.2.2]: as long as a packet may live, below 1 ms";
    }
}

/// Frames of a first window, at most: a ring of them is kept. [ours]
pub(super) const WINDOW_MAX: u32 = 4096;
const HOST_MAX: u32 = model::HOSTS_MAX - 1;
const SPAN_MIN: Span = Span::us(1);
const SPAN_MAX: Span = Span::ms(3_600_000);
const PORTS: [(&str, Ports); 2] = [("trim", Ports::Trim), ("drop-tail", Ports::DropTail)];
const WAYS: [(&str, Spray); 3] = [
    ("permutation", Spray::Permutation),
    ("random", Spray::Random),
    ("flow", Spray::Flow),
];

impl Params {
    /// The authors' simulator, as it was maintained. [htsim, `compositequeue.cpp`, `main_ndp.cpp`]
    pub const HTSIM: Self = Self {
        profile: "htsim",
        turns: 60_000,
        header_room: 2,
        bounce: false,
        scoreboard: false,
        ..Self::DEFAULT
    };

    /// Reads `[transport.ndp]`.
    ///
    /// # Errors
    /// The key that is wrong and what to write instead.
    pub fn read(table: &Table) -> Result<Self, ParamError> {
        let (_, mut params) = keys::profile(table, PROFILES)?;
        keys::apply(KEYS, table, &mut params)?;
        if params.linger < params.timeout.times(2) {
            let message = format!(
                "is less than twice the timeout: a sender may ask longer than its receiver remembers; set it \
                 to \"{}\" or more",
                params.timeout.times(2)
            );
            return Err(error("linger", message));
        }
        Ok(params)
    }

    /// Every key with its final value.
    pub fn resolved(&self) -> Table {
        keys::write(KEYS, self.profile, self)
    }
}

/// The paper, and the simulator behind its figures as it was maintained. [htsim: csg-htsim 841d9e7]
const PROFILES: &Profiles<Params> = &[
    ("sigcomm17", || Params::DEFAULT),
    ("htsim", || Params::HTSIM),
];

/// Every key, as the documentation shows it.
pub(super) fn parameters() -> Vec<Parameter> {
    keys::document(PROFILES, KEYS, &Params::DEFAULT)
}
