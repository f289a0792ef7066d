//! States that few conversations reach.

use super::super::header::Ack;
use super::by_hand::{Bench, flush, open};
use super::*;
use model::wire::Codec;

fn hear(bench: &mut Bench, ack: Ack) {
    bench.hear(&ack.packet(A, ConnId(1), 84));
}

/// What leaves, in words.
fn said(bench: &mut Bench) -> Vec<String> {
    let left = std::iter::from_fn(|| bench.poll());
    left.map(|packet| header::CODEC.describe(&packet)).collect()
}

#[test]
fn maps_of_what_arrived_change_nothing_where_nobody_asked_for_them() {
    let repair = |block| {
        let params = Params {
            sack: false,
            ..Params::DEFAULT
        };
        let mut bench = open(&params, 100 * 1460);
        assert_eq!(flush(&mut bench), 10);
        let mut all = Vec::new();
        for end in 2..=5 {
            let map = Some((1460, end * 1460)).filter(|_| block);
            hear(&mut bench, Ack::new(0, map));
            all.extend(said(&mut bench));
        }
        // The second is missing, too, for all that an acknowledgement without a map says.
        let map = Some((2 * 1460, 5 * 1460)).filter(|_| block);
        hear(&mut bench, Ack::new(1460, map));
        all.extend(said(&mut bench));
        all
    };
    let plain = repair(false);
    assert_eq!(repair(true), plain);
    let again = |from| plain.iter().filter(|text| text.starts_with(from)).count();
    assert_eq!(
        (again("DATA 0+1460 again"), again("DATA 1460+1460 again")),
        (1, 1),
        "{plain:?}"
    );
}

/// With the law of `growth = "all"`, an echo lets the window grow if it is not the first in a row. The row may begin while
/// losses are repaired.
#[test]
fn an_echo_during_recovery_is_the_first_of_its_row() {
    let acks = |echo| {
        let params = Params {
            growth: Growth::All,
            ack: AckPolicy::Each,
            alpha_initial: 0.0,
            gain: 0.0,
            ..Params::DEFAULT
        };
        let mut bench = open(&params, 1_000 * 1460);
        assert_eq!(flush(&mut bench), 10);
        for end in 2..=5 {
            hear(&mut bench, Ack::new(0, Some((1460, end * 1460))));
        }
        // One of what leaves is the repair.
        let mut next = 10 + flush(&mut bench) - 1;
        let mut ack = |bench: &mut Bench, echo| {
            let ack = Ack {
                echo,
                ..Ack::new(next * 1460, None)
            };
            hear(bench, ack);
            let window = bench.host.sender(ConnId(1)).window();
            next += flush(bench);
            window
        };
        let before = ack(&mut bench, echo);
        // Alpha is nothing, so that no mark makes the window fall.
        (1..20).find(|_| ack(&mut bench, true) > before + 1_000)
    };
    let [first, second] = [true, false].map(acks);
    assert!(
        first.is_some() && second == first.map(|acks| acks + 1),
        "{first:?} and {second:?}"
    );
}
