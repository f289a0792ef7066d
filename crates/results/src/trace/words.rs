//! [`Why`] for a terminal: the sum, the way of the last byte, the ladder.

use super::{PartSum, Row, Segment, Why};
use crate::grid::{Cell, Column, Paint, Style, render, wrap};
use crate::human;
use std::fmt::Write as _;
use units::{Bytes, Span};

/// Stretches of the way that are shown at each end of it. [ours: a screen holds both]
const WAY_SHOWN: usize = 16;
/// Width of the longest bar, in columns.
const BAR: u64 = 30;
/// Columns for the description of a packet; longer ones push the rest to the right.
const DESCRIPTION: usize = 36;

/// One line of a ladder: a packet, or packets left out.
pub enum Line {
    /// Index into [`Why::packets`].
    Packet(usize),
    /// So many packets.
    Gap(usize),
}

impl Why {
    /// At most about `most` packets: those that the completion time goes through, those that came to
    /// grief, the first and the last.
    pub fn ladder(&self, most: usize) -> Vec<Line> {
        let n = self.packets.len();
        let mut kept = vec![n <= most; n];
        let mut left = if n <= most { 0 } else { most };
        let mut keep = |of: &mut dyn Iterator<Item = usize>, left: &mut usize| {
            for i in of.take(*left) {
                *left -= usize::from(!std::mem::replace(&mut kept[i], true));
            }
        };
        let on = |of: fn(&Row) -> bool| (0..n).filter(move |&i| of(&self.packets[i]));
        // The end of a long way says more than its middle.
        let mut way: Vec<usize> = on(|row| row.on_path).collect();
        way.reverse();
        let mut half = left / 2;
        left -= half;
        keep(&mut way.into_iter(), &mut half);
        left += half;
        let (first, last) = (left / 3, left / 3);
        keep(&mut (0..first), &mut left);
        keep(&mut (n - last..n), &mut left);
        keep(&mut on(|row| row.lost), &mut left);
        let mut lines = Vec::new();
        for (i, kept) in kept.into_iter().enumerate() {
            match lines.last_mut() {
                _ if kept => lines.push(Line::Packet(i)),
                Some(Line::Gap(count)) => *count += 1,
                _ => lines.push(Line::Gap(1)),
            }
        }
        lines
    }

    /// One sentence: what took how long, and what most of it was.
    pub fn sentence(&self) -> String {
        let largest = self.largest();
        let share = largest.ps as f64 / self.took().0.max(1) as f64;
        let place = largest.places.first();
        format!(
            "{} of it ({}) is {}{}",
            human::time(Span(largest.ps)),
            human::percent(share),
            self.name(largest.part),
            place.map_or(String::new(), |(place, _)| format!(
                ", most of it at {place}"
            ))
        )
    }

    /// All of it as text; `ladder` packets at most.
    pub fn text(&self, ladder: usize, style: Style) -> String {
        let at_least = if self.finished { "" } else { "at least " };
        let ratio = self.took().0 as f64 / self.ideal_ps.max(1) as f64;
        let mut out = format!(
            " message {}, {} -> {}, {}: {at_least}{}, {at_least}{} times what an idle network takes ({})\n {}",
            self.message,
            self.src,
            self.dst,
            human::bytes(Bytes(self.size)),
            human::time(self.took()),
            human::ratio(ratio),
            human::time(Span(self.ideal_ps)),
            self.sentence(),
        );
        if out.lines().any(|line| line.chars().count() > style.width) {
            out = wrap(&out, style.width, 1);
        }
        out.push_str("\n\n");
        out.push_str(&self.sum(style));
        out.push('\n');
        out.push_str(&self.way(style));
        out.push('\n');
        out.push_str(&self.packets_text(ladder, style));
        out
    }

