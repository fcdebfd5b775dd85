//! Races as failures: an executor whose runs end at their first race, if the user wants that.
//!
//! All that executes goes through it: search, replay, diagnosis, simplification. So a race is the same failure
//! everywhere, and none of them knows of it.

use unravel_trace::{
    Alarm, Busiest, Capabilities, EngineError, Executed, Executor, Guide, Health, Job, Observer,
    Observes, Rules, Run, Scheduler, SiteId, SiteTable, Whereabouts,
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

/// The first race ends the run. Whoever looks has seen the event already.
struct First<'d> {
    detector: &'d mut Detector,
    /// Where its two accesses are.
    sites: Option<[SiteId; 2]>,
}

impl Observer for First<'_> {
    fn observes(&self) -> Observes {
        self.detector.observes()
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<Alarm> {
        let race = self.detector.first_race(executed)?;
        self.sites = Some([race.what.site, executed.what.site]);
        Some(race.into())
    }
}

impl<E: Executor> Executor for RaceChecked<E> {
    fn run(
        &mut self,
        job: &Job<'_>,
        by: &mut dyn Scheduler,
        seen: &mut dyn Observer,
    ) -> Result<Run, EngineError> {
        match self.detector.as_mut().filter(|_| !job.want.past_races) {
            None => self.executor.run(job, by, seen),
            Some(detector) => {
                detector.clear();
                let mut first = First { detector, sites: None };
                let mut run = self.executor.run(job, by, &mut (seen, &mut first))?;
                // The run ended before the second of the two accesses, so the engine has not seen that they share.
                let all = self.executor.sites().all();
                let sites = first.sites.into_iter().flatten().filter(|site| all.contains(*site));
                for site in sites.filter(|_| job.want.learn) {
                    run.learned.insert(site);
                }
                Ok(run)
            }
        }
    }

    fn name(&self) -> &'static str {
        self.executor.name()
    }

    fn sites(&self) -> &SiteTable {
        self.executor.sites()
    }

    fn can(&self) -> Capabilities {
        self.executor.can()
    }

    fn guide(&mut self) -> Option<&mut dyn Guide> {
        self.executor.guide()
    }

    fn health(&self) -> Health {
        self.executor.health()
    }

    fn rest(&mut self) {
        self.executor.rest();
    }

    fn after_fork(&mut self) {
        self.executor.after_fork();
    }

    fn judges_orders(&self) -> bool {
        self.detector.is_some() || self.executor.judges_orders()
    }

    fn whereabouts(&self) -> Option<Whereabouts> {
        self.executor.whereabouts()
    }

    fn busiest(&self) -> Option<Busiest> {
        self.executor.busiest()
    }
}
