//! Lowering: from a verified LLVM module to a [`Program`].
//!
//! Module-wide work is in [`functions`], [`globals`] and [`constants`]; [`function`] drives the lowering of one
//! body, with one file for each family of instructions. Whatever has no lowering becomes a
//! [`Inst::Trap`](unravel_code::Inst::Trap) that says why: it matters only if it is executed.

mod assembly;
mod call;
mod constants;
mod control;
mod departures;
mod frame;
mod function;
mod functions;
pub(crate) mod gep;
mod globals;
mod intrinsics;
mod machine_code;
mod memory;
mod pool;
mod scalar;
mod thread_block;
mod types;
mod vector;

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_code::{FunctionId, Program};
use unravel_trace::SiteId;

use crate::debug::DebugInfo;
use crate::ir::{DataLayout, LoadError, Module, Value};
use constants::{Number, Symbol};

/// What lowering keeps while it works through a module.
struct ModuleLowering<'m> {
    /// Every access to a local is made so that it can be watched.
    watches_locals: bool,
    module: &'m Module,
    layout: DataLayout<'m>,
    attributes: Attributes,
    program: Program,
    debug: DebugInfo<'m>,
    functions: FxHashMap<Value<'m>, FunctionId>,
    /// Where globals are, and functions whose address only the VM knows.
    addresses: FxHashMap<Value<'m>, Number>,
    externals: FxHashMap<String, u32>,
    scalar_intrinsics: FxHashMap<(String, String), FunctionId>,
    traps: FxHashMap<String, u32>,
    assemblies: machine_code::Assemblies<'m>,
    /// The functions that have or will get a body.
    defined: FxHashSet<FunctionId>,
    /// Which instruction each site is of, for who wants to find sites in the module again.
    marks: Option<Marks<'m>>,
}

/// The sites of instructions, in the order of the code.
pub(crate) type Marks<'m> = Vec<(Value<'m>, SiteId)>;

/// A lowered module, and where what is in it came from.
pub(crate) struct Traced<'m> {
    pub program: Program,
    pub marks: Marks<'m>,
    /// The variables that have an address of the machine.
    pub globals: Vec<(Value<'m>, u64)>,
}

/// LLVM's numbers of the attributes that lowering looks at.
struct Attributes {
    byval: u32,
    signext: u32,
    sret: u32,
}

pub(crate) fn lower(module: &Module, watches_locals: bool) -> Result<Program, LoadError> {
    Ok(lower_with(module, watches_locals, None)?.program)
}

/// The same, with the way back to the module.
pub(crate) fn lower_traced(module: &Module, watches_locals: bool) -> Result<Traced<'_>, LoadError> {
    lower_with(module, watches_locals, Some(Vec::new()))
}

fn lower_with<'m>(
    module: &'m Module,
    watches_locals: bool,
    marks: Option<Marks<'m>>,
) -> Result<Traced<'m>, LoadError> {
    let mut lowering = ModuleLowering {
        module,
        watches_locals,
        layout: module.layout(),
        attributes: Attributes {
            byval: module.attribute("byval"),
            signext: module.attribute("signext"),
            sret: module.attribute("sret"),
        },
        program: Program::default(),
        debug: DebugInfo::new(module),
        functions: FxHashMap::default(),
        addresses: FxHashMap::default(),
        externals: FxHashMap::default(),
        scalar_intrinsics: FxHashMap::default(),
        traps: FxHashMap::default(),
        assemblies: Default::default(),
        defined: FxHashSet::default(),
        marks,
    };
    lowering.declare_functions();
    lowering.place_globals()?;
    lowering.initialise_globals()?;
    for function in module.functions().filter(|f| !f.is_declaration()) {
        lowering.lower_function(function);
    }
    for ifunc in module.ifuncs() {
        lowering.lower_ifunc(ifunc);
    }
    let mut program = lowering.program;
    let main = program.function_named("main");
    program.main = main.filter(|id| program.function(*id).body.is_some());
    program.types = lowering.debug.into_types();
    unravel_code::wrappers::mark(&mut program);
    let plain = |(global, number): (&Value<'m>, &Number)| {
        let is_plain = global.is_global_variable() && matches!(number.symbol, Symbol::None);
        is_plain.then_some((*global, number.value as u64))
    };
    let mut globals: Vec<(Value<'m>, u64)> = lowering.addresses.iter().filter_map(plain).collect();
    globals.sort_by_key(|(_, address)| *address);
    Ok(Traced { program, marks: lowering.marks.unwrap_or_default(), globals })
}

impl ModuleLowering<'_> {
    /// The index of a reason for a trap.
    fn trap_reason(&mut self, reason: String) -> u32 {
        let traps = &mut self.program.traps;
        *self.traps.entry(reason).or_insert_with_key(|reason| {
            traps.push(reason.clone());
            traps.len() as u32 - 1
        })
    }
}
