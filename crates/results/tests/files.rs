//! The directory of a run.

#![allow(
    clippy::unwrap_used,
    reason = "this is test code, which clippy cannot see here"
)]

mod common;

use results::files::{made, read_summary};
use results::{ClaimError, FlowWriter, Meta, Output, RunFolder, Summary, Threshold};
use std::fs;
use std::path::Path;

const EVERYTHING: Output = Output {
    csv: true,
    report: true,
    hpcc_fct: true,
    junit: true,
};

fn claim(dir: &Path) -> RunFolder {
    RunFolder::claim(dir, "this test").unwrap()
}

fn write(dir: &Path, run: &results::RunRecord, meta: &Meta) -> Vec<String> {
    write_into(&claim(dir), run, meta)
}

fn write_into(dir: &RunFolder, run: &results::RunRecord, meta: &Meta) -> Vec<String> {
    let summary = Summary::of(run);
    let verdict = Threshold::parse("drops.scheduled", "== 0")
        .unwrap()
        .judge(&summary);
    let files = report::write_run(dir, run, &summary, &[verdict], meta, &EVERYTHING, None).unwrap();
    files
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect()
}

#[test]
fn everything_but_the_meta_file_is_byte_for_byte_the_same() {
    let (a, b) = (common::directory("same-a"), common::directory("same-b"));
    let run = common::mixed(500);
    let names = write(
        &a,
        &run,
        &Meta {
            host: "one".into(),
            wall_s: 1.5,
            ..Meta::default()
        },
    );
    write(
        &b,
        &run,
        &Meta {
            host: "two".into(),
            wall_s: 2.5,
            ..Meta::default()
        },
    );
    assert_eq!(
        names,
        [
            "resolved.toml",
            "summary.json",
            "flows.csv",
            "ports.csv",
            "series.csv",
            "flows.parquet",
            "ports.parquet",
            "series.parquet",
            "fct.txt",
            "junit.xml",
            "report.html",
            "curves.json",
            "meta.json"
        ]
    );
    for name in names {
        let same = fs::read(a.join(&name)).unwrap() == fs::read(b.join(&name)).unwrap();
        assert_eq!(same, name != "meta.json", "{name}");
    }
}

#[test]
fn a_killed_run_leaves_its_completions_and_a_whole_one_does_not() {
    let dir = common::directory("killed");
    let run = common::incast();
    let folder = claim(&dir);
    let mut writer = FlowWriter::create(&folder).unwrap();
    writer.append(&run.flows[..2], run.names()).unwrap();
    writer.append(&run.flows[2..3], run.names()).unwrap();
    let partial = fs::read_to_string(dir.join("flows.partial.csv")).unwrap();
    assert_eq!(
        partial.lines().count(),
        1 + 3,
        "a header and three rows, without closing the file"
    );
    assert_eq!(made(&dir), None);
    drop(writer);
    write_into(&folder, &run, &Meta::default());
    assert!(made(&dir).is_some() && !dir.join("flows.partial.csv").exists());
    let whole = fs::read_to_string(dir.join("flows.csv")).unwrap();
    assert!(whole.starts_with(&partial), "the same rows, and the rest");
    assert_eq!(whole.lines().count(), 1 + 64);
}

#[test]
fn flows_have_the_documented_columns_and_quoted_tags() {
    let mut run = common::cut_off(50);
    run.flows.truncate(3);
    run.flows[1].end = None;
    run.flows[2].start = None;
    run.flows[2].end = None;
    run.end = units::Time(9_000_000);
    let mut text = Vec::new();
    results::files::flows_csv(&mut text, &run).unwrap();
    let text = String::from_utf8(text).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "flow_id,conn,src,dst,size,start_ps,end_ps,fct_ps,ideal_ps,slowdown,finished,received,\
         stopped_ps,timed,tag,transport"
    );
    assert!(
        lines[1].ends_with(",0,\"incast, \"\"small\"\"\",expresspass"),
        "{}",
        lines[1]
    );
    let field = |line: usize, column: usize| lines[line].split(',').nth(column).unwrap();
    let number = |line: usize, column: usize| field(line, column).parse::<u64>().unwrap();
    assert_eq!(
        number(1, 7),
        number(1, 6) - number(1, 5),
        "fct = end - start"
    );
    assert_eq!(
        (field(2, 6), number(2, 7)),
        ("", 9_000_000 - number(2, 5)),
        "so far, and no end"
    );
    assert_eq!(
        (field(3, 5), field(3, 7), field(3, 9)),
        ("", "", ""),
        "never started"
    );
}

