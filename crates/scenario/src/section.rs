//! One table of a scenario with all of its values.

use crate::base::{self, Base};
use crate::diagnostic::{Diagnostic, Origin, SourceText};
use crate::fields::{Absent, Field, MACHINE_KEYS, TableDef};
use crate::tree::{self, Table};
use crate::typed::Setting;
use crate::value::Value;
use std::path::PathBuf;
use std::sync::Arc;

/// One table with all of its values.
#[derive(Clone, Debug)]
pub struct Section {
    def: &'static TableDef,
    kind: String,
    origin: Origin,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    field: &'static Field,
    value: Value,
    /// Where it is written; `None` for a default.
    origin: Option<Origin>,
    base: Option<Arc<Base>>,
}

/// What a key names: a file, or a word that may stand for one.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) key: &'static str,
    /// As it is written.
    pub(crate) name: String,
    /// The same, read from the folder of the file that says it.
    pub(crate) path: PathBuf,
    base: Option<Arc<Base>>,
}

impl Named {
    /// The text of the file.
    pub(crate) fn read(&self) -> std::io::Result<String> {
        match &self.base {
            Some(base) => base.read(&self.path),
            None => base::read_text(&self.path),
        }
    }
}

impl Entry {
    fn named(&self) -> Named {
        let Value::Text(name) = &self.value else {
            unreachable!("the table makes it a string")
        };
        let base = self.base.clone();
        let path = base
            .as_ref()
            .map_or_else(|| PathBuf::from(name), |base| base.join(name));
        Named {
            key: self.field.key,
            name: name.clone(),
            path,
            base,
        }
    }
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

    /// The value of a key, as whoever reads a table before all is known of it wants it.
    pub(crate) fn value<T: Setting>(&self, key: &'static str) -> T {
        T::read(self, key)
    }

    /// Whether the file or the command line says it.
    pub fn is_given(&self, key: &str) -> bool {
        self.entry(key).is_some_and(|e| e.origin.is_some())
    }

    /// Whether a key has its default value, written or not: a resolved scenario writes them all.
    pub fn is_default(&self, key: &str) -> bool {
        self.entry(key).is_some_and(|e| match e.field.absent {
            Absent::Is(text) => read_default(e.field, text) == e.value,
            Absent::Like(other) => self.get(other) == Some(&e.value),
            Absent::Required | Absent::Unset(_) => false,
        })
    }

    /// The keys of this table that are written.
    pub(crate) fn given(&self) -> impl Iterator<Item = &'static str> {
        let written = self.entries.iter().filter(|e| e.origin.is_some());
        written.map(|e| e.field.key)
    }

    /// Whether anything of this table is written.
    pub fn any_given(&self) -> bool {
        self.given().next().is_some()
    }

    /// Where a key is written, else where its table is.
    pub fn origin(&self, key: &str) -> &Origin {
        self.entries
            .iter()
            .find(|e| e.field.key == key)
            .and_then(|e| e.origin.as_ref())
            .unwrap_or(&self.origin)
    }

    /// What a key of its kind names.
    pub(crate) fn named(&self, key: &str) -> Named {
        let entry = self.entry(key);
        entry
            .expect("the table gives this key a value for this kind")
            .named()
    }

    /// A diagnostic at a key.
    pub(crate) fn problem(&self, key: &str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::at(self.origin(key), message)
    }

    /// A table without values yet.
    pub(crate) fn new(def: &'static TableDef, kind: String, at: &Origin) -> Self {
        Self {
            def,
            kind,
            origin: at.clone(),
            entries: Vec::new(),
        }
    }

    /// Where the table itself is written.
    pub(crate) fn header(&self) -> &Origin {
        &self.origin
    }

    /// The table's name, with dots.
    pub(crate) fn name(&self) -> &'static str {
        self.def.name
    }

    /// Takes what is written and fills in the rest; fields whose kinds do not match are left out.
    pub(crate) fn fill(&mut self, table: &Table, errors: &mut Vec<Diagnostic>) {
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

    /// Gives a key another default, which follows from other tables, where it is not written.
    pub(crate) fn assume(&mut self, key: &str, value: Value) {
        let entry = self.entries.iter_mut().find(|e| e.field.key == key);
        if let Some(entry) = entry.filter(|e| e.origin.is_none()) {
            entry.value = value;
        }
    }

    /// The same for a key that has no default of its own.
    pub(crate) fn assume_anew(&mut self, key: &str, value: Value) {
        let known = self.def.fields.iter().find(|field| field.key == key);
        if let Some(field) = known.filter(|_| self.get(key).is_none()) {
            self.entries.push(Entry {
                field,
                value,
                origin: None,
                base: None,
            });
        }
    }

    pub(crate) fn dotted(&self, key: &str) -> String {
        if self.def.name.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.def.name)
        }
    }

    /// Every value but those that say how to run; paths are made independent of the folder.
    pub(crate) fn toml(&self) -> toml::Table {
        let skip = |e: &&Entry| !MACHINE_KEYS.contains(&(self.def.name, e.field.key));
        let value = |e: &Entry| (e.field.key.to_owned(), portable(e));
        self.entries.iter().filter(skip).map(value).collect()
    }

    /// The files that it names, and their texts.
    pub(crate) fn files(&self) -> impl Iterator<Item = (PathBuf, std::io::Result<String>)> {
        let files = self.entries.iter().filter(|e| is_file(e));
        files.map(|e| {
            let file = e.named();
            let text = file.read();
            (file.path, text)
        })
    }
}

fn portable(entry: &Entry) -> toml::Value {
    if !is_file(entry) {
        return entry.value.toml();
    }
    let path = entry.named().path;
    let full = std::path::absolute(&path).unwrap_or(path);
    toml::Value::String(full.display().to_string())
}

fn is_file(entry: &Entry) -> bool {
    let key = entry.field.key;
    match &entry.value {
        Value::Text(name) => {
            key == "path" || (key == "sizes" && workload::sizes::named(name).is_none())
        }
        _ => false,
    }
}

impl Section {
    /// Every key that holds a count, with it.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let keys = self.entries.iter().map(|entry| entry.field.key);
        keys.filter_map(|key| match self.get(key) {
            Some(Value::Count(count)) => Some((key, *count)),
            _ => None,
        })
    }
}

/// The value that a field's default is written as.
pub(crate) fn read_default(field: &Field, text: &str) -> Value {
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
    let node = &node.node.table().expect("a document is a table")["x"].1;
    match field.takes.read(node) {
        Ok(value) => value,
        Err(misfit) => panic!(
            "the default of {} does not fit: {}",
            field.key, misfit.message
        ),
    }
}

impl Section {
    /// Takes the kind alone, and what is wrong with it.
    pub(crate) fn fill_kind_only(
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
