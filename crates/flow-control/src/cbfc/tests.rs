//! Ladders of one switch.

use super::*;
use crate::bench::Bench;

/// A hundred blocks for each lane; a frame of the bench takes 16.
const SMALL: &str = "lanes = 8\nbuffer = \"6400B\"\nupdate = \"2000B\"";

/// What the neighbour says of lane 0.
fn said(sent: u16, limit: Option<u16>, asks: bool) -> Packet {
    let lane = 0;
    CreditFrame {
        lane,
        sent,
        limit,
        asks,
    }
    .packet()
}

#[test]
fn what_has_left_is_told_and_what_has_no_room_ahead_waits() {
    let mut bench = Bench::new(&CBFC, SMALL);
    bench.come(1, 6);
    bench.leave(0, 6);
    bench.come(1, 1);
    bench.say_frame(&said(0, Some(196), false), "of room up to 196");
    assert_eq!(
        bench.ladder(),
        [
            "0us 1 leaves queue 0: port 0: lane 0, sent 0 up to 132",
            "0us 1 leaves queue 0: port 0: lane 0, sent 0 up to 164",
            "0us 1 leaves queue 0: port 0: lane 0, sent 0 up to 196, port 1 leaves 256 B to priority 0",
            "0us hears of room up to 196: port 1 opens priority 0",
        ],
        "six frames of 16 blocks have left, of which the neighbour had room for 100"
    );
}

#[test]
fn packets_take_whole_cells_and_what_they_cost_beside() {
    // 25 cells; a frame of the bench takes five, and one of 84 B one.
    let mut bench = Bench::new(
        &CBFC,
        "lanes = 8\nblock = 256\noverhead = 64\nbuffer = \"6400B\"\nupdate = \"1280B\"",
    );
    bench.come(1, 4);
    bench.leave(0, 4);
    (0..4).for_each(|_| bench.arrive(1, 84));
    bench.leave(0, 2);
    assert_eq!(
        bench.ladder(),
        [
            "0us 1 leaves queue 0: port 0: lane 0, sent 0 up to 30",
            "0us 1 leaves queue 0: port 0: lane 0, sent 0 up to 35",
            "0us 1 leaves queue 0: port 0: lane 0, sent 0 up to 40",
            "0us 1 leaves queue 0: port 0: lane 0, sent 0 up to 45",
            "0us 1 leaves queue 0: port 1 leaves 960 B to priority 0",
            "0us 1 leaves queue 0: port 1 leaves 704 B to priority 0",
        ],
        "five cells are left after four frames: four are 1024 B, of which 64 are overhead"
    );
}

#[test]
fn who_waits_for_a_lost_update_asks_and_asks_again() {
    let mut bench = Bench::new(&CBFC, SMALL);
    bench.come(1, 6);
    bench.leave(0, 6);
    bench.wait(30);
    let before = bench.ladder().len();
    bench.wait(200);
    assert_eq!(bench.ladder().len(), before, "nothing waits");
    bench.come(1, 1);
    bench.wait(305);
    bench.say_frame(&said(0, Some(196), false), "of room up to 196");
    bench.wait(1_000);
    assert_eq!(
        bench.ladder()[before..],
        [
            "250us waits: port 1: lane 0 asks, sent 96",
            "300us waits: port 1: lane 0 asks, sent 96",
            "305us hears of room up to 196: port 1 opens priority 0",
            "350us waits: port 1: lane 0 asks, sent 96",
        ],
        "once more, for it waited until 305 us"
    );
}

#[test]
fn a_question_tells_what_was_lost_on_the_way() {
    let mut bench = Bench::new(&CBFC, SMALL);
    // 40 blocks that never came would be missing for ever.
    bench.say_frame(&said(40, None, true), "a question after 40");
    bench.say_frame(&said(40, None, true), "a question after 40");
    assert_eq!(
        bench.ladder(),
        ["0us hears a question after 40: port 1: lane 0, sent 0 up to 140"; 2]
    );
    // No count is beyond the round, and no lane beyond the last.
    bench.say_frame(&said(u16::MAX, Some(u16::MAX), true), "a lie");
    let mut stranger = said(0, Some(0), true);
    stranger.head[0] |= 9;
    bench.say_frame(&stranger, "of another lane");
    let ladder = bench.ladder();
    assert_eq!(
        ladder[2..],
        ["0us hears a lie: port 1: lane 0, sent 0 up to 99, port 1 leaves 0 B to priority 0"]
    );
}

#[test]
fn room_is_promised_once() {
    let mut bench = Bench::new(&CBFC, SMALL);
    bench.come(1, 7);
    assert_eq!(bench.ladder(), ["0us 1 has no room"]);
    // It was a copy: what the neighbour has sent are six frames, and room for 100 blocks behind them.
    bench.leave(0, 6);
    let last = bench.ladder().pop().expect("it was told");
    assert!(last.contains("sent 0 up to 196"), "{last}");
}

#[test]
fn credits_come_back_for_whatever_came_asked_for_or_not() {
    let mut bench = Bench::new(&CBFC, SMALL);
    // Two blocks each: 32 are far enough to be told.
    (0..16).for_each(|_| bench.arrive(1, 84));
    bench.leave(0, 15);
    assert!(bench.ladder().is_empty(), "{:?}", bench.ladder());
    bench.leave(0, 1);
    (0..16).for_each(|_| bench.turn_away(1, 84));
    assert_eq!(
        bench.ladder(),
        [
            "0us 1 leaves queue 0: port 0: lane 0, sent 0 up to 132",
            "0us 1 goes no further: port 0: lane 0, sent 0 up to 164"
        ]
    );
    // More than there is room for, as copies do: it waits, and nothing is promised for it.
    (0..51).for_each(|_| bench.arrive(2, 84));
    bench.leave(0, 51);
    let last = bench.ladder().pop().expect("it was told");
    assert!(last.contains("sent 0 up to 260"), "{last}");
}

