//! `tidegate bench`: how fast the simulator is, by instructions and by the clock.
//!
//! Every measurement is a process of its own, so that memory is its own and runs can be taken in
//! turn with another program's. Instructions are counted by callgrind over two lengths of a run, so
//! that set-up subtracts away; they are what the gate looks at, because they do not depend on who
//! else uses the machine. Set-up has workloads of its own, which are counted per host.

use crate::args::{BenchArgs, Global};
use crate::exit;
use crate::screen::Screen;
use model::Encap;
use results::stats::median;
use scenario::bench::{self, CASES, Case, Per, Sized};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::process::{Command, Stdio};
use transports::{Registry, Transport};
use units::Bytes;

/// Lengths of the two runs whose difference counts instructions, in percent of a full run: both
/// beyond the first round trips, so that the difference is the steady state.
const SHORT_PERCENT: u64 = 20;
const LONG_PERCENT: u64 = 50;
/// The longest message that can be asked for: 1024 of them keep this machine busy for an hour. [ours]
const SIZE_MAX: Bytes = Bytes(10_000_000_000);
/// The gate lets this share of instructions go, in percent: another compiler's or allocator's.
const SLACK_PERCENT: f64 = 3.0;

/// One measured pair of workload and transport.
struct Row {
    case: &'static Case,
    transport: &'static str,
    /// Packet-hops, or hosts where these are what costs are counted by.
    hops: u64,
    ns_per_hop: Vec<f64>,
    instructions: Option<f64>,
    kib_per_host: f64,
    /// Nanoseconds per hop of the other program, run by run.
    other: Vec<f64>,
}

/// What one run in a process of its own says.
struct Sample {
    hops: u64,
    seconds: f64,
    rss_kib: u64,
    hosts: u32,
}

/// Runs the command.
pub(crate) fn run(args: &BenchArgs, global: &Global, screen: &Screen) -> i32 {
    if let Some(name) = &args.single {
        return single(name, args, global, screen);
    }
    let limits = args
        .gate
        .as_deref()
        .map(|path| limits(path, &global.transports));
    let measured = limits.transpose().and_then(|limits| {
        let rows = measure_all(args, limits.as_deref(), global, screen)?;
        Ok((limits, rows))
    });
    match measured {
        Ok((limits, rows)) => {
            screen.print(&if global.json {
                document(&rows)
            } else {
                table(&rows)
            });
            gate(limits.as_deref().unwrap_or_default(), &rows, screen)
        }
        Err((code, why)) => screen.fail(code, &why),
    }
}

type Failure = (i32, String);

fn chosen(
    args: &BenchArgs,
    known_transports: &Registry,
) -> Result<(Vec<&'static Case>, Vec<&'static dyn Transport>), Failure> {
    let known: Vec<_> = CASES.iter().map(|case| case.name).collect();
    let unknown = |name: &String| {
        (
            exit::USAGE,
            format!("no workload \"{name}\"; there are {}", known.join(", ")),
        )
    };
    let cases: Vec<&Case> = if args.cases.is_empty() {
        CASES.iter().collect()
    } else {
        let find = |name: &String| bench::find(name).ok_or_else(|| unknown(name));
        args.cases.iter().map(find).collect::<Result<_, _>>()?
    };
    let transports = args.transports.iter().map(|name| {
        known_transports.find(name).ok_or_else(|| {
            (
                exit::USAGE,
                format!("no transport \"{name}\"; see tidegate list transports"),
            )
        })
    });
    if let Some(case) = cases
        .iter()
        .find(|case| args.size.is_some() && !case.is_sized())
    {
        let why = format!(
            "--size: {} has messages of many lengths; name workloads that have one for all",
            case.name
        );
        return Err((exit::USAGE, why));
    }
    if args.gate.is_some() && (args.size.is_some() || args.mtu.is_some()) {
        let why = "--gate: its limits are for the workloads' own frames and messages; leave --mtu and --size out";
        return Err((exit::USAGE, why.to_owned()));
    }
    sized(args)?;
    Ok((cases, transports.collect::<Result<_, _>>()?))
}

