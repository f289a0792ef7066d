//! Runs of `reproduce` that are kept beside their figure, for a command that is interrupted and given again.

use experiments::{Case, Expected, Measured, Row};
use results::FileError;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::UNIX_EPOCH;

/// What one run measured and drew, kept in a file.
pub(crate) struct Kept {
    dir: PathBuf,
    name: String,
    /// What the numbers are of: where any of it has changed, they are of something else.
    of: String,
    /// What each of them is.
    rows: Vec<String>,
    /// What each curve is.
    curves: Vec<String>,
}

/// The points of a curve.
type Points = Vec<(f64, f64)>;

impl Kept {
    /// The run of `case` in the folder `out` of its experiment: of the scenario with this `hash`, by this program.
    pub(crate) fn new(out: &Path, of: &Expected, case: &Case, hash: u64, seed: u64) -> Self {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = case.name.chars().map(plain).collect();
        let row = |row: &Row| format!("{:?} {:?}", row.metric, row.window);
        let curves = of.drawn_by(&case.name);
        Self {
            dir: out.join("runs"),
            name: format!("{name}-{seed}.txt"),
            of: format!("{}\nscenario {hash:016x}\n\n", *PROGRAM),
            rows: measured(&case.rows).map(row).collect(),
            curves: curves
                .map(|(place, curve)| format!("curve {place:?} {curve:?}"))
                .collect(),
        }
    }

    /// What it measured, a number for each row that needs a run, and what it drew; none where not all of that is kept.
    pub(crate) fn read(&self) -> Option<(Vec<Measured>, Vec<Points>)> {
        let text = std::fs::read_to_string(self.dir.join(&self.name)).ok()?;
        let kept = text.strip_prefix(&self.of)?;
        let after = |what: &String| {
            let own = |line: &'_ str| {
                line.strip_prefix(what.as_str())?
                    .strip_prefix('\t')
                    .map(str::to_owned)
            };
            kept.lines().find_map(own)
        };
        let numbers = self.rows.iter().map(|row| number(&after(row)?));
        let curves = self.curves.iter().map(|curve| points(&after(curve)?));
        Some((
            numbers.collect::<Option<_>>()?,
            curves.collect::<Option<_>>()?,
        ))
    }

    /// Keeps what it measured and drew.
    ///
    /// # Errors
    /// The folder or the file that cannot be written.
    pub(crate) fn write(&self, numbers: &[Measured], curves: &[Points]) -> Result<(), FileError> {
        std::fs::create_dir_all(&self.dir).map_err(|source| FileError {
            path: self.dir.clone(),
            source,
        })?;
        let mut text = self.of.clone();
        for (row, number) in self.rows.iter().zip(numbers) {
            let ends = (number.at_most, number.at_least);
            let _ = writeln!(text, "{row}\t{} {} {}", number.value, ends.0, ends.1);
        }
        for (curve, points) in self.curves.iter().zip(curves) {
            let points: Vec<String> = points.iter().map(|(x, y)| format!("{x} {y}")).collect();
            let _ = writeln!(text, "{curve}\t{}", points.join(" "));
        }
        let fill = &mut |file: &mut dyn std::io::Write| file.write_all(text.as_bytes());
        results::files::write(&self.dir, &self.name, fill).map(drop)
    }
}

/// The rows whose numbers a run gives.
pub(crate) fn measured(rows: &[Row]) -> impl Iterator<Item = &Row> {
    rows.iter().filter(|row| row.metric.needs_a_run())
}

/// What tells this program from one built of other sources: its version, its length and when it was written. Looked at
/// once: a build may put another one in its place meanwhile.
static PROGRAM: LazyLock<String> = LazyLock::new(|| {
    let about = std::env::current_exe().and_then(std::fs::metadata).ok();
    let written = about.as_ref().and_then(|about| about.modified().ok());
    let since = written.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let length = about.map_or(0, |about| about.len());
    let nanos = since.map_or(0, |since| since.as_nanos());
    format!("tidegate {} {length} {nanos}", env!("CARGO_PKG_VERSION"))
});

fn number(line: &str) -> Option<Measured> {
    let mut words = line.split(' ');
    let mut next = || words.next();
    Some(Measured {
        value: next()?.parse().ok()?,
        at_most: next()?.parse().ok()?,
        at_least: next()?.parse().ok()?,
    })
}

fn points(line: &str) -> Option<Points> {
    let numbers = line.split(' ').filter(|word| !word.is_empty());
    let numbers: Vec<f64> = numbers
        .map(|word| word.parse().ok())
        .collect::<Option<_>>()?;
    let (points, rest) = numbers.as_chunks();
    rest.is_empty()
        .then(|| points.iter().map(|&[x, y]| (x, y)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiments::{Experiment, Metric};

    #[test]
    fn what_is_kept_comes_back_bit_by_bit_and_not_for_anything_else() {
        let expected = Experiment::find("xpass-fig17").unwrap().expected().unwrap();
        let case = &expected.cases[0];
        let out = std::env::temp_dir().join(format!("tidegate-kept-{}", std::process::id()));
        let kept = Kept::new(&out, &expected, case, 7, 1);
        assert_eq!(kept.read(), None, "nothing is kept yet");
        let curves =
            vec![vec![(1.0 / 3.0, 0.5), (2.0, 1.0)]; expected.drawn_by(&case.name).count()];
        assert!(!curves.is_empty());
        let rows = measured(&case.rows).count();
        let numbers: Vec<Measured> = (0..rows)
            .map(|n| Measured {
                value: 1.0 / (n as f64 + 3.0),
                at_most: n == 1,
                at_least: n == 2,
            })
            .collect();
        kept.write(&numbers, &curves).unwrap();
        assert_eq!(kept.read(), Some((numbers, curves)));
        let other = Kept::new(&out, &expected, case, 8, 1);
        assert_eq!(other.read(), None, "of another scenario");
        let file = out.join("runs").join(&kept.name);
        let text = std::fs::read_to_string(&file).unwrap();
        let (program, rest) = text.split_once('\n').unwrap();
        std::fs::write(&file, format!("{program}0\n{rest}")).unwrap();
        assert_eq!(kept.read(), None, "by another program");
        std::fs::write(&file, text).unwrap();
        assert!(kept.read().is_some());
        let with = |rows: Vec<Row>| {
            let case = Case {
                name: case.name.clone(),
                set: case.set.clone(),
                quick: case.quick,
                rows,
            };
            Kept::new(&out, &expected, &case, 7, 1).read()
        };
        let last = case.rows.last().unwrap().clone();
        assert_eq!(
            with(vec![last.clone()]).map(|(numbers, _)| numbers.len()),
            Some(1),
            "a part"
        );
        let metric = Metric::Pauses;
        assert_eq!(with(vec![Row { metric, ..last }]), None, "other rows");
        std::fs::remove_dir_all(&out).unwrap();
    }
}
