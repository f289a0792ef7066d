//! The general port by itself: who joins which queue, who leaves next, and what it says of itself.
//!
//! In order: classes and numbers of queues, gates, moments, limits, passing, turns, books. What becomes of packets
//! without room is in `tests/room.rs`.

use super::*;
use crate::discipline::IDLE;
use model::intent::{
    CreditCount, CreditSpec, DropBy, DropMeasure, DropSpec, MarkSpec, Order, Takes,
};
use model::{Ecn, HostId, stream};
use units::{Bytes, Rate};

mod room;

const LINE: LineTime = LineTime::new(Rate::gbps(10));
const FULL: Verdict = Verdict::Dropped(DropReason::Full);
/// A queue of its own, without a bound.
const ANY: QueueSpec = QueueSpec {
    limit: Limit::None,
    ..QueueSpec::DATA
};
const CREDIT: CreditSpec = CreditSpec {
    queue_limit: 4,
    bucket: 2,
    count: CreditCount::Credits,
    size_mean: 84,
    frame_max: 1538,
    share: CreditSpec::WHOLE,
};

fn port(buffer: u64, queues: &[QueueSpec]) -> Queues {
    let spec = PortSpec {
        buffer: Bytes(buffer),
        queues: queues.to_vec(),
        shares: Vec::new(),
    };
    new(&spec)
}

fn new(spec: &PortSpec) -> Queues {
    Queues::new(
        spec,
        spec.buffer.get(),
        LINE,
        &Rng::stream(1, stream::TEST, 0),
    )
}

fn of(class: Class, conn: u32, size: u16) -> Packet {
    let mut packet = Packet::new(HostId(0), ConnId(conn), class, 0, size);
    packet.set_ecn(Ecn::Capable0);
    packet
}

fn data(conn: u32, size: u16) -> Packet {
    of(Class::Plain, conn, size)
}

/// Packets of `class` alone come here.
fn only(class: Class, queue: QueueSpec) -> QueueSpec {
    QueueSpec {
        takes: Takes::ALL.only(class),
        ..queue
    }
}

/// Offers `packet` while so many bytes are left of the frame on the line.
fn offer(port: &mut Queues, on_line: u64, mut packet: Packet) -> Verdict {
    let line = OnLine {
        until: Time::ZERO + LINE.of(on_line),
        ..IDLE
    };
    port.enqueue(Time::ZERO, line, &mut packet)
}

fn put(port: &mut Queues, packet: Packet) -> Verdict {
    let verdict = offer(port, 0, packet);
    port.check();
    verdict
}

/// What leaves at `now`, by connection, or why nothing does.
fn get(port: &mut Queues, now: Time) -> Result<u32, Dequeue> {
    let mut out = Packet::EMPTY;
    let done = port.dequeue(now, &mut out);
    port.check();
    let leaves = matches!(done, Dequeue::Packet | Dequeue::Last);
    if leaves { Ok(out.conn.0) } else { Err(done) }
}

/// All that leaves, in order, and why nothing does any more.
fn drain(port: &mut Queues) -> (Vec<u32>, Dequeue) {
    let mut order = Vec::new();
    loop {
        match get(port, Time::ZERO) {
            Ok(conn) => order.push(conn),
            Err(why) => return (order, why),
        }
    }
}

#[test]
fn every_kind_of_packet_finds_the_first_queue_that_takes_it() {
    let takes = |lanes, priorities, trimmed| Takes {
        lanes,
        priorities,
        trimmed,
        ..Takes::ALL
    };
    let queues = [
        takes(0b0110, 0b1000_0001, Some(true)),
        takes(0b0001, 0b0001_0001, None).only(Class::Credit),
        takes(0b0011, 0b0000_0110, Some(false)),
        takes(0b1111, 0b1111_0000, None).only(Class::Unscheduled),
        takes(0b1000, 0b1000_0000, None),
        takes(0b0101, 0b0001_1100, Some(true)).only(Class::Control),
    ]
    .map(|takes| QueueSpec { takes, ..ANY });
    let spec = PortSpec {
        buffer: Bytes(0),
        queues: queues.to_vec(),
        shares: Vec::new(),
    };
    let mut taken = [0; 7];
    for class in Class::ALL {
        for (lane, priority) in (0..LANES).flat_map(|lane| (0..8).map(move |p| (lane, p))) {
            for trimmed in [false, true] {
                let mut packet = of(class, 1, 84);
                packet.set_lane(lane);
                packet.set_priority(priority);
                if trimmed {
                    packet.trim(64);
                }
                let place = spec.queue_of(lane, class, priority, trimmed);
                let mut port = new(&spec);
                let expected =
                    place.map_or(FULL, |place| Verdict::Queued(u8::try_from(place).unwrap()));
                assert_eq!(put(&mut port, packet), expected, "{packet:?}");
                let mut port = new(&spec);
                assert_eq!(port.pass(Time::ZERO, &mut packet), place.is_some());
                taken[place.unwrap_or(6)] += 1;
            }
        }
    }
    assert!(taken.iter().all(|&kinds| kinds > 0), "{taken:?}");
}

