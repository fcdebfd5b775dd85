//! Room `diagnose`: from one failing run to its root cause and the nearest schedule that passes.
//!
//! After Symbiosis (differential schedule projections) and its MaxSMT successor. Takes traces and does not care
//! which executor made them; every claim it makes of a trace that can be executed was executed.
//!
//! - `diagnose.rs` is the way. `failing.rs` is the failing run, `settle.rs` finds the right visible set, `reduce.rs` removes context
//!   switches.
//! - `world.rs` is where schedules are tried: `execution.rs` runs them, `modelled.rs` evaluates them. `steer.rs` keeps given orders and
//!   otherwise follows the failing run. `points.rs` and `pairs.rs` name what can be ordered, `relevance.rs` what matters to the failure.
//! - `alternate.rs`, `minimal.rs` (with `closure.rs`) and `goals.rs` look for passing schedules, which `on_path.rs` asks in turn and `confirm.rs` executes; `root_cause.rs` (with `hitting_set.rs`) for
//!   the orders that all of them break, `refute.rs` has a solver attack it.
//! - `shields.rs` (with `shields/`) says what pattern it is, by what keeps the failure away; `localised.rs` does so for long runs, with
//!   `window.rs`, which varies their end alone.
//! - `race.rs` is for data races, which no order causes: who holds which lock at the two accesses (`held.rs`).
//! - `criteria.rs`, `flows.rs`, `projection.rs` and `branches.rs` compare two runs, `approach.rs` brings a failing one nearer to one that passed; `tell.rs` and `pattern.rs` find the words.
//! - `imported.rs` does all that without a program, `recorded.rs` over the paths of all executions that were recorded, put together by
//!   `combinations.rs`, where `probing.rs` says which. `paths_only.rs` finds a failing schedule from each thread's branches alone, with
//!   guided runs of the engine; `executable.rs` makes a schedule of what the solver found.

mod alternate;
mod answers;
mod approach;
mod branches;
mod budgets;
mod calls;
mod closure;
mod combinations;
mod confirm;
mod criteria;
mod diagnose;
mod executable;
mod execution;
mod failing;
mod flows;
mod goals;
mod held;
mod hitting_set;
mod imported;
mod localised;
mod minimal;
mod modelled;
mod on_path;
mod pairs;
mod paths_only;
mod paths_steered;
mod pattern;
pub mod points;
mod probing;
mod projection;
mod race;
mod recorded;
mod reduce;
mod refute;
mod relevance;
mod root_cause;
mod settle;
mod shields;
mod steer;
mod tell;
mod window;
mod world;

pub use alternate::compare;
pub use answers::granted;
pub use approach::nearer;
pub use budgets::budgets;
pub use diagnose::{DiagnoseError, Options, Searched, Stage, diagnose, model_of};
pub use executable::Steps;
pub use goals::{Goal, UnknownGoal};
pub use imported::{diagnose_imported, reduce_fully};
pub use paths_only::{Known, diagnose_paths, failing_along};
pub use pattern::{Words, describe};
pub use race::tell as tell_race;
pub use recorded::diagnose_recorded;
pub use shields::vanishes;

/// What the tests against brute force look into; not part of the room's interface.
#[doc(hidden)]
pub mod testing {
    pub use crate::alternate::{Nearby, Reference};
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
