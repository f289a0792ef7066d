//! Messages by ranges of their sizes.

use crate::human;
use crate::kind::{InBytes, Ps, Ratio};
use crate::record::FlowRow;
use crate::stats::Dist;
use crate::summary::{fct, slowdown};
use serde::{Deserialize, Serialize};
use units::{Bytes, Time};

/// Messages of a range of sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeBin {
    /// `all`, `s`, `m`, `l` or `xl`.
    pub name: String,
    /// Sizes above this.
    pub above: InBytes,
    /// Sizes up to this; `None` without limit.
    pub up_to: Option<InBytes>,
    /// Messages, unfinished ones included.
    pub messages: u64,
    /// Unfinished ones.
    pub unfinished: u64,
    /// Time from the start at the sender to the last byte at the receiver.
    pub fct_ps: Option<Dist<Ps>>,
    /// Completion time over that in an idle network.
    pub slowdown: Option<Dist<Ratio>>,
}

/// Whether a bin holds messages of `size`; an empty message belongs to the smallest ones.
fn holds(above: u64, up_to: Option<u64>, size: u64) -> bool {
    (size > above || above == 0) && up_to.is_none_or(|top| size <= top)
}

impl SizeBin {
    /// Whether it holds messages of every size.
    pub fn is_all(&self) -> bool {
        self.above == 0 && self.up_to.is_none()
    }

    /// Whether messages of `size` belong to it.
    pub fn holds(&self, size: u64) -> bool {
        holds(self.above, self.up_to, size)
    }

    /// The range in words: `10 KB - 100 KB`.
    pub fn label(&self) -> String {
        match (self.above, self.up_to) {
            (0, None) => "all sizes".into(),
            (0, Some(top)) => format!("up to {}", human::bytes(Bytes(top))),
            (above, None) => format!("above {}", human::bytes(Bytes(above))),
            (above, Some(top)) => {
                format!(
                    "{} - {}",
                    human::bytes(Bytes(above)),
                    human::bytes(Bytes(top))
                )
            }
        }
    }
}

/// Upper ends of the size bins and their names. [xpass s6.3]
const BINS: [(&str, u64); 3] = [("s", 10_000), ("m", 100_000), ("l", 1_000_000)];
const LAST_BIN: &str = "xl";

/// All of them first, then by size.
pub(crate) fn size_bins(counted: &[&FlowRow], end: Time) -> Vec<SizeBin> {
    let of = |name: &str, above: u64, up_to: Option<u64>| {
        let (mut times, mut slowdowns) = (Vec::new(), Vec::new());
        for flow in counted.iter().filter(|flow| holds(above, up_to, flow.size)) {
            times.extend(fct(flow, end));
            slowdowns.extend(slowdown(flow, end));
        }
        SizeBin {
            name: name.into(),
            above,
            up_to,
            messages: times.len() as u64,
            unfinished: times.iter().filter(|took| took.at_least).count() as u64,
            fct_ps: Dist::of(&times),
            slowdown: Dist::of(&slowdowns),
        }
    };
    let all = of("all", 0, None);
    // What all of them have, they have in their bin: no number is put into order twice.
    let bin = |name: &str, above, up_to| {
        let inside = |flow: &&&FlowRow| holds(above, up_to, flow.size);
        if counted.iter().filter(inside).count() < counted.len() {
            return of(name, above, up_to);
        }
        SizeBin {
            name: name.into(),
            above,
            up_to,
            ..all.clone()
        }
    };
    let mut bins = vec![all.clone()];
    let mut above = 0;
    for (name, top) in BINS {
        bins.push(bin(name, above, Some(top)));
        above = top;
    }
    bins.push(bin(LAST_BIN, above, None));
    bins
}
