//! What was sent again: which flight repeats which, what was lost before it, and which frames take a line twice.

use super::super::flights::{Fate, Flight};
use super::super::{Hop, Network};
use super::{Part, Walk, last_moment};
use model::Class;
use std::collections::BTreeMap;
use units::{LineTime, Span, Time};

/// Which bytes have been carried to whom, as ranges that do not touch.
#[derive(Default)]
struct Seen(BTreeMap<(u32, u64), u64>);

impl Seen {
    /// The payload of a flight was carried: whether part of it had been before.
    fn had(&mut self, network: &Network, flight: &Flight) -> bool {
        let payload = network.codec(flight.packet.conn).payload(&flight.packet);
        payload.is_some_and(|(from, length)| {
            self.had_bytes(flight.packet.to().0, from, from + u64::from(length))
        })
    }

    /// The same of the bytes from `from` to `until`, to host `to`.
    fn had_bytes(&mut self, to: u32, from: u64, until: u64) -> bool {
        if from == until {
            return false;
        }
        let (mut begin, mut end, mut had) = (from, until, false);
        // Ranges that overlap this one, or touch it, become one with it.
        while let Some((&key, &other)) = self.0.range((to, 0)..=(to, end)).next_back() {
            if other < begin {
                break;
            }
            had |= other > from && key.1 < until;
            (begin, end) = (begin.min(key.1), end.max(other));
            self.0.remove(&key);
        }
        self.0.insert((to, begin), end);
        had
    }
}

/// Which flights carry bytes that another carried before.
pub(super) fn again(network: &Network, flights: &[&Flight]) -> Vec<bool> {
    let mut seen = Seen::default();
    let of = flights.iter().map(|flight| seen.had(network, flight));
    of.collect()
}

/// How long a line was busy with own packets: those that carry bytes for the first time, or none, and those that do so
/// again; and which line.
#[derive(Default)]
pub(super) struct Own {
    pub(super) first: Span,
    pub(super) again: Span,
    pub(super) place: String,
}

fn arrived_whole(flight: &Flight) -> bool {
    flight.fate == Fate::Arrived && flight.trimmed.is_none()
}