    fn sum(&self, style: Style) -> String {
        let total = self.took().0;
        let shares = |sum: &PartSum| sum.ps as f64 / total.max(1) as f64;
        let longest = self.parts.iter().map(|sum| sum.ps).max().unwrap_or(1);
        let column = |title: &str, rank, cell: &dyn Fn(&PartSum) -> String, last: String| Column {
            title: title.into(),
            rank,
            cells: self
                .parts
                .iter()
                .map(cell)
                .chain([last])
                .map(Cell::new)
                .collect(),
        };
        let bar = |ps: u64| "#".repeat(usize::try_from(ps * BAR / longest.max(1)).unwrap_or(0));
        let where_to = |sum: &PartSum| {
            let shown = sum.places.iter().take(3);
            let mut text: Vec<String> = shown
                .map(|(place, ps)| format!("{place} {}", human::time(Span(*ps))))
                .collect();
            if sum.places.len() > 3 {
                text.push(format!("{} more", sum.places.len() - 3));
            }
            text.join(", ")
        };
        let columns = vec![
            column("part", 0, &|sum| self.name(sum.part), "sum".into()),
            column(
                "time",
                0,
                &|sum| human::time(Span(sum.ps)),
                human::time(Span(total)),
            ),
            column(
                "share",
                1,
                &|sum| human::percent(shares(sum)),
                "100%".into(),
            ),
            column("ps", 2, &|sum| human::count(sum.ps), human::count(total)),
            column("", 4, &|sum| bar(sum.ps), String::new()),
            column("where", 3, &where_to, String::new()),
        ];
        render(&columns, style)
    }

    fn way(&self, style: Style) -> String {
        let n = self.path.len();
        let shown: Vec<&Segment> = if n <= 2 * WAY_SHOWN {
            self.path.iter().collect()
        } else {
            let (first, last) = (&self.path[..WAY_SHOWN], &self.path[n - WAY_SHOWN..]);
            first.iter().chain(last).collect()
        };
        let cut = (shown.len() < n).then_some(WAY_SHOWN);
        let column = |title: &str, rank, cell: &dyn Fn(&Segment) -> String| {
            let mut cells: Vec<Cell> = shown.iter().map(|s| Cell::new(cell(s))).collect();
            if let Some(at) = cut {
                let text = match title {
                    "what" => format!("... {} more; --json has all", n - shown.len()),
                    _ => String::new(),
                };
                cells.insert(at, Cell::painted(text, Paint::Dim));
            }
            Column {
                title: title.into(),
                rank,
                cells,
            }
        };
        let columns = vec![
            column("at", 0, &|s| moment(s.from_ps - self.start_ps)),
            column("for", 0, &|s| human::time(Span(s.until_ps - s.from_ps))),
            column("part", 0, &|s| self.name(s.part)),
            column("where", 1, &|s| s.place.clone()),
            column("what", 2, &|s| s.note.clone()),
        ];
        format!(" the way of the last byte\n{}", render(&columns, style))
    }

    fn packets_text(&self, most: usize, style: Style) -> String {
        let mut out = format!(
            " packets of the connection ({} sent meanwhile; * on the way above)\n",
            human::count(self.packets.len() as u64)
        );
        let lines = self.ladder(most);
        let shown = lines.iter().filter_map(|line| ladder_line(self, line));
        let widest = shown.map(|row| row.what.chars().count()).max().unwrap_or(0);
        let narrow = style.width < NARROW;
        let described = if narrow {
            DESCRIPTION.min(widest)
        } else {
            DESCRIPTION
        };
        for line in lines {
            let row = match line {
                Line::Gap(count) => {
                    let _ = writeln!(out, "   ... {count} left out");
                    continue;
                }
                Line::Packet(i) => &self.packets[i],
            };
            let (src, dst) = (&self.src, &self.dst);
            let arrow = if row.forth { "->" } else { "<-" };
            let mark = if row.on_path { '*' } else { ' ' };
            let mut text = format!(
                "{}  {src} {arrow} {dst} {mark} {:<described$} {:>5} B",
                moment(row.sent_ps - self.start_ps.min(row.sent_ps)),
                row.what,
                row.size
            );
            if let Some(arrived) = row.arrived_ps {
                let _ = write!(text, "  {:>8}", human::time(Span(arrived - row.sent_ps)));
            }
            let mut end = String::new();
            if row.marked {
                end.push_str("  marked");
            }
            if let Some(fate) = &row.fate {
                let _ = write!(end, "  {}{fate}", if row.lost { "X " } else { "" });
            }
            if narrow && text.chars().count() + end.chars().count() > style.width {
                let _ = write!(text, "\n{:14}", "");
            }
            text.push_str(&end);
            let _ = writeln!(out, "{}", text.trim_end());
        }
        out
    }
}

/// A terminal of fewer columns gets no room that packets do not use.
const NARROW: usize = 110;

/// The packet of a line; none where packets were left out.
pub fn ladder_line<'a>(why: &'a Why, line: &Line) -> Option<&'a Row> {
    let Line::Packet(i) = line else { return None };
    Some(&why.packets[*i])
}

/// Microseconds to the nanosecond, rounded down.
pub fn moment(ps: u64) -> String {
    format!("{:>8}.{:03}us", ps / 1_000_000, ps / 1_000 % 1_000)
}
