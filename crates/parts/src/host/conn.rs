//! One connection at one end.

use super::{Retry, Rules, Said, Token};
use crate::go_back::{Piece, Receiver, Sender};
use crate::timers::Alarm;
use model::{ConnId, Cx, Excused, HostId, Lifetime, Packet, Record};
use units::Time;

/// How far the opening of a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Opener: the question has left.
    Asking { tries: u16, retry_at: Time },
    /// The other end: the answer has left, and nothing shows yet that it was heard.
    Accepting { tries: u16, retry_at: Time },
    /// Both ends know of it.
    Open,
}

/// One connection at one end.
#[derive(Debug)]
pub struct Conn<F, const BITS: u32> {
    /// What the transport keeps of it.
    pub flow: F,
    pub(super) peer: HostId,
    pub(super) phase: Phase,
    pub(super) opener: bool,
    pub(super) lifetime: Lifetime,
    /// What the accepter drew; 0 before the opener has heard it.
    pub(super) token: Token,
    pub(super) sender: Sender<BITS>,
    pub(super) receiver: Receiver<BITS>,
    /// When to forget a sender that fell silent in the middle of a message.
    pub(super) silent_until: Option<Time>,
    /// It is in the host's round.
    pub(super) ready: bool,
    /// Its question or answer waits for room.
    pub(super) unasked: bool,
    pub(super) alarm: Alarm,
    /// Excuses of its timers.
    excused: Excused,
}

impl<F, const BITS: u32> Conn<F, BITS> {
    /// Whether this end opened it.
    pub fn is_opener(&self) -> bool {
        self.opener
    }

    /// How long it lives.
    pub fn lifetime(&self) -> Lifetime {
        self.lifetime
    }

    /// The direction that leaves here.
    pub fn sender(&self) -> &Sender<BITS> {
        &self.sender
    }

    /// The direction that arrives here.
    pub fn receiver(&self) -> &Receiver<BITS> {
        &self.receiver
    }

    /// Whether the other end has data to say to this one.
    pub fn listens(&self) -> bool {
        !(self.opener && self.lifetime == Lifetime::OneMessage)
    }

    /// Whether one more message may be sent on it: the opener's only one, or either end's.
    pub(super) fn may_push(&self) -> bool {
        self.lifetime
            .allows_message(self.opener, self.sender.is_used())
    }

    /// Whether it has carried all that it is for.
    pub(super) fn is_over(&self) -> bool {
        let sent = self.sender.is_used() && self.sender.is_idle();
        let got = self.receiver.complete() > 0;
        self.lifetime.is_over(self.opener, sent, got)
    }

    /// Whether the other end owes its only message, or the rest of it.
    pub(super) fn owes_all(&self) -> bool {
        self.lifetime.is_one_shot() && self.receiver.complete() == 0
    }

    /// Whether the other end owes the rest of a message, or its only one.
    pub(super) fn expects_more(&self) -> bool {
        self.receiver.is_under_way() || self.owes_all()
    }

    /// Whether a question or an answer has to say that it begins: not where its data does.
    pub(super) fn asks(&self, eager: bool) -> bool {
        self.phase != Phase::Open && !(eager && self.opener && self.lifetime.is_one_shot())
    }

    pub(super) fn wants(&self) -> Said {
        Said::Ack {
            token: self.token,
            wanted: self.receiver.wants(),
        }
    }

    pub(super) fn data(&self, piece: Piece, eager: bool) -> Said {
        let opens = eager && matches!(self.phase, Phase::Asking { .. });
        Said::Data {
            token: self.token,
            opens,
            lifetime: self.lifetime,
            piece,
        }
    }

    pub(super) fn check(&self) {
        self.sender.check();
        self.receiver.check();
        self.alarm.check();
    }

    /// What it is doing and what it waits for, as sender and as receiver.
    pub(super) fn stuck(&self) -> [Option<(String, String)>; 2] {
        let opening = |what: &str, tries: u16, answer: &str, at: Time| {
            let waits_for = format!("{answer}, or asks again at {at}");
            Some((format!("{what}, asked {} times", tries + 1), waits_for))
        };
        let own = match self.phase {
            Phase::Asking { tries, retry_at } => opening("opener", tries, "ACCEPT", retry_at),
            Phase::Accepting { tries, retry_at } => {
                opening("accepter", tries, "DATA or ACK", retry_at)
            }
            Phase::Open => self.sender.stuck(),
        };
        let theirs = self.silent_until.map(|until| {
            let state = format!("receiving message {}", self.receiver.complete());
            (state, format!("DATA, or forgets it at {until}"))
        });
        [own, theirs]
    }
}

