//! Programs of projects, from the projects' own builds: wrapped, and asked for their commands.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use support::{ERROR, FINDING, NOTHING, directory, ended, unravel, write};

const MAIN: &str = "#include <assert.h>\n#include <pthread.h>\n#include \"bank.h\"\n\
    static void *worker(void *x) { deposit(1); return x; }\n\
    int main(void) {\n  pthread_t a, b;\n\
    pthread_create(&a, 0, worker, 0); pthread_create(&b, 0, worker, 0);\n\
    pthread_join(a, 0); pthread_join(b, 0);\n\
    assert(total() == WANTED);\n  return 0;\n}\n";
const BANK: &str = "#include \"bank.h\"\nstatic int balance;\n\
    void deposit(int n) { int b = balance; balance = b + n; }\nint total(void) { return balance; }\n";
/// Has a `main` too, as the libraries of test frameworks do: nobody asks for it.
const OTHER: &str = "int main(void) { return 3; }\nint nobody(void) { return 1; }\n";
const GENERATOR: &str =
    "#include <stdio.h>\nint main(void) { puts(\"#define WANTED 2\"); return 0; }\n";
const MAKEFILE: &str = "CFLAGS = -O2 -Wall -Ilib\n\
    app: src/main.o lib/libbank.a\n\t$(CC) -o $@ src/main.o -Llib -lbank -pthread\n\
    lib/libbank.a: lib/bank.o lib/other.o\n\t$(AR) rcs $@ $^\n\
    src/main.o: src/main.c gen.h\n\t$(CC) $(CFLAGS) -include gen.h -c -o $@ $<\n\
    gen.h: generator\n\t./generator > gen.h\n\
    generator: generator.c\n\t$(CC) generator.c -o generator\n\
    clean:\n\trm -f app generator gen.h src/*.o lib/*.o lib/*.a\n";

/// A program with a generated header, and a static library of which a part is used.
fn project(name: &str) -> PathBuf {
    let directory = directory(name);
    for folder in ["src", "lib", "cache"] {
        std::fs::create_dir_all(directory.join(folder)).expect("a folder");
    }
    write(&directory, "src/main.c", MAIN);
    write(&directory, "lib/bank.h", "void deposit(int n);\nint total(void);\n");
    write(&directory, "lib/bank.c", BANK);
    write(&directory, "lib/other.c", OTHER);
    write(&directory, "generator.c", GENERATOR);
    write(&directory, "Makefile", MAKEFILE);
    directory
}

/// The tool with a cache of the test's own.
fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = unravel(directory, arguments);
    command.env("XDG_CACHE_HOME", directory.join("cache")).env_remove("CC").env_remove("CXX");
    command
}

fn says(directory: &Path, arguments: &[&str], code: i32) -> String {
    ended(&command(directory, arguments).output().expect("unravel runs"), arguments, code)
}

fn complains(directory: &Path, arguments: &[&str]) -> String {
    let output = command(directory, arguments).output().expect("unravel runs");
    ended(&output, arguments, ERROR);
    // Long texts are broken with a bar at the left, wherever this folder's name makes it so.
    let words = String::from_utf8_lossy(&output.stderr).replace('│', " ");
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn make(directory: &Path, target: &str) {
    let mut command = Command::new("make");
    command.arg(target).current_dir(directory).stdout(Stdio::null());
    assert!(command.status().expect("make runs").success());
}

#[test]
fn a_wrapped_build_makes_programs_that_every_command_takes() {
    let directory = project("wrapped");
    let said = says(&directory, &["build", "--", "make"], NOTHING);
    assert!(
        said.contains("  app: 2 sources\n") && said.contains("  generator: 1 source\n"),
        "{said}"
    );
    assert!(said.contains("unravel explain app"), "{said}");
    let native = Command::new(directory.join("app")).status().expect("it is a program");
    assert!(native.success() || native.code().is_none(), "it runs natively: {native}");
    let found = says(&directory, &["find", "app"], FINDING);
    assert!(
        found.contains("assertion 'total() == WANTED' failed") && found.contains("main.c:9"),
        "{found}"
    );
    let replayed = says(&directory, &["replay", "unravel-out/app-assertion-1.trace"], FINDING);
    assert!(replayed.contains("total() == WANTED"), "{replayed}");
    let found = says(&directory, &["find", "--build", ".", "--target", "app", "-q"], FINDING);
    assert!(found.contains("total() == WANTED"), "{found}");
    let which = complains(&directory, &["run", "--build", "."]);
    assert!(which.contains("several executables") && which.contains("generator"), "{which}");
}

#[test]
fn a_build_that_is_done_says_that_nothing_was_kept() {
    let directory = project("done");
    make(&directory, "app");
    let said = complains(&directory, &["build", "--", "make"]);
    assert!(
        said.contains("make linked no program through us") && said.contains("make clean"),
        "{said}"
    );
    let native = complains(&directory, &["run", "app"]);
    assert!(
        native.contains("it is native code") && native.contains("unravel build --"),
        "{native}"
    );
    write(&directory, "src/main.c", "int main(void) { return WANTED }\n");
    let failed = complains(&directory, &["build", "--", "make", "-s"]);
    assert!(failed.contains("make failed"), "{failed}");
}

#[test]
fn what_has_no_bitcode_is_named() {
    let directory = directory("named");
    write(
        &directory,
        "fast.s",
        ".globl fast\nfast: movl $1, %eax\n ret\n.section .note.GNU-stack,\"\",@progbits\n",
    );
    write(&directory, "old.c", "int old(void) { return 2; }\n");
    let nested = "int main(void) { int f(void) { return 0; } return f(); }\n";
    write(&directory, "nested.c", nested);
    write(
        &directory,
        "main.c",
        "int fast(void); int old(void);\nint main(void) { return fast() + old() - 3; }\n",
    );
    let gcc = Command::new("gcc").args(["-c", "old.c"]).current_dir(&directory).status();
    assert!(gcc.expect("gcc is there").success());
    let line = "gcc main.c fast.s old.o -o app && gcc nested.c -o nested";
    let output = command(&directory, &["build", "--", "sh", "-c", line]).output().expect("runs");
    let said = ended(&output, &["build"], NOTHING);
    let noted = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("app: 1 source, 2 without bitcode"), "{said}");
    assert!(
        noted.contains("fast.s: it is assembler") && noted.contains("nested.c: clang does not"),
        "{noted}"
    );
    let output = command(&directory, &["run", "app"]).output().expect("runs");
    let noted = String::from_utf8_lossy(&output.stderr);
    assert!(noted.contains("old.o: it was made without `unravel build`"), "{noted}");
    let refused = complains(&directory, &["run", "nested"]);
    assert!(refused.contains("has no bitcode") && refused.contains("nested.c"), "{refused}");
}

