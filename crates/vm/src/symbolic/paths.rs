//! The paths of a run, and runs along given paths: the way in and out of [`super::guide`].

use unravel_trace::{
    Choice, Detail, FailureKind, FreeInput, Guess, Guided, Input, Lead, Led, Outcome, Paths,
    Scheduler, ThreadPath, View, VisibleSet, Want,
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
    /// Which way each thread of the last run went, if it was executed with shadows.
    pub fn paths(&self, failed: &Outcome) -> Option<Paths> {
        let failure = failed.failure().filter(|_| self.concolic.is_on())?.clone();
        let is_deadlock = failure.kind == FailureKind::Deadlock;
        let path = |index: usize| ThreadPath {
            name: self.names[index].clone(),
            outcomes: self.concolic.outcomes(index).to_vec(),
            blocked_at: (is_deadlock && !self.threads[index].ended)
                .then(|| self.threads[index].pending.site),
        };
        Some(Paths { threads: (0..self.names.len()).map(path).collect(), failure })
    }

    /// Which way each thread went.
    pub fn branches(&self) -> Vec<Vec<u32>> {
        (0..self.names.len()).map(|thread| self.concolic.outcomes(thread).to_vec()).collect()
    }

    /// One attempt at leading every thread along its path.
    pub fn run_guided(
        &mut self,
        input: &Input,
        visible: &VisibleSet,
        paths: &Paths,
        guesses: &[Guess],
    ) -> Guided {
        self.concolic.follow(Guide::along(paths, guesses));
        let want = Want::only(Detail::Symbolic);
        let mut run = self.run(input, visible, &mut First, want);
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
        Guided { run, others, unscheduled }
    }
    /// One attempt at leading every thread along the branches it begins with.
    pub fn run_led(
        &mut self,
        input: &Input,
        visible: &VisibleSet,
        lead: &Lead,
        guesses: &[Guess],
        free: FreeInput,
    ) -> Led {
        self.concolic.follow(Guide::leading(lead, guesses));
        let want = Want { free, ..Want::only(Detail::Separable) };
        let mut run = self.run(input, visible, &mut First, want);
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
        Led { run, branches, open, others, unscheduled }
    }
}
