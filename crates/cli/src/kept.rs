//! Runs of `reproduce` that are kept beside their figure, for a command that is interrupted and given again.

use experiments::{Case, Measured, Row};
use results::FileError;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::UNIX_EPOCH;

/// What one run measured, kept in a file.
pub(crate) struct Kept {
    dir: PathBuf,
    name: String,
    /// What the numbers are of: where any of it has changed, they are of something else.
    of: String,
    /// What each of them is.
    rows: Vec<String>,
}

impl Kept {
    /// The run of `case` in the folder `out` of its experiment: of the scenario with this `hash`, by this program.
    pub(crate) fn new(out: &Path, case: &Case, hash: u64, seed: u64) -> Self {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = case.name.chars().map(plain).collect();
        let row = |row: &Row| format!("{:?} {:?}", row.metric, row.window);
        Self {
            dir: out.join("runs"),
            name: format!("{name}-{seed}.txt"),
            of: format!("{}\nscenario {hash:016x}\n\n", *PROGRAM),
            rows: measured(&case.rows).map(row).collect(),
        }
    }

    /// What it measured, a number for each row that needs a run; none where not all of that is kept.
    pub(crate) fn read(&self) -> Option<Vec<Measured>> {
        let text = std::fs::read_to_string(self.dir.join(&self.name)).ok()?;
        let kept = text.strip_prefix(&self.of)?;
        let of = |row: &String| {
            let own = |line: &'_ str| number(line.strip_prefix(row.as_str())?.strip_prefix('\t')?);
            kept.lines().find_map(own)
        };
        self.rows.iter().map(of).collect()
    }

    /// Keeps what it measured.
    ///
    /// # Errors
    /// The folder or the file that cannot be written.
    pub(crate) fn write(&self, numbers: &[Measured]) -> Result<(), FileError> {
        std::fs::create_dir_all(&self.dir).map_err(|source| FileError {
            path: self.dir.clone(),
            source,
        })?;
        let mut text = self.of.clone();
        for (row, number) in self.rows.iter().zip(numbers) {
            let ends = (number.at_most, number.at_least);
            let _ = writeln!(text, "{row}\t{} {} {}", number.value, ends.0, ends.1);
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

#[cfg(test)]
mod tests {
    use super::*;
    use experiments::{Experiment, Metric};

    #[test]
    fn what_is_kept_comes_back_bit_by_bit_and_not_for_anything_else() {
        let expected = Experiment::find("aquarius-micro")
            .unwrap()
            .expected()
            .unwrap();
        let case = &expected.cases[0];
        let out = std::env::temp_dir().join(format!("tidegate-kept-{}", std::process::id()));
        let kept = Kept::new(&out, case, 7, 1);
        assert_eq!(kept.read(), None, "nothing is kept yet");
        let rows = measured(&case.rows).count();
        let numbers: Vec<Measured> = (0..rows)
            .map(|n| Measured {
                value: 1.0 / (n as f64 + 3.0),
                at_most: n == 1,
                at_least: n == 2,
            })
            .collect();
        kept.write(&numbers).unwrap();
        assert_eq!(kept.read(), Some(numbers));
        let other = Kept::new(&out, case, 8, 1);
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
            Kept::new(&out, &case, 7, 1).read()
        };
        let last = case.rows.last().unwrap().clone();
        assert_eq!(
            with(vec![last.clone()]).map(|some| some.len()),
            Some(1),
            "a part"
        );
        let metric = Metric::Pauses;
        assert_eq!(with(vec![Row { metric, ..last }]), None, "other rows");
        std::fs::remove_dir_all(&out).unwrap();
    }
}
