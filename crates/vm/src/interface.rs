//! libffi: types of values, call interfaces, and closures that let native code call the program.

use std::ffi::c_void;
use std::ptr::NonNull;

use unravel_code::{Abi, CallSite, FunctionId};

use crate::guard;
use crate::interpret::Uncaught;
use libffi_sys as ffi;

unsafe extern "C" {
    /// What a closure calls: [`unravel_call_back`], then it throws on what that returns.
    fn unravel_closure(
        cif: *mut ffi::ffi_cif,
        result: *mut c_void,
        args: *mut *mut c_void,
        data: *mut c_void,
    );
}

/// The libffi type of a value. Composite types are leaked: there are as many as call sites use.
fn ffi_type(abi: &Abi) -> *mut ffi::ffi_type {
    let composite = |elements: Vec<*mut ffi::ffi_type>| -> *mut ffi::ffi_type {
        let mut elements = elements;
        elements.push(std::ptr::null_mut());
        Box::leak(Box::new(ffi::ffi_type {
            size: 0,
            alignment: 0,
            type_: ffi::FFI_TYPE_STRUCT,
            elements: Box::leak(elements.into_boxed_slice()).as_mut_ptr(),
        }))
    };
    match abi {
        Abi::Void => &raw mut ffi::ffi_type_void,
        Abi::Int { bits: 0..=8, signed: false } => &raw mut ffi::ffi_type_uint8,
        Abi::Int { bits: 0..=8, signed: true } => &raw mut ffi::ffi_type_sint8,
        Abi::Int { bits: 9..=16, signed: false } => &raw mut ffi::ffi_type_uint16,
        Abi::Int { bits: 9..=16, signed: true } => &raw mut ffi::ffi_type_sint16,
        Abi::Int { bits: 17..=32, .. } => &raw mut ffi::ffi_type_uint32,
        Abi::Int { .. } => &raw mut ffi::ffi_type_uint64,
        Abi::Wide => composite(vec![&raw mut ffi::ffi_type_uint64; 2]),
        Abi::F32 => &raw mut ffi::ffi_type_float,
        Abi::F64 => &raw mut ffi::ffi_type_double,
        Abi::F80 => &raw mut ffi::ffi_type_longdouble,
        Abi::Pointer => &raw mut ffi::ffi_type_pointer,
        Abi::ByVal { bytes, .. } => {
            // Passed in memory whatever the members are, as long as it is larger than two words.
            let words = (*bytes as usize).div_ceil(8).max(3);
            composite(vec![&raw mut ffi::ffi_type_uint64; words])
        }
        Abi::Aggregate(parts) => composite(parts.iter().map(ffi_type).collect()),
    }
}

/// The libffi type of a result. Two long doubles are a complex number: a struct of them is returned in memory.
fn result_type(abi: &Abi) -> *mut ffi::ffi_type {
    match abi {
        Abi::Aggregate(parts) if **parts == [Abi::F80, Abi::F80] => {
            &raw mut ffi::ffi_type_complex_longdouble
        }
        abi => ffi_type(abi),
    }
}

pub(crate) fn prepare(call: &CallSite) -> Option<NonNull<ffi::ffi_cif>> {
    let types: Vec<_> = call.args.iter().map(|arg| ffi_type(&arg.abi)).collect();
    let count = types.len() as u32;
    let types = Box::leak(types.into_boxed_slice()).as_mut_ptr();
    // SAFETY: a plain C struct that libffi fills; it and the types live for ever.
    unsafe {
        let cif: *mut ffi::ffi_cif = Box::into_raw(Box::new(std::mem::zeroed()));
        let result = result_type(&call.result);
        let status = if call.variadic && count >= call.fixed {
            ffi::ffi_prep_cif_var(
                cif,
                ffi::ffi_abi_FFI_DEFAULT_ABI,
                call.fixed,
                count,
                result,
                types,
            )
        } else {
            ffi::ffi_prep_cif(cif, ffi::ffi_abi_FFI_DEFAULT_ABI, count, result, types)
        };
        (status == ffi::ffi_status_FFI_OK).then_some(NonNull::new_unchecked(cif))
    }
}

