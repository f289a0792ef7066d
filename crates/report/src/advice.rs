//! Advice as a page: every claim beside the runs that it rests on.

use crate::page::{About, Block, Chip, FOLDED_FROM, Page, Section, Table, markup, text as plain};
use crate::run::bind;
use results::Summary;
use results::compare::{Advice, LEVEL_TOLD, PartVerdict};
use results::escape;
use std::fmt::Write as _;

/// What advice rests on, besides the runs.
#[derive(Clone, Debug, Default)]
pub struct Grounds {
    /// The report of each run, in the order of the runs, as the page refers to it.
    pub links: Vec<String>,
    /// What each transport asks of switches, by transport.
    pub needs: Vec<(String, Vec<(String, String)>)>,
    /// What was tried with the best one besides: what changed, what came of it, and its report.
    pub tried: Vec<(String, String, String)>,
    /// What of ports was varied for that: `buffer`, `marking threshold`.
    pub varied: Vec<String>,
    /// Transports that could not be tried, and why.
    pub refused: Vec<(String, String)>,
    /// The command that gives this page again.
    pub command: String,
}

impl Grounds {
    /// `half and twice the buffer and the marking threshold of its ports`, or nothing.
    pub fn varied_told(&self) -> String {
        if self.varied.is_empty() {
            return String::new();
        }
        let names: Vec<String> = self
            .varied
            .iter()
            .map(|name| format!("the {name}"))
            .collect();
        format!("half and twice {} of its ports", names.join(" and "))
    }
}

/// Names of transports, each with the report of its first run; the longest name first.
struct Links<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Links<'a> {
    fn new(advice: &'a Advice, runs: &[&Summary], grounds: &'a Grounds) -> Self {
        let first = |name: &'a String| {
            let place = runs.iter().position(|run| run.transport == *name)?;
            Some((name.as_str(), grounds.links.get(place)?.as_str()))
        };
        let mut links: Vec<_> = advice.rivals.iter().filter_map(first).collect();
        links.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Self(links)
    }

    /// `text` as markup, with every name of a transport in it a link.
    fn within(&self, text: &str) -> String {
        let inside = |c: char| c.is_alphanumeric() || c == '+' || c == '-';
        let (mut out, mut rest, mut before) = (String::new(), text, ' ');
        while let Some(c) = rest.chars().next() {
            let named = self.0.iter().find(|(name, _)| {
                let after = rest.strip_prefix(name);
                !inside(before) && after.is_some_and(|after| !after.starts_with(inside))
            });
            let length = if let Some((name, href)) = named {
                out.push_str(&link(href, name));
                name.len()
            } else {
                out.push_str(&escape(&rest[..c.len_utf8()]));
                c.len_utf8()
            };
            before = rest[..length].chars().next_back().unwrap_or(' ');
            rest = &rest[length..];
        }
        out
    }
}

impl Links<'_> {
    /// The same; what names nobody leads to all runs.
    fn with_runs(&self, text: &str) -> String {
        let linked = self.within(text);
        if linked.contains("<a href") {
            return linked;
        }
        format!("{linked} <a href=\"#everybody\">(of all runs)</a>")
    }
}

