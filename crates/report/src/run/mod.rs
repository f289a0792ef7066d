//! The report of one run: a single HTML file that needs no network and no server.

mod groups;
mod messages;
mod motion;
mod network;
mod pauses;
mod why;

pub use motion::motion;

use crate::page::{About, Block, Check, Chip, Page, Section, Tile};
use results::Summary;
use results::Verdict;
use results::human;
use results::stats::{Dist, Figure};
use results::{RunRecord, Status};
use std::borrow::Cow;
use units::{Bytes, Rate, Span, Time};

/// The page cuts the resolved scenario here; `resolved.toml` has the whole.
const SCENARIO_MAX: usize = 150_000;

/// The report as HTML.
pub fn of_run(run: &RunRecord, summary: &Summary, verdicts: &[Verdict]) -> String {
    let (tags, short) = (summary.tags.len(), on_page(summary));
    let summary = &*short;
    let mut sections: Vec<Section> = Vec::new();
    let sampled = run.port_series.by_link();
    sections.extend(groups::section(run, summary, tags));
    // After the curves of messages, which are what the first screen is about.
    let before_motion = sections.len() + 2;
    sections.extend(messages::completion(run, summary));
    sections.extend(messages::by_size(run, summary));
    sections.extend(messages::rates(run));
    sections.extend(messages::outstanding(run));
    sections.extend(network::over_time(run, &sampled));
    sections.extend(network::drops(run, summary));
    sections.extend(network::credits(summary));
    sections.extend(messages::slowest(run, summary));
    sections.extend(why::section(run));
    sections.extend(pauses::section(run));
    sections.extend(messages::stuck(run));
    sections.push(network::links(run, summary));
    let moving = motion::section(run, &sampled).map(|(section, data)| {
        sections.insert(sections.len().min(before_motion), section);
        data
    });
    pair_up(&mut sections);
    let (headline, lede) = headline(summary);
    Page {
        title: format!("{} - {} - tidegate", summary.scenario, summary.transport),
        scenario: summary.scenario.clone(),
        subtitle: summary.title.clone(),
        chips: chips(summary, verdicts),
        headline: bind(&headline),
        lede: bind(&lede),
        more: why::more(run),
        tiles: tiles(summary),
        checks: verdicts.iter().map(check).collect(),
        // The page has another sign than a terminal.
        warnings: summary
            .warnings
            .iter()
            .map(|text| text.replace("marked >=", "marked ≥"))
            .collect(),
        sections,
        about: about(run, summary),
        footer: "Made by tidegate. The same scenario and seed give this page again, byte for \
                 byte, on any machine and any number of threads."
            .into(),
        moving,
    }
    .render(&results::files::to_json(summary))
}

/// The summary without the tags of which the page has no rows.
fn on_page(summary: &Summary) -> Cow<'_, Summary> {
    if summary.tags.len() <= groups::TAGS_MAX {
        return Cow::Borrowed(summary);
    }
    let mut short = summary.clone();
    let told = results::telling(&summary.tags).into_iter();
    short.tags = told.take(groups::TAGS_MAX).cloned().collect();
    Cow::Owned(short)
}

/// Where the time of the messages that `run.why` explains went, as a page of its own.
pub fn of_why(run: &RunRecord, summary: &Summary) -> String {
    let sentence = run.why.first().map(results::trace::Why::sentence);
    Page {
        title: format!("{} - {} - tidegate", summary.scenario, summary.transport),
        scenario: summary.scenario.clone(),
        subtitle: summary.title.clone(),
        chips: chips(summary, &[]),
        headline: bind(&sentence.unwrap_or_default()),
        lede: String::new(),
        more: None,
        tiles: Vec::new(),
        checks: Vec::new(),
        warnings: Vec::new(),
        sections: why::section(run).into_iter().collect(),
        about: about(run, summary),
        footer: String::new(),
        moving: None,
    }
    .render("null")
}

