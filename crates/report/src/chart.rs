//! Charts as HTML: lines in stretchable SVG, labels in text that never stretches.
//!
//! Every curve is a path in a box of 1000 by 1000 whose aspect the page chooses; strokes do not
//! scale, and labels stand beside it as text at per cent positions. So one drawing serves a phone
//! and a wall, prints, needs no script, and reads the same with one.

use results::{Unit, escape, human};
use std::fmt::Write as _;

/// Side of the box that curves are drawn in.
const BOX: f64 = 1000.0;

/// One direction of a chart.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) title: String,
    pub(crate) unit: Unit,
    min: f64,
    max: f64,
    log: bool,
    /// Ticks in place of round numbers.
    at: Vec<f64>,
    /// What is side by side, where it is no number: 1 wide each, from 0.
    names: Vec<String>,
    /// What to write at ticks in place of their numbers.
    labels: Vec<String>,
}

impl Axis {
    /// From `min` to at least `max`, linear, ending on a tick.
    pub(crate) fn linear(title: &str, unit: Unit, min: f64, max: f64) -> Self {
        let max = if max > min { max } else { min + 1.0 };
        Self {
            title: title.into(),
            unit,
            min,
            max,
            log: false,
            at: Vec::new(),
            names: Vec::new(),
            labels: Vec::new(),
        }
    }

    /// Around positive values, logarithmic.
    pub(crate) fn log(title: &str, unit: Unit, min: f64, max: f64) -> Self {
        let (min, max) = (min.max(f64::MIN_POSITIVE), max.max(f64::MIN_POSITIVE));
        // A single value gets some room on both sides.
        let (min, max) = if max < min * 1.5 {
            (min / 1.5, max * 1.5)
        } else {
            (min, max)
        };
        Self {
            title: title.into(),
            unit,
            min,
            max,
            log: true,
            at: Vec::new(),
            names: Vec::new(),
            labels: Vec::new(),
        }
    }

    /// Names side by side.
    pub(crate) fn named(title: &str, names: &[String]) -> Self {
        Self {
            at: (0..names.len()).map(|i| i as f64 + 0.5).collect(),
            names: names.to_vec(),
            ..Self::linear(title, Unit::Number, 0.0, names.len() as f64)
        }
    }

    /// With ticks at these values, written as `labels` where there are some.
    pub(crate) fn ticked(mut self, at: Vec<f64>, labels: Vec<String>) -> Self {
        (self.at, self.labels) = (at, labels);
        self
    }

    /// Whether it has names in place of numbers.
    pub(crate) fn is_named(&self) -> bool {
        !self.names.is_empty()
    }

    /// The label of a tick.
    pub(crate) fn label(&self, i: usize, tick: f64) -> String {
        match self.names.get(i).or(self.labels.get(i)) {
            Some(name) => name.clone(),
            None => self.unit.tick(tick),
        }
    }

    /// Lengthens a linear axis to end on a tick, so that its top is labelled.
    pub(crate) fn rounded(mut self) -> Self {
        let step = step(self.max - self.min);
        let steps = libm::ceil((self.max - self.min) / step - 1e-9);
        self.max = self.min + steps * step;
        self
    }

