//! How the recorded run ended, and whether a run of the machine ended the same way.
//!
//! The machine notices what a system does not (a read of freed memory, an unlock of what is not locked) and ends there. If such a
//! run has kept to its routes it is *earlier*: a failure on the recorded paths, but not the recorded one, which may have come
//! later. It is the answer only if no run ends as the log says.

use unravel_trace::{BugId, FailureKind, Followed, Outcome, ThreadName};

/// How the recorded run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expected {
    Exit {
        code: i32,
    },
    Failure {
        thread: ThreadName,
        cause: Cause,
    },
    /// Nobody went on.
    Hang,
    /// This very failure, of a run of the machine of which only the paths were kept.
    Bug {
        thread: ThreadName,
        id: BugId,
    },
}

/// What ended the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    Assertion,
    Abort,
    UncaughtException,
    /// SIGSEGV, SIGBUS, SIGILL, …
    Crash,
    /// SIGFPE.
    Arithmetic,
}

/// What a run is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Same,
    /// It fails on the recorded paths by what a system may not notice.
    Earlier,
    Other,
}

impl Expected {
    /// The thread that failed.
    pub(crate) fn thread(&self) -> Option<&ThreadName> {
        match self {
            Expected::Failure { thread, .. } => Some(thread),
            Expected::Bug { thread, id } if !is_hang(id.kind) => Some(thread),
            _ => None,
        }
    }

    /// Whether the run came to a stop because nobody went on.
    pub(crate) fn hangs(&self) -> bool {
        match self {
            Expected::Hang => true,
            Expected::Bug { id, .. } => is_hang(id.kind),
            _ => false,
        }
    }

    /// Whether a run ended so, wherever its threads were.
    pub(crate) fn is_end(&self, outcome: &Outcome) -> bool {
        match (self, outcome) {
            (Expected::Exit { code }, Outcome::Exited { code: other }) => {
                code & 0xff == other & 0xff
            }
            (Expected::Exit { code }, Outcome::Failed(failure)) => {
                code & 0xff != 0 && failure.kind == FailureKind::ExitCode
            }
            (Expected::Hang, Outcome::Failed(failure)) => is_hang(failure.kind),
            (Expected::Failure { thread, cause }, Outcome::Failed(failure)) => {
                failure.thread == *thread && cause.shows_as(failure.kind)
            }
            (Expected::Bug { id, .. }, Outcome::Failed(failure)) => failure.id() == *id,
            _ => false,
        }
    }

    pub(crate) fn judge(&self, followed: &Followed) -> Verdict {
        if followed.strayed.is_some() {
            return Verdict::Other;
        }
        let all_at_end = followed.at_end.iter().all(|end| *end);
        match (self, &followed.run.outcome) {
            (Expected::Exit { code }, Outcome::Exited { code: other }) => {
                same_if(code & 0xff == other & 0xff && all_at_end)
            }
            (Expected::Hang, Outcome::Failed(failure)) if is_hang(failure.kind) => {
                same_if(all_at_end)
            }
            // A thread that goes on with memory that is another's by now may well hang for it.
            (Expected::Hang, Outcome::Failed(failure)) if is_unnoticed(failure.kind) => {
                Verdict::Earlier
            }
            (Expected::Bug { id, .. }, Outcome::Failed(failure)) if is_hang(id.kind) => {
                same_if(failure.id() == *id && all_at_end)
            }
            (Expected::Bug { thread, id }, Outcome::Failed(failure)) => same_if(
                failure.id() == *id && failure.thread == *thread && is_at_end(followed, thread),
            ),
            (Expected::Failure { thread, cause }, Outcome::Failed(failure)) => {
                let at_end = is_at_end(followed, thread);
                let same = failure.thread == *thread && at_end && cause.shows_as(failure.kind);
                match same {
                    true => Verdict::Same,
                    false if is_unnoticed(failure.kind) => Verdict::Earlier,
                    false => Verdict::Other,
                }
            }
            _ => Verdict::Other,
        }
    }
}

/// Whether a thread has come to the end of its route.
fn is_at_end(followed: &Followed, thread: &ThreadName) -> bool {
    let mut names = followed.run.schedule.threads.iter();
    names.position(|name| name == thread).is_some_and(|index| followed.at_end[index])
}

fn same_if(same: bool) -> Verdict {
    if same { Verdict::Same } else { Verdict::Other }
}

fn is_hang(kind: FailureKind) -> bool {
    matches!(kind, FailureKind::Deadlock | FailureKind::Livelock)
}

/// Whether a system may go on as if nothing were wrong.
fn is_unnoticed(kind: FailureKind) -> bool {
    use FailureKind::{
        DeadStack, DoubleFree, InvalidFree, OutOfBounds, SyncMisuse, Uninitialised, UseAfterFree,
    };
    matches!(
        kind,
        DeadStack
            | DoubleFree
            | InvalidFree
            | OutOfBounds
            | SyncMisuse
            | Uninitialised
            | UseAfterFree
    )
}

impl Cause {
    /// What the machine calls a failure of which the system says this.
    fn shows_as(self, kind: FailureKind) -> bool {
        use FailureKind::*;
        match self {
            Cause::Assertion => kind == Assertion,
            // The C library aborts where it finds its heap or a lock in disorder.
            Cause::Abort => {
                matches!(kind, Abort | DoubleFree | InvalidFree | OutOfBounds | SyncMisuse)
            }
            Cause::UncaughtException => matches!(kind, UncaughtException | Abort),
            Cause::Crash => matches!(
                kind,
                NullDereference
                    | OutOfBounds
                    | UseAfterFree
                    | DeadStack
                    | DoubleFree
                    | InvalidFree
                    | StackOverflow
                    | Crash
                    | Unreachable
                    | SyncMisuse
            ),
            Cause::Arithmetic => kind == DivisionByZero,
        }
    }
}
