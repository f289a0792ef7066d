//! The sentence that a comparison is remembered by: who is fastest in the tail, and at what price.

use super::{Better, Comparison, Group, METRICS, Metric, Part, behind, costs, listed, measured};
use crate::stats::Interval;
use crate::{Unit, human};

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
    more.extend(chance);
    more.retain(|text| !text.is_empty());
    let more = more.join(" ");
    (!said.is_empty()).then_some(Headline { claim, more })
}

/// Who has the lowest tail at which combinations of settings.
fn ahead(said: &[(&Group, Judged<'_>)]) -> String {
    let mut winners: Vec<(&str, Vec<String>)> = Vec::new();
    let mut open = Vec::new();
    for (place, judged) in said {
        let [best] = judged.best[..] else {
            open.push(place.place());
            continue;
        };
        match winners.iter_mut().find(|(name, _)| *name == best.transport) {
            Some((_, places)) => places.push(place.place()),
            None => winners.push((&best.transport, vec![place.place()])),
        }
    }
    let mut told: Vec<String> = winners
        .iter()
        .map(|(name, places)| format!("{name} at {}", listed(places)))
        .collect();
    if !open.is_empty() {
        told.push(format!("nobody alone at {}", listed(&open)));
    }
    format!("Lowest p99 slowdown: {}.", told.join("; "))
}

/// What holds at one combination of settings.
struct Judged<'a> {
    claim: String,
    more: String,
    /// Who has the lowest tail: several tie, and nobody has it where messages are unfinished.
    best: Vec<&'a Group>,
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
    let tied = |other: &&&Group| shown(other) == shown(best) || close(best, other);
    let ties: Vec<&Group> = others.iter().take_while(tied).copied().collect();
    let unsure = [best]
        .iter()
        .chain(&ties)
        .find(|group| bounded(group))
        .copied();
    let claim = match unsure {
        _ if others.is_empty() => {
            let own = shown(best);
            format!(
                "{place}{} has a {seeds}p99 slowdown of {own}.",
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
            let mut values: Vec<String> = tied().map(shown).collect();
            values.dedup();
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            let (names, values) = (listed(&names), listed(&values));
            format!("{place}{names} tie at the lowest {seeds}p99 slowdown: {values}.")
        }
    };
    let tied = || std::iter::once(best).chain(ties.iter().copied());
    Some(Judged {
        claim: capital(&claim),
        more: more(comparison, best, &ties, unsure, others, several),
        best: match unsure {
            Some(_) if !others.is_empty() => Vec::new(),
            _ => tied().collect(),
        },
    })
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
    if ties.is_empty()
        && unsure.is_none()
        && let Some(prices @ [_, ..]) = prices(comparison, best, others).get(1..)
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
        more.extend(others.iter().find_map(|other| goodput(best, other)));
    } else {
        for one in [best].iter().chain(ties) {
            let all = [best].into_iter().chain(others.iter().copied());
            let rivals: Vec<&Group> = all.filter(|other| !std::ptr::eq(*other, *one)).collect();
            let prices = prices(comparison, one, &rivals);
            if !prices.is_empty() {
                more.push(format!(
                    "{} has its price: {}.",
                    one.transport,
                    listed(&prices)
                ));
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
    match prices(comparison, best, others).first() {
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

/// Where the winner is slower than another by the greatest factor: in the far tail of all messages, in the tail of a
/// part of them, and in when a tagged group is complete. None of the three hides another; the greatest comes first.
fn prices(comparison: &Comparison, best: &Group, others: &[&Group]) -> Vec<String> {
    let (mut whole, mut parts, mut last) = (Vec::new(), Vec::new(), Vec::new());
    for other in others {
        for (metric, own) in METRICS.iter().zip(&best.figures) {
            if !metric.key.starts_with("slowdown.") || !comparison.shows(metric) {
                continue;
            }
            let what = match metric.key {
                "slowdown.max" => "its slowest message is",
                _ => "its slowest messages are",
            };
            let own = own.over_seeds.map(|interval| (interval, own.at_least));
            whole.extend(slower(
                (best, own),
                (other, figure(other, metric.key)),
                |factor| format!("{what} {factor} times as slow"),
                (metric.title, Unit::Ratio),
            ));
        }
        for part in &best.parts {
            let same = other.parts.iter().find(|theirs| theirs.name == part.name);
            let Some(theirs) = same else { continue };
            let p99 = |part: &Part| part.p99.map(|interval| (interval, part.at_least));
            parts.extend(slower(
                (best, p99(part)),
                (other, p99(theirs)),
                |factor| format!("its {} are {factor} times as slow", named(part)),
                ("slowdown p99", Unit::Ratio),
            ));
            let took = |part: &Part| part.took.map(|interval| (interval, part.took_at_least));
            last.extend(slower(
                (best, took(part)),
                (other, took(theirs)),
                |factor| {
                    format!(
                        "the last byte of its {} takes {factor} times as long",
                        named(part)
                    )
                },
                ("last byte", Unit::Time),
            ));
        }
    }
    let greater = |a: Price, b: Price| if b.times > a.times { b } else { a };
    let greatest = [whole, parts, last].map(|prices| prices.into_iter().reduce(greater));
    let mut greatest: Vec<Price> = greatest.into_iter().flatten().collect();
    greatest.sort_by(|a, b| b.times.total_cmp(&a.times));
    greatest.into_iter().map(|price| price.told).collect()
}

/// `24 messages tagged checkpoint`.
fn named(part: &Part) -> String {
    format!("{} {}", human::count(part.messages), part.name)
}

/// A figure, and whether it is a lower bound.
type Bounded = Option<(Interval, bool)>;

/// The price of a figure that is higher than a rival's by more than chance; none where the rival's may be any higher.
fn slower(
    (best, own): (&Group, Bounded),
    (other, theirs): (&Group, Bounded),
    what: impl Fn(&str) -> String,
    (title, unit): (&str, Unit),
) -> Option<Price> {
    let ((own, at_least), (theirs, false)) = (own?, theirs?) else {
        return None;
    };
    let times = own.mean / theirs.mean;
    (costs(theirs, own, measured(best, other)) && times.is_finite()).then(|| {
        let bound = if at_least { "at least " } else { "" };
        let factor = format!("{bound}{}", human::ratio(times));
        Price {
            times,
            told: format!(
                "{} as under {} ({title} {bound}{} against {})",
                what(&factor),
                other.transport,
                unit.show_figure(own.mean),
                unit.show_figure(theirs.mean)
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
    best.parts.iter().all(|part| {
        let theirs = others.iter().flat_map(|other| &other.parts);
        let mut theirs = theirs.filter(|theirs| theirs.name == part.name);
        theirs.all(|theirs| {
            no_more(Unit::Ratio, part.p99, theirs.p99)
                && no_more(Unit::Time, part.took, theirs.took)
        })
    })
}

/// What the winner carries less of than another.
fn goodput(best: &Group, other: &Group) -> Option<String> {
    let ((own, _), (theirs, _)) = (figure(best, "goodput")?, figure(other, "goodput")?);
    // Who carries more than another is behind it where less is better.
    behind(own, theirs, measured(best, other)).then(|| {
        let unit = Unit::Rate;
        format!(
            "The goodput of {} is {}, that of {} {}.",
            best.transport,
            unit.show(own.mean),
            other.transport,
            unit.show(theirs.mean)
        )
    })
}

fn figure(group: &Group, key: &str) -> Option<(Interval, bool)> {
    let is = |metric: &&Metric| metric.key == key && metric.better != Better::Neither;
    debug_assert!(METRICS.iter().any(|metric| is(&metric)), "{key}");
    let figure = group.figures.iter().find(|figure| figure.key == key)?;
    Some((figure.over_seeds?, figure.at_least))
}

/// The p99 slowdown.
fn tail(group: &Group) -> Option<Interval> {
    figure(group, "slowdown.p99").map(|(interval, _)| interval)
}

/// Whether the p99 slowdown rests on unfinished messages.
fn bounded(group: &Group) -> bool {
    figure(group, "slowdown.p99").is_some_and(|(_, at_least)| at_least)
}

/// Whether the seeds of two groups overlap; one seed of each tells nothing.
fn overlap(best: &Group, other: &Group) -> bool {
    let several = best.measured().max(other.measured()) > 1;
    let overlap = |(a, b): (Interval, Interval)| a.high >= b.low;
    several && tail(best).zip(tail(other)).is_some_and(overlap)
}

/// Whether `best` has no lead over another that is told from chance and matters. Who may take any longer has none of
/// this grace.
fn close(best: &Group, other: &Group) -> bool {
    let lead = |(a, b): (Interval, Interval)| behind(a, b, measured(best, other));
    let none = || !tail(best).zip(tail(other)).is_some_and(lead);
    overlap(best, other) || (!bounded(other) && none())
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