#[test]
fn hpcc_scripts_find_their_columns() {
    let run = common::incast();
    let mut text = Vec::new();
    results::files::hpcc_fct(&mut text, &run).unwrap();
    let text = String::from_utf8(text).unwrap();
    // Host 1 sends first and finishes first: 0x0b000001 + (1 % 256 << 8). Its 43 full frames and
    // one of 1298 B take 5.39456 us at 100 Gb/s, after 4 us of propagation.
    let first = text.lines().next().unwrap();
    assert_eq!(first, "0b000101 0b000001 10000 100 64000 0 9395 9395");
    let ends: Vec<u64> = text
        .lines()
        .map(|line| {
            let fields: Vec<u64> = line
                .split(' ')
                .skip(5)
                .map(|field| field.parse().unwrap())
                .collect();
            assert!(fields[1] >= fields[2], "a slowdown of at least one");
            fields[0] + fields[1]
        })
        .collect();
    assert!(ends.len() == 64 && ends.is_sorted(), "by completion");
}

#[test]
fn a_summary_comes_back_from_its_file() {
    let dir = common::directory("summary");
    for run in [
        common::mixed(300),
        common::cut_off(300),
        common::long_flows(),
    ] {
        write(&dir, &run, &Meta::default());
        assert_eq!(read_summary(&dir).unwrap(), Summary::of(&run));
    }
    fs::write(dir.join("summary.json"), "{\"schema\": 99}").unwrap();
    let error = read_summary(&dir).unwrap_err();
    assert!(
        error.contains("has layout 99, not 3: run it again"),
        "{error}"
    );
    // A copy that broke off has no layout to speak of.
    let whole = results::files::to_json(&Summary::of(&common::mixed(300)));
    fs::write(dir.join("summary.json"), &whole[..whole.len() / 2]).unwrap();
    let error = read_summary(&dir).unwrap_err();
    assert!(
        error.contains("summary.json is damaged (EOF") && error.ends_with("run it again"),
        "{error}"
    );
}

#[test]
fn whoever_interrupts_a_run_before_its_first_message_is_not_told_to_let_it_run_longer() {
    let mut run = common::mixed(300);
    for flow in &mut run.flows {
        (flow.start, flow.end) = (None, None);
    }
    let said = |run: &results::RunRecord| Summary::of(run).warnings.join("\n");
    assert!(said(&run).contains("raise run.until"), "{}", said(&run));
    run.status = results::Status::Interrupted;
    let said = said(&run);
    assert!(said.contains("interrupted at"), "{said}");
    assert!(!said.contains("run.until"), "{said}");
}

#[test]
fn tags_that_a_warmup_hides_are_named() {
    let mut run = common::mixed(300);
    let said = |run: &results::RunRecord| Summary::of(run).warnings.join("\n");
    assert!(!said(&run).contains("started inside"), "{}", said(&run));
    let second = run.flows.iter().find(|flow| flow.tag == 1).unwrap();
    run.window.start = second.start.unwrap();
    for flow in run.flows.iter_mut().filter(|flow| flow.tag == 1) {
        flow.start = Some(units::Time::ZERO);
    }
    run.window.start = run.window.start.max(units::Time(1));
    let said = said(&run);
    assert!(
        said.contains("no message of incast, \"small\" started inside the measurement window, so the 60 are in no figure"),
        "{said}"
    );
}

