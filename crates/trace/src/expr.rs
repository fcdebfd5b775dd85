//! Expressions over what reads returned: fixed-width bit-vectors of 1 to 128 bits.
//!
//! A hash-consed graph: equal expressions are one node, and a node's operands have smaller numbers than it, so a
//! loop over the nodes visits operands first. Constants are folded while building; a few identities keep
//! expressions small. Mathematical integers (imported traces) are 64 bits wide, signed.
//!
//! Floating-point operations are nodes too, on the bits of their values, so that they can be evaluated.
//! *Not modelled*: 80-bit floats, which whoever builds an expression replaces by their concrete value.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

/// A node of [`Exprs`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct ExprId(pub u32);

impl ExprId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a read returned: the index of its access in [`crate::Symbolic::accesses`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct SymbolId(pub u32);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    And,
    Or,
    Xor,
    /// Shifts by the width or more give 0, or copies of the sign for [`BinaryOp::AShr`].
    Shl,
    LShr,
    AShr,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum CompareOp {
    Eq,
    Ult,
    Ule,
    Slt,
    Sle,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum FloatOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}

/// Between numbers; floats are 32 or 64 bits wide.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ConvertOp {
    FloatToSigned,
    FloatToUnsigned,
    SignedToFloat,
    UnsignedToFloat,
    FloatToFloat,
}

/// One operation. Operands of binary operations and comparisons have equal widths; comparisons are 1 bit wide.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Node {
    Const(u128),
    Symbol(SymbolId),
    Binary(BinaryOp, ExprId, ExprId),
    Compare(CompareOp, ExprId, ExprId),
    /// If the first (1 bit), the second, else the third.
    Ite(ExprId, ExprId, ExprId),
    /// The bits from this one on, counted from the lowest.
    Extract(ExprId, u8),
    /// High part, low part.
    Concat(ExprId, ExprId),
    ZeroExtend(ExprId),
    SignExtend(ExprId),
    Float(FloatOp, ExprId, ExprId),
    /// A predicate as LLVM numbers it: bit 0 equal, bit 1 greater, bit 2 less, bit 3 unordered.
    FloatCompare(u8, ExprId, ExprId),
    Convert(ConvertOp, ExprId),
}

impl Node {
    /// Calls `f` for each operand.
    pub fn operands(&self, mut f: impl FnMut(ExprId)) {
        match *self {
            Node::Const(_) | Node::Symbol(_) => {}
            Node::Extract(a, _)
            | Node::ZeroExtend(a)
            | Node::SignExtend(a)
            | Node::Convert(_, a) => f(a),
            Node::Binary(_, a, b)
            | Node::Compare(_, a, b)
            | Node::Concat(a, b)
            | Node::Float(_, a, b)
            | Node::FloatCompare(_, a, b) => {
                f(a);
                f(b);
            }
            Node::Ite(a, b, c) => {
                f(a);
                f(b);
                f(c);
            }
        }
    }
}

/// All expressions of one symbolic trace.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Exprs {
    nodes: Vec<Node>,
    bits: Vec<u8>,
    /// Rebuilt when an expression is added to a graph that was read from a file.
    #[serde(skip)]
    known: FxHashMap<(Node, u8), ExprId>,
}

/// `known` only mirrors the others.
impl PartialEq for Exprs {
    fn eq(&self, other: &Exprs) -> bool {
        (&self.nodes, &self.bits) == (&other.nodes, &other.bits)
    }
}

impl Eq for Exprs {}

impl Exprs {
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub fn node(&self, id: ExprId) -> Node {
        self.nodes[id.index()]
    }

    /// The width of an expression.
    pub fn bits(&self, id: ExprId) -> u8 {
        self.bits[id.index()]
    }

