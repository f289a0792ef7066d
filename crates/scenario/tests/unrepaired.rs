//! Transports that send nothing again that was lost, and ports that may drop it: what is said before the run.

mod common;

use common::assembled;
use results::Status;
use scenario::{Alone, Assembled};

/// The warning of an incast of 64 under Homa's published simulator, with these settings on top.
fn warned(sets: &[&str]) -> (Option<String>, Assembled) {
    let homa = [
        "transport.kind=homa",
        "transport.homa.profile=sigcomm18",
        "output.every=0s",
    ];
    let run = assembled("incast", &[&homa, sets].concat());
    let mut said = run.warnings.iter();
    let said = said.find(|said| said.contains("sends nothing again"));
    (said.cloned(), run)
}

#[test]
fn ports_that_may_drop_what_nobody_sends_again_are_warned_of() {
    let (said, run) = warned(&["switch.buffer=20KB"]);
    assert_eq!(
        said.expect("a warning"),
        "homa sends nothing again that was lost, and up to 4.25 MB may wait at tor0 -> h0, which holds 20 KB: a message of which \
         a packet is dropped never ends; set transport.homa.recovery = true, or switch.buffer = \"4249KB\" or more"
    );
    let record = run.run(1, "", &mut Alone).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(record.status, Status::Stuck);
}

#[test]
fn who_does_what_it_says_is_not_warned_any_more_and_loses_no_message() {
    for sets in [
        &["switch.buffer=4249KB"][..],
        &["switch.buffer=20KB", "transport.homa.recovery=true"],
        &["switch.buffer=20KB", "transport.homa.profile=linux"],
        // Nothing is dropped here, or nobody meets anybody.
        &["switch.flow_control=pfc"],
        &["switch.buffer=20KB", "workload.senders=1"],
        &["switch.buffer=20KB", "transport.kind=homa+aeolus"],
    ] {
        let (said, run) = warned(sets);
        assert_eq!(said, None, "{sets:?}");
        let record = run.run(1, "", &mut Alone).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(record.status, Status::Complete, "{sets:?}");
    }
}

#[test]
fn memory_that_ports_share_may_be_too_little_as_well() {
    let (said, _) = warned(&["switch.shared_buffer=1MB"]);
    let said = said.expect("a warning");
    assert!(said.contains("which holds 500 KB"), "{said}");
    assert!(
        said.ends_with("set transport.homa.recovery = true"),
        "{said}"
    );
    assert_eq!(warned(&["switch.shared_buffer=50MB"]).0, None);
}
