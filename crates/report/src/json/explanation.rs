//! `unravel.explanation/1`: what a search explored, the bugs it found, why they happen, and what repairs them.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unravel_results as results;
use unravel_results::Verdict;
use unravel_trace as trace;

use super::causes::{CauseClass, CausesDocument};
use super::diagnosis::DiagnosisDocument;
use super::repairs::Repair;
use super::run::Failure;
use super::{EXPLANATION, MEMORY_MODEL};
use crate::summary::summary;
use crate::{FileNames, file_names, notes};

/// What a search explored, the bugs it found, why they happen, and what repairs them. Within version 1 fields are added,
/// never changed or removed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Explanation", title = "unravel.explanation/1")]
pub struct ExplanationDocument {
    /// Name and version of this format.
    #[schemars(extend("const" = EXPLANATION))]
    pub schema: String,
    /// The program's name, without directory and ending.
    pub program: String,
    /// The command that makes this explanation again.
    pub command: String,
    /// What the executions assume of memory.
    pub memory_model: String,
    /// How far the search came.
    pub explored: Explored,
    /// Distinct bugs, in the order in which the search met them.
    pub bugs: Vec<Bug>,
    /// All causes of the program's failures; null: not looked for.
    pub causes: Option<CausesDocument>,
    /// Patches against all causes that stood every check, the best first; null: not looked for.
    pub repairs: Option<Vec<Repair>>,
    /// What `unravel.toml` puts aside, seen or not.
    pub put_aside: Vec<PutAside>,
    /// What the reader should know besides.
    pub notes: Vec<String>,
}

/// How far a search came, and why it ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Explored {
    /// How schedules were made.
    pub strategy: String,
    /// What its random choices start from.
    pub seed: u64,
    /// Schedules executed.
    pub schedules: u64,
    /// How long that took, to the millisecond.
    pub seconds: f64,
    /// Why the search ended. More may be added.
    #[schemars(extend("examples" = [
        "found", "exhausted", "schedules", "one schedule", "all inconclusive", "time", "interrupted"
    ]))]
    pub stopped: String,
    /// Schedules that could not be followed to their end: they say nothing.
    pub inconclusive: u64,
    /// Why the first of them could not; null if there is none.
    pub reason: Option<String>,
    /// Schedules that left what the program assumes: they say nothing.
    pub discarded: u64,
    /// Schedules that failed, without those that failed with a bug that is put aside.
    pub failed: u64,
    /// Schedules that ended with an exit code other than 0, unless that counts as a failure.
    pub nonzero_exits: u64,
    /// The first such code.
    pub exit_code: Option<i32>,
    /// Threads of the run that had most.
    pub most_threads: u64,
    /// Events of the run that had most.
    pub most_events: u64,
    /// Instructions executed in all runs.
    pub steps: u64,
    /// Whether some run asked for a nondeterministic value.
    pub nondeterministic: bool,
    /// Classes of schedules seen: those that differ only in the order of independent events are one.
    pub classes: u64,
    /// Pairs of a write and a read that took its value, by their places.
    pub reads_from: u64,
    /// How many of the last `recent_schedules` were of a class not seen before.
    pub recent_classes: u64,
    /// The schedules that `recent_classes` is about.
    pub recent_schedules: u64,
    /// What the reader should know of the search.
    pub notes: Vec<String>,
}

