//! Why a message took as long as it did: its completion time, split without a remainder.
//!
//! The walk goes backwards, from the last byte's arrival at the receiver to the moment at which the
//! sender was told to send. Every step explains one stretch of time, and the stretches meet:
//!
//! 1. A packet's way: propagation and serialisation of each link, queueing before each link.
//! 2. What let the packet leave. Data sent again: its first transmission; the time between is
//!    *retransmission*, but from the moment on at which the receiver missed it, or from its first word after the loss, the
//!    wait for the credit that released it is *waiting for credit*. Data that a credit released: that credit. Other packets: the last packet of the
//!    connection that had come in before. The time between is *host*, except while the host's line was
//!    busy with the connection's own packets: that is serialisation, or retransmission where they were sent again.
//! 3. A credit left because the receiver knew of the message: from the first packet of the sender that
//!    came in after the message began. The time between is *waiting for credit*, except for what the
//!    message's own other frames before it need on the slowest link of the path, one behind the other: that
//!    is serialisation, and no credit scheme can save it.
//! 4. A message that waited for the one before it on its connection: what had that acknowledged, and what was lost of it.
//!
//! `docs/why.md` has an example.

mod open;
mod paused;
mod repeats;

use super::pauses::Pauses;
use super::{Fate, Flight, Network};
use model::wire::Codec;
use model::{Class, ConnId};
use repeats::Own;
use serde::Serialize;
use std::ops::Range;
use units::{Span, Time};

/// What a stretch of a message's time was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The receiver had not given the credit yet.
    Credit,
    /// An endpoint had what it needed and did not send, or its line was busy with other connections.
    Host,
    /// Bits were on their way, fixed latencies of links included.
    Propagation,
    /// Bits were put on a line.
    Serialisation,
    /// A packet waited at a port.
    Queueing,
    /// A packet waited at a gate that the next node had closed.
    Paused,
    /// Bytes had been sent in vain, and were not sent again yet.
    Retransmission,
    /// Nothing of the message moved any more when the run ended.
    Unfinished,
}

impl Part {
    /// Every part, in the order of tables.
    pub const ALL: [Self; 8] = [
        Self::Credit,
        Self::Host,
        Self::Propagation,
        Self::Serialisation,
        Self::Queueing,
        Self::Paused,
        Self::Retransmission,
        Self::Unfinished,
    ];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Credit => "waiting for credit",
            Self::Host => "host",
            Self::Propagation => "propagation",
            Self::Serialisation => "serialisation",
            Self::Queueing => "queueing",
            Self::Paused => "paused",
            Self::Retransmission => "retransmission",
            Self::Unfinished => "unfinished",
        }
    }
}

/// The message that is asked about.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Its number in the traffic.
    pub message: u32,
    /// Its connection.
    pub conn: u32,
    /// The host that sends it.
    pub src: u32,
    /// The host that receives it.
    pub dst: u32,
    /// Where it starts in the stream of its connection and direction, in bytes.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// When the sender was told to send.
    pub start: Time,
    /// Where the message before it on its connection kept it from beginning: from when to when that was under way.
    pub ahead: Option<Range<Time>>,
    /// When its receiver took what had not come of its connection for lost, where the transport says so; ascending.
    pub missed: Vec<Time>,
    /// When the receiver had the last byte; `None` where the run ended before.
    pub end: Option<Time>,
    /// When the run ended.
    pub run_end: Time,
    /// What it would take in an idle network.
    pub ideal: Span,
}

/// One stretch of the message's time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Segment {
    /// What it was spent on.
    pub part: Part,
    /// Its first moment, in picoseconds since the run began.
    pub from_ps: u64,
    /// Its end.
    pub until_ps: u64,
    /// The link or the host.
    pub place: String,
    /// Index of the packet in [`Why::packets`], where the stretch is part of its way.
    pub packet: Option<usize>,
    /// What happened, in words.
    pub note: String,
}

/// One part of the sum.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartSum {
    /// The part.
    pub part: Part,
    /// Picoseconds.
    pub ps: u64,
    /// The same by link or host, the longest first.
    pub places: Vec<(String, u64)>,
}

