//! Repairs with locks that the program has, and with other waits and signals.

mod support;

use serde_json::Value;
use support::{FINDING, corpus, directory, says, write};

/// The diffs of all repairs of a kind, of a program in a directory.
#[track_caller]
fn diffs(test: &str, name: &str, source: &str, kind: &str) -> Vec<String> {
    let directory = directory(&format!("repair-locks-{test}"));
    write(&directory, name, source);
    diffs_of(&said(&directory, name), kind)
}

/// The same for a program of the corpus.
#[track_caller]
fn corpus_diffs(test: &str, path: &str, kind: &str) -> Vec<String> {
    let directory = directory(&format!("repair-locks-{test}"));
    diffs_of(&said(&directory, &corpus(path)), kind)
}

#[track_caller]
fn said(directory: &std::path::Path, program: &str) -> Value {
    let said = says(directory, &["repair", "--json", "--most", "8", program], FINDING);
    serde_json::from_str(&said).expect("JSON")
}

#[track_caller]
fn diffs_of(said: &Value, kind: &str) -> Vec<String> {
    let all = said["repairs"].as_array().expect("a list of repairs");
    let of_kind = all.iter().filter(|repair| repair["kind"] == kind);
    let diffs: Vec<String> =
        of_kind.filter_map(|repair| Some(repair["diff"].as_str()?.to_owned())).collect();
    assert!(!diffs.is_empty(), "no repair is a {kind}: {said:#}");
    diffs
}

/// Asserts that one of the diffs removes and adds these lines and no others, blanks aside.
#[track_caller]
fn expect(diffs: &[String], changes: &[&str]) {
    let changed = |diff: &String| -> Vec<String> {
        let lines =
            diff.lines().filter(|line| !line.starts_with("---") && !line.starts_with("+++"));
        let lines = lines.filter_map(|line| {
            let sign = line.get(..1).filter(|sign| ["+", "-"].contains(sign))?;
            Some(format!("{sign}{}", line[1..].trim()))
        });
        lines.collect()
    };
    let all: Vec<Vec<String>> = diffs.iter().map(changed).collect();
    assert!(all.iter().any(|lines| lines == changes), "none changes {changes:#?}: {all:#?}");
}

const HEAD: &str = "#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
";

/// Two threads that run `work`, and a `main` that demands this at the end.
fn twice(work: &str, demand: &str) -> String {
    format!(
        "{HEAD}{work}
int main(void)
{{
	pthread_t one, two;
	pthread_create(&one, NULL, work, NULL);
	pthread_create(&two, NULL, work, NULL);
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	assert({demand});
	return 0;
}}
"
    )
}

#[test]
fn sections_that_belong_together_are_joined() {
    let source = twice(
        "static int x;
static void *work(void *arg)
{
	int seen;
	pthread_mutex_lock(&m);
	seen = x;
	pthread_mutex_unlock(&m);
	seen++;
	pthread_mutex_lock(&m);
	x = seen;
	pthread_mutex_unlock(&m);
	return arg;
}
",
        "x == 2",
    );
    let diffs = diffs("joined", "joined.c", &source, "wider-critical-section");
    expect(&diffs, &["-pthread_mutex_unlock(&m);", "-pthread_mutex_lock(&m);"]);
}

#[test]
fn an_unlocked_check_moves_into_the_section() {
    let source = twice(
        "static _Atomic int made;
static int times;
static void *work(void *arg)
{
	if (!made) {
		pthread_mutex_lock(&m);
		times++;
		made = 1;
		pthread_mutex_unlock(&m);
	}
	return arg;
}
",
        "times == 1",
    );
    let diffs = diffs("check", "check.c", &source, "wider-critical-section");
    expect(
        &diffs,
        &[
            "+pthread_mutex_lock(&m);",
            "-pthread_mutex_lock(&m);",
            "-pthread_mutex_unlock(&m);",
            "+pthread_mutex_unlock(&m);",
        ],
    );
}

#[test]
fn an_early_return_gives_the_lock_back() {
    let source = twice(
        "static int left = 1;
static int taken;
static void *work(void *arg)
{
	pthread_mutex_lock(&m);
	int there = left;
	pthread_mutex_unlock(&m);
	if (there == 0)
		return NULL;
	pthread_mutex_lock(&m);
	left = there - 1;
	taken++;
	pthread_mutex_unlock(&m);
	return arg;
}
",
        "taken == 1",
    );
    let diffs = diffs("return", "return.c", &source, "wider-critical-section");
    expect(
        &diffs,
        &[
            "-pthread_mutex_unlock(&m);",
            "-if (there == 0)",
            "+if (there == 0) {",
            "+pthread_mutex_unlock(&m);",
            "-pthread_mutex_lock(&m);",
            "+}",
        ],
    );
}

