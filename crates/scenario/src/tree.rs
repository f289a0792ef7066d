//! TOML and JSON with a memory: every value knows the text it came from, through includes and overrides.
//!
//! A `Reader` turns a text into `Node`s and reads what it includes; `merge` lays one tree on another, and `set` one value
//! of the command line on top. What cannot be read is said with its place, that of the text where it is no UTF-8.

mod json;

use crate::base::{Base, Files};
use crate::diagnostic::{Diagnostic, Origin, SourceText};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use units::text::is_unseen;

/// Files that may include each other in a row; more is a loop or a maze.
const INCLUDE_DEPTH_MAX: usize = 8;
/// Bytes that a scenario file may have: it is written by people.
const FILE_MAX: u64 = 16 << 20;
/// How text from the command line is named.
pub(crate) const SET: &str = "--set";

/// A value and where it is written.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub data: Data,
    pub origin: Origin,
    /// What paths inside are read against; `None` for built-in and command-line text.
    pub base: Option<Arc<Base>>,
}

#[derive(Clone, Debug)]
pub(crate) enum Data {
    Text(String),
    Integer(i64),
    Number(f64),
    Flag(bool),
    List(Vec<Node>),
    Table(Table),
}

/// A table's entries by key, each with where its key is written.
pub(crate) type Table = BTreeMap<String, (Origin, Node)>;

