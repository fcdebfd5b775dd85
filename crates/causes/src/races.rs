//! Races: no order is the cause of one, so its two accesses are told as they are, and account for every class that ends in it.

use unravel_diagnose::Words;
use unravel_results::{CausalOrder, Cause, EventStack, Race, RaceAccess, RootCause};
use unravel_trace::{FailureKind, Schedule};

use crate::classes::Worded;
use crate::gather::Gathered;

/// The failing classes that orders may cause.
pub fn set_aside(gathered: &Gathered) -> Vec<usize> {
    let is_ordered = |index: &usize| gathered.failing[*index].failure.kind != FailureKind::DataRace;
    (0..gathered.failing.len()).filter(is_ordered).collect()
}

/// A race as a cause, with the stacks of its accesses. `classes` of schedules end in it.
pub fn worded(
    race: Race,
    told: RootCause,
    failing: Schedule,
    classes: u64,
) -> (Worded, Vec<EventStack>) {
    let stack = |access: &RaceAccess| EventStack {
        key: access.who.key.clone(),
        stack: access.stack.clone(),
    };
    let stacks = race.accesses.iter().map(stack).collect();
    let [first, second] = race.accesses.map(|access| access.who);
    let order = CausalOrder { first, second, object: race.object, witness: None };
    let cause =
        Cause { orders: vec![order], failing, constraints: 0, blocks: classes, minimal: false };
    let RootCause { pattern, sentence, advice, region, .. } = told;
    let words = Words { pattern, sentence, advice, region };
    (Worded { cause, words, bugs: Vec::new(), inputs: Vec::new() }, stacks)
}