    pub fn iter(&self) -> impl Iterator<Item = (ExprId, Node, u8)> + '_ {
        let both = self.nodes.iter().zip(&self.bits);
        both.enumerate().map(|(i, (node, bits))| (ExprId(i as u32), *node, *bits))
    }

    /// The value, if it does not depend on any read.
    pub fn as_const(&self, id: ExprId) -> Option<u128> {
        match self.node(id) {
            Node::Const(value) => Some(value),
            _ => None,
        }
    }

    pub fn constant(&mut self, value: u128, bits: u8) -> ExprId {
        self.intern(Node::Const(value & mask(bits)), bits)
    }

    pub fn symbol(&mut self, symbol: SymbolId, bits: u8) -> ExprId {
        self.intern(Node::Symbol(symbol), bits)
    }

    pub fn binary(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> ExprId {
        debug_assert_eq!(self.bits(a), self.bits(b), "operands of {op:?}");
        if let Some(same) = self.identity(op, a, b) {
            return same;
        }
        self.build(Node::Binary(op, a, b), self.bits(a))
    }

    pub fn compare(&mut self, op: CompareOp, a: ExprId, b: ExprId) -> ExprId {
        debug_assert_eq!(self.bits(a), self.bits(b), "operands of {op:?}");
        if a == b {
            let reflexive = matches!(op, CompareOp::Eq | CompareOp::Ule | CompareOp::Sle);
            return self.constant(u128::from(reflexive), 1);
        }
        if op == CompareOp::Eq && self.bits(a) == 1 {
            // `c == 1` is c, `c == 0` is its negation.
            match (self.as_const(a), self.as_const(b)) {
                (_, Some(1)) => return a,
                (Some(1), _) => return b,
                _ => {}
            }
        }
        self.build(Node::Compare(op, a, b), 1)
    }

    pub fn eq(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.compare(CompareOp::Eq, a, b)
    }

    /// The negation of a 1-bit expression.
    pub fn not(&mut self, a: ExprId) -> ExprId {
        debug_assert_eq!(self.bits(a), 1, "negation is for single bits");
        if let Node::Binary(BinaryOp::Xor, inner, one) = self.node(a)
            && self.as_const(one) == Some(1)
        {
            return inner;
        }
        let one = self.constant(1, 1);
        self.build(Node::Binary(BinaryOp::Xor, a, one), 1)
    }

    pub fn and(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryOp::And, a, b)
    }

    pub fn ite(&mut self, condition: ExprId, then: ExprId, other: ExprId) -> ExprId {
        match self.as_const(condition) {
            Some(0) => other,
            Some(_) => then,
            None if then == other => then,
            None => self.build(Node::Ite(condition, then, other), self.bits(then)),
        }
    }

    /// `bits` bits of `of`, from bit `low` on.
    pub fn extract(&mut self, of: ExprId, low: u8, bits: u8) -> ExprId {
        debug_assert!(u16::from(low) + u16::from(bits) <= u16::from(self.bits(of)));
        if low == 0 && bits == self.bits(of) {
            return of;
        }
        match self.node(of) {
            Node::Extract(inner, more) => return self.extract(inner, low + more, bits),
            Node::Concat(high, below) => {
                let split = self.bits(below);
                if low >= split {
                    return self.extract(high, low - split, bits);
                }
                if low + bits <= split {
                    return self.extract(below, low, bits);
                }
            }
            Node::ZeroExtend(inner) => {
                let width = self.bits(inner);
                if low + bits <= width {
                    return self.extract(inner, low, bits);
                }
                if low >= width {
                    return self.constant(0, bits);
                }
            }
            Node::SignExtend(inner) if low + bits <= self.bits(inner) => {
                return self.extract(inner, low, bits);
            }
            _ => {}
        }
        self.build(Node::Extract(of, low), bits)
    }

    pub fn concat(&mut self, high: ExprId, low: ExprId) -> ExprId {
        // Two neighbouring parts of one value are a part of it.
        if let (Node::Extract(a, at), Node::Extract(b, from)) = (self.node(high), self.node(low))
            && a == b
            && at == from + self.bits(low)
        {
            return self.extract(a, from, self.bits(high) + self.bits(low));
        }
        if self.as_const(high) == Some(0) {
            return self.zero_extend(low, self.bits(high) + self.bits(low));
        }
        self.build(Node::Concat(high, low), self.bits(high) + self.bits(low))
    }

    pub fn zero_extend(&mut self, of: ExprId, bits: u8) -> ExprId {
        if bits == self.bits(of) {
            return of;
        }
        match self.node(of) {
            Node::ZeroExtend(inner) => self.build(Node::ZeroExtend(inner), bits),
            _ => self.build(Node::ZeroExtend(of), bits),
        }
    }

    pub fn sign_extend(&mut self, of: ExprId, bits: u8) -> ExprId {
        if bits == self.bits(of) {
            return of;
        }
        self.build(Node::SignExtend(of), bits)
    }

    pub fn float(&mut self, op: FloatOp, a: ExprId, b: ExprId) -> ExprId {
        self.build(Node::Float(op, a, b), self.bits(a))
    }

    pub fn float_compare(&mut self, predicate: u8, a: ExprId, b: ExprId) -> ExprId {
        self.build(Node::FloatCompare(predicate, a, b), 1)
    }

    pub fn convert(&mut self, op: ConvertOp, a: ExprId, bits: u8) -> ExprId {
        self.build(Node::Convert(op, a), bits)
    }

    /// The value of a node whose operands' values `value` knows.
    pub fn apply(&self, id: ExprId, value: impl Fn(ExprId) -> u128) -> u128 {
        apply(self.node(id), self.bits(id), |of| self.bits(of), value)
    }

    /// The value of an expression, given those of the symbols.
    pub fn evaluate(&self, id: ExprId, symbols: &dyn Fn(SymbolId) -> u128) -> u128 {
        let mut values: FxHashMap<ExprId, u128> = FxHashMap::default();
        let mut todo = vec![id];
        while let Some(&next) = todo.last() {
            let mut missing = false;
            self.node(next).operands(|of| {
                if !values.contains_key(&of) {
                    missing = true;
                    todo.push(of);
                }
            });
            if missing {
                continue;
            }
            todo.pop();
            let value = match self.node(next) {
                Node::Symbol(symbol) => symbols(symbol) & mask(self.bits(next)),
                _ => self.apply(next, |of| values[&of]),
            };
            values.insert(next, value);
        }
        values[&id]
    }

    /// The symbols an expression depends on, each once, in order of their numbers.
    pub fn symbols(&self, id: ExprId) -> Vec<SymbolId> {
        let mut seen = FxHashSet::from_iter([id]);
        let mut todo = vec![id];
        let mut found = Vec::new();
        while let Some(next) = todo.pop() {
            if let Node::Symbol(symbol) = self.node(next) {
                found.push(symbol);
            }
            self.node(next).operands(|of| {
                if seen.insert(of) {
                    todo.push(of);
                }
            });
        }
        found.sort();
        found
    }

    fn identity(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> Option<ExprId> {
        use BinaryOp::*;
        let all = mask(self.bits(a));
        match (op, self.as_const(a), self.as_const(b)) {
            (Add | Or | Xor, Some(0), _) => Some(b),
            (Add | Sub | Or | Xor | Shl | LShr | AShr, _, Some(0)) => Some(a),
            (Mul, Some(1), _) => Some(b),
            (Mul | UDiv | SDiv, _, Some(1)) => Some(a),
            (And, Some(ones), _) if ones == all => Some(b),
            (And, _, Some(ones)) if ones == all => Some(a),
            (And | Mul, Some(0), _) => Some(a),
            (And | Mul, _, Some(0)) => Some(b),
            (And | Or, None, None) if a == b => Some(a),
            (Sub | Xor, None, None) if a == b => Some(self.constant(0, self.bits(a))),
            _ => None,
        }
    }

    /// Folds a node of constants, else interns it.
    fn build(&mut self, node: Node, bits: u8) -> ExprId {
        let mut all_known = true;
        node.operands(|of| all_known &= self.as_const(of).is_some());
        if !all_known {
            return self.intern(node, bits);
        }
        let value = |of| self.as_const(of).expect("all operands are constants");
        let value = apply(node, bits, |of| self.bits(of), value);
        self.constant(value, bits)
    }

    fn intern(&mut self, node: Node, bits: u8) -> ExprId {
        debug_assert!((1..=128).contains(&bits), "a width of {bits} bits");
        if self.known.len() != self.nodes.len() {
            self.known = self.iter().map(|(id, node, bits)| ((node, bits), id)).collect();
        }
        let next = ExprId(self.nodes.len() as u32);
        *self.known.entry((node, bits)).or_insert_with(|| {
            self.nodes.push(node);
            self.bits.push(bits);
            next
        })
    }

    /// What contradicts the rules of the graph, if anything does; for the reader of trace files.
    pub fn problem(&self) -> Option<&'static str> {
        if self.nodes.len() != self.bits.len() {
            return Some("expressions without a width");
        }
        let mut known = FxHashSet::with_capacity_and_hasher(self.nodes.len(), Default::default());
        for (id, node, bits) in self.iter() {
            if !known.insert((node, bits)) {
                return Some("an expression that is there twice");
            }
            if !(1..=128).contains(&bits) {
                return Some("an expression of impossible width");
            }
            let mut order = true;
            node.operands(|of| order &= of < id);
            if !order {
                return Some("an expression that contains a later one");
            }
            if !self.widths_fit(node, bits) {
                return Some("an expression whose operands do not fit");
            }
        }
        None
    }

    fn widths_fit(&self, node: Node, bits: u8) -> bool {
        let width = |of: ExprId| u16::from(self.bits(of));
        let wide = u16::from(bits);
        let is_float = |w: u16| w == 32 || w == 64;
        match node {
            Node::Const(value) => value & !mask(bits) == 0,
            Node::Symbol(_) => true,
            Node::Binary(_, a, b) => width(a) == wide && width(b) == wide,
            Node::Compare(_, a, b) => width(a) == width(b) && bits == 1,
            Node::Ite(c, a, b) => width(c) == 1 && width(a) == wide && width(b) == wide,
            Node::Extract(a, low) => u16::from(low) + wide <= width(a),
            Node::Concat(a, b) => width(a) + width(b) == wide,
            Node::ZeroExtend(a) | Node::SignExtend(a) => width(a) < wide,
            Node::Float(_, a, b) => width(a) == wide && width(b) == wide && is_float(wide),
            Node::FloatCompare(_, a, b) => width(a) == width(b) && is_float(width(a)) && bits == 1,
            Node::Convert(op, a) => match op {
                ConvertOp::FloatToSigned | ConvertOp::FloatToUnsigned => is_float(width(a)),
                ConvertOp::SignedToFloat | ConvertOp::UnsignedToFloat => is_float(wide),
                ConvertOp::FloatToFloat => is_float(width(a)) && is_float(wide),
            },
        }
    }
}

