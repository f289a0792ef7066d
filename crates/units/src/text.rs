//! Text that people and other programs write: lines and fields with the place of everything for messages, exact
//! decimals, and how far a word is from one that is known.

use crate::ParseError;
use std::fmt;
use std::str::FromStr;

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
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// The word.
    pub text: &'a str,
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
}

impl Field<'_> {
    /// What is wrong with it.
    pub fn error(&self, message: impl Into<String>) -> TextError {
        TextError {
            line: self.line,
            column: self.column,
            message: message.into(),
        }
    }

    /// A whole number.
    ///
    /// # Errors
    /// Its place, and that it is not `what`.
    pub fn number<T: FromStr>(&self, what: &str) -> Result<T, TextError> {
        self.text.parse().map_err(|_| {
            self.error(format!(
                "\"{}\" is not {what}; write a whole number",
                self.text
            ))
        })
    }

    /// The word of a field between commas: within quotes each quote is written twice.
    pub fn quotes(&self) -> String {
        self.text.replace("\"\"", "\"")
    }

    /// A quantity with its unit.
    ///
    /// # Errors
    /// Its place, and how to write one.
    pub fn quantity<T: FromStr<Err = ParseError>>(&self) -> Result<T, TextError> {
        self.text
            .parse()
            .map_err(|error: ParseError| self.error(error.to_string()))
    }
}

/// The text without the byte order mark that some programs begin a file with.
pub fn unmarked(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Line and column of the byte at `offset`, both from 1; columns count characters.
///
/// # Panics
/// If `offset` is behind the text, or within a character.
pub fn place(text: &str, offset: usize) -> (u32, u32) {
    let before = &text[..offset];
    let count = |n: usize| u32::try_from(n + 1).unwrap_or(u32::MAX);
    let column = before.rsplit('\n').next().unwrap_or("").chars().count();
    (count(before.matches('\n').count()), count(column))
}

/// The lines of a text that say something, split at white space. Comments run from `#`.
pub fn lines(text: &str) -> impl Iterator<Item = Vec<Field<'_>>> {
    split_lines(text, words, |line| line.split('#').next().unwrap_or(""))
}

/// The same, split at commas: fields may be empty, and white space around them is no part of them, nor are quotes, within
/// which a comma separates nothing and a quote is written twice ([`Field::quotes`] reads that). A comment has a line of its
/// own: a name may contain `#`.
///
/// A line is an error where a quote has no end, or does not stand around the whole field.
pub fn comma_lines(text: &str) -> impl Iterator<Item = Result<Vec<Field<'_>>, TextError>> {
    let comment = |line: &str| line.trim_start().starts_with('#');
    split_lines(
        text,
        between_commas,
        move |line| {
            if comment(line) { "" } else { line }
        },
    )
}

fn split_lines<'a, T>(
    text: &'a str,
    split: impl Fn(&'a str, u32) -> T,
    content: impl Fn(&'a str) -> &'a str,
) -> impl Iterator<Item = T> {
    (1u32..)
        .zip(ended(unmarked(text)))
        .filter_map(move |(number, line)| {
            let content = content(line);
            (!content.trim().is_empty()).then(|| split(content, number))
        })
}

/// Lines that end as on any system: with a line feed, a carriage return, or both.
fn ended(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('\r'))
}

fn between_commas(content: &str, line: u32) -> Result<Vec<Field<'_>>, TextError> {
    let (mut column, mut quoted) = (1, false);
    content
        .split(move |c| {
            quoted ^= c == '"';
            c == ',' && !quoted
        })
        .map(|raw| {
            let whole = raw.trim();
            let inner = whole
                .strip_prefix('"')
                .and_then(|rest| rest.strip_suffix('"'));
            let text = inner.unwrap_or(whole);
            let indent = raw.len() - raw.trim_start().len() + usize::from(inner.is_some());
            let field = Field {
                text,
                line,
                column: column + count(&raw[..indent]),
            };
            column += count(raw) + 1;
            // What is left are quotes that were not written twice, or stand in a field without quotes around it.
            let stray = match inner {
                Some(inner) => inner.replace("\"\"", "").contains('"'),
                None => whole.contains('"'),
            };
            if stray {
                return Err(field.error(
                    "a quote that does not stand around the whole field; put quotes around it, and write each \
                     quote within twice, like \"ring \"\"east\"\"\"",
                ));
            }
            Ok(field)
        })
        .collect()
}

/// Characters, which is what columns count.
fn count(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}

