//! `tidegate wire`: the transports on real sockets.

use crate::args::Global;
use crate::exit;
use crate::screen::Screen;
use clap::{Args, Subcommand};
use drive::bench::{self, BenchConfig, Outcome, Report, Role};
use drive::{DriveError, DriverConfig, FaultConfig};
use indicatif::{ProgressBar, ProgressStyle};
use results::human;
use serde_json::json;
use std::fmt::Write;
use std::process::Command;
use units::{Bytes, Rate, Span};

/// Time that a transfer may take, without and with faults. [ours: 1 GB at 1 Gb/s takes 8.6 s on an
/// idle machine; shared cores and repairs get the rest]
const TIME_LIMIT: (Span, Span) = (Span::ms(60_000), Span::ms(180_000));
/// Memory that each process may have resident.
const MEMORY_LIMIT: Bytes = Bytes(64 << 20);
/// Billionths in a percent.
const PPB_PER_PERCENT: u32 = 10_000_000;

#[derive(Args, Debug)]
pub(crate) struct WireArgs {
    #[command(subcommand)]
    command: WireCommand,
}

#[derive(Subcommand, Debug)]
enum WireCommand {
    /// Transfer random bytes between two processes over UDP on loopback, and compare hashes
    Bench(Box<BenchArgs>),
}

