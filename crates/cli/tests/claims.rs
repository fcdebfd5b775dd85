//! Claims that must not lie: "all classes", "complete", "proved", "exhausted", "sequential", "one schedule". Each program
//! here has a failure that the search does not look for, and each claim is asked whether it says so.

mod support;

use serde_json::Value;
use support::*;

const HEAD: &str = "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n#include <stdio.h>\n\
    #include <stdlib.h>\n#include <string.h>\n#include <time.h>\n#include <unistd.h>\n\
    int __VERIFIER_nondet_int(void);\n\
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
    static pthread_cond_t c = PTHREAD_COND_INITIALIZER;\n";

/// A failure that needs a wait to wake without a signal.
const SPURIOUS: &str = "static int ready; static void *w(void *a) { pthread_mutex_lock(&m); ready = 1;\n\
    pthread_cond_signal(&c); pthread_mutex_unlock(&m); return a; }\n\
    int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); pthread_mutex_lock(&m);\n\
    if (!ready) pthread_cond_wait(&c, &m); assert(ready); pthread_mutex_unlock(&m); pthread_join(t, 0); return 0; }\n";

/// A failure that needs a value of the input.
const VALUE: &str = "static int x; static void *w(void *a) { x = 1; return a; }\n\
    int main(void) { pthread_t t; int v = __VERIFIER_nondet_int(); pthread_create(&t, 0, w, 0);\n\
    if (v == 4711) assert(x == 0); pthread_join(t, 0); return 0; }\n";

/// A failure that comes after more steps than a run may take.
const LATE: &str = "static atomic_int x; static void *w(void *a) { for (int i = 0; i < 5000; i++) x++; return a; }\n\
    int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); pthread_join(t, 0); assert(x != 5000); return 0; }\n";

/// A failure of which only a library function's write decides.
const LIBRARY: &str = "static char text[8] = \"0\"; static void *w(void *a) { snprintf(text, sizeof text, \"%d\", 7); return a; }\n\
    int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); int seen = 0; sscanf(text, \"%d\", &seen);\n\
    pthread_join(t, 0); assert(seen != 7); return 0; }\n";

/// Whoever comes first fails: no schedule passes, and still the order decides.
const FIRST: &str = "static atomic_int came;\n\
    static void *v(void *a) { assert(atomic_fetch_add(&came, 1) != 0); return a; }\n\
    static void *w(void *a) { assert(atomic_fetch_add(&came, 1) != 0); return a; }\n\
    int main(void) { pthread_t t, u; pthread_create(&t, 0, v, 0); pthread_create(&u, 0, w, 0);\n\
    pthread_join(t, 0); pthread_join(u, 0); return 0; }\n";

fn made(test: &str, program: &str) -> std::path::PathBuf {
    let directory = directory(&format!("claims-{test}"));
    write(&directory, "p.c", &format!("{HEAD}{program}"));
    directory
}

/// What a command says, whatever it ends with.
fn said(test: &str, program: &str, arguments: &[&str]) -> String {
    let directory = made(test, program);
    let output = unravel(&directory, arguments).output().expect("unravel runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
    text
}

#[test]
fn all_classes_are_all() {
    let exhaustive = |flags: &[&str]| {
        let mut all = vec!["find", "p.c", "--strategy", "exhaustive", "--time", "20s"];
        all.extend(flags);
        all.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()
    };
    let cases: [(&str, &str, &[&str], &str); 4] = [
        ("spurious", SPURIOUS, &["--deviations", "0"], "without deviations of the environment"),
        ("value", VALUE, &["--nondet=1"], "other nondeterministic values"),
        ("late", LATE, &["--max-steps", "1000"], "bound of 1000 steps"),
        ("library", LIBRARY, &[], "what library functions do"),
    ];
    for (name, program, flags, admits) in cases {
        let arguments = exhaustive(flags);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let text = said(name, program, &arguments);
        let found = text.contains("assertion 'seen != 7' failed");
        assert!(text.contains(admits) || found, "{name}: {text}");
        let claims = text.contains("explored, in ");
        assert!(!claims, "{name} claims what it does not know: {text}");
    }
}

#[test]
fn watchdogs_are_no_proof() {
    // It could end the process after any instruction.
    let watched = "static atomic_int x; int main(void) { alarm(1); x = 1; x = 2; return 0; }\n";
    let text = said("watchdog", watched, &["find", "p.c", "--time", "5s"]);
    let claims = ["explored, in ", "one schedule only"].iter().any(|claim| text.contains(claim));
    assert!(!claims, "{text}");
    assert!(text.contains("other moments were not tried"), "{text}");
}

#[test]
fn causes_are_complete_within_what_they_say() {
    let text = said("causes-spurious", SPURIOUS, &["causes", "p.c"]);
    assert!(text.contains("without deviations of the environment"), "{text}");
    let text = said("causes-late", LATE, &["causes", "p.c", "--max-steps", "1000", "--time", "5s"]);
    assert!(!text.contains("complete: all") && !text.contains("complete: the only"), "{text}");
    let text = said("causes-value", VALUE, &["causes", "p.c", "--nondet=1"]);
    assert!(text.contains("other inputs were not looked at"), "{text}");
}

#[test]
fn causes_name_what_the_environment_has_to_answer() {
    let weak = "static atomic_int x; static void *w(void *a) { int zero = 0;\n\
        atomic_compare_exchange_weak(&x, &zero, 1); return a; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); pthread_join(t, 0); assert(x == 1); return 0; }\n";
    let cases = [
        ("weak", weak, "the weak compare-exchange of T0.1 at p.c:13 fails although"),
        ("spurious", SPURIOUS, "without a signal, as any wait may"),
    ];
    for (name, program, needs) in cases {
        let text =
            said(&format!("answers-{name}"), program, &["causes", "p.c", "--deviations", "1"]);
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(needs) && flat.contains("1 cause;"), "{text}");
        assert!(!flat.contains("did not come out the same"), "{text}");
    }
}

