mod common;
use results::*;
#[test]
fn look() {
    for (name, run) in [
        ("incast", common::incast()),
        ("mixed", common::mixed(3000)),
        ("cut", common::cut_off(3000)),
        ("long", common::long_flows()),
    ] {
        let summary = Summary::of(&run);
        let verdicts: Vec<_> = [
            ("fct.p99", "< 2ms"),
            ("drops.scheduled", "== 0"),
            ("slowdown.p99", "< 10"),
        ]
        .iter()
        .map(|(k, t)| Threshold::parse(k, t).unwrap().judge(&summary))
        .collect();
        for width in [130, 80, 30] {
            println!(
                "{}",
                table::text(
                    &[(&summary, &verdicts)],
                    Style {
                        width,
                        colour: false
                    }
                )
            );
        }
        let dir = std::path::Path::new("/tmp/res-look").join(name);
        let files = write_run(
            &dir,
            &run,
            &summary,
            &verdicts,
            &Meta::default(),
            &Output::default(),
        )
        .unwrap();
        for f in files {
            println!("{} {}", f.display(), std::fs::metadata(&f).unwrap().len());
        }
    }
}
