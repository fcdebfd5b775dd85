//! Literals of atoms, and formulas as clauses.
//!
//! An order of two steps is one variable: true one way, false the other. Everything is made when it is first asked
//! for. Orders and sources are optional: they stay open until an obstacle, or a read that reads otherwise than in the
//! anchor, wants them decided; the order that is found in the end is checked as a whole. Only what is in formulas is
//! always decided, and the anchor's source of reads that matter. Formulas use orders only positively ([`crate::constraints`]), so that a part is only ever implied by the
//! whole, and half of the usual definition (Plaisted and Greenbaum's) is enough.

use rustc_hash::FxHashMap;

use crate::constraints::{Atom, Formula};
use crate::proof::{self, Reason};
use crate::sat::{Keep, Lit, Said};
use crate::{Model, SlotId, Source, StepId};

/// What a variable of the theory stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    /// Nothing that the theory hears of.
    None,
    /// The first step comes before the second; if false, after it.
    Order(StepId, StepId),
    ReadsFrom(SlotId, Source),
    /// A slot reads from a candidate that has no literal yet.
    Further(SlotId),
    /// No step of another thread within this segment of the schedule that the query is near to.
    Whole(u32),
    /// Nothing between this step of that schedule and the next, which is of another thread.
    Joined(StepId, StepId),
}

/// A literal, unless the answer is always the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Term {
    Known(bool),
    Is(Lit),
}

#[derive(Debug, Default)]
pub(super) struct Atoms {
    /// By variable.
    meanings: Vec<Meaning>,
    orders: FxHashMap<(StepId, StepId), Lit>,
    reads: FxHashMap<(SlotId, Source), Lit>,
    choices: FxHashMap<Atom, Lit>,
    /// By step: literals that put it before another step.
    pub requires: Vec<Vec<(StepId, Lit)>>,
    /// By step: its place in the schedule that the query is near to.
    pub places: Vec<u32>,
}

impl Atoms {
    pub fn new(places: Vec<u32>) -> Atoms {
        Atoms { requires: vec![Vec::new(); places.len()], places, ..Atoms::default() }
    }

    pub fn meaning(&self, literal: Lit) -> Meaning {
        self.meanings.get(literal.variable()).copied().unwrap_or(Meaning::None)
    }

    pub fn add(&mut self, said: &mut Said<'_>, meaning: Meaning, phase: bool) -> Lit {
        let optional = match meaning {
            Meaning::None => false,
            Meaning::Order(..)
            | Meaning::ReadsFrom(..)
            | Meaning::Further(_)
            | Meaning::Whole(_)
            | Meaning::Joined(..) => true,
        };
        let literal = said.variables.add(phase, meaning != Meaning::None, optional);
        if meaning != Meaning::None {
            self.meanings.resize(literal.variable() + 1, Meaning::None);
            self.meanings[literal.variable()] = meaning;
        }
        literal
    }

    /// A variable that only clauses speak of.
    pub fn plain(&mut self, said: &mut Said<'_>, phase: bool) -> Lit {
        self.add(said, Meaning::None, phase)
    }

    /// One that is assumed, and otherwise decided only where it counts.
    pub fn assumable(&mut self, said: &mut Said<'_>) -> Lit {
        said.variables.add(true, false, true)
    }

    pub fn before(&mut self, model: &Model, said: &mut Said<'_>, a: StepId, b: StepId) -> Term {
        if a == b || model.must_precede(b, a) {
            return Term::Known(false);
        }
        if model.must_precede(a, b) {
            return Term::Known(true);
        }
        Term::Is(self.order(said, a, b))
    }

    /// Two steps whose order is not fixed.
    pub fn order(&mut self, said: &mut Said<'_>, a: StepId, b: StepId) -> Lit {
        let (first, second) = if a < b { (a, b) } else { (b, a) };
        let literal = match self.orders.get(&(first, second)) {
            Some(literal) => *literal,
            None => {
                let phase = self.places[first.index()] < self.places[second.index()];
                let literal = self.add(said, Meaning::Order(first, second), phase);
                said.means(literal, || proof::Meaning::Order(first, second));
                self.orders.insert((first, second), literal);
                self.requires[first.index()].push((second, literal));
                self.requires[second.index()].push((first, !literal));
                literal
            }
        };
        if a < b { literal } else { !literal }
    }

