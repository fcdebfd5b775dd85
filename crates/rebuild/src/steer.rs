//! The scheduler that steers: sync operations in the order of their stamps, orders that the search asks for, and a policy where
//! neither decides; before that, what runs that strayed taught ([`crate::lessons`]).
//!
//! All of it is soft. If nobody could go on otherwise, first the stamps give way, then the orders: what counts is whether the
//! run keeps to its routes, which others watch. Stamps order the operations on *one* object; as a clock over all of them
//! they are no more than a policy.

use rustc_hash::FxHashMap;
use unravel_trace::{
    Choice, Executed, Op, Pending, Question, Ready, Rng, Route, Scheduler, ThreadId, ThreadName,
    View, Why,
};

use crate::budgets::MOST_REMEMBERED;
use crate::lessons::Lessons;

/// A sync operation that was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hint {
    pub kind: HintKind,
    /// Unless its stamp says nothing: an operation that failed did not hold the object when it was stamped, and a condition is held by
    /// nobody.
    pub on: Option<Stamped>,
    /// A condition wait is about its mutex too.
    pub also: Option<Stamped>,
}

/// An object, and when the operation came among those on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamped {
    pub object: u64,
    pub stamp: u64,
}

impl Hint {
    fn objects(&self) -> impl Iterator<Item = Stamped> {
        [self.on, self.also].into_iter().flatten()
    }
}

/// What the machine's event of it looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HintKind {
    Acquire,
    /// A try that failed, or a wait for a lock that timed out: somebody else had it.
    Fail,
    Release,
    Wait,
    /// Out of a condition wait; `timed_out` if nobody signalled.
    Wake {
        timed_out: bool,
    },
    Signal,
    Fork,
    Join,
}

impl HintKind {
    fn is(self, ready: &Ready) -> bool {
        let op = ready.pending.op;
        match self {
            HintKind::Acquire | HintKind::Fail => {
                matches!(op, Op::Acquire | Op::AcquireShared) && ready.pending.mutex().is_none()
            }
            HintKind::Release => op == Op::Release,
            HintKind::Wait => op == Op::Wait,
            HintKind::Wake { .. } => {
                matches!(op, Op::Acquire | Op::Wait) && ready.pending.mutex().is_some()
            }
            HintKind::Signal => op == Op::Signal,
            HintKind::Fork => op == Op::Fork,
            HintKind::Join => op == Op::Join,
        }
    }
}

/// An event of a thread: its nth, counted from 1. Threads are those of the route.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Nth {
    pub leg: u32,
    pub own: u32,
}

/// An event of one thread that is to come before one of another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Order {
    pub first: Nth,
    pub then: Nth,
}

/// Who goes on where nothing else decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Policy {
    /// Whose next sync operation has the smallest stamp.
    Stamps,
    /// The current thread, as long as it can.
    Stay,
    /// The youngest thread.
    Youngest,
    /// Anybody, on average after so many events.
    Random { seed: u64, stay: u32 },
    /// Random priorities, with some changes.
    Priorities { seed: u64, changes: u32, events: u64 },
}

/// An event as it was executed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub by: Nth,
    pub op: Op,
    pub address: u64,
    pub bytes: u32,
    /// The lock that it takes or gives back, if it does.
    pub lock: u64,
}

impl Seen {
    pub fn is_access(&self) -> bool {
        matches!(self.op, Op::Read | Op::Write | Op::Update | Op::Free | Op::Alloc)
    }

    pub fn writes(&self) -> bool {
        !matches!(self.op, Op::Read | Op::AcquireShared)
    }

    pub fn reads(&self) -> bool {
        !matches!(self.op, Op::Write | Op::Release)
    }

    pub fn touches(&self, other: &Seen) -> bool {
        let (a, b) = (self.address, other.address);
        a < b + u64::from(other.bytes.max(1)) && b < a + u64::from(self.bytes.max(1))
    }
}

