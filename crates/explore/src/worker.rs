//! Worker processes: forked copies that run a range of schedules and report.
//!
//! A process of its own protects the search from whatever the program does, and makes several machines
//! possible whose memory is at the same fixed address. A worker's standard output and error go nowhere (or
//! to the judge, if the output matters).

use std::borrow::Cow;
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use unravel_trace::*;

use crate::judge::Judge;
use crate::process::{Child, Shared, pipe, read_message, ready, write_message};
use crate::search::{Finding, Plan, SearchError};
use crate::{Replay, Strategy};

/// A range of runs to execute.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub start: u64,
    pub count: u64,
    /// Learn from every run, and use at once what was learned.
    pub learn_all: bool,
    pub visible: VisibleSet,
    pub longest: u64,
    /// Bugs found already, not to be reported again.
    pub known: Vec<BugId>,
    pub milliseconds: Option<u64>,
    /// Instead of all that: execute this failing run once more.
    pub confirm: Option<(u64, Run)>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    pub tally: Tally,
    pub learned: VisibleSet,
    /// The most events of a run that may not switch anywhere: what strategies should expect.
    pub longest: u64,
    /// The worker must be replaced; its last finding was not executed again.
    pub damaged: bool,
    pub findings: Vec<Finding>,
}

pub(crate) enum WorkerEnd {
    Report(Box<Report>),
    /// While executing this run.
    Died {
        run: u64,
        signal: i32,
    },
}

pub(crate) struct Worker {
    child: Child,
    orders: File,
    reports: File,
    /// The run being executed, in memory shared with the worker.
    current: Shared<AtomicU64>,
    assigned: Option<(u64, u64)>,
    last_assigned: (u64, u64),
}

impl Worker {
    pub fn start<E: Executor>(
        executor: &mut E,
        input: &Input,
        plan: &Plan,
    ) -> Result<Worker, SearchError> {
        let (their_orders, orders) = pipe().map_err(SearchError::Pipe)?;
        let (reports, their_reports) = pipe().map_err(SearchError::Pipe)?;
        let current = Shared::new().map_err(SearchError::Fork)?;
        let child = Child::fork(executor, |executor| {
            serve(executor, input, plan, their_orders, their_reports, &current);
        })
        .map_err(SearchError::Fork)?;
        Ok(Worker { child, orders, reports, current, assigned: None, last_assigned: (0, 0) })
    }

    pub fn is_idle(&self) -> bool {
        self.assigned.is_none()
    }

    pub fn assigned(&self) -> (u64, u64) {
        self.last_assigned
    }

    pub fn send(&mut self, order: Order) -> Result<(), SearchError> {
        self.assigned = Some((order.start, order.count));
        self.last_assigned = (order.start, order.count);
        self.current.store(order.start, Ordering::Relaxed);
        write_message(&mut self.orders, &order).map_err(SearchError::Pipe)
    }

    /// Has a failing run executed once more by this worker, and waits for the result.
    pub fn confirm(&mut self, finding: &mut Finding) -> Result<(), SearchError> {
        if finding.replayed {
            return Ok(());
        }
        self.send(Order {
            start: finding.index,
            count: 1,
            learn_all: false,
            visible: VisibleSet::default(),
            longest: 0,
            known: Vec::new(),
            milliseconds: None,
            confirm: Some((finding.index, finding.run.clone())),
        })?;
        if let WorkerEnd::Report(mut report) = self.receive()?
            && let Some(confirmed) = report.findings.pop()
        {
            *finding = confirmed;
        }
        Ok(())
    }

    pub fn receive(&mut self) -> Result<WorkerEnd, SearchError> {
        self.assigned = None;
        match read_message::<Report>(&mut self.reports) {
            Ok(report) => Ok(WorkerEnd::Report(Box::new(report))),
            Err(_) => {
                let signal = self.child.wait();
                let run = self.current.load(Ordering::Relaxed);
                Ok(WorkerEnd::Died { run, signal })
            }
        }
    }
}

/// Waits until a busy worker has something to say; returns which.
pub(crate) fn wait(workers: &[Worker], at_most: Duration) -> Vec<usize> {
    let busy: Vec<usize> = (0..workers.len()).filter(|i| !workers[*i].is_idle()).collect();
    let pipes: Vec<&File> = busy.iter().map(|i| &workers[*i].reports).collect();
    ready(&pipes, at_most).into_iter().map(|i| busy[i]).collect()
}

