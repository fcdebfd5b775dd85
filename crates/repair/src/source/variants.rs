//! One variant of a text that the preprocessor chooses from: alternatives that only make sense one at a time (`#ifdef A`, one head of
//! an `if`, `#else`, another, `#endif`) keep the parser from everything around them.
//!
//! The branches that are not taken become blanks, so that every byte stays where it is. Which are taken is guessed from what
//! the file defines itself; options of the compiler are not known. Alternatives that leave their block are left as they are: an
//! edit would have to know of both.

/// A conditional that is open.
struct Open {
    /// Where its untaken branches are; the directives count among them.
    hidden: Vec<std::ops::Range<usize>>,
    /// Where the branch begins that is being read, and whether it is taken.
    begins: usize,
    is_taken: bool,
    was_taken: bool,
    has_else: bool,
}

/// The text with one branch of each conditional that has several; `None` if there is none, or if it is left as it is.
pub(super) fn one_variant(text: &str) -> Option<String> {
    let mut defined: Vec<&str> = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let mut hidden = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let Some(directive) = line.trim_start().strip_prefix('#') else { continue };
        let directive = directive.trim();
        let (word, rest) = directive.split_once(char::is_whitespace).unwrap_or((directive, ""));
        let name = rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or("");
        let is_true = match word {
            "ifdef" => defined.contains(&name),
            "ifndef" => !defined.contains(&name),
            _ => rest.trim() != "0",
        };
        match word {
            "define" if open.iter().all(|open| open.is_taken) => defined.push(name),
            "if" | "ifdef" | "ifndef" => open.push(Open {
                hidden: std::iter::once(start..end).collect(),
                begins: end,
                is_taken: is_true,
                was_taken: is_true,
                has_else: false,
            }),
            "else" | "elif" => {
                let open = open.last_mut()?;
                let from = if open.is_taken { start } else { open.begins };
                open.hidden.push(from..end);
                open.is_taken = !open.was_taken && (word == "else" || is_true);
                open.was_taken |= open.is_taken;
                (open.begins, open.has_else) = (end, true);
            }
            "endif" => {
                let mut closed = open.pop()?;
                let from = if closed.is_taken { start } else { closed.begins };
                closed.hidden.push(from..end);
                if closed.has_else && !closed.hidden.iter().any(|part| leaves(&text[part.clone()]))
                {
                    hidden.extend(closed.hidden);
                }
            }
            _ => {}
        }
    }
    if hidden.is_empty() {
        return None;
    }
    let mut bytes = text.as_bytes().to_vec();
    for part in hidden {
        bytes[part].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
    String::from_utf8(bytes).ok()
}

/// Whether a part of a text leaves what it is in.
fn leaves(part: &str) -> bool {
    let mut words = part.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.any(|word| matches!(word, "return" | "goto" | "break" | "continue" | "throw"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Option<Vec<String>> {
        let variant = one_variant(text)?;
        assert_eq!(variant.len(), text.len(), "every byte stays where it is");
        let lines = variant.lines().map(|line| line.trim().to_owned());
        Some(lines.filter(|line| !line.is_empty()).collect())
    }

    #[test]
    fn what_the_file_defines_is_taken() {
        let text = "#define A\n#ifdef A\nif (x)\n#else\nif (y)\n#endif\n{ z(); }\n";
        assert_eq!(lines(text).expect("two branches"), ["#define A", "if (x)", "{ z(); }"]);
        let text = "#ifdef A\nif (x)\n#else\nif (y)\n#endif\n{ z(); }\n";
        assert_eq!(lines(text).expect("two branches"), ["if (y)", "{ z(); }"]);
        let text = "#if 0\na;\n#elif B\nb;\n#else\nc;\n#endif\n";
        assert_eq!(lines(text).expect("three branches"), ["b;"]);
    }

    #[test]
    fn what_has_no_alternative_or_leaves_is_kept() {
        assert_eq!(lines("#ifndef H\n#define H\nint x;\n#endif\n"), None);
        assert_eq!(lines("#ifdef A\nreturn;\n#else\nif (y)\n#endif\n"), None);
        assert_eq!(lines("#endif\n"), None);
    }
}
