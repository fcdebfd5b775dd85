//! A diagnosis for programs: `unravel.diagnosis/1`.
//!
//! Names are resolved, so that nobody needs the trace to read it; indices of events count from 0 within their run.
//! Within version 1 fields are added, never changed or removed.
//!
//! ```text
//! schema         "unravel.diagnosis/1"
//! program        name
//! status         { kind: "confirmed" | "modelled" | "inconclusive", reason: text or null }
//! memory_model   "sequential consistency"
//! failure        { kind, message, thread, bug, at: place or null, stack: [place], related: [{ message, at, stack }] }
//! failing        run
//! context_switches { given, reduced }
//! root_cause     null or { pattern, sentence, advice, region: [place], kept_and_failed, proved_on_path,
//!                  orders: [{ object, first: participant, second: participant, witness: [segment] or null }] }
//! alternates     [{ run, same_path, found_by, minimality: { proved, gap },
//!                  distance: { data_flow, broken_segments, context_switches, operations }, projection }]
//! lines          [place], what to look at
//! effort         { evaluated, executed, solver: text or null, queries }
//! notes          [text]
//!
//! place          { function, file, line, column }; line 0: no debug information
//! participant    { thread, verb, place, occurrence, event: index in the failing run or null if it was not reached }
//! run            { outcome, threads: [name], events: number, schedule: [segment] }
//! outcome        { kind: "exited" | "discarded" | "inconclusive" | kind of failure, and what belongs to it }
//! segment        { thread, events }
//! projection     { failing: [event], alternate: [event], all_flows,
//!                  flows: [{ location, failing: flow or null, alternate: flow or null }],
//!                  branches: [{ thread, failing: event or null, alternate: event or null, after: place or null }] }
//! flow           { from: event or null for the initial value, to: event }
//! event          { index, thread, verb, text, location: name or null, value: text or null, old_value: text or null,
//!                  place: place or null }
//! ```
//!
//! Values are text, because not every program reads 64-bit numbers: signed decimal, large words (addresses) in
//! hexadecimal, more than eight bytes as `0x` and the bytes in order of their addresses.

use serde_json::{Value as Json, json};
use unravel_trace::{
    Alternate, BranchChange, CausalOrder, Diagnosis, EventKind, Failure, Flow, Minimality,
    Observed, Outcome, Participant, Pattern, Place, Projection, RootCause, Schedule, Status, Trace,
    Value, user_place,
};

use crate::words;

pub const SCHEMA: &str = "unravel.diagnosis/1";

pub fn diagnosis(diagnosis: &Diagnosis) -> Json {
    let failing = &diagnosis.failing;
    let first = diagnosis.alternates.first().map(|a| (&a.projection, &a.run.trace));
    let lines = words::lines_to_look_at(diagnosis, first);
    json!({
        "schema": SCHEMA,
        "program": diagnosis.program,
        "status": status(&diagnosis.status),
        "memory_model": "sequential consistency",
        "failure": failure(&diagnosis.failure),
        "failing": run(failing),
        "context_switches": {
            "given": diagnosis.switches_given,
            "reduced": failing.schedule.context_switches(),
        },
        "root_cause": diagnosis.root_cause.as_ref().map(root_cause),
        "alternates": diagnosis.alternates.iter().map(|a| alternate(a, failing)).collect::<Json>(),
        "lines": lines.iter().map(place).collect::<Json>(),
        "effort": {
            "evaluated": diagnosis.effort.evaluated,
            "executed": diagnosis.effort.executed,
            "solver": diagnosis.effort.solver,
            "queries": diagnosis.effort.queries,
        },
        "notes": diagnosis.notes,
    })
}

fn status(status: &Status) -> Json {
    match status {
        Status::Confirmed => json!({ "kind": "confirmed", "reason": null }),
        Status::Modelled => json!({ "kind": "modelled", "reason": null }),
        Status::Inconclusive { reason } => json!({ "kind": "inconclusive", "reason": reason }),
    }
}

fn place(place: &Place) -> Json {
    json!({
        "function": &*place.function,
        "file": &*place.file,
        "line": place.line,
        "column": place.column,
    })
}

fn stack(places: &[Place]) -> Json {
    places.iter().map(place).collect()
}

fn failure(failure: &Failure) -> Json {
    let related = failure.related.iter().map(|related| {
        json!({
            "message": related.message,
            "at": user_place(&related.stack).map(place),
            "stack": stack(&related.stack),
        })
    });
    json!({
        "kind": failure.kind.name(),
        "message": failure.message,
        "thread": failure.thread.to_string(),
        "bug": failure.id().to_string(),
        "at": failure.place().map(place),
        "stack": stack(&failure.stack),
        "related": related.collect::<Json>(),
    })
}

