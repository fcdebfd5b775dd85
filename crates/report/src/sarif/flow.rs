//! Runs as code flows: a thread flow a thread, steps numbered across threads in the order in which they happened.
//!
//! Steps are the events that the other reports show too; at most [`MOST_STEPS`] of a run, nearest to the root cause.

use std::collections::BTreeMap;

use unravel_results::Diagnosis;
use unravel_trace::{EventKind, Failure, FailureKind, Place, ThreadName};

use super::log::{CodeFlow, Message, ThreadFlow, ThreadFlowLocation};
use super::place::Places;
use super::{Dictionary, message};
use crate::escape::visible;
use crate::side::{self, Item, Side, Step};
use crate::words;

/// Steps of one run; viewers list them all.
const MOST_STEPS: usize = 200;

/// The failing run, then the nearest passing one if there is one.
pub fn code_flows(diagnosis: &Diagnosis, places: &mut Places<'_>) -> Vec<CodeFlow> {
    let nearest = diagnosis.alternates.first();
    let side = side::failing(
        diagnosis,
        nearest.map(|a| &a.projection),
        side::Extent::Projection(MOST_STEPS),
    );
    let mut failing = Flow::default();
    failing.events(&side, places);
    failing.waits(diagnosis, &side, places);
    failing.failure(&diagnosis.failure, &side, places);
    let mut flows = vec![failing.end(match nearest {
        Some(_) => "failing run: what differs from the nearest passing run, and how it ends",
        None => "failing run: what matters of it, and how it ends",
    })];
    if let Some(nearest) = nearest {
        let mut passing = Flow::default();
        passing.events(
            &side::alternate(diagnosis, nearest, side::Extent::Projection(MOST_STEPS)),
            places,
        );
        flows.push(passing.end("nearest passing run, for comparison: this one does not fail"));
    }
    flows.retain(|flow| !flow.thread_flows.is_empty());
    flows
}

#[derive(Default)]
struct Flow {
    steps: u64,
    threads: BTreeMap<ThreadName, Vec<ThreadFlowLocation>>,
}

impl Flow {
    fn step(
        &mut self,
        thread: &ThreadName,
        importance: &'static str,
        location: super::log::Location,
        state: Dictionary<Message>,
    ) {
        self.steps += 1;
        let step = ThreadFlowLocation { location, state, execution_order: self.steps, importance };
        self.threads.entry(thread.clone()).or_default().push(step);
    }

    fn events(&mut self, side: &Side<'_>, places: &mut Places<'_>) {
        let trace = &side.run.trace;
        for item in &side.items {
            let Item::Event(step) = item else { continue };
            let event = &trace.events[step.event as usize];
            let thread = trace.thread_name(event.thread);
            let mut text = format!("{thread}: {}", words::phrase(trace, event).text());
            if step.other_path {
                text += " (other path than in the other run)";
            }
            let location = places.location(words::place(trace, event), Some(&text));
            let value = match &event.kind {
                EventKind::Read { value, .. } | EventKind::Write { value, .. } => Some(value),
                EventKind::ReadModifyWrite { new, .. } => Some(new),
                _ => None,
            };
            let name = event.kind.location().and_then(|at| trace.locations.get(at.0 as usize));
            let state = name.zip(value).map(|(location, value)| {
                (visible(&location.name).into_owned(), message(&location.show(value)))
            });
            self.step(thread, importance(step), location, state.into_iter().collect());
        }
    }

    /// What threads wait for in vain: they got there, but the event never happened.
    fn waits(&mut self, diagnosis: &Diagnosis, side: &Side<'_>, places: &mut Places<'_>) {
        let orders = || diagnosis.root_cause.iter().flat_map(|cause| &cause.orders);
        for missing in side.missing.iter().filter(|missing| missing.why == words::WAITS) {
            let who = missing.who;
            let thread = &who.key.thread;
            let order = orders().find(|order| [&order.first, &order.second].contains(&who));
            let object = order.map_or("", |order| &order.object);
            let text = format!("{thread}: {} {object}: {}", who.verb, missing.why);
            let location = places.location(Some(&who.place), Some(&text));
            self.step(thread, "essential", location, Dictionary::new());
        }
    }

    /// The end of the failing run, unless it is that threads wait.
    fn failure(&mut self, failure: &Failure, side: &Side<'_>, places: &mut Places<'_>) {
        let stuck = matches!(failure.kind, FailureKind::Deadlock | FailureKind::Livelock);
        if stuck && side.missing.iter().any(|missing| missing.why == words::WAITS) {
            return;
        }
        let text = format!("{}: {}", failure.thread, words::failure(failure));
        let place: Option<&Place> = failure.place();
        let location = places.location(place, Some(&text));
        self.step(&failure.thread, "essential", location, Dictionary::new());
    }

    fn end(self, text: &str) -> CodeFlow {
        let flow =
            |(name, locations): (ThreadName, _)| ThreadFlow { id: name.to_string(), locations };
        CodeFlow {
            message: message(text),
            thread_flows: self.threads.into_iter().map(flow).collect(),
        }
    }
}

fn importance(step: &Step) -> &'static str {
    match (step.causal, step.projected) {
        (true, _) => "essential",
        (false, true) => "important",
        (false, false) => "unimportant",
    }
}
