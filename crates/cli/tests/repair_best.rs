//! The best repair is the one that a programmer would write: of the corpus, one program a shape.

mod support;

use serde_json::Value;
use support::{FINDING, corpus, directory, says, write};

/// The best repair of a program.
#[track_caller]
fn best(test: &str, program: &str) -> Value {
    let directory = directory(&format!("repair-best-{test}"));
    best_in(&directory, program)
}

#[track_caller]
fn best_in(directory: &std::path::Path, program: &str) -> Value {
    let said = says(directory, &["repair", "--json", program], FINDING);
    let said: Value = serde_json::from_str(&said).expect("JSON");
    said["repairs"][0].clone()
}

/// Asserts kind and changed lines, blanks and blank lines aside, of a repair that did before what it does now.
#[track_caller]
fn expect(repair: &Value, kind: &str, changes: &[&str]) {
    let diff = repair["diff"].as_str().unwrap_or_default();
    let lines = diff.lines().filter(|line| !line.starts_with("---") && !line.starts_with("+++"));
    let lines = lines.filter_map(|line| {
        let sign = line.get(..1).filter(|sign| ["+", "-"].contains(sign))?;
        Some(format!("{sign}{}", line[1..].trim()))
    });
    let lines: Vec<String> = lines.filter(|line| line.len() > 1).collect();
    assert_eq!(lines, changes, "{repair:#}");
    assert_eq!(repair["kind"], kind);
    assert!(!repair["meaning"].is_null(), "its meaning was compared: {repair:#}");
}

#[test]
fn what_is_loaded_and_stored_is_fetched_and_added() {
    let repair = best("tickets", &corpus("atomicity/atomic_tickets/atomic_tickets.c"));
    expect(
        &repair,
        "atomic-update",
        &[
            "-int mine = atomic_load(&next_ticket);",
            "+int mine = atomic_fetch_add(&next_ticket, 1);",
            "-atomic_store(&next_ticket, mine + 1);",
        ],
    );
}

#[test]
fn what_is_tested_and_taken_is_compared_and_exchanged() {
    let repair = best("seats", &corpus("atomicity/atomic_seats/atomic_seats.c"));
    expect(
        &repair,
        "atomic-update",
        &[
            "-if (atomic_load(&flight->free_seats) > 0) {",
            "-atomic_fetch_sub(&flight->free_seats, 1);",
            "+int seen = atomic_load(&flight->free_seats);",
            "+while (seen > 0 &&",
            "+!atomic_compare_exchange_weak(&flight->free_seats, &seen, seen - 1))",
            "+;",
            "+if (seen > 0) {",
        ],
    );
}

#[test]
fn a_flag_is_tested_and_set_by_an_exchange() {
    let repair = best("claim", &corpus("cpp/atomic_claim/atomic_claim.cpp"));
    expect(
        &repair,
        "atomic-update",
        &[
            "-if (!job.claimed.load()) {",
            "-job.claimed.store(true);",
            "+if (!job.claimed.exchange(true)) {",
        ],
    );
}

#[test]
fn threads_that_a_loop_creates_are_joined_by_one() {
    let repair = best("join", &corpus("order/missing_join/missing_join.c"));
    expect(
        &repair,
        "missing-join",
        &["+for (int i = 0; i < WORKERS; i++)", "+pthread_join(workers[i], NULL);"],
    );
}

#[test]
fn an_early_return_unlocks() {
    let repair = best("return", &corpus("deadlock/early_return/early_return.c"));
    expect(
        &repair,
        "missing-unlock",
        &[
            "-if (amount > balance)",
            "+if (amount > balance) {",
            "+pthread_mutex_unlock(&account_lock);",
            "+}",
        ],
    );
}

#[test]
fn a_section_that_throws_gets_a_guard() {
    let repair = best("throws", &corpus("cpp/throwing_section/throwing_section.cpp"));
    expect(
        &repair,
        "missing-unlock",
        &["-mutex.lock();", "+std::lock_guard<std::mutex> hold(mutex);", "-mutex.unlock();"],
    );
}

#[test]
fn an_initialisation_goes_before_a_creation_that_is_looked_at() {
    let repair = best("create", &corpus("order/checked_create/checked_create.c"));
    expect(&repair, "moved-statement", &["+server.limit = 3;", "-server.limit = 3;"]);
}

