//! What sync objects demand of every order, family by family, from what they do ([`unravel_solve::Op`]).
//!
//! A clause is accepted if, were it false, the demand of some op that is executed could not be met. Mutual exclusion of
//! locks is not here but in `closure.rs`.

use unravel_solve::proof::Literal;
use unravel_solve::{Model, Op, Section, SyncFamily, SyncId};
use unravel_trace::SyncState;

use crate::checker::{Checker, Refused, refuse};
use crate::closure::Closure;
use crate::demands::{At, Demand, Open, ahead};
use crate::rules::Rules;
use crate::waits::Waits;

/// What is done with an object by executed steps, in the order of the steps.
pub(crate) type Uses = Vec<(At, Op)>;

pub(crate) fn holds(
    checker: &Checker,
    closure: &Closure<'_, '_>,
    rules: &Rules<'_>,
    sync: SyncId,
    falses: &[Literal],
) -> Result<(), Refused> {
    let open = Open { checker, closure, falses };
    let model = rules.model;
    let uses = uses(model, sync);
    // What is demanded where these ops are executed.
    let demands: Vec<(Vec<At>, Demand)> = match model.sync(sync).family {
        SyncFamily::Lock if model.sync(sync).regular => failed_trylocks(model, sync, &uses),
        SyncFamily::Lock => irregular_lock(model, sync, &uses),
        SyncFamily::Cond => Waits::new(model, &uses).demands(&uses),
        SyncFamily::Semaphore => semaphore(model, sync, &uses),
        SyncFamily::Barrier => barrier(model, sync, &uses),
        SyncFamily::Once => once(model, sync, &uses),
    };
    let executed = |at: &At| closure.is_op_executed(at.step, at.place);
    let broken = |(where_executed, demand): &(Vec<At>, Demand)| {
        where_executed.iter().all(executed) && open.is_refuted(demand)
    };
    match demands.iter().any(broken) {
        true => Ok(()),
        false => refuse("the sync object does not demand this"),
    }
}

pub(crate) fn uses(model: &Model, sync: SyncId) -> Uses {
    let steps = model.steps().filter(|step| !model.is_request(*step));
    let ops = steps.flat_map(|step| {
        let places = model.op_range(step).zip(model.program(step));
        places.map(move |(place, op)| (At { step, place: place as u32 }, *op))
    });
    ops.filter(|(_, op)| op.sync() == Some(sync)).collect()
}

pub(crate) fn filtered(uses: &Uses, is: impl Fn(&Op) -> bool) -> Vec<At> {
    uses.iter().filter(|(_, op)| is(op)).map(|(at, _)| *at).collect()
}

/// A trylock fails where someone holds the lock, or may still hold it.
fn failed_trylocks(model: &Model, lock: SyncId, uses: &Uses) -> Vec<(Vec<At>, Demand)> {
    let begun = |s: &&Section| s.lock == lock && s.acquire.is_none_or(|a| !model.is_request(a));
    let sections: Vec<&Section> = model.sections().iter().filter(begun).collect();
    // By step: within one the order is not looked at.
    let before = |a, b| if a == b { Demand::known(true) } else { Demand::Before(a, b) };
    let mut demands = Vec::new();
    for (at, op) in uses {
        let Op::TryAcquire { shared, acquired: false, .. } = *op else { continue };
        let refusing = || sections.iter().filter(move |section| !(section.shared && shared));
        let held = refusing().map(|section| {
            let begun = section.acquire.map(|acquire| before(acquire, at.step));
            let lasts = section.release.map(|release| before(at.step, release));
            Demand::All(begun.into_iter().chain(lasts).collect())
        });
        // Cut off while holding it: until another takes it nobody knows.
        let lingers = refusing().filter(|section| section.synthetic).filter_map(|section| {
            let end = section.release?;
            let takers = sections.iter().filter(|taker| !(taker.shared && section.shared));
            let not_since = takers
                .filter_map(|taker| taker.acquire)
                .map(|acquire| Demand::Any(vec![before(acquire, end), before(at.step, acquire)]));
            Some(Demand::All(not_since.chain([before(end, at.step)]).collect()))
        });
        demands.push((vec![*at], Demand::Any(held.chain(lingers).collect())));
    }
    demands
}

