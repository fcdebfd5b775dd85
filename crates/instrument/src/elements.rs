//! Puts the logging of access vectors into a module: around each access to an element that is logged, one step with its entry.
//!
//! CoopREP, thesis §3.1; DESIGN §5 and §11. The module is the one that the machine executes, *before* optimisation, with its sites
//! written into it (`unravel_program::mark`): so an access of a native run is an access of the machine's. It is optimised afterwards, as
//! any program is: what is not logged costs a test of a byte, and what no profile has, or what the program was not built for, nothing.
//!
//! A pointer that is an offset from a global is resolved here, any other when it is used, by a table of bytes: a field of a global, or what the
//! profile says of the site. Of blocks the site alone says which it enters, whatever it accesses. What is put in line is `elements/template.ll`. An access that cannot be wrapped (inside of a library's function, or a call that may unwind) makes its elements
//! *unlogged*: they are named to the caller, and a log of the program has none of them.
//!
//! *Not modelled*: an order between accesses of one thread to several elements is the program's own, as everywhere in this method.

mod calls;
mod hooks;
mod settle;

pub use settle::{KEEP_APART, SiteLines, settle_lines};

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;

use llvm_sys::LLVMAttributeFunctionIndex;
use llvm_sys::LLVMLinkage::{self, LLVMInternalLinkage};
use llvm_sys::LLVMOpcode;
use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use llvm_sys::linker::LLVMLinkModules2;
use llvm_sys::prelude::*;
use llvm_sys::target::{
    LLVMABISizeOfType, LLVMGetModuleDataLayout, LLVMOffsetOfElement, LLVMStoreSizeOfType,
    LLVMTargetDataRef,
};
use unravel_recording::vectors;

use crate::emit::{NO_NAME, keep_used};
use crate::extract::{blocks_of, instructions_of};
use crate::module::{Module, ModuleError, c_string, name_of};

/// By a site and the lines of calls: a site.
pub type SeenAt<'a> = dyn Fn(u32, &[(String, u32)]) -> u32 + 'a;

/// What is to be logged.
pub struct Wanted<'a> {
    /// Of the profile.
    pub build: u64,
    pub elements: u32,
    /// Elements are basic blocks: each is entered at a site of its own (`by_site`), whatever that accesses.
    pub blocks: bool,
    /// Those that this program logs at all: what touches only others is left as it is.
    pub chosen: BTreeSet<u32>,
    /// Sites of data whose accesses are events.
    pub visible: BTreeSet<u32>,
    /// The elements of sites that touch memory without a name.
    pub by_site: BTreeMap<u32, Vec<u32>>,
    /// All that sites were seen to touch.
    pub touching: BTreeMap<u32, Vec<u32>>,
    /// The elements at an address of the machine's globals: so many bytes, of a sync object or not. Ascending.
    pub at: &'a mut dyn FnMut(u64, u32, bool) -> Vec<u32>,
    /// Of a site, and the lines of the calls that it was put in line by, innermost first: the site that it is shown as. A program that hangs says
    /// where it waits in its own code, not in a wrapper.
    pub seen_at: &'a SeenAt<'a>,
    /// Parts of globals and their elements, for pointers that are known at run time only: machine's address, bytes, element, class.
    pub ranges: Vec<(u64, u64, u32, u32)>,
    /// Elements that cannot be logged, whatever is found.
    pub refused: BTreeSet<u32>,
}

/// A module that logs.
pub struct Logging {
    pub bitcode: Vec<u8>,
    /// Sites that touch elements and could not be wrapped.
    pub left_out: Vec<u32>,
    /// The elements of those.
    pub unlogged: BTreeSet<u32>,
    /// How many sites log.
    pub sites: usize,
}

/// What is put in line. Linking takes what is visible outside, and what that uses.
const TEMPLATE: &str = include_str!("elements/template.ll");

/// Locals become values and small functions are put in line, so that a pointer to a global that was handed on is seen to be one. Neither
/// takes an access to memory that threads share away, doubles it within a run, or moves it.
const BEFORE: &CStr = c"function(mem2reg),cgscc(inline),function(mem2reg)";

