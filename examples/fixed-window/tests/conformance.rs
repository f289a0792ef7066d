//! What every transport must do, held against this one: see `testkit::conformance`.

use fixed_window::TRANSPORT;
use parts::Transport;
use testkit::conformance::Subject;

testkit::conformance!(FORMS.map(subject).into());

/// Tables of `[transport.fixed-window]`: the defaults, and forms that take other paths through the code.
const FORMS: [&str; 3] = ["", "window = 60", "window = 400\nretry = \"100us\""];

fn subject(form: &str) -> Subject {
    let table = form.parse().expect("a form is TOML");
    let factory = TRANSPORT.configure(&table).expect("a form suits");
    let name = format!("{} {form}", TRANSPORT.name());
    Subject::new(name.trim_end(), factory.codec(), move |c| factory.make(c))
}

#[test]
fn parameters_explain_themselves() {
    parts::keys::examine(&TRANSPORT);
}
