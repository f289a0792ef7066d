//! What a comparison advises: who wins for which messages, by how much, at what price, and what it
//! cannot say.

use super::level::{behind, seeds_of};
use super::parts::median_rows;
use super::{
    Better, By, Comparison, Group, PartRow, equal_told, headline, listed, measured, part_rows,
};
use crate::Unit;
use crate::human;
use crate::stats::Interval;
use crate::summary::Summary;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Below so many messages the 99th percentile is the slowest one. [arithmetic]
const TAIL_MIN: u64 = 100;
/// Parts with so few that are named. [ours]
const SMALL_MAX: usize = 10;

/// What one part of the messages says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartVerdict {
    /// `p99 slowdown, tag rpc`.
    pub part: String,
    /// Who is ahead, or level with who is; nobody where that cannot be said.
    pub winners: Vec<String>,
    /// Why, with numbers.
    pub says: String,
    /// What each rival has, in the order of [`Advice::rivals`].
    pub cells: Vec<String>,
    /// How many times the best of it the advised transport has; 1 where it is level or ahead.
    #[serde(skip)]
    pub loses: f64,
    /// How many times the best of it the last one has.
    #[serde(skip)]
    pub apart: f64,
}

/// What to take, and what to know about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The claim, with its greatest price.
    pub claim: String,
    /// What a reader has to know besides.
    pub more: String,
    /// The transport that the claim is about; who else ties with it stands in the claim. Nobody, where all left
    /// so much unfinished that their p99 slowdowns are lower bounds.
    pub best: Option<String>,
    /// Everybody who was tried, in the order of the columns.
    pub rivals: Vec<String>,
    /// All messages first, then by size and tag.
    pub verdicts: Vec<PartVerdict>,
    /// Every part in which `best` is slower than another, the worst first.
    pub prices: Vec<String>,
    /// What the runs do not tell.
    pub unjudged: Vec<String>,
    /// Whose seeds all gave one run, in a sentence; nothing where each seed tells something.
    pub equal: Option<String>,
}

impl Advice {
    /// The advice that these runs of one scenario give; `None` where no message has a completion time.
    pub fn of(runs: &[&Summary]) -> Option<Self> {
        let comparison = Comparison::of(runs);
        let said = headline(&comparison)?;
        let rivals: Vec<&Group> = comparison.rivals(comparison.groups.last()?).collect();
        let rows = rows(&rivals);
        let best = (0..rivals.len())
            .filter_map(|i| Some((mean(&rows[0], i)?, i)))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, i)| i);
        let name = |i: usize| rivals[i].transport.clone();
        let verdict = |row: &PartRow| {
            let loses = best.and_then(|best| price(row, best, &rivals));
            PartVerdict {
                loses: loses.map_or(1.0, |(factor, _)| factor),
                ..verdict(row, &rivals)
            }
        };
        let carried = figure(By::Goodput, "goodput", &rivals);
        let medians = medians(&rivals);
        let mut prices: Vec<(f64, String)> = rows
            .iter()
            .chain(&medians)
            .chain([&carried])
            .filter_map(|row| price(row, best?, &rivals))
            .collect();
        prices.sort_by(|a, b| b.0.total_cmp(&a.0));
        // The price stands beside the name, and not only further down.
        let mut more = said.more;
        if let (Some(best), Some((_, worst))) = (best, prices.first()) {
            let _ = write!(more, " What {} costs most: {worst}.", name(best));
        }
        Some(Self {
            claim: said.claim,
            more,
            best: best.map(name),
            rivals: (0..rivals.len()).map(name).collect(),
            verdicts: rows.iter().map(verdict).collect(),
            prices: prices.into_iter().map(|(_, text)| text).collect(),
            unjudged: unjudged(runs, &rivals),
            equal: equal_told(&rivals),
        })
    }
}

impl Advice {
    /// What holds for all messages, and of the other parts those first in which the best loses most, then those in which
    /// others do.
    pub fn telling(&self) -> Vec<&PartVerdict> {
        let (all, parts) = self.verdicts.split_at(self.verdicts.len().min(2));
        let mut order: Vec<&PartVerdict> = parts.iter().collect();
        order.sort_by(|a, b| {
            let loses = b.loses.total_cmp(&a.loses);
            loses.then(b.apart.total_cmp(&a.apart))
        });
        all.iter().chain(order).collect()
    }
}

