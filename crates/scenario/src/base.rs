//! Where the paths of a scenario lead: into a folder, or to files that came along with its text.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Texts of files by their paths, as a scenario names them from the folder of its own file.
pub type Files = BTreeMap<String, String>;

/// What the paths of one file are read against.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    folder: PathBuf,
    /// The only files there are; those of the disk where none came along.
    files: Option<Arc<Files>>,
}

impl Base {
    /// The folder of the file at `path`.
    pub(crate) fn of(path: &Path) -> Self {
        Self {
            folder: path.parent().unwrap_or(Path::new("")).to_path_buf(),
            files: None,
        }
    }

    /// The same with these files and no others.
    pub(crate) fn with(self, files: &Arc<Files>) -> Self {
        let files = Some(Arc::clone(files));
        Self { files, ..self }
    }

    /// The base of a file that one of this base includes.
    pub(crate) fn below(&self, path: &Path) -> Self {
        Self {
            files: self.files.clone(),
            ..Self::of(path)
        }
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// How many bytes a file has.
    pub(crate) fn size(&self, path: &Path) -> io::Result<u64> {
        match &self.files {
            Some(files) => given(files, path).map(|text| text.len() as u64),
            None => std::fs::metadata(path).map(|file| file.len()),
        }
    }

    pub(crate) fn read(&self, path: &Path) -> io::Result<String> {
        match &self.files {
            Some(files) => given(files, path).cloned(),
            None => read_text(path),
        }
    }
}

/// Bytes that are read of what has no size of its own, a pipe or a device: it may never end. [ours]
const UNSIZED_MAX: usize = 1 << 30;
/// Bytes of it that are read, and looked at, at a time. [ours]
const PIECE: u64 = 1 << 20;

/// The text of the file at `path`.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    if file.metadata()?.is_file() {
        let mut text = String::new();
        return file.read_to_string(&mut text).map(|_| text);
    }
    let mut bytes = Vec::new();
    loop {
        let before = bytes.len();
        file.by_ref().take(PIECE).read_to_end(&mut bytes)?;
        if bytes.len() == before {
            let no_text = |why| io::Error::new(ErrorKind::InvalidData, why);
            return String::from_utf8(bytes).map_err(no_text);
        }
        // A device that gives zeros for ever would otherwise be read to the bound.
        if bytes[before..].contains(&0) {
            let what = "it is no file, and gives bytes that no text has";
            return Err(io::Error::new(ErrorKind::InvalidData, what));
        }
        if bytes.len() > UNSIZED_MAX {
            let what = format!("it is no file, and gives more than {UNSIZED_MAX} B");
            return Err(io::Error::new(ErrorKind::FileTooLarge, what));
        }
    }
}

fn given<'a>(files: &'a Files, path: &Path) -> io::Result<&'a String> {
    files.get(&*path.to_string_lossy()).ok_or_else(|| {
        let what = "a page reads no files of this machine, and this one did not come along with the scenario; \
                    `tidegate run` reads it, and `--live` takes it along";
        io::Error::new(ErrorKind::NotFound, what)
    })
}
