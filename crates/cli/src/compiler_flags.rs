//! Flags of compilers among ours, so that a compiler's command line can be pasted: `-O2 -Wall -pthread -std=c11`.

use std::ffi::OsString;

/// How such flags begin. None of ours begins so.
const BEGINNINGS: [&str; 12] = [
    "-O",
    "-g",
    "-W",
    "-f",
    "-m",
    "-std=",
    "-pthread",
    "-L",
    "-U",
    "-isystem",
    "-include",
    "-pedantic",
];
/// Whole flags.
const FLAGS: [&str; 3] = ["-w", "-ansi", "-c"];
/// Of those, the ones whose value may be the next argument.
const WITH_VALUE: [&str; 4] = ["-L", "-U", "-isystem", "-include"];

/// The arguments with flags of compilers written as `--cflag=…`. What follows `--` is the program's, and what follows
/// `--cflag` is one already.
pub fn accept(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut accepted: Vec<OsString> = Vec::new();
    let mut ours = true;
    // Whether the argument belongs to the one before it: as a value of ours, or as one of a compiler's flag.
    let (mut is_value, mut is_half) = (false, false);
    for argument in arguments {
        ours &= argument != "--";
        let text = argument.to_str().unwrap_or_default();
        let is_flag = FLAGS.contains(&text) || BEGINNINGS.iter().any(|b| text.starts_with(b));
        let half = std::mem::take(&mut is_half);
        let value = std::mem::replace(&mut is_value, text == "--cflag");
        // What only compiles makes no difference here.
        if ours && !value && text == "-c" {
            continue;
        }
        is_half = ours && !value && !half && WITH_VALUE.contains(&text);
        accepted.push(if ours && !value && (is_flag || half) {
            format!("--cflag={text}").into()
        } else {
            argument
        });
    }
    accepted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(line: &str) -> String {
        let accepted = accept(line.split(' ').map(OsString::from));
        accepted.join(" ".as_ref()).into_string().expect("text")
    }

    #[test]
    fn compilers_flags_are_taken_for_what_they_are() {
        assert_eq!(
            accepted("unravel explain -O2 -pthread a.c -Wall -std=c11 -I inc -q"),
            "unravel explain --cflag=-O2 --cflag=-pthread a.c --cflag=-Wall --cflag=-std=c11 -I inc -q"
        );
        assert_eq!(
            accepted("unravel explain -isystem inc -w -c a.c -L lib -lz"),
            "unravel explain --cflag=-isystem --cflag=inc --cflag=-w a.c --cflag=-L --cflag=lib -lz"
        );
        assert_eq!(accepted("unravel find --cflag -O2 a.c"), "unravel find --cflag -O2 a.c");
        assert_eq!(accepted("unravel run a.c -- -f -g"), "unravel run a.c -- -f -g");
    }
}
