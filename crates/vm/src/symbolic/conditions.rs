//! What keeps a thread on its path: branches, fixed addresses, values given to what is not followed.
//!
//! A condition that a thread has asserted before is not kept again: symbols do not change.

use unravel_program::{FunctionId, Inst, Reg};
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
        if self.avoids_failure() { Otherwise::Fails } else { Otherwise::Turns(number - 1) }
    }

    /// How many branches the current thread has taken.
    pub(super) fn branches_taken(&mut self) -> u32 {
        let me = self.current;
        match self.concolic.guide.is_on() {
            true => self.guided_branches(me),
            false => self.concolic.thread(me).outcomes.len() as u32,
        }
    }

    /// Whether the side of the current branch that was not taken leads to a failure, whatever comes.
    fn avoids_failure(&self) -> bool {
        let went = self.concolic.direction;
        let is_switch = matches!(self.branch_now(), Some((_, Inst::Switch { .. })));
        !is_switch && self.is_doomed_way(u32::from(went == 0))
    }

    /// Whether the current branch leads to a failure if it goes this way, whatever comes.
    pub(super) fn is_doomed_way(&self, way: u32) -> bool {
        let Some((function, branch)) = self.branch_now() else { return false };
        let to = match branch {
            // Its condition is that of equality, see `shadow_step`.
            Inst::BranchNe { then, other, .. } => {
                if way != 0 {
                    other
                } else {
                    then
                }
            }
            Inst::Branch { then, other, .. }
            | Inst::BranchEq { then, other, .. }
            | Inst::BranchSlt32 { then, other, .. }
            | Inst::BranchSlt64 { then, other, .. }
            | Inst::BranchUlt { then, other, .. } => {
                if way != 0 {
                    then
                } else {
                    other
                }
            }
            Inst::Switch { .. } => way,
            _ => return false,
        };
        self.concolic.doom.is_doomed(function, to)
    }

    /// The other ways that the current branch can go, those to a failure left out.
    pub(super) fn other_ways(&self, way: u32) -> Vec<u32> {
        let mut ways = match self.branch_now() {
            Some((_, Inst::Switch { table, .. })) => {
                let switch = &self.program.switches[table as usize];
                switch.cases.values().copied().chain([switch.default]).collect()
            }
            _ => vec![0, 1],
        };
        ways.sort_unstable();
        ways.dedup();
        ways.retain(|other| *other != way && !self.is_doomed_way(*other));
        ways
    }

    /// The branch that the current thread is about to take, and the function it is in.
    fn branch_now(&self) -> Option<(FunctionId, Inst)> {
        let thread = &self.threads[self.current];
        let function = thread.frames.last()?.function;
        let body = self.program.function(function).body.as_ref()?;
        // SAFETY: the position is inside this function's code.
        let index = unsafe { thread.at.pc.offset_from(body.code.as_ptr()) } as usize;
        Some((function, *body.code.get(index)?))
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
