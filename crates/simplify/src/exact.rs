//! The fewest context switches there can be: all schedules with one segment, with two, with three, …
//!
//! Breadth first by the number of segments. A node is a state (the class of the run so far, [`Class`]) with the thread that ran
//! last. One execution, "the way to the node, then this thread until it cannot", shows the nodes after every number of that
//! thread's events. Ways to the same node are compared by segments, then preemptions, then by the lengths of their
//! segments: who stays longer with the first threads is better; only the best is followed.
//!
//! *Pruned* is a thread that goes on where it had been cut although it could go on, if nothing that was executed since depends
//! on its next event. That event could as well have been executed before the cut: the same class, by a way with no more
//! segments, no more preemptions, and a longer earlier segment. Each pruned way has a better one, there are finitely many
//! ways to a class, and the way kept of several is the best of them; so a best one remains. Nor is a thread cut before
//! an event that nothing can depend on before it happens (creating a thread, allocating, ending).
//!
//! So what is proved holds for all schedules of this program with this input and this visible set, of which busy waits that
//! change nothing count once ([`Want::prune_spins`]). *Not covered*, and said: cancellation (it acts on a thread without
//! touching what its events touch), livelocks (what spins is pruned), runs that could not be followed to their end. It relies
//! on 64-bit hashes of classes being different for different classes.

mod node;
mod walk;

use rustc_hash::FxHashMap;
use unravel_trace::{Capability, Detail, FailureKind, Outcome, Schedule, ThreadId, Want};

use crate::budgets::NODES;
use crate::course::Course;
use crate::switches::Switches;
use crate::trial::Trial;
use crate::{Budget, Optimality, Unproved};
use node::{Key, NodeId, Nodes};
use walk::{Hazards, Revealed, Walk};

/// Looks for the same failure with fewer switches than `best`, or as many and fewer preemptions. The course of it, if there
/// is one, and what is proved.
pub(crate) fn prove(
    trial: &mut Trial<'_>,
    best: Switches,
    budget: &Budget,
) -> (Option<Course>, Optimality) {
    let local = |why: Unproved| (None, Optimality::LocalOptimum { at_least: 0, why });
    if budget.proof_executions == 0 {
        return local(Unproved::NotAsked);
    }
    if budget.suffix.is_some() {
        return local(Unproved::Suffix);
    }
    if trial.deviations > 0 {
        return local(Unproved::Deviations);
    }
    if trial.bug.kind == FailureKind::Livelock {
        return local(Unproved::Livelock);
    }
    let mut hazards = Hazards::default();
    loop {
        let steps = trial.lab.work().saturating_add(budget.proof_steps);
        let mut exact = Exact {
            trial: &mut *trial,
            executions: budget.proof_executions,
            steps,
            nodes: Nodes::default(),
            known: FxHashMap::default(),
            found: None,
            hazards,
            left_out: None,
        };
        match exact.search(best) {
            Ok(optimality) => return exact.result(best, optimality),
            Err(seen) => hazards = seen,
        }
    }
}

struct Exact<'t, 'a> {
    trial: &'t mut Trial<'a>,
    /// Executions and instructions of the machine at which it ends.
    executions: u64,
    steps: u64,
    nodes: Nodes,
    known: FxHashMap<Key, NodeId>,
    found: Option<Found>,
    /// What the program does that forbids to cut less.
    hazards: Hazards,
    /// Why nothing can be proved any more.
    left_out: Option<Unproved>,
}

/// A failing schedule.
struct Found {
    schedule: Schedule,
    switches: usize,
    preemptions: u32,
}

impl Exact<'_, '_> {
    /// Goes level by level. `Err` if it has to begin anew, because the program does what it was taken not to do.
    fn search(&mut self, best: Switches) -> Result<Optimality, Hazards> {
        let mut level = vec![self.nodes.root()];
        for switches in 0..=best.all() {
            // At the last level only fewer preemptions are of interest, and nothing comes after it.
            let is_last = switches == best.all();
            let mut next = Vec::new();
            for node in level {
                if !self.may_go_on() {
                    return Ok(self.unproved(switches, best));
                }
                let limit = match &self.found {
                    Some(found) => found.preemptions,
                    None if is_last => best.preemptive as u32,
                    None => u32::MAX,
                };
                if self.nodes.preemptions_after(node) >= limit {
                    continue;
                }
                let goes_on = !is_last && self.found.is_none();
                self.expand(node, goes_on, switches, &mut next)?;
            }
            if self.left_out.is_some() {
                return Ok(self.unproved(switches, best));
            }
            if self.found.is_some() {
                return Ok(Optimality::ProvedMinimal);
            }
            level = next;
        }
        Ok(Optimality::ProvedMinimal)
    }

    fn may_go_on(&mut self) -> bool {
        let executed = self.trial.counts.proof_executions;
        self.left_out.is_none()
            && executed < self.executions
            && self.trial.lab.work() < self.steps
            && self.nodes.len() < NODES
            && (!executed.is_multiple_of(64) || self.trial.may_go_on())
    }

