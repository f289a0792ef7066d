//! `new-transport`: writes a crate with a transport in it, and tidegate around that.
//!
//! What it writes is `examples/fixed-window` under another name: a crate that is built, tested and
//! held to the conformance suite like everything else here. [ADR 18] A program that carries tidegate's sources
//! writes them beside it, and needs no clone. [ADR 33]

use crate::args::{Global, NewTransportArgs};
use crate::screen::Screen;
use crate::{carried, exit};
use results::FileError;
use std::fs;
use std::io::Write;
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

/// Our own workspace, for its profiles and its lock.
const WORKSPACE: &str = include_str!("../../../Cargo.toml");
/// Where a new crate has the sources that this program carries.
const BESIDE: &str = "tidegate";

const RELEASE: &str = "
[workspace]
exclude = [\"tidegate\"]

# lto = \"fat\" and codegen-units = 1 make it somewhat faster and a build much slower. They change no result.
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
    let sources = match &source {
        Source::Carried(archive) => archive.as_slice(),
        Source::Clone(_) | Source::Git(_) => &[],
    };
    if global.dry_run {
        for path in said(&files, sources) {
            screen.print(&format!("{}\n", dir.join(path).display()));
        }
        return exit::OK;
    }
    if let Err(error) = write(&dir, &files, sources) {
        let (path, why) = (error.path.display(), error.source);
        let why = format!(
            "cannot write {path}: {why}; nothing was written; name another folder by --dir"
        );
        return screen.fail(exit::IO, &why);
    }
    if global.json {
        let paths = said(&files, sources);
        let document = serde_json::json!({ "dir": dir.display().to_string(), "files": paths });
        screen.print(&format!("{document:#}\n"));
    } else {
        screen.say(&next(&args.name, &dir, !sources.is_empty()));
    }
    exit::OK
}

/// What is written, as it is named: the sources are one folder.
fn said(files: &[(String, String)], sources: &[(&str, &[u8])]) -> Vec<String> {
    let own = files.iter().map(|(path, _)| path.clone());
    let beside = (!sources.is_empty()).then(|| format!("{BESIDE}/"));
    own.chain(beside).collect()
}

/// What to do with it.
fn next(name: &str, dir: &Path, carried: bool) -> String {
    let beside = if carried {
        "It needs Rust 1.95 or newer (https://rustup.rs); tidegate/ holds the sources that it is built with.\n"
    } else {
        ""
    };
    format!(
        "wrote {0}: a transport that passes the conformance suite, and tidegate with it. Next:\n\n  \
         cd {1}\n  \
         cargo test\n  \
         cargo run --release -- compare incast --set 'transport.kind=[expresspass,{name}]'\n\n\
         The first build takes some minutes. README.md says which file holds what.\n{beside}",
        dir.display(),
        crate::cmd_run::quote(&dir.display().to_string()),
    )
}

/// Writes the folder whole or not at all: it grows beside its place, and what of it is not whole goes.
fn write(
    dir: &Path,
    files: &[(String, String)],
    sources: &[(&str, &[u8])],
) -> Result<(), FileError> {
    let failed = |path: PathBuf| move |source| FileError { path, source };
    let own = files
        .iter()
        .map(|(path, text)| (PathBuf::from(path), text.as_bytes()));
    let beside = sources
        .iter()
        .map(|(path, text)| (Path::new(BESIDE).join(path), *text));
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let draft = dir.with_file_name(format!(".{name}.draft"));
    // One that was killed leaves its draft.
    let _ = fs::remove_dir_all(&draft);
    let fill = || {
        for (path, text) in own.chain(beside) {
            let fill = &mut |out: &mut dyn Write| out.write_all(text);
            // It is told of by the name that it would have had.
            results::files::write_new(&draft.join(&path), fill)
                .map_err(|error| failed(dir.join(&path))(error.source))?;
        }
        fs::rename(&draft, dir).map_err(failed(dir.to_path_buf()))
    };
    let filled = fill();
    if filled.is_err() {
        let _ = fs::remove_dir_all(&draft);
    }
    filled
}

