//! Connections and the messages on them: all that is sent in a run.
//!
//! Messages start at a time, after another message, or with a trigger that others fire. Parts of a workload are made each
//! from a seed of its own and merged into one list; a hash tells whether two runs were asked for the same.

use crate::WorkloadError;
use model::{Rng, stream};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use units::{Span, Time};

/// The size of a message that goes on until it is stopped: 281 TB, 47 minutes of 800 Gb/s.
pub const ENDLESS: u64 = 1 << 46;

/// Messages that one run may have.
pub const MESSAGES_MAX: usize = 1 << 28;

/// A connection between two hosts; its number is its place in [`Traffic::conns`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conn {
    /// The host that opens it.
    pub a: u32,
    /// The other host.
    pub b: u32,
    /// It exists for one message and is opened with it; otherwise it stands from the start.
    pub one_shot: bool,
}

/// A message on a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Its connection.
    pub conn: u32,
    /// Whether host `a` sends it, or host `b`.
    pub from_a: bool,
    /// In bytes; [`ENDLESS`] for one that lasts until `stop`.
    pub size: u64,
    /// When it is handed to the transport.
    pub start: Start,
    /// When the sender gives up what is not yet sent.
    pub stop: Option<Time>,
    /// What it belongs to: a place in [`Traffic::tags`].
    pub tag: u16,
}

/// When a message starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// At this time.
    At(Time),
    /// After another message has been received in full at the host that sends this one.
    After {
        /// Its place in [`Traffic::messages`], before this one's.
        message: u32,
        /// What the host needs in between.
        delay: Span,
    },
    /// With a firing of a trigger.
    Fired {
        /// Its place in [`Traffic::triggers`].
        trigger: u32,
        /// Which firing, from 1.
        nth: u32,
        /// What the host needs in between. News from another host takes the simulator's window at
        /// least: the shortest time in which anything reaches anybody.
        delay: Span,
    },
}

/// Fires whenever one of its causes happens; messages start with a firing of their choice. So the
/// first firing releases many, the k-th is a barrier of k, and one message per firing is a queue.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trigger {
    /// What makes it fire, each once.
    pub causes: Vec<(u32, Milestone)>,
}

/// What happens to a message once in its life.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Milestone {
    /// Its sender knows that it arrived, or, where a transport never hears of that, has sent it.
    Sent,
    /// It was received in full.
    Received,
}

/// All that is sent in a run.
///
/// Messages stand in the order of their starts, those that wait for others in the order of the
/// earliest start that is possible; ties go by connection. So those of one connection and direction
/// stand in the order in which they are sent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// A connection's number is its place.
    pub conns: Vec<Conn>,
    /// A message's number is its place.
    pub messages: Vec<Message>,
    /// Names of the parts that messages belong to.
    pub tags: Vec<String>,
    /// What messages with [`Start::Fired`] wait for.
    pub triggers: Vec<Trigger>,
}

impl Traffic {
    /// A hash over who sends how much to whom, when and after what: runs with one hash were asked for the same.
    /// Tags are left out. Each word is mixed in as by FNV-1a, then folded. [ours]
    pub fn hash(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut mix = |word: u64| {
            hash = (hash ^ word).wrapping_mul(0x0100_0000_01b3);
            hash ^= hash >> 32;
        };
        for message in &self.messages {
            let Conn { a, b, .. } = self.conns[message.conn as usize];
            let (from, to) = if message.from_a { (a, b) } else { (b, a) };
            mix(u64::from(from) << 32 | u64::from(to));
            mix(message.size);
            mix(message.stop.map_or(u64::MAX, |stop| stop.0));
            let (what, when) = match message.start {
                Start::At(at) => (0, at.0),
                Start::After { message, delay } => (1 | u64::from(message) << 2, delay.0),
                Start::Fired {
                    trigger,
                    nth,
                    delay,
                } => (2 | u64::from(trigger) << 2 | u64::from(nth) << 34, delay.0),
            };
            mix(what);
            mix(when);
        }
        for (message, milestone) in self.triggers.iter().flat_map(|trigger| &trigger.causes) {
            mix(u64::from(*message) << 1 | u64::from(*milestone == Milestone::Sent));
        }
        hash
    }
}

