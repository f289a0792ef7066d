//! The first round trip, used: what a sender knows of the packets it sent before its first credit.
//! [aeolus s3.3, s4.2]
//!
//! A new flow sends *unscheduled* packets at line rate until its first credit comes or one
//! bandwidth-delay product has left. Switches drop them first. Each that arrives is acknowledged by
//! itself; on one path, an acknowledgement of a later packet proves an earlier one lost, and a probe
//! behind the last one proves the tail. What was lost is sent once more, on a credit. Where packets take
//! several paths, [`Order`] says what an acknowledgement proves.

use std::collections::VecDeque;

/// What became of one unscheduled packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// On its way, for all the sender knows.
    Sent,
    /// Acknowledged.
    Arrived,
    /// A later one arrived without it.
    Lost,
    /// Sent again on a credit.
    Resent,
}

/// Which packets keep their order, and so what the arrival of one says of others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// Those of one path: an acknowledgement, or the answer to a probe, proves what left before it on
    /// the same path. A flow that takes one path has path 0. [aeolus s3.3]
    #[default]
    Path,
    /// Those of one priority, which is what `path` counts here, on one path; the probe leaves at the least urgent of
    /// them, so that it stays behind all. An acknowledgement proves what left before it at its priority, and
    /// the answer to the probe everything. [ours, for strict priorities]
    Priority,
    /// None: an acknowledgement speaks of its own packet alone, and the answer to a probe of all before
    /// it. The probe must leave when none of them can still be on its way. [ours, for sprayed packets]
    Probe,
}

/// One unscheduled packet.
#[derive(Clone, Copy, Debug)]
struct Sent<F> {
    position: u64,
    frame: F,
    path: u16,
    fate: Fate,
}

/// The unscheduled packets of one burst. `F` is what the transport needs to send one again. What a burst allows and
/// what a packet takes of it are in one unit of the transport's choice: wire bytes, or frames.
#[derive(Clone, Debug)]
pub struct Burst<F> {
    /// By position, ascending; forgotten from the front once nothing is owed.
    packets: VecDeque<Sent<F>>,
    order: Order,
    /// Packets whose fate is `Sent`.
    unknown: usize,
    /// Packets whose fate is `Lost`.
    lost: usize,
    /// No packet before this place of `packets` is lost, none before the other is unknown.
    first_lost: usize,
    first_unknown: usize,
    /// How much may still leave in this burst.
    allowance: u64,
}

impl<F> Default for Burst<F> {
    fn default() -> Self {
        Self {
            packets: VecDeque::new(),
            order: Order::Path,
            unknown: 0,
            lost: 0,
            first_lost: 0,
            first_unknown: 0,
            allowance: 0,
        }
    }
}

impl<F: Copy> Burst<F> {
    /// A burst whose packets keep `order`.
    pub fn new(order: Order) -> Self {
        Self {
            order,
            ..Self::default()
        }
    }

    /// Opens a burst of at most `allowance` units. What is known of an earlier one stays.
    pub fn open(&mut self, allowance: u64) {
        self.allowance = allowance;
    }

    /// Whether another packet of `size` units may leave without a credit.
    #[inline]
    pub fn may_send(&self, size: u16) -> bool {
        self.allowance >= u64::from(size)
    }

    /// Units that may still leave without a credit.
    pub fn allowance(&self) -> u64 {
        self.allowance
    }

    /// Nothing leaves without a credit any more.
    pub fn close(&mut self) {
        self.allowance = 0;
    }

    /// A packet of `size` units at `position` leaves on `path`, after all those before it.
    ///
    /// # Panics
    /// If the burst does not allow it, or positions do not ascend.
    pub fn sent(&mut self, position: u64, frame: F, size: u16, path: u16) {
        assert!(
            self.packets
                .back()
                .is_none_or(|last| last.position < position),
            "out of order"
        );
        assert!(self.may_send(size), "{size} more than the burst allows");
        self.allowance -= u64::from(size);
        self.packets.push_back(Sent {
            position,
            frame,
            path,
            fate: Fate::Sent,
        });
        self.unknown += 1;
    }

    /// Packets that have neither arrived nor been sent again.
    #[inline]
    pub fn owed(&self) -> usize {
        self.unknown + self.lost
    }

    /// Whether nothing is known of the packet at `position`.
    pub fn is_unknown(&self, position: u64) -> bool {
        self.find(position)
            .is_ok_and(|place| self.packets[place].fate == Fate::Sent)
    }