/// A figure of all messages under every rival.
fn figure(by: By, name: &str, rivals: &[&Group]) -> PartRow {
    let metric = by.metric();
    let cell = |group: &&Group| {
        let figure = group.figures.get(by as usize)?;
        Some((figure.over_seeds?, figure.at_least))
    };
    PartRow {
        name: name.into(),
        tag: None,
        unit: metric.unit,
        better: metric.better,
        cells: rivals.iter().map(cell).collect(),
        seeds: seeds_of(rivals),
        messages: rivals.iter().map(|group| group.messages).max().unwrap_or(0),
    }
}

/// All messages, then each part.
fn rows(rivals: &[&Group]) -> Vec<PartRow> {
    let mut rows = vec![
        figure(By::SlowdownP99, "p99 slowdown, all messages", rivals),
        figure(By::FctMax, "slowest of all messages", rivals),
    ];
    rows.extend(part_rows(rivals).into_iter().filter(PartRow::ranks));
    rows
}

/// The medians of the same, which are prices where somebody has a lower one.
fn medians(rivals: &[&Group]) -> Vec<PartRow> {
    let mut rows = vec![figure(By::FctP50, "median of all messages", rivals)];
    rows.extend(median_rows(rivals));
    rows
}

/// The mean that a rival has, where it is no lower bound.
fn mean(row: &PartRow, rival: usize) -> Option<f64> {
    let (interval, bound) = row.cells.get(rival).copied().flatten()?;
    (!bound).then_some(interval.mean)
}

/// `1.69 ms (1.60 to 1.75)`.
fn shown(unit: Unit, interval: Interval) -> String {
    let show = |value: f64| unit.show_figure(value);
    let (low, high) = (show(interval.low), show(interval.high));
    if low == high {
        show(interval.mean)
    } else {
        format!("{} ({low} to {high})", show(interval.mean))
    }
}

fn verdict(row: &PartRow, rivals: &[&Group]) -> PartVerdict {
    let cell = |i: usize| match row.cells.get(i).copied().flatten() {
        None => "-".to_owned(),
        Some((interval, bound)) => {
            format!(
                "{}{}",
                if bound { "≥ " } else { "" },
                shown(row.unit, interval)
            )
        }
    };
    let cells: Vec<String> = (0..rivals.len()).map(cell).collect();
    let mut known: Vec<(Interval, bool, usize)> = row
        .cells
        .iter()
        .enumerate()
        .filter_map(|(i, cell)| cell.map(|(interval, bound)| (interval, bound, i)))
        .collect();
    known.sort_by(|a, b| a.0.mean.total_cmp(&b.0.mean));
    let told = |winners: Vec<String>, says: String| PartVerdict {
        part: row.name.clone(),
        winners,
        says,
        cells: cells.clone(),
        loses: 1.0,
        apart: row.apart(),
    };
    let name = |i: usize| rivals[i].transport.as_str();
    let level = row.level();
    if let Some((i, (own, _))) = level.unsure.and_then(|i| Some((i, row.cells[i]?))) {
        let at = shown(row.unit, own);
        let why = format!("{} is at least {at}: messages are unfinished", name(i));
        return told(Vec::new(), why);
    }
    let (Some(&best), Some(&(first, ..))) = (level.ahead.first(), known.first()) else {
        return told(Vec::new(), "no message of it ended".into());
    };
    let at = shown(row.unit, first);
    if level.ahead.len() > 1 {
        let all: Vec<String> = level.ahead.iter().map(|&i| name(i).to_owned()).collect();
        let least = row.unit.show_figure(first.mean);
        let most = level.ahead.last().and_then(|&i| row.cells[i]);
        let most = most.map_or(String::new(), |(most, _)| row.unit.show_figure(most.mean));
        let at = if most == least {
            format!("at {at}")
        } else {
            format!("that can be told from chance: {least} to {most}")
        };
        let last = known.last().filter(|(.., i)| !level.ahead.contains(i));
        let last = last.map_or(String::new(), |&(slow, bound, i)| {
            format!("; {}", times(name(i), slow, first, bound))
        });
        return told(all, format!("no difference {at}{last}"));
    }
    let Some(&(second, bound, next)) = known.get(1) else {
        return told(
            vec![name(best).to_owned()],
            format!("{at}, with nobody to compare"),
        );
    };
    let mut says = format!("{at}; {}", times(name(next), second, first, bound));
    if let Some(&(slow, bound, last)) = known.get(2..).and_then(<[_]>::last) {
        let _ = write!(says, ", {}", times(name(last), slow, first, bound));
    }
    told(vec![name(best).to_owned()], says)
}

