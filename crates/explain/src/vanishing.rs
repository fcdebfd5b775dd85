//! Tries what keeps one bug away on another, in a process of its own.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use unravel_diagnose::vanishes;
use unravel_execute::{Apart, Attended, Judged, Laboratory, Limit};
use unravel_explore::Finding;
use unravel_results::{Kept, Vanished};
use unravel_trace::{Executor, Rules};

use crate::explain::Task;

/// Whether a finding's failure goes away if this is kept. `None` if not, or if that was not found out in time.
pub fn apart(
    executor: &mut dyn Executor,
    request: &Task<'_>,
    finding: &Finding,
    kept: &[Kept],
    deadline: Instant,
    interrupted: &AtomicBool,
) -> Option<Vanished> {
    let mut work: Apart<Option<Vanished>> = Apart::start(executor, |executor, stop, send| {
        let input = finding.run.input(request.input);
        let mut executor = Judged::new(executor, &finding.rules(&Rules::default()));
        let visible = finding.run.schedule.visible.clone();
        let mut lab =
            Laboratory::new(&mut executor, input, visible).until(Some(deadline), Some(stop));
        send(&vanishes(&mut lab, &finding.run, kept));
    })
    .ok()?;
    match work.attend(Limit::new(Some(deadline), Some(interrupted)), |message| message) {
        Attended::Done(vanished) => vanished,
        Attended::Ended { .. } | Attended::Late => None,
    }
}
