//! Questions about statements, declarations at the top of a file, and statements moved about.

use unravel_repair::source::{ExitKind, Operation, Patch, PatchError, Position, Region, Source};

fn parse(path: &str, text: &str) -> Source {
    Source::parse(path, text.to_owned()).expect("the sample parses")
}

fn place(source: &Source, snippet: &str) -> Position {
    source.position_of(
        source.text().find(snippet).unwrap_or_else(|| panic!("{snippet:?} is in the sample")),
    )
}

fn region(source: &Source, snippet: &str) -> Region {
    source.region(&[place(source, snippet)]).expect("the snippet is a statement")
}

/// The text after declaring a mutex for the first function's use, and including its header.
fn declared(path: &str, text: &str, used_at: &str) -> String {
    let source = parse(path, text);
    let mut patch = Patch::new(&source);
    patch.declare(
        "static pthread_mutex_t pair_lock;",
        text.find(used_at).expect("it is in the sample"),
    );
    patch.include("<pthread.h>");
    patch.apply().expect("the edits do not overlap")
}

#[test]
fn declarations_come_after_the_globals_and_before_the_first_function() {
    let before = "#include <stdio.h>\n#include \"a.h\"\n\ntypedef int word;\nword x;\n/* Sets it. */\nvoid f(void) { x = 1; }\nvoid g(void) { x = 2; }\n";
    let after = "#include <stdio.h>\n#include <pthread.h>\n#include \"a.h\"\n\ntypedef int word;\nword x;\n\nstatic pthread_mutex_t pair_lock;\n\n/* Sets it. */\nvoid f(void) { x = 1; }\nvoid g(void) { x = 2; }\n";
    assert_eq!(declared("a.c", before, "x = 2"), after);
}

#[test]
fn declarations_join_the_mutexes_that_are_there() {
    let before = "#include <pthread.h>\n\nstatic pthread_mutex_t a; // first\nint x;\n\nvoid f(void) { x = 1; }\n";
    let after = "#include <pthread.h>\n\nstatic pthread_mutex_t a; // first\nstatic pthread_mutex_t pair_lock;\nint x;\n\nvoid f(void) { x = 1; }\n";
    assert_eq!(declared("a.c", before, "x = 1"), after);
}

#[test]
fn declarations_come_after_a_late_include_and_stay_out_of_conditions() {
    let before = "void stop(void) { abort(); }\n#include <pthread.h>\nint x;\n\n#ifdef SLOW\nvoid f(void) { x = 1; }\n#endif\n";
    let after = "void stop(void) { abort(); }\n#include <pthread.h>\nint x;\n\nstatic pthread_mutex_t pair_lock;\n\n#ifdef SLOW\nvoid f(void) { x = 1; }\n#endif\n";
    assert_eq!(declared("a.c", before, "x = 1"), after);
}

#[test]
fn a_header_is_the_inside_of_its_guard() {
    let before =
        "#ifndef A_H\n#define A_H\nint x;\nstatic inline void f(void) { x = 1; }\n#endif\n";
    let after = "#ifndef A_H\n#define A_H\n\n#include <pthread.h>\n\nint x;\n\nstatic pthread_mutex_t pair_lock;\n\nstatic inline void f(void) { x = 1; }\n#endif\n";
    assert_eq!(declared("a.h", before, "x = 1"), after);
}

#[test]
fn a_file_without_includes_gets_one_below_its_opening_comment() {
    let before = "/* A program. */\n\nint x;\n\nvoid f(void) { x = 1; }\n";
    let after = "/* A program. */\n\n#include <pthread.h>\n\nint x;\n\nstatic pthread_mutex_t pair_lock;\n\nvoid f(void) { x = 1; }\n";
    assert_eq!(declared("a.c", before, "x = 1"), after);
    let bare = "void f(void) { x(); }";
    assert_eq!(
        declared("a.c", bare, "x()"),
        "#include <pthread.h>\n\nstatic pthread_mutex_t pair_lock;\n\nvoid f(void) { x(); }"
    );
}

