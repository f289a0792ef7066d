//! Who stood still for whose sake: trees of pauses over time.

use crate::chart::Axis;
use crate::page::{Section, Table, markup, text};
use results::trace::PauseRow;
use results::{RunRecord, Unit, escape, human};
use std::fmt::Write as _;
use units::Span;

/// Width of the box that a row is drawn in.
const BOX: u64 = 1000;

const TITLE: &str = "Who stood still for whose sake";

pub(super) fn section(run: &RunRecord) -> Option<Section> {
    let rows = &run.pauses;
    if rows.is_empty() {
        return not_drawn(run);
    }
    let (mut body, mut points) = (String::new(), 0);
    let height = 22 * rows.len();
    let _ = write!(
        body,
        "<div class=\"pauses\" style=\"grid-template-rows:{height}px 22px auto\"><div class=\"names\">"
    );
    let place = |row: usize| (row as f64 + 0.5) / rows.len() as f64 * 100.0;
    for (n, row) in rows.iter().enumerate() {
        let indent = "&nbsp;&nbsp;".repeat(row.depth.min(8));
        let _ = write!(
            body,
            "<span style=\"top:{:.2}%\">{indent}{}</span>",
            place(n),
            escape(&row.line)
        );
    }
    let _ = write!(
        body,
        "</div><div class=\"area\"><svg viewBox=\"0 0 {BOX} {}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"Pauses of each line over time\">",
        rows.len() * 10
    );
    let end = run.end.0.max(1);
    let x = |ps: u64| u128::from(ps.min(end)) * u128::from(BOX) / u128::from(end);
    for (n, row) in rows.iter().enumerate() {
        let y = 10 * n + 5;
        let _ = write!(body, "<path class=\"grid\" d=\"M0 {y}H{BOX}\"/>");
        let mut drawn = None;
        for &(from, until) in &row.spans {
            // What falls into one column is drawn once.
            let column = (x(from), x(until).max(x(from) + 1));
            if drawn == Some(column) {
                continue;
            }
            drawn = Some(column);
            points += 1;
            let _ = write!(
                body,
                "<rect class=\"c6\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"8\"/>",
                column.0,
                10 * n + 1,
                column.1 - column.0
            );
        }
    }
    body.push_str("</svg></div>");
    Axis::linear("time", Unit::Time, 0.0, end as f64).below(&mut body);
    body.push_str("</div>");
    Some(Section {
        id: "pauses".into(),
        title: TITLE.into(),
        says: "A row is a line, and a block the time in which the next node held something back before it. A line stands below \
               the one for whose sake it stood still most often; where single flows or queues are paused, some of it may have been for \
               others, which the explanation of a message names."
            .into(),
        points,
        body: markup(body),
        table: Some(table(rows)),
        fold: "The same as numbers",
        wide: true,
    })
}

/// What stands there where lines were paused and nobody looked for whose sake.
fn not_drawn(run: &RunRecord) -> Option<Section> {
    let paused = run.flow_control.is_some() && run.ports.iter().any(|port| port.pauses > 0);
    (paused && run.why.is_empty()).then(|| Section {
        id: "pauses".into(),
        title: TITLE.into(),
        says: format!(
            "Lines were paused, and nobody looked for whose sake, for which a run is made a second time: {} --set output.explain=true \
             draws it, and explains the slowest messages.",
            run.command
        ),
        points: 0,
        body: text(""),
        table: None,
        fold: "",
        wide: true,
    })
}

fn table(rows: &[PauseRow]) -> Table {
    let mut table = Table::new(&["line", "below", "pauses", "stood still"]);
    table.text = vec!["below"];
    let mut above: Vec<&str> = Vec::new();
    for row in rows {
        above.truncate(row.depth);
        let still: u64 = row.spans.iter().map(|(from, until)| until - from).sum();
        table.push(vec![
            text(row.line.as_str()),
            text(above.last().copied().unwrap_or("")),
            text(human::count(row.spans.len() as u64)),
            text(human::time(Span(still))),
        ]);
        above.push(&row.line);
    }
    table
}
