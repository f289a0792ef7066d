//! Requests in JSON, answers in JSON: what there is, what follows from a scenario, a run, and why a
//! message of it took so long.

use crate::network::{self, size};
use results::human;
use results::stats::Figure;
use results::{FlowRow, RunRecord, Style, Summary, Verdict};
use scenario::{Assembled, Errors, Files, Request, Scenario, Watch};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;
use units::{Bytes, Rate, Span, Time};

/// Memory that a run in a page may take: half of what 32 bits address, because answers need room, too.
/// [ours]
pub const MEMORY_MAX: Bytes = Bytes(2_000_000_000);
/// A hash of what this engine is made of; `cargo xtask sources` prints it.
pub const SOURCES: &str = env!("TIDEGATE_SOURCES");
/// Messages of the table of the slowest. [ours]
const SLOWEST: usize = 200;
/// Points of a distribution. [ours]
const POINTS: usize = 200;
/// Lines of a ladder as text. [ours: as `why`]
const LADDER: usize = 40;

/// Answers requests, and keeps the last run for questions about its messages.
#[derive(Default)]
pub struct Engine {
    last: Option<Run>,
}

struct Run {
    assembled: Assembled,
    record: RunRecord,
    summary: Summary,
}

/// What a page asks for: a scenario by name or as text, and settings on top.
struct Asked {
    name: String,
    text: Option<String>,
    sets: Vec<String>,
    /// Files that come along with it; none are asked for where nothing came.
    files: Option<Arc<Files>>,
}

impl Engine {
    /// Answers one request.
    ///
    /// A request is an object: `ask` is `about`, `check`, `run` or `why`. `check` and `run` take `name`, a
    /// built-in scenario or the name of `text`, and `sets`, a list of `key=value`, and `files`, texts by the paths
    /// that the scenario names; `why` takes `message`, a number of the last run. An answer that has `error` has nothing else but, for a scenario, `places`.
    pub fn answer(&mut self, request: &str, watch: &mut dyn Watch) -> String {
        let answer = match serde_json::from_str::<Value>(request) {
            Err(wrong) => Err(json!({ "error": format!("the request is no JSON: {wrong}") })),
            Ok(request) => match request["ask"].as_str().unwrap_or_default() {
                "about" => Ok(about()),
                "check" => check(&Asked::of(&request)),
                "run" => self.run(&Asked::of(&request), watch),
                "why" => self.why(&request["message"], watch),
                other => Err(json!({ "error": format!(
                    "a page asks for about, check, run or why, not for \"{other}\""
                ) })),
            },
        };
        answer.unwrap_or_else(|error| error).to_string()
    }

    fn run(&mut self, asked: &Asked, watch: &mut dyn Watch) -> Result<Value, Value> {
        let assembled = asked.assemble()?;
        let conditions = assembled.scenario.conditions().map_err(wrong)?;
        // What is refused leaves the run before it; two runs at once would take the memory of both.
        self.last = None;
        let command = asked.command("run");
        let (mut record, seen) = assembled.run_traced(1, &command, watch).map_err(wrong)?;
        let mut summary = Summary::of(&record);
        let verdicts: Vec<Verdict> = conditions.iter().map(|c| c.judge(&summary)).collect();
        assembled.explain_slowest(&mut record, &mut summary, seen, 1, watch);
        let answer = told(&record, &summary, &verdicts, &command);
        self.last = Some(Run {
            assembled,
            record,
            summary,
        });
        Ok(answer)
    }

    fn why(&mut self, message: &Value, watch: &mut dyn Watch) -> Result<Value, Value> {
        let error = |text: String| json!({ "error": text });
        let Some(run) = &mut self.last else {
            return Err(error("run a scenario first".into()));
        };
        let count = run.assembled.traffic.messages.len();
        let number = message.as_u64().and_then(|n| u32::try_from(n).ok());
        let Some(number) = number.filter(|&n| (n as usize) < count) else {
            let text = format!("there is no message {message}: the run has {count}, from 0 on");
            return Err(error(text));
        };
        let again = run
            .assembled
            .explain(1, &[number], Time::ZERO, Time::NEVER, watch);
        let (mut found, traced) = again.map_err(wrong)?;
        assert_eq!(
            traced.fingerprint, run.record.fingerprint,
            "the run again is the run"
        );
        let Some(why) = found.pop() else {
            let text = format!(
                "message {number} never began: its time comes after the end of the run, or what it waits for did not happen"
            );
            return Err(error(text));
        };
        let (sentence, text) = (why.sentence(), why.text(LADDER, Style::PLAIN));
        run.record.why = vec![why];
        Ok(json!({
            "message": number,
            "sentence": sentence,
            "text": text,
            "report": report::of_why(&run.record, &run.summary),
        }))
    }
}