impl Data {
    /// What it is called in a message.
    pub(crate) fn what(&self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Integer(_) => "a whole number",
            Self::Number(_) => "a number",
            Self::Flag(_) => "true or false",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

impl Node {
    pub(crate) fn table(&self) -> Option<&Table> {
        if let Data::Table(table) = &self.data {
            Some(table)
        } else {
            None
        }
    }

    /// The value without its origins, for readers that know nothing of them.
    pub(crate) fn plain(&self) -> toml::Value {
        match &self.data {
            Data::Text(s) => toml::Value::String(s.clone()),
            Data::Integer(i) => toml::Value::Integer(*i),
            Data::Number(x) => toml::Value::Float(*x),
            Data::Flag(b) => toml::Value::Boolean(*b),
            Data::List(list) => toml::Value::Array(list.iter().map(Self::plain).collect()),
            Data::Table(table) => toml::Value::Table(plain_table(table)),
        }
    }
}

pub(crate) fn plain_table(table: &Table) -> toml::Table {
    table
        .iter()
        .map(|(key, (_, node))| (key.clone(), node.plain()))
        .collect()
}

/// A text as a tree, with the texts of the files that it includes.
pub(crate) struct Read {
    pub node: Node,
    pub included: Files,
}

/// Reads a text into a tree, as JSON where its name says so; includes are resolved against `base`.
pub(crate) fn parse(
    source: &Arc<SourceText>,
    base: Option<&Base>,
    errors: &mut Vec<Diagnostic>,
) -> Read {
    let mut reader = Reader {
        errors,
        open: base
            .map(|_| PathBuf::from(&source.name))
            .into_iter()
            .collect(),
        included: Files::new(),
    };
    let node = reader.text(source, base.cloned().map(Arc::new));
    let included = reader.included;
    readable(&node, false, errors);
    Read { node, included }
}

/// Keys whose readers refuse what controls a terminal by themselves, and say what may stand there.
const OWN: [&str; 3] = ["name", "dir", "tag"];

/// Refuses text with characters that are not seen: it is printed, on terminals, too.
fn readable(node: &Node, own: bool, errors: &mut Vec<Diagnostic>) {
    match &node.data {
        Data::Text(text) => {
            let control = |c: char| own || ['\n', '\r', '\t'].contains(&c);
            let odd = |&c: &char| is_unseen(c) && !(c.is_control() && control(c));
            errors.extend(text.chars().find(odd).map(|c| {
                let what = format!("this text has the character U+{:04X}", u32::from(c));
                Diagnostic::at(&node.origin, what)
                    .label("it is not seen, and changes what is")
                    .help("write it without that character")
            }));
        }
        Data::List(list) => list.iter().for_each(|node| readable(node, own, errors)),
        Data::Table(table) => table
            .iter()
            .for_each(|(key, (_, node))| readable(node, OWN.contains(&key.as_str()), errors)),
        Data::Integer(_) | Data::Number(_) | Data::Flag(_) => {}
    }
}

/// Reads a file into a tree.
pub(crate) fn read_file(path: &Path, errors: &mut Vec<Diagnostic>) -> Option<Read> {
    let base = Base::of(path);
    match load(path, &base) {
        Ok(source) => Some(parse(&source, Some(&base), errors)),
        Err(why) => {
            errors.push(why);
            None
        }
    }
}

/// The text of a scenario file, or why it cannot be read, with its place where it has one.
fn load(path: &Path, base: &Base) -> Result<Arc<SourceText>, Diagnostic> {
    let name = path.display().to_string();
    let unread = |e: std::io::Error| Diagnostic::new(format!("cannot read {name}: {e}"));
    let too_long = |size| {
        let what = format!("{name} has {size} B; a scenario file may have {FILE_MAX} B");
        Diagnostic::new(what)
    };
    let size = base.size(path).map_err(unread)?;
    if size > FILE_MAX {
        return Err(too_long(size));
    }
    match base.read(path) {
        Ok(text) if text.len() as u64 > FILE_MAX => Err(too_long(text.len() as u64)),
        Ok(text) => Ok(Arc::new(SourceText { name, text })),
        Err(e) if e.kind() == ErrorKind::InvalidData && size > 0 => Err(no_text(path, &name)),
        Err(e) => Err(unread(e)),
    }
}

/// Where a file is no UTF-8 text.
fn no_text(path: &Path, name: &str) -> Diagnostic {
    let bytes = std::fs::read(path).unwrap_or_default();
    let good = std::str::from_utf8(&bytes).map_or_else(|e| e.valid_up_to(), str::len);
    let source = Arc::new(SourceText {
        name: name.to_owned(),
        text: String::from_utf8_lossy(&bytes).into_owned(),
    });
    let origin = Origin {
        source,
        span: good..good + 1,
    };
    Diagnostic::at(&origin, format!("cannot read {name}: it is no UTF-8 text"))
        .label("no character")
        .help("unpack the file, or save it as text in UTF-8")
}

struct Reader<'a> {
    errors: &'a mut Vec<Diagnostic>,
    /// Files being read, outermost first.
    open: Vec<PathBuf>,
    /// What was included.
    included: Files,
}

/// What to write instead of a text that is no TOML.
fn instead_of(text: &str) -> &'static str {
    if text.trim_start().starts_with('{') {
        "this looks like JSON, which is read from files that end in .json; in TOML write key = value under [name]"
    } else if text.contains("CC_MODE") || text.contains("ENABLE_QCN") {
        "this looks like HPCC's config.txt: `tidegate import FILE` makes a scenario of it"
    } else {
        "write key = value, strings in double quotes, tables as [name]"
    }
}

