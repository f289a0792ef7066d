//! Where the paths of a scenario lead: into a folder, or to files that came along with its text.

use std::collections::BTreeMap;
use std::io;
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
            None => std::fs::read_to_string(path),
        }
    }
}

fn given<'a>(files: &'a Files, path: &Path) -> io::Result<&'a String> {
    files.get(&*path.to_string_lossy()).ok_or_else(|| {
        let what = "it did not come along with the scenario";
        io::Error::new(io::ErrorKind::NotFound, what)
    })
}
