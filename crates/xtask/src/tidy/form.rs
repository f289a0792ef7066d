//! The form of a transport costs little: what it declares, registers and forwards is counted, wherever it stands; and so
//! are values that parameters write in a form of their own: tables of words, `Own` forms, and what reads and writes them;
//! and functions that name a transport, list its keys, read or write its parameters, or describe a packet outside its
//! declaration. Words that `parts::worded!` gives to values stand beside these and take no line.
//!
//! A rule over several keys that has a function of its own is no form: it says what fits together. Profiles are none, either.
//! They are content, as the law of a transport is: a published set of numbers, one a line, each of which a paper or an
//! artefact has. A fourth profile makes a transport no harder to begin.

use super::{Finding, Tree, numbered};

/// Where the folders of transports are.
const BASES: [&str; 2] = ["crates/transports/src/", "examples/fixed-window/src/"];
/// Lines that a transport's form may have: in all, per parameter and per field of its header.
const LIMIT: usize = 60;
const PER_PARAMETER: usize = 4;

const PER_FIELD: usize = 2;
/// The declarations.
const MACROS: [&str; 2] = ["model::header! {", "parts::params! {"];
/// Whose implementations are form.
const TRAITS: [&str; 7] = [
    " Transport for ",
    " Factory for ",
    " Declared for ",
    " Described for ",
    " Codec for ",
    "Value for ",
    "Form<",
];
/// Types of the constants that say how a parameter is written, and of those that the registry lists.
const FORMS: [&str; 5] = [": [(&str, ", ": &[(&str, ", ": Own<", "Words<", ": Entry<"];
/// What the first line of a function has, by name or by what it makes, that is form wherever it stands.
const FUNCTIONS: [&str; 9] = [
    "fn name(",
    "fn summary(",
    "fn read(table",
    "fn read(&self, table",
    "-> Vec<Parameter>",
    "Key<",
    "-> Table {",
    "-> toml::Table {",
    "-> &'static dyn Codec",
];

/// Whether form begins with a line at the margin; it ends with the next line there that ends an item.
fn begins(line: &str) -> bool {
    let item = line.strip_prefix("pub(super) ").unwrap_or(line);
    let item = item.strip_prefix("pub ").unwrap_or(item);
    let has = |words: &[&str]| words.iter().any(|word| item.contains(word));
    let constant = item.starts_with("const ") || item.starts_with("static ");
    MACROS.iter().any(|begin| line.starts_with(begin))
        || (item.starts_with("impl") && has(&TRAITS))
        || (constant && has(&FORMS))
        || (item.starts_with("fn ") && has(&["&Value", "-> Value"]))
}

/// Whether a line at the margin ends an item.
fn ends(line: &str) -> bool {
    let one_line = line.contains("! {") && line.ends_with('}');
    line.starts_with('}') || one_line || (!line.starts_with(' ') && line.ends_with(';'))
}

/// Lines of functions that are form though they stand in no declaration: what `is_form` says of their first lines, but
/// for what tests and `counted` lines have.
fn functions(text: &str, counted: &[usize], is_form: impl Fn(&str) -> bool) -> usize {
    let mut lines = 0;
    let mut until = None;
    for (number, line) in numbered(text).take_while(|(_, line)| *line != "mod tests {") {
        let indent = line.len() - line.trim_start().len();
        if until.is_none() && line.contains("fn ") && is_form(line) {
            until = Some(format!("{}}}", " ".repeat(indent)));
        }
        lines += usize::from(until.is_some() && !counted.contains(&number));
        if until.as_deref() == Some(line) {
            until = None;
        }
    }
    lines
}

/// Whether the first line of a function says that it is form.
fn speaks_of_form(line: &str) -> bool {
    FUNCTIONS.iter().any(|words| line.contains(words))
}

/// No transport's form has more lines than it may.
pub(super) fn form_is_short(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for base in BASES {
        for (page, header) in tree.within(base, "/header.rs") {
            let folder = page.trim_end_matches("header.rs");
            let mut form = Form::default();
            let tests = |path: &str| path.ends_with("/tests.rs") || path.contains("/tests/");
            for (_, text) in tree.within(folder, ".rs").filter(|(path, _)| !tests(path)) {
                form.add(text);
            }
            form.lines += functions(header, &[], |line| line.contains("-> String"));
            if form.lines > form.allowed() {
                let message = format!(
                    "the form of this transport has {} lines: {LIMIT}, {PER_PARAMETER} for each of {} parameters and \
                     {PER_FIELD} for each of {} fields make {}",
                    form.lines,
                    form.parameters,
                    form.fields,
                    form.allowed()
                );
                findings.push(Finding::new(page, 1, message));
            }
        }
    }
    findings
}

#[derive(Default)]
struct Form {
    lines: usize,
    parameters: usize,
    fields: usize,
}

impl Form {
    fn allowed(&self) -> usize {
        LIMIT + PER_PARAMETER * self.parameters + PER_FIELD * self.fields
    }

    /// Adds what stands in one file.
    fn add(&mut self, text: &str) {
        let (mut inside, mut keys) = (false, false);
        let mut counted = Vec::new();
        for (number, line) in numbered(text) {
            if begins(line) {
                inside = true;
            }
            let trimmed = line.trim();
            if !inside || trimmed.is_empty() {
                continue;
            }
            self.lines += 1;
            counted.push(number);
            self.fields += fields(trimmed);
            let name = trimmed.starts_with(|c: char| c.is_ascii_lowercase());
            self.parameters += usize::from(keys && name && trimmed.contains(" = "));
            if trimmed.split(' ').any(|word| word == "static") && trimmed.ends_with('{') {
                keys = true;
            }
            if ends(line) {
                (inside, keys) = (false, false);
            }
        }
        self.lines += functions(text, &counted, speaks_of_form);
    }
}

