//! The loop of ConcBugAssist (algorithm 1): while a failing run is left, take its core, and block every run that keeps it.
//!
//! The simplest failing run comes first (fewest context switches, then fewest steps). A core is blocked as the
//! paper blocks it: a run is out if it keeps every order of the core, where a step that it never got to counts as after all
//! that it did. So the failing run itself is always blocked, and unrelated failures never.
//!
//! Where some passing run breaks no order of a failing one, and the environment gave answers in the failing one that an ordinary
//! system hardly ever gives (a spurious wake-up, a failing `try_lock`), these are part of the cause: then only passing runs with the
//! same answers have to break one of its orders, if there are any.

#[cfg(test)]
mod tests;

use rustc_hash::FxHashMap;
use unravel_execute::Limit;
use unravel_trace::{Key, Keys};

use crate::budgets::MOST_CAUSES;
use crate::core::{Core, core};
use crate::gather::{Gathered, Member};
use crate::orders::{OrderId, OrderSet, Pairs};
use crate::races::set_aside;
use crate::watch::{Course, Ends};

/// One cause, in terms of what was gathered.
#[derive(Debug)]
pub struct Found {
    /// Index of its failing run.
    pub failing: usize,
    pub orders: Vec<(Key, Key)>,
    /// For each order the passing run that breaks it alone.
    pub witnesses: Vec<usize>,
    /// Orders that the failing run keeps.
    pub constraints: usize,
    /// All failing runs that this cause blocks and no earlier one did; the failing run is the first.
    pub blocks: Vec<usize>,
    /// Orders alone do not make it fail: the answers of the environment in its failing run belong to it.
    pub by_answers: bool,
}

/// All causes, and how many failing runs could not be told from passing ones by orders.
#[derive(Debug, Default)]
pub struct Enumerated {
    pub found: Vec<Found>,
    /// Failing runs of which some passing run breaks no order.
    pub untold: usize,
    /// Failing runs that were not looked at.
    pub left: usize,
    /// Cores that were taken and blocked, until none was left.
    pub iterations: usize,
}

impl Enumerated {
    /// What there is to say before anything was looked at.
    pub fn none_of(gathered: &Gathered) -> Enumerated {
        let left = if gathered.passing.is_empty() { 0 } else { set_aside(gathered).len() };
        Enumerated { left, ..Enumerated::default() }
    }
}

/// All causes of what was gathered, which has to be every class there is.
pub fn enumerate(
    pairs: &mut Pairs,
    keys: &Keys,
    gathered: &Gathered,
    limit: Limit<'_>,
) -> Enumerated {
    let mut result = Enumerated::default();
    if gathered.passing.is_empty() {
        return result;
    }
    let mut kept: Vec<OrderSet> = Vec::new();
    for failing in &gathered.failing {
        if !limit.may_go_on() {
            return Enumerated::none_of(gathered);
        }
        let Member { course, kept: own } = &failing.member;
        let mut all = pairs.kept_until_failure(course, own, keys);
        // It came to its last step before the process ended.
        all.extend(course.steps.last().map(|last| pairs.before_end(last.key)));
        kept.push(all);
    }
    let common = Common::of(&kept);
    let mut cores: Vec<OrderSet> = Vec::new();
    let mut answered: Vec<Found> = Vec::new();
    let mut open = set_aside(gathered);
    open.sort_by_cached_key(|index| {
        let course = &gathered.failing[*index].member.course;
        (course.switches(), course.steps.len())
    });
    while let Some(&failing) = open.first() {
        let all: Vec<usize> = (0..gathered.passing.len()).collect();
        let mut take = |among: &[usize]| match result.found.len() + answered.len() < MOST_CAUSES {
            true => core_of(pairs, &kept[failing], &common, gathered, (failing, among), limit),
            false => None,
        };
        let forced = &gathered.failing[failing].member.course.forced;
        let answers_as =
            |course: &Course| forced.iter().all(|answer| course.forced.contains(answer));
        let mut core = take(&all);
        let is_alike = core.as_ref().is_some_and(|core| core.alike > 0);
        let by_answers = is_alike && !forced.is_empty();
        if by_answers {
            let with: Vec<usize> = all
                .into_iter()
                .filter(|index| answers_as(&gathered.passing[*index].course))
                .collect();
            core = take(&with);
        }
        let Some(core) = core else {
            result.left = open.len();
            break;
        };
        // Some passing run has the same orders and the same answers.
        let by_answers = by_answers && core.alike == 0;
        let orders = core.orders.iter().map(|order| pairs.keys(*order)).collect();
        result.untold += usize::from(core.alike > 0);
        let set: OrderSet = core.orders.iter().copied().collect();
        // An empty core would block everything; nothing is known then but this one run.
        let (blocks, rest): (Vec<usize>, Vec<usize>) = if by_answers {
            open.iter().partition(|index| {
                set.is_subset_of(&kept[**index])
                    && answers_as(&gathered.failing[**index].member.course)
            })
        } else if core.orders.is_empty() {
            (vec![failing], open[1..].to_vec())
        } else {
            open.iter().partition(|index| set.is_subset_of(&kept[**index]))
        };
        assert!(blocks.contains(&failing), "a failing run keeps the orders of its own core");
        open = rest;
        if core.orders.is_empty() && !by_answers {
            continue;
        }
        let found = Found {
            failing,
            // Without that of the process's end.
            constraints: kept[failing].len() - 1,
            orders,
            witnesses: core.witnesses,
            blocks,
            by_answers,
        };
        if by_answers {
            answered.push(found);
        } else {
            result.found.push(found);
            cores.push(set);
        }
    }
    leave_out_implied(&mut result.found, &cores, &kept, limit);
    result.iterations = cores.len() + answered.len();
    result.found.append(&mut answered);
    result
}

