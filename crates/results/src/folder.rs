//! The folder of a run while it is being written: by one run at a time, and never over what somebody
//! else put there.

use crate::files::{self, FLOWS_PARTIAL, FileError, META};
use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Stands in a folder that is being written, and stays where the run did not come to its end. The
/// system's lock on it ends with the process, however that ends; its text says who wrote it.
const LOCK: &str = ".running";
/// Names of a stranger's files that a message lists. [ours]
const NAMES_MAX: usize = 3;

/// A folder that is this run's alone until the value is dropped.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// Whether it was not there before.
    made: bool,
    /// Locked, where the file system has locks.
    _lock: File,
}

/// Why a run cannot have a folder.
#[derive(Debug)]
pub enum ClaimError {
    /// Another run is writing it.
    Taken {
        /// The folder.
        path: PathBuf,
        /// That run, in its own words.
        by: String,
    },
    /// It holds something, and no run.
    Foreign {
        /// The folder.
        path: PathBuf,
        /// What it holds, in a few words.
        holds: String,
    },
    /// It cannot be made or looked into.
    File(FileError),
}

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken { path, by } => {
                // Who has just begun may not have said its name yet.
                let by = if by.is_empty() {
                    String::new()
                } else {
                    format!(": {by}")
                };
                write!(
                    f,
                    "another run is writing {}{by}; wait for its end, or choose another directory with --out",
                    path.display()
                )
            }
            Self::Foreign { path, holds } => write!(
                f,
                "{} is no folder of a run: it holds {holds}; choose another directory with --out",
                path.display()
            ),
            Self::File(error) => error.fmt(f),
        }
    }
}
impl std::error::Error for ClaimError {}

impl RunFolder {
    /// Claims `path` for one run, and makes the folder where there is none. `who` is told to other
    /// runs that want it meanwhile.
    ///
    /// # Errors
    /// If another run has it, if it holds files and no run wrote them, or if it cannot be made.
    pub fn claim(path: &Path, who: &str) -> Result<Self, ClaimError> {
        let failed = |source| {
            let path = path.to_owned();
            ClaimError::File(FileError { path, source })
        };
        let made = !path.exists();
        fs::create_dir_all(path).map_err(failed)?;
        if let Some(holds) = foreign(path).map_err(failed)? {
            let path = path.to_owned();
            return Err(ClaimError::Foreign { path, holds });
        }
        let lock = path.join(LOCK);
        let locked = open_locked(&lock, &File::try_lock).map_err(failed)?;
        let Some(mut file) = locked else {
            let by = fs::read_to_string(&lock).unwrap_or_default();
            let path = path.to_owned();
            return Err(ClaimError::Taken { path, by });
        };
        let named = file
            .set_len(0)
            .and_then(|()| file.write_all(who.as_bytes()));
        named.map_err(failed)?;
        Ok(Self {
            path: path.to_owned(),
            made,
            _lock: file,
        })
    }

    /// Whether a run is writing `path`, or was killed while it did, be it after its last file.
    pub fn is_marked(path: &Path) -> bool {
        path.join(LOCK).exists()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets what is in it no longer count as a whole run; the files stay.
    pub fn unfinish(&self) {
        // Where the file cannot be removed it could not have been written either.
        let _ = fs::remove_file(self.path.join(META));
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // What is whole speaks for itself; what is not keeps the mark by which the next run knows it.
        let whole = self.path.join(META).exists();
        let empty = names(&self.path).is_ok_and(|names| names.is_empty());
        if whole || empty {
            let _ = fs::remove_file(self.path.join(LOCK));
        }
        if empty && self.made {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// What is in `dir` and not hidden, by name.
fn names(dir: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// What `dir` holds, in a few words, if that is neither nothing nor a run.
fn foreign(dir: &Path) -> io::Result<Option<String>> {
    let names = names(dir)?;
    if names.is_empty() || of_a_run(dir) {
        return Ok(None);
    }
    let shown: Vec<&str> = names.iter().take(NAMES_MAX).map(String::as_str).collect();
    let more = match names.len().saturating_sub(NAMES_MAX) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    Ok(Some(format!("{}{more}", shown.join(", "))))
}

/// Whether a run wrote `dir`, to its end or not.
fn of_a_run(dir: &Path) -> bool {
    let begun = || {
        let mut text = Vec::new();
        let file = File::open(dir.join(FLOWS_PARTIAL)).ok()?;
        let titles = crate::tables::flows().titles();
        let most = titles.len() as u64;
        file.take(most).read_to_end(&mut text).ok()?;
        // A full disk may have cut it short.
        Some(titles.as_bytes().starts_with(&text))
    };
    RunFolder::is_marked(dir)
        || files::made(dir).is_some()
        || files::is_summary(&dir.join("summary.json"))
        || begun() == Some(true)
}

/// Opens the file at `path`, new where there is none, and locks it by `lock`; `None` where somebody
/// else holds it. A file system without locks gives none.
pub(crate) fn open_locked(
    path: &Path,
    lock: &dyn Fn(&File) -> Result<(), TryLockError>,
) -> io::Result<Option<File>> {
    loop {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)?;
        match lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(e)) => return Err(e),
        }
        // Who held it before may have renamed or removed it meanwhile.
        if is_at(&file, path)? {
            return Ok(Some(file));
        }
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let here = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((here.dev(), here.ino()) == (there.dev(), there.ino())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

/// Elsewhere an open file is neither renamed nor removed.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}
