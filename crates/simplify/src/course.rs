//! The course of a failing run: whose turn it was, and how far each turn went.
//!
//! A turn does not say how many events it has but *up to which point of its thread* it goes. So all of Tinertia's
//! operations are removals of a turn: without an earlier turn of a thread its next one covers both (consolidate down), with
//! the earlier one prolonged the later is empty (consolidate up), and without its last one a thread stops earlier.

use unravel_trace::{Schedule, Segment, SiteId, ThreadName, VisibleSet};

use crate::switches::Switches;

/// `thread` runs until so many of its points are executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Turn {
    /// Index into [`Course::threads`].
    pub thread: usize,
    /// [`AS_FAR_AS_IT_CAN`]: until it is blocked, ends or yields.
    pub upto: u32,
}

/// How far a turn goes that nobody interrupts.
pub(crate) const AS_FAR_AS_IT_CAN: u32 = u32::MAX;

/// A run that fails, as the thing to be simplified.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Course {
    pub threads: Vec<ThreadName>,
    /// By thread: the sites of its points. May know more than the turns execute.
    pub points: Vec<Vec<SiteId>>,
    /// Never two of one thread in a row.
    pub turns: Vec<Turn>,
    /// By turn: the switch after it was forced. Of the last turn it means nothing.
    pub forced: Vec<bool>,
    /// By thread: its answers to questions other than "who".
    pub answers: Vec<Vec<u32>>,
    /// All answers, in the order of the run.
    pub choices: Vec<u32>,
    /// How often the environment deviates.
    pub deviations: usize,
}

impl Course {
    pub fn switches(&self) -> Switches {
        let all = self.turns.len().saturating_sub(1);
        let forced = self.forced.iter().take(all).filter(|forced| **forced).count();
        Switches { preemptive: all - forced, forced }
    }

    /// Events executed.
    pub fn events(&self) -> u64 {
        self.segments().iter().map(|s| u64::from(s.events)).sum()
    }

    fn segments(&self) -> Vec<Segment> {
        let mut done = vec![0; self.threads.len()];
        let mut segments = Vec::with_capacity(self.turns.len());
        for turn in &self.turns {
            let events = turn.upto - done[turn.thread];
            done[turn.thread] = turn.upto;
            segments.push(Segment { thread: turn.thread as u32, events });
        }
        segments
    }

    /// How many turns begin before so many events are executed.
    pub fn turns_within(&self, events: u64) -> usize {
        let mut done = 0;
        let begins = self.segments().into_iter().take_while(|segment| {
            let before = done;
            done += u64::from(segment.events);
            before < events
        });
        begins.count()
    }

    /// Ends it after so many events.
    pub fn truncate(&mut self, events: usize) {
        let mut done = vec![0; self.threads.len()];
        let mut left = events as u32;
        for at in 0..self.turns.len() {
            let turn = &mut self.turns[at];
            turn.upto = turn.upto.min(done[turn.thread] + left);
            left -= turn.upto - done[turn.thread];
            done[turn.thread] = turn.upto;
            if left == 0 {
                self.turns.truncate(at + 1);
                self.forced.truncate(at + 1);
                return;
            }
        }
    }

    /// What to replay.
    pub fn schedule(&self, visible: &VisibleSet) -> Schedule {
        Schedule {
            threads: self.threads.clone(),
            segments: self.segments(),
            choices: self.choices.clone(),
            visible: visible.clone(),
        }
    }

    /// The next turn of the same thread.
    pub fn next_of(&self, at: usize) -> Option<usize> {
        let thread = self.turns[at].thread;
        (at + 1..self.turns.len()).find(|next| self.turns[*next].thread == thread)
    }

    /// The turn of the same thread before.
    pub fn previous_of(&self, at: usize) -> Option<usize> {
        let thread = self.turns[at].thread;
        (0..at).rev().find(|previous| self.turns[*previous].thread == thread)
    }
}

/// Other turns to try instead of those of a course.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub turns: Vec<Turn>,
    /// So many turns at the beginning are those of the course.
    pub same: usize,
}

impl Candidate {
    /// The course without one of its turns.
    pub fn without(course: &Course, removed: usize) -> Candidate {
        let mut turns = course.turns.clone();
        turns.remove(removed);
        Candidate { turns: merged(turns), same: removed.saturating_sub(1) }
    }

