//! Atomic objects that are read by one operation and changed by another that goes by what was read: each is atomic, both are
//! not. The shapes in which programs write that, so that one operation can take their place.
//!
//! Known are a load in the value that is stored, a load into a variable, and a load in the test of an `if` or `while`; the
//! change is a statement of its own, in the same block or in the block that the test guards. What goes through several
//! variables, fields or functions is not found.

use std::ops::Range;

use tree_sitter::Node;

use super::atomics::{Act, AtomicAccess};
use super::update::unwrap;
use super::{Source, is_jump, words};

/// A load and the change that goes by it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TwoSteps {
    pub load: AtomicAccess,
    /// Always a statement of its own.
    pub act: AtomicAccess,
    pub way: Way,
    pub test: Option<Test>,
}

/// What becomes of the value that was loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Way {
    /// It is part of the value that is stored.
    SameStatement,
    /// A variable holds it.
    Variable { name: String },
    /// It is tested where it is loaded.
    Inline,
}

/// A statement whose condition looks at the value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Test {
    pub statement: Range<usize>,
    /// Without its parentheses.
    pub condition: Range<usize>,
    pub kind: TestKind,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TestKind {
    /// `if (c) { … act … }`: whether nothing but the act is in it, and no `else` after it.
    Guards { alone: bool },
    /// `if (c) return …; act`.
    Leaves,
    /// `while (c) …; act`.
    Spins,
}

impl Source {
    /// The changes in two steps within a stretch.
    pub fn two_steps(&self, bytes: Range<usize>) -> Vec<TwoSteps> {
        let accesses = self.atomic_accesses(bytes);
        let is_act = |access: &&AtomicAccess| access.act != Act::Load && access.statement.is_some();
        let mut found: Vec<TwoSteps> = Vec::new();
        for act in accesses.iter().filter(is_act) {
            let of_same = |access: &&AtomicAccess| {
                access.act == Act::Load
                    && access.object == act.object
                    && access.bytes.start < act.bytes.end
            };
            // The nearest one before it decides.
            let loads = accesses.iter().filter(of_same);
            let load = loads.max_by_key(|load| load.bytes.start);
            let steps = load.and_then(|load| self.steps(load, act));
            let is_known = |steps: &TwoSteps| found.iter().any(|known| known.load == steps.load);
            found.extend(steps.filter(|steps| !is_known(steps)));
        }
        found
    }

    fn steps(&self, load: &AtomicAccess, act: &AtomicAccess) -> Option<TwoSteps> {
        let (way, test) = self.way(load, act)?;
        Some(TwoSteps { load: load.clone(), act: act.clone(), way, test })
    }

    fn way(&self, load: &AtomicAccess, act: &AtomicAccess) -> Option<(Way, Option<Test>)> {
        if let Act::Store { value } = &act.act
            && value.contains(&load.bytes.start)
        {
            return Some((Way::SameStatement, None));
        }
        let at = self.node_of(&load.bytes)?;
        let changing = self.node_of(act.statement.as_ref()?)?;
        if let Some((name, statement)) = self.variable_of(at) {
            let way = Way::Variable { name: name.clone() };
            if same_block(statement, changing) {
                let between = between(statement, changing);
                let mentioning: Vec<Node> =
                    between.into_iter().filter(|node| self.says(*node, &name)).collect();
                return match mentioning.as_slice() {
                    [] => Some((way, None)),
                    [one] if leaves(*one) => Some((way, self.test(*one, TestKind::Leaves))),
                    // `v++` on the way is a part of the change.
                    [one] if one.kind() == "expression_statement" => Some((way, None)),
                    _ => None,
                };
            }
            let test = guarding(changing).filter(|test| same_block(statement, *test))?;
            let alone = is_alone(test, changing);
            let untouched = !between(statement, test).iter().any(|node| self.says(*node, &name));
            let test = self.test(test, TestKind::Guards { alone })?;
            let is_tested = words(&self.text[test.condition.clone()]).any(|(_, word)| word == name);
            return (is_tested && untouched).then_some((way, Some(test)));
        }
        let testing = testing(at)?;
        let test = match testing.kind() {
            "if_statement" if guarding(changing) == Some(testing) => {
                self.test(testing, TestKind::Guards { alone: is_alone(testing, changing) })
            }
            "if_statement" if leaves(testing) && follows(testing, changing) => {
                self.test(testing, TestKind::Leaves)
            }
            "while_statement" if follows(testing, changing) => self.test(testing, TestKind::Spins),
            _ => None,
        };
        test.map(|test| (Way::Inline, Some(test)))
    }

    fn node_of(&self, bytes: &Range<usize>) -> Option<Node<'_>> {
        self.tree.root_node().named_descendant_for_byte_range(bytes.start, bytes.end)
    }

    /// The variable that is given a value and nothing else, and the statement that does it.
    fn variable_of<'t>(&self, value: Node<'t>) -> Option<(String, Node<'t>)> {
        let mut node = value;
        while let Some(around) = node.parent().filter(|p| p.kind() == "parenthesized_expression") {
            node = around;
        }
        let parent = node.parent()?;
        let (field, name) = match parent.kind() {
            "init_declarator" => ("value", parent.child_by_field_name("declarator")?),
            "assignment_expression" => ("right", parent.child_by_field_name("left")?),
            _ => return None,
        };
        let statement = parent.parent()?;
        let is_whole = matches!(statement.kind(), "declaration" | "expression_statement")
            && parent.child_by_field_name(field) == Some(node)
            && name.kind() == "identifier";
        is_whole.then(|| (self.node_text(name).to_owned(), statement))
    }

    fn test(&self, statement: Node, kind: TestKind) -> Option<Test> {
        let condition = statement.child_by_field_name("condition")?;
        let inner = match condition.kind() {
            "condition_clause" => condition.child_by_field_name("value")?,
            _ => unwrap(condition),
        };
        Some(Test { statement: statement.byte_range(), condition: inner.byte_range(), kind })
    }

    fn says(&self, node: Node, name: &str) -> bool {
        words(self.node_text(node)).any(|(_, word)| word == name)
    }
}

