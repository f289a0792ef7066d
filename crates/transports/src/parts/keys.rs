//! Parameters as one table of keys: what reads them, writes them and documents them.

use crate::{ParamError, Parameter, Transport};
use toml::{Table, Value};
use units::Span;

/// One parameter of a transport whose parameters are a `P`.
pub struct Key<P> {
    /// Its name in TOML.
    pub key: &'static str,
    /// What it means, with its unit.
    pub meaning: &'static str,
    /// Where the default comes from.
    pub source: &'static str,
    /// Writes it as TOML.
    pub get: fn(&P) -> Value,
    /// Reads it from TOML; the error says what to write instead.
    pub set: fn(&mut P, &Value) -> Result<(), String>,
}

/// The key that selects a set of values; it is read before all others.
const PROFILE: &str = "profile";

/// The name under `profile`, or `default`.
///
/// # Errors
/// If the name is no string.
pub fn profile<'a>(table: &'a Table, default: &'a str) -> Result<&'a str, ParamError> {
    match table.get(PROFILE) {
        None => Ok(default),
        Some(Value::String(name)) => Ok(name),
        Some(other) => Err(error(
            PROFILE,
            format!("{other} is no name; write it like \"{default}\""),
        )),
    }
}

/// Changes `params` by what `table` says.
///
/// # Errors
/// The first key that is unknown or has a value out of range.
pub fn apply<'a, P: 'a>(
    keys: impl IntoIterator<Item = &'a Key<P>, IntoIter: Clone>,
    table: &Table,
    params: &mut P,
) -> Result<(), ParamError> {
    let keys = keys.into_iter();
    for (name, value) in table {
        if name == PROFILE {
            continue;
        }
        let Some(key) = keys.clone().find(|key| key.key == name) else {
            let known = keys.map(|key| key.key).chain([PROFILE]);
            return Err(error(name, unknown("no such parameter", name, known)));
        };
        (key.set)(params, value).map_err(|message| error(name, message))?;
    }
    Ok(())
}

/// Every parameter of `params`, as a table that [`apply`] reads back.
pub fn write<P>(keys: &[Key<P>], profile: &str, params: &P) -> Table {
    let mut table = Table::new();
    table.insert(PROFILE.to_owned(), Value::String(profile.to_owned()));
    table.extend(
        keys.iter()
            .map(|key| (key.key.to_owned(), (key.get)(params))),
    );
    table
}

/// The documentation of every key, with the values of `defaults`.
pub fn document<P>(keys: &[Key<P>], defaults: &P) -> Vec<Parameter> {
    let document = |key: &Key<P>| Parameter {
        key: key.key,
        default: (key.get)(defaults).to_string(),
        meaning: key.meaning,
        source: key.source,
    };
    keys.iter().map(document).collect()
}

/// An error about `key`.
pub fn error(key: &str, message: impl Into<String>) -> ParamError {
    ParamError {
        key: key.to_owned(),
        message: message.into(),
    }
}

/// "what; did you mean X?" or the list of what is known.
pub fn unknown(what: &str, name: &str, known: impl Iterator<Item = &'static str>) -> String {
    let known: Vec<_> = known.collect();
    let near = known.iter().map(|k| (distance(name, k), k)).min();
    match near {
        Some((distance, near)) if distance <= name.len().max(3) / 2 => {
            format!("{what}; did you mean \"{near}\"?")
        }
        _ => format!("{what}; known are {}", known.join(", ")),
    }
}