fn outcome(outcome: &Outcome) -> Json {
    match outcome {
        Outcome::Exited { code } => json!({ "kind": "exited", "code": code }),
        Outcome::Discarded => json!({ "kind": "discarded" }),
        Outcome::Inconclusive { reason, at } => {
            json!({ "kind": "inconclusive", "reason": reason, "at": at.as_ref().map(place) })
        }
        Outcome::Failed(failed) => failure(failed),
    }
}

fn run(run: &Observed) -> Json {
    json!({
        "outcome": outcome(&run.outcome),
        "threads": run.trace.threads.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "events": run.trace.events.len(),
        "schedule": schedule(&run.schedule),
    })
}

fn schedule(schedule: &Schedule) -> Json {
    let segments = schedule.segments.iter().map(|segment| {
        let thread = schedule.threads.get(segment.thread as usize).map(ToString::to_string);
        json!({ "thread": thread, "events": segment.events })
    });
    segments.collect()
}

fn root_cause(cause: &RootCause) -> Json {
    let order = |order: &CausalOrder| {
        json!({
            "object": order.object,
            "first": participant(&order.first),
            "second": participant(&order.second),
            "witness": order.witness.as_ref().map(schedule),
        })
    };
    json!({
        "pattern": pattern(cause.pattern),
        "sentence": cause.sentence,
        "advice": cause.advice,
        "region": stack(&cause.region),
        "kept_and_failed": cause.kept_and_failed,
        "proved_on_path": cause.proved_on_path,
        "orders": cause.orders.iter().map(order).collect::<Json>(),
    })
}

/// As other names in files: `lost-update`.
fn pattern(pattern: Pattern) -> String {
    pattern.to_string().replace(' ', "-")
}

fn participant(who: &Participant) -> Json {
    json!({
        "thread": who.key.thread.to_string(),
        "verb": who.verb,
        "place": place(&who.place),
        "occurrence": who.key.occurrence,
        "event": who.event,
    })
}

fn alternate(alternate: &Alternate, failing: &Observed) -> Json {
    let gap = match alternate.minimality {
        Minimality::Proved => 0,
        Minimality::BestFound { gap } => gap,
    };
    json!({
        "run": run(&alternate.run),
        "same_path": alternate.same_path,
        "found_by": alternate.goal,
        "minimality": { "proved": alternate.minimality == Minimality::Proved, "gap": gap },
        "distance": {
            "data_flow": alternate.distance.data_flow,
            "broken_segments": alternate.distance.segments,
            "context_switches": alternate.distance.switches,
            "operations": alternate.distance.operations,
        },
        "projection": projection(&alternate.projection, &failing.trace, &alternate.run.trace),
    })
}

fn projection(projection: &Projection, ours: &Trace, theirs: &Trace) -> Json {
    let flow = |trace: &Trace, flow: Option<Flow>| {
        flow.map(|flow| {
            json!({
                "from": flow.from.map(|from| event(trace, from)),
                "to": event(trace, flow.to),
            })
        })
    };
    let flows = projection.flows.iter().map(|change| {
        json!({
            "location": change.location,
            "failing": flow(ours, change.failing),
            "alternate": flow(theirs, change.alternate),
        })
    });
    let branches = projection.branches.iter().map(|branch: &BranchChange| {
        json!({
            "thread": branch.thread.to_string(),
            "failing": branch.failing.map(|e| event(ours, e)),
            "alternate": branch.alternate.map(|e| event(theirs, e)),
            "after": branch.after.as_ref().map(place),
        })
    });
    json!({
        "failing": projection.failing.iter().map(|e| event(ours, *e)).collect::<Json>(),
        "alternate": projection.alternate.iter().map(|e| event(theirs, *e)).collect::<Json>(),
        "all_flows": projection.all_flows,
        "flows": flows.collect::<Json>(),
        "branches": branches.collect::<Json>(),
    })
}

fn event(trace: &Trace, index: u32) -> Json {
    let Some(event) = trace.events.get(index as usize) else { return Json::Null };
    let (old, value) = match &event.kind {
        EventKind::Read { value, .. } | EventKind::Write { value, .. } => (None, Some(value)),
        EventKind::ReadModifyWrite { old, new, .. } => (Some(old), Some(new)),
        _ => (None, None),
    };
    let location = event.kind.location().and_then(|at| trace.locations.get(at.0 as usize));
    json!({
        "index": index,
        "thread": trace.thread_name(event.thread).to_string(),
        "verb": event.kind.verb(),
        "text": words::phrase(trace, event).text(),
        "location": location.map(|location| &location.name),
        "value": value.map(text),
        "old_value": old.map(text),
        "place": words::place(trace, event).map(place),
    })
}

fn text(value: &Value) -> String {
    match value {
        Value::Bytes(bytes) if !bytes.is_empty() => {
            bytes.iter().fold("0x".to_owned(), |text, byte| text + &format!("{byte:02x}"))
        }
        value => value.to_string(),
    }
}