#[test]
fn queues_inside_a_queue_have_numbers_of_their_own() {
    let many = QueueSpec {
        order: Order::Numbered(4),
        ..ANY
    };
    let mut port = port(0, &[only(Class::Control, ANY), many, ANY]);
    assert_eq!(put(&mut port, data(1, 100)), Verdict::Queued(1));
    for number in 0..6 {
        let mut packet = data(number.into(), 100);
        let verdict = port.enqueue_in(number, Time::ZERO, IDLE, &mut packet);
        assert_eq!(verdict, Verdict::Queued(number));
        port.check();
    }
    let mut left = || (get(&mut port, Time::ZERO), port.last_queue());
    // Of one group, the earlier queue first; inside the second, the turn begins after its first.
    for number in [0, 2, 3, 4, 1] {
        assert_eq!(left(), (Ok(number), u8::try_from(number).unwrap()));
    }
    assert_eq!((left(), left()), ((Ok(1), 1), (Ok(5), 5)));
    assert_eq!(left(), (Err(Dequeue::Empty), 5));
}

fn shut(port: &mut Queues, of: GateOf, state: GateState) {
    port.gate(Gate { of, state });
}

#[test]
#[allow(clippy::too_many_lines, reason = "one kind of gate after the other")]
fn a_gate_keeps_what_it_is_of_and_nothing_else() {
    let many = QueueSpec {
        order: Order::Numbered(3),
        takes: Takes {
            priorities: 0b0000_0010,
            ..Takes::ALL
        },
        ..ANY
    };
    let urgent = QueueSpec {
        takes: Takes {
            priorities: 0b0000_0001,
            ..Takes::ALL
        },
        ..ANY
    };
    // Numbers 0, 1 to 3, and 4; by priority 0, 1, and all others.
    let filled = || {
        let mut port = port(0, &[urgent, many, ANY]);
        for (number, priority) in [(0, 0), (1, 1), (2, 1), (3, 1), (4, 2)] {
            let mut packet = data(10 + u32::from(number), 100);
            packet.set_priority(priority);
            port.enqueue_in(number, Time::ZERO, IDLE, &mut packet);
        }
        port
    };
    let open = [10, 12, 13, 11, 14];
    for (gate, kept, paused) in [
        (GateOf::Queue(0), &[10][..], Paused::All),
        (GateOf::Queue(1), &[11], Paused::Queue(0)),
        (GateOf::Queue(3), &[13], Paused::Queue(2)),
        (GateOf::Queue(4), &[14], Paused::All),
        (GateOf::Queue(5), &[], Paused::All),
        (GateOf::Queue(255), &[], Paused::All),
        (GateOf::Priority(0), &[10], Paused::All),
        (GateOf::Priority(1), &[11, 12, 13], Paused::All),
        (GateOf::Priority(2), &[14], Paused::All),
        (GateOf::Flow(ConnId(10)), &[], Paused::All),
    ] {
        let mut port = filled();
        assert!(!port.is_gated() && port.held_packets().is_empty());
        shut(&mut port, gate, GateState::Closed);
        assert_eq!(port.is_gated(), !kept.is_empty(), "{gate:?}");
        let held: Vec<_> = port.held_packets();
        let held: Vec<_> = held.iter().map(|(p, why, _)| (p.conn.0, *why)).collect();
        let expected: Vec<_> = kept.iter().map(|&conn| (conn, paused)).collect();
        assert_eq!(held, expected, "{gate:?}");
        let leave = open.iter().copied().filter(|conn| !kept.contains(conn));
        let why = if kept.is_empty() {
            Dequeue::Empty
        } else {
            Dequeue::Held
        };
        assert_eq!(drain(&mut port), (leave.collect(), why), "{gate:?}");
        shut(&mut port, gate, GateState::Open);
        assert!(!port.is_gated(), "{gate:?}");
        assert_eq!(drain(&mut port).0.len(), kept.len(), "{gate:?}");
    }
    // Of a queue that takes several priorities, who is first waits for the gate of its own.
    let mut port = filled();
    let mut behind = data(15, 100);
    behind.set_priority(7);
    port.enqueue_in(4, Time::ZERO, IDLE, &mut behind);
    shut(&mut port, GateOf::Priority(7), GateState::Closed);
    shut(&mut port, GateOf::Priority(3), GateState::Closed);
    assert!(port.is_gated() && port.held_packets().is_empty());
    shut(&mut port, GateOf::Priority(3), GateState::Open);
    assert_eq!(drain(&mut port), (open.to_vec(), Dequeue::Held));
    let held: Vec<_> = port.held_packets();
    let held: Vec<_> = held.iter().map(|(p, why, _)| (p.conn.0, *why)).collect();
    assert_eq!(held, [(15, Paused::All)]);
    shut(&mut port, GateOf::Priority(7), GateState::Bytes(99));
    assert_eq!(drain(&mut port).1, Dequeue::Held, "a byte is missing");
    shut(&mut port, GateOf::Priority(7), GateState::Bytes(100));
    assert_eq!(drain(&mut port).0, [15]);
}

