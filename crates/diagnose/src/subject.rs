//! The program under diagnosis: executed again and again with one input, judged by the user's rules.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use unravel_execute::{Judge, Replay};
use unravel_trace::{
    BugId, Choice, Detail, Executor, Guess, Guided, Input, Outcome, Paths, Question, Run, Schedule,
    Scheduler, View, VisibleSet, Want,
};

use crate::points::{Counter, Keys, Point, Touch};
use crate::world::Ending;

/// What a run costs besides its instructions, counted in them.
const RUN_COST: u64 = 5_000;
/// What steering costs at each point.
const POINT_COST: u64 = 300;

/// Executes the program with the input of the failing run.
pub struct Subject<'a> {
    executor: &'a mut dyn Executor,
    judge: Judge,
    input: Input,
    visible: VisibleSet,
    deadline: Option<Instant>,
    interrupt: Option<&'a AtomicBool>,
    executed: u64,
    /// Instructions executed, and how many may be.
    steps: u64,
    budget: u64,
}

impl<'a> Subject<'a> {
    /// `judge` must already send the program's output away.
    pub fn new(
        executor: &'a mut dyn Executor,
        judge: Judge,
        input: Input,
        visible: VisibleSet,
    ) -> Self {
        Subject {
            executor,
            judge,
            input,
            visible,
            deadline: None,
            interrupt: None,
            executed: 0,
            steps: 0,
            budget: u64::MAX,
        }
    }

    /// Stops trying new schedules then.
    pub fn until(mut self, deadline: Option<Instant>, interrupt: Option<&'a AtomicBool>) -> Self {
        self.deadline = deadline;
        self.interrupt = interrupt;
        self
    }

    pub fn run(&mut self, scheduler: &mut dyn Scheduler, detail: Detail) -> Run {
        let visible = std::mem::take(&mut self.visible);
        let run = self.run_seeing(&visible, scheduler, detail, false);
        self.visible = visible;
        run
    }

    /// Runs with another visible set, looking for what is shared if `learn`.
    pub fn run_seeing(
        &mut self,
        visible: &VisibleSet,
        scheduler: &mut dyn Scheduler,
        detail: Detail,
        learn: bool,
    ) -> Run {
        self.executed += 1;
        let want = Want { learn, ..Want::only(detail) };
        let mut run = self.executor.run(&self.input, visible, scheduler, want);
        self.judge.judge(&mut run);
        self.steps += run.steps + RUN_COST + run.schedule.events() * POINT_COST;
        if run.schedule.visible.is_empty() {
            run.schedule.visible = visible.clone();
        }
        run
    }

    /// The paths of the last run, if it was symbolic and failed like this.
    pub fn paths(&self, failed: &Outcome) -> Option<Paths> {
        self.executor.paths(failed)
    }

    /// One attempt at rebuilding a run from its paths.
    pub fn guided(&mut self, paths: &Paths, guesses: &[Guess]) -> Option<Guided> {
        self.executed += 1;
        let guided = self.executor.guided(&self.input, &self.visible, paths, guesses)?;
        self.steps += guided.run.steps + RUN_COST;
        Some(guided)
    }

    pub fn visible(&self) -> &VisibleSet {
        &self.visible
    }

    pub fn executor(&self) -> &dyn Executor {
        self.executor
    }

    /// Changes the visible set.
    pub fn see(&mut self, visible: VisibleSet) {
        self.visible = visible;
    }

    /// Runs a schedule; where the program no longer fits, it goes on without preemption.
    pub fn replay(&mut self, schedule: &Schedule, detail: Detail) -> Run {
        self.run(&mut Replay::new(schedule), detail)
    }

    /// Runs a schedule and keeps its points.
    pub fn replay_points(
        &mut self,
        schedule: &Schedule,
        keys: &mut Keys,
        detail: Detail,
    ) -> (Run, Vec<Point>) {
        let mut log = Log {
            replay: Replay::new(schedule),
            keys,
            counter: Counter::default(),
            points: Vec::new(),
        };
        let run = self.run(&mut log, detail);
        (run, log.points)
    }

    /// Schedules executed so far.
    pub fn executed(&self) -> u64 {
        self.executed
    }

    /// From now on, schedules may be tried until they have taken so many instructions.
    pub fn allow(&mut self, steps: u64) {
        self.budget = self.steps.saturating_add(steps);
    }

    /// Whether more schedules may be tried.
    pub fn may_go_on(&self) -> bool {
        self.steps < self.budget && self.has_time() && !self.executor.is_damaged()
    }

    /// Whether neither the time is up nor somebody wants it to end.
    pub fn has_time(&self) -> bool {
        self.deadline.is_none_or(|d| Instant::now() < d)
            && self.interrupt.is_none_or(|i| !i.load(Ordering::Relaxed))
    }
}

/// What an outcome means for a diagnosis of `bug`.
pub fn ending(outcome: &Outcome, bug: &BugId) -> Ending {
    match outcome {
        Outcome::Exited { .. } => Ending::Passed,
        Outcome::Failed(failure) if failure.id() == *bug => Ending::Failed,
        Outcome::Failed(_) => Ending::FailedOtherwise,
        Outcome::Discarded | Outcome::Inconclusive { .. } => Ending::Unknown,
    }
}

/// A replay that notes each point.
struct Log<'a> {
    replay: Replay<'a>,
    keys: &'a mut Keys,
    counter: Counter,
    points: Vec<Point>,
}

impl Scheduler for Log<'_> {
    fn next(&mut self, view: &View<'_>) -> Choice {
        let choice = self.replay.next(view);
        let candidate = view
            .enabled
            .iter()
            .find(|c| c.thread == choice.thread)
            .expect("a replay chooses among the enabled");
        let thread = self.keys.thread(&view.names[choice.thread.index()]);
        let site = candidate.pending.site;
        let occurrence = self.counter.advance(thread, site);
        let key = self.keys.key(thread, site, occurrence);
        self.points.push(Point { key, thread, touch: Touch::of(&candidate.pending) });
        Choice { thread: choice.thread, events: 1 }
    }

    fn choose(&mut self, what: Question, options: u32) -> u32 {
        self.replay.choose(what, options)
    }

    fn finish(&mut self, events: u64) {
        self.replay.finish(events);
    }
}
