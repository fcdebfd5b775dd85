//! Where candidates are executed: a laboratory with the failing run's input and visible set, and the bug that is to show.

use unravel_execute::Laboratory;
use unravel_trace::{BugId, Detail, Observer, Run, Schedule, Scheduler, VisibleSet, Want};

use crate::course::{Candidate, Course};
use crate::recording::Recording;
use crate::tolerant::{Early, Tolerant};
use crate::{Counts, Progress, Stage};

pub(crate) struct Trial<'a> {
    pub lab: Laboratory<'a>,
    pub bug: BugId,
    /// The environment deviates so often at most.
    pub deviations: usize,
    pub counts: Counts,
    pub stage: Stage,
    /// Context switches of the best run so far.
    pub switches: usize,
    pub watch: &'a mut dyn FnMut(&Progress) -> bool,
    /// Executions of the simplification that are left.
    pub left: u64,
    /// So many turns at the beginning stay as they are, but that the last of them may go on longer.
    pub fixed: usize,
    /// Sites that turned out to touch shared memory and are not visible.
    pub learned: VisibleSet,
    pub stopped: bool,
}

impl Trial<'_> {
    /// Executes a schedule.
    pub fn run(&mut self, by: &mut dyn Scheduler, seen: &mut dyn Observer, want: Want) -> Run {
        self.lab.run(by, seen, want)
    }

    pub fn is_the_bug(&self, run: &Run) -> bool {
        is_bug(run, &self.bug) && run.deviated.len() <= self.deviations
    }

    /// Executes a schedule as it is, with so much detail as the engine can keep up to this. `None` for the course if it does not fail so.
    pub fn replay(&mut self, schedule: &Schedule, detail: Detail) -> (Run, Option<Course>) {
        self.count();
        let mut recording = Recording::default();
        let want = Want::only(self.lab.at_most(detail));
        let (run, _) = self.lab.replay_seen(schedule, &mut recording, want);
        let course = self.is_the_bug(&run).then(|| recording.finish(&run));
        (run, course)
    }

    /// Executes a candidate tolerantly: what happened, if it is the same bug.
    pub fn attempt(&mut self, course: &Course, candidate: &Candidate) -> Option<Course> {
        self.attempt_in(course, candidate, Early::Allowed)
    }

    /// The same with less haste.
    pub fn attempt_in(
        &mut self,
        course: &Course,
        candidate: &Candidate,
        early: Early,
    ) -> Option<Course> {
        self.count();
        let mut recording = Recording::default();
        let mut tolerant = Tolerant::new(course, candidate, early);
        let run = self.run(&mut tolerant, &mut recording, Want::only(Detail::Outcome));
        self.is_the_bug(&run).then(|| recording.finish(&run))
    }

    /// The failing run with everything visible that it shares. Where the trace does not show an access, no thread can be
    /// interrupted before it, and two states can look like one.
    pub fn widen(&mut self, schedule: &Schedule) -> Schedule {
        let bug = &self.bug;
        self.lab.widen(schedule, |run| is_bug(run, bug))
    }

    /// The same run with what the proof learned made visible; `None` if it learned nothing, or the run does not fail so
    /// then.
    pub fn with_learned(&mut self, schedule: &Schedule) -> Option<Schedule> {
        let learned = std::mem::take(&mut self.learned);
        let bug = &self.bug;
        (!learned.is_empty())
            .then(|| self.lab.with_visible(schedule, &learned, |run| is_bug(run, bug)))?
    }

    fn count(&mut self) {
        self.counts.executed += 1;
        self.left = self.left.saturating_sub(1);
    }

    /// Whether there is time for more, and nobody wants it to end.
    pub fn may_go_on(&mut self) -> bool {
        let progress = Progress { stage: self.stage, switches: self.switches, counts: self.counts };
        self.stopped |= !self.lab.may_go_on() || !(self.watch)(&progress);
        !self.stopped
    }
}

fn is_bug(run: &Run, bug: &BugId) -> bool {
    run.outcome.failure().is_some_and(|failure| failure.id() == *bug)
}