/// A seed for part number `part` of a workload, so that its parts draw unrelated numbers.
pub fn part_seed(seed: u64, part: u32) -> u64 {
    Draw::Part.stream(seed, part).next_u64()
}

/// What a generator's stream of random numbers decides; every host or source has its own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Draw {
    Part,
    Gap,
    Size,
    Peer,
    Jitter,
    Order,
}

impl Draw {
    pub(crate) fn stream(self, seed: u64, source: u32) -> Rng {
        Rng::stream(
            seed,
            stream::WORKLOAD,
            ((self as u64) << 32) | u64::from(source),
        )
    }
}

impl Traffic {
    /// Puts messages into order. A message that waits for another names its place in `messages`,
    /// which must come before its own; the places are translated.
    ///
    /// # Errors
    /// If there are more messages or tags than numbers for them.
    pub fn arrange(
        conns: Vec<Conn>,
        messages: &[Message],
        tags: Vec<String>,
    ) -> Result<Self, WorkloadError> {
        let messages = messages.to_vec();
        Self {
            conns,
            messages,
            tags,
            triggers: Vec::new(),
        }
        .arranged()
    }

    /// The same traffic with its messages in order.
    ///
    /// # Errors
    /// If there are more messages or tags than numbers for them, or messages that can never start.
    pub fn arranged(self) -> Result<Self, WorkloadError> {
        let Self {
            conns,
            messages,
            tags,
            mut triggers,
        } = self;
        if messages.len() > MESSAGES_MAX || tags.len() > TAGS_MAX {
            return Err(WorkloadError(format!(
                "{} messages with {} tags; at most {MESSAGES_MAX} and {TAGS_MAX} are possible: \
                 shorten the run or lower the load",
                messages.len(),
                tags.len(),
            )));
        }
        let keys = keys(&messages, &triggers)?;
        let mut order: Vec<u32> = (0..place32(messages.len())).collect();
        order.sort_by_key(|&i| (keys[i as usize], messages[i as usize].conn, i));
        let mut place = vec![0; messages.len()];
        for (new, &old) in (0..).zip(&order) {
            place[old as usize] = new;
        }
        let moved = |&old: &u32| {
            let mut message = messages[old as usize];
            if let Start::After { message, .. } = &mut message.start {
                *message = place[*message as usize];
            }
            message
        };
        let causes = triggers.iter_mut().flat_map(|trigger| &mut trigger.causes);
        causes.for_each(|(message, _)| *message = place[*message as usize]);
        let traffic = Self {
            conns,
            messages: order.iter().map(moved).collect(),
            tags,
            triggers,
        };
        if cfg!(debug_assertions) {
            traffic.check();
        }
        Ok(traffic)
    }

    /// One traffic of several; equal tags become one.
    ///
    /// # Errors
    /// If there are too many messages or tags.
    pub fn merge(parts: impl IntoIterator<Item = Self>) -> Result<Self, WorkloadError> {
        let mut all = Self::default();
        let mut known = Tags::default();
        for part in parts {
            let (conns, first) = (place32(all.conns.len()), place32(all.messages.len()));
            if all.messages.len() + part.messages.len() > MESSAGES_MAX {
                return Err(WorkloadError(format!(
                    "more than {MESSAGES_MAX} messages; shorten the run or lower the load"
                )));
            }
            let tags = part.tags.iter().map(|tag| known.number(tag));
            let tags = tags.collect::<Result<Vec<u16>, _>>()?;
            let triggers = place32(all.triggers.len());
            all.conns.extend(part.conns);
            all.messages
                .extend(part.messages.into_iter().map(|mut message| {
                    message.conn += conns;
                    message.tag = tags[usize::from(message.tag)];
                    match &mut message.start {
                        Start::At(_) => {}
                        Start::After { message, .. } => *message += first,
                        Start::Fired { trigger, .. } => *trigger += triggers,
                    }
                    message
                }));
            all.triggers
                .extend(part.triggers.into_iter().map(|mut trigger| {
                    let causes = trigger.causes.iter_mut();
                    causes.for_each(|(message, _)| *message += first);
                    trigger
                }));
        }
        all.tags = known.names;
        all.arranged()
    }

    /// The host that sends a message.
    pub fn sender(&self, message: &Message) -> u32 {
        let conn = self.conns[message.conn as usize];
        if message.from_a { conn.a } else { conn.b }
    }

