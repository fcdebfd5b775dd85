//! What of a program's globals several threads could touch at all, from the lowered code alone.
//!
//! CoopREP, thesis §3.1: an escape analysis finds a superset of what is shared, and runs refine it. A global is *private* if its address is used
//! for nothing but direct accesses, and all functions with such an access run in the main thread only: none can be reached from a
//! function whose address is taken, which is what threads begin with. It errs on the side of too much: whatever address is stored,
//! passed or returned may be anybody's. The heap, and locals whose address leaves their function, may be shared always; a local whose
//! address does not is no event of the machine in the first place.
//!
//! *Not modelled*: addresses that are computed from those of other globals, and what native libraries do with symbols they find by name.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_code::layout::{GLOBALS, GLOBALS_MAX};
use unravel_code::{Body, FunctionId, Inst, Program, Reg};

/// Which globals may be shared.
#[derive(Clone, Debug, Default)]
pub struct Escape {
    /// Addresses of the globals that may be shared, ascending.
    shared: Vec<u64>,
    /// How many globals there are that are no constants.
    pub variables: usize,
}

impl Escape {
    /// Whether the global that begins there may be shared.
    pub fn may_be_shared(&self, global: u64) -> bool {
        self.shared.binary_search(&global).is_ok()
    }

    /// How many may be.
    pub fn len(&self) -> usize {
        self.shared.len()
    }

    pub fn is_empty(&self) -> bool {
        self.shared.is_empty()
    }
}

/// Looks through a program.
pub fn escape(program: &Program) -> Escape {
    let in_globals = |value: u64| {
        let is_there = (GLOBALS..GLOBALS + GLOBALS_MAX).contains(&value);
        is_there.then(|| program.global_at(value).map(|global| global.address)).flatten()
    };
    let mut shared: FxHashSet<u64> = FxHashSet::default();
    for word in program.image.chunks_exact(8) {
        let value = u64::from_le_bytes(word.try_into().expect("chunks of eight bytes"));
        shared.extend(in_globals(value));
    }
    let elsewhere = reached_by_threads(program);
    for (number, function) in program.functions.iter().enumerate() {
        let Some(body) = &function.body else { continue };
        let in_thread = elsewhere.contains(&FunctionId(number as u32));
        let uses = Uses::of(program, body, &in_globals);
        shared.extend(&uses.escaping);
        if in_thread {
            shared.extend(&uses.accessed);
        }
    }
    let variable: FxHashSet<u64> =
        program.globals.iter().filter(|one| !one.constant).map(|one| one.address).collect();
    let mut shared: Vec<u64> = shared.into_iter().filter(|one| variable.contains(one)).collect();
    shared.sort_unstable();
    Escape { shared, variables: variable.len() }
}

/// The functions that run, or may run, in other threads than the first.
fn reached_by_threads(program: &Program) -> FxHashSet<FunctionId> {
    let all = || (0..program.functions.len() as u32).map(FunctionId);
    let taken: Vec<FunctionId> = all()
        .filter(|id| program.function(*id).address_taken && Some(*id) != program.main)
        .collect();
    let mut reached: FxHashSet<FunctionId> = taken.iter().copied().collect();
    let mut left = taken.clone();
    while let Some(id) = left.pop() {
        let Some(body) = &program.function(id).body else { continue };
        for inst in &body.code {
            let called = match *inst {
                Inst::Call { function, .. } => function,
                _ => continue,
            };
            if reached.insert(called) {
                left.push(called);
            }
        }
    }
    reached
}

/// What a function does with addresses of globals.
#[derive(Debug, Default)]
struct Uses {
    accessed: FxHashSet<u64>,
    escaping: FxHashSet<u64>,
}

