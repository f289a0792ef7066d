//! `tidegate wire bench`: a transfer between two processes over UDP on loopback.
//!
//! The program starts itself twice. Each child says what happens as one JSON line per fact on its
//! standard output and ends when its standard input does. Both hash what they send and receive;
//! the parent compares.

use crate::buffers::{Hashes, Nothing, Random};
use crate::clock::{Clock, duration};
use crate::config::{DriveError, DriverConfig, News, Stats, check_transport, io_error};
use crate::driver::Driver;
use crate::peers::{NUMBERS, number};
use model::intent::{Over, QueueSpec};
use model::{ConnId, Encap, Event, Lifetime, Totals};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use transports::{Factory, Registry};
use units::{Bytes, Rate, Span, Time};

/// Longest sleep of a child: how soon it sees that its input ended.
const NAP: Span = Span::ms(5);
/// How often the receiver says how far it is.
const PROGRESS: Span = Span::ms(200);
/// What a child may take beyond the time limit, to start and to say what is stuck.
const GRACE: Span = Span::ms(5_000);
/// Messages at once: what one peer may have open.
pub const MESSAGES_MAX: u32 = crate::peers::CONNS_PER_PEER_MAX;

/// What to transfer.
#[derive(Clone, Debug)]
pub struct BenchConfig {
    /// Both drivers'; `bind` is ignored.
    pub driver: DriverConfig,
    /// Bytes in all.
    pub bytes: Bytes,
    /// Messages that they are divided into, sent at the same time.
    pub messages: u32,
    /// When to give up.
    pub time_limit: Span,
}

impl BenchConfig {
    /// One gigabyte in sixteen messages at 1 Gb/s within a minute.
    pub fn new(transport: &str) -> Self {
        Self {
            driver: DriverConfig::loopback(transport, Rate::gbps(1)),
            bytes: Bytes(1_000_000_000),
            messages: 16,
            time_limit: Span::ms(60_000),
        }
    }

    fn lengths(&self) -> impl Iterator<Item = u64> + use<> {
        let (each, rest) = (
            self.bytes.get() / u64::from(self.messages),
            self.bytes.get() % u64::from(self.messages),
        );
        (0..u64::from(self.messages)).map(move |i| each + u64::from(i < rest))
    }

    /// What is wrong with it.
    ///
    /// # Errors
    /// The field and what to write instead.
    pub fn check(&self) -> Result<(), DriveError> {
        if self.messages == 0 || self.messages > MESSAGES_MAX {
            let text = format!("{} messages: give 1 to {MESSAGES_MAX}", self.messages);
            return Err(DriveError::Usage(text));
        }
        if self.time_limit == Span::ZERO {
            let text = "a time limit of 0 lets nothing be sent: give one like 60s".to_owned();
            return Err(DriveError::Usage(text));
        }
        self.driver.check()
    }
}

/// The transport of that name with parameters `key=value`, each value as in TOML; quotes may be
/// left out.
///
/// # Errors
/// What is wrong and what to write instead.
pub fn transport(
    transports: &Registry,
    name: &str,
    set: &[String],
) -> Result<Box<dyn Factory>, String> {
    let transport = transports.find(name).ok_or_else(|| {
        let names = transports.names().join(", ");
        format!("there is no transport \"{name}\"; known are {names}")
    })?;
    let mut table = toml::Table::new();
    for pair in set {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("\"{pair}\": write KEY=VALUE, as in profile=default"))?;
        let parsed = format!("v = {value}").parse::<toml::Table>().ok();
        let value = parsed.and_then(|mut table| table.remove("v"));
        let value = value.unwrap_or_else(|| pair[key.len() + 1..].into());
        table.insert(key.trim().to_owned(), value);
    }
    let factory = transport
        .configure(&table)
        .map_err(|error| error.to_string())?;
    check_transport(name, &*factory).map_err(|error| error.to_string())?;
    Ok(factory)
}

/// Whether a transport takes data that a switch has cut, and so asks ports to cut it.
pub fn takes_trimmed(factory: &dyn Factory) -> bool {
    let ports = factory.fabric(Rate::gbps(1), Encap::UDP).own;
    let cuts = |queue: &QueueSpec| matches!(queue.over, Over::Trim { .. });
    ports.is_some_and(|port| port.queues.iter().any(cuts))
}

/// Which end a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Takes the messages.
    Receiver,
    /// Has them, and sends to the receiver's port.
    Sender(u16),
}

/// One message as one end saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Bytes.
    pub length: u64,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
}

