//! Counters of all ports.

use crate::setup::PortCounters;
use std::ops::Index;

/// Counters of all ports, by link. Those that have nothing to tell take no room: most ports of a large fabric may never
/// have seen a packet.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Where the counters of each link are.
    places: Vec<u32>,
    /// At the first place are those of who has nothing to tell.
    told: Vec<PortCounters>,
}

impl Default for Tally {
    /// Of no link.
    fn default() -> Self {
        Self::new(0)
    }
}

impl Tally {
    pub(crate) fn new(links: usize) -> Self {
        Self {
            places: vec![0; links],
            told: vec![PortCounters::default()],
        }
    }

    /// The counters of `link`, to be changed.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "links have numbers of 32 bits"
    )]
    pub(crate) fn at(&mut self, link: usize) -> &mut PortCounters {
        let place = &mut self.places[link];
        if *place == 0 {
            *place = self.told.len() as u32;
            self.told.push(PortCounters::default());
        }
        &mut self.told[*place as usize]
    }

    /// Changes what there is to tell, by link.
    pub(crate) fn change(&mut self, mut change: impl FnMut(usize, &mut PortCounters)) {
        let places = self.places.iter().enumerate();
        for (link, &place) in places.filter(|&(_, &place)| place > 0) {
            change(link, &mut self.told[place as usize]);
        }
    }

    /// Every link's number from 1, with its counters where it has something to tell.
    pub(crate) fn each(&self) -> impl Iterator<Item = (u64, Option<&PortCounters>)> {
        let places = self.places.iter();
        (1..).zip(places.map(|&place| (place > 0).then(|| &self.told[place as usize])))
    }

    /// The counters of every link.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &PortCounters> + Clone {
        self.places.iter().map(|&place| &self.told[place as usize])
    }

    /// How many links there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

impl Index<usize> for Tally {
    type Output = PortCounters;

    fn index(&self, link: usize) -> &PortCounters {
        &self.told[self.places[link] as usize]
    }
}

/// The same counters, wherever they are kept.
impl PartialEq for Tally {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_nothing_to_tell_reads_as_zero_and_who_has_keeps_its_own() {
        let mut tally = Tally::new(4);
        tally.at(2).marked = 7;
        tally.at(0).marked = 3;
        tally.at(2).queue_max = 9;
        let marked: Vec<u64> = tally.iter().map(|port| port.marked).collect();
        assert_eq!((marked, tally[2].queue_max), (vec![3, 0, 7, 0], 9));
        assert_eq!((tally.len(), tally.iter().len()), (4, 4));
        let told: Vec<_> = tally.each().map(|(n, told)| (n, told.is_some())).collect();
        assert_eq!(told, [(1, true), (2, false), (3, true), (4, false)]);
        let mut other = Tally::new(4);
        (other.at(0).marked, other.at(1).marked) = (3, 0);
        assert_ne!(tally, other);
        *other.at(2) = tally[2];
        assert_eq!(tally, other, "told of as nothing is nothing");
        assert!(Tally::default().is_empty());
    }
}
