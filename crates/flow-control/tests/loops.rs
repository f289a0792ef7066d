//! A loop of two switches, in which packets go round until their hops are used up: each takes so many turns of the
//! same lines that a small rate fills them, and pauses of priorities then wait for each other.

use model::intent::{Memory, PortSpec, SwitchSpec};
use model::{Class, ConnId, HostId, Packet, Rng, Signal, stream};
use parts::{Control, Neighbour, Place};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use switching::{Line, Outlet, Routing, Switch};
use units::{Bytes, LineTime, Rate, Span, Time};

/// Bytes of every frame, links that a packet may take, and the rate of every line: two lines of 40 Gb/s hold what takes
/// 16 hops each up to 2 * 40 / 16 = 5 Gb/s. [Hu et al., `HotNets` 2016: r <= n B / TTL]
const FRAME: u16 = 1000;
const HOPS: u8 = 16;
const RATE: Rate = Rate::gbps(40);
const DELAY: Span = Span::us(1);
const MEMORY: u64 = 1_000_000;
/// A frame takes as long.
const TICK: Span = Span(200_000);
/// Who goes round, and who crosses one line of the loop.
const LOST: HostId = HostId(0);
const BYSTANDER: HostId = HostId(1);

/// Port 0 leads to hosts, port 1 to the other switch. What is lost goes to the other switch at either.
struct Ways(bool);
impl Routing for Ways {
    fn ways(&self, host: u32) -> &[u16] {
        if HostId(host) == BYSTANDER && self.0 {
            &[0]
        } else {
            &[1]
        }
    }
    fn way_of_flow(_: u32, _: u32, _: u32) -> u32 {
        0
    }
}

/// Packets under way: when, in which order, to which switch (or host), by which port.
#[derive(Default)]
struct Lines {
    to_come: BinaryHeap<Reverse<(Time, u64, u8, u16)>>,
    packets: Vec<Packet>,
    at: u8,
    lost: u64,
}

impl Lines {
    fn put(&mut self, at: Time, to: u8, port: u16, packet: Packet) {
        let order = self.packets.len() as u64;
        self.packets.push(packet);
        self.to_come.push(Reverse((at, order, to, port)));
    }
}

/// Numbers of hosts at the ends of lines: those of a switch are behind its port 0.
const HOST: u8 = 2;

impl Outlet for Lines {
    fn send(&mut self, link: u32, packet: &Packet, at: Time) {
        let to = if link == 1 {
            1 - self.at
        } else {
            HOST + self.at
        };
        self.put(at, to, u16::from(link == 1), *packet);
    }
    fn lost(&mut self, _: Time, _: &Packet, why: switching::Loss) {
        self.lost += u64::from(matches!(why, switching::Loss::Port(..)));
    }
    fn sender(&self, _: &Packet) -> Option<HostId> {
        None
    }
}

fn switch(kind: &dyn Control) -> Switch {
    let factory = kind.configure(&toml::Table::new()).expect("defaults");
    let port = factory.port(PortSpec::fifo(Bytes(MEMORY))).expect("a port");
    let line = |is_host| Neighbour {
        rate: RATE,
        back: RATE,
        round: DELAY.times(2),
        is_host,
        port: &port,
    };
    let control = factory.make(&Place {
        lines: &[line(true), line(false)],
        memory: Bytes(MEMORY),
        frame: FRAME.into(),
        rng: Rng::stream(1, stream::TEST, 0),
    });
    let port = std::sync::Arc::new(port);
    let lines = (0..2).map(|link| Line {
        spec: &port,
        link,
        line: LineTime::new(RATE),
        delay: DELAY,
        rng: Rng::stream(1, stream::TEST, link.into()),
    });
    let spec = SwitchSpec {
        memory: Memory::Shared {
            size: Bytes(MEMORY),
            alpha: 1024.0,
        },
        ..SwitchSpec::default()
    };
    Switch::new(
        &spec,
        lines,
        0,
        || Rng::stream(1, stream::TEST, 9),
        Some(control),
    )
}

/// A host that sends frames of one connection at a rate, where it may.
struct Source {
    conn: ConnId,
    to: HostId,
    gap: Span,
    next: Time,
}

