//! What keeps a thread on its path: branches, fixed addresses, values given to what is not followed.
//!
//! A condition that a thread has asserted before is not kept again: symbols do not change.

use unravel_code::{FunctionId, Inst, Reg, Target};
use unravel_trace::{Condition, ConditionKind, ExprId, Otherwise, ThreadId};

use super::Byte;
use super::registers::Frame;
use crate::machine::Machine;

impl Machine {
    /// The current thread went on because this holds.
    pub(super) fn add_condition(&mut self, holds: ExprId, why: ConditionKind) {
        self.add_condition_or(holds, why, Otherwise::Unknown);
    }

    fn add_condition_or(&mut self, holds: ExprId, why: ConditionKind, otherwise: Otherwise) {
        let (thread, site) = (self.current, self.current_site());
        let concolic = &mut self.concolic;
        if concolic.graph.exprs.as_const(holds).is_some() {
            return;
        }
        debug_assert!(
            concolic.guide.is_on() || concolic.graph.value(holds) == 1,
            "a condition holds in this run"
        );
        let next = concolic.conditions.len();
        let index = *concolic.asserted.entry((thread, holds)).or_insert(next);
        // Nothing is symbolic before the first event of the run, which is the start of the main thread.
        let after = concolic.thread(thread).last_event.unwrap_or(0);
        concolic.thread(thread).last_condition = Some(index);
        concolic.thread(thread).plain_branches = 0;
        if index == next {
            let thread = ThreadId(thread as u32);
            concolic.conditions.push(Condition { thread, after, holds, site, why, otherwise });
        }
    }

    /// A one-bit expression was true or false.
    pub(super) fn add_branch(&mut self, condition: ExprId, taken: bool, otherwise: Otherwise) {
        let holds = if taken { condition } else { self.concolic.graph.exprs.not(condition) };
        self.note_branch(holds);
        self.add_condition_or(holds, ConditionKind::Branch, otherwise);
    }

    /// What the branch that is being executed does if it goes another way than it went.
    pub(super) fn otherwise(&mut self) -> Otherwise {
        let number = self.branches_taken();
        let Some((function, went, avoided)) = self.sides() else {
            return Otherwise::Turns(number - 1);
        };
        let doom = &self.concolic.doom;
        if doom.is_doomed(function, avoided) {
            return Otherwise::Fails;
        }
        match (doom.distance(function, avoided), doom.distance(function, went)) {
            (Some(there), Some(here)) if there < here => Otherwise::Nears(number - 1),
            (Some(_), None) => Otherwise::Nears(number - 1),
            _ => Otherwise::Turns(number - 1),
        }
    }

    /// How many branches the current thread has taken.
    pub(super) fn branches_taken(&mut self) -> u32 {
        let me = self.current;
        match self.concolic.guide.is_on() {
            true => self.guided_branches(me),
            false => self.concolic.thread(me).outcomes.len() as u32,
        }
    }

    /// Where the current branch went, and where it did not.
    fn sides(&self) -> Option<(FunctionId, Target, Target)> {
        let thread = &self.threads[self.current];
        let frame = thread.frames.last()?;
        let body = self.program.function(frame.function).body.as_ref()?;
        // SAFETY: the position is inside this function's code.
        let index = unsafe { thread.at.pc.offset_from(body.code.as_ptr()) } as usize;
        let holds = self.concolic.direction != 0;
        let (then, other) = match *body.code.get(index)? {
            // Its condition is that of equality, see `shadow_step`.
            Inst::BranchNe { then, other, .. } => (other, then),
            Inst::Branch { then, other, .. }
            | Inst::BranchEq { then, other, .. }
            | Inst::BranchSlt32 { then, other, .. }
            | Inst::BranchSlt64 { then, other, .. }
            | Inst::BranchUlt { then, other, .. } => (then, other),
            _ => return None,
        };
        let (went, avoided) = if holds { (then, other) } else { (other, then) };
        Some((frame.function, went, avoided))
    }

    /// Keeps an expression at the value it has.
    pub(super) fn fix(&mut self, id: ExprId, why: ConditionKind) {
        self.keep_guess(id);
        let value = self.concolic.graph.value(id);
        let holds = self.concolic.graph.equals(id, value);
        self.add_condition(holds, why);
    }

    /// Keeps slots at their values and makes them concrete.
    pub(super) fn fix_slots(&mut self, fp: *const u64, reg: Reg, slots: u32, why: ConditionKind) {
        for reg in reg..reg + slots {
            let mut frame = self.frame_at(fp);
            if let Some(id) = frame.get(reg) {
                frame.set(reg, None);
                self.fix(id, why);
            }
        }
    }

    /// Keeps the address in a slot. The slot stays symbolic: it is not the address alone that matters.
    pub(super) fn fix_address(&mut self, fp: *const u64, reg: Reg) {
        let id = self.frame_at(fp).get(reg);
        let current = self.current;
        self.concolic.thread(current).address = id;
        if let Some(id) = id {
            self.fix(id, ConditionKind::Address);
        }
    }

    /// Keeps bytes at their values.
    pub(super) fn fix_bytes(&mut self, bytes: &[Byte]) {
        for part in bytes.chunks(8) {
            if let Some(id) = self.concolic.graph.assemble(part) {
                self.fix(id, ConditionKind::Fixed);
            }
        }
    }

    /// The frame that begins at `fp`, a frame of the current thread.
    pub(super) fn frame_at(&mut self, fp: *const u64) -> Frame<'_> {
        let thread = self.current;
        let registers = self.threads[thread].registers as *const u64;
        let first = (fp as usize - registers as usize) / 8;
        Frame { concolic: &mut self.concolic, thread, first, fp }
    }
}
