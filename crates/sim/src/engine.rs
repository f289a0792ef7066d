//! Windows: every node in turn, each as a small sequential machine; threads meet between windows.
//!
//! Where each link joins two sides of the fabric, these take turns, each with windows twice as long as if both ran at
//! once. A window is run by words of the flags that say who is awake. Between windows one thread decides which comes
//! next, has samples taken, and ends the run. Hosts run here; switches do in `apart`, or where their ports look at each
//! other in `arrivals`; nodes with faulty links or records in `laden`.

mod out;

use crate::activity::{Activity, Steps};
use crate::barrier::{Barrier, Guard};
use crate::beside::Companion;
use crate::clock::{Between, Clock, runs_alone, sample_due};
use crate::data_queues::DataQueues;
use crate::host::Host;
use crate::laden::Laden;
use crate::net::{self, SetupError, World};
use crate::node::{Digest, Kind, Left, Log, Node, SwitchNode};
use crate::outcome::{self, Stop};
use crate::placement::{Places, share_out};
use crate::promised::Still;
use crate::ring::{Far, Ring};
use crate::setup::{FlowSample, Observer, Outcome, PortSample, Setup};
use crate::sort::BUCKETS;
use crate::trace::{Traced, Tracer, Wanted};
use crate::waits::Looks;
use crate::worker::{Scratch, Worker};
use model::Packet;
pub(crate) use out::Out;
use std::cell::UnsafeCell;
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use switching::Apart;
use topology::{Link, LinkId, NodeKind};
use units::{Span, Time};

/// Round trips without a packet after which a run whose messages have all ended is over, and the
/// least such time: a few repetitions of a lost farewell. [ours]
const QUIET_RTTS: u64 = 20;
const QUIET_MIN: Span = Span::us(200);
/// Packet-hops between two looks of the observer.
const LOOK_EVERY: u64 = 500_000;

pub(crate) struct Net<'a> {
    pub(crate) world: World<'a>,
    nodes: Vec<UnsafeCell<Node>>,
    pub(crate) rings: Vec<Ring>,
    /// By link: what travels beside packets; empty where nothing does.
    pub(crate) beside: Vec<Ring<Companion>>,
    /// Ingress ports with new packets, by node (see `news_of`), as bits.
    pub(crate) news: Vec<AtomicU64>,
    /// By node: its first word of `news`.
    pub(crate) news_of: Vec<u32>,
    /// By place in the activity sets: the node.
    node_at: Vec<u32>,
    /// By node: its place in the activity sets.
    bit_of: Vec<u32>,
    /// By side, then by thread: its words of the activity sets.
    words_of: Vec<Vec<Range<usize>>>,
    activity: Activity,
    /// Shift that spreads a window over the buckets of the counting pass.
    pub(crate) bucket_shift: u32,
    pub(crate) digest: bool,
    pub(crate) tracer: Option<Tracer>,
    /// Set where the largest queues of data are asked for: then no receiver counts as told, and every packet
    /// comes by [`Out::tell`].
    data_queues: Option<DataQueues>,
}

// SAFETY: a node, and the queues of data before its links, are touched by the one thread that owns it during a window, or by the one thread
// that runs a serial window or the time between windows; barriers lie between.
unsafe impl Sync for Net<'_> {}

