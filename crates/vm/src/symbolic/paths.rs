//! The paths of a run, and runs along given paths: the way in and out of [`super::guide`].

use unravel_trace::{
    Choice, EngineError, FailureKind, Guess, Guided, Job, Lead, Led, Outcome, Paths, Scheduler,
    ThreadPath, View,
};

use super::Guide;
use super::guide::Guided as GuidedThread;
use crate::machine::Machine;

const CONTRADICTED: &str = "a value that only one thread writes contradicts its path";
const CRASHED: &str = "a native function crashed";

/// Only the first thread is ever asked for.
struct First;

impl Scheduler for First {
    fn next(&mut self, view: &View<'_>) -> Choice {
        Choice { thread: view.enabled[0].thread, events: 1 }
    }
}

impl Machine {
    /// Which way each thread went, and where it stands unless it has ended.
    pub fn paths(&self) -> Vec<ThreadPath> {
        let path = |index: usize| ThreadPath {
            name: self.names[index].clone(),
            outcomes: self.concolic.outcomes(index).to_vec(),
            blocked_at: (!self.threads[index].ended).then(|| self.threads[index].pending.site),
        };
        (0..self.names.len()).map(path).collect()
    }

    /// One attempt at leading every thread along its path.
    pub fn run_guided(
        &mut self,
        job: &Job<'_>,
        paths: &Paths,
        guesses: &[Guess],
    ) -> Result<Guided, EngineError> {
        self.concolic.follow(Guide::along(paths, guesses));
        let mut run = self.run(job, &mut First, &mut ())?;
        let guide = &mut self.concolic.guide;
        let others = guide.take_others();
        if let Outcome::Failed(_) = run.outcome {
            let reason = if guide.is_contradicted() {
                Some(CONTRADICTED)
            } else if guide.failed().is_none() && paths.failure.kind != FailureKind::Deadlock {
                Some(CRASHED)
            } else {
                None
            };
            if let Some(reason) = reason {
                run.outcome = Outcome::Inconclusive { reason: reason.to_owned(), at: None };
            }
        }
        let unscheduled = std::mem::take(&mut self.concolic.unscheduled);
        self.concolic.follow(Guide::default());
        Ok(Guided { run, others, unscheduled })
    }
    /// One attempt at leading every thread along the branches it begins with.
    pub fn run_led(
        &mut self,
        job: &Job<'_>,
        lead: &Lead,
        guesses: &[Guess],
    ) -> Result<Led, EngineError> {
        self.concolic.follow(Guide::leading(lead, guesses));
        let mut run = self.run(job, &mut First, &mut ())?;
        let mut guide = std::mem::take(&mut self.concolic.guide);
        let others = guide.take_others();
        let reason = match &run.outcome {
            Outcome::Failed(_) if guide.led_failure().is_none() => Some(CRASHED),
            Outcome::Failed(_) | Outcome::Exited { .. } if guide.is_contradicted() => {
                Some(CONTRADICTED)
            }
            _ => None,
        };
        if let Some(reason) = reason {
            run.outcome = Outcome::Inconclusive { reason: reason.to_owned(), at: None };
        }
        let (mut branches, mut open): (Vec<_>, Vec<_>) =
            guide.threads.into_iter().map(GuidedThread::into_path).unzip();
        branches.resize(self.names.len(), Vec::new());
        open.resize(self.names.len(), Vec::new());
        let unscheduled = std::mem::take(&mut self.concolic.unscheduled);
        Ok(Led { run, branches, open, others, unscheduled })
    }
}
