//! A figure as one picture: panels in two columns, a legend and a title over them.

use super::plot::{DOTS_MAX, share, sides};
use super::{Dot, Figure, Panel};
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
/// Between the lines of a name below the axis.
const NAME_ROW: f64 = 14.0;
/// A character's width, near enough to place names.
const CHARACTER: f64 = 6.6;

const STYLE: &str = "svg{--bg:#fff;--ink:#1c2126;--dim:#5f6b78;--rule:#e4e1da;--c0:#0b63b5;--c1:#d2660a;--c2:#0f8a5c;\
--c3:#c22f3a;--c4:#7b4cc2;--c5:#808892;font:12px system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}\
@media (prefers-color-scheme:dark){svg{--bg:#1a1e22;--ink:#e6e9ec;--dim:#9ba6b2;--rule:#2d343b;--c0:#63adf2;\
--c1:#f2a057;--c2:#4fc493;--c3:#fb7d78;--c4:#b698f2;--c5:#929ca7}}\
text{fill:var(--dim)}.h{fill:var(--ink);font-size:15px;font-weight:650}.b{fill:var(--ink);font-weight:600}\
path{fill:none}.g{stroke:var(--rule)}.s{stroke:var(--ink);opacity:.75}.l{stroke-width:2;stroke-linejoin:round}\
.c0{--k:var(--c0)}.c1{--k:var(--c1)}.c2{--k:var(--c2)}.c3{--k:var(--c3)}.c4{--k:var(--c4)}.c5{--k:var(--c5)}\
.l{stroke:var(--k)}.f{fill:var(--k)}.o{fill:var(--bg);stroke:var(--k);stroke-width:2}.i{--k:var(--ink)}";

pub(super) fn picture(figure: &Figure) -> String {
    let mut body = String::new();
    let mut y = 26.0;
    let title = format!("{}: {}", figure.source, figure.title);
    text(&mut body, (16.0, y), "h", &title);
    for line in wrap(&figure.verdict, LINE, 0).lines() {
        y += 19.0;
        text(&mut body, (16.0, y), "b", line);
    }
    y += 14.0;
    let columns = if figure.panels.len() == 1 { 1.0 } else { 2.0 };
    let width = WIDTH / columns;
    for pair in figure.panels.chunks(if columns > 1.0 { 2 } else { 1 }) {
        let mut below: f64 = 0.0;
        for (i, panel) in pair.iter().enumerate() {
            below = below.max(draw(&mut body, panel, (width * i as f64, y), width));
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

/// One panel; returns what its names take below the axis beyond one line.
fn draw(out: &mut String, panel: &Panel, (left, top): (f64, f64), width: f64) -> f64 {
    let (x, y) = panel.axes();
    let wide = width - LEFT - 24.0;
    let _ = writeln!(
        out,
        "<g transform=\"translate({:.1} {:.1})\">",
        left + LEFT,
        top + OVER
    );
    let legend = legend(out, panel, wide);
    if panel.title != panel.y.title {
        text(out, (-LEFT + 16.0, -legend - 30.0), "b", &panel.title);
    }
    text(
        out,
        (-LEFT + 16.0, -13.0),
        "",
        &scaled(&panel.y.title, panel.y.log),
    );
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

/// The words below the axis: names in as many lines as their room asks for, numbers where they do not touch. Returns
/// the most lines of one.
fn places(out: &mut String, x: &Axis, wide: f64) -> usize {
    let ticks = x.ticks();
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a few characters"
    )]
    let room = (wide / ticks.len().max(1) as f64 / CHARACTER) as usize;
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

/// Names beside their colours, in as many lines as they need, from the last line up; returns the height.
fn legend(out: &mut String, panel: &Panel, wide: f64) -> f64 {
    let ours = panel.shown();
    let ours = ours.map(|(i, series)| (format!("f c{}", i % COLOURS), series.name.as_str()));
    let given = panel.sources().into_iter();
    let given = given.map(|name| ("o i".to_owned(), name));
    let mut rows: Vec<Vec<(f64, String, &str)>> = vec![Vec::new()];
    let mut x = 0.0;
    for (class, name) in ours.chain(given) {
        let length = 22.0 + CHARACTER * name.chars().count() as f64;
        if x + length > wide + LEFT && x > 0.0 {
            rows.push(Vec::new());
            x = 0.0;
        }
        if let Some(row) = rows.last_mut() {
            row.push((x - LEFT + 16.0, class, name));
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
    for (i, series) in panel.series.iter().enumerate().rev() {
        let class = i % COLOURS;
        let middle = |dot: &Dot| {
            if x.is_named() {
                let (left, right) = sides(dot.x, i, n);
                share(x, f64::midpoint(left, right), wide)
            } else {
                share(x, dot.x, wide)
            }
        };
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
            let mut path = String::new();
            for (k, dot) in series.dots.iter().enumerate() {
                let _ = write!(
                    path,
                    "{}{} {}",
                    if k == 0 { 'M' } else { 'L' },
                    middle(dot),
                    up(dot.y)
                );
            }
            if !path.is_empty() {
                let _ = writeln!(out, "<path class=\"l c{class}\" d=\"{path}\"/>");
            }
            if series.dots.len() <= DOTS_MAX {
                for dot in &series.dots {
                    let (x, y) = (middle(dot), up(dot.y));
                    let _ = writeln!(
                        out,
                        "<circle class=\"f c{class}\" cx=\"{x}\" cy=\"{y}\" r=\"3.5\"/>"
                    );
                }
            }
        }
        for dot in series.dots.iter().filter(|dot| dot.high > dot.low) {
            let (x, low, high) = (middle(dot), up(dot.low), up(dot.high));
            let _ = writeln!(out, "<path class=\"s\" d=\"M{x} {low}V{high}\"/>");
        }
        for dot in &series.given {
            let (x, y) = (middle(dot), up(dot.y));
            let _ = writeln!(
                out,
                "<circle class=\"o c{class}\" cx=\"{x}\" cy=\"{y}\" r=\"4.5\"/>"
            );
        }
    }
}
