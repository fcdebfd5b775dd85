//! Where there are more classes of schedules than time: each failing run that no cause accounts for is diagnosed by itself.
//!
//! A diagnosis finds its own passing runs, near the failing one, and attacks what it claims ([`unravel_diagnose`]). So its orders are
//! a better cause than a hitting set over whatever passing runs were met by chance. Nothing is complete here.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use unravel_diagnose::{Options, Words, diagnose};
use unravel_explore::{AfterFirst, Plan, Shard, search};
use unravel_results::{Cause, Diagnosis, EventStack};
use unravel_solve::{Heeding, SolverChoice};
use unravel_strategies::Strategy;
use unravel_trace::{Capability, Detail, EventKey, Key, Run, Schedule, Want};

use crate::budgets::{DIAGNOSIS_SHARE, MOST_DIAGNOSED, SEARCH_SHARE};
use crate::classes::Worded;
use crate::gather::{Effort, Gathered, Gatherer, left};
use crate::races::{self, set_aside};
use crate::watch::{Course, Watch};

/// Looks for failing runs in every way there is, if none has been gathered yet.
pub fn find_failures(
    gatherer: &mut Gatherer<'_>,
    gathered: &Gathered,
    effort: &Effort,
) -> Vec<Run> {
    if !gathered.failing.is_empty() {
        return Vec::new();
    }
    let plan = Plan {
        strategy: Strategy::Portfolio,
        seed: 1,
        schedules: u64::MAX,
        time: Some(left(effort.until) / SEARCH_SHARE),
        jobs: 1,
        shard: Shard::WHOLE,
        after_first: AfterFirst::GoOnFor { times: 1, least: 2000, time: Duration::from_secs(2) },
        deviations: 0,
        exit_codes: false,
        known: Vec::new(),
    };
    let input = gatherer.lab.input().clone();
    let interrupted = gatherer.interrupted;
    let go_on = |_: &_, _| !interrupted.load(Ordering::Relaxed);
    let found = search(gatherer.lab.executor(), &input, &plan, go_on);
    found.map_or_else(|_| Vec::new(), |found| found.findings.into_iter().map(|f| f.run).collect())
}

/// A cause that a diagnosis found.
pub struct Diagnosed {
    pub worded: Worded,
    pub stacks: Vec<EventStack>,
    /// The failing run.
    pub run: Run,
}

