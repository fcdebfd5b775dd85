//! From a failure that was caught to what is told of it: executed again, compared with the run it was derived from, and
//! diagnosed.
//!
//! After Cortex (thesis §5.2.3), which compares the failure with the run that it was derived from.

use std::time::{Duration, Instant};

use unravel_diagnose::{Options, compare, diagnose, nearer};
use unravel_execute::Limit;
use unravel_results::{Derived, Diagnosis, Exposed, How, Observed};
use unravel_solve::Solver;
use unravel_trace::{Detail, Run, Schedule};

use crate::budgets::DIAGNOSIS;
use crate::execute::{Performed, Stage};
use crate::hunt::{Quarry, Task};
use crate::search::Caught;

/// A failure that needed no hunting.
pub struct Plain {
    pub exposed: Exposed,
    pub quarry: Quarry,
}

/// Runs that failed by themselves and do so again, one for each bug.
pub fn by_itself(stage: &mut Stage<'_>) -> Vec<Plain> {
    let mut found = Vec::new();
    for performed in std::mem::take(&mut stage.failed) {
        let Some(failure) = performed.run.outcome.failure().cloned() else { continue };
        let again = stage.again(&performed.run.schedule, &performed.input, Detail::Events);
        if again.outcome.failure().map(|failure| failure.id()) != Some(failure.id()) {
            continue;
        }
        let exposed = Exposed {
            failure,
            how: How::ByItself,
            attempt: 0,
            depth: 0,
            traces: 0,
            flips: Vec::new(),
            flipped: 0,
            synthesised: 0,
            inputs: Vec::new(),
            events: performed.run.schedule.events(),
            derived: None,
            diagnosis: None,
            undiagnosed: None,
            trace: None,
            time: Duration::ZERO,
        };
        let run = Run { schedule: performed.run.schedule, ..again };
        let quarry = Quarry { run, input: performed.input };
        found.push(Plain { exposed, quarry });
    }
    found
}

/// Replaces what was caught by a run with the same failure that is nearer to the one it was derived from, if there is one.
pub fn approach(stage: &mut Stage<'_>, caught: &mut Caught) {
    let origin = &caught.combination.origin;
    let Performed { run, input, .. } = &caught.performed;
    let Some(bug) = run.outcome.failure().map(|failure| failure.id()) else { return };
    if origin.input != *input {
        return;
    }
    let mut lab = stage.lab.annex(input.clone(), run.schedule.visible.clone());
    let Some(schedule) = nearer(&mut lab, &origin.schedule, &run.schedule, &bug) else { return };
    let mut flows = |schedule: &Schedule| {
        let failing = stage.again(schedule, input, Detail::Symbolic);
        let passing = stage.again(&origin.schedule, input, Detail::Symbolic);
        let derived = compare(&observed(&failing), failing.symbolic.as_deref(), observed(&passing));
        (derived.projection.flows.len(), failing)
    };
    let (before, _) = flows(&run.schedule);
    let (after, nearer) = flows(&schedule);
    if after < before && nearer.outcome.is_same_bug(&run.outcome) {
        caught.performed.run = Run { schedule, ..nearer };
    }
}

/// Tells what was caught, but not why it fails.
pub fn tell(stage: &mut Stage<'_>, caught: &Caught) -> (Exposed, Quarry) {
    let Caught { performed, combination, attempt, flipped, synthesised, time } = caught;
    let failure = performed.run.outcome.failure().cloned().expect("only failures are caught");
    let flips = combination.turned.clone();
    let failing = stage.again(&performed.run.schedule, &performed.input, Detail::Symbolic);
    let origin = &combination.origin;
    // In the same detail: a run that is taken apart has more events.
    let passing = stage.again(&origin.schedule, &origin.input, Detail::Symbolic);
    let derived = compare(&observed(&failing), failing.symbolic.as_deref(), observed(&passing));
    let exposed = Exposed {
        how: if flips.is_empty() { How::BySchedule } else { How::ByPath },
        failure,
        attempt: *attempt,
        depth: combination.depth,
        traces: combination.traces,
        flips,
        flipped: *flipped,
        synthesised: *synthesised,
        inputs: performed.values(),
        events: performed.run.schedule.events(),
        derived: Some(Box::new(Derived { failing: observed(&failing), passing: derived })),
        diagnosis: None,
        undiagnosed: None,
        trace: None,
        time: *time,
    };
    // As any other command records it.
    let again = stage.again(&performed.run.schedule, &performed.input, Detail::Events);
    let run = Run { schedule: performed.run.schedule.clone(), ..again };
    (exposed, Quarry { run, input: performed.input.clone() })
}

/// Why it fails, as far as there is time for that; an error is why nobody knows.
pub fn diagnose_caught(
    stage: &mut Stage<'_>,
    solver: &mut dyn Solver,
    request: &Task<'_>,
    performed: &Performed,
    limit: Limit<'_>,
) -> Result<Diagnosis, String> {
    if !limit.may_go_on() {
        return Err("the hunt was over before it could be diagnosed".to_owned());
    }
    let Limit { deadline, interrupt } = limit.at_most(Instant::now() + DIAGNOSIS);
    let visible = performed.run.schedule.visible.clone();
    let input = performed.input.clone();
    let mut lab = stage.lab.annex(input, visible).until(deadline, interrupt);
    let name = &request.program.name;
    // What a hunt compares with is the run that the failure was derived from; `unravel diagnose` asks for more.
    let options = Options { segments_time: Duration::ZERO, ..Options::default() };
    diagnose(&mut lab, name, &performed.run, solver, &options, &mut |_| {})
        .map_err(|error| error.to_string())
}

fn observed(run: &Run) -> Observed {
    Observed {
        trace: run.trace.clone(),
        schedule: run.schedule.clone(),
        outcome: run.outcome.clone(),
    }
}
