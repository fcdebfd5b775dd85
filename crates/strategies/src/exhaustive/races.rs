//! Races, and the source sets that reverse them: Source-DPOR (Abdulla, Aronis, Jonsson, Sagonas: *Optimal dynamic partial order
//! reduction*, POPL 2014, algorithm 1).
//!
//! Two steps race if they depend on each other and nothing orders them but that. To try the other order, some thread
//! that can begin what follows without the earlier step must be explored where the earlier step was chosen.
//!
//! A step that may have to wait, for a lock or a join, does not race with the step that lets it go on: it cannot come
//! before it. It may race with what is before that one, the step that took the lock. Whether a thread that is at such a
//! step could execute it is known from what was offered. No join without a timeout comes before anything that the joined
//! thread's end needs, nobody takes a mutex that somebody has, and nobody leaves a barrier before all have come. Of a
//! thread that came later it is guessed with care: if it may have been possible, both are taken for races. What is
//! superfluous here costs runs that end early, what is missing would cost classes.
//!
//! Two things are Optimal-DPOR's (the same paper): the steps that turn a race round are followed (`guide.rs`), and what begins
//! so is not explored if it was after the step of another thread that has nothing to do with it. The latter needs all
//! that the run did, not only what came before the race: it is asked again at the end of each run.

use rustc_hash::FxHashSet;
use unravel_trace::{Op, Role, SiteId};

use super::footprint::{Access, LockRole};
use super::guide::Guide;
use super::order::{Entry, Order, Walk};
use super::threads::ThreadSet;
use super::tree::Node;

#[derive(Debug, Default)]
pub(super) struct Races {
    /// Locks that have room for one, and from where they are waited for: seen when a thread waited.
    exclusive: FxHashSet<(u64, SiteId)>,
    found: Vec<Found>,
    firsts: Vec<u32>,
    /// Races whose other order was explored after somebody else's step, as far as the steps up to the later one say.
    covered: Vec<(u32, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Found {
    step: u32,
    sure: bool,
}

/// What is to come before a step: what follows that up to `until` and does not happen after it, and then a step of a thread.
#[derive(Clone, Copy, Debug)]
struct Race {
    earlier: u32,
    until: u32,
    thread: u32,
    step: Later,
}

#[derive(Clone, Copy, Debug)]
enum Later {
    Step(u32),
    /// It came to nothing, and is part of no run.
    Vain(u32),
    /// It was never executed.
    Blocked,
}

/// Whether a step could have been executed before an earlier one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Possible {
    Yes,
    No,
    Perhaps,
}

/// A thread that was at its next step for a while.
struct Waiting {
    /// From here on.
    since: u32,
    /// The last moment at which it could not execute it.
    hindered: Option<u32>,
}

impl Races {
    /// Sees to it that the races of the last step are reversed.
    pub fn reverse_last(&mut self, order: &Order, nodes: &mut [Node]) {
        let last = order.len() as u32 - 1;
        let step = order.step(last);
        if order.direct().is_empty() {
            return;
        }
        let hindered = |at: &u32| !nodes[*at as usize].enabled.contains(step.thread);
        let waiting =
            Waiting { since: step.since, hindered: (step.since..last).rev().find(hindered) };
        self.note_exclusive(order, nodes, last);
        self.find(order, nodes, last, &waiting);
        for index in 0..self.found.len() {
            let Found { step, .. } = self.found[index];
            let thread = order.step(last).thread;
            let race = Race { earlier: step, until: last, thread, step: Later::Step(last) };
            self.reverse(order, nodes, race);
        }
    }

    /// Sees to it that a busy wait, the last step, which came to nothing, is also tried earlier: wherever something was written
    /// that it looks at. Where it cannot have been executed either, that is known.
    pub fn reverse_vain(&mut self, order: &Order, nodes: &mut [Node]) {
        let last = order.len() as u32 - 1;
        let step = order.step(last);
        let mut found = std::mem::take(&mut self.firsts);
        found.clear();
        let mut add = |at: u32| {
            let is_other = order.step(at).thread != step.thread && !order.known_at(at, step.since);
            let could = step.since > at || nodes[at as usize].enabled.contains(step.thread);
            if is_other && could && !found.contains(&at) {
                found.push(at);
            }
        };
        for access in order.accesses(last) {
            order.earlier(&access.touch, last, |entry, _| {
                add(entry.step);
                Walk::Past
            });
        }
        order.globals().iter().for_each(|at| add(*at));
        found.sort_unstable_by(|a, b| b.cmp(a));
        for earlier in found {
            let thread = order.step(last).thread;
            self.reverse(
                order,
                nodes,
                Race { earlier, until: last, thread, step: Later::Vain(last) },
            );
        }
    }

