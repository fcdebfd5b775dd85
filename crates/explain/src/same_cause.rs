//! Failures that come from the same place: one race can break several assertions.
//!
//! Two bugs count as one cause if the same shield keeps both away: the same stretch or order, by line. Where the failing run
//! itself shows the cause, if the same is advised; where there is no evidence, if the lines of the root causes are the same, which
//! says "look here first" and not that one repair mends both.

use std::collections::BTreeSet;

use unravel_results::{Evidence, ExplainedBug, Kept, Participant, RootCause};
use unravel_trace::Place;

/// Has each bug point to the first one with the same cause.
pub fn mark(bugs: &mut [ExplainedBug]) {
    let causes: Vec<Option<Cause>> = bugs.iter().map(cause).collect();
    for (index, bug) in bugs.iter_mut().enumerate() {
        let same = |earlier: &usize| causes[index].is_some() && causes[*earlier] == causes[index];
        bug.same_cause_as = (0..index).find(same);
    }
}

type Line = (String, u32);

#[derive(PartialEq, Eq)]
enum Cause {
    Kept(BTreeSet<(Line, Line)>),
    Advised(String),
    Orders(BTreeSet<(Line, Line)>),
}

fn cause(bug: &ExplainedBug) -> Option<Cause> {
    let cause: &RootCause = bug.verdict.diagnosis()?.root_cause.as_ref()?;
    let line = |place: &Place| (place.file.to_string(), place.line);
    match &cause.evidence {
        Some(Evidence::Shielded { kept, .. }) => {
            let kept = kept.iter().map(|kept| match kept {
                Kept::Atomic { from, to } => (line(from), line(to)),
                Kept::Order { first, then } => (line(first), line(then)),
            });
            Some(Cause::Kept(kept.collect()))
        }
        Some(Evidence::Shown) => Some(Cause::Advised(cause.advice.clone())),
        None => lines(bug).map(Cause::Orders),
    }
}

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
