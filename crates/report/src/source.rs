//! Source lines, read when asked for. A file that cannot be found is no error: the report has less text.
//!
//! Nothing tells whether a file is still what was compiled; a line that is not there any more has no text.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use unravel_trace::Place;

/// Larger files are no sources.
const LARGEST: u64 = 16 << 20;

/// Files by the names that the compiler was given, read once.
#[derive(Debug, Default)]
pub struct Sources {
    /// What relative names are relative to; `None` reads no files.
    base: Option<PathBuf>,
    files: RefCell<HashMap<String, Option<Vec<String>>>>,
}

impl Sources {
    /// No files but those added with [`Sources::with`].
    pub fn none() -> Sources {
        Sources::default()
    }

    /// Files are looked for in `base`, where the compiler ran.
    pub fn under(base: impl Into<PathBuf>) -> Sources {
        Sources { base: Some(base.into()), ..Sources::default() }
    }

    /// Adds a file with its text.
    pub fn with(self, file: &str, text: &str) -> Sources {
        self.files.borrow_mut().insert(file.to_owned(), Some(lines(text)));
        self
    }

    /// The text of a place's line without the blanks around it; `None` if there is none, or nothing but blanks.
    pub fn line(&self, place: &Place) -> Option<String> {
        let line = self.whole_line(place)?;
        let text = line.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The text of a place's line as it is in the file.
    pub fn whole_line(&self, place: &Place) -> Option<String> {
        let index = place.line.checked_sub(1)? as usize;
        let mut files = self.files.borrow_mut();
        let lines = files.entry(place.file.to_string()).or_insert_with(|| self.read(&place.file));
        lines.as_ref()?.get(index).cloned()
    }

    /// All lines of a file, as they are; `None` if there is no such file.
    pub fn lines(&self, file: &str) -> Option<Vec<String>> {
        let mut files = self.files.borrow_mut();
        files.entry(file.to_owned()).or_insert_with(|| self.read(file)).clone()
    }

    fn read(&self, file: &str) -> Option<Vec<String>> {
        let base = self.base.as_ref()?;
        [base.join(file), PathBuf::from(file)].iter().find_map(|path| read(path))
    }
}

/// The name of a file in a trace may be anything: a device or a pipe would never end.
fn read(path: &Path) -> Option<Vec<String>> {
    let known = fs::metadata(path).ok()?;
    if !known.is_file() || known.len() > LARGEST {
        return None;
    }
    let bytes = fs::read(path).ok()?;
    Some(lines(&String::from_utf8_lossy(&bytes)))
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(file: &str, line: u32) -> Place {
        Place { function: "f".into(), file: file.into(), line, column: 1, wrapper: false }
    }

    #[test]
    fn lines_are_found_under_the_base_and_what_is_missing_is_no_error() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("a.c"), b"one\n  two\n\n\xff").unwrap();
        let sources = Sources::under(directory.path());
        assert_eq!(sources.line(&place("a.c", 2)).as_deref(), Some("two"));
        assert_eq!(sources.line(&place("a.c", 3)), None);
        assert_eq!(sources.line(&place("a.c", 0)), None);
        assert_eq!(sources.line(&place("a.c", 99)), None);
        assert_eq!(sources.line(&place("b.c", 1)), None);
        assert_eq!(sources.line(&place("/dev/zero", 1)), None);
        let absolute = directory.path().join("a.c");
        assert_eq!(
            Sources::under("/elsewhere").line(&place(absolute.to_str().unwrap(), 1)).as_deref(),
            Some("one")
        );
        assert_eq!(Sources::none().line(&place(absolute.to_str().unwrap(), 1)), None);
    }
}
