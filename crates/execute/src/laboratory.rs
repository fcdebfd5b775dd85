//! The laboratory: one program with one input, executed again and again, within limits. What searches, simplifications,
//! diagnoses, causes and hunts share.
//!
//! Work is counted in instructions, with what a run and an event cost besides, so that where a search ends does not depend
//! on the machine; time and Ctrl-C only abort. An engine that fails ends all work: from then on nothing is executed, every
//! run is inconclusive, [`Laboratory::may_go_on`] says no, and [`Laboratory::problem`] says why. Whoever opened the laboratory
//! reports that as an error, not as a result.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use unravel_strategies::{Random, RunToBlock, YoungestFirst};
use unravel_trace::{
    Capability, Detail, EngineError, Executor, Followed, Forced, FreeInput, Guess, Guided, Health,
    Input, Job, Lead, Led, Nondet, Observer, Outcome, Paths, Route, Run, Schedule, Scheduler,
    ThreadName, VisibleSet, Want,
};

use crate::budgets::{EVENT_COST, LEARNING_RUNS, RUN_COST, WIDENING_ROUNDS};
use crate::process::pipe;
use crate::{Child, Divergence, Limit, Recount, Replay, clock};

/// Executes a program with one input.
pub struct Laboratory<'a> {
    executor: &'a mut dyn Executor,
    input: Input,
    visible: VisibleSet,
    limit: Limit<'a>,
    runs: u64,
    work: u64,
    /// How much work there may be.
    budget: u64,
    /// Whether time could have passed for some thread, in any run, while others were late.
    could_deviate: bool,
    problem: Option<EngineError>,
}

/// How what is shared is learnt.
#[derive(Clone, Copy, Debug)]
pub struct Lesson<'a> {
    /// Runs at random.
    pub runs: u64,
    /// Every second of them switches only where this says.
    pub also: Option<&'a VisibleSet>,
    /// When to stop, though never before the second run.
    pub until: Option<Instant>,
}

impl Default for Lesson<'_> {
    fn default() -> Self {
        Lesson { runs: LEARNING_RUNS, also: None, until: None }
    }
}

impl<'a> Laboratory<'a> {
    pub fn new(executor: &'a mut dyn Executor, input: Input, visible: VisibleSet) -> Self {
        Laboratory {
            executor,
            input,
            visible,
            limit: Limit::default(),
            runs: 0,
            work: 0,
            budget: u64::MAX,
            could_deviate: false,
            problem: None,
        }
    }

    /// Nothing new is begun then.
    #[must_use]
    pub fn until(mut self, deadline: Option<Instant>, interrupt: Option<&'a AtomicBool>) -> Self {
        self.limit = Limit::new(deadline, interrupt);
        self
    }

