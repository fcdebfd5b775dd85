//! The VM means what the processor means: programs print many computed values, and what they print under
//! `unravel run` is what their native build prints. Each is compared as unravel compiles it and from bitcode
//! that clang optimised; programs with threads, whose output does not depend on the schedule, also under
//! several strategies. A search with the native output as the only right one checks that every run finds the
//! process as the first one did.
//!
//! A program is a file in `semantics/`; comments at its top say what else it needs:
//! `// args:`, `// stdin:` (with `\n`), `// link:` (libraries), all optional.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// What a run of a program shows.
#[derive(Debug, PartialEq)]
struct Shown {
    output: String,
    /// The exit code, or what happened instead.
    end: String,
}

struct Case {
    source: PathBuf,
    directory: PathBuf,
    text: String,
}

impl Case {
    fn new(name: &str) -> Case {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/semantics").join(name);
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("semantics").join(name);
        let text = std::fs::read_to_string(&source).expect("the program is there");
        let case = Case { source, directory, text };
        let input = case.words_after("// stdin: ").join(" ").replace("\\n", "\n");
        std::fs::create_dir_all(&case.directory).expect("a directory for the test");
        std::fs::write(case.directory.join("input"), input).expect("the input is written");
        case
    }

    /// What a comment at the top of the program says.
    fn words_after(&self, key: &str) -> Vec<&str> {
        let line = self.text.lines().take(5).find_map(|line| line.strip_prefix(key));
        line.map_or(Vec::new(), |line| line.split(' ').collect())
    }

    fn is_cxx(&self) -> bool {
        self.source.extension().is_some_and(|e| e == "cpp")
    }

    fn standard(&self) -> &'static str {
        if self.is_cxx() { "-std=c++20" } else { "-std=gnu2x" }
    }

    fn has_threads(&self) -> bool {
        ["<pthread.h>", "<threads.h>", "<thread>"].iter().any(|header| self.text.contains(header))
    }

    fn compile(&self, flags: &[&str], to: &str) -> PathBuf {
        let target = self.directory.join(to);
        let mut clang = Command::new(if self.is_cxx() { "clang++-19" } else { "clang-19" });
        clang.args([self.standard(), "-w", "-pthread"]).args(flags);
        clang.arg(&self.source).arg("-o").arg(&target);
        if !flags.contains(&"-c") {
            clang.args(self.words_after("// link: ")).arg("-lm");
        }
        assert!(clang.status().expect("clang-19 is installed").success(), "{clang:?} failed");
        target
    }

    /// Runs a command in a directory of its own, with the program's input.
    fn execute(&self, command: &mut Command, name: &str) -> Output {
        let place = self.directory.join(name);
        std::fs::create_dir_all(&place).expect("a directory for the run");
        let input = std::fs::File::open(self.directory.join("input")).expect("the input is there");
        command.current_dir(place).stdin(Stdio::from(input));
        command.output().unwrap_or_else(|e| panic!("{command:?} does not start: {e}"))
    }

    /// What the native build prints; `redirect` is for the shell: `2>&1`.
    fn native(&self, redirect: &str) -> Shown {
        let binary = self.compile(&["-O0"], "native");
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("exec \"$0\" \"$@\" {redirect}")).arg(binary);
        command.args(self.words_after("// args: "));
        let output = self.execute(&mut command, "in-native");
        let code = output.status.code().expect("the program exits natively");
        Shown { output: text(&output.stdout), end: format!("exited with {code}") }
    }

    fn interpreted(&self, program: &Path, flags: &[&str], name: &str) -> Shown {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unravel"));
        command.args(["run", "--json"]).arg(program).args(flags);
        command.args(self.words_after("// link: "));
        command.arg("--").args(self.words_after("// args: "));
        let output = self.execute(&mut command, name);
        let printed = text(&output.stderr);
        let Ok(json) = serde_json::from_slice::<Value>(&output.stdout) else {
            return Shown { output: printed, end: text(&output.stdout) };
        };
        let outcome = &json["outcome"];
        let end = match (outcome["kind"].as_str(), output.status.code()) {
            (Some("exited"), Some(0)) => format!("exited with {}", outcome["code"]),
            (_, code) => format!("{outcome} (exit code {code:?})"),
        };
        Shown { output: printed, end }
    }
}

