//! What events do not tell of a run, so that nothing can be proved about all runs: who claims completeness asks here.

use unravel_trace::{BlindSpot, Executed, FailureKind, Note, Op, Operand, Run, VisibleSet};

/// Notices what is not seen in a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlindSpots {
    /// The last event's number.
    number: u64,
    found: Option<BlindSpot>,
}

impl BlindSpots {
    pub fn observe(&mut self, executed: &Executed<'_>) {
        let is_inside = executed.number == self.number;
        self.number = executed.number;
        match executed.what.op {
            Op::External | Op::Fence if executed.what.operand == Operand::UnseenWrites => {
                self.found = Some(BlindSpot::Library);
            }
            Op::Release | Op::Acquire if executed.what.thread().is_some() => {
                self.found = Some(BlindSpot::Signals);
            }
            // It may let others in where it waits.
            Op::Acquire | Op::AcquireShared if is_inside => {
                self.found = Some(BlindSpot::LocksInSections);
            }
            _ => {}
        }
    }

    /// What was not seen in the run that was observed, with this visible set. Ready for the next run then.
    pub fn of(&mut self, run: &Run, visible: Option<&VisibleSet>) -> Option<BlindSpot> {
        let spot = std::mem::take(self).found;
        let is_held_back = run.notes.contains(&Note::HeldBack);
        let learns = visible.is_some_and(|visible| !run.learned.without(visible).is_empty());
        let has_timers = run.notes.contains(&Note::TimerMoments);
        let compares_clocks = run.notes.contains(&Note::ClockOrder);
        let unlocks_others = run.notes.contains(&Note::ForeignUnlock);
        let outlives = run.outcome.failure().is_some_and(|f| f.kind == FailureKind::DeadStack);
        spot.or(outlives.then_some(BlindSpot::Frames))
            .or(is_held_back.then_some(BlindSpot::LongSpins))
            .or(compares_clocks.then_some(BlindSpot::Clock))
            .or(unlocks_others.then_some(BlindSpot::ForeignUnlocks))
            .or(has_timers.then_some(BlindSpot::Signals))
            .or(learns.then_some(BlindSpot::Shared))
    }
}
