//! From a tree of what is written to a scenario in which every key has its value.

use crate::diagnostic::{Diagnostic, Errors, Origin, SourceText, nearest};
use crate::fields::{self, Absent, Field, MACHINE_KEYS, TableDef};
use crate::tree::{self, Data, Node, Table};
use crate::value::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use transports::{Factory, Transport};
use units::{Bytes, Rate, Span};

/// A scenario in which every key has its value, and everything that can be said about single keys
/// has been checked.
pub struct Scenario {
    /// Short name.
    pub name: String,
    /// The scenario in a few words, where the file says it.
    pub title: Option<String>,
    /// `[topology]`.
    pub topology: Section,
    /// `[[workload]]`, at least one.
    pub workloads: Vec<Section>,
    /// `[transport]`.
    pub transport: Section,
    /// The transport itself.
    pub protocol: &'static dyn Transport,
    /// The transport with its parameters.
    pub factory: Box<dyn Factory>,
    /// `[switch]`.
    pub switch: Section,
    /// `[switch.credit]`.
    pub credit: Section,
    /// `[switch.mark]`.
    pub mark: Section,
    /// `[switch.drop]`.
    pub drop: Section,
    /// `[[faults]]`.
    pub faults: Vec<Section>,
    /// `[run]`.
    pub run: Section,
    /// `[output]`.
    pub output: Section,
    /// `[thresholds]` as (key, expression).
    pub thresholds: Vec<(String, String)>,
    /// Where each threshold is written.
    pub(crate) threshold_origins: Vec<Origin>,
}

/// One table with all of its values.
#[derive(Clone, Debug)]
pub struct Section {
    def: &'static TableDef,
    kind: String,
    origin: Origin,
    base: Option<Arc<Path>>,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    field: &'static Field,
    value: Value,
    /// Where it is written; `None` for a default.
    origin: Option<Origin>,
    base: Option<Arc<Path>>,
}

impl Section {
    /// The kind of the table; empty where it has none.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    fn entry(&self, key: &str) -> Option<&Entry> {
        debug_assert!(
            self.def.fields.iter().any(|f| f.key == key),
            "{}.{key} is in no table",
            self.def.name
        );
        self.entries.iter().find(|e| e.field.key == key)
    }

    /// The value of a key, if it has one.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entry(key).map(|e| &e.value)
    }

    /// Whether the file or the command line says it.
    pub fn is_given(&self, key: &str) -> bool {
        self.entry(key).is_some_and(|e| e.origin.is_some())
    }

    /// Whether anything of this table is written.
    pub fn any_given(&self) -> bool {
        self.entries.iter().any(|e| e.origin.is_some())
    }

    /// Where a key is written, else where its table is.
    pub fn origin(&self, key: &str) -> &Origin {
        self.entries
            .iter()
            .find(|e| e.field.key == key)
            .and_then(|e| e.origin.as_ref())
            .unwrap_or(&self.origin)
    }

    /// The path that a key names, read from the folder of the file that says it.
    pub(crate) fn path(&self, key: &str) -> PathBuf {
        let entry = self
            .entry(key)
            .expect("paths are asked for where the kind has them");
        let Value::Text(name) = &entry.value else {
            unreachable!("the table makes it a string")
        };
        entry
            .base
            .as_deref()
            .or(self.base.as_deref())
            .unwrap_or(Path::new(""))
            .join(name)
    }

    /// A diagnostic at a key.
    pub(crate) fn problem(&self, key: &str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::at(self.origin(key), message)
    }

    fn defaults(def: &'static TableDef) -> Self {
        let source = defaults_source();
        let mut section = Self {
            def,
            kind: String::new(),
            origin: Origin::whole(&source),
            base: None,
            entries: Vec::new(),
        };
        let mut none = Vec::new();
        section.fill(&Table::new(), &mut none);
        assert!(none.is_empty(), "[{}] has required keys", def.name);
        section
    }

    /// Takes what is written and fills in the rest; fields whose kinds do not match are left out.
    fn fill(&mut self, table: &Table, errors: &mut Vec<Diagnostic>) {
        for field in self.def.fields.iter().filter(|f| f.applies(&self.kind)) {
            let written = table.get(field.key).map(|(_, node)| node);
            let (value, origin, base) = match (written, field.absent) {
                (Some(node), _) => match field.takes.read(node) {
                    Ok(value) => (value, Some(node.origin.clone()), node.base.clone()),
                    Err(misfit) => {
                        let path = self.dotted(field.key);
                        let mut d = Diagnostic::at(&node.origin, format!("{path} cannot be used"))
                            .label(misfit.message);
                        d.help = misfit.help;
                        errors.push(d);
                        continue;
                    }
                },
                (None, Absent::Is(text)) => (read_default(field, text), None, None),
                (None, Absent::Like(other)) => match self.get(other) {
                    Some(value) => (value.clone(), None, None),
                    None => continue,
                },
                (None, Absent::Unset(_)) => continue,
                (None, Absent::Required) => {
                    let path = self.dotted(field.key);
                    errors.push(
                        Diagnostic::at(&self.origin, format!("{path} is missing"))
                            .label(field.meaning)
                            .help(format!(
                                "add {} = ..., a {}",
                                field.key,
                                field.takes.describe()
                            )),
                    );
                    continue;
                }
            };
            self.entries.push(Entry {
                field,
                value,
                origin,
                base,
            });
        }
    }

    fn dotted(&self, key: &str) -> String {
        if self.def.name.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.def.name)
        }
    }

    fn toml(&self) -> toml::Table {
        let skip = |e: &&Entry| !MACHINE_KEYS.contains(&(self.def.name, e.field.key));
        self.entries
            .iter()
            .filter(skip)
            .map(|e| (e.field.key.to_owned(), e.value.toml()))
            .collect()
    }
}

