//! `--races`: what races and what does not, and what a user sees of a race.

mod support;

use std::path::{Path, PathBuf};

use serde_json::Value;

use support::{FINDING, NOTHING, directory, ended, says, unravel, write};

const HEAD: &str = "#include <pthread.h>\n#include <semaphore.h>\n#include <stdatomic.h>\n\
    #include <stdlib.h>\n#include <string.h>\n";

/// Two threads of the functions `one` and `two`, joined.
const MAIN: &str = "int main(void) {\n    pthread_t a, b;\n    setup();\n    pthread_create(&a, 0, one, 0);\n    \
    pthread_create(&b, 0, two, 0);\n    pthread_join(a, 0);\n    pthread_join(b, 0);\n    return 0;\n}\n";

/// A program of two threads. Its own lines are counted from 6.
fn program(test: &str, body: &str) -> PathBuf {
    let directory = directory(&format!("races-{test}"));
    let setup = if body.contains("void setup(") { "" } else { "void setup(void) {}\n" };
    write(&directory, "program.c", &format!("{HEAD}{body}\n{setup}{MAIN}"));
    directory
}

/// What a search for races finds in a program.
fn findings(directory: &Path, name: &str, code: i32) -> Vec<Value> {
    let flags = ["find", "--races", "--all", "--schedules", "500", "--json", name];
    let answer: Value = serde_json::from_str(&says(directory, &flags, code)).expect("JSON");
    assert_eq!(answer["inconclusive"], 0, "{answer}");
    answer["findings"].as_array().expect("findings").clone()
}

fn is_quiet(test: &str, body: &str) {
    findings(&program(test, body), "program.c", NOTHING);
}

/// The bugs that are found: `data-race at program.c:7`.
fn bugs(test: &str, body: &str) -> Vec<String> {
    let found = findings(&program(test, body), "program.c", FINDING);
    let mut bugs: Vec<String> = found
        .iter()
        .map(|finding| {
            assert_eq!(finding["replayed"], true, "{finding}");
            finding["run"]["outcome"]["bug"].as_str().expect("a bug").to_owned()
        })
        .collect();
    bugs.sort();
    bugs
}

#[test]
fn a_race_is_told_with_both_stacks() {
    let body = "int counter;\nvoid bump(void) {\n    counter++;\n}\nvoid *one(void *p) {\n    bump();\n    \
        return p;\n}\nvoid *two(void *p) {\n    counter = 7;\n    return p;\n}";
    let directory = program("told", body);
    let text = says(&directory, &["find", "--races", "program.c"], FINDING);
    assert!(text.starts_with("data-race: "), "{text}");
    assert!(text.contains("'counter'") && text.contains("nothing orders them"), "{text}");
    for frame in ["at program.c:8 in bump", "at program.c:11 in one", "at program.c:15 in two"] {
        assert!(text.contains(frame), "no '{frame}' in\n{text}");
    }
    assert!(text.contains("by T0.1\n") || text.contains("by T0.2\n"), "{text}");
    let trace = "unravel-out/program-data-race-1.trace";
    let again = says(&directory, &["replay", "--times", "3", trace], FINDING);
    assert!(again.contains("replayed 3 times: the same run each time"), "{again}");
    let told = text.lines().next().expect("the failure");
    assert_eq!(again.lines().next(), Some(told), "the replay fails in the same way");
    // No order is the cause of a race: a diagnosis has no passing run to show, and needs none.
    let diagnosed = says(&directory, &["diagnose", trace], FINDING);
    assert!(diagnosed.contains("Root cause: data race"), "{diagnosed}");
    assert!(diagnosed.contains("holds no lock"), "{diagnosed}");
    assert!(diagnosed.contains("program.c:11 in one"), "both stacks are there: {diagnosed}");
    assert!(diagnosed.contains("program.c:15"), "both stacks are there: {diagnosed}");
    let run = support::unravel(&directory, &["run", "--races", "program.c"]).output();
    assert_eq!(run.expect("unravel runs").status.code(), Some(FINDING));
}

#[test]
fn a_race_inside_of_an_atomic_section_is_told_by_its_variable() {
    let body = "void __VERIFIER_atomic_begin(void);\nvoid __VERIFIER_atomic_end(void);\nint counter;\n\
        void *one(void *p) {\n    counter = 7;\n    return p;\n}\n\
        void *two(void *p) {\n    __VERIFIER_atomic_begin();\n    counter = 8;\n    \
        __VERIFIER_atomic_end();\n    return p;\n}";
    let directory = program("section", body);
    let mut inside = 0;
    for seed in 1..=8 {
        let flags = ["run", "--races", "--strategy", "random", "--seed", &seed.to_string()];
        let flags = [&flags[..], &["program.c"]].concat();
        let output = unravel(&directory, &flags).output().expect("unravel runs");
        ended(&output, &flags, FINDING);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("writes 'counter'"), "{text}");
        inside += usize::from(text.contains("T0.1 writes 'counter', T0.2 writes it"));
    }
    assert!(inside > 0, "the section never came second");
}

