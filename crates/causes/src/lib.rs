//! Room `causes`: every cause of a program's failures, up to a bound (ConcBugAssist, design §10).
//!
//! The paper asks a bounded model checker for a failing schedule, takes a minimal unsatisfiable core of its orders, blocks it and asks
//! again. Here all classes of schedules are executed first, each once (exhaustive search), so that cores are hitting sets
//! over real runs on all paths, and "complete" means that no class is missing. The bound is the inputs and the steps a run
//! may take. Where there are more classes than time, failing runs that no cause accounts for are diagnosed one by one, and the
//! result says that it is not complete.
//!
//! `causes.rs` is the way. `inputs.rs` says with which inputs, `gather.rs` executes every class of schedules once, or as many as there is time for; `watch.rs` keeps a
//! run as the steps it took, `orders.rs` the orders between conflicting steps as bits. `core.rs` finds a minimal cause of one
//! failing run, `enumerate.rs` blocks it and goes on; where not all classes are known, `sampled.rs` has each failing run diagnosed
//! instead. `races.rs` tells races, which no order causes, `answers.rs` what the environment has to answer. `summary.rs` puts inputs together, `tell.rs` and `classes.rs` find names, and what is the same for a reader. `kept.rs`
//! counts the classes that a repair still allows.
//!
//! Not modelled: weak memory; inputs other than those that were tried, which causes are said to hold for.

mod budgets;
mod causes;
mod classes;
mod core;
mod enumerate;
mod gather;
mod inputs;
mod kept;
mod orders;
mod races;
mod sampled;
mod summary;
mod tell;
mod watch;

pub use budgets::budgets;
pub use kept::{Allowed, allowed_classes};

pub use causes::{Analysis, Budget, CausesError, Progress, Task, Told, causes, here};
