//! A figure as one picture: panels in two columns, a legend and a title over them.

use super::plot::{DOTS_MAX, share, sides};
use super::{Dot, Figure, Panel, Series};
use crate::chart::{Axis, COLOURS};
use results::{escape, wrap};
use std::fmt::Write as _;

const WIDTH: f64 = 960.0;
/// Beside and below the axes, for their labels.
const LEFT: f64 = 66.0;
const BELOW: f64 = 52.0;
const OVER: f64 = 84.0;
/// Between the lines of a legend.
const ROW: f64 = 16.0;
const HEIGHT: f64 = 210.0;
/// Characters of a line of text over the whole width, at its size.
const LINE: usize = 128;
/// The same of the title, whose characters are larger.
const TITLE_LINE: usize = 104;
/// Characters of a line of a name beside a bar that lies.
const NAME_LINE: usize = 26;
/// What a bar that lies takes at least, and what is between names.
const BAR: f64 = 9.0;
const APART: f64 = 8.0;
/// Between the lines of a name below the axis.
const NAME_ROW: f64 = 14.0;
/// The radius of a dot of ours on a curve, and of the middle of the line around one of others: 2 px of line leave a gap. [ours]
const DOT: f64 = 3.0;
const RING: f64 = 5.5;
/// A character's width, near enough to place names.
const CHARACTER: f64 = 6.6;

const STYLE: &str = "svg{--bg:#fff;--ink:#1c2126;--dim:#5f6b78;--rule:#e4e1da;--c0:#0b63b5;--c1:#d2660a;--c2:#0f8a5c;\
--c3:#c22f3a;--c4:#7b4cc2;--c5:#808892;--warn:#8a5a00;font:12px system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}\
@media (prefers-color-scheme:dark){svg{--bg:#1a1e22;--ink:#e6e9ec;--dim:#9ba6b2;--rule:#2d343b;--c0:#63adf2;\
--c1:#f2a057;--c2:#4fc493;--c3:#fb7d78;--c4:#b698f2;--c5:#929ca7;--warn:#f0c060}}\
text{fill:var(--dim)}.h{fill:var(--ink);font-size:15px;font-weight:650}.b{fill:var(--ink);font-weight:600}.q{fill:var(--warn);font-weight:600}\
path{fill:none}.g{stroke:var(--rule)}.s{stroke:var(--ink);opacity:.75}.l{stroke-width:2;stroke-linejoin:round}\
.c0{--k:var(--c0)}.c1{--k:var(--c1)}.c2{--k:var(--c2)}.c3{--k:var(--c3)}.c4{--k:var(--c4)}.c5{--k:var(--c5)}\
.l{stroke:var(--k)}.w{fill:var(--k);fill-opacity:.16}.f{fill:var(--k)}.o{fill:var(--bg);stroke:var(--k);stroke-width:2}.i{--k:var(--ink)}";

pub(super) fn picture(figure: &Figure) -> String {
    let mut body = String::new();
    let mut y = 26.0;
    let title = format!("{}: {}", figure.source, figure.title);
    for (i, line) in wrap(&title, TITLE_LINE, 0).lines().enumerate() {
        y += if i > 0 { 19.0 } else { 0.0 };
        text(&mut body, (16.0, y), "h", line);
    }
    let notes = figure.notes.join(" ");
    for (words, class) in [(&figure.quick, "q"), (&figure.verdict, "b"), (&notes, "")] {
        for line in wrap(words, LINE, 0).lines() {
            y += 19.0;
            text(&mut body, (16.0, y), class, line);
        }
    }
    y += 14.0;
    let columns = if figure.panels.len() == 1 { 1.0 } else { 2.0 };
    let width = WIDTH / columns;
    for pair in figure.panels.chunks(if columns > 1.0 { 2 } else { 1 }) {
        let mut below: f64 = 0.0;
        for (i, panel) in pair.iter().enumerate() {
            below = below.max(draw(&mut body, &panel.seen(), (width * i as f64, y), width));
        }
        y += OVER + HEIGHT + below + BELOW;
    }
    let height = (y + 8.0).to_string();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\"><title>{}</title><style>{STYLE}</style>\
         <rect width=\"{WIDTH}\" height=\"{height}\" style=\"fill:var(--bg)\"/>\n{body}</svg>\n",
        escape(&title)
    )
}

