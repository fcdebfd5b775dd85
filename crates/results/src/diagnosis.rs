//! What a diagnosis says. `diagnose` makes it, reports print it; nobody computes anything from it again.

use std::fmt;

use serde::{Deserialize, Serialize};
use unravel_trace::{
    Event, EventKey, Failure, Outcome, Place, Schedule, Shield, SourceLine, ThreadName, Trace, Verb,
};

use crate::Race;

/// The diagnosis of one failure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Diagnosis {
    pub program: String,
    pub failure: Failure,
    pub status: Status,
    /// The failing run that everything here refers to, with as few context switches as we found.
    pub failing: Observed,
    /// Context switches of the run that was given.
    pub switches_given: usize,
    pub root_cause: Option<RootCause>,
    /// What races, if the failure is a race. Then there is no passing run beside it: no order is its cause.
    pub race: Option<Race>,
    /// Nearest first.
    pub alternates: Vec<Alternate>,
    pub effort: Effort,
    /// What the reader should know: bounds that were reached, what was not followed.
    pub notes: Vec<String>,
    /// What came of checking the proofs, if that was asked for.
    pub certified: Option<Certified>,
}

/// How far a diagnosis may be trusted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Status {
    /// The failing schedule failed and the alternate passed, in execution. A race: both accesses were executed, unordered.
    Confirmed,
    /// By the model of the trace only: it cannot be executed.
    Modelled,
    Inconclusive {
        reason: String,
    },
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::Confirmed => f.write_str("confirmed by execution"),
            Status::Modelled => f.write_str("modelled (the trace cannot be executed)"),
            Status::Inconclusive { reason } => write!(f, "inconclusive because {reason}"),
        }
    }
}

/// One run, as it was executed (or, for an imported trace, as the model says it would be).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Observed {
    pub trace: Trace,
    pub schedule: Schedule,
    pub outcome: Outcome,
}

/// A minimal set of orders that every passing run we know of breaks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RootCause {
    pub orders: Vec<CausalOrder>,
    pub pattern: Pattern,
    /// What happened, in one sentence.
    pub sentence: String,
    /// What should hold instead: a region that should be atomic, an order that should be kept.
    pub advice: String,
    /// The places that a repair has to keep together or in order.
    pub region: Vec<Place>,
    /// Why the pattern is said; `None` if it is only the form of the orders.
    pub evidence: Option<Evidence>,
    /// Schedules that kept all orders; every one of them failed.
    pub kept_and_failed: u64,
    /// Whether a solver proved that no schedule on the recorded path keeps all orders and passes.
    pub proved_on_path: bool,
}

impl RootCause {
    /// Nothing yet.
    pub fn unsaid() -> RootCause {
        RootCause {
            orders: Vec::new(),
            pattern: Pattern::Compound,
            sentence: String::new(),
            advice: String::new(),
            region: Vec::new(),
            evidence: None,
            kept_and_failed: 0,
            proved_on_path: false,
        }
    }
}

/// `first` before `second`, in the failing run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CausalOrder {
    pub first: Participant,
    pub second: Participant,
    /// What both touch, as the programmer wrote it.
    pub object: String,
    /// A run that keeps the other orders, reverses this one, and passes.
    pub witness: Option<Schedule>,
}

impl CausalOrder {
    /// The lines it is between: orders between the same lines are one for a reader.
    pub fn lines(&self) -> (SourceLine, SourceLine) {
        ((&self.first.place).into(), (&self.second.place).into())
    }
}

/// An event of the root cause.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Participant {
    pub key: EventKey,
    pub place: Place,
    pub verb: Verb,
    /// Index in the failing trace; `None` if the failing run ended before it.
    pub event: Option<u32>,
    /// The call that led there, if others lead to the same place.
    #[serde(default)]
    pub called: Option<Place>,
}

impl Participant {
    /// An event of a trace; `None` if its place is not known.
    pub fn of(trace: &Trace, index: usize) -> Option<Participant> {
        let event = &trace.events[index];
        let alike = |other: &&Event| other.thread == event.thread && other.site == event.site;
        let occurrence = trace.events[..index].iter().filter(alike).count() as u32;
        let thread = trace.thread_name(event.thread).clone();
        Some(Participant {
            key: EventKey { thread, site: event.site, occurrence },
            place: trace.place(event)?.clone(),
            verb: event.kind.does(),
            event: Some(index as u32),
            called: None,
        })
    }
}

