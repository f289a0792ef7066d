//! What pauses of flows and of queues promise, on fabrics, traffic and faults that are drawn: nothing stops for good,
//! nothing is overtaken, nothing that a line did not lose is lost.

use model::{Class, EndpointConfig, Packet, Rng, stream};
use results::{MemoryPart, RunRecord};
use scenario::{Alone, Scenario, load_text};
use sim::{Blind, Outcome, Pausing, Trace, TraceEvent, Traced, Wanted};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use topology::{LinkId, NodeKind, Topology};
use units::{Span, Time};

/// Draws a scenario.
struct Draw(Rng);

impl Draw {
    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.below(high - low + 1)
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.0.below(of.len() as u64)).expect("an index")]
    }

    /// A fabric in which every way goes up and then down.
    fn topology(&mut self) -> (String, u64) {
        let rate = self.pick(&[10, 25, 100]);
        let faster = rate * self.pick(&[1, 1, 4]);
        let (text, hosts) = if self.0.below(3) == 0 {
            let each = self.between(1, 3);
            let text = format!(
                "kind = \"three-tier\"\npods = 2\ntors = 4\naggs = 4\ncores = 4\nhosts_per_tor = {each}\n\
                 tor_rate = \"{faster}Gbps\"\nagg_rate = \"{faster}Gbps\"\n"
            );
            (text, 4 * each)
        } else {
            let (leaves, spines, each) =
                (self.between(2, 4), self.between(1, 3), self.between(2, 7));
            let text = format!(
                "kind = \"leaf-spine\"\nleaves = {leaves}\nspines = {spines}\nhosts_per_leaf = {each}\n\
                 uplink_rate = \"{faster}Gbps\"\n"
            );
            (text, leaves * each)
        };
        let delay = self.pick(&["200ns", "1us", "5us"]);
        let text =
            format!("[topology]\n{text}host_rate = \"{rate}Gbps\"\nhost_delay = \"{delay}\"\n");
        (text, hosts)
    }

    /// Many to one, and messages between any.
    fn traffic(&mut self, hosts: u64) -> String {
        let senders = self.between(2, 30);
        let size = self.pick(&["3KB", "20KB", "64KB", "150KB"]);
        let to = self.between(0, hosts - 1);
        let sizes = self.pick(&["web-server", "facebook-hadoop"]);
        let messages = self.between(20, 80);
        format!(
            "[[workload]]\nkind = \"incast\"\nsenders = {senders}\nreceiver = {to}\nsize = \"{size}\"\n\
             [[workload]]\nkind = \"random\"\nsizes = \"{sizes}\"\nload = 0.1\nmessages = {messages}\n"
        )
    }

    fn transport(&mut self) -> &'static str {
        self.pick(&[
            "[transport]\nkind = \"none\"\n[transport.none]\nretry = \"1ms\"\n",
            "[transport]\nkind = \"none\"\n[transport.none]\nretry = \"1ms\"\n",
            "[transport]\nkind = \"dctcp\"\n[transport.dctcp]\necn = false\ninitial_window = 1000\n",
            "[transport]\nkind = \"dctcp\"\n",
        ])
    }

    /// The flow control and its parameters; `lossy` where frames of links may be lost, which it must then say again.
    fn control(&mut self, kind: &str, lossy: bool) -> String {
        let mut text = format!("[switch]\nflow_control = \"{kind}\"\n[switch.{kind}]\n");
        let line = |text: &mut String, said: String| {
            let _ = writeln!(text, "{said}");
        };
        match kind {
            "ideal" => {
                line(
                    &mut text,
                    format!("threshold = {}", self.pick(&["0.2", "1.5", "6.0"])),
                );
                line(
                    &mut text,
                    format!("xon = {}", self.pick(&["0.0", "0.5", "1.0"])),
                );
            }
            "bfc" => {
                line(
                    &mut text,
                    format!("queues = {}", self.pick(&[1, 2, 4, 31, 128])),
                );
                line(
                    &mut text,
                    format!("sticky = \"{}\"", self.pick(&["0s", "6us"])),
                );
                line(&mut text, format!("table = {}", self.pick(&[1, 200])));
                line(&mut text, format!("scale = {}", self.pick(&["0.2", "1.0"])));
                if lossy {
                    line(&mut text, "signals = \"periodic\"".to_owned());
                }
            }
            _ => {
                let (queues, reserved) =
                    self.pick(&[(2, 1), (3, 2), (8, 1), (8, 4), (17, 1), (128, 1), (128, 64)]);
                line(
                    &mut text,
                    format!("queues = {queues}\nreserved = {reserved}"),
                );
                let (low, high) = self.pick(&[("0.5", "0.5"), ("2.0", "4.0"), ("0.1", "8.0")]);
                line(&mut text, format!("low = {low}\nhigh = {high}"));
                line(
                    &mut text,
                    format!("thresholds = \"{}\"", self.pick(&["active", "fixed"])),
                );
                line(
                    &mut text,
                    format!("mapping = \"{}\"", self.pick(&["least", "hash"])),
                );
                line(&mut text, format!("table = {}", self.pick(&[1, 5, 7200])));
                if lossy {
                    line(&mut text, "refresh = \"20us\"".to_owned());
                }
            }
        }
        text
    }

    /// What goes wrong: nothing that repeats packets or changes their order, and no link that packets go round. Whether
    /// frames of links may be lost, too.
    fn faults(&mut self, kind: &str) -> (String, bool) {
        let all = "[[faults]]\nlink = \"* <-> *\"\n";
        let mild = format!("{all}kind = \"loss\"\nclass = \"plain\"\nchance = 0.002\n");
        let chance = self.pick(&["0.02", "0.2"]);
        match self.0.below(4) {
            0 => (String::new(), false),
            1 => (mild, false),
            // Nothing of ideal flow control is said twice.
            _ if kind == "ideal" => (mild, false),
            2 => (
                format!("{all}kind = \"loss\"\nclass = \"link\"\nchance = {chance}\n"),
                true,
            ),
            _ => {
                let (from, long) = (self.between(20, 200), self.between(5, 60));
                // A host's line, or all lines of a switch: nobody takes another way.
                let link = if from.is_multiple_of(2) { "h0" } else { "tor0" };
                let text = format!(
                    "[[faults]]\nlink = \"{link} <-> *\"\nkind = \"down\"\nfrom = \"{from}us\"\nuntil = \"{}us\"\ndetect = \"1s\"\n",
                    from + long
                );
                (
                    format!("{all}kind = \"corrupt\"\nchance = 0.001\n{text}"),
                    true,
                )
            }
        }
    }
}

