//! The matching of a host with others: what it hears of a round, and what it does when one begins or is half over.
//! [dcpim s3; dcpim artefact: `pimhost.cpp`]

use super::clock::Stage;
use super::granting::Taken;
use super::header::{Accept, Grant, Grantsr, Req};
use super::host::{Host, OVERLOOKED_RANK, URGENT};
use super::lines::Lines;
use super::rounds::Word;
use model::{Cx, HostId, Packet};
use parts::connections::Sending;
use units::Time;

/// A sender that says nothing for so many `rto` is asked in one epoch of so many. [ours]
const SILENT: u64 = 8;
const SILENT_EPOCHS: u64 = 16;

/// Numbers of a packet fit its fields: channels are at most 64.
fn byte(number: u32) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

impl Host {
    /// Which round a packet is about. Where its host's clock is ahead, this one's is set by it.
    fn round_of(&mut self, cx: &Cx<'_>, (epoch, place): (u16, u8), stage: Stage) -> Option<u64> {
        if u32::from(place) >= self.settings.rounds {
            self.counts.late += 1;
            return None;
        }
        let round = self.clock.heard(cx.now, epoch, place)?;
        let one_way = self.settings.one_way;
        if self.clock.join(cx.now, round, stage, one_way) {
            self.counts.joined += 1;
            self.granting.clear();
            self.asking.clear(cx.now, &self.clock, &self.settings);
            return self.clock.heard(cx.now, epoch, place);
        }
        Some(round)
    }

    /// Whether what belongs to a stage of a round comes in time, and not long before it.
    fn in_time(&mut self, now: Time, round: u64, stage: Stage) -> bool {
        let ends = self.clock.when(round, stage);
        let fits = now < ends && ends.since(now) <= self.settings.round.times(2);
        self.counts.late += u64::from(!fits);
        fits
    }

    /// A receiver asks for channels.
    pub(super) fn on_request(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let (id, req) = (packet.conn, Req::read(packet));
        let Some(slot) = self.conns.find(id) else {
            if !self.conns.remembers(id) {
                self.say_gone(cx, id, true);
            }
            return;
        };
        let conn = &mut self.conns[slot];
        let peer = conn.peer;
        if !conn.tx.on_request(cx.now) {
            return;
        }
        self.arm(slot);
        if cx.gates.any_closed() && !self.may_send_to(cx, peer) {
            // Channels for what is paused would be lost to others.
            return;
        }
        let told = (req.epoch, req.round);
        let round = self.round_of(cx, told, Stage::Begin);
        if let Some(round) = round
            && self.in_time(cx.now, round, Stage::Half)
        {
            let word = Word {
                peer,
                conn: id,
                round,
                channels: req.channels.into(),
                prompt: req.prompt.into(),
                theirs: (0, 0),
                lines: Lines::new(self.settings.line, self.settings.line),
                left: req.left,
            };
            self.granting.ask(&self.clock, word);
        }
    }

    /// Whether something for a receiver is not paused.
    #[cold]
    fn may_send_to(&self, cx: &Cx<'_>, peer: HostId) -> bool {
        self.conns.iter().any(|conn| {
            let priority = conn.tx.priority(&self.settings);
            conn.peer == peer && !conn.tx.is_idle() && cx.gates.may_send(conn.id, priority)
        })
    }

    /// A sender offers channels.
    pub(super) fn on_grant(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let (id, grant) = (packet.conn, Grant::read(packet));
        // Of a message that is complete late ones are normal.
        let Some(slot) = self.conns.find(id) else {
            return;
        };
        let conn = &mut self.conns[slot];
        let peer = conn.peer;
        if conn.rx.message.arriving.is_active() {
            conn.rx.message.hear(cx.now);
        }
        let told = (grant.epoch, grant.round);
        let round = self.round_of(cx, told, Stage::Half);
        if let Some(round) = round
            && self.in_time(cx.now, round, Stage::End)
        {
            let word = Word {
                peer,
                conn: id,
                round,
                channels: grant.channels.into(),
                prompt: grant.prompt.into(),
                theirs: (grant.channels.into(), grant.prompt.into()),
                lines: Lines::new(self.settings.line, self.settings.line),
                left: grant.left,
            };
            self.asking
                .offered(cx.now, word, &self.clock, &self.settings);
        }
    }

