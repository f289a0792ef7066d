//! What one host makes of the parameters: all that a packet needs, computed once.

use super::arbiter::Plan;
use super::header::{LEAD_SLOTS, PAYLOAD_MAX, WAYS_BITS};
use super::params::{Clock, Params, Ways};
use super::words::Pace;
use model::intent::CreditSpec;
use model::{Encap, EndpointConfig, HostId};
use units::{LineTime, Span};

/// Priorities: everything but data has the first. [fastpass s6, recalled; phost artefact]
pub(super) const PRIORITIES: u8 = 2;
pub(super) const URGENT: u8 = 0;
pub(super) const DATA: u8 = 1;
/// Idle round trips, and leads, that a request is waited for at least. [ours]
const ROUNDS: u64 = 3;
const LEADS: u64 = 2;
/// Questions that are counted: the waits do not grow beyond. [ours]
pub(super) const ASKED_MAX: u8 = 6;
/// Repetitions in vain that are counted: beyond, the wait is as long as it gets. [ours]
pub(super) const VAIN_MAX: u8 = 30;
/// So often a sender says something within the timeout, although it has no slots. [ours]
const SAYS: u64 = 4;

/// The parameters in the units of the per-packet path.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) me: HostId,
    pub(super) encap: Encap,
    /// Payload of a full frame.
    pub(super) payload_max: u16,
    /// The host that is the arbiter, where there is one for all.
    pub(super) arbiter: Option<HostId>,
    /// From one slot to the next.
    pub(super) slot: Span,
    pub(super) shared: bool,
    /// What a packet without payload takes on the line.
    pub(super) word: Span,
    /// What a frame may be late by.
    pub(super) late: Span,
    pub(super) ack_every: u32,
    ask: Span,
    rto: Span,
    /// Without a word for so long a sender asks, whatever it waits for.
    pub(super) alive: Span,
    pub(super) timeout: Span,
    pub(super) linger: Span,
    pub(super) plan: Plan,
}

impl Settings {
    pub(super) fn new(params: &Params, config: &EndpointConfig) -> Self {
        let encap = config.encap;
        assert!(
            encap.payload_max > 0,
            "frames without payload carry no message"
        );
        let plan = plan(params, config);
        let (slot, lead) = (plan.slot, plan.lead);
        let batch = slot.times(params.batch.into());
        let shared = match params.clock {
            Clock::Auto => plan.shape.is_some(),
            Clock::Shared => true,
            Clock::Own => false,
        };
        let least = config.base_rtt.times(ROUNDS).0 + lead.times(LEADS).0 + batch.0;
        Self {
            me: config.host,
            encap,
            payload_max: encap.payload_max.min(PAYLOAD_MAX),
            arbiter: params.arbiter.map(HostId),
            slot,
            shared,
            word: part(LineTime::new(config.rate).of(encap.wire(0).into()), config),
            late: slot.times(params.late.into()),
            ack_every: params.ack_every,
            ask: params.ask.unwrap_or(config.base_rtt + batch),
            rto: params.rto.max(Span(least)),
            alive: Span(params.timeout.0 / SAYS),
            timeout: params.timeout,
            linger: params.linger,
            plan,
        }
    }

    /// How long the arbiter may be silent, after so many questions.
    pub(super) fn rto(&self, asked: u8) -> Span {
        self.rto.times(1 << asked.min(ASKED_MAX))
    }

    /// How long the receiver of all frames may be, likewise.
    pub(super) fn ask(&self, asked: u8) -> Span {
        self.ask.times(1 << asked.min(ASKED_MAX))
    }

    /// How long a sender waits for what it repeated, after so many repetitions that brought nothing: twice as long each
    /// time, as its frames take a line that others could have.
    pub(super) fn repeats(&self, in_vain: u8) -> Span {
        let wait = self.ask.0.saturating_mul(1 << in_vain.min(VAIN_MAX));
        Span(wait).min(self.alive)
    }

    /// Wire bytes of a packet without payload.
    pub(super) fn small(&self) -> u16 {
        self.encap.wire(0)
    }
}

/// How the arbiter works.
fn plan(params: &Params, config: &EndpointConfig) -> Plan {
    let (encap, shape) = (config.encap, params.shape.clone());
    let rate = shape.as_ref().map_or(config.rate, |shape| shape.rate);
    let line = LineTime::new(rate);
    let whole = u64::from(CreditSpec::WHOLE);
    let share = u64::from(config.line_share.max(1));
    let frame = (line.of(encap.wire_max().into()).0 * whole).div_ceil(share);
    let slot = Span((frame + guard(frame, params.guard)).max(1));
    let hosts = shape.as_ref().map_or(1, |shape| shape.seats.len() as u64);
    let bits = shape
        .as_ref()
        .and_then(|shape| shape.bits())
        .map_or(0, u32::from);
    let words = u64::from((params.batch * bits).div_ceil(WAYS_BITS).max(1)) * hosts;
    let word = part(line.of(encap.wire(0).into()), config);
    let Pace { word, held } = match (&shape, params.arbiter) {
        (Some(shape), Some(own)) => Pace::new(shape, shape.seats[own as usize].rack, word, slot),
        _ => Pace {
            word,
            held: Span::ZERO,
        },
    };
    let way = Span(config.control_rtt.0 / 2 + held.0);
    let lead = params.lead.unwrap_or_else(|| {
        let work = params.frame_time.times(hosts * u64::from(params.batch));
        Span(work.0 + word.times(words).0 + way.0)
    });
    // DEVIATES(fastpass artefact): there a lead may be too short for the way to a host, and every slot is lost then.
    let soonest = Span(way.0 + word.0 + params.frame_time.0);
    Plan {
        colours: params.ways == Ways::Arbiter,
        order: params.order,
        slot,
        batch: params.batch,
        lead: lead.max(soonest).min(slot.times(LEAD_SLOTS)),
        request_time: params.request_time,
        frame_time: params.frame_time,
        own: params
            .arbiter
            .filter(|_| shape.is_some())
            .map(|host| host as usize),
        words: u64::from(encap.wire_max() / encap.wire(0)).max(1),
        word,
        way,
        shape,
    }
}

/// What takes a line as long as `time` takes so long of the part of it that is the transport's.
fn part(time: Span, config: &EndpointConfig) -> Span {
    Span(time.0 * u64::from(CreditSpec::WHOLE) / u64::from(config.line_share.max(1)))
}

/// What is left free behind each frame, in picoseconds: a part of it.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive time, and the cast saturates"
)]
fn guard(frame: u64, part: f64) -> u64 {
    (frame as f64 * part) as u64
}
