//! Regions in which a lock of the program is held throughout, as a programmer would have written it.

use unravel_repair::locks::{HoldError, Lock, Taking, hold, operations};
use unravel_repair::source::{Patch, Region, Source};

fn parse(path: &str, text: &str) -> Source {
    Source::parse(path, text.to_owned()).expect("the sample parses")
}

fn region(source: &Source, snippets: &[&str]) -> Region {
    let place = |snippet: &&str| {
        let at = source.text().find(snippet);
        source.position_of(at.unwrap_or_else(|| panic!("{snippet:?} is in the sample")))
    };
    let places: Vec<_> = snippets.iter().map(place).collect();
    source.region(&places).expect("the snippets are statements of one function")
}

fn held(path: &str, text: &str, snippets: &[&str], lock: &Lock) -> Result<String, HoldError> {
    let source = parse(path, text);
    let region = region(&source, snippets);
    let known = operations(&source, &region);
    let own = known.into_iter().find(|operation| operation.lock.text == lock.text);
    let mut patch = Patch::new(&source);
    hold(&mut patch, &source, &region, &own.map_or_else(|| lock.clone(), |own| own.lock))?;
    Ok(patch.apply()?)
}

fn pthread(text: &str) -> Lock {
    let taking = Taking::Statements {
        lock: format!("pthread_mutex_lock({text});"),
        unlock: format!("pthread_mutex_unlock({text});"),
    };
    Lock { text: text.to_owned(), taking }
}

fn std_mutex(text: &str) -> Lock {
    let taking = Taking::Scoped { class: "std::unique_lock<std::mutex>".to_owned() };
    Lock { text: text.to_owned(), taking }
}

/// The statements as the body of a function, with `L(m)` for a lock and `U(m)` for an unlock.
fn c(lines: &[&str]) -> String {
    let body: String = lines.iter().map(|line| format!("\t{line}\n")).collect();
    let body = body.replace("L(", "pthread_mutex_lock(&").replace("U(", "pthread_mutex_unlock(&");
    format!("int f(void)\n{{\n{body}}}\n")
}

#[track_caller]
fn expect(before: &[&str], snippets: &[&str], after: &[&str]) {
    assert_eq!(held("a.c", &c(before), snippets, &pthread("&m")).as_deref(), Ok(c(after).as_str()));
}

#[track_caller]
fn expect_cpp(before: &str, snippets: &[&str], after: &str) {
    assert_eq!(held("a.cpp", before, snippets, &std_mutex("m")).as_deref(), Ok(after));
}

#[test]
fn two_sections_become_one() {
    let before = ["L(m);", "t = x;", "U(m);", "t++;", "L(m);", "x = t;", "U(m);", "return 0;"];
    let after = ["L(m);", "t = x;", "t++;", "x = t;", "U(m);", "return 0;"];
    expect(&before, &["t = x", "x = t"], &after);
}

#[test]
fn what_is_held_throughout_stays_as_it_is() {
    let before = ["L(m);", "t = x;", "x = t + 1;", "U(m);", "return 0;"];
    expect(&before, &["t = x", "x = t"], &before);
    // A way out that gives the lock back changes nothing.
    let before = [
        "L(m);",
        "t = x;",
        "if (t) {",
        "\tU(m);",
        "\treturn 1;",
        "}",
        "x = 1;",
        "U(m);",
        "return 0;",
    ];
    expect(&before, &["t = x", "x = 1"], &before);
}

#[test]
fn an_unlocked_check_comes_under_the_lock() {
    let before = ["if (!done) {", "\tL(m);", "\tdone = 1;", "\tU(m);", "}", "return 0;"];
    let after = ["L(m);", "if (!done) {", "\tdone = 1;", "}", "U(m);", "return 0;"];
    expect(&before, &["!done"], &after);
}

