//! What every transport of the registry must do. A new transport is tested by being registered.

mod common;

use common::FORMS;
use proptest::prelude::*;
use testkit::conformance::{Subject, chosen};
use transports::Transport;

testkit::conformance!(subjects());

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

/// A copy of data said that its message ends earlier, where all of that was granted: Homa kept its rank. Found by
/// `no_bytes_break_an_endpoint`.
#[test]
fn a_copy_that_moves_the_end_takes_a_message_out_of_its_rank() {
    let bytes = [
        18, 0, 96, 0, 6, 7, 0, 181, 47, 79, 5, 0, 0, 64, 0, 13, 50, 0, 0, 0, 0, 203, 143, 87, 0, 1,
        0, 0, 0, 0, 192, 0, 0, 210, 0, 210, 0, 96, 0, 0, 151, 0, 19, 0, 0, 0, 0, 0, 0, 0, 0, 171,
        58, 0, 182, 0, 0, 0, 0, 171, 28, 97, 0, 0, 0, 0, 0, 0, 0, 0, 18, 50, 217, 217, 252, 68,
        213, 122, 55, 3, 77, 194, 157, 178, 65, 31, 241, 209, 211, 22, 169, 3, 25, 189, 241, 181,
        158, 45, 234, 129, 58, 51, 167, 137, 207, 216, 196, 71, 23, 70, 252, 114, 244, 215, 247,
        99, 166, 203, 136, 111, 191, 77, 241, 251, 77, 199, 43, 165, 6, 196, 137, 45, 159, 216,
        134, 125, 133, 237, 62, 211, 226, 19, 237, 211, 150, 146, 22, 83, 87, 98, 241, 214, 142,
        176, 216, 143, 253, 224, 71, 249, 82, 250, 98, 23, 164, 77, 79, 188, 142, 162, 60, 199,
        126, 248, 183, 54, 220, 102, 133, 56, 10, 140, 193, 89, 188, 165, 140, 198, 193, 171, 136,
        249, 142, 223, 22, 67, 176, 206, 224, 101, 135, 207, 151, 198, 137, 154, 108, 92, 50, 182,
        148, 90, 5, 94, 138, 31, 98, 80, 210, 206, 107, 98, 20, 95, 175, 75, 251, 197, 182, 128,
        187, 8,
    ];
    for subject in chosen(subjects()) {
        subject.feed(&bytes);
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
