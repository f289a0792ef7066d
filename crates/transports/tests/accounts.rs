//! What becomes of a few hard conversations, for every transport and form of it: how long they take, what is sent and
//! sent again, what its counters say, and what it waits for while a line is down. The tables are recorded; they say
//! what the code does, and the ladders beside the code why that is right.

#![allow(
    clippy::unwrap_used,
    reason = "this is test code, which clippy cannot see here"
)]

mod common;

use common::FORMS;
use model::intent::{PortSpec, SwitchSpec};
use model::wire::Codec;
use model::{
    Class, ConnId, Cx, Encap, Endpoint, EndpointConfig, Event, Facts, HostId, Lifetime, Net,
    Packet, Rng, Signal, SizeList, StuckFlow, Totals, Transmit, stream,
};
use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use testkit::{A, Alone, B, C, Chaos, Pair};
use transports::lanes::Lanes;
use transports::{Described, Fabric, Factory};
use units::{Bytes, Rate, Span, Time};

/// With the last host as arbiter, to whom all others have a connection.
const BY_ARBITER: [(&str, &str); 2] = [
    ("fastpass", "arbiter = 6"),
    ("fastpass", "arbiter = 6\nprofile = \"yaps\"\nlate = 2"),
];

/// Scripts of random bytes for two hosts and a network that lies, each 20 bytes longer than the one before.
const SCRIPTS: u32 = 60;

/// Connections of a flood: four times as many packets as the most that a host's line holds.
const OPENINGS: u32 = 17_000;

/// Hosts of every conversation. The last one is the arbiter of a transport that has one.
const HOSTS: u32 = 7;

fn us(us: u64) -> Time {
    Time(us * 1_000_000)
}

/// Messages of all sizes one after the other and at once, both ways, on connections of every kind.
fn idle(pair: &mut Pair<'_>) {
    for (at, length) in (0..).zip([0, 1, 1_460, 1_461, 9_000, 30_000, 150_000]) {
        pair.message(us(400 * at), A, B, length);
        pair.message(us(400 * at + 100), C, B, length);
    }
    pair.exchange(us(3_500), A, C, [5_000, 40_000]);
    let conn = pair.connect(us(4_000), B, A);
    for (at, length) in [(4_000, 20_000), (4_001, 0), (4_002, 70_000), (6_000, 3_000)] {
        pair.send(us(at), conn, B, length);
    }
    pair.reply(conn, A, 1, 25_000);
    pair.send(us(4_300), conn, A, 2_000);
}

/// Five send to one, which has room for ten frames, and one of them to somebody else.
fn incast(pair: &mut Pair<'_>) {
    for host in 1..HOSTS - 1 {
        pair.message(us(u64::from(host)), HostId(host), A, 60_000);
        pair.message(us(40), HostId(host), A, 2_000 * u64::from(host));
    }
    pair.message(us(50), B, C, 100_000);
}

/// Forty messages among all hosts.
fn crowd(pair: &mut Pair<'_>) {
    let mut rng = Rng::stream(7, stream::TEST, 3);
    let host = |n: u64| HostId(u32::try_from(n).expect("a host"));
    for _ in 0..40 {
        let from = rng.below(u64::from(HOSTS) - 1);
        let to = (from + 1 + rng.below(u64::from(HOSTS) - 2)) % (u64::from(HOSTS) - 1);
        let length = rng.below(60_000) >> rng.below(6);
        pair.message(us(rng.below(300)), host(from), host(to), length);
    }
}

/// What befalls every tenth packet.
const MISHAPS: Chaos = Chaos {
    lose_ppb: 30_000_000,
    duplicate_ppb: 20_000_000,
    delay_ppb: 20_000_000,
    delay_max: Span::us(30),
    mark_ppb: 20_000_000,
    trim_ppb: 20_000_000,
    return_ppb: 10_000_000,
};

/// The same, and every tenth packet has a mishap.
fn chaos(pair: &mut Pair<'_>) {
    crowd(pair);
    pair.chaos(MISHAPS, 5);
}

