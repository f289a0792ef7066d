//! From a tree of what is written to a scenario in which every key has its value.
//!
//! One `Reader` walks the tables that are known (`fields.rs`), gives each key its written value or its default, and
//! lets transports and flow controls read their own parameters. It goes on after a mistake: whatever is wrong with a
//! scenario is said at once, in the order of the file. Tables without a mistake are typed here, once
//! (`settings.rs`): everybody else reads fields of structs, and a word is an enumeration of `choice.rs`.

use crate::base::{Base, Files};
use crate::beside::{Beside, SELECTIVE_DROP, Written};
use crate::cases::{self, CasesOf};
use crate::control::Controlled;
use crate::diagnostic::{Diagnostic, Errors, Origin, SourceText, nearest};
use crate::fields::{self, Absent, Field, TableDef};
use crate::folder;
use crate::network;
use crate::section::{Section, read_default};
use crate::settings;
use crate::tree::{self, Data, Node, Table};
use crate::typed::Settings;
use crate::value::{Room, Value};
use model::Encap;
use std::fmt::Write as _;
use std::path::{Component, Path};
use std::sync::{Arc, LazyLock};
use transports::{Factory, ParamError, Registry, Transport};
use units::Bytes;

/// A scenario in which every key has its value, and everything that can be said about single keys
/// has been checked.
pub struct Scenario {
    /// Short name.
    pub name: String,
    /// The scenario in a few words, where the file says it.
    pub title: Option<String>,
    /// `[topology]`.
    pub topology: Settings<settings::Topology>,
    /// `[[workload]]`, at least one.
    pub workloads: Vec<Settings<settings::Workload>>,
    /// `[transport]`.
    pub transport: Section,
    /// The transport itself.
    pub protocol: &'static dyn Transport,
    /// The transport with its parameters.
    pub factory: Box<dyn Factory>,
    pub(crate) written: Written,
    /// Transports as they were asked for, by lane, where they have filled in since what follows from network and messages.
    pub(crate) asked: Vec<(u8, Box<dyn Factory>)>,
    /// Other transports that sources of messages name, in the order in which they do.
    pub beside: Vec<Beside>,
    /// `[switch]`.
    pub switch: Settings<settings::Switch>,
    /// What switches do about their neighbours; none where ports drop what has no room.
    pub control: Option<Controlled>,
    /// `[switch.credit]`.
    pub credit: Settings<settings::Credit>,
    /// `[switch.mark]`.
    pub mark: Settings<settings::Mark>,
    /// `[switch.drop]`.
    pub drop: Settings<settings::Drop>,
    /// `[switch.legacy]`.
    pub legacy: Settings<settings::Legacy>,
    /// `[[faults]]`.
    pub faults: Vec<Settings<settings::Fault>>,
    /// `[run]`.
    pub run: Settings<settings::Run>,
    /// Wire sizes of its frames, by `run.encap` and `run.mtu`.
    pub encap: Encap,
    /// `[output]`.
    pub output: Settings<settings::Output>,
    /// `[[compare]]`, by what they are cases of, in the order of the file.
    pub cases: Vec<CasesOf>,
    /// Keys that `--set` has and this run does not read, as they are another transport's or flow control's.
    pub(crate) unread: Vec<String>,
    /// `[thresholds]` as (key, expression).
    pub thresholds: Vec<(String, String)>,
    /// Memory that a run may take; what takes more is refused. That of the machine, where nobody says
    /// otherwise.
    pub memory_limit: Option<Bytes>,
    /// Where each threshold is written.
    pub(crate) threshold_origins: Vec<Origin>,
    /// What it was read from.
    pub(crate) source: Arc<SourceText>,
    /// The texts of the files that it includes.
    pub(crate) included: Files,
}

impl Scenario {
    /// The text of its own file; `None` where it is built in.
    pub fn text(&self) -> Option<&str> {
        let builtin = self.source.name.starts_with(BUILT_IN);
        (!builtin).then_some(self.source.text.as_str())
    }
}

