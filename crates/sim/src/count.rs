//! Counters of ports over a stretch of a run, beside those of the whole.

use crate::host::Host;
use crate::node::{Kind, Node};
use crate::outcome;
use crate::promised::OnLinks;
use crate::setup::Probes;
use crate::tally::Tally;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use units::{Span, Time};

/// What ports counted in a window of time, and what receivers had accepted when another began and ended. It looks before the
/// first moment of each window, and before the first one after it.
#[derive(Default)]
pub(crate) struct Window {
    /// The last moments before each look that is still to come, the next one last.
    looks: Vec<(Time, Look)>,
    before: Tally,
    within: Tally,
    accepted: Vec<Accepted>,
}

/// Bytes, by connection and receiving host.
pub(crate) type Accepted = BTreeMap<(u32, u32), u64>;

/// What a look is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Look {
    /// The window of ports begins, or ends.
    Begin,
    End,
    /// That of receivers does.
    Receivers,
}

impl Window {
    /// Of the windows that are asked for; their ends are not among them.
    pub(crate) fn new(probes: &Probes, links: usize) -> Self {
        let last = |end: Time| Time(end.0.saturating_sub(1));
        let (mut looks, ports) = (Vec::new(), probes.window.as_ref());
        if let Some(range) = ports {
            looks.push((last(range.end), Look::End));
            if range.start > Time::ZERO {
                looks.push((last(range.start), Look::Begin));
            }
        }
        let edges = probes.received.iter().flat_map(|of| [of.start, of.end]);
        looks.extend(edges.map(|at| (last(at), Look::Receivers)));
        looks.sort_unstable_by_key(|&look| Reverse(look));
        Self {
            looks,
            before: ports.map(|_| Tally::new(links)).unwrap_or_default(),
            ..Self::default()
        }
    }

    /// The moment after whose events it looks next; never, when it has seen all.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.looks.last().map_or(Time::NEVER, |&(at, _)| at)
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
        let Some((at, what)) = self.looks.pop() else {
            return;
        };
        if what == Look::Receivers {
            return self.accepted.push(accepted(nodes));
        }
        let seen = outcome::Seen {
            end: at.after(Span(1)).min(end),
            links,
        };
        let mut now = Tally::new(self.before.len());
        for node in nodes {
            outcome::count(node, &mut now, &seen);
            if what == Look::Begin {
                forget_peaks(node, at);
            }
        }
        if what == Look::Begin {
            self.before = now;
        } else {
            now.change(|link, port| *port = port.since(&self.before[link]));
            self.within = now;
        }
    }

    /// Does the looks that the run ended before.
    pub(crate) fn finish(&mut self, nodes: &mut [Node], seen: &outcome::Seen<'_>) {
        while !self.looks.is_empty() {
            self.look_until(nodes.iter_mut(), seen.links, seen.end);
        }
    }

    /// The window's counters, none where there is no window; and what receivers had accepted when theirs began and when it
    /// ended. Puts the greatest queues of the whole run into `whole`, which has only those since the window began.
    pub(crate) fn close(self, whole: &mut Tally) -> (Tally, Option<[Accepted; 2]>) {
        if !self.before.is_empty() {
            whole.change(|link, port| {
                let before = &self.before[link];
                port.queue_max = port.queue_max.max(before.queue_max);
                port.credits_max = port.credits_max.max(before.credits_max);
            });
        }
        (self.within, self.accepted.try_into().ok())
    }
}

/// What receivers have accepted so far.
fn accepted<'n>(nodes: impl Iterator<Item = &'n mut Node>) -> Accepted {
    let hosts = nodes.filter_map(|node| match &node.kind {
        Kind::Host(host) => Some(host),
        Kind::Switch(_) => None,
    });
    hosts.flat_map(Host::accepted).collect()
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
