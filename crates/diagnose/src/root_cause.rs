//! The root cause: a minimal set of orders of the failing run of which every passing run breaks one (design §7).
//!
//! Found by implicit hitting sets: known passing runs each break some orders of the failing run; a minimal set that
//! meets all of these is the candidate; a passing run that keeps the candidate refutes it and joins the known ones,
//! cut down first to the few orders it must break. Minimal by construction: each member has a passing run that
//! breaks it and no other member. That *no* passing run keeps all members is checked by trying, on every path
//! the program takes: all single reversals, all single delays, and many schedules at random; last by a [`Refuter`],
//! which may prove it for the recorded path.
//!
//! Symbiosis (§3.4) takes an unsatisfiable core of one solver call over the failing path. Deviates: runs are cheap here and take
//! whatever path they take, so the core comes of executed runs. Errs towards too few orders where no passing run was found that
//! keeps the others; it never claims an order without a run that breaks it alone.

use rustc_hash::FxHashMap;
use unravel_trace::{Key, Rng, Schedule};

use crate::budgets::{MAX_ALONE, MAX_CUTS, MAX_MOVES, MAX_ROUNDS};
use crate::hitting_set::{drop_spare, minimal_hitting_set};
use crate::pairs::{broken, enclosing_locks, immediate, weight};
use crate::points::{Point, Touch};
use crate::steer::Positions;
use crate::world::{Ending, Mode, Order, Tried, World};

/// A set of orders, and how it was checked.
#[derive(Clone, Debug)]
pub struct Cause {
    pub orders: Vec<Order>,
    /// For each order a run that breaks it, keeps the others, and passes.
    pub witnesses: Vec<Option<Schedule>>,
    /// Schedules that kept all orders, all of which failed.
    pub kept_and_failed: u64,
    /// False if a bound was reached before the candidate stood.
    pub complete: bool,
    /// What the points of the orders touch.
    pub touches: FxHashMap<Key, Touch>,
}

/// Who may know of a passing schedule that keeps these orders.
pub trait Refuter {
    fn refute(&mut self, world: &dyn World, orders: &[Order]) -> Option<Schedule>;
}

struct Known {
    broken: Vec<Order>,
    schedule: Schedule,
}

struct Search<'w> {
    world: &'w mut dyn World,
    refuter: &'w mut dyn Refuter,
    positions: Positions,
    touches: FxHashMap<Key, Touch>,
    known: Vec<Known>,
    moves: Vec<Vec<Order>>,
    next_move: usize,
    samples: u64,
    seed: u64,
    kept_and_failed: u64,
}

/// The root cause of the world's failing run. `None` if no schedule that was tried passes.
/// `passing` are passing runs that are already known, `samples` how many schedules to try at random; `refuter` has
/// the last word.
pub fn root_cause(
    world: &mut dyn World,
    passing: Vec<Tried>,
    samples: u64,
    refuter: &mut dyn Refuter,
) -> Option<Cause> {
    let failing = world.failing().to_vec();
    // What comes after the failure counts as after all of it.
    let positions = Positions::new(&failing[..world.end()]);
    let moves = moves(&failing, world);
    let touches = failing.iter().map(|p| (p.key, p.touch)).collect();
    let mut search = Search {
        world,
        refuter,
        positions,
        touches,
        known: Vec::new(),
        moves,
        next_move: 0,
        samples,
        seed: 1,
        kept_and_failed: 0,
    };
    for tried in passing {
        search.learn(tried, &[]);
    }
    search.run()
}

/// What is tried first: reversals of neighbouring conflicts, then delays of single points.
fn moves(failing: &[Point], world: &dyn World) -> Vec<Vec<Order>> {
    let positions = Positions::new(failing);
    let rank = |touch: &Touch| world.relevance().rank(touch, world.extents());
    let mut moves: Vec<(u32, Vec<Order>)> = Vec::new();
    let mut pairs = immediate(failing, world.extents());
    let touch_of =
        |key: Key| positions.get(key).map_or(Touch::Nothing, |at| failing[at as usize].touch);
    pairs.sort_by_cached_key(|(_, second)| rank(&touch_of(*second)));
    for (first, second) in pairs.into_iter().take(MAX_MOVES) {
        let near = rank(&touch_of(second));
        moves.push((near, vec![(second, first)]));
        let at = positions.get(first).map_or(0, |at| at as usize);
        let locks = enclosing_locks(failing, at);
        moves.extend(locks.into_iter().map(|lock| (near, vec![(second, lock)])));
    }
    moves.truncate(MAX_MOVES);
    let mut delays: Vec<&Point> =
        failing.iter().rev().filter(|p| p.touch != Touch::Nothing).collect();
    delays.sort_by_cached_key(|p| rank(&p.touch));
    let delays = delays.into_iter().take(MAX_MOVES / 4);
    moves.extend(delays.map(|p| (rank(&p.touch), vec![(NEVER, p.key)])));
    // What the failure depends on first, reversed or delayed.
    moves.sort_by_key(|(near, _)| *near);
    moves.into_iter().map(|(_, orders)| orders).collect()
}

