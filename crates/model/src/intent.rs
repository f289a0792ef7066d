//! What a port and a switch must do, as plain data: the simulator builds machines from it, and a
//! generator of switch configuration writes it in a vendor's words. [`PortSpec::check`] tells what
//! contradicts itself; code that builds a port asks it.

use crate::{Class, LANES};
use units::{Bytes, LineTime, Span};

/// One egress port: a list of queues, and whose turn it is when.
///
/// A packet joins the first queue that takes it. Queues are served by level, the lowest number first; in
/// one level, groups share the line by [`PortSpec::shares`]; in one group, the earlier queue of the list
/// goes first, always.
#[derive(Clone, Debug, PartialEq)]
pub struct PortSpec {
    /// Bytes that may wait in the queues of [`Limit::Port`] together, with what is left of a frame of
    /// theirs on the line.
    pub buffer: Bytes,
    /// The queues, the first that takes a packet being its own.
    pub queues: Vec<QueueSpec>,
    /// What each group gets beside the others of its level, by number; a weight of 100 where nothing is said.
    pub shares: Vec<Share>,
}

impl PortSpec {
    /// One first-in first-out queue of `buffer` bytes.
    pub fn fifo(buffer: Bytes) -> Self {
        Self {
            buffer,
            queues: vec![QueueSpec::DATA],
            shares: Vec::new(),
        }
    }

    /// The same with `queue` before all others.
    #[must_use]
    pub fn with(mut self, queue: QueueSpec) -> Self {
        self.queues.insert(0, queue);
        self
    }

    /// The same with every queue that has the port's buffer marking by `mark`.
    #[must_use]
    pub fn marking(mut self, mark: MarkSpec) -> Self {
        for queue in self.queues.iter_mut().filter(|queue| queue.is_data()) {
            queue.mark = Some(mark);
        }
        self
    }

    /// The same with every queue that has the port's buffer dropping by `drop`.
    #[must_use]
    pub fn dropping(mut self, drop: DropSpec) -> Self {
        for queue in self.queues.iter_mut().filter(|queue| queue.is_data()) {
            queue.drop = Some(drop);
        }
        self
    }

    /// The same with strict priorities, 0 the most urgent, instead of each queue that takes them all.
    ///
    /// # Panics
    /// If there are none or more than eight.
    #[must_use]
    pub fn prioritised(mut self, priorities: u8) -> Self {
        assert!((1..=8).contains(&priorities), "{priorities} priorities");
        let split = |queue: QueueSpec| {
            let one = !(queue.is_data() && priorities > 1);
            let each = 0..if one { 1 } else { priorities };
            each.map(move |priority| {
                let mut part = queue;
                if !one && priority + 1 < priorities {
                    part.takes.priorities = 1 << priority;
                }
                part
            })
        };
        self.queues = self.queues.into_iter().flat_map(split).collect();
        self
    }

    /// Both in one port: lane 0 has these queues, lane `lane` those of `other`, which wait in buffers of their
    /// own and get `share` of the line beside the others.
    #[must_use]
    pub fn beside(self, lane: u8, other: &Self, share: Share) -> Self {
        let all = Takes::ALL.lanes;
        let (mut own, other) = (self.by_bytes(), other.clone().by_bytes());
        for queue in own
            .queues
            .iter_mut()
            .filter(|queue| queue.takes.lanes == all)
        {
            queue.takes.lanes = 1;
        }
        for queue in &other.queues {
            let mut queue = *queue;
            queue.takes.lanes = 1 << lane;
            if queue.is_counted() {
                queue.group = lane;
            }
            if queue.is_data() {
                queue.limit = Limit::Bytes(other.buffer);
            }
            own.queues.push(queue);
        }
        let group = usize::from(lane);
        if own.shares.len() <= group {
            own.shares.resize(group + 1, Share::default());
        }
        own.shares[group] = share;
        own
    }

