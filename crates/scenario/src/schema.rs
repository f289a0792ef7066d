//! The reference in three forms: a JSON schema for editors, Markdown for people, `explain` for one
//! key. All are read off the same tables as the parser.
//!
//! Parameters come from the transports and flow controls of the registry, columns from `results::tables`, and what a
//! word may be from `choice.rs`; nothing is listed here a second time.

mod values;

use crate::diagnostic::nearest;
use crate::fields::{self, Absent, Field, TableDef};
use crate::value::Type;
use model::wire::declared::Layout;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use transports::{Parameter, Registry, Transport};
use values::{SIZES, TIMES, parameter_schema, quantity, takes_schema};

/// The JSON schema of a scenario file, draft 2020-12, for completion and checks in editors.
pub fn json_schema(transports: &Registry) -> Json {
    let mut properties = Map::new();
    for field in root().fields {
        properties.insert(field.key.to_owned(), field_schema(field, transports));
    }
    for table in fields::TABLES
        .iter()
        .filter(|t| !t.name.is_empty() && !t.name.contains('.'))
    {
        let mut schema = table_schema(table, transports);
        if table.repeated {
            // One table or several: what is said of tables holds for one, and for each of a list. A
            // choice between the two would hide which key is wrong.
            let one = schema.clone();
            schema["type"] = json!(["object", "array"]);
            schema["items"] = one;
            schema["minItems"] = json!(1);
        }
        properties.insert(table.name.to_owned(), schema);
    }
    properties.insert("include".to_owned(), include_schema());
    let tables = fields::TABLES.iter();
    let tables = tables.filter(|t| !t.name.is_empty() && !t.name.contains('.'));
    let needs = tables.map(|table| (table.name.to_owned(), needs(table)));
    let needs: Map<String, Json> = needs.collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "tidegate scenario",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        // What is missing may stand in the other file, in any of its tables.
        "if": { "required": ["include"] },
        "else": { "required": ["workload"], "properties": needs },
    })
}

/// The keys that a table must have, where it takes none over from another file.
fn needs(table: &TableDef) -> Json {
    let required = |of: &dyn Fn(&Field) -> bool| {
        let needed = table.fields.iter();
        let needed = needed.filter(|field| field.absent == Absent::Required && of(field));
        needed.map(|field| field.key).collect::<Vec<_>>()
    };
    let always = required(&|field| field.kinds.is_empty());
    let of_kind = |kind| required(&|field| !field.kinds.is_empty() && field.applies(kind));
    let by_kind: Vec<Json> = kinds(table)
        .into_iter()
        .map(|kind| {
            json!({
                "if": { "properties": { "kind": { "const": kind } }, "required": ["kind"] },
                "then": { "required": of_kind(kind) },
            })
        })
        .collect();
    let mut of_own = json!({ "required": always });
    if !by_kind.is_empty() {
        of_own["allOf"] = Json::Array(by_kind);
    }
    let one = json!({ "if": { "required": ["include"] }, "else": of_own });
    if table.repeated {
        return json!({ "if": { "type": "array" }, "then": { "items": one }, "else": one });
    }
    let prefix = format!("{}.", table.name);
    let inner = fields::TABLES.iter().filter_map(|sub| {
        let name = sub.name.strip_prefix(&prefix)?;
        Some((name.to_owned(), needs(sub)))
    });
    let inner: Map<String, Json> = inner.collect();
    match inner.is_empty() {
        true => one,
        false => json!({ "allOf": [one, { "properties": inner }] }),
    }
}

fn root() -> &'static TableDef {
    fields::table("").expect("the top of the file is a table")
}

fn include_schema() -> Json {
    json!({ "type": "string", "description": "A file whose keys this table takes over." })
}

