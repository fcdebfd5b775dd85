//! The joint of engines: what executes a program under a scheduler, and what it may be asked.
//!
//! [`Executor`] is small: run a job, say what sites there are, what it can do besides, and how it is. All that only some
//! engines can do (symbolic traces, guided runs, stacks, …) is a [`Capability`]; a job that wants one which is missing is
//! refused by name, never done by half. What went wrong with the *engine* is an [`EngineError`] and no outcome of the
//! program.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    Detail, Followed, FreeInput, Guess, Guided, Input, Lead, Led, Observer, Observes, Paths, Place,
    Route, Run, Scheduler, SiteTable, VisibleSet, Want,
};

/// One execution: with which input, counting accesses at which sites as events, keeping what.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    pub input: &'a Input,
    pub visible: &'a VisibleSet,
    pub want: Want,
}

/// Runs a program under a scheduler.
pub trait Executor {
    /// One run. The scheduler decides; the observer sees, and may end the run by an alarm.
    fn run(
        &mut self,
        job: &Job<'_>,
        by: &mut dyn Scheduler,
        seen: &mut dyn Observer,
    ) -> Result<Run, EngineError>;

    /// What it is called in trace files.
    fn name(&self) -> &'static str;

    /// The sites of the program.
    fn sites(&self) -> &SiteTable;

    /// What it can do besides running.
    fn can(&self) -> Capabilities;

    /// For an engine that can lead threads along given paths.
    fn guide(&mut self) -> Option<&mut dyn Guide> {
        None
    }

    /// Whether further runs would be what they should be.
    fn health(&self) -> Health {
        Health::Good
    }

    /// Gives back what it holds of this process from one run to the next, descriptors for instance. Called before something
    /// is opened that outlives the next run.
    fn rest(&mut self) {}

    /// Called in a forked process before it runs anything.
    fn after_fork(&mut self) {}

    /// Whether runs fail for how accesses are ordered, and not only for what these do: then whoever sees fewer of them finds fewer
    /// failures.
    fn judges_orders(&self) -> bool {
        false
    }

    /// Where the last run of this process, or of one forked from it, was when it was last looked at; for runs that come to
    /// no end.
    fn whereabouts(&self) -> Option<Whereabouts> {
        None
    }

    /// Which function took most of what all runs executed so far, in this process and those forked from it. Known of long runs
    /// only.
    fn busiest(&self) -> Option<Busiest> {
        None
    }
}

/// The innermost function of the program with most of the work in it, what it calls included. Counted in samples.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Busiest {
    /// Where it begins.
    pub place: Place,
    /// Instructions executed in it, of so many in all.
    pub steps: u64,
    pub of: u64,
}

/// How far a run came that did not end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Whereabouts {
    pub place: Place,
    /// Threads it has created, the main thread included.
    pub threads: u64,
}

impl<E: Executor + ?Sized> Executor for &mut E {
    fn run(
        &mut self,
        job: &Job<'_>,
        by: &mut dyn Scheduler,
        seen: &mut dyn Observer,
    ) -> Result<Run, EngineError> {
        (**self).run(job, by, seen)
    }

    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn sites(&self) -> &SiteTable {
        (**self).sites()
    }

    fn can(&self) -> Capabilities {
        (**self).can()
    }

    fn guide(&mut self) -> Option<&mut dyn Guide> {
        (**self).guide()
    }

    fn health(&self) -> Health {
        (**self).health()
    }

    fn rest(&mut self) {
        (**self).rest();
    }

    fn after_fork(&mut self) {
        (**self).after_fork();
    }

    fn judges_orders(&self) -> bool {
        (**self).judges_orders()
    }

    fn whereabouts(&self) -> Option<Whereabouts> {
        (**self).whereabouts()
    }

    fn busiest(&self) -> Option<Busiest> {
        (**self).busiest()
    }
}

/// Leads threads along given paths, in an order of its own, with symbols for what they read.
pub trait Guide {
    /// Leads every thread along its path.
    fn guided(
        &mut self,
        job: &Job<'_>,
        paths: &Paths,
        guesses: &[Guess],
    ) -> Result<Guided, EngineError>;

