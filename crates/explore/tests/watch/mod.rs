//! Watching runs of toy programs: every schedule by brute force, and the class of a run.

#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::BTreeMap;

use unravel_conformance::Toy;
use unravel_execute::{Class, Laboratory};
use unravel_strategies::{Counted, Systematic};
use unravel_trace::{depend, *};

/// Keeps the events of a run.
#[derive(Default)]
pub struct Watch {
    pub events: Vec<(u64, ThreadId, Pending)>,
    pub names: Vec<ThreadName>,
}

impl Observer for Watch {
    fn observes(&self) -> Observes {
        Observes::Events
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<Alarm> {
        self.events.push((executed.number, executed.thread, executed.what));
        self.names.extend_from_slice(&executed.names[self.names.len()..]);
        None
    }
}

impl Watch {
    /// The class of the events that `keep` says.
    fn class_of(&self, keep: impl Fn(usize) -> bool) -> u64 {
        let kept = || self.events.iter().enumerate().filter(|(index, _)| keep(*index));
        // A class also says which threads there are.
        let threads = kept().map(|(_, (_, thread, _))| thread.index() + 1).max().unwrap_or(0);
        let mut class = Class::default();
        for (_, (number, thread, what)) in kept() {
            let (number, thread, what) = (*number, *thread, *what);
            class.add(&Executed {
                number,
                thread,
                what,
                repeats: false,
                names: &self.names[..threads],
            });
        }
        class.value()
    }

    pub fn class(&self) -> u64 {
        self.class_of(|_| true)
    }

    /// The class of the last step and what happens before it.
    fn class_of_last(&self) -> u64 {
        let last = self.events.last().expect("a run has events").0;
        let mut before = vec![false; self.events.len()];
        for index in (0..self.events.len()).rev() {
            let (number, thread, what) = &self.events[index];
            before[index] = *number == last
                || (index + 1..self.events.len()).any(|later| {
                    let (other, by, then) = &self.events[later];
                    before[later] && (by == thread || other == number || depend(what, then))
                });
        }
        self.class_of(|index| before[index])
    }
}

/// How a run ended, and the class that this depends on: all of it, or what a failure needs.
pub type End = (String, u64);

fn end(run: &Run, watch: &Watch) -> End {
    match run.outcome.failure() {
        Some(failure) if failure.kind == FailureKind::Deadlock => {
            ("deadlock".to_owned(), watch.class())
        }
        Some(failure) => (format!("{} of {}", failure.kind, failure.thread), watch.class_of_last()),
        None => (run.outcome.to_string(), watch.class()),
    }
}

/// Executes a toy program once.
pub fn execute(toy: &mut Toy, scheduler: &mut dyn Scheduler) -> (Run, End, u64) {
    let mut watch = Watch::default();
    let visible = toy.sites().all().clone();
    let mut lab = Laboratory::new(toy, Input::default(), visible);
    let run = lab.run(scheduler, &mut watch, Want::only(Detail::Outcome));
    assert_eq!(lab.problem(), None);
    let (end, class) = (end(&run, &watch), watch.class());
    (run, end, class)
}

/// Every schedule, one after the other.
#[derive(Default)]
struct All {
    path: Vec<(u32, u32)>,
    depth: usize,
}

impl All {
    fn decide(&mut self, options: u32) -> u32 {
        if self.depth == self.path.len() {
            self.path.push((0, options));
        }
        self.depth += 1;
        self.path[self.depth - 1].0
    }

    fn turn(&mut self) -> bool {
        self.depth = 0;
        while let Some((answer, options)) = self.path.pop() {
            if answer + 1 < options {
                self.path.push((answer + 1, options));
                return true;
            }
        }
        false
    }
}

impl Scheduler for All {
    fn next(&mut self, view: &View<'_>) -> Choice {
        let index = self.decide(view.enabled.len() as u32);
        Choice { thread: view.enabled[index as usize].thread, events: 1 }
    }

    fn choose(&mut self, _what: Question, options: u32) -> u32 {
        self.decide(options)
    }
}

/// All ends that a program's schedules come to, and how many schedules there are; `None` if there are more than this.
pub fn brute_force(toy: &mut Toy, most: u64) -> Option<(BTreeMap<End, u64>, u64)> {
    let mut all = All::default();
    let mut ends = BTreeMap::new();
    for runs in 1..=most {
        let (_, end, _) = execute(toy, &mut all);
        *ends.entry(end).or_default() += 1;
        if !all.turn() {
            return Some((ends, runs));
        }
    }
    None
}

/// What the new runs of a systematic search came to, by their whole class: each once.
pub fn explore(
    toy: &mut Toy,
    search: &mut dyn Systematic,
) -> (BTreeMap<(End, u64), u64>, unravel_trace::Reached) {
    let mut ends = BTreeMap::new();
    loop {
        let Some(mut scheduler) = search.scheduler() else { break };
        let (run, end, class) = execute(toy, &mut *scheduler);
        drop(scheduler);
        if search.learn(&run) == Counted::New {
            *ends.entry((end, class)).or_default() += 1;
        }
    }
    (ends, search.summary())
}