impl<'a> Net<'a> {
    fn new(
        setup: &Setup<'_>,
        world: World<'a>,
        nodes: Vec<Node>,
        threads: usize,
        tracer: Option<Tracer>,
    ) -> Self {
        let step = NonZeroU64::new(net::lookahead(setup).0).expect("a frame takes time");
        let Places {
            bit_of,
            node_at,
            words_of,
            second,
        } = share_out(setup, threads);
        let steps = Steps::new(step, second);
        let mut news_of = Vec::with_capacity(nodes.len());
        let mut words = 0u32;
        for node in &setup.topology.nodes {
            news_of.push(words);
            words += u32::try_from(node.ports.len().div_ceil(64))
                .expect("a node has at most 65,535 ports: topology::PORTS_MAX");
        }
        let far = |link: &Link| {
            let listens = setup.topology.nodes[link.to.index()].kind == NodeKind::Switch;
            Far {
                bit: bit_of[link.to.index()],
                news_word: news_of[link.to.index()] + u32::from(link.to_port) / 64,
                news_bit: u64::from(listens) << (link.to_port % 64),
            }
        };
        let links = setup.topology.links.iter();
        let beside = links.clone().filter(|_| setup.carries);
        Self {
            rings: links.map(|link| Ring::new(far(link))).collect(),
            beside: beside.map(|link| Ring::new(far(link))).collect(),
            news: (0..words).map(|_| AtomicU64::new(0)).collect(),
            activity: Activity::new(threads, node_at.len() / 64, steps),
            bucket_shift: (64 - steps.window().0.leading_zeros()).saturating_sub(BUCKETS.ilog2()),
            nodes: nodes.into_iter().map(UnsafeCell::new).collect(),
            world,
            news_of,
            node_at,
            bit_of,
            words_of,
            digest: setup.digest,
            tracer,
            data_queues: setup.probes.data_queues.then(|| DataQueues::new(setup)),
        }
    }

    /// Whether anybody wants to know of every arrival.
    pub(crate) fn noted(&self) -> bool {
        self.digest || self.tracer.is_some()
    }

    /// Takes an arrival by a link, and the port that it leads to, into the digest and the trace, where there are any.
    #[cold]
    pub(crate) fn note(
        &self,
        thread: usize,
        digest: &mut Digest,
        (from, port): (LinkId, u16),
        packet: &Packet,
    ) {
        if self.digest {
            digest.note(port, packet);
        }
        if let Some(tracer) = &self.tracer {
            let what = Traced::Arrived(from);
            // SAFETY: the caller runs as the thread of that number.
            unsafe { tracer.note(thread, packet.at, packet, what) };
        }
    }