/// The stamps of a log, by object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stamps {
    /// By leg.
    hints: Vec<Vec<Hint>>,
    /// Operations on each object, in order: leg and number.
    objects: FxHashMap<u64, Vec<(u32, u32)>>,
}

impl Stamps {
    pub fn new(hints: Vec<Vec<Hint>>) -> Stamps {
        let mut all: FxHashMap<u64, Vec<(u64, u32, u32)>> = FxHashMap::default();
        for (leg, hints) in hints.iter().enumerate() {
            for (number, hint) in hints.iter().enumerate() {
                for Stamped { object, stamp } in hint.objects() {
                    all.entry(object).or_default().push((stamp, leg as u32, number as u32));
                }
            }
        }
        let sorted = |mut list: Vec<(u64, u32, u32)>| {
            list.sort_unstable();
            list.into_iter().map(|(_, leg, number)| (leg, number)).collect()
        };
        let objects = all.into_iter().map(|(object, list)| (object, sorted(list))).collect();
        Stamps { hints, objects }
    }
}

pub(crate) struct Steer<'a> {
    route: &'a Route,
    stamps: Option<&'a Stamps>,
    orders: &'a [Order],
    policy: Policy,
    rng: Rng,
    /// By thread: its leg.
    legs: Vec<Option<u32>>,
    /// By leg: events so far, and the next recorded sync operation.
    own: Vec<u32>,
    next_hint: Vec<u32>,
    /// By object: how many of its operations are done.
    done: FxHashMap<u64, usize>,
    last_number: u64,
    /// The event that was told last, of any thread.
    last_told: u64,
    priorities: Vec<u64>,
    changes: Vec<u64>,
    /// Locks that are held, and by whom.
    holders: FxHashMap<u64, u32>,
    /// By leg: whether the thread has ended.
    ended: Vec<bool>,
    /// Whether time may pass early for a thread that sleeps or waits, as on a busy machine; a deviation, which the report names.
    pub early: bool,
    /// By leg: after how many of its events a thread that stays has taken its last branch, if known. From there on it goes only where
    /// nobody else can: the recorded run may have left it anywhere.
    pub rests: Vec<Option<u32>>,
    /// What earlier runs taught, and which of it is ignored.
    pub lessons: Lessons,
    pub doubt: Option<u64>,
    /// By address: the last write there, and how many there were.
    written: FxHashMap<u64, (Nth, u32)>,
    /// By condition: who waits for it, longest first.
    waiters: FxHashMap<u64, Vec<u32>>,
    /// The condition of the last event, if that is a signal and nobody has asked yet whom it wakes.
    signalled: Option<u64>,
    /// What was executed, the last of it.
    pub seen: Vec<Seen>,
    /// Orders could not be kept.
    pub gave_way: bool,
}

