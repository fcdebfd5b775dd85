//! What statements read and write by name, to tell whether one may pass another.
//!
//! A thing is named by its path without indices: `board.tasks[i]` and `board.tasks[j]` are the same. Not modelled: what two
//! names share, and what a called function does to things that are not among its arguments. A counter
//! that a loop sets is taken for its own, though it may be used after the loop. So the answer "may pass" can be wrong, and whoever moves a statement must try the program that comes out.

use std::ops::Range;

use tree_sitter::Node;

use super::{Source, nodes_within};

/// The functions whose arguments are for the new thread and not looked at here, but for the first, which is written.
const CREATING: [&str; 2] = ["pthread_create", "thrd_create"];

#[derive(Clone, PartialEq, Eq, Debug)]
struct Effect {
    /// The path's components; `*` is what a pointer or an array leads to.
    path: Vec<String>,
    access: Access,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Access {
    /// With all that it leads to, since it may be handed on.
    Reads,
    /// The value alone, for a thread that is to look at the rest when it runs.
    HandsOver,
    Writes,
}

impl Source {
    /// Whether a stretch may be executed before or after another, by the names that both use.
    pub fn may_pass(&self, moved: &Range<usize>, over: &Range<usize>) -> bool {
        let (moved, over) = (self.effects(moved), self.effects(over));
        !moved.iter().any(|a| over.iter().any(|b| clash(a, b)))
    }

    /// Whether a name is a word of a stretch.
    pub fn mentions(&self, bytes: &Range<usize>, name: &str) -> bool {
        super::words(&self.text[bytes.clone()]).any(|(_, word)| word == name)
    }

    fn effects(&self, bytes: &Range<usize>) -> Vec<Effect> {
        let mut effects = Vec::new();
        let mut look = |node: Node| {
            if is_path(node.kind()) {
                // Indices are read, whatever happens to the element.
                self.indices(node, &mut effects);
                effects.extend(self.effect(node));
            }
        };
        nodes_within(self.tree.root_node(), bytes, &|node| !is_path(node.kind()), &mut look);
        let own = self.own_names(bytes);
        effects
            .retain(|effect| effect.path.first().is_none_or(|name| !own.contains(&name.as_str())));
        effects
    }

    /// The names that mean something inside of a stretch only: those that its loops and blocks declare, and counters that its
    /// loops set before they use them.
    fn own_names(&self, bytes: &Range<usize>) -> Vec<&str> {
        let mut own = Vec::new();
        nodes_within(self.tree.root_node(), bytes, &|_| true, &mut |node| {
            let Some(parent) = node.parent().filter(|_| node.kind() == "identifier") else {
                return;
            };
            let mut around = std::iter::successors(Some(parent), |node| node.parent());
            let is_declared =
                parent.kind() == "declaration" || parent.kind().ends_with("declarator");
            let declaring = around.find(|node| !node.kind().ends_with("declarator"));
            let is_inside = |node: &Node| bytes.contains(&node.start_byte());
            let is_own = match declaring.map(|node| node.kind()) {
                Some("declaration") => {
                    let block = declaring.and_then(|node| node.parent());
                    is_declared
                        && is_field(parent, "declarator", node)
                        && block.as_ref().is_some_and(is_inside)
                }
                Some("for_range_loop") => declaring.is_some_and(|head| {
                    let declarator = head.child_by_field_name("declarator");
                    declarator.is_some_and(|part| part.byte_range().contains(&node.start_byte()))
                }),
                Some("assignment_expression") => {
                    let is_set = is_field(parent, "left", node);
                    let head = parent.parent().filter(|head| head.kind() == "for_statement");
                    is_set && head.is_some_and(|head| is_field(head, "initializer", parent))
                }
                _ => false,
            };
            if is_own {
                own.push(self.node_text(node));
            }
        });
        own
    }

    fn indices(&self, node: Node, effects: &mut Vec<Effect>) {
        if let Some(index) = index_of(node) {
            effects.extend(self.effects(&index.byte_range()));
        }
        if let Some(inner) = base(node) {
            self.indices(inner, effects);
        }
    }

    /// What happens to what a path names; `None` if nothing does.
    fn effect(&self, node: Node) -> Option<Effect> {
        let mut path = self.path(node);
        let mut inner = node;
        let mut parent = node.parent()?;
        if parent.kind() == "call_expression" && is_field(parent, "function", node) {
            // `list.push(x)` does something to the list, a function is nothing that changes.
            path.pop();
            return (!path.is_empty()).then_some(Effect { path, access: Access::Writes });
        }
        while matches!(
            parent.kind(),
            "parenthesized_expression" | "pointer_expression" | "cast_expression"
        ) {
            if parent.kind() == "pointer_expression" {
                if parent.child(0).is_some_and(|token| token.kind() == "&") {
                    let is_for_thread = self
                        .argument(parent)
                        .is_some_and(|(name, number)| is_handed_over(name, number));
                    return (!is_for_thread).then_some(Effect { path, access: Access::Writes });
                }
                path.push("*".to_owned());
            }
            (inner, parent) = (parent, parent.parent()?);
        }
        let declares = parent.kind() == "declaration" || parent.kind().ends_with("declarator");
        let access = match parent.kind() {
            "assignment_expression" if is_field(parent, "left", inner) => Access::Writes,
            "update_expression" => Access::Writes,
            _ if declares && is_field(parent, "declarator", inner) => Access::Writes,
            _ => match self.argument(inner) {
                Some((name, number)) if is_handed_over(name, number) => Access::HandsOver,
                _ => Access::Reads,
            },
        };
        (!path.is_empty()).then_some(Effect { path, access })
    }

