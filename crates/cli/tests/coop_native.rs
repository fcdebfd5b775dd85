//! Cooperative logs of native programs from end to end: built for a profile, run with random delays, logged in parts, put together, and replayed in
//! the machine; and what such logs say is what the machine does.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

struct Place {
    folder: tempfile::TempDir,
    source: String,
    noise: String,
}

impl Place {
    fn new(source: &str) -> Place {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folder = tempfile::tempdir().expect("a folder");
        let library = folder.path().join("noise.so");
        let compiled = Command::new("clang-19")
            .args(["-O2", "-fPIC", "-shared", "-o"])
            .arg(&library)
            .arg(root.join("bench/noise/noise.c"))
            .status();
        assert!(compiled.expect("clang-19 runs").success());
        let noise = format!("LD_PRELOAD={}", library.display());
        Place { folder, source: root.join("corpus").join(source).display().to_string(), noise }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unravel"));
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        command.output().expect("unravel runs")
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(arguments);
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
    }

    /// A profile and a native program for it, which logs all elements.
    fn build(&self, coverage: &str, instances: &str) -> Value {
        self.build_of(coverage, instances, &[])
    }

    fn build_of(&self, coverage: &str, instances: &str, more: &[&str]) -> Value {
        let profile = ["coop", "profile", "--json", "--coverage", coverage, "--instances"];
        self.json(&[&profile[..], &[instances], more, &[&self.source]].concat());
        let built = self.json(&["coop", "build", "--json", "-o", "program", &self.source]);
        assert_eq!(built["unlogged"].as_array().map(Vec::len), Some(0), "{built}");
        built
    }

    fn record(&self, more: &[&str]) -> Value {
        let record = ["coop", "record", "--json", "--native", "./program", "--env", &self.noise];
        self.json(&[&record[..], more, &[&self.source]].concat())
    }
}

