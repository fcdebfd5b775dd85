//! Expressions: however they are built, folded and simplified, they mean the same.

use proptest::prelude::*;
use unravel_trace::*;

use BinaryOp::*;

const BINARY: [BinaryOp; 13] =
    [Add, Sub, Mul, UDiv, SDiv, URem, SRem, And, Or, Xor, Shl, LShr, AShr];
const COMPARE: [CompareOp; 5] =
    [CompareOp::Eq, CompareOp::Ult, CompareOp::Ule, CompareOp::Slt, CompareOp::Sle];

/// Widths of the symbols that trees are made of.
const WIDTHS: [u8; 6] = [1, 8, 13, 32, 64, 128];

/// An expression before it is built. Operands that have other widths than they need are made to fit.
#[derive(Clone, Debug)]
enum Tree {
    Symbol(u8),
    Const(u128, u8),
    Binary(BinaryOp, Box<[Tree; 2]>),
    Compare(CompareOp, Box<[Tree; 2]>),
    Ite(Box<[Tree; 3]>),
    /// Where in the operand, and how much of what is left.
    Extract(Box<Tree>, u8, u8),
    Concat(Box<[Tree; 2]>),
    Extend(Box<Tree>, bool, u8),
    Not(Box<Tree>),
}

/// What builds and what computes do the same things in the same order, so that one walk serves both.
trait Algebra {
    type Item: Copy;
    fn bits(&self, a: Self::Item) -> u8;
    fn symbol(&mut self, nth: u8) -> Self::Item;
    fn constant(&mut self, value: u128, bits: u8) -> Self::Item;
    fn binary(&mut self, op: BinaryOp, a: Self::Item, b: Self::Item) -> Self::Item;
    fn compare(&mut self, op: CompareOp, a: Self::Item, b: Self::Item) -> Self::Item;
    fn ite(&mut self, c: Self::Item, a: Self::Item, b: Self::Item) -> Self::Item;
    fn extract(&mut self, a: Self::Item, low: u8, bits: u8) -> Self::Item;
    fn concat(&mut self, a: Self::Item, b: Self::Item) -> Self::Item;
    fn extend(&mut self, a: Self::Item, signed: bool, bits: u8) -> Self::Item;
    fn not(&mut self, a: Self::Item) -> Self::Item;

    fn fit(&mut self, a: Self::Item, bits: u8) -> Self::Item {
        if self.bits(a) > bits { self.extract(a, 0, bits) } else { self.extend(a, false, bits) }
    }

    fn walk(&mut self, tree: &Tree) -> Self::Item {
        match tree {
            Tree::Symbol(nth) => self.symbol(*nth),
            Tree::Const(value, bits) => self.constant(value & mask(*bits), *bits),
            Tree::Binary(op, pair) => {
                let a = self.walk(&pair[0]);
                let b = self.walk(&pair[1]);
                let b = self.fit(b, self.bits(a));
                self.binary(*op, a, b)
            }
            Tree::Compare(op, pair) => {
                let a = self.walk(&pair[0]);
                let b = self.walk(&pair[1]);
                let b = self.fit(b, self.bits(a));
                self.compare(*op, a, b)
            }
            Tree::Ite(three) => {
                let [c, a, b] = [0, 1, 2].map(|i| self.walk(&three[i]));
                let c = self.fit(c, 1);
                let b = self.fit(b, self.bits(a));
                self.ite(c, a, b)
            }
            Tree::Extract(of, low, some) => {
                let of = self.walk(of);
                let low = low % self.bits(of);
                let bits = 1 + some % (self.bits(of) - low);
                self.extract(of, low, bits)
            }
            Tree::Concat(pair) => {
                let [a, b] = [0, 1].map(|i| self.walk(&pair[i]));
                let (a, b) = (self.fit(a, self.bits(a).min(64)), self.fit(b, self.bits(b).min(64)));
                self.concat(a, b)
            }
            Tree::Extend(of, signed, more) => {
                let of = self.walk(of);
                let bits = self.bits(of) + more % (129 - self.bits(of));
                self.extend(of, *signed, bits)
            }
            Tree::Not(of) => {
                let of = self.walk(of);
                let of = self.fit(of, 1);
                self.not(of)
            }
        }
    }
}

