//! What flow controls make of the ports that transports ask for.

use model::Class;
use model::intent::{Limit, Order, Over, PortSpec, QueueSpec, Takes};
use parts::{Caution, ControlFactory, LINK_FRAME, Neighbour, Place, Refusal};
use units::{Bytes, Rate, Span};

/// Refuses ports that cut packets or push them out: what a flow control has counted would be gone.
pub(crate) fn drops_at_most(name: &str, port: &PortSpec) -> Result<(), Refusal> {
    let drops = |queue: &QueueSpec| queue.over == Over::Drop;
    if port.queues.iter().all(drops) {
        return Ok(());
    }
    Err(Refusal {
        place: "switch.flow_control",
        reason: format!("cuts or pushes out packets that {name} has counted"),
        instead: "remove switch.flow_control, or choose a transport that does neither".to_owned(),
    })
}

/// Refuses a memory without room for a single frame: nothing would ever pass.
pub(crate) fn holds_a_frame(place: &Place<'_>) -> Result<(), Refusal> {
    if place.memory.get() >= place.frame {
        return Ok(());
    }
    Err(Refusal {
        place: "switch.shared_buffer",
        reason: format!(
            "has {}, and a frame has {}",
            place.memory,
            Bytes(place.frame)
        ),
        instead: enough(2 * place.frame * place.lines.len() as u64),
    })
}

/// Advice to give a switch at least `wanted` bytes of memory.
pub(crate) fn enough(wanted: u64) -> String {
    format!(
        "write shared_buffer = \"{}KB\" or more",
        wanted.div_ceil(1000)
    )
}

/// Data of connections: what schemes that pause flows count and pause. The rest has a queue of its own.
pub(crate) fn is_data(class: Class) -> bool {
    !matches!(class, Class::Control | Class::Credit | Class::Link)
}

/// Queues of a port, as bits.
pub(crate) type Bits = u128;
/// Most queues of data that a port has: [`Bits`] name each.
pub(crate) const QUEUES_MAX: u8 = 128;

/// Refuses queues of several transports: a flow joins one of the flow control's own, whoever sends it, and what the others
/// are promised of the line would mean nothing.
fn of_one_transport(name: &str, port: &PortSpec) -> Result<(), Refusal> {
    let beside =
        |queue: &QueueSpec| queue.takes.lanes & 1 == 0 && matches!(queue.limit, Limit::Bytes(_));
    if !port.queues.iter().any(beside) {
        return Ok(());
    }
    Err(Refusal {
        place: "switch.flow_control",
        reason: format!("has queues of several transports, and {name} makes its own of one"),
        instead: "choose switch.flow_control = \"pfc\"".to_owned(),
    })
}

/// The port with its one queue of data, the last in the list, in the order of `order`; what is no data goes before it.
///
/// # Errors
/// If the transport asks for several queues of data, or others have queues beside it.
pub(crate) fn split(name: &str, port: PortSpec, order: Order) -> Result<PortSpec, Refusal> {
    drops_at_most(name, &port)?;
    of_one_transport(name, &port)?;
    let (mut others, data): (Vec<QueueSpec>, Vec<QueueSpec>) =
        port.queues.into_iter().partition(|queue| !queue.is_data());
    let [data] = data.as_slice() else {
        return Err(Refusal {
            place: "switch.flow_control",
            reason: format!(
                "has {} queues of data, and {name} makes its own of one",
                data.len()
            ),
            instead: "write switch.priorities = 1, or choose switch.flow_control = \"pfc\""
                .to_owned(),
        });
    };
    for other in &mut others {
        other.level += u8::from(other.level > 0);
    }
    let classes = Class::ALL.into_iter().filter(|&class| !is_data(class));
    let control = QueueSpec {
        takes: Takes {
            classes: classes.fold(0, |bits, class| bits | 1 << class as u8),
            ..data.takes
        },
        level: 1,
        mark: None,
        drop: None,
        ..*data
    };
    others.push(control);
    others.push(QueueSpec {
        level: data.level + 1,
        order,
        ..*data
    });
    Ok(PortSpec {
        queues: others,
        ..port
    })
}

/// Bytes that the line of `line` takes in one round trip of a hop: there and back over the longest link of the switch,
/// with a frame in the way at both ends and a frame of the link's own. The unit of thresholds.
pub(crate) fn hop_bytes(place: &Place<'_>, line: &Neighbour<'_>) -> u64 {
    let longest = place.lines.iter().map(|line| line.round).max();
    let line = Neighbour {
        round: longest.unwrap_or_default(),
        back: line.rate,
        ..*line
    };
    line.slack(place.frame, 0)
}

/// The time from one moment at which `count` frames of the link's own are said again on a line of `rate` to the next:
/// `wanted`, or as much more as they need to take half the line at most. They go before all else: faster, they would leave
/// nothing of it, and wait in a queue that has no end. [ours]
pub(crate) fn apart(wanted: Span, rate: Rate, count: usize) -> Span {
    wanted.max(rate.serialize(Bytes(2 * LINK_FRAME * count as u64)))
}

/// Refuses to say `count` frames again each `wanted` where they would take more than half of a line: [`apart`].
pub(crate) fn leaves_half(
    place: &Place<'_>,
    (key, wanted, unit): (&'static str, Span, u64),
    count: usize,
) -> Result<(), Refusal> {
    let slowest = place.lines.iter().map(|line| line.rate).min();
    let least = slowest.map_or(Span::ZERO, |rate| apart(Span::ZERO, rate, count));
    if wanted >= least {
        return Ok(());
    }
    Err(Refusal {
        place: key,
        reason: format!(
            "has frames of links take more than half of a line of {}",
            slowest.unwrap_or_default()
        ),
        instead: format!("write \"{}\" or more", Span(least.0 * unit)),
    })
}

/// Bytes of memory with which a queue that is paused above `threshold` loses nothing: what all other lines bring until they
/// have heard of it comes on top.
pub(crate) fn needs(place: &Place<'_>, threshold: u64) -> Bytes {
    let brings = place.lines.iter().map(|line| line.slack(place.frame, 0));
    let (sum, least) = brings.fold((0u64, u64::MAX), |(sum, least), bytes| {
        (sum.saturating_add(bytes), least.min(bytes))
    });
    Bytes(threshold.saturating_add(sum).saturating_sub(least))
}

/// What to say where the memory is full before any queue is paused, each above `threshold`.
pub(crate) fn full_before(
    place: &Place<'_>,
    threshold: u64,
    of: impl ControlFactory + 'static,
) -> Option<Caution> {
    (threshold > place.memory.get()).then(|| Caution {
        lacks: threshold,
        said: format!(
            "pauses begin when a queue holds {}, and the memory has {}: packets are dropped before",
            Bytes(threshold),
            place.memory
        ),
        keys: Vec::new(),
        with: Some(Box::new(of)),
    })
}

/// A number of bytes, of times that many.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a threshold is a whole number of bytes"
)]
pub(crate) fn part(times: f64, bytes: u64) -> u64 {
    (times * bytes as f64) as u64
}
