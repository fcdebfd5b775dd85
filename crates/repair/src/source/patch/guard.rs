//! A region between two statements, with every way out of it.

use std::ops::Range;

use tree_sitter::Node;

use super::edit::{Edit, Rank};
use super::statements::after_edit;
use super::{Guard, Patch, PatchError};
use crate::source::exits::{Exit, ExitKind};
use crate::source::outline::{Place, Shape};
use crate::source::region::Region;
use crate::source::{Language, Source, fresh_in, nodes_within, words};

/// An exit of one or more guarded regions.
pub(super) struct ExitEdit {
    /// The statement.
    bytes: Range<usize>,
    indent: String,
    /// What unlocks, with the length of the region it belongs to: the innermost unlocks first.
    unlocks: Vec<(usize, String)>,
    /// The value that must be computed before anything is unlocked.
    saved: Option<Saved>,
}

/// The value of a `return`, computed into a variable.
struct Saved {
    value: Range<usize>,
    /// What comes before the value instead of `return`.
    declaration: String,
    /// What comes after the unlocking.
    then: String,
    /// Whether a declaration cannot stand there without braces of its own.
    braces: bool,
}

impl Patch<'_> {
    /// Puts a region between two statements and unlocks before every exit, or puts a declaration before it that unlocks
    /// by itself.
    pub fn guard(&mut self, region: &Region, guard: &Guard) -> Result<(), PatchError> {
        self.check_parsed(region)?;
        match guard {
            Guard::Statements { lock, unlock } => {
                let exits = self.source.exits(region);
                self.before_exits(region, &exits, unlock)?;
                self.before(region, lock)?;
                if !self.source.ends_in_jump(region) {
                    self.after(region, unlock)?;
                }
                Ok(())
            }
            Guard::Scoped { declaration, release, to_the_end } => {
                self.guard_scoped(region, declaration, release, to_the_end)
            }
        }
    }

    /// Puts a statement before exits of a region, after the values that they return have been computed.
    pub fn before_exits(
        &mut self,
        region: &Region,
        exits: &[Exit],
        statement: &str,
    ) -> Result<(), PatchError> {
        let places =
            exits.iter().map(|exit| self.exit_place(exit)).collect::<Result<Vec<_>, _>>()?;
        for (exit, place) in exits.iter().zip(places) {
            self.isolate(place);
            let edit = self.exits.entry(exit.bytes.start).or_insert_with(|| ExitEdit {
                bytes: exit.bytes.clone(),
                indent: self.source.item_indent(place),
                unlocks: Vec::new(),
                saved: saved(self.source, exit, place),
            });
            edit.unlocks.push((region.bytes.len(), statement.to_owned()));
        }
        Ok(())
    }

    fn guard_scoped(
        &mut self,
        region: &Region,
        declaration: &str,
        release: &str,
        to_the_end: &str,
    ) -> Result<(), PatchError> {
        let source = self.source;
        let block = source.outline.block(region.block);
        // A jump must not pass a declaration, neither to another case nor to a label.
        if block.shape == Shape::Case || !source.jumps(region).is_empty() {
            if let Some(escaped) =
                source.declared_in(region).into_iter().find(|declared| declared.used_after)
            {
                return Err(PatchError::NameEscapes { name: escaped.name });
            }
            let unit = &source.layout.unit;
            let entry = self.entry(region)?;
            self.isolate(region.first());
            self.isolate(region.last());
            let indent = source.item_indent(region.first());
            self.put_before(
                entry,
                &format!("{{\n{unit}{to_the_end}"),
                &indent,
                Rank::Before,
                region.bytes.len(),
            );
            if !source.stands_first(entry) {
                self.edits.push(Edit::new(entry..entry, unit, Rank::Indent, 0));
            }
            self.indent_lines(source.line_start(entry)..region.bytes.end, unit);
            self.edits.push(after_edit(source, region.bytes.end, "}", &indent, region.bytes.len()));
            return Ok(());
        }
        let ends_block = block.items.len() == region.items.end && block.shape != Shape::Conditional;
        if ends_block || source.ends_in_jump(region) {
            return self.before(region, to_the_end);
        }
        self.before(region, declaration)?;
        self.after(region, release)
    }

    /// Where an exit stands as a statement of a block.
    fn exit_place(&self, exit: &Exit) -> Result<Place, PatchError> {
        let place = self.source.outline.place_at(exit.bytes.start);
        let is_it = |place: &Place| self.source.outline.item(*place).inner == exit.bytes.start;
        let line = self.source.position_of(exit.bytes.start).line;
        place.filter(is_it).ok_or(PatchError::Unparsed { line })
    }

    /// The text of an exit, once all regions it leaves are known.
    pub(super) fn exit_edits(&self, exit: &ExitEdit) -> Vec<Edit> {
        let source = self.source;
        let mut unlocks = exit.unlocks.clone();
        unlocks.sort_by_key(|(extent, _)| *extent);
        let mut lines: Vec<String> = unlocks.into_iter().map(|(_, unlock)| unlock).collect();
        let start = exit.bytes.start;
        let before = |text: &str| {
            if source.stands_first(start) {
                let lines: String =
                    text.lines().map(|line| format!("{}{line}\n", exit.indent)).collect();
                Edit::new(source.line_start(start)..source.line_start(start), &lines, Rank::Exit, 0)
            } else {
                let lines: String =
                    text.lines().map(|line| format!("{line}\n{}", exit.indent)).collect();
                Edit::new(start..start, &lines, Rank::Exit, 0)
            }
        };
        let Some(saved) = &exit.saved else {
            return vec![before(&lines.join("\n"))];
        };
        lines.push(saved.then.clone());
        let mut edits =
            vec![Edit::new(start..saved.value.start, &saved.declaration, Rank::Replace, 0)];
        let mut text = lines.join("\n");
        if saved.braces {
            let unit = &source.layout.unit;
            edits.push(before("{"));
            edits.push(Edit::new(start..start, unit, Rank::Indent, 0));
            text = lines
                .iter()
                .flat_map(|line| line.lines())
                .map(|line| format!("{unit}{line}\n"))
                .collect();
            text.push('}');
        }
        edits.push(after_edit(source, exit.bytes.end, &text, &exit.indent, exit.bytes.len()));
        edits
    }
}

