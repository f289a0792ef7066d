//! Ladders of one switch.

use super::*;
use crate::bench::Bench;
use model::ConnId;

const STATIC: &str = "xoff = \"4KB\"\nxon_gap = \"1KB\"\n";

#[test]
fn an_ingress_above_the_threshold_is_paused_and_resumed_below_it() {
    let mut bench = Bench::new(&PFC, STATIC);
    bench.come(1, 4);
    assert_eq!(bench.ladder(), [""; 0], "4000 B fit");
    assert_eq!(bench.counted("bytes in headroom"), Some(0));
    bench.come(2, 2);
    assert_eq!(bench.counted("bytes in headroom"), Some(2000));
    bench.leave(0, 6);
    assert_eq!(
        bench.ladder(),
        [
            "0us 2 comes to queue 0: port 0: PausePriority(0)",
            "0us 1 leaves queue 0: port 0: ResumePriority(0)",
        ]
    );
}

#[test]
fn it_is_calm_while_it_has_paused_nobody_and_has_nothing_to_do_later() {
    let mut bench = Bench::new(&PFC, STATIC);
    assert_eq!(bench.is_calm(1), (true, true));
    bench.come(1, 4);
    assert_eq!(bench.is_calm(1), (true, false), "4000 B fit, and no more");
    bench.come(1, 1);
    assert_eq!(bench.is_calm(1), (false, false), "1000 B are in headroom");
    bench.leave(0, 1);
    assert_eq!(bench.is_calm(1), (false, false), "it is still paused");
    bench.leave(0, 2);
    assert_eq!(bench.is_calm(1), (true, true));
    bench.say(Signal::PausePriority(0), Span::ZERO);
    assert_eq!(bench.is_calm(1), (true, true), "a gate alone has no order");
    let mut later = Bench::new(&PFC, "watchdog = \"10us\"\nwatchdog_restore = \"30us\"");
    later.come(1, 1);
    later.say(Signal::PausePriority(0), Span::ZERO);
    assert_eq!(later.is_calm(1), (false, true), "the watchdog looks");
    later.say(Signal::ResumePriority(0), Span::ZERO);
    later.wait(40);
    assert_eq!(later.is_calm(1), (true, true));
}

/// A packet is admitted, and its port drops it; the next one is not asked about. [shaped credits]
#[test]
fn what_was_judged_of_a_packet_is_not_taken_for_another() {
    let mut bench = Bench::new(&PFC, STATIC);
    bench.come(1, 3);
    assert_eq!(bench.admit(2, 1000), Some(true), "4000 B are below 4 KB");
    bench.arrive(2, 1040);
    assert_eq!(
        bench.ladder(),
        ["0us 2 comes to queue 0: port 0: PausePriority(0)"],
        "4040 B are above 4 KB"
    );
}

#[test]
fn a_pause_with_a_time_is_asked_for_again_and_ends_without_it() {
    let mut bench = Bench::new(&PFC, &format!("{STATIC}pause_time = \"20us\""));
    bench.come(1, 5);
    bench.wait(15);
    bench.leave(0, 5);
    bench.wait(50);
    bench.say(Signal::PausePriority(0), Span::us(20));
    bench.wait(65);
    bench.say(Signal::PausePriority(0), Span::us(20));
    bench.wait(100);
    assert_eq!(
        bench.ladder(),
        [
            "0us 1 comes to queue 0: port 0: PausePriority(0)",
            "10us waits: port 0: PausePriority(0)",
            "15us 1 leaves queue 0: port 0: ResumePriority(0)",
            "50us hears PausePriority(0): port 1 closes priority 0",
            "85us waits: port 1 opens priority 0",
        ]
    );
}

/// A pause that ends early leaves nothing behind that would repeat a later one at moments of its own.
#[test]
fn a_pause_that_begins_anew_is_repeated_at_its_own_times_alone() {
    let mut bench = Bench::new(&PFC, &format!("{STATIC}pause_time = \"20us\""));
    for at in [1, 4, 7] {
        bench.come(1, 5);
        bench.wait(at);
        bench.leave(0, 5);
        bench.wait(at + 2);
    }
    bench.come(1, 5);
    bench.wait(30);
    let said = bench.ladder();
    assert_eq!(
        said[said.len() - 3..],
        [
            "9us 1 comes to queue 0: port 0: PausePriority(0)",
            "19us waits: port 0: PausePriority(0)",
            "29us waits: port 0: PausePriority(0)",
        ],
        "{said:?}"
    );
}

#[test]
fn a_memory_without_room_for_its_headroom_is_refused() {
    // Two ports of 5,584 B headroom and 4,000 B reserve each.
    let refused = |parameters: &str, memory| crate::bench::refused(&PFC, parameters, memory);
    assert_eq!(refused("", 19_168), None);
    let said = refused("", 19_167).expect("a byte is missing");
    assert_eq!(
        said,
        "switch.shared_buffer has 19.167KB, and needs 19.168KB as headroom and reserves to lose nothing; \
         write shared_buffer = \"24KB\" or more"
    );
    let said = refused("lossless = 2", 19_168).expect("twice as much is needed");
    assert!(
        said.ends_with("fewer priorities as switch.pfc.lossless"),
        "{said}"
    );
    for kind in crate::ALL {
        assert!(
            crate::bench::refused(*kind, "", 999).is_some(),
            "{}",
            kind.name()
        );
    }
}

