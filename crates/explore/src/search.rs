//! The search for failing schedules.
//!
//! Runs are numbered; run `i` of a seed is always the same, however many workers there are. They are
//! handed out in epochs: within one, all use the same visible set and the same estimate of a run's
//! length; what the runs of an epoch learn counts from the next one on. The first epoch is one worker's,
//! which learns from every run. Wall time only aborts.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use unravel_trace::{BugId, Executor, Input, Rules, Run, VisibleSet};

use crate::Strategy;
use crate::worker::{Order, Report, Worker, WorkerEnd};

/// What to search for, and how long.
#[derive(Clone, Debug)]
pub struct Plan {
    pub strategy: Strategy,
    pub seed: u64,
    /// At most this many schedules.
    pub schedules: u64,
    /// At most this long.
    pub time: Option<Duration>,
    /// Worker processes.
    pub jobs: usize,
    /// Go on after the first bug and collect distinct ones.
    pub all: bool,
    pub rules: Rules,
    /// Bugs to pass over.
    pub known: Vec<BugId>,
}

/// A failing run, with its trace.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// Number of the run in the search.
    pub index: u64,
    /// The run, executed a second time by its schedule to keep its events.
    pub run: Run,
    /// Whether that second run failed in the same way.
    pub replayed: bool,
}

/// Why a search ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stopped {
    Found,
    Schedules,
    /// The program has no threads and no nondeterministic input: every run is the same.
    OneSchedule,
    /// Not one of the first runs could be followed to its end.
    AllInconclusive,
    Time,
    Interrupted,
}

/// How far a search has come.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub schedules: u64,
    pub inconclusive: u64,
    /// The first reason given.
    pub reason: Option<String>,
    /// Runs that left what the program assumes.
    pub discarded: u64,
    /// Runs that failed with a bug the user knows already.
    pub known: u64,
    /// Runs that ended with an exit code other than 0, and the first such code.
    pub nonzero_exits: u64,
    pub exit_code: Option<i32>,
    pub steps: u64,
    pub most_events: u64,
    pub most_threads: u64,
    /// Some run asked for a nondeterministic value.
    pub nondet: bool,
    pub notes: Vec<String>,
}

