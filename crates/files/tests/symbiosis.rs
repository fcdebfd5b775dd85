//! Symbiosis traces: every line of the format, what the expressions mean, and one clear error for each mistake.

use std::path::Path;

use unravel_files::TraceFile;
use unravel_files::import::symbiosis::{ImportError, Imported, Options, import};
use unravel_trace::*;

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("temporary directory");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("writes");
    }
    folder
}

fn read(files: &[(&str, &str)]) -> TraceFile {
    let folder = folder(files);
    let imported = import(folder.path(), &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(imported.file.validate(), Ok(()));
    imported.file
}

fn symbolic(file: &TraceFile) -> &Symbolic {
    file.run.symbolic.as_deref().expect("an imported trace is symbolic")
}

/// `T0.1 read x`, in the order of the list.
fn events(file: &TraceFile) -> Vec<String> {
    let trace = &file.run.trace;
    let words = |event: &Event| {
        let name = event.kind.location().map(|at| format!(" {}", trace.location(at).name));
        let other = match event.kind {
            EventKind::Fork { child } | EventKind::Join { child } => {
                format!(" {}", trace.thread_name(child))
            }
            _ => String::new(),
        };
        let (thread, verb) = (trace.thread_name(event.thread), event.kind.verb());
        format!("{thread} {verb}{}{other}", name.unwrap_or_default())
    };
    trace.events.iter().map(words).collect()
}

/// Two threads add to a counter; every line of the format is in here.
const ALL: [(&str, &str); 3] = [
    (
        "T0_0",
        "<readwrite>
main.c@10:S-start-0
main.c@11:W-counter_77-0
$0$
main.c@12:S-fork_1-0
main.c@13:S-fork_2-0
main.c@14:CS-0
work.c@3
work.c@4:S-lock_5-0
work.c@5:R-counter_77-0-0
work.c@5:W-counter_77-0
$(Add w32
   1
   (ReadLSB w32 0 counter_77-0-0))$
work.c@6:S-signal_6-0
work.c@6:S-signalall_6-0
work.c@7:S-unlock_5-0
main.c@20:S-join_1-0
main.c@21:S-join_2-0
main.c@22:S-exit-0
<path>
T0:(Eq false
  (Slt 9 (ReadLSB w32 0 counter_77-0-0)))
",
    ),
    (
        "T1_0",
        "work.c@30:S-lock_5-1
work.c@31:S-wait_6-1
work.c@32:S-timedwait_6-1
work.c@33:R-counter_77-1-0

work.c@33:W-counter_77-1-0
$(R-counter_77-1-0 + CONST_1)$
work.c@34:S-unlock_5-1
<pathjpf>
T1:(R-counter_77-1-0 >= CONST_0 )
",
    ),
    (
        "T2_0",
        "<assertThread_fail>
work.c@40:R-counter_77-2-0
<pathjpf>
T2:(R-counter_77-1-0 < 7)
T2:(R-counter_77-2-0 != 2)
",
    ),
];

#[test]
fn every_line_is_read() {
    let file = read(&ALL);
    let expected = [
        "T0 start",
        "T0 write counter",
        "T0 create T0.1",
        "T0 create T0.2",
        "T0 lock mutex 5",
        "T0 read counter",
        "T0 write counter",
        "T0 signal condition 6",
        "T0 broadcast condition 6",
        "T0 unlock mutex 5",
        // Start and exit are not in its file; a wait is two events.
        "T0.1 start",
        "T0.1 lock mutex 5",
        "T0.1 wait condition 6",
        "T0.2 start",
        "T0.2 read counter",
    ];
    let events = events(&file);
    assert_eq!(events[..expected.len()], expected);
    let counted = |name: &str| events.iter().filter(|event| event.starts_with(name)).count();
    // T0.2 is joined, so that it ends although it fails.
    assert_eq!((counted("T0 "), counted("T0.1 "), counted("T0.2 ")), (13, 10, 3));
    let own: Vec<_> = events.iter().filter(|e| e.starts_with("T0.1 ")).skip(2).collect();
    let rest = [
        "T0.1 wait condition 6",
        "T0.1 wake condition 6",
        "T0.1 wait condition 6",
        "T0.1 wake condition 6",
        "T0.1 read counter",
        "T0.1 write counter",
        "T0.1 unlock mutex 5",
        "T0.1 exit",
    ];
    assert_eq!(own, rest);

    let wakes: Vec<_> = file.run.trace.events.iter().map(|event| &event.kind).collect();
    let wake = |cause| {
        wakes.iter().filter(|k| matches!(k, EventKind::Wake { by, .. } if *by == cause)).count()
    };
    assert_eq!((wake(WakeCause::Signal(ThreadId(0))), wake(WakeCause::Timeout)), (1, 1));
    assert!(!file.is_executable());
    assert_eq!(file.strategy, "import:symbiosis");
    assert!(file.run.notes.is_empty(), "{:?}", file.run.notes);
}

#[test]
fn the_symbolic_part_says_what_the_files_say() {
    let file = read(&ALL);
    let (trace, symbolic) = (&file.run.trace, symbolic(&file));
    assert_eq!(symbolic.order, KnownOrder::Unknown);
    assert_eq!(symbolic.steps.len(), trace.events.len());
    let address = trace.objects.iter().find(|o| o.name == "counter").expect("a variable").address;
    assert_eq!(symbolic.initial, [Initial { address, bytes: 8, value: None }]);
    assert_eq!(symbolic.accesses.len(), 6);
    assert!(symbolic.accesses.iter().all(|access| access.address == address));

    // What was read, plus one; and zero.
    let values: Vec<u128> = symbolic
        .shadows
        .iter()
        .filter(|shadow| shadow.writes == 1)
        .map(|shadow| symbolic.accesses[shadow.first as usize].value)
        .map(|value| symbolic.exprs.evaluate(value, &|_| 41))
        .collect();
    assert_eq!(values, [0, 42, 42]);

    // T0's, T1's, and the first of T2, which is about T1's read.
    let shape: Vec<_> = symbolic
        .conditions
        .iter()
        .map(|c| (c.thread.0, trace.events[c.after as usize].kind.verb()))
        .collect();
    assert_eq!(shape, [(0, "read"), (1, "read"), (2, "start")]);
    let holds = |nth: usize, value: i64| {
        symbolic.exprs.evaluate(symbolic.conditions[nth].holds, &|_| value as u128) == 1
    };
    assert!(holds(0, 9) && !holds(0, 10) && holds(0, -1));
    assert!(holds(1, 0) && !holds(1, -1));
    assert!(holds(2, 6) && !holds(2, 7));

    let Bug::Condition { thread, after, fails } = symbolic.bug else {
        panic!("{:?}", symbolic.bug)
    };
    assert_eq!((thread, trace.events[after as usize].kind.verb()), (ThreadId(2), "read"));
    assert_eq!(symbolic.exprs.evaluate(fails, &|_| 1), 1);
    assert_eq!(symbolic.exprs.evaluate(fails, &|_| 2), 0);
    assert_eq!(
        file.run.outcome.to_string(),
        "assertion: the recorded assertion fails at work.c:40 in T0.2"
    );
}

#[test]
fn an_assertion_that_held_fails_where_it_does_not() {
    let passing = "<assertThread_ok>
a.c@1:R-x_1-0-1
a.c@2:W-y_2-0-1
$1$
a.c@3:S-exit-0
<pathjpf>
T0:(R-x_1-0-1 > CONST_5)
";
    let file = read(&[("T0", passing)]);
    let symbolic = symbolic(&file);
    let Bug::Condition { after, fails, .. } = symbolic.bug else { panic!("{:?}", symbolic.bug) };
    assert_eq!(symbolic.exprs.evaluate(fails, &|_| 5), 1);
    assert_eq!(symbolic.exprs.evaluate(fails, &|_| 6), 0);
    // Where it was read; the thread went on from there.
    assert_eq!(file.run.trace.events[after as usize].kind.verb(), "read");
    assert!(symbolic.conditions.is_empty());
    assert!(notes(&file)[0].contains("a run that passed"), "{:?}", file.run.notes);
}

/// What the importer says.
fn notes(file: &TraceFile) -> Vec<String> {
    let text = |note: &Note| match note {
        Note::Other(text) => text.clone(),
        note => panic!("{note:?} is nothing that an importer says"),
    };
    file.run.notes.iter().map(text).collect()
}

/// The value of an expression where x is `x` and y is `y`, once as a value and once as a condition.
fn value(expression: &str, x: i64, y: i64) -> i64 {
    let text = format!(
        "<assertThread_fail>
a.c@1:R-x_1-0-0
a.c@1:R-y_2-0-0
a.c@2:W-z_3-0
${expression}$
<pathjpf>
T0:(R-x_1-0-0 == 0)
"
    );
    let file = read(&[("T0", &text)]);
    let symbolic = symbolic(&file);
    let value = symbolic.accesses[2].value;
    symbolic.exprs.evaluate(value, &|symbol| [x, y][symbol.0 as usize] as u128) as i64
}

#[test]
fn infix_expressions_mean_what_they_do_in_java() {
    let (x, y) = ("R-x_1-0-0", "R-y_2-0-0");
    let cases = [
        ("7".to_owned(), 7),
        ("CONST_-7".to_owned(), -7),
        ("-7".to_owned(), -7),
        ("4294967295".to_owned(), -1),
        ("4294967296".to_owned(), 4294967296),
        ("18446744073709551615".to_owned(), -1),
        (x.to_owned(), 20),
        // Names without their mark.
        ("x_1-0-0".to_owned(), 20),
        (format!("({x} + CONST_1)"), 21),
        (format!("{x} - {y} - CONST_1"), 22),
        (format!("{x} + {y} * 2"), 14),
        (format!("({x} + {y}) * 2"), 34),
        (format!("{x} / {y}"), -6),
        (format!("{x} % {y}"), 2),
        (format!("{y} / 2"), -1),
        (format!("{y} >> 1"), -2),
        (format!("{y} >>> 63"), 1),
        (format!("{x} << 2"), 80),
        (format!("~{x}"), -21),
        (format!("{x}&6|1^3"), 4 | (1 ^ 3)),
        (format!("{x} > {y} && {y} > 0 || !({x} == 20)"), 0),
        (format!("{x} >= 20 && {y} <= -3"), 1),
        (format!("({x} != 20) == false"), 1),
        ("true".to_owned(), 1),
    ];
    for (expression, expected) in cases {
        assert_eq!(value(&expression, 20, -3), expected, "{expression}");
    }
}

#[test]
fn kquery_expressions_mean_what_they_do_in_klee() {
    let (x, y) = ("(ReadLSB w32 0 x_1-0-0)", "(ReadLSB w32 0 y_2-0-0)");
    let cases = [
        (format!("(Add w32 4294967295 {x})"), 19),
        (format!("(Sub w32 {x} {y})"), 23),
        (format!("(Mul w32 {x} {y})"), -60),
        (format!("(SDiv w32 {x} {y})"), -6),
        (format!("(SRem w32 {x} {y})"), 2),
        // Unsigned, of 32 bits.
        (format!("(UDiv w32 {y} 2)"), 2147483646),
        (format!("(URem w32 {y} 10)"), 4294967293 % 10),
        (format!("(LShr w32 {y} 28)"), 15),
        (format!("(AShr w32 {y} 1)"), -2),
        (format!("(Shl w32 {x} 1)"), 40),
        (format!("(And w32 {x} 6)"), 4),
        (format!("(Or w32 {x} 3)"), 23),
        (format!("(Xor w32 {x} 1)"), 21),
        (format!("(Not w32 {x})"), -21),
        (format!("(Neg w32 {x})"), -20),
        (format!("(Eq 4294967293 {y})"), 1),
        (format!("(Ne 20 {x})"), 0),
        (format!("(Slt {y} {x})"), 1),
        (format!("(Sle {x} 20)"), 1),
        (format!("(Sgt {x} {y})"), 1),
        (format!("(Sge {y} {x})"), 0),
        (format!("(Ult {y} {x})"), 0),
        (format!("(Ule {x} {y})"), 1),
        (format!("(Ugt {y} {x})"), 1),
        (format!("(Uge {x} {y})"), 0),
        (format!("(Eq false (Slt {y} {x}))"), 0),
        (format!("(Not (Slt {y} {x}))"), 0),
        (format!("(And (Slt {y} {x}) (Eq 0 (Eq {x} 1)))"), 1),
        (format!("(ZExt w64 {y})"), 4294967293),
        (format!("(SExt w64 {y})"), -3),
        (format!("(ZExt w32 (Slt {y} {x}))"), 1),
        (format!("(SExt w32 (Slt {y} {x}))"), -1),
        (format!("(Extract w8 0 {y})"), -3),
        (format!("(ZExt w32 (Extract w8 8 {y}))"), 255),
        (format!("(Extract 	w1 2 {x})"), 1),
        (format!("(Concat w16 (Extract w8 0 {x}) (Extract w8 0 {x}))"), 20 * 257),
        ("(Concat w16 1 (Read w8 0 x_1-0-0))".to_owned(), 276),
        ("(Read w8 0 y_2-0-0)".to_owned(), -3),
        ("(ReadLSB w64 0 R-y_2-0-0)".to_owned(), -3),
        (format!("(Select w32 (Eq {x} 20) {y} 5)"), -3),
        (format!("(Select w32 false {y} (w32 4294967295))"), -1),
        (format!("(Add w32 N0:(Mul w32 {x} 2) N0)"), 80),
        (format!("(Eq true (Slt 0x10 {x}))"), 1),
    ];
    for (expression, expected) in cases {
        assert_eq!(value(&expression, 20, -3), expected, "{expression}");
    }
}

#[test]
fn threads_are_named_by_birth() {
    let file = read(&[
        (
            "T0",
            "<assertThread_fail>\na@1:S-fork_7-0\na@2:R-x_1-0-0\n<pathjpf>\nT0:(R-x_1-0-0 == 1)\n",
        ),
        ("T7", "a@3:S-fork_2-7\na@4:S-fork_9-7\n"),
        ("T2", "a@5:R-x_1-2-0\n"),
        ("T4", "a@6:R-x_1-4-0\n"),
        ("readme", ""),
    ]);
    let names: Vec<String> = file.run.trace.threads.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["T0", "T0.1", "T0.1.1", "T0.1.2", "T0.2"]);
    assert_eq!(
        notes(&file),
        [
            "not read, because no thread's: readme",
            "thread 9 is forked, but there is no T9: it does nothing",
            "no thread forks T4: it may begin at any time",
            "threads are named by birth: T7 is T0.1, T2 is T0.1.1, T9 is T0.1.2, T4 is T0.2",
        ]
    );
    let events = events(&file);
    assert!(events.ends_with(&["T0.2 start".into(), "T0.2 read x".into(), "T0.2 exit".into()]));
    assert!(events.contains(&"T0.1.2 exit".to_owned()));
}