/// Edits (insert, delete, replace) from one text to the other. [Wagner and Fischer 1974]
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.bytes().enumerate() {
            let replace = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// A number from `low` to `high`: `0.5`, or a fraction in a string: `"1/16"`.
///
/// # Errors
/// What to write instead.
pub fn number(value: &Value, low: f64, high: f64) -> Result<f64, String> {
    let wrong =
        || format!("{value} is no number from {low} to {high}; write it like {low} or \"1/16\"");
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
    if (low..=high).contains(&number) {
        Ok(number)
    } else {
        Err(wrong())
    }
}

/// A whole number from `low` to `high`.
///
/// # Errors
/// What to write instead.
pub fn count(value: &Value, low: u16, high: u16) -> Result<u16, String> {
    let number = value
        .as_integer()
        .and_then(|number| u16::try_from(number).ok());
    number
        .filter(|number| (low..=high).contains(number))
        .ok_or_else(|| format!("{value} is no whole number from {low} to {high}"))
}

/// `true` or `false`.
///
/// # Errors
/// What to write instead.
pub fn flag(value: &Value) -> Result<bool, String> {
    value
        .as_bool()
        .ok_or_else(|| format!("{value} is neither true nor false"))
}

/// A time of at least `low`, with its unit.
///
/// # Errors
/// What to write instead.
pub fn span(value: &Value, low: Span, high: Span) -> Result<Span, String> {
    let text = value.as_str().ok_or_else(|| {
        format!("{value} is no time; write it with its unit in quotes, like \"{low}\"")
    })?;
    let span: Span = text
        .parse()
        .map_err(|error: units::ParseError| error.to_string())?;
    if (low..=high).contains(&span) {
        Ok(span)
    } else {
        Err(format!(
            "\"{text}\" is out of range; it may lie between \"{low}\" and \"{high}\""
        ))
    }
}

/// A size in whole bytes from `low` to `high`, with its unit.
///
/// # Errors
/// What to write instead.
pub fn bytes(value: &Value, low: u16, high: u16) -> Result<u16, String> {
    let text = value.as_str().ok_or_else(|| {
        format!("{value} is no size; write it with its unit in quotes, like \"{low}B\"")
    })?;
    let size: units::Bytes = text
        .parse()
        .map_err(|error: units::ParseError| error.to_string())?;
    u16::try_from(size.get())
        .ok()
        .filter(|size| (low..=high).contains(size))
        .ok_or_else(|| {
            format!("\"{text}\" is out of range; it may lie between \"{low}B\" and \"{high}B\"")
        })
}

/// One of a few words.
///
/// # Errors
/// The nearest word, or all of them.
pub fn word<T: Copy>(value: &Value, words: &[(&'static str, T)]) -> Result<T, String> {
    let text = value.as_str().unwrap_or_default();
    words
        .iter()
        .find(|(name, _)| *name == text)
        .map(|&(_, meaning)| meaning)
        .ok_or_else(|| {
            unknown(
                &format!("{value} is not known"),
                text,
                words.iter().map(|w| w.0),
            )
        })
}

/// Checks what must hold of a transport's parameters: defaults resolve to themselves, every key is
/// explained and takes its own default, and a typing error is answered with the right key.
///
/// # Panics
/// If one of them does not hold.
pub fn examine(transport: &dyn Transport) {
    let name = transport.name();
    let read = |text: &str| {
        let table: Table = text
            .parse()
            .unwrap_or_else(|error| panic!("{name}: {text}: {error}"));
        transport.configure(&table)
    };
    assert!(!transport.summary().is_empty(), "{name} has no summary");
    let default = read("")
        .unwrap_or_else(|error| panic!("{name}: defaults: {error}"))
        .resolved();
    let again =
        read(&default.to_string()).unwrap_or_else(|error| panic!("{name}: resolved: {error}"));
    assert_eq!(
        again.resolved(),
        default,
        "{name}: resolving twice changes something"
    );
    for Parameter {
        key,
        default: text,
        meaning,
        source,
    } in transport.parameters()
    {
        let line = format!("{key} = {text}");
        let factory = read(&line).unwrap_or_else(|error| panic!("{name}: {line}: {error}"));
        assert_eq!(
            factory.resolved(),
            default,
            "{name}: {line} is not the default"
        );
        assert!(!meaning.is_empty() && !source.is_empty(), "{name}: {key}");
        let wrong = format!("{key}x = {text}");
        let error = read(&wrong)
            .err()
            .unwrap_or_else(|| panic!("{name}: {wrong} is accepted"));
        assert!(
            error.to_string().contains(&format!("\"{key}\"")),
            "{name}: {wrong}: {error}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_key_gets_the_nearest_one() {
        assert_eq!(
            unknown(
                "no such parameter",
                "w_ini",
                ["alpha", "w_init", "w_min"].into_iter()
            ),
            "no such parameter; did you mean \"w_init\"?"
        );
        assert_eq!(
            unknown(
                "no such parameter",
                "colour",
                ["alpha", "w_init"].into_iter()
            ),
            "no such parameter; known are alpha, w_init"
        );
    }

    #[test]
    fn values_need_their_kind_and_range() {
        assert_eq!(number(&Value::from("1/16"), 0.0, 1.0), Ok(0.0625));
        assert!(number(&Value::from("1/0"), 0.0, 1.0).is_err());
        assert!(number(&Value::from(f64::NAN), 0.0, 1.0).is_err());
        assert!(number(&Value::from(-1), 0.0, 1.0).is_err());
        assert_eq!(
            span(&Value::from("1.5us"), Span::ZERO, Span::ms(1)),
            Ok(Span::ns(1500))
        );
        assert!(
            span(&Value::from(5), Span::ZERO, Span::ms(1))
                .unwrap_err()
                .contains("unit")
        );
        assert_eq!(bytes(&Value::from("84B"), 60, 92), Ok(84));
        assert!(bytes(&Value::from("1KB"), 60, 92).is_err());
        assert_eq!(count(&Value::from(8), 1, 8), Ok(8));
        assert!(count(&Value::from(0), 1, 8).is_err());
    }
}