/// Makes a module log what is wanted.
pub fn log_elements(marked: &[u8], wanted: Wanted<'_>) -> Result<Logging, ModuleError> {
    let module = Module::parse(marked)?;
    allow_optimising(&module);
    module.run(BEFORE)?;
    let template = Module::parse_text(module.context, TEMPLATE)?;
    // SAFETY: both are of one context; linking consumes the second.
    let failed = unsafe { LLVMLinkModules2(module.raw, template.raw) != 0 };
    std::mem::forget(template);
    if failed {
        return Err(ModuleError::Link { message: "the template of logging code".to_owned() });
    }
    for function in module.defined() {
        let name = name_of(function);
        // SAFETY: the functions of the template are live; nobody calls the first.
        unsafe {
            match name.as_str() {
                "unravel.declares" => LLVMDeleteFunction(function),
                name if name.starts_with("unravel.") => {
                    LLVMSetLinkage(function, LLVMInternalLinkage);
                }
                _ => {}
            }
        }
    }
    // SAFETY: the module is live.
    let (builder, layout) = unsafe {
        (LLVMCreateBuilderInContext(module.context), LLVMGetModuleDataLayout(module.raw))
    };
    let mut pass = Pass {
        module: &module,
        builder,
        layout,
        types: Types::of(&module),
        flags: std::ptr::null_mut(),
        elements: std::ptr::null_mut(),
        wanted,
        sites: Vec::new(),
        lists: Vec::new(),
        done: BTreeSet::new(),
    };
    pass.run();
    let (left_out, unlogged) = pass.unlogged();
    pass.register(&unlogged);
    let sites = pass.sites.len();
    // SAFETY: nothing uses it any more.
    unsafe { LLVMDisposeBuilder(builder) };
    drop(pass);
    module.verify("putting in the logging of access vectors")?;
    Ok(Logging { bitcode: module.write(), left_out, unlogged, sites })
}

/// What is compiled without optimisation forbids it, and keeps a register for frames, which is not the user's wish.
fn allow_optimising(module: &Module) {
    for function in module.defined() {
        let name = "frame-pointer";
        // SAFETY: the function is live, the name is passed with its length.
        unsafe {
            LLVMRemoveStringAttributeAtIndex(
                function,
                LLVMAttributeFunctionIndex,
                name.as_ptr().cast(),
                name.len() as u32,
            );
        }
        for name in ["noinline", "optnone"] {
            // SAFETY: the function is live, the name is passed with its length.
            unsafe {
                let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
                LLVMRemoveEnumAttributeAtIndex(function, u32::MAX, kind);
            }
        }
    }
}

/// Two calls on different lines are not to become one, which would have neither's: a program that fails there says where.
fn keep_apart(module: &Module, instruction: LLVMValueRef) {
    // SAFETY: the instruction is live; the name is passed with its length.
    unsafe {
        let called = match LLVMGetInstructionOpcode(instruction) {
            LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke => LLVMGetCalledValue(instruction),
            _ => return,
        };
        if !LLVMIsAFunction(called).is_null() && LLVMGetIntrinsicID(called) != 0 {
            return;
        }
        let name = "nomerge";
        let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
        let attribute = LLVMCreateEnumAttribute(module.context, kind, 0);
        LLVMAddCallSiteAttribute(instruction, LLVMAttributeFunctionIndex, attribute);
    }
}

/// Sites of the program that an instruction is marked with.
fn sites_of(module: &Module, instruction: LLVMValueRef) -> Option<Vec<u32>> {
    // SAFETY: the instruction is live; the operands of the node are constants, as they were written.
    unsafe {
        let node = LLVMGetMetadata(instruction, mark(module));
        if node.is_null() {
            return None;
        }
        let count = LLVMGetMDNodeNumOperands(node) as usize;
        let mut operands = vec![std::ptr::null_mut(); count];
        LLVMGetMDNodeOperands(node, operands.as_mut_ptr());
        Some(operands.iter().map(|&one| LLVMConstIntGetZExtValue(one) as u32).collect())
    }
}

