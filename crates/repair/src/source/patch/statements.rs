//! Statements put before and after others, moved, and taken away.

use std::ops::Range;

use tree_sitter::Node;

use super::edit::{Edit, Rank};
use super::{Patch, PatchError};
use crate::source::outline::{BlockId, Place, Shape};
use crate::source::region::Region;
use crate::source::{Source, is_jump, nodes_within};

impl Patch<'_> {
    /// Puts a statement before a region, within braces that are added where it is a body without them.
    pub fn before(&mut self, region: &Region, statement: &str) -> Result<(), PatchError> {
        self.check_parsed(region)?;
        let entry = self.entry(region)?;
        self.isolate(region.first());
        let indent = self.source.item_indent(region.first());
        self.put_before(entry, statement, &indent, Rank::Before, region.bytes.len());
        Ok(())
    }

    /// Puts a statement after a region; refused where control does not come out of its end.
    pub fn after(&mut self, region: &Region, statement: &str) -> Result<(), PatchError> {
        self.check_parsed(region)?;
        if self.source.ends_in_jump(region) {
            return Err(PatchError::AfterJump { line: region.last_line });
        }
        self.isolate(region.last());
        let indent = self.source.item_indent(region.last());
        self.put_after(region.bytes.end, statement, &indent, region.bytes.len());
        Ok(())
    }

    /// Takes a statement away: with its lines and the comment beside it, if it is alone on them.
    pub fn remove_statement(&mut self, statement: Range<usize>) {
        let source = self.source;
        let place = source.outline.place_at(statement.start);
        let needed = place.is_some_and(|place| {
            let item = source.outline.item(place);
            let body = matches!(source.outline.block(place.block).shape, Shape::Body { .. });
            (body || item.is_labelled()) && item.bytes.end == statement.end
        });
        if needed && let Some(question) = source.idle_without(&statement) {
            // A question with nothing to do about the answer is what a reviewer would ask to take away.
            return self.remove_statement(question);
        }
        if needed {
            return self.replace(
                statement,
                if place.is_some_and(|place| source.outline.item(place).is_labelled()) {
                    ";"
                } else {
                    "{}"
                },
            );
        }
        let (first, last) = (source.stands_first(statement.start), source.ends_line(statement.end));
        let bytes = match (first, last) {
            (true, true) => source.line_start(statement.start)..source.next_line(statement.end),
            (true, false) => {
                let rest = &source.text[statement.end..source.line_end(statement.end)];
                statement.start..statement.end + rest.len() - rest.trim_start().len()
            }
            (false, _) => source.gap_before(statement.start)..statement.end,
        };
        self.replace(bytes, "");
    }

    /// Takes a statement away and puts it before a region.
    pub fn move_before(
        &mut self,
        statement: Range<usize>,
        target: &Region,
    ) -> Result<(), PatchError> {
        self.before(target, &self.flush_left(&statement))?;
        self.remove_statement(statement);
        Ok(())
    }

    /// Takes a statement away and puts it after a region.
    pub fn move_after(
        &mut self,
        statement: Range<usize>,
        target: &Region,
    ) -> Result<(), PatchError> {
        self.after(target, &self.flush_left(&statement))?;
        self.remove_statement(statement);
        Ok(())
    }

    /// A statement's text, with the indentation of its first line taken from all of its lines.
    fn flush_left(&self, statement: &Range<usize>) -> String {
        let indent = self.source.indent_at(statement.start);
        let lines = self.source.text[statement.clone()].lines();
        lines.map(|line| line.strip_prefix(indent).unwrap_or(line)).collect::<Vec<_>>().join("\n")
    }

    /// Where a statement that is to run before a region goes: after the label of its first statement, unless only the
    /// region itself jumps there.
    pub(super) fn entry(&self, region: &Region) -> Result<usize, PatchError> {
        let source = self.source;
        let first = source.outline.item(region.first());
        let mut entry = first.bytes.start;
        for (label, at) in source.labels(region) {
            let jumps = source.jumps_to(region, &label);
            let inside = jumps.iter().filter(|jump| region.bytes.contains(jump)).count();
            let leads = first.is_labelled() && (first.bytes.start..first.inner).contains(&at);
            if leads && inside == 0 {
                entry = first.inner;
            } else if inside < jumps.len() {
                return Err(PatchError::JumpInto { label, line: source.position_of(at).line });
            }
        }
        Ok(entry)
    }

    /// Gives a statement lines of its own, and braces around it if it is a body without them.
    pub(super) fn isolate(&mut self, place: Place) {
        let source = self.source;
        let block = source.outline.block(place.block);
        if let Shape::Body { header_end, follower } = block.shape {
            self.brace(place.block, header_end, follower);
            return;
        }
        let close = block.has_braces().then(|| block.bytes.end - 1);
        let folded = close
            .is_some_and(|close| source.line_start(block.bytes.start) == source.line_start(close));
        let apart = if folded {
            0..block.items.len()
        } else {
            place.index..(place.index + 2).min(block.items.len())
        };
        for index in apart {
            let start = block.items[index].bytes.start;
            if !source.stands_first(start) {
                let other = Place { block: place.block, index };
                self.breaks.insert(start, source.item_indent(other));
            }
        }
        let is_last = folded || place.index + 1 == block.items.len();
        if let Some(close) = close.filter(|&close| is_last && !source.stands_first(close)) {
            self.breaks.insert(close, source.owner_indent(place.block));
        }
        if let Some(parent) = block.parent.filter(|_| folded || block.shape == Shape::Case) {
            self.isolate_if_shared(parent);
        }
    }

    /// Gives lines of its own to a statement that came to be laid out over several.
    fn isolate_if_shared(&mut self, place: Place) {
        let bytes = &self.source.outline.item(place).bytes;
        if !self.source.stands_first(bytes.start) || !self.source.ends_line(bytes.end) {
            self.isolate(place);
        }
    }

    fn brace(&mut self, id: BlockId, header_end: usize, follower: Option<usize>) {
        if !self.braced.insert(id) {
            return;
        }
        let source = self.source;
        let block = source.outline.block(id);
        let place = Place { block: id, index: 0 };
        let item = &block.items[0].bytes;
        let outer = source.owner_indent(id);
        let own_line = source.stands_first(item.start);
        let apart = source.layout.braces_apart;
        let opening = match (apart, own_line) {
            (true, true) => Edit::new(
                at(source.next_line(header_end)),
                &format!("{outer}{{\n"),
                Rank::Opening,
                0,
            ),
            (true, false) => Edit::new(at(header_end), &format!("\n{outer}{{"), Rank::Opening, 0),
            (false, _) => Edit::new(at(header_end), " {", Rank::Opening, 0),
        };
        self.edits.push(opening);
        if !own_line {
            let indent = source.item_indent(place);
            self.indent_lines(source.next_line(item.start)..item.end, &source.layout.unit);
            self.breaks.insert(item.start, indent);
        }
        let next_line = source.next_line(item.end);
        let joined = follower.filter(|&follower| {
            !apart && source.ends_line(item.end) && source.line_start(follower) == next_line
        });
        if let Some(follower) = joined {
            self.edits.push(Edit::new(
                at(next_line),
                &format!("{outer}}} "),
                Rank::Closing,
                item.len() + 1,
            ));
            self.edits.push(Edit::new(next_line..follower, "", Rank::Replace, 0));
        } else {
            self.put_after(item.end, "}", &outer, item.len() + 1);
            let same_line = follower.filter(|&follower| apart && !source.stands_first(follower));
            if let Some(follower) = same_line {
                self.breaks.insert(follower, outer);
            }
        }
        if let Some(parent) = block.parent {
            self.isolate_if_shared(parent);
        }
    }

    pub(super) fn put_before(
        &mut self,
        start: usize,
        text: &str,
        indent: &str,
        rank: Rank,
        extent: usize,
    ) {
        let source = self.source;
        let edit = if source.stands_first(start) {
            let lines: String = text.lines().map(|line| format!("{indent}{line}\n")).collect();
            Edit::new(at(source.line_start(start)), &lines, rank, extent)
        } else {
            self.breaks.insert(start, indent.to_owned());
            let lines: String = text.lines().map(|line| format!("{line}\n{indent}")).collect();
            Edit::new(at(start), &lines, rank, extent)
        };
        self.edits.push(edit);
    }

    fn put_after(&mut self, end: usize, text: &str, indent: &str, extent: usize) {
        let edit = after_edit(self.source, end, text, indent, extent);
        self.edits.push(edit);
    }

    /// Indents the lines that start within a stretch by one more step.
    pub(super) fn indent_lines(&mut self, bytes: Range<usize>, step: &str) {
        let source = self.source;
        let mut line = source.line_start(bytes.start);
        if line < bytes.start {
            line = source.next_line(bytes.start);
        }
        while line < bytes.end {
            let text = source.text[line..source.line_end(line)].trim_start();
            let literal = source.tree.root_node().descendant_for_byte_range(line, line);
            let in_literal = literal
                .is_some_and(|node| node.kind().contains("string") && node.start_byte() < line);
            if !text.is_empty() && !text.starts_with('#') && !in_literal {
                self.edits.push(Edit::new(at(line), step, Rank::Indent, 0));
            }
            line = source.next_line(line);
        }
    }
}

