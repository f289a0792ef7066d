//! The first round trip where switches do not trim: a burst that they may drop, and a probe on each of its ways.
//! [aeolus s3.3, s4.2]
//!
//! Frame `i` of a burst takes way `i` modulo their number, in one random order of them. So the probe of a way can
//! name its frames, and says of which message: the receiver counts those that are missing and pulls once for each.
//! Answers to what is unscheduled keep to its way, so that the sender knows which are meant.

use super::header::{POSITION_MAX, Probe, ProbeAck, WINDOW_MAX};
use super::host::Host;
use super::params::{Params, Spray};
use super::receiver::{Receiver, Verdict};
use super::sender::Sender;
use super::settings::Settings;
use model::intent::DropSpec;
use model::{Class, Cx, Encap, EndpointConfig, Lifetime, Packet, Rng};
use parts::connections::told;
use parts::pre_credit::{Burst, Order};
use parts::range_set::RangeSet;
use parts::selective::Threshold;
use parts::{Crowd, Factory, Protected};
use units::{Bytes, Time};

/// A probe leaves so often again on the way of its frames, and then on one after the other of all ways. [ours]
const ASKED_ON_ITS_WAY: u16 = 2;

/// What is done with the first round trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FirstRtt {
    /// Switches trim what has no room. [ndp s3.1]
    Trimmed,
    /// Switches drop unscheduled packets first, and trim nothing. [aeolus s3]
    Aeolus,
    /// Unscheduled packets take only the gaps of the others, and are never lost. Those that find none until their
    /// probe has arrived leave again when they are pulled. [aeolus s2.3]
    Gaps,
}

impl Params {
    /// Whether the first window is a burst that probes close.
    pub(super) fn bursts(&self) -> bool {
        self.first_rtt != FirstRtt::Trimmed
    }

    /// Whom every port drops first.
    pub(super) fn drop_spec(&self, encap: Encap) -> Option<DropSpec> {
        (self.first_rtt == FirstRtt::Aeolus).then(|| DropSpec {
            victim: Class::Unscheduled,
            threshold: self.drop_threshold.bytes(encap),
            measure: self.drop_measure,
            by: self.drop_by,
        })
    }
}

impl Probe {
    /// Whether it names frames of one window.
    pub(super) fn makes_sense(&self) -> bool {
        let (count, stride) = (u32::from(self.count), u32::from(self.stride));
        let fits = |last: u32| u32::from(self.first) + last * stride < WINDOW_MAX;
        self.payload > 0 && self.first < self.stride && count.checked_sub(1).is_some_and(fits)
    }
}

/// The same with a threshold in bytes.
pub(super) fn settle(params: &Params, encap: Encap) -> Option<Box<dyn Factory>> {
    let drop_threshold = Threshold::Bytes(params.drop_spec(encap)?.threshold.get());
    Some(Box::new(Params {
        drop_threshold,
        ..params.clone()
    }))
}

/// What may wait before a host where messages meet: a probe on each way of each, and what pulls release at once, when a
/// sender has put the windows of all its messages on the line; and what ports take unasked.
pub(super) fn protected(
    params: &Params,
    config: &EndpointConfig,
    crowd: Crowd,
) -> Option<Protected> {
    let encap = config.encap;
    let spec = params.drop_spec(encap)?;
    let settings = Settings::new(params, config);
    let frames = crowd.largest.div_ceil(settings.payload_max.into()).max(1);
    let window = frames.min(settings.window.into());
    let ways = match settings.spray {
        Spray::Flow => 1,
        Spray::Permutation | Spray::Random => crowd.ways.clamp(1, settings.first_ways),
    };
    let probes = crowd.messages * window.min(ways.into());
    let saved = crowd.of_one * window;
    let full = u64::from(encap.wire_max());
    let bytes = probes * u64::from(settings.small()) + saved * full;
    Some(Protected {
        bytes: Bytes(
            bytes
                .saturating_add(spec.threshold.get())
                .saturating_add(full),
        ),
        instead: match ways {
            1 => "let fewer messages start at one moment".to_owned(),
            _ => format!(
                "let fewer messages start at one moment, set first_ways of the transport to less than {ways}"
            ),
        },
    })
}

