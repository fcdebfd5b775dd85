//! The observed order with one thread made to wait, before a solver is asked at length: most orders that reach a target are one
//! preemption away from what was seen (iterative context bounding, of an observed run instead of from the start).
//!
//! Steps come in the order that they were observed in, as far as they can: a thread that has to wait, or would leave its path, lets
//! the next one go. One thread is held before one of its steps: until nobody else can go on, or until another thread has done a
//! step that touches the same object. Latest steps are held first, since targets are at the end of what a question is about.
//!
//! Errs on the side of finding nothing; the evaluator has judged what is found.

use unravel_solve::{Evaluator, Model, StepId, Verdict};
use unravel_trace::ThreadId;

/// Steps of a thread that are held together: a lock is taken before what it protects.
const TOGETHER: usize = 6;

/// One thread waits.
#[derive(Clone, Copy, Debug)]
struct Hold {
    /// Before this step.
    before: StepId,
    /// Until this one is done; `None`: until nobody else can go on.
    until: Option<StepId>,
}

/// An order that fails, all steps in it. `most` bounds the steps that are evaluated.
pub fn nearby(model: &Model, most: u64) -> Option<Vec<StepId>> {
    let mut walker = Walker { model, evaluator: Evaluator::new(model), left: most };
    let latest_first: Vec<StepId> = model.steps().rev().collect();
    let patient = latest_first.iter().map(|before| Hold { before: *before, until: None });
    for hold in patient {
        match walker.walk(hold) {
            Walked::Fails(order) => return Some(order),
            Walked::Passes => {}
            Walked::Spent => return None,
        }
    }
    let touching = Touching::new(model);
    for before in latest_first {
        for until in touching.others(model, before) {
            match walker.walk(Hold { before, until: Some(until) }) {
                Walked::Fails(order) => return Some(order),
                Walked::Passes => {}
                Walked::Spent => return None,
            }
        }
    }
    None
}

struct Walker<'m> {
    model: &'m Model,
    evaluator: Evaluator<'m>,
    left: u64,
}

/// What came of a walk.
enum Walked {
    /// All steps, those after the failure last.
    Fails(Vec<StepId>),
    Passes,
    /// Nothing is left to evaluate with.
    Spent,
}

impl Walker<'_> {
    fn walk(&mut self, hold: Hold) -> Walked {
        let model = self.model;
        let threads = model.threads();
        let mut next = vec![0usize; threads];
        let mut order: Vec<StepId> = Vec::with_capacity(model.len());
        let mut holds = true;
        self.evaluator.evaluate(&[]);
        loop {
            let upcoming = |thread: usize, next: &[usize]| {
                model.thread_steps(ThreadId(thread as u32)).get(next[thread]).copied()
            };
            let mut waiting: Vec<(StepId, usize)> = (0..threads)
                .filter_map(|thread| upcoming(thread, &next).map(|step| (step, thread)))
                .collect();
            waiting.sort_unstable();
            if holds && let Some(held) = waiting.iter().position(|(step, _)| *step == hold.before) {
                let held = waiting.remove(held);
                // Only until nobody else can.
                if hold.until.is_none() {
                    waiting.push(held);
                }
            }
            let mut went = None;
            for (step, thread) in waiting {
                let Some(left) = self.left.checked_sub(1) else { return Walked::Spent };
                self.left = left;
                match self.evaluator.push(step) {
                    None => {
                        went = Some((step, thread));
                        break;
                    }
                    Some(Verdict::Fails { .. }) => {
                        order.push(step);
                        next[thread] += 1;
                        for (thread, done) in next.iter().enumerate() {
                            order.extend(&model.thread_steps(ThreadId(thread as u32))[*done..]);
                        }
                        return Walked::Fails(order);
                    }
                    Some(_) => self.evaluator.pop(),
                }
            }
            let Some((step, thread)) = went else { return Walked::Passes };
            order.push(step);
            next[thread] += 1;
            holds &= step != hold.before && Some(step) != hold.until;
        }
    }
}

/// Steps by the cells they touch.
struct Touching {
    /// By step.
    cells: Vec<Vec<u32>>,
    /// By cell, in the observed order.
    steps: Vec<Vec<StepId>>,
}

impl Touching {
    fn new(model: &Model) -> Touching {
        let mut cells = vec![Vec::new(); model.len()];
        let mut steps = Vec::new();
        for (number, cell) in model.cells().enumerate() {
            let reads = model.reads_of(cell).iter().map(|read| model.reads()[*read as usize].step);
            let writes =
                model.writes_of(cell).iter().map(|write| model.writes()[*write as usize].step);
            let mut list: Vec<StepId> = reads.chain(writes).collect();
            list.sort_unstable();
            list.dedup();
            list.iter().for_each(|step| cells[step.index()].push(number as u32));
            steps.push(list);
        }
        Touching { cells, steps }
    }

    /// Later steps of other threads that touch what a step, or those of its thread right after it, touch: nearest first.
    fn others(&self, model: &Model, step: StepId) -> Vec<StepId> {
        let mine = model.owner(step);
        let own = &model.thread_steps(mine)[model.place(step)..];
        let cells = own.iter().take(TOGETHER).flat_map(|step| &self.cells[step.index()]);
        let others = cells.flat_map(|cell| &self.steps[*cell as usize]);
        let mut all: Vec<StepId> =
            others.copied().filter(|other| *other > step && model.owner(*other) != mine).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}
