//! Production-guided search (Cortex, thesis §5.2.2): failures a few reorderings and a few branches away from runs that
//! passed.
//!
//! 1. *Schedule exploration*: each combination that was observed is asked about every way to fail ([`crate::goals`]).
//! 2. *Execution synthesis*: branches near the assertions are flipped ([`crate::flips`]), one at a time, then in executions
//!    that already have a flipped branch, then several at once. A flipped branch gets traces from the database that begin
//!    with its prefix, shortest first. If there is none, the solver is asked for an order in which the branch goes the other
//!    way, which is executed: the run that comes of it is an observed one, and joins the others. Where several branches have
//!    to turn together, traces are made by guided symbolic execution ([`crate::synthesise`]).
//!
//! Where this deviates from Cortex: a single flip is decided before a trace is made for it, by asking for the flip alone. If
//! no order turns the branch while the others stay on their paths, no trace behind it can be part of an execution with
//! them. So most of what Cortex tries in vain is never tried; and what is feasible was executed, not made up. Each such
//! question counts as an attempt, as do all combinations that are asked about.
//!
//! What execution refuses is counted, with the reason. "Exhausted" is said only if every question had an answer.

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_database::{Database, DatabaseError};
use unravel_solve::Solver;
use unravel_trace::{
    BugId, Combined, Executor, HuntBounds, HuntEffort, HuntEnd, Refused, ThreadId, ThreadName,
    ThreadTrace,
};

use crate::ask::{Asked, Patience, ask};
use crate::collect::{keep, turns};
use crate::execute::{Kept, Performed, Stage, departure};
use crate::flips::{Candidate, Turned, candidates};
use crate::goals::{Aim, flip, goals};
use crate::parts::{Combination, PartId, Parts};
use crate::values::Values;

/// How long one question may take.
const PATIENCE: Patience = Patience { conflicts: 200_000, time: Duration::from_secs(10) };
/// Different reasons for refusals that are kept.
const MOST_REASONS: usize = 20;

/// A failure that was executed.
#[derive(Debug)]
pub struct Caught {
    pub performed: Performed,
    pub combination: Combination,
    pub attempt: u64,
    /// Branches flipped and traces made until then.
    pub flipped: u64,
    pub synthesised: u64,
    pub time: Duration,
}

/// How far to go.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    pub bounds: HuntBounds,
    pub deadline: Instant,
    pub interrupted: &'a AtomicBool,
    /// Go on after the first failure.
    pub all: bool,
    /// Exit codes other than 0 are failures.
    pub exit_code: bool,
}

/// A search that is going on.
pub struct Search<'a, 's, E> {
    pub stage: Stage<'s, E>,
    pub database: &'a mut Database,
    pub solver: &'a mut dyn Solver,
    pub limits: Limits<'a>,
    pub progress: &'a mut dyn FnMut(&HuntEffort, &'static str),
    pub parts: Parts,
    pub effort: HuntEffort,
    pub caught: Vec<Caught>,
    /// Why an end of the search would prove nothing.
    pub gaps: Vec<String>,
    /// Combinations that were asked about.
    asked: FxHashSet<Vec<PartId>>,
    /// Flips that were tried, and whether there is an order for them.
    tried: FxHashMap<Tried, bool>,
    /// Executions that have more flips than their bases, to be looked at in the next round.
    pub found_bases: Vec<Combination>,
    pub flipped: u64,
    begun: Instant,
}

/// A flip: the other threads, the thread, and how it begins then.
type Tried = (Vec<PartId>, ThreadName, Vec<u32>);

/// Whether to go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Go {
    On,
    /// A failure was found, or there is no time.
    Stop,
}

