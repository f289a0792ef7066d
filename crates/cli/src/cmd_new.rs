//! `new`: a commented scenario file to edit, with what it needs beside it.

use crate::args::{Global, NewArgs};
use crate::exit;
use crate::screen::Screen;
use results::FileError;
use std::io::Write;
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
    let written = write_all(&files).and_then(|()| write_schema(&schema, global));
    if let Err(error) = written {
        let why = format!(
            "cannot write {}: {}; name another file",
            error.path.display(),
            error.source
        );
        return screen.fail(exit::IO, &why);
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

/// Writes files of which none may exist, or none of them.
fn write_all(files: &[(PathBuf, String)]) -> Result<(), FileError> {
    if let Some((path, _)) = files.iter().find(|(path, _)| path.exists()) {
        return Err(FileError {
            path: path.clone(),
            source: std::io::ErrorKind::AlreadyExists.into(),
        });
    }
    for (path, text) in files {
        let file = std::fs::File::options()
            .write(true)
            .create_new(true)
            .open(path);
        let done = file.and_then(|mut file| file.write_all(text.as_bytes()));
        done.map_err(|source| FileError {
            path: path.clone(),
            source,
        })?;
    }
    Ok(())
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
    std::fs::write(path, format!("{schema:#}\n")).map_err(|source| FileError {
        path: path.to_path_buf(),
        source,
    })
}
