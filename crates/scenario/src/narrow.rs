//! Switches between whose hosts and those of others much more may be sent than the lines between switches carry, where
//! ports trim.

use crate::assemble::Assembled;
use model::intent::{Limit, Over, PortSpec};
use results::human;
use std::collections::BTreeMap;
use topology::{LinkId, NodeId};
use units::{Rate, Time};
use workload::{Message, Start};

/// So many times more than a switch's lines to others carry, what its hosts send or receive is too much. [ours: the page of NDP
/// has the runs]
const NARROW: u64 = 4;
/// Frames that are no longer than this can be: with longer ones less is trimmed. [ours: the page of NDP has the runs]
const LONGEST: u16 = 9_000;

/// What crosses the lines between a switch and others, one way.
#[derive(Clone, Copy, Default)]
struct Crossing {
    /// Rates of the lines of all hosts that send it, and of all that receive it.
    ends: [u64; 2],
    /// Frames of messages that have several.
    frames: u64,
    /// What the lines carry, and frames that wait before them and are not trimmed.
    carried: u64,
    room: u64,
}

impl Crossing {
    /// At what rate it may come: no faster than the lines of its senders, nor than those of its receivers.
    fn wanted(&self) -> u64 {
        self.ends[0].min(self.ends[1])
    }

    /// Whether much of what is pulled is trimmed: it comes too fast, and so much that it does not fit into queues.
    fn is_narrow(&self) -> bool {
        let narrow = self.carried > 0 && self.wanted() / NARROW >= self.carried;
        narrow && self.frames - self.frames / NARROW > self.room
    }
}

/// Of every switch what its hosts send on, and with `true` what they are sent.
type Crossings = BTreeMap<(NodeId, bool), Crossing>;

impl Assembled {
    /// Receivers pull at the rate of their own lines, whatever lies between: ports there trim what is pulled, again and again.
    pub(crate) fn narrow_lines(&self) -> Option<String> {
        let lanes = self
            .ports
            .iter()
            .map(|port| trims(port).map_or(0, |(lanes, _)| lanes));
        let lanes = lanes.fold(0, |all, lanes| all | lanes);
        if lanes == 0 {
            return None;
        }
        let mut crossings = self.crossing(lanes);
        self.carry(&mut crossings);
        let (&(at, receives), found) = crossings.iter().find(|(_, of)| of.is_narrow())?;
        let [wanted, carried] = [found.wanted(), found.carried].map(|rate| human::rate(Rate(rate)));
        let (way, lead) = match receives {
            false => ("send on", "go on from there"),
            true => ("are sent from elsewhere", "lead there"),
        };
        let help = match self.encap.wire_max() < LONGEST {
            true => format!("; longer frames lose less that way (run.mtu = \"{LONGEST}B\")"),
            false => String::new(),
        };
        Some(format!(
            "hosts of {} {way} at up to {wanted}, and {carried} {lead}: receivers pull at the rate of their own lines, so that \
             ports between trim much of what is pulled, and it is pulled again{help}",
            self.topology.node(at).name
        ))
    }

    /// What messages of these lanes put on lines between switches, but for those of one frame, which is hardly pulled.
    fn crossing(&self, lanes: u8) -> Crossings {
        let line = |host: u32| self.topology.nodes[host as usize].ports.first().copied();
        let at = |host| line(host).map(|link| self.topology.link(link).to);
        let mut crossings = Crossings::new();
        let mut ends: Vec<((NodeId, bool), bool, u32)> = Vec::new();
        for message in &self.traffic.messages {
            let frames = self.encap.frames(message.size);
            if frames < 2 || lanes >> self.lane(message.conn) & 1 == 0 {
                continue;
            }
            let conn = &self.traffic.conns[message.conn as usize];
            let (from, to) = match message.from_a {
                true => (conn.a, conn.b),
                false => (conn.b, conn.a),
            };
            let (Some(here), Some(there)) = (at(from), at(to)) else {
                continue;
            };
            if here != there {
                for side in [(here, false), (there, true)] {
                    let sum = &mut crossings.entry(side).or_default().frames;
                    *sum = sum.saturating_add(frames);
                    ends.extend([(side, false, from), (side, true, to)]);
                }
            }
        }
        ends.sort_unstable();
        ends.dedup();
        for (side, receives, host) in ends {
            let lines = self.topology.nodes[host as usize].ports.iter();
            let rate = lines.map(|&link| self.topology.link(link).rate.0);
            let of = crossings.get_mut(&side).expect("entered with its ends");
            let sum = &mut of.ends[usize::from(receives)];
            *sum = rate.fold(*sum, u64::saturating_add);
        }
        crossings
    }

    /// Adds what lines between switches carry, but for those that are down when the last message begins, until the end.
    fn carry(&self, crossings: &mut Crossings) {
        let begins = |message: &Message| match message.start {
            Start::At(at) => at,
            Start::After { .. } | Start::Fired { .. } => Time::ZERO,
        };
        let last = self.traffic.messages.iter().map(begins).max();
        let mut down = self.down(self.until());
        down.retain(|_, since| Some(*since) <= last);
        for (link, port) in (0..).map(LinkId).zip(&self.ports) {
            let of = self.topology.link(link);
            if self.topology.is_host(of.from)
                || self.topology.is_host(of.to)
                || down.contains_key(&link)
            {
                continue;
            }
            for side in [(of.from, false), (of.to, true)] {
                if let Some(crossing) = crossings.get_mut(&side) {
                    let room = trims(port).map_or(u64::MAX, |(_, frames)| frames);
                    crossing.carried = crossing.carried.saturating_add(of.rate.0);
                    crossing.room = crossing.room.saturating_add(room);
                }
            }
        }
    }
}