#[test]
fn a_wait_releases_its_monitor_or_the_last_lock() {
    let file = read(&[(
        "T0",
        "<assertThread_fail>
a@1:S-lock_1-0
a@1:S-lock_2-0
a@2:S-wait_1-0
a@3:S-wait_3-0
a@4:R-x_1-0-0
<pathjpf>
T0:(R-x_1-0-0 == 1)
",
    )]);
    let trace = &file.run.trace;
    let released = trace.events.iter().filter_map(|event| match event.kind {
        EventKind::Wait { mutex, .. } => Some(trace.location(mutex).name.as_str()),
        _ => None,
    });
    assert_eq!(released.collect::<Vec<_>>(), ["mutex 1", "mutex 2"]);
    assert!(notes(&file)[0].contains("condition 1, which nobody signals"), "{:?}", file.run.notes);
}

#[test]
fn names_that_are_not_clear_keep_their_address() {
    let file = read(&[(
        "T0",
        "<assertThread_fail>
a@1:R-x_1-0-0
a@1:R-x_2-0-0
a@1:R-my_y_-5-0-0
a@1:W-my_y_-5-0
$R-my_y_-5-0-0$
<pathjpf>
T0:(R-x_1-0-0 == 1)
",
    )]);
    let names: Vec<_> = file.run.trace.locations.iter().map(|l| l.name.as_str()).collect();
    assert_eq!(names, ["x_1", "x_2", "my_y"]);
    let addresses: Vec<_> = file.run.trace.objects.iter().map(|o| o.address).collect();
    assert_eq!(addresses, [0x1000, 0x1010, 0x1020]);
}

