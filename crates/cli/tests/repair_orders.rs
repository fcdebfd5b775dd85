//! Repairs that put things into another order: locks, statements, threads.

mod support;

use serde_json::Value;
use support::{FINDING, directory, says, write};

/// The repairs of a program, as JSON says them.
fn repairs(test: &str, name: &str, source: &str) -> Vec<Value> {
    let directory = directory(&format!("repair-orders-{test}"));
    write(&directory, name, source);
    let said = says(&directory, &["repair", "--json", "--most", "8", name], FINDING);
    let said: Value = serde_json::from_str(&said).expect("JSON");
    said["repairs"].as_array().expect("a list of repairs").clone()
}

/// The patched texts of all repairs of a kind.
#[track_caller]
fn texts(repairs: &[Value], kind: &str) -> Vec<String> {
    let of_kind = repairs.iter().filter(|repair| repair["kind"] == kind);
    let texts: Vec<String> = of_kind
        .filter_map(|repair| Some(repair["files"][0]["text"].as_str()?.to_owned()))
        .collect();
    assert!(!texts.is_empty(), "no repair is a {kind}: {repairs:#?}");
    texts
}

/// Asserts that one of the texts has these parts, one after the other.
#[track_caller]
fn expect(texts: &[String], parts: &[&str]) {
    let has = |text: &String| {
        let mut rest = text.as_str();
        parts.iter().all(|part| match rest.split_once(part) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        })
    };
    assert!(texts.iter().any(has), "none has {parts:?} in this order: {texts:#?}");
}

const HEAD: &str = "#include <assert.h>\n#include <pthread.h>\n#include <stddef.h>\n\n";

#[test]
fn locks_that_cross_are_taken_in_one_order() {
    let source = format!(
        "{HEAD}static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static int x;

static void *one(void *arg)
{{
	pthread_mutex_lock(&a);
	pthread_mutex_lock(&b);
	x++;
	pthread_mutex_unlock(&b);
	pthread_mutex_unlock(&a);
	return arg;
}}

static void *two(void *arg)
{{
	pthread_mutex_lock(&b);
	if (x > 5) {{
		pthread_mutex_unlock(&b);
		return arg;
	}}
	pthread_mutex_lock(&a);
	x++;
	pthread_mutex_unlock(&a);
	pthread_mutex_unlock(&b);
	return arg;
}}

int main(void)
{{
	pthread_t t, u;

	pthread_create(&t, NULL, one, NULL);
	pthread_create(&u, NULL, two, NULL);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	return 0;
}}
"
    );
    let texts = texts(&repairs("crossing", "crossing.c", &source), "lock-order");
    let first = "static void *one(void *arg)\n{\n\tpthread_mutex_lock(&b);\n\tpthread_mutex_lock(&a);\n\tx++;";
    expect(&texts, &[first]);
    // The way out between the two gives back what is taken earlier now.
    let second = "static void *two(void *arg)\n{\n\tpthread_mutex_lock(&a);\n\tpthread_mutex_lock(&b);\n\tif (x > 5) {";
    expect(&texts, &[second, "\t\tpthread_mutex_unlock(&a);\n\t\treturn arg;\n\t}\n\tx++;"]);
}

#[test]
fn philosophers_take_forks_by_address() {
    let source = format!(
        "{HEAD}#define SEATS 3

static pthread_mutex_t fork_at[SEATS];
static int seat[SEATS];

static void *philosopher(void *arg)
{{
	int left = *(int *)arg, right = (left + 1) % SEATS;

	pthread_mutex_lock(&fork_at[left]);
	pthread_mutex_lock(&fork_at[right]);
	pthread_mutex_unlock(&fork_at[right]);
	pthread_mutex_unlock(&fork_at[left]);
	return NULL;
}}

int main(void)
{{
	pthread_t threads[SEATS];

	for (int i = 0; i < SEATS; i++) {{
		seat[i] = i;
		pthread_mutex_init(&fork_at[i], NULL);
	}}
	for (int i = 0; i < SEATS; i++)
		pthread_create(&threads[i], NULL, philosopher, &seat[i]);
	for (int i = 0; i < SEATS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}}
"
    );
    let texts = texts(&repairs("philosophers", "philosophers.c", &source), "lock-order");
    let sorted = "\tif (&fork_at[left] < &fork_at[right]) {
\t\tpthread_mutex_lock(&fork_at[left]);
\t\tpthread_mutex_lock(&fork_at[right]);
\t} else {
\t\tpthread_mutex_lock(&fork_at[right]);
\t\tpthread_mutex_lock(&fork_at[left]);
\t}
\tpthread_mutex_unlock(&fork_at[right]);";
    expect(&texts, &[sorted]);
}

