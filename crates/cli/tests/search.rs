//! Searches as a user has them: every strategy, the same with any number of workers, in parts, to the end.

mod support;

use serde_json::Value;
use support::{ERROR, FINDING, NOTHING, corpus, directory, says, unravel, write};

fn json(text: &str) -> Value {
    let last = text.lines().last().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// `find --json` with these flags.
fn find(directory: &std::path::Path, program: &str, flags: &[&str], code: i32) -> Value {
    let arguments = [&["find", program, "--json", "--out", "out"], flags].concat();
    json(&says(directory, &arguments, code))
}

/// The bugs of a search: the number of the schedule, kind and message.
fn bugs(search: &Value) -> Vec<(u64, String)> {
    let findings = search["findings"].as_array().expect("a list");
    let bug = |finding: &Value| {
        let outcome = &finding["run"]["outcome"];
        (
            finding["schedule"].as_u64().unwrap_or(0),
            format!("{} {}", outcome["kind"], outcome["message"]),
        )
    };
    findings.iter().map(bug).collect()
}

#[test]
fn every_strategy_finds_the_lost_update() {
    let place = directory("search-strategies");
    let bank = corpus("atomicity/bank/bank.c");
    for strategy in [
        "portfolio",
        "random",
        "pct",
        "pct:3",
        "pos",
        "uniform",
        "race-directed",
        "atomicity-directed",
        "deadlock-directed",
        "segments",
        "rounds",
        "bounded",
        "bounded:1",
        "exhaustive",
        "round-robin",
    ] {
        let found = find(&place, &bank, &["--strategy", strategy, "--schedules", "5000"], FINDING);
        assert_eq!(found["strategy"], strategy);
        assert_eq!(found["findings"][0]["replayed"], true, "{strategy}");
    }
    says(&place, &["find", &bank, "--strategy", "luck"], ERROR);
}

#[test]
fn the_number_of_workers_does_not_matter() {
    let place = directory("search-workers");
    for program in
        ["order/preempt_3/preempt_3.c", "order/aba_stack/aba_stack.c", "cpp/refcount/refcount.cpp"]
    {
        let program = corpus(program);
        let of = |jobs: &str| {
            bugs(&find(&place, &program, &["--schedules", "3000", "--jobs", jobs], FINDING))
        };
        assert_eq!(of("1"), of("4"), "{program}");
    }
}

/// Three parts together, beside the whole.
fn in_parts(test: &str, program: &str, flags: &[&str], code: i32) -> (Value, Value) {
    let place = directory(test);
    let whole = find(&place, program, flags, code);
    for part in ["1/3", "2/3", "3/3"] {
        let arguments = [&["find", program, "--out", "parts", "--quiet", "--shard", part], flags];
        let output = unravel(&place, &arguments.concat()).output().expect("unravel runs");
        assert!(matches!(output.status.code(), Some(0 | 1)), "part {part}");
    }
    let merged =
        json(&says(&place, &["merge-findings", "parts", "--json", "--out", "merged"], code));
    assert_eq!(merged["missing"], serde_json::json!([]));
    (whole, merged)
}

#[test]
fn parts_sample_what_the_whole_samples() {
    for strategy in ["random", "pos", "pct"] {
        let flags = ["--strategy", strategy, "--schedules", "700", "--all"];
        let program = corpus("cpp/settings/settings.cpp");
        let test = format!("search-parts-{strategy}");
        let (whole, merged) = in_parts(&test, &program, &flags, FINDING);
        assert!(bugs(&whole).len() > 1, "{strategy}: a program with several bugs");
        assert_eq!(bugs(&whole), bugs(&merged), "{strategy}");
        assert_eq!(whole["classes"], merged["classes"], "{strategy}");
        assert_eq!(whole["reads_from"], merged["reads_from"], "{strategy}");
    }
}

#[test]
fn parts_explore_all_that_the_whole_explores() {
    let program = corpus("path-dependent/exmcr/fixed.c");
    let (whole, merged) =
        in_parts("search-parts-exhaustive", &program, &["--strategy", "exhaustive"], NOTHING);
    for search in [&whole, &merged] {
        assert_eq!(search["stopped"], "exhausted");
    }
    assert_eq!(whole["classes"], merged["classes"]);
}

#[test]
fn parts_that_do_not_belong_together_are_refused() {
    let place = directory("search-parts-wrong");
    let bank = corpus("atomicity/bank/fixed.c");
    let part = |shard: &str, seed: &str, out: &str| {
        let flags = ["--shard", shard, "--seed", seed, "--schedules", "100", "--out", out];
        says(&place, &[&["find", &bank, "--strategy", "random"], &flags[..]].concat(), NOTHING);
    };
    part("1/2", "1", "one");
    part("2/2", "2", "other-seed");
    part("1/2", "1", "again");
    says(&place, &["merge-findings", "one", "other-seed"], ERROR);
    says(&place, &["merge-findings", "one", "again"], ERROR);
    says(&place, &["merge-findings", "."], ERROR);
    let alone = says(&place, &["merge-findings", "one"], NOTHING);
    assert!(alone.contains("part 2/2 is missing"), "{alone}");
    for wrong in ["0/2", "3/2", "x"] {
        says(&place, &["find", &bank, "--shard", wrong], ERROR);
    }
}

#[test]
fn a_small_program_is_explored_to_the_end() {
    let place = directory("search-end");
    // Three critical sections, in any order.
    let twin = corpus("order/reorder/fixed.c");
    let said = says(&place, &["find", &twin], NOTHING);
    assert!(said.contains("no failure: all 6 classes of schedules explored"), "{said}");
    assert_eq!(find(&place, &twin, &[], NOTHING)["stopped"], "exhausted");
}

#[test]
fn what_depends_on_input_is_not_explored_to_the_end() {
    let place = directory("search-nondet");
    let program = "#include <pthread.h>\nextern int __VERIFIER_nondet_int(void);\nint x;\n\
        static void *t(void *a) { x = 1; return a; }\n\
        int main(void) { pthread_t p; pthread_create(&p, 0, t, 0);\n\
        if (__VERIFIER_nondet_int() == 77) x = 2;\n pthread_join(p, 0); return 0; }\n";
    write(&place, "input.c", program);
    let search = find(&place, "input.c", &["--schedules", "300"], NOTHING);
    assert_eq!(search["stopped"], "schedules");
}

#[test]
fn a_search_says_whether_more_of_it_pays() {
    let place = directory("search-coverage");
    let said = says(
        &place,
        &[
            "find",
            &corpus("order/reorder_10/fixed.c"),
            "--strategy",
            "random",
            "--schedules",
            "600",
        ],
        NOTHING,
    );
    assert!(
        said.contains("classes of schedules") && said.contains("more searching pays"),
        "{said}"
    );
    let program = corpus("atomicity/account/fixed.c");
    let said =
        says(&place, &["find", &program, "--strategy", "random", "--schedules", "3000"], NOTHING);
    assert!(said.contains("brings hardly anything new"), "{said}");
}

/// Two threads that take more steps than the first runs of a search may, and then fail.
const LONG: &str = r#"
#include <assert.h>
#include <pthread.h>
static volatile int rounds;
static void *work(void *arg)
{
    for (int i = 0; i < 200000; i++)
        rounds = i;
    return arg;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    assert(rounds == 0);
    return 0;
}
"#;

#[test]
fn a_run_that_was_cut_short_is_none_of_those_asked_for() {
    let directory = directory("search-put-off");
    write(&directory, "long.c", LONG);
    for strategy in ["portfolio", "uniform"] {
        let search = find(
            &directory,
            "long.c",
            &["--schedules", "1", "--jobs", "1", "--strategy", strategy],
            FINDING,
        );
        assert_eq!(bugs(&search).len(), 1, "{strategy}: {search}");
    }
}
