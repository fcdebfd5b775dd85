//! The right visible set: every site that touches what two threads touch, and no other.
//!
//! A search may have found the failure before it had learned all of that, or in a run that could switch at any
//! access. The failing run is executed with everything visible, its own decisions counted as they were recorded; what
//! it and a few runs at random find to be shared is the new visible set, and the failing run is steered to once
//! more, in terms of that.

use unravel_execute::{Laboratory, Lesson};
use unravel_trace::{BugId, Capability, Detail, Keys, Schedule, Want};

use crate::budgets::LEARNING_RUNS;
use crate::points::PointLog;
use crate::steer::{Positions, Steer};
use crate::world::{Ending, Mode, ending};

/// The failing schedule in terms of a better visible set, which the laboratory uses from now on. `None` if the failure
/// did not show again that way; then nothing changes.
pub fn settle(lab: &mut Laboratory<'_>, recorded: &Schedule, bug: &BugId) -> Option<Schedule> {
    let all = lab.executor().sites().all().clone();
    let mut keys = Keys::default();
    let mut log = PointLog::new(&mut keys);
    let want = Want { learn: lab.can(Capability::Learn), ..Want::only(Detail::Outcome) };
    let run = lab.recount(recorded, &all, &mut log, want);
    let points = log.finish();
    if ending(&run.outcome, bug) != Ending::Failed {
        return None;
    }
    let mut shared = run.learned;
    let lesson = Lesson { runs: LEARNING_RUNS, also: Some(&recorded.visible), until: None };
    shared.merge(&lab.learn(&lesson, |input, _| input.clone(), |_, _| {}));
    let positions = Positions::new(&points);
    // A thread that had not begun when it failed has no place in the run: without patience it would come first.
    let mut steer =
        Steer::new(&mut keys, &[], &positions, &recorded.choices, Mode::Follow).patient();
    let run = lab.run_seeing(&shared, &mut steer, &mut (), Want::only(Detail::Outcome));
    if ending(&run.outcome, bug) != Ending::Failed {
        return None;
    }
    lab.see(shared);
    Some(run.schedule)
}