#[test]
fn who_forgot_the_lock_takes_it() {
    let source = format!(
        "{HEAD}static int x;
static void *careful(void *arg)
{{
	pthread_mutex_lock(&m);
	int seen = x;
	x = seen + 1;
	pthread_mutex_unlock(&m);
	return arg;
}}
static void *careless(void *arg)
{{
	int seen = x;
	x = seen + 1;
	return arg;
}}
int main(void)
{{
	pthread_t one, two;
	pthread_create(&one, NULL, careful, NULL);
	pthread_create(&two, NULL, careless, NULL);
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	assert(x == 2);
	return 0;
}}
"
    );
    let diffs = diffs("forgot", "forgot.c", &source, "existing-lock");
    expect(&diffs, &["+pthread_mutex_lock(&m);", "+pthread_mutex_unlock(&m);"]);
}

#[test]
fn a_test_and_its_wait_become_one_section() {
    let diffs = corpus_diffs("wakeup", "sync/lost_wakeup/lost_wakeup.c", "wider-critical-section");
    expect(
        &diffs,
        &[
            "-if (!f->set) {",
            "-pthread_mutex_lock(&f->lock);",
            "+pthread_mutex_lock(&f->lock);",
            "+while (!f->set) {",
            "-pthread_mutex_unlock(&f->lock);",
            "+pthread_mutex_unlock(&f->lock);",
        ],
    );
}

#[test]
fn a_signal_wakes_all_who_wait() {
    let diffs = corpus_diffs("many", "sync/lost_wakeup_many/lost_wakeup_many.c", "signalling");
    expect(&diffs, &["-pthread_cond_signal(&filled);", "+pthread_cond_broadcast(&filled);"]);
}

#[test]
fn scoped_locks_are_joined() {
    let source = "#include <cassert>
#include <mutex>
#include <thread>

static std::mutex m;
static int x;

static void work()
{
	int seen;
	{
		std::lock_guard<std::mutex> guard(m);
		seen = x;
	}
	std::lock_guard<std::mutex> guard(m);
	x = seen + 1;
}

int main()
{
	std::thread one(work), two(work);
	one.join();
	two.join();
	assert(x == 2);
}
";
    let diffs = diffs("scoped", "scoped.cpp", source, "wider-critical-section");
    expect(
        &diffs,
        &[
            "+std::unique_lock<std::mutex> guard(m);",
            "-std::lock_guard<std::mutex> guard(m);",
            "-std::lock_guard<std::mutex> guard(m);",
        ],
    );
}

#[test]
fn threads_that_disturb_each_other_get_a_lock_of_their_own() {
    // A lock around all that the cause names would keep the producer out, for whom `take` waits.
    let source = format!(
        "{HEAD}static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static int items, taken;
static int any(void)
{{
	pthread_mutex_lock(&m);
	int any = items > 0 || taken < 2;
	pthread_mutex_unlock(&m);
	return any;
}}
static void take(void)
{{
	pthread_mutex_lock(&m);
	while (items == 0 && taken < 2)
		pthread_cond_wait(&more, &m);
	items--;
	taken++;
	assert(items >= 0);
	pthread_mutex_unlock(&m);
}}
static void *consumer(void *unused)
{{
	if (any())
		take();
	if (any())
		take();
	return unused;
}}
static void *producer(void *unused)
{{
	for (int i = 0; i < 2; i++) {{
		pthread_mutex_lock(&m);
		items++;
		pthread_cond_broadcast(&more);
		pthread_mutex_unlock(&m);
	}}
	return unused;
}}
int main(void)
{{
	pthread_t one, two, three;
	pthread_create(&one, NULL, consumer, NULL);
	pthread_create(&two, NULL, consumer, NULL);
	pthread_create(&three, NULL, producer, NULL);
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	pthread_join(three, NULL);
	return 0;
}}
"
    );
    let diffs = diffs("alone", "items.c", &source, "new-lock");
    let is_alone = |diff: &String| {
        diff.matches("+\tpthread_mutex_lock(&").count() == 1 && diff.contains("consumer_lock")
    };
    assert!(diffs.iter().any(is_alone), "{diffs:#?}");
}
