//! The kinds of value a key may have, and the values themselves.

use crate::tree::{Data, Node};
use std::fmt;
use topology::{RATE_MAX, RATE_MIN};
use units::{Bytes, ParseError, Rate, Span};

/// What a key takes.
#[derive(Clone, Copy, Debug)]
pub enum Type {
    /// A string with a unit of rate.
    Rate,
    /// A string with a unit of time.
    Span,
    /// A string with a unit of size.
    Bytes,
    /// The same, alone or for a rate: a [`Room`].
    Room,
    /// A whole number within bounds, both included.
    Count(u64, u64),
    /// A number within bounds, both included.
    Number(f64, f64),
    /// True or false.
    Flag,
    /// Any string.
    Text,
    /// One of a few words.
    Word(fn() -> Vec<&'static str>),
    /// The name of a transport: any string here, looked up where the registry is at hand.
    Transport,
    /// The name of a flow control, likewise.
    Control,
    /// A list of one kind.
    List(&'static Type),
}

/// A size in a port: the same at every port, or in proportion to the port's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes at every port, or at a port of the rate `per`.
    pub bytes: Bytes,
    /// The rate that `bytes` are for; `None` where the rate does not matter.
    pub per: Option<Rate>,
}

impl Room {
    /// Bytes at a port of `rate`, rounded down; at most what 64 bits hold.
    pub fn at(self, rate: Rate) -> Bytes {
        let Some(per) = self.per else {
            return self.bytes;
        };
        let bytes = u128::from(self.bytes.0) * u128::from(rate.0) / u128::from(per.0);
        Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    fn read(text: &str) -> Result<Self, Misfit> {
        let Some((bytes, rate)) = text.split_once('/') else {
            let bytes = text.parse().map_err(unit)?;
            return Ok(Self { bytes, per: None });
        };
        let (bytes, per) = (bytes.parse().map_err(unit)?, rate.parse().map_err(unit)?);
        if per == Rate(0) {
            return Err(Misfit::new("nothing is in proportion to a rate of 0")
                .help("name a rate that ports have, like \"100KB/10Gbps\""));
        }
        Ok(Self {
            bytes,
            per: Some(per),
        })
    }
}

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.per {
            None => self.bytes.fmt(f),
            Some(per) => write!(f, "{}/{per}", self.bytes),
        }
    }
}

/// A value of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Bits per second.
    Rate(Rate),
    /// Picoseconds.
    Span(Span),
    /// Bytes.
    Bytes(Bytes),
    /// Bytes, by the rate of a port or not.
    Room(Room),
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// True or false.
    Flag(bool),
    /// A string or a word.
    Text(String),
    /// A list.
    List(Vec<Value>),
}

/// Why a value does not fit its key.
pub(crate) struct Misfit {
    pub message: String,
    pub help: Option<String>,
}

