//! How congested the path is: the share of bytes that came back marked. [RFC 8257 s3.3]

/// The estimate alpha and the window of data that it is being brought up to date with.
#[derive(Clone, Debug)]
pub(super) struct Alpha {
    value: f64,
    /// The weight of the newest window: the paper's g.
    gain: f64,
    /// Acknowledged bytes of this window that were echoed as marked.
    marked: u64,
    /// Where this window began, as a sequence number.
    from: u64,
    /// The window ends when this is acknowledged.
    until: u64,
}

impl Alpha {
    pub(super) const fn new(initial: f64, gain: f64) -> Self {
        // The first acknowledgement ends a first, tiny window. [RFC 8257 s3.3: WindowEnd = SND.UNA]
        Self {
            value: initial,
            gain,
            marked: 0,
            from: 0,
            until: 0,
        }
    }

    /// The estimate, 0 to 1.
    pub(super) const fn value(&self) -> f64 {
        self.value
    }

    /// `acked` bytes were acknowledged, now everything below `una`; `next` is sent next. True where
    /// that ends a window; one that ends `beyond` takes the acknowledgement of something sent later.
    #[inline]
    pub(super) fn on_ack(
        &mut self,
        acked: u64,
        echo: bool,
        (una, next): (u64, u64),
        beyond: bool,
    ) -> bool {
        if echo {
            self.marked += acked;
        }
        let over = una >= self.until + u64::from(beyond);
        if over {
            let share = self.marked as f64 / (una - self.from) as f64;
            self.value = (1.0 - self.gain) * self.value + self.gain * share;
            (self.marked, self.from, self.until) = (0, una, next);
        }
        over
    }

    /// A timeout: the window ends with the next acknowledgement. [authors' ns-2 `timeout_action`]
    pub(super) const fn cut_short(&mut self, una: u64) {
        self.until = una;
    }

    /// Panics where an invariant is broken.
    pub(super) fn check(&self) {
        assert!((0.0..=1.0).contains(&self.value), "alpha is {}", self.value);
        assert!(
            self.from <= self.until,
            "window {}..{}",
            self.from,
            self.until
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Alpha in thousandths after each window of 10 packets, of which `marked` came back marked.
    fn curve(initial: f64, marked: &[u64]) -> String {
        let (mut alpha, mut una) = (Alpha::new(initial, 1.0 / 16.0), 0);
        let window = marked.iter().map(|&marked| {
            for packet in 0..10 {
                una += 1460;
                // Ten packets stay in flight.
                alpha.on_ack(1460, packet < marked, (una, una + 10 * 1460), false);
                alpha.check();
            }
            format!("{:.0} ", alpha.value() * 1000.0)
        });
        window.collect()
    }

    #[test]
    fn a_window_ends_with_its_last_byte_or_beyond() {
        let over = |beyond| {
            let mut alpha = Alpha::new(1.0, 0.5);
            assert!(alpha.on_ack(1, false, (1, 10), beyond));
            [10, 11].map(|una| alpha.on_ack(1, false, (una, 20), beyond))
        };
        assert_eq!(over(false), [true, false]);
        assert_eq!(over(true), [false, true]);
    }

    #[test]
    fn it_starts_pessimistic_and_forgets_slowly() {
        insta::assert_snapshot!(curve(1.0, &[0; 12]), @"938 879 824 772 724 679 637 597 559 524 492 461");
    }

    #[test]
    fn full_marking_drives_it_to_one() {
        insta::assert_snapshot!(curve(0.0, &[10; 12]), @"62 121 176 228 276 321 363 403 441 476 508 539");
    }

    #[test]
    fn steady_marking_of_three_in_ten_settles_at_three_tenths() {
        insta::assert_snapshot!(curve(0.0, &[3; 40]), @"62 77 91 104 117 128 139 149 158 167 175 183 191 197 204 210 215 221 226 230 235 239 243 246 250 253 256 258 261 263 266 268 270 272 274 275 277 278 280 281");
    }
}