#[test]
fn without_the_flag_a_race_is_no_failure_and_a_trace_says_whether_it_is() {
    let body = "int x;\nvoid *one(void *p) {\n    x = 1;\n    return p;\n}\nvoid *two(void *p) {\n    x = 2;\n    \
        return p;\n}";
    let directory = program("flag", body);
    says(&directory, &["find", "--schedules", "200", "program.c"], NOTHING);
    write(&directory, "unravel.toml", "[search]\nraces = true\n");
    says(&directory, &["find", "--schedules", "200", "program.c"], FINDING);
    std::fs::remove_file(directory.join("unravel.toml")).expect("it was written");
    says(&directory, &["replay", "unravel-out/program-data-race-1.trace"], FINDING);
}

#[test]
fn the_two_directions_of_a_race_are_one_bug() {
    let body = "int x;\nvoid *one(void *p) {\n    x = 1;\n    return p;\n}\nvoid *two(void *p) {\n    x = 2;\n    \
        return p;\n}";
    assert_eq!(bugs("directions", body), ["data-race at program.c:8 and program.c:12"]);
}

#[test]
fn known_races_are_put_aside() {
    let body = "int x;\nvoid *one(void *p) {\n    x = 1;\n    return p;\n}\nvoid *two(void *p) {\n    x = 2;\n    \
        return p;\n}";
    let directory = program("aside", body);
    let aside =
        "[[suppress]]\nkind = \"data-race\"\nsite = \"program.c:12\"\nreason = \"benign\"\n";
    write(&directory, "unravel.toml", aside);
    findings(&directory, "program.c", NOTHING);
}

#[test]
fn locks_order() {
    is_quiet(
        "mutex",
        "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\nint x;\nvoid *one(void *p) {\n    pthread_mutex_lock(&m);\n    \
         x++;\n    pthread_mutex_unlock(&m);\n    return p;\n}\n#define two one",
    );
    is_quiet(
        "trylock",
        "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\nint x;\nvoid *one(void *p) {\n    \
         if (pthread_mutex_trylock(&m) == 0) {\n        x++;\n        pthread_mutex_unlock(&m);\n    }\n    return p;\n}\n\
         #define two one",
    );
    is_quiet(
        "spin",
        "pthread_spinlock_t m;\nint x;\nvoid setup(void) { pthread_spin_init(&m, 0); }\nvoid *one(void *p) {\n    \
         pthread_spin_lock(&m);\n    x++;\n    pthread_spin_unlock(&m);\n    return p;\n}\n#define two one",
    );
}

#[test]
fn a_lock_that_only_one_side_takes_does_not() {
    let body = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\nint x;\nvoid *one(void *p) {\n    \
        pthread_mutex_lock(&m);\n    x++;\n    pthread_mutex_unlock(&m);\n    return p;\n}\nvoid *two(void *p) {\n    \
        x = 2;\n    return p;\n}";
    assert_eq!(bugs("one-side", body), ["data-race at program.c:10 and program.c:15"]);
}

#[test]
fn readers_of_a_rwlock_may_read_but_not_write() {
    let lock = "pthread_rwlock_t m = PTHREAD_RWLOCK_INITIALIZER;\nint x;\n";
    is_quiet(
        "rwlock",
        &format!(
            "{lock}void *one(void *p) {{\n    pthread_rwlock_rdlock(&m);\n    int y = x;\n    \
             pthread_rwlock_unlock(&m);\n    return y ? p : 0;\n}}\nvoid *two(void *p) {{\n    one(p);\n    \
             pthread_rwlock_wrlock(&m);\n    x++;\n    pthread_rwlock_unlock(&m);\n    return p;\n}}"
        ),
    );
    let body = format!(
        "{lock}void *one(void *p) {{\n    pthread_rwlock_rdlock(&m);\n    x++;\n    pthread_rwlock_unlock(&m);\n    \
         return p;\n}}\n#define two one"
    );
    assert_eq!(bugs("readers", &body), ["data-race at program.c:10"]);
}

