//! Priority flow control. [802.1Q s36]
//!
//! First what a scenario says and which switches it suits, then what a switch counts and says, at last its timers and watchdog.
#![doc = include_str!("README.md")]

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::agenda::Agenda;
use crate::ports::{drops_at_most, enough, holds_a_frame, part};
use model::intent::{PortSpec, QueueSpec};
use model::{DropReason, Packet, Signal};
use parts::{
    Caution, Control, ControlFactory, LINK_FRAME, Neighbour, ParamError, Parameter, Place, Refusal,
};
use switching::{FlowControl, GateOf, GateState, Passage, Say};
use units::{Bytes, Span, Time};

/// The flow control, for a registry.
pub static PFC: Kind = Kind;

/// Priority flow control.
#[derive(Debug)]
pub struct Kind;

impl Control for Kind {
    fn name(&self) -> &'static str {
        "pfc"
    }
    fn summary(&self) -> &'static str {
        "pauses a priority of the neighbour whose packets fill the switch (802.1Qbb)"
    }
    fn parameters(&self) -> Vec<Parameter> {
        params::parameters()
    }
    fn configure(&self, table: &toml::Table) -> Result<Box<dyn ControlFactory>, ParamError> {
        Ok(Box::new(Params::read(table)?))
    }
}

/// Refuses a pause that ends before it is said again: that happens after half of it, and may wait until the line has taken
/// a frame, and what is said of the other priorities. What lasts so long leaves more than half of the line, too: a frame is
/// larger than those of eight priorities.
fn lasts_until_said_again(
    place: &Place<'_>,
    lasting: Span,
    priorities: u64,
) -> Result<(), Refusal> {
    let Some(slowest) = place.lines.iter().map(|line| line.rate).min() else {
        return Ok(());
    };
    let wait = slowest.serialize(Bytes(place.frame + LINK_FRAME * priorities));
    let least = wait.times(2);
    if lasting >= least {
        return Ok(());
    }
    Err(Refusal {
        place: "switch.pfc.pause_time",
        reason: format!(
            "of {lasting} may be over before it is said again: half of it later, behind a frame of {} on a line of {slowest}",
            Bytes(place.frame)
        ),
        instead: format!("write \"{least}\" or more"),
    })
}

impl Params {
    /// Refuses a threshold that the smallest frame exceeds: then every packet pauses and its leaving resumes, and these frames
    /// wait behind each other for longer than headroom is derived for.
    fn lets_a_frame_in(&self, place: &Place<'_>) -> Result<(), Refusal> {
        let least = Pfc::new(self, place).threshold(0);
        if least >= LINK_FRAME {
            return Ok(());
        }
        Err(Refusal {
            place: if self.xoff.is_some() {
                "switch.pfc.xoff"
            } else {
                "switch.pfc.alpha"
            },
            reason: format!(
                "lets {} in before it pauses, less than the smallest frame has: every packet pauses",
                Bytes(least)
            ),
            instead: match self.xoff {
                Some(_) => format!("write \"{LINK_FRAME}B\" or more"),
                None => format!("write more, or \"{LINK_FRAME}B\" or more as switch.pfc.reserve"),
            },
        })
    }
}

