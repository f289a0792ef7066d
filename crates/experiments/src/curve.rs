//! Curves of a run that no list of numbers holds: distributions, and what goes on over time.

use crate::metric::{completion_times, idle_times, received};
use results::RunRecord;
use results::stats::{Figure, Sorted};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use units::{Span, Time};

/// A curve of one run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Curve {
    /// The share of messages above the first and up to the second size, in bytes, over the time in
    /// which they ended, in us.
    Fct(u64, u64),
    /// The same if each had the network for itself.
    Idle(u64, u64),
    /// What a connection receives, in Gb/s, over time in ms.
    Rate(u32),
    /// The longest queue of a switch port, in KB, over time in ms.
    Queue,
}

/// Points of a curve: shares in thousandths, or stretches of time. [ours]
const POINTS: u32 = 100;

impl Curve {
    /// Its points, by x.
    pub fn of(&self, record: &RunRecord) -> Vec<(f64, f64)> {
        match self {
            Self::Fct(low, high) => shares(completion_times(record, *low, *high)),
            Self::Idle(low, high) => shares(idle_times(record, *low, *high)),
            Self::Rate(conn) => rate(record, *conn),
            Self::Queue => queue(record),
        }
    }

    /// Whether it is a distribution: its points lie at the same shares in every run, so that several runs have a mean.
    pub(crate) fn is_distribution(&self) -> bool {
        matches!(self, Self::Fct(..) | Self::Idle(..))
    }
}

/// Shares of a distribution, in 10,000ths: the per cents, and one near the end, which an axis may end at.
fn quantiles() -> impl Iterator<Item = u32> {
    (0..POINTS)
        .map(|i| i * 10_000 / POINTS)
        .chain([9_990, 10_000])
}

/// The share of `values` up to each quantile; what did not finish ends the curve.
fn shares(values: Vec<Figure<f64>>) -> Vec<(f64, f64)> {
    if values.is_empty() {
        return Vec::new();
    }
    let sorted = Sorted::new(values);
    quantiles()
        .map(|share| (sorted.quantile(share), f64::from(share) / 1e4))
        .take_while(|(figure, _)| !figure.at_least)
        .map(|(figure, share)| (figure.value, share))
        .collect()
}

/// The stretches of time that a curve has points for, and when the first begins.
fn stretches(last: Option<Time>) -> impl Iterator<Item = (Time, Time)> {
    let length = last.unwrap_or_default().0 / u64::from(POINTS);
    let at = move |i: u32| Time(length * u64::from(i));
    (0..POINTS)
        .map(move |i| (at(i), at(i + 1)))
        .filter(|(from, until)| until > from)
}

fn rate(record: &RunRecord, conn: u32) -> Vec<(f64, f64)> {
    let point = |(from, until): (Time, Time)| {
        let bits = received(record, conn, from, until) as f64 * 8.0;
        (middle(from, until), bits * 1e3 / until.since(from).0 as f64)
    };
    let last = record.flow_series.iter().map(|row| row.at).max();
    stretches(last).map(point).collect()
}

fn queue(record: &RunRecord) -> Vec<(f64, f64)> {
    let hosts = record.ports.iter().filter(|port| port.of_host());
    let hosts: Vec<u32> = hosts.map(|port| port.link).collect();
    let rows = || {
        record
            .port_series
            .iter()
            .filter(|row| !hosts.contains(&row.link))
    };
    let point = |(from, until): (Time, Time)| {
        let within = rows().filter(|row| row.at >= from && row.at < until);
        let most = within.map(|row| row.queue).max().unwrap_or(0);
        (middle(from, until), most as f64 / 1e3)
    };
    stretches(rows().map(|row| row.at).max())
        .map(point)
        .collect()
}

/// In ms.
fn middle(from: Time, until: Time) -> f64 {
    Span(u64::midpoint(from.0, until.0)).as_us() / 1e3
}

/// The curve of a series: a mean over seeds, and between which of them it lies.
#[derive(Clone, Debug, Default, PartialEq)]
struct Mean {
    points: Vec<(f64, f64)>,
    /// The least and the greatest x of the seeds at each point; empty of one seed.
    ends: Vec<(f64, f64)>,
    seeds: u32,
}

