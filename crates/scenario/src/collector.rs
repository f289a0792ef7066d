//! What a run says while it goes: samples, which are kept within bounds, and progress, which is told.

use crate::assemble::{Assembled, Progress, Watch, row};
use results::human;
use results::{FlowRow, FlowSeriesRow, Names, PortSeries, PortSeriesRow};
use sim::{Completion, FlowSample, Locked, Observer, PortSample};
use units::{Bytes, Rate, Span, Time};
use workload::{Conn, Start};

/// Samples that a run keeps; beyond that every second moment is forgotten. 33 MB of rows, where each says something
/// new.
pub(crate) const SAMPLES_MAX: usize = 1 << 18;

/// Time between two samples at first, where nobody chose it and a run is not known to last very long or short. [ours]
const FIRST: Span = Span::us(1);

/// So many moments at least of a run that is known to be short, where a nanosecond lies between two. [ours]
const MOMENTS_FEW: u64 = 16;

/// Moments of samples that a run keeps, where nobody chose how often they are taken: no chart is wider. [ours]
const MOMENTS_MAX: u64 = 1 << 10;

/// As many moments do not cost too much, whatever they cost, up to [`SAMPLES_MAX`]. [ours]
const MOMENTS_LEAST: u64 = 8;

/// Packet-hops for each sample that says something new, where nobody chose how often they are taken. [ours: tables and
/// report take 4,000 instructions for a row, as many as simulate 8 to 17 packet-hops, so samples take about a tenth of a run]
const HOPS_PER_SAMPLE: u64 = 128;

/// So many are kept of the shortest run. [ours: they take 5 ms]
const NEWS_LEAST: u64 = 1 << 13;

/// Keeps samples, within bounds, and tells a [`Watch`].
pub(crate) struct Collector<'a> {
    run: &'a Assembled,
    until: Time,
    ideal: &'a [Span],
    watch: &'a mut dyn Watch,
    ports: PortSeries,
    flows: Vec<FlowSeriesRow>,
    /// Only multiples of this are kept; doubles where there are too many.
    every: Span,
    /// Ports that are looked at each time.
    sampled: u64,
    /// Packet-hops so far, when the run last told.
    hops: u64,
    /// Messages that have not ended.
    left: usize,
    /// No more samples are taken.
    is_full: bool,
    rows: Vec<FlowRow>,
    transports: Vec<String>,
    hosts: Vec<String>,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(
        run: &'a Assembled,
        until: Time,
        ideal: &'a [Span],
        watch: &'a mut dyn Watch,
    ) -> Self {
        let every = run.probes.every.unwrap_or(Span(1));
        Self {
            run,
            until,
            ideal,
            watch,
            ports: PortSeries::default(),
            flows: Vec::new(),
            every,
            sampled: run.sampled().len() as u64,
            hops: 0,
            left: run.traffic.messages.len(),
            is_full: false,
            rows: Vec::new(),
            transports: run.transports(),
            hosts: run.host_names(),
        }
    }

    /// What was sampled up to the `end` of the run. Timers ring for a while after it.
    pub(crate) fn samples(mut self, end: Time) -> (PortSeries, Vec<FlowSeriesRow>) {
        if self.ports.moments().last().is_some_and(|&last| last > end) {
            self.ports.cut(end);
        }
        self.flows.retain(|row| row.at <= end);
        (self.ports, self.flows)
    }

    /// Forgets every second moment while there are too many samples. When all messages have ended, and timers ring for a while,
    /// it forgets what comes, and not what was.
    fn thin(&mut self) {
        while !self.is_full && self.has_too_many() {
            if self.left == 0 {
                let last = self.ports.moments().last().copied();
                let last = last.max(self.flows.last().map(|row| row.at));
                let before = Time(last.map_or(0, |last| last.0.saturating_sub(1)));
                self.ports.cut(before);
                self.flows.retain(|row| row.at <= before);
                self.is_full = true;
                return;
            }
            self.every = self.every.times(2);
            let every = self.every.0;
            self.ports.retain(|at| at.0.is_multiple_of(every));
            self.flows.retain(|row| row.at.0.is_multiple_of(every));
        }
    }

    fn has_too_many(&self) -> bool {
        if self.run.scenario.output.every.is_some() {
            return self.ports.len() + self.flows.len() > SAMPLES_MAX;
        }
        self.ports.moments().len() as u64 > self.run.moments_max(self.sampled, self.hops)
            || self.ports.news().len() as u64 > self.run.news_max(self.sampled, self.hops)
            || self.flows.len() > SAMPLES_MAX
    }
}

impl Assembled {
    /// Time between two samples at first, if any are taken: those in between would be forgotten before the run can end.
    /// [ours]
    pub(crate) fn sampled_at_first(&self) -> Option<Span> {
        let chosen = self.scenario.output.every;
        if chosen == Some(Span::ZERO) {
            return None;
        }
        let least = self.lasts_at_least();
        let most = self.moments_max(self.sampled().len() as u64, 0);
        let mut every = chosen.unwrap_or(FIRST);
        let few = |every: Span| {
            least > Span::ZERO && least.0 / every.0 < MOMENTS_FEW && every > Span::ns(1)
        };
        while chosen.is_none() && few(every) {
            every = Span(every.0 / 10);
        }
        while least.0 / every.0 > most {
            every = every.times(2);
        }
        Some(every)
    }