fn table_schema(table: &TableDef, transports: &Registry) -> Json {
    let mut properties = Map::new();
    for field in table.fields {
        properties.insert(field.key.to_owned(), field_schema(field, transports));
    }
    let prefix = format!("{}.", table.name);
    for sub in fields::TABLES
        .iter()
        .filter(|t| t.name.starts_with(&prefix))
    {
        properties.insert(
            sub.name[prefix.len()..].to_owned(),
            table_schema(sub, transports),
        );
    }
    if table.name == "transport" {
        for transport in transports.iter() {
            let of = (transport.summary(), transport.parameters());
            properties.insert(transport.name().to_owned(), parameters_schema(of));
        }
    }
    if table.name == "switch" {
        for control in transports.controls() {
            let of = (control.summary(), control.parameters());
            properties.insert(control.name().to_owned(), parameters_schema(of));
        }
    }
    properties.insert("include".to_owned(), include_schema());
    let thresholds = table.name == "thresholds";
    if thresholds {
        properties.extend(conditions(&results::metrics()));
        // Names of tags and of counters are the user's and the transports': they are checked when the scenario is read.
        properties.extend(
            ["tags", "counters"].map(|name| (name.to_owned(), json!({ "type": "object" }))),
        );
    }
    let mut by_kind = by_kind(table, &properties);
    if table.name == "transport" {
        by_kind.extend(transports.iter().filter_map(profiles));
    }
    let mut schema = json!({
        "type": "object",
        "description": table.meaning,
        "additionalProperties": false,
        "properties": properties,
    });
    if thresholds {
        schema["patternProperties"] = json!({ "^(tags|counters)[.]": condition() });
    }
    if !by_kind.is_empty() {
        schema["allOf"] = Json::Array(by_kind);
    }
    schema
}

/// What a metric must be.
fn condition() -> Json {
    json!({ "type": "string", "description": "One or several, separated by commas, that must all hold: \"< 2ms\"." })
}

/// Metrics as keys, whole and as tables in each other: `"fct.p99" = ...` is `fct.p99 = ...`.
fn conditions(names: &[String]) -> Map<String, Json> {
    let mut inner: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut found = Map::new();
    for name in names {
        found.insert(name.clone(), condition());
        if let Some((table, rest)) = name.split_once('.') {
            inner.entry(table).or_default().push(rest.to_owned());
        }
    }
    for (table, names) in inner {
        let of = json!({ "type": "object", "additionalProperties": false, "properties": conditions(&names) });
        let both = found.remove(table).map(|one| json!({ "anyOf": [one, of] }));
        found.insert(table.to_owned(), both.unwrap_or(of));
    }
    found
}

/// Where `[transport]` names this one: what its profile may be.
fn profiles(transport: &dyn Transport) -> Option<Json> {
    let parameters = transport.parameters();
    let profile = parameters.iter().find(|p| p.key == "profile")?;
    Some(json!({
        "if": { "properties": { "kind": { "const": transport.name() } }, "required": ["kind"] },
        "then": { "properties": { "profile": takes_schema(&profile.takes) } },
    }))
}

/// What `kind` may be in a table.
fn kinds(table: &TableDef) -> Vec<&'static str> {
    let kind = table.fields.iter().find(|field| field.key == "kind");
    match kind.map(|field| field.takes) {
        Some(Type::Word(kinds)) => kinds(),
        _ => Vec::new(),
    }
}

/// For every kind the names of the keys that it has. A wrong key is then told by its name, beside the right ones.
fn by_kind(table: &TableDef, properties: &Map<String, Json>) -> Vec<Json> {
    let of = |kind: &'static str| {
        let applies = |key: &str| {
            let mut same = table
                .fields
                .iter()
                .filter(|field| field.key == key)
                .peekable();
            same.peek().is_none() || same.any(|field| field.applies(kind))
        };
        let names: Vec<&String> = properties.keys().filter(|key| applies(key)).collect();
        json!({
            "if": { "properties": { "kind": { "const": kind } }, "required": ["kind"] },
            "then": { "propertyNames": { "enum": names } },
        })
    };
    kinds(table).into_iter().map(of).collect()
}

fn parameters_schema((summary, parameters): (&str, Vec<Parameter>)) -> Json {
    let mut properties: Map<_, _> = parameters
        .into_iter()
        .map(|p| (p.key.to_owned(), parameter_schema(&p)))
        .collect();
    properties.insert("include".to_owned(), include_schema());
    json!({
        "type": "object",
        "description": summary,
        "additionalProperties": false,
        "properties": properties,
    })
}

fn field_schema(field: &Field, transports: &Registry) -> Json {
    let Json::Object(mut schema) = type_schema(&field.takes, transports) else {
        unreachable!("a type is an object")
    };
    schema.insert("description".to_owned(), json!(field.meaning));
    if let Absent::Is(text) = field.absent {
        // What is no JSON is a TOML spelling of the same scalar.
        let value = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
        schema.insert("default".to_owned(), value);
    }
    Json::Object(schema)
}