/// The lanes of a queue that trims, and how many frames wait there; none where no queue does.
fn trims(port: &PortSpec) -> Option<(u8, u64)> {
    let mut queues = port.queues.iter();
    let queue = queues.find(|queue| matches!(queue.over, Over::Trim { .. }))?;
    let frames = match queue.limit {
        Limit::Packets(frames) => frames.into(),
        Limit::Port | Limit::Bytes(_) | Limit::Credits | Limit::None => 0,
    };
    Some((queue.takes.lanes, frames))
}

#[cfg(test)]
mod tests {
    use crate::load_text;
    use crate::resolve::Scenario;

    /// What is said of leaves with four hosts of 40 Gb/s and these lines to two spines, where this is sent.
    fn said_of(kind: &str, uplinks: &str, workload: &str) -> Vec<String> {
        said_with(kind, uplinks, workload, &[])
    }

    fn said_with(kind: &str, uplinks: &str, workload: &str, sets: &[&str]) -> Vec<String> {
        let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
        let text = format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"40Gbps\"\n\
             uplink_rate = \"{uplinks}\"\n[[workload]]\n{workload}\n[transport]\nkind = \"{kind}\"\n[switch]\nbalance = \"packet\"\n"
        );
        let run = load_text("t.toml", &text, &sets).and_then(Scenario::assemble);
        let mut warnings = run.unwrap_or_else(|e| panic!("{e}")).warnings;
        warnings.retain(|warning| warning.contains("pull at the rate of their own lines"));
        warnings
    }

    fn said(kind: &str, uplinks: &str) -> Vec<String> {
        said_of(kind, uplinks, "kind = \"all-to-all\"\nsize = \"1MB\"")
    }

    #[test]
    fn switches_that_trim_and_have_narrow_lines_to_others_are_named() {
        let warnings = said("ndp", "20Gbps");
        assert!(
            warnings[0].contains("hosts of tor0 send on at up to 160 Gb/s, and 40 Gb/s go on"),
            "{warnings:?}"
        );
        assert!(said("ndp", "21Gbps").is_empty());
        assert!(said("ndp+aeolus", "20Gbps").is_empty() && said("phost", "20Gbps").is_empty());
    }
    #[test]
    fn only_what_crosses_counts() {
        let pairs = |pairs: &str| format!("kind = \"long-flows\"\npairs = [{pairs}]");
        // Hosts 0 to 3 are those of one leaf, and two lines of 5 Gb/s go on: flows within it, one that crosses, and all
        // to one host, which pulls as if one did.
        let within = pairs("\"0 -> 1\", \"1 -> 2\", \"2 -> 3\"");
        assert!(said_of("ndp", "5Gbps", &within).is_empty());
        let (one, all) = (
            "\"0 -> 4\"",
            "\"0 -> 4\", \"1 -> 4\", \"2 -> 4\", \"3 -> 4\"",
        );
        for crosses in [one, all] {
            assert_eq!(said_of("ndp", "5Gbps", &pairs(crosses)).len(), 1);
            assert!(said_of("ndp", "6Gbps", &pairs(crosses)).is_empty());
        }
    }
    /// Four frames fit into the queue of each of two lines with what leaves them meanwhile, and one frame is hardly pulled.
    #[test]
    fn what_queues_have_room_for_is_not_trimmed() {
        let permutation =
            |size: &str| format!("kind = \"permutation\"\nshift = 4\nsize = \"{size}\"");
        for (size, count) in [("1KB", 0), ("7KB", 0), ("9KB", 1)] {
            assert_eq!(
                said_of("ndp", "10Gbps", &permutation(size)).len(),
                count,
                "{size}"
            );
        }
    }

    #[test]
    fn narrow_lines_lead_to_hosts_as_well_and_may_be_what_faults_have_left() {
        let all = "kind = \"all-to-all\"\nsize = \"1MB\"";
        let slow = ["topology.slow=spine* -> tor1", "topology.slow_rate=20Gbps"];
        let said = said_with("ndp", "80Gbps", all, &slow);
        let lead =
            "hosts of tor1 are sent from elsewhere at up to 160 Gb/s, and 40 Gb/s lead there";
        assert!(said[0].contains(lead), "{said:?}");
        let down = |until: &str| {
            let workload =
                format!("{all}\n[[faults]]\nkind = \"down\"\nlink = \"tor0 <-> spine1\"\n{until}");
            said_of("ndp", "40Gbps", &workload)
        };
        assert!(down("")[0].contains("hosts of tor0 send on at up to 160 Gb/s, and 40 Gb/s go"));
        assert!(down("until = \"1ms\"\n").is_empty() && down("from = \"1s\"\n").is_empty());
    }

    /// Only of what is trimmed; and longer frames are no advice where frames are long.
    #[test]
    fn others_beside_it_do_not_count_and_long_frames_get_no_advice() {
        let both = "kind = \"all-to-all\"\nsize = \"1MB\"\n[[workload]]\nkind = \"incast\"\nsenders = 7\ntransport = \"ndp\"";
        let beside = |uplinks| said_of("dctcp", uplinks, both).len();
        assert_eq!((beside("20Gbps"), beside("5Gbps")), (0, 1));
        let advice = |mtu| {
            said_with(
                "ndp",
                "20Gbps",
                "kind = \"all-to-all\"\nsize = \"1MB\"",
                &[mtu],
            )[0]
            .contains("run.mtu")
        };
        assert!(advice("run.mtu=1500B") && !advice("run.mtu=9000B"));
    }
}
