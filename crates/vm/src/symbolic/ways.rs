//! Where the branch can go that the current thread is about to take. A way is what a path has of it
//! ([`unravel_trace::ThreadPath::outcomes`]): of a conditional branch whether its condition holds, of a switch the target.

use unravel_code::{FunctionId, Inst, Target};

use crate::machine::Machine;

impl Machine {
    /// Whether the current branch leads to a failure if it goes this way, whatever comes.
    pub(super) fn is_doomed_way(&self, way: u32) -> bool {
        let led = self.leads_to(way);
        led.is_some_and(|(function, to)| self.concolic.doom.is_doomed(function, to))
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

    /// The instruction that the current branch leads to if it goes this way.
    fn leads_to(&self, way: u32) -> Option<(FunctionId, Target)> {
        let (function, branch) = self.branch_now()?;
        let (holds, fails) = match branch {
            // Its condition is that of equality, see `shadow_step`.
            Inst::BranchNe { then, other, .. } => (other, then),
            Inst::Branch { then, other, .. }
            | Inst::BranchEq { then, other, .. }
            | Inst::BranchSlt32 { then, other, .. }
            | Inst::BranchSlt64 { then, other, .. }
            | Inst::BranchUlt { then, other, .. } => (then, other),
            Inst::Switch { .. } => (way, way),
            _ => return None,
        };
        Some((function, if way != 0 { holds } else { fails }))
    }

    fn branch_now(&self) -> Option<(FunctionId, Inst)> {
        let thread = &self.threads[self.current];
        let function = thread.frames.last()?.function;
        let body = self.program.function(function).body.as_ref()?;
        // SAFETY: the position is inside this function's code.
        let index = unsafe { thread.at.pc.offset_from(body.code.as_ptr()) } as usize;
        Some((function, *body.code.get(index)?))
    }
}
