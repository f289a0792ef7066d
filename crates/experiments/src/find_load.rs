//! The highest load that each combination of settings sustains.
//!
//! Loads of 0.01 to 0.99 are halved until one that is sustained lies next to one that is not, on the premise that what
//! sustains a load sustains less, too.

use crate::sweep::Point;
use results::{Summary, Verdict};
use serde_json::{Value, json};

/// What is searched.
pub const KEY: &str = "workload.load";
/// Loads are searched in hundredths, and this one is never sustained: nothing is left for headers.
pub const TOP: u32 = 100;

/// One combination, and what is known of it, with runs of type `R`.
#[derive(Debug)]
pub struct Search<R> {
    /// The combination with each seed.
    points: Vec<Point>,
    /// The highest load known to be sustained, in hundredths; 0 before there is one.
    good: u32,
    /// The lowest known not to be.
    bad: u32,
    /// Why not.
    why: String,
    /// The runs at `good`.
    best: Vec<R>,
}

impl<R> Search<R> {
    /// One for each combination: `points` has it with each seed, one behind the other.
    pub fn each(points: &[Point]) -> Vec<Self> {
        let same = |a: &Point, b: &Point| a.sets == b.sets;
        let search = |points: &[Point]| Self {
            points: points.to_vec(),
            good: 0,
            bad: TOP,
            why: String::new(),
            best: Vec::new(),
        };
        points.chunk_by(same).map(search).collect()
    }

    /// The load to try next, with each seed; nothing where the search is over.
    pub fn probe(&self) -> Vec<Point> {
        let middle = self.middle();
        let ends = self.bad - self.good <= 1;
        let at = |point: &Point| {
            let mut point = point.clone();
            let load = format!("0.{middle:02}");
            point.sets.push(format!("{KEY}={load}"));
            point.settings.push((KEY.to_owned(), load));
            point
        };
        self.points.iter().filter(|_| !ends).map(at).collect()
    }

    fn middle(&self) -> u32 {
        u32::midpoint(self.good, self.bad)
    }

    /// Takes in the runs at that load, and why one of them does not sustain it.
    pub fn learn(&mut self, runs: Vec<R>, why: Option<String>) {
        let middle = self.middle();
        match why {
            Some(why) => (self.bad, self.why) = (middle, why),
            None => (self.good, self.best) = (middle, runs),
        }
    }

    /// The runs at the highest load that is sustained.
    pub fn into_best(self) -> Vec<R> {
        self.best
    }

    /// Which combination it is, in words.
    fn name(&self) -> String {
        let sets = self.points.first().map(|point| point.sets.join(", "));
        sets.filter(|s| !s.is_empty()).unwrap_or("it".to_owned())
    }

    /// What is known before it is over, in one line.
    pub fn known(&self) -> String {
        let hundredths = |load: u32| f64::from(load) / f64::from(TOP);
        format!(
            " {}: the highest load lies from {:.2} to below {:.2}\n",
            self.name(),
            hundredths(self.good),
            hundredths(self.bad)
        )
    }

    /// What was found, in one line.
    pub fn line(&self) -> String {
        let name = self.name();
        let above = if self.bad < TOP {
            format!("; at 0.{:02} {}", self.bad, self.why)
        } else {
            String::new()
        };
        match self.good {
            0 => format!(" {name} sustains not even load 0.01: {}\n", self.why),
            good => format!(" {name} sustains load 0.{good:02}{above}\n"),
        }
    }

    /// The same for programs: the combination, the highest load that it sustains, and the next one with why not; `null`
    /// where there is none.
    pub fn row(&self) -> Value {
        let point = self.points.first();
        let load = |hundredths: u32| f64::from(hundredths) / f64::from(TOP);
        let failed = || json!({ "load": load(self.bad), "why": self.why });
        json!({
            "set": point.map(|point| &point.sets),
            "sustained": (self.good > 0).then(|| load(self.good)),
            "failed": (self.bad < TOP).then(failed),
        })
    }
}

/// Why a run does not count as sustaining its load; `broken` where its own books say that something is wrong.
pub fn not_sustained(summary: &Summary, verdicts: &[Verdict], broken: bool) -> Option<String> {
    let failed = verdicts.iter().find(|verdict| !verdict.passed);
    let what = match (failed, summary.messages.unfinished) {
        _ if broken => "flows are stuck or packets unaccounted for".to_owned(),
        _ if summary.backlog_grew => "the backlog grows".to_owned(),
        (Some(v), _) => format!("{} {} is missed with {}", v.key, v.condition, v.measured),
        (None, 0) => return None,
        (None, n) => format!("{n} messages do not finish"),
    };
    Some(format!("{what} (seed {})", summary.seed))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found where `limit` hundredths are sustained and no more, and at which loads it ran.
    fn found(limit: u32) -> (String, Vec<u32>) {
        let point = |set: &str, seed| Point {
            sets: vec![set.to_owned()],
            seed,
            ..Point::default()
        };
        let mut searches = Search::each(&[point("a=1", 1), point("a=1", 2), point("a=2", 1)]);
        assert_eq!(searches.len(), 2, "seeds are searched together");
        let mut search = searches.remove(0);
        let mut tried = Vec::new();
        loop {
            let points = search.probe();
            let Some(first) = points.first() else {
                break;
            };
            assert_eq!(points.len(), 2);
            let load = first.settings[0].1.strip_prefix("0.").unwrap();
            let load: u32 = load.parse().unwrap();
            assert_eq!(first.sets[1], format!("workload.load=0.{load:02}"));
            tried.push(load);
            let why = (load > limit).then(|| "it is too much".to_owned());
            search.learn(vec![load, load], why);
        }
        let line = search.line();
        let best = search.into_best();
        assert!(best.iter().all(|&load| load == limit), "{best:?}");
        (line, tried)
    }

    #[test]
    fn loads_are_halved_until_the_highest_that_is_sustained_is_known() {
        let (line, tried) = found(42);
        assert_eq!(line, " a=1 sustains load 0.42; at 0.43 it is too much\n");
        assert_eq!(tried, [50, 25, 37, 43, 40, 41, 42]);
        assert_eq!(found(99).0, " a=1 sustains load 0.99\n");
        let nothing = " a=1 sustains not even load 0.01: it is too much\n";
        assert_eq!(found(0).0, nothing);
    }
}
