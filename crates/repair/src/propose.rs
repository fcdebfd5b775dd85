//! Measures against each cause, from the orders that would close a cycle with it.
//!
//! After ConcBugAssist (figure 3.4), whose repairs are edges. Deviates: an edge becomes a measure that a programmer would write (a
//! lock, a flag, an atomic operation, another place for a statement). Errs in both directions; what does not help, the checks find out.

mod atomics;
mod existing;
mod generation;
mod handover;
mod joins;
mod lock_order;
mod moved;
mod outcomes;
mod publications;
mod signalling;
mod timeouts;
mod unlocks;
mod unsignalled;
mod updates;

use unravel_causes::Analysis;
use unravel_results::{CauseClass, Pattern};
use unravel_trace::{Place, ThreadName};

use crate::budgets::{DOUBT, MOST_CAUSES, MOST_ORDERS, MOST_SWEEPING, WIDTHS};
use crate::graph::Graph;
use crate::locks::{Operation, is_held, operations};
use crate::measures::{LockChoice, Measure};
use crate::source::{Region, Source};
use crate::spots::{
    Files, Spot, Stretch, lifted, position, spot, spots, stretches, stretches_apart,
};
use existing::existing_locks;

/// A measure, the classes of causes that it makes impossible, and a guess at its price.
#[derive(Clone, Debug)]
pub struct Proposal {
    pub measure: Measure,
    pub covers: Vec<usize>,
    pub cost: u64,
}

/// Everything that may help, cheap things first.
pub fn propose(analysis: &Analysis, files: &mut Files) -> Vec<Proposal> {
    let classes = &analysis.causes.classes;
    let mut candidates = atomics::one_steps(classes, analysis, files);
    candidates.extend(updates::atomic_updates(classes, analysis, files));
    candidates.extend(exclusions(classes, analysis, files, Reach::Apart));
    candidates.extend(exclusions(classes, analysis, files, Reach::Callers));
    for width in 0..WIDTHS {
        candidates.extend(exclusions(classes, analysis, files, Reach::Together { width }));
    }
    candidates.extend(sections_alone(classes, analysis, files));
    for (index, class) in classes.iter().enumerate() {
        candidates.extend(lock_order::lock_orders(index, class, analysis, files));
        candidates.extend(unlocks::unlocks(index, class, analysis, files));
        candidates.extend(joins::missing_joins(index, class, analysis, files));
        candidates.extend(moved::moves(index, class, analysis, files));
        candidates.extend(outcomes::outcomes(index, class, analysis, files));
        candidates.extend(generation::generations(index, class, analysis, files));
        candidates.extend(publications::publications(index, class, analysis, files));
        candidates.extend(timeouts::timeouts(index, class, analysis, files));
        candidates.extend(handover::handovers(class, classes.len(), analysis, files));
        // That one comes first is not what two racing accesses lack.
        if class.pattern != Pattern::DataRace {
            candidates.extend(orders(index, class, analysis, files));
        }
    }
    candidates.extend(signalling::signalling(classes, analysis, files));
    candidates.extend(unsignalled::unsignalled(classes, analysis, files));
    candidates.sort_by_key(|candidate| candidate.cost);
    let mut distinct: Vec<Proposal> = Vec::new();
    for candidate in candidates {
        match distinct.iter_mut().find(|known| known.measure == candidate.measure) {
            Some(known) => {
                known.covers.extend(&candidate.covers);
                known.covers.sort_unstable();
                known.covers.dedup();
            }
            None => distinct.push(candidate),
        }
    }
    distinct.extend(sweeping(&distinct, classes.len()));
    distinct
}

/// What is moved changes every path through it, and may help against causes that it was not proposed for; so may a section
/// that keeps threads of one kind apart, and an order that one thing comes before everything else.
fn sweeping(candidates: &[Proposal], classes: usize) -> Vec<Proposal> {
    let is_moved = |measure: &Measure| matches!(measure, Measure::Move(_) | Measure::LockOrder(_));
    let is_order = |measure: &Measure| matches!(measure, Measure::Order { .. });
    let is_alone = |measure: &Measure| matches!(measure, Measure::Exclude { stretches, lock: LockChoice::New } if stretches.len() == 1);
    let most_of = |kind: &dyn Fn(&Measure) -> bool| -> Vec<Proposal> {
        let partial = candidates.iter().filter(|candidate| candidate.covers.len() < classes);
        let of_kind = partial.filter(|candidate| kind(&candidate.measure));
        let sweeping = of_kind.take(MOST_SWEEPING).map(|candidate| Proposal {
            measure: candidate.measure.clone(),
            covers: (0..classes).collect(),
            cost: candidate.cost + DOUBT,
        });
        sweeping.collect()
    };
    [most_of(&is_moved), most_of(&is_alone), most_of(&is_order)].concat()
}