    /// Most moments of samples that a run of so many packet-hops keeps, of which each has so many. A look at a port takes a
    /// tenth of a packet-hop's time.
    pub(crate) fn moments_max(&self, sampled: u64, hops: u64) -> u64 {
        let (most, sampled) = (SAMPLES_MAX as u64, sampled.max(1));
        match self.scenario.output.every {
            Some(_) => (most / sampled).max(1),
            None => (hops.max(most) / sampled).clamp(MOMENTS_LEAST, MOMENTS_MAX),
        }
    }

    /// Most samples that say something new that a run of so many packet-hops keeps. Who chose a period has it.
    pub(crate) fn news_max(&self, sampled: u64, hops: u64) -> u64 {
        let (most, few) = (SAMPLES_MAX as u64, MOMENTS_LEAST * sampled);
        match self.scenario.output.every {
            Some(_) => most,
            None => (hops / HOPS_PER_SAMPLE).max(NEWS_LEAST).max(few).min(most),
        }
    }

    /// A run that delivers all of its messages does not end before this: the last of them has started, and every host's
    /// line has carried what it sends and gets.
    fn lasts_at_least(&self) -> Span {
        let until = self.until().since(Time::ZERO);
        let mut least = Span::ZERO;
        let mut bytes = vec![[0u64; 2]; self.topology.hosts as usize];
        for message in self.traffic.messages.iter().filter(|m| m.stop.is_none()) {
            if let Start::At(at) = message.start {
                least = least.max(at.since(Time::ZERO));
            }
            let Conn { a, b, .. } = self.traffic.conns[message.conn as usize];
            let (from, to) = if message.from_a { (a, b) } else { (b, a) };
            for (host, way) in [(from, 0), (to, 1)] {
                let carried = &mut bytes[host as usize][way];
                *carried = carried.saturating_add(message.size);
            }
        }
        for (host, [sent, got]) in self.topology.nodes.iter().zip(bytes) {
            let rates = host
                .ports
                .iter()
                .map(|&port| self.topology.link(port).rate.0);
            let (rate, bytes) = (Rate(rates.sum()), Bytes(sent.max(got)));
            if bytes >= rate.bytes_in(until) {
                return until;
            }
            least = least.max(rate.serialize(bytes));
        }
        least.min(until)
    }

    /// That a run was over before its first sample, where somebody chose when that is taken.
    pub(crate) fn unsampled(&self, end: Time) -> Option<String> {
        let every = self.scenario.output.every?;
        let unsampled = end > Time::ZERO && end < Time(every.0);
        unsampled.then(|| {
            format!(
                "no sample was taken, and there is no series.csv: output.every is {every}, and the run ended after {}; set \
                 output.every to less",
                human::time(end.since(Time::ZERO))
            )
        })
    }
}

impl Observer for Collector<'_> {
    fn progress(&mut self, now: Time, hops: u64, done: u64, active: u64) -> bool {
        self.hops = hops;
        let total = self.run.traffic.messages.len() as u64;
        self.watch.progress(&Progress {
            now,
            until: self.until,
            hops,
            done,
            active,
            total,
        })
    }

    fn completed(&mut self, batch: &[Completion]) {
        self.left -= batch.len();
        self.rows.clear();
        for completion in batch {
            let base = row(self.run, completion.message, self.ideal);
            self.rows.push(FlowRow {
                end: Some(completion.end),
                received: base.size,
                ..base
            });
        }
        let names = Names {
            tags: &self.run.traffic.tags,
            transports: &self.transports,
            hosts: &self.hosts,
        };
        self.watch.completed(&self.rows, names);
    }

    fn sampled_every(&self, _: Span) -> Option<Span> {
        (!self.is_full).then_some(self.every)
    }

    fn ports(&mut self, batch: &[PortSample]) {
        let row = |sample: &PortSample| PortSeriesRow {
            at: sample.at,
            link: sample.link.0,
            queue: sample.queue,
            credits: sample.credits,
            sent: sample.sent,
            marked: sample.marked,
            dropped: sample.dropped,
        };
        for moment in batch.chunk_by(|a, b| a.at == b.at) {
            self.ports.push(moment[0].at, moment.iter().map(row));
        }
        self.thin();
    }

    fn locked(&mut self, locked: &Locked) {
        self.watch.warned(&self.run.deadlock(locked));
    }

    fn flows(&mut self, batch: &[FlowSample]) {
        // That of the ports may have been the sample too many.
        let (every, is_full) = (self.every.0, self.is_full);
        let kept = batch
            .iter()
            .filter(|sample| !is_full && sample.at.0.is_multiple_of(every));
        self.flows.extend(kept.map(|sample| FlowSeriesRow {
            at: sample.at,
            conn: sample.conn,
            received: sample.received,
        }));
        self.thin();
    }
}