impl Misfit {
    fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: None,
        }
    }
    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl Type {
    /// What a wrong value is told.
    fn wanted(&self) -> String {
        let article = if matches!(self, Self::Flag) { "" } else { "a " };
        format!("this key takes {article}{}", self.describe())
    }

    /// The type in a reference table.
    pub fn describe(&self) -> String {
        match self {
            Self::Rate => format!("rate, {RATE_MIN} to {RATE_MAX}, like \"100Gbps\""),
            Self::Span => "time, like \"1.5us\"".to_owned(),
            Self::Bytes => "size, like \"64KB\"".to_owned(),
            Self::Room => {
                "size, like \"64KB\", or in proportion to the port's rate, like \"100KB/10Gbps\""
                    .to_owned()
            }
            Self::Count(low, u64::MAX) => format!("whole number from {low}"),
            Self::Count(low, high) => format!("whole number, {low} to {high}"),
            Self::Number(low, high) if *high >= f64::MAX => format!("number from {low}"),
            Self::Number(low, high) => format!("number, {low} to {high}"),
            Self::Flag => "true or false".to_owned(),
            Self::Text => "string".to_owned(),
            Self::Word(words) => words()
                .iter()
                .map(|w| format!("\"{w}\""))
                .collect::<Vec<_>>()
                .join(", "),
            Self::Transport => "name of a transport".to_owned(),
            Self::Control => "name of a flow control".to_owned(),
            Self::List(of) => format!("list of: {}", of.describe()),
        }
    }

    /// A value of it, as a scenario writes it.
    pub(crate) fn example(&self) -> &'static str {
        match self {
            Self::Rate => "\"100Gbps\"",
            Self::Span => "\"1.5us\"",
            Self::Bytes | Self::Room => "\"64KB\"",
            Self::Count(..) => "8",
            Self::Number(..) => "0.5",
            Self::Flag => "true",
            Self::Text | Self::Word(_) | Self::Transport | Self::Control => "\"...\"",
            Self::List(_) => "[...]",
        }
    }

    /// Reads `node` as a value of this type.
    pub(crate) fn read(&self, node: &Node) -> Result<Value, Misfit> {
        let data = &node.data;
        match (self, data) {
            (Self::Rate, Data::Text(s)) => match s.parse().map_err(unit)? {
                rate if rate > RATE_MAX => Err(Misfit::new(format!(
                    "no line has more than {RATE_MAX}, where a byte takes a picosecond"
                ))
                .help(self.wanted())),
                Rate(0) => Err(Misfit::new("a line of rate 0 carries nothing").help(self.wanted())),
                rate if rate < RATE_MIN => Err(Misfit::new(format!(
                    "no line has less than {RATE_MIN}, where a frame takes seconds"
                ))
                .help(self.wanted())),
                rate => Ok(Value::Rate(rate)),
            },
            (Self::Span, Data::Text(s)) => quantity(s.parse().map(Value::Span)),
            (Self::Bytes, Data::Text(s)) => quantity(s.parse().map(Value::Bytes)),
            (Self::Room, Data::Text(s)) => Room::read(s).map(Value::Room),
            (
                Self::Rate | Self::Span | Self::Bytes | Self::Room,
                Data::Integer(_) | Data::Number(_),
            ) => Err(Misfit::new("a bare number has no unit").help(format!(
                "write it as a string with its unit, like {}",
                self.example()
            ))),
            (Self::Count(low, high), Data::Integer(i)) => match u64::try_from(*i) {
                Ok(n) if n >= *low && n <= *high => Ok(Value::Count(n)),
                _ => Err(Misfit::new(format!("{i} is out of range")).help(self.wanted())),
            },
            (Self::Number(low, high), Data::Integer(_) | Data::Number(_)) => {
                let x = number(data);
                if x >= *low && x <= *high {
                    Ok(Value::Number(x))
                } else {
                    Err(Misfit::new(format!("{} is out of range", short(x))).help(self.wanted()))
                }
            }
            (Self::Flag, Data::Flag(b)) => Ok(Value::Flag(*b)),
            (Self::Text | Self::Transport | Self::Control, Data::Text(s)) => {
                Ok(Value::Text(s.clone()))
            }
            (Self::Word(words), Data::Text(s)) => {
                let words = words();
                if words.contains(&s.as_str()) {
                    return Ok(Value::Text(s.clone()));
                }
                let misfit = Misfit::new(format!("\"{s}\" is not known here"));
                Err(match crate::diagnostic::nearest(s, words.iter().copied()) {
                    Some(near) => misfit.help(format!("did you mean \"{near}\"?")),
                    None => misfit.help(format!("use one of {}", self.describe())),
                })
            }
            (Self::List(of), Data::List(list)) => list
                .iter()
                .map(|item| of.read(item))
                .collect::<Result<_, _>>()
                .map(Value::List),
            (Self::List(of), _) => of.read(node).map(|one| Value::List(vec![one])),
            (Self::Count(..), Data::Text(s))
                if s.len() > 18 && s.bytes().all(|b| b.is_ascii_digit()) =>
            {
                Err(Misfit::new(format!("{s} is out of range")).help(self.wanted()))
            }
            _ => Err(Misfit::new(format!("this is {}", data.what())).help(self.wanted())),
        }
    }
}

fn quantity(parsed: Result<Value, ParseError>) -> Result<Value, Misfit> {
    parsed.map_err(unit)
}

#[allow(clippy::needless_pass_by_value, reason = "as `map_err` gives it")]
fn unit(why: ParseError) -> Misfit {
    Misfit::new(why.to_string())
}

/// A number as people write it: not with hundreds of zeros.
fn short(x: f64) -> String {
    if x == 0.0 || (1e-9..1e15).contains(&x.abs()) {
        x.to_string()
    } else {
        format!("{x:e}")
    }
}

fn number(data: &Data) -> f64 {
    match data {
        Data::Integer(i) => *i as f64,
        Data::Number(x) => *x,
        Data::Text(_) | Data::Flag(_) | Data::List(_) | Data::Table(_) => f64::NAN,
    }
}

impl Value {
    /// The value as a scenario file writes it.
    pub(crate) fn toml(&self) -> toml::Value {
        match self {
            Self::Rate(x) => toml::Value::String(x.to_string()),
            Self::Span(x) => toml::Value::String(x.to_string()),
            Self::Bytes(x) => toml::Value::String(x.to_string()),
            Self::Room(x) => toml::Value::String(x.to_string()),
            Self::Count(n) => {
                toml::Value::Integer(i64::try_from(*n).expect("a count was read from an i64"))
            }
            Self::Number(x) => toml::Value::Float(*x),
            Self::Flag(b) => toml::Value::Boolean(*b),
            Self::Text(s) => toml::Value::String(s.clone()),
            Self::List(list) => toml::Value::Array(list.iter().map(Self::toml).collect()),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.toml().fmt(f)
    }
}
