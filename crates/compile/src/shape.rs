//! How a function is divided: what is compiled of it, where compiled code begins a block, where it may be entered, and what it
//! has to know there.

use std::collections::BTreeMap;

use unravel_code::code::*;
use unravel_code::compiled::NO_ENTRY;
use unravel_code::{Body, Operand, Program, Temporary, operands, targets, temporaries};

use crate::library::Library;

/// Copies of so many slots at most are compiled.
pub(crate) const MOST_SLOTS: u32 = 8;
/// A function with more constants, or with more bytes of frame memory, is not called by compiled code.
const MOST_CONSTANTS: usize = 64;
pub(crate) const MOST_FRESH: u32 = 1024;
/// Slots that are returned at most: in registers.
const MOST_RETURNED: u32 = 2;
/// Plain instructions that have to lie ahead, on the average, for entering compiled code to be faster than interpreting them.
pub(crate) const WORTH_ENTERING: u32 = 12;
/// What a way round a loop counts as, and a call or a return.
const ROUND: u32 = 100;
const CALL: u32 = 8;

fn is_plain(program: &Program, inst: &Inst) -> bool {
    use Inst::*;
    match *inst {
        Call { function, call, .. } => is_plain_call(program, function, call),
        CallExternal { function, call, .. } => Library::of(program, function, call).is_some(),
        Return { slots, .. } => slots <= MOST_RETURNED,
        ReturnVoid => true,
        MovN { slots, .. } | Select { slots, .. } => slots <= MOST_SLOTS,
        Float { op, kind, .. } => kind != FloatKind::F80 && op != FloatOp::Rem,
        FloatNeg { kind, .. } | FloatCmp { kind, .. } => kind != FloatKind::F80,
        Convert { op, from_bits, to_bits, .. } => crate::floats::converts(op, from_bits, to_bits),
        PrivateLoad { bytes, bits, .. } => bits == 0 && is_word(bytes),
        PrivateStore { bytes, .. } | Extract { bytes, .. } | Insert { bytes, .. } => is_word(bytes),
        Mov { .. } | Add32 { .. } | Add64 { .. } | Sub32 { .. } | Sub64 { .. } | Mul32 { .. } => {
            true
        }
        Mul64 { .. } | And { .. } | Or { .. } | Xor { .. } | Bin { .. } | Eq { .. } => true,
        Ne { .. } | Ult { .. } | Ule { .. } | Slt32 { .. } | Sle32 { .. } | Slt64 { .. } => true,
        Sle64 { .. } | Cmp { .. } | Trunc { .. } | Sext { .. } | Load8 { .. } => true,
        Load16 { .. } | Load32 { .. } | Load64 { .. } | Store8 { .. } | Store16 { .. } => true,
        Store32 { .. } | Store64 { .. } | FrameLoad8 { .. } | FrameLoad16 { .. } => true,
        FrameLoad32 { .. } | FrameLoad64 { .. } | FrameStore8 { .. } | FrameStore16 { .. } => true,
        FrameStore32 { .. } | FrameStore64 { .. } | AddImm { .. } | Index32 { .. } => true,
        Index64 { .. } | FrameAddr { .. } | Jump { .. } | Branch { .. } | BranchEq { .. } => true,
        BranchNe { .. } | BranchSlt32 { .. } | BranchSlt64 { .. } | BranchUlt { .. } => true,
        Switch { .. } => true,
        CopyToFrame { bytes, .. } => bytes > 0 && bytes % 8 == 0 && bytes <= MOST_SLOTS * 8,
        _ => false,
    }
}

/// The slots that each way out of a function returns, if it is the same for all. A function that never returns returns nothing.
pub(crate) fn returned_slots(body: &Body) -> Option<u32> {
    let mut ways = body.code.iter().filter_map(|inst| match inst {
        Inst::Return { slots, .. } => Some(*slots),
        Inst::ReturnVoid => Some(0),
        _ => None,
    });
    let first = ways.next().unwrap_or(0);
    ways.all(|way| way == first).then_some(first)
}

/// Whether compiled code makes a call itself: of a function whose frame is small and plain.
fn is_plain_call(program: &Program, function: FunctionId, call: CallId) -> bool {
    let callee = program.function(function);
    let Some(body) = &callee.body else { return false };
    let mut passed = program.call(call).args.iter().zip(&body.params);
    !callee.signature.variadic
        && !body.atomic
        && body.constants.len() <= MOST_CONSTANTS
        && body.frame_bytes <= MOST_FRESH
        && returned_slots(body).is_some_and(|slots| slots <= MOST_RETURNED)
        && passed.all(|(arg, (_, slots))| arg.slots >= *slots && *slots <= MOST_SLOTS)
}

fn is_call(inst: &Inst) -> bool {
    matches!(inst, Inst::Call { .. } | Inst::CallExternal { .. })
}

