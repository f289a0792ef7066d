//! Ladders of one switch: queue 0 is that of control packets, then the normal ones, the reserved one last.

use super::*;
use crate::bench::Bench;

const FLOW: fn(u32) -> ConnId = ConnId;

#[test]
fn a_flow_with_more_than_its_share_is_paused_and_one_alone_by_the_second_threshold() {
    // 4584 and 9168 B of one queue.
    let mut alone = Bench::new(
        &AQUARIUS,
        "low = 1\nhigh = 2\nqueues = 2\nthresholds = \"fixed\"",
    );
    alone.come(7, 9);
    assert_eq!(alone.ladder(), [""; 0], "9000 B");
    alone.come(7, 2);
    alone.leave(1, 11);
    assert_eq!(
        alone.ladder(),
        [
            "0us 7 comes to queue 1: port 0: PauseFlow(ConnId(7))",
            "0us 7 leaves queue 1: port 0: ResumeFlow(ConnId(7))"
        ]
    );
    let mut two = Bench::new(
        &AQUARIUS,
        "low = 1\nhigh = 2\nqueues = 2\nthresholds = \"fixed\"",
    );
    two.come(8, 1);
    two.come(7, 4);
    two.come(8, 1);
    assert_eq!(
        two.ladder(),
        ["0us 7 comes to queue 1: port 0: PauseFlow(ConnId(7))"],
        "of 5000 B each of two may hold 2500, and flow 8 holds 2000 of 6000"
    );
}

/// As the slides print it: more than Ql, more than Qh, more than the fair size.
#[test]
fn who_is_exactly_at_a_threshold_is_not_above_it() {
    // 4000 and 8000 B of 4584 in a round trip of the hop.
    let set = "low = 0.87260035\nhigh = 1.7452007\nqueues = 2\nthresholds = \"fixed\"";
    let mut bench = Bench::new(&AQUARIUS, set);
    bench.come(8, 1);
    bench.come(7, 3);
    assert_eq!(
        bench.ladder(),
        [""; 0],
        "flow 7 has 3000 of Ql, and 2000 are fair"
    );
    bench.come(7, 1);
    bench.come(8, 3);
    let paused = ["0us 7 comes to queue 1: port 0: PauseFlow(ConnId(7))"];
    assert_eq!(bench.ladder(), paused, "flow 8 has its fair 4000 of Qh");
    bench.come(9, 1);
    assert_eq!(
        bench.ladder()[1..],
        ["0us 9 comes to queue 1: port 0: PauseFlow(ConnId(9))"],
        "and above Qh all that comes is paused"
    );
    bench.leave(1, 4);
    assert_eq!(bench.ladder()[2..], [""; 0], "5000 B");
    bench.leave(1, 1);
    assert_eq!(
        bench.ladder()[2..],
        ["0us 7 leaves queue 1: port 0: ResumeFlow(ConnId(7)), port 0: ResumeFlow(ConnId(9))"],
        "flow 7 has nothing left"
    );
    let mut alone = Bench::new(&AQUARIUS, set);
    alone.come(7, 9);
    alone.leave(1, 4);
    assert_eq!(alone.ladder().len(), 1, "paused, and 5000 B are left");
    alone.leave(1, 1);
    assert_eq!(
        alone.ladder()[1..],
        ["0us 7 leaves queue 1: port 0: ResumeFlow(ConnId(7))"],
        "4000 B are not above Ql"
    );
}

#[test]
fn nothing_of_a_paused_flow_overtakes_what_is_left_of_it_in_a_normal_queue() {
    let mut bench = Bench::new(&AQUARIUS, "queues = 2");
    bench.come(7, 3);
    bench.say(Signal::PauseFlow(FLOW(7)), Span::ZERO);
    bench.wait(1);
    bench.say(Signal::ResumeFlow(FLOW(7)), Span::ZERO);
    // It goes on joining the reserved queue, which waits for three older packets.
    bench.come(7, 1);
    bench.leave(1, 3);
    bench.leave(2, 1);
    bench.come(7, 1);
    bench.leave(1, 1);
    assert_eq!(
        bench.ladder(),
        [
            "0us hears PauseFlow(ConnId(7)): port 1 closes queue 2",
            "1us 7 leaves queue 1: port 1 opens queue 2",
        ],
        "not with the resume"
    );
}

