//! Small random programs with threads, as C sources.
//!
//! Two or three threads with two to five operations each: atomics, sections under a lock, tried and timed locks, condition
//! variables, semaphores, sleeps, short loops, waits by looking at memory or at the clock, spin locks of several kinds, barriers,
//! updates that nobody looks at, assumptions, signals, timers, and assertions that hold in some orders only. Waits are bounded or not. `main` joins
//! the threads and returns what is left as its exit code, with what each thread saw last, so that two searches that see the
//! same codes have seen the same ends. Each operation has a line of its own: a line says which one failed. Loops end, or only look:
//! every run ends or is stuck.

use unravel_trace::Rng;

pub const HEAD: &str = "\
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
static atomic_int x, y, l;
static int g;
static pthread_barrier_t b;
void __VERIFIER_assume(int);
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t w = PTHREAD_RWLOCK_INITIALIZER;
static mtx_t k;
static sem_t s;
static pthread_t first;
static void handle(int number)
{
	(void)number;
	y = 2;
}
static struct timespec in_ms(long ms)
{
	struct timespec at;
	clock_gettime(CLOCK_REALTIME, &at);
	at.tv_nsec += ms * 1000000L;
	at.tv_sec += at.tv_nsec / 1000000000L;
	at.tv_nsec %= 1000000000L;
	return at;
}
static int is_before(const struct timespec *end)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec < end->tv_sec || (now.tv_sec == end->tv_sec && now.tv_nsec < end->tv_nsec);
}
";

/// How many events the threads of a program may have, about: what brute force can go through.
const EVENTS: [u32; 2] = [13, 11];

/// An operation, as its source and about as many events.
type Operation = (String, u32);

/// A program that depends on nothing but the generator.
pub fn program(rng: &mut Rng) -> String {
    let threads = 2 + u32::from(rng.below(4) == 0);
    let bodies = bodies(rng, threads);
    let mut source = HEAD.to_owned();
    for (number, body) in bodies.iter().enumerate() {
        source += &format!("static void *t{number}(void *a)\n{{\n\tlong r = 0;\n\t(void)a;\n");
        for operation in body {
            source += &format!("\t{operation}\n");
        }
        source += "\treturn (void *)r;\n}\n";
    }
    source += "int main(void)\n{\n\tpthread_t t[3];\n\tvoid *r[3] = { 0, 0, 0 };\n";
    source += "\tfirst = pthread_self();\n\tsignal(SIGUSR1, handle);\n\tsignal(SIGALRM, handle);\n";
    source += &format!("\tsem_init(&s, 0, {});\n\tmtx_init(&k, mtx_plain);\n", rng.below(2));
    source += "\tpthread_barrier_init(&b, 0, 2);\n";
    for number in 0..threads {
        source += &format!("\tpthread_create(&t[{number}], 0, t{number}, 0);\n");
    }
    let impatient = rng.below(6) == 0;
    if impatient {
        source += "\tstruct timespec u = in_ms(2);\n";
        source += "\tif (pthread_timedjoin_np(t[0], &r[0], &u) != 0) { x = 3; pthread_join(t[0], &r[0]); }\n";
    }
    for number in u32::from(impatient)..threads {
        source += &format!("\tpthread_join(t[{number}], &r[{number}]);\n");
    }
    if rng.below(3) > 0 {
        source += &format!("\t{}\n", last_words(rng));
    }
    source += "\tint left = !!r[0] + 2 * !!r[1] + 4 * !!r[2];\n";
    source + "\treturn (x & 3) + 4 * (y & 3) + 16 * (g & 1) + 32 * left;\n}\n"
}

/// What the threads do: two to five operations each, and together not too much.
fn bodies(rng: &mut Rng, threads: u32) -> Vec<Vec<String>> {
    loop {
        let mut events = 0;
        let mut bodies = Vec::new();
        for _ in 0..threads {
            let length = 2 + rng.below(if threads == 2 { 4 } else { 2 });
            let body: Vec<Operation> = (0..length).map(|_| operation(rng)).collect();
            events += body.iter().map(|(_, events)| events).sum::<u32>();
            bodies.push(body.into_iter().map(|(source, _)| source).collect());
        }
        if events <= EVENTS[threads as usize - 2] {
            return bodies;
        }
    }
}