    /// The same for a line that others share by bytes: queues that share it by packets become one group, where
    /// those with the most packets in turn go first, always.
    fn by_bytes(mut self) -> Self {
        let turns = |group: u8| match self.shares.get(usize::from(group)) {
            Some(Share::Packets(turns)) => *turns,
            Some(Share::Bytes(_)) | None => 0,
        };
        if self.queues.iter().all(|queue| turns(queue.group) == 0) {
            return self;
        }
        let mut queues: Vec<(u16, QueueSpec)> = Vec::new();
        for queue in &self.queues {
            let turns = turns(queue.group);
            // What goes before an earlier queue of the list must not take what that takes.
            let mut parts = vec![queue.takes];
            for (_, earlier) in queues.iter().filter(|earlier| earlier.0 < turns) {
                parts = parts
                    .iter()
                    .flat_map(|part| part.without(earlier.takes))
                    .collect();
            }
            let part = |takes| {
                (
                    turns,
                    QueueSpec {
                        takes,
                        group: 0,
                        ..*queue
                    },
                )
            };
            queues.extend(parts.into_iter().map(part));
        }
        queues.sort_by_key(|queue| std::cmp::Reverse(queue.0));
        self.queues = queues.into_iter().map(|queue| queue.1).collect();
        self.shares = Vec::new();
        self
    }

    /// The shaped queue of credits, where there is one.
    #[inline] // once for every line
    pub fn credit(&self) -> Option<&CreditSpec> {
        self.queues.iter().find_map(|queue| queue.shape.as_ref())
    }

    /// The first queue in the port's buffer: that of the run's own data.
    pub fn data(&self) -> Option<&QueueSpec> {
        self.queues.iter().find(|queue| queue.is_data())
    }

    /// Its contradictions, in words for its author.
    ///
    /// # Errors
    /// The first contradiction found.
    pub fn check(&self) -> Result<(), String> {
        if self.queues.is_empty() || self.queues.len() > 64 {
            return Err(format!(
                "a port has 1 to 64 queues; {} are asked for",
                self.queues.len()
            ));
        }
        for (place, queue) in self.queues.iter().enumerate() {
            queue
                .check()
                .map_err(|why| format!("queue {place}: {why}"))?;
            if queue.group >= 16 {
                return Err(format!("queue {place}: groups have numbers below 16"));
            }
        }
        let numbers = self.queues.iter().map(|queue| queue.order.numbers());
        let numbers: u32 = numbers.map(u32::from).sum();
        if numbers > 256 {
            return Err(format!(
                "queues have numbers below 256; {numbers} are asked for"
            ));
        }
        let by_packets = |share: &Share| matches!(share, Share::Packets(_));
        if self.shares.iter().any(by_packets) && !self.shares.iter().all(by_packets) {
            return Err("groups share by bytes or by packets, not some by either".to_owned());
        }
        if self.shares.contains(&Share::Bytes(0)) || self.shares.contains(&Share::Packets(0)) {
            return Err("a group with a share of 0 is never served".to_owned());
        }
        let groups = self.queues.iter().map(|queue| usize::from(queue.group));
        if groups.max() < self.shares.len().checked_sub(1) {
            return Err("more groups have a share than queues are in".to_owned());
        }
        self.check_takes()
    }

    /// That each packet has a queue, and each queue packets.
    fn check_takes(&self) -> Result<(), String> {
        let mut joined = vec![0_u8; self.queues.len()];
        // A lane that no queue takes has no transport.
        let taken = self.queues.iter().map(|queue| queue.takes.lanes);
        let taken = taken.fold(1, |all, lanes| all | lanes);
        for lane in (0..LANES).filter(|lane| taken >> lane & 1 == 1) {
            for class in Class::ALL.into_iter().filter(|&class| class != Class::Link) {
                for priority in 0..8 {
                    let kind =
                        || format!("class {}, lane {lane}, priority {priority}", class.name());
                    let takes = |trimmed| self.queue_of(lane, class, priority, trimmed);
                    let (whole, cut) = (takes(false), takes(true));
                    for place in [whole, cut].into_iter().flatten() {
                        joined[place] |= 1 << class as u8;
                    }
                    let Some(place) = whole else {
                        return Err(format!("no queue takes packets of {}", kind()));
                    };
                    if !matches!(self.queues[place].over, Over::Trim { .. }) {
                        continue;
                    }
                    match cut {
                        None => {
                            return Err(format!("no queue takes trimmed packets of {}", kind()));
                        }
                        Some(own) if own == place => {
                            return Err(format!(
                                "a queue trims packets of {} and would take what is left of them itself: trimmed ones join \
                                 another queue",
                                kind()
                            ));
                        }
                        Some(heads) if self.queues[heads].over != Over::Drop => {
                            return Err(format!(
                                "what is left of packets of {} joins queue {heads}, which is to trim or to push out: it \
                                 can only drop",
                                kind()
                            ));
                        }
                        Some(_) => {}
                    }
                }
            }
        }
        for (place, (queue, classes)) in self.queues.iter().zip(joined).enumerate() {
            if classes == 0 {
                return Err(format!(
                    "queue {place} takes nothing: earlier ones take all of it"
                ));
            }
            let by_class = queue.drop.filter(|drop| drop.by == DropBy::Class);
            if let Some(drop) = by_class
                && classes >> drop.victim as u8 & 1 == 0
            {
                return Err(format!(
                    "queue {place} drops packets of class {} first, and they join another",
                    drop.victim.name()
                ));
            }
        }
        Ok(())
    }

