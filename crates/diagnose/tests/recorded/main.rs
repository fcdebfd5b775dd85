//! Folders of recorded executions with known truth: programs that a machine of our own executes in every order, recorded in a few of
//! them. What `diagnose` says of the folder is replayed on that machine.

mod folder;
mod program;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use folder::Style;
use program::{Machine, Op, Program, Test, Value, failing_paths};
use unravel_database::Database;
use unravel_diagnose::{DiagnoseError, Options, diagnose_imported, diagnose_recorded};
use unravel_files::import::symbiosis::{self, Imported};
use unravel_results::{Diagnosis, Observed};
use unravel_solve::SolverChoice;
use unravel_trace::{Rng, Schedule};

/// Reads a folder and diagnoses it.
fn diagnosed(directory: &Path, options: &symbiosis::Options) -> Result<Diagnosis, DiagnoseError> {
    let Imported { file, executions } =
        symbiosis::import(directory, options).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(file.validate(), Ok(()));
    let mut solver = SolverChoice::default().make();
    let options = Options::default();
    if executions.is_empty() {
        return diagnose_imported("p", &file.run, &mut *solver, &options, &mut |_| {});
    }
    let mut database = Database::in_memory(file.program.clone());
    for of in executions {
        let threads = of.parts[0].trace.threads.clone();
        let schedule = Schedule { threads, ..Schedule::default() };
        database.add(of.parts, of.turns, schedule, file.input.clone(), of.from).expect("fits");
    }
    diagnose_recorded("p", &file.run, &database, &mut *solver, &options, &mut |_| {})
}

/// Executes a run that a diagnosis shows. `T0.1.2` is thread 1.2.
fn replayed(program: &Program, observed: &Observed) -> Machine {
    let mut machine = Machine::new(program);
    for event in &observed.trace.events {
        if machine.failed {
            break;
        }
        let name = observed.trace.thread_name(event.thread).to_string();
        let id = name.strip_prefix("T0.").unwrap_or("0");
        let ready = machine.ready();
        let id = ready.into_iter().find(|other| *other == id);
        machine.step(id.unwrap_or_else(|| panic!("{name} cannot go on there")));
    }
    machine
}

/// Whatever a diagnosis shows is so when it is executed.
fn check(program: &Program, diagnosis: &Diagnosis) {
    assert!(replayed(program, &diagnosis.failing).failed, "the failing run does not fail");
    for alternate in &diagnosis.alternates {
        assert!(!replayed(program, &alternate.run).failed, "the alternate fails");
    }
}

fn number(value: i64) -> Value {
    Value::Number(value)
}

/// A thread's operations, at random.
fn body(rng: &mut Rng, budget: &mut u32, depth: u32) -> Vec<Op> {
    let mut ops = Vec::new();
    for _ in 0..1 + rng.below(2) {
        if *budget == 0 {
            break;
        }
        *budget -= 1;
        let variable = *rng.pick(&["x_7", "this$0_12"]);
        let state = *rng.pick(&["Sold", "Free"]);
        ops.extend(match rng.below(if depth > 0 { 7 } else { 4 }) {
            0 => vec![Op::Write(variable, number(rng.below(3).into()))],
            1 => vec![Op::Add(variable, 1)],
            2 => vec![Op::Write("state_9", Value::Text(state))],
            3 => vec![Op::Lock(5), Op::Add(variable, 2), Op::Unlock(5)],
            4 => {
                let test = Test::Is(Value::Text("Sold"));
                let (then, other) = (body(rng, budget, depth - 1), body(rng, budget, depth - 1));
                vec![Op::If("state_9", test, then, other)]
            }
            _ => {
                let test = match rng.below(2) {
                    0 => Test::Is(number(rng.below(3).into())),
                    _ => Test::Less(1 + i64::from(rng.below(3))),
                };
                let (then, other) = (body(rng, budget, depth - 1), body(rng, budget, depth - 1));
                vec![Op::If(variable, test, then, other)]
            }
        });
    }
    ops
}

