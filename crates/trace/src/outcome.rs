//! How a run ended.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{BugId, Place, SourceLine, ThreadName};

/// Every way a run can end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Outcome {
    /// The program ended by itself with this exit code. Whether a code other than 0 is a failure is
    /// the user's to say (`--fail-on-exit`).
    Exited { code: i32 },
    /// The user's bug.
    Failed(Box<Failure>),
    /// The run left what the program allows (`__VERIFIER_assume`): it says nothing.
    Discarded,
    /// We could not follow the program to its end. Never "no bug".
    Inconclusive { reason: String, at: Option<Place> },
}

/// A failure, with everything needed to tell a person about it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Failure {
    pub kind: FailureKind,
    /// One sentence without the place: `assertion 'total == 300' failed`.
    pub message: String,
    pub thread: ThreadName,
    /// Where it happened, innermost first.
    pub stack: Vec<Place>,
    /// Other places that matter: where the memory was freed, who else is blocked and why.
    pub related: Vec<Related>,
}

/// Another place that belongs to a failure.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Related {
    /// `freed here by T0`, `T0.1 waits for mutex 'a', held by T0.2`.
    pub message: String,
    pub stack: Vec<Place>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum FailureKind {
    Assertion,
    Abort,
    /// An exit code the user declared a failure.
    ExitCode,
    UncaughtException,
    NullDereference,
    OutOfBounds,
    UseAfterFree,
    /// Use of a local variable of a function that has returned.
    DeadStack,
    DoubleFree,
    /// `free` of something that was never allocated.
    InvalidFree,
    /// A sync object used uninitialised or destroyed, unlocked by another thread, destroyed in use.
    SyncMisuse,
    DivisionByZero,
    Unreachable,
    StackOverflow,
    /// A signal inside native code, or an access to memory that nobody owns.
    Crash,
    Deadlock,
    Livelock,
    DataRace,
    /// The output differs from what the user expects.
    Output,
    /// The user's check command refused the run.
    Check,
    /// Memory was read that nobody had written, and the user wants to know.
    Uninitialised,
}

impl FailureKind {
    pub const ALL: [FailureKind; 21] = {
        use FailureKind::*;
        [
            Assertion,
            Abort,
            ExitCode,
            UncaughtException,
            NullDereference,
            OutOfBounds,
            UseAfterFree,
            DeadStack,
            DoubleFree,
            InvalidFree,
            SyncMisuse,
            DivisionByZero,
            Unreachable,
            StackOverflow,
            Crash,
            Deadlock,
            Livelock,
            DataRace,
            Output,
            Check,
            Uninitialised,
        ]
    };

    /// The name used in files and options.
    pub fn name(self) -> &'static str {
        use FailureKind::*;
        match self {
            Assertion => "assertion",
            Abort => "abort",
            ExitCode => "exit-code",
            UncaughtException => "uncaught-exception",
            NullDereference => "null-dereference",
            OutOfBounds => "out-of-bounds",
            UseAfterFree => "use-after-free",
            DeadStack => "dead-stack",
            DoubleFree => "double-free",
            InvalidFree => "invalid-free",
            SyncMisuse => "sync-misuse",
            DivisionByZero => "division-by-zero",
            Unreachable => "unreachable",
            StackOverflow => "stack-overflow",
            Crash => "crash",
            Deadlock => "deadlock",
            Livelock => "livelock",
            DataRace => "data-race",
            Output => "output",
            Check => "check",
            Uninitialised => "uninitialised",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.name() == name)
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The innermost place that is in the user's own code: not in a header of the system, and not in a wrapper unless nobody called it.
pub fn user_place(stack: &[Place]) -> Option<&Place> {
    let own = stack.iter().find(|place| place.is_own());
    let written = || stack.iter().find(|place| place.line != 0 && !place.is_system());
    own.or_else(written).or_else(|| stack.first())
}

impl Failure {
    /// Where it happened, in the user's own code if any of it is on the stack.
    pub fn place(&self) -> Option<&Place> {
        user_place(&self.stack)
    }

    pub fn id(&self) -> BugId {
        let mut places: Vec<SourceLine> = match self.kind {
            FailureKind::Deadlock | FailureKind::Livelock => {
                self.related.iter().filter_map(|r| user_place(&r.stack)).map(Into::into).collect()
            }
            // Whichever of the two came first.
            FailureKind::DataRace => {
                let stacks = [&self.stack].into_iter().chain(self.related.iter().map(|r| &r.stack));
                stacks.filter_map(|stack| user_place(stack)).map(Into::into).collect()
            }
            _ => self.place().map(Into::into).into_iter().collect(),
        };
        places.sort();
        places.dedup();
        BugId { kind: self.kind, places }
    }
}

/// Of a run that has not begun.
impl Default for Outcome {
    fn default() -> Outcome {
        Outcome::Discarded
    }
}

impl Outcome {
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Outcome::Failed(failure) => Some(failure),
            _ => None,
        }
    }

    pub fn is_same_bug(&self, other: &Outcome) -> bool {
        match (self.failure(), other.failure()) {
            (Some(a), Some(b)) => a.id() == b.id(),
            _ => false,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Exited { code: 0 } => f.write_str("passed"),
            Outcome::Exited { code } => write!(f, "exited with code {code}"),
            Outcome::Failed(failure) => {
                write!(f, "{}: {}", failure.kind, failure.message)?;
                match failure.place() {
                    Some(place) => write!(f, " at {} in {}", place.short(), failure.thread),
                    None => Ok(()),
                }
            }
            Outcome::Discarded => f.write_str("discarded (an assumption does not hold)"),
            Outcome::Inconclusive { reason, at: Some(place) } => {
                write!(f, "inconclusive because {reason} at {}", place.short())
            }
            Outcome::Inconclusive { reason, at: None } => {
                write!(f, "inconclusive because {reason}")
            }
        }
    }
}