fn mark(module: &Module) -> u32 {
    let name = vectors::MARK;
    // SAFETY: the name is passed with its length.
    unsafe { LLVMGetMDKindIDInContext(module.context, name.as_ptr().cast(), name.len() as u32) }
}

struct Types {
    byte: LLVMTypeRef,
    word: LLVMTypeRef,
    long: LLVMTypeRef,
    pointer: LLVMTypeRef,
}

impl Types {
    fn of(module: &Module) -> Types {
        // SAFETY: the context is live.
        unsafe {
            Types {
                byte: LLVMInt8TypeInContext(module.context),
                word: LLVMInt32TypeInContext(module.context),
                long: LLVMInt64TypeInContext(module.context),
                pointer: LLVMPointerTypeInContext(module.context, 0),
            }
        }
    }
}

struct Pass<'m, 'w> {
    module: &'m Module,
    builder: LLVMBuilderRef,
    layout: LLVMTargetDataRef,
    types: Types,
    /// One byte a site that logs.
    flags: LLVMValueRef,
    /// What the program and the runtime know of each element (`vectors::Element`).
    elements: LLVMValueRef,
    wanted: Wanted<'w>,
    /// Sites that log, with where their elements stand in `lists`; and whether the address decides.
    sites: Vec<vectors::SiteEntry>,
    lists: Vec<u32>,
    /// Sites of the program that were wrapped.
    done: BTreeSet<u32>,
}

/// Where a pointer points.
enum Target {
    /// Into a global: an address of the machine.
    Global(u64),
    Unknown,
}

/// No site has more than a program has instructions.
const MOST_SITES: u64 = 1 << 24;

impl Pass<'_, '_> {
    fn run(&mut self) {
        // SAFETY: the array gets its real size when all sites are known; only its address is used.
        unsafe {
            let array = LLVMArrayType2(self.types.byte, MOST_SITES);
            self.flags = LLVMAddGlobal(self.module.raw, array, c"unravel.flags.early".as_ptr());
            let bytes = size_of::<vectors::Element>() as u64 * u64::from(self.wanted.elements);
            let array = LLVMArrayType2(self.types.byte, bytes.max(1));
            self.elements = self.constant(LLVMConstNull(array), c"unravel.elements");
            LLVMSetGlobalConstant(self.elements, 0);
            LLVMSetAlignment(self.elements, align_of::<vectors::Element>() as u32);
        }
        // What nobody logs is as if it were nothing.
        let chosen = &self.wanted.chosen;
        self.wanted.ranges.retain(|range| chosen.contains(&range.2));
        for list in self.wanted.by_site.values_mut() {
            list.retain(|element| chosen.contains(element));
        }
        let own = |function: &LLVMValueRef| !name_of(*function).starts_with("unravel.");
        for function in self.module.defined().into_iter().filter(own) {
            for block in blocks_of(function) {
                for instruction in instructions_of(block) {
                    self.instruction(instruction);
                }
            }
        }
    }

    fn instruction(&mut self, instruction: LLVMValueRef) {
        keep_apart(self.module, instruction);
        let Some(sites) = sites_of(self.module, instruction) else { return };
        // SAFETY: the instruction is live; operands are those of its kind.
        unsafe {
            let (pointer, bytes) = match LLVMGetInstructionOpcode(instruction) {
                LLVMOpcode::LLVMLoad => {
                    (LLVMGetOperand(instruction, 0), self.size(LLVMTypeOf(instruction)))
                }
                LLVMOpcode::LLVMStore => {
                    let stored = LLVMTypeOf(LLVMGetOperand(instruction, 0));
                    (LLVMGetOperand(instruction, 1), self.size(stored))
                }
                LLVMOpcode::LLVMAtomicRMW | LLVMOpcode::LLVMAtomicCmpXchg => {
                    let value = LLVMTypeOf(LLVMGetOperand(instruction, 1));
                    (LLVMGetOperand(instruction, 0), self.size(value))
                }
                LLVMOpcode::LLVMCall => return self.call(instruction, &sites),
                LLVMOpcode::LLVMInvoke => return self.invoke(instruction, &sites),
                _ => return,
            };
            if let [site] = sites[..]
                && self.wanted.visible.contains(&site)
            {
                self.access(instruction, pointer, bytes, site);
            }
        }
    }