/// One packet of the ladder.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// When its first bit left, in picoseconds since the run began.
    pub sent_ps: u64,
    /// When its last bit reached its host.
    pub arrived_ps: Option<u64>,
    /// Whether the message's sender sent it; otherwise the receiver did.
    pub forth: bool,
    /// What it says, in the transport's words.
    pub what: String,
    /// Its class.
    pub class: &'static str,
    /// Bytes on the wire.
    pub size: u16,
    /// What became of it, where it did not arrive.
    pub fate: Option<String>,
    /// Whether it was dropped, or taken by a fault.
    pub lost: bool,
    /// Whether a port marked it.
    pub marked: bool,
    /// Whether the completion time goes through it.
    pub on_path: bool,
    /// Its links: node that sends, node that receives, first bit out, last bit in (picoseconds).
    pub hops: Vec<(String, String, u64, u64)>,
}

/// Why a message took as long as it did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Why {
    /// The message's number.
    pub message: u32,
    /// Its connection.
    pub conn: u32,
    /// Name of the host that sends it.
    pub src: String,
    /// Name of the host that receives it.
    pub dst: String,
    /// Bytes.
    pub size: u64,
    /// When the sender was told to send, in picoseconds.
    pub start_ps: u64,
    /// When the receiver had the last byte, or the run ended.
    pub end_ps: u64,
    /// Whether the receiver had the last byte.
    pub finished: bool,
    /// What it would take in an idle network.
    pub ideal_ps: u64,
    /// Every part with its sum; together exactly `end_ps - start_ps`.
    pub parts: Vec<PartSum>,
    /// The stretches, from the message's start to its end without gap or overlap.
    pub path: Vec<Segment>,
    /// Packets of the connection that were sent in that time, by the moment they left.
    pub packets: Vec<Row>,
    /// What its transport calls a credit.
    #[serde(skip)]
    pub credit: String,
}

/// What a transport calls packets that are credits and nothing else: `credit`, `grant`, `pull`, `token`.
pub fn credit_word(codec: &dyn Codec) -> Option<String> {
    let kinds = codec.layout().map_or(&[][..], |layout| layout.kinds);
    let credit = kinds.iter().find(|kind| kind.classes == [Class::Credit]);
    credit.map(|kind| kind.name.to_lowercase())
}

impl Why {
    /// Explains the message from the flights of its connection, and from what flow controls did.
    pub fn of(network: &Network, flights: &[Flight], pauses: &Pauses, asked: &Asked) -> Self {
        let end = asked.end.unwrap_or(asked.run_end).max(asked.start);
        // What was lost of the message before may be what this one waits for.
        let since = asked.ahead.as_ref().map_or(asked.start, |own| own.start);
        let mut chosen: Vec<&Flight> = flights
            .iter()
            .filter(|flight| is_of(network, flight, asked))
            .filter(|flight| flight.sent() <= end && from_host(network, flight))
            .filter(|flight| last_moment(flight) >= asked.start || flight.sent() >= since)
            .collect();
        let is_own = |flight: &Flight| last_moment(flight) >= asked.start;
        chosen.sort_by_key(|flight| (is_own(flight), flight.sent()));
        let over = chosen.partition_point(|flight| !is_own(flight));
        let mut walk = Walk {
            network,
            asked,
            pauses,
            again: repeats::again(network, &chosen),
            flights: &chosen,
            over,
            path: Vec::new(),
        };
        walk.back_from(end);
        let mut path = walk.path;
        path.reverse();
        let mut packets: Vec<Row> = chosen[over..]
            .iter()
            .map(|flight| row(network, asked, flight))
            .collect();
        for packet in path.iter().filter_map(|segment| segment.packet) {
            packets[packet].on_path = true;
        }
        Self {
            message: asked.message,
            conn: asked.conn,
            src: network.name(asked.src).to_owned(),
            dst: network.name(asked.dst).to_owned(),
            size: asked.size,
            start_ps: asked.start.0,
            end_ps: end.0,
            finished: asked.end.is_some(),
            ideal_ps: asked.ideal.0,
            parts: sums(&path),
            path,
            packets,
            credit: credit_word(network.codec(ConnId(asked.conn))).unwrap_or("credit".into()),
        }
    }

    /// The name of a part, with the transport's word for what a message waits for.
    pub fn name(&self, part: Part) -> String {
        match part {
            Part::Credit => format!("waiting for {}", self.credit),
            other => other.name().to_owned(),
        }
    }

    /// How long the message took, or has taken.
    pub fn took(&self) -> Span {
        Span(self.end_ps - self.start_ps)
    }

    /// The part that took longest.
    pub fn largest(&self) -> &PartSum {
        let longest = self.parts.iter().rev().max_by_key(|sum| sum.ps);
        longest.expect("every part has a sum")
    }
}

