//! What values a parameter takes: read with errors that say what to write, written, and described.
//!
//! [`params!`](crate::params) declares a transport's parameters, each with one of these forms; values that have a word
//! each are declared with [`worded!`](crate::worded). [`Ascending`](crate::ascending) sizes, a threshold
//! ([`selective`](crate::selective)) and a [`HostDelay`](crate::host_delay) are values with a form that transports can share.

use super::keys::unknown;
use std::fmt;
use toml::Value;
use units::{Bytes, Span};

/// What values a parameter takes, for documents and schemas.
#[derive(Clone, Debug, PartialEq)]
pub enum Takes {
    /// true or false.
    Flag,
    /// Whole numbers, from the first to the second.
    Count(u32, u32),
    /// Numbers, from the first to the second, or fractions as text.
    Number(f64, f64),
    /// Times with their unit.
    Time(Span, Span),
    /// Sizes with their unit.
    Size(Bytes, Bytes),
    /// One of these.
    Words(Vec<&'static str>),
    /// One of these numbers.
    Numbers(&'static [u32]),
    /// So many sizes that ascend, or fewer.
    Sizes(usize),
    /// This word, or something else.
    Or(&'static str, Box<Self>),
    /// What the text says, written in one of these ways.
    Other(&'static str, &'static [Written]),
}

/// How a value is written that no other form describes, for schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// This word.
    Word(&'static str),
    /// A time with its unit.
    Time,
    /// A size with its unit.
    Size,
    /// A whole number before this text.
    Counted(&'static str),
    /// A list of such values, from so many to so many.
    List(&'static Self, usize, usize),
    /// A table with this key alone, and such a value.
    Table(&'static str, &'static Self),
}

impl fmt::Display for Takes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("true or false"),
            Self::Count(low, high) => write!(f, "a whole number from {low} to {high}"),
            Self::Number(low, high) => write!(f, "a number from {low} to {high}"),
            Self::Time(low, high) => write!(f, "a time from \"{low}\" to \"{high}\""),
            Self::Size(low, high) => write!(f, "a size from \"{low}\" to \"{high}\""),
            Self::Words(words) => f.write_str(&any(words.iter().map(|word| format!("\"{word}\"")))),
            Self::Numbers(numbers) => f.write_str(&any(numbers.iter().map(u32::to_string))),
            Self::Sizes(most) => {
                write!(f, "up to {most} ascending sizes like [\"200B\", \"2800B\"]")
            }
            Self::Or(word, form) => write!(f, "{form}, or \"{word}\""),
            Self::Other(text, _) => f.write_str(text),
        }
    }
}

/// One of these, in words.
fn any(of: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = of.collect();
    let last = all.pop().unwrap_or_default();
    match all.is_empty() {
        true => last,
        false => format!("{} or {last}", all.join(", ")),
    }
}

/// The form of a parameter of type `T`.
pub trait Form<T> {
    /// Reads a value.
    ///
    /// # Errors
    /// What to write instead.
    fn read(&self, value: &Value) -> Result<T, String>;
    /// Writes it so that [`Form::read`] reads the same.
    fn write(&self, of: &T) -> Value;
    /// What it takes.
    fn takes(&self) -> Takes;
}

/// `true` or `false`.
#[derive(Clone, Copy, Debug)]
pub struct Flag;

impl Form<bool> for Flag {
    fn read(&self, value: &Value) -> Result<bool, String> {
        value
            .as_bool()
            .ok_or_else(|| format!("{value} is neither true nor false"))
    }
    fn write(&self, of: &bool) -> Value {
        Value::from(*of)
    }
    fn takes(&self) -> Takes {
        Takes::Flag
    }
}

/// A whole number, from the first to the second.
#[derive(Clone, Copy, Debug)]
pub struct Count(pub u32, pub u32);

impl<T: TryFrom<i64> + Into<i64> + Copy> Form<T> for Count {
    fn read(&self, value: &Value) -> Result<T, String> {
        let range = i64::from(self.0)..=i64::from(self.1);
        let number = value.as_integer().filter(|number| range.contains(number));
        number
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| format!("{value} is no whole number from {} to {}", self.0, self.1))
    }
    fn write(&self, of: &T) -> Value {
        Value::from(Into::<i64>::into(*of))
    }
    fn takes(&self) -> Takes {
        Takes::Count(self.0, self.1)
    }
}

/// One of these whole numbers.
#[derive(Clone, Copy, Debug)]
pub struct OneOf(pub &'static [u32]);

impl<T: TryFrom<u32> + Into<i64> + Copy> Form<T> for OneOf {
    fn read(&self, value: &Value) -> Result<T, String> {
        let whole = value.as_integer().and_then(|n| u32::try_from(n).ok());
        let known = whole.filter(|number| self.0.contains(number));
        known
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| format!("{value} is not possible; write {}", Takes::Numbers(self.0)))
    }
    fn write(&self, of: &T) -> Value {
        Value::from(Into::<i64>::into(*of))
    }
    fn takes(&self) -> Takes {
        Takes::Numbers(self.0)
    }
}

/// A number from the first to the second: `0.5`, or a fraction in a string: `"1/16"`.
#[derive(Clone, Copy, Debug)]
pub struct Number(pub f64, pub f64);

impl Form<f64> for Number {
    fn read(&self, value: &Value) -> Result<f64, String> {
        let Self(low, high) = *self;
        let wrong = || {
            format!("{value} is no number from {low} to {high}; write it like {low} or \"1/16\"")
        };
        let number = match value {
            Value::Float(number) => *number,
            // Small whole numbers alone make sense here, and they are exact.
            Value::Integer(whole) => f64::from(i32::try_from(*whole).map_err(|_| wrong())?),
            Value::String(text) => {
                let (above, below) = text.split_once('/').ok_or_else(wrong)?;
                let part = |text: &str| text.trim().parse::<u32>().map(f64::from);
                part(above).map_err(|_| wrong())? / part(below).map_err(|_| wrong())?
            }
            _ => return Err(wrong()),
        };
        let fits = (low..=high).contains(&number);
        fits.then_some(number).ok_or_else(wrong)
    }
    fn write(&self, of: &f64) -> Value {
        Value::from(*of)
    }
    fn takes(&self) -> Takes {
        Takes::Number(self.0, self.1)
    }
}

/// A time with its unit, from the first to the second.
#[derive(Clone, Copy, Debug)]
pub struct Time(pub Span, pub Span);

impl Form<Span> for Time {
    fn read(&self, value: &Value) -> Result<Span, String> {
        let Self(low, high) = *self;
        let text = value.as_str().ok_or_else(|| {
            format!("{value} is no time; write it with its unit in quotes, like \"{low}\"")
        })?;
        let wrong = |error: units::ParseError| error.to_string();
        let span: Span = text.parse().map_err(wrong)?;
        let fits = (low..=high).contains(&span);
        fits.then_some(span).ok_or_else(|| {
            format!("\"{text}\" is out of range; it may lie between \"{low}\" and \"{high}\"")
        })
    }
    fn write(&self, of: &Span) -> Value {
        Value::from(of.to_string())
    }
    fn takes(&self) -> Takes {
        Takes::Time(self.0, self.1)
    }
}

/// A size in whole bytes with its unit, from the first to the second.
#[derive(Clone, Copy, Debug)]
pub struct Size(pub u64, pub u64);

impl<T: TryFrom<u64> + Into<u64> + Copy> Form<T> for Size {
    fn read(&self, value: &Value) -> Result<T, String> {
        let (low, high) = (Bytes(self.0), Bytes(self.1));
        let text = value.as_str().ok_or_else(|| {
            let like = high.min(Bytes(100_000));
            format!("{value} is no size; write it with its unit in quotes, like \"{like}\"")
        })?;
        let wrong = |error: units::ParseError| error.to_string();
        let size: Bytes = text.parse().map_err(wrong)?;
        let fits = (low..=high).contains(&size);
        let number = fits.then(|| T::try_from(size.get()).ok()).flatten();
        number.ok_or_else(|| {
            format!("\"{text}\" is out of range; it may lie between \"{low}\" and \"{high}\"")
        })
    }
    fn write(&self, of: &T) -> Value {
        Value::from(Bytes(Into::<u64>::into(*of)).to_string())
    }
    fn takes(&self) -> Takes {
        Takes::Size(Bytes(self.0), Bytes(self.1))
    }
}

/// The same for sizes with their type.
#[derive(Clone, Copy, Debug)]
pub struct SizeOf(pub Size);

impl Form<Bytes> for SizeOf {
    fn read(&self, value: &Value) -> Result<Bytes, String> {
        Form::<u64>::read(&self.0, value).map(Bytes)
    }
    fn write(&self, of: &Bytes) -> Value {
        Form::<u64>::write(&self.0, &of.0)
    }
    fn takes(&self) -> Takes {
        Form::<u64>::takes(&self.0)
    }
}

/// One of a few words, each with its meaning.
#[derive(Clone, Copy, Debug)]
pub struct Words<T: 'static>(pub &'static [(&'static str, T)]);

impl<T: Copy + PartialEq> Form<T> for Words<T> {
    fn read(&self, value: &Value) -> Result<T, String> {
        let text = value.as_str().unwrap_or_default();
        let found = self.0.iter().find(|(name, _)| *name == text);
        found.map(|&(_, meaning)| meaning).ok_or_else(|| {
            let known = self.0.iter().map(|word| word.0);
            unknown(&format!("{value} is not known"), text, known)
        })
    }
    fn write(&self, of: &T) -> Value {
        let name = self.0.iter().find(|(_, meaning)| meaning == of);
        Value::from(name.expect("every meaning has a word").0)
    }
    fn takes(&self) -> Takes {
        Takes::Words(self.0.iter().map(|word| word.0).collect())
    }
}

/// Values that have a word each: [`worded!`](crate::worded) declares them.
pub trait Worded: Copy + PartialEq + 'static {
    /// All of them, each with its word.
    const WORDS: &'static [(&'static str, Self)];
}