    /// The place in the list of the queue that takes such packets; none where no queue does.
    pub fn queue_of(&self, lane: u8, class: Class, priority: u8, trimmed: bool) -> Option<usize> {
        self.queues
            .iter()
            .position(|queue| queue.takes.takes(lane, class, priority, trimmed))
    }
}

/// One queue of a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueSpec {
    /// What joins it.
    pub takes: Takes,
    /// Served before every queue of a higher level.
    pub level: u8,
    /// Queues of one level and group are served together as one share of the line.
    pub group: u8,
    /// How much may wait.
    pub limit: Limit,
    /// Marking of ECN-capable packets.
    pub mark: Option<MarkSpec>,
    /// Dropping one class first.
    pub drop: Option<DropSpec>,
    /// Shaping, of credits.
    pub shape: Option<CreditSpec>,
    /// What becomes of a packet for which there is no room.
    pub over: Over,
    /// Which of those that wait goes first.
    pub order: Order,
}

impl QueueSpec {
    /// Takes everything, in order, within the port's buffer.
    pub const DATA: Self = Self {
        takes: Takes::ALL,
        level: 1,
        group: 0,
        limit: Limit::Port,
        mark: None,
        drop: None,
        shape: None,
        over: Over::Drop,
        order: Order::Fifo,
    };

    /// The credits of every lane, shaped, before all data. [xpass s3.1]
    pub const fn credit(spec: CreditSpec) -> Self {
        Self {
            takes: Takes::ALL.only(Class::Credit),
            level: 0,
            limit: Limit::Credits,
            shape: Some(spec),
            ..Self::DATA
        }
    }

    /// A class that takes only what all others leave of the line, without a bound: the idealised first
    /// round trip. [aeolus s2.3]
    pub const fn background(class: Class) -> Self {
        Self {
            takes: Takes::ALL.only(class),
            level: 2,
            limit: Limit::None,
            ..Self::DATA
        }
    }

