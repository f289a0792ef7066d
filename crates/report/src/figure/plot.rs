//! A panel in a page: shapes in a box that stretches, words beside it that do not.

use super::{Dot, Panel, Series};
use crate::chart::{Axis, COLOURS, coordinate, per_cent};
use results::{Unit, escape};
use std::fmt::Write as _;

/// Share of a name's width that its bars take. [ours]
const FILL: f64 = 0.76;

/// Where the bar `i` of `n` lies, around the middle `x` of its name: its two sides.
pub(super) fn sides(x: f64, i: usize, n: usize) -> (f64, f64) {
    let width = FILL / n.max(1) as f64;
    let left = x - FILL / 2.0 + width * i as f64;
    (left + width * 0.06, left + width * 0.94)
}

pub(super) fn html(panel: &Panel) -> String {
    let (x, y) = panel.axes();
    let mut out = legend(panel);
    let named = x.is_named();
    let kind = if named { "plot cats" } else { "plot" };
    let least = least_width(panel);
    let scrolls = least > NARROW;
    if scrolls {
        let _ = write!(
            out,
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><div style=\"min-width:{least}px\">",
            escape(&format!("{}, wider than the page", panel.title))
        );
    }
    let _ = write!(
        out,
        "<div class=\"{kind}\" tabindex=\"0\" data-x=\"{}\" data-y=\"{}\"><div class=\"ytitle\">{}</div>\
         <div class=\"ys\" aria-hidden=\"true\">{}</div><div class=\"area\">",
        x.data(),
        y.data(),
        if named {
            escape(&y.over_bars())
        } else {
            y.titled()
        },
        y.labels("bottom"),
    );
    shapes(panel, &x, &y, &mut out);
    out.push_str("</div>");
    x.below(&mut out);
    out.push_str("</div>");
    if scrolls {
        out.push_str("</div></div>");
    }
    out
}

/// What is left for a panel on the narrowest screen, and what a character of a name and the axis beside take, in pixels. [ours]
const NARROW: usize = 300;
const CHARACTER: usize = 7;
const BESIDE: usize = 70;

/// What a panel takes so that no word below a bar is broken.
fn least_width(panel: &Panel) -> usize {
    let words = panel.x.names.iter().flat_map(|name| name.split(' '));
    let longest = words.map(|word| word.chars().count()).max();
    let each = longest.map_or(0, |longest| CHARACTER * longest + 8);
    BESIDE + each * panel.x.names.len()
}

fn legend(panel: &Panel) -> String {
    let mut out = String::from("<ul class=\"legend\">");
    for (i, series) in panel.shown() {
        let name = escape(&series.name);
        let _ = write!(out, "<li class=\"c{}\">{name}</li>", i % COLOURS);
    }
    for name in panel.sources() {
        let _ = write!(out, "<li class=\"hollow\">{}</li>", escape(name));
    }
    out.push_str("</ul>");
    out
}

/// Up from the bottom of the box.
fn up(axis: &Axis, value: f64) -> u32 {
    1000 - coordinate(axis.at(value))
}

fn shapes(panel: &Panel, x: &Axis, y: &Axis, out: &mut String) {
    let mut grid = String::new();
    for tick in y.ticks() {
        let _ = write!(grid, "M0 {}H1000", up(y, tick));
    }
    if !x.is_named() {
        for tick in x.ticks() {
            let _ = write!(grid, "M{} 0V1000", coordinate(x.at(tick)));
        }
    }
    let _ = write!(
        out,
        "<svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">\
         <path class=\"grid\" d=\"{grid}\"/>",
        escape(&format!(
            "{}: {} over {}",
            panel.title, panel.y.title, panel.x.title
        ))
    );
    let n = panel.series.len();
    // Below every curve, and larger than its dots: where both have one number, both are seen.
    if !x.is_named() {
        for (i, series) in panel.series.iter().enumerate().rev() {
            hollow(series, (i, "ring around"), &|dot| x.at(dot.x), y, out);
        }
    }
    for (i, series) in panel.series.iter().enumerate().rev() {
        if x.is_named() {
            bars(series, (i, n), x, y, out);
        } else {
            curve(series, i, x, y, out);
        }
    }
    out.push_str("</svg>");
}