#[test]
fn atomic_operations_publish() {
    is_quiet(
        "publication",
        "int data;\natomic_int ready;\nvoid *one(void *p) {\n    data = 42;\n    atomic_store(&ready, 1);\n    return p;\n}\n\
         void *two(void *p) {\n    if (atomic_load(&ready)) data++;\n    return p;\n}",
    );
    // Runs are sequentially consistent: that a relaxed store publishes nothing is not seen, as the manual says.
    is_quiet(
        "relaxed",
        "int data;\natomic_int ready;\nvoid *one(void *p) {\n    data = 42;\n    \
         atomic_store_explicit(&ready, 1, memory_order_relaxed);\n    return p;\n}\nvoid *two(void *p) {\n    \
         if (atomic_load_explicit(&ready, memory_order_relaxed)) data++;\n    return p;\n}",
    );
}

#[test]
fn volatile_does_not() {
    let body = "int data;\nvolatile int ready;\nvoid *one(void *p) {\n    data = 42;\n    ready = 1;\n    return p;\n}\n\
        void *two(void *p) {\n    if (ready) data++;\n    return p;\n}";
    assert!(bugs("volatile", body).contains(&"data-race at program.c:10 and program.c:14".into()));
}

#[test]
fn condition_variables_semaphores_and_barriers_hand_over() {
    is_quiet(
        "condvar",
        "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\npthread_cond_t c = PTHREAD_COND_INITIALIZER;\nint ready, data;\n\
         void *one(void *p) {\n    data = 1;\n    pthread_mutex_lock(&m);\n    ready = 1;\n    pthread_cond_signal(&c);\n    \
         pthread_mutex_unlock(&m);\n    return p;\n}\nvoid *two(void *p) {\n    pthread_mutex_lock(&m);\n    \
         while (!ready) pthread_cond_wait(&c, &m);\n    pthread_mutex_unlock(&m);\n    data++;\n    return p;\n}",
    );
    is_quiet(
        "semaphore",
        "sem_t s;\nint data;\nvoid setup(void) { sem_init(&s, 0, 0); }\nvoid *one(void *p) {\n    data = 1;\n    \
         sem_post(&s);\n    return p;\n}\nvoid *two(void *p) {\n    sem_wait(&s);\n    data++;\n    return p;\n}",
    );
    is_quiet(
        "barrier",
        "pthread_barrier_t b;\nint x[2], y[2];\nvoid setup(void) { pthread_barrier_init(&b, 0, 2); }\n\
         void phases(int me) {\n    x[me] = 1;\n    pthread_barrier_wait(&b);\n    y[me] = x[1 - me];\n    \
         pthread_barrier_wait(&b);\n    x[1 - me] = y[me];\n}\nvoid *one(void *p) {\n    phases(0);\n    return p;\n}\n\
         void *two(void *p) {\n    phases(1);\n    return p;\n}",
    );
}

#[test]
fn a_barrier_does_not_order_what_comes_after_it() {
    let body = "pthread_barrier_t b;\nint x;\nvoid setup(void) { pthread_barrier_init(&b, 0, 2); }\n\
        void *one(void *p) {\n    pthread_barrier_wait(&b);\n    x++;\n    pthread_barrier_wait(&b);\n    return p;\n}\n\
        #define two one";
    assert_eq!(bugs("after-barrier", body), ["data-race at program.c:11"]);
}

#[test]
fn initialisers_run_once_before_what_uses_them() {
    is_quiet(
        "once",
        "pthread_once_t once = PTHREAD_ONCE_INIT;\nint *table;\nvoid fill(void) {\n    table = malloc(4);\n    *table = 3;\n}\n\
         void *one(void *p) {\n    pthread_once(&once, fill);\n    return *table == 3 ? p : 0;\n}\n#define two one",
    );
}

#[test]
fn creating_and_joining_order() {
    is_quiet(
        "children",
        "int x;\nvoid *child(void *p) {\n    x++;\n    return p;\n}\nvoid *one(void *p) {\n    pthread_t t;\n    x = 1;\n    \
         pthread_create(&t, 0, child, 0);\n    pthread_join(t, 0);\n    x++;\n    return p;\n}\n\
         void *two(void *p) { return p; }",
    );
}

#[test]
fn the_stack_of_an_ended_thread_is_used_again_without_alarm() {
    is_quiet(
        "stacks",
        "void *child(void *p) {\n    int local = 1;\n    int *volatile at = &local;\n    *at = *at + 1;\n    return p;\n}\n\
         void *one(void *p) {\n    pthread_t t;\n    for (int i = 0; i < 3; i++) {\n        \
         pthread_create(&t, 0, child, 0);\n        pthread_detach(t);\n    }\n    return p;\n}\n#define two one",
    );
}

#[test]
fn what_each_thread_has_of_its_own_does_not_race() {
    is_quiet(
        "own",
        "#include <errno.h>\n_Thread_local int mine;\nvoid *one(void *p) {\n    errno = 0;\n    mine++;\n    \
         return errno ? 0 : p;\n}\n#define two one",
    );
}

