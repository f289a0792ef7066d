//! A row of CSV while it grows, field by field: a tenth of what the formatter costs, and tables have millions of numbers.

use crate::tables::Cell;
use std::io::{self, Write};

/// One line of a table, with a comma behind each field.
#[derive(Default)]
pub(crate) struct Line(Vec<u8>);

/// The first number that eight digits do not hold.
const EIGHT: u64 = 100_000_000;

impl Line {
    pub(crate) fn cell(&mut self, cell: Cell<'_>) {
        match cell {
            Cell::Number(number) => return self.number(number),
            Cell::Nothing => {}
            Cell::Ratio(ratio) => self.ratio(ratio),
            Cell::Text(text) => self.text(text),
            Cell::Numbered(word, number) => {
                self.0.extend_from_slice(word.as_bytes());
                return self.number(number);
            }
        }
        self.0.push(b',');
    }

    /// A number that may be missing, and its comma.
    #[inline]
    pub(crate) fn perhaps(&mut self, number: Option<u64>) {
        match number {
            Some(number) => self.number(number),
            None => self.0.push(b','),
        }
    }

    /// A number and its comma.
    #[inline]
    pub(crate) fn number(&mut self, number: u64) {
        if number < 10 {
            // Most of what ports count is none.
            let digit = b"0123456789"[usize::try_from(number).expect("below 10")];
            self.0.extend_from_slice(&[digit, b',']);
        } else {
            self.digits(number);
            self.0.push(b',');
        }
    }

    fn digits(&mut self, number: u64) {
        if number < EIGHT {
            let digits = eight(number);
            // What is not 0 begins behind the zeros, and one digit stays.
            let zeros = digits.trailing_zeros().min(56) / 8;
            let end = self.0.len() + 8 - zeros as usize;
            self.word(digits >> (8 * zeros));
            self.0.truncate(end);
        } else {
            self.digits(number / EIGHT);
            self.word(eight(number % EIGHT));
        }
    }

    /// Eight digits.
    fn word(&mut self, digits: u64) {
        let text = digits | u64::from_le_bytes([b'0'; 8]);
        self.0.extend_from_slice(&text.to_le_bytes());
    }

    /// As the formatter writes it: without an exponent, and without a fraction where it is whole.
    fn ratio(&mut self, ratio: f64) {
        if (1e-3..1e9).contains(&ratio) {
            let mut text = zmij::Buffer::new();
            let text = text.format_finite(ratio);
            let text = text.strip_suffix(".0").unwrap_or(text);
            self.0.extend_from_slice(text.as_bytes());
        } else {
            write!(self.0, "{ratio}").expect("memory takes every text");
        }
    }

    fn text(&mut self, text: &str) {
        let is_odd = |byte| matches!(byte, b',' | b'"' | b'\n' | b'\r');
        if text.bytes().any(is_odd) {
            // [RFC 4180]
            self.0.push(b'"');
            self.0
                .extend_from_slice(text.replace('"', "\"\"").as_bytes());
            self.0.push(b'"');
        } else {
            self.0.extend_from_slice(text.as_bytes());
        }
    }

    /// Writes the line and begins another.
    pub(crate) fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        *self.0.last_mut().expect("a line has a field") = b'\n';
        out.write_all(&self.0)?;
        self.0.clear();
        Ok(())
    }
}

/// The eight digits of a number below [`EIGHT`], one in each byte, the first in the lowest: halves, then pairs, then digits,
/// each time all at once. A product and a shift divide by 100 what has four digits, and by 10 what has two.
fn eight(number: u64) -> u64 {
    let halves = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((halves * 10_486) >> 20) & 0x7f_0000_007f;
    let pairs = hundreds | ((halves - 100 * hundreds) << 16);
    let tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((pairs - 10 * tens) << 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_formatter_writes_them() {
        let powers = (0..20).map(|digits| 10u64.pow(digits));
        let around = powers.flat_map(|n| [n - 1, n, n + 1, n.saturating_mul(9)]);
        let small = (0..20_000).chain(99_980_000..100_020_000);
        for number in around.chain(small).chain([u64::MAX, 1_234_567_890]) {
            let mut line = Line::default();
            line.number(number);
            assert_eq!(line.0, format!("{number},").into_bytes());
        }
    }

    #[test]
    fn every_four_digits_are_told_apart() {
        for number in 0..10_000 {
            let digits = eight(number * 10_000 + (9_999 - number)).to_le_bytes();
            let text: String = digits
                .map(|digit| char::from(b'0' + digit))
                .iter()
                .collect();
            assert_eq!(text, format!("{number:04}{:04}", 9_999 - number));
        }
    }

    #[test]
    fn ratios_are_written_as_the_formatter_writes_them() {
        let mut rng = model::Rng::stream(1, model::stream::TEST, 0);
        let odd = [
            0.0,
            -0.0,
            1.0,
            0.1,
            1e-3,
            9.999e-4,
            1e9,
            1e21,
            5e-324,
            -2.5,
            f64::MAX,
        ];
        let some = (0..100_000).map(|_| {
            let exponent = rng.between(0x3f4, 0x41e);
            f64::from_bits((exponent << 52) | (rng.next_u64() >> 12))
        });
        for ratio in odd.into_iter().chain([f64::INFINITY, f64::NAN]).chain(some) {
            let mut line = Line::default();
            line.cell(Cell::Ratio(ratio));
            assert_eq!(line.0, format!("{ratio},").into_bytes());
        }
    }
}
