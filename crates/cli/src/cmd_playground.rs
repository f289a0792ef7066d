//! `playground`: the simulator as a page of its own.

use crate::args::Global;
use crate::cmd_live;
use crate::exit;
use crate::screen::Screen;
use serde_json::json;
use std::path::PathBuf;

/// The page's name where the command line gives a folder or nothing.
const NAME: &str = "playground.html";

/// Writes the page to the file that `--out` names, or into the folder.
pub(crate) fn run(global: &Global, screen: &Screen) -> i32 {
    let out = global.out.clone().unwrap_or_else(|| PathBuf::from(NAME));
    let is_file = out.extension().is_some_and(|end| end == "html") && !out.is_dir();
    let path = if is_file { out } else { out.join(NAME) };
    if global.dry_run {
        screen.say(&format!(" would write {}\n", path.display()));
        return exit::OK;
    }
    // A page with another engine finds other fingerprints, and whoever opens it cannot know why.
    if let Some(why) = cmd_live::stale() {
        screen.warn(&why);
    }
    let page = web::playground();
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let made = folder.map_or(Ok(()), std::fs::create_dir_all);
    let written = made.and_then(|()| {
        let fill = &mut |out: &mut dyn std::io::Write| out.write_all(page.as_bytes());
        results::files::write_at(&path, fill).map_err(|error| error.source)
    });
    if let Err(error) = written {
        return screen.fail(exit::IO, &format!("{}: {error}", path.display()));
    }
    if global.json {
        let document = json!({ "page": path.display().to_string(), "bytes": page.len() });
        screen.print(&format!("{document:#}\n"));
    } else {
        screen.say(&format!(
            " {}: the simulator in one page, to be opened by a double click\n",
            path.display()
        ));
    }
    exit::OK
}
