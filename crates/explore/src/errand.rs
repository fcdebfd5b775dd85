//! What a worker does with an order: executes runs and notes what they teach.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rustc_hash::FxHasher;
use unravel_execute::{Laboratory, Replay, clock, judge};
use unravel_results::{Tally, Unfollowed};
use unravel_strategies::{
    Bounding, Counted, Deviating, Exhaustive, Guesses, Guessing, Knowledge, LEARNING, LONGEST,
    Sight, Strategy, Systematic, deviations_of, is_common, is_full,
};
use unravel_trace::{
    BugId, Capability, Detail, Executor, FailureKind, Input, LeftOut, Method, Nondet, Note,
    Outcome, Reached, Rng, Rules, Run, Scheduler, Uninit, VisibleSet, Want,
};

use crate::budgets::{OUTPUTS, PASSING};
use crate::coverage::{Noticed, Purpose};
use crate::search::{Finding, Plan};
use crate::worker::{Ended, Lane, Order, Range, Report, Work};

/// The worker, and what it keeps from order to order.
pub(crate) struct Errands<'a> {
    lab: Laboratory<'a>,
    plan: &'a Plan,
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
    deviations: u32,
    steps: u64,
    visible: VisibleSet,
    search: Box<dyn Systematic>,
}

/// An order while it is carried out.
struct Errand {
    started: Instant,
    milliseconds: Option<u64>,
    /// Bugs that need not be reported.
    seen: Vec<BugId>,
    report: Report,
}

