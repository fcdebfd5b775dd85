//! Production-guided search (Cortex, thesis §5.2.2): failures a few reorderings and a few branches away from runs that
//! passed.
//!
//! 1. *Schedule exploration*: each combination that was observed is asked about every way to fail ([`crate::targets`]).
//! 2. *Execution synthesis*: branches near the assertions are flipped ([`crate::flips`]), one at a time, then in executions
//!    that already have a flipped branch, then several at once. A flipped branch gets traces from the database that begin
//!    with its prefix, shortest first. If there is none, the solver is asked for an order in which the branch goes the other
//!    way, which is executed: the run that comes of it is an observed one, and joins the others. Where several branches have
//!    to turn together, traces are made by guided symbolic execution ([`synthesise`]).
//!
//! Where this deviates from Cortex: a single flip is decided before a trace is made for it, by asking for the flip alone. If
//! no order turns the branch while the others stay on their paths, no trace behind it can be part of an execution with
//! them. So most of what Cortex tries in vain is never tried; and what is feasible was executed, not made up. Each such
//! question counts as an attempt, as do all combinations that are asked about.
//!
//! What execution refuses is counted, with the reason. "Exhausted" is said only if every question had an answer.

mod flipping;
mod synthesise;

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_database::{Database, DatabaseError};
use unravel_execute::Divergence;
use unravel_results::{Attempt, HuntBounds, HuntEffort, HuntEnd, HuntGap, HuntStop, Refused};
use unravel_solve::Solver;
use unravel_trace::{
    BugId, Combined, Condition, ConditionKind, Exprs, Otherwise, SiteId, ThreadId, ThreadTrace,
};

use crate::agenda::{Agenda, Item, Start};
use crate::ask::{Asked, Patience, Promise, ask, prepare};
use crate::budgets::{
    FIRST_CONFLICTS, FIRST_TIME, IN_PASSING, LONG, MOST_CONFLICTS, MOST_REASONS, MOST_TIME,
    MOST_TOGETHER, NEARBY_STEPS, RATION, UNANSWERED, WALKS,
};
use crate::collect::{keep, turns};
use crate::execute::{Kept, Performed, Stage, departure};
use crate::gaps::gaps;
use crate::hunt::out_of_time;
use crate::parts::{Combination, PartId, Parts};
use crate::targets::{Aim, Target, targets};
use crate::values::Values;

/// How long a question may take, and how long if it is asked again.
const FIRST: Patience = Patience {
    conflicts: FIRST_CONFLICTS,
    time: FIRST_TIME,
    walks: WALKS,
    nearby: NEARBY_STEPS,
    is_first: true,
};
const AGAIN: Patience =
    Patience { conflicts: MOST_CONFLICTS, time: MOST_TIME, is_first: false, ..FIRST };

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
pub struct Search<'a, 's> {
    pub stage: Stage<'s>,
    pub database: &'a mut Database,
    pub solver: &'a mut dyn Solver,
    pub limits: Limits<'a>,
    /// Stop when more turns out to be shared than is visible.
    pub widens: bool,
    pub progress: &'a mut dyn FnMut(&HuntEffort, &'static str),
    pub parts: Parts,
    pub effort: HuntEffort,
    pub caught: Vec<Caught>,
    pub journal: Vec<Attempt>,
    /// Why an end of the search would prove nothing.
    pub gaps: Vec<HuntGap>,
    /// Combinations that were asked about, and those whose flips are on the agenda or done.
    asked: FxHashSet<Vec<PartId>>,
    based: FxHashSet<Vec<PartId>>,
    /// Runs that came of promises and are to be looked at.
    adoptees: Vec<Combination>,
    /// Observed combinations that were not asked about yet.
    waiting: usize,
    /// Flips that were tried, and whether there is an order for them.
    tried: FxHashMap<Tried, bool>,
    agenda: Agenda,
    pub flipped: u64,
    /// The next question is the first one about an execution that was synthesised.
    pub new_attempt: bool,
    begun: Instant,
    patience: Patience,
    /// Questions that had no answer at first.
    postponed: VecDeque<Postponed>,
    /// By place: questions about it that had no answer.
    unanswered: FxHashMap<SiteId, u32>,
    /// By place, aim, whether it is a thread's last time there, and number of flips: questions about it.
    rationed: FxHashMap<(SiteId, Aim, bool, usize), u32>,
}

