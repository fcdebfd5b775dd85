//! Does a repair leave what the program is for? A patch can make every check pass by doing less: a test moved before what it
//! tests, a release that is never reached any more.
//!
//! The repaired program is run with its threads one after another, the eldest first and the youngest, and beside it what the
//! program did before in runs that passed: exit code, lines of output in whatever order, objects left on the heap, final values of
//! its own globals. What it does now it must have done in some of those. What differs from run to run before is not compared.
//! If the program passes with its threads one after another (in random orders), only those runs count: among all the others
//! there is one for almost every way to do less. Where it failed in just the order that is looked at, all count.
//!
//! *Not looked at*: what is on the heap, other files, inputs that were not tried. A program that hardly ever passes one cannot compare.

use std::collections::{BTreeMap, BTreeSet};

use unravel_execute::{Laboratory, Limit};
use unravel_results::Meaning;
use unravel_strategies::{Pct, Random, RunToBlock, YoungestFirst};
use unravel_trace::{Detail, Executor, Input, Outcome, Run, Scheduler, Want};

use crate::budgets::{FEWEST_BEFORE, MORE_BEFORE, MOST_VALUES, RUNS_BEFORE, SEQUENTIAL_BEFORE};

/// What the program does in runs that pass.
#[derive(Debug, Default)]
pub struct Before {
    /// What it does with its threads one after another, and in all runs.
    sequential: Done,
    all: Done,
    /// Whether it fails with its threads one after another, the eldest first and the youngest.
    fails: [bool; 2],
}

/// What is done in several runs.
#[derive(Debug, Default)]
struct Done {
    runs: u64,
    codes: BTreeSet<i32>,
    outputs: BTreeSet<Vec<Vec<u8>>>,
    heap: BTreeSet<u64>,
    globals: BTreeMap<String, BTreeSet<u64>>,
}

/// What is kept of one run that passes.
struct Seen {
    code: i32,
    lines: Vec<Vec<u8>>,
    heap: u64,
    globals: Vec<(String, u64)>,
}

impl Seen {
    fn of(run: Run) -> Option<Seen> {
        let Outcome::Exited { code } = run.outcome else { return None };
        let finals = run.finals?;
        let output = run.output.unwrap_or_default();
        let mut lines: Vec<Vec<u8>> =
            output.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        lines.sort_unstable();
        Some(Seen { code, lines, heap: finals.heap_objects, globals: finals.globals })
    }
}

fn seen(lab: &mut Laboratory<'_>, by: &mut dyn Scheduler) -> Option<Seen> {
    let want = Want { output: true, finals: true, ..Want::only(Detail::Outcome) };
    Seen::of(lab.run(by, &mut (), want))
}

/// Everything is a point: what one after another means does not depend on what is shared.
fn laboratory<'a>(
    machine: &'a mut dyn Executor,
    input: &Input,
    limit: Limit<'a>,
) -> Laboratory<'a> {
    let visible = machine.sites().all().clone();
    Laboratory::new(machine, input.clone(), visible).until(limit.deadline, limit.interrupt)
}

impl Before {
    /// Runs the program as it is, one after another and at random.
    pub fn of(machine: &mut dyn Executor, input: &Input, limit: Limit<'_>) -> Before {
        let mut before = Before::default();
        let mut lab = laboratory(machine, input, limit);
        for number in 0..MORE_BEFORE {
            let is_enough = number >= RUNS_BEFORE && before.all.runs >= FEWEST_BEFORE;
            if is_enough || !lab.may_go_on() {
                break;
            }
            let (mut random, mut priorities);
            let is_sequential = number < SEQUENTIAL_BEFORE;
            let by: &mut dyn Scheduler = match number {
                0 => &mut RunToBlock,
                1 => &mut YoungestFirst,
                // Random priorities that never change.
                _ if is_sequential => {
                    priorities = Pct::new(number, 1, 1);
                    &mut priorities
                }
                _ => {
                    random = Random::new(number);
                    &mut random
                }
            };
            let seen = seen(&mut lab, by);
            if let Some(fails) = before.fails.get_mut(number as usize) {
                *fails = seen.is_none();
            }
            if let Some(seen) = seen {
                if is_sequential {
                    before.sequential.add(&seen);
                }
                before.all.add(&seen);
            }
        }
        before
    }

    /// What a changed program is compared with; `None` if too little is known.
    fn known(&self) -> Option<&Done> {
        let enough = |done: &&Done| done.runs >= FEWEST_BEFORE;
        Some(&self.sequential).filter(enough).or(Some(&self.all).filter(enough))
    }

