//! Unified diffs.

use similar::{ChangeTag, TextDiff};

use super::number;

/// How much a patch changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    pub added: u32,
    pub removed: u32,
}

/// The lines added and removed.
pub fn line_change(old: &str, new: &str) -> Change {
    let diff = TextDiff::from_lines(old, new);
    let count = |tag| number(diff.iter_all_changes().filter(|change| change.tag() == tag).count());
    Change { added: count(ChangeTag::Insert), removed: count(ChangeTag::Delete) }
}

/// A diff with three lines of context that `patch -p1` and `git apply` accept; empty if nothing differs.
pub fn unified_diff(path: &str, old: &str, new: &str) -> String {
    let path = path.trim_start_matches('/');
    let diff = TextDiff::from_lines(old, new);
    let mut unified = diff.unified_diff();
    unified.context_radius(3).header(&format!("a/{path}"), &format!("b/{path}"));
    unified.to_string()
}
