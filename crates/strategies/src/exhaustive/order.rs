//! Happens-before of the steps of a run: the partial order that makes its class.
//!
//! A step knows, by thread, the last step that happens before it (a vector clock of step numbers). The structure grows
//! and shrinks at its end, as the search goes down and back up its tree: what a run shares with the one before it is
//! not computed again.

use std::ops::Range;

use rustc_hash::FxHashMap;
use unravel_trace::{Op, SiteId, Touch};

use super::footprint::{Access, Footprint, LockRole};

#[derive(Debug, Default)]
pub(super) struct Order {
    steps: Vec<Step>,
    accesses: Vec<Access>,
    clocks: Vec<u32>,
    /// By thread: one more than its last step, 0 before the first.
    last: Vec<u32>,
    /// By eight bytes of memory: who touched them, in order.
    memory: FxHashMap<u64, Vec<Entry>>,
    /// The steps that depend on everything.
    globals: Vec<u32>,
    /// Of the last step: the steps of other threads that it depends on directly, latest first.
    direct: Vec<u32>,
}

#[derive(Clone, Debug)]
pub(super) struct Step {
    pub thread: u32,
    /// Its first event.
    pub op: Op,
    pub site: SiteId,
    pub everything: bool,
    /// One more than the step of the same thread before, 0 if this is the first. In other words: the first moment at
    /// which the thread was ready for this step, or not yet able to do it.
    pub since: u32,
    accesses: Range<u32>,
    clock: Range<u32>,
}

/// A step that touched a part of memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub step: u32,
    /// Which of all accesses.
    access: u32,
    /// A bit a byte.
    mask: u8,
    pub writes: bool,
    pub role: LockRole,
    /// So far all steps here took a lock and gave it back in turn. The first may have set it up.
    pub in_turn: bool,
}

/// What a visitor of earlier accesses wants.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Walk {
    /// A write hides what is before it.
    Usual,
    /// Nothing is hidden by this one.
    Past,
}

impl Order {
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    pub fn step(&self, index: u32) -> &Step {
        &self.steps[index as usize]
    }

    pub fn accesses(&self, index: u32) -> &[Access] {
        let range = &self.step(index).accesses;
        &self.accesses[range.start as usize..range.end as usize]
    }

    pub fn direct(&self) -> &[u32] {
        &self.direct
    }

    pub fn globals(&self) -> &[u32] {
        &self.globals
    }

    /// How many threads have taken a step.
    pub fn threads(&self) -> u32 {
        self.last.len() as u32
    }

    /// One more than a thread's last step.
    pub fn last_of(&self, thread: u32) -> u32 {
        self.last.get(thread as usize).copied().unwrap_or(0)
    }

    fn clock(&self, index: u32) -> &[u32] {
        let range = &self.step(index).clock;
        &self.clocks[range.start as usize..range.end as usize]
    }

    /// Whether a step happens before another, or is it.
    pub fn before(&self, earlier: u32, later: u32) -> bool {
        let thread = self.step(earlier).thread as usize;
        self.clock(later).get(thread).is_some_and(|known| *known > earlier)
    }

    /// Whether a thread that was last heard of at `since` knew of a step.
    pub fn known_at(&self, step: u32, since: u32) -> bool {
        since > 0 && self.before(step, since - 1)
    }

    /// Adds a step.
    pub fn push(
        &mut self,
        thread: u32,
        (op, site): (Op, SiteId),
        everything: bool,
        made: &[Access],
    ) {
        let index = self.steps.len() as u32;
        if self.last.len() <= thread as usize {
            self.last.resize(thread as usize + 1, 0);
        }
        let since = self.last[thread as usize];
        self.find_direct(since, everything, made);
        let start = self.clocks.len();
        if since > 0 {
            let range = self.steps[since as usize - 1].clock.clone();
            self.clocks.extend_from_within(range.start as usize..range.end as usize);
        }
        self.clocks.resize(start + self.last.len(), 0);
        let (past, clock) = self.clocks.split_at_mut(start);
        for step in &self.direct {
            let range = &self.steps[*step as usize].clock;
            let known = &past[range.start as usize..range.end as usize];
            clock.iter_mut().zip(known).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
        }
        clock[thread as usize] = index + 1;
        self.last[thread as usize] = index + 1;
        for (access, number) in made.iter().zip(self.accesses.len() as u32..) {
            for (key, mask) in granules(&access.touch) {
                let list = self.memory.entry(key).or_default();
                let in_turn = is_in_turn(list.last(), access.role, thread, &self.steps);
                let Access { role, touch } = *access;
                let writes = touch.writes;
                list.push(Entry { step: index, access: number, mask, writes, role, in_turn });
            }
        }
        if everything {
            self.globals.push(index);
        }
        let accesses = self.accesses.len() as u32;
        self.accesses.extend_from_slice(made);
        self.steps.push(Step {
            thread,
            op,
            site,
            everything,
            since,
            accesses: accesses..self.accesses.len() as u32,
            clock: start as u32..self.clocks.len() as u32,
        });
    }

