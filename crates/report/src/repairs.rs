//! Repairs in words, the same in all reports: what was checked, what it costs, which causes it rules out.

use unravel_results::{
    Causes, CausesVerdict, Check, CheckedAs, Meaning, Repair, RepairCost, Repairs,
};

use crate::words::{count, grouped, listed};
use crate::{file_names, inputs, notes};

/// One sentence: how many repairs there are, or why there is none.
pub fn headline(repairs: &Repairs) -> String {
    let tried = repairs.rejected.len() as u64;
    match (repairs.causes.verdict, repairs.repairs.len() as u64) {
        (CausesVerdict::NothingFails, _) => {
            "nothing fails, so there is nothing to repair".to_owned()
        }
        (CausesVerdict::Sequential, _) => {
            "no repair: it fails under every schedule, so no order of events helps".to_owned()
        }
        (_, 0) if tried == 0 && repairs.causes.classes.is_empty() => {
            "no repair found: no cause is known that one could rule out".to_owned()
        }
        (_, 0) if tried == 0 => "no repair found: there was no candidate".to_owned(),
        (_, 0) => {
            format!("no repair found: {} tried, none stood the checks", count(tried, "candidate"))
        }
        (_, some) if repairs.are_for_some() => {
            let bugs = count(repairs.causes.bugs.len() as u64, "bug");
            format!("no repair found for all {bugs}, but {some} for some of them")
        }
        (_, some) => format!("{} found, the best first", count(some, "repair")),
    }
}

/// `virtually: all 12 classes of schedules pass`, `…, with all 5 inputs tried`.
pub fn checked(causes: &Causes, check: &Check) -> String {
    let with = match (check.inputs.len(), causes.inputs.len()) {
        (0, _) | (_, 0) => String::new(),
        (some, all) if some < all => format!(", with {some} of the {all} inputs tried"),
        _ => {
            inputs::with_which(causes, &check.inputs).map_or_else(String::new, |w| format!(", {w}"))
        }
    };
    format!("{}{with}", explored(check))
}

/// Of a repair for one of several bugs, which: `for deadlock at bank.c:14; 3 other bugs are left`.
pub fn mends(all: &Repairs, repair: &Repair) -> Option<String> {
    if repair.leaves.is_empty() {
        return None;
    }
    let names = file_names::of_causes(&all.causes);
    let bugs = all.causes.bugs.iter().enumerate();
    let mended = bugs.filter(|(number, _)| !repair.leaves.contains(number));
    let mended: Vec<String> = mended.map(|(_, bug)| names.bug(&bug.id)).collect();
    let left = repair.leaves.len();
    let are = if left == 1 { "is" } else { "are" };
    Some(format!("for {}; {} {are} left", listed(&mended), count(left as u64, "other bug")))
}

/// `one after another: output, exit code and 5 globals as before`.
pub fn meaning(meaning: &Meaning) -> String {
    let globals = match meaning.globals {
        0 => String::new(),
        some => format!(" and the final values of {}", count(some, "global")),
    };
    format!("threads one after another: exit code, output{globals} as before")
}

fn explored(check: &Check) -> String {
    let how = match check.how {
        CheckedAs::Virtual => "virtually",
        CheckedAs::Patched => "patched and compiled",
    };
    let left = match check.aside {
        0 => None,
        1 => Some("1 that fails by a bug that is left".to_owned()),
        some => Some(format!("{} that fail by bugs that are left", grouped(some))),
    };
    if let (true, Some(left)) = (check.complete, &left) {
        return format!("{how}: all classes of schedules pass but {left}");
    }
    if check.complete {
        return match check.classes {
            1 => format!("{how}: the only class of schedules passes"),
            classes => format!("{how}: all {} classes of schedules pass", grouped(classes)),
        };
    }
    let schedules = match check.schedules {
        1 => "1 schedule".to_owned(),
        some => format!("{} schedules", grouped(some)),
    };
    let why = match check.left_out.is_empty() {
        true => String::new(),
        false => format!(": {}", notes::all_left_out(&check.left_out).join("; ")),
    };
    let but = left.map_or_else(String::new, |left| format!(" but {left}"));
    format!("{how}: {schedules}, none fails{but}; not all{why}")
}

