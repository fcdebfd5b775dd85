//! Bugs that share no cause, each repaired by itself. A set of measures against everything at once is cheap to find where one lock
//! mends all, and hardly ever otherwise: of four bugs with ten candidates each, one set in ten thousand stands. So each part is
//! repaired while the failures of the others are passed over, and what stood is put together and checked with nothing passed over.
//!
//! A failure of the others is known by its kind and line. Where lines move in a patch they are followed; one that is lost in it
//! is known no more, and what meets it is no repair. *Errs* towards fewer parts: bugs that cannot be told apart so are one.

use similar::{ChangeTag, TextDiff};
use unravel_causes::Analysis;
use unravel_results::{CauseClass, CausedBug, Causes, PatchedFile};
use unravel_trace::{BugId, KnownBug, SourceLine, WrittenPlace};

use crate::spots::Files;

/// Bugs, and the classes of causes that lead to them first of all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// Indices of [`Causes::bugs`].
    pub bugs: Vec<usize>,
    /// Indices of [`Causes::classes`].
    pub classes: Vec<usize>,
}

/// The parts, those with the most failing classes of schedules first.
pub fn parts(causes: &Causes) -> Vec<Part> {
    let mut parts: Vec<Part> =
        (0..causes.bugs.len()).map(|bug| Part { bugs: vec![bug], classes: Vec::new() }).collect();
    // The failure that a cause accounts for most: the others only come before it, and hide it.
    for (number, class) in causes.classes.iter().enumerate() {
        let its = |part: &&mut Part| class.bugs.first() == part.bugs.first();
        if let Some(part) = parts.iter_mut().find(its) {
            part.classes.push(number);
        }
    }
    let mixed_up =
        |a: &CausedBug, b: &CausedBug| known(&a.id, None).is_none_or(|a| a.covers(&b.id));
    for (a, one) in causes.bugs.iter().enumerate() {
        for (b, other) in causes.bugs.iter().enumerate() {
            if a != b && mixed_up(one, other) {
                join(&mut parts, |part| part.bugs.contains(&a) || part.bugs.contains(&b));
            }
        }
    }
    parts.retain(|part| !part.classes.is_empty());
    let weight = |part: &Part| part.bugs.iter().map(|bug| causes.bugs[*bug].classes).sum::<u64>();
    parts.sort_by_key(|part| std::cmp::Reverse(weight(part)));
    parts
}

/// Makes one of the parts that this is true of.
fn join(parts: &mut Vec<Part>, is_one: impl Fn(&Part) -> bool) {
    let (same, mut rest): (Vec<Part>, Vec<Part>) =
        std::mem::take(parts).into_iter().partition(|part| is_one(part));
    if !same.is_empty() {
        let gather = |of: fn(&Part) -> &Vec<usize>| {
            let mut all: Vec<usize> = same.iter().flat_map(|part| of(part).clone()).collect();
            all.sort_unstable();
            all
        };
        rest.push(Part { bugs: gather(|part| &part.bugs), classes: gather(|part| &part.classes) });
    }
    *parts = rest;
}

/// What is known of one part alone.
pub fn of_part(analysis: &Analysis, part: &Part) -> Analysis {
    let causes = &analysis.causes;
    let renumbered = |class: &CauseClass| {
        let at = |bug: &usize| part.bugs.iter().position(|own| own == bug);
        let same =
            class.same_regions_as.and_then(|other| part.classes.iter().position(|c| *c == other));
        CauseClass {
            bugs: class.bugs.iter().filter_map(at).collect(),
            same_regions_as: same,
            ..class.clone()
        }
    };
    let its_own = |run: &&unravel_trace::Run| {
        let id = run.outcome.failure().map(|failure| failure.id());
        id.is_some_and(|id| part.bugs.iter().any(|bug| causes.bugs[*bug].id == id))
    };
    Analysis {
        causes: Causes {
            bugs: part.bugs.iter().map(|bug| causes.bugs[*bug].clone()).collect(),
            classes: part.classes.iter().map(|class| renumbered(&causes.classes[*class])).collect(),
            ..causes.clone()
        },
        runs: analysis.runs.iter().filter(its_own).cloned().collect(),
        ..analysis.clone()
    }
}

/// The bugs that are no part of this.
pub fn others(causes: &Causes, part: &Part) -> Vec<usize> {
    (0..causes.bugs.len()).filter(|bug| !part.bugs.contains(bug)).collect()
}

/// Bugs to pass over, as a program has them whose changed files are these.
pub fn passed_over(bugs: &[BugId], files: &Files, changed: &[PatchedFile]) -> Vec<KnownBug> {
    bugs.iter().filter_map(|bug| known(bug, Some((files, changed)))).collect()
}

/// How a bug is known again: by the first of its places that a patch leaves.
fn known(bug: &BugId, patched: Option<(&Files, &[PatchedFile])>) -> Option<KnownBug> {
    let site = bug.places.iter().find_map(|place| {
        if place.line == 0 {
            return Some(WrittenPlace { file: place.short(), line: None });
        }
        let line = match patched {
            None => place.line,
            Some((files, changed)) => line_in(place, files, changed)?,
        };
        Some(WrittenPlace { file: end_of(&place.file), line: Some(line) })
    })?;
    Some(KnownBug { kind: bug.kind, site })
}

/// The end of a path that its copy has too.
fn end_of(path: &str) -> String {
    let words = path.split('/').filter(|word| !word.is_empty() && *word != "." && *word != "..");
    words.collect::<Vec<_>>().join("/")
}

/// Where a line is in the patched files; `None` if it was changed.
fn line_in(place: &SourceLine, files: &Files, changed: &[PatchedFile]) -> Option<u32> {
    let is_it = |file: &&PatchedFile| end_of(&file.path) == end_of(&place.file);
    let Some(new) = changed.iter().find(is_it) else {
        return Some(place.line);
    };
    let old = files.get(&new.path)?.text();
    followed(old, &new.text, place.line)
}

fn followed(old: &str, new: &str, line: u32) -> Option<u32> {
    let diff = TextDiff::from_lines(old, new);
    let mut same = diff.iter_all_changes().filter(|change| change.tag() == ChangeTag::Equal);
    let it = same.find(|change| change.old_index() == Some(line as usize - 1))?;
    it.new_index().map(|index| index as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_followed_through_a_patch() {
        let (old, new) = ("a\nb\nc\nd\n", "a\nnew\nb\nd\n");
        assert_eq!(followed(old, new, 2), Some(3));
        assert_eq!(followed(old, new, 4), Some(4));
        assert_eq!(followed(old, new, 3), None, "it is gone");
    }

    #[test]
    fn parts_that_a_cause_connects_are_one() {
        let part = |bug: usize| Part { bugs: vec![bug], classes: vec![bug] };
        let mut parts = vec![part(0), part(1), part(2)];
        join(&mut parts, |part| part.bugs.contains(&0) || part.bugs.contains(&2));
        assert_eq!(parts, [part(1), Part { bugs: vec![0, 2], classes: vec![0, 2] }]);
    }

    #[test]
    fn a_copy_of_a_file_has_the_end_of_its_path() {
        assert_eq!(end_of("../src/./a.c"), "src/a.c");
        assert_eq!(end_of("/home/me/a.c"), "home/me/a.c");
    }
}
