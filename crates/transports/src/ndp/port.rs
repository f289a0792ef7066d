//! What NDP asks of a port: eight full frames, and headers that overtake them. [ndp s3.1]

use super::early::FirstRtt;
use super::params::{Params, Ports, Spray};
use model::intent::{Limit, Over, PortSpec, QueueSpec, Share, Takes};
use model::{Class, Encap};
use parts::{Fabric, Refusal};
use units::Bytes;

/// Preamble, delimiter and gap, which trimming does not count and a line carries. [IEEE 802.3]
const BETWEEN_FRAMES: u16 = 20;
/// Every class of data, as bits.
const DATA: u8 =
    1 << Class::Scheduled as u8 | 1 << Class::Unscheduled as u8 | 1 << Class::Plain as u8;

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
    let to = (params.trim + BETWEEN_FRAMES).max(encap.wire(0));
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
    let room =
        u32::from(params.queue) * u32::from(encap.wire_max()) * u32::from(params.header_room);
    let headers = QueueSpec {
        limit: Limit::Packets(u16::try_from(room / u32::from(to)).unwrap_or(u16::MAX)),
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