/// Builds expressions; with `values`, of constants instead of symbols.
struct Build<'a> {
    exprs: Exprs,
    values: Option<&'a [u128; 6]>,
}

impl Algebra for Build<'_> {
    type Item = ExprId;
    fn bits(&self, a: ExprId) -> u8 {
        self.exprs.bits(a)
    }
    fn symbol(&mut self, nth: u8) -> ExprId {
        let bits = WIDTHS[usize::from(nth)];
        match self.values {
            Some(values) => self.exprs.constant(values[usize::from(nth)], bits),
            None => self.exprs.symbol(SymbolId(nth.into()), bits),
        }
    }
    fn constant(&mut self, value: u128, bits: u8) -> ExprId {
        self.exprs.constant(value, bits)
    }
    fn binary(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> ExprId {
        self.exprs.binary(op, a, b)
    }
    fn compare(&mut self, op: CompareOp, a: ExprId, b: ExprId) -> ExprId {
        self.exprs.compare(op, a, b)
    }
    fn ite(&mut self, c: ExprId, a: ExprId, b: ExprId) -> ExprId {
        self.exprs.ite(c, a, b)
    }
    fn extract(&mut self, a: ExprId, low: u8, bits: u8) -> ExprId {
        self.exprs.extract(a, low, bits)
    }
    fn concat(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.exprs.concat(a, b)
    }
    fn extend(&mut self, a: ExprId, signed: bool, bits: u8) -> ExprId {
        if signed { self.exprs.sign_extend(a, bits) } else { self.exprs.zero_extend(a, bits) }
    }
    fn not(&mut self, a: ExprId) -> ExprId {
        self.exprs.not(a)
    }
}

/// Computes with lists of bits, lowest first: slowly, and in no way like the code it judges.
struct Compute<'a>(&'a [u128; 6]);

fn from_bits(bits: impl DoubleEndedIterator<Item = bool>) -> u128 {
    bits.rev().fold(0, |value, bit| value << 1 | u128::from(bit))
}

fn bit(value: u128, at: u8) -> bool {
    value >> at & 1 == 1
}

fn negate(value: u128, bits: u8) -> u128 {
    (!value & mask(bits)).wrapping_add(1) & mask(bits)
}

fn magnitude(value: u128, bits: u8) -> (bool, u128) {
    let negative = bit(value, bits - 1);
    (negative, if negative { negate(value, bits) } else { value })
}

/// Signed division as SMT-LIB writes it down: by signs and magnitudes.
fn divide(op: BinaryOp, a: u128, b: u128, bits: u8) -> u128 {
    let all = mask(bits);
    match op {
        UDiv => a.checked_div(b).unwrap_or(all),
        URem => a.checked_rem(b).unwrap_or(a),
        _ => {
            let ((left, x), (right, y)) = (magnitude(a, bits), magnitude(b, bits));
            let unsigned = if op == SDiv { UDiv } else { URem };
            let result = divide(unsigned, x, y, bits);
            let negative = if op == SDiv { left != right } else { left };
            if negative { negate(result, bits) } else { result }
        }
    }
}

