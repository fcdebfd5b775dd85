//! What differs between the failing run and a passing one, with its events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unravel_trace::{EventKind, Location, Shape, Trace, Value};

use super::run::{Place, wrapped};
use crate::words;

/// What differs between the failing run and an alternate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Projection {
    /// Events of the failing run that are on a difference, in order.
    pub failing: Vec<Event>,
    /// Events of the alternate.
    pub alternate: Vec<Event>,
    /// Data flows of the whole failing run, to compare with.
    pub all_flows: u32,
    /// Data flows that only one of the runs has.
    pub flows: Vec<FlowChange>,
    /// Branches that went the other way.
    pub branches: Vec<Branch>,
}

/// One visible step of a thread.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its number in its run, from 0.
    pub index: u32,
    /// The thread's name.
    pub thread: String,
    /// What it does: `read`, `write`, `lock`.
    pub verb: String,
    /// What it does, in words: `read total = 100`.
    pub text: String,
    /// What it touches, as the programmer wrote it.
    pub location: Option<String>,
    /// The value that was read or written, as text because not every program reads 64-bit numbers: decimal, signed if
    /// its type is, large words (addresses) in hexadecimal, more than eight bytes as `0x` and the bytes in order of
    /// their addresses; `?` if unknown. Characters, truth values and null pointers are numbers here.
    pub value: Option<String>,
    /// The value before an atomic update.
    pub old_value: Option<String>,
    /// Where it is, in the user's own code if a library's header or a thin wrapper was called or inlined there.
    pub place: Option<Place>,
    /// The operation itself, if `place` is the call of a thin wrapper around it; else null.
    pub wrapped: Option<Place>,
}

/// Where a read took its value from in each run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FlowChange {
    /// What was read.
    pub location: String,
    /// In the failing run; null if it has no such read.
    pub failing: Option<Flow>,
    /// In the alternate; null if it has no such read.
    pub alternate: Option<Flow>,
}

/// A reads-from edge.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Flow {
    /// The write; null for the value that memory had before the run.
    pub from: Option<Event>,
    /// The read.
    pub to: Event,
}

/// A thread that went another way in the other run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Branch {
    /// The thread's name.
    pub thread: String,
    /// Its first event that differs in the failing run; null if there is none.
    pub failing: Option<Event>,
    /// Its first event that differs in the alternate; null if there is none.
    pub alternate: Option<Event>,
    /// The place after which the paths part.
    pub after: Option<Place>,
}

impl Projection {
    pub(super) fn new(
        projection: &unravel_results::Projection,
        failing: &Trace,
        alternate: &Trace,
    ) -> Projection {
        let events = |trace: &Trace, indices: &[u32]| {
            indices.iter().filter_map(|index| event(trace, *index)).collect()
        };
        let flows = projection.flows.iter().map(|change| FlowChange {
            location: change.location.clone(),
            failing: change.failing.and_then(|f| flow(failing, f)),
            alternate: change.alternate.and_then(|f| flow(alternate, f)),
        });
        let branches = projection.branches.iter().map(|branch| Branch {
            thread: branch.thread.to_string(),
            failing: branch.failing.and_then(|e| event(failing, e)),
            alternate: branch.alternate.and_then(|e| event(alternate, e)),
            after: branch.after.as_ref().map(Place::from),
        });
        Projection {
            failing: events(failing, &projection.failing),
            alternate: events(alternate, &projection.alternate),
            all_flows: projection.all_flows,
            flows: flows.collect(),
            branches: branches.collect(),
        }
    }
}

fn flow(trace: &Trace, flow: unravel_results::Flow) -> Option<Flow> {
    Some(Flow { from: flow.from.and_then(|from| event(trace, from)), to: event(trace, flow.to)? })
}

fn event(trace: &Trace, index: u32) -> Option<Event> {
    let event = trace.events.get(index as usize)?;
    let (old, value) = match &event.kind {
        EventKind::Read { value, .. } | EventKind::Write { value, .. } => (None, Some(value)),
        EventKind::ReadModifyWrite { old, new, .. } => (Some(old), Some(new)),
        _ => (None, None),
    };
    let location = event.kind.location().and_then(|at| trace.locations.get(at.0 as usize));
    Some(Event {
        index,
        thread: trace.thread_name(event.thread).to_string(),
        verb: event.kind.verb().to_owned(),
        text: words::phrase(trace, event).text(),
        location: location.map(|location| location.name.clone()),
        value: value.map(|value| text(value, location)),
        old_value: old.map(|value| text(value, location)),
        place: words::place(trace, event).map(Place::from),
        wrapped: wrapped(trace.site(event.site).map(|site| &site.place)),
    })
}

fn text(value: &Value, location: Option<&Location>) -> String {
    let number = |location: &&Location| {
        !matches!(location.shape, Shape::Boolean | Shape::Character | Shape::Pointer)
    };
    match value {
        Value::Bytes(bytes) if !bytes.is_empty() => {
            bytes.iter().fold("0x".to_owned(), |text, byte| text + &format!("{byte:02x}"))
        }
        value => location.filter(number).map_or_else(|| value.to_string(), |at| at.show(value)),
    }
}