#[test]
fn a_gate_of_a_connection_is_one_where_connections_take_turns() {
    let turns = QueueSpec {
        order: Order::PerFlow,
        ..ANY
    };
    let mut port = port(0, &[turns]);
    for conn in [1, 2, 1] {
        put(&mut port, data(conn, 100));
    }
    shut(&mut port, GateOf::Flow(ConnId(1)), GateState::Closed);
    assert!(port.is_gated());
    let held = port.held_packets();
    assert!(
        held.iter()
            .all(|(p, why, _)| p.conn.0 == 1 && *why == Paused::Flow)
    );
    assert_eq!(held.len(), 2);
    assert_eq!(drain(&mut port), (vec![2], Dequeue::Held));
    shut(&mut port, GateOf::Flow(ConnId(1)), GateState::Open);
    assert_eq!(drain(&mut port), (vec![1, 1], Dequeue::Empty));
}

#[test]
fn a_gate_of_bytes_lets_frames_through_that_fit_whole() {
    let mut port = port(0, &[only(Class::Control, ANY), ANY]);
    for size in [600, 400, 1] {
        put(&mut port, data(u32::from(size), size));
    }
    let mut give = |bytes| {
        shut(&mut port, GateOf::Queue(1), GateState::Bytes(bytes));
        let held = port.held_packets().len();
        (port.is_gated(), held, drain(&mut port))
    };
    assert_eq!(give(599), (true, 3, (vec![], Dequeue::Held)));
    // The last byte is spent, and what is left wants more.
    assert_eq!(give(1_000), (true, 0, (vec![600, 400], Dequeue::Held)));
    assert_eq!(give(1), (true, 0, (vec![1], Dequeue::Empty)));
    assert_eq!(put(&mut port, data(7, 1)), Verdict::Queued(1));
    assert_eq!(drain(&mut port), (vec![], Dequeue::Held), "none are left");
    // A gate of one queue holds nothing else back.
    put(&mut port, of(Class::Control, 8, 84));
    assert_eq!(drain(&mut port), (vec![8], Dequeue::Held));
}

/// Credits of lane 1 wait in number 0, for half of the line; those of lane 0 in number 1, for all of it.
fn shaped() -> Queues {
    let other = QueueSpec {
        takes: Takes {
            lanes: 0b10,
            ..Takes::ALL
        },
        ..QueueSpec::credit(CreditSpec {
            share: 5_000,
            ..CREDIT
        })
    };
    let own = QueueSpec {
        takes: Takes {
            lanes: 0b01,
            ..Takes::ALL
        }
        .only(Class::Credit),
        ..QueueSpec::credit(CREDIT)
    };
    port(0, &[other, own, ANY])
}

/// Of lane 1 from number 10 on.
fn credit(conn: u32) -> Packet {
    let mut packet = of(Class::Credit, conn, 84);
    packet.set_lane(u8::from(conn >= 10));
    packet
}

