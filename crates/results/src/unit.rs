//! What numbers are, and how each kind is written.

use crate::human;
use units::{Bytes, Rate, Span};

/// What a number on an axis is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Picoseconds.
    Time,
    /// Bytes.
    Size,
    /// Bits per second.
    Rate,
    /// A share of one.
    Share,
    /// A plain ratio.
    Ratio,
    /// A whole number.
    Count,
}

impl Unit {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "ticks and samples are not negative; beyond u64 the cast saturates"
    )]
    /// A value with its unit, as short as a label may be.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Time => human::time(Span((value + 0.5) as u64)),
            Self::Size => human::bytes(Bytes((value + 0.5) as u64)),
            Self::Rate => human::rate(Rate((value + 0.5) as u64)),
            Self::Share => human::percent(value),
            Self::Ratio | Self::Count if value >= 10.0 => human::count((value + 0.5) as u64),
            Self::Ratio | Self::Count => {
                let text = format!("{value:.2}");
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
        }
    }

    /// The label of a tick: nothing needs no unit.
    pub fn tick(self, value: f64) -> String {
        if value.abs() > 0.0 || self == Self::Share {
            self.show(value)
        } else {
            "0".into()
        }
    }

    /// A measured value, with three digits where [`Unit::show`] has what a tick needs.
    pub fn show_figure(self, value: f64) -> String {
        match self {
            Self::Ratio => human::ratio(value),
            Self::Time | Self::Size | Self::Rate | Self::Share | Self::Count => self.show(value),
        }
    }

    /// For the script that reads values off under the pointer.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Size => "size",
            Self::Rate => "rate",
            Self::Share => "share",
            Self::Ratio => "ratio",
            Self::Count => "count",
        }
    }
}
