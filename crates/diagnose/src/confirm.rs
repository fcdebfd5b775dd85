//! Runs that pass are executed before anybody sees them.
//!
//! A model ends where the failing run ended (Symbiosis §3.5), so that an order that passes in it says nothing of what comes after, and
//! there the same thing may go wrong one line later: who was kept away from the failing step for a moment comes right behind
//! it. Then its last turns are left out, and it goes on behind all others.

use rustc_hash::FxHashSet;
use unravel_execute::Laboratory;
use unravel_results::Observed;
use unravel_trace::{BugId, Keys, Run, Schedule, Want};

use crate::alternate::{Nearby, Reference};
use crate::budgets::MOST_COMPLETIONS;
use crate::points::{Point, PointLog, replay_points};
use crate::world::{Ending, Tried, ending_of};

/// A schedule that should pass, executed and compared with the failing run; `None` if it does not.
pub fn confirm(
    lab: &mut Laboratory<'_>,
    schedule: &Schedule,
    bug: &BugId,
    reference: &mut Reference,
    goal: &'static str,
) -> Option<Nearby> {
    let mut keys = Keys::default();
    let (run, points) = replay_points(lab, schedule, &mut keys, reference.detail);
    passed(run, points, bug, reference, goal)
}

/// The same of a schedule that ends before the program does: if it fails after that, with one of its last threads behind all
/// others.
pub fn confirm_completed(
    lab: &mut Laboratory<'_>,
    schedule: &Schedule,
    bug: &BugId,
    reference: &mut Reference,
    goal: &'static str,
) -> Option<Nearby> {
    let whole = confirm(lab, schedule, bug, reference, goal);
    whole.or_else(|| {
        last_turns(schedule).into_iter().find_map(|turn| {
            let mut keys = Keys::default();
            let mut log = PointLog::new(&mut keys);
            let mut shorter = schedule.clone();
            let left_out = shorter.segments.remove(turn);
            let last = &schedule.threads[left_out.thread as usize];
            let run = lab.complete_seen(&shorter, last, &mut log, Want::only(reference.detail));
            passed(run, log.finish(), bug, reference, goal)
        })
    })
}

/// The last turn of each of the threads that had one at last.
fn last_turns(schedule: &Schedule) -> Vec<usize> {
    let mut seen = FxHashSet::default();
    let turns = schedule.segments.iter().enumerate().rev();
    let last = turns.filter(|(_, turn)| seen.insert(turn.thread)).map(|(index, _)| index);
    last.take(MOST_COMPLETIONS).collect()
}

fn passed(
    run: Run,
    points: Vec<Point>,
    bug: &BugId,
    reference: &mut Reference,
    goal: &'static str,
) -> Option<Nearby> {
    if ending_of(&run, bug) != Ending::Passed {
        return None;
    }
    let tried = Tried { points, ending: Ending::Passed, schedule: run.schedule.clone() };
    let observed = Observed { trace: run.trace, schedule: run.schedule, outcome: run.outcome };
    Some(reference.measure(observed, Some(tried), goal))
}