/// Whether a packet is one of the connection, or speaks of it to the sender's arbiter and back.
fn is_of(network: &Network, flight: &Flight, asked: &Asked) -> bool {
    let conn = flight.packet.conn;
    if conn.0 == asked.conn {
        return true;
    }
    let ends = network.conns.get(conn.0 as usize);
    let own = ends.is_some_and(|&(a, b)| a == asked.src || b == asked.src);
    own && network.codec(conn).about(&flight.packet) == Some(asked.conn)
}

fn from_host(network: &Network, flight: &Flight) -> bool {
    flight.from(network) < network.hosts
}

/// The last that is known of it.
fn last_moment(flight: &Flight) -> Time {
    flight.hops[flight.hops.len() - 1].at
}

fn sums(path: &[Segment]) -> Vec<PartSum> {
    let sum = |part: Part| {
        let mut places: Vec<(String, u64)> = Vec::new();
        for segment in path.iter().filter(|segment| segment.part == part) {
            let ps = segment.until_ps - segment.from_ps;
            match places.iter_mut().find(|place| place.0 == segment.place) {
                Some(place) => place.1 += ps,
                None => places.push((segment.place.clone(), ps)),
            }
        }
        places.sort_by_key(|place| std::cmp::Reverse(place.1)); // stable: ties in order of the path
        let ps = places.iter().map(|place| place.1).sum();
        PartSum { part, ps, places }
    };
    let all = Part::ALL.into_iter().map(sum);
    all.filter(|sum| sum.ps > 0 || !matches!(sum.part, Part::Unfinished | Part::Paused))
        .collect()
}

fn row(network: &Network, asked: &Asked, flight: &Flight) -> Row {
    let lost = |how: &str, place: String| Some(format!("{how} at {place}"));
    Row {
        sent_ps: flight.sent().0,
        arrived_ps: flight.arrived().map(|at| at.0),
        forth: flight.from(network) == asked.src,
        what: network.codec(flight.packet.conn).describe(&flight.packet),
        class: flight.packet.class().name(),
        size: flight.packet.size,
        fate: match flight.fate {
            Fate::Arrived => flight.trimmed.map(|link| {
                let how = if flight.returned {
                    "trimmed and sent back"
                } else {
                    "trimmed"
                };
                format!("{how} at {}", network.link_name(link))
            }),
            Fate::Dropped(link, reason, _) => Some(format!(
                "dropped at {}: {}",
                network.link_name(link),
                reason.name()
            )),
            Fate::Lost => lost(
                "lost",
                network.link_name(flight.hops[flight.hops.len() - 1].link),
            ),
            Fate::Stopped(node, reason, _) => lost(reason.name(), network.name(node).to_owned()),
            Fate::UnderWay => Some("under way".to_owned()),
        },
        lost: !matches!(flight.fate, Fate::Arrived | Fate::UnderWay),
        marked: flight.marked,
        on_path: false,
        hops: flight
            .hops
            .iter()
            .map(|hop| {
                let link = network.links[hop.link as usize];
                let name = |node| network.name(node).to_owned();
                (name(link.from), name(link.to), hop.start.0, hop.at.0)
            })
            .collect(),
    }
}

/// Why a packet left when it did.
enum Released {
    /// It repeats what this flight carried in vain.
    Again(usize),
    /// This flight came in, and the part of the time since.
    By(usize, Part),
    /// By the message itself.
    Told(Part),
}

struct Walk<'a> {
    network: &'a Network,
    asked: &'a Asked,
    pauses: &'a Pauses,
    /// The connection's: first so many that were over when the message began, then the others, both by the moment they
    /// left.
    flights: &'a [&'a Flight],
    over: usize,
    /// Which of them carry bytes that others carried before.
    again: Vec<bool>,
    /// Backwards.
    path: Vec<Segment>,
}

