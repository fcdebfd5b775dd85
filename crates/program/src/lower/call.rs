//! Calls.

use unravel_code::{
    Abi, AccessKind, Arg, Body, CallId, CallSite, FunctionId, Handed, Inst, Reg, Target,
};

use super::function::FunctionLowering;
use super::{ModuleLowering, types};
use crate::debug::{Named, Spot};
use crate::ir::{Block, Type, Value};

/// Whom a call calls.
pub(super) enum Callee {
    Function(FunctionId),
    /// The address in a slot.
    Pointer(Reg),
}

/// The number of declared parameters, and whether more may follow.
#[derive(Clone, Copy)]
pub(super) struct Arity {
    pub(super) fixed: u32,
    pub(super) variadic: bool,
}

/// Where and how the result of a call arrives.
pub(super) struct CallResult {
    pub(super) dst: Reg,
    pub(super) slots: u32,
    pub(super) abi: Abi,
}

impl<'l, 'm> FunctionLowering<'l, 'm> {
    pub(super) fn call(&mut self, inst: Value<'m>, block: Block<'m>, next: Option<Block<'m>>) {
        if inst.callee().is_inline_asm() {
            self.assembly(inst);
        } else if let Some(name) = self.intrinsic(inst) {
            self.intrinsic_call(inst, &name);
        } else {
            self.plain_call(inst);
        }
        if let Some((normal, _)) = inst.invoke_targets() {
            self.jump(block, normal, next);
        }
    }

    /// A call as written, of a function of the program, a native one, an intrinsic, or a pointer.
    pub(super) fn plain_call(&mut self, inst: Value<'m>) {
        let callee = match self.lowering.function_of(inst.callee()) {
            Some(id) => Callee::Function(id),
            None => Callee::Pointer(self.register(inst.callee())),
        };
        let args = self.arguments(inst);
        let ty = inst.called_type();
        let mut arity = Arity { fixed: ty.params().len() as u32, variadic: ty.is_variadic() };
        // A call without a prototype looks variadic; what it calls may not be.
        if let Callee::Function(id) = callee {
            let signature = &self.lowering.program.function(id).signature;
            if arity.variadic && !signature.variadic {
                arity = Arity { fixed: args.len() as u32, variadic: false };
            }
        }
        let path = self.first_argument_path(inst);
        let signed = inst.call_has_attribute(0, self.lowering.attributes.signext);
        let result = CallResult {
            dst: self.result(inst),
            slots: self.slots(inst.ty()),
            abi: types::abi(self.lowering.layout, inst.ty(), signed),
        };
        self.emit_call(inst, callee, args, result, arity, path);
    }

    fn arguments(&mut self, inst: Value<'m>) -> Vec<Arg> {
        let mut args = Vec::new();
        let mut copied = 0;
        for (i, value) in inst.arguments().into_iter().enumerate() {
            let slots = self.slots(value.ty());
            if slots == 0 {
                // Metadata, which says nothing to the VM.
                continue;
            }
            let reg = self.register(value);
            let position = i as u32 + 1;
            let pointee = inst.call_attribute_type(position, self.lowering.attributes.byval);
            args.push(match pointee {
                Some(pointee) => self.copy_argument(reg, pointee, &mut copied),
                None => {
                    let signed =
                        inst.call_has_attribute(position, self.lowering.attributes.signext);
                    let abi = types::abi(self.lowering.layout, value.ty(), signed);
                    Arg { reg, slots, abi }
                }
            });
        }
        args
    }

    /// A `byval` argument: the callee gets the address of a copy in the caller's frame.
    fn copy_argument(&mut self, src: Reg, pointee: Type<'m>, copied: &mut u32) -> Arg {
        let bytes = self.lowering.layout.size(pointee) as u32;
        let offset = self.frame.copy_place(copied, bytes);
        let reg = self.temporary(1);
        self.emit(Inst::CopyToFrame { offset, src, bytes });
        self.emit(Inst::FrameAddr { dst: reg, offset });
        Arg { reg, slots: 1, abi: self.lowering.by_value(pointee) }
    }

    pub(super) fn emit_call(
        &mut self,
        inst: Value<'m>,
        callee: Callee,
        args: Vec<Arg>,
        result: CallResult,
        arity: Arity,
        path: Option<Named>,
    ) {
        let site = self.site(AccessKind::Call, path);
        self.lowering.program.accesses[site.index()].is_ignored = inst.is_ignored();
        let id = CallId(self.lowering.program.calls.len() as u32);
        let Arity { fixed, variadic } = arity;
        let CallResult { dst, slots, abi } = result;
        self.lowering.program.calls.push(CallSite {
            args,
            result: abi,
            result_slots: slots,
            fixed,
            variadic,
            site,
            id,
        });
        if let (Some((_, unwind)), Some(block)) = (inst.invoke_targets(), inst.block()) {
            let label = self.edge(block, unwind);
            self.unwind.push((self.code.len() as Target, label));
        }
        let defined = match callee {
            Callee::Function(function) => self.lowering.has_body(function).then_some(function),
            Callee::Pointer(_) => None,
        };
        if defined.is_some() {
            self.note_handed(inst, id);
        }
        if inst.ty().is_pointer()
            && let Some(ty) = self.lowering.debug.made(&self.names, inst)
        {
            self.lowering.program.made.insert(site, ty);
        }
        let lowered = match callee {
            Callee::Pointer(ptr) => Inst::CallIndirect { dst, ptr, call: id },
            Callee::Function(function) if self.lowering.has_body(function) => {
                Inst::Call { dst, function, call: id }
            }
            Callee::Function(function) => Inst::CallExternal { dst, function, call: id },
        };
        self.emit_at(lowered, site);
    }