#[test]
fn statements_move_and_go() {
    let text = "void f(void) {\n    a();\n    b(); // why\n    if (x)\n        c();\n    d(); e();\n    return;\n}\n";
    let source = parse("a.c", text);
    let bytes = |snippet: &str| region(&source, snippet).bytes;
    let edited = |edit: &dyn Fn(&mut Patch)| {
        let mut patch = Patch::new(&source);
        edit(&mut patch);
        patch.apply().expect("the edits do not overlap")
    };
    assert_eq!(
        edited(&|patch| patch.remove_statement(bytes("b()"))),
        text.replace("    b(); // why\n", "")
    );
    assert_eq!(
        edited(&|patch| patch.remove_statement(bytes("c()"))),
        text.replace("    if (x)\n        c();\n", "")
    );
    assert_eq!(
        edited(&|patch| patch.remove_statement(bytes("d()"))),
        text.replace("d(); e();", "e();")
    );
    assert_eq!(
        edited(&|patch| patch.remove_statement(bytes("e()"))),
        text.replace("d(); e();", "d();")
    );
    assert_eq!(
        edited(&|patch| patch.swap(bytes("a()"), bytes("c()"))),
        text.replace("a();", "?").replace("c();", "a();").replace('?', "c();")
    );
    let moved = edited(&|patch| {
        patch.move_before(bytes("b()"), &region(&source, "a()")).expect("it parses")
    });
    assert_eq!(
        moved,
        text.replace("    b(); // why\n", "").replace("    a();", "    b();\n    a();")
    );
    let mut patch = Patch::new(&source);
    assert_eq!(
        patch.after(&region(&source, "return"), "z();"),
        Err(PatchError::AfterJump { line: 7 })
    );
    assert_eq!(patch.after(&region(&source, "d()"), "z();"), Ok(()));
    assert_eq!(patch.apply(), Ok(text.replace("d(); e();", "d();\n    z();\n    e();")));
    patch.replace(bytes("a()"), "one();");
    patch.replace(bytes("a()"), "two();");
    assert_eq!(patch.apply(), Err(PatchError::Overlap { line: 2 }));
}

#[test]
fn regions_widen_to_the_whole_body_and_meet() {
    let text = "void f(void) {\n    if (a) {\n        b();\n        c();\n    }\n    for (;;)\n        d();\n    e();\n}\n";
    let source = parse("a.c", text);
    let lines = |region: &Region| (region.first_line, region.last_line, region.statements);
    let inner = region(&source, "b()");
    let statement = source.wider(&inner).expect("the if is wider");
    let body = source.wider(&statement).expect("the body is wider");
    assert_eq!([lines(&inner), lines(&statement), lines(&body)], [(3, 3, 1), (2, 5, 1), (2, 8, 3)]);
    assert_eq!(source.wider(&body), None);
    assert!(region(&source, "d()").unbraced);
    let both = source.extend_to(&inner, &region(&source, "d()")).expect("one function");
    assert_eq!(lines(&both), (2, 7, 2));
    assert_eq!(source.whole_body(Position { line: 4, column: 0 }), Some(body));
    assert_eq!(
        source.span(&inner),
        (Position { line: 3, column: 9 }, Position { line: 3, column: 13 })
    );
}

#[test]
fn calls_locks_exits_and_names_are_found() {
    let text = "int Queue::f(int n) {\n    std::lock_guard<std::mutex> guard(q->mutex);\n    std::scoped_lock both{a, b};\n    std::unique_lock<std::mutex> late(m, std::defer_lock);\n    (void)pthread_mutex_lock(&c);\n    int k = g(h(n), 2), l;\n    if (k) return k;\n    return l;\n}\n";
    let source = parse("a.cpp", text);
    let function = source.function_at(place(&source, "int k")).expect("it is in a function");
    assert_eq!((function.name.as_str(), function.return_type.as_str()), ("Queue::f", "int"));
    let locks = source.scoped_locks(function.body.clone());
    let found: Vec<_> = locks
        .iter()
        .map(|lock| (lock.name.as_str(), lock.mutexes.join("+"), lock.tag.as_deref()))
        .collect();
    assert_eq!(
        found,
        [
            ("guard", "q->mutex".into(), None),
            ("both", "a+b".into(), None),
            ("late", "m".into(), Some("std::defer_lock"))
        ]
    );
    assert_eq!(locks[0].lives_to, function.body.end);
    let calls = source.calls(function.body.clone());
    let found: Vec<_> = calls
        .iter()
        .map(|call| (call.name.as_str(), call.arguments.join("+"), call.statement.is_some()))
        .collect();
    assert_eq!(
        found,
        [
            ("pthread_mutex_lock", "&c".into(), true),
            ("g", "h(n)+2".into(), false),
            ("h", "n".into(), false)
        ]
    );
    let declaration = region(&source, "int k");
    let names: Vec<_> = source
        .declared_in(&declaration)
        .into_iter()
        .map(|declared| (declared.name, declared.used_after))
        .collect();
    assert_eq!(names, [("k".to_owned(), true), ("l".to_owned(), true)]);
    let exits = source.exits(&region(&source, "if (k)"));
    let values: Vec<_> = exits.into_iter().map(|exit| exit.kind).collect();
    let k = text.find("k;").expect("the value");
    assert_eq!(values, [ExitKind::Return { value: Some(k..k + 1) }]);
    assert_eq!(
        (source.fresh_name("guard"), source.fresh_name("pair_lock")),
        ("guard_2".to_owned(), "pair_lock".to_owned())
    );
}

