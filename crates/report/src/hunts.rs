//! A hunt in words, the same in all reports: what was exposed, how it came about, what was searched, and what may be
//! concluded from that.
//!
//! Nothing is claimed here that the hunt did not do. That a failure was executed again is read from the run that the
//! report has; "no run showed it" is said only where no run failed by itself, or where those that did are known.

use std::time::Duration;

use unravel_results::{
    AttemptEnd, Derived, Diagnosis, Effort, Exposed, Flip, FlipKind, How, Hunt, HuntEnd, HuntGap,
    HuntStop, InputValue, Status, TraceSource,
};
use unravel_trace::{Outcome, Place};

use crate::FileNames;
use crate::words::{self, count, listed};

/// Reasons of refusals that are told.
const MOST_REASONS: usize = 3;

/// How much of a hunt's result can be relied on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weight {
    /// Something fails.
    Found,
    /// Everything within the bounds was asked, and answered.
    Exhausted,
    /// Nothing was found, and something is left.
    Open,
    /// There was nothing to start from.
    Inconclusive,
}

/// What came of a hunt, in a word.
pub fn weight(hunt: &Hunt) -> Weight {
    if !hunt.exposed.is_empty() {
        return Weight::Found;
    }
    if started_from_nothing(hunt) {
        return Weight::Inconclusive;
    }
    match hunt.end {
        HuntEnd::Exhausted if !asked_nothing(hunt) => Weight::Exhausted,
        _ => Weight::Open,
    }
}

/// There were combinations, and not one of them was asked about: then there being nothing left says nothing.
fn asked_nothing(hunt: &Hunt) -> bool {
    hunt.effort.observed == 0
}

/// No run passed, and none was known.
fn started_from_nothing(hunt: &Hunt) -> bool {
    hunt.runs.passing == 0 && hunt.runs.distinct == 0
}

/// Failures that no run showed by itself.
pub fn hunted(hunt: &Hunt) -> Vec<&Exposed> {
    hunt.exposed.iter().filter(|exposed| exposed.how != How::ByItself).collect()
}

/// One sentence: what came of it.
pub fn headline(hunt: &Hunt) -> String {
    let runs = &hunt.runs;
    match (hunted(hunt).as_slice(), hunt.exposed.as_slice()) {
        ([one], _) => {
            let names = FileNames::of_failures([&one.failure]);
            format!("exposed: {}, {}", failure(one, &names), shown(hunt, one))
        }
        ([_, _, ..], _) => {
            let hunted = hunted(hunt);
            let what = count(hunted.len() as u64, "failure");
            // The same is to be said of all of them, or it is said of each.
            let same = hunted.iter().all(|one| shown(hunt, one) == shown(hunt, hunted[0]));
            match same {
                true => format!("exposed: {what}, {}", shown(hunt, hunted[0])),
                false => format!("exposed: {what}"),
            }
        }
        ([], [_, ..]) => format!(
            "failed by itself in {} of {}; nothing to hunt: use `unravel explain`",
            runs.failing,
            count(runs.executed, "run")
        ),
        ([], []) if started_from_nothing(hunt) => nothing_to_start_from(hunt),
        ([], []) => match &hunt.end {
            HuntEnd::Exhausted if asked_nothing(hunt) => {
                "nothing exposed, because nothing was asked".to_owned()
            }
            HuntEnd::Exhausted => {
                "nothing exposed: no order of any execution within these bounds fails".to_owned()
            }
            HuntEnd::Incomplete { .. } => {
                "nothing exposed, but some of it could not be decided".to_owned()
            }
            HuntEnd::Stopped { why, left: 0 } => format!("nothing exposed before {}", stop(*why)),
            HuntEnd::Stopped { why, left } => {
                let (why, left) = (stop(*why), branches(*left));
                format!("nothing exposed before {why}: {left} left to flip")
            }
            HuntEnd::Found => "nothing exposed".to_owned(),
        },
    }
}

fn nothing_to_start_from(hunt: &Hunt) -> String {
    let runs = &hunt.runs;
    let stopped = match &hunt.end {
        HuntEnd::Stopped { why, .. } => format!(" before {}", stop(*why)),
        _ => String::new(),
    };
    match runs.executed {
        0 => format!(
            "inconclusive: no run came to its end{stopped}, so there is nothing to start from"
        ),
        all if runs.unusable == all => format!(
            "inconclusive: none of {} can be used: they left an assumption of the program, or could not be followed \
             to their end",
            count(all, "run")
        ),
        all => format!(
            "inconclusive: none of {} passed, so there is nothing to start from",
            count(all, "run")
        ),
    }
}

/// `assertion 'x > 0' failed at bank.c:12`.
pub fn failure(exposed: &Exposed, names: &FileNames) -> String {
    let what = words::failure(&exposed.failure);
    match exposed.failure.place() {
        Some(place) => format!("{what} at {}", names.place(place)),
        None => what,
    }
}