/// Three threads besides the main one at most, one of them perhaps a child of the first.
fn random_program(rng: &mut Rng) -> Program {
    let mut program = Program::new();
    let nested = rng.below(2) == 0;
    let mut first = body(rng, &mut 4, 2);
    if nested {
        first.insert(0, Op::Fork("1.1"));
        first.push(Op::Join("1.1"));
        program.insert("1.1", body(rng, &mut 2, 1));
    }
    program.insert("1", first);
    program.insert("2", body(rng, &mut 4, 2));
    let end = match rng.below(3) {
        0 => Op::Assert("x_7", Test::Less(1 + i64::from(rng.below(4)))),
        1 => Op::Assert("this$0_12", Test::Is(number(rng.below(3).into()))),
        _ => Op::Assert("state_9", Test::Is(Value::Text("Sold"))),
    };
    let begin = [
        Op::Write("x_7", number(0)),
        Op::Write("this$0_12", number(1)),
        Op::Write("state_9", Value::Text("Free")),
        Op::Fork("1"),
        Op::Fork("2"),
        Op::Join("1"),
        Op::Join("2"),
        end,
    ];
    program.insert("0", begin.into());
    program
}

/// Two threads, each of which goes by what the other has done, and counts on one of its paths: each passes with what the other mostly does.
fn crossed_program(rng: &mut Rng) -> Program {
    let mut side = |own: &'static str, other: &'static str| {
        let count = match rng.below(2) {
            0 => vec![Op::Add("sum_3", 1)],
            _ => vec![Op::Lock(5), Op::Add("sum_3", 1), Op::Unlock(5)],
        };
        let flag = Op::Write(own, number(1));
        let test = Op::If(other, Test::Is(number(0)), count, body(rng, &mut 1, 0));
        let mut ops = body(rng, &mut 1, 0);
        // Dekker's order, in which both cannot count, or the other way round.
        if rng.below(3) == 0 {
            ops.extend([flag, test])
        } else {
            ops.extend([test, flag])
        }
        ops
    };
    let mut program = Program::from([("1", side("a_1", "b_2")), ("2", side("b_2", "a_1"))]);
    let begin = [
        Op::Write("x_7", number(0)),
        Op::Write("this$0_12", number(1)),
        Op::Write("state_9", Value::Text("Free")),
        Op::Write("a_1", number(0)),
        Op::Write("b_2", number(0)),
        Op::Write("sum_3", number(0)),
        Op::Fork("1"),
        Op::Fork("2"),
        Op::Join("1"),
        Op::Join("2"),
        Op::Assert("sum_3", Test::Less(2)),
    ];
    program.insert("0", begin.into());
    program
}

/// Executions at random, no two with the same paths, of those that are wanted; at most four.
fn record(
    program: &Program,
    rng: &mut Rng,
    most: u32,
    wanted: impl Fn(&Machine) -> bool,
) -> Vec<Machine> {
    let mut recorded: Vec<Machine> = Vec::new();
    for _ in 0..1 + rng.below(most) {
        let machine = Machine::new(program).run_at_random(rng);
        let is_new = recorded.iter().all(|other| other.paths() != machine.paths());
        if recorded.len() < 4 && is_new && wanted(&machine) {
            recorded.push(machine);
        }
    }
    recorded
}

type Paths = BTreeMap<&'static str, String>;

/// Whether the paths of a failing execution were all recorded, each in whichever execution.
fn is_covered(failing: &Paths, recorded: &[Machine]) -> bool {
    let known: BTreeSet<(&str, String)> =
        recorded.iter().flat_map(|machine| machine.paths()).collect();
    failing.iter().all(|(id, path)| known.contains(&(*id, path.clone())))
}

