//! Local variables: which values and which places of the frame they name.

use llvm_sys::LLVMOpcode as Op;
use rustc_hash::FxHashMap;
use unravel_code::Local;
use unravel_code::names::TypeId;

use super::DebugInfo;
use crate::ir::Value;

#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) ty: Option<TypeId>,
}

/// The names that debug intrinsics give to the values of one function.
#[derive(Default)]
pub(crate) struct Names<'m> {
    /// Values that are the address of a variable.
    addresses: FxHashMap<Value<'m>, Variable>,
    /// Values that a variable takes, with the intrinsic that says so. One value may be taken by several.
    values: FxHashMap<Value<'m>, Vec<(Variable, Value<'m>)>>,
}

impl<'m> DebugInfo<'m> {
    pub(crate) fn local_names(&mut self, function: Value<'m>) -> Names<'m> {
        let mut names = Names::default();
        if function.subprogram().is_none() {
            return names;
        }
        for inst in function.blocks().flat_map(|block| block.instructions()) {
            if inst.opcode() == Some(Op::LLVMCall) {
                self.read_intrinsic(inst, &mut names);
            }
        }
        names
    }

    fn read_intrinsic(&mut self, call: Value<'m>, names: &mut Names<'m>) -> Option<()> {
        let callee = call.callee();
        if !callee.is_function() {
            return None;
        }
        let declares = match self.module.intrinsic_base_name(callee)?.as_str() {
            "llvm.dbg.declare" => true,
            "llvm.dbg.value" | "llvm.dbg.assign" => false,
            _ => return None,
        };
        let [value, variable, expression, ..] = call.arguments()[..] else { return None };
        let value = value.as_metadata()?.wrapped_value(self.module)?;
        let expression = expression.as_metadata()?;
        let empty = self.module.is_empty_expression(expression);
        let deref = self.module.is_deref_expression(expression);
        // Operands of a variable: scope, name, file, type.
        let node = variable.as_metadata()?;
        let name = node.string(self.module, 1)?;
        let ty = node.operand(self.module, 3).map(|ty| self.types.intern(ty));
        let variable = Variable { name, ty };
        match (declares, empty, deref) {
            // A declared variable is at the value; so is one whose value is found by dereferencing it.
            (true, true, _) | (false, _, true) => {
                names.addresses.entry(value).or_insert(variable);
            }
            (false, true, _) if !value.is_constant() => {
                names.values.entry(value).or_default().push((variable, call));
            }
            // A part of a variable, or a computed value.
            _ => {}
        }
        Some(())
    }
}

impl<'m> Names<'m> {
    /// The variable whose address a value is.
    pub(super) fn at_address(&self, value: Value<'m>) -> Option<&Variable> {
        self.addresses.get(&value)
    }

    /// The variable that has this value at an instruction. Among several the one that took it last
    /// before, in the same block; else the first.
    pub(super) fn of_value(&self, value: Value<'m>, at: Value<'m>) -> Option<&Variable> {
        let candidates = self.values.get(&value)?;
        if let [(only, _)] = candidates.as_slice() {
            return Some(only);
        }
        let block = at.block()?;
        let mut best = None;
        if candidates.iter().any(|(_, taken)| taken.block() == Some(block)) {
            for inst in block.instructions().take_while(|inst| *inst != at) {
                let taken = candidates.iter().find(|(_, taken)| *taken == inst);
                best = taken.map(|(variable, _)| variable).or(best);
            }
        }
        best.or_else(|| candidates.first().map(|(variable, _)| variable))
    }

    /// The named locals of the frame, given the offset and size of each alloca.
    pub(crate) fn frame_locals(&self, offsets: &[(Value<'m>, u32, u32)]) -> Vec<Local> {
        let named = offsets.iter().filter_map(|(alloca, offset, bytes)| {
            let variable = self.addresses.get(alloca)?;
            let (name, ty) = (variable.name.clone(), variable.ty);
            Some(Local { name, offset: *offset, bytes: *bytes, ty })
        });
        let mut locals: Vec<Local> = named.collect();
        locals.sort_by_key(|local| local.offset);
        locals
    }
}
