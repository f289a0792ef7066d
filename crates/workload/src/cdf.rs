//! Readers of flow-size distributions in the dialects that simulators use.
//!
//! | dialect | a line | probability |
//! | --- | --- | --- |
//! | [`Dialect::Csv`] | `size_bytes,cumulative_probability` first, then such pairs | to 1 |
//! | [`Dialect::Hpcc`] | `size percent` | to 100 |
//! | [`Dialect::Ns2`] | `size anything probability` | to 1 |
//! | [`Dialect::Homa`] | the mean first, then `size probability` | to 1 |
//! | [`Dialect::TrafficGenerator`] | `size probability` | to 1 |
//! | [`Dialect::CpNode`] | `w1` to `w5`, or one size in bytes | - |

use crate::dist::check_points;
use crate::{Interp, Point, SizeDist, Tail, TextError, sizes};
use units::text::{Field, comma_lines, lines};

/// Who writes a distribution like that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// Ours: comma separated, with a header that names the unit.
    Csv,
    /// HPCC's traffic generator. [hpcc artefact, `traffic_gen`]
    Hpcc,
    /// ns-2's empirical variable, also of pFabric and YAPS. [xpass artefact, `workloads`]
    Ns2,
    /// Homa's simulator. [homa artefact, `sizeDistributions`]
    Homa,
    /// The HKUST traffic generator and the ns-3 forks that use its `cdf.c`.
    TrafficGenerator,
    /// The benchmark of Homa's Linux module: a workload's name or a size. [homa artefact, `cp_node`]
    CpNode,
}

impl Dialect {
    /// How this dialect's own reader fills the space between points.
    pub const fn interp(self) -> Interp {
        match self {
            Self::Csv | Self::Hpcc | Self::Ns2 | Self::TrafficGenerator => Interp::Linear,
            Self::Homa | Self::CpNode => Interp::Step,
        }
    }
}

/// What sizes count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SizeUnit {
    /// Bytes.
    Bytes,
    /// Packets that carry this many bytes each.
    Packets {
        /// In bytes.
        payload: u64,
    },
}

/// What the file does not say, or says otherwise than wanted. The default asks the file.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct CdfOptions {
    /// The dialect, where it is not to be guessed.
    pub dialect: Option<Dialect>,
    /// The interpolation, where it is not to be the dialect's own.
    pub interp: Option<Interp>,
    /// What sizes count; bytes unless the file says packets.
    pub unit: Option<SizeUnit>,
    /// What continues a list that ends below probability 1.
    pub tail: Option<Tail>,
}

/// A distribution as read.
#[derive(Clone, PartialEq, Debug)]
pub struct Cdf {
    /// The dialect that was given or recognised.
    pub dialect: Dialect,
    /// The distribution.
    pub dist: SizeDist,
    /// The mean that the file claims, in its own unit. Some files claim another than they have.
    pub stated_mean: Option<f64>,
}

/// Reads a distribution; `name` becomes its name.
///
/// # Errors
/// With the line and column of whatever cannot be understood.
pub fn parse_cdf(name: &str, text: &str, options: CdfOptions) -> Result<Cdf, TextError> {
    let rows: Vec<Vec<Field<'_>>> = lines(text).collect();
    let Some(first) = rows.first() else {
        return Err(TextError {
            line: 1,
            column: 1,
            message: "the file is empty; list sizes and cumulative probabilities".into(),
        });
    };
    let dialect = match options.dialect {
        Some(dialect) => dialect,
        None => detect(&rows)?,
    };
    let (rows, header) = match dialect {
        Dialect::CpNode => return cp_node(&first[0], &rows),
        Dialect::Csv => {
            let mut rows = comma_lines(text).collect::<Result<Vec<_>, TextError>>()?;
            let header = rows.remove(0);
            (rows, Some(header))
        }
        Dialect::Homa => (rows[1..].to_vec(), Some(first.clone())),
        Dialect::Hpcc | Dialect::Ns2 | Dialect::TrafficGenerator => (rows.clone(), None),
    };
    let grain = grain(dialect, header.as_deref(), options.unit)?;
    let stated_mean = match (&header, dialect) {
        (Some(header), Dialect::Homa) => Some(number(&header[0])?),
        _ => None,
    };
    let points = rows
        .iter()
        .map(|row| point(row, dialect))
        .collect::<Result<Vec<_>, TextError>>()?;
    let interp = options.interp.unwrap_or(dialect.interp());
    check_points(&points, interp, grain, options.tail).map_err(|(index, problem)| {
        let place = rows.get(index).unwrap_or(first);
        place[0].error(problem)
    })?;
    let dist = SizeDist::new(name, &points, interp, grain, options.tail)
        .expect("the points have just been checked");
    Ok(Cdf {
        dialect,
        dist,
        stated_mean,
    })
}