impl Uses {
    fn of(program: &Program, body: &Body, in_globals: &dyn Fn(u64) -> Option<u64>) -> Uses {
        let mut holds: FxHashMap<Reg, FxHashSet<u64>> = FxHashMap::default();
        for (at, value) in body.constants.iter().enumerate() {
            if let Some(global) = in_globals(*value) {
                holds.entry(body.constants_at + at as u32).or_default().insert(global);
            }
        }
        let mut uses = Uses::default();
        if holds.is_empty() {
            return uses;
        }
        // Registers are written in any order of blocks: until nothing changes.
        loop {
            let mut grew = false;
            for (dst, src) in body.code.iter().flat_map(moves) {
                let Some(from) = holds.get(&src).cloned() else { continue };
                let to = holds.entry(dst).or_default();
                let before = to.len();
                to.extend(from);
                grew |= to.len() > before;
            }
            if !grew {
                break;
            }
        }
        let held = |reg: Reg| holds.get(&reg).into_iter().flatten().copied();
        for inst in &body.code {
            uses.accessed.extend(pointer(inst).into_iter().flat_map(held));
            for reg in given_away(program, inst) {
                uses.escaping.extend(held(reg));
            }
        }
        uses
    }
}

/// Registers that get what others hold, or an address near it.
fn moves(inst: &Inst) -> Vec<(Reg, Reg)> {
    match *inst {
        Inst::Mov { dst, src } | Inst::Trunc { dst, src, .. } | Inst::Sext { dst, src, .. } => {
            vec![(dst, src)]
        }
        Inst::MovN { dst, src, slots } => (0..slots).map(|at| (dst + at, src + at)).collect(),
        Inst::AddImm { dst, a, .. } => vec![(dst, a)],
        Inst::Index32 { dst, base, .. } | Inst::Index64 { dst, base, .. } => vec![(dst, base)],
        Inst::Add32 { dst, a, b }
        | Inst::Add64 { dst, a, b }
        | Inst::Sub32 { dst, a, b }
        | Inst::Sub64 { dst, a, b }
        | Inst::And { dst, a, b }
        | Inst::Or { dst, a, b }
        | Inst::Xor { dst, a, b }
        | Inst::Bin { dst, a, b, .. } => vec![(dst, a), (dst, b)],
        Inst::Select { dst, a, b, slots, .. } => {
            (0..slots).flat_map(|at| [(dst + at, a + at), (dst + at, b + at)]).collect()
        }
        _ => Vec::new(),
    }
}

/// The register whose address an instruction accesses.
fn pointer(inst: &Inst) -> Option<Reg> {
    match *inst {
        Inst::Load8 { ptr, .. }
        | Inst::Load16 { ptr, .. }
        | Inst::Load32 { ptr, .. }
        | Inst::Load64 { ptr, .. }
        | Inst::LoadN { ptr, .. }
        | Inst::Store8 { ptr, .. }
        | Inst::Store16 { ptr, .. }
        | Inst::Store32 { ptr, .. }
        | Inst::Store64 { ptr, .. }
        | Inst::StoreN { ptr, .. }
        | Inst::Rmw { ptr, .. }
        | Inst::CmpXchg { ptr, .. } => Some(ptr),
        _ => None,
    }
}

/// Registers whose content goes where it is not followed.
fn given_away(program: &Program, inst: &Inst) -> Vec<Reg> {
    let several = |first: Reg, slots: u32| (first..first + slots).collect();
    match *inst {
        Inst::Store8 { src, .. }
        | Inst::Store16 { src, .. }
        | Inst::Store32 { src, .. }
        | Inst::Store64 { src, .. }
        | Inst::FrameStore8 { src, .. }
        | Inst::FrameStore16 { src, .. }
        | Inst::FrameStore32 { src, .. }
        | Inst::FrameStore64 { src, .. }
        | Inst::ZextWide { src, .. }
        | Inst::SextWide { src, .. }
        | Inst::CopyToFrame { src, .. } => vec![src],
        Inst::StoreN { src, bytes, .. }
        | Inst::PrivateStore { src, bytes, .. }
        | Inst::Insert { src, bytes, .. }
        | Inst::InsertLane { src, bytes, .. }
        | Inst::Extract { src, bytes, .. } => several(src, bytes.div_ceil(8).max(1)),
        Inst::Return { src, slots } => several(src, slots),
        Inst::BinWide { a, b, .. } => vec![a, a + 1, b, b + 1],
        Inst::Rmw { value, .. } => vec![value],
        Inst::CmpXchg { expected, new, .. } => vec![expected, new],
        Inst::Call { call, .. }
        | Inst::CallExternal { call, .. }
        | Inst::CallIndirect { call, .. } => {
            let args = &program.call(call).args;
            args.iter().flat_map(|arg| arg.reg..arg.reg + arg.slots.max(1)).collect()
        }
        _ => Vec::new(),
    }
}
