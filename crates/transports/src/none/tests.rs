//! Conversations as ladders.

use super::NONE;
use super::{Params, header};
use model::{EndpointConfig, Event};
use parts::Factory;
use testkit::{A, B, C, Pair, shown};
use units::{Bytes, Span, Time};

fn make(config: &EndpointConfig) -> Box<dyn model::Endpoint> {
    Params::DEFAULT.make(config)
}

fn ladder(script: impl FnOnce(&mut Pair<'_>)) -> String {
    testkit::ladder(&make, &header::CODEC, script)
}

#[test]
fn the_first_packet_is_data() {
    let found = ladder(|pair| {
        pair.message(Time::ZERO, A, B, 4_000);
    });
    testkit::same(&found, shown(include_str!("README.md")));
}

#[test]
fn after_a_loss_the_sender_goes_back() {
    let found = ladder(|pair| {
        pair.message(Time::ZERO, A, B, 7_000);
        pair.lose(("DATA", 2));
    });
    insta::assert_snapshot!(found, @r"
     0.000us  A -> B  DATA 0:0+1460, opens one message          1538 B
     1.230us  A -> B  DATA 0:1460+1460, opens one message       1538 B  X lost
     2.460us  A -> B  DATA 0:2920+1460, opens one message       1538 B
     3.691us  A -> B  DATA 0:4380+1460, opens one message       1538 B
     4.921us  A -> B  DATA 0:5840+1160 end, opens one message   1238 B
     6.230us  A <- B  ACK 0:1460                                  84 B
     8.691us  A <- B  ACK 0:1460 gap                              84 B
    13.758us  A -> B  DATA 0:1460+1460                          1538 B
    14.988us  A -> B  DATA 0:2920+1460                          1538 B
    16.219us  A -> B  DATA 0:4380+1460                          1538 B
    17.449us  A -> B  DATA 0:5840+1160 end                      1238 B
    19.988us  A <- B  ACK 0:2920                                  84 B
    21.219us  A <- B  ACK 0:4380                                  84 B
    22.449us  A <- B  ACK 0:5840                                  84 B
    23.440us  B received message 0, 7000 B
    23.440us  A <- B  ACK 1:7000                                  84 B
    28.507us  A is done with message 0
    ");
}

#[test]
fn whichever_packet_comes_first_opens_the_connection() {
    // Nothing but the last packet of the first flight arrives.
    let found = ladder(|pair| {
        pair.message(Time::ZERO, A, B, 4_000);
        pair.lose(("DATA", 1));
        pair.lose(("DATA", 2));
    });
    insta::assert_snapshot!(found, @r"
     0.000us  A -> B  DATA 0:0+1460, opens one message          1538 B  X lost
     1.230us  A -> B  DATA 0:1460+1460, opens one message       1538 B  X lost
     2.460us  A -> B  DATA 0:2920+1080 end, opens one message   1158 B
     8.387us  A <- B  ACK 0:0 gap                                 84 B
    13.454us  A -> B  DATA 0:0+1460                             1538 B
    14.684us  A -> B  DATA 0:1460+1460                          1538 B
    15.915us  A -> B  DATA 0:2920+1080 end                      1158 B
    19.684us  A <- B  ACK 0:1460                                  84 B
    20.915us  A <- B  ACK 0:2920                                  84 B
    21.841us  B received message 0, 4000 B
    21.841us  A <- B  ACK 1:4000                                  84 B
    26.908us  A is done with message 0
    ");
}

#[test]
fn a_lost_flight_is_sent_again_after_the_timer() {
    let found = ladder(|pair| {
        pair.message(Time::ZERO, A, B, 2_000);
        pair.lose(("DATA", 1));
        pair.lose(("DATA", 2));
    });
    assert!(
        found.contains("10000.067us  A -> B  DATA 0:0+1460, opens one message"),
        "{found}"
    );
}

#[test]
fn a_late_copy_of_the_first_packet_opens_nothing_again() {
    let mut pair = Pair::new(&make, &header::CODEC).named("none");
    pair.message(Time::ZERO, A, B, 1_000);
    pair.duplicate(("DATA", 1));
    pair.delay_packet(("DATA", 1), Span::ms(3));
    pair.run();
    let received =
        |event: &&(Time, model::HostId, Event)| matches!(event.2, Event::Received { .. });
    assert_eq!(pair.events().iter().filter(received).count(), 1);
}

/// When the last of two messages of 146,000 B to one host is there, in microseconds, and packets that left again.
fn two_senders(buffer: Bytes) -> (f64, u64) {
    let mut pair = Pair::star(3, &make, &header::CODEC)
        .named("none")
        .buffer(buffer);
    for from in [A, B] {
        pair.message(Time::ZERO, from, C, 146_000);
    }
    pair.run();
    let ends = pair.events().iter().filter_map(|&(at, host, event)| {
        let end = matches!(event, Event::Received { .. }) && host == C;
        end.then(|| at.since(Time::ZERO).as_us())
    });
    (ends.fold(0.0, f64::max), pair.totals().retransmitted)
}

/// Two hosts send to a third at the rates of their lines: half of what they send waits, or has no room.
#[test]
fn senders_do_not_look_at_each_other() {
    let (last, again) = two_senders(Bytes(1_000_000));
    // Frames of 1538 B at 10 Gb/s: 1.2304 us each, 200 of them on the last line, one on the first, and two delays.
    assert!((last - 201.0 * 1.2304 - 10.0).abs() < 0.01, "{last}");
    assert_eq!(again, 0);
    let (later, again) = two_senders(Bytes(20_000));
    assert!(
        later > last + 50.0 && again > 50,
        "{later} us, {again} again"
    );
}

#[test]
fn a_pause_may_be_as_long_as_the_longest_and_no_longer() {
    let read = |text: &str| NONE.read(&text.parse().unwrap());
    assert!(read("retry = \"7ms\"\nretry_max = \"7ms\"").is_ok());
    let wrong = read("retry = \"8ms\"\nretry_max = \"7ms\"").unwrap_err();
    assert_eq!(wrong.to_string(), "retry: is longer than retry_max");
}