/// What the order marks are for.
#[test]
fn without_order_marks_a_flow_could_overtake_what_is_left_of_it() {
    let mut bench = Bench::new(&AQUARIUS, "queues = 2\norder_marks = false");
    bench.come(7, 3);
    bench.say(Signal::PauseFlow(FLOW(7)), Span::ZERO);
    bench.come(7, 1);
    bench.wait(1);
    bench.say(Signal::ResumeFlow(FLOW(7)), Span::ZERO);
    // Its newest packet may leave from queue 2, its oldest three wait in queue 1.
    bench.leave(2, 1);
    bench.leave(1, 3);
    assert_eq!(
        bench.ladder(),
        [
            "0us hears PauseFlow(ConnId(7)): port 1 closes queue 2",
            "1us hears ResumeFlow(ConnId(7)): port 1 opens queue 2",
        ]
    );
}

#[test]
fn the_reserved_queue_opens_when_every_flow_in_it_was_resumed() {
    let mut bench = Bench::new(&AQUARIUS, "queues = 4");
    for conn in [7, 8] {
        bench.say(Signal::PauseFlow(FLOW(conn)), Span::ZERO);
        bench.come(conn, 1);
    }
    bench.wait(1);
    bench.say(Signal::ResumeFlow(FLOW(7)), Span::ZERO);
    bench.wait(2);
    bench.say(Signal::ResumeFlow(FLOW(8)), Span::ZERO);
    bench.leave(4, 2);
    assert_eq!(
        bench.ladder(),
        [
            "0us hears PauseFlow(ConnId(7)): port 1 closes queue 4",
            "2us hears ResumeFlow(ConnId(8)): port 1 opens queue 4"
        ]
    );
}

/// Of two reserved queues each is for the pauses of other ports of the next switch; one that is closed holds back no flow of
/// the other.
#[test]
fn flows_paused_for_different_ports_wait_in_reserved_queues_of_their_own() {
    let mut bench = Bench::new(&AQUARIUS, "queues = 4\nreserved = 2");
    bench.say_frame(&pause(FLOW(7), Span::ZERO, 4), "PauseFlow(ConnId(7))");
    bench.say_frame(&pause(FLOW(8), Span::ZERO, 5), "PauseFlow(ConnId(8))");
    bench.come(7, 1);
    bench.come(8, 1);
    bench.wait(1);
    // Whatever it is paused for later, a flow stays where its packets are.
    bench.say_frame(&pause(FLOW(8), Span::ZERO, 4), "PauseFlow(ConnId(8))");
    bench.say(Signal::ResumeFlow(FLOW(8)), Span::ZERO);
    bench.leave(4, 1);
    bench.wait(2);
    bench.say(Signal::ResumeFlow(FLOW(7)), Span::ZERO);
    bench.leave(3, 1);
    assert_eq!(
        bench.ladder(),
        [
            "0us hears PauseFlow(ConnId(7)): port 1 closes queue 3",
            "0us hears PauseFlow(ConnId(8)): port 1 closes queue 4",
            "1us hears ResumeFlow(ConnId(8)): port 1 opens queue 4",
            "2us hears ResumeFlow(ConnId(7)): port 1 opens queue 3",
        ]
    );
}

#[test]
fn flows_of_one_entry_are_isolated_together_and_paused_by_name() {
    let mut bench = Bench::new(&AQUARIUS, "low = 0.5\nhigh = 0.5\nqueues = 3\ntable = 1");
    bench.say(Signal::PauseFlow(FLOW(7)), Span::ZERO);
    bench.say(Signal::PauseFlow(FLOW(8)), Span::ZERO);
    bench.wait(1);
    bench.say(Signal::ResumeFlow(FLOW(8)), Span::ZERO);
    bench.come(9, 3);
    bench.come(10, 1);
    bench.say(Signal::ResumeFlow(FLOW(7)), Span::ZERO);
    bench.leave(3, 4);
    assert_eq!(
        bench.ladder(),
        [
            "0us hears PauseFlow(ConnId(7)): port 1 closes queue 3",
            "1us 9 comes to queue 3: port 0: PauseFlow(ConnId(9))",
            "1us 10 comes to queue 3: port 0: PauseFlow(ConnId(10))",
            "1us hears ResumeFlow(ConnId(7)): port 1 opens queue 3",
            "1us 9 leaves queue 3: port 0: ResumeFlow(ConnId(9)), port 0: ResumeFlow(ConnId(10))",
        ]
    );
}