/// What is known of how often runs showed a failure: `which 100 runs never showed`.
fn shown(hunt: &Hunt, exposed: &Exposed) -> String {
    let runs = &hunt.runs;
    let by_itself = hunt.exposed.iter().filter(|other| other.how == How::ByItself);
    let mut known = by_itself.map(|other| other.failure.id()).peekable();
    if runs.failing == 0 {
        match runs.executed {
            0 => "which no known run showed".to_owned(),
            1 => "which 1 run did not show".to_owned(),
            // How the runs before that ended is not kept.
            some if hunt.effort.renewals > 0 => {
                format!("which the last {some} runs never showed")
            }
            some => format!("which {some} runs never showed"),
        }
    } else if known.peek().is_none() {
        let failed = format!("{} of {}", runs.failing, count(runs.executed, "run"));
        format!("derived from runs that passed ({failed} failed by themselves, perhaps so)")
    } else if known.any(|id| id == exposed.failure.id()) {
        "which runs also showed by themselves".to_owned()
    } else {
        format!("which {} never showed", count(runs.executed, "run"))
    }
}

/// `100 runs passed, 2 distinct`: what the hunt started from.
pub fn start(hunt: &Hunt) -> String {
    let runs = &hunt.runs;
    let mut text = format!("{} of {} passed", runs.passing, count(runs.executed, "run"));
    let different = match runs.distinct {
        1 => "1 combination of what threads did".to_owned(),
        some => format!("{some} different combinations of what threads did"),
    };
    text += &format!(": {different}");
    if runs.known_before > 0 {
        text += &format!(", {} known from the database", runs.known_before);
    }
    let mut aside = Vec::new();
    if runs.failing > 0 {
        aside.push(format!("{} failed by {}", runs.failing, itself(runs.failing)));
    }
    if runs.unusable > 0 {
        aside.push(format!("{} could not be used", runs.unusable));
    }
    if !aside.is_empty() {
        text += &format!("; {}", aside.join(", "));
    }
    text
}

fn itself(runs: u64) -> &'static str {
    if runs == 1 { "itself" } else { "themselves" }
}

/// How a failure differs from the run it was derived from, a sentence each.
pub fn how(exposed: &Exposed) -> Vec<String> {
    let mut said = Vec::new();
    match exposed.how {
        How::ByItself => said.push("one of the runs at the start failed".to_owned()),
        How::BySchedule => said.push("by the same steps in another order".to_owned()),
        How::ByPath => {
            let flips: Vec<String> = exposed.flips.iter().map(flip).collect();
            said.push(match flips.is_empty() {
                true => "on another path".to_owned(),
                false => format!("on another path: {}", listed(&flips)),
            });
        }
    }
    if !exposed.inputs.is_empty() {
        let inputs = exposed.inputs.iter().map(|InputValue { source, value }| {
            format!("{} = {value}", crate::inputs::source(source))
        });
        let inputs: Vec<String> = inputs.collect();
        said.push(format!("with the input {}", listed(&inputs)));
    }
    said
}

/// `T0.1 goes another way at bank.c:12`.
pub fn flip(flip: &Flip) -> String {
    let Flip { thread, place, kind } = flip;
    let what = match kind {
        FlipKind::Branch => "goes another way",
        FlipKind::Answer => "gets another answer",
        FlipKind::Value => "uses another value",
    };
    match has_line(place) {
        true => format!("{thread} {what} at {}", words::at(place)),
        false => format!("{thread} {what}"),
    }
}

fn has_line(place: &Place) -> bool {
    place.line != 0 || !place.function.is_empty()
}

/// `in attempt 5 (D 3, N 1 would have been enough), after 7 flips and 2 new traces, in 30 ms`.
pub fn found(exposed: &Exposed) -> Option<String> {
    if exposed.how == How::ByItself {
        return None;
    }
    let Exposed { attempt, depth, traces, flipped, synthesised, time, .. } = exposed;
    let needed = match exposed.how {
        How::ByPath => format!(" (D {depth}, N {traces} would have been enough)"),
        How::BySchedule | How::ByItself => String::new(),
    };
    let after = match (flipped, synthesised) {
        (0, 0) => String::new(),
        _ => {
            format!(", after {} and {}", count(*flipped, "flip"), count(*synthesised, "new trace"))
        }
    };
    Some(format!("in attempt {attempt}{needed}{after}, in {}", took(*time)))
}

