//! What a message that did not end has waited for since its last packet.

use super::{Flight, Part, Walk};
use std::ops::Range;
use units::Time;

impl Walk<'_> {
    /// A flight of the message's data and the line of its sender.
    pub(super) fn begins_at(&self) -> Option<(usize, u32)> {
        let data = |(_, flight): &(usize, &&Flight)| self.carries(flight);
        let (i, flight) = self.flights.iter().enumerate().rfind(data)?;
        Some((i, flight.hops.first()?.link))
    }

    /// Adds what followed the last packet, backwards: while the sender was asked not to send data like `open`, it was paused.
    pub(super) fn after_the_last(
        &mut self,
        time: Range<Time>,
        rest: Part,
        place: &str,
        open: Option<(usize, u32)>,
    ) {
        let mut until = time.end;
        if let Some((i, link)) = open {
            let pauses = self.pauses.of(link, &self.flights[i].packet, None, &time);
            for stretch in pauses.into_iter().rev() {
                let paused = &stretch.time;
                self.add(
                    rest,
                    paused.end..until,
                    place.to_owned(),
                    None,
                    "after the last packet",
                );
                let (by, note) = self.paused_by(link, &stretch);
                self.add(
                    Part::Paused,
                    paused.clone(),
                    by,
                    None,
                    note.trim_end_matches(": "),
                );
                until = paused.start;
            }
        }
        self.add(
            rest,
            time.start..until,
            place.to_owned(),
            None,
            "after the last packet",
        );
    }
}
