//! Paths: what the programmer wrote for the object that an instruction accesses (`head->next->value`).
//!
//! A path is rebuilt from the computation of the address: a variable, the fields and elements selected
//! by it, the pointers loaded on the way. Where a step has no name the path is left out: it never names
//! something else. (An exception is a variable copied to another and then changed: the path may use the
//! name of either.)

use llvm_sys::LLVMOpcode as Op;
use unravel_code::names::{Type, TypeId, enclosed, join};
use unravel_trace::Shape;

use super::DebugInfo;
use super::types::TypeBuilder;
use super::variables::Names;
use crate::ir::Value;
use crate::lower::gep;
use crate::lower::gep::Term;

/// How much of the object is meant.
#[derive(Clone, Copy)]
pub(crate) enum Spot {
    /// An access to so many bytes.
    Bytes(u64),
    /// The object at the address, of so many bytes if known.
    Object(Option<u64>),
}

/// Steps from a variable to the object, beyond which a path is not worth reading.
const STEPS: u32 = 10;
const LONGEST: usize = 100;

/// An object that has a name.
pub(crate) struct Named {
    pub text: String,
    pub shape: Shape,
    /// 0 if nobody knows.
    pub bytes: u64,
}

/// A place in memory: byte `offset` of what `text` names.
#[derive(Clone)]
struct Target {
    text: String,
    /// `text` is a pointer to the object, not the object.
    pointer: bool,
    /// The type of the object.
    ty: Option<TypeId>,
    offset: i64,
}

impl<'m> DebugInfo<'m> {
    /// What the object is called that `pointer`, used by instruction `at`, points to.
    pub(crate) fn path(
        &mut self,
        names: &Names<'m>,
        pointer: Value<'m>,
        at: Value<'m>,
        spot: Spot,
    ) -> Option<Named> {
        let target = self.target(names, pointer, at, STEPS)?;
        let (text, ty) = finish(&self.types, target, spot)?;
        let shape = ty.map_or(Shape::Unknown, |ty| self.types.table.shape(ty));
        let bytes = ty.map_or(0, |ty| self.types.table.bytes(ty));
        (text.len() <= LONGEST).then_some(Named { text, shape, bytes })
    }

    /// The object whose address a call hands over: its name, whether that is a pointer to it, and its type. `bytes` is how much of
    /// it the callee asks for.
    pub(crate) fn handed(
        &mut self,
        names: &Names<'m>,
        pointer: Value<'m>,
        at: Value<'m>,
        bytes: u64,
    ) -> Option<(String, bool, TypeId)> {
        let target = self.target(names, pointer, at, STEPS)?;
        let is_pointer = target.pointer;
        let before = target.text.clone();
        let (text, ty) = finish(&self.types, target, Spot::Object(Some(bytes)))?;
        let ty = ty.filter(|ty| self.types.table.bytes(*ty) > 0)?;
        let is_pointer = is_pointer && text == before;
        (text.len() <= LONGEST).then_some((text, is_pointer, ty))
    }

    /// What the object is whose address a call returns: what a constructor makes of it, or what the variable or member points to that
    /// takes the address.
    pub(crate) fn made(&mut self, names: &Names<'m>, call: Value<'m>) -> Option<TypeId> {
        let mut found = None;
        for user in call.users() {
            if user.is_call() && user.arguments().first() == Some(&call) {
                let callee = user.callee();
                let name = if callee.is_function() { callee.name() } else { String::new() };
                if name.starts_with("_ZN") && ["C1E", "C2E"].iter().any(|mark| name.contains(mark))
                {
                    found = self.parameter(callee, 0);
                    break;
                }
            } else if user.opcode() == Some(Op::LLVMStore) && user.operand(0) == call {
                let slot = self.target(names, user.operand(1), user, STEPS);
                let ty = slot.and_then(|slot| finish(&self.types, slot, Spot::Bytes(8))?.1);
                found = found.or_else(|| self.types.pointee(ty?));
            }
        }
        let variable = || self.types.pointee(names.of_value(call, call)?.ty?);
        let ty = found.or_else(variable)?;
        self.types.table.class(ty).is_some().then_some(ty)
    }

