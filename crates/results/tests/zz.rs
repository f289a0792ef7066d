//! x
#![allow(clippy::unwrap_used, reason = "x")]
use results::*;
#[test]
fn zz() {
    let mut dirs: Vec<_> = std::fs::read_dir("/tmp/res-real/cmp").unwrap().map(|d| d.unwrap().path()).filter(|p| p.is_dir()).collect();
    dirs.sort();
    let mut runs: Vec<Summary> = dirs.iter().map(|d| files::read_summary(d).unwrap()).collect();
    runs.sort_by_key(|r| (r.settings.clone(), r.seed));
    let runs: Vec<&Summary> = runs.iter().collect();
    println!("{:?}", runs[0].settings);
    println!("{}", compare::text(&runs, Style { width: 150, colour: false }));
    std::fs::write("/tmp/res-real/cmp.html", compare::html(&runs, "tidegate compare")).unwrap();
}
