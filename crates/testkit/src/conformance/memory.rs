//! What endpoints keep: nothing of what is done, and a bounded amount of what never ends.

use super::{Subject, each};
use crate::{A, B, Pair};
use model::{ConnId, Cx, Endpoint, Gates, HostId, Lifetime, Packet, Peers, Rng, Transmit, stream};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use units::{Bytes, Span, Time};

thread_local! {
    /// Bytes that this thread has allocated and not freed.
    static HEAP: Cell<i64> = const { Cell::new(0) };
}

fn heap() -> i64 {
    HEAP.with(Cell::get)
}

fn add(bytes: usize, sign: i64) {
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    // A thread that is ending has no counter any more, and no reader of it.
    let _ = HEAP.try_with(|held| held.set(held.get() + sign * bytes));
}

/// The system's allocator, counted: the global one of a test that asks what endpoints keep.
#[derive(Debug)]
pub struct Counted;

// SAFETY: every call is handed on unchanged to the system's allocator; counting allocates nothing,
// because the counter is a constant-initialised thread local without a destructor.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size(), 1);
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        add(layout.size(), -1);
        // SAFETY: `at` came from `alloc` above with this layout, as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Panics where [`Counted`] is not the global allocator: nothing that is asked here would fail.
fn is_counting() {
    let before = heap();
    let held = std::hint::black_box(Box::new([0u8; 64]));
    assert!(
        heap() > before,
        "nobody counts: make `Counted` the global allocator"
    );
    drop(held);
}

/// Runs `connections` one after the other and returns what both endpoints hold afterwards.
fn held_after(subject: &Subject, connections: u32, lifetime: Lifetime) -> i64 {
    let make = subject.make();
    let mut pair = subject.pair(make).measure(heap);
    for i in 0..connections {
        let at = Time(u64::from(i) * 100_000_000);
        match lifetime {
            Lifetime::Persistent => {
                let conn = pair.connect(at, A, B);
                pair.send(at, conn, A, 2_000);
            }
            Lifetime::OneMessage => {
                pair.message(at, A, B, 2_000);
            }
            Lifetime::Exchange => {
                pair.exchange(at, A, B, [2_000, 100]);
            }
        }
    }
    pair.run();
    pair.held()
}

/// Connections that are done cost nothing.
pub fn a_message_that_is_done_is_forgotten(subjects: &[Subject]) {
    is_counting();
    each(subjects, |subject| {
        for lifetime in [Lifetime::OneMessage, Lifetime::Exchange] {
            let held = |connections| held_after(subject, connections, lifetime);
            let (few, many) = (held(200), held(3_000));
            assert!(
                many - few < 4_096,
                "{lifetime:?}: {few} B after 200 messages, {many} B after 3000"
            );
        }
    });
}

/// So do connections that their hosts were told to forget in the middle of a message.
pub fn what_is_forgotten_costs_nothing(subjects: &[Subject]) {
    is_counting();
    each(subjects, |subject| {
        let held = |connections: u32| {
            let make = subject.make();
            let mut pair = subject.pair(make).measure(heap);
            for i in 0..connections {
                let at = Time(u64::from(i) * 100_000_000);
                let conn = if i % 2 == 0 {
                    pair.message(at, A, B, 200_000)
                } else {
                    pair.exchange(at, A, B, [200_000, 200_000])
                };
                for host in [A, B] {
                    pair.forget(at.after(Span::us(40)), conn, host);
                }
            }
            pair.run();
            pair.held()
        };
        let (few, many) = (held(200), held(2_000));
        assert!(
            many - few < 8_192,
            "{few} B after 200 connections, {many} B after 2000"
        );
    });
}

/// Heap of one idle connection, both ends together. [ours: a cache line or two each, and the
/// growth of vectors by doubling; SIRD's has the most]
const IDLE_MAX: i64 = 1_184;