/// The curves of a figure, by panel and series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves(BTreeMap<(usize, usize), Mean>);

impl Curves {
    /// Takes the points of one run of several seeds for a series of a panel, which is such a curve.
    pub fn add(&mut self, place: (usize, usize), curve: &Curve, points: Vec<(f64, f64)>) {
        let known = self.0.entry(place).or_default();
        known.seeds += 1;
        if known.seeds == 1 {
            known.points = points;
        } else if curve.is_distribution() {
            if known.ends.is_empty() {
                known.ends = known.points.iter().map(|&(x, _)| (x, x)).collect();
            }
            known.points.truncate(points.len());
            known.ends.truncate(points.len());
            for ((mean, ends), (x, _)) in known.points.iter_mut().zip(&mut known.ends).zip(points) {
                mean.0 += (x - mean.0) / f64::from(known.seeds);
                *ends = (ends.0.min(x), ends.1.max(x));
            }
        }
    }

    /// The points of a series.
    pub fn of(&self, place: (usize, usize)) -> &[(f64, f64)] {
        self.0.get(&place).map_or(&[], |curve| &curve.points)
    }

    /// The least and the greatest x of its seeds at each point; empty where there is one seed, or that is not on record.
    pub fn ends(&self, place: (usize, usize)) -> &[(f64, f64)] {
        self.0.get(&place).map_or(&[], |curve| &curve.ends)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As a file that [`Curves::read`] takes.
    pub fn csv(&self) -> String {
        let mut out = String::from("panel,series,x,y,low,high\n");
        for ((panel, series), curve) in &self.0 {
            for (i, (x, y)) in curve.points.iter().enumerate() {
                let _ = match curve.ends.get(i) {
                    Some((low, high)) => {
                        writeln!(out, "{panel},{series},{x:.4},{y:.4},{low:.4},{high:.4}")
                    }
                    None => writeln!(out, "{panel},{series},{x:.4},{y:.4},,"),
                };
            }
        }
        out
    }

    /// Reads what [`Curves::csv`] wrote.
    ///
    /// # Errors
    /// Names the line that is no point.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut curves = Self::default();
        for (i, line) in text.lines().enumerate().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            // Records from before ends were kept have four cells.
            let ([panel, series, x, y] | [panel, series, x, y, _, _]) = cells.as_slice() else {
                return Err(format!("line {}: four or six cells make a point", i + 1));
            };
            let wrong = || format!("line {}: a cell is no number", i + 1);
            let place = |text: &str| text.parse::<usize>().map_err(|_| wrong());
            let number = |text: &str| text.parse::<f64>().map_err(|_| wrong());
            let curve = curves.0.entry((place(panel)?, place(series)?)).or_default();
            curve.points.push((number(x)?, number(y)?));
            if let [_, _, _, _, low, high] = cells.as_slice()
                && !low.is_empty()
            {
                curve.ends.push((number(low)?, number(high)?));
            }
        }
        Ok(curves)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_finish_ends_a_distribution() {
        let value = |value: f64, at_least: bool| Figure { value, at_least };
        let points = shares(vec![
            value(1.0, false),
            value(2.0, false),
            value(3.0, true),
            value(4.0, true),
        ]);
        let (x, y) = points[points.len() - 1];
        assert!((x - 2.0).abs() < 1e-9 && (y - 0.5).abs() < 1e-9, "{x} {y}");
        assert!(shares(Vec::new()).is_empty());
    }

    #[test]
    fn curves_survive_their_file() {
        let mut curves = Curves::default();
        let curve = Mean {
            points: vec![(1.5, 0.25), (2.0, 1.0)],
            ends: vec![(1.0, 2.0), (1.5, 3.0)],
            seeds: 0,
        };
        curves.0.insert((1, 0), curve.clone());
        curves.0.insert(
            (2, 0),
            Mean {
                ends: Vec::new(),
                ..curve
            },
        );
        assert_eq!(Curves::read(&curves.csv()).unwrap(), curves);
        let old = Curves::read("panel,series,x,y\n0,0,1.0,0.5\n").unwrap();
        assert_eq!((old.of((0, 0)).len(), old.ends((0, 0)).len()), (1, 0));
        assert!(Curves::read("x\n1,2,3\n").unwrap_err().contains("line 2"));
    }
}
