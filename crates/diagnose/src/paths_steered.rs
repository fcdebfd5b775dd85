//! From each thread's branches alone to a failing schedule (Symbiosis, §3.3), by execution instead of by a solver: the program runs with its real values, and is steered so
//! that every thread keeps to its path (room `rebuild`, without any stamp).
//!
//! What symbols cannot follow is no obstacle here (addresses, what library functions say, failures that no condition tells); what is
//! searched is the order of accesses, best first by how far the paths were kept. Errs on the side of finding nothing: a run is
//! reported only if it was executed along the paths, and once more by its schedule alone, with the same failure.

use std::sync::Arc;

use unravel_execute::{Laboratory, Replay};
use unravel_rebuild::{Expected, Options, RebuildError, Rebuilt, Task, rebuild};
use unravel_trace::{BugId, Detail, Route, Schedule, Want};

use crate::budgets::STEERED_RUNS;
use crate::diagnose::DiagnoseError;
use crate::paths_only::Found;
use crate::world::{Ending, ending};

/// What is left of a failing run: the branches of its threads, with their places, and its failure.
pub struct Steered {
    task: Task,
}

impl Steered {
    /// One replay of which the route is kept. `None` if it does not end with the bug: what is judged after a run, as its output is,
    /// no steered run shows.
    pub fn along(
        lab: &mut Laboratory<'_>,
        schedule: &Schedule,
        bug: &BugId,
    ) -> Result<Option<Steered>, DiagnoseError> {
        lab.see(schedule.visible.clone());
        let mut replay = Replay::new(schedule);
        let followed = lab.follow(None, &mut replay, &mut (), Want::only(Detail::Outcome))?;
        let failure = followed.run.outcome.failure().filter(|failure| failure.id() == *bug);
        let (Some(failure), Some(route)) = (failure, &followed.taken) else {
            return Ok(None);
        };
        let expected = Expected::Bug { thread: failure.thread.clone(), id: bug.clone() };
        let route: Arc<Route> = route.clone();
        let middle = vec![false; route.legs.len()];
        Ok(Some(Steered { task: Task { route, hints: Vec::new(), middle, expected } }))
    }

    /// A failing run along the paths. `led` says why leading threads along them did not get there.
    pub fn seek(&self, lab: &mut Laboratory<'_>, led: &str) -> Result<Found, DiagnoseError> {
        let Expected::Bug { id: bug, .. } = &self.task.expected else {
            unreachable!("made so by `along`")
        };
        let options = Options { stamps: false, runs: STEERED_RUNS, ..Options::default() };
        let none = |why: String| DiagnoseError::NoFailingSchedule(format!("{led}; steered, {why}"));
        let found = match rebuild(lab, &self.task, &options) {
            Ok(found) if ending(&found.run.outcome, bug) == Ending::Failed => found,
            Ok(other) => return Err(none(format!("it ends otherwise ({})", other.run.outcome))),
            Err(RebuildError::Engine(error)) => return Err(error.into()),
            Err(why) => return Err(none(why.to_string())),
        };
        let Rebuilt { run, runs, branches, threads, .. } = found;
        let note = format!(
            "--paths-only: the failing schedule was found from {branches} branches of {threads} threads, without their order or any \
             value: by steering {runs} run{} along them",
            if runs == 1 { "" } else { "s" },
        );
        Ok(Found { run, note })
    }
}
