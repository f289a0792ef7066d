//! `trace`: the packets of a window of time, for tools that people know.

use crate::args::{Global, TraceArgs};
use crate::cmd_run::threads;
use crate::cmd_why::{Ended, Recorded, find};
use crate::exit;
use crate::progress::{Viewer, catch_interrupts};
use crate::screen::Screen;
use results::trace::{self, Flight, Network};
use serde_json::json;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use units::{Span, Time};

pub(crate) fn run(args: &TraceArgs, global: &Global, screen: &Screen) -> i32 {
    catch_interrupts();
    match write(args, global, screen) {
        Ok(()) => exit::OK,
        Err(Ended(code)) => code,
    }
}

/// `1ms..1.1ms`.
fn window(text: &str) -> Result<Range<Time>, String> {
    let example = "write it like 1ms..1.1ms";
    let (from, until) = text
        .split_once("..")
        .ok_or_else(|| format!("--window \"{text}\" has no ..; {example}"))?;
    let moment = |text: &str| {
        let span: Result<Span, _> = text.trim().parse();
        span.map(|span| Time(span.0))
            .map_err(|e| format!("--window: {e}; {example}"))
    };
    let range = moment(from)?..moment(until)?;
    if range.is_empty() {
        return Err(format!(
            "--window \"{text}\" ends before it begins; {example}"
        ));
    }
    Ok(range)
}

/// The connections of messages.
fn conns(run: &Recorded, messages: &[u32]) -> Result<Option<Vec<u32>>, String> {
    let all = &run.assembled.traffic.messages;
    let conn = |&message: &u32| {
        let found = all.get(message as usize).map(|message| message.conn);
        found.ok_or_else(|| format!("there is no message {message}: the run has {}", all.len()))
    };
    let mut conns = messages.iter().map(conn).collect::<Result<Vec<u32>, _>>()?;
    conns.sort_unstable();
    conns.dedup();
    Ok((!conns.is_empty()).then_some(conns))
}

fn write(args: &TraceArgs, global: &Global, screen: &Screen) -> Result<(), Ended> {
    let usage = |why: String| Ended(screen.fail(exit::USAGE, &why));
    let all = Time::ZERO..Time::NEVER;
    let window = args.window.as_deref().map_or(Ok(all), window);
    let window = window.map_err(usage)?;
    let run = find(&args.run, global, screen)?;
    let conns = conns(&run, &args.flows).map_err(usage)?;
    let threads = threads(&run.assembled.scenario, global);
    let mut viewer = Viewer::new(screen, &run.assembled.scenario.name, None);
    let traced = run
        .assembled
        .trace(threads, conns, window, Time::NEVER, &mut viewer);
    viewer.finish();
    let traced = traced.map_err(|errors| Ended(screen.wrong(&errors)))?;
    run.same(traced.fingerprint, screen)?;
    let flights = trace::flights(&traced.network, &traced.events);

    let mut written = Vec::new();
    let mut file = |path: &Option<PathBuf>, fill: &Fill<'_>| -> Result<(), Ended> {
        let Some(path) = path else { return Ok(()) };
        create(path, fill).map_err(|e| {
            let why = format!("cannot write {}: {e}", path.display());
            Ended(screen.fail(exit::IO, &why))
        })?;
        written.push(path.display().to_string());
        Ok(())
    };
    let of = |write: Writer| {
        let (network, flights) = (&traced.network, &flights);
        move |out: &mut dyn Write| write(out, network, flights)
    };
    file(&args.pcapng, &of(trace::pcapng))?;
    file(&args.perfetto, &of(trace::perfetto))?;
    file(&args.dissector, &|out| {
        out.write_all(trace::DISSECTOR.as_bytes())
    })?;
    let frames: usize = flights.iter().map(|flight| flight.hops.len()).sum();
    if global.json {
        let document = json!({ "packets": flights.len(), "frames": frames, "files": written });
        screen.print(&format!("{document:#}\n"));
    } else {
        screen.say(&format!(
            "{} packets in {} frames: {}\n",
            results::human::count(flights.len() as u64),
            results::human::count(frames as u64),
            written.join(", ")
        ));
    }
    Ok(())
}

type Fill<'a> = dyn Fn(&mut dyn Write) -> io::Result<()> + 'a;
type Writer = fn(&mut dyn Write, &Network, &[Flight]) -> io::Result<()>;

fn create(path: &Path, fill: &Fill<'_>) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    fill(&mut out)?;
    out.flush()
}
