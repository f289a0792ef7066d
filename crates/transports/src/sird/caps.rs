//! How much credit one sender may have: the smaller of two shares, each by a law like DCTCP's. One follows what the
//! sender says of itself, the other the marks of switches. [sird s4; sird artefact `update_sn_state`, `update_nw_state`]

/// Windows between two cuts, at least. [sird artefact]
const WINDOWS_PER_CUT: f64 = 1.5;

/// The law of both. Sizes are wire bytes.
#[derive(Clone, Debug)]
pub(super) struct Law {
    /// A full frame: what a share grows by in a window without marks.
    pub(super) frame: f64,
    /// The largest share, and the least of each.
    pub(super) most: f64,
    pub(super) least: [f64; 2],
    /// Weight of the newest window.
    pub(super) gain: f64,
    /// A share grows after marked packets, too.
    pub(super) always: bool,
}

/// One share.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Share {
    bytes: f64,
    /// The part of packets that is marked, over windows; those marked in this one.
    ratio: f64,
    marked: u32,
    /// Packets since the last cut, and how many have to be before the next.
    since_cut: u32,
    until_cut: u32,
}

/// Both shares of one sender.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Caps {
    shares: [Share; 2],
    /// Packets of this window so far, and of all of it.
    seen: u32,
    window: u32,
}

/// How many frames a share has.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive number of frames, and the cast saturates"
)]
fn frames(bytes: f64, law: &Law) -> u32 {
    (bytes / law.frame) as u32
}

impl Caps {
    /// Those of a sender of which nothing has come.
    pub(super) fn new(law: &Law) -> Self {
        let share = Share {
            bytes: law.most,
            ratio: 0.0,
            marked: 0,
            since_cut: 0,
            until_cut: frames(law.most, law),
        };
        Self {
            shares: [share; 2],
            seen: 0,
            window: 1,
        }
    }

    /// What the sender may have, in wire bytes.
    #[inline]
    pub(super) fn bytes(&self) -> f64 {
        self.shares[0].bytes.min(self.shares[1].bytes)
    }

    /// Data has come, and was marked by its host, by a switch; which share was cut.
    #[inline]
    pub(super) fn on_data(&mut self, marks: [bool; 2], law: &Law) -> [bool; 2] {
        self.seen += 1;
        let ends = self.seen >= self.window;
        let now = self.bytes();
        let mut cut = [false; 2];
        for (n, share) in self.shares.iter_mut().enumerate() {
            share.since_cut = share.since_cut.saturating_add(1);
            share.marked += u32::from(marks[n]);
            if ends {
                let part = f64::from(share.marked) / f64::from(self.seen);
                share.ratio = (1.0 - law.gain) * share.ratio + law.gain * part;
                share.marked = 0;
            }
            let mut bytes = share.bytes;
            if !marks[n] || law.always {
                bytes += law.frame * law.frame / now;
            }
            if marks[n] && share.since_cut >= share.until_cut {
                bytes -= share.bytes * share.ratio / 2.0;
                share.since_cut = 0;
                share.until_cut = frames(WINDOWS_PER_CUT * now, law);
                cut[n] = true;
            }
            share.bytes = bytes.max(law.least[n]).min(law.most);
        }
        if ends {
            self.seen = 0;
            self.window = frames(self.bytes(), law).max(1);
        }
        cut
    }

    /// Whether it has learned nothing that is worth keeping.
    pub(super) fn is_fresh(&self, law: &Law) -> bool {
        let at_rest = |share: &Share| share.bytes >= law.most && share.ratio <= law.gain * law.gain;
        self.shares.iter().all(at_rest)
    }