/// The word of a value.
#[derive(Clone, Copy, Debug)]
pub struct Word;

impl<T: Worded> Form<T> for Word {
    fn read(&self, value: &Value) -> Result<T, String> {
        Words(T::WORDS).read(value)
    }
    fn write(&self, of: &T) -> Value {
        Words(T::WORDS).write(of)
    }
    fn takes(&self) -> Takes {
        Words(T::WORDS).takes()
    }
}

/// A word that stands for `None`, or what the form takes, in a few words.
#[derive(Clone, Copy, Debug)]
pub struct Or<F>(pub &'static str, pub &'static str, pub F);

impl<T, F: Form<T>> Form<Option<T>> for Or<F> {
    fn read(&self, value: &Value) -> Result<Option<T>, String> {
        let Self(word, what, form) = self;
        if value.as_str() == Some(word) {
            return Ok(None);
        }
        let text = matches!(form.takes(), Takes::Time(..) | Takes::Size(..));
        if value.is_str() && !text {
            return Err(format!("{value} is neither {what} nor \"{word}\""));
        }
        let read = form.read(value).map(Some);
        read.map_err(|why| format!("{why}, or \"{word}\""))
    }
    fn write(&self, of: &Option<T>) -> Value {
        match of {
            None => Value::from(self.0),
            Some(of) => self.2.write(of),
        }
    }
    fn takes(&self) -> Takes {
        Takes::Or(self.0, Box::new(self.2.takes()))
    }
}