/// The worker's loop.
fn serve<E: Executor>(
    executor: &mut E,
    input: &Input,
    plan: &Plan,
    mut orders: File,
    mut reports: File,
    current: &AtomicU64,
) {
    let Ok(mut judge) = Judge::silent(&plan.rules) else { return };
    while let Ok(order) = read_message::<Order>(&mut orders) {
        let report = match order.confirm {
            Some((index, run)) => {
                let finding = confirm(executor, input, index, run, &mut judge);
                Report { findings: vec![finding], ..Report::default() }
            }
            None => execute(executor, input, plan, &order, &mut judge, current),
        };
        if write_message(&mut reports, &report).is_err() || report.damaged {
            return;
        }
    }
}

/// How often a run learns after the first epoch. Such a run may switch at every access, shared or not: a
/// location that only some interleavings make shared would never be seen to be otherwise.
fn learn_every(index: u64) -> u64 {
    if index < 256 { 4 } else { 16 }
}

fn execute<E: Executor>(
    executor: &mut E,
    input: &Input,
    plan: &Plan,
    order: &Order,
    judge: &mut Judge,
    current: &AtomicU64,
) -> Report {
    let started = Instant::now();
    let mut report = Report::default();
    let mut visible = order.visible.clone();
    let all = executor.all_sites();
    let mut longest = order.longest;
    let mut seen = order.known.clone();
    for index in order.start..order.start + order.count {
        current.store(index, Ordering::Relaxed);
        let mut scheduler = scheduler(plan.strategy, plan.seed, index, longest);
        let full = if order.learn_all { index % 2 == 1 } else { index % learn_every(index) == 0 };
        let used = if full { &all } else { &visible };
        let want = Want { learn: order.learn_all || full, ..Want::only(Detail::Outcome) };
        let mut run = executor.run(&input_of(input, index), used, &mut *scheduler, want);
        judge.judge(&mut run);
        let events = run.schedule.events();
        if !full {
            report.longest = report.longest.max(events);
        }
        report.learned.merge(&run.learned);
        count(&mut report.tally, &run, events);
        if let Outcome::Failed(failure) = &run.outcome {
            let id = failure.id();
            match plan.known.iter().position(|known| covers(known, &id)) {
                Some(number) => report.tally.count_put_aside(number, 1),
                None => report.tally.count_failed(id.clone(), 1),
            }
            if report.tally.times(&id) > 0 && !seen.contains(&id) {
                seen.push(id);
                run.schedule.visible = used.clone();
                report.findings.push(if executor.is_damaged() {
                    Finding { index, run: run.clone(), replayed: false }
                } else {
                    confirm(executor, input, index, run.clone(), judge)
                });
            }
        }
        if order.learn_all {
            visible.merge(&run.learned);
            longest = longest.max(report.longest);
        }
        let late = order.milliseconds.is_some_and(|ms| started.elapsed().as_millis() as u64 >= ms);
        report.damaged = executor.is_damaged();
        if late || report.damaged || plan.after_first.stops() && !report.findings.is_empty() {
            break;
        }
    }
    report
}

/// What a run did, but for how it failed.
fn count(tally: &mut Tally, run: &Run, events: u64) {
    let mut this = Tally {
        schedules: 1,
        steps: run.steps,
        most_events: events,
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
        Outcome::Inconclusive { .. } => {
            this.inconclusive = 1;
            this.reason = Some(run.outcome.to_string());
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

fn scheduler(strategy: Strategy, seed: u64, index: u64, longest: u64) -> Box<dyn Scheduler> {
    // The first runs know nothing of the program's length yet.
    strategy.scheduler(seed, index, if longest == 0 { 50 } else { longest })
}

/// Executes a failing schedule once more, keeping its events.
fn confirm<E: Executor>(
    executor: &mut E,
    input: &Input,
    index: u64,
    run: Run,
    judge: &mut Judge,
) -> Finding {
    let mut replay = Replay::new(&run.schedule);
    let want = Want::only(Detail::Events);
    let input = &run.input(input);
    let mut again = executor.run(input, &run.schedule.visible, &mut replay, want);
    judge.judge(&mut again);
    let replayed = replay.divergence().is_none()
        && again.outcome.is_same_bug(&run.outcome)
        && again.schedule == run.schedule;
    Finding { index, run: if replayed { again } else { run }, replayed }
}
