//! What every host is told to do, indexed for the hosts, and what became of it.

use crate::setup::MessageResult;
use crate::trigger::Triggers;
use model::{ConnId, HostId, Lifetime, Peers};
use std::sync::atomic::{AtomicU64, Ordering};
use topology::{Routes, Topology};
use units::{Span, Time};
use workload::{Start, Traffic};

/// Something that a host does unasked by any packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Action {
    /// Opens a connection.
    Connect(u32),
    /// Sends a message.
    Send(u32),
    /// Stops sending on the connection of a message.
    Stop(u32),
    /// A pause of this priority may be over.
    LapsePriority(u8),
    /// A pause of this connection may be over.
    LapseFlow(u32),
    /// This lane of its line may have waited for credits for too long.
    AskForCredits(u8),
}

/// Connections and messages, by host and by connection; results are written by their owners.
pub(crate) struct Book<'a> {
    traffic: &'a Traffic,
    topology: &'a Topology,
    /// Ways through the intact network.
    routes: &'a Routes,
    /// By host: where its actions start in `actions`; one more at the end.
    first_action: Vec<u32>,
    /// By host, then by time.
    actions: Vec<(Time, Action)>,
    /// By connection and direction (`2 * conn + from_b`): where its messages start in `in_order`.
    first_message: Vec<u32>,
    /// Messages by connection and direction, in sending order.
    in_order: Vec<u32>,
    /// By message: where the messages that wait for it start in `dependents`.
    first_dependent: Vec<u32>,
    dependents: Vec<(u32, Span)>,
    pub(crate) triggers: Triggers,
    start: Vec<AtomicU64>,
    end: Vec<AtomicU64>,
    stopped: Vec<AtomicU64>,
    asked_again: Vec<AtomicU64>,
    /// When senders were done, where there are lasting connections.
    done: Vec<AtomicU64>,
    size: Vec<AtomicU64>,
}

const NONE: u64 = u64::MAX;

fn index32(n: usize) -> u32 {
    u32::try_from(n).expect("fewer than 2^32 of everything")
}

/// Sorts what hosts do by time. Connections without messages are opened before the others, whatever their numbers: they
/// are there before anything is sent.
fn put_in_order(actions: &mut [(u32, Time, Action)], traffic: &Traffic) {
    let mut carries = vec![false; traffic.conns.len()];
    for message in &traffic.messages {
        carries[message.conn as usize] = true;
    }
    let later = |action: Action| match action {
        Action::Connect(conn) => carries[conn as usize],
        _ => true,
    };
    actions.sort_by_key(|&(_, at, action)| (at, later(action), action));
}

/// Sorts `items` into `buckets` groups and returns where each group starts.
pub(crate) fn group<T: Copy>(
    items: &mut [T],
    buckets: usize,
    of: impl Fn(&T) -> usize,
) -> Vec<u32> {
    let mut first = vec![0u32; buckets + 1];
    for item in items.iter() {
        first[of(item) + 1] += 1;
    }
    for bucket in 0..buckets {
        first[bucket + 1] += first[bucket];
    }
    items.sort_by_key(|item| of(item)); // stable: the order within a group stays
    first
}

impl<'a> Book<'a> {
    /// Indexes `traffic`.
    ///
    /// # Errors
    /// What in the traffic makes no sense on this topology.
    pub(crate) fn new(
        traffic: &'a Traffic,
        topology: &'a Topology,
        routes: &'a Routes,
    ) -> Result<Self, String> {
        let book = Self::index(traffic, topology, routes);
        for (number, conn) in traffic.conns.iter().enumerate() {
            if conn.a >= topology.hosts || conn.b >= topology.hosts {
                return Err(format!(
                    "connection {number} joins hosts {} and {}, but there are only {} hosts",
                    conn.a, conn.b, topology.hosts
                ));
            }
            if conn.a == conn.b {
                return Err(format!(
                    "connection {number} joins host {} with itself",
                    conn.a
                ));
            }
        }
        for (number, message) in traffic.messages.iter().enumerate() {
            if let Start::After { message: cause, .. } = message.start
                && book.receiver(cause) != book.sender(index32(number))
            {
                return Err(format!(
                    "message {number} starts at host {} after message {cause}, which ends at host {}",
                    book.sender(index32(number)),
                    book.receiver(cause)
                ));
            }
            let slot = book.slot(message.conn, message.from_a);
            if matches!(message.start, Start::Fired { .. }) && slot.len() > 1 {
                return Err(format!(
                    "message {number} waits for a trigger, so its place among the {} of connection \
                     {} is not known; give it a connection of its own",
                    slot.len(),
                    message.conn
                ));
            }
        }
        Ok(book)
    }