/// A lock around what one thread of a cause does, and nothing else: threads that do the same keep apart, while others still
/// get in between. Where consumers disturb each other, a lock that the producers take too would keep out who must get in.
fn sections_alone(classes: &[CauseClass], analysis: &Analysis, files: &mut Files) -> Vec<Proposal> {
    let mut candidates = Vec::new();
    for (index, class) in classes.iter().enumerate() {
        if class.pattern == Pattern::DataRace {
            continue;
        }
        for cause in class.causes.iter().take(MOST_CAUSES) {
            for thread in spots(cause, analysis).into_iter().filter(|thread| thread.len() > 1) {
                // Two events that belong together may be in one function, whose callers do the rest.
                let pairs: Vec<Stretch> = thread
                    .windows(2)
                    .filter(|_| thread.len() > 2)
                    .filter_map(|pair| stretches(pair, files).into_iter().next())
                    .collect();
                let widths = stretches(&thread, files).into_iter().take(WIDTHS);
                let widths = pairs.into_iter().map(|pair| (0, pair)).chain(widths.enumerate());
                candidates.extend(widths.map(|(width, stretch)| {
                    let cost = 24 + 2 * stretch.region.statements as u64 + 15 * width as u64;
                    let measure =
                        Measure::Exclude { stretches: vec![stretch], lock: LockChoice::New };
                    Proposal { measure, covers: vec![index], cost }
                }));
            }
        }
    }
    candidates
}

/// Pairs of candidates that cannot be taken together: opposite orders, and sections that overlap.
pub fn contradictions(candidates: &[Proposal]) -> Vec<Vec<usize>> {
    let contradict = |a: &Measure, b: &Measure| match (a, b) {
        (Measure::Order { first: a, then: b, .. }, Measure::Order { first: c, then: d, .. }) => {
            a.overlaps(d) && b.overlaps(c)
        }
        (Measure::Exclude { stretches: a, .. }, Measure::Exclude { stretches: b, .. }) => {
            a.iter().any(|x| b.iter().any(|y| x.overlaps(y)))
        }
        _ => false,
    };
    let mut pairs = Vec::new();
    for (a, one) in candidates.iter().enumerate() {
        for (b, other) in candidates.iter().enumerate().skip(a + 1) {
            if contradict(&one.measure, &other.measure) {
                pairs.push(vec![a, b]);
            }
        }
    }
    pairs
}

/// What of a thread's code is in one stretch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reach {
    /// The events of each function on their own: often the function in common is one that starts and joins threads.
    Apart,
    /// The same, but of who calls where a function does little more than read or write: what belongs together is in its callers.
    Callers,
    /// All events, and so much around them.
    Together { width: usize },
}

impl Reach {
    fn width(self) -> usize {
        match self {
            Reach::Apart | Reach::Callers => 0,
            Reach::Together { width } => width,
        }
    }
}

/// The stretches of all threads of a class.
fn class_stretches(
    class: &CauseClass,
    analysis: &Analysis,
    files: &mut Files,
    reach: Reach,
) -> Option<Vec<Stretch>> {
    let mut found = Vec::new();
    for cause in class.causes.iter().take(MOST_CAUSES) {
        for thread in spots(cause, analysis) {
            match reach {
                Reach::Apart => found.extend(stretches_apart(&thread, files)),
                Reach::Callers => found.extend(stretches_apart(&lifted(&thread, files)?, files)),
                Reach::Together { width } => {
                    let widths = stretches(&thread, files);
                    let stretch = widths.get(width).or(widths.last())?;
                    found.push(stretch.clone());
                }
            }
        }
    }
    Some(found)
}