/// How the source of a built-in scenario is named, before its own name.
const BUILT_IN: &str = "built-in ";

/// Where a scenario comes from.
#[derive(Clone, Debug, Default)]
pub struct Request<'a> {
    /// A file, or the name of a built-in scenario.
    pub from: &'a str,
    /// Overrides, `a.b=c`, in order.
    pub sets: &'a [String],
}

/// Reads and resolves a scenario: a built-in name or a file, and overrides on top.
///
/// # Errors
/// Everything that is wrong.
pub fn load(request: &Request<'_>) -> Result<Scenario, Errors> {
    load_with(&transports::registry(), request)
}

/// The same for a program that knows these transports.
///
/// # Errors
/// Everything that is wrong.
pub fn load_with(transports: &Registry, request: &Request<'_>) -> Result<Scenario, Errors> {
    let mut errors = Vec::new();
    let path = Path::new(request.from);
    let read = match crate::builtin::find(request.from) {
        Some(builtin) if !path.is_file() || path.extension().is_none() => {
            let source = Arc::new(SourceText {
                name: format!("{BUILT_IN}{}", builtin.name),
                text: builtin.text.to_owned(),
            });
            tree::parse(&source, None, &mut errors)
        }
        _ if path.exists() => match tree::read_file(path, &mut errors) {
            Some(read) => read,
            None => return Err(Errors(errors)),
        },
        _ => return Err(unknown_scenario(request.from).into()),
    };
    let stem = stem(request.from);
    resolve(transports, read, &stem, (request.sets, None), errors)
}

/// Resolves a scenario given as text.
///
/// # Errors
/// Everything that is wrong.
pub fn load_text(name: &str, text: &str, sets: &[String]) -> Result<Scenario, Errors> {
    load_text_with(&transports::registry(), name, text, sets)
}

/// The same for a program that knows these transports.
///
/// # Errors
/// Everything that is wrong.
pub fn load_text_with(
    transports: &Registry,
    name: &str,
    text: &str,
    sets: &[String],
) -> Result<Scenario, Errors> {
    let source = Arc::new(SourceText {
        name: name.to_owned(),
        text: text.to_owned(),
    });
    let mut errors = Vec::new();
    let read = tree::parse(&source, None, &mut errors);
    resolve(transports, read, &stem(name), (sets, None), errors)
}

/// Reads and resolves a scenario with files that came along, and no others: `text` is that of the file `name`, or the
/// scenario is the built-in one of this name. See [`Scenario::files`].
///
/// # Errors
/// Everything that is wrong.
pub fn load_files(
    name: &str,
    text: Option<&str>,
    sets: &[String],
    files: &Arc<Files>,
) -> Result<Scenario, Errors> {
    let builtin = crate::builtin::find(name);
    let (name_of, text, base) = match (text, builtin) {
        (Some(text), _) => (name.to_owned(), text, Some(Base::of(Path::new(name)))),
        (None, Some(builtin)) => (format!("{BUILT_IN}{name}"), builtin.text, None),
        (None, None) => return Err(unknown_scenario(name).into()),
    };
    let source = Arc::new(SourceText {
        name: name_of,
        text: text.to_owned(),
    });
    let base = base.map(|base| base.with(files));
    let mut errors = Vec::new();
    let read = tree::parse(&source, base.as_ref(), &mut errors);
    let here = Arc::new(Base::of(Path::new("")).with(files));
    let registry = transports::registry();
    resolve(&registry, read, &stem(name), (sets, Some(&here)), errors)
}

/// The name of a scenario that has none, by that of its file.
fn stem(name: &str) -> String {
    let stem = Path::new(name).file_stem();
    stem.map_or("scenario".into(), |s| s.to_string_lossy().into_owned())
}

fn unknown_scenario(name: &str) -> Diagnostic {
    let d = Diagnostic::new(format!(
        "there is no file and no built-in scenario \"{name}\""
    ));
    let names = crate::builtin::all().iter().map(|b| b.name);
    match nearest(name, names) {
        Some(near) => d.help(format!(
            "did you mean \"{near}\"? `tidegate list scenarios` names all"
        )),
        None => d.help("`tidegate list scenarios` names the built-in ones"),
    }
}

