//! Conversations as ladders, and windows as curves.

use super::sender::Sender;
use super::*;
use model::{Rng, stream};
use testkit::{A, B, Chaos, Pair};
use units::Bytes;

fn make(params: &Params) -> impl Fn(&EndpointConfig) -> Box<dyn Endpoint> + '_ {
    |config| Factory::make(params, config)
}

/// The ladder of a conversation that `script` writes down and that comes to its end.
fn ladder(params: &Params, script: impl FnOnce(&mut Pair<'_>)) -> String {
    let make = make(params);
    let mut pair = Pair::new(&make, &DctcpCodec).named("dctcp");
    script(&mut pair);
    pair.run();
    pair.ladder()
}

#[test]
fn a_message_takes_a_handshake_and_a_window() {
    insta::assert_snapshot!(ladder(&Params::DEFAULT, |pair| {
        pair.message(Time::ZERO, A, B, 4_000);
    }), @"");
}