impl<'a> Errands<'a> {
    pub fn new(
        executor: &'a mut dyn Executor,
        input: &'a Input,
        plan: &'a Plan,
        current: &'a AtomicU64,
    ) -> Errands<'a> {
        let all = executor.sites().all().clone();
        Errands {
            lab: Laboratory::new(executor, input.clone(), VisibleSet::default()),
            plan,
            current,
            all,
            knowledge: Knowledge::default(),
            noticed: Noticed::new(plan.strategy.needs()),
            explorers: Vec::new(),
        }
    }

    pub fn run(&mut self, order: Order) -> Report {
        if let Some(knowledge) = order.knowledge {
            self.knowledge = knowledge;
            if self.knowledge.steps > 0 {
                self.lab.limit_steps(self.knowledge.steps);
            }
        }
        let mut errand = Errand {
            started: clock::now(),
            milliseconds: order.milliseconds,
            seen: order.known,
            report: Report::default(),
        };
        match order.work {
            Work::Samples { runs, at_once } => self.sample(runs, at_once, &mut errand),
            Work::Slots { method, lane, runs, deviations } => {
                let explorer = self.explorer(method, lane, deviations);
                self.explore(explorer, runs, &mut errand);
            }
            Work::Confirm { index, run } => errand.report.findings.push(self.confirm(index, *run)),
        }
        let problem = self.lab.problem().map(ToString::to_string);
        Report { flows: self.noticed.take_flows(), problem, ..errand.report }
    }

    /// Executes the samples among these runs that are this shard's.
    fn sample(&mut self, runs: Range, at_once: bool, errand: &mut Errand) {
        errand.report.next = runs.end;
        for index in runs.start..runs.end {
            if self.plan.slot(index).is_some() || !self.plan.shard.has(index) {
                continue;
            }
            let sight = self.knowledge.sight(index);
            let full = sight == Sight::Everything;
            let teaches = is_common(index);
            let strategy: Strategy = self.plan.strategy;
            let visible = match sight {
                Sight::Everything => &self.all,
                Sight::Shared => &self.knowledge.visible,
                Sight::Unordered => &self.knowledge.unordered,
            };
            // Who sees least does so for speed.
            let may_learn = is_full(index) && sight != Sight::Unordered || index < LEARNING;
            let learn = may_learn && self.lab.can(Capability::Learn);
            let output =
                full && index < OUTPUTS && self.plan.exit_codes && self.lab.can(Capability::Output);
            let skip_rounds = self.lab.can(Capability::PruneSpins);
            let want = Want { learn, output, skip_rounds, ..Want::only(Detail::Outcome) };
            self.current.store(index, Ordering::Relaxed);
            let mut other = other_input(self.lab.input(), index);
            // Values that the user gave stay what they are.
            let is_free = matches!(self.lab.input().nondet, Nondet::Seed(_));
            let seed = Rng::derive(Rng::derive(self.plan.seed, index), 11);
            let mut guessing = is_free.then(|| Guessing::new(&self.knowledge.guesses, seed));
            let run = loop {
                self.noticed.begin(if teaches { Purpose::Lesson } else { Purpose::Coverage });
                let chosen = strategy.scheduler(self.plan.seed, index, &self.knowledge, sight);
                let by = &mut *self.deviating(index, chosen);
                let run = match &other {
                    None => self.lab.run_seeing(visible, by, &mut self.noticed, want),
                    Some(input) => self.lab.run_with(input, visible, by, &mut self.noticed, want),
                };
                match guessing.as_mut().and_then(|guessing| guessing.again(&run)) {
                    Some(nondet) => {
                        let input = other.get_or_insert_with(|| self.lab.input().clone());
                        input.nondet = nondet;
                    }
                    None => break run,
                }
            };
            let guesses = guessing.map(Guessing::finish).unwrap_or_default();
            self.notice(index, sight, &run, guesses, errand);
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
    fn explore(&mut self, mut explorer: Explorer, runs: Range, errand: &mut Errand) {
        errand.report.next = runs.end;
        let (method, lane) = (explorer.method, explorer.lane);
        for index in runs.start..runs.end {
            if self.plan.slot(index) != Some(method) || !self.plan.is_in_lane(index, lane) {
                continue;
            }
            let Some(mut scheduler) = explorer.search.scheduler() else { break };
            self.noticed.begin(Purpose::Trial);
            let skip_rounds = self.lab.can(Capability::PruneSpins);
            let prune_spins = method == Method::Exhaustive && skip_rounds;
            let learn = self.lab.can(Capability::Learn);
            let awaits = prune_spins;
            // Of a small program all classes are explored before a second sample looks at what it prints.
            let output =
                index < OUTPUTS && self.plan.exit_codes && self.lab.can(Capability::Output);
            let want = Want {
                learn,
                output,
                prune_spins,
                skip_rounds,
                awaits,
                ..Want::only(Detail::Outcome)
            };
            self.current.store(index, Ordering::Relaxed);
            let visible = &explorer.visible;
            let mut run = self.lab.run_seeing(visible, &mut *scheduler, &mut self.noticed, want);
            drop(scheduler);
            run.learned = run.learned.without(visible).without(&self.knowledge.visible);
            let counted = explorer.search.learn(&run);
            errand.report.learned.merge(&run.learned);
            // What a lane stops is another's, or nothing new: no run at all.
            let is_run = matches!(counted, Counted::New | Counted::Assumed);
            if run.outcome == Outcome::Discarded && !is_run {
                continue;
            }
            if counted == Counted::New {
                errand.report.classes.push(self.noticed.class.value());
                self.noticed.count_apart();
            }
            if self.take(index, run, errand) {
                errand.report.next = index + 1;
                break;
            }
        }
        let mut summary = explorer.search.summary();
        self.leave_out(method, &explorer.visible, &mut summary);
        errand.report.systematic = Some(summary);
        self.explorers.push(explorer);
    }

    /// What an engine cannot do is missing from the search, and that is said.
    fn leave_out(&self, method: Method, visible: &VisibleSet, summary: &mut Reached) {
        let blind = !self.lab.can(Capability::Learn) && !self.all.without(visible).is_empty();
        let spins = method == Method::Exhaustive && !self.lab.can(Capability::PruneSpins);
        let missing = [(blind, Capability::Learn), (spins, Capability::PruneSpins)];
        for (_, capability) in missing.into_iter().filter(|(is_missing, _)| *is_missing) {
            summary.left_out.push(LeftOut::Lacking(capability));
        }
        // With all that is shared in sight, they are too long.
        let long = LeftOut::LongRuns { most: LONGEST as u64 };
        if self.knowledge.usual() == Sight::Unordered && !summary.left_out.contains(&long) {
            summary.left_out.push(long);
        }
    }

    /// The search that was left off, or a new one if the visible set is another.
    fn explorer(&mut self, method: Method, lane: Lane, deviations: u32) -> Explorer {
        let same = |e: &Explorer| e.method == method && e.lane == lane;
        let old = self.explorers.iter().position(same).map(|at| self.explorers.swap_remove(at));
        if let Some(explorer) = old
            && explorer.visible == *self.knowledge.usually_visible()
            && explorer.deviations == deviations
            && explorer.steps == self.knowledge.steps
        {
            return explorer;
        }
        let search: Box<dyn Systematic> = match (method, self.plan.strategy) {
            (Method::Exhaustive, _) => {
                Box::new(Exhaustive::within(deviations, lane.number, lane.of))
            }
            (Method::Bounded, Strategy::Bounded(bound)) => {
                Box::new(Bounding::new(bound, lane.number, lane.of))
            }
            (Method::Bounded, _) => Box::new(Bounding::new(None, lane.number, lane.of)),
        };
        let visible = self.knowledge.usually_visible().clone();
        Explorer { method, lane, deviations, steps: self.knowledge.steps, visible, search }
    }

    /// The strategy of a sample, in an environment that deviates if the sample is one of those.
    fn deviating<'s>(
        &self,
        index: u64,
        strategy: Box<dyn Scheduler + 's>,
    ) -> Box<dyn Scheduler + 's> {
        match deviations_of(index, self.plan.deviations) {
            most if most > 0 && !self.knowledge.fails_plainly => {
                let seed = Rng::derive(Rng::derive(self.plan.seed, index), 7);
                Box::new(Deviating::new(strategy, seed, most))
            }
            _ => strategy,
        }
    }

    /// Notes what a sample teaches.
    fn notice(
        &mut self,
        index: u64,
        sight: Sight,
        run: &Run,
        guesses: Guesses,
        errand: &mut Errand,
    ) {
        let report = &mut errand.report;
        report.learned.merge(&run.learned);
        // Fingerprints of classes are comparable within one visible set.
        let is_usual = sight == self.knowledge.usual();
        if is_usual {
            report.classes.push(self.noticed.class.value());
        }
        if is_common(index) {
            report.lessons.push(self.noticed.lesson(index, sight, &run.schedule, guesses));
            if sight != Sight::Everything {
                self.noticed.count_apart();
            }
        }
    }

    /// Counts a run and keeps it if it failed; true if the errand ends here.
    fn take(&mut self, index: u64, run: Run, errand: &mut Errand) -> bool {
        let report = &mut errand.report;
        count(&mut report.tally, &run);
        report.cut += u64::from(run.notes.contains(&Note::StepBound));
        note_end(report, index, &run);
        if let Outcome::Failed(failure) = &run.outcome {
            let id = failure.id();
            match self.plan.known.iter().position(|known| known.covers(&id)) {
                Some(number) => report.tally.count_put_aside(number, 1),
                None => report.tally.count_failed(id.clone(), 1),
            }
            if report.tally.times(&id) > 0 && !errand.seen.contains(&id) {
                errand.seen.push(id);
                // Whether it fails again is found out elsewhere: what this process went through may be its cause.
                errand.report.findings.push(Finding { index, run, replayed: false, is_open: true });
            }
        }
        let elapsed = clock::now().saturating_duration_since(errand.started).as_millis() as u64;
        let late = errand.milliseconds.is_some_and(|ms| elapsed >= ms);
        let report = &mut errand.report;
        report.damaged = self.lab.is_damaged();
        late || report.damaged || self.plan.after_first.stops() && !report.findings.is_empty()
    }

    /// Executes a failing schedule once more, keeping its events.
    fn confirm(&mut self, index: u64, run: Run) -> Finding {
        let mut replay = Replay::new(&run.schedule);
        let input = run.input(self.lab.input());
        let can = self.lab.can(Capability::Events);
        let want = Want::only(if can { Detail::Events } else { Detail::Outcome });
        let visible = &run.schedule.visible;
        let mut again = self.lab.run_with(&input, visible, &mut replay, &mut (), want);
        if run.outcome.failure().is_some_and(|failure| failure.kind == FailureKind::ExitCode) {
            judge(&Rules { fail_on_exit: true, ..Rules::default() }, &mut again);
        }
        // Who waits for ever may do so for another number of rounds.
        let waits = run.outcome.failure().is_some_and(|f| f.kind == FailureKind::Livelock);
        let is_same = replay.divergence().is_none() && again.schedule == run.schedule;
        let replayed = again.outcome.is_same_bug(&run.outcome) && (is_same || waits);
        Finding { index, run: if replayed { again } else { run }, replayed, is_open: false }
    }
}

