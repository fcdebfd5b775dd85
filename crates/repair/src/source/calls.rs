//! Calls, and locks that live as long as a block.

use std::ops::Range;

use tree_sitter::Node;

use super::{Source, nodes_within};

/// A call, or a use of a macro that looks like one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// As written: `pthread_mutex_lock`, `m.lock`, `q->mutex.lock`.
    pub name: String,
    pub arguments: Vec<String>,
    pub bytes: Range<usize>,
    /// The statement, if it does nothing but call.
    pub statement: Option<Range<usize>>,
}

/// A variable whose constructor locks and whose destructor unlocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScopedLock {
    /// The template: `lock_guard`, `unique_lock`, `scoped_lock` or `shared_lock`.
    pub template: String,
    pub name: String,
    /// The mutexes as written; tags such as `std::defer_lock` are not among them.
    pub mutexes: Vec<String>,
    /// Whether it does not lock where it is declared (`std::defer_lock`), or takes over a locked mutex (`std::adopt_lock`).
    pub tag: Option<String>,
    pub declaration: Range<usize>,
    /// The end of the block it lives to.
    pub lives_to: usize,
}

const TEMPLATES: [&str; 4] = ["lock_guard", "unique_lock", "scoped_lock", "shared_lock"];

impl Source {
    /// The calls that start within a stretch, outermost first.
    pub fn calls(&self, bytes: Range<usize>) -> Vec<Call> {
        let mut calls = Vec::new();
        nodes_within(self.tree.root_node(), &bytes, &|_| true, &mut |node| {
            if node.kind() != "call_expression" {
                return;
            }
            let name = node.child_by_field_name("function").map_or("", |name| self.node_text(name));
            let arguments = node.child_by_field_name("arguments");
            let arguments = arguments.map_or_else(Vec::new, |arguments| {
                let mut cursor = arguments.walk();
                let each =
                    arguments.named_children(&mut cursor).filter(|child| child.kind() != "comment");
                each.map(|argument| self.node_text(argument).to_owned()).collect()
            });
            let statement = self.statement_of(node);
            calls.push(Call {
                name: name.to_owned(),
                arguments,
                bytes: node.byte_range(),
                statement,
            });
        });
        calls
    }

    /// The variables that are given the value of a call of such a function, and nothing else, within a stretch.
    pub fn results_of(&self, bytes: Range<usize>, is_so: &dyn Fn(&str) -> bool) -> Vec<&str> {
        let mut names = Vec::new();
        nodes_within(self.tree.root_node(), &bytes, &|_| true, &mut |node| {
            let Some(parent) = node.parent().filter(|_| node.kind() == "call_expression") else {
                return;
            };
            let name = node.child_by_field_name("function").map_or("", |name| self.node_text(name));
            let (value, variable) = match parent.kind() {
                "init_declarator" => ("value", "declarator"),
                "assignment_expression" => ("right", "left"),
                _ => return,
            };
            let variable = parent.child_by_field_name(variable);
            if let Some(variable) = variable.filter(|variable| variable.kind() == "identifier")
                && is_so(name)
                && parent.child_by_field_name(value) == Some(node)
            {
                names.push(self.node_text(variable));
            }
        });
        names
    }

    /// The declarations of scoped locks that start within a stretch.
    pub fn scoped_locks(&self, bytes: Range<usize>) -> Vec<ScopedLock> {
        let mut locks = Vec::new();
        nodes_within(self.tree.root_node(), &bytes, &|_| true, &mut |node| {
            if node.kind() == "declaration" {
                locks.extend(self.scoped_lock(node));
            }
        });
        locks
    }

    fn scoped_lock(&self, declaration: Node) -> Option<ScopedLock> {
        let mut type_text = self.node_text(declaration.child_by_field_name("type")?);
        let declarator = declaration.child_by_field_name("declarator")?;
        let text = self.node_text(declarator);
        let name = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()?;
        let mut rest = text[name.len()..].trim_start();
        if let Some(value) = rest.strip_prefix('=') {
            // `auto hold = std::unique_lock<std::mutex>(m);`
            let opening = value.find(['(', '{'])?;
            (type_text, rest) = (value[..opening].trim(), value[opening..].trim_start());
        }
        let plain = type_text.split('<').next()?.trim();
        let template = plain.rsplit("::").next()?;
        if name.is_empty() || !TEMPLATES.contains(&template) || !rest.starts_with(['(', '{']) {
            return None;
        }
        let inside = rest.get(1..rest.len().checked_sub(1)?)?;
        let (tags, mutexes): (Vec<_>, Vec<_>) =
            top_level_list(inside).into_iter().partition(|argument| is_tag(argument));
        let block = self.outline.place_at(declaration.start_byte())?.block;
        Some(ScopedLock {
            template: template.to_owned(),
            name: name.to_owned(),
            mutexes,
            tag: tags.into_iter().next(),
            declaration: declaration.byte_range(),
            lives_to: self.outline.block(block).bytes.end,
        })
    }

    /// The statement of a call that is called for its effect alone, also as `(void)f(x);`, and as `rc = f(x);` if nobody looks at
    /// the result right after it.
    fn statement_of(&self, call: Node) -> Option<Range<usize>> {
        let parent = call.parent()?;
        match parent.kind() {
            "expression_statement" => Some(parent.byte_range()),
            "assignment_expression" => {
                let statement =
                    parent.parent().filter(|node| node.kind() == "expression_statement")?;
                let variable = parent.child_by_field_name("left")?;
                let is_plain = variable.kind() == "identifier"
                    && self.node_text(parent.child_by_field_name("operator")?) == "="
                    && parent.child_by_field_name("right") == Some(call);
                let next = statement.next_named_sibling();
                let is_looked_at = next.is_some_and(|next| {
                    let is_set_again = next.named_child(0).is_some_and(|value| {
                        value.kind() == "assignment_expression"
                            && value.child_by_field_name("left").map(|left| self.node_text(left))
                                == Some(self.node_text(variable))
                    });
                    !is_set_again && self.mentions(&next.byte_range(), self.node_text(variable))
                });
                (is_plain && !is_looked_at).then(|| statement.byte_range())
            }
            "cast_expression" => parent
                .parent()
                .filter(|node| node.kind() == "expression_statement")
                .map(|node| node.byte_range()),
            _ => None,
        }
    }
}

fn is_tag(argument: &str) -> bool {
    matches!(argument.rsplit("::").next(), Some("defer_lock" | "adopt_lock" | "try_to_lock"))
}

/// The parts of a list that is separated by commas, not counting those within brackets.
fn top_level_list(text: &str) -> Vec<String> {
    let mut depth = 0i32;
    let parts = text.split(|c| {
        depth += i32::from(matches!(c, '(' | '[' | '{')) - i32::from(matches!(c, ')' | ']' | '}'));
        c == ',' && depth == 0
    });
    parts.map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}