/// What a closure needs to call back: which function, and how its parameters lie in slots.
struct Callback {
    function: FunctionId,
    params: Vec<Abi>,
}

/// A closure at which native code can call a function of the program. It is never freed.
pub(crate) fn make_closure(params: &[Abi], result: &Abi, function: FunctionId) -> Option<u64> {
    let types: Vec<_> = params.iter().map(ffi_type).collect();
    let count = types.len() as u32;
    let types = Box::leak(types.into_boxed_slice()).as_mut_ptr();
    // SAFETY: plain C structs that libffi fills. They, the types and the callback live for ever.
    unsafe {
        let cif: *mut ffi::ffi_cif = Box::into_raw(Box::new(std::mem::zeroed()));
        if ffi::ffi_prep_cif(cif, ffi::ffi_abi_FFI_DEFAULT_ABI, count, result_type(result), types)
            != ffi::ffi_status_FFI_OK
        {
            return None;
        }
        let mut code = std::ptr::null_mut();
        let closure = ffi::ffi_closure_alloc(size_of::<ffi::ffi_closure>(), &mut code).cast();
        let callback = Box::into_raw(Box::new(Callback { function, params: params.to_vec() }));
        let status =
            ffi::ffi_prep_closure_loc(closure, cif, Some(unravel_closure), callback.cast(), code);
        (status == ffi::ffi_status_FFI_OK).then_some(code as u64)
    }
}

/// Native code calls a function of the program. Returns the exception that leaves it, if one does: it must go
/// on through native frames, and from here it would meet Rust's first.
#[unsafe(no_mangle)]
unsafe extern "C" fn unravel_call_back(
    cif: *mut ffi::ffi_cif,
    result: *mut c_void,
    args: *mut *mut c_void,
    data: *mut c_void,
) -> u64 {
    if !guard::is_on_fiber() {
        guard::stop_foreign_thread();
    }
    let was_native = guard::pause_native();
    // SAFETY: libffi passes as many arguments as the interface has; `data` is the callback made with it. The
    // native code was called by a method of a handle, which holds no borrow across the call.
    unsafe {
        let mut machine = guard::machine().expect("closures are called by programs only");
        let callback = &*(data as *const Callback);
        let mut words = [0u64; 64];
        let mut used = 0;
        for (i, abi) in callback.params.iter().enumerate() {
            let ty = *(*cif).arg_types.add(i);
            let from = *args.add(i) as *const u8;
            if let Abi::ByVal { .. } = abi {
                words[used] = from as u64;
                used += 1;
                continue;
            }
            let bytes = (*ty).size;
            let slots = bytes.div_ceil(8).max(1);
            if used + slots > words.len() {
                machine.finish_inconclusive(
                    "native code passes too many arguments to a callback".into(),
                );
            }
            std::ptr::copy_nonoverlapping(from, words.as_mut_ptr().add(used).cast(), bytes);
            used += slots;
        }
        if let Err(Uncaught) = machine.try_call(callback.function, &words[..used]) {
            guard::resume_native(was_native);
            return machine.thrown().exception;
        }
        guard::resume_native(was_native);
        let ty = (*cif).rtype;
        let bytes = (*ty).size;
        let returned = &machine.natives.returned;
        match (*ty).type_ {
            ffi::FFI_TYPE_VOID => {}
            ffi::FFI_TYPE_STRUCT | ffi::FFI_TYPE_LONGDOUBLE | ffi::FFI_TYPE_COMPLEX => {
                std::ptr::copy_nonoverlapping(
                    returned.as_ptr().cast(),
                    result as *mut u8,
                    bytes.min(128),
                )
            }
            // libffi wants small integers widened to a whole register.
            _ => *(result as *mut u64) = returned[0],
        }
        0
    }
}

/// `mov r11, target; jmp r11`.
///
/// # Safety
/// At `at` are 13 bytes that may be written.
pub(crate) unsafe fn write_jump(at: *mut u8, target: u64) {
    // SAFETY: per the contract.
    unsafe {
        at.copy_from_nonoverlapping([0x49, 0xbb].as_ptr(), 2);
        (at.add(2) as *mut u64).write_unaligned(target);
        at.add(10).copy_from_nonoverlapping([0x41, 0xff, 0xe3].as_ptr(), 3);
    }
}
