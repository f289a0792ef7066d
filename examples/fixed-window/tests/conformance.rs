//! What every transport must do, held against this one: see `testkit::conformance`.

use fixed_window::TRANSPORT;
use parts::Transport;
use testkit::conformance::Subject;

testkit::conformance!(subjects());

/// Tables of `[transport.fixed-window]` to test: the defaults, and each form that takes other paths
/// through the code.
const FORMS: [&str; 3] = ["", "window = 60", "window = 400\nretry = \"100us\""];

fn subjects() -> Vec<Subject> {
    FORMS.map(subject).into()
}

fn subject(form: &str) -> Subject {
    let table = form.parse().expect("a form is TOML");
    let factory = match TRANSPORT.configure(&table) {
        Ok(factory) => factory,
        Err(error) => panic!("{form}: {error}"),
    };
    let name = format!("{} {form}", TRANSPORT.name());
    Subject::new(name.trim_end(), factory.codec(), move |config| {
        factory.make(config)
    })
}

#[test]
fn parameters_explain_themselves() {
    parts::keys::examine(&TRANSPORT);
}
