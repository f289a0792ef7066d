//! Ladders of one switch: queue 0 is that of control packets, then those of data.

use super::*;
use crate::bench::Bench;

/// Lines of 10 Gb/s, a round trip of 2 us and a period of 1: 3750 B for a queue that sends alone.
const ONE: &str = "queues = 1";

#[test]
fn a_queue_above_its_threshold_pauses_the_one_before_it_at_the_next_period_and_resumes_it_at_once()
{
    let mut bench = Bench::new(&BFC, ONE);
    bench.come_from(7, 3, Some(5));
    bench.wait(2);
    assert_eq!(bench.ladder(), [""; 0], "3000 B");
    bench.come_from(7, 2, Some(5));
    bench.come_from(8, 1, Some(9));
    bench.wait(4);
    bench.leave(1, 6);
    assert_eq!(
        bench.ladder(),
        [
            "3us waits: port 0: queues 100000",
            "4us 7 leaves queue 1: port 0: queues 0",
        ],
        "packets 4 and 5 of flow 7 pause queue 5 until the second of them leaves; the first of flow 8 pauses nothing"
    );
}

#[test]
fn what_is_over_before_its_period_is_not_said() {
    let mut bench = Bench::new(&BFC, ONE);
    bench.come_from(7, 4, Some(5));
    bench.leave(1, 4);
    bench.wait(10);
    assert_eq!(bench.ladder(), [""; 0]);
}

#[test]
fn a_resume_does_not_pause_another_queue_before_its_period() {
    let mut bench = Bench::new(&BFC, "queues = 2");
    bench.come_from(7, 4, Some(5));
    bench.wait(1);
    let other = bench.come_from(8, 4, Some(6));
    assert_eq!(other, 2, "a queue of its own");
    bench.leave(1, 4);
    bench.wait(3);
    bench.leave(2, 4);
    assert_eq!(
        bench.ladder(),
        [
            "1us waits: port 0: queues 100000",
            "1us 7 leaves queue 1: port 0: queues 0",
            "2us waits: port 0: queues 1000000",
            "3us 8 leaves queue 2: port 0: queues 0",
        ]
    );
}

#[test]
fn a_pause_that_is_said_again_has_one_end_on_the_agenda() {
    let mut bench = Bench::new(&BFC, "queues = 1\nsignals = \"periodic\"");
    for at in 0..20 {
        bench.wait(at);
        bench.say_frame(&bitmap(1), "1");
    }
    bench.wait(21);
    assert_eq!(bench.ladder(), ["0us hears 1: port 1 closes queue 1"]);
    // It ends 3 us after it was said last, and the next one has its own end.
    bench.wait(23);
    bench.say_frame(&bitmap(1), "1");
    bench.wait(24);
    bench.say_frame(&bitmap(0), "none");
    bench.wait(25);
    bench.say_frame(&bitmap(1), "1");
    bench.wait(40);
    assert_eq!(
        bench.ladder()[1..],
        [
            "22us waits: port 1 opens queue 1",
            "23us hears 1: port 1 closes queue 1",
            "24us hears none: port 1 opens queue 1",
            "25us hears 1: port 1 closes queue 1",
            "28us waits: port 1 opens queue 1",
        ]
    );
}

#[test]
fn of_a_host_the_flow_is_paused_and_no_other() {
    let mut bench = Bench::of_hosts(&BFC, ONE);
    bench.come(7, 4);
    bench.come(8, 2);
    bench.wait(1);
    bench.leave(1, 6);
    assert_eq!(
        bench.ladder(),
        [
            "1us waits: port 0: PauseFlow(ConnId(7)), port 0: PauseFlow(ConnId(8))",
            "1us 7 leaves queue 1: port 0: ResumeFlow(ConnId(7))",
            "1us 8 leaves queue 1: port 0: ResumeFlow(ConnId(8))",
        ]
    );
}

#[test]
fn who_comes_without_the_number_of_a_queue_pauses_nothing() {
    let mut bench = Bench::new(&BFC, ONE);
    bench.come(7, 6);
    bench.come_from(7, 2, Some(128)); // no port has so many
    bench.wait(10);
    bench.leave(1, 8);
    assert_eq!(bench.ladder(), [""; 0]);
}

#[test]
fn a_bitmap_closes_what_it_names_and_opens_the_rest() {
    let mut bench = Bench::new(&BFC, "queues = 4");
    bench.say_frame(&bitmap(0b1010), "2 and 4");
    bench.say_frame(&bitmap(Bits::MAX), "all of 128");
    bench.say_frame(&bitmap(0b0001), "1");
    bench.say_frame(&bitmap(0), "none");
    assert_eq!(
        bench.ladder(),
        [
            "0us hears 2 and 4: port 1 closes queue 2, port 1 closes queue 4",
            "0us hears all of 128: port 1 closes queue 1, port 1 closes queue 3",
            "0us hears 1: port 1 opens queue 2, port 1 opens queue 3, port 1 opens queue 4",
            "0us hears none: port 1 opens queue 1",
        ]
    );
    for bits in [0, 1, 1 << 31, 1 << 32, 1 << 100, Bits::MAX / 3] {
        assert_eq!(bits_of(&bitmap(bits)), Some(bits));
    }
    assert_eq!(bits_of(&Signal::PauseFlow(ConnId(8)).frame()), None);
}

