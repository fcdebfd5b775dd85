//! Whether the check that failed is made at all in runs that pass.
//!
//! An order can keep a failure away by keeping a thread from the check: a flag is looked at before it is set, and what is demanded
//! behind it is never asked for. That mends nothing. Orders with which the check is made and holds are said first; an order that
//! only avoids it is said to do so; and where no run that passes comes to the check, what it demands is wrong, not the order.
//!
//! *Not modelled*: checks whose condition depends on nothing that threads share, of which nothing is said.

use rustc_hash::FxHashSet;
use unravel_results::Pattern;
use unravel_trace::{Bug, FailureKind, Place, SiteId, Trace};

use super::orders::Wanted;
use super::trial::Trials;
use crate::budgets::{CHECKED_RUNS, FEWEST_FAILURES};
use crate::failing::Failing;
use crate::pattern::Words;

/// What a condition of the program was computed from last, before it failed.
pub struct Check {
    site: SiteId,
    place: Place,
}

impl Check {
    pub fn of(failing: &Failing) -> Option<Check> {
        if failing.failure.kind != FailureKind::Assertion {
            return None;
        }
        let symbolic = failing.symbolic.as_deref()?;
        let Bug::Condition { thread, fails, .. } = symbolic.bug else { return None };
        let symbols: FxHashSet<u32> =
            symbolic.exprs.symbols(fails).into_iter().map(|symbol| symbol.0).collect();
        let events = &failing.observed.trace.events;
        let last = events.iter().zip(&symbolic.shadows).rev().find(|(event, shadow)| {
            let mut reads = shadow.first..shadow.first + shadow.reads;
            event.thread == thread && reads.any(|read| symbols.contains(&read))
        });
        Some(Check { site: last?.0.site, place: failing.failure.place()?.clone() })
    }

    fn is_made(&self, run: &Trace) -> bool {
        run.events.iter().any(|event| event.site == self.site)
    }

    /// Whether runs pass with an order only because nobody comes to the check.
    pub fn is_avoided(&self, trials: &mut Trials<'_>, wanted: &Wanted) -> bool {
        let runs = trials.passing_traces(&[wanted.shield], CHECKED_RUNS);
        !runs.is_empty() && !runs.iter().any(|run| self.is_made(run))
    }

    /// Whether no run passes that comes to the check, whatever the order.
    pub fn never_holds(&self, trials: &mut Trials<'_>, passing: &[&Trace]) -> bool {
        let runs = trials.passing_traces(&[], CHECKED_RUNS);
        runs.len() as u64 >= FEWEST_FAILURES
            && !passing.iter().copied().chain(&runs).any(|run| self.is_made(run))
    }

    /// What is said of an order that only avoids the check.
    pub fn avoided(&self, words: Words) -> Words {
        let advice = format!(
            "{}; with that, what {} demands is not asked for any more, rather than made to hold",
            words.advice,
            self.place.short()
        );
        Words { advice, ..words }
    }

    /// What is said if it holds in no run.
    pub fn unmet(&self, failing: &Failing, wanted: &Wanted) -> Words {
        let Wanted { first, then, object, .. } = wanted;
        let (at, who) = (self.place.short(), &failing.failure.thread);
        Words {
            pattern: Pattern::NeverHolds,
            sentence: format!(
                "whenever {who} comes to what {at} demands, it fails; runs pass only where it does not come there, as when {} {} \
                 {object} at {} before {} {} it at {}",
                first.thread,
                first.verb,
                first.place.short(),
                then.thread,
                then.verb,
                then.place.short()
            ),
            advice: format!(
                "no order of the threads that was tried makes it hold: what {at} demands, or what leads there, is wrong"
            ),
            region: vec![self.place.clone()],
        }
    }
}