/// Keeps a run that ended by itself, if it is the first of its input with its exit code.
fn note_end(report: &mut Report, index: u64, run: &Run) {
    let Outcome::Exited { code } = run.outcome else { return };
    // What a run that did not come to its end has printed is a part only.
    if let Some(output) = &run.output {
        let print = fingerprint(output);
        if !report.outputs.contains(&print) {
            report.outputs.push(print);
        }
    }
    let input = fingerprint(&run.nondet);
    if !report.exits.iter().any(|ended| ended.input == input && ended.code == code) {
        let is_wanted = code != 0 || report.exits.len() < PASSING;
        let run = is_wanted.then(|| run.clone());
        report.exits.push(Ended { index, input, code, run });
    }
}

fn fingerprint(value: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

/// What a run did, but for how it failed.
fn count(tally: &mut Tally, run: &Run) {
    let mut this = Tally {
        schedules: 1,
        steps: run.steps,
        most_events: run.schedule.events(),
        most_threads: run.schedule.threads.len() as u64,
        nondet: !run.nondet.is_empty(),
        // That one is said by the reason.
        notes: run.notes.iter().filter(|note| **note != Note::StepBound).cloned().collect(),
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

/// The input of a run where it is not the user's: other nondeterministic values every few runs, unless the user gave
/// them; and other values of uninitialised memory, if the user cares about these.
fn other_input(input: &Input, index: u64) -> Option<Input> {
    const RUNS_PER_INPUT: u64 = 8;
    const PATTERNS: [u8; 4] = [Uninit::PATTERN, 0, 0xff, 0x41];
    let number = index / RUNS_PER_INPUT;
    let mut other = None;
    if let Nondet::Seed(seed) = input.nondet
        && number > 0
    {
        let nondet = Nondet::Seed(Rng::derive(seed, number));
        other = Some(Input { nondet, ..input.clone() });
    }
    if input.limits.uninit.fails && !number.is_multiple_of(4) {
        let other = other.get_or_insert_with(|| input.clone());
        other.limits.uninit.pattern = PATTERNS[(number % 4) as usize];
    }
    other
}
