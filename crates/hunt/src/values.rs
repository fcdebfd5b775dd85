//! Which values a read can return at all: data flow, before any solver is asked.
//!
//! A read returns what its own thread last wrote there, or what any other thread writes, whenever; what was there before the
//! run only if its own thread has not written it. Writes of expressions are followed until nothing is new or a set grows
//! too large, which then means "anything". A condition that no choice from these sets makes true cannot be made true by any
//! order of these threads' steps.
//!
//! Errs on the side of "possible": the sets forget when others write, and that two reads may have the same source.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_trace::{ExprId, Exprs, SymbolId, Symbolic, ThreadId};

use crate::budgets::{MOST_CHOICES, MOST_VALUES, VALUE_ROUNDS};

/// Possible values; `None` for anything.
type Set = Option<Vec<u128>>;
/// Memory that is accessed as a whole: address and size.
type Place = (u64, u8);

/// What reads may return.
#[derive(Debug, Default)]
pub struct Values {
    /// By access: of a write what it writes, of a read where it reads from.
    accesses: Vec<Role>,
    /// By place and thread: all that the thread writes there.
    written: FxHashMap<Place, Vec<(ThreadId, Set)>>,
    /// Before the run; `None` if any input will do.
    initial: FxHashMap<Place, Set>,
}

#[derive(Clone, Debug)]
enum Role {
    Write(Set),
    Read {
        place: Place,
        thread: ThreadId,
        /// The last write of its own thread before it.
        own: Option<u32>,
    },
    /// It overlaps with accesses of other sizes.
    Anything,
}

impl Values {
    pub fn of(symbolic: &Symbolic) -> Values {
        let mut values = Values::default();
        let writes = values.begin(symbolic);
        let mut growing: FxHashSet<u32> = FxHashSet::default();
        for round in 0..=VALUE_ROUNDS {
            growing.clear();
            for (index, thread) in &writes {
                let access = &symbolic.accesses[*index as usize];
                let new = values.possible(symbolic, access.value);
                if values.add(*index, (access.address, access.bytes), *thread, new) {
                    growing.insert(*index);
                }
            }
            if growing.is_empty() {
                return values;
            }
            if round == VALUE_ROUNDS {
                break;
            }
        }
        // What still grows has no bound that we know, and nor has what depends on it.
        while !growing.is_empty() {
            for index in std::mem::take(&mut growing) {
                let access = &symbolic.accesses[index as usize];
                let thread = writes.iter().find(|(other, _)| *other == index).map(|(_, t)| *t);
                let place = (access.address, access.bytes);
                values.add(index, place, thread.unwrap_or(ThreadId::MAIN), None);
            }
            for (index, _) in &writes {
                let access = &symbolic.accesses[*index as usize];
                let now = values.possible(symbolic, access.value);
                let known = match &values.accesses[*index as usize] {
                    Role::Write(set) => set,
                    Role::Read { .. } | Role::Anything => continue,
                };
                let fits = match (known, &now) {
                    (None, _) => true,
                    (Some(_), None) => false,
                    (Some(known), Some(now)) => now.iter().all(|value| known.contains(value)),
                };
                if !fits {
                    growing.insert(*index);
                }
            }
        }
        values
    }

    /// Who reads and writes what. Gives the writes with their threads.
    fn begin(&mut self, symbolic: &Symbolic) -> Vec<(u32, ThreadId)> {
        let overlapping = overlapping(symbolic);
        self.accesses = vec![Role::Anything; symbolic.accesses.len()];
        let mut writes = Vec::new();
        let mut last: FxHashMap<(ThreadId, Place), u32> = FxHashMap::default();
        let mut of_events: Vec<ThreadId> = vec![ThreadId::MAIN; symbolic.shadows.len()];
        for step in &symbolic.steps {
            step.range().for_each(|event| of_events[event] = step.thread);
        }
        for (event, shadow) in symbolic.shadows.iter().enumerate() {
            let thread = of_events[event];
            for index in shadow.first..shadow.first + shadow.reads + shadow.writes {
                let access = &symbolic.accesses[index as usize];
                let place = (access.address, access.bytes);
                if overlapping.contains(&place) {
                    continue;
                }
                self.accesses[index as usize] = if index < shadow.first + shadow.reads {
                    let own = last.get(&(thread, place)).copied();
                    Role::Read { place, thread, own }
                } else {
                    last.insert((thread, place), index);
                    writes.push((index, thread));
                    Role::Write(Some(Vec::new()))
                };
            }
        }
        self.initial = initial(symbolic);
        writes
    }

