//! Includes and declarations at the top of a file.
//!
//! A declaration goes where its uses see it in every configuration: never into an `#if` that does not contain the use as well.
//! A file that is an `#if` as a whole, such as a header behind its guard, counts as the inside of it.

use std::ops::Range;

use tree_sitter::Node;

use super::Patch;
use super::edit::{Edit, Rank};
use crate::source::{Source, nodes_within, words};

/// A declaration at file scope.
pub(super) struct Declaration {
    text: String,
    anchor: Anchor,
}

#[derive(Clone, PartialEq, Eq)]
enum Anchor {
    /// On the line after one of the same kind that ends here.
    After(usize),
    /// Before what starts here, between blank lines.
    Before(usize),
}

impl Patch<'_> {
    /// Declares something at file scope for a use at a byte (of several, the first): after the mutexes of the preamble if
    /// there are any, else before the first function; always after the includes and whatever the text itself names.
    pub fn declare(&mut self, text: &str, used_at: usize) {
        let anchor = self.source.declaration_anchor(text, used_at);
        self.declarations.push(Declaration { text: text.trim_end().to_owned(), anchor });
    }

    /// Includes a header, given as `<pthread.h>` or `"queue.h"`, beside the others unless it is there, by name or as the text that
    /// a preprocessor put in its place.
    pub fn include(&mut self, header: &str) {
        let known = self.source.includes();
        let there = known.iter().any(|(_, path)| path == header)
            || header == "<pthread.h>" && self.source.has_pthread_text();
        if !there && !self.includes.iter().any(|included| included == header) {
            self.includes.push(header.to_owned());
        }
    }

    pub(super) fn include_edit(&self) -> Option<Edit> {
        if self.includes.is_empty() {
            return None;
        }
        let source = self.source;
        let lines: String =
            self.includes.iter().map(|header| format!("#include {header}\n")).collect();
        let top = source.top_level(None);
        let beside = source.first_includes(&top);
        // System headers come together: after the last of them, else before the first of the others.
        let at = match (beside.iter().rev().find(|(_, path)| path.starts_with('<')), beside.first())
        {
            (Some((bytes, _)), _) => source.next_line(bytes.end - 1),
            (None, Some((bytes, _))) => source.line_start(bytes.start),
            (None, None) => {
                let at = source.top_of_code(&top);
                let apart =
                    if source.text[at..].trim_start_matches([' ', '\t', '\r']).starts_with('\n') {
                        ""
                    } else {
                        "\n"
                    };
                let above = if at > 0 && !source.blank_above(at) { "\n" } else { "" };
                return Some(Edit::new(
                    at..at,
                    &format!("{above}{lines}{apart}"),
                    Rank::Include,
                    0,
                ));
            }
        };
        // The last line of a file may lack its newline.
        let broken = at == source.text.len() && !source.text.ends_with('\n');
        let text = if broken { format!("\n{}", lines.trim_end()) } else { lines };
        Some(Edit::new(at..at, &text, Rank::Include, 0))
    }

    pub(super) fn declaration_edits(&self) -> Vec<Edit> {
        let source = self.source;
        let mut anchors: Vec<&Anchor> = Vec::new();
        for declaration in &self.declarations {
            if !anchors.contains(&&declaration.anchor) {
                anchors.push(&declaration.anchor);
            }
        }
        let edits = anchors.into_iter().map(|anchor| {
            let here: Vec<&str> = self
                .declarations
                .iter()
                .filter(|other| other.anchor == *anchor)
                .map(|other| other.text.as_str())
                .collect();
            let lines = joined(&here);
            match *anchor {
                Anchor::After(end) => {
                    let at = source.next_line(end);
                    Edit::new(at..at, &format!("{lines}\n"), Rank::Declare, 0)
                }
                Anchor::Before(start) => {
                    let at = source.line_start(start);
                    let above = if source.blank_above(at) { "" } else { "\n" };
                    Edit::new(at..at, &format!("{above}{lines}\n\n"), Rank::Declare, 0)
                }
            }
        });
        edits.collect()
    }
}