/// The kind of a concurrency bug.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Pattern {
    /// What was read is written back, changed, over what another thread has written since.
    LostUpdate,
    /// What was read decides what is done, and does not hold any more when it is done.
    CheckThenAct,
    /// Values that belong together are read, or written, by halves.
    TornRead,
    /// What says that something is ready comes before it is.
    EarlyPublication,
    /// A stretch is interrupted that should not be, in some other way.
    AtomicityViolation,
    /// What a thread does is used before that thread has ended.
    MissingJoin,
    /// Memory, or a sync object, is given back before its last use.
    EarlyFree,
    /// Something is used before another thread has set it up.
    EarlyUse,
    OrderViolation,
    /// Threads wait for each other's locks.
    Deadlock,
    /// A thread waits for a condition that nobody will announce.
    DeadlockByCondition,
    /// A thread has ended with a lock that others wait for.
    LockNotReleased,
    LostWakeUp,
    /// What a thread waits for has come, and nobody wakes it.
    MissingSignal,
    /// What a thread waits for has come, and the signal wakes another one, which cannot go on.
    WrongWakeUp,
    /// Who was woken does not look again whether what it waited for still holds.
    MissedRecheck,
    DoubleFree,
    /// Two threads are inside of what a lock written by hand should keep apart.
    BrokenLock,
    /// A wait times out before what it waits for has come, and its thread goes on all the same.
    Timeout,
    /// The process ends before another thread has done what is expected of it.
    EarlyExit,
    /// It fails whenever every update counts: whatever passes has lost one.
    PassesByLostUpdate,
    /// What is demanded holds in no run that comes to it.
    NeverHolds,
    /// Nothing orders two accesses, of which one writes.
    DataRace,
    /// Only time makes one thread go on after another has done something.
    OrderByTime,
    /// What may fail, or end for no reason, is taken for granted.
    TakenForGranted,
    /// Several orders of several objects have to come together.
    Compound,
}

impl Pattern {
    /// Whether a stretch should be atomic.
    pub fn is_of_stretch(self) -> bool {
        use Pattern::*;
        matches!(
            self,
            LostUpdate
                | CheckThenAct
                | TornRead
                | EarlyPublication
                | AtomicityViolation
                | DoubleFree
                | BrokenLock
        )
    }

    /// Whether one event should come before another.
    pub fn is_of_order(self) -> bool {
        use Pattern::*;
        matches!(self, MissingJoin | EarlyFree | EarlyUse | OrderViolation | LostWakeUp)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Pattern::LostUpdate => "lost update",
            Pattern::CheckThenAct => "check then act",
            Pattern::TornRead => "torn read",
            Pattern::EarlyPublication => "early publication",
            Pattern::AtomicityViolation => "atomicity violation",
            Pattern::MissingJoin => "missing join",
            Pattern::EarlyFree => "early free",
            Pattern::EarlyUse => "early use",
            Pattern::OrderViolation => "order violation",
            Pattern::Deadlock => "deadlock",
            Pattern::DeadlockByCondition => "deadlock by condition",
            Pattern::LockNotReleased => "lock not released",
            Pattern::LostWakeUp => "lost wake-up",
            Pattern::MissingSignal => "missing signal",
            Pattern::WrongWakeUp => "wrong wake-up",
            Pattern::MissedRecheck => "missed recheck",
            Pattern::DoubleFree => "double free",
            Pattern::BrokenLock => "broken lock",
            Pattern::Timeout => "timeout",
            Pattern::EarlyExit => "early exit",
            Pattern::PassesByLostUpdate => "passes by lost update",
            Pattern::NeverHolds => "never holds",
            Pattern::DataRace => "data race",
            Pattern::OrderByTime => "order by time",
            Pattern::TakenForGranted => "taken for granted",
            Pattern::Compound => "compound",
        })
    }
}

/// Why a pattern is said: what keeps the failure away, and was tried; or what the failing run itself shows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Evidence {
    /// With these kept, no schedule failed so; the same schedules without did.
    Shielded { kept: Vec<Kept>, tried: u64, failed_without: u64 },
    /// With these kept, every schedule that was tried failed so.
    Unavoidable { kept: Vec<Kept>, tried: u64 },
    /// The failing run shows it: who waits for whom at its end, what was there again when a thread was woken, what was gone when it
    /// was used.
    Shown,
}