#[test]
fn a_wait_whose_test_comes_under_the_lock_tests_again() {
    let wait = "pthread_cond_wait(&c, &m);";
    let before = ["if (!done) {", "\tL(m);", "\twait;", "\tU(m);", "}", "return 0;"];
    let after = ["L(m);", "while (!done) {", "\twait;", "}", "U(m);", "return 0;"];
    let (before, after) = (c(&before).replace("wait;", wait), c(&after).replace("wait;", wait));
    assert_eq!(held("a.c", &before, &["!done"], &pthread("&m")), Ok(after));
    // What else it decides on is not to be done twice.
    let before =
        c(&["if (!done) {", "\tL(m);", "\twaits++;", "\twait;", "\tU(m);", "}", "return 0;"]);
    let after = c(&["L(m);", "if (!done) {", "\twaits++;", "\twait;", "}", "U(m);", "return 0;"]);
    let (before, after) = (before.replace("wait;", wait), after.replace("wait;", wait));
    assert_eq!(held("a.c", &before, &["!done"], &pthread("&m")), Ok(after));
}

#[test]
fn a_section_grows_at_one_end() {
    let before = ["t = x;", "L(m);", "x = t + 1;", "y = 2;", "U(m);", "return 0;"];
    let after = ["L(m);", "t = x;", "x = t + 1;", "y = 2;", "U(m);", "return 0;"];
    expect(&before, &["t = x", "x = t"], &after);
    let before = ["L(m);", "t = x;", "U(m);", "x = t + 1;", "return 0;"];
    let after = ["L(m);", "t = x;", "x = t + 1;", "U(m);", "return 0;"];
    expect(&before, &["t = x", "x = t"], &after);
}

#[test]
fn ways_out_give_back_what_they_used_to_leave_without() {
    let before = [
        "L(m);",
        "t = x;",
        "U(m);",
        "if (!t)",
        "\treturn 1;",
        "L(m);",
        "x = t;",
        "U(m);",
        "return 0;",
    ];
    let after = [
        "L(m);",
        "t = x;",
        "if (!t) {",
        "\tU(m);",
        "\treturn 1;",
        "}",
        "x = t;",
        "U(m);",
        "return 0;",
    ];
    expect(&before, &["t = x", "x = t"], &after);
}

#[test]
fn ways_out_that_keep_the_lock_still_do() {
    let before = [
        "L(m);",
        "t = x;",
        "U(m);",
        "L(m);",
        "if (t)",
        "\tgoto out;",
        "x = 1;",
        "out:",
        "U(m);",
        "return 0;",
    ];
    let after =
        ["L(m);", "t = x;", "if (t)", "\tgoto out;", "x = 1;", "out:", "U(m);", "return 0;"];
    expect(&before, &["t = x", "x = 1"], &after);
}

#[test]
fn a_lock_goes_where_nobody_took_it() {
    let before = ["t = x;", "x = t + 1;", "return 0;"];
    let after = ["L(m);", "t = x;", "x = t + 1;", "U(m);", "return 0;"];
    expect(&before, &["t = x", "x = t"], &after);
}

#[test]
fn a_lock_for_reading_becomes_one_for_writing() {
    let before =
        "void f(void)\n{\n\tpthread_rwlock_rdlock(&m);\n\tx++;\n\tpthread_rwlock_unlock(&m);\n}\n";
    let after = before.replace("rdlock", "wrlock");
    assert_eq!(held("a.c", before, &["x++"], &pthread("&m")), Ok(after));
}

#[test]
fn the_programs_own_wrappers_are_locks() {
    let before = "void f(struct list *l)\n{\n\tif (l->head) {\n\t\tlist_lock(l);\n\t\tpop(l);\n\t\tlist_unlock(l);\n\t}\n}\n";
    let after = "void f(struct list *l)\n{\n\tlist_lock(l);\n\tif (l->head) {\n\t\tpop(l);\n\t}\n\tlist_unlock(l);\n}\n";
    assert_eq!(held("a.c", before, &["l->head"], &pthread("l")).as_deref(), Ok(after));
}