/// What one end did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Whether every message was sent or received.
    pub done: bool,
    /// From the first call to the last message.
    pub seconds: f64,
    /// Processor time of the whole process.
    pub cpu_seconds: f64,
    /// Most memory that was resident.
    pub peak_rss_bytes: u64,
    /// Most bytes that waited for earlier ones, at the receiver.
    pub reassembly_peak_bytes: u64,
    /// The messages, in the order in which the sender opened them.
    pub messages: Vec<Message>,
    /// Data packets sent, first time or again.
    pub data_sent: u64,
    /// Data packets sent again.
    pub retransmitted: u64,
    /// Data packets that brought nothing new.
    pub duplicates: u64,
    /// Credits given out.
    pub credits_sent: u64,
    /// Credits that arrived.
    pub credits_received: u64,
    /// Credits that found nothing to send.
    pub credits_wasted: u64,
    /// Credits dropped at the own line.
    pub credits_dropped: u64,
    /// Safety timers that fired.
    pub timeouts: u64,
    /// Packets that the transport could not make sense of.
    pub nonsense: u64,
    /// What the transport counted besides, by the names that it declares.
    #[serde(default)]
    pub counters: BTreeMap<String, u64>,
    /// What the driver counted.
    pub driver: Stats,
    /// Unfinished flows and what they wait for.
    pub stuck: Vec<String>,
}

/// A line that a child says.
#[derive(Serialize, Deserialize)]
enum Line {
    Port(u16),
    Progress(u64),
    Report(Box<Report>),
    Failed(String),
}

fn say(line: &Line) -> Result<(), DriveError> {
    let text = serde_json::to_string(line).expect("strings and numbers alone");
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")
        .and_then(|()| out.flush())
        .map_err(io_error("telling the parent"))
}

/// Runs one end in this process: the body of a child. Says everything on standard output.
///
/// # Errors
/// What went wrong; it was said on standard output as well.
pub fn child(config: &BenchConfig, role: Role, factory: &dyn Factory) -> Result<(), DriveError> {
    let input_ended = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&input_ended);
    std::thread::spawn(move || {
        // Blocks until the parent closes it or dies; what it says does not matter.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        flag.store(true, Ordering::Relaxed);
    });
    let outcome = config.check().and_then(|()| match role {
        Role::Receiver => receive(config, factory, &input_ended),
        Role::Sender(port) => send(config, port, factory, &input_ended),
    });
    if let Err(error) = &outcome {
        say(&Line::Failed(error.to_string()))?;
    }
    outcome
}

/// Takes all messages, says so, and answers late packets until the parent ends.
fn receive(
    config: &BenchConfig,
    factory: &dyn Factory,
    ended: &AtomicBool,
) -> Result<(), DriveError> {
    let mut driver = Driver::open(&config.driver, factory)?;
    say(&Line::Port(driver.local_addr()?.port()))?;
    let (clock, mut hashes) = (Clock::new(), Hashes::default());
    let limit = Time::ZERO.after(config.time_limit).after(GRACE);
    let mut next_progress = Time::ZERO;
    let mut received: Vec<ConnId> = Vec::new();
    let mut started = None;
    while received.len() < config.messages as usize {
        let news = driver.turn(&mut Nothing, &mut hashes, NAP)?;
        let done = news.iter().filter_map(|news| match news {
            News::Transport(Event::Received { conn, .. }) => Some(*conn),
            _ => None,
        });
        received.extend(done);
        let now = clock.now();
        if started.is_none() && driver.open_connections() + received.len() > 0 {
            started = Some(now);
        }
        if now >= next_progress {
            say(&Line::Progress(hashes.bytes()))?;
            next_progress = now.after(PROGRESS);
        }
        if now >= limit || ended.load(Ordering::Relaxed) {
            break;
        }
    }
    let seconds = clock.now().since(started.unwrap_or(Time::ZERO)).as_secs();
    // Numbers count up from the first; a transfer is far from half of all.
    let base = received.first().map_or(0, |&conn| number(conn));
    let ahead = |conn| number(conn).wrapping_sub(base).wrapping_add(NUMBERS / 2) % NUMBERS;
    received.sort_by_key(|&conn| ahead(conn));
    let message = |conn: &ConnId| {
        let (length, sha256) = hashes.digest(*conn);
        Message { length, sha256 }
    };
    let mut report = Report::of(&driver, seconds, received.iter().map(message).collect())?;
    report.done = received.len() == config.messages as usize;
    report.reassembly_peak_bytes = hashes.waiting_peak() as u64;
    say(&Line::Report(Box::new(report)))?;
    while !ended.load(Ordering::Relaxed) && clock.now() < limit.after(GRACE) {
        driver.turn(&mut Nothing, &mut hashes, NAP)?;
    }
    Ok(())
}