/// One bug: a failure that was executed, and what is known of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Bug {
    /// What makes two failures the same bug, in words: `assertion at bank.c:31`.
    pub bug: String,
    /// The kind of failure. More may be added.
    pub kind: String,
    /// Where, as `file:line`; more than one for a deadlock, none if unknown. The file has as many folders as tell it from
    /// those of the other bugs.
    pub places: Vec<String>,
    /// The failure of the first run that failed so.
    pub failure: Failure,
    /// How the search met it.
    pub found: Found,
    /// What it needs of the environment besides an order, which an ordinary system hardly ever does.
    #[serde(default)]
    pub deviations: Vec<NeededDeviation>,
    /// The trace file with the schedule that fails, as a path from where the command ran.
    pub trace: String,
    /// The command that makes the failure happen again.
    pub replay: String,
    /// The root cause in one or two sentences, as every report has them; null if it is not known.
    #[serde(default)]
    pub summary: Option<String>,
    /// Why it happens; null if that is not known, which `undiagnosed` explains.
    pub diagnosis: Option<DiagnosisDocument>,
    /// Why there is no diagnosis; null if there is one.
    pub undiagnosed: Option<String>,
    /// Another bug that has the same cause and tells it, as its index in `bugs`; else null.
    pub same_cause_as: Option<u64>,
    /// If that was found by keeping what should hold there: this failure goes away, too. Else null.
    #[serde(default)]
    pub vanished: Option<Vanished>,
    /// What a `[[suppress]]` section of `unravel.toml` has to say to put this bug aside; null if it has no site.
    pub suppress: Option<Suppress>,
    /// Those of the explanation's `causes.classes` that lead to this bug; null: not looked for.
    pub causes: Option<Vec<CauseClass>>,
    /// Those of the explanation's `repairs` that make this bug impossible, as their indices; null: not looked for.
    pub repairs: Option<Vec<u64>>,
}

/// A failure that goes away if what keeps another one away is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Vanished {
    /// Schedules that were tried so; none failed as it did.
    pub tried: u64,
    /// Of the same schedules without.
    pub failed_without: u64,
}

/// How the search met a bug.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// The number of the first schedule that failed so, from 1.
    pub schedule: u64,
    /// How many schedules of the search failed so.
    pub times: u64,
    /// Whether it failed again when replayed.
    pub replayed: bool,
    /// Threads of that run.
    pub threads: u64,
    /// Events of that run.
    pub events: u64,
    /// Context switches of that run.
    pub context_switches: u64,
}

/// A deviation of the environment from what an ordinary system does.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NeededDeviation {
    /// Which. More may be added.
    #[schemars(extend("examples" = [
        "stall", "early-timeout", "spurious-wakeup", "weak-cas", "try-lock", "malloc"
    ]))]
    pub kind: String,
    /// Whose sleep, wait or attempt it is.
    pub thread: String,
    /// Where, as `file:line`; null if unknown.
    pub at: Option<String>,
}

/// What to write into `unravel.toml` to put a bug aside, beside the reason.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Suppress {
    /// The kind of failure.
    pub kind: String,
    /// `file:line`.
    pub site: String,
}

/// A known bug, put aside in `unravel.toml`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PutAside {
    /// The kind of failure.
    pub kind: String,
    /// `file:line` or a file, as written; a bug at any of them is put aside.
    pub sites: Vec<String>,
    /// Why, as the file says.
    pub reason: String,
    /// How many schedules failed so; 0: not seen in this search.
    pub times: u64,
}

impl From<&results::Explanation> for ExplanationDocument {
    fn from(explanation: &results::Explanation) -> ExplanationDocument {
        let put_aside = explanation.put_aside.iter().map(|known| PutAside {
            kind: known.bug.kind.name().to_owned(),
            sites: vec![known.bug.site.to_string()],
            reason: known.reason.clone(),
            times: known.times,
        });
        let repairs = explanation.repairs.as_deref();
        let names = file_names::of_explanation(explanation);
        ExplanationDocument {
            schema: EXPLANATION.to_owned(),
            program: explanation.program.clone(),
            command: explanation.command.clone(),
            memory_model: MEMORY_MODEL.to_owned(),
            explored: (&explanation.explored).into(),
            bugs: explanation.bugs.iter().map(|bug| Bug::of(bug, repairs, &names)).collect(),
            causes: repairs.map(|repairs| (&repairs.causes).into()),
            repairs: repairs.map(|known| known.repairs.iter().map(Repair::from).collect()),
            put_aside: put_aside.collect(),
            notes: explanation.notes.clone(),
        }
    }
}

