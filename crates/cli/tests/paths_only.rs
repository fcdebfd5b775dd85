//! `unravel diagnose --paths-only`: of a trace nothing is used but which way each thread went at its branches; the
//! failing schedule is found anew.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const FINDING: i32 = 1;
const INCONCLUSIVE: i32 = 3;

const HEAD: &str = "#include <assert.h>\n#include <pthread.h>\n#include <stdlib.h>\n#include <stdio.h>\n\
                    #include <unistd.h>\n#include <semaphore.h>\n#include <stdatomic.h>\n";

fn directory(test: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("paths-only").join(test);
    std::fs::create_dir_all(&directory).expect("a directory for the test");
    directory
}

fn unravel(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unravel"));
    command.args(arguments).current_dir(directory).stdin(Stdio::null());
    command.output().expect("unravel runs")
}

/// Runs a command that ends with this exit code; the last line of its output.
fn json(directory: &Path, arguments: &[&str], code: i32) -> Value {
    let output = unravel(directory, arguments);
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {out}{err}");
    let last = out.lines().last().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {out}{err}"))
}

/// Finds the bug of a program and diagnoses it from its paths.
fn diagnosed(test: &str, program: &str, flags: &[&str], code: i32) -> Value {
    let directory = directory(test);
    std::fs::write(directory.join("program.c"), format!("{HEAD}{program}")).expect("written");
    let find = ["find", "program.c", "--json", "--jobs", "1", "--out", "out"];
    let found = json(&directory, &[&find, flags].concat(), FINDING);
    let trace = found["findings"][0]["trace"].as_str().expect("a trace").to_owned();
    json(&directory, &["diagnose", &trace, "--paths-only", "--json"], code)
}

/// The failing schedule is found from the paths, fails when executed, and is diagnosed.
fn is_confirmed(test: &str, kind: &str, program: &str) {
    let json = diagnosed(test, program, &[], FINDING);
    assert_eq!(json["status"]["kind"], "confirmed", "{json}");
    let note = json["notes"][0].as_str().unwrap_or_default();
    assert!(note.starts_with("--paths-only: the failing schedule was found"), "{json}");
    assert_eq!(json["failing"]["outcome"]["kind"], kind, "{json}");
    assert_eq!(json["alternates"][0]["run"]["outcome"]["kind"], "exited", "{json}");
}

fn is_inconclusive(test: &str, program: &str, flags: &[&str], reason: &str) {
    let json = diagnosed(test, program, flags, INCONCLUSIVE);
    assert_eq!(json["status"]["kind"], "inconclusive", "{json}");
    let said = json["status"]["reason"].as_str().unwrap_or_default();
    assert!(said.contains(reason), "{json}");
}

#[test]
fn a_lost_update() {
    is_confirmed(
        "lost-update",
        "assertion",
        "static int counter;
        static void *add(void *arg) { int seen = counter; counter = seen + 1; return arg; }
        int main(void) {
            pthread_t a, b;
            pthread_create(&a, NULL, add, NULL);
            pthread_create(&b, NULL, add, NULL);
            pthread_join(a, NULL);
            pthread_join(b, NULL);
            assert(counter == 2);
        }",
    );
}

#[test]
fn loops_of_several_threads_of_one_function() {
    is_confirmed(
        "loops",
        "assertion",
        "static int counter;
        static void *add(void *arg) {
            for (int i = 0; i < 3; i++) { int seen = counter; counter = seen + 1; }
            return arg;
        }
        int main(void) {
            pthread_t t[3];
            for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, add, NULL);
            for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
            assert(counter == 9);
        }",
    );
}

#[test]
fn check_then_act_under_locks() {
    is_confirmed(
        "check-then-act",
        "assertion",
        "static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        static int balance = 100;
        static int read_balance(void) {
            pthread_mutex_lock(&lock);
            int seen = balance;
            pthread_mutex_unlock(&lock);
            return seen;
        }
        static void *withdraw(void *arg) {
            if (read_balance() >= 80) {
                pthread_mutex_lock(&lock);
                balance -= 80;
                assert(balance >= 0);
                pthread_mutex_unlock(&lock);
            }
            return arg;
        }
        int main(void) {
            pthread_t a, b;
            pthread_create(&a, NULL, withdraw, NULL);
            pthread_create(&b, NULL, withdraw, NULL);
            pthread_join(a, NULL);
            pthread_join(b, NULL);
        }",
    );
}