/// Where the new crate finds tidegate.
enum Source {
    Clone(PathBuf),
    Git(String),
    /// Beside it, as this program carries it.
    Carried(Vec<(&'static str, &'static [u8])>),
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
        None => match crate::SOURCES.get().copied().map(carried::unpack) {
            Some(files) => Ok(Source::Carried(files.expect("packed by ourselves"))),
            None => built_from()
                .filter(|dir| is_clone(dir))
                .map(Source::Clone)
                .ok_or_else(|| {
                    "the clone that this program was built from is not there any more; name one \
                 by --tidegate DIR, or a repository by --tidegate URL"
                        .to_owned()
                }),
        },
    }
}

/// The clone that this program was built from, if it is still there.
fn built_from() -> Option<PathBuf> {
    fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).ok()
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
    manifest.push_str(RELEASE);
    manifest.push_str(&profile());
    files.push(("clippy.toml".to_owned(), bans()));
    files.push((".gitignore".to_owned(), "/target\n/out\n".to_owned()));
    // The versions that tidegate is tested with.
    let lock = match source {
        Source::Clone(root) => {
            let path = root.join("Cargo.lock");
            fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?
        }
        Source::Carried(sources) => {
            let lock = sources.iter().find(|(path, _)| *path == "Cargo.lock");
            let text = lock.map(|(_, text)| String::from_utf8_lossy(text));
            text.expect("the sources have a lock").into_owned()
        }
        Source::Git(_) => return Ok(files),
    };
    files.push(("Cargo.lock".to_owned(), lock));
    Ok(files)
}

/// What the workspace's own `clippy.toml` bans.
fn bans() -> String {
    let own = include_str!("../../../clippy.toml");
    let at = own.find("disallowed-methods").expect("it bans the clock");
    own[at..].to_owned()
}

/// Packages of the workspace's profile that a crate of one's own does not build, beside Arrow's: our tests and tools use them.
const OUR_TOOLS: [&str; 4] = ["insta", "regex-syntax", "similar", "xtask"];

/// The workspace's profile for those who write code, a line per package.
fn profile() -> String {
    let workspace: toml::Table = WORKSPACE.parse().expect("our own manifest");
    let profile = workspace["profile"]["dev"].as_table().expect("a profile");
    let line = |(key, value): (&String, &toml::Value)| match key.as_str() {
        "*" => format!("\"*\" = {value}\n"),
        plain => format!("{plain} = {value}\n"),
    };
    let settings = profile.iter().filter(|(_, value)| !value.is_table());
    // Of what is not built there cargo would say so.
    let is_built = |name: &str| !name.starts_with("arrow") && !OUR_TOOLS.contains(&name);
    let packages = profile["package"].as_table().expect("packages").iter();
    let packages = packages.filter(|(name, _)| is_built(name));
    let own = settings.map(line).collect::<String>();
    let others = packages.map(line).collect::<String>();
    format!("\n[profile.dev]\n{own}\n[profile.dev.package]\n{others}")
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
        Source::Carried(_) => format!("{before}path = \"{BESIDE}/{inner}\"{after}"),
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
const CRATES: [&str; 18] = [
    "alloc",
    "build",
    "core",
    "deps",
    "examples",
    "incremental",
    "lib",
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
        let archive = carried::pack(root).unwrap().leak();
        let carried = Source::Carried(carried::unpack(archive).unwrap());
        for source in [&source, &carried] {
            let manifest: toml::Table = super::files("my-own", source).unwrap()[0]
                .1
                .parse()
                .unwrap();
            let dev = &manifest["profile"]["dev"];
            let mut ours: toml::Table = WORKSPACE.parse().unwrap();
            let packages = ours["profile"]["dev"]["package"].as_table_mut().unwrap();
            packages.retain(|name, _| !name.starts_with("arrow") && !OUR_TOOLS.contains(&name));
            assert_eq!(
                dev, &ours["profile"]["dev"],
                "builds are those of the workspace"
            );
            assert_eq!(manifest["workspace"]["exclude"][0].as_str(), Some(BESIDE));
        }
        let line = dependency("model = { path = \"../../crates/model\" }", &carried);
        assert_eq!(line, "model = { path = \"tidegate/crates/model\" }");
        let line = dependency(
            "model = { path = \"../../crates/model\" }",
            &Source::Git(url.into()),
        );
        assert_eq!(line, format!("model = {{ git = \"{url}\" }}"));
    }
}