#[test]
fn a_flow_gets_an_empty_queue_that_may_send_and_keeps_it_for_a_while() {
    let mut bench = Bench::new(&BFC, "queues = 4");
    bench.say_frame(&bitmap(0b0100), "3");
    let taken = [7, 8, 9].map(|conn| bench.come_from(conn, 1, None));
    let mut sorted = taken;
    sorted.sort_unstable();
    assert_eq!(sorted, [1, 2, 4], "each its own, none the paused one");
    // It keeps its queue for 6 us after its last packet has left.
    bench.leave(taken[0], 1);
    bench.wait(6);
    assert_eq!(bench.come_from(7, 1, None), taken[0]);
    bench.leave(taken[0], 1);
    bench.wait(12);
    assert_eq!(bench.come_from(7, 1, None), taken[0]);
    bench.leave(taken[0], 1);
    bench.wait(20);
    assert_eq!(bench.come_from(11, 1, None), taken[0], "the only empty one");
    // There is none any more: any will do.
    let any = [12, 13, 14, 15, 16, 17, 18, 19].map(|conn| bench.come_from(conn, 1, None));
    assert!(any.iter().all(|queue| (1..=4).contains(queue)), "{any:?}");
    assert!(any.iter().any(|&queue| queue != any[0]), "{any:?}");
}

#[test]
fn the_threshold_is_divided_by_the_queues_that_may_send() {
    let paused = |others: u32, closed: Bits| {
        let mut bench = Bench::new(&BFC, "queues = 8");
        for conn in 0..others {
            bench.come_from(100 + conn, 1, Some(0));
        }
        bench.say_frame(&bitmap(closed), "");
        let mut count = 0;
        while bench.ladder().iter().all(|line| !line.contains("port 0")) {
            count += 1;
            bench.come_from(7, 1, Some(1));
            bench.wait(2 * count);
        }
        count
    };
    assert_eq!([0, 1, 2, 3].map(|others| paused(others, 0)), [4, 2, 2, 2]);
    // Two packets at least: the first never pauses. Paused queues do not count.
    assert!(paused(1, Bits::MAX) > 2);
}

#[test]
fn what_is_lost_heals_where_bitmaps_are_sent_each_period() {
    let mut bench = Bench::new(&BFC, "queues = 1\nsignals = \"periodic\"");
    bench.come_from(7, 4, Some(0));
    bench.wait(3);
    bench.leave(1, 4);
    bench.wait(10);
    bench.say_frame(&bitmap(1), "1");
    bench.wait(12);
    bench.say_frame(&bitmap(1), "1");
    bench.wait(30);
    assert_eq!(
        bench.ladder(),
        [
            "1us waits: port 0: queues 1",
            "2us waits: port 0: queues 1",
            "3us waits: port 0: queues 1",
            "3us 7 leaves queue 1: port 0: queues 0",
            "10us hears 1: port 1 closes queue 1",
            "15us waits: port 1 opens queue 1",
        ]
    );
}

/// A frame of a link's own takes 67.2 ns of these lines, and has half of one: 134.4 ns.
#[test]
fn pauses_of_many_flows_are_said_again_as_seldom_as_half_a_line_carries_them() {
    // 7 of them fit into half a microsecond, and 100 take 13.44 us.
    for (flows, every) in [(7, 1), (100, 14)] {
        let mut bench = Bench::of_hosts(&BFC, "queues = 1\nsignals = \"periodic\"");
        for conn in 0..flows {
            bench.come(conn, 8);
        }
        bench.wait(60);
        let said = bench.ladder();
        let said = |at: u64| {
            let start = format!("{at}us waits");
            let line = said.iter().find(|line| line.starts_with(&start));
            line.map_or(0, |line| line.matches("PauseFlow").count())
        };
        for at in 1..=60 {
            let wanted = if (at - 1) % every == 0 { flows } else { 0 };
            assert_eq!(said(at), wanted as usize, "{flows} flows, {at} us");
        }
    }
}

#[test]
fn a_pause_lasts_three_times_as_long_as_it_takes_to_say_all_of_them_again() {
    let lasting = |flows: u32| {
        let params = "signals = \"periodic\"".parse().expect("TOML");
        let params = Params::read(&params).expect("parameters");
        let port = PortSpec::fifo(Bytes(1));
        let port = params.port(port).expect("a port");
        let line = crate::bench::line(&port);
        let lines = [parts::Neighbour {
            is_host: true,
            ..line
        }; 2];
        let bfc = Bfc::new(&params, &crate::bench::place(&lines, 60_000));
        bfc.lasting(0, flows as usize)
    };
    assert_eq!(lasting(7), Span::us(3));
    assert_eq!(lasting(100), Span::ns(3 * 13_440));
}