fn text(out: &mut String, (x, y): (f64, f64), class: &str, words: &str) {
    let words = escape(words);
    let _ = writeln!(
        out,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{words}</text>"
    );
}

/// One panel; returns what it takes below the axis beyond one line of names.
fn draw(out: &mut String, panel: &Panel, (left, top): (f64, f64), width: f64) -> f64 {
    let (x, y) = panel.axes();
    let wide = width - LEFT - 24.0;
    let lies = x.is_named() && !stand(&x, wide);
    let margin = if lies {
        16.0 + CHARACTER * NAME_LINE as f64
    } else {
        LEFT
    };
    let _ = writeln!(
        out,
        "<g transform=\"translate({:.1} {:.1})\">",
        left + margin,
        top + OVER
    );
    let start = 16.0 - margin;
    let legend = legend(out, panel, (start, width - 24.0));
    if panel.title != panel.y.title {
        text(out, (start, -legend - 30.0), "b", &panel.title);
    }
    let y_title = if x.is_named() {
        y.over_bars()
    } else {
        scaled(&panel.y.title, panel.y.log)
    };
    if lies {
        text(out, (start, -13.0), "", &panel.x.title);
        let high = lying(out, panel, (&x, &y), (width - margin - 24.0, &y_title));
        out.push_str("</g>\n");
        return high - HEIGHT;
    }
    text(out, (start, -13.0), "", &y_title);
    for tick in y.ticks() {
        let at = HEIGHT - y.at(tick) * HEIGHT;
        let label = escape(&y.label(usize::MAX, tick));
        let _ = writeln!(
            out,
            "<path class=\"g\" d=\"M0 {at:.1}H{wide:.1}\"/>\
             <text x=\"-8\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            at + 4.0
        );
    }
    let below = NAME_ROW * (places(out, &x, wide) - 1) as f64;
    let title = escape(&scaled(&panel.x.title, panel.x.log));
    let _ = writeln!(
        out,
        "<text x=\"{wide:.1}\" y=\"{}\" text-anchor=\"end\">{title}</text>",
        HEIGHT + 36.0 + below
    );
    series(out, panel, (&x, &y), wide);
    out.push_str("</g>\n");
    below
}

/// Characters that a name has below the axis.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a few characters"
)]
fn room(ticks: usize, wide: f64) -> usize {
    (wide / ticks.max(1) as f64 / CHARACTER) as usize
}

/// Whether all words of all names have room below the axis, side by side.
fn stand(x: &Axis, wide: f64) -> bool {
    let ticks = x.ticks();
    let room = room(ticks.len(), wide);
    let mut names = (0..).zip(&ticks).map(|(i, &tick)| x.label(i, tick));
    names.all(|name| name.split(' ').all(|word| word.chars().count() <= room))
}

