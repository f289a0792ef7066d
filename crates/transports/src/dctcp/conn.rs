//! One connection at one end: how far it is open, and its two halves.

use super::receiver::Receiver;
use super::sender::Sender;
use super::{PRIORITY, Rules};
use model::{ConnId, Cx, Excused, HostId, Lifetime};
use parts::timers::{Alarm, Timers};
use units::Time;

// An idle connection costs its own entry and a place in the map, a used direction this much more.
const _: () = assert!(size_of::<Option<Conn>>() <= 72);
const _: () = assert!(size_of::<Sender>() <= 368 && size_of::<Receiver>() <= 128);

/// How far a connection is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// We asked, first at `asked_at`.
    Asking {
        asked_at: Time,
        tries: u8,
        retry_at: Time,
    },
    /// The peer asked and we answered.
    Answering {
        tries: u8,
        retry_at: Time,
    },
    Open,
}

/// One connection at one end.
#[allow(clippy::struct_excessive_bools, reason = "three independent facts")]
#[derive(Debug)]
pub(super) struct Conn {
    pub(super) id: ConnId,
    pub(super) peer: HostId,
    pub(super) incarnation: u32,
    pub(super) state: State,
    /// We opened it.
    pub(super) opener: bool,
    pub(super) lifetime: Lifetime,
    /// It is in the line's round, or its turn was set aside.
    pub(super) ready: bool,
    pub(super) alarm: Alarm,
    /// The halves come into being with the first message of their direction.
    pub(super) sender: Option<Box<Sender>>,
    pub(super) receiver: Option<Box<Receiver>>,
}

impl Conn {
    /// When it next wants to be called.
    #[inline]
    pub(super) fn deadline(&self) -> Time {
        let opening = match self.state {
            State::Asking { retry_at, .. } | State::Answering { retry_at, .. } => retry_at,
            State::Open => Time::NEVER,
        };
        let sender = self
            .sender
            .as_ref()
            .map_or(Time::NEVER, |sender| sender.deadline());
        let receiver = self
            .receiver
            .as_ref()
            .map_or(Time::NEVER, |receiver| receiver.deadline());
        opening.min(sender).min(receiver)
    }

    /// Makes sure that it is called by `deadline`. An alarm that is too early does no harm and
    /// saves the heap a visit per packet: a deadline mostly moves later.
    #[inline]
    pub(super) fn wake_by(&mut self, timers: &mut Timers, slot: u32, deadline: Time) {
        if deadline < self.alarm.due() {
            timers.set(&mut self.alarm, slot, deadline);
        }
    }

    /// Sets its timers to later moments, where a pause explains the silence.
    pub(super) fn excuse(&mut self, cx: &Cx<'_>, rules: &Rules) {
        if let State::Asking {
            tries, retry_at, ..
        }
        | State::Answering { tries, retry_at } = &mut self.state
            && *retry_at <= cx.now
        {
            // Who answers has no sender, and is asked again.
            let mut row = Excused::default();
            let row = match &mut self.sender {
                Some(sender) => sender.excused(),
                None => &mut row,
            };
            let later = cx
                .gates
                .excuse_all(cx.now, PRIORITY, rules.wait(*tries), row);
            *retry_at = later.unwrap_or(*retry_at);
        }
        if let Some(sender) = &mut self.sender {
            let (id, gates) = (self.id, cx.gates);
            sender.excuse(cx.now, rules, |wait, row| {
                gates.excuse(cx.now, id, PRIORITY, wait, row)
            });
        }
    }

    /// Panics where an invariant of our own state is broken.
    pub(super) fn check(&self, rules: &Rules) {
        assert!(
            self.ready || !self.can_send(rules),
            "{:?} missed its turn",
            self.id
        );
        assert!(
            self.alarm.due() <= self.deadline(),
            "{:?} would be called late",
            self.id
        );
        self.alarm.check();
        if let Some(sender) = &self.sender {
            sender.check(rules);
        }
        if let Some(receiver) = &self.receiver {
            receiver.check(rules);
        }
    }

    /// Whether it has carried all that it is for.
    pub(super) fn is_over(&self) -> bool {
        let sent = self.sender.as_ref().is_some_and(|sender| sender.is_idle());
        let got = self.receiver.as_ref().is_some_and(|got| got.complete() > 0);
        self.lifetime.is_over(self.opener, sent, got)
    }

    /// Whether it carries one message, or one each way, and is then forgotten.
    #[inline]
    pub(super) fn one_shot(&self) -> bool {
        self.lifetime.is_one_shot()
    }

    #[inline]
    pub(super) fn can_send(&self, rules: &Rules) -> bool {
        self.state == State::Open
            && self
                .sender
                .as_ref()
                .is_some_and(|sender| sender.can_send(rules))
    }
}
