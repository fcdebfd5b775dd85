//! Room `diagnose`: from one failing run to its root cause and the nearest schedule that passes.
//!
//! After Symbiosis (differential schedule projections) and its MaxSMT successor. Takes traces and does not care
//! which executor made them; every claim it makes of a trace that can be executed was executed.

mod alternate;
mod branches;
mod closure;
mod criteria;
mod diagnose;
mod executable;
mod execution;
mod failing;
mod flows;
mod goals;
mod hitting_set;
mod imported;
mod minimal;
mod modelled;
mod pairs;
mod paths_only;
mod pattern;
pub mod points;
mod projection;
mod reduce;
mod refute;
mod relevance;
mod root_cause;
mod settle;
mod steer;
mod subject;
mod tell;
mod world;

pub use alternate::compare;
pub use diagnose::{DiagnoseError, Options, Stage, diagnose};
pub use executable::Steps;
pub use goals::{Goal, UnknownGoal};
pub use imported::{diagnose_imported, reduce_fully};
pub use paths_only::diagnose_paths;
pub use pattern::{Words, describe};
pub use subject::Subject;

/// What the tests against brute force look into; not part of the room's interface.
#[doc(hidden)]
pub mod testing {
    pub use crate::alternate::{Candidate, Reference};
    pub use crate::closure::is_refuted;
    pub use crate::diagnose::cause_of;
    pub use crate::goals::{Effort, Sought, by_solver};
    pub use crate::imported::{rearranged, reduce_fully, up_to_failure};
    pub use crate::minimal::nearest;
    pub use crate::modelled::Modelled;
    pub use crate::projection::{Side, project};
    pub use crate::reduce::reduce;
    pub use crate::refute::NoRefuter;
    pub use crate::root_cause::root_cause;
    pub use crate::world::{Order, World};
}