#[test]
fn updates_are_recognised_however_they_are_written() {
    let cases = [
        ("x++;", Some(("x", Operation::Add, "1"))),
        ("--s->n;", Some(("s->n", Operation::Subtract, "1"))),
        ("a[i] += k;", Some(("a[i]", Operation::Add, "k"))),
        ("x = x + 2;", Some(("x", Operation::Add, "2"))),
        ("x = k + x;", Some(("x", Operation::Add, "k"))),
        ("x = x + k + 1;", Some(("x", Operation::Add, "k + 1"))),
        ("x = x - k;", Some(("x", Operation::Subtract, "k"))),
        ("x |= MASK;", Some(("x", Operation::Or, "MASK"))),
        ("if (k) x ^= 1;", Some(("x", Operation::Xor, "1"))),
        ("x = k - x;", None),
        ("x = x * 2;", None),
        ("x += g();", None),
        ("x += x;", None),
        ("a[i++] += 1;", None),
        ("ratio += k;", None),
        ("next++;", None),
        ("x += 0.5;", None),
        ("x = 1;", None),
    ];
    for (statement, expected) in cases {
        let text =
            format!("int x; double ratio; char *next;\nvoid f(int k) {{\n    {statement}\n}}\n");
        let update = parse("a.c", &text).update_at(Position { line: 3, column: 0 });
        let found = update
            .as_ref()
            .map(|update| (update.target.as_str(), update.operation, update.operand.as_str()));
        assert_eq!(found, expected, "{statement}");
    }
}

#[test]
fn a_question_goes_with_the_only_answer_to_it_unless_asking_does_something() {
    let without = |text: &str| {
        let source = parse("a.c", text);
        let mut patch = Patch::new(&source);
        patch.remove_statement(region(&source, "c()").bytes);
        patch.apply().expect("one edit")
    };
    let all = |statement: &str| format!("void f(void) {{\n    a();\n    {statement}\n}}\n");
    for gone in ["if (n == 1) c();", "if (p->q.n[1] && !x) c();", "if (x) { if (y) c(); }"] {
        let left = without(&all(gone));
        assert!(!left.contains("c()") && !left.contains("{}"), "{left}");
    }
    for asked in ["if (next()) c();", "if (n++) c();", "if (n = 1) c();", "while (n) c();"] {
        assert_eq!(without(&all(asked)), all(&asked.replace("c();", "{}")));
    }
    let other = all("if (x) c(); else b();");
    assert_eq!(without(&other), other.replace("c();", "{}"));
}

#[test]
fn statements_that_share_a_line_go_away_one_by_one() {
    let text = "void f(void) { lock(); n++; unlock();\n\ttotal++;\n}\n";
    let source = parse("a.c", text);
    let mut patch = Patch::new(&source);
    let statement = |part: &str| {
        let at = text.find(part).expect("a part of the sample");
        at..at + part.len()
    };
    let at = |part: &str| source.position_of(statement(part).start);
    let region = source.region(&[at("n++"), at("total++")]).expect("one block");
    patch.remove_statement(statement("lock();"));
    patch.remove_statement(statement("unlock();"));
    patch.before(&region, "lock();").expect("room");
    patch.after(&region, "unlock();").expect("room");
    let now = patch.apply().expect("edits that fit together");
    assert_eq!(now, "void f(void) {\n\tlock();\n\tn++;\n\ttotal++;\n\tunlock();\n}\n");
}

#[test]
fn a_file_that_was_preprocessed_needs_no_header() {
    let text = "typedef union { int n; } pthread_mutex_t;\n\nvoid f(void) {\n    a();\n}\n";
    let source = parse("a.c", text);
    assert!(source.has_pthread_text());
    let mut patch = Patch::new(&source);
    patch.include("<pthread.h>");
    assert_eq!(patch.apply().as_deref(), Ok(text));
}