impl<'a> Steer<'a> {
    pub fn new(
        route: &'a Route,
        stamps: Option<&'a Stamps>,
        orders: &'a [Order],
        policy: Policy,
    ) -> Steer<'a> {
        let (seed, changes) = match policy {
            Policy::Random { seed, .. } => (seed, Vec::new()),
            Policy::Priorities { seed, changes, events } => {
                let mut rng = Rng::new(seed ^ 1);
                let events = events.clamp(2, u64::from(u32::MAX)) as u32;
                (seed, (0..changes).map(|_| u64::from(rng.below(events))).collect())
            }
            _ => (0, Vec::new()),
        };
        let legs = route.legs.len();
        Steer {
            route,
            stamps,
            orders,
            policy,
            rng: Rng::new(seed),
            legs: Vec::new(),
            own: vec![0; legs],
            next_hint: vec![0; legs],
            done: FxHashMap::default(),
            last_number: 0,
            last_told: 0,
            priorities: Vec::new(),
            changes,
            holders: FxHashMap::default(),
            ended: vec![false; legs],
            early: false,
            rests: Vec::new(),
            lessons: Lessons::default(),
            doubt: None,
            written: FxHashMap::default(),
            waiters: FxHashMap::default(),
            signalled: None,
            seen: Vec::new(),
            gave_way: false,
        }
    }

    /// How many events a thread of the route has executed.
    pub fn own(&self, leg: usize) -> u32 {
        self.own[leg]
    }

    fn leg(&mut self, names: &[ThreadName], thread: ThreadId) -> Option<u32> {
        while self.legs.len() < names.len() {
            let name = &names[self.legs.len()];
            let leg = self.route.legs.iter().position(|leg| leg.thread == *name);
            self.legs.push(leg.map(|leg| leg as u32));
            self.priorities.push(self.rng.word());
        }
        self.legs[thread.index()]
    }

    fn held_by_order(&self, leg: u32) -> bool {
        let next = Nth { leg, own: self.own[leg as usize] + 1 };
        self.orders
            .iter()
            .any(|order| order.then == next && self.own[order.first.leg as usize] < order.first.own)
    }

    fn held_by_lesson(&self, leg: u32) -> bool {
        let next = Nth { leg, own: self.own[leg as usize] + 1 };
        self.lessons.hold(next, &self.written, self.doubt)
    }

    fn rests(&self, leg: u32) -> bool {
        let rests = self.rests.get(leg as usize).copied().flatten();
        rests.is_some_and(|from| self.own[leg as usize] >= from)
    }

    /// The recorded operation that a pending event is.
    fn hint(&self, leg: u32, ready: &Ready) -> Option<(u32, Hint)> {
        let hints = self.stamps?.hints.get(leg as usize)?;
        let next = self.next_hint[leg as usize] as usize;
        // The machine may have no event for a recorded operation.
        let window = hints.iter().enumerate().skip(next).take(4);
        let mut matching = window.filter(|(_, hint)| hint.kind.is(ready));
        matching.next().map(|(number, hint)| (number as u32, *hint))
    }

    fn held_by_stamp(&self, leg: u32, ready: &Ready) -> bool {
        let Some((number, hint)) = self.hint(leg, ready) else { return false };
        let Some(stamps) = self.stamps else { return false };
        if hint.kind == HintKind::Fail && !self.is_held_by_other(leg, ready.pending.address) {
            return true;
        }
        hint.objects().any(|Stamped { object, .. }| {
            let list = &stamps.objects[&object];
            let done = self.done.get(&object).copied().unwrap_or(0);
            // Others come first that have not come yet.
            list[done..]
                .iter()
                .take_while(|one| **one != (leg, number))
                .any(|(other, number)| *other != leg && self.next_hint[*other as usize] <= *number)
        })
    }

    fn next_stamp(&self, leg: Option<u32>) -> u64 {
        let hints = leg.and_then(|leg| {
            let next = self.next_hint[leg as usize] as usize;
            self.stamps?.hints.get(leg as usize)?.get(next)
        });
        hints.and_then(|hint| hint.objects().next()).map_or(u64::MAX, |on| on.stamp)
    }

    fn prefer(&mut self, view: &View<'_>, among: &[Ready]) -> ThreadId {
        let current = among.iter().find(|ready| ready.thread == view.current);
        let current = current.filter(|_| view.why != Why::Yielded).map(|ready| ready.thread);
        let first = among[0].thread;
        match self.policy {
            Policy::Stay => current.unwrap_or(first),
            Policy::Youngest => among[among.len() - 1].thread,
            Policy::Stamps => {
                let key = |ready: &Ready| {
                    let stamp = self.next_stamp(self.legs[ready.thread.index()]);
                    (stamp, Some(ready.thread) != current, ready.thread.0)
                };
                among.iter().min_by_key(|ready| key(ready)).map_or(first, |ready| ready.thread)
            }
            Policy::Random { stay, .. } => match current {
                Some(current) if self.rng.below(stay.max(1)) != 0 => current,
                _ => self.rng.pick(among).thread,
            },
            Policy::Priorities { .. } => {
                if self.changes.contains(&view.events) {
                    // Below all others, of which none was below its number.
                    let lowest = self.priorities.iter().min().copied().unwrap_or(0);
                    self.priorities[view.current.index()] = lowest.saturating_sub(1);
                }
                if view.why == Why::Yielded && among.len() > 1 {
                    let others = among.iter().filter(|ready| ready.thread != view.current);
                    let best = others.max_by_key(|ready| self.priorities[ready.thread.index()]);
                    return best.map_or(first, |ready| ready.thread);
                }
                let best = among.iter().max_by_key(|ready| self.priorities[ready.thread.index()]);
                best.map_or(first, |ready| ready.thread)
            }
        }
    }
}

