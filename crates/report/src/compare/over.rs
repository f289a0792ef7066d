//! Runs over each other: how completion times are distributed, and how queues grow and empty.

use super::{Details, curve_name, ends, wide};
use crate::chart::{Axis, Line, LineChart};
use crate::page::{Section, Tile, markup};
use results::compare::{By, Comparison, Group};
use results::stats::{Dist, Interval};
use results::{Curves, QueueCurve, SizeCurves, Summary, Unit, human};
use std::fmt::Write as _;

/// Moments of the common axis of queues. [ours: half a page wide, two dots each]
const MOMENTS: u64 = 160;
/// Where queues differ so much that their axis is logarithmic, it begins here: less than a frame is as good as none.
const QUEUE_MIN: f64 = 1_000.0;

/// The groups that are drawn over each other, each with its runs.
pub(super) struct Over<'a> {
    lines: Vec<Drawn<'a>>,
    /// What they share, in words; empty where nothing else is compared.
    place: String,
    /// That there are more groups than colours.
    left_out: String,
}

struct Drawn<'a> {
    name: String,
    group: &'a Group,
    runs: Vec<&'a Summary>,
    curves: Vec<&'a Curves>,
}

impl<'a> Over<'a> {
    /// The rivals where it is hardest; every group where nobody has a rival.
    pub(super) fn new(
        comparison: &'a Comparison,
        runs: &[&'a Summary],
        details: &'a [Details],
    ) -> Self {
        let last = comparison.groups.last();
        let rivals: Vec<&Group> = last.map_or(Vec::new(), |last| comparison.rivals(last).collect());
        let alone = rivals.len() < 2;
        let groups = if alone {
            comparison.groups.iter().collect()
        } else {
            rivals
        };
        let settings = last
            .filter(|_| !alone)
            .map_or(&[][..], |last| &last.settings);
        let place = settings
            .iter()
            .map(|(key, value)| format!("{} {value}", results::table::last_part(key)));
        let (groups, left_out) = super::drawn(groups);
        let drawn = |group: &'a Group| {
            let own = |run: &&Summary| {
                group.fingerprints.contains(&run.fingerprint) && run.transport == group.transport
            };
            let mut with = Vec::new();
            for (run, details) in runs.iter().zip(details).filter(|(run, _)| own(run)) {
                with.extend(
                    details
                        .curves
                        .as_ref()
                        .filter(|c| c.fingerprint == run.fingerprint),
                );
            }
            Drawn {
                name: if alone {
                    curve_name(group, None)
                } else {
                    group.transport.clone()
                },
                group,
                runs: runs.iter().copied().filter(own).collect(),
                curves: with,
            }
        };
        Self {
            place: place.collect::<Vec<_>>().join(", "),
            left_out,
            lines: groups.into_iter().map(drawn).collect(),
        }
    }

    fn seeds(&self) -> usize {
        let seeds = self.lines.iter().map(|drawn| drawn.group.seeds.len());
        seeds.max().unwrap_or(0)
    }

    fn at(&self) -> String {
        if self.place.is_empty() {
            self.left_out.clone()
        } else {
            format!("At {}. {}", self.place, self.left_out)
        }
    }

