//! `unravel.diagnosis/1`: why one run failed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unravel_results as results;
use unravel_trace::Shield;

use super::projection::Projection;
use super::race::Race;
use super::run::{Failure, Place, Run, Segment, places, segments};
use super::{DIAGNOSIS, MEMORY_MODEL};
use crate::{FileNames, words};

/// Why a run failed, and the nearest schedules that pass. Within version 1 fields are added, never changed or removed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Diagnosis", title = "unravel.diagnosis/1")]
pub struct DiagnosisDocument {
    /// Name and version of this format.
    #[schemars(extend("const" = DIAGNOSIS))]
    pub schema: String,
    /// The program's name.
    pub program: String,
    /// How far this may be trusted.
    pub status: Status,
    /// What the executions assume of memory.
    pub memory_model: String,
    /// What is diagnosed.
    pub failure: Failure,
    /// The failing run that everything here refers to, with as few context switches as were found.
    pub failing: Run,
    /// How many context switches the failing run needs.
    pub context_switches: ContextSwitches,
    /// Null if none was found.
    pub root_cause: Option<RootCause>,
    /// The two accesses, if the failure is a race; else null.
    #[serde(default)]
    pub race: Option<Race>,
    /// Passing runs, nearest first.
    pub alternates: Vec<Alternate>,
    /// What to look at: the places of the first projection and of the root cause, each line once.
    pub lines: Vec<Place>,
    /// What the diagnosis took.
    pub effort: Effort,
    /// What the reader should know: bounds that were reached, what was not followed.
    pub notes: Vec<String>,
    /// What came of checking the proofs of the solver; absent unless it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certified: Option<Certified>,
}

/// What a checker that knows nothing of the solver says of its proofs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Certified {
    /// Claims of the solver whose proofs were accepted, whether or not they are in this document.
    pub claims: u64,
    /// Lines of proofs that were checked.
    pub lines: u64,
    /// Of the root cause; null if it is not said to be proved on the recorded path.
    pub root_cause: Option<Certification>,
    /// Of each alternate; null where it is not said to be proved minimal.
    pub alternates: Vec<Option<Certification>>,
    /// Why claims were withdrawn.
    pub refused: Vec<String>,
}

/// What stands behind a word "proved".
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Certification {
    pub kind: CertificationKind,
    /// Clauses that were taken on trust, by rule.
    pub trusted: Vec<Trusted>,
    /// How it was proved without a proof that can be checked, else null.
    pub otherwise: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CertificationKind {
    /// A proof that was accepted.
    Certified,
    /// A proof that was accepted but for clauses of some rules.
    AcceptedBut,
    /// No proof that can be checked.
    NotCertifiable,
}

/// A rule whose clauses were taken on trust.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Trusted {
    pub rule: String,
    pub clauses: u64,
}

/// How far a diagnosis may be trusted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    pub kind: StatusKind,
    /// Why it is inconclusive, else null.
    pub reason: Option<String>,
}

/// How far a diagnosis may be trusted, in a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StatusKind {
    /// The failing schedule failed and the alternates passed, in execution. Of a race: both accesses were executed.
    Confirmed,
    /// By the model of the trace only: it cannot be executed.
    Modelled,
    /// The failure is certain, its root cause is not known.
    Inconclusive,
}

/// Context switches of the failing run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ContextSwitches {
    /// Of the run that was given.
    pub given: u64,
    /// Of the run that this document refers to.
    pub reduced: u64,
}

/// A minimal set of orders that every passing run we know of breaks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RootCause {
    /// The kind of concurrency bug. More may be added.
    #[schemars(extend("examples" = [
        "lost-update", "check-then-act", "torn-read", "early-publication", "atomicity-violation", "missing-join",
        "early-free", "early-use", "order-violation", "deadlock", "deadlock-by-condition", "lock-not-released",
        "lost-wake-up", "missing-signal", "wrong-wake-up", "missed-recheck", "double-free", "broken-lock", "timeout",
        "early-exit", "passes-by-lost-update", "never-holds", "data-race", "compound"
    ]))]
    pub pattern: String,
    /// What happened, in one sentence.
    pub sentence: String,
    /// What should hold instead.
    pub advice: String,
    /// The places that a repair has to keep together or in order.
    pub region: Vec<Place>,
    /// Why the pattern is said; null if it is only the form of the orders.
    pub evidence: Option<Evidence>,
    /// Schedules that kept all orders; every one of them failed.
    pub kept_and_failed: u64,
    /// Whether a solver proved that no schedule on the recorded path keeps all orders and passes.
    pub proved_on_path: bool,
    /// All of them together make the run fail.
    pub orders: Vec<Order>,
}

/// Why a pattern is said.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    pub kind: EvidenceKind,
    /// What was kept in all schedules that were tried.
    pub kept: Vec<Kept>,
    /// Schedules that were tried with all of it kept; none failed so, or all of them if it is unavoidable.
    pub tried: u64,
    /// Of the same schedules without it.
    pub failed_without: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceKind {
    /// What is kept keeps the failure away.
    Shielded,
    /// With what is kept every schedule that was tried fails so.
    Unavoidable,
    /// The failing run itself shows it.
    Shown,
}

