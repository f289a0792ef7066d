//! Samples of ports over time, kept as what they say anew: a port stays as it was from one row to the next.
//!
//! Nine samples of ten say nothing new, and a short run has hundreds of thousands.

use crate::record::PortSeriesRow;
use model::ByClass;
use std::ops::Range;
use units::Time;

/// Every sample of every port that was sampled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PortSeries {
    /// When all of `links` were looked at, ascending.
    moments: Vec<Time>,
    /// The links that were looked at, ascending, each as it was before the first: nothing sent, nothing waiting.
    links: Vec<PortSeriesRow>,
    /// Samples that differ from the one before them of their link, by (moment, link).
    news: Vec<PortSeriesRow>,
    /// The last sample of each of `links`, with the moment since when it says so.
    last: Vec<PortSeriesRow>,
}

/// A link, and what was seen of it: stretches of moments, by their numbers, in which it stayed the same.
#[derive(Clone, Debug)]
pub struct LinkSamples<'a> {
    /// The link.
    pub link: u32,
    /// What was seen, and during which moments; together they are all moments.
    pub stretches: Vec<(Range<usize>, &'a PortSeriesRow)>,
}

/// A port of which nothing is known yet.
fn nothing(link: u32) -> PortSeriesRow {
    PortSeriesRow {
        at: Time::ZERO,
        link,
        queue: 0,
        credits: 0,
        sent: ByClass::default(),
        marked: 0,
        dropped: ByClass::default(),
    }
}

impl PortSeries {
    /// Adds what all ports showed at one moment: of the same links as the moments before it, and in their order.
    ///
    /// # Panics
    /// If the moment does not come after the others, or the links are not the same ones.
    pub fn push(&mut self, at: Time, rows: impl ExactSizeIterator<Item = PortSeriesRow>) {
        if rows.len() == 0 {
            return;
        }
        let first = self.moments.is_empty();
        assert!(
            self.moments.last().is_none_or(|&last| last < at),
            "{at} is not after the moments before it"
        );
        assert!(
            first || rows.len() == self.links.len(),
            "{} links were sampled, {} before",
            rows.len(),
            self.links.len()
        );
        self.moments.push(at);
        for (place, row) in rows.enumerate() {
            if first {
                self.links.push(nothing(row.link));
                self.last.push(nothing(row.link));
            }
            self.note(place, at, &row);
        }
    }

    /// Takes one of them in. A function of its own is compiled here, and not where the rows come from.
    #[inline(never)]
    fn note(&mut self, place: usize, at: Time, row: &PortSeriesRow) {
        let last = &mut self.last[place];
        assert_eq!(last.link, row.link, "another link was sampled");
        if !row.says_what(last) {
            *last = PortSeriesRow { at, ..*row };
            self.news.push(*last);
        }
    }

    /// How many samples there are, whatever they say.
    pub fn len(&self) -> usize {
        self.moments.len() * self.links.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.moments.is_empty()
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// The moments, ascending.
    pub fn moments(&self) -> &[Time] {
        &self.moments
    }

    /// The links that were sampled, ascending.
    pub fn links(&self) -> impl ExactSizeIterator<Item = u32> {
        self.links.iter().map(|before| before.link)
    }

    /// Samples that say something new of their port, by (moment, link).
    pub fn news(&self) -> &[PortSeriesRow] {
        &self.news
    }

    /// Every sample, by (moment, link).
    pub fn iter(&self) -> Samples<'_> {
        Samples {
            of: self,
            moment: 0,
            place: 0,
            news: 0,
            now: self.links.clone(),
        }
    }

    /// Forgets what came after a moment.
    pub fn cut(&mut self, after: Time) {
        self.moments
            .truncate(self.moments.partition_point(|&at| at <= after));
        if self.moments.is_empty() {
            self.clear();
            return;
        }
        self.news
            .truncate(self.news.partition_point(|row| row.at <= after));
        let mut last = self.links.clone();
        self.each_with_place(|place, _, row| last[place] = *row);
        self.last = last;
    }

