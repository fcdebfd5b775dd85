//! `unravel cc`, `record`, `log show|stats` and `diagnose LOG` as a user calls them, with programs that really run: what is recorded,
//! what a log holds and does not hold, and what is refused.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const CLEAN: i32 = 0;
const FINDING: i32 = 1;
const ERROR: i32 = 2;
const INCONCLUSIVE: i32 = 3;

/// Two threads read before either writes, whatever the system does.
const LOST: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
static pthread_barrier_t both;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int balance;
static int locked;
static void *deposit(void *amount) {
    int seen = balance;
    pthread_barrier_wait(&both);
    if (seen >= 0) balance = seen + *(int *)amount;
    pthread_mutex_lock(&lock);
    locked++;
    pthread_mutex_unlock(&lock);
    return 0;
}
int main(int argc, char **argv) {
    pthread_t a, b;
    int one = 1, ten = 10;
    pthread_barrier_init(&both, 0, 2);
    pthread_create(&a, 0, deposit, &one);
    pthread_create(&b, 0, deposit, &ten);
    pthread_join(a, 0);
    pthread_join(b, 0);
    if (argc < 2) assert(balance == 11);
    printf("%d\n", locked);
    return 0;
}
"#;

const HANG: &str = r#"
#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static void take(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}
static void *other(void *u) { take(&b, &a); return u; }
int main(void) {
    pthread_t t;
    pthread_barrier_init(&both, 0, 2);
    pthread_create(&t, 0, other, 0);
    take(&a, &b);
    pthread_join(t, 0);
    return 0;
}
"#;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().expect("a scratch folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn unravel(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_unravel"))
            .args(arguments)
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .output()
            .expect("unravel starts")
    }

    fn build(&self, source: &str) -> PathBuf {
        std::fs::write(self.path("program.c"), source).expect("the source is written");
        let built = self.unravel(&["cc", "-O2", "-g", "program.c", "-o", "program", "-pthread"]);
        assert_eq!(code(&built), CLEAN, "{}", text(&built));
        self.path("program")
    }
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("it was not killed")
}

fn text(output: &Output) -> String {
    let part = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    part(&output.stdout) + &part(&output.stderr)
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}

#[test]
fn a_failure_is_recorded_shown_and_rebuilt() {
    let place = Place::new();
    place.build(LOST);
    let recorded = place.unravel(&["record", "-o", "run.log", "--", "./program"]);
    assert_eq!(code(&recorded), FINDING, "{}", text(&recorded));
    assert!(text(&recorded).contains("assertion"), "{}", text(&recorded));
    let shown = text(&place.unravel(&["log", "show", "run.log"]));
    for word in ["T0.1", "T0.2", "deposit", "program.c:12", "locks", "unlocks"] {
        assert!(shown.contains(word), "{word} is not in\n{shown}");
    }
    let stats = place.unravel(&["log", "stats", "--json", "run.log"]);
    let stats: Value = serde_json::from_slice(&stats.stdout).expect("JSON");
    assert!(stats["branches"].as_u64().is_some_and(|n| n >= 3), "{stats}");
    let diagnosed = place.unravel(&["diagnose", "--json", "run.log"]);
    // The barrier makes it fail under every schedule, and the diagnosis says so; the run is the recorded one.
    assert_eq!(code(&diagnosed), INCONCLUSIVE, "{}", text(&diagnosed));
    let answer: Value = serde_json::from_slice(&diagnosed.stdout).expect("JSON");
    assert_eq!(answer["failure"]["kind"], "assertion", "{answer}");
    let notes = answer["notes"].to_string();
    assert!(notes.contains("rebuilt from") && notes.contains("simplified before"), "{notes}");
}

/// What a handler does is beside the path of the thread that it interrupts, in the log and in the machine.
#[test]
fn a_failure_in_a_handler_that_branches_is_rebuilt() {
    let place = Place::new();
    place.build(
        r#"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
static volatile int state, checks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void check(int number) {
    for (int i = 0; i < number; i++)
        checks++;
    if (state % 2)
        abort();
}
static void *count(void *u) {
    for (int i = 0; i < 10; i++) {
        pthread_mutex_lock(&lock);
        state++;
        pthread_mutex_unlock(&lock);
    }
    return u;
}
int main(void) {
    pthread_t other;
    signal(SIGUSR1, check);
    pthread_create(&other, 0, count, 0);
    pthread_join(other, 0);
    raise(SIGUSR1);
    state++;
    if (checks) raise(SIGUSR1);
    return 0;
}
"#,
    );
    let recorded = place.unravel(&["record", "-o", "run.log", "--", "./program"]);
    assert!(text(&recorded).contains("recorded 2 threads; aborted by T0"), "{}", text(&recorded));
    let diagnosed = place.unravel(&["diagnose", "--json", "run.log"]);
    let answer: Value = serde_json::from_slice(&diagnosed.stdout).expect("JSON");
    assert_eq!(answer["failure"]["kind"], "abort", "{answer}");
    assert!(answer["notes"].to_string().contains("rebuilt from"), "{answer}");
}

