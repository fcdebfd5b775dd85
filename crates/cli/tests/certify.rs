//! `unravel certify`: certificates are read back and checked; damaged ones, and those of another run, are refused.

mod support;

use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{ERROR, FINDING, NOTHING, directory, says, write};

/// A program of two threads that lose an update; `also` is one more access of each.
fn program(also: &str) -> String {
    format!(
        "#include <assert.h>\n#include <pthread.h>\nstatic int sum, more;\n\
         static void *add(void *a) {{ {also} int seen = sum; sum = seen + 1; return a; }}\n\
         int main(void) {{\npthread_t t[2];\n\
         for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, add, 0);\n\
         for (int i = 0; i < 2; i++) pthread_join(t[i], 0);\n\
         assert(sum == 2);\nreturn more > 9;\n}}\n"
    )
}

/// A diagnosed trace, and its certificates.
fn certified(directory: &Path, name: &str, also: &str) -> (String, Vec<PathBuf>) {
    write(directory, &format!("{name}.c"), &program(also));
    says(directory, &["find", &format!("{name}.c"), "--out", "out"], FINDING);
    let trace = format!("out/{name}-assertion-1.trace");
    let proofs = format!("{name}-proofs");
    says(directory, &["diagnose", &trace, &format!("--certify={proofs}")], FINDING);
    let entries = std::fs::read_dir(directory.join(&proofs)).expect("a directory");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "there is something to certify");
    (trace, files)
}

#[test]
fn certificates_are_read_back_and_damaged_ones_refused() {
    let directory = directory("certify");
    let (trace, files) = certified(&directory, "sum", "");
    let (_, others) = certified(&directory, "other", "more = 1;");
    let file = files[0].to_string_lossy().into_owned();
    let said = says(&directory, &["certify", &trace, &file], NOTHING);
    assert!(said.contains(": certified ("), "{said}");
    let said = says(&directory, &["certify", &trace, &file, "--json"], NOTHING);
    let said: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(said["certificates"][0]["kind"], "certified", "{said}");

    let text = std::fs::read_to_string(&files[0]).expect("a certificate");
    // A clause that claims more than its rule: the last of its literals is gone.
    let damaged: String = text
        .lines()
        .map(|line| match line.starts_with("c ") {
            true => format!("{}\n", line.rsplit_once(' ').map_or(line, |(rest, _)| rest)),
            false => format!("{line}\n"),
        })
        .collect();
    write(&directory, "damaged.certificate", &damaged);
    let said = says(&directory, &["certify", &trace, "damaged.certificate"], FINDING);
    assert!(said.contains("refused: line "), "{said}");

    let other = others[0].to_string_lossy().into_owned();
    let said = says(&directory, &["certify", &trace, &other], FINDING);
    assert!(said.contains("it is about another model"), "{said}");
    says(&directory, &["certify", &trace, "nothing.certificate"], ERROR);
}

#[test]
fn an_explanation_says_what_is_certified() {
    let directory = directory("certify-explain");
    write(&directory, "sum.c", &program(""));
    let arguments = ["explain", "sum.c", "--json", "--certify", "--repair-time=0s"];
    let said: Value = serde_json::from_str(&says(&directory, &arguments, FINDING)).expect("JSON");
    let diagnosis = &said["bugs"][0]["diagnosis"];
    let certified = &diagnosis["certified"];
    assert_eq!(certified["refused"], serde_json::json!([]), "{certified}");
    assert!(certified["claims"].as_u64() > Some(0), "{certified}");
    assert_eq!(certified["root_cause"]["kind"], "certified", "{certified}");
}
