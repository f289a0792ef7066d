//! What can be set, its defaults and where they come from.

use parts::forms::{Count, Number, Or, Time, Words};
use parts::keys::{self, Profiles};
use parts::{ParamError, Parameter};
use toml::Table;
use units::Span;

/// When a switch says which queues it has paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signals {
    /// When that has changed.
    Changes,
    /// Also again each period while some are paused; what is not said again ends after three.
    Periodic,
}

parts::params! {
    /// Everything that can be set in `[switch.bfc]`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Params {
        /// Name of the profile that the absent keys come from.
        profile: &'static str = "default";
    }
    static KEYS {
        /// queues of data of a port (1 to 128); control packets have one besides
        queues: u8 = 32, Count(1, 128), "bfc s4.1 (recalled): 32; bfc artefact: 31 in use; 128 in its other runs";
        /// a flow keeps its queue for so long after its last packet came or left
        sticky: Span = Span::us(6), Time(Span::ZERO, Span::ms(1000)), "bfc artefact, broadcom-egress-queue.cc: 6 us; bfc (recalled): 2 round trips of a hop";
        /// a pause waits for the next multiple of this time (tau); a resume does not
        period: Span = Span::us(1), Time(Span::ns(10), Span::ms(1)), "bfc artefact, qbb-net-device.cc: 1 us";
        /// round trip of a hop, or "derived" from the longest link of the switch: what a line takes in it and a period, by
        /// the number of queues that have packets and may send, is the threshold
        round: Option<Span> = None, Or("derived", "a time", Time(Span::ns(10), Span::ms(100))),
            "bfc artefact: 2 us for links of 1 us, hence 1.5 times 2 us with the period";
        /// the threshold is so many times that
        scale: f64 = 1.0, Number(0.001, 1000.0), "bfc artefact";
        /// entries of the flow table of a port, for each of its queues; flows that share one share their queue
        table: u32 = 200, Count(1, 1 << 16), "bfc artefact: 200";
        /// when bitmaps are sent: "changes", when they have changed; "periodic", also each period while a queue is paused,
        /// so that what is lost heals; less often where that takes more than half of a line
        signals: Signals = Signals::Changes, Words(&[("changes", Signals::Changes), ("periodic", Signals::Periodic)]),
            "ours: changes; bfc artefact: each period, always";
    }
}

/// One set of values.
static PROFILES: &Profiles<Params> = &[("default", || Params::DEFAULT)];

pub(super) fn parameters() -> Vec<Parameter> {
    keys::document(PROFILES, KEYS, &Params::DEFAULT)
}

impl Params {
    /// Reads `[switch.bfc]`.
    ///
    /// # Errors
    /// The key that is wrong and what to write instead.
    pub fn read(table: &Table) -> Result<Self, ParamError> {
        let (profile, mut params) = keys::profile(table, PROFILES)?;
        params.profile = profile;
        keys::apply(KEYS, table, &mut params)?;
        Ok(params)
    }

    pub(super) fn resolved(&self) -> Table {
        keys::write(KEYS, self.profile, self)
    }
}
