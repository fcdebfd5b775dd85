//! Applies a unified diff, as strictly as can be: what a hunk expects must stand at the very line it names.
//!
//! This is the second opinion on diffs that `unravel repair` prints, so it shares no code with what writes them. Like
//! `patch -p1` it drops the first part of each path; unlike it, it never looks for a hunk elsewhere (no fuzz, no offset).
//! Not modelled: files that are created, deleted or renamed, which no repair does, and a missing newline at the end of a
//! file other than by the line that says so.

use std::collections::BTreeMap;

/// What follows the last line of a file without a newline at its end.
const NO_NEWLINE: &str = "\\ No newline at end of file";

/// The texts of all files that the diff changes, by path, after it. `read` gives the text of a path before it.
pub fn apply(
    diff: &str,
    mut read: impl FnMut(&str) -> Result<String, String>,
) -> Result<BTreeMap<String, String>, String> {
    let mut patched = BTreeMap::new();
    let mut lines = diff.lines().peekable();
    while let Some(line) = lines.next() {
        if !line.starts_with("--- ") {
            return Err(format!("expected a line '--- a/…', seen '{line}'"));
        }
        let path = lines.next().and_then(|line| line.strip_prefix("+++ ")).and_then(without_first);
        let path = path.ok_or("expected a line '+++ b/…'")?;
        let before = read(path)?;
        let mut file = Patching::new(&before);
        while let Some(heading) = lines.next_if(|line| line.starts_with("@@ ")) {
            let (from, mut old, mut new) =
                counts(heading).ok_or_else(|| format!("'{heading}' is no heading of a hunk"))?;
            file.copy_up_to(from, old)?;
            while old > 0 || new > 0 {
                let line = lines.next().ok_or("the last hunk is too short")?;
                let (sign, text) = line.split_at_checked(1).unwrap_or((" ", ""));
                let too_long = || format!("the hunk is longer than '{heading}' says");
                if sign == " " || sign == "-" {
                    file.expect(text, sign == " ")?;
                    old = old.checked_sub(1).ok_or_else(too_long)?;
                }
                match sign {
                    " " | "+" => new = new.checked_sub(1).ok_or_else(too_long)?,
                    "-" => {}
                    _ => return Err(format!("'{line}' is no line of a hunk")),
                }
                if sign == "+" {
                    file.add(text);
                }
                if lines.next_if_eq(&NO_NEWLINE).is_some() && sign != "-" {
                    file.ends_without_newline();
                }
            }
        }
        patched.insert(path.to_owned(), file.finish());
    }
    Ok(patched)
}

/// A path of a diff without its first part, and without what may follow a tab.
fn without_first(path: &str) -> Option<&str> {
    let path = path.split('\t').next()?;
    path.split_once('/').map(|(_, rest)| rest)
}

/// Of `@@ -12,3 +12,5 @@`: the first old line, how many old lines, how many new ones.
fn counts(heading: &str) -> Option<(usize, usize, usize)> {
    let mut words = heading.strip_prefix("@@ -")?.split(' ');
    let range = |text: &str| -> Option<(usize, usize)> {
        match text.split_once(',') {
            Some((line, count)) => Some((line.parse().ok()?, count.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        }
    };
    let (from, old) = range(words.next()?)?;
    let (_, new) = range(words.next()?.strip_prefix('+')?)?;
    Some((from, old, new))
}

/// A file half way through.
struct Patching<'a> {
    /// The lines before, with their newlines.
    before: Vec<&'a str>,
    /// How many of them are behind us.
    at: usize,
    after: String,
}

impl<'a> Patching<'a> {
    fn new(before: &'a str) -> Self {
        Patching { before: before.split_inclusive('\n').collect(), at: 0, after: String::new() }
    }

    /// Everything before a hunk's first line. A hunk without old lines names the line it comes after.
    fn copy_up_to(&mut self, from: usize, old: usize) -> Result<(), String> {
        let first = if old == 0 { from } else { from.saturating_sub(1) };
        let between = self.before.get(self.at..first);
        let between = between.ok_or_else(|| format!("no hunk can begin at line {from}"))?;
        self.after.extend(between.iter().copied());
        self.at = first;
        Ok(())
    }

    /// The next line is this one. It is kept or dropped.
    fn expect(&mut self, text: &str, keep: bool) -> Result<(), String> {
        let line = self.before.get(self.at).copied().unwrap_or_default();
        if line.trim_end_matches('\n') != text {
            return Err(format!(
                "line {}: expected '{text}', seen '{}'",
                self.at + 1,
                line.trim_end()
            ));
        }
        if keep {
            self.after.push_str(line);
        }
        self.at += 1;
        Ok(())
    }

    fn add(&mut self, text: &str) {
        self.after.push_str(text);
        self.after.push('\n');
    }

    fn ends_without_newline(&mut self) {
        if self.after.ends_with('\n') {
            self.after.pop();
        }
    }

    fn finish(mut self) -> String {
        self.after.extend(self.before.split_off(self.at));
        self.after
    }
}

#[cfg(test)]
mod tests {
    use super::apply;

    const BEFORE: &str = "one\ntwo\nthree\nfour\nfive\n";

    fn patched(diff: &str) -> Result<String, String> {
        let files = apply(diff, |path| {
            assert_eq!(path, "dir/a.c");
            Ok(BEFORE.to_owned())
        })?;
        Ok(files.into_values().collect())
    }

    #[test]
    fn hunks_change_what_they_say() {
        let diff = "--- a/dir/a.c\n+++ b/dir/a.c\n@@ -1,2 +1,3 @@\n+zero\n one\n two\n@@ -4,2 +5,1 @@\n four\n-five\n";
        assert_eq!(patched(diff), Ok("zero\none\ntwo\nthree\nfour\n".to_owned()));
    }

    #[test]
    fn a_hunk_without_old_lines_adds_after_the_line_it_names() {
        let diff = "--- a/dir/a.c\n+++ b/dir/a.c\n@@ -2,0 +3 @@\n+and a half\n";
        assert_eq!(patched(diff), Ok("one\ntwo\nand a half\nthree\nfour\nfive\n".to_owned()));
    }

    #[test]
    fn a_hunk_that_does_not_fit_is_refused() {
        let head = "--- a/dir/a.c\n+++ b/dir/a.c\n";
        for (hunk, said) in [
            ("@@ -2,1 +2,1 @@\n-three\n+3\n", "expected 'three', seen 'two'"),
            ("@@ -9,1 +9,1 @@\n-nine\n+9\n", "no hunk can begin at line 9"),
            ("@@ -1,1 +1,2 @@\n one\n", "too short"),
            ("@@ -1,1 +1,1 @@\n-one\n-two\n+1\n", "longer than"),
            ("*** 1,2 ****\n", "expected a line '--- a/…'"),
        ] {
            let problem = patched(&format!("{head}{hunk}")).expect_err(hunk);
            assert!(problem.contains(said), "{problem}");
        }
    }
}