/// `dctcp takes 10.2 times as long`.
fn times(name: &str, slow: Interval, fast: Interval, bound: bool) -> String {
    let factor = human::ratio(slow.mean / fast.mean);
    let bound = if bound { "at least " } else { "" };
    format!("{name} has {bound}{factor} times that")
}

/// What the best overall pays in one part: how many times the best of it, and in words; nothing where they are level.
fn price(row: &PartRow, best: usize, rivals: &[&Group]) -> Option<(f64, String)> {
    let (own, bound) = row.cells.get(best).copied().flatten()?;
    let level = row.level();
    let &first = level.ahead.first().filter(|_| level.loses(best))?;
    let (least, _) = row.cells[first]?;
    let factor = own.mean / least.mean;
    factor.is_finite().then(|| {
        let bound = if bound { "at least " } else { "" };
        let text = format!(
            "{}: {bound}{} under {}, {} under {}: {} times",
            row.name,
            shown(row.unit, own),
            rivals[best].transport,
            shown(row.unit, least),
            rivals[first].transport,
            human::ratio(factor)
        );
        let worse = if row.better == Better::Higher {
            1.0 / factor
        } else {
            factor
        };
        (worse, text)
    })
}

/// What a setting changed for one transport: its tail and its slowest message, before and after.
pub fn changed(before: &[&Summary], after: &[&Summary]) -> String {
    let (old, new) = (Comparison::of(before), Comparison::of(after));
    let (Some(old), Some(new)) = (old.groups.first(), new.groups.first()) else {
        return "nothing ran".into();
    };
    if old.fingerprints == new.fingerprints {
        return "nothing: the same packets at the same moments".into();
    }
    let seeds = measured(old, new);
    let rows = rows(&[old, new]);
    let mut said = Vec::new();
    // Half and twice of a value may both look better once; equal runs are all that there is of their traffic.
    let once = old.seeds.len().min(new.seeds.len()) < 2;
    for row in &rows {
        let [Some((was, _)), Some((is, bound))] = row.cells[..] else {
            continue;
        };
        let better = behind(is, was, seeds) && !bound;
        if !better && !behind(was, is, seeds) {
            continue;
        }
        let word = match (once, better) {
            (true, _) => "cannot be judged with one seed",
            (false, true) => "better",
            (false, false) => "worse",
        };
        let bound = if bound { "at least " } else { "" };
        let (was, is) = (shown(row.unit, was), shown(row.unit, is));
        said.push(format!("{word}, {}: {was} becomes {bound}{is}", row.name));
    }
    if !said.is_empty() {
        return said.join("; ");
    }
    if seeds > 1 {
        return "no difference that the seeds tell from chance".into();
    }
    let once = if old.is_equal() || new.is_equal() {
        "equal runs tell"
    } else {
        "one seed tells"
    };
    format!("no difference of 5% or more, and {once} no smaller one from chance")
}

