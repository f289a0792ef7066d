//! What columns hold: how it is stored, and in which unit.

/// What a whole number says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    /// How many there are of something.
    Count,
    /// Which one of several it is.
    Thing,
    /// Bytes.
    Bytes,
    /// A span in picoseconds.
    Ps,
    /// Bits per second.
    Rate,
    /// A number of what a transport counts: packets, bytes, times.
    Counted(&'static str),
}

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A whole number of 8 bits.
    U8(Of),
    /// A whole number of 32 bits.
    U32(Of),
    /// A whole number of 64 bits.
    U64(Of),
    /// A moment or a span in picoseconds. A run lasts less than 106 days, which is where these end.
    Ps,
    /// A number with a fraction.
    Ratio,
    /// Yes or no; 1 or 0 in CSV.
    Flag,
    /// A name.
    Text,
}

impl Kind {
    /// The unit of its numbers; empty where it has none.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::U8(of) | Self::U32(of) | Self::U64(of) => match of {
                Of::Count => "count",
                Of::Thing => "number",
                Of::Bytes => "B",
                Of::Ps => "ps",
                Of::Rate => "bit/s",
                Of::Counted(unit) => unit,
            },
            Self::Ps => "ps",
            Self::Ratio => "ratio",
            Self::Flag | Self::Text => "",
        }
    }
}
