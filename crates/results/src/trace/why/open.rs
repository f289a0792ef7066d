//! What a message that did not end waits for: the gate or the queue before its oldest packet, or its host's.

use super::super::flights::Fate;
use super::{Part, Walk};
use model::{Class, ConnId, HostId, Packet};
use std::ops::Range;
use units::Time;

impl Walk<'_> {
    /// The oldest of the message's data that is under way, where it stands before a line that has noted it, and that line.
    pub(super) fn stands(&self) -> Option<(usize, u32)> {
        let data = self.flights.iter().enumerate();
        let data = data.filter(|(_, own)| own.fate == Fate::UnderWay && self.carries(own));
        let (at, flight) = data.min_by_key(|&(at, own)| (own.sent(), at))?;
        let last = flight.hops.last()?;
        let node = self.network.links[last.link as usize].to;
        let link = self
            .pauses
            .waits(self.network, node, &flight.packet, last.at)?;
        Some((at, link))
    }

    /// Adds the wait of flight `at` before `link`, and its way to there, backwards.
    pub(super) fn stood(&mut self, at: usize, link: u32, end: Time) {
        let flight = self.flights[at];
        let what = self
            .network
            .codec(flight.packet.conn)
            .describe(&flight.packet);
        let came = flight.hops.last().map_or(end, |hop| hop.at);
        self.queued(came..end, link, at, &what);
        self.way(at);
    }

    /// A packet of the message's data, and the line of its sender.
    pub(super) fn begins_at(&self) -> Option<(Packet, u32)> {
        if let Some(flight) = self.flights.iter().rfind(|flight| self.carries(flight)) {
            return Some((flight.packet, flight.hops.first()?.link));
        }
        let links = (0..).zip(&self.network.links);
        let (link, _) = links
            .into_iter()
            .find(|(_, link)| link.from == self.asked.src)?;
        let conn = ConnId(self.asked.conn);
        Some((
            Packet::new(
                HostId(self.asked.dst),
                conn,
                Class::Plain,
                0,
                self.network.encap.frame_min,
            ),
            link,
        ))
    }

    /// Adds what followed the last packet, backwards: while the sender was asked not to send data like `open`, it was paused,
    /// and the rest is as told.
    pub(super) fn after(
        &mut self,
        time: Range<Time>,
        (rest, note): (Part, &str),
        place: &str,
        open: Option<(Packet, u32)>,
    ) {
        let mut until = time.end;
        if let Some((packet, link)) = open {
            let pauses = self.pauses.of(link, &packet, None, &time);
            for stretch in pauses.into_iter().rev() {
                let paused = &stretch.time;
                self.add(rest, paused.end..until, place.to_owned(), None, note);
                let (by, why) = self.paused_by(link, &stretch);
                self.add(
                    Part::Paused,
                    paused.clone(),
                    by,
                    None,
                    why.trim_end_matches(": "),
                );
                until = paused.start;
            }
        }
        self.add(rest, time.start..until, place.to_owned(), None, note);
    }
}