#[test]
fn an_operation_whose_result_is_used_stays_and_that_is_said() {
    let before = c(&["t = x;", "int error = L(m);", "x = t;", "U(m);", "return error;"]);
    let error = HoldError::NotAlone { lock: "&m".to_owned(), line: 4 };
    assert_eq!(held("a.c", &before, &["t = x", "x = t"], &pthread("&m")), Err(error));
    let checked = c(&["t = x;", "check(L(m));", "x = t;", "U(m);", "return 0;"]);
    let after = c(&["L(m);", "t = x;", "x = t;", "U(m);", "return 0;"]);
    assert_eq!(held("a.c", &checked, &["t = x", "x = t"], &pthread("&m")), Ok(after));
}

#[test]
fn a_scoped_lock_moves_to_the_front() {
    let before =
        "void f() {\n    int t = x;\n    std::lock_guard<std::mutex> g(m);\n    x = t + 1;\n}\n";
    let after =
        "void f() {\n    std::lock_guard<std::mutex> g(m);\n    int t = x;\n    x = t + 1;\n}\n";
    expect_cpp(before, &["int t", "x = t"], after);
}

#[test]
fn scoped_locks_of_inner_blocks_become_one_that_lets_go() {
    let before = "void f() {\n    if (!full) {\n        std::unique_lock<std::mutex> lock(m);\n        cv.wait(lock);\n    }\n    use();\n}\n";
    let after = "void f() {\n    std::unique_lock<std::mutex> lock(m);\n    while (!full) {\n        cv.wait(lock);\n    }\n    lock.unlock();\n    use();\n}\n";
    expect_cpp(before, &["!full"], after);
    let before = "int f() {\n    int t;\n    {\n        std::lock_guard<std::mutex> a(m);\n        t = x;\n    }\n    {\n        std::unique_lock<std::mutex> b(m);\n        x = t + 1;\n        b.unlock();\n    }\n    return t;\n}\n";
    let after = "int f() {\n    int t;\n    std::unique_lock<std::mutex> a(m);\n    {\n        t = x;\n    }\n    {\n        x = t + 1;\n    }\n    a.unlock();\n    return t;\n}\n";
    expect_cpp(before, &["{\n        std::lock_guard", "{\n        std::unique_lock"], after);
}

#[test]
fn methods_of_a_mutex_are_statements() {
    let before = "void f() {\n    int t = x;\n    m.lock();\n    x = t + 1;\n    m.unlock();\n}\n";
    let after = "void f() {\n    m.lock();\n    int t = x;\n    x = t + 1;\n    m.unlock();\n}\n";
    expect_cpp(before, &["int t", "x = t"], after);
}

#[test]
fn what_a_lambda_locks_is_not_the_functions_business() {
    let before = "void f() {\n    std::thread t([&] { std::lock_guard<std::mutex> g(m); x++; });\n    y = 1;\n    t.join();\n}\n";
    let after = "void f() {\n    std::thread t([&] { std::lock_guard<std::mutex> g(m); x++; });\n    std::unique_lock<std::mutex> hold(m);\n    y = 1;\n    hold.unlock();\n    t.join();\n}\n";
    expect_cpp(before, &["y = 1"], after);
}

#[test]
fn a_section_on_one_line_keeps_its_own_operations() {
    let text = "void f(void) { lock(&m); n++; unlock(&m);\n\ttotal++;\n}\n";
    let source = Source::parse("a.c", text.to_owned()).expect("the sample parses");
    let at = |part: &str| source.position_of(text.find(part).expect("a part of the sample"));
    let region = source.region(&[at("lock(&m)"), at("total++")]).expect("one block");
    let statements = |text: &str| format!("{text}(&m);");
    let taking = Taking::Statements { lock: statements("lock"), unlock: statements("unlock") };
    let mut patch = Patch::new(&source);
    hold(&mut patch, &source, &region, &Lock { text: "&m".to_owned(), taking }).expect("room");
    let now = patch.apply().expect("edits that fit together");
    assert_eq!(now, "void f(void) { lock(&m); n++;\n\ttotal++;\n\tunlock(&m);\n}\n");
}
