//! Two files with one base name: bugs at the same line of both are two bugs, wherever bugs are told of or put aside.

mod support;

use std::path::{Path, PathBuf};

use serde_json::Value;

use support::{FINDING, NOTHING, directory, says, write};

/// Two threads that may lose two updates; each is noticed in a file of its own.
const MAIN: &str = r#"
#include <pthread.h>
void check_apples(int seen);
void check_pears(int seen);
static int apples, pears;
static void *add(void *arg)
{
    apples = apples + 1;
    pears = pears + 1;
    return arg;
}
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, add, NULL);
    pthread_create(&b, NULL, add, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    check_apples(apples);
    check_pears(pears);
    return 0;
}
"#;
const CHECK: &str =
    "#include <assert.h>\nvoid check_FRUIT(int seen)\n{\n    assert(seen == 2);\n}\n";
const SOURCES: [&str; 3] = ["main.c", "d1/util.c", "d2/util.c"];
const APPLES: &str = "assertion at d1/util.c:4";
const PEARS: &str = "assertion at d2/util.c:4";

fn program(test: &str) -> PathBuf {
    let directory = directory(test);
    write(&directory, "main.c", MAIN);
    for (folder, fruit) in [("d1", "apples"), ("d2", "pears")] {
        std::fs::create_dir(directory.join(folder)).expect("a folder");
        write(&directory, &format!("{folder}/util.c"), &CHECK.replace("FRUIT", fruit));
    }
    directory
}

fn said(directory: &Path, command: &str, flags: &[&str], code: i32) -> String {
    says(directory, &[&[command][..], &SOURCES, flags].concat(), code)
}

fn json(directory: &Path, command: &str, flags: &[&str], code: i32) -> Value {
    let text = said(directory, command, &[flags, &["--json"]].concat(), code);
    serde_json::from_str(&text).expect("JSON")
}

/// The texts at a path in each element of a list, sorted.
fn texts<'v>(list: &'v Value, path: &str) -> Vec<&'v str> {
    let list = list.as_array().expect("a list").iter();
    let mut texts: Vec<&str> =
        list.map(|of| of.pointer(path).and_then(Value::as_str).expect(path)).collect();
    texts.sort_unstable();
    texts
}

#[test]
fn find_reports_both() {
    let directory = program("same-name-find");
    let flags = ["--all", "--schedules", "2000"];
    let found = json(&directory, "find", &flags, FINDING);
    assert_eq!(texts(&found["findings"], "/run/outcome/bug"), [APPLES, PEARS]);
    assert_eq!(texts(&found["findings"], "/run/outcome/at"), ["d1/util.c:4", "d2/util.c:4"]);
    let text = said(&directory, "find", &flags, FINDING);
    assert!(text.contains("at d1/util.c:4 in check_apples"), "{text}");
    assert!(text.contains("at d2/util.c:4 in check_pears"), "{text}");
    assert!(text.contains("at main.c:19 in main"), "as short as can be: {text}");
}

#[test]
fn parts_of_a_search_find_both() {
    let directory = program("same-name-parts");
    for part in ["1/2", "2/2"] {
        let flags = ["--all", "--schedules", "2000", "--shard", part];
        said(&directory, "find", &flags, FINDING);
    }
    let merged = says(&directory, &["merge-findings", "unravel-out", "--json"], FINDING);
    let merged: Value = serde_json::from_str(&merged).expect("JSON");
    assert_eq!(texts(&merged["findings"], "/run/outcome/bug"), [APPLES, PEARS]);
}

