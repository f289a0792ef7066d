//! Conversations as ladders.

use super::{Params, header};
use parts::Factory;
use testkit::{A, B, ladder, shown};
use units::Time;

#[test]
fn a_message_takes_a_handshake_and_a_window() {
    let found = ladder(&|c| Params::DEFAULT.make(c), &header::CODEC, |pair| {
        pair.message(Time::ZERO, A, B, 4_000);
    });
    testkit::same(&found, shown(include_str!("README.md")));
}

#[test]
fn a_lost_end_waits_for_the_timer() {
    let found = ladder(&|c| Params::DEFAULT.make(c), &header::CODEC, |pair| {
        pair.message(Time::ZERO, A, B, 2_000);
        pair.lose(("DATA", 2));
    });
    // It left at 11.364 us, and was sent again a millisecond after the acknowledgement of the one before.
    assert!(
        found.contains("1021.432us  A -> B  DATA 0:1460+540 end"),
        "{found}"
    );
}
