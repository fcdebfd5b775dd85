//! From a failing run to one nearer to a run that passed: of the orders that it turns round, as few as still make it fail.
//!
//! For the comparison of a failure with the run that it was derived from (Cortex, thesis §5.2.3). An order that a solver or a walk
//! came to does much besides what the failure takes; what is not needed is left out by halves, after delta debugging. Every
//! run is executed. *Not done*: runs that count by another visible set.

use unravel_execute::Laboratory;
use unravel_trace::{BugId, Detail, Keys, Schedule, Want};

use crate::alternate::{fewest, reversed};
use crate::budgets::{ALTERNATE_WORK, MAX_APPROACHES};
use crate::execution::extents;
use crate::pairs::immediate;
use crate::points::replay_points;
use crate::steer::{Positions, Steer};
use crate::world::{Ending, Mode, ending};

/// A schedule that fails with this bug and otherwise follows the passing one; `None` if the orders that the failing one turns round do not
/// make it fail by themselves.
pub fn nearer(
    lab: &mut Laboratory<'_>,
    passing: &Schedule,
    failing: &Schedule,
    bug: &BugId,
) -> Option<Schedule> {
    if !passing.visible.is_same(&failing.visible) {
        return None;
    }
    let mut keys = Keys::default();
    let (run, from) = replay_points(lab, passing, &mut keys, Detail::Events);
    let (_, to) = replay_points(lab, failing, &mut keys, Detail::Outcome);
    let turned = reversed(&immediate(&from, &extents(&run.trace)), &to);
    let positions = Positions::new(&from);
    let mut nearest = None;
    lab.allow(ALTERNATE_WORK);
    // Each that fails has fewer orders than the one before.
    fewest(turned, MAX_APPROACHES, |orders| {
        if !lab.may_go_on() {
            return false;
        }
        let mut steer = Steer::new(&mut keys, orders, &positions, &passing.choices, Mode::Follow);
        let run = lab.run(&mut steer, &mut (), Want::only(Detail::Outcome));
        let fails = ending(&run.outcome, bug) == Ending::Failed;
        if fails {
            nearest = Some(run.schedule);
        }
        fails
    });
    nearest
}
