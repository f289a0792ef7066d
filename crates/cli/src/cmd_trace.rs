//! `trace` and `pcap`: the packets of a window of time, for tools that people know.

use crate::args::{Global, PacketArgs, PcapArgs, TraceArgs};
use crate::cmd_run::threads;
use crate::cmd_why::{Ended, Recorded, find};
use crate::exit;
use crate::progress::{Viewer, catch_interrupts};
use crate::screen::Screen;
use results::human;
use results::trace::{self, Flight, Life, Network};
use serde_json::json;
use std::io::{self, BufWriter, IsTerminal, Write};
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

/// A window of a run, packet by packet.
struct Trace {
    network: Network,
    flights: Vec<Flight>,
    lives: Vec<Life>,
    fingerprint: u64,
}

impl Trace {
    /// Runs the run again and keeps what was asked for.
    fn of(args: &PacketArgs, global: &Global, screen: &Screen) -> Result<Self, Ended> {
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
        if flights.is_empty() {
            let end = human::time(Span(run.summary.end_ps));
            screen.warn(&format!(
                "no packet was on a line then: the run ended at {end}"
            ));
        }
        let lives = run.assembled.lives(&traced);
        Ok(Self {
            network: traced.network,
            flights,
            lives,
            fingerprint: traced.fingerprint,
        })
    }

    fn frames(&self) -> usize {
        self.flights.iter().map(|flight| flight.hops.len()).sum()
    }

    /// What a file got.
    fn told(&self, files: &[String]) -> String {
        format!(
            "{} packets in {} frames, fingerprint {:016x}: {}\n",
            human::count(self.flights.len() as u64),
            human::count(self.frames() as u64),
            self.fingerprint,
            files.join(", ")
        )
    }

    fn say(&self, files: &[String], global: &Global, screen: &Screen) {
        if global.json {
            let (packets, frames) = (self.flights.len(), self.frames());
            let fingerprint = format!("{:016x}", self.fingerprint);
            let document = json!({
                "fingerprint": fingerprint, "packets": packets, "frames": frames, "files": files
            });
            screen.print(&format!("{document:#}\n"));
        } else {
            screen.say(&self.told(files));
        }
    }

    fn pcapng(&self, out: &mut dyn Write) -> io::Result<()> {
        trace::pcapng(out, &self.network, &self.flights)
    }
}

fn write(args: &TraceArgs, global: &Global, screen: &Screen) -> Result<(), Ended> {
    let named: Vec<_> = [&args.pcapng, &args.perfetto, &args.dissector]
        .into_iter()
        .flatten()
        .collect();
    if let Some((_, twice)) = named
        .iter()
        .enumerate()
        .find(|(n, path)| named[..*n].contains(path))
    {
        let why = format!(
            "two formats cannot stand in one file: {} is named twice",
            twice.display()
        );
        return Err(Ended(screen.fail(exit::USAGE, &why)));
    }
    let trace = Trace::of(&args.packets, global, screen)?;
    let files: [(&Option<PathBuf>, &Fill<'_>); 3] = [
        (&args.pcapng, &|out| trace.pcapng(out)),
        (&args.perfetto, &|out| {
            trace::perfetto(out, &trace.network, &trace.flights, &trace.lives)
        }),
        (&args.dissector, &|out| {
            out.write_all(trace::dissector(&global.transports.layouts()).as_bytes())
        }),
    ];
    let mut written = Vec::new();
    for (path, fill) in files {
        let Some(path) = path else { continue };
        create(path, fill, screen)?;
        written.push(path.display().to_string());
    }
    trace.say(&written, global, screen);
    Ok(())
}

pub(crate) fn pcap(args: &PcapArgs, global: &Global, screen: &Screen) -> i32 {
    catch_interrupts();
    match capture(args, global, screen) {
        Ok(()) => exit::OK,
        Err(Ended(code)) => code,
    }
}

fn capture(args: &PcapArgs, global: &Global, screen: &Screen) -> Result<(), Ended> {
    if let Some(path) = &args.pcapng {
        let trace = Trace::of(&args.packets, global, screen)?;
        create(path, &|out| trace.pcapng(out), screen)?;
        trace.say(&[path.display().to_string()], global, screen);
        return Ok(());
    }
    if io::stdout().is_terminal() || global.json {
        let why = "a capture is not for reading: pipe it (| wireshark -k -i -, or | tshark -r -), \
                   or name a file with -o FILE";
        return Err(Ended(screen.fail(exit::USAGE, why)));
    }
    let trace = Trace::of(&args.packets, global, screen)?;
    let mut out = BufWriter::new(io::stdout().lock());
    match trace.pcapng(&mut out).and_then(|()| out.flush()) {
        // The reader has seen enough.
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {}
        Err(e) => {
            let why = format!("cannot write the capture: {e}");
            return Err(Ended(screen.fail(exit::IO, &why)));
        }
        Ok(()) => {}
    }
    screen.detail(trace.told(&["standard output".to_owned()]).trim_end());
    Ok(())
}

type Fill<'a> = dyn Fn(&mut dyn Write) -> io::Result<()> + 'a;

fn create(path: &Path, fill: &Fill<'_>, screen: &Screen) -> Result<(), Ended> {
    let written = results::files::write_at(path, &mut |out| fill(out));
    written.map_err(|error| {
        let why = format!("cannot write {}: {}", path.display(), error.source);
        Ended(screen.fail(exit::IO, &why))
    })
}