    fn size(&self, ty: LLVMTypeRef) -> u64 {
        // SAFETY: types that are loaded and stored have a size.
        unsafe { LLVMStoreSizeOfType(self.layout, ty) }
    }

    /// A new site that logs; its number.
    fn site(&mut self, kind: u32, elements: &[u32]) -> u32 {
        let first = self.lists.len() as u32;
        self.lists.extend(elements);
        let count = elements.len() as u32;
        self.sites.push(vectors::SiteEntry { kind, first, count, place: 0 });
        self.sites.len() as u32 - 1
    }

    /// Wraps a load, a store or an atomic operation.
    fn access(&mut self, instruction: LLVMValueRef, pointer: LLVMValueRef, bytes: u64, site: u32) {
        self.done.insert(site);
        let known = match self.target(pointer, 0) {
            _ if self.wanted.blocks => Some(self.unnamed(site)),
            Target::Global(address) => Some((self.wanted.at)(address, bytes as u32, false)),
            Target::Unknown => None,
        };
        let logged = |element: &u32| self.wanted.chosen.contains(element);
        match known.as_deref() {
            Some(of) if !of.iter().any(logged) => {}
            Some(&[element]) => {
                let number = self.site(vectors::SITE_PLAIN, &[element]);
                let arguments = vec![self.flag(number), self.element(element)];
                self.around(instruction, ("unravel.enter", arguments), ("unravel.leave", vec![]));
            }
            _ => {
                let unnamed = self.unnamed(site);
                if unnamed.is_empty() && !self.has_ranges(false) {
                    return;
                }
                let number = self.site(vectors::SITE_BY_ADDRESS, &unnamed);
                let alone = self.alone(&unnamed);
                let list = vec![pointer, self.long(bytes), self.word(u64::from(number))];
                let enter = [&[self.flag(number)], &list[..], &[alone]].concat();
                self.around(instruction, ("unravel.enter_at", enter), ("unravel.leave_at", list));
            }
        }
    }

    /// The elements that a site touches where memory has no name.
    fn unnamed(&self, site: u32) -> Vec<u32> {
        self.wanted.by_site.get(&site).cloned().unwrap_or_default()
    }

    /// The address of the only one; null if there are several, or none.
    fn alone(&self, elements: &[u32]) -> LLVMValueRef {
        match *elements {
            [element] => self.element(element),
            // SAFETY: the type is live.
            _ => unsafe { LLVMConstNull(self.types.pointer) },
        }
    }

    /// Whether any part of a global is logged: data, or sync objects.
    fn has_ranges(&self, sync: bool) -> bool {
        self.wanted.ranges.iter().any(|range| (range.3 != 0) == sync)
    }

    /// The address of what is known of an element.
    fn element(&self, element: u32) -> LLVMValueRef {
        let offset = u64::from(element) * size_of::<vectors::Element>() as u64;
        let mut index = [self.long(offset)];
        // SAFETY: a constant address into the array.
        unsafe { LLVMConstGEP2(self.types.byte, self.elements, index.as_mut_ptr(), 1) }
    }

    /// Calls before and after an instruction that is no terminator. What the first one gives, if anything, is the first argument of the second.
    fn around(
        &self,
        instruction: LLVMValueRef,
        (before, arguments): (&str, Vec<LLVMValueRef>),
        (after, more): (&str, Vec<LLVMValueRef>),
    ) {
        // SAFETY: the instruction is live and followed by another one.
        unsafe {
            self.stand_before(instruction);
            let token = self.build_call(before, arguments);
            self.stand_after(instruction);
            let gives = LLVMGetTypeKind(LLVMTypeOf(token)) != LLVMTypeKind::LLVMVoidTypeKind;
            let arguments = gives.then_some(token).into_iter().chain(more).collect();
            self.build_call(after, arguments);
        }
    }

