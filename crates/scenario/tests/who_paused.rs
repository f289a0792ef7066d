//! Who paused whom, and for whose sake, where only one answer is possible.

use results::trace::{Part, Segment, Why};
use scenario::{Alone, Assembled, Scenario};
use units::Time;

fn run(text: &str, control: &str) -> Assembled {
    let sets = [format!("switch.flow_control={control}")];
    let run = scenario::load_text("paused.toml", text, &sets).and_then(Scenario::assemble);
    run.unwrap_or_else(|e| panic!("{control}: {e}"))
}

fn explained(run: &Assembled) -> Vec<Why> {
    let all: Vec<u32> = (0..).take(run.traffic.messages.len()).collect();
    let explained = run.explain(1, &all, Time::ZERO, Time::NEVER, &mut Alone);
    explained.unwrap_or_else(|e| panic!("{e}")).0
}

fn paused(why: &Why) -> impl Iterator<Item = &Segment> {
    why.path.iter().filter(|part| part.part == Part::Paused)
}

/// The lines that a part of a message's time was paused for.
fn lines(part: &Segment) -> Vec<&str> {
    let (all, _) = part.note.split_once(": ").unwrap_or((&part.note, ""));
    let lines = all.split(", ");
    lines.filter_map(|line| line.strip_prefix("for ")).collect()
}

/// A star of which hosts send to two receivers each, so that pauses for both are asked for by one line.
fn star(hosts: u32, senders: [u32; 2], sizes: [u32; 2], delay: u32) -> String {
    let incast = |to: usize| {
        format!(
            "[[workload]]\nkind = \"incast\"\nsenders = {}\nreceiver = {to}\nsize = \"{}KB\"\n",
            senders[to], sizes[to]
        )
    };
    format!(
        "[topology]\nkind = \"star\"\nhosts = {hosts}\nhost_rate = \"100Gbps\"\nhost_delay = \"{delay}ns\"\n\
         {}{}[transport]\nkind = \"none\"\n",
        incast(0),
        incast(1)
    )
}

const PER_FLOW: [&str; 3] = ["ideal", "bfc", "aquarius"];

/// How many parts of messages were paused in a star: each for the line to the message's receiver, as nobody else pauses it.
fn paused_in_star(name: &str, text: &str, control: &str) -> usize {
    let mut parts = 0;
    for why in explained(&run(text, control)) {
        let (src, dst) = (&why.src, &why.dst);
        for part in paused(&why) {
            parts += 1;
            let place = format!("tor0 ({src} -> tor0, flow {})", why.conn);
            let own = format!("tor0 -> {dst}");
            assert_eq!(part.place, place, "{name}, {control}");
            assert_eq!(
                lines(part),
                [own],
                "{name}, {control}: {src} -> {dst}: {part:?}"
            );
        }
    }
    parts
}

#[test]
fn of_two_receivers_on_a_switch_each_pauses_its_own_flows() {
    let text = star(6, [4, 4], [300, 1000], 2000);
    for control in PER_FLOW {
        let parts = paused_in_star("star", &text, control);
        assert!(parts >= 8, "{control}: {parts} parts");
    }
}

#[test]
fn so_it_is_in_stars_of_any_size() {
    let mut parts = 0;
    for seed in 0..20_u32 {
        let hosts = 4 + seed % 5;
        let senders = [2 + seed % (hosts - 2), 2 + seed / 3 % (hosts - 2)];
        let sizes = [100 + 70 * (seed % 7), 150 + 110 * (seed % 4)];
        let text = star(hosts, senders, sizes, 300 + 400 * (seed % 6))
            + &format!("[run]\nseed = {seed}\n");
        for control in PER_FLOW {
            parts += paused_in_star(&format!("seed {seed}"), &text, control);
        }
    }
    assert!(parts > 200, "{parts} parts");
}

/// Over a spine a pause goes on from switch to switch. Where every flow has a pause or a queue of its own, it is never for
/// a line that the flow does not cross.
#[test]
fn a_chain_of_pauses_follows_the_way_of_its_flow() {
    let text = "[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 1\nhosts_per_leaf = 4\n\
                host_rate = \"100Gbps\"\nhost_delay = \"2us\"\nuplink_rate = \"400Gbps\"\n\
                [[workload]]\nkind = \"incast\"\nsenders = 8\nreceiver = 0\nsize = \"300KB\"\n\
                [[workload]]\nkind = \"incast\"\nsenders = 8\nreceiver = 1\nsize = \"600KB\"\n\
                [transport]\nkind = \"none\"\n[switch]\nbfc = { queues = 128 }\n";
    for control in PER_FLOW {
        let run = run(text, control);
        let (mut chains, mut own) = (0, 0);
        for why in explained(&run) {
            let number = |host: &str| host[1..].parse::<u32>().expect("a number") / 4;
            let (from, to) = (number(&why.src), number(&why.dst));
            let mut way = vec![format!("{} -> tor{from}", why.src)];
            if from != to {
                way.push(format!("tor{from} -> spine0"));
                way.push(format!("spine0 -> tor{to}"));
            }
            way.push(format!("tor{to} -> {}", why.dst));
            for part in paused(&why) {
                let lines = lines(part);
                let at = |line: &&str| way.iter().position(|own| own == line);
                let places: Option<Vec<usize>> = lines.iter().map(at).collect();
                chains += usize::from(lines.len() > 1);
                assert!(!lines.is_empty(), "{control}: {part:?}");
                if let Some(places) = &places {
                    own += 1;
                    assert!(
                        places.windows(2).all(|pair| pair[0] + 1 == pair[1]),
                        "{part:?}"
                    );
                }
                // Flows that share the queue of those that are paused stand with them, but from a host on none does.
                let shares = control == "aquarius";
                let first = lines.first().and_then(at);
                let by_host = part.place.contains(&format!("({} -> ", why.src));
                assert!(
                    places.is_some() || shares,
                    "{control}: {} -> {}: {part:?}",
                    why.src,
                    why.dst
                );
                assert!(first == Some(1) || !by_host, "{control}: {part:?}");
            }
        }
        assert!(
            chains > 2 && own > 8,
            "{control}: {chains} chains, {own} on their own way"
        );
    }
}

