//! The virtual machine conforms to the joint of engines: the suite of `unravel-conformance`, on C programs that do what its
//! samples say.
//!
//! A process has one virtual machine at a time, and here they come one after the other.

mod support;

use std::sync::{Mutex, MutexGuard, PoisonError};

use unravel_conformance::{Engine, Sample, conformance};
use unravel_program::build::{BuildSpec, Builder};
use unravel_trace::Executor;
use unravel_vm::{Options, Vm};

use support::{directory, write};

/// One machine at a time, whatever the number of tests.
static MACHINE: Mutex<()> = Mutex::new(());

/// Virtual machines, while nobody else has one.
struct Machines {
    _alone: MutexGuard<'static, ()>,
}

impl Machines {
    fn new() -> Machines {
        Machines { _alone: MACHINE.lock().unwrap_or_else(PoisonError::into_inner) }
    }
}

impl Engine for Machines {
    fn open(&mut self, sample: Sample) -> Box<dyn Executor> {
        let directory = directory(&format!("conformance-{sample:?}"));
        write(&directory, "program.c", &source(sample));
        let built = Builder::from_env()
            .open(&BuildSpec::new(vec![directory.join("program.c")]))
            .expect("the program compiles");
        let program = unravel_program::load(&built.bitcode).expect("the program loads");
        Box::new(Vm::new(program, Options::default()).expect("a machine"))
    }
}

conformance!(Machines::new());

/// A program whose `main` creates a thread of each of these functions, does something, joins them, and does the rest.
fn program(globals: &str, threads: &[&str], before: &str, rest: &str) -> String {
    let mut source = String::from(
        "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n#include <stdio.h>\n\
         void __VERIFIER_atomic_begin(void);\nvoid __VERIFIER_atomic_end(void);\n",
    );
    let (mut create, mut join) = (String::new(), String::new());
    for (index, thread) in threads.iter().enumerate() {
        create += &format!("  pthread_create(&t[{index}], 0, {thread}, 0);\n");
        join += &format!("  pthread_join(t[{index}], 0);\n");
    }
    let number = threads.len();
    source += &format!(
        "{globals}\nint main(void) {{\n  pthread_t t[{number}];\n{create}{before}{join}{rest}  return 0;\n}}\n"
    );
    source
}

fn function(name: &str, body: &str) -> String {
    format!("static void *{name}(void *a) {{\n{body}  return a;\n}}\n")
}

fn source(sample: Sample) -> String {
    let locked = "  pthread_mutex_lock(&m);\n";
    let unlocked = "  pthread_mutex_unlock(&m);\n";
    match sample {
        Sample::LostUpdate => {
            let globals = format!("int x;\n{}", function("add", "  x = x + 1;\n"));
            program(&globals, &["add", "add"], "", "  assert(x == 2);\n")
        }
        Sample::Deadlock => {
            let both = |first: &str, second: &str| {
                format!(
                    "  pthread_mutex_lock(&{first});\n  pthread_mutex_lock(&{second});\n  \
                     pthread_mutex_unlock(&{second});\n  pthread_mutex_unlock(&{first});\n"
                )
            };
            let globals = format!(
                "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;\n{}{}",
                function("forth", &both("m", "n")),
                function("back", &both("n", "m"))
            );
            program(&globals, &["forth", "back"], "", "")
        }
        Sample::Waiters => {
            let globals = format!(
                "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
                 pthread_cond_t c = PTHREAD_COND_INITIALIZER;\n{}",
                function("waits", &format!("{locked}  pthread_cond_wait(&c, &m);\n{unlocked}"))
            );
            let signals = format!("{locked}  pthread_cond_signal(&c);\n{unlocked}");
            program(&globals, &["waits", "waits"], &signals.repeat(2), "")
        }
        Sample::Atomics => {
            let body = "  atomic_fetch_add(&x, 1);\n  atomic_load(&y);\n  atomic_store(&y, 1);\n  z = 1;\n";
            let globals = format!("atomic_int x, y;\nint z;\n{}", function("works", body));
            program(&globals, &["works", "works"], "", "")
        }
        Sample::Sections => {
            let body = "  __VERIFIER_atomic_begin();\n  x = 1;\n  y = 1;\n  \
                        __VERIFIER_atomic_end();\n  if (x) return 0;\n";
            let globals = format!("volatile int x, y;\n{}", function("works", body));
            program(&globals, &["works", "works"], "", "")
        }
        Sample::Sharing => {
            let globals = format!(
                "volatile int x, own;\n{}{}",
                function("shares", "  x = x + 1;\n"),
                function("keeps", "  own = 1;\n  if (own == 2) return 0;\n")
            );
            program(&globals, &["shares", "shares", "keeps"], "", "")
        }
        Sample::Prints => {
            let globals = format!(
                "{}{}",
                function("one", "  puts(\"one\");\n"),
                function("two", "  puts(\"two\");\n")
            );
            program(&globals, &["one", "two"], "", "  puts(\"end\");\n")
        }
        Sample::Alone => "#include <stdio.h>\nvolatile int x;\n\
             int main(void) {\n  x = 1;\n  if (x == 1) puts(\"alone\");\n  return 0;\n}\n"
            .into(),
    }
}