/// Whether the last op on such a lock before this one was one of `last`, and none of `not` since.
fn was_last(last: &[At], not: &[At], at: At, initially: bool) -> Demand {
    let none_since = |from: Option<At>| {
        let others = not.iter().filter(|other| **other != at);
        others
            .map(|other| {
                let earlier = from.map(|from| ahead(*other, from));
                Demand::Any(earlier.into_iter().chain([ahead(at, *other)]).collect())
            })
            .collect::<Vec<Demand>>()
    };
    let some = last
        .iter()
        .map(|from| Demand::All([vec![ahead(*from, at)], none_since(Some(*from))].concat()));
    let never = initially.then(|| Demand::All(none_since(None)));
    Demand::Any(some.chain(never).collect())
}

/// A lock that others than its holders release: free if the last op was a release.
fn irregular_lock(model: &Model, lock: SyncId, uses: &Uses) -> Vec<(Vec<At>, Demand)> {
    if uses.iter().any(|(_, op)| op.takes().is_some_and(|(_, shared)| shared)) {
        return Vec::new();
    }
    let acquires = filtered(uses, |op| op.takes().is_some());
    let releases = filtered(uses, |op| matches!(op, Op::Release { .. }));
    let free = model.sync(lock).initial.is_empty();
    let demand = |(at, op): &(At, Op)| match op {
        Op::TryAcquire { acquired: false, .. } => {
            Some((vec![*at], was_last(&acquires, &releases, *at, !free)))
        }
        op => op.takes().map(|_| (vec![*at], was_last(&releases, &acquires, *at, free))),
    };
    uses.iter().filter_map(demand).collect()
}

/// Set up with v, a semaphore has v, and one more for each post, one less for each acquisition since.
fn semaphore(model: &Model, id: SyncId, uses: &Uses) -> Vec<(Vec<At>, Demand)> {
    let mut inits: Vec<(Option<At>, i64)> = Vec::new();
    inits.extend(model.sync(id).initial.iter().filter_map(|state| match state {
        SyncState::Semaphore(value) => Some((None, i64::from(*value))),
        _ => None,
    }));
    inits.extend(uses.iter().filter_map(|(at, op)| match op {
        Op::SemInit { value, .. } => Some((Some(*at), i64::from(*value))),
        _ => None,
    }));
    let posts = filtered(uses, |op| matches!(op, Op::SemPost { .. }));
    let takes =
        |op: &Op| matches!(op, Op::SemAcquire { .. } | Op::SemTryAcquire { acquired: true, .. });
    let taken = filtered(uses, takes);
    let mut demands = Vec::new();
    for (at, op) in uses {
        let at = *at;
        let others: Vec<At> = taken.iter().copied().filter(|other| *other != at).collect();
        let since = |init: Option<At>, what: At| {
            let after = init.map(|init| ahead(init, what));
            Demand::All(after.into_iter().chain([ahead(what, at)]).collect())
        };
        let not_since = |init: Option<At>, what: At| {
            let before = init.map(|init| ahead(what, init));
            Demand::Any(before.into_iter().chain([ahead(at, what)]).collect())
        };
        let enough = |init: Option<At>, value: i64| {
            let posted = posts.iter().map(|post| since(init, *post));
            let spared = others.iter().map(|other| not_since(init, *other));
            Demand::AtLeast(1 - value + others.len() as i64, posted.chain(spared).collect())
        };
        let none_left = |init: Option<At>, value: i64| {
            let missing = posts.iter().map(|post| not_since(init, *post));
            let used = others.iter().map(|other| since(init, *other));
            Demand::AtLeast(value + posts.len() as i64, missing.chain(used).collect())
        };
        let last_set_up = |rest: &dyn Fn(Option<At>, i64) -> Demand| {
            Demand::Any(
                inits
                    .iter()
                    .map(|(init, value)| {
                        let before = init.map(|init| ahead(init, at));
                        let later = inits.iter().filter(|(other, _)| other != init);
                        let last = later.filter_map(|(other, _)| *other).map(|other| {
                            let earlier = init.map(|init| ahead(other, init));
                            Demand::Any(earlier.into_iter().chain([ahead(at, other)]).collect())
                        });
                        let rest = [rest(*init, *value)];
                        Demand::All(before.into_iter().chain(last).chain(rest).collect())
                    })
                    .collect(),
            )
        };
        let demand = match op {
            Op::SemPost { .. } => last_set_up(&|_, _| Demand::known(true)),
            Op::SemTryAcquire { acquired: false, .. } => last_set_up(&none_left),
            op if takes(op) => last_set_up(&enough),
            _ => continue,
        };
        demands.push((vec![at], demand));
    }
    demands
}