#[test]
fn headroom_without_room_for_the_frame_that_asks_for_a_pause_is_refused() {
    let refused = |bytes: u64| {
        let set = format!("headroom = \"{bytes}B\"");
        crate::bench::refused(&PFC, &set, 60_000)
    };
    assert_eq!(refused(1_000), None, "a frame of the bench");
    let said = refused(999).expect("a byte is missing");
    assert_eq!(
        said,
        "switch.pfc.headroom asks for a pause when a frame lies in headroom, and 999B holds none of 1KB; \
         remove switch.pfc.headroom: what it takes to lose nothing is derived"
    );
    assert!(refused(0).is_some());
}

/// Two ingresses that may hold 40 KB each share 20: the pool is full before either is above its threshold.
#[test]
fn a_full_pool_pauses_before_a_threshold_that_it_cannot_pay_for() {
    for thresholds in ["xoff = \"40KB\"", "alpha = 64.0"] {
        let port = PortSpec::fifo(Bytes(1));
        let table = format!("{thresholds}\nreserve = \"0B\"\nheadroom = \"5KB\"").parse();
        let params = Params::read(&table.expect("TOML")).expect("parameters");
        let lines = [crate::bench::line(&port); 2];
        let mut pfc = Pfc::new(&params, &crate::bench::place(&lines, 30_000));
        let packet = Packet::new(model::HostId(1), ConnId(1), model::Class::Plain, 0, 1000);
        let (mut say, mut held) = (Say::default(), 0);
        for ingress in [0, 1].into_iter().cycle().take(60) {
            let passage = Passage {
                ingress,
                ..crate::bench::passage(&packet)
            };
            if pfc.admits(&passage, 30_000 - held) == Some(true) {
                pfc.arrived(Time(1), &passage, &mut say);
                held += 1000;
            } else {
                assert_eq!(pfc.refused(&passage), DropReason::Headroom, "{thresholds}");
            }
        }
        pfc.check();
        assert_eq!(
            held, 30_000,
            "{thresholds}: 20 KB of the pool, 5 KB of headroom each"
        );
        assert_eq!(say.frames().len(), 2, "{thresholds}: both are paused");
        assert_eq!(pfc.spilled, 10_000, "{thresholds}");
    }
}

#[test]
fn the_watchdog_lets_go_what_has_not_moved_and_is_deaf_for_a_while() {
    let set = "watchdog = \"10us\"\nwatchdog_restore = \"30us\"\nxoff = \"40KB\"";
    let mut bench = Bench::new(&PFC, set);
    bench.come(1, 1);
    bench.say(Signal::PausePriority(0), Span::ZERO);
    bench.wait(20);
    bench.say(Signal::PausePriority(0), Span::ZERO);
    bench.wait(41);
    bench.say(Signal::PausePriority(0), Span::ZERO);
    assert_eq!(
        bench.ladder(),
        [
            "0us hears PausePriority(0): port 1 closes priority 0",
            "10us waits: port 1 opens priority 0",
            "40us waits: port 1 closes priority 0",
        ],
        "the neighbour has not resumed: it is heeded again, although it says nothing more"
    );
    let mut over = Bench::new(&PFC, set);
    over.come(1, 1);
    over.say(Signal::PausePriority(0), Span::ZERO);
    over.wait(20);
    over.say(Signal::ResumePriority(0), Span::ZERO);
    over.wait(100);
    assert_eq!(over.ladder().len(), 2, "{:?}", over.ladder());
    let mut empty = Bench::new(&PFC, set);
    empty.say(Signal::PausePriority(0), Span::ZERO);
    empty.wait(100);
    assert_eq!(
        empty.ladder().len(),
        1,
        "where nothing waits, nothing is stuck"
    );
}

#[test]
fn each_packet_is_refused_for_what_is_full_for_it() {
    let port = PortSpec::fifo(Bytes(1));
    let table = format!("{STATIC}lossless = 1").parse();
    let params = Params::read(&table.expect("TOML")).expect("parameters");
    let lines = [crate::bench::line(&port); 2];
    let mut pfc = Pfc::new(&params, &crate::bench::place(&lines, 60_000));
    let packets = [0, 7].map(|priority| {
        let mut packet = Packet::new(model::HostId(1), ConnId(1), model::Class::Plain, 0, 1000);
        packet.set_priority(priority);
        packet
    });
    for (packet, reason) in packets
        .iter()
        .zip([DropReason::Headroom, DropReason::Memory])
    {
        let passage = crate::bench::passage(packet);
        let mut say = Say::default();
        while pfc.admits(&passage, 60_000) == Some(true) {
            pfc.arrived(Time(1), &passage, &mut say);
        }
        assert_eq!(pfc.refused(&passage), reason);
    }
    // Also of one that was not the last.
    let first = crate::bench::passage(&packets[0]);
    assert_eq!(pfc.refused(&first), DropReason::Headroom);
}

#[test]
fn pauses_that_cannot_be_said_again_in_time_are_refused() {
    let refused = |set: &str| crate::bench::refused(&PFC, set, 1_000_000);
    // 1,000 B take 800 ns, and eight frames of 84 B 537.6 ns.
    assert_eq!(refused("lossless = 8\npause_time = \"2676ns\""), None);
    assert_eq!(
        refused("lossless = 8\npause_time = \"2675ns\"").expect("2.6752 us are needed"),
        "switch.pfc.pause_time of 2.675us may be over before it is said again: half of it later, behind a frame of 1KB \
         on a line of 10Gbps; write \"2.6752us\" or more"
    );
    assert_eq!(refused("lossless = 1\npause_time = \"1735ns\""), None);
}
