//! A schedule followed in runs that have more points than it counts: because more is visible than when it was recorded.
//!
//! What the recorded run did not count, it did right after what it counted, before anybody else's turn.

use unravel_trace::{Choice, Question, Ready, Schedule, Scheduler, View, VisibleSet, is_counted};

/// Follows a schedule by its own visible set. Where the program no longer fits, it goes on without preemption; the outcome
/// will tell.
#[derive(Debug)]
pub struct Recount<'a> {
    schedule: &'a Schedule,
    /// Usually the schedule's own.
    counted: &'a VisibleSet,
    segment: usize,
    /// Events of the current segment that were executed.
    done: u32,
    asked: usize,
}

impl<'a> Recount<'a> {
    pub fn new(schedule: &'a Schedule) -> Recount<'a> {
        Recount { schedule, counted: &schedule.visible, segment: 0, done: 0, asked: 0 }
    }

    fn counts(&self, ready: &Ready) -> bool {
        is_counted(&ready.pending, self.counted)
    }
}

impl Scheduler for Recount<'_> {
    fn next(&mut self, view: &View<'_>) -> Choice {
        while let Some(segment) = self.schedule.segments.get(self.segment)
            && self.done >= segment.events
        {
            self.segment += 1;
            self.done = 0;
        }
        let wanted =
            self.schedule.segments.get(self.segment).and_then(|segment| {
                view.ready_named(&self.schedule.threads[segment.thread as usize])
            });
        let current = view.ready(view.current);
        let uncounted = current.filter(|ready| !self.counts(ready));
        let ready = uncounted.or(wanted).or(current).unwrap_or(&view.enabled[0]);
        self.done += u32::from(self.counts(ready));
        Choice { thread: ready.thread, events: 1 }
    }

    fn choose(&mut self, _: Question, _: u32) -> u32 {
        self.asked += 1;
        self.schedule.choices.get(self.asked - 1).copied().unwrap_or(0)
    }
}
