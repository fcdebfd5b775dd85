//! What could go another way: the D branches nearest to an assertion in the schedule that passed (thesis §5.2.2.2).
//!
//! Distance is counted in steps of that schedule, in either direction: what another thread does after the assertion could
//! have come before it. Cortex goes by distance alone; here data flow comes first: a branch that no known write could turn
//! is no candidate at all. And a branch whose other side is nearer to a failure in the source goes before those that are
//! not.
//!
//! Besides branches, answers that depend on the order can be others: of a trylock, of who is first to initialise; and
//! addresses. These have no place in a path, so that the database knows no traces for them.

use rustc_hash::FxHashSet;
use unravel_results::{Flip, FlipKind};
use unravel_trace::{
    Combined, Condition, ConditionKind, EventKind, Otherwise, Place, SiteId, ThreadId,
};

use crate::values::Values;

/// What is to go another way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum What {
    /// A branch, by its number in the thread's path.
    Branch(u32),
    /// The answer of an event, by its number among the thread's events.
    Answer(u32),
    /// A kept value, by its number among the thread's conditions.
    Value(u32),
}

impl What {
    /// Branches come first, then answers, then values.
    pub fn kind(self) -> usize {
        match self {
            What::Branch(_) => 0,
            What::Answer(_) => 1,
            What::Value(_) => 2,
        }
    }
}

/// Something that could go another way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flippable {
    pub what: What,
    pub thread: ThreadId,
    pub site: SiteId,
    /// Index into the combination's conditions; of an answer, into its events.
    pub index: usize,
    /// Steps between it and the nearest assertion.
    pub distance: u32,
    /// How many nearer ones of its kind there are, and this one: the D that reaches it.
    pub rank: u32,
    /// The other side is nearer to a failure, in the source.
    pub nears: bool,
}

/// Everything of a combination that could go another way, nearest first, and how much data flow rules out.
pub fn candidates(combined: &Combined, values: &Values) -> (Vec<Flippable>, u64) {
    let symbolic = &combined.symbolic;
    let mut step_of = vec![0u32; combined.trace.events.len()];
    for (index, step) in symbolic.steps.iter().enumerate() {
        step.range().for_each(|event| step_of[event] = index as u32);
    }
    let place = |event: u32| step_of.get(event as usize).copied().unwrap_or(0);
    let asserts = |c: &&Condition| c.otherwise == Otherwise::Fails && c.why != ConditionKind::Alive;
    let asserting = symbolic.conditions.iter().filter(asserts);
    let mut assertions: Vec<u32> = asserting.map(|condition| place(condition.after)).collect();
    if assertions.is_empty() {
        assertions.push(symbolic.steps.len() as u32);
    }
    let near =
        |event: u32| assertions.iter().map(|other| other.abs_diff(place(event))).min().unwrap_or(0);
    let mut ruled_out = 0;
    let mut found: Vec<Flippable> = Vec::new();
    let mut exprs = symbolic.exprs.clone();
    let mut seen: FxHashSet<(ThreadId, What)> = FxHashSet::default();
    let mut numbers = vec![0u32; combined.trace.threads.len()];
    for (index, condition) in symbolic.conditions.iter().enumerate() {
        let number = numbers[condition.thread.index()];
        numbers[condition.thread.index()] += 1;
        let what = match (condition.otherwise, condition.why) {
            (Otherwise::Turns(branch) | Otherwise::Nears(branch), _) => What::Branch(branch),
            (Otherwise::Unknown, ConditionKind::Address | ConditionKind::Fixed) => {
                What::Value(number)
            }
            _ => continue,
        };
        let turned = exprs.not(condition.holds);
        if !values.may_hold(&exprs, turned) {
            ruled_out += 1;
            continue;
        }
        let (thread, site) = (condition.thread, condition.site);
        if seen.insert((thread, what)) {
            let nears = matches!(condition.otherwise, Otherwise::Nears(_));
            let distance = near(condition.after);
            found.push(Flippable { what, thread, site, index, distance, rank: 0, nears });
        }
    }
    found.extend(answers(combined, &near));
    found.sort_by_key(|candidate| (candidate.distance, candidate.thread, candidate.what));
    // D is counted in branches; what else could be another is counted by itself.
    let mut ranks = [0u32; 3];
    for candidate in &mut found {
        let rank = &mut ranks[candidate.what.kind()];
        *rank += 1;
        candidate.rank = *rank;
    }
    (found, ruled_out)
}

/// Events whose answer depends on the order.
fn answers(combined: &Combined, near: &dyn Fn(u32) -> u32) -> Vec<Flippable> {
    let mut numbers = vec![0u32; combined.trace.threads.len()];
    let mut found = Vec::new();
    for (index, event) in combined.trace.events.iter().enumerate() {
        let number = &mut numbers[event.thread.index()];
        *number += 1;
        let asks = matches!(
            event.kind,
            EventKind::TryLock { .. } | EventKind::SemTryWait { .. } | EventKind::Once { .. }
        );
        if asks {
            found.push(Flippable {
                what: What::Answer(*number - 1),
                thread: event.thread,
                site: event.site,
                index,
                distance: near(index as u32),
                rank: 0,
                nears: false,
            });
        }
    }
    found
}

impl Flippable {
    /// For people.
    pub fn told(&self, combined: &Combined) -> Flip {
        let site = combined.trace.site(self.site);
        let nowhere =
            Place { function: "?".into(), file: "?".into(), line: 0, column: 0, wrapper: false };
        Flip {
            thread: combined.trace.thread_name(self.thread).clone(),
            place: site.map_or(nowhere, |site| site.place.clone()),
            kind: match self.what {
                What::Branch(_) => FlipKind::Branch,
                What::Answer(_) => FlipKind::Answer,
                What::Value(_) => FlipKind::Value,
            },
        }
    }
}