/// The variable for the value of a `return`, unless the value is the same after unlocking.
fn saved(source: &Source, exit: &Exit, place: Place) -> Option<Saved> {
    let ExitKind::Return { value: Some(value) } = &exit.kind else { return None };
    let block = source.outline.block(place.block);
    let function = &source.outline.functions[block.function];
    let body = &source.text[function.body.clone()];
    let node = source.tree.root_node().named_descendant_for_byte_range(value.start, value.end)?;
    if function.return_type == "void" {
        let (declaration, then) = (String::new(), "return;".to_owned());
        return Some(Saved { value: value.clone(), declaration, then, braces: false });
    }
    if is_settled(source, node, &function.bytes) {
        return None;
    }
    let name = fresh_in(body, "result");
    let returned = function.return_type.as_str();
    let deduced =
        returned.is_empty() || words(returned).any(|(_, word)| matches!(word, "auto" | "decltype"));
    let kind = match source.language {
        Language::Cpp if returned.ends_with('&') => "auto &&".to_owned(),
        Language::Cpp if deduced => "auto ".to_owned(),
        _ if returned.ends_with('*') => returned.to_owned(),
        Language::C if returned.is_empty() => "__auto_type ".to_owned(),
        _ => format!("{returned} "),
    };
    let item = source.outline.item(place);
    let jumped = source.language == Language::Cpp && words(body).any(|(_, word)| word == "goto");
    let braces = block.shape == Shape::Case || item.inner != item.bytes.start || jumped;
    let keyword = source.text[exit.bytes.start..value.start].trim_end();
    let keyword = if keyword.starts_with("co_return") { "co_return" } else { "return" };
    Some(Saved {
        value: value.clone(),
        declaration: format!("{kind}{name} = "),
        then: format!("{keyword} {name};"),
        braces,
    })
}

/// Whether a value is the same before and after unlocking: it is made of literals, constants and local variables that
/// nobody else can have the address of.
fn is_settled(source: &Source, value: Node, function: &Range<usize>) -> bool {
    let text = source.node_text(value);
    match value.kind() {
        "number_literal"
        | "string_literal"
        | "char_literal"
        | "concatenated_string"
        | "true"
        | "false"
        | "null"
        | "nullptr"
        | "sizeof_expression"
        | "type_descriptor" => true,
        "identifier" => is_constant_name(text) || is_private_local(source, text, function),
        "parenthesized_expression"
        | "cast_expression"
        | "unary_expression"
        | "binary_expression"
        | "conditional_expression" => {
            value.named_children(&mut value.walk()).all(|part| is_settled(source, part, function))
        }
        _ => false,
    }
}

/// Whether a name is written as constants and macros are.
fn is_constant_name(name: &str) -> bool {
    name.len() > 1 && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// Whether a name is a variable or parameter of the function, of automatic storage, no reference, and its address is not
/// taken.
fn is_private_local(source: &Source, name: &str, function: &Range<usize>) -> bool {
    let (mut declared, mut shared) = (false, false);
    nodes_within(source.tree.root_node(), function, &|_| true, &mut |node| match node.kind() {
        "declaration" | "parameter_declaration" => {
            let declarators =
                node.children_by_field_name("declarator", &mut node.walk()).collect::<Vec<_>>();
            let named = |declarator: &Node| {
                let text = source.node_text(*declarator).split('=').next().unwrap_or_default();
                words(text).next().is_some_and(|(_, word)| word == name)
            };
            if let Some(declarator) = declarators.into_iter().find(named) {
                declared = true;
                let text = source.node_text(node);
                let lasting = words(text).any(|(_, word)| matches!(word, "static" | "extern"));
                shared |= lasting
                    || source.node_text(declarator).starts_with('&')
                    || declarator.kind() == "array_declarator";
            }
        }
        "pointer_expression" => {
            shared |= source.node_text(node).strip_prefix('&').is_some_and(|of| of.trim() == name)
        }
        "lambda_expression" if node.byte_range() != *function => {
            shared |= words(source.node_text(node)).any(|(_, word)| word == name)
        }
        _ => {}
    });
    declared && !shared
}
