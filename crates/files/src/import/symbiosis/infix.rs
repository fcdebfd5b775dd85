//! Infix expressions: `(R-value_613-1-1 + CONST_1)`, with the operators of C and Java and their precedence.
//!
//! A string constant stands for itself as a value (`$Sold$`), and as `CONST_Sold`, `"Sold"` or `Sold` within an expression.

use unravel_trace::{BinaryOp, CompareOp};

use super::number::{ThreadNumber, number};
use super::terms::{DEEPEST, Scope, Term, literal};

/// The string constant that a whole value is: a text in quotes, or one that no expression looks like.
pub(super) fn whole_string<'t>(scope: &Scope<'_>, text: &'t str) -> Option<&'t str> {
    let text = text.trim();
    if let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        return Some(inner).filter(|inner| !inner.contains('"'));
    }
    let first = text.chars().next()?;
    let is_expression = "(-+!~*".contains(first)
        || first.is_ascii_digit()
        || ["R-", "CONST_"].iter().any(|mark| text.contains(mark))
        || ["true", "false", "null"].contains(&text)
        || scope.knows(text)
        || is_read(text);
    (!is_expression).then_some(text)
}

/// Whether it is built as the name of a read: `variable-thread-count`.
fn is_read(token: &str) -> bool {
    let mut parts = token.rsplit('-');
    let count = parts.next().is_some_and(|count| number(count).is_some());
    let thread = parts.next().is_some_and(|thread| ThreadNumber::parse(thread).is_some());
    count && thread && parts.next().is_some()
}

/// Reads all of `text`.
pub(super) fn parse(scope: &mut Scope<'_>, text: &str) -> Result<Term, String> {
    let mut parser = Parser { scope, rest: text, depth: 0 };
    let term = parser.expression(0)?;
    match parser.peek() {
        "" => Ok(term),
        more => Err(format!("'{more}' is too much")),
    }
}

/// Longest first, so that `<` does not hide `<=`. The number is how tightly they bind.
const OPERATORS: [(&str, u8); 19] = [
    (">>>", 8),
    ("||", 1),
    ("&&", 2),
    ("==", 6),
    ("!=", 6),
    ("<=", 7),
    (">=", 7),
    ("<<", 8),
    (">>", 8),
    ("<", 7),
    (">", 7),
    ("|", 3),
    ("^", 4),
    ("&", 5),
    ("+", 9),
    ("-", 9),
    ("*", 10),
    ("/", 10),
    ("%", 10),
];

/// Characters that end a name. A minus does not: names have several.
const ENDS: &str = "()+*/%<>=!&|^~,";

struct Parser<'p, 's, 't> {
    scope: &'p mut Scope<'s>,
    rest: &'t str,
    depth: u32,
}