/// Messages that are taken back early and late, and a peer that forgets.
fn cancels(pair: &mut Pair<'_>) {
    for (at, length) in [(0, 80_000), (5, 80_000), (20, 90_000), (90, 200_000)] {
        let conn = pair.message(us(10), A, B, length);
        pair.cancel(us(10 + at), conn, A);
        pair.message(us(20), A, C, 10_000 + length);
    }
    let conn = pair.message(us(600), B, A, 300_000);
    pair.cancel(us(750), conn, B);
    pair.lose(("DATA", 9));
}

/// Pauses of connections and of priorities.
fn pauses(pair: &mut Pair<'_>) {
    let first = pair.message(us(0), A, B, 90_000);
    let second = pair.message(us(3), A, C, 50_000);
    pair.message(us(5), C, A, 40_000);
    pair.signal(us(12), A, Signal::PauseFlow(first));
    pair.signal(us(70), A, Signal::PauseFlow(second));
    pair.signal(us(120), A, Signal::ResumeFlow(first));
    pair.signal(us(150), A, Signal::ResumeFlow(second));
    for priority in 0..8 {
        let at = 20 * u64::from(priority);
        pair.signal(us(200 + at), A, Signal::PausePriority(priority));
        pair.signal(us(290 + at), A, Signal::ResumePriority(priority));
    }
}

/// B's line is down while messages to and from it are at every stage.
fn silence(pair: &mut Pair<'_>) {
    pair.message(us(0), A, B, 200_000);
    pair.message(us(5), B, A, 200_000);
    pair.message(us(20), C, B, 4_000);
    pair.message(us(28), A, B, 30_000);
    pair.message(us(70), B, C, 6_000);
    pair.down(B, us(45), us(9_000));
}

/// B goes for good while messages to and from it are at every stage: nobody waits for ever.
fn vanish(pair: &mut Pair<'_>) {
    silence(pair);
    pair.exchange(us(0), C, B, [3_000, 90_000]);
    let conn = pair.connect(us(0), B, C);
    pair.send(us(0), conn, B, 4_000);
    pair.reply(conn, C, 0, 120_000);
    pair.down(B, us(70), Time::NEVER);
    let conn = pair.message(us(100), A, C, 60_000);
    pair.forget(us(120), conn, A);
}

/// Connections that carry many messages of all sizes, both ways, one behind the other and one for the other: with
/// the ends of each.
fn open_streams(pair: &mut Pair<'_>) -> Vec<(ConnId, HostId, HostId)> {
    const SIZES: [u64; 9] = [700, 30_000, 0, 4_000, 60_000, 1_460, 9_000, 150_000, 12_345];
    let ends = [(A, B), (C, A), (B, C), (HostId(3), B)];
    let open = |(n, (from, to))| {
        let conn = pair.connect(us(n), from, to);
        for (at, k) in (0..9).zip(n..) {
            let size = |k| SIZES[usize::try_from(k % 9).expect("few")];
            pair.send(us(10 + 70 * at + 7 * n), conn, from, size(k));
            let after = u32::try_from(at).expect("few");
            pair.reply(conn, to, after, size(k + 4));
        }
        (conn, from, to)
    };
    (0..).zip(ends).map(open).collect()
}

fn streams(pair: &mut Pair<'_>) {
    open_streams(pair);
}

/// The same, with mishaps and little room.
fn rough_streams(pair: &mut Pair<'_>) {
    streams(pair);
    pair.chaos(MISHAPS, 9);
}

/// The same, while a line is down for a while and two of them are paused.
fn interrupted_streams(pair: &mut Pair<'_>) {
    let streams = open_streams(pair);
    pair.down(B, us(330), us(2_500));
    for (n, (conn, from, _)) in (0..).zip(&streams[1..3]) {
        pair.signal(us(150 + 90 * n), *from, Signal::PauseFlow(*conn));
        pair.signal(us(290 + 900 * n), *from, Signal::ResumeFlow(*conn));
    }
}