/// What a page is told of a run, whoever ran it.
pub fn told(record: &RunRecord, summary: &Summary, verdicts: &[Verdict], command: &str) -> Value {
    let (times, ended) = distribution(record);
    let all = summary.all();
    let late = (all.unfinished > 0).then(|| {
        let [late, of] = [all.unfinished, all.messages].map(human::count);
        format!("{late} of {of}")
    });
    json!({
        "fingerprint": summary.fingerprint,
        "command": command,
        "transport": summary.transport,
        "status": summary.status,
        "title": summary.title,
        "warnings": summary.warnings,
        "cells": cells(summary),
        "fct": times,
        "ended": ended,
        "unfinished": late,
        "slowest": slowest(record),
        "messages": record.flows.len(),
        "motion": report::motion(record),
        "report": report::of_run(record, summary, verdicts),
    })
}

impl Asked {
    fn of(request: &Value) -> Self {
        let sets = request["sets"].as_array().map(Vec::as_slice);
        let sets = sets.unwrap_or_default().iter();
        let files = request["files"].as_object().map(|files| {
            let texts = files
                .iter()
                .filter_map(|(path, text)| Some((path.clone(), text.as_str()?.to_owned())));
            Arc::new(texts.collect())
        });
        Self {
            name: request["name"].as_str().unwrap_or("incast").to_owned(),
            text: request["text"].as_str().map(str::to_owned),
            sets: sets
                .filter_map(|set| Some(set.as_str()?.to_owned()))
                .collect(),
            files,
        }
    }

    fn load(&self) -> Result<Scenario, Errors> {
        match (&self.text, &self.files) {
            (text, Some(files)) => {
                scenario::load_files(&self.name, text.as_deref(), &self.sets, files)
            }
            (Some(text), None) => scenario::load_text(&self.name, text, &self.sets),
            (None, None) => scenario::load(&Request {
                from: &self.name,
                sets: &self.sets,
            }),
        }
    }

    fn assemble(&self) -> Result<Assembled, Value> {
        let assembled = self.load().and_then(|mut scenario| {
            scenario.memory_limit = Some(MEMORY_MAX);
            scenario.assemble()
        });
        assembled.map_err(wrong)
    }

    /// The command that does the same outside.
    fn command(&self, verb: &str) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+:,%".contains(c);
        let mut command = format!("tidegate {verb}");
        let words = self.sets.iter().flat_map(|set| ["--set", set]);
        for word in std::iter::once(self.name.as_str()).chain(words) {
            command.push(' ');
            if !word.is_empty() && word.chars().all(plain) {
                command.push_str(word);
            } else {
                let _ = write!(command, "'{}'", word.replace('\'', "'\\''"));
            }
        }
        command
    }
}

/// What is wrong with a scenario, as text and by place.
#[expect(
    clippy::needless_pass_by_value,
    reason = "it is what map_err hands over"
)]
fn wrong(errors: Errors) -> Value {
    let places: Vec<Value> = errors
        .0
        .iter()
        .map(|d| {
            let place = d.origin.as_ref().map(|origin| {
                let (line, column) = origin.line_column();
                json!([line, column, origin.source.name])
            });
            json!({ "message": d.message, "help": d.help, "at": place })
        })
        .collect();
    json!({ "error": errors.render(false), "places": places })
}

fn about() -> Value {
    let registry = transports::registry();
    let transports: Vec<Value> = registry
        .iter()
        .map(|t| json!([t.name(), t.summary()]))
        .collect();
    let scenarios: Vec<Value> = scenario::builtin::all()
        .iter()
        .map(|b| json!([b.name, b.summary(), b.text]))
        .collect();
    let sizes: Vec<&str> = workload::sizes::BUILTINS.iter().map(|b| b.name).collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "sources": SOURCES,
        "transports": transports,
        "scenarios": scenarios,
        "sizes": sizes,
        "schema": scenario::json_schema(&registry),
        "keys": scenario::known_names(&registry),
    })
}