/// Advice as one HTML file.
pub fn of_advice(advice: &Advice, runs: &[&Summary], grounds: &Grounds) -> String {
    let links = Links::new(advice, runs, grounds);
    let mut sections = vec![verdicts(advice, &links)];
    let list = |id: &'static str, title: &'static str, says: &str, items: String| Section {
        id: id.into(),
        title: title.into(),
        says: says.into(),
        body: markup(items),
        points: 0,
        table: None,
        fold: "",
        wide: true,
    };
    if let Some(best) = &advice.best
        && !advice.prices.is_empty()
    {
        let says = format!("Where {best} is slower than another, the worst first.");
        let prices = bullets(&advice.prices, |text| links.within(text));
        sections.push(list("price", "The price", &says, prices));
    }
    sections.push(everybody(advice, runs, grounds));
    sections.push(needs(grounds, &links));
    if !grounds.tried.is_empty() {
        sections.push(tried(advice, grounds));
    }
    let mut unjudged = advice.unjudged.clone();
    unjudged.extend(
        grounds
            .refused
            .iter()
            .map(|(name, why)| format!("{name}: {why}")),
    );
    if !unjudged.is_empty() {
        let says = "What these runs do not tell.";
        let unjudged = bullets(&unjudged, |text| links.with_runs(text));
        sections.push(list("unjudged", "Not judged", says, unjudged));
    }
    let first = runs.first();
    let chip = |text: String| Chip { text, kind: "" };
    let page = Page {
        title: "advice - tidegate".into(),
        scenario: first.map_or(String::new(), |run| run.scenario.clone()),
        subtitle: first.map_or(String::new(), |run| run.title.clone()),
        chips: vec![
            chip(format!("{} transports", advice.rivals.len())),
            chip(format!("{} runs", runs.len())),
        ],
        headline: bind(&advice.claim),
        lede: bind(&advice.more),
        more: None,
        tiles: Vec::new(),
        checks: Vec::new(),
        warnings: Vec::new(),
        sections,
        about: About {
            title: "What was run",
            facts: Vec::new(),
            blocks: vec![Block {
                name: "To run it again:",
                text: grounds.command.clone(),
                fold: false,
            }],
        },
        footer: "Made by tidegate. Every number is of a run in a folder beside this page.".into(),
        moving: None,
    };
    let words = [&page.headline, &page.lede].map(|text| markup(links.within(text)));
    page.render_with(&results::files::to_json(advice), words)
}

/// A list of what `show` makes of each item.
fn bullets(items: &[String], show: impl Fn(&str) -> String) -> String {
    let list = |items: &[String]| {
        let items = items.iter().map(|item| format!("<li>{}</li>", show(item)));
        format!("<ul>{}</ul>", items.collect::<String>())
    };
    if items.len() <= FOLDED_FROM {
        return list(items);
    }
    let (first, rest) = items.split_at(FOLDED_FROM / 2);
    format!(
        "{}<details><summary>{} more</summary>{}</details>",
        list(first),
        rest.len(),
        list(rest)
    )
}

fn link(href: &str, text: &str) -> String {
    format!("<a href=\"{}\">{}</a>", escape(href), escape(text))
}

fn verdicts(advice: &Advice, links: &Links<'_>) -> Section {
    let mut table = Table::new(&["messages", "ahead", "by how much"]);
    table.text = vec!["ahead", "by how much"];
    table.long = vec!["ahead", "by how much"];
    let many = advice.verdicts.len() > FOLDED_FROM;
    let order = if many {
        advice.telling()
    } else {
        advice.verdicts.iter().collect()
    };
    for verdict in order {
        let winners = match verdict.winners.as_slice() {
            [] => "cannot be said".to_owned(),
            [one] => one.clone(),
            several => format!("level: {}", several.join(", ")),
        };
        table.push(vec![
            plain(verdict.part.clone()),
            markup(links.within(&winners)),
            markup(links.within(&verdict.says)),
        ]);
    }
    Section {
        id: "verdicts".into(),
        title: "Who is ahead for which messages".into(),
        says: if many {
            format!("{LEVEL_TOLD} What the best loses most in comes first.")
        } else {
            LEVEL_TOLD.into()
        },
        body: markup(String::new()),
        points: 0,
        table: Some(table),
        fold: "",
        wide: true,
    }
}

