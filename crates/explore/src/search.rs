//! The search for failing schedules.
//!
//! Runs are numbered; run `i` of a seed is always the same, however many workers there are. They are
//! handed out in epochs: within one, all know the same of the program; what the runs of an epoch teach counts
//! from the next one on. The first epoch is one worker's, which learns from every run. Systematic searches have
//! slots among the runs, and a worker each that remembers where it is. Wall time only aborts.

use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use unravel_execute::clock;
use unravel_results::{Explored, LongRuns, Stopped, Tally, Unfollowed, Variety};
use unravel_strategies::{
    EPOCH, EPOCH_LIMIT, FIRST, Knowledge, LEARNING, Sight, Strategy, portfolio,
};
use unravel_trace::{
    BugId, Executor, FailureKind, Input, KnownBug, Method, Reached, ReadsFrom, Rules, Run,
    VisibleSet, Whereabouts,
};

use crate::Shard;
use crate::budgets::{
    ALWAYS, EPOCH_EVENTS, FIRST_STEPS, GIVEN_UP, LONG_RUN, MANY, MANY_CUT, MORE_EVENTS, MORE_STEPS,
    MOST_JOBS,
};
use crate::coverage::Coverage;
use crate::crew::Crew;
use crate::exits::Exits;
use crate::worker::{Lane, Lesson, Range, Report};

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
    /// Which part of the work.
    pub shard: Shard,
    pub after_first: AfterFirst,
    /// The environment deviates so often at most.
    pub deviations: u32,
    /// Runs of one input that end with 0 and with another code are a failure.
    pub exit_codes: bool,
    /// Bugs to pass over.
    pub known: Vec<KnownBug>,
}

impl Plan {
    pub(crate) fn workers(&self) -> usize {
        self.jobs.clamp(1, MOST_JOBS)
    }

    /// The systematic search that a run belongs to.
    pub(crate) fn slot(&self, index: u64) -> Option<Method> {
        match self.strategy {
            Strategy::Portfolio => portfolio::slot(index),
            strategy => strategy.method(),
        }
    }

    /// The parts of systematic searches that this process conducts. A search that is nothing but systematic is divided
    /// among the workers.
    pub(crate) fn lanes(&self) -> Vec<(Method, Lane)> {
        let (shard, shards) = (self.shard.number() - 1, self.shard.of());
        match (self.strategy, self.strategy.method()) {
            (Strategy::Portfolio, _) => [Method::Exhaustive, Method::Bounded]
                .map(|method| (method, Lane { number: shard, of: shards }))
                .to_vec(),
            (_, Some(method)) => {
                let jobs = self.workers() as u32;
                let lane = |job| Lane { number: shard * jobs + job, of: shards * jobs };
                (0..jobs).map(|job| (method, lane(job))).collect()
            }
            (_, None) => Vec::new(),
        }
    }

    /// Into how many lanes systematic searches are divided, in all shards together.
    pub fn lanes_in_all(&self) -> u32 {
        self.lanes().first().map_or(0, |(_, lane)| lane.of)
    }

    /// Whether a run in a slot is this lane's.
    pub(crate) fn is_in_lane(&self, index: u64, lane: Lane) -> bool {
        let jobs = self.workers() as u64;
        self.strategy.method().is_none() || index % jobs == u64::from(lane.number) % jobs
    }

    /// The end of the epoch that begins with this run.
    fn end_of_epoch(&self, start: u64, last: Last, knowledge: &Knowledge) -> u64 {
        match (self.strategy.method(), start, last) {
            // The first run shows most of what is shared, and everything begins anew when more is learned.
            (Some(_), 0, _) => self.workers() as u64,
            (None, 0, _) => FIRST,
            // Whether runs come to their end now is seen from a few.
            (None, _, Last::CutShort) => start + FIRST,
            (None, FIRST, _) => LEARNING,
            (method, _, last) => {
                let runs = if let Last::Had(runs) = last { runs * 2 } else { EPOCH };
                // Of long runs few are enough to learn from, and the next ones should know it.
                let few = EPOCH_EVENTS / knowledge.events(Sight::Shared).max(1);
                let most = if method.is_some() { EPOCH_LIMIT } else { few.max(LEARNING) };
                start + runs.clamp(EPOCH, EPOCH_LIMIT).min(most)
            }
        }
    }
}

