//! Commands that reports tell people to type.

/// The command that replays a trace.
pub fn replay_command(trace: &str) -> String {
    format!("unravel replay {}", shell_word(trace))
}

/// A path or argument as a shell needs it.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::shell_word;

    #[test]
    fn words_are_quoted_only_if_needed() {
        assert_eq!(shell_word("a/b-1.trace"), "a/b-1.trace");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }
}