/// A conversation: its name, the network, and the moments at which one asks what it waits for; it is watched for so
/// many seconds where it does not end.
struct Story {
    name: &'static str,
    script: fn(&mut Pair<'_>),
    net: fn(Pair<'_>) -> Pair<'_>,
    looks: &'static [u64],
    endless: Option<u64>,
}

const STORIES: [Story; 12] = [
    Story {
        name: "idle",
        script: idle,
        net: |pair| pair,
        looks: &[],
        endless: None,
    },
    Story {
        name: "incast",
        script: incast,
        net: |pair| pair.buffer(Bytes(15_380)).mark_from(Bytes(6_000)).ways(4),
        looks: &[80],
        endless: None,
    },
    Story {
        name: "long and fast",
        script: crowd,
        net: |pair| {
            let pair = pair.rate(Rate::gbps(100)).delay(Span::us(20)).ways(16);
            pair.encap(Encap::PAPER.with_mtu(9_000).expect("a size of frames"))
        },
        looks: &[60],
        endless: None,
    },
    Story {
        name: "short and slow",
        script: crowd,
        net: |pair| {
            let pair = pair.rate(Rate::gbps(1)).delay(Span::ns(300)).seed(2);
            pair.mark_from(Bytes(30_000)).buffer(Bytes(100_000))
        },
        looks: &[600],
        endless: None,
    },
    Story {
        name: "chaos",
        script: chaos,
        net: |pair| pair.ways(3),
        looks: &[],
        endless: None,
    },
    Story {
        name: "cancels",
        script: cancels,
        net: |pair| pair,
        looks: &[25],
        endless: None,
    },
    Story {
        name: "pauses",
        script: pauses,
        net: |pair| pair,
        looks: &[],
        endless: None,
    },
    Story {
        name: "silence",
        script: silence,
        net: |pair| pair.delay(Span::us(2)),
        looks: &[30, 100, 2_000],
        endless: None,
    },
    Story {
        name: "streams",
        script: streams,
        net: |pair| pair.ways(2).mark_from(Bytes(15_000)),
        looks: &[500],
        endless: None,
    },
    Story {
        name: "rough streams",
        script: rough_streams,
        net: |pair| pair.ways(4).buffer(Bytes(30_000)),
        looks: &[700],
        endless: None,
    },
    Story {
        name: "interrupted streams",
        script: interrupted_streams,
        net: |pair| pair.seed(3),
        looks: &[460],
        endless: None,
    },
    Story {
        name: "vanish",
        script: vanish,
        net: |pair| pair,
        looks: &[1_000],
        endless: Some(60),
    },
];

/// Two racks below two spines: what a transport may know of its network, of which the one hub takes the place.
struct TwoRacks;

impl Net for TwoRacks {
    fn hosts(&self) -> u32 {
        HOSTS
    }
    fn rate(&self, _: HostId) -> Rate {
        Rate::gbps(10)
    }
    fn rack(&self, host: HostId) -> u32 {
        u32::from(host.0 >= 4)
    }
    fn ways(&self, a: HostId, b: HostId) -> u16 {
        match (a == b, self.rack(a) == self.rack(b)) {
            (true, _) => 0,
            (_, true) => 1,
            _ => 2,
        }
    }
    fn base_rtt(&self, a: HostId, b: HostId) -> Option<Span> {
        (a != b).then(|| Span::us(12 * (1 + u64::from(self.ways(a, b)))))
    }
    fn way(&self, a: HostId, b: HostId) -> Vec<(u16, Rate, u32)> {
        let up = (1, self.rate(a), a.0);
        let across = [
            (2, Rate::gbps(20), 100 + self.rack(a)),
            (1, Rate::gbps(20), 200 + self.rack(b)),
        ];
        let down = (1, self.rate(b), 300 + b.0);
        let across = &across[..if self.ways(a, b) == 2 { 2 } else { 0 }];
        [&[up], across, &[down]].concat()
    }
}

/// Flows of one moment whose waits are told.
const LINES_MAX: usize = 7;

/// What happened, in a few lines.
fn account(
    name: &str,
    factory: &dyn Factory,
    control: &[(HostId, HostId)],
    story: &Story,
) -> String {
    let make = |config: &_| factory.make(config);
    let hosts = usize::try_from(HOSTS).expect("few");
    let pair = Pair::star(hosts, &make, factory.codec()).named(name);
    let mut pair = (story.net)(pair);
    for &(from, to) in control {
        pair.connect(Time::ZERO, from, to);
    }
    (story.script)(&mut pair);
    let mut waits = String::new();
    for &look in story.looks {
        pair.run_until(us(look));
        for (host, flow) in pair.stuck().into_iter().take(LINES_MAX) {
            let host = testkit::host_name(host);
            let (state, waits_for) = (flow.state, flow.waits_for);
            writeln!(
                waits,
                "    {look}us  {host}#{}: {state}; {waits_for}",
                flow.conn.0
            )
            .unwrap();
        }
    }
    match story.endless {
        None => pair.run(),
        Some(seconds) => pair.run_until(us(seconds * 1_000_000)),
    }
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    pair.count(|packet| {
        let text = factory.codec().describe(packet);
        let kind = text.split(' ').next().unwrap_or_default();
        *kinds.entry(kind.to_owned()).or_default() += 1;
        false
    });
    let received = |(_, _, event): &&(_, _, Event)| matches!(event, Event::Received { .. });
    let last = pair.events().iter().rfind(received);
    let last = last.map_or("never".to_owned(), |(at, ..)| at.to_string());
    let totals = pair.totals();
    let totals = Totals::ALL.iter().map(|c| c.name).zip(totals.values());
    format!(
        "  {}: the last came in at {last}, forgotten at {}, hash {:016x}\n   {}\n   {}{}\n{waits}",
        story.name,
        pair.now(),
        pair.digest(),
        words(kinds),
        words(totals),
        words(pair.counters()),
    )
}

/// What becomes of bytes that lie.
fn lies(factory: &dyn Factory) -> String {
    let mut rng = Rng::stream(11, stream::TEST, 4);
    let mut byte = || u8::try_from(rng.below(256)).expect("a byte");
    let mut totals = Totals::default();
    let mut own: BTreeMap<&str, u64> = BTreeMap::new();
    let mut digest = 0;
    for script in 0..SCRIPTS {
        let bytes: Vec<u8> = (0..20 * script).map(|_| byte()).collect();
        let fed = testkit::feed(&|config| factory.make(config), factory.codec(), &bytes);
        totals += fed.totals;
        for (name, value) in fed.counters {
            *own.entry(name).or_default() += value;
        }
        digest ^= fed.digest.rotate_left(script);
    }
    let totals = Totals::ALL.iter().map(|c| c.name).zip(totals.values());
    let (totals, own) = (words(totals), words(own));
    format!("  lies: hash {digest:016x}\n   {totals}{own}\n")
}

/// What becomes of more first packets than a host has time to answer, each of them four times.
fn flood(factory: &dyn Factory) -> String {
    let make = |config: &_| factory.make(config);
    let mut pair = Pair::new(&make, factory.codec());
    pair.message(Time::ZERO, A, B, 100_000);
    pair.run_until(Time::ZERO);
    let mut packet = pair.first_packet().expect("it begins at once");
    let mut host = Alone::new(Lonely(factory.make(&pair.config(B))));
    for n in 0..4 * OPENINGS {
        packet.conn = ConnId(n % OPENINGS);
        host.hear(&packet);
    }
    let mut answers = 0;
    while answers < 8 * OPENINGS && host.poll().is_some() {
        answers += 1;
    }
    let host = &host.host.0;
    host.check();
    let totals = Totals::ALL
        .iter()
        .map(|c| c.name)
        .zip(host.totals().values());
    let mut own = Vec::new();
    host.counters(&mut |counter, value| own.push((counter.name, value)));
    format!(
        "  flood: {answers} answers\n   {}{}\n",
        words(totals),
        words(own)
    )
}

/// A host whose invariants are checked at the end alone: each check looks at all of its connections.
struct Lonely(Box<dyn Endpoint>);

impl Endpoint for Lonely {
    fn connect(&mut self, cx: &mut Cx<'_>, conn: ConnId, peer: HostId, lifetime: Lifetime) {
        self.0.connect(cx, conn, peer, lifetime);
    }
    fn send(&mut self, cx: &mut Cx<'_>, conn: ConnId, length: u64) {
        self.0.send(cx, conn, length);
    }
    fn cancel(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        self.0.cancel(cx, conn);
    }
    fn forget(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        self.0.forget(cx, conn);
    }
    fn on_packet(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        self.0.on_packet(cx, packet);
    }
    fn on_deadline(&mut self, cx: &mut Cx<'_>) {
        self.0.on_deadline(cx);
    }
    fn poll_transmit(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        self.0.poll_transmit(cx, out)
    }
    fn deadline(&self) -> Time {
        self.0.deadline()
    }
    fn check(&self) {}
    fn stuck(&self, report: &mut dyn FnMut(StuckFlow)) {
        self.0.stuck(report);
    }
    fn totals(&self) -> Totals {
        self.0.totals()
    }
}

/// What there is any of, with its number.
fn words(counts: impl IntoIterator<Item = (impl Display, u64)>) -> String {
    let mut said = String::new();
    for (name, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        let _ = write!(said, " {name} {count}");
    }
    said
}

/// What it asks for and says before a run.
fn demands(factory: &dyn Factory) -> String {
    let frames = Encap::PAPER.with_mtu(9_000).expect("a size of frames");
    let resolved = factory.resolved();
    let resolved = resolved
        .iter()
        .map(|(key, value)| format!(" {key} = {value}"));
    let mut told = format!(
        "  with{}\n  at 10 Gb/s: {:?}\n  at 100 Gb/s: {:?}\n  sprays: {}, first wait: {:?}, window: {:?}\n",
        resolved.collect::<Vec<_>>().join(","),
        factory.fabric(Rate::gbps(10), Encap::PAPER),
        factory.fabric(Rate::gbps(100), frames),
        factory.sprays(),
        factory.first_wait(),
        factory.window_max(Encap::PAPER).map(|(most, _)| most),
    );
    let switch = SwitchSpec::default();
    let fifo = PortSpec::fifo(Bytes(100_000));
    for port in [fifo.clone().prioritised(3), fifo] {
        if let Err(refusal) = factory.suits(&port, &switch) {
            writeln!(told, "  refuses: {refusal}").unwrap();
        }
    }
    for warning in [factory.warns(false), factory.warns(true)].concat() {
        writeln!(told, "  warns: {warning}").unwrap();
    }
    told
}

/// Every conversation under one form.
fn accounts(name: &str, table: &str) -> String {
    let transport = transports::registry().find(name).expect("it exists");
    let factory = transport.configure(&table.parse().expect("TOML"));
    let mut factory = factory.expect("a form");
    let sizes: SizeList = [0, 1_460, 9_000, 30_000, 150_000].into_iter().collect();
    let mut facts = Facts::of(Encap::PAPER);
    facts.net = Some(&TwoRacks);
    facts.sizes = Some(&sizes);
    facts.load = Some(0.5);
    if let Some(settled) = factory.settle(&facts).expect("it fits") {
        factory = settled;
    }
    let control = factory.control(&facts);
    let told: String = STORIES
        .iter()
        .map(|story| account(name, &*factory, &control, story))
        .collect();
    let table = table.replace('\n', ", ");
    let (demands, lies) = (demands(&*factory), lies(&*factory));
    let flood = flood(&*factory);
    format!(
        "{}\n{demands}{told}{lies}{flood}\n",
        format!("{name} {table}").trim_end()
    )
}

/// All forms of one transport, its default first.
fn all_forms(name: &str) -> String {
    let more = FORMS.iter().chain(&BY_ARBITER);
    let more = more.filter(|(of, _)| *of == name);
    let more: String = more.map(|(_, table)| accounts(name, table)).collect();
    let transport = transports::registry().find(name).expect("it exists");
    let counters = transport.counters().iter().map(|counter| counter.name);
    let keys: Vec<_> = transport.parameters().iter().map(|p| p.key).collect();
    format!(
        "{}\nparameters: {}\ncounts: {}\n\n{}{more}",
        transport.summary(),
        keys.join(" "),
        counters.collect::<Vec<_>>().join(" "),
        accounts(name, ""),
    )
}

/// Two of a kind on one line, the first with three quarters of it: every second connection is of the second.
struct Twice(Box<dyn Factory>);

impl Described for Twice {
    fn codec(&self) -> &'static dyn Codec {
        self.0.codec()
    }
    fn resolved(&self) -> toml::Table {
        self.0.resolved()
    }
}

impl Factory for Twice {
    fn make(&self, config: &EndpointConfig) -> Box<dyn Endpoint> {
        let endpoints = vec![(self.0.make(config), 3), (self.0.make(config), 1)];
        let lane_of: Vec<u8> = (0..64).map(|conn| conn % 2).collect();
        Box::new(Lanes::new(endpoints, lane_of.into()))
    }
    fn fabric(&self, rate: Rate, encap: Encap) -> Fabric {
        self.0.fabric(rate, encap)
    }
}

#[test]
fn beside() {
    let told = ["dctcp", "homa", "ndp"].map(|name| {
        let transport = transports::registry().find(name).expect("it exists");
        let factory = transport.configure(&toml::Table::new());
        let twice = Twice(factory.expect("its default"));
        let told = STORIES
            .iter()
            .map(|story| account(name, &twice, &[], story));
        format!("{name}\n{}\n", told.collect::<String>())
    });
    insta::assert_snapshot!("beside", told.concat());
}

/// A test for each transport, and one for those that it does not name.
macro_rules! accounts {
    ($($test:ident: $name:literal),* $(,)?) => {
        $(
            #[test]
            fn $test() {
                insta::assert_snapshot!(stringify!($test), all_forms($name));
            }
        )*

        #[test]
        fn any_other() {
            for name in transports::registry().names() {
                if ![$($name),*].contains(&name) {
                    insta::assert_snapshot!(name.replace('+', "_"), all_forms(name));
                }
            }
        }
    };
}

accounts! {
    expresspass: "expresspass",
    expresspass_aeolus: "expresspass+aeolus",
    expresspass_gaps: "expresspass+gaps",
    expresspass_ssp: "expresspass+ssp",
    dctcp: "dctcp",
    ideal_rate: "ideal-rate",
    homa: "homa",
    homa_aeolus: "homa+aeolus",
    homa_gaps: "homa+gaps",
    ndp: "ndp",
    ndp_aeolus: "ndp+aeolus",
    ndp_gaps: "ndp+gaps",
    fastpass: "fastpass",
    phost: "phost",
    sird: "sird",
    dcpim: "dcpim",
    none: "none",
}

/// A packet that makes no sense is counted and dropped.
#[test]
fn a_packet_of_no_kind_is_counted_and_changes_nothing() {
    for transport in transports::registry().iter() {
        let name = transport.name();
        let factory = transport.configure(&toml::Table::new()).expect(name);
        let config = EndpointConfig::new(A, Rate::gbps(10), Encap::PAPER);
        let mut host = Alone::new(Lonely(factory.make(&config)));
        // Nobody has so many kinds.
        let strange = Packet::new(A, ConnId(7), Class::Control, 15, 84);
        host.hear(&strange);
        assert_eq!(host.poll().map(|packet| packet.conn), None, "{name}");
        let nonsense = Totals {
            nonsense: 1,
            ..Totals::default()
        };
        let host = (host.events, host.host.totals(), host.host.deadline());
        assert_eq!(host, (Vec::new(), nonsense, Time::NEVER), "{name}");
    }
}