    /// Sees to it that a thread that is blocked when the run ends gets its turn. What it waits for is not known: it
    /// may be anything that another thread has taken.
    pub fn reverse_blocked(&mut self, order: &Order, nodes: &mut [Node], thread: u32) {
        let since = order.last_of(thread);
        for step in (0..order.len() as u32).rev() {
            let op = order.step(step).op;
            let may_hinder = matches!(op, Op::Acquire | Op::AcquireShared | Op::Update | Op::Fence)
                && order.step(step).thread != thread
                && !order.known_at(step, since);
            let was_waiting = since <= step;
            let could = || {
                nodes[step as usize].enabled.contains(thread)
                    || may_be_woken_without(order, step, since)
            };
            if may_hinder && (!was_waiting || could()) {
                let until = order.len() as u32;
                self.reverse(
                    order,
                    nodes,
                    Race { earlier: step, until, thread, step: Later::Blocked },
                );
            }
        }
    }

    /// Remembers a lock that has room for one, if a thread waited for it.
    fn note_exclusive(&mut self, order: &Order, nodes: &[Node], last: u32) {
        let step = order.step(last);
        if step.op != Op::Acquire || step.since == 0 {
            return;
        }
        // Who waits for some time only may also give up while somebody has it.
        let node = &nodes[step.since as usize];
        if !node.blocked || node.timed.with(node.by_time).contains(step.thread) {
            return;
        }
        for access in order.accesses(last).iter().filter(|a| a.role.acquires()) {
            let mut first = true;
            order.earlier(&access.touch, step.since, |entry, _| {
                if std::mem::take(&mut first) && entry.in_turn && entry.role.acquires() {
                    self.exclusive.insert((access.touch.address, step.site));
                }
                Walk::Usual
            });
        }
    }

    /// Finds the races of the last step with earlier ones.
    fn find(&mut self, order: &Order, nodes: &[Node], last: u32, waiting: &Waiting) {
        let step = order.step(last);
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        let status = |at: u32, entry: Option<(&Entry, u64)>| {
            self.is_possible(order, nodes, (at, last), waiting, entry)
        };
        let mut note = |at: u32, possible: Possible| match possible {
            Possible::Yes => found.push(Found { step: at, sure: true }),
            Possible::Perhaps => found.push(Found { step: at, sure: false }),
            Possible::No => {}
        };
        let is_other =
            |at: u32| order.step(at).thread != step.thread && !order.known_at(at, step.since);
        // Time has passed for it too, though another went first.
        let woke = order.direct().iter().any(|at| wake_together(order, nodes, *at, last));
        if order.direct().iter().all(|at| status(*at, None) == Possible::Yes) {
            order.direct().iter().for_each(|at| note(*at, Possible::Yes));
        } else if step.everything || woke {
            (0..last).rev().filter(|at| is_other(*at)).for_each(|at| note(at, status(at, None)));
        } else {
            for access in order.accesses(last) {
                order.earlier(&access.touch, last, |entry, before| {
                    if !is_other(entry.step) {
                        return Walk::Usual;
                    }
                    // Nobody leaves a barrier before all have come.
                    let leaves = access.role == LockRole::Leaves && entry.role == LockRole::Arrives;
                    // Nor takes a lock that somebody has: whoever gave it back in turn had taken it.
                    let is_taken = access.role == LockRole::Takes
                        && entry.in_turn
                        && entry.role == LockRole::Releases
                        && before.is_some();
                    let possible = match leaves || is_taken {
                        true => Possible::No,
                        false => status(entry.step, Some((entry, access.touch.address))),
                    };
                    note(entry.step, possible);
                    if possible == Possible::Yes { Walk::Usual } else { Walk::Past }
                });
            }
            let globals = order.globals().iter().rev().filter(|at| is_other(**at));
            globals.for_each(|at| note(*at, status(*at, None)));
        }
        found.sort_unstable_by(|a, b| b.step.cmp(&a.step).then(b.sure.cmp(&a.sure)));
        found.dedup_by_key(|found| found.step);
        // Ordered by another race, two steps do not race.
        let mut kept = 0;
        for index in 0..found.len() {
            let this = found[index];
            let ordered =
                found[..kept].iter().any(|later| later.sure && order.before(this.step, later.step));
            if !ordered {
                found[kept] = this;
                kept += 1;
            }
        }
        found.truncate(kept);
        self.found = found;
    }