impl Algebra for Compute<'_> {
    type Item = (u128, u8);
    fn bits(&self, a: (u128, u8)) -> u8 {
        a.1
    }
    fn symbol(&mut self, nth: u8) -> (u128, u8) {
        let bits = WIDTHS[usize::from(nth)];
        (self.0[usize::from(nth)] & mask(bits), bits)
    }
    fn constant(&mut self, value: u128, bits: u8) -> (u128, u8) {
        (value, bits)
    }
    fn binary(&mut self, op: BinaryOp, (a, bits): (u128, u8), (b, _): (u128, u8)) -> (u128, u8) {
        let shifted = |from: &dyn Fn(u8) -> Option<u8>, fill: bool| {
            from_bits((0..bits).map(|i| match from(i).filter(|at| *at < bits) {
                Some(at) => bit(a, at),
                None => fill,
            }))
        };
        let distance = u8::try_from(b).unwrap_or(u8::MAX);
        let value = match op {
            Add => a.wrapping_add(b),
            Sub => a.wrapping_add(negate(b, bits)),
            Mul => (0..bits).filter(|i| bit(b, *i)).fold(0u128, |sum, i| sum.wrapping_add(a << i)),
            UDiv | SDiv | URem | SRem => divide(op, a, b, bits),
            And => from_bits((0..bits).map(|i| bit(a, i) && bit(b, i))),
            Or => from_bits((0..bits).map(|i| bit(a, i) || bit(b, i))),
            Xor => from_bits((0..bits).map(|i| bit(a, i) != bit(b, i))),
            Shl => shifted(&|i| i.checked_sub(distance), false),
            LShr => shifted(&|i| i.checked_add(distance), false),
            AShr => shifted(&|i| i.checked_add(distance), bit(a, bits - 1)),
        };
        (value & mask(bits), bits)
    }
    fn compare(&mut self, op: CompareOp, (a, bits): (u128, u8), (b, _): (u128, u8)) -> (u128, u8) {
        // With the highest bit turned over, signed numbers are in the order of unsigned ones.
        let over = |value: u128| value ^ 1 << (bits - 1);
        let holds = match op {
            CompareOp::Eq => a == b,
            CompareOp::Ult => a < b,
            CompareOp::Ule => a <= b,
            CompareOp::Slt => over(a) < over(b),
            CompareOp::Sle => over(a) <= over(b),
        };
        (holds.into(), 1)
    }
    fn ite(&mut self, c: (u128, u8), a: (u128, u8), b: (u128, u8)) -> (u128, u8) {
        if c.0 == 1 { a } else { b }
    }
    fn extract(&mut self, (a, _): (u128, u8), low: u8, bits: u8) -> (u128, u8) {
        (from_bits((low..low + bits).map(|i| bit(a, i))), bits)
    }
    fn concat(&mut self, (a, high): (u128, u8), (b, low): (u128, u8)) -> (u128, u8) {
        let both = (0..low).map(|i| bit(b, i)).chain((0..high).map(|i| bit(a, i)));
        (from_bits(both), high + low)
    }
    fn extend(&mut self, (a, old): (u128, u8), signed: bool, bits: u8) -> (u128, u8) {
        let fill = signed && bit(a, old - 1);
        (from_bits((0..bits).map(|i| if i < old { bit(a, i) } else { fill })), bits)
    }
    fn not(&mut self, (a, _): (u128, u8)) -> (u128, u8) {
        (1 - a, 1)
    }
}

