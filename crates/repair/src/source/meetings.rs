//! Functions in which threads meet: each counts itself and waits until the count is full.
//!
//! Found by their form: a counter that is increased, a loop that looks at it, and a place where it is set back to zero. Counters are
//! compared by their text, so one that has two names in a function is not seen.

use std::ops::Range;

use tree_sitter::Node;

use super::region::Region;
use super::{Source, nodes_within, words};

/// One such function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meeting {
    /// What counts, as written: `b->arrived`.
    pub counter: String,
    /// The statement that counts.
    pub counting: Region,
    /// The loop that waits, and its condition without the brackets.
    pub waiting: Region,
    pub condition: Range<usize>,
    /// What the loop does.
    pub body: Range<usize>,
    /// The statement that sets the counter back.
    pub reset: Region,
}

impl Meeting {
    /// Whether whoever leaves last sets the counter back, instead of whoever arrives last.
    pub fn is_reset_by_leaving(&self) -> bool {
        self.reset.bytes.start > self.waiting.bytes.end
    }
}

impl Source {
    /// The globals that are structures with these members, or have such within.
    fn globals_of(&self, members: Node) -> Vec<String> {
        let tag = members.parent().and_then(|of| of.child_by_field_name("name"));
        let tag = tag.map(|tag| self.node_text(tag));
        let root = self.tree.root_node();
        let mut cursor = root.walk();
        let declarations = root.named_children(&mut cursor).filter(|node| {
            let is_own = node.byte_range().contains(&members.start_byte());
            let says = |tag| words(self.node_text(*node)).any(|(_, word)| word == tag);
            node.kind() == "declaration" && (is_own || tag.is_some_and(says))
        });
        let names = declarations.flat_map(|declaration| self.declared_names(declaration));
        names.map(|(name, _)| name.to_owned()).collect()
    }

    /// The meetings of a function's body.
    pub fn meetings(&self, body: &Region) -> Vec<Meeting> {
        let mut found = Vec::new();
        for (loop_at, condition, inside) in self.waiting_loops(&body.bytes) {
            for counter in self.increased(&body.bytes) {
                let (text, counted_at) = counter;
                if counted_at > loop_at || !self.has_path(&condition, &text) {
                    continue;
                }
                let Some(reset_at) = self.set_to_zero(&body.bytes, &text) else { continue };
                let region = |byte: usize| self.region(&[self.position_of(byte)]);
                let parts = region(counted_at).zip(region(loop_at)).zip(region(reset_at));
                let Some(((counting, waiting), reset)) = parts else { continue };
                let (condition, body) = (condition.clone(), inside.clone());
                found.push(Meeting { counter: text, counting, waiting, condition, body, reset });
            }
        }
        found
    }

    /// The `while` loops of a stretch: where they start, their conditions without brackets, and their bodies.
    fn waiting_loops(&self, bytes: &Range<usize>) -> Vec<(usize, Range<usize>, Range<usize>)> {
        let mut found = Vec::new();
        nodes_within(self.tree.root_node(), bytes, &|_| true, &mut |node| {
            let condition = node.child_by_field_name("condition");
            let body = node.child_by_field_name("body");
            if let Some((condition, body)) = condition.zip(body)
                && node.kind() == "while_statement"
            {
                let inner = condition.start_byte() + 1..condition.end_byte() - 1;
                found.push((node.start_byte(), inner, body.byte_range()));
            }
        });
        found
    }

    /// What a stretch increases by one, and where.
    pub fn increased(&self, bytes: &Range<usize>) -> Vec<(String, usize)> {
        let mut found: Vec<(String, usize)> = Vec::new();
        nodes_within(self.tree.root_node(), bytes, &|_| true, &mut |node| {
            let target = match node.kind() {
                "update_expression" => {
                    let operator = node.child_by_field_name("operator");
                    let is_more = operator.is_some_and(|node| self.node_text(node) == "++");
                    node.child_by_field_name("argument").filter(|_| is_more)
                }
                "assignment_expression" => self.by_one(node),
                _ => None,
            };
            let in_loop_head = node.parent().is_some_and(|parent| parent.kind() == "for_statement");
            if let Some(target) = target.filter(|_| !in_loop_head) {
                let text = self.node_text(target).to_owned();
                if !found.iter().any(|(known, _)| *known == text) {
                    found.push((text, node.start_byte()));
                }
            }
        });
        found
    }

