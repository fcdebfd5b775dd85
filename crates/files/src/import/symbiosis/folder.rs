//! Which files a folder has: of which thread, of which execution, which of its paths.
//!
//! `T2` and `T2_1` are of the one execution of a folder that names none; `T2_-77_1` is the path 1 of thread 2 in the execution
//! -77. Files of a subfolder are further traces of single threads, whichever execution their names mention: nobody saw them together.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::ImportError;
use super::number::ThreadNumber;

/// The name of an execution or of a path, ordered by number where it is one.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Label(Kind, String);

/// No name comes first, then numbers, then words.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Kind {
    None,
    Number(i64),
    Word,
}

impl Label {
    pub fn new(name: &str) -> Label {
        let name = name.strip_prefix('_').unwrap_or(name);
        let kind = match name.parse() {
            _ if name.is_empty() => Kind::None,
            Ok(number) => Kind::Number(number),
            Err(_) => Kind::Word,
        };
        Label(kind, name.to_owned())
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.1.is_empty() { "(none)" } else { &self.1 })
    }
}

/// What the name of a file says.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct FileName {
    pub execution: Label,
    pub thread: ThreadNumber,
    pub path: Label,
}

impl FileName {
    /// `T1.2_-7_3`. `None` if the file is no thread's.
    pub fn parse(name: &str) -> Option<FileName> {
        let rest = name.strip_prefix('T')?;
        let (thread, suffix) = rest.split_once('_').unwrap_or((rest, ""));
        let thread = ThreadNumber::parse(thread)?;
        let is_number = |text: &str| text.parse::<i64>().is_ok();
        let (execution, path) = match suffix.split_once('_') {
            Some((execution, path)) if is_number(execution) && is_number(path) => (execution, path),
            _ => ("", suffix),
        };
        Some(FileName { execution: Label::new(execution), thread, path: Label::new(path) })
    }
}

/// The files of a folder.
#[derive(Debug, Default)]
pub(super) struct Folder {
    pub files: BTreeMap<FileName, PathBuf>,
    /// Those of subfolders.
    pub single: Vec<(FileName, PathBuf)>,
    /// Names that are no thread's.
    pub others: Vec<String>,
}

impl Folder {
    pub fn read(directory: &Path) -> Result<Folder, ImportError> {
        let mut folder = Folder::default();
        for path in entries(directory)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match FileName::parse(&name).filter(|_| path.is_file()) {
                Some(file) => {
                    if let Some(other) = folder.files.insert(file, path) {
                        let what = format!("{} and {name} are one path", other.display());
                        return Err(ImportError::Folder { path: directory.to_owned(), what });
                    }
                }
                None if name.starts_with('.') => {}
                None if path.is_dir() && folder.subfolder(&path)? => {}
                None => folder.others.push(name),
            }
        }
        folder.others.sort();
        folder.single.sort();
        Ok(folder)
    }

    /// Whether there is a trace in it.
    fn subfolder(&mut self, directory: &Path) -> Result<bool, ImportError> {
        let before = self.single.len();
        for path in entries(directory)?.into_iter().filter(|path| path.is_file()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            self.single.extend(FileName::parse(&name).map(|file| (file, path)));
        }
        Ok(self.single.len() > before)
    }
}

/// In an order that does not depend on the file system.
fn entries(directory: &Path) -> Result<Vec<PathBuf>, ImportError> {
    let io = |source| ImportError::Io { path: directory.to_owned(), source };
    let entries = std::fs::read_dir(directory).map_err(io)?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<PathBuf>, _>>()
        .map_err(io)?;
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_thread_execution_and_path() {
        let parts = |name: &str| {
            let FileName { execution, thread, path } = FileName::parse(name)?;
            Some((thread.to_string(), execution.to_string(), path.to_string()))
        };
        let is = |a: &str, b: &str, c: &str| Some((a.to_owned(), b.to_owned(), c.to_owned()));
        assert_eq!(parts("T0"), is("0", "(none)", "(none)"));
        assert_eq!(parts("T2_1"), is("2", "(none)", "1"));
        assert_eq!(parts("T2_1_fail"), is("2", "(none)", "1_fail"));
        assert_eq!(parts("T1.1.12_-77_-3"), is("1.1.12", "-77", "-3"));
        for name in ["T", "t1", "T1.", "T.1", "T1..2", "T-1", "Tx_1_2"] {
            assert_eq!(parts(name), None, "{name}");
        }
        let mut labels = ["b", "10", "-3", "", "9"].map(Label::new);
        labels.sort();
        assert_eq!(labels.map(|l| l.to_string()), ["(none)", "-3", "9", "10", "b"]);
    }
}
