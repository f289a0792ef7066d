//! Transports of a scenario: those beside the run's own, what ports ask of hosts, and where parameters are written.

use crate::choice::{Choice, DropProfile};
use crate::diagnostic::{Diagnostic, Origin};
use crate::fields;
use crate::resolve::{Reader, unknown_key};
use crate::section::Section;
use crate::tree::{self, Data, Node, Table};
use std::collections::BTreeMap;
use transports::{Factory, Parameter, Transport};

/// The key of `[switch]` that hosts obey, too.
pub(crate) const SELECTIVE_DROP: &str = "selective_drop";

/// Where the parameters of a transport are written: what is found out when a run is put together has its place, too.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written(BTreeMap<String, Origin>);

impl Written {
    /// Those of a table as it was read.
    pub(crate) fn of(parameters: &Table) -> Self {
        let places = parameters.iter();
        Self(
            places
                .map(|(key, (_, node))| (key.clone(), node.origin.clone()))
                .collect(),
        )
    }

    /// Where a parameter is written, with dots for tables, if it is.
    pub(crate) fn at(&self, key: &str) -> Option<&Origin> {
        self.0.get(key.split('.').next().unwrap_or(key))
    }
}

/// A transport beside the run's own.
pub struct Beside {
    /// The transport itself.
    pub protocol: &'static dyn Transport,
    /// The transport with its parameters.
    pub factory: Box<dyn Factory>,
    pub(crate) written: Written,
}

/// The keys of a table that `--set` has.
fn set_in(name: &str, node: &Node) -> Vec<String> {
    let keys = node.table().into_iter().flatten();
    let set = keys.filter(|(_, (_, node))| node.origin.source.name == tree::SET);
    set.map(|(key, _)| format!("{name}.{key}")).collect()
}

impl Reader<'_> {
    /// The transports that sources of messages name, other than the run's own; `None` where one cannot
    /// be used.
    pub(crate) fn beside(
        &mut self,
        own: Option<&'static dyn Transport>,
        section: &Section,
        workloads: &[Section],
    ) -> Option<Vec<Beside>> {
        let (mut found, mut whole): (Vec<Beside>, bool) = (Vec::new(), true);
        // The profile of `[transport]` is that of the run's own.
        let unnamed = Section::new(
            fields::table("transport").expect("the tables are fixed"),
            String::new(),
            section.header(),
        );
        for workload in workloads {
            let Some(protocol) = self.protocol(workload, "transport") else {
                continue;
            };
            let known = found.iter().map(|beside| beside.protocol.name());
            if own
                .into_iter()
                .map(Transport::name)
                .chain(known)
                .any(|name| name == protocol.name())
            {
                continue;
            }
            let Some((factory, written)) = self.configure(protocol, &unnamed, None) else {
                whole = false;
                continue;
            };
            found.push(Beside {
                protocol,
                factory,
                written,
            });
        }
        whole.then_some(found)
    }

    /// The table that a key of `table` belongs to, which is of this kind, where it is a parameter.
    pub(crate) fn owner(&self, table: &str, kind: &str, key: &str) -> Option<String> {
        let has = |parameters: Vec<Parameter>| parameters.iter().any(|known| known.key == key);
        match table {
            "transport" => {
                let protocol = self.transports.find(kind)?;
                has(protocol.parameters()).then(|| format!("transport.{kind}"))
            }
            "switch" => {
                let mut controls = self.transports.controls();
                let control = controls.find(|control| has(control.parameters()))?;
                Some(format!("switch.{}", control.name()))
            }
            _ => None,
        }
    }

    /// Tables of transports and of flow controls that this run does not use may stand there for a comparison: what is wrong
    /// in them is said all the same. Those of `--set` among them.
    pub(crate) fn unused(
        &mut self,
        own: Option<&'static dyn Transport>,
        beside: Option<&[Beside]>,
        switch: &Section,
    ) -> Vec<String> {
        let mut set = Vec::new();
        let beside = beside.into_iter().flatten().map(|beside| beside.protocol);
        let used: Vec<&str> = own.into_iter().chain(beside).map(Transport::name).collect();
        for (name, (at, node)) in self.tables_in("transport") {
            let Some(protocol) = self.transports.find(&name) else {
                let known = self.transports.names();
                self.errors
                    .push(unknown_key("transport", &name, &at, known));
                continue;
            };
            if used.contains(&name.as_str()) {
                continue;
            }
            // `a+b` reads what is written for `a`.
            let below = |used: &&str| used.starts_with(&format!("{name}+"));
            if !used.iter().any(below) {
                set.extend(set_in(&format!("transport.{name}"), &node));
            }
            // What only `a+b` knows may be written for `a`.
            let known: Vec<_> = protocol.parameters().iter().map(|p| p.key).collect();
            let above = self.transports.iter();
            let above = above.filter(|above| above.name().starts_with(&format!("{name}+")));
            let above: Vec<_> = above.flat_map(Transport::parameters).collect();
            let mut table = node.table().cloned().unwrap_or_default();
            table.retain(|key, _| {
                known.contains(&key.as_str()) || !above.iter().any(|of| of.key == *key)
            });
            let known = (&*format!("transport.{name}"), known.as_slice());
            self.read_parameters(table, known, &at, |table| protocol.configure(table));
        }
        let used = switch.value::<Option<String>>("flow_control");
        for (name, (at, node)) in self.tables_in("switch") {
            let kind = self.transports.control(&name);
            let Some(kind) = kind.filter(|_| used.as_ref() != Some(&name)) else {
                continue;
            };
            set.extend(set_in(&format!("switch.{name}"), &node));
            let known: Vec<_> = kind.parameters().iter().map(|p| p.key).collect();
            let known = (&*format!("switch.{name}"), known.as_slice());
            let table = node.table().cloned().unwrap_or_default();
            self.read_parameters(table, known, &at, |table| kind.configure(table));
        }
        set
    }

    /// Has hosts do what the ports' way of dropping one class first asks of them.
    pub(crate) fn tell_apart(
        &mut self,
        protocol: &'static dyn Transport,
        switch: &Section,
        known: &[&str],
        parameters: &mut Table,
    ) {
        const KEY: &str = "drop_by";
        let (profile, origin) = (
            switch.value::<DropProfile>(SELECTIVE_DROP),
            switch.origin(SELECTIVE_DROP),
        );
        let problem = |text: String| Diagnostic::at(origin, text);
        if !known.contains(&KEY) {
            let text = format!("{} has ports drop no class first", protocol.name());
            self.errors
                .push(problem(text).help("remove selective_drop, or choose a transport that does"));
            return;
        }
        let tells = match profile {
            DropProfile::RedEcn => "ecn",
            DropProfile::Wred => "class",
        };
        let said = match parameters.get(KEY).map(|(_, node)| &node.data) {
            Some(Data::Text(said)) => Some(said.clone()),
            Some(_) | None => None,
        };
        if let Some(said) = said.filter(|said| said != tells) {
            let text = format!(
                "selective_drop = \"{}\" contradicts {KEY} = \"{said}\"",
                profile.word()
            );
            self.errors.push(problem(text).help("remove one of them"));
            return;
        }
        let node = Node {
            data: Data::Text(tells.to_owned()),
            origin: origin.clone(),
            base: None,
        };
        parameters.insert(KEY.to_owned(), (origin.clone(), node));
    }
}
