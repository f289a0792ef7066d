//! The sentence that a comparison is remembered by: who is fastest in the tail, and at what price.

use super::level::{Bounded, Level, seeds_of};
use super::{Better, By, Comparison, Group, METRICS, Part, cells, listed, measured, under_each};
use crate::stats::Interval;
use crate::{Unit, human};
use std::collections::BTreeMap;

/// What is claimed, and what a reader has to know besides.
pub struct Headline {
    /// The claim, a sentence.
    pub claim: String,
    /// The price, and what else to know.
    pub more: String,
}

/// The headline of a comparison; `None` where no message has a completion time at the combinations of settings that
/// are judged. Of several it claims who is ahead where, and the rest tells each by itself.
pub fn of(comparison: &Comparison) -> Option<Headline> {
    if let [only] = comparison.varied.as_slice()
        && only == "run.threads"
        && comparison
            .groups
            .iter()
            .all(|group| group.transport == comparison.groups[0].transport)
    {
        return Some(Headline {
            claim: "No result depends on the number of threads: these runs are the same.".into(),
            more: "How long each took is in its meta.json, as wall_s.".into(),
        });
    }
    let judged = comparison.judged();
    let several = judged.len() > 1;
    let mut said: Vec<(&Group, Judged<'_>)> = Vec::new();
    for place in judged {
        said.extend(at(comparison, place, several).map(|judged| (place, judged)));
    }
    let once = |group: &Group| group.measured() < 2;
    let chance = comparison.groups.len() > said.len() && comparison.groups.iter().any(once);
    let chance = chance.then_some(if comparison.groups.iter().any(Group::is_equal) {
        "A small difference may be chance."
    } else {
        "With one seed a small difference may be chance."
    });
    let mut more: Vec<&str> = Vec::new();
    let claim = if several {
        for (_, judged) in &said {
            more.extend([judged.claim.as_str(), judged.more.as_str()]);
        }
        ahead(&said)
    } else {
        let (_, judged) = said.first()?;
        more.push(&judged.more);
        judged.claim.clone()
    };
    let others = if several {
        String::new()
    } else {
        elsewhere(comparison, &said)
    };
    more.push(&others);
    more.extend(chance);
    more.retain(|text| !text.is_empty());
    // A tie has said it already.
    if more
        .iter()
        .any(|text| text.contains("below 5% from chance"))
    {
        more.retain(|text| Some(*text) != chance);
    }
    let more = more.join(" ");
    (!said.is_empty()).then_some(Headline { claim, more })
}

/// Who has the lowest tail at which combinations of settings.
fn ahead(said: &[(&Group, Judged<'_>)]) -> String {
    format!("Lowest p99 slowdown: {}.", winners(said))
}

/// Who has the lowest tail where the claim is not about, if that is told by so few combinations that a sentence holds them.
fn elsewhere(comparison: &Comparison, said: &[(&Group, Judged<'_>)]) -> String {
    let claimed = |place: &Group| said.iter().any(|(one, _)| one.settings == place.settings);
    let places = comparison.places();
    let places: Vec<_> = places.into_iter().filter(|place| !claimed(place)).collect();
    if places.is_empty() || places.len() > ELSEWHERE_MAX {
        return String::new();
    }
    let of = |place| at(comparison, place, true).map(|judged| (place, judged));
    let others: Vec<(&Group, Judged<'_>)> = places.into_iter().filter_map(of).collect();
    // A single transport is the best of one.
    if others.is_empty() || others.iter().all(|(_, judged)| judged.alone) {
        return String::new();
    }
    format!("Lowest elsewhere: {}.", winners(&others))
}

/// Combinations of settings besides that of the claim that are told. [ours]
const ELSEWHERE_MAX: usize = 8;

/// `homa at load 0.2; homa and sird tie at load 0.5; nobody for sure at load 0.8`.
fn winners(said: &[(&Group, Judged<'_>)]) -> String {
    let mut winners: Vec<(String, Vec<String>)> = Vec::new();
    let mut open = Vec::new();
    for (place, judged) in said {
        let names: Vec<&str> = judged
            .best
            .iter()
            .map(|best| best.transport.as_str())
            .collect();
        let name = match names.as_slice() {
            [] => {
                open.push(place.place());
                continue;
            }
            [one] => (*one).to_owned(),
            several => format!("{} tie", listed(several)),
        };
        match winners.iter_mut().find(|(known, _)| *known == name) {
            Some((_, places)) => places.push(place.place()),
            None => winners.push((name, vec![place.place()])),
        }
    }
    let mut told: Vec<String> = winners
        .iter()
        .map(|(name, places)| format!("{name} at {}", listed(places)))
        .collect();
    if !open.is_empty() {
        told.push(format!("nobody for sure at {}", listed(&open)));
    }
    told.join("; ")
}

/// What holds at one combination of settings.
struct Judged<'a> {
    claim: String,
    more: String,
    /// Who has the lowest tail: several tie, and nobody has it where messages are unfinished.
    best: Vec<&'a Group>,
    /// Whether there is nobody else.
    alone: bool,
}

/// What holds at one combination of settings; where it is one of several, those who are not named stay so.
fn at<'a>(comparison: &'a Comparison, last: &'a Group, several: bool) -> Option<Judged<'a>> {
    let mut rivals: Vec<&Group> = comparison
        .rivals(last)
        .filter(|group| tail(group).is_some())
        .collect();
    rivals.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
    let (&best, others) = rivals.split_first()?;
    let place = place(last);
    let seeds = if comparison.seeds_max() > 1 {
        "mean "
    } else {
        ""
    };
    let level = Level::of(
        &row(&rivals, By::SlowdownP99),
        &seeds_of(&rivals),
        Better::Lower,
    );
    let ties = level.ahead.get(1..).unwrap_or_default();
    let ties: Vec<&Group> = ties.iter().map(|&i| rivals[i]).collect();
    let unsure = level.unsure.map(|i| rivals[i]);
    let claim = match unsure {
        _ if others.is_empty() => {
            let own = shown(best);
            let left = unsure.map_or("", |_| ", for it left messages unfinished");
            format!(
                "{place}{} has a {seeds}p99 slowdown of {own}{left}.",
                best.transport
            )
        }
        Some(group) => format!(
            "{place}no transport can be called best: {} left messages unfinished, and its {seeds}p99 \
             slowdown is {}.",
            group.transport,
            shown(group),
        ),
        None if ties.is_empty() => alone(comparison, best, others, &place, seeds),
        None => {
            let tied = || [best].into_iter().chain(ties.iter().copied());
            let names: Vec<&str> = tied().map(|group| group.transport.as_str()).collect();
            let (names, values) = (listed(&names), each(&tied().map(shown).collect::<Vec<_>>()));
            format!("{place}{names} tie at the lowest {seeds}p99 slowdown: {values}.")
        }
    };
    let tied = || std::iter::once(best).chain(ties.iter().copied());
    Some(Judged {
        claim: capital(&claim),
        more: more(comparison, best, &ties, unsure, others, several),
        alone: others.is_empty(),
        best: match unsure {
            Some(_) => Vec::new(),
            None => tied().collect(),
        },
    })
}

/// Names that have a number each; of more the least and the greatest is told. [ours]
const EACH_MAX: usize = 4;

/// Numbers in the order of their names, one where all are the same.
fn each(values: &[String]) -> String {
    let same = values.iter().all(|value| *value == values[0]);
    match values {
        [one, ..] if same => one.clone(),
        [least, .., most] if values.len() > EACH_MAX => format!("{least} to {most}, in this order"),
        all => listed(all),
    }
}

/// The p99 slowdown as it is shown.
fn shown(group: &Group) -> String {
    let bound = if bounded(group) { "at least " } else { "" };
    format!("{bound}{}", human::ratio(mean(group)))
}

fn mean(group: &Group) -> f64 {
    tail(group).map_or(f64::INFINITY, |interval| interval.mean)
}

/// Those that the claim does not name, and what else tells the best from them.
fn more(
    comparison: &Comparison,
    best: &Group,
    ties: &[&Group],
    unsure: Option<&Group>,
    others: &[&Group],
    several: bool,
) -> String {
    let named: Vec<&Group> = match unsure {
        Some(group) => vec![group],
        // Who is alone was set beside the second already.
        None if ties.is_empty() => [best].into_iter().chain(others.first().copied()).collect(),
        None => [best].into_iter().chain(ties.iter().copied()).collect(),
    };
    let rest: Vec<String> = [best]
        .into_iter()
        .chain(others.iter().copied())
        .filter(|group| !named.iter().any(|one| std::ptr::eq(*one, *group)))
        .map(|group| format!("{} has {}", group.transport, shown(group)))
        .collect();
    let mut more = Vec::new();
    // The claim has the greatest already, and a headline is short.
    let rivals: Vec<&Group> = [best].into_iter().chain(others.iter().copied()).collect();
    if ties.is_empty()
        && unsure.is_none()
        && let Some(prices @ [_, ..]) = prices(comparison, 0, &rivals).get(1..)
    {
        more.push(format!("What else it costs: {}.", listed(prices)));
    }
    let uneven = || ties.iter().filter(|other| shown(other) != shown(best));
    if uneven().any(|other| overlap(best, other)) {
        more.push("They lie within the spread of their seeds.".to_owned());
    } else if uneven().any(|other| measured(best, other) > 1) {
        more.push("They differ by less than 1%, which is no lead.".to_owned());
    } else if uneven().any(|other| best.is_equal() || other.is_equal()) {
        more.push("Equal runs tell no difference below 5% from chance.".to_owned());
    } else if uneven().next().is_some() {
        more.push("One seed tells no difference below 5% from chance.".to_owned());
    }
    if !rest.is_empty() && !several {
        more.push(format!("{}.", rest.join(", ")));
    }
    if ties.is_empty() {
        more.extend(goodput(0, &rivals).map(|(own, most)| {
            let (one, other) = (&best.transport, &rivals[most.0].transport);
            format!("The goodput of {one} is {own}, that of {other} {}.", most.1)
        }));
    } else {
        for i in 0..=ties.len() {
            let mut prices = prices(comparison, i, &rivals);
            prices.extend(goodput(i, &rivals).map(|(own, most)| {
                let other = &rivals[most.0].transport;
                format!("its goodput is {own}, that of {other} {}", most.1)
            }));
            if !prices.is_empty() {
                let (one, prices) = (&rivals[i].transport, listed(&prices));
                more.push(format!("{one} has its price: {prices}."));
            }
        }
    }
    more.join(" ")
}

/// The claim where one is ahead of all others: by how much, and what it is worse at.
fn alone(
    comparison: &Comparison,
    best: &Group,
    others: &[&Group],
    place: &str,
    seeds: &str,
) -> String {
    let (own, second) = (tail(best).map(|i| i.mean), tail(others[0]).map(|i| i.mean));
    let (own, second) = (own.unwrap_or(f64::NAN), second.unwrap_or(f64::NAN));
    let bound = if bounded(others[0]) { "at least " } else { "" };
    let ahead = format!(
        "{place}the {seeds}p99 slowdown of {} is {bound}{} lower than that of {} ({} against {bound}{})",
        best.transport,
        human::percent(1.0 - own / second),
        others[0].transport,
        human::ratio(own),
        human::ratio(second)
    );
    let rivals: Vec<&Group> = [best].into_iter().chain(others.iter().copied()).collect();
    match prices(comparison, 0, &rivals).first() {
        Some(price) => format!("{ahead}, but {price}."),
        None if best.parts.len() > 1 && leads(best, others) => {
            format!("{ahead}, and no size or tag of messages is slower.")
        }
        None => format!("{ahead}."),
    }
}

/// What the winner is worse at.
struct Price {
    times: f64,
    told: String,
}

/// Where one of `rivals` is behind another by the greatest factor: in the far tail of all messages, in the slowest
/// completion, in the tail of a part of them, in a median, of all or of a part, and in when a tagged group is complete. None of
/// the five hides another; the greatest comes first.
fn prices(comparison: &Comparison, one: usize, rivals: &[&Group]) -> Vec<String> {
    let own = rivals[one];
    let [whole, mut slowest, mut typical] = of_all(comparison, one, rivals);
    let (mut parts, mut last) = (vec![], vec![]);
    let each_part: BTreeMap<&str, _> = under_each(rivals).into_iter().collect();
    for part in &own.parts {
        let found = &each_part[part.name.as_str()];
        let of = |number: fn(&Part) -> Option<Bounded>| -> Vec<Option<Bounded>> {
            found.iter().map(|part| part.and_then(number)).collect()
        };
        let (named, is) = named(part);
        parts.extend(behind_best(
            one,
            rivals,
            &of(|part| part.p99.map(|interval| (interval, part.at_least))),
            |factor| format!("its {named} {is} {factor} times as slow"),
            ("slowdown p99", Unit::Ratio),
        ));
        let several = part.messages > 1; // of one the tail is the median
        typical.extend(
            behind_best(
                one,
                rivals,
                &of(|part| part.p50.map(|interval| (interval, part.p50_at_least))),
                |factor| format!("half of its {named} are {factor} times as slow"),
                ("slowdown p50", Unit::Ratio),
            )
            .filter(|_| several),
        );
        last.extend(behind_best(
            one,
            rivals,
            &of(|part| part.took.map(|interval| (interval, part.took_at_least))),
            |factor| format!("the last byte of its {named} takes {factor} times as long"),
            ("last byte", Unit::Time),
        ));
    }
    let greater = |a: Price, b: Price| if b.times > a.times { b } else { a };
    // Where all messages are alike, both say the same.
    let most = |prices: &[Price]| prices.iter().map(|price| price.times).fold(0.0, f64::max);
    if human::ratio(most(&slowest)) == human::ratio(most(&whole)) {
        slowest.clear();
    }
    let greatest =
        [whole, slowest, parts, typical, last].map(|prices| prices.into_iter().reduce(greater));
    let mut greatest: Vec<Price> = greatest.into_iter().flatten().collect();
    greatest.sort_by(|a, b| b.times.total_cmp(&a.times));
    greatest.into_iter().map(|price| price.told).collect()
}

/// Where it is behind by a number of all messages: in their far tail, in the slowest completion, and in the median.
fn of_all(comparison: &Comparison, one: usize, rivals: &[&Group]) -> [Vec<Price>; 3] {
    let (mut whole, mut slowest, mut typical) = (vec![], vec![], vec![]);
    for metric in &METRICS {
        let told = match metric.by {
            By::SlowdownMax if comparison.shows(metric) => "its slowest message is",
            By::SlowdownP99 | By::SlowdownP999 if comparison.shows(metric) => {
                "its slowest messages are"
            }
            By::FctMax => "its longest completion takes",
            By::FctP50 => "its median completion takes",
            _ => continue,
        };
        let (kind, as_) = match metric.unit {
            Unit::Time if metric.by == By::FctP50 => (&mut typical, "long"),
            Unit::Time => (&mut slowest, "long"),
            _ => (&mut whole, "slow"),
        };
        let what = |factor: &str| format!("{told} {factor} times as {as_}");
        let row = row(rivals, metric.by);
        kind.extend(behind_best(
            one,
            rivals,
            &row,
            what,
            (metric.title, metric.unit),
        ));
    }
    [whole, slowest, typical]
}

/// `24 messages tagged checkpoint`, and what they are.
fn named(part: &Part) -> (String, &'static str) {
    match (part.messages, part.name.strip_prefix("messages")) {
        (1, Some(which)) => (format!("only message{which}"), "is"),
        _ => (
            format!("{} {}", human::count(part.messages), part.name),
            "are",
        ),
    }
}

/// The price of a number that is behind the best of its row; none where the two are level.
fn behind_best(
    one: usize,
    rivals: &[&Group],
    row: &[Option<Bounded>],
    what: impl Fn(&str) -> String,
    (title, unit): (&str, Unit),
) -> Option<Price> {
    let (own, at_least) = row[one]?;
    let level = Level::of(row, &seeds_of(rivals), Better::Lower);
    let &first = level.ahead.first().filter(|_| level.loses(one))?;
    let (best, _) = row[first]?;
    let times = own.mean / best.mean;
    times.is_finite().then(|| {
        let bound = if at_least { "at least " } else { "" };
        let factor = format!("{bound}{}", human::ratio(times));
        Price {
            times,
            told: format!(
                "{} as under {} ({title} {bound}{} against {})",
                what(&factor),
                rivals[first].transport,
                unit.show_figure(own.mean),
                unit.show_figure(best.mean)
            ),
        }
    })
}

/// Whether every part is at most as slow, and complete at most as late, as under every other, by what is shown.
fn leads(best: &Group, others: &[&Group]) -> bool {
    let mean = |of: Option<Interval>| of.map_or(f64::INFINITY, |interval| interval.mean);
    let no_more = |unit: Unit, own: Option<Interval>, theirs: Option<Interval>| {
        let (own, theirs) = (mean(own), mean(theirs));
        own <= theirs || unit.show_figure(own) == unit.show_figure(theirs)
    };
    let rivals: Vec<&Group> = [best].into_iter().chain(others.iter().copied()).collect();
    under_each(&rivals).iter().all(|(_, found)| {
        let Some(part) = found[0] else {
            return true; // nothing of it to be slower by
        };
        found[1..].iter().flatten().all(|theirs| {
            no_more(Unit::Ratio, part.p99, theirs.p99)
                && no_more(Unit::Ratio, part.p50, theirs.p50)
                && no_more(Unit::Time, part.took, theirs.took)
        })
    })
}

/// The goodput of one that is behind the greatest, and who has that.
fn goodput(one: usize, rivals: &[&Group]) -> Option<(String, (usize, String))> {
    let row = row(rivals, By::Goodput);
    let level = Level::of(&row, &seeds_of(rivals), Better::Higher);
    let (own, _) = row[one]?;
    let &first = level.ahead.first().filter(|_| level.loses(one))?;
    let (most, _) = row[first]?;
    let show = |value: f64| Unit::Rate.show(value);
    Some((show(own.mean), (first, show(most.mean))))
}

/// One figure of every rival.
fn row(rivals: &[&Group], by: By) -> Vec<Option<Bounded>> {
    cells(rivals, by as usize)
}

fn figure(group: &Group, by: By) -> Option<Bounded> {
    let figure = &group.figures[by as usize];
    Some((figure.over_seeds?, figure.at_least))
}

/// The p99 slowdown.
fn tail(group: &Group) -> Option<Interval> {
    figure(group, By::SlowdownP99).map(|(interval, _)| interval)
}

/// Whether the p99 slowdown rests on unfinished messages.
fn bounded(group: &Group) -> bool {
    figure(group, By::SlowdownP99).is_some_and(|(_, at_least)| at_least)
}

/// Whether the seeds of two groups overlap; one seed of each tells nothing.
fn overlap(best: &Group, other: &Group) -> bool {
    let several = best.measured().max(other.measured()) > 1;
    let overlap = |(a, b): (Interval, Interval)| a.high >= b.low;
    several && tail(best).zip(tail(other)).is_some_and(overlap)
}

/// `at load 0.8, `, or nothing.
fn place(group: &Group) -> String {
    match group.place() {
        told if told.is_empty() => told,
        told => format!("at {told}, "),
    }
}

/// A sentence begins with a capital letter; the name of a transport keeps its own.
fn capital(text: &str) -> String {
    for start in ["at ", "the ", "no "] {
        if text.starts_with(start) {
            return format!("{}{}", text[..1].to_uppercase(), &text[1..]);
        }
    }
    text.to_owned()
}
