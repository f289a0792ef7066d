//! Credits of links: a packet leaves where the other end has said that it has room for it.
#![doc = include_str!("README.md")]

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::agenda::Agenda;
use crate::ports::{drops_at_most, enough, leaves_half};
use model::intent::PortSpec;
use model::{Blocks, CreditFrame, DropReason, LinkCredits, Packet, Round};
use parts::{Caution, Control, ControlFactory, Neighbour, ParamError, Parameter, Place, Refusal};
use switching::{FlowControl, GateOf, GateState, Passage, Say};
use units::{Bytes, Time};

/// The flow control, for a registry.
pub static CBFC: Kind = Kind;

/// Credits of links.
#[derive(Debug)]
pub struct Kind;

impl Control for Kind {
    fn name(&self) -> &'static str {
        "cbfc"
    }
    fn summary(&self) -> &'static str {
        "credits per link and lane, as InfiniBand and Ultra Ethernet have them: what has no room ahead does not leave"
    }
    fn parameters(&self) -> Vec<Parameter> {
        params::parameters()
    }
    fn configure(&self, table: &toml::Table) -> Result<Box<dyn ControlFactory>, ParamError> {
        Ok(Box::new(Params::read(table)?))
    }
}

impl Params {
    fn round(&self) -> Round {
        Round::of_bits(self.counter_bits)
    }

    fn blocks(&self) -> Blocks {
        Blocks::new(self.block, self.overhead)
    }

    /// The memory that a frame takes: whole blocks.
    fn taken(&self, frame: u64) -> u64 {
        (frame + u64::from(self.overhead)).next_multiple_of(self.block.into())
    }

    /// The memory that a line of largest frames takes until it is told of room.
    fn wanted(&self, line: &Neighbour<'_>, frame: u64) -> u64 {
        let brought = line.slack(frame, 0) + frame;
        (brought * self.taken(frame)).div_ceil(frame) + self.update
    }

    /// Room for each lane of a port, in bytes, and what counts could grant at most.
    fn room(&self, line: &Neighbour<'_>, frame: u64) -> (u64, u64) {
        let most = self.blocks().bytes(self.round().half());
        let room = self
            .buffer
            .unwrap_or_else(|| self.wanted(line, frame).min(most));
        let block = u64::from(self.block);
        (room / block * block, most)
    }

    /// The same in blocks. [`ControlFactory::suits`] refuses what is more than counts can grant.
    fn size(&self, line: &Neighbour<'_>, frame: u64) -> u16 {
        let (room, most) = self.room(line, frame);
        u16::try_from(room.min(most) / u64::from(self.block)).unwrap_or(u16::MAX)
    }
}

