//! `new-transport`: writes a crate with a transport in it, and tidegate around that.
//!
//! What it writes is `examples/fixed-window` under another name: a crate that is built, tested and
//! held to the conformance suite like everything else here. [ADR 18]

use crate::args::{Global, NewTransportArgs};
use crate::exit;
use crate::screen::Screen;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use transports::Registry;

/// The example's name, as it stands in text and as Rust writes it.
const EXAMPLE: (&str, &str) = ("fixed-window", "fixed_window");
/// Where the example finds tidegate.
const EXAMPLE_ROOT: &str = "path = \"../../";

macro_rules! example {
    ($($file:literal),* $(,)?) => {
        [$(($file, include_str!(concat!("../../../examples/fixed-window/", $file)))),*]
    };
}

/// What is copied, `fixed_window` in a path being the name as Rust writes it.
const FILES: [(&str, &str); 10] = example![
    "Cargo.toml",
    "README.md",
    "src/lib.rs",
    "src/main.rs",
    "src/fixed_window/README.md",
    "src/fixed_window/params.rs",
    "src/fixed_window/header.rs",
    "src/fixed_window/mod.rs",
    "src/fixed_window/tests.rs",
    "tests/conformance.rs",
];

/// What a crate needs besides, of this repository's own root.
const ROOT_FILES: [(&str, &str); 2] = [
    ("clippy.toml", include_str!("../../../clippy.toml")),
    ("rustfmt.toml", include_str!("../../../rustfmt.toml")),
];

/// Our own workspace, for its profiles.
const WORKSPACE: &str = include_str!("../../../Cargo.toml");
/// From here on its profiles are for those who write code, not for releases.
const PROFILES: &str = "# For work on one crate";

const RELEASE: &str = "\
# A workspace of its own, whatever folder this one lies in.
[workspace]

# One change should not cost minutes. lto = \"fat\" and codegen-units = 1 make it somewhat faster; they
# change no result.
[profile.release]
debug = \"line-tables-only\"

";

pub(crate) fn run(args: &NewTransportArgs, global: &Global, screen: &Screen) -> i32 {
    let source = match name_fits(&args.name, &global.transports).and_then(|()| source(args)) {
        Ok(source) => source,
        Err(why) => return screen.fail(exit::USAGE, &why),
    };
    let dir = args
        .dir
        .clone()
        .unwrap_or_else(|| PathBuf::from(&args.name));
    if dir.exists() {
        let why = format!(
            "{} exists, and nothing is overwritten; name another folder by --dir",
            dir.display()
        );
        return screen.fail(exit::USAGE, &why);
    }
    let files = match files(&args.name, &source) {
        Ok(files) => files,
        Err(why) => return screen.fail(exit::IO, &why),
    };
    if global.dry_run {
        for (path, _) in &files {
            screen.print(&format!("{}\n", dir.join(path).display()));
        }
        return exit::OK;
    }
    if let Err(e) = write(&dir, &files) {
        // Nothing half-written: the folder was not there before.
        let _ = fs::remove_dir_all(&dir);
        return screen.fail(exit::IO, &format!("cannot write {}: {e}", dir.display()));
    }
    if global.json {
        let paths: Vec<_> = files.iter().map(|(path, _)| path).collect();
        let document = serde_json::json!({ "dir": dir.display().to_string(), "files": paths });
        screen.print(&format!("{document:#}\n"));
    } else {
        screen.say(&next(&args.name, &dir));
    }
    exit::OK
}

/// What to do with it.
fn next(name: &str, dir: &Path) -> String {
    format!(
        "wrote {0}: a transport that passes the conformance suite, and tidegate with it. Next:\n\n  \
         cd {0}\n  \
         cargo test\n  \
         cargo run --release -- compare incast --set 'transport.kind=[expresspass,{name}]'\n\n\
         The first build takes some minutes. README.md says which file holds what.\n",
        dir.display()
    )
}

fn write(dir: &Path, files: &[(String, String)]) -> io::Result<()> {
    for (path, text) in files {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().expect("a file in a folder"))?;
        fs::write(path, text)?;
    }
    Ok(())
}

/// Where the new crate finds tidegate.
enum Source {
    Clone(PathBuf),
    Git(String),
}

fn source(args: &NewTransportArgs) -> Result<Source, String> {
    let is_clone = |dir: &Path| dir.join("crates/cli/Cargo.toml").is_file();
    match &args.tidegate {
        Some(url) if url.contains("://") => Ok(Source::Git(url.clone())),
        Some(dir) => match fs::canonicalize(dir) {
            Ok(whole) if is_clone(&whole) => Ok(Source::Clone(whole)),
            Ok(_) => Err(format!(
                "{dir} is no clone of tidegate: it has no crates/cli"
            )),
            Err(e) => Err(format!(
                "{dir}: {e}; --tidegate takes a clone of tidegate, or a URL like https://HOST/tidegate"
            )),
        },
        None => {
            let built = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
            fs::canonicalize(built)
                .ok()
                .filter(|dir| is_clone(dir))
                .map(Source::Clone)
                .ok_or_else(|| {
                    "the clone that this program was built from is not there any more; name one \
                     by --tidegate DIR, or a repository by --tidegate URL"
                        .to_owned()
                })
        }
    }
}

