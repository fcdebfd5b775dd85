//! Climbing (for the schedule that Symbiosis, §3.3, asks a solver for): a run that came far is repeated up to a little before its
//! end, and goes on from there otherwise.
//!
//! Where many threads do the same (workers that take from one queue), a run at random strays at the first of them that gets what
//! another should have got, and no single order mends it. What came before was right, though, and is kept: each run begins
//! like one of the furthest so far, so that they get further and further. How much of it is given up is drawn: mostly little,
//! sometimes all of it.

use unravel_trace::{Choice, Executed, Question, Rng, Schedule, Scheduler, ThreadId, View};

use crate::budgets::PEAKS;
use crate::steer::Steer;

/// The furthest runs so far.
#[derive(Debug, Default)]
pub(crate) struct Peaks {
    /// Branches kept, and what was decided, furthest first.
    runs: Vec<(u64, Begun)>,
}

/// How a run begins: whose turn it was at each event, and what else was answered.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Begun {
    turns: Vec<ThreadId>,
    choices: Vec<u32>,
}

impl Peaks {
    /// Takes note of a run.
    pub fn learn(&mut self, kept: u64, schedule: &Schedule) {
        let lowest = self.runs.last().filter(|_| self.runs.len() >= PEAKS);
        if lowest.is_some_and(|(lowest, _)| *lowest >= kept) {
            return;
        }
        let turns = schedule.segments.iter().flat_map(|segment| {
            std::iter::repeat_n(ThreadId(segment.thread), segment.events as usize)
        });
        let begun = Begun { turns: turns.collect(), choices: schedule.choices.clone() };
        if self.runs.iter().any(|(_, other)| *other == begun) {
            return;
        }
        let place = self.runs.partition_point(|(other, _)| *other >= kept);
        self.runs.insert(place, (kept, begun));
        self.runs.truncate(PEAKS);
    }

    /// How the next run begins. `None` if there was none yet.
    pub fn begin(&self, rng: &mut Rng) -> Option<Begun> {
        if self.runs.is_empty() {
            return None;
        }
        // The furthest one as often as all others.
        let which = if rng.below(2) == 0 { 0 } else { rng.below(self.runs.len() as u32) as usize };
        let (_, begun) = &self.runs[which];
        let all = begun.turns.len() as u32;
        let given_up = 1 + match rng.below(8) {
            0..3 => rng.below(4),
            3..5 => rng.below(16),
            5..7 => rng.below(64),
            _ => rng.below(all.max(1)),
        };
        let turns = begun.turns[..all.saturating_sub(given_up) as usize].to_vec();
        Some(Begun { turns, choices: begun.choices.clone() })
    }
}

/// Decides as a run before did, then steers.
pub(crate) struct Climb<'a, 's> {
    pub begun: Begun,
    pub steer: &'s mut Steer<'a>,
    pub asked: usize,
    pub on: bool,
}

impl Scheduler for Climb<'_, '_> {
    fn next(&mut self, view: &View<'_>) -> Choice {
        let turn = self.begun.turns.get(view.events as usize).copied();
        let can = |thread: ThreadId| {
            view.enabled.iter().chain(view.early).any(|ready| ready.thread == thread)
        };
        match turn.filter(|thread| self.on && can(*thread)) {
            Some(thread) => Choice { thread, events: 1 },
            None => {
                self.on = false;
                self.steer.next(view)
            }
        }
    }

    fn choose(&mut self, question: Question, options: u32) -> u32 {
        let answer = self.begun.choices.get(self.asked).copied();
        self.asked += 1;
        match answer.filter(|answer| self.on && *answer < options) {
            Some(answer) => {
                self.steer.answered(question, answer, options);
                answer
            }
            None => self.steer.choose(question, options),
        }
    }

    fn watches(&self) -> bool {
        true
    }

    fn watch(&mut self, executed: &Executed<'_>) {
        self.steer.watch(executed);
    }
}