#[test]
fn a_condition_variable_without_a_loop() {
    is_confirmed(
        "condition-variable",
        "assertion",
        "static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        static pthread_cond_t some = PTHREAD_COND_INITIALIZER;
        static int items;
        static void *consume(void *arg) {
            pthread_mutex_lock(&lock);
            if (items == 0) pthread_cond_wait(&some, &lock);
            assert(items > 0);
            items--;
            pthread_mutex_unlock(&lock);
            return arg;
        }
        static void *produce(void *arg) {
            for (int i = 0; i < 2; i++) {
                pthread_mutex_lock(&lock);
                items++;
                pthread_cond_broadcast(&some);
                pthread_mutex_unlock(&lock);
            }
            return arg;
        }
        int main(void) {
            pthread_t a, b, c;
            pthread_create(&a, NULL, consume, NULL);
            pthread_create(&b, NULL, consume, NULL);
            pthread_create(&c, NULL, produce, NULL);
            pthread_join(a, NULL);
            pthread_join(b, NULL);
            pthread_join(c, NULL);
        }",
    );
}

/// The reader comes before the writer in the guided run: what it follows is yet to be made.
#[test]
fn a_published_pointer() {
    is_confirmed(
        "published",
        "assertion",
        "struct config { int size; int *data; };
        static struct config *_Atomic current;
        static void *reader(void *arg) {
            struct config *c = current;
            if (c) { int size = c->size; assert(size == 4 && c->data); }
            return arg;
        }
        int main(void) {
            pthread_t t;
            pthread_create(&t, NULL, reader, NULL);
            struct config *c = malloc(sizeof *c);
            c->size = 0;
            c->data = NULL;
            current = c;
            c->size = 4;
            c->data = malloc(16);
            pthread_join(t, NULL);
        }",
    );
}

#[test]
fn a_linked_list() {
    is_confirmed(
        "list",
        "assertion",
        "struct node { int value; struct node *next; };
        static struct node *head;
        static void *push(void *arg) {
            struct node *node = malloc(sizeof *node);
            node->value = 1;
            node->next = head;
            head = node;
            return arg;
        }
        int main(void) {
            pthread_t a, b;
            pthread_create(&a, NULL, push, NULL);
            pthread_create(&b, NULL, push, NULL);
            pthread_join(a, NULL);
            pthread_join(b, NULL);
            int sum = 0;
            for (struct node *n = head; n; n = n->next) sum += n->value;
            assert(sum == 2);
        }",
    );
}

#[test]
fn a_null_pointer_after_a_check() {
    is_confirmed(
        "null",
        "null-dereference",
        "struct session { int uses; };
        static struct session only;
        static struct session *session = &only;
        static void *use(void *arg) { if (session) session->uses++; return arg; }
        static void *close_session(void *arg) { session = NULL; return arg; }
        int main(void) {
            pthread_t a, b;
            pthread_create(&a, NULL, use, NULL);
            pthread_create(&b, NULL, close_session, NULL);
            pthread_join(a, NULL);
            pthread_join(b, NULL);
        }",
    );
}

#[test]
fn a_use_after_free() {
    is_confirmed(
        "use-after-free",
        "use-after-free",
        "static int *shared;
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        static int closed;
        static void *use(void *arg) {
            pthread_mutex_lock(&lock);
            int gone = closed;
            pthread_mutex_unlock(&lock);
            if (!gone) *shared = 7;
            return arg;
        }
        static void *drop(void *arg) {
            pthread_mutex_lock(&lock);
            closed = 1;
            pthread_mutex_unlock(&lock);
            free(shared);
            return arg;
        }
        int main(void) {
            pthread_t a, b;
            shared = malloc(sizeof *shared);
            pthread_create(&a, NULL, use, NULL);
            pthread_create(&b, NULL, drop, NULL);
            pthread_join(a, NULL);
            pthread_join(b, NULL);
        }",
    );
}

#[test]
fn two_locks_in_opposite_orders() {
    is_confirmed(
        "deadlock",
        "deadlock",
        "static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
        static void *one(void *arg) {
            pthread_mutex_lock(&a);
            pthread_mutex_lock(&b);
            pthread_mutex_unlock(&b);
            pthread_mutex_unlock(&a);
            return arg;
        }
        static void *two(void *arg) {
            pthread_mutex_lock(&b);
            pthread_mutex_lock(&a);
            pthread_mutex_unlock(&a);
            pthread_mutex_unlock(&b);
            return arg;
        }
        int main(void) {
            pthread_t s, t;
            pthread_create(&s, NULL, one, NULL);
            pthread_create(&t, NULL, two, NULL);
            pthread_join(s, NULL);
            pthread_join(t, NULL);
        }",
    );
}