fn resolve(
    transports: &Registry,
    read: tree::Read,
    stem: &str,
    (sets, base): (&[String], Option<&Arc<Base>>),
    mut errors: Vec<Diagnostic>,
) -> Result<Scenario, Errors> {
    let tree::Read { node, included } = read;
    let Data::Table(mut root) = node.data else {
        unreachable!("a document is a table")
    };
    for assignment in sets {
        tree::set(&mut root, assignment, base, &mut errors);
    }
    // Syntax errors leave holes: what would be said about them next would mislead.
    if !errors.is_empty() {
        return Err(Errors(errors));
    }
    let mut reader = Reader {
        transports,
        root: &root,
        errors: &mut errors,
    };
    let scenario = reader.scenario(&node.origin, stem);
    match scenario {
        Some(scenario) => Ok(Scenario {
            included,
            ..scenario
        }),
        None => {
            // In the order of the file, the command line last.
            errors.sort_by_key(|e| {
                let at = e.origin.as_ref();
                at.map(|o| (o.source.name.starts_with("--"), o.span.start))
            });
            Err(Errors(errors))
        }
    }
}

pub(crate) struct Reader<'a> {
    pub(crate) transports: &'a Registry,
    root: &'a Table,
    pub(crate) errors: &'a mut Vec<Diagnostic>,
}

