//! Writing SMT-LIB 2: how formulas look as text, and the script that asserts them.
//!
//! A choice is declared where it first occurs. The one that grants a request q says where the run ends:
//! `g_q ⇒ end = o_q`; a step s after it has `end < o_s`.

use std::fmt::Write;

use rustc_hash::FxHashSet;

use crate::constraints::{Atom, Formula};
use crate::{Source, StepId};

/// A sequence of commands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    pub text: String,
    /// Choices.
    declared: FxHashSet<Atom>,
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
        if *formula == Formula::True {
            return;
        }
        self.declare_choices(formula);
        self.text.push_str("(assert ");
        write_formula(&mut self.text, formula);
        self.text.push_str(")\n");
    }

    /// A Boolean term holds, unless the formula does.
    pub fn assert_unless(&mut self, excuse: &Formula, term: &str) {
        match excuse {
            Formula::True => {}
            Formula::False => {
                let _ = writeln!(self.text, "(assert {term})");
            }
            excuse => {
                self.declare_choices(excuse);
                self.text.push_str("(assert (or ");
                write_formula(&mut self.text, excuse);
                let _ = writeln!(self.text, " {term}))");
            }
        }
    }

    /// An order that is the same in every execution, which formulas take for granted.
    pub fn assert_fixed(&mut self, first: StepId, second: StepId) {
        let _ = writeln!(self.text, "(assert (< {} {}))", place_name(first), place_name(second));
    }

    /// The weight is always written: Z3 4.8.12 lets one constraint's weight slip into the next that has none.
    pub fn soft(&mut self, formula: &Formula, weight: u64) {
        self.declare_choices(formula);
        self.text.push_str("(assert-soft ");
        write_formula(&mut self.text, formula);
        let _ = writeln!(self.text, " :weight {weight} :id distance)");
    }

    fn declare_choices(&mut self, formula: &Formula) {
        formula.each_atom(&mut |atom| {
            if !atom.is_choice() || !self.declared.insert(atom) {
                return;
            }
            let mut name = String::new();
            write_atom(&mut name, atom);
            self.declare(&name, "Bool");
            if let Atom::Granted(request) = atom {
                let place = place_name(request);
                let _ = writeln!(self.text, "(assert (=> {name} (= {END} {place})))");
            }
        });
    }
}

/// The place where a request is granted.
pub(crate) const END: &str = "end";

pub(crate) fn place_name(step: StepId) -> String {
    format!("o{}", step.0)
}

fn write_atom(text: &mut String, atom: Atom) {
    let _ = match atom {
        Atom::Before(a, b) => write!(text, "(< {} {})", place_name(a), place_name(b)),
        Atom::AfterGrant(step) => write!(text, "(< {END} {})", place_name(step)),
        Atom::Wakes { wait, waker } => write!(text, "p{wait}_{waker}"),
        Atom::ReadsFrom(slot, Source::Initial) => write!(text, "r{}_i", slot.0),
        Atom::ReadsFrom(slot, Source::Write(write)) => write!(text, "r{}_{write}", slot.0),
        Atom::Granted(request) => write!(text, "g{}", request.0),
    };
}

fn write_formula(text: &mut String, formula: &Formula) {
    match formula {
        Formula::True => text.push_str("true"),
        Formula::False => text.push_str("false"),
        Formula::Is(atom) => write_atom(text, *atom),
        Formula::Not(atom) => {
            text.push_str("(not ");
            write_atom(text, *atom);
            text.push(')');
        }
        Formula::All(parts) => write_list(text, "and", parts),
        Formula::Any(parts) => write_list(text, "or", parts),
        Formula::AtLeast(count, parts) => write_list(text, &format!("(_ at-least {count})"), parts),
    }
}

fn write_list(text: &mut String, word: &str, parts: &[Formula]) {
    text.push('(');
    text.push_str(word);
    for part in parts {
        text.push(' ');
        write_formula(text, part);
    }
    text.push(')');
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
    use crate::SlotId;

    fn order(first: u32, second: u32) -> Formula {
        Formula::Is(Atom::Before(StepId(first), StepId(second)))
    }

    #[test]
    fn formulas_are_printed() {
        let mut script = Script::default();
        script.assert(&Formula::True);
        script.assert(&Formula::at_least(2, vec![order(1, 2), order(3, 4), order(5, 6)]));
        assert_eq!(script.text, "(assert ((_ at-least 2) (< o1 o2) (< o3 o4) (< o5 o6)))\n");
        script.text.clear();
        script.assert_unless(&order(1, 2), "(= v0 #x01)");
        script.assert_unless(&Formula::False, "(= v0 #x01)");
        assert_eq!(script.text, "(assert (or (< o1 o2) (= v0 #x01)))\n(assert (= v0 #x01))\n");
    }

    #[test]
    fn choices_are_declared_once() {
        let mut script = Script::default();
        let reads = Formula::Is(Atom::ReadsFrom(SlotId(5), Source::Write(7)));
        script.assert(&Formula::or([reads.clone().not(), order(1, 2)]));
        script.assert(&reads);
        let expected = "(declare-const r5_7 Bool)\n\
                        (assert (or (not r5_7) (< o1 o2)))\n\
                        (assert r5_7)\n";
        assert_eq!(script.text, expected);
    }

    #[test]
    fn a_grant_is_the_end() {
        let mut script = Script::default();
        script.assert(&Formula::Is(Atom::Granted(StepId(4))));
        script.assert(&Formula::Is(Atom::AfterGrant(StepId(3))));
        let expected = "(declare-const g4 Bool)\n\
                        (assert (=> g4 (= end o4)))\n\
                        (assert g4)\n\
                        (assert (< end o3))\n";
        assert_eq!(script.text, expected);
    }

    #[test]
    fn constants_have_their_width() {
        assert_eq!(bits(1, 1), "#b1");
        assert_eq!(bits(10, 8), "#x0a");
        assert_eq!(bits(2, 3), "#b010");
    }
}