    /// The literal of an order, if anyone asked for it.
    pub fn known_order(&self, a: StepId, b: StepId) -> Option<Lit> {
        if a < b {
            self.orders.get(&(a, b)).copied()
        } else {
            self.orders.get(&(b, a)).map(|literal| !*literal)
        }
    }

    pub fn known_read(&self, slot: SlotId, source: Source) -> Option<Lit> {
        self.reads.get(&(slot, source)).copied()
    }

    pub fn reads_from(
        &mut self,
        model: &Model,
        said: &mut Said<'_>,
        slot: SlotId,
        source: Source,
        phase: bool,
    ) -> Lit {
        if let Some(literal) = self.reads.get(&(slot, source)) {
            return *literal;
        }
        let literal = self.add(said, Meaning::ReadsFrom(slot, source), phase);
        said.means(literal, || proof::Meaning::Reads(slot, source));
        self.reads.insert((slot, source), literal);
        if let Source::Write(write) = source {
            let (writer, reader) = (model.write(write).step, model.read(slot).step);
            if writer != reader {
                self.requires[writer.index()].push((reader, literal));
            }
        }
        literal
    }

    /// A literal of a formula.
    pub fn in_formula(&mut self, model: &Model, said: &mut Said<'_>, atom: Atom) -> Lit {
        let literal = match atom {
            Atom::Before(a, b) => self.order(said, a, b),
            Atom::ReadsFrom(slot, source) => self.reads_from(model, said, slot, source, false),
            _ => return self.choice(said, atom),
        };
        said.variables.need(literal);
        literal
    }

    pub fn choice(&mut self, said: &mut Said<'_>, atom: Atom) -> Lit {
        if let Some(literal) = self.choices.get(&atom) {
            return *literal;
        }
        let literal = self.plain(said, false);
        said.means(literal, || match atom {
            Atom::Before(a, b) => proof::Meaning::Order(a, b),
            Atom::Wakes { wait, waker } => proof::Meaning::Wakes { wait, waker },
            Atom::ReadsFrom(slot, source) => proof::Meaning::Reads(slot, source),
            Atom::AfterGrant(step) => proof::Meaning::AfterGrant(step),
            Atom::Granted(step) => proof::Meaning::Granted(step),
        });
        self.choices.insert(atom, literal);
        literal
    }

    pub fn known_choice(&self, atom: Atom) -> Option<Lit> {
        self.choices.get(&atom).copied()
    }
}

