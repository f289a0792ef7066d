//! Feeds a driver with any bytes as datagrams and calls: see `drive::feed`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

static FACTORY: OnceLock<Box<dyn transports::Factory>> = OnceLock::new();

fuzz_target!(|bytes: &[u8]| {
    let factory = FACTORY.get_or_init(|| {
        let registry = transports::registry();
        let transport = registry.find("dctcp").expect("it is registered");
        transport.configure(&toml::Table::new()).expect("defaults are valid")
    });
    drive::feed("dctcp", &**factory, bytes);
});
