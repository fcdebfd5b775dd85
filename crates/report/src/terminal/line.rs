//! One line of text with tones, measured in columns of the terminal. The only way from strings to the terminal: every
//! text is made harmless here.

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthChar as _;

use crate::escape;

/// What a piece of text is; a terminal with colours shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tone {
    Plain,
    Strong,
    /// Context, what may be skipped.
    Dim,
    /// Of the failure.
    Bad,
    /// Of the run that passes.
    Good,
    /// Where a part of a diff is.
    Place,
}

impl Tone {
    fn style(self) -> Style {
        match self {
            Tone::Plain => Style::new(),
            Tone::Strong => Style::new().bold(),
            Tone::Dim => Style::new().dimmed(),
            Tone::Bad => AnsiColor::Red.on_default(),
            Tone::Good => AnsiColor::Green.on_default(),
            Tone::Place => AnsiColor::Cyan.on_default(),
        }
    }
}

/// Columns that a harmless text takes.
pub fn columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// The first `width` columns of a text.
fn start(text: &str, width: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > width {
            return &text[..at];
        }
    }
    text
}

/// At most `width` columns; what does not fit is cut off at the end.
pub fn keep_start(text: &str, width: usize, ellipsis: &str) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    match width.checked_sub(columns(ellipsis)) {
        Some(room) => format!("{}{ellipsis}", start(text, room)),
        None => start(text, width).to_owned(),
    }
}

/// At most `width` columns; what does not fit is cut off at the start, because the end of a long name tells most.
pub fn keep_end(text: &str, width: usize, ellipsis: &str) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let Some(room) = width.checked_sub(columns(ellipsis)) else {
        return start(text, width).to_owned();
    };
    let mut used = 0;
    let mut from = text.len();
    for (at, c) in text.char_indices().rev() {
        used += c.width().unwrap_or(0);
        if used > room {
            break;
        }
        from = at;
    }
    format!("{ellipsis}{}", &text[from..])
}

/// Lines of at most `width` columns, broken at blanks, within words where there is no other way.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    let mut current = String::new();
    for word in text.split_whitespace() {
        let mut word = word;
        let blank = usize::from(!current.is_empty());
        if columns(&current) + blank + columns(word) <= width {
            if blank == 1 {
                current.push(' ');
            }
            current.push_str(word);
            continue;
        }
        if !current.is_empty() {
            lines.push(std::mem::take(&mut current));
        }
        while columns(word) > width {
            let head = match start(word, width) {
                // A letter of two columns where there is one.
                "" => &word[..word.chars().next().map_or(0, char::len_utf8)],
                head => head,
            };
            lines.push(head.to_owned());
            word = &word[head.len()..];
        }
        current.push_str(word);
    }
    if !current.is_empty() || lines.is_empty() {
        lines.push(current);
    }
    lines
}

#[derive(Clone, Default, Debug)]
pub struct Line {
    spans: Vec<(String, Tone)>,
}

impl Line {
    pub fn new() -> Line {
        Line::default()
    }

    pub fn with(mut self, text: &str, tone: Tone) -> Line {
        self.push(text, tone);
        self
    }

    pub fn push(&mut self, text: &str, tone: Tone) {
        self.spans.push((escape::visible(text).into_owned(), tone));
    }

    pub fn append(&mut self, mut other: Line) {
        self.spans.append(&mut other.spans);
    }

    pub fn columns(&self) -> usize {
        self.spans.iter().map(|(text, _)| columns(text)).sum()
    }

    /// Blanks up to this column.
    pub fn pad(&mut self, to: usize) {
        let missing = to.saturating_sub(self.columns());
        self.push(&" ".repeat(missing), Tone::Plain);
    }

    /// Cuts the line off at this many columns.
    pub fn fit(&mut self, width: usize, ellipsis: &str) {
        let mut room = width;
        let mut over = self.columns() > width;
        let mut kept = Vec::new();
        for (text, tone) in std::mem::take(&mut self.spans) {
            let taken = columns(&text);
            if over && taken + columns(ellipsis) > room {
                // What follows does not fit beside the ellipsis.
                kept.push((keep_start(&format!("{text}{ellipsis}"), room, ellipsis), tone));
                over = false;
                room = 0;
            } else if taken <= room {
                room -= taken;
                kept.push((text, tone));
            }
        }
        self.spans = kept;
    }

    /// As a terminal wants it, without blanks at the end.
    pub fn paint(mut self, color: bool) -> String {
        while let Some((text, _)) = self.spans.last_mut() {
            text.truncate(text.trim_end().len());
            if !text.is_empty() {
                break;
            }
            self.spans.pop();
        }
        let mut out = String::new();
        for (text, tone) in &self.spans {
            if color && *tone != Tone::Plain && !text.trim().is_empty() {
                let style = tone.style();
                out += &format!("{style}{text}{style:#}");
            } else {
                out += text;
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_where_they_do_not_fit() {
        assert_eq!(keep_start("accounts", 5, "…"), "acco…");
        assert_eq!(keep_end("accounts[3].balance", 9, "…"), "….balance");
        assert_eq!(keep_end("accounts[3].balance", 2, "..."), "ac");
        assert_eq!(keep_start("漢字漢字", 5, "…"), "漢字…");
    }

    #[test]
    fn prose_is_broken_at_blanks() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij kl", 4), ["abcd", "efgh", "ij", "kl"]);
        assert_eq!(wrap("", 4), [""]);
    }

    #[test]
    fn a_line_keeps_within_its_width() {
        for width in 1..20 {
            let mut line = Line::new()
                .with("abcdef", Tone::Bad)
                .with("gh", Tone::Dim)
                .with("ijkl", Tone::Good);
            line.fit(width, "…");
            assert!(line.columns() <= width, "{line:?}");
            let text = line.paint(false);
            assert_eq!(text.ends_with('…'), width < 12, "{width}: {text}");
        }
    }

    #[test]
    fn colour_comes_from_us_only() {
        let line = Line::new().with("a\x1b[0m", Tone::Bad);
        assert_eq!(line.paint(true), "\x1b[31ma\\x1b[0m\x1b[0m");
    }
}
