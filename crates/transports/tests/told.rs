//! What configured transports tell the rest of the program before a run.

#![allow(
    clippy::unwrap_used,
    reason = "this is test code, which clippy cannot see here"
)]

use model::{Encap, EndpointConfig, Facts, HostId, Net};
use parts::{Crowd, Factory, ParamError};
use units::{Bytes, Rate, Span};

fn configured(name: &str, table: &str) -> Box<dyn Factory> {
    let registry = transports::registry();
    let table = toml::from_str(table).unwrap();
    registry.find(name).unwrap().configure(&table).unwrap()
}

fn config() -> EndpointConfig {
    let mut config = EndpointConfig::new(HostId(0), Rate::gbps(100), Encap::PAPER);
    (config.base_rtt, config.control_rtt) = (Span::us(5), Span::us(4));
    (config.port_buffer, config.hops_max) = (Bytes(1_000_000), 4);
    config
}

/// Four hosts behind one switch.
struct Star;

impl Net for Star {
    fn hosts(&self) -> u32 {
        4
    }
    fn rate(&self, _: HostId) -> Rate {
        Rate::gbps(100)
    }
    fn rack(&self, _: HostId) -> u32 {
        0
    }
    fn ways(&self, a: HostId, b: HostId) -> u16 {
        u16::from(a != b)
    }
    fn base_rtt(&self, a: HostId, b: HostId) -> Option<Span> {
        (a != b).then_some(Span::us(5))
    }
}

#[test]
fn keys_that_others_leave_without_effect_are_told() {
    let told = |name: &str, table: &str, key: &str| {
        let unread = configured(name, table).unread();
        unread.iter().any(|(_, keys)| keys.contains(&key))
    };
    assert!(told("ndp", "ways = \"random\"", "scoreboard"));
    assert!(!told("ndp", "", "scoreboard"));
    // A naive flow that starts at all of the rate is what alpha says, too.
    let naive = "controller = \"naive\"";
    assert!(told(
        "expresspass",
        &format!("{naive}\nalpha = 0.5"),
        "alpha"
    ));
    assert!(!told(
        "expresspass",
        &format!("{naive}\nalpha = 1.0"),
        "alpha"
    ));
    assert!(!told("expresspass", "alpha = 0.5", "alpha"));
}

#[test]
fn homa_gives_a_silent_peer_up_where_it_recovers() {
    let patience = |table: &str| configured("homa", table).patience();
    assert_eq!(
        patience("recovery = true\ntimeout = \"70ms\"\nlinger = \"1s\""),
        Some(("timeout", Span::ms(70)))
    );
    assert_eq!(patience("recovery = false"), None);
}

#[test]
fn credits_that_a_line_of_a_host_holds_back_may_leave_with_the_bucket() {
    let held = |table: &str| configured("expresspass", table).pacing().unwrap().held;
    assert_eq!((held("nic_jitter = 0.5"), held("nic_jitter = 0.0")), (1, 0));
}

#[test]
fn what_a_receiver_of_homa_grants_must_have_room_where_ports_drop_the_rest_first() {
    let protects =
        |name: &str, table: &str| configured(name, table).protects(&config(), Crowd::default());
    assert_eq!(protects("homa", ""), None, "nothing is dropped first");
    let few = protects("homa+aeolus", "max_incoming = \"100KB\"").unwrap();
    let many = protects("homa+aeolus", "max_incoming = \"300KB\"").unwrap();
    assert!(few.bytes > Bytes(100_000) && many.bytes > Bytes(few.bytes.0 + 200_000));
    assert_eq!(
        few.instead,
        "set transport.\"homa+aeolus\".max_incoming to less"
    );
}

#[test]
fn the_preferred_host_of_ndp_is_one_of_the_network() {
    let settled = |prefer: u32| {
        let factory = configured("ndp", &format!("prefer = {prefer}"));
        let mut facts = Facts::of(Encap::PAPER);
        facts.net = Some(&Star);
        factory.settle(&facts).map(|_| ())
    };
    assert_eq!(settled(3), Ok(()));
    let error = ParamError {
        key: "prefer".to_owned(),
        message: "there are hosts 0 to 3; write one of them, or \"none\"".to_owned(),
    };
    assert_eq!(settled(4), Err(error));
}

#[test]
fn a_timeout_as_long_as_full_ports_of_ndp_ask_for_suffices() {
    let impatience = |timeout: Span| {
        let table = format!(
            "timeout = \"{}ps\"\nqueue = 1000\nlinger = \"10s\"",
            timeout.0
        );
        configured("ndp", &table).impatience(&config())
    };
    let found = impatience(Span::us(100)).expect("ports hold more than that");
    assert_eq!(found.wait, Span::us(100));
    assert_eq!(impatience(found.least), None);
    assert!(impatience(Span(found.least.0 - 1)).is_some());
}
