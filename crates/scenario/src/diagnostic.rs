//! What is wrong with a scenario, where it is written, and what to write instead.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;
use units::text::{edits, is_unseen};

/// A text that values come from: a file, a built-in scenario or one `--set` on the command line.
#[derive(Debug, PartialEq, Eq)]
pub struct SourceText {
    /// How it is named to the user: a path, `built-in incast`, `--set`.
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// Where a value is written.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The text that contains it.
    pub source: Arc<SourceText>,
    /// Its bytes there.
    pub span: Range<usize>,
}

impl Origin {
    /// The whole of a text that has no finer place to point at.
    pub fn whole(source: &Arc<SourceText>) -> Self {
        Self {
            source: Arc::clone(source),
            span: 0..source.text.len(),
        }
    }

    /// Line and column, both from 1; columns count characters.
    pub fn line_column(&self) -> (usize, usize) {
        let start = floor_char(&self.source.text, self.span.start);
        let before = &self.source.text[..start];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        (line, column)
    }
}

/// The nearest character boundary at or before `at`.
fn floor_char(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Where; `None` where no text is to blame.
    pub origin: Option<Origin>,
    /// What is wrong, in one line.
    pub message: String,
    /// The reason, beside the marked text; may be empty.
    pub label: String,
    /// What to do next.
    pub help: Option<String>,
    /// The line is not shown: it may be of a file that nobody meant.
    pub bare: bool,
}

impl Diagnostic {
    /// Something wrong at a place.
    pub fn at(origin: &Origin, message: impl Into<String>) -> Self {
        Self {
            origin: Some(origin.clone()),
            message: message.into(),
            label: String::new(),
            help: None,
            bare: false,
        }
    }

    /// Something wrong without a place.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            origin: None,
            message: message.into(),
            label: String::new(),
            help: None,
            bare: false,
        }
    }

    /// Keeps the line to itself where no line before it was what it should be: somebody may have named another file, with what
    /// is nobody's business.
    #[must_use]
    pub(crate) fn bare_at_first(mut self) -> Self {
        self.bare = self.origin.as_ref().is_some_and(|origin| {
            let start = floor_char(&origin.source.text, origin.span.start);
            let before = origin.source.text[..start].rsplit_once('\n');
            let mut lines = before
                .map_or("", |(before, _)| before)
                .lines()
                .map(str::trim);
            lines.all(|line| line.is_empty() || line.starts_with('#'))
        });
        self
    }

    /// Adds the reason that is printed next to the marked text.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Adds what to do next.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Whether another says the same of another place in the same file.
    fn repeats(&self, other: &Self) -> bool {
        let source = |of: &Self| of.origin.as_ref().map(|origin| Arc::as_ptr(&origin.source));
        let same =
            (&self.message, &self.label, &self.help) == (&other.message, &other.label, &other.help);
        same && self.origin.is_some() && source(self) == source(other)
    }

    /// The diagnostic as people read it: what, where, the line itself, the reason, the way out.
    pub fn render(&self, color: bool) -> String {
        let paint = |code: &str, text: &str| {
            if color {
                format!("\x1b[{code}m{text}\x1b[0m")
            } else {
                text.to_owned()
            }
        };
        let mut out = format!(
            "{}: {}\n",
            paint("1;31", "error"),
            paint("1", &ends_of(&self.message))
        );
        let mut gutter = 1;
        if let Some(origin) = &self.origin {
            let (line, column) = origin.line_column();
            let number = line.to_string();
            gutter = number.len();
            let pad = " ".repeat(gutter);
            let _ = writeln!(
                out,
                "{pad}{} {}:{line}:{column}",
                paint("34", "-->"),
                ends_of(&origin.source.name)
            );
            if self.bare {
                let what = "the line is not shown: no line before it tells that this is the file that was meant";
                let _ = writeln!(out, "{pad} {} {what}", paint("34", "="));
                if !self.label.is_empty() {
                    let _ = writeln!(out, "{pad} {} {}", paint("34", "="), ends_of(&self.label));
                }
            }
        }
        if let (Some(origin), false) = (&self.origin, self.bare) {
            let (line, column) = origin.line_column();
            let number = line.to_string();
            let pad = " ".repeat(gutter);
            let row = origin.source.text.lines().nth(line - 1).unwrap_or("");
            let marked = floor_char(&origin.source.text, origin.span.start)
                ..floor_char(&origin.source.text, origin.span.end.max(origin.span.start));
            let first = origin.source.text[marked]
                .lines()
                .next()
                .unwrap_or("")
                .chars()
                .count();
            let (row, column) = around(row, column);
            let room = row.chars().count().saturating_sub(column - 1).max(1);
            let carets = "^".repeat(first.clamp(1, room));
            let bar = paint("34", "|");
            let _ = writeln!(out, "{} {bar} {row}", paint("34", &number));
            let marks = paint(
                "31",
                format!("{carets} {}", ends_of(&self.label)).trim_end(),
            );
            let _ = writeln!(out, "{pad} {bar} {}{marks}", " ".repeat(column - 1));
        } else if !self.label.is_empty() {
            let _ = writeln!(out, "  {}", ends_of(&self.label));
        }
        if let Some(help) = &self.help {
            let (pad, help) = (" ".repeat(gutter), ends_of(help));
            let _ = writeln!(out, "{pad}{} {help}", paint("36", "help:"));
        }
        out
    }
}

