//! What a figure says in words: what holds of what was expected, what became of its claim, why the rest is off, and what a
//! quick run leaves out.

use crate::catalogue::{Case, Expected};
use crate::figure::{Found, Told};
use crate::verdict::{Verdict, Word};

impl Expected {
    /// What a quick run leaves out that ran these cases and seeds, in a sentence; empty where that is nothing.
    pub fn quickly(&self, verdicts: &[Verdict], seeds: u64) -> String {
        let ran = |case: &&Case| verdicts.iter().any(|row| row.case == case.name);
        let (ran, all) = (self.cases.iter().filter(ran).count(), self.cases.len());
        let less = &self.quick_set;
        if seeds >= self.seeds && ran == all && less.is_empty() {
            return String::new();
        }
        let of = if seeds < self.seeds {
            format!(" of {}", self.seeds)
        } else {
            String::new()
        };
        let mut parts = vec![match seeds {
            1 => format!("one seed{of}"),
            n => format!("{n} seeds{of}"),
        }];
        parts.push(format!("{ran} of {all} cases"));
        if !less.is_empty() {
            parts.push(format!("less traffic ({})", less.join(", ")));
            parts.push("loose bounds (a ratio need only be on its side of 1)".to_owned());
        }
        format!(
            "This is a quick run and no verdict on the figure: {}. Without --quick all of it runs.",
            parts.join(", ")
        )
    }
}

/// Why nothing of others is drawn beside ours.
pub(crate) fn alone(source: &str) -> &'static str {
    let source = source.trim_start_matches('[');
    if source.starts_with("ours") {
        "The experiment is our own, and what is drawn is ours alone."
    } else if source.starts_with("ns-") {
        "None of its points is public as a number, so that what is drawn is ours alone."
    } else {
        "None of its points is public as a number, so that what is drawn is ours alone; directions are held where \
         the paper states them."
    }
}

/// All verdicts in one sentence: what holds of what was expected, the claim, and the cause of what is off.
pub(crate) fn sentence(found: &[Found], told: Option<&Told>) -> String {
    if found.is_empty() {
        return "None of its numbers is on record.".into();
    }
    let Some(mut text) = held(found) else {
        return "Nothing of it is public as a number or a direction: ours are reported alone."
            .into();
    };
    let off = off(found);
    if let Some(told) = told
        && let Some(claim) = told.text(found)
    {
        text.push_str("; ");
        text.push_str(&claim);
        // What is off has its cause already.
        if off.is_empty() {
            text.push_str(&told.why(found));
        }
    }
    format!("{}{off}.", capital(&text))
}

/// The same of a quick run, which tells nothing of the claim: that is one on all of the traffic.
pub(crate) fn quick_sentence(found: &[Found]) -> String {
    match held(found) {
        Some(text) => format!("In a quick run {text}{}.", off(found)),
        None => "A quick run, and nothing in it is public as a number or a direction.".into(),
    }
}

/// What holds, by kinds of what was expected; `None` where nothing was.
fn held(found: &[Found]) -> Option<String> {
    let judged = |row: &&Found| !matches!(row.word, Word::NoNumber);
    let kind = |row: &Found| match (row.spec.expected, row.spec.of_direction()) {
        (Some(_), _) if row.spec.is_recalled() => 3,
        // That nothing is lost says little, and often.
        (Some(number), _) if number.total_cmp(&0.0).is_eq() => 4,
        (Some(_), _) => 1,
        (None, true) => 0,
        (None, false) => 2,
    };
    let mut parts = Vec::new();
    for (i, (one, many)) in [
        ("direction", "directions"),
        ("number", "numbers"),
        ("bound", "bounds"),
    ]
    .iter()
    .enumerate()
    {
        let of = || found.iter().filter(judged).filter(|row| kind(row) == i);
        let (all, holds) = (
            of().count(),
            of().filter(|row| row.word < Word::NoNumber).count(),
        );
        if all > 0 {
            let name = if all == 1 { one } else { many };
            parts.push(format!(
                "{holds} of {all} {name} hold{}",
                if all == 1 { "s" } else { "" }
            ));
        }
    }
    let zeros = found.iter().filter(judged).filter(|row| kind(row) == 4);
    let held = zeros.clone().filter(|row| row.word < Word::NoNumber);
    parts.extend(match (zeros.count(), held.count()) {
        (0, _) => None,
        (1, 0) => Some("what is to be 0 is not".into()),
        (1, _) => Some("what is to be 0 is".into()),
        (all, held) => Some(format!("{held} of {all} that are to be 0 are")),
    });
    let recalled = found.iter().filter(judged).filter(|row| kind(row) == 3);
    let held = recalled.clone().filter(|row| row.word < Word::NoNumber);
    parts.extend(of_memory(recalled.count(), held.count()));
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Numbers that are expected from memory, and how many of them hold; nothing where there are none.
pub(crate) fn of_memory(all: usize, held: usize) -> Option<String> {
    match (all, held) {
        (0, _) => None,
        (1, 0) => Some("1 recalled number does not hold".into()),
        (1, _) => Some("1 recalled number holds".into()),
        (_, 0) => Some(format!("of {all} recalled numbers none holds")),
        (all, held) if all == held => Some(format!("all {all} recalled numbers hold")),
        (_, 1) => Some(format!("of {all} recalled numbers 1 holds")),
        _ => Some(format!("of {all} recalled numbers {held} hold")),
    }
}

/// The cause that is given of most of what is off, of equals the first, as the end of a sentence that says whether others are.
fn off(found: &[Found]) -> String {
    let off = || found.iter().filter(|row| row.word >= Word::DiffersReported);
    let causes: Vec<&String> = off().filter_map(|row| row.spec.cause.as_ref()).collect();
    let rows = |cause: &String| causes.iter().filter(|other| **other == cause).count();
    // Of equals `max_by_key` takes the last.
    let Some(cause) = causes.iter().rev().max_by_key(|cause| rows(cause)) else {
        return String::new();
    };
    let (all, has) = (off().count(), rows(cause));
    let of = match has {
        _ if has == all => "",
        _ if has > all / 2 => "most of ",
        _ => "part of ",
    };
    match cause.strip_prefix("not known") {
        Some(more) => format!("; why {of}the rest is off is not known{more}"),
        None => format!("; {of}what is off: {cause}"),
    }
}

/// Nearer to the claim than this is the claim. [ours: papers round to whole per cents]
const SAME: f64 = 0.015;

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
}

