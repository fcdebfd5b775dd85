//! The result of one part of a search that several machines divide among them: `find --shard 2/4` writes it beside its
//! traces, `merge-findings` puts the parts together. A JSON file, because batch systems move such files about and people look
//! into them.
//!
//! The reader refuses other formats and what does not belong together; it does not look into the traces.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use unravel_results::Explored;
use unravel_trace::{BugId, ReadsFrom, VisibleSet};

use crate::ProgramRef;

/// One part of a search.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ShardFile {
    /// [`ShardFile::FORMAT`].
    pub format: u32,
    pub program: ProgramRef,
    /// Counted from 1.
    pub number: u32,
    pub of: u32,
    /// Into how many lanes systematic searches were divided, in all parts together; 0 if there were none.
    pub lanes: u32,
    pub explored: Explored,
    /// The visible set at the end: classes mean the same only where it is the same.
    pub visible: VisibleSet,
    /// Fingerprints of the classes seen, sorted; without them if there are too many to write down.
    pub classes: Option<Vec<u64>>,
    /// Sorted.
    pub reads_from: Vec<ReadsFrom>,
    /// Sorted by schedule.
    pub findings: Vec<ShardFinding>,
}

/// What every format of a part begins with.
#[derive(Deserialize)]
struct Format {
    format: u32,
}

/// A bug that a part found.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ShardFinding {
    pub bug: BugId,
    /// Number of the schedule, counted from 0.
    pub schedule: u64,
    pub replayed: bool,
    /// The trace, in the directory of the part.
    pub trace: String,
}

#[derive(Debug, Error)]
pub enum ShardError {
    #[error("cannot {action} {}", path.display())]
    Io { path: PathBuf, action: &'static str, source: io::Error },
    #[error("{} is not a part of a search that this unravel can read: {reason}", path.display())]
    Format { path: PathBuf, reason: String },
    #[error("no part of a search is in {}: `unravel find --shard I/N --out DIR` writes them", path.display())]
    None { path: PathBuf },
    #[error("{} and {} are parts of different searches: {what} differs", first.display(), second.display())]
    Different { first: PathBuf, second: PathBuf, what: &'static str },
    #[error("part {number}/{of} is there twice: {} and {}", first.display(), second.display())]
    Twice { number: u32, of: u32, first: PathBuf, second: PathBuf },
}

impl ShardFile {
    /// 2: bugs are known by whole paths.
    pub const FORMAT: u32 = 2;
    /// More classes than that are not written down.
    pub const MOST_CLASSES: usize = 1_000_000;
    /// How the files end.
    pub const SUFFIX: &str = ".part.json";

    /// `bank-2-of-4.part.json`.
    pub fn file_name(&self) -> String {
        format!("{}-{}-of-{}{}", self.program.name, self.number, self.of, ShardFile::SUFFIX)
    }

    pub fn write(&self, path: &Path) -> Result<(), ShardError> {
        let io = |source| ShardError::Io { path: path.to_owned(), action: "write", source };
        let text = serde_json::to_string(self).map_err(|error| io(io::Error::other(error)))?;
        std::fs::write(path, text).map_err(io)
    }

    pub fn read(path: &Path) -> Result<ShardFile, ShardError> {
        let text = std::fs::read_to_string(path).map_err(|source| ShardError::Io {
            path: path.to_owned(),
            action: "read",
            source,
        })?;
        let refused = |reason: String| ShardError::Format { path: path.to_owned(), reason };
        // The format first: what else is in another one means nothing here.
        let Format { format } = serde_json::from_str(&text).map_err(|e| refused(e.to_string()))?;
        if format != ShardFile::FORMAT {
            return Err(refused(format!("it has format {format}, not {}", ShardFile::FORMAT)));
        }
        let part: ShardFile = serde_json::from_str(&text).map_err(|e| refused(e.to_string()))?;
        let inside = |name: &str| !name.is_empty() && !name.contains('/');
        if part.number == 0
            || part.number > part.of
            || !part.findings.iter().all(|f| inside(&f.trace))
        {
            return Err(refused("it contradicts itself".to_owned()));
        }
        Ok(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_another_format_is_refused_for_that() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("bank-1-of-2.part.json");
        // As version 1 wrote a bug: by a short name.
        let old =
            r#"{"format":1,"findings":[{"bug":{"kind":"Assertion","places":["bank.c:90"]}}]}"#;
        std::fs::write(&path, old).expect("the file is written");
        let refused = ShardFile::read(&path).expect_err("another format").to_string();
        assert!(refused.ends_with("it has format 1, not 2"), "{refused}");
    }
}
