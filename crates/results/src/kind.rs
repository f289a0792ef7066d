//! What columns and documents hold: how it is stored, and in which unit.
//!
//! A column has a [`Kind`]. A number of a document (`summary.json`, `curves.json`, `meta.json`) has one of the types below,
//! and whole numbers of any other type count something: [`dictionary`](crate::dictionary) reads them from the sources.

/// Picoseconds.
pub type Ps = u64;
/// Seconds.
pub type Seconds = f64;
/// Bytes.
pub type InBytes = u64;
/// Bytes, in units of 1024.
pub type Kib = u64;
/// Bits per second.
pub type BitRate = u64;
/// A ratio of two of the same kind.
pub type Ratio = f64;
/// A share, in units of 1/10000.
pub type TenThousandth = u32;
/// Which one of several it is.
pub type Which = u32;
/// Which random streams.
pub type Seed = u64;

/// How these are said: the type, what JSON has, and the unit.
pub(crate) const NUMBERS: [(&str, &str, &str); 9] = [
    ("Ps", WHOLE, "ps"),
    ("Seconds", FRACTION, "s"),
    ("InBytes", WHOLE, "B"),
    ("Kib", WHOLE, "KiB"),
    ("BitRate", WHOLE, "bit/s"),
    ("Ratio", FRACTION, "ratio"),
    ("TenThousandth", WHOLE, "1/10000"),
    ("Which", WHOLE, "number"),
    ("Seed", WHOLE, "number"),
];
pub(crate) const WHOLE: &str = "whole number";
pub(crate) const FRACTION: &str = "number";

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
