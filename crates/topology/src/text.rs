//! Lines and fields of a text file, with the place of everything for messages.

use std::fmt;

/// What is wrong in a text, and where. A driver that knows the file's name puts it in front.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextError {
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
    /// What is wrong and what to write instead.
    pub message: String,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}
impl std::error::Error for TextError {}

impl TextError {
    /// The message as compilers write it: `file:line:column: message`.
    pub fn in_file(&self, file: &str) -> String {
        format!("{file}:{self}")
    }
}

/// One word and its place.
#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    pub(crate) text: &'a str,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl Field<'_> {
    pub(crate) fn error(&self, message: impl Into<String>) -> TextError {
        TextError {
            line: self.line,
            column: self.column,
            message: message.into(),
        }
    }

    pub(crate) fn number(&self, what: &str) -> Result<u32, TextError> {
        self.text.parse().map_err(|_| {
            self.error(format!(
                "\"{}\" is not {what}; write a whole number",
                self.text
            ))
        })
    }
}

/// The text without the byte order mark that some programs begin a file with.
pub(crate) fn unmarked(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Line and column of the byte at `offset`, both from 1; columns count characters.
pub(crate) fn place(text: &str, offset: usize) -> (u32, u32) {
    let before = &text[..offset];
    let count = |n: usize| u32::try_from(n + 1).unwrap_or(u32::MAX);
    let column = before.rsplit('\n').next().unwrap_or("").chars().count();
    (count(before.matches('\n').count()), count(column))
}

/// The lines of a text that say something, split at white space. Comments run from `#`.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Vec<Field<'_>>> {
    (1u32..)
        .zip(unmarked(text).lines())
        .filter_map(|(number, line)| {
            let content = line.split('#').next().unwrap_or("");
            let fields = fields(content, number);
            (!fields.is_empty()).then_some(fields)
        })
}

fn fields(content: &str, line: u32) -> Vec<Field<'_>> {
    let mut found = Vec::new();
    let mut start = None;
    let (mut column, mut column_start) = (0, 0);
    for (at, c) in content.char_indices().chain([(content.len(), ' ')]) {
        column += 1;
        match (c.is_whitespace(), start) {
            (false, None) => (start, column_start) = (Some(at), column),
            (true, Some(begin)) => {
                found.push(Field {
                    text: &content[begin..at],
                    line,
                    column: column_start,
                });
                start = None;
            }
            (false, Some(_)) | (true, None) => {}
        }
    }
    found
}

/// Digits that a number may have.
const DIGITS_MAX: usize = 36;

/// A decimal number, with an exponent or without, times 10^`shift`, rounded to the nearest whole.
pub(crate) fn decimal(text: &str, shift: i32) -> Option<u64> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || digits.len() > DIGITS_MAX || !digits.bytes().all(|b| b.is_ascii_digit())
    {
        return None;
    }
    let value = digits.parse::<u128>().ok()?;
    let scale = shift
        .checked_add(exponent)?
        .checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let power = 10u128.checked_pow(scale.unsigned_abs());
    let scaled = match (scale < 0, power) {
        (false, Some(power)) => value.checked_mul(power)?,
        (false, None) => (value == 0).then_some(0)?,
        (true, Some(power)) => value / power + u128::from(value % power >= power.div_ceil(2)),
        (true, None) => 0,
    };
    u64::try_from(scaled).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_knows_its_place() {
        let all: Vec<_> = lines("# head\n\n a\tbc  # rest\r\n").collect();
        assert_eq!(all.len(), 1);
        let places: Vec<_> = all[0].iter().map(|f| (f.text, f.line, f.column)).collect();
        assert_eq!(places, [("a", 3, 2), ("bc", 3, 4)]);
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(decimal("25000000000.0", 0), Some(25_000_000_000));
        assert_eq!(decimal("1e-6", 9), Some(1_000));
        assert_eq!(decimal("0.0000000015", 9), Some(2));
        assert_eq!(decimal("0.0000000014", 9), Some(1));
        assert_eq!(decimal("2.000000123", 12), Some(2_000_000_123_000));
        for bad in [
            "",
            ".",
            "-1",
            "1.2.3",
            "nan",
            "1e",
            "99999999999999999999999",
        ] {
            assert_eq!(decimal(bad, 0), None, "{bad}");
        }
    }
}
