//! What `repair` proposes: patches, what was checked of each, and what it costs.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use unravel_trace::{BugId, LeftOut};

use crate::Causes;

/// The causes of a program's failures and the repairs that stood every check.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Repairs {
    pub causes: Causes,
    /// The best first.
    pub repairs: Vec<Repair>,
    /// What was tried and is no repair, with the reason.
    pub rejected: Vec<Rejected>,
    /// What the reader should know besides.
    pub notes: Vec<String>,
    pub elapsed: Duration,
}

impl Repairs {
    /// The best repair of a bug, and its number.
    pub fn of_bug(&self, bug: &BugId) -> Option<(usize, &Repair)> {
        let number = self.causes.bugs.iter().position(|known| known.id == *bug);
        let is_for = |repair: &Repair| match number {
            Some(number) => !repair.leaves.contains(&number),
            None => repair.leaves.is_empty(),
        };
        self.repairs.iter().enumerate().find(|(_, repair)| is_for(repair))
    }

    /// Whether no repair is for all bugs: each is for some of them.
    pub fn are_for_some(&self) -> bool {
        self.repairs.first().is_some_and(|repair| !repair.leaves.is_empty())
    }
}

/// A patch that was checked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Repair {
    /// What it does, in one line.
    pub title: String,
    pub kind: RepairKind,
    /// The classes of causes that it makes impossible: indices of [`Causes::classes`].
    pub covers: Vec<usize>,
    /// Bugs that it does nothing about, where it is for one of several: indices of [`Causes::bugs`].
    pub leaves: Vec<usize>,
    /// A unified diff that `patch -p1` and `git apply` take.
    pub diff: String,
    /// The patched files as a whole.
    pub files: Vec<PatchedFile>,
    pub checks: Vec<Check>,
    /// What it does with its threads one after another, beside what the program did before; none if that could not be compared.
    pub meaning: Option<Meaning>,
    pub cost: RepairCost,
    /// What the reader should know before applying it.
    pub notes: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PatchedFile {
    /// As the compiler was given it.
    pub path: String,
    pub text: String,
}

/// A repaired program does what the program did in runs that passed: the same output, exit code and objects left on the heap, the
/// same final values of its own globals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Meaning {
    /// Runs of the repaired program, its threads one after another.
    pub runs: u64,
    /// Runs of the program before that they were compared with.
    pub before: u64,
    /// Globals whose final values were compared.
    pub globals: u64,
}

/// How a repair is made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RepairKind {
    /// An update becomes one atomic operation.
    AtomicUpdate,
    /// A lock that some way out keeps is given back there.
    MissingUnlock,
    /// Who goes on without a thread's result waits for the thread.
    MissingJoin,
    /// A critical section becomes larger.
    WiderSection,
    /// A lock that the program has is taken in more places.
    ExistingLock,
    /// Waits test again what they wait for, signals wake all who wait.
    Signalling,
    /// A new mutex.
    NewLock,
    /// Locks are taken in another order.
    LockOrder,
    /// A statement goes elsewhere: an initialisation before the creation of a thread, a join before a use.
    MovedStatement,
    /// A thread waits until another has got somewhere.
    Order,
}

impl fmt::Display for RepairKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RepairKind::AtomicUpdate => "atomic update",
            RepairKind::MissingUnlock => "missing unlock",
            RepairKind::MissingJoin => "missing join",
            RepairKind::WiderSection => "wider critical section",
            RepairKind::ExistingLock => "existing lock",
            RepairKind::Signalling => "signalling",
            RepairKind::NewLock => "new lock",
            RepairKind::LockOrder => "lock order",
            RepairKind::MovedStatement => "moved statement",
            RepairKind::Order => "enforced order",
        })
    }
}

/// One exploration of a repaired program, in which nothing failed but what the repair [leaves](Repair::leaves).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Check {
    pub how: CheckedAs,
    /// Whether every class of schedules was executed.
    pub complete: bool,
    pub schedules: u64,
    pub classes: u64,
    /// Schedules that failed by a bug that is left.
    pub aside: u64,
    /// If not complete: why.
    pub left_out: Vec<LeftOut>,
    /// The inputs with which it was explored: indices of [`Causes::inputs`], if there are any.
    pub inputs: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckedAs {
    /// In the machine, without touching the source.
    Virtual,
    /// The patched source, compiled.
    Patched,
}

/// What a repair costs.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RepairCost {
    pub lines_added: u32,
    pub lines_removed: u32,
    /// Of the classes of schedules that pass without the repair, those that it still allows; and how many there are.
    pub classes_kept: Option<(u64, u64)>,
    /// Lines of the longest critical section that is new or wider, or 0.
    pub longest_section: u32,
}

/// A candidate that is no repair.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Rejected {
    pub title: String,
    /// `deadlocks: …`, `still fails: …`, `does not compile: …`.
    pub reason: String,
}