impl Scheduler for Steer<'_> {
    fn next(&mut self, view: &View<'_>) -> Choice {
        // Whoever timed out in the recorded run may do so early.
        for ready in view.early {
            if let Some(leg) = self.leg(view.names, ready.thread)
                && let Some((_, hint)) = self.hint(leg, ready)
                && matches!(hint.kind, HintKind::Wake { timed_out: true } | HintKind::Fail)
                && !self.held_by_order(leg)
                && !self.held_by_stamp(leg, ready)
            {
                return Choice { thread: ready.thread, events: 1 };
            }
        }
        if self.early && !view.early.is_empty() && self.rng.below(4) == 0 {
            let ready = *self.rng.pick(view.early);
            self.leg(view.names, ready.thread);
            return Choice { thread: ready.thread, events: 1 };
        }
        if let [only] = view.enabled {
            self.leg(view.names, only.thread);
            return Choice { thread: only.thread, events: 1 };
        }
        let mut free = Vec::with_capacity(view.enabled.len());
        let mut unordered = Vec::new();
        let mut active: Vec<Ready> = Vec::with_capacity(view.enabled.len());
        for ready in view.enabled {
            if !self.leg(view.names, ready.thread).is_some_and(|leg| self.rests(leg)) {
                active.push(*ready);
            }
        }
        // Whoever ends the process does not count.
        let anybody = active.iter().any(|ready| ready.pending.op != Op::End);
        for ready in if anybody { &active } else { view.enabled } {
            let leg = self.leg(view.names, ready.thread);
            if leg.is_some_and(|leg| self.held_by_order(leg)) {
                continue;
            }
            unordered.push(*ready);
            if !leg.is_some_and(|leg| self.held_by_stamp(leg, ready)) {
                free.push(*ready);
            }
        }
        let taught = |ready: &Ready| {
            self.legs[ready.thread.index()].is_some_and(|leg| self.held_by_lesson(leg))
        };
        if free.iter().any(|ready| !taught(ready)) {
            free.retain(|ready| !taught(ready));
        }
        // The end of the process waits until nothing else can happen.
        if free.iter().any(|ready| ready.pending.op != Op::End) {
            free.retain(|ready| ready.pending.op != Op::End);
        }
        let thread = if !free.is_empty() {
            self.prefer(view, &free)
        } else if !unordered.is_empty() {
            self.prefer(view, &unordered)
        } else {
            self.gave_way = true;
            self.prefer(view, view.enabled)
        };
        Choice { thread, events: 1 }
    }

    fn choose(&mut self, question: Question, options: u32) -> u32 {
        let list = match question {
            Question::Waiter => self.signalled.and_then(|cond| self.waiters.get(&cond)),
            Question::SignalTarget => None,
        };
        // Whoever has taken its last branch may wait on.
        let known = list.filter(|list| list.len() == options as usize);
        let goes_on = |place: &u32| known.is_none_or(|list| !self.rests(list[*place as usize]));
        let mut among: Vec<u32> = (0..options).filter(goes_on).collect();
        if among.is_empty() {
            among.extend(0..options);
        }
        let answer = match self.policy {
            Policy::Random { .. } | Policy::Priorities { .. } => *self.rng.pick(&among),
            _ => among[0],
        };
        self.answered(question, answer, options);
        answer
    }

    fn watches(&self) -> bool {
        true
    }

    fn watch(&mut self, executed: &Executed<'_>) {
        let is_new = executed.number != self.last_told;
        self.last_told = executed.number;
        if is_new {
            self.note_signal(&executed.what);
        }
        let Some(leg) = self.leg(executed.names, executed.thread) else { return };
        if is_new {
            self.note_waiter(leg, &executed.what);
        }
        if executed.number != self.last_number {
            self.last_number = executed.number;
            self.own[leg as usize] += 1;
            let ready = Ready {
                thread: executed.thread,
                pending: executed.what,
                by_time: false,
                is_over: false,
            };
            let hint = self.hint(leg, &ready);
            self.hold(
                leg,
                &executed.what,
                hint.is_some_and(|(_, hint)| hint.kind == HintKind::Fail),
            );
            self.ended[leg as usize] |= executed.what.op == Op::Exit;
            if let Some((number, hint)) = hint {
                self.next_hint[leg as usize] = number + 1;
                hint.objects().for_each(|on| self.advance(on.object));
            }
        }
        let what = executed.what;
        if what.address != 0 {
            if self.seen.len() >= MOST_REMEMBERED {
                self.seen.drain(..MOST_REMEMBERED / 2);
            }
            let by = Nth { leg, own: self.own[leg as usize] };
            let lock = what.mutex().unwrap_or(what.address);
            let seen = Seen { by, op: what.op, address: what.address, bytes: what.bytes, lock };
            if seen.is_access() && seen.writes() {
                let written = self.written.entry(seen.address).or_insert((by, 0));
                *written = (by, written.1 + 1);
            }
            self.seen.push(seen);
        }
    }
}