/// Bars that lie, each name beside its own; returns how high they are together.
fn lying(
    out: &mut String,
    panel: &Panel,
    (x, y): (&Axis, &Axis),
    (wide, title): (f64, &str),
) -> f64 {
    let ticks = x.ticks();
    let names = (0..).zip(&ticks).map(|(i, &tick)| x.label(i, tick));
    let names: Vec<String> = names.map(|name| wrap(&name, NAME_LINE, 0)).collect();
    let lines = names.iter().map(|name| name.lines().count()).max();
    let n = panel.series.len();
    let each = (NAME_ROW * lines.unwrap_or(1) as f64).max(BAR * n as f64) + APART;
    let high = each * names.len() as f64;
    let across = |value: f64| share(y, value, wide);
    let mut free = f64::NEG_INFINITY;
    for tick in y.ticks() {
        let label = y.label(usize::MAX, tick);
        let (at, near) = (across(tick), y.at(tick) * wide);
        let _ = writeln!(out, "<path class=\"g\" d=\"M{at} 0V{high:.1}\"/>");
        let half = CHARACTER * label.chars().count() as f64 / 2.0;
        if near - half >= free {
            free = near + half;
            let _ = writeln!(
                out,
                "<text x=\"{at}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                high + 17.0,
                escape(&label)
            );
        }
    }
    for (name, &tick) in names.iter().zip(&ticks) {
        let first = each * tick + 4.0 - NAME_ROW * (name.lines().count() - 1) as f64 / 2.0;
        for (row, line) in name.lines().enumerate() {
            let _ = writeln!(
                out,
                "<text x=\"-8\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                first + NAME_ROW * row as f64,
                escape(line)
            );
        }
    }
    let _ = writeln!(
        out,
        "<text x=\"{wide:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
        high + 36.0,
        escape(title)
    );
    for (i, series) in panel.series.iter().enumerate().rev() {
        let class = i % COLOURS;
        let middle = |dot: &Dot| {
            let (top, bottom) = sides(dot.x, i, n);
            each * f64::midpoint(top, bottom)
        };
        for dot in &series.dots {
            let (top, bottom) = sides(dot.x, i, n);
            let _ = writeln!(
                out,
                "<path class=\"f c{class}\" d=\"M0 {:.1}H{}V{:.1}H0Z\"/>",
                each * top,
                across(dot.y),
                each * bottom
            );
        }
        for dot in series.dots.iter().filter(|dot| dot.high > dot.low) {
            let (low, high, at) = (across(dot.low), across(dot.high), middle(dot));
            let _ = writeln!(out, "<path class=\"s\" d=\"M{low} {at:.1}H{high}\"/>");
        }
        for dot in &series.given {
            let (x, y) = (across(dot.y), middle(dot));
            let _ = writeln!(
                out,
                "<circle class=\"o c{class}\" cx=\"{x}\" cy=\"{y:.1}\" r=\"4.5\"/>"
            );
        }
    }
    high
}

/// The words below the axis: names in as many lines as their room asks for, numbers where they do not touch. Returns
/// the most lines of one.
fn places(out: &mut String, x: &Axis, wide: f64) -> usize {
    let ticks = x.ticks();
    let room = room(ticks.len(), wide);
    let (mut most, mut free) = (1, f64::NEG_INFINITY);
    for (i, tick) in ticks.into_iter().enumerate() {
        let label = x.label(i, tick);
        let (at, near) = (share(x, tick, wide), x.at(tick) * wide);
        let half = CHARACTER * label.chars().count() as f64 / 2.0;
        if !x.is_named() && near - half < free {
            continue;
        }
        free = near + half;
        let told = if x.is_named() {
            wrap(&label, room.max(6), 0)
        } else {
            label
        };
        for (row, line) in told.lines().enumerate() {
            let _ = writeln!(
                out,
                "<text x=\"{at}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                HEIGHT + 17.0 + NAME_ROW * row as f64,
                escape(line)
            );
            most = most.max(row + 1);
        }
    }
    most
}

fn scaled(title: &str, log: bool) -> String {
    let scale = if log { ", log scale" } else { "" };
    format!("{title}{scale}")
}

/// The dot before a name, and what keeps the next from it.
const BESIDE: f64 = 26.0;

/// What a name takes, in the widest of the fonts that draw it. [`hmtx` of `DejaVu Sans`, at 12 px]
fn width(name: &str) -> f64 {
    let of = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | '\'' => 4.0,
        ' ' | 'f' | 'r' | 't' | '-' | '/' | '(' | ')' => 4.8,
        'm' | 'w' | 'M' | 'W' | '%' | '+' | '=' => 11.0,
        'A'..='Z' => 8.6,
        _ => 7.6,
    };
    name.chars().map(of).sum()
}

/// Names beside their colours, in as many lines as they need, from the last line up; returns the height.
fn legend(out: &mut String, panel: &Panel, (start, wide): (f64, f64)) -> f64 {
    let ours = panel.shown();
    let ours = ours.map(|(i, series)| (format!("f c{}", i % COLOURS), series.name.as_str()));
    let given = panel.sources().into_iter();
    let given = given.map(|name| ("o i".to_owned(), name));
    let mut rows: Vec<Vec<(f64, String, &str)>> = vec![Vec::new()];
    let mut x = 0.0;
    for (class, name) in ours.chain(given) {
        let length = BESIDE + width(name);
        if x + length > wide && x > 0.0 {
            rows.push(Vec::new());
            x = 0.0;
        }
        if let Some(row) = rows.last_mut() {
            row.push((x + start, class, name));
        }
        x += length;
    }
    let height = ROW * rows.len() as f64;
    for (i, row) in rows.iter().enumerate() {
        let y = ROW * i as f64 - height - 14.0;
        for (x, class, name) in row {
            let _ = writeln!(
                out,
                "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4.5\"/>",
                x + 5.0,
                y - 4.0
            );
            text(out, (x + 14.0, y), "", name);
        }
    }
    height
}