/// The frames and messages that are asked for.
fn sized(args: &BenchArgs) -> Result<Sized, Failure> {
    let mtu = args.mtu.map(|mtu| Encap::PAPER.with_mtu(mtu.get()));
    let encap = mtu.unwrap_or(Ok(Encap::PAPER));
    let encap = encap.map_err(|why| (exit::USAGE, format!("--mtu cannot be used: {why}")))?;
    if args
        .size
        .is_some_and(|size| size.get() == 0 || size > SIZE_MAX)
    {
        let why = format!("--size: a message has 1B to {SIZE_MAX}");
        return Err((exit::USAGE, why));
    }
    let message = args.size.map(Bytes::get);
    Ok(Sized { encap, message })
}

/// Measures what was asked for, and where there are limits, only what they are about.
fn measure_all(
    args: &BenchArgs,
    limits: Option<&[Limit]>,
    global: &Global,
    screen: &Screen,
) -> Result<Vec<Row>, Failure> {
    let (cases, transports) = chosen(args, &global.transports)?;
    let mut rows = Vec::new();
    for case in cases {
        for transport in &transports {
            let about = |limit: &Limit| limit.is_about(case.name, transport.name());
            if limits.is_some_and(|limits| !limits.iter().any(about)) {
                continue; // the gate says nothing of it
            }
            screen.detail(&format!(
                "{}, {}: {}",
                case.name,
                transport.name(),
                case.what
            ));
            rows.push(measure(case, transport.name(), args, global)?);
        }
    }
    Ok(rows)
}

fn measure(
    case: &'static Case,
    transport: &'static str,
    args: &BenchArgs,
    global: &Global,
) -> Result<Row, Failure> {
    let mut row = Row {
        case,
        transport,
        hops: 0,
        ns_per_hop: Vec::new(),
        instructions: None,
        kib_per_host: 0.0,
        other: Vec::new(),
    };
    for _ in 0..args.rounds {
        let sample = sample(case, transport, 100, (args, global), &[])?;
        row.hops = match case.per {
            Per::Hop => sample.hops,
            Per::Host => sample.hosts.into(),
        };
        row.ns_per_hop.push(sample.seconds * 1e9 / row.hops as f64);
        row.kib_per_host = sample.rss_kib as f64 / f64::from(sample.hosts);
        if let Some(other) = &args.against {
            row.other.push(against(other)?);
        }
    }
    if args.instructions || args.gate.is_some() {
        row.instructions = Some(instructions(case, transport, (args, global))?);
    }
    Ok(row)
}

fn sample(
    case: &Case,
    transport: &str,
    percent: u64,
    asked: (&BenchArgs, &Global),
    before: &[&str],
) -> Result<Sample, Failure> {
    let (text, _) = child(case, transport, percent, asked, before)?;
    let number = |key: &str| text.get(key).and_then(Value::as_f64);
    let read = || {
        Some(Sample {
            hops: text.get("hops")?.as_u64()?,
            seconds: number("seconds")?,
            rss_kib: text.get("rss_kib")?.as_u64()?,
            hosts: u32::try_from(text.get("hosts")?.as_u64()?).ok()?,
        })
    };
    read().ok_or_else(|| (exit::BROKEN, format!("a measurement said {text}")))
}