/// A point that is never executed: what has to come after it comes last.
pub const NEVER: Key = Key(u32::MAX);

impl Search<'_> {
    fn run(mut self) -> Option<Cause> {
        for _ in 0..MAX_ROUNDS {
            let candidate = self.candidate();
            let Some(counterexample) = self.refute(&candidate) else {
                if self.known.is_empty() {
                    return None;
                }
                let complete = self.world.may_go_on();
                return Some(self.cause(candidate, complete));
            };
            self.learn(counterexample, &candidate);
        }
        let candidate = self.candidate();
        Some(self.cause(candidate, false))
    }

    /// A minimal set of orders that meets every known passing run, of data where a run breaks orders of data.
    fn candidate(&self) -> Vec<Order> {
        let telling = |known: &Known| {
            let least = known.broken.iter().map(|o| self.weight(*o)).min();
            known.broken.iter().filter(|o| Some(self.weight(**o)) == least).copied().collect()
        };
        let sets: Vec<Vec<Order>> = self.known.iter().map(telling).collect();
        let mut chosen = minimal_hitting_set(&sets, |order| self.cost(order));
        let all: Vec<Vec<Order>> = self.known.iter().map(|k| k.broken.clone()).collect();
        drop_spare(&mut chosen, &all, |order| self.cost(order));
        chosen
    }

    /// What the failure depends on first, then other data, then waits and signals, then locks.
    fn weight(&self, (first, second): Order) -> u32 {
        let extents = self.world.extents();
        let relevance = self.world.relevance();
        let touch = |key: &Key| match self.touches.get(key) {
            Some(touch) => match relevance.rank(touch, extents) {
                2 => 2 + weight(touch, extents),
                near => near,
            },
            None => 6,
        };
        touch(&first).max(touch(&second))
    }

    /// Orders of data before orders of locks, near ones before far ones.
    fn cost(&self, (first, second): Order) -> u64 {
        let last = u32::MAX / 2;
        let place = |key| self.positions.get(key).unwrap_or(last);
        let far = place(second).saturating_sub(place(first));
        u64::from(self.weight((first, second))) << 32 | u64::from(far)
    }

    fn cause(self, orders: Vec<Order>, complete: bool) -> Cause {
        let witnesses = orders
            .iter()
            .map(|order| {
                let only = |k: &&Known| {
                    k.broken.contains(order)
                        && !orders.iter().any(|o| o != order && k.broken.contains(o))
                };
                self.known.iter().find(only).map(|k| k.schedule.clone())
            })
            .collect();
        Cause {
            orders,
            witnesses,
            kept_and_failed: self.kept_and_failed,
            complete,
            touches: self.touches,
        }
    }

    /// A passing run that keeps all of `candidate`.
    fn refute(&mut self, candidate: &[Order]) -> Option<Tried> {
        self.kept_and_failed = 0;
        for step in 0..self.moves.len() {
            let index = (self.next_move + step) % self.moves.len();
            if !self.world.may_go_on() {
                return None;
            }
            let orders = [candidate, &self.moves[index]].concat();
            if let Some(tried) = self.attempt(&orders, Mode::Follow, candidate) {
                self.next_move = index + 1;
                return Some(tried);
            }
        }
        for index in 0..self.samples {
            if !self.world.may_go_on() {
                return None;
            }
            let seed = Rng::derive(self.seed, index);
            let mode = match index % 7 {
                0 => Mode::Random { seed, stay: 0 },
                1 => Mode::Random { seed, stay: 70 },
                2 => Mode::Random { seed, stay: 93 },
                // One thread after the other, as far as the orders let them.
                3 => Mode::Random { seed, stay: 100 },
                4 => Mode::Wander { seed, leave: 2, of: 100 },
                5 => Mode::Wander { seed, leave: 8, of: 100 },
                _ => Mode::Wander { seed, leave: 25, of: 100 },
            };
            if let Some(tried) = self.attempt(candidate, mode, candidate) {
                return Some(tried);
            }
        }
        let schedule = self.refuter.refute(&*self.world, candidate)?;
        let tried = self.world.replay(&schedule);
        self.keeping(tried, candidate)
    }

    /// Tries a schedule; it counts if it keeps the candidate.
    fn attempt(&mut self, orders: &[Order], mode: Mode, candidate: &[Order]) -> Option<Tried> {
        let tried = self.world.steer(orders, mode);
        self.keeping(tried, candidate)
    }

    /// A tried schedule if it passes, keeps the candidate, and breaks something else.
    fn keeping(&mut self, tried: Tried, candidate: &[Order]) -> Option<Tried> {
        let passed = match tried.ending {
            Ending::Passed => true,
            Ending::Failed => false,
            Ending::FailedOtherwise(_) | Ending::Unknown => return None,
        };
        let broken = broken(&self.positions, &tried.points, &*self.world);
        if broken.iter().any(|order| candidate.contains(order)) {
            return None;
        }
        if passed && !broken.is_empty() {
            return Some(tried);
        }
        self.kept_and_failed += u64::from(!passed);
        None
    }

    /// Adds a passing run, cut down to the orders it must break.
    fn learn(&mut self, tried: Tried, keep: &[Order]) {
        for point in &tried.points {
            self.touches.entry(point.key).or_insert(point.touch);
        }
        let broken = broken(&self.positions, &tried.points, &*self.world);
        if broken.is_empty() {
            // No order of points tells it from the failing run: it says nothing about orders.
            return;
        }
        let mut best = Known { broken, schedule: tried.schedule };
        let mut alone = best.broken.clone();
        alone.sort_by_key(|order| (self.cost(*order), *order));
        for order in alone.into_iter().take(MAX_ALONE) {
            if best.broken.len() == 1 || !self.world.may_go_on() {
                break;
            }
            if let Some(known) = self.cut(&[order], keep, best.broken.len()) {
                best = known;
            }
        }
        let mut cuts = 0;
        let mut parts = 2;
        while best.broken.len() > 1 && parts <= best.broken.len().max(2) && cuts < MAX_CUTS {
            let size = best.broken.len().div_ceil(parts);
            let subsets: Vec<Vec<Order>> = best.broken.chunks(size).map(<[_]>::to_vec).collect();
            let complements = (0..subsets.len()).map(|skip| {
                let rest = subsets.iter().enumerate().filter(|(i, _)| *i != skip);
                rest.flat_map(|(_, s)| s.clone()).collect::<Vec<Order>>()
            });
            let attempts: Vec<Vec<Order>> = if parts == 2 {
                subsets.clone()
            } else {
                subsets.iter().cloned().chain(complements).collect()
            };
            let mut smaller = None;
            for attempt in attempts {
                cuts += 1;
                if let Some(known) = self.cut(&attempt, keep, best.broken.len()) {
                    smaller = Some(known);
                    break;
                }
                if cuts >= MAX_CUTS || !self.world.may_go_on() {
                    break;
                }
            }
            match smaller {
                Some(known) => {
                    best = known;
                    parts = 2;
                }
                None if size == 1 => break,
                None => parts = (parts * 2).min(best.broken.len()),
            }
        }
        self.known.push(best);
    }

    /// A passing run that breaks `some` orders, keeps `keep`, and breaks fewer than `limit` in all.
    fn cut(&mut self, some: &[Order], keep: &[Order], limit: usize) -> Option<Known> {
        let mut orders = keep.to_vec();
        orders.extend(some.iter().map(|(first, second)| (*second, *first)));
        let tried = self.world.steer(&orders, Mode::Follow);
        if tried.ending != Ending::Passed {
            return None;
        }
        let broken = broken(&self.positions, &tried.points, &*self.world);
        let kept = !broken.iter().any(|order| keep.contains(order));
        if !kept || broken.is_empty() || broken.len() >= limit {
            return None;
        }
        for point in &tried.points {
            self.touches.entry(point.key).or_insert(point.touch);
        }
        Some(Known { broken, schedule: tried.schedule })
    }
}
