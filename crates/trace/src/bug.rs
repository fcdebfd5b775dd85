//! What makes two failures the same bug, and how a user names one that is known.
//!
//! Bugs are told apart by whole paths: two files may have one base name, and both may fail at the same line. Paths are
//! compared as text, as the compiler was given them, but for `.` and `..`: a file that is reached through a symbolic link
//! too, or by its absolute name too, counts as two.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{FailureKind, Place};

/// A line of the source: what is one place for a person. The column is no part of it, because people and their
/// `unravel.toml` name lines, and because one condition can fail at several columns, depending on which part is false.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct SourceLine {
    /// As the compiler was given it, but without `.` and `..` where they can be left out: headers that are included from
    /// two folders are one file.
    pub file: Arc<str>,
    /// 0 where there is no line information.
    pub line: u32,
    /// Of code without line information, whose place is no more than this; else empty, because a line says more.
    pub function: Arc<str>,
}

impl From<&Place> for SourceLine {
    fn from(place: &Place) -> SourceLine {
        let function = if place.line == 0 { place.function.clone() } else { "".into() };
        SourceLine { file: tidy(&place.file), line: place.line, function }
    }
}

impl SourceLine {
    /// `bank.c:31`, for showing: lines of two files can look alike so.
    pub fn short(&self) -> String {
        self.shown(self.file.rsplit('/').next().unwrap_or(&self.file))
    }

    /// The line with its file called so.
    pub fn shown(&self, file: &str) -> String {
        match self.line {
            0 => format!("{} (no line information)", self.function),
            line => format!("{file}:{line}"),
        }
    }
}

/// A path without `.`, and without `..` behind a folder.
fn tidy(file: &Arc<str>) -> Arc<str> {
    if !file.split('/').skip(1).any(|part| part.is_empty() || is_dots(part))
        && !file.starts_with("./")
    {
        return file.clone();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in components(file) {
        match parts.last() {
            Some(folder) if part == ".." && *folder != ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    let root = if file.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/")).into()
}

fn is_dots(part: &str) -> bool {
    matches!(part, "." | "..")
}

/// The parts of a path that mean something.
fn components(file: &str) -> impl DoubleEndedIterator<Item = &str> {
    file.split('/').filter(|part| !part.is_empty() && *part != ".")
}

/// Whether a file is meant by what a user wrote: its path ends so, in whole components.
pub fn is_path_end(written: &str, file: &str) -> bool {
    let mut theirs = components(file).rev();
    components(written).rev().all(|part| theirs.next() == Some(part))
}

/// What makes two failures the same bug: kind and site.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct BugId {
    pub kind: FailureKind,
    /// Sorted; more than one for a deadlock, whose site is the set of blocked places, and for a race of two places.
    pub places: Vec<SourceLine>,
}

impl BugId {
    /// In words, with each place called as `name` says.
    pub fn shown(&self, name: impl Fn(&SourceLine) -> String) -> String {
        let places: Vec<String> = self.places.iter().map(name).collect();
        match places.is_empty() {
            true => self.kind.to_string(),
            false => format!("{} at {}", self.kind, places.join(" and ")),
        }
    }
}

/// With short names. Where bugs stand side by side, the report calls files by as much of their paths as it takes.
impl fmt::Display for BugId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown(SourceLine::short))
    }
}

/// A place as a user writes it: a line, or a whole file, of whose path the end is enough.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct WrittenPlace {
    /// `util.c`, `d1/util.c`; or the words for code without line information.
    pub file: String,
    /// `None` is the whole file.
    pub line: Option<u32>,
}

#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("'{0}' is neither a line of a file (file.c:120) nor a file")]
pub struct NoPlace(String);

impl FromStr for WrittenPlace {
    type Err = NoPlace;

    fn from_str(text: &str) -> Result<WrittenPlace, NoPlace> {
        let refused = || NoPlace(text.to_owned());
        let (file, line) = match text.rsplit_once(':') {
            Some((file, line)) => (file, Some(line.parse::<u32>().map_err(|_| refused())?)),
            None => (text, None),
        };
        let named = components(file).next_back().is_some() && line != Some(0);
        named.then(|| WrittenPlace { file: file.to_owned(), line }).ok_or_else(refused)
    }
}

impl fmt::Display for WrittenPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.file),
            None => f.write_str(&self.file),
        }
    }
}

