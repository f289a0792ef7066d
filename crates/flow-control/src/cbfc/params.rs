//! What can be set, its defaults and where they come from.

use parts::forms::{Count, Or, Size, Time};
use parts::keys::{self, Profiles};
use parts::{ParamError, Parameter};
use toml::Table;
use units::Span;

const BYTES_MAX: u64 = 1 << 32;

parts::params! {
    /// Everything that can be set in `[switch.cbfc]`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Params {
        /// Name of the profile that the absent keys come from.
        profile: &'static str = "default";
    }
    static KEYS {
        /// lanes of every link, each with credits of its own (1 to 8): priority 0 uses the first, and so on; the last one
        /// takes all that are left
        lanes: u8 = 1, Count(1, 8), "ours: one holds back all priorities alike; InfiniBand: 1, 2, 4, 8 or 15 [recalled]";
        /// room for each lane of a port, or "derived": what the line takes in a round trip of the hop, update and two
        /// frames
        buffer: Option<u64> = None, Or("derived", "a size", Size(64, BYTES_MAX)), "derived [ours]: less would leave the line idle";
        /// bytes of a block, the unit of credits; a packet takes whole ones (64 to 4096)
        block: u32 = 64, Count(64, 4096), "InfiniBand volume 1, s7.9 [recalled]; Ultra Ethernet: a cell of the receiver's memory";
        /// bytes that every packet takes beside its own (0 to 1024)
        overhead: u32 = 0, Count(0, 1024), "InfiniBand: none; Ultra Ethernet: the receiver's choice [recalled]";
        /// bits of the counts of blocks; half of what they count is the most that a lane can be granted
        counter_bits: u8 = 12, Count(11, 16), "InfiniBand volume 1, s7.9: 12 [recalled]";
        /// the neighbour is told of room when so much has become free since it was told last
        update: u64 = 4_096, Size(0, BYTES_MAX), "ours: a frame of 84 B for 4 KB; InfiniBand leaves it open [recalled]";
        /// a lane asks so long after it had to wait for credits, and again while it waits
        resend: Span = Span::us(50), Time(Span::us(1), Span::ms(1000)),
            "ours: only who waits asks; InfiniBand: every 65,536 symbol times, asked or not [recalled]";
    }
}

/// As in Ultra Ethernet: cells and an overhead. Both are the receiver's to choose there, so the values are ours.
const ULTRA_ETHERNET: Params = Params {
    block: 256,
    overhead: 64,
    counter_bits: 16,
    ..Params::DEFAULT
};

/// Sets of values.
static PROFILES: &Profiles<Params> = &[
    ("default", || Params::DEFAULT),
    ("ultra-ethernet", || ULTRA_ETHERNET),
];

pub(super) fn parameters() -> Vec<Parameter> {
    keys::document(PROFILES, KEYS, &Params::DEFAULT)
}

impl Params {
    /// Reads `[switch.cbfc]`.
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
