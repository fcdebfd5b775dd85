//! How runs end, and how processes and threads live: each is told as it was.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use support::{Built, build, build_plain, clang, source};
use unravel_instrument::{OpenError, open_log};
use unravel_recording::{Begin, End, Ending, Log, Lost, Record, SyncKind, Unrecorded};

fn recorded(built: &Built, arguments: &[&str]) -> Log {
    built.run(arguments, 0);
    open_log(&built.log()).unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
}

#[test]
fn failures_with_thread_and_stack() {
    let built = build_plain(&["-O2", &source("fails.c")]);
    let innermost = |log: &Log, stack: &[unravel_recording::Frame]| {
        log.function(stack.last().expect("a stack").function).name.clone()
    };
    match &recorded(&built, &["assert"]) {
        log @ Log { ending: Ending::Assertion { thread, message, stack }, .. } => {
            assert_eq!((thread.to_string().as_str(), message.as_str()), ("T0.1", "value == 8"));
            assert_eq!(innermost(log, stack), "fail");
        }
        log => panic!("{:?}", log.ending),
    }
    match &recorded(&built, &["abort"]) {
        log @ Log { ending: Ending::Abort { thread, stack }, .. } => {
            assert_eq!(thread.to_string(), "T0.1");
            assert_eq!(innermost(log, stack), "fail");
        }
        log => panic!("{:?}", log.ending),
    }
    for (how, number) in [("segv", 11), ("divide", 8), ("overflow", 11)] {
        match recorded(&built, &[how]).ending {
            Ending::Signal { thread, signal, .. } => {
                assert_eq!((thread.to_string().as_str(), signal), ("T0.1", number), "{how}");
            }
            other => panic!("{how}: {other:?}"),
        }
    }
    assert_eq!(recorded(&built, &["exit"]).ending, Ending::Exited { code: 7 });
    assert_eq!(recorded(&built, &["_exit"]).ending, Ending::Exited { code: 8 });
    assert_eq!(recorded(&built, &["nothing"]).ending, Ending::Exited { code: 0 });
    assert_eq!(recorded(&built, &["kill"]).ending, Ending::Killed);
    let cpp = build_plain(&["-O2", &source("uncaught.cpp")]);
    match recorded(&cpp, &[]).ending {
        Ending::UncaughtException { thread, .. } => assert_eq!(thread.to_string(), "T0.1"),
        other => panic!("{other:?}"),
    }
}

fn assert_deadlock(log: &Log) {
    assert_eq!(log.ending, Ending::Hang);
    for thread in &log.threads {
        match &thread.end {
            End::Pending { kind: SyncKind::Lock, stack, .. } => {
                let innermost = stack.last().expect("a stack");
                assert!(innermost.instruction.is_some());
                let name = &log.function(innermost.function).name;
                assert_eq!(name, if thread.name.to_string() == "T0" { "main" } else { "fail" });
            }
            other => panic!("{}: {other:?}", thread.name),
        }
    }
    assert_eq!(log.threads.len(), 2);
}

#[test]
fn hangs_are_closed_from_inside_and_outside() {
    let built = build_plain(&["-O2", &source("fails.c")]);
    let mut command = built.command(&["deadlock"], 0);
    command.env("UNRAVEL_HANG_AFTER_MS", "500").status().expect("it runs");
    assert_deadlock(&open_log(&built.log()).expect("the log opens"));

    let mut child = built.command(&["deadlock"], 2).spawn().expect("it starts");
    std::thread::sleep(Duration::from_millis(500));
    let pid = child.id().to_string();
    std::process::Command::new("kill").args(["-QUIT", &pid]).status().expect("kill runs");
    child.wait().expect("it ends");
    assert_deadlock(&open_log(&built.log()).expect("the log opens"));
}