#[test]
fn a_wait_that_tests_nothing_gets_a_flag() {
    let directory = directory("repair-best-flag");
    let text = "#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
static void *waker(void *arg)
{
	pthread_mutex_lock(&m);
	pthread_cond_signal(&woken);
	pthread_mutex_unlock(&m);
	return arg;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, 0, waker, 0);
	pthread_mutex_lock(&m);
	pthread_cond_wait(&woken, &m);
	pthread_mutex_unlock(&m);
	pthread_join(t, 0);
	return 0;
}
";
    write(&directory, "wait.c", text);
    expect(
        &best_in(&directory, "wait.c"),
        "signalling",
        &[
            "+static int woken_signalled;",
            "+woken_signalled = 1;",
            "-pthread_cond_wait(&woken, &m);",
            "+while (!woken_signalled)",
            "+pthread_cond_wait(&woken, &m);",
        ],
    );
}

#[test]
fn who_calls_what_takes_a_lock_does_not_take_it_twice() {
    let directory = directory("repair-best-nested");
    let text = "#include <assert.h>
#include <pthread.h>
static int balance;
static int get(void)
{
	return balance;
}
static void set(int now)
{
	balance = now;
}
static void *deposit(void *arg)
{
	int now = get();
	set(now + 1);
	return arg;
}
static void *withdraw(void *arg)
{
	int now = get();
	set(now - 1);
	return arg;
}
int main(void)
{
	pthread_t a, b;
	pthread_create(&a, 0, deposit, 0);
	pthread_create(&b, 0, withdraw, 0);
	pthread_join(a, 0);
	pthread_join(b, 0);
	assert(balance == 0);
	return 0;
}
";
    write(&directory, "bank.c", text);
    expect(
        &best_in(&directory, "bank.c"),
        "new-lock",
        &[
            "+static pthread_mutex_t deposit_lock = PTHREAD_MUTEX_INITIALIZER;",
            "+pthread_mutex_lock(&deposit_lock);",
            "+pthread_mutex_unlock(&deposit_lock);",
            "+pthread_mutex_lock(&deposit_lock);",
            "+pthread_mutex_unlock(&deposit_lock);",
        ],
    );
}

#[test]
fn what_nobody_announces_gets_a_signal() {
    let repair = best("quiet-till", &corpus("explained/quiet_till/quiet_till.c"));
    expect(&repair, "signalling", &["+pthread_cond_signal(&emptied);"]);
    let repair = best("quiet-release", &corpus("explained/quiet_release/quiet_release.cc"));
    expect(&repair, "signalling", &["+back.notify_one();"]);
}

/// What is demanded holds in no run that comes to it: a patch by which nobody asks any more mends nothing.
#[test]
fn a_check_that_is_only_avoided_is_not_mended() {
    let directory = directory("repair-best-avoided");
    let program = "#include <assert.h>\n#include <pthread.h>\n\
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
        static int paid, shipped, stock = 5;\n\
        static void *pay(void *a) { pthread_mutex_lock(&lock); stock += 2; paid = 1; pthread_mutex_unlock(&lock); return a; }\n\
        static void *ship(void *a) { pthread_mutex_lock(&lock); stock -= 3; shipped = 1; pthread_mutex_unlock(&lock); return a; }\n\
        static void *audit(void *a) {\n    pthread_mutex_lock(&lock);\n    if (paid && shipped)\n\
        \x20       assert(stock == 0);\n    pthread_mutex_unlock(&lock);\n    return a;\n}\n\
        int main(void) {\n    pthread_t t[3];\n    pthread_create(&t[0], 0, audit, 0);\n\
        \x20   pthread_create(&t[1], 0, pay, 0);\n    pthread_create(&t[2], 0, ship, 0);\n\
        \x20   for (int i = 0; i < 3; i++)\n        pthread_join(t[i], 0);\n    return 0;\n}\n";
    // Where nobody waits for them, most runs end before anything is asked.
    let joins = "    for (int i = 0; i < 3; i++)\n        pthread_join(t[i], 0);\n";
    for (name, program) in
        [("audit.c", program.to_owned()), ("unjoined.c", program.replace(joins, ""))]
    {
        write(&directory, name, &program);
        let said = says(&directory, &["repair", "--json", name], FINDING);
        let said: Value = serde_json::from_str(&said).expect("JSON");
        assert_eq!(said["repairs"].as_array().map(Vec::len), Some(0), "{said:#}");
        let reasons = said["rejected"].to_string();
        assert!(reasons.contains("avoided, not mended"), "{reasons}");
    }
}