fn operation(rng: &mut Rng) -> Operation {
    let a = *rng.pick(&["x", "y"]);
    let value = 1 + rng.below(2);
    let before = rng.below(2);
    let lock = if rng.below(5) == 0 { "n" } else { "m" };
    let ms = 1 + rng.below(3);
    let inside = *rng.pick(&["g++;", "g = 1;", "r = g;"]);
    let (source, events) = match rng.below(70) {
        0 | 1 => (format!("r = {a};"), 1),
        2 | 3 => (format!("{a} = {value};"), 1),
        4 | 5 => (format!("r = atomic_fetch_add(&{a}, 1);"), 1),
        6 | 7 => (exchange("strong", a, before, value), 1),
        8 | 9 => (exchange("weak", a, before, value), 1),
        10 | 11 => (format!("pthread_mutex_lock(&m); {inside} pthread_mutex_unlock(&m);"), 3),
        12 => (
            format!("if (pthread_mutex_trylock(&m) == 0) {{ {inside} pthread_mutex_unlock(&m); }}"),
            3,
        ),
        13 => (
            format!("pthread_mutex_lock(&{lock}); {a} = {value}; pthread_mutex_unlock(&{lock});"),
            3,
        ),
        14 => (
            format!(
                "{{ struct timespec u = in_ms({ms}); r = pthread_mutex_timedlock(&m, &u) == 0; \
                 if (r) {{ g++; pthread_mutex_unlock(&m); }} }}"
            ),
            3,
        ),
        15 => {
            let (first, second) = if rng.below(2) == 0 { ("m", "n") } else { ("n", "m") };
            (
                format!(
                    "pthread_mutex_lock(&{first}); pthread_mutex_lock(&{second}); {a}++; \
                     pthread_mutex_unlock(&{second}); pthread_mutex_unlock(&{first});"
                ),
                5,
            )
        }
        16 => (
            format!(
                "pthread_mutex_lock(&m); if (g == 0) pthread_cond_wait(&c, &m); {inside} pthread_mutex_unlock(&m);"
            ),
            5,
        ),
        17 | 18 => (
            format!(
                "{{ struct timespec u = in_ms({ms}); pthread_mutex_lock(&m); if (g == 0) \
                 r = pthread_cond_timedwait(&c, &m, &u) != 0; pthread_mutex_unlock(&m); }}"
            ),
            5,
        ),
        19 => (
            "pthread_mutex_lock(&m); g = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);"
                .into(),
            4,
        ),
        20 => ("pthread_cond_broadcast(&c);".into(), 1),
        21 => ("sem_post(&s);".into(), 1),
        22 => ("sem_wait(&s);".into(), 1),
        23 => ("r = sem_trywait(&s) == 0;".into(), 1),
        24 => {
            (format!("{{ struct timespec u = in_ms({ms}); r = sem_timedwait(&s, &u) == 0; }}"), 1)
        }
        25..=27 => (format!("usleep({ms}000);"), 1),
        28 => (format!("if (mtx_trylock(&k) == thrd_success) {{ {a}++; mtx_unlock(&k); }}"), 3),
        29 => (
            format!(
                "{{ struct timespec u = in_ms({ms}); r = pthread_rwlock_timedwrlock(&w, &u) == 0; \
                 if (r) {{ {a} = {value}; pthread_rwlock_unlock(&w); }} }}"
            ),
            3,
        ),
        30 => (format!("pthread_rwlock_rdlock(&w); r = {a}; pthread_rwlock_unlock(&w);"), 3),
        31 => (format!("for (int i = 0; i < 2; i++) r += atomic_fetch_add(&{a}, 1);"), 2),
        32 => (format!("for (int i = 0; i < 2 && {a} == 0; i++) sched_yield();"), 4),
        33 => (format!("while ({a} == 0) sched_yield();"), 2),
        34 => (format!("{{ struct timespec u = in_ms({ms}); while (is_before(&u)) ; }}"), 2),
        35 => (
            format!("{{ struct timespec u = in_ms({ms}); while ({a} == 0 && is_before(&u)) ; }}"),
            4,
        ),
        36 => ("pthread_kill(first, SIGUSR1);".into(), 2),
        37 => (
            format!(
                "{{ struct itimerval i = {{ .it_value = {{ 0, {ms}000 }} }}; setitimer(ITIMER_REAL, &i, 0); }}"
            ),
            4,
        ),
        38..=42 => assertion(rng),
        _ => synchronisation(rng),
    };
    (source, events)
}