#[test]
fn guards_of_both_accounts_become_one() {
    let source = "#include <mutex>
#include <thread>

struct Account {
	std::mutex mutex;
	int balance = 10;
};

static void transfer(Account &from, Account &to)
{
	std::lock_guard<std::mutex> hold_from(from.mutex);
	std::lock_guard<std::mutex> hold_to(to.mutex);
	from.balance--;
	to.balance++;
}

int main()
{
	Account a, b;
	std::thread there([&] { transfer(a, b); });
	std::thread back([&] { transfer(b, a); });
	there.join();
	back.join();
	return a.balance + b.balance - 20;
}
";
    let texts = texts(&repairs("accounts", "accounts.cpp", source), "lock-order");
    expect(&texts, &["{\n\tstd::scoped_lock hold_from(from.mutex, to.mutex);\n\tfrom.balance--;"]);
}

#[test]
fn what_is_asked_under_a_lock_is_asked_before() {
    let texts = {
        let directory = directory("repair-orders-ctrace");
        let source = support::corpus("deadlock/ctrace/ctrace.c");
        let said = says(&directory, &["repair", "--json", "--most", "8", &source], FINDING);
        let said: Value = serde_json::from_str(&said).expect("JSON");
        texts(said["repairs"].as_array().expect("a list of repairs"), "lock-order")
    };
    expect(
        &texts,
        &[
            "\tint trc_level_value = trc_level(thread);\n\tpthread_mutex_lock(&trace_log.lock);",
            "\tif (trc_level_value > 0)\n",
        ],
    );
}

#[test]
fn what_a_thread_needs_is_there_before_it_is_created() {
    let source = format!(
        "{HEAD}static struct {{
	int *values;
	int count;
}} table;
static int storage[2];

static void *reader(void *arg)
{{
	table.values[0]++;
	return arg;
}}

int main(void)
{{
	pthread_t t;

	pthread_create(&t, NULL, reader, &table);
	table.count = 2;
	table.values = storage;
	pthread_join(t, NULL);
	return 0;
}}
"
    );
    let texts = texts(&repairs("created", "created.c", &source), "moved-statement");
    expect(
        &texts,
        &["\ttable.values = storage;\n\tpthread_create(", "\ttable.count = 2;\n\tpthread_join("],
    );
    expect(
        &texts,
        &[
            "\ttable.values = storage;\n\tpthread_create(&t, NULL, reader, &table);\n\tpthread_join(",
        ],
    );
}

#[test]
fn what_a_thread_makes_is_used_after_its_join() {
    let source = format!(
        "{HEAD}#define WORKERS 2

static int results[WORKERS];

static void *worker(void *arg)
{{
	*(int *)arg = 21;
	return NULL;
}}

int main(void)
{{
	pthread_t threads[WORKERS];
	int sum = 0;

	for (int i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, worker, &results[i]);
	for (int i = 0; i < WORKERS; i++)
		sum += results[i];
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	assert(sum == 42);
	return 0;
}}
"
    );
    let texts = texts(&repairs("joined", "joined.c", &source), "moved-statement");
    expect(
        &texts,
        &[
            "pthread_create(",
            "\t\tpthread_join(threads[i], NULL);\n",
            "\t\tsum += results[i];\n",
            "assert(",
        ],
    );
}

#[test]
fn what_is_announced_is_there_before() {
    let source = format!(
        "{HEAD}#include <stdatomic.h>

static atomic_int ready;
static atomic_int value;

static void *writer(void *arg)
{{
	ready = 1;
	value = 42;
	return arg;
}}

static void *reader(void *arg)
{{
	if (ready)
		assert(value == 42);
	return arg;
}}

int main(void)
{{
	pthread_t t, u;

	pthread_create(&t, NULL, writer, NULL);
	pthread_create(&u, NULL, reader, NULL);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	return 0;
}}
"
    );
    let texts = texts(&repairs("announced", "announced.c", &source), "moved-statement");
    expect(&texts, &["{\n\tvalue = 42;\n\tready = 1;\n\treturn arg;"]);
}

