//! How far a search came, and why it ended.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use unravel_trace::{BugId, Busiest, Note, Outcome, Place, Reached};

/// A search, when it is over.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Explored {
    /// As the command line spells it.
    pub strategy: String,
    pub variety: Variety,
    pub seed: u64,
    pub tally: Tally,
    pub stopped: Stopped,
    pub elapsed: Duration,
    pub covered: Covered,
    /// How far the systematic parts of the search came, if there were any.
    pub systematic: Vec<Reached>,
    /// Of a search that several machines divide: which part this is, `2/4`.
    pub part: Option<String>,
    /// If its runs are long.
    #[serde(default)]
    pub long: Option<LongRuns>,
}

/// What is known of runs of which one takes seconds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LongRuns {
    /// How long one takes, on average; of a search in which none came to its end, how long it took.
    pub one: Duration,
    /// The same in instructions.
    pub steps: u64,
    pub busiest: Option<Busiest>,
}

impl Explored {
    /// Whether it went to its end.
    pub fn is_exhausted(&self) -> bool {
        self.stopped == Stopped::Exhausted
    }
}

/// How many kinds of schedules a search has in it: what else could be tried depends on that.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Variety {
    /// All strategies take turns.
    Portfolio,
    /// One strategy, whose schedules the seed decides, or which is systematic.
    One,
    /// One strategy that has the same few schedules whatever the seed.
    Fixed,
}

/// Why a run could not be followed to its end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Unfollowed {
    /// As [`Outcome::Inconclusive`] has it.
    Inconclusive { reason: String, at: Option<Place> },
    /// The program killed the process that ran it.
    Killed { signal: i32 },
    /// It failed in this schedule, from 1, but not when that was executed again in a process of its own.
    SeenOnce { bug: BugId, schedule: u64 },
}

impl fmt::Display for Unfollowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfollowed::Inconclusive { reason, at } => {
                Outcome::Inconclusive { reason: reason.clone(), at: at.clone() }.fmt(f)
            }
            Unfollowed::Killed { signal } => {
                write!(f, "the program killed its process (signal {signal})")
            }
            Unfollowed::SeenOnce { bug, schedule } => {
                write!(f, "{bug} was seen once, in schedule {schedule}, and did not fail again")
            }
        }
    }
}

/// How much of a program's behaviour a search has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Covered {
    /// Classes of interleavings: schedules that differ only in the order of independent events are one.
    pub classes: u64,
    /// Pairs of a write and a read that took its value, by their places.
    pub reads_from: u64,
    /// How many of the last schedules were of a class not seen before.
    pub recent_schedules: u64,
    pub recent_classes: u64,
}

/// What was seen of races in a moment after a search that found nothing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Glance {
    pub schedules: u64,
    /// The first race, if there was one.
    pub race: Option<BugId>,
}

/// Why a search ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Stopped {
    Found,
    /// Every class of schedules was explored.
    Exhausted,
    Schedules,
    /// The program has no threads and no nondeterministic input: every run is the same.
    OneSchedule,
    /// Not one of the first runs could be followed to its end.
    AllInconclusive,
    Time,
    Interrupted,
}

impl Stopped {
    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Stopped::Found => "found",
            Stopped::Exhausted => "exhausted",
            Stopped::Schedules => "schedules",
            Stopped::OneSchedule => "one schedule",
            Stopped::AllInconclusive => "all inconclusive",
            Stopped::Time => "time",
            Stopped::Interrupted => "interrupted",
        }
    }
}

/// What the runs of a search did.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    pub schedules: u64,
    pub inconclusive: u64,
    /// Why the first of them was, or why one was that failed.
    pub reason: Option<Unfollowed>,
    /// Runs that left what the program assumes.
    pub discarded: u64,
    /// Runs that were cut off by a bound of steps that was raised since. Others took their place; of these nothing is known.
    #[serde(default)]
    pub cut_short: u64,
    /// Runs that failed, by bug, without those that the user puts aside.
    pub failed: Vec<(BugId, u64)>,
    /// Runs that failed with a bug the user puts aside, by the number of that bug in the plan.
    pub put_aside: Vec<u64>,
    /// Runs that ended with an exit code other than 0, and the first such code.
    pub nonzero_exits: u64,
    pub exit_code: Option<i32>,
    /// One input ended with 0 and with another code.
    pub exits_differ: bool,
    /// Different outputs of the runs whose output was looked at; 0 if none was.
    pub outputs: u64,
    pub steps: u64,
    pub most_events: u64,
    pub most_threads: u64,
    /// Some run asked for a nondeterministic value.
    pub nondet: bool,
    pub notes: Vec<Note>,
}

impl Tally {
    /// Counts runs that failed with this bug.
    pub fn count_failed(&mut self, bug: BugId, runs: u64) {
        match self.failed.iter_mut().find(|(other, _)| *other == bug) {
            Some((_, count)) => *count += runs,
            None => self.failed.push((bug, runs)),
        }
    }