    /// A receiver takes channels that it was offered.
    pub(super) fn on_accept(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let (id, accept) = (packet.conn, Accept::read(packet));
        let Some(slot) = self.conns.find(id) else {
            return;
        };
        let peer = self.conns[slot].peer;
        let told = (accept.epoch, accept.round);
        let Some(round) = self.round_of(cx, told, Stage::End) else {
            return;
        };
        let channels = (accept.channels.into(), accept.prompt.into());
        let taken = self.granting.take(peer, round, channels, &self.settings);
        if let Taken::Over(channels) = taken {
            let back = Grantsr {
                epoch: accept.epoch,
                round: accept.round,
                channels: byte(channels),
            };
            self.counts.matching += 1;
            self.say(back.packet(peer, id, self.settings.small()));
        }
    }

    /// A sender takes channels back.
    pub(super) fn on_grantsr(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let (id, back) = (packet.conn, Grantsr::read(packet));
        let Some(slot) = self.conns.find(id) else {
            return;
        };
        let peer = self.conns[slot].peer;
        if let Some(round) = self.clock.heard(cx.now, back.epoch, back.round) {
            let channels = back.channels.into();
            self.asking.give_back(peer, round, channels, &self.settings);
        }
    }

    /// A round is half over: offers channels to those that asked in it.
    pub(super) fn offer(&mut self, cx: &mut Cx<'_>) {
        let Self {
            granting,
            clock,
            settings,
            control,
            counts,
            ..
        } = self;
        // A late driver has missed what it did not do.
        let half = settings.round.0 / 2;
        let round = clock.round(Time(cx.now.0.saturating_sub(half)));
        granting.offer(cx.rng, clock, round, settings, |word| {
            let (epoch, place) = clock.told(word.round);
            let grant = Grant {
                epoch,
                round: place,
                channels: byte(word.channels),
                prompt: byte(word.prompt),
                left: word.left,
            };
            let packet = grant.packet(word.peer, word.conn, settings.small());
            counts.say(control, packet);
        });
    }

    /// A round begins: takes what was offered in the last one, gives the channels of the new epoch their tokens, if
    /// one has begun, and asks.
    pub(super) fn begin_round(&mut self, cx: &mut Cx<'_>) {
        let round = self.clock.round(cx.now);
        let Self {
            asking,
            clock,
            settings,
            control,
            counts,
            conns,
            ..
        } = self;
        let small = settings.small();
        asking.accept(cx.rng, (cx.now, round), settings, |word| {
            let (epoch, place) = clock.told(word.round);
            let accept = Accept {
                epoch,
                round: place,
                channels: byte(word.theirs.0),
                prompt: byte(word.theirs.1),
            };
            counts.matched += u64::from(word.channels);
            counts.say(control, accept.packet(word.peer, word.conn, small));
        });
        asking.switch_epoch(cx.now, round, settings);
        // Nobody hears what is said while the line is paused.
        if cx.gates.may_say(URGENT) && asking.asks_in(round, settings) {
            let patience = settings.rto.times(SILENT);
            let (epoch, _) = clock.told(round);
            let seldom = u64::from(epoch) % SILENT_EPOCHS == 0;
            let lacks = |slot: u32| {
                let rx = &conns[slot].rx;
                let speaks = seldom || rx.message.heard().after(patience) > cx.now;
                speaks.then(|| (rx.lacks(), rx.lines(settings)))
            };
            asking.ask(cx.rng, round, settings, lacks, |slot, numbers| {
                let (conn, (epoch, place)) = (&conns[slot], clock.told(round));
                let [channels, prompt, left] = numbers;
                let req = Req {
                    epoch,
                    round: place,
                    channels: byte(channels),
                    prompt: byte(prompt),
                    left,
                };
                counts.say(control, req.packet(conn.peer, conn.id, small));
            });
        }
        asking.round_is_over(cx.now, clock, settings);
        if let Some(slot) = self.asking.overlooked() {
            self.counts.tokens_unmatched += 1;
            self.token(cx.now, slot, OVERLOOKED_RANK);
        }
    }
}
