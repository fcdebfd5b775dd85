//! A failing run with everything visible that it shares.
//!
//! A bug that is found in the first runs of a search was found before all that threads share was known to be shared. Where
//! the trace does not show an access, no thread can be interrupted before it, and two states can look like one. So the run is
//! executed again, with what it learns made visible, until it learns nothing more.

use unravel_trace::{Choice, Detail, Op, Question, Schedule, Scheduler, ThreadId, View, Want};

use crate::trial::Trial;

/// How often a run may learn something.
const ROUNDS: u32 = 8;

/// The schedule of the same run, with more visible if it shares more.
pub(crate) fn widen(trial: &mut Trial<'_>, schedule: &Schedule) -> Schedule {
    let mut schedule = schedule.clone();
    for _ in 0..ROUNDS {
        let mut same = Same::new(&schedule);
        let want = Want { learn: true, ..Want::only(Detail::Outcome) };
        let run = trial.run(&mut same, want);
        let more = run.learned.without(&trial.visible);
        if !trial.is_the_bug(&run) || more.is_empty() {
            break;
        }
        let before = trial.visible.clone();
        trial.visible.merge(&more);
        let run = trial.run(&mut Same::new(&schedule), Want::only(Detail::Outcome));
        if !trial.is_the_bug(&run) {
            trial.visible = before;
            break;
        }
        schedule = Schedule { visible: trial.visible.clone(), ..run.schedule };
    }
    schedule
}

/// The same run with what the proof learned made visible; `None` if it learned nothing, or the run does not fail so then.
pub(crate) fn with_learned(trial: &mut Trial<'_>, schedule: &Schedule) -> Option<Schedule> {
    let learned = std::mem::take(&mut trial.learned);
    if learned.is_empty() {
        return None;
    }
    trial.visible.merge(&learned);
    let run = trial.run(&mut Same::new(schedule), Want::only(Detail::Outcome));
    let wider = Schedule { visible: trial.visible.clone(), ..run.schedule.clone() };
    trial.is_the_bug(&run).then_some(wider)
}

/// Follows a schedule with its own visible set in runs that have more visible: what it does not count happens with what it
/// counts before it.
struct Same<'a> {
    schedule: &'a Schedule,
    segment: usize,
    /// Events of the segment that are left.
    left: u32,
    next_choice: usize,
}

impl<'a> Same<'a> {
    fn new(schedule: &'a Schedule) -> Same<'a> {
        let left = schedule.segments.first().map_or(0, |segment| segment.events);
        Same { schedule, segment: 0, left, next_choice: 0 }
    }

    /// Whether the schedule counts the event that a thread is about to execute.
    fn counts(&self, view: &View<'_>, thread: ThreadId) -> bool {
        let candidate = view.enabled.iter().find(|c| c.thread == thread);
        candidate.is_some_and(|candidate| {
            let pending = &candidate.pending;
            let is_access = matches!(pending.op, Op::Read | Op::Write) && !pending.atomic;
            !is_access || self.schedule.visible.contains(pending.site)
        })
    }

    fn thread(&self, view: &View<'_>) -> Option<ThreadId> {
        let segment = self.schedule.segments.get(self.segment)?;
        let name = &self.schedule.threads[segment.thread as usize];
        let index = view.names.iter().position(|n| n == name)?;
        Some(ThreadId(index as u32)).filter(|thread| view.is_enabled(*thread))
    }
}

impl Scheduler for Same<'_> {
    fn next(&mut self, view: &View<'_>) -> Choice {
        let one = |thread| Choice { thread, events: 1 };
        if self.left == 0 {
            // The rest of the last segment, which the schedule does not count.
            if let Some(thread) = self.thread(view)
                && !self.counts(view, thread)
            {
                return one(thread);
            }
            self.segment += 1;
            self.left = self.schedule.segments.get(self.segment).map_or(0, |s| s.events);
        }
        match self.thread(view) {
            Some(thread) => {
                if self.counts(view, thread) {
                    self.left = self.left.saturating_sub(1);
                }
                one(thread)
            }
            // It does not fit; the outcome will tell.
            None if view.current_is_enabled() => one(view.current),
            None => one(view.enabled[0].thread),
        }
    }

    fn choose(&mut self, _: Question, _: u32) -> u32 {
        let answer = self.schedule.choices.get(self.next_choice).copied().unwrap_or(0);
        self.next_choice += 1;
        answer
    }
}
