//! One flip at a time: traces that are known to begin so, then an order in which it happens.

use std::rc::Rc;

use unravel_database::DatabaseError;
use unravel_results::{Attempt, AttemptEnd, Flip, HuntBounds, HuntGap, TraceSource};
use unravel_trace::{Combined, Exprs, ThreadId, ThreadName};

use super::{Go, Postponed, Search, Tried};
use crate::agenda::{Base, Item, Start};
use crate::ask::Asked;
use crate::budgets::MOST_NOTED;
use crate::flips::{Flippable, What, candidates};
use crate::parts::{Combination, PartId};
use crate::targets::{Aim, Target, flip, meet, other_answer};
use crate::values::Values;

impl Search<'_, '_> {
    /// Puts the flips of an execution on the agenda.
    pub(super) fn schedule_flips(&mut self, combination: &Combination, executed: bool) {
        if self.limits.bounds.flips == 0 || !self.based.insert(combination.parts.clone()) {
            return;
        }
        let combined = match combination.combine(&self.parts) {
            Ok(combined) => combined,
            Err(why) => return self.gap(HuntGap::Incompatible(why)),
        };
        let values = Values::of(&combined.symbolic);
        let (found, ruled_out) = candidates(&combined, &values);
        self.effort.ruled_out += ruled_out;
        let HuntBounds { depth, flips, .. } = self.limits.bounds;
        if combination.turned.len() >= flips as usize {
            if !found.is_empty() {
                self.gap(HuntGap::MostFlips { flips });
            }
            return;
        }
        if found.iter().any(|candidate| candidate.rank > depth) {
            self.gap(HuntGap::Depth { depth });
        }
        let base = Rc::new(Base { combination: combination.clone(), combined, values });
        for candidate in found.into_iter().filter(|candidate| candidate.rank <= depth) {
            if combination.fixed.contains(&(candidate.thread, candidate.what)) {
                continue;
            }
            if let Some(start) = self.start(combination, &candidate) {
                self.agenda.add(Item {
                    base: base.clone(),
                    candidate,
                    start,
                    known: false,
                    executed,
                });
            }
        }
    }

    /// How a thread begins whose branch is flipped: up to there, and the way it does not go.
    fn start(&self, base: &Combination, flip: &Flippable) -> Option<Start> {
        let trace = self.parts.get(base.part(&self.parts, flip.thread)?);
        let path = match flip.what {
            // The way it went stands for any other. Behind the path is what nobody branched on any more.
            What::Branch(branch) => trace.path.get(..=branch as usize).unwrap_or(&trace.path),
            What::Answer(_) | What::Value(_) => &trace.path,
        };
        Some((trace.name().clone(), path.to_vec(), flip.what))
    }

    pub(super) fn flip(&mut self, item: &Item) -> Result<Go, DatabaseError> {
        let Base { combination, combined, values } = &*item.base;
        let candidate = &item.candidate;
        let mut derived = combination.clone();
        derived.depth = derived.depth.max(candidate.rank);
        derived.turned.push(candidate.told(combined));
        // Behind a flipped branch the same numbers are other branches.
        let before = |what: &What| matches!((what, candidate.what), (What::Branch(a), What::Branch(b)) if *a < b);
        derived.fixed.retain(|(thread, what)| *thread != candidate.thread || before(what));
        // A switch has more than two ways.
        if !is_switch(&item.start) {
            derived.fixed.push((candidate.thread, candidate.what));
        }
        (self.progress)(&self.effort, "flipping branches");
        let known = if item.known { Vec::new() } else { self.known_traces(&item.start) };
        self.flipped += u64::from(!item.known);
        for (number, part) in known.iter().copied().enumerate() {
            let mut changed = derived.with(&self.parts, part);
            changed.traces = changed.traces.max(number as u32 + 1);
            if !self.is_new(&changed) {
                continue;
            }
            let together = match changed.combine(&self.parts) {
                Ok(together) => together,
                Err(why) => {
                    self.gap(HuntGap::Incompatible(why));
                    continue;
                }
            };
            self.effort.from_database += 1;
            self.new_attempt = true;
            let go = self.explore(&changed, &together)?;
            self.note(&changed.turned, TraceSource::Database, AttemptEnd::NoOrderFails);
            if go == Go::Stop {
                return Ok(Go::Stop);
            }
            self.schedule_flips(&changed, false);
        }
        if !known.is_empty() {
            self.agenda.add(Item { known: true, ..item.clone() });
            return Ok(self.go());
        }
        derived.traces = derived.traces.max(1);
        let key = self.key(combination, candidate.thread, item.start.clone());
        if self.patience.is_first && self.tried.contains_key(&key) {
            self.effort.redundant += 1;
            return Ok(self.go());
        }
        let targets = match candidate.what {
            What::Answer(_) => {
                let target = other_answer(combined, candidate.index as u32);
                vec![(target, combined.symbolic.exprs.clone())]
            }
            What::Branch(_) => flip(combined, values, candidate.index).into_iter().collect(),
            // An address that another thread uses promises more than any other.
            What::Value(_) => {
                let meeting = meet(combined, values, candidate.index);
                meeting.into_iter().chain(flip(combined, values, candidate.index)).collect()
            }
        };
        let mut unanswered = false;
        for (target, exprs) in targets {
            // One that is asked again is no other attempt.
            self.new_attempt = self.patience.is_first;
            let (go, result) = self.turn(&derived, combined, (&target, &exprs), key.clone())?;
            unanswered |= result == AttemptEnd::Unknown;
            self.note(&derived.turned, TraceSource::Execution, result);
            if go == Go::Stop {
                return Ok(Go::Stop);
            }
        }
        if unanswered && self.patience.is_first {
            let item = Item { known: true, ..item.clone() };
            self.postponed.push_back(Postponed::Flip(Box::new(item)));
        }
        Ok(self.go())
    }

