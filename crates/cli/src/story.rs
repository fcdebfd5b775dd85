//! Failures and runs in words for a person, and the same as JSON.

use std::time::Duration;

use serde_json::{Value, json};
use unravel_report::searched::length;
use unravel_report::{FileNames, deviations};
use unravel_results::Needed;
use unravel_trace::{
    BugId, Busiest, Failure, KnownOrder, Note, Outcome, Place, Run, ThreadName, user_place,
};

/// Frames shown of a stack; the rest is in the JSON.
const FRAMES: usize = 6;

/// A failure: what happened, where, and what belongs to it.
pub fn failure(failure: &Failure, run: &Run) -> String {
    one_of_several(failure, run, &FileNames::of_failures([failure]))
}

/// A failure that is shown with others, from whose files `names` tells its own.
pub fn one_of_several(failure: &Failure, run: &Run, names: &FileNames) -> String {
    let mut text = told(failure, names);
    let switches = match run.schedule.context_switches() {
        _ if !is_order_known(run) => "in an unknown order".into(),
        1 => "1 context switch".into(),
        switches => format!("{switches} context switches"),
    };
    text += &format!(
        "  {}, {}, {switches}\n",
        count(run.schedule.threads.len() as u64, "thread"),
        count(events(run), "event"),
    );
    if let Some(needs) = deviations::sentence(&Needed::of(run)) {
        text += &format!("  {needs}\n");
    }
    text
}

/// How a run ended that did not fail, in words.
pub fn ending(run: &Run) -> String {
    match run.outcome {
        Outcome::Discarded if run.notes.contains(&Note::EndlessLoop) => {
            "inconclusive because the program loops for ever without looking at anything".to_owned()
        }
        ref other => other.to_string(),
    }
}

/// A failure without the size of its run.
pub fn without_size(failure: &Failure) -> String {
    told(failure, &FileNames::of_failures([failure]))
}

fn told(failure: &Failure, names: &FileNames) -> String {
    let mut text = format!("{}: {}\n", failure.kind, failure.message);
    text += &stack(&failure.stack, Some(&failure.thread), names);
    for related in &failure.related {
        text += &format!("  {}\n", related.message);
        text += &stack(&related.stack, None, names);
    }
    text
}

/// Whether the events are listed as they happened. Of an imported run, only the order within each thread is known.
pub fn is_order_known(run: &Run) -> bool {
    run.symbolic.as_ref().is_none_or(|symbolic| symbolic.order == KnownOrder::Observed)
}

/// A point of a schedule can have several events, or none that was kept.
fn events(run: &Run) -> u64 {
    match run.trace.events.len() as u64 {
        0 => run.schedule.events(),
        events => events,
    }
}

/// `one run: 12.3 s, 41 million instructions, …`, of a run that makes a search slow.
pub fn long_run(run: &Run, took: Duration, busiest: Option<&Busiest>) -> String {
    format!(
        "one run: {}; a search makes about {:.0} schedules a minute with each worker, fewer with --races: \
         a smaller input or a single test finds more",
        length(took, run.steps, busiest),
        (60.0 / took.as_secs_f64()).max(1.0)
    )
}

/// The function that takes most of a run's instructions; null of a short run.
pub fn busiest_json(busiest: Option<&Busiest>) -> Value {
    busiest.map_or(Value::Null, |busiest| {
        let place = &busiest.place;
        json!({
            "function": &*place.function,
            "at": place.short(),
            "steps": busiest.steps,
            "of": busiest.of,
        })
    })
}

/// `1 thread`, `2 threads`.
pub fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

fn stack(places: &[Place], thread: Option<&ThreadName>, names: &FileNames) -> String {
    let mut text = String::new();
    // What happens inside the libraries' headers and in wrappers says little; the call into them says where.
    let skipped = places.iter().take_while(|p| p.is_system() || p.wrapper).count();
    let places = if skipped < places.len() { &places[skipped..] } else { places };
    for (depth, place) in places.iter().take(FRAMES).enumerate() {
        let who = thread.filter(|_| depth == 0).map_or(String::new(), |t| format!(" ({t})"));
        // Imported traces name no functions.
        let function = match &*place.function {
            "" => String::new(),
            function => format!(" in {function}"),
        };
        text += &format!("    at {}{function}{who}\n", names.line(&place.into()));
    }
    if places.len() > FRAMES {
        text += &format!("    … {} more\n", places.len() - FRAMES);
    }
    text
}

fn place_json(place: &Place) -> Value {
    json!({
        "function": &*place.function,
        "file": &*place.file,
        "line": place.line,
        "column": place.column,
    })
}

fn stack_json(places: &[Place]) -> Value {
    places.iter().map(place_json).collect()
}

/// An outcome as JSON.
pub fn outcome_json(outcome: &Outcome) -> Value {
    let ids: Vec<BugId> = outcome.failure().map(Failure::id).into_iter().collect();
    one_outcome_json(outcome, &FileNames::of_bugs(&ids))
}

/// What several runs are told together with: their failures are told apart.
pub fn names<'r>(runs: impl Iterator<Item = &'r Run>) -> FileNames {
    let ids: Vec<BugId> = runs.filter_map(|run| Some(run.outcome.failure()?.id())).collect();
    FileNames::of_bugs(&ids)
}

fn one_outcome_json(outcome: &Outcome, names: &FileNames) -> Value {
    match outcome {
        Outcome::Exited { code } => json!({ "kind": "exited", "code": code }),
        Outcome::Discarded => json!({ "kind": "discarded" }),
        Outcome::Inconclusive { reason, at } => {
            json!({ "kind": "inconclusive", "reason": reason, "at": at.as_ref().map(place_json) })
        }
        Outcome::Failed(failure) => json!({
            "kind": failure.kind.name(),
            "message": failure.message,
            "thread": failure.thread.to_string(),
            "at": failure.place().map(|place| names.line(&place.into())),
            "bug": names.bug(&failure.id()),
            "stack": stack_json(&failure.stack),
            "related": failure.related.iter().map(|r| json!({
                "message": r.message,
                "at": user_place(&r.stack).map(|place| names.line(&place.into())),
                "stack": stack_json(&r.stack),
            })).collect::<Vec<_>>(),
        }),
    }
}

/// The size of a run as JSON.
pub fn run_json(run: &Run) -> Value {
    one_run_json(run, &names([run].into_iter()))
}

/// The same of one run of several, which `names` tells apart.
pub fn one_run_json(run: &Run, names: &FileNames) -> Value {
    json!({
        "outcome": one_outcome_json(&run.outcome, names),
        "threads": run.schedule.threads.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "events": events(run),
        "order_known": is_order_known(run),
        "context_switches": is_order_known(run).then(|| run.schedule.context_switches()),
        "steps": run.steps,
        "deviations": Needed::of(run).iter().map(|needed| json!({
            "kind": needed.kind.name(),
            "thread": needed.thread.to_string(),
            "at": needed.place.as_ref().map(|place| names.line(&place.into())),
        })).collect::<Vec<_>>(),
        "notes": unravel_report::notes::notes(&run.notes),
    })
}
