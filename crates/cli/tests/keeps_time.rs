//! Commands end when their time is up, and soon after Ctrl-C, with what they know. Margins are wide: other tests run beside.

mod support;

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use support::{FINDING, INCONCLUSIVE, directory, says, unravel, write};

/// What starting, compiling and a busy machine may add.
const SPARE: Duration = Duration::from_secs(6);

/// Threads that increment without a lock: very many classes of schedules, most of which fail.
fn increments(threads: u32, times: u32, wanted: &str) -> String {
    format!(
        "#include <assert.h>\n#include <pthread.h>\nstatic int x;\nstatic void *work(void *a) {{\n    \
         for (int i = 0; i < {times}; i++) {{ int t = x; x = t + 1; }}\n    return 0;\n}}\n\
         int main(void) {{\n    pthread_t t[{threads}];\n    \
         for (int i = 0; i < {threads}; i++) pthread_create(&t[i], 0, work, 0);\n    \
         for (int i = 0; i < {threads}; i++) pthread_join(t[i], 0);\n    assert({wanted});\n    return 0;\n}}\n"
    )
}

/// Runs a command that is interrupted after this long; how it ended, and how long that took from then on.
fn interrupted(directory: &Path, arguments: &[&str], after: Duration) -> (Output, Duration) {
    let mut command = unravel(directory, arguments);
    // SAFETY: what is done between fork and exec may be done there. Tests that run in the background are started without an
    // interest in Ctrl-C, which children inherit.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        })
    };
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    std::thread::sleep(after);
    // SAFETY: our own child, not waited for yet.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let since = Instant::now();
    let output = child.wait_with_output().expect("it ends");
    (output, since.elapsed())
}

#[test]
fn the_time_is_kept_though_very_many_classes_fail() {
    let directory = directory("keeps-time");
    write(&directory, "many.c", &increments(4, 3, "x == 12"));
    write(&directory, "two.c", &increments(2, 5, "x == 10"));
    let commands: [(&[&str], u64); 6] = [
        (&["find", "--all", "--time", "2s"], 2),
        (&["causes", "--time", "2s"], 2),
        (&["causes", "--time", "5s"], 5),
        (&["repair", "--time", "2s", "--repair-time", "2s"], 4),
        (&["explain", "--time", "2s", "--diagnose-time", "2s", "--repair-time", "2s"], 6),
        (&["hunt", "--time", "2s"], 2),
    ];
    for program in ["many.c", "two.c"] {
        for (command, seconds) in commands {
            let begun = Instant::now();
            says(&directory, &[command, &[program]].concat(), FINDING);
            let took = begun.elapsed();
            assert!(took < Duration::from_secs(seconds) + SPARE, "{command:?} {program}: {took:?}");
        }
    }
}

#[test]
fn an_interrupt_is_answered_with_what_is_known() {
    let directory = directory("interrupted");
    write(&directory, "many.c", &increments(4, 4, "x == 16"));
    for command in ["causes", "repair", "explain", "find"] {
        let all: &[&str] = if command == "find" { &["--all"] } else { &[] };
        let arguments = [&[command, "many.c", "--time", "60s"], all].concat();
        let (output, took) = interrupted(&directory, &arguments, Duration::from_secs(3));
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(took < SPARE, "{command}: {took:?}");
        assert_eq!(output.status.code(), Some(FINDING), "{command}: {text}");
    }
}

#[test]
fn who_is_interrupted_and_found_nothing_is_not_clean() {
    let directory = directory("interrupted-clean");
    write(&directory, "fine.c", &increments(4, 4, "x <= 16"));
    for command in ["find", "causes", "explain", "hunt"] {
        let arguments = [command, "fine.c", "--time", "60s"];
        let (output, took) = interrupted(&directory, &arguments, Duration::from_secs(2));
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(took < SPARE, "{command}: {took:?}");
        // A hunt may have come to its end by then.
        let is_over = command == "hunt" && text.contains("exhausted");
        assert!(is_over || output.status.code() == Some(INCONCLUSIVE), "{command}: {text}");
    }
}

#[test]
fn a_run_that_is_interrupted_is_inconclusive() {
    let directory = directory("interrupted-run");
    let endless =
        "int main(void) { volatile long i = 0; while (i < 4000000000000) i++; return 0; }\n";
    write(&directory, "long.c", endless);
    let arguments = ["run", "long.c", "--max-steps", "100000000000000"];
    let (output, took) = interrupted(&directory, &arguments, Duration::from_secs(2));
    assert!(took < SPARE, "{took:?}");
    assert_eq!(output.status.code(), Some(INCONCLUSIVE), "{output:?}");
}

#[test]
fn long_runs_are_diagnosed_and_simplified_in_time() {
    let directory = directory("long-runs");
    write(&directory, "big.c", &increments(6, 400, "x == 2400"));
    says(&directory, &["find", "--strategy", "random", "big.c"], FINDING);
    let trace = "unravel-out/big-assertion-1.trace";
    let commands: [&[&str]; 4] = [
        &["diagnose", "--time", "2s", trace],
        &["diagnose", "--time", "2s", "--solver", "z3", trace],
        &["diagnose", "--time", "2s", "--paths-only", trace],
        &["simplify", "--time", "2s", trace],
    ];
    for command in commands {
        let begun = Instant::now();
        let output = unravel(&directory, command).output().expect("it runs");
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(2) + SPARE, "{command:?}: {took:?}");
        let code = output.status.code();
        assert!(code == Some(FINDING) || code == Some(INCONCLUSIVE), "{command:?}: {code:?}");
    }
    let (output, took) = interrupted(&directory, &["diagnose", trace], Duration::from_secs(1));
    assert!(took < SPARE && output.status.code().is_some(), "{took:?} {:?}", output.status);
}

#[test]
fn what_fails_in_every_schedule_is_told_soon() {
    let directory = directory("always");
    write(&directory, "always.c", &increments(3, 300, "x > 900"));
    let begun = Instant::now();
    let text = says(&directory, &["explain", "always.c"], FINDING);
    assert!(begun.elapsed() < Duration::from_secs(3) + SPARE, "{:?}", begun.elapsed());
    let told = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("fails under every schedule tried ("), "{text}");
}
