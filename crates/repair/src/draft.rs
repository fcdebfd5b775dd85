//! Measures become text: the patches of all files that a repair touches, under way.

mod atomic;
mod exclusion;
mod existing;
mod hidden;
mod lock_order;
mod moved;
mod order;
mod rewrite;

use std::collections::BTreeMap;

use unravel_results::PatchedFile;

use crate::locks::HoldError;
use crate::measures::{LockChoice, Measure};
use crate::source::{Language, Patch, PatchError, Source, line_change, unified_diff};
use crate::spots::{Files, Stretch};

/// Why a measure cannot be written down.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DraftError {
    #[error(transparent)]
    Patch(#[from] PatchError),
    #[error(transparent)]
    Hold(#[from] HoldError),
    #[error("`{name}` at line {line} may leave with the lock held")]
    HiddenExit { name: String, line: u32 },
    #[error("the source of {file} is not at hand")]
    NoSource { file: String },
}

/// A repair as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    pub files: Vec<PatchedFile>,
    pub diff: String,
    pub lines_added: u32,
    pub lines_removed: u32,
}

/// Patches under way, by file.
pub struct Draft<'f> {
    files: &'f Files,
    patches: BTreeMap<String, Patch<'f>>,
    /// Names that were given out.
    names: Vec<String>,
}

/// Writes measures as one patch.
pub fn write(measures: &[Measure], files: &Files) -> Result<Written, DraftError> {
    let mut draft = Draft { files, patches: BTreeMap::new(), names: Vec::new() };
    for measure in measures {
        draft.refuse_hidden_exits(measure.sections())?;
        match measure {
            Measure::Exclude { stretches, lock: LockChoice::New } => draft.new_lock(stretches)?,
            Measure::Exclude { stretches, lock: LockChoice::Existing { locks, .. } } => {
                draft.existing_lock(stretches, locks)?
            }
            Measure::Rewrite(rewrite) => draft.rewrite(&rewrite.edits)?,
            Measure::Order { first, times, .. } => {
                let same = |other: &&Measure| matches!(other, Measure::Order { first: f, times: t, .. } if f == first && t == times);
                let thens: Vec<&Stretch> =
                    measures.iter().filter(same).filter_map(awaiting).collect();
                // One flag for all who wait for the same.
                if measures.iter().find(same) == Some(measure) {
                    draft.order(first, *times, &thens)?;
                }
            }
            Measure::Atomic { updates } => draft.atomic(updates)?,
            Measure::LockOrder(order) => draft.lock_order(order)?,
            Measure::Move(change) => draft.moved(change)?,
        }
    }
    draft.finish()
}

impl<'f> Draft<'f> {
    fn source(&self, file: &str) -> Result<&'f Source, DraftError> {
        self.files.get(file).ok_or_else(|| DraftError::NoSource { file: file.to_owned() })
    }

    fn patch(&mut self, file: &str) -> Result<&mut Patch<'f>, DraftError> {
        let source = self.source(file)?;
        Ok(self.patches.entry(file.to_owned()).or_insert_with(|| Patch::new(source)))
    }

    /// A name that none of these files has.
    fn name(&mut self, wish: &str, files: &[&str]) -> Result<String, DraftError> {
        let mut name = wish.to_owned();
        loop {
            let before = name.clone();
            for file in files {
                name = self.source(file)?.fresh_name(&name);
            }
            if self.names.contains(&name) {
                name.push_str("_too");
            }
            if name == before {
                self.names.push(name.clone());
                return Ok(name);
            }
        }
    }

    /// Whether all of these are C++ that uses its own threads: then so does what is added.
    fn speaks_cpp(&self, files: &[&str]) -> Result<bool, DraftError> {
        for file in files {
            let source = self.source(file)?;
            let uses =
                ["std::thread", "std::mutex", "std::async", "std::jthread", "<thread>", "<mutex>"];
            let is_cpp = source.language() == Language::Cpp
                && uses.iter().any(|word| source.text().contains(word));
            if !is_cpp {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What a static mutex (`MUTEX`) or condition variable (`COND`) begins with. A file that was preprocessed has lost the macros;
    /// zeros are what they stand for on Linux.
    fn initializer(&self, files: &[&str], what: &str) -> Result<String, DraftError> {
        for file in files {
            if self.source(file)?.has_pthread_text() {
                return Ok("{ { 0 } }".to_owned());
            }
        }
        Ok(format!("PTHREAD_{what}_INITIALIZER"))
    }

    fn finish(self) -> Result<Written, DraftError> {
        let mut written =
            Written { files: Vec::new(), diff: String::new(), lines_added: 0, lines_removed: 0 };
        for (path, patch) in &self.patches {
            let old = self.source(path)?.text();
            let text = patch.apply()?;
            let change = line_change(old, &text);
            let name = self.files.name_in_diff(path);
            written.diff.push_str(&unified_diff(&name, old, &text));
            written.lines_added += change.added;
            written.lines_removed += change.removed;
            written.files.push(PatchedFile { path: path.clone(), text });
        }
        Ok(written)
    }
}

/// What waits, of an order.
fn awaiting(measure: &Measure) -> Option<&Stretch> {
    let Measure::Order { then, .. } = measure else { return None };
    Some(then)
}

/// A name for something about a function: `push_lock`, or the kind alone where the function has no name of its own.
fn wish(function: &str, kind: &str) -> String {
    let plain = function.rsplit("::").next().unwrap_or(function);
    let is_word = !plain.is_empty() && plain.chars().all(|c| c.is_alphanumeric() || c == '_');
    if is_word { format!("{plain}_{kind}") } else { format!("the_{kind}") }
}