/// Runs one measurement in a process of its own; returns what it said and what it complained of.
fn child(
    case: &Case,
    transport: &str,
    percent: u64,
    (args, global): (&BenchArgs, &Global),
    before: &[&str],
) -> Result<(Value, String), Failure> {
    let program =
        crate::itself().map_err(|e| (exit::IO, format!("cannot find this program: {e}")))?;
    let program: Vec<_> = program.iter().map(|word| word.to_string_lossy()).collect();
    let mut words: Vec<&str> = before.to_vec();
    words.extend(program.iter().map(AsRef::as_ref));
    words.extend(["bench", "--single", case.name, "--transport", transport]);
    let (percent, threads) = (percent.to_string(), global.jobs.unwrap_or(1).to_string());
    words.extend(["--percent", &percent, "--jobs", &threads]);
    let [mtu, size] = [("mtu", args.mtu), ("size", args.size)]
        .map(|(key, given)| given.map(|bytes| format!("--{key}={}B", bytes.get())));
    words.extend(mtu.iter().chain(&size).map(String::as_str));
    let run = Command::new(words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .output();
    let output = run.map_err(|e| (exit::IO, format!("cannot start {}: {e}", words[0])))?;
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err((
            exit::BROKEN,
            format!("{}, {transport} failed: {complaints}", case.name),
        ));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let said =
        serde_json::from_str(text.trim()).map_err(|e| (exit::BROKEN, format!("{e} in {text}")))?;
    Ok((said, complaints))
}

/// Instructions per packet-hop, set-up left out; or those of the set-up per host.
fn instructions(
    case: &Case,
    transport: &str,
    asked: (&BenchArgs, &Global),
) -> Result<f64, Failure> {
    let count = |percent| {
        let callgrind = [
            "valgrind",
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
        ];
        let (said, complaints) = child(case, transport, percent, asked, &callgrind).map_err(|(code, why)| {
            let missing = "instructions are counted by valgrind; install it: sudo apt-get install valgrind";
            (code, format!("{why}\n{missing}"))
        })?;
        let collected = complaints
            .lines()
            .find_map(|line| line.split("Collected : ").nth(1));
        let instructions = collected.and_then(|n| n.trim().parse::<f64>().ok());
        let hops = match case.per {
            Per::Hop => said.get("hops").and_then(Value::as_f64),
            Per::Host if percent == 0 => Some(0.0),
            Per::Host => said.get("hosts").and_then(Value::as_f64),
        };
        instructions
            .zip(hops)
            .ok_or_else(|| (exit::BROKEN, format!("callgrind said {complaints}")))
    };
    let (short, long) = match case.per {
        Per::Hop => (SHORT_PERCENT, LONG_PERCENT),
        Per::Host => (0, 100), // a process that does nothing, and one that builds everything
    };
    let (short, long) = (count(short)?, count(long)?);
    Ok((long.0 - short.0) / (long.1 - short.1))
}

/// Nanoseconds per packet-hop of another program, which prints its packet-hops.
fn against(command: &str) -> Result<f64, Failure> {
    let start = now();
    let output = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .output();
    let seconds = now().duration_since(start).as_secs_f64();
    let output = output.map_err(|e| (exit::IO, format!("cannot run {command}: {e}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let hops = hops_in(&text).filter(|_| output.status.success());
    let hops = hops.ok_or_else(|| {
        let wanted = "it must end well and print a number followed by \"packet-hops\" or \"hops\"";
        (exit::USAGE, format!("`{command}`: {wanted}"))
    })?;
    Ok(seconds * 1e9 / hops)
}

/// The last number in `text` before the word hops or packet-hops.
fn hops_in(text: &str) -> Option<f64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_hops = |word: &str| {
        matches!(
            word.trim_end_matches([',', '.', ';']),
            "hops" | "packet-hops"
        )
    };
    let number = |word: &str| word.replace([',', '_'], "").parse::<f64>().ok();
    words
        .windows(2)
        .rev()
        .find_map(|pair| number(pair[0]).filter(|_| is_hops(pair[1])))
}

#[allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

/// One measurement, in this process.
fn single(name: &str, args: &BenchArgs, global: &Global, screen: &Screen) -> i32 {
    let (Some(case), Some(transport)) = (
        bench::find(name),
        args.transports
            .first()
            .and_then(|name| global.transports.find(name)),
    ) else {
        return screen.fail(exit::USAGE, "no such workload or transport");
    };
    let start = now();
    if case.per == Per::Host && args.percent == 0 {
        screen.print(&format!("{}\n", json!({ "hops": 0, "hosts": 0 })));
        return exit::OK;
    }
    let sized = match sized(args) {
        Ok(sized) => sized,
        Err((code, why)) => return screen.fail(code, &why),
    };
    let (hosts, outcome) = case.run(transport, args.percent, global.jobs.unwrap_or(1), sized);
    let seconds = now().duration_since(start).as_secs_f64();
    if let Err(why) = outcome.conservation {
        return screen.fail(exit::BROKEN, &why);
    }
    if outcome.unfinished > 0 && case.per == Per::Hop {
        return screen.fail(
            exit::BROKEN,
            &format!("{} messages did not finish", outcome.unfinished),
        );
    }
    let said = json!({
        "hops": outcome.hops,
        "seconds": seconds,
        "rss_kib": scenario::memory_held(),
        "hosts": hosts,
        "fingerprint": format!("{:016x}", outcome.fingerprint),
    });
    screen.print(&format!("{said}\n"));
    exit::OK
}

/// How many times slower the other program is: the median of the ratios, pair by pair.
fn ratio(row: &Row) -> Option<f64> {
    let pairs = row.other.iter().zip(&row.ns_per_hop);
    median(&pairs.map(|(other, ours)| other / ours).collect::<Vec<_>>())
}

fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<18} {:<22} {:>12} {:>10} {:>10} {:>12} {:>10} {:>10}\n",
        "workload", "transport", "hops", "ns/hop", "Mhops/s", "instr./hop", "KiB/host", "against"
    );
    for row in rows {
        let ns = median(&row.ns_per_hop).unwrap_or(f64::NAN);
        let optional = |value: Option<f64>, digits, unit| {
            value.map_or("-".to_owned(), |value| format!("{value:.digits$}{unit}"))
        };
        let _ = writeln!(
            text,
            "{:<18} {:<22} {:>12} {:>10.1} {:>10.2} {:>12} {:>10.1} {:>10}",
            row.case.name,
            row.transport,
            row.hops,
            ns,
            1e3 / ns,
            optional(row.instructions, 1, ""),
            row.kib_per_host,
            optional(ratio(row), 1, "x"),
        );
    }
    text
}