/// Whether so many bytes are loaded and stored at once.
fn is_word(bytes: u32) -> bool {
    matches!(bytes, 1 | 2 | 4 | 8)
}

/// Whether compiled code does not go on behind an instruction.
fn ends_block(inst: &Inst, plain: bool) -> bool {
    !plain || !inst.falls_through() || matches!(inst, Inst::Call { .. })
}

/// A set of slots.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Slots(Vec<u64>);

impl Slots {
    fn none(slots: usize) -> Slots {
        Slots(vec![0; slots.div_ceil(64)])
    }
    fn insert(&mut self, slot: Reg) {
        self.0[slot as usize / 64] |= 1 << (slot % 64);
    }
    fn remove(&mut self, slot: Reg) {
        self.0[slot as usize / 64] &= !(1 << (slot % 64));
    }
    pub fn contains(&self, slot: Reg) -> bool {
        self.0[slot as usize / 64] >> (slot % 64) & 1 == 1
    }
    fn add(&mut self, others: &Slots) {
        self.0.iter_mut().zip(&others.0).for_each(|(own, other)| *own |= other);
    }
    pub fn iter(&self) -> impl Iterator<Item = Reg> + '_ {
        (0..self.0.len() as u32 * 64).filter(|slot| self.contains(*slot))
    }
}

#[derive(Debug)]
pub(crate) struct Shape {
    /// By instruction: whether compiled code executes it itself. It leaves before others.
    pub plain: Vec<bool>,
    /// By instruction: whether a block begins there.
    pub leads: Vec<bool>,
    /// Where code may be entered, in order.
    pub entries: Vec<Target>,
    /// By instruction: the plain instructions that lie ahead, on the average.
    ahead: Vec<u32>,
    /// Slots that some plain instruction treats as memory: those have no variable.
    pub memory: Slots,
    /// By instruction, where a block begins: the slots whose values are needed.
    live: Vec<Option<Slots>>,
    temporaries: Vec<Temporary>,
    /// Slots that never hold anything but the address of a place in the frame, and which.
    pub fixed: BTreeMap<Reg, u32>,
    /// Whether frames get further memory while the function runs.
    pub grows: bool,
}

impl Shape {
    pub fn of(program: &Program, body: &Body, worth: u32) -> Shape {
        let code = &body.code;
        let mut leads = vec![false; code.len()];
        let mut is_entry = vec![false; code.len()];
        let mut memory = Slots::none(body.slots as usize);
        let plain: Vec<bool> = code.iter().map(|inst| is_plain(program, inst)).collect();
        let ahead = plain_ahead(program, code, &plain);
        (leads[0], is_entry[0]) = (true, true);
        for (at, inst) in code.iter().enumerate() {
            for to in targets(program, inst) {
                leads[to as usize] = true;
                is_entry[to as usize] |= to as usize <= at;
            }
            let plain = plain[at];
            if plain {
                operands(program, inst, |operand| match operand {
                    // What is called writes its result to the frame itself.
                    Operand::Bytes(_) if is_call(inst) => {}
                    Operand::Bytes(slots) => slots.for_each(|slot| memory.insert(slot)),
                    _ => {}
                });
            }
            let comes_back = !plain || matches!(inst, Inst::Call { .. });
            if comes_back && at + 1 < code.len() && (plain || ahead[at + 1] >= worth) {
                (leads[at + 1], is_entry[at + 1]) = (true, true);
            }
        }
        let entry = |at: &Target| is_entry[*at as usize] && plain[*at as usize];
        let entries: Vec<Target> = (0..code.len() as Target).filter(entry).collect();
        let fixed = fixed_addresses(program, body, &memory);
        let live = liveness(program, body, (&plain, &leads), (&memory, &fixed));
        let temporaries = temporaries(program, body);
        let grows = code.iter().any(|inst| matches!(inst, Inst::Alloca { .. }));
        Shape { plain, leads, entries, ahead, memory, live, temporaries, fixed, grows }
    }

    /// Whether compiled code does not go on behind an instruction.
    pub fn ends_block(&self, body: &Body, at: usize) -> bool {
        ends_block(&body.code[at], self.plain[at])
    }

    /// The slots whose values are needed from here on, where a block begins.
    pub fn live_before(&self, at: Target) -> &Slots {
        self.live[at as usize].as_ref().expect("a block begins here")
    }

    /// Whether a slot is written to the frame only by who leaves while somebody will read it.
    pub fn is_temporary(&self, slot: Reg) -> bool {
        self.temporaries.binary_search_by_key(&slot, |temporary| temporary.slot).is_ok()
    }