impl Reader<'_> {
    fn scenario(&mut self, whole: &Origin, stem: &str) -> Option<Scenario> {
        self.unknown_tables();
        let mut top = Section::new(def(""), String::new(), whole);
        top.fill(self.root, self.errors);
        let topology = self.section("topology");
        let workloads = self.sections("workload");
        self.some_workload(whole);
        let transport = self.section("transport");
        let protocol = self.protocol(&transport, "kind");
        let (mut switch, credit) = (self.section("switch"), self.section("switch.credit"));
        let configured = protocol.and_then(|p| self.configure(p, &transport, Some(&switch)));
        let beside = self.beside(protocol, &transport, &workloads);
        let control = self.control(&mut switch);
        let unread = self.unused(protocol, beside.as_deref(), &switch);
        let (thresholds, threshold_origins) = self.thresholds();
        let (mark, drop) = (self.section("switch.mark"), self.section("switch.drop"));
        let legacy = self.section("switch.legacy");
        let (faults, run, output) = (
            self.sections("faults"),
            self.section("run"),
            self.section("output"),
        );
        let encap = network::encap_of(&run).unwrap_or_else(|why| {
            self.errors.push(why);
            Encap::PAPER
        });
        let (bytes, per) = (network::buffer(encap), None);
        switch.assume("buffer", Value::Room(Room { bytes, per }));
        self.stays_below(&output, "dir");
        let name = self.name(&top, stem);
        let compare = self.sections("compare");
        let cases = cases::of(&compare, self.errors);
        let (factory, written) = configured?;
        if !self.errors.is_empty() {
            return None;
        }
        Some(Scenario {
            memory_limit: None,
            name: name?,
            title: top.value("title"),
            topology: Settings::of(topology),
            workloads: workloads.into_iter().map(Settings::of).collect(),
            protocol: protocol?,
            factory,
            written,
            beside: beside?,
            transport,
            switch: Settings::of(switch),
            control: control?,
            credit: Settings::of(credit),
            mark: Settings::of(mark),
            drop: Settings::of(drop),
            legacy: Settings::of(legacy),
            faults: faults.into_iter().map(Settings::of).collect(),
            run: Settings::of(run),
            encap,
            output: Settings::of(output),
            cases,
            unread,
            thresholds,
            threshold_origins,
            source: Arc::clone(&whole.source),
            included: Files::new(),
            asked: Vec::new(),
        })
    }

    /// Refuses a scenario in which nothing is sent.
    fn some_workload(&mut self, whole: &Origin) {
        let empty = |node: &Node| matches!(&node.data, Data::List(list) if list.is_empty());
        let written = self.root.get("workload").map(|(_, node)| node);
        if written.is_none_or(empty) {
            let nowhere = Origin {
                span: 0..0,
                ..whole.clone()
            };
            let at = written.map_or(nowhere, |node| node.origin.clone());
            self.errors.push(Diagnostic::at(&at, "there is no [workload]").help(
                "add one, like [workload] with kind = \"incast\"; `tidegate explain workload` lists kinds",
            ));
        }
    }

    /// The short name, which is part of the name of a folder.
    fn name(&mut self, top: &Section, stem: &str) -> Option<String> {
        let written: Option<String> = top.value("name");
        let name = written.as_deref().unwrap_or(stem);
        let Some(why) = folder::unfit(name) else {
            return Some(name.to_owned());
        };
        let problem = if written.is_some() {
            top.problem("name", "name cannot be used")
        } else {
            Diagnostic::new(format!("the file's name {name:?} cannot name the scenario"))
        };
        let help =
            "it becomes part of a folder's name: write name = \"...\" with letters and digits";
        self.errors.push(problem.label(why).help(help));
        None
    }

    /// Refuses a folder elsewhere that a file names: who was sent the file did not choose it.
    fn stays_below(&mut self, section: &Section, key: &'static str) {
        let Some(folder) = section.value::<Option<String>>(key) else {
            return;
        };
        if folder.is_empty() || folder.contains('\0') {
            let what = format!("{} is the name of no folder", section.dotted(key));
            let help = "name one, like \"out/mine\", or leave it out";
            self.errors.push(section.problem(key, what).help(help));
            return;
        }
        let below = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        let chosen = section.origin(key).source.name == tree::SET;
        if !chosen && !Path::new(&folder).components().all(below) {
            let path = section.dotted(key);
            self.errors.push(
                section
                    .problem(
                        key,
                        format!("{path} leaves the folder in which the program runs"),
                    )
                    .help("a file names a folder below it; choose any other one with --out"),
            );
        }
    }

    fn unknown_tables(&mut self) {
        let top = def("").fields.iter().map(|f| f.key);
        let known: Vec<&str> = fields::TABLES
            .iter()
            .map(|t| t.name)
            .filter(|n| !n.is_empty() && !n.contains('.'))
            .chain(top)
            .collect();
        for (key, (at, _)) in self.root {
            if !known.contains(&key.as_str()) {
                self.errors
                    .push(unknown_key("", key, at, known.iter().copied()));
            }
        }
    }

    /// The table at a dotted name, if it is written.
    pub(crate) fn written(&mut self, name: &str) -> Option<(Origin, Node)> {
        let mut table = self.root;
        let mut found = None;
        for part in name.split('.') {
            let (at, node) = table.get(part)?;
            match &node.data {
                Data::Table(inner) => table = inner,
                _ => {
                    self.errors.push(no_table(node, name, &format!("[{name}]")));
                    return None;
                }
            }
            found = Some((at.clone(), node.clone()));
        }
        found
    }

    fn section(&mut self, name: &'static str) -> Section {
        let def = def(name);
        if let Some((at, node)) = self.written(name) {
            return self.read(def, &at, &node);
        }
        let empty = Node {
            data: Data::Table(Table::new()),
            origin: nowhere(),
            base: None,
        };
        self.read(def, &nowhere(), &empty)
    }

    fn sections(&mut self, name: &'static str) -> Vec<Section> {
        let def = def(name);
        let Some((at, node)) = self.root.get(name) else {
            return Vec::new();
        };
        match &node.data {
            Data::Table(_) => vec![self.read(def, at, node)],
            Data::List(list) => {
                let mut sections = Vec::new();
                for item in list {
                    if item.table().is_some() {
                        sections.push(self.read(def, &item.origin, item));
                    } else {
                        let wanted = format!("[[{name}]]");
                        self.errors.push(no_table(item, "this", &wanted));
                    }
                }
                sections
            }
            _ => {
                let wanted = format!("[[{name}]]");
                self.errors.push(no_table(node, name, &wanted));
                Vec::new()
            }
        }
    }

    fn read(&mut self, def: &'static TableDef, at: &Origin, node: &Node) -> Section {
        let table = node.table().expect("the caller looked");
        let mut section = Section::new(def, String::new(), at);
        if let Some(field) = def.fields.iter().find(|f| f.key == "kind") {
            match kind_of(field, table) {
                Some(kind) => section = Section::new(def, kind, at),
                None => {
                    // Without its kind nothing else of the table can be judged, but its absence can.
                    if table.contains_key("kind") || field.absent == Absent::Required {
                        section.fill_kind_only(field, table, self.errors);
                        return section;
                    }
                }
            }
        }
        section.fill(table, self.errors);
        self.unknown_keys(def, section.kind(), table);
        section
    }

    fn unknown_keys(&mut self, def: &'static TableDef, kind: &str, table: &Table) {
        for (key, (at, node)) in table {
            let dotted = format!("{}.{key}", def.name);
            let of_control = def.name == "switch" && self.transports.control(key).is_some();
            if of_control && node.table().is_none() {
                let wanted = format!("[{dotted}]");
                self.errors.push(no_table(node, &dotted, &wanted));
            }
            let sub_table = fields::table(&dotted).is_some()
                || (def.name == "transport" && node.table().is_some())
                || of_control;
            if sub_table || def.fields.iter().any(|f| f.key == key && f.applies(kind)) {
                continue;
            }
            let elsewhere = def.fields.iter().find(|f| f.key == key);
            let known = def.fields.iter().filter(|f| f.applies(kind)).map(|f| f.key);
            self.errors
                .push(match (elsewhere, self.owner(def.name, kind, key)) {
                    (Some(field), _) => misplaced(def, field, kind, table, at),
                    (None, Some(owner)) => {
                        let label = format!("this is a parameter: write it in [{owner}]");
                        Diagnostic::at(at, format!("unknown key \"{key}\" in [{}]", def.name))
                            .label(label)
                    }
                    (None, None) => unknown_key(def.name, key, at, known),
                });
        }
    }

    /// The transport that a table names by `key`.
    pub(crate) fn protocol(
        &mut self,
        section: &Section,
        key: &'static str,
    ) -> Option<&'static dyn Transport> {
        let kind = section.value::<Option<String>>(key)?;
        let found = self.transports.find(&kind);
        if found.is_none() {
            let d = section
                .problem(key, format!("{}.{key} cannot be used", section.name()))
                .label(format!("\"{kind}\" is not known here"));
            let names = self.transports.names();
            self.errors
                .push(match nearest(&kind, names.iter().copied()) {
                    Some(near) => d.help(format!("did you mean \"{near}\"?")),
                    None => d.help(format!("use one of {}", quoted(&names))),
                });
        }
        found
    }

    /// A transport with its parameters, and where they are written.
    pub(crate) fn configure(
        &mut self,
        protocol: &'static dyn Transport,
        section: &Section,
        switch: Option<&Section>,
    ) -> Option<(Box<dyn Factory>, Written)> {
        let mut parameters = Table::new();
        // `a+b` also takes what is written for `a`, as far as it knows the keys.
        let kind = protocol.name();
        let known: Vec<_> = protocol.parameters().iter().map(|p| p.key).collect();
        let bases = kind
            .match_indices('+')
            .map(|(i, _)| &kind[..i])
            .chain([kind]);
        for name in bases {
            if let Some((_, node)) = self.written_of("transport", name) {
                let mut table = node.table().expect("written() returns tables").clone();
                if name != kind {
                    table.retain(|key, _| known.contains(&key.as_str()));
                }
                tree::merge(&mut parameters, table);
            }
        }
        if let Some(profile) = section.value("profile") {
            let origin = section.origin("profile").clone();
            let node = Node {
                data: Data::Text(profile),
                origin: origin.clone(),
                base: None,
            };
            parameters.insert("profile".to_owned(), (origin, node));
        }
        if let Some(switch) = switch.filter(|switch| switch.is_given(SELECTIVE_DROP)) {
            self.tell_apart(protocol, switch, &known, &mut parameters);
        }
        let name = format!("transport.{kind}");
        let known = (name.as_str(), known.as_slice());
        let written = Written::of(&parameters);
        let factory = self.read_parameters(parameters, known, section.header(), |table| {
            protocol.configure(table)
        });
        factory.map(|factory| (factory, written))
    }

    /// What `read` makes of `parameters` of the table of that name, which has these keys; says everything that is wrong.
    pub(crate) fn read_parameters<T>(
        &mut self,
        mut parameters: Table,
        (name, known): (&str, &[&str]),
        header: &Origin,
        read: impl Fn(&toml::Table) -> Result<T, ParamError>,
    ) -> Option<T> {
        let mut first = None;
        // One wrong key hides the next: take it out and look again.
        for _ in 0..=parameters.len() {
            match read(&tree::plain_table(&parameters)) {
                Ok(factory) => {
                    return if first.is_none() { Some(factory) } else { None };
                }
                Err(error) => {
                    let key = error.key.split('.').next().unwrap_or("").to_owned();
                    let at = parameters
                        .get(&key)
                        .map(|(at, node)| (at.clone(), node.origin.clone()));
                    let unknown = !known.contains(&key.as_str());
                    let origin = match at {
                        Some((key_at, value_at)) => {
                            if unknown {
                                key_at
                            } else {
                                value_at
                            }
                        }
                        None => header.clone(),
                    };
                    let path = if error.key.is_empty() {
                        name.to_owned()
                    } else {
                        format!("{name}.{}", error.key)
                    };
                    self.errors.push(
                        Diagnostic::at(&origin, format!("{path} cannot be used"))
                            .label(error.message),
                    );
                    first = Some(());
                    parameters.remove(&key)?;
                }
            }
        }
        None
    }

    /// The tables in a table.
    pub(crate) fn tables_in(&self, outer: &str) -> Table {
        let outer = self.root.get(outer).and_then(|(_, node)| node.table());
        let mut tables = outer.cloned().unwrap_or_default();
        tables.retain(|_, (_, node)| node.table().is_some());
        tables
    }

    /// The table of a transport or a flow control, if it is written as one.
    pub(crate) fn written_of(&self, table: &str, kind: &str) -> Option<(Origin, Node)> {
        let (_, outer) = self.root.get(table)?;
        let (at, node) = outer.table()?.get(kind)?;
        node.table()?;
        Some((at.clone(), node.clone()))
    }

    fn thresholds(&mut self) -> (Vec<(String, String)>, Vec<Origin>) {
        let mut found = Vec::new();
        if let Some((_, node)) = self.written("thresholds") {
            flatten(
                "",
                node.table().expect("written() returns tables"),
                self.errors,
                &mut found,
            );
        }
        found
            .into_iter()
            .map(|(key, text, at)| ((key, text), at))
            .unzip()
    }
}

