//! What each thread of the failing run is about to do after each step that is shown, or what it waits for.

use unravel_trace::{ThreadId, Trace};

use super::shown::steps;
use super::strings::Strings;
use super::timeline::Timeline;
use crate::stepper::history::History;
use crate::stepper::threads::{Stage, Waits};
use crate::words;

/// A list a step, with the number of a text for each thread that matters.
pub fn stages(timeline: &Timeline<'_>, history: &History<'_>) -> (Strings, Vec<Vec<u32>>) {
    let mut texts = Strings::default();
    let lanes = &timeline.threads[..timeline.involved];
    let ids = lanes.iter().map(|name| history.trace.threads.iter().position(|n| n == name));
    let ids: Vec<Option<usize>> = ids.collect();
    let mut at_step = |position: usize| {
        let text = |id: &Option<usize>| match id {
            Some(id) => stage(timeline, history, ThreadId(*id as u32), position),
            None => String::new(),
        };
        ids.iter().map(|id| texts.number(&text(id))).collect()
    };
    let all = steps(&timeline.failing).map(|step| at_step(step.event as usize + 1)).collect();
    (texts, all)
}

fn stage(
    timeline: &Timeline<'_>,
    history: &History<'_>,
    thread: ThreadId,
    position: usize,
) -> String {
    let trace = history.trace;
    let outcome = &timeline.diagnosis.failing.outcome;
    let before = |label: String, text: &str| match label.is_empty() {
        true => text.to_owned(),
        false => format!("{label}: {text}"),
    };
    match history.stage(thread, position, outcome) {
        Stage::NotCreated => "not created yet".to_owned(),
        Stage::Before { event, waits } => {
            let event = history.event(event);
            let label =
                words::place(trace, event).map_or(String::new(), |p| timeline.names.label(p));
            let phrase = words::phrase(trace, event);
            let does = || format!("{} {}", phrase.verb, phrase.name);
            before(label, &waits.map_or_else(does, |waits| waits_for(trace, &waits)))
        }
        Stage::Over { at, says } => {
            let label = at.map_or(String::new(), |place| timeline.names.label(&place));
            // What the failure says of a thread is true at the end only.
            let says = says.filter(|_| position == history.len());
            before(label, says.as_deref().unwrap_or("goes no further"))
        }
        Stage::Ended { .. } => "ended".to_owned(),
    }
}

fn waits_for(trace: &Trace, waits: &Waits) -> String {
    let thread = |id: ThreadId| trace.thread_name(id).to_string();
    match waits {
        Waits::Lock { at, by } => {
            let by: Vec<String> = by.iter().map(|id| thread(*id)).collect();
            format!("waits for {}, held by {}", trace.location(*at).name, by.join(", "))
        }
        Waits::Signal { at } => format!("waits for a signal of {}", trace.location(*at).name),
        Waits::Semaphore { at } | Waits::Barrier { at } | Waits::Once { at, .. } => {
            format!("waits for {}", trace.location(*at).name)
        }
        Waits::End { of } => format!("waits for {} to end", thread(*of)),
    }
}