    /// Adds to what a write writes. Whether that is more than before.
    fn add(&mut self, index: u32, place: Place, thread: ThreadId, new: Set) -> bool {
        let Role::Write(set) = &mut self.accesses[index as usize] else { return false };
        let grew = join(set, &new);
        if grew {
            let all = self.written.entry(place).or_default();
            match all.iter_mut().find(|(other, _)| *other == thread) {
                Some((_, set)) => {
                    join(set, &new);
                }
                None => all.push((thread, new)),
            }
        }
        grew
    }

    /// What a read may return.
    fn read(&self, symbol: SymbolId) -> Set {
        let Some(Role::Read { place, thread, own }) = self.accesses.get(symbol.0 as usize) else {
            return None;
        };
        let mut all: Set = match own {
            Some(own) => match &self.accesses[*own as usize] {
                Role::Write(set) => set.clone(),
                Role::Read { .. } | Role::Anything => None,
            },
            None => self.initial.get(place).cloned().flatten(),
        };
        for (other, set) in self.written.get(place).into_iter().flatten() {
            if other != thread {
                join(&mut all, set);
            }
        }
        all
    }

    /// The values an expression may have.
    fn possible(&self, symbolic: &Symbolic, id: ExprId) -> Set {
        let mut found: Vec<u128> = Vec::new();
        let complete = self.each(&symbolic.exprs, id, &mut |value| {
            if !found.contains(&value) {
                found.push(value);
            }
            found.len() > MOST_VALUES
        });
        (complete && found.len() <= MOST_VALUES).then_some(found)
    }

    /// Whether a condition can be true. Its symbols are those of the combination that these values are of.
    pub fn may_hold(&self, exprs: &Exprs, id: ExprId) -> bool {
        let mut holds = false;
        let complete = self.each(exprs, id, &mut |value| {
            holds |= value != 0;
            holds
        });
        holds || !complete
    }

    /// Evaluates an expression for each choice of its symbols, until told to stop. False if there are too many.
    fn each(&self, exprs: &Exprs, id: ExprId, stop: &mut dyn FnMut(u128) -> bool) -> bool {
        let mut sets: Vec<(SymbolId, Vec<u128>)> = Vec::new();
        let mut choices = 1usize;
        for symbol in exprs.symbols(id) {
            let Some(set) = self.read(symbol) else { return false };
            choices = choices.saturating_mul(set.len());
            sets.push((symbol, set));
        }
        if choices > MOST_CHOICES {
            return false;
        }
        for mut choice in 0..choices {
            let mut chosen: FxHashMap<SymbolId, u128> = FxHashMap::default();
            for (symbol, set) in &sets {
                chosen.insert(*symbol, set[choice % set.len()]);
                choice /= set.len();
            }
            if stop(exprs.evaluate(id, &|symbol| chosen[&symbol])) {
                break;
            }
        }
        true
    }
}

/// Puts the second set into the first. Whether that is more than before.
fn join(set: &mut Set, new: &Set) -> bool {
    let Some(known) = set else { return false };
    let Some(new) = new else {
        *set = None;
        return true;
    };
    let before = known.len();
    for value in new {
        if !known.contains(value) {
            known.push(*value);
        }
    }
    let grew = known.len() > before;
    if known.len() > MOST_VALUES {
        *set = None;
    }
    grew
}

/// Places that share bytes with others.
fn overlapping(symbolic: &Symbolic) -> FxHashSet<Place> {
    let mut owners: FxHashMap<u64, Place> = FxHashMap::default();
    let mut found = FxHashSet::default();
    for access in &symbolic.accesses {
        let place = (access.address, access.bytes);
        for at in access.address..access.address + u64::from(access.bytes) {
            let owner = *owners.entry(at).or_insert(place);
            if owner != place {
                found.extend([owner, place]);
            }
        }
    }
    found
}