macro_rules! getters {
    ($($name:ident / $opt:ident: $variant:ident -> $t:ty),*) => {
        impl Section {$(
            #[doc = concat!("The value of a key of type ", stringify!($variant), ", if it has one.")]
            pub fn $opt(&self, key: &str) -> Option<$t> {
                match self.get(key) {
                    Some(Value::$variant(x)) => Some(x.clone()),
                    Some(other) => unreachable!("{key} is {other:?}"),
                    None => None,
                }
            }
            #[doc = concat!("The value of a key of type ", stringify!($variant), " that always has one.")]
            pub fn $name(&self, key: &str) -> $t {
                self.$opt(key).expect("the table gives this key a value for this kind")
            }
        )*}
    };
}
getters!(
    rate / opt_rate: Rate -> Rate,
    span / opt_span: Span -> Span,
    bytes / opt_bytes: Bytes -> Bytes,
    count / opt_count: Count -> u64,
    number / opt_number: Number -> f64,
    flag / opt_flag: Flag -> bool,
    text / opt_text: Text -> String,
    list / opt_list: List -> Vec<Value>
);

impl Section {
    /// A count that its bounds keep within 32 bits.
    pub(crate) fn count32(&self, key: &str) -> u32 {
        u32::try_from(self.count(key)).expect("the table bounds it")
    }
    /// The same, if it has a value.
    pub(crate) fn opt_count32(&self, key: &str) -> Option<u32> {
        self.opt_count(key)
            .map(|n| u32::try_from(n).expect("the table bounds it"))
    }
    /// A list of strings, if it has a value.
    pub(crate) fn opt_texts(&self, key: &str) -> Option<Vec<String>> {
        let text = |v| {
            if let Value::Text(s) = v {
                s
            } else {
                unreachable!("{key} lists strings")
            }
        };
        self.opt_list(key)
            .map(|list| list.into_iter().map(text).collect())
    }
}

fn defaults_source() -> Arc<SourceText> {
    static SOURCE: LazyLock<Arc<SourceText>> = LazyLock::new(|| {
        Arc::new(SourceText {
            name: "defaults".to_owned(),
            text: String::new(),
        })
    });
    Arc::clone(&SOURCE)
}