fn bars(series: &Series, (i, n): (usize, usize), x: &Axis, y: &Axis, out: &mut String) {
    let class = i % COLOURS;
    for dot in &series.dots {
        let (left, right) = sides(dot.x, i, n);
        let (left, right) = (coordinate(x.at(left)), coordinate(x.at(right)));
        let title = told(series, dot);
        let top = up(y, dot.y);
        let _ = write!(
            out,
            "<path class=\"box c{class}\" d=\"M{left} 1000V{top}H{right}V1000Z\"><title>{title}</title></path>"
        );
    }
    let middle = |dot: &Dot| {
        let (left, right) = sides(dot.x, i, n);
        x.at(f64::midpoint(left, right))
    };
    spread(series, &middle, y, out);
    hollow(series, (i, "ring"), &middle, y, out);
}

fn curve(series: &Series, i: usize, x: &Axis, y: &Axis, out: &mut String) {
    let class = i % COLOURS;
    let across = |dot: &Dot| x.at(dot.x);
    let dots: Vec<(u32, u32)> = series
        .dots
        .iter()
        .map(|dot| (coordinate(across(dot)), up(y, dot.y)))
        .collect();
    let mut path = String::new();
    for (i, (x, y)) in dots.iter().enumerate() {
        let _ = write!(path, "{}{x} {y}", if i == 0 { 'M' } else { 'L' });
    }
    if dots.len() == 1 {
        path.push_str("h0");
    }
    let sides: Vec<(u32, u32, u32)> = series
        .band
        .iter()
        .map(|&(value, low, high)| (up(y, value), coordinate(x.at(low)), coordinate(x.at(high))))
        .collect();
    if !sides.is_empty() {
        let low = sides.iter().map(|(y, low, _)| format!("{low} {y}"));
        let high = sides.iter().rev().map(|(y, _, high)| format!("{high} {y}"));
        let around = low.chain(high).collect::<Vec<_>>().join("L");
        let _ = write!(out, "<path class=\"band c{class}\" d=\"M{around}Z\"/>");
    }
    if !path.is_empty() {
        let name = escape(&series.name);
        let _ = write!(
            out,
            "<path class=\"line c{class}\" data-name=\"{name}\" d=\"{path}\"/>"
        );
    }
    if dots.len() <= DOTS_MAX {
        let marks: Vec<String> = dots.iter().map(|(x, y)| format!("M{x} {y}h0")).collect();
        let marks = marks.concat();
        if !marks.is_empty() {
            let _ = write!(out, "<path class=\"dots c{class}\" d=\"{marks}\"/>");
        }
    }
    spread(series, &across, y, out);
}

/// Curves of up to this many points show them.
pub(super) const DOTS_MAX: usize = 16;

/// Intervals as thin lines.
fn spread(series: &Series, across: &dyn Fn(&Dot) -> f64, y: &Axis, out: &mut String) {
    let mut path = String::new();
    for dot in series.dots.iter().filter(|dot| dot.high > dot.low) {
        let x = coordinate(across(dot));
        let _ = write!(path, "M{x} {}V{}", up(y, dot.low), up(y, dot.high));
    }
    if !path.is_empty() {
        let _ = write!(out, "<path class=\"spread\" d=\"{path}\"/>");
    }
}

/// What others published, as hollow dots: a coloured one under one of the paper's colour.
fn hollow(
    series: &Series,
    (i, ring): (usize, &str),
    across: &dyn Fn(&Dot) -> f64,
    y: &Axis,
    out: &mut String,
) {
    let place = |dot: &Dot| format!("M{} {}h0", coordinate(across(dot)), up(y, dot.y));
    let path = series.given.iter().map(place).collect::<Vec<_>>().concat();
    if !path.is_empty() {
        let class = i % COLOURS;
        let _ = write!(
            out,
            "<path class=\"{ring} c{class}\" d=\"{path}\"/><path class=\"hole c{class}\" d=\"{path}\"/>"
        );
    }
}

fn told(series: &Series, dot: &Dot) -> String {
    let show = |value| Unit::Number.show(value);
    let mut text = format!("{}: {}", series.name, show(dot.y));
    if dot.high > dot.low {
        let _ = write!(text, " ({} to {})", show(dot.low), show(dot.high));
    }
    let here = series
        .given
        .iter()
        .find(|given| given.x.total_cmp(&dot.x).is_eq());
    if let Some(given) = here {
        let _ = write!(text, "; {}: {}", series.by, show(given.y));
    }
    escape(&text)
}

/// The share of a box as text, for the picture.
pub(super) fn share(axis: &Axis, value: f64, length: f64) -> String {
    per_cent(axis.at(value) * length / 100.0)
}
