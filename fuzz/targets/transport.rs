//! Feeds the transport that this target is named after with any bytes: see `testkit::feed`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

static FACTORY: OnceLock<Box<dyn transports::Factory>> = OnceLock::new();

fuzz_target!(|bytes: &[u8]| {
    let factory = FACTORY.get_or_init(|| {
        // A target's name cannot hold the "+" of a composed transport.
        let transport = transports::registry()
            .iter()
            .find(|transport| transport.name().replace('+', "-") == env!("CARGO_BIN_NAME"))
            .expect("a target per transport");
        transport.configure(&toml::Table::new()).expect("defaults are valid")
    });
    testkit::feed(&|config| factory.make(config), factory.codec(), bytes);
});