/// A question to be asked again.
#[derive(Debug)]
enum Postponed {
    /// These targets of a combination, by number.
    Targets(Box<Combination>, Vec<usize>),
    Flip(Box<Item>),
}

/// A flip: the other threads, and how the thread begins.
type Tried = (Vec<PartId>, Start);

/// Whether to go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Go {
    On,
    /// A failure was found, or there is no time.
    Stop,
}

impl<'a, 's> Search<'a, 's> {
    pub fn new(
        stage: Stage<'s>,
        database: &'a mut Database,
        solver: &'a mut dyn Solver,
        limits: Limits<'a>,
        widens: bool,
        progress: &'a mut dyn FnMut(&HuntEffort, &'static str),
    ) -> Search<'a, 's> {
        Search {
            stage,
            database,
            solver,
            limits,
            widens,
            progress,
            parts: Parts::default(),
            effort: HuntEffort::default(),
            caught: Vec::new(),
            journal: Vec::new(),
            gaps: Vec::new(),
            asked: FxHashSet::default(),
            based: FxHashSet::default(),
            adoptees: Vec::new(),
            waiting: 0,
            tried: FxHashMap::default(),
            agenda: Agenda::default(),
            flipped: 0,
            new_attempt: false,
            begun: Instant::now(),
            patience: FIRST,
            postponed: VecDeque::new(),
            unanswered: FxHashMap::default(),
            rationed: FxHashMap::default(),
        }
    }

    /// The whole way. How it ended.
    pub fn run(&mut self) -> Result<HuntEnd, DatabaseError> {
        let (different, alike) = self.observed();
        for bases in [&different, &alike] {
            if self.search_from(bases)? == Go::Stop {
                return Ok(self.ended());
            }
        }
        for many in 2..=self.limits.bounds.flips.min(MOST_TOGETHER) {
            let together = self.flip_together(&different, many as usize)?;
            // What came of it is followed further.
            if together == Go::Stop || self.search_from(&[])? == Go::Stop {
                return Ok(self.ended());
            }
        }
        Ok(self.ended())
    }

    /// Asks about executions as they are, then flips what could go another way in them, one at a time.
    fn search_from(&mut self, bases: &[Combination]) -> Result<Go, DatabaseError> {
        (self.progress)(&self.effort, "asking about the runs that were seen");
        for (number, base) in bases.iter().enumerate() {
            self.waiting = bases.len() - number;
            if self.explore_observed(base)? == Go::Stop {
                return Ok(Go::Stop);
            }
        }
        self.waiting = 0;
        for base in bases {
            self.schedule_flips(base, true);
        }
        loop {
            if self.adopt()? == Go::Stop {
                return Ok(Go::Stop);
            }
            let go = match self.agenda.next() {
                Some(item) => self.flip(&item)?,
                None => match self.postponed.pop_front() {
                    Some(postponed) => self.ask_again(postponed)?,
                    None => return Ok(self.go()),
                },
            };
            if go == Go::Stop {
                return Ok(Go::Stop);
            }
        }
    }

    /// What had no answer at first, with more patience.
    fn ask_again(&mut self, postponed: Postponed) -> Result<Go, DatabaseError> {
        (self.progress)(&self.effort, "asking again what had no answer");
        self.patience = AGAIN;
        let go = match postponed {
            Postponed::Flip(item) => self.flip(&item),
            Postponed::Targets(base, which) => match base.combine(&self.parts) {
                Ok(combined) => self.explore_targets(&base, &combined, Some(&which)),
                Err(why) => {
                    self.gap(HuntGap::Incompatible(why));
                    Ok(self.go())
                }
            },
        };
        self.patience = FIRST;
        go
    }

    /// Looks at runs that came of promises: other orders of them, and what could be flipped in them.
    fn adopt(&mut self) -> Result<Go, DatabaseError> {
        while let Some(new) = self.adoptees.pop() {
            if self.asked.insert(new.parts.clone()) {
                match new.combine(&self.parts) {
                    Ok(combined) => {
                        if self.explore(&new, &combined)? == Go::Stop {
                            return Ok(Go::Stop);
                        }
                    }
                    Err(why) => self.gap(HuntGap::Incompatible(why)),
                }
            }
            self.schedule_flips(&new, true);
        }
        Ok(self.go())
    }

    fn ended(&self) -> HuntEnd {
        if !self.caught.is_empty() && !self.limits.all {
            return HuntEnd::Found;
        }
        if self.is_out_of_time() {
            let left = (self.agenda.len() + self.waiting + self.postponed.len()) as u64;
            if self.stage.lab.is_damaged() {
                return HuntEnd::Stopped { why: HuntStop::Damaged, left };
            }
            return out_of_time(self.limits.interrupted, left);
        }
        let mut gaps = self.gaps.clone();
        if !self.stage.learned.is_empty() {
            gaps.push(HuntGap::MoreShared);
        }
        match gaps.is_empty() {
            true => HuntEnd::Exhausted,
            false => HuntEnd::Incomplete { why: gaps },
        }
    }

    pub fn is_out_of_time(&self) -> bool {
        self.limits.interrupted.load(Ordering::Relaxed)
            || Instant::now() >= self.limits.deadline
            || self.stage.lab.is_damaged()
    }

    pub fn go(&self) -> Go {
        let enough = !self.caught.is_empty() && !self.limits.all;
        let wider = self.widens && !self.stage.learned.is_empty();
        if enough || wider || self.is_out_of_time() { Go::Stop } else { Go::On }
    }

    pub fn gap(&mut self, why: HuntGap) {
        if !self.gaps.contains(&why) {
            self.gaps.push(why);
        }
    }

    /// The combinations of the database that were recorded with this visible set: one for each combination of paths, and
    /// those that differ from them only in values.
    fn observed(&mut self) -> (Vec<Combination>, Vec<Combination>) {
        let mut paths: FxHashSet<Vec<Vec<u32>>> = FxHashSet::default();
        let (mut different, mut alike) = (Vec::new(), Vec::new());
        for run in self.database.runs() {
            if !run.schedule.visible.is_same(self.stage.lab.visible()) {
                continue;
            }
            let (origin, input) = (Rc::new(run.clone()), run.input.clone());
            let turns: Rc<[ThreadId]> = run.turns.as_slice().into();
            let parts: Option<Vec<PartId>> =
                run.threads.iter().map(|id| self.parts.stored(self.database, *id)).collect();
            let Some(parts) = parts else { continue };
            let path = |part: &PartId| self.parts.get(*part).path.clone();
            let new = paths.insert(parts.iter().map(path).collect());
            let found = if new { &mut different } else { &mut alike };
            found.push(Combination {
                parts,
                turns,
                input,
                origin,
                turned: Vec::new(),
                fixed: Vec::new(),
                depth: 0,
                traces: 0,
            });
        }
        (different, alike)
    }

    fn explore_observed(&mut self, base: &Combination) -> Result<Go, DatabaseError> {
        if !self.asked.insert(base.parts.clone()) {
            return Ok(self.go());
        }
        self.effort.observed += 1;
        match base.combine(&self.parts) {
            Ok(combined) => self.explore(base, &combined),
            Err(why) => {
                self.gap(HuntGap::Incompatible(why));
                Ok(self.go())
            }
        }
    }

    /// Asks about every way to fail of one combination.
    pub fn explore(
        &mut self,
        base: &Combination,
        combined: &Combined,
    ) -> Result<Go, DatabaseError> {
        self.explore_targets(base, combined, None)
    }

    /// The same about some of these ways, by number.
    fn explore_targets(
        &mut self,
        base: &Combination,
        combined: &Combined,
        which: Option<&[usize]>,
    ) -> Result<Go, DatabaseError> {
        let values = Values::of(&combined.symbolic);
        let is_guess = |c: &Condition| {
            matches!(c.why, ConditionKind::Address | ConditionKind::Fixed)
                && c.otherwise == Otherwise::Unknown
        };
        // With another input almost every address is another: such a guess would be wild.
        let guesses = combined.symbolic.inputs.is_empty()
            && combined.symbolic.conditions.iter().any(is_guess);
        let found = targets(combined, &values, self.limits.exit_code);
        for why in gaps(combined) {
            self.gap(why);
        }
        if which.is_none() {
            self.effort.ruled_out += found.refuted;
        }
        if found.left_out > 0 {
            self.gap(HuntGap::LongLoops);
        }
        let mut unanswered = Vec::new();
        for (number, target) in found.targets.iter().enumerate() {
            if self.go() == Go::Stop {
                return Ok(Go::Stop);
            }
            if which.is_some_and(|which| !which.contains(&number)) {
                continue;
            }
            if which.is_none() && self.waits_its_turn(base, target) {
                unanswered.push(number);
                continue;
            }
            let mut relaxed = target.clone();
            relaxed.failing.relaxed = true;
            // In a long trace some address is almost always another one.
            let long = combined.symbolic.steps.len() > LONG;
            let ways = match (guesses, long) {
                (false, _) => vec![target],
                (true, false) => vec![target, &relaxed],
                (true, true) => vec![&relaxed, target],
            };
            for way in ways {
                match self.ask(combined, &found.exprs, way) {
                    Asked::Never => {}
                    // Of a guess nobody needs to know.
                    Asked::Unknown(_) if way.failing.relaxed => {}
                    Asked::Unknown(_) if self.patience.is_first => unanswered.push(number),
                    Asked::Unknown(why) => self.unknown(why),
                    Asked::Promised(promise) => {
                        let aim = if way.failing.relaxed { Aim::Guess } else { target.aim };
                        let new = self.keep_promise(base, combined, aim, &promise)?;
                        self.adoptees.extend(new);
                    }
                }
                if self.go() == Go::Stop {
                    return Ok(Go::Stop);
                }
            }
        }
        if !unanswered.is_empty() {
            self.postponed.push_back(Postponed::Targets(Box::new(base.clone()), unanswered));
        }
        Ok(self.go())
    }

    /// Whether enough was asked about a place. The last time that each thread comes to it has a ration of its own: it is where all that
    /// a combination has could have happened before.
    fn waits_its_turn(&mut self, base: &Combination, target: &Target) -> bool {
        let place = (target.site, target.aim, target.later == 0, base.turned.len());
        let asked = self.rationed.entry(place).or_default();
        *asked += 1;
        *asked > RATION
    }

    fn ask(&mut self, combined: &Combined, exprs: &Exprs, target: &Target) -> Asked {
        let Some(cut) = prepare(combined, exprs, target) else {
            self.effort.ruled_out += 1;
            return Asked::Never;
        };
        self.effort.attempts += u64::from(std::mem::take(&mut self.new_attempt));
        self.effort.queries += 1;
        let left = self.limits.deadline.saturating_duration_since(Instant::now());
        let patience = Patience { time: self.patience.time.min(left), ..self.patience };
        let unanswered = self.unanswered.entry(target.site).or_default();
        let in_passing = patience.is_first && *unanswered >= UNANSWERED;
        let patience = if in_passing { patience.divided(IN_PASSING) } else { patience };
        let asked = ask(cut, self.solver, patience, self.limits.interrupted);
        *unanswered += u32::from(matches!(asked, Asked::Unknown(_)));
        asked
    }

    /// Executes a promise. Gives the new base that comes of it, if it passed.
    fn keep_promise(
        &mut self,
        base: &Combination,
        combined: &Combined,
        aim: Aim,
        promise: &Promise,
    ) -> Result<Option<Combination>, DatabaseError> {
        self.effort.promised += 1;
        let kept = self.stage.execute(&base.input, promise);
        self.settle(base, combined, aim, kept)
    }

    fn unknown(&mut self, why: String) {
        self.effort.unknown += 1;
        self.gap(HuntGap::Unanswered { why });
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
                if self.limits.all {
                    self.gap(HuntGap::AfterFailure);
                }
                self.catch(base, *performed);
                Ok(None)
            }
            Kept::Passed(performed, divergence) => {
                if aim != Aim::Flip {
                    let traces: Vec<&ThreadTrace> =
                        base.parts.iter().map(|part| &**self.parts.get(*part)).collect();
                    let mut why = departure(combined, &traces, &performed);
                    if let Some(Divergence::NotEnabled { thread, .. }) = divergence {
                        why = format!("{why}; {thread} could not run when it should");
                    }
                    self.refuse(why, aim);
                }
                self.join(base, *performed)
            }
            Kept::Refused(why) => {
                self.refuse(why, aim);
                Ok(None)
            }
        }
    }

    fn refuse(&mut self, reason: String, aim: Aim) {
        let reason = match aim {
            Aim::Guess => format!("a guess at other addresses was wrong: {reason}"),
            _ => {
                self.gap(HuntGap::Refused);
                reason
            }
        };
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
        if self.based.contains(&parts) && self.asked.contains(&parts) {
            return Ok(None);
        }
        Ok(Some(Combination { parts, turns, input, ..base.clone() }))
    }
}
