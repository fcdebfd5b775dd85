//! What both notations mean: truths of one bit, and mathematical integers as signed words of 64 bits.
//!
//! KQuery computes with fixed widths. A value of `w` bits stands here for the integer that they are as a signed
//! number, so that sums and comparisons need no width (comparing sign-extended words unsigned is right too); what
//! needs one (unsigned division, logical shifts, parts) is done on the lowest `w` bits and extended again.
//!
//! A string constant is a number that no trace has for anything else ([`Strings`]): it can be stored and compared for equality.

use std::collections::HashMap;

use unravel_trace::{BinaryOp, CompareOp, ExprId, Exprs};

/// How deep expressions may nest.
pub(super) const DEEPEST: u32 = 1000;

const WORD: u8 = 64;

/// A part of an expression.
#[derive(Clone, Copy, Debug)]
pub(super) enum Term {
    /// One bit.
    Truth(ExprId),
    /// 64 bits, which stand for a value of this width, if the text says one.
    Number(ExprId, Option<u8>),
    /// Its width is that of what it meets.
    Literal(i128),
    /// The number of a string constant: for equality only.
    Text(i128),
}

/// The numbers of string constants, the same in all files of a folder.
#[derive(Debug, Default)]
pub(super) struct Strings(HashMap<String, u64>);

/// String constants are numbered from here on: no address, no count and no hash of 32 bits is near.
const FIRST_STRING: u64 = 0x5354_5249_4e47_0000;

impl Strings {
    fn number(&mut self, text: &str) -> i128 {
        let next = FIRST_STRING + self.0.len() as u64;
        i128::from(*self.0.entry(text.to_owned()).or_insert(next))
    }

    /// What the numbers stand for, in their order.
    pub fn note(&self) -> Option<String> {
        let mut all: Vec<(&u64, &String)> = self.0.iter().map(|(text, id)| (id, text)).collect();
        all.sort();
        let shown: Vec<String> =
            all.iter().take(MOST_SHOWN).map(|(id, text)| format!("{text:?} is {id}")).collect();
        let more = if all.len() > MOST_SHOWN { ", …" } else { "" };
        let list = shown.join(", ");
        (!shown.is_empty()).then(|| format!("strings are numbered: {list}{more}"))
    }
}

/// More strings in a note help nobody.
const MOST_SHOWN: usize = 12;

/// What an expression is built into, and what its names mean.
pub(super) struct Scope<'a> {
    pub exprs: &'a mut Exprs,
    pub strings: &'a mut Strings,
    /// By the name of a read, without `R-`.
    pub symbols: &'a HashMap<String, ExprId>,
}