impl Reader<'_> {
    fn text(&mut self, source: &Arc<SourceText>, base: Option<Arc<Base>>) -> Node {
        if json::is_json(&source.name) {
            return self.json(source, base.as_ref());
        }
        let (table, problems) = DeTable::parse_recoverable(&source.text);
        for problem in problems {
            let span = problem.span().unwrap_or(0..0);
            let origin = Origin {
                source: Arc::clone(source),
                span,
            };
            let message = problem
                .message()
                .lines()
                .next()
                .unwrap_or("not TOML")
                .to_owned();
            self.errors.push(
                Diagnostic::at(&origin, "this is not TOML")
                    .label(message)
                    .help(instead_of(&source.text)),
            );
        }
        let span = table.span();
        let data = Data::Table(self.table(table.into_inner(), source, base.as_ref()));
        Node {
            data,
            origin: Origin {
                source: Arc::clone(source),
                span,
            },
            base,
        }
    }

    fn table(
        &mut self,
        from: DeTable<'_>,
        source: &Arc<SourceText>,
        base: Option<&Arc<Base>>,
    ) -> Table {
        let origin = |span: Range<usize>| Origin {
            source: Arc::clone(source),
            span,
        };
        let mut table = Table::new();
        let mut included = None;
        for (key, value) in from {
            let at = origin(key.span());
            let node = self.node(value, source, base);
            if key.get_ref() == "include" {
                included = self.include(&node);
            } else {
                table.insert(key.into_inner().into_owned(), (at, node));
            }
        }
        over(included, table)
    }

    fn node(
        &mut self,
        from: Spanned<DeValue<'_>>,
        source: &Arc<SourceText>,
        base: Option<&Arc<Base>>,
    ) -> Node {
        let origin = Origin {
            source: Arc::clone(source),
            span: from.span(),
        };
        let mut refuse = |what: String| {
            self.errors.push(Diagnostic::at(&origin, what));
            Data::Integer(0)
        };
        let data = match from.into_inner() {
            DeValue::String(s) => Data::Text(s.into_owned()),
            DeValue::Boolean(b) => Data::Flag(b),
            DeValue::Integer(i) => match i64::from_str_radix(i.as_str(), i.radix()) {
                Ok(i) => Data::Integer(i),
                Err(_) => refuse(format!("{i} does not fit 64 bits")),
            },
            DeValue::Float(x) => match x.as_str().parse::<f64>() {
                Ok(x) if x.is_finite() => Data::Number(x),
                _ => refuse(format!(
                    "{x} is not a finite number: write one, or leave the key out for its default"
                )),
            },
            DeValue::Datetime(_) => refuse(
                "a scenario has no calendar: write a time as a string, like \"1.5ms\"".to_owned(),
            ),
            DeValue::Array(list) => Data::List(
                list.into_iter()
                    .map(|item| self.node(item, source, base))
                    .collect(),
            ),
            DeValue::Table(table) => Data::Table(self.table(table, source, base)),
        };
        Node {
            data,
            origin,
            base: base.cloned(),
        }
    }

    fn include(&mut self, node: &Node) -> Option<Table> {
        let problem = |message: String| Diagnostic::at(&node.origin, message);
        let Data::Text(name) = &node.data else {
            self.errors.push(
                problem(format!("include is {}", node.data.what()))
                    .help("name one file, like include = \"fabric.toml\""),
            );
            return None;
        };
        let Some(base) = &node.base else {
            self.errors
                .push(problem("only a file can include another".to_owned()));
            return None;
        };
        let path = base.join(name);
        if path
            .extension()
            .is_none_or(|ending| ending != "toml" && ending != "json")
        {
            self.errors.push(
                problem(format!("{name} is no scenario file")).help(
                    "name a file that ends in .toml or .json, like include = \"fabric.toml\"",
                ),
            );
            return None;
        }
        if self.open.contains(&path) || self.open.len() >= INCLUDE_DEPTH_MAX {
            self.errors.push(
                problem("files include each other in a circle".to_owned())
                    .label(format!("{} files are open here", self.open.len())),
            );
            return None;
        }
        match load(&path, base) {
            Ok(source) => {
                self.included
                    .insert(source.name.clone(), source.text.clone());
                let inside = Some(Arc::new(base.below(&path)));
                self.open.push(path);
                let node = self.text(&source, inside);
                self.open.pop();
                node.table().cloned()
            }
            // What has a place says more than that it is included here.
            Err(why) if why.origin.is_some() => {
                self.errors.push(why);
                None
            }
            Err(why) => {
                let help = "paths are read from the folder of this file";
                self.errors.push(problem(why.message).help(help));
                None
            }
        }
    }
}

/// What a table says itself wins over what it includes.
fn over(included: Option<Table>, table: Table) -> Table {
    match included {
        Some(mut under) => {
            merge(&mut under, table);
            under
        }
        None => table,
    }
}

