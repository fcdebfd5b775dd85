//! The search for failing schedules.
//!
//! Runs are numbered; run `i` of a seed is always the same, however many workers there are. They are
//! handed out in epochs: within one, all use the same visible set and the same estimate of a run's
//! length; what the runs of an epoch learn counts from the next one on. The first epoch is one worker's,
//! which learns from every run. Wall time only aborts.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use unravel_trace::{BugId, Executor, Explored, Input, Rules, Run, Stopped, Tally, VisibleSet};

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
    pub after_first: AfterFirst,
    pub rules: Rules,
    /// Bugs to pass over.
    pub known: Vec<BugId>,
}

/// What a search does when it has found a bug.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterFirst {
    Stop,
    /// Collect distinct bugs to the end.
    GoOn,
    /// Collect distinct bugs until so many times the schedules that the first one took, and at least `least`, have been
    /// tried; at most so long after it.
    GoOnFor {
        times: u64,
        least: u64,
        time: Duration,
    },
}

impl AfterFirst {
    pub(crate) fn stops(self) -> bool {
        self == AfterFirst::Stop
    }

    /// The number of schedules that are tried if the first bug is in schedule `index`.
    fn limit(self, index: u64) -> Option<u64> {
        match self {
            // Runs before the first finding decide which bug is reported; later ones do not matter.
            AfterFirst::Stop => Some(index),
            AfterFirst::GoOn => None,
            AfterFirst::GoOnFor { times, least, .. } => {
                Some((index + 1).saturating_mul(times).max(index.saturating_add(least)))
            }
        }
    }
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

impl Finding {
    /// What its trace is called: `bank-assertion-1`. Findings of one search are numbered from 1; a later search of the
    /// same program takes the same names.
    pub fn name(&self, program: &str, number: usize) -> String {
        let kind = self.run.outcome.failure().map_or("run", |failure| failure.kind.name());
        format!("{program}-{kind}-{number}")
    }
}

#[derive(Debug)]
pub struct SearchResult {
    pub findings: Vec<Finding>,
    pub explored: Explored,
    pub visible: VisibleSet,
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
/// More worker processes than that help nobody.
const MOST_JOBS: usize = 512;
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
        found_at: None,
        last_tick: started,
    };
    let jobs = plan.jobs.clamp(1, MOST_JOBS);
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
    match (plan.after_first.stops(), state.limit(plan)) {
        (true, _) => state.findings.truncate(1),
        // What a slower search would not have met is left out.
        (false, Some(limit)) => state.findings.retain(|f| f.index < limit),
        (false, None) => {}
    }
    watch(&state.tally, started.elapsed());
    let explored = Explored {
        strategy: plan.strategy.to_string(),
        seed: plan.seed,
        tally: state.tally,
        stopped,
        elapsed: started.elapsed(),
    };
    Ok(SearchResult { findings: state.findings, explored, visible: state.visible })
}

struct State {
    findings: Vec<Finding>,
    tally: Tally,
    visible: VisibleSet,
    longest: u64,
    /// When the first bug was found.
    found_at: Option<Instant>,
    /// When progress was last told. Epochs can be shorter than the time between two such moments.
    last_tick: Instant,
}

impl State {
    /// The number of schedules after which a search with findings ends.
    fn limit(&self, plan: &Plan) -> Option<u64> {
        let first = self.findings.iter().map(|f| f.index).min()?;
        plan.after_first.limit(first)
    }

    /// How much time is left.
    fn left(&self, plan: &Plan, started: Instant) -> Option<Duration> {
        let whole = plan.time.map(|time| time.saturating_sub(started.elapsed()));
        let more = match (plan.after_first, self.found_at) {
            (AfterFirst::GoOnFor { time, .. }, Some(found)) => {
                Some(time.saturating_sub(found.elapsed()))
            }
            _ => None,
        };
        whole.into_iter().chain(more).min()
    }
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
    let mut late: Option<Instant> = None;
    loop {
        let left = state.left(plan, started);
        let limit = state.limit(plan);
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
                known: if plan.after_first.stops() {
                    Vec::new()
                } else {
                    let failures = state.findings.iter().filter_map(|f| f.run.outcome.failure());
                    failures.map(|failure| failure.id()).collect()
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
                        let done = report.tally.schedules;
                        if done < count {
                            pending.retry.push((start + done, count - done));
                        }
                    }
                    take_report(state, &mut learned, &mut longest, *report);
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
        if state.last_tick.elapsed() >= TICK {
            state.last_tick = Instant::now();
            if !watch(&state.tally, started.elapsed()) {
                return Ok(Some(Stopped::Interrupted));
            }
        }
        let left = state.left(plan, started);
        if workers.iter().all(Worker::is_idle) {
            if state.limit(plan).is_some_and(|limit| pending.next >= limit) {
                return Ok(Some(Stopped::Found));
            }
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(Some(out_of_time(state)));
            }
            if pending.next >= pending.end && pending.retry.is_empty() {
                break;
            }
            late = None;
        } else if left.is_some_and(|left| left.is_zero()) {
            // A run that takes long; it is killed with its worker.
            let since = *late.get_or_insert_with(Instant::now);
            if since.elapsed() >= GRACE {
                return Ok(Some(out_of_time(state)));
            }
        }
    }
    state.visible.merge(&learned);
    state.longest = longest;
    Ok(None)
}

/// How long a run may go on after the time is up.
const GRACE: Duration = Duration::from_secs(2);

fn out_of_time(state: &State) -> Stopped {
    if state.findings.is_empty() { Stopped::Time } else { Stopped::Found }
}

fn take_report(state: &mut State, learned: &mut VisibleSet, longest: &mut u64, report: Report) {
    learned.merge(&report.learned);
    *longest = (*longest).max(report.longest);
    state.tally.add(report.tally);
    for finding in report.findings {
        let id = finding.run.outcome.failure().map(|f| f.id());
        let same =
            state.findings.iter_mut().find(|f| f.run.outcome.failure().map(|f| f.id()) == id);
        match same {
            // Keep the first occurrence of each bug.
            Some(other) if other.index > finding.index => *other = finding,
            Some(_) => {}
            None => {
                state.found_at.get_or_insert_with(Instant::now);
                state.findings.push(finding);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_goes_on_as_far_as_it_was_told() {
        let time = Duration::from_secs(2);
        let more = AfterFirst::GoOnFor { times: 4, least: 1000, time };
        assert_eq!(AfterFirst::Stop.limit(10), Some(10), "earlier schedules still count");
        assert_eq!(AfterFirst::GoOn.limit(10), None);
        assert_eq!(more.limit(10), Some(1010));
        assert_eq!(more.limit(9999), Some(40_000));
        assert_eq!(more.limit(u64::MAX - 1), Some(u64::MAX));
    }
}
