//! Where a native program fails is where the machine says, however it was optimised: else no log of such a run is ever replayed. Each program here
//! fails natively in every run, at a line that optimising moves, merges or hides.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// What all of them begin with: threads that share `turns`, and a null pointer to a box.
const BEFORE: &str = "
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
struct box {
	int value;
	bool flag;
	short wide;
	double real;
	void (*act)(void);
	pthread_mutex_t gate;
};
static atomic_int turns;
static struct box *_Atomic where;
static struct box full = { 1, true, 2, 3.5, NULL, PTHREAD_MUTEX_INITIALIZER };
static long sum;
";

const AFTER: &str = "
static void *work(void *arg)
{
	turns++;
	shape(where, arg ? 3 : 2);
	turns++;
	return arg;
}
int main(void)
{
	pthread_t one, two;
	pthread_create(&one, NULL, work, NULL);
	pthread_create(&two, NULL, work, &full);
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	return sum == 7;
}
";

fn runs(folder: &Path, arguments: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unravel"));
    let output = command.args(arguments).current_dir(folder).stdin(Stdio::null()).output();
    let output = output.expect("unravel runs");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// The machine follows each native run to the same failure at the same line.
fn fails_where_the_machine_says(name: &str, source: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(name), source).expect("a source");
    let run = |arguments: &[&str]| runs(folder.path(), &[arguments, &[name]].concat());
    run(&["coop", "profile", "--json", "--coverage", "100%", "--instances", "1"]);
    run(&["coop", "build", "--json", "-o", "program"]);
    let record = ["coop", "record", "--json", "--native", "./program", "--all", "--runs", "2"];
    let recorded = run(&[&record[..], &["--hang-after", "1500", "--verify"]].concat());
    assert_eq!(
        [&recorded["logs"], &recorded["failed"], &recorded["followed"]],
        [2, 2, 2],
        "{recorded} of\n{source}"
    );
}

fn shape_fails_where_the_machine_says(shape: &str) {
    fails_where_the_machine_says("shape.c", &[BEFORE, shape, AFTER].concat());
}

/// A small function reads, its caller computes: one instruction does both, and has the line of the second.
#[test]
fn a_read_of_a_small_function_has_its_line_not_the_callers() {
    for (returns, member, use_of) in [
        ("bool", "flag", "for (int i = 0; i < n; i++)\n\t\tif (get(box))\n\t\t\tsum++;"),
        ("int", "value", "sum = n +\n\t\tget(box);"),
        ("short", "wide", "if (n\n\t\t> get(box))\n\t\tsum = 5;"),
        ("double", "real", "sum = (long)(n *\n\t\tget(box));"),
    ] {
        let getter =
            format!("static {returns} get(struct box *box)\n{{\n\treturn box->{member};\n}}");
        let shape = format!("static void shape(struct box *box, int n)\n{{\n\t{use_of}\n}}");
        shape_fails_where_the_machine_says(&format!("{getter}\n{shape}"));
    }
}

#[test]
fn an_update_in_place_has_the_line_of_its_read() {
    shape_fails_where_the_machine_says(
        "static int get(struct box *box)\n{\n\treturn box->value;\n}\n\
         static void set(struct box *box, int value)\n{\n\tbox->value = value;\n}\n\
         static void shape(struct box *box, int n)\n{\n\tset(box,\n\t\tget(box) + n);\n}",
    );
}

#[test]
fn what_is_moved_out_of_a_loop_keeps_its_line() {
    shape_fails_where_the_machine_says(
        "static void shape(struct box *box, int n)\n{\n\tlong all = 0;\n\
         \tfor (int i = 0; i < n * 3; i++) {\n\t\tall = all * 31 + n;\n\t\tall +=\n\t\t\tbox->value;\n\t}\n\
         \tsum = all;\n}",
    );
}

#[test]
fn what_two_arms_have_in_common_keeps_its_line() {
    shape_fails_where_the_machine_says(
        "static void shape(struct box *box, int n)\n{\n\tlong all;\n\tif (n == 4)\n\t\tall = box->value;\n\
         \telse if (n == 2)\n\t\tall =\n\t\t\tbox->value;\n\telse\n\t\tall = box->value * 2;\n\tsum = all;\n}",
    );
    shape_fails_where_the_machine_says(
        "static void check(struct box *box, int n)\n{\n\tif (n > 9)\n\t\tabort();\n\tsum += n;\n\
         \tif (box == NULL)\n\t\tabort();\n\tsum += n;\n}\n\
         static void shape(struct box *box, int n)\n{\n\tcheck(box, n);\n}",
    );
}

#[test]
fn a_division_keeps_its_own_line() {
    shape_fails_where_the_machine_says(
        "static int get(struct box *box)\n{\n\treturn box ? box->value : 0;\n}\n\
         static void shape(struct box *box, int n)\n{\n\tsum = n\n\t\t/ get(box);\n}",
    );
}

#[test]
fn failures_in_functions_of_libraries_are_at_the_call() {
    shape_fails_where_the_machine_says(
        "static void shape(struct box *box, int n)\n{\n\tsum = n +\n\t\t(long)strlen((char *)box);\n}",
    );
    shape_fails_where_the_machine_says(
        "static void shape(struct box *box, int n)\n{\n\tsum = n;\n\tbox->act();\n}",
    );
}

/// The machine sees through a function that is nothing but one operation; natively it was put in line.
#[test]
fn wrappers_are_seen_through() {
    shape_fails_where_the_machine_says(
        "static int load(struct box *box)\n{\n\treturn atomic_load((_Atomic int *)&box->value);\n}\n\
         static void shape(struct box *box, int n)\n{\n\tsum = n;\n\tsum += load(box);\n}",
    );
    shape_fails_where_the_machine_says(
        "static void enter(struct box *box)\n{\n\tpthread_mutex_lock(&box->gate);\n}\n\
         static void shape(struct box *box, int n)\n{\n\tbox = box ? box : &full;\n\tenter(box);\n\
         \tsum = n;\n\tenter(box);\n}",
    );
}

/// Locks of the C++ library are in its headers, and joining waits inside of it.
#[test]
fn a_hang_of_cpp_is_where_the_program_locks_and_joins() {
    fails_where_the_machine_says(
        "guards.cpp",
        r"
#include <atomic>
#include <pthread.h>
#include <mutex>
#include <thread>
static std::mutex one, two;
static std::atomic<int> ready;
static pthread_barrier_t both;
static void cross(std::mutex &first, std::mutex &second)
{
	std::lock_guard<std::mutex> outer(first);
	ready++;
	pthread_barrier_wait(&both);
	std::lock_guard<std::mutex> inner(second);
	ready--;
}
int main()
{
	pthread_barrier_init(&both, nullptr, 2);
	std::thread a(cross, std::ref(one), std::ref(two));
	std::thread b(cross, std::ref(two), std::ref(one));
	a.join();
	b.join();
	return 0;
}
",
    );
}