/// Lines that are named of those with one mistake. [ours]
const LINES_MAX: usize = 8;
/// Errors that are told: who makes more will mend these first. [ours]
const ERRORS_MAX: usize = 100;

/// Characters of a line that are shown: a file may have everything on one. [ours]
const SHOWN_MAX: usize = 160;
/// Of these, so many before the place that is meant. [ours]
const SHOWN_BEFORE: usize = 60;

/// The part of a line around `column`, and where the column is in it; both from 1.
fn around(row: &str, column: usize) -> (String, usize) {
    // What is not seen takes a place, so that marks stand below what they mean.
    let seen = |c: char| {
        if is_unseen(c) && c != '\t' {
            '\u{fffd}'
        } else {
            c
        }
    };
    let skipped = match row.char_indices().nth(SHOWN_MAX) {
        None => return (row.chars().map(seen).collect(), column),
        Some(_) => (column - 1).saturating_sub(SHOWN_BEFORE),
    };
    let mut rest = row.chars().map(seen).skip(skipped);
    let mut shown: String = rest.by_ref().take(SHOWN_MAX).collect();
    if rest.next().is_some() {
        shown.push_str(" ...");
    }
    if skipped > 0 {
        return (format!("... {shown}"), column - skipped + 4);
    }
    (shown, column)
}

/// Characters of a sentence that are shown: it may quote a value without an end. [ours]
const SAID_MAX: usize = 1_000;
/// Of these, so many at its beginning. [ours]
const SAID_FIRST: usize = 600;

/// A sentence as it is printed: without its middle where it is too long, and with the numbers of what is not seen.
pub fn ends_of(said: &str) -> Cow<'_, str> {
    let unseen = |c: char| is_unseen(c) && !['\n', '\t'].contains(&c);
    if said.contains(unseen) {
        let shown = |c: char| match c {
            c if unseen(c) => format!("\\u{:04x}", u32::from(c)),
            c => c.to_string(),
        };
        let said: String = said.chars().map(shown).collect();
        return Cow::Owned(without_middle(&said).into_owned());
    }
    without_middle(said)
}

fn without_middle(said: &str) -> Cow<'_, str> {
    let at = |n: usize| said.char_indices().nth(n).map(|(byte, _)| byte);
    let (Some(first), Some(_)) = (at(SAID_FIRST), at(SAID_MAX)) else {
        return Cow::Borrowed(said);
    };
    let last = said.char_indices().rev().nth(SAID_MAX - SAID_FIRST - 1);
    let last = last.map_or(said.len(), |(byte, _)| byte);
    Cow::Owned(format!("{} ... {}", &said[..first], &said[last..]))
}

/// Everything found wrong, in the order found. Never empty.
#[derive(Clone, Debug)]
pub struct Errors(pub Vec<Diagnostic>);

