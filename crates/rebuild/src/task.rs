//! What is to be rebuilt, from a decoded log, as Symbiosis has it of its paths; or why it cannot be.

use std::sync::Arc;

use unravel_recording::{Begin, End, Ending, Log, Lost, Record, Sync, SyncKind, Thread};
use unravel_trace::{Beyond, Leg, Route, ThreadName, Turn};

use crate::ending::{Cause, Expected};
use crate::steer::{Hint, HintKind, Stamped};

/// What is known of a run.
#[derive(Clone, Debug)]
pub struct Task {
    pub route: Arc<Route>,
    /// By leg of the route: its sync operations, in its own order. May be empty.
    pub hints: Vec<Vec<Hint>>,
    /// By leg: it is only the end of the thread's path.
    pub middle: Vec<bool>,
    pub expected: Expected,
}

/// Why a log cannot be rebuilt.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    #[error(
        "the log has neither branches nor sync operations: was the program built by unravel-cc?"
    )]
    Nothing,
    #[error("the log of {thread} does not decode: {reason}")]
    Undecodable { thread: ThreadName, reason: String },
    #[error("the log says nothing of how the run ended (killed), so there is no failure to find")]
    Killed,
    #[error("the program put another in its place (exec), so there is no end to compare with")]
    Replaced,
    #[error("signal {0} says nothing of the program")]
    Signal(i32),
}

impl Task {
    pub fn of(log: &Log) -> Result<Task, Refused> {
        // A program may well hang without a branch, but then it has locked something.
        let is_something =
            |record: &Record| matches!(record, Record::Branch { .. } | Record::Sync(_));
        if !log.threads.iter().any(|thread| thread.records.iter().any(is_something)) {
            return Err(Refused::Nothing);
        }
        for thread in &log.threads {
            refuse_parts(thread)?;
        }
        let expected = expected(&log.ending)?;
        let legs = log.threads.iter().map(|thread| leg(thread, &expected)).collect();
        let functions = log.functions.iter().map(|function| match &function.unrecorded {
            None => function.name.clone(),
            // No name of a function: its branches are not looked at.
            Some(_) => String::new(),
        });
        let route = Route { functions: functions.collect(), legs };
        let hints = log.threads.iter().map(hints).collect();
        let middle = log.threads.iter().map(begins_in_the_middle).collect();
        Ok(Task { route: Arc::new(route), hints, middle, expected })
    }
}

fn refuse_parts(thread: &Thread) -> Result<(), Refused> {
    let name = || thread.name.clone();
    thread.lost.iter().try_for_each(|lost| match lost {
        Lost::Undecodable { reason, .. } | Lost::NoRestart { reason } | Lost::Given { reason } => {
            Err(Refused::Undecodable { thread: name(), reason: reason.clone() })
        }
        Lost::Recycled { .. } | Lost::Tail => Ok(()),
    })
}

fn begins_in_the_middle(thread: &Thread) -> bool {
    let recycled = |lost: &Lost| matches!(lost, Lost::Recycled { .. });
    matches!(thread.begin, Begin::Middle { .. }) || thread.lost.iter().any(recycled)
}

fn expected(ending: &Ending) -> Result<Expected, Refused> {
    let failure =
        |thread: &ThreadName, cause| Ok(Expected::Failure { thread: thread.clone(), cause });
    match ending {
        Ending::Exited { code } => Ok(Expected::Exit { code: *code }),
        Ending::Assertion { thread, .. } => failure(thread, Cause::Assertion),
        Ending::Abort { thread, .. } => failure(thread, Cause::Abort),
        Ending::UncaughtException { thread, .. } => failure(thread, Cause::UncaughtException),
        Ending::Signal { thread, signal, .. } => match signal {
            // SIGILL, SIGTRAP, SIGBUS, SIGSEGV.
            4 | 5 | 7 | 11 => failure(thread, Cause::Crash),
            8 => failure(thread, Cause::Arithmetic),
            6 => failure(thread, Cause::Abort),
            other => Err(Refused::Signal(*other)),
        },
        Ending::Hang => Ok(Expected::Hang),
        Ending::Killed => Err(Refused::Killed),
        Ending::Replaced => Err(Refused::Replaced),
    }
}

fn leg(thread: &Thread, expected: &Expected) -> Leg {
    let turns = thread.records.iter().filter_map(|record| match record {
        Record::Branch { function, block, successor } => {
            Some(Turn { function: function.0, block: block.0, successor: *successor })
        }
        _ => None,
    });
    let fails = matches!(expected, Expected::Failure { thread: who, .. } if *who == thread.name);
    let then = match &thread.end {
        _ if thread.lost.contains(&Lost::Tail) => Beyond::Unknown,
        _ if fails => Beyond::Ended,
        End::Returned => Beyond::Ended,
        End::Pending { .. } | End::Running => Beyond::Stays,
    };
    Leg { thread: thread.name.clone(), turns: turns.collect(), then }
}

/// Sync operations that the machine has events for. A condition wait is two of its events, four of the log's: the mutex is given
/// back in the first, and taken again in the second.
fn hints(thread: &Thread) -> Vec<Hint> {
    let hint = |sync: &Sync| {
        let kind = match sync.kind {
            SyncKind::TryLock { acquired: false }
            | SyncKind::TryLockShared { acquired: false }
            | SyncKind::SemTryWait { acquired: false } => HintKind::Fail,
            SyncKind::Lock
            | SyncKind::LockShared
            | SyncKind::TryLock { .. }
            | SyncKind::TryLockShared { .. }
            | SyncKind::SemWait
            | SyncKind::SemTryWait { .. } => HintKind::Acquire,
            SyncKind::Unlock | SyncKind::SemPost => HintKind::Release,
            SyncKind::Wait => HintKind::Wait,
            SyncKind::Wake { timed_out } => HintKind::Wake { timed_out },
            SyncKind::Signal | SyncKind::Broadcast => HintKind::Signal,
            SyncKind::Create => HintKind::Fork,
            SyncKind::Join => HintKind::Join,
            SyncKind::Begin
            | SyncKind::Exit
            | SyncKind::BarrierArrive
            | SyncKind::BarrierLeave
            | SyncKind::Once
            | SyncKind::OnceDone => return None,
        };
        // A thread's number and a lock's may be the same.
        let is_thread = matches!(kind, HintKind::Fork | HintKind::Join);
        let object = sync.object.0 << 1 | u64::from(is_thread);
        use HintKind::{Fail, Signal, Wait, Wake};
        // A wait is stamped before it is one, so that a signal with a larger stamp may have come too early all the same.
        let says_nothing = matches!(kind, Fail | Signal | Wait | Wake { .. });
        let on = (!says_nothing).then_some(Stamped { object, stamp: sync.stamp });
        Some(Hint { kind, on, also: None })
    };
    let syncs = thread.records.iter().filter_map(|record| match record {
        Record::Sync(sync) => Some(sync),
        _ => None,
    });
    let mut hints: Vec<Hint> = Vec::new();
    for next in syncs.filter_map(hint) {
        match (hints.last_mut(), next.kind) {
            (Some(wait), HintKind::Release)
                if wait.kind == HintKind::Wait && wait.also.is_none() =>
            {
                wait.also = next.on;
            }
            (Some(last), HintKind::Wake { .. }) if last.kind == HintKind::Acquire => {
                *last = Hint { also: last.on, ..next };
            }
            _ => hints.push(next),
        }
    }
    hints
}