/// What a sender knows of the burst of one message.
#[derive(Debug)]
pub(super) struct Early {
    /// In frames; by the way of each, and with its number.
    burst: Burst<u64>,
    /// The ways of the burst, in the order in which its frames take them.
    ways: Vec<u16>,
    /// Frames of it that have left.
    frames: u16,
    /// Probes leave again: nothing was heard of some frames. How often that was so.
    asks: bool,
    asked: u16,
}

impl Early {
    /// A burst of `frames` frames, at most [`WINDOW_MAX`].
    pub(super) fn new(frames: u32) -> Self {
        let mut burst = Burst::new(Order::Path);
        burst.open(frames.into());
        Self {
            burst,
            ways: Vec::new(),
            frames: 0,
            asks: false,
            asked: 0,
        }
    }

    /// Whether nothing is known of the frame of the burst that begins at `offset`.
    pub(super) fn is_unknown(&self, offset: u64) -> bool {
        self.burst.is_unknown(offset)
    }

    /// Probes leave again.
    pub(super) fn ask(&mut self) {
        self.asks = true;
        self.asked = self.asked.saturating_add(1);
    }

    /// Whether probes leave again, and no longer then.
    fn take_asks(&mut self) -> bool {
        std::mem::take(&mut self.asks)
    }

    /// Everything before `position` has arrived.
    pub(super) fn confirm(&mut self, position: u64) {
        self.burst.confirm(position);
    }

    /// A word about the frame that begins at `offset`, or about the probe behind it on its way.
    pub(super) fn hear(&mut self, offset: u64, probe: bool) {
        if probe {
            self.burst.on_probe_ack(offset);
        } else {
            self.burst.on_ack(offset);
        }
    }

    /// The number of a frame that has been found lost.
    pub(super) fn take_lost(&mut self) -> Option<u64> {
        self.burst.take_lost()
    }

    /// The number of its next frame.
    pub(super) fn number(&self) -> u64 {
        self.frames.into()
    }

    /// The next frame of the burst, which begins at `offset`, leaves.
    pub(super) fn sent(&mut self, offset: u64) {
        let path = self.frames % self.stride();
        self.burst.sent(offset, self.number(), 1, path);
        self.frames += 1;
    }

    /// Nothing leaves unasked any more.
    pub(super) fn close(&mut self) {
        self.burst.close();
    }

    #[allow(clippy::cast_possible_truncation, reason = "fewer than a window")]
    pub(super) fn stride(&self) -> u16 {
        self.ways.len() as u16
    }

    /// The way of the next frame, among `count`; `draw` finds another one.
    pub(super) fn way(&mut self, count: u16, draw: impl FnOnce() -> u16) -> u16 {
        let all = u64::from(count).min(self.burst.allowance() + self.number());
        if u64::from(self.frames) < all {
            let way = draw();
            self.ways.push(way);
            return way;
        }
        self.ways[usize::from(self.frames % self.stride())]
    }

    /// The probe of a way by its place, and the way that it takes among `ways`: where `all` is false, only if frames on it
    /// are unknown.
    fn probe(&self, place: u16, all: bool, ways: u16) -> Option<(u16, u16)> {
        let asked = all || self.burst.unknown_paths().any(|path| path == place);
        let behind = self.frames.saturating_sub(place);
        let named = behind.div_ceil(self.stride());
        // Its own may be dead. After so long its frames have come elsewhere than in front of it, or are lost.
        let other = self.asked.saturating_sub(ASKED_ON_ITS_WAY) % ways.max(1);
        let way = self.ways[usize::from(place)];
        asked.then(|| ((way + other) % ways.max(1), named))
    }

    pub(super) fn check(&self) {
        self.burst.check();
        assert!(self.frames >= self.stride() && u32::from(self.frames) <= WINDOW_MAX);
    }
}

/// What a receiver knows of the burst of one message.
#[derive(Debug)]
pub(super) struct Probed {
    /// As its probes say.
    payload: u16,
    stride: u16,
    /// Probes that have come, by the first frame of each.
    firsts: RangeSet<{ WINDOW_MAX as usize }>,
    /// Frames that they named and that had not come: so many pulls were due for them.
    missing: u32,
}

impl Probed {
    /// Whether the unscheduled frame that begins `behind` the start of its message came after its probe.
    fn is_late(&self, behind: u64) -> bool {
        let number = behind / u64::from(self.payload);
        let place = number % u64::from(self.stride);
        self.firsts.holding(place).is_some()
    }
}

