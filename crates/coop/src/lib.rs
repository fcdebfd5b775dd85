//! Room `coop`: cooperative record and replay (CoopREP, thesis chapter 3). Many instances each log a part of what their runs do;
//! the parts of runs that failed alike are put together until a replay fails as it did in the field.
//!
//! - `elements.rs` is what is logged: shared elements by a static identity, and which of them an event touches. `survey.rs` finds
//!   them by executing the program (`parallel.rs`: what threads access side by side), `escape.rs` says of the module what could be shared at all, `blocks.rs` is the block-based mode.
//! - `profile.rs` says which elements each instance logs; `log.rs` is what it logs, `recorder.rs` who does so in the machine, `simulate.rs` a
//!   whole fleet there.
//! - `native.rs` is the same for a native program: what is logged in it, and what its files say.
//! - `analysis/` is the statistics: similarity, both merges, the one-element case, brute force.
//! - `enforce.rs` is the scheduler that keeps the orders of merged logs; `oracle.rs` tries candidates until one fails.
//! - `verify.rs` asks whether a log tells what happened.
//! - `generate.rs` makes fleets of any size out of recorded logs, for measuring growth.
//!
//! A log has ids only: of elements, of threads by birth, of the build, of where it failed. No value of the program is in it.
//! How logs lie in files is `fleet`'s.

mod analysis;
mod blocks;
mod budgets;
mod elements;
mod enforce;
mod escape;
mod generate;
mod guides;
mod log;
mod native;
mod oracle;
mod parallel;
mod profile;
mod recorder;
mod simulate;
mod survey;
mod verify;

pub use analysis::{
    Alike, Candidate, Candidates, Collection, CollectionError, Group, Heuristic, Metric, Part,
    Ranked, Ratio,
};
pub use budgets::{DEFAULT_ATTEMPTS, DEFAULT_FILLS, MOST_PASSING, budgets};
pub use elements::{Element, ElementId, ElementKind, Elements, Mode};
pub use enforce::{Enforced, Kept};
pub use escape::{Escape, escape};
pub use generate::generate;
pub use guides::known_orders;
pub use log::{Ending, FailureSite, Log, LogId, Who};
pub use native::{Lines, NativeError, NativeLog, Plan, plan, read_native, seen_at};
pub use oracle::{Attempts, Oracle, Replayed, Tried};
pub use profile::{Coverage, Draw, Profile, ProfileError, draw};
pub use recorder::{Recorder, record};
pub use simulate::{Fleet, simulate};
pub use survey::{Extent, Sharing, Surveyed, survey};
pub use verify::{Followed, follow};
