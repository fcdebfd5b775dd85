//! Intrinsics. Most stay calls of a function without a body, which the VM models by its base name
//! (`llvm.smax`); here are those that mean nothing to us, those that are their operand, and those on
//! vectors, which are taken apart.

use llvm_sys::{LLVMIntPredicate, LLVMOpcode as Op};
use unravel_code::{AccessKind, Arg, Inst, Reg, Signature};

use super::call::{Arity, CallResult, Callee};
use super::constants::{Number, Symbol};
use super::function::FunctionLowering;
use super::scalar::{binary, compare, short};
use super::types::{self, Shape};
use crate::ir::{Type, Value};

/// Does the result of this intrinsic equal its first operand?
pub(super) fn is_identity(name: &str) -> bool {
    matches!(
        name,
        "llvm.expect"
            | "llvm.expect.with.probability"
            | "llvm.launder.invariant.group"
            | "llvm.strip.invariant.group"
            | "llvm.ptr.annotation"
            | "llvm.annotation"
            | "llvm.ssa.copy"
            | "llvm.arithmetic.fence"
    )
}

/// Says something to the optimiser or the debugger only.
fn is_silent(name: &str) -> bool {
    name.starts_with("llvm.dbg.")
        || name.starts_with("llvm.lifetime.")
        || name.starts_with("llvm.experimental.noalias")
        || name.starts_with("llvm.invariant.")
        || matches!(
            name,
            "llvm.assume"
                | "llvm.donothing"
                | "llvm.sideeffect"
                | "llvm.var.annotation"
                | "llvm.prefetch"
                | "llvm.pseudoprobe"
                | "llvm.codeview.annotation"
        )
}

/// Works on each lane of its vectors alone.
fn is_elementwise(name: &str) -> bool {
    const NAMES: &str = "abs smax smin umax umin scmp ucmp ctpop ctlz cttz bswap bitreverse fshl fshr \
        sadd.sat uadd.sat ssub.sat usub.sat sshl.sat ushl.sat smul.fix umul.fix \
        fabs sqrt floor ceil trunc rint nearbyint round roundeven fma fmuladd maxnum minnum maximum \
        minimum copysign canonicalize pow powi exp exp2 exp10 log log2 log10 sin cos tan asin acos atan \
        sinh cosh tanh ldexp lrint llrint lround llround fptosi.sat fptoui.sat is.fpclass ptrmask";
    name.strip_prefix("llvm.").is_some_and(|rest| NAMES.split_whitespace().any(|n| n == rest))
}

impl<'l, 'm> FunctionLowering<'l, 'm> {
    pub(super) fn intrinsic_call(&mut self, inst: Value<'m>, name: &str) {
        if is_silent(name) {
            return;
        }
        match name {
            "llvm.is.constant" => self.constant_result(inst, 0),
            "llvm.objectsize" => {
                // Unknown: 0 if the smallest possible size was asked for, else the largest.
                let smallest = inst.operand(1).as_u64() == Some(1);
                let bits = types::shape(inst.ty()).bits().unwrap_or(64);
                self.constant_result(
                    inst,
                    if smallest { 0 } else { u64::MAX >> (64 - bits.min(64)) },
                );
            }
            "llvm.fmuladd" => self.multiply_add(inst),
            "llvm.load.relative" => self.load_relative(inst),
            "llvm.threadlocal.address" => self.thread_local_address(inst),
            "llvm.x86.sse2.pause" => self.spin_hint(),
            "llvm.x86.sse2.mfence" | "llvm.x86.sse2.lfence" | "llvm.x86.sse.sfence" => {
                self.emit_fence();
            }
            // The VM's clock answers.
            "llvm.x86.rdtsc" | "llvm.x86.rdtscp" => self.plain_call(inst),
            _ if name.starts_with("llvm.x86.") => self.call_assembly(inst),
            _ if name.starts_with("llvm.vector.reduce.") => self.reduce(inst, name),
            _ if inst.ty().is_vector() && is_elementwise(name) => self.elementwise(inst, name),
            _ => self.plain_call(inst),
        }
    }

