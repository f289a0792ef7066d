//! One connection at one end: both of its directions.

use super::receiver::Receiver;
use super::sender::Sender;
use super::settings::Settings;
use model::{ConnId, HostId, Lifetime};
use parts::timers::Alarm;
use units::Time;

/// One connection at one end.
#[derive(Debug)]
pub(super) struct Conn {
    pub(super) id: ConnId,
    pub(super) peer: HostId,
    /// Equal-cost ways to the peer, and the one that the next answer takes.
    pub(super) ways: u16,
    pub(super) way: u16,
    /// Which connection of this host it is.
    pub(super) order: u32,
    pub(super) lifetime: Lifetime,
    pub(super) opener: bool,
    pub(super) tx: Sender,
    pub(super) rx: Receiver,
    pub(super) alarm: Alarm,
}

impl Conn {
    /// Whether it has carried all that it is for.
    pub(super) fn is_over(&self) -> bool {
        let sent = self.tx.is_used() && self.tx.is_idle();
        let got = self.rx.ordinal > 0;
        match self.lifetime {
            Lifetime::OneMessage if self.opener => sent,
            Lifetime::OneMessage => got,
            Lifetime::Exchange => sent && got,
            Lifetime::Persistent => false,
        }
    }

    /// The way of the next answer: one after the other.
    #[inline]
    pub(super) fn next_way(&mut self) -> u16 {
        let way = self.way;
        self.way = if way + 1 < self.ways { way + 1 } else { 0 };
        way
    }

    pub(super) fn due(&self, settings: &Settings) -> Time {
        self.tx.due(settings).min(self.rx_due(settings))
    }

    /// When the sender of an unfinished message counts as gone.
    pub(super) fn rx_due(&self, settings: &Settings) -> Time {
        if self.rx.active {
            self.rx.heard.after(settings.timeout)
        } else {
            Time::NEVER
        }
    }
}