fn series(out: &mut String, panel: &Panel, (x, y): (&Axis, &Axis), wide: f64) {
    let n = panel.series.len();
    let up = |value: f64| format!("{:.1}", HEIGHT - y.at(value) * HEIGHT);
    let middle = |i: usize, dot: &Dot| {
        if x.is_named() {
            let (left, right) = sides(dot.x, i, n);
            share(x, f64::midpoint(left, right), wide)
        } else {
            share(x, dot.x, wide)
        }
    };
    let hollow = |out: &mut String, (i, series): (usize, &Series), radius: f64| {
        for dot in &series.given {
            let (x, y, class) = (middle(i, dot), up(dot.y), i % COLOURS);
            let _ = writeln!(
                out,
                "<circle class=\"o c{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>"
            );
        }
    };
    // Below every curve, and larger than its dots: where both have one number, both are seen.
    if !x.is_named() {
        for series in panel.series.iter().enumerate().rev() {
            hollow(out, series, RING);
        }
    }
    for (i, series) in panel.series.iter().enumerate().rev() {
        let class = i % COLOURS;
        let middle = |dot: &Dot| middle(i, dot);
        if x.is_named() {
            for dot in &series.dots {
                let (left, right) = sides(dot.x, i, n);
                let (left, right) = (share(x, left, wide), share(x, right, wide));
                let top = up(dot.y);
                let _ = writeln!(
                    out,
                    "<path class=\"f c{class}\" d=\"M{left} {HEIGHT}V{top}H{right}V{HEIGHT}Z\"/>"
                );
            }
        } else {
            let at = |dot: &Dot| format!("{} {}", middle(dot), up(dot.y));
            let path = series.dots.iter().map(at).collect::<Vec<_>>().join("L");
            if !series.band.is_empty() {
                let at = |value: f64, x_at: f64| format!("{} {}", share(x, x_at, wide), up(value));
                let low = series.band.iter().map(|&(value, low, _)| at(value, low));
                let back = series.band.iter().rev();
                let high = back.map(|&(value, _, high)| at(value, high));
                let around = low.chain(high).collect::<Vec<_>>().join("L");
                let _ = writeln!(out, "<path class=\"w c{class}\" d=\"M{around}Z\"/>");
            }
            if !path.is_empty() {
                let _ = writeln!(out, "<path class=\"l c{class}\" d=\"M{path}\"/>");
            }
            if series.dots.len() <= DOTS_MAX {
                for dot in &series.dots {
                    let (x, y) = (middle(dot), up(dot.y));
                    let _ = writeln!(
                        out,
                        "<circle class=\"f c{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{DOT}\"/>"
                    );
                }
            }
        }
        for dot in series.dots.iter().filter(|dot| dot.high > dot.low) {
            let (x, low, high) = (middle(dot), up(dot.low), up(dot.high));
            let _ = writeln!(out, "<path class=\"s\" d=\"M{x} {low}V{high}\"/>");
        }
        if x.is_named() {
            hollow(out, (i, series), 4.5);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_of_a_legend_runs_into_the_next_dot() {
        // What DejaVu Sans at 12 px takes, by the advance widths of its table `hmtx`.
        let known = [
            ("Homa", 35.4),
            ("NDP", 25.5),
            ("WWMM", 44.4),
            ("growth = unmarked", 120.8),
            ("first round trip in the gaps", 157.7),
        ];
        for (name, takes) in known {
            let found = width(name);
            assert!(
                found >= takes - 1.0 && found < takes * 1.1,
                "{name}: {found}"
            );
        }
    }
}