/// What became of an epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Last {
    /// So many runs.
    Had(u64),
    /// Most were cut short at the bound of steps, which is higher now.
    CutShort,
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
    /// Whether that second run, in a process of its own, failed in the same way. What did not is no finding of a search.
    pub replayed: bool,
    /// There was no second run yet.
    pub is_open: bool,
}

impl Finding {
    /// Which of the schedules that were tried it was found in. Numbers that a systematic search had no use for were tried
    /// by nobody.
    pub fn number(&self, tally: &Tally) -> u64 {
        (self.index + 1).min(tally.schedules)
    }

    /// The rules under which it fails again.
    pub fn rules(&self, rules: &Rules) -> Rules {
        self.run.outcome.failure().map_or_else(|| rules.clone(), |failure| rules.with(failure.kind))
    }

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
    /// Some runs that passed, of different inputs.
    pub passing: Vec<Run>,
    pub visible: VisibleSet,
    /// What [`Explored::covered`] counts, for searches that are put together from parts.
    pub classes: FxHashSet<u64>,
    pub flows: FxHashSet<ReadsFrom>,
}

#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error("cannot start a worker process")]
    Fork(#[source] std::io::Error),
    #[error("cannot talk to a worker process")]
    Pipe(#[source] std::io::Error),
    #[error("{0}")]
    Engine(String),
}

/// Searches for failing schedules. `watch` is called about ten times a second and stops the search by
/// returning false.
pub fn search(
    executor: &mut dyn Executor,
    input: &Input,
    plan: &Plan,
    mut watch: impl FnMut(&Tally, Duration) -> bool,
) -> Result<SearchResult, SearchError> {
    let mut state = State::new(plan, input.limits.max_steps);
    state.knowledge.judges_orders = executor.judges_orders();
    let mut crew = Crew::new(executor, input, plan);
    let mut next = 0;
    let mut last = Last::Had(0);
    let stopped = loop {
        // Runs that were put off for taking too long are none of those that were asked for.
        let most = plan.schedules.saturating_add(state.tally.cut_short);
        if next >= most {
            break Stopped::Schedules;
        }
        let end = plan.end_of_epoch(next, last, &state.knowledge);
        let runs = Range { start: next, end: most.min(end) };
        if let Some(stopped) = crew.run_epoch(runs, &mut state, &mut watch)? {
            break stopped;
        }
        let grew = state.end_epoch();
        crew.confirm(&mut state.findings)?;
        let confirmed = std::mem::take(&mut state.findings);
        state.take_findings(confirmed);
        if plan.after_first.stops() && !state.findings.is_empty() {
            break Stopped::Found;
        }
        if grew {
            crew.begin_anew();
        }
        next = runs.end;
        let may_be_longer = state.allow_more_steps(crew.is_cut_short());
        let is_the_same = state.tally.most_threads == 1 && input.limits.malloc_fails == 0;
        if is_the_same && !state.tally.nondet && !may_be_longer {
            break Stopped::OneSchedule;
        }
        let (inconclusive, schedules) = (state.tally.inconclusive, state.tally.schedules);
        let enough = runs.start > 0 || state.started.elapsed() >= GIVEN_UP;
        if may_be_longer {
            crew.begin_anew();
        } else if enough && schedules > 0 && inconclusive == schedules {
            break Stopped::AllInconclusive;
        }
        // Other values were not tried. A strategy that does nothing else has no more to do with these.
        let is_over = !state.tally.nondet || plan.strategy.method().is_some();
        let is_exhausted = !grew && !may_be_longer && crew.is_exhausted() && is_over;
        if is_exhausted && !(state.findings.is_empty() && crew.deepen()) {
            break if state.tally.nondet { Stopped::Schedules } else { Stopped::Exhausted };
        }
        if crew.is_deep_enough() {
            break Stopped::Schedules;
        }
        last = match may_be_longer {
            true => Last::CutShort,
            false => Last::Had(runs.end - runs.start),
        };
    };
    let systematic = crew.summaries();
    if state.tally.schedules == 0 {
        state.tally.reason = crew.whereabouts().map(no_end);
    }
    watch(&state.tally, state.started.elapsed());
    // What could not go on waited for the end of the time, and that says nothing of runs.
    let waited = plan.strategy.method().is_some() && crew.has_lost();
    let long = match waited {
        true => None,
        false => long_runs(&state.tally, state.started.elapsed(), plan.workers(), &crew),
    };
    Ok(state.result(stopped, systematic, long))
}

/// What is to say of runs that take long.
fn long_runs(
    tally: &Tally,
    elapsed: Duration,
    workers: usize,
    crew: &Crew<'_>,
) -> Option<LongRuns> {
    let runs = u32::try_from(tally.schedules.max(1)).unwrap_or(u32::MAX);
    let at_once = tally.schedules.clamp(1, workers.max(1) as u64) as u32;
    let one = elapsed * at_once / runs;
    (one >= LONG_RUN).then(|| {
        let busiest = crew.busiest();
        let steps = match tally.schedules {
            0 => busiest.as_ref().map_or(0, |busiest| busiest.of),
            schedules => tally.steps / schedules,
        };
        LongRuns { one, steps, busiest }
    })
}

/// Why nothing is known of a run that was still going on when the time was up.
fn no_end(now: Whereabouts) -> Unfollowed {
    let reason = match now.threads {
        0..MANY => "no run came to an end in time; the last one was".to_owned(),
        threads => format!(
            "no run came to an end in time; the last one had created {threads} threads and was"
        ),
    };
    Unfollowed::Inconclusive { reason, at: Some(now.place) }
}

/// Runs, and those that were cut short at the bound of steps: of this epoch; and since the bound was set.
#[derive(Debug, Default)]
struct Cut {
    runs: u64,
    cut: u64,
    total: u64,
}

/// What is known so far, and what was found.
pub(crate) struct State<'a> {
    plan: &'a Plan,
    pub started: Instant,
    /// The same by the clock that the time of a plan is about.
    counted: Instant,
    pub findings: Vec<Finding>,
    /// Failures that did not happen again, and where they were seen.
    unconfirmed: Vec<(u64, BugId)>,
    pub tally: Tally,
    exits: Exits,
    outputs: FxHashSet<u64>,
    /// Of the current epoch.
    pub knowledge: Knowledge,
    /// Steps that the user lets a run take.
    most_steps: u64,
    cut: Cut,
    /// Runs that were cut short, while nothing has taken their place, and why the first of them was.
    put_off: Option<(u64, Unfollowed)>,
    /// Counted from 0.
    pub epoch: u64,
    coverage: Coverage,
    /// Bugs found before this epoch, if the search goes on after the first.
    known: Vec<BugId>,
    /// When the first bug was found.
    found_at: Option<Instant>,
    /// When progress was last told. Epochs can be shorter than the time between two such moments.
    pub last_tick: Instant,
    /// What the current epoch teaches.
    learned: VisibleSet,
    lessons: Vec<Lesson>,
}

