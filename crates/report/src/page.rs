//! The page that every report is made of: one file, with its style and script inside.

use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Value, context};
use serde::Serialize;
use std::borrow::Cow;

const TEMPLATE: &str = include_str!("../assets/page.html");
const STYLE: &str = include_str!("../assets/page.css");
const SCRIPT: &str = include_str!("../assets/page.js");
/// Shows where a table goes on beyond its edge. It comes before every other script.
pub const EDGES_SCRIPT: &str = include_str!("../assets/edges.js");
/// Its style.
pub const EDGES_STYLE: &str = include_str!("../assets/edges.css");
/// Reads values off a plot: `readable`, `stepped` and `mapped`.
pub const PLOT_SCRIPT: &str = include_str!("../assets/plot.js");
/// Its style.
pub const PLOT_STYLE: &str = include_str!("../assets/plot.css");
/// Draws a fabric that moves: class `Fabric`.
pub const FABRIC_SCRIPT: &str = include_str!("../assets/fabric.js");
/// Its style.
pub const FABRIC_STYLE: &str = include_str!("../assets/fabric.css");
/// Draws the fabric of a report.
const FABRIC_START: &str = "\nconst $ = (id) => document.getElementById(id), make = element;
{
  const {network, motion, messages, watched} = JSON.parse($(\"moving\").textContent), fabric = new Fabric();
  fabric.show(network);
  fabric.run(motion, messages, watched);
}
";

/// Tables with more rows show the first ones until somebody asks for all: `FEW` of the script, twice.
pub const FOLDED_FROM: usize = 24;

#[derive(Serialize)]
pub(crate) struct Page {
    pub(crate) title: String,
    pub(crate) scenario: String,
    pub(crate) subtitle: String,
    pub(crate) chips: Vec<Chip>,
    pub(crate) headline: String,
    pub(crate) lede: String,
    /// What the first screen leads to.
    pub(crate) more: Option<More>,
    pub(crate) tiles: Vec<Tile>,
    pub(crate) checks: Vec<Check>,
    pub(crate) warnings: Vec<String>,
    pub(crate) sections: Vec<Section>,
    pub(crate) about: About,
    pub(crate) footer: String,
    /// What the drawing of the network shows, as JSON, where there is one.
    #[serde(skip)]
    pub(crate) moving: Option<String>,
}

/// A sentence that is a link within the page.
#[derive(Serialize)]
pub(crate) struct More {
    pub(crate) href: String,
    pub(crate) text: String,
}

#[derive(Serialize)]
pub(crate) struct Chip {
    pub(crate) text: String,
    /// `good`, `bad`, `warn` or nothing: its colour.
    pub(crate) kind: &'static str,
}

#[derive(Serialize)]
pub(crate) struct Tile {
    pub(crate) name: Cow<'static, str>,
    pub(crate) value: String,
    pub(crate) note: String,
}

impl Tile {
    pub(crate) fn new(name: impl Into<Cow<'static, str>>, value: String, note: String) -> Self {
        let name = name.into();
        Self { name, value, note }
    }
}

/// One threshold and whether it was met.
#[derive(Serialize)]
pub(crate) struct Check {
    pub(crate) passed: bool,
    pub(crate) what: String,
    pub(crate) measured: String,
}

/// A chart with its words and its numbers.
#[derive(Serialize)]
pub(crate) struct Section {
    pub(crate) id: Cow<'static, str>,
    pub(crate) title: Cow<'static, str>,
    /// What it says, in words.
    pub(crate) says: String,
    pub(crate) body: Value,
    /// Points drawn, for the tests; 0 where there is no chart.
    pub(crate) points: usize,
    pub(crate) table: Option<Table>,
    /// Where given, the table is folded behind this.
    pub(crate) fold: &'static str,
    pub(crate) wide: bool,
}

#[derive(Default, Serialize)]
pub(crate) struct Table {
    pub(crate) head: Vec<String>,
    /// Columns that hold text, besides the first.
    pub(crate) text: Vec<&'static str>,
    /// Those of them that may wrap.
    pub(crate) long: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<Value>>,
}

impl Table {
    pub(crate) fn new(head: &[&str]) -> Self {
        Self {
            head: head.iter().map(|&name| name.to_owned()).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn push(&mut self, row: Vec<Value>) {
        assert_eq!(row.len(), self.head.len(), "a cell under every title");
        self.rows.push(row);
    }
}

/// What was run, and how to run it again.
#[derive(Serialize)]
pub(crate) struct About {
    pub(crate) title: &'static str,
    pub(crate) facts: Vec<(String, String)>,
    pub(crate) blocks: Vec<Block>,
}

#[derive(Serialize)]
pub(crate) struct Block {
    pub(crate) name: &'static str,
    pub(crate) text: String,
    pub(crate) fold: bool,
}

/// Markup made by [`crate::chart`], which escapes what it is given.
pub(crate) fn markup(html: String) -> Value {
    Value::from_safe_string(html)
}

/// A cell of plain text.
pub(crate) fn text(text: impl Into<String>) -> Value {
    Value::from(text.into())
}

impl Page {
    /// The whole file. `data` is shown to machines: JSON in a script element.
    pub(crate) fn render(&self, data: &str) -> String {
        self.render_with(data, [text(&self.headline), text(&self.lede)])
    }

    /// The same with another headline and the sentence below it, which may be markup.
    pub(crate) fn render_with(&self, data: &str, [headline, lede]: [Value; 2]) -> String {
        let mut env = Environment::new();
        env.set_auto_escape_callback(|_| AutoEscape::Html);
        // Inside a script nothing is markup but the end of the script.
        let inside = |data: &str| markup(data.replace('<', "\\u003c"));
        let (mut css, mut js) = (
            [STYLE, EDGES_STYLE, PLOT_STYLE].concat(),
            [EDGES_SCRIPT, PLOT_SCRIPT, SCRIPT].concat(),
        );
        if self.moving.is_some() {
            css.push_str(FABRIC_STYLE);
            js.push_str(FABRIC_SCRIPT);
            js.push_str(FABRIC_START);
        }
        let rest = context! {
            css => markup(css),
            js => markup(js),
            data => inside(data),
            moving => self.moving.as_deref().map(inside),
        };
        let words = context! { headline, lede };
        env.render_str(
            TEMPLATE,
            context! { ..words, ..Value::from(Serde(self)), ..rest },
        )
        .expect("the template is part of the program and fills from these fields")
    }
}