#[test]
fn explain_shows_each_at_its_own_place() {
    let directory = program("same-name-explain");
    let quick = ["--repair-time=0s"];
    let explained = json(&directory, "explain", &quick, FINDING);
    let bugs = &explained["bugs"];
    assert_eq!(texts(bugs, "/bug"), [APPLES, PEARS]);
    assert_eq!(texts(bugs, "/failure/bug"), [APPLES, PEARS]);
    assert_eq!(texts(bugs, "/diagnosis/failure/bug"), [APPLES, PEARS]);
    assert_eq!(texts(bugs, "/suppress/site"), ["d1/util.c:4", "d2/util.c:4"]);
    for bug in bugs.as_array().expect("bugs") {
        let (name, message) =
            (bug["bug"].as_str(), bug["failure"]["stack"][0]["function"].as_str());
        let own = if name == Some(APPLES) { "check_apples" } else { "check_pears" };
        assert_eq!(message, Some(own), "its own stack");
        assert_eq!(bug["same_cause_as"], Value::Null, "another variable");
    }
    let text = said(&directory, "explain", &quick, FINDING);
    for words in ["Bug 2 of 2", "d1/util.c:4 in check_apples", "d2/util.c:4 in check_pears"] {
        assert!(text.contains(words), "{words} is missing in:\n{text}");
    }
    let brief = said(&directory, "explain", &["-q", quick[0]], FINDING);
    assert!(brief.contains(APPLES) && brief.contains(PEARS), "{brief}");
    let page = std::fs::read_to_string(directory.join("unravel-out/main.html")).expect("a page");
    assert!(page.contains("site = &quot;d1/util.c:4&quot;"), "what puts this one aside");
}

#[test]
fn causes_lead_to_the_bug_they_lead_to() {
    let directory = program("same-name-causes");
    let causes = json(&directory, "causes", &["--time=60s"], FINDING);
    assert_eq!(texts(&causes["bugs"], "/bug"), [APPLES, PEARS]);
    let text = said(&directory, "causes", &["--time=60s"], FINDING);
    assert!(text.contains(APPLES) && text.contains(PEARS), "{text}");
}

/// What is left of the two bugs if this is put aside.
fn left(directory: &Path, site: &str) -> Vec<String> {
    let known =
        format!("[[suppress]]\nkind = \"assertion\"\nsite = \"{site}\"\nreason = \"known\"\n");
    write(directory, "unravel.toml", &known);
    let flags = ["--all", "--schedules", "2000", "--json"];
    let arguments = [&["find"][..], &SOURCES, &flags].concat();
    let output = support::unravel(directory, &arguments).output().expect("unravel runs");
    let code = output.status.code();
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let bugs = texts(&found["findings"], "/run/outcome/bug");
    assert_eq!(code, Some(if bugs.is_empty() { NOTHING } else { FINDING }));
    bugs.into_iter().map(str::to_owned).collect()
}

#[test]
fn a_suppression_names_the_end_of_a_path() {
    let directory = program("same-name-suppress");
    assert_eq!(left(&directory, "util.c:4"), [""; 0], "a short name means both");
    assert_eq!(left(&directory, "util.c"), [""; 0], "so does that of the whole file");
    // Alone, it needs no folder.
    assert_eq!(left(&directory, "d1/util.c:4"), ["assertion at util.c:4"]);
    assert_eq!(left(&directory, "d2/util.c"), ["assertion at util.c:4"]);
    assert_eq!(left(&directory, "til.c:4"), [APPLES, PEARS], "no whole component");
    assert_eq!(left(&directory, "util.c:5"), [APPLES, PEARS], "another line");
}

#[test]
fn another_build_in_another_folder_has_the_same_bugs() {
    let directory = program("same-name-moved");
    let flags = ["--all", "--schedules", "2000"];
    let found = json(&directory, "find", &flags, FINDING);
    std::fs::create_dir(directory.join("copy")).expect("a folder");
    for source in SOURCES {
        let target = directory.join("copy").join(source);
        std::fs::create_dir_all(target.parent().expect("in a folder")).expect("a folder");
        std::fs::copy(directory.join(source), target).expect("a copy");
    }
    let copies = SOURCES.map(|source| format!("copy/{source}"));
    let program: Vec<&str> = copies.iter().flat_map(|copy| ["--program", copy]).collect();
    for trace in texts(&found["findings"], "/trace") {
        let arguments = [&["replay", trace][..], &program].concat();
        let text = says(&directory, &arguments, FINDING);
        assert!(text.contains("the same run"), "{text}");
        says(&directory, &[&["simplify", trace][..], &program].concat(), FINDING);
        says(&directory, &[&["diagnose", trace][..], &program].concat(), FINDING);
    }
}
