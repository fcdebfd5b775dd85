//! Whatever the tool is given, it ends with a message and an exit code: never with a panic, a signal, or silence.

mod support;

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use support::{ERROR, FINDING, INCONCLUSIVE, NOTHING, directory, says, unravel, write};

const PROGRAM: &str = "#include <assert.h>\n#include <pthread.h>\n#include <stdio.h>\nstatic int x;\n\
    static void *work(void *a) { int t = x; x = t + 1; return 0; }\n\
    int main(void) {\n    pthread_t a, b;\n    pthread_create(&a, 0, work, 0);\n    pthread_create(&b, 0, work, 0);\n\
    pthread_join(a, 0);\n    pthread_join(b, 0);\n    puts(\"done\");\n    assert(x == 2);\n    return 0;\n}\n";

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Ended by itself, with one of our exit codes and without a panic.
fn is_orderly(output: &Output, what: &str) {
    let errors = text(&output.stderr);
    assert!(!errors.contains("panicked"), "{what}: {errors}");
    assert!(
        output.status.code().is_some_and(|code| code <= 3),
        "{what}: {} {errors}",
        output.status
    );
}

#[test]
fn a_full_standard_output_is_an_error() {
    let directory = directory("full-output");
    write(&directory, "bank.c", PROGRAM);
    says(&directory, &["find", "bank.c"], FINDING);
    let trace = "unravel-out/bank-assertion-1.trace";
    let commands: [&[&str]; 9] = [
        &["trace", "show", trace],
        &["trace", "show", "--json", trace],
        &["run", "bank.c"],
        &["replay", trace],
        &["find", "bank.c"],
        &["explain", "--json", "--repair-time", "0s", "bank.c"],
        &["causes", "--time", "3s", "bank.c"],
        &["doctor"],
        &["--help"],
    ];
    for command in commands {
        let full = File::options().write(true).open("/dev/full").expect("there is one");
        let output = unravel(&directory, command).stdout(full).output().expect("it runs");
        is_orderly(&output, &format!("{command:?}"));
        assert_eq!(output.status.code(), Some(ERROR), "{command:?}");
        let errors = text(&output.stderr);
        assert!(errors.contains("standard output cannot be written"), "{command:?}: {errors}");
        let full = File::options().write(true).open("/dev/full").expect("there is one");
        let output = unravel(&directory, command).stderr(full).output().expect("it runs");
        is_orderly(&output, &format!("{command:?} with a full standard error"));
    }
}

#[test]
fn a_reader_that_stops_early_is_no_error() {
    let directory = directory("early-reader");
    write(&directory, "bank.c", PROGRAM);
    says(&directory, &["find", "bank.c"], FINDING);
    let trace = "unravel-out/bank-assertion-1.trace";
    let commands: [&[&str]; 3] = [
        &["trace", "show", trace],
        &["find", "bank.c"],
        &["explain", "--json", "--repair-time", "0s", "bank.c"],
    ];
    for command in commands {
        let mut child = unravel(&directory, command)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        is_orderly(&output, &format!("{command:?}"));
        assert_ne!(output.status.code(), Some(ERROR), "{command:?}");
        assert_eq!(text(&output.stderr), "", "{command:?}");
    }
}

#[test]
fn names_and_arguments_need_not_be_text() {
    let directory = directory("not-text");
    let name = OsStr::from_bytes(b"ba\xffnk.c");
    std::fs::write(directory.join(name), PROGRAM).expect("it is written");
    for command in ["find", "explain", "causes", "repair", "hunt", "run"] {
        let output = unravel(&directory, &[command]).arg(name).output().expect("it runs");
        is_orderly(&output, command);
        let there = output.status.code() == Some(FINDING) || command == "run" || command == "hunt";
        assert!(there, "{command}: {}", text(&output.stderr));
        let output = unravel(&directory, &[command]).arg(OsStr::from_bytes(b"\xfe.c")).output();
        let output = output.expect("it runs");
        is_orderly(&output, command);
        assert_eq!(output.status.code(), Some(ERROR), "{command}");
        let arguments: [&OsStr; 3] = [name, "--".as_ref(), OsStr::from_bytes(b"\xfe")];
        let output = unravel(&directory, &[command]).args(arguments).output().expect("it runs");
        is_orderly(&output, command);
    }
}