    /// Takes note of the objects whose addresses a call hands over. Wrappers take the object first, or after the guard that holds it.
    fn note_handed(&mut self, inst: Value<'m>, id: CallId) {
        const MOST: usize = 3;
        if inst.call_has_attribute(1, self.lowering.attributes.sret) {
            return;
        }
        let mut handed = Vec::new();
        for (position, value) in inst.arguments().into_iter().enumerate().take(MOST) {
            if !value.ty().is_pointer() || value.is_zero() {
                continue;
            }
            let debug = &mut self.lowering.debug;
            let Some(declared) = debug.parameter(inst.callee(), position) else { continue };
            let Some(bytes) = debug.type_bytes(declared) else { continue };
            if let Some((text, pointer, ty)) = debug.handed(&self.names, value, inst, bytes) {
                handed.push(Handed { position: position as u32, text, pointer, ty });
            }
        }
        if !handed.is_empty() {
            self.lowering.program.handed.insert(id, handed.into_boxed_slice());
        }
    }

    /// What the first argument points to, as the programmer calls it: the mutex that is locked.
    pub(super) fn first_argument_path(&mut self, inst: Value<'m>) -> Option<Named> {
        let arguments = inst.arguments();
        let first = arguments.first().copied()?;
        if !first.ty().is_pointer() || first.is_zero() {
            return None;
        }
        let name = inst.callee().name();
        let bytes = if name.starts_with("llvm.mem") {
            arguments.get(2).and_then(|size| size.as_u64())
        } else if inst.call_has_attribute(1, self.lowering.attributes.sret) {
            // Where the result goes is not what the source calls the first argument.
            return None;
        } else {
            let declared = self.lowering.debug.first_parameter_bytes(inst.callee());
            declared.or_else(|| object_bytes(&name))
        };
        self.path(first, inst, Spot::Object(bytes))
    }
}

/// The size of the object whose address a synchronisation function takes first, so that naming it stops
/// at the mutex and does not go on to the mutex's first field.
fn object_bytes(function: &str) -> Option<u64> {
    const SIZES: [(&str, u64); 15] = [
        ("pthread_mutexattr_", 4),
        ("pthread_mutex_", 40),
        ("pthread_condattr_", 4),
        ("pthread_cond_", 48),
        ("pthread_rwlock_", 56),
        ("pthread_barrier_", 32),
        ("pthread_spin_", 4),
        ("pthread_once", 4),
        ("pthread_create", 8),
        ("pthread_attr_", 56),
        ("pthread_key_", 4),
        ("sem_", 32),
        ("mtx_", 40),
        ("_ZNSt5mutex", 40),
        ("_ZNSt18condition_variable", 48),
    ];
    SIZES.iter().find(|(prefix, _)| function.starts_with(prefix)).map(|(_, bytes)| *bytes)
}

impl<'m> ModuleLowering<'m> {
    fn has_body(&self, function: FunctionId) -> bool {
        // Bodies come one after the other, so that one not yet lowered is known by its definition.
        self.defined.contains(&function)
    }

    /// A function for an ifunc: `return resolver()(arguments…)`.
    pub(super) fn lower_ifunc(&mut self, ifunc: Value<'m>) {
        let id = self.functions[&ifunc];
        let ty = ifunc.value_type();
        let name = self.program.function(id).display_name.clone();
        let place = self.add_site(self.debug.unknown(&name), AccessKind::None, None);
        let resolver = ifunc.aliasee().and_then(|resolver| self.function_of(resolver));
        let mut params = Vec::new();
        let mut args = Vec::new();
        let mut next: Reg = 0;
        for param in ty.params() {
            let slots = types::slots(self.layout, param);
            params.push((next, slots));
            args.push(Arg { reg: next, slots, abi: types::abi(self.layout, param, false) });
            next += slots;
        }
        let (pointer, result) = (next, next + 1);
        let result_slots = types::slots(self.layout, ty.result());
        let code = match resolver {
            Some(resolver) if !ty.is_variadic() => {
                let ask = self.thunk_call(Vec::new(), Abi::Pointer, 1, place);
                let abi = types::abi(self.layout, ty.result(), false);
                let go = self.thunk_call(args, abi, result_slots, place);
                let ask = if self.has_body(resolver) {
                    Inst::Call { dst: pointer, function: resolver, call: ask }
                } else {
                    Inst::CallExternal { dst: pointer, function: resolver, call: ask }
                };
                let back = match result_slots {
                    0 => Inst::ReturnVoid,
                    slots => Inst::Return { src: result, slots },
                };
                vec![ask, Inst::CallIndirect { dst: result, ptr: pointer, call: go }, back]
            }
            _ => {
                let reason = self.trap_reason(format!("the indirect function `{name}`"));
                vec![Inst::Trap { reason }]
            }
        };
        let slots = result + result_slots.max(1);
        let body = Body {
            places: vec![place; code.len()],
            code,
            slots,
            constants: Vec::new(),
            constants_at: slots,
            frame_bytes: 0,
            params,
            unwind: Vec::new(),
            blocks: Vec::new(),
            terminators: Vec::new(),
            locals: Vec::new(),
            atomic: false,
        };
        self.program.functions[id.0 as usize].body = Some(body);
    }

    fn thunk_call(
        &mut self,
        args: Vec<Arg>,
        result: Abi,
        result_slots: u32,
        site: unravel_trace::SiteId,
    ) -> CallId {
        let id = CallId(self.program.calls.len() as u32);
        let fixed = args.len() as u32;
        let call = CallSite { args, result, result_slots, fixed, variadic: false, site, id };
        self.program.calls.push(call);
        id
    }
}
