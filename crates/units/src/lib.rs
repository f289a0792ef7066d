//! Time, sizes and rates in exact integers, with units in their names and in their text.
//!
//! Time is counted in picoseconds: every Ethernet rate from 10 to 800 Gb/s is then a whole number
//! of picoseconds per byte. Serialisation rounds up, so that a link is never faster than itself.

mod parse;
pub mod text;

pub use parse::ParseError;

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// Picoseconds in a second.
pub const PS_PER_SEC: u64 = 1_000_000_000_000;

/// A moment, in picoseconds since the start of the run. Ends after 213 days.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

/// A length of time, in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(pub u64);

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

/// A rate in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(pub u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than everything: "no deadline".
    pub const NEVER: Self = Self(u64::MAX);

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// `self` plus `span`, or [`Time::NEVER`] where that does not fit.
    #[inline]
    #[must_use]
    pub const fn after(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A span of whole picoseconds.
    pub const fn ps(n: u64) -> Self {
        Self(n)
    }
    /// A span of whole nanoseconds.
    pub const fn ns(n: u64) -> Self {
        Self(n * 1_000)
    }
    /// A span of whole microseconds.
    pub const fn us(n: u64) -> Self {
        Self(n * 1_000_000)
    }
    /// A span of whole milliseconds.
    pub const fn ms(n: u64) -> Self {
        Self(n * 1_000_000_000)
    }
    /// The span in seconds, for display and for tables.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / PS_PER_SEC as f64
    }
    /// The span in microseconds, for display and for tables.
    pub fn as_us(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// `n` times the span; the longest span where that does not fit.
    #[must_use]
    pub const fn times(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}

impl Bytes {
    /// The number of bytes.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Rate {
    /// A rate of whole bits per second.
    pub const fn bps(n: u64) -> Self {
        Self(n)
    }
    /// A rate of whole megabits per second.
    pub const fn mbps(n: u64) -> Self {
        Self(n * 1_000_000)
    }
    /// A rate of whole gigabits per second.
    pub const fn gbps(n: u64) -> Self {
        Self(n * 1_000_000_000)
    }

    /// Time to put `bytes` on a line of this rate, rounded up to a picosecond.
    ///
    /// # Panics
    /// If the rate is zero or the time exceeds [`Time::NEVER`].
    pub fn serialize(self, bytes: Bytes) -> Span {
        assert!(self.0 > 0, "a link of rate zero carries nothing");
        let ps = (u128::from(bytes.0) * 8 * u128::from(PS_PER_SEC)).div_ceil(u128::from(self.0));
        Span(u64::try_from(ps).expect("a transmission ends before the end of time"))
    }

    /// Whole bytes that fit into `span`, rounded down.
    pub fn bytes_in(self, span: Span) -> Bytes {
        let bytes = u128::from(self.0) * u128::from(span.0) / (8 * u128::from(PS_PER_SEC));
        Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// The rate in gigabits per second, for display.
    pub fn as_gbps(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// How long a line of one rate takes per frame, ready for the per-packet path.
///
/// Whole picoseconds per byte need one multiplication; other rates fall back on a division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineTime {
    /// Picoseconds per byte, or 0 where that is not a whole number.
    ps_per_byte: u64,
    rate: Rate,
}

impl LineTime {
    /// The line time of `rate`.
    pub const fn new(rate: Rate) -> Self {
        let whole = rate.0 > 0 && (8 * PS_PER_SEC).is_multiple_of(rate.0);
        Self {
            ps_per_byte: if whole { 8 * PS_PER_SEC / rate.0 } else { 0 },
            rate,
        }
    }
    /// The rate of the line.
    pub const fn rate(self) -> Rate {
        self.rate
    }
    /// Time of `bytes` on this line, rounded up.
    #[inline]
    pub fn of(self, bytes: u64) -> Span {
        if self.ps_per_byte != 0 {
            Span(bytes * self.ps_per_byte)
        } else {
            self.of_odd(bytes)
        }
    }
    #[cold]
    #[inline(never)] // a division, and few rates need it
    fn of_odd(self, bytes: u64) -> Span {
        self.rate.serialize(Bytes(bytes))
    }
    /// Picoseconds per byte, where that is a whole number.
    #[inline]
    pub fn per_byte(self) -> Option<u64> {
        (self.ps_per_byte != 0).then_some(self.ps_per_byte)
    }
    /// Bytes that leave in `span`, rounded up: what is left in a queue that drains in `span`.
    #[inline]
    pub fn bytes(self, span: Span) -> u64 {
        if self.ps_per_byte != 0 {
            span.0.div_ceil(self.ps_per_byte)
        } else {
            let bits = u128::from(self.rate.0) * u128::from(span.0);
            u64::try_from(bits.div_ceil(8 * u128::from(PS_PER_SEC))).unwrap_or(u64::MAX)
        }
    }
    /// Whether [`LineTime::bytes`] of `span` are more than `bytes`.
    #[inline]
    pub fn exceeds(self, span: Span, bytes: u64) -> bool {
        if self.ps_per_byte != 0 {
            span.0 > bytes.saturating_mul(self.ps_per_byte)
        } else {
            self.bytes(span) > bytes
        }
    }
}

impl Add<Span> for Time {
    type Output = Self;
    #[inline]
    fn add(self, span: Span) -> Self {
        Self(self.0 + span.0)
    }
}
impl Sub<Span> for Time {
    type Output = Self;
    #[inline]
    fn sub(self, span: Span) -> Self {
        Self(self.0 - span.0)
    }
}
impl AddAssign<Span> for Time {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        self.0 += span.0;
    }
}

macro_rules! sums {
    ($($t:ty),*) => {$(
        impl Add for $t {
            type Output = Self;
            #[inline]
            fn add(self, other: Self) -> Self { Self(self.0 + other.0) }
        }
        impl Sub for $t {
            type Output = Self;
            #[inline]
            fn sub(self, other: Self) -> Self { Self(self.0 - other.0) }
        }
        impl AddAssign for $t {
            #[inline]
            fn add_assign(&mut self, other: Self) { self.0 += other.0; }
        }
        impl SubAssign for $t {
            #[inline]
            fn sub_assign(&mut self, other: Self) { self.0 -= other.0; }
        }
        impl std::iter::Sum for $t {
            fn sum<I: Iterator<Item = Self>>(iter: I) -> Self { Self(iter.map(|x| x.0).sum()) }
        }
    )*};
}
sums!(Span, Bytes);

/// Writes `value` in the largest unit in which it is at least one, exactly, without trailing zeros.
fn scaled(f: &mut fmt::Formatter<'_>, value: u64, units: &[(u64, &str)]) -> fmt::Result {
    let (unit, name) = units
        .iter()
        .copied()
        .find(|&(unit, _)| value >= unit)
        .unwrap_or(units[units.len() - 1]);
    let (whole, mut rest, mut scale) = (value / unit, value % unit, unit);
    let mut text = whole.to_string();
    if rest > 0 {
        text.push('.');
        while rest > 0 {
            scale /= 10;
            text.push(char::from(
                b'0' + u8::try_from(rest / scale).expect("one digit"),
            ));
            rest %= scale;
        }
    }
    f.pad(&format!("{text}{name}"))
}

const TIME_UNITS: [(u64, &str); 5] = [
    (PS_PER_SEC, "s"),
    (1_000_000_000, "ms"),
    (1_000_000, "us"),
    (1_000, "ns"),
    (1, "ps"),
];
const BYTE_UNITS: [(u64, &str); 4] = [
    (1_000_000_000, "GB"),
    (1_000_000, "MB"),
    (1_000, "KB"),
    (1, "B"),
];
const RATE_UNITS: [(u64, &str); 5] = [
    (PS_PER_SEC, "Tbps"),
    (1_000_000_000, "Gbps"),
    (1_000_000, "Mbps"),
    (1_000, "Kbps"),
    (1, "bps"),
];

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NEVER {
            f.pad("never")
        } else {
            scaled(f, self.0, &TIME_UNITS)
        }
    }
}
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, &TIME_UNITS)
    }
}
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, &BYTE_UNITS)
    }
}
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, &RATE_UNITS)
    }
}