/// The dialect by the number of columns and the last probability.
fn detect(rows: &[Vec<Field<'_>>]) -> Result<Dialect, TextError> {
    let first = &rows[0];
    let last = rows.last().unwrap_or(first);
    if first[0].text.contains(',') || first.iter().any(|field| field.text.starts_with("size_")) {
        return Ok(Dialect::Csv);
    }
    match (first.len(), last.len()) {
        (1, 1) => Ok(Dialect::CpNode),
        (1, 2) => Ok(Dialect::Homa),
        (3, _) => Ok(Dialect::Ns2),
        // Exactly: both are written as whole numbers, and a list that ends elsewhere is broken.
        (2, 2) if number(&last[1])?.total_cmp(&100.0).is_eq() => Ok(Dialect::Hpcc),
        (2, 2) if number(&last[1])?.total_cmp(&1.0).is_eq() => Ok(Dialect::TrafficGenerator),
        (2, 2) => Err(last[1].error(format!(
            "the list ends at {}; it must reach 100 (HPCC) or 1 (all others)",
            last[1].text
        ))),
        (n, _) => Err(first[0].error(format!(
            "{n} fields; a line is \"size percent\", \"size probability\" or \"size 1 probability\""
        ))),
    }
}

fn point(row: &[Field<'_>], dialect: Dialect) -> Result<Point, TextError> {
    let (columns, shape) = match dialect {
        Dialect::Ns2 => (3, "size 1 probability"),
        Dialect::Hpcc => (2, "size percent"),
        Dialect::Csv => (2, "size,probability"),
        Dialect::Homa | Dialect::TrafficGenerator | Dialect::CpNode => (2, "size probability"),
    };
    if row.len() != columns {
        let message = format!("{} fields; a line is \"{shape}\"", row.len());
        return Err(row[0].error(message));
    }
    let upto = number(&row[columns - 1])?;
    let upto = if dialect == Dialect::Hpcc {
        upto / 100.0
    } else {
        upto
    };
    Ok(Point {
        size: number(&row[0])?,
        upto,
    })
}

fn number(field: &Field<'_>) -> Result<f64, TextError> {
    let number: Option<f64> = field.text.parse().ok();
    number
        .filter(|n| n.is_finite() && *n >= 0.0)
        .ok_or_else(|| field.error(format!("\"{}\" is not a number from 0", field.text)))
}

fn grain(
    dialect: Dialect,
    header: Option<&[Field<'_>]>,
    unit: Option<SizeUnit>,
) -> Result<u64, TextError> {
    let named = header
        .filter(|_| dialect == Dialect::Csv)
        .map(|header| &header[0]);
    match (named.map(|field| (field, field.text)), unit) {
        (Some((field, "size_packets")), None | Some(SizeUnit::Bytes)) => {
            Err(field.error("sizes in packets; say how many bytes a packet carries"))
        }
        (Some((field, "size_bytes")), Some(SizeUnit::Packets { .. })) => {
            Err(field.error("sizes are in bytes; do not give a payload per packet"))
        }
        (Some((field, text)), _) if text != "size_bytes" && text != "size_packets" => Err(field
            .error(format!(
                "column \"{text}\"; write \"size_bytes\" or \"size_packets\""
            ))),
        (_, Some(SizeUnit::Packets { payload })) => Ok(payload.max(1)),
        (_, None | Some(SizeUnit::Bytes)) => Ok(1),
    }
}

fn cp_node(word: &Field<'_>, rows: &[Vec<Field<'_>>]) -> Result<Cdf, TextError> {
    if let Some(extra) = rows.iter().flatten().nth(1) {
        return Err(extra.error("text after the workload; write one name or one size"));
    }
    let dist = match word.text.parse() {
        Ok(bytes) => SizeDist::fixed(bytes),
        Err(_) => sizes::named(word.text).ok_or_else(|| {
            word.error(format!(
                "\"{}\" is neither a size in bytes nor one of w1 to w5",
                word.text
            ))
        })?,
    };
    Ok(Cdf {
        dialect: Dialect::CpNode,
        dist,
        stated_mean: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Cdf {
        parse_cdf("test", text, CdfOptions::default()).unwrap()
    }

    #[test]
    fn every_dialect_is_recognised_and_read_by_its_own_rule() {
        let cases = [
            (
                "size_bytes,cumulative_probability\n100,0\n200,1\n",
                Dialect::Csv,
                150,
            ),
            ("100 0\n200 100\n", Dialect::Hpcc, 150),
            ("100 1 0\r\n\r\n200\t1 1\r\n", Dialect::Ns2, 150),
            ("150\n100 0.5\n200 1.0\n", Dialect::Homa, 200),
            ("100 0 # smallest\n200 1\n", Dialect::TrafficGenerator, 150),
            ("777\n", Dialect::CpNode, 777),
            ("w2\n", Dialect::CpNode, 269),
        ];
        for (text, dialect, median) in cases {
            let cdf = read(text);
            assert_eq!(cdf.dialect, dialect, "{text}");
            assert_eq!(cdf.dist.quantile(0.5), median, "{text}");
        }
        assert_eq!(read("150\n100 0.5\n200 1.0\n").stated_mean, Some(150.0));
    }

    #[test]
    fn the_user_may_overrule_the_file() {
        let options = CdfOptions {
            dialect: Some(Dialect::Ns2),
            interp: Some(Interp::Step),
            unit: Some(SizeUnit::Packets { payload: 1460 }),
            tail: None,
        };
        let cdf = parse_cdf("yaps", "1 1 0\n1 1 0.5\n3 1 1\n", options).unwrap();
        assert_eq!([0.2, 0.8].map(|u| cdf.dist.quantile(u)), [1460, 4380]);
    }

    #[test]
    fn every_mistake_has_a_place_and_a_cure() {
        let cases = [
            ("# nothing\n", "1:1: the file is empty"),
            (
                "1 0\n2 97\n",
                "2:3: the list ends at 97; it must reach 100 (HPCC) or 1",
            ),
            ("1 0\n2 x\n", "2:3: \"x\" is not a number from 0"),
            ("1 0\n-5 0.5\n2 1\n", "2:1: \"-5\" is not a number from 0"),
            ("1 0\n5 0.5\n2 1\n", "3:1: size 2 after 5"),
            (
                "1 0\n5 0.5 7\n9 1\n",
                "2:1: 3 fields; a line is \"size probability\"",
            ),
            ("1 2 3 4\n", "1:1: 4 fields; a line is"),
            (
                "1 1 0\n5 1 0.5\n",
                "2:1: the list ends at probability 0.5; it must reach 1",
            ),
            (
                "size_packets,p\n1,1\n",
                "1:1: sizes in packets; say how many bytes",
            ),
            (
                "size_bits,p\n1,1\n",
                "1:1: column \"size_bits\"; write \"size_bytes\"",
            ),
            ("size_bytes,p\n1,0\n 2, x\n", "3:5: \"x\" is not a number"),
            (
                "w9\n",
                "1:1: \"w9\" is neither a size in bytes nor one of w1 to w5",
            ),
            ("7\n8\n", "2:1: text after the workload"),
        ];
        for (text, expected) in cases {
            let error = parse_cdf("bad", text, CdfOptions::default())
                .unwrap_err()
                .to_string();
            assert!(error.starts_with(expected), "{text:?} gave {error}");
        }
    }
}
