//! Room `hunt`: failures that never happened, from runs that passed.
//!
//! After Cortex (Machado, Lucia, Rodrigues: *Production-guided concurrency debugging*; thesis chapter 5). Takes passing runs,
//! looks for failures a few reorderings and a few branches away, and reports what it could execute.
//!
//! `hunt.rs` is the way. `collect.rs` executes runs as production would and keeps what threads did in the database;
//! `parts.rs` holds the traces of threads, `targets.rs` says what could go wrong in a combination of them, `cut.rs` ends it there,
//! `ask.rs` asks for an order (of the solver, `nearby.rs` and random walks, `walk.rs`), `execute.rs` executes it. `search.rs` asks about what was seen, then
//! flips (`search/flipping.rs`): `flips.rs` finds what could go another way, `values.rs` rules out by data flow, `agenda.rs` says what is
//! next, `search/synthesise.rs` flips several at once. `gaps.rs` says what no question was about; `tell.rs` executes a failure again,
//! compares it and has it diagnosed. `inputs.rs` takes a few inputs of all that a hunt came across, for other rooms.

mod agenda;
mod ask;
mod budgets;
mod collect;
mod cut;
mod execute;
mod flips;
mod gaps;
mod hunt;
mod inputs;
mod nearby;
mod parts;
mod search;
mod targets;
mod tell;
mod values;
mod walk;

pub use budgets::budgets;
pub use hunt::{Bag, HereError, HuntError, Options, Progress, Quarry, Recorded, Task, here, hunt};
pub use inputs::{Few, KnownInput, inputs};
