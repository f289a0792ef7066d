//! `new`: a commented scenario file to edit, with what it needs beside it.

use crate::args::{Global, NewArgs};
use crate::exit;
use crate::screen::Screen;
use results::FileError;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The schema that editors read for completion.
const SCHEMA: &str = "tidegate.schema.json";

/// A scenario to start from, and files that it reads.
struct Template {
    text: &'static str,
    files: &'static [(&'static str, &'static str)],
}

/// Starting points that are no built-in scenarios, because they read files.
const TEMPLATES: [(&str, Template); 1] = [(
    "trace",
    Template {
        text: include_str!("../templates/trace/trace.toml"),
        files: &[
            (
                "messages.csv",
                include_str!("../templates/trace/messages.csv"),
            ),
            (
                "fabric.graphml",
                include_str!("../templates/trace/fabric.graphml"),
            ),
        ],
    },
)];

/// The starting point of this name.
fn find(name: &str) -> Result<Template, String> {
    if let Some((_, template)) = TEMPLATES.into_iter().find(|(known, _)| *known == name) {
        return Ok(template);
    }
    if let Some(builtin) = scenario::builtin::find(name) {
        return Ok(Template {
            text: builtin.text,
            files: &[],
        });
    }
    let names: Vec<_> = scenario::builtin::all().iter().map(|b| b.name).collect();
    let templates = TEMPLATES.iter().map(|(name, _)| *name);
    let names: Vec<_> = names.into_iter().chain(templates).collect();
    Err(match scenario::nearest(name, names.iter().copied()) {
        Some(near) => format!("no scenario \"{name}\" to start from; did you mean {near}?"),
        None => format!(
            "no scenario \"{name}\" to start from; there are {}",
            names.join(", ")
        ),
    })
}

pub(crate) fn run(args: &NewArgs, global: &Global, screen: &Screen) -> i32 {
    let template = match find(&args.from) {
        Ok(template) => template,
        Err(why) => return screen.fail(exit::USAGE, &why),
    };
    if args.file.to_str().is_none() {
        let why = format!(
            "{} is not UTF-8, and no other command would take it; choose another name",
            args.file.display()
        );
        return screen.fail(exit::USAGE, &why);
    }
    if args
        .file
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
    {
        let why = format!(
            "{} is written as TOML, and every command reads a name that ends in .json as JSON; name it {}",
            args.file.display(),
            args.file.with_extension("toml").display()
        );
        return screen.fail(exit::USAGE, &why);
    }
    let folder = args.file.parent().unwrap_or(Path::new("")).to_path_buf();
    let text = format!(
        "#:schema ./{SCHEMA}\n\
         # Run it with: tidegate run {}   What a key means: tidegate explain workload\n{}",
        args.file.display(),
        template.text
    );
    let mut files = vec![(args.file.clone(), text)];
    let beside = template.files.iter();
    files.extend(beside.map(|(name, text)| (folder.join(name), (*text).to_owned())));
    let schema = folder.join(SCHEMA);
    if let Err(error) = write_all(&files, &schema, global) {
        let next = match error.source.kind() {
            ErrorKind::AlreadyExists => "nothing is overwritten; name another file",
            _ => "nothing was written; name another file",
        };
        let (path, why) = (error.path.display(), &error.source);
        return screen.fail(exit::IO, &format!("cannot write {path}: {why}; {next}"));
    }
    let names: Vec<String> = files
        .iter()
        .map(|(path, _)| path.display().to_string())
        .collect();
    if global.json {
        let document = serde_json::json!({
            "file": args.file.display().to_string(),
            "files": names,
            "schema": schema.display().to_string(),
        });
        screen.print(&format!("{document:#}\n"));
    } else {
        screen.say(&format!(
            "wrote {}, and {} for editors; try: tidegate check {}\n",
            names.join(", "),
            schema.display(),
            args.file.display()
        ));
    }
    exit::OK
}

/// Writes files of which none may exist, and the schema beside them, or nothing.
fn write_all(files: &[(PathBuf, String)], schema: &Path, global: &Global) -> Result<(), FileError> {
    if let Some((path, _)) = files.iter().find(|(path, _)| path.exists()) {
        return Err(FileError {
            path: path.clone(),
            source: ErrorKind::AlreadyExists.into(),
        });
    }
    let mut written = Vec::new();
    let mut write = || {
        for (path, text) in files {
            results::files::write_new(path, &mut |out| out.write_all(text.as_bytes()))?;
            written.push(path);
        }
        write_schema(schema, global)
    };
    let done = write();
    if done.is_err() {
        for path in written {
            // The first error is the one to tell.
            let _ = std::fs::remove_file(path);
        }
    }
    done
}

/// Writes the schema of this program's scenarios; one of another version makes way, anything else of
/// that name stays.
fn write_schema(path: &Path, global: &Global) -> Result<(), FileError> {
    let schema = scenario::json_schema(&global.transports);
    if let Ok(text) = std::fs::read_to_string(path) {
        let there: Option<serde_json::Value> = serde_json::from_str(&text).ok();
        if there.is_none_or(|there| there["title"] != schema["title"]) {
            return Ok(());
        }
    }
    results::files::write_at(path, &mut |out| writeln!(out, "{schema:#}"))
}
