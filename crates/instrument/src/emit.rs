//! Puts the recording code into a module: after optimisation, and nothing but mem2reg (for the variables that are added here) runs
//! after it.
//!
//! A function's path number is in a local variable, but where it is known before the program runs (`constants.rs`); edges add to it, and where a path ends its number is written where the log's
//! pointer points. The pointer is a variable of the function, thread-local between calls of who knows what, and passed in a register
//! to functions of the same module and to the runtime's hot ones (`inner.rs`).
//! Nothing checks for the end of a segment: the page after it cannot be written, and the runtime's handler moves the *pointer's register*
//! to the next segment and lets the store be executed again. For that the store is one instruction of inline assembly whose register is
//! input and output, so that no other copy of the pointer lives; and the handler knows its form (`crates/runtime/src/fault.rs`).
//!
//! A label before each store and each call that cuts says, in a section that is not loaded, which place of the module
//! an address of the program is: that is how call stacks at restart points and failures are mapped. A label cannot be moved across a call or
//! a store of ours, because both have side effects.

mod constants;
mod edges;
mod inner;
mod places;

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMLinkage, LLVMThreadLocalMode, LLVMVisibility};

use unravel_recording::identifiers::{Identified, Identifiers};
use unravel_recording::layout;
use unravel_recording::numbering::{Node, Numbering};
use unravel_recording::places::PlaceKind;
use unravel_recording::shape::{CallKind, FunctionShape, Leaves, ModuleShape};

use self::constants::Constants;
use crate::extract::{blocks_of, instructions_of, is_for_library};
use crate::module::{Module, ModuleError, c_string, name_of};

pub(crate) const NO_NAME: *const std::ffi::c_char = c"".as_ptr();

/// What else is put in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// A call of `__unravel_trace` with a number at each branch: the slow, plain truth that tests compare with.
    pub trace: bool,
}

/// The tools of one module.
pub(crate) struct Emitter {
    context: LLVMContextRef,
    builder: LLVMBuilderRef,
    byte: LLVMTypeRef,
    word: LLVMTypeRef,
    long: LLVMTypeRef,
    pointer: LLVMTypeRef,
    /// The log's pointer of the thread.
    log: LLVMValueRef,
    /// One byte an identifier: functions, landing pads, calls that return twice. Only addresses matter.
    identifiers: LLVMValueRef,
    known: Identifiers,
    hash: u64,
    trace: Option<(LLVMTypeRef, LLVMValueRef)>,
    template: inner::Template,
}

/// The variables of one function.
pub(crate) struct Variables {
    number: u32,
    path: LLVMValueRef,
    /// The log's pointer; the last parameter of an inner function.
    pointer: LLVMValueRef,
    /// Names the frame, in functions that need it.
    frame: Option<LLVMValueRef>,
    trips: LLVMValueRef,
}

impl Variables {
    /// A door has no paths.
    fn of_door(number: u32, pointer: LLVMValueRef) -> Variables {
        let nothing = std::ptr::null_mut();
        Variables { number, path: nothing, pointer, frame: None, trips: nothing }
    }
}

/// A function with its body as it was before anything was put in.
struct Body<'a> {
    number: u32,
    shape: &'a FunctionShape,
    /// As it was, and what has its blocks now.
    old: LLVMValueRef,
    now: LLVMValueRef,
    blocks: Vec<LLVMBasicBlockRef>,
    /// By block: the calls that cut.
    calls: Vec<Vec<LLVMValueRef>>,
}

/// Instruments the module and registers it with the runtime under `hash`.
pub fn emit(
    module: &Module,
    shape: &ModuleShape,
    hash: u64,
    options: Options,
) -> Result<(), ModuleError> {
    let emitter = Emitter::new(module, shape, hash, options)?;
    let defined = module.defined();
    let mut bodies = Vec::new();
    for (number, (&function, shape)) in defined.iter().zip(&shape.functions).enumerate() {
        if shape.is_recorded() {
            bodies.push(Body::of(function, number as u32, shape));
        }
    }
    let mut inner = vec![None; defined.len()];
    for body in bodies.iter_mut().filter(|body| body.shape.inner) {
        body.now = emitter.with_pointer(module, body.old, body.shape.entered);
        inner[body.number as usize] = Some(body.now);
    }
    for body in &mut bodies {
        emitter.function(module, body, &inner);
    }
    for body in bodies.iter().filter(|body| body.shape.inner) {
        match body.shape.entered {
            true => emitter.door(body.old, body.now, body.number, body.shape),
            // SAFETY: all calls of it were replaced, and nothing else used it.
            false => unsafe { LLVMDeleteFunction(body.old) },
        }
    }
    emitter.register(module);
    let log = emitter.log;
    drop(emitter);
    module.run(c"function(mem2reg)")?;
    // A hidden variable that nothing uses still gets a symbol, which is then none of a thread's and cannot be linked.
    // SAFETY: the module's own variable, which nothing uses.
    unsafe {
        if LLVMGetFirstUse(log).is_null() {
            LLVMDeleteGlobal(log);
        }
    }
    module.verify("instrumenting")
}

