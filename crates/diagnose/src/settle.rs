//! The right visible set: every site that touches what two threads touch, and no other.
//!
//! A search may have found the failure before it had learned all of that, or in a run that could switch at any
//! access. The failing run is executed with everything visible, its own decisions counted as they were recorded; what
//! it and a few runs at random find to be shared is the new visible set, and the failing run is steered to once
//! more, in terms of that.

use unravel_strategies::{Random, YoungestFirst};
use unravel_trace::{BugId, Choice, Detail, Question, Schedule, Scheduler, View, VisibleSet};

use crate::points::{Counter, Keys, Point, Touch};
use crate::steer::{Positions, Steer};
use crate::subject::{Subject, ending};
use crate::world::{Ending, Mode};

/// Runs at random that look for what is shared.
const LEARNING_RUNS: u64 = 12;

/// The failing schedule in terms of a better visible set, which the subject uses from now on. `None` if the failure
/// did not show again that way; then nothing changes.
pub fn settle(subject: &mut Subject<'_>, recorded: &Schedule, bug: &BugId) -> Option<Schedule> {
    let all = subject.executor().all_sites();
    let mut keys = Keys::default();
    let mut recount = Recount {
        recorded,
        segment: 0,
        done: 0,
        asked: 0,
        keys: &mut keys,
        counter: Counter::default(),
        points: Vec::new(),
    };
    let run = subject.run_seeing(&all, &mut recount, Detail::Outcome, true);
    let points = recount.points;
    if ending(&run.outcome, bug) != Ending::Failed {
        return None;
    }
    let mut shared = run.learned;
    for seed in 0..LEARNING_RUNS {
        let visible = if seed % 2 == 0 { &all } else { &recorded.visible };
        let learned =
            subject.run_seeing(visible, &mut Random::new(seed), Detail::Outcome, true).learned;
        shared.merge(&learned);
    }
    let youngest = subject.run_seeing(&all, &mut YoungestFirst, Detail::Outcome, true);
    shared.merge(&youngest.learned);
    let positions = Positions::new(&points);
    let mut steer = Steer::new(&mut keys, &[], &positions, &recorded.choices, Mode::Follow);
    let mut run = subject.run_seeing(&shared, &mut steer, Detail::Outcome, false);
    if ending(&run.outcome, bug) != Ending::Failed {
        return None;
    }
    run.schedule.visible = shared.clone();
    subject.see(shared);
    Some(run.schedule)
}

/// Replays a schedule in a run with more points than it counts.
struct Recount<'a> {
    recorded: &'a Schedule,
    segment: usize,
    /// Events of the current segment that were executed.
    done: u32,
    asked: usize,
    keys: &'a mut Keys,
    counter: Counter,
    points: Vec<Point>,
}

impl Recount<'_> {
    /// Whether the recorded schedule counts this point.
    fn counts(visible: &VisibleSet, view: &View<'_>, index: usize) -> bool {
        let pending = &view.enabled[index].pending;
        use unravel_trace::Op::{Read, Write};
        !matches!(pending.op, Read | Write) || visible.contains(pending.site)
    }
}

impl Scheduler for Recount<'_> {
    fn next(&mut self, view: &View<'_>) -> Choice {
        while let Some(segment) = self.recorded.segments.get(self.segment)
            && self.done >= segment.events
        {
            self.segment += 1;
            self.done = 0;
        }
        let wanted = self.recorded.segments.get(self.segment).and_then(|segment| {
            let name = &self.recorded.threads[segment.thread as usize];
            view.enabled.iter().position(|c| view.names[c.thread.index()] == *name)
        });
        let current = view.enabled.iter().position(|c| c.thread == view.current);
        // What the recorded run did not count, it did right after what it counted, before anybody else's turn.
        let uncounted = current.filter(|i| !Self::counts(&self.recorded.visible, view, *i));
        let index = uncounted.or(wanted).or(current).unwrap_or(0);
        self.done += u32::from(Self::counts(&self.recorded.visible, view, index));
        let candidate = view.enabled[index];
        let thread = self.keys.thread(&view.names[candidate.thread.index()]);
        let site = candidate.pending.site;
        let occurrence = self.counter.advance(thread, site);
        let key = self.keys.key(thread, site, occurrence);
        self.points.push(Point { key, thread, touch: Touch::of(&candidate.pending) });
        Choice { thread: candidate.thread, events: 1 }
    }

    fn choose(&mut self, _: Question, _: u32) -> u32 {
        self.asked += 1;
        self.recorded.choices.get(self.asked - 1).copied().unwrap_or(0)
    }
}