    /// The host that receives a message.
    pub fn receiver(&self, message: &Message) -> u32 {
        let conn = self.conns[message.conn as usize];
        if message.from_a { conn.b } else { conn.a }
    }

    /// Hosts that the traffic needs: one more than the highest number.
    pub fn hosts(&self) -> u32 {
        self.conns
            .iter()
            .map(|conn| conn.a.max(conn.b) + 1)
            .max()
            .unwrap_or(0)
    }

    /// Bytes of all messages that have an end of their own.
    pub fn bytes(&self) -> u64 {
        let ends = self
            .messages
            .iter()
            .filter(|message| message.size < ENDLESS);
        ends.fold(0, |sum, message| sum.saturating_add(message.size))
    }

    /// Panics where the traffic contradicts itself.
    pub fn check(&self) {
        for conn in &self.conns {
            assert_ne!(conn.a, conn.b, "a host is connected to itself");
        }
        let keys = keys(&self.messages, &self.triggers).expect("every message starts some day");
        let mut used = vec![false; self.conns.len()];
        let mut last = None;
        for (place, message) in self.messages.iter().enumerate() {
            let conn = message.conn;
            let first = !std::mem::replace(&mut used[conn as usize], true);
            assert!(
                first || !self.conns[conn as usize].one_shot,
                "conn {conn} is for one message"
            );
            assert!(
                usize::from(message.tag) < self.tags.len(),
                "message {place} has no tag"
            );
            if let Start::After { message: other, .. } = message.start {
                assert!(
                    (other as usize) < place,
                    "message {place} waits for {other}"
                );
                let before = &self.messages[other as usize];
                let (here, there) = (self.sender(message), self.receiver(before));
                assert_eq!(
                    here, there,
                    "message {place} waits for news of another host"
                );
            }
            let key = Some((keys[place], conn));
            assert!(last <= key, "message {place} is out of order");
            last = key;
        }
    }
}

/// By message: the earliest start, and how many others it waits for in a row. A message never comes
/// before one that it waits for, even where no time passes in between.
fn keys(messages: &[Message], triggers: &[Trigger]) -> Result<Vec<(Time, u32)>, WorkloadError> {
    if !triggers.is_empty() {
        return triggered_keys(messages, triggers);
    }
    let mut keys: Vec<(Time, u32)> = Vec::with_capacity(messages.len());
    for (place, message) in messages.iter().enumerate() {
        keys.push(match message.start {
            Start::At(time) => (time, 0),
            Start::After { message, delay } => {
                assert!(
                    (message as usize) < place,
                    "message {place} waits for {message}"
                );
                let (time, waits) = keys[message as usize];
                (time.after(delay), waits + 1)
            }
            Start::Fired { trigger, .. } => {
                panic!("message {place} waits for no trigger {trigger}")
            }
        });
    }
    Ok(keys)
}

/// The same by playing everything through with messages that take no time.
fn triggered_keys(
    messages: &[Message],
    triggers: &[Trigger],
) -> Result<Vec<(Time, u32)>, WorkloadError> {
    let mut dependents: BTreeMap<u32, Vec<(u32, Span)>> = BTreeMap::new();
    let mut targets: BTreeMap<(u32, u32), Vec<(u32, Span)>> = BTreeMap::new();
    let mut fires: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut next = BinaryHeap::new();
    for (number, message) in (0u32..).zip(messages) {
        match message.start {
            Start::At(time) => next.push(Reverse((time, 0, number))),
            Start::After { message, delay } => {
                dependents.entry(message).or_default().push((number, delay));
            }
            Start::Fired {
                trigger,
                nth,
                delay,
            } => {
                let released = targets.entry((trigger, nth)).or_default();
                released.push((number, delay));
            }
        }
    }
    for (number, trigger) in (0u32..).zip(triggers) {
        for &(cause, _) in &trigger.causes {
            fires.entry(cause).or_default().push(number);
        }
    }
    let mut fired = vec![0u32; triggers.len()];
    let mut keys = vec![None; messages.len()];
    while let Some(Reverse((time, waits, number))) = next.pop() {
        keys[number as usize] = Some((time, waits));
        let mut released = dependents.remove(&number).unwrap_or_default();
        for trigger in fires.get(&number).into_iter().flatten() {
            let nth = &mut fired[*trigger as usize];
            *nth += 1;
            released.extend(targets.remove(&(*trigger, *nth)).into_iter().flatten());
        }
        for (dependent, delay) in released {
            next.push(Reverse((time.after(delay), waits + 1, dependent)));
        }
    }
    let known = |(number, key): (usize, Option<_>)| {
        key.ok_or_else(|| {
            WorkloadError(format!(
                "message {number} waits for something that never happens: its trigger fires too \
                 seldom, or messages wait for each other in a circle"
            ))
        })
    };
    keys.into_iter().enumerate().map(known).collect()
}

