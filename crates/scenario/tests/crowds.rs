//! ExpressPass where many ask at once, and where nothing is wrong.

#![allow(
    clippy::unwrap_used,
    reason = "this is test code, which clippy cannot see here"
)]

use results::{RunRecord, Status};
use scenario::{Alone, Scenario, load_text};
use units::{Rate, Span};

fn run(text: &str, sets: &[&str], seed: u32) -> RunRecord {
    let seed = format!("run.seed={seed}");
    let sets = sets
        .iter()
        .copied()
        .chain([seed.as_str(), "output.every=0s"]);
    let sets: Vec<_> = sets.map(str::to_owned).collect();
    let record = load_text("crowd.toml", text, &sets)
        .and_then(Scenario::assemble)
        .unwrap_or_else(|e| panic!("{e}"))
        .run(1, "", &mut Alone)
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(record.status, Status::Complete, "{sets:?}");
    // What a failed link leaves without a way is no loss of a queue.
    let full = record.ports.iter().filter(|port| {
        let lost = port.dropped[model::Class::Scheduled];
        lost > port.drop_reasons[model::DropReason::Unreachable]
    });
    assert_eq!(full.count(), 0, "{sets:?} lost data");
    record
}

/// Messages of `size` bytes from `senders` hosts to one, all at the same moment.
fn incast(topology: &str, senders: u32, size: u64) -> String {
    format!(
        "[topology]\n{topology}\nhost_delay = \"1us\"\n[workload]\nkind = \"incast\"\nreceiver = 0\n\
         senders = {senders}\nsize = \"{size}B\"\n[transport]\nkind = \"expresspass\"\n"
    )
}

/// When the last byte came, as a multiple of what the line needs for all frames and their credits.
fn over_the_line(record: &RunRecord, rate: Rate, senders: u64, size: u64) -> f64 {
    let last = record.flows.iter().filter_map(|message| message.end).max();
    let frames = senders * size.div_ceil(1460);
    let line = rate.serialize(units::Bytes(frames * 1622));
    last.expect("all ended").0 as f64 / line.0 as f64
}

const STAR: &str = "kind = \"star\"\nhosts = 513\nhost_rate = \"100Gbps\"";
const LEAF_SPINE: &str =
    "kind = \"leaf-spine\"\nleaves = 8\nspines = 8\nhosts_per_leaf = 72\nhost_rate = \"100Gbps\"";

#[test]
fn nobody_starves_in_a_wide_incast() {
    for topology in [STAR, LEAF_SPINE] {
        for seed in 1..=5 {
            let record = run(&incast(topology, 512, 64_000), &[], seed);
            let over = over_the_line(&record, Rate::gbps(100), 512, 64_000);
            assert!(over < 1.2, "{topology}, seed {seed}: {over}");
            assert_eq!(record.totals.timeouts, 0, "{topology}, seed {seed}");
        }
    }
}

#[test]
fn what_counts_as_silence_costs_a_sender_that_lives_nothing() {
    let star = "kind = \"star\"\nhosts = 201\nhost_rate = \"10Gbps\"";
    let text = incast(star, 200, 40_000);
    let mean = |sets: &[&str]| -> f64 {
        let sets = [&["transport.profile=ns2xpass"], sets].concat();
        let over = |seed| over_the_line(&run(&text, &sets, seed), Rate::gbps(10), 200, 40_000);
        (1..=5).map(over).sum::<f64>() / 5.0
    };
    let off = mean(&["transport.expresspass.silent_credits=0"]);
    let on = mean(&[]);
    assert!(on < 1.03 * off, "{on} with it, {off} without");
}

/// Scenarios without faults, of which no request is dropped.
fn calm() -> Vec<(&'static str, String)> {
    let random = |topology: &str, sizes: &str, load: f64| {
        format!(
            "[topology]\n{topology}\nhost_delay = \"1us\"\n[workload]\nkind = \"random\"\nload = {load}\n\
             {sizes}\n[transport]\nkind = \"expresspass\"\n"
        )
    };
    let star = |hosts: u32| format!("kind = \"star\"\nhosts = {hosts}\nhost_rate = \"10Gbps\"");
    let fabric = "kind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \
                  \"10Gbps\"\nuplink_rate = \"10Gbps\"";
    vec![
        ("one packet", {
            let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/one-packet.cdf");
            std::fs::write(path, "1460 0\n1460 1\n").unwrap();
            let sizes = format!("sizes = {path:?}\nmessages = 4000");
            random(&star(33), &sizes, 0.5)
        }),
        (
            "web server",
            random(fabric, "sizes = \"web-server\"\nmessages = 500", 0.6),
        ),
        (
            "cache follower",
            random(fabric, "sizes = \"cache-follower\"\nmessages = 200", 0.5),
        ),
        ("a few to one", incast(&star(17), 16, 20_000)),
        ("many to one", incast(&star(401), 400, 10_000)),
        ("one packet each", incast(&star(401), 400, 1000)),
    ]
}

/// `tidegate reproduce no-timers` asks the same of 200 seeds, and of what sends before its first credit.
#[test]
fn safety_timers_never_fire_where_nothing_is_wrong() {
    for seed in 1..4 {
        for (name, text) in calm() {
            let totals = run(&text, &[], seed).totals;
            assert_eq!(totals.timeouts, 0, "{name}, seed {seed}: {totals:?}");
        }
    }
}