/// Diagnoses failing runs until each of those that were gathered keeps all orders of some cause.
pub fn diagnose_each(
    gatherer: &mut Gatherer<'_>,
    gathered: &Gathered,
    found: Vec<Run>,
    effort: &Effort,
    program: &str,
    schedule_of: impl Fn(&Gatherer<'_>, &Course) -> Schedule,
) -> (Vec<Diagnosed>, usize) {
    let mut diagnosed: Vec<Diagnosed> = Vec::new();
    let mut tried = 0;
    for run in found {
        if !gatherer.lab.may_go_on() {
            break;
        }
        tried += 1;
        diagnosed.extend(diagnose_one(gatherer, &run, effort, program));
    }
    let mut open = set_aside(gathered);
    open.sort_by_cached_key(|index| {
        let course = &gathered.failing[*index].member.course;
        (course.switches(), course.steps.len())
    });
    while let Some(&failing) = open.first() {
        if tried >= MOST_DIAGNOSED || !gatherer.lab.may_go_on() {
            break;
        }
        tried += 1;
        open.remove(0);
        let course = &gathered.failing[failing].member.course;
        let schedule = schedule_of(gatherer, course);
        let run = gatherer.lab.replay(&schedule, Detail::Events);
        let Some(mut new) = diagnose_one(gatherer, &run, effort, program) else { continue };
        let orders = keys(gatherer, &new.worded.cause);
        let before = open.len();
        open.retain(|index| !keeps(&gathered.failing[*index].member.course, &orders));
        new.worded.cause.blocks += (before - open.len()) as u64;
        diagnosed.push(new);
    }
    (diagnosed, open.len())
}

fn diagnose_one(
    gatherer: &mut Gatherer<'_>,
    run: &Run,
    effort: &Effort,
    program: &str,
) -> Option<Diagnosed> {
    let input = run.input(gatherer.lab.input());
    let visible = run.schedule.visible.clone();
    let deadline = Instant::now() + left(effort.until) / DIAGNOSIS_SHARE;
    let mut lab =
        gatherer.lab.annex(input, visible).until(Some(deadline), Some(gatherer.interrupted));
    let solver = Heeding::new(SolverChoice::default().make(), gatherer.interrupted);
    let mut solver = solver.until(Some(deadline));
    let options = Options::default();
    let diagnosis = diagnose(&mut lab, program, run, &mut solver, &options, &mut |_| {}).ok()?;
    let Diagnosis { failing, root_cause, race, .. } = diagnosis;
    if let (Some(race), Some(told)) = (race, &root_cause) {
        let run = gatherer.lab.replay(&failing.schedule, Detail::Events);
        let (worded, stacks) = races::worded(race, told.clone(), failing.schedule, 1);
        return Some(Diagnosed { worded, stacks, run });
    }
    let root_cause = root_cause.filter(|cause| !cause.orders.is_empty())?;
    let cause = Cause {
        minimal: root_cause.orders.iter().all(|order| order.witness.is_some()),
        constraints: 0,
        blocks: 1,
        failing: failing.schedule.clone(),
        orders: root_cause.orders,
    };
    let mut stacks = stacks_of(gatherer, &failing.schedule, &cause);
    for order in &cause.orders {
        if let Some(witness) = order.witness.as_ref().filter(|_| order.second.event.is_none()) {
            stacks.extend(stacks_of(gatherer, witness, &cause));
        }
    }
    let words = Words {
        pattern: root_cause.pattern,
        sentence: root_cause.sentence,
        advice: root_cause.advice,
        region: root_cause.region,
    };
    let run = gatherer.lab.replay(&failing.schedule, Detail::Events);
    Some(Diagnosed {
        worded: Worded { cause, words, bugs: Vec::new(), inputs: Vec::new() },
        stacks,
        run,
    })
}

/// The call stacks of a cause's events, as a run shows them.
fn stacks_of(gatherer: &mut Gatherer<'_>, schedule: &Schedule, cause: &Cause) -> Vec<EventStack> {
    let Gatherer { lab, words, .. } = gatherer;
    let mut watch = Watch::new(words);
    let want = Want { stacks: lab.can(Capability::Stacks), ..Want::only(Detail::Events) };
    let (run, _) = lab.replay_seen(schedule, &mut watch, want);
    let course = watch.finish();
    let mut stacks = Vec::new();
    let mut number = 0;
    for step in &course.steps {
        number += u64::from(!step.continues);
        let key = words.keys.event(step.key);
        let is_wanted = |order: &unravel_results::CausalOrder| {
            order.first.key == key || order.second.key == key
        };
        if cause.orders.iter().any(is_wanted) {
            let stack = run.stacks.get(number, key.site).to_vec();
            stacks.push(EventStack { key, stack });
        }
    }
    stacks
}

fn keys(gatherer: &mut Gatherer<'_>, cause: &Cause) -> Vec<(Key, Key)> {
    let names = &mut gatherer.words.keys;
    let mut key = |event: &EventKey| names.key_of(event);
    cause.orders.iter().map(|order| (key(&order.first.key), key(&order.second.key))).collect()
}

/// Whether a failing run keeps all orders; what it never got to counts as after all that it did.
fn keeps(course: &Course, orders: &[(Key, Key)]) -> bool {
    let at = |key: Key| course.steps.iter().position(|step| step.key == key);
    orders.iter().all(|(first, second)| {
        at(*first).is_some_and(|first| at(*second).is_none_or(|second| first < second))
    })
}
