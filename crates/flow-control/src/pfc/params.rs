//! What can be set, its defaults and where they come from.

use parts::forms::{Count, Number, Or, Size, Time};
use parts::keys::{self, Profiles};
use parts::{ParamError, Parameter};
use toml::Table;
use units::Span;

const BYTES_MAX: u64 = 1 << 40;

parts::params! {
    /// Everything that can be set in `[switch.pfc]`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Params {
        /// Name of the profile that the absent keys come from.
        profile: &'static str = "default";
    }
    static KEYS {
        /// priorities that are lossless: those below this number (1 to 8)
        lossless: u8 = 1, Count(1, 8), "ours: data of transports without priorities; each costs headroom";
        /// bytes of one ingress port and priority from which on it is paused, or "dynamic": alpha times what is free of
        /// the shared memory, and reserve
        xoff: Option<u64> = None, Or("dynamic", "a size", Size(0, BYTES_MAX)), "HPCC's ns-3 switch-mmu.cc: dynamic";
        /// an ingress may hold this part of what is free of the shared memory
        alpha: f64 = 0.125, Number(1e-6, 64.0), "HPCC's ns-3 switch-mmu.cc: 1/8; ConWeave: 1/16";
        /// it is resumed when it holds this much less than the threshold, or nothing
        xon_gap: u64 = 3_000, Size(0, BYTES_MAX), "HPCC's ns-3 switch-mmu.cc: 3 KB; ConWeave: 16 B";
        /// bytes of every ingress port and lossless priority that nobody shares
        reserve: u64 = 4_000, Size(0, BYTES_MAX), "HPCC's ns-3 switch-mmu.cc: 4 KB";
        /// bytes that come in after a pause was asked for, by port and lossless priority, or "derived" from rate,
        /// delay and frames
        headroom: Option<u64> = None, Or("derived", "a size", Size(0, BYTES_MAX)), "802.1Q Annex N, without interface delays";
        /// a pause ends by itself after this time and is asked for again after half of it; or "none": it ends when it is
        /// resumed
        pause_time: Option<Span> = None, Or("none", "a time", Time(Span::us(1), Span::ms(1000))),
            "HPCC's ns-3: none in effect; 802.1Q s36: at most 65,535 times 512 bits, 336 us at 100 Gb/s";
        /// a priority that waits paused for so long is let go, "off" for never
        watchdog: Option<Span> = None, Or("off", "a time", Time(Span::us(1), Span::ms(60_000))),
            "off [ours]; Juniper: 200 ms; runs are shorter";
        /// after that, pauses are not heeded for this long
        watchdog_restore: Span = Span::ms(2), Time(Span::us(1), Span::ms(60_000)), "Juniper: 200 ms, for runs 2 ms [ours]";
    }
}

/// One set of values.
static PROFILES: &Profiles<Params> = &[("default", || Params::DEFAULT)];

pub(super) fn parameters() -> Vec<Parameter> {
    keys::document(PROFILES, KEYS, &Params::DEFAULT)
}

impl Params {
    /// Reads `[switch.pfc]`.
    ///
    /// # Errors
    /// The key that is wrong and what to write instead.
    pub fn read(table: &Table) -> Result<Self, ParamError> {
        let (profile, mut params) = keys::profile(table, PROFILES)?;
        params.profile = profile;
        keys::apply(KEYS, table, &mut params)?;
        Ok(params)
    }

    /// Whether a place is of a lossless priority.
    pub(super) fn keeps(&self, place: usize) -> bool {
        place % super::PRIORITIES < usize::from(self.lossless)
    }

    pub(super) fn resolved(&self) -> Table {
        keys::write(KEYS, self.profile, self)
    }
}