/// Seconds to the millisecond: more digits would mean nothing, and not every reader keeps them.
pub(super) fn milliseconds(elapsed: Duration) -> f64 {
    (elapsed.as_secs_f64() * 1000.0).round() / 1000.0
}

impl From<&results::Explored> for Explored {
    fn from(explored: &results::Explored) -> Explored {
        let tally = &explored.tally;
        Explored {
            strategy: explored.strategy.clone(),
            seed: explored.seed,
            schedules: tally.schedules,
            seconds: milliseconds(explored.elapsed),
            stopped: explored.stopped.name().to_owned(),
            inconclusive: tally.inconclusive,
            reason: tally.reason.as_ref().map(ToString::to_string),
            discarded: tally.discarded,
            failed: tally.failed.iter().map(|(_, runs)| runs).sum(),
            nonzero_exits: tally.nonzero_exits,
            exit_code: tally.exit_code,
            most_threads: tally.most_threads,
            most_events: tally.most_events,
            steps: tally.steps,
            nondeterministic: tally.nondet,
            classes: explored.covered.classes,
            reads_from: explored.covered.reads_from,
            recent_classes: explored.covered.recent_classes,
            recent_schedules: explored.covered.recent_schedules,
            notes: notes::notes(&tally.notes),
        }
    }
}

impl Bug {
    fn of(
        bug: &results::ExplainedBug,
        repairs: Option<&results::Repairs>,
        names: &FileNames,
    ) -> Bug {
        let (diagnosis, undiagnosed) = match &bug.verdict {
            Verdict::Diagnosed(diagnosis) => (Some(DiagnosisDocument::of(diagnosis, names)), None),
            Verdict::Undiagnosed { reason } => (None, Some(reason.clone())),
        };
        let kind = bug.id.kind.name();
        let places: Vec<String> = bug.id.places.iter().map(|place| names.line(place)).collect();
        Bug {
            bug: names.bug(&bug.id),
            kind: kind.to_owned(),
            failure: Failure::of(&bug.failure, names),
            found: (&bug.found).into(),
            deviations: bug
                .needs
                .iter()
                .map(|needed| NeededDeviation {
                    kind: needed.kind.name().to_owned(),
                    thread: needed.thread.to_string(),
                    at: needed.place.as_ref().map(|place| names.line(&place.into())),
                })
                .collect(),
            trace: bug.trace.clone(),
            replay: bug.replay.clone(),
            summary: bug.verdict.diagnosis().and_then(summary),
            diagnosis,
            undiagnosed,
            same_cause_as: bug.same_cause_as.map(|number| number as u64),
            vanished: bug.vanished.map(|results::Vanished { tried, failed_without }| Vanished {
                tried,
                failed_without,
            }),
            suppress: places
                .first()
                .map(|site| Suppress { kind: kind.to_owned(), site: site.clone() }),
            places,
            causes: repairs.map(|known| leading_to(&bug.id, &known.causes)),
            // Nothing fails in a repaired program, so each repair is one of every bug.
            repairs: repairs.map(|known| (0..known.repairs.len() as u64).collect()),
        }
    }
}

/// The classes of causes that lead to a bug.
fn leading_to(bug: &trace::BugId, causes: &results::Causes) -> Vec<CauseClass> {
    let leads = |class: &&results::CauseClass| {
        class.bugs.iter().any(|index| causes.bugs.get(*index).is_some_and(|met| met.id == *bug))
    };
    causes.classes.iter().filter(leads).map(|class| CauseClass::of(class, causes)).collect()
}

impl From<&results::Found> for Found {
    fn from(found: &results::Found) -> Found {
        Found {
            schedule: found.schedule,
            times: found.times,
            replayed: found.replayed,
            threads: found.threads,
            events: found.events,
            context_switches: found.switches,
        }
    }
}