    /// What is known when it ends within the schedules with so many switches.
    fn unproved(&self, switches: usize, best: Switches) -> Optimality {
        let why = match &self.left_out {
            Some(why) => why.clone(),
            None if self.trial.lab.is_damaged() => Unproved::Damaged,
            None if self.trial.stopped => Unproved::Stopped,
            None => Unproved::NotEnough { schedules: self.trial.counts.proof_executions },
        };
        let is_least = switches == best.all() || self.found.is_some();
        match is_least && self.left_out.is_none() {
            true => Optimality::FewestSwitches { why },
            false => Optimality::LocalOptimum { at_least: switches, why },
        }
    }

    /// Executes every thread from a node on. What it comes by is added to `next`, if the search `goes_on`.
    fn expand(
        &mut self,
        node: NodeId,
        goes_on: bool,
        switches: usize,
        next: &mut Vec<NodeId>,
    ) -> Result<(), Hazards> {
        let way = self.nodes.way(node);
        let answers = self.nodes.answers(node);
        let mut todo: Vec<(Option<ThreadId>, Vec<u32>)> = vec![(None, Vec::new())];
        while let Some((thread, own_answers)) = todo.pop() {
            let mut walk = Walk::new(&way, &answers, &own_answers, thread);
            // Without learning, what is out of sight stays so; with every round of a busy wait, the search is longer.
            let learn = self.trial.lab.can(Capability::Learn);
            let prune_spins = self.trial.lab.can(Capability::PruneSpins);
            let want = Want { learn, prune_spins, ..Want::only(Detail::Outcome) };
            self.trial.counts.proof_executions += 1;
            let run = self.trial.run(&mut walk, &mut (), want);
            let Walk { mut options, chosen, revealed, questions, hazards, mut blind, .. } = walk;
            let visible = self.trial.lab.visible();
            self.trial.learned.merge(&run.learned.without(visible));
            if let Some(spot) = blind.of(&run, Some(visible)) {
                self.left_out = Some(Unproved::Unseen(spot));
            }
            if hazards.is_new_to(&self.hazards) {
                return Err(hazards.and(&self.hazards));
            }
            if hazards.cancels {
                self.left_out = Some(Unproved::Cancellation);
                return Ok(());
            }
            if thread.is_none() {
                options.retain(|option| Some(*option) != chosen);
                todo.extend(options.into_iter().map(|option| (Some(option), Vec::new())));
            }
            let Some(chosen) = chosen else { continue };
            // Every other answer to each question that was answered by default.
            let asked: Vec<u32> = questions.iter().map(|q| q.answer).collect();
            for (at, question) in questions.iter().enumerate().skip(own_answers.len()) {
                for answer in 1..question.options {
                    let other = [&asked[..at], &[answer]].concat();
                    todo.push((Some(chosen), other));
                }
            }
            let preemptions = self.nodes.preemptions_after(node);
            if self.trial.is_the_bug(&run) {
                let is_better = self.found.as_ref().is_none_or(|f| preemptions < f.preemptions);
                if is_better {
                    let schedule = run.schedule;
                    self.found = Some(Found { schedule, switches, preemptions });
                }
            } else if let Outcome::Inconclusive { reason, .. } = &run.outcome {
                self.left_out = Some(Unproved::Inconclusive { reason: reason.clone() });
                return Ok(());
            }
            if goes_on {
                for revealed in revealed {
                    self.reveal(node, chosen, preemptions, revealed, &asked, next);
                }
            }
        }
        Ok(())
    }

    /// Keeps a node, unless there is a way to it that is no worse.
    fn reveal(
        &mut self,
        parent: NodeId,
        thread: ThreadId,
        preemptions: u32,
        revealed: Revealed,
        asked: &[u32],
        next: &mut Vec<NodeId>,
    ) {
        if revealed.is_never_cut && !self.hazards.any() {
            return;
        }
        let asked = &asked[..revealed.questions];
        let depth = self.nodes.depth(parent) + 1;
        let new = node::Node {
            parent,
            thread,
            events: revealed.events,
            depth,
            preemptions,
            could_go_on: revealed.could_go_on,
            answers: asked.into(),
        };
        match self.known.get(&revealed.key) {
            Some(old) if self.nodes.depth(*old) < depth => {}
            Some(old) => self.nodes.replace_if_better(*old, new),
            None => {
                let id = self.nodes.add(new);
                self.known.insert(revealed.key, id);
                next.push(id);
            }
        }
    }

    /// The better course, executed as any other: without leaving out rounds of busy waits.
    fn result(self, best: Switches, optimality: Optimality) -> (Option<Course>, Optimality) {
        let Some(found) = self.found else { return (None, optimality) };
        let (_, course) = self.trial.replay(&found.schedule, Detail::Outcome);
        let expected = (found.switches, found.preemptions as usize);
        match course {
            Some(course) if course.switches().cost() < best.cost() => {
                if course.switches().cost() <= expected {
                    return (Some(course), optimality);
                }
                let why = Unproved::CountsOtherwise;
                let at_least = found.switches;
                (Some(course), Optimality::LocalOptimum { at_least, why })
            }
            _ => {
                let why = Unproved::FailsOtherwise;
                (None, Optimality::LocalOptimum { at_least: found.switches, why })
            }
        }
    }
}
