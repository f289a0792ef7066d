//! What a host that asks for pauses all the time does to others. `docs/pathologies.md` has the list; its numbers are what
//! these tests print: `cargo test --test storms -- --nocapture`.

use model::intent::PortSpec;
use model::{Class, ConnId, EndpointConfig, Packet, Signal};
use scenario::load_text_with;
use switching::{FlowControl, Passage, Say};
use transports::{Control, ControlFactory, ParamError, Parameter, Place, Refusal};
use units::{Bytes, Span, Time};

/// A flow control beside a host that asks for pauses all the time, although nothing fills it: the one whose line is slower.
struct Storm {
    name: &'static str,
    of: &'static str,
    /// What it has paused.
    signal: Signal,
}
static STORM: Storm = Storm {
    name: "storm",
    of: "pfc",
    signal: Signal::PausePriority(0),
};
/// Of the connection whose data goes to it, the first.
static STORM_OF_FLOWS: Storm = Storm {
    name: "storm-of-flows",
    of: "aquarius",
    signal: Signal::PauseFlow(ConnId(0)),
};
struct StormOf(Box<dyn ControlFactory>, Signal);

/// The flow control of a switch that has such a host behind a port.
struct Stormy {
    inner: Box<dyn FlowControl>,
    signal: Signal,
    port: Option<u16>,
    next: Time,
}

impl Storm {
    fn inner(&self) -> &'static dyn Control {
        let inner = transports::registry().control(self.of);
        inner.expect("it is there")
    }
}

impl Control for Storm {
    fn name(&self) -> &'static str {
        self.name
    }
    fn summary(&self) -> &'static str {
        "a flow control with a host that pauses for no reason"
    }
    fn parameters(&self) -> Vec<Parameter> {
        self.inner().parameters()
    }
    fn configure(&self, table: &toml::Table) -> Result<Box<dyn ControlFactory>, ParamError> {
        let inner = self.inner().configure(table)?;
        Ok(Box::new(StormOf(inner, self.signal)))
    }
}

impl ControlFactory for StormOf {
    fn make(&self, place: &Place<'_>) -> Box<dyn FlowControl> {
        let hosts = || (0..).zip(place.lines).filter(|(_, line)| line.is_host);
        let fastest = hosts().map(|(_, line)| line.rate).max();
        let mut slower = hosts().filter(|(_, line)| Some(line.rate) < fastest);
        let port = slower.next().map(|(port, _)| port);
        Box::new(Stormy {
            inner: self.0.make(place),
            signal: self.1,
            port,
            next: port.map_or(Time::NEVER, |_| Time(300_000_000)),
        })
    }
    fn port(&self, port: PortSpec) -> Result<PortSpec, Refusal> {
        self.0.port(port)
    }
    fn memory(&self) -> Bytes {
        self.0.memory()
    }
    fn suits(&self, place: &Place<'_>) -> Result<(), Refusal> {
        self.0.suits(place)
    }
    fn resolved(&self) -> toml::Table {
        self.0.resolved()
    }
}

