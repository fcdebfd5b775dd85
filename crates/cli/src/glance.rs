//! A search that found nothing looks at races for a moment, and says what it did not look at.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use unravel_execute::RaceChecked;
use unravel_explore::{AfterFirst, Plan, search};
use unravel_report::FileNames;
use unravel_results::{Explored, Stopped};
use unravel_strategies::Strategy;
use unravel_trace::{Executor, FailureKind, Input, Rules};

use crate::budgets::{GLANCE_SCHEDULES, GLANCE_TIME};
use crate::interrupt::INTERRUPTED;

/// What was seen.
#[derive(Debug)]
pub struct Glance {
    schedules: u64,
    /// The first race, if there was one.
    race: Option<String>,
}

/// Looks for a data race, if the search that found nothing did not and had threads.
pub fn glance(
    executor: &mut dyn Executor,
    input: &Input,
    rules: &Rules,
    plan: &Plan,
    explored: &Explored,
) -> Option<Glance> {
    let ended = matches!(explored.stopped, Stopped::AllInconclusive | Stopped::Interrupted);
    if rules.races || ended || explored.tally.most_threads < 2 {
        return None;
    }
    // A user who gives little time wants an answer by then.
    let tenth = plan.time.map_or(GLANCE_TIME, |time| time / 10);
    let plan = Plan {
        strategy: Strategy::Portfolio,
        schedules: GLANCE_SCHEDULES,
        time: Some(GLANCE_TIME.min(tenth).max(Duration::from_millis(100))),
        after_first: AfterFirst::Stop,
        deviations: 0,
        exit_codes: false,
        ..plan.clone()
    };
    let mut checked = RaceChecked::new(executor, &Rules { races: true, ..Rules::default() });
    let go_on = |_: &_, _| !INTERRUPTED.load(Ordering::Relaxed);
    let seen = search(&mut checked, input, &plan, go_on).ok()?;
    let failures = seen.findings.iter().filter_map(|finding| finding.run.outcome.failure());
    let race = failures.map(|failure| failure.id()).find(|id| id.kind == FailureKind::DataRace);
    let schedules = seen.explored.tally.schedules;
    (schedules > 0).then(|| Glance {
        schedules,
        race: race.map(|id| FileNames::of_bugs(std::slice::from_ref(&id)).bug(&id)),
    })
}

impl Glance {
    pub fn words(&self) -> String {
        match &self.race {
            Some(race) => format!("but there is a {race}; --races makes races failures"),
            None => format!("no data race in {} schedules either", self.schedules),
        }
    }

    pub fn json(&self) -> Value {
        json!({ "schedules": self.schedules, "race": self.race })
    }
}

/// What a search that found nothing says nothing about.
pub fn not_looked_at(explored: &Explored, plan: &Plan) -> String {
    let mut what = vec!["weaker memory than sequential consistency".to_owned()];
    let could_deviate = explored.systematic.iter().any(|part| part.could_deviate);
    let for_all =
        explored.systematic.iter().any(|part| part.complete && part.is_for_all_deviations());
    if could_deviate && !for_all {
        what.push(format!("more than {} deviations of the environment", plan.deviations));
    }
    what.push("other inputs".to_owned());
    format!("not looked at: {}", what.join(", "))
}
