//! Long runs: a lost update at the end of thousands of events is explained as what it is, at its lines.

mod support;

use serde_json::Value;
use support::*;

/// Four threads with noise, then an update of `hits` that can be lost, in lines 15 and 16.
fn program(noise: &str) -> String {
    format!(
        "#include <assert.h>\n#include <pthread.h>\n#include <stdlib.h>\n\
         static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
         static int noise;\nstatic int hits;\nstatic int rounds;\n\
         static void *work(void *a)\n\
         {{\n\
         \tfor (int i = 0; i < rounds; i++) {{\n\
         \t\t{noise}\n\
         \t}}\n\
         \t(void)m;\n\
         \t/* not in one step */\n\
         \tint seen = hits;\n\
         \thits = seen + 1;\n\
         \treturn a;\n\
         }}\n\
         int main(int argc, char **argv)\n\
         {{\n\
         \tpthread_t t[4];\n\
         \trounds = argc > 1 ? atoi(argv[1]) : 1;\n\
         \tfor (int i = 0; i < 4; i++) pthread_create(&t[i], 0, work, 0);\n\
         \tfor (int i = 0; i < 4; i++) pthread_join(t[i], 0);\n\
         \tassert(hits == 4);\n\
         \treturn 0;\n\
         }}\n"
    )
}

#[track_caller]
fn is_lost_update(test: &str, noise: &str, rounds: &str) {
    let directory = directory(&format!("long-{test}"));
    write(&directory, "p.c", &program(noise));
    let text = says(
        &directory,
        &["explain", "p.c", "--json", "--repair-time", "0s", "--", rounds],
        FINDING,
    );
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let diagnosis = &report["bugs"][0]["diagnosis"];
    assert_eq!(diagnosis["status"]["kind"], "confirmed", "{diagnosis:#}");
    let cause = &diagnosis["root_cause"];
    assert_eq!(cause["pattern"], "lost-update", "{cause:#}");
    let kept = &cause["evidence"]["kept"][0];
    assert_eq!(kept["from"]["line"], 15, "{kept:#}");
    assert_eq!(kept["to"]["line"], 16, "{kept:#}");
}

#[test]
fn after_a_thousand_events() {
    is_lost_update("locked-1", "pthread_mutex_lock(&m); noise++; pthread_mutex_unlock(&m);", "62");
}

#[test]
fn after_ten_thousand_events() {
    is_lost_update(
        "locked-10",
        "pthread_mutex_lock(&m); noise++; pthread_mutex_unlock(&m);",
        "625",
    );
    is_lost_update("unlocked-10", "noise++;", "1250");
}

#[test]
fn after_a_hundred_thousand_events() {
    is_lost_update(
        "locked-100",
        "pthread_mutex_lock(&m); noise++; pthread_mutex_unlock(&m);",
        "6250",
    );
}