    fn constant_result(&mut self, inst: Value<'m>, value: u64) {
        let (dst, src) = (self.result(inst), self.word(value));
        self.copy(dst, src, 1);
    }

    pub(super) fn spin_hint(&mut self) {
        let site = self.site(AccessKind::None, None);
        self.emit_at(Inst::SpinHint { site }, site);
    }

    fn thread_local_address(&mut self, inst: Value<'m>) {
        let dst = self.result(inst);
        match self.lowering.number(inst.operand(0)) {
            Ok(Number { symbol: Symbol::ThreadLocals, value }) => {
                self.emit(Inst::ThreadLocal { dst, offset: value as u32 });
            }
            Ok(Number { symbol: Symbol::ExternalThreadLocal(external), value }) => {
                self.emit(Inst::ExternalThreadLocal { dst, external });
                if value != 0 {
                    self.add_offset(dst, dst, value as i64);
                }
            }
            _ => {
                let src = self.register(inst.operand(0));
                self.copy(dst, src, 1);
            }
        }
    }

    /// `a * b + c`, rounded twice as a processor without a fused instruction does.
    fn multiply_add(&mut self, inst: Value<'m>) {
        let dst = self.result(inst);
        let operands = [0, 1, 2].map(|i| self.register(inst.operand(i)));
        let Some(lanes) = self.lanes(inst.ty()) else {
            return self.multiply_add_scalar(inst, inst.ty(), dst, operands);
        };
        self.each_lane(lanes, dst, |this, lane, dst| {
            let operands = operands.map(|register| this.lane(register, lanes, lane));
            this.multiply_add_scalar(inst, lanes.element, dst, operands);
        });
    }

    fn multiply_add_scalar(
        &mut self,
        inst: Value<'m>,
        ty: Type<'m>,
        dst: Reg,
        [a, b, c]: [Reg; 3],
    ) {
        let shape = types::shape(ty);
        let product = self.temporary(self.slots(ty));
        let steps = (
            binary(Op::LLVMFMul, shape, product, a, b),
            binary(Op::LLVMFAdd, shape, dst, product, c),
        );
        match steps {
            (Some(multiply), Some(add)) => {
                self.emit(multiply);
                self.emit(add);
            }
            _ => self.trap(short(inst)),
        }
    }

    /// `base + *(i32 *)(base + offset)`: a table of addresses relative to itself.
    fn load_relative(&mut self, inst: Value<'m>) {
        let (base, offset) = (inst.operand(0), inst.operand(1));
        let bits = types::shape(offset.ty()).bits().unwrap_or(64);
        let dst = self.result(inst);
        let (ptr, index) = (self.register(base), self.register(offset));
        let (at, entry) = (self.temporary(1), self.temporary(1));
        self.emit(Inst::Sext { dst: at, src: index, from: bits, to: 64 });
        self.emit(Inst::Add64 { dst: at, a: ptr, b: at });
        let site = self.site(AccessKind::Plain, None);
        self.emit_at(Inst::Load32 { dst: entry, ptr: at, site }, site);
        self.emit(Inst::Sext { dst: entry, src: entry, from: 32, to: 64 });
        self.emit(Inst::Add64 { dst, a: ptr, b: entry });
    }

