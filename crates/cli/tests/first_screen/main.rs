//! The first screen of `explain` on 31 programs of every kind: what failed, the root cause in a sentence or two, and what should hold.
//! Each was read beside its source, as somebody would who has nothing else at hand, before it was committed to `told.txt`;
//! the test keeps them so. `UPDATE_SCREENS=1 cargo test -p unravel --test first_screen` rewrites them: read what changes.
//!
//! Numbers of schedules are left out, since they say nothing of the bug. The same sentence has to be in every report.

#[path = "../support/mod.rs"]
mod support;

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;
use support::{FINDING, corpus, directory, ended, unravel};

/// Columns of a terminal nobody has made wider.
const COLUMNS: &str = "80";
const MOST_LINES: usize = 60;

const PROGRAMS: [&str; 31] = [
    "atomicity/bank/bank.c",
    "explained/cache_evict/cache_evict.c",
    "atomicity/double_checked/double_checked.c",
    "atomicity/atomic_seats/atomic_seats.c",
    "cpp/mailbox/mailbox.cpp",
    "cpp/throwing_section/throwing_section.cpp",
    "cpp/inventory/inventory.cpp",
    "data-race/counter_seq/counter_seq.c",
    "deadlock/philosophers/philosophers.c",
    "deadlock/ctrace/ctrace.c",
    "deadlock/early_return/early_return.c",
    "environment/if_wait/if_wait.c",
    "environment/cond_timeout_first/cond_timeout_first.c",
    "environment/trylock_unchecked/trylock_unchecked.c",
    "explained/token_bucket/token_bucket.c",
    "explained/quota/quota.c",
    "explained/quiet_till/quiet_till.c",
    "explained/nested_wait/nested_wait.cpp",
    "explained/join_all_but_one/join_all_but_one.c",
    "explained/config_late/config_late.c",
    "explained/turn_signal/turn_signal.c",
    "explained/tea_tray/tea_tray.c",
    "explained/shared_buffer/shared_buffer.c",
    "figures/tinertia-1/tinertia-1.c",
    "multi-variable/twostage/twostage.c",
    "order/missing_join/missing_join.c",
    "order/reorder/reorder.c",
    "real/apache-25520/apache-25520.c",
    "real/transmission-1.42/transmission-1.42.c",
    "sync/lost_wakeup/lost_wakeup.c",
    "explained/locked_farewell/locked_farewell.c",
];

/// What `explain` prints, and the JSON and SARIF that it writes.
fn explained(program: &str) -> (String, Value, String) {
    let path = corpus(program);
    let name = Path::new(&path).file_stem().expect("a file").to_string_lossy().into_owned();
    let directory = directory(&format!("first-screen-{name}"));
    let arguments = ["explain", &path, "--repair-time", "0s", "--schedules", "600"];
    let mut command = unravel(&directory, &arguments);
    let output = command.env("COLUMNS", COLUMNS).output().expect("unravel runs");
    let text = ended(&output, &arguments, FINDING);
    let read = |end: &str| {
        let file = directory.join("unravel-out").join(format!("{name}.{end}"));
        std::fs::read_to_string(file).expect("a report")
    };
    let json = serde_json::from_str(&read("json")).expect("JSON");
    (text, json, read("sarif"))
}

/// Up to the two runs, without what counts schedules.
fn first_screen(text: &str) -> String {
    let is_counted = |line: &&str| line.starts_with("  if that holds, none of ");
    let lines = text.lines().take_while(|line| !line.starts_with("How it fails"));
    let lines = lines.filter(|line| !is_counted(line));
    lines.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

#[test]
fn it_tells_the_bug() {
    let mut told = String::new();
    for program in PROGRAMS {
        let (text, json, sarif) = explained(program);
        let bugs = json["bugs"].as_array().expect("bugs");
        let causes = bugs.iter().filter(|bug| bug["same_cause_as"].is_null()).count();
        let lines = text.lines().count();
        assert!(lines <= MOST_LINES * causes, "{program}: {lines} lines:\n{text}");
        let is_command = |line: &str| line.contains(" unravel ") || line.starts_with("  page ");
        let wide = text.lines().find(|line| line.chars().count() > 80 && !is_command(line));
        assert_eq!(wide, None, "{program}: wider than the terminal");
        let summary = bugs[0]["summary"].as_str().expect("the cause is known");
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&text).contains(&words(summary)), "{program}: {summary}\n{text}");
        let escaped = serde_json::to_string(summary).expect("a string");
        assert!(sarif.contains(escaped.trim_matches('"')), "{program}: {summary}");
        write!(told, "== {program}\n{}\n\n", first_screen(&text)).expect("a String");
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/first_screen/told.txt");
    if std::env::var_os("UPDATE_SCREENS").is_some() {
        std::fs::write(&file, &told).expect("it is written");
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    let sections = |text: &str| text.split("== ").map(str::to_owned).collect::<Vec<_>>();
    for (now, before) in sections(&told).iter().zip(&sections(&committed)) {
        assert_eq!(
            now, before,
            "UPDATE_SCREENS=1 cargo test -p unravel --test first_screen rewrites it"
        );
    }
    assert_eq!(told.len(), committed.len());
}
