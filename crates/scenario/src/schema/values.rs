//! What values are written like: those of parameters, and quantities with their units.

use serde_json::{Value as Json, json};
use transports::Parameter;
use transports::parts::forms::{Takes, Written};

pub(super) const TIMES: &str = "ps|ns|us|µs|ms|s";
pub(super) const SIZES: &str = "B|[Kk]B|MB|GB|TB|KiB|MiB|GiB";

/// A number with one of these units.
pub(super) fn quantity(units: &str) -> Json {
    let pattern = format!("^\\s*[0-9][0-9_]*(\\.[0-9_]+)?\\s*({units})\\s*$");
    json!({ "type": "string", "pattern": pattern })
}

pub(super) fn parameter_schema(parameter: &Parameter) -> Json {
    let mut schema = takes_schema(&parameter.takes);
    let Parameter {
        meaning,
        takes,
        source,
        ..
    } = parameter;
    schema["description"] = json!(format!("{meaning}. Takes {takes}. Source: {source}"));
    schema["default"] = default_of(parameter);
    schema
}

/// Its default as JSON has it.
fn default_of(parameter: &Parameter) -> Json {
    let text = format!("of = {}", parameter.default);
    let table: toml::Table = text.parse().expect("defaults are written as in TOML");
    serde_json::to_value(&table["of"]).expect("every value of TOML is one of JSON")
}

/// What a parameter takes; what a text may say is checked when the scenario is read.
pub(super) fn takes_schema(takes: &Takes) -> Json {
    match takes {
        Takes::Flag => json!({ "type": "boolean" }),
        Takes::Count(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        Takes::Number(low, high) => json!({
            "type": ["number", "string"],
            "minimum": low,
            "maximum": high,
            "pattern": "^ *[0-9]+ */ *[0-9]+ *$",
        }),
        Takes::Time(..) => quantity(TIMES),
        Takes::Size(..) => quantity(SIZES),
        Takes::Words(words) => json!({ "enum": words }),
        Takes::Numbers(numbers) => json!({ "enum": numbers }),
        Takes::Sizes(most) => list(&quantity(SIZES), 0, *most),
        Takes::Or(word, form) => json!({ "anyOf": [{ "const": word }, takes_schema(form)] }),
        Takes::Other(_, ways) => {
            let ways: Vec<Json> = ways.iter().map(written_schema).collect();
            match ways.as_slice() {
                [] => json!({}),
                [way] => way.clone(),
                ways => json!({ "anyOf": ways }),
            }
        }
    }
}

/// A list of such values, from so many to so many.
fn list(of: &Json, least: usize, most: usize) -> Json {
    json!({ "type": "array", "items": of, "minItems": least, "maxItems": most })
}

fn written_schema(written: &Written) -> Json {
    match written {
        Written::Word(word) => json!({ "const": word }),
        Written::Time => quantity(TIMES),
        Written::Size => quantity(SIZES),
        Written::Counted(what) => {
            json!({ "type": "string", "pattern": format!("^[0-9]+{what}$") })
        }
        Written::List(of, least, most) => list(&written_schema(of), *least, *most),
        Written::Table(key, of) => json!({
            "type": "object",
            "properties": { *key: written_schema(of) },
            "required": [key],
            "additionalProperties": false,
        }),
    }
}