    /// When nothing new is begun any more: for work that executes nothing, and still takes long.
    pub fn limit(&self) -> Limit<'a> {
        self.limit
    }

    /// The same program in a laboratory of its own: another input, another visible set, other limits.
    pub fn annex(&mut self, input: Input, visible: VisibleSet) -> Laboratory<'_> {
        let Limit { deadline, interrupt } = self.limit;
        Laboratory::new(&mut *self.executor, input, visible).until(deadline, interrupt)
    }

    /// From now on a run is given up after so many steps.
    pub fn limit_steps(&mut self, steps: u64) {
        self.input.limits.max_steps = steps;
    }

    /// From now on the environment deviates in these answers, whatever a scheduler says; gives those before.
    pub fn force(&mut self, forced: Vec<Forced>) -> Vec<Forced> {
        std::mem::replace(&mut self.input.forced, forced)
    }

    /// From now on nondeterministic values come from here; gives where they came from before.
    pub fn guess(&mut self, from: Nondet) -> Nondet {
        std::mem::replace(&mut self.input.nondet, from)
    }

    /// One run.
    pub fn run(&mut self, by: &mut dyn Scheduler, seen: &mut dyn Observer, want: Want) -> Run {
        let visible = std::mem::take(&mut self.visible);
        let run = self.run_seeing(&visible, by, seen, want);
        self.visible = visible;
        run
    }

    /// Whether the program passes with its threads one after another, the eldest first or the youngest: then whatever makes
    /// it fail has to do with their order.
    pub fn passes_one_after_another(&mut self) -> bool {
        let each: [&mut dyn Scheduler; 2] = [&mut RunToBlock, &mut YoungestFirst];
        each.into_iter().any(|by| {
            let run = self.run(by, &mut (), Want::only(Detail::Outcome));
            matches!(run.outcome, Outcome::Exited { .. })
        })
    }

    /// What to talk through with a process that is forked from this one.
    pub fn pipe(&mut self) -> std::io::Result<(File, File)> {
        pipe(self.executor)
    }

    /// A process with the same laboratory, and what it does there.
    pub fn fork(&mut self, body: impl FnOnce(&mut Laboratory<'_>)) -> std::io::Result<Child> {
        let (input, visible) = (self.input.clone(), self.visible.clone());
        Child::fork(self.executor, |executor| {
            body(&mut Laboratory::new(executor, input, visible));
        })
    }

    /// One run with another visible set.
    pub fn run_seeing(
        &mut self,
        visible: &VisibleSet,
        by: &mut dyn Scheduler,
        seen: &mut dyn Observer,
        want: Want,
    ) -> Run {
        let input = std::mem::take(&mut self.input);
        let run = self.run_with(&input, visible, by, seen, want);
        self.input = input;
        run
    }

    /// One run with another input and another visible set.
    pub fn run_with(
        &mut self,
        input: &Input,
        visible: &VisibleSet,
        by: &mut dyn Scheduler,
        seen: &mut dyn Observer,
        want: Want,
    ) -> Run {
        let job = Job { input, visible, want };
        let mut run = match &self.problem {
            None => self.executor.run(&job, by, seen).unwrap_or_else(|error| self.fail(error)),
            Some(problem) => not_executed(problem),
        };
        self.runs += 1;
        self.could_deviate |= run.could_deviate;
        self.work += run.steps + RUN_COST + run.schedule.events() * EVENT_COST;
        if run.schedule.visible.is_empty() {
            // Without it the counts of a schedule mean nothing.
            run.schedule.visible = visible.clone();
        }
        run
    }

    fn fail(&mut self, error: EngineError) -> Run {
        let run = not_executed(&error);
        self.problem = Some(error);
        run
    }

    /// A schedule again, with the visible set that it counts by; where the program no longer fits, it goes on without
    /// preemption.
    pub fn replay(&mut self, schedule: &Schedule, detail: Detail) -> Run {
        self.replay_seen(schedule, &mut (), Want::only(detail)).0
    }

    /// The same, observed; and where the run left the schedule.
    pub fn replay_seen(
        &mut self,
        schedule: &Schedule,
        seen: &mut dyn Observer,
        want: Want,
    ) -> (Run, Option<Divergence>) {
        let mut replay = Replay::new(schedule);
        let run = self.run_seeing(&schedule.visible, &mut replay, seen, want);
        (run, replay.divergence())
    }

    /// A schedule that ends before the program does, observed; after it everybody goes on before this thread does.
    pub fn complete_seen(
        &mut self,
        schedule: &Schedule,
        last: &ThreadName,
        seen: &mut dyn Observer,
        want: Want,
    ) -> Run {
        let mut replay = Replay::new(schedule).with_last(last);
        self.run_seeing(&schedule.visible, &mut replay, seen, want)
    }

    /// What threads share, as a few runs show it that may switch at every access: the youngest thread first, because what a
    /// program does before its threads get anywhere is the same in most runs; then at random. `each` makes the input of a run
    /// of its number, `done` is told of every run.
    pub fn learn(
        &mut self,
        lesson: &Lesson<'_>,
        mut each: impl FnMut(&Input, u64) -> Input,
        mut done: impl FnMut(Run, Input),
    ) -> VisibleSet {
        let all = self.executor.sites().all().clone();
        if !self.can(Capability::Learn) {
            // Then everything may be shared.
            return all;
        }
        let mut shared = VisibleSet::default();
        for number in 0..=lesson.runs {
            let late = lesson.until.is_some_and(|until| clock::now() > until);
            if number > 1 && (late || !self.may_go_on()) {
                break;
            }
            let mut scheduler: Box<dyn Scheduler> = match number.checked_sub(1) {
                None => Box::new(YoungestFirst),
                Some(seed) => Box::new(Random::new(seed)),
            };
            let visible = lesson.also.filter(|_| number > 0 && number % 2 == 0).unwrap_or(&all);
            let input = each(&self.input, number);
            let want = Want { learn: true, ..Want::only(Detail::Outcome) };
            let run = self.run_with(&input, visible, &mut *scheduler, &mut (), want);
            shared.merge(&run.learned);
            // Who is alone shares nothing, and does the same in every run.
            let is_alone = run.schedule.threads.len() == 1 && run.nondet.is_empty();
            done(run, input);
            if is_alone || self.is_damaged() {
                break;
            }
        }
        shared
    }

    /// The same run with everything visible that it shares: a bug that is found in the first runs of a search was found
    /// before all that threads share was known to be shared. What `is_same` says to make another run of it stays out of
    /// sight. The laboratory sees as much as the schedule that is returned.
    pub fn widen(
        &mut self,
        schedule: &Schedule,
        mut is_same: impl FnMut(&Run) -> bool,
    ) -> Schedule {
        let mut schedule = schedule.clone();
        let rounds = if self.can(Capability::Learn) { WIDENING_ROUNDS } else { 0 };
        for _ in 0..rounds {
            let want = Want { learn: true, ..Want::only(Detail::Outcome) };
            let run = self.recount(&schedule, &self.visible.clone(), &mut (), want);
            let more = run.learned.without(&self.visible);
            if !is_same(&run) || more.is_empty() {
                break;
            }
            match self.with_visible(&schedule, &more, &mut is_same) {
                Some(wider) => schedule = wider,
                None => break,
            }
        }
        schedule
    }

    /// The same run with these sites visible too; `None`, and nothing changes, if it is another run then.
    pub fn with_visible(
        &mut self,
        schedule: &Schedule,
        more: &VisibleSet,
        mut is_same: impl FnMut(&Run) -> bool,
    ) -> Option<Schedule> {
        let mut visible = self.visible.clone();
        visible.merge(more);
        let run = self.recount(schedule, &visible, &mut (), Want::only(Detail::Outcome));
        if !is_same(&run) {
            return None;
        }
        self.visible = visible;
        Some(run.schedule)
    }

    /// A schedule, counted as it was recorded, in a run with a larger visible set.
    pub fn recount(
        &mut self,
        schedule: &Schedule,
        visible: &VisibleSet,
        seen: &mut dyn Observer,
        want: Want,
    ) -> Run {
        self.run_seeing(visible, &mut Recount::new(schedule), seen, want)
    }

    pub fn input(&self) -> &Input {
        &self.input
    }

    pub fn visible(&self) -> &VisibleSet {
        &self.visible
    }

    /// Changes the visible set.
    pub fn see(&mut self, visible: VisibleSet) {
        self.visible = visible;
    }

    pub fn executor(&mut self) -> &mut dyn Executor {
        self.executor
    }

    pub fn can(&self, capability: Capability) -> bool {
        self.executor.can().has(capability)
    }

    /// As much as the engine can keep of a run, up to this. Whoever gets less says what follows from it.
    pub fn at_most(&self, detail: Detail) -> Detail {
        let needs = |detail| match detail {
            Detail::Outcome => None,
            Detail::Events => Some(Capability::Events),
            Detail::Symbolic => Some(Capability::Symbolic),
            Detail::Separable => Some(Capability::Separable),
        };
        let all = [Detail::Separable, Detail::Symbolic, Detail::Events];
        let possible = |detail: &Detail| needs(*detail).is_none_or(|what| self.can(what));
        all.into_iter().filter(|less| *less <= detail).find(possible).unwrap_or(Detail::Outcome)
    }

    /// One attempt at rebuilding a run from its paths.
    pub fn guided(&mut self, paths: &Paths, guesses: &[Guess]) -> Result<Guided, EngineError> {
        let want = Want::only(Detail::Symbolic);
        let job = Job { input: &self.input, visible: &self.visible, want };
        let guide = self.executor.guide().ok_or(EngineError::Cannot(Capability::Guided))?;
        let guided = guide.guided(&job, paths, guesses);
        let guided = guided.inspect_err(|error| self.problem = Some(error.clone()))?;
        self.runs += 1;
        self.work += guided.run.steps + RUN_COST;
        Ok(guided)
    }

    /// One run whose threads keep to a route, or, without one, say which they took.
    pub fn follow(
        &mut self,
        route: Option<&Arc<Route>>,
        by: &mut dyn Scheduler,
        seen: &mut dyn Observer,
        want: Want,
    ) -> Result<Followed, EngineError> {
        let job = Job { input: &self.input, visible: &self.visible, want };
        let guide = self.executor.guide().ok_or(EngineError::Cannot(Capability::Guided))?;
        let followed = guide.follow(&job, route, by, seen);
        let mut followed = followed.inspect_err(|error| self.problem = Some(error.clone()))?;
        let run = &mut followed.run;
        self.runs += 1;
        self.work += run.steps + RUN_COST + run.schedule.events() * EVENT_COST;
        if run.schedule.visible.is_empty() {
            run.schedule.visible = self.visible.clone();
        }
        Ok(followed)
    }

    /// One run that begins as it is led, with these inputs open.
    pub fn lead(
        &mut self,
        input: &Input,
        lead: &Lead,
        guesses: &[Guess],
        free: FreeInput,
    ) -> Result<Led, EngineError> {
        let want = Want { free, ..Want::only(Detail::Separable) };
        let job = Job { input, visible: &self.visible, want };
        let guide = self.executor.guide().ok_or(EngineError::Cannot(Capability::Guided))?;
        let led = guide.lead(&job, lead, guesses);
        let led = led.inspect_err(|error| self.problem = Some(error.clone()))?;
        self.runs += 1;
        self.work += led.run.steps + RUN_COST;
        Ok(led)
    }

    pub fn is_damaged(&self) -> bool {
        self.executor.health() == Health::Damaged
    }

    /// Executed so far.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Whether any run so far could have gone otherwise if a thread had been late. One schedule alone says little: who sleeps
    /// while nobody else can go on is never early.
    pub fn could_deviate(&self) -> bool {
        self.could_deviate
    }

    /// Instructions executed, with what runs and events cost besides.
    pub fn work(&self) -> u64 {
        self.work
    }

    /// From now on there may be so much work.
    pub fn allow(&mut self, work: u64) {
        self.budget = self.work.saturating_add(work);
    }

    /// Whether more may be executed.
    pub fn may_go_on(&self) -> bool {
        self.work < self.budget && self.has_time() && self.problem.is_none() && !self.is_damaged()
    }

    /// Whether neither the time is up nor somebody wants it to end.
    pub fn has_time(&self) -> bool {
        self.limit.may_go_on()
    }

    /// What went wrong with the engine.
    pub fn problem(&self) -> Option<&EngineError> {
        self.problem.as_ref()
    }
}

/// What stands for a run that there was none of.
fn not_executed(problem: &EngineError) -> Run {
    let outcome = Outcome::Inconclusive { reason: problem.to_string(), at: None };
    Run { outcome, ..Run::default() }
}
