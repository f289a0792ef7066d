//! The arbiter: what hosts want, and who gets which slot. [fastpass s3, s4]
//!
//! It works at moments that are a batch of slots apart. At each it looks at the requests that it has read by then, gives
//! away the slots of one batch, one after the other, and answers when its time for that is over. In a slot every host
//! sends at most one frame and gets at most one, and no more leave or enter a rack than it has links. Whoever could have
//! a slot has one: the matching is maximal. A frame on a slow line or link keeps that busy for longer than the slot in which it
//! begins, and who waited long for two of them at once has the first kept until the second is free.

mod pairs;

use super::header::{Alloc, FRAMES_MAX, LEAD_SLOTS, SLOTS_TOLD, WAYS_BITS};
use super::lanes::{Lane, Room, UNKNOWN};
use super::params::{BATCH_MAX, Order};
use super::shape::{PARTS, Shape};
use super::ways::Chooser;
use super::words::{Owed, Told, Words};
use model::{ConnId, HostId};
use pairs::{Pair, Turns};
use parts::slab::Slab;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use units::{Span, Time};

/// Requests that wait to be read, and messages of one host, at most; what comes on top is lost, and is said again. [ours]
const UNREAD_MAX: usize = 1 << 16;
const OF_HOST_MAX: u32 = 1 << 14;
/// Messages whose room it keeps when they are gone. [ours]
const KEPT: usize = 64;
/// Leads for which it does not believe that one twice as long is too short, and after which it tries one half as long. [ours]
const LAG_LEADS: u64 = 3;
const CALM_LEADS: u64 = 64;
/// Frames on the slowest of what it takes for which a pair waits until that is kept for it. [ours: no more than one in so many
/// is lost by that]
const PATIENCE: u64 = 16;

/// What the arbiter is made of.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) shape: Option<Arc<Shape>>,
    pub(super) colours: bool,
    pub(super) order: Order,
    pub(super) slot: Span,
    pub(super) batch: u32,
    pub(super) lead: Span,
    pub(super) request_time: Span,
    pub(super) frame_time: Span,
    /// The host that it is on, and so many allocations take as long as a slot on its line.
    pub(super) own: Option<usize>,
    pub(super) words: u64,
    /// How long a word takes to be through where that takes longest, and until it has come to the farthest host.
    pub(super) word: Span,
    pub(super) way: Span,
}

/// A message wants slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// Who wants them, and the connection that the answer takes.
    pub(super) host: HostId,
    pub(super) conn: ConnId,
    /// Whom its frames go to.
    pub(super) to: HostId,
    pub(super) flow: u32,
    pub(super) round: u8,
    pub(super) frames: u32,
    pub(super) again: bool,
    /// The first of the slots before was over when it heard of them.
    pub(super) late: bool,
}

/// What the arbiter says, to whom, on which connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    at: Time,
    pub(super) host: HostId,
    pub(super) conn: ConnId,
    pub(super) word: Word,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Word {
    Alloc(Alloc),
    Wait(u32),
}

/// What a message still wants.
#[derive(Debug)]
struct Demand {
    request: Request,
    /// Its pair, and its place in the order of that.
    pair: u32,
    age: u32,
    left: u32,
    /// What it stands in that order by.
    by: u64,
    /// Allocations so far, and the one in the making: its first slot.
    number: u8,
    first: u64,
    alloc: Alloc,
}

/// The arbiter of a fabric, or of the line of one receiver.
#[derive(Debug)]
pub(super) struct Arbiter {
    plan: Plan,
    chooser: Option<Chooser>,
    /// Requests with the moments when each is read and came, and when the last of them is.
    unread: VecDeque<(Time, Time, Request)>,
    read_at: Time,
    /// When it works next, and until when it does.
    next: Time,
    /// The first slot that is not given away.
    free_slot: u64,
    answers: VecDeque<Answer>,
    demands: Slab<Demand>,
    demand_of: BTreeMap<(u32, u32), u32>,
    pairs: Slab<Pair>,
    pair_of: BTreeMap<(u32, u32), u32>,
    /// Pairs in the order in which they are asked.
    list: Vec<u32>,
    turns: Turns,
    /// Hosts by number where nobody knows how many there are.
    names: BTreeMap<HostId, u32>,
    hosts: Vec<Host>,
    room: Room,
    /// Bits of a way, where it is chosen; and whether a frame takes longer somewhere than a slot.
    bits: u8,
    uneven: bool,
    age: u32,
    scratch: Scratch,
    /// Allocations of the last batch.
    said: u64,
    /// Requests that came by its line and whose time there is not left out of slots yet.
    heard: u64,
    owed: Owed,
    words: Words,
    told: Told,
    /// How long before their slots it says what words say, and from when on it may say so later or sooner again.
    lead: Span,
    settles: Time,
    /// The most messages that wanted slots at once since it last had nothing to do.
    most: usize,
    /// Requests that found no room.
    pub(super) refused: u64,
    /// Requests that make no sense.
    pub(super) nonsense: u64,
    /// Times that it worked, and slots that it gave.
    pub(super) batches: u64,
    pub(super) given: u64,
}

