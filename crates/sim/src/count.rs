//! Counters of ports over a stretch of a run, beside those of the whole.

use crate::node::{Kind, Node};
use crate::outcome;
use crate::promised::OnLinks;
use crate::tally::Tally;
use std::ops::Range;
use units::{Span, Time};

/// What ports counted in a window of time. It looks twice: before the window's first moment, and before
/// the first one after it.
#[derive(Default)]
pub(crate) struct Window {
    /// The last moments before each look that is still to come, the next one last.
    looks: Vec<Time>,
    before: Tally,
    within: Tally,
}

impl Window {
    /// Of `range`, where there is one; its end is not among it.
    pub(crate) fn new(range: Option<&Range<Time>>, links: usize) -> Self {
        let Some(range) = range else {
            return Self::default();
        };
        let last = |end: Time| Time(end.0.saturating_sub(1));
        let mut looks = vec![last(range.end)];
        if range.start > Time::ZERO {
            looks.push(last(range.start));
        }
        Self {
            looks,
            before: Tally::new(links),
            within: Tally::default(),
        }
    }

    /// The moment after whose events it looks next; never, when it has seen all.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.looks.last().copied().unwrap_or(Time::NEVER)
    }

    /// Looks, when all that happens up to [`Window::next`] has happened. `nodes` yields every node.
    pub(crate) fn look<'n>(
        &mut self,
        nodes: impl Iterator<Item = &'n mut Node>,
        links: &dyn OnLinks,
    ) {
        self.look_until(nodes, links, Time::NEVER);
    }

    /// The same, of a run that has ended before `end`.
    fn look_until<'n>(
        &mut self,
        nodes: impl Iterator<Item = &'n mut Node>,
        links: &dyn OnLinks,
        end: Time,
    ) {
        let Some(at) = self.looks.pop() else { return };
        let seen = outcome::Seen {
            end: at.after(Span(1)).min(end),
            links,
        };
        let mut now = Tally::new(self.before.len());
        for node in nodes {
            outcome::count(node, &mut now, &seen);
            if !self.looks.is_empty() {
                forget_peaks(node, at);
            }
        }
        if self.looks.is_empty() {
            now.change(|link, port| *port = port.since(&self.before[link]));
            self.within = now;
        } else {
            self.before = now;
        }
    }

    /// Does the looks that the run ended before.
    pub(crate) fn finish(&mut self, nodes: &mut [Node], seen: &outcome::Seen<'_>) {
        while !self.looks.is_empty() {
            self.look_until(nodes.iter_mut(), seen.links, seen.end);
        }
    }

    /// The window's counters; none where there is no window. Puts the greatest queues of the whole run
    /// into `whole`, which has only those since the window began.
    pub(crate) fn close(self, whole: &mut Tally) -> Tally {
        if !self.before.is_empty() {
            whole.change(|link, port| {
                let before = &self.before[link];
                port.queue_max = port.queue_max.max(before.queue_max);
                port.credits_max = port.credits_max.max(before.credits_max);
            });
        }
        self.within
    }
}

/// From here on, the largest queue is that of what waits now and comes later.
fn forget_peaks(node: &mut Node, at: Time) {
    let at = at.after(Span(1));
    match &mut node.kind {
        Kind::Host(host) => host.forget_peak(at),
        Kind::Switch(node) => {
            for port in &mut node.switch.ports {
                port.forget_peak(at);
            }
        }
    }
}