impl Emitter {
    fn new(
        module: &Module,
        shape: &ModuleShape,
        hash: u64,
        options: Options,
    ) -> Result<Emitter, ModuleError> {
        let context = module.context;
        let known = Identifiers::of(shape);
        // SAFETY: types and globals belong to the live context and module.
        unsafe {
            let byte = LLVMInt8TypeInContext(context);
            let word = LLVMInt32TypeInContext(context);
            let pointer = LLVMPointerTypeInContext(context, 0);
            // One variable with two names: a program's own code knows at which offset it lies, a library's asks.
            let (name, mode) = match is_for_library(module) {
                true => (c"__unravel_p", LLVMThreadLocalMode::LLVMInitialExecTLSModel),
                false => (c"__unravel_here", LLVMThreadLocalMode::LLVMLocalExecTLSModel),
            };
            let log = LLVMAddGlobal(module.raw, pointer, name.as_ptr());
            LLVMSetThreadLocalMode(log, mode);
            if !is_for_library(module) {
                LLVMSetVisibility(log, LLVMVisibility::LLVMHiddenVisibility);
            }
            let array = LLVMArrayType2(byte, (known.all.len() as u64).max(1));
            let identifiers = LLVMAddGlobal(module.raw, array, c"unravel.identifiers".as_ptr());
            LLVMSetLinkage(identifiers, LLVMLinkage::LLVMInternalLinkage);
            LLVMSetInitializer(identifiers, LLVMConstNull(array));
            let trace = options.trace.then(|| {
                let kind =
                    LLVMFunctionType(LLVMVoidTypeInContext(context), [word].as_mut_ptr(), 1, 0);
                (kind, LLVMAddFunction(module.raw, c"__unravel_trace".as_ptr(), kind))
            });
            Ok(Emitter {
                template: inner::Template::new(context)?,
                context,
                builder: LLVMCreateBuilderInContext(context),
                byte,
                word,
                long: LLVMInt64TypeInContext(context),
                pointer,
                log,
                identifiers,
                known,
                hash,
                trace,
            })
        }
    }

    fn variables(&self, body: &Body<'_>) -> Variables {
        let shape = body.shape;
        let calls = || shape.blocks.iter().flat_map(|b| &b.calls);
        let twice = calls().any(|c| c.kind == CallKind::ReturnsTwice);
        let passes = calls().any(|c| matches!(c.kind, CallKind::Recorded(_) | CallKind::Sync(_)));
        // SAFETY: builds before the first instruction of a live function.
        unsafe {
            LLVMPositionBuilderBefore(self.builder, instructions_of(body.blocks[0])[0]);
            Variables {
                number: body.number,
                path: LLVMBuildAlloca(self.builder, self.word, NO_NAME),
                pointer: match (shape.inner, passes) {
                    (true, _) => LLVMGetLastParam(body.now),
                    (false, true) => self.shared_variable(),
                    (false, false) => LLVMBuildAlloca(self.builder, self.pointer, NO_NAME),
                },
                frame: twice.then(|| LLVMBuildAlloca(self.builder, self.long, NO_NAME)),
                trips: LLVMBuildAlloca(self.builder, self.long, NO_NAME),
            }
        }
    }