    /// Whether step `last` could have been executed instead of step `at`. `entry` says what that one did to the
    /// lock at an address, if it did.
    fn is_possible(
        &self,
        order: &Order,
        nodes: &[Node],
        (at, last): (u32, u32),
        waiting: &Waiting,
        entry: Option<(&Entry, u64)>,
    ) -> Possible {
        let step = order.step(last);
        if wake_together(order, nodes, at, last) {
            return Possible::No;
        }
        if step.op == Op::Join {
            // Nobody is joined before its end, nor, by one who waits without a timeout, before what that needs. Whose time is up gives up
            // before the end.
            let is_over = waiting.since <= at && nodes[at as usize].enabled.contains(step.thread);
            let is_patient = || order.accesses(last).iter().any(|a| a.role == LockRole::Joins);
            let needs = || joined(order, last).is_some_and(|end| order.before(at, end));
            if order.step(at).op == Op::Exit && !is_over || is_patient() && needs() {
                return Possible::No;
            }
        }
        if waiting.since <= at {
            if nodes[at as usize].enabled.contains(step.thread) {
                return Possible::Yes;
            }
            // It could not go on there. What let it go on is the earlier step, or needs it, or neither.
            let needed = waiting.hindered.is_some_and(|by| order.before(at, by));
            let needed = needed && !may_be_woken_without(order, at, waiting.since);
            return if needed { Possible::No } else { Possible::Perhaps };
        }
        if !matches!(step.op, Op::Acquire | Op::AcquireShared | Op::Join) {
            return Possible::Yes;
        }
        match entry {
            Some((entry, lock)) if entry.in_turn && self.exclusive.contains(&(lock, step.site)) => {
                if entry.role == LockRole::Releases {
                    Possible::No
                } else {
                    Possible::Yes
                }
            }
            _ => Possible::Perhaps,
        }
    }

    /// Has a thread explored at the earlier step that begins what follows there without it.
    fn reverse(&mut self, order: &Order, nodes: &mut [Node], race: Race) {
        let Race { earlier, until, thread, step } = race;
        let last = match step {
            Later::Step(last) | Later::Vain(last) => Some(last),
            Later::Blocked => None,
        };
        let initials = self.initials(order, (earlier, until), thread, last);
        let node = &mut nodes[earlier as usize];
        // Who waits in vain there can only have come in the end, and could not have.
        let initials = initials.without(node.vain);
        if initials.is_empty() || initials.meets(node.backtrack.with(node.asleep)) {
            return;
        }
        match step {
            Later::Step(last) if is_covered(order, node, (earlier, until), last) => {
                self.covered.push((earlier, last));
            }
            _ => explore(order, node, (earlier, until), thread, initials),
        }
    }

    /// Turns round what did not have to be turned round as long as only the steps up to the race were known, if what the
    /// run did after it says otherwise. Asked at the end of each run, because each goes on in another way.
    pub fn reverse_covered(&mut self, order: &Order, nodes: &mut [Node]) {
        let mut covered = std::mem::take(&mut self.covered);
        covered.retain(|(earlier, last)| {
            let (earlier, last, all) = (*earlier, *last, order.len() as u32);
            let thread = order.step(last).thread;
            let node = &mut nodes[earlier as usize];
            let explored = node.backtrack.with(node.asleep);
            let initials = self.initials(order, (earlier, last), thread, Some(last));
            let initials = initials.without(node.vain);
            if initials.is_empty() || initials.meets(explored) {
                return false;
            }
            let with_rest = self.initials(order, (earlier, all), thread, Some(last));
            let is_explored = with_rest.without(node.vain).meets(explored);
            if is_explored || is_covered(order, node, (earlier, all), last) {
                return true;
            }
            explore(order, node, (earlier, all), thread, initials);
            false
        });
        self.covered = covered;
    }

    /// The steps from this one on are no more.
    pub fn forget(&mut self, len: usize) {
        self.covered.retain(|(_, last)| (*last as usize) < len);
    }

