//! Updates of one variable by a whole statement, which an atomic operation could do.
//!
//! Types are known only as far as the file declares them, so a floating-point or class type from a header passes as an
//! integer; the compiler then refuses the atomic operation.

use std::ops::Range;

use tree_sitter::Node;

use super::{Position, Source, nodes_within, words};

/// What an update does to its target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    Add,
    Subtract,
    Or,
    And,
    Xor,
}

/// `target = target operation operand`, however it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Update {
    /// The whole statement.
    pub statement: Range<usize>,
    pub target: String,
    pub operation: Operation,
    pub operand: String,
    /// The type of the target, if the file declares it.
    pub target_type: Option<String>,
}

impl Source {
    /// The update that stands at a position as a statement of its own, if neither side has other effects.
    ///
    /// Without a column, the only update on the line.
    pub fn update_at(&self, at: Position) -> Option<Update> {
        let byte = self.byte_at(at)?;
        let stretch =
            if at.column == 0 { byte..self.line_end(byte) } else { self.statement_around(byte)? };
        let mut updates = Vec::new();
        nodes_within(self.tree.root_node(), &stretch, &|_| true, &mut |node| {
            if node.kind() == "expression_statement"
                && (at.column == 0 || node.byte_range().contains(&byte))
            {
                updates.extend(self.update(node));
            }
        });
        updates.pop().filter(|_| updates.is_empty())
    }

    /// The updates that are statements of their own and start within a stretch.
    pub fn updates(&self, bytes: Range<usize>) -> Vec<Update> {
        let mut updates = Vec::new();
        nodes_within(self.tree.root_node(), &bytes, &|_| true, &mut |node| {
            if node.kind() == "expression_statement" {
                updates.extend(self.update(node));
            }
        });
        updates
    }

    fn statement_around(&self, byte: usize) -> Option<Range<usize>> {
        let item = self.outline.item(self.outline.place_at(byte)?);
        Some(item.bytes.clone())
    }

    fn update(&self, statement: Node) -> Option<Update> {
        let expression = statement.named_child(0)?;
        if statement.has_error() {
            return None;
        }
        let (target, operation, operand) = match expression.kind() {
            "update_expression" => {
                let operation = match self.node_text(expression.child_by_field_name("operator")?) {
                    "++" => Operation::Add,
                    _ => Operation::Subtract,
                };
                (expression.child_by_field_name("argument")?, operation, "1".to_owned())
            }
            "assignment_expression" => {
                let target = expression.child_by_field_name("left")?;
                let value = expression.child_by_field_name("right")?;
                match self.node_text(expression.child_by_field_name("operator")?) {
                    "=" => {
                        let (operation, operand) =
                            self.computation(self.node_text(target), value)?;
                        (target, operation, operand)
                    }
                    compound => (
                        target,
                        operation_of(compound.strip_suffix('=')?)?,
                        self.node_text(value).to_owned(),
                    ),
                }
            }
            _ => return None,
        };
        let target_text = unwrap(target);
        let name = self.last_name(target_text)?;
        let mut plain = has_no_effect(expression, expression);
        plain &= !words(&operand).any(|(_, word)| word == name)
            && !is_fraction(&operand)
            && !operand.contains('"');
        let target_type = self.type_of(name);
        plain &= target_type.as_deref().is_none_or(|known| self.is_integer(known));
        plain.then(|| Update {
            statement: statement.byte_range(),
            target: self.node_text(target_text).to_owned(),
            operation,
            operand,
            target_type,
        })
    }

    /// The operation and operand of the expression at a stretch, if it goes from a value that is written as given.
    pub fn step_from(&self, held: &str, value: &Range<usize>) -> Option<(Operation, String)> {
        let root = self.tree.root_node();
        let value = root.named_descendant_for_byte_range(value.start, value.end)?;
        let (operation, operand) = self.computation(held, value)?;
        let is_plain = !words(&operand).any(|(_, word)| words(held).any(|(_, own)| own == word));
        (is_plain && has_no_effect(value, value)).then_some((operation, operand))
    }

    /// The operation and operand of `x + e`, `e + x`, `x - e` and the like, of a target written as given.
    fn computation(&self, target: &str, value: Node) -> Option<(Operation, String)> {
        let value = unwrap(value);
        if value.kind() != "binary_expression" {
            return None;
        }
        let (left, right) =
            (value.child_by_field_name("left")?, value.child_by_field_name("right")?);
        let operation = operation_of(self.node_text(value.child_by_field_name("operator")?))?;
        if self.node_text(left) == target {
            return Some((operation, self.node_text(right).to_owned()));
        }
        if operation == Operation::Subtract {
            return None;
        }
        if self.node_text(right) == target {
            return Some((operation, self.node_text(left).to_owned()));
        }
        // `x + a + b` groups to the left: the target is at its bottom, and the rest adds up to the operand.
        let (inner, rest) = self.computation(target, left)?;
        let grouped = left.kind() == "parenthesized_expression";
        let operator = self.node_text(value.child_by_field_name("operator")?);
        (inner == operation && !grouped)
            .then(|| (operation, format!("{rest} {operator} {}", self.node_text(right))))
    }