impl ControlFactory for Params {
    fn make(&self, place: &Place<'_>) -> Box<dyn FlowControl> {
        Box::new(Pfc::new(self, place))
    }
    fn port(&self, port: PortSpec) -> Result<PortSpec, Refusal> {
        drops_at_most("pfc", &port)?;
        Ok(port)
    }
    fn memory(&self) -> Bytes {
        Bytes(12_000_000)
    }
    /// Nobody shares what is kept as headroom: a memory without room for it loses what pauses should save, and in one
    /// that is all headroom every packet of a priority without it would be dropped.
    fn suits(&self, place: &Place<'_>) -> Result<(), Refusal> {
        holds_a_frame(place)?;
        if let Some(lasting) = self.pause_time {
            lasts_until_said_again(place, lasting, self.lossless.into())?;
        }
        // The frame in headroom is what a pause is asked for: without room for one, nobody is ever paused.
        if let Some(given) = self.headroom.filter(|&given| given < place.frame) {
            return Err(Refusal {
                place: "switch.pfc.headroom",
                reason: format!(
                    "asks for a pause when a frame lies in headroom, and {} holds none of {}",
                    Bytes(given),
                    Bytes(place.frame)
                ),
                instead: "remove switch.pfc.headroom: what it takes to lose nothing is derived"
                    .to_owned(),
            });
        }
        let refuse = |reason: String| {
            let fewer = if self.lossless > 1 {
                ", or fewer priorities as switch.pfc.lossless"
            } else {
                ""
            };
            Err(Refusal {
                place: "switch.shared_buffer",
                reason,
                instead: enough(self.needs(place).get()) + fewer,
            })
        };
        let kept = Bytes(Pfc::kept(self, place));
        if kept > place.memory {
            return refuse(format!(
                "has {}, and needs {kept} as headroom and reserves to lose nothing",
                place.memory
            ));
        }
        self.lets_a_frame_in(place)?;
        // A queue gets what none before it takes.
        let without = |queues: &[QueueSpec], at: usize| {
            let takes = queues[at].takes;
            let before = queues[..at]
                .iter()
                .filter(|queue| queue.is_data() && queue.takes.lanes & takes.lanes == takes.lanes);
            let gone = before.fold(0, |gone, queue| gone | queue.takes.priorities);
            let first = (takes.priorities & !gone).trailing_zeros();
            queues[at].is_data() && (u32::from(self.lossless)..8).contains(&first)
        };
        let mut ports = place.lines.iter().map(|line| &line.port.queues[..]);
        let any = ports.any(|queues| (0..queues.len()).any(|at| without(queues, at)));
        let pfc = Pfc::new(self, place);
        if pfc.threshold(PRIORITIES - 1) >= place.frame || !any {
            return Ok(());
        }
        if let Some(given) = self.xoff.filter(|&given| given < place.frame) {
            return Err(Refusal {
                place: "switch.pfc.xoff",
                reason: format!(
                    "of {} holds no frame of {}, and priorities without headroom lose what is above it",
                    Bytes(given),
                    Bytes(place.frame)
                ),
                instead: format!(
                    "write \"{}B\" or more, or more priorities as switch.pfc.lossless",
                    place.frame
                ),
            });
        }
        refuse(format!(
            "keeps {kept} of its {} as headroom, and no frame has room in the rest",
            place.memory
        ))
    }
    fn needs(&self, place: &Place<'_>) -> Bytes {
        // And two frames for every port.
        Bytes(Pfc::kept(self, place) + 2 * place.frame * place.lines.len() as u64)
    }
    fn warns(&self, place: &Place<'_>, priorities: u8) -> Option<Caution> {
        if self.lossless >= priorities {
            return None;
        }
        let all = Self {
            lossless: priorities,
            ..self.clone()
        };
        Some(Caution {
            lacks: all.needs(place).get(),
            said: format!(
                "the transport uses {priorities} priorities, and nothing is lost of {} alone: others may be dropped",
                self.lossless
            ),
            keys: vec![format!("switch.pfc.lossless = {priorities}")],
            with: Some(Box::new(all)),
        })
    }
    fn lost_frames(&self) -> Option<String> {
        let help = "a pause whose resume is lost never ends; set switch.pfc.pause_time = \"100us\"";
        self.pause_time.is_none().then(|| help.to_owned())
    }
    /// Priorities that are not lossless have no room beyond the threshold.
    fn short_of_room(&self, why: DropReason) -> Option<String> {
        let help = match self.headroom {
            Some(given) => format!(
                "switch.pfc.headroom = {} does not hold what comes after a pause was asked for; remove it",
                Bytes(given)
            ),
            None => "more came than a pause leaves under way".to_owned(),
        };
        (why == DropReason::Headroom).then_some(help)
    }
    fn figures(&self, place: &Place<'_>) -> Vec<(String, String)> {
        let pfc = Pfc::new(self, place);
        let kept: u64 = pfc.headroom.iter().sum::<u64>() * u64::from(self.lossless);
        let first = pfc.headroom.first().copied().unwrap_or(0);
        let figure = |name: &str, value: String| (name.to_owned(), value);
        vec![
            figure("headroom", format!("{} of port 0", Bytes(first))),
            figure(
                "memory",
                format!(
                    "{}, of which {} headroom and {} shared",
                    place.memory,
                    Bytes(kept),
                    Bytes(pfc.pool)
                ),
            ),
        ]
    }
    fn resolved(&self) -> toml::Table {
        Self::resolved(self)
    }
}

