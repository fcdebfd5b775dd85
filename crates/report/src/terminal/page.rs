//! The text as it grows: lines, sections, prose, and the signs we draw with.

use super::line::{Line, Tone, columns, wrap};
use super::{NARROWEST, Style};
use crate::{FileNames, escape};

/// The signs of a report.
#[derive(Clone, Copy, Debug)]
pub struct Glyphs {
    pub fail: &'static str,
    pub pass: &'static str,
    /// From the reader to the writer it takes its value from.
    pub from: &'static str,
    pub other_path: &'static str,
    pub gap: &'static str,
    /// A thread that does nothing in this row, an event of it, and one of the root cause.
    pub idle: &'static str,
    pub event: &'static str,
    pub causal: &'static str,
    /// An event that the run never reached.
    pub missing: &'static str,
    /// The bracket beside a region, two columns each.
    pub open: &'static str,
    pub inside: &'static str,
    pub close: &'static str,
    /// The end of an order that should hold.
    pub arrow: &'static str,
    pub before: &'static str,
    pub divide: &'static str,
    pub bullet: &'static str,
    pub ellipsis: &'static str,
    /// A part of a line across the page.
    pub rule: &'static str,
}

const DRAWN: Glyphs = Glyphs {
    fail: "✗",
    pass: "✓",
    from: "◀─",
    other_path: "↯",
    gap: "⋮",
    idle: "│",
    event: "├",
    causal: "●",
    missing: "╳",
    open: "┌─",
    inside: "│ ",
    close: "└─",
    arrow: "└▶",
    before: "──▶",
    divide: "║",
    bullet: "•",
    ellipsis: "…",
    rule: "─",
};

const PLAIN: Glyphs = Glyphs {
    fail: "x",
    pass: "ok",
    from: "<-",
    other_path: "!",
    gap: ":",
    idle: "|",
    event: "+",
    causal: "*",
    missing: "x",
    open: ",-",
    inside: "| ",
    close: "`-",
    arrow: "`>",
    before: "-->",
    divide: "#",
    bullet: "-",
    ellipsis: "...",
    rule: "-",
};

/// Columns of the names before commands and files.
const NAMES: usize = 11;

pub struct Page {
    pub style: Style,
    pub glyphs: Glyphs,
    /// How the files of the failures on this page are called.
    pub names: FileNames,
    text: String,
}

impl Page {
    pub fn new(style: Style, names: FileNames) -> Page {
        let style = Style { width: style.width.max(NARROWEST), ..style };
        let glyphs = if style.unicode { DRAWN } else { PLAIN };
        Page { style, glyphs, names, text: String::new() }
    }

    pub fn width(&self) -> usize {
        self.style.width
    }

    pub fn line(&mut self, mut line: Line) {
        line.fit(self.style.width, self.glyphs.ellipsis);
        self.text += &line.paint(self.style.color);
        self.text.push('\n');
    }

    pub fn blank(&mut self) {
        self.text.push('\n');
    }

    pub fn section(&mut self, title: &str) {
        self.blank();
        self.prose("", title, Tone::Strong);
    }

    /// A text of any length. `lead` stands before its first line, blanks as wide before the others.
    pub fn prose(&mut self, lead: &str, text: &str, tone: Tone) {
        let indent = columns(lead);
        let text = escape::visible(text);
        for (index, part) in wrap(&text, self.width().saturating_sub(indent)).iter().enumerate() {
            let blanks = " ".repeat(indent);
            let lead = if index == 0 { lead } else { &blanks };
            self.line(Line::new().with(lead, tone).with(part, tone));
        }
    }

    /// A title across the page.
    pub fn rule(&mut self, title: &str) {
        let left = self.width().saturating_sub(columns(&escape::visible(title)) + 4);
        let line = self.glyphs.rule.repeat(left);
        let text = format!("{0}{0} {title} {line}", self.glyphs.rule);
        self.line(Line::new().with(&text, Tone::Strong));
    }

    /// To be copied, so it is never broken.
    pub fn command(&mut self, command: &str) {
        self.whole(Line::new().with("  ", Tone::Plain).with(command, Tone::Strong));
    }

    /// A name, and a command or path to be copied.
    pub fn row(&mut self, name: &str, command: &str) {
        self.command(&format!("{name:NAMES$}{command}"));
    }

    /// A line that means something else when it is cut off.
    pub fn whole(&mut self, line: Line) {
        self.text += &line.paint(self.style.color);
        self.text.push('\n');
    }

    pub fn finish(self) -> String {
        self.text
    }
}
