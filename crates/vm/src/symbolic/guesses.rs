//! What a guided run takes for granted, and what it might have taken instead.
//!
//! Where a concrete value is needed (an address, an argument of a library function) a guess is kept by a condition; what
//! was kept is what another attempt may replace, by another value that somebody wrote to the same place.
//!
//! *Not modelled*: values that nobody wrote in this attempt. Errs on the side of offering too few.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_trace::{ExprId, Guess, SymbolId, ThreadId, ThreadName};

use crate::budgets::MOST_OTHERS;
use crate::machine::Machine;

/// The guesses of one attempt.
#[derive(Debug, Default)]
pub(super) struct Guesses {
    /// What this attempt was told to take.
    given: FxHashMap<(ThreadName, u32), u128>,
    /// The number of the guess behind a symbol.
    symbols: FxHashMap<u32, u32>,
    /// Branches that a thread took because of one symbol alone.
    branches: FxHashMap<u32, Vec<ExprId>>,
    /// Expressions that were kept at their guessed values, and answers of library functions, as they came.
    kept: Vec<(usize, Kept)>,
    /// Condition variables and who waited on them.
    waited: Vec<(u64, usize)>,
    others: Vec<Guess>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kept {
    Value(ExprId),
    Answer(u32, bool),
    /// Who would be woken by a signal on this condition variable.
    Waiter(u32, u64),
}

impl Guesses {
    pub fn new(given: &[Guess]) -> Guesses {
        let given = given.iter().map(|guess| ((guess.thread.clone(), guess.index), guess.value));
        Guesses { given: given.collect(), ..Guesses::default() }
    }

    pub fn take_others(&mut self) -> Vec<Guess> {
        std::mem::take(&mut self.others)
    }

    /// An address may be another in the next attempt.
    pub fn keep(&mut self, thread: usize, id: ExprId) {
        self.kept.push((thread, Kept::Value(id)));
    }
}

impl Machine {
    /// The value of a read: what memory holds, or what this attempt takes it to be.
    pub(super) fn guessed(&mut self, symbol: u32, held: u128) -> u128 {
        if !self.concolic.guide.is_on() {
            return held;
        }
        let index = self.count_guess();
        if !self.concolic.guide.replaceable {
            return held;
        }
        self.concolic.guide.guesses.symbols.insert(symbol, index);
        self.guess(index).unwrap_or(held)
    }

    fn count_guess(&mut self) -> u32 {
        let me = self.current;
        let thread = self.guided(me);
        thread.guessed += 1;
        thread.guessed - 1
    }

    fn guess(&self, index: u32) -> Option<u128> {
        let key = (self.names[self.current].clone(), index);
        self.concolic.guide.guesses.given.get(&key).copied()
    }

    /// What a library function answers that may or may not succeed.
    pub fn guided_answer(&mut self, actual: bool) -> bool {
        if !self.concolic.guide.is_on() {
            return actual;
        }
        let index = self.count_guess();
        let me = self.current;
        let contrary = std::mem::take(&mut self.guided(me).spins.contrary);
        let answer = self.guess(index).map_or(actual != contrary, |value| value != 0);
        self.concolic.guide.guesses.kept.push((me, Kept::Answer(index, answer)));
        answer
    }

    /// Whom a signal wakes if several wait: a guess like any other.
    pub fn guided_waiter(&mut self, cond: u64, woken: Option<ThreadId>) -> Option<ThreadId> {
        if !self.concolic.guide.is_on() {
            return woken;
        }
        let index = self.count_guess();
        let me = self.current;
        self.concolic.guide.guesses.kept.push((me, Kept::Waiter(index, cond)));
        self.guess(index).map(|value| ThreadId(value as u32)).or(woken)
    }

    pub fn guided_wait(&mut self, cond: u64) {
        let me = self.current;
        let guide = &mut self.concolic.guide;
        if guide.is_on() && !guide.guesses.waited.contains(&(cond, me)) {
            guide.guesses.waited.push((cond, me));
        }
    }

    /// An expression is kept at its guessed value. A value that contradicts a branch leads nowhere: the others run on, so
    /// that they write a better one.
    pub(super) fn keep_guess(&mut self, id: ExprId) {
        if self.concolic.guide.is_on() {
            let current = self.current;
            self.concolic.guide.guesses.keep(current, id);
            let symbols = self.concolic.graph.exprs.symbols(id);
            let graph = &self.concolic.graph;
            if symbols.into_iter().any(|of| !self.fits_branches(of.0, graph.known(of))) {
                loop {
                    self.retry_later(id, 0);
                }
            }
        }
    }

    /// A branch was taken because this holds.
    pub(super) fn note_branch(&mut self, holds: ExprId) {
        if self.concolic.guide.is_on()
            && let [symbol] = self.concolic.graph.exprs.symbols(holds)[..]
        {
            self.concolic.guide.guesses.branches.entry(symbol.0).or_default().push(holds);
        }
    }

