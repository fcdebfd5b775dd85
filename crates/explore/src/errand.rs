//! What a worker does with an order: executes runs, judges them, and notes what they teach.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rustc_hash::FxHashSet;
use unravel_results::{Tally, Unfollowed};
use unravel_trace::{
    BugId, Detail, Executor, FailureKind, Input, Method, Nondet, Outcome, ReadsFrom, Rng, Run,
    VisibleSet, Want,
};

use crate::coverage::{Noticed, Watched};
use crate::search::{Finding, Plan};
use crate::worker::{Lane, Lesson, Order, Range, Report, Work};
use unravel_execute::Judge;
use unravel_execute::Replay;
use unravel_strategies::{Bounding, Exhaustive, Strategy};
use unravel_strategies::{Counted, Systematic};
use unravel_strategies::{Knowledge, LEARNING, is_common, is_full};

/// The worker, and what it keeps from order to order.
pub(crate) struct Errands<'a, E> {
    executor: &'a mut E,
    input: &'a Input,
    plan: &'a Plan,
    judge: Judge,
    /// The run being executed, for those who see us die.
    current: &'a AtomicU64,
    all: VisibleSet,
    knowledge: Knowledge,
    noticed: Noticed,
    explorers: Vec<Explorer>,
}

/// A systematic search, and the visible set that its decisions mean something with.
struct Explorer {
    method: Method,
    lane: Lane,
    visible: VisibleSet,
    search: Box<dyn Systematic>,
}

/// An order while it is carried out.
struct Errand {
    started: Instant,
    milliseconds: Option<u64>,
    /// Bugs that need not be reported.
    seen: Vec<BugId>,
    flows: FxHashSet<ReadsFrom>,
    report: Report,
}

impl<'a, E: Executor> Errands<'a, E> {
    pub fn new(
        executor: &'a mut E,
        input: &'a Input,
        plan: &'a Plan,
        judge: Judge,
        current: &'a AtomicU64,
    ) -> Errands<'a, E> {
        let all = executor.all_sites();
        Errands {
            executor,
            input,
            plan,
            judge,
            current,
            all,
            knowledge: Knowledge::default(),
            noticed: Noticed::default(),
            explorers: Vec::new(),
        }
    }

    pub fn run(&mut self, order: Order) -> Report {
        if let Some(knowledge) = order.knowledge {
            self.knowledge = knowledge;
        }
        let mut errand = Errand {
            started: Instant::now(),
            milliseconds: order.milliseconds,
            seen: order.known,
            flows: FxHashSet::default(),
            report: Report::default(),
        };
        match order.work {
            Work::Samples { runs, at_once } => self.sample(runs, at_once, &mut errand),
            Work::Slots { method, lane, runs } => self.explore(method, lane, runs, &mut errand),
            Work::Confirm { index, run } => errand.report.findings.push(self.confirm(index, *run)),
        }
        Report { flows: errand.flows.into_iter().collect(), ..errand.report }
    }

    /// Executes the samples among these runs that are this shard's.
    fn sample(&mut self, runs: Range, at_once: bool, errand: &mut Errand) {
        errand.report.next = runs.end;
        for index in runs.start..runs.end {
            if self.plan.slot(index).is_some() || !self.plan.shard.has(index) {
                continue;
            }
            let full = is_full(index);
            let teaches = is_common(index);
            let strategy: Strategy = self.plan.strategy;
            let mut scheduler = strategy.scheduler(self.plan.seed, index, &self.knowledge, full);
            let visible = if full { &self.all } else { &self.knowledge.visible };
            let learn = full || index < LEARNING;
            let want = Want { learn, ..Want::only(Detail::Outcome) };
            self.noticed.clear(teaches);
            let mut watched = Watched { inner: &mut *scheduler, noticed: &mut self.noticed };
            self.current.store(index, Ordering::Relaxed);
            let input = input_of(self.input, index);
            let mut run = self.executor.run(&input, visible, &mut watched, want);
            self.judge.judge(&mut run);
            if run.outcome.failure().is_some() {
                run.schedule.visible = visible.clone();
            }
            self.notice(index, full, &run, errand);
            if at_once {
                self.knowledge.visible.merge(&run.learned);
            }
            if self.take(index, run, errand) {
                errand.report.next = index + 1;
                return;
            }
        }
    }

    /// Goes on with a systematic search in the slots among these runs.
    fn explore(&mut self, method: Method, lane: Lane, runs: Range, errand: &mut Errand) {
        errand.report.next = runs.end;
        let mut explorer = self.explorer(method, lane);
        for index in runs.start..runs.end {
            if self.plan.slot(index) != Some(method) || !self.plan.is_in_lane(index, lane) {
                continue;
            }
            let Some(mut scheduler) = explorer.search.scheduler() else { break };
            self.noticed.clear(false);
            let mut watched = Watched { inner: &mut *scheduler, noticed: &mut self.noticed };
            let prune_spins = method == Method::Exhaustive;
            let want = Want { learn: true, prune_spins, ..Want::only(Detail::Outcome) };
            self.current.store(index, Ordering::Relaxed);
            let visible = &explorer.visible;
            let mut run = self.executor.run(self.input, visible, &mut watched, want);
            drop(scheduler);
            self.judge.judge(&mut run);
            run.learned = run.learned.without(visible);
            let counted = explorer.search.learn(&run);
            if run.outcome.failure().is_some() {
                run.schedule.visible = visible.clone();
            }
            errand.report.learned.merge(&run.learned);
            // What a lane stops is another's, or nothing new: no run at all.
            if run.outcome == Outcome::Discarded && counted != Counted::New {
                continue;
            }
            if counted == Counted::New {
                errand.report.classes.push(self.noticed.class.value());
                errand.flows.extend(&self.noticed.flows);
            }
            if self.take(index, run, errand) {
                errand.report.next = index + 1;
                break;
            }
        }
        let summary = explorer.search.summary();
        errand.report.systematic = Some(summary);
        self.explorers.push(explorer);
    }

    /// The search that was left off, or a new one if the visible set is another.
    fn explorer(&mut self, method: Method, lane: Lane) -> Explorer {
        let same = |e: &Explorer| e.method == method && e.lane == lane;
        let old = self.explorers.iter().position(same).map(|at| self.explorers.swap_remove(at));
        if let Some(explorer) = old
            && explorer.visible == self.knowledge.visible
        {
            return explorer;
        }
        let search: Box<dyn Systematic> = match (method, self.plan.strategy) {
            (Method::Exhaustive, _) => Box::new(Exhaustive::new(lane.number, lane.of)),
            (Method::Bounded, Strategy::Bounded(bound)) => {
                Box::new(Bounding::new(bound, lane.number, lane.of))
            }
            (Method::Bounded, _) => Box::new(Bounding::new(None, lane.number, lane.of)),
        };
        Explorer { method, lane, visible: self.knowledge.visible.clone(), search }
    }

    /// Notes what a sample teaches.
    fn notice(&mut self, index: u64, full: bool, run: &Run, errand: &mut Errand) {
        let report = &mut errand.report;
        report.learned.merge(&run.learned);
        if !full {
            report.classes.push(self.noticed.class.value());
            errand.flows.extend(&self.noticed.flows);
        }
        if is_common(index) {
            let names = &run.schedule.threads;
            let profiler = self.noticed.profiler.as_mut();
            report.lessons.push(Lesson {
                index,
                full,
                events: run.schedule.events(),
                flows: self.noticed.flows.iter().copied().collect(),
                profile: profiler.map(|p| p.finish(names)).unwrap_or_default(),
                conflicts: self.noticed.conflicts.take().map(|c| c.finish()).unwrap_or_default(),
            });
        }
    }

    /// Counts a run and keeps it if it failed; true if the errand ends here.
    fn take(&mut self, index: u64, run: Run, errand: &mut Errand) -> bool {
        let report = &mut errand.report;
        count(&mut report.tally, &run);
        if let Outcome::Failed(failure) = &run.outcome {
            let id = failure.id();
            match self.plan.known.iter().position(|known| covers(known, &id)) {
                Some(number) => report.tally.count_put_aside(number, 1),
                None => report.tally.count_failed(id.clone(), 1),
            }
            if report.tally.times(&id) > 0 && !errand.seen.contains(&id) {
                errand.seen.push(id);
                let finding = if self.executor.is_damaged() {
                    Finding { index, run, replayed: false }
                } else {
                    self.confirm(index, run)
                };
                errand.report.findings.push(finding);
            }
        }
        let elapsed = errand.started.elapsed().as_millis() as u64;
        let late = errand.milliseconds.is_some_and(|ms| elapsed >= ms);
        let report = &mut errand.report;
        report.damaged = self.executor.is_damaged();
        late || report.damaged || self.plan.after_first.stops() && !report.findings.is_empty()
    }

    /// Executes a failing schedule once more, keeping its events.
    fn confirm(&mut self, index: u64, run: Run) -> Finding {
        let mut replay = Replay::new(&run.schedule);
        let input = &run.input(self.input);
        let want = Want::only(Detail::Events);
        let mut again = self.executor.run(input, &run.schedule.visible, &mut replay, want);
        self.judge.judge(&mut again);
        // Who waits for ever may do so for another number of rounds.
        let waits = run.outcome.failure().is_some_and(|f| f.kind == FailureKind::Livelock);
        let is_same = replay.divergence().is_none() && again.schedule == run.schedule;
        let replayed = again.outcome.is_same_bug(&run.outcome) && (is_same || waits);
        Finding { index, run: if replayed { again } else { run }, replayed }
    }
}

