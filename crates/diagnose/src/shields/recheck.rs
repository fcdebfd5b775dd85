//! A condition that is not looked at again: somebody is woken, but what it was woken for is gone before it has the lock.
//!
//! Claimed from the failing run alone, and therefore only if all of this is there: the thread read a value under the lock and waited;
//! it was signalled; others changed that value and it is, when the thread goes on, what it had waited for to change; the thread does
//! not wait again, as it would if it looked; and the failure is its own, or depends on that value.
//!
//! A condition of several values (a queue's two ends, a count and how many are needed) is evaluated: with what is in memory when
//! the thread goes on, every branch that led to the wait goes the same way again. *Not modelled*: values that were written in
//! other sizes than they are read, of which nothing is said.

use rustc_hash::FxHashMap;
use unravel_results::Pattern;
use unravel_trace::{
    ConditionKind, EventKind, LocationId, Place, SymbolId, Symbolic, ThreadId, Trace, Value,
    WakeCause,
};

use super::naming::writes;
use super::samples::{read, written};
use crate::failing::Failing;
use crate::pattern::Words;
use crate::points::{Extents, Touch};
use crate::relevance::Relevance;

/// The condition, where it was looked at and waited for, who took it away and where it is used.
struct Missed {
    at: LocationId,
    check: usize,
    wait: usize,
    wake: usize,
    taker: usize,
    used: Option<usize>,
    /// Whether the value is again what it was, else only the condition is.
    is_back: bool,
    /// Whether the run ends before the thread gives the lock back.
    inside: bool,
}

/// A wait and what its thread does around it with the lock.
pub struct Waiting {
    pub thread: ThreadId,
    pub lock: usize,
    pub wait: usize,
    pub wake: usize,
    /// Where the lock is given back.
    left: usize,
}

pub fn missed(failing: &Failing, relevance: &Relevance, extents: &Extents) -> Option<Words> {
    let trace = &failing.observed.trace;
    let wakes = (0..trace.events.len()).rev().filter(|index| {
        matches!(trace.events[*index].kind, EventKind::Wake { by: WakeCause::Signal(_), .. })
    });
    let symbolic = failing.symbolic.as_deref();
    let missed = wakes.filter_map(|wake| {
        let waiting = Waiting::ended_by(trace, wake)?;
        waiting.changed_back(trace).or_else(|| waiting.unmet(trace, symbolic?))
    });
    let missed = missed.into_iter().find(|missed| {
        let own = *trace.thread_name(trace.events[missed.wake].thread) == failing.failure.thread;
        let touch = Touch::of_event(trace, &trace.events[missed.check]);
        own && (missed.is_back || missed.inside) || relevance.rank(&touch, extents) < 2
    })?;
    told(trace, &missed)
}

impl Waiting {
    /// `None` if the thread waits again with the lock still held, as who looks does.
    pub fn ended_by(trace: &Trace, wake: usize) -> Option<Waiting> {
        let EventKind::Wake { at: cond, mutex, .. } = trace.events[wake].kind else { return None };
        let thread = trace.events[wake].thread;
        let own = |index: &usize| trace.events[*index].thread == thread;
        let waits = |index: &usize| {
            own(index)
                && matches!(trace.events[*index].kind, EventKind::Wait { at, .. } if at == cond)
        };
        let wait = (0..wake).rev().find(waits)?;
        let takes = |index: &usize| match trace.events[*index].kind {
            EventKind::Lock { at, .. } => at == mutex,
            EventKind::Wake { mutex: taken, .. } => taken == mutex,
            _ => false,
        };
        let lock = (0..wait).rev().find(|index| own(index) && takes(index)).unwrap_or(0);
        let leaves = |index: &usize| {
            own(index)
                && matches!(trace.events[*index].kind, EventKind::Unlock { at } if at == mutex)
        };
        let left = (wake + 1..trace.events.len()).find(leaves).unwrap_or(trace.events.len());
        let is_again = (wake + 1..left).any(|index| waits(&index));
        (!is_again).then_some(Waiting { thread, lock, wait, wake, left })
    }

    /// What others write to a location while the thread waits.
    fn changes(&self, trace: &Trace, at: LocationId) -> Vec<usize> {
        let changes = (self.wait..self.wake).filter(|index| {
            let event = &trace.events[*index];
            let same = event.kind.location().map(|at| trace.address(at)) == Some(trace.address(at));
            event.thread != self.thread && same && writes(&event.kind)
        });
        changes.collect()
    }

    fn missed(&self, trace: &Trace, check: usize, taker: usize, is_back: bool) -> Option<Missed> {
        let at = trace.events[check].kind.location()?;
        let used = (self.wake + 1..self.left).find(|index| {
            let event = &trace.events[*index];
            event.thread == self.thread && event.kind.location() == Some(at)
        });
        let inside = self.left == trace.events.len();
        let (wait, wake) = (self.wait, self.wake);
        Some(Missed { at, check, wait, wake, taker, used, is_back, inside })
    }