impl Receiver {
    /// A pull was due already for the unscheduled frame that begins at `offset`.
    #[inline]
    pub(super) fn is_late(&self, offset: u64) -> bool {
        let behind = offset.saturating_sub(self.arriving.base());
        let probed = self.probed.as_ref();
        probed.is_some_and(|probed| probed.is_late(behind))
    }

    /// A probe has come: for how many frames that it is the first to name, and that are missing, a pull is due; and
    /// where the last frame of its way begins.
    fn on_probe(&mut self, now: Time, probe: &Probe) -> Result<(u32, u64), Verdict> {
        let ahead = probe.ordinal.wrapping_sub(told(self.arriving.complete()));
        if ahead >= 1 << 15 {
            return Err(Verdict::Past);
        }
        let payload = u64::from(probe.payload);
        let at = |number: u16| {
            let number = probe.first + number * probe.stride;
            self.arriving.base() + u64::from(number) * payload
        };
        let last = at(probe.count - 1);
        let fits = last < self.arriving.end().unwrap_or(POSITION_MAX);
        let other =
            |probed: &Probed| (probed.payload, probed.stride) != (probe.payload, probe.stride);
        // The next message begins when this one is acknowledged.
        if ahead > 0 || !fits || self.probed.as_deref().is_some_and(other) {
            return Err(Verdict::Nonsense);
        }
        let missing = (0..probe.count).filter(|&number| !self.arriving.has(at(number)));
        #[allow(clippy::cast_possible_truncation, reason = "fewer than a window")]
        let missing = missing.count() as u32;
        self.arriving.begin();
        self.heard = now;
        let probed = self.probed.get_or_insert_with(|| {
            Box::new(Probed {
                payload: probe.payload,
                stride: probe.stride,
                firsts: RangeSet::new(),
                missing: 0,
            })
        });
        let first = u64::from(probe.first);
        if probed.firsts.insert(first, first + 1) != Some(1) {
            // It came before.
            return Ok((0, last));
        }
        let new = missing.min(WINDOW_MAX - probed.missing);
        probed.missing += new;
        Ok((new, last))
    }
}

impl Sender {
    /// The way of the burst's next frame, of which it takes `most`.
    pub(super) fn burst_way(&mut self, rng: &mut Rng, ways: (u16, Spray), most: u16) -> u16 {
        let early = self.early.as_mut().expect("a burst leaves");
        early.way(ways.0.min(most), || self.ways.next(rng, ways, None))
    }

    /// The ends of the burst, or where `all` is false those of which nothing was heard.
    pub(super) fn probe(
        &self,
        place: u16,
        all: bool,
        ways: u16,
        settings: &Settings,
    ) -> Option<(Probe, u16)> {
        let early = self.early.as_ref()?;
        let (way, count) = early.probe(place, all, ways)?;
        let probe = Probe {
            ordinal: told(self.ordinal),
            payload: settings.payload_max,
            first: place,
            stride: early.stride(),
            count,
            way: 0,
            lifetime: Lifetime::OneMessage,
            answer: false,
        };
        Some((probe, way))
    }

    /// A word about an unscheduled frame, or a probe: what it proves lost waits for a pull.
    pub(super) fn on_burst_word(
        &mut self,
        now: Time,
        offset: u64,
        probe: bool,
        settings: &Settings,
    ) {
        let Some(early) = &mut self.early else {
            return;
        };
        early.hear(offset, probe);
        if probe {
            self.hear_of_probe(now);
            self.measure_probe(now, offset, settings);
        }
        while let Some(number) = self.early.as_mut().and_then(|early| early.take_lost()) {
            self.lose(number, settings);
        }
    }
}

impl Host {
    /// A burst has ended, or nothing is heard of it: the probes of its ways leave, behind its frames.
    #[cold]
    pub(super) fn say_probes(&mut self, slot: u32, all: bool) {
        let ways = self.conns[slot].tx.early.as_ref();
        let ways = ways.map_or(0, |early| early.stride());
        for place in 0..ways {
            let conn = &self.conns[slot];
            let probe = conn.tx.probe(place, all, conn.own.ways, &self.settings);
            let Some((probe, way)) = probe else {
                continue;
            };
            let probe = Probe {
                lifetime: conn.lifetime,
                answer: !conn.opener,
                ..probe
            };
            let mut packet = probe.packet(conn.peer, conn.id, self.settings.small());
            if conn.own.ways > 1 {
                packet.set_path(way);
            }
            self.counts.probes += 1;
            self.say(packet);
        }
    }

