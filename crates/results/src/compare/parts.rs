//! Sizes and tags of messages by themselves: who is ahead where, and when a group is complete.

use super::level::{Bounded, Level, Place, places, seeds_of};
use super::{Better, Comparison, Group, ground};
use crate::Unit;
use crate::grid::{Cell, Column, Paint, Style, render, wrap};
use crate::human;
use crate::stats::{Figure, Interval};
use crate::summary::Summary;
use model::UNTAGGED;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Messages of a range of sizes, or with one tag.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// Which: `messages of up to 10 KB`, `messages tagged checkpoint`.
    pub name: String,
    /// How many in one run, the mean over the seeds: those of all sizes add up to what a run has.
    pub messages: u64,
    /// Their slowdown at the 99th percentile, over the seeds.
    pub p99: Option<Interval>,
    /// It rests on unfinished messages, and the true value is this or more.
    pub at_least: bool,
    /// Their median slowdown, over the seeds.
    pub p50: Option<Interval>,
    /// The same of that.
    pub p50_at_least: bool,
    /// Of a tag: from its first start to its last byte, over the seeds, in picoseconds.
    pub took: Option<Interval>,
    /// Some did not finish, so that it takes this or more.
    pub took_at_least: bool,
    /// Of a tag: messages with more than twice its own median slowdown, over the seeds.
    pub stragglers: Option<Interval>,
}

/// The parts of runs that differ in their seeds alone, where there are several sizes or tags.
pub(super) fn of(members: &[&Summary]) -> Vec<Part> {
    let mut parts = AllGathered::default();
    for run in members {
        let used = || run.sizes[1..].iter().filter(|bin| bin.messages > 0);
        if used().count() > 1 {
            for bin in used() {
                let name = match bin.up_to {
                    Some(_) => format!("messages of {}", bin.label()),
                    None => format!("messages {}", bin.label()),
                };
                let part = parts.of(name);
                part.messages += bin.messages;
                part.tails.extend(bin.slowdown.map(|dist| dist.p99));
                part.medians.extend(bin.slowdown.map(|dist| dist.p50));
            }
        }
        for of in run.tags.iter().filter(|_| run.tags.len() > 1) {
            let part = parts.of(tagged(&of.name));
            part.messages += of.messages;
            part.tails.extend(of.slowdown.map(|dist| dist.p99));
            part.medians.extend(of.slowdown.map(|dist| dist.p50));
            part.took.push(of.took_ps.real());
            part.stragglers.push(of.stragglers as f64);
        }
    }
    let runs = members.len() as u64;
    let parts = parts.all.into_iter();
    parts.map(|part| part.part(runs)).collect()
}

/// Rivals that stand beside each other; more of them stand below each other. [ours]
pub const ACROSS_MAX: usize = 6;

/// What comes before a tag in the name of its part.
const TAGGED: &str = "messages tagged ";
/// The name of the part that has none.
const WITHOUT: &str = "messages without a tag";

/// The name of the part with this tag.
fn tagged(tag: &str) -> String {
    if tag == UNTAGGED {
        WITHOUT.into()
    } else {
        format!("{TAGGED}{tag}")
    }
}

impl Part {
    /// The tag that its messages share, `None` where it is a range of sizes.
    pub fn tag(&self) -> Option<&str> {
        let none = (self.name == WITHOUT).then_some(UNTAGGED);
        none.or(self.name.strip_prefix(TAGGED))
    }
}

/// The parts of several runs.
#[derive(Default)]
struct AllGathered {
    all: Vec<Gathered>,
    place_of: BTreeMap<String, usize>,
}

impl AllGathered {
    /// The part of this name.
    fn of(&mut self, name: String) -> &mut Gathered {
        let place = *self.place_of.entry(name.clone()).or_insert(self.all.len());
        if place == self.all.len() {
            self.all.push(Gathered {
                name,
                ..Gathered::default()
            });
        }
        &mut self.all[place]
    }
}

/// A part, run by run.
#[derive(Default)]
struct Gathered {
    name: String,
    /// In all runs together.
    messages: u64,
    tails: Vec<Figure<f64>>,
    medians: Vec<Figure<f64>>,
    took: Vec<Figure<f64>>,
    stragglers: Vec<f64>,
}

