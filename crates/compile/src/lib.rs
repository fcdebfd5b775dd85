//! Room `compile`: functions of a lowered program → machine code, by Cranelift.
//!
//! What compiled code owes is said in [`unravel_code::compiled`]: it is a shortcut through interpreting that may leave before
//! any instruction, and leaves before all that is not plain. So this room knows the meaning of plain instructions only, and
//! nothing of threads, events, frames, exceptions or failures.
//!
//! - `shape.rs` divides a function: which instructions are plain, where blocks begin, where code may be entered, which slots are
//!   live there.
//! - `translate.rs` makes blocks, entries, exits and jumps; `instructions.rs` goes through the instructions; `integers.rs`, `floats.rs`,
//!   `accesses.rs`, `calls.rs` and `library.rs` are theirs.
//! - `pages.rs` keeps the code.
//!
//! Cranelift is independent of LLVM's version and moves no access across its checks. What it saves by forwarding a value from a
//! store to a load is invisible: nobody else runs in between. Not done: indirect calls and those of
//! library functions but copies and fills, which leave; integers wider than 64 bits, long doubles and atomic updates, which are rare in loops.

mod accesses;
mod calls;
mod floats;
mod instructions;
mod integers;
mod library;
mod pages;
mod shape;
mod translate;

use std::sync::Arc;

use cranelift_codegen::Context as Generator;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{Function, UserFuncName};
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use unravel_code::compiled::{Callbacks, Compiled, Compiler, Entrance};
use unravel_code::{FunctionId, Program};

use crate::pages::Pages;
use crate::shape::Shape;
use crate::translate::Translation;

/// Instructions of a function that is compiled at most: beyond that, compiling takes seconds.
const MOST_INSTRUCTIONS: usize = 20_000;
/// Bytes that compiled code may use of the native stack of a thread. It calls nothing that uses more than a little.
const MOST_STACK: u32 = 32 << 10;

/// Compiles by Cranelift, for the processor that this runs on.
pub struct Cranelift {
    isa: Arc<dyn TargetIsa>,
    generator: Generator,
    builder: FunctionBuilderContext,
    callbacks: Callbacks,
    pages: Pages,
    entrance: Entrance,
    absent: *const u8,
    /// Plain instructions that have to lie ahead of an entry.
    worth: u32,
}

/// Before there is code.
unsafe extern "C" fn nowhere(_: *mut u64, _: u64, _: u64, _: *const u8) {}

impl Cranelift {
    /// `None` on a processor that it does not know.
    pub fn new(callbacks: Callbacks) -> Option<Cranelift> {
        let mut flags = settings::builder();
        flags.set("opt_level", "speed").ok()?;
        flags.set("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }).ok()?;
        // Frames are checked below; a probe would be a call.
        flags.set("enable_probestack", "false").ok()?;
        // Tail calls rely on them.
        flags.set("preserve_frame_pointers", "true").ok()?;
        let isa = cranelift_native::builder().ok()?.finish(settings::Flags::new(flags)).ok()?;
        let mut compiler = Cranelift {
            isa,
            generator: Generator::new(),
            builder: FunctionBuilderContext::new(),
            callbacks,
            pages: Pages::default(),
            entrance: nowhere,
            absent: std::ptr::null(),
            worth: shape::WORTH_ENTERING,
        };
        let entrance = translate::entrance(&mut compiler.builder, callbacks);
        let entrance = compiler.place(entrance)?;
        // SAFETY: code of this signature, which stays where it is as long as the pages do.
        compiler.entrance = unsafe { std::mem::transmute::<*const u8, Entrance>(entrance) };
        let absent = translate::absent(&mut compiler.builder);
        compiler.absent = compiler.place(absent)?;
        Some(compiler)
    }

    /// Generates the code of a function, and puts it where it can be executed.
    fn place(&mut self, function: Function) -> Option<*const u8> {
        self.generator.clear();
        self.generator.func = function;
        let code = self.generator.compile(&*self.isa, &mut ControlPlane::default()).ok()?;
        // Everything it refers to is an address or lies within.
        if code.frame_size > MOST_STACK || !code.buffer.relocs().is_empty() {
            return None;
        }
        self.pages.add(code.code_buffer())
    }

    /// As machines ask for it.
    pub fn boxed(callbacks: Callbacks) -> Option<Box<dyn Compiler>> {
        Cranelift::new(callbacks).map(|compiler| Box::new(compiler) as Box<dyn Compiler>)
    }

    /// The same, with all entries there can be, whether they gain anything or not: to compare engines.
    pub fn thorough(callbacks: Callbacks) -> Option<Box<dyn Compiler>> {
        let compiler = Cranelift { worth: 1, ..Cranelift::new(callbacks)? };
        Some(Box::new(compiler))
    }
}

impl Compiler for Cranelift {
    fn compile(&mut self, program: &Program, function: FunctionId) -> Option<Compiled> {
        let body = program.function(function).body.as_ref()?;
        if body.code.is_empty() || body.code.len() > MOST_INSTRUCTIONS {
            return None;
        }
        let shape = Shape::of(program, body, self.worth);
        let name = UserFuncName::user(0, function.0);
        let mut func = Function::with_name_signature(name, calls::signature());
        Translation::new(program, body, &shape, self.callbacks, &mut func, &mut self.builder).run();
        let code = self.place(func)?;
        Some(Compiled { code, entries: shape.entries_by_instruction(self.worth) })
    }

    fn entrance(&self) -> Entrance {
        self.entrance
    }

    fn absent(&self) -> *const u8 {
        self.absent
    }
}
