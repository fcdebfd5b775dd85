//! `unravel.hunt/1`: failures that never happened, exposed from runs that passed, and what was searched for them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unravel_results as results;
use unravel_results::replay_command;

use super::diagnosis::{Alternate, DiagnosisDocument};
use super::explanation::milliseconds;
use super::run::{Failure, Place, Run};
use super::{HUNT, MEMORY_MODEL};
use crate::{FileNames, file_names, hunts, inputs};

/// Failures exposed from runs that passed, and what was searched for them. Within version 1 fields are added, never
/// changed or removed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Hunt", title = "unravel.hunt/1")]
pub struct HuntDocument {
    /// Name and version of this format.
    #[schemars(extend("const" = HUNT))]
    pub schema: String,
    /// The program's name, without directory and ending.
    pub program: String,
    /// The command that does it again.
    pub command: String,
    /// What the executions assume of memory.
    pub memory_model: String,
    /// What came of it.
    pub verdict: HuntVerdict,
    /// The same in one sentence.
    pub headline: String,
    /// The runs that the hunt started from.
    pub runs: HuntRuns,
    /// How far it looked.
    pub bounds: HuntBounds,
    /// In the order they were found; those that runs showed by themselves first.
    pub exposed: Vec<ExposedFailure>,
    /// How it ended.
    pub end: HuntEnd,
    /// What it took.
    pub effort: HuntEffort,
    /// The first attempts, one by one.
    pub journal: Vec<HuntAttempt>,
    /// What the reader should know besides.
    pub notes: Vec<String>,
    /// How long it took, to the millisecond.
    pub seconds: f64,
}

/// What came of a hunt.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HuntVerdict {
    /// Something fails.
    Found,
    /// Nothing fails, and everything within the bounds was asked and answered.
    Exhausted,
    /// Nothing was exposed, and something is left; `end` says what.
    Open,
    /// No run passed: there was nothing to start from.
    Inconclusive,
}

/// The runs that a hunt starts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HuntRuns {
    pub executed: u64,
    pub passing: u64,
    /// They failed by themselves, and are put aside.
    pub failing: u64,
    /// They left an assumption, or could not be followed to their end.
    pub unusable: u64,
    /// Different combinations of what threads did, those from the database included.
    pub distinct: u64,
    /// Of these, known from before.
    pub known_before: u64,
}

/// How far a hunt looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HuntBounds {
    /// D: branches nearest to an assertion that are flipped.
    pub depth: u32,
    /// N: traces that are tried for one flipped branch.
    pub traces: u32,
    /// Branches flipped at once.
    pub flips: u32,
}

/// A failure that was executed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ExposedFailure {
    pub failure: Failure,
    pub how: ExposedHow,
    /// Branches that go another way than in the run it was derived from.
    pub flips: Vec<HuntFlip>,
    /// Inputs that it needs.
    pub inputs: Vec<NeededInput>,
    /// The number of the attempt that found it; 0 if a run failed by itself.
    pub attempt: u64,
    /// D and N that would have been enough.
    pub depth: u32,
    pub traces: u32,
    /// Branches that were flipped to get there.
    pub flipped: u64,
    /// Traces that were made to get there.
    pub synthesised: u64,
    /// Visible events of the failing run.
    pub events: u64,
    /// Whether it was executed again, and failed so again.
    pub executed_again: bool,
    /// The run that passed, which this one was derived from; null if it failed by itself.
    pub derived: Option<DerivedFrom>,
    /// Why it fails; null if that is not known.
    pub diagnosis: Option<DiagnosisDocument>,
    /// Why there is no diagnosis; null if there is one or none was asked for.
    pub undiagnosed: Option<String>,
    /// The trace file with the schedule that fails; null if none was written.
    pub trace: Option<String>,
    /// The command that makes the failure happen again; null without a trace file.
    pub replay: Option<String>,
    /// From the first question to the failure, to the millisecond.
    pub seconds: f64,
}

/// How a failure came about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExposedHow {
    /// One of the runs at the start failed.
    ByItself,
    /// What the threads of some run did, in another order.
    BySchedule,
    /// Some thread took another path.
    ByPath,
}

