//! The workers of a search, and who does what in an epoch.
//!
//! Samples go to whoever is idle. Each lane of a systematic search has a worker of its own, which remembers where the
//! search is; no more workers are busy at once than the user wants.

use std::time::{Duration, Instant};

use unravel_results::{Stopped, Tally, Unfollowed};
use unravel_trace::{Busiest, Executor, Input, LeftOut, Method, Reached, Whereabouts};

use crate::budgets::{GRACE, MOST_DEVIATING, MOST_RUNS, TICK};
use crate::search::{Finding, Plan, SearchError, State};
use crate::worker;
use crate::worker::{Lane, Range, Report, Work, Worker, WorkerEnd};

pub(crate) struct Crew<'a> {
    executor: &'a mut dyn Executor,
    input: &'a Input,
    plan: &'a Plan,
    /// The workers of the lanes first, then those that sample.
    workers: Vec<Worker>,
    lanes: Vec<LaneState>,
    /// Deviations that the exhaustive search allows now.
    deviations: u32,
    /// How far it came with fewer.
    shallower: Vec<Reached>,
}

struct LaneState {
    method: Method,
    lane: Lane,
    /// How far it came.
    summary: Option<Reached>,
    /// Its worker is gone, and with it what it knew.
    lost: Option<Lost>,
}

/// Why the worker of a lane cannot go on.
#[derive(Clone, Copy)]
enum Lost {
    /// The program killed it.
    Died,
    /// The program changed its process for good: other runs there would not be what they should be.
    Damaged,
}

impl LaneState {
    fn is_over(&self) -> bool {
        self.lost.is_some() || self.summary.as_ref().is_some_and(Reached::is_complete)
    }
}

/// The runs of an epoch that nobody has taken yet.
struct Pending {
    samples: Range,
    step: u64,
    /// Of workers that died.
    retry: Vec<Range>,
    /// By lane.
    slots: Vec<Range>,
}

impl Pending {
    fn take(&mut self, limit: u64) -> Option<Range> {
        if let Some(range) = self.retry.pop() {
            return Some(range);
        }
        take(&mut self.samples, self.step, limit)
    }

    fn is_empty(&self, limit: u64) -> bool {
        let is_done = |range: &Range| range.start >= range.end.min(limit);
        self.retry.is_empty() && is_done(&self.samples) && self.slots.iter().all(is_done)
    }
}

/// The next few runs of a range.
fn take(range: &mut Range, step: u64, limit: u64) -> Option<Range> {
    let end = range.end.min(limit).min(range.start.saturating_add(step));
    let taken = Range { start: range.start, end };
    (taken.start < taken.end).then(|| {
        range.start = end;
        taken
    })
}