impl Errors {
    /// All diagnostics as text; those in a row that say the same of one file are told once, with their lines.
    pub fn render(&self, color: bool) -> String {
        let mut out = Vec::new();
        let mut all = self.0.chunk_by(Diagnostic::repeats);
        for same in all.by_ref().take(ERRORS_MAX) {
            let mut text = same[0].render(color);
            let origins = same[1..].iter().filter_map(|d| d.origin.as_ref());
            let more = origins.clone().count().saturating_sub(LINES_MAX);
            // To find a line takes as long as all lines before it.
            let lines = origins.take(LINES_MAX).map(|at| at.line_column().0);
            let lines: Vec<String> = lines.map(|line| line.to_string()).collect();
            if !lines.is_empty() {
                let more = if more > 0 {
                    format!(" and {more} more")
                } else {
                    String::new()
                };
                let _ = writeln!(text, " the same in line {}{more}", lines.join(", "));
            }
            out.push(text);
        }
        let more: usize = all.map(<[Diagnostic]>::len).sum();
        if more > 0 {
            out.push(format!(
                "{} errors, and {more} of them are not told\n",
                self.0.len()
            ));
        } else if self.0.len() > 1 {
            out.push(format!("{} errors\n", self.0.len()));
        }
        out.join("\n")
    }
}

impl std::fmt::Display for Errors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render(false))
    }
}
impl std::error::Error for Errors {}