    fn function(&self, module: &Module, body: &mut Body<'_>, inner: &[Option<LLVMValueRef>]) {
        let (number, shape, inner_function) = (body.number, body.shape, body.shape.inner);
        let numbering = Numbering::new(shape);
        let constants = Constants::new(shape, &numbering);
        let variables = self.variables(body);
        // By block and call: whether the pointer is passed.
        let mut passed = std::collections::HashSet::new();
        for (calls, shape) in body.calls.iter_mut().zip(&shape.blocks) {
            for (call, shape) in calls.iter_mut().zip(&shape.calls) {
                let callee = match shape.kind {
                    CallKind::Recorded(callee) => inner[callee as usize],
                    CallKind::Sync(_) => self.runtime(module, *call),
                    CallKind::Unlock(_) => {
                        self.call_by(module, *call, layout::UNLOCK_PREFIX);
                        None
                    }
                    _ => None,
                };
                if let Some(callee) = callee {
                    *call = self.pass_pointer(*call, callee, variables.pointer);
                    passed.insert(*call);
                }
            }
        }
        let blocks = &body.blocks;
        self.headers(&variables, &numbering, blocks);
        self.edges(&variables, shape, (&numbering, &constants), blocks);
        for (block, shape) in shape.blocks.iter().enumerate() {
            for (position, call) in shape.calls.iter().enumerate() {
                let node = numbering.first_node[block] + position;
                let instruction = body.calls[block][position];
                let passed = passed.contains(&instruction);
                let known = match position {
                    0 => constants.at_begin(block),
                    _ => Some(layout::PATH_BASE),
                };
                self.call(&variables, &numbering, (node, known), (instruction, call.kind, passed));
            }
            let tail = shape.calls.last().is_some_and(|c| matches!(c.kind, CallKind::Tail(_)));
            if shape.successors.is_empty() && shape.leaves != Leaves::Invoke && !tail {
                // SAFETY: the terminator is live.
                unsafe {
                    let end = LLVMGetBasicBlockTerminator(blocks[block]);
                    LLVMPositionBuilderBefore(self.builder, end);
                }
                let node = numbering.last_node(block);
                let width = numbering.width(node);
                let sum = (constants.at_end(block), 0);
                self.write_path(&variables, width, sum, (PlaceKind::PathEnd, node));
                // An exception that goes on finds the pointer in the thread-local variable, as all callers but those of inner functions do.
                if !inner_function || shape.leaves == Leaves::Stop {
                    self.give_pointer(variables.pointer);
                }
            }
        }
        // SAFETY: after the variables, before everything else of the function. A label of a first call stands before it.
        unsafe { LLVMPositionBuilderBefore(self.builder, LLVMGetNextInstruction(variables.trips)) };
        if !inner_function {
            self.take_pointer(variables.pointer);
            if shape.entered {
                let own = self.known.number(Identified::Function(number));
                self.write_named(&variables, layout::ENTER, own, 0);
            }
        }
        self.set_path(&variables);
    }

    fn call(
        &self,
        variables: &Variables,
        numbering: &Numbering,
        (node, known): (Node, Option<u64>),
        (call, kind, passed): (LLVMValueRef, CallKind, bool),
    ) {
        // SAFETY: the call is live.
        unsafe { LLVMPositionBuilderBefore(self.builder, call) };
        let width = numbering.width(node);
        self.write_path(variables, width, (known, 0), (PlaceKind::PathEnd, node));
        // An unlock that writes nothing does not look for the pointer.
        let passed = passed || matches!(kind, CallKind::Unlock(_));
        if !passed {
            self.give_pointer(variables.pointer);
        }
        // SAFETY: as above.
        let invoke = unsafe { !LLVMIsAInvokeInst(call).is_null() };
        if matches!(kind, CallKind::Tail(_)) {
            return;
        }
        self.label_call(variables, node);
        if invoke {
            return;
        }
        // SAFETY: a call is no terminator, so there is a next instruction.
        unsafe { LLVMPositionBuilderBefore(self.builder, LLVMGetNextInstruction(call)) };
        if !passed && kind != CallKind::NoReturn {
            self.take_pointer(variables.pointer);
        }
        match kind {
            CallKind::Foreign => self.write_return(variables, node + 1),
            CallKind::ReturnsTwice => self.write_twice(variables, node),
            _ => {}
        }
        if numbering.width(node + 1) > 0 {
            self.set_path(variables);
        }
    }

    /// Makes a call one of the runtime's function with this before its name.
    fn call_by(&self, module: &Module, call: LLVMValueRef, prefix: &str) {
        // SAFETY: the call is live and its callee a declared function, the last operand.
        unsafe {
            let callee = LLVMGetCalledValue(call);
            let name = c_string(&format!("{prefix}{}", name_of(callee)));
            let known = LLVMGetNamedFunction(module.raw, name.as_ptr());
            let runtime = match known.is_null() {
                true => LLVMAddFunction(module.raw, name.as_ptr(), LLVMGlobalGetValueType(callee)),
                false => known,
            };
            LLVMSetOperand(call, LLVMGetNumOperands(call) as u32 - 1, runtime);
        }
    }