/// Lays `over` on top of `under`: tables merge, everything else is replaced.
pub(crate) fn merge(under: &mut Table, over: Table) {
    for (key, (at, node)) in over {
        match (under.get_mut(&key).map(|(_, n)| &mut n.data), node.data) {
            (Some(Data::Table(below)), Data::Table(above)) => merge(below, above),
            (_, data) => {
                under.insert(key, (at, Node { data, ..node }));
            }
        }
    }
}

/// Applies one `a.b=c`: the value is read as TOML, and as a bare string where it is none. Paths in it are read against
/// `base`, or against the folder that the program runs in.
pub(crate) fn set(
    root: &mut Table,
    assignment: &str,
    base: Option<&Arc<Base>>,
    errors: &mut Vec<Diagnostic>,
) {
    let source = Arc::new(SourceText {
        name: SET.to_owned(),
        text: assignment.to_owned(),
    });
    let whole = Origin::whole(&source);
    let Some((path, value)) = assignment.split_once('=') else {
        errors.push(
            Diagnostic::at(&whole, "--set needs a key and a value")
                .help("write it like --set workload.load=0.6"),
        );
        return;
    };
    let value_span = path.len() + 1..assignment.len();
    let origin = Origin {
        source: Arc::clone(&source),
        span: value_span,
    };
    let node = Node {
        data: bare(value, &origin),
        origin,
        base: base.cloned(),
    };
    let last = path.rsplit('.').next().unwrap_or_default().trim();
    readable(&node, OWN.contains(&last), errors);
    let keys = match split_path(path.trim()) {
        Ok(keys) => keys,
        Err(why) => {
            errors.push(Diagnostic::at(&whole, why));
            return;
        }
    };
    let key_origin = Origin {
        source,
        span: 0..path.len(),
    };
    if let Err(why) = place(root, &keys, node, &key_origin) {
        errors.push(Diagnostic::at(&key_origin, why));
    }
}

fn bare(value: &str, origin: &Origin) -> Data {
    match DeValue::parse(value.trim()) {
        Ok(parsed) => {
            let mut ignored = Vec::new();
            let mut reader = Reader {
                errors: &mut ignored,
                open: Vec::new(),
                included: Files::new(),
            };
            let mut node = reader.node(parsed, &origin.source, None);
            if !ignored.is_empty() {
                return Data::Text(value.trim().to_owned());
            }
            point_at(&mut node, origin);
            node.data
        }
        Err(_) => Data::Text(value.trim().to_owned()),
    }
}

/// Spans inside a `--set` value count from the value, not from the assignment: point at it whole.
fn point_at(node: &mut Node, origin: &Origin) {
    node.origin = origin.clone();
    match &mut node.data {
        Data::List(list) => list.iter_mut().for_each(|item| point_at(item, origin)),
        Data::Table(table) => table.values_mut().for_each(|(at, item)| {
            *at = origin.clone();
            point_at(item, origin);
        }),
        Data::Text(_) | Data::Integer(_) | Data::Number(_) | Data::Flag(_) => {}
    }
}

/// `a."b.c".0` into its parts.
pub(crate) fn split_path(path: &str) -> Result<Vec<String>, String> {
    let mut keys = vec![String::new()];
    let mut quoted = false;
    for c in path.chars() {
        match c {
            '"' => quoted = !quoted,
            '.' if !quoted => keys.push(String::new()),
            c => keys.last_mut().expect("it starts with one").push(c),
        }
    }
    if quoted || keys.iter().any(String::is_empty) {
        return Err(format!(
            "\"{path}\" is not a path of keys like workload.load"
        ));
    }
    Ok(keys)
}