impl From<Diagnostic> for Errors {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

/// The known word nearest to `word`, if it is near enough to be meant.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = word.to_ascii_lowercase().replace('-', "_");
    known
        .into_iter()
        .map(|k| (edits(&folded, &k.to_ascii_lowercase().replace('-', "_")), k))
        .filter(|&(d, k)| d <= (word.len().max(k.len()) / 3).max(1))
        .min_by_key(|&(d, _)| d)
        .map(|(_, k)| k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnostic_names_file_line_column_and_the_way_out() {
        let text = "[topology]\nhost_rate = \"100GBps\"\n".to_owned();
        let start = text.find("\"100").unwrap();
        let source = Arc::new(SourceText {
            name: "my.toml".into(),
            text,
        });
        let d = Diagnostic::at(
            &Origin {
                source,
                span: start..start + 9,
            },
            "not a rate",
        )
        .label("is in bytes")
        .help("write \"100Gbps\"");
        let expected = "error: not a rate\n --> my.toml:2:13\n2 | host_rate = \"100GBps\"\n  |             ^^^^^^^^^ is in bytes\n help: write \"100Gbps\"\n";
        assert_eq!(d.render(false), expected);
        assert!(d.render(true).contains("\x1b[1;31merror"));
    }

    #[test]
    fn of_very_many_mistakes_the_first_are_told_and_all_counted() {
        let wrong = |number: usize| Diagnostic::new(format!("mistake {number}"));
        let told = |errors| Errors((0..errors).map(wrong).collect()).render(false);
        assert!(
            told(ERRORS_MAX).contains("mistake 99") && told(ERRORS_MAX).ends_with("100 errors\n")
        );
        let more = told(ERRORS_MAX + 3);
        assert!(!more.contains("mistake 100"), "{more}");
        assert!(
            more.ends_with("103 errors, and 3 of them are not told\n"),
            "{more}"
        );
    }

    #[test]
    fn one_mistake_in_many_lines_is_told_once() {
        let text = "a\nb\nc\n".to_owned();
        let name = "my.toml".into();
        let source = Arc::new(SourceText { name, text });
        let at = |start: usize| {
            let source = source.clone();
            let span = start..start + 1;
            Diagnostic::at(&Origin { source, span }, "this is not TOML").help("write key = value")
        };
        let told = Errors(vec![at(0), at(2), at(4), Diagnostic::new("and this")]).render(false);
        assert_eq!(told.matches("this is not TOML").count(), 1, "{told}");
        assert!(
            told.contains(" help: write key = value\n the same in line 2, 3\n"),
            "{told}"
        );
        assert!(told.ends_with("error: and this\n\n4 errors\n"), "{told}");
    }

    #[test]
    fn of_a_line_without_end_the_part_around_the_place_is_shown() {
        let text = format!(
            "{}x = \"{}\"",
            "a = 1 ".repeat(100_000),
            "ü".repeat(100_000)
        );
        let start = text.find('x').unwrap();
        let source = Arc::new(SourceText {
            name: "my.toml".into(),
            text,
        });
        let render = |span: Range<usize>| {
            let source = Arc::clone(&source);
            Diagnostic::at(&Origin { source, span }, "wrong").render(false)
        };
        let said = render(start..start + 200_000);
        assert!(said.len() < 1_000, "{} B", said.len());
        let lines: Vec<Vec<char>> = said.lines().map(|line| line.chars().collect()).collect();
        let mark = lines[3].iter().position(|&c| c == '^').unwrap();
        assert_eq!(lines[2][mark], 'x', "{said}");
        assert!(
            said.contains("my.toml:1:600001") && said.contains("| ... "),
            "{said}"
        );
        assert!(render(0..1).contains("1 | a = 1 a = 1"));
    }

    #[test]
    fn a_sentence_that_quotes_a_value_without_end_is_said_without_its_middle() {
        let value = "ü".repeat(3_000_000);
        let d = Diagnostic::new(format!("\"{value}\" is not a host"))
            .label(format!("{value} is no number"))
            .help(format!("write another one than {value}, like \"h0\""));
        let said = d.render(false);
        assert!(said.chars().count() < 4_000, "{} B", said.len());
        for end in [
            "error: \"ü",
            "ü\" is not a host",
            "is no number",
            "like \"h0\"",
        ] {
            assert!(said.contains(end), "{end}");
        }
        let whole = "a".repeat(SAID_MAX);
        assert!(Diagnostic::new(&whole).render(false).contains(&whole));
        let longer = Diagnostic::new(format!("{whole}b")).render(false);
        assert!(
            longer.contains("a ... a") && longer.ends_with("ab\n"),
            "{longer}"
        );
    }

    #[test]
    fn what_is_not_seen_is_printed_by_its_number() {
        let text = "kind = \"a\u{202e}b\u{1b}[31m\"\n".to_owned();
        let source = Arc::new(SourceText {
            name: "\u{202e}lmot".into(),
            text,
        });
        let origin = Origin {
            source,
            span: 7..15,
        };
        let said = Diagnostic::at(&origin, "\"a\u{202e}b\" is odd").render(false);
        assert!(!said.chars().any(|c| is_unseen(c) && c != '\n'), "{said:?}");
        assert!(
            said.contains("\"a\\u202eb\" is odd") && said.contains("--> \\u202elmot:1:8"),
            "{said}"
        );
        assert!(
            said.contains("1 | kind = \"a\u{fffd}b\u{fffd}[31m\""),
            "{said}"
        );
    }

    #[test]
    fn of_a_file_in_which_nothing_was_right_no_line_is_shown() {
        let render = |text: &str, at: &str| {
            let start = text.find(at).unwrap();
            let source = Arc::new(SourceText {
                name: "f".into(),
                text: text.into(),
            });
            let span = start..start + 1;
            let wrong = Diagnostic::at(&Origin { source, span }, "wrong").bare_at_first();
            wrong.label("why").render(false)
        };
        let hidden = render("# of\n\nroot:x:0\n", "root");
        assert!(
            !hidden.contains("root") && hidden.contains("f:3:1") && hidden.contains("why"),
            "{hidden}"
        );
        // What stands before it in the same line may be right, and nothing else is said of it.
        let one = render("{\"nodes\": [{\"id\": 0}, {\"kind\": 1}]}", "{\"kind");
        assert!(
            one.contains("no line before it tells") && !one.contains("nodes"),
            "{one}"
        );
        assert!(render("2 1\nroot:x:0\n", "root").contains("2 | root:x:0"));
    }

    #[test]
    fn a_slip_of_the_finger_finds_its_word() {
        let known = ["host_rate", "hosts", "load", "fanout"];
        assert_eq!(nearest("hots_rate", known), Some("host_rate"));
        assert_eq!(nearest("host-rate", known), Some("host_rate"));
        assert_eq!(nearest("laod", known), Some("load"));
        assert_eq!(nearest("banana", known), None);
    }
}