#[test]
fn what_is_found_is_so_and_what_there_is_is_found() {
    let (mut found, mut combined, mut none, mut elsewhere) = (0, 0, 0, 0);
    for seed in 0..400 {
        let mut rng = Rng::new(Rng::derive(41, seed));
        let program =
            if seed % 4 == 3 { crossed_program(&mut rng) } else { random_program(&mut rng) };
        let Some(failing) = failing_paths(&program) else { continue };
        let alone = |machine: &Machine| failing.contains(&machine.paths());
        let recorded = match seed % 2 {
            0 => record(&program, &mut rng, 3, |_| true),
            // Only executions whose paths cannot fail together.
            _ => record(&program, &mut rng, 60, |machine| !alone(machine)),
        };
        if recorded.is_empty() {
            continue;
        }
        let style = Style {
            unmarked: false,
            subfolder: rng.below(2) == 0,
            bare: rng.below(3) == 0,
            noise: rng.below(3) == 0,
        };
        let directory = tempfile::tempdir().expect("a directory");
        folder::write(directory.path(), &recorded, style, &mut rng);
        let possible = failing.iter().any(|paths| is_covered(paths, &recorded));
        match diagnosed(directory.path(), &symbiosis::Options::default()) {
            Ok(diagnosis) => {
                assert!(possible, "{seed}: nothing that was recorded fails");
                check(&program, &diagnosis);
                found += 1;
                combined += u32::from(!recorded.iter().any(alone));
                elsewhere += u32::from(diagnosis.alternates.iter().any(|a| !a.same_path));
            }
            Err(DiagnoseError::NoFailingSchedule(why)) => {
                assert!(!possible, "{seed}: recorded paths fail: {why}");
                none += 1;
            }
            Err(error) => panic!("{seed}: {error}"),
        }
    }
    println!(
        "{found} found, {combined} of them combined, {elsewhere} with other paths; {none} cannot fail"
    );
    assert!(found > 40 && none > 40, "{found} {none}");
    assert!(combined > 3 && elsewhere > 3, "{combined} {elsewhere}");
}

/// A folder of these executions, each given by whose turn it is.
fn recorded(program: &Program, schedules: &[&str], style: Style) -> tempfile::TempDir {
    let ran = |schedule: &&str| {
        let mut machine = Machine::new(program);
        for id in schedule.split(' ') {
            let ready = machine.ready();
            let id = ready.into_iter().find(|other| *other == id);
            machine.step(id.unwrap_or_else(|| panic!("{schedule}: it cannot go on there")));
        }
        // Whoever is left goes on as the main thread can.
        while let Some(id) = machine.ready().first().copied().filter(|_| !machine.failed) {
            machine.step(id);
        }
        machine
    };
    let machines: Vec<Machine> = schedules.iter().map(ran).collect();
    let directory = tempfile::tempdir().expect("a directory");
    folder::write(directory.path(), &machines, style, &mut Rng::new(1));
    directory
}

/// The places of a root cause: `first -> second`.
fn orders(diagnosis: &Diagnosis) -> Vec<String> {
    let cause = diagnosis.root_cause.as_ref().expect("a root cause");
    let place = |of: &unravel_results::Participant| format!("{}:{}", of.place.file, of.place.line);
    let mut orders: Vec<String> = cause
        .orders
        .iter()
        .map(|o| format!("{} -> {}", place(&o.first), place(&o.second)))
        .collect();
    orders.sort();
    orders
}

/// One writes between the other's read and write, or both read before either writes. Lines 12 and 13 are the update of thread 1, 11 and 12
/// that of thread 1.1.
fn is_lost_update(diagnosis: &Diagnosis) {
    let answers = [
        ["p1.java:13 -> p1_1.java:12", "p1_1.java:11 -> p1.java:13"],
        ["p1.java:12 -> p1_1.java:12", "p1_1.java:12 -> p1.java:13"],
        ["p1.java:12 -> p1_1.java:12", "p1_1.java:11 -> p1.java:13"],
    ];
    let found = orders(diagnosis);
    assert!(answers.iter().any(|answer| found == *answer), "{found:?}");
}

