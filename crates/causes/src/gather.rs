//! Gathers classes of schedules: all of them where exhaustive search comes to its end, as many as there is time for
//! where it does not.
//!
//! In place of ConcBugAssist's bounded model checker (§3.1), which is asked for one failing execution after the other.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;
use unravel_execute::{Laboratory, Lesson};
use unravel_strategies::{Counted, Exhaustive, Pct, Pos, Random, Systematic};
use unravel_trace::{
    BugId, Capability, Detail, Failure, LeftOut, Note, Outcome, Rng, Run, Scheduler, VisibleSet,
    Want,
};

use crate::budgets::{EXHAUSTIVE_WORK, MOST_STEPS};
use crate::causes::{Progress, Told};
use crate::orders::{OrderSet, Pairs};
use crate::watch::{Course, Watch, Words};

/// How much may be done.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub until: Instant,
    /// Classes of schedules that are kept.
    pub classes: usize,
    /// Schedules that are tried at random where exhaustive search does not end.
    pub samples: u64,
    /// The environment deviates so often at most.
    pub deviations: u32,
}

/// One class of schedules.
#[derive(Debug)]
pub struct Member {
    pub course: Course,
    /// The orders it keeps.
    pub kept: OrderSet,
}

/// A class that fails.
#[derive(Debug)]
pub struct FailingMember {
    pub member: Member,
    pub failure: Box<Failure>,
}

/// What was gathered with one input.
#[derive(Debug, Default)]
pub struct Gathered {
    pub visible: VisibleSet,
    pub passing: Vec<Member>,
    pub failing: Vec<FailingMember>,
    pub schedules: u64,
    /// Exhaustive search came to its end.
    pub exhausted: bool,
    pub left_out: Vec<LeftOut>,
    pub most_events: u64,
    /// The values that `__VERIFIER_nondet_*` returned: the input is one of many.
    pub asks_for_values: bool,
    /// The environment could have deviated.
    pub could_deviate: bool,
    /// It did so often at most.
    pub deviations: u32,
    /// Classes, and whether they fail.
    pub seen: FxHashSet<(u64, bool)>,
    /// Steps of all runs that were kept.
    pub steps: usize,
    /// In some run the program looped for ever without looking at anything.
    pub is_endless: bool,
    /// A run that ended early, with an exit code other than 0, was met: it passed nothing.
    pub gives_up: bool,
}

/// Executes the program again and again with one input.
pub struct Gatherer<'a> {
    pub lab: Laboratory<'a>,
    pub words: &'a mut Words,
    pub pairs: &'a mut Pairs,
    pub interrupted: &'a AtomicBool,
    pub told: &'a mut dyn FnMut(Told),
}

impl Gathered {
    /// Where nothing passes but failures differ, the commonest is what every schedule runs into sooner or later: with
    /// respect to the others, who gets so far passes. Says so.
    pub fn set_sequential_aside(&mut self) -> Option<String> {
        if !self.passing.is_empty() {
            return None;
        }
        let mut bugs: Vec<(BugId, usize)> = Vec::new();
        for id in self.failing.iter().map(|failing| failing.failure.id()) {
            match bugs.iter_mut().find(|(bug, _)| *bug == id) {
                Some((_, count)) => *count += 1,
                None => bugs.push((id, 1)),
            }
        }
        let commonest = bugs.iter().max_by_key(|(_, count)| *count)?.0.clone();
        if bugs.len() == 1 {
            return None;
        }
        let (aside, rest) = std::mem::take(&mut self.failing)
            .into_iter()
            .partition(|failing: &FailingMember| failing.failure.id() == commonest);
        self.failing = rest;
        let aside: Vec<FailingMember> = aside;
        self.passing = aside.into_iter().map(|failing| failing.member).collect();
        Some(format!(
            "every schedule that gets there fails with {commonest}: that is sequential, and was set aside"
        ))
    }

    /// Whether no class is missing.
    pub fn is_complete(&self) -> bool {
        self.exhausted && self.left_out.is_empty()
    }
}