impl Told {
    /// The rows of the claim that have an expected number.
    fn rows<'a>(&self, found: &'a [Found]) -> impl Iterator<Item = &'a Found> {
        found.iter().filter(move |row| {
            row.spec.claim.as_deref() == Some(&self.claim) && row.spec.expected.is_some()
        })
    }

    /// What came of the claim here.
    fn best(&self, found: &[Found]) -> Option<f64> {
        let values = self.rows(found).map(|row| row.value);
        values.reduce(if self.greatest { f64::max } else { f64::min })
    }

    /// Why that is another number than the claim's, as the end of the sentence; empty where it is the same.
    pub(crate) fn why(&self, found: &[Found]) -> String {
        let best = self.best(found);
        let same = |row: &Found| {
            let ratio = row
                .spec
                .expected
                .zip(best)
                .map(|(claimed, best)| best / claimed);
            ratio.is_none_or(|ratio| (ratio - 1.0).abs() < SAME)
        };
        if self.rows(found).any(same) {
            return String::new();
        }
        let cause = self.rows(found).find_map(|row| row.spec.cause.as_ref());
        match cause.map(|cause| (cause, cause.strip_prefix("not known"))) {
            None => ", and the cause is not known".into(),
            Some((_, Some(more))) => format!(", and the cause is not known{more}"),
            Some((cause, None)) => format!(", because of this: {cause}"),
        }
    }

    pub(crate) fn text(&self, found: &[Found]) -> Option<String> {
        let best = self.best(found)?;
        let filled = self
            .says
            .replace("{less}", &format!("{:.0} %", (1.0 - best) * 100.0));
        let filled = filled.replace("{times}", &format!("{:.1}", 1.0 / best));
        Some(filled.replace("{value}", &crate::verdict::short(best)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Experiment, Row};
    use crate::curve::Curves;

    #[test]
    fn a_figure_names_a_paper_only_where_there_is_one() {
        let note = |name: &str| {
            let experiment = Experiment::find(name).unwrap();
            let expected = experiment.expected().unwrap();
            let cases = expected.cases.iter();
            let rows = cases.flat_map(|case| case.rows.iter().map(|row| (&case.name, row)));
            let found: Vec<Found> = rows
                .map(|(case, row)| Verdict {
                    values: vec![1.0.into()],
                    ..Verdict::empty(case, row)
                })
                .map(|row| row.found())
                .collect();
            let figure = expected.figure(&experiment, &found, &Curves::default(), "", "");
            figure.notes.join(" ")
        };
        for name in ["no-timers", "lossy-transfer"] {
            let ours = "The experiment is our own, and what is drawn is ours alone.";
            assert!(note(name).ends_with(ours), "{}", note(name));
        }
        assert!(note("xpass-fig15").contains("where the paper states them"));
    }

    /// Ten rows of it have a cause: two the draw of messages, which comes first, and four each the next two.
    #[test]
    fn of_several_causes_the_first_that_most_of_what_is_off_has_is_told() {
        let expected = Experiment::find("dcpim-load").unwrap().expected().unwrap();
        let cases = expected.cases.iter();
        let rows = cases.flat_map(|case| case.rows.iter().map(|row| (&case.name, row)));
        let nothing_holds = rows.map(|(case, row)| Verdict {
            values: vec![1e9.into()],
            ..Verdict::empty(case, row)
        });
        let found: Vec<Found> = nothing_holds.map(|row| row.found()).collect();
        let told = off(&found);
        assert!(
            told.starts_with("; why part of the rest is off is not known: messages below"),
            "{told}"
        );
    }

    #[test]
    fn a_quick_run_says_all_that_it_leaves_out() {
        let expected = Experiment::find("aeolus-fig9").unwrap().expected().unwrap();
        let of = |quick: bool| -> Vec<Verdict> {
            let cases = expected.cases.iter().filter(|case| case.quick || !quick);
            let rows = cases.flat_map(|case| case.rows.iter().map(|row| (&case.name, row)));
            rows.map(|(case, row)| Verdict::empty(case, row)).collect()
        };
        let (less, seeds) = (expected.quick_set.join(", "), expected.seeds);
        let quick = expected.cases.iter().filter(|case| case.quick).count();
        assert!(!less.is_empty() && seeds > 1);
        assert_eq!(
            expected.quickly(&of(true), 1),
            format!(
                "This is a quick run and no verdict on the figure: one seed of {seeds}, {quick} of {} cases, less \
                 traffic ({less}), loose bounds (a ratio need only be on its side of 1). Without --quick all of it runs.",
                expected.cases.len()
            )
        );
        // What leaves nothing out is the figure.
        let whole = Expected {
            quick_set: Vec::new(),
            ..expected
        };
        let rows = whole
            .cases
            .iter()
            .flat_map(|case| case.rows.iter().map(|row| (&case.name, row)));
        let rows: Vec<Verdict> = rows.map(|(case, row)| Verdict::empty(case, row)).collect();
        assert_eq!(whole.quickly(&rows, whole.seeds), "");
        assert!(whole.quickly(&rows, 1).contains(": one seed of"));
    }

    #[test]
    #[allow(clippy::too_many_lines, reason = "one sentence after the other")]
    fn the_sentence_counts_kinds_apart_and_names_the_claim_and_the_cause() {
        let row = |text: &str, value: f64| {
            let spec = Row::parse(text);
            Verdict {
                values: vec![value.into(), value.into()],
                ..Verdict::empty("a", &spec)
            }
            .found()
        };
        let direction = "metric = 'queue-max'\nagainst = 'b'\nat_most = 1.0\nevidence = ''\n";
        let claim = "metric = 'jain'\nagainst = 'b'\nexpected = 0.44\ntolerance = '10%'\nclaim = 'c'\n\
                     report_only = true\ncause = 'another load'\nevidence = 'published'\n";
        let found = [
            row(direction, 0.5),
            row(direction, 2.0),
            row(claim, 0.53),
            row(claim, 0.9),
        ];
        let told = Told {
            claim: "c".into(),
            says: "the paper's 56 % is {less} here".into(),
            greatest: false,
        };
        assert_eq!(
            sentence(&found, Some(&told)),
            "1 of 2 directions hold, 0 of 2 numbers hold; the paper's 56 % is 47 % here; most of what is off: another load."
        );
        assert_eq!(
            quick_sentence(&found),
            "In a quick run 1 of 2 directions hold, 0 of 2 numbers hold; most of what is off: another load."
        );
        // What is to be nothing is no number of a figure.
        let none = |value| {
            row(
                "metric = 'data-drops'\nexpected = 0.0\ntolerance = 0.0\nevidence = 'published: none is lost'\n",
                value,
            )
        };
        for (rows, says) in [
            (vec![none(0.0)], "What is to be 0 is."),
            (vec![none(3.0)], "What is to be 0 is not."),
            (
                vec![row(claim, 0.44), none(0.0), none(0.0), none(2.0)],
                "1 of 1 number holds, 2 of 3 that are to be 0 are.",
            ),
        ] {
            assert_eq!(sentence(&rows, None), says);
        }
        for (cause, says) in [
            ("not known", "why the rest is off is not known."),
            (
                "not known: few ports",
                "why the rest is off is not known: few ports.",
            ),
            (
                "not known; few ports",
                "why the rest is off is not known; few ports.",
            ),
        ] {
            let found = [row(&claim.replace("another load", cause), 0.9)];
            assert_eq!(
                sentence(&found, None),
                format!("0 of 1 number holds; {says}")
            );
        }
        // What is off by nothing that is judged has its cause beside the claim.
        let near = claim.replace("'10%'", "'50%'");
        let known = [row(&near, 0.37)];
        assert!(
            sentence(&known, Some(&told)).ends_with("is 63 % here, because of this: another load.")
        );
        let near = near.replace("cause = 'another load'\n", "");
        assert!(
            sentence(&[row(&near, 0.37)], Some(&told))
                .ends_with("is 63 % here, and the cause is not known.")
        );
        let recalled = claim.replace("'published'", "'recalled'");
        let recalled = [
            row(&recalled, 0.9),
            row(&recalled, 0.8),
            row(direction, 0.5),
        ];
        assert!(
            sentence(&recalled, None).starts_with(
                "1 of 1 direction holds, of 2 recalled numbers none holds; what is off"
            ),
            "{}",
            sentence(&recalled, None)
        );
        let alone = [row("metric = 'jain'\nevidence = 'ours'\n", 1.0)];
        assert!(sentence(&alone, None).starts_with("Nothing of it is public"));
    }
}