#[test]
fn what_leaves_says_whether_something_still_waits_and_until_when() {
    let mut port = shaped();
    for conn in [10, 11, 12, 0, 1, 2] {
        put(&mut port, credit(conn));
    }
    let (mut now, mut left, mut out) = (Time::ZERO, Vec::new(), Packet::EMPTY);
    while left.len() < 6 {
        match port.dequeue(now, &mut out) {
            Dequeue::Wait(at) => {
                assert!(at > now);
                let early = Time(at.0 - 1);
                assert_eq!(port.dequeue(early, &mut out), Dequeue::Wait(at));
                now = at;
            }
            done => {
                left.push((out.conn.0, now));
                let last = left.len() == 6;
                assert_eq!(done, if last { Dequeue::Last } else { Dequeue::Packet });
            }
        }
    }
    // Buckets start empty; the half of a line takes twice as long for a credit. Of those that are ready, the earlier
    // queue goes first.
    let period = CREDIT.period(LINE).0;
    let at = |periods| Time(periods * period);
    assert_eq!(
        left,
        [
            (0, at(1)),
            (10, at(2)),
            (1, at(2)),
            (2, at(3)),
            (11, at(4)),
            (12, at(6))
        ]
    );
    assert_eq!(port.dequeue(now, &mut out), Dequeue::Empty);
    // What a gate keeps waits for the gate; beside it, what is shaped has its moment.
    put(&mut port, data(5, 100));
    put(&mut port, credit(3));
    shut(&mut port, GateOf::Queue(2), GateState::Closed);
    shut(&mut port, GateOf::Queue(1), GateState::Closed);
    assert_eq!(get(&mut port, now), Err(Dequeue::Held));
    shut(&mut port, GateOf::Queue(1), GateState::Open);
    for conn in [4, 6] {
        put(&mut port, credit(conn));
    }
    assert_eq!((get(&mut port, now), get(&mut port, now)), (Ok(3), Ok(4)));
    let next = get(&mut port, now);
    assert_eq!(next, Err(Dequeue::Wait(at(7))), "the bucket held two");
    assert_eq!(get(&mut port, at(7)), Ok(6));
    assert_eq!(get(&mut port, at(7)), Err(Dequeue::Held));
}

#[test]
fn queues_of_the_ports_buffer_share_it_with_their_frame_on_the_line() {
    let spec = [
        only(Class::Control, QueueSpec::DATA),
        only(Class::Credit, ANY),
        QueueSpec::DATA,
    ];
    let mut shared = port(3_000, &spec);
    assert_eq!(
        offer(&mut shared, 1_000, of(Class::Control, 1, 1_500)),
        Verdict::Queued(0)
    );
    assert_eq!(offer(&mut shared, 1_000, data(2, 501)), FULL);
    assert_eq!(
        offer(&mut shared, 1_000, data(2, 500)),
        Verdict::Queued(2),
        "the last byte"
    );
    assert_eq!(offer(&mut shared, 999, data(2, 2)), FULL);
    assert_eq!(offer(&mut shared, 999, data(2, 1)), Verdict::Queued(2));
    // A frame of another queue on the line takes nothing.
    let mut other = port(3_000, &spec);
    put(&mut other, of(Class::Credit, 1, 84));
    assert_eq!(get(&mut other, Time::ZERO), Ok(1));
    assert_eq!(offer(&mut other, 1_000, data(2, 3_000)), Verdict::Queued(2));
    assert_eq!(offer(&mut other, 0, data(2, 1)), FULL);
    assert_eq!((other.held(), other.backlog().data_bytes), (3_000, 3_000));
}

