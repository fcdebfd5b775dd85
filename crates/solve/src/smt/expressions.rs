//! Expressions as bit-vector terms.
//!
//! Each node that is needed becomes one definition, so that the text is linear in the graph. Floats go through the
//! theory of floating-point numbers and back by Z3's own `fp.to_ieee_bv`.
//!
//! *Approximated*: which bits a NaN has, and what a float becomes that does not fit the integer it is converted to.
//! An answer that depends on either may fail its check by evaluation; it is never taken unchecked.

use unravel_trace::{BinaryOp, CompareOp, ConvertOp, ExprId, Exprs, FloatOp, Node, SymbolId};

use super::text::{Script, bits};

/// Defines nodes on demand.
#[derive(Debug)]
pub(crate) struct Expressions<'m> {
    exprs: &'m Exprs,
    defined: Vec<bool>,
}

impl<'m> Expressions<'m> {
    pub fn new(exprs: &'m Exprs) -> Expressions<'m> {
        Expressions { exprs, defined: vec![false; exprs.len()] }
    }

    /// The term of an expression; what it is made of is defined before, and symbols as [`symbol_name`].
    pub fn term(&mut self, script: &mut Script, root: ExprId) -> String {
        let mut needed: Vec<ExprId> = Vec::new();
        let mut todo = vec![root];
        while let Some(next) = todo.pop() {
            if std::mem::replace(&mut self.defined[next.index()], true) {
                continue;
            }
            needed.push(next);
            self.exprs.node(next).operands(|of| todo.push(of));
        }
        // Operands have smaller numbers.
        needed.sort();
        for id in needed {
            if !matches!(self.exprs.node(id), Node::Const(_) | Node::Symbol(_)) {
                let term = self.operation(id);
                script.define_bits(&format!("e{}", id.0), self.width(id), &term);
            }
        }
        self.name(root)
    }

    fn width(&self, id: ExprId) -> u32 {
        u32::from(self.exprs.bits(id))
    }

    fn name(&self, id: ExprId) -> String {
        match self.exprs.node(id) {
            Node::Const(value) => bits(value, self.width(id)),
            Node::Symbol(symbol) => symbol_name(symbol),
            _ => format!("e{}", id.0),
        }
    }

    fn operation(&self, id: ExprId) -> String {
        let wide = self.width(id);
        match self.exprs.node(id) {
            Node::Const(_) | Node::Symbol(_) => self.name(id),
            Node::Binary(op, a, b) => {
                format!("({} {} {})", binary(op), self.name(a), self.name(b))
            }
            Node::Compare(op, a, b) => {
                bit(&format!("({} {} {})", compare(op), self.name(a), self.name(b)))
            }
            Node::Ite(c, a, b) => {
                format!("(ite (= {} #b1) {} {})", self.name(c), self.name(a), self.name(b))
            }
            Node::Extract(a, low) => {
                let low = u32::from(low);
                format!("((_ extract {} {low}) {})", low + wide - 1, self.name(a))
            }
            Node::Concat(a, b) => format!("(concat {} {})", self.name(a), self.name(b)),
            Node::ZeroExtend(a) => {
                format!("((_ zero_extend {}) {})", wide - self.width(a), self.name(a))
            }
            Node::SignExtend(a) => {
                format!("((_ sign_extend {}) {})", wide - self.width(a), self.name(a))
            }
            Node::Float(op, a, b) => {
                let result = float(op, &self.float_of(a), &self.float_of(b), wide);
                format!("(fp.to_ieee_bv {result})")
            }
            Node::FloatCompare(predicate, a, b) => {
                bit(&float_compare(predicate, &self.float_of(a), &self.float_of(b)))
            }
            Node::Convert(op, a) => self.convert(op, a, wide),
        }
    }

    fn float_of(&self, id: ExprId) -> String {
        format!("({} {})", to_float(self.width(id)), self.name(id))
    }

    fn convert(&self, op: ConvertOp, of: ExprId, wide: u32) -> String {
        match op {
            ConvertOp::FloatToSigned | ConvertOp::FloatToUnsigned => {
                let float = self.float_of(of);
                let sign = if op == ConvertOp::FloatToSigned { 's' } else { 'u' };
                let zero = bits(0, wide);
                format!("(ite (fp.isNaN {float}) {zero} ((_ fp.to_{sign}bv {wide}) RTZ {float}))")
            }
            ConvertOp::SignedToFloat => {
                format!("(fp.to_ieee_bv ({} RNE {}))", to_float(wide), self.name(of))
            }
            ConvertOp::UnsignedToFloat => {
                let unsigned = to_float(wide).replace("to_fp", "to_fp_unsigned");
                format!("(fp.to_ieee_bv ({unsigned} RNE {}))", self.name(of))
            }
            ConvertOp::FloatToFloat => {
                format!("(fp.to_ieee_bv ({} RNE {}))", to_float(wide), self.float_of(of))
            }
        }
    }
}

pub(crate) fn symbol_name(symbol: SymbolId) -> String {
    format!("s{}", symbol.0)
}

fn bit(condition: &str) -> String {
    format!("(ite {condition} #b1 #b0)")
}

/// The conversion to a float of so many bits.
fn to_float(wide: u32) -> &'static str {
    if wide == 32 { "(_ to_fp 8 24)" } else { "(_ to_fp 11 53)" }
}

