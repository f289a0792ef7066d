//! A figure of a paper, measured here: panels of bars or curves, with what is published beside them,
//! as one page, as one picture and as a table.
//!
//! First what a figure is made of, then which axes hold it, then the page, the picture and the table of each.

mod plot;
mod svg;

use crate::chart::Axis;
use crate::page::{About, Block, Chip, Page, Section, Table, markup, text};
use crate::run::{bind, pair_up};
use results::{Unit, escape};
use std::fmt::Write as _;

/// One direction of a panel, as the paper has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scale {
    /// What it is, with its unit in parentheses.
    pub title: String,
    /// Whether it is logarithmic.
    pub log: bool,
    /// Where it begins, if not where the numbers do.
    pub from: Option<f64>,
    /// Where it ends, if not where the numbers do.
    pub to: Option<f64>,
    /// What stands side by side, where it is no number: point `i` lies at `i + 0.5`.
    pub names: Vec<String>,
    /// How the source writes the places of points, by x: `1/16`.
    pub labels: Vec<String>,
}

/// A measured value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    /// Where.
    pub x: f64,
    /// How much.
    pub y: f64,
    /// Lower end of its interval; `y` where there is none.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Dot {
    /// A value without an interval.
    pub const fn exact(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            low: y,
            high: y,
        }
    }
}

/// One curve, or one kind of bar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// What was measured here, by x.
    pub dots: Vec<Dot>,
    /// What somebody else published of it.
    pub given: Vec<Dot>,
    /// Who that is; empty where nobody did.
    pub by: String,
    /// Between which places the seeds of a distribution lie: (y, low x, high x), by y.
    pub band: Vec<(f64, f64, f64)>,
}

/// Where an axis of distributions ends before they do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// The end.
    pub x: f64,
    /// The share of the widest curve that lies before it.
    pub share: f64,
}

/// One pair of axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// Over it.
    pub title: String,
    /// Across: names make bars, numbers make curves.
    pub x: Scale,
    /// Upwards.
    pub y: Scale,
    /// In the order of the legend.
    pub series: Vec<Series>,
    /// Where it ends, if before its curves.
    pub cut: Option<Cut>,
}

/// A figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Its short name, as the command has it.
    pub name: String,
    /// Which figure of which paper.
    pub source: String,
    /// What it is about.
    pub title: String,
    /// The verdict, in a sentence.
    pub verdict: String,
    /// What a quick run leaves out, in sentences; empty where the figure was run in full.
    pub quick: String,
    /// What a reader has to know besides.
    pub notes: Vec<String>,
    /// What made it.
    pub command: String,
    /// Its panels.
    pub panels: Vec<Panel>,
    /// Titles of the columns of `rows`.
    pub head: Vec<String>,
    /// Every number with its verdict.
    pub rows: Vec<Vec<String>>,
    /// What those verdicts come to; of as many rows.
    pub marks: Vec<Mark>,
}

/// What the verdict of a row comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// What it claims holds.
    Holds,
    /// It does not.
    Differs,
    /// The run does not say.
    Open,
    /// It claims nothing.
    Told,
}

impl Mark {
    fn sign(self) -> &'static str {
        match self {
            Self::Holds => "✓",
            Self::Differs => "✗",
            Self::Open => "?",
            Self::Told => "",
        }
    }
}

/// More labels than this do not fit below a panel. [ours]
const LABELS_MAX: usize = 8;
/// Labels stand at least this part of a logarithmic axis from each other. [ours: a label of five digits]
const APART: f64 = 14.0;

impl Panel {
    /// Values drawn, with those of others.
    pub fn points(&self) -> usize {
        let of = |series: &Series| series.dots.len() + series.given.len();
        self.series.iter().map(of).sum()
    }

    /// What of it is drawn: nothing beyond its cut.
    fn seen(&self) -> Self {
        let mut seen = self.clone();
        let Some(cut) = self.cut else { return seen };
        for series in &mut seen.series {
            series.dots.retain(|dot| dot.x <= cut.x);
            series.band.retain(|&(_, _, high)| high <= cut.x);
        }
        seen
    }

    /// Its axes.
    fn axes(&self) -> (Axis, Axis) {
        let dots = || {
            self.series
                .iter()
                .flat_map(|s| s.dots.iter().chain(&s.given))
        };
        let xs: Vec<f64> = dots().map(|dot| dot.x).collect();
        let ends = dots().flat_map(|dot| [dot.low, dot.y, dot.high]);
        let y = axis(&self.y, &ends.collect::<Vec<_>>(), !self.x.names.is_empty());
        if !self.x.names.is_empty() {
            return (Axis::named(&self.x.title, &self.x.names), y);
        }
        let x = axis(&self.x, &xs, false);
        let mut at = xs;
        at.sort_by(f64::total_cmp);
        at.dedup();
        // Few places are ticks themselves, where a logarithmic axis keeps them apart.
        let x = if self.x.log && at.len() <= LABELS_MAX && are_apart(&at) {
            let labels = self.x.labels.clone();
            let labels = if labels.len() == at.len() {
                labels
            } else {
                Vec::new()
            };
            x.ticked(at, labels)
        } else {
            x
        };
        (x, y)
    }