#[test]
fn a_queue_has_a_limit_of_its_own() {
    let bytes = QueueSpec {
        limit: Limit::Bytes(Bytes(1_000)),
        ..QueueSpec::DATA
    };
    let packets = QueueSpec {
        limit: Limit::Packets(2),
        ..QueueSpec::DATA
    };
    let queues = [
        only(Class::Control, packets),
        QueueSpec::credit(CREDIT),
        only(Class::Plain, bytes),
        ANY,
    ];
    let mut port = port(0, &queues);
    let fits = |port: &mut Queues, on_line, class, size| {
        offer(port, on_line, of(class, 1, size)) != FULL && port.spilled().is_none()
    };
    // A count of packets looks at no bytes, nor at the line; it is the queue of the last frame.
    let control = [(); 3].map(|()| fits(&mut port, 60_000, Class::Control, 60_000));
    assert_eq!(control, [true, true, false]);
    // The frame on the line was of another queue than that of bytes.
    assert!(fits(&mut port, 400, Class::Plain, 1_000) && !fits(&mut port, 0, Class::Plain, 1));
    let credits = [(); 5].map(|()| put(&mut port, of(Class::Credit, 1, 84)));
    assert_eq!(
        credits[3..],
        [Verdict::Queued(1), Verdict::Dropped(DropReason::CreditFull)]
    );
    assert!((0..9).all(|_| fits(&mut port, 0, Class::Scheduled, 60_000)));
    assert_eq!(
        port.held(),
        121_000,
        "neither credits nor what has no bound"
    );
    assert_eq!(drain(&mut port).0.len(), 2 + 1 + 9, "credits must wait");
    // Its own frame on the line counts.
    let mut port = self::port(0, &[only(Class::Credit, ANY), bytes]);
    put(&mut port, data(1, 1_000));
    assert_eq!(get(&mut port, Time::ZERO), Ok(1));
    assert!(!fits(&mut port, 400, Class::Plain, 601) && fits(&mut port, 400, Class::Plain, 600));
}

fn dropping(measure: DropMeasure, queue: QueueSpec) -> QueueSpec {
    QueueSpec {
        drop: Some(DropSpec {
            victim: Class::Unscheduled,
            threshold: Bytes(1_000),
            measure,
            by: DropBy::Class,
        }),
        ..queue
    }
}

#[test]
fn a_class_is_dropped_by_what_waits_in_the_port_or_of_itself() {
    let bounded = QueueSpec {
        limit: Limit::Bytes(Bytes(9_000)),
        ..QueueSpec::DATA
    };
    let dropped = Verdict::Dropped(DropReason::Selective);
    for (own, before, expected) in [
        // 600 B in another bounded queue, 300 to 400 in its own.
        (bounded, 399, Verdict::Queued(1)),
        (bounded, 400, dropped),
        // What has no bound counts where it is, and not twice.
        (ANY, 399, Verdict::Queued(1)),
        (ANY, 400, dropped),
    ] {
        let queues = [
            only(Class::Control, bounded),
            dropping(DropMeasure::Port, own),
        ];
        let mut port = port(0, &queues);
        put(&mut port, of(Class::Control, 1, 600));
        put(&mut port, data(2, before));
        assert_eq!(put(&mut port, of(Class::Unscheduled, 3, 84)), expected);
    }
    let mut port = port(9_000, &[dropping(DropMeasure::VictimOnly, QueueSpec::DATA)]);
    put(&mut port, data(1, 5_000));
    for size in [900, 99] {
        assert_eq!(
            put(&mut port, of(Class::Unscheduled, 2, size)),
            Verdict::Queued(0)
        );
    }
    assert_eq!(
        put(&mut port, of(Class::Unscheduled, 2, 1)),
        Verdict::Queued(0)
    );
    assert_eq!(put(&mut port, of(Class::Unscheduled, 2, 1)), dropped);
    assert_eq!(
        (get(&mut port, Time::ZERO), get(&mut port, Time::ZERO)),
        (Ok(1), Ok(2))
    );
    assert_eq!(
        put(&mut port, of(Class::Unscheduled, 2, 1)),
        Verdict::Queued(0)
    );
}