    /// Where `value` lies, from 0 to 1.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = if self.log {
            let (low, high) = (libm::log(self.min), libm::log(self.max));
            (libm::log(value.max(self.min)) - low) / (high - low)
        } else {
            (value - self.min) / (self.max - self.min)
        };
        share.clamp(0.0, 1.0)
    }

    /// For the script: ends, scale and unit.
    pub(crate) fn data(&self) -> String {
        let scale = if self.log { "log" } else { "lin" };
        format!("{},{},{scale},{}", self.min, self.max, self.unit.key())
    }

    /// The title, with the scale where it is not linear.
    pub(crate) fn titled(&self) -> String {
        let scale = if self.log { ", log scale" } else { "" };
        escape(&format!("{}{scale}", self.title))
    }

    /// The same as plain text, above bars: on a logarithmic scale there is no zero to begin at.
    pub(crate) fn over_bars(&self) -> String {
        if !self.log {
            return self.title.clone();
        }
        let from = self.unit.show_figure(self.min);
        format!("{}, log scale; bars begin at {from}", self.title)
    }

    /// A label at every tick, `side` being the property that places it.
    pub(crate) fn labels(&self, side: &str) -> String {
        let mut out = String::new();
        for (i, tick) in self.ticks().into_iter().enumerate() {
            let (at, text) = (per_cent(self.at(tick)), escape(&self.label(i, tick)));
            let _ = write!(out, "<span style=\"{side}:{at}%\">{text}</span>");
        }
        out
    }

    /// Labels and title under a chart. A narrow page leaves out every second one of many labels.
    pub(crate) fn below(&self, out: &mut String) {
        let many = if self.ticks().len() > 5 { " many" } else { "" };
        let _ = write!(
            out,
            "<div class=\"xs{many}\" aria-hidden=\"true\">{}</div><div class=\"xtitle\">{}</div>",
            self.labels("left"),
            self.titled()
        );
    }

    pub(crate) fn ticks(&self) -> Vec<f64> {
        if !self.at.is_empty() {
            self.at.clone()
        } else if self.log {
            self.log_ticks()
        } else {
            self.linear_ticks()
        }
    }

    fn linear_ticks(&self) -> Vec<f64> {
        let step = step(self.max - self.min);
        let first = libm::ceil(self.min / step - 1e-9);
        (0..=TICKS_MAX)
            .map(|i| (first + f64::from(i)) * step)
            .take_while(|&tick| tick <= self.max * (1.0 + 1e-9))
            .collect()
    }

    fn log_ticks(&self) -> Vec<f64> {
        let decades = libm::log10(self.max / self.min);
        let steps: &[f64] = if decades < 0.8 {
            &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0]
        } else if decades < 1.3 {
            &[1.0, 2.0, 3.0, 5.0]
        } else if decades < 2.6 {
            &[1.0, 3.0]
        } else {
            &[1.0]
        };
        let every = if decades > 7.0 { 2 } else { 1 };
        let mut ticks = Vec::new();
        let mut exponent = floor_exponent(self.min);
        while power(exponent) <= self.max {
            if exponent.rem_euclid(every) == 0 {
                ticks.extend(steps.iter().map(|step| step * power(exponent)));
            }
            exponent += 1;
        }
        ticks.retain(|&tick| tick >= self.min * (1.0 - 1e-9) && tick <= self.max * (1.0 + 1e-9));
        ticks
    }
}

/// More labels than this crowd an axis.
const TICKS_MAX: u32 = 8;

/// The distance of round ticks, so that four to eight fit into `range`.
fn step(range: f64) -> f64 {
    let raw = range / 5.0;
    let decade = power(floor_exponent(raw));
    let lead = raw / decade;
    decade
        * if lead <= 1.0 {
            1.0
        } else if lead <= 2.0 {
            2.0
        } else if lead <= 5.0 {
            5.0
        } else {
            10.0
        }
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "exponents of f64 are below 400"
)]
fn floor_exponent(value: f64) -> i32 {
    libm::floor(libm::log10(value) + 1e-9) as i32
}

fn power(exponent: i32) -> f64 {
    libm::pow(10.0, f64::from(exponent))
}

/// One curve.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    /// By x, ascending.
    pub(crate) points: Vec<(f64, f64)>,
    /// Holds its value until the next point.
    pub(crate) stepped: bool,
    /// Where the truth may lie around the curve: (x, low, high), by x.
    pub(crate) band: Vec<(f64, f64, f64)>,
    /// The band is (y, low, high) instead, by y: of a distribution, whose shares are exact.
    pub(crate) sideways: bool,
    /// What the others are measured against: grey and dashed.
    pub(crate) reference: bool,
}

impl Line {
    pub(crate) fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.into(),
            points,
            stepped: false,
            band: Vec::new(),
            sideways: false,
            reference: false,
        }
    }
}

impl Line {
    /// The number of its colour, being the `i`th.
    fn colour(&self, i: usize) -> usize {
        if self.reference { GREY } else { i % COLOURS }
    }
}

/// A mark at one x, with its name.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) x: f64,
    pub(crate) name: String,
}

