//! `evaluate(order)`: how the program ends if its recorded steps are executed in this order. No solver needed.
//!
//! Each order is executed only from where it differs from the last one: every change of state is on a trail that is
//! undone to the common prefix. Expressions are computed once each, where their last read happens.
//!
//! How the bugs are decided:
//! - [`Bug::Condition`]: fails where the condition is true; where it is false the order goes on.
//! - [`Bug::Reached`]: fails when the step is executed.
//! - [`Bug::Deadlock`]: evaluation is *tolerant*. A step that has to wait where it stands is set aside, with the
//!   rest of its thread, and goes on as soon as another step lets it; [`Evaluator::performed`] is the order that
//!   results. A request that is granted, where it stands or later, passes, provisionally. If all other steps were
//!   executed and no request was granted, it fails; for that the order must contain the requests.
//! - [`Bug::Opaque`]: only execution can tell. Every complete feasible order passes, provisionally, but the recorded
//!   one: the same reads-from, and the same order of the operations on each sync object, as far as they do not
//!   commute, and of external calls.
//!
//! What does not wait but would take another path (a trylock with another result, a timeout although there was a
//! signal) is [`Verdict::Blocked`] too, in tolerant evaluation at once.
//!
//! *Not modelled*: see [`Model`]. Unknown initial values are 0.

mod state;
mod sync;
mod undo;

use std::fmt;

use unravel_trace::{Bug, SymbolId, ThreadId};

use crate::{CheckId, Model, Op, Source, StepId, StepKind};
use state::{Ran, State};

/// How an order of steps ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The same failure.
    Fails { at: StepId },
    /// No failure, all steps executed. Provisional where the recorded run was cut at its failure.
    Passes,
    /// This step cannot be executed here.
    Blocked { at: StepId },
    /// A thread leaves its recorded path after this step. `passed`: the bug condition was decided before, and false.
    Leaves { at: StepId, check: CheckId, passed: bool },
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Fails { at } => write!(f, "it fails at step {}", at.index() + 1),
            Verdict::Passes => f.write_str("it passes"),
            Verdict::Blocked { at } => write!(f, "step {} is blocked", at.index() + 1),
            Verdict::Leaves { at, .. } => {
                write!(f, "a thread leaves its path after step {}", at.index() + 1)
            }
        }
    }
}

/// Evaluates orders of one model, each only from where it differs from the last.
#[derive(Clone, Debug)]
pub struct Evaluator<'m> {
    model: &'m Model,
    tolerant: bool,
    state: State<'m>,
    /// The steps pushed so far; if `stopped`, the last of them did it.
    order: Vec<StepId>,
    /// By step of `order`: the state before it.
    marks: Vec<Mark>,
    stopped: Option<Verdict>,
    /// For [`Bug::Opaque`]: what happened in the recorded run.
    recorded: Option<Box<Happened>>,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    trail: u32,
    performed: u32,
}

/// What distinguishes runs whose bug only execution can tell.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Happened {
    sources: Vec<Source>,
    /// The order of operations on sync objects and of external calls, where it matters.
    order: Vec<(StepId, StepId)>,
}

impl<'m> Evaluator<'m> {
    pub fn new(model: &'m Model) -> Evaluator<'m> {
        let mut evaluator = Evaluator {
            model,
            tolerant: model.is_deadlock(),
            state: State::new(model),
            order: Vec::with_capacity(model.len()),
            marks: Vec::with_capacity(model.len()),
            stopped: None,
            recorded: None,
        };
        if let (Bug::Opaque, Some(observed)) = (model.bug(), model.observed()) {
            evaluator.evaluate(&observed);
            let recorded = evaluator.happened();
            evaluator.evaluate(&[]);
            evaluator.recorded = Some(Box::new(recorded));
        }
        evaluator
    }

    pub fn model(&self) -> &'m Model {
        self.model
    }

    /// Executes the steps in this order until something stops it. An order may leave out last steps of threads:
    /// then [`Verdict::Passes`] means "so far".
    pub fn evaluate(&mut self, order: &[StepId]) -> Verdict {
        let common = self.order.iter().zip(order).take_while(|(a, b)| a == b).count();
        while self.order.len() > common {
            self.pop();
        }
        if let Some(verdict) = self.stopped {
            return verdict;
        }
        for &step in &order[common..] {
            if let Some(verdict) = self.push(step) {
                return verdict;
            }
        }
        self.verdict()
    }

    /// Executes one more step. `Some` if that ends it; nothing can be pushed then until it was popped.
    pub fn push(&mut self, step: StepId) -> Option<Verdict> {
        assert!(self.stopped.is_none(), "nothing happens after the end");
        self.marks.push(self.state.mark());
        self.order.push(step);
        self.stopped = self.advance(step);
        self.stopped
    }

    /// Takes the last step back.
    pub fn pop(&mut self) {
        if let (Some(mark), Some(_)) = (self.marks.pop(), self.order.pop()) {
            self.state.undo_to(mark);
            self.stopped = None;
        }
    }

    /// How it ends if nothing else is pushed.
    pub fn verdict(&self) -> Verdict {
        if let Some(verdict) = self.stopped {
            return verdict;
        }
        let all = self.order.len() == self.model.len();
        if self.tolerant {
            return self.deadlock_verdict(all);
        }
        match (&self.recorded, self.order.last()) {
            (Some(recorded), Some(&at)) if all && self.is_as(recorded) => Verdict::Fails { at },
            _ => Verdict::Passes,
        }
    }

    /// Whether the next step of a thread could be executed now; the state stays as it is.
    pub fn is_enabled(&mut self, step: StepId) -> bool {
        if self.stopped.is_some() || self.state.next_of(step) != Some(step) {
            return false;
        }
        let mark = self.state.mark();
        let ran = self.state.execute(step);
        self.state.undo_to(mark);
        match ran {
            Ran::Waits => false,
            Ran::Differs => self.model.is_request(step),
            _ => true,
        }
    }