/// Gives meaning to atoms that are not simply a variable.
pub(super) trait Resolve {
    fn atom(&mut self, atom: Atom, said: &mut Said<'_>) -> Lit;
    fn plain(&mut self, said: &mut Said<'_>) -> Lit;

    /// A literal that implies the formula.
    fn term(&mut self, formula: &Formula, said: &mut Said<'_>) -> Term {
        let literal = match formula {
            Formula::True => return Term::Known(true),
            Formula::False => return Term::Known(false),
            Formula::Is(atom) => self.atom(*atom, said),
            Formula::Not(atom) => !self.atom(*atom, said),
            Formula::All(parts) => {
                let whole = self.plain(said);
                let mut all = Vec::with_capacity(parts.len());
                for part in parts {
                    match self.term(part, said) {
                        Term::Known(true) => {}
                        Term::Known(false) => return Term::Known(false),
                        Term::Is(part) => {
                            said.defining(vec![!whole, part]);
                            all.push(part);
                        }
                    }
                }
                all_of(whole, &all, said);
                whole
            }
            Formula::Any(parts) => {
                let whole = self.plain(said);
                let Some(mut clause) = self.clause(parts, said) else { return Term::Known(true) };
                any_of(whole, &clause, said);
                clause.push(!whole);
                said.defining(clause);
                whole
            }
            Formula::AtLeast(count, parts) => {
                let whole = self.plain(said);
                self.at_least(*count as usize, parts, whole, said);
                whole
            }
        };
        Term::Is(literal)
    }

    /// The literals of a disjunction; `None` if it always holds.
    fn clause(&mut self, parts: &[Formula], said: &mut Said<'_>) -> Option<Vec<Lit>> {
        let mut literals = Vec::with_capacity(parts.len() + 1);
        for part in parts {
            match self.term(part, said) {
                Term::Known(true) => return None,
                Term::Known(false) => {}
                Term::Is(literal) => literals.push(literal),
            }
        }
        Some(literals)
    }

    /// If `whole` holds, so do so many of the parts. A row of counters: `fails[j]` says that more than j of the parts
    /// so far do not hold.
    fn at_least(&mut self, count: usize, parts: &[Formula], whole: Lit, said: &mut Said<'_>) {
        let may_fail = parts.len() - count;
        let mut fails: Vec<Lit> = Vec::new();
        // What is counted so far, and how many of them fail for certain.
        let (mut counted, mut failed): (Vec<proof::Literal>, i64) = (Vec::new(), 0);
        for part in parts {
            let holds = match self.term(part, said) {
                Term::Known(true) => continue,
                Term::Known(false) => None,
                Term::Is(literal) => Some(literal),
            };
            match holds {
                Some(literal) => counted.push((!literal).into()),
                None => failed += 1,
            }
            let mut next: Vec<Lit> = Vec::new();
            for index in 0..(fails.len() + 1).min(may_fail + 1) {
                let more = self.plain(said);
                said.means(more, || proof::Meaning::Count {
                    least: index as i64 + 1 - failed,
                    of: counted.clone(),
                });
                if let Some(before) = fails.get(index) {
                    said.clause(vec![!*before, more], Keep::Forever, Reason::Count);
                }
                // One more fails than before.
                let mut clause = vec![more];
                clause.extend(holds);
                if index > 0 {
                    clause.push(!fails[index - 1]);
                }
                said.clause(clause, Keep::Forever, Reason::Count);
                next.push(more);
            }
            fails = next;
        }
        said.means(whole, || {
            let of: Vec<proof::Literal> = counted.iter().map(|literal| !*literal).collect();
            let certain = parts.len() as i64 - failed - of.len() as i64;
            proof::Meaning::Count { least: count as i64 - certain, of }
        });
        if let Some(too_many) = fails.get(may_fail) {
            said.clause(vec![!whole, !*too_many], Keep::Forever, Reason::Count);
        }
    }

    /// Makes a formula hold.
    fn assert(&mut self, formula: &Formula, reason: Reason, said: &mut Said<'_>) {
        match formula {
            Formula::True => {}
            Formula::False => said.clause(Vec::new(), Keep::Forever, reason),
            Formula::All(parts) => parts.iter().for_each(|part| self.assert(part, reason, said)),
            Formula::Any(parts) => {
                if let Some(clause) = self.clause(parts, said) {
                    said.clause(clause, Keep::Forever, reason);
                }
            }
            other => match self.term(other, said) {
                Term::Known(true) => {}
                Term::Known(false) => said.clause(Vec::new(), Keep::Forever, reason),
                Term::Is(literal) => said.clause(vec![literal], Keep::Forever, reason),
            },
        }
    }
}

/// The variable means that all of these hold.
pub(super) fn all_of(whole: Lit, parts: &[Lit], said: &mut Said<'_>) {
    said.means(whole, || proof::Meaning::Gate {
        all: Some(proof::literals(parts)),
        any: Vec::new(),
    });
}

/// The variable means that any of these holds.
pub(super) fn any_of(whole: Lit, parts: &[Lit], said: &mut Said<'_>) {
    said.means(whole, || proof::Meaning::Gate { all: None, any: proof::literals(parts) });
}
