//! KQuery, KLEE's prefix notation: `(Eq false (Slt 0 (ReadLSB w32 0 occupied_1001-2-2)))`.
//!
//! An array is a variable of the trace, 64 bits wide. Reading 32 or 64 bits of it gives its value; reading fewer
//! gives a part. Labels (`N0:(…)`, later `N0`) are known, update lists are not.

use std::collections::HashMap;

use unravel_trace::{BinaryOp, CompareOp};

use super::terms::{DEEPEST, Scope, Term, literal};

/// Whether a value is written in this notation.
pub(super) fn looks_like(text: &str) -> bool {
    let text = text.trim_start();
    if label(text.split('(').next().unwrap_or_default()).is_some() {
        return true;
    }
    let Some(inner) = text.strip_prefix('(') else { return false };
    let word = inner.trim_start().split([' ', '\t', '\n', '(', ')']).next().unwrap_or_default();
    operator(word).is_some() || width(word).is_some()
}

/// Reads all of `text`.
pub(super) fn parse(scope: &mut Scope<'_>, text: &str) -> Result<Term, String> {
    let mut parser = Parser { scope, rest: text, labels: HashMap::new(), depth: 0 };
    let term = parser.expression()?;
    match parser.peek() {
        "" => Ok(term),
        more => Err(format!("'{more}' is too much")),
    }
}

#[derive(Clone, Copy)]
enum Operator {
    Binary(BinaryOp),
    /// With its operands the other way round, and with its result negated.
    Compare(CompareOp, bool, bool),
    Not,
    Neg,
    ZExt,
    SExt,
    Extract,
    Concat,
    Select,
    Read,
}

fn operator(word: &str) -> Option<Operator> {
    use Operator::*;
    Some(match word {
        "Add" => Binary(BinaryOp::Add),
        "Sub" => Binary(BinaryOp::Sub),
        "Mul" => Binary(BinaryOp::Mul),
        "SDiv" => Binary(BinaryOp::SDiv),
        "UDiv" => Binary(BinaryOp::UDiv),
        "SRem" => Binary(BinaryOp::SRem),
        "URem" => Binary(BinaryOp::URem),
        "And" => Binary(BinaryOp::And),
        "Or" => Binary(BinaryOp::Or),
        "Xor" => Binary(BinaryOp::Xor),
        "Shl" => Binary(BinaryOp::Shl),
        "LShr" => Binary(BinaryOp::LShr),
        "AShr" => Binary(BinaryOp::AShr),
        "Eq" => Compare(CompareOp::Eq, false, false),
        "Ne" => Compare(CompareOp::Eq, false, true),
        "Slt" => Compare(CompareOp::Slt, false, false),
        "Sle" => Compare(CompareOp::Sle, false, false),
        "Sgt" => Compare(CompareOp::Slt, true, false),
        "Sge" => Compare(CompareOp::Sle, true, false),
        "Ult" => Compare(CompareOp::Ult, false, false),
        "Ule" => Compare(CompareOp::Ule, false, false),
        "Ugt" => Compare(CompareOp::Ult, true, false),
        "Uge" => Compare(CompareOp::Ule, true, false),
        "Not" => Not,
        "Neg" => Neg,
        "ZExt" => ZExt,
        "SExt" => SExt,
        "Extract" => Extract,
        "Concat" => Concat,
        "Select" => Select,
        "Read" | "ReadLSB" => Read,
        _ => return None,
    })
}

/// `w32`.
fn width(word: &str) -> Option<u8> {
    let bits = word.strip_prefix('w')?;
    bits.bytes().all(|b| b.is_ascii_digit()).then(|| bits.parse().ok())?
}

/// `N7:`.
fn label(word: &str) -> Option<&str> {
    word.trim().strip_suffix(':').filter(|name| is_label(name))
}

fn is_label(word: &str) -> bool {
    let digits = word.strip_prefix('N').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

struct Parser<'p, 's, 't> {
    scope: &'p mut Scope<'s>,
    rest: &'t str,
    labels: HashMap<&'t str, Term>,
    depth: u32,
}