#[test]
fn a_reader_waits_for_all_who_write() {
    let source = format!(
        "{HEAD}#define WORKERS 2

static int results[WORKERS];

static void *worker(void *arg)
{{
	*(int *)arg = 21;
	return NULL;
}}

static void *reader(void *arg)
{{
	int sum = results[0] + results[1];
	assert(sum == 42);
	return arg;
}}

int main(void)
{{
	pthread_t threads[WORKERS], t;

	for (int i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, worker, &results[i]);
	pthread_create(&t, NULL, reader, NULL);
	pthread_join(t, NULL);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}}
"
    );
    let texts = texts(&repairs("counted", "counted.c", &source), "enforced-order");
    expect(
        &texts,
        &[
            "\t*(int *)arg = 21;\n\tpthread_mutex_lock(&worker_done_lock);\n\tworker_done++;",
            "\twhile (worker_done < 2)",
            "\tpthread_mutex_unlock(&worker_done_lock);\n\tint sum",
        ],
    );
}

/// Where moving `work` before `announce` makes the check pass because nothing is done any more.
fn undone(last: &str) -> String {
    format!(
        "#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int ready, filling;
static int total;

static void announce(void) {{ ready = 1; }}
static void work(void)
{{
	if (ready) {{
		filling = 1;
		total += 5;
		filling = 0;
	}}
}}

static void *worker(void *arg)
{{
	announce();
	work();
	return arg;
}}

int main(void)
{{
	pthread_t thread;
	pthread_create(&thread, NULL, worker, NULL);
	int is_ready = ready;
	int is_filling = filling;
	assert(!(is_ready && is_filling));
	pthread_join(thread, NULL);
	{last}
	return 0;
}}
"
    )
}

#[test]
fn a_patch_by_which_nothing_is_done_any_more_is_no_repair() {
    for (number, (last, why)) in
        [("printf(\"%d\\n\", total);", "prints"), ("(void)total;", "leaves 'total'")]
            .iter()
            .enumerate()
    {
        let directory = directory(&format!("repair-orders-undone-{number}"));
        write(&directory, "undone.c", &undone(last));
        let said = says(&directory, &["repair", "--json", "--most", "8", "undone.c"], FINDING);
        let said: Value = serde_json::from_str(&said).expect("JSON");
        let moved = |title: &str| title.contains("work()") && title.contains("announce()");
        let repairs = said["repairs"].as_array().expect("a list of repairs");
        assert!(!repairs.is_empty(), "{said:#}");
        for repair in repairs {
            assert!(!moved(repair["title"].as_str().expect("a title")), "{repair:#}");
            assert_eq!(repair["meaning"]["globals"], 3, "{repair:#}");
        }
        let rejected = said["rejected"].as_array().expect("a list");
        let why_not =
            rejected.iter().find(|other| moved(other["title"].as_str().expect("a title")));
        let reason = why_not.expect("it was tried")["reason"].as_str().expect("a reason");
        assert!(reason.contains("one after another") && reason.contains(why), "{reason}");
    }
}

#[test]
fn a_thread_that_must_come_first_is_joined_before_the_next_begins() {
    let source = format!(
        "{HEAD}static int rate = 1;
static int price = 2;
static int cost = 1;

static void *first(void *arg)
{{
	__atomic_store_n(&rate, 2, __ATOMIC_SEQ_CST);
	return arg;
}}

static void *second(void *arg)
{{
	__atomic_store_n(&price, __atomic_load_n(&rate, __ATOMIC_SEQ_CST), __ATOMIC_SEQ_CST);
	return arg;
}}

static void *third(void *arg)
{{
	__atomic_store_n(&cost, __atomic_load_n(&rate, __ATOMIC_SEQ_CST), __ATOMIC_SEQ_CST);
	return arg;
}}

int main(void)
{{
	pthread_t one, two, three;
	pthread_create(&one, NULL, first, NULL);
	pthread_create(&two, NULL, second, NULL);
	pthread_create(&three, NULL, third, NULL);
	pthread_join(two, NULL);
	pthread_join(three, NULL);
	assert(price == cost);
	return 0;
}}
"
    );
    let repairs = repairs("siblings", "siblings.c", &source);
    let joined = texts(&repairs, "missing-join");
    expect(&joined, &["first, NULL);", "pthread_join(one, NULL);", "pthread_create(&two"]);
}
