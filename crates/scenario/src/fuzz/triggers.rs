//! Messages that wait for others, at whatever host: a scenario says so in a trace's file alone.

use model::{Rng, stream};
use units::{Span, Time};
use workload::{Milestone, Start, Traffic, Trigger};

/// Messages that one trigger waits for, at most. [ours]
const CAUSES_MAX: u64 = 3;

/// Has some messages of `traffic` start with triggers, with every fourth seed. Each waits for messages
/// before it, so that all of them end.
pub(super) fn draw(traffic: &mut Traffic, seed: u64) {
    let mut rng = Rng::stream(seed, stream::TEST, 7);
    if rng.below(4) > 0 {
        return;
    }
    let mut carried = vec![[0u32; 2]; traffic.conns.len()];
    for message in &traffic.messages {
        carried[message.conn as usize][usize::from(message.from_a)] += 1;
    }
    for place in 1..traffic.messages.len() {
        let message = &mut traffic.messages[place];
        // Nobody knows the place of one that is fired among others of its connection.
        let alone = carried[message.conn as usize][usize::from(message.from_a)] == 1;
        let at_a_time = matches!(message.start, Start::At(_)) && message.stop.is_none();
        if !alone || !at_a_time || rng.below(3) > 0 {
            continue;
        }
        let mut causes: Vec<_> = (0..rng.between(1, CAUSES_MAX))
            .map(|_| {
                let milestone =
                    [Milestone::Sent, Milestone::Received][usize::from(rng.below(2) > 0)];
                (
                    u32::try_from(rng.below(place as u64)).expect("a message's place"),
                    milestone,
                )
            })
            .collect();
        causes.sort_unstable();
        causes.dedup();
        let last = u32::try_from(causes.len()).expect("at most three");
        message.start = Start::Fired {
            trigger: u32::try_from(traffic.triggers.len()).expect("fewer than messages"),
            nth: 1 + u32::try_from(rng.below(last.into())).expect("at most three"),
            delay: Span::ns(rng.below(3) * rng.below(50_000)),
        };
        traffic.triggers.push(Trigger { causes });
    }
}

/// Part of a run that a trace is taken of: with every third seed all of it, of one connection with another.
pub(super) fn traced(traffic: &Traffic, seed: u64, end: Time) -> Option<sim::Wanted> {
    let mut rng = Rng::stream(seed, stream::TEST, 6);
    let all = sim::Wanted {
        conns: None,
        window: Time::ZERO..Time::NEVER,
        events_max: u64::MAX,
    };
    match rng.below(3) {
        0 => None,
        1 => Some(all),
        _ => {
            let conn = rng.below((traffic.conns.len() as u64).max(1));
            let from = Time(rng.below(end.0.max(1)));
            Some(sim::Wanted {
                conns: Some(vec![u32::try_from(conn).expect("a connection's number")]),
                window: from..Time(rng.between(from.0, end.0)),
                ..all
            })
        }
    }
}
