//! `import`: a scenario made of another simulator's configuration.

use crate::args::{Global, ImportArgs};
use crate::cmd_run::quote;
use crate::exit;
use crate::screen::Screen;
use scenario::import::{Imported, hpcc, htsim};
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &ImportArgs, global: &Global, screen: &Screen) -> i32 {
    let found = own_options(&args.words).and_then(|(words, to)| Ok((read(&words)?, to)));
    let ((imported, name), to) = match found {
        Ok(found) => found,
        Err(why) => return screen.fail(exit::USAGE, &why),
    };
    let file = to
        .or_else(|| args.to.clone())
        .unwrap_or_else(|| PathBuf::from(format!("{name}.toml")));
    if file.exists() {
        let why = format!("{} exists; name another file with --to", file.display());
        return screen.fail(exit::IO, &why);
    }
    let text = match placed(&imported.toml, &file) {
        Ok(text) => text,
        Err(error) => return screen.fail(exit::IO, &format!("{}: {error}", file.display())),
    };
    // What `check` refuses is not written: it would send its reader to look for the cause there.
    let told = format!("{} (not written)", file.display());
    let checked = scenario::load_text_with(&global.transports, &told, &text, &[]);
    let assembled = checked.and_then(|mut scenario| {
        scenario.memory_limit = global.memory_limit;
        scenario.assemble()
    });
    if let Err(errors) = assembled {
        return screen.wrong(&errors);
    }
    let written = results::files::write_new(&file, &mut |out| out.write_all(text.as_bytes()));
    if let Err(error) = written {
        let (path, why) = (error.path.display(), error.source);
        let why = format!("cannot write {path}: {why}; name another file with --to");
        return screen.fail(exit::IO, &why);
    }
    let path = file.display().to_string();
    if global.json {
        let document = json!({ "file": path, "notes": imported.notes });
        screen.print(&format!("{document:#}\n"));
        return exit::OK;
    }
    let mut out = format!("wrote {path}; try: tidegate check {}\n", quote(&path));
    if !imported.notes.is_empty() {
        out.push_str("not the same here, as the file says, too:\n");
        for note in &imported.notes {
            out.push_str(&results::beside("  - ", note, screen.style.width));
            out.push('\n');
        }
    }
    screen.say(&out);
    exit::OK
}

/// Options of this program that no program of theirs has: htsim's begin with one dash. [waf 1.7, `--help`]
const OWN: [&str; 4] = ["--json", "--quiet", "--no-color", "--memory-limit"];

/// The words of the other program, and the file of a `--to` among them: whoever writes it last means it.
fn own_options(words: &[String]) -> Result<(Vec<String>, Option<PathBuf>), String> {
    let (mut theirs, mut to) = (Vec::new(), None);
    let mut all = words.iter();
    while let Some(word) = all.next() {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        if name == "--to" {
            let file = word
                .strip_prefix("--to=")
                .or_else(|| all.next().map(String::as_str));
            let file = file.ok_or("--to takes the file to write: --to FILE")?;
            to = Some(PathBuf::from(file));
        } else if OWN.contains(&name) {
            return Err(format!(
                "{name} comes before the command that is imported: tidegate import {name} {}",
                quote(&words[0])
            ));
        } else {
            theirs.push(word.clone());
        }
    }
    if theirs.is_empty() {
        return Err("name HPCC's config.txt or a command line of htsim".into());
    }
    Ok((theirs, to))
}

/// What the words name, and what to call it.
fn read(words: &[String]) -> Result<(Imported, String), String> {
    // `./waf --run 'scratch/third mix/config.txt'` has the program and its argument in one word.
    let apart: Vec<&str> = words
        .iter()
        .flat_map(|word| word.split_whitespace())
        .collect();
    let program = Path::new(&words[0])
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let of_htsim = ["htsim_", "main_"]
        .iter()
        .any(|start| program.starts_with(start));
    if of_htsim {
        let find = |said: &str| found(said, Path::new(""));
        return Ok((htsim(words, &find)?, program.into_owned()));
    }
    let configuration = apart.iter().rfind(|word| Path::new(word).is_file());
    let Some(path) = configuration else {
        return Err(format!(
            "{} is no file and none of htsim's programs; name HPCC's config.txt, or put `tidegate import` before a \
             command line of htsim, like: tidegate import ./htsim_ndp -topo fabric.topo -tm traffic.cm",
            quote(&words.join(" "))
        ));
    };
    let path = Path::new(path);
    let text = std::fs::read_to_string(path)
        .map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let find = |said: &str| found(said, folder);
    let name = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let told = path.display().to_string();
    let imported = hpcc(&told, &text, &find).map_err(|why| format!("{told}: {why}"))?;
    Ok((imported, name))
}

/// A file that a configuration in `folder` names: from here, from beside it, from the folder above, where its program
/// runs, or by its bare name beside it.
fn found(said: &str, folder: &Path) -> Option<(String, String)> {
    let said = Path::new(said);
    let above = folder.parent().unwrap_or(folder);
    let bare = Path::new(said.file_name()?);
    let places = [
        said.to_path_buf(),
        folder.join(said),
        above.join(said),
        folder.join(bare),
    ];
    let path = places.into_iter().find(|path| path.is_file())?;
    let text = std::fs::read_to_string(&path).ok()?;
    Some((path.display().to_string(), text))
}

/// The scenario with its paths as `file` must say them: they are read from its folder.
fn placed(toml: &str, file: &Path) -> std::io::Result<String> {
    if file
        .parent()
        .is_none_or(|folder| folder.as_os_str().is_empty())
    {
        return Ok(toml.to_owned());
    }
    let mut out = String::with_capacity(toml.len());
    for line in toml.split_inclusive('\n') {
        let path = line
            .strip_prefix("path = ")
            .and_then(|rest| rest.split_once("  # "));
        match path {
            Some((path, from)) => {
                let name: String = path.trim_matches(['"', '\'']).to_owned();
                let full = std::path::absolute(name)?.display().to_string();
                let _ = write!(out, "path = {}  # {from}", toml::Value::String(full));
            }
            None => out.push_str(line),
        }
    }
    Ok(out)
}