impl<F: Default, const BITS: u32> Conn<F, BITS> {
    /// One that this end opens.
    pub(super) fn asking(peer: HostId, lifetime: Lifetime, token: Token, retry_at: Time) -> Self {
        let phase = Phase::Asking { tries: 0, retry_at };
        Self::new(peer, lifetime, token, phase)
    }

    /// One that the other end opens.
    pub(super) fn accepting(
        peer: HostId,
        lifetime: Lifetime,
        token: Token,
        retry_at: Time,
    ) -> Self {
        let phase = Phase::Accepting { tries: 0, retry_at };
        Self::new(peer, lifetime, token, phase)
    }

    fn new(peer: HostId, lifetime: Lifetime, token: Token, phase: Phase) -> Self {
        Self {
            flow: F::default(),
            peer,
            phase,
            opener: matches!(phase, Phase::Asking { .. }),
            lifetime,
            token,
            sender: Sender::default(),
            receiver: Receiver::default(),
            silent_until: None,
            ready: false,
            unasked: false,
            alarm: Alarm::OFF,
            excused: Excused::default(),
        }
    }

    /// When a piece could leave; [`Time::NEVER`] where that is not a matter of time.
    fn due<R: Rules<BITS, Flow = F>>(&self, rules: &R) -> Time {
        let waits = !R::EAGER && matches!(self.phase, Phase::Asking { .. });
        if waits || !self.sender.has_more() {
            return Time::NEVER;
        }
        rules.due(&self.sender, &self.flow)
    }

    /// Whether one could leave now.
    pub(super) fn can_send<R: Rules<BITS, Flow = F>>(&self, now: Time, rules: &R) -> bool {
        self.due(rules) <= now
    }

    /// A packet that may not leave is not late: its timer begins anew.
    pub(super) fn excuse<R: Rules<BITS, Flow = F>>(
        &mut self,
        cx: &Cx<'_>,
        id: ConnId,
        rules: &R,
        retry: &Retry,
    ) {
        let row = &mut self.excused;
        if let Phase::Asking { tries, retry_at } | Phase::Accepting { tries, retry_at } =
            &mut self.phase
            && *retry_at <= cx.now
        {
            let wait = retry.wait(*tries);
            let later = if R::EAGER && !self.sender.is_idle() {
                // The question is its data.
                cx.gates.excuse(cx.now, id, R::PRIORITY, wait, row)
            } else {
                cx.gates.excuse_all(cx.now, R::PRIORITY, wait, row)
            };
            *retry_at = later.unwrap_or(*retry_at);
        }
        if self.sender.deadline() <= cx.now {
            let wait = rules.wait(&self.flow, retry.wait(self.sender.tries()));
            if let Some(later) = cx.gates.excuse(cx.now, id, R::PRIORITY, wait, row) {
                self.sender.wait_until(later);
            }
        }
    }

    /// The last word on a packet that leaves; returns the record beside it.
    pub(super) fn finish<R: Rules<BITS, Flow = F>>(
        &mut self,
        rules: &mut R,
        out: &mut Packet,
    ) -> Record {
        if R::STAMPS {
            rules.stamp(self, out);
        }
        if R::ROOM == 0 {
            return Record::EMPTY;
        }
        out.set_record();
        rules.beside(self, out)
    }

    pub(super) fn deadline<R: Rules<BITS, Flow = F>>(&self, rules: &R) -> Time {
        let opening = match self.phase {
            Phase::Asking { retry_at, .. } | Phase::Accepting { retry_at, .. } => retry_at,
            Phase::Open => Time::NEVER,
        };
        let turn = if self.ready {
            Time::NEVER
        } else {
            self.due(rules)
        };
        let silent = self.silent_until.unwrap_or(Time::NEVER);
        let alarms = [
            self.sender.deadline(),
            silent,
            rules.alarm(&self.flow),
            turn,
        ];
        alarms.into_iter().fold(opening, Time::min)
    }
}
