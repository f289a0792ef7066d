//! What a port may ask for.

use model::intent::{Limit, MarkAt, MarkSpec, Order, Over, PortSpec, QueueSpec, Share};
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
    told(port(|_| {}, &[Share::Bytes(0)]), "never served");
    let mixed = [Share::Bytes(1), Share::Packets(1)];
    told(port(|_| {}, &mixed), "by bytes or by packets");
}