/// Both at the first switch's host: `mbps` of what goes round, and 2 Gb/s of the bystander. Returns what the bystander
/// got between 3 and 4 ms in Gb/s, how many packets left the line of the loop in that time, and what was lost.
fn run(kind: &dyn Control, mbps: u64) -> (f64, u64, u64) {
    let mut switches = [switch(kind), switch(kind)];
    let mut lines = Lines::default();
    let mut gates = model::Gates::default();
    let mut credits = switches[0].grants(0);
    let source = |conn, to, mbps| Source {
        conn: ConnId(conn),
        to,
        gap: Rate::mbps(mbps).serialize(Bytes(FRAME.into())),
        next: Time(u64::from(conn)),
    };
    let mut sources = [source(1, LOST, mbps), source(2, BYSTANDER, 2_000)];
    let (mut got, mut turns) = (0, 0);
    let late = Time(3_000_000_000)..Time(4_000_000_000);
    let mut now = Time::ZERO;
    while now < late.end {
        let end = now + TICK;
        for source in sources.iter_mut().filter(|source| source.next < end) {
            let short = credits.as_ref().is_some_and(|credits| credits.is_short(0));
            if short || !gates.may_send(source.conn, 0) {
                source.next = end;
                continue;
            }
            let mut packet = Packet::new(source.to, source.conn, Class::Plain, 0, FRAME);
            for _ in HOPS..packet.ttl() {
                assert!(packet.hop());
            }
            if let Some(credits) = &mut credits {
                credits.spend(&packet);
            }
            lines.put(source.next.after(DELAY), 0, 0, packet);
            source.next = source.next.after(source.gap);
        }
        while let Some(&Reverse((at, order, to, port))) =
            lines.to_come.peek().filter(|next| next.0.0 < end)
        {
            lines.to_come.pop();
            let mut packet = lines.packets[usize::try_from(order).expect("few")];
            match to {
                HOST => {
                    if let Some(said) = model::CreditFrame::of(&packet)
                        && let Some(credits) = &mut credits
                    {
                        credits.hear(said);
                    } else if let Some(signal) = Signal::of(&packet) {
                        gates.heed(at, signal);
                    }
                }
                3 => got += u64::from(late.contains(&at)),
                _ => {
                    lines.at = to;
                    turns += u64::from(late.contains(&at) && port == 1 && packet.conn.0 == 1);
                    switches[usize::from(to)].arrive(
                        at,
                        port,
                        &mut packet,
                        || false,
                        &Ways(to == 1),
                        &mut lines,
                    );
                }
            }
        }
        for (number, switch) in (0..).zip(&mut switches) {
            lines.at = number;
            switch.commit_before(end, &mut lines);
            switch.check();
        }
        now = end;
    }
    (got as f64 * f64::from(FRAME) * 8.0 / 1e6, turns, lines.lost)
}

#[test]
fn a_loop_locks_under_pauses_of_priorities_from_the_rate_on_that_its_lines_cannot_carry() {
    // The bystander leaves 38 Gb/s of one line for eight turns of it, 4.75 each. Credits lock a little below that, and what
    // is a little too much has not filled the memory under pauses after 4 ms.
    for (kind, open, locked) in [
        (
            &flow_control::pfc::PFC as &dyn Control,
            &[4_000, 4_500, 4_800][..],
            &[5_300, 6_000, 8_000][..],
        ),
        (
            &flow_control::cbfc::CBFC,
            &[4_000, 4_500],
            &[4_700, 4_800, 5_300, 6_000, 8_000],
        ),
    ] {
        for &mbps in open {
            let (got, turns, lost) = run(kind, mbps);
            println!("T1: {}, {mbps} Mb/s: bystander {got:.2} Gb/s", kind.name());
            assert!(
                (got - 2.0).abs() < 0.05,
                "{}, {mbps}: {got} Gb/s",
                kind.name()
            );
            assert!(
                turns > 0 && lost == 0,
                "{}, {mbps}: {turns}, {lost} lost",
                kind.name()
            );
        }
        for &mbps in locked {
            let (got, turns, lost) = run(kind, mbps);
            println!("T1: {}, {mbps} Mb/s: bystander {got:.2} Gb/s", kind.name());
            assert_eq!((got, turns, lost), (0.0, 0, 0), "{}, {mbps}", kind.name());
        }
    }
}

#[test]
fn a_loop_stops_its_own_flow_alone_where_flows_are_paused() {
    // BFC stops it at its host alone: what is in the loop goes on.
    for (kind, freezes) in [
        (&flow_control::ideal::IDEAL as &dyn Control, true),
        (&flow_control::bfc::BFC, false),
        (&flow_control::aquarius::AQUARIUS, true),
    ] {
        for (mbps, stops) in [(4_500, false), (8_000, freezes)] {
            let (got, turns, lost) = run(kind, mbps);
            println!(
                "T1: {}, {mbps} Mb/s: bystander {got:.2} Gb/s, {turns} turns of what loops",
                kind.name()
            );
            assert!(
                (got - 2.0).abs() < 0.05 && lost == 0,
                "{}, {mbps}: {got} Gb/s, {lost} lost",
                kind.name()
            );
            // What loops waits for itself, and for good.
            assert_eq!(turns == 0, stops, "{}, {mbps}: {turns}", kind.name());
        }
    }
}
