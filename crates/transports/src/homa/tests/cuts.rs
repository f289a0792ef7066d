//! What follows from the sizes of the messages.

use super::super::*;
use super::params;
use crate::homa::settings::payload_of;
use model::{Facts, HostId, Net, SizeList};
use units::Span;

/// A network of which only the round trip is asked.
struct TenGig;
impl Net for TenGig {
    fn hosts(&self) -> u32 {
        144
    }
    fn rate(&self, _: HostId) -> Rate {
        Rate::gbps(10)
    }
    fn rack(&self, host: HostId) -> u32 {
        host.0 / 16
    }
    fn ways(&self, _: HostId, _: HostId) -> u16 {
        4
    }
    fn base_rtt(&self, a: HostId, b: HostId) -> Option<Span> {
        // Of a ring: the first host and the last are neighbours.
        let apart = a.0.abs_diff(b.0).min(144 - a.0.abs_diff(b.0));
        (a != b).then(|| Span::us(if apart > 16 { 8 } else { 4 }))
    }
}

fn settled(text: &str, sizes: &[u64]) -> Params {
    let sizes: SizeList = sizes.iter().copied().collect();
    let mut facts = Facts::of(Encap::PAPER);
    facts.net = Some(&TenGig);
    facts.sizes = Some(&sizes);
    cutoffs::settle(&params(text), &facts).expect("all is known")
}

#[test]
fn levels_and_cutoffs_follow_from_the_bytes_of_the_messages() {
    let sigcomm = "profile = \"sigcomm18\"";
    // All leaves unasked: all levels but one are for it, and each has as many bytes.
    let short = settled(sigcomm, &[100, 200, 300, 400, 500, 600, 700, 800]);
    let levels = (short.unscheduled_priorities, short.overcommitment);
    assert_eq!(levels, (Some(7), Some(1)));
    let cutoffs = short.cutoffs.unwrap();
    assert_eq!(cutoffs.list(), [300, 400, 500, 600, 700, 800]);
    // Next to nothing does: one is left to it.
    let long = settled(sigcomm, &[10_000_000]);
    assert_eq!(
        (long.unscheduled_priorities, long.overcommitment),
        (Some(1), Some(7))
    );
    assert!(long.cutoffs.unwrap().list().is_empty());
    // What a scenario says stays.
    let said =
        format!("{sigcomm}\nunscheduled_priorities = 2\ncutoffs = [\"300B\"]\novercommitment = 3");
    let said = settled(&said, &[100, 10_000_000]);
    assert_eq!(said.unscheduled_priorities, Some(2));
    assert_eq!(said.cutoffs.unwrap().list(), [300]);
    assert_eq!(said.overcommitment, Some(3));
}

/// Each frame of each message singly: the sizes that choose priorities, and wire bytes.
fn by_hand(sizes: &[u64], params: &Params) -> Vec<u64> {
    let encap = Encap::PAPER;
    let (full, mut frames) = (1460, Vec::new());
    for &size in sizes {
        let head = size.min(params.unscheduled.unwrap());
        let mut put = |left: u64, payload: u64| {
            let by = match params.cutoff_by {
                CutoffBy::Remaining => left,
                CutoffBy::Length => size,
            };
            frames.push((by, u64::from(encap.wire(u16::try_from(payload).unwrap()))));
        };
        let (mut offset, mut grants) = (0, 0);
        while offset < size || offset == 0 {
            let end = if offset < head { head } else { size };
            let payload = full.min(end - offset);
            let left = size - offset;
            if offset < head || size == 0 || encap.wire_total(left) < params.boost_tail {
                put(left, payload);
            }
            grants += u64::from(offset >= head && size > 0);
            offset += payload.max(1);
        }
        frames.push((0, grants * u64::from(encap.frame_min)));
    }
    frames.sort_unstable();
    let all: u64 = frames.iter().map(|(_, bytes)| bytes).sum();
    let levels = u64::from(params.levels());
    let (mut below, mut level, mut cuts) = (0, 1, Vec::new());
    for (by, bytes) in frames {
        below += bytes;
        while level < levels && below * levels >= all * level {
            level += 1;
            if cuts.last() != Some(&by) {
                cuts.push(by);
            }
        }
    }
    cuts
}

#[test]
fn cutoffs_are_those_of_every_frame_counted_singly() {
    let lists: [&[u64]; 5] = [
        &[0, 1, 1_460, 1_461],
        &[40, 700, 3_000, 14_600, 14_601, 20_000],
        &[9_999, 10_000, 10_001, 123_456, 1_000_000],
        &[1_500, 1_500, 1_500, 90_000],
        &[16_060; 8],
    ];
    for sizes in lists {
        for by in ["remaining", "length"] {
            for (unscheduled, boost) in [(1, 0), (1_000, 10_000), (14_600, 10_000), (50_000, 1_538)]
            {
                let text = format!(
                    "profile = \"sigcomm18\"\nunscheduled_priorities = 6\ncutoff_by = \"{by}\"\n\
                     unscheduled = \"{unscheduled}B\"\nboost_tail = \"{boost}B\""
                );
                let found = settled(&text, sizes);
                let wanted = by_hand(sizes, &found);
                assert_eq!(
                    found.cutoffs.unwrap().list(),
                    wanted,
                    "{sizes:?} and {text}"
                );
            }
        }
    }
}

/// A terabyte unasked, in messages of all sizes: no frame is looked at singly.
#[test]
fn cutoffs_of_large_messages_cost_no_more_than_those_of_small_ones() {
    let sizes: Vec<u64> = (1..=8).map(|n| n << 37).collect();
    let found = settled("profile = \"sigcomm18\"\nunscheduled = \"1000GB\"", &sizes);
    let cutoffs = found.cutoffs.unwrap();
    assert_eq!(cutoffs.list().len(), 6);
    assert!(
        cutoffs.list().is_sorted() && cutoffs.list()[0] > 1 << 36,
        "{cutoffs:?}"
    );
}

#[test]
fn what_leaves_unasked_follows_from_the_longest_round_trip_wherever_it_is() {
    let found = settled("profile = \"sigcomm18\"", &[1_000_000]).unscheduled;
    let of = |us| payload_of(Rate::gbps(10), Span::us(us), Encap::PAPER);
    assert_eq!(found, Some(of(8)));
    assert_ne!(of(8), of(4));
}