    fn fits_branches(&self, symbol: u32, value: u128) -> bool {
        let concolic = &self.concolic;
        let branches = concolic.guide.guesses.branches.get(&symbol);
        let holds = |id: &ExprId| concolic.graph.exprs.evaluate(*id, &|_| value) != 0;
        branches.into_iter().flatten().all(holds)
    }

    /// Other guesses of a thread: its last answers and values first.
    pub(super) fn suggest_for(&mut self, thread: usize) {
        self.suggest_for_stuck();
        let all = self.concolic.guide.guesses.kept.iter().rev();
        let own = all.filter(|(of, _)| *of == thread).copied().collect();
        self.suggest(own, |_, _| true);
    }

    /// Other guesses of all threads, in order.
    pub fn suggest_any(&mut self) {
        let kept: Vec<(usize, Kept)> = self.concolic.guide.guesses.kept.clone();
        self.suggest(kept, |_, _| true);
    }

    /// Other values for what an expression is made of that give it a fitting value.
    pub(super) fn suggest_value(&mut self, id: ExprId, fits: impl Fn(&Machine, u128) -> bool) {
        self.suggest(vec![(self.current, Kept::Value(id))], fits);
    }

    fn suggest(&mut self, kept: Vec<(usize, Kept)>, fits: impl Fn(&Machine, u128) -> bool) {
        let mut seen: FxHashSet<Guess> = FxHashSet::default();
        for (thread, kept) in kept {
            let found = match kept {
                Kept::Answer(index, answer) => {
                    self.flipped(thread, index, answer).into_iter().collect()
                }
                Kept::Waiter(index, cond) => self.waiters(thread, index, cond),
                Kept::Value(id) => self.values_for(id, &fits),
            };
            for guess in found {
                if self.concolic.guide.guesses.others.len() < MOST_OTHERS
                    && seen.insert(guess.clone())
                {
                    self.concolic.guide.guesses.others.push(guess);
                }
            }
        }
    }

    /// The other answer, if it was not this attempt's own idea.
    fn flipped(&self, thread: usize, index: u32, answer: bool) -> Option<Guess> {
        let thread = self.names[thread].clone();
        let mine = self.concolic.guide.guesses.given.contains_key(&(thread.clone(), index));
        (!mine).then(|| Guess { thread, index, value: u128::from(!answer) })
    }

    /// All who ever wait, if they are several.
    fn waiters(&self, thread: usize, index: u32, cond: u64) -> Vec<Guess> {
        let thread = self.names[thread].clone();
        let guesses = &self.concolic.guide.guesses;
        let waited: Vec<usize> =
            guesses.waited.iter().filter(|(at, _)| *at == cond).map(|(_, who)| *who).collect();
        if waited.len() < 2 || guesses.given.contains_key(&(thread.clone(), index)) {
            return Vec::new();
        }
        let guess = |who| Guess { thread: thread.clone(), index, value: who as u128 };
        waited.into_iter().map(guess).collect()
    }

    fn values_for(&mut self, id: ExprId, fits: &impl Fn(&Machine, u128) -> bool) -> Vec<Guess> {
        let symbols = self.concolic.graph.exprs.symbols(id);
        let mut found = Vec::new();
        for SymbolId(symbol) in symbols {
            let Some(&index) = self.concolic.guide.guesses.symbols.get(&symbol) else { continue };
            let thread = self.names[self.concolic.accesses[symbol as usize].thread].clone();
            if self.concolic.guide.guesses.given.contains_key(&(thread.clone(), index)) {
                continue;
            }
            for value in self.candidates_of(symbol) {
                let graph = &self.concolic.graph;
                let whole = graph.exprs.evaluate(id, &|of: SymbolId| {
                    if of.0 == symbol { value } else { graph.known(of) }
                });
                if fits(self, whole) && self.fits_branches(symbol, value) {
                    found.push(Guess { thread: thread.clone(), index, value });
                }
            }
        }
        found
    }

    /// What else the location of a read held at any time, as far as the run got: last written first.
    fn candidates_of(&mut self, symbol: u32) -> Vec<u128> {
        let concolic = &mut self.concolic;
        let read = concolic.accesses[symbol as usize];
        let mut values = Vec::new();
        for index in (0..concolic.accesses.len()).rev() {
            let access = concolic.accesses[index];
            if access.write && (access.address, access.bytes) == (read.address, read.bytes) {
                values.push(concolic.graph.value(access.value));
            }
        }
        let initial = (0..u64::from(read.bytes)).rev().fold(0u128, |value, i| {
            value << 8 | u128::from(concolic.initial.get(&(read.address + i)).copied().unwrap_or(0))
        });
        values.push(initial);
        let tried = concolic.graph.value(read.value);
        let mut seen = FxHashSet::from_iter([tried]);
        values.retain(|value| seen.insert(*value));
        values
    }
}
