//! What every transport of the registry must do. A new transport is tested by being registered.

use proptest::prelude::*;
use testkit::conformance::{Subject, chosen};
use transports::Transport;

testkit::conformance!(subjects());

/// Forms besides the defaults: a transport and what its table in a scenario says.
const FORMS: [(&str, &str); 14] = [
    ("expresspass", "profile = \"ns2xpass\""),
    ("expresspass", "profile = \"b\""),
    ("expresspass", "profile = \"paper2017\""),
    ("dctcp", "profile = \"dctcp2010\""),
    ("dctcp", "profile = \"ns3\""),
    ("dctcp", "sack = false"),
    (
        "homa",
        "profile = \"sigcomm18\"\nrecovery = true\nlinger = \"25s\"",
    ),
    ("homa", "priorities = 1"),
    ("ndp", "window = 8"),
    ("ndp", "profile = \"htsim\"\nprefer = 0"),
    ("ndp+aeolus", "window = 8\ndrop_by = \"ecn\""),
    ("phost", "profile = \"artefact\""),
    ("phost", "free = 0\ntoken_life = 4"),
    (
        "phost",
        "sender = \"turns\"\nreceiver = \"turns\"\nhold = false\nlevels = false",
    ),
];

fn subject(transport: &dyn Transport, table: &str) -> Subject {
    let parsed: toml::Table = table.parse().expect("a form is TOML");
    let factory = match transport.configure(&parsed) {
        Ok(factory) => factory,
        Err(error) => panic!("{} {table}: {error}", transport.name()),
    };
    let name = format!("{} {table}", transport.name());
    Subject::new(name.trim_end(), factory.codec(), move |config| {
        factory.make(config)
    })
}

/// Every transport of the registry, by default and in its other named forms.
fn subjects() -> Vec<Subject> {
    let all = transports::registry();
    let defaults = all.iter().map(|transport| (transport, ""));
    let forms = FORMS.map(|(name, table)| (all.find(name).expect("it exists"), table));
    let both = defaults.chain(forms);
    both.map(|(transport, table)| subject(transport, table))
        .collect()
}

#[test]
fn parameters_explain_themselves() {
    for transport in transports::registry().iter() {
        parts::keys::examine(transport);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// The scripts of the suite, with proptest's shrinking to find the shortest.
    #[test]
    fn no_bytes_break_an_endpoint(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for subject in chosen(subjects()) {
            subject.feed(&bytes);
        }
    }
}

#[test]
fn every_transport_has_a_fuzz_target() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/Cargo.toml");
    let manifest: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
    let targets: Vec<_> = manifest["bin"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bin| bin["name"].as_str().unwrap())
        .collect();
    let mut names: Vec<_> = transports::registry()
        .iter()
        .map(|transport| transport.name().replace('+', "-"))
        .collect();
    names.push("wire".to_owned());
    assert_eq!(targets, names);
}
