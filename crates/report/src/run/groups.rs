//! Messages that share a tag: when the last byte of all was there, and who kept it waiting.

use super::bounded;
use crate::page::{FOLDED_FROM, Section, Table, markup, text};
use minijinja::Value;
use results::stats::{Dist, Figure};
use results::{FlowRow, OfTag, RunRecord, Summary, counts, human, telling};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use units::{Span, Time};

/// When a group began, when half of its messages were there, and when all were.
struct Course {
    /// The first start.
    first: Time,
    /// When half of its messages were there; `None` where fewer finished.
    half: Option<Time>,
    /// The last end, or that of the run where some did not finish.
    last: Time,
}

impl Course {
    /// That of these messages.
    fn of(run: &RunRecord, flows: &[&FlowRow]) -> Option<Self> {
        let first = flows.iter().filter_map(|flow| flow.start).min()?;
        let mut ends: Vec<Time> = flows.iter().filter_map(|flow| flow.end).collect();
        let last = if ends.len() < flows.len() {
            run.end
        } else {
            *ends.iter().max()?
        };
        let half = (flows.len() - 1) / 2;
        let half = (half < ends.len()).then(|| *ends.select_nth_unstable(half).1);
        Some(Self { first, half, last })
    }
}

/// Tags that a page has rows of, and its own copy of the summary: 40,000 made a page of 94 MB, which no browser opens. [ours]
pub(super) const TAGS_MAX: usize = 1_000;

/// A row per tag of so many, of which `summary` may have some; nothing where no message has one.
pub(super) fn section(run: &RunRecord, summary: &Summary, tags: usize) -> Option<Section> {
    let named = |of: &OfTag| of.name != model::UNTAGGED;
    if !summary.tags.iter().any(named) {
        return None;
    }
    let mut own: BTreeMap<&str, Vec<&FlowRow>> = BTreeMap::new();
    for flow in &run.flows {
        if let Some(tag) = run.tags.get(usize::from(flow.tag))
            && !flow.timed
            && counts(flow, &run.window)
        {
            own.entry(tag).or_default().push(flow);
        }
    }
    let course = |of: &OfTag| Some((of.clone(), Course::of(run, own.get(of.name.as_str())?)?));
    // A page folds a long table after its first rows.
    let many = summary.tags.len() > FOLDED_FROM;
    let order: Vec<&OfTag> = if many {
        telling(&summary.tags)
    } else {
        summary.tags.iter().collect()
    };
    let left_out = tags - summary.tags.len();
    let groups: Vec<(OfTag, Course)> = order.into_iter().filter_map(course).collect();
    let first = groups.iter().map(|(_, course)| course.first).min()?;
    let last = groups.iter().map(|(_, course)| course.last).max()?;
    // What matters most comes first: a narrow page shows only the first few columns at once.
    let mut table = Table::new(&[
        "tag",
        "messages",
        "unfinished",
        "took",
        "",
        "half after",
        "stragglers",
        "slowdown p50",
        "slowdown p99",
        "started",
    ]);
    table.text = vec![""];
    for (of, course) in &groups {
        table.push(row(of, course, (first, last)));
    }
    Some(Section {
        id: "groups".into(),
        title: "Groups".into(),
        says: format!(
            "Messages that share a tag, from the first start to the last byte of all. {}{}Stragglers have more than twice the \
             median slowdown of their own tag. The bars go from {} to {}.",
            if many {
                "The slowest at the 99th percentile come first. "
            } else {
                ""
            },
            if left_out > 0 {
                format!(
                    "The other {} are in summary.json. ",
                    human::count(left_out as u64)
                )
            } else {
                String::new()
            },
            human::time(first.since(Time::ZERO)),
            human::time(last.since(Time::ZERO))
        ),
        body: markup(legend(summary.tags.iter().any(|of| of.unfinished > 0))),
        points: groups.len(),
        table: Some(table),
        fold: "",
        wide: true,
    })
}

/// The cells of a group; bars go between the ends of all of them.
fn row(of: &OfTag, course: &Course, ends: (Time, Time)) -> Vec<Value> {
    let time = |ps| human::time(Span(ps));
    let name = match of.name.as_str() {
        model::UNTAGGED => "no tag",
        name => name,
    };
    let slow = |pick: fn(&Dist<f64>) -> Figure<f64>| {
        let figure = of.slowdown.as_ref().map(pick);
        figure.map_or("-".into(), |figure| bounded(figure, human::ratio))
    };
    let half = course
        .half
        .map_or("-".into(), |half| human::time(half.since(course.first)));
    // Who has not finished may be one more.
    let least = if of.unfinished > 0 { "≥ " } else { "" };
    vec![
        text(name),
        text(human::count(of.messages)),
        text(human::count(of.unfinished)),
        text(bounded(of.took_ps, time)),
        markup(bar(of, course, ends)),
        text(half),
        text(format!("{least}{}", human::count(of.stragglers))),
        text(slow(|dist| dist.p50)),
        text(slow(|dist| dist.p99)),
        text(human::time(course.first.since(Time::ZERO))),
    ]
}

/// What the colours of the bars are.
fn legend(unfinished: bool) -> String {
    let missing = if unfinished {
        "<li class=\"c5\">until the end, some still missing</li>"
    } else {
        ""
    };
    format!(
        "<ul class=\"legend\"><li class=\"c0\">until half of the messages were there</li><li class=\"c1\">until all \
         were</li>{missing}</ul>"
    )
}

/// The course of a group between the ends of all of them.
fn bar(of: &OfTag, course: &Course, (first, last): (Time, Time)) -> String {
    let whole = last.since(first).0.max(1) as f64;
    let share = |from: Time, to: Time| to.since(from).0 as f64 / whole * 100.0;
    let since = |at: Time| human::time(at.since(Time::ZERO));
    let half = course.half.unwrap_or(course.first);
    let mut told = format!("started at {}", since(course.first));
    if course.half.is_some() {
        let _ = write!(told, ", half there at {}", since(half));
    }
    let colour = if of.unfinished > 0 {
        let _ = write!(told, ", some missing at {}", since(course.last));
        "c5"
    } else {
        let _ = write!(told, ", all at {}", since(course.last));
        "c1"
    };
    format!(
        "<div class=\"bar when\" title=\"{told}\" aria-hidden=\"true\"><i class=\"c0\" \
         style=\"margin-left:{:.2}%;width:{:.2}%\"></i><i class=\"{colour}\" style=\"width:{:.2}%\"></i></div>",
        share(first, course.first),
        share(course.first, half),
        share(half, course.last)
    )
}