/// The handler that writes the end has a stack of its own, in the first thread, too.
#[test]
fn a_stack_that_is_used_up_is_an_end() {
    let place = Place::new();
    place.build(
        r#"
#include <pthread.h>
static int deeper(int n, volatile int *p) {
    volatile int own[64];
    own[n % 64] = *p;
    if (*p == n) return 0;
    return deeper(n + 1, p) + own[(n + 1) % 64];
}
static void *other(void *u) { return (void *)(long)deeper(0, u); }
int main(int argc, char **argv) {
    volatile int never = -1;
    pthread_t thread;
    (void)argv;
    if (argc == 1) return deeper(0, &never);
    pthread_create(&thread, 0, other, (void *)&never);
    return pthread_join(thread, 0);
}
"#,
    );
    for (arguments, thread) in [(&[][..], "T0"), (&["x"], "T0.1")] {
        let record = [&["record", "-o", "run.log", "--", "./program"], arguments].concat();
        let recorded = text(&place.unravel(&record));
        let end = format!("killed by signal 11 in {thread}");
        assert!(recorded.contains(&end), "{recorded}");
        let shown = text(&place.unravel(&["log", "show", "run.log"]));
        assert!(shown.contains(&end) && shown.contains("deeper"), "{shown}");
    }
}

#[test]
fn a_run_that_passes_and_the_flight_recorder() {
    let place = Place::new();
    place.build(LOST);
    for more in [&[][..], &["--flight", "1"], &["--no-sync"]] {
        let mut arguments = vec!["record", "-o", "run.log"];
        arguments.extend(more);
        arguments.extend(["--", "./program", "passes"]);
        let recorded = place.unravel(&arguments);
        assert_eq!(code(&recorded), CLEAN, "{more:?}: {}", text(&recorded));
        let shown = place.unravel(&["log", "show", "run.log"]);
        let locks = text(&shown).contains("locks");
        assert_eq!(locks, more != ["--no-sync"], "{more:?}\n{}", text(&shown));
        assert!(text(&shown).contains("exited with 0"), "{}", text(&shown));
    }
    let diagnosed = place.unravel(&["diagnose", "run.log"]);
    assert_eq!(code(&diagnosed), ERROR, "there is nothing to diagnose in a run that passed");
}

#[test]
fn a_hang_says_who_waits_for_what() {
    let place = Place::new();
    place.build(HANG);
    let recorded =
        place.unravel(&["record", "--hang-after", "1s", "-o", "run.log", "--", "./program"]);
    assert_eq!(code(&recorded), FINDING, "{}", text(&recorded));
    let shown = text(&place.unravel(&["log", "show", "run.log"]));
    assert_eq!(shown.matches("  waits: ").count(), 2, "{shown}");
    let diagnosed = place.unravel(&["diagnose", "--json", "run.log"]);
    let answer: Value = serde_json::from_slice(&diagnosed.stdout).expect("JSON");
    assert_eq!(answer["failure"]["kind"], "deadlock", "{answer}");
    assert!(answer["notes"].to_string().contains("rebuilt from"), "{answer}");
}

#[test]
fn what_cannot_be_recorded_or_read_is_refused_with_one_message() {
    let place = Place::new();
    std::fs::write(place.path("plain.c"), "int main(void) { return 0; }\n").expect("written");
    let plain = Command::new("clang-19")
        .args(["plain.c", "-o", "plain"])
        .current_dir(place.0.path())
        .status()
        .expect("clang-19 is installed");
    assert!(plain.success());
    let refused = |arguments: &[&str], word: &str| {
        let output = place.unravel(arguments);
        assert_eq!(code(&output), ERROR, "{arguments:?}: {}", text(&output));
        // Messages are wrapped.
        let said = text(&output).replace('│', " ");
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(word), "{arguments:?}: {said}");
    };
    refused(&["record", "-o", "run.log", "--", "./plain"], "not built to be recorded");
    // Whatever is in the way and is no log stays.
    place.build(LOST);
    refused(&["record", "-o", "plain.c", "--", "./program"], "plain.c");
    assert!(place.path("plain.c").exists());
    std::fs::write(place.path("no.log"), b"unravlog and then nothing").expect("written");
    refused(&["log", "show", "no.log"], "no.log");
    refused(&["diagnose", "no.log"], "no.log");
    // A log of another build.
    let recorded = place.unravel(&["record", "-o", "run.log", "--", "./program"]);
    assert_eq!(code(&recorded), FINDING);
    place.build(&LOST.replace("one = 1", "one = 2, two = 2").replace("argc < 2", "argc < 2 + two"));
    refused(&["log", "show", "run.log"], "another build");
    refused(&["diagnose", "run.log"], "another build");
    // No program at all.
    std::fs::remove_file(place.path("program")).expect("it was there");
    refused(&["diagnose", "run.log"], "not there any more");
}