impl<'a, 's, E: Executor> Search<'a, 's, E> {
    pub fn new(
        stage: Stage<'s, E>,
        database: &'a mut Database,
        solver: &'a mut dyn Solver,
        limits: Limits<'a>,
        progress: &'a mut dyn FnMut(&HuntEffort, &'static str),
    ) -> Search<'a, 's, E> {
        Search {
            stage,
            database,
            solver,
            limits,
            progress,
            parts: Parts::default(),
            effort: HuntEffort::default(),
            caught: Vec::new(),
            gaps: Vec::new(),
            asked: FxHashSet::default(),
            tried: FxHashMap::default(),
            found_bases: Vec::new(),
            flipped: 0,
            begun: Instant::now(),
        }
    }

    /// The whole way. How it ended.
    pub fn run(&mut self) -> Result<HuntEnd, DatabaseError> {
        let observed = self.observed();
        (self.progress)(&self.effort, "asking about the runs that were seen");
        for base in &observed {
            if self.explore_observed(base)? == Go::Stop {
                return Ok(self.ended());
            }
        }
        let mut frontier = observed.clone();
        for level in 1..=self.limits.bounds.flips {
            (self.progress)(&self.effort, "flipping branches");
            if self.flip_all(&frontier)? == Go::Stop {
                return Ok(self.ended());
            }
            frontier = std::mem::take(&mut self.found_bases);
            if level > 1 && self.flip_together(&observed, level as usize)? == Go::Stop {
                return Ok(self.ended());
            }
        }
        if !frontier.is_empty() {
            let flips = self.limits.bounds.flips;
            self.gap(format!("executions with more than {flips} flipped branches were not derived further"));
        }
        Ok(self.ended())
    }

    fn ended(&self) -> HuntEnd {
        if !self.caught.is_empty() && !self.limits.all {
            return HuntEnd::Found;
        }
        if self.is_out_of_time() {
            let why = match self.limits.interrupted.load(Ordering::Relaxed) {
                true => "it was interrupted",
                false => "the time was up",
            };
            let left = self.found_bases.len() as u64;
            return HuntEnd::Stopped { why: why.to_owned(), left };
        }
        match self.gaps.is_empty() {
            true => HuntEnd::Exhausted,
            false => HuntEnd::Incomplete { why: self.gaps.clone() },
        }
    }

    pub fn is_out_of_time(&self) -> bool {
        self.limits.interrupted.load(Ordering::Relaxed)
            || Instant::now() >= self.limits.deadline
            || self.stage.executor.is_damaged()
    }

    pub fn go(&self) -> Go {
        let enough = !self.caught.is_empty() && !self.limits.all;
        if enough || self.is_out_of_time() { Go::Stop } else { Go::On }
    }

    pub fn gap(&mut self, why: String) {
        if !self.gaps.contains(&why) {
            self.gaps.push(why);
        }
    }

    /// The combinations of the database that were recorded with this visible set.
    fn observed(&mut self) -> Vec<Combination> {
        let mut found = Vec::new();
        for run in self.database.runs() {
            if !run.schedule.visible.is_same(&self.stage.visible) {
                continue;
            }
            let (origin, input) = (Rc::new(run.clone()), run.input.clone());
            let turns: Rc<[ThreadId]> = run.turns.as_slice().into();
            let parts: Option<Vec<PartId>> =
                run.threads.iter().map(|id| self.parts.stored(self.database, *id)).collect();
            let Some(parts) = parts else { continue };
            let turned = Vec::new();
            found.push(Combination { parts, turns, input, origin, turned, depth: 0, traces: 0 });
        }
        found
    }

    fn explore_observed(&mut self, base: &Combination) -> Result<Go, DatabaseError> {
        if !self.asked.insert(base.parts.clone()) {
            return Ok(self.go());
        }
        self.effort.observed += 1;
        match base.combine(&self.parts) {
            Ok(combined) => self.explore(base, &combined),
            Err(why) => {
                self.gap(why.to_string());
                Ok(self.go())
            }
        }
    }

    /// Asks about every way to fail of one combination.
    pub fn explore(&mut self, base: &Combination, combined: &Combined) -> Result<Go, DatabaseError> {
        let values = Values::of(&combined.symbolic);
        let found = goals(combined, &values, self.limits.exit_code);
        self.effort.ruled_out += found.refuted;
        if found.left_out > 0 {
            self.gap("of assertions in long loops only the last rounds were asked about".to_owned());
        }
        for goal in &found.goals {
            if self.go() == Go::Stop {
                return Ok(Go::Stop);
            }
            self.effort.queries += 1;
            let interrupted = self.limits.interrupted;
            match ask(combined, &found.exprs, goal, self.solver, PATIENCE, interrupted) {
                Asked::Never => {}
                Asked::Unknown(why) => self.unknown(&why),
                Asked::Promised(promise) => {
                    self.effort.promised += 1;
                    let kept = self.stage.execute(&base.input, &promise);
                    self.settle(base, combined, goal.aim, kept)?;
                }
            }
        }
        Ok(self.go())
    }

    fn unknown(&mut self, why: &str) {
        self.effort.unknown += 1;
        self.gap(format!("a question had no answer: {why}"));
    }

    /// What came of executing a promise. A run that passed is a new base, if nobody has seen it.
    fn settle(
        &mut self,
        base: &Combination,
        combined: &Combined,
        aim: Aim,
        kept: Kept,
    ) -> Result<Option<Combination>, DatabaseError> {
        match kept {
            Kept::Failed(performed) => {
                self.catch(base, *performed);
                Ok(None)
            }
            Kept::Passed(performed) => {
                if aim != Aim::Flip {
                    let traces: Vec<&ThreadTrace> =
                        base.parts.iter().map(|part| &**self.parts.get(*part)).collect();
                    let why = departure(combined, &traces, &performed);
                    self.refuse(why);
                }
                self.join(base, *performed)
            }
            Kept::Refused(why) => {
                self.refuse(why);
                Ok(None)
            }
        }
    }

    fn refuse(&mut self, reason: String) {
        self.gap("execution refused what the model promised".to_owned());
        let refused = &mut self.effort.refused;
        match refused.iter().position(|other| other.reason == reason) {
            Some(known) => refused[known].count += 1,
            None if refused.len() < MOST_REASONS => refused.push(Refused { reason, count: 1 }),
            None => refused[MOST_REASONS - 1].count += 1,
        }
    }

    pub fn catch(&mut self, base: &Combination, performed: Performed) {
        let bug = |performed: &Performed| -> Option<BugId> {
            performed.run.outcome.failure().map(|failure| failure.id())
        };
        if self.caught.iter().any(|other| bug(&other.performed) == bug(&performed)) {
            return;
        }
        self.caught.push(Caught {
            performed,
            combination: base.clone(),
            attempt: self.effort.attempts.max(1),
            flipped: self.flipped,
            synthesised: self.effort.synthesised,
            time: self.begun.elapsed(),
        });
    }

    /// A run that passed joins the database, and is looked at if it is new. Gives the combination it is then.
    fn join(
        &mut self,
        base: &Combination,
        performed: Performed,
    ) -> Result<Option<Combination>, DatabaseError> {
        let turns: Rc<[ThreadId]> = turns(&performed).into();
        let input = performed.input.clone();
        let from = format!("derived from {}", base.origin.from);
        let before = self.database.runs().len();
        let run = keep(self.database, performed, from)?;
        let threads = self.database.runs()[run].threads.clone();
        let parts: Option<Vec<PartId>> =
            threads.iter().map(|id| self.parts.stored(self.database, *id)).collect();
        let Some(parts) = parts else { return Ok(None) };
        if self.database.runs().len() > before {
            self.effort.synthesised += 1;
        }
        if !self.asked.insert(parts.clone()) {
            return Ok(None);
        }
        Ok(Some(Combination { parts, turns, input, ..base.clone() }))
    }

    /// Single flips of all bases: what no run has done yet first, nearest first, then the same among other threads' traces.
    fn flip_all(&mut self, bases: &[Combination]) -> Result<Go, DatabaseError> {
        let mut flips: Vec<(usize, Candidate)> = Vec::new();
        let mut prepared = Vec::new();
        for (index, base) in bases.iter().enumerate() {
            let Ok(combined) = base.combine(&self.parts) else {
                prepared.push(None);
                continue;
            };
            let values = Values::of(&combined.symbolic);
            let (found, ruled_out) = candidates(&combined, &values);
            self.effort.ruled_out += ruled_out;
            let depth = self.limits.bounds.depth;
            if found.len() > depth as usize {
                self.gap(format!("branches farther from the assertions than the nearest {depth} were not flipped"));
            }
            let near = found.into_iter().filter(|candidate| candidate.rank <= depth);
            flips.extend(near.map(|candidate| (index, candidate)));
            prepared.push(Some((combined, values)));
        }
        flips.sort_by_key(|(base, candidate)| (candidate.rank, *base));
        let mut begun: FxHashSet<(ThreadName, Vec<u32>)> = FxHashSet::default();
        let mut later = Vec::new();
        for (index, candidate) in flips {
            let base = &bases[index];
            let Some((combined, values)) = &prepared[index] else { continue };
            let Some((name, prefix)) = self.prefix(base, &candidate) else { continue };
            if !begun.insert((name, prefix)) {
                later.push((index, candidate));
                continue;
            }
            if self.flip(base, combined, values, &candidate)? == Go::Stop {
                return Ok(Go::Stop);
            }
        }
        for (index, candidate) in later {
            let Some((combined, values)) = &prepared[index] else { continue };
            if self.flip(&bases[index], combined, values, &candidate)? == Go::Stop {
                return Ok(Go::Stop);
            }
        }
        Ok(self.go())
    }

    /// How a thread begins whose branch is flipped: up to the branch, and which way it does not go.
    fn prefix(&self, base: &Combination, flip: &Candidate) -> Option<(ThreadName, Vec<u32>)> {
        let trace = self.parts.get(base.part(&self.parts, flip.thread)?);
        let mut prefix = trace.path.get(..flip.branch as usize)?.to_vec();
        // The way it went stands for any other.
        prefix.push(trace.path.get(flip.branch as usize).copied().unwrap_or(u32::MAX));
        Some((trace.name().clone(), prefix))
    }

    fn flip(
        &mut self,
        base: &Combination,
        combined: &Combined,
        values: &Values,
        candidate: &Candidate,
    ) -> Result<Go, DatabaseError> {
        let Some((name, prefix)) = self.prefix(base, candidate) else { return Ok(self.go()) };
        let mut derived = base.clone();
        derived.depth = derived.depth.max(candidate.rank);
        derived.turned.push(Turned {
            thread: name.clone(),
            site: combined.symbolic.conditions[candidate.condition].site,
            branch: candidate.branch,
        });
        let known = self.known_traces(&name, &prefix);
        let mut counted = false;
        for (number, part) in known.iter().enumerate() {
            let mut changed = derived.with(&self.parts, *part);
            changed.traces = changed.traces.max(number as u32 + 1);
            if !self.asked.insert(changed.parts.clone()) {
                self.effort.redundant += 1;
                continue;
            }
            let Ok(together) = changed.combine(&self.parts) else { continue };
            self.effort.attempts += 1;
            self.effort.from_database += 1;
            self.flipped += u64::from(!std::mem::replace(&mut counted, true));
            (self.progress)(&self.effort, "flipping branches");
            if self.explore(&changed, &together)? == Go::Stop {
                return Ok(Go::Stop);
            }
        }
        derived.traces = derived.traces.max(1);
        self.turn(&derived, combined, values, candidate, (name, prefix), counted)
    }

    /// Asks for an order in which one branch goes the other way, and executes it.
    fn turn(
        &mut self,
        derived: &Combination,
        combined: &Combined,
        values: &Values,
        candidate: &Candidate,
        (name, prefix): (ThreadName, Vec<u32>),
        counted: bool,
    ) -> Result<Go, DatabaseError> {
        let key = self.others(derived, candidate.thread, name, prefix);
        if self.tried.contains_key(&key) {
            self.effort.redundant += 1;
            return Ok(self.go());
        }
        let Some((goal, exprs)) = flip(combined, values, candidate.condition) else {
            return Ok(self.go());
        };
        self.effort.attempts += 1;
        self.flipped += u64::from(!counted);
        self.effort.queries += 1;
        (self.progress)(&self.effort, "flipping branches");
        let interrupted = self.limits.interrupted;
        match ask(combined, &exprs, &goal, self.solver, PATIENCE, interrupted) {
            Asked::Never => {
                self.tried.insert(key, false);
            }
            Asked::Unknown(why) => {
                self.tried.insert(key, true);
                self.unknown(&why);
            }
            Asked::Promised(promise) => {
                self.tried.insert(key, true);
                self.effort.promised += 1;
                let kept = self.stage.execute(&derived.input, &promise);
                if let Some(new) = self.settle(derived, combined, Aim::Flip, kept)? {
                    self.found_bases.push(new.clone());
                    match new.combine(&self.parts) {
                        Ok(combined) => return self.explore(&new, &combined),
                        Err(why) => self.gap(why.to_string()),
                    }
                }
            }
        }
        Ok(self.go())
    }

    fn others(
        &self,
        base: &Combination,
        thread: ThreadId,
        name: ThreadName,
        prefix: Vec<u32>,
    ) -> Tried {
        let mut others = base.parts.clone();
        others.retain(|part| self.parts.get(*part).thread != thread);
        (others, name, prefix)
    }

    /// Whether a single flip is known to have no order.
    pub fn is_refuted(&self, base: &Combination, candidate: &Candidate) -> bool {
        let Some((name, prefix)) = self.prefix(base, candidate) else { return true };
        let key = self.others(base, candidate.thread, name, prefix);
        self.tried.get(&key) == Some(&false)
    }

    /// Whether a combination has not been asked about before; from now on it has.
    pub fn is_new(&mut self, combination: &Combination) -> bool {
        let new = self.asked.insert(combination.parts.clone());
        self.effort.redundant += u64::from(!new);
        new
    }

    /// Traces of the database that begin like this and then go another way, shortest first, at most N.
    fn known_traces(&mut self, name: &ThreadName, prefix: &[u32]) -> Vec<PartId> {
        let (last, before) = prefix.split_last().expect("a prefix ends with the flipped branch");
        let branch = before.len();
        let ids = self.database.with_prefix(name, before, &self.stage.visible);
        let turned = ids.into_iter().filter(|id| {
            let path = self.database.trace(*id).map(|trace| &trace.path);
            path.and_then(|path| path.get(branch)).is_some_and(|way| way != last)
        });
        let ids: Vec<_> = turned.take(self.limits.bounds.traces as usize).collect();
        ids.into_iter().filter_map(|id| self.parts.stored(self.database, id)).collect()
    }
}