fn number() -> impl Strategy<Value = u128> {
    prop_oneof![0..4u128, (0..128u8).prop_map(|bit| 1 << bit), any::<u128>(), Just(u128::MAX)]
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        (0..6u8).prop_map(Tree::Symbol),
        (number(), 1..=128u8).prop_map(|(value, bits)| Tree::Const(value, bits)),
    ];
    leaf.prop_recursive(6, 40, 3, |inner| {
        let one = || inner.clone().prop_map(Box::new);
        let pair = || [inner.clone(), inner.clone()].prop_map(Box::new);
        prop_oneof![
            4 => (prop::sample::select(&BINARY[..]), pair()).prop_map(|(op, p)| Tree::Binary(op, p)),
            2 => (prop::sample::select(&COMPARE[..]), pair())
                .prop_map(|(op, p)| Tree::Compare(op, p)),
            1 => [inner.clone(), inner.clone(), inner.clone()]
                .prop_map(|three| Tree::Ite(Box::new(three))),
            3 => (one(), any::<u8>(), any::<u8>()).prop_map(|(of, low, b)| Tree::Extract(of, low, b)),
            2 => pair().prop_map(Tree::Concat),
            2 => (one(), any::<bool>(), any::<u8>()).prop_map(|(of, s, b)| Tree::Extend(of, s, b)),
            1 => one().prop_map(Tree::Not),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn folding_evaluation_and_arithmetic_agree(
        tree in tree(),
        values in [number(), number(), number(), number(), number(), number()],
    ) {
        let (expected, bits) = Compute(&values).walk(&tree);

        let mut symbolic = Build { exprs: Exprs::default(), values: None };
        let id = symbolic.walk(&tree);
        let value = symbolic.exprs.evaluate(id, &|symbol| values[symbol.0 as usize]);
        prop_assert_eq!((value, symbolic.exprs.bits(id)), (expected, bits));

        let mut folded = Build { exprs: Exprs::default(), values: Some(&values) };
        let id = folded.walk(&tree);
        prop_assert_eq!((folded.exprs.as_const(id), folded.exprs.bits(id)), (Some(expected), bits));
    }

    #[test]
    fn building_twice_gives_the_same_nodes(tree in tree()) {
        let mut build = Build { exprs: Exprs::default(), values: None };
        let first = build.walk(&tree);
        let size = build.exprs.len();
        prop_assert_eq!(build.walk(&tree), first);
        prop_assert_eq!(build.exprs.len(), size);
        // Operands come before what is made of them.
        for (id, node, _) in build.exprs.iter() {
            node.operands(|of| assert!(of < id, "{of:?} is an operand of {id:?}"));
        }
    }

    #[test]
    fn parts_put_together_are_the_whole(low in 1..63u8, value in any::<u128>()) {
        let mut exprs = Exprs::default();
        let x = exprs.symbol(SymbolId(0), 64);
        let (below, above) = (exprs.extract(x, 0, low), exprs.extract(x, low, 64 - low));
        prop_assert_eq!(exprs.concat(above, below), x);
        // And the parts of two things put together are the two.
        let y = exprs.symbol(SymbolId(1), 32);
        let both = exprs.concat(x, y);
        prop_assert_eq!(exprs.extract(both, 0, 32), y);
        prop_assert_eq!(exprs.extract(both, 32, 64), x);
        let across = exprs.extract(both, low.min(31), 33);
        let symbols = |symbol: SymbolId| if symbol.0 == 0 { value } else { value >> 64 };
        let whole = (value & mask(64)) << 32 | value >> 64 & mask(32);
        prop_assert_eq!(exprs.evaluate(across, &symbols), whole >> low.min(31) & mask(33));
    }
}

/// A variable, and constants of its width.
fn with_x(
    bits: u8,
    check: impl Fn(&mut Exprs, ExprId, &mut dyn FnMut(&mut Exprs, u128) -> ExprId),
) {
    let mut exprs = Exprs::default();
    let x = exprs.symbol(SymbolId(0), bits);
    check(&mut exprs, x, &mut |exprs, value| exprs.constant(value, bits));
}

#[test]
fn what_changes_nothing_leaves_no_node() {
    for bits in [1, 8, 64, 128] {
        with_x(bits, |exprs, x, constant| {
            let (zero, one) = (constant(exprs, 0), constant(exprs, 1));
            let ones = constant(exprs, u128::MAX);
            for op in [Add, Sub, Or, Xor, Shl, LShr, AShr] {
                assert_eq!(exprs.binary(op, x, zero), x, "{op:?}");
            }
            for op in [Add, Or, Xor] {
                assert_eq!(exprs.binary(op, zero, x), x, "{op:?}");
            }
            for op in [Mul, UDiv, SDiv] {
                assert_eq!(exprs.binary(op, x, one), x, "{op:?}");
            }
            for (a, b, result) in [(x, ones, x), (ones, x, x), (x, zero, zero), (zero, x, zero)] {
                assert_eq!(exprs.and(a, b), result);
            }
            assert_eq!(exprs.binary(Mul, x, zero), zero);
            assert_eq!(exprs.binary(Sub, x, x), zero);
            assert_eq!(exprs.binary(Xor, x, x), zero);
            assert_eq!(exprs.and(x, x), x);
            assert_eq!(exprs.extract(x, 0, bits), x);
            assert_eq!(exprs.zero_extend(x, bits), x);
            assert_eq!(exprs.sign_extend(x, bits), x);
            let equal = exprs.eq(x, x);
            assert_eq!(exprs.as_const(equal), Some(1));
            let less = exprs.compare(CompareOp::Slt, x, x);
            assert_eq!(exprs.as_const(less), Some(0));
            let small = exprs.eq(x, zero);
            assert_eq!(exprs.ite(small, x, x), x);
            let not = exprs.not(small);
            assert_eq!(exprs.not(not), small);
        });
    }
}

#[test]
fn a_truth_compared_with_true_is_itself() {
    with_x(1, |exprs, x, constant| {
        let one = constant(exprs, 1);
        assert_eq!(exprs.eq(x, one), x);
        assert_eq!(exprs.eq(one, x), x);
    });
}

#[test]
fn division_follows_smt_lib() {
    let minus = |value: u128| value.wrapping_neg() & 0xff;
    let cases = [
        (UDiv, 7, 0, 0xff),
        (URem, 7, 0, 7),
        (SDiv, 7, 0, 0xff),
        (SDiv, minus(7), 0, 1),
        (SDiv, 0, 0, 0xff),
        (SRem, 7, 0, 7),
        (SRem, minus(7), 0, minus(7)),
        (SDiv, minus(128), minus(1), minus(128)),
        (SRem, minus(128), minus(1), 0),
        // Towards zero; the remainder has the sign of the dividend.
        (SDiv, minus(7), 2, minus(3)),
        (SRem, minus(7), 2, minus(1)),
        (SDiv, 7, minus(2), minus(3)),
        (SRem, 7, minus(2), 1),
        // Shifts by the width and more.
        (Shl, 1, 8, 0),
        (LShr, 0x80, 200, 0),
        (AShr, 0x80, 8, 0xff),
        (AShr, 0x7f, 255, 0),
    ];
    for (op, a, b, expected) in cases {
        let mut exprs = Exprs::default();
        let [x, y] = [0, 1].map(|i| exprs.symbol(SymbolId(i), 8));
        let id = exprs.binary(op, x, y);
        let value = exprs.evaluate(id, &|symbol| [a, b][symbol.0 as usize]);
        assert_eq!(value, expected, "{op:?} {a} {b}");
    }
}

#[test]
fn floats_are_computed_on_their_bits() {
    let mut exprs = Exprs::default();
    let [x, y] = [0, 1].map(|i| exprs.symbol(SymbolId(i), 64));
    let sum = exprs.float(FloatOp::Add, x, y);
    let less = exprs.float_compare(0b0100, x, y);
    let whole = exprs.convert(ConvertOp::FloatToSigned, x, 32);
    let back = exprs.convert(ConvertOp::SignedToFloat, whole, 32);
    let unordered = exprs.float_compare(0b1000, x, y);
    let evaluate = |id, a: f64, b: f64| {
        exprs.evaluate(id, &|symbol| [a, b][symbol.0 as usize].to_bits().into())
    };
    assert_eq!(evaluate(sum, 1.5, -4.0), (-2.5f64).to_bits().into());
    assert_eq!((evaluate(less, 1.0, 2.0), evaluate(less, 2.0, 1.0)), (1, 0));
    assert_eq!((evaluate(unordered, f64::NAN, 2.0), evaluate(unordered, 2.0, 1.0)), (1, 0));
    assert_eq!(evaluate(whole, -2.75, 0.0), (-2i32 as u32).into());
    assert_eq!(evaluate(back, -2.75, 0.0), (-2.0f32).to_bits().into());
}

#[test]
fn the_symbols_of_an_expression_are_listed_once() {
    let mut exprs = Exprs::default();
    let [a, b, c] = [5, 3, 9].map(|i| exprs.symbol(SymbolId(i), 32));
    let sum = exprs.binary(Add, a, b);
    let product = exprs.binary(Mul, sum, a);
    exprs.binary(Add, product, c);
    assert_eq!(exprs.symbols(product), [SymbolId(3), SymbolId(5)]);
}

/// A chain far longer than the stack is deep.
#[test]
fn long_expressions_are_evaluated() {
    let mut exprs = Exprs::default();
    let x = exprs.symbol(SymbolId(0), 64);
    let mut sum = x;
    for _ in 0..200_000 {
        sum = exprs.binary(Add, sum, x);
    }
    assert_eq!(exprs.evaluate(sum, &|_| 3), 600_003);
    assert_eq!(exprs.symbols(sum), [SymbolId(0)]);
}