/// Priorities of 802.1Q.
const PRIORITIES: usize = 8;

/// What came in by one port at one priority.
#[derive(Clone, Copy, Debug, Default)]
struct Ingress {
    /// Bytes in the switch, and those of them that are in headroom.
    held: u64,
    above: u64,
    /// The most of those.
    above_most: u64,
    /// Bytes that it does not take from the pool.
    reserve: u64,
    /// The neighbour has been asked to pause, and is asked again at `repeat_at`.
    paused: bool,
    repeat_at: Time,
    /// A repetition is on the agenda, of this pause or an earlier one.
    repeats: bool,
}

/// What leaves by one port at one priority.
#[derive(Clone, Copy, Debug, Default)]
struct Egress {
    /// Bytes that wait.
    waits: u64,
    /// The neighbour has asked for a pause, which ends by itself at `until`.
    stopped: bool,
    until: Time,
    /// Until when it asks for one, whether that is heeded or not; over, where it has resumed.
    asked: Time,
    /// The last time that something left, or that the pause began.
    moved: Time,
    /// The watchdog does not heed pauses before this moment.
    deaf_until: Time,
    /// An expiry, and a look of the watchdog, is on the agenda.
    expires: bool,
    watched: bool,
}

/// What there is to do at a moment, for the port and priority of a place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Task {
    /// Ask again for a pause.
    Repeat(usize),
    /// End a pause that nobody asked for again.
    Expire(usize),
    /// See whether a pause lasts too long.
    Watch(usize),
    /// Heed again what was asked while the watchdog was deaf.
    Heed(usize),
}

/// The flow control of one switch.
struct Pfc {
    params: Params,
    /// By port and priority: see [`place_of`].
    ingress: Vec<Ingress>,
    egress: Vec<Egress>,
    /// By port: bytes that a lossless priority may still hold after its pause was asked for.
    headroom: Vec<u64>,
    /// Bytes that all share, and those of them in use.
    pool: u64,
    used: u64,
    /// While at most `sure_until` bytes of the pool are in use, every threshold is at least `sure`: most packets
    /// are far below it, and their own is not worked out.
    sure: u64,
    sure_until: u64,
    /// Places that are paused or hold bytes in headroom.
    stirred: usize,
    agenda: Agenda<Task>,
    /// Times that the watchdog let packets go.
    trips: u64,
    /// Bytes that came when their ingress was above its threshold, and so filled its headroom.
    spilled: u64,
}

impl Ingress {
    /// Bytes of the pool that it uses.
    #[inline]
    fn share(&self) -> u64 {
        (self.held - self.above).saturating_sub(self.reserve)
    }

    /// Whether it is paused or holds bytes in headroom.
    #[inline]
    fn is_stirred(&self) -> bool {
        self.paused || self.above > 0
    }
}

fn place_of(port: u16, packet: &Packet) -> usize {
    usize::from(port) * PRIORITIES + usize::from(packet.priority())
}

/// The port and the priority of a place.
fn of_place(place: usize) -> (u16, u8) {
    let small = |n: usize| u16::try_from(n).expect("a switch has at most 65,535 ports");
    let priority = u8::try_from(place % PRIORITIES).expect("below 8");
    (small(place / PRIORITIES), priority)
}