    /// Those that were written since an instruction, and whose values are needed before another one.
    pub fn unwritten(&self, since: Target, before: Target) -> Vec<Reg> {
        let is_one = |temporary: &&Temporary| temporary.is_alive_since(since, before);
        self.temporaries.iter().filter(is_one).map(|temporary| temporary.slot).collect()
    }

    /// The number of the entry before an instruction. Number 0 is for who is called.
    pub fn entry(&self, at: Target) -> Option<u32> {
        self.entries.binary_search(&at).ok().map(|index| index as u32 + 1)
    }

    /// The entries that are worth it for an interpreter.
    pub fn entries_by_instruction(&self, worth: u32) -> Box<[u32]> {
        let mut numbers = vec![NO_ENTRY; self.leads.len()].into_boxed_slice();
        for (number, at) in self.entries.iter().enumerate() {
            if self.ahead[*at as usize] >= worth {
                numbers[*at as usize] = number as u32 + 1;
            }
        }
        numbers
    }
}

/// By instruction: how many plain ones are executed from there on before compiled code leaves, on the average of all ways.
fn plain_ahead(program: &Program, code: &[Inst], plain: &[bool]) -> Vec<u32> {
    let mut ahead = vec![0u32; code.len()];
    for (at, inst) in code.iter().enumerate().rev() {
        let way = |to: &Target| if *to as usize <= at { ROUND } else { ahead[*to as usize] };
        let ways = targets(program, inst);
        ahead[at] = match inst {
            _ if !plain[at] => 0,
            // Who is called comes back, nearly always: recursion that was left in the middle must find its way in again.
            Inst::Call { .. } => CALL + ahead.get(at + 1).copied().unwrap_or(0),
            Inst::Return { .. } | Inst::ReturnVoid => CALL,
            _ if !ways.is_empty() => 1 + ways.iter().map(way).sum::<u32>() / ways.len() as u32,
            _ => 1 + ahead.get(at + 1).copied().unwrap_or(0),
        };
    }
    ahead
}

/// The slots that only one instruction writes, which puts the address of a place in the frame there: a value is there before it is
/// read.
fn fixed_addresses(program: &Program, body: &Body, memory: &Slots) -> BTreeMap<Reg, u32> {
    let mut writes = vec![0u32; body.slots as usize];
    let given = body.params.iter().flat_map(|(first, slots)| *first..first + slots);
    given.for_each(|slot| writes[slot as usize] += 1);
    let mut fixed = BTreeMap::new();
    for inst in &body.code {
        operands(program, inst, |operand| {
            if let Operand::Write(slots) | Operand::Bytes(slots) = operand {
                // A call that nobody wants anything of may name a slot that is not there.
                let there = slots.filter(|slot| *slot < body.slots);
                there.for_each(|slot| writes[slot as usize] += 1);
            }
        });
        if let Inst::FrameAddr { dst, offset } = *inst {
            fixed.insert(dst, offset);
        }
    }
    fixed.retain(|slot, _| writes[*slot as usize] == 1 && !memory.contains(*slot));
    fixed
}

/// The slots that are live where blocks begin: classic backward data flow. Slots in memory, constants and fixed addresses are not
/// followed.
fn liveness(
    program: &Program,
    body: &Body,
    (plain, leads): (&[bool], &[bool]),
    (memory, fixed): (&Slots, &BTreeMap<Reg, u32>),
) -> Vec<Option<Slots>> {
    let code = &body.code;
    let is_constant =
        |slot: Reg| slot.wrapping_sub(body.constants_at) < body.constants.len() as u32;
    let nothing = Slots::none(body.slots as usize);
    let mut before: Vec<Option<Slots>> =
        leads.iter().map(|leads| leads.then(|| nothing.clone())).collect();
    loop {
        let mut changed = false;
        let mut now = nothing.clone();
        for (at, inst) in code.iter().enumerate().rev() {
            let plain = plain[at];
            if ends_block(inst, plain) {
                now.clone_from(&nothing);
                let mut next = targets(program, inst);
                if matches!(inst, Inst::Call { .. }) {
                    next.push(at as Target + 1);
                }
                for to in next.iter().filter(|_| plain) {
                    now.add(before[*to as usize].as_ref().expect("a target leads"));
                }
            }
            if plain {
                let is_followed = |slot: &Reg| {
                    !is_constant(*slot) && !memory.contains(*slot) && !fixed.contains_key(slot)
                };
                operands(program, inst, |operand| {
                    if let Operand::Write(slots) = operand {
                        slots.for_each(|slot| now.remove(slot));
                    }
                });
                operands(program, inst, |operand| {
                    if let Operand::Read(slots) = operand {
                        slots.filter(is_followed).for_each(|slot| now.insert(slot));
                    }
                });
            }
            if let Some(old) = &mut before[at]
                && *old != now
            {
                old.clone_from(&now);
                changed = true;
            }
        }
        if !changed {
            return before;
        }
    }
}
