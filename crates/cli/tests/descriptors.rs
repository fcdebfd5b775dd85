//! Descriptors inside the process: the same answers as natively, and schedules that decide what they are.

mod support;

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{FINDING, INCONCLUSIVE, NOTHING, directory, says, unravel, write};

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/descriptors").join(name)
}

/// What a program prints natively.
fn natively(directory: &Path, source: &Path) -> String {
    let cxx = source.extension().is_some_and(|e| e == "cc");
    let compiler = if cxx { "g++" } else { "gcc" };
    let built = Command::new(compiler)
        .args(["-w", "-pthread", "-o", "native"])
        .arg(source)
        .current_dir(directory)
        .status();
    assert!(built.expect("gcc is there").success());
    let output = Command::new(directory.join("native")).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn in_the_machine(directory: &Path, source: &Path, code: i32) -> (String, String) {
    let source = source.display().to_string();
    let output = unravel(directory, &["run", &source]).output().expect("unravel runs");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(code), "{out}{err}");
    (out, err)
}

fn agrees(name: &str) {
    let directory = directory(&format!("descriptors-{name}"));
    let expected = natively(&directory, &program(name));
    let (out, err) = in_the_machine(&directory, &program(name), NOTHING);
    let lines: Vec<(&str, &str)> = expected.lines().zip(out.lines()).collect();
    for (native, ours) in &lines {
        assert_eq!(ours, native, "after {} lines: {err}", lines.len());
    }
    assert!(out.starts_with(&expected), "natively:\n{expected}\nhere:\n{out}{err}");
}

#[test]
fn pipes_eventfds_timers_and_signals_answer_as_natively() {
    agrees("pipes.c");
}

#[test]
fn sockets_and_epoll_answer_as_natively() {
    agrees("sockets.c");
}

#[test]
fn flags_and_wrong_kinds_answer_as_natively() {
    agrees("flags.c");
}

#[test]
fn messages_options_addresses_and_masks_answer_as_natively() {
    agrees("messages.c");
}

#[test]
fn a_server_and_its_client_in_one_program() {
    agrees("echo.cc");
    let directory = directory("descriptors-echo");
    let source = program("echo.cc").display().to_string();
    let said = says(&directory, &["find", &source, "--schedules", "60", "--time", "60s"], NOTHING);
    assert!(!said.contains("inconclusive"), "{said}");
}

/// Whether the message or the timeout comes first is the schedule's, and an early timeout a deviation.
#[test]
fn a_poll_with_a_timeout_can_run_out() {
    let directory = directory("descriptors-timeout");
    let text = "#include <assert.h>\n#include <poll.h>\n#include <pthread.h>\n#include <unistd.h>\n\
        static int ends[2];\n\
        static void *late(void *x) { usleep(5000); write(ends[1], \"x\", 1); return x; }\n\
        int main(void) {\n  pthread_t t;\n  struct pollfd one;\n  pipe(ends);\n\
        pthread_create(&t, 0, late, 0);\n  one.fd = ends[0]; one.events = POLLIN;\n\
        int n = poll(&one, 1, TIME);\n  pthread_join(t, 0);\n  assert(n == 1);\n  return 0;\n}\n";
    write(&directory, "poll.c", text);
    let always = says(&directory, &["find", "-D", "TIME=2", "poll.c", "-q"], FINDING);
    assert!(always.contains("n == 1"), "{always}");
    let early = says(&directory, &["find", "-D", "TIME=60000", "poll.c"], FINDING);
    assert!(
        early.contains("n == 1") && early.contains("to time out"),
        "needs an early timeout: {early}"
    );
    says(&directory, &["find", "-D", "TIME=-1", "poll.c", "-q"], NOTHING);
}

#[test]
fn all_orders_of_two_writers_are_explored() {
    let directory = directory("descriptors-orders");
    let text = "#include <assert.h>\n#include <pthread.h>\n#include <unistd.h>\n\
        static int ends[2];\n\
        static void *put(void *x) { write(ends[1], x, 1); return 0; }\n\
        int main(void) {\n  pthread_t a, b;\n  char got[2];\n  pipe(ends);\n\
        pthread_create(&a, 0, put, \"a\");\n  pthread_create(&b, 0, put, \"b\");\n\
        read(ends[0], got, 1);\n  read(ends[0], got + 1, 1);\n\
        pthread_join(a, 0);\n  pthread_join(b, 0);\n  assert(got[0] == 'a');\n  return 0;\n}\n";
    write(&directory, "orders.c", text);
    let found = says(&directory, &["find", "--strategy", "exhaustive", "orders.c", "-q"], FINDING);
    assert!(found.contains("got[0] == 'a'"), "{found}");
    write(&directory, "fine.c", &text.replace("got[0] == 'a'", "got[0] != got[1]"));
    let all = says(&directory, &["find", "--strategy", "exhaustive", "fine.c"], NOTHING);
    assert!(all.contains("classes of schedules explored"), "everything was explored: {all}");
}