    /// What nodes put on their links, and what is written meanwhile, of `worker`. `alone` says that no other thread runs
    /// nodes.
    fn open<'n>(&'n self, worker: &'n mut Worker, alone: bool) -> (&'n mut Scratch, Out<'n, 'a>) {
        let out = Out {
            net: self,
            rings: &self.rings,
            pool: &mut worker.pool,
            thread: worker.thread,
            alone,
            raiser: self.activity.of(worker.thread),
            node: 0,
            window: 0,
            near: self.activity.of(worker.thread).near(0),
            #[cfg(debug_assertions)]
            others_until: Time::ZERO,
        };
        (&mut worker.scratch, out)
    }

    /// Runs every node of `words` that is awake in the window.
    fn run_words(
        &self,
        words: Range<usize>,
        clock: Clock,
        scratch: &mut Scratch,
        out: &mut Out<'_, '_>,
    ) {
        (out.window, out.near) = (clock.window, out.raiser.near(clock.window));
        if self.data_queues.is_some() {
            out.near.until = Time::ZERO;
        }
        #[cfg(debug_assertions)]
        (out.others_until = self.activity.steps().start_of(clock.window + 1));
        let raiser = out.raiser;
        for word in words {
            let mut awake = self.activity.awake(clock.window, word, clock.keep);
            while awake != 0 {
                let bit = awake.trailing_zeros() as usize;
                awake &= awake - 1;
                let number = self.node_at[word * 64 + bit];
                // SAFETY: this thread owns the node in this window; see `Net`.
                let node = unsafe { &mut *self.nodes[number as usize].get() };
                out.node = number;
                scratch.log.node_windows += 1;
                let next = match node.apart {
                    _ if self.noted() => None,
                    Apart::Never => None,
                    apart => self.run_ports(apart, node, clock, scratch, out),
                };
                let next = next.unwrap_or_else(|| self.run_node(node, clock, scratch, out));
                // Where its flag is up for a later window that is early enough, it looks again then.
                let up = node.looks_at >= clock.end && node.looks_at <= next;
                if next < Time::NEVER && !up {
                    let bit = self.bit_of[number as usize];
                    node.looks_at = raiser.raise_to_look(clock.window, bit, next);
                }
                out.pool.recycle();
            }
        }
        raiser.close(&out.near);
    }

    /// Runs one node to `clock.end`; returns when it must be looked at next, for all it knows.
    fn run_node(
        &self,
        node: &mut Node,
        clock: Clock,
        scratch: &mut Scratch,
        out: &mut Out<'_, '_>,
    ) -> Time {
        if node.faults.is_some() || !self.beside.is_empty() {
            let pool = &mut scratch.beside;
            let out = out.again();
            let mut out = Laden { out, pool };
            let next = self.run_laden(node, clock, &mut scratch.due, &mut scratch.log, &mut out);
            scratch.beside.recycle();
            return next;
        }
        let digest = &mut node.digest;
        match &mut node.kind {
            Kind::Host(host) => self.run_host(host, digest, clock, scratch, out),
            Kind::Switch(at) => {
                let own = (node.apart, &mut node.left, digest);
                self.run_switch(at, own, clock, scratch, out)
            }
        }
    }

    /// The same for a host.
    #[inline(always)] // from one place
    fn run_host(
        &self,
        host: &mut Host,
        digest: &mut Digest,
        clock: Clock,
        Scratch { log, arrived, .. }: &mut Scratch,
        out: &mut Out<'_, '_>,
    ) -> Time {
        arrived.clear();
        let from = LinkId(host.link()).reverse();
        let ingress = &self.rings[from.index()];
        // SAFETY: this thread runs the receiving node.
        let left =
            unsafe { ingress.take_before(clock.end, out.pool, |packet| arrived.push(packet)) };
        log.hops += arrived.len() as u64;
        // SAFETY: taken packets live until the pool recycles, after this call.
        let arrivals = arrived.iter().map(|&packet| unsafe { &*packet });
        if let Some(last) = arrivals.clone().next_back() {
            log.last_hop = log.last_hop.max(last.at);
        }
        if self.noted() {
            let each = arrivals.clone();
            each.for_each(|packet| self.note(out.thread, digest, (from, 0), packet));
        }
        let timed = arrivals.map(|packet| (packet.at, packet));
        let next = host.run(timed, clock.end, &self.world.book, log, out);
        left.map_or(next, |at| next.min(at))
    }

    /// The same for a switch: all its arrivals in the order of time.
    #[inline(always)] // from one place
    fn run_switch(
        &self,
        at: &mut SwitchNode,
        (apart, left, digest): (Apart, &mut Left, &mut Digest),
        clock: Clock,
        scratch: &mut Scratch,
        out: &mut Out<'_, '_>,
    ) -> Time {
        let Scratch {
            log,
            inbox,
            by_port,
            ..
        } = scratch;
        let next = self.gather(at, left.words(), clock, out, inbox);
        inbox.sort(self.bucket_shift);
        log.hops += inbox.len() as u64;
        if let Some(last) = inbox.last(clock.start) {
            log.last_hop = log.last_hop.max(last);
        }
        if self.noted() {
            for (packet, port) in inbox.each() {
                // SAFETY: taken packets live until the pool recycles, after this call.
                let packet = unsafe { &*packet };
                let from = LinkId(at.ingress[usize::from(port)]);
                self.note(out.thread, digest, (from, port), packet);
            }
            if apart != Apart::Never && self.tracer.is_none() {
                // Noted for a digest: the fast way goes on from here.
                let of = (&mut *at, apart);
                if let Some(own) = self.run_taken(of, clock, inbox.each(), by_port, out) {
                    return own.min(next);
                }
            }
        }
        self.hand_in_order(at, clock, inbox, out);
        next.min(at.switch.commit_before(clock.end, out))
    }

    /// Wakes each host for the first thing that it is to do.
    fn wake_hosts(&self, hosts: u32) {
        for number in 0..hosts {
            if let Some(&(at, _)) = self.world.book.actions(number).first() {
                // Window 0 has not begun: everything is ahead of a window before it.
                let bit = self.bit_of[number as usize];
                self.activity.of(0).raise(0, bit, at);
            }
        }
    }

    /// What came of a run that has ended.
    fn close(self, setup: &Setup<'_>, ended: Ended<'_>) -> (Outcome, Option<Tracer>) {
        let Ended {
            clock,
            between,
            logs,
        } = ended;
        let nodes = self.nodes.into_iter().map(UnsafeCell::into_inner);
        let nodes: Vec<Node> = nodes.collect();
        let mut tracer = self.tracer;
        if let Some(tracer) = &mut tracer {
            tracer.gather(&nodes);
        }
        // SAFETY: all threads have ended.
        let links = unsafe { Still::new(&self.rings) };
        let last = logs.iter().map(|log| log.last.max(log.last_hop)).max();
        let (at, early) = (last.unwrap_or(Time::ZERO), clock.start < setup.until);
        let mut stop = Stop::new(setup, at, between.interrupted, early);
        stop.found = between.looks.found;
        let mut outcome = outcome::close(
            setup,
            &self.world,
            (nodes, between.counted),
            &logs,
            (links.in_flight(), &links),
            &stop,
        );
        if let Some(queues) = self.data_queues {
            queues.finish(&mut outcome.ports);
        }
        (outcome, tracer)
    }
}

