//! What figures of a run rest on: what its ports have room for, what was cut off its traffic, and whether data that a
//! receiver had asked for was lost.

use crate::kind::InBytes;
use crate::record::{PortRow, RunRecord};
use crate::summary::Summary;
use model::Class;
use serde::{Deserialize, Serialize};

/// What ports have room for, and what the traffic is without.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ground {
    /// What ports of switches keep of what waits, in words, by the rate of their line: `("10 Gb/s", "385 KB per port")`.
    pub room: Vec<(String, String)>,
    /// What the transport counts on in a port before a host, where it says so.
    pub needs: Option<Needs>,
    /// What was cut off distributions of sizes, in words, by distribution; empty where nothing was.
    pub cut: Vec<(String, String)>,
}

/// The room that a transport counts on in a port before a host, so that none of the data that it protects is lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needs {
    /// The most that can wait of it: overcommitment times what a round trip takes, and what the transport adds to that.
    pub bytes: InBytes,
    /// What the least of these ports holds, in bytes.
    pub port_bytes: InBytes,
}

/// Data that a receiver had asked for, by credit, grant, pull, token or slot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Packets of it that hosts put on their lines.
    pub sent: u64,
    /// Packets of it that ports dropped.
    pub dropped: u64,
    /// Where, the most first; ports that dropped none are left out.
    pub at: Vec<AtPort>,
}

/// What one port dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtPort {
    /// The port: `tor0 -> h3`.
    pub port: String,
    /// Packets.
    pub dropped: u64,
}

impl Asked {
    /// What became of it in a run; `None` where no host sent any.
    pub(crate) fn of(ports: &[PortRow]) -> Option<Self> {
        let class = Class::Scheduled;
        let hosts = ports.iter().filter(|port| port.of_host());
        let sent = hosts.map(|port| port.packets[class]).sum();
        let mut asked = Self {
            sent,
            ..Self::default()
        };
        for port in ports.iter().filter(|port| port.dropped[class] > 0) {
            asked.add(&port.name(), port.dropped[class]);
        }
        asked.sort();
        (asked.sent + asked.dropped > 0).then_some(asked)
    }

    /// What became of it in several runs together; `None` where none had any.
    pub(crate) fn all(runs: &[&Summary]) -> Option<Self> {
        let mut all: Option<Self> = None;
        for asked in runs.iter().filter_map(|run| run.asked.as_ref()) {
            let sum = all.get_or_insert_default();
            sum.sent += asked.sent;
            for at in &asked.at {
                sum.add(&at.port, at.dropped);
            }
        }
        if let Some(all) = &mut all {
            all.sort();
        }
        all
    }

    fn add(&mut self, port: &str, dropped: u64) {
        self.dropped += dropped;
        match self.at.iter_mut().find(|at| at.port == port) {
            Some(at) => at.dropped += dropped,
            None => self.at.push(AtPort {
                port: port.to_owned(),
                dropped,
            }),
        }
    }

    /// Stable, so that ports with as many stay in the order of their links.
    fn sort(&mut self) {
        self.at.sort_by_key(|at| std::cmp::Reverse(at.dropped));
    }
}

impl Ground {
    /// What ports have room for in one phrase: once where it is the same at every rate; empty where nothing is known.
    pub fn room_told(&self) -> String {
        let Some((_, first)) = self.room.first() else {
            return String::new();
        };
        if self.room.iter().all(|(_, room)| room == first) {
            return first.clone();
        }
        let each = self.room.iter();
        let each: Vec<String> = each
            .map(|(rate, room)| format!("{room} at {rate}"))
            .collect();
        each.join("; ")
    }

    pub(crate) fn of(run: &RunRecord) -> Self {
        run.derived.ground.clone()
    }
}
