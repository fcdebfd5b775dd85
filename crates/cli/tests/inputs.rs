//! Inputs as symbols, in the machine: from one run that passes to an input and a schedule that fail together.
//!
//! A process has one virtual machine at a time, and here they come one after the other.

mod support;

use std::sync::{Mutex, PoisonError};

use unravel_diagnose::Steps;
use unravel_execute::Replay;
use unravel_program::build::{BuildSpec, Builder};
use unravel_solve::{Answer, Model, Query, SolverChoice, Wish};
use unravel_strategies::{Random, RunToBlock};
use unravel_trace::*;
use unravel_vm::{Options, Vm};

use support::{directory, write};

/// One machine at a time, whatever the number of tests.
static MACHINE: Mutex<()> = Mutex::new(());

/// Runs from which is learned what threads share.
const LEARNING_RUNS: u64 = 20;

/// What a test does with a machine for a program, and with what is visible there.
fn with_machine<T>(
    test: &str,
    source: &str,
    input: &Input,
    then: impl FnOnce(&mut Vm, &VisibleSet) -> T,
) -> T {
    // Also while programs are read: a machine expects that nobody else is at work in its process.
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let directory = directory(&format!("inputs-{test}"));
    write(&directory, "program.c", source);
    let built = Builder::from_env()
        .open(&BuildSpec::new(vec![directory.join("program.c")]))
        .expect("the program compiles");
    let program = unravel_program::load(&built.bitcode).expect("the program loads");
    let mut vm = Vm::new(program, Options::default()).expect("a machine");
    let mut visible = VisibleSet::default();
    let want = Want { learn: true, ..Want::only(Detail::Outcome) };
    for seed in 0..LEARNING_RUNS {
        let job = Job { input, visible: &visible, want };
        let run = vm.run(&job, &mut Random::new(seed), &mut ()).expect("the machine is well");
        visible.merge(&run.learned);
    }
    then(&mut vm, &visible)
}

/// The run in which nobody is interrupted, with everything kept.
fn passing_run(vm: &mut Vm, input: &Input, visible: &VisibleSet, free: FreeInput) -> Run {
    let want = Want { free, ..Want::only(Detail::Separable) };
    let job = Job { input, visible, want };
    let run = vm.run(&job, &mut RunToBlock, &mut ()).expect("the machine is well");
    assert_eq!(run.outcome, Outcome::Exited { code: 0 }, "the run to start from passes");
    run
}

/// An input and a schedule, found together.
struct Exposed {
    input: Input,
    failure: Failure,
}

/// Asks of each assertion that held in the passing run whether other inputs and another order break it, and executes what
/// the solver says.
fn expose(vm: &mut Vm, input: &Input, visible: &VisibleSet, free: FreeInput) -> Option<Exposed> {
    let run = passing_run(vm, input, visible, free);
    let parts = separate(&run, &run.branches(), &[]).expect("a symbolic run");
    parts.iter().flat_map(assertions).find_map(|(thread, index)| {
        let parts: Vec<ThreadTrace> = parts.iter().map(|part| cut(part, thread, index)).collect();
        let mut combined = combine(&parts.iter().collect::<Vec<_>>(), &[]).expect("one run fits");
        let symbolic = &mut combined.symbolic;
        let of_thread = parts.iter().position(|part| part.thread == thread)?;
        let asserted = symbolic.conditions.remove(combined.conditions[of_thread] as usize + index);
        let fails = symbolic.exprs.not(asserted.holds);
        symbolic.bug = Bug::Condition { thread, after: asserted.after, fails };
        let mut model = Model::new(&combined.trace, symbolic).expect("a model");
        let query = Query::new(&model, Wish::Fails);
        let found = match SolverChoice::default().make().find(&query) {
            Answer::Yes(found) => found,
            Answer::No => return None,
            Answer::Unknown { reason, .. } => panic!("the solver gave up: {reason}"),
        };
        let values: Vec<(u64, u64)> = found
            .initial
            .iter()
            .map(|(cell, value)| (model.cell_range(*cell).0, *value as u64))
            .collect();
        found.initial.iter().for_each(|(cell, value)| model.set_initial(*cell, *value));
        let value = |cell: &InputCell| {
            let other = values.iter().find(|(address, _)| *address == cell.address);
            other.map_or(cell.value, |(_, value)| *value)
        };
        let input = input.with_values(&combined.symbolic.inputs, &value);
        let steps = Steps {
            model: &model,
            trace: &combined.trace,
            symbolic: &combined.symbolic,
            unscheduled: &combined.unscheduled,
        };
        let schedule = steps.schedule(&found.order, visible);
        let job = Job { input: &input, visible, want: Want::only(Detail::Outcome) };
        let run = vm.run(&job, &mut Replay::new(&schedule), &mut ()).expect("the machine is well");
        let failure = run.outcome.failure().cloned();
        let failure = failure.unwrap_or_else(|| panic!("{input:?} passes: {:?}", run.outcome));
        Some(Exposed { input, failure })
    })
}