/// One-shot messages under one tag, as most generators make them.
#[derive(Default)]
pub(crate) struct OneShots {
    conns: Vec<Conn>,
    messages: Vec<Message>,
}

impl OneShots {
    pub(crate) fn push(&mut self, src: u32, dst: u32, size: u64, start: Time, stop: Option<Time>) {
        let conn = place32(self.conns.len());
        self.conns.push(Conn {
            a: src,
            b: dst,
            one_shot: true,
        });
        let start = Start::At(start);
        self.messages.push(Message {
            conn,
            from_a: true,
            size,
            start,
            stop,
            tag: 0,
        });
    }

    pub(crate) fn push_tagged(&mut self, src: u32, dst: u32, size: u64, start: Time, tag: u16) {
        self.push(src, dst, size, start, None);
        if let Some(message) = self.messages.last_mut() {
            message.tag = tag;
        }
    }

    pub(crate) fn finish_tagged(self, tags: Vec<String>) -> Result<Traffic, WorkloadError> {
        Traffic::arrange(self.conns, &self.messages, tags)
    }

    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(crate) fn finish(self, tag: &str) -> Result<Traffic, WorkloadError> {
        self.finish_tagged(vec![tag.to_string()])
    }
}

/// Tags by number, and their numbers by name.
#[derive(Default)]
pub(crate) struct Tags {
    pub(crate) names: Vec<String>,
    numbers: BTreeMap<String, u16>,
}

/// Tags that one traffic may have: each has a number of 16 bits.
const TAGS_MAX: usize = u16::MAX as usize;

impl Tags {
    /// The number of `tag`, which is added where it is new.
    ///
    /// # Errors
    /// If it is one too many.
    pub(crate) fn number(&mut self, tag: &str) -> Result<u16, WorkloadError> {
        if let Some(&number) = self.numbers.get(tag) {
            return Ok(number);
        }
        let free = u16::try_from(self.names.len()).ok();
        let number = free.filter(|_| self.names.len() < TAGS_MAX).ok_or_else(|| {
            WorkloadError(format!(
                "\"{tag}\" is one tag too many: at most {TAGS_MAX} are possible; a tag names a kind of \
                 message, not one message"
            ))
        })?;
        self.names.push(tag.to_owned());
        self.numbers.insert(tag.to_owned(), number);
        Ok(number)
    }
}

