//! Does another failure go away, too, if this is kept? Then both have one cause.

use unravel_execute::Laboratory;
use unravel_results::{Kept, Observed, Vanished};
use unravel_trace::{Detail, Run, Shield, VisibleSet};

use super::trial::Trials;
use crate::budgets::SHIELD_WORK;
use crate::execution::Execution;
use crate::relevance::Relevance;
use crate::world::{Ending, ending};

/// Tries what keeps one failure away on a run that fails otherwise. `None` if that failure stays, or shows too rarely to tell.
pub fn vanishes(lab: &mut Laboratory<'_>, failing: &Run, kept: &[Kept]) -> Option<Vanished> {
    let bug = failing.outcome.failure()?.id();
    let shields: Vec<Shield> = kept.iter().map(|kept| kept.shield).collect();
    // Who is to be kept has to be seen.
    let mut marked = VisibleSet::default();
    for mark in shields.iter().flat_map(Shield::marks) {
        marked.insert(mark.site);
    }
    let is_same = |run: &Run| ending(&run.outcome, &bug) == Ending::Failed;
    let schedule = lab.with_visible(&failing.schedule, &marked, is_same)?;
    let Run { trace, schedule, outcome, .. } = lab.replay(&schedule, Detail::Events);
    let observed = Observed { trace, schedule, outcome };
    observed.outcome.failure().filter(|failure| failure.id() == bug)?;
    lab.allow(SHIELD_WORK);
    let mut world = Execution::new(lab, &observed, &[], Relevance::default());
    let mut trials = Trials::new(&mut world);
    let is_promising = trials.is_telling() && trials.quickly(&shields).is_promising();
    let trial = is_promising.then(|| trials.thoroughly(&shields))?;
    trial.is_gone().then(|| trial.vanished())
}