/// What is known of a host.
#[derive(Clone, Copy, Debug, Default)]
struct Host {
    /// Its line, in both directions.
    sends: Lane,
    gets: Lane,
    /// Behind the last slot in which something was to be kept for it.
    tried: u64,
    demands: u32,
}

/// What a slot is worked out in.
#[derive(Debug, Default)]
struct Scratch {
    over: Vec<u32>,
    served: Vec<(u32, u32)>,
    frames: Vec<(u32, u32)>,
    ways: Vec<u16>,
    /// Pairs whose lines are kept.
    kept: Vec<(u32, u32)>,
    /// Messages with an allocation in the making.
    touched: Vec<u32>,
}

impl Arbiter {
    pub(super) fn new(plan: Plan) -> Self {
        let shape = plan.shape.as_deref();
        let chooser = shape.filter(|_| plan.colours).and_then(Chooser::new);
        let hosts = shape.map_or(0, |shape| shape.seats.len());
        let bits = shape.filter(|shape| plan.colours && shape.is_slow());
        let bits = bits.and_then(Shape::bits).unwrap_or_default();
        Self {
            bits: chooser.as_ref().map_or(bits, |chooser| chooser.bits),
            room: Room::new(shape),
            uneven: shape.is_some_and(Shape::is_uneven),
            chooser,
            unread: VecDeque::new(),
            read_at: Time::ZERO,
            next: Time::NEVER,
            free_slot: 0,
            answers: VecDeque::new(),
            demands: Slab::default(),
            demand_of: BTreeMap::new(),
            pairs: Slab::default(),
            pair_of: BTreeMap::new(),
            list: Vec::new(),
            turns: Turns::default(),
            names: BTreeMap::new(),
            hosts: vec![Host::default(); hosts],
            age: 0,
            scratch: Scratch::default(),
            said: 0,
            heard: 0,
            owed: Owed::default(),
            words: Words::default(),
            told: Told::default(),
            lead: plan.lead,
            settles: Time::ZERO,
            most: 0,
            refused: 0,
            nonsense: 0,
            batches: 0,
            given: 0,
            plan,
        }
    }

    /// Frames that found no way of their own.
    pub(super) fn crossed(&self) -> u64 {
        self.chooser.as_ref().map_or(0, |chooser| chooser.crossed)
    }

    /// A request has come in.
    pub(super) fn on_request(&mut self, now: Time, request: Request) {
        let by_line = |own: usize| own != request.host.0 as usize;
        if self.plan.own.is_some_and(by_line) {
            self.heard += 1;
            self.owed.hears(&self.plan, request.host);
        }
        if self.unread.len() >= UNREAD_MAX {
            self.refused += 1;
            return;
        }
        self.read_at = self.read_at.max(now).after(self.plan.request_time);
        self.unread.push_back((self.read_at, now, request));
        self.most = self.most.max(self.unread.len());
        if self.next == Time::NEVER {
            self.next = self.moment(self.read_at);
        }
    }

    /// The first moment of its work from `time` on.
    fn moment(&self, time: Time) -> Time {
        let batch = self.plan.slot.0 * u64::from(self.plan.batch);
        Time(time.0.div_ceil(batch).saturating_mul(batch))
    }

    /// When it has something to do or to say.
    #[inline]
    pub(super) fn due(&self) -> Time {
        let says = self.answers.front().map_or(Time::NEVER, |answer| answer.at);
        says.min(self.next)
    }