/// A place in a vector that [`MESSAGES_MAX`] keeps within 32 bits.
pub(crate) fn place32(n: usize) -> u32 {
    u32::try_from(n).expect("connections and messages are limited to 32-bit numbers")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(conn: u32, from_a: bool, start: Start) -> Message {
        Message {
            conn,
            from_a,
            size: 1,
            start,
            stop: None,
            tag: 0,
        }
    }
    fn at(us: u64) -> Start {
        Start::At(Time::ZERO + Span::us(us))
    }
    fn after(message: u32, us: u64) -> Start {
        Start::After {
            message,
            delay: Span::us(us),
        }
    }
    fn fired(trigger: u32, nth: u32) -> Start {
        let delay = Span::ZERO;
        Start::Fired {
            trigger,
            nth,
            delay,
        }
    }

    #[test]
    fn a_barrier_stands_after_all_that_it_waits_for() {
        let pair = |a, b| Conn {
            a,
            b,
            one_shot: true,
        };
        let traffic = |nth| Traffic {
            conns: vec![pair(0, 1), pair(2, 3), pair(4, 5)],
            messages: vec![
                message(0, true, fired(0, nth)),
                message(1, true, at(7)),
                message(2, true, at(5)),
            ],
            tags: vec!["x".into()],
            triggers: vec![Trigger {
                causes: vec![(1, Milestone::Received), (2, Milestone::Sent)],
            }],
        };
        let all = Traffic::merge([traffic(2), traffic(1)]).unwrap();
        let starts: Vec<_> = all.messages.iter().map(|m| (m.conn, m.start)).collect();
        let expected = [
            (2, at(5)),
            (5, at(5)),
            (3, fired(1, 1)),
            (1, at(7)),
            (4, at(7)),
            (0, fired(0, 2)),
        ];
        assert_eq!(starts, expected);
        assert_eq!(
            all.triggers[0].causes,
            [(3, Milestone::Received), (0, Milestone::Sent)]
        );
        let error = traffic(3).arranged().unwrap_err().to_string();
        assert!(error.contains("never happens"), "{error}");
    }

    const PAIR: Conn = Conn {
        a: 0,
        b: 1,
        one_shot: false,
    };

    #[test]
    fn messages_stand_in_the_order_of_their_earliest_start() {
        let messages = vec![
            message(1, true, at(9)),
            message(0, true, at(5)),
            message(0, false, after(1, 0)),
            message(0, true, after(2, 3)),
            message(1, true, at(6)),
        ];
        let traffic = Traffic::arrange(vec![PAIR; 2], &messages, vec!["x".into()]).unwrap();
        let starts: Vec<_> = traffic.messages.iter().map(|m| (m.conn, m.start)).collect();
        assert_eq!(
            starts,
            [
                (0, at(5)),
                (0, after(0, 0)),
                (1, at(6)),
                (0, after(1, 3)),
                (1, at(9))
            ]
        );
    }

    #[test]
    fn merging_keeps_what_waits_for_what() {
        let ask = |us| {
            let messages = vec![message(0, true, at(us)), message(0, false, after(0, 0))];
            Traffic::arrange(vec![PAIR], &messages, vec!["ask".into()]).unwrap()
        };
        let all = Traffic::merge([ask(7), ask(3)]).unwrap();
        all.check();
        assert_eq!(all.tags, ["ask"]);
        let starts: Vec<_> = all.messages.iter().map(|m| (m.conn, m.start)).collect();
        assert_eq!(
            starts,
            [(1, at(3)), (1, after(0, 0)), (0, at(7)), (0, after(2, 0))]
        );
        assert_eq!(all.hosts(), 2);
    }

    #[test]
    #[should_panic(expected = "waits for news of another host")]
    fn an_answer_comes_from_the_host_that_was_asked() {
        let messages = vec![message(0, true, at(0)), message(0, true, after(0, 0))];
        let _ = Traffic::arrange(vec![PAIR], &messages, vec!["x".into()]);
    }

    proptest! {
        /// Any questions and answers, merged in any number of parts, keep order and sense.
        #[test]
        fn order_and_dependence_survive_merging(
            parts in prop::collection::vec(
                prop::collection::vec((0..4u32, 0..20u64, 0..3u64), 1..12), 1..5)
        ) {
            let traffic = |list: &Vec<(u32, u64, u64)>| {
                let mut messages = Vec::new();
                for &(conn, us, delay) in list {
                    messages.push(message(conn, true, at(us)));
                    messages.push(message(conn, false, after(place32(messages.len() - 1), delay)));
                }
                Traffic::arrange(vec![PAIR; 4], &messages, vec!["ask".into()]).unwrap()
            };
            let all = Traffic::merge(parts.iter().map(traffic)).unwrap();
            all.check();
            prop_assert_eq!(all.messages.len(), 2 * parts.iter().map(Vec::len).sum::<usize>());
            // Each answer still follows a question on its own connection, each question one answer.
            let mut answered = vec![false; all.messages.len()];
            for m in all.messages.iter().filter(|m| !m.from_a) {
                let Start::After { message, .. } = m.start else { panic!("answers wait") };
                prop_assert!(all.messages[message as usize].from_a);
                prop_assert_eq!(all.messages[message as usize].conn, m.conn);
                prop_assert!(!std::mem::replace(&mut answered[message as usize], true));
            }
            prop_assert_eq!(all.tags, ["ask"]);
        }
    }

    #[test]
    fn parts_have_seeds_of_their_own() {
        let seeds = [part_seed(1, 0), part_seed(1, 1), part_seed(2, 0)];
        assert!(seeds[0] != seeds[1] && seeds[0] != seeds[2] && seeds[1] != seeds[2]);
    }
}
