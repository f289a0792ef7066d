//! Numbers for people: three significant digits, a unit, and no more precision than they can use.

use units::{Bytes, PS_PER_SEC, Rate, Span};

const TIME: [(u64, &str); 5] = [
    (PS_PER_SEC, "s"),
    (1_000_000_000, "ms"),
    (1_000_000, "us"),
    (1_000, "ns"),
    (1, "ps"),
];
const BYTES: [(u64, &str); 5] = [
    (1_000_000_000_000, "TB"),
    (1_000_000_000, "GB"),
    (1_000_000, "MB"),
    (1_000, "KB"),
    (1, "B"),
];
const RATE: [(u64, &str); 5] = [
    (1_000_000_000_000, "Tb/s"),
    (1_000_000_000, "Gb/s"),
    (1_000_000, "Mb/s"),
    (1_000, "Kb/s"),
    (1, "b/s"),
];

/// A time: `1.23 ms`; none is `0 s`.
pub fn time(span: Span) -> String {
    if span == Span::ZERO {
        return "0 s".into();
    }
    scaled(span.0, &TIME)
}

/// A size: `64 KB`.
pub fn bytes(size: Bytes) -> String {
    scaled(size.0, &BYTES)
}

/// A rate: `94.9 Gb/s`.
pub fn rate(rate: Rate) -> String {
    scaled(rate.0, &RATE)
}

/// A count, exact, in groups of three digits: `1,234,567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with what it counts, of which there may be one: `1 frame`, `2,000 frames`.
pub fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// A ratio: `12.3`; whole from 100 on.
pub fn ratio(value: f64) -> String {
    // The bounds are where rounding to three digits carries into the next.
    if !value.is_finite() {
        "-".into()
    } else if value < 9.995 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else if value < 1e15 {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 99 and 1e15"
        )]
        count((value + 0.5) as u64)
    } else {
        format!("{value:e}")
    }
}

/// A share of one as per cent: `12.3%`. Little stays visible: `<0.01%` where not nothing.
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        "-".into()
    } else if share > 0.0 && share < 0.0001 {
        "<0.01%".into()
    } else {
        let text = ratio(share * 100.0);
        // A whole number of per cent needs no zeros: 0%, 50%, 100%.
        format!(
            "{}%",
            text.strip_suffix(".00")
                .or(text.strip_suffix(".0"))
                .unwrap_or(&text)
        )
    }
}

/// `value` with three significant digits in the largest unit in which it is at least one. Zeros
/// that end a fraction stay only where rounding made them.
fn scaled(value: u64, units: &[(u64, &str)]) -> String {
    let fit = units
        .iter()
        .position(|&(unit, _)| value >= unit)
        .unwrap_or(units.len() - 1);
    let (unit, name) = units[fit];
    let decimals: u32 = match value / unit {
        _ if unit == 1 => 0,
        0..10 => 2,
        10..100 => 1,
        _ => 0,
    };
    let power = 10u128.pow(decimals);
    let (value, unit) = (u128::from(value), u128::from(unit));
    let rounded = (value * power + unit / 2) / unit;
    if rounded >= 1000 && decimals == 0 && fit > 0 && unit > 1 {
        // 999.6 us is 1.00 ms.
        return format!("1.00 {}", units[fit - 1].1);
    }
    if rounded >= 1000 && decimals > 0 {
        // 9.996 is 10.0 and 99.96 is 100: one decimal less.
        let decimals = decimals - 1;
        let power = power / 10;
        let rounded = (value * power + unit / 2) / unit;
        return join(rounded, decimals, name, false);
    }
    join(
        rounded,
        decimals,
        name,
        (value * power).is_multiple_of(unit),
    )
}

fn join(rounded: u128, decimals: u32, unit: &str, exact: bool) -> String {
    let power = 10u128.pow(decimals);
    let whole = count(u64::try_from(rounded / power).unwrap_or(u64::MAX));
    let mut fraction = match decimals {
        0 => String::new(),
        _ => format!(".{:0width$}", rounded % power, width = decimals as usize),
    };
    if exact {
        fraction.truncate(fraction.trim_end_matches('0').trim_end_matches('.').len());
    }
    format!("{whole}{fraction} {unit}")
}

/// A tag in words: `tag rpc`, or `no tag`.
pub fn tag(name: &str) -> String {
    if name == model::UNTAGGED {
        "no tag".into()
    } else {
        format!("tag {name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_enough_and_exact_values_stay_short() {
        let cases: [(u64, &str); 12] = [
            (0, "0 s"),
            (999, "999 ps"),
            (1_000, "1 ns"),
            (1_234_567, "1.23 us"),
            (1_500_000, "1.5 us"),
            (12_000_001, "12.0 us"),
            (9_996_000, "10.0 us"),
            (99_960_000, "100 us"),
            (341_400_000, "341 us"),
            (999_600_000, "1.00 ms"),
            (5_310_000_000, "5.31 ms"),
            (12_345 * PS_PER_SEC, "12,345 s"),
        ];
        for (ps, text) in cases {
            assert_eq!(time(Span(ps)), text, "{ps} ps");
        }
        assert_eq!(bytes(Bytes(64_000)), "64 KB");
        assert_eq!(bytes(Bytes(65_536)), "65.5 KB");
        assert_eq!(rate(Rate(94_930_000_000)), "94.9 Gb/s");
    }

    #[test]
    fn counts_are_exact_and_grouped() {
        assert_eq!(count(7), "7");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(123_456), "123,456");
    }

    #[test]
    fn shares_show_that_little_is_not_nothing() {
        assert_eq!(percent(0.0), "0%");
        assert_eq!(percent(0.000_001), "<0.01%");
        assert_eq!(percent(0.123_45), "12.3%");
        assert_eq!(percent(1.0), "100%");
        assert_eq!(ratio(1.0), "1.00");
        assert_eq!(ratio(99.96), "100");
        assert_eq!(ratio(1_234.5), "1,235");
    }
}