/// Critical sections: classes whose stretches overlap share a lock; and one lock for all.
fn exclusions(
    classes: &[CauseClass],
    analysis: &Analysis,
    files: &mut Files,
    reach: Reach,
) -> Vec<Proposal> {
    let width = reach.width();
    let mut groups: Vec<(Vec<usize>, Vec<Stretch>)> = Vec::new();
    for (index, class) in classes.iter().enumerate() {
        // Who holds a lock at an access is ordered with whoever holds it at the other.
        let is_race = class.pattern == Pattern::DataRace;
        let is_enough = is_race
            || class.pattern.is_of_stretch()
            || class.causes.iter().all(|cause| Graph::of(cause).is_interleaved());
        if !is_enough && !is_half_known(class, analysis) {
            continue;
        }
        let Some(stretches) = class_stretches(class, analysis, files, reach) else { continue };
        let (mut covers, mut all) = (vec![index], stretches);
        // What overlaps becomes one; that may make it overlap with more.
        while let Some(at) = groups.iter().position(|(_, other)| touch(other, &all)) {
            let (more, stretches) = groups.swap_remove(at);
            covers.extend(more);
            all.extend(stretches);
            all = merged(all, files);
        }
        all = merged(all, files);
        groups.push((covers, all));
    }
    if groups.len() > 1 {
        let covers = groups.iter().flat_map(|(covers, _)| covers.clone()).collect();
        let all = groups.iter().flat_map(|(_, stretches)| stretches.clone()).collect();
        groups.push((covers, merged(all, files)));
    }
    groups
        .into_iter()
        .flat_map(|(mut covers, stretches)| {
            covers.sort_unstable();
            let statements: usize = stretches.iter().map(|s| s.region.statements).sum();
            let cost = 20 + 2 * statements as u64 + 15 * width as u64;
            let mut candidates = existing_locks(&covers, &stretches, width, files);
            let outer = outermost(&stretches, files);
            let first = around_locks(outer.as_ref().unwrap_or(&stretches), files);
            candidates.extend(first.map(|stretches| Proposal {
                measure: Measure::Exclude { stretches, lock: LockChoice::New },
                covers: covers.clone(),
                cost: cost + 2,
            }));
            if let Some(outer) = outer {
                candidates.extend(existing_locks(&covers, &outer, width, files));
                let measure = Measure::Exclude { stretches: outer, lock: LockChoice::New };
                candidates.push(Proposal { measure, covers: covers.clone(), cost });
            }
            let measure = Measure::Exclude { stretches, lock: LockChoice::New };
            candidates.push(Proposal { measure, covers, cost });
            candidates
        })
        .collect()
}

/// Whether a class may lack orders that nobody has seen broken: where some schedules were not executed, too few orders look
/// like enough, and a stretch that should be whole looks like one order.
fn is_half_known(class: &CauseClass, analysis: &Analysis) -> bool {
    class.pattern == Pattern::Compound && !analysis.causes.extent.is_complete()
}

/// The stretches without those of functions that others call: who holds a lock there would take it again. `None` if there are
/// no such functions.
fn outermost(stretches: &[Stretch], files: &Files) -> Option<Vec<Stretch>> {
    let is_called = |name: &str, by: &Stretch| {
        let calls = files.get(&by.file).map(|source| source.calls(by.region.bytes.clone()));
        let mut calls = calls.unwrap_or_default().into_iter();
        by.region.function != name && calls.any(|call| last_part(&call.name) == last_part(name))
    };
    let is_outer = |stretch: &&Stretch| {
        let name = &stretch.region.function;
        name.is_empty() || !stretches.iter().any(|other| is_called(name, other))
    };
    let outer: Vec<Stretch> = stretches.iter().filter(is_outer).cloned().collect();
    (!outer.is_empty() && outer.len() < stretches.len()).then_some(outer)
}

/// The stretches with the whole sections of the locks that are held where they begin: a new lock that is always taken first closes no
/// cycle with them. `None` if no lock is held anywhere.
fn around_locks(stretches: &[Stretch], files: &Files) -> Option<Vec<Stretch>> {
    let widened: Vec<Stretch> = stretches
        .iter()
        .map(|stretch| {
            let source = files.get(&stretch.file);
            let region = source.and_then(|source| around_held(source, &stretch.region));
            Stretch { region: region.unwrap_or_else(|| stretch.region.clone()), ..stretch.clone() }
        })
        .collect();
    (widened != stretches).then(|| merged(widened, files))
}

/// A region from where the locks are taken that are held at its beginning, to where they are given back.
fn around_held(source: &Source, region: &Region) -> Option<Region> {
    let all = operations(source, region);
    let is_held = |operation: &&Operation| is_held(&all, &operation.lock.text, region.bytes.start);
    let around = |operation: &Operation| {
        let statement = operation.statement.clone()?;
        source.region(&[source.position_of(statement.start)])
    };
    let taken = all.iter().filter(is_held).find(|o| o.bytes.end <= region.bytes.start)?;
    let given = all.iter().find(|operation| {
        operation.lock.text == taken.lock.text && operation.bytes.start >= region.bytes.end
    });
    let from = source.extend_to(region, &around(taken)?)?;
    given.and_then(around).map_or(Some(from.clone()), |given| source.extend_to(&from, &given))
}

/// `push` of `Queue::push`, `queue.push` and `queue->push`.
fn last_part(name: &str) -> &str {
    name.rsplit(['.', '>', ':']).next().unwrap_or(name)
}

fn touch(some: &[Stretch], others: &[Stretch]) -> bool {
    some.iter().any(|a| others.iter().any(|b| a.overlaps(b)))
}

