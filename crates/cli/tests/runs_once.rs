//! A program runs as often as the command says, and what is told as a finding happens again.

mod support;

use support::{FINDING, INCONCLUSIVE, NOTHING, directory, says, write};

/// Two threads that share a variable, with something done at the end.
fn program(end: &str) -> String {
    format!(
        "#define _GNU_SOURCE\n#include <assert.h>\n#include <dirent.h>\n#include <fcntl.h>\n#include <pthread.h>\n\
         #include <stdio.h>\n#include <stdlib.h>\n#include <sys/stat.h>\n#include <unistd.h>\n\
         static int x;\nstatic void *work(void *a) {{ x++; return 0; }}\n\
         int main(void) {{\n    pthread_t t;\n    pthread_create(&t, 0, work, 0);\n    x++;\n    pthread_join(t, 0);\n    \
         {end}\n    return 0;\n}}\n"
    )
}

#[test]
fn run_runs_the_program_once() {
    let directory = directory("runs-once");
    let end = "FILE *f = fopen(\"runs.txt\", \"a\"); fputs(\"run\\n\", f); fclose(f);";
    write(&directory, "append.c", &program(end));
    for strategy in ["run-to-block", "random", "exhaustive"] {
        let _ = std::fs::remove_file(directory.join("runs.txt"));
        let arguments = ["run", "append.c", "--strategy", strategy, "-o", "a.trace"];
        says(&directory, &arguments, NOTHING);
        let runs = std::fs::read_to_string(directory.join("runs.txt")).expect("it ran");
        assert_eq!(runs, "run\n", "{strategy}");
        let replayed = says(&directory, &["replay", "a.trace"], NOTHING);
        assert!(replayed.contains("the same run"), "{replayed}");
        let runs = std::fs::read_to_string(directory.join("runs.txt")).expect("it ran");
        assert_eq!(runs, "run\nrun\n", "{strategy}");
    }
}

#[test]
fn what_does_not_fail_again_is_no_finding() {
    let directory = directory("seen-once");
    // The first run alone can make the directory.
    write(&directory, "once.c", &program("assert(mkdir(\"made\", 0700) != 0);"));
    let arguments = ["find", "once.c", "--schedules", "200"];
    let found = says(&directory, &arguments, INCONCLUSIVE);
    assert!(found.contains("was seen once, in schedule 1, and did not fail again"), "{found}");
    assert!(!found.contains("no failure") && !found.contains("replay it"), "{found}");
    std::fs::remove_dir(directory.join("made")).expect("it was made");
    let arguments = ["find", "once.c", "--schedules", "200", "--json"];
    let json: serde_json::Value =
        serde_json::from_str(&says(&directory, &arguments, INCONCLUSIVE)).expect("JSON");
    assert_eq!(json["findings"].as_array().map(Vec::len), Some(0), "{json}");
    assert_eq!(json["inconclusive"], 1, "{json}");
    std::fs::remove_dir(directory.join("made")).expect("it was made");
    let arguments = ["explain", "once.c", "--schedules", "200", "--repair-time", "0s"];
    let explained = says(&directory, &arguments, INCONCLUSIVE);
    assert!(explained.contains("did not fail"), "{explained}");
}

/// What the program does to its own files must not reach ours, nor the next run.
#[test]
fn closing_everything_is_no_failure() {
    let directory = directory("closes-everything");
    let ends = [
        "FILE *f = fdopen(1, \"w\"); assert(f); fputs(\"z\\n\", f); fclose(f);",
        "FILE *f = fdopen(2, \"w\"); assert(f); fputs(\"z\\n\", f); fclose(f);",
        "for (int i = 3; i < 256; i++) close(i); \
         int f = open(\"t.txt\", O_CREAT | O_WRONLY, 0600); assert(f >= 0); assert(close(f) == 0);",
        "close_range(3, 255, 0); assert(open(\"t.txt\", O_CREAT | O_WRONLY, 0600) >= 0);",
        "closefrom(3); assert(open(\"t.txt\", O_CREAT | O_WRONLY, 0600) >= 0);",
        "puts(\"a\"); fclose(stdin); fclose(stdout); fclose(stderr);",
        "puts(\"a\"); close(0); close(1); close(2);",
        "FILE *f = fopen(\"t.txt\", \"w\"); fputs(\"a\", f); fcloseall();",
        "FILE *f = fopen(\"t.txt\", \"w\"); char *b = malloc(999); setvbuf(f, b, _IOFBF, 999); \
         fputs(\"a\", f); fflush(f); free(b);",
        "char *p; size_t n; FILE *f = open_memstream(&p, &n); fputs(\"abc\", f); fclose(f); free(p);",
    ];
    for end in ends {
        write(&directory, "closes.c", &program(end));
        let text = says(&directory, &["find", "closes.c", "--schedules", "100"], NOTHING);
        assert!(text.contains("no failure"), "{end}: {text}");
        says(&directory, &["run", "closes.c"], NOTHING);
    }
}

#[test]
fn a_finding_is_in_a_schedule_that_was_tried() {
    let directory = directory("numbers");
    // Few classes, so that systematic searches are over soon and leave their numbers unused.
    write(&directory, "few.c", &program("assert(x == 2);"));
    for seed in ["1", "2", "3", "4"] {
        let arguments = ["find", "few.c", "--all", "--schedules", "3000", "--json", "--seed", seed];
        let json: serde_json::Value =
            serde_json::from_str(&says(&directory, &arguments, FINDING)).expect("JSON");
        let schedules = json["schedules"].as_u64().expect("a number");
        for finding in json["findings"].as_array().expect("a list") {
            assert!(finding["schedule"].as_u64().expect("a number") <= schedules, "{json}");
            assert_eq!(finding["replayed"], true, "{json}");
        }
    }
}
