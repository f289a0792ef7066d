//! What a port may ask for.

use model::intent::{
    Limit, MarkAt, MarkSpec, Memory, Order, Over, PortSpec, QueueSpec, Share, SwitchSpec,
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
