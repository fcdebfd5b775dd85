//! Parts of several documents: places, failures, runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unravel_trace::{self as trace, user_place};

use crate::FileNames;

/// A place in the source.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// The function as the programmer wrote its name; may be empty.
    pub function: String,
    /// As the compiler was given it; empty if unknown.
    pub file: String,
    /// From 1; 0 means that there is no debug information.
    pub line: u32,
    /// In bytes, from 1; 0 means unknown.
    pub column: u32,
}

impl From<&trace::Place> for Place {
    fn from(place: &trace::Place) -> Place {
        Place {
            function: place.function.to_string(),
            file: place.file.to_string(),
            line: place.line,
            column: place.column,
        }
    }
}

/// The innermost place, if it is a wrapper's.
pub(super) fn wrapped(innermost: Option<&trace::Place>) -> Option<Place> {
    innermost.filter(|place| place.wrapper).map(Place::from)
}

pub(super) fn places(places: &[trace::Place]) -> Vec<Place> {
    places.iter().map(Place::from).collect()
}

/// A failure: how the user's bug shows itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// The kind of failure. More may be added.
    #[schemars(extend("examples" = kinds()))]
    pub kind: String,
    /// One sentence without the place.
    pub message: String,
    /// The thread that failed.
    pub thread: String,
    /// What makes two failures the same bug, in words: `assertion at bank.c:31`.
    pub bug: String,
    /// Where it happened, in the user's own code if any of it is on the stack.
    pub at: Option<Place>,
    /// Where it happened, innermost first.
    pub stack: Vec<Place>,
    /// Other places that matter.
    pub related: Vec<Related>,
}

fn kinds() -> Vec<&'static str> {
    trace::FailureKind::ALL.iter().map(|kind| kind.name()).collect()
}

/// Another place that belongs to a failure: where memory was freed, who else is blocked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Related {
    /// What happened there.
    pub message: String,
    /// The place, in the user's own code if any of it is on the stack.
    pub at: Option<Place>,
    /// Innermost first.
    pub stack: Vec<Place>,
}

impl From<&trace::Failure> for Failure {
    fn from(failure: &trace::Failure) -> Failure {
        Failure::of(failure, &FileNames::of_bugs([&failure.id()]))
    }
}

impl Failure {
    /// A failure among others, from whose files `names` tells its own.
    pub(super) fn of(failure: &trace::Failure, names: &FileNames) -> Failure {
        let related = failure.related.iter().map(|related| Related {
            message: related.message.clone(),
            at: user_place(&related.stack).map(Place::from),
            stack: places(&related.stack),
        });
        Failure {
            kind: failure.kind.name().to_owned(),
            message: failure.message.clone(),
            thread: failure.thread.to_string(),
            bug: names.bug(&failure.id()),
            at: failure.place().map(Place::from),
            stack: places(&failure.stack),
            related: related.collect(),
        }
    }
}

/// How a run ended: an end of its own kind, or a failure, whose `kind` is the kind of failure.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Outcome {
    /// No failure.
    End(End),
    /// The user's bug.
    Failed(Failure),
}

/// An end that is no failure.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum End {
    /// The program ended by itself.
    Exited {
        /// Its exit code.
        code: i32,
    },
    /// The run left what the program assumes; it says nothing.
    Discarded,
    /// The program could not be followed to its end.
    Inconclusive {
        /// Why.
        reason: String,
        /// Where.
        at: Option<Place>,
    },
}

impl From<&trace::Outcome> for Outcome {
    fn from(outcome: &trace::Outcome) -> Outcome {
        Outcome::End(match outcome {
            trace::Outcome::Exited { code } => End::Exited { code: *code },
            trace::Outcome::Discarded => End::Discarded,
            trace::Outcome::Inconclusive { reason, at } => {
                End::Inconclusive { reason: reason.clone(), at: at.as_ref().map(Place::from) }
            }
            trace::Outcome::Failed(failure) => return Outcome::Failed((&**failure).into()),
        })
    }
}

/// One run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// How it ended.
    pub outcome: Outcome,
    /// Its threads, named by birth: `T0` is the main thread, `T0.3` its third child.
    pub threads: Vec<String>,
    /// How many events it has.
    pub events: u64,
    /// Which thread ran when.
    pub schedule: Vec<Segment>,
}

impl From<&unravel_results::Observed> for Run {
    fn from(run: &unravel_results::Observed) -> Run {
        Run {
            outcome: (&run.outcome).into(),
            threads: run.trace.threads.iter().map(ToString::to_string).collect(),
            events: run.trace.events.len() as u64,
            schedule: segments(&run.schedule),
        }
    }
}

/// Consecutive events of one thread.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Segment {
    /// The thread's name.
    pub thread: String,
    /// How many of its events.
    pub events: u32,
}

pub(super) fn segments(schedule: &trace::Schedule) -> Vec<Segment> {
    let name = |thread: u32| schedule.threads.get(thread as usize).map(ToString::to_string);
    let segment = |segment: &trace::Segment| Segment {
        thread: name(segment.thread).unwrap_or_else(|| "?".to_owned()),
        events: segment.events,
    };
    schedule.segments.iter().map(segment).collect()
}
