//! Reading a module: parse, verify, promote locals.

use std::cell::RefCell;
use std::ffi::{CStr, c_void};
use std::marker::PhantomData;
use std::ptr;

use llvm_sys::LLVMAttributeFunctionIndex;
use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use llvm_sys::bit_reader::LLVMParseBitcodeInContext2;
use llvm_sys::core::*;
use llvm_sys::debuginfo::{
    LLVMCreateDIBuilder, LLVMDIBuilderCreateExpression, LLVMDIBuilderFinalize, LLVMDisposeDIBuilder,
};
use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMGetErrorMessage};
use llvm_sys::prelude::*;
use llvm_sys::target::LLVMGetModuleDataLayout;
use llvm_sys::transforms::pass_builder::{
    LLVMCreatePassBuilderOptions, LLVMDisposePassBuilderOptions, LLVMRunPasses,
};

use super::{DataLayout, Node, Value, copy_string, take_message};

/// Why bitcode could not be made into a program.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(
        "this is not LLVM bitcode (it starts with {start:02x?}); compile with `clang-19 -emit-llvm -c`"
    )]
    NotBitcode { start: Vec<u8> },
    #[error(
        "LLVM 19 cannot read this bitcode: {message}; it may come from a newer clang: compile with clang-19"
    )]
    Unreadable { message: String },
    #[error("this bitcode is broken: {message}")]
    Invalid { message: String },
    #[error(
        "this bitcode is for `{triple}`; only 64-bit x86 Linux can be run (compile with `--target=x86_64-linux-gnu`)"
    )]
    Target { triple: String },
    #[error("promoting local variables failed: {message}")]
    Promotion { message: String },
    #[error("the initial value of `{global}` cannot be computed: {reason}")]
    Initializer { global: String, reason: String },
    #[error("the {what} take {bytes} bytes, more than the {limit} there is room for")]
    TooLarge { what: &'static str, bytes: u64, limit: u64 },
}

/// A parsed module with the context it lives in.
pub(crate) struct Module {
    context: LLVMContextRef,
    module: LLVMModuleRef,
    empty_expression: LLVMMetadataRef,
    deref_expression: LLVMMetadataRef,
}

/// What LLVM had to say while it read a module.
type Diagnostics = RefCell<Vec<String>>;

/// Keeps a diagnostic instead of LLVM's default, which prints it and exits on an error.
extern "C" fn keep_diagnostic(info: LLVMDiagnosticInfoRef, kept: *mut c_void) {
    // SAFETY: LLVM passes a live diagnostic, and `kept` is the `Diagnostics` installed by `Module::parse`.
    unsafe {
        let text = take_message(LLVMGetDiagInfoDescription(info));
        if let Ok(mut kept) = (*kept.cast::<Diagnostics>()).try_borrow_mut() {
            kept.push(text);
        }
    }
}

/// Drops the diagnostics that come after parsing (warnings of passes).
extern "C" fn drop_diagnostic(_: LLVMDiagnosticInfoRef, _: *mut c_void) {}

