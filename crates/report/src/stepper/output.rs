//! The text of an answer: lines that fit the terminal, and signs that it can show.

use crate::terminal::Style;
use crate::terminal::line::{Line, Tone};

pub struct Output {
    pub style: Style,
    text: String,
}

impl Output {
    pub fn new(style: Style) -> Output {
        Output { style, text: String::new() }
    }

    /// A line; what does not fit is cut off.
    pub fn line(&mut self, mut line: Line) {
        line.fit(self.style.width, if self.style.unicode { "…" } else { "..." });
        self.whole(line);
    }

    /// A line of any length.
    pub fn whole(&mut self, line: Line) {
        self.text += &line.paint(self.style.color);
        self.text.push('\n');
    }

    pub fn plain(&mut self, text: &str) {
        self.whole(Line::new().with(text, Tone::Plain));
    }

    /// Something to be read by the way.
    pub fn dim(&mut self, text: &str) {
        self.whole(Line::new().with(text, Tone::Dim));
    }

    /// Text of ours that has its own lines.
    pub fn block(&mut self, text: &str) {
        text.lines().for_each(|line| self.plain(line));
    }

    pub fn arrow(&self) -> &'static str {
        if self.style.unicode { "→" } else { "->" }
    }

    pub fn finish(self) -> String {
        self.text
    }
}