impl Place {
    /// Runs the program by itself; what it prints.
    fn run_native(&self, log: &str, elements: &str, arguments: &[&str]) -> String {
        let output = Command::new(self.at("program"))
            .args(arguments)
            .env("UNRAVEL_LOG", self.at(log))
            .env("UNRAVEL_ELEMENTS", elements)
            .stdin(Stdio::null())
            .output()
            .expect("it runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// The whole way, until enough runs have failed.
fn a_native_failure_is_replayed(source: &str, more: &[&str]) {
    let place = Place::new(source);
    place.build_of("75%", "20", more);
    let mut failed = 0;
    for seed in 0..20 {
        let recorded =
            place.record(&["--env", &format!("NOISE_SEED={seed}"), "--hang-after", "3000"]);
        failed += recorded["failed"].as_u64().expect("a number");
        assert_eq!(recorded["lost"], 0, "{recorded}");
        if failed >= 5 {
            break;
        }
    }
    assert!(failed > 0, "none of 400 native runs with random delays failed");
    let ingested = place.json(&["coop", "ingest", "--json", "logs"]);
    assert_eq!(ingested["aside"].as_object().map(serde_json::Map::len), Some(0), "{ingested}");
    let output = place.run(&["coop", "replay", "--json", &place.source]);
    let replayed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(output.status.code(), Some(1), "{replayed}");
    let trace = replayed["trace"].as_str().expect("a trace");
    assert_eq!(place.run(&["replay", trace]).status.code(), Some(1), "it fails again");
}

#[test]
fn weblech_fails_natively_and_is_replayed_from_parts() {
    a_native_failure_is_replayed("real/weblech/weblech.c", &[]);
}

#[test]
fn cache4j_fails_natively_and_is_replayed_from_parts() {
    a_native_failure_is_replayed("real/cache4j/cache4j.c", &[]);
}

#[test]
fn a_native_deadlock_is_replayed_from_parts() {
    a_native_failure_is_replayed("deadlock/deadlock/deadlock.c", &[]);
}

#[test]
fn a_native_failure_is_replayed_from_parts_of_blocks() {
    a_native_failure_is_replayed("path-dependent/ticketorder/ticketorder.c", &["--blocks"]);
}

/// A block is entered natively where it is in the machine, and as often: there is a run of the machine that keeps all orders of a complete log
/// and ends as it does. In these programs the orders of blocks leave little open.
#[test]
fn the_machine_follows_complete_native_logs_of_blocks() {
    for source in [
        "real/cache4j/cache4j.c",
        "data-race/bufwriter/bufwriter.c",
        "data-race/producerconsumer/producerconsumer.c",
        "sync/piper/fixed.c",
    ] {
        let place = Place::new(source);
        place.build_of("100%", "1", &["--blocks"]);
        let recorded = place.record(&["--all", "--verify", "--runs", "12", "--hang-after", "4000"]);
        assert_eq!(recorded["followed"], recorded["logs"], "{source}: {recorded}");
        assert_eq!(recorded["lost"], 0, "{source}: {recorded}");
        assert!(recorded["accesses"].as_u64().is_some_and(|all| all > 100), "{source}: {recorded}");
    }
}

/// Access and entry are one step: else the orders of elements would contradict each other, or give other values.
#[test]
fn the_machine_follows_complete_native_logs_to_the_letter() {
    for source in [
        "real/weblech/weblech.c",
        "sync/piper/piper.c",
        "atomicity/manager/manager.c",
        "data-race/producerconsumer/producerconsumer.c",
        "multi-variable/twostage/twostage.c",
    ] {
        let place = Place::new(source);
        place.build("100%", "1");
        let recorded = place.record(&["--all", "--verify", "--runs", "12", "--hang-after", "4000"]);
        assert_eq!(recorded["followed"], recorded["logs"], "{source}: {recorded}");
        assert!(recorded["logs"].as_u64().is_some_and(|logs| logs >= 10), "{source}: {recorded}");
    }
}

/// What an instance does not log is not in its files, and a program that is not asked to log writes none.
#[test]
fn an_instance_logs_its_own_elements_and_no_others() {
    let place = Place::new("real/weblech/weblech.c");
    place.build("1", "6");
    let recorded = place.record(&[]);
    assert_eq!(recorded["logs"], 6, "{recorded}");
    let silent = Command::new(place.at("program")).current_dir(place.folder.path()).status();
    assert!(silent.is_ok());
    let logs = |name: &std::ffi::OsStr| name.to_string_lossy().ends_with(".elements");
    let files = std::fs::read_dir(place.folder.path()).expect("the folder");
    assert!(!files.flatten().any(|file| logs(&file.file_name())), "it was not asked to log");
    let ran = Command::new(place.at("program"))
        .env("UNRAVEL_LOG", place.at("raw.log"))
        .env("UNRAVEL_ELEMENTS", "2")
        .stderr(Stdio::null())
        .status();
    assert!(ran.is_ok());
    // The table says of each element which vector is its own: only the third has one.
    let file = std::fs::File::open(place.at("raw.log.elements")).expect("vectors");
    let mut table = [0u8; 48];
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut table, 4096).expect("a table");
    let slots: Vec<u8> = table.chunks(8).map(|entry| entry[0]).collect();
    assert_eq!(slots, [0, 0, 1, 0, 0, 0]);
    let taken = place.json(&[
        "coop",
        "record",
        "--native",
        "./program",
        "--log",
        "raw.log",
        "--json",
        &place.source,
    ]);
    assert_eq!(taken["logs"], 1, "{taken}");
}

/// A program that was built for one instance logs that one's elements, whatever it is told, and its files are as good as any.
#[test]
fn a_program_built_for_an_instance_logs_no_other_elements() {
    let place = Place::new("real/weblech/weblech.c");
    place.build("50%", "4");
    let text = std::fs::read_to_string(place.at("profile.json")).expect("a profile");
    let profile: Value = serde_json::from_str(&text).expect("JSON");
    let own: Vec<u64> = (profile["instances"][2].as_array().expect("a list").iter())
        .map(|one| one.as_u64().expect("a number"))
        .collect();
    let build = ["coop", "build", "--json", "-o", "program", "--instance"];
    let built = place.json(&[&build[..], &["2", &place.source]].concat());
    assert_eq!(built["logged"], 3, "{built}");
    place.run_native("raw.log", "all", &[]);
    let vectors = Vectors::read(&place.at("raw.log.elements"), 6);
    let logged: Vec<u64> = (0..6).filter(|one| vectors.of(*one).is_some()).collect();
    assert_eq!(logged, own);
    let taken = place.record(&["--log", "raw.log"]);
    assert_eq!((&taken["logs"], &taken["lost"]), (&1.into(), &0.into()), "{taken}");
    let refused = place.run(&[&build[..], &["4", &place.source]].concat());
    assert_eq!(refused.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(errors.contains("there is no instance 4"), "{errors}");
}

/// Two threads count up without a lock, each alone for a while and then together: by the order in the vector their reads and writes must
/// give the very sum that the program printed, or an entry was not one step with its access.
const COUNTING: &str = r#"
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
static int counter, turns = 3;
static void *count(void *arg)
{
	for (int i = 0; i < turns; i++) {
		counter = counter + 1;
		if (i % 977 == (arg != NULL) * 100)
			sched_yield();
	}
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t threads[3];
	if (argc > 1)
		turns = atoi(argv[1]);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, count, i ? &counter : NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", counter);
	return 0;
}
"#;

#[test]
fn vectors_of_long_runs_give_the_values_that_the_program_saw() {
    let mut place = Place::new("real/weblech/weblech.c");
    std::fs::write(place.at("counting.c"), COUNTING).expect("a source");
    place.source = place.at("counting.c").display().to_string();
    place.build("100%", "1");
    let mut hands = 0;
    for run in 0..6 {
        let log = format!("run{run}.log");
        let printed = place.run_native(&log, "all", &["200000"]);
        let vectors = Vectors::read(&place.at(&format!("{log}.elements")), 1);
        let vector = vectors.of(0).expect("the counter is logged, and not lost");
        // By thread: what it read and has not written yet.
        let (mut counter, mut seen) = (0u64, [None; 4]);
        for (thread, times) in &vector {
            for _ in 0..*times {
                match seen[*thread].take() {
                    Some(value) => counter = value + 1,
                    None => seen[*thread] = Some(counter),
                }
            }
        }
        assert_eq!(seen, [Some(counter), None, None, None], "the last one is main's");
        assert_eq!(format!("{counter}\n"), printed);
        let accesses: u64 = vector.iter().map(|one| u64::from(one.1)).sum();
        assert_eq!(accesses, 3 * 200_000 * 2 + 1);
        hands += vector.windows(2).filter(|two| two[0].0 != two[1].0).count();
    }
    assert!(hands > 20, "the counter changed hands {hands} times only");
}

/// The vectors of a file, by element.
struct Vectors(Vec<Option<Vec<(usize, u32)>>>);

impl Vectors {
    /// As `crates/recording/src/vectors.rs` says; elements that are lost fail the test.
    fn read(path: &Path, elements: usize) -> Vectors {
        use std::os::unix::fs::FileExt;
        let file = std::fs::File::open(path).expect("vectors");
        let words = |at: u64, count: usize| {
            let mut bytes = vec![0; count * 4];
            let _ = file.read_at(&mut bytes, at).expect("a file that can be read");
            let word = |four: &[u8]| u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
            bytes.chunks_exact(4).map(word).collect::<Vec<u32>>()
        };
        let of = |entry: &[u32]| {
            assert_eq!(entry[1], 0, "it is lost");
            let start = (1 << 20) + u64::from(entry[0].checked_sub(1)?) * ((256 << 20) + 4160);
            let vector = words(start, 4 << 20).into_iter().take_while(|entry| *entry != 0);
            Some(vector.map(|entry| ((entry >> 16) as usize - 1, entry & 0xffff)).collect())
        };
        Vectors(words(4096, elements * 2).chunks_exact(2).map(of).collect())
    }

    fn of(&self, element: u64) -> Option<Vec<(usize, u32)>> {
        self.0[element as usize].clone()
    }
}

/// Killed at any moment, what was logged until then is there.
#[test]
fn a_killed_program_leaves_its_vectors() {
    let place = Place::new("real/weblech/weblech.c");
    place.build("100%", "1");
    let log = place.at("killed.log");
    let mut child = Command::new(place.at("program"))
        .arg("2000000000")
        .env("UNRAVEL_LOG", &log)
        .env("UNRAVEL_ELEMENTS", "all")
        .stdout(Stdio::null())
        .spawn()
        .expect("it runs");
    let vectors = place.at("killed.log.elements");
    // Until something is logged: the first entry of the first vector.
    let mut first = [0u8; 4];
    while first == [0; 4] {
        use std::os::unix::fs::FileExt;
        assert!(child.try_wait().expect("a child").is_none(), "it is still running");
        if let Ok(file) = std::fs::File::open(&vectors) {
            let _ = file.read_exact_at(&mut first, 1 << 20);
        }
        std::thread::yield_now();
    }
    child.kill().expect("it is killed");
    child.wait().expect("it is gone");
    let taken = place.json(&[
        "coop",
        "record",
        "--native",
        "./program",
        "--log",
        "killed.log",
        "--json",
        &place.source,
    ]);
    // A run that was killed says neither that it passed nor that it failed.
    assert_eq!((&taken["logs"], &taken["inconclusive"]), (&0.into(), &1.into()), "{taken}");
    assert_eq!(taken["lost"], 0, "{taken}");
}