/// Curves over one pair of axes.
#[derive(Clone, Debug)]
pub(crate) struct LineChart {
    /// What it shows, for those who cannot see it.
    pub(crate) label: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) lines: Vec<Line>,
    pub(crate) marks: Vec<Mark>,
}

pub(crate) fn coordinate(share: f64) -> u32 {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of the box, 0 to 1000"
    )]
    let whole = (share.clamp(0.0, 1.0) * BOX + 0.5) as u32;
    whole
}

pub(crate) fn per_cent(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl LineChart {
    /// Points drawn, all lines together.
    pub(crate) fn points(&self) -> usize {
        self.lines.iter().map(|line| line.points.len()).sum()
    }

    pub(crate) fn html(&self) -> String {
        let mut out = self.legend();
        let _ = write!(
            out,
            "<div class=\"plot\" tabindex=\"0\" data-x=\"{}\" data-y=\"{}\">\
             <div class=\"ytitle\">{}</div><div class=\"ys\" aria-hidden=\"true\">",
            self.x.data(),
            self.y.data(),
            self.y.titled(),
        );
        out.push_str(&self.y.labels("bottom"));
        out.push_str("</div><div class=\"area\">");
        self.svg(&mut out);
        for mark in &self.marks {
            let share = self.x.at(mark.x);
            let (at, side) = (per_cent(share), if share > 0.7 { " left" } else { "" });
            let name = escape(&mark.name);
            let _ = write!(
                out,
                "<span class=\"marked{side}\" style=\"left:{at}%\">{name}</span>"
            );
        }
        out.push_str("</div>");
        self.x.below(&mut out);
        out.push_str("</div>");
        out
    }

    fn svg(&self, out: &mut String) {
        let mut grid = String::new();
        for tick in self.x.ticks() {
            let _ = write!(grid, "M{} 0V1000", coordinate(self.x.at(tick)));
        }
        for tick in self.y.ticks() {
            let _ = write!(grid, "M0 {}H1000", 1000 - coordinate(self.y.at(tick)));
        }
        let _ = write!(
            out,
            "<svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" role=\"img\" \
             aria-label=\"{}\"><path class=\"grid\" d=\"{grid}\"/>",
            escape(&self.label)
        );
        for mark in &self.marks {
            let x = coordinate(self.x.at(mark.x));
            let _ = write!(out, "<path class=\"mark\" d=\"M{x} 0V1000\"/>");
        }
        for (i, line) in self
            .lines
            .iter()
            .enumerate()
            .filter(|(_, line)| !line.band.is_empty())
        {
            let (class, path) = (line.colour(i), self.band(line));
            let _ = write!(out, "<path class=\"band c{class}\" d=\"{path}\"/>");
        }
        // The first line is the most important one: it is drawn last, on top.
        let drawn = self
            .lines
            .iter()
            .enumerate()
            .filter(|(_, line)| !line.points.is_empty());
        for (i, line) in drawn.rev() {
            let (class, name) = (line.colour(i), escape(&line.name));
            let dashed = if line.reference { " ref" } else { "" };
            let step = if line.stepped { " data-step=\"1\"" } else { "" };
            let path = self.path(line);
            let _ = write!(
                out,
                "<path class=\"line c{class}{dashed}\" data-name=\"{name}\"{step} d=\"{path}\"/>"
            );
            // Few points are measurements to be told from the line between them.
            if line.points.len() <= DOTS_MAX && !line.stepped && !line.reference {
                let dot = |&(x, y): &(f64, f64)| {
                    format!(
                        "M{} {}h0",
                        coordinate(self.x.at(x)),
                        1000 - coordinate(self.y.at(y))
                    )
                };
                let dots: Vec<String> = line.points.iter().map(dot).collect();
                let _ = write!(
                    out,
                    "<path class=\"dots c{class}\" d=\"{}\"/>",
                    dots.concat()
                );
            }
        }
        out.push_str("</svg>");
    }

    fn legend(&self) -> String {
        let drawn = self
            .lines
            .iter()
            .enumerate()
            .filter(|(_, line)| !line.points.is_empty());
        let names: Vec<(usize, &str)> = drawn
            .map(|(i, line)| (line.colour(i), line.name.as_str()))
            .collect();
        if self.lines.len() < 2 {
            String::new()
        } else {
            legend_of(&names)
        }
    }

    /// There along the upper ends and back along the lower ones.
    fn band(&self, line: &Line) -> String {
        let dot = |along: f64, end: f64| {
            let (x, y) = if line.sideways {
                (end, along)
            } else {
                (along, end)
            };
            (coordinate(self.x.at(x)), 1000 - coordinate(self.y.at(y)))
        };
        let there = line.band.iter().map(|&(x, _, high)| dot(x, high));
        let back = line.band.iter().rev().map(|&(x, low, _)| dot(x, low));
        let mut path = String::new();
        for (i, (x, y)) in there.chain(back).enumerate() {
            let _ = write!(path, "{}{x} {y}", if i == 0 { 'M' } else { 'L' });
        }
        path.push('Z');
        path
    }

    /// Points that fall onto the same dot of the box as the one before are left out.
    fn path(&self, line: &Line) -> String {
        let mut path = String::new();
        let mut last = None;
        for &(x, y) in &line.points {
            let dot = (coordinate(self.x.at(x)), 1000 - coordinate(self.y.at(y)));
            match last {
                Some(same) if same == dot => {}
                None => {
                    let _ = write!(path, "M{} {}", dot.0, dot.1);
                }
                Some(_) if line.stepped => {
                    let _ = write!(path, "H{}V{}", dot.0, dot.1);
                }
                Some(_) => {
                    let _ = write!(path, "L{} {}", dot.0, dot.1);
                }
            }
            last = Some(dot);
        }
        // A lone dot is drawn by a line to itself with round ends.
        if line.points.len() == 1 || !path.contains(['H', 'L']) {
            path.push_str("h0");
        }
        path
    }
}

/// Curves of up to this many points show them.
const DOTS_MAX: usize = 12;

/// Distinct colours of the page.
pub(crate) const COLOURS: usize = 6;

/// The colour of what others are measured against; it is not among those of curves.
const GREY: usize = 99;

/// Names beside their colours, in order.
pub(crate) fn legend(names: &[&str]) -> String {
    let all: Vec<(usize, &str)> = names.iter().copied().enumerate().collect();
    legend_of(&all)
}

/// Some names, each with the number of its colour.
pub(crate) fn legend_of(names: &[(usize, &str)]) -> String {
    let mut out = String::from("<ul class=\"legend\">");
    for &(colour, name) in names {
        let colour = if colour == GREY {
            GREY
        } else {
            colour % COLOURS
        };
        let _ = write!(out, "<li class=\"c{colour}\">{}</li>", escape(name));
    }
    out.push_str("</ul>");
    out
}

/// One horizontal bar of several parts, with its name before and its sum after it.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    pub(crate) name: String,
    /// Sizes of the parts, in the order of the legend.
    pub(crate) parts: Vec<u64>,
    pub(crate) value: String,
}