/// A thread that waits for a lock which it had before has begun the record of it, and that says what it waits for.
#[test]
fn who_waits_at_the_end_is_told_with_the_object() {
    let built = build_plain(&["-O2", &source("locks.c")]);
    for flight in [0, 2] {
        built.run(&["5", "wait"], flight);
        let log = open_log(&built.log()).expect("the log opens");
        assert_eq!(log.ending, Ending::Exited { code: 3 });
        let thread = &log.threads[1];
        assert_eq!(thread.lost, []);
        let first = thread.records.iter().find_map(|record| match record {
            Record::Sync(sync) if sync.kind == SyncKind::Lock => Some(sync.object),
            _ => None,
        });
        match &thread.end {
            End::Pending { kind: SyncKind::Lock, object, stack } => {
                assert_eq!(Some(*object), first);
                assert!(stack.last().expect("a stack").instruction.is_some());
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(log.threads[0].end, End::Running);
    }
}

/// Unlocks that write nothing are told with the objects of their locks; one that a crash came before is not told.
#[test]
fn unlocks_are_inferred() {
    let built = build(&["-O2", &source("unlocks.c")]);
    built.run(&["20000"], 0);
    built.assert_exact("unlocks.c");
    built.run(&["200000"], 1);
    let log = built.opened();
    for (_, stream) in log.threads() {
        let (branches, decoded) = built.decoded(&log, stream);
        assert!(built.truth(stream.tid).ends_with(&branches), "{:?}", decoded.lost);
    }
    built.run(&["1", "crash"], 0);
    let log = open_log(&built.log()).expect("the log opens");
    let mut numbers = Vec::new();
    let mut told = Vec::new();
    for record in &log.threads[0].records {
        let Record::Sync(sync) = record else { continue };
        let sign = match sync.kind {
            SyncKind::Lock | SyncKind::TryLock { acquired: true } => '+',
            SyncKind::Unlock => '-',
            _ => continue,
        };
        if !numbers.contains(&sync.object) {
            numbers.push(sync.object);
        }
        let number = numbers.iter().position(|o| *o == sync.object).expect("it is there");
        told.push(format!("{sign}{number}"));
    }
    // In the order in which they come first, locks[0], [1], [2] and [3] are 0, 1, 2 and 3.
    let told = told.join(" ");
    let crossed = "+0 +1 -0 -1 +2 +0 -2 -0";
    let in_turn = "+0 -0 +1 -1 +2 -2 +3 -3 +0 -0 +1 -1";
    let perhaps = "+1 -1 +2 -2";
    let end = "+0 +3 -0 -3 +3";
    let waits = told.strip_prefix(&format!("{crossed} {in_turn} {perhaps} "));
    let waits = waits.and_then(|rest| rest.strip_suffix(end)).unwrap_or_else(|| panic!("{told}"));
    assert!(waits.trim_end().chars().all(|c| "+-0 ".contains(c)), "{told}");
    let mut held = 0;
    for operation in waits.split_whitespace() {
        held += if operation == "+0" { 1 } else { -1 };
        assert!((0..=1).contains(&held), "{told}");
    }
    assert_eq!(held, 0, "{told}");
}

/// `<threads.h>` is recorded as pthreads are: threads have names, operations stamps, and a hang says who waits.
#[test]
fn threads_and_locks_of_c11() {
    let built = build(&["-O2", &source("c11.c")]);
    assert_eq!(built.output(&["3"]), "42 1\n");
    built.assert_exact("c11");
    let log = open_log(&built.log()).expect("the log opens");
    let names: Vec<String> = log.threads.iter().map(|thread| thread.name.to_string()).collect();
    assert_eq!(names, ["T0", "T0.1"]);
    let kinds = |thread: usize| -> Vec<SyncKind> {
        let syncs = log.threads[thread].records.iter().filter_map(|record| match record {
            Record::Sync(sync) => Some(sync.kind),
            _ => None,
        });
        syncs.collect()
    };
    let main = kinds(0);
    for kind in [
        SyncKind::Create,
        SyncKind::Once,
        SyncKind::Lock,
        SyncKind::Broadcast,
        SyncKind::Unlock,
        SyncKind::TryLock { acquired: true },
        SyncKind::TryLock { acquired: false },
        SyncKind::Wake { timed_out: true },
        SyncKind::Join,
    ] {
        assert!(main.contains(&kind), "{kind:?} in {main:?}");
    }
    assert_eq!(main.iter().filter(|kind| **kind == SyncKind::Lock).count(), 4);
    assert_eq!(kinds(1).first(), Some(&SyncKind::Begin));
    assert_eq!(kinds(1).last(), Some(&SyncKind::Exit));

    let mut command = built.command(&["3", "silent"], 0);
    command.env("UNRAVEL_HANG_AFTER_MS", "500").status().expect("it runs");
    let log = open_log(&built.log()).expect("the log opens");
    assert_eq!(log.ending, Ending::Hang);
    let pending = |thread: usize| match &log.threads[thread].end {
        End::Pending { kind, .. } => *kind,
        other => panic!("{other:?}"),
    };
    assert_eq!((pending(0), pending(1)), (SyncKind::Join, SyncKind::Wait));
}

#[test]
fn threads_by_the_thousand() {
    let built = build_plain(&["-O2", &source("lives.c")]);
    let log = recorded(&built, &["threads", "1000"]);
    assert_eq!((log.threads.len(), &log.ending), (1001, &Ending::Exited { code: 0 }));
    for (number, thread) in log.threads.iter().enumerate().skip(1) {
        assert_eq!(thread.name.to_string(), format!("T0.{number}"));
        assert_eq!(thread.end, End::Returned);
        assert!(thread.lost.is_empty(), "{}: {:?}", thread.name, thread.lost);
    }
    let log = recorded(&built, &["cancel"]);
    assert!(
        log.threads.iter().all(|t| !t.lost.iter().any(|l| matches!(l, Lost::Undecodable { .. }))),
        "{:?}",
        log.threads[1].lost
    );
}

#[test]
fn fork_and_exec_have_logs_of_their_own() {
    let built = build_plain(&["-O2", &source("lives.c")]);
    let other = |built: &Built| {
        let all = fs::read_dir(built.folder.path()).expect("the folder").flatten();
        let mut logs: Vec<_> =
            all.map(|e| e.path()).filter(|p| p.to_string_lossy().contains("/log.")).collect();
        assert_eq!(logs.len(), 1, "{logs:?}");
        open_log(&logs.remove(0)).expect("the other log opens")
    };
    let parent = recorded(&built, &["fork"]);
    assert_eq!(parent.ending, Ending::Exited { code: 0 });
    let child = other(&built);
    assert_eq!(child.ending, Ending::Exited { code: 4 });
    assert!(child.branches() > 0 && parent.branches() > 0);
    assert!(
        matches!(child.threads[0].begin, Begin::Middle { .. }),
        "the child goes on in the middle"
    );

    let before = recorded(&built, &["exec"]);
    assert_eq!(before.ending, Ending::Replaced);
    let after = other(&built);
    assert_eq!((after.threads.len(), &after.ending), (3, &Ending::Exited { code: 0 }));
}

#[test]
fn libraries_loaded_late() {
    let built = build_plain(&["-O2", &source("lives.c")]);
    let library = built.folder.path().join("library.so");
    let library = library.to_str().expect("plain");
    let arguments = ["-O2", "-fPIC", "-shared", "-Wl,-z,defs", &source("library.c"), "-o", library];
    let arguments = arguments.iter().map(std::ffi::OsString::from);
    assert_eq!(
        unravel_driver::wrap(unravel_driver::Compiler::C, arguments).expect("it is built"),
        0
    );
    let log = recorded(&built, &["load", library]);
    assert_eq!(log.ending, Ending::Exited { code: 0 });
    assert!(log.functions.iter().any(|f| f.name == "twice"));
    assert!(log.threads[0].lost.is_empty(), "{:?}", log.threads[0].lost);
    assert!(
        log.unrecorded
            .iter()
            .any(|u| matches!(u, Unrecorded::Image(name) if name.contains("libc.so")))
    );
}

#[test]
fn several_modules_and_objects_of_others() {
    let built = build_plain(&["-O2", &source("parts_main.c"), &source("parts_other.c")]);
    let log = recorded(&built, &[]);
    assert!(log.threads[0].lost.is_empty(), "{:?}", log.threads[0].lost);
    let names: Vec<&str> = log.functions.iter().map(|f| f.name.as_str()).collect();
    assert!(
        names.contains(&"helper.m1")
            || names.iter().filter(|n| n.starts_with("helper")).count() < 2,
        "{names:?}"
    );
    // A source without a function has nothing to record, and is linked all the same.
    let parts = ["parts_main.c", "parts_other.c", "parts_data.c"].map(source);
    let [main, other, data] = parts.each_ref().map(String::as_str);
    for level in ["-O0", "-O2"] {
        recorded(&build_plain(&[level, main, other, data]), &[]);
    }
    // The other half by another compiler: it is entered and left by marks.
    let object = built.folder.path().join("foreign.o");
    let object = object.to_str().expect("plain");
    clang(&["-O2", "-c", &source("parts_other.c"), "-o", object]);
    let mixed = build_plain(&["-O2", &source("parts_main.c"), object]);
    let log = recorded(&mixed, &[]);
    assert!(log.threads[0].lost.is_empty(), "{:?}", log.threads[0].lost);
    assert!(log.branches() > 0);
}

#[test]
fn signal_handlers_write_beside_the_thread() {
    for level in ["-O1", "-O2"] {
        let built = build_plain(&[level, &source("handlers.c")]);
        for flight in [0, 1] {
            let status = built.run(&["300"], flight);
            assert!(status.success(), "{level} {flight}: {status}");
            let log = open_log(&built.log()).expect("the log opens");
            assert_eq!(log.ending, Ending::Exited { code: 0 });
            let broken = |l: &Lost| matches!(l, Lost::Undecodable { .. } | Lost::NoRestart { .. });
            assert!(!log.threads[0].lost.iter().any(broken), "{:?}", log.threads[0].lost);
            assert_eq!(log.threads.len(), 1);
        }
    }
}

#[test]
fn logs_are_the_users_own() {
    let built = build_plain(&["-O2", &source("fails.c")]);
    recorded(&built, &["nothing", "a secret argument"]);
    let mode = fs::metadata(built.log()).expect("the log").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let bytes = fs::read(built.log()).expect("the log");
    for secret in [&b"a secret argument"[..], b"HOME=", b"PATH="] {
        assert!(
            !bytes.windows(secret.len()).any(|w| w == secret),
            "no values of the program are in a log"
        );
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let built = build_plain(&["-O2", &source("fails.c")]);
    built.run(&["nothing"], 0);
    let log = built.folder.path().join("kept-log");
    fs::copy(built.log(), &log).expect("a copy");
    assert!(open_log(&log).is_ok());
    // Another build.
    let other = build_plain(&["-O0", &source("fails.c")]);
    fs::rename(&built.program, built.folder.path().join("old")).expect("moved");
    fs::copy(&other.program, &built.program).expect("another program");
    let error = open_log(&log).expect_err("of another build").to_string();
    assert!(error.contains("another build"), "{error}");
    fs::remove_file(&built.program).expect("gone");
    let error = open_log(&log).expect_err("without the program").to_string();
    assert!(error.contains("not there any more"), "{error}");
    // A program without recorded code writes a log without modules.
    let object = built.folder.path().join("plain.o");
    let object = object.to_str().expect("plain");
    clang(&["-O2", "-c", &source("fails.c"), "-o", object]);
    let plain = build_plain(&[object]);
    plain.run(&["nothing"], 0);
    let error = open_log(&plain.log()).expect_err("nothing was recorded").to_string();
    assert!(error.contains("nothing of the program was built by unravel-cc"), "{error}");
    let text = built.folder.path().join("text");
    fs::write(&text, "no log at all").expect("written");
    assert!(matches!(open_log(&text), Err(OpenError::Log(_))));
}
