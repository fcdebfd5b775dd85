//! What a failure needs of its environment, in words, the same in all reports.

use unravel_results::Needed;
use unravel_trace::Deviation;

use crate::words::count;

/// `needs the wait of T1 at pool.c:31 to time out just then`; nothing if it needs nothing.
pub fn sentence(needed: &[Needed]) -> Option<String> {
    const SHOWN: usize = 3;
    if needed.is_empty() {
        return None;
    }
    let mut parts: Vec<String> = needed.iter().take(SHOWN).map(one).collect();
    if needed.len() > SHOWN {
        parts.push(format!("{} more such", needed.len() - SHOWN));
    }
    Some(format!("needs {}", parts.join(", and ")))
}

fn one(needed: &Needed) -> String {
    let who = &needed.thread;
    let at = needed.place.as_ref().map_or(String::new(), |place| format!(" at {}", place.short()));
    match needed.kind {
        Deviation::Stall => format!("others to be late when the sleep of {who}{at} is over"),
        Deviation::EarlyTimeout => format!("the wait of {who}{at} to time out just then"),
        Deviation::SpuriousWakeup => format!("{who} to wake{at} without a signal"),
        Deviation::WeakFailure => {
            format!(
                "the weak compare-exchange of {who}{at} to fail although the value is the expected one"
            )
        }
        Deviation::TryLockFailure => {
            format!("the try_lock of {who}{at} to fail although the mutex is free")
        }
        Deviation::NoMemory => format!("an allocation of {who}{at} to fail"),
    }
}

/// `without deviations of the environment`, `with at most 1 deviation of it`.
pub fn at_most(deviations: u32) -> String {
    match deviations {
        0 => bound(0),
        some => format!("with at most {} of the environment", count(u64::from(some), "deviation")),
    }
}

/// `without deviations of the environment`, `with one`, `with 2 deviations`.
pub fn bound(deviations: u32) -> String {
    match deviations {
        0 => "without deviations of the environment".to_owned(),
        1 => "with one".to_owned(),
        more => format!("with {}", count(u64::from(more), "deviation")),
    }
}