impl Case {
    /// Many runs in one process: each finds the process as the first one did, and prints the same.
    fn search(&self, expected: &Shown) {
        std::fs::write(self.directory.join("expected"), &expected.output)
            .expect("a file is written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_unravel"));
        command.args(["find", "--schedules", "40", "--jobs", "1"]).arg(&self.source);
        command.args(["--expect-output", "../expected", "--cflag", self.standard()]);
        command.args(self.words_after("// link: "));
        command.arg("--").args(self.words_after("// args: "));
        let output = self.execute(&mut command, "in-search");
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{}: {said}", self.source.display());
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Shows the first line that differs, not two hundred that do not.
fn assert_same(expected: &Shown, found: &Shown, how: &str) {
    let pairs = expected.output.lines().zip(found.output.lines());
    if let Some((number, (left, right))) = pairs.enumerate().find(|(_, (l, r))| l != r) {
        panic!("{how}, line {}:\n  native: {left}\n  VM:     {right}\n  {}", number + 1, found.end);
    }
    assert_eq!(expected.end, found.end, "{how}");
    assert_eq!(expected.output, found.output, "{how}");
}

fn check(name: &str) {
    let case = Case::new(name);
    // Beside JSON the machine prints both streams to one.
    let expected = case.native("2>&1");
    let standard = ["--cflag", case.standard()];
    let found = case.interpreted(&case.source, &standard, "in-vm");
    assert_same(&expected, &found, name);
    // Names of variables do not matter here, and they take long in C++.
    let debug = if case.is_cxx() { "-g1" } else { "-g" };
    let optimised = case.compile(&["-O1", debug, "-emit-llvm", "-c"], "optimised.bc");
    let found = case.interpreted(&optimised, &[], "in-vm-optimised");
    assert_same(&expected, &found, &format!("{name} with -O1"));
    case.search(&case.native(""));
    if !case.has_threads() {
        return;
    }
    for (strategy, seed) in [("round-robin", "1"), ("random", "1"), ("random", "2"), ("pct", "3")] {
        let flags = [&standard[..], &["--strategy", strategy, "--seed", seed]].concat();
        let found = case.interpreted(&case.source, &flags, "in-vm");
        assert_same(&expected, &found, &format!("{name} with {strategy}, seed {seed}"));
    }
}

macro_rules! programs {
    ($($test:ident: $name:literal,)*) => {
        $(
            #[test]
            fn $test() {
                check($name);
            }
        )*

        #[test]
        fn every_program_is_tested() {
            let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/semantics");
            for entry in std::fs::read_dir(directory).expect("the programs are there") {
                let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
                assert!([$($name),*].contains(&name.as_str()), "no test runs {name}");
            }
        }
    };
}

programs! {
    // The slow ones first.
    containers: "containers.cpp",
    streams: "streams.cpp",
    threads: "threads.cpp",
    lifetimes: "lifetimes.cpp",
    deep_calls: "deep_calls.c",
    deep_throws: "deep_throws.cpp",
    exceptions: "exceptions.cpp",
    classes: "classes.cpp",
    atomics: "atomics.c",
    c11_threads: "c11_threads.c",
    calls: "calls.c",
    control: "control.c",
    environment: "environment.c",
    floats: "floats.c",
    globals: "globals.c",
    integers: "integers.c",
    jumps: "jumps.c",
    layout: "layout.c",
    math: "math.c",
    native_calls: "native_calls.c",
    pthread_leave: "pthread_leave.cpp",
    pthread_life: "pthread_life.c",
    pthread_locks: "pthread_locks.c",
    pthread_reuse: "pthread_reuse.c",
    pthread_robust: "pthread_robust.c",
    terminates: "terminates.cpp",
    thread_ends: "thread_ends.cpp",
    pthread_waits: "pthread_waits.c",
    random: "random.c",
    sse: "sse.c",
    stdio: "stdio.c",
    strings: "strings.c",
    varargs: "varargs.c",
    vectors: "vectors.c",
}