fn document(rows: &[Row]) -> String {
    let rows: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({
                "workload": row.case.name,
                "transport": row.transport,
                "per": match row.case.per {
                    Per::Hop => "hop",
                    Per::Host => "host",
                },
                "hops": row.hops,
                "ns_per_hop": row.ns_per_hop,
                "instructions_per_hop": row.instructions,
                "kib_per_host": row.kib_per_host,
                "against_ns_per_hop": row.other,
                "against_ratio": ratio(row),
            })
        })
        .collect();
    format!("{}\n", json!({ "schema": 1, "rows": rows }))
}

/// One line of a gate file: `workload transport 300`, or `workload transport 2x other-workload`.
struct Limit {
    case: String,
    transport: String,
    /// Instructions per hop, or times those of `than`.
    most: f64,
    than: Option<String>,
}

impl Limit {
    /// Reads a line; `None` where it is empty.
    fn parse(line: &str) -> Result<Option<Self>, &'static str> {
        const WANTED: &str = "a line is \"workload transport instructions-per-hop\" or \
                              \"workload transport Nx other-workload\"";
        let words: Vec<_> = line
            .split('#')
            .next()
            .unwrap_or("")
            .split_whitespace()
            .collect();
        let (case, transport, most, than) = match words[..] {
            [] => return Ok(None),
            [case, transport, most] => (case, transport, most, None),
            [case, transport, times, than] => (
                case,
                transport,
                times.strip_suffix('x').ok_or(WANTED)?,
                Some(than.to_owned()),
            ),
            _ => return Err(WANTED),
        };
        let most = most.parse().map_err(|_| WANTED)?;
        Ok(Some(Self {
            case: case.to_owned(),
            transport: transport.to_owned(),
            most,
            than,
        }))
    }

    /// Whether it needs to know what that workload costs with that transport.
    fn is_about(&self, case: &str, transport: &str) -> bool {
        self.transport == transport && (self.case == case || self.than.as_deref() == Some(case))
    }

    /// What the rows have against it; nothing where it is kept, or is about what was not asked for.
    fn judge(&self, rows: &[Row]) -> Option<String> {
        let count = |case: &str| {
            let of = |row: &&Row| row.case.name == case && row.transport == self.transport;
            rows.iter().find(of).and_then(|row| row.instructions)
        };
        let found = count(&self.case)?;
        let (most, slack, what) = match &self.than {
            None => (
                self.most,
                1.0 + SLACK_PERCENT / 100.0,
                format!("at most {} (+{SLACK_PERCENT} %)", self.most),
            ),
            Some(than) => (
                self.most * count(than)?,
                1.0,
                format!("at most {} times those of {than}", self.most),
            ),
        };
        let (case, transport) = (&self.case, &self.transport);
        (found > most * slack).then(|| {
            format!("{case}, {transport}: {found:.1} instructions per hop or host, {what}")
        })
    }
}