#[test]
fn a_value_may_come_from_before_the_fork() {
    let main = |after: &str| {
        format!(
            "<assertThread_fail>\na@1:R-x_1-0-0\na@2:S-fork_1-0\na@3:R-x_1-0-1\n{after}<pathjpf>
T0:(R-x_1-0-0 == 1)\n"
        )
    };
    let child = |read: u32| format!("a@4:W-y_2-1\n$(R-x_1-0-{read} + 1)$\n");
    let file = read(&[("T0", &main("")), ("T1", &child(0))]);
    assert_eq!(symbolic(&file).accesses.len(), 3);
    let folder = folder(&[("T0", &main("")), ("T1", &child(1))]);
    let error = import(folder.path(), &Options::default()).expect_err("is too late").to_string();
    assert!(
        error.ends_with("T1:2: the value depends on R-x_1-0-1, which need not be read by then")
    );
}

#[test]
fn one_path_of_several_is_read() {
    let path = |limit: u32| {
        format!("<assertThread_fail>\na@1:R-x_1-0-0\n<pathjpf>\nT0:(R-x_1-0-0 > {limit})\n")
    };
    let folder = folder(&[("T0_10", &path(10)), ("T0_2", &path(2)), ("T0_3", &path(3))]);
    let limit = |options: &Options| {
        let Imported { file, .. } =
            import(folder.path(), options).unwrap_or_else(|e| panic!("{e}"));
        let Bug::Condition { fails, .. } = symbolic(&file).bug else { panic!("no bug") };
        let holds = |x: &u32| symbolic(&file).exprs.evaluate(fails, &|_| (*x).into()) == 1;
        ((0..20).find(holds).expect("can fail") - 1, notes(&file))
    };
    let note = |path: &str| vec![format!("T0 has the paths 2, 3, 10; {path} was read")];
    assert_eq!(limit(&Options::default()), (2, note("2")));
    let chosen = |thread: &str, path: &str| {
        let thread = thread.parse().expect("a thread");
        Options { paths: [(thread, path.to_owned())].into(), ..Options::default() }
    };
    assert_eq!(limit(&chosen("0", "10")), (10, note("10")));
    let wrong = import(folder.path(), &chosen("0", "4")).expect_err("no such path").to_string();
    assert!(wrong.ends_with("T0 has no path 4; there are 2, 3, 10"), "{wrong}");
    let wrong = import(folder.path(), &chosen("3", "4")).expect_err("no such thread").to_string();
    assert!(wrong.ends_with("there is no thread 3 to choose a path of"), "{wrong}");
}