#[test]
fn an_object_is_filled_before_its_pointer_is_published() {
    let repair = best("publish", &corpus("atomicity/double_checked/double_checked.c"));
    expect(
        &repair,
        "moved-statement",
        &[
            "-settings = calloc(1, sizeof *settings);",
            "-settings->rate = 48000;",
            "-settings->channels = 2;",
            "+struct settings *fresh = calloc(1, sizeof *fresh);",
            "+fresh->rate = 48000;",
            "+fresh->channels = 2;",
            "+settings = fresh;",
        ],
    );
}

#[test]
fn who_gives_up_looks_again_first() {
    let program = corpus("environment/timeout_gives_up/timeout_gives_up.c");
    // That the time is over just then is what the environment seldom does.
    let directory = directory("repair-best-timeout");
    let arguments = ["repair", "--json", "--deviations", "1", &program];
    let said: Value = serde_json::from_str(&says(&directory, &arguments, FINDING)).expect("JSON");
    let repair = &said["repairs"][0];
    expect(
        repair,
        "signalling",
        &[
            "-if (pthread_cond_timedwait(&came, &lock, &limit) == ETIMEDOUT) {",
            "+if (pthread_cond_timedwait(&came, &lock, &limit) == ETIMEDOUT && parcel == 0) {",
        ],
    );
}

#[test]
fn a_barrier_counts_its_rounds() {
    let repair = best("rounds", &corpus("sync/barrier_rounds/barrier_rounds.c"));
    expect(
        &repair,
        "signalling",
        &[
            "+int generation;",
            "+int arrived_in = b->generation;",
            "+b->generation++;",
            "-while (b->arrived != 0)",
            "+while (b->generation == arrived_in)",
        ],
    );
}

#[test]
fn nobody_arrives_at_a_barrier_that_others_still_leave() {
    let repair = best("leaving", &corpus("sync/barrier/barrier.c"));
    expect(
        &repair,
        "signalling",
        &[
            "+while (b->left > 0)",
            "+pthread_cond_wait(&b->open, &b->m);",
            "+pthread_cond_broadcast(&b->open);",
        ],
    );
}

#[test]
fn a_lock_is_destroyed_when_all_have_ended() {
    let repair = best("destroy", &corpus("order/early_destroy/early_destroy.c"));
    expect(
        &repair,
        "moved-statement",
        &["-pthread_mutex_destroy(&log_lock);", "+pthread_mutex_destroy(&log_lock);"],
    );
}

/// As a pool of threads that destroys itself: whoever looked often enough sleeps between two looks, and what others do is over by then,
/// nearly always.
const SLEEPY: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t more;
    int tokens;
    volatile int alive;
};

static void post(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->tokens = 1;
    pthread_cond_broadcast(&pool->more);
    pthread_mutex_unlock(&pool->lock);
}

static void *worker(void *argument)
{
    struct pool *pool = argument;
    pthread_mutex_lock(&pool->lock);
    while (!pool->tokens)
        pthread_cond_wait(&pool->more, &pool->lock);
    pool->tokens = 0;
    pthread_mutex_unlock(&pool->lock);
    pthread_mutex_lock(&pool->lock);
    pool->alive--;
    pthread_mutex_unlock(&pool->lock);
    return 0;
}

int main(void)
{
    struct pool *pool = calloc(1, sizeof *pool);
    pthread_mutex_init(&pool->lock, 0);
    pthread_cond_init(&pool->more, 0);
    pool->alive = 2;
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        pthread_create(&thread, 0, worker, pool);
        pthread_detach(thread);
    }
    int tries = 0;
    while (tries < 3 && pool->alive) {
        post(pool);
        tries++;
    }
    while (pool->alive) {
        post(pool);
        sleep(1);
    }
    free(pool);
    return 0;
}
"#;

#[test]
fn what_rests_on_a_sleep_comes_last_and_says_so() {
    let directory = directory("repair-best-sleepy");
    write(&directory, "sleepy.c", SLEEPY);
    let arguments = ["repair", "--json", "--most", "8", "--time", "60s", "sleepy.c"];
    let said: Value = serde_json::from_str(&says(&directory, &arguments, FINDING)).expect("JSON");
    let repairs = said["repairs"].as_array().expect("repairs");
    let rests = |repair: &Value| repair["notes"].to_string().contains("nobody is late");
    // Workers that are created later find main asleep; they end no earlier.
    let moved = |repair: &&Value| repair["kind"] == "moved-statement";
    assert!(repairs.iter().filter(moved).all(rests), "{said:#}");
    assert!(repairs.iter().any(rests), "{said:#}");
    assert!(repairs.iter().is_sorted_by_key(rests), "{said:#}");
}
