//! Text to quantity: a number and a mandatory unit, exactly, without floating point.

use crate::{Bytes, Rate, Span};
use std::fmt;
use std::str::FromStr;

/// Why a text is not a quantity, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError(String);

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for ParseError {}

struct Kind {
    what: &'static str,
    example: &'static str,
    units: &'static [(&'static str, u64)],
}

const SPAN: Kind = Kind {
    what: "a time",
    example: "1.5us",
    units: &[
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("µs", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", crate::PS_PER_SEC),
    ],
};
const BYTES: Kind = Kind {
    what: "a size",
    example: "64KB",
    units: &[
        ("B", 1),
        ("KB", 1_000),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
};
const RATE: Kind = Kind {
    what: "a rate",
    example: "100Gbps",
    units: &[
        ("bps", 1),
        ("Kbps", 1_000),
        ("kbps", 1_000),
        ("Mbps", 1_000_000),
        ("Gbps", 1_000_000_000),
        ("Tbps", 1_000_000_000_000),
    ],
};

/// Digits that a number may have: enough for every u64 and for picoseconds written in seconds.
const DIGITS_MAX: usize = 32;

impl Kind {
    fn parse(&self, text: &str) -> Result<u64, ParseError> {
        let trimmed = text.trim();
        let end = trimmed
            .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')
            .unwrap_or(trimmed.len());
        let (number, unit) = (trimmed[..end].replace('_', ""), trimmed[end..].trim());
        if number.is_empty() {
            return Err(self.expected(text));
        }
        if unit.is_empty() {
            return Err(ParseError(format!(
                "\"{text}\" needs a unit: write {} like \"{}\"",
                self.what, self.example
            )));
        }
        let Some(&(_, scale)) = self.units.iter().find(|&&(name, _)| name == unit) else {
            return Err(self.wrong_unit(text, &trimmed[..end], unit));
        };
        exact(&number, scale).ok_or_else(|| {
            ParseError(format!(
                "\"{text}\" is not a whole number of {}, or too large",
                self.units[0].0
            ))
        })
    }

    fn expected(&self, text: &str) -> ParseError {
        ParseError(format!(
            "\"{text}\" is not {}; write it like \"{}\"",
            self.what, self.example
        ))
    }

    fn wrong_unit(&self, text: &str, number: &str, unit: &str) -> ParseError {
        let folded = |name: &str| name.to_ascii_lowercase().replace("/s", "ps");
        let near = self
            .units
            .iter()
            .find(|(name, _)| folded(name) == folded(unit));
        let known: Vec<_> = self.units.iter().map(|&(name, _)| name).collect();
        ParseError(match near {
            Some((name, _)) if unit.contains('B') && !name.contains('B') => {
                format!("\"{text}\" is in bytes; did you mean \"{number}{name}\"?")
            }
            Some((name, _)) if unit.contains('b') && !name.contains('b') => {
                format!("\"{text}\" is in bits; did you mean \"{number}{name}\"?")
            }
            Some((name, _)) => {
                format!(
                    "\"{unit}\" is no unit of {}; did you mean \"{number}{name}\"?",
                    self.what
                )
            }
            None => format!(
                "\"{unit}\" is no unit of {}; use one of {}",
                self.what,
                known.join(", ")
            ),
        })
    }
}

/// `number` (digits and at most one point) times `scale`, if that is a whole u64.
fn exact(number: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    if fraction.contains('.') || whole.len() + fraction.len() > DIGITS_MAX {
        return None;
    }
    let digits = format!("{whole}{fraction}").parse::<u128>().ok()?;
    let below = 10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let scaled = digits.checked_mul(u128::from(scale))?;
    scaled
        .is_multiple_of(below)
        .then(|| u64::try_from(scaled / below).ok())?
}

macro_rules! from_str {
    ($($t:ty => $kind:expr),*) => {$(
        impl FromStr for $t {
            type Err = ParseError;
            fn from_str(text: &str) -> Result<Self, ParseError> { $kind.parse(text).map(Self) }
        }
        impl<'de> serde::Deserialize<'de> for $t {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Visit;
                impl serde::de::Visitor<'_> for Visit {
                    type Value = $t;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        write!(f, "{} with its unit, like \"{}\"", $kind.what, $kind.example)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$t, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                from.deserialize_str(Visit)
            }
        }
        impl serde::Serialize for $t {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }
    )*};
}
from_str!(Span => SPAN, Bytes => BYTES, Rate => RATE);