/// Links that run at a tenth of the rate that routing knows; none two times in three.
fn degraded(seed: u64, topology: &str) -> &'static str {
    let three = topology.contains("three-tier");
    match Rng::stream(seed, stream::TEST, 8).below(6) {
        0 => "slow = \"h1 <-> *\"\n",
        1 if three => "slow = \"agg0 <-> *\"\n",
        1 => "slow = \"spine0 <-> *\"\n",
        _ => "",
    }
}

/// The scenario of a seed, with its flow control.
fn drawn(seed: u64) -> (String, &'static str) {
    let mut draw = Draw(Rng::stream(seed, stream::TEST, 7));
    let kind = draw.pick(&["ideal", "bfc", "aquarius"]);
    let (topology, hosts) = draw.topology();
    let (faults, lossy) = draw.faults(kind);
    let slow = degraded(seed, &topology);
    let mut traffic = draw.traffic(hosts);
    if !slow.is_empty() {
        // Of what lines carry at their rate: a tenth of that is what slow ones can.
        traffic = traffic.replace("load = 0.1\n", "load = 0.01\n");
    }
    let all = [
        topology,
        slow.to_owned(),
        traffic,
        draw.transport().to_owned(),
        draw.control(kind, lossy),
        faults,
        format!("[run]\nseed = {seed}\nuntil = \"20s\"\n"),
    ];
    (all.concat(), kind)
}

const DATA: [Class; 3] = [Class::Scheduled, Class::Unscheduled, Class::Plain];

