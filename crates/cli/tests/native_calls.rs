//! What native code does that a program calls: threads that it starts, calls that do not come back, segment registers.

mod support;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use support::{FINDING, INCONCLUSIVE, NOTHING, directory, says, unravel, write};

const LIBRARY: &str = "\
#include <pthread.h>
static pthread_t thread;
static void (*saved)(void);
static void *proxy(void *p) { saved(); return p; }
void lib_start(void *(*callback)(void *), void *p) { pthread_create(&thread, 0, callback, p); }
void lib_start_own(void (*callback)(void)) { saved = callback; pthread_create(&thread, 0, proxy, 0); }
void lib_stop(void) { pthread_join(thread, 0); }
";

const USER: &str = "\
#include <assert.h>
void lib_start(void *(*)(void *), void *); void lib_start_own(void (*)(void)); void lib_stop(void);
static int x;
static void *work(void *p) { int y = x; x = y + 1; return p; }
static void callback(void) { x = 5; }
int main(int argc, char **argv) {
    if (argc > 1) lib_start_own(callback); else lib_start(work, 0);
    int y = x; x = y + 1;
    lib_stop();
    assert(argc > 1 || x == 2);
    return 0;
}
";

fn build_library(directory: &Path) {
    write(directory, "worker.c", LIBRARY);
    let arguments = ["-shared", "-fPIC", "-o", "libworker.so", "worker.c", "-pthread"];
    let built = Command::new("cc").args(arguments).current_dir(directory).status();
    assert!(built.expect("cc runs").success());
    write(directory, "user.c", USER);
}

#[test]
fn a_thread_that_a_library_starts_with_the_programs_code_is_the_programs() {
    let directory = directory("native-thread");
    build_library(&directory);
    let out = says(&directory, &["find", "user.c", "-l", "./libworker.so"], FINDING);
    assert!(out.contains("assertion 'argc > 1 || x == 2' failed"), "{out}");
    assert!(out.contains("replayed: fails again"), "{out}");
}

#[test]
fn a_thread_of_a_librarys_own_is_inconclusive_by_name() {
    let directory = directory("native-own-thread");
    build_library(&directory);
    let out =
        says(&directory, &["find", "user.c", "-l", "./libworker.so", "--", "x"], INCONCLUSIVE);
    assert!(out.contains("'lib_start_own'") && out.contains("starts a thread of its own"), "{out}");
    assert!(out.contains("libworker.so") && out.contains("user.c:7"), "{out}");
}

/// Names the function, the thread and the line, soon, with `run`, `find` and `explain`.
fn blocks(test: &str, source: &str, says_so: &str) {
    let directory = directory(test);
    write(&directory, "blocks.c", source);
    for command in ["run", "find", "explain"] {
        let started = Instant::now();
        let output = unravel(&directory, &[command, "blocks.c"]).output().expect("unravel runs");
        let out = [output.stdout, output.stderr].concat();
        let out = String::from_utf8_lossy(&out);
        assert_eq!(output.status.code(), Some(INCONCLUSIVE), "{command}: {out}");
        assert!(out.contains(says_so), "{command}: {out}");
        assert!(!out.contains("--time"), "{command}: {out}");
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "{command} took {:?}",
            started.elapsed()
        );
    }
}

#[test]
fn a_blocking_accept_is_named() {
    let source = "\
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
void *serve(void *p) {
    int s = socket(AF_INET, SOCK_STREAM, 0);
    listen(s, 1);
    accept(s, 0, 0);
    return p;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, serve, 0);
    pthread_join(t, 0);
    return 0;
}
";
    blocks("native-accept", source, "T0.1 waits for somebody outside of the process");
    blocks("native-accept", source, "blocks.c:7");
}

#[test]
fn a_read_of_a_pipe_that_nobody_writes_is_a_deadlock() {
    let source = "\
#include <unistd.h>
int main(void) {
    int ends[2];
    char c;
    if (pipe(ends)) return 1;
    return read(ends[0], &c, 1) == 1;
}
";
    let directory = directory("native-read");
    write(&directory, "blocks.c", source);
    let out = says(&directory, &["find", "blocks.c"], FINDING);
    assert!(out.contains("T0 waits for data from pipe") && out.contains("blocks.c:6"), "{out}");
}

