//! The conformance suite over the hosts of this crate, with the rules of `examples/fixed-window`.

#[allow(unreachable_pub, reason = "elsewhere it is a crate of its own")]
#[path = "../../../examples/fixed-window/src/fixed_window/mod.rs"]
mod fixed_window;

use parts::Transport;
use testkit::conformance::Subject;

fn subject() -> Subject {
    let transport = &fixed_window::TRANSPORT;
    let factory = transport.configure(&toml::Table::new()).expect("defaults");
    Subject::new(transport.name(), transport.codec(), move |config| {
        factory.make(config)
    })
}
testkit::conformance!(vec![subject()]);
