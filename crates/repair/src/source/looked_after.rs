//! Atomic objects that are changed, and looked at in the next statement to see what came of it: in between another thread may
//! change them, too. The change itself tells what was there.
//!
//! Known is one look in the condition of an `if` that follows in the same block, or in what a `return` gives back. Where the
//! condition looks twice, or at a copy, nothing is found.

use std::ops::Range;

use tree_sitter::Node;

use super::Source;
use super::atomics::{Act, AtomicAccess};

/// A change, and the look that follows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LookedAfter {
    /// A statement of its own.
    pub act: AtomicAccess,
    pub load: AtomicAccess,
    /// What the load is compared in, without parentheses: `load(x) == 0`, `!x`, or the load alone.
    pub compared: Range<usize>,
}

impl Source {
    /// The changes within a stretch that are looked at in the next statement.
    pub fn looked_after(&self, bytes: Range<usize>) -> Vec<LookedAfter> {
        let accesses = self.atomic_accesses(bytes);
        let mut found = Vec::new();
        for act in accesses.iter().filter(|access| matches!(access.act, Act::Update { .. })) {
            let Some(statement) = act.statement.as_ref() else { continue };
            let Some(looking) = self.looking_after(statement) else { continue };
            let inside = |access: &&AtomicAccess| {
                access.object == act.object && looking.contains(&access.bytes.start)
            };
            let looks: Vec<&AtomicAccess> = accesses.iter().filter(inside).collect();
            let [load] = looks.as_slice() else { continue };
            if load.act != Act::Load {
                continue;
            }
            let compared = self.comparison(&load.bytes, &looking);
            found.push(LookedAfter { act: act.clone(), load: (*load).clone(), compared });
        }
        found
    }

    /// The condition, or the value, of the statement after one.
    fn looking_after(&self, statement: &Range<usize>) -> Option<Range<usize>> {
        let root = self.tree.root_node();
        let mut node = root.named_descendant_for_byte_range(statement.start, statement.end)?;
        while node.kind() != "expression_statement" {
            node = node.parent().filter(|parent| parent.start_byte() == statement.start)?;
        }
        let next = node.next_named_sibling()?;
        match next.kind() {
            "if_statement" => Some(next.child_by_field_name("condition")?.byte_range()),
            "return_statement" => Some(next.named_child(0)?.byte_range()),
            _ => None,
        }
    }

    /// The comparison that a load is a side of, within a stretch.
    fn comparison(&self, load: &Range<usize>, within: &Range<usize>) -> Range<usize> {
        let root = self.tree.root_node();
        let own = root.named_descendant_for_byte_range(load.start, load.end);
        let parent = own.and_then(|node| node.parent()).filter(|parent| {
            let is_inside = within.start <= parent.start_byte() && parent.end_byte() <= within.end;
            is_inside && is_comparison(*parent)
        });
        parent.map_or_else(|| load.clone(), |parent| parent.byte_range())
    }
}

fn is_comparison(node: Node) -> bool {
    let operator = node.child_by_field_name("operator").map(|operator| operator.kind());
    match node.kind() {
        "binary_expression" => matches!(operator, Some("==" | "!=")),
        "unary_expression" => operator == Some("!"),
        _ => false,
    }
}
