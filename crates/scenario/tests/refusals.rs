//! What a scenario is refused with: the place, and what to write instead.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use scenario::Scenario;

/// What is said of a scenario that cannot run, with these settings on top.
fn refused(text: &str, sets: &[&str]) -> String {
    let sets: Vec<_> = sets.iter().map(|set| (*set).to_owned()).collect();
    let found = scenario::load_text("t.toml", text, &sets).and_then(Scenario::assemble);
    match found {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(errors) => errors.render(false),
    }
}

const STAR: &str = "[topology]\nkind = \"star\"\nhosts = 4\n";
const INCAST: &str =
    "[topology]\nkind = \"star\"\nhosts = 4\n[workload]\nkind = \"incast\"\nsenders = 3\n";

#[test]
fn an_empty_list_of_workloads_is_none() {
    let said = refused(&format!("workload = []\n{STAR}"), &[]);
    assert!(said.contains("there is no [workload]"), "{said}");
    assert!(
        said.contains("t.toml:1:12") && said.contains("add one, like"),
        "{said}"
    );
    let said = refused(INCAST, &["workload=[]"]);
    assert!(
        said.contains("there is no [workload]") && said.contains("--set:1:10"),
        "{said}"
    );
    let text = "{\"topology\": {\"kind\": \"star\"}, \"workload\": []}";
    let found = scenario::load_text("t.json", text, &[]);
    let said = found.err().unwrap().render(false);
    assert!(said.contains("there is no [workload]"), "{said}");
}