fn read_default(field: &Field, text: &str) -> Value {
    let source = Arc::new(SourceText {
        name: "defaults".into(),
        text: format!("x = {text}"),
    });
    let mut errors = Vec::new();
    let node = tree::parse(&source, None, &mut errors);
    assert!(
        errors.is_empty(),
        "the default of {} is not TOML: {text}",
        field.key
    );
    let node = &node.table().expect("a document is a table")["x"].1;
    match field.takes.read(node) {
        Ok(value) => value,
        Err(misfit) => panic!(
            "the default of {} does not fit: {}",
            field.key, misfit.message
        ),
    }
}

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
    let mut errors = Vec::new();
    let path = Path::new(request.from);
    let node = match crate::builtin::find(request.from) {
        Some(builtin) if !path.is_file() || path.extension().is_none() => {
            let source = Arc::new(SourceText {
                name: format!("built-in {}", builtin.name),
                text: builtin.text.to_owned(),
            });
            tree::parse(&source, None, &mut errors)
        }
        _ if path.exists() => match tree::read_file(path, &mut errors) {
            Some(node) => node,
            None => return Err(Errors(errors)),
        },
        _ => return Err(unknown_scenario(request.from).into()),
    };
    let stem = path
        .file_stem()
        .map_or("scenario".into(), |s| s.to_string_lossy());
    resolve(node, &stem, request.sets, errors)
}

/// Resolves a scenario given as text.
///
/// # Errors
/// Everything that is wrong.
pub fn load_text(name: &str, text: &str, sets: &[String]) -> Result<Scenario, Errors> {
    let source = Arc::new(SourceText {
        name: name.to_owned(),
        text: text.to_owned(),
    });
    let mut errors = Vec::new();
    let node = tree::parse(&source, None, &mut errors);
    let stem = Path::new(name)
        .file_stem()
        .map_or("scenario".into(), |s| s.to_string_lossy());
    resolve(node, &stem, sets, errors)
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
    node: Node,
    stem: &str,
    sets: &[String],
    mut errors: Vec<Diagnostic>,
) -> Result<Scenario, Errors> {
    let Data::Table(mut root) = node.data else {
        unreachable!("a document is a table")
    };
    for assignment in sets {
        tree::set(&mut root, assignment, &mut errors);
    }
    // Syntax errors leave holes: what would be said about them next would mislead.
    if !errors.is_empty() {
        return Err(Errors(errors));
    }
    let mut reader = Reader {
        root: &root,
        errors: &mut errors,
    };
    let scenario = reader.scenario(&node.origin, stem);
    match scenario {
        Some(scenario) if errors.is_empty() => Ok(scenario),
        _ => {
            // As they stand in the file, the command line last.
            errors.sort_by_key(|e| {
                let at = e.origin.as_ref();
                at.map(|o| (o.source.name.starts_with("--"), o.span.start))
            });
            Err(Errors(errors))
        }
    }
}

struct Reader<'a> {
    root: &'a Table,
    errors: &'a mut Vec<Diagnostic>,
}