    /// A value that was changed, and changed back.
    fn changed_back(&self, trace: &Trace) -> Option<Missed> {
        let own = |index: &usize| trace.events[*index].thread == self.thread;
        (self.lock..self.wait).rev().filter(own).find_map(|check| {
            let EventKind::Read { at, value: seen } = &trace.events[check].kind else {
                return None;
            };
            let changes = self.changes(trace, *at);
            let taker = *changes.last().filter(|_| changes.len() > 1)?;
            let is_back = written(&trace.events[taker].kind) == Some(seen);
            is_back.then(|| self.missed(trace, check, taker, true))?
        })
    }

    /// A condition that was met, or is not yet, and is not when the thread goes on.
    fn unmet(&self, trace: &Trace, symbolic: &Symbolic) -> Option<Missed> {
        let conditions: Vec<_> = symbolic
            .conditions
            .iter()
            .filter(|condition| {
                condition.thread == self.thread
                    && condition.why == ConditionKind::Branch
                    && (self.lock..self.wait).contains(&(condition.after as usize))
            })
            .collect();
        let mut values: FxHashMap<SymbolId, u128> = FxHashMap::default();
        let mut last: Option<(usize, usize)> = None;
        for symbol in conditions.iter().flat_map(|c| symbolic.exprs.symbols(c.holds)) {
            // Events without accesses say nothing of where theirs would be.
            let event = symbolic.shadows.iter().position(|shadow| {
                (shadow.first..shadow.first + shadow.reads).contains(&symbol.0)
            })?;
            let was = word(read(&trace.events.get(event)?.kind)?)?;
            let is_again = (self.lock..self.wait).contains(&event)
                && trace.events[event].thread == self.thread;
            let value = if is_again { self.later(trace, event, was)? } else { was };
            values.insert(symbol, u128::from(value));
            let at = trace.events[event].kind.location()?;
            let taker = self.changes(trace, at).last().copied().filter(|_| is_again);
            // What was changed last is what was taken away.
            if let Some(taker) = taker.filter(|taker| last.is_none_or(|(_, known)| known < *taker))
            {
                last = Some((event, taker));
            }
        }
        let (check, taker) = last?;
        let value = |symbol: SymbolId| values.get(&symbol).copied().unwrap_or_default();
        let waits = |condition: &&unravel_trace::Condition| {
            symbolic.exprs.evaluate(condition.holds, &value) == 1
        };
        conditions.iter().all(waits).then(|| self.missed(trace, check, taker, false))?
    }

    /// What is there when the thread goes on, where an event of it read `was`; `None` if that was written in parts.
    fn later(&self, trace: &Trace, event: usize, was: u64) -> Option<u64> {
        let at = trace.events[event].kind.location()?;
        let range = |at: LocationId| {
            let from = trace.address(at);
            from..from + u64::from(trace.location(at).bytes.max(1))
        };
        let own = range(at);
        let overlaps = |index: &usize| {
            let event = &trace.events[*index];
            let other = event.kind.location().filter(|_| writes(&event.kind)).map(range);
            other.is_some_and(|other| other.start < own.end && own.start < other.end)
        };
        let Some(index) = (event + 1..self.wake).rev().find(overlaps) else { return Some(was) };
        let kind = &trace.events[index].kind;
        (range(kind.location()?) == own).then(|| word(written(kind)?))?
    }
}

fn word(value: &Value) -> Option<u64> {
    match value {
        Value::Word(word) => Some(*word),
        Value::Bytes(_) => None,
    }
}

fn told(trace: &Trace, missed: &Missed) -> Option<Words> {
    let place = |index: usize| trace.place(&trace.events[index]);
    let thread = |index: usize| trace.thread_name(trace.events[index].thread);
    let (wait, check, taken) = (place(missed.wait)?, place(missed.check)?, place(missed.taker)?);
    let used: &Place = missed.used.and_then(place).unwrap_or(wait);
    let value = written(&trace.events[missed.taker].kind)?;
    let (me, other) = (thread(missed.wake), thread(missed.taker));
    let what = trace.location(missed.at).shown();
    let (waits, takes, goes_on) = (wait.short(), taken.short(), used.short());
    let sentence = match missed.is_back {
        true => format!(
            "{me} is woken at {waits}, but {other} sets {what} back to {value} at {takes} before {me} has the lock again; {me} goes on at \
             {goes_on} as if it were not"
        ),
        false => format!(
            "{me} is woken at {waits}, but after what {other} does to {what} at {takes}, before {me} has the lock again, {me} would have to \
             wait as it did at {}; it goes on at {goes_on}",
            check.short()
        ),
    };
    Some(Words {
        pattern: Pattern::MissedRecheck,
        sentence,
        advice: format!(
            "look at {what} again after the wait at {}: `while` instead of `if` at {}",
            wait.short(),
            check.short()
        ),
        region: vec![check.clone(), wait.clone()],
    })
}