impl Gathered {
    /// The same over so many runs.
    fn part(self, runs: u64) -> Part {
        let over = |figures: &[Figure<f64>]| {
            let values: Vec<f64> = figures.iter().map(|figure| figure.value).collect();
            let at_least = figures.iter().any(|figure| figure.at_least);
            (Interval::of(&values), at_least)
        };
        let ((p99, at_least), (took, took_at_least)) = (over(&self.tails), over(&self.took));
        let (p50, p50_at_least) = over(&self.medians);
        let mean = (self.messages + runs / 2) / runs.max(1);
        Part {
            name: self.name,
            messages: mean.max(u64::from(self.messages > 0)),
            p99,
            at_least,
            p50,
            p50_at_least,
            took,
            took_at_least,
            stragglers: Interval::of(&self.stragglers),
        }
    }
}

/// One number of a part under every rival.
#[derive(Clone, Debug, PartialEq)]
pub struct PartRow {
    /// `p99 slowdown of up to 10 KB`, `all of checkpoint after`.
    pub name: String,
    /// The tag that its messages share; `None` of a range of sizes, and of all.
    pub tag: Option<String>,
    /// What its numbers are.
    pub unit: Unit,
    /// Which of two is better. Stragglers are counted against the median of their own group: who is slow throughout has
    /// none, and nobody is better for it.
    pub better: Better,
    /// Mean over the seeds, and whether it is a lower bound, by rival.
    pub cells: Vec<Option<(Interval, bool)>>,
    /// Seeds that tell something, by rival.
    pub seeds: Vec<usize>,
    /// Messages in one run, the mean over the seeds, under the rival with most.
    pub messages: u64,
}

impl PartRow {
    /// Whether one may be ahead of another.
    pub fn ranks(&self) -> bool {
        self.better != Better::Neither
    }

    /// Who is ahead, and who is level with them.
    pub(super) fn level(&self) -> Level {
        Level::of(&self.cells, &self.seeds, self.better)
    }

    /// The best number, where others show another and somebody can be called best.
    pub fn best(&self) -> Option<f64> {
        let (best, _) = self.cells[*self.level().ahead.first()?]?;
        let apart = |mean: f64| self.unit.show_figure(mean) != self.unit.show_figure(best.mean);
        let mut known = self.cells.iter().flatten();
        known
            .any(|(interval, _)| apart(interval.mean))
            .then_some(best.mean)
    }

    /// The place of each rival, of those that have a number; none where nobody is better than another.
    pub fn places(&self) -> Vec<Option<Place>> {
        places(&self.cells, &self.seeds, self.better)
    }

    /// Whether nobody is ahead of a rival by more than chance explains; false where all show the same.
    pub fn is_best(&self, rival: usize) -> bool {
        self.best().is_some() && self.level().ahead.contains(&rival)
    }

    /// How many times the least number of a rival the greatest is; 1 where nobody is ahead by it.
    pub fn apart(&self) -> f64 {
        let means = || {
            self.cells
                .iter()
                .flatten()
                .map(|(interval, _)| interval.mean)
        };
        let ends = means().reduce(f64::min).zip(means().reduce(f64::max));
        ends.filter(|&(low, _)| low > 0.0 && self.ranks())
            .map_or(1.0, |(low, high)| high / low)
    }

    /// A cell as text, `-` where there is nothing.
    pub fn show(&self, rival: usize) -> String {
        match self.cells.get(rival).copied().flatten() {
            None => "-".into(),
            Some((interval, bound)) => {
                let sign = if bound { ">= " } else { "" };
                format!("{sign}{}", self.unit.show_figure(interval.mean))
            }
        }
    }
}

/// The median of every part under each of `rivals`.
pub(super) fn median_rows(rivals: &[&Group]) -> Vec<PartRow> {
    let rows = under_each(rivals).into_iter().map(|(name, found)| {
        let of = |part: &Part| part.p50.map(|interval| (interval, part.p50_at_least));
        PartRow {
            name: format!("median slowdown, {}", which(name, &found)),
            tag: tag_of(&found),
            unit: Unit::Ratio,
            better: Better::Lower,
            seeds: seeds_of(rivals),
            messages: most(&found),
            cells: found.into_iter().map(|part| part.and_then(of)).collect(),
        }
    });
    rows.collect()
}

/// A part by its name, under every rival.
pub type UnderEach<'a> = (&'a str, Vec<Option<&'a Part>>);

