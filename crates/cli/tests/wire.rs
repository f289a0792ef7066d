//! `tidegate wire bench` as a user calls it: two more processes, real sockets.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::process::{Command, Output};

fn bench(args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command
        .args(["wire", "bench"])
        .args(args.split_whitespace())
        .output()
        .unwrap()
}

fn document(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn every_transport_carries_equal_bytes_between_two_processes() {
    for transport in transports::registry().iter() {
        let name = transport.name();
        if drive::bench::transport(&transports::registry(), name, &[]).is_err() {
            continue; // for the simulator alone
        }
        for faults in ["", "--loss 1% --duplicate 1% --reorder 1%"] {
            let output = bench(&format!("--transport {name} --bytes 4MB {faults} --json"));
            let said = document(&output);
            assert_eq!(output.status.code(), Some(0), "{said:#}");
            let (sender, receiver) = (&said["outcome"]["sender"], &said["outcome"]["receiver"]);
            assert_eq!(sender["messages"].as_array().unwrap().len(), 16);
            assert_eq!(sender["messages"], receiver["messages"]);
            assert_eq!(receiver["messages"][3]["length"], 250_000);
            let lost = receiver["driver"]["faults"]["lost"].as_u64().unwrap();
            assert_eq!(lost > 0, !faults.is_empty(), "{name}: {lost} lost");
        }
    }
}

#[test]
fn a_message_longer_than_the_memory_arrives_through_losses() {
    let registry = transports::registry();
    for name in registry.iter().map(transports::Transport::name) {
        if drive::bench::transport(&registry, name, &[]).is_err() {
            continue; // for the simulator alone
        }
        let args = format!("--transport {name} --bytes 25MB --messages 1 --loss 0.1% --json");
        let said = document(&bench(&args));
        let (sender, receiver) = (&said["outcome"]["sender"], &said["outcome"]["receiver"]);
        assert_eq!(sender["messages"], receiver["messages"], "{name}: {said:#}");
        assert_eq!(receiver["messages"][0]["length"], 25_000_000, "{name}");
    }
}

#[test]
fn the_table_says_what_was_compared() {
    let output = bench("--transport dctcp --bytes 100KB --messages 3 --loss 0.5% --seed 9");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    let first = " wire bench  dctcp, 100 KB in 3 messages at 1 Gb/s over UDP on loopback, \
                 0.5% loss   seed 9";
    assert_eq!(text.lines().next(), Some(first));
    for row in [
        " sender ",
        " receiver ",
        " ok   SHA-256 equal",
        " ok   memory at most 64 MiB",
    ] {
        assert!(
            text.lines().any(|line| line.starts_with(row)),
            "{row}: {text}"
        );
    }
}

#[test]
fn a_transfer_out_of_time_says_what_is_stuck_and_fails() {
    let output = bench("--bytes 100MB --time-limit 20ms");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert!(
        errors.contains("sender: connection") && errors.contains("waits for"),
        "{errors}"
    );
}

#[test]
fn too_little_memory_is_a_threshold() {
    let output = bench("--bytes 10KB --memory-limit 1KB --json");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[test]
fn what_cannot_run_is_refused_with_the_fix() {
    for (args, fix) in [
        ("--transport expresspas", "known are expresspass"),
        ("--transport expresspass+gaps", "for the simulator"),
        ("--messages 0", "give 1 to 1024"),
        ("--loss 1", "write it like 1%"),
        ("--bytes 1000", "needs a unit"),
        ("--set nonsense=1", "nonsense"),
        ("--rate 0bps", "rate"),
        (
            "--transport homa --trim 1%",
            "--trim 1% would trim nothing: homa takes no data without its payload",
        ),
        ("--trim 0.5%", "choose a transport that takes it: ndp\n"),
        (
            "--transport ndp --trim 1% --set ports=drop-tail --set allow_unsupported=true",
            "would trim nothing: ndp",
        ),
    ] {
        let output = bench(args);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args}: {errors}");
        assert!(errors.contains(fix), "{args}: {errors}");
    }
}

#[test]
fn data_is_trimmed_for_a_transport_that_takes_what_is_left() {
    let output = bench("--transport ndp --bytes 4MB --trim 5% --json");
    let said = document(&output);
    assert_eq!(output.status.code(), Some(0), "{said:#}");
    let trimmed = &said["outcome"]["receiver"]["driver"]["faults"]["trimmed"];
    assert!(trimmed.as_u64().unwrap() > 50, "{said:#}");
}
