//! What hosts say to each other, as ladders, with the rules of `examples/fixed-window`.

#[allow(unreachable_pub, reason = "elsewhere it is a crate of its own")]
#[path = "../../../examples/fixed-window/src/fixed_window/mod.rs"]
mod fixed_window;

use model::{ConnId, Event, Signal};
use parts::Transport;
use testkit::{A, B, Pair, ladder, same};
use units::{Span, Time};

fn spoken(script: impl FnOnce(&mut Pair<'_>)) -> String {
    let factory = fixed_window::TRANSPORT
        .configure(&toml::Table::new())
        .expect("defaults");
    ladder(&|config| factory.make(config), factory.codec(), script)
}

#[test]
fn after_a_loss_the_sender_goes_back() {
    let found = spoken(|pair| {
        pair.message(Time::ZERO, A, B, 7_000);
        pair.lose(("DATA", 2));
    });
    same(
        &found,
        r"
     0.000us  A -> B  OPEN one message                            84 B
     5.067us  A <- B  ACCEPT                                      84 B
    10.134us  A -> B  DATA 0:0+1460                             1538 B
    11.364us  A -> B  DATA 0:1460+1460                          1538 B  X lost
    12.595us  A -> B  DATA 0:2920+1460                          1538 B
    13.825us  A -> B  DATA 0:4380+1460                          1538 B
    15.056us  A -> B  DATA 0:5840+1160 end                      1238 B
    16.364us  A <- B  ACK 0:1460                                  84 B
    18.825us  A <- B  ACK 0:1460 gap                              84 B
    23.892us  A -> B  DATA 0:1460+1460                          1538 B
    25.123us  A -> B  DATA 0:2920+1460                          1538 B
    26.353us  A -> B  DATA 0:4380+1460                          1538 B
    27.584us  A -> B  DATA 0:5840+1160 end                      1238 B
    30.123us  A <- B  ACK 0:2920                                  84 B
    31.353us  A <- B  ACK 0:4380                                  84 B
    32.584us  A <- B  ACK 0:5840                                  84 B
    33.574us  B received message 0, 7000 B
    33.574us  A <- B  ACK 1:7000                                  84 B
    38.641us  A is done with message 0
    ",
    );
}

#[test]
fn a_lost_end_waits_for_the_timer() {
    let found = spoken(|pair| {
        pair.message(Time::ZERO, A, B, 2_000);
        pair.lose(("DATA", 2));
    });
    same(
        &found,
        r"
     0.000us  A -> B  OPEN one message                            84 B
     5.067us  A <- B  ACCEPT                                      84 B
    10.134us  A -> B  DATA 0:0+1460                             1538 B
    11.364us  A -> B  DATA 0:1460+540 end                        618 B  X lost
    16.364us  A <- B  ACK 0:1460                                  84 B
  1021.432us  A -> B  DATA 0:1460+540 end                        618 B
  1026.926us  B received message 0, 2000 B
  1026.926us  A <- B  ACK 1:2000                                  84 B
  1031.993us  A is done with message 0
    ",
    );
}

#[test]
fn a_cancelled_message_ends_with_what_had_left() {
    let found = spoken(|pair| {
        let conn = pair.message(Time::ZERO, A, B, 100_000);
        pair.cancel(Time(12_000_000), conn, A);
    });
    same(
        &found,
        r"
     0.000us  A -> B  OPEN one message                            84 B
     5.067us  A <- B  ACCEPT                                      84 B
    10.134us  A -> B  DATA 0:0+1460                             1538 B
    11.364us  A -> B  DATA 0:1460+1460                          1538 B
    12.000us  A cancels
    12.595us  A -> B  DATA 0:2920+0 end                           84 B
    16.364us  A <- B  ACK 0:1460                                  84 B
    17.595us  A <- B  ACK 0:2920                                  84 B
    17.662us  B received message 0, 2920 B
    17.662us  A <- B  ACK 1:2920                                  84 B
    22.729us  A is done with message 0
    ",
    );
}

#[test]
fn an_answer_that_comes_after_the_end_is_refused() {
    let found = spoken(|pair| {
        pair.message(Time::ZERO, A, B, 1_000);
        pair.delay_packet(("ACCEPT", 1), Span::ms(3));
    });
    same(
        &found,
        r"
     0.000us  A -> B  OPEN one message                            84 B
     5.067us  A <- B  ACCEPT                                      84 B  ~ late by 3ms
  1000.000us  A -> B  OPEN one message                            84 B
  1005.067us  A <- B  ACCEPT                                      84 B
  1005.134us  A <- B  ACCEPT                                      84 B
  1010.134us  A -> B  DATA 0:0+1000 end                         1078 B
  1010.996us  A -> B  ACK 0:0                                     84 B
  1015.996us  B received message 0, 1000 B
  1015.996us  A <- B  ACK 1:1000                                  84 B
  1021.064us  A is done with message 0
  3010.134us  A -> B  RESET                                       84 B
    ",
    );
}

#[test]
fn a_message_that_is_cancelled_before_anything_left_ends_empty() {
    let found = spoken(|pair| {
        let conn = pair.message(Time::ZERO, A, B, 7_000);
        pair.cancel(Time(1_000_000), conn, A);
    });
    assert!(found.contains("B received message 0, 0 B"), "{found}");
}

fn with(script: impl FnOnce(&mut Pair<'_>)) {
    with_params("", script);
}

fn with_params(params: &str, script: impl FnOnce(&mut Pair<'_>)) {
    let factory = fixed_window::TRANSPORT
        .configure(&params.parse().expect("a table"))
        .expect("good parameters");
    let make = |config: &model::EndpointConfig| factory.make(config);
    script(&mut Pair::new(&make, factory.codec()));
}

/// A receiver that gave up has not received: its sender is told so, and not that all is well.
#[test]
fn a_message_that_its_receiver_gave_up_is_not_reported_as_sent() {
    with(|pair| {
        let conn = pair.message(Time::ZERO, A, B, 100_000);
        pair.forget(Time(60_000_000), conn, B);
        pair.run();
        let told = |wanted: fn(&Event) -> bool| {
            let of_a = pair.events().iter().filter(|(_, host, _)| *host == A);
            of_a.filter(|(.., event)| wanted(event)).count()
        };
        assert_eq!(told(|event| matches!(event, Event::Sent { .. })), 0);
        assert_eq!(told(|event| matches!(event, Event::Refused { .. })), 1);
    });
}

/// Whoever opens a connection, answers and sends nothing keeps no place for ever.
#[test]
fn a_connection_whose_message_never_begins_is_forgotten() {
    with(|pair| {
        let conn = pair.message(Time::ZERO, A, B, 100_000);
        pair.signal(Time(1_000_000), A, Signal::PauseFlow(conn));
        pair.forget(Time(30_000_000), conn, A);
        pair.run();
        assert!(pair.ladder().contains("ACK 0:0"), "{}", pair.ladder());
        assert_eq!(pair.forgotten(conn, B), 1);
    });
}

#[test]
fn a_sender_that_vanishes_after_its_first_piece_was_lost_is_forgotten() {
    with(|pair| {
        let conn = pair.message(Time::ZERO, A, B, 7_000);
        pair.lose(("DATA", 1));
        pair.down(A, Time(18_000_000), Time::NEVER);
        let _ = pair.try_run();
        assert!(pair.ladder().contains("ACK 0:0 gap"), "{}", pair.ladder());
        assert_eq!(pair.forgotten(conn, B), 1);
    });
}

#[test]
fn an_exchange_lives_while_the_other_end_takes_what_it_is_sent() {
    let hasty = "retry = \"20us\"\nretry_max = \"20us\"\nretries_max = 2\n";
    with_params(hasty, |pair| {
        // The accepter speaks first, for longer than it waits for the question.
        let conn = pair.exchange(Time::ZERO, A, B, [1_000, 1_000]);
        pair.signal(Time(1_000_000), A, Signal::PauseFlow(conn));
        pair.send(Time(20_000_000), conn, B, 1_000_000);
        pair.signal(Time(700_000_000), A, Signal::ResumeFlow(conn));
        pair.run();
        assert_eq!((pair.received(conn, A), pair.received(conn, B)), (1, 1));
    });
}

#[test]
fn paused_connections_keep_their_turn_and_cost_the_others_nothing() {
    with(|pair| {
        let paused: Vec<ConnId> = (0..3)
            .map(|_| pair.message(Time::ZERO, A, B, 50_000))
            .collect();
        for &conn in &paused {
            pair.signal(Time(1_000_000), A, Signal::PauseFlow(conn));
        }
        let free = pair.message(Time::ZERO, A, B, 50_000);
        for &conn in &paused {
            pair.signal(Time(900_000_000), A, Signal::ResumeFlow(conn));
        }
        pair.run();
        let got = |wanted: ConnId| {
            let mut events = pair.events().iter();
            let at = events.find(|(_, host, event)| {
                *host == B && matches!(event, Event::Received { conn, .. } if *conn == wanted)
            });
            at.expect("it arrives").0
        };
        assert!(got(free) < Time(100_000_000), "{}", got(free));
        let mut ends: Vec<Time> = paused.iter().map(|&conn| got(conn)).collect();
        assert!(ends.is_sorted() && ends[0] > Time(900_000_000), "{ends:?}");
        // They take turns: the last ends a packet or two after the first.
        ends.dedup();
        assert!(ends[2].since(ends[0]) < Span::us(5), "{ends:?}");
    });
}

/// More connections at once than questions that a host keeps ready: none is given up for that.
#[test]
fn questions_beyond_those_that_fit_wait_for_the_line() {
    let few = "retry = \"3ms\"\nretry_max = \"3ms\"\nretries_max = 1\n";
    with_params(few, |pair| {
        let conns: Vec<ConnId> = (0..9_000)
            .map(|_| pair.message(Time::ZERO, A, B, 100))
            .collect();
        pair.run();
        for conn in conns {
            assert_eq!(pair.received(conn, A), 1, "{conn:?}");
        }
    });
}
