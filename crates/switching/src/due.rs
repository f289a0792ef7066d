//! Which port of a switch is to choose next.

use units::Time;

/// The moment of every port's next choice. A switch whose ports are asked in the order of time looks before every arrival;
/// a search through all of them cost more than the choice itself.
#[derive(Debug)]
pub(crate) enum Due {
    /// For many of which most have one to make.
    Tree(Tree),
    /// Those that have one to make: for few.
    Row(Row),
}

impl Due {
    /// For this many ports, none of which has a choice to make.
    pub(crate) fn new(ports: usize) -> Self {
        Self::Tree(Tree::new(ports))
    }

    /// Every port chooses at its moment of these from now on.
    pub(crate) fn set_all(&mut self, moments: impl Iterator<Item = Time>) {
        match self {
            Self::Tree(tree) => tree.set_all(moments),
            Self::Row(row) => {
                *row = Row::default();
                moments.zip(0..).for_each(|(at, port)| row.set(port, at));
            }
        }
    }

    /// The earliest moment; never, where no port has a choice to make.
    #[inline]
    pub(crate) fn earliest(&self) -> Time {
        match self {
            Self::Tree(tree) => tree.times[1],
            Self::Row(row) => row.first.0,
        }
    }

    /// The port of that moment, of several the one with the lowest number.
    #[inline]
    pub(crate) fn port(&self) -> usize {
        match self {
            Self::Tree(tree) => tree.port(),
            Self::Row(row) => row.first.1,
        }
    }

    /// Whether the port of that moment is the only one of a row.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        matches!(self, Self::Row(row) if row.all.len() == 1)
    }

    /// The port in `place` of a row, as long as there is one.
    #[inline]
    pub(crate) fn in_row(&self, place: usize) -> Option<usize> {
        match self {
            Self::Tree(_) => None,
            Self::Row(row) => row.all.get(place).map(|&(_, port)| port),
        }
    }

    /// The port of the earliest moment chooses at `at` from now on.
    #[inline(always)] // from one place
    pub(crate) fn set_first(&mut self, at: Time) {
        match self {
            Self::Tree(tree) => tree.set(tree.port(), at),
            Self::Row(row) => row.put(0, (at, row.first.1)),
        }
    }

    /// `port` chooses at `at` from now on.
    pub(crate) fn set(&mut self, port: usize, at: Time) {
        match self {
            Self::Tree(tree) => tree.set(port, at),
            Self::Row(row) => row.set(port, at),
        }
    }
}

/// The moments of few ports, the earliest first: most often it is the first whose moment changes, and of few it is soon in
/// its place again.
#[derive(Debug)]
pub(crate) struct Row {
    all: Vec<(Time, usize)>,
    /// The first of them; never, where there is none.
    first: (Time, usize),
}

const NONE: (Time, usize) = (Time::NEVER, usize::MAX);

impl Default for Row {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            first: NONE,
        }
    }
}

impl Row {
    #[inline(never)]
    fn set(&mut self, port: usize, at: Time) {
        match self.all.iter().position(|&(_, other)| other == port) {
            Some(place) => self.put(place, (at, port)),
            None => self.come(at, port),
        }
    }

    /// The one in `place` is `one` from now on.
    #[inline(always)] // from two places
    fn put(&mut self, mut place: usize, one: (Time, usize)) {
        if one.0 == Time::NEVER {
            self.go(place);
            return;
        }
        let all = self.all.as_mut_slice();
        while place + 1 < all.len() && all[place + 1] < one {
            all[place] = all[place + 1];
            place += 1;
        }
        while place > 0 && all[place - 1] > one {
            all[place] = all[place - 1];
            place -= 1;
        }
        all[place] = one;
        self.first = all[0];
    }

    fn come(&mut self, at: Time, port: usize) {
        if at < Time::NEVER {
            let place = self.all.partition_point(|&other| other < (at, port));
            self.all.insert(place, (at, port));
            self.first = self.all[0];
        }
    }

    #[inline(never)]
    fn go(&mut self, place: usize) {
        self.all.remove(place);
        self.first = self.all.first().copied().unwrap_or(NONE);
    }
}

/// The moments under a tree of the earlier of each two: the root is the earliest.
#[derive(Debug)]
pub(crate) struct Tree {
    /// The root at 1, the children of `n` at `2n` and `2n + 1`, the ports from `first` on.
    times: Box<[Time]>,
    first: usize,
}

impl Tree {
    fn new(ports: usize) -> Self {
        let first = ports.next_power_of_two();
        Self {
            times: vec![Time::NEVER; 2 * first].into(),
            first,
        }
    }

    fn set_all(&mut self, moments: impl Iterator<Item = Time>) {
        for (time, at) in self.times[self.first..].iter_mut().zip(moments) {
            *time = at;
        }
        for node in (1..self.first).rev() {
            self.times[node] = self.times[2 * node].min(self.times[2 * node + 1]);
        }
    }

    #[inline]
    fn port(&self) -> usize {
        let (mut node, earliest) = (1, self.times[1]);
        while node < self.first {
            node *= 2;
            node += usize::from(self.times[node] != earliest);
        }
        node - self.first
    }

    #[inline(never)]
    fn set(&mut self, port: usize, at: Time) {
        let mut node = self.first + port;
        let mut earliest = at;
        self.times[node] = at;
        while node > 1 {
            earliest = earliest.min(self.times[node ^ 1]);
            node /= 2;
            if self.times[node] == earliest {
                return;
            }
            self.times[node] = earliest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Rng, stream};

    #[test]
    fn the_earliest_is_found_and_of_several_the_lowest_number() {
        for ports in [1, 2, 3, 8, 33, 64] {
            let mut rng = Rng::stream(ports, stream::TEST, 0);
            let ports = usize::try_from(ports).unwrap();
            let mut plain = vec![Time::NEVER; ports];
            let mut both = [Due::new(ports), Due::Row(Row::default())];
            assert!(both.iter().all(|due| due.earliest() == Time::NEVER));
            for _ in 0..3000 {
                let port = usize::try_from(rng.below(ports as u64)).unwrap();
                // Few different moments, so that many are equal.
                let at = match rng.below(8) {
                    0 => Time::NEVER,
                    at => Time(at),
                };
                let earliest = plain.iter().min().copied().unwrap();
                let of_first = rng.below(4) == 0 && earliest < Time::NEVER;
                let port = if of_first { both[0].port() } else { port };
                plain[port] = at;
                let (all, first) = (rng.below(50) == 0, plain.iter().min().copied().unwrap());
                for due in &mut both {
                    if all {
                        due.set_all(plain.iter().copied());
                    } else if of_first {
                        due.set_first(at);
                    } else {
                        due.set(port, at);
                    }
                    assert_eq!(due.earliest(), first);
                    if first < Time::NEVER {
                        assert_eq!(Some(due.port()), plain.iter().position(|&at| at == first));
                    }
                }
            }
        }
    }

    #[test]
    fn what_changes_no_minimum_changes_nothing_above() {
        let mut due = Tree::new(5);
        assert_eq!((due.times.len(), due.first), (16, 8));
        for (port, at) in [(4, 9), (3, 7), (0, 8), (3, 9), (4, 5), (4, 9)] {
            due.set(port, Time(at));
        }
        assert_eq!((due.times[1], due.port()), (Time(8), 0));
        due.set(0, Time::NEVER);
        assert_eq!((due.times[1], due.port()), (Time(9), 3));
    }
}
