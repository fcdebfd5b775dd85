//! Rounds of a busy wait that change nothing are skipped in every search, and nothing is lost by it.

mod support;

use serde_json::Value;
use support::{FINDING, NOTHING, directory, says, write};

fn search(test: &str, name: &str, source: &str, strategy: &str, code: i32) -> Value {
    let place = directory(&format!("busy-waits-{test}-{strategy}"));
    write(&place, name, source);
    let mut arguments = vec!["find", name, "--json", "-j", "1", "--schedules", "20000"];
    arguments.extend(["--strategy", strategy]);
    if name.ends_with("cpp") {
        arguments.extend(["--cflag=-std=c++20"]);
    }
    let text = says(&place, &arguments, code);
    serde_json::from_str(text.lines().last().unwrap_or_default()).expect("an answer in JSON")
}

/// Two threads count a latch down that the main thread waits for.
fn latch(count: u32) -> String {
    format!(
        "#include <latch>\n#include <thread>\n#include <cassert>\n\
         std::latch done({count});\nint x, y;\n\
         int main() {{\n\
           std::thread a([] {{ x = 1; done.count_down(); }});\n\
           std::thread b([] {{ y = 1; done.count_down(); }});\n\
           done.wait();\n  assert(x == 1 && y == 1);\n  a.join();\n  b.join();\n}}\n"
    )
}

#[test]
fn waits_of_the_library_are_explored_to_the_end_at_once() {
    for strategy in ["exhaustive", "portfolio"] {
        let explored = search("latch", "latch.cpp", &latch(2), strategy, NOTHING);
        assert_eq!(explored["stopped"], "exhausted", "{explored}");
        let schedules = explored["schedules"].as_u64().expect("a number");
        assert!(schedules < 6000, "{schedules}: each look of the library counts");
    }
}

#[test]
fn what_a_wait_lets_through_too_early_is_found() {
    // Nobody needs the second.
    for strategy in ["exhaustive", "portfolio", "random", "pct"] {
        let found = search("early", "latch.cpp", &latch(1), strategy, FINDING);
        assert!(found["findings"][0]["replayed"] == true, "{strategy}: {found}");
    }
}

#[test]
fn a_thread_that_the_library_puts_to_sleep_may_sleep_for_ever() {
    let source = "#include <atomic>\n#include <thread>\nstd::atomic<int> go{0};\n\
                  int main() {\n  std::thread a([] { go.wait(0); });\n  go.store(1);\n  a.join();\n}\n";
    for strategy in ["exhaustive", "portfolio", "random"] {
        let found = search("asleep", "asleep.cpp", source, strategy, FINDING);
        let text = found.to_string();
        assert!(text.contains("deadlock"), "{strategy}: {text}");
    }
}

#[test]
fn a_loop_of_the_users_own_may_count_its_rounds() {
    let source = "#include <pthread.h>\n#include <sched.h>\n#include <assert.h>\n\
                  static volatile int ready;\n\
                  static void *set(void *a) { ready = 1; return a; }\n\
                  int main(void) {\n  pthread_t t;\n  int seen = 0;\n\
                    pthread_create(&t, 0, set, 0);\n\
                    for (int i = 0; i < 4; i++) {\n    seen += ready;\n    sched_yield();\n  }\n\
                    pthread_join(t, 0);\n  assert(seen != 1);\n  return 0;\n}\n";
    let found = search("counted", "counted.c", source, "exhaustive", FINDING);
    assert_eq!(found["findings"][0]["replayed"], true);
}

#[test]
fn who_waits_for_ever_is_told_so_by_every_strategy() {
    let source = "#include <pthread.h>\nstatic volatile int stop, done;\n\
                  static void *work(void *a) { while (!stop); done = 1; return a; }\n\
                  int main(void) {\n  pthread_t t;\n  pthread_create(&t, 0, work, 0);\n\
                    while (!done);\n  pthread_join(t, 0);\n  return 0;\n}\n";
    for strategy in ["random", "pct", "pos", "rounds", "exhaustive", "portfolio"] {
        let found = search("for-ever", "for_ever.c", source, strategy, FINDING);
        assert!(found.to_string().contains("livelock"), "{strategy}: {found}");
    }
}