    /// Forgets all moments but some.
    pub fn retain(&mut self, keeps: impl Fn(Time) -> bool) {
        let numbers: Vec<u32> = self.links().collect();
        self.last.clone_from(&self.links);
        // What each link showed last, and the places of those that said something since the last moment that stays.
        let (mut now, mut said) = (self.links.clone(), Vec::new());
        // Of what was said since then no more stays than that, so it is written where that stood.
        let (mut read, mut written) = (0, 0);
        let Self {
            moments,
            news,
            last,
            ..
        } = self;
        moments.retain(|&at| {
            let mut place = 0;
            while let Some(row) = news.get(read).filter(|row| row.at == at) {
                while numbers[place] < row.link {
                    place += 1;
                }
                now[place] = *row;
                said.push(place);
                read += 1;
            }
            if !keeps(at) {
                return false;
            }
            said.sort_unstable();
            said.dedup();
            for place in said.drain(..) {
                if !now[place].says_what(&last[place]) {
                    last[place] = PortSeriesRow { at, ..now[place] };
                    news[written] = last[place];
                    written += 1;
                }
            }
            true
        });
        news.truncate(written);
        if self.moments.is_empty() {
            self.clear();
        }
    }

    /// What was seen link by link, in the order of the links.
    pub fn by_link(&self) -> Vec<LinkSamples<'_>> {
        let mut rows = vec![0; self.links.len()];
        self.each_with_place(|place, _, _| rows[place] += 1);
        let end = self.moments.len();
        let mut found: Vec<LinkSamples<'_>> = Vec::with_capacity(self.links.len());
        for (before, rows) in self.links.iter().zip(rows) {
            let mut stretches = Vec::with_capacity(rows + 1);
            stretches.push((0..end, before));
            found.push(LinkSamples {
                link: before.link,
                stretches,
            });
        }
        self.each_with_place(|place, moment, row| {
            let stretches = &mut found[place].stretches;
            match stretches.last_mut() {
                Some((during, _)) if during.start < moment => during.end = moment,
                _ => stretches.clear(), // it began with the first moment
            }
            stretches.push((moment..end, row));
        });
        found
    }

    /// Goes through the stretches of all links in which something was said, in no order that means anything: what
    /// [`PortSeries::by_link`] tells, without a list of it.
    pub(crate) fn each_stretch<'a>(
        &'a self,
        mut of: impl FnMut(u32, Range<usize>, &'a PortSeriesRow),
    ) {
        let mut open: Vec<Option<(usize, &PortSeriesRow)>> = vec![None; self.links.len()];
        self.each_with_place(|place, moment, row| {
            if let Some((from, before)) = open[place].replace((moment, row)) {
                of(row.link, from..moment, before);
            }
        });
        for (from, row) in open.into_iter().flatten() {
            of(row.link, from..self.moments.len(), row);
        }
    }

    /// Goes through the news, with the place of the link and the number of the moment.
    fn each_with_place<'a>(&'a self, mut of: impl FnMut(usize, usize, &'a PortSeriesRow)) {
        let (mut moment, mut place) = (0, 0);
        for row in &self.news {
            while self.moments[moment] < row.at {
                (moment, place) = (moment + 1, 0);
            }
            while self.links[place].link < row.link {
                place += 1;
            }
            of(place, moment, row);
        }
    }
}

impl<'a> IntoIterator for &'a PortSeries {
    type Item = PortSeriesRow;
    type IntoIter = Samples<'a>;
    fn into_iter(self) -> Samples<'a> {
        self.iter()
    }
}

/// Every sample, one after the other: [`PortSeries::iter`].
#[derive(Clone)]
pub struct Samples<'a> {
    of: &'a PortSeries,
    /// The next sample: of which moment, and of which link.
    moment: usize,
    place: usize,
    /// The next of the news.
    news: usize,
    /// What each link showed last.
    now: Vec<PortSeriesRow>,
}