    fn index(traffic: &'a Traffic, topology: &'a Topology, routes: &'a Routes) -> Self {
        let hosts = topology.hosts;
        let messages = traffic.messages.len();
        let mut actions = Vec::with_capacity(messages);
        for (number, conn) in traffic.conns.iter().enumerate() {
            if !conn.one_shot {
                actions.push((conn.a, Time::ZERO, Action::Connect(index32(number))));
            }
        }
        let mut dependents = Vec::new();
        for (number, message) in traffic.messages.iter().enumerate() {
            let conn = traffic.conns[message.conn as usize];
            let host = if message.from_a { conn.a } else { conn.b };
            match message.start {
                Start::At(at) => actions.push((host, at, Action::Send(index32(number)))),
                Start::After {
                    message: cause,
                    delay,
                } => {
                    dependents.push((cause, (index32(number), delay)));
                }
                // A trigger's firing starts it.
                Start::Fired { .. } => {}
            }
            if let Some(at) = message.stop {
                actions.push((host, at, Action::Stop(index32(number))));
            }
        }
        put_in_order(&mut actions, traffic);
        let first_action = group(&mut actions, hosts as usize, |&(host, ..)| host as usize);
        let mut in_order: Vec<u32> = (0..index32(messages)).collect();
        let slot = |&message: &u32| {
            let message = &traffic.messages[message as usize];
            2 * message.conn as usize + usize::from(!message.from_a)
        };
        let first_message = group(&mut in_order, 2 * traffic.conns.len(), slot);
        let first_dependent = group(&mut dependents, messages, |&(cause, _)| cause as usize);
        let lasts = traffic.conns.iter().any(|conn| !conn.one_shot);
        let unset = || (0..messages).map(|_| AtomicU64::new(NONE)).collect();
        Self {
            traffic,
            topology,
            routes,
            first_action,
            actions: actions
                .into_iter()
                .map(|(_, at, action)| (at, action))
                .collect(),
            first_message,
            in_order,
            first_dependent,
            dependents: dependents
                .into_iter()
                .map(|(_, dependent)| dependent)
                .collect(),
            triggers: Triggers::new(traffic),
            start: unset(),
            end: unset(),
            stopped: unset(),
            asked_again: unset(),
            done: if lasts { unset() } else { Vec::new() },
            size: traffic
                .messages
                .iter()
                .map(|message| AtomicU64::new(message.size))
                .collect(),
        }
    }

    /// What `host` does at fixed times, by time.
    pub(crate) fn actions(&self, host: u32) -> &[(Time, Action)] {
        let host = host as usize;
        &self.actions[self.first_action[host] as usize..self.first_action[host + 1] as usize]
    }

    pub(crate) fn message(&self, number: u32) -> &workload::Message {
        &self.traffic.messages[number as usize]
    }

    pub(crate) fn lifetime(&self, conn: u32) -> Lifetime {
        let one_shot = self.traffic.conns[conn as usize].one_shot;
        if one_shot {
            Lifetime::OneMessage
        } else {
            Lifetime::Persistent
        }
    }

    /// The messages of one direction of a connection, in sending order.
    fn slot(&self, conn: u32, from_a: bool) -> &[u32] {
        let slot = 2 * conn as usize + usize::from(!from_a);
        let (from, to) = (self.first_message[slot], self.first_message[slot + 1]);
        &self.in_order[from as usize..to as usize]
    }

    /// Message `ordinal` of the direction of `conn` that `host` receives.
    pub(crate) fn received_by(&self, host: u32, conn: u32, ordinal: u32) -> Option<u32> {
        let ends = self.traffic.conns.get(conn as usize)?;
        self.slot(conn, host == ends.b)
            .get(ordinal as usize)
            .copied()
    }

    /// Message `ordinal` of the direction of `conn` that `host` sends.
    pub(crate) fn sent_by(&self, host: u32, conn: u32, ordinal: u32) -> Option<u32> {
        let ends = self.traffic.conns.get(conn as usize)?;
        self.slot(conn, host == ends.a)
            .get(ordinal as usize)
            .copied()
    }

    /// Messages that wait for message `number`, and for how long after it.
    pub(crate) fn dependents(&self, number: u32) -> &[(u32, Span)] {
        let number = number as usize;
        let (from, to) = (
            self.first_dependent[number],
            self.first_dependent[number + 1],
        );
        &self.dependents[from as usize..to as usize]
    }

    /// The host that sends message `number`.
    pub(crate) fn sender(&self, number: u32) -> u32 {
        let message = self.message(number);
        let conn = self.traffic.conns[message.conn as usize];
        if message.from_a { conn.a } else { conn.b }
    }

    fn receiver(&self, number: u32) -> u32 {
        let message = self.message(number);
        let conn = self.traffic.conns[message.conn as usize];
        if message.from_a { conn.b } else { conn.a }
    }

    pub(crate) fn set_started(&self, number: u32, at: Time) {
        self.start[number as usize].store(at.0, Ordering::Relaxed);
    }

    /// Notes the end of a message. Returns false if it had ended before.
    pub(crate) fn set_ended(&self, number: u32, at: Time, size: u64) -> bool {
        let first = self.end[number as usize].load(Ordering::Relaxed) == NONE;
        if first {
            self.end[number as usize].store(at.0, Ordering::Relaxed);
            self.size[number as usize].store(size, Ordering::Relaxed);
        }
        first
    }

