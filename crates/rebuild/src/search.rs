//! The search for a schedule from paths and stamps, Symbiosis' question asked of the machine before a solver: best first over sets
//! of orders, a run each, with runs at random between them.
//!
//! A set is as good as the run that was steered by it came far: branches taken as recorded. After a run that strayed, sets with
//! one order more are tried ([`crate::blame`]). Runs at random keep to the stamps too, and end where they stray, so they are
//! cheap; every other one of them begins like one that came far ([`crate::climb`]).

use std::collections::{BinaryHeap, HashSet};

use serde::{Deserialize, Serialize};
use unravel_execute::Laboratory;
use unravel_trace::{
    Beyond, Detail, EngineError, Followed, Outcome, Rng, Run, Schedule, Stray, Strayed, ThreadName,
    VisibleSet, Want,
};

use crate::blame::{self, Known};
use crate::budgets::{MOST_RUNS, MOST_WAITING};
use crate::climb::{Begun, Climb, Peaks};
use crate::ending::Verdict;
use crate::lessons::Lessons;
use crate::steer::{Order, Policy, Stamps, Steer};
use crate::task::Task;

#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether sync operations keep to their stamps.
    pub stamps: bool,
    pub seed: u64,
    /// Runs at most.
    pub runs: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { stamps: true, seed: 0, runs: MOST_RUNS }
    }
}

/// A run of the machine that is what the log says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rebuilt {
    /// Executed by its schedule alone.
    pub run: Run,
    /// Steered runs that it took.
    pub runs: u64,
    /// The run fails by something on the recorded paths that a system may not notice; the recorded failure was not reached.
    pub earlier: bool,
    pub rounds_left_out: u64,
    /// Orders that were asked for besides the stamps, if the search came to it by those.
    pub orders: Option<usize>,
    /// Sync operations came in the order of their stamps, as far as that was possible.
    pub stamped: bool,
    /// Branches of the log, threads of the log.
    pub branches: u64,
    pub threads: usize,
    /// The log begins in the middle: the branches are the last ones of the run.
    pub suffixes: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(
        "no run of the machine keeps to the recorded paths in {runs} runs: {strayed}; the furthest came to {kept} of {branches} branches"
    )]
    Strayed { runs: u64, strayed: Box<Strayed>, kept: u64, branches: u64 },
    #[error(
        "the recorded paths were kept, but no run ended as the log says in {runs} runs; the furthest ended so: {ended}"
    )]
    OtherEnd { runs: u64, ended: String },
    #[error(
        "the log begins in the middle, so its branches are a goal: of {runs} runs from the start {ended} ended as the log says, none of them along the \
         recorded ends of all paths; record the whole log, without --flight"
    )]
    Goal { runs: u64, ended: u64 },
    #[error("the run of the machine cannot follow the log: {0}")]
    Inconclusive(String),
    #[error("the time was up before the log was rebuilt, after {runs} runs")]
    Time { runs: u64 },
    #[error(
        "what the program did natively left the machine in disorder, so that no further run could be trusted, after {runs} steered runs"
    )]
    Damaged { runs: u64 },
    #[error("no steered run came to an end within the work that was allowed, after {runs} runs")]
    Work { runs: u64 },
}

impl RebuildError {
    /// Steered runs so far.
    pub fn runs(&self) -> u64 {
        match self {
            RebuildError::Strayed { runs, .. }
            | RebuildError::OtherEnd { runs, .. }
            | RebuildError::Goal { runs, .. }
            | RebuildError::Damaged { runs }
            | RebuildError::Work { runs }
            | RebuildError::Time { runs } => *runs,
            RebuildError::Engine(_) | RebuildError::Inconclusive(_) => 0,
        }
    }
}