impl Pfc {
    /// By port: what a lossless priority may still hold after its pause was asked for.
    fn headroom(params: &Params, place: &Place<'_>) -> Vec<u64> {
        let others = u64::from(params.lossless).saturating_sub(1);
        let of = |line: &Neighbour<'_>| match params.headroom {
            Some(bytes) => bytes,
            // The packet that goes above the threshold is the first in there.
            None => line.slack(place.frame, others) + place.frame,
        };
        place.lines.iter().map(of).collect()
    }

    /// Bytes of the memory that are headroom or reserve.
    fn kept(params: &Params, place: &Place<'_>) -> u64 {
        let each = Self::headroom(params, place).into_iter();
        let each = each.map(|each| u64::from(params.lossless) * (each + params.reserve));
        each.sum()
    }

    fn new(params: &Params, place: &Place<'_>) -> Self {
        let headroom = Self::headroom(params, place);
        let ports = place.lines.len();
        let kept = Self::kept(params, place);
        let ingress = |place: usize| Ingress {
            reserve: params.reserve * u64::from(params.keeps(place)),
            ..Ingress::default()
        };
        Self {
            params: params.clone(),
            ingress: (0..ports * PRIORITIES).map(ingress).collect(),
            egress: vec![Egress::default(); ports * PRIORITIES],
            headroom,
            pool: place.memory.get().saturating_sub(kept),
            used: 0,
            sure: 0,
            sure_until: 0,
            stirred: 0,
            agenda: Agenda::new(),
            trips: 0,
            spilled: 0,
        }
    }

    fn is_lossless(&self, place: usize) -> bool {
        self.params.keeps(place)
    }

    /// Bytes below its headroom that an ingress may hold now: at most what is left of the pool. Together thresholds may
    /// promise more than that, and headroom must stay free for what comes after a pause. [ours]
    fn threshold(&self, place: usize) -> u64 {
        let own = &self.ingress[place];
        let free = || self.part_of_free(self.used) + own.reserve;
        let wanted = self.params.xoff.unwrap_or_else(free);
        wanted.min(own.share() + own.reserve + self.pool.saturating_sub(self.used))
    }

    /// What an ingress may hold of the pool while `used` bytes of it are in use.
    fn part_of_free(&self, used: u64) -> u64 {
        let free = self.pool.saturating_sub(used);
        part(self.params.alpha, free)
    }

    /// Whether `size` more bytes stay below the threshold.
    #[inline]
    fn is_below(&mut self, place: usize, size: u64) -> bool {
        let Ingress { held, above, .. } = self.ingress[place];
        above == 0 && (held + size <= self.sure || self.is_below_closely(place, held + size))
    }

    #[inline(never)]
    fn is_below_closely(&mut self, place: usize, held: u64) -> bool {
        self.make_sure();
        held <= self.threshold(place)
    }

    /// Works out what every ingress may hold until some more of the pool is in use.
    fn make_sure(&mut self) {
        self.sure_until = self.used + self.pool / 64;
        let free = || self.part_of_free(self.sure_until);
        let wanted = self.params.xoff.unwrap_or_else(free);
        self.sure = wanted.min(self.pool.saturating_sub(self.sure_until));
    }

    /// A packet has come that goes into headroom.
    #[inline(never)]
    fn spill(&mut self, now: Time, place: usize, size: u64, say: &mut Say) {
        let ingress = &mut self.ingress[place];
        self.stirred += usize::from(!ingress.is_stirred());
        ingress.above += size;
        ingress.above_most = ingress.above_most.max(ingress.above);
        let paused = ingress.paused;
        self.spilled += size;
        if !paused && self.is_lossless(place) {
            self.pause(now, place, say);
        }
    }

    /// A packet of `size` leaves an ingress that is paused or holds bytes in headroom.
    #[inline(never)]
    fn relieve(&mut self, place: usize, size: u64, say: &mut Say) {
        let ingress = &mut self.ingress[place];
        let before = ingress.share();
        ingress.held -= size;
        // What is in headroom leaves it first.
        ingress.above -= ingress.above.min(size);
        self.used = self.used + ingress.share() - before;
        let Ingress {
            held,
            above,
            paused,
            ..
        } = *ingress;
        if paused
            && above == 0
            && (held == 0 || held + self.params.xon_gap <= self.threshold(place))
        {
            self.resume(place, say);
        }
        self.stirred -= usize::from(!self.ingress[place].is_stirred());
    }

    fn pause(&mut self, now: Time, place: usize, say: &mut Say) {
        let (port, priority) = of_place(place);
        self.ingress[place].paused = true;
        say.pause(port, Signal::PausePriority(priority), self.lasting());
        self.repeat_later(now, place);
    }

    fn lasting(&self) -> Span {
        self.params.pause_time.unwrap_or(Span::ZERO)
    }

    fn repeat_later(&mut self, now: Time, place: usize) {
        let Some(lasting) = self.params.pause_time else {
            return;
        };
        let ingress = &mut self.ingress[place];
        ingress.repeat_at = now + Span(lasting.0 / 2);
        if !std::mem::replace(&mut ingress.repeats, true) {
            self.agenda.add(ingress.repeat_at, Task::Repeat(place));
        }
    }

    fn resume(&mut self, place: usize, say: &mut Say) {
        let (port, priority) = of_place(place);
        self.ingress[place].paused = false;
        say.frame(port, Signal::ResumePriority(priority).frame());
    }

    /// The neighbour at the port of `place` does not want its priority before `until`.
    fn stop(&mut self, now: Time, place: usize, until: Time, say: &mut Say) {
        let (port, priority) = of_place(place);
        let egress = &mut self.egress[place];
        egress.asked = until;
        if egress.deaf_until > now {
            return;
        }
        egress.until = until;
        if until < Time::NEVER && !egress.expires {
            egress.expires = true;
            self.agenda.add(until, Task::Expire(place));
        }
        if !egress.stopped {
            (egress.stopped, egress.moved) = (true, now);
            say.gate(port, GateOf::Priority(priority), GateState::Closed);
        }
        if let Some(patience) = self.params.watchdog.filter(|_| !egress.watched) {
            egress.watched = true;
            self.agenda.add(now + patience, Task::Watch(place));
        }
    }

    fn go(&mut self, place: usize, say: &mut Say) {
        let (port, priority) = of_place(place);
        if std::mem::take(&mut self.egress[place].stopped) {
            say.gate(port, GateOf::Priority(priority), GateState::Open);
        }
    }

    fn perform(&mut self, now: Time, task: Task, say: &mut Say) {
        match task {
            Task::Repeat(place) => {
                let ingress = &mut self.ingress[place];
                // A pause that began since has its own moment.
                ingress.repeats = ingress.paused && ingress.repeat_at > now;
                if ingress.repeats {
                    self.agenda.add(ingress.repeat_at, Task::Repeat(place));
                } else if ingress.paused {
                    let (port, priority) = of_place(place);
                    say.repeat(port, Signal::PausePriority(priority), self.lasting());
                    self.repeat_later(now, place);
                }
            }
            Task::Expire(place) => {
                let egress = &mut self.egress[place];
                egress.expires = egress.stopped && egress.until > now && egress.until < Time::NEVER;
                if egress.expires {
                    self.agenda.add(egress.until, Task::Expire(place));
                } else if egress.until <= now {
                    self.go(place, say);
                }
            }
            Task::Watch(place) => self.watch(now, place, say),
            Task::Heed(place) => {
                let asked = self.egress[place].asked;
                if asked > now {
                    self.stop(now, place, asked, say);
                }
            }
        }
    }

    /// Lets a priority go that has been held for too long. [`SONiC`'s watchdog, forward action]
    fn watch(&mut self, now: Time, place: usize, say: &mut Say) {
        let Some(patience) = self.params.watchdog else {
            return;
        };
        let egress = &mut self.egress[place];
        egress.watched = egress.stopped;
        if !egress.stopped {
            return;
        }
        let due = egress.moved.after(patience);
        if due > now || egress.waits == 0 {
            let next = if due > now { due } else { now.after(patience) };
            self.agenda.add(next, Task::Watch(place));
            return;
        }
        egress.watched = false;
        egress.deaf_until = now.after(self.params.watchdog_restore);
        self.agenda.add(egress.deaf_until, Task::Heed(place));
        self.trips += 1;
        self.go(place, say);
    }
}

