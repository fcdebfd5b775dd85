//! Whether an order exists with given reads-from: a closure that refutes, never confirms.
//!
//! From program order, thread creation, joins and reads-from follow more orders: a write that must precede a read but
//! is not the one it reads from must precede that one; a write that must follow it must follow the read; two
//! sections of one lock that are ordered anywhere are ordered as wholes. If these close a cycle, no schedule has these
//! reads-from. (Deciding it fully is NP-hard; what this does not refute may still be impossible.)
//!
//! Without values it is the question whether a trace of reads and writes is sequentially consistent (Gibbons and Korach, *Testing
//! shared memories*, 1997); the rules are the usual ones that follow from it. Errs towards "may exist".

use unravel_solve::{Model, Op, SlotId, Source, StepId};

use crate::budgets::{CLOSURE_ROUNDS, CLOSURE_STEPS};

/// True if no order of the steps gives each read slot this source; `None`: any.
pub fn is_refuted(model: &Model, sources: &[Option<Source>]) -> bool {
    if model.len() > CLOSURE_STEPS {
        return false;
    }
    let mut closure = Closure::new(model);
    for (slot, source) in sources.iter().enumerate() {
        let reader = model.read(SlotId(slot as u32)).step;
        if let Some(Source::Write(write)) = source {
            closure.edge(model.write(*write).step, reader);
        }
    }
    for _ in 0..CLOSURE_ROUNDS {
        if !closure.close() {
            return true;
        }
        let before = closure.edges;
        closure.follow_reads(sources);
        closure.follow_locks();
        if closure.edges == before {
            return false;
        }
    }
    false
}

struct Closure<'m> {
    model: &'m Model,
    successors: Vec<Vec<u32>>,
    edges: usize,
    /// A row of bits a step: what it must precede.
    reach: Vec<u64>,
    words: usize,
}

impl<'m> Closure<'m> {
    fn new(model: &'m Model) -> Closure<'m> {
        let words = model.len().div_ceil(64);
        let mut closure = Closure {
            model,
            successors: vec![Vec::new(); model.len()],
            edges: 0,
            reach: vec![0; words * model.len()],
            words,
        };
        let threads = (0..model.threads()).map(|t| unravel_trace::ThreadId(t as u32));
        for thread in threads {
            for pair in model.thread_steps(thread).windows(2) {
                closure.edge(pair[0], pair[1]);
            }
        }
        for step in model.steps() {
            for op in model.program(step) {
                match op {
                    Op::Fork { child } => {
                        if let Some(first) = model.thread_steps(*child).first() {
                            closure.edge(step, *first);
                        }
                    }
                    Op::Join { child } if !model.is_request(step) => {
                        if let Some(last) = model.thread_steps(*child).last() {
                            closure.edge(*last, step);
                        }
                    }
                    _ => {}
                }
            }
        }
        closure
    }

    fn edge(&mut self, from: StepId, to: StepId) {
        let list = &mut self.successors[from.index()];
        if from != to && !list.contains(&to.0) {
            list.push(to.0);
            self.edges += 1;
        }
    }

    fn reaches(&self, from: StepId, to: StepId) -> bool {
        let row = from.index() * self.words;
        self.reach[row + to.index() / 64] >> (to.index() % 64) & 1 == 1
    }

    /// Computes reachability; false if there is a cycle.
    fn close(&mut self) -> bool {
        let Some(order) = self.topological() else { return false };
        self.reach.fill(0);
        for step in order.into_iter().rev() {
            let row = step as usize * self.words;
            for index in 0..self.successors[step as usize].len() {
                let next = self.successors[step as usize][index] as usize;
                self.reach[row + next / 64] |= 1 << (next % 64);
                for word in 0..self.words {
                    let bits = self.reach[next * self.words + word];
                    self.reach[row + word] |= bits;
                }
            }
        }
        true
    }

    fn topological(&self) -> Option<Vec<u32>> {
        let mut incoming = vec![0u32; self.successors.len()];
        for next in self.successors.iter().flatten() {
            incoming[*next as usize] += 1;
        }
        let mut ready: Vec<u32> =
            (0..incoming.len() as u32).filter(|s| incoming[*s as usize] == 0).collect();
        let mut order = Vec::with_capacity(incoming.len());
        while let Some(step) = ready.pop() {
            order.push(step);
            for next in &self.successors[step as usize] {
                incoming[*next as usize] -= 1;
                if incoming[*next as usize] == 0 {
                    ready.push(*next);
                }
            }
        }
        (order.len() == incoming.len()).then_some(order)
    }

    fn follow_reads(&mut self, sources: &[Option<Source>]) {
        for (slot, source) in sources.iter().enumerate() {
            let Some(source) = source else { continue };
            let read = *self.model.read(SlotId(slot as u32));
            for &other in self.model.writes_of(read.cell) {
                let writer = self.model.write(other).step;
                if Source::Write(other) == *source || writer == read.step {
                    continue;
                }
                match source {
                    Source::Initial => self.edge(read.step, writer),
                    Source::Write(write) => {
                        let from = self.model.write(*write).step;
                        if from == writer || from == read.step {
                            continue;
                        }
                        if self.reaches(writer, read.step) {
                            self.edge(writer, from);
                        }
                        if self.reaches(from, writer) {
                            self.edge(read.step, writer);
                        }
                    }
                }
            }
        }
    }

    fn follow_locks(&mut self) {
        let model = self.model;
        for (index, a) in model.sections().iter().enumerate() {
            for b in &model.sections()[..index] {
                if a.lock != b.lock || (a.shared && b.shared) || a.thread == b.thread {
                    continue;
                }
                for (one, two) in [(a, b), (b, a)] {
                    let (Some(end), Some(start)) = (one.release, two.acquire) else { continue };
                    let (Some(begin), Some(last)) = (one.acquire, two.release.or(two.acquire))
                    else {
                        continue;
                    };
                    if self.reaches(begin, last) {
                        self.edge(end, start);
                    }
                }
            }
        }
    }
}
