//! `Program`: what lowering produces and the VM executes. No LLVM type appears here.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use unravel_trace::{Commuting, Shape, Site, SiteId};

use crate::code::{CallId, FunctionId, Inst, Reg, Target};
use crate::names::{TypeId, TypeTable};

/// By these the programs of the verification competition say that they have failed, whatever the functions do.
pub const ERRORS: [&str; 2] = ["reach_error", "__VERIFIER_error"];

/// A whole program, lowered.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub struct Program {
    pub functions: Vec<Function>,
    pub calls: Vec<CallSite>,
    pub switches: Vec<Switch>,
    pub landing_pads: Vec<LandingPad>,
    /// Why a [`Inst::Trap`] was emitted, in words for the user.
    pub traps: Vec<String>,
    pub globals: Vec<Global>,
    /// Initial bytes of all globals, placed at [`crate::layout::GLOBALS`].
    pub image: Vec<u8>,
    /// Initial bytes of one thread's block of thread-local variables.
    pub thread_locals: Vec<u8>,
    /// The thread-local variables in that block; `address` is an offset.
    pub thread_local_globals: Vec<Global>,
    /// Variables of native libraries, with every place that holds their address.
    pub external_data: Vec<ExternalData>,
    /// Constructors in the order they run, and destructors likewise.
    pub constructors: Vec<FunctionId>,
    pub destructors: Vec<FunctionId>,
    pub main: Option<FunctionId>,
    /// Indexed by [`SiteId`].
    pub sites: Vec<Site>,
    /// What is known of a site beyond its place: indexed by [`SiteId`], as `sites`.
    pub accesses: Vec<Access>,
    pub types: TypeTable,
    /// What calls of the program's own functions hand over by pointer.
    pub handed: FxHashMap<CallId, Box<[Handed]>>,
    /// By call that returns a new object: what it will be, if the source says.
    pub made: FxHashMap<SiteId, TypeId>,
    pub by_name: FxHashMap<String, FunctionId>,
    /// Hash of the bitcode this was made from.
    pub fingerprint: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Function {
    pub name: String,
    /// As the programmer wrote it (`std::vector<int>::push_back`), where debug information says.
    pub display_name: String,
    /// `None`: no body; the VM models it or calls it natively.
    pub body: Option<Body>,
    /// What inline assembly became. There is no body then.
    pub machine_code: Option<MachineCode>,
    pub signature: Signature,
    /// Is a declaration that may stay undefined (`weak`): then its address is null if it does.
    pub weak: bool,
    /// Its address is taken (or it is a virtual function): native code may call it.
    pub address_taken: bool,
}

/// The name of what lowering makes of assembly that reads the address of a thread's own block.
pub const THREAD_BLOCK: &str = "unravel.thread.block";

/// Inline assembly, compiled to `extern "C" fn(arguments: *const *const u64, result: *mut u64)`, which may be
/// put anywhere in memory. Argument `i` is read from the slots `arguments[i]` points to; the result is written
/// to slots that are zero before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineCode {
    pub bytes: Vec<u8>,
    /// For each argument that is the address of a memory operand the size of that, else 0. Both are what
    /// the program declares; programs are known to declare too much.
    pub memory: Vec<u32>,
    /// Others may see what it does: it takes an address, or says that it changes memory.
    pub visible: bool,
    /// Reads [`crate::layout::TIME_STAMP`].
    pub reads_time: bool,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Body {
    pub code: Vec<Inst>,
    /// For each instruction the site to blame when something happens there.
    pub places: Vec<SiteId>,
    /// Slots of a frame, constants included.
    pub slots: u32,
    /// Copied to `constants_at` on entry.
    pub constants: Vec<u64>,
    pub constants_at: Reg,
    /// Bytes of frame memory for locals that live in memory. 16-byte aligned.
    pub frame_bytes: u32,
    /// Where each parameter goes: first slot and number of slots.
    pub params: Vec<(Reg, u32)>,
    /// Sorted by instruction index: where an exception thrown by the call at that index lands. There is
    /// always an [`Inst::LandingPad`].
    pub unwind: Vec<(Target, Target)>,
    /// Code index of each basic block whose address is taken, in order, for [`Inst::IndirectJump`].
    pub blocks: Vec<Target>,
    /// Terminators of the original code with several successors, by instruction index. None of woven code.
    pub terminators: Vec<Terminator>,
    /// Locals that live in frame memory, for naming addresses.
    pub locals: Vec<Local>,
    /// Named `__VERIFIER_atomic_*`: runs without being interrupted.
    pub atomic: bool,
}

/// A branch or switch of the original code, and what it became.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Terminator {
    /// Its instruction.
    pub at: Target,
    /// Its block's position in the function.
    pub block: u32,
    /// Where each successor's code begins, in the order of the terminator.
    pub successors: Box<[Target]>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Local {
    pub name: String,
    pub offset: u32,
    pub bytes: u32,
    pub ty: Option<TypeId>,
}

