//! What a failure needs of its environment, in words, the same in all reports.

use unravel_results::Needed;

use crate::words::count;

/// `needs the wait of T1 at pool.c:31 to time out just then`; nothing if it needs nothing.
pub fn sentence(needed: &[Needed]) -> Option<String> {
    const SHOWN: usize = 3;
    if needed.is_empty() {
        return None;
    }
    let mut parts: Vec<String> = needed.iter().take(SHOWN).map(Needed::to_string).collect();
    if needed.len() > SHOWN {
        parts.push(format!("{} more such", needed.len() - SHOWN));
    }
    Some(format!("needs {}", parts.join(", and ")))
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