    /// Panics where an invariant is broken.
    pub(super) fn check(&self, law: &Law) {
        for (share, least) in self.shares.iter().zip(law.least) {
            assert!(
                (least.min(law.most)..=law.most).contains(&share.bytes),
                "{share:?}"
            );
            assert!((0.0..=1.0).contains(&share.ratio), "{share:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares of ten frames of 1000 B.
    fn law(always: bool) -> Law {
        Law {
            frame: 1000.0,
            most: 10_000.0,
            least: [1000.0, 300.0],
            gain: 0.25,
            always,
        }
    }

    /// By hand, a mark on every packet: the first packet is a window, so its ratio is 1/4. The tenth brings a cut by an
    /// eighth, to 8750 B. Windows of 10 and 8 packets later the ratio is 1 - (3/4)^3; fifteen packets after the first cut
    /// half of that is cut, to 6221 B; the next cut is a window and a half of 8.75 packets later.
    #[test]
    fn a_share_that_is_always_marked_is_cut_once_in_a_window_and_a_half() {
        for which in [0, 1] {
            let law = law(false);
            let mut caps = Caps::new(&law);
            let marks = [which == 0, which == 1];
            let cuts: Vec<usize> = (1..=40)
                .filter(|_| caps.on_data(marks, &law)[which])
                .collect();
            assert_eq!(cuts, [10, 25, 38], "share {which}");
            let mut again = Caps::new(&law);
            for (packets, bytes) in [(10, 8750.0), (15, 8750.0 * (1.0 - 37.0 / 128.0))] {
                for _ in 0..packets {
                    again.on_data(marks, &law);
                }
                assert!((again.bytes() - bytes).abs() < 1e-6, "{}", again.bytes());
            }
            let other = again.shares[1 - which].bytes;
            assert!(
                (other - 10_000.0).abs() < 1e-6,
                "the other share stays: {other}"
            );
        }
    }

    #[test]
    fn an_unmarked_window_adds_a_frame() {
        let law = law(false);
        let mut caps = Caps::new(&law);
        caps.shares[0].bytes = 5_000.0;
        for _ in 0..5 {
            caps.on_data([false, false], &law);
        }
        // 5 additions of a fifth of a frame, each of a share a little larger.
        let grown = caps.bytes() - 5_000.0;
        assert!((900.0..1000.0).contains(&grown), "{grown} B");
        for _ in 0..1000 {
            caps.on_data([false, false], &law);
        }
        assert!(caps.bytes() >= law.most && caps.is_fresh(&law));
    }

    #[test]
    fn a_share_falls_to_its_least_and_no_further() {
        for (which, least) in [(0, 1000.0), (1, 300.0)] {
            let law = law(false);
            let mut caps = Caps::new(&law);
            for _ in 0..10_000 {
                caps.on_data([which == 0, which == 1], &law);
                caps.check(&law);
            }
            assert!((caps.bytes() - least).abs() < 1e-6, "{}", caps.bytes());
            assert!(!caps.is_fresh(&law));
        }
    }

    /// With growth after every packet a share comes to rest where a window and a half of growth is a cut.
    #[test]
    fn growth_after_marked_packets_keeps_a_share_above_its_least() {
        let law = law(true);
        let mut caps = Caps::new(&law);
        for _ in 0..10_000 {
            caps.on_data([false, true], &law);
        }
        assert!(
            (1_500.0..6_000.0).contains(&caps.bytes()),
            "{}",
            caps.bytes()
        );
    }

    /// What the sender may have, in hundreds of bytes after each window of ten packets, of which the first `host` were marked by
    /// the host and the first `network` by a switch.
    fn curve(law: &Law, windows: &[(usize, usize)]) -> String {
        let mut caps = Caps::new(law);
        let windows = windows.iter().map(|&(host, network)| {
            for packet in 0..10 {
                caps.on_data([packet < host, packet < network], law);
                caps.check(law);
            }
            format!("{:.0} ", caps.bytes() / 100.0)
        });
        windows.collect()
    }

    #[test]
    fn few_marks_cost_little_and_a_share_that_is_always_marked_falls_to_its_least() {
        insta::assert_snapshot!(curve(&law(false), &[(1, 0); 12]), @"100 99 100 100 100 100 100 100 100 100 100 100");
        insta::assert_snapshot!(curve(&law(false), &[(5, 0); 12]), @"100 90 96 82 71 78 67 63 59 55 54 54");
        insta::assert_snapshot!(curve(&law(false), &[(10, 0); 12]), @"88 88 62 38 21 10 10 10 10 10 10 10");
    }

    #[test]
    fn what_marks_took_comes_back_a_frame_for_each_window() {
        let mut windows = [(0, 0); 14];
        windows[..4].fill((0, 10));
        insta::assert_snapshot!(curve(&law(false), &windows), @"88 88 62 38 59 74 87 98 100 100 100 100 100 100");
    }

    #[test]
    fn the_smaller_share_counts() {
        let mut windows = [(0, 0); 14];
        windows[..3].fill((10, 0));
        windows[5..8].fill((0, 10));
        insta::assert_snapshot!(curve(&law(false), &windows), @"88 88 62 77 89 100 83 62 76 89 99 100 100 100");
    }

    #[test]
    fn broken_books_are_noticed() {
        let law = law(false);
        let breaks: [fn(&mut Caps); 4] = [
            |x| x.shares[0].bytes = 999.0,
            |x| x.shares[1].bytes = 10_001.0,
            |x| x.shares[0].ratio = 1.1,
            |x| x.shares[1].ratio = -0.1,
        ];
        Caps::new(&law).check(&law);
        for (n, spoil) in breaks.into_iter().enumerate() {
            let mut x = Caps::new(&law);
            spoil(&mut x);
            assert!(std::panic::catch_unwind(|| x.check(&law)).is_err(), "{n}");
        }
    }
}
