//! What every table and every document of a run holds: name, type, unit and meaning, for readers of files.
//!
//! Columns describe themselves ([`tables`](crate::tables)). The fields of `summary.json`, `curves.json` and `meta.json`
//! are those of the structures that are written there, with their comments: this file reads them from their sources.

use crate::kind::{FRACTION, NUMBERS, WHOLE};
use crate::tables::{Kind, dictionary};
use model::Counter;
use std::collections::VecDeque;
use std::fmt::Write as _;

/// The sources of every structure that a document has.
const SOURCES: [&str; 8] = [
    include_str!("summary.rs"),
    include_str!("apart.rs"),
    include_str!("ground.rs"),
    include_str!("lines.rs"),
    include_str!("stats.rs"),
    include_str!("sizes.rs"),
    include_str!("curves.rs"),
    include_str!("files.rs"),
];

/// Documents: the file, the structure that is its whole, and what it is.
const DOCUMENTS: [(&str, &str, &str); 3] = [
    ("summary.json", "Summary", "What came of a run, in numbers."),
    (
        "curves.json",
        "Curves",
        "Distributions and the fullest queue over time, from which a page of several runs is drawn.",
    ),
    (
        "meta.json",
        "Meta",
        "How and where a run was made; it comes last, so that a folder that has it is whole.",
    ),
];

/// How many there are of something: numbers whose type says no more.
const COUNT: &str = "count";

/// A field of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name in JSON.
    pub name: String,
    /// What it holds, in words; structures in backticks.
    pub holds: String,
    /// Its unit; empty where it is no number.
    pub unit: &'static str,
    /// What it says.
    pub meaning: String,
}

/// A structure of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structure {
    /// Its name in the sources, without what it is generic over.
    pub name: String,
    /// What it is.
    pub about: String,
    /// Its fields in their order.
    pub fields: Vec<Field>,
    /// Structures that it holds.
    holds: Vec<String>,
}

/// The structure `root` and all that it holds, in the order in which they are met.
pub fn structures(root: &str) -> Vec<Structure> {
    let mut found: Vec<Structure> = Vec::new();
    let mut wanted = VecDeque::from([root.to_owned()]);
    while let Some(name) = wanted.pop_front() {
        if found.iter().any(|known| known.name == name) {
            continue;
        }
        let structure = SOURCES.iter().find_map(|source| read(source, &name));
        let structure = structure.unwrap_or_else(|| panic!("no source has struct {name}"));
        wanted.extend(structure.holds.iter().cloned());
        found.push(structure);
    }
    found
}

/// Reads `pub struct NAME` with its comments out of a source that is laid out as ours are.
fn read(source: &str, name: &str) -> Option<Structure> {
    let starts = [
        format!("pub struct {name} {{"),
        format!("pub struct {name}<T> {{"),
    ];
    let mut comment = Vec::new();
    let mut lines = source.lines();
    let about = loop {
        let line = lines.next()?;
        if starts.iter().any(|start| line == start) {
            break said(&mut comment);
        }
        match line.strip_prefix("///") {
            Some(text) => comment.push(text.trim()),
            None if line.starts_with("#[") => {}
            None => comment.clear(),
        }
    };
    let mut structure = Structure {
        name: name.to_owned(),
        about,
        fields: Vec::new(),
        holds: Vec::new(),
    };
    for line in lines.take_while(|line| *line != "}") {
        let line = line.trim();
        if let Some(text) = line.strip_prefix("///") {
            comment.push(text.trim());
        } else if let Some((field, of)) = line
            .strip_prefix("pub ")
            .and_then(|rest| rest.split_once(": "))
        {
            let (holds, unit) = shape(of.trim_end_matches(','), &mut structure.holds);
            structure.fields.push(Field {
                name: field.to_owned(),
                holds,
                unit,
                meaning: said(&mut comment),
            });
        }
    }
    Some(structure)
}

/// The lines of a comment as one, without links of the documentation.
fn said(comment: &mut Vec<&str>) -> String {
    let text = std::mem::take(comment).join(" ");
    text.replace("[`", "`").replace("`]", "`")
}

/// A type in words, and the unit of its numbers; none where it has none. Structures are noted.
fn shape(of: &str, met: &mut Vec<String>) -> (String, &'static str) {
    let inside = |head: &str| {
        of.strip_prefix(head)
            .and_then(|rest| rest.strip_suffix('>'))
    };
    if let Some(inner) = inside("Option<") {
        let (words, unit) = shape(inner, met);
        return (format!("{words}, or null"), unit);
    }
    if let Some(inner) = inside("Vec<") {
        let (words, unit) = shape(inner, met);
        return (format!("list of {words}"), unit);
    }
    if let Some((_, inner)) = inside("BTreeMap<").and_then(|rest| rest.split_once(", ")) {
        let (words, unit) = shape(inner, met);
        return (format!("object: {words} by name"), unit);
    }
    if let Some(inner) = of.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        let parts = inner.split(", ").map(|part| shape(part, met));
        let (words, units): (Vec<String>, Vec<&str>) = parts.unzip();
        let unit = units.into_iter().find(|unit| !unit.is_empty());
        return (format!("[{}]", words.join("; ")), unit.unwrap_or_default());
    }
    if let Some((_, words, unit)) = NUMBERS.iter().find(|(name, ..)| *name == of) {
        return ((*words).to_owned(), unit);
    }
    let (words, unit) = match of {
        "u8" | "u16" | "u32" | "u64" | "usize" => (WHOLE, COUNT),
        // The numbers of a generic one have the unit of the field that holds it.
        "T" => (FRACTION, ""),
        "bool" => ("true or false", ""),
        "String" => ("text", ""),
        _ => {
            let (name, inner) = of.split_once('<').unwrap_or((of, "T>"));
            met.push(name.to_owned());
            let (_, unit) = shape(inner.trim_end_matches('>'), met);
            return (format!("`{name}`"), unit);
        }
    };
    (words.to_owned(), unit)
}