impl Walk<'_> {
    /// What the message's frames before the one that `credit` released need on the slowest link, but for those that had
    /// come by `since`.
    pub(super) fn own_frames(&self, credit: usize, since: Time) -> Own {
        // Credits may be told modulo a small number: those before had the same.
        let came = self.flights[credit].arrived().unwrap_or(Time::NEVER);
        let released = self.flights.iter().position(|flight| {
            flight.sent() >= came
                && self.carries(flight)
                && self.answers(flight, self.flights[credit]) == Some(true)
        });
        // Flights are in the order of leaving: everything before it counts once.
        let until = released.unwrap_or(self.flights.len());
        let rate = |hop: &Hop| self.network.links[hop.link as usize].rate;
        let data = || {
            let data = self.flights[..until].iter();
            data.filter(|flight| self.carries(flight))
        };
        let slowest = data()
            .flat_map(|flight| &flight.hops)
            .min_by_key(|hop| rate(hop));
        let Some(slowest) = slowest else {
            return Own::default();
        };
        let (line, place) = (
            LineTime::new(rate(slowest)),
            self.network.link_name(slowest.link),
        );
        let (mut seen, mut first, mut again) = (Seen::default(), Span::ZERO, Span::ZERO);
        for flight in data() {
            let whole = |hop: &&Hop| hop.link == slowest.link && hop.size == flight.packet.size;
            let Some(hop) = flight.hops.iter().find(whole) else {
                continue;
            };
            let took = line.of(hop.size.into());
            if seen.had(self.network, flight) {
                again += took;
            } else if last_moment(flight) > since {
                first += took;
            }
        }
        Own {
            first,
            again,
            place,
        }
    }

    /// What became of a flight that was to be repeated.
    pub(super) fn in_vain(&self, first: usize) -> String {
        let flight = self.flights[first];
        let place = match flight.trimmed {
            None if flight.sent() >= self.asked.start => return "sent in vain".to_owned(),
            None => {
                let codec = self.network.codec(flight.packet.conn);
                let what = codec.describe(&flight.packet);
                return format!("{what} of the message before it was lost");
            }
            Some(link) => self.network.link_name(link),
        };
        let how = if flight.returned {
            "sent back"
        } else {
            "trimmed"
        };
        format!("{how} at {place}")
    }

    /// By which of `words`, each with the moment when it came, host `giver` knew of the message: the first; or the last that
    /// had been lost before, where nothing was given till it came again.
    pub(super) fn first_word(&self, words: &[(Time, usize)], giver: u32) -> Option<usize> {
        let first = words.iter().min().map(|&(came, _)| came)?;
        let gives = |flight: &&&Flight| {
            let given = flight.packet.class() == Class::Credit && flight.sent() >= first;
            given && flight.from(self.network) == giver
        };
        let gave = self.flights.iter().find(gives).map(|flight| flight.sent());
        let lost = |&&(came, i): &&(Time, usize)| {
            let packet = &self.flights[i].packet;
            let bare = self.network.codec(packet.conn).payload(packet).is_none();
            bare && gave.is_some_and(|gave| came <= gave) && self.first_try(i).is_some()
        };
        let again = words.iter().filter(lost).max();
        again.or_else(|| words.iter().min()).map(|&(_, i)| i)
    }

    /// What let a message begin on whose connection another one was under way: the last packet that had come in when that
    /// was done.
    pub(super) fn let_begin(&self, at: usize) -> Option<usize> {
        let done = self.asked.ahead.as_ref()?.end;
        let (left, host) = (self.flights[at].sent(), self.flights[at].from(self.network));
        let came_in = |(i, cause): (usize, &&Flight)| {
            let here = cause.goes_to(self.network) == host;
            let came = cause.arrived().filter(|&came| here && came <= done)?;
            (came > self.asked.start).then_some((came, i))
        };
        let all = self.flights.iter().enumerate();
        let last = all.filter_map(came_in).max().map(|(_, i)| i);
        last.filter(|_| done <= left)
    }

    /// Explains the time before flight `at`, which repeats `first`, as far back as the word after the loss that had a
    /// credit given: from then on it lacked that. Returns that moment; `None` where the credit was there before.
    pub(super) fn until_credit(&mut self, at: usize) -> Option<Time> {
        let (flight, left) = (self.flights[at], self.flights[at].sent());
        let cause = self.credit_of(at)?;
        let credit = self.flights[cause];
        let known = self.known(at, cause)?;
        if known > credit.sent() {
            return None;
        }
        let came = credit.arrived().expect("it came in");
        let codec = self.network.codec(credit.packet.conn);
        let note = format!("before {}", codec.describe(&credit.packet));
        let codec = self.network.codec(flight.packet.conn);
        let part = match (codec.is_timed(), codec.is_counted()) {
            (true, _) => Part::Credit,
            // It was there, and the host did not know that it had something to repeat.
            (false, true) => Part::Retransmission,
            (false, false) => Part::Host,
        };
        let host = self.name(flight.from(self.network));
        self.pause(part, came..left, host, at);
        self.way(cause);
        let host = self.name(credit.from(self.network));
        self.add(Part::Credit, known..credit.sent(), host, None, &note);
        Some(known)
    }

    /// When whoever gave the credit `cause` knew that what flight `at` repeats was lost: the receiver says so itself, and an
    /// arbiter is asked, perhaps several times.
    fn known(&self, at: usize, cause: usize) -> Option<Time> {
        let (flight, credit) = (self.flights[at], self.flights[cause]);
        let failed = |&i: &usize| self.is_try(i, at) && !arrived_whole(self.flights[i]);
        let last = (0..at).rev().find(failed).or_else(|| self.first_try(at))?;
        let lost = last_moment(self.flights[last]);
        let (giver, back) = (credit.from(self.network), flight.packet.to().0);
        let later = self.flights.iter().filter(|word| word.sent() >= lost);
        if giver == back {
            let mut missed = self.asked.missed.iter();
            // Some receivers say nothing, and give credit when they can.
            if let Some(&missed) = missed.find(|&&at| at >= lost && giver == self.asked.dst) {
                return Some(missed);
            }
            let words = later.filter(|word| {
                word.from(self.network) == back && word.packet.class() != Class::Credit
            });
            return words.map(|word| word.sent()).min();
        }
        let asked: Vec<(Time, &&Flight)> = later
            .filter(|word| word.packet.to().0 == giver)
            .filter_map(|word| Some((word.arrived()?, word)))
            .filter(|&(came, _)| came <= credit.sent())
            .collect();
        let (_, last) = asked.iter().max_by_key(|(came, _)| came)?;
        let codec = self.network.codec(last.packet.conn);
        let same = asked
            .iter()
            .filter(|(_, word)| codec.repeats(&last.packet, &word.packet));
        same.map(|&(came, _)| came).min()
    }

    /// The credit that flight `at` answers, where it came in before, but behind the copy before it, and released no other
    /// flight: credits may be told modulo a small number.
    fn credit_of(&self, at: usize) -> Option<usize> {
        let flight = self.flights[at];
        let (left, host) = (flight.sent(), flight.from(self.network));
        if flight.packet.class() != Class::Scheduled {
            return None;
        }
        let before = &self.flights[..at];
        let copy = (0..at).rev().find(|&i| self.is_try(i, at));
        let copied = copy.map_or(Time::ZERO, |copy| self.flights[copy].sent());
        // Own flights are in the order of leaving, and what a credit releases leaves soon after it.
        let own = &before[self.over.min(at)..];
        let used = |credit: &Flight, came: Time| {
            let behind = own.partition_point(|other| other.sent() < came);
            own[behind..].iter().any(|other| {
                other.from(self.network) == host
                    && other.packet.class() == Class::Scheduled
                    && self.answers(other, credit) == Some(true)
            })
        };
        before.iter().rposition(|credit| {
            credit.packet.to().0 == host
                && credit.packet.class() == Class::Credit
                && self.answers(flight, credit) == Some(true)
                && (credit.arrived())
                    .is_some_and(|came| copied <= came && came <= left && !used(credit, came))
        })
    }

    /// The first transmission of what a flight repeats, since the message began, or what was lost of the one before
    /// it where that kept it from beginning.
    pub(super) fn first_try(&self, at: usize) -> Option<usize> {
        (0..at).find(|&earlier| self.is_try(earlier, at))
    }

    /// Whether flight `at` repeats an earlier one. Of packets without data, which may well be equal, only those lost
    /// count.
    fn is_try(&self, earlier: usize, at: usize) -> bool {
        let (earlier, flight) = (self.flights[earlier], self.flights[at]);
        let (now, before) = (&flight.packet, &earlier.packet);
        let codec = self.network.codec(now.conn);
        let lost = !matches!(earlier.fate, Fate::Arrived | Fate::UnderWay);
        let other = self.network.codec(before.conn).payload(before);
        let same = match (codec.payload(now), other) {
            (Some((from, length)), Some((other, reach))) => {
                let end = other + u64::from(reach);
                other == from || (from < end && other < from + u64::from(length))
            }
            (None, None) => lost && !codec.releases(now) && codec.repeats(now, before),
            _ => false,
        };
        let counts = earlier.sent() >= self.asked.start || (lost && self.asked.ahead.is_some());
        let same_way = before.to() == now.to() && before.conn == now.conn;
        same && same_way && counts && earlier.sent() < flight.sent()
    }
}

#[cfg(test)]
mod tests {
    use super::Seen;
    use std::collections::BTreeSet;

    #[test]
    fn bytes_are_carried_again_where_any_of_them_was_before() {
        let (mut seen, mut ranges, mut state) = (BTreeSet::new(), Seen::default(), 7u64);
        for _ in 0..2_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let (from, length) = (state >> 40 & 0xffff, 1 + (state >> 20 & 15));
            let before = (from..from + length).any(|byte| seen.contains(&byte));
            seen.extend(from..from + length);
            assert_eq!(ranges.had_bytes(1, from, from + length), before);
        }
    }
}
