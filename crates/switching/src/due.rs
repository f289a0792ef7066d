//! Which port of a switch is to choose next.

use units::Time;

/// The moment of every port's next choice, under a tree of the earlier of each two: the root is the earliest. A switch
/// whose ports are asked in the order of time looks before every arrival; a search through all of them cost more than
/// the choice itself.
#[derive(Debug)]
pub(crate) struct Due {
    /// The root at 1, the children of `n` at `2n` and `2n + 1`, the ports from `first` on.
    times: Box<[Time]>,
    first: usize,
}

impl Due {
    /// For this many ports, none of which has a choice to make.
    pub(crate) fn new(ports: usize) -> Self {
        let first = ports.next_power_of_two();
        Self {
            times: vec![Time::NEVER; 2 * first].into(),
            first,
        }
    }

    /// Every port chooses at its moment of these from now on.
    pub(crate) fn set_all(&mut self, moments: impl Iterator<Item = Time>) {
        for (time, at) in self.times[self.first..].iter_mut().zip(moments) {
            *time = at;
        }
        for node in (1..self.first).rev() {
            self.times[node] = self.times[2 * node].min(self.times[2 * node + 1]);
        }
    }

    /// The earliest moment; never, where no port has a choice to make.
    #[inline]
    pub(crate) fn earliest(&self) -> Time {
        self.times[1]
    }

    /// The port of that moment, of several the one with the lowest number.
    #[inline]
    pub(crate) fn port(&self) -> usize {
        let (mut node, earliest) = (1, self.times[1]);
        while node < self.first {
            node *= 2;
            node += usize::from(self.times[node] != earliest);
        }
        node - self.first
    }

    /// `port` chooses at `at` from now on.
    #[inline]
    pub(crate) fn set(&mut self, port: usize, at: Time) {
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
            let (mut due, mut plain) = (Due::new(ports), vec![Time::NEVER; ports]);
            assert_eq!(due.earliest(), Time::NEVER);
            for _ in 0..3000 {
                let port = usize::try_from(rng.below(ports as u64)).unwrap();
                // Few different moments, so that many are equal.
                let at = match rng.below(8) {
                    0 => Time::NEVER,
                    at => Time(at),
                };
                plain[port] = at;
                if rng.below(50) == 0 {
                    due.set_all(plain.iter().copied());
                } else {
                    due.set(port, at);
                }
                let first = plain.iter().min().copied().unwrap();
                assert_eq!(due.earliest(), first);
                if first < Time::NEVER {
                    assert_eq!(Some(due.port()), plain.iter().position(|&at| at == first));
                }
            }
        }
    }

    #[test]
    fn what_changes_no_minimum_changes_nothing_above() {
        let mut due = Due::new(5);
        assert_eq!((due.times.len(), due.first), (16, 8));
        for (port, at) in [(4, 9), (3, 7), (0, 8), (3, 9), (4, 5), (4, 9)] {
            due.set(port, Time(at));
        }
        assert_eq!((due.earliest(), due.port()), (Time(8), 0));
        due.set(0, Time::NEVER);
        assert_eq!((due.earliest(), due.port()), (Time(9), 3));
    }
}
