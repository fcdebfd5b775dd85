//! Every way a run can end, and every way a command can: kind, line, words and exit code.
//!
//! A program in `outcomes/` says in comments at its top how it ends: `// kind:`, `// says:` (words of the
//! outcome), `// flags:`, `// command:` (default: `run`). The lines it may be blamed for end in `// HERE`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const NOTHING: i32 = 0;
const FINDING: i32 = 1;
const ERROR: i32 = 2;
const INCONCLUSIVE: i32 = 3;

/// A directory of one test's own.
fn directory(test: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outcomes").join(test);
    std::fs::create_dir_all(&directory).expect("a directory for the test");
    directory
}

fn unravel(test: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unravel"));
    command.args(arguments).current_dir(directory(test)).stdin(Stdio::null());
    command.output().expect("unravel runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Writes a file into the test's directory and returns its name.
fn write<'n>(test: &str, name: &'n str, content: &str) -> &'n str {
    std::fs::write(directory(test).join(name), content).expect("the file is written");
    name
}

/// What a program at hand says about its end.
struct Expected {
    kind: String,
    says: Option<String>,
    command: String,
    flags: Vec<String>,
    lines: Vec<u64>,
}

impl Expected {
    fn read(path: &Path) -> Expected {
        let source = std::fs::read_to_string(path).expect("the program is there");
        let get = |key: &str| {
            let prefix = format!("// {key}: ");
            source.lines().take(4).find_map(|l| l.strip_prefix(&prefix)).map(str::to_owned)
        };
        let blamed = source.lines().zip(1..).filter(|(line, _)| line.ends_with("// HERE"));
        Expected {
            kind: get("kind").expect("the program says its kind"),
            says: get("says"),
            command: get("command").unwrap_or("run".into()),
            flags: get("flags").map_or(Vec::new(), |f| f.split(' ').map(str::to_owned).collect()),
            lines: blamed.map(|(_, number)| number).collect(),
        }
    }

    fn exit_code(&self) -> i32 {
        match self.kind.as_str() {
            "inconclusive" | "discarded" => INCONCLUSIVE,
            _ => FINDING,
        }
    }
}

/// The line that an outcome blames: of `"file.c:12"` or of a place.
fn line_of(at: &Value) -> Option<u64> {
    let text = at.as_str().and_then(|text| text.rsplit(':').next()?.parse().ok());
    text.or_else(|| at["line"].as_u64())
}

fn check(path: &Path) -> Result<(), String> {
    let expected = Expected::read(path);
    let name = path.file_name().expect("a file").to_string_lossy().into_owned();
    let program = path.to_str().expect("a path in UTF-8");
    let mut arguments = vec![expected.command.as_str(), "--json", program];
    arguments.extend(expected.flags.iter().map(String::as_str));
    let output = unravel(&name, &arguments);
    let shown = text(&output.stdout);
    let json = shown.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
    let Some(json) = json else {
        return Err(format!("{name}: no JSON in {shown:?}, {}", text(&output.stderr)));
    };
    let outcome = match expected.command.as_str() {
        "find" => &json["findings"][0]["run"]["outcome"],
        _ => &json["outcome"],
    };
    let line = line_of(&outcome["at"]);
    let complaint = if outcome["kind"] != expected.kind.as_str() {
        format!("not {}", expected.kind)
    } else if output.status.code() != Some(expected.exit_code()) {
        format!("exit code {:?}, not {}", output.status.code(), expected.exit_code())
    } else if !expected.lines.is_empty() && !line.is_some_and(|l| expected.lines.contains(&l)) {
        format!("line {line:?}, not {:?}", expected.lines)
    } else if let Some(says) = expected.says.filter(|says| !outcome.to_string().contains(says)) {
        format!("does not say '{says}'")
    } else {
        return Ok(());
    };
    Err(format!("{name}: {complaint}: {outcome}"))
}