/// A set of orders that waits to be tried.
#[derive(PartialEq, Eq, Debug)]
struct Waiting {
    /// How far the run came that it was made after, and how it ranks among the others made then.
    score: u64,
    rank: std::cmp::Reverse<usize>,
    orders: Vec<Order>,
    base: usize,
}

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> std::cmp::Ordering {
        let key = |one: &Waiting| (one.score, one.rank, std::cmp::Reverse(one.orders.len()));
        key(self).cmp(&key(other)).then_with(|| other.orders.cmp(&self.orders))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Who goes on where no order decides, and whether stamps do: not all of them are as true as those of locks.
const BASES: [(Policy, bool); 5] = [
    (Policy::Stamps, true),
    (Policy::Stay, true),
    (Policy::Youngest, true),
    (Policy::Stay, false),
    (Policy::Youngest, false),
];

/// Searches for a run that keeps to the recorded paths and ends as recorded.
pub fn rebuild(
    lab: &mut Laboratory<'_>,
    task: &Task,
    options: &Options,
) -> Result<Rebuilt, RebuildError> {
    if task.middle.contains(&true) {
        return crate::suffix::reach(lab, task, options);
    }
    let stamps = Stamps::new(task.hints.clone());
    let mut search = Search {
        task,
        stamps: options.stamps.then_some(&stamps),
        known: Known::default(),
        peaks: Peaks::default(),
        lessons: Lessons::default(),
        rests: Vec::new(),
        waiting: BinaryHeap::new(),
        tried: HashSet::new(),
        runs: 0,
        events: 64,
        furthest: None,
        earlier: None,
        learned: VisibleSet::default(),
    };
    search.go(lab, options)
}

/// A policy of any kind. `events` are those of the longest run so far.
pub(crate) fn at_random(seed: u64, events: u64) -> Policy {
    match seed % 8 {
        0 => Policy::Random { seed, stay: 1 },
        1 => Policy::Random { seed, stay: 2 },
        2 => Policy::Random { seed, stay: 5 },
        3 => Policy::Random { seed, stay: 20 },
        4 => Policy::Random { seed, stay: 100 },
        more => Policy::Priorities { seed, changes: more as u32 - 4, events },
    }
}

struct Search<'a> {
    task: &'a Task,
    stamps: Option<&'a Stamps>,
    known: Known,
    peaks: Peaks,
    lessons: Lessons,
    /// As in [`Steer::rests`].
    rests: Vec<Option<u32>>,
    waiting: BinaryHeap<Waiting>,
    tried: HashSet<(usize, Vec<Order>)>,
    runs: u64,
    /// Of the longest run so far.
    events: u64,
    /// Branches kept, and how the run that kept them ended.
    furthest: Option<(u64, End)>,
    earlier: Option<Rebuilt>,
    learned: VisibleSet,
}

enum End {
    Strayed(Strayed),
    Other(String),
    Inconclusive(String),
}