    fn bands(&self) -> &'static str {
        if self.seeds() > 1 {
            " Lines are means over the seeds, bands span them."
        } else {
            ""
        }
    }

    /// How far each is from a network of its own, before anything else.
    pub(super) fn tiles(&self) -> Vec<Tile> {
        let tile = |drawn: &Drawn<'_>| {
            let mean = |get: fn(&Dist<f64>) -> f64| {
                let dists = drawn.runs.iter().filter_map(|run| run.all().slowdown);
                let values: Vec<f64> = dists.map(|dist| get(&dist)).collect();
                Interval::of(&values).map(|interval| human::ratio(interval.mean))
            };
            let bound = drawn.runs.iter().filter_map(|run| run.all().slowdown);
            let bound = bound
                .map(|dist| dist.p99.at_least)
                .fold(false, |a, b| a | b);
            let (p99, p50) = (mean(|dist| dist.p99.value)?, mean(|dist| dist.p50.value)?);
            Some(Tile {
                name: drawn.name.clone().into(),
                value: format!("{}{p99} ×", if bound { "≥ " } else { "" }),
                note: format!("the time of an idle network at p99, {p50} × at the median"),
            })
        };
        self.lines.iter().filter_map(tile).collect()
    }

    /// What an idle network would show in the place of this metric, where that is known.
    pub(super) fn optimum(&self, by: By) -> Option<f64> {
        let share = match by {
            By::SlowdownP99 => return Some(1.0),
            By::FctP50 => 5_000,
            By::FctP99 => 9_900,
            _ => return None,
        };
        let curves = self.lines.iter().find_map(|drawn| drawn.curves.first())?;
        let at = curves.shares.iter().position(|&at| at == share)?;
        let all = curves.sizes.first()?;
        // Other settings may change the network, and with it what it takes when idle.
        let same = |other: &&Curves| {
            let ideal = other.sizes.first().and_then(|all| all.ideal_ps.get(at));
            ideal.is_some_and(|&ideal| all.ideal_ps[at].abs_diff(ideal) * 100 <= ideal)
        };
        let every = self.lines.iter().flat_map(|drawn| &drawn.curves);
        every
            .copied()
            .all(|other| same(&other))
            .then(|| all.ideal_ps[at] as f64)
    }

    /// Completion times and slowdowns as distributions, size by size.
    pub(super) fn distributions(&self) -> Option<Section> {
        let known = self.lines.iter().find_map(|drawn| drawn.curves.first())?;
        let mut bins: Vec<(&str, &str)> = Vec::new();
        for of in self
            .lines
            .iter()
            .flat_map(|d| &d.curves)
            .flat_map(|c| &c.sizes)
        {
            if bins.iter().all(|&(name, _)| name != of.name) {
                bins.push((&of.name, &of.label));
            }
        }
        // One range of sizes says twice what all sizes say.
        if bins.len() == 2 {
            bins.truncate(1);
        }
        let many = bins.len() > 1;
        let (mut body, mut points) = (String::from("<div class=\"tabs\">"), 0);
        for (name, label) in bins {
            let charts = [
                self.distribution(known, name, label, &Measure::FCT),
                self.distribution(known, name, label, &Measure::SLOWDOWN),
            ];
            let label = results::escape(label);
            let _ = write!(body, "<div class=\"pane\" data-tab=\"{label}\">");
            if many {
                let _ = write!(body, "<h3>{label}</h3>");
            }
            for chart in charts.iter().flatten() {
                points += chart.points();
                let _ = write!(body, "<div>{}</div>", chart.html());
            }
            body.push_str("</div>");
        }
        body.push_str("</div>");
        Some(Section {
            id: "distributions".into(),
            title: "How long messages took".into(),
            says: format!(
                "{}Share of messages that took no longer. Further left is better; the dashed line is the same \
                 messages in an idle network. A curve ends where messages did not finish.{}",
                self.at(),
                self.bands()
            ),
            points,
            body: markup(body),
            table: None,
            fold: "",
            wide: true,
        })
    }

    fn distribution(
        &self,
        known: &Curves,
        bin: &str,
        label: &str,
        measure: &Measure,
    ) -> Option<LineChart> {
        let of = |curves: &'a Curves| curves.sizes.iter().find(|of| of.name == bin);
        let share = |i: usize| f64::from(known.shares[i]) / 1e4;
        let line = |drawn: &Drawn<'a>| {
            let runs: Vec<&SizeCurves> = drawn.curves.iter().filter_map(|c| of(c)).collect();
            let mut line = Line::new(&drawn.name, Vec::new());
            line.sideways = true;
            let upto = runs
                .iter()
                .map(|run| (measure.exact)(run))
                .min()
                .unwrap_or(0);
            for i in 0..upto.min(known.shares.len()) {
                let values = || runs.iter().filter_map(|run| (measure.get)(run, i));
                let (low, high) = ends(values())?;
                let mean = values().sum::<f64>() / runs.len() as f64;
                line.points.push((mean, share(i)));
                if runs.len() > 1 {
                    line.band.push((share(i), low, high));
                }
            }
            Some(line)
        };
        let mut lines: Vec<Line> = self
            .lines
            .iter()
            .map(|drawn| line(drawn).unwrap_or_else(|| Line::new(&drawn.name, Vec::new())))
            .collect();
        let ideal = of(self.lines.iter().find_map(|drawn| drawn.curves.first())?);
        let ideal = ideal.map_or(Vec::new(), |of| match measure.ideal {
            Some(get) => (0..known.shares.len())
                .map(|i| (get(of, i), share(i)))
                .collect(),
            None => vec![(1.0, 0.0), (1.0, 1.0)],
        });
        lines.push(Line {
            reference: true,
            ..Line::new("idle network", ideal)
        });
        let (low, high) = ends(lines.iter().flat_map(|line| &line.points).map(|at| at.0))?;
        Some(LineChart {
            label: format!("{} of messages, {label}", measure.title),
            x: Axis::log(measure.title, measure.unit, low, high),
            y: Axis::linear("share of messages", Unit::Share, 0.0, 1.0),
            lines,
            marks: Vec::new(),
        })
    }

    /// The fullest queue of the network at every moment.
    pub(super) fn queues(&self) -> Option<Section> {
        let queues = || self.lines.iter().flat_map(|drawn| &drawn.curves);
        let queues = || queues().filter_map(|curves| curves.queue.as_ref());
        let from = queues().map(|queue| queue.from_ps).min()?;
        let until = queues().map(|queue| queue.until_ps).max()?;
        let line = |drawn: &Drawn<'_>| queue_line(drawn, from, until);
        let lines: Vec<Line> = self.lines.iter().map(line).collect();
        let most = |line: &Line| {
            let band = line.band.iter().map(|band| band.2);
            line.points
                .iter()
                .map(|at| at.1)
                .chain(band)
                .fold(0.0, f64::max)
        };
        let peaks = || lines.iter().filter(|line| !line.points.is_empty());
        let (least, top) = ends(peaks().map(&most))?;
        let spread = wide(least.max(QUEUE_MIN), top);
        let title = "bytes in the fullest queue of a switch";
        let told = peaks().map(|line| format!("{} {}", line.name, Unit::Size.show(most(line))));
        let chart = LineChart {
            label: "Bytes in the fullest queue of a switch over time".into(),
            x: Axis::linear("time", Unit::Time, from as f64, until as f64),
            y: if spread {
                Axis::log(title, Unit::Size, QUEUE_MIN, top)
            } else {
                Axis::linear(title, Unit::Size, 0.0, top.max(QUEUE_MIN)).rounded()
            },
            lines: lines.clone(),
            marks: Vec::new(),
        };
        Some(Section {
            id: "queues".into(),
            title: "Queues over time".into(),
            says: format!(
                "{}At most: {}, as sampled.{}{}",
                self.at(),
                told.collect::<Vec<_>>().join(", "),
                if spread {
                    " What is below 1 KB lies on the axis."
                } else {
                    ""
                },
                self.bands()
            ),
            points: chart.points(),
            body: markup(chart.html()),
            table: None,
            fold: "",
            wide: false,
        })
    }

    /// Quantiles of the slowdown: how far into the tail each is ahead.
    pub(super) fn quantiles(&self) -> Option<Section> {
        type Get = fn(&Dist<f64>) -> f64;
        // Where a quantile lies: 1 over the share of messages beyond it.
        const QUANTILES: [(&str, f64, Get); 6] = [
            ("p50", 2.0, |dist| dist.p50.value),
            ("p90", 10.0, |dist| dist.p90.value),
            // Its neighbours' names leave no room for one on a phone.
            ("", 20.0, |dist| dist.p95.value),
            ("p99", 100.0, |dist| dist.p99.value),
            ("p99.9", 1e3, |dist| dist.p999.value),
            ("max", 1e4, |dist| dist.max.value),
        ];
        let line = |drawn: &Drawn<'_>| {
            let dists = drawn.runs.iter().filter_map(|run| run.all().slowdown);
            let dists: Vec<Dist<f64>> = dists.collect();
            let mut line = Line::new(&drawn.name, Vec::new());
            for (_, x, get) in QUANTILES {
                let values: Vec<f64> = dists.iter().map(get).collect();
                let Some(interval) = Interval::of(&values) else {
                    continue;
                };
                line.points.push((x, interval.mean));
                if values.len() > 1 {
                    line.band.push((x, interval.low, interval.high));
                }
            }
            line
        };
        let lines: Vec<Line> = self.lines.iter().map(line).collect();
        let ys = lines
            .iter()
            .flat_map(|line| &line.points)
            .map(|point| point.1);
        let (low, high) = ends(ys)?;
        let (at, labels) = QUANTILES
            .map(|(name, x, _)| (x, name.to_owned()))
            .into_iter()
            .unzip();
        let chart = LineChart {
            label: "slowdown by quantile".into(),
            x: Axis::log("quantile of messages", Unit::Ratio, 2.0, 1e4).ticked(at, labels),
            y: Axis::log("slowdown", Unit::Ratio, low.min(1.0), high),
            lines,
            marks: Vec::new(),
        };
        let bands = if self.seeds() > 1 {
            " Bands are the intervals of the means."
        } else {
            ""
        };
        Some(Section {
            id: "distribution".into(),
            title: "From the median to the last message".into(),
            says: format!(
                "{}Slowdown by quantile. Lower is better; 1 is an idle network.{bands}",
                self.at()
            ),
            points: chart.points(),
            body: markup(chart.html()),
            table: None,
            fold: "",
            wide: false,
        })
    }
}

