//! What every engine owes the searches, as tests: the conformance suite, and the toy executor that serves other tests too.
//!
//! An engine conforms if it keeps what [`unravel_trace::Executor`] promises on a handful of tiny programs ([`Sample`]):
//! points, decisions, replays, deadlocks, choices, observers, what is wanted and what is refused, the table of sites, and its own death.
//! [`conformance!`] makes one test of each of these promises. Not covered: what symbolic runs and guided ones mean, which
//! `crates/cli/tests/{symbolic,lead,inputs}` compare with execution; busy waits; inputs; damage by native code.

mod sample;
pub mod suite;
mod toy;

pub use sample::{Engine, Sample};
pub use toy::{Act, Toy};