/// What was kept in every schedule that was tried.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Kept {
    pub shield: Shield,
    /// The stretch's ends, or what came first and what had to wait for it.
    pub from: Place,
    pub to: Place,
}

/// A passing run near the failing one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Alternate {
    pub run: Observed,
    /// Whether every thread takes the path it took in the failing run, as far as that went.
    pub same_path: bool,
    pub distance: Distance,
    pub minimality: Minimality,
    pub projection: Projection,
    /// Which search found it: `local`, `pair`, `maxsmt`, …
    pub goal: String,
    /// The environment answers as it usually does, otherwise than in the failing run.
    #[serde(default)]
    pub usual_answers: bool,
}

/// The criteria of the MaxSMT paper.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct Distance {
    /// DF: reads-from edges of the alternate that the failing run does not have.
    pub data_flow: u32,
    /// BS: segments of the failing run that another thread's event breaks in the alternate.
    pub segments: u32,
    /// CTX: context switches of the failing run that the alternate does not have.
    pub switches: u32,
    /// OP: events of the projection.
    pub operations: u32,
}

/// Whether fewer data-flow variations are possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Minimality {
    /// No passing run has fewer.
    Proved,
    /// The best found; a run may exist with up to `gap` fewer.
    BestFound { gap: u32 },
}

impl fmt::Display for Minimality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Minimality::Proved => f.write_str("proved minimal"),
            Minimality::BestFound { gap } => write!(f, "best found, gap at most {gap}"),
        }
    }
}

/// What differs between the two runs: a differential (path-)schedule projection.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Projection {
    /// Events of the failing trace that are on a difference, in order.
    pub failing: Vec<u32>,
    /// Events of the alternate's trace.
    pub alternate: Vec<u32>,
    /// Data flows that only one of the runs has, by reader.
    pub flows: Vec<FlowChange>,
    /// Branches that went the other way.
    pub branches: Vec<BranchChange>,
    /// Data flows of the whole failing run, to compare with.
    pub all_flows: u32,
}

/// Where a read took its value from in each run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FlowChange {
    pub location: String,
    /// In the failing run.
    pub failing: Option<Flow>,
    /// In the alternate.
    pub alternate: Option<Flow>,
}

/// A reads-from edge: indices of events in one trace. `from` is `None` for memory as it was before.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Flow {
    pub from: Option<u32>,
    pub to: u32,
}

/// The last event a thread had in common with the other run, and where each went on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BranchChange {
    pub thread: ThreadName,
    /// Indices of the first events that differ; `None` where the thread has none.
    pub failing: Option<u32>,
    pub alternate: Option<u32>,
    /// The place after which the paths part.
    pub after: Option<Place>,
}

/// What a checker that knows nothing of the solver says of its proofs.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Certified {
    /// Claims of the solver whose proofs were accepted, whether or not they are in the report.
    pub claims: u64,
    /// Lines of proofs that were checked.
    pub lines: u64,
    /// Of the root cause, if it is said to be proved on the recorded path.
    pub root_cause: Option<Certification>,
    /// Of each alternate, if it is said to be proved minimal.
    pub alternates: Vec<Option<Certification>>,
    /// Why claims were withdrawn.
    pub refused: Vec<String>,
}

/// What stands behind a word "proved".
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Certification {
    /// A proof that was accepted.
    Certified,
    /// A proof that was accepted but for so many clauses of these rules, which are taken on trust.
    AcceptedBut(Vec<(String, u64)>),
    /// No proof that can be checked: how it was proved instead.
    NotCertifiable(String),
}

/// What the diagnosis took.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Effort {
    /// Orders evaluated without execution.
    pub evaluated: u64,
    /// Schedules executed.
    pub executed: u64,
    pub solver: Option<String>,
    pub queries: u64,
    /// Data flows of the run that was given.
    pub flows_given: u32,
    /// Data flows that differ in the nearest order of the recorded steps alone, whether or not that passes when it is executed to its
    /// end: as the papers count, whose runs end where the failing one did.
    pub flows_recorded: Option<FlowsRecorded>,
}

/// The nearest order of the recorded steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FlowsRecorded {
    pub differ: u32,
    /// No order of the recorded steps passes with fewer.
    pub proved: bool,
}
