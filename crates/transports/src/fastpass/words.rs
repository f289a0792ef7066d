//! What an arbiter says takes lines, too: its own, and the links of its rack. So a slot whose word would come too late is not
//! given away, and frames leave room where words go. [ours]

use super::arbiter::Plan;
use super::shape::{PARTS, Shape};
use model::HostId;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use units::{Span, Time};

/// Requests that it remembers when all is told; what comes on top may get slots twice. [ours]
const TOLD_MAX: usize = 1 << 16;

/// When the words of a batch arrive.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// When all that was said is through where that takes longest.
    clear: Time,
    /// When the batch is given away, and for how long nothing of it can leave.
    now: Time,
    busy: Span,
    /// The slots of the batch.
    slots: Range<u64>,
    /// Words of the batch so far, and frames.
    said: u64,
    frames: u64,
    /// How long the arbiter may take for all frames of the batch, so that every word so far comes in time.
    slack: Span,
}

impl Words {
    /// A batch is given away at `now`, where the line of the arbiter takes as long as `behind` for what it has said, and so many
    /// words are to be said first.
    pub(super) fn begin(&mut self, now: Time, behind: Span, said: u64) {
        *self = Self {
            clear: self.clear,
            now,
            busy: behind.max(self.clear.since(now)),
            slots: 0..0,
            said,
            frames: 0,
            slack: Span(u64::MAX),
        };
    }

    /// These are the slots.
    pub(super) fn of(&mut self, slots: Range<u64>) {
        self.slots = slots;
    }

    /// How long the arbiter may take, so that one more word comes before `slot` begins.
    fn slack(&self, plan: &Plan, slot: u64) -> Option<Span> {
        let begins = Time(slot.saturating_mul(plan.slot.0)).since(self.now);
        let takes = plan.way.0.saturating_add(plan.word.times(self.said + 1).0);
        begins.0.checked_sub(takes).map(Span)
    }

    /// Whether one more frame may have `slot`: without a word of its own, or with one for a message that wants so many slots `new`.
    ///
    /// A word that comes in time for later slots alone, for a message that wants more than these, can be said in the next batch for more.
    pub(super) fn admit(&self, plan: &Plan, slot: u64, new: Option<u32>) -> bool {
        if plan.own.is_none() {
            return true;
        }
        let works = plan.frame_time.times(self.frames + 1).max(self.busy);
        let own = new.map_or(Some(self.slack), |left| {
            let whole = u64::from(left) <= self.slots.end - slot;
            self.slack(plan, if whole { slot } else { self.slots.start })
        });
        own.is_some_and(|own| works <= own.min(self.slack))
    }

    /// It has it.
    pub(super) fn add(&mut self, plan: &Plan, slot: u64, new: bool) {
        self.frames += 1;
        if new {
            let own = self.slack(plan, slot).unwrap_or_default();
            self.slack = self.slack.min(own);
            self.said += 1;
        }
    }

    /// When what is asked for again was asked for before the last word was heard, at the latest.
    pub(super) fn heard(&self, plan: &Plan) -> Time {
        let ways = if plan.own.is_some() { 2 } else { 0 };
        self.clear.after(plan.way.times(ways))
    }

    /// All is said from `done` on.
    pub(super) fn end(&mut self, plan: &Plan, done: Time) {
        let leaves = done.max(self.now.after(self.busy));
        self.clear = leaves.after(plan.word.times(self.said));
    }
}

/// Requests whose slots are all told, and until when one that comes was said before its sender heard of them.
#[derive(Debug, Default)]
pub(super) struct Told {
    until: BTreeMap<(u32, u32), (u8, Time)>,
    /// The same in the order of time.
    order: VecDeque<(Time, (u32, u32))>,
}

impl Told {
    /// A request of a host, by its connection: everything that it wanted is told.
    pub(super) fn add(&mut self, key: (u32, u32), round: u8, until: Time) {
        if self.order.len() < TOLD_MAX {
            self.until.insert(key, (round, until));
            self.order.push_back((until, key));
        }
    }

    /// Whether the slots for this one, which came at `came`, are on their way.
    pub(super) fn is_under_way(&self, key: (u32, u32), round: u8, came: Time) -> bool {
        let told = self.until.get(&key);
        told.is_some_and(|&(known, until)| known == round && came < until)
    }

    /// It forgets those whose time is over.
    pub(super) fn forget(&mut self, now: Time) {
        while let Some(&(until, key)) = self.order.front().filter(|first| first.0 <= now) {
            self.order.pop_front();
            if self.until.get(&key).is_some_and(|known| known.1 == until) {
                self.until.remove(&key);
            }
        }
    }
}

/// How long words of a host in `rack` take on links to other racks.
pub(super) struct Pace {
    /// To be through where that takes longest.
    pub(super) word: Span,
    /// Behind a frame that has begun, on a link slower than hosts' lines: longer than a frame may be late by.
    pub(super) held: Span,
}

impl Pace {
    /// If a word takes the host's own line as long as `word`, and a frame as long as `slot`.
    pub(super) fn new(shape: &Shape, rack: u32, word: Span, slot: Span) -> Self {
        let own = shape.routes.iter().filter(|((from, _), _)| *from == rack);
        let links = own.flat_map(|(_, route)| route);
        let links = links.map(|&link| shape.links[link as usize]);
        let mut pace = Self {
            word,
            held: Span::ZERO,
        };
        for tier in links.chain(shape.up) {
            let (width, parts) = (u128::from(tier.width), u128::from(PARTS));
            let slowest = (u128::from(word.0) * width).div_ceil(parts * u128::from(tier.ways));
            let slowest = Span(u64::try_from(slowest).unwrap_or(u64::MAX));
            pace.word = pace.word.max(slowest);
            if tier.is_slow() {
                pace.held = pace.held.max(slot.times(tier.width.div_ceil(PARTS)));
            }
        }
        pace
    }
}