#[test]
fn opening_a_pipe_that_nobody_writes_is_named() {
    let source = "\
#include <stdio.h>
#include <sys/stat.h>
int main(void) {
    mkfifo(\"pipe\", 0600);
    return fopen(\"pipe\", \"r\") == 0;
}
";
    blocks("native-fifo", source, "T0 calls 'fopen', which waits for something outside");
}

#[test]
fn a_slow_reader_of_the_output_is_no_blocked_call() {
    let directory = directory("native-slow");
    let source = "#include <stdio.h>\nint main(void) {\n    for (int i = 0; i < 40000; i++) puts(\"many lines\");\n    return 0;\n}\n";
    write(&directory, "prints.c", source);
    let binary = env!("CARGO_BIN_EXE_unravel");
    let shell = format!("{binary} run prints.c </dev/null | (sleep 3; wc -l)");
    let output = Command::new("sh").args(["-c", &shell]).current_dir(&directory).output();
    let output = output.expect("a shell");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "40000");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("inconclusive"), "{output:?}");
}

#[test]
fn a_run_without_an_end_in_time_says_where_it_was() {
    let directory = directory("native-many");
    let source = "\
#include <pthread.h>
static long n;
static void *work(void *p) { __sync_fetch_and_add(&n, 1); return p; }
int main(void) {
    for (int i = 0; i < 10000000; i++) {
        pthread_t t;
        pthread_create(&t, 0, work, 0);
        pthread_join(t, 0);
    }
    return n != 10000000;
}
";
    write(&directory, "many.c", source);
    let out = says(&directory, &["find", "many.c", "--time", "2s"], INCONCLUSIVE);
    let told = out.split_whitespace().collect::<Vec<_>>().join(" ");
    // Whichever is met first: the time, or the small bound of the first schedule.
    let cut_off = told.contains("threads and was at many.c:");
    let bounded = told.contains("steps was reached at many.c:");
    assert!(cut_off || bounded, "{out}");
}