/// An update is lost between a thread and its child, which no recorded run showed.
#[test]
fn a_lost_update_between_a_thread_and_its_child_is_the_root_cause() {
    let ops: [(&str, Vec<Op>); 3] = [
        (
            "0",
            vec![
                Op::Write("this$0_12", number(0)),
                Op::Fork("1"),
                Op::Join("1"),
                Op::Assert("this$0_12", Test::Is(number(2))),
            ],
        ),
        ("1", vec![Op::Fork("1.1"), Op::Add("this$0_12", 1), Op::Join("1.1")]),
        ("1.1", vec![Op::Add("this$0_12", 1)]),
    ];
    let program = Program::from(ops);
    // Start, write, fork; start, fork, read, write; start, read, write, exit.
    let passes = "0 0 0 1 1 1 1 1.1 1.1 1.1 1.1";
    for style in [Style::default(), Style { bare: true, noise: true, ..Style::default() }] {
        let directory = recorded(&program, &[passes], style);
        let diagnosis = diagnosed(directory.path(), &symbiosis::Options::default());
        let diagnosis = diagnosis.unwrap_or_else(|e| panic!("{e}"));
        check(&program, &diagnosis);
        is_lost_update(&diagnosis);
        assert!(diagnosis.alternates[0].same_path);
    }
    // A run that failed, in which nobody is marked.
    let fails = "0 0 0 1 1 1 1.1 1.1 1 1.1 1.1 1 1 0 0";
    let directory = recorded(&program, &[fails], Style { unmarked: true, ..Style::default() });
    let options = symbiosis::Options { failing: "0".parse().ok(), ..symbiosis::Options::default() };
    let diagnosis = diagnosed(directory.path(), &options).unwrap_or_else(|e| panic!("{e}"));
    check(&program, &diagnosis);
    is_lost_update(&diagnosis);
}

/// Each thread counts if the other has not said that it does; `locked`: no count is lost.
fn both_count(locked: bool) -> Program {
    let side = |own: &'static str, other: &'static str| {
        let count = match locked {
            true => vec![Op::Lock(5), Op::Add("sum_3", 1), Op::Unlock(5)],
            false => vec![Op::Add("sum_3", 1)],
        };
        vec![Op::If(other, Test::Is(number(0)), count, vec![]), Op::Write(own, number(1))]
    };
    let main = vec![
        Op::Write("a_1", number(0)),
        Op::Write("b_2", number(0)),
        Op::Write("sum_3", number(0)),
        Op::Fork("1"),
        Op::Fork("2"),
        Op::Join("1"),
        Op::Join("2"),
        Op::Assert("sum_3", Test::Less(2)),
    ];
    Program::from([("0", main), ("1", side("a_1", "b_2")), ("2", side("b_2", "a_1"))])
}

const FIRST_ALONE: &str = "0 0 0 0 0 0 1 1 1 1 1 1 1";
const SECOND_ALONE: &str = "0 0 0 0 0 0 2 2 2 2 2 2 2";

#[test]
fn paths_of_two_executions_fail_together() {
    let program = both_count(true);
    for subfolder in [false, true] {
        let style = Style { subfolder, ..Style::default() };
        let directory = recorded(&program, &[FIRST_ALONE, SECOND_ALONE], style);
        let diagnosis = diagnosed(directory.path(), &symbiosis::Options::default());
        let diagnosis = diagnosis.unwrap_or_else(|e| panic!("{e}"));
        check(&program, &diagnosis);
        // One foreign path is enough, whichever thread's.
        let note = &diagnosis.notes[0];
        assert!(note.starts_with("no order of one execution was found that fails"), "{note}");
        assert_eq!(note.matches(" as in ").count(), 1, "{note}");
        // Both count on these paths, in whatever order: only another path passes, and it parts at the check.
        let alternate = &diagnosis.alternates[0];
        assert!(!alternate.same_path);
        assert_eq!(alternate.goal, "recorded");
        let branch = &alternate.projection.branches[0];
        let after = branch.after.as_ref().expect("is known");
        assert_eq!(after.line, 11, "{after:?}");
        assert!(["p1.java", "p2.java"].contains(&&*after.file), "{after:?}");
    }
    // Where a count can be lost, an order of the same paths passes.
    let program = both_count(false);
    let directory = recorded(
        &program,
        &["0 0 0 0 0 0 1 1 1 1 1 1", "0 0 0 0 0 0 2 2 2 2 2 2"],
        Style::default(),
    );
    let diagnosis = diagnosed(directory.path(), &symbiosis::Options::default());
    let diagnosis = diagnosis.unwrap_or_else(|e| panic!("{e}"));
    check(&program, &diagnosis);
    assert!(diagnosis.alternates[0].same_path);
    assert!(diagnosis.root_cause.is_some());
}

