//! A scheduler that keeps given orders and otherwise follows a failing run, on whatever path that leads.

use rustc_hash::FxHashMap;
use unravel_trace::{
    Choice, Counter, Executed, Key, Keys, Op, Question, Ready, Rng, Scheduler, ThreadId, ThreadKey,
    ThreadName, View,
};

use crate::points::{Point, Touch};
use crate::world::{Mode, Order};

/// The orders to keep, by their second point.
#[derive(Debug, Default)]
pub struct Orders {
    after: FxHashMap<Key, Vec<Key>>,
}

impl Orders {
    pub fn new(orders: &[Order]) -> Orders {
        let mut after: FxHashMap<Key, Vec<Key>> = FxHashMap::default();
        for (first, second) in orders {
            after.entry(*second).or_default().push(*first);
        }
        Orders { after }
    }

    /// Whether a point has to wait for one that was not executed yet.
    pub fn hold(&self, key: Key, executed: &[bool]) -> bool {
        self.after.get(&key).is_some_and(|firsts| {
            firsts.iter().any(|first| !executed.get(first.0 as usize).copied().unwrap_or(false))
        })
    }
}

/// Where the failing run had each point.
#[derive(Debug, Default)]
pub struct Positions {
    of: FxHashMap<Key, u32>,
    /// By thread: its last point.
    last: FxHashMap<ThreadKey, u32>,
    /// By thread: how many it has.
    own: FxHashMap<ThreadKey, usize>,
}

impl Positions {
    pub fn new(points: &[Point]) -> Positions {
        let numbered = || points.iter().enumerate();
        let mut own: FxHashMap<ThreadKey, usize> = FxHashMap::default();
        for point in points {
            *own.entry(point.thread).or_default() += 1;
        }
        Positions {
            own,
            of: numbered().map(|(i, p)| (p.key, i as u32)).collect(),
            last: numbered().map(|(i, p)| (p.thread, i as u32)).collect(),
        }
    }

    /// How many points a thread has.
    pub fn of_thread(&self, thread: ThreadKey) -> usize {
        self.own.get(&thread).copied().unwrap_or(0)
    }

    pub fn get(&self, key: Key) -> Option<u32> {
        self.of.get(&key).copied()
    }
}

/// Follows the failing run under constraints, and keeps what it did.
pub struct Steer<'a> {
    keys: &'a mut Keys,
    orders: Orders,
    failing: &'a Positions,
    /// Answers to "which waiter" of the failing run.
    choices: &'a [u32],
    asked: usize,
    mode: Mode,
    rng: Rng,
    counter: Counter,
    executed: Vec<bool>,
    points: Vec<Point>,
    /// Whether a thread that has done all that it did in the failing run waits for the others to do so, too.
    patient: bool,
    /// Whether the process ends as soon as its main thread does, instead of after all others.
    hasty: bool,
    /// By thread of this run: its key, and where the failing run last agreed with it.
    threads: Vec<(ThreadKey, u32)>,
}

