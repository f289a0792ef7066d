//! DCTCP: a window that falls in proportion to the share of marked packets.
//! [Alizadeh et al., SIGCOMM 2010; RFC 8257]
#![doc = include_str!("README.md")]

mod alpha;
mod conn;
mod header;
mod host;
mod outgoing;
mod params;
mod receiver;
mod rtt;
mod sender;
#[cfg(test)]
mod tests;
mod window;

pub use params::{AckPolicy, Growth, OnLoss, Params, mark_threshold};

use header::PAYLOAD_MAX;
use host::Host;
use model::wire::Codec;
use model::{Encap, Endpoint, EndpointConfig};
use parts::keys::{Key, Profiles};
use parts::{Declared, Entry, Fabric, Factory, ParamError, Unread};
use toml::Table;
use units::{Rate, Span};

/// The only priority in use.
const PRIORITY: u8 = 0;

/// DCTCP in the registry.
pub static DCTCP: Entry<Params> = Entry::new(
    "dctcp",
    "TCP with a window that falls in proportion to the share of ECN marks",
);

impl Declared for Params {
    const KEYS: &'static [Key<Self>] = params::KEYS;
    const PROFILES: &'static Profiles<Self> = params::PROFILES;
    const CODEC: &'static dyn Codec = &header::CODEC;

    fn profile(&self) -> &'static str {
        self.profile
    }
    fn agree(&mut self, _: &Table) -> Result<(), ParamError> {
        self.consistent()
    }
}

impl Factory for Params {
    fn make(&self, config: &EndpointConfig) -> Box<dyn Endpoint> {
        Box::new(Host::new(self, config))
    }
    fn unread(&self) -> Vec<Unread> {
        self.without_effect()
    }
    fn first_wait(&self) -> Option<(&'static str, Span)> {
        Some(("rto_initial", self.rto_initial))
    }
    fn fabric(&self, rate: Rate, encap: Encap) -> Fabric {
        Fabric {
            mark: self.mark_spec(rate, encap),
            priorities: 1,
            ..Fabric::default()
        }
    }
}

/// The parameters in the units of the per-packet path.
#[derive(Clone, Debug)]
struct Rules {
    /// Payload of a full packet: SMSS.
    payload_max: u64,
    initial_window: u64,
    window_min: u64,
    ssthresh_initial: u64,
    receive_window: u64,
    ecn: bool,
    sack: bool,
    idle_restart: bool,
    prr: bool,
    /// Whether the window grows in the round trip after a cut.
    grows_reduced: bool,
    /// Whether echoes of marks let it grow, the first in a row aside.
    grows_marked: bool,
    limited_transmit: bool,
    /// Whether what counts as lost makes room in recovery.
    lost_leaves: bool,
    timeout_after_mark: bool,
    /// Whether the window counts from the first byte that is not acknowledged after a timeout.
    window_in_order: bool,
    /// After a timeout everything is sent again, and every acknowledgement of nothing new is a duplicate.
    go_back_n: bool,
    /// Whether the window counts acknowledgements, not bytes.
    count_acks: bool,
    marks_after_timeout: bool,
    /// Whether alpha's window ends beyond its last byte.
    alpha_beyond: bool,
    /// Whether the acknowledgement that begins a spread cut counts twice, and a packet besides.
    prr_ahead: bool,
    /// Whether growth goes on after marks where it stood.
    mark_keeps_credit: bool,
    handshake_ack: bool,
    ecn_acks: bool,
    karn: bool,
    dup_thresh: u8,
    packets_per_ack: u8,
    retries_max: u8,
    on_loss: OnLoss,
    gain: f64,
    alpha_initial: f64,
    ack_delay: Span,
    rto_initial: Span,
    rto_min: Span,
    rto_max: Span,
    /// Looks in vain after which the sender of a message under way has given up.
    looks_max: u8,
}

impl Rules {
    fn new(params: &Params, encap: Encap) -> Self {
        assert!(
            encap.payload_max > 0,
            "frames without payload carry no stream"
        );
        let payload_max = u64::from(encap.payload_max.min(PAYLOAD_MAX));
        let receive_window = params.receive_window.0.max(payload_max);
        let packets = |n: u64| (n * payload_max).min(receive_window);
        Self {
            payload_max,
            initial_window: packets(u64::from(params.initial_window)),
            window_min: packets(u64::from(params.window_min)),
            ssthresh_initial: params
                .ssthresh_initial
                .map_or(u64::MAX, |n| packets(u64::from(n))),
            receive_window,
            ecn: params.ecn,
            sack: params.sack,
            idle_restart: params.idle_restart,
            prr: params.prr,
            // What spreads a cut says how the window moves meanwhile.
            grows_reduced: params.growth != Growth::Settled && !params.prr,
            grows_marked: params.growth == Growth::All,
            limited_transmit: params.limited_transmit,
            lost_leaves: params.lost_leaves,
            timeout_after_mark: params.timeout_after_mark,
            window_in_order: params.window_in_order,
            go_back_n: params.go_back_n,
            count_acks: params.count_acks,
            marks_after_timeout: params.marks_after_timeout,
            alpha_beyond: params.alpha_beyond,
            prr_ahead: params.prr_ahead,
            mark_keeps_credit: params.mark_keeps_credit,
            handshake_ack: params.handshake_ack,
            ecn_acks: params.ecn && params.ecn_acks,
            karn: params.karn,
            dup_thresh: params.dup_thresh,
            packets_per_ack: params.packets_per_ack(),
            retries_max: params.retries_max,
            on_loss: params.on_loss,
            gain: params.gain,
            alpha_initial: params.alpha_initial,
            ack_delay: params.ack_delay,
            rto_initial: params.rto_initial,
            rto_min: params.rto_min,
            rto_max: params.rto_max,
            looks_max: params.looks_max(),
        }
    }

    /// How long the `tries`-th try to open a connection waits, and the `tries`-th look after a
    /// silent sender, counted from 0.
    fn wait(&self, tries: u8) -> Span {
        self.rto_initial.times(1 << tries.min(60)).min(self.rto_max)
    }
}