/// How a value is passed to and from native code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Abi {
    Void,
    /// Up to 64 bits; `signed` for parameters marked `signext`.
    Int {
        bits: u8,
        signed: bool,
    },
    /// 65 to 128 bits.
    Wide,
    F32,
    F64,
    F80,
    Pointer,
    /// The slot holds a pointer to the bytes, which are passed by value.
    ByVal {
        bytes: u32,
        align: u32,
    },
    /// A struct, array or vector lying in the slots.
    Aggregate(Box<[Abi]>),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Signature {
    pub params: Vec<Abi>,
    pub result: Abi,
    pub variadic: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallSite {
    pub args: Vec<Arg>,
    pub result: Abi,
    pub result_slots: u32,
    /// How many of `args` are declared parameters; the rest are variadic.
    pub fixed: u32,
    pub variadic: bool,
    pub site: SiteId,
    /// Parameters whose address leaves the caller are not marked; kept for symmetry of `Abi`.
    pub id: CallId,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Arg {
    pub reg: Reg,
    pub slots: u32,
    pub abi: Abi,
}

/// An object whose address a call hands over, as the caller calls it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Handed {
    /// Which of [`CallSite::args`].
    pub position: u32,
    pub text: String,
    /// `text` is a pointer to the object, not the object.
    pub pointer: bool,
    pub ty: TypeId,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Switch {
    /// Zero-extended case value to target.
    pub cases: FxHashMap<u64, Target>,
    pub default: Target,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LandingPad {
    pub cleanup: bool,
    pub clauses: Vec<Clause>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Clause {
    /// Frame-independent constant: the `type_info` caught. `None` catches everything.
    Catch(TypeInfo),
    /// An exception specification: the exception lands here if *none* of these matches.
    Filter(Vec<TypeInfo>),
}

/// A `type_info` object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TypeInfo {
    Any,
    /// In the arena.
    At(u64),
    /// Of a native library; indexes [`Program::external_data`].
    External(u32),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Global {
    pub name: String,
    pub address: u64,
    pub bytes: u64,
    pub ty: Option<TypeId>,
    pub constant: bool,
    /// Where it is defined (`file:line`), if known.
    pub place: Option<(String, u32)>,
}

/// A variable defined in a native library (`stdout`, a `type_info` vtable), or a function that is declared
/// weak (also in [`Program::functions`], under the same name): its address is null if nobody defines it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExternalData {
    pub name: String,
    pub weak: bool,
    pub uses: Vec<Relocation>,
}

/// A place that must receive `address of the symbol + addend` once it is known.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Relocation {
    pub place: RelocationPlace,
    pub addend: i64,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub enum RelocationPlace {
    /// Byte offset in [`Program::image`].
    Image(u64),
    /// Byte offset in [`Program::thread_locals`].
    ThreadLocals(u64),
    /// Index into the constants of a function.
    Constant(FunctionId, u32),
}

/// What a site does, known statically.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Access {
    pub kind: AccessKind,
    /// The location as the programmer wrote it (`fifo->mut`), if debug information tells.
    pub path: Option<String>,
    /// How the value there is meant, and how many bytes it has; 0 if that is not known.
    pub shape: Shape,
    pub bytes: u64,
    /// Nobody uses what it returns; and if it is an update, how it then commutes with others.
    pub is_ignored: bool,
    pub blind: Option<Commuting>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum AccessKind {
    /// Not a memory access.
    #[default]
    None,
    Plain,
    Volatile,
    Atomic,
    Call,
}

impl Program {
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.0 as usize]
    }

    pub fn function_named(&self, name: &str) -> Option<FunctionId> {
        self.by_name.get(name).copied()
    }

    /// Whether the program says what its error is, as those of the software verification competition do: there `abort` is how an
    /// assumption ends a run that is of no interest, and no error.
    pub fn names_its_error(&self) -> bool {
        ERRORS.iter().any(|name| self.function_named(name).is_some())
    }

    pub fn call(&self, id: CallId) -> &CallSite {
        &self.calls[id.0 as usize]
    }

    /// The function at an arena address, if it is one.
    pub fn function_at(&self, address: u64) -> Option<FunctionId> {
        use crate::layout::{FUNCTION_STRIDE, FUNCTIONS};
        let offset = address.wrapping_sub(FUNCTIONS);
        let index = offset / FUNCTION_STRIDE;
        (offset.is_multiple_of(FUNCTION_STRIDE) && index < self.functions.len() as u64)
            .then_some(FunctionId(index as u32))
    }

    /// The global variable that contains `address`.
    pub fn global_at(&self, address: u64) -> Option<&Global> {
        let after = self.globals.partition_point(|g| g.address <= address);
        let global = &self.globals[after.checked_sub(1)?];
        (address < global.address + global.bytes.max(1)).then_some(global)
    }
}

impl FunctionId {
    /// The address of this function in the arena.
    pub fn address(self) -> u64 {
        crate::layout::FUNCTIONS + u64::from(self.0) * crate::layout::FUNCTION_STRIDE
    }
}