/// `4 lines added, 0 removed; keeps 6 of 8 passing classes; longest critical section 3 lines`.
pub fn cost(cost: &RepairCost) -> String {
    let added = count(cost.lines_added, "line");
    let mut parts = vec![format!("{added} added, {} removed", cost.lines_removed)];
    if let Some((kept, all)) = cost.classes_kept {
        parts.push(match all {
            1 => format!("keeps {kept} of 1 passing class"),
            _ => format!("keeps {} of {} passing classes", grouped(kept), grouped(all)),
        });
    }
    if cost.longest_section > 0 {
        let lines = count(cost.longest_section, "line");
        parts.push(format!("longest critical section {lines}"));
    }
    parts.join("; ")
}

/// The same for those who do not want the numbers: `4 lines added; all interleavings that passed are left`.
pub fn cost_in_short(cost: &RepairCost) -> String {
    let lines = match (cost.lines_added, cost.lines_removed) {
        (added, 0) => format!("{} added", count(added, "line")),
        (added, removed) => format!("{} added, {removed} removed", count(added, "line")),
    };
    let kept = match cost.classes_kept {
        Some((kept, all)) if kept == all => "; all interleavings that passed are left".to_owned(),
        Some((kept, all)) => {
            format!("; {} of {} interleavings that passed are left", grouped(kept), grouped(all))
        }
        None => String::new(),
    };
    format!("{lines}{kept}")
}

/// What came of the last check: `all 25 interleavings pass`.
pub fn checked_in_short(causes: &Causes, check: &Check) -> String {
    let is_plain = check.complete && check.how == CheckedAs::Patched && check.aside == 0;
    if !is_plain || !check.inputs.is_empty() {
        return checked(causes, check);
    }
    match check.classes {
        1 => "the only interleaving left passes".to_owned(),
        all => format!("all {} interleavings pass", grouped(all)),
    }
}

/// A line of a diff with its number, of the new file but for lines that are removed. A file's name and a gap
/// ([`DiffLine::Hunk`]) have none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Changed {
    pub kind: DiffLine,
    pub number: u32,
    pub text: String,
}

/// The changed lines of a diff and so many around each; files are named where there are several.
pub fn changed_lines(diff: &str, around: usize) -> Vec<Changed> {
    let lines = diff_lines(diff);
    let is_new = |line: &&(DiffLine, String)| line.0 == DiffLine::File && line.1.starts_with("+++");
    let several = lines.iter().filter(is_new).count() > 1;
    let is_change = |index: usize| {
        lines.get(index).is_some_and(|l| matches!(l.0, DiffLine::Added | DiffLine::Removed))
    };
    // Blank lines tell nobody where they are.
    let is_near = |index: usize| {
        let text = lines[index].1.trim();
        !text.is_empty() && (index.saturating_sub(around)..=index + around).any(is_change)
    };
    let (mut old, mut new) = (0, 0);
    let mut shown: Vec<Changed> = Vec::new();
    let mut is_gap = false;
    for (index, (kind, text)) in lines.iter().enumerate() {
        let number = if *kind == DiffLine::Removed { old } else { new };
        match kind {
            DiffLine::File => {
                let name = text.strip_prefix("+++ b/").filter(|_| several);
                let name = name.map(|name| name.trim_end().to_owned());
                shown.extend(name.map(|text| Changed { kind: *kind, number: 0, text }));
                is_gap = false;
                continue;
            }
            DiffLine::Hunk => {
                (old, new) = starts(text).unwrap_or_default();
                is_gap = !shown.is_empty() && shown.last().is_none_or(|l| l.kind != DiffLine::File);
                continue;
            }
            DiffLine::Added => new += 1,
            DiffLine::Removed => old += 1,
            DiffLine::Context if text.starts_with('\\') => continue,
            DiffLine::Context => (old, new) = (old + 1, new + 1),
        }
        if !is_change(index) && !is_near(index) {
            is_gap |= shown.last().is_some_and(|l| l.kind != DiffLine::File);
            continue;
        }
        if std::mem::take(&mut is_gap) {
            shown.push(Changed { kind: DiffLine::Hunk, number: 0, text: String::new() });
        }
        shown.push(Changed { kind: *kind, number, text: text.clone() });
    }
    shown
}

