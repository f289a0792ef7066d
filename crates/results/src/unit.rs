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
    /// A number in the unit that the axis names.
    Number,
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
            Self::Number => number(value),
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
            Self::Time | Self::Size | Self::Rate | Self::Share | Self::Count | Self::Number => {
                self.show(value)
            }
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
            Self::Number => "number",
        }
    }
}

/// Three significant digits, and no zeros after them.
fn number(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.999_5 => 2,
        v if v >= 0.1 => 3,
        v if v >= 0.01 => 4,
        _ => 5,
    };
    let text = format!("{value:.digits$}");
    if digits == 0 {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_no_idle_zeros() {
        let shown = [0.0, 0.0625, 0.5, 1.0, 1.538, 86.56, 1024.0].map(number);
        assert_eq!(shown, ["0", "0.0625", "0.5", "1", "1.54", "86.6", "1024"]);
    }
}
