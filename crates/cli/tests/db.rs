//! `unravel db` on databases of made-up runs.

#[path = "../../database/tests/database/made_up.rs"]
mod made_up;
mod support;

use std::path::Path;

use serde_json::Value;
use unravel_database::Database;
use unravel_files::ProgramRef;

use made_up::{MadeUp, program};
use support::{ERROR, NOTHING, directory, says, unravel};

fn record(database: &Path, runs: &[MadeUp]) {
    let mut database = Database::open(database, &program()).expect("it opens");
    for run in runs {
        run.add(&mut database);
    }
    database.finish().expect("it is written");
}

/// Figure 5.5b of the thesis: three runs of two threads.
fn thesis() -> Vec<MadeUp> {
    let paths: [[&[u32]; 2]; 3] = [[&[1, 0], &[1]], [&[1, 0], &[0]], [&[0, 0], &[0]]];
    (1..).zip(paths).map(|(seed, paths)| MadeUp::new(&paths, seed)).collect()
}

#[test]
fn stats_say_what_is_there() {
    let directory = directory("db-stats");
    record(&directory.join("runs"), &thesis());
    record(&directory.join("runs"), &thesis()[..1]);
    let text = says(&directory, &["db", "stats", "runs"], NOTHING);
    assert!(text.starts_with("loop: 4 runs seen, 3 distinct; 1 input, 1 visible set\n"), "{text}");
    assert!(
        text.contains(
            "T0    2 traces on 2 paths of 2 branches; 3 nodes for 4 branches instead of 4"
        ),
        "{text}"
    );
    assert!(text.contains("T0.1  2 traces on 2 paths of 1 branch;"), "{text}");
    assert!(text.contains("\n2 segments, ") && !text.contains("note:"), "{text}");

    let json = says(&directory, &["db", "stats", "runs", "--json"], NOTHING);
    let json: Value = serde_json::from_str(&json).expect("it is JSON");
    let schema =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/unravel.database-1.json");
    let schema = std::fs::read_to_string(schema).expect("there is a schema");
    let schema: Value = serde_json::from_str(&schema).expect("it is JSON");
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    assert!(validator.is_valid(&json), "{json}");
    let mut wrong = json.clone();
    wrong["damage"] = Value::Null;
    assert!(!validator.is_valid(&wrong));
    assert_eq!((&json["seen"], &json["threads"][1]["traces"]), (&4.into(), &2.into()));
}

#[test]
fn runs_are_shown_by_their_paths() {
    let directory = directory("db-show");
    record(&directory.join("runs"), &thesis());
    let text = says(&directory, &["db", "show", "runs"], NOTHING);
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "T0: 00  T0.1: 0  seen 1 time  (seed 3)",
            "T0: 10  T0.1: 0  seen 1 time  (seed 2)",
            "T0: 10  T0.1: 1  seen 1 time  (seed 1)",
        ]
    );
}

#[test]
fn databases_are_merged_and_compacted() {
    let directory = directory("db-merge");
    record(&directory.join("monday"), &thesis()[..2]);
    record(&directory.join("tuesday"), &thesis()[1..]);
    let text = says(&directory, &["db", "merge", "all", "monday", "tuesday"], NOTHING);
    assert!(text.contains("monday: 2 runs and 3 traces new, 2 runs more seen\n"), "{text}");
    assert!(text.contains("tuesday: 1 run and 1 trace new, 2 runs more seen\n"), "{text}");
    assert!(text.ends_with("all: 3 distinct runs now\n"), "{text}");
    let again = says(&directory, &["db", "merge", "all", "monday"], NOTHING);
    assert!(again.contains("monday: 0 runs and 0 traces new, 0 runs more seen\n"), "{again}");
    record(&directory.join("all"), &thesis());
    let before = says(&directory, &["db", "show", "all"], NOTHING);
    let text = says(&directory, &["db", "compact", "all"], NOTHING);
    assert!(text.starts_with("2 segments rewritten: "), "{text}");
    assert_eq!(says(&directory, &["db", "show", "all"], NOTHING), before);
    let stats = says(&directory, &["db", "stats", "all"], NOTHING);
    assert!(
        stats.contains("7 runs seen, 3 distinct") && stats.contains("\n1 segment, "),
        "{stats}"
    );
}

#[test]
fn damage_is_said_and_cleared_away() {
    let directory = directory("db-damage");
    record(&directory.join("runs"), &thesis());
    let segments = directory.join("runs/segments");
    let mut entries = std::fs::read_dir(segments).expect("there are segments");
    let segment = entries.next().expect("there is one").expect("it can be listed").path();
    let bytes = std::fs::read(&segment).expect("it can be read");
    std::fs::write(&segment, &bytes[..bytes.len() - 3]).expect("it is cut off");
    let text = says(&directory, &["db", "stats", "runs"], NOTHING);
    assert!(text.contains("2 distinct") && text.contains("note: 1 segment torn"), "{text}");
    assert!(text.ends_with("clear it away with: unravel db compact runs\n"), "{text}");
    says(&directory, &["db", "compact", "runs"], NOTHING);
    let text = says(&directory, &["db", "stats", "runs"], NOTHING);
    assert!(text.contains("2 distinct") && !text.contains("note:"), "{text}");
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let directory = directory("db-refused");
    record(&directory.join("runs"), &thesis());
    let changed = ProgramRef { fingerprint: 1, ..program() };
    let other = Database::open(&directory.join("other"), &changed).expect("it is made");
    other.finish().expect("it is written");
    for (arguments, expected) in [
        (&["db", "merge", "runs", "other"][..], "of another program"),
        (&["db", "stats", "nowhere"], "there is no trace database nowhere"),
        (&["db", "show", "."], "is not a trace database"),
        (&["db", "compact", "nowhere"], "there is no trace database nowhere"),
    ] {
        let output = unravel(&directory, arguments).output().expect("unravel runs");
        let said = String::from_utf8_lossy(&output.stderr);
        // Messages are wrapped where the terminal ends.
        let words: Vec<&str> = said.split_whitespace().filter(|word| *word != "│").collect();
        assert_eq!(output.status.code(), Some(ERROR), "{arguments:?}: {said}");
        assert!(words.join(" ").contains(expected), "{arguments:?}: {said}");
    }
}
