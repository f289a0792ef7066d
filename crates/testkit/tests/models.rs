//! The stories of the suite that a model of one message per connection can tell.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../../scenario/tests/models/mod.rs"]
mod models;

use testkit::conformance::Subject;
use transports::Transport;

fn subjects() -> Vec<Subject> {
    [&models::arbiter::ARBITER, &models::hpcc::HPCC]
        .map(|model| {
            let factory = model.configure(&toml::Table::new()).unwrap();
            Subject::new(model.name(), factory.codec(), move |config| {
                factory.make(config)
            })
        })
        .into()
}

testkit::conformance! { subjects();
    messages_of_every_size_arrive,
    many_send_to_one,
    a_spurious_deadline_changes_nothing,
    the_same_seed_gives_the_same_run,
    a_pause_of_nothing_changes_nothing,
}