/// The lowest `bits` bits.
pub fn mask(bits: u8) -> u128 {
    if bits >= 128 { u128::MAX } else { (1 << bits) - 1 }
}

/// The signed value of the lowest `bits` bits.
pub fn signed(value: u128, bits: u8) -> i128 {
    let unused = 128 - u32::from(bits);
    ((value << unused) as i128) >> unused
}

fn apply(
    node: Node,
    bits: u8,
    width: impl Fn(ExprId) -> u8,
    value: impl Fn(ExprId) -> u128,
) -> u128 {
    let result = match node {
        Node::Const(constant) => constant,
        Node::Symbol(_) => unreachable!("a symbol has no value of its own"),
        Node::Binary(op, a, b) => binary(op, bits, value(a), value(b)),
        Node::Compare(op, a, b) => u128::from(compare(op, width(a), value(a), value(b))),
        Node::Ite(c, a, b) => {
            if value(c) != 0 {
                value(a)
            } else {
                value(b)
            }
        }
        Node::Extract(a, low) => value(a) >> low,
        Node::Concat(a, b) => value(a) << width(b) | value(b),
        Node::ZeroExtend(a) => value(a),
        Node::SignExtend(a) => signed(value(a), width(a)) as u128,
        Node::Float(op, a, b) => float(op, bits, value(a), value(b)),
        Node::FloatCompare(predicate, a, b) => {
            u128::from(float_compare(predicate, width(a), value(a), value(b)))
        }
        Node::Convert(op, a) => convert(op, width(a), bits, value(a)),
    };
    result & mask(bits)
}

