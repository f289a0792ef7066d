//! Every transport of the registry, by default and in its other named forms.

use model::wire::Codec;
use model::{Endpoint, EndpointConfig};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use testkit::{Make, Pair};

/// Forms besides the defaults: a transport and what its table in a scenario says.
const FORMS: [(&str, &str); 6] = [
    ("expresspass", "profile = \"ns2xpass\""),
    ("expresspass", "profile = \"b\""),
    ("expresspass", "profile = \"paper2017\""),
    ("dctcp", "profile = \"dctcp2010\""),
    ("dctcp", "profile = \"ns3\""),
    ("dctcp", "sack = false"),
];

/// A transport, configured.
pub(crate) struct Subject {
    pub(crate) name: String,
    factory: Box<dyn transports::Factory>,
}

impl Subject {
    fn new(transport: &dyn transports::Transport, table: &str) -> Self {
        let parsed: toml::Table = table.parse().expect("a form is TOML");
        let factory = match transport.configure(&parsed) {
            Ok(factory) => factory,
            Err(error) => panic!("{} {table}: {error}", transport.name()),
        };
        Self {
            name: format!("{} {table}", transport.name())
                .trim_end()
                .to_owned(),
            factory,
        }
    }

    pub(crate) fn codec(&self) -> &'static dyn Codec {
        self.factory.codec()
    }

    pub(crate) fn make(&self) -> impl Fn(&EndpointConfig) -> Box<dyn Endpoint> {
        |config| self.factory.make(config)
    }

    /// Two hosts on a line.
    pub(crate) fn pair<'a>(&self, make: &'a Make<'a>) -> Pair<'a> {
        Pair::new(make, self.codec()).named(&self.name)
    }

    /// Several hosts around a hub.
    pub(crate) fn star<'a>(&self, hosts: usize, make: &'a Make<'a>) -> Pair<'a> {
        Pair::star(hosts, make, self.codec()).named(&self.name)
    }
}

/// Every subject; with `CONFORMANCE_ONLY` the one of that name, or those whose names contain it.
pub(crate) fn subjects() -> Vec<Subject> {
    let only = std::env::var("CONFORMANCE_ONLY").ok();
    let mut all: Vec<_> = transports::registry()
        .iter()
        .map(|&transport| Subject::new(transport, ""))
        .collect();
    for (name, table) in FORMS {
        let transport = transports::find(name).expect("a form of a transport that exists");
        all.push(Subject::new(transport, table));
    }
    if let Some(only) = only {
        let exactly = all.iter().any(|subject| subject.name == only);
        all.retain(|subject| subject.name == only || (!exactly && subject.name.contains(&only)));
    }
    assert!(!all.is_empty(), "no transport to test");
    all
}

/// Runs `test` on every subject, and then complains about all that failed.
pub(crate) fn each(test: impl Fn(&Subject)) {
    let mut failures = Failures::default();
    for subject in subjects() {
        failures.watch(&subject.name, || test(&subject));
    }
    failures.report();
}

/// What went wrong, so that one failure does not hide the next.
#[derive(Default)]
pub(crate) struct Failures(Vec<String>);

/// Failures that are shown in full.
const SHOWN_MAX: usize = 5;

impl Failures {
    pub(crate) fn watch(&mut self, what: &str, test: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(test)) {
            self.0.push(format!("--- {what}: {}", message(&*panic)));
        }
    }

    pub(crate) fn report(self) {
        let shown: Vec<_> = self.0.iter().take(SHOWN_MAX).map(String::as_str).collect();
        assert!(
            shown.is_empty(),
            "{} failures:\n{}",
            self.0.len(),
            shown.join("\n")
        );
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message")
}