/// What is left of a run when all its threads have ended.
struct Ended<'o> {
    clock: Clock,
    between: Between<'o>,
    logs: Vec<Log>,
}

struct Shared<'n, 'a, 'o> {
    net: &'n Net<'a>,
    setup: &'n Setup<'n>,
    workers: Vec<UnsafeCell<Worker>>,
    /// Apart from `between`: the other threads read it while one is in there.
    clock: UnsafeCell<Clock>,
    between: UnsafeCell<Between<'o>>,
    barrier: Barrier,
    /// Ports of switches that are sampled, by link: with their node and their number there.
    probed: Vec<(LinkId, u32, u16)>,
    /// Once all messages have ended, a run ends after this time without a packet.
    quiet: Span,
}

// SAFETY: `workers[i]` is touched by thread i during a window and by one thread between windows;
// `between` by one thread between windows; `clock` is written while all threads wait at the barrier. The observer is called by the thread that called `run`.
unsafe impl Sync for Shared<'_, '_, '_> {}

impl<'n, 'a, 'o> Shared<'n, 'a, 'o> {
    fn new(
        net: &'n Net<'a>,
        setup: &'n Setup<'n>,
        observer: &'o mut dyn Observer,
        threads: usize,
    ) -> Self {
        let workers = (0..threads).map(|thread| UnsafeCell::new(Worker::new(thread)));
        Self {
            net,
            setup,
            workers: workers.collect(),
            clock: Clock::BEFORE.into(),
            between: Between::new(setup, observer).into(),
            quiet: setup.base_rtt.times(QUIET_RTTS).max(QUIET_MIN),
            probed: setup.probed(),
            barrier: Barrier::new(u32::try_from(threads).expect("`threads` was a u16")),
        }
    }

    /// The window that runs now.
    fn clock(&self) -> Clock {
        // SAFETY: it is written only by the last thread at the barrier, before it lets the others go.
        unsafe { *self.clock.get() }
    }

    /// Packet-hops, and messages that have ended. Only while all threads wait.
    fn counted(&self) -> (u64, u64) {
        // SAFETY: all threads wait at the barrier.
        let logs = self
            .workers
            .iter()
            .map(|worker| unsafe { &(*worker.get()).scratch.log });
        logs.fold((0, 0), |(hops, ended), log| {
            (hops + log.hops, ended + log.ended)
        })
    }

    /// When it has been quiet for so long that a run whose messages have all ended is over: where the first window
    /// begins that is too far from that of the last packet. Only while all threads wait.
    #[cold]
    fn quiet_from(&self) -> Time {
        // SAFETY: all threads wait at the barrier.
        let of = |worker: &UnsafeCell<Worker>| unsafe { (*worker.get()).scratch.log.last_hop };
        let last = self.workers.iter().map(of).max().unwrap_or_default();
        let steps = self.net.activity.steps();
        steps.next_start(steps.last_start(last).after(self.quiet))
    }

