//! A scenario written out with every value: `resolved.toml`.

use crate::base::Files;
use crate::resolve::Scenario;
use crate::section::Section;
use results::files::hash;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use transports::Factory;

impl Scenario {
    /// The scenario with every key and its value: a file that repeats the run.
    pub fn resolved_toml(&self) -> String {
        self.toml(|lane| self.factory_of(lane))
    }

    /// The same with transports that `factory` says.
    fn toml<'f>(&self, factory: impl Fn(u8) -> &'f dyn Factory) -> String {
        let mut out = String::from("# Every value of this run. This file repeats it.\n");
        let _ = writeln!(out, "name = {}", toml::Value::String(self.name.clone()));
        if let Some(title) = &self.title {
            let _ = writeln!(out, "title = {}", toml::Value::String(title.clone()));
        }
        let mut write = |header: String, table: toml::Table| {
            if !table.is_empty() {
                let _ = write!(
                    out,
                    "\n{header}\n{}",
                    toml::to_string(&table).expect("plain values")
                );
            }
        };
        write("[topology]".into(), self.topology.section.toml());
        for workload in &self.workloads {
            write("[[workload]]".into(), workload.section.toml());
        }
        write("[transport]".into(), self.transport.toml());
        let beside = self.beside.iter().map(|beside| beside.protocol);
        for (lane, protocol) in (0..).zip(std::iter::once(self.protocol).chain(beside)) {
            let key = crate::schema::toml_key(protocol.name());
            write(format!("[transport.{key}]"), factory(lane).resolved());
        }
        let switch = [
            &self.switch.section,
            &self.credit.section,
            &self.mark.section,
            &self.drop.section,
            &self.legacy.section,
        ];
        for section in switch {
            write(format!("[{}]", section.name()), section.toml());
        }
        if let Some(control) = &self.control {
            let key = crate::schema::toml_key(control.kind.name());
            write(format!("[switch.{key}]"), control.factory.resolved());
        }
        for fault in &self.faults {
            write("[[faults]]".into(), fault.section.toml());
        }
        write("[run]".into(), self.run.section.toml());
        write("[output]".into(), self.output.section.toml());
        let thresholds: BTreeMap<_, _> = self.thresholds.iter().cloned().collect();
        if !thresholds.is_empty() {
            let _ = writeln!(out, "\n[thresholds]");
            let bare = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            for (key, text) in thresholds {
                let quoted = toml::Value::String(key.clone()).to_string();
                let key = if key.chars().all(bare) { key } else { quoted };
                let _ = writeln!(out, "{key} = {}", toml::Value::String(text));
            }
        }
        out
    }

    /// The files that its tables name, and their texts.
    fn named(&self) -> impl Iterator<Item = (PathBuf, std::io::Result<String>)> {
        let workloads = self.workloads.iter().map(|workload| &workload.section);
        let sections = std::iter::once(&self.topology.section).chain(workloads);
        sections.flat_map(Section::files)
    }

    /// A hash of the resolved scenario and of the files that it names, for the name of its folder:
    /// runs of one hash have one result.
    pub fn hash(&self) -> u64 {
        self.hash_of(self.resolved_toml())
    }

    /// The same of the scenario as it was asked for, before its transports filled in what follows from network and messages:
    /// what it was before it was assembled.
    fn hash_asked(&self) -> u64 {
        self.hash_of(self.toml(|lane| {
            let asked = self.asked.iter().find(|(of, _)| *of == lane);
            asked.map_or_else(|| self.factory_of(lane), |(_, factory)| &**factory)
        }))
    }

    fn hash_of(&self, toml: String) -> u64 {
        let mut bytes = toml.into_bytes();
        for (_, text) in self.named() {
            // One that cannot be read stops the run later, with its place.
            bytes.extend(text.unwrap_or_default().into_bytes());
        }
        hash(&bytes)
    }

    /// [`Scenario::hash`], and the same of the scenario as it was asked for, before its transports filled in what follows from
    /// network and messages, in 16 hexadecimal digits. The files are read now: while a run lasts they may change.
    pub fn hashes(&self) -> [String; 2] {
        let hash = self.hash();
        let asked = if self.asked.is_empty() {
            hash
        } else {
            self.hash_asked()
        };
        [hash, asked].map(|hash| format!("{hash:016x}"))
    }

    /// The files that it was read from and those that it names, by their paths, but for its own: with them
    /// [`crate::load_files`] reads it where there is no disk.
    ///
    /// # Errors
    /// The path of the first one that cannot be read, and why.
    pub fn files(&self) -> Result<Files, (PathBuf, std::io::Error)> {
        let mut files = self.included.clone();
        for (path, text) in self.named() {
            let name = path.to_string_lossy().into_owned();
            files.insert(name, text.map_err(|why| (path, why))?);
        }
        Ok(files)
    }
}
