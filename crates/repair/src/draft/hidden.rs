//! Ways out of a region that its text does not show: with a lock held there, they would take it along.
//!
//! Seen are functions that never return, in the region or one call away in the same file, and macros of the same file
//! that return or jump. What other files and headers hide is not seen; the exploration sees it where this input goes there.

use super::{Draft, DraftError};
use crate::source::{Position, Source};
use crate::spots::Stretch;

/// Functions after which nobody comes back to unlock, though the process goes on.
const LEAVE: [&str; 5] = ["pthread_exit", "thrd_exit", "longjmp", "siglongjmp", "_longjmp"];
/// What a macro leaves a function or a loop with.
const JUMPS: [&str; 4] = ["return", "goto", "break", "continue"];

impl Draft<'_> {
    /// Refuses stretches that may be left with the lock held.
    pub(super) fn refuse_hidden_exits(&self, stretches: &[Stretch]) -> Result<(), DraftError> {
        for stretch in stretches {
            let source = self.source(&stretch.file)?;
            for call in source.calls(stretch.region.bytes.clone()) {
                if leaves(source, &call.name) {
                    let line = source.position_of(call.bytes.start).line;
                    return Err(DraftError::HiddenExit { name: call.name, line });
                }
            }
        }
        Ok(())
    }
}

fn leaves(source: &Source, name: &str) -> bool {
    if LEAVE.contains(&name) {
        return true;
    }
    if let Some(body) = macro_body(source.text(), name) {
        return words(&body).any(|word| JUMPS.contains(&word) || LEAVE.contains(&word));
    }
    let Some(body) = function_body(source, name) else { return false };
    source.calls(body).iter().any(|call| LEAVE.contains(&call.name.as_str()))
}

/// The text of a function-like macro, with its continued lines.
fn macro_body(text: &str, name: &str) -> Option<String> {
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(rest) = line.trim_start().strip_prefix('#') else { continue };
        let Some(rest) = rest.trim_start().strip_prefix("define") else { continue };
        let is_it = rest.trim_start().strip_prefix(name).is_some_and(|rest| rest.starts_with('('));
        if !is_it {
            continue;
        }
        let mut body = rest.to_owned();
        while body.trim_end().ends_with('\\') {
            body.push_str(lines.next().unwrap_or(""));
        }
        return Some(body);
    }
    None
}

/// The body of a function of this file.
fn function_body(source: &Source, name: &str) -> Option<std::ops::Range<usize>> {
    let lines = u32::try_from(source.text().lines().count()).unwrap_or(u32::MAX);
    let functions = (1..=lines).filter_map(|line| source.function_at(Position { line, column: 0 }));
    functions.into_iter().find(|function| function.name == name).map(|f| f.body.clone())
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_comes_back_is_seen_through_macros_and_calls() {
        let text = "#define CHECK(c) do { if (!(c)) \\\n return -1; } while (0)\n\
                    #define LOG(x) puts(x)\n\
                    static void die(void) { pthread_exit(0); }\n\
                    static void fine(void) { puts(\"\"); }\n";
        let source = Source::parse("a.c", text.to_owned()).expect("the sample parses");
        assert!(leaves(&source, "CHECK") && leaves(&source, "die") && leaves(&source, "longjmp"));
        assert!(!leaves(&source, "LOG") && !leaves(&source, "fine") && !leaves(&source, "other"));
    }
}