/// Sections of half a page come in pairs; the last of an odd number takes the whole width.
pub(crate) fn pair_up(sections: &mut [Section]) {
    if sections.iter().filter(|section| !section.wide).count() % 2 == 1
        && let Some(last) = sections.iter_mut().rfind(|section| !section.wide)
    {
        last.wide = true;
    }
}

fn check(verdict: &Verdict) -> Check {
    Check {
        passed: verdict.passed,
        what: bind(&format!("{} {}", verdict.key, verdict.condition)),
        measured: bind(&verdict.measured),
    }
}

/// Keeps numbers and their units on one line.
pub(crate) fn bind(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut last = "";
    for word in text.split(' ') {
        if !out.is_empty() {
            let number = last.ends_with(|c: char| c.is_ascii_digit());
            let unit =
                word.len() <= 5 && word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '%');
            out.push(if number && unit { '\u{a0}' } else { ' ' });
        }
        out.push_str(word);
        last = word;
    }
    out
}

fn chips(summary: &Summary, verdicts: &[Verdict]) -> Vec<Chip> {
    let chip = |text: String, kind: &'static str| Chip { text, kind };
    let mut chips = vec![chip(summary.transport.clone(), "")];
    let all = summary.all();
    chips.push(match (summary.status.as_str(), &summary.conservation) {
        (_, Some(_)) => chip("packets unaccounted for".into(), "bad"),
        // The end that the scenario sets came first.
        (status, None) if status == Status::Complete.name() && all.unfinished > 0 => chip(
            format!("{} unfinished", some_of(all.unfinished, all.messages)),
            "warn",
        ),
        (status, None) if status == Status::Complete.name() => chip(status.into(), "good"),
        (status, None) => chip(status.into(), "bad"),
    });
    if !verdicts.is_empty() {
        let passed = verdicts.iter().filter(|verdict| verdict.passed).count();
        let kind = if passed == verdicts.len() {
            "good"
        } else {
            "bad"
        };
        chips.push(chip(
            format!("{passed} of {} thresholds met", verdicts.len()),
            kind,
        ));
    }
    chips.push(chip(format!("seed {}", summary.seed), ""));
    chips.push(chip(format!("fingerprint {}", summary.fingerprint), ""));
    chips
}

/// The one sentence that a reader takes away, and the one that explains it.
fn headline(summary: &Summary) -> (String, String) {
    let all = summary.all();
    if let (Some(slow), Some(times), Some(slowdowns)) =
        (summary.slowest.first(), &all.fct_ps, &all.slowdown)
    {
        let time = |ps| human::time(Span(ps));
        let took = figure(slow.fct_ps, time);
        // Nobody is faster than an idle network: that says nothing.
        let factor = if slow.slowdown.at_least && slow.slowdown.value <= 1.0 {
            String::new()
        } else {
            let factor = figure(slow.slowdown, human::ratio);
            format!(": {factor} times what an idle network needs")
        };
        let messages = human::count(all.messages);
        let headline = if all.unfinished > 0 {
            format!(
                "{} messages did not finish. The slowest so far by slowdown took {took}{factor}.",
                some_of(all.unfinished, all.messages)
            )
        } else {
            format!("The slowest of {messages} messages by slowdown took {took}{factor}.")
        };
        let longest = if times.max.value > slow.fct_ps.value {
            format!(" The longest took {}.", figure(times.max, time))
        } else {
            String::new()
        };
        let typical = typical(times, slowdowns);
        let lede = format!(
            "It is message {}, {} from {} to {}, sent at {}.{longest} {typical}.",
            slow.message,
            human::bytes(Bytes(slow.size)),
            slow.from,
            slow.to,
            time(slow.start_ps),
        );
        return (headline, lede);
    }
    match summary.goodput {
        Some(goodput) => (
            format!(
                "{} flows shared {} of goodput.",
                human::count(summary.messages.counted),
                human::rate(Rate(goodput.bps))
            ),
            format!(
                "They have a set end, so they have no completion time. Jain's fairness index of \
                 their rates is {}.",
                summary.fairness.map_or("-".into(), human::ratio)
            ),
        ),
        None => (
            "No message started inside the measurement window.".into(),
            "There is nothing to measure; the scenario below says what was asked for.".into(),
        ),
    }
}

