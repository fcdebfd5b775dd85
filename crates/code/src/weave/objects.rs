//! What measures need beyond code: locks and flags in memory, functions to call, call sites.

use rustc_hash::FxHashMap;
use unravel_trace::SiteId;

use super::guard::Act;
use super::{AWAIT, RAISE};
use crate::layout::{GLOBALS, RED_ZONE};
use crate::{
    Abi, Access, AccessKind, Arg, CallId, CallSite, Function, FunctionId, Global, Inst, Program,
    Reg, Signature,
};

/// What was added to a program so far.
#[derive(Debug, Default)]
pub(super) struct Objects {
    /// Addresses by name.
    globals: FxHashMap<String, u64>,
    functions: FxHashMap<&'static str, FunctionId>,
}

/// As on Linux.
const MUTEX_BYTES: u64 = 40;
const FLAG_BYTES: u64 = 4;

impl Act {
    /// The function that does it.
    fn function(self) -> &'static str {
        match self {
            Act::Await(_) => AWAIT,
            Act::Raise(_) => RAISE,
            Act::Acquire(_) => "pthread_mutex_lock",
            Act::Release(_) => "pthread_mutex_unlock",
            Act::BeginAtomic => "__VERIFIER_atomic_begin",
            Act::EndAtomic => "__VERIFIER_atomic_end",
        }
    }

    /// The variable that it is done to, and its size. All zeros is how a mutex and a flag begin.
    fn object(self) -> Option<(String, u64)> {
        match self {
            Act::Await(flag) | Act::Raise(flag) => {
                Some((format!("repair flag {flag}"), FLAG_BYTES))
            }
            Act::Acquire(lock) | Act::Release(lock) => {
                Some((format!("repair lock {lock}"), MUTEX_BYTES))
            }
            Act::BeginAtomic | Act::EndAtomic => None,
        }
    }
}

impl Objects {
    /// The address of the variable that an act is done to; 0 if there is none.
    pub fn address(&mut self, program: &mut Program, act: Act) -> u64 {
        let Some((name, bytes)) = act.object() else { return 0 };
        *self.globals.entry(name).or_insert_with_key(|name| {
            let address = (GLOBALS + program.image.len() as u64).next_multiple_of(16);
            let end = address + bytes + RED_ZONE;
            program.image.resize((end - GLOBALS) as usize, 0);
            let name = name.clone();
            let global = Global { name, address, bytes, ty: None, constant: false, place: None };
            program.globals.push(global);
            address
        })
    }

    /// The call that does an act on the way at `near`, and its site. `object` holds the address of the variable.
    pub fn call(
        &mut self,
        program: &mut Program,
        act: Act,
        object: Reg,
        near: SiteId,
    ) -> (Inst, SiteId) {
        let site = SiteId(program.sites.len() as u32);
        program.sites.push(program.sites[near.index()].clone());
        program.accesses.push(access(act));
        let call = CallId(program.calls.len() as u32);
        let arg = act.object().map(|_| Arg { reg: object, slots: 1, abi: Abi::Pointer });
        program.calls.push(CallSite {
            fixed: u32::from(arg.is_some()),
            args: arg.into_iter().collect(),
            result: Abi::Void,
            result_slots: 0,
            variadic: false,
            site,
            id: call,
        });
        let function = self.function(program, act);
        // Nothing is returned, so that nothing is written there.
        (Inst::CallExternal { dst: object, function, call }, site)
    }

    /// A declaration of our own: the program may define a function of this name.
    fn function(&mut self, program: &mut Program, act: Act) -> FunctionId {
        let name = act.function();
        *self.functions.entry(name).or_insert_with(|| {
            let params = act.object().map(|_| Abi::Pointer).into_iter().collect();
            program.functions.push(Function {
                name: name.to_owned(),
                display_name: name.to_owned(),
                body: None,
                machine_code: None,
                signature: Signature { params, result: Abi::Void, variadic: false },
                weak: false,
                address_taken: false,
            });
            FunctionId(program.functions.len() as u32 - 1)
        })
    }
}

/// Flags are atomic variables; all else is a call.
fn access(act: Act) -> Access {
    let kind = match act {
        Act::Await(_) | Act::Raise(_) => AccessKind::Atomic,
        _ => AccessKind::Call,
    };
    let (path, bytes) = act.object().unzip();
    Access { kind, path, bytes: bytes.unwrap_or(0), ..Access::default() }
}
