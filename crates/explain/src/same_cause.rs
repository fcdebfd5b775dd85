//! Failures that come from the same place: one race can break several assertions.
//!
//! Two bugs count as one cause if the lines of the root causes are the same. That says "look here first", not that one
//! repair mends both.

use std::collections::BTreeSet;

use unravel_results::{ExplainedBug, Participant, RootCause};
use unravel_trace::Place;

/// Has each bug point to the first one with the same cause.
pub fn mark(bugs: &mut [ExplainedBug]) {
    let causes: Vec<Option<BTreeSet<(Line, Line)>>> = bugs.iter().map(lines).collect();
    for (index, bug) in bugs.iter_mut().enumerate() {
        let same = |earlier: &usize| causes[index].is_some() && causes[*earlier] == causes[index];
        bug.same_cause_as = (0..index).find(same);
    }
}

type Line = (String, u32);

/// The orders of a bug's root cause, by line. Nothing of a cause without lines.
fn lines(bug: &ExplainedBug) -> Option<BTreeSet<(Line, Line)>> {
    let cause: &RootCause = bug.verdict.diagnosis()?.root_cause.as_ref()?;
    let line = |who: &Participant| {
        let Place { file, line, .. } = &who.place;
        (*line != 0).then(|| (file.to_string(), *line))
    };
    let orders = cause.orders.iter().map(|o| Some((line(&o.first)?, line(&o.second)?)));
    let lines: BTreeSet<_> = orders.collect::<Option<_>>()?;
    (!lines.is_empty()).then_some(lines)
}
