//! `new`: a commented scenario file to edit.

use crate::args::{Global, NewArgs};
use crate::exit;
use crate::screen::Screen;
use std::io::Write;

pub(crate) fn run(args: &NewArgs, global: &Global, screen: &Screen) -> i32 {
    let Some(builtin) = scenario::builtin::find(&args.from) else {
        let names: Vec<_> = scenario::builtin::all().iter().map(|b| b.name).collect();
        return screen.fail(
            exit::USAGE,
            &format!(
                "no built-in scenario \"{}\"; there are {}",
                args.from,
                names.join(", ")
            ),
        );
    };
    let text = format!(
        "# Run it with: tidegate run {}   Keys: tidegate explain workload, docs/reference.md\n\
         #:schema tidegate.schema.json   (tidegate schema > tidegate.schema.json)\n{}",
        args.file.display(),
        builtin.text
    );
    let file = std::fs::File::options()
        .write(true)
        .create_new(true)
        .open(&args.file);
    match file.and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) if global.json => {
            let document = serde_json::json!({ "file": args.file.display().to_string() });
            screen.print(&format!("{document:#}\n"));
            exit::OK
        }
        Ok(()) => {
            screen.say(&format!(
                "wrote {0}; try: tidegate check {0}\n",
                args.file.display()
            ));
            exit::OK
        }
        Err(e) => screen.fail(
            exit::IO,
            &format!("cannot write {}: {e}", args.file.display()),
        ),
    }
}