#[test]
fn a_switch_over_shared_state() {
    is_confirmed(
        "switch",
        "assertion",
        "static int state;
        static void *step(void *arg) {
            switch (state) {
            case 0: state = 1; break;
            case 1: state = 2; break;
            case 2: state = 5; break;
            default: state = 9;
            }
            return arg;
        }
        int main(void) {
            pthread_t t[3];
            for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, step, NULL);
            for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
            assert(state == 5);
        }",
    );
}

#[test]
fn a_semaphore_and_a_lock_that_is_tried() {
    is_confirmed(
        "try",
        "assertion",
        "static sem_t ready;
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        static int done, skipped;
        static void *work(void *arg) {
            if (pthread_mutex_trylock(&lock) == 0) {
                int seen = done;
                done = seen + 1;
                pthread_mutex_unlock(&lock);
            } else {
                skipped = 1;
            }
            sem_post(&ready);
            return arg;
        }
        int main(void) {
            pthread_t a, b;
            sem_init(&ready, 0, 0);
            pthread_create(&a, NULL, work, NULL);
            pthread_create(&b, NULL, work, NULL);
            sem_wait(&ready);
            sem_wait(&ready);
            assert(!skipped);
            pthread_join(a, NULL);
            pthread_join(b, NULL);
        }",
    );
}

#[test]
fn an_index_that_others_move() {
    is_confirmed(
        "index",
        "assertion",
        "static int log_[8], position;
        static void *write_log(void *arg) {
            for (int i = 0; i < 2; i++) { log_[position] = 1; position = position + 1; }
            return arg;
        }
        int main(void) {
            pthread_t a, b;
            pthread_create(&a, NULL, write_log, NULL);
            pthread_create(&b, NULL, write_log, NULL);
            pthread_join(a, NULL);
            pthread_join(b, NULL);
            assert(position == 4);
        }",
    );
}

#[test]
fn a_compare_and_exchange() {
    is_confirmed(
        "compare-and-exchange",
        "assertion",
        "static atomic_int owner;
        static int inside;
        static void *enter(void *arg) {
            int free_ = 0;
            if (!atomic_compare_exchange_strong(&owner, &free_, 1)) return arg;
            owner = 0;
            int seen = inside;
            inside = seen + 1;
            return arg;
        }
        int main(void) {
            pthread_t a, b;
            pthread_create(&a, NULL, enter, NULL);
            pthread_create(&b, NULL, enter, NULL);
            pthread_join(a, NULL);
            pthread_join(b, NULL);
            assert(inside == 2);
        }",
    );
}

/// The report says how the schedule was found.
#[test]
fn the_report_says_so() {
    let test = "said";
    let directory = directory(test);
    a_small_bug(&directory);
    let find = ["find", "program.c", "--json", "--jobs", "1", "--out", "out"];
    let found = json(&directory, &find, FINDING);
    let trace = found["findings"][0]["trace"].as_str().expect("a trace").to_owned();
    let output = unravel(&directory, &["diagnose", &trace, "--paths-only"]);
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in ["--paths-only: the failing schedule was found from", "attempt"] {
        assert!(words.contains(said), "'{said}' is not in:\n{out}");
    }
}

fn a_small_bug(directory: &Path) {
    let program = "static int flag;
        static void *set(void *arg) { flag = 1; return arg; }
        int main(void) {
            pthread_t t;
            pthread_create(&t, NULL, set, NULL);
            assert(flag == 0);
            pthread_join(t, NULL);
        }";
    std::fs::write(directory.join("program.c"), format!("{HEAD}{program}")).expect("written");
}

#[test]
fn a_livelock_is_found_by_steering() {
    is_confirmed(
        "livelock",
        "livelock",
        "static atomic_int a, b;
        static void *one(void *arg) { a = 1; while (b) ; a = 0; return arg; }
        static void *two(void *arg) { b = 1; while (a) ; b = 0; return arg; }
        int main(void) {
            pthread_t s, t;
            pthread_create(&s, NULL, one, NULL);
            pthread_create(&t, NULL, two, NULL);
            pthread_join(s, NULL);
            pthread_join(t, NULL);
        }",
    );
}

#[test]
fn wrong_output_is_none_of_this() {
    let test = "output";
    std::fs::write(directory(test).join("right.txt"), "2\n").expect("written");
    is_inconclusive(
        test,
        "static int counter;
        static void *add(void *arg) { int seen = counter; counter = seen + 1; return arg; }
        int main(void) {
            pthread_t a, b;
            pthread_create(&a, NULL, add, NULL);
            pthread_create(&b, NULL, add, NULL);
            pthread_join(a, NULL);
            pthread_join(b, NULL);
            printf(\"%d\\n\", counter);
        }",
        &["--expect-output", "right.txt"],
        "only an execution can tell",
    );
}