    unsafe fn stand_before(&self, instruction: LLVMValueRef) {
        // SAFETY: the instruction is live.
        unsafe {
            LLVMPositionBuilderBefore(self.builder, instruction);
            LLVMSetCurrentDebugLocation2(self.builder, LLVMInstructionGetDebugLoc(instruction));
        }
    }

    unsafe fn stand_after(&self, instruction: LLVMValueRef) {
        // SAFETY: the instruction is live and no terminator.
        unsafe {
            LLVMPositionBuilderBefore(self.builder, LLVMGetNextInstruction(instruction));
            LLVMSetCurrentDebugLocation2(self.builder, LLVMInstructionGetDebugLoc(instruction));
        }
    }

    /// Where the builder stands.
    unsafe fn build_call(&self, name: &str, mut arguments: Vec<LLVMValueRef>) -> LLVMValueRef {
        let name = c_string(name);
        // SAFETY: the template has the function, with these parameters.
        unsafe {
            let function = LLVMGetNamedFunction(self.module.raw, name.as_ptr());
            let kind = LLVMGlobalGetValueType(function);
            let count = arguments.len() as u32;
            LLVMBuildCall2(self.builder, kind, function, arguments.as_mut_ptr(), count, NO_NAME)
        }
    }

    fn flag(&self, site: u32) -> LLVMValueRef {
        let mut index = [self.long(u64::from(site))];
        // SAFETY: a constant address into the array.
        unsafe { LLVMConstGEP2(self.types.byte, self.flags, index.as_mut_ptr(), 1) }
    }

    fn word(&self, value: u64) -> LLVMValueRef {
        // SAFETY: the type is live.
        unsafe { LLVMConstInt(self.types.word, value, 0) }
    }

    fn long(&self, value: u64) -> LLVMValueRef {
        // SAFETY: as above.
        unsafe { LLVMConstInt(self.types.long, value, 0) }
    }

    /// Follows a pointer to the global that it is an offset from. All places of an array are one element: an index that is not
    /// known counts as 0, if 1 would be the same element. `class` is the size of a sync object, 0 for data.
    fn target(&mut self, pointer: LLVMValueRef, class: u32) -> Target {
        // SAFETY: values are live, operands those of their kinds.
        unsafe {
            let (mut at, mut offset, mut strides) = (pointer, 0i64, Vec::new());
            loop {
                let is_gep = match () {
                    () if !LLVMIsAGetElementPtrInst(at).is_null() => true,
                    () if !LLVMIsAConstantExpr(at).is_null() => {
                        LLVMGetConstOpcode(at) == LLVMOpcode::LLVMGetElementPtr
                    }
                    () => false,
                };
                if !is_gep {
                    break;
                }
                let Some(own) = self.offset(at, &mut strides) else { return Target::Unknown };
                offset += own;
                at = LLVMGetOperand(at, 0);
            }
            if LLVMIsAGlobalVariable(at).is_null() || LLVMIsThreadLocal(at) != 0 {
                return Target::Unknown;
            }
            let Some(address) = self.address_of(at) else { return Target::Unknown };
            let address = address.wrapping_add(offset as u64);
            let mut at = |address: u64| (self.wanted.at)(address, class.max(1), class != 0);
            let here = at(address);
            let alike = |stride: &i64| at(address.wrapping_add(*stride as u64)) == here;
            match strides.iter().all(alike) {
                true => Target::Global(address),
                false => Target::Unknown,
            }
        }
    }

    /// What a `getelementptr` adds; the steps of indices that are not known go to `strides`.
    unsafe fn offset(&self, gep: LLVMValueRef, strides: &mut Vec<i64>) -> Option<i64> {
        // SAFETY: the caller has one, whose indices fit its type.
        unsafe {
            let mut ty = LLVMGetGEPSourceElementType(gep);
            let mut sum = 0i64;
            for index in 1..LLVMGetNumOperands(gep) as u32 {
                let value = LLVMGetOperand(gep, index);
                let known =
                    (!LLVMIsAConstantInt(value).is_null()).then(|| LLVMConstIntGetSExtValue(value));
                if index > 1 && LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMStructTypeKind {
                    let field = known? as u32;
                    sum += LLVMOffsetOfElement(self.layout, ty, field) as i64;
                    ty = LLVMStructGetTypeAtIndex(ty, field);
                    continue;
                }
                if index > 1 {
                    match LLVMGetTypeKind(ty) {
                        LLVMTypeKind::LLVMArrayTypeKind => ty = LLVMGetElementType(ty),
                        _ => return None,
                    }
                }
                let stride = LLVMABISizeOfType(self.layout, ty) as i64;
                match known {
                    Some(known) => sum += known * stride,
                    None => strides.push(stride),
                }
            }
            Some(sum)
        }
    }

