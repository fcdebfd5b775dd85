//! Literals, their values, the trail, and which variable to decide next.

use std::ops::Not;

use super::clauses::ClauseId;

/// How fast activities fade.
const FADE: f64 = 0.95;
const TOO_ACTIVE: f64 = 1e100;

/// A variable, or its negation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Lit(u32);

impl Lit {
    pub fn variable(self) -> usize {
        (self.0 >> 1) as usize
    }

    pub fn is_negated(self) -> bool {
        self.0 & 1 == 1
    }

    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Not for Lit {
    type Output = Lit;

    fn not(self) -> Lit {
        Lit(self.0 ^ 1)
    }
}

/// All variables.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    /// By literal.
    values: Vec<Option<bool>>,
    /// By variable, where it has a value.
    levels: Vec<u32>,
    reasons: Vec<Option<ClauseId>>,
    /// By variable: the value it had last, or should have first.
    phases: Vec<bool>,
    pub(super) of_theory: Vec<bool>,
    /// By variable: it may stay without a value.
    is_optional: Vec<bool>,
    /// Optional ones that this search decides all the same.
    wanted: Vec<usize>,
    pub(super) trail: Vec<Lit>,
    /// Where each level begins in the trail.
    starts: Vec<usize>,
    activity: Vec<f64>,
    step: f64,
    queue: Queue,
    /// How far clauses, and how far the theory, have seen the trail.
    pub(super) propagated: usize,
    pub(super) told: usize,
}

impl Variables {
    pub fn len(&self) -> usize {
        self.levels.len()
    }

    /// A new variable; its positive literal. The theory hears of those that are its own. One that is optional is not
    /// decided unless it is wanted: an answer may leave it open.
    pub fn add(&mut self, phase: bool, of_theory: bool, optional: bool) -> Lit {
        let variable = self.levels.len();
        self.values.extend([None, None]);
        self.levels.push(0);
        self.reasons.push(None);
        self.phases.push(phase);
        self.of_theory.push(of_theory);
        self.activity.push(0.0);
        self.step = self.step.max(1.0);
        self.is_optional.push(optional);
        if !optional {
            self.queue.insert(variable as u32, &self.activity);
        }
        Lit((variable as u32) << 1)
    }

    /// Decides an optional variable, in this search. True if it has no value yet.
    pub fn want(&mut self, literal: Lit) -> bool {
        let variable = literal.variable();
        if std::mem::replace(&mut self.is_optional[variable], false) {
            self.wanted.push(variable);
        }
        self.queue.insert(variable as u32, &self.activity);
        self.value(literal).is_none()
    }

    /// Decides an optional variable from now on.
    pub fn need(&mut self, literal: Lit) {
        let variable = literal.variable();
        self.is_optional[variable] = false;
        self.queue.insert(variable as u32, &self.activity);
    }

    /// A new search: nothing is wanted.
    pub(super) fn begin(&mut self) {
        for variable in self.wanted.drain(..) {
            self.is_optional[variable] = true;
        }
    }

    pub fn value(&self, literal: Lit) -> Option<bool> {
        self.values[literal.index()]
    }

    pub fn is_true(&self, literal: Lit) -> bool {
        self.values[literal.index()] == Some(true)
    }

    pub fn is_false(&self, literal: Lit) -> bool {
        self.values[literal.index()] == Some(false)
    }

    pub(super) fn level(&self) -> usize {
        self.starts.len()
    }

    pub fn level_of(&self, literal: Lit) -> usize {
        self.levels[literal.variable()] as usize
    }

    pub(super) fn reason_of(&self, literal: Lit) -> Option<ClauseId> {
        self.reasons[literal.variable()]
    }

    /// The number of levels that literals join.
    pub(super) fn levels_of(&self, literals: &[Lit]) -> u32 {
        let mut levels: Vec<usize> = literals.iter().map(|l| self.level_of(*l)).collect();
        levels.sort_unstable();
        levels.dedup();
        levels.len() as u32
    }

    pub(super) fn assign(&mut self, literal: Lit, reason: Option<ClauseId>) {
        debug_assert!(self.value(literal).is_none());
        self.values[literal.index()] = Some(true);
        self.values[(!literal).index()] = Some(false);
        self.levels[literal.variable()] = self.level() as u32;
        self.reasons[literal.variable()] = reason;
        self.trail.push(literal);
    }

