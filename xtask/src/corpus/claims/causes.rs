//! What `unravel causes` must make of a case that says how many causes it has.
//!
//! Every order of every cause is needed, and causes between the same lines are counted once: so many as the case says.
//! That all classes of schedules were explored is `bench causes`' to demand: a machine with other work may not come to the
//! end of the largest.

use super::Lab;
use crate::corpus::answer::ask;
use crate::corpus::caused::Causes;

pub fn check(lab: &Lab<'_>) -> Result<(), String> {
    let Some(expected) = lab.case.expect.bug.causes else {
        return Ok(());
    };
    let causes = measure(lab, &[])?;
    let seen = causes.classes.len();
    if seen != expected as usize {
        return Err(format!("causes: expected {expected} by lines, seen {seen}"));
    }
    if !causes.are_minimal() {
        return Err("causes: expected every cause to be minimal".into());
    }
    Ok(())
}

/// The causes of the buggy program, whatever they are. Flags of its search (`find-with`) mean nothing here.
pub fn measure(lab: &Lab<'_>, flags: &[&str]) -> Result<Causes, String> {
    let out = lab.scratch.join("causes");
    let arguments = lab.arguments("causes", &lab.case.expect.sources, flags, &out)?;
    ask(lab.tool, lab.case, &arguments, &[0, 1, 3])
}