/// What a column holds, in words.
const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::U8(_) => "uint8",
        Kind::U32(_) => "uint32",
        Kind::U64(_) => "uint64",
        Kind::Ps => "int64",
        Kind::Ratio => "float64",
        Kind::Flag => "bool",
        Kind::Text => "string",
    }
}

/// The page: every table, then every document; `own` are the counters of transports.
pub fn markdown<'c>(own: impl IntoIterator<Item = &'c Counter>) -> String {
    let mut out = String::from(
        "# What the files of a run hold\n\nGenerated by `tidegate schema --data`. Tables are CSV and Parquet, and \
         Arrow in Python. In CSV what is missing is empty, and yes and no are 1 and 0. A moment counts from the begin \
         of the run. \"number\" as a unit is the number of a thing, \"count\" how many there are.\n\n## Tables\n",
    );
    for table in dictionary(own) {
        let _ = writeln!(
            out,
            "\n### `{}`\n\n{}\n\n| column | type | unit | meaning |\n| --- | --- | --- | --- |",
            table.name, table.about
        );
        for column in table.columns {
            let missing = if column.optional {
                ", may be missing"
            } else {
                ""
            };
            let unit = column.kind.unit();
            let in_csv = if column.kind == Kind::Flag {
                " (1 or 0 in CSV)"
            } else {
                ""
            };
            let meaning = column.meaning.replace('|', "\\|");
            let _ = writeln!(
                out,
                "| `{}` | {}{in_csv}{missing} | {unit} | {meaning} |",
                column.name,
                kind(column.kind)
            );
        }
    }
    out.push_str(
        "\n`ports-window.csv` has the columns of `ports`, counted in the window of time that `output.window` \
         asks for. `fct.txt` has those of HPCC's simulator.\n\n## Documents\n",
    );
    let mut written: Vec<String> = Vec::new();
    for (file, root, about) in DOCUMENTS {
        let _ = writeln!(out, "\n`{file}`: {about} The whole is a `{root}`.");
        for structure in structures(root) {
            if written.contains(&structure.name) {
                continue;
            }
            let _ = writeln!(
                out,
                "\n### `{}`\n\n{}\n\n| field | type | unit | meaning |\n| --- | --- | --- | --- |",
                structure.name, structure.about
            );
            for field in &structure.fields {
                let meaning = field.meaning.replace('|', "\\|");
                let _ = writeln!(
                    out,
                    "| `{}` | {} | {} | {meaning} |",
                    field.name, field.holds, field.unit
                );
            }
            written.push(structure.name);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_are_read_with_what_they_hold() {
        let all = structures("Summary");
        let of = |name: &str| {
            all.iter()
                .find(|s| s.name == name)
                .unwrap_or_else(|| panic!("{name}"))
        };
        let field = |structure: &str, name: &str| {
            let found = of(structure).fields.iter().find(|f| f.name == name);
            let found = found.unwrap_or_else(|| panic!("{structure}.{name}"));
            (found.holds.clone(), found.unit)
        };
        assert_eq!(field("Summary", "end_ps"), ("whole number".into(), "ps"));
        assert_eq!(
            field("Summary", "window_ps"),
            ("[whole number; whole number, or null]".into(), "ps")
        );
        assert_eq!(
            field("Summary", "settings"),
            ("list of [text; text]".into(), "")
        );
        assert_eq!(field("Summary", "sizes"), ("list of `SizeBin`".into(), ""));
        assert_eq!(field("SizeBin", "fct_ps"), ("`Dist`, or null".into(), "ps"));
        assert_eq!(
            field("Drops", "by_class"),
            ("object: whole number by name".into(), "count")
        );
        assert_eq!(field("Dist", "p999"), ("`Figure`".into(), ""));
        assert_eq!(field("Figure", "at_least"), ("true or false".into(), ""));
        assert_eq!(field("Goodput", "bps"), ("whole number".into(), "bit/s"));
        assert_eq!(field("Messages", "total"), ("whole number".into(), "count"));
        assert_eq!(field("Summary", "seed"), ("whole number".into(), "number"));
        assert_eq!(field("Pauses", "counts").1, "count");
    }

    #[test]
    fn everything_says_what_it_means() {
        for (_, root, _) in DOCUMENTS {
            for structure in structures(root) {
                assert!(!structure.about.is_empty(), "{}", structure.name);
                for field in &structure.fields {
                    assert!(
                        field.meaning.ends_with(['.', ']']),
                        "{}.{}: {:?}",
                        structure.name,
                        field.name,
                        field.meaning
                    );
                }
            }
        }
    }
}