    fn target(
        &mut self,
        names: &Names<'m>,
        pointer: Value<'m>,
        at: Value<'m>,
        steps: u32,
    ) -> Option<Target> {
        let steps = steps.checked_sub(1)?;
        let object = |text: String, ty| Target { text, pointer: false, ty, offset: 0 };
        if pointer.is_global_variable() {
            if let Some(variable) = self.global(pointer) {
                return Some(object(variable.name.clone(), variable.ty));
            }
            // Of a variable of a library (`stdout`) only the symbol is known; that of C++ is unreadable.
            let symbol = pointer.name();
            let readable = pointer.is_declaration() && !symbol.starts_with("_Z");
            return readable.then(|| object(symbol, None));
        }
        if let Some(variable) = names.at_address(pointer) {
            return Some(object(variable.name.clone(), variable.ty));
        }
        if pointer.is_alias() {
            return self.target(names, pointer.aliasee()?, at, steps);
        }
        if let Some(variable) = names.of_value(pointer, at) {
            return Some(self.dereference(variable.name.clone(), variable.ty));
        }
        match pointer.opcode().or(pointer.constant_opcode())? {
            Op::LLVMGetElementPtr => self.member(names, pointer, at, steps),
            Op::LLVMBitCast | Op::LLVMFreeze | Op::LLVMAddrSpaceCast => {
                self.target(names, pointer.operand(0), at, steps)
            }
            Op::LLVMLoad => {
                let (text, ty) = self.value(names, pointer, at, steps)?;
                Some(self.dereference(text, ty))
            }
            Op::LLVMCall | Op::LLVMInvoke => {
                let callee = pointer.callee();
                match callee.is_function().then(|| callee.name())?.as_str() {
                    "__errno_location" => Some(object("errno".to_owned(), None)),
                    name if name.starts_with("llvm.threadlocal.address") => {
                        self.target(names, pointer.operand(0), at, steps)
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// What a pointer (or reference) called `text` of type `ty` points to.
    fn dereference(&self, text: String, ty: Option<TypeId>) -> Target {
        let reference = ty.is_some_and(|ty| self.types.is_reference(ty));
        let pointee = ty.and_then(|ty| self.types.pointee(ty));
        Target { text, pointer: !reference, ty: pointee, offset: 0 }
    }

    /// A `getelementptr`: fields and elements of its base.
    fn member(
        &mut self,
        names: &Names<'m>,
        gep: Value<'m>,
        at: Value<'m>,
        steps: u32,
    ) -> Option<Target> {
        let mut target = self.target(names, gep.operand(0), at, steps)?;
        let layout = self.module.layout();
        let terms = gep::terms(layout, gep);
        let source = gep.gep_source_type();
        if source.is_struct() && terms.len() > 1 {
            self.retype(
                &mut target,
                &source.struct_name().unwrap_or_default(),
                layout.size(source),
            );
        }
        let subscript = terms.len() == 1;
        for term in terms {
            match term {
                Term::Constant { bytes, first } => {
                    let step = layout.size(source).max(1) as i64;
                    let whole =
                        target.ty.is_none_or(|ty| self.types.table.bytes(ty) == step as u64);
                    if first && subscript && target.pointer && target.offset == 0 && whole {
                        target.text = format!("{}[{}]", enclosed(&target.text), bytes / step);
                        target.pointer = false;
                    } else {
                        target.offset = target.offset.wrapping_add(bytes);
                    }
                }
                Term::Scaled { index, scale } => {
                    let index = self.value(names, index, at, steps).map(|(text, _)| text);
                    let index = index.unwrap_or_else(|| "..".to_owned());
                    target = element(&self.types, target, &index, scale)?;
                }
            }
        }
        Some(target)
    }

    /// The instruction treats the object as the named struct: what it was cast to.
    fn retype(&self, target: &mut Target, struct_name: &str, bytes: u64) {
        let fits = |ty: TypeId| {
            let size = self.types.table.bytes(ty);
            let aggregate =
                matches!(self.types.table.get(ty), Type::Struct { .. } | Type::Union { .. });
            // A class may be laid out as a shorter struct when it is a base.
            aggregate && size == bytes || size > bytes && !target.pointer
        };
        if target.ty.is_some_and(fits) || target.offset != 0 {
            return;
        }
        if let Some(ty) = self.types.named(struct_name) {
            target.ty = Some(ty);
        }
    }

    /// The text and type of a value that was read from a variable, or computed simply.
    fn value(
        &mut self,
        names: &Names<'m>,
        value: Value<'m>,
        at: Value<'m>,
        steps: u32,
    ) -> Option<(String, Option<TypeId>)> {
        let steps = steps.checked_sub(1)?;
        if let Some(number) = value.as_i64() {
            return Some((number.to_string(), None));
        }
        if let Some(variable) = names.of_value(value, at) {
            return Some((variable.name.clone(), variable.ty));
        }
        let operator = match value.opcode()? {
            Op::LLVMLoad => {
                let target = self.target(names, value.operand(0), at, steps)?;
                let bytes = self.module.layout().store_size(value.ty());
                return finish(&self.types, target, Spot::Bytes(bytes));
            }
            Op::LLVMSExt | Op::LLVMZExt | Op::LLVMTrunc | Op::LLVMFreeze | Op::LLVMBitCast => {
                return self.value(names, value.operand(0), at, steps);
            }
            Op::LLVMAdd => "+",
            Op::LLVMSub => "-",
            Op::LLVMMul => "*",
            Op::LLVMSRem | Op::LLVMURem => "%",
            Op::LLVMSDiv | Op::LLVMUDiv => "/",
            Op::LLVMAnd => "&",
            Op::LLVMOr => "|",
            Op::LLVMXor => "^",
            Op::LLVMShl => "<<",
            Op::LLVMLShr | Op::LLVMAShr => ">>",
            _ => return None,
        };
        let (left, _) = self.value(names, value.operand(0), at, steps)?;
        let (right, _) = self.value(names, value.operand(1), at, steps)?;
        let text = match (operator, right.strip_prefix('-')) {
            // `i + -1`
            ("+", Some(positive)) => format!("{left}-{positive}"),
            ("+" | "-", _) => format!("{left}{operator}{right}"),
            _ => format!("{}{operator}{}", enclosed(&left), enclosed(&right)),
        };
        Some((text, None))
    }
}

/// Element `index` of the array (of elements of `scale` bytes) at a target, or of what a pointer points to.
fn element(types: &TypeBuilder<'_>, target: Target, index: &str, scale: u64) -> Option<Target> {
    let steps_over = target.ty.is_none_or(|ty| types.table.bytes(ty) == scale);
    if target.pointer && target.offset == 0 && steps_over {
        let text = format!("{}[{index}]", enclosed(&target.text));
        return Some(Target { text, pointer: false, ..target });
    }
    let (mut ty, mut offset) = (target.ty?, u64::try_from(target.offset).ok()?);
    let mut suffix = String::new();
    for _ in 0..16 {
        if let Type::Array { element, .. } = types.table.get(ty)
            && types.table.bytes(*element) == scale
        {
            let first = offset / scale.max(1);
            let shifted = if first == 0 { String::new() } else { format!("+{first}") };
            suffix.push_str(&format!("[{index}{shifted}]"));
            let text = join(&target.text, target.pointer, &suffix);
            let offset = (offset % scale.max(1)) as i64;
            return Some(Target { text, pointer: false, ty: Some(*element), offset });
        }
        (ty, offset) = descend(types, ty, offset, &mut suffix)?;
    }
    None
}

/// The member of a type that contains a byte: appends its name and returns its type and the rest of the
/// offset.
fn descend(
    types: &TypeBuilder<'_>,
    ty: TypeId,
    offset: u64,
    suffix: &mut String,
) -> Option<(TypeId, u64)> {
    match types.table.get(ty) {
        Type::Array { element, count, .. } => {
            let step = types.table.bytes(*element).max(1);
            let index = offset / step;
            // An array of 0 elements at the end of a struct has as many as were allocated.
            (index < *count || *count == 0).then(|| {
                suffix.push_str(&format!("[{index}]"));
                (*element, offset % step)
            })
        }
        Type::Struct { fields, .. } | Type::Union { fields, .. } => {
            let contains = |field: &&unravel_code::names::Field| {
                let open = matches!(types.table.get(field.ty), Type::Array { count: 0, .. });
                let bytes = types.table.bytes(field.ty);
                field.offset <= offset && (offset < field.offset + bytes || open)
            };
            let field = fields.iter().find(contains)?;
            if !field.name.is_empty() {
                suffix.push_str(&format!(".{}", field.name));
            }
            Some((field.ty, offset - field.offset))
        }
        Type::Base { .. } | Type::Pointer { .. } => None,
    }
}

/// The text of a target, with the members that lead to its byte, and the type found there.
fn finish(types: &TypeBuilder<'_>, target: Target, spot: Spot) -> Option<(String, Option<TypeId>)> {
    let Some(ty) = target.ty else {
        let pointer = target.pointer && matches!(spot, Spot::Bytes(_));
        return (target.offset == 0).then(|| (join(&target.text, pointer, ""), None));
    };
    let mut target = target;
    let bytes = types.table.bytes(ty).max(1) as i64;
    if target.pointer && !(0..bytes).contains(&target.offset) {
        // Behind or before the first element that the pointer points to.
        let index = target.offset.div_euclid(bytes);
        target.text = format!("{}[{index}]", enclosed(&target.text));
        target.pointer = false;
        target.offset = target.offset.rem_euclid(bytes);
    }
    let mut ty = ty;
    let mut offset = u64::try_from(target.offset).ok()?;
    let mut suffix = String::new();
    for _ in 0..32 {
        let enough = match spot {
            Spot::Object(None) => offset == 0,
            Spot::Object(Some(bytes)) => types.table.bytes(ty) <= bytes,
            Spot::Bytes(_) => false,
        };
        if enough {
            break;
        }
        let before = suffix.len();
        let Some((member, rest)) = descend(types, ty, offset, &mut suffix) else { break };
        if let Spot::Bytes(bytes) = spot {
            // The access covers more than this member: it means the whole.
            if types.table.bytes(member) < bytes && offset == 0 {
                suffix.truncate(before);
                break;
            }
        }
        (ty, offset) = (member, rest);
    }
    let text = match spot {
        // The programmer passed the pointer, and calls what it points to by it.
        Spot::Object(_) if suffix.is_empty() => target.text,
        _ => join(&target.text, target.pointer, &suffix),
    };
    match offset {
        0 => Some((text, Some(ty))),
        _ => Some((format!("{text}+{offset}"), None)),
    }
}