fn unjudged(runs: &[&Summary], rivals: &[&Group]) -> Vec<String> {
    let mut found = Vec::new();
    if rivals.iter().any(|group| group.seeds.len() < 2) {
        found.push(
            "With one seed nothing tells a small difference from chance: a lead below 5% counts as \
             none. --seeds 5 gives intervals."
                .to_owned(),
        );
    }
    if let Some(equal) = equal_told(rivals) {
        found.push(format!(
            "{equal} A lead below 5% counts as none there. What would tell it from chance: several traces of the same \
             traffic, or, for patterns that have the key, workload.jitter, which draws when each message starts."
        ));
    }
    let (mut small, mut known) = (Vec::new(), BTreeSet::new());
    // What is claimed first rests on all of them.
    let all = rivals.iter().map(|group| group.messages).max();
    if let Some(all) = all.filter(|&all| all < TAIL_MIN) {
        small.push(format!("all messages ({})", human::count(all)));
    }
    for part in rivals.iter().flat_map(|group| &group.parts) {
        let text = format!("{} ({})", part.name, human::count(part.messages));
        if part.messages < TAIL_MIN && known.insert(text.clone()) {
            small.push(text);
        }
    }
    if !small.is_empty() {
        let more = small.len().saturating_sub(SMALL_MAX);
        small.truncate(SMALL_MAX);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        found.push(format!(
            "The 99th percentile of fewer than {TAIL_MIN} messages is the slowest one: {}{more}.",
            small.join(", ")
        ));
    }
    let mut grew: Vec<String> = Vec::new();
    for rival in rivals {
        let own = || runs.iter().filter(|run| run.transport == rival.transport);
        let some = |count: usize| match own().count() {
            all if all == count => String::new(),
            all => format!(" in {count} of {all} runs"),
        };
        let late = || own().filter(|run| run.all().unfinished > 0);
        if let Some(worst) = late().max_by_key(|run| run.all().unfinished) {
            let most = if late().count() > 1 { "up to " } else { "" };
            found.push(format!(
                "{}: {most}{} of {} messages did not finish{}; what they take is a lower bound.",
                rival.transport,
                human::count(worst.all().unfinished),
                human::count(worst.all().messages),
                some(late().count())
            ));
        }
        let count = own().filter(|run| run.backlog_grew).count();
        if count > 0 {
            grew.push(format!("{}{}", rival.transport, some(count)));
        }
    }
    if !grew.is_empty() {
        found.push(format!(
            "What was under way grew to the end under {}; a longer trace may say otherwise.",
            listed(&grew)
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(low: f64, high: f64) -> Interval {
        Interval {
            mean: f64::midpoint(low, high),
            low,
            high,
            bootstrap: false,
        }
    }

    fn group(transport: &str, seeds: u64) -> Group {
        Group {
            transport: transport.into(),
            settings: Vec::new(),
            seeds: (0..seeds).collect(),
            fingerprints: (0..seeds).map(|seed| seed.to_string()).collect(),
            lists: Vec::new(),
            messages: 10,
            figures: Vec::new(),
            parts: Vec::new(),
            ground: crate::Ground::default(),
            asked: None,
        }
    }

    fn row(cells: &[(f64, f64, bool)]) -> PartRow {
        PartRow {
            name: "tag x".into(),
            tag: Some("x".into()),
            unit: Unit::Ratio,
            better: Better::Lower,
            seeds: Vec::new(),
            messages: 10,
            cells: cells
                .iter()
                .map(|&(low, high, bound)| Some((interval(low, high), bound)))
                .collect(),
        }
    }

    /// What is said of a row whose seeds are those of `rivals`.
    fn verdict(row: &PartRow, rivals: &[&Group]) -> PartVerdict {
        super::verdict(&of(row, rivals), rivals)
    }

    fn price(row: &PartRow, best: usize, rivals: &[&Group]) -> Option<(f64, String)> {
        super::price(&of(row, rivals), best, rivals)
    }

    fn of(row: &PartRow, rivals: &[&Group]) -> PartRow {
        PartRow {
            seeds: seeds_of(rivals),
            ..row.clone()
        }
    }

    #[test]
    fn who_wins_is_said_only_where_the_seeds_agree() {
        let (a, b) = (group("a", 3), group("b", 3));
        let rivals = [&a, &b];
        let sure = verdict(&row(&[(2.0, 2.2, false), (4.0, 4.4, false)]), &rivals);
        assert_eq!(sure.winners, ["a"]);
        assert_eq!(sure.says, "2.10 (2.00 to 2.20); b has 2.00 times that");
        let level = verdict(&row(&[(2.0, 4.1, false), (4.0, 4.4, false)]), &rivals);
        assert_eq!(level.winners, ["a", "b"]);
        // What did not end may take any time: who has that is never ahead.
        let late = verdict(&row(&[(2.0, 2.2, true), (4.0, 4.4, false)]), &rivals);
        assert!(
            late.winners.is_empty() && late.says.contains("unfinished"),
            "{late:?}"
        );
        assert_eq!(late.cells[0], "≥ 2.10 (2.00 to 2.20)");
        let behind = row(&[(2.0, 2.0, false), (2.05, 2.05, true)]);
        let behind = verdict(&behind, &rivals);
        assert_eq!(behind.winners, ["a"], "b may take any longer");
        assert_eq!(behind.says, "2.00; b has at least 1.02 times that");
        let near = row(&[(2.0, 2.0, false), (2.05, 2.05, false)]);
        assert_eq!(verdict(&near, &rivals).winners, ["a"]);
        let once = group("a", 1);
        let once = verdict(&near, &[&once, &b]);
        assert_eq!(
            once.winners.len(),
            2,
            "5 % of one seed is nothing: {once:?}"
        );
    }

    #[test]
    fn equal_runs_count_as_one_beside_whom_a_spread_still_counts() {
        let (mut a, b, c) = (group("a", 5), group("b", 5), group("c", 5));
        a.fingerprints.fill("same".into());
        let winners =
            |cells: &[(f64, f64, bool)], other: &Group| verdict(&row(cells), &[&a, other]).winners;
        let near = [(2.0, 2.0, false), (2.04, 2.06, false)];
        assert_eq!(winners(&near, &b), ["a", "b"], "below 5 %");
        let wide = [(2.0, 2.0, false), (1.9, 2.5, false)];
        assert_eq!(
            winners(&wide, &b),
            ["a", "b"],
            "10 %, but within the spread"
        );
        let far = [(2.0, 2.0, false), (2.2, 2.5, false)];
        assert_eq!(winners(&far, &b), ["a"]);
        // Two others are told apart as before.
        let third = row(&[(4.0, 4.0, false), (2.0, 2.0, false), (2.05, 2.05, false)]);
        assert_eq!(verdict(&third, &[&a, &b, &c]).winners, ["b"]);
        let told = unjudged(&[], &[&a, &b]);
        assert!(
            told[0].starts_with(
                "Seeds change nothing under a (no random draws): 5 equal runs count as one."
            ),
            "{told:?}"
        );
        assert!(told[0].contains("workload.jitter"), "{told:?}");
    }

    #[test]
    fn settings_that_draw_nothing_are_named_where_others_of_their_transport_draw() {
        let with = |name: &'static str, jitter: &str, equal: bool| {
            let mut one = group(name, 5);
            one.settings = vec![("workload.jitter".into(), jitter.into())];
            if equal {
                one.fingerprints.fill("same".into());
            }
            one
        };
        let some = [
            with("a", "0s", true),
            with("a", "20us", false),
            with("b", "0s", true),
        ];
        let told = |groups: &[Group]| equal_told(&groups.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(
            told(&some),
            "Seeds change nothing under a with workload.jitter 0s and b (no random draws): 5 equal runs count as one."
        );
        let many = (0..9).map(|i| with("a", &format!("{i}us"), i < 7));
        let said = told(&many.collect::<Vec<_>>());
        assert!(said.contains("jitter 3us and 3 more (no"), "{said}");
    }

    #[test]
    fn the_tail_of_few_messages_in_all_is_not_judged() {
        let (mut few, mut many) = (group("a", 2), group("b", 2));
        let of = |few: &Group, many: &Group| unjudged(&[], &[few, many]).join(" ");
        (few.messages, many.messages) = (3, 99);
        let told = of(&few, &many);
        assert!(
            told.contains("fewer than 100 messages is the slowest one: all messages (99)."),
            "{told}"
        );
        many.messages = 100;
        assert_eq!(of(&few, &many), "");
    }

    #[test]
    fn who_is_level_pays_no_price() {
        let (mut a, b) = (group("a", 3), group("b", 3));
        let near = row(&[(2.04, 2.04, false), (2.0, 2.0, false)]);
        assert!(price(&near, 0, &[&a, &b]).is_some());
        a.fingerprints.fill("same".into());
        assert_eq!(verdict(&near, &[&a, &b]).winners, ["b", "a"]);
        assert!(price(&near, 0, &[&a, &b]).is_none());
    }

    #[test]
    fn a_price_is_what_another_has_less_of() {
        let (a, b) = (group("a", 3), group("b", 3));
        let rivals = [&a, &b];
        let cells = row(&[(400.0, 420.0, false), (40.0, 42.0, false)]);
        let (factor, text) = price(&cells, 0, &rivals).unwrap();
        assert!((factor - 10.0).abs() < 0.01);
        assert!(
            text.contains("under a, 41.0 (40.0 to 42.0) under b: 10.0 times"),
            "{text}"
        );
        assert!(price(&cells, 1, &rivals).is_none());
        let unsure = row(&[(400.0, 420.0, false), (40.0, 42.0, true)]);
        assert!(price(&unsure, 0, &rivals).is_none(), "b may be any slow");
    }
}
