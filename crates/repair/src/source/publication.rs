//! Objects that a pointer leads to before they are filled.

use std::ops::Range;

use tree_sitter::Node;

use super::region::Region;
use super::{Source, nodes_within};

/// `shared = calloc(…); shared->rate = 1; shared->next = 2;`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Publication {
    /// The pointer as written.
    pub pointer: String,
    /// Its type, if the file declares it: `struct settings *`.
    pub pointer_type: Option<String>,
    /// The pointer itself, in the assignment.
    pub target: Range<usize>,
    /// Every other use of it from there to the last statement that fills the object.
    pub uses: Vec<Range<usize>>,
    /// The last statement that fills it.
    pub last: Region,
}

impl Source {
    /// The publication that begins with the statement at a byte.
    pub fn publication_at(&self, byte: usize) -> Option<Publication> {
        let region = self.region(&[self.position_of(byte)])?;
        let assignment = self.assignment_of(&region)?;
        let target = assignment.child_by_field_name("left")?;
        let value = assignment.child_by_field_name("right")?;
        let pointer = self.node_text(target).to_owned();
        if !makes_object(value) {
            return None;
        }
        let following = self.following(&region);
        let last = following.iter().rposition(|later| self.fills(later, &pointer))?;
        // Whoever leaves on the way leaves an object that nobody sees.
        let between = &following[..=last];
        if between.iter().any(|later| !self.exits(later).is_empty()) {
            return None;
        }
        let last = following[last].clone();
        let mut uses = self.uses(&(value.start_byte()..last.bytes.end), &pointer);
        uses.retain(|used| *used != target.byte_range());
        let name = super::words(&pointer).last().map(|(_, word)| word.to_owned())?;
        let pointer_type = self.type_of(&name).filter(|known| known.ends_with('*'));
        Some(Publication { pointer, pointer_type, target: target.byte_range(), uses, last })
    }

    /// The assignment that a statement is.
    fn assignment_of(&self, region: &Region) -> Option<Node<'_>> {
        let mut found = None;
        nodes_within(self.tree.root_node(), &region.bytes, &|_| true, &mut |node| {
            let is_statement = node.kind() == "assignment_expression"
                && node.parent().is_some_and(|parent| {
                    parent.kind() == "expression_statement"
                        && parent.start_byte() == region.bytes.start
                });
            if is_statement && found.is_none() {
                found = Some(node);
            }
        });
        found.filter(|node| {
            node.child_by_field_name("operator").is_some_and(|n| self.node_text(n) == "=")
        })
    }

    /// Whether a statement writes something that a pointer leads to, or hands the pointer on.
    fn fills(&self, statement: &Region, pointer: &str) -> bool {
        !self.uses(&statement.bytes, pointer).is_empty()
    }

    fn uses(&self, bytes: &Range<usize>, path: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        nodes_within(
            self.tree.root_node(),
            bytes,
            &|node| self.node_text(node) != path,
            &mut |node| {
                // A member of the same name is another thing.
                if self.node_text(node) == path
                    && node.is_named()
                    && node.kind() != "field_identifier"
                {
                    found.push(node.byte_range());
                }
            },
        );
        found
    }
}

/// Whether an expression makes a new object: a call by whatever name allocates, or `new`.
fn makes_object(value: Node) -> bool {
    match value.kind() {
        "call_expression" | "new_expression" => true,
        "cast_expression" => value.child_by_field_name("value").is_some_and(makes_object),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publication(text: &str) -> Option<Publication> {
        let source = Source::parse("a.c", text.to_owned()).expect("the sample parses");
        source.publication_at(text.find("p = ").expect("it publishes"))
    }

    #[test]
    fn what_fills_the_object_is_found() {
        let text = "static struct s *p;\nvoid f(void)\n{\n\tp = calloc(1, sizeof *p);\n\tp->a = 1;\n\tg();\n\tinit(&p->b);\n\th();\n}\n";
        let found = publication(text).expect("it publishes too early");
        assert_eq!(found.pointer_type.as_deref(), Some("struct s *"));
        assert_eq!(found.uses.len(), 3, "{found:?}");
        assert_eq!(&text[found.last.bytes], "init(&p->b);");
    }

    #[test]
    fn what_is_not_filled_or_may_be_left_is_none() {
        assert_eq!(publication("static int *p; void f(void) { p = q; *p = 1; }"), None);
        assert_eq!(publication("static int *p; void f(void) { p = malloc(4); g(); }"), None);
        let text =
            "static int *p; int f(void) { p = malloc(4); if (!p) return 1; *p = 1; return 0; }";
        assert_eq!(publication(text), None);
    }
}
