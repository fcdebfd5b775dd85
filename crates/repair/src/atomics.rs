//! One atomic operation, or a loop of compare-exchanges, instead of two steps: the text of it, in the words that the program
//! has for its atomic operations.
//!
//! What is added to what was loaded becomes `fetch_*`; a flag that is tested and set becomes an exchange; everything else tries
//! again until nobody has come between (a compare-exchange loop). What the program does between test and change comes after
//! the change now: whether that matters, the checks find out. All operations are sequentially consistent, whatever order the
//! program had asked for.

mod outcome;
mod spelling;

use std::ops::Range;

use crate::rewrite::{Deed, Edit};
use crate::source::{Act, AtomicAccess, Family, Operation, Source, Test, TestKind, TwoSteps, Way};
pub use outcome::by_outcome;
use spelling::{Spelling, spaced};

/// Where a condition is broken into two lines.
const LONG_LINE: usize = 70;

/// The edits that make one step of two; `None` if the text has no room for it.
pub fn in_one_step(file: &str, source: &Source, steps: &TwoSteps) -> Option<Vec<Edit>> {
    let TwoSteps { load, act, way, test } = steps;
    let spelling = Spelling { source, family: family(load, act), object: &load.object };
    let writing = Writing { file, source, spelling, load, act };
    let mut edits = match (way, test) {
        (Way::SameStatement, _) => writing.same_statement(),
        (Way::Variable { name }, None) => writing.held(name),
        (Way::Variable { name }, Some(test)) => writing.tested(name, test, false),
        (Way::Inline, Some(test)) => match writing.exchanged(test) {
            Some(edits) => Some(edits),
            None => writing.tested(&source.fresh_name("seen"), test, true),
        },
        (Way::Inline, None) => None,
    }?;
    if family(load, act) == Family::C11 {
        let deed = Deed::Include { header: "<stdatomic.h>".to_owned() };
        edits.push(Edit { file: file.to_owned(), deed });
    }
    Some(edits)
}

/// Where one of the two is a plain use, the other knows the words.
fn family(load: &AtomicAccess, act: &AtomicAccess) -> Family {
    if load.family == Family::Builtin { load.family } else { act.family }
}

struct Writing<'s> {
    file: &'s str,
    source: &'s Source,
    spelling: Spelling<'s>,
    load: &'s AtomicAccess,
    act: &'s AtomicAccess,
}