/// The bitcode of a program.
fn bitcode(directory: &Path) -> Vec<u8> {
    write(directory, "bank.c", PROGRAM);
    let clang = ["clang-19", "clang"].into_iter().find(|clang| {
        let compile = ["-c", "-g", "-emit-llvm", "bank.c", "-o", "bank.bc"];
        let status = Command::new(clang).args(compile).current_dir(directory).status();
        status.is_ok_and(|status| status.success())
    });
    clang.expect("there is a clang");
    std::fs::read(directory.join("bank.bc")).expect("it was compiled")
}

#[test]
fn damaged_bitcode_is_named_and_kills_nobody() {
    let directory = directory("damaged-bitcode");
    let whole = bitcode(&directory);
    let mut refused = 0;
    for number in 0..150u64 {
        let mut damaged = whole.clone();
        for part in 0..=number % 5 {
            let at = (number * 7919 + part * 104_729 + 11) as usize % (whole.len() - 8) + 8;
            damaged[at] ^= 1 << ((number + part) % 8);
        }
        std::fs::write(directory.join("damaged.bc"), &damaged).expect("it is written");
        let arguments = ["run", "damaged.bc"];
        let output = unravel(&directory, &arguments).output().expect("it runs");
        is_orderly(&output, &format!("number {number}"));
        if output.status.code() == Some(ERROR) {
            refused += 1;
            let errors = text(&output.stderr);
            assert!(errors.contains("damaged"), "it is named: {errors}");
        }
    }
    assert!(refused > 20, "{refused}");
    std::fs::write(directory.join("short.bc"), &whole[..whole.len() / 2]).expect("it is written");
    says(&directory, &["run", "short.bc"], ERROR);
}

#[test]
fn what_cannot_be_written_is_still_told() {
    let directory = directory("full-disk");
    write(&directory, "bank.c", PROGRAM);
    // Built before, so that nothing has to be written on the way.
    says(&directory, &["build", "bank.c", "-o", "bank"], NOTHING);
    let flags = [("find", "--quiet"), ("explain", "--repair-time=0s"), ("causes", "--time=5s")];
    for (name, flag) in flags {
        let mut command = unravel(&directory, &[name, "bank", flag]);
        // SAFETY: between fork and exec nothing but system calls. Files can be made then, but stay empty, as on a full disk.
        unsafe {
            command.pre_exec(|| {
                let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
                libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
                libc::setrlimit(libc::RLIMIT_FSIZE, &none);
                Ok(())
            });
        }
        let output = command.output().expect("it runs");
        is_orderly(&output, name);
        let (out, errors) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(FINDING), "{name}: {out}{errors}");
        assert!(out.contains("x == 2"), "{name}: {out}");
        assert!(errors.contains("cannot write"), "{name}: {errors}");
    }
}

#[test]
fn a_torn_database_is_told_by_whoever_uses_it() {
    let directory = directory("torn");
    write(&directory, "fine.c", &PROGRAM.replace("x == 2", "x <= 2"));
    says(&directory, &["db", "record", "runs", "fine.c", "--runs", "30"], NOTHING);
    let found = Command::new("find").args(["runs", "-type", "f"]).current_dir(&directory).output();
    let found = text(&found.expect("find runs").stdout);
    let largest = found
        .lines()
        .map(|file| directory.join(file))
        .max_by_key(|path| path.metadata().map_or(0, |m| m.len()))
        .expect("a file");
    let bytes = std::fs::read(&largest).expect("it can be read");
    std::fs::write(&largest, &bytes[..bytes.len() - 5]).expect("it is written");
    let output = unravel(&directory, &["hunt", "--db", "runs", "fine.c", "--time", "5s"]).output();
    let output = output.expect("it runs");
    is_orderly(&output, "hunt");
    let all = text(&output.stdout) + &text(&output.stderr);
    assert!(all.contains("torn") || all.contains("damaged"), "{all}");
}

