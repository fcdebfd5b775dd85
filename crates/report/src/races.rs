//! A race in words, the same in all reports.

use unravel_results::{HeldLock, Race, RaceAccess};
use unravel_trace::Place;

use crate::words::{at, listed};

/// Lines that are named of those that hold a lock, or do not.
const MOST_LINES: usize = 4;

/// `T0.1 writes count`.
pub fn access(access: &RaceAccess, object: &str) -> String {
    let how = if access.atomic { " atomically" } else { "" };
    format!("{} {} {object}{how}", access.who.key.thread, access.who.verb)
}

/// `holds m, taken at a.c:9`.
pub fn locks(access: &RaceAccess) -> String {
    let lock = |held: &HeldLock| {
        let mode = if held.shared { " for reading" } else { "" };
        format!("{}{mode}, taken at {}", held.name, at(&held.taken))
    };
    match access.holds.as_slice() {
        [] => "holds no lock".to_owned(),
        some => format!("holds {}", listed(&some.iter().map(lock).collect::<Vec<_>>())),
    }
}

/// Which lock other accesses hold.
pub fn guard(race: &Race) -> Option<String> {
    let guard = race.guard.as_ref()?;
    let object = &race.object;
    let held = lines(&guard.held_at);
    Some(match guard.missing_at.as_slice() {
        [] => format!("in this run {} is held wherever {object} is accessed", guard.lock),
        missing => format!(
            "in this run {object} is accessed with {} held at {held}, without it at {}",
            guard.lock,
            lines(missing)
        ),
    })
}

fn lines(places: &[Place]) -> String {
    let mut texts: Vec<String> = places.iter().take(MOST_LINES).map(at).collect();
    if let Some(more) = places.len().checked_sub(MOST_LINES + 1) {
        texts.push(format!("{} more", more + 1));
    }
    listed(&texts)
}
