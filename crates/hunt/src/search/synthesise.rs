//! Several flips at once, with traces that are made where the database has none.
//!
//! After Cortex (thesis §5.2.2.2, *Synthesizing a Symbolic Trace*): the thread is led along the flipped prefix by guided
//! symbolic execution, then goes on freely, breadth first, until some path comes to an assertion or to its end; the other
//! threads keep to their paths meanwhile. Sets of flips come in the order of their total distance. A set of which no member
//! has an order by itself is skipped: whichever branch turns first would have to turn while all others are still on their
//! paths.
//!
//! *Not modelled*: switches with more than two ways are not flipped together with others.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use unravel_database::DatabaseError;
use unravel_results::{AttemptEnd, HuntGap, TraceSource};
use unravel_trace::{
    EngineError, Lead, LedThread, Outcome, Then, ThreadId, ThreadName, ThreadTrace, separate,
};

use super::{Go, Search};
use crate::budgets::{MOST_LEADS, MOST_SETS};
use crate::flips::{Flippable, What, candidates};
use crate::parts::{Combination, PartId};
use crate::values::Values;

/// Traces that were made, by thread and prefix.
pub type Made = FxHashMap<(ThreadName, Vec<u32>), Vec<PartId>>;

impl Search<'_, '_> {
    /// Flips so many branches of each base at once.
    pub fn flip_together(
        &mut self,
        bases: &[Combination],
        many: usize,
    ) -> Result<Go, DatabaseError> {
        let mut made = Made::default();
        for base in bases {
            let Ok(combined) = base.combine(&self.parts) else { continue };
            let values = Values::of(&combined.symbolic);
            let (found, _) = candidates(&combined, &values);
            let depth = self.limits.bounds.depth;
            let is_near = |c: &Flippable| c.rank <= depth && matches!(c.what, What::Branch(_));
            let near: Vec<Flippable> = found.into_iter().filter(is_near).collect();
            let mut sets = subsets(&near, many);
            sets.sort_by_key(|set| set.iter().map(|candidate| candidate.distance).sum::<u32>());
            if sets.len() > MOST_SETS {
                self.gap(HuntGap::Sets { branches: many as u32 });
            }
            for set in sets.into_iter().take(MOST_SETS) {
                if set.iter().all(|candidate| self.is_refuted(base, candidate)) {
                    self.effort.ruled_out += 1;
                    continue;
                }
                let mut derived = base.clone();
                derived.depth = set.iter().map(|candidate| candidate.rank).max().unwrap_or(0);
                derived.turned = set.iter().map(|c| c.told(&combined)).collect();
                if self.flip_set(&derived, &set, &mut made)? == Go::Stop {
                    return Ok(Go::Stop);
                }
            }
        }
        Ok(self.go())
    }

    fn flip_set(
        &mut self,
        base: &Combination,
        set: &[Flippable],
        made: &mut Made,
    ) -> Result<Go, DatabaseError> {
        let mut choices: Vec<Vec<PartId>> = Vec::new();
        for (thread, branches) in by_thread(set) {
            let Some(part) = base.part(&self.parts, thread) else { return Ok(Go::On) };
            let trace = self.parts.get(part).clone();
            let Some(prefix) = flipped_prefix(&trace, &branches) else { return Ok(Go::On) };
            let traces = self.traces_of(base, &trace, prefix, made);
            if traces.is_empty() {
                return Ok(self.go());
            }
            choices.push(traces);
        }
        self.flipped += 1;
        for (number, chosen) in product(&choices).into_iter().enumerate() {
            let mut changed = base.clone();
            for part in chosen {
                changed = changed.with(&self.parts, part);
            }
            changed.traces = changed.traces.max(number as u32 + 1);
            if !self.is_new(&changed) {
                continue;
            }
            let Ok(together) = changed.combine(&self.parts) else { continue };
            self.new_attempt = true;
            (self.progress)(&self.effort, "flipping branches together");
            let go = self.explore(&changed, &together)?;
            self.note(&changed.turned, TraceSource::Symbolic, AttemptEnd::NoOrderFails);
            if go == Go::Stop {
                return Ok(Go::Stop);
            }
            self.schedule_flips(&changed, false);
        }
        Ok(self.go())
    }

