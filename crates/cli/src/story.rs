//! Failures and runs in words for a person, and the same as JSON.

use serde_json::{Value, json};
use unravel_trace::{Failure, KnownOrder, Outcome, Place, Run, ThreadName, user_place};

/// Frames shown of a stack; the rest is in the JSON.
const FRAMES: usize = 6;

/// A failure: what happened, where, and what belongs to it.
pub fn failure(failure: &Failure, run: &Run) -> String {
    let mut text = without_size(failure);
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
    text
}

/// A failure without the size of its run.
pub fn without_size(failure: &Failure) -> String {
    let mut text = format!("{}: {}\n", failure.kind, failure.message);
    text += &stack(&failure.stack, Some(&failure.thread));
    for related in &failure.related {
        text += &format!("  {}\n", related.message);
        text += &stack(&related.stack, None);
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

/// `1 thread`, `2 threads`.
pub fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

fn stack(places: &[Place], thread: Option<&ThreadName>) -> String {
    let mut text = String::new();
    // What happens inside the libraries' headers says little; the call into them says where.
    let skipped = places.iter().take_while(|p| p.is_system()).count();
    let places = if skipped < places.len() { &places[skipped..] } else { places };
    for (depth, place) in places.iter().take(FRAMES).enumerate() {
        let who = thread.filter(|_| depth == 0).map_or(String::new(), |t| format!(" ({t})"));
        // Imported traces name no functions.
        let function = match &*place.function {
            "" => String::new(),
            function => format!(" in {function}"),
        };
        text += &format!("    at {}{function}{who}\n", place.short());
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
            "at": failure.place().map(Place::short),
            "bug": failure.id().to_string(),
            "stack": stack_json(&failure.stack),
            "related": failure.related.iter().map(|r| json!({
                "message": r.message,
                "at": user_place(&r.stack).map(Place::short),
                "stack": stack_json(&r.stack),
            })).collect::<Vec<_>>(),
        }),
    }
}

/// The size of a run as JSON.
pub fn run_json(run: &Run) -> Value {
    json!({
        "outcome": outcome_json(&run.outcome),
        "threads": run.schedule.threads.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "events": events(run),
        "order_known": is_order_known(run),
        "context_switches": is_order_known(run).then(|| run.schedule.context_switches()),
        "steps": run.steps,
        "notes": unravel_report::notes::notes(&run.notes),
    })
}
