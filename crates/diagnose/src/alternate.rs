//! The nearest passing schedule, by trying: reversals of one pair of conflicting points, then of two, then at random; of what a
//! random run turns round only the fewest orders are kept that still make it pass.
//!
//! A reversal follows the failing run, holding the first point of the pair (or a lock around it) until the second was
//! executed; or, as Symbiosis does it, runs the second point's thread ahead until it has executed it.

use rustc_hash::FxHashSet;
use unravel_results::{Distance, Observed};
use unravel_trace::{Detail, Key, Keys, Rng, Symbolic, ThreadKey};

use crate::branches::Branches;
use crate::budgets::{ENOUGH_PASSING, MAX_APPROACHES, MAX_DOUBLES, MAX_RANDOM, MAX_SINGLES};
use crate::criteria::distance;
use crate::flows::{Lineup, freed_objects};
use crate::pairs::{enclosing_locks, immediate};
use crate::points::{Point, Touch};
use crate::projection::{Side, operations, project};
use crate::root_cause::NEVER;
use crate::steer::Positions;
use crate::world::{Ending, Mode, Order, Tried, World};

/// A passing run, measured.
#[derive(Clone, Debug)]
pub struct Nearby {
    pub observed: Observed,
    pub lineup: Lineup,
    pub distance: Distance,
    pub same_path: bool,
    pub tried: Option<Tried>,
    pub goal: &'static str,
}

/// The failing run, as candidates are measured against it.
#[derive(Debug)]
pub struct Reference {
    pub observed: Observed,
    pub lineup: Lineup,
    pub keys: Keys,
    pub branches: Branches,
    /// How much is kept of runs that are compared with it: a run that is taken apart has more events than another.
    pub detail: Detail,
    freed: FxHashSet<u64>,
}

impl Reference {
    pub fn new(observed: Observed, symbolic: Option<&Symbolic>) -> Reference {
        let mut keys = Keys::default();
        let freed = freed_objects(&observed.trace);
        let lineup = Lineup::new(&observed.trace, &mut keys, &freed);
        let branches = Branches::new(&observed.trace, symbolic);
        let detail = if symbolic.is_some() { Detail::Symbolic } else { Detail::Events };
        Reference { observed, lineup, keys, branches, detail, freed }
    }

    /// Measures a passing run.
    pub fn measure(
        &mut self,
        observed: Observed,
        tried: Option<Tried>,
        goal: &'static str,
    ) -> Nearby {
        let lineup = Lineup::new(&observed.trace, &mut self.keys, &self.freed);
        let mut distance = distance(&self.lineup, &lineup);
        let projection = project(
            &self.keys,
            &self.branches,
            Side { trace: &self.observed.trace, lineup: &self.lineup },
            Side { trace: &observed.trace, lineup: &lineup },
        );
        distance.operations = operations(&projection, &self.lineup, &lineup);
        let same_path = projection.branches.is_empty();
        Nearby { observed, lineup, distance, same_path, tried, goal }
    }
}

/// What a search for passing runs is content with.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// So many runs, if they can be found.
    pub count: usize,
    /// At most so many.
    pub keep: usize,
    /// None can differ in fewer data flows: as long as none is found that differs in so few, and breaks no segment, more kinds of
    /// change are tried.
    pub flows: u32,
    /// Whether that goes as far as two changes at once: they are many.
    pub doubles: bool,
}

