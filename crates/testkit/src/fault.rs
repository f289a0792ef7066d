//! What the network does to packets, as written down by a test.

use model::{Ecn, HostId, Packet, Rng, stream};
use units::{Span, Time};

/// Which packets a fault hits, counted from 1 in the order in which they are put on a line.
///
/// `3` is the third packet of the run, `("CREDIT", 2)` the second whose description starts with
/// `CREDIT`, `"DATA"` every packet whose description starts with `DATA`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The n-th packet of the run.
    Nth(u64),
    /// The n-th packet whose description starts with the text.
    NthOf(String, u64),
    /// Every packet whose description starts with the text; all packets where it is empty.
    Every(String),
}

impl From<u64> for Which {
    fn from(n: u64) -> Self {
        Self::Nth(n)
    }
}
impl From<(&str, u64)> for Which {
    fn from((kind, n): (&str, u64)) -> Self {
        Self::NthOf(kind.to_owned(), n)
    }
}
impl From<&str> for Which {
    fn from(kind: &str) -> Self {
        Self::Every(kind.to_owned())
    }
}

/// Random faults, each with its chance in 10^-9 per packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chaos {
    /// Chance that a packet is lost.
    pub lose_ppb: u32,
    /// Chance that it is delivered twice.
    pub duplicate_ppb: u32,
    /// Chance that it is held back.
    pub delay_ppb: u32,
    /// Longest time that it is held back.
    pub delay_max: Span,
    /// Chance that an ECN-capable packet is marked.
    pub mark_ppb: u32,
    /// Chance that data loses its payload, and that its head is then sent back; of transports that take either.
    pub trim_ppb: u32,
    /// See `trim_ppb`.
    pub return_ppb: u32,
}

#[derive(Clone, Copy, Debug)]
enum Does {
    Lose,
    Duplicate,
    Delay(Span),
    Mark,
    Trim,
    Return,
}

#[derive(Debug)]
struct Fault {
    which: Which,
    does: Does,
    /// Packets of this description so far.
    seen: u64,
}

#[derive(Debug)]
struct Down {
    host: HostId,
    from: Time,
    until: Time,
}

/// What becomes of one packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fate {
    pub(crate) lost: bool,
    pub(crate) twice: bool,
    pub(crate) late: Span,
    pub(crate) marked: bool,
    pub(crate) trimmed: bool,
    pub(crate) returned: bool,
}

/// Every fault of a run.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    scripted: Vec<Fault>,
    downs: Vec<Down>,
    chaos: Option<(Chaos, Rng)>,
    packets: u64,
}

impl Faults {
    pub(crate) fn lose(&mut self, which: Which) {
        self.scripted.push(Fault {
            which,
            does: Does::Lose,
            seen: 0,
        });
    }
    pub(crate) fn duplicate(&mut self, which: Which) {
        self.scripted.push(Fault {
            which,
            does: Does::Duplicate,
            seen: 0,
        });
    }
    pub(crate) fn delay(&mut self, which: Which, by: Span) {
        self.scripted.push(Fault {
            which,
            does: Does::Delay(by),
            seen: 0,
        });
    }
    pub(crate) fn mark(&mut self, which: Which) {
        self.scripted.push(Fault {
            which,
            does: Does::Mark,
            seen: 0,
        });
    }
    pub(crate) fn trim(&mut self, which: Which, and_return: bool) {
        let does = if and_return { Does::Return } else { Does::Trim };
        let seen = 0;
        self.scripted.push(Fault { which, does, seen });
    }
    pub(crate) fn down(&mut self, host: HostId, from: Time, until: Time) {
        self.downs.push(Down { host, from, until });
    }
    pub(crate) fn chaos(&mut self, chaos: Chaos, seed: u64) {
        self.chaos = Some((chaos, Rng::stream(seed, stream::FAULT, 0)));
    }

    /// Decides about a packet that `from` puts on its line now, and marks it where that is asked.
    /// `describe` is only called where a fault asks for a kind; nothing is trimmed that may not be `cut`.
    pub(crate) fn decide(
        &mut self,
        packet: &mut Packet,
        cut: bool,
        describe: &dyn Fn(&Packet) -> String,
    ) -> Fate {
        self.packets += 1;
        let mut fate = Fate::default();
        for fault in &mut self.scripted {
            let hit = match &fault.which {
                Which::Nth(n) => self.packets == *n,
                Which::NthOf(kind, n) => {
                    let same = describe(packet).starts_with(kind);
                    fault.seen += u64::from(same);
                    same && fault.seen == *n
                }
                Which::Every(kind) => kind.is_empty() || describe(packet).starts_with(kind),
            };
            match fault.does {
                _ if !hit => {}
                Does::Lose => fate.lost = true,
                Does::Duplicate => fate.twice = true,
                Does::Delay(by) => fate.late += by,
                Does::Mark => fate.marked = true,
                Does::Trim => fate.trimmed = true,
                Does::Return => (fate.trimmed, fate.returned) = (true, true),
            }
        }
        if let Some((chaos, rng)) = &mut self.chaos {
            fate.lost |= rng.chance_ppb(chaos.lose_ppb);
            fate.twice |= rng.chance_ppb(chaos.duplicate_ppb);
            let by = rng.below(chaos.delay_max.0.max(1));
            if rng.chance_ppb(chaos.delay_ppb) {
                fate.late += Span(by);
            }
            fate.marked |= rng.chance_ppb(chaos.mark_ppb);
            fate.trimmed |= cut && rng.chance_ppb(chaos.trim_ppb);
            fate.returned |= fate.trimmed && rng.chance_ppb(chaos.return_ppb);
        }
        fate.trimmed &= cut;
        fate.returned &= cut;
        fate.marked &= packet.ecn() != Ecn::NotCapable;
        if fate.marked {
            packet.set_ecn(Ecn::Marked);
        }
        fate
    }

    /// Whether `host`'s link is down at some moment of `[from, until]`.
    pub(crate) fn is_down(&self, host: HostId, from: Time, until: Time) -> bool {
        self.downs
            .iter()
            .any(|d| d.host == host && d.from <= until && from < d.until)
    }
}
