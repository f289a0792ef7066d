//! Random applications over random networks: one seed, one conversation.

use crate::{Chaos, Make, Pair};
use model::wire::Codec;
use model::{ConnId, Encap, HostId, Rng, Signal, stream};
use units::{Bytes, Rate, Span, Time};

/// Messages of one conversation, answers not counted.
const MESSAGES_MAX: u64 = 10;
/// Longest message is below two to this power, in bytes. [ours: a few dozen round trips of work]
const LENGTH_BITS_MAX: u64 = 18;
/// Messages start within this time.
const OPEN_WITHIN: Span = Span::us(300);

/// Builds the conversation of `seed`: two to four hosts, lines and frames of several kinds,
/// one-shot and lasting connections, answers, cancellation, and a network that loses, repeats,
/// delays, marks and breaks. Run it with [`Pair::run`], which holds it against every oracle.
pub fn conversation<'a>(
    make: &'a Make<'a>,
    codec: &'static dyn Codec,
    name: &str,
    seed: u64,
) -> Pair<'a> {
    let mut rng = Rng::stream(seed, stream::TEST, 0);
    let hosts = rng.between(2, 4);
    let rates = [
        Rate::gbps(1),
        Rate::gbps(10),
        Rate::gbps(40),
        Rate::gbps(100),
        Rate::bps(7_777_777_777),
    ];
    let delays = [Span::ZERO, Span::ns(100), Span::us(1), Span::us(20)];
    let mut pair = Pair::star(count(hosts), make, codec)
        .named(name)
        .seed(seed)
        .rate(pick(&mut rng, &rates))
        .delay(pick(&mut rng, &delays))
        .encap(pick(&mut rng, &[Encap::PAPER, Encap::UDP]))
        .limit(Span::ms(1_000_000));
    if rng.below(2) == 0 {
        pair = pair.buffer(Bytes(rng.between(20_000, 200_000)));
    }
    if rng.below(2) == 0 {
        pair = pair.mark_from(Bytes(rng.between(2_000, 60_000)));
    }
    for _ in 0..rng.between(1, MESSAGES_MAX) {
        talk(&mut pair, &mut rng, hosts);
    }
    break_network(&mut pair, &mut rng, hosts, seed);
    pause(&mut pair, &mut rng, hosts);
    pair
}

fn count(n: u64) -> usize {
    usize::try_from(n).expect("a small number")
}

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[count(rng.below(from.len() as u64))]
}

fn host(rng: &mut Rng, hosts: u64) -> HostId {
    HostId(u32::try_from(rng.below(hosts)).expect("a small number"))
}

fn moment(rng: &mut Rng, within: Span) -> Time {
    Time(rng.below(within.0))
}

/// Any length, the short ones as often as the long ones.
fn length(rng: &mut Rng) -> u64 {
    let bits = rng.between(0, LENGTH_BITS_MAX);
    rng.below(1 << bits)
}

fn talk(pair: &mut Pair<'_>, rng: &mut Rng, hosts: u64) {
    let from = host(rng, hosts);
    let other = u32::try_from(hosts).expect("a small number");
    let to = HostId((from.0 + 1 + host(rng, hosts - 1).0) % other);
    let at = moment(rng, OPEN_WITHIN);
    if rng.below(2) == 0 {
        let conn = pair.message(at, from, to, length(rng));
        if rng.below(8) == 0 {
            pair.cancel(
                at.after(moment(rng, OPEN_WITHIN).since(Time::ZERO)),
                conn,
                from,
            );
        }
        return;
    }
    if rng.below(4) == 0 {
        let lengths = [length(rng), length(rng)];
        pair.exchange(at, from, to, lengths);
        return;
    }
    let conn = pair.connect(at, from, to);
    for ordinal in 0..u32::try_from(rng.between(1, 4)).expect("a small number") {
        pair.send(
            at.after(moment(rng, OPEN_WITHIN).since(Time::ZERO)),
            conn,
            from,
            length(rng),
        );
        if rng.below(2) == 0 {
            pair.reply(conn, to, ordinal, length(rng));
        }
    }
}

/// The next switch of a host wants nothing of a connection, or of a priority, for a while.
fn pause(pair: &mut Pair<'_>, rng: &mut Rng, hosts: u64) {
    if rng.below(3) > 0 {
        return;
    }
    for _ in 0..rng.between(1, 4) {
        let (host, at) = (host(rng, hosts), moment(rng, OPEN_WITHIN));
        let until = at.after(moment(rng, Span::ms(1)).since(Time::ZERO));
        let conn = ConnId(u32::try_from(rng.between(1, MESSAGES_MAX)).expect("a small number"));
        let (pause, resume) = if rng.below(2) == 0 {
            (Signal::PauseFlow(conn), Signal::ResumeFlow(conn))
        } else {
            (Signal::PausePriority(0), Signal::ResumePriority(0))
        };
        pair.signal(at, host, pause);
        pair.signal(until, host, resume);
    }
}

fn break_network(pair: &mut Pair<'_>, rng: &mut Rng, hosts: u64, seed: u64) {
    // A quarter of the networks is perfect, a quarter terrible.
    let worst = match rng.below(4) {
        0 => return,
        1 => 200_000_000,
        _ => 20_000_000,
    };
    let mut chance = |kinds: u64| {
        if rng.below(kinds) == 0 {
            u32::try_from(rng.below(worst)).unwrap_or(u32::MAX)
        } else {
            0
        }
    };
    let (lose_ppb, duplicate_ppb, delay_ppb, mark_ppb) =
        (chance(2), chance(2), chance(2), chance(3));
    let delay_max = pick(
        rng,
        &[Span::ns(500), Span::us(30), Span::ms(2), Span::ms(20)],
    );
    // Draws of their own: they change no conversation of a transport that nothing trims.
    let mut cuts = Rng::stream(seed, stream::TEST, 12);
    let mut chance = || u32::try_from(cuts.below(500_000_000)).expect("a half");
    let (trim_ppb, return_ppb) = (chance(), chance());
    pair.chaos(
        Chaos {
            lose_ppb,
            duplicate_ppb,
            delay_ppb,
            delay_max,
            mark_ppb,
            trim_ppb,
            return_ppb,
        },
        seed,
    );
    if rng.below(4) == 0 {
        let from = moment(rng, OPEN_WITHIN);
        let until = from.after(moment(rng, Span::ms(3)).since(Time::ZERO));
        pair.down(host(rng, hosts), from, until);
    }
}