    fn address_of(&self, global: LLVMValueRef) -> Option<u64> {
        let mark = mark(self.module);
        // SAFETY: the global is live; the entries are disposed of; operands are as they were written.
        unsafe {
            let mut count = 0;
            let entries = LLVMGlobalCopyAllMetadata(global, &mut count);
            let found = (0..count as u32)
                .find(|&at| LLVMValueMetadataEntriesGetKind(entries, at) == mark)
                .map(|at| {
                    let node = LLVMValueMetadataEntriesGetMetadata(entries, at);
                    let node = LLVMMetadataAsValue(self.module.context, node);
                    let mut operand = std::ptr::null_mut();
                    LLVMGetMDNodeOperands(node, &mut operand);
                    LLVMConstIntGetZExtValue(operand)
                });
            LLVMDisposeValueMetadataEntries(entries);
            found
        }
    }

    /// Sites that touch elements and were not wrapped, and those elements.
    fn unlogged(&self) -> (Vec<u32>, BTreeSet<u32>) {
        let missing = |site: &&u32| !self.done.contains(site);
        let left_out: Vec<u32> = self.wanted.touching.keys().filter(missing).copied().collect();
        let elements = left_out.iter().flat_map(|site| &self.wanted.touching[site]).copied();
        let elements = elements.chain(self.wanted.refused.iter().copied()).collect();
        (left_out, elements)
    }