#[test]
fn the_threads_own_block_is_known_by_its_address() {
    let directory = directory("native-block");
    let source = "\
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
static uintptr_t ids[2];
static uintptr_t slot(void) {
    uintptr_t r;
    __asm__(\"movq %%fs:%1, %0\" : \"=r\"(r) : \"m\"(*((void **)0)) :);
    return r;
}
static uintptr_t self(void) { uintptr_t r; __asm__(\"mov %%fs:0, %0\" : \"=r\"(r)); return r; }
static void *work(void *p) {
    ids[1] = slot();
    assert(ids[1] == self() && ids[1] == (uintptr_t)__builtin_thread_pointer());
    return p;
}
int main(void) {
    pthread_t t;
    ids[0] = slot();
    pthread_create(&t, 0, work, 0);
    pthread_join(t, 0);
    assert(ids[0] && ids[0] != ids[1] && ids[0] == self());
    return 0;
}
";
    write(&directory, "block.c", source);
    says(&directory, &["find", "block.c"], NOTHING);
}

#[test]
fn anything_else_behind_a_segment_register_is_inconclusive_by_name() {
    let directory = directory("native-segment");
    let cases = [
        (
            "guard",
            "int main(void) { long r; __asm__(\"movq %%fs:0x28, %0\" : \"=r\"(r)); return r == 0; }\n",
        ),
        (
            "offset",
            "int main(void) { long r; __asm__(\"movq %%fs:%1, %0\" : \"=r\"(r) : \"m\"(*(void **)40)); return r == 0; }\n",
        ),
        (
            "gs",
            "int main(void) { long r; __asm__(\"movq %%gs:0, %0\" : \"=r\"(r)); return r == 0; }\n",
        ),
        (
            "store",
            "int main(void) { __asm__ volatile(\"movq %0, %%fs:0x700\" : : \"r\"(1L) : \"memory\"); return 0; }\n",
        ),
        ("look", "int main(void) { return *(int *)__builtin_thread_pointer() == 1; }\n"),
        (
            "space",
            "int main(void) { return *(int __attribute__((address_space(257))) *)40 == 1; }\n",
        ),
    ];
    for (name, source) in cases {
        let file = format!("{name}.c");
        write(&directory, &file, source);
        let out = says(&directory, &["find", &file], INCONCLUSIVE);
        assert!(out.contains("inconclusive because"), "{name}: {out}");
        assert!(
            out.contains("fs:") || out.contains("segment") || out.contains("block of a thread"),
            "{name}: {out}"
        );
    }
}

/// System calls that the C library has a function for are that function; what a program does without is refused, and all else named.
#[test]
fn system_calls_by_number() {
    let directory = directory("system-calls");
    write(&directory, "words.txt", "words");
    let program = "#define _GNU_SOURCE\n#include <assert.h>\n#include <errno.h>\n#include <fcntl.h>\n#include <string.h>\n\
        #include <sys/mman.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n\
        int main(int argc, char **argv) {\n\
        \x20 char text[8] = {0}; unsigned cpu = 7; long n;\n\
        \x20 long file = syscall(SYS_open, \"words.txt\", O_RDONLY, 0);\n\
        \x20 assert(file > 2 && syscall(SYS_read, file, text, 8L) == 5 && !strcmp(text, \"words\"));\n\
        \x20 assert(syscall(SYS_lseek, file, 0L, SEEK_CUR) == 5 && syscall(SYS_close, file) == 0);\n\
        \x20 assert(syscall(SYS_access, \"nowhere.txt\", R_OK) == -1 && errno == ENOENT);\n\
        \x20 assert(syscall(SYS_getrandom, &n, 8L, 0) == 8);\n\
        \x20 assert(syscall(SYS_getcpu, &cpu, NULL, NULL) == 0 && cpu == 0);\n\
        \x20 char *map = (char *)syscall(SYS_mmap, NULL, 4096L, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);\n\
        \x20 assert(map != MAP_FAILED); map[4095] = 1; assert(syscall(SYS_munmap, map, 4096L) == 0);\n\
        \x20 assert(syscall(SYS_get_mempolicy, NULL, NULL, 0L, NULL, 0L) == -1 && errno == ENOSYS);\n\
        \x20 if (argc > 1) syscall(SYS_reboot, 0, 0, 0, 0);\n\
        \x20 return 0;\n}\n";
    write(&directory, "calls.c", program);
    says(&directory, &["run", "calls.c"], NOTHING);
    let arguments = ["run", "calls.c", "--", "x"];
    let output = unravel(&directory, &arguments).output().expect("unravel runs");
    assert_eq!(output.status.code(), Some(INCONCLUSIVE));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("the system call 169 is not supported at calls.c:20"), "{said}");
}

/// Would fail in a second run of the same process, if the first one's changes were there.
const CHANGES: &str = "\
#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
static int x;
static void *work(void *p) { x++; return p; }
int main(void) {
    char here[4096];
    struct rlimit limit;
    assert(getcwd(here, sizeof here) && strcmp(here, \"/\"));
    assert(chdir(\"/\") == 0);
    assert(umask(0157) != 0157);
    assert(getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != 1 << 30);
    limit.rlim_cur = 1 << 30;
    assert(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    x++;
    pthread_join(thread, 0);
    return 0;
}
";

#[test]
fn directory_mask_and_limits_are_put_back_and_one_process_is_enough() {
    let directory = directory("native-put-back");
    write(&directory, "changes.c", CHANGES);
    let of = |strategy: &str| {
        let arguments = ["find", "changes.c", "--strategy", strategy, "--schedules", "50"];
        says(&directory, &arguments, NOTHING)
    };
    of("random");
    let out = of("exhaustive");
    assert!(out.contains("all 4 classes of schedules explored"), "{out}");
}