impl ControlFactory for Params {
    fn make(&self, place: &Place<'_>) -> Box<dyn FlowControl> {
        Box::new(Cbfc::new(self, place))
    }
    fn port(&self, port: PortSpec) -> Result<PortSpec, Refusal> {
        drops_at_most("cbfc", &port)?;
        Ok(port)
    }
    fn memory(&self) -> Bytes {
        Bytes(12_000_000)
    }
    /// What all lanes of all ports hold.
    fn needs(&self, place: &Place<'_>) -> Bytes {
        let room = |line| self.room(line, place.frame).0 * u64::from(self.lanes);
        Bytes(place.lines.iter().map(room).sum())
    }
    /// Little room, or counts of few bits, promise too little for a long line.
    fn warns(&self, place: &Place<'_>, _: u8) -> Option<Caution> {
        let wanted = |line| self.wanted(line, place.frame);
        let line = place.lines.iter().max_by_key(|&line| wanted(line))?;
        let (wanted, (room, _)) = (wanted(line), self.room(line, place.frame));
        if wanted < room + u64::from(self.block) {
            return None;
        }
        let said = format!(
            "a line of {} takes {} until it is told of room, and credits promise {}: it stands idle in between",
            line.back,
            Bytes(wanted),
            Bytes(room)
        );
        let mut enough = self.clone();
        let counts = |bits: &u8| self.blocks().bytes(Round::of_bits(*bits).half()) >= wanted;
        let Some(bits) = (self.counter_bits..=16).find(counts) else {
            return Some(Caution {
                lacks: wanted,
                said: format!("{said}; no counts reach so far, choose another flow control"),
                keys: Vec::new(),
                with: None,
            });
        };
        let mut keys = Vec::new();
        if self.buffer.is_some() {
            let room = wanted.next_multiple_of(self.block.into());
            enough.buffer = Some(room);
            keys.push(format!("switch.cbfc.buffer = \"{room}B\""));
        }
        if bits > self.counter_bits {
            enough.counter_bits = bits;
            keys.push(format!("switch.cbfc.counter_bits = {bits}"));
        }
        Some(Caution {
            lacks: wanted,
            said,
            keys,
            with: Some(Box::new(enough)),
        })
    }
    /// Credits promise room: a memory without it would lose what they let leave.
    fn suits(&self, place: &Place<'_>) -> Result<(), Refusal> {
        let refuse = |place, reason, instead| {
            Err(Refusal {
                place,
                reason,
                instead,
            })
        };
        // A question and an answer for each lane.
        let each = ("switch.cbfc.resend", self.resend, 1);
        leaves_half(place, each, 2 * usize::from(self.lanes))?;
        // Two frames: one may be under way while the other end waits to tell of the room of the one before.
        let least = self.update + 2 * self.taken(place.frame);
        let least = least.next_multiple_of(self.block.into());
        for line in place.lines {
            let (room, most) = self.room(line, place.frame);
            if room > most {
                let reason = format!("of {} is more than counts can grant", Bytes(room));
                let instead = format!("write \"{most}B\" or less, or more counter_bits");
                return refuse("switch.cbfc.buffer", reason, instead);
            }
            if room < least {
                let reason = format!("of {} holds no update and two frames", Bytes(room));
                let instead = format!("write \"{least}B\" or more, or a smaller update");
                return refuse("switch.cbfc.buffer", reason, instead);
            }
        }
        let kept = self.needs(place).get();
        if kept > place.memory.get() {
            let reason = format!("has {}, and credits promise {}", place.memory, Bytes(kept));
            let fewer = if self.lanes > 1 {
                ", or fewer lanes"
            } else {
                ""
            };
            return refuse("switch.shared_buffer", reason, enough(kept) + fewer);
        }
        Ok(())
    }
    fn short_of_room(&self, why: DropReason) -> Option<String> {
        let help = "a packet that comes twice takes room that credits promised to another";
        (why == DropReason::Headroom).then(|| help.to_owned())
    }
    fn figures(&self, place: &Place<'_>) -> Vec<(String, String)> {
        let first = place.lines.first();
        let room = first.map_or(0, |line| self.room(line, place.frame).0);
        let figure = |name: &str, value: String| (name.to_owned(), value);
        vec![
            figure("room", format!("{} for each lane of port 0", Bytes(room))),
            figure(
                "memory",
                format!(
                    "{}, of which credits promise {}",
                    place.memory,
                    self.needs(place)
                ),
            ),
        ]
    }
    fn resolved(&self) -> toml::Table {
        Self::resolved(self)
    }
}

/// A lane of a port, as the end that takes packets.
#[derive(Debug)]
struct Room {
    /// Blocks that it holds at most, and holds.
    size: u16,
    held: u16,
    /// Most blocks beyond that which it ever held, for packets that nobody asked it about.
    beyond: u16,
    /// Blocks that have come, lost ones included as far as the neighbour has said. [ABR]
    received: u16,
    /// The limit that the neighbour was told last.
    told: u16,
}

impl Room {
    /// Whether it has room for so many blocks more.
    fn has(&self, blocks: u16) -> bool {
        self.held + blocks <= self.size
    }
}

/// A lane of a port, as the end that sends.
#[derive(Debug)]
struct Way {
    /// Packets that wait for it.
    waits: u32,
    gate: GateState,
    /// A question is planned.
    armed: bool,
}

/// The flow control of one switch.
struct Cbfc {
    params: Params,
    blocks: Blocks,
    frame: u16,
    /// By port and lane.
    rooms: Vec<Room>,
    ways: Vec<Way>,
    /// By port: what may be sent; none where a host takes all that its line brings.
    credits: Vec<Option<LinkCredits>>,
    /// Lanes that may have waited for too long.
    agenda: Agenda<usize>,
    /// Packets for which there was no room, questions that were answered, and updates.
    overruns: u64,
    answered: u64,
    updates: u64,
}

