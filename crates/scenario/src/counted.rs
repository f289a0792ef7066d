//! The window of time in which ports are counted apart: as it is asked for, and as far as the run went.

use crate::assemble::Assembled;
use crate::diagnostic::Diagnostic;
use crate::resolve::Scenario;
use crate::settings::Run;
use results::{Counted, human};
use sim::Outcome;
use std::ops::Range;
use units::{Span, Time};

/// When a run ends at the latest.
pub(crate) fn latest(run: &Run) -> Time {
    let limit = Time(run.until.0);
    match (run.window, run.drain) {
        (Some(window), Some(drain)) => {
            limit.min(Time::ZERO.after(run.warmup).after(window).after(drain))
        }
        _ => limit,
    }
}

/// When ports are counted apart. A window that begins when the run is over for sure is refused.
pub(crate) fn window(scenario: &Scenario) -> Result<Option<Range<Time>>, Vec<Diagnostic>> {
    let output = &scenario.output;
    let problem = |what: String| output.section.problem("window", what);
    let latest = latest(&scenario.run);
    match output.window.as_deref() {
        None => Ok(None),
        Some(&[from, until]) if from < until && from.0 >= latest.0 => {
            let what = format!(
                "the window begins at {from}, and the run ends at {}",
                Span(latest.0)
            );
            let help = "choose a window before that end, or let the run last longer with run.until";
            Err(vec![problem(what).help(help)])
        }
        Some(&[from, until]) if from < until => Ok(Some(Time(from.0)..Time(until.0))),
        Some(_) => {
            let wrong = problem("a window has a beginning and a later end".into());
            Err(vec![wrong.help("write it like [\"100ms\", \"300ms\"]")])
        }
    }
}

impl Assembled {
    /// What ports counted in the window, as far as the run went; and what to say where it did not go to the window's end.
    pub(crate) fn counted(&self, outcome: &Outcome) -> (Option<Counted>, Option<String>) {
        let Some(asked) = self.probes.window.clone() else {
            return (None, None);
        };
        let end = self.end(outcome);
        let shown = human::time(Span(end.0));
        if end <= asked.start {
            let from = Span(asked.start.0);
            let told = format!(
                "output.window begins at {from}, and the run was over at {shown}: no port is counted apart"
            );
            return (None, Some(told));
        }
        let window = asked.start..asked.end.min(end);
        let told = (window.end < asked.end).then(|| {
            let until = Span(asked.end.0);
            format!(
                "output.window lasts until {until}, and the run was over at {shown}: ports are counted until then"
            )
        });
        let ports = self.port_rows(&outcome.counted, &window);
        (Some(Counted { window, ports }), told)
    }
}

#[cfg(test)]
mod tests {
    use crate::load_text;

    #[test]
    fn a_window_that_begins_when_the_run_is_over_is_refused() {
        let said = |sets: &[&str]| {
            let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
            let text = "[workload]\nkind = \"incast\"\n";
            let run = load_text("w", text, &sets).and_then(crate::Scenario::assemble);
            run.err().map(|errors| errors.render(false))
        };
        let window = "output.window=[\"3ms\", \"4ms\"]";
        let late = said(&[window, "run.until=3ms"]).unwrap_or_default();
        assert!(
            late.contains("the window begins at 3ms, and the run ends at 3ms"),
            "{late}"
        );
        assert_eq!(said(&[window, "run.until=3001us"]), None);
    }
}