/// What a run did, but for how it failed.
fn count(tally: &mut Tally, run: &Run) {
    let mut this = Tally {
        schedules: 1,
        steps: run.steps,
        most_events: run.schedule.events(),
        most_threads: run.schedule.threads.len() as u64,
        nondet: !run.nondet.is_empty(),
        notes: run.notes.clone(),
        ..Tally::default()
    };
    match &run.outcome {
        Outcome::Exited { code: 0 } | Outcome::Failed(_) => {}
        Outcome::Exited { code } => {
            this.nonzero_exits = 1;
            this.exit_code = Some(*code);
        }
        Outcome::Discarded => this.discarded = 1,
        Outcome::Inconclusive { reason, at } => {
            this.inconclusive = 1;
            let (reason, at) = (reason.clone(), at.clone());
            this.reason = Some(Unfollowed::Inconclusive { reason, at });
        }
    }
    tally.add(this);
}

/// The input of a run: the same as the user's, but with other nondeterministic values every few runs, unless
/// the user gave them.
fn input_of(input: &Input, index: u64) -> Cow<'_, Input> {
    const RUNS_PER_INPUT: u64 = 8;
    match input.nondet {
        Nondet::Seed(seed) if index >= RUNS_PER_INPUT => {
            let nondet = Nondet::Seed(Rng::derive(seed, index / RUNS_PER_INPUT));
            Cow::Owned(Input { nondet, ..input.clone() })
        }
        _ => Cow::Borrowed(input),
    }
}

/// Whether a bug the user knows is this one: the same kind, at one of the same places (a line, or a whole file).
fn covers(known: &BugId, found: &BugId) -> bool {
    let is_at = |site: &String| {
        found.places.iter().any(|place| {
            place == site || place.rsplit_once(':').is_some_and(|(file, _)| file == site)
        })
    };
    known.kind == found.kind && known.places.iter().any(is_at)
}