/// A line is paused as a whole, for whatever fills the room that it has: not for the packet that was one too many.
#[test]
fn a_line_is_paused_for_the_queue_that_most_of_it_waits_in() {
    for (sizes, seed) in [([300, 300], 1), ([200, 600], 2), ([900, 400], 3)] {
        let [much, little] = sizes;
        let text = format!(
            "[topology]\nkind = \"star\"\nhosts = 5\nhost_rate = \"10Gbps\"\n\
             [[workload]]\nkind = \"incast\"\nsenders = 3\nreceiver = 4\nsize = \"{much}KB\"\n\
             [[workload]]\nkind = \"incast\"\nsenders = 1\nreceiver = 3\nsize = \"{little}KB\"\n\
             [transport]\nkind = \"none\"\n[switch]\nshared_buffer = \"300KB\"\n[run]\nseed = {seed}\n"
        );
        for control in ["pfc", "cbfc"] {
            let run = run(&text, control);
            let all = explained(&run);
            let parts: Vec<&Segment> = all.iter().flat_map(paused).collect();
            assert!(parts.len() > 2, "{control}: {} parts", parts.len());
            for part in parts {
                assert_eq!(
                    lines(part),
                    ["tor0 -> h4"],
                    "{control}, {sizes:?}: {part:?}"
                );
            }
        }
    }
}

/// Where one line alone has too little, a chain ends at it: no line before it is to blame, and none behind it.
#[test]
fn a_chain_ends_at_the_line_that_is_slow_however_little_slower_it_is() {
    let text = |slow: &str, rate: u32, room: u32| {
        format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 1\nhost_rate = \"100Gbps\"\n\
             uplink_rate = \"100Gbps\"\nslow = \"{slow}\"\nslow_rate = \"{rate}Gbps\"\n\
             [[workload]]\nkind = \"incast\"\nsenders = 1\nreceiver = 0\nsize = \"5MB\"\n\
             [transport]\nkind = \"none\"\n[switch]\nshared_buffer = \"{room}KB\"\n"
        )
    };
    for (slow, room) in [
        ("tor1 -> spine0", 300),
        ("spine0 -> tor0", 300),
        ("tor0 -> h0", 300),
        ("tor0 -> h0", 600),
    ] {
        for rate in [5, 20, 50, 80, 90] {
            for control in ["pfc", "cbfc", "ideal", "bfc", "aquarius"] {
                let all = explained(&run(&text(slow, rate, room), control));
                let parts: Vec<_> = all.iter().flat_map(paused).collect();
                assert!(!parts.is_empty(), "{control}, {slow} at {rate}");
                for part in parts {
                    assert_eq!(
                        lines(part).last(),
                        Some(&slow),
                        "{control} at {rate} Gb/s: {part:?}"
                    );
                }
            }
        }
    }
}

/// Of a message that nothing of has come, its oldest packet stands somewhere, or its host may not send.
#[test]
fn what_a_message_waits_for_that_did_not_end_is_named_where_its_oldest_packet_stands() {
    let text = "[topology]\nkind = \"dumbbell\"\npairs = 2\nslow = \"tor1 -> h2\"\nslow_rate = \"1Gbps\"\n\
                [[workload]]\nkind = \"permutation\"\nshift = 2\nsize = \"3MB\"\n[transport]\nkind = \"none\"\n\
                [switch]\nshared_buffer = \"2MB\"\n[run]\nuntil = \"2ms\"\n";
    for control in ["pfc", "cbfc"] {
        let all = explained(&run(text, control));
        for why in all.iter().filter(|why| why.src == "h1") {
            assert!(!why.finished, "{control}");
            let sum = |part: &Segment| part.until_ps - part.from_ps;
            let still: u64 = paused(why).map(sum).sum();
            let all: u64 = why.path.iter().map(sum).sum();
            assert!(
                still * 2 > all,
                "{control}, {}: {still} of {all}: {:?}",
                why.src,
                why.path
            );
            for part in paused(why) {
                assert_eq!(
                    lines(part).last(),
                    Some(&"tor1 -> h2"),
                    "{control}: {part:?}"
                );
            }
        }
    }
}