/// The other way round: one host asks many, and each answers. What their receivers say meets at its port.
#[test]
fn receivers_of_a_crowd_cost_its_host_no_queue() {
    let queue = |connections: u32, seed| {
        let text = format!(
            "[topology]\nkind = \"star\"\nhosts = 65\nhost_rate = \"10Gbps\"\nhost_delay = \"10us\"\n\
             [workload]\nkind = \"incast-rr\"\nsenders = {connections}\nreceiver = 0\nrequest = \"200B\"\n\
             size = \"1000B\"\nrounds = 4\npacing = \"closed\"\n[transport]\nkind = \"expresspass\"\n"
        );
        let record = run(&text, &[], seed);
        assert_eq!(record.totals.timeouts, 0, "{connections}, seed {seed}");
        record.ports.iter().map(|port| port.queue_max).max()
    };
    for seed in 1..=3 {
        let few = queue(32, seed).expect("ports");
        for connections in [256, 1024] {
            let many = queue(connections, seed).expect("ports");
            assert!(
                many < 4 * few,
                "{connections}, seed {seed}: {many} B, {few} B with 32"
            );
        }
    }
}

#[test]
fn naive_credit_is_fair_on_one_bottleneck_and_loses_nothing_both_ways() {
    let naive = |pairs: u32, both: bool, sets: &[&str]| {
        let one_way = (0..pairs).map(|n| format!("\"{n} -> {}\"", pairs + n));
        let back = (0..pairs).map(|n| format!("\"{} -> {n}\"", pairs + n));
        let list: Vec<_> = one_way.chain(back.filter(|_| both)).collect();
        let text = format!(
            "[topology]\nkind = \"dumbbell\"\npairs = {pairs}\nhost_rate = \"10Gbps\"\n\
             bottleneck_rate = \"10Gbps\"\nhost_delay = \"4us\"\nbottleneck_delay = \"4us\"\n\
             [workload]\nkind = \"long-flows\"\nstop = \"50ms\"\npairs = [{}]\n[transport]\nkind = \"expresspass\"\n\
             [transport.expresspass]\ncontroller = \"naive\"\n[run]\nuntil = \"51ms\"\n",
            list.join(", ")
        );
        run(&text, sets, 1)
    };
    let jain = |record: &RunRecord| {
        let got = record.flows.iter().map(|flow| flow.received as f64);
        let (sum, squares) = got.fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
        sum * sum / (squares * record.flows.len() as f64)
    };
    let fair = [4, 16, 64].map(|pairs| jain(&naive(pairs, false, &[])));
    assert!(fair.iter().all(|&index| index > 0.98), "{fair:?}");
    // What a shaper that keeps in step makes of it.
    let index = jain(&naive(16, false, &["transport.expresspass.nic_jitter=0.0"]));
    assert!(index < 0.7, "without jitter: {index}");
    let both = naive(64, true, &[]);
    let queue = both.ports.iter().map(|port| port.queue_max).max();
    assert!(queue < Some(20_000), "{queue:?} B both ways");
}

/// Receivers gave senders up after 200 ms, also where these ask for the first time after 480.
#[test]
fn a_way_of_many_milliseconds_is_no_silence() {
    let text = "[topology]\nkind = \"star\"\nhosts = 3\nhost_rate = \"1Gbps\"\nhost_delay = \"60ms\"\n\
                [workload]\nkind = \"incast\"\nsenders = 1\nreceiver = 0\nsize = \"50MB\"\n\
                [transport]\nkind = \"expresspass\"\n[run]\nuntil = \"60s\"\n";
    for seed in 1..=3 {
        let record = run(text, &[], seed);
        assert_eq!(record.totals.timeouts, 0, "seed {seed}");
        let last = record.flows[0].end.unwrap();
        assert!(last < units::Time::ZERO.after(Span::ms(1300)), "{last}");
    }
}

#[test]
fn a_message_to_a_host_that_is_cut_off_for_a_while_still_arrives() {
    let star = "kind = \"star\"\nhosts = 5\nhost_rate = \"10Gbps\"";
    let fault =
        "[[faults]]\nkind = \"down\"\nlink = \"h0 <-> *\"\nfrom = \"20us\"\nuntil = \"51ms\"\n";
    let record = run(&(incast(star, 4, 100_000) + fault), &[], 1);
    let last = record.flows.iter().filter_map(|message| message.end).max();
    assert!(
        last.unwrap().since(units::Time::ZERO) < Span::ms(200),
        "{last:?}"
    );
}

/// A STOP overtakes the last frame, is answered with a NACK, and the answer to the new request is lost in
/// an outage that lasts longer than the receiver remembers what is done.
#[test]
fn an_outage_after_the_last_byte_has_nothing_delivered_twice() {
    let text = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 3\nhosts_per_leaf = 5\n\
                host_rate = \"10Gbps\"\nhost_delay = \"1us\"\n[workload]\nkind = \"all-to-all\"\n\
                size = \"1460B\"\n[switch]\nbalance = \"packet\"\n[transport]\nkind = \"expresspass\"\n\
                [[faults]]\nkind = \"down\"\nlink = \"* <-> *\"\nfrom = \"34us\"\nuntil = \"30ms\"\n";
    let mut late = 0;
    for seed in 1..=10 {
        let record = run(text, &[], seed);
        assert_eq!(record.conservation, Ok(()), "seed {seed}");
        let ends = record.flows.iter().filter_map(|message| message.end);
        late += ends.filter(|end| end.0 > Span::ms(30).0).count();
    }
    assert!(late > 100, "{late} messages ended after the outage");
}