    /// Sets the clock to the next window. Only the last thread at the barrier may call it.
    fn advance(&self) {
        // SAFETY: all threads wait at the barrier.
        let between = unsafe { &mut *self.between.get() };
        let mut clock = self.clock();
        if !self.net.world.book.triggers.is_empty() {
            self.pull_triggers(clock.window);
        }
        let (hops, ended) = self.counted();
        let ran = hops - std::mem::replace(&mut between.hops, hops);
        if !clock.keep {
            self.look_for_circles(&mut between.looks, clock.end);
        }
        match between.turns.next(clock, &self.net.activity) {
            Some(next) => clock = next,
            None => clock.stop = true,
        }
        // Nothing happens before the next window.
        let idle_until = clock.start.min(self.setup.until);
        while !clock.stop && between.looks.next() < idle_until {
            let at = between.looks.next();
            self.look_for_circles(&mut between.looks, at);
        }
        let until = self.setup.until;
        clock.stop |= clock.start >= until || between.interrupted;
        if ended == self.setup.traffic.messages.len() as u64 {
            // Only expiry timers remain, soon. Where sides take turns, both come to that moment.
            let quiet = self.quiet_from();
            clock.stop |= clock.start >= quiet;
            if clock.end > quiet {
                (clock.end, clock.keep) = (quiet, true);
            }
        }
        let look = between.counted.next();
        if clock.stop {
            clock.attend = false;
        } else {
            clock.cut_behind(sample_due(between.next_sample, between.every, clock.start));
            clock.cut_behind(look);
            clock.attend = between.next_sample.min(look) < clock.start;
            between.last = clock.start;
        }
        clock.attend |= between.looks.news || between.unseen() >= LOOK_EVERY;
        clock.end = clock.end.min(until);
        clock.serial = runs_alone(clock.serial, ran);
        // SAFETY: the same.
        unsafe { *self.clock.get() = clock };
    }

    /// Looks for ports that wait for each other, where that is due by `end`. Only while all threads wait.
    fn look_for_circles(&self, looks: &mut Looks, end: Time) {
        if looks.next() <= end {
            // SAFETY: all threads wait at the barrier.
            let nodes = self.net.nodes.iter().map(|node| unsafe { &*node.get() });
            looks.look(&self.setup.topology, nodes, end);
        }
    }

    /// Starts what the firings of `window` release. Only the last thread at the barrier may call it.
    fn pull_triggers(&self, window: u64) {
        let (book, activity) = (&self.net.world.book, &self.net.activity);
        let mut firings = Vec::new();
        for worker in &self.workers {
            // SAFETY: all threads wait at the barrier.
            firings.append(&mut unsafe { &mut *worker.get() }.scratch.log.firings);
        }
        let news = activity.steps().window();
        book.triggers.release(&mut firings, news, |message, at| {
            let host = book.sender(message);
            // SAFETY: the same.
            let node = unsafe { &mut *self.net.nodes[host as usize].get() };
            let Kind::Host(sender) = &mut node.kind else {
                unreachable!("messages are sent by hosts")
            };
            sender.start(message, at);
            activity
                .of(0)
                .raise(window, self.net.bit_of[host as usize], at);
        });
    }

