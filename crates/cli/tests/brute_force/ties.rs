//! Two threads wait for a time, each in its own way. Who comes first is known by construction: both may, if they wait for the same moment,
//! or else the one whose moment is earlier.

use super::programs::HEAD;

/// Ways to wait until `at`, which is so many milliseconds from the start.
const WAYS: [(&str, &str); 10] = [
    ("sleep", "usleep(MS * 1000);"),
    ("sleep until", "clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, 0);"),
    (
        "condition",
        "pthread_mutex_lock(&m); pthread_cond_timedwait(&c, &m, &at); pthread_mutex_unlock(&m);",
    ),
    ("semaphore", "sem_timedwait(&s, &at);"),
    ("lock", "pthread_mutex_timedlock(&n, &at);"),
    ("timer", "wait_for_timer(MS);"),
    ("clock", "while (is_before(&at)) ;"),
    ("clock and flag", "while (g == 0 && is_before(&at)) ;"),
    ("clock in registers", "while (now_ns() < ns) ;"),
    ("clock and sleep", "while (is_before(&at)) usleep(1000);"),
];

const MORE: &str = "\
static struct timespec start;
static void expired(union sigval value) { sem_post(value.sival_ptr); }
static void wait_for_timer(long ms)
{
	timer_t timer;
	sem_t over;
	struct sigevent event = { .sigev_notify = SIGEV_THREAD };
	struct itimerspec when = { .it_value = { 0, ms * 1000000L } };
	sem_init(&over, 0, 0);
	event.sigev_value.sival_ptr = &over;
	event.sigev_notify_function = expired;
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &when, 0);
	sem_wait(&over);
}
static inline long now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}
static struct timespec from_start(long ms)
{
	struct timespec at = start;
	at.tv_nsec += ms * 1000000L;
	at.tv_sec += at.tv_nsec / 1000000000L;
	at.tv_nsec %= 1000000000L;
	return at;
}
";

/// A program whose exit code says who was first, and who of them may be.
pub struct Tie {
    pub what: String,
    pub source: String,
    pub first: Vec<String>,
    /// They look at the clock both, and together: who is first is not known exactly.
    pub is_vague: bool,
    /// Signals and what they start are not called complete.
    pub has_timer: bool,
}

impl Tie {
    /// What is wrong with what a search of it said.
    pub fn wrong_in(&self, said: &[String]) -> Option<String> {
        let is_complete = said.iter().any(|line| line == "complete");
        let ends: Vec<&String> = said.iter().filter(|line| *line != "complete").collect();
        let has_all = self.first.iter().all(|first| ends.contains(&first));
        let is_right = has_all && (self.is_vague || ends.len() == self.first.len());
        (!is_right || is_complete == self.has_timer).then(|| {
            let Tie { what, first, .. } = self;
            format!("{what}: {ends:?}, should be {first:?}; complete: {is_complete}")
        })
    }
}

/// Each way against each other, for the same moment and for others.
pub fn all() -> Vec<Tie> {
    let mut all = Vec::new();
    for (number, (one, wait)) in WAYS.iter().enumerate() {
        for (other, wait_too) in &WAYS[number..] {
            for (ms, ms_too) in [(20, 20), (20, 21), (21, 20)] {
                let first = match ms.cmp(&ms_too) {
                    std::cmp::Ordering::Less => vec![1],
                    std::cmp::Ordering::Equal => vec![1, 2],
                    std::cmp::Ordering::Greater => vec![2],
                };
                let first = first.into_iter().map(|code| format!("exited with {code}")).collect();
                let looks = |way: &str| way.starts_with("clock") && !way.ends_with("sleep");
                all.push(Tie {
                    what: format!("{one} until {ms}, {other} until {ms_too}"),
                    source: program([(wait, ms), (wait_too, ms_too)]),
                    first,
                    is_vague: looks(one) && looks(other),
                    has_timer: [one, other].contains(&&"timer"),
                });
            }
        }
    }
    all
}

fn program(threads: [(&str, u32); 2]) -> String {
    let mut source = format!("{HEAD}{MORE}");
    for (number, (wait, ms)) in (1..).zip(threads) {
        source += &format!(
            "static void *t{number}(void *a)\n{{\n\tstruct timespec at = from_start({ms});\n\
             \tlong ns = at.tv_sec * 1000000000L + at.tv_nsec;\n\t(void)at;\n\t(void)ns;\n\t{}\n\
             \tint e = 0;\n\tatomic_compare_exchange_strong(&x, &e, {number});\n\treturn a;\n}}\n",
            wait.replace("MS", &ms.to_string())
        );
    }
    source
        + "int main(void)\n{\n\tpthread_t t[2];\n\tclock_gettime(CLOCK_REALTIME, &start);\n\
           \tsem_init(&s, 0, 0);\n\tpthread_mutex_lock(&n);\n\
           \tpthread_create(&t[0], 0, t1, 0);\n\tpthread_create(&t[1], 0, t2, 0);\n\
           \tpthread_join(t[0], 0);\n\tpthread_join(t[1], 0);\n\treturn x;\n}\n"
}