/// Declarations of one line each stand together, others apart.
fn joined(declarations: &[&str]) -> String {
    let mut text = String::new();
    for (index, declaration) in declarations.iter().enumerate() {
        if index > 0 {
            let together = !declaration.contains('\n');
            text.push_str(if together { "\n" } else { "\n\n" });
        }
        text.push_str(declaration);
    }
    text
}

impl Source {
    /// Whether the file was preprocessed: the types of POSIX threads are declared in it, and their macros are gone.
    pub fn has_pthread_text(&self) -> bool {
        let mut found = false;
        nodes_within(self.tree.root_node(), &(0..self.text.len()), &|_| true, &mut |node| {
            let name = node.child_by_field_name("declarator").map(|name| self.node_text(name));
            found |= node.kind() == "type_definition" && name == Some("pthread_mutex_t");
        });
        found
    }

    /// What stands at file scope, or in the `#if` that makes up the file, seen from a use.
    fn top_level(&self, used_at: Option<usize>) -> Vec<Node<'_>> {
        let mut inside = self.tree.root_node();
        loop {
            let children: Vec<Node> = inside.named_children(&mut inside.walk()).collect();
            let code = || children.iter().filter(|child| child.kind() != "comment");
            let conditional = |node: &&Node| {
                matches!(
                    node.kind(),
                    "preproc_if" | "preproc_ifdef" | "preproc_else" | "preproc_elif"
                )
            };
            let guard = match used_at {
                // An `#if` around the use that also holds includes, or all of the file.
                Some(at) => code()
                    .find(|child| child.byte_range().contains(&at))
                    .filter(conditional)
                    .filter(|child| {
                        code().count() == 1
                            || self
                                .includes()
                                .iter()
                                .any(|(bytes, _)| child.byte_range().contains(&bytes.start))
                    }),
                None => code().next().filter(conditional).filter(|_| code().count() == 1),
            };
            let Some(&guard) = guard else { return children };
            let alternative = guard.child_by_field_name("alternative");
            let in_alternative = alternative
                .filter(|node| used_at.is_some_and(|at| node.byte_range().contains(&at)));
            match in_alternative {
                Some(alternative) => inside = alternative,
                None => inside = guard,
            }
            // The `#if` itself and its condition are not part of what it holds.
            if inside.named_child_count() == 0 {
                return Vec::new();
            }
        }
    }

    /// The includes of the file: the directive without its newline, and the path as written.
    fn includes(&self) -> Vec<(Range<usize>, String)> {
        let mut includes = Vec::new();
        nodes_within(self.tree.root_node(), &(0..self.text.len()), &|_| true, &mut |node| {
            if let Some(path) =
                node.child_by_field_name("path").filter(|_| node.kind() == "preproc_include")
            {
                includes
                    .push((node.start_byte()..path.end_byte(), self.node_text(path).to_owned()));
            }
        });
        includes
    }

    /// The unconditional includes before the first function; all unconditional ones if none is before it.
    fn first_includes(&self, top: &[Node]) -> Vec<(Range<usize>, String)> {
        let direct = self
            .includes()
            .into_iter()
            .filter(|(bytes, _)| top.iter().any(|node| node.start_byte() == bytes.start));
        let direct: Vec<_> = direct.collect();
        let function = top
            .iter()
            .find(|node| self.has_function(node))
            .map_or(self.text.len(), |node| node.start_byte());
        let early: Vec<_> =
            direct.iter().filter(|(bytes, _)| bytes.start < function).cloned().collect();
        if early.is_empty() { direct } else { early }
    }

    /// The start of the line where code begins, after the opening comment, feature macros and `#pragma once`.
    fn top_of_code(&self, top: &[Node]) -> usize {
        let mut at = 0;
        for (index, node) in top.iter().enumerate() {
            let text = self.node_text(*node);
            let opening = match node.kind() {
                // A comment right above a declaration is about that declaration.
                "comment" => top.get(index + 1).is_none_or(|next| {
                    let between = &self.text[node.end_byte()..next.start_byte()];
                    matches!(next.kind(), "comment" | "preproc_def" | "preproc_function_def")
                        || between.matches('\n').count() > 1
                }),
                "preproc_def" => {
                    text.contains("_SOURCE") || node.child_by_field_name("value").is_none()
                }
                "preproc_call" => text.contains("once"),
                // The name of the macro that an `#if` around the file tests.
                "identifier" | "preproc_defined" => true,
                _ => false,
            };
            if !opening {
                return if index == 0 { self.line_start(node.start_byte()) } else { at };
            }
            at = self.next_line(node.end_byte().max(1) - 1);
        }
        at
    }

    fn declaration_anchor(&self, text: &str, used_at: usize) -> Anchor {
        let top = self.top_level(Some(used_at));
        let use_index = top.iter().position(|node| node.end_byte() > used_at).unwrap_or(top.len());
        let before_use = &top[..use_index];
        let needs = |node: &Node| {
            self.has_include(node) || (!self.has_function(node) && self.declares_for(node, text))
        };
        let start = before_use.iter().rposition(needs).map_or(0, |index| index + 1);
        let limit =
            (start..use_index).find(|&index| self.has_function(&top[index])).unwrap_or(use_index);
        let mutex = top[..limit].iter().rev().find(|node| self.is_mutex(node));
        if let Some(mutex) =
            mutex.filter(|mutex| start == 0 || mutex.end_byte() >= top[start - 1].end_byte())
        {
            return Anchor::After(mutex.end_byte());
        }
        let Some(target) = top.get(limit) else { return Anchor::Before(self.text.len()) };
        // Comments right above belong to what follows them.
        let mut at = target.start_byte();
        for node in top[..limit].iter().rev() {
            let adjacent = self.text[node.end_byte()..at].matches('\n').count() <= 1;
            let above =
                node.kind() == "comment" && adjacent && self.stands_first(node.start_byte());
            if !above || node.start_byte() < top.get(start).map_or(0, |first| first.start_byte()) {
                break;
            }
            at = node.start_byte();
        }
        Anchor::Before(at)
    }

    fn has_function(&self, node: &Node) -> bool {
        self.outline
            .functions
            .iter()
            .any(|function| node.byte_range().contains(&function.body.start))
    }

    fn has_include(&self, node: &Node) -> bool {
        self.includes().iter().any(|(bytes, _)| node.byte_range().contains(&bytes.start))
    }

    /// Whether a declaration at file scope introduces a name that a text uses.
    fn declares_for(&self, node: &Node, text: &str) -> bool {
        let introduces = matches!(
            node.kind(),
            "type_definition"
                | "struct_specifier"
                | "class_specifier"
                | "enum_specifier"
                | "union_specifier"
                | "alias_declaration"
                | "preproc_def"
                | "preproc_function_def"
        );
        let name =
            node.child_by_field_name("declarator").or_else(|| node.child_by_field_name("name"));
        let name = name.map_or("", |name| self.node_text(name));
        introduces && words(text).any(|(_, word)| word == name)
    }

    fn is_mutex(&self, node: &Node) -> bool {
        let named = node.child_by_field_name("type").map_or("", |named| self.node_text(named));
        let external = self.node_text(*node).starts_with("extern");
        let mutex = matches!(
            named,
            "pthread_mutex_t"
                | "mtx_t"
                | "std::mutex"
                | "std::recursive_mutex"
                | "std::shared_mutex"
                | "mutex"
        );
        node.kind() == "declaration" && mutex && !external
    }

    /// Whether the line before a line start is blank, or there is none.
    fn blank_above(&self, at: usize) -> bool {
        let above = &self.text[..at];
        above.is_empty() || above.trim_end_matches([' ', '\t', '\r']).ends_with("\n\n") || {
            let line = self.line_start(at - 1);
            self.text[line..at].trim().is_empty()
        }
    }
}
