//! Profiles, wrong values and the forms of a host's delay.

use super::super::EXPRESSPASS;
use super::*;
use parts::Described;
use toml::Table;

fn read(text: &str) -> Result<Params, String> {
    let table: Table = text.parse().unwrap();
    EXPRESSPASS.read(&table).map_err(|error| error.to_string())
}

#[test]
fn every_profile_comes_back_from_its_own_table() {
    for &(name, params) in PROFILES {
        let table = params().resolved();
        assert_eq!(table["profile"].as_str(), Some(name));
        assert!(!table.contains_key("burst"), "nothing bursts");
        assert_eq!(EXPRESSPASS.read(&table), Ok(params()));
        // And through text, as a resolved scenario is written.
        let again: Table = toml::to_string(&table).unwrap().parse().unwrap();
        assert_eq!(again, table);
    }
}

#[test]
fn profiles_differ_where_the_sources_do() {
    let differences = |name| {
        let theirs = read(&format!("profile = \"{name}\"")).unwrap();
        let (ours, theirs) = (Params::default().resolved(), theirs.resolved());
        let changed = theirs.iter().filter(|(key, value)| ours[*key] != **value);
        let changed = changed.filter(|(key, _)| *key != "profile");
        let list: Vec<_> = changed
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        list.join(" ")
    };
    assert_eq!(
        differences("ns2xpass"),
        "count=\"bytes\" early_stop_counts=\"window\" keep_tally=true nic_jitter=0.0 request_retry=\"100us\" retry_doublings=0 \
         tell_heard=false"
    );
    assert_eq!(differences("b"), "early_stop=false start_rule=false");
    assert_eq!(
        differences("paper2017"),
        "alpha=0.0625 controller=\"published\" early_stop=false start_rule=false"
    );
}

#[test]
fn a_wrong_value_is_refused_with_the_fix() {
    for (text, error) in [
        (
            "w_ini = 0.1",
            "w_ini: no such parameter; did you mean \"w_init\"?",
        ),
        (
            "profile = \"ns2\"",
            "profile: no such profile; known are default, ns2xpass, b, paper2017",
        ),
        (
            "profile = \"ns2xpas\"",
            "profile: no such profile; did you mean \"ns2xpass\"?",
        ),
        (
            "alpha = 2.0",
            "alpha: 2.0 is no number from 0.000001 to 1; write it like 0.000001 or \"1/16\"",
        ),
        (
            "request_retry = 100",
            "request_retry: 100 is no time; write it with its unit in quotes, like \"1ns\"",
        ),
        (
            "controller = \"naiv\"",
            "controller: \"naiv\" is not known; did you mean \"naive\"?",
        ),
        (
            "credit_size_max = \"91B\"",
            "credit_size_max: \"76B\" to \"91B\" has no whole mean, which every port needs; write \"92B\"",
        ),
        (
            "credit_size_min = \"94B\"",
            "credit_size_min: \"94B\" is above credit_size_max = \"92B\"; swap them",
        ),
        (
            "w_min = 0.2",
            "w_init: 0.0625 is not between w_min = 0.2 and w_max = 0.5",
        ),
        ("bucket = 0", "bucket: 0 is no whole number from 1 to 1024"),
        ("early_stop = 1", "early_stop: 1 is neither true nor false"),
    ] {
        assert_eq!(read(text).unwrap_err(), error);
    }
    // A line that others share gives credits their part of it.
    let config = EndpointConfig::new(model::HostId(0), units::Rate::gbps(10), Encap::PAPER);
    let share = |line_share| {
        let config = config.clone().with(|told| told.line_share = line_share);
        EXPRESSPASS
            .read(&Table::new())
            .unwrap()
            .credit_spec_at(&config)
            .share
    };
    assert_eq!(share(10_000) - share(2_500), 7_500);
    // Credits of one size have a mean.
    let one = read("credit_size_min = \"84B\"\ncredit_size_max = \"84B\"").unwrap();
    assert_eq!(one.credit_size_mean(), 84);
    assert!(
        read("host_delay = { uniform = [\"2us\", \"1us\"] }")
            .unwrap_err()
            .contains("ascending")
    );
    assert!(read("host_delay = 3").unwrap_err().contains("quantiles"));
}

#[test]
fn host_delays_have_three_forms() {
    let delay = |text| read(text).unwrap().host_delay;
    assert_eq!(
        delay("host_delay = \"1us\""),
        HostDelay::Constant(Span::us(1))
    );
    let uniform = HostDelay::Uniform(Span::ns(900), Span::ns(6200));
    assert_eq!(
        delay("host_delay = { uniform = [\"0.9us\", \"6.2us\"] }"),
        uniform
    );
    let list = vec![Span::us(1), Span::us(2), Span::us(4)];
    assert_eq!(
        delay("host_delay = { quantiles = [\"1us\", \"2us\", \"4us\"] }"),
        HostDelay::Quantiles(list)
    );
}
