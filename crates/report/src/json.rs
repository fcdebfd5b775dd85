//! Documents for programs: `unravel.diagnosis/1`, `unravel.explanation/1`, `unravel.causes/1`, `unravel.repairs/1`,
//! `unravel.hunt/1` and `unravel.database/1`.
//!
//! Names are resolved, so that nobody needs a trace to read one; indices of events count from 0 within their run.
//! Within a version fields are added, never changed or removed: a reader passes over what it does not know, and refuses
//! another version. `docs/formats/json.md` is the page for people, `docs/schema/` has the JSON Schemas; those are made
//! of the types here, and so are the descriptions in them.
//!
//! Nothing is left out and nothing is escaped here beyond what JSON demands: who shows it to people has to.

mod causes;
mod database;
mod diagnosis;
mod explanation;
mod hunt;
mod projection;
mod race;
mod read;
mod repairs;
mod run;

pub use causes::{
    Cause, CauseClass, CauseCounts, CauseRegion, CausedBug, CausesDocument, CausesVerdict, Extent,
    LineOrder,
};
pub use database::{DatabaseDamage, DatabaseDocument, DatabaseThread};
pub use diagnosis::{
    Alternate, ContextSwitches, DiagnosisDocument, Distance, Effort, Minimality, Order,
    Participant, RootCause, Status, StatusKind,
};
pub use explanation::{Bug, ExplanationDocument, Explored, Found, PutAside, Suppress};
pub use hunt::{
    DerivedFrom, ExposedFailure, ExposedHow, HuntAttempt, HuntBounds, HuntDocument, HuntEffort,
    HuntEnd, HuntEndKind, HuntFlip, HuntFlipKind, HuntRuns, HuntTraces, HuntVerdict, NeededInput,
    RefusedPromise,
};
pub use projection::{Branch, Event, Flow, FlowChange, Projection};
pub use read::ReadError;
pub use repairs::{
    Check, CheckedAs, KeptClasses, PatchedFile, Rejected, Repair, RepairCost, RepairsDocument,
};
pub use run::{End, Failure, Outcome, Place, Related, Run, Segment};

/// The name and version of [`DiagnosisDocument`].
pub const DIAGNOSIS: &str = "unravel.diagnosis/1";
/// The name and version of [`ExplanationDocument`].
pub const EXPLANATION: &str = "unravel.explanation/1";
/// The name and version of [`CausesDocument`].
pub const CAUSES: &str = "unravel.causes/1";
/// The name and version of [`RepairsDocument`].
pub const REPAIRS: &str = "unravel.repairs/1";
/// The name and version of [`HuntDocument`].
pub const HUNT: &str = "unravel.hunt/1";
/// The name and version of [`DatabaseDocument`].
pub const DATABASE: &str = "unravel.database/1";

const MEMORY_MODEL: &str = "sequential consistency";

/// A diagnosis as a document; its `Display` is the text.
pub fn diagnosis(diagnosis: &unravel_results::Diagnosis) -> DiagnosisDocument {
    diagnosis.into()
}

/// An explanation as a document; its `Display` is the text.
pub fn explanation(explanation: &unravel_results::Explanation) -> ExplanationDocument {
    explanation.into()
}

/// All causes as a document; its `Display` is the text.
pub fn causes(causes: &unravel_results::Causes) -> CausesDocument {
    causes.into()
}

/// Repairs as a document; its `Display` is the text.
pub fn repairs(repairs: &unravel_results::Repairs) -> RepairsDocument {
    repairs.into()
}

/// A hunt as a document; its `Display` is the text.
pub fn hunt(hunt: &unravel_results::Hunt) -> HuntDocument {
    hunt.into()
}

/// What is in a trace database as a document; its `Display` is the text.
pub fn database(stats: &unravel_results::Stats) -> DatabaseDocument {
    stats.into()
}
