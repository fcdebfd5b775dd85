//! Who called: the line of an event says little where many go through one small function.
//!
//! Two events of one thread are told by the lines of the innermost function that does both; one event alone by its call,
//! if its line is reached through several calls in the same run.
//!
//! *Not modelled*: runs that are too long for a symbolic trace, and engines without stacks: there nothing is said of calls.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_execute::Laboratory;
use unravel_trace::{Capability, Detail, Place, SiteId, Want};

use crate::failing::Failing;

/// The calls that led to the events of the failing run.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// Innermost first.
    stacks: Vec<Vec<Place>>,
    /// By event of the trace: its stack.
    of: FxHashMap<usize, usize>,
    /// Sites that were reached through more than one call.
    shared: FxHashSet<SiteId>,
}

impl Calls {
    /// Executes the failing run once more.
    pub fn new(lab: &mut Laboratory<'_>, failing: &Failing) -> Calls {
        let mut calls = Calls::default();
        if failing.steps().is_empty() || !lab.can(Capability::Stacks) {
            return calls;
        }
        // Only a symbolic run has all events of the failing one.
        let want = Want { stacks: true, ..Want::only(Detail::Symbolic) };
        let (run, _) = lab.replay_seen(&failing.observed.schedule, &mut (), want);
        let events = &failing.observed.trace.events;
        if run.trace.events != *events {
            return calls;
        }
        let mut numbers: FxHashMap<&[Place], usize> = FxHashMap::default();
        let mut callers: FxHashMap<SiteId, FxHashSet<&[Place]>> = FxHashMap::default();
        for (step, number) in failing.steps().iter().zip(1..) {
            for index in step.range() {
                let stack = run.stacks.get(number, events[index].site);
                if stack.is_empty() {
                    continue;
                }
                let known = calls.stacks.len();
                let stack_number = *numbers.entry(stack).or_insert(known);
                if stack_number == known {
                    calls.stacks.push(stack.to_vec());
                }
                calls.of.insert(index, stack_number);
                let outer = &stack[(own_frame(stack) + 1).min(stack.len())..];
                callers.entry(events[index].site).or_default().insert(outer);
            }
        }
        calls.shared = callers.iter().filter(|(_, all)| all.len() > 1).map(|(at, _)| *at).collect();
        calls
    }

    fn stack(&self, event: usize) -> &[Place] {
        self.of.get(&event).map_or(&[], |stack| &self.stacks[*stack])
    }

    /// Of two events of one thread: where the innermost function that does both calls the first of them; `None` if it does it
    /// itself.
    pub fn beside(&self, event: usize, other: usize) -> Option<&Place> {
        let (own, other) = (self.stack(event), self.stack(other));
        let outer = own.iter().rev().zip(other.iter().rev());
        let same = outer.take_while(|(a, b)| a == b).count();
        // The frame that differs, unless it is the event's own.
        let place = own.len().checked_sub(same + 1)?;
        Some(&own[place]).filter(|call| place > own_frame(own) && is_own(call))
    }

    /// Where an event was called, if its site was reached through other calls as well.
    pub fn apart(&self, event: usize, site: SiteId) -> Option<&Place> {
        if !self.shared.contains(&site) {
            return None;
        }
        let stack = self.stack(event);
        stack.iter().skip(own_frame(stack) + 1).find(|place| is_own(place))
    }
}

fn is_own(place: &Place) -> bool {
    place.is_own()
}

/// The frame that an event is shown at: the innermost that is in the user's own code.
fn own_frame(stack: &[Place]) -> usize {
    stack.iter().position(is_own).unwrap_or(0)
}

/// ` (called at bank.c:53)`, or nothing.
pub fn said(called: Option<&Place>) -> String {
    called.map_or_else(String::new, |place| format!(" (called at {})", place.short()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(function: &str, line: u32) -> Place {
        let file = if function.starts_with('/') { function } else { "a.c" };
        Place { function: function.into(), file: file.into(), line, column: 1, wrapper: false }
    }

    fn calls(stacks: &[&[(&str, u32)]]) -> Calls {
        let stacks: Vec<Vec<Place>> =
            stacks.iter().map(|s| s.iter().map(|(f, l)| place(f, *l)).collect()).collect();
        let of = (0..stacks.len()).map(|index| (index, index)).collect();
        Calls { stacks, of, shared: FxHashSet::default() }
    }

    #[test]
    fn two_events_are_seen_from_the_function_that_does_both() {
        let calls = calls(&[
            &[("enter", 3), ("visitor", 51), ("start", 9)],
            &[("leave", 6), ("visitor", 55), ("start", 9)],
            &[("visitor", 57), ("start", 9)],
            &[("/usr/include/atomic", 8), ("enter", 3), ("visitor", 51), ("start", 9)],
        ]);
        assert_eq!(calls.beside(3, 1).map(|at| at.line), Some(51));
        assert_eq!(calls.beside(0, 1).map(|at| at.line), Some(51));
        assert_eq!(calls.beside(1, 0).map(|at| at.line), Some(55));
        assert_eq!(calls.beside(2, 0), None, "it does it itself");
        assert_eq!(calls.beside(0, 0), None);
        assert_eq!(calls.beside(7, 0), None, "nothing is known of it");
    }
}