    fn find_direct(&mut self, since: u32, everything: bool, made: &[Access]) {
        let mut direct = std::mem::take(&mut self.direct);
        direct.clear();
        let mut add = |step: u32| {
            if !self.known_at(step, since) && !direct.contains(&step) {
                direct.push(step);
            }
        };
        if everything {
            self.last.iter().filter_map(|last| last.checked_sub(1)).for_each(&mut add);
        } else {
            for access in made {
                self.earlier(&access.touch, u32::MAX, |entry, _| {
                    add(entry.step);
                    Walk::Usual
                });
            }
            self.globals.last().copied().into_iter().for_each(&mut add);
        }
        direct.sort_unstable_by(|a, b| b.cmp(a));
        self.direct = direct;
    }

    /// Visits the steps before `until` that touched this in a way that matters, latest first, as far as they are not
    /// hidden by a later write; and with each the one before it.
    pub fn earlier(
        &self,
        touch: &Touch,
        until: u32,
        mut visit: impl FnMut(&Entry, Option<&Entry>) -> Walk,
    ) {
        for (key, mask) in granules(touch) {
            let Some(list) = self.memory.get(&key) else { continue };
            let mut open = mask;
            for (index, entry) in list.iter().enumerate().rev() {
                let matters = entry.mask & open != 0 && (entry.writes || touch.writes);
                if entry.step >= until || !matters {
                    continue;
                }
                let before = &self.accesses[entry.access as usize].touch;
                if !touch.conflicts(before) {
                    continue;
                }
                let walk = visit(entry, index.checked_sub(1).map(|before| &list[before]));
                // What commutes with others comes after none of them.
                if entry.writes && walk == Walk::Usual && !before.is_one_of_many() {
                    open &= !entry.mask;
                    if open == 0 {
                        break;
                    }
                }
            }
        }
    }

    /// Forgets the steps from `len` on.
    pub fn truncate(&mut self, len: usize) {
        while self.steps.len() > len {
            let Some(step) = self.steps.pop() else { return };
            let accesses = step.accesses.start as usize..step.accesses.end as usize;
            for access in &self.accesses[accesses.clone()] {
                for (key, _) in granules(&access.touch) {
                    self.memory.get_mut(&key).map(Vec::pop);
                }
            }
            self.accesses.truncate(accesses.start);
            self.clocks.truncate(step.clock.start as usize);
            self.last[step.thread as usize] = step.since;
            if step.everything {
                self.globals.pop();
            }
        }
    }

    /// What a step did.
    pub fn footprint(&self, index: u32) -> Footprint {
        let everything = self.step(index).everything;
        Footprint { accesses: self.accesses(index).to_vec(), everything, ends: false }
    }
}

/// Whether a thread that does this with a lock does it in its turn.
fn is_in_turn(before: Option<&Entry>, role: LockRole, thread: u32, steps: &[Step]) -> bool {
    match (before, role) {
        (None, _) => role != LockRole::Other,
        (Some(before), LockRole::Acquires | LockRole::Takes) => {
            before.in_turn && before.role == LockRole::Releases
        }
        (Some(before), LockRole::Releases) => {
            before.in_turn
                && before.role.acquires()
                // Within one step it is the same thread.
                && steps.get(before.step as usize).is_none_or(|step| step.thread == thread)
        }
        (Some(_), LockRole::Arrives | LockRole::Leaves | LockRole::Joins | LockRole::Other) => {
            false
        }
    }
}

/// The parts of memory that an access touches: eight bytes each, a bit a byte.
fn granules(touch: &Touch) -> impl Iterator<Item = (u64, u8)> + use<> {
    let (start, end) = (touch.address, touch.address.saturating_add(touch.bytes.max(1)));
    (start >> 3..=(end - 1) >> 3).map(move |key| {
        let from = start.max(key << 3) & 7;
        let upto = (end - 1).min(key << 3 | 7) & 7;
        (key, (0xffu8 >> (7 - upto)) & (0xffu8 << from))
    })
}
