//! What a transport may know before a run: of the network, and of the messages that will be sent.

use crate::{Encap, HostId};
use units::{Rate, Span};

/// Everything that is known when a run is put together. A transport copies what it wants to keep.
///
/// On a wire `net`, `sizes` and `load` are `None` unless the owner of the driver says what they know of them; in a
/// conversation of the test kit they always are. A transport must cope, by values of its own or by an error that names
/// the parameter to set.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Facts<'a> {
    /// Frame sizes.
    pub encap: Encap,
    /// The network.
    pub net: Option<&'a dyn Net>,
    /// Sizes of the messages that this transport will send.
    pub sizes: Option<&'a dyn Sizes>,
    /// Part of the hosts' lines or of the uplinks that the messages fill, where it was asked for: 0 to 1.
    pub load: Option<f64>,
}

impl Facts<'_> {
    /// Frame sizes, and nothing else.
    pub const fn of(encap: Encap) -> Self {
        Self {
            encap,
            net: None,
            sizes: None,
            load: None,
        }
    }
}

/// An intact network, as a transport may know it.
pub trait Net {
    /// Hosts, numbered from 0.
    fn hosts(&self) -> u32;
    /// Rate of the host's link.
    fn rate(&self, host: HostId) -> Rate;
    /// The number of the host's rack, from 0: hosts of one rack are behind one switch.
    fn rack(&self, host: HostId) -> u32;
    /// Equal-cost ways from `a` to `b`: [`Packet::set_path`](crate::Packet::set_path) takes a number below it.
    /// None from a host to itself and where no way leads.
    fn ways(&self, a: HostId, b: HostId) -> u16;
    /// Round trip of an idle network over the longest of these ways, with a full frame there and the
    /// smallest back. `None` where no way leads.
    fn base_rtt(&self, a: HostId, b: HostId) -> Option<Span>;
    /// The links of the first of these ways, in order: how many the choice was of, the rate of the chosen one, and its
    /// number, which no other link has.
    /// Empty where nobody knows: hosts have no names then that all of them share, either.
    fn way(&self, a: HostId, b: HostId) -> Vec<(u16, Rate, u32)> {
        let _ = (a, b);
        Vec::new()
    }
    /// The longest of all pairs of hosts. `None` where no way leads between any two.
    fn longest_rtt(&self) -> Option<Span> {
        let all = || (0..self.hosts()).map(HostId);
        let pairs = all().flat_map(|a| all().map(move |b| (a, b)));
        pairs.filter_map(|(a, b)| self.base_rtt(a, b)).max()
    }
    /// The same with other frames; that with its own where nobody knows.
    fn longest_rtt_with(&self, encap: Encap) -> Option<Span> {
        let _ = encap;
        self.longest_rtt()
    }
}

/// How large messages are, by their number and by the bytes that they carry.
pub trait Sizes {
    /// Share of the messages that have at most `size` bytes, 0 to 1.
    fn messages_upto(&self, size: u64) -> f64;
    /// Share of all bytes that are in messages of at most `size` bytes, 0 to 1.
    fn bytes_upto(&self, size: u64) -> f64;
    /// Mean size in bytes.
    fn mean(&self) -> f64;
    /// The largest size.
    fn largest(&self) -> u64;

    /// The smallest size that `share` of the messages do not exceed.
    fn quantile(&self, share: f64) -> u64 {
        first(self.largest(), |size| self.messages_upto(size) >= share)
    }

    /// The smallest size such that messages of at most that size carry `share` of the bytes.
    fn quantile_of_bytes(&self, share: f64) -> u64 {
        first(self.largest(), |size| self.bytes_upto(size) >= share)
    }

    /// Mean of what comes of each message's first `most` bytes: what leaves unasked, where so much may.
    fn mean_of_first(&self, most: u64) -> f64 {
        self.mean() * self.bytes_upto(most) + most as f64 * (1.0 - self.messages_upto(most))
    }
}

/// The first number up to `last` of which `holds` is true, if it stays true from there; `last` where none is.
fn first(last: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, last);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// The sizes of a list of messages, exactly.
#[derive(Clone, Debug, Default)]
pub struct SizeList {
    /// Each size that occurs, ascending, with how many messages and bytes are of at most that size.
    upto: Vec<(u64, u64, u128)>,
}

impl FromIterator<u64> for SizeList {
    fn from_iter<I: IntoIterator<Item = u64>>(sizes: I) -> Self {
        let mut sizes: Vec<u64> = sizes.into_iter().collect();
        sizes.sort_unstable();
        let mut upto: Vec<(u64, u64, u128)> = Vec::new();
        for size in sizes {
            let (_, messages, bytes) = upto.last().copied().unwrap_or_default();
            let next = (size, messages + 1, bytes + u128::from(size));
            match upto.last_mut() {
                Some(last) if last.0 == size => *last = next,
                _ => upto.push(next),
            }
        }
        Self { upto }
    }
}

impl SizeList {
    /// Whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.upto.is_empty()
    }

    fn at(&self, size: u64) -> (u64, u128) {
        let place = self.upto.partition_point(|entry| entry.0 <= size);
        let entry = place.checked_sub(1).map(|place| self.upto[place]);
        entry.map_or((0, 0), |(_, messages, bytes)| (messages, bytes))
    }
}

impl Sizes for SizeList {
    fn messages_upto(&self, size: u64) -> f64 {
        let all = self.at(u64::MAX).0;
        self.at(size).0 as f64 / all.max(1) as f64
    }
    fn bytes_upto(&self, size: u64) -> f64 {
        let all = self.at(u64::MAX).1;
        // Where nothing but empty messages is sent, all of nothing is in each.
        if all == 0 {
            return 1.0;
        }
        self.at(size).1 as f64 / all as f64
    }
    fn mean(&self) -> f64 {
        let (messages, bytes) = self.at(u64::MAX);
        bytes as f64 / messages.max(1) as f64
    }
    fn largest(&self) -> u64 {
        self.upto.last().map_or(0, |entry| entry.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                (found - expected).abs() < 1e-12,
                "{found} is not {expected}"
            );
        }
    }

    #[test]
    fn a_list_counts_messages_and_their_bytes() {
        let sizes: SizeList = [100, 1, 100, 799, 0].into_iter().collect();
        let shares = [0, 1, 99, 100, 798, 799].map(|size| sizes.messages_upto(size));
        close(&shares, &[0.2, 0.4, 0.4, 0.8, 0.8, 1.0]);
        let bytes = [0, 1, 99, 100, 798, 799].map(|size| sizes.bytes_upto(size));
        close(&bytes, &[0.0, 0.001, 0.001, 0.201, 0.201, 1.0]);
        assert_eq!(sizes.largest(), 799);
        let quantiles = [0.0, 0.2, 0.3, 0.8, 0.81, 1.0].map(|share| sizes.quantile(share));
        assert_eq!(quantiles, [0, 0, 1, 100, 799, 799]);
        let quantiles = [0.001, 0.2, 0.202, 1.0].map(|share| sizes.quantile_of_bytes(share));
        assert_eq!(quantiles, [1, 100, 799, 799]);
        // The first 50 bytes of each: 50 + 1 + 50 + 50 + 0.
        close(&[sizes.mean(), sizes.mean_of_first(50)], &[200.0, 30.2]);
    }

    #[test]
    fn no_messages_have_no_size() {
        let none = SizeList::default();
        assert!(none.is_empty());
        assert_eq!((none.quantile(1.0), none.quantile_of_bytes(1.0)), (0, 0));
    }
}
