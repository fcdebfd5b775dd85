//! Where statements stand in their blocks: what runs after them there, and what decides whether they run.

use std::ops::Range;

use super::region::Region;
use super::{Source, is_jump, nodes_within};

/// An `if` without `else`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GoverningIf {
    pub keyword: Range<usize>,
    pub statements: Vec<Range<usize>>,
}

impl Source {
    /// The rest of the block after a statement, if a jump is among it: who runs the statement never comes to what follows
    /// the block.
    pub fn way_out(&self, statement: &Range<usize>) -> Option<Range<usize>> {
        let place = self.outline.place_at(statement.start)?;
        let block = self.outline.block(place.block);
        let leaves = block.items[place.index + 1..].iter().any(|item| {
            let root = self.tree.root_node();
            root.named_descendant_for_byte_range(item.inner, item.bytes.end).is_some_and(is_jump)
        });
        leaves.then_some(statement.end..block.bytes.end)
    }

    /// Whether the next statement of the block is a jump.
    pub fn is_before_jump(&self, statement: &Range<usize>) -> bool {
        let next = self.outline.place_at(statement.start).and_then(|place| {
            let item = self.outline.block(place.block).items.get(place.index + 1)?;
            self.tree.root_node().named_descendant_for_byte_range(item.inner, item.bytes.end)
        });
        next.is_some_and(is_jump)
    }

    /// Whether a statement is one of those that the region is made of, not a part of one.
    pub fn is_direct(&self, region: &Region, statement: &Range<usize>) -> bool {
        let place = self.outline.place_at(statement.start);
        place
            .is_some_and(|place| place.block == region.block && region.items.contains(&place.index))
    }

    /// The bytes of a function's body, of the function that a region is in. Lambdas within are functions of their own.
    pub fn body_around(&self, region: &Region) -> Range<usize> {
        self.outline.functions[self.outline.block(region.block).function].body.clone()
    }

    /// Whether a byte is in the function of a region itself, not in a lambda within.
    pub fn is_in_function_of(&self, region: &Region, byte: usize) -> bool {
        self.outline.function_around(byte) == Some(self.outline.block(region.block).function)
    }

    /// Whether an `if` or a loop of the function decides on whether the statement at a byte runs, and nothing else is in it.
    pub fn is_tested(&self, byte: usize) -> bool {
        let own = self.outline.place_at(byte).and_then(|place| {
            let block = self.outline.block(place.block);
            block.parent.filter(|_| block.items.len() == 1)
        });
        own.is_some_and(|place| {
            matches!(
                self.outline.item(place).inner_kind,
                "if_statement" | "while_statement" | "do_statement" | "for_statement"
            )
        })
    }

    /// Whether something within a stretch may run more than once.
    pub fn has_loop(&self, bytes: &Range<usize>) -> bool {
        let mut found = false;
        nodes_within(self.tree.root_node(), bytes, &|_| true, &mut |node| {
            found |= matches!(
                node.kind(),
                "while_statement" | "do_statement" | "for_statement" | "for_range_loop"
            );
        });
        found
    }

    /// Whether the statement at a byte may run again in the same call of its function.
    pub fn is_in_loop(&self, byte: usize) -> bool {
        let around = std::iter::successors(self.outline.place_at(byte), |place| {
            self.outline.block(place.block).parent
        });
        around.skip(1).any(|place| {
            matches!(
                self.outline.item(place).inner_kind,
                "while_statement" | "do_statement" | "for_statement" | "for_range_loop"
            )
        })
    }

    /// The `if`s that start within a stretch: their conditions, and what runs if those hold.
    pub fn tests(&self, bytes: Range<usize>) -> Vec<(Range<usize>, Range<usize>)> {
        let mut found = Vec::new();
        nodes_within(self.tree.root_node(), &bytes, &|_| true, &mut |node| {
            let condition = node.child_by_field_name("condition");
            let part = node.child_by_field_name("consequence");
            if let Some((condition, part)) = condition.zip(part)
                && node.kind() == "if_statement"
            {
                found.push((condition.byte_range(), part.byte_range()));
            }
        });
        found
    }

    /// The `if` without `else` that decides whether the statement at a byte runs, if no loop is between them.
    pub fn governing_if(&self, byte: usize) -> Option<GoverningIf> {
        let node = self.tree.root_node().descendant_for_byte_range(byte, byte + 1)?;
        let mut around = std::iter::successors(Some(node), |node| node.parent());
        let found = around.find(|node| {
            matches!(
                node.kind(),
                "if_statement"
                    | "while_statement"
                    | "do_statement"
                    | "for_statement"
                    | "for_range_loop"
                    | "switch_statement"
                    | "lambda_expression"
                    | "function_definition"
            )
        })?;
        let governs = found.kind() == "if_statement"
            && found.child_by_field_name("alternative").is_none()
            && found.child_by_field_name("consequence")?.byte_range().contains(&byte);
        let keyword = found.child(0).filter(|keyword| governs && keyword.kind() == "if")?;
        let body = found.child_by_field_name("consequence")?;
        let statements = match body.kind() {
            "compound_statement" => {
                let mut cursor = body.walk();
                let own = body.named_children(&mut cursor).filter(|node| node.kind() != "comment");
                own.map(|statement| statement.byte_range()).collect()
            }
            _ => vec![body.byte_range()],
        };
        Some(GoverningIf { keyword: keyword.byte_range(), statements })
    }
}