/// What goes another way.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HuntFlip {
    /// The thread's name.
    pub thread: String,
    pub place: Place,
    pub kind: HuntFlipKind,
}

/// What it is that goes another way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HuntFlipKind {
    /// A branch.
    Branch,
    /// The answer of a trylock, or who is first to initialise.
    Answer,
    /// An address, or what a library function is given.
    Value,
}

/// One value of an input.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NeededInput {
    /// Which input, in words.
    pub what: String,
    /// Decimal, as text, because not every program reads 64-bit numbers.
    pub value: String,
}

/// The run that a failure was derived from, and what differs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DerivedFrom {
    /// The failing run that the projection refers to.
    pub failing: Run,
    /// The run that passed, and the differential path-schedule projection.
    pub passing: Alternate,
}

/// How a hunt ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HuntEnd {
    pub kind: HuntEndKind,
    /// Why the search is not exhausted; empty if it is, or if it ended with a failure.
    pub why: Vec<String>,
    /// Flips that were left when it had to stop.
    pub left: u64,
}

/// How a hunt ended, in a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HuntEndKind {
    /// With the first failure, as it was asked to.
    Found,
    /// Nothing is left to ask within the bounds; every question was answered.
    Exhausted,
    /// Nothing is left to ask, but some answers are missing.
    Incomplete,
    /// It had to stop first.
    Stopped,
}

/// What a hunt did.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HuntEffort {
    /// Executions that were synthesised and asked about.
    pub attempts: u64,
    /// Observed combinations that were asked about first.
    pub observed: u64,
    /// Single questions to the solver.
    pub queries: u64,
    /// Ways to fail, and branches, that data flow alone rules out.
    pub ruled_out: u64,
    /// Combinations that had been asked about already.
    pub redundant: u64,
    /// Traces of flipped branches that the database had.
    pub from_database: u64,
    /// Traces that were made.
    pub synthesised: u64,
    /// Questions without an answer.
    pub unknown: u64,
    /// Orders that the solver promised.
    pub promised: u64,
    /// Of these, what execution refused.
    pub refused: Vec<RefusedPromise>,
    /// Executions of the program, the runs at the start included.
    pub executions: u64,
    /// Times that the hunt began anew because more memory was shared than was known.
    pub renewals: u64,
}

/// Promises that execution did not keep.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RefusedPromise {
    pub reason: String,
    pub count: u64,
}

/// One attempt.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HuntAttempt {
    pub number: u64,
    /// What goes another way than in the run it was derived from.
    pub flips: Vec<HuntFlip>,
    pub traces: HuntTraces,
    /// What came of it, in words.
    pub result: String,
}

/// Where the trace of a thread came from that goes another way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HuntTraces {
    /// Some run did that already.
    Database,
    /// An order was asked for in which the branch turns, and executed.
    Execution,
    /// Guided symbolic execution.
    Symbolic,
}

impl From<&results::Hunt> for HuntDocument {
    fn from(hunt: &results::Hunt) -> HuntDocument {
        let results::RunsSeen { executed, passing, failing, unusable, distinct, known_before } =
            hunt.runs;
        let results::HuntBounds { depth, traces, flips } = hunt.bounds;
        let names = file_names::of_hunt(hunt);
        HuntDocument {
            schema: HUNT.to_owned(),
            program: hunt.program.clone(),
            command: hunt.command.clone(),
            memory_model: MEMORY_MODEL.to_owned(),
            verdict: match hunts::weight(hunt) {
                hunts::Weight::Found => HuntVerdict::Found,
                hunts::Weight::Exhausted => HuntVerdict::Exhausted,
                hunts::Weight::Open => HuntVerdict::Open,
                hunts::Weight::Inconclusive => HuntVerdict::Inconclusive,
            },
            headline: hunts::headline(hunt),
            runs: HuntRuns { executed, passing, failing, unusable, distinct, known_before },
            bounds: HuntBounds { depth, traces, flips },
            exposed: hunt
                .exposed
                .iter()
                .map(|exposed| ExposedFailure::of(exposed, &names))
                .collect(),
            end: (&hunt.end).into(),
            effort: (&hunt.effort).into(),
            journal: hunt.journal.iter().map(HuntAttempt::from).collect(),
            notes: hunt.notes.clone(),
            seconds: milliseconds(hunt.time),
        }
    }
}

