//! Address computations (`getelementptr`) as sums.

use crate::ir::{DataLayout, Type, Value};

/// One summand of an address computation, in the order of the source.
#[derive(Clone, Copy)]
pub(crate) enum Term<'m> {
    /// A field or a constant index: so many bytes. `first` if it steps over whole objects (`p[3]`).
    Constant { bytes: i64, first: bool },
    /// `index * scale` bytes, the index being signed.
    Scaled { index: Value<'m>, scale: u64 },
}

/// The summands of a `getelementptr` instruction or constant expression, after its base (operand 0).
pub(crate) fn terms<'m>(layout: DataLayout<'m>, gep: Value<'m>) -> Vec<Term<'m>> {
    let mut ty = gep.gep_source_type();
    let mut terms = Vec::new();
    for (position, index) in gep.operands().skip(1).enumerate() {
        let first = position == 0;
        if !first && ty.is_struct() {
            // Of a vector of addresses the field number is a splat.
            let number = index.as_u64().or_else(|| index.element(0)?.as_u64()).unwrap_or(0) as u32;
            let Some(field) = ty.field(number) else { break };
            terms.push(Term::Constant { bytes: layout.offset(ty, number) as i64, first: false });
            ty = field;
            continue;
        }
        if !first {
            ty = element_type(ty);
        }
        // Elements of a vector in memory are packed, but Clang never indexes one of odd width.
        let scale = layout.size(ty);
        match constant_index(index) {
            Some(number) => {
                terms.push(Term::Constant { bytes: number.wrapping_mul(scale as i64), first });
            }
            None => terms.push(Term::Scaled { index, scale }),
        }
    }
    terms
}

fn element_type<'m>(ty: Type<'m>) -> Type<'m> {
    ty.elements().map_or(ty, |(element, _)| element)
}

fn constant_index(index: Value<'_>) -> Option<i64> {
    if index.is_zero() && !index.ty().is_vector() {
        return Some(0);
    }
    index.as_i64().or_else(|| index.as_u128().map(|wide| wide as i64))
}

/// The sum, if all summands are constant.
pub(crate) fn constant_offset<'m>(layout: DataLayout<'m>, gep: Value<'m>) -> Option<i64> {
    terms(layout, gep).into_iter().try_fold(0i64, |sum, term| match term {
        Term::Constant { bytes, .. } => Some(sum.wrapping_add(bytes)),
        Term::Scaled { .. } => None,
    })
}