    /// Leads every thread along the branches it begins with, and lets it go on from there. No failure is expected.
    fn lead(&mut self, job: &Job<'_>, lead: &Lead, guesses: &[Guess]) -> Result<Led, EngineError>;

    /// An ordinary run, with values and under a scheduler, that ends where a thread leaves its route. Without a route, says
    /// which one it took.
    fn follow(
        &mut self,
        job: &Job<'_>,
        route: Option<&Arc<Route>>,
        by: &mut dyn Scheduler,
        seen: &mut dyn Observer,
    ) -> Result<Followed, EngineError>;
}

/// What an engine may be able to do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Capability {
    /// Keep the events of a run ([`Detail::Events`]).
    Events,
    /// Keep a run as a function of what its reads returned ([`Detail::Symbolic`]).
    Symbolic,
    /// Keep it so that each thread's part stands by itself ([`Detail::Separable`]), inputs as symbols too.
    Separable,
    /// Lead threads along paths ([`Executor::guide`]).
    Guided,
    /// Keep the stacks of events ([`Want::stacks`]), also for observers that name earlier events.
    Stacks,
    /// Let a thread wait that is back in a state it was in ([`Want::prune_spins`], [`Want::skip_rounds`]).
    PruneSpins,
    /// Look for sites that touch what other threads touch ([`Want::learn`]).
    Learn,
    /// Keep what the program prints ([`Want::output`]).
    Output,
}

impl Capability {
    pub const ALL: [Capability; 8] = {
        use Capability::*;
        [Events, Symbolic, Separable, Guided, Stacks, PruneSpins, Learn, Output]
    };
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Capability::Events => "keep the events of a run",
            Capability::Symbolic => "execute symbolically",
            Capability::Separable => "take runs apart by thread",
            Capability::Guided => "lead threads along paths",
            Capability::Stacks => "keep the call stacks of events",
            Capability::PruneSpins => "recognise busy waits",
            Capability::Learn => "learn what threads share",
            Capability::Output => "keep what the program prints",
        })
    }
}

/// What an engine can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Capabilities(u32);

impl Capabilities {
    pub fn all() -> Capabilities {
        Capability::ALL.into_iter().collect()
    }

    pub fn has(self, capability: Capability) -> bool {
        self.0 >> capability as u32 & 1 == 1
    }

    #[must_use]
    pub fn without(self, capability: Capability) -> Capabilities {
        Capabilities(self.0 & !(1 << capability as u32))
    }

    /// Refuses a job that wants what is missing.
    pub fn allow(self, want: Want, observes: Observes) -> Result<(), EngineError> {
        let needs = [
            (want.detail >= Detail::Events, Capability::Events),
            (want.detail >= Detail::Symbolic, Capability::Symbolic),
            (want.detail >= Detail::Separable, Capability::Separable),
            (want.free != FreeInput::None, Capability::Separable),
            (want.stacks || observes == Observes::EventsAndStacks, Capability::Stacks),
            (want.prune_spins || want.skip_rounds || want.awaits, Capability::PruneSpins),
            (want.learn, Capability::Learn),
            (want.output, Capability::Output),
        ];
        let missing = needs.into_iter().find(|(needed, what)| *needed && !self.has(*what));
        missing.map_or(Ok(()), |(_, what)| Err(EngineError::Cannot(what)))
    }
}

impl FromIterator<Capability> for Capabilities {
    fn from_iter<T: IntoIterator<Item = Capability>>(capabilities: T) -> Capabilities {
        Capabilities(capabilities.into_iter().fold(0, |bits, one| bits | 1 << one as u32))
    }
}

/// How an engine is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Health {
    Good,
    /// A crash in native code, or a function whose effects cannot be undone, may have left this process in disorder.
    /// Further runs belong in another process.
    Damaged,
}

/// What went wrong with an engine. Never an outcome of the program.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EngineError {
    /// It has to do what it cannot.
    #[error("this engine cannot {0}")]
    Cannot(Capability),
    /// The process that ran the program is gone, by this signal if not 0, and not by anything that the program is to blame
    /// for.
    #[error("the engine died (signal {signal})")]
    Died { signal: i32 },
    /// Anything else.
    #[error("the engine failed: {0}")]
    Failed(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_wants_what_is_missing_is_refused_by_name() {
        let can = Capabilities::all().without(Capability::Symbolic);
        let events = Want::only(Detail::Events);
        assert_eq!(can.allow(events, Observes::Events), Ok(()));
        let symbolic = can.allow(Want::only(Detail::Symbolic), Observes::Nothing);
        assert_eq!(symbolic, Err(EngineError::Cannot(Capability::Symbolic)));
        let none = Capabilities::default();
        assert_eq!(none.allow(Want::only(Detail::Outcome), Observes::Events), Ok(()));
        let stacks = none.allow(Want::only(Detail::Outcome), Observes::EventsAndStacks);
        assert_eq!(stacks, Err(EngineError::Cannot(Capability::Stacks)));
    }
}