impl Search<'_> {
    fn go(&mut self, lab: &mut Laboratory<'_>, options: &Options) -> Result<Rebuilt, RebuildError> {
        self.begin();
        // Without stamps single orders mend less, and what came far is worth more.
        let orders_every = if self.stamps.is_some() { 2 } else { 4 };
        while self.runs < options.runs && lab.may_go_on() {
            let number = self.runs;
            let found = match self.waiting.pop() {
                Some(waiting) if number < 8 || number.is_multiple_of(orders_every) => {
                    let Waiting { orders, base, .. } = waiting;
                    self.attempt(lab, BASES[base], Some(base), &orders, None)?
                }
                waiting => {
                    self.waiting.extend(waiting);
                    let seed = Rng::derive(options.seed, number);
                    let policy = at_random(seed, self.events);
                    let climbs = number % 4 >= 2;
                    let begun = self.peaks.begin(&mut Rng::new(seed ^ 3)).filter(|_| climbs);
                    self.attempt(lab, (policy, number % 8 != 1), None, &[], begun)?
                }
            };
            if let Some(found) = found {
                return Ok(found);
            }
            if self.widen(lab) {
                // Events have other numbers now.
                self.begin();
            }
        }
        self.give_up(lab)
    }

    fn begin(&mut self) {
        self.known = Known::default();
        self.peaks = Peaks::default();
        self.lessons = Lessons::default();
        self.rests = vec![None; self.task.route.legs.len()];
        self.waiting.clear();
        self.tried.clear();
        for base in 0..BASES.len() {
            let rank = std::cmp::Reverse(base);
            self.waiting.push(Waiting { score: u64::MAX, rank, orders: Vec::new(), base });
        }
    }

    /// Sites that turned out to be shared become visible. True if there were any.
    fn widen(&mut self, lab: &mut Laboratory<'_>) -> bool {
        let more = self.learned.without(lab.visible());
        if more.is_empty() {
            return false;
        }
        let mut visible = lab.visible().clone();
        visible.merge(&more);
        lab.see(visible);
        true
    }

    fn attempt(
        &mut self,
        lab: &mut Laboratory<'_>,
        (policy, stamped): (Policy, bool),
        base: Option<usize>,
        orders: &[Order],
        begun: Option<Begun>,
    ) -> Result<Option<Rebuilt>, RebuildError> {
        self.runs += 1;
        let route = &self.task.route;
        let stamps = self.stamps.filter(|_| stamped);
        let mut steer = Steer::new(route, stamps, orders, policy);
        steer.rests = self.rests.clone();
        steer.lessons = std::mem::take(&mut self.lessons);
        steer.doubt = base.is_none().then_some(self.runs);
        steer.early = base.is_none() && self.runs.is_multiple_of(8);
        let want = Want { learn: true, ..Want::only(Detail::Outcome) };
        let followed = match begun {
            None => lab.follow(Some(route), &mut steer, &mut (), want),
            Some(begun) => {
                let mut climb = Climb { begun, steer: &mut steer, asked: 0, on: true };
                lab.follow(Some(route), &mut climb, &mut (), want)
            }
        };
        self.lessons = std::mem::take(&mut steer.lessons);
        let followed = followed?;
        self.learned.merge(&followed.run.learned);
        self.events = self.events.max(followed.run.schedule.events());
        let kept: u64 = followed.kept.iter().sum();
        self.peaks.learn(kept, &followed.run.schedule);
        self.learn_rests(&followed);
        let verdict = match self.task.expected.judge(&followed) {
            // Those hang that hung.
            Verdict::Same
                if self.task.expected.hangs()
                    && route.legs.iter().enumerate().any(|(leg, one)| {
                        one.then == Beyond::Ended && !steer.has_ended(leg)
                            || one.then == Beyond::Stays && steer.has_ended(leg)
                    }) =>
            {
                Verdict::Other
            }
            verdict => verdict,
        };
        match verdict {
            Verdict::Same => {
                let found = self.confirm(lab, &followed, false, base.map(|_| orders.len()));
                if let Some(mut found) = found {
                    found.stamped = stamps.is_some();
                    return Ok(Some(found));
                }
            }
            Verdict::Earlier if self.earlier.is_none() => {
                self.earlier = self.confirm(lab, &followed, true, base.map(|_| orders.len()));
            }
            Verdict::Earlier | Verdict::Other => {}
        }
        let end = match (&followed.strayed, &followed.run.outcome) {
            (Some(strayed), _) => End::Strayed(strayed.clone()),
            (None, Outcome::Inconclusive { reason, .. }) => End::Inconclusive(reason.clone()),
            (None, outcome) => End::Other(outcome.to_string()),
        };
        if self.furthest.as_ref().is_none_or(|(far, _)| *far < kept) {
            self.furthest = Some((kept, end));
        }
        if let Some(Strayed { thread, how: Stray::OtherWay | Stray::Elsewhere { .. }, .. }) =
            &followed.strayed
            && let Some(leg) = route.legs.iter().position(|leg| leg.thread == *thread)
        {
            self.lessons.learn(&steer.seen, leg as u32);
        }
        if !steer.gave_way {
            self.known.learn(&steer.seen);
            if let Some(leg) = self.blamed(&followed) {
                let own = steer.own(leg as usize);
                let more = blame::orders(&steer.seen, &self.known, leg, own);
                self.push(base.unwrap_or(0), orders, more, kept);
            }
        }
        Ok(None)
    }

    /// Threads that stay somewhere after their last branch, but not the one that fails. Where all stay, none rests.
    fn learn_rests(&mut self, followed: &Followed) {
        if self.task.expected.hangs() {
            return;
        }
        let schedule = &followed.run.schedule;
        for (index, used_up) in followed.used_up.iter().enumerate() {
            let Some(used_up) = used_up else { continue };
            let Some(name) = schedule.threads.get(index) else { continue };
            let legs = &self.task.route.legs;
            let Some(leg) = legs.iter().position(|leg| leg.thread == *name) else { continue };
            let fails = self.task.expected.thread() == Some(name);
            if self.rests[leg].is_none() && !fails && legs[leg].then == Beyond::Stays {
                self.rests[leg] = Some(own_events(schedule, index as u32, *used_up));
            }
        }
    }

    /// The thread that did not do what it should.
    fn blamed(&self, followed: &Followed) -> Option<u32> {
        let leg = |name: &ThreadName| {
            self.task.route.legs.iter().position(|leg| leg.thread == *name).map(|leg| leg as u32)
        };
        if let Some(strayed) = &followed.strayed {
            return leg(&strayed.thread);
        }
        match self.task.expected.thread() {
            Some(thread) => leg(thread),
            // Whoever did not get to the end of its path.
            None => {
                let names = &followed.run.schedule.threads;
                let late = followed.at_end.iter().position(|end| !end);
                leg(&names[late.unwrap_or(0)])
            }
        }
    }

    fn push(&mut self, base: usize, orders: &[Order], more: Vec<Order>, score: u64) {
        if self.waiting.len() > MOST_WAITING {
            return;
        }
        for (rank, order) in more.into_iter().enumerate() {
            let reversed = Order { first: order.then, then: order.first };
            if orders.contains(&order) || orders.contains(&reversed) {
                continue;
            }
            let mut all = orders.to_vec();
            all.push(order);
            all.sort_unstable();
            if self.tried.insert((base, all.clone())) {
                let rank = std::cmp::Reverse(rank);
                self.waiting.push(Waiting { score, rank, orders: all, base });
            }
        }
    }

    /// The same run by its schedule alone.
    fn confirm(
        &self,
        lab: &mut Laboratory<'_>,
        followed: &Followed,
        earlier: bool,
        orders: Option<usize>,
    ) -> Option<Rebuilt> {
        let run = lab.replay(&followed.run.schedule, Detail::Events);
        let same = match (&run.outcome, &followed.run.outcome) {
            (Outcome::Exited { code: a }, Outcome::Exited { code: b }) => a == b,
            (a, b) => a.is_same_bug(b),
        };
        same.then(|| Rebuilt {
            run,
            runs: self.runs,
            earlier,
            rounds_left_out: followed.rounds_left_out,
            orders,
            stamped: false,
            branches: self.task.route.turns() as u64,
            threads: self.task.route.legs.len(),
            suffixes: false,
        })
    }

    fn give_up(&mut self, lab: &Laboratory<'_>) -> Result<Rebuilt, RebuildError> {
        if let Some(problem) = lab.problem() {
            return Err(problem.clone().into());
        }
        if let Some(mut earlier) = self.earlier.take() {
            earlier.runs = self.runs;
            return Ok(earlier);
        }
        let (runs, branches) = (self.runs, self.task.route.turns() as u64);
        match self.furthest.take() {
            Some((kept, End::Strayed(strayed))) => {
                Err(RebuildError::Strayed { runs, strayed: Box::new(strayed), kept, branches })
            }
            Some((_, End::Inconclusive(reason))) => Err(RebuildError::Inconclusive(reason)),
            Some((_, End::Other(ended))) => Err(RebuildError::OtherEnd { runs, ended }),
            None if lab.is_damaged() => Err(RebuildError::Damaged { runs }),
            None if lab.has_time() => Err(RebuildError::Work { runs }),
            None => Err(RebuildError::Time { runs }),
        }
    }
}

/// How many of so many first events of a run are a thread's.
fn own_events(schedule: &Schedule, thread: u32, first: u64) -> u32 {
    let (mut all, mut own) = (0u64, 0u32);
    for segment in &schedule.segments {
        let counted = u64::from(segment.events).min(first.saturating_sub(all));
        all += u64::from(segment.events);
        if segment.thread == thread {
            own += counted as u32;
        }
    }
    own
}
