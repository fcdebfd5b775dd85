//! Folders of Cortex: several executions, subfolders, numbers with dots, branches, strings; and folders that are damaged.

use std::path::Path;

use unravel_files::import::symbiosis::{ImportError, Imported, Options, import};
use unravel_files::validate_thread;
use unravel_trace::*;

/// A folder with these files; `more/T1_2_3` lies in a subfolder.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("temporary directory");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("is in a folder")).expect("a subfolder");
        std::fs::write(path, text).expect("writes");
    }
    folder
}

fn read(files: &[(&str, &str)], options: &Options) -> Result<Imported, ImportError> {
    let folder = folder(files);
    import(folder.path(), options).inspect(check)
}

/// Whatever comes out is valid, and its parts fit together.
fn check(imported: &Imported) {
    assert_eq!(imported.file.validate(), Ok(()));
    for execution in &imported.executions {
        for part in &execution.parts {
            assert_eq!(validate_thread(part), Ok(()), "{}", execution.from);
        }
    }
}

fn ok(files: &[(&str, &str)]) -> Imported {
    read(files, &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn notes(imported: &Imported) -> Vec<String> {
    let text = |note: &Note| match note {
        Note::Other(text) => text.clone(),
        note => panic!("{note:?} is nothing that an importer says"),
    };
    imported.file.run.notes.iter().map(text).collect()
}

/// The main thread forks thread 1, which forks 1.1 on one of its two paths.
fn main(mark: &str, held: &str) -> String {
    format!(
        "{mark}
a.java@1:W-x_7-0-1
$0$
a.java@2:S-fork_1-0
a.java@3:S-join_1-0
a.java@4:R-x_7-0-1
branch-0
<pathjpf>
T0:(R-x_7-0-1 {held} CONST_0)
pathid-11
"
    )
}

const FORKS: &str = "b.java@1:R-x_7-1-1
branch-1
b.java@2:S-fork_1.1-1
b.java@3:S-join_1.1-1
<pathjpf>
T1:(R-x_7-1-1 == CONST_0)
pathid-11
";
const STAYS: &str = "b.java@1:R-x_7-1-1
branch-1
b.java@5:W-x_7-1-1
$(R-x_7-1-1 + CONST_1)$
<pathjpf>
T1:(R-x_7-1-1 != CONST_0)
pathid-10
";
const CHILD: &str =
    "c.java@1:S-start-1.1\nc.java@2:R-x_7-1.1-1\nc.java@3:W-x_7-1.1-1\n$(R-x_7-1.1-1 + CONST_1)$\n";

#[test]
fn threads_with_dots_are_children_of_children() {
    let imported =
        ok(&[("T0", &main("<assertThread_fail>", "!=")), ("T1", FORKS), ("T1.1", CHILD)]);
    let trace = &imported.file.run.trace;
    let names: Vec<String> = trace.threads.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["T0", "T0.1", "T0.1.1"]);
    assert!(
        notes(&imported).is_empty(),
        "the names say what the numbers say: {:?}",
        notes(&imported)
    );
    assert!(imported.executions.is_empty(), "there is nothing to combine");
    let forks: Vec<_> =
        trace.events.iter().filter(|e| matches!(e.kind, EventKind::Fork { .. })).collect();
    assert_eq!(forks.len(), 2);
    assert_eq!(trace.events.iter().filter(|e| e.thread == ThreadId(2)).count(), 4);
}

#[test]
fn all_executions_are_kept_and_one_is_read() {
    let (held, failed) = (main("<assertThread_ok>", "=="), main("<assertThread_fail>", "!="));
    let files = [
        ("T0_-20_5", held.as_str()),
        ("T1_-20_-6", STAYS),
        ("T0_3_5", failed.as_str()),
        ("T1_3_7", FORKS),
        ("T1.1_3_8", CHILD),
        ("more/T1_3_9", STAYS),
    ];
    let imported = ok(&files);
    // The one that failed, though another is lower.
    assert_eq!(imported.file.run.trace.threads.len(), 3);
    assert!(
        notes(&imported).contains(&"there are 2 executions; 3 was read".to_owned()),
        "{:?}",
        notes(&imported)
    );
    let of: Vec<(usize, &str)> =
        imported.executions.iter().map(|e| (e.parts.len(), e.from.as_str())).collect();
    let expected = [(3, "the execution read"), (2, "execution -20"), (1, "T1_3_9 by itself")];
    assert_eq!(of, expected);
    // The same path is the same part, in whichever execution; the one with the child is another.
    let part = |execution: usize, thread: usize| &imported.executions[execution].parts[thread];
    assert_eq!(part(1, 1), part(2, 0));
    assert_ne!(part(0, 1).path, part(1, 1).path);
    assert_eq!((&part(0, 1).path[..], &part(1, 1).path[..]), (&[1][..], &[0][..]));
    // The assertion holds in both, whether it failed there or not.
    let assertion = |execution: usize| {
        let symbolic = &part(execution, 0).symbolic;
        let mut fails = symbolic.conditions.iter().filter(|c| c.otherwise == Otherwise::Fails);
        let (only, none) = (fails.next().expect("an assertion"), fails.next());
        assert!(none.is_none());
        [0, 1].map(|x| symbolic.exprs.evaluate(only.holds, &|_| x))
    };
    assert_eq!((assertion(0), assertion(1)), ([1, 0], [1, 0]));
    // They can be put together.
    let parts = [part(1, 0), part(0, 1), part(0, 2)];
    let combined = combine(&parts, &[]).expect("they fit");
    assert_eq!(combined.trace.threads.len(), 3);

    let chosen = |execution: &str| {
        read(&files, &Options { execution: Some(execution.to_owned()), ..Options::default() })
    };
    let other = chosen("-20").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(other.file.run.trace.threads.len(), 2);
    assert_ne!(other.file.program.fingerprint, imported.file.program.fingerprint);
    let error = chosen("4").expect_err("there is none").to_string();
    assert!(error.ends_with("there is no execution 4; there are -20, 3"), "{error}");
}

#[test]
fn a_condition_is_decided_where_its_branch_is() {
    let text = |branch: &str| {
        format!(
            "<assertThread_ok>\na@1:R-x_1-0-1\na@2:W-y_2-0-1\n$1$\n{branch}a@3:W-y_2-0-2\n$2$\na@4:R-z_3-0-1\n{branch}a@5:W-y_2-0-3\n$3$\n<pathjpf>
T0:(R-x_1-0-1 == 1)\nT0:(R-z_3-0-1 == 1)\n"
        )
    };
    let places = |branch: &str| {
        let imported = ok(&[("T0", &text(branch))]);
        let symbolic = imported.file.run.symbolic.as_deref().expect("is symbolic").clone();
        let Bug::Condition { after, .. } = symbolic.bug else { panic!("{:?}", symbolic.bug) };
        (symbolic.conditions[0].after, after)
    };
    // After the read, counted from the start of the thread; with a branch, after what comes before that.
    assert_eq!(places(""), (1, 4));
    assert_eq!(places("branch-0\n"), (2, 4));
    let imported = ok(&[("T0", &text("branch-7\n"))]);
    assert!(
        notes(&imported)[0].starts_with("T0: 2 lines passed over, not understood (first: 5)"),
        "{:?}",
        notes(&imported)
    );
}

#[test]
fn strings_are_equal_or_not() {
    let text = |value: &str, condition: &str| {
        format!(
            "<assertThread_fail>\na@1:W-this$0_1-0-1\n${value}$\na@2:R-this$0_1-0-1\na@3:W-y_2-0-1\n$R-this$0_1-0-1$\n<pathjpf>
T0:(R-this$0_1-0-1 {condition})\n"
        )
    };
    let fails = |value: &str, condition: &str| {
        let imported = ok(&[("T0", &text(value, condition))]);
        assert_eq!(imported.file.run.trace.locations[0].name, "this$0");
        let symbolic = imported.file.run.symbolic.as_deref().expect("is symbolic").clone();
        let stored = symbolic.exprs.as_const(symbolic.accesses[0].value).expect("a constant");
        let Bug::Condition { fails, .. } = symbolic.bug else { panic!("{:?}", symbolic.bug) };
        symbolic.exprs.evaluate(fails, &|_| stored) == 1
    };
    for same in
        ["== CONST_Sold", "== \"Sold\"", "== Sold", "!= CONST_Free", "!= CONST_0", "!= null"]
    {
        assert!(fails("Sold", same), "{same}");
        assert!(fails("\"Sold\"", same), "{same}");
    }
    assert!(!fails("Sold", "== CONST_sold") && !fails("Sold", "== CONST_7"));
    assert!(fails("two words", "== \"two words\""));
    let imported = ok(&[("T0", &text("Sold", "== CONST_Free"))]);
    let said = notes(&imported).join("\n");
    assert!(said.starts_with("strings are numbered: \"Sold\" is "), "{said}");
    let wrong = read(&[("T0", &text("Sold", "< CONST_Sold"))], &Options::default());
    let wrong = wrong.expect_err("has no order").to_string();
    assert!(wrong.ends_with("'<' of a string, which has only == and !="), "{wrong}");
}

#[test]
fn lines_that_nobody_knows_are_counted() {
    let text = "<assertThread_fail>
hello
a.c@2:Q-lock_1-0
a.c@1:R-x_1-0-0
<middle>
pathid-2
<pathjpf>
what is this
T0:(R-x_1-0-0
 == 1)
the end
";
    let imported = ok(&[("T0", text)]);
    assert_eq!(notes(&imported), ["T0: 6 lines passed over, not understood (first: 2)"]);
    assert_eq!(imported.file.run.trace.events.len(), 2);
}

#[test]
fn where_nobody_is_marked_the_failing_thread_is_named() {
    let plain = main("", "!=");
    let files = [("T0", plain.as_str()), ("T1", STAYS)];
    let message = read(&files, &Options::default()).expect_err("who fails?").to_string();
    assert!(message.contains("--failing"), "{message}");
    let failing = |thread: &str, files: &[(&str, &str)]| {
        let failing = Some(thread.parse().expect("a thread"));
        read(files, &Options { failing, ..Options::default() })
    };
    let thread = |imported: Result<Imported, ImportError>| {
        let imported = imported.unwrap_or_else(|e| panic!("{e}"));
        match imported.file.run.symbolic.as_deref().expect("is symbolic").bug {
            Bug::Condition { thread, .. } => thread.0,
            ref other => panic!("{other:?}"),
        }
    };
    assert_eq!(thread(failing("0", &files)), 0);
    assert_eq!(thread(failing("T1", &files)), 1);
    let error = failing("5", &files).expect_err("no such thread").to_string();
    assert!(error.ends_with("there is no thread 5 in this execution to fail"), "{error}");
    // Where two are marked, it says which is meant.
    let (marked, other) =
        (main("<assertThread_ok>", "=="), format!("<assertThread_fail>\n{STAYS}"));
    let both = [("T0", marked.as_str()), ("T1", other.as_str())];
    assert!(read(&both, &Options::default()).is_err());
    assert_eq!((thread(failing("0", &both)), thread(failing("1", &both))), (0, 1));
    // An execution without a mark ends as one with a mark does.
    let executions = [
        ("T0_1_0", plain.as_str()),
        ("T1_1_0", STAYS),
        ("T0_2_0", &main("<assertThread_fail>", "!=")),
        ("T1_2_0", FORKS),
        ("T1.1_2_0", CHILD),
    ];
    let first = Options { execution: Some("1".into()), ..Options::default() };
    assert_eq!(thread(read(&executions, &first)), 0);
}

#[test]
fn what_is_wrong_with_other_executions_costs_only_those() {
    let failed = main("<assertThread_fail>", "!=");
    let bad = "b.java@1:S-grab_1-1\n";
    let twice = "b.java@1:S-fork_2-1\nb.java@1:S-fork_2-1\n";
    let imported = ok(&[
        ("T0_1_0", &failed),
        ("T1_1_0", STAYS),
        ("more/T1_1_1", bad),
        ("more/T1_1_2", twice),
        ("more/T1_1_3", FORKS),
        ("T0_2_0", &main("", "==")),
        ("T1_2_0", "b.java@1:S-join_9-1\n"),
    ]);
    let said = notes(&imported).join("\n");
    for expected in [
        "1 file of other paths left out: ",
        "'S-grab_1-1' is no event of this format",
        "2 traces of other paths left out: ",
    ] {
        assert!(said.contains(expected), "'{expected}' is not in:\n{said}");
    }
    let from: Vec<_> = imported.executions.iter().map(|e| e.from.as_str()).collect();
    assert_eq!(from, ["the execution read", "T1_1_3 by itself"]);
    // Nobody knows what thread 1 does in an execution that lacks its file: not that it does nothing.
    let imported = ok(&[("T0_1_0", &failed), ("T1_1_0", STAYS), ("T0_2_0", &main("", "=="))]);
    let from: Vec<_> = imported.executions.iter().map(|e| e.from.as_str()).collect();
    assert_eq!(from, ["the execution read", "T0_2_0 by itself"]);
    // Even of the one that is read, which is taken if no other is whole.
    let imported = ok(&[("T0_1_0", &failed), ("more/T1_1_0", STAYS)]);
    assert_eq!(imported.file.run.trace.threads.len(), 2);
    assert_eq!(imported.executions[0].parts.len(), 1, "what T1 does is recorded, if not here");
    let whole =
        ok(&[("T0_1_0", &failed), ("T0_2_0", &main("<assertThread_ok>", "==")), ("T1_2_0", STAYS)]);
    assert!(notes(&whole).contains(&"there are 2 executions; 2 was read".to_owned()));
    // A part that depends on another thread means nothing by itself.
    let borrowed = "b.java@1:R-x_7-1-1\n<pathjpf>\nT1:(R-x_7-0-1 == CONST_0)\n";
    let imported = ok(&[("T0", &failed), ("T1_0", borrowed), ("T1_1", STAYS)]);
    let said = notes(&imported).join("\n");
    assert!(
        said.contains("1 trace left out of combinations: T0.1 depends on what T0 read"),
        "{said}"
    );
}

/// Damaged folders give an error or valid traces, never a panic.
#[test]
fn damage_is_survived() {
    let (held, failed) = (main("<assertThread_ok>", "=="), main("<assertThread_fail>", "!="));
    let files = [
        ("T0_-20_5", held.as_str()),
        ("T1_-20_-6", STAYS),
        ("T0_3_5", failed.as_str()),
        ("T1_3_7", FORKS),
        ("T1.1_3_8", CHILD),
        ("more/T1_3_9", STAYS),
        ("more/T1.1_3_10", CHILD),
    ];
    let mut rng = Rng::new(11);
    let (mut accepted, mut combined) = (0, 0);
    for round in 0..400 {
        let mut damaged: Vec<(String, Vec<u8>)> = files
            .iter()
            .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
            .collect();
        for _ in 0..1 + rng.below(3) {
            let which = rng.below(damaged.len() as u32) as usize;
            let (name, bytes) = &mut damaged[which];
            let at = rng.below(bytes.len() as u32 + 1) as usize;
            match rng.below(6) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, *rng.pick(b"-_:@$().019TSRW \n<>!+\"\xff")),
                2 => drop(bytes.drain(at..(at + 9).min(bytes.len()))),
                3 => bytes.rotate_left(at),
                4 => {
                    let other = *rng.pick(&["7", "1.1", "0", "", "-2"]);
                    *name = name.replacen(['1', '3', '0'], other, 1);
                }
                _ => {
                    let text = String::from_utf8_lossy(bytes).into_owned();
                    let (from, to) = *rng.pick(&[
                        ("1.1", "1"),
                        ("fork", "join"),
                        ("-1", "-1.1"),
                        ("0", "99999999999"),
                    ]);
                    *bytes = text.replacen(from, to, 1).into_bytes();
                }
            }
        }
        let folder = tempfile::tempdir().expect("temporary directory");
        for (name, bytes) in &damaged {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).expect("a subfolder");
            std::fs::write(path, bytes).expect("writes");
        }
        let options = match round % 3 {
            0 => Options::default(),
            1 => Options { failing: "1".parse().ok(), ..Options::default() },
            _ => Options { execution: Some("3".into()), ..Options::default() },
        };
        if let Ok(imported) = import(folder.path(), &options) {
            check(&imported);
            accepted += 1;
            for execution in &imported.executions {
                let parts: Vec<&ThreadTrace> = execution.parts.iter().collect();
                combined += u32::from(combine(&parts, &execution.turns).is_ok());
            }
        }
    }
    assert!(accepted > 200 && combined > 200, "{accepted} {combined} of 400");
}