impl Steer<'_> {
    /// Whom a signal wakes, as it was decided.
    pub fn answered(&mut self, question: Question, answer: u32, options: u32) {
        let Some(cond) = self.signalled.filter(|_| question == Question::Waiter) else { return };
        self.signalled = None;
        let list = self.waiters.entry(cond).or_default();
        match list.len() == options as usize {
            true => drop(list.remove(answer as usize)),
            // Somebody waits who is not known.
            false => list.clear(),
        }
    }

    /// A signal that nobody was asked about woke the only waiter, none, or all of them.
    fn note_signal(&mut self, what: &Pending) {
        if let Some(cond) = self.signalled.take() {
            self.waiters.remove(&cond);
        }
        self.signalled = (what.op == Op::Signal).then_some(what.address);
    }

    /// Keeps who waits for which condition.
    fn note_waiter(&mut self, leg: u32, what: &Pending) {
        if what.mutex().is_none() {
            return;
        }
        let list = self.waiters.entry(what.address).or_default();
        match what.op {
            Op::Wait => list.push(leg),
            _ => list.retain(|other| *other != leg),
        }
    }

    /// Keeps who holds which lock.
    fn hold(&mut self, leg: u32, what: &Pending, fails: bool) {
        let lock = what.mutex().unwrap_or(what.address);
        match what.op {
            Op::Acquire if !fails => {
                self.holders.insert(lock, leg);
            }
            Op::Release | Op::Wait => {
                self.holders.remove(&lock);
            }
            _ => {}
        }
    }

    fn is_held_by_other(&self, leg: u32, lock: u64) -> bool {
        self.holders.get(&lock).is_some_and(|holder| *holder != leg)
    }

    /// Whether a thread of the route has ended.
    pub fn has_ended(&self, leg: usize) -> bool {
        self.ended[leg]
    }

    /// Passes the operations on an object that are done.
    fn advance(&mut self, object: u64) {
        let Some(stamps) = self.stamps else { return };
        let list = &stamps.objects[&object];
        let done = self.done.entry(object).or_default();
        while list.get(*done).is_some_and(|(leg, number)| self.next_hint[*leg as usize] > *number) {
            *done += 1;
        }
    }
}