/// What puts a text on the lines after a statement.
pub(super) fn after_edit(
    source: &Source,
    end: usize,
    text: &str,
    indent: &str,
    extent: usize,
) -> Edit {
    if source.ends_line(end) {
        let lines: String = text.lines().map(|line| format!("{indent}{line}\n")).collect();
        Edit::new(at(source.next_line(end)), &lines, Rank::Closing, extent)
    } else {
        let lines: String = text.lines().map(|line| format!("\n{indent}{line}")).collect();
        Edit::new(at(end), &lines, Rank::Closing, extent)
    }
}

fn at(byte: usize) -> Range<usize> {
    byte..byte
}

impl Source {
    /// Where the parser did not understand a stretch, or what it stands in.
    pub(super) fn error_in(&self, bytes: &Range<usize>) -> Option<usize> {
        let root = self.tree.root_node();
        let mut error = None;
        nodes_within(root, bytes, &|node| node.has_error(), &mut |node| {
            if node.is_error() || node.is_missing() {
                error = error.or(Some(node.start_byte()));
            }
        });
        let inside = root.descendant_for_byte_range(bytes.start, bytes.end)?;
        let mut around = std::iter::successors(Some(inside), |node| node.parent());
        error.or_else(|| around.find(|node| node.is_error()).map(|node| node.start_byte()))
    }