fn words(content: &str, line: u32) -> Vec<Field<'_>> {
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
pub fn decimal(text: &str, shift: i32) -> Option<u64> {
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

/// Bytes of the longest word that another one may be meant by: counting takes the product of the two lengths. [ours]
const WORD_MAX: usize = 100;

/// Whether a character is not seen where it is printed, and changes how others are: those that control a terminal, and those that
/// turn the direction of a line. [Unicode Standard Annex 9; Boucher and Anderson 2023, "Trojan Source"]
pub fn is_unseen(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns
}

/// Edits from one word to the other, a swap of neighbours counting as one. [Damerau 1964] Between words of which one has
/// more than 100 bytes there is no number of them, and the largest stands for that.
pub fn edits(a: &str, b: &str) -> usize {
    if a.len().max(b.len()) > WORD_MAX {
        return usize::MAX;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let edit = usize::from(a[i - 1] != b[j - 1]);
                let mut best = (rows[i - 1][j] + 1)
                    .min(rows[i][j - 1] + 1)
                    .min(rows[i - 1][j - 1] + edit);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_turns_a_line_or_controls_a_terminal_is_unseen() {
        for c in [
            '\u{202e}', '\u{2066}', '\u{200f}', '\u{1b}', '\u{9b}', '\0', '\n',
        ] {
            assert!(is_unseen(c), "{c:?}");
        }
        assert!(!"a Z 9 \u{e9}\u{6f22}\u{5d0}\u{200d}".chars().any(is_unseen));
    }

    #[test]
    fn edits_are_counted_one_by_one() {
        for (a, b, count) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("abc", "abc", 0),
            ("abc", "abd", 1),
            ("abc", "ac", 1),
            ("ac", "abc", 1),
            ("kitten", "sitting", 3),
            ("flaw", "lawn", 2),
            ("ab", "ba", 1),
            ("abcd", "acbd", 1),
            ("abc", "cab", 2),
            ("\u{b5}s", "us", 1),
        ] {
            assert_eq!(edits(a, b), count, "{a} and {b}");
        }
        // Three terabytes of numbers, if they were counted.
        let endless = "load".repeat(150_000);
        assert_eq!(edits(&endless, &endless), usize::MAX);
    }

    #[test]
    fn a_place_counts_lines_and_characters() {
        let text = "ab\n\u{b5}cd";
        let places = [0, 2, 3, 5, 7].map(|offset| place(text, offset));
        assert_eq!(places, [(1, 1), (1, 3), (2, 1), (2, 2), (2, 4)]);
    }

    #[test]
    fn a_field_knows_its_place() {
        let all: Vec<_> = lines("# head\n\n a\tbc  # rest\r\n").collect();
        assert_eq!(all.len(), 1);
        let places: Vec<_> = all[0].iter().map(|f| (f.text, f.line, f.column)).collect();
        assert_eq!(places, [("a", 3, 2), ("bc", 3, 4)]);
    }

    #[test]
    fn fields_between_commas_may_be_empty() {
        let all: Vec<_> = comma_lines("a, µ ,,b\n \n").collect();
        assert_eq!(all.len(), 1);
        let places: Vec<_> = all[0]
            .as_ref()
            .unwrap()
            .iter()
            .map(|f| (f.text, f.column))
            .collect();
        assert_eq!(places, [("a", 1), ("µ", 4), ("", 7), ("b", 8)]);
    }

    #[test]
    fn names_between_commas_may_have_quotes_commas_and_more() {
        let text = " # a, comment\n1, \"ring, east\" ,job#1\nring #2,\"\",\"a \"\"b\"\", c\"";
        let all: Vec<Vec<_>> = comma_lines(text)
            .map(|line| {
                line.unwrap()
                    .iter()
                    .map(|f| (f.quotes(), f.column))
                    .collect()
            })
            .collect();
        let owned =
            |fields: [(&str, u32); 3]| fields.map(|(text, at)| (text.to_owned(), at)).to_vec();
        let first = owned([("1", 1), ("ring, east", 5), ("job#1", 18)]);
        let second = owned([("ring #2", 1), ("", 10), ("a \"b\", c", 13)]);
        assert_eq!(all, [first, second]);
    }

    #[test]
    fn a_quote_without_its_other_is_an_error_with_its_place() {
        for (text, place) in [
            ("1,\"open, end\n2,3\n", (1, 3)),
            ("1,2\n1,a\"b\"\n", (2, 3)),
            ("\"a\"b\",2\n", (1, 1)),
            ("1,\"a\" b\n", (1, 3)),
            ("1,\"\n", (1, 3)),
        ] {
            let error = comma_lines(text).find_map(Result::err).expect(text);
            assert_eq!((error.line, error.column), place, "{text:?}");
        }
    }

    #[test]
    fn lines_end_as_on_any_system() {
        for text in ["a\nb c\n\nd", "a\r\nb c\r\n\r\nd\r\n", "a\rb c\r\rd\r"] {
            let all: Vec<Vec<_>> = lines(text)
                .map(|line| line.iter().map(|f| (f.text, f.line)).collect())
                .collect();
            let found = [vec![("a", 1)], vec![("b", 2), ("c", 2)], vec![("d", 4)]];
            assert_eq!(all, found, "{text:?}");
        }
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
