//! Who stands where in one figure: a row per group, with its interval, its distance to the best and to the optimum.

use super::{curve_name, ends, times, transports, wide};
use crate::chart::{Axis, COLOURS, per_cent};
use crate::page::{Section, markup};
use results::Unit;
use results::compare::{Better, Comparison, Group, METRICS, show};
use results::escape;
use results::stats::Interval;
use std::fmt::Write as _;

/// Bars from nothing where the numbers are near each other, dots on a logarithmic axis where they are not.
/// `optimum` is what an idle network would show.
pub(super) fn section(
    comparison: &Comparison,
    metric: usize,
    optimum: Option<f64>,
) -> Option<Section> {
    let shown = &METRICS[metric];
    let of = |group: &Group| group.figures[metric].over_seeds;
    let intervals = || comparison.groups.iter().filter_map(of);
    let (low, high) = ends(
        intervals()
            .flat_map(|i| [i.low, i.mean, i.high])
            .chain(optimum),
    )?;
    let (_, top) = ends(intervals().map(|interval| interval.mean))?;
    if top <= 0.0 {
        return None;
    }
    let title = match (shown.better, comparison.seeds_max()) {
        (Better::Neither, _) | (_, 1) => shown.title.to_owned(),
        _ => format!("{}, mean of {}", shown.title, comparison.seeds_told()),
    };
    let spread = wide(low, high) && !matches!(shown.unit, Unit::Count | Unit::Share);
    let axis = if spread {
        // The outermost keep clear of the edges.
        Axis::log(&title, shown.unit, low / 1.2, high * 1.2)
    } else {
        Axis::linear(&title, shown.unit, 0.0, high).rounded()
    };
    let mut says = vec![match shown.better {
        Better::Lower => "Lower is better.".to_owned(),
        Better::Higher => "Higher is better.".to_owned(),
        Better::Neither => "They enter other figures with the time taken so far.".to_owned(),
    }];
    if comparison.seeds_max() > 1 {
        says.push("Whiskers are the interval of the mean.".into());
    }
    if let Some(value) = optimum {
        says.push(format!(
            "Dashed: an idle network, {}.",
            shown.unit.show_figure(value)
        ));
    }
    Some(Section {
        id: shown.id.into(),
        title: shown.heading.into(),
        says: says.join(" "),
        body: markup(rows(comparison, metric, &axis, spread, optimum)),
        points: comparison.groups.len(),
        table: None,
        fold: "",
        wide: false,
    })
}

fn rows(
    comparison: &Comparison,
    metric: usize,
    axis: &Axis,
    spread: bool,
    optimum: Option<f64>,
) -> String {
    let names = transports(comparison);
    let places = comparison.judged().len() > 1;
    let mut out = String::from("<div class=\"standings\">");
    let mut last: Option<&Group> = None;
    for group in &comparison.groups {
        let own = names.iter().position(|&name| name == group.transport);
        // With more transports than colours a colour would name two.
        let colour = own.filter(|_| names.len() <= COLOURS).unwrap_or(0);
        if places && last.is_none_or(|last| last.settings != group.settings) {
            let _ = write!(out, "<div class=\"place\">{}</div>", escape(&group.place()));
        }
        last = Some(group);
        let name = if places {
            escape(&group.transport)
        } else {
            escape(&curve_name(group, None))
        };
        let _ = write!(
            out,
            "<div class=\"name\" title=\"{name}\">{name}</div><div class=\"lane\">"
        );
        if let Some(value) = optimum {
            let at = per_cent(axis.at(value));
            let _ = write!(out, "<u style=\"left:{at}%\"></u>");
        }
        if let Some(interval) = group.figures[metric].over_seeds {
            lane(&mut out, &interval, axis, spread, colour);
        }
        let told = show(&METRICS[metric], &group.figures[metric]).replace(">=", "≥");
        let best = if comparison.is_best(group, metric) {
            " best"
        } else {
            ""
        };
        let ratio = ratio(comparison, group, metric);
        let ratio = ratio.map_or(String::new(), |text| format!("<small>{text}</small>"));
        let _ = write!(
            out,
            "</div><div class=\"value{best}\">{}{ratio}</div>",
            escape(&told)
        );
    }
    let many = if axis.ticks().len() > 2 { " many" } else { "" };
    let _ = write!(
        out,
        "<div class=\"name\"></div><div class=\"xs{many}\" aria-hidden=\"true\">{}</div><div></div>\
         <div class=\"xtitle\">{}</div></div>",
        axis.labels("left"),
        axis.titled()
    );
    out
}

/// A bar or a dot, and how far its seeds lie apart.
fn lane(out: &mut String, interval: &Interval, axis: &Axis, spread: bool, colour: usize) {
    let at = |value: f64| per_cent(axis.at(value));
    let mean = at(interval.mean);
    if spread {
        let _ = write!(
            out,
            "<i class=\"dot c{colour}\" style=\"left:{mean}%\"></i>"
        );
    } else {
        let _ = write!(
            out,
            "<i class=\"fill c{colour}\" style=\"width:{mean}%\"></i>"
        );
    }
    if interval.high > interval.low {
        let width = per_cent(axis.at(interval.high) - axis.at(interval.low));
        let low = at(interval.low);
        let _ = write!(out, "<b style=\"left:{low}%;width:{width}%\"></b>");
    }
}

/// How many times the best of its rivals, or which share of it.
fn ratio(comparison: &Comparison, group: &Group, metric: usize) -> Option<String> {
    let mean = |group: &Group| {
        group.figures[metric]
            .over_seeds
            .map(|interval| interval.mean)
    };
    let own = mean(group)?;
    let rivals = comparison.rivals(group).filter_map(mean);
    match METRICS[metric].better {
        Better::Lower => times(own, rivals.reduce(f64::min).filter(|&best| best > 0.0)?),
        Better::Higher => {
            let best = rivals.reduce(f64::max).filter(|&best| best > own)?;
            let share = results::human::percent(own / best);
            (share != results::human::percent(1.0)).then(|| format!("{share} of the best"))
        }
        Better::Neither => None,
    }
}