    /// The call that an expression is an argument of, and the how-manieth.
    fn argument(&self, expression: Node) -> Option<(&str, usize)> {
        let is_around =
            |node: &Node| matches!(node.kind(), "cast_expression" | "parenthesized_expression");
        let mut node = expression;
        while let Some(around) = node.parent().filter(is_around) {
            node = around;
        }
        let list = node.parent().filter(|list| list.kind() == "argument_list")?;
        let call = list.parent().filter(|call| call.kind() == "call_expression")?;
        let number =
            list.named_children(&mut list.walk()).position(|child| child.id() == node.id())?;
        Some((self.node_text(call.child_by_field_name("function")?), number))
    }

    fn path(&self, node: Node) -> Vec<String> {
        let mut path = base(node).map_or_else(Vec::new, |inner| self.path(inner));
        match node.kind() {
            "field_expression" => {
                let operator = node.child_by_field_name("operator");
                if operator.is_some_and(|operator| operator.kind() == "->") {
                    path.push("*".to_owned());
                }
                let field = node.child_by_field_name("field");
                path.extend(field.map(|field| self.node_text(field).to_owned()));
            }
            "subscript_expression" | "pointer_expression" => path.push("*".to_owned()),
            "identifier" | "this" | "qualified_identifier" => {
                path.push(self.node_text(node).to_owned());
            }
            _ => {}
        }
        path
    }
}

fn is_path(kind: &str) -> bool {
    matches!(
        kind,
        "field_expression"
            | "subscript_expression"
            | "identifier"
            | "qualified_identifier"
            | "this"
    )
}

/// Whether an argument is for the thread that a call creates.
fn is_handed_over(function: &str, number: usize) -> bool {
    CREATING.contains(&function) && number > 0
}

/// What a field or element is part of.
fn base(node: Node) -> Option<Node> {
    match node.kind() {
        "field_expression" | "subscript_expression" | "pointer_expression" => {
            node.child_by_field_name("argument")
        }
        "parenthesized_expression" => node.named_child(0),
        _ => None,
    }
}

fn index_of(node: Node) -> Option<Node> {
    let index = || node.child_by_field_name("index").or(node.child_by_field_name("indices"));
    (node.kind() == "subscript_expression").then(index).flatten()
}

fn is_field(parent: Node, field: &str, child: Node) -> bool {
    parent.child_by_field_name(field).is_some_and(|node| node.id() == child.id())
}

/// Whether two effects must keep their order: one writes what the other uses, or a part of it.
fn clash(a: &Effect, b: &Effect) -> bool {
    let overlap = a.path.iter().zip(&b.path).all(|(one, other)| one == other);
    let reaches = |one: &Effect, other: &Effect| {
        one.access != Access::HandsOver || other.path.len() <= one.path.len()
    };
    let writes = a.access == Access::Writes || b.access == Access::Writes;
    writes && overlap && reaches(a, b) && reaches(b, a)
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
        let text =
            "void f(void) { pthread_create(&t, NULL, g, &s); s.x = 1; pthread_join(t, NULL); }";
        assert!(may_pass(text, "s.x = 1;", "pthread_create(&t, NULL, g, &s);"));
        let text = "void f(void) { pthread_create(&t, NULL, g, p); p->x = 1; p = q; }";
        assert!(may_pass(text, "p->x = 1;", "pthread_create(&t, NULL, g, p);"));
        assert!(!may_pass(text, "p = q;", "pthread_create(&t, NULL, g, p);"));
        let text = "void f(void) { pthread_create(&t, NULL, g, &s); pthread_join(t, NULL); }";
        assert!(!may_pass(text, "pthread_join(t, NULL);", "pthread_create(&t, NULL, g, &s);"));
    }

    #[test]
    fn counters_of_loops_are_their_own() {
        let text = "void f(void) { for (int i = 0; i < 2; i++) a[i] = 1; for (int i = 0; i < 2; i++) b[i] = 1; }";
        let loops =
            ["for (int i = 0; i < 2; i++) a[i] = 1;", "for (int i = 0; i < 2; i++) b[i] = 1;"];
        assert!(may_pass(text, loops[0], loops[1]));
        let text =
            "void f(void) { for (i = 0; i < 2; i++) a[i] = 1; for (i = 0; i < 2; i++) s += a[i]; }";
        let loops = ["for (i = 0; i < 2; i++) a[i] = 1;", "for (i = 0; i < 2; i++) s += a[i];"];
        assert!(!may_pass(text, loops[0], loops[1]));
        assert!(may_pass(
            &text.replace("+= a", "+= c"),
            loops[0],
            &loops[1].replace("+= a", "+= c")
        ));
    }

    #[test]
    fn what_a_call_may_change_is_changed() {
        assert!(!may_pass("void f(void) { read(&n); b = n; }", "b = n;", "read(&n);"));
    }
}
