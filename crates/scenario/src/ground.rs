//! What figures of a run rest on: room in ports, and what was cut off its traffic.

use crate::assemble::Assembled;
use crate::check::{cut, trimming};
use crate::facts::Fabric;
use crate::warnings::kept;
use results::{Ground, Needs, human};
use std::collections::BTreeMap;
use units::Rate;

/// What a reader of several runs has to know of one before they trust its place.
pub(crate) fn of(run: &Assembled) -> Ground {
    let fabric = Fabric {
        topology: &run.topology,
        routes: &run.routes,
        encap: run.encap,
        round_trips: (run.propagation_rtt, run.base_rtt, run.control_rtt),
    };
    let kept = kept(
        &run.scenario,
        fabric,
        &run.ports,
        &run.traffic,
        run.base_rtt,
    );
    Ground {
        room: room(run),
        needs: kept.map(|kept| Needs {
            bytes: kept.protected.bytes.0,
            port_bytes: kept.port.buffer.0,
        }),
        cut: run.scenario.workloads.iter().filter_map(cut).collect(),
    }
}

/// What ports of switches keep of what waits, by the rate of their line.
fn room(run: &Assembled) -> Vec<(String, String)> {
    let mut by_rate: BTreeMap<Rate, String> = BTreeMap::new();
    for (link, spec) in run.topology.links.iter().zip(&run.ports) {
        let said = [run.buffer(spec), trimming(spec)];
        let said: Vec<String> = said.into_iter().flatten().collect();
        if !run.topology.is_host(link.from) && !said.is_empty() {
            by_rate.insert(link.rate, said.join(", "));
        }
    }
    let each = by_rate.into_iter();
    each.map(|(rate, said)| (human::rate(rate), said)).collect()
}

#[cfg(test)]
mod tests {
    use crate::tests::{INCAST, good};

    fn ground(sets: &[&str]) -> results::Ground {
        super::of(&good(INCAST, sets).assemble().unwrap())
    }

    #[test]
    fn room_in_ports_is_told_with_what_aeolus_counts_on_there() {
        let aeolus = ground(&["transport.kind=homa+aeolus"]);
        assert_eq!(aeolus.room_told(), "385 KB per port");
        let needs = aeolus.needs.unwrap();
        assert_eq!(needs.port_bytes, 384_500);
        assert!(needs.bytes > needs.port_bytes, "as its warning says");
        assert_eq!(ground(&["transport.kind=homa"]).needs, None);
        let shared = ground(&["transport.kind=homa+aeolus", "switch.shared_buffer=2MB"]);
        assert_eq!(shared.room_told(), "2 MB shared by a switch, alpha 1");
        assert_eq!(
            shared.needs, None,
            "how much that is nobody knows beforehand"
        );
        let trimmed = ground(&["transport.kind=ndp"]).room_told();
        assert!(trimmed.starts_with("beyond 8 packets of data"), "{trimmed}");
    }

    #[test]
    fn a_cut_is_told_also_where_nothing_is_above_it() {
        let cut = |largest: &str| {
            let text = format!(
                "[topology]\nkind = \"star\"\nhosts = 4\n[workload]\nkind = \"random\"\nsizes = \"web-search\"\nload = 0.5\n\
                 messages = 10\n{largest}\n[transport]\nkind = \"dctcp\"\n"
            );
            super::of(&good(&text, &[]).assemble().unwrap()).cut
        };
        let told = |largest: &str| cut(largest)[0].1.clone();
        assert!(told("largest = \"1MB\"").contains("of the messages, to 1 MB"));
        assert_eq!(told("largest = \"1GB\""), "none, no message is above 1 GB");
        assert!(cut("").is_empty());
    }
}