impl Scope<'_> {
    pub fn symbol(&self, name: &str) -> Result<ExprId, String> {
        let name = name.strip_prefix("R-").unwrap_or(name);
        let id = self.symbols.get(name).copied();
        id.ok_or_else(|| format!("no thread makes the read R-{name}"))
    }

    /// A string constant.
    pub fn text(&mut self, text: &str) -> Term {
        Term::Text(self.strings.number(text))
    }

    /// Whether this is the name of a read, with or without its mark.
    pub fn knows(&self, name: &str) -> bool {
        self.symbols.contains_key(name.strip_prefix("R-").unwrap_or(name))
    }

    pub fn width(&self, term: Term) -> Option<u8> {
        match term {
            Term::Truth(_) => Some(1),
            Term::Number(_, width) => width,
            Term::Literal(_) => None,
            Term::Text(_) => Some(WORD),
        }
    }

    pub fn truth(&mut self, term: Term) -> ExprId {
        match term {
            Term::Truth(id) => id,
            Term::Number(id, _) => {
                let zero = self.exprs.constant(0, WORD);
                let is_zero = self.exprs.eq(id, zero);
                self.exprs.not(is_zero)
            }
            Term::Literal(value) => self.exprs.constant(u128::from(value != 0), 1),
            Term::Text(_) => self.exprs.constant(1, 1),
        }
    }

    /// As 64 bits; a literal is a value of this width.
    pub fn number(&mut self, term: Term, width: Option<u8>) -> ExprId {
        match term {
            Term::Truth(id) => {
                let [one, zero] = [1, 0].map(|value| self.exprs.constant(value, WORD));
                self.exprs.ite(id, one, zero)
            }
            Term::Number(id, _) => id,
            Term::Text(value) => self.exprs.constant(value as u128, WORD),
            Term::Literal(value) => {
                // Without a width: an `int`, in which 4294967295 stands for -1, if it fits into one.
                let bits = width.filter(|w| *w < WORD).unwrap_or(32);
                let narrow = width.is_none_or(|w| w < WORD);
                let all = 1i128 << bits;
                let value =
                    if narrow && (all / 2..all).contains(&value) { value - all } else { value };
                self.exprs.constant(value as u128, WORD)
            }
        }
    }

    /// The lowest bits of a number.
    pub fn part(&mut self, term: Term, low: u8, width: u8) -> ExprId {
        let whole = self.number(term, Some(width));
        self.exprs.extract(whole, low, width)
    }

    /// The number that these bits are.
    pub fn whole(&mut self, bits: ExprId) -> Term {
        let width = self.exprs.bits(bits);
        if width == 1 {
            return Term::Truth(bits);
        }
        Term::Number(self.exprs.sign_extend(bits, WORD), Some(width))
    }

    pub fn binary(&mut self, op: BinaryOp, a: Term, b: Term, width: Option<u8>) -> Term {
        use BinaryOp::*;
        if matches!(op, And | Or | Xor) && self.are_truths(a, b) {
            let (a, b) = (self.truth(a), self.truth(b));
            return Term::Truth(self.exprs.binary(op, a, b));
        }
        let width = width.or(self.width(a)).or(self.width(b)).filter(|w| *w > 1);
        match width {
            Some(bits) if bits < WORD && matches!(op, UDiv | URem | LShr) => {
                let (a, b) = (self.part(a, 0, bits), self.part(b, 0, bits));
                let result = self.exprs.binary(op, a, b);
                self.whole(result)
            }
            _ => {
                let (a, b) = (self.number(a, width), self.number(b, width));
                Term::Number(self.exprs.binary(op, a, b), width)
            }
        }
    }

    pub fn compare(&mut self, op: CompareOp, a: Term, b: Term) -> Term {
        let (a, b) = if op == CompareOp::Eq && self.are_truths(a, b) {
            (self.truth(a), self.truth(b))
        } else {
            let width = self.width(a).or(self.width(b)).filter(|w| *w > 1);
            (self.number(a, width), self.number(b, width))
        };
        // `false == x` is the commonest way to write a negation.
        match (op, self.exprs.bits(a), self.exprs.as_const(a), self.exprs.as_const(b)) {
            (CompareOp::Eq, 1, Some(0), _) => Term::Truth(self.exprs.not(b)),
            (CompareOp::Eq, 1, _, Some(0)) => Term::Truth(self.exprs.not(a)),
            _ => Term::Truth(self.exprs.compare(op, a, b)),
        }
    }

    pub fn not(&mut self, term: Term) -> Term {
        let truth = self.truth(term);
        Term::Truth(self.exprs.not(truth))
    }

    /// All bits turned over; of a truth, its negation.
    pub fn complement(&mut self, term: Term) -> Term {
        match term {
            Term::Truth(_) => self.not(term),
            _ => self.binary(BinaryOp::Xor, term, Term::Literal(-1), None),
        }
    }

    pub fn negate(&mut self, term: Term) -> Term {
        match term {
            Term::Literal(value) => Term::Literal(-value),
            _ => self.binary(BinaryOp::Sub, Term::Literal(0), term, None),
        }
    }

    pub fn select(&mut self, condition: Term, then: Term, other: Term) -> Term {
        let condition = self.truth(condition);
        if self.are_truths(then, other) {
            let (then, other) = (self.truth(then), self.truth(other));
            return Term::Truth(self.exprs.ite(condition, then, other));
        }
        let width = self.width(then).or(self.width(other)).filter(|w| *w > 1);
        let (then, other) = (self.number(then, width), self.number(other, width));
        Term::Number(self.exprs.ite(condition, then, other), width)
    }

    /// Two truths, or one and a literal that can be one.
    fn are_truths(&self, a: Term, b: Term) -> bool {
        use Term::*;
        matches!((a, b), (Truth(_), Truth(_) | Literal(0 | 1)) | (Literal(0 | 1), Truth(_)))
    }
}

/// A literal: digits, perhaps with a sign or in hexadecimal.
pub(super) fn literal(text: &str) -> Result<i128, String> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hex) if !hex.starts_with('+') => u64::from_str_radix(hex, 16).ok(),
        _ if digits.starts_with(|c: char| c.is_ascii_digit()) => digits.parse::<u64>().ok(),
        _ => None,
    };
    match value.map(i128::from).map(|value| if negative { -value } else { value }) {
        Some(value) if value >= i128::from(i64::MIN) => Ok(value),
        _ => Err(format!("'{text}' is no whole number of 64 bits")),
    }
}
