//! Where candidates are executed: the program with the input, the visible set and the rules of the failing run.

use std::time::Instant;

use unravel_execute::{Judge, Replay};
use unravel_trace::{BugId, Detail, Executor, Input, Run, Schedule, Scheduler, VisibleSet, Want};

use crate::course::{Candidate, Course};
use crate::tolerant::{Recorded, Tolerant};
use crate::{Counts, Progress, Stage};

/// What a run costs besides its instructions, counted in them.
const RUN_COST: u64 = 4_000;
/// What an event costs.
const EVENT_COST: u64 = 50;

pub(crate) struct Trial<'a> {
    pub executor: &'a mut dyn Executor,
    pub judge: &'a mut Judge,
    pub input: Input,
    pub visible: VisibleSet,
    pub bug: BugId,
    pub counts: Counts,
    pub stage: Stage,
    /// Context switches of the best run so far.
    pub switches: usize,
    pub until: Option<Instant>,
    pub watch: &'a mut dyn FnMut(&Progress) -> bool,
    /// Executions of the simplification that are left.
    pub left: u64,
    /// Instructions executed.
    pub steps: u64,
    /// Sites that turned out to touch shared memory and are not visible.
    pub learned: VisibleSet,
    pub stopped: bool,
}

impl Trial<'_> {
    /// Executes a schedule; it is judged.
    pub fn run(&mut self, scheduler: &mut dyn Scheduler, want: Want) -> Run {
        let mut run = self.executor.run(&self.input, &self.visible, scheduler, want);
        self.judge.judge(&mut run);
        self.steps += run.steps + RUN_COST + run.schedule.events() * EVENT_COST;
        run
    }

    pub fn is_the_bug(&self, run: &Run) -> bool {
        run.outcome.failure().is_some_and(|failure| failure.id() == self.bug)
    }

    /// Executes a schedule as it is, with so much detail. `None` for the course if it does not fail so.
    pub fn replay(&mut self, schedule: &Schedule, detail: Detail) -> (Run, Option<Course>) {
        self.count();
        let mut recorded = Recorded::new(Replay::new(schedule));
        let run = self.run(&mut recorded, Want::only(detail));
        let course = self.is_the_bug(&run).then(|| recorded.finish(&run));
        (run, course)
    }

    /// Executes a candidate tolerantly: what happened, if it is the same bug.
    pub fn attempt(&mut self, course: &Course, candidate: &Candidate) -> Option<Course> {
        self.count();
        let mut tolerant = Tolerant::new(course, candidate);
        let run = self.run(&mut tolerant, Want::only(Detail::Outcome));
        self.is_the_bug(&run).then(|| tolerant.finish(&run))
    }

    fn count(&mut self) {
        self.counts.executed += 1;
        self.left = self.left.saturating_sub(1);
    }

    /// Whether there is time for more, and nobody wants it to end.
    pub fn may_go_on(&mut self) -> bool {
        let progress = Progress { stage: self.stage, switches: self.switches, counts: self.counts };
        self.stopped |= self.until.is_some_and(|until| Instant::now() >= until)
            || self.executor.is_damaged()
            || !(self.watch)(&progress);
        !self.stopped
    }
}
