//! Lists and ranges in `--set`, and the cases of a scenario, multiplied out.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// A run that takes more combinations was a slip: it would not end this year. [ours]
const RUNS_MAX: usize = 10_000;

/// What varies: a key with the values that `--set` lists, or the cases of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// What tables call it.
    pub key: String,
    /// Each with the overrides that make it.
    pub values: Vec<(String, Vec<String>)>,
    /// Whether the values differ: one value of `--set` holds for all runs.
    pub varies: bool,
}

/// Every `--set` as an axis, in their order.
///
/// # Errors
/// What is no key with a value, a range that does not step, seeds, which `--seeds` names, or a list of values for a key
/// that is set twice.
pub fn axes(sets: &[String]) -> Result<Vec<Axis>, String> {
    let axis = |set: &String| {
        let (key, value) = set.split_once('=').ok_or_else(|| {
            format!("--set {set}: write a key and a value, like workload.load=0.6")
        })?;
        let (key, values) = (key.trim(), values(value.trim())?);
        Ok(Axis {
            key: key.to_owned(),
            varies: values.len() > 1,
            values: values
                .into_iter()
                .map(|item| (item.shown, vec![format!("{key}={}", item.written)]))
                .collect(),
        })
    };
    let axes = sets.iter().map(axis).collect::<Result<Vec<_>, String>>()?;
    for (axis, set) in axes.iter().zip(sets).filter(|(axis, _)| axis.varies) {
        if axis.keys().contains(&path(SEED)) {
            return Err(format!("--set {set}: {SEEDS_TOLD}"));
        }
    }
    for (i, axis) in axes.iter().enumerate() {
        for (other, again) in axes.iter().zip(sets).skip(i + 1) {
            let Some(key) = axis.lost_to(other) else {
                continue;
            };
            return Err(format!(
                "--set {} and --set {again} both set {key}, and rows would name values that did not run; \
                 leave one of them out",
                sets[i]
            ));
        }
    }
    Ok(axes)
}

/// The key that `--seed` and `--seeds` set.
pub const SEED: &str = "run.seed";
/// Why it is no setting that may differ, and what to write.
pub const SEEDS_TOLD: &str = "every combination runs with the same seeds; name the first with --seed, like --seed 1, and how many with --seeds, like --seeds 3";

/// Whether a `--set` sets this key, in whatever form.
pub fn sets_key(set: &str, key: &str) -> bool {
    keys_of(set).contains(&path(key))
}

/// What a `--set` sets: `workload.0.load=0.6` and `workload={load=0.6}` set `workload.load`.
fn keys_of(set: &str) -> Vec<Vec<String>> {
    let (key, value) = set.split_once('=').unwrap_or((set, ""));
    let own = path(key);
    let table = value.trim().strip_prefix('{');
    let Some(table) = table.and_then(|table| table.strip_suffix('}')) else {
        return vec![own];
    };
    let items = split(table)
        .into_iter()
        .filter(|item| !item.trim().is_empty());
    items
        .flat_map(keys_of)
        .map(|key| [own.clone(), key].concat())
        .collect()
}

/// A key in its parts, without quotes; the first of several tables needs no number.
fn path(key: &str) -> Vec<String> {
    let parts = key
        .split('.')
        .map(|part| part.trim().trim_matches('"').to_owned());
    parts
        .filter(|part| part.parse::<usize>() != Ok(0))
        .collect()
}

impl Axis {
    /// What any of its values sets.
    fn keys(&self) -> BTreeSet<Vec<String>> {
        let sets = self.values.iter().flat_map(|(_, sets)| sets);
        sets.flat_map(|set| keys_of(set)).collect()
    }

    /// A key that this one and a later one set, one of them with several values; a later value of a whole table
    /// replaces what was set in it.
    fn lost_to(&self, later: &Self) -> Option<String> {
        if !self.varies && !later.varies {
            return None; // the last value holds, and no row names another
        }
        let later = later.keys();
        let lost = |key: &Vec<String>| {
            let inside = self.varies && later.iter().any(|outer| key.starts_with(outer));
            inside || later.contains(key)
        };
        self.keys().into_iter().find(lost).map(|key| key.join("."))
    }
}