#[test]
fn credits_that_come_meanwhile_put_off_no_question() {
    let mut bench = Bench::new(&CBFC, SMALL);
    bench.come(1, 6);
    bench.leave(0, 6);
    bench.come(1, 1);
    let before = bench.ladder().len();
    for (at, limit) in [(30, 104), (40, 112), (45, 104)] {
        bench.wait(at);
        bench.say_frame(&said(0, Some(limit), false), &format!("of {limit}"));
    }
    bench.wait(100);
    assert_eq!(
        bench.ladder()[before..],
        [
            "30us hears of 104: port 1 leaves 512 B to priority 0",
            "40us hears of 112: port 1 opens priority 0",
            "45us hears of 104: port 1 leaves 512 B to priority 0",
            "50us waits: port 1: lane 0 asks, sent 96",
            "100us waits: port 1: lane 0 asks, sent 96",
        ],
        "a frame of 16 blocks had room for 5 us"
    );
}

#[test]
fn a_host_takes_what_its_line_brings() {
    let mut bench = Bench::of_hosts(&CBFC, SMALL);
    for _ in 0..20 {
        bench.come(1, 6);
        bench.leave(0, 6);
    }
    let ladder = bench.ladder();
    assert_eq!(ladder.len(), 60);
    assert!(
        ladder
            .iter()
            .all(|line| line.contains("port 0: lane 0, sent 0 up to")),
        "{ladder:?}"
    );
}

#[test]
fn room_that_is_not_there_or_not_enough_is_refused() {
    let refused = |parameters: &str, memory| crate::bench::refused(&CBFC, parameters, memory);
    // 2500 B there and back, two frames and 84 B, and a frame, each KB in 16 blocks; and an update: 9815 B, of which 153
    // blocks.
    assert_eq!(refused("", 2 * 9_792), None);
    assert_eq!(
        refused("", 2 * 9_792 - 1).expect("a byte is missing"),
        "switch.shared_buffer has 19.583KB, and credits promise 19.584KB; write shared_buffer = \"20KB\" or more"
    );
    assert_eq!(refused("lanes = 8", 16 * 9_792), None);
    assert!(refused("lanes = 8", 15 * 9_792).is_some());
    // A frame takes five cells with its overhead: 11,244 B of them.
    let cells = "block = 256\noverhead = 64\nbuffer = ";
    let said =
        refused(&format!("{cells}\"6655B\""), 60_000).expect("no two frames beside an update");
    assert!(said.contains("write \"6656B\" or more"), "{said}");
    assert_eq!(refused(&format!("{cells}\"6656B\""), 60_000), None);
    // What is written instead is whole blocks.
    let cells = "block = 300\nbuffer = ";
    let said = refused(&format!("{cells}\"6599B\""), 60_000)
        .expect("an update and two frames in 22 of them");
    assert!(said.contains("write \"6600B\" or more"), "{said}");
    assert_eq!(refused(&format!("{cells}\"6600B\""), 60_000), None);
    let own = "profile = \"ultra-ethernet\"";
    assert_eq!(refused(own, 2 * 11_008), None);
    assert!(refused(own, 2 * 11_008 - 1).is_some());
    let said = refused("buffer = \"5KB\"", 60_000).expect("no two frames beside an update");
    assert!(said.contains("write \"6144B\" or more"), "{said}");
    let said = refused("buffer = \"200KB\"", 1 << 20).expect("12 bits are too few");
    assert!(said.contains("write \"131072B\" or less"), "{said}");
    assert_eq!(
        refused("buffer = \"200KB\"\ncounter_bits = 13", 1 << 20),
        None
    );
}

#[test]
fn what_a_lane_held_beyond_its_room_excuses_nothing_else() {
    let (port, params) = (PortSpec::fifo(Bytes(1)), "lanes = 2".parse().expect("TOML"));
    let params = Params::read(&params).expect("parameters");
    let lines = [crate::bench::line(&port); 2];
    let mut cbfc = Cbfc::new(&params, &crate::bench::place(&lines, 60_000));
    let size = cbfc.rooms[0].size;
    cbfc.take(0, size - 1);
    cbfc.take(0, 2);
    cbfc.take(0, 1);
    cbfc.check();
    let mut is_whole = |place: usize, held| {
        cbfc.rooms[place].held = held;
        let whole = std::panic::AssertUnwindSafe(|| cbfc.check());
        std::panic::catch_unwind(whole).is_ok()
    };
    assert!(is_whole(0, size + 2) && !is_whole(0, size + 3));
    assert!(is_whole(0, 0) && is_whole(1, size) && !is_whole(1, size + 1));
}

#[test]
fn questions_that_would_take_more_than_half_of_a_line_are_refused() {
    let refused = |set: &str| crate::bench::refused(&CBFC, set, 1_000_000);
    assert_eq!(refused("lanes = 8\nresend = \"2151ns\""), None);
    assert_eq!(
        refused("lanes = 8\nresend = \"2150ns\"").expect("2.15 us are needed"),
        "switch.cbfc.resend has frames of links take more than half of a line of 10Gbps; \
         write \"2.1504us\" or more"
    );
}