#[test]
fn settings_that_cannot_be_read_are_an_error() {
    let directory = directory("settings");
    write(&directory, "bank.c", PROGRAM);
    std::fs::create_dir(directory.join("unravel.toml")).expect("a directory");
    let output = unravel(&directory, &["find", "bank.c"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(ERROR));
    assert!(text(&output.stderr).contains("unravel.toml"), "{}", text(&output.stderr));
}

#[test]
fn an_endless_loop_is_inconclusive_and_called_that() {
    let directory = directory("endless");
    write(&directory, "loop.c", "int main(void) { while (1); }\n");
    let some = "#include <pthread.h>\nstatic int x;\nstatic void *work(void *a) { x = 1; return 0; }\n\
        int main(void) {\n    pthread_t t;\n    pthread_create(&t, 0, work, 0);\n    if (x) while (1);\n\
        pthread_join(t, 0);\n    return 0;\n}\n";
    write(&directory, "some.c", some);
    for command in ["find", "explain", "causes"] {
        for program in ["loop.c", "some.c"] {
            let output = unravel(&directory, &[command, program, "--time", "3s"]).output();
            let output = output.expect("it runs");
            let all = (text(&output.stdout) + &text(&output.stderr)).replace('\n', " ");
            assert_eq!(output.status.code(), Some(INCONCLUSIVE), "{command} {program}: {all}");
            assert!(!all.contains("an assumption"), "{command} {program}: {all}");
        }
    }
    let output = unravel(&directory, &["run", "loop.c"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(INCONCLUSIVE));
    let errors = text(&output.stderr);
    assert!(errors.contains("the program loops for ever without looking at anything"), "{errors}");
}

/// Folders of this process below a directory for temporary files.
fn folders(temporary: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(temporary).expect("a directory");
    let names =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("unravel-")).collect()
}

#[test]
fn no_folders_and_no_compilers_are_left() {
    let directory = directory("left-behind");
    let temporary = directory.join("tmp");
    std::fs::create_dir(&temporary).expect("a directory");
    // A compiler that takes its time.
    let clang = "#!/bin/sh\ncase \"$*\" in *--version*) echo clang version 19.1.0; exit 0;; esac\n\
        echo $$ > pid\nexec sleep 60\n";
    write(&directory, "clang-19", clang);
    write(&directory, "bank.c", PROGRAM);
    let chmod = Command::new("chmod").args(["+x", "clang-19"]).current_dir(&directory).status();
    assert!(chmod.is_ok_and(|status| status.success()));
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGKILL] {
        let _ = std::fs::remove_file(directory.join("pid"));
        let mut command = unravel(&directory, &["find", "bank.c"]);
        command.env("TMPDIR", &temporary).env("UNRAVEL_CACHE", "off");
        command.env("UNRAVEL_CLANG", directory.join("clang-19"));
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let pid = (0..200).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            std::fs::read_to_string(directory.join("pid")).ok()?.trim().parse::<i32>().ok()
        });
        let pid = pid.expect("the compiler was started");
        assert_eq!(folders(&temporary).len(), 1);
        // SAFETY: our own child, not waited for yet.
        unsafe { libc::kill(child.id() as i32, signal) };
        child.wait().expect("it ends");
        std::thread::sleep(std::time::Duration::from_millis(300));
        // Whoever adopted it may not have looked at its end yet.
        let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(status.is_empty() || status.contains(") Z "), "signal {signal}: {status}");
        let left = folders(&temporary);
        assert!(signal == libc::SIGKILL || left.is_empty(), "signal {signal}: {left:?}");
    }
    // The next one clears away what the killed one could not.
    let mut command = unravel(&directory, &["find", "bank.c"]);
    command.env("TMPDIR", &temporary).env("UNRAVEL_CACHE", "off");
    command.output().expect("it runs");
    assert_eq!(folders(&temporary), Vec::<String>::new());
}
