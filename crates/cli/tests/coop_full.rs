//! What of cooperative logs takes too long for every day: the same ranking by Apache Spark, and bad files among ten thousand good ones.
//! `cargo xtask test --full` runs them; they install what they need, and fail where that cannot be had.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use unravel_coop::Profile;
use unravel_fleet::{Store, ingest};

fn unravel(folder: &Path, path: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unravel"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).env("PATH", path);
    command.output().expect("unravel runs")
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn succeeds(command: &mut Command) {
    let status = command.stdin(Stdio::null()).status();
    assert!(status.as_ref().is_ok_and(|status| status.success()), "{command:?}: {status:?}");
}

/// The path with `spark-submit` first: PySpark in an environment of its own, kept for the next time. A Java is installed if there is none.
static PATH_WITH_SPARK: LazyLock<String> = LazyLock::new(|| {
    if !Command::new("java").arg("-version").output().is_ok_and(|output| output.status.success()) {
        succeeds(Command::new("apt-get").args(["install", "-yqq", "default-jre-headless"]));
    }
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("spark");
    let bin = home.join("bin");
    if !bin.join("spark-submit").exists() {
        succeeds(Command::new("python3").args(["-m", "venv"]).arg(&home));
        succeeds(Command::new(bin.join("pip")).args(["install", "-q", "pyspark>=3.5,<4"]));
    }
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default())
});

/// A fleet's store in a folder of its own: half of the elements logged, most runs of the program failing.
fn fleet(runs: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/real/weblech/weblech.c");
    let source = source.display().to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    for arguments in [
        &["coop", "profile", "--coverage", "50%", &source][..],
        &["coop", "record", "--runs", runs, &source],
        &["coop", "ingest", "logs"],
    ] {
        let output = unravel(folder.path(), &path, arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{arguments:?}: {said}");
    }
    let store = folder.path().join("fleet");
    (folder, store)
}

/// To the last digit and in the same order, by both metrics and both heuristics.
fn spark_agrees(partitions: &[&str]) {
    let path = &*PATH_WITH_SPARK;
    let (folder, _) = fleet("5");
    for metric in ["dsim", "dhs"] {
        for heuristic in ["sgm", "dgm"] {
            let asked = ["coop", "analyse", "--json", "--metric", metric, "--heuristic", heuristic];
            let with = |more: &[&str]| {
                let arguments = [&asked[..], more, &["fleet"]].concat();
                json(&unravel(folder.path(), path, &arguments))
            };
            let embedded = with(&[]);
            let local = ["--engine", "spark", "--master", "local[2]"];
            let spark = with(&[&local[..], partitions].concat());
            assert!(embedded["ranked"].as_array().is_some_and(|ranked| ranked.len() > 5));
            assert_eq!(embedded["ranked"], spark["ranked"], "{metric} {heuristic}");
        }
    }
}

#[test]
#[ignore = "full: installs Spark"]
fn spark_ranks_as_this_process_does() {
    spark_agrees(&[]);
}

#[test]
#[ignore = "full: installs Spark"]
fn however_the_logs_are_split() {
    spark_agrees(&["--partitions", "7"]);
}

#[test]
#[ignore = "full: ten thousand files"]
fn a_thousand_bad_files_among_ten_thousand_change_nothing() {
    let (folder, store) = fleet("50");
    let profile = fs::read_to_string(folder.path().join("profile.json")).expect("a profile");
    let profile = Profile::from_json(&profile).expect("a profile");
    let good = folder.path().join("logs");
    let files: Vec<PathBuf> =
        fs::read_dir(&good).expect("logs").map(|entry| entry.expect("a file").path()).collect();
    assert_eq!(files.len(), 10_000);
    let bad = folder.path().join("bad");
    fs::create_dir(&bad).expect("a folder");
    for (number, file) in files.iter().enumerate().take(1000) {
        let mut bytes = fs::read(file).expect("a log");
        match number % 4 {
            0 => bytes.truncate(number % bytes.len()),
            1 => bytes[..4].copy_from_slice(b"nope"),
            // The same log under another name.
            2 => {}
            _ => {
                let at = bytes.len() / 2;
                bytes[at..].reverse();
            }
        }
        fs::write(bad.join(format!("{number}")), bytes).expect("it is written");
    }
    let both = Store::open(&folder.path().join("both")).expect("a store");
    let taken = ingest(&both, &profile, &[bad, good]).expect("it is ingested");
    let aside: u64 = taken.aside.values().copied().sum();
    assert_eq!((taken.taken, aside), (10_000, 1_000), "{taken:?}");
    let clean =
        Store::open(&store).expect("a store").collection(&profile).expect("it is read").collection;
    let both = both.collection(&profile).expect("it is read").collection;
    assert_eq!(clean.failures(), both.failures());
    let (failure, _) = clean.failures()[0];
    for heuristic in unravel_coop::Heuristic::ALL {
        let ranked = |all: &unravel_coop::Collection| {
            all.group(failure).ranked(heuristic, unravel_coop::Metric::Dsim)
        };
        assert_eq!(ranked(&clean), ranked(&both));
    }
}
