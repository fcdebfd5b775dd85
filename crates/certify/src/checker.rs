//! The checker: every variable means something, every clause is true of all orders that answer the question.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use unravel_solve::proof::{Line, Literal, Meaning};
use unravel_solve::{Source, StepId};

use crate::clauses::Clauses;
use crate::closure::Facts;
use crate::nearness::Stage;
use crate::rules::{End, Rules};

/// Why a line is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

pub(crate) fn refuse<T>(why: impl Into<String>) -> Result<T, Refused> {
    Err(Refused(why.into()))
}

/// A rule whose clauses are taken on trust.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Unchecked {
    /// Who is refused or granted what in a deadlock.
    Deadlock,
    /// How far a run is from one that ends in a deadlock.
    DeadlockDistance,
    /// Z3 said that no initial values satisfy some conditions.
    InitialValues,
}

impl Unchecked {
    /// For reports: "but for 3 clauses of …".
    pub fn words(self) -> &'static str {
        match self {
            Unchecked::Deadlock => "what a deadlock demands",
            Unchecked::DeadlockDistance => "the distance from a deadlock",
            Unchecked::InitialValues => "initial values that nobody knows (decided by Z3)",
        }
    }
}

/// What was accepted of one proof so far.
#[derive(Debug, Default)]
pub struct Checker {
    pub(crate) meanings: FxHashMap<u32, Meaning>,
    pub(crate) clauses: Clauses,
    /// What the last line that follows says.
    pub(crate) last: Option<Vec<Literal>>,
    /// What the question at hand minimises.
    pub(crate) stages: Vec<Stage>,
    pub(crate) unchecked: BTreeMap<Unchecked, u64>,
    pub(crate) lines: u64,
    /// A line was refused: nothing after it counts.
    broken: Option<Refused>,
}

impl Checker {
    /// Lines that were accepted.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Clauses that were taken on trust, by rule.
    pub fn unchecked(&self) -> &BTreeMap<Unchecked, u64> {
        &self.unchecked
    }

    /// Accepts the next line, or says why not. Once refused, always refused.
    pub(crate) fn line(&mut self, asked: &Asked<'_, '_>, line: &Line) -> Result<(), Refused> {
        if let Some(broken) = &self.broken {
            return Err(broken.clone());
        }
        let accepted = self.accept(asked, line);
        match &accepted {
            Ok(()) => self.lines += 1,
            Err(refused) => self.broken = Some(refused.clone()),
        }
        accepted
    }

    fn accept(&mut self, asked: &Asked<'_, '_>, line: &Line) -> Result<(), Refused> {
        match line {
            Line::Means(variable, meaning) => self.define(asked.rules, *variable, meaning),
            Line::Follows(clause) => {
                self.demand_known(clause)?;
                if !is_tautology(clause) && !self.clauses.follows(clause) {
                    return refuse("it does not follow from what is above");
                }
                self.clauses.add(clause);
                self.last = Some(clause.clone());
                Ok(())
            }
            Line::Holds(reason, clause) => {
                self.demand_known(clause)?;
                if let Some(rule) = self.holds(asked.rules, *reason, clause)? {
                    *self.unchecked.entry(rule).or_insert(0) += 1;
                }
                self.clauses.add(clause);
                Ok(())
            }
            Line::Stage(weights) => {
                self.stages.push(Stage::new(*weights));
                Ok(())
            }
            Line::Wish(literal, charged) => {
                self.demand_known(&[*literal])?;
                self.wish(asked, *literal, *charged)
            }
            Line::Charge { weight, core, under } => {
                self.demand_known(core)?;
                self.demand_known(under)?;
                self.charge(asked, *weight, core, under)
            }
        }
    }

    pub(crate) fn demand_known(&self, literals: &[Literal]) -> Result<(), Refused> {
        match literals.iter().find(|l| !self.meanings.contains_key(&l.variable())) {
            None => Ok(()),
            Some(literal) => refuse(format!("variable {} means nothing yet", literal.variable())),
        }
    }

