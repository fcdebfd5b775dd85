//! Dead slots: those of a frame whose contents nobody will look at, because they are written first.
//!
//! Liveness (as in any compiler), asked at one instruction and answered by walking forward from it, for a bounded number of
//! instructions. A thread that goes round in a loop is back in the state it was in although such slots differ: what the
//! last round loaded is still in them.
//!
//! *Errs* towards living: a walk ends at what it does not know (calls, wide values, indirect jumps), and what was not written
//! by then is alive. A path that comes back to where it began says nothing against a slot that it did not read.

use crate::code::{Inst, Reg, Target};
use crate::model::{Body, Program};
use crate::operands::{Operand, operands, targets};

/// Instructions that are looked at for one answer: a round of a wait is shorter.
const LONGEST: usize = 400;

/// Where the question is asked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Moment {
    /// Before this instruction.
    Before(Target),
    /// After this call, which puts its result into a slot.
    Returning { call: Target, dst: Reg },
}

/// The slots of a function's frame that are dead, in order.
pub fn dead_slots(program: &Program, body: &Body, at: Moment) -> Vec<Reg> {
    let mut walk = Walk { program, body, alive: Vec::new(), written: None, left: LONGEST };
    let (start, first) = match at {
        Moment::Before(start) => (start, Path { at: start, written: Vec::new() }),
        Moment::Returning { call, dst } => (call, Path { at: call + 1, written: vec![dst] }),
    };
    let mut paths = vec![first];
    while let Some(path) = paths.pop() {
        walk.follow(path, start, &mut paths);
    }
    // Where no path leads to what is not known, only what was read matters.
    let mut dead = walk.written.unwrap_or_else(|| (0..body.slots).collect());
    dead.retain(|slot| !walk.alive.contains(slot));
    dead.sort_unstable();
    dead
}

/// A way on, and what was written along it.
#[derive(Clone, Debug)]
struct Path {
    at: Target,
    written: Vec<Reg>,
}

struct Walk<'a> {
    program: &'a Program,
    body: &'a Body,
    /// Slots that are read before they are written.
    alive: Vec<Reg>,
    /// What was written on all paths that came to an end.
    written: Option<Vec<Reg>>,
    left: usize,
}

/// What an instruction does with slots, and where it goes on.
enum Step {
    /// Reads these, writes these, and goes on with the next.
    On { reads: Vec<Reg>, writes: Vec<Reg> },
    /// Reads these and goes on elsewhere.
    To { reads: Vec<Reg>, targets: Vec<Target> },
    /// Reads these, and the frame is gone.
    Gone { reads: Vec<Reg> },
    /// Who knows.
    Unknown,
}

impl Walk<'_> {
    fn follow(&mut self, mut path: Path, start: Target, paths: &mut Vec<Path>) {
        let mut is_first = true;
        loop {
            let back = path.at == start && !is_first;
            is_first = false;
            let Some(inst) = self.body.code.get(path.at as usize).filter(|_| self.left > 0) else {
                return self.end(&path);
            };
            self.left -= 1;
            if back {
                // What a call is given, it reads again.
                return self.read(&path, arguments(self.program, inst));
            }
            match step(self.program, inst) {
                Step::On { reads, writes } => {
                    self.read(&path, reads);
                    path.written.extend(writes);
                    path.at += 1;
                }
                Step::To { reads, targets } => {
                    self.read(&path, reads);
                    let Some((first, others)) = targets.split_first() else {
                        return self.end(&path);
                    };
                    paths.extend(others.iter().map(|at| Path { at: *at, ..path.clone() }));
                    path.at = *first;
                }
                Step::Gone { reads } => return self.read(&path, reads),
                Step::Unknown => return self.end(&path),
            }
        }
    }

    fn read(&mut self, path: &Path, slots: impl IntoIterator<Item = Reg>) {
        for slot in slots {
            if !path.written.contains(&slot) && !self.alive.contains(&slot) {
                self.alive.push(slot);
            }
        }
    }

    /// What follows may read anything.
    fn end(&mut self, path: &Path) {
        match &mut self.written {
            None => self.written = Some(path.written.clone()),
            Some(all) => all.retain(|slot| path.written.contains(slot)),
        }
    }
}

/// The slots that a call reads.
fn arguments(program: &Program, inst: &Inst) -> Vec<Reg> {
    use Inst::{Call, CallExternal, CallIndirect};
    let (call, mut slots) = match inst {
        Call { call, .. } | CallExternal { call, .. } => (call, Vec::new()),
        CallIndirect { call, ptr, .. } => (call, vec![*ptr]),
        _ => return Vec::new(),
    };
    let args = program.call(*call).args.iter();
    slots.extend(args.flat_map(|arg| arg.reg..arg.reg + arg.slots));
    slots
}

/// What is common in loops that wait; all else is unknown.
fn step(program: &Program, inst: &Inst) -> Step {
    use Inst::*;
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    let mut is_known = true;
    operands(program, inst, |operand| match operand {
        Operand::Read(slots) => reads.extend(slots),
        Operand::Write(slots) => writes.extend(slots),
        Operand::Bytes(slots) => match inst {
            Extract { .. } => reads.extend(slots),
            _ => is_known = false,
        },
    });
    match inst {
        _ if !is_known => Step::Unknown,
        Return { .. } | ReturnVoid => Step::Gone { reads },
        Switch { .. } => Step::Unknown,
        _ if !targets(program, inst).is_empty() => {
            Step::To { reads, targets: targets(program, inst) }
        }
        Alloca { .. } | LandingPad { .. } => Step::Unknown,
        _ if inst.falls_through() => Step::On { reads, writes },
        _ => Step::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use unravel_trace::SiteId;

    use super::*;

    fn dead(code: Vec<Inst>, at: Target) -> Vec<Reg> {
        let body = Body { code, slots: 8, ..Body::default() };
        dead_slots(&Program::default(), &body, Moment::Before(at))
    }

    fn load(dst: Reg, ptr: Reg) -> Inst {
        Inst::Load32 { dst, ptr, site: SiteId(0) }
    }

    #[test]
    fn what_a_round_loads_is_dead_when_it_begins() {
        let spin = vec![
            load(2, 0),
            Inst::Eq { dst: 3, a: 2, b: 1 },
            Inst::Branch { cond: 3, then: 0, other: 3 },
            Inst::Return { src: 2, slots: 1 },
        ];
        assert_eq!(
            dead(spin.clone(), 0),
            [2, 3, 4, 5, 6, 7],
            "all but the address and what it is compared with"
        );
        let mut goes_on = spin;
        goes_on[3] = Inst::Unreachable;
        assert_eq!(dead(goes_on, 0), [2, 3]);
    }

    #[test]
    fn what_counts_rounds_is_alive() {
        let counts = vec![
            load(2, 0),
            Inst::AddImm { dst: 4, a: 4, imm: 1 },
            Inst::BranchEq { a: 2, b: 4, then: 0, other: 3 },
            Inst::Unreachable,
        ];
        assert_eq!(dead(counts, 0), [2]);
    }

    #[test]
    fn what_only_one_way_writes_is_alive() {
        let either = vec![
            load(2, 0),
            Inst::Branch { cond: 2, then: 2, other: 3 },
            Inst::Mov { dst: 4, src: 1 },
            Inst::Unreachable,
        ];
        assert_eq!(dead(either, 0), [2]);
    }
}