    /// The series of which something is drawn, with the numbers of their colours.
    fn shown(&self) -> impl Iterator<Item = (usize, &Series)> {
        let drawn = |(_, series): &(usize, &Series)| series.dots.len() + series.given.len() > 0;
        self.series.iter().enumerate().filter(drawn)
    }

    /// Who published what is drawn beside ours, each once.
    fn sources(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for series in self.series.iter().filter(|series| !series.given.is_empty()) {
            if !names.contains(&series.by.as_str()) {
                names.push(&series.by);
            }
        }
        names
    }
}

/// Whether labels of these places, ascending, fit beside each other on a logarithmic axis.
fn are_apart(at: &[f64]) -> bool {
    let (Some(first), Some(last)) = (at.first(), at.last()) else {
        return true;
    };
    let least = libm::log(last / first) / APART;
    at.windows(2).all(|two| libm::log(two[1] / two[0]) >= least)
}

/// An axis that holds `values`; where `bars` stand on it, the least of them has some length.
fn axis(scale: &Scale, values: &[f64], bars: bool) -> Axis {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let most = finite()
        .fold(f64::NEG_INFINITY, f64::max)
        .max(scale.to.unwrap_or(f64::NEG_INFINITY));
    if scale.log {
        let positive = finite().filter(|&value| value > 0.0);
        let least = scale
            .from
            .unwrap_or(positive.fold(f64::INFINITY, f64::min) / if bars { 3.0 } else { 1.0 });
        let most = scale.to.unwrap_or(most);
        if least.is_finite() && most > 0.0 {
            return Axis::log(&scale.title, Unit::Number, least, most);
        }
        return Axis::log(&scale.title, Unit::Number, 1.0, 10.0);
    }
    let least = scale.from.unwrap_or(finite().fold(0.0, f64::min));
    let most = scale
        .to
        .unwrap_or(if most.is_finite() { most } else { 1.0 });
    let axis = Axis::linear(&scale.title, Unit::Number, least, most);
    if scale.to.is_some() {
        axis
    } else {
        axis.rounded()
    }
}

impl Figure {
    /// The figure as one HTML file.
    pub fn page(&self) -> String {
        let sections = self.sections(1, None);
        let what = [&self.source, &self.title].map(String::as_str);
        page(
            what,
            (&self.name, &self.quick),
            (&self.verdict, &self.notes.join(" ")),
            sections,
            &self.command,
        )
    }

    /// Several figures as one HTML file called `title`, each by its name. `command` makes them all.
    pub fn pages(figures: &[Self], name: &str, title: &str, command: &str) -> String {
        let counts = figures.iter().map(Self::held);
        let add = |(hold, of), (more, among)| (hold + more, of + among);
        let (hold, of) = counts.fold((0, 0), add);
        let mut table = Table::new(&["", "experiment", "claims that hold", "what it is about"]);
        table.text = vec!["experiment", "claims that hold", "what it is about"];
        table.long = vec!["what it is about"];
        for figure in figures {
            let (hold, of) = figure.held();
            let mark = if hold == of {
                Mark::Holds
            } else {
                Mark::Differs
            };
            let mark = if of == 0 { Mark::Told } else { mark };
            let count = if of == 0 {
                "claims nothing".to_owned()
            } else {
                format!("{hold} of {of}")
            };
            let cells = [
                mark.sign(),
                figure.name.as_str(),
                count.as_str(),
                figure.title.as_str(),
            ];
            table.push(cells.into_iter().map(text).collect());
        }
        let mut sections = vec![Section {
            id: "claims".into(),
            title: "What holds".into(),
            says: "Each claim is a row below, with the number that was measured and what it must be. Numbers without a claim \
                   are folded behind their tables."
                .into(),
            body: text(""),
            points: 0,
            table: Some(table),
            fold: "",
            wide: true,
        }];
        for figure in figures {
            sections.extend(figure.sections(sections.len() + 1, Some(&figure.name)));
        }
        let quick = figures.iter().any(|figure| !figure.quick.is_empty());
        let verdict = if quick {
            format!("In a quick run {hold} of {of} claims hold.")
        } else {
            format!("{hold} of {of} claims hold.")
        };
        page(
            [name, title],
            (name, if quick { QUICK_PAGE } else { "" }),
            (&verdict, ""),
            sections,
            command,
        )
    }

