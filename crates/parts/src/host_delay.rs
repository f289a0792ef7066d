//! How long a host takes to answer what came, as a parameter: always the same, or drawn.

use crate::forms::{Form as _, Own, Time, Written};
use model::Rng;
use toml::{Table, Value};
use units::Span;

/// How long a host takes from a packet to its answer.
#[derive(Clone, Debug, PartialEq)]
pub enum HostDelay {
    /// Always the same.
    Constant(Span),
    /// Uniform from the first to the second.
    Uniform(Span, Span),
    /// Uniform between neighbours of a list of evenly spaced quantiles, ascending.
    Quantiles(Vec<Span>),
}

impl HostDelay {
    /// How long it takes this time.
    pub fn draw(&self, rng: &mut Rng) -> Span {
        match self {
            Self::Constant(constant) => *constant,
            Self::Uniform(low, high) => Span(rng.between(low.0, high.0)),
            Self::Quantiles(list) => {
                // A place between two neighbours, each pair equally likely.
                let pair = rng.below(list.len() as u64 - 1);
                let pair = usize::try_from(pair).expect("QUANTILES_MAX at most");
                Span(rng.between(list[pair].0, list[pair + 1].0))
            }
        }
    }

    /// The least and the most.
    pub fn range(&self) -> (Span, Span) {
        match self {
            Self::Constant(delay) => (*delay, *delay),
            Self::Uniform(least, most) => (*least, *most),
            Self::Quantiles(list) => {
                let end = |end: Option<&Span>| end.copied().unwrap_or_default();
                (end(list.first()), end(list.last()))
            }
        }
    }
}

/// Quantiles of a measured delay. [ours]
const QUANTILES_MAX: usize = 1024;
/// Longest delay. [ours]
const SPAN_MAX: Span = Span::ms(100_000);

/// A [`HostDelay`] as a parameter.
pub const HOST_DELAY: Own<HostDelay> = Own(
    "a time, { uniform = [a, b] } or { quantiles = [...] }",
    &[
        Written::Time,
        Written::Table("uniform", &Written::List(&Written::Time, 2, 2)),
        Written::Table(
            "quantiles",
            &Written::List(&Written::Time, 2, QUANTILES_MAX),
        ),
    ],
    read,
    write,
);

fn read(value: &Value) -> Result<HostDelay, String> {
    let one = |value: &Value| Time(Span::ZERO, SPAN_MAX).read(value);
    let drawn =
        "{ uniform = [\"0.9us\", \"6.2us\"] } or { quantiles = [\"0.9us\", ..., \"6.2us\"] }";
    let Some(table) = value.as_table() else {
        let delay = one(value).map(HostDelay::Constant);
        return delay.map_err(|why| format!("{why}, or {drawn}"));
    };
    let help = format!("write a time like \"1us\", {drawn}");
    let mut entries = table.iter();
    let (Some((name, list)), None) = (entries.next(), entries.next()) else {
        return Err(help);
    };
    let (most, many) = match name.as_str() {
        "uniform" => (2, "2".to_owned()),
        "quantiles" => (QUANTILES_MAX, format!("2 to {QUANTILES_MAX}")),
        _ => return Err(help),
    };
    let Some(list) = list.as_array() else {
        return Err(help);
    };
    let list = list.iter().map(one).collect::<Result<Vec<_>, _>>()?;
    if !(2..=most).contains(&list.len()) || !list.is_sorted() {
        return Err(format!("{name} takes {many} ascending times; {help}"));
    }
    Ok(match (name.as_str(), &list[..]) {
        ("uniform", &[low, high]) => HostDelay::Uniform(low, high),
        _ => HostDelay::Quantiles(list),
    })
}

fn write(delay: &HostDelay) -> Value {
    let span = |span: Span| Value::from(span.to_string());
    let (name, list) = match delay {
        HostDelay::Constant(constant) => return span(*constant),
        HostDelay::Uniform(low, high) => ("uniform", vec![*low, *high]),
        HostDelay::Quantiles(list) => ("quantiles", list.clone()),
    };
    let list = list.into_iter().map(span).collect();
    Value::Table(Table::from_iter([(name.to_owned(), Value::Array(list))]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_the_same_and_has_a_range() {
        let ns = |list: &[u64]| list.iter().map(|&ns| Span::ns(ns)).collect::<Vec<_>>();
        for (delay, least, most) in [
            (HostDelay::Constant(Span::ns(7)), 7, 7),
            (
                HostDelay::Uniform(Span::ns(900), Span::ns(6_200)),
                900,
                6_200,
            ),
            (HostDelay::Quantiles(ns(&[1, 2, 9])), 1, 9),
        ] {
            assert_eq!(
                HOST_DELAY.read(&HOST_DELAY.write(&delay)),
                Ok(delay.clone())
            );
            let range = (Span::ns(least), Span::ns(most));
            assert_eq!(delay.range(), range);
            let mut rng = Rng::stream(1, 1, 1);
            for _ in 0..100 {
                let drawn = delay.draw(&mut rng);
                assert!(range.0 <= drawn && drawn <= range.1, "{drawn} of {delay:?}");
            }
        }
    }

    #[test]
    fn a_wrong_delay_is_told_how_to_write_it() {
        for wrong in [
            "3",
            "{ uniform = [\"2us\", \"1us\"] }",
            "{ uniform = [\"1us\", \"2us\", \"3us\"] }",
            "{ quantiles = [\"1us\"] }",
            "{ quantiles = [\"1us\", \"101s\"] }",
            "{ uniform = [\"1us\", \"2us\"], more = 1 }",
            "{ normal = [\"1us\", \"2us\"] }",
        ] {
            let table: Table = format!("of = {wrong}").parse().unwrap();
            let why = HOST_DELAY.read(&table["of"]).unwrap_err();
            assert!(
                why.contains("{ uniform = ") || why.contains("out of range"),
                "{why}"
            );
            assert!(why.matches("write").count() < 2, "{why}");
            let two = wrong.contains("uniform = ") && !wrong.contains("more");
            assert_eq!(
                why.contains("uniform takes 2 ascending times"),
                two,
                "{why}"
            );
        }
    }
}