    /// One call of the scalar intrinsic for each lane.
    fn elementwise(&mut self, inst: Value<'m>, name: &str) {
        let Some(lanes) = self.lanes(inst.ty()) else { return self.trap(short(inst)) };
        let dst = self.result(inst);
        let operands: Vec<(Value<'m>, Reg)> =
            inst.arguments().into_iter().map(|a| (a, self.register(a))).collect();
        self.each_lane(lanes, dst, |this, lane, dst| {
            let args = operands.iter().map(|(value, register)| {
                let (reg, ty) = match this.lanes(value.ty()) {
                    Some(lanes) => (this.lane(*register, lanes, lane), lanes.element),
                    None => (*register, value.ty()),
                };
                let abi = types::abi(this.lowering.layout, ty, false);
                Arg { reg, slots: this.slots(ty), abi }
            });
            let args: Vec<Arg> = args.collect();
            this.scalar_call(inst, name, lanes.element, dst, args);
        });
    }

    fn scalar_call(
        &mut self,
        inst: Value<'m>,
        name: &str,
        result: Type<'m>,
        dst: Reg,
        args: Vec<Arg>,
    ) {
        let (slots, abi) = (self.slots(result), types::abi(self.lowering.layout, result, false));
        let params = args.iter().map(|arg| arg.abi.clone()).collect();
        let signature = Signature { params, result: abi.clone(), variadic: false };
        let function = self.lowering.scalar_intrinsic(name, signature);
        let arity = Arity { fixed: args.len() as u32, variadic: false };
        let result = CallResult { dst, slots, abi };
        self.emit_call(inst, Callee::Function(function), args, result, arity, None);
    }

    /// `llvm.vector.reduce.*`: a chain over the lanes.
    fn reduce(&mut self, inst: Value<'m>, name: &str) {
        let operation = name.trim_start_matches("llvm.vector.reduce.");
        let arguments = inst.arguments();
        let Some((vector, start)) = arguments.split_last() else { return self.trap(short(inst)) };
        let Some(lanes) = self.lanes(vector.ty()) else { return self.trap(short(inst)) };
        let dst = self.result(inst);
        let slots = self.slots(lanes.element);
        let source = self.register(*vector);
        let mut first = 0;
        match start.first() {
            // The floating-point sums and products start with a value of their own.
            Some(start) => {
                let start = self.register(*start);
                self.copy(dst, start, slots);
            }
            None => {
                let lane = self.lane(source, lanes, 0);
                self.copy(dst, lane, slots);
                first = 1;
            }
        }
        for lane in first..lanes.count {
            let mark = self.mark();
            let b = self.lane(source, lanes, lane);
            self.reduce_step(inst, operation, lanes.element, dst, b);
            self.release(mark);
        }
    }

    /// `dst = operation(dst, b)`.
    fn reduce_step(&mut self, inst: Value<'m>, operation: &str, ty: Type<'m>, dst: Reg, b: Reg) {
        let shape = types::shape(ty);
        let opcode = match operation {
            "add" => Some(Op::LLVMAdd),
            "mul" => Some(Op::LLVMMul),
            "and" => Some(Op::LLVMAnd),
            "or" => Some(Op::LLVMOr),
            "xor" => Some(Op::LLVMXor),
            "fadd" => Some(Op::LLVMFAdd),
            "fmul" => Some(Op::LLVMFMul),
            _ => None,
        };
        if let Some(opcode) = opcode {
            return match binary(opcode, shape, dst, dst, b) {
                Some(step) => self.emit(step),
                None => self.trap(short(inst)),
            };
        }
        let predicate = match operation {
            "smax" => Some(LLVMIntPredicate::LLVMIntSGT),
            "smin" => Some(LLVMIntPredicate::LLVMIntSLT),
            "umax" => Some(LLVMIntPredicate::LLVMIntUGT),
            "umin" => Some(LLVMIntPredicate::LLVMIntULT),
            _ => None,
        };
        if let (Some(predicate), Shape::Int(_)) = (predicate, shape) {
            let cond = self.temporary(1);
            let Some(test) = compare(predicate, shape, cond, dst, b) else {
                return self.trap(short(inst));
            };
            self.emit(test);
            let slots = self.slots(ty);
            return self.emit(Inst::Select { dst, cond, a: dst, b, slots });
        }
        let scalar = match operation {
            "fmax" => "llvm.maxnum",
            "fmin" => "llvm.minnum",
            "fmaximum" => "llvm.maximum",
            "fminimum" => "llvm.minimum",
            _ => return self.trap(short(inst)),
        };
        let (slots, abi) = (self.slots(ty), types::abi(self.lowering.layout, ty, false));
        let args = [dst, b].map(|reg| Arg { reg, slots, abi: abi.clone() }).to_vec();
        self.scalar_call(inst, scalar, ty, dst, args);
    }
}