impl Iterator for Samples<'_> {
    type Item = PortSeriesRow;

    fn next(&mut self) -> Option<PortSeriesRow> {
        let at = *self.of.moments.get(self.moment)?;
        let now = &mut self.now[self.place];
        if let Some(row) = self.of.news.get(self.news)
            && (row.at, row.link) == (at, now.link)
        {
            *now = *row;
            self.news += 1;
        }
        now.at = at;
        self.place += 1;
        if self.place == self.of.links.len() {
            (self.moment, self.place) = (self.moment + 1, 0);
        }
        Some(*now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Class, Rng};

    /// Samples of three links at random, most of which say what was said before.
    fn samples(seed: u64) -> Vec<Vec<PortSeriesRow>> {
        let mut rng = Rng::stream(seed, model::stream::TEST, 0);
        let mut now = [1, 4, 6].map(nothing);
        let moment = |at: u64| {
            for row in &mut now {
                row.at = Time(at * 10);
                if rng.below(4) == 0 {
                    // Sometimes back to what it was.
                    row.queue = rng.below(3);
                    row.sent[Class::Plain] += rng.below(2) * 100;
                }
            }
            now.to_vec()
        };
        (1..=40).map(moment).collect()
    }

    fn series(samples: &[Vec<PortSeriesRow>]) -> PortSeries {
        let mut series = PortSeries::default();
        for rows in samples {
            series.push(rows[0].at, rows.iter().copied());
        }
        series
    }

    #[test]
    fn every_sample_comes_back_although_few_are_kept() {
        for seed in 0..50 {
            let all = samples(seed);
            let series = series(&all);
            assert!(
                series.iter().eq(all.iter().flatten().copied()),
                "seed {seed}"
            );
            assert_eq!(series.len(), 120);
            assert!(series.news().len() < 60, "{}", series.news().len());
            assert!(series.news().is_sorted_by_key(|row| (row.at, row.link)));
        }
    }

    #[test]
    fn what_is_thinned_is_what_fewer_samples_would_have_said() {
        for seed in 0..50 {
            let all = samples(seed);
            let keeps = |at: Time| at.0.is_multiple_of(40);
            let mut thinned = series(&all);
            thinned.retain(keeps);
            let fewer: Vec<_> = all.into_iter().filter(|rows| keeps(rows[0].at)).collect();
            assert_eq!(thinned, series(&fewer), "seed {seed}");
        }
    }

    #[test]
    fn what_is_cut_is_what_an_earlier_end_would_have_said() {
        for (seed, end) in (0..50).zip((0..45).map(|at| Time(at * 10 + at % 2)).cycle()) {
            let all = samples(seed);
            let mut cut = series(&all);
            cut.cut(end);
            let fewer: Vec<_> = all.into_iter().filter(|rows| rows[0].at <= end).collect();
            assert_eq!(cut, series(&fewer), "seed {seed}, {end}");
        }
    }

    #[test]
    fn stretches_of_a_link_are_its_samples() {
        for seed in 0..50 {
            let series = series(&samples(seed));
            let (links, times) = (series.by_link(), series.moments());
            for (place, of) in links.iter().enumerate() {
                assert_eq!(Some(of.link), series.links().nth(place));
                let mut told = Vec::new();
                for (range, row) in &of.stretches {
                    assert!(!range.is_empty(), "{range:?}");
                    assert_eq!(range.start, told.len(), "one after the other");
                    told.extend(range.clone().map(|i| PortSeriesRow {
                        at: times[i],
                        ..**row
                    }));
                }
                let samples = series.iter().filter(|row| row.link == of.link);
                assert!(samples.eq(told), "seed {seed}, link {}", of.link);
            }
        }
    }

    #[test]
    fn each_stretch_is_one_of_those_by_link() {
        for seed in 0..50 {
            let series = series(&samples(seed));
            let mut told = Vec::new();
            series.each_stretch(|link, during, row| {
                told.push((link, during.start, during.end, *row));
            });
            let links = series.by_link();
            let all = links.iter().flat_map(|of| {
                let said = of.stretches.iter().filter(|(_, row)| row.at > Time::ZERO);
                said.map(|(during, row)| (of.link, during.start, during.end, **row))
            });
            let all: Vec<_> = all.collect();
            told.sort_by_key(|&(link, from, ..)| (link, from));
            assert_eq!(told, all, "seed {seed}");
        }
    }

    #[test]
    fn a_sample_is_of_the_moment_at_which_it_is_pushed() {
        let mut series = PortSeries::default();
        let row = PortSeriesRow {
            queue: 7,
            ..nothing(1)
        };
        series.push(Time(5), [row].into_iter());
        let told: Vec<_> = series
            .news()
            .iter()
            .map(|row| (row.at, row.queue))
            .collect();
        assert_eq!(told, [(Time(5), 7)]);
    }

    #[test]
    #[should_panic(expected = "another link was sampled")]
    fn a_port_that_was_not_sampled_before_is_refused() {
        let mut series = PortSeries::default();
        series.push(Time(1), [1, 2].map(nothing).into_iter());
        series.push(Time(2), [1, 3].map(nothing).into_iter());
    }
}