/// As SMT-LIB defines bit-vector operations: division by zero gives all ones (or 1 and −1), the remainder the
/// dividend.
fn binary(op: BinaryOp, bits: u8, a: u128, b: u128) -> u128 {
    let (x, y) = (signed(a, bits), signed(b, bits));
    let shift = u32::try_from(b).ok().filter(|s| *s < u32::from(bits));
    match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::UDiv => a.checked_div(b).unwrap_or(u128::MAX),
        BinaryOp::URem => a.checked_rem(b).unwrap_or(a),
        BinaryOp::SDiv if y == 0 => {
            if x < 0 {
                1
            } else {
                u128::MAX
            }
        }
        BinaryOp::SDiv => x.wrapping_div(y) as u128,
        BinaryOp::SRem if y == 0 => a,
        BinaryOp::SRem => x.wrapping_rem(y) as u128,
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Shl => shift.map_or(0, |s| a << s),
        BinaryOp::LShr => shift.map_or(0, |s| a >> s),
        BinaryOp::AShr => (x >> shift.unwrap_or(u32::from(bits) - 1)) as u128,
    }
}

fn compare(op: CompareOp, bits: u8, a: u128, b: u128) -> bool {
    match op {
        CompareOp::Eq => a == b,
        CompareOp::Ult => a < b,
        CompareOp::Ule => a <= b,
        CompareOp::Slt => signed(a, bits) < signed(b, bits),
        CompareOp::Sle => signed(a, bits) <= signed(b, bits),
    }
}