/// Leaves out causes all of whose failing runs keep another cause too: they say nothing new. What they blocked is
/// counted where it belongs. Where there is no time for that, all stay.
fn leave_out_implied(
    found: &mut Vec<Found>,
    cores: &[OrderSet],
    kept: &[OrderSet],
    limit: Limit<'_>,
) {
    // Sets of causes, as bits.
    let as_order = |core: usize| OrderId(core as u32);
    let mut causes_of: Vec<OrderSet> = Vec::with_capacity(kept.len());
    let mut runs = vec![0usize; cores.len()];
    for kept in kept {
        if !limit.may_go_on() {
            return;
        }
        let causes = (0..cores.len()).filter(|core| cores[*core].is_subset_of(kept));
        let causes: OrderSet = causes.inspect(|core| runs[*core] += 1).map(as_order).collect();
        causes_of.push(causes);
    }
    // The one that the fewest runs keep goes first, of these the longest, the latest.
    let mut order: Vec<usize> = (0..cores.len()).collect();
    order.sort_by_cached_key(|core| {
        (runs[*core], usize::MAX - cores[*core].len(), usize::MAX - core)
    });
    let mut implied = vec![false; cores.len()];
    for core in order {
        if !limit.may_go_on() {
            break;
        }
        let this = as_order(core);
        implied[core] = causes_of.iter().all(|causes| !causes.contains(this) || causes.len() > 1);
        if implied[core] {
            causes_of.iter_mut().for_each(|causes| causes.remove(this));
        }
    }
    let moved: Vec<usize> = found
        .iter()
        .zip(&implied)
        .filter(|(_, implied)| **implied)
        .flat_map(|(found, _)| found.blocks.clone())
        .collect();
    for failing in moved {
        if let Some(cause) = causes_of[failing].iter().next() {
            found[cause.0 as usize].blocks.push(failing);
        }
    }
    let mut is_implied = implied.into_iter();
    found.retain(|_| !is_implied.next().unwrap_or(false));
}

/// How many failing runs keep each order.
struct Common {
    runs: usize,
    by_order: FxHashMap<OrderId, usize>,
}

impl Common {
    fn of(kept: &[OrderSet]) -> Common {
        let mut by_order = FxHashMap::default();
        for order in kept.iter().flat_map(OrderSet::iter) {
            *by_order.entry(order).or_default() += 1;
        }
        Common { runs: kept.len(), by_order }
    }

    /// How many do not keep it.
    fn missing(&self, order: OrderId) -> usize {
        self.runs - self.by_order.get(&order).copied().unwrap_or(0)
    }
}

fn core_of(
    pairs: &mut Pairs,
    kept: &OrderSet,
    common: &Common,
    gathered: &Gathered,
    (failing, among): (usize, &[usize]),
    limit: Limit<'_>,
) -> Option<Core> {
    let member = &gathered.failing[failing].member;
    let passing = || among.iter().map(|index| &gathered.passing[*index]);
    let mut broken: Vec<OrderSet> =
        passing().map(|passing| kept.broken_by(&passing.kept)).collect();
    if let Some(last) = member.course.steps.last() {
        // The end of the process is in nobody's way but of what would have come after it.
        let end = pairs.before_end(last.key);
        for (set, passing) in broken.iter_mut().zip(passing()) {
            if set.is_empty() && ended_before(&passing.course, last.key) {
                set.insert(end);
            }
        }
    }
    let place = places(&member.course);
    let says = |order: OrderId| pairs.says(order) as u32;
    let cost = |order: OrderId| {
        let (first, second) = pairs.keys(order);
        let at = |key: Key| place.get(&key).copied().unwrap_or(place.len());
        // Fewest orders first; then those of steps that are near each other, which tell the story of this run; then those
        // that most failing runs keep.
        let far = at(second).abs_diff(at(first)).min(0xffff) as u64;
        far << 32 | common.missing(order) as u64
    };
    let mut core = core(&broken, says, cost, limit)?;
    core.witnesses.iter_mut().for_each(|witness| *witness = among[*witness]);
    Some(core)
}

fn ended_before(course: &Course, key: Key) -> bool {
    course.steps.last().is_some_and(|step| step.ends == Ends::Process)
        && !course.steps.iter().any(|step| step.key == key)
}

fn places(course: &Course) -> FxHashMap<Key, usize> {
    course.steps.iter().enumerate().map(|(index, step)| (step.key, index)).collect()
}