/// Every combination of the values, the last axis fastest, times the seeds; each as overrides.
///
/// # Errors
/// Too many combinations.
pub fn points(axes: &[Axis], seeds: &[u64]) -> Result<Vec<Point>, String> {
    let mut points = vec![Point::default()];
    for axis in axes {
        let mut next = Vec::with_capacity(points.len() * axis.values.len());
        for point in &points {
            for (value, sets) in &axis.values {
                let mut point: Point = point.clone();
                point.sets.extend_from_slice(sets);
                if axis.varies {
                    point.settings.push((axis.key.clone(), value.clone()));
                }
                next.push(point);
            }
        }
        points = next;
        if points.len() * seeds.len() > RUNS_MAX {
            return Err(format!(
                "{} runs; at most {RUNS_MAX} are possible",
                points.len() * seeds.len()
            ));
        }
    }
    let seeded = |point: &Point| {
        seeds
            .iter()
            .map(|&seed| Point {
                seed,
                ..point.clone()
            })
            .collect::<Vec<_>>()
    };
    Ok(points.iter().flat_map(seeded).collect())
}

/// One run of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// All overrides.
    pub sets: Vec<String>,
    /// Those that differ between runs.
    pub settings: Vec<(String, String)>,
    /// The seed.
    pub seed: u64,
}

/// A value as tables show it, and as an override writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Item {
    shown: String,
    written: String,
}

impl Item {
    fn plain(text: String) -> Self {
        Self {
            written: text.clone(),
            shown: text,
        }
    }

    /// One of a list. A quoted one is the text between its quotes, whatever that looks like.
    fn listed(text: &str) -> Self {
        let text = text.trim();
        let quoted = text.starts_with(['"', '\'']);
        match toml_value(text) {
            Some(toml::Value::String(shown)) if quoted => {
                let word = |c: char| c.is_ascii_alphanumeric() || "-_+./".contains(c);
                let alone =
                    !shown.is_empty() && shown.chars().all(word) && toml_value(&shown).is_none();
                let written = if alone {
                    shown.clone()
                } else {
                    text.to_owned()
                };
                Self { shown, written }
            }
            _ => Self::plain(text.to_owned()),
        }
    }
}

/// What TOML takes the text of a value for.
fn toml_value(text: &str) -> Option<toml::Value> {
    let mut table = format!("value={text}").parse::<toml::Table>().ok()?;
    table.remove("value")
}

/// `[a, b]`, `lo..hi:step`, or one value.
fn values(text: &str) -> Result<Vec<Item>, String> {
    if let Some(list) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
        let mut items: Vec<Item> = split(list).into_iter().map(Item::listed).collect();
        // What is listed twice is run once.
        let mut seen = BTreeSet::new();
        items.retain(|item| seen.insert(item.written.clone()));
        return if items.iter().any(|item| item.written.is_empty()) {
            Err(format!("{text} has an empty item"))
        } else {
            Ok(items)
        };
    }
    match range(text) {
        Some(range) => Ok(range?.into_iter().map(Item::plain).collect()),
        None => Ok(vec![Item::plain(text.to_owned())]),
    }
}

