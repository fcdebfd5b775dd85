//! Simplification takes away what a failure does not need of its environment, of every kind of deviation.

use std::path::Path;

use unravel_program::build::{BuildSpec, Builder};
use unravel_simplify::{Budget, simplify};
use unravel_trace::*;
use unravel_vm::{Options, Vm};

/// One deviation makes it fail, the spurious wake-up. That a compare-exchange fails and a sleep is over early does not matter.
const PROGRAM: &str = "\
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int ready;
static atomic_int tries;
static void *late(void *a) { int zero = 0; usleep(10); atomic_compare_exchange_weak(&tries, &zero, 1); return a; }
static void *signals(void *a)
{
	usleep(50);
	pthread_mutex_lock(&m);
	ready = 1;
	pthread_cond_signal(&c);
	pthread_mutex_unlock(&m);
	return a;
}
int main(void)
{
	pthread_t t, u;
	pthread_create(&t, 0, late, 0);
	pthread_create(&u, 0, signals, 0);
	pthread_join(t, 0);
	pthread_mutex_lock(&m);
	if (!ready)
		pthread_cond_wait(&c, &m);
	assert(ready);
	pthread_mutex_unlock(&m);
	pthread_join(u, 0);
	return 0;
}
";

/// Everything deviates that can, but the thread that signals comes last.
struct Contrary;

impl Scheduler for Contrary {
    fn next(&mut self, view: &View<'_>) -> Choice {
        let last = |ready: &&Ready| view.names[ready.thread.index()].0 == [2];
        let first = view.early.iter().chain(view.enabled).find(|ready| !last(ready));
        let ready = first.unwrap_or(&view.enabled[0]);
        Choice { thread: ready.thread, events: 1 }
    }

    fn deviate(&mut self, _: Deviation) -> bool {
        true
    }
}

#[test]
fn what_a_failure_does_not_need_is_taken_away() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fewer-deviations");
    std::fs::create_dir_all(&directory).expect("a directory for the test");
    let source = directory.join("p.c");
    std::fs::write(&source, PROGRAM).expect("the program is written");
    let built = Builder::from_env().open(&BuildSpec::new(vec![source])).expect("it compiles");
    let program = unravel_program::load(&built.bitcode).expect("it loads");
    let options = Options { program_name: "p".into(), libraries: built.libs, ..Options::default() };
    let mut vm = Vm::new(program, options).expect("a machine");
    let (input, visible) = (Input::default(), vm.sites().all().clone());
    let job = Job { input: &input, visible: &visible, want: Want::only(Detail::Events) };
    let run = vm.run(&job, &mut Contrary, &mut ()).expect("the machine is well");
    let kinds = |run: &Run| run.deviated.iter().map(|one| one.kind).collect::<Vec<_>>();
    assert!(run.outcome.failure().is_some(), "{:?}", run.outcome);
    for kind in [Deviation::Stall, Deviation::WeakFailure, Deviation::SpuriousWakeup] {
        assert!(kinds(&run).contains(&kind), "{:?}", kinds(&run));
    }
    let simple = simplify(&mut vm, &input, &run, &Budget::default(), &mut |_| true);
    let simple = simple.expect("it fails again");
    assert_eq!(kinds(&simple.run), [Deviation::SpuriousWakeup]);
    // What is left is in the input of the result: it fails again by itself.
    let input = simple.run.input(&input);
    let mut replay = unravel_execute::Replay::new(&simple.run.schedule);
    let visible = &simple.run.schedule.visible;
    let job = Job { input: &input, visible, want: Want::only(Detail::Outcome) };
    let again = vm.run(&job, &mut replay, &mut ()).expect("the machine is well");
    assert!(again.outcome.is_same_bug(&run.outcome), "{:?}", again.outcome);
}