#[test]
fn every_way_a_run_can_end() {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outcomes");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(programs)
        .expect("the programs are there")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    assert!(paths.len() >= 45, "only {} programs", paths.len());
    let wrong: Vec<String> = paths.iter().filter_map(|path| check(path).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const HELLO: &str =
    "#include <stdio.h>\nint main(void) { puts(\"hello\"); puts(\"world\"); return 3; }\n";

/// Runs a command that ends with this exit code, and returns what it says.
fn says(test: &str, arguments: &[&str], code: i32) -> String {
    let output = unravel(test, arguments);
    let all = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {all}");
    assert!(!all.contains("panicked"), "{all}");
    all
}

#[test]
fn exit_codes_of_the_program_are_its_own_business() {
    let program = write("exit-code", "hello.c", HELLO);
    let all = says("exit-code", &["run", "--json", program], NOTHING);
    assert!(all.contains(r#""outcome":{"code":3,"kind":"exited"}"#), "{all}");
    says("exit-code", &["find", program], NOTHING);
    let all = says("exit-code", &["find", program, "--fail-on-exit"], FINDING);
    assert!(all.contains("exited with code 3") && all.contains("unravel replay"), "{all}");
}

#[test]
fn output_can_be_expected() {
    let test = "expect-output";
    let program = write(test, "hello.c", HELLO);
    let right = write(test, "right", "hello\nworld\n");
    let wrong = write(test, "wrong", "hello\nthere\n");
    let shorter = write(test, "shorter", "hello\n");
    let all = says(test, &["run", program, "--expect-output", right], NOTHING);
    assert!(all.contains("hello\nworld\n"), "the output is shown: {all}");
    let all = says(test, &["run", program, "--expect-output", wrong], FINDING);
    assert!(all.contains("output line 2: expected 'there', got 'world'"), "{all}");
    let all = says(test, &["find", program, "--expect-output", shorter], FINDING);
    assert!(all.contains("output line 2: expected nothing, got 'world'"), "{all}");
    let all = says(test, &["run", program, "--expect-output", "missing"], ERROR);
    assert!(all.contains("cannot read missing"), "{all}");
}

#[test]
fn a_command_can_judge() {
    let test = "check";
    let program = write(test, "hello.c", HELLO);
    let judge = |command, code| says(test, &["run", program, "--check", command], code);
    judge("grep -q world $UNRAVEL_STDOUT && test $UNRAVEL_EXIT = 3", NOTHING);
    let all = judge("grep -q nobody $UNRAVEL_STDOUT", FINDING);
    assert!(all.contains("check: the check 'grep -q nobody $UNRAVEL_STDOUT' says no"), "{all}");
    judge("no-such-command-at-all", FINDING);
    says(test, &["find", program, "--check", "test $UNRAVEL_EXIT = 0"], FINDING);
}

#[test]
fn a_source_that_does_not_compile() {
    let test = "broken";
    let program = write(test, "broken.c", "int main(void) { return x; }\n");
    for command in ["run", "find", "build"] {
        let all = says(test, &[command, program], ERROR);
        assert!(all.contains("broken.c:1:25: error: use of undeclared identifier 'x'"), "{all}");
        assert!(all.contains("the program does not compile"), "{all}");
    }
}

#[test]
fn a_program_that_is_not_there() {
    for command in ["run", "find", "build"] {
        let all = says("missing", &[command, "missing.c"], ERROR);
        assert_eq!(all.matches("there is no file").count(), 1, "one message: {all}");
    }
    let program = write("missing", "nothing.c", "int nothing;\n");
    let all = says("missing", &["run", program], ERROR);
    assert_eq!(all.matches("has no function main").count(), 1, "one message: {all}");
    let program = write("missing", "hello.c", HELLO);
    let all = says("missing", &["run", program, "-l", "nosuchlibrary"], ERROR);
    assert_eq!(all.matches("cannot load library 'nosuchlibrary'").count(), 1, "{all}");
}

#[test]
fn a_program_without_threads() {
    let program = write("no-threads", "hello.c", HELLO);
    let all = says("no-threads", &["find", program], NOTHING);
    assert!(all.contains("no failure found") && all.contains("created no thread"), "{all}");
}

#[test]
fn a_program_that_reads_a_closed_standard_input() {
    let test = "closed-stdin";
    let source = "#include <stdio.h>\n\
        int main(void) { int x = 7; int n = scanf(\"%d\", &x); printf(\"%d %d %d\\n\", n, x, feof(stdin) != 0); }\n";
    write(test, "reads.c", source);
    for command in ["run", "find"] {
        let line = format!("\"$0\" {command} reads.c <&-");
        let mut shell = Command::new("sh");
        shell.args(["-c", &line, env!("CARGO_BIN_EXE_unravel")]).current_dir(directory(test));
        let output = shell.output().expect("the shell runs");
        let all = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(NOTHING), "{all}");
        assert!(command == "find" || all == "-1 7 1\n", "{all}");
    }
}

#[test]
fn a_hundred_megabytes_of_garbage_are_no_trace() {
    let test = "garbage";
    let path = directory(test).join("garbage.trace");
    // The first half is what a trace begins with, so that more than the first bytes is looked at.
    let program = write(test, "hello.c", HELLO);
    says(test, &["run", program, "-o", "good.trace"], NOTHING);
    let mut bytes = std::fs::read(directory(test).join("good.trace")).expect("a trace");
    for start in [0, bytes.len() / 2] {
        bytes.truncate(start);
        let mut word = 0x9e37_79b9_7f4a_7c15_u64;
        while bytes.len() < 100_000_000 {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            bytes.extend(word.to_le_bytes());
        }
        std::fs::write(&path, &bytes).expect("the garbage is written");
        for command in [&["replay"][..], &["trace", "show"]] {
            let before = std::time::Instant::now();
            let all = says(test, &[command, &["garbage.trace"]].concat(), ERROR);
            assert_eq!(all.matches("garbage.trace").count(), 1, "one message: {all}");
            assert!(before.elapsed().as_secs() < 5, "it takes {:?}", before.elapsed());
        }
    }
    std::fs::remove_file(path).expect("the garbage is there");
    let all = says(test, &["replay", "nowhere.trace"], ERROR);
    assert!(all.contains("there is no trace file nowhere.trace"), "{all}");
}

#[test]
fn a_run_is_the_same_twice() {
    let test = "twice";
    // Whatever differs from process to process: its number, random numbers, addresses, the time.
    let source = r#"
        #include <cstdio>
        #include <ctime>
        #include <random>
        #include <thread>
        #include <sys/random.h>
        #include <unistd.h>
        int shared[6];
        FILE *file;
        int main() {
            std::thread thread([] {
                file = fopen("/dev/null", "w");
                shared[0] = (int)std::random_device{}();
                getrandom(&shared[1], sizeof(int), 0);
                shared[2] = (int)getpid();
                shared[3] = (int)time(nullptr);
                shared[4] = (int)(long)&file;
            });
            file = stdout;
            shared[5] = gettid() + (int)clock();
            thread.join();
            for (int number : shared) std::printf("%d ", number);
            std::printf("%p\n", (void *)file);
        }"#;
    let program = write(test, "twice.cpp", source);
    let first = says(test, &["run", program, "-o", "first.trace"], NOTHING);
    // Our own memory is another one with these: what libraries allocate for the program is not.
    let more = ["-D", "AN_UNUSED_NAME_THAT_IS_LONG_ENOUGH_TO_MATTER", "-I", "nowhere/that/exists"];
    let second = says(test, &["run", program, "-o", "second.trace"], NOTHING);
    let third = says(test, &[&["run", program, "-o", "third.trace"][..], &more].concat(), NOTHING);
    assert_eq!(first, second);
    assert_eq!(first, third);
    let read = |name| std::fs::read(directory(test).join(name)).expect("a trace");
    assert!(read("first.trace") == read("second.trace"), "the traces differ");
}