/// The parts of any of `rivals`, in the order in which they come.
pub fn under_each<'a>(rivals: &[&'a Group]) -> Vec<UnderEach<'a>> {
    let (mut rows, mut places) = (Vec::<UnderEach<'a>>::new(), BTreeMap::new());
    for (rival, group) in rivals.iter().enumerate() {
        for part in &group.parts {
            let place = *places.entry(part.name.as_str()).or_insert(rows.len());
            if place == rows.len() {
                rows.push((&part.name, vec![None; rivals.len()]));
            }
            rows[place].1[rival].get_or_insert(part);
        }
    }
    rows
}

/// What a table calls the part of this name.
fn which(name: &str, found: &[Option<&Part>]) -> String {
    let size = name
        .trim_start_matches("messages ")
        .trim_start_matches("of ");
    tag_of(found).map_or(size.into(), |tag| human::tag(&tag))
}

/// Messages of a part in one run, under the rival with most.
fn most(found: &[Option<&Part>]) -> u64 {
    let all = found.iter().flatten().map(|part| part.messages);
    all.max().unwrap_or(0)
}

/// The tag of a part under every rival.
fn tag_of(found: &[Option<&Part>]) -> Option<String> {
    let mut tags = found.iter().flatten().filter_map(|part| part.tag());
    tags.next().map(str::to_owned)
}

/// Sizes as they are, then the tags, those first in which the rivals are furthest apart; the rows of a tag stay together.
pub fn telling_first(mut rows: Vec<PartRow>) -> Vec<PartRow> {
    let mut apart: BTreeMap<String, f64> = BTreeMap::new();
    for row in &rows {
        if let Some(tag) = &row.tag {
            let most = apart.entry(tag.clone()).or_insert(1.0);
            *most = most.max(row.apart());
        }
    }
    let of = |row: &PartRow| row.tag.as_ref().map_or(f64::INFINITY, |tag| apart[tag]);
    rows.sort_by(|a, b| of(b).total_cmp(&of(a)).then_with(|| a.tag.cmp(&b.tag)));
    rows
}

/// Tags that a terminal shows, and a chart. [ours]
pub const TAGS_SHOWN: usize = 10;

/// The same without the tags behind the first [`TAGS_SHOWN`], and how many those are.
pub fn most_telling(rows: Vec<PartRow>) -> (Vec<PartRow>, usize) {
    let tags = |rows: &[PartRow]| {
        let tags: BTreeSet<&str> = rows.iter().filter_map(|row| row.tag.as_deref()).collect();
        tags.len()
    };
    let all = tags(&rows);
    if all <= TAGS_SHOWN {
        return (rows, 0);
    }
    let mut rows = telling_first(rows);
    let places = (1..=rows.len()).find(|&end| tags(&rows[..end]) > TAGS_SHOWN);
    rows.truncate(places.map_or(rows.len(), |end| end - 1));
    (rows, all - TAGS_SHOWN)
}

/// The tail of every part, when every tagged group is complete, and its stragglers where somebody has some, under each of
/// `rivals`.
pub fn part_rows(rivals: &[&Group]) -> Vec<PartRow> {
    let mut rows = Vec::new();
    for (name, found) in under_each(rivals) {
        let cells = |of: fn(&Part) -> Option<Bounded>| {
            let cells = found.iter().map(|part| part.and_then(of));
            cells.collect::<Vec<_>>()
        };
        let (tag, messages) = (tag_of(&found), most(&found));
        rows.push(PartRow {
            name: format!("p99 slowdown, {}", which(name, &found)),
            tag: tag.clone(),
            unit: Unit::Ratio,
            better: Better::Lower,
            seeds: seeds_of(rivals),
            messages,
            cells: cells(|part| part.p99.map(|interval| (interval, part.at_least))),
        });
        if let Some(tag) = tag {
            rows.push(PartRow {
                name: format!("last byte of all, {}", human::tag(&tag)),
                tag: Some(tag.clone()),
                unit: Unit::Time,
                better: Better::Lower,
                seeds: seeds_of(rivals),
                messages,
                cells: cells(|part| part.took.map(|interval| (interval, part.took_at_least))),
            });
            let late = |part: &Part| {
                part.stragglers
                    .map(|interval| (interval, part.took_at_least))
            };
            let stragglers = PartRow {
                name: format!("stragglers, {}", human::tag(&tag)),
                tag: Some(tag),
                unit: Unit::Count,
                better: Better::Neither,
                seeds: seeds_of(rivals),
                messages,
                cells: cells(late),
            };
            let some = |(interval, _): &(Interval, bool)| interval.high > 0.0;
            if stragglers.cells.iter().flatten().any(some) {
                rows.push(stragglers);
            }
        }
    }
    rows
}