    /// Hands samples and completions to the observer. Only while the other threads wait.
    fn attend(&self, samples_before: Time) {
        // SAFETY: all other threads wait at the barrier.
        let (between, links) = unsafe { (&mut *self.between.get(), Still::new(&self.net.rings)) };
        while between.counted.next() < samples_before {
            // SAFETY: the same.
            let node = |node: &UnsafeCell<Node>| unsafe { &mut *node.get() };
            between
                .counted
                .look(self.net.nodes.iter().map(node), &links);
        }
        let mut batch = Vec::new();
        let (mut started, mut ended) = (0, 0);
        for worker in &self.workers {
            // SAFETY: the same.
            let log = &mut unsafe { &mut *worker.get() }.scratch.log;
            batch.append(&mut log.completions);
            started += log.started;
            ended += log.ended;
        }
        batch.sort_unstable_by_key(|done| (done.end, done.message));
        between.done += batch.len() as u64;
        between.observer.completed(&batch);
        while between.next_sample < samples_before {
            let at = between.next_sample;
            self.sample(at, &links, between.observer);
            between.sample_from(at.after(Span(1)));
        }
        if std::mem::take(&mut between.looks.news) {
            let locked = between.looks.found.iter();
            locked.for_each(|locked| between.observer.locked(locked));
        }
        between.hops_seen = between.hops;
        assert!(
            ended <= started,
            "{ended} messages ended, {started} started"
        );
        let active = started - ended;
        if between.observer.wants_refused() {
            // SAFETY: the same.
            let nodes = self.net.nodes.iter().map(|node| unsafe { &*node.get() });
            let refused = nodes.map(|node| match &node.kind {
                Kind::Host(host) => host.totals().credits_dropped,
                Kind::Switch(_) => 0,
            });
            between.observer.refused(refused.sum());
        }
        let go_on = between
            .observer
            .progress(between.last, between.hops, between.done, active);
        between.interrupted |= !go_on;
    }

    /// Samples every probed port and flow at `at`.
    fn sample(&self, at: Time, links: &Still<'_>, observer: &mut dyn Observer) {
        // SAFETY: all other threads wait at the barrier.
        let kind = |node: u32| unsafe { &(*self.net.nodes[node as usize].get()).kind };
        let look = |&(link, node, port): &_| PortSample::at(kind(node), port, at, link, links);
        let (ports, mut flows): (Vec<_>, _) = (self.probed.iter().map(look).collect(), Vec::new());
        observer.ports(&ports);
        if self.setup.probes.flows {
            for number in 0..self.setup.topology.hosts {
                if let Kind::Host(host) = kind(number) {
                    let all = host.accepted.iter().flatten();
                    flows.extend(all.map(|(&conn, of)| FlowSample {
                        at,
                        conn,
                        received: of.bytes,
                    }));
                }
            }
            FlowSample::add_up(&mut flows);
        }
        observer.flows(&flows);
    }

    /// Goes on to the next window that is worth the barrier, with all small ones before it run by
    /// this thread alone. Only the last thread at the barrier may call it.
    fn go_on(&self, thread: usize) {
        loop {
            self.advance();
            let clock = self.clock();
            if !clock.serial || clock.attend || clock.stop {
                return;
            }
            let clock = self.run_alone(thread, clock, self.calm_until());
            // SAFETY: all other threads wait at the barrier.
            unsafe { *self.clock.get() = clock };
        }
    }

    /// Until when [`Shared::advance`] has only to find the next window, as long as no message ends and windows are small.
    /// Only while all threads wait.
    fn calm_until(&self) -> Time {
        // SAFETY: all threads wait at the barrier.
        let between = unsafe { &*self.between.get() };
        let all_ended = self.counted().1 == self.setup.traffic.messages.len() as u64;
        if all_ended || !self.net.world.book.triggers.is_empty() {
            return Time::ZERO;
        }
        let cuts = between.next_sample.min(between.counted.next());
        self.setup.until.min(cuts).min(between.looks.next())
    }

