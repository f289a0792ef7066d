//! Where the time of the slowest messages went: parts, the packets over time and place, the ladder.

use crate::chart::{Axis, legend_of};
use crate::page::{More, Section, markup};
use results::RunRecord;
use results::Unit;
use results::escape;
use results::human;
use results::trace::{Part, Row, Why, ladder_line};
use std::fmt::Write as _;
use units::{Bytes, Span};

/// Packets that a drawing has at most; a wider one would be a blot. [ours]
const DRAWN_MAX: usize = 160;
/// Lines of a ladder. [ours]
const LADDER_MAX: usize = 80;
/// Side of the box that packets are drawn in.
const BOX: u64 = 1000;

/// The colour of a part.
const fn colour(part: Part) -> usize {
    match part {
        Part::Propagation => 0,
        Part::Credit => 1,
        Part::Serialisation => 2,
        Part::Queueing => 3,
        Part::Paused => 6,
        Part::Retransmission => 4,
        Part::Host | Part::Unfinished => 5,
    }
}

/// The sentence of the first screen that leads to the slowest message's packets.
pub(super) fn more(run: &RunRecord) -> Option<More> {
    let why = run.why.first()?;
    Some(More {
        href: format!("#{}", anchor(why)),
        text: super::bind(&format!(
            "{}. See its packets.",
            why.sentence().replacen(" of it ", " of this ", 1)
        )),
    })
}

/// The name by which the page refers to a message.
pub(super) fn anchor(why: &Why) -> String {
    format!("message-{}", why.message)
}

pub(super) fn section(run: &RunRecord) -> Option<Section> {
    if run.why.is_empty() {
        return None;
    }
    let mut body = String::new();
    let mut points = 0;
    for (i, why) in run.why.iter().enumerate() {
        let at_least = if why.finished { "" } else { "at least " };
        let _ = write!(
            body,
            "<details class=\"why\" id=\"{}\"{}><summary>Message {}, {} &rarr; {}, {}: \
             {at_least}{}</summary><p>{}</p>",
            anchor(why),
            if i == 0 { " open" } else { "" },
            why.message,
            escape(&why.src),
            escape(&why.dst),
            human::bytes(Bytes(why.size)),
            human::time(why.took()),
            escape(&why.sentence()),
        );
        parts(&mut body, why);
        points += drawing(&mut body, why);
        ladder(&mut body, why);
        body.push_str("</details>");
    }
    Some(Section {
        id: "why".into(),
        title: "Where their time went".into(),
        says: "The parts add up to the completion time exactly. In the drawing a packet goes from \
               node to node as time passes: a level line is a wait, a thick line is the way on \
               which the completion time depends. Play it, or move the slider."
            .into(),
        points,
        body: markup(body),
        table: None,
        fold: "",
        wide: true,
    })
}

/// The parts as one bar, with times in its legend.
fn parts(out: &mut String, why: &Why) {
    let shown = || why.parts.iter().filter(|sum| sum.ps > 0);
    let total = why.took().0.max(1) as f64;
    let names: Vec<(usize, String)> = shown()
        .map(|sum| {
            let text = format!("{} {}", why.name(sum.part), human::time(Span(sum.ps)));
            (colour(sum.part), text)
        })
        .collect();
    let names: Vec<(usize, &str)> = names.iter().map(|(c, name)| (*c, name.as_str())).collect();
    out.push_str(&legend_of(&names));
    out.push_str("<div class=\"bar\" aria-hidden=\"true\">");
    for sum in shown() {
        let width = sum.ps as f64 / total * 100.0;
        let _ = write!(
            out,
            "<i class=\"c{}\" style=\"width:{width:.2}%\"></i>",
            colour(sum.part)
        );
    }
    out.push_str("</div>");
}

/// Nodes from the sender to the receiver, in the order in which packets meet them.
fn lanes(why: &Why) -> Vec<&str> {
    let mut lanes = vec![why.src.as_str()];
    let both = [true, false].map(|forth| why.packets.iter().filter(move |row| row.forth == forth));
    for row in both.into_iter().flatten() {
        let nodes = row.hops.iter().map(|hop| hop.1.as_str());
        let ordered: Vec<&str> = if row.forth {
            nodes.collect()
        } else {
            nodes.rev().collect()
        };
        for node in ordered {
            if node != why.dst && !lanes.contains(&node) {
                lanes.push(node);
            }
        }
    }
    lanes.push(why.dst.as_str());
    lanes
}

/// Where things stand in a drawing: time to the right, the way downwards.
struct Frame<'a> {
    why: &'a Why,
    lanes: Vec<&'a str>,
}

