//! A scenario that is resolved is read again, whatever values stand beside each other.

use scenario::{Assembled, Scenario, load_text};

const MIXED: &str = "[topology]\nkind = \"star\"\nhosts = 5\n\
                     [[workload]]\nkind = \"incast\"\nsenders = 4\nsize = \"300B\"\n\
                     [[workload]]\nkind = \"permutation\"\nsize = \"2MB\"\n\
                     [output]\nevery = \"0s\"\n";

/// What a parameter may be: some of these are a value of each kind.
const VALUES: [&str; 13] = [
    "auto",
    "1 BDP",
    "1",
    "2",
    "7",
    "0.25",
    "true",
    "false",
    "1us",
    "20ms",
    "2KB",
    "300KB",
    "[200B, 2KB, 3KB]",
];

fn assembled(text: &str, sets: &[String]) -> Option<Assembled> {
    load_text("t.toml", text, sets)
        .and_then(Scenario::assemble)
        .ok()
}

/// Every parameter that follows from network and messages, beside every other at its default and elsewhere.
#[test]
fn whatever_follows_reads_back_beside_whatever_is_written() {
    let mut pairs = 0;
    for transport in transports::registry().iter() {
        let kind = format!("transport.kind={}", transport.name());
        let name = match transport.name() {
            name if name.contains('+') => format!("\"{name}\""),
            name => name.to_owned(),
        };
        let set = |key: &str, value: &str| format!("transport.{name}.{key}={value}");
        let Some(usual) = assembled(MIXED, std::slice::from_ref(&kind)) else {
            panic!("{name} does not run");
        };
        let keys: Vec<String> = usual.scenario.factory.resolved().keys().cloned().collect();
        let derived = keys
            .iter()
            .flat_map(|key| [set(key, "auto"), set(key, "1 BDP")]);
        let derived =
            derived.filter(|set| assembled(MIXED, &[kind.clone(), set.clone()]).is_some());
        let derived: Vec<String> = std::iter::once(kind.clone()).chain(derived).collect();
        for derived in derived {
            for other in &keys {
                for value in VALUES {
                    let sets = [kind.clone(), derived.clone(), set(other, value)];
                    let Some(first) = assembled(MIXED, &sets) else {
                        continue;
                    };
                    let text = first.scenario.resolved_toml();
                    let again = load_text("t.toml", &text, &[]).and_then(Scenario::assemble);
                    let again = again.unwrap_or_else(|e| panic!("{sets:?}: {e}\n{text}"));
                    assert_eq!(again.scenario.resolved_toml(), text, "{sets:?}");
                    assert_eq!(again.warnings, first.warnings, "{sets:?}");
                    pairs += 1;
                }
            }
        }
    }
    assert!(pairs > 1_000, "{pairs}");
}