#[test]
fn an_imported_trace_is_written_and_read_again() {
    let file = read(&ALL);
    assert_eq!(TraceFile::decode(&file.encode()), Ok(file));
}

/// Puts a line into a trace that is right, and returns the complaint about it.
fn complaint(lines: &str) -> String {
    let text = format!(
        "<assertThread_fail>
a.c@1:R-x_1-0-0
{lines}
<pathjpf>
T0:(R-x_1-0-0 == 1)
"
    );
    let folder = folder(&[("T0", &text)]);
    located(import(folder.path(), &Options::default()).expect_err(lines), folder.path())
}

/// `T0:3: what`.
fn located(error: ImportError, folder: &Path) -> String {
    let message = error.to_string();
    let start = format!("{}/", folder.display());
    message.strip_prefix(&start).map(str::to_owned).unwrap_or(message)
}

#[test]
fn each_mistake_is_named_with_its_line() {
    let write = |value: &str| format!("a.c@2:W-z_2-0\n{value}");
    let cases = [
        ("a.c@x:S-lock_1-0".to_owned(), "T0:3: 'a.c@x:S-lock_1-0' is no event"),
        ("a.c@2:S-lock-0".to_owned(), "T0:3: 'S-lock-0' is no event of this format"),
        ("a.c@2:S-grab_1-0".to_owned(), "T0:3: 'S-grab_1-0' is no event of this format"),
        ("a.c@2:S-lock_1-zero".to_owned(), "T0:3: 'S-lock_1-zero' does not end in a number"),
        ("a.c@2:S-fork_one-0".to_owned(), "T0:3: 'S-fork_one-0' is no event"),
        ("a.c@2:S".to_owned(), "T0:3: 'S' is no event of this format"),
        ("a.c@2:S-lock_1-4".to_owned(), "T0:3: an event of thread 4 in the file of thread 0"),
        ("a.c@2:R-x_1-0".to_owned(), "T0:3: 'R-x_1-0' is no read: R-variable-thread-count"),
        ("a.c@2:R-x_1-0-0".to_owned(), "T0:3: R-x_1-0-0 is read for the second time"),
        ("a.c@2:S-start-0".to_owned(), "T0:3: the thread has begun already"),
        ("a.c@2:S-exit-0\na.c@3:S-lock_1-0".to_owned(), "T0:4: the thread has ended already"),
        ("a.c@2:S-unlock_1-0".to_owned(), "T0:3: lock 1 is released, but the thread does not"),
        ("a.c@2:S-wait_1-0".to_owned(), "T0:3: a wait, but the thread holds no lock"),
        ("a.c@2:S-join_5-0".to_owned(), "T0:3: thread 5 is joined, but there is no T5"),
        ("a.c@2:S-fork_0-0".to_owned(), "T0:3: the main thread, 0, is forked"),
        ("a@2:S-fork_3-0\na@2:S-fork_3-0".to_owned(), "T0:4: thread 3 is forked again, after "),
        ("a.c@2:W-z_2-0".to_owned(), "T0:3: the value of this write is missing"),
        (write("5"), "T0:3: the value of this write is missing"),
        (write("$5"), "T0:3: the value after line 3 has no end"),
        (write("$$"), "T0:4: the expression ends too early"),
        (write("$5 +$"), "T0:4: the expression ends too early"),
        (write("$(5 + 6$"), "T0:4: a ')' is missing"),
        (write("$5 6$"), "T0:4: '6' is too much"),
        (write("$5 )$"), "T0:4: ')' is too much"),
        (write("$5 = 6$"), "T0:4: '=' is too much"),
        (write("$* 6$"), "T0:4: a number or a read expected instead of '*'"),
        (write("$3.5$"), "T0:4: '3.5' is no whole number of 64 bits"),
        (write("$18446744073709551616$"), "T0:4: '18446744073709551616' is no whole number"),
        (write("$R-q_1-0-0$"), "T0:4: no thread makes the read R-q_1-0-0"),
        (write("$(Add w32 1)$"), "T0:4: an operand is missing before ')' in (Add …)"),
        (write("$(Add w32 1 2 3)$"), "T0:4: ')' expected instead of '3' in (Add …)"),
        (write("$(Add w32 1 2$"), "T0:4: a ')' is missing"),
        (write("$(Add w32 1$"), "T0:4: the expression ends too early in (Add …)"),
        (write("$(Add w32 1 (Pow 2 3))$"), "T0:4: 'Pow' is no operator of KQuery"),
        (write("$(Add w99 1 2)$"), "T0:4: a width of 99 bits, where 1 to 64 are known"),
        (write("$(ZExt 1)$"), "T0:4: a width such as w32 is missing in (ZExt …)"),
        (write("$(Add w32 1 x)$"), "T0:4: a number or an expression expected instead of 'x'"),
        (write("$(ReadLSB w32 0 q)$"), "T0:4: no thread makes the read R-q in (ReadLSB …)"),
        (write("$(ReadLSB w32 y x_1-0-0)$"), "T0:4: an offset expected instead of 'y'"),
        (write("$(ReadLSB w32 9 x_1-0-0)$"), "T0:4: bits 72 and 32 more are beyond the 64"),
        (write("$(Read w8 0 [1=2] @ x_1-0-0)$"), "T0:4: the name of a read expected"),
        (write("$(Concat w16 1 2)$"), "T0:4: the width of a part is not known in (Concat …)"),
        (
            write(&format!("${}1{}$", "(".repeat(2000), ")".repeat(2000))),
            "T0:4: the expression is nested",
        ),
        (write(&format!("${}1$", "-".repeat(2000))), "T0:4: the expression is nested deeper"),
        (
            write(&format!("${}1{}$", "(Neg w32 ".repeat(100_000), ")".repeat(100_000))),
            "T0:4: the expression is nested deeper than 1000 levels",
        ),
        ("<path>\nT0:(R-x_1-0-0 == 1)".to_owned(), "T0:4: 'R-x_1-0-0' is no operator of KQuery"),
        ("<path>\n(Eq 1 1)".to_owned(), "T0:4: '(Eq 1 1)' is no condition: T0:(…) expected"),
        (write("$CONST_x + 1$"), "T0:4: '+' of a string, which has only == and !="),
        (write("$!\"x\"$"), "T0:4: '!' of a string, which has only == and !="),
        (write("$x_1-0-7$"), "T0:4: no thread makes the read R-x_1-0-7"),
        ("<path>\nT5:(Eq 1 1)".to_owned(), "T0:4: a condition of thread 5 in the file of thread 0"),
        ("<path>\nT0:(Eq 1 2)".to_owned(), "T0:4: this condition can never hold"),
    ];
    for (lines, expected) in cases {
        let message = complaint(&lines);
        let short: String = lines.chars().take(60).collect();
        assert!(message.starts_with(expected), "{short:?} gives: {message}");
    }
    // As deep as it may be.
    let deep = format!("{}1{}", "(Add w32 1 ".repeat(990), ")".repeat(990));
    assert_eq!(value(&deep, 0, 0), 991);
}