impl Writing<'_> {
    fn text(&self, bytes: &Range<usize>) -> &str {
        &self.source.text()[bytes.clone()]
    }

    /// A stretch of text with the load replaced by a variable.
    fn with(&self, bytes: &Range<usize>, variable: &str) -> String {
        let load = &self.load.bytes;
        if !bytes.contains(&load.start) {
            return self.text(bytes).to_owned();
        }
        [self.text(&(bytes.start..load.start)), variable, self.text(&(load.end..bytes.end))]
            .concat()
    }

    /// The value that the change leaves, if the object had this one.
    fn new_value(&self, variable: &str) -> String {
        match &self.act.act {
            Act::Update { operation, operand } => {
                let sign = match operation {
                    Operation::Add => "+",
                    Operation::Subtract => "-",
                    Operation::Or => "|",
                    Operation::And => "&",
                    Operation::Xor => "^",
                };
                format!("{variable} {sign} {operand}")
            }
            Act::Store { value } => self.with(value, variable),
            Act::Load => variable.to_owned(),
        }
    }

    /// `while (… && !compare_exchange(…)) ;`
    fn retry(&self, condition: Option<&str>, variable: &str) -> String {
        let change = self.spelling.compare_exchange(variable, &self.new_value(variable), true);
        let unit = self.source.indent_unit();
        match condition {
            Some(condition) => {
                let condition = grouped(condition);
                let is_long = condition.len() + change.len() > LONG_LINE;
                let and = if is_long { "&&\n       " } else { "&& " };
                format!("while ({condition} {and}!{change})\n{unit};")
            }
            None => format!("while (!{change})\n{unit};"),
        }
    }

    fn remove_act(&self) -> Option<Edit> {
        Some(Edit::remove(self.file, self.act.statement.clone()?))
    }

    /// `store(x, load(x) + 1)`.
    fn same_statement(&self) -> Option<Vec<Edit>> {
        let statement = self.act.statement.clone()?;
        let Act::Store { value } = &self.act.act else { return None };
        if let Some((operation, operand)) =
            self.source.step_from(self.text(&self.load.bytes), value)
        {
            let text = format!("{};", self.spelling.fetch(operation, &operand));
            return Some(vec![Edit::replace(self.file, statement, &text)]);
        }
        let name = self.source.fresh_name("seen");
        let region = self.source.region(&[self.source.position_of(statement.start)])?;
        let declaration = self.declaration(&name);
        let text = format!("{declaration}\n{}", self.retry(None, &name));
        Some(vec![Edit::before(self.file, &region, &text), Edit::remove(self.file, statement)])
    }

    /// `v = load(x); … store(x, v + 1);`
    fn held(&self, variable: &str) -> Option<Vec<Edit>> {
        let instead = |text: String| -> Option<Vec<Edit>> {
            let load = Edit::replace(self.file, self.load.bytes.clone(), &text);
            Some(vec![load, self.remove_act()?])
        };
        let Act::Store { value } = &self.act.act else { return None };
        if let Some((operation, operand)) = self.source.step_from(variable, value) {
            return instead(self.spelling.fetch(operation, &operand));
        }
        let between = self.load.bytes.end..self.act.bytes.start;
        if self.text(value).trim() == variable {
            // `v = load(x); v++; store(x, v);`: the variable still gets its own.
            let update = self.source.updates(between).into_iter().find(|u| u.target == variable)?;
            return instead(self.spelling.fetch(update.operation, &update.operand));
        }
        if !self.source.mentions(value, variable) {
            return instead(self.spelling.exchange(self.text(value)));
        }
        // What was computed on the way would be stale after the first failure.
        let is_used = self.source.mentions(&between, variable);
        let retry = self.laid_out(&self.retry(None, variable));
        let statement = self.act.statement.clone()?;
        (!is_used).then(|| vec![Edit::replace(self.file, statement, &retry)])
    }

    /// A flag or a constant: `if (!load(x)) store(x, 1)`, `if (load(x)) return; store(x, 1)`, `while (load(x)); store(x, 1)`.
    fn exchanged(&self, test: &Test) -> Option<Vec<Edit>> {
        let Act::Store { value } = &self.act.act else { return None };
        let value = self.text(value).trim();
        let condition = self.with(&test.condition, "@");
        let condition: String = condition.split_whitespace().collect();
        let is_set = is_true(value);
        let free = matches!(condition.as_str(), "!@" | "@==0" | "@==false" | "0==@");
        let taken = matches!(condition.as_str(), "@" | "@!=0" | "@==1" | "@==true" | "0!=@");
        let tests = match test.kind {
            TestKind::Guards { alone } => free && !alone,
            TestKind::Leaves | TestKind::Spins => taken,
        };
        let is_two_valued = self.spelling.is_boolean() || test.kind == TestKind::Spins;
        if is_set && tests && is_two_valued {
            let exchange = self.spelling.exchange(value);
            let load = Edit::replace(self.file, self.load.bytes.clone(), &exchange);
            return Some(vec![load, self.remove_act()?]);
        }
        // One value is expected: one comparison will do.
        let expected = match condition.as_str() {
            "!@" => Some("0"),
            other => other.strip_prefix("@=="),
        };
        let expected = expected.filter(|text| is_constant(text) && is_constant(value))?;
        if test.kind != (TestKind::Guards { alone: false }) {
            return None;
        }
        let name = self.source.fresh_name("expected");
        let of_type = self.spelling.value_type();
        let expected = if of_type == "bool" && expected == "0" { "false" } else { expected };
        let declaration = format!("{}{name} = {expected};", spaced(&of_type));
        let exchange = self.spelling.compare_exchange(&name, value, false);
        let region = self.region_of(test)?;
        Some(vec![
            Edit::before(self.file, &region, &declaration),
            Edit::replace(self.file, test.condition.clone(), &exchange),
            self.remove_act()?,
        ])
    }

    /// A loop that tries again as long as the test holds.
    fn tested(&self, variable: &str, test: &Test, is_new: bool) -> Option<Vec<Edit>> {
        let condition = self.with(&test.condition, variable);
        if self.has_effects(&condition) {
            return None;
        }
        let region = self.region_of(test)?;
        let mut lines = Vec::new();
        if is_new {
            lines.push(self.declaration(variable));
        }
        let mut edits = Vec::new();
        let load = Edit::replace(self.file, self.load.bytes.clone(), variable);
        match test.kind {
            TestKind::Guards { alone } => {
                lines.push(self.retry(Some(&condition), variable));
                edits.push(Edit::before(self.file, &region, &lines.join("\n")));
                if alone {
                    edits.push(Edit::remove(self.file, test.statement.clone()));
                    return Some(edits);
                }
                edits.extend(is_new.then_some(load));
                edits.push(self.remove_act()?);
            }
            TestKind::Leaves => {
                let unit = self.source.indent_unit();
                let text = self.with(&test.statement, variable);
                let indent = self.source.indentation_at(test.statement.start);
                let text = text.replace(&format!("\n{indent}"), &format!("\n{unit}"));
                let change =
                    self.spelling.compare_exchange(variable, &self.new_value(variable), true);
                lines.push(format!("do {{\n{unit}{text}\n}} while (!{change});"));
                edits.push(Edit::before(self.file, &region, &lines.join("\n")));
                edits.push(Edit::remove(self.file, test.statement.clone()));
                edits.push(self.remove_act()?);
            }
            TestKind::Spins => return None,
        }
        Some(edits)
    }

    fn declaration(&self, name: &str) -> String {
        format!("{}{name} = {};", spaced(&self.spelling.value_type()), self.spelling.load())
    }

    /// A text of several lines where a statement stood.
    fn laid_out(&self, text: &str) -> String {
        let at = self.act.statement.as_ref().map_or(self.act.bytes.start, |bytes| bytes.start);
        text.replace('\n', &format!("\n{}", self.source.indentation_at(at)))
    }

    fn region_of(&self, test: &Test) -> Option<crate::source::Region> {
        let region = self.source.region(&[self.source.position_of(test.statement.start)])?;
        (region.bytes == test.statement).then_some(region)
    }

    /// Whether evaluating a condition again and again does more than look.
    fn has_effects(&self, condition: &str) -> bool {
        let calls = condition.contains('(') && !is_only_grouping(condition);
        let assigns = condition.contains("++")
            || condition.contains("--")
            || condition
                .replace("==", "")
                .replace("!=", "")
                .replace("<=", "")
                .replace(">=", "")
                .contains('=');
        calls || assigns
    }
}