fn traced(text: &str) -> (Outcome, Trace, Topology) {
    let of = load_text("drawn.toml", text, &[])
        .and_then(Scenario::assemble)
        .unwrap_or_else(|e| panic!("{e}\n{text}"));
    let make = |config: &EndpointConfig| of.endpoint(config);
    let setup = of.setup(&make, 1);
    let wanted = Wanted {
        conns: None,
        window: Time::ZERO..Time::NEVER,
        events_max: 1 << 23,
    };
    let (outcome, trace) = sim::trace(&setup, &mut Blind, wanted).unwrap_or_else(|e| panic!("{e}"));
    let trace = trace.expect("it is short");
    let topology = Topology::clone(&setup.topology);
    (outcome, trace, topology)
}

type Id = (u8, [u32; 3], u16);

/// Packets of data that came to their host after one that was sent after them. Each is looked for behind the last one that
/// came, in what its host sent.
fn overtaken(events: &[TraceEvent], topology: &Topology) -> usize {
    let id = |packet: &Packet| (packet.kind(), packet.head, packet.size);
    let is_host = |node: topology::NodeId| topology.node(node).kind == NodeKind::Host;
    // By connection and whose data: what passed the first link and has not come yet.
    let mut sent: BTreeMap<(u32, u32), Vec<Id>> = BTreeMap::new();
    let mut came: BTreeMap<(u32, u32), Vec<Id>> = BTreeMap::new();
    for event in events {
        let (Traced::Arrived(link), packet) = (event.what, &event.packet) else {
            continue;
        };
        if !DATA.contains(&packet.class()) {
            continue;
        }
        let link = topology.link(link);
        let key = (packet.conn.0, packet.to().0);
        if is_host(link.from) {
            sent.entry(key).or_default().push(id(packet));
        } else if is_host(link.to) {
            came.entry(key).or_default().push(id(packet));
        }
    }
    let late = |(key, came): (&(u32, u32), &Vec<Id>)| {
        let mut rest = sent[key].iter();
        came.iter()
            .filter(|id| !rest.any(|sent| sent == *id))
            .count()
    };
    came.iter().map(late).sum()
}

/// Gates that are closed at the end, and flows that a next switch does not want then, by their lines.
fn still_paused(trace: &Trace) -> Vec<(LinkId, String)> {
    let mut still = BTreeMap::new();
    for event in &trace.pauses {
        let (what, paused) = match event.what {
            Pausing::Gate(of, open) => (format!("{of:?}"), !open),
            Pausing::Kept(conn, queue) => (format!("kept {}", conn.0), queue.is_some()),
            Pausing::Asked(..) | Pausing::Joined(..) => continue,
        };
        still.insert((event.link, what), paused);
    }
    let still = still.into_iter().filter(|&(_, paused)| paused);
    still.map(|(what, _)| what).collect()
}

/// Most bytes that a queue of a port may hold, of the pages of flow controls.
const MOST: [(&str, u64); 3] = [
    ("ideal", 1_620_000),
    ("bfc", 2_920_000),
    ("aquarius", 3_550_000),
];

/// What there was of what a population must have.
struct Seen {
    kind: &'static str,
    pauses: u64,
    /// The largest queue.
    most: u64,
    /// Hosts, as next after a last switch, that had to stop.
    hosts: usize,
    /// Frames of the flow control that were lost.
    frames: u64,
    text: String,
}

/// Runs what a seed draws.
fn holds(seed: u64) -> Seen {
    let (text, kind) = drawn(seed);
    let (outcome, trace, topology) = traced(&text);
    let what = format!("seed {seed}:\n{text}");
    assert_eq!(outcome.conservation, Ok(()), "{what}");
    assert_eq!(outcome.unfinished, 0, "{:?} in {what}", outcome.stuck);
    assert_eq!(outcome.locked, [], "{what}");
    assert_eq!(
        overtaken(&trace.events, &topology),
        0,
        "overtaken in {what}"
    );
    let ports = || outcome.ports.iter();
    let dropped = ports().flat_map(|port| DATA.map(|class| port.dropped[class]));
    assert_eq!(dropped.sum::<u64>(), 0, "dropped in {what}");
    let most = ports().map(|port| port.queue_max).max().unwrap_or(0);
    // What ports hold follows from thresholds and round trips, and not from what is to be sent.
    let bound = MOST.iter().find(|(name, _)| *name == kind);
    let bound = bound.expect("every flow control has one").1;
    assert!(most <= bound, "{most} B in {what}");
    let frames: u64 = ports().map(|port| port.lost[Class::Link]).sum();
    if frames == 0 {
        assert_eq!(still_paused(&trace), [], "{what}");
    }
    let of_hosts = topology.links.iter().zip(outcome.ports.iter());
    let stopped = of_hosts.filter(|(link, port)| {
        topology.node(link.from).kind == NodeKind::Host && port.paused > Span::ZERO
    });
    Seen {
        kind,
        pauses: ports().map(|port| port.pauses).sum(),
        most,
        hosts: stopped.count(),
        frames,
        text,
    }
}

