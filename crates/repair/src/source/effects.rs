//! What statements read and write by name, to tell whether one may pass another.
//!
//! A thing is named by its path without indices: `board.tasks[i]` is `board.tasks`, `*p` is `p`. Not modelled: what two
//! names share, and what a called function does to things that are not among its arguments. So the answer "may pass" can
//! be wrong, and whoever moves a statement must try the program that comes out.

use std::ops::Range;

use tree_sitter::Node;

use super::{Source, nodes_within};

/// The functions whose arguments are for the new thread and not looked at here, but for the first, which is written.
pub(crate) const CREATING: [&str; 2] = ["pthread_create", "thrd_create"];

#[derive(Clone, PartialEq, Eq, Debug)]
struct Effect {
    /// The path's components.
    path: Vec<String>,
    writes: bool,
}

impl Source {
    /// Whether a stretch may be executed before or after another, by the names that both use.
    pub fn may_pass(&self, moved: &Range<usize>, over: &Range<usize>) -> bool {
        let (moved, over) = (self.effects(moved), self.effects(over));
        !moved.iter().any(|a| over.iter().any(|b| (a.writes || b.writes) && overlap(a, b)))
    }

    /// Whether a name is a word of a stretch.
    pub fn mentions(&self, bytes: &Range<usize>, name: &str) -> bool {
        super::words(&self.text[bytes.clone()]).any(|(_, word)| word == name)
    }

    fn effects(&self, bytes: &Range<usize>) -> Vec<Effect> {
        let mut effects = Vec::new();
        nodes_within(self.tree.root_node(), bytes, &|node| !is_path(node.kind()), &mut |node| {
            if !is_path(node.kind()) {
                return;
            }
            // Indices are read, whatever happens to the element.
            self.indices(node, &mut effects);
            let is_called = node.parent().is_some_and(|parent| {
                parent.kind() == "call_expression" && is_field(parent, "function", node)
            });
            if is_called && node.kind() == "identifier" {
                return;
            }
            let Some(writes) = self.writes(node) else { return };
            let mut path = self.path(node);
            if is_called {
                // `list.push(x)` does something to the list.
                path.pop();
            }
            if !path.is_empty() {
                effects.push(Effect { path, writes: writes || is_called });
            }
        });
        effects
    }

    fn indices(&self, node: Node, effects: &mut Vec<Effect>) {
        if let Some(index) = index_of(node) {
            effects.extend(self.effects(&index.byte_range()));
        }
        if let Some(inner) = base(node) {
            self.indices(inner, effects);
        }
    }

    /// Whether what a path names is written there; `None` if it is not even read.
    fn writes(&self, node: Node) -> Option<bool> {
        let mut inner = node;
        let mut parent = node.parent()?;
        while matches!(parent.kind(), "parenthesized_expression" | "pointer_expression" | "cast_expression") {
            let is_address = parent.kind() == "pointer_expression"
                && parent.child(0).is_some_and(|token| token.kind() == "&");
            if is_address {
                return match self.call_around(parent) {
                    Some((name, 0)) if CREATING.contains(&name) => Some(true),
                    Some((name, _)) if CREATING.contains(&name) => None,
                    _ => Some(true),
                };
            }
            (inner, parent) = (parent, parent.parent()?);
        }
        Some(match parent.kind() {
            "assignment_expression" => is_field(parent, "left", inner),
            "update_expression" => true,
            kind => {
                kind == "declaration" && is_field(parent, "declarator", inner)
                    || kind.ends_with("declarator") && is_field(parent, "declarator", inner)
            }
        })
    }

    /// The call that an expression is an argument of, and the how-manieth.
    fn call_around(&self, argument: Node) -> Option<(&str, usize)> {
        let mut node = argument;
        while node.parent()?.kind() == "cast_expression" {
            node = node.parent()?;
        }
        let list = node.parent().filter(|list| list.kind() == "argument_list")?;
        let call = list.parent().filter(|call| call.kind() == "call_expression")?;
        let number = list.named_children(&mut list.walk()).position(|child| child.id() == node.id())?;
        Some((self.node_text(call.child_by_field_name("function")?), number))
    }

    fn path(&self, node: Node) -> Vec<String> {
        match node.kind() {
            "field_expression" => {
                let mut path = base(node).map_or_else(Vec::new, |inner| self.path(inner));
                path.extend(node.child_by_field_name("field").map(|field| self.node_text(field).to_owned()));
                path
            }
            "identifier" | "this" | "qualified_identifier" => vec![self.node_text(node).to_owned()],
            _ => base(node).map_or_else(Vec::new, |inner| self.path(inner)),
        }
    }
}

fn is_path(kind: &str) -> bool {
    matches!(kind, "field_expression" | "subscript_expression" | "identifier" | "qualified_identifier" | "this")
}

/// What a field or element is part of.
fn base(node: Node) -> Option<Node> {
    match node.kind() {
        "field_expression" | "subscript_expression" | "pointer_expression" => node.child_by_field_name("argument"),
        "parenthesized_expression" => node.named_child(0),
        _ => None,
    }
}

fn index_of(node: Node) -> Option<Node> {
    match node.kind() {
        "subscript_expression" => {
            node.child_by_field_name("index").or_else(|| node.child_by_field_name("indices"))
        }
        _ => None,
    }
}

fn is_field(parent: Node, field: &str, child: Node) -> bool {
    parent.child_by_field_name(field).is_some_and(|node| node.id() == child.id())
}

/// Whether one of two paths leads to a part of the other.
fn overlap(a: &Effect, b: &Effect) -> bool {
    a.path.iter().zip(&b.path).all(|(one, other)| one == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn may_pass(text: &str, moved: &str, over: &str) -> bool {
        let source = Source::parse("a.c", text.to_owned()).expect("the sample parses");
        let at = |part: &str| {
            let start = text.find(part).expect("the part is in the sample");
            start..start + part.len()
        };
        source.may_pass(&at(moved), &at(over))
    }

    #[test]
    fn other_fields_may_be_passed_and_the_same_one_may_not() {
        let text = "void f(void) { board.here = 1; board.tasks[i] = 2; x = board.here; }";
        assert!(may_pass(text, "board.here = 1;", "board.tasks[i] = 2;"));
        assert!(!may_pass(text, "board.here = 1;", "x = board.here;"));
        let whole = "void f(void) { board = fresh; x = board.here; }";
        assert!(!may_pass(whole, "board = fresh;", "x = board.here;"));
    }

    #[test]
    fn what_is_read_twice_may_be_passed() {
        assert!(may_pass("void f(void) { a = n; b = n; }", "a = n;", "b = n;"));
        assert!(!may_pass("void f(void) { a[n] = 1; n++; }", "a[n] = 1;", "n++;"));
        assert!(!may_pass("void f(void) { int n = 1; b = n; }", "b = n;", "int n = 1;"));
    }

    #[test]
    fn what_a_new_thread_is_given_may_still_be_set() {
        let text = "void f(void) { pthread_create(&t, NULL, g, &s); s.x = 1; pthread_join(t, NULL); }";
        assert!(may_pass(text, "s.x = 1;", "pthread_create(&t, NULL, g, &s);"));
        assert!(!may_pass(text, "pthread_join(t, NULL);", "pthread_create(&t, NULL, g, &s);"));
    }

    #[test]
    fn what_a_call_may_change_is_changed() {
        assert!(!may_pass("void f(void) { read(&n); b = n; }", "b = n;", "read(&n);"));
    }
}