    /// The message of a connection that carries no other.
    fn only_message(&self, conn: u32) -> Option<u32> {
        let one_shot = self.traffic.conns.get(conn as usize)?.one_shot;
        let place = self.first_message[2 * conn as usize];
        let any = place < self.first_message[2 * conn as usize + 1];
        (one_shot && any).then(|| self.in_order[place as usize])
    }

    /// Notes that the receiver `host` heard the sender of `conn` stop. The last stop of a message
    /// counts; where a connection carries several, each takes the next stop.
    pub(crate) fn set_stopped(&self, host: u32, conn: u32, at: Time) {
        let Some(ends) = self.traffic.conns.get(conn as usize) else {
            return;
        };
        let messages = self.slot(conn, host == ends.b);
        // They stop in their order, so those that have are the first ones; a connection may carry a million.
        let has = |&number: &u32| self.stopped[number as usize].load(Ordering::Relaxed) != NONE;
        let next = || messages.get(messages.partition_point(has)).copied();
        if let Some(number) = self.only_message(conn).or_else(next) {
            self.stopped[number as usize].store(at.0, Ordering::Relaxed);
        }
    }

    /// Whether it notes when senders are done.
    pub(crate) fn notes_done(&self) -> bool {
        !self.done.is_empty()
    }

    /// Notes when the sender of message `number` was done.
    pub(crate) fn set_done(&self, number: u32, at: Time) {
        if let Some(done) = self.done.get(number as usize) {
            done.store(at.0, Ordering::Relaxed);
        }
    }

    /// Notes that the sender of `conn` asked for credits again after it had stopped.
    pub(crate) fn set_asked_again(&self, conn: u32, at: Time) {
        if let Some(number) = self.only_message(conn) {
            self.asked_again[number as usize].store(at.0, Ordering::Relaxed);
        }
    }

    /// Messages of a connection that have not ended.
    pub(crate) fn open(&self, conn: u32) -> u64 {
        if conn as usize >= self.traffic.conns.len() {
            return 0;
        }
        let open = |&&number: &&u32| self.end[number as usize].load(Ordering::Relaxed) == NONE;
        let of = |from_a| self.slot(conn, from_a).iter().filter(open).count() as u64;
        of(true) + of(false)
    }

    /// Messages that have not ended.
    pub(crate) fn unfinished(&self) -> u64 {
        self.end
            .iter()
            .filter(|end| end.load(Ordering::Relaxed) == NONE)
            .count() as u64
    }

    /// What became of every message.
    pub(crate) fn results(&self) -> Vec<MessageResult> {
        let time =
            |cell: &AtomicU64| Some(Time(cell.load(Ordering::Relaxed))).filter(|t| t.0 != NONE);
        (0..self.traffic.messages.len())
            .map(|number| MessageResult {
                start: time(&self.start[number]),
                end: time(&self.end[number]),
                stopped: time(&self.stopped[number]),
                asked_again: time(&self.asked_again[number]),
                done: self.done.get(number).and_then(time),
                size: self.size[number].load(Ordering::Relaxed),
            })
            .collect()
    }
}

impl Peers for Book<'_> {
    fn peer(&self, me: HostId, conn: ConnId) -> Option<HostId> {
        let ends = self.traffic.conns.get(conn.0 as usize)?;
        Some(HostId(if ends.a == me.0 { ends.b } else { ends.a }))
    }

    fn ways(&self, a: HostId, b: HostId) -> u16 {
        self.topology.ways(self.routes, a.0, b.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use topology::{Spec, Star};
    use units::Rate;
    use workload::{Conn, Message};

    #[test]
    fn each_message_of_a_long_connection_takes_the_next_stop() {
        // Looking at all that stopped before, for each stop, would take a minute.
        const MANY: u32 = 300_000;
        let message = |from_a| Message {
            conn: 0,
            from_a,
            size: 1,
            start: Start::At(Time::ZERO),
            stop: None,
            tag: 0,
        };
        let traffic = Traffic {
            conns: vec![Conn {
                a: 0,
                b: 1,
                one_shot: false,
            }],
            messages: (0..2 * MANY).map(|n| message(n % 2 == 0)).collect(),
            ..Traffic::default()
        };
        let star = Star {
            hosts: 2,
            rate: Rate::gbps(10),
            delay: Span::us(1),
            host_extra_delay: Span::ZERO,
        };
        let topology = Spec::Star(star).build().expect("a star");
        let routes = Routes::new(&topology, &[]);
        let book = Book::new(&traffic, &topology, &routes).expect("it makes sense");
        for n in 0..MANY {
            book.set_stopped(1, 0, Time(u64::from(n) + 1));
        }
        book.set_stopped(0, 0, Time(7));
        // One more than there are.
        book.set_stopped(1, 0, Time(1));
        let results = book.results();
        let stopped = |n: u32| results[n as usize].stopped.map(|at| at.0);
        for n in 0..MANY {
            assert_eq!(stopped(2 * n), Some(u64::from(n) + 1));
        }
        assert_eq!((stopped(1), stopped(3)), (Some(7), None));
    }
}