/// A form of its own: what it takes, in which ways that is written, and how it is read and written.
#[derive(Clone, Copy, Debug)]
pub struct Own<T>(
    pub &'static str,
    pub &'static [Written],
    pub fn(&Value) -> Result<T, String>,
    pub fn(&T) -> Value,
);

impl<T> Form<T> for Own<T> {
    fn read(&self, value: &Value) -> Result<T, String> {
        (self.2)(value)
    }
    fn write(&self, of: &T) -> Value {
        (self.3)(of)
    }
    fn takes(&self) -> Takes {
        Takes::Other(self.0, self.1)
    }
}

/// Declares values that have a word each, for parameters of the form [`Word`].
///
/// ```
/// use parts::forms::{Form, Word};
///
/// parts::worded! {
///     /// Whose turn it is.
///     pub enum Choice {
///         /// The message with the least to come.
///         Shortest = "shortest",
///         /// One after the other.
///         Turns = "turns",
///     }
/// }
/// assert_eq!(Word.read(&"turns".into()), Ok(Choice::Turns));
/// assert_eq!(Word.write(&Choice::Shortest), "shortest".into());
/// ```
#[macro_export]
macro_rules! worded {
    ($($(#[$about:meta])* $vis:vis enum $Name:ident {
        $($(#[doc = $meaning:literal])+ $value:ident = $word:literal,)+
    })+) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $Name { $($(#[doc = $meaning])+ $value,)+ }

        impl $crate::forms::Worded for $Name {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$value)),+];
        }
    )+};
}