impl<'a> State<'a> {
    fn new(plan: &'a Plan, most_steps: u64) -> State<'a> {
        let started = Instant::now();
        let steps = FIRST_STEPS.min(most_steps);
        State {
            plan,
            started,
            counted: clock::now(),
            findings: Vec::new(),
            unconfirmed: Vec::new(),
            tally: Tally::default(),
            exits: Exits::default(),
            outputs: FxHashSet::default(),
            knowledge: Knowledge { steps, ..Knowledge::default() },
            most_steps,
            cut: Cut::default(),
            put_off: None,
            epoch: 0,
            coverage: Coverage::default(),
            known: Vec::new(),
            found_at: None,
            last_tick: started,
            learned: VisibleSet::default(),
            lessons: Vec::new(),
        }
    }

    /// The number of schedules after which a search with findings ends.
    pub fn limit(&self) -> Option<u64> {
        let first = self.findings.iter().min_by_key(|f| f.index)?;
        // Long runs are few.
        let more = (MORE_EVENTS / first.run.schedule.events().max(1)).max(1);
        let limit = self.plan.after_first.limit(first.index)?;
        match self.plan.after_first {
            AfterFirst::GoOnFor { .. } => Some(limit.min(first.index + 1 + more)),
            _ => Some(limit),
        }
    }

    /// How much time is left.
    pub fn left(&self) -> Option<Duration> {
        let since = |moment: Instant| clock::now().saturating_duration_since(moment);
        let whole = self.plan.time.map(|time| time.saturating_sub(since(self.counted)));
        let more = match (self.plan.after_first, self.found_at) {
            (AfterFirst::GoOnFor { time, .. }, Some(found)) => {
                let time = if self.tally.always_fails(ALWAYS) { time / 2 } else { time };
                Some(time.saturating_sub(since(found)))
            }
            _ => None,
        };
        whole.into_iter().chain(more).min()
    }

    pub fn is_out_of_time(&self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }

    /// Why a search ends whose time is up.
    pub fn out_of_time(&self) -> Stopped {
        if self.findings.is_empty() { Stopped::Time } else { Stopped::Found }
    }

    /// The bugs that workers need not report again: those of earlier epochs, or it would depend on who is faster which
    /// schedule is reported.
    pub fn known(&self) -> Vec<BugId> {
        self.known.clone()
    }

    pub fn take(&mut self, report: Report) {
        self.learned.merge(&report.learned);
        if report.tally.schedules > 0 {
            self.put_off = None;
        }
        self.cut.runs += report.tally.schedules;
        self.cut.cut += report.cut;
        self.cut.total += report.cut;
        self.tally.add(report.tally);
        self.coverage.add(&report.classes, &report.flows);
        self.lessons.extend(report.lessons);
        self.exits.add(report.exits);
        self.outputs.extend(report.outputs);
        self.take_findings(report.findings);
    }

    /// Findings, each bug once.
    fn take_findings(&mut self, findings: Vec<Finding>) {
        for finding in findings {
            let id = finding.run.outcome.failure().map(|f| f.id());
            if !finding.replayed && !finding.is_open {
                self.unconfirmed.extend(id.map(|id| (finding.index, id)));
                continue;
            }
            let same =
                self.findings.iter_mut().find(|f| f.run.outcome.failure().map(|f| f.id()) == id);
            match same {
                // Keep the first occurrence of each bug.
                Some(other) if other.index > finding.index => *other = finding,
                Some(_) => {}
                None => {
                    self.found_at.get_or_insert_with(clock::now);
                    self.findings.push(finding);
                }
            }
        }
    }

    /// Lets runs take more steps, if too many were cut short. True if they may.
    fn allow_more_steps(&mut self, exhaustive_is_cut: bool) -> bool {
        let Cut { runs, cut, total } = &mut self.cut;
        let many = *total >= MANY_CUT && *cut * 2 > *runs;
        // A quarter of the first ones: the program is long.
        let all = *cut > 0 && *cut * 4 >= *runs && self.epoch <= 3;
        (*runs, *cut) = (0, 0);
        if !(many || all || exhaustive_is_cut) || self.knowledge.steps >= self.most_steps {
            return false;
        }
        // They say nothing, and others will take their place.
        let cut_short = std::mem::take(total).min(self.tally.inconclusive);
        self.put_off = self.tally.reason.clone().map(|reason| (cut_short, reason));
        self.tally.inconclusive -= cut_short;
        self.tally.cut_short += cut_short;
        if self.tally.inconclusive == 0 {
            self.tally.reason = None;
        }
        self.knowledge.steps = match self.tally.most_threads {
            // There is nothing else to try.
            1 => self.most_steps,
            _ => self.knowledge.steps.saturating_mul(MORE_STEPS).min(self.most_steps),
        };
        true
    }

    /// Turns what an epoch taught into what the next one knows; true if more is visible now.
    fn end_epoch(&mut self) -> bool {
        self.epoch += 1;
        if self.plan.exit_codes {
            let differing = self.differing_exits();
            self.take_findings(differing);
        }
        self.knowledge.fails_plainly |=
            self.findings.iter().any(|finding| finding.run.deviated.is_empty());
        if !self.plan.after_first.stops() {
            let failures = self.findings.iter().filter_map(|f| f.run.outcome.failure());
            self.known = failures.map(|failure| failure.id()).collect();
        }
        let usual = self.knowledge.usual();
        let mut grew = self.knowledge.visible.merge(&std::mem::take(&mut self.learned));
        let mut lessons = std::mem::take(&mut self.lessons);
        lessons.sort_by_key(|lesson| lesson.index);
        let Knowledge {
            longest,
            longest_full,
            longest_brief,
            profile,
            conflicts,
            splits,
            lock_orders,
            threads,
            shares,
            guesses,
            ..
        } = &mut self.knowledge;
        for lesson in lessons {
            let longest = match lesson.sight {
                Sight::Everything => &mut *longest_full,
                Sight::Shared => &mut *longest,
                Sight::Unordered => &mut *longest_brief,
            };
            *longest = (*longest).max(lesson.events);
            profile.merge(&lesson.profile);
            conflicts.merge(&lesson.conflicts);
            splits.merge(&lesson.splits);
            lock_orders.merge(&lesson.lock_orders);
            guesses.merge(&lesson.guesses);
            *threads = (*threads).max(lesson.threads);
            let before = self.coverage.common.len();
            self.coverage.common.extend(&lesson.flows);
            if lesson.sight == Sight::Everything {
                let flows = self.coverage.common.len() - before;
                shares.credit(shares.arm(lesson.index), flows, lesson.events);
            }
        }
        shares.divide();
        let more = self.knowledge.unordered.merge(&self.knowledge.conflicts.sites());
        let now = self.knowledge.usual();
        // What most runs see has changed.
        grew |= now != usual || now == Sight::Unordered && more;
        self.coverage.end_epoch(grew);
        grew
    }

    /// Runs whose exit code is a finding that the user does not put aside.
    fn differing_exits(&mut self) -> Vec<Finding> {
        let mut differing = self.exits.differing();
        differing.retain(|finding| {
            let id = finding.run.outcome.failure().map(|failure| failure.id());
            id.is_some_and(|id| !self.plan.known.iter().any(|known| known.covers(&id)))
        });
        differing
    }

    fn result(
        mut self,
        stopped: Stopped,
        systematic: Vec<Reached>,
        long: Option<LongRuns>,
    ) -> SearchResult {
        if let Some((cut_short, reason)) = self.put_off.take() {
            self.tally.inconclusive += cut_short;
            self.tally.cut_short -= cut_short;
            self.tally.reason.get_or_insert(reason);
        }
        self.tally.outputs = self.outputs.len() as u64;
        self.tally.exits_differ = self.plan.exit_codes && !self.differing_exits().is_empty();
        self.findings.sort_by_key(|f| f.index);
        let exit_codes = self.findings.iter().filter_map(|f| f.run.outcome.failure());
        let exit_code =
            exit_codes.map(|failure| failure.id()).find(|id| id.kind == FailureKind::ExitCode);
        if let Some(id) = exit_code.filter(|id| self.tally.times(id) == 0) {
            self.tally.count_failed(id, self.tally.nonzero_exits);
        }
        self.unconfirmed.sort_by_key(|(index, _)| *index);
        for (index, bug) in std::mem::take(&mut self.unconfirmed) {
            let is_bug = |f: &Finding| f.run.outcome.failure().is_some_and(|f| f.id() == bug);
            if !self.findings.iter().any(is_bug) {
                let schedule = (index + 1).min(self.tally.schedules);
                self.tally.doubt(bug, schedule);
            }
        }
        match (self.plan.after_first.stops(), self.limit()) {
            (true, _) => self.findings.truncate(1),
            // What a slower search would not have met is left out.
            (false, Some(limit)) => self.findings.retain(|f| f.index < limit),
            (false, None) => {}
        }
        let explored = Explored {
            strategy: self.plan.strategy.to_string(),
            variety: variety(self.plan.strategy),
            seed: self.plan.seed,
            tally: self.tally,
            stopped,
            elapsed: self.started.elapsed(),
            covered: self.coverage.covered(),
            systematic,
            part: (self.plan.shard != Shard::WHOLE).then(|| self.plan.shard.to_string()),
            long,
        };
        SearchResult {
            findings: self.findings,
            explored,
            passing: self.exits.passing(),
            visible: self.knowledge.visible,
            classes: self.coverage.classes,
            flows: self.coverage.flows,
        }
    }
}

fn variety(strategy: Strategy) -> Variety {
    match strategy {
        Strategy::Portfolio => Variety::Portfolio,
        Strategy::RunToBlock | Strategy::RoundRobin => Variety::Fixed,
        _ => Variety::One,
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
