//! Makes text of the program under test harmless: nothing in it moves a cursor, changes colours or hides letters.

use std::borrow::Cow;

/// Whether a terminal or an editor would obey this character instead of showing it: control characters, direction
/// overrides, letters without width that hide others.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(
            u32::from(c),
            0xad | 0x61c
                | 0x180e
                | 0x200b..=0x200f
                | 0x2028..=0x202e
                | 0x2060..=0x206f
                | 0xfe00..=0xfe0f
                | 0xfeff
                | 0xfff9..=0xfffb
                | 0xe0000..=0xe0fff
        )
}

/// The text on one line, as a terminal may have it: `\n`, `\x1b` and the like are written out.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\t' => safe.push(' '),
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            c if is_obeyed(c) && u32::from(c) < 0x100 => {
                safe.push_str(&format!("\\x{:02x}", u32::from(c)));
            }
            c if is_obeyed(c) => safe.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// The inside of a quoted string of Graphviz. Its `\N`, `\l` and the like are text, not orders.
pub fn quoted(text: &str) -> String {
    visible(text).replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_written_out() {
        assert_eq!(visible("plain ü 漢"), "plain ü 漢");
        assert_eq!(visible("a\x1b[31mb\tc\nd\u{7f}"), "a\\x1b[31mb c\\nd\\x7f");
        assert_eq!(visible("a\u{9b}31m\u{202e}b"), "a\\x9b31m\\u{202e}b");
    }

    #[test]
    fn quotes_and_backslashes_stay_inside_the_string() {
        assert_eq!(quoted(r#"say "\N""#), r#"say \"\\N\""#);
        assert_eq!(quoted("a\nb"), r"a\\nb");
    }
}
