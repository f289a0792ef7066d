//! Conversations as ladders, and matchings of many hosts.

use super::header::{Accept, Grantsr, Kind, Req};
use super::*;
use model::{HostId, Lifetime, Rng, stream};
use parts::Described;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use testkit::{A, B, C, Chaos, Pair};
use units::{Span, Time};

fn params(text: &str) -> Params {
    DCPIM.read(&text.parse().unwrap()).unwrap()
}

/// The ladder of a conversation that `script` writes down and that comes to its end.
fn ladder(text: &str, hosts: usize, script: impl FnOnce(&mut Pair<'_>)) -> String {
    let params = params(text);
    let make = |config: &EndpointConfig| Factory::make(&params, config);
    let mut pair = Pair::star(hosts, &make, &header::CODEC).named("dcpim");
    script(&mut pair);
    pair.run();
    pair.ladder()
}

/// Where something stands in a ladder.
#[track_caller]
fn at(ladder: &str, what: &str) -> usize {
    let place = ladder.find(what);
    place.unwrap_or_else(|| panic!("no {what} in\n{ladder}"))
}

#[test]
fn a_message_is_announced_matched_and_sent_for_tokens() {
    let found = ladder("short = 0", 2, |pair| {
        pair.message(Time::ZERO, A, B, 8_000);
    });
    testkit::same(&found, testkit::shown(include_str!("README.md")));
}

#[test]
fn a_short_message_needs_no_match() {
    let found = ladder("", 2, |pair| {
        pair.message(Time::ZERO, A, B, 9 * 1460);
        pair.message(Time(200_000_000), A, B, 10 * 1460 + 1);
    });
    assert!(at(&found, "A is done with message 0 of #1") < at(&found, "REQ"));
    insta::assert_snapshot!(found);
}

#[test]
fn what_is_lost_of_a_short_message_is_matched() {
    let found = ladder("", 2, |pair| {
        pair.message(Time::ZERO, A, B, 8_000);
        pair.lose(("DATA", 2));
    });
    insta::assert_snapshot!(found);
}

#[test]
fn a_lost_offer_costs_one_round_and_a_lost_answer_nothing() {
    let of = |what| {
        ladder("short = 0", 2, |pair| {
            pair.message(Time::ZERO, A, B, 8_000);
            pair.lose((what, 1));
        })
    };
    let done = "61.647us  B received message 0, 8000 B";
    let offer = of("GRANT");
    // Asked again a round of 13.175 us later; the epoch begins meanwhile, and gives a token at once.
    assert!(
        offer.contains("26.349us  A <- B  REQ 0.2 channels 1"),
        "{offer}"
    );
    assert!(offer.contains("73.231us  B received message 0"), "{offer}");
    // Who offered does not know that it was taken; tokens are tokens.
    let answer = of("ACCEPT");
    assert!(answer.contains(done), "{answer}");
    let request = of("REQ");
    assert!(
        request.contains("73.231us  B received message 0"),
        "{request}"
    );
}

/// B and C send to A, which has four channels for both.
#[test]
fn the_shorter_message_has_its_channels_first_and_the_longer_one_the_rest() {
    let found = ladder("short = 0", 3, |pair| {
        pair.message(Time::ZERO, B, A, 400_000);
        pair.message(Time::ZERO, C, A, 30_000);
    });
    assert!(at(&found, "A received message 0 of #2") < at(&found, "A received message 0 of #1"));
    insta::assert_snapshot!(found.lines().take(40).collect::<Vec<_>>().join("\n"));
}

/// A long message uses its line without a pause, epoch after epoch.
#[test]
fn the_next_epoch_is_matched_while_the_data_of_one_comes() {
    let found = ladder("", 2, |pair| {
        pair.message(Time::ZERO, A, B, 2_000_000);
    });
    let last = found
        .lines()
        .find(|line| line.contains("B received message 0"));
    let last: f64 = last
        .unwrap()
        .trim()
        .split("us")
        .next()
        .unwrap()
        .parse()
        .unwrap();
    // 1,370 frames of 1.2304 us, and two rounds before the first token.
    let line = 1_370.0 * 1.2304;
    assert!(last > line && last < line + 60.0, "{last} us");
}

#[test]
fn an_idle_host_and_short_messages_have_no_rounds() {
    let params = params("");
    let make = |config: &EndpointConfig| Factory::make(&params, config);
    let mut pair = Pair::star(2, &make, &header::CODEC).named("dcpim");
    for n in 0..20 {
        pair.message(Time(n * 1_000_000_000), A, B, 5_000);
    }
    pair.run();
    assert_eq!(pair.count(|packet| Kind::of(packet) == Some(Kind::Req)), 0);
    // 20 ms have 1,518 rounds; each message has some twenty packets and calls.
    assert!(pair.calls() < 900, "{} calls", pair.calls());
}

/// Channels that receivers have taken after each round of an epoch, all to all among eight hosts, for epochs one after the other.
fn matched(text: &str, epochs: usize) -> String {
    let params = params(text);
    let make = |config: &EndpointConfig| Factory::make(&params, config);
    let mut pair = Pair::star(8, &make, &header::CODEC).named("dcpim");
    for from in 0..8 {
        for to in (0..8).filter(|&to| to != from) {
            pair.message(Time::ZERO, HostId(from), HostId(to), 2_000_000);
        }
    }
    pair.run();
    let mut taken: BTreeMap<(u16, u8), u32> = BTreeMap::new();
    pair.count(|packet| {
        if Kind::of(packet) == Some(Kind::Accept) {
            let accept = Accept::read(packet);
            *taken.entry((accept.epoch, accept.round)).or_default() += u32::from(accept.channels);
        }
        false
    });
    let mut text = String::new();
    let (mut shown, mut epoch, mut sum) = (0, None, 0);
    for ((of, _), channels) in taken {
        if epoch != Some(of) {
            (shown, epoch, sum) = (shown + 1, Some(of), 0);
            if shown > epochs {
                break;
            }
            text += "| ";
        }
        sum += channels;
        write!(text, "{sum} ").unwrap();
    }
    text
}

/// Eight hosts have 32 channels each way. With one round an epoch uses 56 % of them on average; published are 54 to 56 % of the load.
/// [dcpim s4.4]
#[test]
fn each_round_matches_most_of_what_the_one_before_left() {
    insta::assert_snapshot!(matched("short = 0", 4), @"| 20 32 | 32 | 32 | 32");
    insta::assert_snapshot!(matched("short = 0\nchannels = 1", 4), @"| 5 8 | 8 | 8 | 8");
    insta::assert_snapshot!(matched("short = 0\nrounds = 1", 14), @"| 20 | 20 | 20 | 4 | 24 | 24 | 20 | 16 | 20 | 16 | 24 | 20 | 12 | 16");
}

/// Random messages among hosts that lose and delay packets: in no epoch has a host more than its channels, either way,
/// and everything arrives. `Endpoint::check`, which says the same of what hosts believe, runs after every step.
fn random_matchings(text: &str, channels: u32, seed: u64, lossy: bool) -> u64 {
    const HOSTS: u32 = 8;
    let params = params(text);
    let make = |config: &EndpointConfig| Factory::make(&params, config);
    let mut rng = Rng::stream(seed, stream::TEST, 9);
    let mut pair = Pair::star(HOSTS.try_into().unwrap(), &make, &header::CODEC)
        .named("dcpim")
        .seed(seed)
        .delay(Span::us(2));
    let mut ends = BTreeMap::new();
    for _ in 0..40 {
        let from = rng.below(HOSTS.into());
        let to = (from + 1 + rng.below(u64::from(HOSTS) - 1)) % u64::from(HOSTS);
        let [from, to] = [from, to].map(|host| HostId(u32::try_from(host).unwrap()));
        let length = rng.below(300_000);
        let conn = pair.message(Time(rng.below(300_000_000)), from, to, length);
        ends.insert(conn, (from, to));
    }
    let faults = Chaos {
        lose_ppb: 30_000_000,
        duplicate_ppb: 20_000_000,
        delay_ppb: 30_000_000,
        delay_max: Span::us(20),
        ..Chaos::default()
    };
    if lossy {
        pair.chaos(faults, seed);
    }
    pair.run();
    let (mut taken, mut given_back) = (BTreeMap::new(), BTreeMap::new());
    pair.count(|packet| {
        let (sender, receiver) = ends[&packet.conn];
        match Kind::of(packet) {
            Some(Kind::Accept) => {
                let accept = Accept::read(packet);
                let round = (accept.epoch, accept.round);
                taken.insert((receiver, sender, round), u32::from(accept.channels));
            }
            Some(Kind::Grantsr) => {
                let back = Grantsr::read(packet);
                let channels = u32::from(back.channels);
                for host in [(receiver, true, back.epoch), (sender, false, back.epoch)] {
                    *given_back.entry(host).or_insert(0) += channels;
                }
            }
            _ => {}
        }
        false
    });
    let mut sums = BTreeMap::new();
    for ((receiver, sender, (epoch, _)), channels) in taken {
        *sums.entry((receiver, true, epoch)).or_insert(0) += channels;
        // What is lost a sender does not know of, and offers again.
        if !lossy {
            *sums.entry((sender, false, epoch)).or_insert(0) += channels;
        }
    }
    for (host, channels) in given_back {
        if let Some(sum) = sums.get_mut(&host) {
            *sum -= channels.min(*sum);
        }
    }
    let most = sums.values().copied().max().unwrap_or(0);
    assert!(
        most <= channels,
        "{most} of {channels} channels, {text}, seed {seed}"
    );
    sums.values().filter(|&&sum| sum == channels).count() as u64
}

#[test]
fn dcpim_matches_no_host_with_more_than_its_channels() {
    for (text, channels) in [
        ("short = 0", 4),
        ("short = 0\nchannels = 1\nrounds = 2", 1),
        ("short = 0\nchannels = 7\nsmallest = 0\nprompt = false", 7),
        ("short = 0\nalpha = 2\nskew = \"500ns\"", 4),
    ] {
        let random = |seed| random_matchings(text, channels, seed, seed % 2 == 0);
        let full: u64 = (0..12).map(random).sum();
        assert!(full > 100, "{full} times all channels were taken: {text}");
    }
}

/// A host that is behind by more than half a round joins the clock of one ahead.
#[test]
fn hosts_with_clocks_far_apart_find_each_other() {
    let found = ladder("short = 0\nskew = \"5ms\"\nrto = \"50us\"", 2, |pair| {
        pair.message(Time::ZERO, A, B, 100_000);
    });
    let last = found
        .lines()
        .find(|line| line.contains("B received message 0"));
    let last: f64 = last
        .unwrap()
        .trim()
        .split("us")
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!(last < 400.0, "{last} us\n{found}");
}

/// What nobody asked for or offered changes nothing, and is answered by nothing.
#[test]
fn a_liar_takes_no_channels() {
    let params = params("short = 0");
    let make = |config: &EndpointConfig| Factory::make(&params, config);
    let mut pair = Pair::star(2, &make, &header::CODEC).named("dcpim");
    let conn = pair.message(Time::ZERO, A, B, 100_000);
    let config = pair.config(A);
    let mut alone = testkit::Alone::new(Host::new(&params, &config));
    alone.call(|host, cx| {
        host.connect(cx, conn, B, Lifetime::OneMessage);
        host.send(cx, conn, 100_000);
    });
    while alone.poll().is_some() {}
    // The first epoch is over.
    alone.now = Time(53_000_000);
    for round in 0..4 {
        let accept = Accept {
            epoch: 0,
            round,
            channels: 64,
            prompt: 64,
        };
        alone.hear(&accept.packet(A, conn, 84));
        let back = Grantsr {
            epoch: 0,
            round,
            channels: 64,
        };
        alone.hear(&back.packet(A, conn, 84));
    }
    assert!(alone.poll().is_none());
    // The first to ask still has all of them.
    let req = Req {
        epoch: 1,
        round: 0,
        channels: 64,
        prompt: 64,
        left: 1,
    };
    alone.hear(&req.packet(A, conn, 84));
    alone.now = alone.host.deadline();
    alone.call(Endpoint::on_deadline);
    let grant = header::Grant::read(&alone.poll().expect("an offer"));
    assert_eq!((grant.channels, grant.prompt), (4, 4));
}

#[test]
fn priorities_follow_from_sizes_and_fewer_ones_are_shared() {
    let priorities = |text: &str| {
        let config = EndpointConfig::new(A, Rate::gbps(100), Encap::PAPER);
        let settings = settings::Settings::new(&params(text), &config);
        [
            1,
            7,
            8,
            49,
            50,
            343,
            344,
            2_401,
            2_402,
            16_807,
            16_808,
            1 << 20,
        ]
        .map(|frames| settings.priority(frames * 1_460))
    };
    assert_eq!(priorities(""), [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
    assert_eq!(
        priorities("priorities = 3"),
        [1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]
    );
    assert_eq!(priorities("priorities = 1"), [0; 12]);
    assert_eq!(params("").warnings(), [""; 0]);
    assert_eq!(params("priorities = 6").warnings().len(), 1);
}

#[test]
fn parameters_survive_their_own_table_and_refuse_nonsense() {
    for text in [
        "",
        "rounds = 5\nchannels = 8",
        "alpha = 2.5\nskew = \"1us\"",
    ] {
        let read = params(text);
        assert_eq!(DCPIM.read(&read.resolved()), Ok(read));
    }
    let refusals: String = [
        "rounds = 0",
        "channels = 65",
        "beta = 0.9",
        "linger = \"1s\"",
    ]
    .map(|text| DCPIM.read(&text.parse().unwrap()).unwrap_err().to_string() + "\n")
    .concat();
    insta::assert_snapshot!(refusals);
}

#[test]
fn words_of_a_matching_that_find_no_room_at_their_host_are_counted() {
    let mut counts = host::Counts::default();
    let mut control = parts::packet_queue::PacketQueue::default();
    let packet = model::Packet::new(HostId(1), model::ConnId(7), model::Class::Control, 0, 84);
    for _ in 0..=host::CONTROL_MAX {
        counts.say(&mut control, packet);
    }
    let most = host::CONTROL_MAX as u64;
    assert_eq!((counts.matching, counts.line_lost), (most + 1, 1));
}