#[test]
fn atomic_sections_order_each_other_but_not_what_is_outside() {
    let head = "void __VERIFIER_atomic_begin(void);\nvoid __VERIFIER_atomic_end(void);\nint x;\nvoid *one(void *p) {\n    \
        __VERIFIER_atomic_begin();\n    x++;\n    __VERIFIER_atomic_end();\n    return p;\n}\n";
    is_quiet("sections", &format!("{head}#define two one"));
    let body = format!("{head}void *two(void *p) {{\n    x = 5;\n    return p;\n}}");
    assert_eq!(bugs("outside", &body), ["data-race at program.c:11 and program.c:16"]);
}

#[test]
fn freeing_races_with_use() {
    let body = "int *shared;\nvoid setup(void) { shared = malloc(8); }\nvoid *one(void *p) {\n    shared[1] = 5;\n    \
        return p;\n}\nvoid *two(void *p) {\n    free(shared);\n    return p;\n}";
    assert!(bugs("free", body).contains(&"data-race at program.c:9 and program.c:13".into()));
}

#[test]
fn copies_race_within_their_range() {
    let body = "char buffer[64];\nvoid *one(void *p) {\n    char zeros[64] = {0};\n    \
        memcpy(buffer, zeros, sizeof zeros);\n    return p;\n}\nvoid *two(void *p) {\n    buffer[63] = 1;\n    \
        return p;\n}";
    let found = findings(&program("copy", body), "program.c", FINDING);
    let outcome = &found[0]["run"]["outcome"];
    assert_eq!(outcome["bug"], "data-race at program.c:9 and program.c:13");
    assert!(outcome["message"].as_str().is_some_and(|m| m.contains("'buffer[63]'")), "{outcome}");
    is_quiet(
        "beside",
        "char buffer[64];\nvoid *one(void *p) {\n    char zeros[63] = {0};\n    memcpy(buffer, zeros, sizeof zeros);\n    \
         return p;\n}\nvoid *two(void *p) {\n    buffer[63] = 1;\n    return p;\n}",
    );
}

#[test]
fn what_cxx_orders_is_quiet() {
    let directory = directory("races-cxx");
    let source = r#"
#include <atomic>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>
struct Box { int value = 0; ~Box() { value = -1; } };
std::mutex m;
std::shared_mutex rw;
std::condition_variable changed;
std::atomic<bool> ready{false};
std::once_flag once;
int data, counter, table, config;
bool done;
int &instance() {
    static int &value = *new int(3);
    return value;
}
void worker(std::shared_ptr<Box> box) {
    std::call_once(once, [] { table = 4; });
    int seen = table + instance() + box->value;
    {
        std::shared_lock<std::shared_mutex> lock(rw);
        seen += config;
    }
    {
        std::unique_lock<std::shared_mutex> lock(rw);
        config++;
    }
    if (ready.load(std::memory_order_acquire)) seen += data;
    std::lock_guard<std::mutex> lock(m);
    counter += seen;
    done = true;
    changed.notify_one();
}
int main() {
    auto box = std::make_shared<Box>();
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++) threads.emplace_back(worker, box);
    box.reset();
    data = 5;
    ready.store(true, std::memory_order_release);
    {
        std::unique_lock<std::mutex> lock(m);
        changed.wait(lock, [] { return done; });
    }
    for (auto &thread : threads) thread.join();
    std::promise<int> promise;
    auto future = promise.get_future();
    std::thread last([&] { data++; promise.set_value(data); });
    int got = future.get() + data;
    last.join();
    return got == 0;
}
"#;
    write(&directory, "program.cpp", source);
    findings(&directory, "program.cpp", NOTHING);
}

#[test]
fn explain_shows_both_places_everywhere() {
    let body = "int x;\nvoid bump(void) {\n    x++;\n}\nvoid *one(void *p) {\n    bump();\n    return p;\n}\n\
        void *two(void *p) {\n    x = 2;\n    return p;\n}";
    let directory = program("explain", body);
    let text =
        says(&directory, &["explain", "--races", "--schedules", "200", "program.c"], FINDING);
    assert!(text.contains("nothing orders them") && text.contains("program.c:15"), "{text}");
    let read = |name: &str| {
        let path = directory.join("unravel-out").join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    let (page, sarif) = (read("program.html"), read("program.sarif"));
    for place in ["program.c:8", "program.c:11", "program.c:15"] {
        assert!(page.contains(place), "the page lacks {place}");
    }
    let sarif: Value = serde_json::from_str(&sarif).expect("JSON");
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "data-race");
    assert_eq!(result["stacks"].as_array().map(Vec::len), Some(2), "both stacks: {result}");
}
