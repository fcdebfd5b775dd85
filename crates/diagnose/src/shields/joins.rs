//! Several threads that nobody waits for: who adds up what they have not done yet would have to join all of them.
//!
//! One order is not enough then, and a few that hold together say less than what is missing. Claimed if no schedule fails in which the
//! thread that comes too early first waits for the end of all that it started ([`Shield::Joined`]). Named are those of them that
//! write what it reads from there on, in a run that passes so; the others may run on.

use unravel_results::Pattern;
use unravel_trace::{EventKind, Shield, ThreadName, ThreadTag, Trace};

use super::naming::writes;
use super::ordering;
use super::orders::{End, Wanted};
use crate::failing::Failing;
use crate::pattern::{Words, listed};

/// A use that comes too early, and one of those that come too late.
pub struct Unjoined {
    pub early: End,
    pub late: End,
    object: String,
}

impl Unjoined {
    /// The first of early uses of what threads below have not done yet.
    pub fn of(failing: &Failing, early: &[Wanted]) -> Option<Unjoined> {
        let trace = &failing.observed.trace;
        let below = early.iter().filter(|order| {
            order.then.thread.is_ancestor_of(&order.first.thread)
                && order.then.event.is_some_and(|used| {
                    // Who was started only later is none of those that should be waited for.
                    trace.events[..used].iter().any(|event| match event.kind {
                        EventKind::Fork { child } => {
                            *trace.thread_name(child) == order.first.thread
                        }
                        _ => false,
                    })
                })
        });
        let wanted = below.min_by_key(|order| order.then.event)?;
        let Wanted { first, then, object, .. } = wanted.clone();
        Some(Unjoined { early: then, late: first, object })
    }

    pub fn shield(&self) -> Shield {
        Shield::Joined { by: ThreadTag::of(&self.early.thread), before: self.early.mark }
    }

    /// Whether the thread had waited for another before it came too early.
    fn has_waited_for(&self, failing: &Trace, other: &ThreadName) -> bool {
        let before = &failing.events[..self.early.event.unwrap_or(0)];
        before.iter().any(|event| match event.kind {
            EventKind::Join { child } => {
                failing.thread_name(child) == other
                    && *failing.thread_name(event.thread) == self.early.thread
            }
            _ => false,
        })
    }

    /// Those that write what the thread reads later, in a run in which it has waited for them.
    fn threads(&self, failing: &Trace, joined: &Trace) -> Vec<ThreadName> {
        let own =
            |index: &usize| *joined.thread_name(joined.events[*index].thread) == self.early.thread;
        let address =
            |index: usize| joined.events[index].kind.location().map(|at| joined.address(at));
        let read: Vec<(usize, u64)> = (0..joined.events.len())
            .filter(own)
            .filter_map(|index| Some((index, address(index)?)))
            .collect();
        let mut threads: Vec<ThreadName> = Vec::new();
        for (index, event) in joined.events.iter().enumerate() {
            let name = joined.thread_name(event.thread);
            let is_read = || {
                let at = address(index);
                read.iter().any(|(later, address)| *later > index && Some(*address) == at)
            };
            if self.early.thread.is_ancestor_of(name)
                && !threads.contains(name)
                && !self.has_waited_for(failing, name)
                && writes(&event.kind)
                && is_read()
            {
                threads.push(name.clone());
            }
        }
        threads.sort();
        threads
    }

    pub fn words(&self, failing: &Failing, joined: Option<&Trace>, passing: &[&Trace]) -> Words {
        let trace = &failing.observed.trace;
        let mut threads = joined.map_or_else(Vec::new, |joined| self.threads(trace, joined));
        if !threads.contains(&self.late.thread) {
            threads.insert(0, self.late.thread.clone());
        }
        let runs: Vec<&Trace> = joined.into_iter().chain(passing.iter().copied()).collect();
        // Who went by what one of them has said needs no join if that is said in time.
        let announced = ordering::announced_by_some(
            failing,
            &self.early,
            &self.late,
            &self.object,
            &threads,
            &runs,
        );
        if let Some(words) = announced {
            return words;
        }
        let names: Vec<String> = threads.iter().map(ToString::to_string).collect();
        let (names, End { thread, verb, place, .. }) = (listed(&names), &self.early);
        let (verb_ends, them) = if threads.len() == 1 { ("runs", "it") } else { ("run", "them") };
        let (here, there, object) = (place.short(), self.late.place.short(), &self.object);
        Words {
            pattern: Pattern::MissingJoin,
            sentence: format!(
                "{thread} {verb} {object} at {here} while {names} still {verb_ends} and {} {object} only later, at {there}: nobody has waited \
                 for {them} to end",
                self.late_does(&threads)
            ),
            advice: format!("join {names} before {here}"),
            region: vec![self.late.place.clone(), place.clone()],
        }
    }

    /// Who of them does what comes too late.
    fn late_does(&self, threads: &[ThreadName]) -> String {
        match threads {
            [_] => self.late.verb.to_string(),
            _ => format!("{} {}", self.late.thread, self.late.verb),
        }
    }
}