    /// Runs the nodes of all threads in one window, and in those after it that end by `calm_until`. Returns the last of
    /// them. Only while all other threads wait at the barrier, or for this window to end.
    fn run_alone(&self, thread: usize, mut clock: Clock, calm_until: Time) -> Clock {
        let (activity, steps) = (&self.net.activity, self.net.activity.steps());
        // SAFETY: all other threads wait.
        let between = unsafe { &mut *self.between.get() };
        // SAFETY: the same.
        let worker = unsafe { &mut *self.workers[thread].get() };
        let (scratch, mut out) = self.net.open(worker, true);
        let ended = scratch.log.ended;
        loop {
            let words = &self.net.words_of[steps.side(clock.window)];
            let all = words[0].start..words[words.len() - 1].end;
            let hops = scratch.log.hops;
            self.net.run_words(all, clock, scratch, &mut out);
            let ran = scratch.log.hops - hops;
            let busy = !runs_alone(true, ran) || between.unseen() + ran >= LOOK_EVERY;
            if busy || clock.keep || between.turns.has_rest() || scratch.log.ended != ended {
                return clock;
            }
            let next = activity.next(clock.window + 1);
            let Some(window) = next.filter(|&window| steps.end_of(window) <= calm_until) else {
                return clock;
            };
            activity.pass(window);
            clock = clock.in_window(window, steps.start_of(window), steps);
            between.hops += ran;
            between.last = clock.start;
        }
    }

    /// Runs to the end, on this thread and as many others as there are workers.
    fn run_all(self) -> Ended<'o> {
        std::thread::scope(|scope| {
            let shared = &self;
            let start = |thread| scope.spawn(move || shared.run(thread));
            let others: Vec<_> = (1..self.workers.len()).map(start).collect();
            shared.run(0);
            for other in others {
                if let Err(panic) = other.join() {
                    std::panic::resume_unwind(panic);
                }
            }
        });
        self.attend(Time::ZERO);
        let workers = self.workers.into_iter().map(UnsafeCell::into_inner);
        Ended {
            clock: self.clock.into_inner(),
            between: self.between.into_inner(),
            logs: workers.map(|worker| worker.scratch.log).collect(),
        }
    }

    /// The life of one thread.
    fn run(&self, thread: usize) {
        let _guard = Guard(&self.barrier);
        loop {
            self.barrier.wait(|| self.go_on(thread));
            let mut clock = self.clock();
            if clock.attend {
                if thread == 0 {
                    self.attend(clock.start);
                }
                self.barrier.wait(|| {
                    // SAFETY: all threads wait at the barrier.
                    let interrupted = unsafe { (*self.between.get()).interrupted };
                    // SAFETY: the same.
                    unsafe { (*self.clock.get()).stop |= interrupted };
                });
                clock = self.clock();
            }
            if clock.stop {
                return;
            }
            if !clock.serial {
                // SAFETY: this worker is this thread's own during a window.
                let worker = unsafe { &mut *self.workers[thread].get() };
                let side = self.net.activity.steps().side(clock.window);
                let words = self.net.words_of[side][thread].clone();
                let (scratch, mut out) = self.net.open(worker, self.workers.len() == 1);
                self.net.run_words(words, clock, scratch, &mut out);
            } else if thread == 0 {
                self.run_alone(thread, clock, Time::ZERO);
            }
        }
    }
}

/// Runs `setup` to its end.
///
/// # Errors
/// What in `setup` contradicts itself; nothing has run then.
///
/// # Panics
/// If an invariant of the simulator or of a transport is broken.
pub fn run(setup: &Setup<'_>, observer: &mut dyn Observer) -> Result<Outcome, SetupError> {
    run_with(setup, observer, None).map(|(outcome, _)| outcome)
}

/// The same, with a trace of what is wanted.
pub(crate) fn run_with(
    setup: &Setup<'_>,
    observer: &mut dyn Observer,
    wanted: Option<Wanted>,
) -> Result<(Outcome, Option<Tracer>), SetupError> {
    let (world, mut nodes) = net::build(setup)?;
    let threads = usize::from(setup.threads.max(1)).min(setup.topology.hosts.max(1) as usize);
    let tracer = wanted.map(|wanted| Tracer::new(wanted, threads));
    if let Some(tracer) = &tracer {
        tracer.watch(&mut nodes);
    }
    let net = Net::new(setup, world, nodes, threads, tracer);
    net.wake_hosts(setup.topology.hosts);
    let ended = Shared::new(&net, setup, observer, threads).run_all();
    Ok(net.close(setup, ended))
}