fn check(asked: &Asked) -> Result<Value, Value> {
    let run = asked.assemble()?;
    let figures: Vec<[String; 2]> = run
        .figures()
        .into_iter()
        .map(|figure| [figure.name, figure.value])
        .collect();
    let resolved: toml::Table = run.scenario.resolved_toml().parse().expect("we wrote it");
    Ok(json!({
        "title": run.title,
        "transport": run.scenario.protocol.name(),
        "figures": figures,
        "warnings": run.warnings,
        "hosts": run.topology.hosts,
        "resolved": resolved,
        "command": asked.command("run"),
        "seconds": run.seconds(),
        "memory": run.need().0,
        "network": network::drawing(&run),
    }))
}

/// `>= 12 us`.
fn bounded<T>(figure: Figure<T>, show: impl Fn(T) -> String) -> String {
    let bound = if figure.at_least { "≥ " } else { "" };
    format!("{bound}{}", show(figure.value))
}

/// What a table says of a run, and the numbers behind those of which the least is the best.
fn cells(summary: &Summary) -> Value {
    let all = summary.all();
    let mut cells = serde_json::Map::new();
    let mut cell = |name: &str, text: String, number: Option<f64>| {
        cells.insert(name.to_owned(), json!([text, number]));
    };
    let span = |f: Figure<u64>| bounded(f, |ps| human::time(Span(ps)));
    if let Some(times) = &all.fct_ps {
        for (name, f) in [("p50", times.p50), ("p99", times.p99), ("max", times.max)] {
            cell(name, span(f), Some(f.value as f64));
        }
    }
    if let Some(slow) = &all.slowdown {
        let f = slow.p99;
        cell("slowdown p99", bounded(f, human::ratio), Some(f.value));
    }
    if let Some(queue) = &summary.queue_max {
        cell("max queue", size(queue.bytes), Some(queue.bytes as f64));
    }
    let dropped = summary.drops.data;
    cell("drops", human::count(dropped), Some(dropped as f64));
    if let Some(goodput) = summary.goodput {
        // The least is the best: the most, below zero.
        let text = human::rate(Rate(goodput.bps));
        cell("goodput", text, Some(-(goodput.bps as f64)));
    }
    let unfinished = all.unfinished;
    if unfinished > 0 {
        cell(
            "unfinished",
            human::count(unfinished),
            Some(unfinished as f64),
        );
    }
    Value::Object(cells)
}

/// Completion times at equal steps of the distribution, in picoseconds, the first and the last included; of those that
/// finished, and their share of all.
fn distribution(run: &RunRecord) -> (Vec<u64>, f64) {
    let counted = run
        .flows
        .iter()
        .filter(|flow| results::counts(flow, &run.window));
    let took: Vec<Figure<u64>> = counted
        .filter_map(|flow| results::fct(flow, run.end))
        .collect();
    let finished = took.iter().filter(|took| !took.at_least);
    let mut times: Vec<u64> = finished.map(|took| took.value).collect();
    times.sort_unstable();
    let share = times.len() as f64 / took.len().max(1) as f64;
    let Some(last) = times.len().checked_sub(1) else {
        return (times, share);
    };
    let points = POINTS.min(last.max(1));
    let steps = (0..=points).map(|i| times[last * i / points]);
    (steps.collect(), share)
}

/// The slowest messages by slowdown, then by number: number, from, to, size, start, how long it took,
/// slowdown, tag.
fn slowest(run: &RunRecord) -> Vec<Value> {
    let names = run.names();
    let mut rows: Vec<(Figure<f64>, Figure<u64>, &FlowRow)> = run
        .flows
        .iter()
        .filter(|flow| results::counts(flow, &run.window))
        .filter_map(|flow| {
            Some((
                results::slowdown(flow, run.end)?,
                results::fct(flow, run.end)?,
                flow,
            ))
        })
        .collect();
    rows.sort_by(|a, b| {
        b.0.value
            .total_cmp(&a.0.value)
            .then(a.2.message.cmp(&b.2.message))
    });
    rows.truncate(SLOWEST);
    let row = |(slow, took, flow): &(Figure<f64>, Figure<u64>, &FlowRow)| {
        let start = flow.start.map_or(Span::ZERO, |at| at.since(Time::ZERO));
        json!([
            flow.message,
            run.host(flow.src),
            run.host(flow.dst),
            size(flow.size),
            human::time(start),
            bounded(*took, |ps| human::time(Span(ps))),
            bounded(*slow, human::ratio),
            names.tag(flow),
        ])
    };
    rows.iter().map(row).collect()
}
