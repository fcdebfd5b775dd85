//! Room `rebuild`: the log of a real run → a run of the machine that takes the same paths and ends the same way.
//!
//! What Symbiosis does from the paths of threads alone (§3.2, §3.3), with the order of sync operations as a help where the log has
//! it. Before any symbolic execution, and most often instead of it, the machine is *steered*: it executes the kept module with
//! its real values, every thread is watched at its branches ([`unravel_trace::Route`]), sync operations come in the order of
//! their stamps, and only the order of the other accesses is searched. A run ends where a thread leaves its recorded path; what it
//! had read by then says which orders to turn round ([`search`]).
//!
//! - [`task`] makes of a decoded log what is to be rebuilt, or refuses it.
//! - [`steer`] is the scheduler, [`climb`] goes on from runs that came far, [`blame`] says which order to try after a run that strayed, [`search`] is the search.
//! - [`suffix`]: a log that begins in the middle is a goal for runs from the start.
//! - [`apart`] does all this in another process.
//! - [`ending`] compares how a run ended with what the log says.
//!
//! Every answer is a run that was executed twice: once along the routes, once by its schedule alone. In which direction it errs: it
//! finds nothing where there is something. What it finds has the recorded branches of every thread, but for rounds of busy waits
//! (counted in [`Rebuilt::rounds_left_out`]), and ended as the log says; the order of accesses that no branch depends on is *one*
//! that does this, not necessarily the one that was recorded.
//!
//! *Not modelled*: weak memory; values of externals that the machine knows no model of (the log has them on request; they are
//! not yet given to the machine).

mod apart;
mod blame;
mod budgets;
mod climb;
mod ending;
mod lessons;
mod search;
mod steer;
mod suffix;
mod task;

pub use apart::{ApartError, rebuild_apart};
pub use budgets::budgets;
pub use ending::{Cause, Expected};
pub use search::{Options, RebuildError, Rebuilt, rebuild};
pub use steer::{Hint, HintKind, Stamped};
pub use task::{Refused, Task};
