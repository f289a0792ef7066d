//! What a port may ask for.

use model::Class;
use model::intent::{
    CreditCount, CreditSpec, DropBy, DropMeasure, DropSpec, Limit, MarkAt, MarkSpec, Memory, Order,
    Over, PortSpec, QueueSpec, Share, SwitchSpec,
};
use units::Bytes;

/// A port of one queue that `ask` changes.
fn port(ask: impl FnOnce(&mut QueueSpec), shares: &[Share]) -> Result<(), String> {
    let mut spec = PortSpec::fifo(Bytes(100_000));
    ask(&mut spec.queues[0]);
    spec.shares = shares.to_vec();
    spec.check()
}

fn trim(to: u16) -> Over {
    Over::Trim {
        to,
        coin: false,
        bounce: false,
    }
}

fn marks(min: u64, chance: f64) -> MarkSpec {
    MarkSpec {
        min: Bytes(min),
        max: Bytes(2_000),
        chance,
        at: MarkAt::Enqueue,
        drop_others: false,
    }
}

#[test]
fn what_contradicts_itself_is_told() {
    let told = |found: Result<(), String>, why: &str| {
        let said = found.expect_err(why);
        assert!(said.contains(why), "{said}");
    };
    assert_eq!(port(|_| {}, &[]), Ok(()));
    told(
        port(|queue| queue.over = trim(40), &[]),
        "smaller than 64 B",
    );
    told(
        port(|queue| queue.order = Order::Numbered(0), &[]),
        "1 to 128",
    );
    told(port(|queue| queue.over = Over::PushOut, &[]), "only ranks");
    told(
        port(|queue| queue.limit = Limit::Packets(0), &[]),
        "takes none",
    );
    told(
        port(|queue| queue.mark = Some(marks(3_000, 0.5)), &[]),
        "marks have",
    );
    told(
        port(|queue| queue.mark = Some(marks(1_000, 5.0)), &[]),
        "marks have",
    );
    let cuts_what_nobody_takes = |queue: &mut QueueSpec| {
        queue.takes.trimmed = Some(false);
        queue.over = trim(64);
    };
    told(
        port(cuts_what_nobody_takes, &[]),
        "trimmed packets of class",
    );
    told(port(|queue| queue.over = trim(64), &[]), "another queue");
    for over in [trim(64), Over::PushOut] {
        let without_bound = |queue: &mut QueueSpec| {
            (queue.limit, queue.order, queue.over) = (Limit::None, Order::Rank, over);
        };
        told(port(without_bound, &[]), "never trims or pushes out");
    }
    for (last, weight) in [(5, 2), (2, 0)] {
        let order = Order::NumberedByWeight {
            queues: 4,
            last,
            weight,
        };
        told(port(|queue| queue.order = order, &[]), "have a weight");
    }
    told(port(|_| {}, &[Share::Bytes(0)]), "never served");
    let mixed = [Share::Bytes(1), Share::Packets(1)];
    told(port(|_| {}, &mixed), "by bytes or by packets");
}

/// What queues ask of each other.
#[allow(clippy::too_many_lines, reason = "a table")]
#[test]
fn queues_that_contradict_each_other_are_told() {
    let data = QueueSpec::DATA;
    let heads = |over, order| QueueSpec {
        takes: model::intent::Takes {
            trimmed: Some(true),
            ..data.takes
        },
        limit: Limit::Packets(1),
        over,
        order,
        ..data
    };
    let cuts = QueueSpec {
        over: trim(64),
        ..data
    };
    let drops = |victim, by| QueueSpec {
        drop: Some(DropSpec {
            victim,
            threshold: Bytes(6_000),
            measure: DropMeasure::Queue,
            by,
        }),
        ..data
    };
    let credit = QueueSpec::credit(CreditSpec {
        queue_limit: 16,
        bucket: 2,
        count: CreditCount::Credits,
        size_mean: 84,
        frame_max: 1538,
        share: CreditSpec::WHOLE,
    });
    let never = QueueSpec {
        shape: credit.shape.map(|shape| CreditSpec { share: 0, ..shape }),
        ..credit
    };
    let late = QueueSpec {
        mark: Some(MarkSpec {
            at: MarkAt::Dequeue,
            drop_others: true,
            ..marks(1_000, 0.5)
        }),
        ..data
    };
    let small = QueueSpec {
        limit: Limit::Bytes(Bytes(0)),
        ..data
    };
    let background = QueueSpec::background(Class::Unscheduled);
    let plain = heads(Over::Drop, Order::Fifo);
    for (queues, shares, why) in [
        (vec![plain, cuts], 0, ""),
        (
            vec![heads(Over::PushOut, Order::Rank), cuts],
            0,
            "can only drop",
        ),
        (vec![heads(trim(64), Order::Fifo), cuts], 0, "can only drop"),
        (
            vec![plain, heads(trim(64), Order::Fifo), cuts],
            0,
            "queue 1 takes nothing",
        ),
        (vec![background, data], 0, ""),
        (vec![data, background], 0, "queue 1 takes nothing"),
        (vec![credit, data], 1, ""),
        (vec![never, data], 1, "never leave"),
        (vec![credit, data], 2, "more groups"),
        (
            vec![credit, drops(Class::Unscheduled, DropBy::Class)],
            0,
            "",
        ),
        (
            vec![credit, drops(Class::Credit, DropBy::Class)],
            0,
            "join another",
        ),
        (vec![credit, drops(Class::Credit, DropBy::Ecn)], 0, ""),
        (
            vec![background, drops(Class::Unscheduled, DropBy::Class)],
            0,
            "join another",
        ),
        (vec![drops(Class::Link, DropBy::Class)], 0, "join another"),
        (vec![late], 0, "in place of a mark"),
        (vec![small], 0, "takes none"),
    ] {
        let spec = PortSpec {
            queues,
            shares: vec![Share::Bytes(100); shares],
            ..PortSpec::fifo(Bytes(100_000))
        };
        let found = spec.check().err().unwrap_or_default();
        assert!(
            found.contains(why) && found.is_empty() == why.is_empty(),
            "{why}: {found}"
        );
    }
}

#[test]
fn a_shared_memory_has_room_and_a_threshold() {
    for (size, alpha, fits) in [
        (1_000, 0.5, true),
        (0, 1.0, false),
        (1_000, 0.0, false),
        (1_000, -1.0, false),
        (1_000, f64::NAN, false),
        (1_000, f64::INFINITY, false),
    ] {
        let shared = SwitchSpec {
            memory: Memory::Shared {
                size: Bytes(size),
                alpha,
            },
            ..SwitchSpec::default()
        };
        let found = shared.check(&PortSpec::fifo(Bytes(100_000)));
        assert_eq!(found.is_ok(), fits, "{size} B, alpha {alpha}: {found:?}");
    }
}

#[test]
fn ranks_are_pushed_out_of_a_ports_own_buffer_alone() {
    let shared = SwitchSpec {
        memory: Memory::Shared {
            size: Bytes(1_000_000),
            alpha: 1.0,
        },
        ..SwitchSpec::default()
    };
    let mut port = PortSpec::fifo(Bytes(100_000));
    (port.queues[0].order, port.queues[0].over) = (Order::Rank, Over::PushOut);
    assert_eq!(SwitchSpec::default().check(&port), Ok(()));
    let said = shared.check(&port).expect_err("the memory is shared");
    assert!(said.contains("share a memory"), "{said}");
    port.queues[0].limit = Limit::Bytes(Bytes(50_000));
    assert_eq!(shared.check(&port), Ok(()));
}
