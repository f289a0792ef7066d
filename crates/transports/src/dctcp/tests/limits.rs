//! What bounds a sender besides its window of congestion.

use super::super::header::Ack;
use super::by_hand::{acknowledge, flush, open};
use super::*;

#[test]
fn the_receive_window_is_counted_from_what_was_acknowledged() {
    let params = Params {
        receive_window: Bytes(100_000),
        initial_window: 20,
        ..Params::DEFAULT
    };
    let mut bench = open(&params, 1 << 40);
    assert_eq!(flush(&mut bench), 20);
    acknowledge(&mut bench, 0, 20, 0);
    assert_eq!(flush(&mut bench), 40);
    // Sixty packets are 87,600 B of the stream. What arrives beyond a gap lets new ones leave.
    let leave = [22, 23].map(|end| {
        let ack = Ack::new(20 * 1460, Some((21 * 1460, end * 1460)));
        bench.hear(&ack.packet(A, ConnId(1), 84));
        flush(&mut bench)
    });
    assert_eq!(leave, [1, 1]);
}

/// Ten packets of forty come back marked at once. Where that counts ahead, they count twice, and one more with them; otherwise
/// one packet leaves. The window falls to a half, or by little.
#[test]
fn a_spread_fall_that_counts_ahead_lets_more_leave_at_once() {
    let leave = |(alpha_initial, prr_ahead)| {
        let params = Params {
            initial_window: 40,
            alpha_initial,
            prr: true,
            prr_ahead,
            ..Params::DEFAULT
        };
        let mut bench = open(&params, 1 << 40);
        assert_eq!(flush(&mut bench), 40);
        let ack = Ack {
            echo: true,
            ..Ack::new(10 * 1460, None)
        };
        bench.hear(&ack.packet(A, ConnId(1), 84));
        flush(&mut bench)
    };
    assert_eq!([(1.0, false), (1.0, true)].map(leave), [1, 14]);
    assert_eq!([(0.125, false), (0.125, true)].map(leave), [1, 6]);
}