    /// The `if` without `else` whose only statement this is, if looking at its condition does nothing else.
    fn idle_without(&self, statement: &Range<usize>) -> Option<Range<usize>> {
        let node = self.tree.root_node();
        let node = node.named_descendant_for_byte_range(statement.start, statement.end)?;
        let question = node.parent().filter(|parent| parent.kind() == "if_statement")?;
        let is_only = node.byte_range() == *statement
            && question.child_by_field_name("consequence") == Some(node)
            && question.child_by_field_name("alternative").is_none();
        let condition = question.child_by_field_name("condition")?;
        (is_only && only_looks(condition)).then(|| question.byte_range())
    }

    /// Whether control never comes to the end of a region, as far as its last statement shows.
    pub fn ends_in_jump(&self, region: &Region) -> bool {
        let item = self.outline.item(region.last());
        let node =
            self.tree.root_node().named_descendant_for_byte_range(item.inner, item.bytes.end);
        node.is_some_and(is_jump)
    }
}

/// Whether an expression only reads: names, numbers, and operators without effects on them.
fn only_looks(node: Node) -> bool {
    const LOOKING: [&str; 10] = [
        "identifier",
        "field_identifier",
        "field_expression",
        "subscript_expression",
        "binary_expression",
        "unary_expression",
        "parenthesized_expression",
        "condition_clause",
        "number_literal",
        "this",
    ];
    let constant = matches!(node.kind(), "true" | "false" | "null" | "char_literal");
    let mut cursor = node.walk();
    constant
        || LOOKING.contains(&node.kind())
            && node.named_children(&mut cursor).all(|child| only_looks(child))
}
