//! What is decoded is what happened: the slow trace of the same binary says so.

mod support;

use support::{Built, build, source};
use unravel_recording::{Begin, Lost};

fn exact(program: &str, arguments: &[&[&str]]) {
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        let built = build(&[level, &source(program)]);
        for arguments in arguments {
            let status = built.run(arguments, 0);
            assert!(status.success(), "{program} {level} {arguments:?}: {status}");
            built.assert_exact(&format!("{program} {level} {arguments:?}"));
        }
    }
}

#[test]
fn loops_recursion_callbacks() {
    exact("mixed.c", &[&["1"], &["10"], &["1000"]]);
}

#[test]
fn loops_that_dispatch() {
    exact("dispatch.c", &[&["1"], &["50"], &["3000"]]);
}

#[test]
fn threads_and_locks() {
    exact("threads.c", &[&["50"], &["1000", "5"]]);
}

/// Operations that fail leave nothing of the record that they had begun.
#[test]
fn locks_that_fail() {
    exact("locks.c", &[&["1"], &["3000"]]);
    let built = build(&["-O2", &source("locks.c")]);
    assert_eq!(built.output(&["300"]), "1600\n");
    let status = built.command(&["3000"], 0).env("UNRAVEL_SYNC", "0").status();
    assert!(status.expect("it runs").success());
    built.assert_exact("locks.c, paths alone");
}

#[test]
fn exceptions() {
    exact("exceptions.cpp", &[&["10"], &["2000"]]);
}

#[test]
fn jumps() {
    exact("jumps.c", &[&["1"], &["100"]]);
}

#[test]
fn tail_calls() {
    exact("tail.c", &[&["300"]]);
}

/// From the middle: what is decoded is a suffix of what happened, and nearly all of what was kept.
fn assert_suffixes(built: &Built, what: &str) {
    let log = built.opened();
    let mut restarted = 0;
    for (name, stream) in log.threads() {
        let truth = built.truth(stream.tid);
        let (branches, decoded) = built.decoded(&log, stream);
        let broken = |l: &Lost| matches!(l, Lost::Undecodable { .. } | Lost::NoRestart { .. });
        assert!(!decoded.lost.iter().any(broken), "{what}, {name}: {:?}", decoded.lost);
        assert!(!branches.is_empty(), "{what}, {name}: nothing decoded");
        assert!(
            truth.ends_with(&branches),
            "{what}, {name}: {} of {}",
            branches.len(),
            truth.len()
        );
        if let Begin::Middle { stack } = &decoded.begin {
            assert!(!stack.is_empty());
            restarted += 1;
        }
    }
    assert!(restarted > 0, "{what}: no thread began in the middle");
}

#[test]
fn a_flight_recorder_begins_in_the_middle() {
    for level in ["-O1", "-O2", "-O3"] {
        let built = build(&[level, &source("long.c")]);
        for rounds in ["60", "61", "100", "160"] {
            assert!(built.run(&[rounds], 1).success());
            assert_suffixes(&built, &format!("{level} {rounds}"));
            assert!(built.run(&[rounds], 0).success());
            built.assert_exact(&format!("whole {level} {rounds}"));
        }
    }
}

/// The programs of the benchmark, at sizes that the slow trace can follow.
#[test]
fn programs_of_the_benchmark() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/record");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("bench/record").flatten() {
        let path = entry.path();
        let built = build(&["-O2", "-w", path.to_str().expect("plain")]);
        assert!(built.run(&["1"], 0).success());
        built.assert_exact(&path.display().to_string());
        seen += 1;
    }
    assert!(seen >= 12);
}
