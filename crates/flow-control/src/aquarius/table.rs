//! The table of flows of a port: what it knows of those that share an entry, found by the number of that.

use model::ConnId;
use units::Time;

/// The number of a place that no entry has taken; tables have at most 2^24 entries.
const VACANT: u32 = u32::MAX;
/// Places of the smallest table. [ours]
const FEW: usize = 16;

/// What a port knows of the flows that share an entry of its table.
#[derive(Debug)]
pub(super) struct Entry {
    /// Bytes in the normal queue, and in the reserved one.
    pub(super) normal: u64,
    pub(super) reserved: u64,
    number: u32,
    /// The normal queue that they join, or joined last.
    pub(super) queue: u8,
    /// They join a reserved queue, this one: until nothing of them waits anywhere and nobody has paused them, so that nothing is
    /// overtaken.
    pub(super) isolated: bool,
    pub(super) home: u8,
    /// It is in the list of a queue: of those that wait to be resumed.
    pub(super) listed: bool,
    /// Its pauses are asked for again, and its own may expire: a moment for it is on the agenda.
    pub(super) repeats: bool,
    pub(super) expires: bool,
    /// Flows that the next switch does not want, and when each pause ends by itself.
    pub(super) stopped: Vec<(ConnId, Time)>,
    /// Flows that we have paused, at which ports.
    pub(super) paused: Vec<(ConnId, u16)>,
}

impl Entry {
    const fn new(number: u32) -> Self {
        Self {
            normal: 0,
            reserved: 0,
            number,
            queue: 0,
            isolated: false,
            home: 0,
            listed: false,
            repeats: false,
            expires: false,
            stopped: Vec::new(),
            paused: Vec::new(),
        }
    }

    /// Its reserved queue waits for what is left of it in a normal one: the packet that marks the order.
    pub(super) fn has_older(&self) -> bool {
        self.isolated && self.normal > 0
    }

    /// The queue in which its packets wait that came last, and how many bytes there; `else_in` where none waits.
    #[inline]
    pub(super) fn place(&self, else_in: usize) -> (usize, u64) {
        if self.isolated && self.reserved > 0 {
            (usize::from(self.home), self.reserved)
        } else if self.normal > 0 {
            (usize::from(self.queue), self.normal)
        } else {
            (else_in, 0)
        }
    }

    /// Whether `conn` is paused at port `ingress`.
    #[inline]
    pub(super) fn pauses(&self, conn: ConnId, ingress: u16) -> bool {
        self.paused.contains(&(conn, ingress))
    }

    /// It says no more than one that was never made.
    fn is_nothing(&self) -> bool {
        let quiet = self.stopped.is_empty() && self.paused.is_empty();
        let alone = !self.listed && !self.repeats && !self.expires && !self.isolated;
        quiet && alone && self.normal + self.reserved == 0
    }
}

/// The entries of a port. Each lies at the first place from that of its number on that was free when it came. Most are of
/// a packet that soon leaves: what says nothing any more keeps its place until places run short.
#[derive(Debug)]
pub(super) struct Table {
    /// A power of two of places, more than half of them vacant.
    places: Box<[Entry]>,
    taken: usize,
}

impl Table {
    pub(super) fn new() -> Self {
        Self {
            places: (0..FEW).map(|_| Entry::new(VACANT)).collect(),
            taken: 0,
        }
    }

    /// The place of entry `number`, or the one that it would take.
    #[inline]
    fn place(&self, number: u32) -> usize {
        let mask = self.places.len() - 1;
        let mut place = number as usize & mask;
        loop {
            let found = self.places[place & mask].number;
            if found == number || found == VACANT {
                return place & mask;
            }
            place += 1;
        }
    }

    /// Entry `number`; none where nothing is known of it.
    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<&Entry> {
        let entry = &self.places[self.place(number)];
        (entry.number == number).then_some(entry)
    }

    /// Entry `number`, of which something is known.
    #[inline]
    pub(super) fn known(&mut self, number: u32) -> &mut Entry {
        let place = self.place(number);
        debug_assert_eq!(self.places[place].number, number, "nothing is known");
        &mut self.places[place]
    }

