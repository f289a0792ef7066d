//! The congestion window: slow start, congestion avoidance and the three ways to fall.

use super::Rules;
use super::params::OnLoss;

/// Window and threshold in bytes.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// What may be in flight: cwnd.
    size: u64,
    /// Below it the window doubles per round trip: ssthresh.
    threshold: u64,
    /// Bytes acknowledged towards the next packet of growth. [RFC 3465 s2.1]
    credit: u64,
    /// Most bytes in flight in this round trip and in the last one: a window that is not used
    /// does not grow. [RFC 7661 s4.1, Linux `tcp_is_cwnd_limited`]
    peaks: [u64; 2],
}

/// How far a reduction has come, in bytes. [RFC 6937 s3.1]
pub(super) struct Reduction {
    /// In flight when it began: `RecoverFS`.
    pub(super) flight: u64,
    /// Acknowledged since: `prr_delivered`.
    pub(super) delivered: u64,
    /// Sent since: `prr_out`.
    pub(super) sent: u64,
}

/// Packets that one acknowledgement may add in the slow start after a timeout, when it may cover
/// much that arrived long ago: L. [RFC 3465 s2.3]
const AFTER_TIMEOUT_MAX: u64 = 1;
/// A loss leaves at least this many packets. [RFC 5681 s3.1 equation 4]
const LOSS_MIN: u64 = 2;

impl Window {
    pub(super) fn new(rules: &Rules) -> Self {
        let (size, threshold) = (rules.initial_window, rules.ssthresh_initial);
        Self {
            size,
            threshold,
            credit: 0,
            peaks: [0; 2],
        }
    }

    /// cwnd in bytes.
    #[inline]
    pub(super) const fn size(&self) -> u64 {
        self.size
    }

    /// Something left; now `flight` bytes are out.
    #[inline]
    pub(super) fn on_sent(&mut self, flight: u64) {
        self.peaks[0] = self.peaks[0].max(flight);
    }

    /// A round trip is over; `flight` bytes are out.
    pub(super) fn on_round(&mut self, flight: u64) {
        self.peaks = [flight, self.peaks[0]];
    }

    /// `acked` bytes arrived.
    #[inline]
    pub(super) fn grow(&mut self, acked: u64, rules: &Rules) {
        if rules.count_acks {
            self.count_ack(rules);
            return;
        }
        let (mut acked, used) = (acked, self.peaks[0].max(self.peaks[1]));
        if self.size < self.threshold {
            if self.size >= 2 * used {
                return;
            }
            let step = acked.min(self.threshold - self.size);
            self.size = (self.size + step).min(rules.receive_window);
            acked -= step;
        }
        // It is used where not one more packet would have fitted.
        if acked > 0 && used + rules.payload_max > self.size {
            self.credit += acked;
            if self.credit >= self.size {
                self.credit -= self.size;
                self.size = (self.size + rules.payload_max).min(rules.receive_window);
            }
        }
    }

    /// An acknowledgement of whatever size arrived. [ns-2 `opencwnd`, `windowOption_` 0]
    #[inline(never)]
    fn count_ack(&mut self, rules: &Rules) {
        if self.size >= self.threshold {
            self.credit += rules.payload_max;
            if self.credit < self.size {
                return;
            }
            self.credit = 0;
        }
        self.size = (self.size + rules.payload_max).min(rules.receive_window);
    }

    /// The same while what a timeout declared lost is being repaired. Congestion avoidance counts
    /// every byte. [RFC 3465 s2.1]
    pub(super) fn grow_after_timeout(&mut self, acked: u64, rules: &Rules) {
        let slow = self.size < self.threshold;
        let most = if slow {
            AFTER_TIMEOUT_MAX * rules.payload_max
        } else {
            acked
        };
        self.grow(acked.min(most), rules);
    }