/// What a distribution is of.
struct Measure {
    title: &'static str,
    unit: Unit,
    get: fn(&SizeCurves, usize) -> Option<f64>,
    exact: fn(&SizeCurves) -> usize,
    /// In an idle network; 1 where there is no function.
    ideal: Option<fn(&SizeCurves, usize) -> f64>,
}

impl Measure {
    const FCT: Self = Self {
        title: "completion time",
        unit: Unit::Time,
        get: |of, i| of.fct_ps.get(i).map(|&ps| ps as f64),
        exact: |of| of.fct_exact,
        ideal: Some(|of, i| of.ideal_ps.get(i).map_or(0.0, |&ps| ps as f64)),
    };
    const SLOWDOWN: Self = Self {
        title: "slowdown",
        unit: Unit::Ratio,
        get: |of, i| of.slowdown.get(i).copied(),
        exact: |of| of.slowdown_exact,
        ideal: None,
    };
}

/// The fullest queue over the runs of a line, between two moments.
fn queue_line(drawn: &Drawn<'_>, from: u64, until: u64) -> Line {
    let own = drawn
        .curves
        .iter()
        .filter_map(|curves| curves.queue.as_ref());
    let own: Vec<&QueueCurve> = own.collect();
    let last = own.iter().map(|queue| queue.until_ps).max().unwrap_or(0);
    let own: Vec<Vec<f64>> = own.iter().map(|queue| regrid(queue, from, until)).collect();
    let mut line = Line::new(&drawn.name, Vec::new());
    for moment in 0..if own.is_empty() { 0 } else { to_index(MOMENTS) } {
        let at_share = |share: f64| from as f64 + (until - from) as f64 * share / MOMENTS as f64;
        // A curve ends with its runs.
        if at_share(moment as f64) > last as f64 {
            break;
        }
        let at = at_share(moment as f64 + 0.5);
        let values = || own.iter().map(|queue| queue[moment]);
        line.points
            .push((at, values().sum::<f64>() / own.len() as f64));
        if own.len() > 1 {
            let (low, high) = ends(values()).unwrap_or_default();
            line.band.push((at, low, high));
        }
    }
    line
}

