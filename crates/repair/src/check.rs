//! Is it a repair? The changed program is explored like any other: exhaustively where that comes to an end, else with a
//! budget, and the result says so.

use std::time::Duration;

use unravel_execute::Limit;
use unravel_explore::{AfterFirst, Plan, Shard, search};
use unravel_results::{Check, CheckedAs, Stopped};
use unravel_strategies::Strategy;
use unravel_trace::{Executor, Failure, Input, KnownBug, LeftOut, Method, Reached};

/// How much exploring one candidate gets.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// For every class of schedules once.
    pub exhaustive: Duration,
    /// Schedules of all strategies in turn, where that did not end.
    pub schedules: u64,
    pub time: Duration,
    pub jobs: usize,
    /// The environment deviates so often at most.
    pub deviations: u32,
}

/// What exploring said.
#[derive(Clone, Debug)]
pub enum Explored {
    Passes(Check),
    Fails(Box<Failure>),
    Unknown(String),
}

/// Why nothing more is explored.
pub fn why_over(limit: Limit<'_>) -> &'static str {
    if limit.is_interrupted() { "interrupted" } else { "the time was up" }
}

/// An input to check with, and its number among those that were tried, where several could have been.
#[derive(Clone, Debug)]
pub struct Checked {
    pub number: Option<usize>,
    pub input: Input,
}

/// Explores a program with each of these inputs, which share the effort. It passes if it does with all of them; bugs to pass over are
/// counted, and nothing else.
pub fn explore_each(
    machine: &mut dyn Executor,
    how: CheckedAs,
    (inputs, known): (&[Checked], &[KnownBug]),
    effort: &Effort,
    limit: Limit<'_>,
) -> Explored {
    let many = inputs.len().max(1) as u32;
    let effort =
        Effort { exhaustive: effort.exhaustive / many, time: effort.time / many, ..*effort };
    let mut all: Option<Check> = None;
    for Checked { number, input } in inputs {
        let what = Explorable { input, is_one_of_many: number.is_some(), known };
        let mut check = match explore(machine, how, &what, &effort, limit) {
            Explored::Passes(check) => check,
            other => return other,
        };
        check.inputs.extend(*number);
        all = Some(match all {
            None => check,
            Some(known) => both(known, check),
        });
    }
    all.map_or_else(
        || Explored::Unknown("there is no input to check with".to_owned()),
        Explored::Passes,
    )
}

/// What two inputs showed.
fn both(mut known: Check, new: Check) -> Check {
    known.complete &= new.complete;
    known.schedules += new.schedules;
    known.classes += new.classes;
    known.aside += new.aside;
    known.inputs.extend(new.inputs);
    for reason in new.left_out {
        if !known.left_out.contains(&reason) {
            known.left_out.push(reason);
        }
    }
    known
}

/// What is explored of a program.
struct Explorable<'a> {
    input: &'a Input,
    /// That is a bound that the check names, not a gap in it.
    is_one_of_many: bool,
    /// Bugs to pass over.
    known: &'a [KnownBug],
}

/// Explores a program. What the limit cuts short is not decided.
fn explore(
    machine: &mut dyn Executor,
    how: CheckedAs,
    &Explorable { input, is_one_of_many, known }: &Explorable<'_>,
    effort: &Effort,
    limit: Limit<'_>,
) -> Explored {
    let mut plan = Plan {
        strategy: Strategy::Exhaustive,
        seed: 1,
        schedules: u64::MAX,
        time: Some(effort.exhaustive),
        jobs: effort.jobs,
        shard: Shard::WHOLE,
        after_first: AfterFirst::Stop,
        deviations: effort.deviations,
        exit_codes: false,
        known: known.to_vec(),
    };
    let mut check = Check {
        how,
        complete: false,
        schedules: 0,
        classes: 0,
        aside: 0,
        left_out: Vec::new(),
        inputs: Vec::new(),
    };
    for strategy in [Strategy::Exhaustive, Strategy::Portfolio] {
        if strategy == Strategy::Portfolio {
            plan = Plan { strategy, schedules: effort.schedules, time: Some(effort.time), ..plan };
        }
        let result = match search(machine, input, &plan, |_, _| limit.may_go_on()) {
            Ok(result) => result,
            Err(error) => return Explored::Unknown(error.to_string()),
        };
        if let Some(failure) = result.findings.first().and_then(|f| f.run.outcome.failure()) {
            return Explored::Fails(Box::new(failure.clone()));
        }
        let tally = &result.explored.tally;
        if let Some(reason) = tally.reason.as_ref().filter(|_| tally.has_doubt()) {
            return Explored::Unknown(reason.to_string());
        }
        if tally.is_endless() {
            return Explored::Unknown("it loops for ever without looking at anything".to_owned());
        }
        let followed = tally.schedules - tally.inconclusive - tally.discarded;
        if followed == 0 && strategy == Strategy::Portfolio {
            let reason = tally.reason.as_ref().map(ToString::to_string);
            return Explored::Unknown(
                reason.unwrap_or_else(|| "no run came to its end".to_owned()),
            );
        }
        check.schedules += tally.schedules;
        check.aside += tally.put_aside.iter().sum::<u64>();
        check.classes = check.classes.max(result.explored.covered.classes);
        let systematic = &result.explored.systematic;
        let mut classes =
            systematic.iter().filter(|part| part.method == Method::Exhaustive).peekable();
        let is_left = |what: &&LeftOut| !(is_one_of_many && **what == LeftOut::OtherValues);
        let ends =
            |part: &Reached| part.is_over && part.left_out.iter().filter(is_left).count() == 0;
        let is_complete = classes.peek().is_some() && classes.all(ends)
            || result.explored.stopped == Stopped::OneSchedule;
        if strategy == Strategy::Exhaustive && is_complete && followed > 0 {
            check.complete = true;
            return Explored::Passes(check);
        }
        for reason in systematic.iter().flat_map(|part| &part.left_out).filter(is_left) {
            if !check.left_out.contains(reason) {
                check.left_out.push(reason.clone());
            }
        }
        match result.explored.stopped {
            Stopped::Interrupted => return Explored::Unknown(why_over(limit).to_owned()),
            Stopped::AllInconclusive => {
                return Explored::Unknown("no run could be followed to its end".to_owned());
            }
            _ => {}
        }
    }
    if check.left_out.is_empty() {
        check.left_out.push(LeftOut::Time);
    }
    Explored::Passes(check)
}