    /// The network marked packets. Once per window. [RFC 8257 s3.3 equation 9]
    pub(super) fn on_mark(&mut self, alpha: f64, rules: &Rules) {
        self.size = self.less(alpha).max(rules.window_min);
        self.threshold = Self::whole(self.size, rules);
        if !rules.mark_keeps_credit {
            self.credit = 0;
        }
    }

    /// The fall to the threshold is under way: what may leave is in proportion to what arrived.
    /// `pipe` bytes are out, `acked` arrived just now. [RFC 6937 s3.1, its conservative bound]
    pub(super) fn spread(&mut self, fall: &Reduction, pipe: u64, acked: u64, rules: &Rules) {
        let ready = if pipe > self.threshold {
            let share = u128::from(fall.delivered) * u128::from(self.threshold);
            let share = share.div_ceil(u128::from(fall.flight.max(1)));
            u64::try_from(share)
                .unwrap_or(u64::MAX)
                .saturating_sub(fall.sent)
        } else {
            let arrived = fall.delivered.saturating_sub(fall.sent).max(acked);
            arrived.min(self.threshold - pipe)
        };
        // The first packet leaves at once, as after a loss.
        let least = if fall.sent == 0 { rules.payload_max } else { 0 };
        self.size = (pipe + ready.max(least)).clamp(rules.payload_max, rules.receive_window);
    }

    /// The fall is over.
    pub(super) fn fallen(&mut self) {
        self.size = self.threshold;
    }

    /// The network lost a packet and duplicate acknowledgements told.
    pub(super) fn on_loss(&mut self, flight: u64, alpha: f64, rules: &Rules) {
        self.threshold = self.after_loss(flight, alpha, rules);
        (self.size, self.credit) = (self.threshold, 0);
        self.threshold = Self::whole(self.threshold, rules);
    }

    /// Nothing was heard for a timeout. `first` of a row; only that one lowers the threshold, or
    /// a long silence would leave nothing of it. [RFC 5681 s3.1]
    pub(super) fn on_timeout(&mut self, first: bool, flight: u64, alpha: f64, rules: &Rules) {
        if first {
            self.threshold = Self::whole(self.after_loss(flight, alpha, rules), rules);
        }
        (self.size, self.credit) = (rules.payload_max, 0);
    }

    /// `NewReno`'s recovery is over with `flight` bytes out: no burst. [RFC 6582 s3.2 step 3]
    pub(super) fn after_reno(&mut self, flight: u64, rules: &Rules) {
        let room = flight.max(rules.payload_max) + rules.payload_max;
        self.size = self.threshold.min(room);
    }

    /// Nothing was sent for `timeouts` timeouts: what the window knew is stale.
    /// [RFC 5681 s4.1, Linux `tcp_cwnd_restart`]
    pub(super) fn after_idle(&mut self, timeouts: u64, rules: &Rules) {
        let restart = rules.initial_window.min(self.size);
        self.threshold = self.threshold.max(self.size / 4 * 3);
        let halvings = u32::try_from(timeouts.min(63)).expect("at most 63");
        (self.size, self.credit) = ((self.size >> halvings).max(restart), 0);
    }

    fn after_loss(&self, flight: u64, alpha: f64, rules: &Rules) -> u64 {
        match rules.on_loss {
            OnLoss::Halve if rules.count_acks => (self.size / 2).max(rules.window_min),
            OnLoss::Halve => (flight.min(self.size) / 2).max(LOSS_MIN * rules.payload_max),
            OnLoss::Alpha => self.less(alpha).max(rules.window_min),
        }
    }

    /// The threshold of a window that counts acknowledgements is of whole packets, [`LOSS_MIN`] or more. [ns-2
    /// `slowdown`]
    fn whole(threshold: u64, rules: &Rules) -> u64 {
        if !rules.count_acks {
            return threshold;
        }
        let packet = rules.payload_max;
        (threshold / packet).max(LOSS_MIN) * packet
    }