/// Where a hunk starts in the old and the new file.
fn starts(line: &str) -> Option<(u32, u32)> {
    let mut parts = line.strip_prefix("@@ -")?.split(' ');
    let start = |range: &str| range.split(',').next()?.trim_start_matches('+').parse().ok();
    Some((start(parts.next()?)?, start(parts.next()?)?))
}

/// `cause 1`, `causes 1 and 3`, `all 4 causes`; nothing if there is one cause only.
pub fn rules_out(repairs: &Repairs, repair: &Repair) -> Option<String> {
    let all = repairs.causes.classes.len();
    let numbers: Vec<String> = repair.covers.iter().map(|class| (class + 1).to_string()).collect();
    match numbers.len() {
        _ if all < 2 => None,
        0 => None,
        2 if all == 2 => Some("both causes".to_owned()),
        some if some == all => Some(format!("all {all} causes")),
        1 => Some(format!("cause {}", numbers[0])),
        _ => Some(format!("causes {}", listed(&numbers))),
    }
}

/// What a line of a unified diff is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiffLine {
    /// A file's names, or other words before the first hunk.
    File,
    /// Where a hunk is.
    Hunk,
    Added,
    Removed,
    Context,
}

/// The lines of a unified diff. `---` and `+++` name files only where no hunk is going on, as a line of a program that
/// begins with `--` looks the same when it is removed.
pub fn diff_lines(diff: &str) -> Vec<(DiffLine, String)> {
    let mut left = (0_u32, 0_u32);
    let mut kind = |line: &str| {
        if left == (0, 0) {
            let Some(lengths) = hunk(line) else { return DiffLine::File };
            left = lengths;
            return DiffLine::Hunk;
        }
        let (old, new, kind) = match line.as_bytes().first() {
            Some(b'+') => (0, 1, DiffLine::Added),
            Some(b'-') => (1, 0, DiffLine::Removed),
            Some(b'\\') => (0, 0, DiffLine::Context),
            _ => (1, 1, DiffLine::Context),
        };
        left = (left.0.saturating_sub(old), left.1.saturating_sub(new));
        kind
    };
    diff.lines().map(|line| (kind(line), line.replace('\t', "    "))).collect()
}

/// How many lines of the old and the new file a hunk has, if this is the head of one: `@@ -5,6 +5,8 @@`.
fn hunk(line: &str) -> Option<(u32, u32)> {
    let mut parts = line.strip_prefix("@@ -")?.split(' ');
    let length = |range: &str| match range.split_once(',') {
        Some((_, length)) => length.parse().ok(),
        None => Some(1),
    };
    let old = length(parts.next()?)?;
    Some((old, length(parts.next()?)?))
}

/// The command that applies a repair's diff. Files that are not below this directory are named from the root.
pub fn apply_command(repair: &Repair, patch: &str) -> String {
    let is_elsewhere = |path: &str| path.starts_with('/') || path.starts_with("../");
    let elsewhere = repair.files.iter().any(|file| is_elsewhere(&file.path));
    let directory = if elsewhere { "-d / " } else { "" };
    format!("patch {directory}-p1 < {}", unravel_results::shell_word(patch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_its_numbers_and_a_line_around_it() {
        let diff = "--- a/x.c\n+++ b/x.c\n@@ -3,6 +3,7 @@\n three\n four\n+new\n-five\n+5\n six\n seven\n\\ No newline\n";
        let rows: Vec<(u32, String)> =
            changed_lines(diff, 1).into_iter().map(|row| (row.number, row.text)).collect();
        let expected = [(4, " four"), (5, "+new"), (5, "-five"), (6, "+5"), (7, " six")];
        assert_eq!(rows, expected.map(|(number, text)| (number, text.to_owned())));
    }

    #[test]
    fn lines_that_look_like_names_of_files_are_told_from_them() {
        use DiffLine::*;
        let diff = "--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,2 @@\n one\n--- two\n+++ two\n--- a/y.c\n";
        let kinds: Vec<DiffLine> = diff_lines(diff).into_iter().map(|(kind, _)| kind).collect();
        assert_eq!(kinds, [File, File, Hunk, Context, Removed, Added, File]);
    }
}