impl FlowControl for Stormy {
    fn gates_alone(&self) -> bool {
        self.inner.gates_alone()
    }
    fn admits(&mut self, passage: &Passage<'_>, free: u64) -> Option<bool> {
        self.inner.admits(passage, free)
    }
    fn assign(&mut self, now: Time, passage: &Passage<'_>) -> Option<u8> {
        self.inner.assign(now, passage)
    }
    fn minds(&self, class: Class) -> bool {
        self.inner.minds(class)
    }
    fn arrived(&mut self, now: Time, passage: &Passage<'_>, say: &mut Say) {
        self.inner.arrived(now, passage, say);
    }
    fn left(&mut self, now: Time, passage: &Passage<'_>, say: &mut Say) {
        self.inner.left(now, passage, say);
    }
    fn heard(&mut self, now: Time, port: u16, frame: &Packet, say: &mut Say) {
        self.inner.heard(now, port, frame, say);
    }
    fn deadline(&self) -> Time {
        self.inner.deadline().min(self.next)
    }
    fn on_deadline(&mut self, now: Time, say: &mut Say) {
        if self.inner.deadline() <= now {
            self.inner.on_deadline(now, say);
        }
        if let (Some(port), true) = (self.port, self.next <= now) {
            let frame = self.signal.frame_for(Span::us(10));
            self.inner.heard(now, port, &frame, say);
            self.next = now.after(Span::us(4));
        }
    }
    fn count(&self, tell: &mut dyn FnMut(&'static str, u64)) {
        self.inner.count(tell);
    }
    fn check(&self) {
        self.inner.check();
    }
}

/// Memory of the two switches: not much more than headroom.
const BUFFER: &str = "1MB";

/// Two racks of four hosts under `storm`, in which host 0, at 90 Gb/s, lets nothing come from 300 us on: what each
/// connection of `pairs` has brought by `until`, in bytes.
fn brought(storm: &'static Storm, set: &str, pairs: &[(u32, u32)], until: &str) -> Vec<u64> {
    let names: Vec<String> = pairs
        .iter()
        .map(|(from, to)| format!("\"{from} -> {to}\""))
        .collect();
    let text = format!(
        "[topology]\nkind = \"dumbbell\"\npairs = 4\nfirst_rate = \"90Gbps\"\nbottleneck_rate = \"400Gbps\"\n\
         [workload]\nkind = \"long-flows\"\npairs = [{}]\n[transport]\nkind = \"dctcp\"\n[transport.dctcp]\n\
         ecn = false\ninitial_window = 1000\n[switch]\nflow_control = \"{1}\"\nshared_buffer = \"{BUFFER}\"\n\
         [switch.{1}]\n{set}\n[run]\nuntil = \"{until}\"\n",
        names.join(", "),
        storm.name
    );
    let all = transports::registry().with_control(storm);
    let scenario = load_text_with(&all, "t.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let of = scenario.assemble().unwrap_or_else(|e| panic!("{e}"));
    let make = |config: &EndpointConfig| of.endpoint(config);
    let mut setup = of.setup(&make, 1);
    setup.probes.accepted = true;
    let outcome = sim::run(&setup, &mut sim::Blind).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(outcome.conservation, Ok(()));
    let mut sums = vec![0; pairs.len()];
    for ((conn, _), bytes) in outcome.accepted {
        sums[conn as usize] += bytes;
    }
    sums
}

#[test]
fn a_storm_of_pauses_stops_strangers_and_the_watchdog_lets_them_go() {
    // Three others of the rack get something from the other rack, too.
    let pairs = [(4, 0), (5, 1), (6, 2), (7, 3)];
    let of = |storm, set: &str| {
        let brought = brought(storm, set, &pairs, "2ms");
        let rates = brought.iter().map(|&bytes| bytes as f64 * 8.0 / 2e6);
        rates.collect::<Vec<f64>>()
    };
    let restore = "watchdog_restore = \"500us\"\nwatchdog";
    let stopped = of(&STORM, &format!("{restore} = \"off\""));
    let watched = of(&STORM, &format!("{restore} = \"100us\""));
    println!("T4: Gb/s of four strangers: {stopped:.1?}, with a watchdog {watched:.1?}");
    // They had 300 us before it began.
    assert!(stopped[1..].iter().all(|&rate| rate < 30.0), "{stopped:?}");
    let sum = |rates: &[f64]| rates[1..].iter().sum::<f64>();
    assert!(
        sum(&watched) > 1.8 * sum(&stopped),
        "{stopped:?}, {watched:?}"
    );
    assert!(watched[0] > 1.5 * stopped[0], "{stopped:?}, {watched:?}");
    // Where flows are paused, it stops what comes to itself.
    let flows = of(&STORM_OF_FLOWS, "");
    println!("T4: where flows are paused {flows:.1?}");
    assert!(flows[0] < 30.0, "{flows:?}");
    assert!(flows[1..].iter().all(|&rate| rate > 80.0), "{flows:?}");
}

#[test]
fn a_storm_stops_more_and_more_hosts_and_the_watchdog_gives_them_back() {
    let hosts = || 0..8;
    // The first connection is the one that the storm of flows pauses.
    let mut pairs = vec![(1, 0)];
    let all = hosts().flat_map(|from| hosts().map(move |to| (from, to)));
    pairs.extend(all.filter(|&(from, to)| from != to && (from, to) != (1, 0)));
    // Hosts to which less than 25 KB come between two of these times, in us.
    let still = |storm, set: &str, by: [u32; 6]| {
        let by = by.map(|end| brought(storm, set, &pairs, &format!("{end}us")));
        let counts: Vec<usize> = by
            .windows(2)
            .map(|by| {
                let came = |host| {
                    let into = (0..pairs.len()).filter(|&conn| pairs[conn].1 == host);
                    into.map(|conn| by[1][conn] - by[0][conn]).sum::<u64>()
                };
                hosts().filter(|&host| came(host) < 25_000).count()
            })
            .collect();
        counts
    };
    let storm = still(
        &STORM,
        "watchdog = \"off\"",
        [100, 300, 500, 2000, 5000, 5300],
    );
    let short = [100, 300, 500, 700, 900, 1100];
    let restored = "watchdog = \"100us\"\nwatchdog_restore = \"500us\"";
    let watched = still(&STORM, restored, short);
    let flows = still(&STORM_OF_FLOWS, "", short);
    println!(
        "T4: hosts of 8 to which nothing comes, by time: {storm:?}, with a watchdog {watched:?}, \
         where flows are paused {flows:?}"
    );
    assert_eq!((storm[0], storm[4]), (0, 8), "{storm:?}");
    assert!(storm.is_sorted(), "{storm:?}");
    // The storm begins at 300 us, is seen 100 us later, and for 500 us the port stands open.
    assert_eq!(watched[1..3], [0, 0], "{watched:?}");
    assert_eq!(flows, [0; 5], "one flow stands still");
}
