//! Where shields are tried: in whole runs, or at the end of a long one.

use unravel_trace::{Detail, Forced, Run, Shield, Trace};

use crate::budgets::{QUICK_TRIAL, SHORT_RUN, THOROUGH_TRIAL, WINDOW_TRIAL};
use crate::execution::Execution;
use crate::points::Extents;
use crate::world::{Ending, Mode, World};

/// Runs schedules that keep shields.
pub trait Ground {
    fn end(&mut self, shields: &[Shield], mode: Mode) -> Ending;

    /// The events of a schedule, if it ends so.
    fn trace(&mut self, shields: &[Shield], mode: Mode, expected: Ending) -> Option<Trace>;

    /// The failing run with one more deviation, which is of consequence only when all others have done what they do. `None` where
    /// runs cannot deviate.
    fn woken(&mut self, forced: Forced) -> Option<Run>;

    fn extents(&self) -> &Extents;

    fn may_go_on(&self) -> bool;

    /// Events of the failing run that are varied.
    fn length(&self) -> usize;

    /// Schedules of a quick trial, and of a thorough one.
    fn size(&self) -> (u64, u64);
}

impl Ground for Execution<'_, '_> {
    fn end(&mut self, shields: &[Shield], mode: Mode) -> Ending {
        self.run_shielded(shields, mode, Detail::Outcome).0
    }

    fn trace(&mut self, shields: &[Shield], mode: Mode, expected: Ending) -> Option<Trace> {
        let (ending, run) = self.run_shielded(shields, mode, Detail::Events);
        (ending == expected).then_some(run.trace)
    }

    fn woken(&mut self, forced: Forced) -> Option<Run> {
        let before = self.lab().force(Vec::new());
        let more = before.iter().cloned().chain([forced]).collect();
        self.lab().force(more);
        let (_, run) = self.run_shielded(&[], Mode::Patient, Detail::Events);
        self.lab().force(before);
        Some(run)
    }

    fn extents(&self) -> &Extents {
        World::extents(self)
    }

    fn may_go_on(&self) -> bool {
        World::may_go_on(self)
    }

    fn length(&self) -> usize {
        self.failing().len()
    }

    fn size(&self) -> (u64, u64) {
        match self.length() > SHORT_RUN {
            true => WINDOW_TRIAL,
            false => (QUICK_TRIAL, THOROUGH_TRIAL),
        }
    }
}