    /// It counts as assigned at level 0, wherever the search is now, and if it was assigned before. Not if its opposite
    /// was.
    pub(super) fn assign_for_certain(&mut self, literal: Lit) {
        if self.value(literal).is_none() {
            self.assign(literal, None);
        }
        self.levels[literal.variable()] = 0;
        self.reasons[literal.variable()] = None;
    }

    pub(super) fn new_level(&mut self) {
        self.starts.push(self.trail.len());
    }

    pub(super) fn start_of(&self, level: usize) -> usize {
        self.starts.get(level - 1).copied().unwrap_or(self.trail.len())
    }

    /// What is certain was perhaps assigned late: it stays.
    pub(super) fn back_to(&mut self, level: usize) {
        let Some(&start) = self.starts.get(level) else { return };
        let mut certain = Vec::new();
        while self.trail.len() > start {
            let Some(literal) = self.trail.pop() else { break };
            self.values[literal.index()] = None;
            self.values[(!literal).index()] = None;
            let variable = literal.variable();
            if self.levels[variable] == 0 {
                certain.push(literal);
            }
            self.phases[variable] = !literal.is_negated();
            if !self.is_optional[variable] {
                self.queue.insert(variable as u32, &self.activity);
            }
        }
        self.starts.truncate(level);
        self.propagated = self.propagated.min(start);
        self.told = self.told.min(start);
        certain.into_iter().rev().for_each(|literal| self.assign_for_certain(literal));
    }

    /// The most active variable without a value, as it was last; `None` if all have one, but for optional ones.
    pub(super) fn decide(&mut self) -> Option<Lit> {
        while let Some(variable) = self.queue.pop(&self.activity) {
            let positive = Lit(variable << 1);
            if self.value(positive).is_none() && !self.is_optional[variable as usize] {
                return Some(if self.phases[variable as usize] { positive } else { !positive });
            }
        }
        None
    }

    pub(super) fn bump(&mut self, variable: usize) {
        self.activity[variable] += self.step;
        if self.activity[variable] > TOO_ACTIVE {
            self.activity.iter_mut().for_each(|activity| *activity /= TOO_ACTIVE);
            self.step /= TOO_ACTIVE;
        }
        self.queue.raise(variable as u32, &self.activity);
    }

    pub(super) fn fade(&mut self) {
        self.step /= FADE;
    }
}

/// A binary heap of variables, the most active first; among equals the oldest.
#[derive(Debug, Default)]
struct Queue {
    heap: Vec<u32>,
    /// By variable: its place in the heap.
    places: Vec<Option<u32>>,
}

impl Queue {
    fn insert(&mut self, variable: u32, activity: &[f64]) {
        if self.places.len() <= variable as usize {
            self.places.resize(variable as usize + 1, None);
        }
        if self.places[variable as usize].is_none() {
            self.places[variable as usize] = Some(self.heap.len() as u32);
            self.heap.push(variable);
            self.raise(variable, activity);
        }
    }

    fn pop(&mut self, activity: &[f64]) -> Option<u32> {
        let first = *self.heap.first()?;
        let last = self.heap.pop()?;
        self.places[first as usize] = None;
        if first != last {
            self.put(0, last);
            self.lower(0, activity);
        }
        Some(first)
    }

    fn put(&mut self, place: usize, variable: u32) {
        self.heap[place] = variable;
        self.places[variable as usize] = Some(place as u32);
    }

    fn is_ahead(a: u32, b: u32, activity: &[f64]) -> bool {
        let (x, y) = (activity[a as usize], activity[b as usize]);
        x > y || (x == y && a < b)
    }

    fn raise(&mut self, variable: u32, activity: &[f64]) {
        let Some(Some(place)) = self.places.get(variable as usize).copied() else { return };
        let mut place = place as usize;
        while place > 0 {
            let above = (place - 1) / 2;
            if !Queue::is_ahead(variable, self.heap[above], activity) {
                break;
            }
            self.put(place, self.heap[above]);
            place = above;
        }
        self.put(place, variable);
    }

    fn lower(&mut self, mut place: usize, activity: &[f64]) {
        let variable = self.heap[place];
        loop {
            let mut below = 2 * place + 1;
            if below >= self.heap.len() {
                break;
            }
            let right = below + 1;
            if right < self.heap.len()
                && Queue::is_ahead(self.heap[right], self.heap[below], activity)
            {
                below = right;
            }
            if !Queue::is_ahead(self.heap[below], variable, activity) {
                break;
            }
            self.put(place, self.heap[below]);
            place = below;
        }
        self.put(place, variable);
    }
}