/// Whether two stretches are neighbours: giving a lock back only to take it again helps nobody.
fn are_neighbours(a: &Stretch, b: &Stretch, files: &Files) -> bool {
    let siblings = files.get(&a.file).filter(|_| a.file == b.file).filter(|source| {
        source.siblings(&a.region, &b.region) == Some((a.region.clone(), b.region.clone()))
    });
    siblings.is_some_and(|source| source.between(&a.region, &b.region).is_none())
}

/// Makes one of stretches that overlap, or that nothing stands between.
fn merged(stretches: Vec<Stretch>, files: &Files) -> Vec<Stretch> {
    let mut distinct: Vec<Stretch> = Vec::new();
    for mut stretch in stretches {
        let meets = |stretch: &Stretch, other: &Stretch| {
            other.overlaps(stretch) || are_neighbours(stretch, other, files)
        };
        while let Some(at) = distinct.iter().position(|other| meets(&stretch, other)) {
            let other = distinct.swap_remove(at);
            let source = files.get(&stretch.file);
            let both = source.and_then(|source| source.extend_to(&stretch.region, &other.region));
            match both {
                Some(region) => stretch.region = region,
                None => break,
            }
        }
        distinct.push(stretch);
    }
    distinct.sort_by_key(|stretch| (stretch.file.clone(), stretch.region.bytes.start));
    distinct
}

/// What should come first and what then, so that a cycle is closed with the first cause of a class.
fn closing(class: &CauseClass, analysis: &Analysis) -> Vec<(Spot, Spot)> {
    let Some(cause) = class.causes.first() else { return Vec::new() };
    let graph = Graph::of(cause);
    let participants = || cause.orders.iter().flat_map(|order| [&order.first, &order.second]);
    let spot_of = |event: usize| {
        let who = participants().find(|who| who.key == graph.events[event])?;
        spot(who, &analysis.stacks)
    };
    let orders = graph.closing(cause).into_iter().take(MOST_ORDERS);
    orders.filter_map(|(first, then)| Some((spot_of(first)?, spot_of(then)?))).collect()
}

/// Orders that close a cycle with a cause.
fn orders(
    index: usize,
    class: &CauseClass,
    analysis: &Analysis,
    files: &mut Files,
) -> Vec<Proposal> {
    let mut candidates = Vec::new();
    for (first, then) in closing(class, analysis) {
        let firsts = by_frame(&first, files);
        let thens = by_frame(&then, files);
        for (out, first) in firsts.iter().enumerate() {
            for (up, then) in thens.iter().enumerate() {
                if first.overlaps(then) {
                    continue;
                }
                let cost = 60 + 6 * (out + up) as u64;
                let firsts = doing(first, class, analysis, files);
                let thens = doing(then, class, analysis, files);
                // Who waits for itself waits for ever.
                let is_apart = !thens.iter().any(|thread| firsts.contains(thread));
                let several = Some(firsts.len()).filter(|several| is_apart && *several > 1);
                for times in [1].into_iter().chain(several) {
                    let measure =
                        Measure::Order { first: first.clone(), times, then: then.clone() };
                    candidates.push(Proposal { measure, covers: vec![index], cost });
                }
            }
        }
    }
    candidates
}

/// The threads that have an event of a cause of this class in a stretch.
fn doing(
    stretch: &Stretch,
    class: &CauseClass,
    analysis: &Analysis,
    files: &Files,
) -> Vec<ThreadName> {
    let Some(source) = files.get(&stretch.file) else { return Vec::new() };
    let is_within = |place: &Place| {
        *place.file == *stretch.file
            && source.byte_at(position(place)).is_some_and(|at| stretch.region.bytes.contains(&at))
    };
    let mut threads: Vec<ThreadName> = Vec::new();
    for spot in class.causes.iter().flat_map(|cause| spots(cause, analysis)).flatten() {
        if spot.frames.iter().any(is_within) && !threads.contains(&spot.thread) {
            threads.push(spot.thread);
        }
    }
    threads
}

/// Where an order may be kept around an event: at its statement, at the whole of its function (so that nobody waits with
/// a lock held), and the same for the calls that lead there.
fn by_frame(spot: &Spot, files: &mut Files) -> Vec<Stretch> {
    let mut found: Vec<Stretch> = Vec::new();
    for place in spot.frames.iter().take(2) {
        let file = place.file.to_string();
        if !files.open(&file) {
            continue;
        }
        let Some(source) = files.get(&file) else { continue };
        let regions =
            [source.region(&[position(place)]), source.body_without_return(position(place))];
        for region in regions.into_iter().flatten() {
            let stretch = Stretch { file: file.clone(), region };
            if !found.contains(&stretch) {
                found.push(stretch);
            }
        }
    }
    found
}