impl Walk<'_> {
    /// Explains the time from the message's start to `end`.
    fn back_from(&mut self, end: Time) {
        let (asked, finished) = (self.asked, self.asked.end.is_some());
        let rest = if finished {
            Part::Host
        } else {
            Part::Unfinished
        };
        if !finished && let Some((at, link)) = self.stands() {
            self.stood(at, link, end);
            return self.back_through(at);
        }
        let open = if finished { None } else { self.begins_at() };
        let Some(at) = self.last(end) else {
            let place = self.name(if finished { asked.dst } else { asked.src });
            return self.after(asked.start..end, (rest, "no packet"), &place, open);
        };
        let arrived = self.flights[at].arrived().expect("the last one arrived");
        let place = self.name(self.flights[at].goes_to(self.network));
        self.after(arrived..end, (rest, "after the last packet"), &place, open);
        self.way(at);
        self.back_through(at);
    }

    /// Explains the time from the message's start until flight `at` left.
    fn back_through(&mut self, mut at: usize) {
        let asked = self.asked;
        // Every step leads to an earlier moment, or from a packet to one that came in before it left.
        loop {
            let (flight, left) = (self.flights[at], self.flights[at].sent());
            if left <= asked.start {
                return;
            }
            let host = self.name(flight.from(self.network));
            match self.released(at) {
                Released::Again(first) => {
                    let since = self.flights[first].sent();
                    let known = self.until_credit(at).unwrap_or(left);
                    let note = self.in_vain(first);
                    self.add(Part::Retransmission, since..known, host, None, &note);
                    at = first;
                }
                Released::By(cause, part) => {
                    let since = self.flights[cause].arrived().expect("it came in");
                    self.pause(part, since..left, host, at);
                    self.way(cause);
                    at = cause;
                }
                Released::Told(part) => {
                    self.pause(part, asked.start..left, host, at);
                    return;
                }
            }
        }
    }

    fn name(&self, node: u32) -> String {
        self.network.name(node).to_owned()
    }

    /// Whether a flight carries bytes of the message. An empty message is an empty frame.
    fn carries(&self, flight: &Flight) -> bool {
        let Some((offset, length)) = self
            .network
            .codec(flight.packet.conn)
            .payload(&flight.packet)
        else {
            return false;
        };
        let (from, to) = (self.asked.offset, self.asked.offset + self.asked.size);
        let inside = offset < to && offset + u64::from(length) > from;
        let empty = from == to && length == 0 && offset == from;
        flight.packet.to().0 == self.asked.dst && (inside || empty)
    }

    /// The flight that ended the message: the last of its bytes, and where there are none perhaps its announcement. Of one
    /// that did not end, the last that came in.
    fn last(&self, end: Time) -> Option<usize> {
        let asked = self.asked;
        let last = |which: &dyn Fn(&Flight) -> bool| {
            let own = self.flights.iter().enumerate().skip(self.over);
            let arrivals = own.filter_map(|(i, flight)| {
                let at = flight.arrived().filter(|&at| at <= end)?;
                which(flight).then_some((at, i))
            });
            arrivals.max().map(|(_, i)| i)
        };
        if asked.end.is_none() {
            return last(&|_| true);
        }
        let told = |flight: &Flight| {
            flight.packet.to().0 == asked.dst && flight.packet.class() != Class::Credit
        };
        last(&|flight| self.carries(flight) && flight.trimmed.is_none())
            .or_else(|| last(&told).filter(|_| asked.size == 0))
    }

    /// Adds a stretch before those already there, as far as it lies within the message's time.
    fn add(
        &mut self,
        part: Part,
        time: Range<Time>,
        place: String,
        packet: Option<usize>,
        note: &str,
    ) {
        let from = time.start.max(self.asked.start);
        if from < time.end {
            self.path.push(Segment {
                part,
                from_ps: from.0,
                until_ps: time.end.0,
                place,
                packet: packet.map(|at| at - self.over),
                note: note.to_owned(),
            });
        }
    }

    /// Adds the way of a packet, backwards.
    fn way(&mut self, at: usize) {
        let flight = self.flights[at];
        let what = self
            .network
            .codec(flight.packet.conn)
            .describe(&flight.packet);
        for (n, hop) in flight.hops.iter().enumerate().rev() {
            let place = || self.network.link_name(hop.link);
            let place = place();
            let sent = hop.start.after(self.network.line_time(hop.link, hop.size));
            self.add(
                Part::Propagation,
                sent..hop.at,
                place.clone(),
                Some(at),
                &what,
            );
            self.add(
                Part::Serialisation,
                hop.start..sent,
                place.clone(),
                Some(at),
                &what,
            );
            if let Some(before) = n.checked_sub(1) {
                let came = flight.hops[before].at;
                self.queued(came..hop.start, hop.link, at, &what);
            }
        }
    }

    /// Adds the time at a host before flight `at` left it, less what the connection's own frames took.
    fn pause(&mut self, part: Part, time: Range<Time>, host: String, at: usize) {
        let time = time.start.max(self.asked.start)..time.end;
        let own = match part {
            Part::Credit if self.releases(self.flights[at]) => self.own_frames(at, time.start),
            _ => self.own_line(&time, at),
        };
        let packet = self.flights[at].packet;
        let what = self.network.codec(packet.conn).describe(&packet);
        let mut split = time.end;
        for (part, took, which) in [
            (Part::Serialisation, own.first, "own packets"),
            (Part::Retransmission, own.again, "own packets sent again"),
        ] {
            let from = Time(split.0 - took.0.min(split.since(time.start).0));
            let note = format!("{which} before {what}");
            self.add(part, from..split, own.place.clone(), None, &note);
            split = from;
        }
        let paused = (part == Part::Host).then(|| self.held_at_host(&time, at));
        if let Some((kept, by, note)) = paused.flatten() {
            let from = Time(split.0 - kept.0.min(split.since(time.start).0));
            self.add(
                Part::Paused,
                from..split,
                by,
                None,
                &format!("{note}before {what}"),
            );
            split = from;
        }
        self.add(
            part,
            time.start..split,
            host,
            None,
            &format!("before {what}"),
        );
    }

    /// How long within `time` the line of the host that sent `at` was busy with the connection's packets.
    fn own_line(&self, time: &Range<Time>, at: usize) -> Own {
        let link = self.flights[at].hops[0].link;
        let mut own = Own {
            place: self.network.link_name(link),
            ..Own::default()
        };
        for (flight, again) in self.flights[..at].iter().zip(&self.again) {
            if flight.hops[0].link == link {
                let took = self.network.line_time(link, flight.packet.size);
                let end = flight.sent().after(took);
                let busy = end.min(time.end).since(flight.sent().max(time.start));
                let sum = if *again {
                    &mut own.again
                } else {
                    &mut own.first
                };
                *sum += busy;
            }
        }
        own
    }

    fn answers(&self, data: &Flight, credit: &Flight) -> Option<bool> {
        self.network
            .codec(data.packet.conn)
            .answers(&data.packet, &credit.packet)
    }

    /// Whether a flight lets data leave.
    fn releases(&self, word: &Flight) -> bool {
        let codec = self.network.codec(word.packet.conn);
        codec.releases(&word.packet)
    }

    /// Whether data waited for a word: for a credit, unless that is another's; for what stands for a lost one, where it
    /// is the data's own. Credits come first.
    fn released_by(&self, data: &Flight, word: &Flight) -> Option<bool> {
        let is_credit = word.packet.class() == Class::Credit;
        let may = match self.answers(data, word) {
            Some(answers) => answers && self.releases(word),
            None => is_credit,
        };
        may.then_some(is_credit)
    }

    fn released(&self, at: usize) -> Released {
        let flight = self.flights[at];
        if let Some(first) = self.first_try(at) {
            return Released::Again(first);
        }
        let (left, host) = (flight.sent(), flight.from(self.network));
        let came_in = |cause: &Flight| {
            let here = cause.goes_to(self.network) == host;
            cause
                .arrived()
                .filter(|&at| here && at <= left && at > self.asked.start)
        };
        let all = || self.flights.iter().enumerate();
        match flight.packet.class() {
            Class::Unscheduled => match self.let_begin(at) {
                Some(cause) => Released::By(cause, Part::Host),
                None => Released::Told(Part::Host),
            },
            _ if self.releases(flight) => {
                // The first word of the message, which cannot be from before it could begin.
                let ahead = self.asked.ahead.as_ref();
                let begun = ahead.map_or(self.asked.start, |own| own.end);
                let knew = all()
                    .filter(|(_, cause)| cause.sent() >= begun)
                    .filter_map(|(i, cause)| Some((came_in(cause)?, i)));
                match self.first_word(&knew.collect::<Vec<_>>(), host) {
                    Some(i) => Released::By(i, Part::Credit),
                    None => Released::Told(Part::Credit),
                }
            }
            class => {
                let credits = class == Class::Scheduled;
                let cause = all()
                    .filter_map(|(i, cause)| {
                        let first = if credits {
                            self.released_by(flight, cause)?
                        } else {
                            self.answers(flight, cause) != Some(false)
                        };
                        Some((first, came_in(cause)?, i))
                    })
                    .filter(|&(first, ..)| first || credits)
                    .max();
                let timed = credits && self.network.codec(flight.packet.conn).is_timed();
                // Who is its own arbiter tells itself the moments.
                let part = if timed { Part::Credit } else { Part::Host };
                match cause {
                    Some((_, _, i)) => Released::By(i, part),
                    None => Released::Told(part),
                }
            }
        }
    }
}