#[test]
fn a_run_that_needs_a_deviation_is_not_proved_minimal() {
    let directory = made("proved", SPURIOUS);
    says(&directory, &["find", "p.c"], FINDING);
    let trace = "unravel-out/p-assertion-1.trace";
    let text = says(&directory, &["simplify", trace, "--json", "-o", "simple.trace"], FINDING);
    let simplified: Value = serde_json::from_str(&text).expect("JSON");
    assert!(!simplified.to_string().contains("proved-minimal"), "{simplified:#}");
    let text = says(&directory, &["simplify", trace, "-o", "simple2.trace"], FINDING);
    assert!(text.contains("needs an environment that deviates"), "{text}");
}

#[test]
fn what_the_environment_does_is_no_sequential_bug() {
    let weak = "static atomic_int x; static void *w(void *a) { int zero = 0;\n\
        atomic_compare_exchange_weak(&x, &zero, 1); return a; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); pthread_join(t, 0); assert(x == 1); return 0; }\n";
    let text = said("sequential", weak, &["explain", "p.c", "--repair-time", "0s"]);
    assert!(!text.contains("sequential bug"), "{text}");
    assert!(text.contains("weak compare-exchange"), "{text}");
}

#[test]
fn a_hunt_with_timed_waits_says_what_it_left_out() {
    let timed = "static int ready; static void *w(void *a) { pthread_mutex_lock(&m); ready = 1; pthread_cond_signal(&c);\n\
        pthread_mutex_unlock(&m); return a; }\n\
        int main(void) { pthread_t t; struct timespec end; clock_gettime(CLOCK_REALTIME, &end); end.tv_sec++;\n\
        pthread_create(&t, 0, w, 0); pthread_mutex_lock(&m); int r = 0;\n\
        while (!ready && r == 0) r = pthread_cond_timedwait(&c, &m, &end);\n\
        assert(r == 0); pthread_mutex_unlock(&m); pthread_join(t, 0); return 0; }\n";
    let text = said("hunt", timed, &["hunt", "p.c", "--runs", "20", "--time", "10s"]);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_bounded = flat.contains("nothing about paths") && flat.contains("waits end early");
    assert!(flat.contains("assertion 'r == 0' failed") || is_bounded, "{text}");
}

#[test]
fn what_fails_in_one_way_or_another_is_not_sequential() {
    let directory = made("first", FIRST);
    let said = says(&directory, &["explain", "p.c", "--json", "--repair-time", "0s"], FINDING);
    let said: Value = serde_json::from_str(&said).expect("JSON");
    let bugs = said["bugs"].as_array().expect("a list");
    assert_eq!(bugs.len(), 2, "{said}");
    for bug in bugs {
        let reason = bug["diagnosis"]["status"]["reason"].as_str().expect("it is inconclusive");
        assert!(!reason.contains("sequential"), "{reason}");
        assert!(reason.contains("in this way or in another"), "{reason}");
    }
}

/// What a program calls its error is one whatever the function does, though `abort` is an assumption beside it.
#[test]
fn an_error_function_that_aborts_is_no_assumption() {
    for body in ["abort();", "puts(\"error\"); abort();", "", "assert(0);", "exit(1);"] {
        for name in ["reach_error", "__VERIFIER_error"] {
            let directory = made(
                &format!("{name}-{}", body.len()),
                &format!(
                    "void {name}(void) {{ {body} }}\nstatic int x;\n\
                     static void *w(void *a) {{ int b = x; x = b + 1; return a; }}\n\
                     int main(void) {{ pthread_t t, u; pthread_create(&t, 0, w, 0); pthread_create(&u, 0, w, 0);\n\
                     pthread_join(t, 0); pthread_join(u, 0); if (x != 2) {{ {name}(); abort(); }} return 0; }}\n"
                ),
            );
            let said = says(&directory, &["find", "p.c", "-j", "1", "--schedules", "500"], FINDING);
            assert!(said.contains("an error location was reached"), "{name} {body}: {said}");
        }
    }
}