/// `30 ms`, `1.2 s`.
fn took(time: Duration) -> String {
    match time.as_millis() {
        0 => "less than 1 ms".to_owned(),
        ms @ 1..1000 => format!("{ms} ms"),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

/// Whether a failure was executed again for the report, and failed so again.
pub fn failed_again(exposed: &Exposed) -> bool {
    let again = exposed.derived.as_ref().and_then(|derived| derived.failing.outcome.failure());
    again.is_some_and(|again| again.id() == exposed.failure.id())
}

/// What a failure rests on: how often it was executed, and what came of it. The second part says whether it held.
pub fn evidence(exposed: &Exposed) -> (String, bool) {
    let Some(derived) = &exposed.derived else {
        return ("executed once".to_owned(), true);
    };
    if !failed_again(exposed) {
        let second = &derived.failing.outcome;
        return (format!("executed twice, but it did NOT fail so again: {second}"), false);
    }
    match &derived.passing.run.outcome {
        Outcome::Exited { .. } => {
            let passed = "the run it was derived from passed again";
            (format!("confirmed: executed twice, failed twice; {passed}"), true)
        }
        now => {
            let origin = "but the run it was derived from did NOT pass again";
            (format!("executed twice, failed twice; {origin}: {now}"), false)
        }
    }
}

/// The failing run beside the one it was derived from, as the two runs of a diagnosis without a root cause: so every
/// report shows them as it shows those.
pub fn comparison(hunt: &Hunt, exposed: &Exposed) -> Option<Diagnosis> {
    let Derived { failing, passing } = exposed.derived.as_deref()?;
    Some(Diagnosis {
        program: hunt.program.clone(),
        failure: exposed.failure.clone(),
        status: Status::Confirmed,
        failing: failing.clone(),
        switches_given: failing.schedule.context_switches(),
        root_cause: None,
        race: None,
        alternates: vec![passing.clone()],
        effort: Effort::default(),
        notes: Vec::new(),
        certified: None,
    })
}

/// What differs from the run that a failure was derived from, in numbers.
pub fn differs(derived: &Derived) -> String {
    let Derived { failing, passing } = derived;
    let events = failing.trace.events.len().max(passing.run.trace.events.len()) as u64;
    let operations = count(passing.distance.operations, "event");
    let flows = match passing.distance.data_flow {
        0 => "no data flow".to_owned(),
        some => {
            let all = passing.projection.all_flows.max(some);
            format!("{} of {all}", count(some, "data flow"))
        }
    };
    format!("{flows} and {operations} of {events} differ")
}

/// What the hunt did, in a few sentences.
pub fn effort(hunt: &Hunt) -> Vec<String> {
    let effort = &hunt.effort;
    let mut said = vec![format!(
        "{} and {}, from {} that were seen, in {}; {} ruled out by data flow alone, {} asked before",
        count(effort.attempts, "attempt"),
        count(effort.queries, "question"),
        count(effort.observed, "combination"),
        took(hunt.time),
        effort.ruled_out,
        effort.redundant
    )];
    said.push(format!(
        "traces for flipped branches: {} from the database, {} made; {} of the program",
        effort.from_database,
        effort.synthesised,
        count(effort.executions, "execution")
    ));
    let refused: u64 = effort.refused.iter().map(|refused| refused.count).sum();
    let mut promised = format!("{} promised by the solver", count(effort.promised, "order"));
    promised += &match refused {
        0 => ", none refused by execution".to_owned(),
        some => format!(", {some} refused by execution: {}", reasons(hunt)),
    };
    if effort.unknown > 0 {
        promised += &format!("; {} without an answer", count(effort.unknown, "question"));
    }
    said.push(promised);
    if effort.renewals > 0 {
        said.push(format!(
            "begun anew {}, because more memory was shared than was known",
            count(effort.renewals, "time")
        ));
    }
    said
}

fn reasons(hunt: &Hunt) -> String {
    let refused = &hunt.effort.refused;
    let mut told: Vec<String> = (refused.iter().take(MOST_REASONS))
        .map(|refused| format!("{} ({})", refused.reason, refused.count))
        .collect();
    if refused.len() > MOST_REASONS {
        told.push(format!("{} more", count((refused.len() - MOST_REASONS) as u64, "reason")));
    }
    told.join("; ")
}

/// `D 16, N 4, up to 4 flips`.
pub fn bounds(hunt: &Hunt) -> String {
    let bounds = &hunt.bounds;
    format!(
        "D {} (branches nearest to an assertion), N {} (traces for a flipped branch), up to {}",
        bounds.depth,
        bounds.traces,
        count(bounds.flips, "flip")
    )
}

/// How far the search went, if nothing was hunted down or it was to go on after that; what may be concluded.
pub fn extent(hunt: &Hunt) -> Vec<String> {
    let bounds = bounds(hunt);
    match &hunt.end {
        _ if weight(hunt) == Weight::Inconclusive => Vec::new(),
        HuntEnd::Found => Vec::new(),
        HuntEnd::Exhausted if asked_nothing(hunt) => {
            vec!["not exhausted: no combination that was seen was asked about".to_owned()]
        }
        HuntEnd::Exhausted => {
            let mut said = vec![format!(
                "exhausted: every combination that was seen, and every flip of it within {bounds}, was asked about, and \
                 every question was answered"
            )];
            said.push(
                "this says nothing about paths that nobody took and that no flip within the bounds leads to, about \
                 what is not watched, about an environment in which threads are late and waits end early or without cause, \
                 or about weaker memory models"
                    .to_owned(),
            );
            said
        }
        HuntEnd::Incomplete { why } => {
            let mut said =
                vec![format!("not exhausted, although nothing is left to ask within {bounds}")];
            said.extend(why.iter().map(gap));
            said
        }
        HuntEnd::Stopped { why, left } => {
            let left = match left {
                0 => String::new(),
                some => format!(", with {} left to flip", branches(*some)),
            };
            vec![format!("not exhausted: {}{left}, within {bounds}", stop(*why))]
        }
    }
}

fn branches(number: u64) -> String {
    match number {
        1 => "1 branch".to_owned(),
        some => format!("{some} branches"),
    }
}

/// How to look further, where that can help.
pub fn further(hunt: &Hunt) -> Option<&'static str> {
    match (weight(hunt), &hunt.end) {
        (Weight::Open, HuntEnd::Stopped { .. }) => Some("look further with a larger --time"),
        (Weight::Open, _) => Some(
            "look further with a larger --depth, --flips or --runs, or from other runs with --seed",
        ),
        (Weight::Inconclusive, _) => {
            Some("a hunt starts from runs that pass: other inputs, or a larger --max-steps")
        }
        (Weight::Found | Weight::Exhausted, _) => None,
    }
}

/// Where a trace came from.
pub fn source(source: TraceSource) -> &'static str {
    match source {
        TraceSource::Database => "from the database",
        TraceSource::Execution => "executed",
        TraceSource::Symbolic => "guided symbolic execution",
    }
}

