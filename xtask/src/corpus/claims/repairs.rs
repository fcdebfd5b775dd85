//! What `unravel repair` must make of a case.
//!
//! It shows a repair, unless the case says why there is none; then it complains once there is. Each repair that is shown
//! is applied to a copy of the case with code of our own ([`patch`](crate::corpus::patch)), which must give the very files that the answer
//! has, and stands 2,000 schedules of another seed than the tool's own check.

use std::fs;
use std::path::Path;

use super::Lab;
use crate::corpus::answer::{Search, ask};
use crate::corpus::case::Case;
use crate::corpus::caused::{Repair, Repairs};
use crate::corpus::patch;

/// What a repaired program must stand.
const STANDS: [&str; 6] = ["--schedules", "2000", "--seed", "7", "--time", "60s"];

pub fn check(lab: &Lab<'_>) -> Result<(), String> {
    let repairs = measure(lab)?;
    match (lab.case.expect.bug.repair.as_deref(), repairs.repairs.as_slice()) {
        (Some(_), []) => Ok(()),
        (Some(reason), [best, ..]) => Err(format!(
            "repair: expected none ('{reason}'), seen '{}': remove the key 'repair'",
            best.title
        )),
        (None, []) => Err("repair: expected one, seen none".into()),
        (None, all) => all.iter().enumerate().try_for_each(|(number, repair)| {
            stands(lab, repair, number)
                .map_err(|problem| format!("repair '{}': {problem}", repair.title))
        }),
    }
}

/// The repairs of the buggy program, whatever they are. Flags of its search (`find-with`) mean something else here.
pub fn measure(lab: &Lab<'_>) -> Result<Repairs, String> {
    let out = lab.scratch.join("repairs");
    let arguments = lab.arguments("repair", &lab.case.expect.sources, &[], &out)?;
    ask(lab.tool, lab.case, &arguments, &[0, 1, 3])
}

/// Nothing fails in the program with a repair.
pub fn stands(lab: &Lab<'_>, repair: &Repair, number: usize) -> Result<(), String> {
    let folder = lab.scratch.join(format!("repaired-{number}"));
    copy(&lab.case.folder, &folder)?;
    for (path, text) in agreed(repair, &folder)? {
        let path = folder.join(path);
        fs::write(&path, text)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    let case = Case { folder, expect: lab.case.expect.clone() };
    let repaired = Lab { tool: lab.tool, case: &case, scratch: lab.scratch };
    let found: Search = repaired.find(&case.expect.sources, &STANDS, "stands", 1)?;
    if let Some(finding) = found.findings.first() {
        let outcome = finding.run.outcome.describe(&case);
        return Err(format!("{outcome} in schedule {} of the repaired program", finding.schedule));
    }
    if !found.ends_well() || found.inconclusive > 0 {
        let reason = found.reason.unwrap_or(found.stopped);
        return Err(format!("only {} schedules could be followed: {reason}", found.schedules));
    }
    Ok(())
}

/// The files that a repair changes, if its diff and its files say the same.
fn agreed(repair: &Repair, folder: &Path) -> Result<Vec<(String, String)>, String> {
    let read = |path: &str| {
        fs::read_to_string(folder.join(path))
            .map_err(|error| format!("cannot read {path}: {error}"))
    };
    let patched =
        patch::apply(&repair.diff, read).map_err(|problem| format!("its diff: {problem}"))?;
    let mut files: Vec<(String, String)> =
        repair.files.iter().map(|file| (file.path.clone(), file.text.clone())).collect();
    files.sort();
    if files != patched.into_iter().collect::<Vec<_>>() {
        return Err("its diff and its files are not the same".into());
    }
    Ok(files)
}

/// Copies a folder with all it holds.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot copy {}: {error}", from.display());
    fs::create_dir_all(to).map_err(failed)?;
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target).map_err(failed)?;
        }
    }
    Ok(())
}
