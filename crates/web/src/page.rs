//! Pages with the engine inside: the playground, and a report that can be run again. They need no server and ask for
//! nothing.

use scenario::Files;
use serde_json::{Value, json};
use std::borrow::Cow;

/// The engine as WebAssembly, packed by gzip. `./tg web` makes it.
pub const PRODUCT: &[u8] = include_bytes!("../product/engine.wasm.gz");
/// What it was made of: its version, a hash of the sources, its bytes, as JSON.
pub const MADE_OF: &str = include_str!("../product/engine.json");

const PAGE: &str = include_str!("../assets/playground.html");
const STYLE: &str = include_str!("../assets/playground.css");
const WORKER: &str = include_str!("../assets/worker.js");
/// The script of the page, in the order in which it runs.
const SCRIPTS: [&str; 6] = [
    report::EDGES_SCRIPT,
    include_str!("../assets/engine.js"),
    include_str!("../assets/editor.js"),
    report::FABRIC_SCRIPT,
    report::PLOT_SCRIPT,
    include_str!("../assets/playground.js"),
];

/// A run whose report can be run again.
#[derive(Clone, Copy, Debug)]
pub struct Live<'a> {
    /// A built-in scenario, or the path of the file that `text` is from.
    pub name: &'a str,
    /// The scenario's own text, where it is not built in.
    pub text: Option<&'a str>,
    /// Settings on top, `key=value`.
    pub sets: &'a [String],
    /// The files that it names: [`scenario::Scenario::files`].
    pub files: &'a Files,
    /// What came of the run: [`crate::told`].
    pub told: &'a Value,
}

/// The playground, whole.
pub fn playground() -> String {
    page(
        "tidegate playground",
        "<h1>tidegate <span>playground</span></h1>\n<p>The whole simulator runs in this page. What it finds is what \
         the command finds: the same sixteen digits.</p>",
        "null",
    )
}

/// The report of a run that whoever receives it can run again with other values.
pub fn live(run: &Live<'_>) -> String {
    let title = run.told["title"].as_str().unwrap_or_default();
    let title = escaped(title);
    let given = json!({
        "name": run.name,
        "text": run.text,
        "sets": run.sets,
        "files": run.files,
        "told": run.told,
        "sources": crate::SOURCES,
        "version": env!("CARGO_PKG_VERSION"),
    });
    // Inside a script nothing is markup but the end of the script.
    let given = given.to_string().replace('<', "\\u003c");
    let heading = format!(
        "<h1>{} <span>a report to run again</span></h1>\n<p>What came of a run, and the simulator that ran it: <a href=\"#controls\">change a \
         value</a>, and this page runs it again, without a server.</p>",
        escaped(run.name)
    );
    page(&format!("{title} - tidegate"), &heading, &given)
}

/// Why the engine in this program may find something else than the program itself; `None` where both are of the same
/// sources.
pub fn stale() -> Option<String> {
    let made: Value = serde_json::from_str(MADE_OF).unwrap_or_default();
    let engine = made["sources"].as_str().unwrap_or("unknown");
    if PRODUCT.is_empty() {
        return Some("this program was built without an engine for pages".to_owned());
    }
    (engine != crate::SOURCES).then(|| {
        format!(
            "the engine for pages is of other sources ({engine}) than this program ({}), and may find another \
             fingerprint",
            crate::SOURCES
        )
    })
}

fn escaped(text: &str) -> Cow<'_, str> {
    results::escape(text).into()
}

/// Fills the gaps. Only texts without a gap's mark of their own stand in [`PAGE`]; what fills them is not looked at
/// again.
fn page(title: &str, heading: &str, given: &str) -> String {
    let mut page = String::with_capacity(PAGE.len() + PRODUCT.len() * 3 / 2 + given.len());
    for part in PAGE.split("{{") {
        let Some((name, rest)) = part.split_once("}}") else {
            page.push_str(part);
            continue;
        };
        match name {
            "title" => page.push_str(title),
            "heading" => page.push_str(heading),
            "given" => page.push_str(given),
            "style" => [
                STYLE,
                report::EDGES_STYLE,
                report::FABRIC_STYLE,
                report::PLOT_STYLE,
            ]
            .iter()
            .for_each(|style| page.push_str(style)),
            "worker" => page.push_str(WORKER),
            "script" => SCRIPTS.iter().for_each(|script| page.push_str(script)),
            "engine" => base64(&mut page, PRODUCT),
            other => unreachable!("the page has a gap {other:?}"),
        }
        page.push_str(rest);
    }
    page
}

/// [RFC 4648, section 4]
fn base64(out: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for three in bytes.chunks(3) {
        let byte = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let digit = word >> (18 - 6 * i) & 63;
            out.push(if i <= three.len() {
                char::from(DIGITS[digit as usize])
            } else {
                '='
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_text_as_the_standard_says() {
        let text = |bytes: &[u8]| {
            let mut out = String::new();
            base64(&mut out, bytes);
            out
        };
        // [RFC 4648, section 10]
        let known = [
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
        ];
        for (plain, encoded) in known {
            assert_eq!(text(plain.as_bytes()), encoded);
        }
        assert_eq!(text(&[0xfb, 0xff, 0xfe]), "+//+");
    }
}