    /// How many of its claims hold, and how many there are.
    fn held(&self) -> (usize, usize) {
        let count = |of: fn(&Mark) -> bool| self.marks.iter().filter(|mark| of(mark)).count();
        (
            count(|&mark| mark == Mark::Holds),
            count(|&mark| mark != Mark::Told),
        )
    }

    /// Its panels, numbered from `first` on, and its table; both called by `name` where it is one of several.
    fn sections(&self, first: usize, name: Option<&str>) -> Vec<Section> {
        let named = |title: &str| match name {
            Some(name) if title.is_empty() => name.to_owned(),
            Some(name) => format!("{name}: {title}"),
            None => title.to_owned(),
        };
        let of_panel = |(i, panel): (usize, &Panel)| Section {
            id: format!("panel-{i}").into(),
            title: named(&panel.title).into(),
            says: said(panel),
            body: markup(plot::html(&panel.seen())),
            points: panel.points(),
            table: Some(numbers(panel)),
            fold: "The numbers",
            wide: false,
        };
        let mut sections: Vec<Section> = (first..).zip(&self.panels).map(of_panel).collect();
        pair_up(&mut sections);
        match name {
            None => sections.extend(self.verdicts()),
            Some(name) => sections.extend(self.claims(name)),
        }
        sections
    }

    /// Its claims, each with its mark, and behind them what it claims nothing of.
    fn claims(&self, name: &str) -> Vec<Section> {
        let rows = || self.rows.iter().zip(&self.marks);
        let (claimed, told): (Vec<_>, Vec<_>) = rows().partition(|(_, mark)| **mark != Mark::Told);
        let table = |rows: &[(&Vec<String>, &Mark)], marked: bool| {
            let mut head: Vec<&str> = self.head.iter().map(String::as_str).collect();
            if marked {
                head.insert(0, "");
            }
            let mut table = Table::new(&head);
            table.text = vec!["case", "metric", "evidence", "verdict"];
            table.long = vec!["evidence", "verdict"];
            for (row, mark) in rows {
                let mark = marked.then(|| text(mark.sign()));
                table.push(mark.into_iter().chain(row.iter().map(text)).collect());
            }
            table
        };
        let section = |id: &str, title: &str, says: String, table: Table, fold| Section {
            id: format!("{id}-{name}").into(),
            title: format!("{name}: {title}").into(),
            says,
            body: text(""),
            points: 0,
            table: Some(table),
            fold,
            wide: true,
        };
        let mut sections = Vec::new();
        if !claimed.is_empty() {
            let says = [&format!("{}.", self.title), &self.quick, &self.verdict];
            let says = says
                .map(String::as_str)
                .into_iter()
                .filter(|part| !part.is_empty());
            let says = says.collect::<Vec<_>>().join(" ");
            sections.push(section(
                "verdicts",
                "claims",
                says,
                table(&claimed, true),
                "",
            ));
        }
        if !told.is_empty() {
            let says =
                "What ratios divide by and panels show; nobody says what it must be.".to_owned();
            let table = table(&told, false);
            sections.push(section(
                "told",
                "numbers without a claim",
                says,
                table,
                "The numbers",
            ));
        }
        sections
    }

    /// The figure as a picture, 960 wide, light or dark as its reader's system is.
    pub fn svg(&self) -> String {
        svg::picture(self)
    }

    /// Every drawn value: panel, series, x, y, the ends of its interval along y and of that along x, and who measured it.
    pub fn csv(&self) -> String {
        let mut out = String::from("panel,series,x,y,low,high,x_low,x_high,by\n");
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        for panel in &self.panels {
            for series in &panel.series {
                let ours = series.dots.iter().map(|dot| (dot, true));
                let given = series.given.iter().map(|dot| (dot, false));
                for (dot, own) in ours.chain(given) {
                    let by = if own { "tidegate" } else { &series.by };
                    let mut band = series.band.iter().filter(|_| own);
                    let along = band.find(|(y, ..)| y.total_cmp(&dot.y).is_eq());
                    let [x_low, x_high] = match along {
                        Some(&(_, low, high)) => [plain(low), plain(high)],
                        None => [const { String::new() }; 2],
                    };
                    let _ = writeln!(
                        out,
                        "{},{},{},{},{},{},{x_low},{x_high},{}",
                        quoted(&panel.title),
                        quoted(&series.name),
                        place(panel, dot.x, &quoted),
                        plain(dot.y),
                        plain(dot.low),
                        plain(dot.high),
                        quoted(by)
                    );
                }
            }
        }
        out
    }