fn to_f64(bits: u8, value: u128) -> f64 {
    if bits == 32 { f64::from(f32::from_bits(value as u32)) } else { f64::from_bits(value as u64) }
}

fn float(op: FloatOp, bits: u8, a: u128, b: u128) -> u128 {
    if bits == 32 {
        let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
        let result = match op {
            FloatOp::Add => x + y,
            FloatOp::Sub => x - y,
            FloatOp::Mul => x * y,
            FloatOp::Div => x / y,
            FloatOp::Rem => x % y,
        };
        return u128::from(result.to_bits());
    }
    let (x, y) = (f64::from_bits(a as u64), f64::from_bits(b as u64));
    let result = match op {
        FloatOp::Add => x + y,
        FloatOp::Sub => x - y,
        FloatOp::Mul => x * y,
        FloatOp::Div => x / y,
        FloatOp::Rem => x % y,
    };
    u128::from(result.to_bits())
}

fn float_compare(predicate: u8, bits: u8, a: u128, b: u128) -> bool {
    let bit = match to_f64(bits, a).partial_cmp(&to_f64(bits, b)) {
        Some(std::cmp::Ordering::Equal) => 0,
        Some(std::cmp::Ordering::Greater) => 1,
        Some(std::cmp::Ordering::Less) => 2,
        None => 3,
    };
    predicate >> bit & 1 == 1
}

fn convert(op: ConvertOp, from: u8, to: u8, value: u128) -> u128 {
    let float_result = |x: f64, narrow: f32| {
        if to == 32 { u128::from(narrow.to_bits()) } else { u128::from(x.to_bits()) }
    };
    match op {
        ConvertOp::FloatToSigned => to_f64(from, value) as i128 as u128,
        ConvertOp::FloatToUnsigned => to_f64(from, value) as u128,
        ConvertOp::SignedToFloat => {
            let x = signed(value, from);
            float_result(x as f64, x as f32)
        }
        ConvertOp::UnsignedToFloat => float_result(value as f64, value as f32),
        ConvertOp::FloatToFloat => {
            let x = to_f64(from, value);
            float_result(x, x as f32)
        }
    }
}
