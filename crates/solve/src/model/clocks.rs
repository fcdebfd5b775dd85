//! Must-happen-before: what program order, fork and join put in one order in every execution (vector clocks).
//!
//! Locks, semaphores and barriers order nothing here: which section comes first differs between executions.

use super::{Model, ModelError, Op, StepId};

/// A thread's clock changes only where it starts and where it joins, so few rows serve many steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clocks {
    threads: usize,
    /// By step.
    row: Vec<u32>,
    /// `threads` numbers a row: how many steps of each other thread come before.
    counts: Vec<u32>,
}

impl Clocks {
    pub fn new(model: &Model) -> Result<Clocks, ModelError> {
        let threads = model.threads.len();
        let mut clocks =
            Clocks { threads, row: vec![u32::MAX; model.len()], counts: vec![0; threads] };
        let causes = model.causes();
        // Each thread goes on until it needs a fork or an exit that is not reached yet.
        let mut done = vec![0; threads];
        let mut progress = true;
        while std::mem::take(&mut progress) {
            for (steps, done) in model.threads.iter().zip(&mut done) {
                while let Some(&step) = steps.get(*done) {
                    let Some(row) = clocks.row_for(model, step, &causes) else { break };
                    clocks.row[step.index()] = row;
                    *done += 1;
                    progress = true;
                }
            }
        }
        match (0..threads).find(|t| done[*t] < model.threads[*t].len()) {
            None => Ok(clocks),
            Some(thread) => Err(ModelError::Contradiction(format!(
                "thread {thread} waits for a fork or an exit that comes later"
            ))),
        }
    }

    fn row_for(&mut self, model: &Model, step: StepId, causes: &[(StepId, StepId)]) -> Option<u32> {
        let place = model.place(step);
        let thread = model.owner(step).index();
        let before = match place {
            0 => 0,
            _ => self.row[model.threads[thread][place - 1].index()],
        };
        let first = causes.partition_point(|(of, _)| *of < step);
        let end = causes.partition_point(|(of, _)| *of <= step);
        let causes = &causes[first..end];
        if causes.is_empty() {
            return Some(before);
        }
        let mut counts = self.row(before).to_vec();
        for &(_, cause) in causes {
            let row = self.row[cause.index()];
            if row == u32::MAX {
                return None;
            }
            for (count, other) in counts.iter_mut().zip(self.row(row)) {
                *count = (*count).max(*other);
            }
            let owner = model.owner(cause).index();
            counts[owner] = counts[owner].max(model.place[cause.index()] + 1);
        }
        self.counts.extend(counts);
        Some((self.counts.len() / self.threads) as u32 - 1)
    }

    fn row(&self, row: u32) -> &[u32] {
        let start = row as usize * self.threads;
        &self.counts[start..start + self.threads]
    }
}

impl Model {
    /// What steps wait for in every execution beside program order, sorted: a start for its fork, a join for the exit.
    /// The later step comes first.
    pub(crate) fn causes(&self) -> Vec<(StepId, StepId)> {
        let mut forks = vec![None; self.threads()];
        let mut exits = vec![None; self.threads()];
        for step in self.steps() {
            for op in self.program(step) {
                match *op {
                    Op::Fork { child } => forks[child.index()] = Some(step),
                    Op::Exit => exits[self.owner(step).index()] = Some(step),
                    _ => {}
                }
            }
        }
        let mut found = Vec::new();
        for step in self.steps().filter(|step| !self.is_request(*step)) {
            let causes = self.program(step).iter().filter_map(|op| match *op {
                Op::Start => forks[self.owner(step).index()],
                Op::Join { child } => exits[child.index()],
                _ => None,
            });
            found.extend(causes.map(|cause| (step, cause)));
        }
        found.sort();
        found
    }

    /// How many steps of a thread come before this one in every execution.
    pub(crate) fn steps_before(&self, step: StepId, thread: usize) -> u32 {
        if self.owner(step).index() == thread {
            return self.place[step.index()];
        }
        self.clocks.row(self.clocks.row[step.index()])[thread]
    }

    /// Whether program order, forks and joins put `a` before `b` in every execution.
    pub fn must_precede(&self, a: StepId, b: StepId) -> bool {
        self.place[a.index()] < self.steps_before(b, self.owner(a).index())
    }
}