impl Cbfc {
    fn new(params: &Params, place: &Place<'_>) -> Self {
        let lanes = usize::from(params.lanes);
        let frame = u16::try_from(place.frame).unwrap_or(u16::MAX);
        let mut all = Self {
            params: params.clone(),
            blocks: params.blocks(),
            frame,
            rooms: Vec::new(),
            ways: Vec::new(),
            credits: Vec::new(),
            agenda: Agenda::new(),
            overruns: 0,
            answered: 0,
            updates: 0,
        };
        for line in place.lines {
            let size = params.size(line, place.frame);
            all.rooms.extend((0..lanes).map(|_| Room {
                size,
                held: 0,
                beyond: 0,
                received: 0,
                told: size,
            }));
            all.ways.extend((0..lanes).map(|_| Way {
                waits: 0,
                gate: GateState::Open,
                armed: false,
            }));
            let theirs = params.size(&line.mirrored(), place.frame);
            all.credits
                .push((!line.is_host).then(|| all.granted(theirs)));
        }
        all
    }

    fn granted(&self, room: u16) -> LinkCredits {
        let Params { lanes, resend, .. } = self.params;
        let round = self.params.round();
        LinkCredits::new(round, self.blocks, lanes, room, self.frame, resend)
    }

    fn place(&self, port: u16, lane: u8) -> usize {
        usize::from(port) * usize::from(self.params.lanes) + usize::from(lane)
    }

    fn place_of(&self, port: u16, packet: &Packet) -> usize {
        self.place(port, packet.priority().min(self.params.lanes - 1))
    }

    /// The port and the lane of a place.
    fn of_place(&self, place: usize) -> (u16, u8) {
        let lanes = usize::from(self.params.lanes);
        let port = u16::try_from(place / lanes).expect("ports have 16 bits");
        let lane = u8::try_from(place % lanes).expect("at most eight");
        (port, lane)
    }

    /// A packet of so many blocks has come, and waits. What there was no room for is no part of what was received: nobody
    /// had credits for it, as for a copy, and with it the neighbour would be promised room that is not there.
    fn take(&mut self, place: usize, blocks: u16) {
        let round = self.params.round();
        let room = &mut self.rooms[place];
        let fits = room.has(blocks);
        room.held += blocks;
        if fits {
            room.received = round.after(room.received, blocks);
        } else {
            self.overruns += 1; // of a kind that has a place of its own, and is not asked for
            room.beyond = room.beyond.max(room.held - room.size);
        }
    }

    /// Up to which count the neighbour of a place may send.
    fn limit(&self, place: usize) -> u16 {
        let room = &self.rooms[place];
        let free = room.size.saturating_sub(room.held);
        self.params.round().after(room.received, free)
    }

    /// Tells the neighbour of a place what there is room for.
    fn tell(&mut self, place: usize, say: &mut Say) {
        let (port, lane) = self.of_place(place);
        let limit = self.limit(place);
        self.rooms[place].told = limit;
        self.updates += 1;
        let sent = self.credits[usize::from(port)].as_ref();
        let said = CreditFrame {
            lane,
            sent: sent.map_or(0, |credits| credits.question(lane).sent),
            limit: Some(limit),
            asks: false,
        };
        say.frame(port, said.packet());
    }

    /// The same where that is far enough beyond what it was told last.
    fn tell_news(&mut self, place: usize, say: &mut Say) {
        let round = self.params.round();
        let news = round.ahead(self.limit(place), self.rooms[place].told);
        if news > 0 && self.blocks.bytes(news) >= self.params.update {
            self.tell(place, say);
        }
    }

    /// Opens or closes the gate of a place by what may be sent.
    fn weigh(&mut self, now: Time, place: usize, say: &mut Say) {
        let (port, lane) = self.of_place(place);
        let Some(credits) = &self.credits[usize::from(port)] else {
            return;
        };
        let gate = if credits.is_short(lane) {
            GateState::Bytes(credits.largest(lane))
        } else {
            GateState::Open
        };
        let way = &mut self.ways[place];
        if way.gate == gate {
            return;
        }
        if way.gate == GateState::Open {
            say.count_pause(port);
        }
        way.gate = gate;
        for priority in credits.priorities(lane) {
            say.gate(port, GateOf::Priority(priority), gate);
        }
        self.arm(now, place);
    }

    /// Plans a question where packets wait for credits. What comes meanwhile does not unplan it: a lane whose credits were lost
    /// opens and closes with each packet, and might be open whenever it was looked at.
    fn arm(&mut self, now: Time, place: usize) {
        let way = &mut self.ways[place];
        if way.gate != GateState::Open && way.waits > 0 && !way.armed {
            way.armed = true;
            self.agenda.add(now.after(self.params.resend), place);
        }
    }
}

