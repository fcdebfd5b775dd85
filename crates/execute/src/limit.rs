//! When to end: at a moment, or when somebody wants it. Whatever takes long asks, again and again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::clock;

/// Until when something may go on. Without a moment and without anybody, for ever.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limit<'a> {
    pub deadline: Option<Instant>,
    pub interrupt: Option<&'a AtomicBool>,
}

impl<'a> Limit<'a> {
    pub fn new(deadline: Option<Instant>, interrupt: Option<&'a AtomicBool>) -> Limit<'a> {
        Limit { deadline, interrupt }
    }

    /// The same, but no longer than this.
    #[must_use]
    pub fn at_most(self, deadline: Instant) -> Limit<'a> {
        Limit { deadline: Some(self.deadline.map_or(deadline, |own| own.min(deadline))), ..self }
    }

    /// Whether the time is not up, and nobody wants it to end.
    pub fn may_go_on(&self) -> bool {
        self.deadline.is_none_or(|deadline| clock::now() < deadline) && !self.is_interrupted()
    }

    pub fn is_interrupted(&self) -> bool {
        self.interrupt.is_some_and(|interrupt| interrupt.load(Ordering::Relaxed))
    }

    /// Time that is left, if there is a moment.
    pub fn left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(clock::now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_over_at_its_moment_or_when_somebody_says_so() {
        let flag = AtomicBool::new(false);
        let now = Instant::now();
        // Whoever is patient is so for the whole process: another test may have turned the clock back a little.
        let past = now.checked_sub(Duration::from_secs(5)).unwrap_or(now);
        let limit = Limit::new(None, Some(&flag));
        assert!(limit.may_go_on() && limit.left().is_none());
        assert!(!limit.at_most(past).may_go_on());
        assert!(limit.at_most(now + Duration::from_secs(600)).may_go_on());
        flag.store(true, Ordering::Relaxed);
        assert!(!limit.may_go_on() && limit.is_interrupted());
    }
}
