//! One connection at one end: both of its directions.

use super::receiver::Receiver;
use super::sender::Sender;
use super::settings::Settings;
use model::{ConnId, HostId, Lifetime};
use parts::timers::Alarm;
use units::Time;

/// No place among the peers: nothing has come on this connection.
pub(super) const NO_PLACE: u32 = u32::MAX;

/// One connection at one end.
#[derive(Debug)]
pub(super) struct Conn {
    pub(super) id: ConnId,
    pub(super) peer: HostId,
    /// Where the messages of that peer are ranked.
    pub(super) place: u32,
    /// Which connection of this host it is: older ones have smaller numbers.
    pub(super) order: u32,
    pub(super) lifetime: Lifetime,
    pub(super) opener: bool,
    pub(super) tx: Sender,
    pub(super) rx: Receiver,
    pub(super) alarm: Alarm,
}

impl Conn {
    pub(super) fn one_shot(&self) -> bool {
        self.lifetime != Lifetime::Persistent
    }

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

    #[inline]
    pub(super) fn due(&self, settings: &Settings) -> Time {
        let rx = &self.rx;
        let grant = if rx.wants { rx.grant_at } else { Time::NEVER };
        self.tx.due(settings).min(grant).min(self.rx_due(settings))
    }

    /// When the silence of the peer means something: it was granted bytes that have not come.
    #[inline]
    pub(super) fn rx_due(&self, settings: &Settings) -> Time {
        let rx = &self.rx;
        if !settings.recovery || rx.on_the_way() == 0 {
            return Time::NEVER;
        }
        rx.since().max(rx.asked).after(settings.patience(rx.tries))
    }
}