impl FlowControl for Cbfc {
    fn grants(&self, port: u16) -> Option<LinkCredits> {
        Some(self.granted(self.rooms[self.place(port, 0)].size))
    }

    fn admits(&mut self, passage: &Passage<'_>, free: u64) -> Option<bool> {
        let place = self.place_of(passage.ingress, passage.packet);
        let room = &self.rooms[place];
        let fits = room.has(self.blocks.of(passage.packet.size));
        let fits = fits && u64::from(passage.packet.size) <= free;
        self.overruns += u64::from(!fits);
        Some(fits)
    }

    fn refused(&self, _: &Passage<'_>) -> DropReason {
        DropReason::Headroom
    }

    /// It takes no room, and its credit goes back.
    fn turned_away(&mut self, ingress: u16, packet: &Packet, say: &mut Say) {
        let place = self.place_of(ingress, packet);
        let round = self.params.round();
        let room = &mut self.rooms[place];
        room.received = round.after(room.received, self.blocks.of(packet.size));
        self.tell_news(place, say);
    }

    fn arrived(&mut self, now: Time, passage: &Passage<'_>, say: &mut Say) {
        let place = self.place_of(passage.ingress, passage.packet);
        let (before, blocks) = (self.rooms[place].held, self.blocks.of(passage.packet.size));
        // A line that is a little too fast keeps its neighbour short of credits with few frames here: the rest is under way
        // or not told yet.
        let frame = self.blocks.of(self.frame);
        let busy = (2 * frame).min(self.rooms[place].size - frame);
        if before <= busy && before + blocks > busy {
            let (lanes, own) = (self.params.lanes, passage.packet.priority());
            let lane = |priority: u8| priority.min(lanes - 1);
            for priority in (0..8).filter(|&other| lane(other) == lane(own)) {
                say.blame(passage.ingress, GateOf::Priority(priority));
            }
        }
        self.take(place, blocks);
        let place = self.place_of(passage.egress, passage.packet);
        self.ways[place].waits += 1;
        self.arm(now, place);
    }

    fn left(&mut self, now: Time, passage: &Passage<'_>, say: &mut Say) {
        let place = self.place_of(passage.ingress, passage.packet);
        self.rooms[place].held -= self.blocks.of(passage.packet.size);
        self.tell_news(place, say);
        let place = self.place_of(passage.egress, passage.packet);
        self.ways[place].waits -= 1;
        if let Some(credits) = &mut self.credits[usize::from(passage.egress)] {
            credits.spend(passage.packet);
            self.weigh(now, place, say);
        }
    }

    fn heard(&mut self, now: Time, port: u16, frame: &Packet, say: &mut Say) {
        let Some(said) = CreditFrame::of(frame).filter(|said| said.lane < self.params.lanes) else {
            return;
        };
        let place = self.place(port, said.lane);
        if let Some(credits) = &mut self.credits[usize::from(port)]
            && credits.hear(said).is_some()
        {
            self.weigh(now, place, say);
        }
        if said.asks {
            // What it has sent and we have not seen is lost: nothing overtakes on a link.
            self.answered += 1;
            self.rooms[place].received = self.params.round().after(said.sent, 0);
            self.tell(place, say);
        }
    }

    fn deadline(&self) -> Time {
        self.agenda.next()
    }

    fn on_deadline(&mut self, now: Time, say: &mut Say) {
        while let Some(place) = self.agenda.take(now) {
            self.ways[place].armed = false;
            let (port, lane) = self.of_place(place);
            if let Some(credits) = &self.credits[usize::from(port)] {
                say.frame(port, credits.question(lane).packet());
            }
            self.arm(now, place);
        }
    }

    fn count(&self, tell: &mut dyn FnMut(&'static str, u64)) {
        tell("credit updates", self.updates);
        tell("credits asked for", self.answered);
        tell("beyond credits", self.overruns);
    }

    fn check(&self) {
        for (place, room) in self.rooms.iter().enumerate() {
            let fits = room.held <= room.size + room.beyond;
            assert!(fits, "{place}: {room:?}");
        }
        for (place, way) in self.ways.iter().enumerate() {
            let waits = way.gate != GateState::Open && way.waits > 0;
            assert!(!waits || way.armed, "{place} waits and never asks: {way:?}");
        }
    }
}
