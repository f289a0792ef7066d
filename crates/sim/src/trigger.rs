//! Messages that start when others have been sent or received, at whatever host.
//!
//! Where all of it happens at one host, that host counts firings itself. News of another host's
//! message would otherwise travel faster than anything else in the network, and faster than a
//! window lets it: such a firing is put into order with all others between windows, and releases
//! messages one window later at the earliest.

use crate::book::group;
use std::sync::atomic::{AtomicU32, Ordering};
use units::{Span, Time};
use workload::{Milestone, Start, Traffic};

/// A cause that happened, on its way to other hosts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Firing {
    pub(crate) at: Time,
    pub(crate) message: u32,
    pub(crate) trigger: u32,
}

/// All triggers, indexed for hosts.
#[derive(Default)]
pub(crate) struct Triggers {
    /// By message: where its entries start in `fires`. Empty where there are no triggers.
    first_fire: Vec<u32>,
    /// What each milestone fires.
    fires: Vec<(Milestone, u32)>,
    /// By trigger: where its entries start in `targets`.
    first_target: Vec<u32>,
    /// Messages that a firing releases, by its number, and for how long after it.
    targets: Vec<(u32, u32, Span)>,
    /// By trigger: whether all of it happens at one host.
    local: Vec<bool>,
    /// By trigger: how often it has fired.
    fired: Vec<AtomicU32>,
}

impl Triggers {
    pub(crate) fn new(traffic: &Traffic) -> Self {
        if traffic.triggers.is_empty() {
            return Self::default();
        }
        let count = traffic.triggers.len();
        let mut hosts: Vec<Vec<u32>> = vec![Vec::new(); count];
        let (mut fires, mut targets) = (Vec::new(), Vec::new());
        for (number, trigger) in (0u32..).zip(&traffic.triggers) {
            for &(message, milestone) in &trigger.causes {
                let cause = &traffic.messages[message as usize];
                hosts[number as usize].push(match milestone {
                    Milestone::Sent => traffic.sender(cause),
                    Milestone::Received => traffic.receiver(cause),
                });
                fires.push((message, (milestone, number)));
            }
        }
        for (number, message) in (0u32..).zip(&traffic.messages) {
            if let Start::Fired {
                trigger,
                nth,
                delay,
            } = message.start
            {
                hosts[trigger as usize].push(traffic.sender(message));
                targets.push((trigger, (nth, number, delay)));
            }
        }
        let first_fire = group(&mut fires, traffic.messages.len(), |fire| fire.0 as usize);
        targets.sort_by_key(|&(_, (nth, ..))| nth);
        let first_target = group(&mut targets, count, |target| target.0 as usize);
        let at_one = |hosts: &Vec<u32>| hosts.windows(2).all(|pair| pair[0] == pair[1]);
        Self {
            first_fire,
            fires: fires.into_iter().map(|(_, fire)| fire).collect(),
            first_target,
            targets: targets.into_iter().map(|(_, target)| target).collect(),
            local: hosts.iter().map(at_one).collect(),
            fired: (0..count).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first_fire.is_empty()
    }

    /// The triggers that a milestone of a message fires.
    pub(crate) fn fired_by(
        &self,
        message: u32,
        milestone: Milestone,
    ) -> impl Iterator<Item = u32> + '_ {
        let range = match self.first_fire.get(message as usize..message as usize + 2) {
            Some(ends) => ends[0] as usize..ends[1] as usize,
            None => 0..0,
        };
        let these = self.fires[range].iter();
        these.filter_map(move |&(when, trigger)| (when == milestone).then_some(trigger))
    }

    pub(crate) fn is_local(&self, trigger: u32) -> bool {
        self.local[trigger as usize]
    }

    /// Counts a firing, and returns the messages that it releases, with their delays. Called by the
    /// one host of a local trigger, or between windows.
    pub(crate) fn count(&self, trigger: u32) -> impl Iterator<Item = (u32, Span)> + '_ {
        let trigger = trigger as usize;
        let nth = self.fired[trigger].fetch_add(1, Ordering::Relaxed) + 1;
        let (from, to) = (self.first_target[trigger], self.first_target[trigger + 1]);
        let all = &self.targets[from as usize..to as usize];
        let from = all.partition_point(|target| target.0 < nth);
        let to = all.partition_point(|target| target.0 <= nth);
        all[from..to]
            .iter()
            .map(|&(_, message, delay)| (message, delay))
    }

    /// Puts firings into order and counts them: calls `start` with every message that they release
    /// and its moment, `news` after the firing at the earliest.
    pub(crate) fn release(
        &self,
        firings: &mut Vec<Firing>,
        news: Span,
        mut start: impl FnMut(u32, Time),
    ) {
        firings.sort_unstable();
        for firing in firings.drain(..) {
            for (message, delay) in self.count(firing.trigger) {
                start(message, firing.at.after(delay.max(news)));
            }
        }
    }
}