#[test]
fn an_unwritable_directory_is_named_with_a_way_out() {
    let dir = common::directory("unwritable");
    fs::create_dir_all(&dir).unwrap();
    let blocked = dir.join("a-file");
    fs::write(&blocked, "").unwrap();
    let error = RunFolder::claim(&blocked, "this test").unwrap_err();
    assert!(
        error.to_string().contains("a-file") && error.to_string().contains("--out"),
        "{error}"
    );
}

#[test]
fn a_folder_is_one_runs_at_a_time_and_the_other_hears_whose() {
    let dir = common::directory("claimed");
    let first = RunFolder::claim(&dir, "process 7 on a, since noon").unwrap();
    let error = RunFolder::claim(&dir, "another").unwrap_err();
    assert!(matches!(error, ClaimError::Taken { .. }), "{error}");
    assert!(
        error.to_string().contains("process 7 on a, since noon"),
        "{error}"
    );
    // It has just begun, and not said who it is yet.
    fs::write(dir.join(".running"), "").unwrap();
    let error = RunFolder::claim(&dir, "another").unwrap_err().to_string();
    assert!(error.contains("claimed; wait for its end"), "{error}");
    // A run that ended without a result leaves a mark, and nobody waits for it.
    FlowWriter::create(&first).unwrap();
    drop(first);
    assert_eq!(hidden(&dir), [".running"]);
    let run = common::incast();
    write(&dir, &run, &Meta::default());
    assert!(hidden(&dir).is_empty(), "{:?}", hidden(&dir));
    // One that wrote nothing at all leaves nothing.
    let empty = dir.join("empty");
    drop(claim(&empty));
    assert!(!empty.exists());
}

fn hidden(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with('.')).collect()
}

#[test]
fn whoever_writes_the_same_file_meanwhile_waits() {
    // Each file is written by several threads at once, and every version that is seen is whole.
    let dir = common::directory("together");
    fs::create_dir_all(&dir).unwrap();
    let text = |n: usize| vec![b'a' + u8::try_from(n).unwrap(); 50_000 + n];
    std::thread::scope(|scope| {
        for n in 0..4 {
            let dir = &dir;
            scope.spawn(move || {
                for _ in 0..20 {
                    let fill = &mut |out: &mut dyn std::io::Write| {
                        text(n).chunks(777).try_for_each(|part| out.write_all(part))
                    };
                    results::files::write(dir, "page.html", fill).unwrap();
                    let seen = fs::read(dir.join("page.html")).unwrap();
                    assert_eq!(seen, text(usize::from(seen[0] - b'a')));
                }
            });
        }
    });
    assert!(hidden(&dir).is_empty());
}

#[test]
fn what_a_stranger_wrote_is_not_written_over() {
    let dir = common::directory("stranger");
    fs::create_dir_all(&dir).unwrap();
    for name in ["flows.csv", "thesis.tex", "summary.json", "x", "y"] {
        fs::write(dir.join(name), "{\"schema\": 1}").unwrap();
    }
    let error = RunFolder::claim(&dir, "a run").unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains(
            "no folder of a run: it holds flows.csv, summary.json, thesis.tex and 2 more"
        ),
        "{said}"
    );
    assert!(hidden(&dir).is_empty() && said.contains("--out"));
    // Whatever a run left is a run's: whole, interrupted, or cut short by a full disk.
    let run = common::incast();
    for left in ["meta.json", "summary.json", "flows.partial.csv"] {
        let dir = common::directory("left");
        write(&dir, &run, &Meta::default());
        let kept = fs::read(dir.join("summary.json")).unwrap();
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().unwrap() != left {
                fs::remove_file(path).unwrap();
            }
        }
        match left {
            "summary.json" => fs::write(dir.join(left), kept).unwrap(),
            "flows.partial.csv" => fs::write(dir.join(left), "flow_id,co").unwrap(),
            _ => {}
        }
        claim(&dir);
    }
}