/// Arrivals come in generations of n. A leave waits for the generation of its own arrival.
fn barrier(model: &Model, id: SyncId, uses: &Uses) -> Vec<(Vec<At>, Demand)> {
    let mut set_up: Vec<(i64, Option<At>)> = Vec::new();
    set_up.extend(model.sync(id).initial.iter().filter_map(|state| match state {
        SyncState::Barrier(count) => Some((i64::from(*count), None)),
        _ => None,
    }));
    set_up.extend(uses.iter().filter_map(|(at, op)| match op {
        Op::BarrierInit { count, .. } => Some((i64::from(*count), Some(*at))),
        _ => None,
    }));
    let (threads, init) = match set_up[..] {
        [] => (0, None),
        [one] => one,
        // Which of them counts would have to be looked at.
        _ => return Vec::new(),
    };
    let arrivals = filtered(uses, |op| matches!(op, Op::Arrive { .. }));
    let mut demands = Vec::new();
    for (at, op) in uses {
        let at = *at;
        let demand = match op {
            Op::Arrive { .. } => {
                let first = init.map(|init| ahead(init, at));
                Demand::All(first.into_iter().chain([Demand::known(threads > 0)]).collect())
            }
            Op::Leave { .. } => {
                let me = model.owner(at.step);
                let place = |a: &&At| (model.place(a.step), a.place);
                let mine = |a: &&At| {
                    let earlier = place(a) < (model.place(at.step), at.place);
                    model.owner(a.step) == me && earlier
                };
                match arrivals.iter().filter(mine).max_by_key(place) {
                    Some(own) if threads > 0 => is_complete(&arrivals, *own, threads, at),
                    _ => Demand::known(false),
                }
            }
            _ => continue,
        };
        demands.push((vec![at], demand));
    }
    demands
}

/// If n·g others arrived before an arrival, its leave comes after n·(g+1) arrivals.
fn is_complete(arrivals: &[At], own: At, threads: i64, leave: At) -> Demand {
    let others: Vec<At> = arrivals.iter().copied().filter(|other| *other != own).collect();
    let all = others.len() as i64;
    Demand::All(
        (0..=all / threads)
            .map(|generation| {
                let later = others.iter().map(|other| ahead(own, *other)).collect();
                let there = arrivals.iter().map(|arrival| ahead(*arrival, leave)).collect();
                Demand::Any(vec![
                    Demand::AtLeast(all - threads * generation + 1, later),
                    Demand::AtLeast(threads * (generation + 1), there),
                ])
            })
            .collect(),
    )
}

/// Who runs the initialiser finds none running and nothing done; who does not finds all of them done.
fn once(model: &Model, id: SyncId, uses: &Uses) -> Vec<(Vec<At>, Demand)> {
    let done_before = model.sync(id).initial.contains(&SyncState::Done);
    let mut runs: Vec<(At, Option<At>)> = Vec::new();
    for (at, op) in uses {
        match op {
            Op::OnceEnter { won: true, .. } => runs.push((*at, None)),
            Op::OnceDone { .. } => {
                let me = model.owner(at.step);
                let own = runs.iter_mut().rev().find(|(enter, _)| model.owner(enter.step) == me);
                if let Some((_, end @ None)) = own {
                    *end = Some(*at);
                }
            }
            _ => {}
        }
    }
    let follows = |done: Option<At>, at: At| done.map_or(Demand::known(false), |d| ahead(d, at));
    let mut demands = Vec::new();
    for (index, (enter, done)) in runs.iter().enumerate() {
        demands.push((vec![*enter], Demand::known(!done_before)));
        for (other, other_done) in &runs[index + 1..] {
            let either = Demand::Any(vec![follows(*done, *other), follows(*other_done, *enter)]);
            demands.push((vec![*enter, *other], either));
        }
    }
    for (at, op) in uses {
        if matches!(op, Op::OnceEnter { won: false, .. }) && !done_before {
            let all = runs.iter().map(|(_, done)| follows(*done, *at));
            demands.push((
                vec![*at],
                Demand::All(all.chain([Demand::known(!runs.is_empty())]).collect()),
            ));
        }
    }
    demands
}
