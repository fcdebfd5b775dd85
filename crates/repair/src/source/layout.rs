//! How a file is laid out: its indentation, where it puts braces, how its lines end.

use super::Source;
use super::outline::{BlockId, Outline, Place, Shape};

pub(super) struct Layout {
    /// One step of indentation.
    pub(super) unit: String,
    /// Whether the brace of an `if` or loop stands on a line of its own.
    pub(super) braces_apart: bool,
    pub(super) newline: &'static str,
}

impl Layout {
    pub(super) fn of(text: &str, outline: &Outline) -> Layout {
        let mut steps: Vec<(&str, u32)> = Vec::new();
        let (mut apart, mut beside) = (0u32, 0u32);
        for block in outline.blocks.iter().filter(|block| block.has_braces()) {
            let outer = indentation(text, block.keyword);
            if let Some(item) =
                block.items.iter().find(|item| !item.is_directive() && !item.is_labelled())
            {
                let inner = indentation(text, item.bytes.start);
                if let Some(step) = inner.strip_prefix(outer).filter(|step| !step.is_empty()) {
                    match steps.iter_mut().find(|(known, _)| *known == step) {
                        Some((_, times)) => *times += 1,
                        None => steps.push((step, 1)),
                    }
                }
            }
            if block.shape == Shape::Braced && block.keyword != block.bytes.start {
                match stands_first(text, block.bytes.start) {
                    true => apart += 1,
                    false => beside += 1,
                }
            }
        }
        let unit = steps.iter().max_by_key(|(_, times)| *times).map_or("    ", |(step, _)| step);
        // Where no `if` or loop tells, functions are no guide: most styles put their brace apart.
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Layout { unit: unit.to_owned(), braces_apart: apart > beside, newline }
    }
}

fn line_start(text: &str, byte: usize) -> usize {
    text[..byte].rfind('\n').map_or(0, |newline| newline + 1)
}

fn indentation(text: &str, byte: usize) -> &str {
    let line = &text[line_start(text, byte)..];
    &line[..line.find(|c| c != ' ' && c != '\t').unwrap_or(line.len())]
}

fn stands_first(text: &str, byte: usize) -> bool {
    line_start(text, byte) + indentation(text, byte).len() >= byte
}

impl Source {
    pub(super) fn line_start(&self, byte: usize) -> usize {
        line_start(&self.text, byte)
    }

    /// The end of a byte's line, before its newline.
    pub(super) fn line_end(&self, byte: usize) -> usize {
        let end = self.text[byte..].find('\n').map_or(self.text.len(), |newline| byte + newline);
        if self.text[byte..end].ends_with('\r') { end - 1 } else { end }
    }

    /// The start of the line after a byte's, or the end of the file.
    pub(super) fn next_line(&self, byte: usize) -> usize {
        self.text[byte..].find('\n').map_or(self.text.len(), |newline| byte + newline + 1)
    }

    /// One step of indentation in this file.
    pub fn indent_unit(&self) -> &str {
        &self.layout.unit
    }

    /// The blanks at the start of a byte's line.
    pub fn indentation_at(&self, byte: usize) -> &str {
        self.indent_at(byte)
    }

    /// The blanks at the start of a byte's line.
    pub(super) fn indent_at(&self, byte: usize) -> &str {
        indentation(&self.text, byte)
    }

    /// Whether only blanks come before a byte on its line.
    pub(super) fn stands_first(&self, byte: usize) -> bool {
        stands_first(&self.text, byte)
    }

    /// Whether only blanks and comments come after a byte on its line, and another line follows.
    pub(super) fn ends_line(&self, byte: usize) -> bool {
        let end = self.line_end(byte);
        let mut rest = self.text[byte..end].trim_start();
        while let Some(comment) = rest.strip_prefix("/*") {
            match comment.split_once("*/") {
                Some((_, after)) => rest = after.trim_start(),
                None => return false,
            }
        }
        (rest.is_empty() || rest.starts_with("//")) && end < self.text.len()
    }

    /// The start of the blanks and newlines that end at a byte.
    pub(super) fn gap_before(&self, byte: usize) -> usize {
        self.text[..byte].trim_end().len()
    }

    /// The indentation a statement has, or would have on a line of its own.
    pub(super) fn item_indent(&self, place: Place) -> String {
        let block = self.outline.block(place.block);
        let own = &block.items[place.index];
        let first = |start: usize| self.stands_first(start);
        if first(own.bytes.start) && !own.is_directive() && !own.is_labelled() {
            return self.indent_at(own.bytes.start).to_owned();
        }
        if own.is_labelled() && own.inner != own.bytes.start && first(own.inner) {
            return self.indent_at(own.inner).to_owned();
        }
        let mut siblings =
            block.items.iter().filter(|item| !item.is_directive() && !item.is_labelled());
        if let Some(sibling) = siblings.find(|item| first(item.bytes.start)) {
            return self.indent_at(sibling.bytes.start).to_owned();
        }
        match (&block.shape, block.parent) {
            (Shape::Conditional, Some(parent)) => self.item_indent(parent),
            _ => self.owner_indent(place.block) + &self.layout.unit,
        }
    }

    /// The indentation of the statement a block belongs to, which is that of its closing brace.
    pub(super) fn owner_indent(&self, block: BlockId) -> String {
        let block = self.outline.block(block);
        match block.parent {
            Some(parent) if !self.stands_first(block.keyword) => {
                let owner = self.outline.item(parent);
                // `} else` starts a line within the statement; otherwise it all stands on the line of the statement.
                if self.line_start(block.keyword) >= owner.bytes.start {
                    self.indent_at(block.keyword).to_owned()
                } else {
                    self.item_indent(parent)
                }
            }
            _ => self.indent_at(block.keyword).to_owned(),
        }
    }
}