    /// Writes an attempt into the journal, if the solver was asked at all.
    pub fn note(&mut self, flips: &[Flip], traces: TraceSource, result: AttemptEnd) {
        let number = self.effort.attempts;
        let known = self.journal.last().is_some_and(|last| last.number == number);
        if std::mem::take(&mut self.new_attempt) || known || self.journal.len() >= MOST_NOTED {
            return;
        }
        let result = match self.caught.last() {
            Some(caught) if caught.attempt == number => AttemptEnd::Fails,
            _ => result,
        };
        let flips = flips.to_vec();
        self.journal.push(Attempt { number, flips, traces, result });
    }

    /// Asks for an order in which one thing goes another way, and executes it.
    fn turn(
        &mut self,
        derived: &Combination,
        combined: &Combined,
        (target, exprs): (&Target, &Exprs),
        key: Tried,
    ) -> Result<(Go, AttemptEnd), DatabaseError> {
        let mut result = AttemptEnd::PassesAsBefore;
        let start = key.1.clone();
        match self.ask(combined, exprs, target) {
            Asked::Never => {
                self.tried.insert(key, false);
                result = AttemptEnd::Impossible;
            }
            Asked::Unknown(why) => {
                self.tried.insert(key, true);
                if !self.patience.is_first {
                    self.unknown(why);
                }
                result = AttemptEnd::Unknown;
            }
            Asked::Promised(promise) => {
                if let What::Value(_) = key.1.2 {
                    self.gap(HuntGap::Values);
                }
                self.tried.insert(key, true);
                if is_switch(&start) {
                    self.gap(HuntGap::Switches);
                }
                if let Some(new) = self.keep_promise(derived, combined, Aim::Flip, &promise)? {
                    result = AttemptEnd::Passes;
                    self.adopt_flip(derived, new, &start.0)?;
                }
            }
        }
        Ok((self.go(), result))
    }

    /// A run in which a flip happened. Other threads may have gone another way in it than in what it was derived from, so
    /// that the flipped thread among those as they were is looked at, too.
    fn adopt_flip(
        &mut self,
        derived: &Combination,
        new: Combination,
        thread: &ThreadName,
    ) -> Result<Go, DatabaseError> {
        let flipped = new.parts.iter().find(|part| self.parts.get(**part).name() == thread);
        let among_others = flipped.map(|part| derived.with(&self.parts, *part));
        self.adoptees.push(new);
        if self.adopt()? == Go::Stop {
            return Ok(Go::Stop);
        }
        let Some(changed) = among_others.filter(|changed| !self.asked.contains(&changed.parts))
        else {
            return Ok(self.go());
        };
        self.asked.insert(changed.parts.clone());
        let together = match changed.combine(&self.parts) {
            Ok(together) => together,
            Err(why) => {
                self.gap(HuntGap::Incompatible(why));
                return Ok(self.go());
            }
        };
        if self.explore(&changed, &together)? == Go::Stop {
            return Ok(Go::Stop);
        }
        self.schedule_flips(&changed, false);
        Ok(self.go())
    }

    fn key(&self, base: &Combination, thread: ThreadId, start: Start) -> Tried {
        let mut others = base.parts.clone();
        others.retain(|part| self.parts.get(*part).thread != thread);
        (others, start)
    }

    /// Whether a single flip is known to have no order.
    pub fn is_refuted(&self, base: &Combination, candidate: &Flippable) -> bool {
        let Some(start) = self.start(base, candidate) else { return true };
        let key = self.key(base, candidate.thread, start);
        self.tried.get(&key) == Some(&false)
    }

    /// Whether a combination has not been asked about before; from now on it has.
    pub fn is_new(&mut self, combination: &Combination) -> bool {
        let new = self.asked.insert(combination.parts.clone());
        self.effort.redundant += u64::from(!new);
        new
    }

    /// Traces of the database that begin like this and then go another way, shortest first, at most N.
    fn known_traces(&mut self, (name, start, what): &Start) -> Vec<PartId> {
        let (What::Branch(branch), Some((last, before))) = (*what, start.split_last()) else {
            return Vec::new();
        };
        if before.len() != branch as usize {
            return Vec::new();
        }
        let ids = self.database.with_prefix(name, before, self.stage.lab.visible());
        let turned = ids.into_iter().filter(|id| {
            let path = self.database.trace(*id).map(|trace| &trace.path);
            path.and_then(|path| path.get(branch as usize)).is_some_and(|way| way != last)
        });
        let ids: Vec<_> = turned.take(self.limits.bounds.traces as usize).collect();
        ids.into_iter().filter_map(|id| self.parts.stored(self.database, id)).collect()
    }
}

/// Whether the way that is not to be taken is that of a switch, which has others besides.
fn is_switch((_, path, what): &Start) -> bool {
    matches!(what, What::Branch(branch) if path.get(*branch as usize).is_some_and(|way| *way > 1))
}