impl<'a> Steer<'a> {
    pub fn new(
        keys: &'a mut Keys,
        orders: &[Order],
        failing: &'a Positions,
        choices: &'a [u32],
        mode: Mode,
    ) -> Steer<'a> {
        Steer {
            orders: Orders::new(orders),
            failing,
            choices,
            asked: 0,
            mode,
            rng: mode.rng(),
            counter: Counter::default(),
            executed: vec![false; keys.len()],
            points: Vec::new(),
            patient: mode == Mode::Patient,
            hasty: false,
            threads: Vec::new(),
            keys,
        }
    }

    /// Follows the failing run to its end before anybody goes beyond it.
    pub fn patient(self) -> Steer<'a> {
        Steer { patient: true, ..self }
    }

    /// Lets the process end as soon as its main thread does: what others would do after that is cut off.
    pub fn hasty(self) -> Steer<'a> {
        Steer { hasty: true, ..self }
    }

    pub fn into_points(self) -> Vec<Point> {
        self.points
    }

    fn know(&mut self, names: &[ThreadName]) {
        for name in &names[self.threads.len()..] {
            let key = self.keys.thread(name);
            self.threads.push((key, 0));
        }
    }

    fn key_of(&mut self, candidate: &Ready) -> Key {
        let thread = self.threads[candidate.thread.index()].0;
        let site = candidate.pending.site;
        let occurrence = self.counter.upcoming(thread, site);
        self.keys.key(thread, site, occurrence)
    }

    /// The candidate the failing run would execute first. What it does not have comes where its thread left it.
    fn follow(&self, options: &[(usize, Key)], offered: &[Ready]) -> usize {
        let place = |(index, key): &(usize, Key)| {
            let thread = offered[*index].thread;
            match self.failing.get(*key) {
                Some(position) => (position, 1),
                None => {
                    let (key, at) = self.threads[thread.index()];
                    let is_done = self.failing.last.get(&key).is_none_or(|last| at == *last);
                    if self.patient && is_done { (u32::MAX, 0) } else { (at, 0) }
                }
            }
        };
        options.iter().min_by_key(|o| place(o)).expect("never without options").0
    }

    fn pick(&mut self, options: &[(usize, Key)], offered: &[Ready], current: ThreadId) -> usize {
        let current = options.iter().position(|o| offered[o.0].thread == current);
        if let Some(taken) = self.mode.leave(&mut self.rng, options.len(), current) {
            return options[taken].0;
        }
        self.follow(options, offered)
    }

    /// Who can go on; and whose time has not come, if the failing run let it go on here nevertheless.
    fn offered(&mut self, view: &View<'_>) -> Vec<Ready> {
        let mut offered = view.enabled.to_vec();
        if !view.early.is_empty() {
            let place = |steer: &mut Self, ready: &Ready| {
                let key = steer.key_of(ready);
                steer.failing.get(key)
            };
            let next = view.enabled.iter().filter_map(|ready| place(self, ready)).min();
            let early = view.early.iter().filter(|ready| {
                place(self, ready).is_some_and(|place| next.is_none_or(|next| place < next))
            });
            let early: Vec<Ready> = early.copied().collect();
            offered.extend(early);
        }
        offered
    }
}

impl Scheduler for Steer<'_> {
    fn next(&mut self, view: &View<'_>) -> Choice {
        self.know(view.names);
        let offered = self.offered(view);
        let all: Vec<(usize, Key)> =
            (0..offered.len()).map(|i| (i, self.key_of(&offered[i]))).collect();
        // The end of the process comes last, or it would hide what the other threads do.
        let lingering: Vec<(usize, Key)> = all
            .iter()
            .filter(|(index, key)| {
                let is_end = offered[*index].pending.op == Op::End;
                !is_end || self.hasty || self.failing.get(*key).is_some()
            })
            .copied()
            .collect();
        let options = if lingering.is_empty() { &all } else { &lingering };
        let free: Vec<(usize, Key)> = options
            .iter()
            .filter(|(_, key)| !self.orders.hold(*key, &self.executed))
            .copied()
            .collect();
        // If all are held, somebody has to go: the run will not keep the orders, and whoever asked sees it.
        let chosen = match free.is_empty() {
            true => self.follow(options, &offered),
            false => self.pick(&free, &offered, view.current),
        };
        let candidate = offered[chosen];
        let key = all[chosen].1;
        let thread = candidate.thread;
        let (thread_key, last) = &mut self.threads[thread.index()];
        if let Some(position) = self.failing.get(key) {
            *last = position;
        }
        self.points.push(Point { key, thread: *thread_key, touch: Touch::of(&candidate.pending) });
        if key.0 as usize >= self.executed.len() {
            self.executed.resize(key.0 as usize + 1, false);
        }
        self.executed[key.0 as usize] = true;
        Choice { thread, events: 1 }
    }

    fn watches(&self) -> bool {
        true
    }

    fn watch(&mut self, executed: &Executed<'_>) {
        self.counter.count(self.keys, executed);
    }

    fn choose(&mut self, _: Question, options: u32) -> u32 {
        self.asked += 1;
        match self.mode {
            Mode::Random { .. } => self.rng.below(options),
            _ => self.choices.get(self.asked - 1).copied().unwrap_or(0),
        }
    }
}
