//! Programs with several bugs at once. A run ends at its first failure, so each bug hides the others, and a schedule in which one of
//! them is kept away often fails by another: each has to be told as if it were alone.

mod support;

use serde_json::Value;
use support::{FINDING, directory, says, write};

/// The root causes by the names of the bugs; those that have the cause of another are left out.
fn causes(name: &str, program: &str) -> Vec<(String, Value)> {
    let directory = directory(&format!("told-apart-{name}"));
    write(&directory, name, program);
    let said = says(&directory, &["explain", name, "--json", "--repair-time=0s"], FINDING);
    let said: Value = serde_json::from_str(&said).expect("JSON");
    let bugs = said["bugs"].as_array().expect("bugs").iter();
    bugs.filter(|bug| bug["same_cause_as"].is_null())
        .map(|bug| {
            (
                bug["bug"].as_str().expect("a name").to_owned(),
                bug["diagnosis"]["root_cause"].clone(),
            )
        })
        .collect()
}

/// One of the bugs is called so, is of this pattern, and its sentence and advice have these words.
#[track_caller]
fn told(causes: &[(String, Value)], bug: &str, pattern: &str, words: &[&str]) {
    let is_it = |(name, _): &&(String, Value)| name.contains(bug);
    let (_, cause) = causes.iter().find(is_it).unwrap_or_else(|| panic!("{bug}: {causes:#?}"));
    assert_eq!(cause["pattern"], pattern, "{cause:#}");
    let text = format!("{} {}", cause["sentence"], cause["advice"]);
    for word in words {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn a_flag_a_stock_and_a_count() {
    let causes = causes("fair_board.c", include_str!("told_apart/fair_board.c"));
    told(&causes, ":46", "early-publication", &[":36 should come before fair_board.c:35"]);
    told(&causes, ":28", "check-then-act", &["fair_board.c:24 to fair_board.c:25", "atomic"]);
    told(&causes, ":60", "lost-update", &["fair_board.c:18 should be one atomic step"]);
}

#[test]
fn a_bed_two_keys_and_a_count() {
    let causes = causes("night_ward.cc", include_str!("told_apart/night_ward.cc"));
    told(&causes, ":29", "check-then-act", &["ward.beds", "night_ward.cc:24 to night_ward.cc:25"]);
    told(&causes, "deadlock", "deadlock", &["same order: ward.lift, ward.store"]);
    told(&causes, ":51", "lost-update", &["night_ward.cc:44 should be one atomic step"]);
}

#[test]
fn five_bugs() {
    let causes = causes("market.c", include_str!("told_apart/market.c"));
    told(&causes, ":44", "early-publication", &["market.c:38 should come before market.c:37"]);
    told(&causes, ":54", "check-then-act", &["market.c:50 to market.c:51", "atomic"]);
    told(&causes, "deadlock", "deadlock", &["same order: a, b"]);
    told(&causes, ":79", "lost-update", &["hits", "one atomic step"]);
}

/// Freed twice, used after that, or a null pointer: what keeps only one of them away leaves the others.
#[test]
fn one_bug_in_three_ways_beside_others() {
    let causes = causes("last_names.c", include_str!("told_apart/last_names.c"));
    told(&causes, "double-free", "double-free", &["last_names.c:37 to last_names.c:40 should be"]);
    told(&causes, "deadlock", "deadlock", &["same order: a, b"]);
    told(&causes, ":56", "lost-update", &["hits", "one atomic step"]);
    assert_eq!(causes.len(), 3, "{causes:#?}");
}