/// Something that was kept in every schedule.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Kept {
    pub kind: KeptKind,
    /// Where a stretch begins, or what comes first.
    pub from: Place,
    /// Where it ends, or what comes later.
    pub to: Place,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeptKind {
    /// A thread is not interrupted from one to the other.
    Atomic,
    /// One comes before the other.
    Order,
    /// Each of the one has to wait for one of the other: in turn.
    Turns,
    /// A wait does not time out while others can go on.
    Patient,
    /// The process does not end while others can go on.
    Outlived,
    /// A thread waits until those that it started have ended.
    Joined,
    /// The environment answers as it usually does.
    Usual,
}

/// `first` before `second`, in the failing run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Order {
    /// What both touch, as the programmer wrote it.
    pub object: String,
    pub first: Participant,
    pub second: Participant,
    /// The schedule of a run that keeps the other orders, reverses this one, and passes; null if none is known.
    pub witness: Option<Vec<Segment>>,
}

/// An event of the root cause.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Participant {
    /// The thread's name.
    pub thread: String,
    /// What it does, for a sentence: `reads`, `locks`.
    pub verb: String,
    /// Where it does it.
    pub place: Place,
    /// How many events this thread had at this site before.
    pub occurrence: u32,
    /// Its number in the failing run; null if that ended before it.
    pub event: Option<u32>,
    /// The call that led there, if others lead to the same place; else null.
    #[serde(default)]
    pub called: Option<Place>,
}

/// A passing run near the failing one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Alternate {
    pub run: Run,
    /// Whether every thread takes the path it took in the failing run, as far as that went.
    pub same_path: bool,
    /// Which search found it.
    pub found_by: String,
    pub minimality: Minimality,
    pub distance: Distance,
    pub projection: Projection,
}

/// Whether fewer data-flow variations are possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Minimality {
    /// No passing run has fewer.
    pub proved: bool,
    /// A passing run may have up to so many fewer; 0 if proved.
    pub gap: u32,
}

/// How far an alternate is from the failing run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Distance {
    /// DF: reads that take their value from another write.
    pub data_flow: u32,
    /// BS: segments of the failing run that another thread's event breaks in the alternate.
    pub broken_segments: u32,
    /// CTX: context switches of the failing run that the alternate does not have.
    pub context_switches: u32,
    /// OP: events of the projection.
    pub operations: u32,
}

/// What a diagnosis took.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Effort {
    /// Orders evaluated without execution.
    pub evaluated: u64,
    /// Schedules executed.
    pub executed: u64,
    /// The solver that was asked, if any was.
    pub solver: Option<String>,
    /// How often it was asked.
    pub queries: u64,
}

impl From<&results::Diagnosis> for DiagnosisDocument {
    fn from(diagnosis: &results::Diagnosis) -> DiagnosisDocument {
        let names = FileNames::of_bugs([&diagnosis.failure.id()]);
        DiagnosisDocument::of(diagnosis, &names)
    }
}

impl DiagnosisDocument {
    /// The diagnosis of one failure among others, from whose files `names` tells its own.
    pub(super) fn of(diagnosis: &results::Diagnosis, names: &FileNames) -> DiagnosisDocument {
        let failing = &diagnosis.failing;
        let first = diagnosis.alternates.first().map(|a| (&a.projection, &a.run.trace));
        DiagnosisDocument {
            schema: DIAGNOSIS.to_owned(),
            program: diagnosis.program.clone(),
            status: (&diagnosis.status).into(),
            memory_model: MEMORY_MODEL.to_owned(),
            failure: Failure::of(&diagnosis.failure, names),
            failing: failing.into(),
            context_switches: ContextSwitches {
                given: diagnosis.switches_given as u64,
                reduced: failing.schedule.context_switches() as u64,
            },
            root_cause: diagnosis.root_cause.as_ref().map(RootCause::from),
            race: diagnosis.race.as_ref().map(Race::from),
            alternates: (diagnosis.alternates.iter())
                .map(|alternate| Alternate::new(alternate, failing))
                .collect(),
            lines: places(&words::lines_to_look_at(diagnosis, first)),
            effort: (&diagnosis.effort).into(),
            notes: diagnosis.notes.clone(),
            certified: diagnosis.certified.as_ref().map(Certified::from),
        }
    }
}

impl From<&results::Certified> for Certified {
    fn from(certified: &results::Certified) -> Certified {
        let alternates = certified.alternates.iter();
        Certified {
            claims: certified.claims,
            lines: certified.lines,
            root_cause: certified.root_cause.as_ref().map(Certification::from),
            alternates: alternates.map(|of| of.as_ref().map(Certification::from)).collect(),
            refused: certified.refused.clone(),
        }
    }
}