/// Whether a run has something.
type Has = fn(&Seen) -> bool;

/// What a run may have, with how to see that.
const PARTS: [(&str, Has); 10] = [
    ("pauses", |of| of.pauses > 0),
    ("a host that had to stop", |of| of.hosts > 0),
    ("lost frames of the flow control", |of| of.frames > 0),
    ("links slower than routing knows", |of| {
        of.text.contains("slow = ")
    }),
    ("a host's link down", |of| {
        of.text.contains("link = \"h0 <-> *\"")
    }),
    ("links of a switch down", |of| {
        of.text.contains("link = \"tor0 <-> *\"")
    }),
    ("one or two queues", |of| has(of, &["1", "2"])),
    ("3 to 8 queues", |of| has(of, &["3", "4", "8"])),
    ("17 or 31 queues", |of| has(of, &["17", "31"])),
    ("128 queues", |of| has(of, &["128"])),
];

fn has(of: &Seen, queues: &[&str]) -> bool {
    let mut said = queues.iter().map(|count| format!("queues = {count}\n"));
    said.any(|line| of.text.contains(&line))
}

/// Runs so many, on all threads. Returns how many runs of each flow control there are, and how many have each of [`PARTS`].
fn all_hold(seeds: u64) -> BTreeMap<&'static str, (u64, [u64; PARTS.len()])> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let of = |thread: usize| {
        (0..seeds)
            .skip(thread)
            .step_by(threads)
            .map(holds)
            .collect()
    };
    let all: Vec<Seen> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(move || -> Vec<Seen> { of(thread) }))
            .collect();
        let seen = all
            .into_iter()
            .flat_map(|of| of.join().expect("it says what failed"));
        seen.collect()
    });
    let mut by_kind: BTreeMap<&str, (u64, [u64; PARTS.len()], u64)> = BTreeMap::new();
    for seen in all {
        let (runs, parts, largest) = by_kind.entry(seen.kind).or_default();
        *runs += 1;
        for (count, (_, has)) in parts.iter_mut().zip(PARTS) {
            *count += u64::from(has(&seen));
        }
        *largest = seen.most.max(*largest);
    }
    for (kind, (runs, parts, largest)) in &by_kind {
        eprintln!("{kind}: {runs} runs, largest queue {largest} B");
        for (count, (part, _)) in parts.iter().zip(PARTS) {
            eprintln!("  {count} with {part}");
        }
        assert!(
            2 * parts[0] > *runs,
            "{kind}: {} of {runs} pause at all",
            parts[0]
        );
    }
    let parts = by_kind.into_iter();
    parts
        .map(|(kind, (runs, parts, _))| (kind, (runs, parts)))
        .collect()
}

/// 500 for each of the three.
#[test]
fn pauses_of_flows_and_queues_hold_for_500_seeds() {
    let all = all_hold(1600);
    assert!(all.values().all(|(runs, _)| *runs >= 500), "{all:?}");
    for ((kind, part), count) in all.iter().flat_map(|(kind, (_, counts))| {
        let named = PARTS.iter().map(move |(part, _)| (*kind, *part));
        named.zip(counts)
    }) {
        // It has a queue for each flow, and says nothing twice that might get lost.
        let never = kind == "ideal"
            && (part.ends_with("queues") || part.contains("lost") || part.contains("down"));
        assert_eq!(*count < 5, never, "{kind}: {count} with {part}");
    }
}