    /// The course with a turn that goes further, up to `upto`.
    pub fn prolonged(course: &Course, at: usize, upto: u32) -> Candidate {
        let mut turns = course.turns.clone();
        let thread = turns[at].thread;
        turns[at].upto = upto;
        let mut index = 0;
        turns.retain(|turn| {
            index += 1;
            index <= at + 1 || turn.thread != thread || turn.upto > upto
        });
        Candidate { turns: merged(turns), same: at }
    }

    /// The course with a turn that nobody interrupts; later turns of its thread do what it leaves.
    pub fn uninterrupted(course: &Course, at: usize) -> Candidate {
        let mut turns = course.turns.clone();
        turns[at].upto = AS_FAR_AS_IT_CAN;
        Candidate { turns, same: at }
    }

    /// The course with a turn after a later one. `None` if its thread has a turn in between.
    pub fn deferred(course: &Course, at: usize, to: usize) -> Option<Candidate> {
        let thread = course.turns[at].thread;
        if course.turns[at + 1..=to].iter().any(|turn| turn.thread == thread) {
            return None;
        }
        let mut turns = course.turns.clone();
        turns[at..=to].rotate_left(1);
        Some(Candidate { turns: merged(turns), same: at.saturating_sub(1) })
    }

    /// The switches that were asked for.
    pub fn switches(&self) -> usize {
        self.turns.len().saturating_sub(1)
    }
}

/// Makes one turn of two of a thread in a row.
fn merged(turns: Vec<Turn>) -> Vec<Turn> {
    let mut merged: Vec<Turn> = Vec::with_capacity(turns.len());
    for turn in turns {
        match merged.last_mut() {
            Some(last) if last.thread == turn.thread => last.upto = last.upto.max(turn.upto),
            _ => merged.push(turn),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns as `(thread, upto)`.
    fn course(turns: &[(usize, u32)]) -> Course {
        let turns: Vec<Turn> =
            turns.iter().map(|(thread, upto)| Turn { thread: *thread, upto: *upto }).collect();
        Course {
            threads: (0..3).map(|n| ThreadName(vec![n])).collect(),
            forced: vec![false; turns.len()],
            turns,
            ..Course::default()
        }
    }

    fn turns(candidate: &Candidate) -> Vec<(usize, u32)> {
        candidate.turns.iter().map(|turn| (turn.thread, turn.upto)).collect()
    }

    #[test]
    fn without_a_turn_the_next_of_its_thread_covers_it() {
        let course = course(&[(0, 2), (1, 3), (0, 5), (1, 6), (0, 7)]);
        // Its neighbours are turns of one thread, and become one.
        assert_eq!(turns(&Candidate::without(&course, 1)), [(0, 5), (1, 6), (0, 7)]);
        assert_eq!(turns(&Candidate::without(&course, 0)), [(1, 3), (0, 5), (1, 6), (0, 7)]);
        assert_eq!(turns(&Candidate::without(&course, 4)), [(0, 2), (1, 3), (0, 5), (1, 6)]);
    }

    #[test]
    fn a_prolonged_turn_leaves_the_next_what_it_does_not_reach() {
        let course = course(&[(0, 2), (1, 3), (0, 5), (1, 6)]);
        assert_eq!(turns(&Candidate::prolonged(&course, 0, 5)), [(0, 5), (1, 6)]);
        assert_eq!(turns(&Candidate::prolonged(&course, 0, 4)), [(0, 4), (1, 3), (0, 5), (1, 6)]);
    }

    #[test]
    fn a_turn_is_not_deferred_past_the_next_of_its_thread() {
        let course = course(&[(0, 2), (1, 3), (2, 1), (1, 6)]);
        let deferred = Candidate::deferred(&course, 1, 2).expect("nothing is in between");
        assert_eq!(turns(&deferred), [(0, 2), (2, 1), (1, 6)]);
        assert!(Candidate::deferred(&course, 1, 3).is_none());
    }

    #[test]
    fn a_course_ends_where_it_is_told_to() {
        let mut course = course(&[(0, 2), (1, 3), (0, 5)]);
        assert_eq!(course.events(), 8);
        course.truncate(4);
        assert_eq!((course.events(), course.turns.len()), (4, 2));
        assert_eq!(course.switches(), Switches { preemptive: 1, forced: 0 });
    }
}