/// What the median message took, and what the slowest of a hundred did not.
fn typical(times: &Dist<u64>, slowdowns: &Dist<f64>) -> String {
    let time = |ps| human::time(Span(ps));
    let median = if times.p50.at_least || slowdowns.p50.at_least {
        more_than("More than half of the messages take", times.p50, time)
    } else {
        format!(
            "The median message took {}, {} times its idle time",
            time(times.p50.value),
            human::ratio(slowdowns.p50.value)
        )
    };
    let tail = if !times.p99.at_least {
        format!("; 99 in 100 took {} or less", time(times.p99.value))
    } else if times.p50.at_least && time(times.p50.value) == time(times.p99.value) {
        String::new()
    } else {
        more_than("; more than 1 in 100 take", times.p99, time)
    };
    median + &tail
}

/// `5 of 64`.
fn some_of(some: u64, all: u64) -> String {
    format!("{} of {}", human::count(some), human::count(all))
}

/// What `more` messages take where a quantile rests on some that did not finish: it is a bound from below, and so
/// bounds those beyond it alone.
fn more_than<T>(more: &str, quantile: Figure<T>, show: impl Fn(T) -> String) -> String {
    format!("{more} {} or more", show(quantile.value))
}

/// `≥ 12.3`.
fn bounded<T>(figure: Figure<T>, show: impl Fn(T) -> String) -> String {
    let bound = if figure.at_least { "≥ " } else { "" };
    format!("{bound}{}", show(figure.value))
}

fn tiles(summary: &Summary) -> Vec<Tile> {
    let mut tiles = Vec::new();
    let mut tile = |name, value, note| tiles.push(Tile::new(name, value, note));
    let short = |f: Figure<u64>| bounded(f, |ps| human::time(Span(ps)));
    let ratio = |f: Figure<f64>| bounded(f, human::ratio);
    if let (Some(times), Some(slow)) = (&summary.all().fct_ps, &summary.all().slowdown) {
        tile(
            "Median completion",
            short(times.p50),
            format!("mean {}", short(times.mean)),
        );
        tile(
            "p99 completion",
            short(times.p99),
            format!("p99.9 {}, max {}", short(times.p999), short(times.max)),
        );
        tile(
            "p99 slowdown",
            ratio(slow.p99),
            format!(
                "median {}, p99.9 {}, max {}",
                ratio(slow.p50),
                ratio(slow.p999),
                ratio(slow.max)
            ),
        );
    }
    let messages = summary.messages;
    let unfinished = summary.all().unfinished;
    tile(
        "Messages",
        human::count(messages.counted),
        if unfinished > 0 {
            format!("{} did not finish", human::count(unfinished))
        } else {
            format!("{} in all", human::bytes(Bytes(messages.bytes)))
        },
    );
    if let Some(goodput) = summary.goodput {
        let over = human::time(Span(goodput.until_ps - goodput.from_ps));
        tile(
            "Goodput",
            human::rate(Rate(goodput.bps)),
            format!("over {over}, all hosts"),
        );
    }
    if let Some(queue) = &summary.queue_max {
        tile(
            "Fullest queue",
            human::bytes(Bytes(queue.bytes)),
            queue.port.clone(),
        );
    }
    let drops = &summary.drops;
    let faults: u64 = drops.faults.values().sum();
    let credits = drops.total - drops.data + summary.credits.dropped_at_host;
    let note = match (credits, faults) {
        (0, 0) => "and no credits".into(),
        (credits, 0) => format!("and {} credits", human::count(credits)),
        (credits, faults) => {
            format!(
                "{} credits, {} by faults",
                human::count(credits),
                human::count(faults)
            )
        }
    };
    tile("Packets dropped", human::count(drops.data), note);
    tiles
}