/// An incast of four, under every transport and every flow control.
#[test]
fn every_transport_runs_under_every_flow_control_but_where_switches_cut_packets() {
    let registry = transports::registry();
    let mut refused = Vec::new();
    for transport in registry.names() {
        for control in registry.control_names() {
            let text = format!(
                "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 3\n[[workload]]\nkind = \
                 \"incast\"\nsenders = 4\nsize = \"100KB\"\n[transport]\nkind = \"{transport}\"\n[switch]\n\
                 flow_control = \"{control}\"\nshared_buffer = \"24MB\"\n[switch.pfc]\nlossless = 8\n"
            );
            // Those that make queues of their own say that they make them of one.
            let sets = match load_text("pairs.toml", &text, &[]).and_then(Scenario::assemble) {
                Ok(_) => Vec::new(),
                Err(said) => {
                    let said = said.render(false);
                    if !said.contains("write switch.priorities = 1") {
                        assert!(said.contains("cuts or pushes out packets"), "{said}");
                        refused.push(transport);
                        continue;
                    }
                    assert!(!["pfc", "cbfc"].contains(&control), "{said}");
                    vec!["switch.priorities=1".to_owned()]
                }
            };
            let record = load_text("pairs.toml", &text, &sets)
                .and_then(Scenario::assemble)
                .and_then(|run| run.run(1, "", &mut Alone))
                .unwrap_or_else(|e| panic!("{transport} under {control}: {e}"));
            assert_eq!(record.conservation, Ok(()), "{transport} under {control}");
            let open = record.flows.iter().filter(|flow| flow.end.is_none());
            assert_eq!(open.count(), 0, "{transport} under {control}");
        }
    }
    assert_eq!(refused, ["ndp"; 5], "what trims");
}

/// What the memory held is told part by part, and asking changes nothing.
#[test]
#[allow(clippy::too_many_lines, reason = "one part after the other")]
fn the_most_that_a_memory_held_is_told_by_port_priority_and_queue() {
    let run = |control: &str, memory: bool| {
        let text = format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 9\nhost_rate = \"10Gbps\"\n\
             uplink_rate = \"40Gbps\"\n[[workload]]\nkind = \"incast\"\nsenders = 16\nsize = \"200KB\"\n[transport]\n\
             kind = \"none\"\n[switch]\nflow_control = \"{control}\"\nshared_buffer = \"2MB\"\n[output]\nmemory = {memory}\n"
        );
        load_text("memory.toml", &text, &[])
            .and_then(Scenario::assemble)
            .and_then(|run| run.run(1, "", &mut Alone))
            .unwrap_or_else(|e| panic!("{e}"))
    };
    for control in ["pfc", "ideal", "bfc", "aquarius", "cbfc"] {
        let (asked, not) = (run(control, true), run(control, false));
        assert_eq!(asked.fingerprint, not.fingerprint);
        assert!(not.memory.is_empty() && !asked.memory.is_empty());
        let of = |node: &str, part, link: Option<u32>| -> Vec<u64> {
            let rows = asked
                .memory
                .iter()
                .filter(|row| row.node == node && row.part == part);
            let own = rows.filter(|row| row.link == link || link.is_none());
            own.map(|row| row.most).collect()
        };
        for node in ["tor0", "tor1", "spine0"] {
            let all = of(node, MemoryPart::Switch, None)[0];
            assert!(0 < all && all <= 2_000_000);
            for (whole, parts) in [
                (MemoryPart::Came, MemoryPart::CameAtPriority),
                (MemoryPart::Waits, MemoryPart::WaitsAtPriority),
                (MemoryPart::Waits, MemoryPart::Queue),
            ] {
                let ports = asked
                    .memory
                    .iter()
                    .filter(|row| row.node == node && row.part == whole);
                let mut sum = 0;
                for row in ports {
                    let own = of(node, parts, row.link);
                    let (most, together) = (own.iter().max().copied(), own.iter().sum::<u64>());
                    assert!(
                        most <= Some(row.most) && row.most <= together,
                        "{control}: {row:?} {own:?}"
                    );
                    sum += row.most;
                }
                assert!(sum >= all, "{control}: {sum} of {all} B at {node}");
            }
        }
        // What `queue_max` says may have a part of the frame on the line in it.
        let of_switches = asked.ports.iter().filter(|port| !port.of_host());
        let fullest = of_switches
            .max_by_key(|port| port.queue_max)
            .expect("ports");
        let waits = of(&fullest.from, MemoryPart::Waits, Some(fullest.link))[0];
        assert!(
            (waits..waits + 1538).contains(&fullest.queue_max),
            "{control}: {waits} B wait at {}, whose queue has {}",
            fullest.name(),
            fullest.queue_max
        );
        // Headroom is told at the port, asked for or not: never more than is kept.
        let headroom = |record: &RunRecord| -> Vec<u64> {
            record.ports.iter().map(|port| port.headroom_max).collect()
        };
        assert_eq!(headroom(&asked), headroom(&not));
        let most = headroom(&asked).into_iter().max().expect("ports");
        let told = asked
            .memory
            .iter()
            .filter(|row| row.part == MemoryPart::Headroom);
        assert_eq!(told.map(|row| row.most).max().unwrap_or(0), most);
        let kept = 40 * 2_000 / 8 + 3 * 1538 + 84;
        assert!(
            most <= kept && (most > 0) == (control == "pfc"),
            "{control}: {most} of {kept} B"
        );
        let longest = asked
            .ports
            .iter()
            .map(|port| (port.pause_longest, port.paused));
        assert!(longest.clone().all(|(one, any)| one <= any), "{control}");
        assert!(
            longest.map(|(one, _)| one).max() > Some(Span::ZERO),
            "{control}"
        );
    }
}