/// Fields that a line declares: `name: type = from..to "meaning";`.
fn fields(line: &str) -> usize {
    let declared = |rest: &&str| {
        let range = rest.split(' ').next().unwrap_or_default();
        let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        range
            .split_once("..")
            .is_some_and(|(from, to)| number(from) && number(to))
    };
    line.split(" = ").skip(1).filter(declared).count()
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    const HEADER: &str = "model::header! {\n    pub(super) static CODEC: \"X\" = 9;\n    /// A.\n    \
                          A = 1 \"A\" Control { a: u64 = 0..48 \"a\"; b: bool = 99..100 \"b\"; }\n}\n\nfn logic() {}\n";
    const PARAMS: &str = "parts::params! {\n    pub struct Params {\n        profile: &'static str = \"a\";\n    }\n    \
                          static KEYS {\n        /// first\n        first: u16 = 1, Count(1, 2),\n            \
                          \"a source\";\n    }\n}\n";

    fn tree(codec: &str) -> Tree {
        let base = "crates/transports/src/homa/";
        let path = |file| format!("{base}{file}");
        let (header, params, sender) = (path("header.rs"), path("params.rs"), path("sender.rs"));
        Tree::of(&[
            (header.as_str(), HEADER),
            (params.as_str(), PARAMS),
            (sender.as_str(), codec),
        ])
    }

    #[test]
    fn lines_parameters_and_fields_are_counted() {
        let mut form = Form::default();
        form.add(HEADER);
        form.add(PARAMS);
        assert_eq!((form.lines, form.parameters, form.fields), (5 + 10, 1, 2));
    }

    #[test]
    fn forms_of_values_are_counted_and_profiles_are_not() {
        for (text, lines) in [
            (
                "const ON: [(&str, bool); 2] = [(\"on\", true), (\"off\", false)];\nconst N: u8 = 1;\n",
                1,
            ),
            (
                "pub(super) const ON: [(&str, bool); 2] = [\n    (\"on\", true),\n    (\"off\", false),\n];\nfn law() {}\n",
                4,
            ),
            (
                "const SIZES: Own<Sizes> = Own(\n    \"sizes\",\n    read,\n);\nconst N: u8 = 1;\n",
                4,
            ),
            (
                "fn read(value: &Value) -> Result<Sizes, String> {\n    none()\n}\nfn law() {\n}\n",
                3,
            ),
            ("fn write(sizes: &Sizes) -> Value {\n    none()\n}\n", 3),
            (
                "impl<T: Copy> forms::Form<T> for Sizes {\n    line;\n}\n",
                3,
            ),
            ("impl declared::Value for Sizes {\n    line;\n}\n", 3),
            (
                "pub const PROFILES: &Profiles<Params> = &[\n    (\"default\", || Params::DEFAULT),\n];\n",
                0,
            ),
        ] {
            let mut form = Form::default();
            form.add(text);
            assert_eq!(form.lines, lines, "{text}");
        }
    }

    #[test]
    fn what_describes_packets_outside_their_declaration_is_counted() {
        let text = "model::header! {\n}\n\nimpl Data {\n    fn says(self) -> String {\n        of(self)\n    }\n\n    \
                    fn end(self) -> u64 {\n    }\n}\n\nfn more() -> String {\n}\n#[cfg(test)]\nfn t() -> String {\n}\n";
        let describing = |text| functions(text, &[], |line| line.contains("-> String"));
        assert_eq!(
            describing(&text.replace("#[cfg(test)]", "#[cfg(test)]\nmod tests {")),
            3 + 2
        );
    }

    #[test]
    fn names_and_lists_of_keys_are_counted_wherever_they_stand() {
        for (text, lines) in [
            (
                "impl Kind {\n    const fn name(self) -> &'static str {\n        match self {}\n    }\n}\n",
                3,
            ),
            (
                "fn keys_of(kind: Kind) -> impl Iterator<Item = &'static Key<Params>> {\n    KEYS.iter()\n}\n",
                3,
            ),
            (
                "impl Params {\n    pub fn resolved(&self) -> Table {\n        all()\n    }\n\n    fn law() {\n    }\n}\n",
                3,
            ),
            (
                "pub(super) fn parameters() -> Vec<Parameter> {\n    all()\n}\n",
                3,
            ),
            (
                "pub static HOMA: Entry<Params> = Entry::new(\n    \"homa\",\n    \"grants\",\n);\n",
                4,
            ),
            (
                "impl Factory for Params {\n    fn resolved(&self) -> Table {\n        all()\n    }\n}\n",
                5,
            ),
        ] {
            let mut form = Form::default();
            form.add(text);
            assert_eq!(form.lines, lines, "{text}");
        }
    }

    #[test]
    fn a_codec_by_hand_is_too_long() {
        let by_hand = |lines: usize| {
            format!(
                "impl Codec for Homa {{\n{}}}\n",
                "    line;\n".repeat(lines)
            )
        };
        // 68 lines are allowed, and 15 are there.
        assert_eq!(form_is_short(&tree(&by_hand(51))), []);
        let found = form_is_short(&tree(&by_hand(52)));
        assert_eq!(places(&found), ["crates/transports/src/homa/header.rs:1"]);
    }
}
