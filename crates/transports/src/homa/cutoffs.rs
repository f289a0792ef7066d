//! Priorities from the sizes of the messages: how many are for what leaves unasked, and which sizes each takes.
//!
//! [homa s3.4; homa artefact `WorkloadEstimator.cc`, `PriorityResolver.cc`]

use super::header::PAYLOAD_MAX;
use super::params::{CutoffBy, Cutoffs, Params};
use model::{Encap, Facts, HostId};

/// Sizes that stand for all messages, each for as many. [ours]
const SAMPLES: u32 = 1 << 14;

/// Wire bytes by the size that chooses their priority.
#[derive(Default)]
struct Bytes {
    /// (size, wire bytes), in no order.
    at: Vec<(u64, f64)>,
    /// Wire bytes of data that leaves unasked, and of all data.
    unasked: f64,
    all: f64,
}

impl Bytes {
    /// A message of `size` bytes, of which `unscheduled` leave unasked.
    fn add(&mut self, size: u64, unscheduled: u64, encap: Encap, params: &Params) {
        let full = u64::from(encap.payload_max.min(PAYLOAD_MAX));
        let head = size.min(unscheduled);
        let wire = |payload: u64| u16::try_from(payload).map_or(0, |payload| encap.wire(payload));
        let mut put = |left: u64, payload: u64| {
            let by = match params.cutoff_by {
                CutoffBy::Remaining => left,
                CutoffBy::Length => size,
            };
            self.at.push((by, wire(payload).into()));
        };
        let mut offset = 0;
        while offset < head || (size == 0 && offset == 0) {
            let payload = full.min(head - offset);
            put(size - offset, payload);
            offset += payload.max(1);
        }
        // Granted packets near the end have the priority of a message as short.
        let tail = (size - head) / full * full;
        let within = params.boost_tail / u64::from(encap.wire_max()) * full;
        let mut offset = head + tail.saturating_sub(within);
        while offset < size {
            let payload = full.min(size - offset);
            if encap.wire_total(size - offset) < params.boost_tail {
                put(size - offset, payload);
            }
            offset += payload;
        }
        // Every granted packet costs a grant, which is as urgent as the shortest message.
        let grants = (size - head).div_ceil(full);
        self.at
            .push((0, grants as f64 * f64::from(encap.frame_min)));
        self.unasked += encap.wire_total(head) as f64;
        self.all += encap.wire_total(size) as f64;
    }

    /// The smallest sizes that have 1, 2, ... of `levels` parts of the bytes below them.
    fn cut(mut self, levels: u8) -> Option<Cutoffs> {
        self.at.sort_unstable_by_key(|&(size, _)| size);
        let all: f64 = self.at.iter().map(|(_, bytes)| bytes).sum();
        let (mut below, mut level, mut sizes) = (0.0, 1, Vec::new());
        for (size, bytes) in self.at {
            below += bytes;
            while level < levels && below >= all * f64::from(level) / f64::from(levels) {
                level += 1;
                if sizes.last() != Some(&size) {
                    sizes.push(size);
                }
            }
        }
        Cutoffs::new(&sizes)
    }
}

/// The parameters with what follows from the messages and the network, where both are known.
pub(super) fn settle(params: &Params, facts: &Facts<'_>) -> Option<Params> {
    let (Some(net), Some(sizes)) = (facts.net, facts.sizes) else {
        return None;
    };
    let mut settled = params.clone();
    let far = HostId(net.hosts().saturating_sub(1));
    let rtt = net.base_rtt(HostId(0), far).unwrap_or_default();
    let unscheduled = params.unasked_of(net.rate(HostId(0)), rtt, facts.encap).0;
    settled.unscheduled = Some(unscheduled);
    let wants_levels = params.unscheduled_priorities.is_none();
    if wants_levels || params.cutoffs.is_none() {
        let mut bytes = Bytes::default();
        for n in 0..SAMPLES {
            let share = (f64::from(n) + 0.5) / f64::from(SAMPLES);
            bytes.add(sizes.quantile(share), unscheduled, facts.encap, params);
        }
        if wants_levels {
            let share = bytes.unasked / bytes.all.max(1.0);
            let most = params.priorities.saturating_sub(1).max(1);
            let nearest = (1..=most).min_by(|&a, &b| {
                let off = |n: u8| (f64::from(n) - share * f64::from(params.priorities)).abs();
                off(a).total_cmp(&off(b))
            });
            settled.unscheduled_priorities = nearest;
        }
        if params.cutoffs.is_none() {
            settled.cutoffs = bytes.cut(settled.levels());
        }
    }
    if settled.overcommitment.is_none() {
        settled.overcommitment = Some((settled.priorities - settled.levels()).max(1));
    }
    Some(settled)
}