#[test]
fn a_log_is_the_users_own_and_holds_no_values() {
    let place = Place::new();
    place.build(LOST);
    let secret = "sesame-4711";
    let recorded = Command::new(env!("CARGO_BIN_EXE_unravel"))
        .args(["record", "-o", "run.log", "--", "./program", secret])
        .current_dir(place.0.path())
        .env("PASSWORD", secret)
        .stdin(Stdio::null())
        .output()
        .expect("unravel starts");
    assert_eq!(code(&recorded), CLEAN, "{}", text(&recorded));
    let log = place.path("run.log");
    let mode = std::fs::metadata(&log).expect("the log").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let bytes = read_sparse(&log);
    assert!(!contains(&bytes, secret.as_bytes()), "an argument or a variable is in the log");
}

/// Fails only with what it was given.
const GIVEN: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
static pthread_barrier_t both;
static volatile int total;
static void *add(void *u) {
    int seen = total;
    pthread_barrier_wait(&both);
    total = seen + 1;
    return u;
}
int main(int argc, char **argv) {
    char word[32] = "";
    pthread_t t;
    if (argc != 2 || strcmp(argv[1], "sesame-4711") || !fgets(word, sizeof word, stdin)) return 2;
    if (strcmp(word, "open-0815\n")) return 3;
    pthread_barrier_init(&both, 0, 2);
    pthread_create(&t, 0, add, 0);
    add(0);
    pthread_join(t, 0);
    assert(total == 2);
    return 0;
}
"#;

#[test]
fn what_a_program_is_given_is_kept_only_on_request() {
    let place = Place::new();
    place.build(GIVEN);
    let texts = ["sesame-4711", "open-0815"];
    std::fs::write(place.path("words"), "open-0815\n").expect("it is written");
    let record = |log: &str, wanted: &[&str], piped: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unravel"));
        command.arg("record").args(wanted).args(["-o", log, "--", "./program", texts[0]]);
        command.current_dir(place.0.path()).stderr(Stdio::piped()).stdout(Stdio::piped());
        let mut source = Command::new("cat");
        source.arg("words").current_dir(place.0.path()).stdout(Stdio::piped());
        let mut source = source.spawn().expect("cat starts");
        let pipe = source.stdout.take().expect("a pipe");
        match piped {
            true => command.stdin(pipe),
            false => command.stdin(std::fs::File::open(place.path("words")).expect("a file")),
        };
        let recorded = command.output().expect("unravel starts");
        source.wait().expect("cat ends");
        assert_eq!(code(&recorded), FINDING, "{}", text(&recorded));
        read_sparse(&place.path(log))
    };
    for piped in [false, true] {
        let bytes = record("silent.log", &[], piped);
        assert!(texts.iter().all(|text| !contains(&bytes, text.as_bytes())), "piped: {piped}");
        let bytes = record("asked.log", &["--inputs"], piped);
        assert!(texts.iter().all(|text| contains(&bytes, text.as_bytes())), "piped: {piped}");
        // Nothing needs to be said of the inputs any more, without which it fails otherwise.
        let lacking = place.unravel(&["diagnose", "silent.log"]);
        assert_eq!(code(&lacking), INCONCLUSIVE, "{}", text(&lacking));
        let diagnosed = place.unravel(&["diagnose", "asked.log", "--json"]);
        let answer: Value = serde_json::from_slice(&diagnosed.stdout).expect("JSON");
        assert_eq!(answer["failure"]["kind"], "assertion", "{}", text(&diagnosed));
        std::fs::remove_file(place.path("silent.log")).expect("it was there");
    }
    let shown = text(&place.unravel(&["log", "show", "asked.log"]));
    assert!(shown.contains("started as: ./program sesame-4711"), "{shown}");
    assert!(shown.contains("standard input: 10 bytes"), "{shown}");
}

/// The parts of a log that are not holes would do; it is small enough to read whole.
fn read_sparse(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("the log is read")
}