    fn check(&self) -> Result<(), &'static str> {
        let credits = self.takes.classes == 1 << Class::Credit as u8;
        if self.shape.is_some() != (self.limit == Limit::Credits) {
            return Err("a shaped queue is limited in credits, and no other is");
        }
        if self.shape.is_some() && !credits {
            return Err("credits alone are shaped");
        }
        if self.shape.is_some() && (self.mark.is_some() || self.drop.is_some()) {
            return Err("credits are neither marked nor dropped by class");
        }
        if self.shape.is_some_and(|shape| shape.share == 0) {
            return Err("credits without a share of the line never leave");
        }
        if matches!(self.limit, Limit::Packets(0) | Limit::Bytes(Bytes(0))) {
            return Err("a queue without room for a packet takes none");
        }
        let late = |mark: MarkSpec| mark.at == MarkAt::Dequeue && mark.drop_others;
        if self.mark.is_some_and(late) {
            return Err(
                "who measures the queue when a packet leaves cannot drop it in place of a mark",
            );
        }
        let of_marks = |mark: MarkSpec| mark.min <= mark.max && (0.0..=1.0).contains(&mark.chance);
        if !self.mark.is_none_or(of_marks) {
            return Err("marks have a chance of 0 to 1, from a length on and up to no smaller one");
        }
        let by_weight = |order| match order {
            Order::NumberedByWeight {
                queues,
                last,
                weight,
            } => last <= queues && weight > 0,
            _ => true,
        };
        if !by_weight(self.order) {
            return Err("of numbered queues no more than all have a weight, which is not 0");
        }
        match self.over {
            Over::Trim { .. } | Over::PushOut
                if matches!(self.limit, Limit::Credits | Limit::None) =>
            {
                Err("a queue without a bound in bytes or packets never trims or pushes out")
            }
            Over::Trim { to, .. } if to < 64 => Err("no frame is smaller than 64 B"),
            Over::Trim { .. } if self.order != Order::Fifo => {
                Err("a queue that trims is first in, first out")
            }
            Over::Drop if self.order.numbers() == 0 || self.order.numbers() > 128 => {
                Err("one queue holds 1 to 128 numbered ones")
            }
            Over::PushOut if self.order != Order::Rank => Err("only ranks are pushed out"),
            Over::Drop | Over::Trim { .. } | Over::PushOut => Ok(()),
        }
    }

    /// Whether it waits in the port's buffer.
    pub fn is_data(&self) -> bool {
        self.limit == Limit::Port
    }

    /// Whether what waits in it is what the port's figures call its queue: whatever has a bound of its own or the
    /// port's, but credits.
    pub fn is_counted(&self) -> bool {
        matches!(
            self.limit,
            Limit::Port | Limit::Packets(_) | Limit::Bytes(_)
        )
    }

    /// Whether it takes room in a switch's memory. Credits have a few places of their own, and unbounded
    /// queues are no real ones.
    pub fn is_bounded(&self) -> bool {
        !matches!(self.limit, Limit::Credits | Limit::None)
    }
}

/// Which packets join a queue: all that every set has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Takes {
    /// Lanes, as bits.
    pub lanes: u8,
    /// Classes, as bits.
    pub classes: u8,
    /// Priorities, as bits.
    pub priorities: u8,
    /// Trimmed packets alone, whole ones alone, or both.
    pub trimmed: Option<bool>,
}

impl Takes {
    /// Every packet.
    pub const ALL: Self = Self {
        lanes: (1 << LANES) - 1,
        classes: u8::MAX,
        priorities: u8::MAX,
        trimmed: None,
    };

    /// Of these, only one class.
    #[must_use]
    pub const fn only(mut self, class: Class) -> Self {
        self.classes = 1 << class as u8;
        self
    }

    /// What is left of these when `other` has taken its own: two sets at most, where both have the same lanes and
    /// priorities.
    fn without(self, other: Self) -> Vec<Self> {
        let classes = Self {
            classes: self.classes & !other.classes,
            ..self
        };
        let whole = match (self.trimmed, other.trimmed) {
            (mine, Some(theirs)) if mine != Some(theirs) => Some(Self {
                trimmed: Some(!theirs),
                classes: self.classes & other.classes,
                ..self
            }),
            _ => None,
        };
        let parts = [Some(classes), whole].into_iter().flatten();
        parts.filter(|part| part.classes != 0).collect()
    }

    /// Whether such a packet is among them.
    pub const fn takes(&self, lane: u8, class: Class, priority: u8, trimmed: bool) -> bool {
        let right_size = match self.trimmed {
            Some(wanted) => wanted == trimmed,
            None => true,
        };
        self.lanes >> lane & 1 == 1
            && self.classes >> class as u8 & 1 == 1
            && self.priorities >> priority & 1 == 1
            && right_size
    }
}

/// How much may wait in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// What the port's buffer, or the switch's shared memory, has room for.
    Port,
    /// So many bytes of its own, with what is left of a frame of its own on the line.
    Bytes(Bytes),
    /// So many packets of its own, the one on the line not counted. [ndp s3.1]
    Packets(u16),
    /// As many credits as its shape says.
    Credits,
    /// Any number: for references that no switch could be.
    None,
}

