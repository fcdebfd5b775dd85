//! Semaphores and barriers: counting what came before.
//!
//! A semaphore set up with v has `v + posts − acquisitions` at any place; an acquisition needs 1 of it, a failed one
//! finds 0. "At least k of these orders hold" says so without numbers: posts before it, acquisitions after it.
//! With v = 0, `T1: wait` and `T2: post`: `post < wait`.
//!
//! A barrier of n threads: if at least n·g others arrived before an arrival, it is of generation g or later, and its
//! leave needs n·(g+1) arrivals before it.
//! *Not encoded*: barriers that are set up more than once.

use unravel_trace::SyncState;

use super::{Constraints, Formula, NoEncoding, Point};
use crate::{Op, SyncId};

/// What happened to a semaphore.
#[derive(Clone, Debug, Default)]
pub(super) struct Semaphore {
    /// Where it was set up, and the value; `None` before the beginning.
    inits: Vec<(Option<Point>, i64)>,
    posts: Vec<Point>,
    acquisitions: Vec<Point>,
}

impl Constraints<'_> {
    pub(super) fn semaphore_uses(&self, id: SyncId) -> Semaphore {
        let mut semaphore = Semaphore::default();
        for state in &self.model.sync(id).initial {
            if let SyncState::Semaphore(value) = state {
                semaphore.inits.push((None, i64::from(*value)));
            }
        }
        for (at, op) in &self.uses[id.index()] {
            match *op {
                Op::SemInit { value, .. } => semaphore.inits.push((Some(*at), i64::from(value))),
                Op::SemPost { .. } => semaphore.posts.push(*at),
                Op::SemAcquire { .. } | Op::SemTryAcquire { acquired: true, .. } => {
                    semaphore.acquisitions.push(*at);
                }
                _ => {}
            }
        }
        semaphore
    }

    pub(super) fn semaphore(&self, id: SyncId) -> Vec<Formula> {
        let semaphore = self.semaphore_uses(id);
        let mut formulas = Vec::new();
        for (at, op) in &self.uses[id.index()] {
            let formula = match op {
                Op::SemPost { .. } => self.is_set_up(&semaphore, *at),
                Op::SemAcquire { .. } | Op::SemTryAcquire { acquired: true, .. } => {
                    self.is_positive(&semaphore, *at)
                }
                Op::SemTryAcquire { acquired: false, .. } => self.is_zero(&semaphore, *at),
                _ => continue,
            };
            formulas.push(self.require(*at, formula));
        }
        formulas
    }

    /// For each way it may have been set up last before this: that it was, and the rest.
    fn last_set_up(
        &self,
        semaphore: &Semaphore,
        at: Point,
        rest: impl Fn(Option<Point>, i64) -> Formula,
    ) -> Formula {
        Formula::or(semaphore.inits.iter().map(|(init, value)| {
            let before = init.map_or(Formula::True, |init| self.ahead(init, at));
            let others = semaphore.inits.iter().filter_map(|(other, _)| *other);
            let last = others.filter(|other| Some(*other) != *init).map(|other| {
                let earlier = init.map_or(Formula::False, |init| self.ahead(other, init));
                Formula::or([earlier, self.ahead(at, other)])
            });
            let last = Formula::and(last);
            if before == Formula::False || last == Formula::False {
                return Formula::False;
            }
            Formula::and([before, last, rest(*init, *value)])
        }))
    }

    fn is_set_up(&self, semaphore: &Semaphore, at: Point) -> Formula {
        self.last_set_up(semaphore, at, |_, _| Formula::True)
    }

    fn is_between(&self, from: Option<Point>, what: Point, to: Point) -> Formula {
        let after = from.map_or(Formula::True, |from| self.ahead(from, what));
        Formula::and([after, self.ahead(what, to)])
    }

    fn is_outside(&self, from: Option<Point>, what: Point, to: Point) -> Formula {
        let before = from.map_or(Formula::False, |from| self.ahead(what, from));
        Formula::or([before, self.ahead(to, what)])
    }

    /// It was not set up before this.
    pub(super) fn is_not_set_up(&self, semaphore: &Semaphore, at: Point) -> Formula {
        Formula::and(semaphore.inits.iter().map(|(init, _)| match init {
            None => Formula::False,
            Some(init) => self.ahead(at, *init),
        }))
    }

    pub(super) fn is_positive(&self, semaphore: &Semaphore, at: Point) -> Formula {
        let others: Vec<Point> =
            semaphore.acquisitions.iter().copied().filter(|a| *a != at).collect();
        self.last_set_up(semaphore, at, |init, value| {
            let posts = semaphore.posts.iter().map(|post| self.is_between(init, *post, at));
            let taken = others.iter().map(|other| self.is_outside(init, *other, at));
            let needed = 1 - value + others.len() as i64;
            Formula::at_least(needed, posts.chain(taken).collect())
        })
    }

    pub(super) fn is_zero(&self, semaphore: &Semaphore, at: Point) -> Formula {
        self.last_set_up(semaphore, at, |init, value| {
            let posts = semaphore.posts.iter().map(|post| self.is_outside(init, *post, at));
            let taken = semaphore.acquisitions.iter().filter(|other| **other != at);
            let taken = taken.map(|other| self.is_between(init, *other, at));
            let needed = value + semaphore.posts.len() as i64;
            Formula::at_least(needed, posts.chain(taken).collect())
        })
    }

    pub(super) fn barrier(&self, id: SyncId) -> Result<Vec<Formula>, NoEncoding> {
        let (count, init) = self.barrier_set_up(id)?;
        let mut formulas = Vec::new();
        for (at, op) in &self.uses[id.index()] {
            let formula = match op {
                Op::Arrive { .. } => {
                    let set_up = init.map_or(Formula::True, |init| self.ahead(init, *at));
                    Formula::and([Formula::known(count > 0), set_up])
                }
                Op::Leave { .. } => self.is_open(id, count, *at),
                _ => continue,
            };
            formulas.push(self.require(*at, formula));
        }
        Ok(formulas)
    }

    /// The number of threads, and where it was said.
    pub(super) fn barrier_set_up(&self, id: SyncId) -> Result<(i64, Option<Point>), NoEncoding> {
        let mut found = Vec::new();
        for state in &self.model.sync(id).initial {
            if let SyncState::Barrier(count) = state {
                found.push((i64::from(*count), None));
            }
        }
        for (at, op) in &self.uses[id.index()] {
            if let Op::BarrierInit { count, .. } = op {
                found.push((i64::from(*count), Some(*at)));
            }
        }
        match found.as_slice() {
            [] => Ok((0, None)),
            [one] => Ok(*one),
            _ => Err(NoEncoding("a barrier that is set up more than once".to_owned())),
        }
    }

    fn arrivals(&self, id: SyncId) -> Vec<Point> {
        let uses = self.uses[id.index()].iter();
        uses.filter(|(_, op)| matches!(op, Op::Arrive { .. })).map(|(at, _)| *at).collect()
    }

    /// The arrival of the same thread that this leave belongs to.
    fn own_arrival(&self, arrivals: &[Point], leave: Point) -> Option<Point> {
        let model = self.model;
        let place = |point: &Point| (model.place(point.step), point.position);
        let mine = arrivals.iter().filter(|a| model.owner(a.step) == model.owner(leave.step));
        mine.filter(|a| place(a) < place(&leave)).max_by_key(|a| place(a)).copied()
    }

    /// The generation that this leave waits for is complete: for each g, the arrival is of an earlier one, or
    /// n·(g+1) arrived before the leave.
    pub(super) fn is_open(&self, id: SyncId, count: i64, leave: Point) -> Formula {
        let arrivals = self.arrivals(id);
        let Some(mine) = self.own_arrival(&arrivals, leave) else { return Formula::False };
        if count <= 0 {
            return Formula::False;
        }
        let others: Vec<Point> = arrivals.iter().copied().filter(|a| *a != mine).collect();
        let last = others.len() as i64 / count;
        Formula::and((0..=last).map(|generation| {
            // Fewer than n·g of the others before: at least the rest of them after.
            let late = others.len() as i64 - count * generation + 1;
            let after = others.iter().map(|other| self.ahead(mine, *other)).collect();
            let there = arrivals.iter().map(|arrival| self.ahead(*arrival, leave)).collect();
            let complete = Formula::at_least(count * (generation + 1), there);
            Formula::or([Formula::at_least(late, after), complete])
        }))
    }

    /// The generation that this leave waits for is not complete: for some g the arrival is not of an earlier one,
    /// and fewer than n·(g+1) arrived before the leave.
    pub(super) fn is_shut(&self, id: SyncId, count: i64, leave: Point) -> Formula {
        let arrivals = self.arrivals(id);
        let Some(mine) = self.own_arrival(&arrivals, leave) else { return Formula::True };
        if count <= 0 {
            return Formula::True;
        }
        let others: Vec<Point> = arrivals.iter().copied().filter(|a| *a != mine).collect();
        let last = others.len() as i64 / count;
        Formula::or((0..=last).map(|generation| {
            let before = others.iter().map(|other| self.ahead(*other, mine)).collect();
            let reached = Formula::at_least(count * generation, before);
            let late = arrivals.len() as i64 - count * (generation + 1) + 1;
            let missing = arrivals.iter().map(|arrival| self.ahead(leave, *arrival)).collect();
            Formula::and([reached, Formula::at_least(late, missing)])
        }))
    }
}