impl Frame<'_> {
    fn span(&self) -> u64 {
        self.why.took().0.max(1)
    }

    fn x(&self, ps: u64) -> u128 {
        let since = ps.clamp(self.why.start_ps, self.why.end_ps) - self.why.start_ps;
        u128::from(since) * u128::from(BOX) / u128::from(self.span())
    }

    fn y(&self, node: &str) -> u64 {
        let last = self.lanes.len() - 1;
        let lane = self.lanes.iter().position(|lane| *lane == node);
        lane.unwrap_or(last) as u64 * BOX / last.max(1) as u64
    }

    /// Names of nodes, and a line for each.
    fn lanes(&self, out: &mut String) {
        out.push_str("<div class=\"names\">");
        for lane in &self.lanes {
            let at = self.y(lane) as f64 / BOX as f64 * 100.0;
            let _ = write!(out, "<span style=\"top:{at:.1}%\">{}</span>", escape(lane));
        }
        let _ = write!(
            out,
            "</div><div class=\"area\"><svg viewBox=\"0 0 {BOX} {BOX}\" \
             preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Packets of message {} over \
             time\">",
            self.why.message
        );
        for lane in &self.lanes {
            let _ = write!(
                out,
                "<path class=\"grid\" d=\"M0 {}H{BOX}\"/>",
                self.y(lane)
            );
        }
    }

    /// The way of one packet.
    fn packet(&self, out: &mut String, row: &Row) {
        let mut d = String::new();
        for (from, to, start, at) in &row.hops {
            let verb = if d.is_empty() { 'M' } else { 'L' };
            let (out_at, in_at) = (self.x(*start), self.x(*at));
            let _ = write!(d, "{verb}{out_at} {}L{in_at} {}", self.y(from), self.y(to));
        }
        let kind = match row.class {
            "credit" => "credit",
            "control" => "control",
            _ => "data",
        };
        let on = if row.on_path { " on" } else { "" };
        let title = escape(&row.what);
        let _ = write!(
            out,
            "<path class=\"{kind}{on}\" d=\"{d}\"><title>{title}</title></path>"
        );
        if let (true, Some((_, to, _, at))) = (row.lost, row.hops.last()) {
            let (x, y) = (self.x(*at), self.y(to));
            let _ = write!(out, "<path class=\"dots c3\" d=\"M{x} {y}h0\"/>");
        }
    }

    /// What the completion time was spent on, under the drawing.
    fn track(&self, out: &mut String) {
        out.push_str("<div class=\"track bar\">");
        for segment in &self.why.path {
            let share = (segment.until_ps - segment.from_ps) as f64 / self.span() as f64;
            let _ = write!(
                out,
                "<i class=\"c{}\" style=\"width:{:.3}%\" data-until=\"{}\" title=\"{}: {}\"></i>",
                colour(segment.part),
                share * 100.0,
                segment.until_ps - self.why.start_ps,
                self.why.name(segment.part),
                escape(&format!("{} {}", segment.place, segment.note)),
            );
        }
        out.push_str("</div>");
    }
}

/// A line for every packet. Returns the points drawn.
fn drawing(out: &mut String, why: &Why) -> usize {
    let frame = Frame {
        why,
        lanes: lanes(why),
    };
    let span = frame.span();
    let _ = write!(out, "<div class=\"flight\" data-took=\"{span}\">");
    frame.lanes(out);
    let mut points = 0;
    let chosen = why.ladder(DRAWN_MAX);
    for row in chosen.iter().filter_map(|line| ladder_line(why, line)) {
        frame.packet(out, row);
        points += 2 * row.hops.len();
    }
    out.push_str("</svg></div>");
    frame.track(out);
    Axis::linear("time since the message began", Unit::Time, 0.0, span as f64).below(out);
    out.push_str(
        "</div><ul class=\"legend\"><li class=\"ink\">data</li><li class=\"c1\">credit</li>\
         <li class=\"c5\">control</li><li class=\"c3\">lost</li></ul>",
    );
    points
}

fn ladder(out: &mut String, why: &Why) {
    let _ = write!(
        out,
        "<details><summary>Its ladder: {} packets of the connection</summary><div class=\"scroll\" \
         tabindex=\"0\" role=\"region\" aria-label=\"Packets of the connection\"><table><thead><tr><th scope=\"col\">at</th><th scope=\"col\" class=\"t\">direction</th>\
         <th scope=\"col\" class=\"t\">packet</th><th scope=\"col\">bytes</th>\
         <th scope=\"col\">took</th><th scope=\"col\" class=\"t\">fate</th></tr></thead><tbody>",
        human::count(why.packets.len() as u64)
    );
    for line in why.ladder(LADDER_MAX) {
        let Some(row) = ladder_line(why, &line) else {
            out.push_str("<tr><td>...</td><td></td><td></td><td></td><td></td><td></td></tr>");
            continue;
        };
        let _ = write!(
            out,
            "<tr{}><td>{}</td><td class=\"t\">{}</td><td class=\"t\">{}</td><td>{}</td><td>{}</td>\
             <td class=\"t\">{}</td></tr>",
            if row.on_path { " class=\"on\"" } else { "" },
            results::trace::moment(row.sent_ps.saturating_sub(why.start_ps)),
            direction(why, row),
            escape(&row.what),
            row.size,
            row.arrived_ps
                .map_or("-".into(), |at| human::time(Span(at - row.sent_ps))),
            escape(match (&row.fate, row.marked) {
                (Some(fate), _) => fate,
                (None, true) => "marked",
                (None, false) => "",
            }),
        );
    }
    out.push_str("</tbody></table></div></details>");
}

fn direction(why: &Why, row: &Row) -> String {
    let (src, dst) = (escape(&why.src), escape(&why.dst));
    if row.forth {
        format!("{src} &rarr; {dst}")
    } else {
        format!("{src} &larr; {dst}")
    }
}