/// Commas outside of quotes and brackets.
fn split(list: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0u32);
    let (mut quote, mut escaped) = (None, false);
    for (i, c) in list.char_indices() {
        match (quote, c) {
            (Some('"'), _) if escaped => escaped = false,
            (Some('"'), '\\') => escaped = true,
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                parts.push(&list[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts
}

/// `0.2..0.8:0.2` as decimals, exactly; `None` where the text is no range.
fn range(text: &str) -> Option<Result<Vec<String>, String>> {
    let (low, rest) = text.split_once("..")?;
    let (high, given) = match rest.split_once(':') {
        Some((high, step)) => (high, Some(step)),
        None => (rest, None),
    };
    let step = given.unwrap_or("1");
    let (unit, [low, high, step]) = decimals([low, high, step])?;
    if step.value <= 0 || high.value < low.value {
        return Some(Err(format!(
            "{text} does not step upwards; write it like 0.2..0.8:0.2"
        )));
    }
    let scale = low.scale.max(high.scale).max(step.scale);
    let (low, high, step) = (low.at(scale), high.at(scale), step.at(scale));
    let count = usize::try_from((high - low) / step).map_or(usize::MAX, |n| n.saturating_add(1));
    if count == 1 && high > low && given.is_none() {
        return Some(Err(format!(
            "{text} is less than a step of 1; write a step behind it, like 0.2..0.8:0.2"
        )));
    }
    if count > RUNS_MAX {
        return Some(Err(format!(
            "{text} has {count} values; at most {RUNS_MAX} are possible"
        )));
    }
    let mut values = Vec::new();
    let mut at = low;
    while at <= high {
        values.push(format!("{}{unit}", show(at, scale)));
        at += step;
    }
    Some(Ok(values))
}

/// A decimal number: `value` / 10^`scale`.
#[derive(Clone, Copy)]
struct Decimal {
    value: i64,
    scale: u32,
}

/// Digits after the point that a range may have.
const SCALE_MAX: u32 = 9;

impl Decimal {
    fn at(self, scale: u32) -> i64 {
        self.value * 10i64.pow(scale - self.scale)
    }
}

/// Three decimals that share a unit; any of them may carry it.
fn decimals(texts: [&str; 3]) -> Option<(String, [Decimal; 3])> {
    let mut unit = String::new();
    let mut found = [Decimal { value: 0, scale: 0 }; 3];
    for (text, slot) in texts.into_iter().zip(&mut found) {
        let text = text.trim();
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let (number, mine) = text.split_at(end);
        if !mine.is_empty() {
            if !unit.is_empty() && unit != mine {
                return None;
            }
            mine.clone_into(&mut unit);
        }
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let scale = u32::try_from(fraction.len())
            .ok()
            .filter(|&s| s <= SCALE_MAX)?;
        // Nine more digits than this still fit when scales are made equal.
        if whole.len() > 9 {
            return None;
        }
        *slot = Decimal {
            value: format!("{whole}{fraction}").parse().ok()?,
            scale,
        };
    }
    Some((unit, found))
}

fn show(value: i64, scale: u32) -> String {
    let power = 10i64.pow(scale);
    if scale == 0 {
        return value.to_string();
    }
    let width = scale as usize;
    let text = format!("{}.{:0width$}", value / power, value % power);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A part of the runs: every `of`-th from number `index` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    of: usize,
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index + 1, self.of)
    }
}

impl Shard {
    /// What falls to this part.
    pub fn of<T>(self, items: Vec<T>) -> Vec<T> {
        items
            .into_iter()
            .skip(self.index)
            .step_by(self.of)
            .collect()
    }
}

/// `--shard`: `2/3` is the second of three parts.
///
/// # Errors
/// Where it is written otherwise.
pub fn shard(text: &str) -> Result<Shard, String> {
    let parts = text.split_once('/').and_then(|(index, of)| {
        let (index, of): (usize, usize) = (index.parse().ok()?, of.parse().ok()?);
        (1..=of).contains(&index).then(|| Shard {
            index: index - 1,
            of,
        })
    });
    parts.ok_or_else(|| "write the part and how many there are, like 1/3 to 3/3".to_owned())
}

/// `--seeds`: how many from `first` on, or `a..b` with both included.
///
/// # Errors
/// Where it is neither, or does not go upwards.
pub fn seed_range(text: &str, first: u64) -> Result<RangeInclusive<u64>, String> {
    let wrong = || {
        format!("--seeds {text}: write a number of seeds, like 5, or a range upwards, like 1..5")
    };
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
    let (low, high) = if let Some((low, high)) = text.split_once("..") {
        (number(low)?, number(high)?)
    } else {
        let more = number(text)?.checked_sub(1).ok_or_else(wrong)?;
        (first, first.saturating_add(more))
    };
    if low > high {
        return Err(wrong());
    }
    Ok(low..=high)
}

/// The seeds of a comparison; `first` alone where none are named.
///
/// # Errors
/// Where they are written wrongly, or are too many.
pub fn seeds(text: Option<&str>, first: u64) -> Result<Vec<u64>, String> {
    let Some(text) = text else {
        return Ok(vec![first]);
    };
    let range = seed_range(text, first)?;
    if range.end() - range.start() >= RUNS_MAX as u64 {
        return Err(format!(
            "--seeds {text}: a comparison takes at most {RUNS_MAX} runs"
        ));
    }
    Ok(range.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let items = values(text).unwrap().into_iter();
        items.map(|item| item.shown).collect()
    }

    #[test]
    fn ranges_step_in_exact_decimals() {
        assert_eq!(shown("0.2..0.8:0.2"), ["0.2", "0.4", "0.6", "0.8"]);
        assert_eq!(shown("1..3"), ["1", "2", "3"]);
        assert_eq!(shown("10KB..30KB:10KB"), ["10KB", "20KB", "30KB"]);
        assert_eq!(shown("1us..2us:0.5"), ["1us", "1.5us", "2us"]);
        assert!(values("3..1").is_err() && values("1..2:0").is_err());
        assert_eq!(shown("a..b"), ["a..b"]);
    }

    #[test]
    fn a_range_below_one_needs_a_step() {
        let why = values("0.1..0.5").unwrap_err();
        assert!(why.contains("0.1..0.5 is less than a step of 1"), "{why}");
        assert_eq!(shown("0.1..0.5:1"), ["0.1"]);
        assert_eq!(shown("2..2"), ["2"]);
    }

    #[test]
    fn quoted_items_are_the_text_between_their_quotes() {
        let items = |text: &str| -> Vec<(String, String)> {
            let items = values(text).unwrap().into_iter();
            items.map(|item| (item.shown, item.written)).collect()
        };
        let item = |shown: &str, written: &str| (shown.to_owned(), written.to_owned());
        assert_eq!(
            items(r#"["d\"e, f", 'x\', y, "1", "b\\c", "  lead", ""]"#),
            [
                item("d\"e, f", r#""d\"e, f""#),
                item("x\\", r"'x\'"),
                item("y", "y"),
                item("1", "\"1\""),
                item("b\\c", r#""b\\c""#),
                item("  lead", "\"  lead\""),
                item("", "\"\""),
            ]
        );
        assert_eq!(items("[1, \"1\"]").len(), 2, "a number and a text");
        assert!(values("[a, , b]").is_err());
    }

    #[test]
    fn lists_multiply_with_lists_and_seeds() {
        let sets = [
            "transport.kind=[x, \"y\"]".to_owned(),
            "a.b=7".into(),
            "w.load=0.5..0.6:0.1".into(),
        ];
        let points = points(&axes(&sets).unwrap(), &[1, 2]).unwrap();
        assert_eq!(shown("[a, b, \"a\"]"), ["a", "b"]);
        assert_eq!(points.len(), 8);
        assert_eq!(points[2].sets, ["transport.kind=x", "a.b=7", "w.load=0.6"]);
        assert_eq!(
            points[7].settings,
            [
                ("transport.kind".into(), "y".into()),
                ("w.load".to_owned(), "0.6".to_owned())
            ]
        );
        assert_eq!((points[6].seed, points[7].seed), (1, 2));
    }

    #[test]
    fn seeds_are_no_setting_that_varies() {
        for set in ["run.seed=[1,2]", "run.seed=1..4", "run=[{seed=1},{seed=2}]"] {
            let error = axes(&[set.to_owned()]).unwrap_err();
            assert!(
                error.contains(set) && error.contains("--seeds 3"),
                "{error}"
            );
        }
        assert!(axes(&["run.seed=5".to_owned()]).is_ok());
    }

    #[test]
    fn a_key_with_several_values_is_set_once() {
        let list = "workload.load=[0.2,0.4]";
        for again in [
            "workload.load=0.6",
            "workload.load=[0.4,0.6]",
            "workload.0.load=0.6",
            "\"workload\".load=0.6",
            "workload={kind=\"random\", load=0.6}",
            "workload=[[{load=0.6}]]",
        ] {
            let error = axes(&[list.to_owned(), again.into()]).unwrap_err();
            assert!(error.contains("both set workload.load,"), "{error}");
        }
        let fine = |sets: [&str; 2]| axes(&sets.map(str::to_owned)).is_ok();
        assert!(fine([list, "workload.sizes=web-search"]));
        assert!(fine([list, "workload={messages=50}"]));
        assert!(fine([
            "faults=[[{kind=\"loss\"}]]",
            "faults.0.share=[0.1,0.2]"
        ]));
        assert!(fine(["run.until=1ms", "run.until=2ms"]));
    }

    #[test]
    fn seeds_are_a_number_or_a_range() {
        assert_eq!(seeds(Some("3"), 5).unwrap(), [5, 6, 7]);
        assert_eq!(seeds(Some("2..4"), 1).unwrap(), [2, 3, 4]);
        assert!(seeds(Some("0"), 1).is_err() && seeds(Some("x"), 1).is_err());
        assert_eq!(seeds(Some("1..10000"), 1).unwrap().len(), 10_000);
        let error = seeds(Some("10001"), 1).unwrap_err();
        assert!(error.contains("at most 10000 runs"), "{error}");
        // Nothing but a comparison has that limit.
        assert_eq!(seed_range("1..20000", 1).unwrap(), 1..=20_000);
        assert!(seed_range("5..4", 1).is_err());
    }

    #[test]
    fn shards_share_out_everything_once() {
        let parts = ["1/3", "2/3", "3/3"].map(|text| shard(text).unwrap().of((0..7).collect()));
        assert_eq!(parts, [vec![0, 3, 6], vec![1, 4], vec![2, 5]]);
        for wrong in ["0/3", "4/3", "3", "a/b", "1/0"] {
            assert!(shard(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_sweep_without_end_is_refused() {
        assert!(axes(&["a=0..1:0.00001".to_owned()]).is_err());
        let two = axes(&["a=1..200".to_owned(), "b=1..200".into()]).unwrap();
        assert!(points(&two, &[1]).is_err());
    }
}
