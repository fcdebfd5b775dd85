//! A repair as a `fix`: lines of the files that are there, replaced by lines of the patched ones.
//!
//! Without the text of one of the files there is no fix: a part of a repair is none. Nothing tells whether a file is still
//! the one that was patched; if it is not, the fix is against the file as it is, and undoes what was changed meanwhile.

use similar::{DiffOp, capture_diff_slices};
use unravel_results::{PatchedFile, Repair};

use super::log::{ArtifactChange, ArtifactLocation, Content, DeletedRegion, Fix, Replacement};
use super::message;
use super::place::uri;
use crate::source::Sources;

/// The fix that a repair is; `None` if one of its files cannot be read.
pub fn fix(repair: &Repair, sources: &Sources) -> Option<Fix> {
    let changes = repair.files.iter().map(|file| change(file, sources));
    let artifact_changes = changes.collect::<Option<Vec<ArtifactChange>>>()?;
    let is_some = !artifact_changes.is_empty();
    is_some.then(|| Fix { description: message(&repair.title), artifact_changes })
}

fn change(file: &PatchedFile, sources: &Sources) -> Option<ArtifactChange> {
    let old = sources.lines(&file.path)?;
    let new: Vec<String> = file.text.lines().map(str::to_owned).collect();
    let replacements: Vec<Replacement> = capture_diff_slices(similar::Algorithm::Myers, &old, &new)
        .iter()
        .filter(|change| !matches!(change, DiffOp::Equal { .. }))
        .map(|change| replacement(change, &new))
        .collect();
    let location = ArtifactLocation { uri: uri(&file.path), index: None };
    // A change has at least one replacement.
    (!replacements.is_empty())
        .then_some(ArtifactChange { artifact_location: location, replacements })
}

/// Whole lines, from the beginning of the first to that of the one after the last; none are deleted if these are the same.
fn replacement(change: &DiffOp, new: &[String]) -> Replacement {
    let line = |index: usize| index as u32 + 1;
    let inserted: String = new[change.new_range()].iter().map(|line| format!("{line}\n")).collect();
    Replacement {
        deleted_region: DeletedRegion {
            start_line: line(change.old_range().start),
            start_column: 1,
            end_line: line(change.old_range().end),
            end_column: 1,
        },
        inserted_content: (!inserted.is_empty()).then_some(Content { text: inserted }),
    }
}
