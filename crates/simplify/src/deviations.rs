//! The same failure with fewer deviations of the environment.
//!
//! First none at all, then one less and again one less. Deviations that are answers are taken out of the input; of those that
//! are choices of a thread, the turn is skipped as if the thread were blocked, and whatever the run does then counts. So the
//! result is minimal in that no single deviation can be left out this way; whether other schedules need fewer is not asked.

use unravel_trace::Forced;

use crate::course::{Candidate, Course};
use crate::tolerant::Early;
use crate::trial::Trial;

/// The course of a run that fails so with fewer deviations, or the same course.
pub(crate) fn fewer(trial: &mut Trial<'_>, mut course: Course) -> Course {
    trial.deviations = course.deviations;
    while course.deviations > 0 && trial.left > 0 && trial.may_go_on() {
        let Some(better) = with_less(trial, &course) else { break };
        trial.deviations = better.deviations;
        trial.switches = better.switches().all();
        course = better;
    }
    course
}

/// The first attempt that fails so with less.
fn with_less(trial: &mut Trial<'_>, course: &Course) -> Option<Course> {
    let forced = trial.lab.input().forced.clone();
    for (rest, early) in attempts(&forced, course.deviations) {
        if trial.left == 0 || !trial.may_go_on() {
            break;
        }
        trial.lab.force(rest);
        let same = Candidate { turns: course.turns.clone(), same: 0 };
        let found = trial.attempt_in(course, &same, early);
        if let Some(better) = found.filter(|found| found.deviations < course.deviations) {
            return Some(better);
        }
    }
    trial.lab.force(forced);
    None
}

/// What to do without: everything, then one at a time.
fn attempts(forced: &[Forced], deviations: usize) -> Vec<(Vec<Forced>, Early)> {
    let mut attempts = vec![(Vec::new(), Early::Never)];
    for left_out in 0..forced.len() {
        let mut rest = forced.to_vec();
        rest.remove(left_out);
        attempts.push((rest, Early::Allowed));
    }
    let choices = deviations.saturating_sub(forced.len());
    attempts.extend((0..choices).map(|number| (forced.to_vec(), Early::AllBut(number))));
    attempts
}