const RATES: &str = "bps|[Kk]bps|Mbps|Gbps|Tbps";
fn type_schema(takes: &Type, transports: &Registry) -> Json {
    let like = |units: &str, example: &str| {
        let mut schema = quantity(units);
        schema["examples"] = json!([example]);
        schema
    };
    match takes {
        Type::Rate => like(RATES, "100Gbps"),
        Type::Span => like(TIMES, "1.5us"),
        Type::Bytes => like(SIZES, "64KB"),
        Type::Room => like(
            &format!("({SIZES})(\\s*/\\s*[0-9][0-9_]*(\\.[0-9_]+)?\\s*({RATES}))?"),
            "100KB/10Gbps",
        ),
        Type::Count(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        Type::Number(low, high) => json!({ "type": "number", "minimum": low, "maximum": high }),
        Type::Flag => json!({ "type": "boolean" }),
        Type::Text => json!({ "type": "string" }),
        Type::Word(words) => json!({ "enum": words() }),
        Type::Transport => json!({ "enum": transports.names() }),
        Type::Control => json!({ "enum": transports.control_names() }),
        Type::List(of) => {
            let one = type_schema(of, transports);
            json!({ "if": { "type": "array" }, "then": { "items": one }, "else": one })
        }
    }
}

/// The reference of all keys, as Markdown.
pub fn markdown(transports: &Registry) -> String {
    let mut out = String::from(
        "# Scenario reference\n\nGenerated by `tidegate schema --markdown`. A quantity is a string \
         with its unit; a bare number is refused.\nEvery table may `include = \"file.toml\"`: what \
         the table says itself wins.\n",
    );
    for table in fields::TABLES {
        let _ = match (table.name, table.repeated) {
            ("", _) => writeln!(out, "\n## Top of the file\n"),
            (name, true) => writeln!(out, "\n## `[[{name}]]`\n"),
            (name, false) => writeln!(out, "\n## `[{name}]`\n"),
        };
        let _ = writeln!(out, "{}\n", table.meaning);
        if table.name == "thresholds" {
            let _ = writeln!(out, "Metrics: {}.", code_list(results::metrics()));
            let named = code_list(results::NAMED_METRICS.map(str::to_owned).to_vec());
            let _ = writeln!(
                out,
                "\nOf the messages with one of several tags, and of what transports count: {named}; for p99 any \
                 statistic may stand."
            );
        } else {
            let _ = writeln!(
                out,
                "| key | of kind | takes | default | meaning |\n| --- | --- | --- | --- | --- |"
            );
            for field in table.fields {
                let _ = writeln!(out, "{}", row(field, transports));
            }
        }
    }
    for transport in transports.iter() {
        let name = format!("transport.{}", toml_key(transport.name()));
        parameters_table(&mut out, &name, transport.summary(), transport.parameters());
        let counters = transport.counters().iter();
        let list: Vec<String> = counters
            .map(|own| format!("`counters.{}` ({})", own.name, own.unit))
            .collect();
        if !list.is_empty() {
            let _ = writeln!(out, "\nIt counts {}.", list.join(", "));
        }
    }
    for control in transports.controls() {
        let name = format!("switch.{}", toml_key(control.name()));
        parameters_table(&mut out, &name, control.summary(), control.parameters());
    }
    out.push_str("\n## Tables of a run\n\nEach as `.csv`, `.parquet` and in Python.\n");
    for table in results::tables::dictionary(transports.iter().flat_map(Transport::counters)) {
        let _ = writeln!(
            out,
            "\n### `{}`\n\n{}\n\n| column | meaning |\n| --- | --- |",
            table.name, table.about
        );
        for column in table.columns {
            let _ = writeln!(out, "| `{}` | {} |", column.name, cell(&column.meaning));
        }
    }
    out
}

/// What the files of a run hold, as Markdown.
pub fn data(transports: &Registry) -> String {
    results::dictionary::markdown(transports.iter().flat_map(Transport::counters))
}

/// What a column of a run's tables says; `None` where there is no such column.
fn explain_column(table: &str, column: &str, transports: &Registry) -> Option<String> {
    let own = transports.iter().flat_map(Transport::counters);
    let tables = results::tables::dictionary(own).into_iter();
    let table = tables.into_iter().find(|of| of.name == table)?;
    let of = table.columns.iter().find(|of| of.name == column)?;
    Some(format!(
        "{}.{}\n\n  {}\n  {}\n",
        table.name, of.name, of.meaning, table.about
    ))
}

/// The table of the reference for the parameters in `[name]`.
fn parameters_table(out: &mut String, name: &str, summary: &str, parameters: Vec<Parameter>) {
    let _ = write!(
        out,
        "\n## `[{name}]`\n\n{summary}\n\n| key | default | meaning | source |\n| --- | --- | --- | --- |\n"
    );
    for p in parameters {
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} |",
            p.key,
            code(&p.default),
            cell(&p.meaning),
            cell(p.source)
        );
    }
}