#[test]
fn nothing_of_an_older_run_stays_beside_the_files_of_this_one() {
    let dir = common::directory("older");
    let mut run = common::mixed(300);
    assert!(!run.port_series.is_empty());
    write(&dir, &run, &Meta::default());
    fs::write(dir.join(".fct.txt.draft"), "half").unwrap();
    fs::write(dir.join("notes.txt"), "mine").unwrap();
    run.port_series.clear();
    let only = Output {
        csv: false,
        report: false,
        hpcc_fct: false,
        junit: false,
    };
    let folder = claim(&dir);
    report::write_run(
        &folder,
        &run,
        &Summary::of(&run),
        &[],
        &Meta::default(),
        &only,
        None,
    )
    .unwrap();
    drop(folder);
    let names = fs::read_dir(&dir).unwrap();
    let mut names: Vec<_> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "flows.parquet",
            "meta.json",
            "notes.txt",
            "ports.parquet",
            "resolved.toml",
            "summary.json"
        ]
    );
}

#[test]
fn a_run_that_cannot_be_written_to_its_end_leaves_nothing_of_an_older_one() {
    let dir = common::directory("cut-short");
    let run = common::mixed(5);
    assert!(write(&dir, &run, &Meta::default()).contains(&"junit.xml".to_owned()));
    // Where its ports would grow until they are whole.
    fs::create_dir(dir.join(".ports.csv.draft")).unwrap();
    let (folder, summary) = (claim(&dir), Summary::of(&run));
    let failed = report::write_run(
        &folder,
        &run,
        &summary,
        &[],
        &Meta::default(),
        &EVERYTHING,
        None,
    );
    assert!(failed.unwrap_err().path.ends_with("ports.csv"));
    let left = fs::read_dir(&dir)
        .unwrap()
        .map(|file| file.unwrap().file_name());
    let mut left: Vec<_> = left.map(|name| name.into_string().unwrap()).collect();
    left.retain(|name| !name.starts_with('.'));
    left.sort();
    assert_eq!(left, ["flows.csv", "resolved.toml", "summary.json"]);
}

#[test]
fn junit_counts_what_failed() {
    let run = common::cut_off(300);
    let summary = Summary::of(&run);
    let verdicts = [("fct.p99", "< 1ns"), ("goodput", "> 1Kbps")]
        .map(|(key, text)| Threshold::parse(key, text).unwrap().judge(&summary));
    let xml = results::junit(&[(&summary, &verdicts)]);
    assert!(xml.contains("tests=\"4\" failures=\"2\""), "{xml}");
    assert!(
        xml.contains("name=\"fct.p99 &lt; 1ns\"><failure message=\"measured &gt;= "),
        "{xml}"
    );
}