impl<'t> Parser<'_, '_, 't> {
    /// The next token, which stays: a parenthesis or what stands between them and white space.
    fn peek(&mut self) -> &'t str {
        self.rest = self.rest.trim_start();
        let rest = self.rest;
        match rest.find(|c: char| c.is_whitespace() || c == '(' || c == ')') {
            None => rest,
            Some(end) => &rest[..end.max(1)],
        }
    }

    fn next(&mut self) -> &'t str {
        let token = self.peek();
        self.rest = &self.rest[token.len()..];
        token
    }

    fn expression(&mut self) -> Result<Term, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("the expression is nested deeper than {DEEPEST} levels"));
        }
        let term = match self.next() {
            "" => return Err("the expression ends too early".to_owned()),
            ")" => return Err("an operand is missing before ')'".to_owned()),
            "(" => self.application()?,
            "true" => Term::Truth(self.scope.exprs.constant(1, 1)),
            "false" => Term::Truth(self.scope.exprs.constant(0, 1)),
            token => match label(token) {
                Some(name) => {
                    let term = self.expression()?;
                    self.labels.insert(name, term);
                    term
                }
                None => self.atom(token)?,
            },
        };
        self.depth -= 1;
        Ok(term)
    }

    fn atom(&mut self, token: &'t str) -> Result<Term, String> {
        if let Some(term) = self.labels.get(token) {
            return Ok(*term);
        }
        if token.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
            return literal(token).map(Term::Literal);
        }
        Err(format!("a number or an expression expected instead of '{token}'"))
    }

    /// What follows an opening parenthesis, up to the closing one.
    fn application(&mut self) -> Result<Term, String> {
        let word = self.next();
        let term = match (operator(word), width(word)) {
            (Some(operator), _) => {
                let bits = self.width()?;
                self.apply(operator, bits).map_err(|e| match e.contains(" in (") {
                    true => e,
                    false => format!("{e} in ({word} …)"),
                })?
            }
            // `(w32 5)`: a number with its width.
            (None, Some(bits)) => {
                self.check_width(bits)?;
                let number = literal(self.next()).map(Term::Literal)?;
                Term::Number(self.scope.number(number, Some(bits)), Some(bits))
            }
            (None, None) => return Err(format!("'{word}' is no operator of KQuery")),
        };
        match self.next() {
            ")" => Ok(term),
            "" => Err("a ')' is missing".to_owned()),
            other => Err(format!("')' expected instead of '{other}' in ({word} …)")),
        }
    }

    /// The width that may follow an operator.
    fn width(&mut self) -> Result<Option<u8>, String> {
        let Some(bits) = width(self.peek()) else { return Ok(None) };
        self.check_width(bits)?;
        self.next();
        Ok(Some(bits))
    }

    fn check_width(&self, bits: u8) -> Result<(), String> {
        match (1..=64).contains(&bits) {
            true => Ok(()),
            false => Err(format!("a width of {bits} bits, where 1 to 64 are known")),
        }
    }

    fn apply(&mut self, operator: Operator, bits: Option<u8>) -> Result<Term, String> {
        let needed = || bits.ok_or_else(|| "a width such as w32 is missing".to_owned());
        Ok(match operator {
            Operator::Binary(op) => {
                let (a, b) = (self.expression()?, self.expression()?);
                self.scope.binary(op, a, b, bits)
            }
            Operator::Compare(op, swapped, negated) => {
                let (a, b) = (self.expression()?, self.expression()?);
                let (a, b) = if swapped { (b, a) } else { (a, b) };
                let holds = self.scope.compare(op, a, b);
                if negated { self.scope.not(holds) } else { holds }
            }
            Operator::Not => {
                let a = self.expression()?;
                self.scope.complement(a)
            }
            Operator::Neg => {
                let a = self.expression()?;
                self.scope.negate(a)
            }
            Operator::ZExt => {
                let (bits, of) = (needed()?, self.expression()?);
                let number = match of {
                    Term::Number(_, Some(old)) if old < 64 => {
                        let part = self.scope.part(of, 0, old);
                        self.scope.exprs.zero_extend(part, 64)
                    }
                    _ => self.scope.number(of, Some(64)),
                };
                Term::Number(number, Some(bits))
            }
            Operator::SExt => {
                let (bits, of) = (needed()?, self.expression()?);
                let number = match of {
                    Term::Truth(id) => self.scope.exprs.sign_extend(id, 64),
                    _ => self.scope.number(of, None),
                };
                Term::Number(number, Some(bits))
            }
            Operator::Extract => {
                let (bits, low) = (needed()?, self.offset(1)?);
                let of = self.expression()?;
                self.part(of, low, bits)?
            }
            Operator::Concat => {
                let (a, b) = (self.expression()?, self.expression()?);
                self.concat(a, b, bits)?
            }
            Operator::Select => {
                let (c, a, b) = (self.expression()?, self.expression()?, self.expression()?);
                self.scope.select(c, a, b)
            }
            Operator::Read => {
                let (bits, low) = (needed()?, self.offset(8)?);
                let name = self.next();
                if matches!(name, "" | "(" | ")") || name.starts_with('[') {
                    return Err("the name of a read expected".to_owned());
                }
                let variable = Term::Number(self.scope.symbol(name)?, Some(bits));
                match (bits, low) {
                    (32 | 64, 0) => variable,
                    _ => self.part(variable, low, bits)?,
                }
            }
        })
    }

    /// A literal offset, in units of so many bits.
    fn offset(&mut self, unit: u8) -> Result<u8, String> {
        let token = self.next();
        let offset = token.parse::<u8>().ok().and_then(|offset| offset.checked_mul(unit));
        offset.ok_or_else(|| format!("an offset expected instead of '{token}'"))
    }

    fn part(&mut self, of: Term, low: u8, bits: u8) -> Result<Term, String> {
        if u16::from(low) + u16::from(bits) > 64 {
            return Err(format!("bits {low} and {bits} more are beyond the 64 that values have"));
        }
        let whole = self.scope.number(of, None);
        let part = self.scope.exprs.extract(whole, low, bits);
        Ok(self.scope.whole(part))
    }

    fn concat(&mut self, a: Term, b: Term, bits: Option<u8>) -> Result<Term, String> {
        let (high, low) = (self.scope.width(a), self.scope.width(b));
        // What one part lacks, the whole may tell.
        let high = high.or_else(|| bits?.checked_sub(low?)).filter(|w| *w > 0);
        let low = low.or_else(|| bits?.checked_sub(high?)).filter(|w| *w > 0);
        let (Some(high), Some(low)) = (high, low) else {
            return Err("the width of a part is not known".to_owned());
        };
        if u16::from(high) + u16::from(low) > 64 {
            return Err("more than 64 bits together".to_owned());
        }
        let (a, b) = (self.scope.part(a, 0, high), self.scope.part(b, 0, low));
        let both = self.scope.exprs.concat(a, b);
        Ok(self.scope.whole(both))
    }
}