#[derive(Args, Debug)]
struct BenchArgs {
    /// The transport; its parameters go by --set transport.NAME.KEY=VALUE
    #[arg(long, default_value = "expresspass", value_name = "NAME")]
    transport: String,
    /// Bytes in all
    #[arg(long, default_value = "1GB", value_name = "SIZE")]
    bytes: Bytes,
    /// Messages that they are divided into, all sent at the same time
    #[arg(long, default_value_t = 16, value_name = "N")]
    messages: u32,
    /// Rate of the line that both ends pace to
    #[arg(long, default_value = "1Gbps", value_name = "RATE")]
    rate: Rate,
    /// The largest IP packet, 1000B to 9000B
    #[arg(long, default_value = "1500B", value_name = "SIZE")]
    mtu: Bytes,
    /// Longest idle round trip that the transports should expect; timers follow from it
    #[arg(long, default_value_t = DriverConfig::BASE_RTT, value_name = "TIME")]
    base_rtt: Span,
    /// Share of the arriving datagrams that vanish, at both ends
    #[arg(long, default_value = "0%", value_name = "SHARE", value_parser = share)]
    loss: u32,
    /// Share that arrive twice
    #[arg(long, default_value = "0%", value_name = "SHARE", value_parser = share)]
    duplicate: u32,
    /// Share that later ones overtake
    #[arg(long, default_value = "0%", value_name = "SHARE", value_parser = share)]
    reorder: u32,
    /// Share of the arriving data that loses its payload, as a switch without room would cut it; for transports that
    /// take what is left
    #[arg(long, default_value = "0%", value_name = "SHARE", value_parser = share)]
    trim: u32,
    /// Give up after this time [default: 60s, with faults 180s]
    #[arg(long, value_name = "TIME")]
    time_limit: Option<Span>,
    /// Memory that each process may have resident
    #[arg(long, default_value_t = MEMORY_LIMIT, value_name = "SIZE")]
    memory_limit: Bytes,
    /// Which end this process is: how the program starts itself
    #[arg(long, hide = true, value_enum)]
    role: Option<RoleName>,
    /// Where the sender finds the receiver
    #[arg(long, hide = true, default_value_t = 0)]
    port: u16,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum RoleName {
    Receiver,
    Sender,
}

/// A share in percent, as billionths.
fn share(text: &str) -> Result<u32, String> {
    let number = text
        .strip_suffix('%')
        .ok_or("needs a unit: write it like 1% or 0.5%")?;
    let (whole, rest) = number.split_once('.').unwrap_or((number, ""));
    // Seven digits are a billionth.
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(rest) || whole.len() > 3 || rest.len() > 7 {
        return Err("is no share: write it like 1% or 0.5%".into());
    }
    let number = |part: &str| part.parse::<u32>().map_err(|error| error.to_string());
    let ppb = number(whole)? * PPB_PER_PERCENT + number(&format!("{rest:0<7}"))?;
    if ppb <= 100 * PPB_PER_PERCENT {
        Ok(ppb)
    } else {
        Err("is more than all: 100%".into())
    }
}

fn percent(ppb: u32) -> String {
    let text = format!("{}.{:07}", ppb / PPB_PER_PERCENT, ppb % PPB_PER_PERCENT);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

pub(crate) fn run(args: &WireArgs, global: &Global, screen: &Screen) -> i32 {
    match &args.command {
        WireCommand::Bench(args) => run_bench(args, global, screen),
    }
}

fn run_bench(args: &BenchArgs, global: &Global, screen: &Screen) -> i32 {
    let faulty = args.loss + args.duplicate + args.reorder + args.trim > 0;
    let default_limit = if faulty { TIME_LIMIT.1 } else { TIME_LIMIT.0 };
    let mut config = BenchConfig::new(&args.transport);
    config.bytes = args.bytes;
    config.messages = args.messages;
    config.time_limit = args.time_limit.unwrap_or(default_limit);
    config.driver.rate = args.rate;
    config.driver.mtu = args.mtu;
    config.driver.base_rtt = args.base_rtt;
    config.driver.seed = global.seed.unwrap_or(1);
    config.driver.faults = FaultConfig {
        lose_ppb: args.loss,
        duplicate_ppb: args.duplicate,
        reorder_ppb: args.reorder,
        trim_ppb: args.trim,
    };
    let prefix = format!("transport.{}.", args.transport);
    let own_key = |set: &String| set.strip_prefix(&prefix).unwrap_or(set).to_owned();
    let sets: Vec<_> = global.sets.iter().map(own_key).collect();
    let factory = match bench::transport(&global.transports, &args.transport, &sets) {
        Ok(factory) => factory,
        Err(message) => return screen.fail(exit::USAGE, &message),
    };
    if args.trim > 0 && !bench::takes_trimmed(&*factory) {
        return screen.fail(exit::USAGE, &no_trimming(args, global));
    }
    if let Err(error) = config.check() {
        return screen.fail(exit::USAGE, &error.to_string());
    }
    if let Some(role) = args.role {
        let role = match role {
            RoleName::Receiver => Role::Receiver,
            RoleName::Sender => Role::Sender(args.port),
        };
        // What goes wrong is said to the parent.
        return if bench::child(&config, role, &*factory).is_ok() {
            exit::OK
        } else {
            exit::IO
        };
    }
    if global.dry_run {
        screen.print(&headline(args, &config));
        return exit::OK;
    }
    let outcome = match transfer(args, global, screen, &config) {
        Ok(outcome) => outcome,
        Err(error) => return screen.fail(exit::IO, &error.to_string()),
    };
    let checks = checks(args, &config, &outcome);
    if global.json {
        screen.print(&document(args, &config, &outcome, &checks));
    } else {
        screen.say(&headline(args, &config));
        screen.say(&table(&outcome, &checks));
        if checks.iter().any(|check| !check.holds) {
            explain(&outcome, screen);
        }
    }
    checks
        .iter()
        .filter(|check| !check.holds)
        .map(|check| check.code)
        .max()
        .unwrap_or(exit::OK)
}

/// That nothing would be trimmed, why, and whose data would be.
fn no_trimming(args: &BenchArgs, global: &Global) -> String {
    let takes = |name: &&str| {
        let factory = bench::transport(&global.transports, name, &[]);
        factory.is_ok_and(|factory| bench::takes_trimmed(&*factory))
    };
    let names = global.transports.names();
    let names: Vec<&str> = names.iter().filter(|name| takes(name)).copied().collect();
    format!(
        "--trim {} would trim nothing: {} takes no data without its payload, as no switch cuts it there; leave it out, or choose \
         a transport that takes it: {}",
        percent(args.trim),
        args.transport,
        names.join(", ")
    )
}

/// Starts both ends and waits for them.
fn transfer(
    args: &BenchArgs,
    global: &Global,
    screen: &Screen,
    config: &BenchConfig,
) -> Result<Outcome, DriveError> {
    let program = crate::itself().map_err(|source| DriveError::Io {
        doing: "looking for this program",
        source,
    })?;
    let bar = screen.live.then(|| {
        let bar = ProgressBar::new(config.bytes.get());
        let style =
            ProgressStyle::with_template(" {prefix} [{bar:24}] {bytes} {bytes_per_sec} {eta}");
        bar.set_style(style.expect("the template is fixed").progress_chars("=> "));
        bar.set_prefix(args.transport.clone());
        bar
    });
    let command = |role: Role| {
        let mut command = Command::new(&program[0]);
        command.args(&program[1..]);
        command.args(["wire", "bench", "--transport", &args.transport]);
        command.args(["--bytes", &format!("{}B", args.bytes.get())]);
        command.args(["--messages", &args.messages.to_string()]);
        command.args(["--rate", &format!("{}bps", args.rate.0)]);
        command.args(["--mtu", &args.mtu.to_string()]);
        command.args(["--base-rtt", &args.base_rtt.to_string()]);
        command.args([
            "--loss",
            &percent(args.loss),
            "--duplicate",
            &percent(args.duplicate),
        ]);
        command.args(["--reorder", &percent(args.reorder)]);
        command.args(["--trim", &percent(args.trim)]);
        command.args(["--time-limit", &config.time_limit.to_string()]);
        // The ends draw apart.
        let end = u64::from(role != Role::Receiver);
        let seed = config.driver.seed.wrapping_mul(2).wrapping_add(end);
        command.args(["--seed", &seed.to_string()]);
        for set in &global.sets {
            command.args(["--set", set]);
        }
        match role {
            Role::Receiver => command.args(["--role", "receiver"]),
            Role::Sender(port) => command.args(["--role", "sender", "--port", &port.to_string()]),
        };
        command
    };
    let outcome = bench::parent(config, command, |bytes| {
        if let Some(bar) = &bar {
            bar.set_position(bytes);
        }
    });
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    outcome
}

/// One thing that must hold.
struct Check {
    what: String,
    holds: bool,
    code: i32,
}

fn checks(args: &BenchArgs, config: &BenchConfig, outcome: &Outcome) -> Vec<Check> {
    let mut checks = vec![
        Check {
            what: "SHA-256 equal".into(),
            holds: outcome.equal,
            code: exit::BROKEN,
        },
        Check {
            what: format!("within {}", config.time_limit),
            holds: outcome.seconds <= config.time_limit.as_secs(),
            code: exit::THRESHOLD,
        },
    ];
    // An end that said nothing has failed the first check.
    if let Some(peak) = ends(outcome).map(|(_, report)| report.peak_rss_bytes).max() {
        checks.push(Check {
            what: format!("memory at most {}", memory(args.memory_limit)),
            holds: peak <= args.memory_limit.get(),
            code: exit::THRESHOLD,
        });
    }
    checks
}

/// In MiB where that is a whole number, else exactly.
fn memory(limit: Bytes) -> String {
    let bytes = limit.get();
    if bytes > 0 && bytes.is_multiple_of(1 << 20) {
        format!("{} MiB", bytes >> 20)
    } else {
        format!("{} B", human::count(bytes))
    }
}

fn ends(outcome: &Outcome) -> impl Iterator<Item = (&'static str, &Report)> {
    let ends = [("sender", &outcome.sender), ("receiver", &outcome.receiver)];
    ends.into_iter()
        .filter_map(|(name, report)| Some((name, report.as_ref()?)))
}

fn headline(args: &BenchArgs, config: &BenchConfig) -> String {
    let FaultConfig {
        lose_ppb,
        duplicate_ppb,
        reorder_ppb,
        trim_ppb,
    } = config.driver.faults;
    let mut faults = String::new();
    for (name, ppb) in [
        ("loss", lose_ppb),
        ("duplicates", duplicate_ppb),
        ("reordered", reorder_ppb),
        ("trimmed", trim_ppb),
    ] {
        if ppb > 0 {
            write!(faults, ", {} {name}", percent(ppb)).expect("a String takes everything");
        }
    }
    format!(
        " wire bench  {}, {} in {} messages at {} over UDP on loopback{faults}   seed {}\n",
        args.transport,
        human::bytes(config.bytes),
        config.messages,
        human::rate(config.driver.rate),
        config.driver.seed,
    )
}

fn table(outcome: &Outcome, checks: &[Check]) -> String {
    let mut rows = vec![
        [
            "",
            "time",
            "data sent",
            "again",
            "duplicate",
            "credits",
            "wasted",
            "timeouts",
            "peak memory",
            "cpu",
        ]
        .map(str::to_owned),
    ];
    for (name, report) in ends(outcome) {
        let credits = report.credits_sent.max(report.credits_received);
        rows.push([
            name.to_owned(),
            format!("{:.2} s", report.seconds),
            human::count(report.data_sent),
            human::count(report.retransmitted),
            human::count(report.duplicates),
            human::count(credits),
            human::count(report.credits_wasted),
            human::count(report.timeouts),
            format!(
                "{:.1} MiB",
                report.peak_rss_bytes as f64 / f64::from(1 << 20)
            ),
            format!("{:.2} s", report.cpu_seconds),
        ]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let width = width(column);
            if column == 0 {
                format!(" {cell:<width$}")
            } else {
                format!("{cell:>width$}")
            }
        });
        text.push_str(&cells.collect::<Vec<_>>().join("   "));
        text.push('\n');
    }
    let goodput = outcome.goodput_bps / 1e6;
    writeln!(text, " {:.2} s, goodput {goodput:.1} Mb/s", outcome.seconds)
        .expect("a String takes everything");
    for check in checks {
        let mark = if check.holds { "ok  " } else { "FAIL" };
        writeln!(text, " {mark} {}", check.what).expect("a String takes everything");
    }
    if outcome.equal {
        writeln!(text, " sha256 of the messages' hashes {}", outcome.sha256)
            .expect("a String takes everything");
    }
    text
}

/// Says what is known about a transfer that failed.
fn explain(outcome: &Outcome, screen: &Screen) {
    for error in &outcome.errors {
        screen.warn(error);
    }
    for (name, report) in ends(outcome) {
        for flow in &report.stuck {
            screen.warn(&format!("{name}: {flow}"));
        }
    }
}

fn document(args: &BenchArgs, config: &BenchConfig, outcome: &Outcome, checks: &[Check]) -> String {
    let checks: Vec<_> = checks
        .iter()
        .map(|check| json!({"check": check.what, "holds": check.holds}))
        .collect();
    let document = json!({
        "command": "wire bench",
        "transport": args.transport,
        "bytes": config.bytes.get(),
        "messages": config.messages,
        "rate_bps": config.driver.rate.0,
        "seed": config.driver.seed,
        "loss": f64::from(args.loss) / 1e9,
        "duplicate": f64::from(args.duplicate) / 1e9,
        "reorder": f64::from(args.reorder) / 1e9,
        "trim": f64::from(args.trim) / 1e9,
        "time_limit_seconds": config.time_limit.as_secs(),
        "memory_limit_bytes": args.memory_limit.get(),
        "checks": checks,
        "outcome": outcome,
    });
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_memory_is_said_as_it_is() {
        for (limit, text) in [(64 << 20, "64 MiB"), (1, "1 B"), (1_500_000, "1,500,000 B")] {
            assert_eq!(memory(Bytes(limit)), text);
        }
    }

    #[test]
    fn shares_are_exact_and_need_their_sign() {
        for (text, ppb) in [
            ("0%", 0),
            ("1%", 10_000_000),
            ("0.5%", 5_000_000),
            ("100%", 1_000_000_000),
        ] {
            assert_eq!(share(text), Ok(ppb));
            assert_eq!(percent(ppb), text);
        }
        assert_eq!(share("0.0000001%"), Ok(1));
        for wrong in [
            "1",
            "%",
            ".5%",
            "-1%",
            "101%",
            "1.%%",
            "1e2%",
            "0.00000001%",
            "1000%",
        ] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
        assert!(share("1").unwrap_err().contains("needs a unit"));
    }
}
