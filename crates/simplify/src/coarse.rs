//! Long runs: windows of many turns are made coarse at once, before anything is looked at one by one.
//!
//! Within a window each thread does in one turn what it did in several; where everybody is at the end of the window stays the
//! same, so that what comes after it is not upset. First the window is the whole run; one that cannot be made coarse
//! without losing the failure is halved, as in delta debugging (Zeller & Hildebrandt, TSE 2002). A failure needs few
//! interruptions, each in one window of every size, so that of ten thousand turns some dozens are left after as many
//! executions. Tinertia's operations are for those.

use crate::budgets::{COARSE_EXECUTIONS, FEW_TURNS, SMALLEST_WINDOW};
use crate::course::{Candidate, Course, Turn};
use crate::trial::Trial;

/// The same failure with fewer switches.
pub(crate) fn coarse(trial: &mut Trial<'_>, course: Course) -> Course {
    let until = trial.counts.executed + COARSE_EXECUTIONS;
    let mut coarse = Coarse { trial, course, until };
    loop {
        let before = coarse.course.turns.len();
        let fixed = coarse.trial.fixed.min(before);
        coarse.window(fixed, before);
        let after = coarse.course.turns.len();
        if after <= FEW_TURNS || after >= before || !coarse.may_go_on() {
            return coarse.course;
        }
    }
}

struct Coarse<'t, 'a> {
    trial: &'t mut Trial<'a>,
    course: Course,
    /// The number of executions at which it ends.
    until: u64,
}

impl Coarse<'_, '_> {
    fn may_go_on(&mut self) -> bool {
        self.trial.counts.executed < self.until && self.trial.left > 0 && self.trial.may_go_on()
    }

    /// Makes the turns of a window coarse, or those of its halves. The later half first: what comes before it stays.
    fn window(&mut self, from: usize, to: usize) {
        if to - from < SMALLEST_WINDOW || !self.may_go_on() || self.merge(from, to) {
            return;
        }
        let middle = from + (to - from) / 2;
        self.window(middle, to);
        self.window(from, middle);
    }

    /// One turn a thread, in the order of their last turns; true if it fails so with fewer switches.
    fn merge(&mut self, from: usize, to: usize) -> bool {
        let mut merged: Vec<Turn> = Vec::new();
        for turn in &self.course.turns[from..to] {
            merged.retain(|earlier| earlier.thread != turn.thread);
            merged.push(*turn);
        }
        if merged.len() == to - from {
            return false;
        }
        let (before, after) = (&self.course.turns[..from], &self.course.turns[to..]);
        let turns = [before, &merged, after].concat();
        let candidate = Candidate { turns, same: from };
        let Some(course) = self.trial.attempt(&self.course, &candidate) else { return false };
        let better = course.switches().cost() < self.course.switches().cost();
        if better {
            self.trial.switches = course.switches().all();
            self.course = course;
        }
        better
    }
}