/// Passing runs near the failing one, nearest first, no two with the same data flow.
pub fn nearest(world: &mut dyn World, reference: &mut Reference, wanted: Wanted) -> Vec<Nearby> {
    let keep = wanted.keep;
    let mut found = Found { candidates: Vec::new(), seen: 0 };
    let failing = world.failing().to_vec();
    let positions = Positions::new(&failing);
    let mut pairs = immediate(&failing, world.extents());
    // What the failure depends on first.
    pairs.sort_by_key(|(_, second)| {
        let touch = positions.get(*second).map_or(Touch::Nothing, |at| failing[at as usize].touch);
        world.relevance().rank(&touch, world.extents())
    });
    'singles: for order in pairs.iter().take(MAX_SINGLES) {
        for orders in reversals(&failing, &positions, *order) {
            if found.is_enough() || !world.may_go_on() {
                break 'singles;
            }
            found.offer(world, reference, &orders, Mode::Follow);
        }
    }
    if found.has(wanted) {
        return found.best(keep);
    }
    found.begin();
    for point in failing.iter().rev().filter(|p| p.touch != Touch::Nothing).take(MAX_SINGLES / 4) {
        if found.is_enough() || !world.may_go_on() {
            break;
        }
        // What the failing run did not come to may be all that it takes.
        let never = [(NEVER, point.key)];
        if !found.offer(world, reference, &never, Mode::Patient) {
            found.offer(world, reference, &never, Mode::Follow);
        }
    }
    if found.has(wanted) || !wanted.doubles && found.candidates.len() >= wanted.count {
        return found.best(keep);
    }
    found.begin();
    let few = &pairs[..pairs.len().min(MAX_DOUBLES)];
    'doubles: for (index, first) in few.iter().enumerate() {
        for second in &few[..index] {
            if found.is_enough() || !world.may_go_on() {
                break 'doubles;
            }
            let orders = [(first.1, first.0), (second.1, second.0)];
            found.offer(world, reference, &orders, Mode::Follow);
        }
    }
    if found.candidates.len() >= wanted.count {
        return found.best(keep);
    }
    found.begin();
    for index in 0..MAX_RANDOM {
        if found.is_enough() || !world.may_go_on() {
            break;
        }
        let seed = Rng::derive(7, index);
        let mode = match index % 3 {
            0 => Mode::Wander { seed, leave: 5, of: 100 },
            1 => Mode::Random { seed, stay: 90 },
            _ => Mode::Random { seed, stay: 30 },
        };
        found.offer(world, reference, &[], mode);
    }
    if let Some(tried) = found.nearest() {
        let reversed = reversed(&pairs, &tried.points);
        let few = fewest(reversed, MAX_APPROACHES, |orders| {
            world.may_go_on() && world.steer(orders, Mode::Follow).ending == Ending::Passed
        });
        if let Some(few) = few {
            found.offer(world, reference, &few, Mode::Follow);
        }
    }
    found.best(keep)
}

/// The orders of the failing run that another run turns round.
pub fn reversed(pairs: &[Order], points: &[Point]) -> Vec<Order> {
    let positions = Positions::new(points);
    let turned = pairs.iter().filter(|(first, second)| {
        let (first, second) = (positions.get(*first), positions.get(*second));
        second.is_some_and(|second| first.is_none_or(|first| second < first))
    });
    turned.map(|(first, second)| (*second, *first)).collect()
}

/// As few of these orders as still make a run pass that follows the failing one otherwise: what a walk did besides, by chance,
/// is left out. By halves, then quarters, and so on, after delta debugging. `None` if all of them together do not pass.
pub fn fewest(
    mut orders: Vec<Order>,
    most: usize,
    mut passes: impl FnMut(&[Order]) -> bool,
) -> Option<Vec<Order>> {
    let mut left = most;
    if orders.is_empty() || !passes(&orders) {
        return None;
    }
    let mut part = orders.len().div_ceil(2);
    loop {
        let mut at = 0;
        while at < orders.len() && orders.len() > 1 {
            if left == 0 {
                return Some(orders);
            }
            left -= 1;
            let end = (at + part).min(orders.len());
            let fewer = [&orders[..at], &orders[end..]].concat();
            match !fewer.is_empty() && passes(&fewer) {
                true => orders = fewer,
                false => at = end,
            }
        }
        match part {
            1 => return Some(orders),
            _ => part = part.div_ceil(2),
        }
    }
}

/// The ways to reverse an order: at the points themselves, or with the segments they are in kept whole; holding the
/// first back, or running the second ahead; and with the locks around the first.
fn reversals(failing: &[Point], positions: &Positions, (first, second): Order) -> Vec<Vec<Order>> {
    let place = |key: Key| positions.get(key).map(|at| at as usize);
    let (Some(first_at), Some(second_at)) = (place(first), place(second)) else {
        return vec![vec![(second, first)]];
    };
    let start = segment_start(failing, first_at);
    let begin = failing[start].key;
    let end = failing[segment_end(failing, second_at)].key;
    let mut ways = Vec::new();
    for hold_at in [first_at, start] {
        for until in [second, end] {
            ways.push(vec![(until, if hold_at == start { begin } else { first })]);
            ways.push(run_ahead(&failing[hold_at..], failing[second_at].thread, until));
        }
    }
    let locks = enclosing_locks(failing, first_at);
    ways.extend(locks.into_iter().map(|lock| vec![(second, lock)]));
    ways.sort();
    ways.dedup();
    ways
}

fn segment_start(failing: &[Point], at: usize) -> usize {
    let thread = failing[at].thread;
    failing[..at].iter().rposition(|p| p.thread != thread).map_or(0, |before| before + 1)
}

fn segment_end(failing: &[Point], at: usize) -> usize {
    let thread = failing[at].thread;
    let more = failing[at..].iter().position(|p| p.thread != thread);
    more.map_or(failing.len(), |length| at + length) - 1
}