/// The kind that a table names, or has by default; none where it names one that does not exist.
fn kind_of(field: &Field, table: &Table) -> Option<String> {
    let value = match (table.get("kind"), field.absent) {
        (Some((_, node)), _) => field.takes.read(node).ok()?,
        (None, Absent::Is(text)) => read_default(field, text),
        (None, Absent::Like(_) | Absent::Unset(_) | Absent::Required) => return None,
    };
    if let Value::Text(kind) = value {
        Some(kind)
    } else {
        None
    }
}

fn def(name: &str) -> &'static TableDef {
    fields::table(name).expect("the tables are fixed")
}

/// The place of a table that the scenario does not have.
fn nowhere() -> Origin {
    static SOURCE: LazyLock<Arc<SourceText>> = LazyLock::new(|| {
        Arc::new(SourceText {
            name: "defaults".to_owned(),
            text: String::new(),
        })
    });
    Origin::whole(&SOURCE)
}

pub(crate) fn quoted(words: &[&str]) -> String {
    words
        .iter()
        .map(|w| format!("\"{w}\""))
        .collect::<Vec<_>>()
        .join(", ")
}

/// What is said of a value where a table belongs.
fn no_table(node: &Node, name: &str, wanted: &str) -> Diagnostic {
    Diagnostic::at(&node.origin, format!("{name} is {}", node.data.what()))
        .help(format!("write a table: {wanted}"))
}

