//! Room `execute`: how a program is executed again. Generic over [`unravel_trace::Executor`]; which schedules are worth executing
//! is `explore`'s.
//!
//! - `laboratory.rs` is what searches, simplifications, diagnoses, causes and hunts share: executor, input, visible set, budget,
//!   deadline and interrupt in one, with run, replay, learn and widen. `learn_apart.rs` learns in a process of its own,
//!   `limit.rs` is the deadline and the interrupt, for whatever takes long without executing anything; `clock.rs` the time they are about.
//! - `replay.rs` makes the decisions of a schedule again; `recount.rs` follows one in runs that have more points than it counts.
//! - `judge.rs` ([`Judged`]) and `races/` ([`RaceChecked`]) are executors around an executor: what the user calls a failure is
//!   the same for all rooms, and none of them knows of it. A verdict is a function of the run: its outcome and the output
//!   that the engine kept.
//! - `branches.rs` executes the beginning of a run once and many ends of it, each in a process of its own.
//! - `shield.rs` keeps a stretch whole or an order in whatever schedule another scheduler makes.
//! - `classes.rs` says which interleavings are the same (with `ranges.rs`). `process.rs` is what all processes that run the program share,
//!   `silence.rs` where their output goes. `budgets.rs` holds the numbers.
//!
//! An engine that fails is no outcome of the program. A laboratory therefore keeps the error, answers every later run as
//! inconclusive, and whoever opened it reports the error.

mod branches;
mod budgets;
mod classes;
pub mod clock;
mod judge;
mod laboratory;
mod learn_apart;
mod limit;
mod process;
mod races;
mod ranges;
mod recount;
mod replay;
mod shield;
mod silence;

pub use branches::{Branches, Course, End};
pub use budgets::budgets;
pub use classes::Class;
pub use judge::{Judged, judge};
pub use laboratory::{Laboratory, Lesson};
pub use learn_apart::learn_apart;
pub use limit::Limit;
pub use process::{
    Apart, Attended, Child, Received, Shared, pipe, read_message, ready, write_message,
};
pub use races::{Collector, Detector, Race, RaceChecked};
pub use recount::Recount;
pub use replay::{Divergence, Replay};
pub use shield::Shielded;
pub use silence::Silence;