#[test]
fn what_passes_an_empty_port_leaves_it_as_one_that_waited() {
    let one = |change: fn(&mut QueueSpec)| {
        let mut queue = QueueSpec::DATA;
        change(&mut queue);
        queue
    };
    let late = |queue: &mut QueueSpec| {
        queue.mark = Some(MarkSpec {
            min: Bytes(84),
            max: Bytes(84),
            chance: 1.0,
            at: MarkAt::Dequeue,
            drop_others: false,
        });
    };
    for (what, queue, passes) in [
        ("one row", QueueSpec::DATA, true),
        ("ranks", one(|q| q.order = Order::Rank), true),
        ("turns", one(|q| q.order = Order::PerFlow), false),
        ("numbers", one(|q| q.order = Order::Numbered(2)), false),
        ("marks late", one(late), true),
        ("one place", one(|q| q.limit = Limit::Packets(1)), true),
        ("no place", one(|q| q.limit = Limit::Packets(0)), false),
        ("no bound", ANY, true),
        (
            "too small",
            one(|q| q.limit = Limit::Bytes(Bytes(83))),
            false,
        ),
        (
            "shaped",
            one(|q| (q.shape, q.limit) = (Some(CREDIT), Limit::Credits)),
            false,
        ),
        ("credits", one(|q| q.limit = Limit::Credits), true),
    ] {
        let ports = || [only(Class::Control, ANY), queue];
        let (mut passing, mut waiting) = (port(9_000, &ports()), port(9_000, &ports()));
        let mut packet = data(1, 84);
        assert_eq!(passing.pass(Time::ZERO, &mut packet), passes, "{what}");
        if !passes {
            assert!(packet.ecn() == Ecn::Capable0 && passing.peak() == Backlog::default());
            assert_eq!(passing.last_queue(), 0, "{what}");
            continue;
        }
        put(&mut waiting, data(1, 84));
        let mut out = Packet::EMPTY;
        assert_eq!(waiting.dequeue(Time::ZERO, &mut out), Dequeue::Last);
        assert_eq!(packet.ecn(), out.ecn(), "{what}");
        let told = |port: &Queues| {
            let queue = (port.last_queue(), port.counts_line(), port.held());
            (queue, port.peak(), port.backlog(), port.marked())
        };
        assert_eq!(told(&passing), told(&waiting), "{what}");
        let marked = queue.mark.is_some();
        assert_eq!(
            (packet.ecn() == Ecn::Marked, passing.marked()),
            (marked, marked.into())
        );
        assert_eq!(passing.last_queue(), 1, "{what}");
    }
    let mut port = port(9_000, &[only(Class::Control, ANY), QueueSpec::DATA]);
    for state in [GateState::Closed, GateState::Bytes(9_000)] {
        shut(&mut port, GateOf::Queue(1), state);
        assert!(!port.pass(Time::ZERO, &mut data(1, 84)), "{state:?}");
        assert!(port.pass(Time::ZERO, &mut of(Class::Control, 1, 84)));
    }
    shut(&mut port, GateOf::Queue(1), GateState::Open);
    put(&mut port, of(Class::Control, 1, 84));
    assert!(!port.pass(Time::ZERO, &mut data(1, 84)), "another waits");
}

#[test]
fn who_leaves_alone_has_had_the_turn() {
    let group = |class, group| QueueSpec {
        group,
        ..only(class, ANY)
    };
    let queues = [group(Class::Plain, 0), group(Class::Control, 1)];
    for passes in [false, true] {
        let mut port = port(0, &queues);
        let mut alone = of(Class::Control, 1, 9_000);
        if passes {
            assert!(port.pass(Time::ZERO, &mut alone));
        } else {
            put(&mut port, alone);
            assert_eq!(get(&mut port, Time::ZERO), Ok(1));
        }
        put(&mut port, alone);
        put(&mut port, data(2, 9_000));
        assert_eq!(drain(&mut port), (vec![2, 1], Dequeue::Empty));
    }
    // From the start the turn is the first one's, which is over before it has earned anything.
    let mut port = port(0, &queues);
    put(&mut port, data(2, 9_000));
    put(&mut port, of(Class::Control, 1, 9_000));
    assert_eq!(drain(&mut port).0, [1, 2]);
}

#[test]
fn a_port_tells_what_waits_and_the_most_that_ever_did() {
    let mut port = port(
        9_000,
        &[
            QueueSpec::credit(CREDIT),
            only(Class::Scheduled, ANY),
            QueueSpec::DATA,
        ],
    );
    assert!(!port.counts_line(), "credits are not the port's queue");
    put(&mut port, data(1, 1_000));
    assert_eq!(get(&mut port, Time::ZERO), Ok(1));
    assert!(port.counts_line());
    // 500 B of it are still on the line.
    offer(&mut port, 500, data(2, 1_000));
    offer(&mut port, 0, data(3, 200));
    offer(&mut port, 0, of(Class::Scheduled, 4, 3_000));
    for _ in 0..3 {
        put(&mut port, of(Class::Credit, 5, 84));
    }
    let backlog = |data_bytes, credits| Backlog {
        data_bytes,
        credits,
    };
    assert_eq!(
        (port.peak(), port.backlog()),
        (backlog(1_500, 3), backlog(4_200, 3))
    );
    assert_eq!(port.held(), 1_200);
    let waiting = port.waiting();
    let kinds = [
        Class::Plain,
        Class::Scheduled,
        Class::Credit,
        Class::Control,
    ];
    assert_eq!(kinds.map(|class| waiting[class]), [2, 1, 3, 0]);
    assert_eq!(
        (get(&mut port, Time(9_000_000)), port.counts_line()),
        (Ok(5), false)
    );
    assert_eq!(port.peak(), backlog(1_500, 3));
    port.forget_peak(30);
    assert_eq!(port.peak(), backlog(1_230, 2));
    // A credit on the line is no part of the queue.
    offer(&mut port, 500, data(6, 100));
    assert_eq!(port.peak(), backlog(1_300, 2));
    // Neither is a frame of the link.
    port.forget_peak(84);
    assert_eq!(port.peak(), backlog(1_300, 2));
}