/// What becomes of a packet for which a queue has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// It is dropped.
    Drop,
    /// Its payload is cut off, and it joins the first queue that takes trimmed packets of its kind.
    Trim {
        /// Bytes on the wire that stay.
        to: u16,
        /// With a chance of one half the last packet of the queue is cut in its place. [ndp s3.1]
        coin: bool,
        /// Where the queue of trimmed packets is full, too, it goes back to its sender. [ndp s3.2.4]
        bounce: bool,
    },
    /// The waiting packet with the highest rank is dropped for it, unless its own is as high. [pfabric s4.2]
    PushOut,
}

/// Which packet of a queue goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The oldest.
    Fifo,
    /// The oldest of the connection that has the lowest rank (the shared word) in it. [pfabric s4.2]
    Rank,
    /// The connections take turns, a packet each.
    PerFlow,
    /// The oldest of each of so many queues inside this one, which take turns, a packet each. A flow control says which
    /// of them a packet joins; without one all join the first. [bfc]
    Numbered(u8),
    /// The same, but each sends as many bytes as another. [ours, after Adiseshu, Parulkar and Varghese 1996]
    NumberedByBytes(u8),
    /// So many, of which the last ones send so many times as many bytes as another. [ours]
    NumberedByWeight {
        /// Queues.
        queues: u8,
        /// How many of them are the last ones.
        last: u8,
        /// Their turns, in those of another.
        weight: u8,
    },
}

impl Order {
    /// Queues that have a number of their own.
    pub fn numbers(self) -> u8 {
        match self {
            Self::Fifo | Self::Rank | Self::PerFlow => 1,
            Self::Numbered(queues)
            | Self::NumberedByBytes(queues)
            | Self::NumberedByWeight { queues, .. } => queues,
        }
    }
}

/// What a group of queues gets of the line beside the other groups of its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// By bytes, with this weight. [Shreedhar and Varghese 1995]
    Bytes(u16),
    /// So many packets in turn. [ndp s3.1]
    Packets(u16),
}

impl Default for Share {
    fn default() -> Self {
        Self::Bytes(100)
    }
}

/// What a whole switch does, beside its ports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SwitchSpec {
    /// Where packets wait.
    pub memory: Memory,
    /// Which of several equal-cost ways a packet takes.
    pub balance: Balance,
    /// Every port adds a [`Hop`](crate::Hop) to the path beside a packet that leaves by it. [hpcc s3.1]
    pub telemetry: bool,
}

impl SwitchSpec {
    /// What `port` and such a switch contradict each other in, in words for their author.
    ///
    /// # Errors
    /// The port or the switch would do something else than it says.
    pub fn check(&self, port: &PortSpec) -> Result<(), String> {
        port.check()?;
        if let Memory::Shared { size, alpha } = self.memory
            && !(size > Bytes(0) && alpha > 0.0 && alpha.is_finite())
        {
            return Err("a shared memory has bytes, and its alpha is a number above 0".to_owned());
        }
        let pushes = |queue: &QueueSpec| queue.over == Over::PushOut && queue.is_data();
        let shares = matches!(self.memory, Memory::Shared { .. });
        if shares && port.queues.iter().any(pushes) {
            let why = "ranks are pushed out of a buffer of the port's own, and ports of this switch share a memory";
            return Err(why.to_owned());
        }
        Ok(())
    }
}

/// Where the packets of a switch wait.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Memory {
    /// Every port has its buffer: [`PortSpec::buffer`].
    #[default]
    PerPort,
    /// All ports share one, by a dynamic threshold; [`PortSpec::buffer`] is not read. [Choudhury and Hahne 1998]
    Shared {
        /// Bytes of the whole switch.
        size: Bytes,
        /// A port may hold `alpha` times what is free.
        alpha: f64,
    },
}

/// Which of several equal-cost ways a packet takes; one that was given a way by its sender takes that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balance {
    /// All of a connection take the same, both ways. [xpass s3.1]
    #[default]
    Flow,
    /// Each takes one at random; credits keep to that of their connection where ports shape them.
    Packet,
    /// Those of a connection that follow each other within `gap` take the same, others the port with the
    /// least to send. [Vanini et al. 2017]
    Flowlet {
        /// Time without a packet after which a connection may change its way.
        gap: Span,
    },
    /// Each takes the port with the least to send, of several the one after the last. [Ghorbani et al. 2017]
    Adaptive,
}

