//! The tasks that are cargo's: `check`, `test`, `bench`, `fuzz`.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use xtask::corpus::{self, Depth};
use xtask::error::Error;
use xtask::tally::Tally;
use xtask::workspace::{Profile, announce, build_tool, cargo, name, status};

/// Damaged files that a long fuzzing tries. The plain suite leaves it to the test, which tries fewer.
pub const LONG_FUZZ: u64 = 2_000_000;
/// Random programs of each kind that a full run compares on both engines, besides all others there are.
const MANY_COMPARED: u64 = 1_000;

pub fn check() -> Result<bool, Error> {
    announce("rustfmt");
    let formatted = status(&mut cargo(&["fmt", "--all", "--check"]))?.success();
    announce("clippy");
    let flags =
        ["clippy", "--quiet", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"];
    let clean = status(&mut cargo(&flags))?.success();
    if !formatted {
        println!("rustfmt would change something: cargo fmt --all");
    }
    if !clean {
        println!("clippy is not content");
    }
    Ok(formatted && clean)
}

/// Everything. The last line counts tests and corpus cases together, those of both profiles if there are two.
pub fn test(depth: Depth) -> Result<bool, Error> {
    let mut tally = test_in(Profile::Release, depth)?;
    if depth == Depth::Full {
        // What overflows or breaks an assertion shows without the long searches: there is a release's worth of them already.
        tally += test_in(Profile::Checked, Depth::Plain)?;
    }
    println!("{tally}");
    Ok(tally.is_good())
}

/// The tests and the corpus, all compiled in this profile.
fn test_in(profile: Profile, depth: Depth) -> Result<Tally, Error> {
    let name = profile.name();
    announce(&format!("building ({name})"));
    // Before the tests: those of the benchmarks want the tool to be there.
    let tool = build_tool(profile)?;
    announce(&format!("unit, property and fuzz tests ({name})"));
    let flags = ["test", "--quiet", "--profile", name, "--locked", "--workspace", "--no-fail-fast"];
    let mut command = cargo(&flags);
    if depth == Depth::Full {
        command.env("UNRAVEL_FUZZ_ITERS", LONG_FUZZ.to_string());
        command.env("UNRAVEL_ENGINES_PROGRAMS", MANY_COMPARED.to_string());
    }
    let mut tally = run_tests(&mut command)?;
    if depth == Depth::Full {
        announce("what installs more, or takes long");
        for (package, test) in [("unravel", "coop_full"), ("unravel-report", "browser")] {
            let flags = ["test", "--quiet", "--profile", name, "--locked", "--package", package];
            let mut command = cargo(&[&flags[..], &["--test", test, "--", "--ignored"]].concat());
            tally += run_tests(&mut command)?;
        }
    }
    tally += corpus::run(&tool, None, depth)?;
    Ok(tally)
}

/// The corpus alone, or a part of it.
pub fn corpus(filter: Option<&str>, depth: Depth, profile: Profile) -> Result<bool, Error> {
    let tally = corpus::run(&build_tool(profile)?, filter, depth)?;
    println!("{tally}");
    Ok(tally.is_good())
}

/// Becomes the benchmarks, so that output, exit code and signals are theirs. Returns only if that cannot be done.
pub fn bench(arguments: &[OsString]) -> Error {
    let flags = ["run", "--quiet", "--release", "--locked", "--package", "unravel-bench", "--"];
    let mut command = cargo(&flags);
    // Paths among the arguments are those of who typed them.
    command.args(arguments).current_dir(".");
    Error::Start { program: name(&command), source: command.exec() }
}

pub fn fuzz(iterations: u64, seed: Option<u64>) -> Result<bool, Error> {
    announce(&format!("{iterations} damaged trace files"));
    let flags = [
        "test",
        "--quiet",
        "--release",
        "--locked",
        "--package",
        "unravel-files",
        "--test",
        "file",
        "fuzz",
    ];
    let mut command = cargo(&flags);
    command.env("UNRAVEL_FUZZ_ITERS", iterations.to_string());
    if let Some(seed) = seed {
        command.env("UNRAVEL_FUZZ_SEED", seed.to_string());
    }
    let tally = run_tests(&mut command)?;
    println!("{tally}");
    Ok(tally.is_good())
}

/// Runs a `cargo test`, passing on what it prints and adding up its results.
fn run_tests(command: &mut Command) -> Result<Tally, Error> {
    let child = command.stdout(Stdio::piped()).spawn();
    let mut child = child.map_err(|source| Error::Start { program: name(command), source })?;
    let mut tally = Tally::default();
    let output: Box<dyn Read> = match child.stdout.take() {
        Some(output) => Box::new(output),
        None => Box::new(std::io::empty()),
    };
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        match Tally::from_libtest(&line) {
            Some(result) => tally += result,
            None if is_progress(&line) => {}
            None => println!("{line}"),
        }
    }
    let status =
        child.wait().map_err(|source| Error::Start { program: "cargo test".into(), source })?;
    if !status.success() && tally.failed == 0 {
        // It did not compile, or a test took its process down: no result line, but a failure.
        tally.failed += 1;
    }
    Ok(tally)
}

/// Dots, counts and headings of `cargo test --quiet`; what is left are the reports of failing tests.
fn is_progress(line: &str) -> bool {
    line.starts_with("running ") || line.chars().all(|c| ".iF/ ".contains(c) || c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::is_progress;

    #[test]
    fn reports_of_failures_are_passed_on() {
        for line in ["", "running 12 tests", "....i..F.", "........ 88/120"] {
            assert!(is_progress(line), "{line}");
        }
        for line in ["failures:", "---- file::fuzz stdout ----", "    left: 1"] {
            assert!(!is_progress(line), "{line}");
        }
    }
}
