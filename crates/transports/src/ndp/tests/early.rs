//! The first round trip where switches do not trim.

use super::*;
use parts::Described;
use parts::connections::Sending;
use testkit::Pair;

fn aeolus(text: &str) -> Params {
    AEOLUS.read(&text.parse().unwrap()).unwrap()
}

/// A conversation under Aeolus: `length` bytes from A to B, with a window of four frames.
fn burst(length: u64, script: impl FnOnce(&mut Pair<'_>)) -> String {
    converse(&aeolus("window = 4"), 2, |pair| {
        pair.message(Time::ZERO, A, B, length);
        script(pair);
    })
}

/// How often a line of the ladder says so.
fn count(ladder: &str, what: &str) -> usize {
    ladder.lines().filter(|line| line.contains(what)).count()
}

#[test]
fn a_burst_is_closed_by_a_probe_and_pulls_bring_the_rest() {
    let found = burst(60_000, |_| {});
    assert_eq!(
        (count(&found, "  PROBE "), count(&found, "  DATA ")),
        (1, 7)
    );
    insta::assert_snapshot!("aeolus_nothing_lost", found);
}

#[test]
fn a_lost_frame_shows_by_the_next_answer_and_leaves_on_a_pull() {
    let found = burst(60_000, |pair| pair.lose(("DATA", 2)));
    assert_eq!(count(&found, "  DATA "), 8);
    let page = include_str!("../aeolus.md");
    assert!(
        page.contains(found.trim_end()),
        "the page shows it:\n{found}"
    );
    insta::assert_snapshot!("aeolus_one_lost", found);
}

#[test]
fn a_probe_alone_brings_a_pull_for_each_frame() {
    let found = burst(60_000, |pair| (1..=4).for_each(|n| pair.lose(("DATA", n))));
    // One pull for each frame: the four that were lost, and those behind them on the pulls of these.
    assert_eq!(count(&found, "  DATA "), 11);
    insta::assert_snapshot!("aeolus_all_but_the_probe_lost", found);
}

#[test]
fn a_lost_probe_leaves_again_after_the_last_resort_and_no_frame_with_it() {
    let found = burst(35_000, |pair| {
        pair.lose(("DATA", 4));
        pair.lose(("PROBE", 1));
    });
    assert_eq!(
        (count(&found, "  PROBE "), count(&found, "  DATA ")),
        (2, 5)
    );
    insta::assert_snapshot!("aeolus_probe_lost", found);
}

#[test]
fn a_lost_answer_to_the_probe_is_asked_for_again_and_pulls_once() {
    let found = burst(35_000, |pair| {
        pair.lose(("DATA", 4));
        pair.lose(("PROBE_ACK", 1));
    });
    assert_eq!(
        (count(&found, "  PROBE "), count(&found, "  DATA ")),
        (2, 5)
    );
    insta::assert_snapshot!("aeolus_answer_lost", found);
}

#[test]
fn a_burst_that_is_cancelled_ends_with_what_had_left() {
    let found = converse(&aeolus("window = 4"), 2, |pair| {
        let conn = pair.message(Time::ZERO, A, B, 200_000);
        pair.lose(("DATA", 1));
        pair.cancel(Time(10_000_000), conn, A);
    });
    insta::assert_snapshot!("aeolus_cancelled", found);
}

#[test]
fn without_loss_nothing_leaves_twice_whatever_the_length() {
    for length in [1, 8_960, 8_961, 35_840, 35_841, 500_000] {
        let found = burst(length, |_| {});
        let frames = usize::try_from(length.div_ceil(8_960)).unwrap();
        assert_eq!(count(&found, "  DATA "), frames, "{found}");
        assert_eq!(count(&found, "  PROBE "), 1, "{found}");
    }
}

#[test]
fn a_probe_behind_what_has_all_arrived_is_no_copy() {
    let params = aeolus("window = 4");
    let make = |config: &EndpointConfig| Factory::make(&params, config);
    let mut pair = Pair::new(&make, &header::CODEC);
    pair.message(Time::ZERO, A, B, 4_000);
    pair.run();
    assert_eq!(pair.totals().duplicates, 0);
}

#[test]
fn any_part_of_a_burst_may_be_lost_and_nothing_else_leaves_twice() {
    for lost in 0..16_u32 {
        let found = burst(100_000, |pair| {
            (0..4)
                .filter(|n| lost >> n & 1 == 1)
                .for_each(|n| pair.lose(("DATA", n + 1)));
        });
        let again = lost.count_ones() as usize;
        assert_eq!(count(&found, "  DATA "), 12 + again, "{lost:b}:\n{found}");
        // No timer: a round trip of 17 us and a frame of 7 us, a few times.
        assert!(ended(&found) < 200.0, "{lost:b}:\n{found}");
    }
}

/// What looks lost has arrived where its acknowledgement was lost. It leaves again on a pull, and brings none.
#[test]
fn lost_acknowledgements_of_a_burst_take_nothing_from_its_window() {
    let ends = |lost: u64| {
        let found = burst(500_000, |pair| {
            (1..=lost).for_each(|n| pair.lose(("ACK", n)));
        });
        let frames = 500_000_u64.div_ceil(8_960);
        assert_eq!(count(&found, "  DATA ") as u64, frames + lost, "{found}");
        ended(&found)
    };
    // One frame of four on its way would take 17 us for each of 56, and four take 7.
    let whole = ends(0);
    for lost in 1..=3 {
        let more = ends(lost) - whole;
        assert!(more < 40.0, "{lost} lost: {more} us later than {whole}");
    }
}

/// When the message had arrived, in microseconds.
fn ended(ladder: &str) -> f64 {
    let mut lines = ladder.lines();
    let end = lines.find(|line| line.contains("received message"));
    let end = end.unwrap().trim().split("us").next();
    end.unwrap().parse().unwrap()
}

#[test]
fn one_timer_repairs_all_that_was_lost_of_what_was_pulled() {
    for last in 6..=9 {
        let found = burst(200_000, |pair| {
            (6..=last).for_each(|n| pair.lose(("DATA", n)));
        });
        assert!(ended(&found) < 1300.0, "{last}:\n{found}");
    }
}

#[test]
fn where_a_fifth_is_lost_waits_stay_short() {
    let ends = (0..100).map(|seed| {
        let mut rng = Rng::stream(seed, stream::TEST, 0);
        let found = burst(200_000, |pair| {
            for kind in ["DATA", "ACK", "PULL", "PROBE", "PROBE_ACK"] {
                let lost = (1..200).filter(|_| rng.below(5) == 0);
                lost.for_each(|n| pair.lose((kind, n)));
            }
        });
        ended(&found)
    });
    let mean = ends.sum::<f64>() / 100.0;
    assert!(mean < 15_000.0, "{mean} us");
}

#[test]
fn probes_name_every_frame_once_whatever_the_number_of_ways() {
    let settings = |window: u32, most: u16| {
        let params = aeolus(&format!("window = {window}\nfirst_ways = {most}"));
        let config = EndpointConfig::new(A, Rate::gbps(10), Encap::PAPER);
        settings::Settings::new(&params, &config)
    };
    let mut rng = Rng::stream(1, stream::TEST, 5);
    for (window, ways, most) in [
        (1, 1, 60_000),
        (30, 1, 60_000),
        (30, 8, 60_000),
        (30, 64, 60_000),
        (30, 64, 8),
        (30, 8, 1),
        (1023, 7, 60_000),
        (1023, 3000, 60_000),
    ] {
        let settings = settings(window, most);
        let mut sender = sender::Sender::default();
        assert!(sender.push(Time::ZERO, 10_000_000, &settings));
        let mut taken = Vec::new();
        while sender.is_bursting() {
            let piece = sender.take(&settings, Lifetime::OneMessage, false);
            let way = sender.burst_way(&mut rng, (ways, Spray::Permutation), settings.first_ways);
            sender.sent(Time::ZERO, &piece, way, &settings);
            taken.push(way);
            sender.check();
        }
        assert_eq!(taken.len(), window as usize);
        let probes = u32::from(ways.min(most)).min(window);
        assert_eq!(
            u32::from(sender.early.as_ref().unwrap().stride()),
            probes,
            "{window} frames on {most} of {ways} ways"
        );
        let mut named = vec![0; taken.len()];
        for place in 0..sender.early.as_ref().unwrap().stride() {
            let (probe, way) = sender.probe(place, true, ways, &settings).unwrap();
            assert!(probe.makes_sense());
            for number in 0..probe.count {
                let frame = usize::from(probe.first + number * probe.stride);
                assert_eq!(
                    taken[frame], way,
                    "frame {frame} of {window} on {ways} ways"
                );
                named[frame] += 1;
            }
        }
        assert!(named.iter().all(|&times| times == 1), "{named:?}");
        // Twice a probe goes again on the way of its frames, and then on the next one, until it has tried all.
        let mut tried = Vec::new();
        for _ in 0..5 {
            let (_, way) = sender.probe(0, true, ways, &settings).unwrap();
            tried.push((way + ways - taken[0]) % ways);
            sender.early.as_mut().unwrap().ask();
        }
        let next = |n: u16| n % ways;
        assert_eq!(tried, [0, 0, 0, next(1), next(2)], "{ways} ways");
    }
}

#[test]
fn parameters_of_trimming_are_unknown_and_those_of_dropping_known() {
    let read = |text: &str| AEOLUS.read(&text.parse().unwrap());
    let found = read("drop_threshold = \"30KB\"\ndrop_by = \"ecn\"\nwindow = 12").unwrap();
    assert_eq!(AEOLUS.read(&found.resolved()), Ok(found.clone()));
    let drop = Factory::fabric(&found, Rate::gbps(10), Encap::PAPER)
        .drop
        .unwrap();
    assert_eq!(drop.threshold, units::Bytes(30_000));
    let refusals = [
        "trim = \"64B\"",
        "queue = 8",
        "window = 1024",
        "drop_threshold = \"4 hats\"",
    ];
    let refusals = refusals.map(|text| read(text).unwrap_err().to_string() + "\n");
    insta::assert_snapshot!("aeolus_refusals", refusals.concat());
}

#[test]
fn a_port_before_a_host_has_room_for_probes_and_for_what_one_line_held_back() {
    let config = EndpointConfig::new(B, Rate::gbps(10), Encap::PAPER);
    let crowd = Crowd {
        messages: 3,
        of_one: 2,
        largest: 10 * 1460,
        ways: 2,
    };
    let protects = |params: &Params| Factory::protects(params, &config, crowd);
    let drops = aeolus("").drop_spec(Encap::PAPER).unwrap().threshold.get();
    // A probe on each way of three messages, and four frames of two; a frame that has begun; and what ports take unasked.
    for (more, ways, mends) in [
        ("", 2, true),
        ("first_ways = 1", 1, false),
        ("ways = \"flow\"", 1, false),
    ] {
        let room = protects(&aeolus(&format!("window = 4\n{more}"))).expect("it protects");
        let bytes = 3 * ways * 84 + 8 * 1538 + 1538 + drops;
        assert_eq!(room.bytes.get(), bytes, "{more}");
        assert_eq!(room.instead.contains("first_ways"), mends, "{more}");
    }
    assert_eq!(protects(&params("")), None, "nothing is dropped first");
}