    /// The window times 1 - alpha / 2.
    fn less(&self, alpha: f64) -> u64 {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a window, which is below 2^24"
        )]
        let cut = (self.size as f64 * (alpha / 2.0)) as u64;
        self.size - cut
    }

    /// Panics where an invariant is broken.
    pub(super) fn check(&self, rules: &Rules) {
        assert!(
            self.size >= rules.payload_max,
            "a window of {} B",
            self.size
        );
        assert!(
            self.size <= rules.receive_window,
            "a window of {} B",
            self.size
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dctcp::Params;
    use model::Encap;

    fn rules(params: &Params) -> Rules {
        Rules::new(
            params,
            Encap {
                payload_max: 1000,
                ..Encap::PAPER
            },
        )
    }

    /// One round trip of a window that is full, acknowledged two packets at a time.
    fn round(window: &mut Window, rules: &Rules) {
        let flight = window.size();
        window.on_sent(flight);
        window.on_round(flight);
        (0..flight / 2000).for_each(|_| window.grow(2000, rules));
        window.check(rules);
    }

    /// cwnd in packets after each round trip; `marked` ones begin with a mark and grow no more,
    /// as the sender has it.
    fn curve(alpha: f64, marked: &[bool]) -> String {
        let rules = rules(&Params::DEFAULT);
        let mut window = Window::new(&rules);
        let rounds = marked.iter().map(|&marked| {
            if marked {
                window.on_mark(alpha, &rules);
            } else {
                round(&mut window, &rules);
            }
            format!("{:.1} ", window.size() as f64 / 1000.0)
        });
        rounds.collect()
    }

    #[test]
    fn without_marks_it_doubles_per_round() {
        insta::assert_snapshot!(curve(1.0, &[false; 8]), @"20.0 40.0 80.0 160.0 320.0 640.0 1280.0 2560.0");
    }

    #[test]
    fn one_mark_ends_slow_start_and_one_packet_per_round_follows() {
        let mut marked = [false; 12];
        marked[3] = true;
        insta::assert_snapshot!(curve(1.0, &marked), @"20.0 40.0 80.0 40.0 41.0 41.0 42.0 43.0 44.0 45.0 45.0 46.0");
    }

    #[test]
    fn a_low_alpha_takes_little() {
        let mut marked = [false; 8];
        (marked[3], marked[5]) = (true, true);
        insta::assert_snapshot!(curve(0.1, &marked), @"20.0 40.0 80.0 76.0 77.0 73.2 73.2 74.2");
    }

    #[test]
    fn marks_in_every_round_leave_two_packets() {
        insta::assert_snapshot!(curve(1.0, &[true; 5]), @"5.0 2.5 2.0 2.0 2.0");
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let rules = rules(&Params::DEFAULT);
        let mut window = Window::new(&rules);
        let acked_in_rounds_of = |window: &mut Window, flight| {
            for _ in 0..50 {
                window.on_sent(flight);
                window.on_round(flight);
                (0..10).for_each(|_| window.grow(1000, &rules));
            }
            window.size()
        };
        assert_eq!(acked_in_rounds_of(&mut window, 5_000), 10_000);
        assert_eq!(
            acked_in_rounds_of(&mut window, 8_000),
            16_000,
            "in slow start, twice that"
        );
        window.on_mark(0.0, &rules);
        assert_eq!(acked_in_rounds_of(&mut window, 15_000), 16_000);
        assert_eq!(acked_in_rounds_of(&mut window, 19_500), 21_000);
    }

    #[test]
    fn a_timeout_leaves_one_packet_and_only_the_first_lowers_the_threshold() {
        let rules = rules(&Params::DEFAULT);
        let mut window = Window::new(&rules);
        window.on_timeout(true, 10_000, 1.0, &rules);
        window.on_timeout(false, 1_000, 1.0, &rules);
        let rounds: Vec<u64> = (0..6)
            .map(|_| {
                let flight = window.size();
                window.on_sent(flight);
                (0..flight / 1000).for_each(|_| window.grow_after_timeout(1000, &rules));
                window.size()
            })
            .collect();
        assert_eq!(rounds, [2000, 4000, 5000, 6000, 7000, 8000]);
    }

    /// The window after each of eight acknowledgements that follow a fall by half to 1500.
    fn after_a_mark(params: &Params) -> [u64; 8] {
        let params = Params {
            initial_window: 3,
            window_min: 1,
            ..params.clone()
        };
        let rules = rules(&params);
        let mut window = Window::new(&rules);
        window.threshold = 3000;
        window.on_sent(3000);
        window.grow(1000, &rules);
        window.on_mark(1.0, &rules);
        [1000, 1000, 1000, 1000, 2000, 1000, 1000, 1000].map(|acked| {
            window.on_sent(window.size());
            window.grow(acked, &rules);
            window.size()
        })
    }

    #[test]
    fn windows_count_bytes_or_acknowledgements() {
        let bytes = [1500, 2500, 2500, 3500, 3500, 3500, 4500, 4500];
        assert_eq!(after_a_mark(&Params::DEFAULT), bytes);
        let acks = Params {
            count_acks: true,
            ..Params::DEFAULT
        };
        // The threshold is two packets, of which the first acknowledgement leads to two and a half.
        let acks_alone = [2500, 2500, 2500, 3500, 3500, 3500, 3500, 4500];
        assert_eq!(after_a_mark(&acks), acks_alone);
    }

    #[test]
    fn what_counted_before_a_mark_is_kept_or_not() {
        let kept = Params {
            mark_keeps_credit: true,
            ..Params::DEFAULT
        };
        assert_eq!(after_a_mark(&Params::DEFAULT)[..2], [1500, 2500]);
        assert_eq!(after_a_mark(&kept)[..2], [2500, 2500]);
    }

    #[test]
    fn a_window_that_counts_acknowledgements_halves_and_leaves_a_threshold_of_whole_packets() {
        let after = |count_acks, size| {
            let params = Params {
                count_acks,
                window_min: 1,
                ..Params::DEFAULT
            };
            let rules = rules(&params);
            let mut window = Window::new(&rules);
            window.size = size;
            window.on_loss(6000, 1.0, &rules);
            (window.size, window.threshold)
        };
        assert_eq!(after(false, 9500), (3000, 3000));
        assert_eq!(after(true, 9500), (4750, 4000));
        assert_eq!(after(true, 3500), (1750, 2000));
    }

    #[test]
    fn after_a_timeout_an_acknowledgement_of_much_adds_one_packet_until_slow_start_is_over() {
        let rules = rules(&Params::DEFAULT);
        let mut window = Window::new(&rules);
        window.on_timeout(true, 10_000, 1.0, &rules);
        let acked = [7000, 2000, 1500, 500, 9000, 4000, 4000];
        let sizes = acked.map(|acked| {
            window.on_sent(window.size());
            window.grow_after_timeout(acked, &rules);
            window.size()
        });
        // The threshold is five packets; then five acknowledged ones add one.
        assert_eq!(sizes, [2000, 3000, 4000, 4500, 5000, 5000, 6000]);
    }

    #[test]
    fn silence_halves_per_timeout_down_to_the_first_window() {
        let rules = rules(&Params::DEFAULT);
        let mut window = Window::new(&rules);
        (0..3).for_each(|_| round(&mut window, &rules));
        assert_eq!(window.size(), 80_000);
        window.threshold = 30_000;
        let after = |timeouts| {
            let mut idle = window.clone();
            idle.after_idle(timeouts, &rules);
            assert_eq!(
                idle.threshold, 60_000,
                "three quarters are known to have worked"
            );
            idle.size
        };
        let sizes = [1, 2, 3, 9, u64::MAX].map(after);
        assert_eq!(sizes, [40_000, 20_000, 10_000, 10_000, 10_000]);
    }
}