/// Declares the parameters of a transport: their type, with the defaults as `DEFAULT`, and the tables of
/// keys that read, write and document them.
///
/// A parameter is its meaning, name, type, default, form, and the source of the default; and, behind `if`, whether
/// there is one, where variants of a transport do without. What is no parameter but stands beside them comes first.
///
/// ```
/// use parts::forms::{Count, Time};
/// use units::Span;
///
/// parts::params! {
///     /// Everything that can be set.
///     #[derive(Clone, Debug, PartialEq)]
///     pub struct Params {}
///     static KEYS {
///         /// packets on the way
///         window: u16 = 10, Count(1, 1000), "[ours]";
///         /// how long an answer may take
///         retry: Span = Span::ms(1), Time(Span::us(1), Span::ms(60_000)), "[ours]";
///     }
/// }
/// let mut params = Params::DEFAULT;
/// let table = "window = 20".parse().unwrap();
/// parts::keys::apply(KEYS, &table, &mut params).unwrap();
/// assert_eq!((params.window, params.retry), (20, Span::ms(1)));
/// ```
#[macro_export]
macro_rules! params {
    (
        $(#[$outer:meta])*
        $vis:vis struct $Params:ident {
            $($(#[$attr:meta])* $plain:ident: $plain_type:ty = $plain_default:expr;)*
        }
        $($keys_vis:vis static $KEYS:ident {
            $(
                $(#[doc = $meaning:literal])+
                $key:ident: $type:ty = $default:expr, $form:expr, $source:literal $(, if $exists:path)?;
            )*
        })+
    ) => {
        $(#[$outer])*
        $vis struct $Params {
            $($(#[$attr])* $vis $plain: $plain_type,)*
            $($($(#[doc = $meaning])+ $vis $key: $type,)*)+
        }

        impl $Params {
            /// The values of the default profile.
            $vis const DEFAULT: Self = Self {
                $($plain: $plain_default,)*
                $($($key: $default,)*)+
            };
        }

        $(
            /// Its parameters, in the order of the documentation.
            $keys_vis static $KEYS: &[$crate::keys::Key<$Params>] = &[$(
                $crate::keys::Key {
                    key: stringify!($key),
                    meaning: concat!($($meaning),+),
                    source: $source,
                    get: |params| $crate::forms::Form::<$type>::write(&$form, &params.$key),
                    set: |params, value| {
                        params.$key = $crate::forms::Form::<$type>::read(&$form, value)?;
                        Ok(())
                    },
                    takes: || $crate::forms::Form::<$type>::takes(&$form),
                    exists: |_params| true $(&& $exists(_params))?,
                }
            ),*];
        )+
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_need_their_kind_and_range() {
        let number = |value: Value, low, high| Number(low, high).read(&value);
        assert_eq!(number(Value::from("1/16"), 0.0, 1.0), Ok(0.0625));
        assert!(number(Value::from("1/0"), 0.0, 1.0).is_err());
        assert!(number(Value::from(f64::NAN), 0.0, 1.0).is_err());
        assert!(number(Value::from(-1), 0.0, 1.0).is_err());
        let time = Time(Span::ZERO, Span::ms(1));
        assert_eq!(time.read(&Value::from("1.5us")), Ok(Span::ns(1500)));
        assert!(time.read(&Value::from(5)).unwrap_err().contains("unit"));
        let size = |text: &str| Form::<u16>::read(&Size(60, 92), &Value::from(text));
        assert_eq!(size("84B"), Ok(84));
        assert!(size("1KB").is_err() && size("59B").is_err());
        let count = |n: i64| Form::<u8>::read(&Count(1, 300), &Value::from(n));
        assert_eq!(count(8), Ok(8));
        assert!(count(0).is_err() && count(256).is_err() && count(301).is_err());
        let or =
            |value: Value| Form::<Option<u32>>::read(&Or("all", "a number", Count(1, 9)), &value);
        assert_eq!(
            (or(Value::from("all")), or(Value::from(3))),
            (Ok(None), Ok(Some(3)))
        );
        let error = or(Value::from("some")).unwrap_err();
        assert_eq!(error, "\"some\" is neither a number nor \"all\"");
    }

    #[test]
    fn what_is_written_reads_the_same() {
        fn same<T: PartialEq + fmt::Debug>(form: &impl Form<T>, of: &T) {
            assert_eq!(form.read(&form.write(of)).as_ref(), Ok(of));
        }
        same(&Flag, &true);
        same(&Count(0, 9), &7u16);
        same(&Number(0.0, 1.0), &0.1);
        same(&Time(Span::ZERO, Span::ms(9)), &Span::ns(1_234));
        same(&Size(0, 1 << 40), &1_538u64);
        same(&SizeOf(Size(0, 1 << 40)), &Bytes(99_970));
        same(&Words(&[("a", 1), ("b", 2)]), &2);
        same(&Or("none", "a size", Size(1, 10)), &None::<u64>);
        same(&Or("none", "a size", Size(1, 10)), &Some(4u64));
    }

    #[test]
    fn what_a_parameter_takes_is_said_in_words() {
        let words = |known: &[&'static str]| Takes::Words(known.to_vec()).to_string();
        assert_eq!(Takes::Flag.to_string(), "true or false");
        assert_eq!(Takes::Count(1, 9).to_string(), "a whole number from 1 to 9");
        assert_eq!(
            Takes::Number(0.0, 0.5).to_string(),
            "a number from 0 to 0.5"
        );
        let time = Takes::Time(Span::us(1), Span::ms(2));
        assert_eq!(time.to_string(), "a time from \"1us\" to \"2ms\"");
        let size = Takes::Size(Bytes(84), Bytes(2_000));
        assert_eq!(size.to_string(), "a size from \"84B\" to \"2KB\"");
        assert_eq!(Takes::Numbers(&[1, 2, 4, 8]).to_string(), "1, 2, 4 or 8");
        assert_eq!(words(&["one"]), "\"one\"");
        assert_eq!(words(&["one", "two"]), "\"one\" or \"two\"");
        assert_eq!(words(&["a", "b", "c", "d"]), "\"a\", \"b\", \"c\" or \"d\"");
        let or = Takes::Or("auto", Box::new(Takes::Flag));
        assert_eq!(or.to_string(), "true or false, or \"auto\"");
        assert_eq!(Takes::Other("anything", &[]).to_string(), "anything");
    }

    #[test]
    fn both_ends_of_a_range_belong_to_it() {
        let count = |n: i64| Form::<u32>::read(&Count(3, 5), &Value::from(n)).ok();
        assert_eq!([2, 3, 5, 6].map(count), [None, Some(3), Some(5), None]);
        let number = |x: f64| Number(0.25, 0.5).read(&Value::from(x)).ok();
        assert_eq!(
            [0.24, 0.25, 0.5, 0.51].map(number),
            [None, Some(0.25), Some(0.5), None]
        );
        let time = |text| Time(Span::us(3), Span::us(5)).read(&Value::from(text)).ok();
        let (three, five) = (Some(Span::us(3)), Some(Span::us(5)));
        assert_eq!(
            ["2.999us", "3us", "5us", "5.001us"].map(time),
            [None, three, five, None]
        );
        let size = |text| Form::<u64>::read(&Size(3, 5), &Value::from(text)).ok();
        assert_eq!(
            ["2B", "3B", "5B", "6B"].map(size),
            [None, Some(3), Some(5), None]
        );
        // A number that the range allows and its type cannot hold.
        assert!(Form::<u8>::read(&Size(0, 300), &Value::from("256B")).is_err());
    }

    #[test]
    fn an_error_says_what_to_write() {
        let said = |error: Result<(), String>| error.unwrap_err();
        let flag = |value: Value| said(Flag.read(&value).map(drop));
        assert_eq!(flag(Value::from(1)), "1 is neither true nor false");
        let count = |value: Value| said(Form::<u8>::read(&Count(1, 9), &value).map(drop));
        assert_eq!(
            count(Value::from("3")),
            "\"3\" is no whole number from 1 to 9"
        );
        let number = |value: Value| said(Number(0.5, 2.0).read(&value).map(drop));
        let wrong = "is no number from 0.5 to 2; write it like 0.5 or \"1/16\"";
        for value in [
            Value::from(3),
            Value::from("half"),
            Value::from("1/x"),
            Value::from("y/2"),
            Value::from(true),
            Value::from(i64::MAX),
        ] {
            assert_eq!(number(value.clone()), format!("{value} {wrong}"));
        }
        let time = |value: Value| said(Time(Span::us(1), Span::ms(1)).read(&value).map(drop));
        assert_eq!(
            time(Value::from(5)),
            "5 is no time; write it with its unit in quotes, like \"1us\""
        );
        assert_eq!(
            time(Value::from("2ms")),
            "\"2ms\" is out of range; it may lie between \"1us\" and \"1ms\""
        );
        let size = |value: Value| said(Form::<u64>::read(&Size(1, 2_000_000), &value).map(drop));
        assert_eq!(
            size(Value::from(7)),
            "7 is no size; write it with its unit in quotes, like \"100KB\""
        );
        assert_eq!(
            size(Value::from("0B")),
            "\"0B\" is out of range; it may lie between \"1B\" and \"2MB\""
        );
        let word = |value: Value| said(Words(&[("fast", 1), ("slow", 2)]).read(&value).map(drop));
        assert_eq!(
            word(Value::from("fats")),
            "\"fats\" is not known; did you mean \"fast\"?"
        );
        assert_eq!(word(Value::from(7)), "7 is not known; known are fast, slow");
    }

    #[test]
    fn one_of_a_few_numbers_is_no_other() {
        let few = |n: i64| Form::<u8>::read(&OneOf(&[1, 2, 300]), &Value::from(n));
        assert_eq!((few(1), few(2)), (Ok(1), Ok(2)));
        let why = "is not possible; write 1, 2 or 300";
        // A number that the list allows and its type cannot hold.
        for wrong in [0, 3, 300, -1, i64::MAX] {
            assert_eq!(few(wrong), Err(format!("{wrong} {why}")));
        }
        assert_eq!(Form::<u8>::write(&OneOf(&[1, 2]), &2), Value::from(2));
        assert_eq!(Form::<u8>::takes(&OneOf(&[1])), Takes::Numbers(&[1]));
    }

    #[test]
    fn a_whole_number_is_a_number_too() {
        let number = Number(0.0, 4.0);
        assert_eq!(number.read(&Value::from(3)), Ok(3.0));
        assert_eq!(number.read(&Value::from("7/2")), Ok(3.5));
        assert_eq!(number.read(&Value::from(" 1 / 4 ")), Ok(0.25));
        assert_eq!(number.takes(), Takes::Number(0.0, 4.0));
        assert_eq!(
            (Flag.read(&Value::from(true)), Flag.takes()),
            (Ok(true), Takes::Flag)
        );
        assert_eq!(Flag.write(&false), Value::from(false));
    }

    #[test]
    fn a_word_stands_for_none_beside_any_form() {
        let time = Or("auto", "a time", Time(Span::us(1), Span::ms(1)));
        assert_eq!(time.read(&Value::from("auto")), Ok(None));
        assert_eq!(time.read(&Value::from("5us")), Ok(Some(Span::us(5))));
        let error = time.read(&Value::from("5")).unwrap_err();
        assert!(error.contains("unit"), "the form's own error: {error}");
        assert_eq!(time.write(&None), Value::from("auto"));
        assert_eq!(time.write(&Some(Span::us(5))), Value::from("5us"));
        let inner = Box::new(Takes::Time(Span::us(1), Span::ms(1)));
        assert_eq!(time.takes(), Takes::Or("auto", inner));
        let size = Or("all", "a size", SizeOf(Size(1, 9)));
        assert_eq!(size.read(&Value::from("7B")), Ok(Some(Bytes(7))));
        assert_eq!(
            size.takes(),
            Takes::Or("all", Box::new(Takes::Size(Bytes(1), Bytes(9))))
        );
        let words = Words(&[("fast", 1), ("slow", 2)]);
        assert_eq!(
            (words.read(&Value::from("slow")), words.write(&1)),
            (Ok(2), Value::from("fast"))
        );
        assert_eq!(words.takes(), Takes::Words(vec!["fast", "slow"]));
    }

    #[test]
    fn a_form_of_its_own_reads_and_writes_as_it_says() {
        const WAYS: &[Written] = &[Written::List(&Written::Size, 0, 9)];
        let read: fn(&Value) -> Result<usize, String> = |value| {
            value
                .as_array()
                .map(Vec::len)
                .ok_or_else(|| "no list".to_owned())
        };
        let own = Own("a list", WAYS, read, |&length| Value::from(vec![0; length]));
        assert_eq!(own.read(&own.write(&3)), Ok(3));
        assert_eq!(own.read(&Value::from(3)), Err("no list".to_owned()));
        assert_eq!(own.takes(), Takes::Other("a list", WAYS));
    }
}