#[test]
fn samples_that_say_nothing_new_are_left_out_and_can_be_put_back() {
    let run = common::incast();
    let mut text = Vec::new();
    results::files::series_csv(&mut text, &run).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.lines().count() <= run.port_series.len());
    // Between its lines a port stays as it was, from nothing on.
    let mut lines = text.lines().skip(1).peekable();
    let mut known = std::collections::BTreeMap::new();
    for row in &run.port_series {
        let key = format!("{},{},", row.at.0, row.link);
        if let Some(line) = lines.next_if(|line| line.starts_with(&key)) {
            known.insert(row.link, line[key.len()..].to_owned());
        }
        let sent: Vec<_> = row.sent.iter().map(|(_, n)| n.to_string()).collect();
        let sent = sent.join(",");
        let dropped: Vec<_> = row.dropped.iter().map(|(_, n)| n.to_string()).collect();
        let dropped = dropped.join(",");
        let (queue, credits, marked) = (row.queue, row.credits, row.marked);
        let now = format!("{queue},{credits},{sent},{marked},{dropped}");
        let nothing = ["0"; 3 + 2 * model::Class::COUNT].join(",");
        assert_eq!(*known.get(&row.link).unwrap_or(&nothing), now, "{key}");
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn a_mark_that_outlived_its_run_goes_with_the_next_one() {
    // Killed after its last file and before the mark was gone.
    let dir = common::directory("outlived");
    write(&dir, &common::incast(), &Meta::default());
    fs::write(dir.join(".running"), "process 7 on here").unwrap();
    assert!(RunFolder::is_marked(&dir));
    drop(claim(&dir));
    assert!(!RunFolder::is_marked(&dir) && made(&dir).is_some());
}

/// The first table of a run as a file.
#[cfg(feature = "parquet")]
fn flows_parquet(run: &results::RunRecord) -> bytes::Bytes {
    let mut file = Vec::new();
    let done = results::columns::each(run, |name, fill| match name {
        "flows.parquet" => fill(&mut file),
        _ => Ok(()),
    });
    done.unwrap();
    file.into()
}

/// A cell as the text of a CSV file.
#[cfg(feature = "parquet")]
fn text_of(column: &arrow_array::ArrayRef, row: usize) -> String {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
    use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
    fn number<T: ArrowPrimitiveType>(column: &ArrayRef, row: usize) -> Option<String>
    where
        T::Native: ToString,
    {
        let column = column.as_primitive_opt::<T>()?;
        Some(column.value(row).to_string())
    }
    if column.is_null(row) {
        return String::new();
    }
    let flag = || Some(u8::from(column.as_boolean_opt()?.value(row)).to_string());
    let text = || Some(column.as_string_opt::<i32>()?.value(row).to_owned());
    let found = number::<UInt64Type>(column, row)
        .or_else(|| number::<UInt32Type>(column, row))
        .or_else(|| number::<Int64Type>(column, row))
        .or_else(|| number::<Float64Type>(column, row))
        .or_else(flag);
    found.or_else(text).unwrap()
}

#[cfg(feature = "parquet")]
#[test]
fn csv_and_parquet_have_the_same_columns_with_the_same_values() {
    use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
    let mut run = common::cut_off(300);
    run.tags.fill("plain".to_owned()); // no quotes
    let mut csv = Vec::new();
    results::files::flows_csv(&mut csv, &run).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let mut lines = csv.lines();
    let reader = ParquetRecordBatchReader::try_new(flows_parquet(&run), 1_000).unwrap();
    let table = reader.map(Result::unwrap).next().unwrap();
    let titles: Vec<_> = lines.next().unwrap().split(',').collect();
    let schema = table.schema();
    let names: Vec<_> = schema
        .fields()
        .iter()
        .map(|field| field.name().as_str())
        .collect();
    assert_eq!(titles, names);
    let (mut rows, mut empty) = (0, 0);
    for (row, line) in lines.enumerate() {
        for (cell, column) in line.split(',').zip(table.columns()) {
            empty += usize::from(cell.is_empty() && column.is_null(row));
            assert_eq!(cell, text_of(column, row), "row {row}");
        }
        rows += 1;
    }
    assert!(
        rows == table.num_rows() && empty > 0,
        "{rows} rows, {empty} of them empty"
    );
}

#[cfg(feature = "parquet")]
#[test]
fn a_parquet_file_alone_says_which_run_it_is_of() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let run = common::incast();
    let reader = SerializedFileReader::new(flows_parquet(&run)).unwrap();
    let said = reader.metadata().file_metadata().key_value_metadata();
    let value = |key: &str| {
        let pair = said.into_iter().flatten().find(|pair| pair.key == key);
        pair.and_then(|pair| pair.value.clone()).unwrap_or_default()
    };
    assert_eq!(value("tidegate.scenario"), run.scenario);
    assert_eq!(value("tidegate.transport"), run.transport);
    assert_eq!(value("tidegate.seed"), run.seed.to_string());
    assert_eq!(
        value("tidegate.fingerprint"),
        format!("{:016x}", run.fingerprint)
    );
    assert_eq!(value("tidegate.version"), env!("CARGO_PKG_VERSION"));
    assert_eq!(value("tidegate.command"), run.command);
}