/// A name as a TOML key.
pub(crate) fn toml_key(name: &str) -> String {
    let bare = name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if bare {
        name.to_owned()
    } else {
        format!("\"{name}\"")
    }
}

/// Where a parameter of a transport is set, as `--set` and files take it.
pub(crate) fn parameter(transport: &str, key: &str) -> String {
    format!("transport.{}.{key}", toml_key(transport))
}

fn code_list(words: Vec<String>) -> String {
    words
        .into_iter()
        .map(|w| format!("`{w}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn code(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("`{text}`")
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn row(field: &Field, transports: &Registry) -> String {
    let mut meaning = field.meaning.to_owned();
    for more in [field.effect, field.source] {
        if !more.is_empty() {
            let _ = write!(meaning, " {more}");
        }
    }
    format!(
        "| `{}` | {} | {} | {} | {} |",
        field.key,
        field.kinds.join(", "),
        cell(&takes(field, transports)),
        absent(field, true),
        cell(&meaning)
    )
}

fn absent(field: &Field, markdown: bool) -> String {
    let quote = |text: &str| {
        if markdown {
            code(text)
        } else {
            text.to_owned()
        }
    };
    match field.absent {
        Absent::Required => "required".to_owned(),
        Absent::Is(text) => quote(text),
        Absent::Like(other) => format!("as {}", quote(other)),
        Absent::Unset(what) => what.to_owned(),
    }
}

/// What a key or a table means: default, source, effect.
///
/// # Errors
/// The name is not known; the text says what was perhaps meant.
pub fn explain(name: &str, transports: &Registry) -> Result<String, String> {
    let parts: Vec<&str> = name.split('.').collect();
    if let [table, column] = parts[..]
        && let Some(text) = explain_column(table, column, transports)
    {
        return Ok(text);
    }
    if let Some(["transport", rest @ ..]) = parts.get(..).filter(|p| p.len() > 1) {
        let rest = rest.join(".").replace('"', "");
        if let Some(text) = explain_transport(&rest, transports) {
            return Ok(text);
        }
    }
    if let Some(["switch", rest @ ..]) = parts.get(..).filter(|p| p.len() > 1) {
        let rest = rest.join(".").replace('"', "");
        if let Some(text) = explain_control(&rest, transports) {
            return Ok(text);
        }
    }
    if let Some(table) = fields::TABLES.iter().find(|t| t.name == name) {
        return Ok(explain_table(table));
    }
    let (table, key) = name.rsplit_once('.').unwrap_or(("", name));
    let meanings: Vec<String> = fields::table(table)
        .into_iter()
        .flat_map(|t| t.fields)
        .filter(|f| f.key == key)
        .map(|f| explain_field(name, f, transports))
        .collect();
    if !meanings.is_empty() {
        return Ok(meanings.concat());
    }
    let known = known_names(transports);
    let near = nearest(name, known.iter().map(String::as_str)).or_else(|| {
        known
            .iter()
            .map(String::as_str)
            .find(|k| k.rsplit('.').next() == Some(key))
    });
    Err(match near {
        Some(near) => format!("there is no key {name}; did you mean {near}?"),
        None => format!(
            "there is no key {name}; tables are {}",
            fields::TABLES
                .iter()
                .map(|t| t.name)
                .filter(|n| !n.is_empty())
                .collect::<Vec<_>>()
                .join(", ")
        ),
    })
}

/// Every name that [`explain`] knows.
pub fn known_names(transports: &Registry) -> Vec<String> {
    let mut names = Vec::new();
    for table in fields::TABLES {
        let dot = if table.name.is_empty() {
            String::new()
        } else {
            format!("{}.", table.name)
        };
        names.extend((!table.name.is_empty()).then(|| table.name.to_owned()));
        names.extend(table.fields.iter().map(|f| format!("{dot}{}", f.key)));
    }
    for transport in transports.iter() {
        let name = format!("transport.{}", transport.name());
        names.extend(
            transport
                .parameters()
                .iter()
                .map(|p| format!("{name}.{}", p.key)),
        );
        names.push(name);
    }
    for control in transports.controls() {
        let name = format!("switch.{}", control.name());
        let parameters = control.parameters();
        names.extend(parameters.iter().map(|p| format!("{name}.{}", p.key)));
        names.push(name);
    }
    names
}

/// What a field takes, in words.
fn takes(field: &Field, transports: &Registry) -> String {
    match field.takes {
        Type::Transport => {
            let quoted = transports.iter().map(|t| format!("\"{}\"", t.name()));
            quoted.collect::<Vec<_>>().join(", ")
        }
        Type::Control => {
            let names = transports.control_names().into_iter();
            let quoted = names.map(|name| format!("\"{name}\""));
            quoted.collect::<Vec<_>>().join(", ")
        }
        other => other.describe(),
    }
}

fn explain_field(name: &str, field: &Field, transports: &Registry) -> String {
    let mut out = format!("{name}\n  {}\n", field.meaning);
    let mut line = |what: &str, text: &str| {
        if !text.is_empty() {
            let _ = writeln!(out, "  {what:<9}{text}");
        }
    };
    line("takes", &takes(field, transports));
    line("default", &absent(field, false));
    line("kinds", &field.kinds.join(", "));
    line("effect", field.effect);
    line("source", field.source);
    out
}

fn explain_table(table: &TableDef) -> String {
    let mut out = format!("[{}]\n  {}\n", table.name, table.meaning);
    if table.name == "thresholds" {
        let _ = writeln!(out, "  metrics  {}", results::metrics().join(", "));
        let _ = writeln!(
            out,
            "  of a tag, or a counter  {}",
            results::NAMED_METRICS.join(", ")
        );
    }
    let width = table.fields.iter().map(|f| f.key.len()).max().unwrap_or(0);
    for field in table.fields {
        let _ = writeln!(
            out,
            "  {:<width$}  {} ({})",
            field.key,
            field.meaning,
            absent(field, false)
        );
    }
    out
}

fn explain_transport(rest: &str, transports: &Registry) -> Option<String> {
    let is = |name: &str| follows(rest, name);
    let transport = transports.iter().find(|t| is(t.name()))?;
    let about = (transport.summary(), transport.parameters());
    let mut out = explain_parameters("transport", transport.name(), about, rest)?;
    if rest == transport.name()
        && let Some(layout) = transport.codec().layout()
    {
        out.push_str(&packets(layout));
    }
    Some(out)
}

fn explain_control(rest: &str, transports: &Registry) -> Option<String> {
    let is = |name: &str| follows(rest, name);
    let control = transports.controls().find(|c| is(c.name()))?;
    let about = (control.summary(), control.parameters());
    explain_parameters("switch", control.name(), about, rest)
}

/// Whether `path` is `name`, or a key in it.
fn follows(path: &str, name: &str) -> bool {
    path.strip_prefix(name)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// What `[table.name]` means, or the parameter of it that `path` names; `None` where there is none of that name.
fn explain_parameters(
    table: &str,
    name: &str,
    (summary, parameters): (&str, Vec<Parameter>),
    path: &str,
) -> Option<String> {
    let key = path[name.len()..].trim_start_matches('.');
    if key.is_empty() {
        let mut out = format!("[{table}.{}]\n  {summary}\n", toml_key(name));
        let width = parameters.iter().map(|p| p.key.len()).max().unwrap_or(0);
        let mut line = |key: &str, meaning: &str, default: &str, source: &str| {
            let _ = writeln!(out, "  {key:<width$}  {meaning} ({default}; {source})");
        };
        line("key", "meaning", "default", "its source, in short");
        for p in &parameters {
            line(p.key, &p.meaning, &p.default, shortly(p.source));
        }
        return Some(out);
    }
    let p = parameters.iter().find(|p| p.key == key)?;
    Some(format!(
        "{table}.{path}\n  {}\n  {:<9}{}\n  {:<9}{}\n  {:<9}{}\n",
        p.meaning, "takes", p.takes, "default", p.default, "source", p.source
    ))
}

/// Where a default is from, without what is said of it there, and without other sources.
fn shortly(source: &str) -> &str {
    let end = source.find([':', ';']).unwrap_or(source.len());
    source[..end].split(". ").next().unwrap_or(source)
}

/// What a transport's packets carry: bits 0 to 95 are the head, 96 to 99 the flags of the kind.
fn packets(layout: &Layout) -> String {
    let mut out = String::from("packets\n");
    for kind in layout.kinds {
        let _ = writeln!(out, "  {}  {}", kind.name, kind.meaning.trim_start());
        let names = kind.fields.iter().map(|field| field.name.len());
        let width = names.max().unwrap_or(0);
        for field in kind.fields {
            let (from, to) = field.at;
            let _ = writeln!(
                out,
                "    {:<width$}  {from:>2}..{to:<3}  {}",
                field.name, field.meaning
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Panics where the schema has a list that the standard wants non-empty, or an address of ours.
    fn check_schema(schema: &Json, at: &str) {
        match schema {
            Json::Object(map) => {
                for (key, value) in map {
                    let at = format!("{at}/{key}");
                    assert_ne!(key, "$id", "no address is registered");
                    if ["allOf", "anyOf", "oneOf", "enum"].contains(&key.as_str()) {
                        let list = value.as_array();
                        assert!(list.is_none_or(|list| !list.is_empty()), "{at} is empty");
                    }
                    check_schema(value, &at);
                }
            }
            Json::Array(list) => list.iter().for_each(|value| check_schema(value, at)),
            _ => {}
        }
    }

    #[test]
    fn the_schema_has_no_empty_choice_and_tells_tables_by_their_kind() {
        let schema = json_schema(&transports::registry());
        check_schema(&schema, "");
        let workload = &schema["properties"]["workload"];
        let random = workload["allOf"]
            .as_array()
            .unwrap()
            .iter()
            .find(|of| of["if"]["properties"]["kind"]["const"] == "random")
            .unwrap();
        let names = random["then"]["propertyNames"]["enum"].as_array().unwrap();
        assert!(names.contains(&json!("load")) && names.contains(&json!("include")));
        assert!(!names.contains(&json!("pairs")), "that is of long flows");
        assert_eq!(workload["items"]["properties"], workload["properties"]);
    }

    #[test]
    fn every_known_name_can_be_explained() {
        let all = transports::registry();
        for name in known_names(&all) {
            let text = explain(&name, &all).unwrap_or_else(|e| panic!("{e}"));
            assert!(text.lines().count() >= 2, "{text}");
        }
    }

    #[test]
    fn a_list_of_parameters_has_default_and_source_of_each() {
        let all = transports::registry();
        let list = explain("transport.ndp", &all).unwrap();
        for line in [
            "[transport.ndp]\n",
            "\n  key                meaning (default; its source, in short)\n",
            " full frames that wait in a port (8; [ndp s3.1, s6])\n",
        ] {
            assert!(list.contains(line), "{list}");
        }
        for transport in all.iter() {
            for own in transport.parameters() {
                let source = shortly(own.source);
                assert!(!source.is_empty() && source.len() <= 60, "{own:?}");
                assert_eq!(source.matches('[').count(), source.matches(']').count());
            }
        }
        assert_eq!(shortly("ours: twice low; [htsim]: none"), "ours");
        assert_eq!(shortly("[a s4.1]; 4 in [b]"), "[a s4.1]");
        assert_eq!(shortly("[a s4.1] says so. Not b"), "[a s4.1] says so");
    }

    #[test]
    fn a_name_that_is_almost_right_is_put_right() {
        assert_eq!(
            explain("workload.laod", &transports::registry()).unwrap_err(),
            "there is no key workload.laod; did you mean workload.load?"
        );
        assert!(
            explain("host_rate", &transports::registry())
                .unwrap_err()
                .contains("topology.host_rate")
        );
    }

    #[test]
    fn the_reference_names_every_key() {
        let text = markdown(&transports::registry());
        for table in fields::TABLES {
            for field in table.fields {
                assert!(
                    text.contains(&format!("| `{}` |", field.key)),
                    "{}",
                    field.key
                );
            }
        }
    }

    #[test]
    fn the_schema_knows_every_key_and_keeps_kinds_apart() {
        let schema = json_schema(&transports::registry());
        let topology = &schema["properties"]["topology"];
        assert_eq!(topology["properties"]["host_rate"]["type"], "string");
        let star = topology["allOf"]
            .as_array()
            .unwrap()
            .iter()
            .find(|rule| rule["if"]["properties"]["kind"]["const"] == "star");
        let names = star.unwrap()["then"]["propertyNames"]["enum"].as_array();
        assert!(!names.unwrap().contains(&json!("leaves")));
        assert_eq!(
            schema["properties"]["switch"]["properties"]["mark"]["type"],
            "object"
        );
    }
}
