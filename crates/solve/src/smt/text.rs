//! Writing SMT-LIB 2: formulas that simplify while they are built, and the script that asserts them.

use std::fmt::Write;

/// A Boolean term.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Formula {
    True,
    False,
    Text(String),
}

impl Formula {
    pub fn known(value: bool) -> Formula {
        if value { Formula::True } else { Formula::False }
    }

    pub fn text(text: impl Into<String>) -> Formula {
        Formula::Text(text.into())
    }

    pub fn and(parts: impl IntoIterator<Item = Formula>) -> Formula {
        joined(parts, "and", Formula::True, Formula::False)
    }

    pub fn or(parts: impl IntoIterator<Item = Formula>) -> Formula {
        joined(parts, "or", Formula::False, Formula::True)
    }

    /// Only for terms that are no orders: an order is negated by asking for the opposite one, because answers may
    /// leave steps at one place.
    pub fn not(self) -> Formula {
        match self {
            Formula::True => Formula::False,
            Formula::False => Formula::True,
            Formula::Text(text) => Formula::Text(format!("(not {text})")),
        }
    }

    /// At least so many of these hold.
    pub fn at_least(count: i64, parts: Vec<Formula>) -> Formula {
        let certain = parts.iter().filter(|p| **p == Formula::True).count() as i64;
        let open: Vec<Formula> =
            parts.into_iter().filter(|p| matches!(p, Formula::Text(_))).collect();
        let needed = count - certain;
        if needed <= 0 {
            return Formula::True;
        }
        if needed > open.len() as i64 {
            return Formula::False;
        }
        if needed == 1 {
            return Formula::or(open);
        }
        if needed == open.len() as i64 {
            return Formula::and(open);
        }
        let mut text = format!("((_ at-least {needed})");
        for part in &open {
            let _ = write!(text, " {part}");
        }
        text.push(')');
        Formula::Text(text)
    }
}

impl std::fmt::Display for Formula {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Formula::True => "true",
            Formula::False => "false",
            Formula::Text(text) => text,
        })
    }
}

fn joined(
    parts: impl IntoIterator<Item = Formula>,
    word: &str,
    neutral: Formula,
    absorbing: Formula,
) -> Formula {
    let mut texts: Vec<String> = Vec::new();
    for part in parts {
        if part == absorbing {
            return absorbing;
        }
        if let Formula::Text(text) = part {
            texts.push(text);
        }
    }
    match texts.len() {
        0 => neutral,
        1 => Formula::Text(texts.swap_remove(0)),
        _ => Formula::Text(format!("({word} {})", texts.join(" "))),
    }
}

/// A sequence of commands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    pub text: String,
}

impl Script {
    pub fn comment(&mut self, words: &str) {
        let _ = writeln!(self.text, "; {words}");
    }

    pub fn declare(&mut self, name: &str, sort: &str) {
        let _ = writeln!(self.text, "(declare-const {name} {sort})");
    }

    pub fn declare_bits(&mut self, name: &str, bits: u32) {
        let _ = writeln!(self.text, "(declare-const {name} (_ BitVec {bits}))");
    }

    pub fn define_bits(&mut self, name: &str, bits: u32, term: &str) {
        let _ = writeln!(self.text, "(define-fun {name} () (_ BitVec {bits}) {term})");
    }

    pub fn assert(&mut self, formula: &Formula) {
        if *formula != Formula::True {
            let _ = writeln!(self.text, "(assert {formula})");
        }
    }

    /// The weight is always written: Z3 4.8.12 lets one constraint's weight slip into the next that has none.
    pub fn soft(&mut self, formula: &Formula, weight: u64) {
        let _ = writeln!(self.text, "(assert-soft {formula} :weight {weight} :id distance)");
    }
}

/// A constant of so many bits.
pub(crate) fn bits(value: u128, bits: u32) -> String {
    if bits.is_multiple_of(4) {
        format!("#x{value:0width$x}", width = bits as usize / 4)
    } else {
        format!("#b{value:0width$b}", width = bits as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_simplify() {
        let p = || Formula::text("p");
        assert_eq!(Formula::and([Formula::True, p()]), p());
        assert_eq!(Formula::or([p(), Formula::True]), Formula::True);
        assert_eq!(Formula::or([]), Formula::False);
        assert_eq!(Formula::at_least(1, vec![Formula::True, p()]), Formula::True);
        assert_eq!(Formula::at_least(2, vec![Formula::True, p()]), p());
        assert_eq!(Formula::at_least(3, vec![Formula::True, p()]), Formula::False);
        let two_of_three = Formula::at_least(2, vec![p(), p(), p()]);
        assert_eq!(two_of_three, Formula::text("((_ at-least 2) p p p)"));
    }

    #[test]
    fn constants_have_their_width() {
        assert_eq!(bits(1, 1), "#b1");
        assert_eq!(bits(10, 8), "#x0a");
        assert_eq!(bits(2, 3), "#b010");
    }
}