/// Credits that an early STOP counts on are wasted where they meet a pause; the rest must be asked for at once, and not
/// after the time in which a dead receiver is noticed.
#[test]
fn what_a_pause_took_from_an_early_stop_is_asked_for_within_round_trips() {
    for (control, transport, seed) in [
        ("bfc", "expresspass", 1),
        ("cbfc", "expresspass", 5),
        ("cbfc", "expresspass+aeolus", 1),
        ("bfc", "expresspass+ssp", 7),
    ] {
        let text = format!(
            "[topology]\nkind = \"parking-lot\"\nhost_rate = \"10Gbps\"\nbottlenecks = 2\n[[workload]]\nkind = \
             \"incast\"\nsenders = 17\nsize = \"1.7MB\"\nreceiver = 5\n[transport]\nkind = \"{transport}\"\n\
             [switch]\nflow_control = \"{control}\"\n[run]\nseed = {seed}\n"
        );
        let record = load_text("stop.toml", &text, &[])
            .and_then(Scenario::assemble)
            .and_then(|run| run.run(1, "", &mut Alone))
            .unwrap_or_else(|e| panic!("{e}"));
        let ends = record.flows.iter().map(|flow| flow.end);
        let last = ends.max().flatten().expect("messages");
        assert!(
            record.flows.iter().all(|flow| flow.end.is_some())
                && last < Time::ZERO.after(Span::ms(30)),
            "{transport} under {control}: the line is busy for 24 ms, and the last message ends at {last}"
        );
    }
}

/// A pause of a moment makes a timer wait for that moment longer, and not for as long as a dead receiver is given.
#[test]
fn a_short_pause_before_a_lost_stop_costs_no_more_than_the_pause() {
    let end = |control: &str| {
        let text = format!(
            "[topology]\nkind = \"star\"\nhosts = 6\n[[workload]]\nkind = \"permutation\"\nsize = \"2MB\"\n\
             [transport]\nkind = \"expresspass\"\n[switch]\nflow_control = \"{control}\"\n[[faults]]\nkind = \"loss\"\n\
             link = \"h1 <-> tor0\"\nclass = \"scheduled\"\nchance = 0.3\nfrom = \"60us\"\nuntil = \"160us\"\n"
        );
        let record = load_text("short.toml", &text, &[])
            .and_then(Scenario::assemble)
            .and_then(|run| run.run(1, "", &mut Alone))
            .unwrap_or_else(|e| panic!("{e}"));
        let ends: Option<Vec<Time>> = record.flows.iter().map(|flow| flow.end).collect();
        ends.and_then(|ends| ends.into_iter().max())
            .expect("messages that end")
    };
    let (idle, paused) = (end("none"), end("cbfc"));
    assert!(
        paused < idle.after(Span::ms(1)),
        "{paused} under cbfc, and {idle} without pauses"
    );
}
