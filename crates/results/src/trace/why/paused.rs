//! What of a wait a gate was closed for, who had asked for that, and for whose sake.

use super::super::pauses::{Held, Stretch};
use super::{Part, Walk};
use model::Packet;
use std::collections::BTreeMap;
use std::ops::Range;
use units::{Span, Time};

impl Walk<'_> {
    /// Adds the wait of flight `at` before `link`, backwards: while a gate was closed for it, it was paused.
    pub(super) fn queued(&mut self, time: Range<Time>, link: u32, at: usize, what: &str) {
        let packet = &self.flights[at].packet;
        let pauses = self.pauses.of(link, packet, Some(time.start), &time);
        let place = self.network.link_name(link);
        let mut until = time.end;
        for stretch in pauses.into_iter().rev() {
            let paused = &stretch.time;
            self.add(
                Part::Queueing,
                paused.end..until,
                place.clone(),
                Some(at),
                what,
            );
            let (by, note) = self.paused_by(link, &stretch);
            self.add(
                Part::Paused,
                paused.clone(),
                by,
                Some(at),
                &format!("{note}{what}"),
            );
            until = paused.start;
        }
        self.add(Part::Queueing, time.start..until, place, Some(at), what);
    }

    /// Who paused what before `link`, and for whose sake: its own node where nobody else asked for it, so that order is kept.
    pub(super) fn paused_by(&self, link: u32, stretch: &Stretch) -> (String, String) {
        let what = match stretch.held {
            Held::Queue(number) => format!("queue {number}"),
            Held::Priority(priority) => format!("priority {priority}"),
            Held::Flow(conn) => format!("flow {conn}"),
        };
        let ends = self.network.links[link as usize];
        let orders = self.pauses.orders(link, stretch);
        let by = format!(
            "{} ({}, {what})",
            self.network.name(if orders { ends.from } else { ends.to }),
            self.network.link_name(link)
        );
        if orders {
            return (by, "for older packets of its flows elsewhere: ".into());
        }
        let chain = self.pauses.chain(self.network, link, stretch);
        let names: Vec<String> = chain
            .iter()
            .map(|&link| self.network.link_name(link))
            .collect();
        let note = if names.is_empty() {
            String::new()
        } else {
            format!("for {}: ", names.join(", for "))
        };
        (by, note)
    }

    /// How long of `time` gates of its host kept the packet of flight `at`, less what its line was busy with the
    /// connection's packets, and who closed them for most of that.
    pub(super) fn held_at_host(
        &self,
        time: &Range<Time>,
        at: usize,
    ) -> Option<(Span, String, String)> {
        let (link, packet): (u32, &Packet) =
            (self.flights[at].hops[0].link, &self.flights[at].packet);
        let pauses = self.pauses.of(link, packet, None, time);
        let mut kept: BTreeMap<(String, String), Span> = BTreeMap::new();
        for stretch in &pauses {
            let paused = &stretch.time;
            let own = self.own_line(paused, at);
            let busy = own.first + own.again;
            *kept.entry(self.paused_by(link, stretch)).or_default() +=
                Span(paused.end.since(paused.start).0.saturating_sub(busy.0));
        }
        let sum: Span = kept.values().copied().sum();
        let ((by, note), _) = kept.into_iter().max_by_key(|&(_, span)| span)?;
        (sum > Span::ZERO).then_some((sum, by, note))
    }
}