#[test]
fn what_no_recorded_paths_do_is_not_claimed() {
    let program = both_count(true);
    let directory = recorded(&program, &[FIRST_ALONE, FIRST_ALONE], Style::default());
    match diagnosed(directory.path(), &symbiosis::Options::default()) {
        Err(DiagnoseError::NoFailingSchedule(why)) => {
            assert!(
                why.contains("no order of the recorded steps fails (proved by the solver)"),
                "{why}"
            );
        }
        other => panic!("{other:?}"),
    }
}

/// Clients that each need every module, beginning with another one, and load those that they find unloaded: check then act. The published
/// folder `loader` has this shape.
fn loader(clients: &[&'static str], modules: &[&'static str]) -> Program {
    let need = |module: &'static str| {
        let load =
            vec![Op::Write(module, number(1)), Op::Lock(5), Op::Add("loads_9", 1), Op::Unlock(5)];
        Op::If(module, Test::Is(number(0)), load, vec![])
    };
    let mut main: Vec<Op> = modules.iter().map(|module| Op::Write(module, number(0))).collect();
    main.push(Op::Write("loads_9", number(0)));
    main.extend(clients.iter().map(|client| Op::Fork(client)));
    main.extend(clients.iter().map(|client| Op::Join(client)));
    main.push(Op::Assert("loads_9", Test::Less(modules.len() as i64 + 1)));
    let mut program = Program::from([("0", main)]);
    for (nth, client) in clients.iter().enumerate() {
        let turned = (0..modules.len()).map(|at| need(modules[(nth + at) % modules.len()]));
        program.insert(client, turned.collect());
    }
    program
}

/// So many combinations of recorded paths that they are not gone through: where threads want to go leads to one that fails
/// (`probing.rs`).
#[test]
fn of_many_recorded_paths_those_are_tried_that_threads_want_to_take() {
    let program = loader(&["1", "2", "3", "4", "5"], &["a_1", "b_2", "c_3"]);
    let mut tried = 0;
    for seed in 0..6 {
        let mut rng = Rng::new(Rng::derive(43, seed));
        let runs: Vec<Machine> =
            (0..400).map(|_| Machine::new(&program).run_at_random(&mut rng)).collect();
        let failing: Vec<Paths> =
            runs.iter().filter(|run| run.failed).map(Machine::paths).collect();
        // What a few executions did that passed, and whose paths cannot fail together as they are: every module is loaded once.
        let mut recorded: Vec<Machine> = Vec::new();
        for run in runs.iter().filter(|run| !run.failed) {
            if recorded.len() < 24 && recorded.iter().all(|other| other.paths() != run.paths()) {
                recorded.push(run.clone());
            }
        }
        if !failing.iter().any(|paths| is_covered(paths, &recorded)) {
            continue;
        }
        tried += 1;
        let paths: BTreeSet<(&str, String)> =
            recorded.iter().flat_map(|machine| machine.paths()).collect();
        assert!(paths.len() > 15, "{} paths are few", paths.len());
        let directory = tempfile::tempdir().expect("a directory");
        folder::write(directory.path(), &recorded, Style::default(), &mut rng);
        let diagnosis = diagnosed(directory.path(), &symbiosis::Options::default());
        let diagnosis = diagnosis.unwrap_or_else(|e| panic!("{seed}: {e}"));
        check(&program, &diagnosis);
    }
    assert!(tried >= 4, "only {tried} folders could fail");
}