#[test]
fn a_lost_pause_is_asked_for_again_and_a_lost_resume_is_over_by_itself() {
    let mut bench = Bench::new(
        &AQUARIUS,
        "low = 0.5\nhigh = 0.5\nqueues = 2\nrefresh = \"10us\"",
    );
    bench.come(7, 3);
    bench.wait(25);
    bench.leave(1, 3);
    bench.wait(60);
    bench.say(Signal::PauseFlow(FLOW(9)), Span::us(30));
    bench.wait(70);
    bench.say(Signal::PauseFlow(FLOW(9)), Span::us(30));
    bench.wait(200);
    assert_eq!(
        bench.ladder(),
        [
            "0us 7 comes to queue 1: port 0: PauseFlow(ConnId(7))",
            "10us waits: port 0: PauseFlow(ConnId(7))",
            "20us waits: port 0: PauseFlow(ConnId(7))",
            "25us 7 leaves queue 1: port 0: ResumeFlow(ConnId(7))",
            "60us hears PauseFlow(ConnId(9)): port 1 closes queue 2",
            "100us waits: port 1 opens queue 2",
        ]
    );
}

/// A frame of a link's own takes 67.2 ns of these lines, and has half of one: 134.4 ns.
#[test]
fn pauses_of_many_flows_are_asked_for_again_as_seldom_as_half_a_line_carries_them() {
    let set = "low = 0.5\nhigh = 0.5\nqueues = 2\nrefresh = \"1us\"";
    for (flows, most) in [(7, 7 * 60), (200, 60_000_000 / 134_400)] {
        let mut bench = Bench::new(&AQUARIUS, set);
        for conn in 0..flows {
            bench.come(conn, 3);
        }
        let first = bench.ladder().len();
        bench.wait(60);
        let said = bench.ladder()[first..].join("\n");
        let said = said.matches("PauseFlow").count();
        assert!(
            said <= most,
            "{flows} flows: {said} frames, {most} fit into half a line"
        );
        assert!(2 * said > most, "{flows} flows: {said} frames of {most}");
    }
}

/// 3208 B of one queue: three flows are left there when there is room for all that were paused.
#[test]
fn who_is_resumed_first_can_be_chosen() {
    for (first, order) in [("longest", [7, 8, 9]), ("latest", [9, 8, 7])] {
        let set = format!("low = 0.7\nhigh = 0.7\nqueues = 2\nfirst = \"{first}\"");
        let mut bench = Bench::new(&AQUARIUS, &set);
        bench.come(1, 5);
        for conn in [7, 8, 9] {
            bench.come(conn, 1);
        }
        bench.leave(1, 8);
        let said = bench.ladder().join("\n");
        let resumed = |conn| said.find(&format!("ResumeFlow(ConnId({conn}))"));
        let places = order.map(|conn| resumed(conn).expect("it is resumed"));
        assert!(places.is_sorted(), "{first}: {said}");
    }
}

/// An isolated flow has older packets in a normal queue: 3 there and 2 in the reserved one, beside 4 of another.
#[test]
fn what_a_flow_holds_is_what_it_has_in_one_queue_or_over_all() {
    for (size, pauses) in [("queue", 0), ("port", 1)] {
        let set =
            format!("low = 1\nhigh = 4\nqueues = 2\nthresholds = \"fixed\"\nsize = \"{size}\"");
        let mut bench = Bench::new(&AQUARIUS, &set);
        bench.come(7, 3);
        for conn in [7, 8] {
            bench.say(Signal::PauseFlow(FLOW(conn)), Span::ZERO);
        }
        bench.come(8, 3);
        bench.come(7, 2);
        let said = bench.ladder().join("\n");
        let found = said.matches("port 0: PauseFlow(ConnId(7))").count();
        assert_eq!(found, pauses, "{size}: {said}");
    }
}

#[test]
fn what_a_turn_is_can_be_chosen() {
    for (set, order) in [
        ("queues = 5", Order::Numbered(5)),
        ("queues = 5\nturns = \"bytes\"", Order::NumberedByBytes(5)),
        (
            "queues = 5\nreserved = 2\nreserved_turns = 3",
            Order::NumberedByWeight {
                queues: 5,
                last: 2,
                weight: 3,
            },
        ),
    ] {
        let params = Params::read(&set.parse().expect("TOML")).expect("parameters");
        let port = params.port(PortSpec::fifo(Bytes(9_000)));
        assert_eq!(port.expect("a port").queues[1].order, order, "{set}");
    }
}