/// The assertions of a part, as indices of its conditions.
fn assertions(part: &ThreadTrace) -> impl Iterator<Item = (ThreadId, usize)> {
    let conditions = part.symbolic.conditions.iter().enumerate();
    let fails = conditions.filter(|(_, condition)| condition.otherwise == Otherwise::Fails);
    fails.map(|(index, _)| (part.thread, index))
}

/// A part without what does not happen any more once this condition of that thread does not hold.
fn cut(part: &ThreadTrace, thread: ThreadId, condition: usize) -> ThreadTrace {
    let mut part = part.clone();
    let waits = |event: &Event| matches!(event.kind, EventKind::Join { child } if child == thread);
    let events = if part.thread == thread {
        let after = part.symbolic.conditions[condition].after;
        part.symbolic.conditions.truncate(condition + 1);
        after as usize + 1
    } else {
        let events = &part.trace.events;
        events.iter().position(waits).unwrap_or(events.len())
    };
    part.trace.events.truncate(events);
    part.symbolic.shadows.truncate(events);
    part.symbolic.conditions.retain(|condition| (condition.after as usize) < events);
    part.symbolic.steps.retain(|step| (step.first as usize) < events);
    if let Some(last) = part.symbolic.steps.last_mut() {
        last.events = last.events.min(events as u32 - last.first);
    }
    part
}

/// A program of threads with these bodies, which `main` creates and joins after what it does first.
fn program(globals: &str, first: &str, bodies: &[&str]) -> String {
    let mut source = format!(
        "#include <assert.h>\n#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
         int __VERIFIER_nondet_int(void); _Bool __VERIFIER_nondet_bool(void);\n\
         char __VERIFIER_nondet_char(void); double __VERIFIER_nondet_double(void);\n\
         void __VERIFIER_nondet_memory(void *, unsigned long);\n{globals}\n"
    );
    let (mut create, mut join) = (String::new(), String::new());
    for (i, body) in bodies.iter().enumerate() {
        source += &format!("static void *t{i}(void *a) {{ {body}\n return 0; }}\n");
        create += &format!("pthread_create(&t[{i}], 0, t{i}, 0);");
        join += &format!("pthread_join(t[{i}], 0);");
    }
    let number = bodies.len();
    source
        + &format!(
            "int main(int argc, char **argv) {{ pthread_t t[{number}]; {first}\n{create} {join} return 0; }}\n"
        )
}

fn exposed(test: &str, source: &str, input: &Input, free: FreeInput) -> Exposed {
    let found = with_machine(test, source, input, |vm, visible| expose(vm, input, visible, free));
    let exposed = found.unwrap_or_else(|| panic!("{test}: nothing was exposed"));
    assert_eq!(exposed.failure.kind, FailureKind::Assertion, "{test}");
    exposed
}

/// The values that the only thread with any is given.
fn values(input: &Input) -> Vec<u64> {
    match &input.nondet {
        Nondet::ByThread(threads) => match &threads[..] {
            [(_, values)] => values.clone(),
            other => panic!("values of one thread: {other:?}"),
        },
        other => panic!("values by thread: {other:?}"),
    }
}

fn arguments(args: &[&str]) -> Input {
    Input { args: args.iter().map(|arg| (*arg).to_owned()).collect(), ..Input::default() }
}

fn standard_input(text: &str) -> Input {
    Input { stdin: Some(text.as_bytes().to_vec()), ..Input::default() }
}

const SET: &str = "flag = 1; done = 1;";

#[test]
fn a_value_and_an_order_are_found_together() {
    let check =
        "if (flag) { int n = __VERIFIER_nondet_int(); assert(!((n == 0x1234567) & (done == 0))); }";
    let source = program("volatile int flag, done;", "", &[SET, check]);
    let found = exposed("together", &source, &Input::default(), FreeInput::Nondet);
    assert_eq!(values(&found.input), [0x1234567]);
}

#[test]
fn without_free_inputs_the_value_is_not_found() {
    let check =
        "if (flag) { int n = __VERIFIER_nondet_int(); assert(!((n == 0x1234567) & (done == 0))); }";
    let source = program("volatile int flag, done;", "", &[SET, check]);
    let input = Input::default();
    let found = with_machine("concrete", &source, &input, |vm, visible| {
        expose(vm, &input, visible, FreeInput::None)
    });
    assert!(found.is_none());
}

#[test]
fn what_main_reads_before_any_thread_exists_stays_open() {
    let source = program(
        "volatile int x; int limit;",
        "limit = 2 * __VERIFIER_nondet_int();",
        &["x = 5; x = 9;", "int seen = x; assert(!((seen == 5) & (3 * seen + 1 == limit)));"],
    );
    let found = exposed("before", &source, &Input::default(), FreeInput::Nondet);
    // Twice a 32-bit number, one of two.
    assert_eq!(values(&found.input)[0] as u32 & 0x7fff_ffff, 8);
}