#[test]
fn what_is_wrong_with_a_folder_is_said() {
    let ok = "a@1:R-x_1-0-0\n<pathjpf>\nT0:(R-x_1-0-0 == 1)\n";
    let failing = format!("<assertThread_fail>\n{ok}");
    let child = "<assertThread_ok>\na@1:R-x_1-1-0\n<pathjpf>\nT1:(R-x_1-1-0 == 1)\n";
    let cases: [(&[(&str, &str)], &str); 7] = [
        (&[("a.txt", "")], "there are no files T0, T1, … of a Symbiosis trace here"),
        (&[("T1", child)], "there is no T0, the main thread"),
        (&[("T0", ok)], "no thread is marked with <assertThread_fail> or <assertThread_ok>"),
        (&[("T0", &failing), ("T1", child)], "T0 and T1 are both marked with an assertion"),
        (&[("T0", "<assertThread_fail>\na@1:R-x_1-0-0\n")], "T0:2: the thread with the assertion"),
        (
            &[("T0", &failing), ("T1", "a@1:S-fork_2-1\n"), ("T2", "a@1:S-fork_1-2\n")],
            "T1 is forked only by threads that it forks",
        ),
        (&[("T0", &failing), ("T0_", &failing)], "are one path"),
    ];
    for (files, expected) in cases {
        let folder = folder(files);
        let message = import(folder.path(), &Options::default()).expect_err(expected).to_string();
        assert!(message.contains(expected), "'{expected}' is not in: {message}");
        assert!(message.contains(&folder.path().display().to_string()), "{message}");
    }
    let folder = folder(&[]);
    std::fs::write(folder.path().join("T0"), b"a@1:S-start-0\n\xff\xfe\n").expect("writes");
    let error = import(folder.path(), &Options::default()).expect_err("is not text");
    assert_eq!(located(error, folder.path()), "T0:2: this is not text");
    let nowhere = folder.path().join("nowhere");
    let error = import(&nowhere, &Options::default()).expect_err("is not there");
    let expected = format!("cannot read {}: ", nowhere.display());
    assert!(error.to_string().starts_with(&expected), "{error}");
}

