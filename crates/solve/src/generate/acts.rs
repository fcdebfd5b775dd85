//! What threads of made-up programs do, a step each.

use super::*;

/// Where the locks of made-up programs are.
const LOCKS: u64 = 0x10_0000;

impl Recording {
    /// A step with one event.
    pub(super) fn act(&mut self, thread: ThreadId, kind: EventKind) {
        self.step(thread);
        self.event(kind);
    }

    /// The main thread forks this many others, and they start.
    pub(super) fn fork_all(&mut self, threads: usize) {
        for child in children(threads) {
            self.act(ThreadId::MAIN, EventKind::Fork { child });
        }
        children(threads).for_each(|child| self.act(child, EventKind::Start));
    }

    /// They end, and the main thread waits for each.
    pub(super) fn join_all(&mut self, threads: usize) {
        children(threads).for_each(|child| self.act(child, EventKind::Exit));
        for child in children(threads) {
            self.act(ThreadId::MAIN, EventKind::Join { child });
        }
    }

    pub(super) fn lock(&mut self, thread: ThreadId, number: u32) {
        let at = self.lock_at(number);
        self.act(thread, EventKind::Lock { at, shared: false });
    }

    pub(super) fn unlock(&mut self, thread: ThreadId, number: u32) {
        let at = self.lock_at(number);
        self.act(thread, EventKind::Unlock { at });
    }

    pub(super) fn lock_at(&mut self, number: u32) -> LocationId {
        self.location(LOCKS + 64 * u64::from(number), 40)
    }

    /// Reads four bytes.
    pub(super) fn load_word(&mut self, thread: ThreadId, address: u64) -> ExprId {
        self.step(thread);
        self.read(address, 4)
    }

    /// Writes four bytes.
    pub(super) fn store_word(&mut self, thread: ThreadId, address: u64, value: ExprId) {
        self.step(thread);
        self.write(address, 4, value);
    }

    /// Adds to four bytes, all at once.
    pub(super) fn add_at_once(&mut self, thread: ThreadId, address: u64, amount: u32) {
        self.step(thread);
        let at = self.location(address, 4);
        let old = self.load(address, 4) as u64;
        let event = self.event(EventKind::Fence);
        let seen = self.read_access(address, 4);
        let sum = self.plus(seen, amount);
        self.write_access(address, 4, sum);
        let new = Value::Word(self.concrete(sum) as u64);
        self.trace.events[event as usize].kind =
            EventKind::ReadModifyWrite { at, old: Value::Word(old), new };
    }

    pub(super) fn word(&mut self, value: u32) -> ExprId {
        self.symbolic.exprs.constant(value.into(), 32)
    }

    pub(super) fn plus(&mut self, value: ExprId, amount: u32) -> ExprId {
        let amount = self.word(amount);
        self.symbolic.exprs.binary(BinaryOp::Add, value, amount)
    }

    /// Whether two expressions have the same value: one bit.
    pub(super) fn equal(&mut self, a: ExprId, b: ExprId) -> ExprId {
        let exprs = &mut self.symbolic.exprs;
        exprs.eq(a, b)
    }

    /// The main thread reads these four bytes; if they are something else than expected, the run has failed.
    pub(super) fn fails_unless(mut self, address: u64, expected: u32) -> Generated {
        let found = self.load_word(ThreadId::MAIN, address);
        let expected = self.word(expected);
        let holds = self.equal(found, expected);
        let fails = self.symbolic.exprs.not(holds);
        let after = self.trace.events.len() as u32 - 1;
        self.finish(Bug::Condition { thread: ThreadId::MAIN, after, fails })
    }
}

/// All threads but the main one.
pub(super) fn children(threads: usize) -> impl Iterator<Item = ThreadId> {
    (1..=threads as u32).map(ThreadId)
}

#[cfg(test)]
pub(super) fn assert_fails(generated: &Generated) -> crate::Model {
    use crate::{Evaluator, Model, Verdict};
    let model = Model::new(&generated.trace, &generated.symbolic).expect("a consistent trace");
    let observed = model.observed().expect("it was observed");
    let verdict = Evaluator::new(&model).evaluate(&observed);
    assert!(matches!(verdict, Verdict::Fails { .. }), "{verdict:?}");
    model
}
