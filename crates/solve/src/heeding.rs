//! A solver that stops when somebody says so.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crate::{Answer, Bounds, Found, Goal, Nearest, Query, Solver};

/// A solver whose queries all heed one flag (Ctrl-C), and end at one moment.
pub struct Heeding<'f> {
    solver: Box<dyn Solver>,
    interrupt: &'f AtomicBool,
    deadline: Option<Instant>,
}

impl<'f> Heeding<'f> {
    pub fn new(solver: Box<dyn Solver>, interrupt: &'f AtomicBool) -> Heeding<'f> {
        Heeding { solver, interrupt, deadline: None }
    }

    /// No question is thought about longer than this.
    #[must_use]
    pub fn until(self, deadline: Option<Instant>) -> Heeding<'f> {
        Heeding { deadline, ..self }
    }

    /// Asks with the flag and the moment in the bounds.
    fn ask<T>(
        &mut self,
        query: &Query<'_>,
        ask: impl FnOnce(&mut dyn Solver, &Query<'_>) -> T,
    ) -> T {
        let left = self.deadline.map(|end| end.saturating_duration_since(Instant::now()));
        let time = query.bounds.time.into_iter().chain(left).min();
        let bounds = Bounds { interrupt: Some(self.interrupt), time, ..query.bounds };
        ask(&mut *self.solver, &Query { bounds, ..query.clone() })
    }
}

impl Solver for Heeding<'_> {
    fn name(&self) -> String {
        self.solver.name()
    }

    fn find(&mut self, query: &Query<'_>) -> Answer<Found> {
        self.ask(query, |solver, query| solver.find(query))
    }

    fn core(&mut self, query: &Query<'_>) -> Answer<Vec<usize>> {
        self.ask(query, |solver, query| solver.core(query))
    }

    fn nearest(&mut self, query: &Query<'_>, goal: Goal) -> Answer<Nearest> {
        self.ask(query, |solver, query| solver.nearest(query, goal))
    }

    fn minimal_core(&mut self, query: &Query<'_>) -> Answer<Vec<usize>> {
        self.ask(query, |solver, query| solver.minimal_core(query))
    }

    fn proves_up_to(&self) -> usize {
        self.solver.proves_up_to()
    }

    fn conflicts(&self) -> Option<u64> {
        self.solver.conflicts()
    }
}
