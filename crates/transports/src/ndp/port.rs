//! What NDP asks of a port: eight full frames, and headers that overtake them. [ndp s3.1]

use super::early::FirstRtt;
use super::params::{Params, Ports, Spray};
use model::intent::{Limit, Over, PortSpec, QueueSpec, Share, Takes};
use model::{Class, Encap};
use parts::{Fabric, Refusal};
use units::{Bytes, Rate, Span};

/// Preamble, delimiter and gap, which trimming does not count and a line carries. [IEEE 802.3]
const BETWEEN_FRAMES: u16 = 20;
/// Every class of data, as bits.
const DATA: u8 =
    1 << Class::Scheduled as u8 | 1 << Class::Unscheduled as u8 | 1 << Class::Plain as u8;

/// Bytes of a trimmed frame, and how many of them a header queue keeps.
fn heads(params: &Params, encap: Encap) -> (u16, u16) {
    let to = (params.trim + BETWEEN_FRAMES).max(encap.wire(0));
    let room =
        u32::from(params.queue) * u32::from(encap.wire_max()) * u32::from(params.header_room);
    (to, u16::try_from(room / u32::from(to)).unwrap_or(u16::MAX))
}

/// How long a full port of a host's line takes for what it holds, and for a frame of data after each `turns` heads; nothing for
/// ports that do not trim.
pub(super) fn longest_wait(params: &Params, encap: Encap, rate: Rate) -> Span {
    if params.bursts() || params.ports == Ports::DropTail {
        return Span::ZERO;
    }
    let (to, heads) = heads(params, encap);
    let of = |count: u16, bytes: u16| rate.serialize(Bytes(u64::from(count) * u64::from(bytes)));
    let frames = params.queue.saturating_add(heads / params.turns.max(1));
    of(heads, to) + of(frames, encap.wire_max())
}

/// The port of NDP: data, and after ten to one of what overtakes it.
pub(super) fn fabric(params: &Params, encap: Encap) -> Fabric {
    let own_ways = params.ways != Spray::Flow;
    if params.bursts() {
        return Fabric {
            own_ways,
            drop: params.drop_spec(encap),
            background: (params.first_rtt == FirstRtt::Gaps).then_some(Class::Unscheduled),
            ..Fabric::default()
        };
    }
    if params.ports == Ports::DropTail {
        return Fabric {
            own_ways,
            ..Fabric::default()
        };
    }
    // What is left must hold the headers.
    let (to, heads) = heads(params, encap);
    let data = QueueSpec {
        takes: Takes {
            classes: DATA,
            trimmed: Some(false),
            ..Takes::ALL
        },
        limit: Limit::Packets(params.queue),
        over: Over::Trim {
            to,
            coin: params.coin,
            bounce: params.bounce,
        },
        ..QueueSpec::DATA
    };
    let headers = QueueSpec {
        limit: Limit::Packets(heads),
        group: 1,
        ..QueueSpec::DATA
    };
    let own = PortSpec {
        buffer: Bytes(0),
        queues: vec![data, headers],
        shares: vec![Share::Packets(1), Share::Packets(params.turns)],
    };
    Fabric {
        own: Some(own),
        own_ways,
        ..Fabric::default()
    }
}

/// Whether data that has no room in `port` is trimmed.
pub(super) fn suits(params: &Params, port: &PortSpec) -> Result<(), Refusal> {
    // The port has the queues of one lane alone, whatever its number.
    let takes = |queue: &&QueueSpec, class: Class| {
        let lanes = Takes::ALL.lanes;
        Takes {
            lanes,
            ..queue.takes
        }
        .takes(0, class, 0, false)
    };
    let trims = |class| {
        let queue = port.queues.iter().find(|queue| takes(queue, class));
        queue.is_some_and(|queue| matches!(queue.over, Over::Trim { .. }))
    };
    if params.allow_unsupported
        || params.bursts()
        || [Class::Scheduled, Class::Unscheduled]
            .into_iter()
            .all(trims)
    {
        return Ok(());
    }
    Err(Refusal {
        place: "transport.kind",
        reason: "needs ports that trim what has no room; these drop it".to_owned(),
        instead: "write ports = \"trim\" in [transport.ndp], choose \"ndp+aeolus\", which needs no trimming, or write allow_unsupported = true to see what becomes of it"
            .to_owned(),
    })
}
