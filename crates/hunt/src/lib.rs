//! Room `hunt`: failures that never happened, from runs that passed.
//!
//! After Cortex (Machado, Lucia, Rodrigues: *Production-guided concurrency debugging*; thesis chapter 5). Takes passing runs,
//! looks for failures a few reorderings and a few branches away, and reports what it could execute.

mod agenda;
mod ask;
mod collect;
mod cut;
mod execute;
mod flips;
mod gaps;
mod goals;
mod hunt;
mod parts;
mod production;
mod search;
mod tell;
mod values;
mod walk;

pub use hunt::{Bag, HuntError, Options, Progress, Quarry, Request, here, hunt};
