//! Room `diagnose`: from one failing run to its root cause and the nearest schedule that passes.
//!
//! After Symbiosis (differential schedule projections) and its MaxSMT successor. Takes traces and does not care
//! which executor made them; every claim it makes of a trace that can be executed was executed.

mod alternate;
mod closure;
mod criteria;
mod diagnose;
mod execution;
mod failing;
mod flows;
mod goals;
mod hitting_set;
mod imported;
mod minimal;
mod modelled;
mod pairs;
mod pattern;
mod points;
mod projection;
mod reduce;
mod root_cause;
mod settle;
mod steer;
mod subject;
mod tell;
mod world;

pub use diagnose::{DiagnoseError, Options, Stage, diagnose};
pub use goals::{Goal, UnknownGoal};
pub use imported::diagnose_imported;
pub use subject::Subject;