    fn define(
        &mut self,
        rules: &Rules<'_>,
        variable: u32,
        meaning: &Meaning,
    ) -> Result<(), Refused> {
        if variable == 0 || variable > i32::MAX as u32 || self.meanings.contains_key(&variable) {
            return refuse(format!(
                "variable {variable} has a meaning already, or cannot have one"
            ));
        }
        let model = rules.model;
        let is_step = |step: &StepId| step.index() < model.len();
        let exists = match meaning {
            Meaning::Order(a, b) | Meaning::Joined(a, b) => is_step(a) && is_step(b),
            Meaning::Whole { first, last } => {
                let both = is_step(first) && is_step(last);
                both && model.owner(*first) == model.owner(*last)
            }
            // Nothing is granted but in a deadlock that is avoided.
            Meaning::Granted(step) | Meaning::AfterGrant(step) => {
                rules.end == End::Grant && is_step(step)
            }
            Meaning::Wakes { .. } => true,
            Meaning::Reads(slot, source) => {
                slot.index() < model.reads().len()
                    && match source {
                        Source::Initial => true,
                        Source::Write(write) => {
                            let write = model.writes().get(*write as usize);
                            write.is_some_and(|write| write.cell == model.read(*slot).cell)
                        }
                    }
            }
            Meaning::Gate { all, any } => {
                self.demand_known(all.as_deref().unwrap_or_default())?;
                self.demand_known(any)?;
                true
            }
            Meaning::Count { of, .. } => {
                self.demand_known(of)?;
                true
            }
        };
        if !exists {
            return refuse("there is no such step, read or write");
        }
        self.meanings.insert(variable, meaning.clone());
        let whole = Literal(variable as i32);
        match meaning {
            Meaning::Gate { all, any } => {
                for other in any {
                    self.clauses.add(&[whole, !*other]);
                }
                match all {
                    Some(all) => {
                        let missing = all.iter().map(|part| !*part);
                        self.clauses.add(&missing.chain([whole]).collect::<Vec<_>>());
                        for part in all {
                            self.clauses.add(&[&[!whole, *part], any.as_slice()].concat());
                        }
                    }
                    None => self.clauses.add(&[&[!whole], any.as_slice()].concat()),
                }
            }
            Meaning::Count { least, of } => {
                if *least <= 0 {
                    self.clauses.add(&[whole]);
                } else if *least > of.len() as i64 {
                    self.clauses.add(&[!whole]);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// What holds if none of these literals does.
    pub(crate) fn facts(&self, clause: &[Literal]) -> Facts {
        let mut facts = Facts::default();
        let mut todo: Vec<Literal> = clause.iter().map(|literal| !*literal).collect();
        while let Some(literal) = todo.pop() {
            let Some(meaning) = self.meanings.get(&literal.variable()) else { continue };
            facts.falses.push(!literal);
            match (meaning, literal.is_negated()) {
                (Meaning::Order(a, b), false) => facts.orders.push((*a, *b)),
                (Meaning::Order(a, b), true) => facts.orders.push((*b, *a)),
                (Meaning::Reads(slot, source), false) => facts.reads.push((*slot, *source)),
                (Meaning::Whole { first, last }, false) => facts.whole.push((*first, *last)),
                (Meaning::Joined(a, b), false) => facts.joined.push((*a, *b)),
                (Meaning::Granted(step), false) => facts.granted.push(*step),
                (Meaning::AfterGrant(step), false) => facts.after_grant.push(*step),
                (Meaning::AfterGrant(step), true) => facts.executed.push(*step),
                (Meaning::Gate { all, any }, false) => match all {
                    Some(all) if any.is_empty() => todo.extend(all),
                    None if any.len() == 1 => todo.push(any[0]),
                    _ => {}
                },
                (Meaning::Gate { all, any }, true) => {
                    todo.extend(any.iter().map(|literal| !*literal));
                    match all.as_deref() {
                        Some([one]) => todo.push(!*one),
                        Some(all) => facts.not_all.extend(self.orders(all)),
                        None => {}
                    }
                }
                _ => {}
            }
        }
        facts.reads.sort();
        facts.reads.dedup();
        facts
    }

    /// These literals as orders, if they are.
    pub(crate) fn orders(&self, literals: &[Literal]) -> Option<Vec<(StepId, StepId)>> {
        literals.iter().map(|literal| self.order(*literal)).collect()
    }

    pub(crate) fn order(&self, literal: Literal) -> Option<(StepId, StepId)> {
        match self.meanings.get(&literal.variable())? {
            Meaning::Order(a, b) if literal.is_negated() => Some((*b, *a)),
            Meaning::Order(a, b) => Some((*a, *b)),
            _ => None,
        }
    }
}

pub(crate) fn is_tautology(clause: &[Literal]) -> bool {
    clause.iter().any(|literal| clause.contains(&!*literal))
}

/// The question at hand.
#[derive(Debug)]
pub(crate) struct Asked<'r, 'm> {
    pub rules: &'r Rules<'m>,
    pub query: &'r unravel_solve::Query<'m>,
    /// Orders that hold in every answer.
    pub kept: Vec<(StepId, StepId)>,
    /// The data flow of the schedule to be near to.
    pub flows: Vec<unravel_solve::criteria::Flow>,
}