/// Damaged traces give an error or a valid trace, never a panic.
#[test]
fn damage_is_survived() {
    let mut rng = Rng::new(7);
    let mut accepted = 0;
    for _ in 0..400 {
        let mut files: Vec<(&str, Vec<u8>)> =
            ALL.iter().map(|(name, text)| (*name, text.as_bytes().to_vec())).collect();
        let which = rng.below(3) as usize;
        let bytes = &mut files[which].1;
        for _ in 0..1 + rng.below(3) {
            let at = rng.below(bytes.len() as u32) as usize;
            match rng.below(3) {
                0 => bytes[at] = *rng.pick(b"-_:@$()0123456789TSRWN \n<>"),
                1 => drop(bytes.drain(at..(at + 1 + rng.below(6) as usize).min(bytes.len()))),
                _ => bytes.insert(at, *rng.pick(b"-_:@$()019TSRW \n<>!+")),
            }
        }
        let folder = tempfile::tempdir().expect("temporary directory");
        for (name, bytes) in &files {
            std::fs::write(folder.path().join(name), bytes).expect("writes");
        }
        if let Ok(imported) = import(folder.path(), &Options::default()) {
            assert_eq!(imported.file.validate(), Ok(()));
            accepted += 1;
        }
    }
    assert!(accepted > 20, "only {accepted} of 400 were accepted");
}