    /// The table that the runtime gets before any constructor of the program runs.
    fn register(&mut self, unlogged: &BTreeSet<u32>) {
        let context = self.module.context;
        let Types { byte, word, long, pointer } = self.types;
        // SAFETY: all of it is built in the live module; arrays outlive the calls that read them.
        unsafe {
            let sites = self.sites.len().max(1) as u64;
            let array = LLVMArrayType2(byte, sites);
            let flags = self.constant(LLVMConstNull(array), c"unravel.flags");
            LLVMSetGlobalConstant(flags, 0);
            LLVMReplaceAllUsesWith(self.flags, flags);
            LLVMDeleteGlobal(self.flags);
            let words = |numbers: &[u32]| {
                let mut all: Vec<_> =
                    numbers.iter().map(|n| LLVMConstInt(word, u64::from(*n), 0)).collect();
                LLVMConstArray2(word, all.as_mut_ptr(), all.len() as u64)
            };
            let entries: Vec<u32> = (self.sites.iter())
                .flat_map(|one| [one.kind, one.first, one.count, one.place])
                .collect();
            let entries = self.constant(words(&entries), c"unravel.sites");
            let lists = self.constant(words(&self.lists), c"unravel.lists");
            let logged = |e: u32| self.wanted.chosen.contains(&e) && !unlogged.contains(&e);
            let logged: Vec<u32> =
                (0..self.wanted.elements).map(|e| u32::from(logged(e))).collect();
            let logged = self.constant(words(&logged), c"unravel.logged");
            // Addresses of globals are known to the linker.
            let mut bases: Vec<(u64, u64, LLVMValueRef)> = Vec::new();
            let mut global = LLVMGetFirstGlobal(self.module.raw);
            while !global.is_null() {
                if LLVMIsDeclaration(global) == 0
                    && let Some(address) = self.address_of(global)
                {
                    let size = LLVMABISizeOfType(self.layout, LLVMGlobalGetValueType(global));
                    bases.push((address, address + size.max(1), global));
                }
                global = LLVMGetNextGlobal(global);
            }
            bases.sort_by_key(|base| base.0);
            let mut ranges = Vec::new();
            for &(address, bytes, element, class) in &self.wanted.ranges {
                let after = bases.partition_point(|base| base.0 <= address);
                let Some(&(start, end, global)) = after.checked_sub(1).map(|at| &bases[at]) else {
                    continue;
                };
                if address + bytes > end {
                    continue;
                }
                let place = |offset: u64| {
                    let mut index = [LLVMConstInt(long, offset, 0)];
                    let at = LLVMConstGEP2(byte, global, index.as_mut_ptr(), 1);
                    LLVMConstPtrToInt(at, long)
                };
                let (element, class) = (
                    LLVMConstInt(word, u64::from(element), 0),
                    LLVMConstInt(word, u64::from(class), 0),
                );
                let mut fields =
                    [place(address - start), place(address - start + bytes), element, class];
                ranges.push(LLVMConstStructInContext(context, fields.as_mut_ptr(), 4, 0));
            }
            // Whatever is in a global at all is told apart by address; blocks are not.
            let whole = if self.wanted.blocks { &[] } else { &bases[..] };
            for &(start, end, global) in whole {
                let base = LLVMConstPtrToInt(global, long);
                let mut index = [LLVMConstInt(long, end - start, 0)];
                let behind = LLVMConstGEP2(byte, global, index.as_mut_ptr(), 1);
                let whole = LLVMConstInt(word, u64::from(vectors::CLASS_GLOBAL), 0);
                let none = LLVMConstInt(word, u64::from(u32::MAX), 0);
                let mut fields = [base, LLVMConstPtrToInt(behind, long), none, whole];
                ranges.push(LLVMConstStructInContext(context, fields.as_mut_ptr(), 4, 0));
            }
            let count = ranges.len() as u64;
            let mut shape = [long, long, word, word];
            let shape = LLVMStructTypeInContext(context, shape.as_mut_ptr(), 4, 0);
            let ranges = LLVMConstArray2(shape, ranges.as_mut_ptr(), count);
            let ranges = self.constant(ranges, c"unravel.ranges");
            let number = |value: u64| LLVMConstInt(long, value, 0);
            let mut fields = [
                number(self.wanted.build),
                number(u64::from(self.wanted.elements)),
                number(self.sites.len() as u64),
                number(count),
                flags,
                entries,
                lists,
                ranges,
                logged,
                self.elements,
            ];
            let table = LLVMConstStructInContext(context, fields.as_mut_ptr(), 10, 0);
            let table = self.constant(table, c"unravel.table");
            let void = LLVMVoidTypeInContext(context);
            let plain = LLVMFunctionType(void, std::ptr::null_mut(), 0, 0);
            let name = c"unravel.register.elements";
            let constructor = LLVMAddFunction(self.module.raw, name.as_ptr(), plain);
            LLVMSetLinkage(constructor, LLVMInternalLinkage);
            let block = LLVMAppendBasicBlockInContext(context, constructor, NO_NAME);
            LLVMPositionBuilderAtEnd(self.builder, block);
            self.build_call("__unravel_av_register", vec![table]);
            LLVMBuildRetVoid(self.builder);
            let name = c"unravel.constructor.elements";
            let entry = LLVMAddGlobal(self.module.raw, pointer, name.as_ptr());
            LLVMSetInitializer(entry, constructor);
            LLVMSetLinkage(entry, LLVMLinkage::LLVMInternalLinkage);
            LLVMSetSection(entry, c".init_array.00001".as_ptr());
            keep_used(self.module, entry, pointer);
        }
    }

    /// A constant of the module's own.
    unsafe fn constant(&self, value: LLVMValueRef, name: &std::ffi::CStr) -> LLVMValueRef {
        // SAFETY: the value is a constant of the module's context.
        unsafe {
            let global = LLVMAddGlobal(self.module.raw, LLVMTypeOf(value), name.as_ptr());
            LLVMSetInitializer(global, value);
            LLVMSetLinkage(global, LLVMInternalLinkage);
            LLVMSetGlobalConstant(global, 1);
            global
        }
    }
}
