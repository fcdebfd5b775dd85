//! Worker processes: forked copies that run what they are told and report.
//!
//! A process of its own protects the search from whatever the program does, and makes several machines
//! possible whose memory is at the same fixed address. A worker's standard output and error go nowhere.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use unravel_execute::{Child, Shared, clock, pipe, read_message, ready, write_message};
use unravel_results::Tally;
use unravel_strategies::{Conflicts, Guesses, Knowledge, LockOrders, Profile, Sight, Splits};
use unravel_trace::{BugId, Executor, Input, Method, Reached, ReadsFrom, Run, VisibleSet};

use crate::errand::Errands;
use crate::search::{Finding, Plan, SearchError};

/// Something to do.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub work: Work,
    /// What is known since the last order to this worker, if it is anything new.
    pub knowledge: Option<Knowledge>,
    /// Bugs found already, not to be reported again.
    pub known: Vec<BugId>,
    pub milliseconds: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Range {
    pub start: u64,
    pub end: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Work {
    /// The samples among these runs; `at_once`: each knows what the one before it learned.
    Samples { runs: Range, at_once: bool },
    /// The runs among these that belong to a systematic search, which goes on where this worker left it.
    Slots { method: Method, lane: Lane, runs: Range, deviations: u32 },
    /// A failing run, once more.
    Confirm { index: u64, run: Box<Run> },
}

/// The part of a systematic search that one worker does, of `of` parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Lane {
    pub number: u32,
    pub of: u32,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    pub tally: Tally,
    /// The first run that was not executed.
    pub next: u64,
    pub learned: VisibleSet,
    /// The worker must be replaced.
    pub damaged: bool,
    pub findings: Vec<Finding>,
    /// The classes of the runs that may switch only at visible sites.
    pub classes: Vec<u64>,
    pub flows: Vec<ReadsFrom>,
    pub lessons: Vec<Lesson>,
    /// The engine can do no more, and why: nothing here counts then.
    pub problem: Option<String>,
    /// Runs that were given up at the bound of steps.
    pub cut: u64,
    /// Runs that ended by themselves: of each input the first with each exit code.
    pub exits: Vec<Ended>,
    /// Fingerprints of what was printed, of the runs whose output was kept.
    pub outputs: Vec<u64>,
    /// How far the systematic search came that this was about.
    pub systematic: Option<Reached>,
}

/// What a run taught that all shards execute.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Lesson {
    pub index: u64,
    pub sight: Sight,
    pub events: u64,
    pub threads: u64,
    pub flows: Vec<ReadsFrom>,
    pub profile: Profile,
    pub conflicts: Conflicts,
    pub splits: Splits,
    pub lock_orders: LockOrders,
    pub guesses: Guesses,
}

/// A run that ended by itself.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ended {
    pub index: u64,
    /// A fingerprint of its nondeterministic values.
    pub input: u64,
    pub code: i32,
    /// The run; of those that ended with 0, the first few only.
    pub run: Option<Run>,
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
    /// What it is doing.
    pub doing: Option<Work>,
    /// The epoch whose knowledge it has.
    knows: Option<u64>,
}

impl Worker {
    pub fn start(
        executor: &mut dyn Executor,
        input: &Input,
        plan: &Plan,
    ) -> Result<Worker, SearchError> {
        let (their_orders, orders) = pipe(executor).map_err(SearchError::Pipe)?;
        let (reports, their_reports) = pipe(executor).map_err(SearchError::Pipe)?;
        let current = Shared::new().map_err(SearchError::Fork)?;
        let child = Child::fork(executor, |executor| {
            serve(executor, input, plan, their_orders, their_reports, &current);
        })
        .map_err(SearchError::Fork)?;
        Ok(Worker { child, orders, reports, current, doing: None, knows: None })
    }

    /// Gives it something to do, and what is known in this epoch.
    pub fn send(
        &mut self,
        work: Work,
        (epoch, knowledge): (u64, &Knowledge),
        known: Vec<BugId>,
        left: Option<Duration>,
    ) -> Result<(), SearchError> {
        let first = match &work {
            Work::Samples { runs, .. } | Work::Slots { runs, .. } => runs.start,
            Work::Confirm { index, .. } => *index,
        };
        self.current.store(first, Ordering::Relaxed);
        let is_new = self.knows != Some(epoch);
        self.knows = Some(epoch);
        let order = Order {
            work,
            knowledge: is_new.then(|| knowledge.clone()),
            known,
            milliseconds: left.map(|l| l.as_millis() as u64),
        };
        write_message(&mut self.orders, &order).map_err(SearchError::Pipe)?;
        self.doing = Some(order.work);
        Ok(())
    }

    /// Has a failing run executed once more by this worker, and waits for the result.
    pub fn confirm(&mut self, finding: &mut Finding) -> Result<(), SearchError> {
        if finding.replayed {
            return Ok(());
        }
        let work = Work::Confirm { index: finding.index, run: Box::new(finding.run.clone()) };
        let knowledge = Knowledge::default();
        self.send(work, (u64::MAX, &knowledge), Vec::new(), None)?;
        if let WorkerEnd::Report(mut report) = self.receive()?
            && let Some(confirmed) = report.findings.pop()
        {
            *finding = confirmed;
        }
        Ok(())
    }

    pub fn receive(&mut self) -> Result<WorkerEnd, SearchError> {
        self.doing = None;
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
    let busy: Vec<usize> = (0..workers.len()).filter(|i| workers[*i].doing.is_some()).collect();
    let pipes: Vec<&File> = busy.iter().map(|i| &workers[*i].reports).collect();
    ready(&pipes, at_most).into_iter().map(|i| busy[i]).collect()
}

/// The worker's loop.
fn serve(
    executor: &mut dyn Executor,
    input: &Input,
    plan: &Plan,
    mut orders: File,
    mut reports: File,
    current: &AtomicU64,
) {
    clock::is_one_of(plan.workers());
    let mut errands = Errands::new(executor, input, plan, current);
    while let Ok(order) = read_message::<Order>(&mut orders) {
        let report = errands.run(order);
        if write_message(&mut reports, &report).is_err() || report.damaged {
            return;
        }
    }
}
