//! Where a program can only fail: the side of an `assert` that calls `__assert_fail`, an error path that ends in `abort`.
//!
//! A place is *doomed* if every way on from it leads to a call that fails for certain. So an assertion, however it is
//! written, is a branch with one doomed side, and a run that passed tells what would have made it fail. After Cortex
//! (thesis §5.4), which has the user write `if (bad) assert(false);` instead.
//!
//! Of all other places the distance is known: the fewest branches to a doomed one within the function and what it calls.
//!
//! *Not modelled*: failures that depend on values (an exit code, a division), calls through pointers, exceptions, and
//! loops that never end. Errs on the side of missing assertions: the other side of a branch that is not known to fail is
//! still a branch to flip.

use crate::{Body, ERRORS, FunctionId, Inst, Program, Target};

/// Functions without a body that never return and always fail.
const FAILS: &[&str] = &[
    "__assert_fail",
    "__assert",
    "__assert_rtn",
    "__assert_perror_fail",
    "__VERIFIER_error",
    "reach_error",
    "abort",
    "llvm.trap",
    "llvm.debugtrap",
    "_ZSt9terminatev",
    "__stack_chk_fail",
];

/// The doomed places of a program.
#[derive(Clone, Debug, Default)]
pub struct Doom {
    /// By function, then by instruction.
    functions: Vec<Vec<bool>>,
    /// The same: the fewest branches to a doomed place, [`NOWHERE`] if there is none.
    distances: Vec<Vec<u32>>,
    /// [`Program::names_its_error`]: `abort` is an assumption.
    abort_is_assumed: bool,
}

const NOWHERE: u32 = u32::MAX;

impl Doom {
    pub fn new(program: &Program) -> Doom {
        let places = |f: &crate::Function| vec![false; f.body.as_ref().map_or(0, |b| b.code.len())];
        let functions: Vec<Vec<bool>> = program.functions.iter().map(places).collect();
        let abort_is_assumed = program.names_its_error();
        let mut doom = Doom { functions, distances: Vec::new(), abort_is_assumed };
        // The least fixed point: what calls a doomed function is doomed in the next round.
        let mut grew = true;
        while grew {
            grew = false;
            for (index, function) in program.functions.iter().enumerate() {
                if let Some(body) = &function.body {
                    grew |= doom.spread(program, index, body);
                }
            }
        }
        doom.measure(program);
        doom
    }

    /// The fewest branches from here to a place where the program can only fail.
    pub fn distance(&self, function: FunctionId, at: Target) -> Option<u32> {
        let places = self.distances.get(function.0 as usize);
        places.and_then(|places| places.get(at as usize)).copied().filter(|d| *d != NOWHERE)
    }

    /// Distances shrink until they are right.
    fn measure(&mut self, program: &Program) {
        self.distances = self.functions.iter().map(|code| vec![NOWHERE; code.len()]).collect();
        let mut shrank = true;
        while shrank {
            shrank = false;
            for (index, function) in program.functions.iter().enumerate() {
                let Some(body) = &function.body else { continue };
                for at in (0..body.code.len()).rev() {
                    let distance = self.measured(program, index, body, at);
                    if distance < self.distances[index][at] {
                        self.distances[index][at] = distance;
                        shrank = true;
                    }
                }
            }
        }
    }

    fn measured(&self, program: &Program, index: usize, body: &Body, at: usize) -> u32 {
        if self.functions[index][at] {
            return 0;
        }
        let here = &self.distances[index];
        let from = |to: Target| here.get(to as usize).copied().unwrap_or(NOWHERE);
        let next = from(at as Target + 1);
        match body.code[at] {
            Inst::Jump { to } => from(to),
            Inst::Branch { then, other, .. }
            | Inst::BranchEq { then, other, .. }
            | Inst::BranchNe { then, other, .. }
            | Inst::BranchSlt32 { then, other, .. }
            | Inst::BranchSlt64 { then, other, .. }
            | Inst::BranchUlt { then, other, .. } => from(then).min(from(other)).saturating_add(1),
            Inst::Switch { table, .. } => {
                let switch = &program.switches[table as usize];
                let cases = switch.cases.values().map(|to| from(*to)).min().unwrap_or(NOWHERE);
                cases.min(from(switch.default)).saturating_add(1)
            }
            Inst::Call { function, .. } => {
                let callee = self.distances[function.0 as usize].first().copied();
                callee.unwrap_or(NOWHERE).min(next)
            }
            Inst::IndirectJump { .. }
            | Inst::Return { .. }
            | Inst::ReturnVoid
            | Inst::Resume { .. }
            | Inst::Unreachable => NOWHERE,
            _ => next,
        }
    }

    /// Whether whoever gets to this instruction fails.
    pub fn is_doomed(&self, function: FunctionId, at: Target) -> bool {
        let places = self.functions.get(function.0 as usize);
        places.and_then(|places| places.get(at as usize)).copied().unwrap_or(false)
    }

    /// One pass over a body, backwards, so that straight code needs no second one.
    fn spread(&mut self, program: &Program, index: usize, body: &Body) -> bool {
        let mut grew = false;
        for at in (0..body.code.len()).rev() {
            if !self.functions[index][at] && self.fails(program, index, body, at) {
                self.functions[index][at] = true;
                grew = true;
            }
        }
        grew
    }

    fn fails(&self, program: &Program, index: usize, body: &Body, at: usize) -> bool {
        let here = &self.functions[index];
        let doomed = |to: Target| here.get(to as usize).copied().unwrap_or(false);
        let next = doomed(at as Target + 1);
        match body.code[at] {
            Inst::Jump { to } => doomed(to),
            Inst::Branch { then, other, .. }
            | Inst::BranchEq { then, other, .. }
            | Inst::BranchNe { then, other, .. }
            | Inst::BranchSlt32 { then, other, .. }
            | Inst::BranchSlt64 { then, other, .. }
            | Inst::BranchUlt { then, other, .. } => doomed(then) && doomed(other),
            Inst::Switch { table, .. } => {
                let switch = &program.switches[table as usize];
                doomed(switch.default) && switch.cases.values().all(|to| doomed(*to))
            }
            Inst::Call { function, .. } => {
                let is_error = ERRORS.contains(&program.function(function).name.as_str());
                is_error || self.is_doomed(function, 0) || next
            }
            Inst::CallExternal { function, .. } => {
                let name = program.function(function).name.as_str();
                FAILS.contains(&name) && !(self.abort_is_assumed && name == "abort") || next
            }
            Inst::IndirectJump { .. }
            | Inst::Return { .. }
            | Inst::ReturnVoid
            | Inst::Resume { .. }
            | Inst::Unreachable => false,
            _ => next,
        }
    }
}
