//! The backend of [`crate::Solver`] on the system's Z3.
//!
//! [`solver`] asks, [`slice`] asks about bit-vectors alone, [`library`] holds the foreign functions, [`answer`] reads what comes back. What is asked is text
//! from [`crate::smt`]; [`Z3::dump`] gives it as a file that `z3` accepts.

mod answer;
mod library;
mod slice;
mod solver;

pub(crate) use slice::{Bits, Decided, decide_bits};
pub use solver::{Engine, Z3};

#[cfg(test)]
mod tests {
    use unravel_trace::{
        BinaryOp, CompareOp, ConvertOp, ExprId, Exprs, FloatOp, Rng, SymbolId, mask,
    };

    use super::library::{Context, Decider, Status};
    use crate::smt::expressions::{Expressions, symbol_name};
    use crate::smt::text::{Script, bits};

    /// Z3 agrees with our own evaluation of an expression over two symbols of so many bits.
    fn agrees(exprs: &Exprs, root: ExprId, wide: u8, values: [u128; 2]) {
        let expected = exprs.evaluate(root, &|symbol| values[symbol.0 as usize]);
        let mut script = Script::default();
        for (index, value) in values.iter().enumerate() {
            let name = symbol_name(SymbolId(index as u32));
            script.define_bits(&name, wide.into(), &bits(*value, wide.into()));
        }
        let term = Expressions::new(exprs).term(&mut script, root);
        let expected = bits(expected, exprs.bits(root).into());
        script.text.push_str(&format!("(assert (not (= {term} {expected})))"));
        let context = Context::new(&[]).expect("a context");
        let mut decider = Decider::new(&context, &[]).expect("a solver");
        decider.read(&script.text).expect("well-formed text");
        let status = decider.check(&[], None).expect("no assumptions");
        assert_eq!(status, Status::Unsatisfiable, "{}", script.text);
    }

    #[test]
    fn bit_vectors_mean_the_same_to_z3() {
        use BinaryOp::*;
        let mut rng = Rng::new(7);
        for wide in [1u8, 8, 32, 128] {
            for round in 0..6 {
                let word = |rng: &mut Rng| u128::from(rng.word()) << 64 | u128::from(rng.word());
                let small = |v: u128| if round % 2 == 0 { v % 9 } else { v };
                let values = [word(&mut rng), small(word(&mut rng))].map(|v| v & mask(wide));
                let mut exprs = Exprs::default();
                let a = exprs.symbol(SymbolId(0), wide);
                let b = exprs.symbol(SymbolId(1), wide);
                let ops = [Add, Sub, Mul, UDiv, SDiv, URem, SRem, And, Or, Xor, Shl, LShr, AShr];
                let mut roots: Vec<ExprId> = ops.map(|op| exprs.binary(op, a, b)).to_vec();
                for op in
                    [CompareOp::Eq, CompareOp::Ult, CompareOp::Ule, CompareOp::Slt, CompareOp::Sle]
                {
                    let bit = exprs.compare(op, a, b);
                    roots.push(exprs.ite(bit, b, a));
                    roots.push(bit);
                }
                if wide < 64 {
                    let pair = exprs.concat(a, b);
                    roots.push(exprs.sign_extend(pair, 2 * wide + 3));
                    roots.push(exprs.zero_extend(pair, 2 * wide + 3));
                    roots.push(exprs.extract(pair, wide / 2, wide));
                }
                for root in roots {
                    agrees(&exprs, root, wide, values);
                }
            }
        }
    }

    #[test]
    fn floats_mean_the_same_to_z3() {
        let pairs = [(1.5, -0.25), (7.0, 2.5), (-7.5, 2.0), (5.75, -1.5), (0.1, 0.2), (3.0, 3.0)];
        for (x, y) in pairs {
            for wide in [32u8, 64] {
                let raw = |v: f64| match wide {
                    32 => u128::from((v as f32).to_bits()),
                    _ => u128::from(v.to_bits()),
                };
                let mut exprs = Exprs::default();
                let a = exprs.symbol(SymbolId(0), wide);
                let b = exprs.symbol(SymbolId(1), wide);
                let ops = [FloatOp::Add, FloatOp::Sub, FloatOp::Mul, FloatOp::Div, FloatOp::Rem];
                let mut roots: Vec<ExprId> = ops.map(|op| exprs.float(op, a, b)).to_vec();
                roots.extend((0..16).map(|predicate| exprs.float_compare(predicate, a, b)));
                roots.push(exprs.convert(ConvertOp::FloatToSigned, a, 16));
                roots.push(exprs.convert(ConvertOp::SignedToFloat, a, 64));
                roots.push(exprs.convert(ConvertOp::UnsignedToFloat, b, 32));
                roots.push(exprs.convert(ConvertOp::FloatToFloat, b, 96 - wide));
                for root in roots {
                    agrees(&exprs, root, wide, [raw(x), raw(y)]);
                }
                let nan = [raw(f64::NAN), raw(y)];
                for predicate in 0..16 {
                    let root = exprs.float_compare(predicate, a, b);
                    agrees(&exprs, root, wide, nan);
                }
            }
        }
    }
}
