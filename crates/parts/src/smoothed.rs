//! How long something takes that is measured again and again. [RFC 6298 s2]

use units::Span;

/// A mean and how far samples are from it; nothing before the first sample.
#[derive(Clone, Copy, Debug, Default)]
pub struct Smoothed(Option<(Span, Span)>);

impl Smoothed {
    /// It took so long once.
    pub fn sample(&mut self, took: Span) {
        self.0 = Some(match self.0 {
            None => (took, Span(took.0 / 2)),
            Some((mean, variation)) => (
                Span(mean.0 - mean.0 / 8 + took.0 / 8),
                Span(variation.0 - variation.0 / 4 + mean.0.abs_diff(took.0) / 4),
            ),
        });
    }

    /// How long it hardly ever takes: the mean and four times the variation; none before the first sample.
    pub fn bound(&self) -> Option<Span> {
        // Times are exact: the clock's granularity G is a picosecond.
        self.0
            .map(|(mean, variation)| Span(mean.0.saturating_add(variation.times(4).0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_follows_samples_and_lies_above_them() {
        let mut took = Smoothed::default();
        assert_eq!(took.bound(), None);
        let mut after = |us| {
            took.sample(Span::us(us));
            took.bound()
        };
        assert_eq!(after(100), Some(Span::us(300)));
        // 7/8 of 100 and 1/8 of 200; 3/4 of 50 and 1/4 of 100, four times.
        assert_eq!(after(200), Some(Span::ns(112_500 + 4 * 62_500)));
        for _ in 0..100 {
            after(200);
        }
        assert!(after(200) < Some(Span::us(201)) && after(200) >= Some(Span::us(199)));
    }
}
