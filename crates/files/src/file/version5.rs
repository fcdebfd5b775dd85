//! Trace files of format 5, which are read and converted.
//!
//! Here stand only the types that are others in format 6 (see [`super::version6`] for the next step), as they were, under their own names. All others are those of
//! today. A body has no names and no types in it, only values in the order of the fields: so where a stored type changes,
//! the type as it was has to stand here, and every type that contains it, up to [`TraceFile`]; each with a `From` that
//! takes all fields apart, so that the compiler says which are missing. The test `a_file_of_format_5_is_read` has a file
//! that an unravel of that time wrote.

use serde::Deserialize;
use unravel_trace::{
    Event, Location, Note, Object, Outcome, Place, Rules, Schedule, SiteId, Symbolic, ThreadName,
    VisibleSet,
};

use super::version6::Input;
use crate::ProgramRef;

#[derive(Deserialize)]
pub(super) struct TraceFile {
    program: ProgramRef,
    input: Input,
    rules: Rules,
    strategy: String,
    seed: Option<u64>,
    run: Run,
}

#[derive(Deserialize)]
struct Trace {
    threads: Vec<ThreadName>,
    events: Vec<Event>,
    objects: Vec<Object>,
    locations: Vec<Location>,
    sites: Vec<(SiteId, Site)>,
}

#[derive(Deserialize)]
struct Site {
    place: Place,
    inlined_at: Vec<Place>,
}

#[derive(Deserialize)]
struct Run {
    trace: Trace,
    schedule: Schedule,
    outcome: Outcome,
    steps: u64,
    learned: VisibleSet,
    nondet: Vec<u64>,
    /// The texts themselves.
    notes: Vec<String>,
    symbolic: Option<Box<Symbolic>>,
}

impl From<TraceFile> for crate::TraceFile {
    fn from(old: TraceFile) -> crate::TraceFile {
        let TraceFile { program, input, rules, strategy, seed, run } = old;
        // There was no other engine then; an imported run was executed by none.
        let engine = match strategy.starts_with("import:") {
            true => String::new(),
            false => "machine".to_owned(),
        };
        let (input, run) = (input.into(), run.into());
        crate::TraceFile { program, input, rules, strategy, seed, engine, run }
    }
}

impl From<Run> for unravel_trace::Run {
    fn from(old: Run) -> unravel_trace::Run {
        let Run { trace, schedule, outcome, steps, learned, nondet, notes, symbolic } = old;
        let notes = notes.into_iter().map(note).collect();
        unravel_trace::Run {
            trace: trace.into(),
            schedule,
            outcome,
            steps,
            learned,
            nondet,
            notes,
            symbolic,
            ..unravel_trace::Run::default()
        }
    }
}

impl From<Trace> for unravel_trace::Trace {
    fn from(old: Trace) -> unravel_trace::Trace {
        let Trace { threads, events, objects, locations, sites } = old;
        let sites = sites.into_iter().map(|(id, site)| (id, site.into())).collect();
        unravel_trace::Trace { threads, events, objects, locations, sites }
    }
}

impl From<Site> for unravel_trace::Site {
    fn from(Site { place, inlined_at }: Site) -> unravel_trace::Site {
        unravel_trace::Site { place, inlined_at, key: None }
    }
}

/// The note that a text of then was. These texts are part of the format: they never change.
fn note(text: String) -> Note {
    match text.as_str() {
        "signals from outside are ignored" => Note::SignalsIgnored,
        "asynchronous cancellation is treated as deferred" => Note::CancellationDeferred,
        "a thread stopped in an endless loop that looks at nothing; such runs are discarded" => {
            Note::EndlessLoop
        }
        "a thread that changed nothing for long was held back until others changed something" => {
            Note::HeldBack
        }
        _ => Note::Other(text),
    }
}