/// Every file of the new crate: path and text.
fn files(name: &str, source: &Source) -> Result<Vec<(String, String)>, String> {
    let snake = name.replace('-', "_");
    let renamed = |text: &str| text.replace(EXAMPLE.1, &snake).replace(EXAMPLE.0, name);
    let mut files: Vec<_> = FILES
        .iter()
        .map(|(path, text)| (renamed(path), renamed(text)))
        .collect();
    let manifest = &mut files[0].1;
    *manifest = manifest
        .lines()
        .map(|line| dependency(line, source) + "\n")
        .collect();
    let (_, profiles) = WORKSPACE
        .split_once(PROFILES)
        .expect("the workspace has profiles");
    for part in ["\n", RELEASE, PROFILES, profiles] {
        manifest.push_str(part);
    }
    files.extend(ROOT_FILES.map(|(path, text)| (path.to_owned(), text.to_owned())));
    files.push((".gitignore".to_owned(), "/target\n/out\n".to_owned()));
    if let Source::Clone(root) = source {
        // The versions that this clone is tested with.
        let lock = root.join("Cargo.lock");
        let text = fs::read_to_string(&lock).map_err(|e| format!("{}: {e}", lock.display()))?;
        files.push(("Cargo.lock".to_owned(), text));
    }
    Ok(files)
}

/// A line of the manifest, with tidegate where `source` has it.
fn dependency(line: &str, source: &Source) -> String {
    let Some((before, rest)) = line.split_once(EXAMPLE_ROOT) else {
        return line.to_owned();
    };
    let (inner, after) = rest.split_once('"').expect("a path ends");
    let quoted = |text: String| toml::Value::String(text).to_string();
    match source {
        Source::Clone(root) => {
            let path = quoted(root.join(inner).display().to_string());
            format!("{before}path = {path}{after}")
        }
        Source::Git(url) => format!("{before}git = {}{after}", quoted(url.clone())),
    }
}

/// Words that cannot be the name of a module. [Rust reference, keywords]
const KEYWORDS: [&str; 52] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield", "union",
];

/// Names of crates that the new one uses or that the compiler brings along, and of folders that
/// cargo keeps beside a program.
const CRATES: [&str; 17] = [
    "alloc",
    "build",
    "core",
    "deps",
    "examples",
    "incremental",
    "main",
    "model",
    "parts",
    "proc-macro",
    "std",
    "test",
    "testkit",
    "tidegate",
    "toml",
    "transports",
    "units",
];

/// Longest name. [ours: tables have a column for it]
const NAME_MAX: usize = 32;

/// Whether a transport, a crate and a module can have this name.
fn name_fits(name: &str, taken: &Registry) -> Result<(), String> {
    let words = || name.split(['-', '_']);
    let plain = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    let letter = name.starts_with(|c: char| c.is_ascii_lowercase());
    let refuse = |why: &str| Err(format!("\"{name}\" cannot be the name: {why}"));
    if !letter || !words().all(plain) {
        return refuse(
            "write a letter first, then lower-case letters and digits, with - or _ between words, \
             like my-transport",
        );
    }
    if name.len() > NAME_MAX {
        return refuse(&format!("it has more than {NAME_MAX} letters"));
    }
    if taken.find(name).is_some() {
        return refuse("tidegate has a transport of that name; see tidegate list transports");
    }
    if KEYWORDS.contains(&name) {
        return refuse("it is a word of Rust");
    }
    let dashed = name.replace('_', "-");
    if CRATES.contains(&dashed.as_str()) || dashed.starts_with("tidegate-") {
        return refuse("a crate that yours uses, or a folder of cargo, is called that");
    }
    let keys = scenario::fields::table("transport").into_iter();
    if name == "include"
        || keys
            .flat_map(|table| table.fields)
            .any(|field| field.key == name)
    {
        return refuse("it is a key of [transport] in scenarios");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_scenarios_crates_and_modules() {
        let fits = |name: &str| name_fits(name, &transports::registry());
        for name in ["mine", "my-transport", "my_transport", "x2", "homa-2024"] {
            assert_eq!(fits(name), Ok(()));
        }
        for (name, why) in [
            ("", "a letter first"),
            ("2fast", "a letter first"),
            ("My", "a letter first"),
            ("a--b", "a letter first"),
            ("../x", "a letter first"),
            ("expresspass", "has a transport"),
            ("match", "a word of Rust"),
            ("model", "a crate that yours uses"),
            ("proc_macro", "a crate that yours uses"),
            ("tidegate-sim", "a crate that yours uses"),
            ("kind", "a key of [transport]"),
            ("profile", "a key of [transport]"),
            ("a-name-that-no-table-has-room-for", "more than 32"),
        ] {
            let error = fits(name).expect_err(name);
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn every_file_of_the_example_is_written_and_none_keeps_its_name() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let source = Source::Clone(fs::canonicalize(root).unwrap());
        let files = files("my-own", &source).unwrap();
        let example = root.join("examples/fixed-window");
        let mut folders = vec![example.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let inside = path.strip_prefix(&example).unwrap().display().to_string();
                let renamed = inside.replace("fixed_window", "my_own");
                assert!(files.iter().any(|(path, _)| *path == renamed), "{inside}");
            }
        }
        for (path, text) in files.iter().filter(|(path, _)| path != "Cargo.lock") {
            assert!(!path.contains("fixed_window"), "{path}");
            for left in ["fixed-window", "fixed_window", "../../crates"] {
                assert!(!text.contains(left), "{path} says {left}");
            }
        }
        let manifest: toml::Table = files[0].1.parse().unwrap();
        assert!(
            manifest["dependencies"]["model"]["path"]
                .as_str()
                .unwrap()
                .starts_with('/')
        );
        let url = "https://example.org/tidegate";
        let line = dependency(
            "model = { path = \"../../crates/model\" }",
            &Source::Git(url.into()),
        );
        assert_eq!(line, format!("model = {{ git = \"{url}\" }}"));
    }
}