#[test]
fn credits_of_several_queues_wait_at_once() {
    let lane = |lane: u8| {
        let mut queue = QueueSpec::credit(CREDIT);
        queue.takes.lanes = 1 << lane;
        queue
    };
    let mut port = port(9_000, &[lane(0), lane(1), QueueSpec::DATA]);
    for lane in [0, 1, 1] {
        let mut credit = of(Class::Credit, 5, 84);
        credit.set_lane(lane);
        put(&mut port, credit);
        port.check();
    }
    assert_eq!((port.peak().credits, port.backlog().credits), (3, 3));
    port.forget_peak(0);
    assert_eq!(port.peak().credits, 3, "they still do");
    assert!(get(&mut port, Time(9_000_000)).is_ok());
    port.check();
    assert_eq!((port.peak().credits, port.backlog().credits), (3, 2));
}

#[test]
fn marks_on_the_way_out_count_the_one_that_leaves() {
    let queue = QueueSpec {
        mark: Some(MarkSpec {
            min: Bytes(1_500),
            max: Bytes(1_500),
            chance: 1.0,
            at: MarkAt::Dequeue,
            drop_others: false,
        }),
        ..QueueSpec::DATA
    };
    let mut port = port(9_000, &[only(Class::Control, queue), queue]);
    let (mut out, mut marks) = (Packet::EMPTY, Vec::new());
    for class in [Class::Plain, Class::Plain, Class::Plain, Class::Control] {
        put(&mut port, of(class, 1, 750));
    }
    while port.dequeue(Time::ZERO, &mut out) != Dequeue::Empty {
        marks.push((out.class(), out.ecn() == Ecn::Marked));
    }
    let plain = |marked| (Class::Plain, marked);
    assert_eq!(
        marks,
        [
            (Class::Control, false),
            plain(true),
            plain(true),
            plain(false)
        ]
    );
    assert_eq!(port.marked(), 2);
}

type Breaks = fn(&mut Queues);

/// What the books say must be what waits: each of them that is wrong is noticed.
#[test]
fn books_that_are_wrong_are_noticed() {
    let wrong: [(&str, Breaks); 9] = [
        ("bytes of a queue", |port| port.queues[1].bytes += 1),
        ("bounded", |port| port.held -= 1),
        ("buffered", |port| port.buffered += 1),
        ("counted", |port| port.counted -= 1),
        ("one that is empty", |port| port.filled |= 1),
        ("one that is not", |port| port.filled &= !2),
        ("the buffer", |port| port.buffer = 399),
        ("spilled", |port| {
            port.spilled.push((data(1, 84), Spilled::Bounced));
        }),
        ("nothing", |_| {}),
    ];
    for (what, break_it) in wrong {
        let other = QueueSpec {
            limit: Limit::Bytes(Bytes(500)),
            ..QueueSpec::DATA
        };
        let queues = [
            only(Class::Control, QueueSpec::DATA),
            QueueSpec::DATA,
            other,
        ];
        let mut port = port(900, &[queues[0], only(Class::Plain, queues[1]), queues[2]]);
        put(&mut port, data(1, 400));
        put(&mut port, of(Class::Scheduled, 2, 300));
        assert_eq!((port.held, port.buffered, port.counted), (700, 400, 700));
        break_it(&mut port);
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| port.check()));
        assert_eq!(checked.is_err(), what != "nothing", "{what}");
    }
}
