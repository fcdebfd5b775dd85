//! The suite: what an engine owes, one function a promise. Each takes an engine and panics where it breaks the promise.

mod counting;
mod dying;
mod observing;
mod points;
mod record;
mod replaying;
mod wanting;

use unravel_execute::Laboratory;
use unravel_trace::{Detail, Executor, Input, Observer, Run, Scheduler, SiteId, VisibleSet, Want};

use crate::Sample;

pub use counting::a_schedule_counts_the_same_where_more_is_visible;
pub use dying::the_death_of_an_engine_is_no_outcome;
pub use observing::{
    an_alarm_ends_the_run_before_the_event, decisions_and_answers_are_seen,
    events_are_told_once_and_in_order, observers_change_nothing, two_observers_see_what_each_sees,
};
pub use points::{
    a_decision_is_followed, nobody_is_offered_who_cannot_go_on, points_are_those_of_the_rule,
    who_is_alone_is_not_asked,
};
pub use replaying::{
    a_deadlock_names_the_blocked, no_events_discard_the_run, runs_are_deterministic,
    schedules_are_replayed, waiters_are_chosen,
};
pub use wanting::{
    events_are_kept_if_wanted, output_is_kept_if_wanted, sites_have_a_place_and_a_key,
    stacks_are_kept_if_wanted, what_cannot_be_done_is_refused, what_is_shared_is_learned,
};

/// A test for each promise of the suite; the expression makes an [`crate::Engine`].
#[macro_export]
macro_rules! conformance {
    ($engine:expr) => {
        $crate::conformance! { $engine;
            points_are_those_of_the_rule
            who_is_alone_is_not_asked
            a_decision_is_followed
            nobody_is_offered_who_cannot_go_on
            runs_are_deterministic
            schedules_are_replayed
            a_schedule_counts_the_same_where_more_is_visible
            a_deadlock_names_the_blocked
            waiters_are_chosen
            no_events_discard_the_run
            events_are_told_once_and_in_order
            an_alarm_ends_the_run_before_the_event
            two_observers_see_what_each_sees
            observers_change_nothing
            decisions_and_answers_are_seen
            events_are_kept_if_wanted
            what_is_shared_is_learned
            stacks_are_kept_if_wanted
            output_is_kept_if_wanted
            what_cannot_be_done_is_refused
            sites_have_a_place_and_a_key
            the_death_of_an_engine_is_no_outcome
        }
    };
    ($engine:expr; $($promise:ident)*) => {
        $(
            #[test]
            fn $promise() {
                $crate::suite::$promise(&mut $engine);
            }
        )*
    };
}

/// How many schedules at random a promise is tried with.
const SEEDS: u64 = 24;

/// Nothing but how a run ends.
const OUTCOME: Want = Want {
    detail: Detail::Outcome,
    learn: false,
    prune_spins: false,
    skip_rounds: false,
    awaits: false,
    free: unravel_trace::FreeInput::None,
    stacks: false,
    output: false,
    past_races: false,
    finals: false,
};

/// No site, all of them, and every second one.
fn visible_sets(executor: &dyn Executor) -> [VisibleSet; 3] {
    let all = executor.sites().all().clone();
    let mut some = VisibleSet::default();
    for site in all.iter().step_by(2) {
        some.insert(site);
    }
    [VisibleSet::default(), some, all]
}

/// The programs that have threads.
fn with_threads() -> impl Iterator<Item = Sample> {
    Sample::ALL.into_iter().filter(|sample| *sample != Sample::Alone)
}

/// One run that sees this much, in a laboratory of its own.
fn run(
    executor: &mut dyn Executor,
    visible: &VisibleSet,
    by: &mut dyn Scheduler,
    seen: &mut dyn Observer,
    want: Want,
) -> Run {
    let mut lab = Laboratory::new(executor, Input::default(), visible.clone());
    let run = lab.run(by, seen, want);
    assert_eq!(lab.problem(), None);
    run
}

/// The function of a site.
fn function(executor: &dyn Executor, site: SiteId) -> String {
    let row = executor.sites().get(site).expect("a site has a row");
    row.site.place.function.to_string()
}
