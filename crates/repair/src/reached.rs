//! Does a repaired program still come to the check that failed? A patch after which nobody asks has answered nothing.
//!
//! The check's line is looked for in the runs' events: what it reads is shared, else it could not have failed by an order. Lines move in
//! a patch, so a line is known by its text. *Not seen*: checks of values that were read before, of which nothing is said. Runs are a
//! sample, and the program as it is must come there in one as large: a check that is seldom asked may cost a repair that was right.
//! In every other run the process does not end before all threads have: a main thread that waits for nobody would cut off most checks.

use unravel_execute::{Laboratory, Limit, Shielded};
use unravel_strategies::{Random, RunToBlock, YoungestFirst};
use unravel_trace::{Detail, Executor, Input, Place, Run, Scheduler, Shield, Verb, Want};

use crate::budgets::RUNS_TO_CHECK;
use crate::spots::Files;

/// Lines of one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lines {
    file: String,
    numbers: Vec<u32>,
}

/// The lines of checks as a program has them whose changed files are these: path and text.
pub fn lines(checks: &[Place], files: &Files, changed: &[(&str, &str)]) -> Vec<Lines> {
    let of = |place: &Place| {
        let text = files.get(&place.file)?.text();
        let line = text.lines().nth(place.line.checked_sub(1)? as usize)?.trim();
        let new = changed.iter().find(|(path, _)| *path == &*place.file);
        let numbers = match new {
            None => vec![place.line],
            Some((_, text)) => {
                let same = text.lines().enumerate().filter(|(_, other)| other.trim() == line);
                same.map(|(index, _)| index as u32 + 1).collect()
            }
        };
        Some(Lines { file: base(&place.file).to_owned(), numbers })
    };
    checks.iter().filter_map(of).collect()
}

/// Whether some run of a sample comes to one of these lines.
pub fn is_reached(
    machine: &mut dyn Executor,
    input: &Input,
    lines: &[Lines],
    limit: Limit<'_>,
) -> bool {
    let visible = machine.sites().all().clone();
    let mut lab =
        Laboratory::new(machine, input.clone(), visible).until(limit.deadline, limit.interrupt);
    (0..RUNS_TO_CHECK).any(|number| {
        let mut random;
        let mut outlived;
        let by: &mut dyn Scheduler = match number {
            0 => &mut RunToBlock,
            1 => &mut YoungestFirst,
            _ if number % 2 == 1 => {
                outlived = Shielded::new(Random::new(number), &[Shield::Outlived]);
                &mut outlived
            }
            _ => {
                random = Random::new(number);
                &mut random
            }
        };
        lab.may_go_on() && comes_to(&lab.run(by, &mut (), Want::only(Detail::Events)), lines)
    })
}

fn comes_to(run: &Run, lines: &[Lines]) -> bool {
    // That a check fails is an event, that it holds is none: only what it looks at tells that it was asked.
    let looks = run.trace.events.iter().filter(|event| event.kind.does() != Verb::Asserts);
    let mut places = looks.filter_map(|event| run.trace.place(event));
    places.any(|place| {
        let is_it = |l: &Lines| l.numbers.contains(&place.line) && l.file == base(&place.file);
        lines.iter().any(is_it)
    })
}

fn base(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}
