//! Flags of compilers among ours, so that a compiler's command line can be pasted: `-O2 -Wall -pthread -std=c11`.

use std::ffi::OsString;

/// How such flags begin. None of ours begins so.
const BEGINNINGS: [&str; 9] = ["-O", "-g", "-W", "-f", "-m", "-std=", "-pthread", "-L", "-isystem"];

/// The arguments with flags of compilers written as `--cflag=…`. What follows `--` is the program's, and what follows
/// `--cflag` is one already.
pub fn accept(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut accepted = Vec::new();
    let mut ours = true;
    let mut is_value = false;
    for argument in arguments {
        ours &= argument != "--";
        let is_flag = |text: &str| BEGINNINGS.iter().any(|beginning| text.starts_with(beginning));
        let follows = std::mem::replace(&mut is_value, argument == "--cflag");
        accepted.push(match argument.to_str() {
            Some(text) if ours && is_flag(text) && !follows => format!("--cflag={text}").into(),
            _ => argument,
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
        assert_eq!(accepted("unravel find --cflag -O2 a.c"), "unravel find --cflag -O2 a.c");
        assert_eq!(accepted("unravel run a.c -- -f -g"), "unravel run a.c -- -f -g");
    }
}