#[derive(Debug)]
pub struct SearchResult {
    pub findings: Vec<Finding>,
    pub tally: Tally,
    pub stopped: Stopped,
    pub visible: VisibleSet,
    pub elapsed: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error("cannot start a worker process")]
    Fork(#[source] std::io::Error),
    #[error("cannot talk to a worker process")]
    Pipe(#[source] std::io::Error),
}

/// Runs of the first epoch.
const LEARNING: u64 = 8;
/// Size of the second epoch; each is twice the one before, up to the limit.
const EPOCH: u64 = 64;
const EPOCH_LIMIT: u64 = 4096;
/// How often progress is reported and the time is looked at.
const TICK: Duration = Duration::from_millis(100);

/// Searches for failing schedules. `watch` is called about ten times a second and stops the search by
/// returning false.
pub fn search<E: Executor>(
    executor: &mut E,
    input: &Input,
    plan: &Plan,
    mut watch: impl FnMut(&Tally, Duration) -> bool,
) -> Result<SearchResult, SearchError> {
    let started = Instant::now();
    let mut state = State {
        findings: Vec::new(),
        tally: Tally::default(),
        visible: VisibleSet::default(),
        longest: 0,
    };
    let jobs = plan.jobs.max(1);
    let mut workers = Vec::new();
    let mut next = 0;
    let mut epoch = LEARNING;
    let stopped = loop {
        if next >= plan.schedules {
            break Stopped::Schedules;
        }
        let end = plan.schedules.min(next + epoch);
        let learn_all = next == 0;
        let wanted = if learn_all { 1 } else { jobs };
        while workers.len() < wanted {
            workers.push(Worker::start(executor, input, plan)?);
        }
        let step = if learn_all { epoch } else { (epoch / (jobs as u64 * 4)).clamp(1, 256) };
        let mut pending = Pending { next, end, step, retry: Vec::new() };
        if let Some(stopped) = run_epoch(
            executor,
            input,
            plan,
            &mut workers,
            &mut pending,
            learn_all,
            &mut state,
            started,
            &mut watch,
        )? {
            break stopped;
        }
        next = end;
        if state.tally.most_threads <= 1 && !state.tally.nondet {
            break Stopped::OneSchedule;
        }
        if !learn_all && state.tally.inconclusive == state.tally.schedules {
            break Stopped::AllInconclusive;
        }
        epoch = if learn_all { EPOCH } else { (epoch * 2).min(EPOCH_LIMIT) };
    };
    state.findings.sort_by_key(|f| f.index);
    if !plan.all {
        state.findings.truncate(1);
    }
    watch(&state.tally, started.elapsed());
    Ok(SearchResult {
        findings: state.findings,
        tally: state.tally,
        stopped,
        visible: state.visible,
        elapsed: started.elapsed(),
    })
}

struct State {
    findings: Vec<Finding>,
    tally: Tally,
    visible: VisibleSet,
    longest: u64,
}

/// The runs of an epoch that nobody has taken yet.
struct Pending {
    next: u64,
    end: u64,
    step: u64,
    retry: Vec<(u64, u64)>,
}

impl Pending {
    fn take(&mut self, limit: Option<u64>) -> Option<(u64, u64)> {
        if let Some(range) = self.retry.pop() {
            return Some(range);
        }
        let limit = limit.unwrap_or(self.end).min(self.end);
        if self.next >= limit {
            return None;
        }
        let count = self.step.min(limit - self.next);
        let start = self.next;
        self.next += count;
        Some((start, count))
    }
}

#[expect(clippy::too_many_arguments, reason = "the loop's state, kept in the caller's variables")]
fn run_epoch<E: Executor>(
    executor: &mut E,
    input: &Input,
    plan: &Plan,
    workers: &mut [Worker],
    pending: &mut Pending,
    learn_all: bool,
    state: &mut State,
    started: Instant,
    watch: &mut impl FnMut(&Tally, Duration) -> bool,
) -> Result<Option<Stopped>, SearchError> {
    let mut learned = VisibleSet::default();
    let mut longest = state.longest;
    let mut last_tick = Instant::now();
    loop {
        let left = plan.time.map(|t| t.saturating_sub(started.elapsed()));
        // Runs before the first finding decide which bug is reported; later ones no longer matter.
        let limit = (!plan.all).then(|| state.findings.iter().map(|f| f.index).min()).flatten();
        for worker in workers.iter_mut().filter(|w| w.is_idle()) {
            if left.is_some_and(|l| l.is_zero()) {
                break;
            }
            let Some((start, count)) = pending.take(limit) else { break };
            worker.send(Order {
                start,
                count,
                learn_all,
                visible: state.visible.clone(),
                longest: state.longest,
                known: if plan.all {
                    state
                        .findings
                        .iter()
                        .filter_map(|f| Some(f.run.outcome.failure()?.id()))
                        .collect()
                } else {
                    Vec::new()
                },
                milliseconds: left.map(|l| l.as_millis() as u64),
                confirm: None,
            })?;
        }
        let ready = crate::worker::wait(workers, TICK);
        for index in ready {
            match workers[index].receive()? {
                WorkerEnd::Report(mut report) => {
                    let (start, count) = workers[index].assigned();
                    if report.damaged {
                        workers[index] = Worker::start(executor, input, plan)?;
                        for finding in &mut report.findings {
                            workers[index].confirm(finding)?;
                        }
                        if report.done < count {
                            pending.retry.push((start + report.done, count - report.done));
                        }
                    }
                    take_report(state, &mut learned, &mut longest, report);
                }
                WorkerEnd::Died { run, signal } => {
                    // The run that killed its worker is inconclusive; the rest is tried again.
                    let (start, count) = workers[index].assigned();
                    state.tally.schedules += 1;
                    state.tally.inconclusive += 1;
                    state
                        .tally
                        .reason
                        .get_or_insert(format!("the program killed its process (signal {signal})"));
                    if run + 1 < start + count {
                        pending.retry.push((run + 1, start + count - run - 1));
                    }
                    workers[index] = Worker::start(executor, input, plan)?;
                }
            }
        }
        if last_tick.elapsed() >= TICK {
            last_tick = Instant::now();
            if !watch(&state.tally, started.elapsed()) {
                return Ok(Some(Stopped::Interrupted));
            }
        }
        let late = plan.time.is_some_and(|t| started.elapsed() >= t);
        if workers.iter().all(Worker::is_idle) {
            if !plan.all && !state.findings.is_empty() {
                return Ok(Some(Stopped::Found));
            }
            if late {
                return Ok(Some(Stopped::Time));
            }
            if pending.next >= pending.end && pending.retry.is_empty() {
                break;
            }
        } else if plan.time.is_some_and(|t| started.elapsed() >= t + GRACE) {
            // A run that takes long; it is killed with its worker.
            return Ok(Some(if state.findings.is_empty() {
                Stopped::Time
            } else {
                Stopped::Found
            }));
        }
    }
    state.visible.merge(&learned);
    state.longest = longest;
    Ok(None)
}

/// How long a run may go on after the time is up.
const GRACE: Duration = Duration::from_secs(2);

fn take_report(state: &mut State, learned: &mut VisibleSet, longest: &mut u64, report: Report) {
    learned.merge(&report.learned);
    *longest = (*longest).max(report.longest);
    let tally = &mut state.tally;
    tally.schedules += report.done;
    tally.inconclusive += report.inconclusive;
    if tally.reason.is_none() {
        tally.reason = report.reason;
    }
    tally.discarded += report.discarded;
    tally.known += report.known;
    tally.nonzero_exits += report.nonzero_exits;
    tally.exit_code = tally.exit_code.or(report.exit_code);
    tally.steps += report.steps;
    tally.most_events = tally.most_events.max(report.most_events);
    tally.most_threads = tally.most_threads.max(report.most_threads);
    tally.nondet |= report.nondet;
    for note in report.notes {
        if !tally.notes.contains(&note) {
            tally.notes.push(note);
        }
    }
    for finding in report.findings {
        let id = finding.run.outcome.failure().map(|f| f.id());
        let same =
            state.findings.iter_mut().find(|f| f.run.outcome.failure().map(|f| f.id()) == id);
        match same {
            // Keep the first occurrence of each bug.
            Some(other) if other.index > finding.index => *other = finding,
            Some(_) => {}
            None => state.findings.push(finding),
        }
    }
}