    /// The first step of a thread that was not performed.
    pub fn next_step(&self, thread: ThreadId) -> Option<StepId> {
        let next = self.state.next.get(thread.index())?;
        self.model.thread_steps(thread).get(*next as usize).copied()
    }

    /// By [`crate::SlotId`]: where reads got their values. Valid for steps that were performed.
    pub fn sources(&self) -> &[Source] {
        &self.state.sources
    }

    /// What a read returned. Valid for steps that were performed.
    pub fn value(&self, symbol: SymbolId) -> u128 {
        self.state.symbols[symbol.0 as usize]
    }

    /// Which waiter each signal woke, for the signals that had a choice: its place among the waiters, longest
    /// waiting first, as in [`unravel_trace::Schedule::choices`]. Without the answers that the VM asks for where
    /// spurious wake-ups or early timeouts are on.
    pub fn choices(&self) -> &[u32] {
        &self.state.choices
    }

    /// The number of steps performed, the failing or leaving one included.
    pub fn executed(&self) -> usize {
        self.state.performed.len()
    }

    /// The steps in the order they were executed in: a prefix of the order given, but for deadlocks.
    pub fn performed(&self) -> &[StepId] {
        &self.state.performed
    }

    /// The ops that were executed of a step that was performed: all, but where a path was left within the step.
    pub fn performed_ops(&self, step: StepId) -> &'m [Op] {
        let ops = self.model.program(step);
        match self.stopped {
            Some(Verdict::Fails { at } | Verdict::Leaves { at, .. }) if at == step => {
                &ops[..ops.len().min(self.state.ops_of_last)]
            }
            _ => ops,
        }
    }

    /// The bug condition was decided, and false.
    pub fn has_passed(&self) -> bool {
        self.state.passed
    }

    fn advance(&mut self, step: StepId) -> Option<Verdict> {
        if self.tolerant {
            return self.advance_tolerantly(step);
        }
        if self.state.next_of(step) != Some(step) {
            return Some(Verdict::Blocked { at: step });
        }
        self.perform(step).err().map(|verdict| verdict.unwrap_or(Verdict::Blocked { at: step }))
    }

    fn advance_tolerantly(&mut self, step: StepId) -> Option<Verdict> {
        if self.state.next_due(step) != Some(step) {
            return Some(Verdict::Blocked { at: step });
        }
        let thread = self.model.owner(step);
        self.state.make_due(thread);
        if self.state.is_aside(thread) {
            return None;
        }
        match self.perform(step) {
            Ok(()) => self.resume_others(step),
            Err(None) => {
                self.state.set_aside(thread);
                None
            }
            Err(verdict) => verdict,
        }
    }

    /// Executes a step; `Err(None)` if it has to wait.
    fn perform(&mut self, step: StepId) -> Result<(), Option<Verdict>> {
        let mark = self.state.mark();
        match self.state.execute(step) {
            // Granted, even if the thread then goes another way than we guessed.
            Ran::Done | Ran::Differs if self.model.is_request(step) => Err(Some(Verdict::Passes)),
            Ran::Done => Ok(()),
            Ran::Waits => {
                self.state.undo_to(mark);
                Err(None)
            }
            Ran::Differs => {
                self.state.undo_to(mark);
                Err(Some(Verdict::Blocked { at: step }))
            }
            Ran::Fails => Err(Some(Verdict::Fails { at: step })),
            Ran::Leaves(check) => {
                let passed = self.state.passed;
                Err(Some(Verdict::Leaves { at: step, check, passed }))
            }
        }
    }

    /// Lets threads that were set aside go on, longest waiting first, after `step` may have let them.
    fn resume_others(&mut self, step: StepId) -> Option<Verdict> {
        let mut enabling = self.state.enables(step);
        while std::mem::take(&mut enabling) {
            let mut index = 0;
            while index < self.state.aside.len() {
                let thread = self.state.aside[index];
                match self.catch_up(thread) {
                    Ok(went_on) => enabling |= went_on,
                    Err(verdict) => return Some(verdict),
                }
                if self.state.has_caught_up(thread) {
                    self.state.remove_aside(index);
                } else {
                    index += 1;
                }
            }
        }
        None
    }

    /// Executes the steps of a thread whose turn is past; true if any was.
    fn catch_up(&mut self, thread: ThreadId) -> Result<bool, Verdict> {
        let mut went_on = false;
        while !self.state.has_caught_up(thread) {
            let step = self.model.threads[thread.index()][self.state.next[thread.index()] as usize];
            match self.perform(step) {
                Ok(()) => went_on = true,
                Err(None) => break,
                Err(Some(verdict)) => return Err(verdict),
            }
        }
        Ok(went_on)
    }

    fn deadlock_verdict(&self, all: bool) -> Verdict {
        for &thread in &self.state.aside {
            let next = self.state.next[thread.index()] as usize;
            let step = self.model.threads[thread.index()][next];
            if self.model.kind(step) == StepKind::Executed {
                return Verdict::Blocked { at: step };
            }
        }
        match self.order.iter().rev().find(|s| self.model.is_request(**s)) {
            Some(&at) if all => Verdict::Fails { at },
            _ => Verdict::Passes,
        }
    }

    fn is_as(&self, recorded: &Happened) -> bool {
        self.state.sources == recorded.sources
            && self.model.sync_along(self.performed()) == recorded.order
    }

    fn happened(&self) -> Happened {
        let order = self.model.sync_along(self.performed());
        Happened { sources: self.state.sources.clone(), order }
    }
}
