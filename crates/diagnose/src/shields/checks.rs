//! Whether the check that failed is made at all in runs that pass.
//!
//! An order can keep a failure away by keeping a thread from the check: a flag is looked at before it is set, and what is demanded
//! behind it is never asked for. That mends nothing. Orders with which the check is made and holds are said first; an order that
//! only avoids it is said to do so; and where no run that passes comes to the check, what it demands is wrong, not the order. A use
//! of a sync object that was destroyed is such a check, too: where it never goes well, it is the destruction that comes too early.
//!
//! *Not modelled*: checks whose condition depends on nothing that threads share, of which nothing is said.

use rustc_hash::FxHashSet;
use unravel_results::Pattern;
use unravel_trace::{
    Bug, Event, EventKind, FailureKind, Place, Shield, SiteId, ThreadId, ThreadName, Trace,
};

use super::orders::Wanted;
use super::trial::Trials;
use crate::budgets::{CHECKED_RUNS, FEWEST_FAILURES};
use crate::failing::Failing;
use crate::pattern::Words;

/// What a condition of the program was computed from, where it failed: what its line reads of what threads share, else what was
/// read last of it.
pub struct Check {
    sites: FxHashSet<SiteId>,
    thread: ThreadName,
    place: Place,
    /// The event that destroyed what is used there: then the use is the check.
    destroyed: Option<usize>,
}

/// Where a sync object was destroyed that another thread uses.
fn destroyed(failing: &Failing) -> Option<usize> {
    let trace = &failing.observed.trace;
    if failing.failure.kind != FailureKind::SyncMisuse {
        return None;
    }
    let at = failing.failure.related.iter().find_map(|related| related.stack.first())?;
    trace.events.iter().rposition(|event| {
        matches!(event.kind, EventKind::SyncDestroy { .. })
            && trace.place(event) == Some(at)
            && *trace.thread_name(event.thread) != failing.failure.thread
    })
}

impl Check {
    pub fn of(failing: &Failing) -> Option<Check> {
        let (trace, place) = (&failing.observed.trace, failing.failure.place()?.clone());
        let events = &trace.events;
        if let Some(destroyed) = destroyed(failing) {
            let (sites, destroyed) = (FxHashSet::default(), Some(destroyed));
            return Some(Check { sites, thread: failing.failure.thread.clone(), place, destroyed });
        }
        if failing.failure.kind != FailureKind::Assertion {
            return None;
        }
        let symbolic = failing.symbolic.as_deref()?;
        let (thread, symbols): (ThreadId, FxHashSet<u32>) = match symbolic.bug {
            Bug::Condition { thread, fails, .. } => {
                let symbols = symbolic.exprs.symbols(fails);
                (thread, symbols.into_iter().map(|symbol| symbol.0).collect())
            }
            Bug::Reached { thread, .. } => (thread, FxHashSet::default()),
            _ => return None,
        };
        // What a path alone decides was decided by what its thread saw last.
        let last = events.iter().zip(&symbolic.shadows).rev().find(|(event, shadow)| {
            let mut reads = shadow.first..shadow.first + shadow.reads;
            let is_any = symbols.is_empty() && shadow.reads > 0;
            event.thread == thread && (is_any || reads.any(|read| symbols.contains(&read)))
        });
        let last = last?.0.site;
        // A condition of several parts need not come to the last of them.
        let is_part = |event: &&Event| {
            let at = trace.place(event).filter(|_| event.thread == thread);
            at.is_some_and(|at| {
                (&at.file, at.line) == (&place.file, place.line) && at.column >= place.column
            })
        };
        let mut sites: FxHashSet<SiteId> =
            events.iter().filter(is_part).map(|event| event.site).collect();
        sites.insert(last);
        Some(Check { sites, thread: failing.failure.thread.clone(), place, destroyed: None })
    }

    fn is_made(&self, run: &Trace) -> bool {
        let is_use = |event: &Event| {
            self.destroyed.is_some() && run.place(event).is_some_and(|at| *at == self.place)
        };
        // Others may do the same for another reason.
        let own = |event: &&Event| *run.thread_name(event.thread) == self.thread;
        let is_it = |event: &Event| self.sites.contains(&event.site) || is_use(event);
        run.events.iter().filter(own).any(is_it)
    }

    /// Whether runs pass with an order only because nobody comes to the check.
    pub fn is_avoided(&self, trials: &mut Trials<'_>, shields: &[Shield]) -> bool {
        let runs = trials.passing_traces(shields, CHECKED_RUNS);
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
        let trace = &failing.observed.trace;
        let gone = self.destroyed.and_then(|index| {
            let event = &trace.events[index];
            Some((trace.thread_name(event.thread), event.kind.location()?, trace.place(event)?))
        });
        if let Some((by, what, place)) = gone {
            let (what, gone) = (&trace.location(what).name, place.short());
            return Words {
                pattern: Pattern::EarlyFree,
                sentence: format!(
                    "{by} destroys {what} at {gone}, and {who} uses it at {at} after that; runs pass only where {who} does not come \
                     there, as when {} {} {object} at {} before {} {} it at {}",
                    first.thread,
                    first.verb,
                    first.place.short(),
                    then.thread,
                    then.verb,
                    then.place.short()
                ),
                advice: format!(
                    "{what} may be destroyed only after its last use: let {by} wait for {who} before {gone}"
                ),
                region: vec![place.clone(), self.place.clone()],
            };
        }
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