#[test]
fn c_plus_plus_with_a_shared_library_of_the_project() {
    let directory = directory("shared");
    write(&directory, "counter.h", "#pragma once\nstruct Counter { int n = 0; void add(); };\n");
    write(&directory, "counter.cc", "#include \"counter.h\"\nvoid Counter::add() { n = n + 1; }\n");
    let main = "#include <thread>\n#include <cassert>\n#include \"counter.h\"\nint main() {\n  Counter c;\n\
        std::thread t([&] { c.add(); });\n  c.add();\n  t.join();\n  assert(c.n == 2);\n}\n";
    write(&directory, "main.cc", main);
    let line = "g++ -fPIC -shared -o libcounter.so counter.cc -flto && \
        g++ -O2 -flto -pthread main.cc -L. -lcounter -Wl,-rpath,'$ORIGIN' -o app && ./app";
    says(&directory, &["build", "--", "sh", "-c", line], NOTHING);
    let found = says(&directory, &["find", "app", "-q"], FINDING);
    assert!(found.contains("c.n == 2") && found.contains("main.cc:9"), "{found}");
}

#[test]
fn make_is_asked_what_a_program_is_made_of() {
    let directory = project("asked");
    let before = complains(&directory, &["run", "--build", ".", "--target", "app"]);
    assert!(before.contains("main.c"), "what is generated is not there: {before}");
    make(&directory, "app");
    let found = says(&directory, &["find", "--build", ".", "--target", "app"], FINDING);
    assert!(found.contains("total() == WANTED") && found.contains("main.c:9"), "{found}");
    let replayed = says(&directory, &["replay", "unravel-out/app-assertion-1.trace"], FINDING);
    assert!(replayed.contains("total() == WANTED"), "{replayed}");
    let unknown = complains(&directory, &["run", "--build", ".", "--target", "nobody"]);
    assert!(unknown.contains("nobody"), "{unknown}");
    let nothing = complains(&directory, &["run", "--build", "lib", "--target", "app"]);
    assert!(nothing.contains("neither build.ninja nor a Makefile"), "{nothing}");
}

#[test]
fn a_compilation_database_is_found_in_a_build_folder() {
    let directory = directory("database");
    let database = |folder: &str, value: u32| {
        std::fs::create_dir_all(directory.join(folder)).expect("a folder");
        let text = format!(
            "[{{\"directory\": \"{0}\", \"file\": \"{0}/main.c\", \"command\": \"cc -DVALUE={value} -c main.c\"}}]",
            directory.display()
        );
        write(&directory, &format!("{folder}/compile_commands.json"), &text);
    };
    write(
        &directory,
        "main.c",
        "#include <stdio.h>\nint main(void) { printf(\"value %d\\n\", VALUE); return 0; }\n",
    );
    database("build-debug", 3);
    database("elsewhere", 7);
    assert!(says(&directory, &["run", "main.c"], NOTHING).contains("value 3"));
    assert!(says(&directory, &["run", "-p", "elsewhere", "main.c"], NOTHING).contains("value 7"));
    let output = ["run", "-p", "elsewhere", "main.c", "-o", "t.trace"];
    says(&directory, &output, NOTHING);
    assert!(says(&directory, &["replay", "t.trace"], NOTHING).contains("value 7"));
}