/// `α e_j β e_k γ → α β[t_k] e_k e_j (β∖β[t_k]) γ`: from e_j on, everybody but `thread` waits until its `second` was
/// executed.
fn run_ahead(from: &[Point], thread: ThreadKey, second: Key) -> Vec<Order> {
    let mut waiting = Vec::new();
    let mut seen = FxHashSet::default();
    for point in from.iter().take_while(|p| p.key != second) {
        if point.thread != thread && seen.insert(point.thread) {
            waiting.push((second, point.key));
        }
    }
    waiting
}

struct Found {
    candidates: Vec<Nearby>,
    /// Since a new kind of change is tried.
    seen: usize,
}

impl Found {
    /// Tries a schedule and keeps it if it passes; whether it did.
    fn offer(
        &mut self,
        world: &mut dyn World,
        reference: &mut Reference,
        orders: &[Order],
        mode: Mode,
    ) -> bool {
        let tried = world.steer(orders, mode);
        if tried.ending != Ending::Passed {
            return false;
        }
        let Some(observed) = world.observe(&tried, reference.detail) else { return false };
        self.seen += 1;
        let candidate = reference.measure(observed, Some(tried), "local");
        let same_flow = |c: &&mut Nearby| c.lineup.edges == candidate.lineup.edges;
        match self.candidates.iter_mut().find(same_flow) {
            Some(known) if rank(&candidate) < rank(known) => *known = candidate,
            Some(_) => {}
            None => self.candidates.push(candidate),
        }
        true
    }

    /// The run that is nearest so far.
    fn nearest(&self) -> Option<Tried> {
        self.candidates.iter().min_by_key(|candidate| rank(candidate))?.tried.clone()
    }

    /// Another kind of change is tried.
    fn begin(&mut self) {
        self.seen = 0;
    }

    fn is_enough(&self) -> bool {
        self.seen >= ENOUGH_PASSING
    }

    /// Whether there are as many as are wanted, and one of them as near as can be.
    fn has(&self, wanted: Wanted) -> bool {
        let best = self.candidates.iter().min_by_key(|candidate| rank(candidate));
        self.candidates.len() >= wanted.count
            && best.is_some_and(|best| {
                best.distance.data_flow <= wanted.flows.max(1) && best.distance.segments == 0
            })
    }

    fn best(mut self, keep: usize) -> Vec<Nearby> {
        self.candidates.sort_by_key(rank);
        self.candidates.truncate(keep);
        self.candidates
    }
}

/// Runs that stay on the path come first, then the fewest differences.
pub fn rank(candidate: &Nearby) -> (bool, Distance) {
    (!candidate.same_path, candidate.distance)
}

/// A failing run beside one that passed, whichever: what differs between them, as Cortex compares the failure that it
/// exposes with the run it was derived from (thesis §5.2.3). Nothing is claimed to be minimal.
pub fn compare(
    failing: &Observed,
    symbolic: Option<&Symbolic>,
    passing: Observed,
) -> unravel_results::Alternate {
    let mut reference = Reference::new(failing.clone(), symbolic);
    let candidate = reference.measure(passing, None, "derived");
    let failing = Side { trace: &reference.observed.trace, lineup: &reference.lineup };
    let side = Side { trace: &candidate.observed.trace, lineup: &candidate.lineup };
    let projection = project(&reference.keys, &reference.branches, failing, side);
    unravel_results::Alternate {
        same_path: candidate.same_path,
        minimality: unravel_results::Minimality::BestFound { gap: candidate.distance.data_flow },
        run: candidate.observed,
        distance: candidate.distance,
        projection,
        goal: candidate.goal.to_owned(),
        usual_answers: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(number: u32) -> Order {
        (Key(number), Key(number + 100))
    }

    #[test]
    fn what_is_not_needed_is_left_out() {
        let all: Vec<Order> = (0..20).map(order).collect();
        let needed = [order(3), order(7)];
        let passes = |orders: &[Order]| needed.iter().all(|order| orders.contains(order));
        assert_eq!(fewest(all.clone(), 120, passes), Some(needed.to_vec()));
        assert_eq!(fewest(all[..5].to_vec(), 120, passes), None);
        assert_eq!(fewest(Vec::new(), 120, |_: &[Order]| true), None);
    }

    #[test]
    fn it_ends_when_nothing_more_may_be_tried() {
        let all: Vec<Order> = (0..20).map(order).collect();
        let mut tried = 0;
        let few = fewest(all, 3, |orders: &[Order]| {
            tried += 1;
            orders.contains(&order(0))
        });
        assert!(few.is_some_and(|few| few.contains(&order(0))));
        assert_eq!(tried, 4, "all of them once, then three times fewer");
    }
}