    /// Who can begin what follows without `earlier`.
    fn initials(
        &mut self,
        order: &Order,
        span: (u32, u32),
        thread: u32,
        step: Option<u32>,
    ) -> ThreadSet {
        let mut seen = ThreadSet::default();
        let mut initials = ThreadSet::default();
        self.firsts.clear();
        for at in rest(order, span) {
            let thread = order.step(at).thread;
            if !seen.contains(thread) {
                seen.insert(thread);
                if !self.firsts.iter().any(|first| order.before(*first, at)) {
                    initials.insert(thread);
                }
                self.firsts.push(at);
            }
        }
        if !seen.contains(thread) {
            let begins = match step {
                Some(step) => !self.firsts.iter().any(|first| order.before(*first, step)),
                None => self.firsts.is_empty(),
            };
            if begins {
                initials.insert(thread);
            }
        }
        initials
    }
}

/// What follows a step, up to another, and does not happen after it.
fn rest(order: &Order, (earlier, until): (u32, u32)) -> impl Iterator<Item = u32> + use<'_> {
    (earlier + 1..until).filter(move |at| !order.before(earlier, *at))
}

/// Whether somebody explored before at the earlier step has nothing to do with what follows without it (a *weak initial*): then
/// all that begins so was explored after that thread's step, unless what comes later has to do with it.
///
/// Who sleeps there because it was explored further up does not count. What begins so and then meets its step is found
/// below that one, and asked for further up, where it is no news: it begins with what led here. Wakeup trees would have
/// kept it as a branch.
fn is_covered(order: &Order, node: &Node, span: (u32, u32), last: u32) -> bool {
    node.explored().iter().any(|sleeper| {
        let is_apart = |at: u32| {
            let step = order.step(at);
            step.thread != sleeper.thread
                && !sleeper.footprint.depends_on(order.accesses(at), step.everything)
        };
        !sleeper.footprint.ends
            && !node.vain.contains(sleeper.thread)
            && is_apart(last)
            && rest(order, span).all(is_apart)
    })
}

/// Has one of `initials` explored where `earlier` was chosen, and what follows after it.
fn explore(order: &Order, node: &mut Node, span: (u32, u32), thread: u32, initials: ThreadSet) {
    let able = initials.without(initials.without(node.enabled));
    let chosen = if able.contains(thread) { Some(thread) } else { able.first() };
    match chosen {
        Some(chosen) => {
            let threads = rest(order, span).map(|at| order.step(at).thread).chain([thread]);
            node.guides.push((chosen, Guide::beginning_with(chosen, threads)));
            node.backtrack.insert(chosen);
        }
        None => node.backtrack = node.backtrack.with(node.enabled),
    }
}

/// Whether a thread that did nothing but sleep woke in step `at`, at the moment for which the thread of step `last` waits too. They wake in
/// either order: time has passed for both, and what they do then is not part of it. Whether the latter could have gone on before that
/// moment, as a deviation, is asked of it as of the former.
fn wake_together(order: &Order, nodes: &[Node], at: u32, last: u32) -> bool {
    let (node, step) = (&nodes[at as usize], order.step(last));
    let is_their_time = |thread| node.by_time.contains(thread) && !node.early.contains(thread);
    step.since <= at
        && order.step(at).op == Op::Yield
        && order.accesses(at).is_empty()
        && is_their_time(order.step(at).thread)
        && is_their_time(step.thread)
}

/// The end of the thread that is joined in a step, unless time was up.
fn joined(order: &Order, join: u32) -> Option<u32> {
    let thread = order.accesses(join).iter().find_map(|access| access.touch.thread())?;
    let last = order.last_of(thread).checked_sub(1)?;
    (order.step(last).op == Op::Exit).then_some(last)
}

/// Whether a thread that waited on a condition from here on was signalled, perhaps, by a step that does not need step `at`. It needs
/// two things, the signal and the mutex, and neither needs the other: that it could not go on when somebody took the mutex
/// may be because the signal happened to come later.
fn may_be_woken_without(order: &Order, at: u32, since: u32) -> bool {
    if !order.accesses(at).iter().any(|access| access.role.acquires()) {
        // Before whoever gives the mutex back means before whoever took it.
        return false;
    }
    let Some(wait) = since.checked_sub(1) else { return false };
    let waits = |access: &&Access| access.touch.role == Role::Wait;
    let Some(waits) = order.accesses(wait).iter().find(waits) else { return false };
    let mut found = false;
    order.earlier(&waits.touch, u32::MAX, |entry, _| {
        let is_signal = entry.step >= since && order.step(entry.step).op == Op::Signal;
        found |= is_signal && !order.before(at, entry.step);
        Walk::Past
    });
    found
}