impl<'a> Crew<'a> {
    pub fn new(executor: &'a mut dyn Executor, input: &'a Input, plan: &'a Plan) -> Crew<'a> {
        let lanes = plan.lanes().into_iter();
        let lanes = lanes
            .map(|(method, lane)| LaneState { method, lane, summary: None, lost: None })
            .collect();
        Crew {
            executor,
            input,
            plan,
            workers: Vec::new(),
            lanes,
            deviations: 0,
            shallower: Vec::new(),
        }
    }

    /// Executes these runs; says so if the search is over.
    pub fn run_epoch(
        &mut self,
        runs: Range,
        state: &mut State<'_>,
        watch: &mut impl FnMut(&Tally, Duration) -> bool,
    ) -> Result<Option<Stopped>, SearchError> {
        // The first runs learn from each other, so one worker does them.
        let at_once = runs.start == 0;
        let jobs = self.plan.workers();
        let samples_at_once = if at_once { 1 } else { jobs };
        let size = runs.end - runs.start;
        let samples = match self.plan.strategy.method() {
            Some(_) => Range { start: runs.end, end: runs.end },
            None => runs,
        };
        let has_slots = |method| (runs.start..runs.end).any(|i| self.plan.slot(i) == Some(method));
        let slots = self.lanes.iter().map(|lane| match lane.is_over() || !has_slots(lane.method) {
            true => Range { start: runs.end, end: runs.end },
            false => runs,
        });
        let mut pending = Pending {
            samples,
            step: if at_once { size } else { (size / (jobs as u64 * 4)).clamp(1, MOST_RUNS) },
            retry: Vec::new(),
            slots: slots.collect(),
        };
        let mut late: Option<Instant> = None;
        loop {
            self.hand_out(&mut pending, samples_at_once, at_once, state)?;
            for index in worker::wait(&self.workers, TICK) {
                self.collect(index, &mut pending, state)?;
            }
            if state.last_tick.elapsed() >= TICK {
                state.last_tick = Instant::now();
                if !watch(&state.tally, state.started.elapsed()) {
                    return Ok(Some(Stopped::Interrupted));
                }
            }
            let out_of_time = state.is_out_of_time();
            if self.workers.iter().all(|w| w.doing.is_none()) {
                let limit = state.limit();
                if limit.is_some_and(|limit| runs.end >= limit && pending.is_empty(limit)) {
                    return Ok(Some(Stopped::Found));
                }
                if out_of_time {
                    return Ok(Some(state.out_of_time()));
                }
                if pending.is_empty(u64::MAX) {
                    return Ok(None);
                }
                late = None;
            } else if out_of_time {
                // A run that takes long; it is killed with its worker.
                let since = *late.get_or_insert_with(Instant::now);
                if since.elapsed() >= GRACE {
                    return Ok(Some(state.out_of_time()));
                }
            }
        }
    }

    /// Gives every worker that may be busy something to do.
    fn hand_out(
        &mut self,
        pending: &mut Pending,
        samples_at_once: usize,
        at_once: bool,
        state: &State<'_>,
    ) -> Result<(), SearchError> {
        let limit = state.limit().unwrap_or(u64::MAX);
        let left = state.left();
        while self.workers.len() < self.lanes.len() {
            self.workers.push(Worker::start(self.executor, self.input, self.plan)?);
        }
        let mut busy = self.workers.iter().filter(|w| w.doing.is_some()).count();
        for index in 0..self.lanes.len() + samples_at_once {
            if busy >= self.plan.workers() || left.is_some_and(|l| l.is_zero()) {
                break;
            }
            if self.workers.get(index).is_some_and(|w| w.doing.is_some()) {
                continue;
            }
            let work = match self.lanes.get(index) {
                Some(lane) => {
                    let runs = take(&mut pending.slots[index], MOST_RUNS * 16, limit);
                    let deviations = self.deviations;
                    let LaneState { method, lane, .. } = *lane;
                    runs.map(|runs| Work::Slots { method, lane, runs, deviations })
                }
                None => pending.take(limit).map(|runs| Work::Samples { runs, at_once }),
            };
            let Some(work) = work else { continue };
            if self.workers.len() == index {
                self.workers.push(Worker::start(self.executor, self.input, self.plan)?);
            }
            let knowledge = (state.epoch, &state.knowledge);
            self.workers[index].send(work, knowledge, state.known(), left)?;
            busy += 1;
        }
        Ok(())
    }

    /// Takes what a worker has to say, and replaces it if it can do no more.
    fn collect(
        &mut self,
        index: usize,
        pending: &mut Pending,
        state: &mut State<'_>,
    ) -> Result<(), SearchError> {
        let Some(work) = self.workers[index].doing.clone() else { return Ok(()) };
        let (Work::Samples { runs, .. } | Work::Slots { runs, .. }) = work else { return Ok(()) };
        let (next, lost) = match self.workers[index].receive()? {
            WorkerEnd::Report(mut report) => {
                if let Some(problem) = report.problem.take() {
                    return Err(SearchError::Engine(problem));
                }
                let (next, damaged) = (report.next, report.damaged);
                if damaged {
                    self.replace(index)?;
                }
                self.confirm(&mut report.findings)?;
                let is_refused = report.findings.iter().any(|finding| !finding.replayed);
                if let Some(lane) = self.lanes.get_mut(index) {
                    lane.summary = report.systematic.take().or(lane.summary.take());
                    if lane.is_over() {
                        pending.slots[index].start = pending.slots[index].end;
                    }
                }
                state.take(*report);
                if !(damaged || is_refused && self.lanes.get(index).is_none()) {
                    return Ok(());
                }
                (next, Lost::Damaged)
            }
            WorkerEnd::Died { run, signal } => {
                // The run that killed its worker is inconclusive; the rest is tried again.
                state.take(killed(signal));
                self.replace(index)?;
                (run + 1, Lost::Died)
            }
        };
        if let Some(lane) = self.lanes.get_mut(index) {
            lane.lost = Some(lost);
            pending.slots[index].start = pending.slots[index].end;
        } else if next < runs.end {
            pending.retry.push(Range { start: next, end: runs.end });
        }
        Ok(())
    }

    fn replace(&mut self, index: usize) -> Result<(), SearchError> {
        self.workers[index] = Worker::start(self.executor, self.input, self.plan)?;
        Ok(())
    }

    /// Where the last run was.
    pub fn whereabouts(&self) -> Option<Whereabouts> {
        self.executor.whereabouts()
    }

    /// Whether a part of a systematic search could not go on.
    pub fn has_lost(&self) -> bool {
        self.lanes.iter().any(|lane| lane.lost.is_some())
    }

    /// Which function takes most of what runs execute.
    pub fn busiest(&self) -> Option<Busiest> {
        self.executor.busiest()
    }

    /// More is visible than before: what systematic searches explored does not count any more.
    pub fn begin_anew(&mut self) {
        self.deviations = 0;
        self.shallower.clear();
        for lane in &mut self.lanes {
            lane.summary = None;
        }
    }

    /// Whether the exhaustive search, all its lanes, has come to its end and left nothing out but other inputs.
    pub fn is_exhausted(&self) -> bool {
        let mut lanes = self.lanes.iter().filter(|l| {
            l.method == Method::Exhaustive || self.plan.strategy.method() == Some(Method::Bounded)
        });
        let ends = |lane: &LaneState| {
            let other_values = |what: &LeftOut| *what == LeftOut::OtherValues;
            lane.summary.as_ref().is_some_and(|s| s.is_over && s.left_out.iter().all(other_values))
        };
        !self.lanes.is_empty() && lanes.clone().next().is_some() && lanes.all(ends)
    }

    /// Executes failing runs once more that were executed once, each in a process that has executed nothing yet.
    pub fn confirm(&mut self, findings: &mut [Finding]) -> Result<(), SearchError> {
        for finding in findings.iter_mut().filter(|finding| finding.is_open) {
            Worker::start(self.executor, self.input, self.plan)?.confirm(finding)?;
            // Also if that killed the process.
            finding.is_open = false;
        }
        Ok(())
    }

    /// Lets the exhaustive search, which has come to its end, go on with one more deviation. False if that would bring
    /// nothing, or is not wanted.
    pub fn deepen(&mut self) -> bool {
        let Some(reached) = self.reached(Method::Exhaustive) else { return false };
        if self.deviations >= self.plan.deviations || reached.is_for_all_deviations() {
            return false;
        }
        self.shallower.push(reached);
        self.deviations += 1;
        for lane in self.lanes.iter_mut().filter(|lane| lane.method == Method::Exhaustive) {
            lane.summary = None;
        }
        true
    }

    /// Whether the exhaustive search is at its end but for runs that were given up at the bound of steps.
    pub fn is_cut_short(&self) -> bool {
        self.reached(Method::Exhaustive)
            .is_some_and(|reached| reached.is_cut_short && reached.is_over)
    }

    /// Whether the exhaustive search goes through deviations, and has done so for long. Who asks for nothing else wants all.
    pub fn is_deep_enough(&self) -> bool {
        if self.plan.strategy.method().is_some() {
            return false;
        }
        let runs = self.reached(Method::Exhaustive).map_or(0, |reached| reached.schedules);
        self.deviations > 0 && runs >= MOST_DEVIATING
    }

    fn reached(&self, method: Method) -> Option<Reached> {
        let lanes = self.lanes.iter().filter(|lane| lane.method == method);
        lanes.filter_map(LaneState::told).reduce(Reached::with)
    }

    /// How far the systematic searches came, their lanes taken together.
    pub fn summaries(&self) -> Vec<Reached> {
        let methods = [Method::Exhaustive, Method::Bounded];
        let last = methods.into_iter().filter_map(|method| self.reached(method));
        self.shallower.iter().cloned().chain(last).collect()
    }
}

/// What is said of a process that a systematic search cannot go on in. Samples have a new one each.
const CHANGED: &str = "a native function crashed in the process that runs the program or changed it for good, \
    and a systematic search needs one process for all its runs";

impl LaneState {
    fn told(&self) -> Option<Reached> {
        let mut summary = self.summary.clone()?;
        summary.left_out.extend(self.lost.map(|lost| match lost {
            Lost::Died => LeftOut::Killed,
            Lost::Damaged => LeftOut::Inconclusive { reason: CHANGED.to_owned() },
        }));
        Some(summary)
    }
}

/// The report of a worker that could not write one.
fn killed(signal: i32) -> Report {
    let tally = Tally {
        schedules: 1,
        inconclusive: 1,
        reason: Some(Unfollowed::Killed { signal }),
        ..Tally::default()
    };
    Report { tally, ..Report::default() }
}