/// The limits of a file.
fn limits(path: &std::path::Path, known: &Registry) -> Result<Vec<Limit>, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| (exit::IO, format!("{}: {error}", path.display())))?;
    let mut limits = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let limit = Limit::parse(line).and_then(|limit| match limit {
            Some(limit) if bench::find(&limit.case).is_none() => Err("no such workload"),
            Some(limit) if known.find(&limit.transport).is_none() => Err("no such transport"),
            limit => Ok(limit),
        });
        let limit =
            limit.map_err(|why| (exit::USAGE, format!("{}:{number}: {why}", path.display())))?;
        limits.extend(limit);
    }
    Ok(limits)
}

/// Compares instructions with limits.
fn gate(limits: &[Limit], rows: &[Row], screen: &Screen) -> i32 {
    let over: Vec<_> = limits
        .iter()
        .filter_map(|limit| limit.judge(rows))
        .collect();
    if over.is_empty() {
        exit::OK
    } else {
        screen.fail(exit::THRESHOLD, &over.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_programs_hops_are_the_last_number_before_the_word() {
        assert_eq!(
            hops_in("10 hops so far\nin all 1,234,567 packet-hops, 3 s"),
            Some(1_234_567.0)
        );
        assert_eq!(hops_in("no number of hops"), None);
    }

    #[test]
    fn a_ratio_is_taken_pair_by_pair() {
        let mut row = Row {
            case: &CASES[0],
            transport: "dctcp",
            hops: 1,
            ns_per_hop: vec![10.0, 20.0, 10.0],
            instructions: None,
            kib_per_host: 0.0,
            other: vec![100.0, 100.0, 300.0],
        };
        assert_eq!(ratio(&row), Some(10.0));
        row.other.clear();
        assert_eq!(ratio(&row), None);
    }

    #[test]
    fn a_limit_is_a_number_or_a_multiple_of_another_workload() {
        let row = |name, instructions| Row {
            case: bench::find(name).unwrap(),
            transport: "dctcp",
            hops: 1,
            ns_per_hop: vec![],
            instructions: Some(instructions),
            kib_per_host: 0.0,
            other: vec![],
        };
        let rows = [row("permutation-128", 300.0), row("sparse", 610.0)];
        let judge = |line| Limit::parse(line).unwrap().unwrap().judge(&rows);
        assert_eq!(judge("permutation-128 dctcp 295"), None, "within the slack");
        assert!(judge("permutation-128 dctcp 290").is_some());
        assert!(judge("sparse dctcp 2x permutation-128 # twice").is_some());
        assert_eq!(judge("sparse dctcp 2.1x permutation-128"), None);
        assert_eq!(judge("sparse expresspass 1"), None, "not measured");
        assert!(Limit::parse("sparse dctcp").is_err() && Limit::parse("a b 2 c").is_err());
        assert!(Limit::parse(" # nothing").unwrap().is_none());
        let twice = Limit::parse("sparse dctcp 2x probed").unwrap().unwrap();
        assert!(twice.is_about("sparse", "dctcp") && twice.is_about("probed", "dctcp"));
        assert!(!twice.is_about("queued", "dctcp") && !twice.is_about("sparse", "homa"));
    }
}