    /// Traces that begin with a prefix: from the database, else made.
    fn traces_of(
        &mut self,
        base: &Combination,
        trace: &ThreadTrace,
        prefix: Vec<u32>,
        made: &mut Made,
    ) -> Vec<PartId> {
        let most = self.limits.bounds.traces as usize;
        let name = trace.name().clone();
        let known = self.database.with_prefix(&name, &prefix, self.stage.lab.visible());
        let known: Vec<PartId> = known
            .into_iter()
            .take(most)
            .filter_map(|id| self.parts.stored(self.database, id))
            .collect();
        if !known.is_empty() {
            self.effort.from_database += known.len() as u64;
            return known;
        }
        let key = (name, prefix);
        if let Some(known) = made.get(&key) {
            return known.clone();
        }
        let new = self.synthesise(base, trace, &key.1, most);
        self.effort.synthesised += new.len() as u64;
        made.insert(key, new.clone());
        new
    }

    /// Leads a thread along a prefix and lets it go on, breadth first. Shortest paths first.
    fn synthesise(
        &mut self,
        base: &Combination,
        trace: &ThreadTrace,
        prefix: &[u32],
        most: usize,
    ) -> Vec<PartId> {
        let mut todo: VecDeque<Vec<u32>> = VecDeque::from([prefix.to_vec()]);
        let mut found: Vec<ThreadTrace> = Vec::new();
        for _ in 0..MOST_LEADS {
            let Some(next) = todo.pop_front() else { break };
            if found.len() >= most || self.is_out_of_time() {
                break;
            }
            let lead = self.lead(base, trace, &next);
            let free = self.stage.free;
            let led = match self.stage.lab.lead(&base.input, &lead, &[], free) {
                Ok(led) => led,
                Err(EngineError::Cannot(what)) => {
                    self.gap(HuntGap::Lacking(what));
                    break;
                }
                // The laboratory knows, and ends the hunt.
                Err(_) => break,
            };
            if let Outcome::Inconclusive { .. } | Outcome::Discarded = led.run.outcome {
                continue;
            }
            let thread = trace.thread;
            let Some(parts) = separate(&led.run, &led.branches, &led.unscheduled) else { continue };
            let Some(part) = parts.into_iter().find(|part| part.name() == trace.name()) else {
                continue;
            };
            for branch in led.open.get(thread.index()).into_iter().flatten() {
                let mut other = part.path[..*branch as usize].to_vec();
                match part.path[*branch as usize] {
                    way @ (0 | 1) => other.push(1 - way),
                    _ => continue,
                }
                todo.push_back(other);
            }
            if part.path.starts_with(prefix) && !found.contains(&part) {
                found.push(part);
            }
        }
        found.sort_by_key(|part| part.path.len());
        found.into_iter().map(|part| self.parts.made(part)).collect()
    }

    fn lead(&self, base: &Combination, trace: &ThreadTrace, prefix: &[u32]) -> Lead {
        let led = |part: &PartId| {
            let other = self.parts.get(*part);
            let (outcomes, then) = match other.thread == trace.thread {
                true => (prefix.to_vec(), Then::Free),
                false => (other.path.clone(), Then::Stop),
            };
            LedThread { name: other.name().clone(), outcomes, then }
        };
        Lead { threads: base.parts.iter().map(led).collect() }
    }
}

/// All sets of so many candidates.
fn subsets(candidates: &[Flippable], many: usize) -> Vec<Vec<Flippable>> {
    if many == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (index, first) in candidates.iter().enumerate() {
        for mut rest in subsets(&candidates[index + 1..], many - 1) {
            rest.push(*first);
            all.push(rest);
        }
    }
    all
}

fn by_thread(set: &[Flippable]) -> Vec<(ThreadId, Vec<u32>)> {
    let mut threads: Vec<(ThreadId, Vec<u32>)> = Vec::new();
    for candidate in set {
        let What::Branch(branch) = candidate.what else { continue };
        match threads.iter_mut().find(|(thread, _)| *thread == candidate.thread) {
            Some((_, branches)) => branches.push(branch),
            None => threads.push((candidate.thread, vec![branch])),
        }
    }
    for (_, branches) in &mut threads {
        branches.sort_unstable();
    }
    threads
}

/// The path up to the last of these branches, all of them flipped.
fn flipped_prefix(trace: &ThreadTrace, branches: &[u32]) -> Option<Vec<u32>> {
    let last = *branches.last()? as usize;
    let mut prefix = trace.path.get(..=last)?.to_vec();
    for branch in branches {
        let way = &mut prefix[*branch as usize];
        if *way > 1 {
            return None;
        }
        *way = 1 - *way;
    }
    Some(prefix)
}

/// One of each, in all ways; the first of each first.
fn product(choices: &[Vec<PartId>]) -> Vec<Vec<PartId>> {
    let mut all = vec![Vec::new()];
    for choice in choices {
        all = all
            .iter()
            .flat_map(|so_far: &Vec<PartId>| {
                choice.iter().map(move |next| {
                    let mut longer = so_far.clone();
                    longer.push(*next);
                    longer
                })
            })
            .collect();
    }
    all
}