#[test]
fn data_passes_happens_before_and_blocked_readers_are_named() {
    let directory = directory("descriptors-races");
    let text = "#include <pthread.h>\n#include <unistd.h>\nstatic int ends[2], data;\n\
        static void *put(void *x) { data = 1; SEND; return x; }\n\
        int main(void) {\n  pthread_t t;\n  char c;\n  pipe(ends);\n\
        pthread_create(&t, 0, put, 0);\n  read(ends[0], &c, 1);\n  data = 2;\n\
        pthread_join(t, 0);\n  return 0;\n}\n";
    write(&directory, "ordered.c", &text.replace("SEND", "write(ends[1], \"x\", 1)"));
    says(&directory, &["find", "--races", "ordered.c", "-q"], NOTHING);
    write(&directory, "stuck.c", &text.replace("SEND", ""));
    let stuck = says(&directory, &["find", "stuck.c"], FINDING);
    assert!(stuck.contains("deadlock") && stuck.contains("waits for data from pipe"), "{stuck}");
}

#[test]
fn what_leads_outside_is_named() {
    let directory = directory("descriptors-outside");
    let text = "#include <poll.h>\n#include <unistd.h>\n#include <sys/socket.h>\n#include <stdio.h>\n\
        int main(void) {\n  int p[2];\n  pipe(p);\n  FILE *f = fdopen(p[0], \"r\");\n  return f == 0;\n}\n";
    write(&directory, "stream.c", text);
    let (out, err) = in_the_machine(&directory, Path::new("stream.c"), INCONCLUSIVE);
    assert!(format!("{out}{err}").contains("fdopen"), "{out}{err}");
    for (call, name) in
        [("dprintf(e, \"%d\", 1)", "dprintf"), ("splice(0, 0, e, 0, 1, 0)", "splice")]
    {
        let text = format!(
            "#define _GNU_SOURCE\n#include <fcntl.h>\n#include <stdio.h>\n#include <sys/eventfd.h>\n\
             int main(void) {{\n  int e = eventfd(0, 0);\n  return {call} == 7;\n}}\n"
        );
        write(&directory, "stranger.c", &text);
        let (out, err) = in_the_machine(&directory, Path::new("stranger.c"), INCONCLUSIVE);
        let said = format!("{out}{err}");
        assert!(said.contains(&format!("'{name}' on eventfd")), "{said}");
    }
    // To standard output it goes as it would without descriptors of the program's own.
    let text = "#include <stdio.h>\n#include <unistd.h>\nint main(void) {\n  int p[2];\n  pipe(p);\n\
        dprintf(1, \"%d %d %d %d %.1f %s\\n\", 1, 2, 3, 4, 5.5, \"six\");\n  return 0;\n}\n";
    write(&directory, "plain.c", text);
    let (out, err) = in_the_machine(&directory, Path::new("plain.c"), NOTHING);
    assert!(out.contains("1 2 3 4 5.5 six"), "{out}{err}");
    let text = "#include <sys/epoll.h>\n#include <sys/inotify.h>\nint main(void) {\n\
        int loop = epoll_create1(0), watch = inotify_init();\n  struct epoll_event event = {EPOLLIN, {0}};\n\
        epoll_ctl(loop, EPOLL_CTL_ADD, watch, &event);\n  return epoll_wait(loop, &event, 1, -1);\n}\n";
    write(&directory, "watch.c", text);
    let (out, err) = in_the_machine(&directory, Path::new("watch.c"), INCONCLUSIVE);
    assert!(format!("{out}{err}").contains("outside"), "{out}{err}");
    let text = "#define _GNU_SOURCE\n#include <errno.h>\n#include <stdio.h>\n#include <sys/syscall.h>\n\
        #include <unistd.h>\nint main(void) {\n  long n = syscall(SYS_io_uring_setup, 1, 0);\n\
        if (n == -1 && errno == ENOSYS) puts(\"refused\");\n  return 0;\n}\n";
    write(&directory, "ring.c", text);
    let (out, err) = in_the_machine(&directory, Path::new("ring.c"), NOTHING);
    assert!(out.contains("refused"), "{out}{err}");
}