impl WrittenPlace {
    /// Whether a file is meant.
    pub fn names(&self, file: &str) -> bool {
        is_path_end(&self.file, file)
    }

    /// Whether a line is meant.
    pub fn covers(&self, place: &SourceLine) -> bool {
        match (place.line, self.line) {
            (0, line) => line.is_none() && self.file == place.short(),
            (_, None) => self.names(&place.file),
            (there, Some(line)) => there == line && self.names(&place.file),
        }
    }
}

/// A bug that the user knows and puts aside.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct KnownBug {
    pub kind: FailureKind,
    pub site: WrittenPlace,
}

impl KnownBug {
    /// Whether it is this one: the same kind, and one of its places is the one that was written.
    pub fn covers(&self, found: &BugId) -> bool {
        self.kind == found.kind && found.places.iter().any(|place| self.site.covers(place))
    }
}

impl fmt::Display for KnownBug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.kind, self.site)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Failure, ThreadName};

    fn place(file: &str, line: u32, column: u32) -> Place {
        Place { function: "check".into(), file: file.into(), line, column, wrapper: false }
    }

    fn assertion(file: &str, line: u32, column: u32) -> BugId {
        let failure = Failure {
            kind: FailureKind::Assertion,
            message: "assertion 'x' failed".to_owned(),
            thread: ThreadName::main(),
            stack: vec![place(file, line, column)],
            related: Vec::new(),
        };
        failure.id()
    }

    fn known(site: &str) -> KnownBug {
        KnownBug { kind: FailureKind::Assertion, site: site.parse().expect("a place") }
    }

    #[test]
    fn the_same_line_of_two_files_with_one_name_is_two_bugs() {
        let (one, other) = (assertion("d1/util.c", 12, 5), assertion("d2/util.c", 12, 5));
        assert_ne!(one, other);
        assert_eq!(one.to_string(), "assertion at util.c:12");
        assert_eq!(one.to_string(), other.to_string(), "what is shown is short");
        assert_eq!(one, assertion("d1/util.c", 12, 5));
        assert_eq!(one, assertion("d1/util.c", 12, 9), "another part of the same condition");
        assert_ne!(one, assertion("d1/util.c", 13, 5));
    }

    #[test]
    fn one_header_reached_from_two_folders_is_one_file() {
        let from_one = assertion("d1/../include/queue.h", 7, 1);
        assert_eq!(from_one, assertion("d2/../include/./queue.h", 7, 1));
        assert_eq!(from_one, assertion("./include/queue.h", 7, 1));
        assert_eq!(&*from_one.places[0].file, "include/queue.h");
        assert_eq!(&*assertion("../../a//b.c", 7, 1).places[0].file, "../../a/b.c");
        assert_eq!(&*assertion("/x/./a/../b.c", 7, 1).places[0].file, "/x/b.c");
    }

    #[test]
    fn a_written_place_is_the_end_of_a_path() {
        let found = assertion("src/d1/util.c", 12, 5);
        for site in ["util.c:12", "d1/util.c:12", "./d1/util.c:12", "src/d1/util.c:12"] {
            assert!(known(site).covers(&found), "{site}");
        }
        for site in ["util.c", "d1/util.c"] {
            assert!(known(site).covers(&found), "{site} is the whole file");
        }
        for site in ["til.c:12", "1/util.c:12", "d2/util.c:12", "til.c", "d2/util.c", "util.c:13"] {
            assert!(!known(site).covers(&found), "{site}");
        }
        assert!(!known("x/src/d1/util.c:12").covers(&found), "longer than the path");
        let other = KnownBug { kind: FailureKind::Deadlock, ..known("util.c:12") };
        assert!(!other.covers(&found), "another kind");
    }

    #[test]
    fn code_without_lines_is_known_by_its_function() {
        let found = assertion("", 0, 0);
        assert_eq!(found.to_string(), "assertion at check (no line information)");
        assert!(known("check (no line information)").covers(&found));
        assert!(!known("check").covers(&found));
    }

    #[test]
    fn what_names_no_place_is_refused() {
        for text in ["", ":12", "a.c:", "a.c:x", "a.c:0", "/:3"] {
            assert!(text.parse::<WrittenPlace>().is_err(), "{text}");
        }
    }
}
