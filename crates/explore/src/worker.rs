//! Worker processes: forked copies that run a range of schedules and report.
//!
//! A process of its own protects the search from whatever the program does, and makes several machines
//! possible whose memory is at the same fixed address. A worker's standard output and error go nowhere (or
//! to the judge, if the output matters).

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use unravel_trace::*;

use crate::judge::Judge;
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
    Report(Report),
    /// While executing this run.
    Died {
        run: u64,
        signal: i32,
    },
}

pub(crate) struct Worker {
    pid: i32,
    orders: File,
    reports: File,
    /// The run being executed, in memory shared with the worker.
    current: *mut u64,
    assigned: Option<(u64, u64)>,
    last_assigned: (u64, u64),
}

impl Worker {
    pub fn start<E: Executor>(
        executor: &mut E,
        input: &Input,
        plan: &Plan,
    ) -> Result<Worker, SearchError> {
        let (their_orders, orders) = pipe()?;
        let (reports, their_reports) = pipe()?;
        // SAFETY: one shared page, and a fork of a process without other threads that hold locks.
        unsafe {
            let current = libc::mmap(
                std::ptr::null_mut(),
                8,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
            .cast::<u64>();
            // What is buffered would be written twice.
            libc::fflush(std::ptr::null_mut());
            match libc::fork() {
                -1 => Err(SearchError::Fork(std::io::Error::last_os_error())),
                0 => {
                    drop((orders, reports));
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                    libc::signal(libc::SIGINT, libc::SIG_IGN);
                    executor.after_fork();
                    serve(executor, input, plan, their_orders, their_reports, current);
                    libc::_exit(0)
                }
                pid => Ok(Worker {
                    pid,
                    orders,
                    reports,
                    current,
                    assigned: None,
                    last_assigned: (0, 0),
                }),
            }
        }
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
        // SAFETY: the shared page.
        unsafe { self.current.write_volatile(order.start) };
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
            Ok(report) => Ok(WorkerEnd::Report(report)),
            Err(_) => {
                let mut status = 0;
                // SAFETY: our own child; the shared page outlives it.
                let run = unsafe {
                    libc::waitpid(self.pid, &mut status, 0);
                    self.current.read_volatile()
                };
                self.pid = -1;
                let signal = if libc::WIFSIGNALED(status) { libc::WTERMSIG(status) } else { 0 };
                Ok(WorkerEnd::Died { run, signal })
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // SAFETY: our own child and mapping.
        unsafe {
            if self.pid > 0 {
                libc::kill(self.pid, libc::SIGKILL);
                libc::waitpid(self.pid, std::ptr::null_mut(), 0);
            }
            libc::munmap(self.current.cast(), 8);
        }
    }
}

/// Waits until a busy worker has something to say; returns which.
pub(crate) fn wait(workers: &[Worker], at_most: Duration) -> Vec<usize> {
    let busy: Vec<usize> = (0..workers.len()).filter(|i| !workers[*i].is_idle()).collect();
    let mut polls: Vec<libc::pollfd> = busy
        .iter()
        .map(|i| libc::pollfd {
            fd: workers[*i].reports.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    if polls.is_empty() {
        return Vec::new();
    }
    // SAFETY: descriptors we own.
    unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as u64, at_most.as_millis() as i32) };
    busy.into_iter().zip(&polls).filter(|(_, p)| p.revents != 0).map(|(i, _)| i).collect()
}

fn pipe() -> Result<(File, File), SearchError> {
    let mut ends = [0; 2];
    // SAFETY: a new pipe whose ends we own.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(SearchError::Pipe(std::io::Error::last_os_error()));
        }
        Ok((File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])))
    }
}

fn write_message<T: Serialize>(to: &mut File, message: &T) -> std::io::Result<()> {
    let bytes = postcard::to_stdvec(message).map_err(std::io::Error::other)?;
    to.write_all(&(bytes.len() as u64).to_le_bytes())?;
    to.write_all(&bytes)
}

fn read_message<T: for<'a> Deserialize<'a>>(from: &mut File) -> std::io::Result<T> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let mut bytes = vec![0; u64::from_le_bytes(length) as usize];
    from.read_exact(&mut bytes)?;
    postcard::from_bytes(&bytes).map_err(std::io::Error::other)
}

/// The worker's loop.
fn serve<E: Executor>(
    executor: &mut E,
    input: &Input,
    plan: &Plan,
    mut orders: File,
    mut reports: File,
    current: *mut u64,
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
    current: *mut u64,
) -> Report {
    let started = Instant::now();
    let mut report = Report::default();
    let mut visible = order.visible.clone();
    let all = executor.all_sites();
    let mut longest = order.longest;
    let mut seen = order.known.clone();
    for index in order.start..order.start + order.count {
        // SAFETY: the page shared with the parent.
        unsafe { current.write_volatile(index) };
        let mut scheduler = scheduler(plan.strategy, plan.seed, index, longest);
        let full = if order.learn_all { index % 2 == 1 } else { index % learn_every(index) == 0 };
        let used = if full { &all } else { &visible };
        let want = Want { detail: Detail::Outcome, learn: order.learn_all || full };
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

/// Whether a bug the user knows is this one: the same kind, at one of the same places.
fn covers(known: &BugId, found: &BugId) -> bool {
    known.kind == found.kind && known.places.iter().any(|p| found.places.contains(p))
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
    let want = Want { detail: Detail::Events, learn: false };
    let input = &run.input(input);
    let mut again = executor.run(input, &run.schedule.visible, &mut replay, want);
    judge.judge(&mut again);
    let replayed = replay.divergence().is_none()
        && again.outcome.is_same_bug(&run.outcome)
        && again.schedule == run.schedule;
    Finding { index, run: if replayed { again } else { run }, replayed }
}
