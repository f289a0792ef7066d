//! What can be set, its defaults and where they come from.

use parts::forms::Number;
use parts::keys::{self, Profiles};
use parts::{ParamError, Parameter};
use toml::Table;

parts::params! {
    /// Everything that can be set in `[switch.ideal]`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Params {
        /// Name of the profile that the absent keys come from.
        profile: &'static str = "default";
    }
    static KEYS {
        /// a flow is paused that holds more than this many times what the line takes in a round trip of the hop, by the
        /// number of flows that have bytes there and may send
        threshold: f64 = 1.5, Number(0.001, 1000.0), "as bfc artefact: 1.5 round trips of a hop";
        /// it is resumed when it holds this part of that, or nothing
        xon: f64 = 0.5, Number(0.0, 1.0), "ours: half";
    }
}

/// One set of values.
static PROFILES: &Profiles<Params> = &[("default", || Params::DEFAULT)];

pub(super) fn parameters() -> Vec<Parameter> {
    keys::document(PROFILES, KEYS, &Params::DEFAULT)
}

impl Params {
    /// Reads `[switch.ideal]`.
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