impl From<&results::Certification> for Certification {
    fn from(of: &results::Certification) -> Certification {
        let (kind, trusted, otherwise) = match of {
            results::Certification::Certified => {
                (CertificationKind::Certified, [].as_slice(), None)
            }
            results::Certification::AcceptedBut(trusted) => {
                (CertificationKind::AcceptedBut, trusted.as_slice(), None)
            }
            results::Certification::NotCertifiable(how) => {
                (CertificationKind::NotCertifiable, [].as_slice(), Some(how.clone()))
            }
        };
        let rule =
            |(rule, clauses): &(String, u64)| Trusted { rule: rule.clone(), clauses: *clauses };
        Certification { kind, trusted: trusted.iter().map(rule).collect(), otherwise }
    }
}

impl From<&results::Status> for Status {
    fn from(status: &results::Status) -> Status {
        match status {
            results::Status::Confirmed => Status { kind: StatusKind::Confirmed, reason: None },
            results::Status::Modelled => Status { kind: StatusKind::Modelled, reason: None },
            results::Status::Inconclusive { reason } => {
                Status { kind: StatusKind::Inconclusive, reason: Some(reason.clone()) }
            }
        }
    }
}

impl From<&results::RootCause> for RootCause {
    fn from(cause: &results::RootCause) -> RootCause {
        RootCause {
            pattern: words::pattern_name(cause.pattern),
            sentence: cause.sentence.clone(),
            advice: cause.advice.clone(),
            region: places(&cause.region),
            evidence: cause.evidence.as_ref().map(Evidence::from),
            kept_and_failed: cause.kept_and_failed,
            proved_on_path: cause.proved_on_path,
            orders: cause.orders.iter().map(Order::from).collect(),
        }
    }
}

impl From<&results::Evidence> for Evidence {
    fn from(evidence: &results::Evidence) -> Evidence {
        match evidence {
            results::Evidence::Shown => Evidence {
                kind: EvidenceKind::Shown,
                kept: Vec::new(),
                tried: 0,
                failed_without: 0,
            },
            results::Evidence::Unavoidable { kept, tried } => Evidence {
                kind: EvidenceKind::Unavoidable,
                kept: kept.iter().map(Kept::from).collect(),
                tried: *tried,
                failed_without: 0,
            },
            results::Evidence::Shielded { kept, tried, failed_without } => Evidence {
                kind: EvidenceKind::Shielded,
                kept: kept.iter().map(Kept::from).collect(),
                tried: *tried,
                failed_without: *failed_without,
            },
        }
    }
}

impl From<&results::Kept> for Kept {
    fn from(kept: &results::Kept) -> Kept {
        let kind = match kept.shield {
            Shield::Atomic { .. } => KeptKind::Atomic,
            Shield::Order { .. } | Shield::Between { .. } => KeptKind::Order,
            Shield::Turns { .. } => KeptKind::Turns,
            Shield::Patient { .. } => KeptKind::Patient,
            Shield::Outlived => KeptKind::Outlived,
            Shield::Joined { .. } => KeptKind::Joined,
            Shield::Usual => KeptKind::Usual,
        };
        Kept { kind, from: (&kept.from).into(), to: (&kept.to).into() }
    }
}

impl From<&results::CausalOrder> for Order {
    fn from(order: &results::CausalOrder) -> Order {
        Order {
            object: order.object.clone(),
            first: (&order.first).into(),
            second: (&order.second).into(),
            witness: order.witness.as_ref().map(segments),
        }
    }
}

impl From<&results::Participant> for Participant {
    fn from(who: &results::Participant) -> Participant {
        Participant {
            thread: who.key.thread.to_string(),
            verb: who.verb.to_string(),
            place: (&who.place).into(),
            occurrence: who.key.occurrence,
            event: who.event,
            called: who.called.as_ref().map(Place::from),
        }
    }
}

impl Alternate {
    pub(super) fn new(alternate: &results::Alternate, failing: &results::Observed) -> Alternate {
        let minimality = match alternate.minimality {
            results::Minimality::Proved => Minimality { proved: true, gap: 0 },
            results::Minimality::BestFound { gap } => Minimality { proved: false, gap },
        };
        let run = &alternate.run;
        Alternate {
            run: run.into(),
            same_path: alternate.same_path,
            found_by: alternate.goal.clone(),
            minimality,
            distance: Distance {
                data_flow: alternate.distance.data_flow,
                broken_segments: alternate.distance.segments,
                context_switches: alternate.distance.switches,
                operations: alternate.distance.operations,
            },
            projection: Projection::new(&alternate.projection, &failing.trace, &run.trace),
        }
    }
}

impl From<&results::Effort> for Effort {
    fn from(effort: &results::Effort) -> Effort {
        Effort {
            evaluated: effort.evaluated,
            executed: effort.executed,
            solver: effort.solver.clone(),
            queries: effort.queries,
        }
    }
}