/// What exhaustive search takes for less than it looks like: exchanges that are refused, busy waits, meetings, assumptions,
/// updates that commute.
fn synchronisation(rng: &mut Rng) -> Operation {
    let a = *rng.pick(&["x", "y"]);
    let value = 1 + rng.below(2);
    let before = rng.below(2);
    let inside = *rng.pick(&["g++;", "g = 1;", "r = g;", "x++;", "y = 2;"]);
    match rng.below(20) {
        0 | 1 => (format!("atomic_fetch_add(&{a}, {value});"), 1),
        2 => (format!("{a} += {value};"), 1),
        3 => (format!("atomic_fetch_or(&{a}, {value});"), 1),
        4 => (format!("atomic_fetch_and(&{a}, {value});"), 1),
        5 => (exchange("strong", a, before, value), 1),
        6 => (
            format!(
                "for (int e = 0; !atomic_compare_exchange_strong(&l, &e, 1); e = 0) ; {inside} l = 0;"
            ),
            3,
        ),
        7 => (
            format!(
                "for (int e = 0; !atomic_compare_exchange_weak(&l, &e, 1); e = 0) ; {inside} l = 0;"
            ),
            3,
        ),
        8 => (format!("while (atomic_exchange(&l, 1)) ; {inside} l = 0;"), 3),
        9 => (
            format!("do while (l) sched_yield(); while (atomic_exchange(&l, 1)); {inside} l = 0;"),
            4,
        ),
        10 => {
            (format!("while (pthread_mutex_trylock(&m)) ; {inside} pthread_mutex_unlock(&m);"), 3)
        }
        11 => (format!("while ({a} != {value}) ;"), 1),
        12 => (format!("while ({a} == {before}) sched_yield();"), 1),
        13 => ("while (x == 0 && y == 0) ;".into(), 2),
        14 => (format!("while (x != y) ; r = {a};"), 3),
        15 | 16 => ("pthread_barrier_wait(&b);".into(), 2),
        17 => ("r = pthread_barrier_wait(&b) != 0;".into(), 2),
        18 => (format!("__VERIFIER_assume({a} == {before});"), 1),
        _ => (format!("__VERIFIER_assume({a} != {value} || r == 0);"), 1),
    }
}

fn exchange(strength: &str, a: &str, before: u32, after: u32) -> String {
    format!("{{ int e = {before}; r = atomic_compare_exchange_{strength}(&{a}, &e, {after}); }}")
}

/// An assertion in the middle: there are orders in which it fails, if the others do what it speaks of.
fn assertion(rng: &mut Rng) -> Operation {
    let value = 1 + rng.below(2);
    match rng.below(6) {
        0 => (format!("assert(x != {value});"), 1),
        4 => ("assert(y == 0);".into(), 1),
        5 => ("assert(x == 0 || r != 0);".into(), 1),
        1 => (format!("assert(x >= y || r != {});", rng.below(2)), 2),
        2 => (format!("assert(r == {} || y != {value});", rng.below(2)), 1),
        _ => ("assert(x + y < 3);".into(), 2),
    }
}

/// What `main` expects at the end.
fn last_words(rng: &mut Rng) -> String {
    let value = rng.below(3);
    match rng.below(5) {
        0 => format!("assert(x != {value} || y == {});", rng.below(2)),
        1 => "assert(g != 1 || x == y);".into(),
        2 => format!("assert(x + y + g != {});", 1 + value),
        3 => "assert(!r[0] || r[1]);".into(),
        _ => "assert(x <= y);".into(),
    }
}