    /// The target of `n += 1` and `n = n + 1`.
    fn by_one<'t>(&self, assignment: Node<'t>) -> Option<Node<'t>> {
        let target = assignment.child_by_field_name("left")?;
        let value = self.node_text(assignment.child_by_field_name("right")?);
        let operator = self.node_text(assignment.child_by_field_name("operator")?);
        let own = self.node_text(target);
        let plain: String = value.split_whitespace().collect();
        let is_one =
            operator == "+=" && plain == "1" || operator == "=" && plain == format!("{own}+1");
        is_one.then_some(target)
    }

    /// Where a statement of a stretch sets something to zero.
    fn set_to_zero(&self, bytes: &Range<usize>, target: &str) -> Option<usize> {
        let mut found = None;
        nodes_within(self.tree.root_node(), bytes, &|_| true, &mut |node| {
            let is_it = node.kind() == "assignment_expression"
                && node.parent().is_some_and(|parent| parent.kind() == "expression_statement")
                && node.child_by_field_name("left").is_some_and(|n| self.node_text(n) == target)
                && node.child_by_field_name("operator").is_some_and(|n| self.node_text(n) == "=")
                && node.child_by_field_name("right").is_some_and(|n| self.node_text(n) == "0");
            if is_it && found.is_none() {
                found = Some(node.start_byte());
            }
        });
        found
    }

    /// Whether an expression of this text is in a stretch.
    pub fn has_path(&self, bytes: &Range<usize>, path: &str) -> bool {
        let mut found = false;
        nodes_within(self.tree.root_node(), bytes, &|_| true, &mut |node| {
            found |= self.node_text(node) == path;
        });
        found
    }

    /// Where one more member of the structure that has this member goes: after its last. And the globals of that structure.
    pub fn after_members(&self, member: &str) -> Option<(usize, Vec<String>)> {
        let mut found = None;
        nodes_within(self.tree.root_node(), &(0..self.text.len()), &|_| true, &mut |node| {
            if node.kind() != "field_declaration_list" || found.is_some() {
                return;
            }
            let mut cursor = node.walk();
            let fields: Vec<Node> = node
                .named_children(&mut cursor)
                .filter(|child| child.kind() == "field_declaration")
                .collect();
            let declares = |field: &Node| {
                field.children_by_field_name("declarator", &mut field.walk()).any(|declarator| {
                    words(self.node_text(declarator)).next().is_some_and(|(_, w)| w == member)
                })
            };
            if fields.iter().any(declares) {
                found = fields.last().map(|field| (field.end_byte(), self.globals_of(node)));
            }
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn meetings(text: &str) -> Vec<(String, bool)> {
        let source = Source::parse("a.c", text.to_owned()).expect("the sample parses");
        let at = source.position_of(text.find("while").expect("it waits"));
        let body = source.whole_body(at).expect("a function");
        let found = source.meetings(&body).into_iter();
        found.map(|found| (found.counter.clone(), found.is_reset_by_leaving())).collect()
    }

    #[test]
    fn who_sets_the_counter_back_is_told() {
        let text = "void f(struct b *b) { if (++b->n == N) { b->n = 0; wake(b); } else { while (b->n != 0) sleep(b); } }";
        assert_eq!(meetings(text), [("b->n".to_owned(), false)]);
        let text = "void f(void) { n += 1; while (n < N) sleep(); left++; if (left == N) { left = 0; n = 0; } }";
        assert_eq!(meetings(text), [("n".to_owned(), true)]);
    }

    #[test]
    fn what_counts_something_else_is_no_barrier() {
        let text = "void f(void) { while (n == 0) sleep(); n = 0; taken++; }";
        assert_eq!(meetings(text), []);
        let text = "void f(void) { for (int i = 0; i < 3; i++) { while (i < n) sleep(); } }";
        assert_eq!(meetings(text), []);
    }

    #[test]
    fn a_member_goes_after_the_last_and_changes_the_globals_of_its_kind() {
        let text = "struct b { int n; int left; };\nstatic struct b one;\nstatic int other;\nvoid f(void) { }\n";
        let source = Source::parse("a.c", text.to_owned()).expect("the sample parses");
        let (at, globals) = source.after_members("n").expect("it has members");
        assert!(text[..at].ends_with("int left;"));
        assert_eq!(globals, ["one"]);
        assert_eq!(source.after_members("x"), None);
    }
}
