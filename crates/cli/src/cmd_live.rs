//! `run --live`: a report with the simulator inside.

use crate::args::Global;
use results::{RunRecord, Summary, Verdict};
use scenario::{Assembled, Files, Scenario};

/// What of a scenario goes into the page, so that the page can run it.
pub(crate) struct Live {
    name: String,
    text: Option<String>,
    sets: Vec<String>,
    files: Files,
}

impl Live {
    /// Takes what the page needs, and says why a page could not run the scenario.
    pub(crate) fn of(name: &str, scenario: &Scenario, global: &Global) -> Result<Self, String> {
        if web::PRODUCT.is_empty() {
            return Err(
                "this program has no engine for pages: `./tg web` in a clone makes one".into(),
            );
        }
        let known = transports::registry();
        let beside = scenario.beside.iter().map(|beside| beside.protocol);
        for transport in std::iter::once(scenario.protocol).chain(beside) {
            if known.find(transport.name()).is_none() {
                return Err(foreign("transport", transport.name()));
            }
        }
        if let Some(control) = &scenario.control {
            let name = control.kind.name();
            if known.control(name).is_none() {
                return Err(foreign("flow control", name));
            }
        }
        let files = scenario
            .files()
            .map_err(|(path, why)| format!("cannot read {}: {why}", path.display()))?;
        let mut sets = global.sets.clone();
        sets.extend(global.seed.map(|seed| format!("run.seed={seed}")));
        Ok(Self {
            name: name.to_owned(),
            text: scenario.text().map(str::to_owned),
            sets,
            files,
        })
    }

    pub(crate) fn page(
        &self,
        record: &RunRecord,
        summary: &Summary,
        verdicts: &[Verdict],
    ) -> String {
        web::live(&web::Live {
            name: &self.name,
            text: self.text.as_deref(),
            sets: &self.sets,
            files: &self.files,
            told: &web::told(record, summary, verdicts, &record.command),
        })
    }
}

fn foreign(what: &str, name: &str) -> String {
    format!(
        "--live cannot take the {what} {name} along: the engine in a page knows those of tidegate itself; leave \
         --live out, and send report.html"
    )
}

/// Why a page may find something else than this program, and what to do about it.
pub(crate) fn stale() -> Option<String> {
    web::stale().map(|why| format!("{why}; `./tg web` in a clone makes it anew"))
}

/// What the receiver of a page should know before, and who makes it.
pub(crate) fn warnings(run: &Assembled) -> Vec<String> {
    let large = (run.need() > web::MEMORY_MAX).then(|| {
        format!(
            "the page will show this run and not repeat it: it needs {}, and a page has {}",
            run.need(),
            web::MEMORY_MAX
        )
    });
    stale().into_iter().chain(large).collect()
}