impl ExposedFailure {
    fn of(exposed: &results::Exposed, names: &FileNames) -> ExposedFailure {
        let derived = exposed.derived.as_deref().map(|derived| DerivedFrom {
            failing: (&derived.failing).into(),
            passing: Alternate::new(&derived.passing, &derived.failing),
        });
        ExposedFailure {
            failure: Failure::of(&exposed.failure, names),
            how: match exposed.how {
                results::How::ByItself => ExposedHow::ByItself,
                results::How::BySchedule => ExposedHow::BySchedule,
                results::How::ByPath => ExposedHow::ByPath,
            },
            flips: exposed.flips.iter().map(HuntFlip::from).collect(),
            inputs: exposed.inputs.iter().map(NeededInput::from).collect(),
            attempt: exposed.attempt,
            depth: exposed.depth,
            traces: exposed.traces,
            flipped: exposed.flipped,
            synthesised: exposed.synthesised,
            events: exposed.events,
            executed_again: hunts::failed_again(exposed),
            derived,
            diagnosis: exposed.diagnosis.as_deref().map(|d| DiagnosisDocument::of(d, names)),
            undiagnosed: exposed.undiagnosed.clone(),
            trace: exposed.trace.clone(),
            replay: exposed.trace.as_deref().map(replay_command),
            seconds: milliseconds(exposed.time),
        }
    }
}

impl From<&results::InputValue> for NeededInput {
    fn from(input: &results::InputValue) -> NeededInput {
        NeededInput { what: inputs::source(&input.source), value: input.value.to_string() }
    }
}

impl From<&results::Flip> for HuntFlip {
    fn from(flip: &results::Flip) -> HuntFlip {
        HuntFlip {
            thread: flip.thread.to_string(),
            place: (&flip.place).into(),
            kind: match flip.kind {
                results::FlipKind::Branch => HuntFlipKind::Branch,
                results::FlipKind::Answer => HuntFlipKind::Answer,
                results::FlipKind::Value => HuntFlipKind::Value,
            },
        }
    }
}

impl From<&results::HuntEnd> for HuntEnd {
    fn from(end: &results::HuntEnd) -> HuntEnd {
        let (kind, why, left) = match end {
            results::HuntEnd::Found => (HuntEndKind::Found, vec![], 0),
            results::HuntEnd::Exhausted => (HuntEndKind::Exhausted, vec![], 0),
            results::HuntEnd::Incomplete { why } => {
                (HuntEndKind::Incomplete, why.iter().map(hunts::gap).collect(), 0)
            }
            results::HuntEnd::Stopped { why, left } => {
                (HuntEndKind::Stopped, vec![hunts::stop(*why).to_owned()], *left)
            }
        };
        HuntEnd { kind, why, left }
    }
}

impl From<&results::HuntEffort> for HuntEffort {
    fn from(effort: &results::HuntEffort) -> HuntEffort {
        let refused = effort
            .refused
            .iter()
            .map(|refused| RefusedPromise { reason: refused.reason.clone(), count: refused.count });
        HuntEffort {
            attempts: effort.attempts,
            observed: effort.observed,
            queries: effort.queries,
            ruled_out: effort.ruled_out,
            redundant: effort.redundant,
            from_database: effort.from_database,
            synthesised: effort.synthesised,
            unknown: effort.unknown,
            promised: effort.promised,
            refused: refused.collect(),
            executions: effort.executions,
            renewals: effort.renewals,
        }
    }
}

impl From<&results::Attempt> for HuntAttempt {
    fn from(attempt: &results::Attempt) -> HuntAttempt {
        HuntAttempt {
            number: attempt.number,
            flips: attempt.flips.iter().map(HuntFlip::from).collect(),
            traces: match attempt.traces {
                results::TraceSource::Database => HuntTraces::Database,
                results::TraceSource::Execution => HuntTraces::Execution,
                results::TraceSource::Symbolic => HuntTraces::Symbolic,
            },
            result: hunts::result(attempt.result).to_owned(),
        }
    }
}