    /// What it says by now.
    pub(super) fn pop(&mut self, now: Time) -> Option<Answer> {
        let due = self.answers.front().is_some_and(|answer| answer.at <= now);
        let answer = due.then(|| self.answers.pop_front()).flatten();
        if answer.is_some() {
            self.rest();
        }
        answer
    }

    /// Where nothing is left to do, it keeps no room for what was.
    fn rest(&mut self) {
        let idle = self.answers.is_empty() && self.unread.is_empty() && self.demands.is_empty();
        if idle && self.most > KEPT {
            let (demands, pairs) = (Slab::default(), Slab::default());
            (self.most, self.demands, self.pairs) = (0, demands, pairs);
            (self.unread, self.answers) = (VecDeque::new(), VecDeque::new());
            (self.list, self.scratch) = (Vec::new(), Scratch::default());
        }
    }

    /// Does what is due, where its line takes as long as `behind` for what it has said and what has not left, and longer
    /// where a pause has `held` that up.
    pub(super) fn work(&mut self, now: Time, behind: Span, held: bool) {
        if now < self.next {
            return;
        }
        if self.plan.own.is_some() && held {
            // Nobody knows for how long: slots that it gave away now might be over before anybody heard of them.
            self.next = self.moment(now.after(Span(1)));
            return;
        }
        self.told.forget(now);
        while let Some(&(at, came, request)) = self.unread.front() {
            if at > now {
                break;
            }
            self.unread.pop_front();
            self.read(now, came, request);
        }
        self.words.begin(now, behind, self.answers.len() as u64);
        let given = self.give(now);
        let done = now.after(self.plan.frame_time.times(given));
        self.words.end(&self.plan, done);
        self.tell(done);
        let again = if self.list.is_empty() {
            let next = self.unread.front().map(|&(at, ..)| at);
            next.map(|at| at.max(Time(now.0 + 1)).max(done))
        } else {
            Some(Time(now.0 + 1).max(done))
        };
        self.next = again.map_or(Time::NEVER, |at| self.moment(at));
        self.rest();
        if self.demands.is_empty() && self.plan.shape.is_none() {
            (self.names, self.hosts) = (BTreeMap::new(), Vec::new());
        }
    }

    /// The number of a host; none where there is no such host.
    fn number(&mut self, host: HostId) -> Option<u32> {
        if self.plan.shape.is_some() {
            return Some(host.0).filter(|&host| (host as usize) < self.hosts.len());
        }
        let next = u32::try_from(self.names.len()).ok()?;
        let number = *self.names.entry(host).or_insert(next);
        if number == next {
            self.hosts.push(Host::default());
        }
        Some(number)
    }

    /// A request is read.
    fn read(&mut self, now: Time, came: Time, request: Request) {
        let ends = (self.number(request.host), self.number(request.to));
        let (Some(from), Some(to)) = ends else {
            self.nonsense += 1;
            return;
        };
        let key = (from, request.flow);
        let mut known = self.demand_of.get(&key).copied();
        if let Some(demand) = known {
            let old = self.demands[demand].request;
            let same = old.to == request.to && request.frames > 0;
            if !same || old.round != request.round {
                self.take_back(demand);
                known = None;
            }
        }
        if request.late {
            self.lag(now);
        }
        if request.frames == 0 {
            return;
        }
        if from == to || self.hosts[from as usize].demands >= OF_HOST_MAX {
            self.refused += 1;
            return;
        }
        if known.is_none() && self.told.is_under_way(key, request.round, came) {
            return;
        }
        if known.is_none() {
            self.add(key, (from, to), request);
        }
        if request.again {
            self.answers.push_back(Answer {
                at: now,
                host: request.host,
                conn: request.conn,
                word: Word::Wait(request.flow),
            });
        }
    }

    /// Words came too late, although its line was in time: they were held up. It speaks sooner, until nobody says so.
    fn lag(&mut self, now: Time) {
        if self.plan.own.is_some() && now >= self.settles {
            self.lead = self.lead.times(2).min(self.plan.slot.times(LEAD_SLOTS));
            self.settles = now.after(self.lead.times(LAG_LEADS));
        }
    }

