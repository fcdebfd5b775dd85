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

/// How much a brief report shows of what can be long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Events of each run.
    pub events: usize,
    /// Rows of a repair's diff.
    pub diff: usize,
    /// Orders of a root cause, which its sentence has told for the most part.
    pub orders: usize,
}

impl Limits {
    /// From the most generous on: a report takes the first by which it is short enough.
    pub const ALL: [Limits; 7] = [
        Limits { events: 8, diff: 24, orders: 3 },
        Limits { events: 6, diff: 24, orders: 3 },
        Limits { events: 6, diff: 18, orders: 2 },
        Limits { events: 5, diff: 18, orders: 1 },
        Limits { events: 5, diff: 14, orders: 0 },
        Limits { events: 4, diff: 11, orders: 0 },
        Limits { events: 3, diff: 7, orders: 0 },
    ];
}

pub struct Page {
    pub style: Style,
    pub limits: Limits,
    pub glyphs: Glyphs,
    /// How the files of the failures on this page are called.
    pub names: FileNames,
    text: String,
}

impl Page {
    pub fn new(style: Style, names: FileNames) -> Page {
        let style = Style { width: style.width.max(NARROWEST), ..style };
        let glyphs = if style.unicode { DRAWN } else { PLAIN };
        Page { style, limits: Limits::ALL[0], glyphs, names, text: String::new() }
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

    /// Lines written so far.
    pub fn lines(&self) -> usize {
        self.text.lines().count()
    }

    pub fn finish(self) -> String {
        self.text
    }
}
