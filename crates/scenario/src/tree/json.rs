//! A scenario as JSON: the same tables and keys, read into the same tree with the same places.
//!
//! `serde_json` says whether a text is JSON and where not; the walk below may then trust every bracket.

use super::{Data, Node, Reader, Table};
use crate::base::Base;
use crate::diagnostic::{Diagnostic, Origin, SourceText};

use std::collections::btree_map::Entry;
use std::sync::Arc;

/// Where editors look for the schema of a file; it is no key of the scenario.
const SCHEMA: &str = "$schema";

/// Whether a file of this name is read as JSON.
pub(super) fn is_json(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
}

struct Walk<'a, 'b, 'c> {
    reader: &'a mut Reader<'b>,
    source: &'c Arc<SourceText>,
    base: Option<&'c Arc<Base>>,
    at: usize,
}

impl Reader<'_> {
    /// Reads a text of JSON; what is wrong with it is said, and leaves an empty table.
    pub(super) fn json(&mut self, source: &Arc<SourceText>, base: Option<&Arc<Base>>) -> Node {
        let text = units::text::unmarked(&source.text).to_owned();
        let source = &Arc::new(SourceText {
            name: source.name.clone(),
            text,
        });
        let whole = Origin::whole(source);
        let empty = Node {
            data: Data::Table(Table::new()),
            origin: whole.clone(),
            base: base.cloned(),
        };
        if let Err(error) = serde_json::from_str::<serde_json::Value>(&source.text) {
            let at = place(&source.text, error.line(), error.column());
            let origin = Origin {
                source: Arc::clone(source),
                span: at..at,
            };
            let text = error.to_string();
            let label = text.split(" at line ").next().unwrap_or("not JSON");
            self.errors.push(
                Diagnostic::at(&origin, "this is not JSON")
                    .label(label)
                    .help(
                        "it is read as JSON because of its name; a scenario in TOML ends in .toml",
                    ),
            );
            return empty;
        }
        let mut walk = Walk {
            reader: self,
            source,
            base,
            at: 0,
        };
        let node = walk.value();
        if node.table().is_some() {
            return node;
        }
        let what = format!(
            "a scenario is one object with tables inside, and this is {}",
            node.data.what()
        );
        self.errors.push(Diagnostic::at(&whole, what));
        empty
    }
}

/// The byte at a line and a column, both counted from 1.
fn place(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text
        .split_inclusive('\n')
        .take(line.max(1) - 1)
        .map(str::len)
        .sum();
    let at = (before + column.saturating_sub(1)).min(text.len());
    (0..=at)
        .rev()
        .find(|&at| text.is_char_boundary(at))
        .unwrap_or(0)
}

impl Walk<'_, '_, '_> {
    fn byte(&self) -> u8 {
        self.source.text.as_bytes()[self.at]
    }

    /// Passes what stands between values.
    fn skip(&mut self) {
        while self.byte().is_ascii_whitespace() || matches!(self.byte(), b',' | b':') {
            self.at += 1;
        }
    }

    fn origin(&self, from: usize) -> Origin {
        Origin {
            source: Arc::clone(self.source),
            span: from..self.at,
        }
    }

    fn value(&mut self) -> Node {
        self.skip();
        let from = self.at;
        let data = match self.byte() {
            b'{' => Data::Table(self.table()),
            b'[' => Data::List(self.list()),
            b'"' => Data::Text(self.text()),
            _ => self.word(),
        };
        Node {
            data,
            origin: self.origin(from),
            base: self.base.cloned(),
        }
    }

    fn list(&mut self) -> Vec<Node> {
        let mut list = Vec::new();
        self.at += 1;
        loop {
            self.skip();
            if self.byte() == b']' {
                self.at += 1;
                return list;
            }
            list.push(self.value());
        }
    }

    fn table(&mut self) -> Table {
        let (mut table, mut included) = (Table::new(), None);
        self.at += 1;
        loop {
            self.skip();
            if self.byte() == b'}' {
                self.at += 1;
                break;
            }
            let from = self.at;
            let key = self.text();
            let at = self.origin(from);
            let node = self.value();
            if key == SCHEMA {
                continue;
            }
            if key == "include" {
                included = self.reader.include(&node);
                continue;
            }
            match table.entry(key) {
                Entry::Vacant(place) => {
                    place.insert((at, node));
                }
                Entry::Occupied(place) => {
                    let twice = format!("\"{}\" is written twice", place.key());
                    self.reader.errors.push(Diagnostic::at(&at, twice));
                }
            }
        }
        super::over(included, table)
    }

    /// A string between quotes, with its escapes read.
    fn text(&mut self) -> String {
        let from = self.at;
        self.at += 1;
        while self.byte() != b'"' {
            self.at += 1 + usize::from(self.byte() == b'\\');
        }
        self.at += 1;
        serde_json::from_str(&self.source.text[from..self.at]).expect("it was read before")
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Data {
        let from = self.at;
        let bytes = self.source.text.as_bytes();
        let ends = |b: &u8| b.is_ascii_whitespace() || b",:]}".contains(b);
        self.at += bytes[from..]
            .iter()
            .position(ends)
            .unwrap_or(bytes.len() - from);
        let word = &self.source.text[from..self.at];
        match word {
            "true" => return Data::Flag(true),
            "false" => return Data::Flag(false),
            _ => {}
        }
        if let Ok(whole) = word.parse() {
            return Data::Integer(whole);
        }
        let what = match word.parse::<f64>() {
            Ok(number) if number.is_finite() && word.contains(['.', 'e', 'E']) => {
                return Data::Number(number);
            }
            Ok(_) => format!("{word} does not fit 64 bits"),
            Err(_) => "null says nothing here: leave the key out to have its default".to_owned(),
        };
        let at = self.origin(from);
        self.reader.errors.push(Diagnostic::at(&at, what));
        Data::Integer(0)
    }
}