    /// A message wants slots that wanted none.
    fn add(&mut self, key: (u32, u32), (from, to): (u32, u32), request: Request) {
        self.age = self.age.wrapping_add(1);
        let pair = match self.pair_of.get(&(from, to)) {
            Some(&pair) => pair,
            None => self.add_pair(from, to),
        };
        let left = request.frames.min(FRAMES_MAX);
        let by = match self.plan.order {
            Order::Fair => 0,
            Order::Shortest => left.into(),
        };
        let demand = self.demands.insert(Demand {
            request,
            pair,
            age: self.age,
            left,
            by,
            number: 0,
            first: 0,
            alloc: EMPTY,
        });
        self.demand_of.insert(key, demand);
        self.most = self.most.max(self.demands.len());
        self.hosts[from as usize].demands += 1;
        self.pairs[pair].queue.insert((by, self.age, demand));
        if self.plan.order == Order::Shortest {
            self.sort();
        }
    }

    /// A message wants nothing any more.
    fn take_back(&mut self, demand: u32) {
        let Demand { pair, age, by, .. } = self.demands[demand];
        self.pairs[pair].queue.remove(&(by, age, demand));
        if self.pairs[pair].queue.is_empty() {
            self.list.retain(|&other| other != pair);
            self.remove_pair(pair);
        }
        self.remove(demand);
    }

    fn remove(&mut self, demand: u32) {
        let Demand { request, .. } = self.demands.remove(demand);
        let from = self.number(request.host).expect("it had a number");
        self.demand_of.remove(&(from, request.flow));
        self.hosts[from as usize].demands -= 1;
    }

    /// Puts the pair with the shortest message first. The list is in that order but for few.
    fn sort(&mut self) {
        let pairs = &self.pairs;
        self.list.sort_by_key(|&pair| {
            let Pair { queue, age, .. } = &pairs[pair];
            (queue.first().map_or(0, |first| first.0), *age)
        });
    }

    /// Gives away the slots of a batch: how many frames have one.
    fn give(&mut self, now: Time) -> u64 {
        if self.list.is_empty() {
            self.heard = 0;
            self.owed.forget();
            return 0;
        }
        if self.lead > self.plan.lead && now >= self.settles.after(self.lead.times(CALM_LEADS)) {
            self.lead = Span(self.lead.0 / 2).max(self.plan.lead);
            self.settles = now;
        }
        let soonest = now.after(self.lead).0.div_ceil(self.plan.slot.0);
        let first = soonest.max(self.free_slot);
        if let Some(own) = self.plan.own.filter(|own| self.hosts.len() > *own) {
            // What it says takes its own line first.
            let width = self.width(own);
            let host = &mut self.hosts[own];
            let says = (self.said * width).div_ceil(self.plan.words * PARTS);
            host.sends.take_many(first, PARTS, says);
            // What it was asked took its line, too: as many frames fewer come to it.
            host.gets
                .take_many(first, width, self.heard / self.plan.words);
            self.heard %= self.plan.words;
        }
        self.free_slot = first + u64::from(self.plan.batch.min(BATCH_MAX));
        self.words.of(first..self.free_slot);
        let before = self.given;
        for slot in first..self.free_slot {
            if self.list.is_empty() {
                break;
            }
            self.give_one(slot);
        }
        if self.plan.order == Order::Fair {
            self.take_turns();
        }
        self.batches += 1;
        self.given - before
    }