/// Words that links carry beside frames, and whose room slots have not left out yet.
#[derive(Debug, Default)]
pub(super) struct Owed {
    /// From the arbiter's rack to others, and from others to it.
    out: u64,
    into: u64,
    /// By link, where every one is known.
    links: Vec<u64>,
}

impl Owed {
    /// Nothing is wanted: what was said meanwhile takes nothing from frames.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// The arbiter says something to `host`.
    pub(super) fn says(&mut self, plan: &Plan, host: HostId) {
        if let Some((shape, own, rack)) = racks(plan, host) {
            self.out += 1;
            self.on_way(shape, (own, rack));
        }
    }

    /// It is asked by `host`.
    pub(super) fn hears(&mut self, plan: &Plan, host: HostId) {
        if let Some((shape, own, rack)) = racks(plan, host) {
            self.into += 1;
            self.on_way(shape, (rack, own));
        }
    }

    fn on_way(&mut self, shape: &Shape, way: (u32, u32)) {
        self.links.resize(shape.links.len(), 0);
        for &link in shape.routes.get(&way).into_iter().flatten() {
            self.links[link as usize] += 1;
        }
    }

    /// Takes their room from `slot`: frames that leave the arbiter's rack, and that enter it.
    pub(super) fn take(&mut self, plan: &Plan, slot: u64) -> [u32; 2] {
        let up = plan.shape.as_ref().and_then(|shape| shape.up);
        let most = up.map_or(0, |up| up.frames(slot));
        let frames = |words: &mut u64| {
            let frames = (*words / plan.words).min(most.into());
            *words -= frames * plan.words;
            u32::try_from(frames).expect("no more than u32::MAX")
        };
        [frames(&mut self.out), frames(&mut self.into)]
    }

    /// Takes the room of one frame that leaves the arbiter's rack, on the first side, or enters it, where words are worth it.
    pub(super) fn one(&mut self, plan: &Plan, side: usize) -> bool {
        let words = if side == 0 {
            &mut self.out
        } else {
            &mut self.into
        };
        one(words, plan)
    }

    /// The same of a link.
    pub(super) fn one_on(&mut self, plan: &Plan, link: u32) -> bool {
        let words = self.links.get_mut(link as usize);
        words.is_some_and(|words| one(words, plan))
    }
}

/// Takes the words of a frame.
fn one(words: &mut u64, plan: &Plan) -> bool {
    let is_one = *words >= plan.words;
    *words -= if is_one { plan.words } else { 0 };
    is_one
}

/// The racks of the arbiter and of another host, where these are two.
fn racks(plan: &Plan, host: HostId) -> Option<(&Shape, u32, u32)> {
    let shape = plan.shape.as_deref()?;
    let own = shape.seats.get(plan.own?)?.rack;
    let rack = shape.seats.get(host.0 as usize)?.rack;
    (own != rack).then_some((shape, own, rack))
}

#[cfg(test)]
mod tests {
    use super::super::params::Order;
    use super::*;

    #[test]
    fn so_many_requests_are_remembered_as_told_and_no_more() {
        let mut told = Told::default();
        let most = u32::try_from(TOLD_MAX).unwrap();
        (0..=most).for_each(|flow| told.add((0, flow), 1, Time(9)));
        let knows = |told: &Told, flow| told.is_under_way((0, flow), 1, Time(8));
        let known = [0, most - 1, most].map(|flow| knows(&told, flow));
        assert_eq!(known, [true, true, false]);
        told.forget(Time(9));
        told.add((0, most), 1, Time(10));
        assert!(!knows(&told, 0) && knows(&told, most));
    }

    /// An arbiter on a line on which a word takes a tenth of a microsecond and travels two.
    fn plan() -> Plan {
        Plan {
            shape: None,
            colours: false,
            order: Order::Fair,
            slot: Span::us(1),
            batch: 4,
            lead: Span::us(20),
            request_time: Span::ZERO,
            frame_time: Span::us(5),
            own: Some(0),
            words: 2,
            word: Span::ns(100),
            way: Span::us(2),
        }
    }

    #[test]
    fn no_more_frames_are_given_away_than_the_arbiter_has_time_for() {
        let (plan, mut words) = (plan(), Words::default());
        words.begin(Time::ZERO, Span::ZERO, 0);
        words.of(20..24);
        assert!(words.admit(&plan, 20, Some(1)));
        words.add(&plan, 20, true);
        // The word has to leave within 17.9 us, and each frame takes five.
        for slot in [21, 22] {
            assert!(words.admit(&plan, slot, None), "{slot}");
            words.add(&plan, slot, false);
        }
        assert!(!words.admit(&plan, 23, None));
    }

    #[test]
    fn words_that_fill_no_frame_take_none() {
        let (plan, mut words) = (plan(), 5);
        let frames = [0; 3].map(|_| one(&mut words, &plan));
        assert_eq!((frames, words), ([true, true, false], 1));
    }

    #[test]
    fn every_word_of_a_batch_waits_for_those_before_it() {
        let plan = Plan {
            word: Span::us(4),
            frame_time: Span::us(1),
            ..plan()
        };
        let mut words = Words::default();
        words.begin(Time::ZERO, Span::ZERO, 0);
        words.of(20..24);
        // Words travel two microseconds and take four each: the arbiter has 14 left, then 10, 6 and 2, and takes 1, 2, 3 and 4.
        for flow in 0..3 {
            assert!(words.admit(&plan, 20, Some(1)), "{flow}");
            words.add(&plan, 20, true);
        }
        assert!(!words.admit(&plan, 20, Some(1)));
    }
}