fn place(table: &mut Table, keys: &[String], node: Node, at: &Origin) -> Result<(), String> {
    let (key, rest) = keys.split_first().expect("a path has at least one key");
    if rest.is_empty() {
        if node.table().is_none() || !table.contains_key(key) {
            table.insert(key.clone(), (at.clone(), node));
        } else if let (Data::Table(over), Some((_, under))) = (node.data, table.get_mut(key)) {
            match &mut under.data {
                Data::Table(under) => merge(under, over),
                other => *other = Data::Table(over),
            }
        }
        return Ok(());
    }
    let empty = || Node {
        data: Data::Table(Table::new()),
        origin: at.clone(),
        base: None,
    };
    let (_, inner) = table
        .entry(key.clone())
        .or_insert_with(|| (at.clone(), empty()));
    match &mut inner.data {
        Data::Table(inner) => place(inner, rest, node, at),
        Data::List(list) => {
            let (index, rest) = match rest[0].parse::<usize>() {
                Ok(index) => (index, &rest[1..]),
                Err(_) if list.len() == 1 => (0, rest),
                Err(_) => {
                    return Err(format!(
                        "there are {} of [[{key}]]: name one, like {key}.0.{}",
                        list.len(),
                        rest.join(".")
                    ));
                }
            };
            let count = list.len();
            let item = list.get_mut(index).ok_or_else(|| {
                format!("there is no {key}.{index}: there are {count}, numbered from 0")
            })?;
            match (&mut item.data, rest.is_empty()) {
                (_, true) => {
                    *item = node;
                    Ok(())
                }
                (Data::Table(inner), false) => place(inner, rest, node, at),
                _ => Err(format!(
                    "{key}.{index} is {}, not a table",
                    item.data.what()
                )),
            }
        }
        // A value of the file that the command line turns into a table.
        other => {
            let mut inner = Table::new();
            place(&mut inner, rest, node, at)?;
            *other = Data::Table(inner);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> (Table, Vec<Diagnostic>) {
        let source = Arc::new(SourceText {
            name: "t.toml".into(),
            text: text.into(),
        });
        let mut errors = Vec::new();
        let read = parse(&source, None, &mut errors);
        (read.node.table().unwrap().clone(), errors)
    }

    #[test]
    fn overrides_lie_on_top_and_bare_words_are_strings() {
        let (mut root, mut errors) = tree("[a]\nb = 1\n[[w]]\nload = 0.5\n");
        set(&mut root, "a.b=2", None, &mut errors);
        set(&mut root, "a.c=100Gbps", None, &mut errors);
        set(&mut root, "w.load=0.7", None, &mut errors);
        set(&mut root, "new.\"x.y\".z=[1, 2]", None, &mut errors);
        assert!(errors.is_empty(), "{errors:?}");
        let text = toml::to_string(&plain_table(&root)).unwrap();
        assert_eq!(
            text,
            "[a]\nb = 2\nc = \"100Gbps\"\n\n[new.\"x.y\"]\nz = [1, 2]\n\n[[w]]\nload = 0.7\n"
        );
    }

    #[test]
    fn an_override_that_could_mean_two_things_asks() {
        let (mut root, mut errors) = tree("[[w]]\na = 1\n[[w]]\na = 2\n");
        set(&mut root, "w.a=3", None, &mut errors);
        assert!(errors[0].message.contains("w.0.a"), "{}", errors[0].message);
        set(&mut root, "w.1.a=3", None, &mut errors);
        set(&mut root, "w.7.a=3", None, &mut errors);
        set(&mut root, "nonsense", None, &mut errors);
        assert_eq!(errors.len(), 3);
        assert_eq!(plain_table(&root)["w"][1]["a"].as_integer(), Some(3));
    }

    #[test]
    fn every_syntax_error_has_its_place() {
        let (_, errors) = tree("[a]\nb = \nc = 3x\n");
        let lines: Vec<_> = errors
            .iter()
            .map(|e| e.origin.as_ref().unwrap().line_column().0)
            .collect();
        assert_eq!(lines, [2, 3]);
    }

    #[test]
    fn files_of_other_kinds_are_told_apart_from_slips() {
        let help = |text: &str| tree(text).1[0].help.clone().expect("help");
        assert!(help("{\"workload\": {}}").contains("JSON"));
        let config = "ENABLE_QCN 1\nCC_MODE 3\n";
        assert!(help(config).contains("tidegate import"));
        assert!(help("[a]\nb = \n").contains("key = value"));
    }

    #[test]
    fn what_a_table_says_wins_over_what_it_includes() {
        let dir = std::env::temp_dir().join(format!("tidegate-include-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("base.toml"), "x = 1\ny = 2\n").unwrap();
        std::fs::write(
            dir.join("top.toml"),
            "[t]\ninclude = \"base.toml\"\ny = 3\n",
        )
        .unwrap();
        std::fs::write(dir.join("loop.toml"), "include = \"loop.toml\"\n").unwrap();
        let mut errors = Vec::new();
        std::fs::write(
            dir.join("top.json"),
            r#"{"t": {"y": 3, "include": "base.toml"}}"#,
        )
        .unwrap();
        for top in ["top.toml", "top.json"] {
            let read = read_file(&dir.join(top), &mut errors).unwrap();
            assert!(errors.is_empty(), "{errors:?}");
            let t = plain_table(read.node.table().unwrap());
            assert_eq!(
                (t["t"]["x"].as_integer(), t["t"]["y"].as_integer()),
                (Some(1), Some(3))
            );
            let base = dir.join("base.toml").display().to_string();
            assert_eq!(read.included[&base], "x = 1\ny = 2\n");
        }
        let _ = read_file(&dir.join("loop.toml"), &mut errors);
        assert_eq!(errors.len(), 1, "{errors:?}");
        std::fs::remove_dir_all(&dir).unwrap();
    }

    fn json(text: &str) -> (Table, Vec<Diagnostic>) {
        let source = Arc::new(SourceText {
            name: "t.json".into(),
            text: text.into(),
        });
        let mut errors = Vec::new();
        let read = parse(&source, None, &mut errors);
        (read.node.table().unwrap().clone(), errors)
    }

    #[test]
    fn json_says_what_toml_says_and_every_value_has_its_place() {
        let text = r#" {"$schema": "x", "a": {"b": 2, "c": "100G\u0062ps \\\"", "d": [true, -0.5e1, {}]},
            "w": [{"load": 0.7}], "e": {}}"#;
        let (root, errors) = json(text);
        assert!(errors.is_empty(), "{errors:?}");
        let (same, _) =
            tree("[a]\nb = 2\nc = '100Gbps \\\"'\nd = [true, -5.0, {}]\n[[w]]\nload = 0.7\n[e]\n");
        assert_eq!(plain_table(&root), plain_table(&same));
        let (_, a) = &root["a"];
        let (key, b) = &a.table().unwrap()["b"];
        assert_eq!(&text[key.span.clone()], "\"b\"");
        assert_eq!(&text[b.origin.span.clone()], "2");
        let (marked, errors) = json(&format!("\u{feff}{text}"));
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(plain_table(&marked), plain_table(&root));
        let Data::List(d) = &a.table().unwrap()["d"].1.data else {
            panic!("a list")
        };
        assert_eq!(&text[d[1].origin.span.clone()], "-0.5e1");
    }

    #[test]
    fn what_json_cannot_say_is_refused_at_its_place() {
        let wrong = |text: &str| {
            let (_, errors) = json(text);
            let first = errors.first().unwrap_or_else(|| panic!("{text}"));
            let (line, column) = first.origin.as_ref().unwrap().line_column();
            (line, column, first.message.clone())
        };
        let (line, _, message) = wrong("{\n \"a\": 1,\n}");
        assert_eq!((line, message.as_str()), (3, "this is not JSON"));
        assert_eq!(wrong("").2, "this is not JSON");
        assert!(wrong("[1, 2]").2.contains("one object"), "a list");
        assert!(wrong("7").2.contains("one object"), "a number at the end");
        assert_eq!(
            wrong("{\n  \"a\": null}"),
            (
                2,
                8,
                "null says nothing here: leave the key out to have its default".to_owned()
            )
        );
        assert!(wrong("{\"a\": 1, \"a\": 2}").2.contains("twice"));
        assert!(wrong("{\"a\": 99999999999999999999}").2.contains("64 bits"));
        assert!(wrong("{\"a\": 1e999}").2.contains("JSON"));
    }
}