    /// Whether a changed program still does what this one did; else what it does not. `None` if there is nothing to compare.
    /// Globals that are made of more than before, `reshaped`, are not compared.
    pub fn compare(
        &self,
        machine: &mut dyn Executor,
        input: &Input,
        reshaped: &[String],
        limit: Limit<'_>,
    ) -> Result<Option<Meaning>, String> {
        let Some(known) = self.known() else { return Ok(None) };
        let mut meaning = Meaning { runs: 0, before: known.runs, globals: 0 };
        let mut lab = laboratory(machine, input, limit);
        let orders: [&mut dyn Scheduler; 2] = [&mut RunToBlock, &mut YoungestFirst];
        for (by, fails) in orders.into_iter().zip(self.fails) {
            let Some(seen) = seen(&mut lab, by) else { continue };
            meaning.runs += 1;
            // What comes of an order that failed before was never seen in that order.
            let known = if fails { &self.all } else { known };
            meaning.globals = self.matches(known, &seen, reshaped)?;
        }
        Ok((meaning.runs > 0).then_some(meaning))
    }

    /// How many globals were compared, or what is different from what is known.
    fn matches(&self, known: &Done, seen: &Seen, reshaped: &[String]) -> Result<u64, String> {
        if !known.codes.contains(&seen.code) {
            return Err(format!("exits with {}, as no run before that passed", seen.code));
        }
        if self.all.outputs.len() <= MOST_VALUES && !known.outputs.contains(&seen.lines) {
            return Err("prints what no run before printed that passed".to_owned());
        }
        if self.all.heap.len() <= MOST_VALUES && !known.heap.contains(&seen.heap) {
            return Err(format!(
                "leaves {} objects on the heap, as no run before that passed",
                seen.heap
            ));
        }
        let varies = |name: &String| {
            self.all.globals.get(name).is_some_and(|values| values.len() > MOST_VALUES)
        };
        let mut compared = 0;
        let is_other = |name: &String| varies(name) || reshaped.contains(name);
        for (name, values) in known.globals.iter().filter(|(name, _)| !is_other(name)) {
            let Some((_, value)) = seen.globals.iter().find(|(other, _)| other == name) else {
                continue;
            };
            if !values.contains(value) {
                return Err(format!("leaves '{name}' as no run before that passed left it"));
            }
            compared += 1;
        }
        Ok(compared)
    }
}

impl Done {
    fn add(&mut self, seen: &Seen) {
        self.runs += 1;
        self.codes.insert(seen.code);
        self.outputs.insert(seen.lines.clone());
        self.heap.insert(seen.heap);
        for (name, value) in &seen.globals {
            self.globals.entry(name.clone()).or_default().insert(*value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(code: i32, output: &str, heap: u64, x: u64) -> Seen {
        let mut lines: Vec<Vec<u8>> =
            output.split('\n').map(|line| line.as_bytes().to_vec()).collect();
        lines.sort_unstable();
        Seen { code, lines, heap, globals: vec![("x".to_owned(), x)] }
    }

    fn before() -> Before {
        let mut before = Before::default();
        before.all.add(&seen(0, "a\nb\n", 0, 3));
        before.all.add(&seen(0, "b\na\n", 0, 4));
        before
    }

    fn matches(before: &Before, seen: &Seen) -> Result<u64, String> {
        before.matches(&before.all, seen, &[])
    }

    #[test]
    fn what_only_disturbed_threads_do_counts_if_nothing_else_is_known() {
        let mut before = before();
        for _ in 0..FEWEST_BEFORE {
            before.all.add(&seen(0, "a\nb\n", 0, 3));
            before.sequential.add(&seen(0, "a\nb\n", 0, 3));
        }
        let known = before.known().expect("enough runs");
        assert_eq!(before.matches(known, &seen(0, "a\nb\n", 0, 3), &[]), Ok(1));
        assert!(before.matches(known, &seen(0, "a\nb\n", 0, 4), &[]).is_err());
        before.sequential = Done::default();
        let known = before.known().expect("enough runs");
        assert_eq!(before.matches(known, &seen(0, "a\nb\n", 0, 4), &[]), Ok(1));
    }

    #[test]
    fn what_was_done_before_may_be_done_again() {
        assert_eq!(matches(&before(), &seen(0, "b\na\n", 0, 4)), Ok(1));
    }

    #[test]
    fn what_was_never_done_is_named() {
        let told = |seen: Seen| matches(&before(), &seen).expect_err("it is new");
        assert!(told(seen(1, "a\nb\n", 0, 3)).contains("exits with 1"));
        assert!(told(seen(0, "a\n", 0, 3)).contains("prints"));
        assert!(told(seen(0, "a\nb\n", 2, 3)).contains("2 objects"));
        assert!(told(seen(0, "a\nb\n", 0, 9)).contains("'x'"));
    }

    #[test]
    fn what_differs_from_run_to_run_is_not_compared() {
        let mut before = before();
        for x in 0..=MOST_VALUES as u64 {
            before.all.add(&seen(0, "a\nb\n", 0, 100 + x));
        }
        assert_eq!(matches(&before, &seen(0, "a\nb\n", 0, 9)), Ok(0));
    }
}