/// The parts under the rivals of every combination of settings that is judged, each with its place, the best of each
/// in colour; what they share stands above.
pub(super) fn text(comparison: &Comparison, style: Style) -> String {
    let judged = comparison.judged();
    let tables: Vec<(String, Places)> = judged
        .iter()
        .filter_map(|place| at(comparison, place, style))
        .collect();
    let mut out: String = tables.iter().map(|(text, _)| text.as_str()).collect();
    let places = tables.iter().flat_map(|(_, places)| places);
    let (any, unsure) = places.fold((false, false), |(_, unsure), place| {
        (true, unsure || place.to != Some(place.from))
    });
    if any {
        let told = [PLACES_TOLD, if unsure { UNSURE_TOLD } else { "" }].concat();
        let told = wrap(&told, style.width.min(100), 1);
        out.push_str(&style.paint(Paint::Dim, &told));
        out.push('\n');
    }
    out
}

/// The places in a table.
type Places = Vec<Place>;

/// What the numbers before the dots are.
const PLACES_TOLD: &str = "1. is the lowest of its size or tag; who is level shares a place.";
const UNSURE_TOLD: &str = " Where messages did not finish, 2+ is a place from 2 on, and 2-3 is 3 should who left them be ahead.";

/// ` 2. 3.14` under every rival, the dots below each other.
fn placed(row: &PartRow) -> Vec<String> {
    let places = row.places();
    let told = |place: Option<Place>| place.map_or(String::new(), |place| format!("{place}. "));
    let told: Vec<String> = places.into_iter().map(told).collect();
    let width = told.iter().map(String::len).max().unwrap_or(0);
    let cells = told.iter().enumerate();
    let cells = cells.map(|(rival, place)| format!("{place:>width$}{}", row.show(rival)));
    cells.collect()
}

/// What the rivals of a place share, and where each stands in every part; and all places in that table.
fn at(comparison: &Comparison, place: &Group, style: Style) -> Option<(String, Places)> {
    let rivals: Vec<&Group> = comparison.rivals(place).collect();
    if rivals.len() < 2 {
        return None;
    }
    let above = format!("\n{}", ground::above(comparison, place, style));
    let (rows, left) = most_telling(part_rows(&rivals));
    if rows.len() < 2 {
        return Some((above, Vec::new()));
    }
    let cells = |row: &PartRow| -> Vec<Cell> {
        let cell = |(rival, told): (usize, String)| {
            let paint = if row.is_best(rival) {
                Paint::Good
            } else {
                Paint::Plain
            };
            Cell::painted(told, paint)
        };
        placed(row).into_iter().enumerate().map(cell).collect()
    };
    let names = || rivals.iter().map(|group| group.transport.clone());
    let column = |title: String, rank: usize, cells: Vec<Cell>| Column {
        title,
        rank: u8::try_from(rank).unwrap_or(u8::MAX),
        cells,
    };
    let count = |row: &PartRow| Cell::painted(human::count(row.messages), Paint::Dim);
    let mut columns = Vec::new();
    if rivals.len() > ACROSS_MAX {
        let first = std::iter::once(Cell::painted("messages", Paint::Dim));
        let names = first.chain(names().map(Cell::new));
        columns.push(column("place, p99 slowdown".into(), 0, names.collect()));
        for (i, row) in rows.iter().enumerate() {
            let title = row.name.trim_start_matches("p99 slowdown, ");
            let all = std::iter::once(count(row)).chain(cells(row));
            columns.push(column(title.to_owned(), i + 1, all.collect()));
        }
    } else {
        let parts = rows.iter().map(|row| Cell::new(row.name.clone()));
        columns.push(column("part".into(), 0, parts.collect()));
        let all: Vec<Vec<Cell>> = rows.iter().map(cells).collect();
        for (i, name) in names().enumerate() {
            let own = all.iter().map(|row| row[i].clone());
            columns.push(column(name, i + 1, own.collect()));
        }
        let counts = rows.iter().map(count).collect();
        columns.push(column("messages".into(), rivals.len() + 1, counts));
    }
    let left = match left {
        0 => String::new(),
        left => format!(
            " the {TAGS_SHOWN} tags in which the transports are furthest apart; {} more in the page\n",
            human::count(left as u64)
        ),
    };
    let places = rows.iter().flat_map(PartRow::places).flatten();
    let table = format!("{above}{}{left}", render(&columns, style));
    Some((table, places.collect()))
}