impl FlowControl for Pfc {
    fn gates_alone(&self) -> bool {
        true
    }

    fn admits(&mut self, passage: &Passage<'_>, free: u64) -> Option<bool> {
        let place = place_of(passage.ingress, passage.packet);
        let size = u64::from(passage.packet.size);
        let headroom = |own: &Self| own.headroom[usize::from(passage.ingress)];
        let may = self.is_below(place, size)
            || self.is_lossless(place) && self.ingress[place].above + size <= headroom(self);
        Some(may && size <= free)
    }

    /// Nobody is to be resumed and nothing is to be done later: what leaves makes room, and no more.
    fn is_calm(&self) -> bool {
        self.stirred == 0 && self.agenda.next() == Time::NEVER
    }

    fn stays_calm(&mut self, passage: &Passage<'_>, free: u64) -> bool {
        let size = u64::from(passage.packet.size);
        size <= free && self.is_below(place_of(passage.ingress, passage.packet), size)
    }

    /// Where the memory has room, only headroom can be full for a priority that loses nothing, and only the threshold for
    /// another.
    fn refused(&self, passage: &Passage<'_>) -> DropReason {
        if self.is_lossless(place_of(passage.ingress, passage.packet)) {
            DropReason::Headroom
        } else {
            DropReason::Memory
        }
    }

