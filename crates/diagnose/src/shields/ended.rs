//! Failures that nothing but the end of the process keeps away.
//!
//! A thread that nobody waits for fails whenever it gets there, and the runs that pass are those in which main has returned before.
//! No order of its events is to be advised then. Claimed if every passing run that is known ends while the thread that fails has
//! not, and every schedule that was tried with a process that ends last fails: so, or before it comes to that.

use unravel_results::{Evidence, Kept, Pattern};
use unravel_trace::{EventKind, FailureKind, Shield, ThreadId, ThreadName, Trace};

use super::trial::Trials;
use crate::failing::Failing;
use crate::pattern::Words;

pub fn describe(
    trials: &mut Trials<'_>,
    failing: &Failing,
    passing: &[&Trace],
) -> Option<(Words, Evidence)> {
    let who = &failing.failure.thread;
    let at = failing.failure.place()?;
    let first = passing.first()?;
    if *who == ThreadName::main() || passing.iter().any(|run| has_ended(run, who)) {
        return None;
    }
    let (tried, otherwise) = trials.never_passes(&[Shield::Outlived])?;
    let or_else =
        if otherwise == 0 { "" } else { ", if the program has not failed elsewhere before" };
    let last = first.events.iter().rfind(|event| event.thread == ThreadId::MAIN);
    let left = last.and_then(|event| first.place(event)).unwrap_or(at);
    // When a function returns is nothing that schedules decide.
    let advice = match failing.failure.kind {
        FailureKind::DeadStack => format!(
            "let whoever lends a local variable to {who} wait for it before the function returns, or keep what {} uses where it lives \
             long enough; main returns while {who} still runs",
            at.short()
        ),
        _ => format!(
            "no order of the threads that was tried keeps {} from failing: what it demands, or what leads there, is wrong; besides, \
             nobody waits for {who}: join it before main returns",
            at.short()
        ),
    };
    let words = Words {
        pattern: Pattern::NeverHolds,
        sentence: format!(
            "whenever {who} comes to {}, it fails{or_else}; runs pass only where main returns, or the process exits, after {} and before \
             that: with the process all its threads end",
            at.short(),
            left.short()
        ),
        advice,
        region: vec![at.clone(), left.clone()],
    };
    let kept = Kept { shield: Shield::Outlived, from: left.clone(), to: at.clone() };
    Some((words, Evidence::Unavoidable { kept: vec![kept], tried }))
}

/// Whether a thread came to its end in a run.
pub fn has_ended(run: &Trace, name: &ThreadName) -> bool {
    run.events
        .iter()
        .any(|event| event.kind == EventKind::Exit && run.thread_name(event.thread) == name)
}