/// Sends all messages, says so, and answers late packets until the parent ends.
fn send(
    config: &BenchConfig,
    port: u16,
    factory: &dyn Factory,
    ended: &AtomicBool,
) -> Result<(), DriveError> {
    let mut driver = Driver::open(&config.driver, factory)?;
    let (clock, mut random) = (Clock::new(), Random::default());
    let limit = Time::ZERO.after(config.time_limit);
    let peer = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
    let mut conns = Vec::new();
    for (i, length) in config.lengths().enumerate() {
        let conn = driver.connect(peer, Lifetime::OneMessage)?;
        random.add(conn, config.driver.seed, i as u64);
        driver.send(conn, length)?;
        conns.push((conn, length));
    }
    let mut sent = 0;
    while sent < conns.len() && clock.now() < limit && !ended.load(Ordering::Relaxed) {
        for news in driver.turn(&mut random, &mut Nothing, NAP)? {
            match news {
                News::Transport(Event::Sent { .. }) => sent += 1,
                News::Unreachable(peer) => {
                    return Err(DriveError::Usage(format!("nobody answers at {peer}")));
                }
                News::PeerLost(peer) => {
                    return Err(DriveError::Usage(format!("{peer} restarted")));
                }
                News::Refused { peer, reason, .. } => {
                    return Err(DriveError::Usage(format!("{peer} refuses: {reason}")));
                }
                News::Transport(_) => {}
            }
        }
    }
    let seconds = clock.now().since(Time::ZERO).as_secs();
    let mut messages = Vec::new();
    for &(conn, length) in &conns {
        let sha256 = random
            .digest(conn, length)
            .expect("no byte beyond the message is asked for");
        messages.push(Message { length, sha256 });
    }
    let mut report = Report::of(&driver, seconds, messages)?;
    report.done = sent == conns.len();
    say(&Line::Report(Box::new(report)))?;
    while !ended.load(Ordering::Relaxed) && clock.now() < limit.after(GRACE.times(3)) {
        driver.turn(&mut random, &mut Nothing, NAP)?;
    }
    Ok(())
}

impl Report {
    fn of(driver: &Driver, seconds: f64, messages: Vec<Message>) -> Result<Self, DriveError> {
        let Totals {
            data_sent,
            retransmitted,
            duplicates,
            credits_sent,
            credits_received,
            credits_wasted,
            credits_dropped,
            timeouts,
            nonsense,
            ..
        } = driver.totals();
        let stuck = driver.stuck().into_iter().map(|flow| {
            format!(
                "connection {}: {}, waits for {}",
                number(flow.conn),
                flow.state,
                flow.waits_for
            )
        });
        Ok(Self {
            done: false,
            seconds,
            cpu_seconds: cpu_time()
                .map_err(io_error("asking for the processor time"))?
                .as_secs(),
            peak_rss_bytes: peak_rss().map_err(io_error("reading /proc/self/status"))?,
            reassembly_peak_bytes: 0,
            messages,
            data_sent,
            retransmitted,
            duplicates,
            credits_sent,
            credits_received,
            credits_wasted,
            credits_dropped,
            timeouts,
            nonsense,
            counters: driver
                .counters()
                .into_iter()
                .map(|(counter, value)| (counter.name.to_owned(), value))
                .collect(),
            driver: driver.stats(),
            stuck: stuck.collect(),
        })
    }
}

/// Most memory that this process had resident.
fn peak_rss() -> io::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line
        .and_then(|rest| rest.trim().strip_suffix(" kB"))
        .and_then(|n| n.parse().ok());
    kib.map(|kib: u64| kib * 1024)
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Processor time of this process, user and system.
fn cpu_time() -> io::Result<Span> {
    // SAFETY: all-zero bytes are a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a rusage that lives through the call.
    if unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let us = |time: libc::timeval| {
        let (sec, usec) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_usec));
        sec.unwrap_or(0) * 1_000_000 + usec.unwrap_or(0)
    };
    Ok(Span::us(us(usage.ru_utime) + us(usage.ru_stime)))
}

/// What became of a transfer.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The transport's name.
    pub transport: String,
    /// Bytes in all.
    pub bytes: u64,
    /// From starting the sender to the last end's report.
    pub seconds: f64,
    /// Payload over time.
    pub goodput_bps: f64,
    /// Whether both ends finished and agree on length and SHA-256 of every message.
    pub equal: bool,
    /// SHA-256 over the sender's message hashes, one name for all of the data.
    pub sha256: String,
    /// The end that has the data; `None` where it failed before it could say anything.
    pub sender: Option<Report>,
    /// The end that takes it.
    pub receiver: Option<Report>,
    /// What the children could not do.
    pub errors: Vec<String>,
}

