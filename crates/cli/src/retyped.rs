//! A program and its flags as a user would type them again, for commands that reports and scripts show.

use std::path::PathBuf;

use unravel_program::build::DATABASE_FLAG;
use unravel_results::shell_word;

use crate::flags::ProgramFlags;

/// What follows the name of a command and its own flags: `--races -Iinclude bank.c -- 3`. `compile` are the flags of the
/// compiler.
pub fn program(compile: &[String], flags: &ProgramFlags) -> String {
    let mut words: Vec<String> = compile.iter().map(|flag| compiler_flag(flag)).collect();
    let (input, rules) = (&flags.input, &flags.rules);
    let switches = [
        (rules.races, "--races"),
        (rules.fail_on_exit, "--fail-on-exit"),
        (input.uninit, "--uninit"),
        (input.lenient_locks, "--lenient-locks"),
    ];
    words.extend(switches.iter().filter(|(on, _)| *on).map(|(_, name)| (*name).to_owned()));
    let file = |path: &PathBuf| shell_word(&path.display().to_string());
    let output = rules.expect_output.as_ref();
    words.extend(output.map(|path| format!("--expect-output {}", file(path))));
    words.extend(rules.check.as_ref().map(|check| format!("--check {}", shell_word(check))));
    words.extend(input.stdin.as_ref().map(|path| format!("--stdin {}", file(path))));
    words.extend(input.max_steps.map(|steps| format!("--max-steps {steps}")));
    words.extend(input.malloc_fails.map(|fails| format!("--malloc-fails {fails}")));
    words.extend(input.stub.iter().map(|name| format!("--stub {}", shell_word(name))));
    words.extend(input.nondet_seed.map(|seed| format!("--nondet-seed {seed}")));
    words.extend(input.nondet.as_ref().map(|values| {
        let values: Vec<String> = values.iter().map(i64::to_string).collect();
        format!("--nondet={}", values.join(","))
    }));
    words.extend(flags.program.iter().map(file));
    if !flags.args.is_empty() {
        words.push("--".to_owned());
        words.extend(flags.args.iter().map(|arg| shell_word(arg)));
    }
    words.join(" ")
}

/// The flags that have a name of their own here go by it.
fn compiler_flag(flag: &str) -> String {
    let is_ours = ["-I", "-D", "-l", DATABASE_FLAG]
        .iter()
        .any(|name| flag.starts_with(name) && flag.len() > name.len());
    let word = shell_word(flag);
    if is_ours { word } else { format!("--cflag={word}") }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::flags::{Cli, Command};

    #[test]
    fn what_was_typed_can_be_typed_again() {
        let typed = [
            "unravel",
            "repair",
            "-I",
            "inc",
            "--cflag=-std=c11",
            "--races",
            "--stdin",
            "a file",
            "--nondet=1,-2",
            "x.c",
            "y.c",
            "--",
            "-n",
            "it's",
        ];
        let parsed = |words: &[&str]| match Cli::try_parse_from(words).expect("it parses").command {
            Command::Repair(flags) => flags.program,
            other => panic!("{other:?}"),
        };
        let flags = parsed(&typed);
        let again = program(&flags.compile.to_flags(), &flags);
        let expected = "-Iinc --cflag=-std=c11 --races --stdin 'a file' --nondet=1,-2 x.c y.c -- -n 'it'\\''s'";
        assert_eq!(again, expected);
        let unquoted = again.replace("'it'\\''s'", "it's").replace("'a file'", "a_file");
        let words = ["unravel", "repair"].into_iter().chain(unquoted.split(' '));
        let second = parsed(&words.collect::<Vec<_>>());
        assert_eq!(second.compile.to_flags(), flags.compile.to_flags());
        assert_eq!((second.program, second.args), (flags.program, flags.args));
    }
}