    /// Gives away one slot.
    fn give_one(&mut self, slot: u64) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.served.clear();
        scratch.frames.clear();
        scratch.ways.clear();
        self.room.begin(&self.plan, slot, &mut self.owed);
        for place in 0..self.list.len() {
            let pair = self.list[place];
            let Pair { from, to, .. } = self.pairs[pair];
            if !self.are_free(slot, from, to) {
                if self.uneven {
                    self.keep(slot, pair, &mut scratch.kept);
                }
                continue;
            }
            let first = self.pairs[pair].queue.first();
            let demand = first.expect("a pair has messages").2;
            let Demand { left, .. } = self.demands[demand];
            let new = self.demands[demand].is_full(slot, self.bits) && !self.is_own(from);
            if !self.words.admit(&self.plan, slot, new.then_some(left)) {
                continue;
            }
            if let Some(way) = self.admits(slot, from, to) {
                self.words.add(&self.plan, slot, new);
                scratch.served.push((pair, demand));
                scratch.frames.push((from, to));
                scratch.ways.push(way);
            } else {
                self.keep(slot, pair, &mut scratch.kept);
            }
        }
        for (from, to) in scratch.kept.drain(..) {
            self.hosts[from as usize].sends.keep(UNKNOWN);
            self.hosts[to as usize].gets.keep(UNKNOWN);
        }
        if let (Some(chooser), Some(shape)) = (&mut self.chooser, self.plan.shape.as_deref()) {
            chooser.choose(shape, slot, &scratch.frames, &mut scratch.ways);
        }
        scratch.over.clear();
        for (&(pair, demand), &way) in scratch.served.iter().zip(&scratch.ways) {
            if self.serve(pair, demand, slot, (way, self.bits), &mut scratch.touched) {
                scratch.over.push(pair);
            }
        }
        if !scratch.over.is_empty() {
            let pairs = &self.pairs;
            self.list.retain(|&pair| !pairs[pair].queue.is_empty());
            scratch.over.iter().for_each(|&pair| self.remove_pair(pair));
        }
        if self.plan.order == Order::Shortest {
            self.sort();
        }
        self.given += scratch.served.len() as u64;
        self.scratch = scratch;
    }

    /// Whether the arbiter is on this host, to which it says everything at once.
    fn is_own(&self, host: u32) -> bool {
        self.plan.own == Some(host as usize)
    }

    /// How long a frame takes on the line of a host, in parts of a slot.
    #[inline]
    fn width(&self, host: usize) -> u64 {
        let seats = self.plan.shape.as_deref().map(|shape| &shape.seats);
        seats.map_or(PARTS, |seats| seats[host].width)
    }

    /// Whether one may send in the slot, and the other get.
    #[inline]
    fn are_free(&self, slot: u64, from: u32, to: u32) -> bool {
        let [from, to] = [from, to].map(|host| host as usize);
        let (sender, receiver) = (&self.hosts[from].sends, &self.hosts[to].gets);
        if !self.uneven {
            // Of many who want the same, most find that taken.
            return receiver.fits_whole(slot) && sender.fits_whole(slot);
        }
        sender.fits(slot, self.width(from)) && receiver.fits(slot, self.width(to))
    }

    /// Whether a frame of these two, who are free, fits the slot, which it has then: the way where each link is looked at.
    fn admits(&mut self, slot: u64, from: u32, to: u32) -> Option<u16> {
        let [from, to] = [from, to].map(|host| host as usize);
        let mut way = 0;
        if let Some(shape) = self.plan.shape.as_deref() {
            let seats = [from, to].map(|host| shape.seats[host]);
            if !self.room.fits(shape, seats, slot) {
                return None;
            }
            way = self.room.take(seats, slot);
        }
        let widths = [from, to].map(|host| self.width(host));
        self.hosts[from].sends.take(slot, widths[0]);
        self.hosts[to].gets.take(slot, widths[1]);
        Some(way)
    }

    /// A pair has no slot. When it has waited for long, what it takes is kept for it from the first slot on in which all of
    /// that is free: two slow lines that are never free at once would never have a frame from one to the other.
    fn keep(&mut self, slot: u64, pair: u32, kept: &mut Vec<(u32, u32)>) {
        let Some(shape) = self.plan.shape.as_deref() else {
            return;
        };
        let Pair {
            from, to, since, ..
        } = &mut self.pairs[pair];
        let (from, to, waits) = (*from, *to, slot - *since.get_or_insert(slot));
        let (sender, receiver) = (self.hosts[from as usize], self.hosts[to as usize]);
        let kept_before = sender.sends.is_kept() || receiver.gets.is_kept();
        // Of each sender's pairs the first of them that waits so long, in every slot.
        if waits < PATIENCE || kept_before || sender.tried > slot {
            return;
        }
        self.hosts[from as usize].tried = slot + 1;
        let seats = [from, to].map(|host| shape.seats[host as usize]);
        let way = self.room.find(shape, seats, slot);
        let widths = seats.map(|seat| seat.width);
        let slots = widths[0].max(widths[1]).div_ceil(PARTS);
        if way == UNKNOWN || waits < PATIENCE * slots.max(self.room.slots()) {
            return;
        }
        let (sends, gets) = (
            sender.sends.free_from(widths[0]),
            receiver.gets.free_from(widths[1]),
        );
        let free = way.max(sends).max(gets);
        if free <= slot || self.room.is_kept() {
            return;
        }
        self.hosts[from as usize].sends.keep(free);
        self.hosts[to as usize].gets.keep(free);
        self.room.keep(free);
        kept.push((from, to));
    }

    /// A message of a pair has a slot; whether the pair wants no more.
    fn serve(
        &mut self,
        pair: u32,
        number: u32,
        slot: u64,
        (way, bits): (u16, u8),
        touched: &mut Vec<u32>,
    ) -> bool {
        let order = self.plan.order;
        let demand = &mut self.demands[number];
        if demand.alloc.mask == 0 {
            touched.push(number);
        } else if demand.is_full(slot, bits) {
            let answer = demand.answer();
            self.answers.push_back(answer);
        }
        demand.add(slot, way, bits);
        let left = demand.left;
        let key = (demand.by, demand.age, number);
        if order == Order::Shortest {
            demand.by = left.into();
        }
        let by = demand.by;
        let pair = &mut self.pairs[pair];
        pair.serve(slot);
        let queue = &mut pair.queue;
        if left == 0 {
            queue.remove(&key);
        } else if by != key.0 {
            queue.remove(&key);
            queue.insert((by, key.1, number));
        }
        queue.is_empty()
    }

    /// Says who has which slots, at `done`.
    fn tell(&mut self, done: Time) {
        let mut touched = std::mem::take(&mut self.scratch.touched);
        for demand in touched.drain(..) {
            let answer = self.demands[demand].answer();
            self.answers.push_back(answer);
            if self.demands[demand].left == 0 {
                let Request {
                    host, flow, round, ..
                } = self.demands[demand].request;
                let from = self.number(host).expect("it had a number");
                let until = self.words.heard(&self.plan);
                self.told.add((from, flow), round, until);
                self.remove(demand);
            }
        }
        self.scratch.touched = touched;
        self.said = 0;
        for answer in self.answers.iter_mut().rev() {
            if answer.at != Time::NEVER {
                break;
            }
            answer.at = done;
            self.said += 1;
            self.owed.says(&self.plan, answer.host);
        }
    }

    /// Panics where an invariant is broken.
    pub(super) fn check(&self) {
        assert_eq!(self.list.len(), self.pairs.len());
        assert_eq!(self.demands.len(), self.demand_of.len());
        assert!(self.demands.len() >= self.pairs.len() && self.unread.len() <= UNREAD_MAX);
        assert!(self.scratch.touched.is_empty());
        let waits = !self.list.is_empty() || !self.unread.is_empty();
        assert_eq!(
            waits,
            self.next != Time::NEVER,
            "it works while there is work"
        );
    }
}