/// Bars one under the other, each as long as its share of the longest. Part `i` has colour `i` and
/// name `i`; names that no bar has a part of are left out.
pub(crate) fn bars(names: &[&str], bars: &[Bar]) -> String {
    let sum = |bar: &Bar| bar.parts.iter().sum::<u64>();
    let longest = bars.iter().map(sum).max().unwrap_or(0).max(1);
    let used = |&(i, _): &(usize, &str)| bars.iter().any(|bar| bar.parts[i] > 0);
    let shown: Vec<_> = names.iter().copied().enumerate().filter(used).collect();
    // Where every bar is named, parts need no names.
    let named = names.iter().any(|name| !name.is_empty());
    let mut out = if named {
        legend_of(&shown)
    } else {
        String::new()
    };
    out.push_str("<div class=\"bars\">");
    for bar in bars {
        let name = escape(&bar.name);
        let _ = write!(
            out,
            "<div class=\"name\" title=\"{name}\">{name}</div><div class=\"bar\">"
        );
        for (i, &part) in bar.parts.iter().enumerate().filter(|&(_, &part)| part > 0) {
            let (width, colour) = (per_cent(part as f64 / longest as f64), i % COLOURS);
            let title = match names[i] {
                "" => String::new(),
                name => format!(" title=\"{}: {}\"", escape(name), human::count(part)),
            };
            let _ = write!(
                out,
                "<i class=\"c{colour}\" style=\"width:{width}%\"{title}></i>"
            );
        }
        let _ = write!(
            out,
            "</div><div class=\"value\">{}</div>",
            escape(&bar.value)
        );
    }
    out.push_str("</div>");
    out
}