    /// Where a call of a sync operation goes: to the runtime, by the name that only recorded code uses. Returns that function if it
    /// takes the pointer; else the call is changed here.
    fn runtime(&self, module: &Module, call: LLVMValueRef) -> Option<LLVMValueRef> {
        // SAFETY: the call is live and its callee a declared function, the last operand.
        unsafe {
            let callee = LLVMGetCalledValue(call);
            let own = name_of(callee);
            let hot = layout::SYNC_IN_REGISTER.contains(&own.as_str());
            let prefix = if hot { layout::SYNC_REGISTER_PREFIX } else { layout::SYNC_PREFIX };
            let name = c_string(&format!("{prefix}{own}"));
            let kind = LLVMGlobalGetValueType(callee);
            let kind = if hot { self.type_with_pointer(kind) } else { kind };
            let known = LLVMGetNamedFunction(module.raw, name.as_ptr());
            let runtime = match known.is_null() {
                true => LLVMAddFunction(module.raw, name.as_ptr(), kind),
                false => known,
            };
            if hot {
                LLVMAddAttributeAtIndex(runtime, LLVMCountParams(runtime), self.swift_error());
                return Some(runtime);
            }
            LLVMSetOperand(call, LLVMGetNumOperands(call) as u32 - 1, runtime);
            None
        }
    }
}

impl<'a> Body<'a> {
    fn of(function: LLVMValueRef, number: u32, shape: &'a FunctionShape) -> Body<'a> {
        let blocks = blocks_of(function);
        let calls = blocks.iter().zip(&shape.blocks).map(|(&block, shape)| {
            let instructions = instructions_of(block);
            shape.calls.iter().map(|call| instructions[call.instruction as usize]).collect()
        });
        let calls = calls.collect();
        Body { number, shape, old: function, now: function, blocks, calls }
    }
}

impl Drop for Emitter {
    fn drop(&mut self) {
        // SAFETY: the builder is live and not used again.
        unsafe { LLVMDisposeBuilder(self.builder) };
    }
}

impl Emitter {
    /// A constructor that tells the runtime of the module.
    fn register(&self, module: &Module) {
        // SAFETY: everything is built in the live module; the arrays outlive the calls that read them.
        unsafe {
            let mut types = [self.long, self.pointer, self.word];
            let arguments = types.as_mut_ptr();
            let kind = LLVMFunctionType(LLVMVoidTypeInContext(self.context), arguments, 3, 0);
            let runtime = LLVMAddFunction(module.raw, c"__unravel_register".as_ptr(), kind);
            let plain =
                LLVMFunctionType(LLVMVoidTypeInContext(self.context), std::ptr::null_mut(), 0, 0);
            let constructor = LLVMAddFunction(module.raw, c"unravel.register".as_ptr(), plain);
            LLVMSetLinkage(constructor, LLVMLinkage::LLVMInternalLinkage);
            let block = LLVMAppendBasicBlockInContext(self.context, constructor, NO_NAME);
            LLVMPositionBuilderAtEnd(self.builder, block);
            let hash = LLVMConstInt(self.long, self.hash, 0);
            let count = LLVMConstInt(self.word, self.known.all.len() as u64, 0);
            let mut values = [hash, self.identifiers, count];
            LLVMBuildCall2(self.builder, kind, runtime, values.as_mut_ptr(), 3, NO_NAME);
            LLVMBuildRetVoid(self.builder);
            // An entry of .init_array is simpler to add than one of `llvm.global_ctors`, which may exist already. Modules register
            // before other constructors run, though nothing hangs on it.
            let entry = LLVMAddGlobal(module.raw, self.pointer, c"unravel.constructor".as_ptr());
            LLVMSetInitializer(entry, constructor);
            LLVMSetLinkage(entry, LLVMLinkage::LLVMInternalLinkage);
            LLVMSetSection(entry, c".init_array.00001".as_ptr());
            keep_used(module, entry, self.pointer);
        }
    }
}

/// Adds to `llvm.used`, which keeps what nobody seems to use.
pub(crate) fn keep_used(module: &Module, value: LLVMValueRef, pointer: LLVMTypeRef) {
    // SAFETY: the old list, if there is one, is replaced by one that has its elements and the new one.
    unsafe {
        let name = c"llvm.used";
        let old = LLVMGetNamedGlobal(module.raw, name.as_ptr());
        let mut all = Vec::new();
        if !old.is_null() {
            let list = LLVMGetInitializer(old);
            all.extend(
                (0..LLVMGetNumOperands(list).max(0)).map(|i| LLVMGetOperand(list, i as u32)),
            );
            LLVMDeleteGlobal(old);
        }
        all.push(value);
        let list = LLVMConstArray2(pointer, all.as_mut_ptr(), all.len() as u64);
        let used = LLVMAddGlobal(module.raw, LLVMTypeOf(list), name.as_ptr());
        LLVMSetLinkage(used, LLVMLinkage::LLVMAppendingLinkage);
        LLVMSetSection(used, c_string("llvm.metadata").as_ptr());
        LLVMSetInitializer(used, list);
    }
}