/// A key that another kind of the table has.
fn misplaced(def: &TableDef, field: &Field, kind: &str, table: &Table, at: &Origin) -> Diagnostic {
    let Field { key, kinds, .. } = field;
    let whence = table.get("kind").map_or(String::new(), |(_, node)| {
        let (line, column) = node.origin.line_column();
        format!(" ({}:{line}:{column})", node.origin.source.name)
    });
    let mut help = format!("{key} belongs to kind {}", quoted(kinds));
    let examples = builtins_of(def.name, kinds);
    if let Some(first) = examples.first() {
        let _ = write!(
            help,
            ", as in the scenarios {}: `tidegate new FILE --from {first}`",
            examples.join(", ")
        );
    }
    let own = def.fields.iter().filter(|f| f.kinds.contains(&kind));
    let own: Vec<&str> = own.map(|f| f.key).collect();
    if !own.is_empty() {
        let _ = write!(help, "; kind \"{kind}\" has {}", own.join(", "));
    }
    Diagnostic::at(at, format!("{}.{key} means nothing here", def.name))
        .label(format!(
            "{} of kind \"{kind}\"{whence} has no {key}",
            def.name
        ))
        .help(help)
}

/// The built-in scenarios with a table of one of these kinds.
fn builtins_of(table: &str, kinds: &[&str]) -> Vec<&'static str> {
    let fits = |node: &Node| {
        let kind = node.table().and_then(|table| table.get("kind"));
        let is = |data: &Data| matches!(data, Data::Text(kind) if kinds.contains(&kind.as_str()));
        kind.is_some_and(|(_, node)| is(&node.data))
    };
    let has = |builtin: &&crate::builtin::Builtin| {
        let source = Arc::new(SourceText {
            name: builtin.name.to_owned(),
            text: builtin.text.to_owned(),
        });
        let root = tree::parse(&source, None, &mut Vec::new());
        let written = root.node.table().and_then(|root| root.get(table));
        written.is_some_and(|(_, node)| match &node.data {
            Data::List(list) => list.iter().any(fits),
            _ => fits(node),
        })
    };
    let all = crate::builtin::all().iter();
    all.filter(has).map(|builtin| builtin.name).collect()
}

pub(crate) fn unknown_key<'a>(
    table: &str,
    key: &str,
    at: &Origin,
    known: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    let place = if table.is_empty() {
        "at the top of the file".to_owned()
    } else {
        format!("in [{table}]")
    };
    let d = Diagnostic::at(at, format!("unknown key \"{key}\" {place}"));
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(key, known.iter().copied()) {
        Some(near) => d.label(format!("did you mean \"{near}\"?")),
        None => d.help(format!("known are {}", known.join(", "))),
    }
}

fn flatten(
    prefix: &str,
    table: &Table,
    errors: &mut Vec<Diagnostic>,
    found: &mut Vec<(String, String, Origin)>,
) {
    for (key, (_, node)) in table {
        let path = if prefix.is_empty() {
            key.clone()
        } else {
            format!("{prefix}.{key}")
        };
        match &node.data {
            Data::Table(inner) => flatten(&path, inner, errors, found),
            Data::Text(text) => found.push((path, text.clone(), node.origin.clone())),
            other => errors.push(
                Diagnostic::at(
                    &node.origin,
                    format!("thresholds.{path} is {}", other.what()),
                )
                .help("write a comparison as a string, like \"< 2ms\""),
            ),
        }
    }
}
