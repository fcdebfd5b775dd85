//! A moment's look at something that a search was not asked about: for those who found nothing and want to say what else
//! they saw.

use std::time::Duration;

use unravel_execute::RaceChecked;
use unravel_results::{Explored, Glance, Stopped};
use unravel_strategies::Strategy;
use unravel_trace::{Executor, FailureKind, Input, Rules};

use crate::budgets::{GLANCE_SCHEDULES, GLANCE_TIME, LEAST_GLANCE};
use crate::search::{AfterFirst, Plan, search};
use crate::shard::Shard;

/// Few schedules, until the first failure.
fn plan(time: Duration, jobs: usize) -> Plan {
    Plan {
        strategy: Strategy::Portfolio,
        seed: 1,
        schedules: GLANCE_SCHEDULES,
        time: Some(time),
        jobs,
        shard: Shard::WHOLE,
        after_first: AfterFirst::Stop,
        deviations: 0,
        exit_codes: false,
        known: Vec::new(),
    }
}

/// Looks for a data race after a search that found nothing, if it had threads. A user who gave little time wants an answer
/// by then: a tenth of it at most.
pub fn glance_at_races(
    executor: &mut dyn Executor,
    input: &Input,
    searched: &Plan,
    explored: &Explored,
    mut go_on: impl FnMut() -> bool,
) -> Option<Glance> {
    let ended = matches!(explored.stopped, Stopped::AllInconclusive | Stopped::Interrupted);
    if ended || explored.tally.most_threads < 2 {
        return None;
    }
    let tenth = searched.time.map_or(GLANCE_TIME, |time| time / 10);
    let plan = plan(GLANCE_TIME.min(tenth).max(LEAST_GLANCE), searched.jobs);
    let mut checked = RaceChecked::new(executor, &Rules { races: true, ..Rules::default() });
    let seen = search(&mut checked, input, &plan, |_, _| go_on()).ok()?;
    let failures = seen.findings.iter().filter_map(|finding| finding.run.outcome.failure());
    let race = failures.map(|failure| failure.id()).find(|id| id.kind == FailureKind::DataRace);
    let schedules = seen.explored.tally.schedules;
    (schedules > 0).then_some(Glance { schedules, race })
}

/// Whether some schedules end with 0 and others with another code.
pub fn exit_codes_differ(
    executor: &mut dyn Executor,
    input: &Input,
    mut go_on: impl FnMut() -> bool,
) -> bool {
    let plan = Plan { exit_codes: true, ..plan(GLANCE_TIME, 1) };
    let seen = search(executor, input, &plan, |_, _| go_on());
    seen.is_ok_and(|seen| seen.explored.tally.exits_differ)
}