    /// The name of the variable or field that a target denotes.
    fn last_name(&self, target: Node) -> Option<&str> {
        match target.kind() {
            "identifier" | "qualified_identifier" => {
                Some(self.node_text(target).rsplit("::").next().unwrap_or_default())
            }
            "field_expression" => Some(self.node_text(target.child_by_field_name("field")?)),
            "subscript_expression" | "pointer_expression" => {
                self.last_name(unwrap(target.child_by_field_name("argument")?))
            }
            _ => None,
        }
    }

    /// The type that a declaration anywhere in the file gives to a name. Pointers and bit-fields show in it.
    pub(super) fn type_of(&self, name: &str) -> Option<String> {
        let mut found = None;
        let mut look = |node: Node| {
            if !matches!(node.kind(), "declaration" | "field_declaration" | "parameter_declaration")
                || found.is_some()
            {
                return;
            }
            let declarators =
                node.children_by_field_name("declarator", &mut node.walk()).collect::<Vec<_>>();
            for declarator in declarators {
                let declared = declarator
                    .child_by_field_name("declarator")
                    .filter(|_| declarator.kind() == "init_declarator");
                let text = self.node_text(declared.unwrap_or(declarator));
                let named = words(text).next().is_some_and(|(_, word)| word == name);
                if let Some(known) = node.child_by_field_name("type").filter(|_| named) {
                    let pointer = if text.starts_with('*') { " *" } else { "" };
                    let bits = node
                        .named_children(&mut node.walk())
                        .any(|child| child.kind() == "bitfield_clause");
                    found = Some(format!(
                        "{}{pointer}{}",
                        self.node_text(known),
                        if bits { " :" } else { "" }
                    ));
                }
            }
        };
        nodes_within(self.tree.root_node(), &(0..self.text.len()), &|_| true, &mut look);
        found
    }

    /// Whether a type may be an integer: not when it is known to be something else.
    fn is_integer(&self, known: &str) -> bool {
        let other = ["float", "double", "bool", "_Bool", "string"];
        let written_so = |text: &str| {
            text.contains(['*', ':', '<']) || words(text).any(|(_, word)| other.contains(&word))
        };
        if written_so(&known.replace("std::", ""))
            || known.starts_with("struct ")
            || known.starts_with("union ")
        {
            return false;
        }
        let mut integer = true;
        nodes_within(self.tree.root_node(), &(0..self.text.len()), &|_| true, &mut |node| {
            if node.kind() == "type_definition" {
                let declarator =
                    node.child_by_field_name("declarator").map_or("", |name| self.node_text(name));
                let defined =
                    node.child_by_field_name("type").map_or("", |defined| self.node_text(defined));
                integer &= declarator.trim_start_matches('*') != known
                    || !(declarator.starts_with('*') || written_so(defined));
            }
        });
        integer
    }
}

pub(super) fn operation_of(operator: &str) -> Option<Operation> {
    match operator {
        "+" => Some(Operation::Add),
        "-" => Some(Operation::Subtract),
        "|" => Some(Operation::Or),
        "&" => Some(Operation::And),
        "^" => Some(Operation::Xor),
        _ => None,
    }
}

/// What stands within parentheses.
pub(super) fn unwrap(node: Node) -> Node {
    match node.named_child(0) {
        Some(inner) if node.kind() == "parenthesized_expression" => unwrap(inner),
        _ => node,
    }
}

fn is_fraction(operand: &str) -> bool {
    let is_number = operand.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    is_number && !operand.starts_with("0x") && operand.contains(['.', 'e', 'E', 'f'])
}

/// Whether nothing below the expression itself assigns, calls, or goes through a cast of a pointer.
fn has_no_effect(node: Node, outermost: Node) -> bool {
    let effect = match node.kind() {
        "assignment_expression" | "update_expression" => node.id() != outermost.id(),
        "call_expression" | "comma_expression" | "lambda_expression" | "new_expression"
        | "gnu_asm_expression" => true,
        "cast_expression" => node
            .child_by_field_name("type")
            .is_some_and(|cast| cast.has_error() || cast.named_child_count() > 1),
        _ => false,
    };
    !effect && node.children(&mut node.walk()).all(|child| has_no_effect(child, outermost))
}
