//! Races as failures: an executor whose runs end at their first race, if the user wants that.
//!
//! All that executes goes through it: search, replay, diagnosis, simplification. So a race is the same failure
//! everywhere, and none of them knows of it.

use unravel_trace::{
    Alarm, Choice, Executed, Executor, FreeInput, Guess, Guided, Input, Lead, Led, Observes,
    Outcome, Paths, Place, Question, Rules, Run, Scheduler, SiteId, View, VisibleSet, Want,
};

use super::Detector;

/// An executor whose runs are checked for races, if the rules say so.
#[derive(Debug)]
pub struct RaceChecked<E> {
    executor: E,
    /// `None` if races do not matter.
    detector: Option<Box<Detector>>,
}

impl<E> RaceChecked<E> {
    /// The executor itself.
    pub fn inner(&self) -> &E {
        &self.executor
    }

    pub fn new(executor: E, rules: &Rules) -> RaceChecked<E> {
        RaceChecked { executor, detector: rules.races.then(Box::default) }
    }
}

impl<E: Executor> Executor for RaceChecked<E> {
    fn run(
        &mut self,
        input: &Input,
        visible: &VisibleSet,
        scheduler: &mut dyn Scheduler,
        want: Want,
    ) -> Run {
        match &mut self.detector {
            None => self.executor.run(input, visible, scheduler, want),
            Some(detector) => {
                detector.clear();
                let listens = scheduler.observes() != Observes::Nothing;
                let mut checking = Checking { scheduler, listens, detector };
                self.executor.run(input, visible, &mut checking, want)
            }
        }
    }

    fn all_sites(&self) -> VisibleSet {
        self.executor.all_sites()
    }

    fn is_damaged(&self) -> bool {
        self.executor.is_damaged()
    }

    fn paths(&self, failed: &Outcome) -> Option<Paths> {
        self.executor.paths(failed)
    }

    fn kin(&self, visible: &VisibleSet) -> VisibleSet {
        self.executor.kin(visible)
    }

    fn branches(&self) -> Vec<Vec<u32>> {
        self.executor.branches()
    }

    fn guided(
        &mut self,
        input: &Input,
        visible: &VisibleSet,
        paths: &Paths,
        guesses: &[Guess],
    ) -> Option<Guided> {
        self.executor.guided(input, visible, paths, guesses)
    }

    fn lead(
        &mut self,
        input: &Input,
        visible: &VisibleSet,
        lead: &Lead,
        guesses: &[Guess],
        free: FreeInput,
    ) -> Option<Led> {
        self.executor.lead(input, visible, lead, guesses, free)
    }

    fn stack(&self, number: u64, site: SiteId) -> Vec<Place> {
        self.executor.stack(number, site)
    }

    fn after_fork(&mut self) {
        self.executor.after_fork();
    }
}

/// A scheduler that also looks for races. It decides nothing of its own.
struct Checking<'a> {
    scheduler: &'a mut dyn Scheduler,
    /// Whether the scheduler itself wants to be told of events.
    listens: bool,
    detector: &'a mut Detector,
}

impl Scheduler for Checking<'_> {
    fn next(&mut self, view: &View<'_>) -> Choice {
        self.scheduler.next(view)
    }

    fn choose(&mut self, what: Question, options: u32) -> u32 {
        self.scheduler.choose(what, options)
    }

    fn finish(&mut self, events: u64) {
        self.scheduler.finish(events);
    }

    fn observes(&self) -> Observes {
        Observes::EventsAndStacks
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<Alarm> {
        // The scheduler first: a race ends the run, and what it has not seen it could not learn from.
        let alarm = if self.listens { self.scheduler.observe(executed) } else { None };
        alarm.or_else(|| self.detector.observe(executed).map(Alarm::from))
    }
}
