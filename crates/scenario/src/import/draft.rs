//! A scenario while it is put together from another simulator's words.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A scenario made of another simulator's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The scenario, commented with where each value is from.
    pub toml: String,
    /// What is not in it, or not the same, each with its place and why.
    pub notes: Vec<String>,
}

/// Tables in the order in which they are written.
const TABLES: [&str; 9] = [
    "topology",
    "[workload]",
    "transport",
    "transport.dctcp",
    "transport.ndp",
    "switch",
    "switch.mark",
    "[faults]",
    "run",
];

struct Entry {
    table: &'static str,
    /// Which of several tables of a list; 0 elsewhere.
    number: usize,
    key: &'static str,
    value: String,
    from: String,
}

#[derive(Default)]
pub(super) struct Draft {
    entries: Vec<Entry>,
    notes: Vec<String>,
}

impl Draft {
    /// Sets `key` of a table to a string, as said by `from`.
    pub(super) fn text(&mut self, table: &'static str, key: &'static str, value: &str, from: &str) {
        self.raw(
            table,
            0,
            key,
            toml::Value::String(value.to_owned()).to_string(),
            from,
        );
    }

    /// The same with a value in TOML, for the `number`-th table of a list. What is said last counts.
    pub(super) fn raw(
        &mut self,
        table: &'static str,
        number: usize,
        key: &'static str,
        value: String,
        from: &str,
    ) {
        assert!(
            TABLES.contains(&table) || table == "output",
            "{table} is written"
        );
        let same = |e: &Entry| e.table == table && e.number == number && e.key == key;
        self.entries.retain(|e| !same(e));
        let from = plain(from);
        self.entries.push(Entry {
            table,
            number,
            key,
            value,
            from,
        });
    }

    pub(super) fn says(&self, table: &str, key: &str) -> bool {
        self.entries
            .iter()
            .any(|e| e.table == table && e.key == key)
    }

    #[allow(clippy::needless_pass_by_value, reason = "most are made for it")]
    pub(super) fn note(&mut self, note: String) {
        self.notes.push(plain(&note));
    }

    pub(super) fn finish(self, head: &str) -> Imported {
        let mut out = format!("# {}\n", plain(head));
        for table in TABLES.into_iter().chain(["output"]) {
            let of = || self.entries.iter().filter(|e| e.table == table);
            let numbers: BTreeSet<usize> = of().map(|e| e.number).collect();
            for number in numbers {
                let _ = writeln!(out, "\n[{table}]");
                for e in of().filter(|e| e.number == number) {
                    let _ = writeln!(out, "{} = {}  # {}", e.key, e.value, e.from);
                }
            }
        }
        if !self.notes.is_empty() {
            out.push_str("\n# Not the same here:\n");
            for note in &self.notes {
                let _ = writeln!(out, "# - {note}");
            }
        }
        Imported {
            toml: out,
            notes: self.notes,
        }
    }
}

/// Words of another simulator as a comment can have them, and a terminal: without what controls these.
fn plain(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for c in words.chars() {
        match c {
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}