impl Module {
    pub(crate) fn parse(bitcode: &[u8]) -> Result<Module, LoadError> {
        let raw = bitcode.starts_with(b"BC\xc0\xde");
        let wrapped = bitcode.starts_with(&[0xde, 0xc0, 0x17, 0x0b]);
        if !raw && !wrapped {
            return Err(LoadError::NotBitcode { start: bitcode[..bitcode.len().min(4)].to_vec() });
        }
        let diagnostics = Diagnostics::default();
        // SAFETY: the context is fresh; the buffer is copied and disposed of after parsing; the handler's
        // data outlives its installation, since another handler replaces it before `diagnostics` ends.
        unsafe {
            let context = LLVMContextCreate();
            let data = ptr::from_ref(&diagnostics).cast_mut().cast::<c_void>();
            LLVMContextSetDiagnosticHandler(context, Some(keep_diagnostic), data);
            let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
                bitcode.as_ptr().cast(),
                bitcode.len(),
                c"bitcode".as_ptr(),
            );
            let mut module = ptr::null_mut();
            let failed = LLVMParseBitcodeInContext2(context, buffer, &mut module) != 0;
            LLVMDisposeMemoryBuffer(buffer);
            LLVMContextSetDiagnosticHandler(context, Some(drop_diagnostic), ptr::null_mut());
            if failed || module.is_null() {
                LLVMContextDispose(context);
                let message = diagnostics.take().join("; ");
                return Err(LoadError::Unreadable { message });
            }
            let mut parsed = Module {
                context,
                module,
                empty_expression: ptr::null_mut(),
                deref_expression: ptr::null_mut(),
            };
            parsed.verify()?;
            parsed.check_target()?;
            parsed.make_expressions();
            Ok(parsed)
        }
    }

    fn verify(&self) -> Result<(), LoadError> {
        let mut message = ptr::null_mut();
        // SAFETY: the module is live; LLVM allocates the message.
        let (broken, message) = unsafe {
            let action = LLVMVerifierFailureAction::LLVMReturnStatusAction;
            let broken = LLVMVerifyModule(self.module, action, &mut message) != 0;
            (broken, take_message(message))
        };
        if broken { Err(LoadError::Invalid { message }) } else { Ok(()) }
    }

    fn check_target(&self) -> Result<(), LoadError> {
        // SAFETY: LLVM keeps the triple as long as the module.
        let triple = unsafe { CStr::from_ptr(LLVMGetTarget(self.module)) };
        let triple = triple.to_string_lossy().into_owned();
        let x86_64 = triple.starts_with("x86_64") || triple.starts_with("amd64");
        // Elsewhere exceptions, thread-locals and the C library are other ones.
        let other =
            ["windows", "darwin", "macos", "ios", "uefi"].iter().any(|s| triple.contains(s));
        // The x32 variant of x86-64 has pointers of 32 bits.
        if x86_64 && !other && self.layout().pointer_bytes() == 8 {
            Ok(())
        } else {
            Err(LoadError::Target { triple })
        }
    }

    /// The two debug expressions that lowering understands. LLVM uniques expressions, so that comparing
    /// pointers recognises them; the C interface cannot read one.
    fn make_expressions(&mut self) {
        const DW_OP_DEREF: u64 = 0x06;
        // SAFETY: the builder is used on a live module and disposed of.
        unsafe {
            let builder = LLVMCreateDIBuilder(self.module);
            self.empty_expression = LLVMDIBuilderCreateExpression(builder, ptr::null_mut(), 0);
            let mut deref = [DW_OP_DEREF];
            self.deref_expression = LLVMDIBuilderCreateExpression(builder, deref.as_mut_ptr(), 1);
            LLVMDIBuilderFinalize(builder);
            LLVMDisposeDIBuilder(builder);
        }
    }

    /// Turns locals whose address is never taken into values (mem2reg), so that they make no events.
    /// Nothing else is optimised: other passes would remove racy double reads.
    /// Unless they are to be promoted, the module is only made readable.
    pub(crate) fn promote_locals(&self, promoted: bool) -> Result<(), LoadError> {
        // SAFETY: the module is live; options and error are disposed of.
        unsafe {
            // Debug intrinsics instead of debug records: the C interface cannot read the latter.
            LLVMSetIsNewDbgInfoFormat(self.module, 0);
            if !promoted {
                return Ok(());
            }
            let optnone = LLVMGetEnumAttributeKindForName(c"optnone".as_ptr(), "optnone".len());
            for function in self.functions() {
                // Passes skip functions with this attribute.
                LLVMRemoveEnumAttributeAtIndex(function.raw(), LLVMAttributeFunctionIndex, optnone);
            }
            let options = LLVMCreatePassBuilderOptions();
            let passes = c"function(mem2reg)".as_ptr();
            let error = LLVMRunPasses(self.module, passes, ptr::null_mut(), options);
            LLVMDisposePassBuilderOptions(options);
            if error.is_null() {
                return Ok(());
            }
            let text = LLVMGetErrorMessage(error);
            let message = CStr::from_ptr(text).to_string_lossy().into_owned();
            LLVMDisposeErrorMessage(text);
            Err(LoadError::Promotion { message })
        }
    }

    pub(crate) fn layout(&self) -> DataLayout<'_> {
        // SAFETY: the layout belongs to the module.
        DataLayout::new(unsafe { LLVMGetModuleDataLayout(self.module) })
    }

    pub(super) fn raw(&self) -> LLVMModuleRef {
        self.module
    }

    pub(crate) fn context(&self) -> LLVMContextRef {
        self.context
    }

    pub(crate) fn functions(&self) -> impl Iterator<Item = Value<'_>> {
        // SAFETY: the iteration functions are called on this module and its members.
        chain(unsafe { LLVMGetFirstFunction(self.module) }, |v| unsafe { LLVMGetNextFunction(v) })
    }

    pub(crate) fn globals(&self) -> impl Iterator<Item = Value<'_>> {
        // SAFETY: as above.
        chain(unsafe { LLVMGetFirstGlobal(self.module) }, |v| unsafe { LLVMGetNextGlobal(v) })
    }

    pub(crate) fn aliases(&self) -> impl Iterator<Item = Value<'_>> {
        // SAFETY: as above.
        chain(unsafe { LLVMGetFirstGlobalAlias(self.module) }, |v| unsafe {
            LLVMGetNextGlobalAlias(v)
        })
    }

    pub(crate) fn ifuncs(&self) -> impl Iterator<Item = Value<'_>> {
        // SAFETY: as above.
        chain(unsafe { LLVMGetFirstGlobalIFunc(self.module) }, |v| unsafe {
            LLVMGetNextGlobalIFunc(v)
        })
    }

    /// The compile units, where debug information starts.
    pub(crate) fn compile_units(&self) -> Vec<Node<'_>> {
        let name = c"llvm.dbg.cu".as_ptr();
        // SAFETY: the operand buffer has the size LLVM asks for.
        unsafe {
            let count = LLVMGetNamedMetadataNumOperands(self.module, name) as usize;
            let mut operands = vec![ptr::null_mut(); count];
            LLVMGetNamedMetadataOperands(self.module, name, operands.as_mut_ptr());
            operands.into_iter().filter_map(|v| Value::new(v)?.as_metadata()).collect()
        }
    }

    /// The number of an attribute such as `byval`.
    pub(crate) fn attribute(&self, name: &str) -> u32 {
        // SAFETY: the name is passed with its length.
        unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) }
    }

    /// The name of an intrinsic without its type suffixes: `llvm.smax` for `llvm.smax.i32`.
    pub(crate) fn intrinsic_base_name(&self, function: Value<'_>) -> Option<String> {
        // SAFETY: `function` is a function of this module.
        unsafe {
            let id = LLVMGetIntrinsicID(function.raw());
            if id == 0 {
                return None;
            }
            let mut length = 0;
            let name = LLVMIntrinsicGetName(id, &mut length);
            Some(copy_string(name, length))
        }
    }

    /// Is this the debug expression without operations?
    pub(crate) fn is_empty_expression(&self, node: Node<'_>) -> bool {
        node.raw() == self.empty_expression
    }

    /// Is this the debug expression of one dereference?
    pub(crate) fn is_deref_expression(&self, node: Node<'_>) -> bool {
        node.raw() == self.deref_expression
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: both are live, and every handle borrows `self`. The module goes before its context.
        unsafe {
            LLVMDisposeModule(self.module);
            LLVMContextDispose(self.context);
        }
    }
}

/// Walks one of LLVM's linked lists of values.
fn chain<'m>(
    first: LLVMValueRef,
    next: impl Fn(LLVMValueRef) -> LLVMValueRef,
) -> impl Iterator<Item = Value<'m>> {
    std::iter::successors(Value::new(first), move |v| Value::new(next(v.raw())))
}

/// Marks a handle as borrowing from a module.
pub(super) type Borrowed<'m> = PhantomData<&'m Module>;