macro_rules! debug_is_display {
    ($($t:ty),*) => {$(
        impl fmt::Debug for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { fmt::Display::fmt(self, f) }
        }
    )*};
}
debug_is_display!(Time, Span, Bytes, Rate);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ethernet_rates_are_whole_picoseconds_per_byte() {
        for gbps in [10, 25, 40, 50, 100, 200, 400, 800] {
            assert_ne!(LineTime::new(Rate::gbps(gbps)).ps_per_byte, 0, "{gbps}G");
        }
    }

    #[test]
    fn serialisation_rounds_up() {
        let odd = Rate::gbps(3);
        assert_eq!(odd.serialize(Bytes(1)), Span(2667));
        assert_eq!(LineTime::new(odd).of(1), Span(2667));
        assert_eq!(LineTime::new(Rate::gbps(100)).of(1538), Span(123_040));
        assert_eq!(LineTime::new(Rate::gbps(100)).bytes(Span(81)), 2);
    }

    #[test]
    fn text_is_exact_and_comes_back() {
        for (text, span) in [
            ("1.5us", Span(1_500_000)),
            ("0ps", Span(0)),
            ("1.000001s", Span(PS_PER_SEC + 1_000_000)),
        ] {
            assert_eq!(span.to_string(), text);
            assert_eq!(text.parse::<Span>().unwrap(), span);
        }
        assert_eq!("64KiB".parse::<Bytes>().unwrap(), Bytes(65_536));
        assert_eq!(Bytes(65_536).to_string(), "65.536KB");
        assert_eq!("100Gbps".parse::<Rate>().unwrap(), Rate::gbps(100));
        assert_eq!(Time::NEVER.to_string(), "never");
    }

    #[test]
    fn a_rate_in_bytes_is_refused_with_the_fix() {
        let error = "100GBps".parse::<Rate>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"100GBps\" is in bytes; did you mean \"100Gbps\"?"
        );
        assert!(
            "10".parse::<Span>()
                .unwrap_err()
                .to_string()
                .contains("needs a unit")
        );
        assert!("-1us".parse::<Span>().is_err());
        assert!("1e400s".parse::<Span>().is_err());
    }
}