/// What the record alone says of its network.
fn derived_facts(run: &RunRecord) -> Vec<(String, String)> {
    let (derived, encap) = (&run.derived, run.encap);
    let frame = encap.payload_max + encap.overhead;
    [
        (
            "hosts, switches",
            format!("{}, {}", derived.hosts, derived.switches),
        ),
        ("host link", human::rate(derived.host_rate)),
        (
            "base round trip, with frames",
            human::time(derived.base_rtt),
        ),
        ("propagation alone", human::time(derived.propagation_rtt)),
        ("bandwidth-delay product", human::bytes(derived.bdp)),
        (
            "full frame",
            format!(
                "{} B of payload in {frame} B on the wire",
                encap.payload_max
            ),
        ),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

fn about(run: &RunRecord, summary: &Summary) -> About {
    let derived = &run.derived;
    let window = if run.window.end == Time::NEVER {
        format!("from {}", run.window.start)
    } else {
        format!("{} to {}", run.window.start, run.window.end)
    };
    let packets = summary.packets;
    let mut facts = vec![("transport".into(), run.transport.clone())];
    facts.extend(summary.transports.iter().map(|of| {
        let finished = format!("{} of {}", human::count(of.finished), human::count(of.messages));
        let p99 = of.fct_ps.as_ref().map_or("-".into(), |dist| {
            figure(dist.p99, |ps| human::time(Span(ps)))
        });
        let goodput = of.goodput_bps.map_or("-".into(), |bps| human::rate(Rate(bps)));
        let text = format!(
            "{finished} messages finished, 99th percentile {p99}, goodput {goodput}, {} data packets, {} \
             of them again",
            human::count(of.data_sent),
            human::count(of.retransmitted)
        );
        (format!("by {}", of.name), text)
    }));
    facts.extend(if derived.more.is_empty() {
        derived_facts(run)
    } else {
        derived.more.clone()
    });
    let measured = [
        ("measurement window", window),
        ("the run ended at", human::time(run.end.since(Time::ZERO))),
        ("packets over links", human::count(run.hops)),
        ("data packets sent", human::count(packets.data_sent)),
        ("of those again", human::count(packets.retransmitted)),
        ("duplicates at receivers", human::count(packets.duplicates)),
        ("packets marked", human::count(packets.marked)),
        ("control packets", control(summary)),
        ("safety timers fired", human::count(packets.timeouts)),
        (
            "fairness (Jain)",
            summary.fairness.map_or("-".into(), human::ratio),
        ),
    ];
    facts.extend(measured.map(|(name, value)| (name.to_owned(), value)));
    facts.extend(summary.counters.iter().map(|own| {
        let name = format!("{} of {}", own.name.replace('_', " "), own.transport);
        (name, format!("{} {}", human::count(own.value), own.unit))
    }));
    let mut scenario = run.scenario_toml.clone();
    if let Some((cut, _)) = scenario.char_indices().find(|&(at, _)| at >= SCENARIO_MAX) {
        scenario.truncate(cut);
        scenario.push_str("\n# ... cut here; the whole stands in resolved.toml\n");
    }
    About {
        title: "What was run",
        facts,
        blocks: vec![
            Block {
                name: "To run it again:",
                text: run.command.clone(),
                fold: false,
            },
            Block {
                name: "The scenario with every default",
                text: scenario,
                fold: true,
            },
        ],
    }
}

/// Packets of class control, and what they take of the links.
fn control(summary: &Summary) -> String {
    let control = &summary.control;
    if control.packets == 0 {
        return "none".into();
    }
    format!(
        "{}; {} of a link in the mean, {} of {}",
        human::count(control.packets),
        human::percent(control.share_mean),
        human::percent(control.share_max),
        control.busiest
    )
}

/// Buckets of a curve over time.
const TIME_POINTS: usize = 320;

fn bucket(at: Time, (first, last): (Time, Time), buckets: usize) -> usize {
    let share = u128::from(at.since(first).0) * buckets as u128;
    let index = share / (u128::from(last.since(first).0) + 1);
    usize::try_from(index).expect("an index below the number of buckets")
}

fn figure<T>(figure: Figure<T>, show: impl Fn(T) -> String) -> String {
    let text = show(figure.value);
    if figure.at_least {
        format!("at least {text}")
    } else {
        text
    }
}