    fn arrived(&mut self, now: Time, passage: &Passage<'_>, say: &mut Say) {
        let place = place_of(passage.ingress, passage.packet);
        let size = u64::from(passage.packet.size);
        let below = self.is_below(place, size);
        let ingress = &mut self.ingress[place];
        let before = ingress.share();
        ingress.held += size;
        if below {
            self.used += ingress.share() - before;
            if self.used > self.sure_until {
                self.make_sure();
            }
        } else {
            self.spill(now, place, size, say);
        }
        self.egress[place_of(passage.egress, passage.packet)].waits += size;
    }

    fn left(&mut self, now: Time, passage: &Passage<'_>, say: &mut Say) {
        let place = place_of(passage.ingress, passage.packet);
        let size = u64::from(passage.packet.size);
        let ingress = &mut self.ingress[place];
        if ingress.is_stirred() {
            self.relieve(place, size, say);
        } else {
            let before = ingress.share();
            ingress.held -= size;
            self.used = self.used + ingress.share() - before;
        }
        let egress = &mut self.egress[place_of(passage.egress, passage.packet)];
        egress.waits -= size;
        egress.moved = now;
    }

    fn passed(&mut self, now: Time, passage: &Passage<'_>, say: &mut Say) {
        let place = place_of(passage.ingress, passage.packet);
        let size = u64::from(passage.packet.size);
        // Of one that comes below the threshold nothing stays, and only a pause that has begun asks for more.
        if self.is_below(place, size) && !self.ingress[place].paused {
            self.egress[place_of(passage.egress, passage.packet)].moved = now;
            return;
        }
        self.arrived(now, passage, say);
        self.left(now, passage, say);
    }

    fn heard(&mut self, now: Time, port: u16, frame: &Packet, say: &mut Say) {
        let place = |priority: u8| usize::from(port) * PRIORITIES + usize::from(priority);
        match Signal::of(frame) {
            Some(Signal::PausePriority(priority)) => {
                self.stop(now, place(priority), Signal::until(frame, now), say);
            }
            Some(Signal::ResumePriority(priority)) => {
                self.egress[place(priority)].asked = Time::ZERO;
                self.go(place(priority), say);
            }
            Some(Signal::PauseFlow(_) | Signal::ResumeFlow(_)) | None => {}
        }
    }

    fn deadline(&self) -> Time {
        self.agenda.next()
    }

    fn on_deadline(&mut self, now: Time, say: &mut Say) {
        while let Some(task) = self.agenda.take(now) {
            self.perform(now, task, say);
        }
    }

    fn count(&self, tell: &mut dyn FnMut(&'static str, u64)) {
        tell("bytes in headroom", self.spilled);
        tell("watchdog", self.trips);
    }

    fn headroom(&self, tell: &mut dyn FnMut(u16, u8, u64)) {
        for (place, ingress) in self.ingress.iter().enumerate() {
            if ingress.above_most > 0 {
                let (port, priority) = of_place(place);
                tell(port, priority, ingress.above_most);
            }
        }
    }

    fn check(&self) {
        let (mut used, mut held, mut waits) = (0, 0, 0);
        for (place, ingress) in self.ingress.iter().enumerate() {
            used += ingress.share();
            held += ingress.held;
            waits += self.egress[place].waits;
            assert!(ingress.above <= ingress.held, "{place}: {ingress:?}");
            assert!(
                ingress.held > 0 || !ingress.paused,
                "{place} waits for a resume that nothing brings"
            );
        }
        let stirred = self.ingress.iter().filter(|ingress| ingress.is_stirred());
        assert_eq!(stirred.count(), self.stirred, "places that are not calm");
        assert!(self.used <= self.sure_until, "{} B of the pool", self.used);
        assert_eq!(used, self.used, "bytes of the pool");
        assert_eq!(held, waits, "what came in and what waits");
    }
}