/// Whether parentheses only group: none follows a name.
fn is_only_grouping(condition: &str) -> bool {
    condition.match_indices('(').all(|(at, _)| {
        !condition[..at].trim_end().ends_with(|c: char| c.is_alphanumeric() || c == '_')
    })
}

/// A condition that can stand beside `&&`.
fn grouped(condition: &str) -> String {
    if condition.contains("||") || condition.contains('?') {
        format!("({condition})")
    } else {
        condition.to_owned()
    }
}

fn is_true(value: &str) -> bool {
    matches!(value, "1" | "true" | "TRUE")
}

/// A number, or a name that is written as constants are.
fn is_constant(text: &str) -> bool {
    matches!(text, "true" | "false")
        || !text.is_empty()
            && text
                .chars()
                .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_' || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Patch;

    /// The text with everything in it done in one step.
    #[track_caller]
    fn repaired(file: &str, text: &str) -> String {
        let source = Source::parse(file, text.to_owned()).expect("the sample parses");
        let mut patch = Patch::new(&source);
        for steps in source.two_steps(0..text.len()) {
            for edit in in_one_step(file, &source, &steps).expect("there is a way to write it") {
                match edit.deed {
                    Deed::Replace { bytes, text } => patch.replace(bytes, &text),
                    Deed::Remove { statement } => patch.remove_statement(statement),
                    Deed::Before { region, text } => patch.before(&region, &text).expect("room"),
                    _ => {}
                }
            }
        }
        patch.apply().expect("edits that fit together")
    }

    #[test]
    fn additions_fetch() {
        let text = "static _Atomic int n;\nvoid f(void)\n{\n\tint v = atomic_load(&n);\n\tatomic_store(&n, v + 2);\n}\n";
        assert!(repaired("a.c", text).contains("\tint v = atomic_fetch_add(&n, 2);\n}"));
        let text = "static _Atomic int n;\nvoid f(void)\n{\n\tn = n - 1;\n}\n";
        assert!(repaired("a.c", text).contains("\tatomic_fetch_sub(&n, 1);\n}"));
        let text = "static std::atomic<int> n;\nvoid f()\n{\n\tint v = n;\n\tv++;\n\tn = v;\n}\n";
        assert!(repaired("a.cpp", text).contains("\tint v = n.fetch_add(1);\n\tv++;\n}"));
    }

    #[test]
    fn other_changes_try_again() {
        let text = "static _Atomic long n;\nvoid f(void)\n{\n\tn = n * 2;\n}\n";
        let wanted = "\tlong seen = atomic_load(&n);\n\twhile (!atomic_compare_exchange_weak(&n, &seen, seen * 2))\n\t\t;\n}";
        assert!(repaired("a.c", text).contains(wanted), "{}", repaired("a.c", text));
        let text =
            "static std::atomic<int> n;\nvoid f()\n{\n\tif (n > 0) {\n\t\tn--;\n\t\tg();\n\t}\n}\n";
        let wanted = "\tint seen = n.load();\n\twhile (seen > 0 && !n.compare_exchange_weak(seen, seen - 1))\n\t\t;\n\tif (seen > 0) {\n\t\tg();\n\t}\n}";
        assert!(repaired("a.cpp", text).contains(wanted), "{}", repaired("a.cpp", text));
    }

    #[test]
    fn who_leaves_looks_again_each_time() {
        let text = "static long n;\nint f(void)\n{\n\tlong v = __atomic_load_n(&n, 5);\n\tif (v == 0)\n\t\treturn 0;\n\t__atomic_store_n(&n, v - 1, 5);\n\treturn 1;\n}\n";
        let wanted = "\tdo {\n\t\tif (v == 0)\n\t\t\treturn 0;\n\t} while (!__atomic_compare_exchange_n(&n, &v, v - 1, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));\n\treturn 1;\n}";
        assert!(repaired("a.c", text).contains(wanted), "{}", repaired("a.c", text));
    }

    #[test]
    fn flags_are_exchanged_and_states_compared() {
        let text = "static std::atomic<bool> b;\nvoid f()\n{\n\tif (!b.load()) {\n\t\tb.store(true);\n\t\tg();\n\t}\n}\n";
        assert!(repaired("a.cpp", text).contains("\tif (!b.exchange(true)) {\n\t\tg();"));
        let text = "static atomic_int s;\nvoid f(void)\n{\n\tif (s == IDLE) {\n\t\ts = BUSY;\n\t\tg();\n\t}\n}\n";
        let wanted = "\tint expected = IDLE;\n\tif (atomic_compare_exchange_strong(&s, &expected, BUSY)) {\n\t\tg();";
        assert!(repaired("a.c", text).contains(wanted), "{}", repaired("a.c", text));
        let text = "static atomic_int l;\nvoid f(void)\n{\n\twhile (atomic_load(&l))\n\t\t;\n\tatomic_store(&l, 1);\n}\n";
        assert!(repaired("a.c", text).contains("\twhile (atomic_exchange(&l, 1))\n\t\t;\n}"));
    }
}