fn to_index(n: u64) -> usize {
    usize::try_from(n).expect("a number of moments fits")
}

/// The queue by moments of a common axis: the most of the moments that each of them meets; nothing before the run's
/// first message and after its last.
fn regrid(queue: &QueueCurve, from: u64, until: u64) -> Vec<f64> {
    let part = |whole: u64, of: u64, parts: u64| {
        let share = u128::from(whole) * u128::from(of) / u128::from(parts);
        u64::try_from(share).expect("a part of a whole is no larger")
    };
    let (moments, span) = (queue.most.len() as u64, queue.until_ps - queue.from_ps + 1);
    let edge = |moment: u64| from + part(until - from + 1, moment, MOMENTS);
    let most = |moment: u64| {
        let begin = edge(moment).max(queue.from_ps);
        let end = edge(moment + 1).min(queue.until_ps + 1);
        if begin >= end {
            return 0.0;
        }
        let index = |ps: u64| to_index(part(moments, ps - queue.from_ps, span));
        let own = queue.most.get(index(begin)..=index(end - 1));
        own.unwrap_or(&[]).iter().copied().max().unwrap_or(0) as f64
    };
    (0..MOMENTS).map(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_keeps_its_peak_and_its_place_on_a_longer_axis() {
        let queue = QueueCurve {
            from_ps: 1_000,
            until_ps: 1_999,
            most: vec![0, 7, 3, 0],
        };
        let long = regrid(&queue, 0, 3_999);
        assert_eq!(long.len(), 160);
        let held: Vec<usize> = (0..160).filter(|&i| long[i] > 0.0).collect();
        assert_eq!((held[0], held[held.len() - 1]), (50, 69), "{long:?}");
        assert!(
            long.contains(&7.0) && long[60] > 2.9 && long[60] < 3.1,
            "{long:?}"
        );
        let own = regrid(&queue, 1_000, 1_999);
        assert_eq!(own.iter().filter(|&&bytes| bytes > 6.9).count(), 40);
        let coarse = QueueCurve {
            most: (0..1_000).map(|i| u64::from(i == 501)).collect(),
            ..queue
        };
        assert!(regrid(&coarse, 0, 99_999).contains(&1.0), "no peak is lost");
    }
}