    /// Probes leave again where nothing was heard of frames.
    pub(super) fn ask_again(&mut self, slot: u32) {
        let early = self.conns[slot].tx.early.as_mut();
        if early.is_some_and(|early| early.take_asks()) {
            self.say_probes(slot, false);
        }
    }

    /// The answer to an unscheduled packet keeps to its way.
    #[inline]
    pub(super) fn answer_on_its_way(
        &mut self,
        slot: u32,
        to: &Packet,
        mut answer: Packet,
        pulls: bool,
    ) {
        let ways = self.conns[slot].own.ways;
        if ways > 1 {
            answer.set_path(to.path().unwrap_or(0) % ways);
        }
        if pulls {
            answer.set_class(Class::Credit);
        }
        self.say(answer);
    }

    /// All frames of a burst that went this way have come, or are lost.
    pub(super) fn on_probe(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let (id, probe) = (packet.conn, Probe::read(packet));
        if !self.settings.bursts || !probe.makes_sense() {
            self.totals.nonsense += 1;
            return;
        }
        let about = (probe.answer, probe.ordinal > 0);
        let Some(slot) = self.find_or_open(cx, id, about, probe.lifetime) else {
            return;
        };
        let conn = &mut self.conns[slot];
        let began = !conn.rx.arriving.is_active();
        let only = conn.one_shot() && conn.rx.arriving.complete() > 0;
        let verdict = if only {
            Err(Verdict::Past)
        } else {
            conn.rx.on_probe(cx.now, &probe)
        };
        match verdict {
            Ok((missing, at)) => self.answer_probe(cx, slot, packet, (missing, at), began),
            Err(Verdict::Past) => {
                let complete = self.conns[slot].rx.arriving.complete();
                self.say_done(slot, complete);
            }
            Err(_) => self.totals.nonsense += 1,
        }
    }

    fn answer_probe(
        &mut self,
        cx: &mut Cx<'_>,
        slot: u32,
        packet: &Packet,
        (missing, at): (u32, u64),
        began: bool,
    ) {
        self.on_answer(cx, slot);
        if began {
            self.arm(slot);
        }
        self.counts.missed += u64::from(missing);
        let mut pulls = false;
        for _ in 0..missing {
            pulls |= self.owe(cx, slot);
        }
        let conn = &self.conns[slot];
        let pull = told(conn.rx.pulls);
        let answer = ProbeAck { at, pull, way: 0 };
        let answer = answer.packet(conn.peer, conn.id, self.settings.small());
        self.answer_on_its_way(slot, packet, answer, pulls);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_late_behind_the_probe_of_its_way() {
        let mut probed = Probed {
            payload: 1_000,
            stride: 4,
            firsts: RangeSet::default(),
            missing: 0,
        };
        probed.firsts.insert(1, 2);
        let late: Vec<u64> = (0..10).filter(|n| probed.is_late(n * 1_000)).collect();
        assert_eq!(late, [1, 5, 9]);
    }

    /// Four frames on two ways: of those that are confirmed nothing is unknown, and nothing is lost.
    #[test]
    fn of_what_has_been_confirmed_no_frame_is_unknown_or_lost() {
        let mut early = Early::new(4);
        for frame in 0..4u16 {
            let way = early.way(2, || frame);
            assert_eq!(way, frame % 2);
            early.sent(u64::from(frame) * 1_000);
            early.check();
        }
        early.close();
        let unknown = |early: &Early| [0, 1_000, 2_000, 3_000].map(|at| early.is_unknown(at));
        assert_eq!(unknown(&early), [true; 4]);
        early.confirm(2_000);
        assert_eq!(unknown(&early), [false, false, true, true]);
        // A word about the probe of the first way tells that its last frame is lost, and the confirmed one is not.
        early.hear(2_000, true);
        assert_eq!((early.take_lost(), early.take_lost()), (Some(2), None));
        early.confirm(4_000);
        assert_eq!(unknown(&early), [false; 4]);
        assert_eq!(early.take_lost(), None);
    }
}