    /// Entry `number`, a new one where nothing is known of it.
    #[inline]
    pub(super) fn at(&mut self, number: u32) -> &mut Entry {
        let mut place = self.place(number);
        if self.places[place].number == VACANT {
            place = self.take(number, place);
        }
        &mut self.places[place]
    }

    /// Takes `place` for entry `number`, or another where too few would be vacant.
    #[inline(never)]
    fn take(&mut self, number: u32, mut place: usize) -> usize {
        if 2 * (self.taken + 1) >= self.places.len() {
            self.clear_out();
            place = self.place(number);
        }
        self.taken += 1;
        self.places[place].number = number;
        place
    }

    /// Forgets entries that say nothing, and makes room for as many again as are left.
    #[cold]
    fn clear_out(&mut self) {
        let known = self.iter().count();
        let room = (4 * known).next_power_of_two().max(FEW);
        let vacant = (0..room).map(|_| Entry::new(VACANT)).collect();
        let all = std::mem::replace(&mut self.places, vacant);
        let known = all.into_iter().filter(Entry::is_known);
        self.taken = 0;
        for entry in known {
            let place = self.place(entry.number);
            self.places[place] = entry;
            self.taken += 1;
        }
    }

    /// The entries that say something, with their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Entry)> {
        let known = self.places.iter().filter(|entry| entry.is_known());
        known.map(|entry| (entry.number, entry))
    }
}

impl Entry {
    fn is_known(&self) -> bool {
        self.number != VACANT && !self.is_nothing()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Rng, stream};
    use std::collections::BTreeMap;

    #[test]
    fn it_knows_what_a_sorted_map_knows_however_many_come_and_go() {
        for numbers in [1_u64, 20, 7_200, 1 << 24] {
            let mut rng = Rng::stream(numbers, stream::TEST, 0);
            let (mut table, mut plain) = (Table::new(), BTreeMap::new());
            let mut most = 0;
            for round in 0..20_000_u64 {
                let number = u32::try_from(rng.below(numbers)).unwrap();
                let crowd = if round % 4_000 < 1_000 { 2 } else { 0 };
                if rng.below(3) < 1 + crowd {
                    *plain.entry(number).or_insert(0) += 1;
                    table.at(number).normal += 1;
                } else if let Some((&number, _)) = plain.range(number..).next() {
                    table.at(number).normal = 0;
                    plain.remove(&number);
                }
                assert!(2 * table.taken < table.places.len());
                let known = |number| table.get(number).map_or(0, |entry| entry.normal);
                assert_eq!(known(number), plain.get(&number).copied().unwrap_or(0));
                if round % 500 == 0 {
                    let mut all: Vec<(u32, u64)> =
                        table.iter().map(|(n, entry)| (n, entry.normal)).collect();
                    all.sort_unstable();
                    assert!(
                        all.into_iter()
                            .eq(plain.iter().map(|(&n, &held)| (n, held)))
                    );
                }
                most = most.max(plain.len());
            }
            assert!(most as u64 >= numbers.min(500), "{most} at once");
            let room = 8 * most.next_power_of_two().max(FEW);
            assert!(table.places.len() <= room, "what is over is forgotten");
        }
    }

    #[test]
    fn whatever_an_entry_says_keeps_it() {
        let says: [fn(&mut Entry); 8] = [
            |entry| entry.normal = 1,
            |entry| entry.reserved = 1,
            |entry| entry.isolated = true,
            |entry| entry.listed = true,
            |entry| entry.repeats = true,
            |entry| entry.expires = true,
            |entry| entry.stopped.push((ConnId(1), Time(1))),
            |entry| entry.paused.push((ConnId(1), 1)),
        ];
        let mut table = Table::new();
        for (number, say) in (0..).zip(says) {
            say(table.at(7 * number));
            table.at(1_000 + number).queue = 3;
        }
        table.clear_out();
        let mut known: Vec<u32> = table.iter().map(|(number, _)| number).collect();
        known.sort_unstable();
        assert_eq!(known, [0, 7, 14, 21, 28, 35, 42, 49]);
        assert_eq!((table.taken, table.places.len()), (8, 32));
    }
}