/// The credit queue. [xpass s3.1]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditSpec {
    /// Credits that may wait.
    pub queue_limit: u16,
    /// Credits that may leave back to back.
    pub bucket: u16,
    /// What the shaper counts.
    pub count: CreditCount,
    /// Mean wire size of a credit, in bytes.
    pub size_mean: u16,
    /// Wire size of the full frame that a credit releases, in bytes.
    pub frame_max: u16,
    /// Part of the line that credits and what they release may fill, in 1/10,000: the rest is left
    /// to other traffic. [`CreditSpec::WHOLE`] where there is none.
    pub share: u16,
}
impl CreditSpec {
    /// The whole line. [xpass s3.1]
    pub const WHOLE: u16 = 10_000;

    /// `share`, from 0 to 1, in 1/10,000, rounded.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to 10,000"
    )]
    pub fn part(share: f64) -> u16 {
        (share.clamp(0.0, 1.0) * f64::from(Self::WHOLE) + 0.5) as u16
    }

    /// Line time of one credit of mean size, the frame it releases, and what both leave to others.
    ///
    /// # Panics
    /// If nothing is left for credits.
    #[inline] // once for every line
    pub fn period(&self, line: LineTime) -> Span {
        assert!(
            (1..=Self::WHOLE).contains(&self.share),
            "{} of 10,000 of a line for credits",
            self.share
        );
        let own = line.of(u64::from(self.size_mean) + u64::from(self.frame_max));
        let whole = (u128::from(own.0) * u128::from(Self::WHOLE)).div_ceil(u128::from(self.share));
        Span(u64::try_from(whole).unwrap_or(u64::MAX)) // lines of a few bits per second
    }
}

/// What a credit costs its shaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreditCount {
    /// One token each, whatever its size: data on the way back stays within the link.
    Credits,
    /// Its bytes, as in the authors' simulator. [xpass artefact]
    Bytes,
}

/// Marking of ECN-capable packets by queue length. [RFC 3168, dctcp s3.1]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MarkSpec {
    /// Below this many waiting bytes nothing is marked.
    pub min: Bytes,
    /// From this many on everything is marked.
    pub max: Bytes,
    /// Chance of a mark just below `max`.
    pub chance: f64,
    /// Whether the queue is measured when a packet comes or when it goes.
    pub at: MarkAt,
    /// Whether packets that are not ECN-capable are dropped where others are marked.
    pub drop_others: bool,
}

/// When the queue is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkAt {
    /// When the packet arrives.
    Enqueue,
    /// When it leaves.
    Dequeue,
}

/// Dropping one class at a small threshold. [aeolus s3.2]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropSpec {
    /// The class that is dropped.
    pub victim: Class,
    /// It is dropped when this many bytes wait.
    pub threshold: Bytes,
    /// What is compared with the threshold.
    pub measure: DropMeasure,
    /// How a switch tells the victim apart.
    pub by: DropBy,
}

/// What selective dropping compares with its threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropMeasure {
    /// All bytes waiting in the queue. [aeolus s4.1]
    Queue,
    /// The same and the arriving packet.
    QueueAndPacket,
    /// Waiting bytes of the victim class alone. [flexpass artefact]
    VictimOnly,
    /// All bytes waiting in the port, those of queues with a bound of their own included; credits and
    /// unbounded queues are not counted.
    Port,
}

/// How a switch tells the victim apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropBy {
    /// By class: WRED with a colour per DSCP. [aeolus s4.1]
    Class,
    /// By the ECN bits: RED drops what is not ECN-capable and marks the rest, which ignores it.
    /// [aeolus s4.1]
    Ecn,
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rate;

    #[test]
    fn a_credit_of_a_line_of_one_bit_per_second_has_its_time() {
        let credit = CreditSpec {
            queue_limit: 8,
            bucket: 2,
            count: CreditCount::Bytes,
            size_mean: 84,
            frame_max: 1538,
            share: 5_000,
        };
        let second = 1_000_000_000_000;
        let of = |rate| credit.period(LineTime::new(rate));
        assert_eq!(of(Rate(1)), Span(2 * 1622 * 8 * second));
        assert_eq!(of(Rate::gbps(1)), Span(2 * 1622 * 8_000));
    }
}