impl Gatherer<'_> {
    /// All classes, or as many as the effort allows.
    pub fn gather(&mut self, effort: &Effort) -> Gathered {
        let mut visible = self.lab.learn(&Lesson::default(), |input, _| input.clone(), |_, _| {});
        let started = Instant::now();
        let all = left(effort.until);
        loop {
            match self.exhaust(&visible, effort, started + all / 2) {
                Ok(mut gathered) => {
                    // That everything fails may be for what exhaustive search does not see.
                    let sees_all = gathered.left_out.is_empty() || !gathered.passing.is_empty();
                    if gathered.exhausted && !sees_all {
                        self.sample(&mut gathered, effort, started + all / 3 * 2);
                    }
                    if !gathered.exhausted {
                        self.sample(&mut gathered, effort, started + all / 3 * 2);
                        let executed = (gathered.passing.len() + gathered.failing.len()) as u64;
                        gathered.left_out.push(LeftOut::OtherClasses { executed });
                    }
                    if gathered.is_endless {
                        let reason = "it loops for ever without looking at anything".to_owned();
                        gathered.left_out.push(LeftOut::Inconclusive { reason });
                    }
                    if gathered.gives_up {
                        let reason =
                            "a thread ends the process with an exit code other than 0 while others are alive".to_owned();
                        gathered.left_out.push(LeftOut::Inconclusive { reason });
                    }
                    return gathered;
                }
                // What looked private is shared: everything begins anew.
                Err(learned) => visible.merge(&learned),
            };
        }
    }

    /// Every class once; an error is what turned out to be shared.
    fn exhaust(
        &mut self,
        visible: &VisibleSet,
        effort: &Effort,
        until: Instant,
    ) -> Result<Gathered, VisibleSet> {
        let deviations = effort.deviations;
        let mut gathered = Gathered { visible: visible.clone(), deviations, ..Gathered::default() };
        let mut search = Exhaustive::within(effort.deviations, 0, 1);
        let begun = self.lab.work();
        loop {
            let Some(mut scheduler) = search.scheduler() else { break };
            let (run, course) = self.run(visible, &mut *scheduler, true);
            drop(scheduler);
            let counted = search.learn(&run);
            let learned = run.learned.without(visible);
            if !learned.is_empty() {
                return Err(learned);
            }
            gathered.schedules += 1;
            if counted == Counted::New {
                self.keep(&mut gathered, run, course);
            }
            if gathered.passing.len() + gathered.failing.len() >= effort.classes
                || gathered.steps >= MOST_STEPS
                || self.lab.work() - begun >= EXHAUSTIVE_WORK
                || Instant::now() >= until
                || self.is_to_stop()
            {
                return Ok(gathered);
            }
        }
        let summary = search.summary();
        gathered.exhausted = true;
        let missing = [Capability::Learn, Capability::PruneSpins];
        for capability in missing.into_iter().filter(|capability| !self.lab.can(*capability)) {
            gathered.left_out.push(LeftOut::Lacking(capability));
        }
        // Values that are fixed are a bound, not a gap: the extent says so.
        gathered.left_out.extend(summary.left_out);
        gathered
            .left_out
            .retain(|what| !(gathered.asks_for_values && *what == LeftOut::OtherValues));
        Ok(gathered)
    }

    /// Adds classes that schedules drawn at random show.
    fn sample(&mut self, gathered: &mut Gathered, effort: &Effort, until: Instant) {
        let visible = gathered.visible.clone();
        let events = gathered.most_events.max(1);
        for index in 0..effort.samples {
            if Instant::now() >= until || gathered.steps >= MOST_STEPS || self.is_to_stop() {
                return;
            }
            let seed = Rng::derive(1, index);
            let mut scheduler: Box<dyn Scheduler> = match index % 3 {
                0 => Box::new(Random::new(seed)),
                1 => Box::new(Pos::new(seed)),
                _ => Box::new(Pct::new(seed, 2 + (index / 3 % 4) as u32, events)),
            };
            let (run, course) = self.run(&visible, &mut *scheduler, false);
            gathered.schedules += 1;
            self.keep(gathered, run, course);
        }
    }

    /// One run, watched.
    pub fn run(
        &mut self,
        visible: &VisibleSet,
        scheduler: &mut dyn Scheduler,
        prune_spins: bool,
    ) -> (Run, Course) {
        let mut watch = Watch::new(self.words);
        let learn = prune_spins && self.lab.can(Capability::Learn);
        let prune_spins = prune_spins && self.lab.can(Capability::PruneSpins);
        let want = Want { learn, prune_spins, ..Want::only(Detail::Outcome) };
        let run = self.lab.run_seeing(visible, scheduler, &mut watch, want);
        let mut course = watch.finish();
        if !run.deviated.is_empty() {
            course.forced = run.input(self.lab.input()).forced;
        }
        (run, course)
    }

    /// Keeps a run if its class is new.
    pub fn keep(&mut self, gathered: &mut Gathered, run: Run, course: Course) -> bool {
        gathered.asks_for_values |= !run.nondet.is_empty();
        gathered.could_deviate |= run.could_deviate;
        gathered.most_events = gathered.most_events.max(course.steps.len() as u64);
        let failure = match run.outcome {
            Outcome::Exited { .. } if run.notes.contains(&Note::GaveUp) => {
                gathered.gives_up = true;
                return false;
            }
            Outcome::Exited { .. } => None,
            Outcome::Failed(failure) => Some(failure),
            Outcome::Discarded | Outcome::Inconclusive { .. } => {
                gathered.is_endless |= run.notes.contains(&Note::EndlessLoop);
                return false;
            }
        };
        if !gathered.seen.insert((course.class, failure.is_some())) {
            return false;
        }
        gathered.steps += course.steps.len();
        let kept = self.pairs.kept(&course, &self.words.touches);
        let member = Member { course, kept };
        match failure {
            None => gathered.passing.push(member),
            Some(failure) => gathered.failing.push(FailingMember { member, failure }),
        }
        let classes = gathered.passing.len() + gathered.failing.len();
        if classes.is_multiple_of(256) {
            (self.told)(Told::Progress(Progress::Exploring {
                passing: gathered.passing.len() as u64,
                failing: gathered.failing.len() as u64,
            }));
        }
        true
    }

    fn is_to_stop(&self) -> bool {
        !self.lab.may_go_on()
    }
}

/// Time that is left.
pub fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}
