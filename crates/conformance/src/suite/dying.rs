//! The death of an engine: an error of ours, never an outcome of the program.

use unravel_execute::Laboratory;
use unravel_strategies::RunToBlock;
use unravel_trace::*;

use super::record::Record;
use super::{OUTCOME, visible_sets};
use crate::{Engine, Sample};

/// An executor whose engine dies in its run of this number. No program can ask for that.
struct Dies<'e> {
    inner: &'e mut dyn Executor,
    at: u32,
    runs: u32,
}

impl Executor for Dies<'_> {
    fn run(
        &mut self,
        job: &Job<'_>,
        by: &mut dyn Scheduler,
        seen: &mut dyn Observer,
    ) -> Result<Run, EngineError> {
        self.runs += 1;
        let run = self.inner.run(job, by, seen)?;
        if self.runs == self.at { Err(EngineError::Died { signal: 9 }) } else { Ok(run) }
    }

    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn sites(&self) -> &SiteTable {
        self.inner.sites()
    }

    fn can(&self) -> Capabilities {
        self.inner.can()
    }
}

/// The laboratory says that the engine is gone, executes nothing more, and nothing that it returns is an outcome.
pub fn the_death_of_an_engine_is_no_outcome(engine: &mut dyn Engine) {
    let mut executor = engine.open(Sample::LostUpdate);
    let [_, _, all] = visible_sets(&*executor);
    let mut dies = Dies { inner: &mut *executor, at: 3, runs: 0 };
    let mut lab = Laboratory::new(&mut dies, Input::default(), all);
    for number in 1..=5 {
        let mut seen = Record::new();
        let run = lab.run(&mut RunToBlock, &mut seen, OUTCOME);
        let is_well = number < 3;
        assert_eq!(matches!(run.outcome, Outcome::Exited { .. }), is_well);
        assert_eq!(matches!(run.outcome, Outcome::Inconclusive { .. }), !is_well);
        assert_eq!(lab.may_go_on(), is_well);
        let problem = (!is_well).then_some(&EngineError::Died { signal: 9 });
        assert_eq!(lab.problem(), problem);
        assert_eq!(seen.events.is_empty(), number > 3, "nothing is executed after that");
    }
    let replayed = lab.replay(&Schedule::default(), Detail::Outcome);
    assert!(matches!(replayed.outcome, Outcome::Inconclusive { .. }));
    assert_eq!(dies.runs, 3);
    let after = executor.run(
        &Job { input: &Input::default(), visible: &VisibleSet::default(), want: OUTCOME },
        &mut RunToBlock,
        &mut (),
    );
    assert!(after.is_ok(), "the engine itself is well");
}
