//! Room `trace`: the words all rooms share, and the joint between those who execute and those who schedule.
//! `Schedule` = decisions, `Trace` = what was observed, `Outcome` = how a run ended. Small enough to be linked into a
//! target process: no files, no JSON, no results of rooms.
//!
//! - The words: `ids.rs`, `event.rs`, `schedule.rs`, `outcome.rs`, `run.rs` (input, rules, how much of a run is kept), `sites.rs`
//!   (what a site is called whoever lowers the program), `pending.rs`, `shape.rs`, `method.rs`.
//! - The joint: `joint.rs` (engines: `Executor`, `Job`, `Capabilities`, `EngineError`, `Guide`), `scheduler.rs` (who decides),
//!   `observer.rs` (who looks).
//! - What everybody must agree on, so it stands here once: `point.rs` (where a scheduler is asked, so what a schedule counts),
//!   `identity.rs` (which event of one run is which of another), `dependence.rs` (when the order of two events matters).
//! - The symbolic side of a run: `expr.rs`, `symbolic.rs`, `paths.rs`, `inputs.rs`; `check.rs` says whether such a run agrees with
//!   itself. `thread_trace.rs` takes runs apart by thread, `combine.rs` puts such parts together.
//! - `budgets.rs` declares the numbers that say how much is done at most, each with its reason; `rng.rs` is the generator behind
//!   all random choices.

mod budgets;
mod bug;
mod check;
mod combine;
mod dependence;
mod deviation;
mod event;
mod expr;
mod identity;
mod ids;
mod inputs;
mod joint;
mod left_out;
mod method;
mod note;
mod observer;
mod outcome;
mod paths;
mod pending;
mod point;
mod rng;
mod route;
mod run;
mod schedule;
mod scheduler;
mod shape;
mod shield;
mod sites;
mod symbolic;
mod thread_trace;
mod verb;

pub use budgets::Budget;
pub use bug::*;
pub use combine::{Combined, Incompatible, combine};
pub use dependence::{Role, Touch, depend, touched, touches};
pub use deviation::{Deviated, Deviation, Forced};
pub use event::*;
pub use expr::{
    BinaryOp, CompareOp, ConvertOp, ExprId, Exprs, FloatOp, Node, SymbolId, mask, signed,
};
pub use identity::{Counter, EventKey, Key, Keys, ThreadKey};
pub use ids::*;
pub use inputs::words;
pub use joint::*;
pub use left_out::{BlindSpot, LeftOut};
pub use method::{Method, Reached, ReadsFrom};
pub use note::{MissingFunction, Note};
pub use observer::*;
pub use outcome::*;
pub use paths::*;
pub use pending::{Commuting, Meeting, Op, Operand, Pending};
pub use point::{PointRule, is_counted, is_point};
pub use rng::Rng;
pub use route::{Beyond, Followed, Leg, Route, Stray, Strayed, Turn};
pub use run::*;
pub use schedule::*;
pub use scheduler::*;
pub use shape::Shape;
pub use shield::{Mark, Shield, ThreadTag};
pub use sites::{SiteRow, SiteTable};
pub use symbolic::*;
pub use thread_trace::{Copied, ThreadTrace, separate};
pub use verb::Verb;