impl<'t> Parser<'_, '_, 't> {
    /// The next token, which stays.
    fn peek(&mut self) -> &'t str {
        self.rest = self.rest.trim_start();
        let rest = self.rest;
        if let Some(end) = rest.strip_prefix('"').and_then(|inner| inner.find('"')) {
            return &rest[..end + 2];
        }
        if let Some((operator, _)) = OPERATORS.iter().find(|(o, _)| rest.starts_with(o)) {
            return &rest[..operator.len()];
        }
        let is_number = rest.starts_with(|c: char| c.is_ascii_digit());
        let ends = |c: char| c.is_whitespace() || ENDS.contains(c) || is_number && c == '-';
        match rest.find(ends) {
            None => rest,
            // A single character that belongs to nothing else.
            Some(0) => &rest[..rest.chars().next().map_or(0, char::len_utf8)],
            Some(end) => &rest[..end],
        }
    }

    fn next(&mut self) -> &'t str {
        let token = self.peek();
        self.rest = &self.rest[token.len()..];
        token
    }

    /// Operands joined by operators that bind tighter than `loosest`.
    fn expression(&mut self, loosest: u8) -> Result<Term, String> {
        let mut left = self.operand()?;
        loop {
            let token = self.peek();
            let Some(&(operator, binds)) =
                OPERATORS.iter().find(|(o, binds)| *o == token && *binds > loosest)
            else {
                return Ok(left);
            };
            self.next();
            let right = self.expression(binds)?;
            left = self.apply(operator, left, right)?;
        }
    }

    fn operand(&mut self) -> Result<Term, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("the expression is nested deeper than {DEEPEST} levels"));
        }
        let term = match self.next() {
            "" => return Err("the expression ends too early".to_owned()),
            "(" => {
                let inner = self.expression(0)?;
                match self.next() {
                    ")" => inner,
                    "" => return Err("a ')' is missing".to_owned()),
                    other => return Err(format!("')' expected instead of '{other}'")),
                }
            }
            "-" => {
                let operand = self.operand()?;
                self.no_text("-", operand)?;
                self.scope.negate(operand)
            }
            "!" => {
                let operand = self.operand()?;
                self.no_text("!", operand)?;
                self.scope.not(operand)
            }
            "~" => {
                let operand = self.operand()?;
                self.no_text("~", operand)?;
                self.scope.complement(operand)
            }
            "true" => Term::Truth(self.scope.exprs.constant(1, 1)),
            "false" => Term::Truth(self.scope.exprs.constant(0, 1)),
            "null" => Term::Literal(0),
            token => self.name(token)?,
        };
        self.depth -= 1;
        Ok(term)
    }

    fn name(&mut self, token: &str) -> Result<Term, String> {
        if let Some(constant) = token.strip_prefix("CONST_") {
            return self.constant(constant);
        }
        if let Some(text) = token.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            return Ok(self.scope.text(text));
        }
        if token.starts_with(|c: char| c.is_ascii_digit()) {
            return literal(token).map(Term::Literal);
        }
        if token.starts_with(|c| ENDS.contains(c)) || OPERATORS.iter().any(|(o, _)| *o == token) {
            return Err(format!("a number or a read expected instead of '{token}'"));
        }
        if !token.starts_with("R-") && !self.scope.knows(token) && !is_read(token) {
            return Ok(self.scope.text(token));
        }
        self.scope.symbol(token).map(|id| Term::Number(id, None))
    }

    /// What follows `CONST_`.
    fn constant(&mut self, text: &str) -> Result<Term, String> {
        match text {
            "null" => Ok(Term::Literal(0)),
            _ if text.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                Ok(self.scope.text(text))
            }
            _ => literal(text).map(Term::Literal),
        }
    }

    fn apply(&mut self, operator: &str, a: Term, b: Term) -> Result<Term, String> {
        if !matches!(operator, "==" | "!=") {
            self.no_text(operator, a)?;
            self.no_text(operator, b)?;
        }
        Ok(self.applied(operator, a, b))
    }

    fn no_text(&self, operator: &str, of: Term) -> Result<(), String> {
        match of {
            Term::Text(_) => Err(format!("'{operator}' of a string, which has only == and !=")),
            _ => Ok(()),
        }
    }

    fn applied(&mut self, operator: &str, a: Term, b: Term) -> Term {
        let scope = &mut *self.scope;
        let binary = match operator {
            "||" | "&&" => {
                let (a, b) = (scope.truth(a), scope.truth(b));
                let op = if operator == "||" { BinaryOp::Or } else { BinaryOp::And };
                return Term::Truth(scope.exprs.binary(op, a, b));
            }
            "==" => return scope.compare(CompareOp::Eq, a, b),
            "!=" => {
                let equal = scope.compare(CompareOp::Eq, a, b);
                return scope.not(equal);
            }
            "<" => return scope.compare(CompareOp::Slt, a, b),
            "<=" => return scope.compare(CompareOp::Sle, a, b),
            ">" => return scope.compare(CompareOp::Slt, b, a),
            ">=" => return scope.compare(CompareOp::Sle, b, a),
            "|" => BinaryOp::Or,
            "^" => BinaryOp::Xor,
            "&" => BinaryOp::And,
            "<<" => BinaryOp::Shl,
            ">>" => BinaryOp::AShr,
            ">>>" => BinaryOp::LShr,
            "+" => BinaryOp::Add,
            "-" => BinaryOp::Sub,
            "*" => BinaryOp::Mul,
            "/" => BinaryOp::SDiv,
            _ => BinaryOp::SRem,
        };
        scope.binary(binary, a, b, None)
    }
}