/// One row of a [`ranges`] chart: a line from the least to the greatest value, a dot at each.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    pub(crate) name: String,
    /// By the names of the legend.
    pub(crate) values: Vec<Option<f64>>,
}

/// Rows of dots over one axis: quantiles per group.
pub(crate) fn ranges(label: &str, axis: &Axis, names: &[&str], rows: &[Range]) -> String {
    let mut out = legend(names);
    let _ = write!(
        out,
        "<div class=\"ranges\" role=\"img\" aria-label=\"{}\">",
        escape(label)
    );
    for row in rows {
        let at = |value: f64| per_cent(axis.at(value));
        let _ = write!(
            out,
            "<div class=\"name\">{}</div><div class=\"range\">",
            escape(&row.name)
        );
        let known = || row.values.iter().flatten().copied();
        if let (Some(low), Some(high)) = (known().reduce(f64::min), known().reduce(f64::max)) {
            let width = per_cent(axis.at(high) - axis.at(low));
            let _ = write!(out, "<b style=\"left:{}%;width:{width}%\"></b>", at(low));
        }
        for (i, value) in row.values.iter().enumerate() {
            let (Some(value), Some(name)) = (*value, names.get(i)) else {
                continue;
            };
            let (at, colour) = (at(value), i % COLOURS);
            let title = format!("{}: {}", escape(name), escape(&axis.unit.show(value)));
            let _ = write!(
                out,
                "<i class=\"c{colour}\" style=\"left:{at}%\" title=\"{title}\"></i>"
            );
        }
        out.push_str("</div>");
    }
    let many = if axis.ticks().len() > 5 { " many" } else { "" };
    let _ = write!(
        out,
        "<div class=\"name\"></div><div class=\"xs{many}\" aria-hidden=\"true\">{}</div>\
         <div class=\"name\"></div><div class=\"xtitle\">{}</div></div>",
        axis.labels("left"),
        axis.titled()
    );
    out
}

/// Shades of a heat map; one path per shade keeps it small.
const SHADES: usize = 10;

/// A map of rows over time, each cell as dark as its share of the greatest value.
pub(crate) struct HeatMap {
    pub(crate) label: String,
    pub(crate) x: Axis,
    pub(crate) rows: Vec<(String, Vec<u64>)>,
    /// What the darkest shade means, in words.
    pub(crate) darkest: String,
}

impl HeatMap {
    pub(crate) fn html(&self) -> String {
        let columns = self
            .rows
            .iter()
            .map(|(_, cells)| cells.len())
            .max()
            .unwrap_or(0)
            .max(1);
        let most = self
            .rows
            .iter()
            .flat_map(|(_, cells)| cells)
            .copied()
            .max()
            .unwrap_or(0)
            .max(1);
        let mut shades = vec![String::new(); SHADES + 1];
        for (y, (_, cells)) in self.rows.iter().enumerate() {
            for (shade, run) in runs(cells, most) {
                if shade > 0 {
                    let _ = write!(
                        shades[shade],
                        "M{} {y}h{}v1h-{}z",
                        run.start,
                        run.len(),
                        run.len()
                    );
                }
            }
        }
        let mut out = String::from("<div class=\"scale\"><span>empty</span>");
        for shade in 1..=SHADES {
            let _ = write!(out, "<i style=\"opacity:{}\"></i>", opacity(shade));
        }
        let rows = self.rows.len();
        let _ = write!(
            out,
            "<span>{}</span></div><div class=\"heat\" tabindex=\"0\" style=\"--rows:{rows}\" data-x=\"{}\" \
             data-cells=\"{}\"><div class=\"names\">",
            escape(&self.darkest),
            self.x.data(),
            self.cells()
        );
        for (name, _) in &self.rows {
            let _ = write!(out, "<span>{}</span>", escape(name));
        }
        let _ = write!(
            out,
            "</div><div class=\"area\"><svg viewBox=\"0 0 {columns} {rows}\" \
             preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">",
            escape(&self.label)
        );
        for (shade, path) in shades
            .iter()
            .enumerate()
            .filter(|(_, path)| !path.is_empty())
        {
            let opacity = opacity(shade);
            let _ = write!(
                out,
                "<path class=\"cell\" fill-opacity=\"{opacity}\" d=\"{path}\"/>"
            );
        }
        out.push_str("</svg></div>");
        self.x.below(&mut out);
        out.push_str("</div>");
        out
    }

