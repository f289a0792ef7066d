//! Priorities from the sizes of the messages: how many are for what leaves unasked, and which sizes each takes.
//!
//! [homa s3.4; homa artefact `WorkloadEstimator.cc`, `PriorityResolver.cc`]

use super::header::PAYLOAD_MAX;
use super::params::{CutoffBy, Cutoffs, Params};
use super::settings::payload_of;
use model::{Encap, Facts, HostId};
use parts::selective::Threshold;

/// Sizes that stand for all messages, each for as many. [ours]
const SAMPLES: u32 = 1 << 14;

/// Messages of one size.
struct Alike {
    size: u64,
    count: u64,
}

/// What the messages put on the wire.
struct Bytes<'a> {
    messages: Vec<Alike>,
    /// Payload that leaves unasked, at most, and that of a full frame.
    unscheduled: u64,
    full: u64,
    encap: Encap,
    params: &'a Params,
}

impl Bytes<'_> {
    /// Wire bytes, of all messages, of what `of` says of one.
    fn sum(&self, of: impl Fn(u64) -> u64) -> f64 {
        let each = self.messages.iter();
        let all = each.map(|alike| u128::from(alike.count) * u128::from(of(alike.size)));
        all.sum::<u128>() as f64
    }

    /// Part of the wire bytes of data that leaves unasked.
    fn share(&self) -> f64 {
        let unasked = self.sum(|size| self.encap.wire_total(size.min(self.unscheduled)));
        unasked / self.sum(|size| self.encap.wire_total(size)).max(1.0)
    }

    /// Wire bytes of the frames of `payload` bytes, of which the first has `left` to go, whose priority is chosen
    /// by at most `most` bytes.
    fn frames(&self, size: u64, left: u64, payload: u64, most: u64) -> u64 {
        let first = match self.params.cutoff_by {
            CutoffBy::Remaining => left.saturating_sub(most).div_ceil(self.full) * self.full,
            CutoffBy::Length if size > most => u64::MAX,
            CutoffBy::Length => 0,
        };
        match payload.saturating_sub(first) {
            0 if size > 0 || first > 0 => 0,
            rest => self.encap.wire_total(rest),
        }
    }

    /// Wire bytes of one message whose priority is chosen by at most `most` bytes.
    fn below(&self, size: u64, most: u64) -> u64 {
        let head = size.min(self.unscheduled);
        let granted = size - head;
        // Granted packets near the end have the priority of a message as short.
        let boost = self.params.boost_tail;
        let near = granted % self.full + boost / u64::from(self.encap.wire_max()) * self.full;
        let mut tail = granted.min(near);
        if self.encap.wire_total(tail) >= boost {
            tail = tail.saturating_sub(self.full);
        }
        let tail = match tail {
            0 => 0,
            _ => self.frames(size, tail, tail, most),
        };
        // Every granted packet costs a grant, which is as urgent as the shortest message.
        let grants = granted.div_ceil(self.full) * u64::from(self.encap.frame_min);
        self.frames(size, size, head, most) + tail + grants
    }

    /// The smallest sizes that have 1, 2, ... of `levels` parts of the bytes below them.
    fn cut(&self, levels: u8) -> Option<Cutoffs> {
        let largest = self.messages.iter().map(|alike| alike.size).max()?;
        let all = self.sum(|size| self.below(size, largest));
        let mut sizes = Vec::new();
        for level in 1..levels {
            let wanted = all * f64::from(level) / f64::from(levels);
            let (mut low, mut high) = (sizes.last().copied().unwrap_or(0), largest);
            while low < high {
                let middle = low + (high - low) / 2;
                if self.sum(|size| self.below(size, middle)) >= wanted {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            if sizes.last() != Some(&high) {
                sizes.push(high);
            }
        }
        Cutoffs::new(&sizes)
    }
}

/// The parameters with what follows from the messages and the network, as far as they are known.
pub(super) fn settle(params: &Params, facts: &Facts<'_>) -> Option<Params> {
    let known = of_messages(params, facts);
    let Some(spec) = params.drop_spec(facts.encap) else {
        return known;
    };
    Some(Params {
        drop_threshold: Threshold::Bytes(spec.threshold.get()),
        ..known.unwrap_or_else(|| params.clone())
    })
}

/// What follows where messages and network are known.
fn of_messages(params: &Params, facts: &Facts<'_>) -> Option<Params> {
    let (Some(net), Some(sizes)) = (facts.net, facts.sizes) else {
        return None;
    };
    let mut settled = params.clone();
    // Both ends of a message count with the same: where lines differ, that of the fastest.
    let auto = || {
        let rates = (0..net.hosts()).map(|host| net.rate(HostId(host)));
        let fastest = rates.max().unwrap_or_default();
        payload_of(fastest, net.longest_rtt().unwrap_or_default(), facts.encap)
    };
    let unscheduled = params.unscheduled.unwrap_or_else(auto);
    settled.unscheduled = Some(unscheduled);
    let wants_levels = params.unscheduled_priorities.is_none();
    if wants_levels || params.cutoffs.is_none() {
        let mut bytes = Bytes {
            messages: Vec::new(),
            unscheduled,
            full: facts.encap.payload_max.clamp(1, PAYLOAD_MAX).into(),
            encap: facts.encap,
            params,
        };
        for n in 0..SAMPLES {
            let size = sizes.quantile((f64::from(n) + 0.5) / f64::from(SAMPLES));
            match bytes.messages.last_mut() {
                Some(last) if last.size == size => last.count += 1,
                _ => bytes.messages.push(Alike { size, count: 1 }),
            }
        }
        if wants_levels {
            let share = bytes.share();
            let most = params.priorities.saturating_sub(1).max(1);
            let nearest = (1..=most).min_by(|&a, &b| {
                let off = |n: u8| (f64::from(n) - share * f64::from(params.priorities)).abs();
                off(a).total_cmp(&off(b))
            });
            settled.unscheduled_priorities = nearest;
        }
        settled.cutoffs = match params.cutoffs {
            None => bytes.cut(settled.levels()),
            // Those behind the last level are between none.
            Some(all) => Some(all.first(usize::from(settled.levels()) - 1)),
        };
    }
    if settled.overcommitment.is_none() {
        settled.overcommitment = Some((settled.priorities - settled.levels()).max(1));
    }
    Some(settled)
}