/// What each transport has of every part of the messages, and the reports of its runs: a row per transport, or a column
/// where the parts are too many to stand side by side.
fn everybody(advice: &Advice, runs: &[&Summary], grounds: &Grounds) -> Section {
    let equal = advice.equal.as_deref();
    let cell = |verdict: &PartVerdict, i: usize| {
        let (mean, spread) = match verdict.cells[i].strip_suffix(')') {
            Some(told) => told.split_once(" (").unwrap_or((told, "")),
            None => (verdict.cells[i].as_str(), ""),
        };
        let best = verdict.winners.contains(&advice.rivals[i]);
        let (open, close) = if best {
            ("<b class=\"best\">", "</b>")
        } else {
            ("", "")
        };
        markup(format!(
            "{open}{}{close}<small>{}</small>",
            escape(mean),
            escape(spread)
        ))
    };
    let reports = |name: &String| {
        let own = runs.iter().zip(&grounds.links);
        let own = own.filter(|(run, _)| run.transport == *name);
        let seeds: Vec<String> = own
            .map(|(run, href)| link(href, &format!("seed {}", run.seed)))
            .collect();
        seeds.join(" ")
    };
    let rivals = || advice.rivals.iter().map(String::as_str);
    let all = 0..advice.rivals.len();
    let (mut body, many) = (String::new(), advice.verdicts.len() > FOLDED_FROM);
    let table = if many {
        let mut table = Table::new(
            &std::iter::once("messages")
                .chain(rivals())
                .collect::<Vec<_>>(),
        );
        for name in &advice.rivals {
            let _ = write!(body, "<p>{}: {}</p>", escape(name), reports(name));
        }
        for verdict in advice.telling() {
            let cells = all.clone().map(|i| cell(verdict, i));
            let part = std::iter::once(plain(verdict.part.clone()));
            table.push(part.chain(cells).collect());
        }
        table
    } else {
        let parts = advice.verdicts.iter().map(|verdict| verdict.part.as_str());
        let head = ["transport"].into_iter().chain(parts).chain(["reports"]);
        let mut table = Table::new(&head.collect::<Vec<_>>());
        for (i, name) in advice.rivals.iter().enumerate() {
            let cells = advice.verdicts.iter().map(|verdict| cell(verdict, i));
            let row = std::iter::once(plain(name.clone())).chain(cells);
            table.push(row.chain([markup(reports(name))]).collect());
        }
        table
    };
    Section {
        id: "everybody".into(),
        title: "Every transport, with its runs".into(),
        says: format!(
            "Means over the seeds, and their intervals below.{} Who is ahead, or level with who is, is bold.",
            equal.map_or(String::new(), |equal| format!(" {equal}"))
        ),
        body: markup(body),
        points: 0,
        table: Some(table),
        fold: "",
        wide: true,
    }
}

fn needs(grounds: &Grounds, links: &Links<'_>) -> Section {
    let mut table = Table::new(&["transport", "port", "what it does"]);
    table.text = vec!["port", "what it does"];
    table.long = vec!["what it does"];
    for (name, needs) in &grounds.needs {
        if needs.is_empty() {
            let nothing = "nothing but a buffer";
            table.push(vec![markup(links.within(name)), plain("-"), plain(nothing)]);
        }
        for (port, does) in needs {
            table.push(vec![
                markup(links.within(name)),
                plain(port.clone()),
                plain(does.clone()),
            ]);
        }
    }
    Section {
        id: "needs".into(),
        title: "What it needs of switches".into(),
        says: "As the ports of these runs were set up; a name leads to its first run.".into(),
        body: markup(String::new()),
        points: 0,
        table: Some(table),
        fold: "",
        wide: true,
    }
}

fn tried(advice: &Advice, grounds: &Grounds) -> Section {
    let mut table = Table::new(&["setting", "what came of it", "report"]);
    table.text = vec!["what came of it"];
    table.long = vec!["what came of it"];
    for (setting, said, href) in &grounds.tried {
        let report = match href.as_str() {
            "" => plain(""),
            href => markup(link(href, "its run")),
        };
        let changes: Vec<String> = said.split("; ").map(str::to_owned).collect();
        let changes = markup(bullets(&changes, escape));
        table.push(vec![plain(setting.clone()), changes, report]);
    }
    Section {
        id: "helps".into(),
        title: "What would help".into(),
        says: format!(
            "Tried with {}, everything else the same: {}.",
            advice.best.as_deref().unwrap_or("nobody"),
            grounds.varied_told()
        ),
        body: markup(String::new()),
        points: 0,
        table: Some(table),
        fold: "",
        wide: true,
    }
}