/// Memory before the run, of all places that are accessed.
fn initial(symbolic: &Symbolic) -> FxHashMap<Place, Set> {
    let mut bytes: FxHashMap<u64, u8> = FxHashMap::default();
    for initial in &symbolic.initial {
        if let Some(value) = initial.value {
            for i in 0..initial.bytes {
                let byte = (value >> (8 * u32::from(i))) as u8;
                bytes.insert(initial.address + u64::from(i), byte);
            }
        }
    }
    let whole = |(address, size): Place| {
        (0..size).rev().try_fold(0u128, |value, i| {
            let byte = bytes.get(&(address + u64::from(i)))?;
            Some(value << 8 | u128::from(*byte))
        })
    };
    let places = symbolic.accesses.iter().map(|access| (access.address, access.bytes));
    places.map(|place| (place, whole(place).map(|value| vec![value]))).collect()
}

#[cfg(test)]
mod tests {
    use unravel_trace::{Access, BinaryOp, Initial, Shadow, Step};

    use super::*;

    const X: u64 = 0x1000;

    /// Threads that read and write `x`, one access a step.
    #[derive(Default)]
    struct Steps(Symbolic);

    impl Steps {
        fn add(&mut self, thread: u32, reads: u32, value: ExprId) {
            let symbolic = &mut self.0;
            let event = symbolic.shadows.len() as u32;
            let first = symbolic.accesses.len() as u32;
            symbolic.accesses.push(Access { address: X, bytes: 4, value });
            symbolic.shadows.push(Shadow { first, reads, writes: 1 - reads });
            symbolic.steps.push(Step { thread: ThreadId(thread), first: event, events: 1 });
        }

        fn write(&mut self, thread: u32, value: ExprId) {
            self.add(thread, 0, value);
        }

        fn constant(&mut self, value: u128) -> ExprId {
            self.0.exprs.constant(value, 32)
        }

        /// What the read returns.
        fn read(&mut self, thread: u32) -> ExprId {
            let symbol = SymbolId(self.0.accesses.len() as u32);
            let value = self.0.exprs.symbol(symbol, 32);
            self.add(thread, 1, value);
            value
        }

        fn may_be(&mut self, read: ExprId, value: u128) -> bool {
            self.0.initial = vec![Initial { address: X, bytes: 4, value: Some(7) }];
            let value = self.constant(value);
            let is = self.0.exprs.compare(unravel_trace::CompareOp::Eq, read, value);
            Values::of(&self.0).may_hold(&self.0.exprs, is)
        }
    }

    #[test]
    fn a_read_returns_its_own_last_write_or_what_others_write() {
        let mut steps = Steps::default();
        for value in [1, 2] {
            let value = steps.constant(value);
            steps.write(0, value);
        }
        let read = steps.read(0);
        let other = steps.constant(5);
        steps.write(1, other);
        let possible: Vec<u128> = (0..9).filter(|value| steps.may_be(read, *value)).collect();
        assert_eq!(possible, [2, 5]);
    }

    #[test]
    fn what_was_there_before_is_read_by_who_has_not_written() {
        let mut steps = Steps::default();
        let read = steps.read(0);
        let one = steps.constant(1);
        let more = steps.0.exprs.binary(BinaryOp::Add, read, one);
        steps.write(0, more);
        let other = steps.read(1);
        let possible = |steps: &mut Steps, read| -> Vec<u128> {
            (0..12).filter(|value| steps.may_be(read, *value)).collect()
        };
        assert_eq!(possible(&mut steps, read), [7]);
        assert_eq!(possible(&mut steps, other), [7, 8]);
    }

    #[test]
    fn a_counter_of_two_threads_may_be_anything() {
        let mut steps = Steps::default();
        for thread in [0, 1] {
            let read = steps.read(thread);
            let one = steps.constant(1);
            let more = steps.0.exprs.binary(BinaryOp::Add, read, one);
            steps.write(thread, more);
        }
        let read = steps.read(0);
        // The sets forget who writes when, so that the counter seems to have no end.
        assert!(steps.may_be(read, 9) && steps.may_be(read, 1_000));
    }
}
