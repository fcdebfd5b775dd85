//! The ways out of a region, and the ways into its middle.
//!
//! What ends the thread or unwinds the stack (`pthread_exit`, `exit`, `longjmp`, `throw`) is not an exit here: nothing of
//! the function runs after it. A `return` that a macro hides is not seen.

use std::ops::Range;

use tree_sitter::Node;

use super::region::Region;
use super::{Source, nodes_within};

/// A statement that leaves a region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exit {
    pub kind: ExitKind,
    /// The whole statement.
    pub bytes: Range<usize>,
}

/// How a region is left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExitKind {
    /// With the value, if there is one.
    Return {
        value: Option<Range<usize>>,
    },
    Break,
    Continue,
    Goto {
        label: String,
    },
}

impl Source {
    /// The statements that leave the region, in the order of the text.
    pub fn exits(&self, region: &Region) -> Vec<Exit> {
        let mut exits = Vec::new();
        nodes_within(self.tree.root_node(), &region.bytes, &is_of_this_function, &mut |node| {
            let kind = match node.kind() {
                "return_statement" | "co_return_statement" => {
                    let value = node
                        .named_children(&mut node.walk())
                        .find(|child| child.kind() != "comment");
                    ExitKind::Return { value: value.map(|value| value.byte_range()) }
                }
                "break_statement" if !self.jumps_within(node, region, true) => ExitKind::Break,
                "continue_statement" if !self.jumps_within(node, region, false) => {
                    ExitKind::Continue
                }
                "goto_statement" => {
                    let label =
                        node.child_by_field_name("label").map_or("", |label| self.node_text(label));
                    if self.labels(region).iter().any(|(known, _)| known == label) {
                        return;
                    }
                    ExitKind::Goto { label: label.to_owned() }
                }
                _ => return,
            };
            exits.push(Exit { kind, bytes: node.byte_range() });
        });
        exits
    }

    /// The labels in a region, and where they stand.
    pub(super) fn labels(&self, region: &Region) -> Vec<(String, usize)> {
        let mut labels = Vec::new();
        nodes_within(self.tree.root_node(), &region.bytes, &is_of_this_function, &mut |node| {
            if let Some(label) =
                node.child_by_field_name("label").filter(|_| node.kind() == "labeled_statement")
            {
                labels.push((self.node_text(label).to_owned(), node.start_byte()));
            }
        });
        labels
    }

    /// Where the function of a region jumps to a label.
    pub(super) fn jumps_to(&self, region: &Region, label: &str) -> Vec<usize> {
        self.jumps(region)
            .into_iter()
            .filter(|(target, _)| *target == label)
            .map(|(_, at)| at)
            .collect()
    }

    /// All `goto`s of the function of a region: the label, and where the statement stands.
    pub(super) fn jumps(&self, region: &Region) -> Vec<(&str, usize)> {
        let function = &self.outline.functions[self.outline.block(region.block).function];
        let mut jumps = Vec::new();
        nodes_within(self.tree.root_node(), &function.body, &is_of_this_function, &mut |node| {
            if let Some(label) =
                node.child_by_field_name("label").filter(|_| node.kind() == "goto_statement")
            {
                jumps.push((self.node_text(label), node.start_byte()));
            }
        });
        jumps
    }

    /// Whether a `break` or `continue` has its loop (or `switch`) inside the region.
    fn jumps_within(&self, jump: Node, region: &Region, is_break: bool) -> bool {
        let mut around =
            std::iter::successors(jump.parent(), |node| node.parent()).take_while(|node| {
                region.bytes.contains(&node.start_byte()) && is_of_this_function(*node)
            });
        around.any(|node| match node.kind() {
            "for_statement" | "for_range_loop" | "while_statement" | "do_statement" => true,
            "switch_statement" => is_break,
            _ => false,
        })
    }
}

/// Whether what a node holds runs as a part of the function around it.
fn is_of_this_function(node: Node) -> bool {
    !matches!(
        node.kind(),
        "lambda_expression" | "function_definition" | "class_specifier" | "struct_specifier"
    )
}

/// Whether control never comes past a statement.
pub(super) fn is_jump(node: Node) -> bool {
    let last =
        || node.named_children(&mut node.walk()).filter(|child| child.kind() != "comment").last();
    match node.kind() {
        "return_statement"
        | "co_return_statement"
        | "break_statement"
        | "continue_statement"
        | "goto_statement" => true,
        "throw_statement" => true,
        "compound_statement" | "else_clause" => last().is_some_and(is_jump),
        "if_statement" => {
            let both =
                [node.child_by_field_name("consequence"), node.child_by_field_name("alternative")];
            both.into_iter().all(|branch| branch.is_some_and(is_jump))
        }
        _ => false,
    }
}
