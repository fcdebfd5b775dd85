//! Long runs: preemptions are dropped by halves, quarters, eighths, … before anything is looked at one by one.
//!
//! Delta debugging (Zeller & Hildebrandt, TSE 2002) over the preemptions of a run. A thread whose preemption is dropped goes on
//! until it cannot; its later turns have that much less to do. A failure needs few preemptions, so that of 25,000 all but
//! some dozens go in a few hundred executions; Tinertia's operations are for what is left.

use crate::course::{AS_FAR_AS_IT_CAN, Candidate, Course};
use crate::trial::Trial;

/// Fewer switches than these are left to Tinertia.
const FEW: usize = 48;
/// Executions of this stage.
const EXECUTIONS: u64 = 600;

/// The same failure with fewer switches.
pub(crate) fn coarse(trial: &mut Trial<'_>, course: Course) -> Course {
    let before = trial.counts.executed;
    let mut coarse = Coarse { trial, course };
    let mut size = coarse.preemptions().len().div_ceil(2);
    while size > 0 && coarse.course.switches().all() > FEW {
        let dropped = coarse.sweep(size);
        if coarse.trial.counts.executed - before > EXECUTIONS || !coarse.trial.may_go_on() {
            break;
        }
        let left = coarse.preemptions().len();
        // What was dropped may have made room for dropping more at once.
        size = if dropped && size > 1 { size.min(left.div_ceil(2)) } else { size / 2 };
    }
    coarse.course
}

struct Coarse<'t, 'a> {
    trial: &'t mut Trial<'a>,
    course: Course,
}

impl Coarse<'_, '_> {
    /// The turns that end with a preemption.
    fn preemptions(&self) -> Vec<usize> {
        let all = self.course.turns.len().saturating_sub(1);
        (0..all).filter(|at| !self.course.forced[*at]).collect()
    }

    /// Tries to drop each group of so many preemptions, the last first; true if any was.
    fn sweep(&mut self, size: usize) -> bool {
        let mut any = false;
        let mut end = self.preemptions().len();
        while end > 0 && self.trial.left > 0 && self.trial.may_go_on() {
            let begin = end.saturating_sub(size);
            let group = self.preemptions()[begin..end].to_vec();
            if self.drop(&group) {
                any = true;
                end = begin.min(self.preemptions().len());
            } else {
                end = begin;
            }
        }
        any
    }

    fn drop(&mut self, group: &[usize]) -> bool {
        let Some(first) = group.first() else { return false };
        let mut turns = self.course.turns.clone();
        for at in group {
            turns[*at].upto = AS_FAR_AS_IT_CAN;
        }
        let candidate = Candidate { turns, same: *first };
        let Some(course) = self.trial.attempt(&self.course, &candidate) else { return false };
        let better = course.switches().cost() < self.course.switches().cost();
        if better {
            self.trial.switches = course.switches().all();
            self.course = course;
        }
        better
    }
}
