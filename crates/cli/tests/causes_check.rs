//! `unravel causes --check`: what the user's own command says of a run counts everywhere, whatever it says of no output at
//! all. It once judged runs whose output nobody had kept, so that a check which passes on nothing lost all causes.

mod support;

use std::collections::BTreeSet;

use serde_json::Value;

use support::{FINDING, directory, says, write};

/// More classes of interleavings than there is time for.
const PROGRAM: &str = "#include <pthread.h>
#include <stdio.h>

int total;

static void *add(void *a)
{
	for (int i = 0; i < 8; i++)
		total = total + 1;
	return a;
}

int main(void)
{
	pthread_t t[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], 0, add, 0);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], 0);
	printf(\"total %d\\n\", total);
	if (total != 24)
		printf(\"total wrong\\n\");
	return 0;
}
";

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The causes under this check, each as the lines that its orders are between.
fn causes(test: &str, check: &str) -> BTreeSet<String> {
    let directory = directory(&format!("causes-check-{test}"));
    write(&directory, "total.c", PROGRAM);
    let arguments = ["causes", "--json", "--time", "5s", "--check", check, "total.c"];
    let said: Value =
        serde_json::from_str(&says(&directory, &arguments, FINDING)).expect("an answer in JSON");
    assert_eq!(said["verdict"], "concurrent", "{said:#}");
    let causes = list(&said["classes"]).iter().flat_map(|class| list(&class["causes"]));
    let line = |one: &Value| one["place"]["line"].as_u64().expect("a line");
    let order = |order: &Value| (line(&order["first"]), line(&order["second"]));
    let lines = causes.map(|cause| {
        let orders: BTreeSet<_> = list(&cause["orders"]).iter().map(order).collect();
        format!("{orders:?}")
    });
    let lines: BTreeSet<String> = lines.collect();
    assert!(!lines.is_empty(), "no cause under '{check}': {said:#}");
    lines
}

#[test]
fn a_check_that_passes_on_no_output_finds_what_one_that_fails_on_it_finds() {
    let passes = causes("passes", "! grep -q wrong $UNRAVEL_STDOUT");
    let fails = causes("fails", "grep -q 'total 24' $UNRAVEL_STDOUT");
    assert_eq!(passes, fails);
    // The only line that is to blame.
    assert_eq!(passes, BTreeSet::from(["{(9, 9)}".to_owned()]));
}