    /// The paths of packets of which nothing is known, each as often as there are such packets.
    pub fn unknown_paths(&self) -> impl Iterator<Item = u16> + '_ {
        let rest = self.packets.iter().skip(self.first_unknown);
        rest.filter(|packet| packet.fate == Fate::Sent)
            .map(|packet| packet.path)
    }

    /// Packets that are lost and have not been sent again.
    #[inline]
    pub fn lost(&self) -> usize {
        self.lost
    }

    /// Position of the packet sent last.
    pub fn last(&self) -> Option<u64> {
        self.packets.back().map(|last| last.position)
    }

    fn find(&self, position: u64) -> Result<usize, usize> {
        self.packets
            .binary_search_by_key(&position, |packet| packet.position)
    }

    /// The packet at `position` has arrived: those that it cannot have overtaken and that have not are
    /// lost. False where no such packet was sent.
    pub fn on_ack(&mut self, position: u64) -> bool {
        let Ok(place) = self.find(position) else {
            return false;
        };
        self.set(place, Fate::Arrived);
        if self.order != Order::Probe {
            self.lose_before(place, Some(self.packets[place].path));
        }
        self.forget();
        true
    }

    /// The probe behind the packet at `position` has arrived: that packet and all before it, on its path
    /// or on all of them, are either acknowledged or lost. False where no such packet was sent.
    pub fn on_probe_ack(&mut self, position: u64) -> bool {
        let place = match self.find(position) {
            Ok(place) => place,
            // All that the probe speaks of is settled and forgotten.
            Err(0) => return true,
            Err(_) => return false,
        };
        let path = (self.order == Order::Path).then_some(self.packets[place].path);
        self.lose_before(place + 1, path);
        true
    }

    /// The fate of the rest will stay unknown: all of it counts as lost.
    pub fn give_up(&mut self) {
        self.lose_before(self.packets.len(), None);
    }

    /// Everything before `position` has arrived, as the receiver's own account says.
    pub fn confirm(&mut self, position: u64) {
        let end = self.packets.partition_point(|p| p.position < position);
        for place in 0..end {
            self.set(place, Fate::Arrived);
        }
        self.forget();
    }

    /// The packets from `from` up to `until` that have neither arrived nor been sent again.
    pub fn owed_between(&self, from: u64, until: u64) -> impl Iterator<Item = F> + '_ {
        let first = self.packets.partition_point(|p| p.position < from);
        let rest = self.packets.iter().skip(first);
        let within = rest.take_while(move |packet| packet.position < until);
        within
            .filter(|packet| matches!(packet.fate, Fate::Sent | Fate::Lost))
            .map(|packet| packet.frame)
    }

    /// Everything from `from` up to `until` is taken care of otherwise.
    pub fn settle(&mut self, from: u64, until: u64) {
        let first = self.packets.partition_point(|p| p.position < from);
        let end = self.packets.partition_point(|p| p.position < until);
        for place in first..end {
            self.set(place, Fate::Arrived);
        }
        self.forget();
    }

    /// The oldest lost packet, which now leaves on a credit.
    #[inline]
    pub fn take_lost(&mut self) -> Option<F> {
        if self.lost == 0 {
            return None;
        }
        let lost = |packet: &Sent<F>| packet.fate == Fate::Lost;
        let skipped = self.packets.iter().skip(self.first_lost).position(lost);
        self.first_lost += skipped.expect("one is counted");
        Some(self.resend(self.first_lost))
    }

    /// The oldest packet of unknown fate, which leaves again on a credit that has nothing better.
    #[inline]
    pub fn take_unknown(&mut self) -> Option<F> {
        if self.unknown == 0 {
            return None;
        }
        let unknown = |packet: &Sent<F>| packet.fate == Fate::Sent;
        let skipped = self
            .packets
            .iter()
            .skip(self.first_unknown)
            .position(unknown);
        self.first_unknown += skipped.expect("one is counted");
        Some(self.resend(self.first_unknown))
    }

    fn resend(&mut self, place: usize) -> F {
        let frame = self.packets[place].frame;
        self.set(place, Fate::Resent);
        frame
    }

    fn set(&mut self, place: usize, fate: Fate) {
        let old = std::mem::replace(&mut self.packets[place].fate, fate);
        self.unknown -= usize::from(old == Fate::Sent);
        self.lost -= usize::from(old == Fate::Lost);
        self.lost += usize::from(fate == Fate::Lost);
    }

    /// Packets before place `end` are lost unless they are known to have arrived: those of `path`, or all.
    fn lose_before(&mut self, end: usize, path: Option<u16>) {
        for place in self.first_unknown..end {
            let packet = &self.packets[place];
            if packet.fate == Fate::Sent && path.is_none_or(|path| path == packet.path) {
                self.set(place, Fate::Lost);
                self.first_lost = self.first_lost.min(place);
            }
        }
        let unknown = |packet: &Sent<F>| packet.fate == Fate::Sent;
        let mut rest = self.packets.iter().skip(self.first_unknown);
        let known = self.packets.len() - self.first_unknown;
        self.first_unknown += rest.position(unknown).unwrap_or(known);
    }

    /// Lets go of packets at the front that are settled.
    fn forget(&mut self) {
        while self
            .packets
            .front()
            .is_some_and(|packet| packet.fate == Fate::Arrived)
        {
            self.packets.pop_front();
            self.first_lost = self.first_lost.saturating_sub(1);
            self.first_unknown = self.first_unknown.saturating_sub(1);
        }
        if self.packets.is_empty() {
            self.packets.shrink_to_fit();
        }
    }

    /// Panics where an invariant is broken.
    pub fn check(&self) {
        let count = |wanted| {
            self.packets
                .iter()
                .filter(|packet| packet.fate == wanted)
                .count()
        };
        assert_eq!(
            (count(Fate::Sent), count(Fate::Lost)),
            (self.unknown, self.lost)
        );
        let before = |place: usize, fate| self.packets.iter().take(place).any(|p| p.fate == fate);
        assert!(!before(self.first_unknown, Fate::Sent) && !before(self.first_lost, Fate::Lost));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Rng, stream};

    fn burst(packets: u64) -> Burst<u64> {
        let mut burst = Burst::default();
        burst.open(packets * 1538 + 100);
        for packet in 0..packets {
            burst.sent(packet * 1460, packet, 1538, 0);
        }
        assert!(!burst.may_send(1538));
        burst
    }

    #[test]
    fn an_acknowledgement_proves_all_earlier_gaps() {
        let mut burst = burst(6);
        assert!((0..6).all(|n| burst.is_unknown(n * 1460)) && !burst.is_unknown(6 * 1460));
        assert!(burst.on_ack(0) && burst.on_ack(3 * 1460));
        let unknown = [0, 1, 2, 3, 4, 5].map(|n| burst.is_unknown(n * 1460));
        assert_eq!(unknown, [false, false, false, false, true, true]);
        assert_eq!(
            (burst.take_lost(), burst.take_lost(), burst.take_lost()),
            (Some(1), Some(2), None)
        );
        assert_eq!(burst.owed(), 2);
        burst.check();
    }

    #[test]
    fn the_probe_proves_the_tail() {
        let mut burst = burst(4);
        assert!(burst.on_ack(1460) && burst.on_probe_ack(3 * 1460));
        assert_eq!(
            [0; 4].map(|_| burst.take_lost()),
            [Some(0), Some(2), Some(3), None]
        );
        assert_eq!(burst.owed(), 0);
        burst.check();
    }

    #[test]
    fn lost_packets_go_first_and_unknown_ones_last() {
        let mut burst = burst(4);
        assert!(burst.on_ack(2 * 1460));
        assert_eq!((burst.take_lost(), burst.take_lost()), (Some(0), Some(1)));
        assert_eq!(
            (
                burst.take_lost(),
                burst.take_unknown(),
                burst.take_unknown()
            ),
            (None, Some(3), None)
        );
    }

    /// Six packets, in turn on two paths.
    fn sprayed(order: Order) -> Burst<u64> {
        let mut burst = Burst::new(order);
        burst.open(6 * 1538);
        for (packet, path) in (0..6).zip([0, 1].into_iter().cycle()) {
            burst.sent(packet * 1460, packet, 1538, path);
        }
        burst
    }

    fn all_lost(burst: &mut Burst<u64>) -> Vec<u64> {
        burst.check();
        std::iter::from_fn(|| burst.take_lost()).collect()
    }

    #[test]
    fn an_acknowledgement_proves_nothing_of_another_path() {
        let mut burst = sprayed(Order::Path);
        assert!(burst.on_ack(4 * 1460));
        let unknown = |burst: &Burst<u64>| burst.unknown_paths().collect::<Vec<_>>();
        assert_eq!(unknown(&burst), [1, 1, 1]);
        assert_eq!(all_lost(&mut burst), [0, 2]);
        assert!(burst.on_probe_ack(5 * 1460));
        assert_eq!((all_lost(&mut burst), burst.owed()), (vec![1, 3, 5], 0));
        assert_eq!(unknown(&burst), []);
    }

    #[test]
    fn where_packets_overtake_each_other_the_probe_alone_proves_a_loss() {
        let mut burst = sprayed(Order::Probe);
        for packet in [5, 0, 3] {
            assert!(burst.on_ack(packet * 1460));
            assert_eq!(all_lost(&mut burst), []);
        }
        assert!(burst.on_probe_ack(5 * 1460));
        assert_eq!((all_lost(&mut burst), burst.owed()), (vec![1, 2, 4], 0));
    }

    #[test]
    fn a_probe_behind_all_priorities_proves_the_losses_of_each() {
        let mut burst = sprayed(Order::Priority);
        // It overtook what left before it at the other priority.
        assert!(burst.on_ack(4 * 1460));
        assert_eq!(burst.lost(), 2);
        let owed: Vec<_> = burst.owed_between(1460, 5 * 1460).collect();
        assert_eq!(owed, [1, 2, 3]);
        assert_eq!(all_lost(&mut burst), [0, 2]);
        assert!(burst.on_ack(1460) && burst.on_probe_ack(5 * 1460));
        assert_eq!((all_lost(&mut burst), burst.owed()), (vec![3, 5], 0));
    }

    #[test]
    fn nonsense_changes_nothing() {
        let mut burst = burst(3);
        assert!(!burst.on_ack(1) && !burst.on_ack(9999) && !burst.on_probe_ack(77));
        assert_eq!((burst.owed(), burst.take_lost()), (3, None));
    }

    #[test]
    fn each_packet_is_sent_again_at_most_once_whatever_comes_in_which_order() {
        let mut rng = Rng::stream(1, stream::TEST, 7);
        for _ in 0..500 {
            let n = rng.between(1, 40);
            let orders = [Order::Path, Order::Priority, Order::Probe];
            let order = orders[usize::try_from(rng.below(3)).unwrap()];
            let mut burst = Burst::new(order);
            burst.open(n * 1538);
            let paths = rng.between(1, 4);
            for packet in 0..n {
                let path = u16::try_from(rng.below(paths)).unwrap();
                burst.sent(packet * 1460, packet, 1538, path);
            }
            let mut again = vec![0; usize::try_from(n).unwrap()];
            for _ in 0..200 {
                let position = rng.below(n) * 1460;
                let taken = match rng.below(5) {
                    0 => {
                        burst.on_ack(position);
                        None
                    }
                    1 => {
                        burst.on_probe_ack(position);
                        None
                    }
                    2 => burst.take_lost(),
                    3 => burst.take_unknown(),
                    _ => {
                        burst.confirm(position);
                        None
                    }
                };
                if let Some(packet) = taken {
                    again[usize::try_from(packet).unwrap()] += 1;
                }
                burst.check();
            }
            assert!(again.iter().all(|&times| times <= 1), "{again:?}");
        }
    }

    #[test]
    fn a_burst_allows_what_it_was_opened_with_to_the_byte() {
        let mut burst = Burst::default();
        assert!(!burst.may_send(1) && burst.last().is_none());
        burst.open(3_000);
        assert!(burst.may_send(3_000) && !burst.may_send(3_001));
        burst.sent(0, 'a', 1_538, 0);
        assert_eq!((burst.allowance(), burst.last()), (1_462, Some(0)));
        assert!(burst.may_send(1_462) && !burst.may_send(1_463));
        burst.close();
        assert!(!burst.may_send(1), "nothing more leaves");
        assert_eq!((burst.allowance(), burst.owed()), (0, 1));
        burst.open(700);
        burst.sent(1_460, 'b', 700, 0);
        assert_eq!((burst.owed(), burst.last()), (2, Some(1_460)));
    }

    #[test]
    #[should_panic(expected = "out of order")]
    fn no_position_is_sent_twice() {
        let mut burst = Burst::default();
        burst.open(3_000);
        burst.sent(5, (), 100, 0);
        burst.sent(5, (), 100, 0);
    }

    #[test]
    #[should_panic(expected = "101 more than the burst allows")]
    fn no_more_is_sent_than_the_burst_allows() {
        let mut burst = Burst::default();
        burst.open(100);
        burst.sent(0, (), 101, 0);
    }

    #[test]
    fn what_the_receiver_confirms_is_not_sent_again() {
        let mut confirmed = burst(4);
        confirmed.confirm(2 * 1460);
        assert_eq!(confirmed.owed(), 2, "what begins there is not confirmed");
        confirmed.confirm(2 * 1460 + 1);
        assert_eq!((confirmed.owed(), confirmed.last()), (1, Some(3 * 1460)));
        assert_eq!([0; 2].map(|_| confirmed.take_unknown()), [Some(3), None]);
        confirmed.confirm(u64::MAX);
        assert_eq!((confirmed.owed(), confirmed.last()), (0, None));
        assert_eq!(confirmed.packets.capacity(), 0, "nothing is kept");
    }

    #[test]
    fn what_is_taken_care_of_otherwise_is_not_sent_again() {
        let mut burst = burst(5);
        burst.settle(1460, 3 * 1460);
        assert_eq!(burst.owed(), 3);
        burst.check();
        let left = [0; 4].map(|_| burst.take_unknown());
        assert_eq!(left, [Some(0), Some(3), Some(4), None]);
        assert_eq!(burst.owed(), 0);
        burst.settle(0, u64::MAX);
        assert_eq!(burst.last(), None);
    }

    #[test]
    fn what_is_given_up_counts_as_lost_and_what_comes_later_can_be_lost_too() {
        let mut given_up = burst(3);
        assert!(given_up.on_ack(1460));
        given_up.give_up();
        assert_eq!(given_up.owed(), 2);
        given_up.open(2 * 1538);
        for packet in 3..5 {
            given_up.sent(packet * 1460, packet, 1538, 0);
        }
        assert!(given_up.on_ack(4 * 1460));
        assert_eq!(all_lost(&mut given_up), [0, 2, 3]);
        assert_eq!(given_up.owed(), 0);
    }

    #[test]
    fn a_loss_before_others_that_were_found_first_goes_first() {
        let mut burst = sprayed(Order::Path);
        assert!(burst.on_ack(5 * 1460));
        assert_eq!(burst.take_lost(), Some(1));
        assert!(burst.on_ack(4 * 1460));
        assert_eq!(all_lost(&mut burst), [0, 2, 3]);
    }

    #[test]
    fn forgetting_the_first_loses_none_of_the_rest() {
        let mut burst = burst(6);
        assert!(burst.on_ack(4 * 1460));
        let first = [0; 3].map(|_| burst.take_lost());
        assert_eq!(first, [Some(0), Some(1), Some(2)]);
        // The first two have arrived, late.
        assert!(burst.on_ack(0) && burst.on_ack(1460));
        assert_eq!((burst.packets.len(), burst.owed()), (4, 2));
        assert_eq!(
            (burst.take_lost(), burst.take_unknown()),
            (Some(3), Some(5))
        );
        burst.check();
    }

    #[test]
    fn a_probe_for_what_is_settled_already_says_nothing_new() {
        let mut burst = burst(3);
        assert!(burst.on_ack(0), "it is forgotten");
        assert!(burst.on_probe_ack(0));
        assert_eq!((burst.owed(), burst.take_lost()), (2, None));
        assert!(!burst.on_probe_ack(1461), "nothing was sent there");
        assert!(burst.on_probe_ack(1460));
        assert_eq!((burst.take_lost(), burst.owed()), (Some(1), 1));
    }

    #[test]
    fn what_is_settled_is_not_looked_at_again() {
        let mut burst = burst(8);
        assert!(burst.on_probe_ack(5 * 1460));
        assert_eq!((burst.first_lost, burst.first_unknown), (0, 6));
        for _ in 0..3 {
            burst.take_lost();
        }
        assert_eq!(burst.first_lost, 2);
        burst.give_up();
        assert_eq!(burst.first_unknown, 8);
    }

    #[test]
    fn broken_books_are_noticed() {
        let breaks: [fn(&mut Burst<u64>); 5] = [
            |burst| burst.unknown += 1,
            |burst| burst.lost += 1,
            |burst| burst.first_unknown = 4,
            |burst| burst.first_lost = 1,
            |burst| burst.packets[0].fate = Fate::Arrived,
        ];
        for (n, spoil) in breaks.into_iter().enumerate() {
            let mut burst = burst(5);
            assert!(burst.on_ack(2 * 1460));
            burst.check();
            spoil(&mut burst);
            assert!(std::panic::catch_unwind(|| burst.check()).is_err(), "{n}");
        }
    }
}