/// The statement whose condition an expression is in.
fn testing(expression: Node) -> Option<Node> {
    let mut node = expression;
    while let Some(parent) = node.parent() {
        if matches!(parent.kind(), "if_statement" | "while_statement") {
            return (parent.child_by_field_name("condition") == Some(node)).then_some(parent);
        }
        if parent.kind().ends_with("_statement") {
            return None;
        }
        node = parent;
    }
    None
}

/// The `if` that a statement stands in directly, in the part that runs if the condition holds.
fn guarding(statement: Node) -> Option<Node> {
    let parent = statement.parent()?;
    let (part, owner) = match parent.kind() {
        "compound_statement" => (parent, parent.parent()?),
        _ => (statement, parent),
    };
    let is_guard = owner.kind() == "if_statement"
        && owner.child_by_field_name("consequence") == Some(part)
        // An `else if` cannot have a statement before it.
        && owner.parent().is_some_and(|around| around.kind() != "else_clause");
    is_guard.then_some(owner)
}

fn is_alone(test: Node, act: Node) -> bool {
    let part = test.child_by_field_name("consequence");
    let only = part.is_some_and(|part| part == act || statements(part).len() == 1);
    only && test.child_by_field_name("alternative").is_none()
}

/// Whether an `if` does nothing but return.
fn leaves(statement: Node) -> bool {
    let part =
        statement.child_by_field_name("consequence").filter(|_| statement.kind() == "if_statement");
    let returns = |node: Node| node.kind() == "return_statement";
    statement.child_by_field_name("alternative").is_none()
        && part.is_some_and(|part| {
            is_jump(part)
                && (returns(part) || statements(part).last().copied().is_some_and(returns))
        })
}

fn same_block(a: Node, b: Node) -> bool {
    a.parent() == b.parent() && a.parent().is_some_and(|block| block.kind() == "compound_statement")
}

/// Whether a statement is the next one of the same block.
fn follows(first: Node, then: Node) -> bool {
    same_block(first, then)
        && first.start_byte() < then.start_byte()
        && between(first, then).is_empty()
}

/// The statements between two of one block.
fn between<'t>(first: Node<'t>, then: Node<'t>) -> Vec<Node<'t>> {
    let block = first.parent().map_or_else(Vec::new, statements);
    let is_between = |node: &Node| {
        node.start_byte() > first.start_byte() && node.end_byte() <= then.start_byte()
    };
    block.into_iter().filter(is_between).collect()
}

fn statements(block: Node) -> Vec<Node> {
    let mut cursor = block.walk();
    block.named_children(&mut cursor).filter(|node| node.kind() != "comment").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn ways(file: &str, text: &str) -> Vec<(Way, Option<TestKind>)> {
        let source = Source::parse(file, text.to_owned()).expect("the sample parses");
        let all = source.two_steps(0..text.len()).into_iter();
        all.map(|steps| (steps.way, steps.test.map(|test| test.kind))).collect()
    }

    fn held(name: &str) -> Way {
        Way::Variable { name: name.to_owned() }
    }

    #[test]
    fn a_value_is_stored_that_was_computed_from_a_load() {
        let text = "void f(void) { atomic_store(&n, atomic_load(&n) + 1); }";
        assert_eq!(ways("a.c", text), [(Way::SameStatement, None)]);
        let text = "void f(void) { int v = atomic_load(&n); g(); atomic_store(&n, v + 1); }";
        assert_eq!(ways("a.c", text), [(held("v"), None)]);
    }

    #[test]
    fn a_test_decides_on_the_change() {
        let text = "void f() { if (n.load() > 0) { n.fetch_sub(1); g(); } }";
        assert_eq!(ways("a.cpp", text), [(Way::Inline, Some(TestKind::Guards { alone: false }))]);
        let text = "void f() { int v = n.load(); if (v > 0) n.store(v - 1); }";
        assert_eq!(ways("a.cpp", text), [(held("v"), Some(TestKind::Guards { alone: true }))]);
        let text = "int f() { int v = n.load(); if (v == 0) return 0; n.store(v - 1); return 1; }";
        assert_eq!(ways("a.cpp", text), [(held("v"), Some(TestKind::Leaves))]);
        let text = "void f(void) { while (atomic_load(&l)) ; atomic_store(&l, 1); }";
        assert_eq!(ways("a.c", text), [(Way::Inline, Some(TestKind::Spins))]);
    }

    #[test]
    fn what_does_not_go_by_the_load_is_left_alone() {
        let text = "void f(void) { int v = atomic_load(&n); atomic_store(&m, v + 1); }";
        assert_eq!(ways("a.c", text), []);
        let text = "void f(void) { for (int v = atomic_load(&n); v; v--) atomic_store(&n, 0); }";
        assert_eq!(ways("a.c", text), []);
    }
}
