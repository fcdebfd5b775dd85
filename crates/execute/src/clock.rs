//! The time that limits are about: wall time, but for what other programs took of it.
//!
//! A limit that nobody asked for is there so that somebody who waits is not kept waiting; on a machine with other things to do it must
//! not end a search that hardly had the processor. Once [`be_patient`] was called, the time that processes of this command stood
//! in the queue for a processor does not count: the kernel says how long that was (`/proc/thread-self/schedstat`), and each process
//! adds its own, or its part if several work at once ([`is_one_of`]), to a page that all share. Where the kernel does not say,
//! and without `be_patient`, this is wall time: what a user demands in seconds is in seconds of a clock.
//!
//! *Errs* on the short side: processes that end within a tick add nothing, and never more than [`MOST_WAITED`] parts of the time
//! that passed count as waiting.

use std::fs;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::Shared;
use crate::budgets::{CLOCK_TICK, MOST_WAITED};

struct Clock {
    began: Instant,
    /// Nanoseconds that all processes together have waited.
    waited: Shared<AtomicU64>,
}

// SAFETY: a pointer to a page that is never unmapped, because a static is never dropped, to an atomic.
unsafe impl Send for Clock {}
// SAFETY: the same.
unsafe impl Sync for Clock {}

static CLOCK: OnceLock<Clock> = OnceLock::new();
/// The process that the next two are about: a forked one counts anew.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// What it has added, in nanoseconds.
static ADDED: AtomicU64 = AtomicU64::new(0);
/// How many work at once.
static WORKERS: AtomicU64 = AtomicU64::new(1);
/// When it last looked, in nanoseconds since the clock began.
static LOOKED: AtomicU64 = AtomicU64::new(0);

/// From now on, waiting for a processor does not count.
pub fn be_patient() {
    if let Ok(waited) = Shared::new() {
        let _ = CLOCK.set(Clock { began: Instant::now(), waited });
    }
}

/// This process is one of so many that work at once.
pub fn is_one_of(workers: usize) {
    WORKERS.store(workers.max(1) as u64, Ordering::Relaxed);
}

/// What deadlines are made from and compared with.
pub fn now() -> Instant {
    let wall = Instant::now();
    let Some(clock) = CLOCK.get() else { return wall };
    let passed = wall.saturating_duration_since(clock.began);
    let at = passed.as_nanos() as u64;
    // Which process this is costs a system call, and short runs ask for the time after each: a forked one is noticed at the
    // next tick.
    if at.saturating_sub(LOOKED.load(Ordering::Relaxed)) >= CLOCK_TICK.as_nanos() as u64 {
        LOOKED.store(at, Ordering::Relaxed);
        clock.look(PROCESS.load(Ordering::Relaxed) != std::process::id());
    }
    let waited = Duration::from_nanos(clock.waited.load(Ordering::Relaxed));
    let most = passed * MOST_WAITED.0 / MOST_WAITED.1;
    wall.checked_sub(waited.min(most)).unwrap_or(wall)
}

/// A moment of this clock on the wall, as far as can be said now; never earlier.
pub fn on_the_wall(moment: Instant) -> Instant {
    let late = Instant::now().saturating_duration_since(now());
    moment.checked_add(late).unwrap_or(moment)
}

/// Adds what this process waited, though the tick is not over: for one that is about to end.
pub fn account() {
    if let Some(clock) = CLOCK.get() {
        clock.look(PROCESS.load(Ordering::Relaxed) != std::process::id());
    }
}

impl Clock {
    fn look(&self, is_new: bool) {
        if is_new {
            PROCESS.store(std::process::id(), Ordering::Relaxed);
            ADDED.store(0, Ordering::Relaxed);
        }
        let Some(waited) = waited() else { return };
        let before = ADDED.fetch_max(waited, Ordering::Relaxed);
        let part = waited.saturating_sub(before) / WORKERS.load(Ordering::Relaxed);
        self.waited.fetch_add(part, Ordering::Relaxed);
    }
}

/// Nanoseconds that this thread was ready to run and did not.
fn waited() -> Option<u64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_does_not_count_and_never_turns_the_clock_back() {
        be_patient();
        let (wall, before) = (Instant::now(), now());
        // As if somebody else had had the processor for a second.
        CLOCK.get().expect("set").waited.fetch_add(1_000_000_000, Ordering::Relaxed);
        while wall.elapsed() < Duration::from_millis(300) {
            std::hint::spin_loop();
        }
        let passed = now().saturating_duration_since(before);
        assert!(passed < Duration::from_millis(150), "most of it was waiting: {passed:?}");
        assert!(now() > before, "a part of the time counts in any case");
    }
}