/// Why a child could not be run.
pub type BenchError = DriveError;

/// Runs both ends as children and compares what they saw. `command` makes the command that runs
/// [`child`] in the given role; `progress` hears how many bytes have arrived.
///
/// # Errors
/// Where the children cannot be started. What goes wrong later is in the outcome.
pub fn parent(
    config: &BenchConfig,
    mut command: impl FnMut(Role) -> Command,
    mut progress: impl FnMut(u64),
) -> Result<Outcome, BenchError> {
    config.check()?;
    let (lines, said) = mpsc::channel();
    let mut ends = vec![End::start(command(Role::Receiver), lines.clone(), 0)?];
    let mut reports = [None, None];
    let mut errors = Vec::new();
    let clock = Clock::new();
    let mut sender_started = Time::ZERO;
    let limit = Time::ZERO.after(config.time_limit).after(GRACE.times(2));
    while reports.iter().any(Option::is_none) && errors.is_empty() {
        let left = limit.since(clock.now());
        let Ok((end, line)) = said.recv_timeout(duration(left)) else {
            errors.push(format!("no report after {}", clock.now().since(Time::ZERO)));
            break;
        };
        match line {
            Some(Line::Port(port)) if ends.len() == 1 => {
                sender_started = clock.now();
                ends.push(End::start(command(Role::Sender(port)), lines.clone(), 1)?);
            }
            Some(Line::Port(_)) => {}
            Some(Line::Progress(bytes)) => progress(bytes),
            Some(Line::Report(report)) => {
                if !report.done {
                    // The other end waits in vain: the end of its input makes it report.
                    for end in &mut ends {
                        drop(end.child.stdin.take());
                    }
                }
                reports[end] = Some(*report);
            }
            Some(Line::Failed(message)) => errors.push(format!("{}: {message}", NAMES[end])),
            None => {
                if reports[end].is_none() {
                    errors.push(format!("the {} ended without a report", NAMES[end]));
                }
            }
        }
    }
    let seconds = clock.now().since(sender_started).as_secs();
    drop(ends);
    let [receiver, sender] = reports;
    Ok(Outcome::of(config, seconds, sender, receiver, errors))
}

const NAMES: [&str; 2] = ["receiver", "sender"];

impl Outcome {
    fn of(
        config: &BenchConfig,
        seconds: f64,
        sender: Option<Report>,
        receiver: Option<Report>,
        errors: Vec<String>,
    ) -> Self {
        let equal = match (&sender, &receiver) {
            (Some(sender), Some(receiver)) => {
                let total: u64 = receiver.messages.iter().map(|message| message.length).sum();
                sender.done
                    && receiver.done
                    && sender.messages == receiver.messages
                    && total == config.bytes.get()
            }
            _ => false,
        };
        let hashes = sender.iter().flat_map(|sender| &sender.messages);
        Self {
            transport: config.driver.transport.clone(),
            bytes: config.bytes.get(),
            seconds,
            goodput_bps: if equal {
                config.bytes.get() as f64 * 8.0 / seconds
            } else {
                0.0
            },
            equal,
            sha256: crate::buffers::sha256_of(hashes.map(|message| message.sha256.as_bytes())),
            sender,
            receiver,
            errors,
        }
    }
}

/// A child; ends with this value.
struct End {
    child: Child,
}

impl End {
    fn start(
        mut command: Command,
        lines: mpsc::Sender<(usize, Option<Line>)>,
        end: usize,
    ) -> Result<Self, DriveError> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(io_error("starting the other process"))?;
        let out = child.stdout.take().expect("it was asked for");
        std::thread::spawn(move || {
            // A line is a few KB at most, one report with all its messages.
            for line in BufReader::new(out.take(LINES_MAX)).lines() {
                let parsed = line.ok().and_then(|line| serde_json::from_str(&line).ok());
                if parsed.is_none() || lines.send((end, parsed)).is_err() {
                    break;
                }
            }
            let _ = lines.send((end, None));
        });
        Ok(Self { child })
    }
}

/// Bytes that a child may say in all.
const LINES_MAX: u64 = 16 << 20;

impl Drop for End {
    fn drop(&mut self) {
        // The end of its input tells it to end; a child that hears nothing is ended.
        drop(self.child.stdin.take());
        for _ in 0..ENDING_CHECKS {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            #[allow(clippy::disallowed_methods, reason = "outside of any transport's time")]
            std::thread::sleep(duration(NAP));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How often a child is looked at before it is ended: for half a second.
const ENDING_CHECKS: u32 = 100;