    /// Counts runs that failed with the `number`th of the bugs that the user puts aside.
    pub fn count_put_aside(&mut self, number: usize, runs: u64) {
        if self.put_aside.len() <= number {
            self.put_aside.resize(number + 1, 0);
        }
        self.put_aside[number] += runs;
    }

    /// A failure that did not happen again is none: its runs are inconclusive, and that is the first thing to say of them.
    pub fn doubt(&mut self, bug: BugId, schedule: u64) {
        let at = self.failed.iter().position(|(other, _)| *other == bug);
        self.inconclusive += at.map_or(0, |at| self.failed.remove(at).1);
        if !self.has_doubt() {
            self.reason = Some(Unfollowed::SeenOnce { bug, schedule });
        }
    }

    /// Whether something failed once and not again.
    pub fn has_doubt(&self) -> bool {
        matches!(self.reason, Some(Unfollowed::SeenOnce { .. }))
    }

    /// Whether all of at least so many runs failed.
    pub fn always_fails(&self, least: u64) -> bool {
        let put_aside: u64 = self.put_aside.iter().sum();
        self.failures() >= least && put_aside == 0 && self.exited() == 0
    }

    fn failures(&self) -> u64 {
        self.failed.iter().map(|(_, runs)| runs).sum()
    }

    /// Runs that came to their end without a failure, with whatever exit code.
    pub fn exited(&self) -> u64 {
        let put_aside: u64 = self.put_aside.iter().sum();
        let unknown = self.inconclusive + self.discarded + self.cut_short;
        self.schedules.saturating_sub(self.failures() + put_aside + unknown)
    }

    /// Whether the program looped for ever in some run, for nothing.
    pub fn is_endless(&self) -> bool {
        self.notes.contains(&Note::EndlessLoop)
    }

    /// How many runs failed with this bug.
    pub fn times(&self, bug: &BugId) -> u64 {
        self.failed.iter().find(|(other, _)| other == bug).map_or(0, |(_, count)| *count)
    }

    /// Adds what other runs did.
    pub fn add(&mut self, other: Tally) {
        self.schedules += other.schedules;
        self.inconclusive += other.inconclusive;
        self.reason = match self.has_doubt() || !other.has_doubt() {
            true => self.reason.take().or(other.reason),
            false => other.reason,
        };
        self.discarded += other.discarded;
        self.cut_short += other.cut_short;
        for (bug, runs) in other.failed {
            self.count_failed(bug, runs);
        }
        for (number, runs) in other.put_aside.into_iter().enumerate() {
            self.count_put_aside(number, runs);
        }
        self.nonzero_exits += other.nonzero_exits;
        self.exit_code = self.exit_code.or(other.exit_code);
        self.exits_differ |= other.exits_differ;
        self.outputs = self.outputs.max(other.outputs);
        self.steps += other.steps;
        self.most_events = self.most_events.max(other.most_events);
        self.most_threads = self.most_threads.max(other.most_threads);
        self.nondet |= other.nondet;
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unravel_trace::{FailureKind, SourceLine};

    #[test]
    fn what_was_cut_short_has_not_passed() {
        let mut tally = Tally { schedules: 5, cut_short: 2, ..Tally::default() };
        tally.count_failed(bug("a.c"), 3);
        assert!(tally.always_fails(3) && tally.exited() == 0);
        tally.schedules += 1;
        assert!(!tally.always_fails(3) && tally.exited() == 1);
    }

    fn bug(file: &str) -> BugId {
        let place = SourceLine { file: file.into(), line: 1, function: "".into() };
        BugId { kind: FailureKind::Assertion, places: vec![place] }
    }

    #[test]
    fn what_several_workers_did_adds_up() {
        let mut all =
            Tally { schedules: 3, most_events: 9, exit_code: Some(4), ..Tally::default() };
        all.count_failed(bug("a.c"), 2);
        let mut more =
            Tally { schedules: 5, most_events: 7, exit_code: Some(5), ..Tally::default() };
        more.count_failed(bug("a.c"), 1);
        more.count_failed(bug("b.c"), 1);
        more.count_put_aside(1, 4);
        more.notes.push(Note::SignalsIgnored);
        all.add(more.clone());
        all.add(Tally { notes: more.notes, ..Tally::default() });
        assert_eq!((all.schedules, all.most_events, all.exit_code), (8, 9, Some(4)));
        assert_eq!((all.times(&bug("a.c")), all.times(&bug("b.c"))), (3, 1));
        assert_eq!(all.times(&bug("c.c")), 0);
        assert_eq!(all.put_aside, [0, 4]);
        assert_eq!(all.notes, [Note::SignalsIgnored]);
    }
}