    /// For the script: every row, each value with how often it comes in turn.
    fn cells(&self) -> String {
        let row = |(_, cells): &(String, Vec<u64>)| {
            let same = cells.chunk_by(|a, b| a == b).map(|run| match run.len() {
                1 => run[0].to_string(),
                times => format!("{}x{times}", run[0]),
            });
            same.collect::<Vec<_>>().join(",")
        };
        self.rows.iter().map(row).collect::<Vec<_>>().join(";")
    }
}

fn opacity(shade: usize) -> String {
    per_cent(shade as f64 / SHADES as f64 / 100.0)
}

/// Neighbouring cells of one shade, together.
fn runs(cells: &[u64], most: u64) -> Vec<(usize, std::ops::Range<usize>)> {
    let mut runs: Vec<(usize, std::ops::Range<usize>)> = Vec::new();
    for (x, &cell) in cells.iter().enumerate() {
        let shade = u128::from(cell) * SHADES as u128;
        let shade = usize::try_from(shade.div_ceil(u128::from(most))).unwrap_or(SHADES);
        match runs.last_mut() {
            Some((same, run)) if *same == shade => run.end = x + 1,
            _ => runs.push((shade, x..x + 1)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> String {
        axis.ticks()
            .iter()
            .map(|&tick| axis.unit.tick(tick))
            .collect::<Vec<_>>()
            .join(" | ")
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(
            labels(&Axis::linear("", Unit::Time, 0.0, 5.3e9)),
            "0 | 2 ms | 4 ms"
        );
        assert_eq!(
            labels(&Axis::linear("", Unit::Size, 0.0, 384_500.0).rounded()),
            "0 | 100 KB | 200 KB | 300 KB | 400 KB"
        );
        assert_eq!(
            labels(&Axis::log("", Unit::Time, 3e6, 7e9)),
            "10 us | 100 us | 1 ms"
        );
        assert_eq!(
            labels(&Axis::log("", Unit::Ratio, 1.0, 12.0)),
            "1 | 2 | 3 | 5 | 10"
        );
        assert_eq!(
            labels(&Axis::linear("", Unit::Share, 0.0, 1.0)),
            "0% | 20% | 40% | 60% | 80% | 100%"
        );
    }

    #[test]
    fn a_single_value_lies_in_the_middle_of_a_log_axis() {
        let axis = Axis::log("", Unit::Ratio, 4.0, 4.0);
        assert!((axis.at(4.0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn cells_of_one_shade_are_drawn_together() {
        assert_eq!(
            runs(&[0, 0, 5, 5, 10], 10),
            vec![(0, 0..2), (5, 2..4), (10, 4..5)]
        );
        assert_eq!(runs(&[1], 1_000), vec![(1, 0..1)], "little is not nothing");
    }

    #[test]
    fn a_lone_point_is_still_drawn() {
        let chart = LineChart {
            label: "one".into(),
            x: Axis::log("x", Unit::Time, 5.0, 5.0),
            y: Axis::linear("y", Unit::Share, 0.0, 1.0),
            lines: vec![Line {
                stepped: true,
                ..Line::new("all", vec![(5.0, 1.0)])
            }],
            marks: Vec::new(),
        };
        assert!(chart.html().contains("d=\"M500 0h0\""), "{}", chart.html());
    }
}