/// [`FloatOp::Rem`] is C's `fmod`, rounded towards zero, where `fp.rem` rounds to nearest: the remainder of the
/// absolute values is lifted if it is negative, and takes the sign of the dividend.
fn float(op: FloatOp, a: &str, b: &str, wide: u32) -> String {
    let name = match op {
        FloatOp::Add => "fp.add",
        FloatOp::Sub => "fp.sub",
        FloatOp::Mul => "fp.mul",
        FloatOp::Div => "fp.div",
        FloatOp::Rem => {
            let zero = format!("({} {})", to_float(wide), bits(0, wide));
            let nearest = format!("(fp.rem (fp.abs {a}) (fp.abs {b}))");
            let lifted = format!("(ite (fp.lt r {zero}) (fp.add RNE r (fp.abs {b})) (fp.abs r))");
            return format!(
                "(let ((r {nearest})) (let ((m {lifted})) (ite (fp.isNegative {a}) (fp.neg m) m)))"
            );
        }
    };
    format!("({name} RNE {a} {b})")
}

/// As LLVM numbers predicates: bit 0 equal, bit 1 greater, bit 2 less, bit 3 unordered.
fn float_compare(predicate: u8, a: &str, b: &str) -> String {
    let mut cases = String::from("(or false");
    for (bit, name) in ["fp.eq", "fp.gt", "fp.lt"].iter().enumerate() {
        if predicate >> bit & 1 == 1 {
            cases.push_str(&format!(" ({name} {a} {b})"));
        }
    }
    if predicate >> 3 & 1 == 1 {
        cases.push_str(&format!(" (fp.isNaN {a}) (fp.isNaN {b})"));
    }
    cases.push(')');
    cases
}

fn binary(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "bvadd",
        BinaryOp::Sub => "bvsub",
        BinaryOp::Mul => "bvmul",
        BinaryOp::UDiv => "bvudiv",
        BinaryOp::SDiv => "bvsdiv",
        BinaryOp::URem => "bvurem",
        BinaryOp::SRem => "bvsrem",
        BinaryOp::And => "bvand",
        BinaryOp::Or => "bvor",
        BinaryOp::Xor => "bvxor",
        BinaryOp::Shl => "bvshl",
        BinaryOp::LShr => "bvlshr",
        BinaryOp::AShr => "bvashr",
    }
}

fn compare(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Eq => "=",
        CompareOp::Ult => "bvult",
        CompareOp::Ule => "bvule",
        CompareOp::Slt => "bvslt",
        CompareOp::Sle => "bvsle",
    }
}