const EMPTY: Alloc = Alloc {
    flow: 0,
    slot: 0,
    number: 0,
    mask: 0,
    ways: 0,
    bits: 0,
};

impl Demand {
    /// Whether one slot more takes another allocation.
    fn is_full(&self, slot: u64, bits: u8) -> bool {
        let Alloc { mask, .. } = self.alloc;
        let used = (mask.count_ones() + 1) * u32::from(bits);
        mask == 0 || slot.wrapping_sub(self.first) >= u64::from(BATCH_MAX) || used > WAYS_BITS
    }

    /// One slot more.
    #[allow(clippy::cast_possible_truncation, reason = "modulo 2^14")]
    fn add(&mut self, slot: u64, way: u16, bits: u8) {
        let alloc = &mut self.alloc;
        if alloc.mask == 0 {
            self.first = slot;
            *alloc = Alloc {
                flow: self.request.flow,
                slot: (slot % SLOTS_TOLD) as u16,
                number: self.number,
                bits,
                ..EMPTY
            };
            self.number = (self.number + 1) % 4;
        }
        let shift = alloc.mask.count_ones() * u32::from(bits);
        alloc.ways |= u32::from(way).checked_shl(shift).unwrap_or(0);
        alloc.mask |= 1 << (slot - self.first);
        self.left -= 1;
    }

    /// Says what was made so far. The moment is filled in later.
    fn answer(&mut self) -> Answer {
        let alloc = std::mem::replace(&mut self.alloc, EMPTY);
        Answer {
            at: Time::NEVER,
            host: self.request.host,
            conn: self.request.conn,
            word: Word::Alloc(alloc),
        }
    }
}