/// What came of an attempt.
pub fn result(result: AttemptEnd) -> &'static str {
    match result {
        AttemptEnd::Fails => "fails",
        AttemptEnd::NoOrderFails => "no order fails",
        AttemptEnd::Impossible => "no order makes it so",
        AttemptEnd::Unknown => "nobody knows",
        AttemptEnd::Passes => "it passes, as does every other order",
        AttemptEnd::PassesAsBefore => "it passes, as was seen before",
    }
}

/// Why a hunt had to stop.
pub fn stop(why: HuntStop) -> &'static str {
    match why {
        HuntStop::Interrupted => "it was interrupted",
        HuntStop::Time => "the time was up",
        HuntStop::Damaged => "a crash left this process in disorder",
    }
}

/// What a hunt did not ask, or got no answer to.
pub fn gap(gap: &HuntGap) -> String {
    match gap {
        HuntGap::Incompatible(why) => return why.to_string(),
        HuntGap::Lacking(what) => return format!("this engine cannot {what}"),
        HuntGap::Unanswered { why } => return format!("a question had no answer: {why}"),
        HuntGap::MostFlips { flips } => {
            return format!("executions with {flips} flipped branches were not changed further");
        }
        HuntGap::Depth { depth } => {
            return format!("only the {depth} branches nearest to the assertions were flipped");
        }
        HuntGap::Sets { branches } => {
            return format!(
                "of sets of {branches} branches only the nearest were flipped together"
            );
        }
        HuntGap::Timeouts => "whether a wait times out is as it was",
        HuntGap::Barriers => "barriers that some thread never reaches were not asked about",
        HuntGap::Cancellation => "where a cancelled thread ends is as it was",
        HuntGap::Descriptors => {
            "what comes out of pipes, sockets and other descriptors is as it was"
        }
        HuntGap::SemaphoreCycles => "semaphores were asked about one wait at a time, not in cycles",
        HuntGap::Destroyed => {
            "uses of locks and the like after they were destroyed were not asked about"
        }
        HuntGap::WaitsWithLock => {
            "threads that hold a lock while they join or initialise were not asked about"
        }
        HuntGap::Waiters => {
            "which of several waiting threads a signal wakes is as it was, where it can be"
        }
        HuntGap::LongLoops => {
            "of assertions, locks and waits in long loops only some rounds were asked about"
        }
        HuntGap::AfterFailure => "what comes after a failure was not followed",
        HuntGap::Refused => "execution refused what the model promised",
        HuntGap::Values => "of values that are not followed only some others were tried",
        HuntGap::Switches => "of the ways of a switch only some were tried",
        HuntGap::OnlyNumbers => "of the input only numbers were left open",
        HuntGap::NothingPassed => "no run passed that it could start from",
        HuntGap::MoreShared => "more memory is shared than was watched",
    }
    .to_owned()
}