/// Lasting connections without a message cost a few bytes.
pub fn an_idle_connection_costs_little(subjects: &[Subject]) {
    is_counting();
    each(subjects, |subject| {
        let held = held_after(subject, 1_000, Lifetime::Persistent);
        assert!(
            held < 1_000 * IDLE_MAX,
            "{held} B for 1000 idle connections"
        );
    });
}

/// Every connection leads to the other of two hosts.
struct Two;
impl Peers for Two {
    fn peer(&self, me: HostId, _: ConnId) -> Option<HostId> {
        Some(HostId(1 - me.0))
    }
}

/// The packet with which A opens a connection and sends.
fn opening(subject: &Subject) -> Packet {
    let make = subject.make();
    let mut pair: Pair<'_> = subject.pair(make);
    pair.message(Time::ZERO, A, B, 1_000_000);
    pair.run_until(Time::ZERO);
    pair.first_packet().expect("A sends something at once")
}

/// Steps of one lonely endpoint before it counts as storming.
const STEPS_MAX: u64 = 20_000_000;

/// Lets the endpoint do what it wants for `span`; its packets are lost.
fn alone(endpoint: &mut dyn Endpoint, now: &mut Time, rng: &mut Rng, span: Span) {
    let end = now.after(span);
    let rate = units::Rate::gbps(10);
    let (mut events, mut packet) = (Vec::new(), Packet::EMPTY);
    for steps in 0.. {
        if *now >= end {
            return;
        }
        assert!(steps < STEPS_MAX, "the endpoint storms at {now}");
        let mut cx = Cx {
            now: *now,
            rng,
            events: &mut events,
            peers: &Two,
            gates: Gates::open(),
            wants_data: true,
        };
        if endpoint.deadline() <= *now {
            endpoint.on_deadline(&mut cx);
        }
        let free_at = match endpoint.poll_transmit(&mut cx, &mut packet) {
            Transmit::Nothing => Time::NEVER,
            Transmit::More | Transmit::Last => now.after(rate.serialize(Bytes(packet.size.into()))),
        };
        events.clear();
        *now = free_at.min(endpoint.deadline()).max(*now).min(end);
    }
}

/// Openings in one flood.
const FLOOD: u32 = 200;
/// Heap that one of them may take. [ours: a sender, a receiver and a controller of fat transports]
const OPENING_MAX: i64 = 1_024;

/// Openings without a follow-up cost little, and go away.
pub fn a_flood_of_openings_is_bounded_and_expires(subjects: &[Subject]) {
    is_counting();
    each(subjects, |subject| {
        let make = subject.make();
        let config = subject.pair(make).config(B);
        let mut packet = opening(subject);
        let mut endpoint = make(&config);
        let mut rng = Rng::stream(1, stream::HOST, 1);
        let (mut now, mut peaks) = (Time::ZERO, Vec::new());
        let before = heap();
        for wave in 0..3 {
            let mut events = Vec::new();
            for conn in 0..FLOOD {
                let mut cx = Cx {
                    now,
                    rng: &mut rng,
                    events: &mut events,
                    peers: &Two,
                    gates: Gates::open(),
                    wants_data: true,
                };
                packet.conn = ConnId(wave * FLOOD + conn);
                endpoint.on_packet(&mut cx, &packet);
                events.clear();
                alone(&mut *endpoint, &mut now, &mut rng, Span::ns(100));
            }
            drop(events);
            endpoint.check();
            peaks.push(heap() - before);
            alone(&mut *endpoint, &mut now, &mut rng, Span::ms(900_000));
            endpoint.check();
            let mut left = 0;
            endpoint.stuck(&mut |_| left += 1);
            assert_eq!(
                left, 0,
                "openings that are still remembered a quarter of an hour later"
            );
        }
        assert!(
            peaks[0] < i64::from(FLOOD) * OPENING_MAX,
            "{peaks:?} B in the floods"
        );
        // Tables may keep their room, but the next flood lives in it.
        assert!(
            peaks[2] <= peaks[0] + peaks[0] / 4,
            "{peaks:?} B in the floods"
        );
    });
}
