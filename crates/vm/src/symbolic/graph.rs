//! The expressions of the run so far, each with its value in this run and whose reads it depends on.

use rustc_hash::FxHashMap;
use unravel_trace::{CompareOp, ExprId, Exprs, Node, SymbolId};

use super::Byte;

/// Whose symbols an expression has: one thread's, or those of several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    Nobody,
    Thread(usize),
    Several,
}

impl Owner {
    fn and(self, other: Owner) -> Owner {
        match (self, other) {
            (Owner::Nobody, owner) | (owner, Owner::Nobody) => owner,
            (a, b) if a == b => a,
            _ => Owner::Several,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Graph {
    pub exprs: Exprs,
    /// Indexed by [`ExprId`]; completed when asked for.
    values: Vec<u128>,
    owners: Vec<Owner>,
    /// Whether an input is among its symbols, or what was made of one and stored.
    inputs: Vec<bool>,
    symbols: FxHashMap<u32, ExprId>,
}

impl Graph {
    /// A fresh symbol, which has this value in this run.
    pub fn symbol(&mut self, symbol: u32, bits: u8, value: u128, thread: usize) -> ExprId {
        self.complete();
        let id = self.exprs.symbol(SymbolId(symbol), bits);
        assert_eq!(id.index(), self.values.len(), "a symbol is made once");
        self.values.push(value);
        self.owners.push(Owner::Thread(thread));
        self.inputs.push(false);
        self.symbols.insert(symbol, id);
        id
    }

    /// The same for an input, or for what was made of one.
    pub fn input(&mut self, symbol: u32, bits: u8, value: u128, thread: usize) -> ExprId {
        let id = self.symbol(symbol, bits, value, thread);
        self.inputs[id.index()] = true;
        id
    }

    pub fn depends_on_input(&mut self, id: ExprId) -> bool {
        self.complete();
        self.inputs[id.index()]
    }

    pub fn value(&mut self, id: ExprId) -> u128 {
        self.complete();
        self.values[id.index()]
    }

    /// The value of a symbol, which it has from the start.
    pub fn known(&self, symbol: SymbolId) -> u128 {
        let id = self.symbols.get(&symbol.0).expect("a symbol that was made");
        self.values[id.index()]
    }

    pub fn owner(&mut self, id: ExprId) -> Owner {
        self.complete();
        self.owners[id.index()]
    }

    fn complete(&mut self) {
        for index in self.values.len()..self.exprs.len() {
            let id = ExprId(index as u32);
            let node = self.exprs.node(id);
            debug_assert!(!matches!(node, Node::Symbol(_)), "symbols have values from the start");
            let mut owner = Owner::Nobody;
            let mut input = false;
            node.operands(|of| {
                owner = owner.and(self.owners[of.index()]);
                input |= self.inputs[of.index()];
            });
            self.inputs.push(input);
            self.values.push(self.exprs.apply(id, |of| self.values[of.index()]));
            self.owners.push(owner);
        }
    }

    /// The value as one of `bits` bits: truncated, or zero-extended.
    pub fn resize(&mut self, of: ExprId, bits: u8) -> ExprId {
        let width = self.exprs.bits(of);
        if width > bits {
            self.exprs.extract(of, 0, bits)
        } else {
            self.exprs.zero_extend(of, bits)
        }
    }

    /// `None` for a constant: what is known needs no shadow.
    pub fn unless_constant(&self, id: ExprId) -> Option<ExprId> {
        self.exprs.as_const(id).is_none().then_some(id)
    }

    /// The value of bytes, lowest first; `None` if all are known.
    pub fn assemble(&mut self, bytes: &[Byte]) -> Option<ExprId> {
        if bytes.iter().all(|byte| matches!(byte, Byte::Known(_))) {
            return None;
        }
        let mut whole: Option<ExprId> = None;
        let mut at = 0;
        while at < bytes.len() {
            let length = run_length(&bytes[at..]);
            let part = self.part(&bytes[at..at + length]);
            whole = Some(match whole {
                Some(low) => self.exprs.concat(part, low),
                None => part,
            });
            at += length;
        }
        self.unless_constant(whole.expect("there are bytes"))
    }

    /// The same with known bytes as a constant.
    pub fn value_of(&mut self, bytes: &[Byte]) -> ExprId {
        match self.assemble(bytes) {
            Some(id) => id,
            None => {
                let value = bytes.iter().rev().fold(0u128, |value, byte| match *byte {
                    Byte::Known(byte) => value << 8 | u128::from(byte),
                    // Folded to a constant.
                    Byte::Part(id, index) => {
                        value << 8 | (self.value(id) >> (8 * u32::from(index)) & 0xff)
                    }
                });
                self.exprs.constant(value, 8 * bytes.len() as u8)
            }
        }
    }

    /// Bytes that belong together: all known, or neighbours in one expression.
    fn part(&mut self, bytes: &[Byte]) -> ExprId {
        let bits = 8 * bytes.len() as u8;
        match bytes[0] {
            Byte::Known(_) => {
                let value = bytes.iter().rev().fold(0u128, |value, byte| match byte {
                    Byte::Known(byte) => value << 8 | u128::from(*byte),
                    Byte::Part(..) => unreachable!("a run is of one kind"),
                });
                self.exprs.constant(value, bits)
            }
            Byte::Part(id, first) => {
                let low = 8 * first;
                let width = self.exprs.bits(id);
                if low >= width {
                    return self.exprs.constant(0, bits);
                }
                let inner = self.exprs.extract(id, low, bits.min(width - low));
                self.exprs.zero_extend(inner, bits)
            }
        }
    }

    /// The bytes of a value that is `count` bytes long in memory.
    pub fn bytes(&mut self, of: ExprId, count: usize) -> Vec<Byte> {
        match self.exprs.as_const(of) {
            Some(value) => (0..count).map(|i| Byte::Known((value >> (8 * i)) as u8)).collect(),
            None => (0..count).map(|i| Byte::Part(of, i as u8)).collect(),
        }
    }

    /// Whether a value differs from a constant.
    pub fn differs(&mut self, of: ExprId, from: u128) -> ExprId {
        let constant = self.exprs.constant(from, self.exprs.bits(of));
        let equal = self.exprs.compare(CompareOp::Eq, of, constant);
        self.exprs.not(equal)
    }

    pub fn equals(&mut self, of: ExprId, value: u128) -> ExprId {
        let constant = self.exprs.constant(value, self.exprs.bits(of));
        self.exprs.compare(CompareOp::Eq, of, constant)
    }
}

fn run_length(bytes: &[Byte]) -> usize {
    let follows = |before: &Byte, next: &Byte| match (before, next) {
        (Byte::Known(_), Byte::Known(_)) => true,
        (Byte::Part(a, i), Byte::Part(b, j)) => a == b && *j == i + 1,
        _ => false,
    };
    1 + bytes.windows(2).take_while(|pair| follows(&pair[0], &pair[1])).count()
}