    fn verdicts(&self) -> Option<Section> {
        let head: Vec<&str> = self.head.iter().map(String::as_str).collect();
        let mut table = Table::new(&head);
        table.text = vec!["metric", "evidence", "verdict"];
        table.long = vec!["evidence", "verdict"];
        for row in &self.rows {
            table.push(row.iter().map(text).collect());
        }
        (!self.rows.is_empty()).then(|| Section {
            id: "verdicts".into(),
            title: "Every number with its verdict".into(),
            says: "What was expected, from where that is known, and what was measured.".into(),
            body: text(""),
            points: 0,
            table: Some(table),
            fold: "The table",
            wide: true,
        })
    }
}

/// What a page of several figures says where some of them were run quickly.
const QUICK_PAGE: &str =
    "This is a quick run: each experiment says at its claims what it leaves out.";

/// A page of `sections`: what it is of and what it is about, the verdict and what there is to say besides.
fn page(
    [source, title]: [&str; 2],
    (name, quick): (&str, &str),
    (verdict, notes): (&str, &str),
    sections: Vec<Section>,
    command: &str,
) -> String {
    let chip = |text: &str, kind| Chip {
        text: text.to_owned(),
        kind,
    };
    let mut chips = vec![chip(name, "")];
    let mut warnings = Vec::new();
    if !quick.is_empty() {
        chips.push(chip("quick run", "warn"));
        warnings.push(bind(quick));
    }
    Page {
        title: format!("{source} - {title} - tidegate"),
        scenario: source.to_owned(),
        subtitle: title.to_owned(),
        chips,
        headline: bind(verdict),
        lede: bind(notes),
        more: None,
        tiles: Vec::new(),
        checks: Vec::new(),
        warnings,
        sections,
        about: About {
            title: "What was run",
            facts: Vec::new(),
            blocks: vec![Block {
                name: "To run it again:",
                text: command.to_owned(),
                fold: false,
            }],
        },
        footer: "Made by tidegate. The same version gives the same numbers on any machine and any number of threads."
            .into(),
        moving: None,
    }
    .render("null")
}

/// Where `x` is, by name where it has one.
fn place(panel: &Panel, x: f64, quoted: &dyn Fn(&str) -> String) -> String {
    let names = panel.x.names.iter().enumerate();
    let mut here = names.filter(|(i, _)| (*i as f64 + 0.5 - x).abs() < 1e-9);
    here.next()
        .map_or_else(|| plain(x), |(_, name)| quoted(name))
}

/// A number without what is left of rounding.
fn plain(value: f64) -> String {
    let rounded = format!("{value:.9e}").parse::<f64>();
    rounded.map_or_else(|_| value.to_string(), |value| value.to_string())
}

/// What is drawn besides ours, in words.
fn said(panel: &Panel) -> String {
    let spread = panel.series.iter().flat_map(|series| &series.dots);
    let bars = if spread.clone().any(|dot| dot.high > dot.low) {
        " Thin lines span 95 % over the seeds."
    } else {
        ""
    };
    match panel.sources().as_slice() {
        [] if panel.points() == 0 => "Not measured by this command.".into(),
        [] => format!("Ours alone: no number of this panel is public.{bars}"),
        names => format!("Hollow: {}. Filled: ours.{bars}", names.join(", ")),
    }
}

/// The drawn values as a table, a column per series and one per source beside it.
fn numbers(panel: &Panel) -> Table {
    let mut head = vec![panel.x.title.clone()];
    for series in &panel.series {
        head.push(series.name.clone());
        if !series.given.is_empty() {
            head.push(format!("{}, {}", series.name, series.by));
        }
    }
    let heads: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut table = Table::new(&heads);
    let dots = panel
        .series
        .iter()
        .flat_map(|s| s.dots.iter().chain(&s.given));
    let mut xs: Vec<f64> = dots.map(|dot| dot.x).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let every = xs.len().div_ceil(ROWS_MAX).max(1);
    for &x in xs.iter().step_by(every) {
        let cell = |dots: &[Dot]| match dots.iter().find(|dot| dot.x.total_cmp(&x).is_eq()) {
            None => text("-"),
            Some(dot) if dot.high > dot.low => markup(format!(
                "{}<small>{} to {}</small>",
                Unit::Number.show(dot.y),
                Unit::Number.show(dot.low),
                Unit::Number.show(dot.high)
            )),
            Some(dot) => text(Unit::Number.show(dot.y)),
        };
        let mut row = vec![markup(escape(&place(panel, x, &str::to_owned)))];
        for series in &panel.series {
            row.push(cell(&series.dots));
            if !series.given.is_empty() {
                row.push(cell(&series.given));
            }
        }
        table.push(row);
    }
    table
}

/// Rows of the table below a panel; `figure.csv` has the others. [ours]
const ROWS_MAX: usize = 60;