impl Reader<'_> {
    fn scenario(&mut self, whole: &Origin, stem: &str) -> Option<Scenario> {
        self.unknown_tables();
        let top = {
            let mut top = Section::defaults(def(""));
            top.entries.clear();
            top.fill(self.root, self.errors);
            top
        };
        let topology = self.section("topology");
        let workloads = self.sections("workload");
        if workloads.is_empty() && !self.root.contains_key("workload") {
            let at = Origin {
                span: 0..0,
                ..whole.clone()
            };
            self.errors.push(Diagnostic::at(&at, "there is no [workload]").help(
                "add one, like [workload] with kind = \"incast\"; `tidegate explain workload` lists kinds",
            ));
        }
        let transport = self.section("transport");
        let protocol = transport
            .opt_text("kind")
            .and_then(|kind| transports::find(&kind));
        let factory = protocol.and_then(|p| self.configure(p, &transport));
        let (thresholds, threshold_origins) = self.thresholds();
        let (switch, credit) = (self.section("switch"), self.section("switch.credit"));
        let (mark, drop) = (self.section("switch.mark"), self.section("switch.drop"));
        let (faults, run, output) = (
            self.sections("faults"),
            self.section("run"),
            self.section("output"),
        );
        Some(Scenario {
            name: top.opt_text("name").unwrap_or_else(|| stem.to_owned()),
            title: top.opt_text("title"),
            topology,
            workloads,
            protocol: protocol?,
            factory: factory?,
            transport,
            switch,
            credit,
            mark,
            drop,
            faults,
            run,
            output,
            thresholds,
            threshold_origins,
        })
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
    fn written(&mut self, name: &str) -> Option<(Origin, Node)> {
        let mut table = self.root;
        let mut found = None;
        for part in name.split('.') {
            let (at, node) = table.get(part)?;
            match &node.data {
                Data::Table(inner) => table = inner,
                other => {
                    self.errors.push(
                        Diagnostic::at(&node.origin, format!("{name} is {}", other.what()))
                            .help(format!("write a table: [{name}]")),
                    );
                    return None;
                }
            }
            found = Some((at.clone(), node.clone()));
        }
        found
    }

    fn section(&mut self, name: &'static str) -> Section {
        let def = def(name);
        match self.written(name) {
            Some((at, node)) => self.read(def, &at, &node),
            None => {
                let empty = Node {
                    data: Data::Table(Table::new()),
                    origin: Origin::whole(&defaults_source()),
                    base: None,
                };
                let at = empty.origin.clone();
                self.read(def, &at, &empty)
            }
        }
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
                        self.errors.push(
                            Diagnostic::at(&item.origin, format!("this is {}", item.data.what()))
                                .help(format!("write a table: [[{name}]]")),
                        );
                    }
                }
                sections
            }
            other => {
                self.errors.push(
                    Diagnostic::at(&node.origin, format!("{name} is {}", other.what()))
                        .help(format!("write a table: [[{name}]]")),
                );
                Vec::new()
            }
        }
    }

    fn read(&mut self, def: &'static TableDef, at: &Origin, node: &Node) -> Section {
        let table = node.table().expect("the caller looked");
        let mut section = Section {
            def,
            kind: String::new(),
            origin: at.clone(),
            base: node.base.clone(),
            entries: Vec::new(),
        };
        if let Some(field) = def.fields.iter().find(|f| f.key == "kind") {
            match self.kind(field, table) {
                Some(kind) => section.kind = kind,
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
        self.unknown_keys(def, &section.kind, table);
        section
    }

    fn kind(&self, field: &Field, table: &Table) -> Option<String> {
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

    fn unknown_keys(&mut self, def: &'static TableDef, kind: &str, table: &Table) {
        for (key, (at, node)) in table {
            let dotted = format!("{}.{key}", def.name);
            let sub_table = fields::table(&dotted).is_some()
                || (def.name == "transport" && node.table().is_some());
            if sub_table || def.fields.iter().any(|f| f.key == key && f.applies(kind)) {
                continue;
            }
            let elsewhere = def.fields.iter().find(|f| f.key == key);
            let known = def.fields.iter().filter(|f| f.applies(kind)).map(|f| f.key);
            self.errors.push(match elsewhere {
                Some(field) => {
                    let d = Diagnostic::at(at, format!("{dotted} means nothing here"))
                        .label(format!("{} of kind \"{kind}\" has no {key}", def.name));
                    d.help(format!("{key} belongs to kind {}", quoted(field.kinds)))
                }
                None => unknown_key(def.name, key, at, known),
            });
        }
    }

    fn configure(
        &mut self,
        protocol: &'static dyn Transport,
        section: &Section,
    ) -> Option<Box<dyn Factory>> {
        self.foreign_transports();
        let mut parameters = Table::new();
        // `a+b` also takes what is written for `a`, as far as it knows the keys.
        let kind = protocol.name();
        let known: Vec<_> = protocol.parameters().iter().map(|p| p.key).collect();
        let bases = kind
            .match_indices('+')
            .map(|(i, _)| &kind[..i])
            .chain([kind]);
        for name in bases {
            if let Some((_, node)) = self.written_transport(name) {
                let mut table = node.table().expect("written() returns tables").clone();
                if name != kind {
                    table.retain(|key, _| known.contains(&key.as_str()));
                }
                tree::merge(&mut parameters, table);
            }
        }
        if let Some(profile) = section.entry("profile") {
            let origin = profile.origin.clone().expect("the profile has no default");
            let node = Node {
                data: Data::Text(section.text("profile")),
                origin: origin.clone(),
                base: None,
            };
            parameters.insert("profile".to_owned(), (origin, node));
        }
        let mut first = None;
        // One wrong key hides the next: take it out and look again.
        for _ in 0..=parameters.len() {
            match protocol.configure(&tree::plain_table(&parameters)) {
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
                        None => section.origin.clone(),
                    };
                    let name = if error.key.is_empty() {
                        kind.to_owned()
                    } else {
                        format!("transport.{kind}.{}", error.key)
                    };
                    self.errors.push(
                        Diagnostic::at(&origin, format!("{name} cannot be used"))
                            .label(error.message),
                    );
                    first = Some(());
                    if parameters.remove(&key).is_none() {
                        return None;
                    }
                }
            }
        }
        None
    }

    fn written_transport(&mut self, kind: &str) -> Option<(Origin, Node)> {
        let (_, transport) = self.root.get("transport")?;
        let (at, node) = transport.table()?.get(kind)?;
        node.table()?;
        Some((at.clone(), node.clone()))
    }

    /// Tables of transports that this run does not use may stand there for a comparison, but must
    /// name a transport that exists.
    fn foreign_transports(&mut self) {
        let Some(table) = self
            .root
            .get("transport")
            .and_then(|(_, node)| node.table())
        else {
            return;
        };
        for (name, (at, node)) in table {
            if node.table().is_some() && transports::find(name).is_none() {
                let known = transports::registry().iter().map(|t| t.name());
                self.errors.push(unknown_key("transport", name, at, known));
            }
        }
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

impl Section {
    fn fill_kind_only(
        &mut self,
        field: &'static Field,
        table: &Table,
        errors: &mut Vec<Diagnostic>,
    ) {
        let before = errors.len();
        let kind_only: Table = table
            .iter()
            .filter(|(key, _)| *key == "kind")
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        self.fill(&kind_only, errors);
        // Only what is wrong with the kind itself.
        errors.truncate(before + 1);
        self.entries.retain(|e| e.field.key == field.key);
    }
}

fn def(name: &str) -> &'static TableDef {
    fields::table(name).expect("the tables are fixed")
}

fn quoted(words: &[&str]) -> String {
    words
        .iter()
        .map(|w| format!("\"{w}\""))
        .collect::<Vec<_>>()
        .join(", ")
}

fn unknown_key<'a>(
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

impl Scenario {
    /// The scenario with every key and its value: a file that repeats the run.
    pub fn resolved_toml(&self) -> String {
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
        write("[topology]".into(), with_path(&self.topology));
        for workload in &self.workloads {
            write("[[workload]]".into(), with_path(workload));
        }
        write("[transport]".into(), self.transport.toml());
        let parameters = self.factory.resolved();
        let name = self.protocol.name();
        let key = if name.contains('+') {
            format!("\"{name}\"")
        } else {
            name.to_owned()
        };
        write(format!("[transport.{key}]"), parameters);
        for section in [&self.switch, &self.credit, &self.mark, &self.drop] {
            write(format!("[{}]", section.def.name), section.toml());
        }
        for fault in &self.faults {
            write("[[faults]]".into(), fault.toml());
        }
        write("[run]".into(), self.run.toml());
        write("[output]".into(), self.output.toml());
        let thresholds: BTreeMap<_, _> = self.thresholds.iter().cloned().collect();
        if !thresholds.is_empty() {
            let _ = writeln!(out, "\n[thresholds]");
            for (key, text) in thresholds {
                let _ = writeln!(out, "{key} = {}", toml::Value::String(text));
            }
        }
        out
    }

    /// A hash of the resolved scenario, for the name of its folder.
    pub fn hash(&self) -> u64 {
        fnv1a(self.resolved_toml().as_bytes())
    }
}

/// A table whose path is made independent of the folder it was written in.
fn with_path(section: &Section) -> toml::Table {
    let mut table = section.toml();
    for key in ["path", "sizes"] {
        let Some(entry) = section.entries.iter().find(|e| e.field.key == key) else {
            continue;
        };
        let path = section.path(key);
        // A built-in distribution is a name, not a file.
        if (key == "path" || entry.base.is_some()) && path.exists() {
            let full = std::path::absolute(&path).unwrap_or(path);
            table.insert(
                key.to_owned(),
                toml::Value::String(full.display().to_string()),
            );
        }
    }
    table
}

/// FNV-1a, 64 bits: short, frozen, and enough to name folders. [Fowler, Noll, Vo]
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