#[test]
fn what_is_handed_to_a_thread_in_memory_stays_open() {
    let source = "#include <assert.h>\n#include <pthread.h>\n\
        int __VERIFIER_nondet_int(void);\n\
        struct job { int number, value; };\n\
        volatile int total;\n\
        static void *work(void *a) { struct job *job = a; total += job->value;\n\
          assert(job->number == 0 || job->value != 4711); return 0; }\n\
        int main(void) { pthread_t t[2]; struct job jobs[2];\n\
          for (int i = 0; i < 2; i++) {\n\
            struct job job = { i, __VERIFIER_nondet_int() };\n\
            jobs[i] = job;\n\
            pthread_create(&t[i], 0, work, &jobs[i]);\n\
          }\n\
          for (int i = 0; i < 2; i++) pthread_join(t[i], 0);\n\
          return 0; }\n";
    let found = exposed("handed", source, &Input::default(), FreeInput::Nondet);
    assert_eq!(values(&found.input)[1], 4711);
}

#[test]
fn narrow_values_are_what_their_types_allow() {
    let check = "int b = __VERIFIER_nondet_bool(), c = __VERIFIER_nondet_char();\n\
                 double d = __VERIFIER_nondet_double();\n\
                 if (flag && d < 1e12) assert(!((c == -100 - 3 * b) & (b == 1)));";
    let source = program("volatile int flag;", "", &["flag = 1;", check]);
    let found = exposed("narrow", &source, &Input::default(), FreeInput::Nondet);
    // Of what becomes floating point nothing is changed.
    let values = values(&found.input);
    assert_eq!(values[..2], [1, -103i8 as u8 as u64]);
    assert_eq!(values.len(), 3);
}

#[test]
fn memory_is_filled_with_symbols() {
    let check = "unsigned char key[4]; __VERIFIER_nondet_memory(key, 4);\n\
                 if (flag) assert(key[0] + 256 * key[3] != 0xbeef);";
    let source = program("volatile int flag;", "", &["flag = 1;", check]);
    let found = exposed("memory", &source, &Input::default(), FreeInput::Nondet);
    let values = values(&found.input);
    assert_eq!((values[0], values[3], values.len()), (0xef, 0xbe, 4));
}

#[test]
fn arguments_are_numbers() {
    let source = program(
        "volatile int flag; long limit; int once;",
        "once = atoi(argv[1]); limit = strtol(argv[2], 0, 10) + atoi(argv[1]);",
        &["flag = 1;", "if (flag) assert(!((limit == 123456789012) & (once == -7)));"],
    );
    let input = arguments(&["1", "2"]);
    let found = exposed("arguments", &source, &input, FreeInput::All);
    assert_eq!(found.input.args, ["-7", "123456789019"]);
    let unseen = with_machine("arguments-fixed", &source, &input, |vm, visible| {
        expose(vm, &input, visible, FreeInput::Nondet)
    });
    assert!(unseen.is_none(), "arguments are inputs only if all are");
}

#[test]
fn standard_input_is_numbers_and_bytes() {
    let source = program(
        "volatile int flag; int small, letter; long large;",
        "scanf(\"%d %ld\", &small, &large); getchar(); letter = getchar();",
        &["flag = 1;", "if (flag) assert(!((small == 42) & (large == -5) & (letter == 'q')));"],
    );
    let input = standard_input("1 2\nx rest 3\n");
    let found = exposed("stdin", &source, &input, FreeInput::All);
    let text = found.input.stdin.expect("it is not closed");
    assert_eq!(String::from_utf8_lossy(&text), "42 -5\nq rest 3\n");
}

#[test]
fn open_inputs_change_nothing_that_is_executed() {
    let source = program(
        "volatile int x; int limit;",
        "for (int i = 0; i < 3; i++) limit += __VERIFIER_nondet_int();",
        &["x = limit; x++;", "int seen = x; if (seen > limit) x = 0;"],
    );
    let input = Input::default();
    with_machine("unchanged", &source, &input, |vm, visible| {
        let plain = passing_run(vm, &input, visible, FreeInput::None);
        let open = passing_run(vm, &input, visible, FreeInput::All);
        assert_eq!(plain.schedule, open.schedule);
        assert_eq!(plain.nondet, open.nondet);
        let symbolic = open.symbolic.expect("it was wanted");
        let main = symbolic.inputs.iter().map(|cell| cell.value);
        assert_eq!(main.collect::<Vec<_>>(), plain.nondet);
        assert!(plain.symbolic.expect("it was wanted").inputs.is_empty());
    });
}