#[test]
fn other_programs_are_native_steps_and_a_fork_is_named() {
    let directory = directory("descriptors-children");
    let text = "#include <pthread.h>\n#include <signal.h>\n#include <spawn.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
        #include <sys/resource.h>\n#include <sys/wait.h>\n#include <unistd.h>\nextern char **environ;\n\
        static void *other(void *x) { return x; }\n\
        int main(void) {\n  pthread_t t;\n  pthread_create(&t, 0, other, 0);\n  puts(\"first\"); fflush(stdout);\n\
        int code = system(\"echo second; exit 3\");\n  printf(\"code %d\\n\", WEXITSTATUS(code));\n\
        FILE *f = popen(\"echo third\", \"r\");\n  char line[20] = \"\";\n  fgets(line, 20, f);\n\
        printf(\"%sclose %d\\n\", line, pclose(f));\n  char *words[] = {\"sh\", \"-c\", \"exit 4\", 0};\n\
        pid_t child = 0;\n  int status = 0;\n  posix_spawnp(&child, \"sh\", 0, 0, words, environ);\n\
        pid_t ended = waitpid(child, &status, 0);\n\
        printf(\"%d %d\\n\", child > 0 && ended == child, WEXITSTATUS(status));\n\
        printf(\"%d\\n\", waitpid(child, &status, 0));\n  pthread_join(t, 0);\n\
        char *sleeps[] = {\"sleep\", \"60\", 0};\n  posix_spawnp(&child, \"sleep\", 0, 0, sleeps, environ);\n\
        printf(\"%d \", waitpid(child, &status, WNOHANG));\n  printf(\"%d \", kill(child, SIGTERM));\n\
        siginfo_t info = {0};\n  printf(\"%d \", waitid(P_PID, child, &info, WEXITED));\n\
        printf(\"%d %d %d\\n\", info.si_pid == child, info.si_code == CLD_KILLED, info.si_status);\n\
        posix_spawnp(&child, \"sh\", 0, 0, words, environ);\n\
        ended = wait4(child, &status, 0, 0);\n  printf(\"%d %d\\n\", ended == child, WEXITSTATUS(status));\n\
        if (getenv(\"NO_SUCH_VARIABLE\")) fork();\n\
        for (int i = 0; i < 3; i++) {\n    pid_t one = i == 1 ? vfork() : fork();\n\
        if (one == 0) {\n      setsid();\n      if (i == 0) execl(\"/bin/sh\", \"sh\", \"-c\", \"echo fourth; exit 5\", (char *)0);\n\
        if (i == 1) execvp(\"sh\", words);\n      if (i == 2) execv(\"/no/such/program\", words);\n      _exit(9);\n    }\n\
        ended = waitpid(one, &status, 0);\n    printf(\"%d %d\\n\", ended == one, WEXITSTATUS(status));\n  }\n  return 0;\n}\n";
    write(&directory, "children.c", text);
    let source = directory.join("children.c");
    let expected = natively(&directory, &source);
    let (out, err) = in_the_machine(&directory, &source, NOTHING);
    assert!(out.starts_with(&expected), "natively:\n{expected}\nhere:\n{out}{err}");
    write(&directory, "fork.c", "#include <unistd.h>\nint main(void) { return fork() < 0; }\n");
    let (out, err) = in_the_machine(&directory, Path::new("fork.c"), INCONCLUSIVE);
    assert!(format!("{out}{err}").contains("'fork'"), "{out}{err}");
}

#[test]
fn a_hunt_claims_nothing_of_what_comes_out_of_a_pipe() {
    let directory = directory("descriptors-hunt");
    let source = "#include <pthread.h>\n#include <unistd.h>\nstatic int ends[2], sum;\n\
        static void *put(void *p) { return write(ends[1], p, 1) == 1 ? p : 0; }\n\
        int main(void) {\n    pthread_t t, u;\n    char c, d;\n    if (pipe(ends)) return 1;\n    pthread_create(&t, 0, put, \"a\");\n    \
        pthread_create(&u, 0, put, \"b\");\n    if (read(ends[0], &c, 1) + read(ends[0], &d, 1) == 2) sum = c + d;\n    \
        pthread_join(t, 0);\n    pthread_join(u, 0);\n    return sum == 0;\n}\n";
    write(&directory, "puts.c", source);
    let said = unravel(&directory, &["hunt", "puts.c", "--time", "5s"]).output().expect("it runs");
    let text = String::from_utf8_lossy(&said.stdout);
    assert!(text.contains("what comes out of pipes"), "{text}");
    assert!(!text.contains("\n  exhausted"), "{text}");
}

/// They are values of the program, and a trace holds them.
#[test]
fn numbers_of_descriptors_do_not_depend_on_how_many_are_open_here() {
    let directory = directory("descriptors-numbers");
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/sync/eventfd_drain");
    let source = corpus.join("drain.c").display().to_string();
    let trace = |jobs: &str| {
        let out = format!("with-{jobs}");
        let mut find = unravel(&directory, &["find", &source, "--jobs", jobs, "--out", &out]);
        // SAFETY: nothing but a system call, in the child. What the test's own parents left open hides the difference.
        unsafe {
            find.pre_exec(|| {
                libc::syscall(libc::SYS_close_range, 3, 1 << 16, libc::CLOSE_RANGE_CLOEXEC);
                Ok(())
            })
        };
        assert_eq!(find.output().expect("it runs").status.code(), Some(FINDING));
        std::fs::read(directory.join(out).join("drain-deadlock-1.trace")).expect("a trace")
    };
    let alone = trace("1");
    assert!(["2", "8", "24"].iter().all(|jobs| trace(jobs) == alone));
}
