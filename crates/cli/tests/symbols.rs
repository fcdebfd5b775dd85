//! Functions that the sources do not have: whose they may be, and what is said of those that are nobody's.

mod support;

use support::{FINDING, INCONCLUSIVE, NOTHING, directory, says, unravel, write};

/// Functions of libraries that this process has loaded for itself, by way of LLVM.
const FOREIGN: &str = "\
#include <stdio.h>
unsigned lzma_version_number(void);
const char *zlibVersion(void);
unsigned ZSTD_versionNumber(void);
int main(int argc, char **argv) {
    if (argc > 1) printf(\"%u %s\\n\", lzma_version_number(), zlibVersion());
    if (argc > 2) return ZSTD_versionNumber() != 0;
    return 0;
}
";

#[test]
fn what_this_process_has_loaded_is_not_the_programs() {
    let directory = directory("symbols-foreign");
    write(&directory, "foreign.c", FOREIGN);
    let out = says(&directory, &["find", "foreign.c", "--", "x"], INCONCLUSIVE);
    assert!(
        out.contains("the function 'lzma_version_number' is not known at foreign.c:6"),
        "{out}"
    );
}

#[test]
fn all_that_is_missing_is_listed_with_its_places() {
    let directory = directory("symbols-list");
    write(&directory, "foreign.c", FOREIGN);
    let out = says(&directory, &["find", "foreign.c"], NOTHING);
    for name in
        ["lzma_version_number (called at foreign.c:6)", "zlibVersion (called at foreign.c:6)"]
    {
        assert!(out.contains(name), "{out}");
    }
    assert!(out.contains("ZSTD_versionNumber (called at foreign.c:7)"), "{out}");
    assert!(out.contains("--stub"), "{out}");
    let output = unravel(&directory, &["run", "foreign.c"]).output().expect("unravel runs");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("zlibVersion (called at foreign.c:6)"), "{err}");
    let out = says(&directory, &["explain", "foreign.c", "--schedules", "20"], NOTHING);
    assert!(out.contains("ZSTD_versionNumber (called at foreign.c:7)"), "{out}");
}

/// Fails for a value of the stub that only some runs have.
const STUBBED: &str = "\
#include <assert.h>
int reading(void);
void announce(int value);
char *title(void);
int main(void) {
    int value = reading();
    announce(value);
    assert(title() == 0);
    assert(value != 3);
    return 0;
}
";

#[test]
fn stubs_return_any_value_and_replay_with_it() {
    let directory = directory("symbols-stub");
    write(&directory, "stubbed.c", STUBBED);
    says(&directory, &["find", "stubbed.c"], INCONCLUSIVE);
    let stubs = ["--stub", "reading", "--stub", "announce", "--stub", "title"];
    let out = says(&directory, &[&["find", "stubbed.c"], &stubs[..]].concat(), FINDING);
    assert!(out.contains("assertion 'value != 3' failed"), "{out}");
    assert!(out.contains("replayed: fails again"), "{out}");
    assert!(!out.contains("no source and no library"), "{out}");
    let out = says(&directory, &["replay", "unravel-out/stubbed-assertion-1.trace"], FINDING);
    assert!(out.contains("replayed: the same run"), "{out}");
}

#[test]
fn stubs_stand_in_the_configuration() {
    let directory = directory("symbols-toml");
    write(&directory, "stubbed.c", STUBBED);
    write(&directory, "unravel.toml", "[build]\nstubs = [\"reading\", \"announce\", \"title\"]\n");
    says(&directory, &["find", "stubbed.c"], FINDING);
}

#[test]
fn a_stub_for_what_is_there_is_told() {
    let directory = directory("symbols-idle");
    write(&directory, "plain.c", "#include <stdlib.h>\nint main(void) { return abs(0); }\n");
    let out = says(&directory, &["find", "plain.c", "--stub", "abs"], NOTHING);
    assert!(out.contains("not stubbed") && out.contains("abs"), "{out}");
}
