//! Temporaries: slots that one instruction writes, and that only instructions behind it in the same basic block read.
//!
//! Nobody misses the value of one before that instruction or behind the last of those: compiled code need not write it to
//! the frame unless it leaves in between ([`crate::compiled`]), and who compares states of a thread must not look at it. What is
//! asked is an interval of the code, since a basic block is one; an exception or `longjmp` that goes elsewhere ends in another
//! block, or behind a call within it, where the frame holds what it held when the call was made.
//!
//! *Errs* towards no temporary: what is passed or returned in several slots, results of calls, and what is treated as
//! bytes are none; nor is what names are made of, since whoever records an event looks at it in frames further up
//! ([`crate::Program::handed`]).

use crate::code::{Inst, Reg, Target};
use crate::model::{Body, Program};
use crate::operands::{Operand, operands, targets};

/// A slot, the instruction that writes it, and the last one that reads it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Temporary {
    pub slot: Reg,
    written: Target,
    read: Target,
}

impl Temporary {
    /// Whether its value is needed before this instruction is executed.
    pub fn is_alive(&self, before: Target) -> bool {
        self.written < before && before <= self.read
    }

    /// The same, if it was written at `since` or behind that.
    pub fn is_alive_since(&self, since: Target, before: Target) -> bool {
        since <= self.written && self.is_alive(before)
    }
}

/// What is known of a slot so far.
#[derive(Clone, Copy)]
enum Found {
    Nothing,
    In { block: u32, written: Target, read: Target },
    No,
}

/// The temporaries of a function, by slot.
pub fn temporaries(program: &Program, body: &Body) -> Vec<Temporary> {
    let blocks = block_numbers(program, body);
    let mut found = vec![Found::Nothing; body.slots as usize];
    let given = body.params.iter().flat_map(|(first, slots)| *first..first + slots);
    let constants = body.constants_at..body.constants_at + body.constants.len() as u32;
    given.chain(constants).for_each(|slot| found[slot as usize] = Found::No);
    for (at, inst) in (0..).zip(&body.code) {
        let block = blocks[at as usize];
        operands(program, inst, |operand| {
            let (slots, becomes): (_, fn(Found, u32, Target) -> Found) = match operand {
                Operand::Read(slots) if slots.len() == 1 => (slots, read),
                Operand::Write(slots) if slots.len() == 1 => (slots, written),
                Operand::Read(slots) | Operand::Write(slots) | Operand::Bytes(slots) => {
                    (slots, |_, _, _| Found::No)
                }
            };
            for slot in slots {
                // A call that nobody wants anything of may name a slot that is not there.
                if let Some(found) = found.get_mut(slot as usize) {
                    *found = becomes(*found, block, at);
                }
            }
        });
    }
    for inst in &body.code {
        if let Inst::Call { call, .. } | Inst::CallIndirect { call, .. } = inst {
            let handed = program.handed.get(call).into_iter().flatten();
            let args = &program.call(*call).args;
            let named = handed.filter_map(|handed| args.get(handed.position as usize));
            named.for_each(|arg| found[arg.reg as usize] = Found::No);
        }
    }
    let temporary = |(slot, found): (Reg, Found)| match found {
        Found::In { written, read, .. } => Some(Temporary { slot, written, read }),
        _ => None,
    };
    (0..).zip(found).filter_map(temporary).collect()
}

fn read(found: Found, here: u32, at: Target) -> Found {
    match found {
        Found::In { block, written, .. } if block == here => Found::In { block, written, read: at },
        _ => Found::No,
    }
}

fn written(found: Found, block: u32, at: Target) -> Found {
    match found {
        Found::Nothing => Found::In { block, written: at, read: at },
        _ => Found::No,
    }
}

/// By instruction, the number of its basic block.
fn block_numbers(program: &Program, body: &Body) -> Vec<u32> {
    let mut leads = vec![false; body.code.len() + 1];
    for (at, inst) in body.code.iter().enumerate() {
        targets(program, inst).iter().for_each(|to| leads[*to as usize] = true);
        leads[at + 1] |= !inst.falls_through();
    }
    let pads = body.unwind.iter().map(|(_, pad)| pad);
    body.blocks.iter().chain(pads).for_each(|to| leads[*to as usize] = true);
    let number = |count: &mut u32, leads: &bool| {
        *count += u32::from(*leads);
        Some(*count)
    };
    leads[..body.code.len()].iter().scan(0, number).collect()
}

#[cfg(test)]
mod tests {
    use unravel_trace::SiteId;

    use super::*;

    fn of(code: Vec<Inst>) -> Vec<Temporary> {
        let body = Body { code, slots: 8, params: vec![(0, 1)], ..Body::default() };
        temporaries(&Program::default(), &body)
    }

    #[test]
    fn what_is_read_in_its_own_block_only_is_one() {
        let found = of(vec![
            Inst::Load32 { dst: 2, ptr: 0, site: SiteId(0) },
            Inst::AddImm { dst: 3, a: 2, imm: 1 },
            Inst::Store32 { src: 3, ptr: 0, site: SiteId(0) },
            Inst::BranchEq { a: 2, b: 0, then: 0, other: 4 },
            Inst::ReturnVoid,
        ]);
        assert_eq!(
            found,
            [
                Temporary { slot: 2, written: 0, read: 3 },
                Temporary { slot: 3, written: 1, read: 2 }
            ]
        );
        assert!(!found[0].is_alive(0) && found[0].is_alive(1) && found[0].is_alive(3));
        assert!(!found[0].is_alive(4) && !found[0].is_alive_since(1, 3));
    }

    #[test]
    fn what_another_block_reads_or_writes_is_none() {
        let found = of(vec![
            Inst::Mov { dst: 2, src: 0 },
            Inst::Mov { dst: 3, src: 0 },
            Inst::Jump { to: 3 },
            Inst::Mov { dst: 3, src: 2 },
            Inst::Return { src: 3, slots: 1 },
        ]);
        assert_eq!(found, []);
    }

    #[test]
    fn what_is_read_first_is_none() {
        let found = of(vec![
            Inst::AddImm { dst: 2, a: 2, imm: 1 },
            Inst::MovN { dst: 4, src: 0, slots: 2 },
            Inst::Jump { to: 0 },
        ]);
        assert_eq!(found, []);
    }
}
