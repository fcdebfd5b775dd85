//! Regions between a lock and an unlock, as a programmer would have written it.

use unravel_repair::source::{Guard, Patch, PatchError, Position, Region, Source};

fn parse(path: &str, text: &str) -> Source {
    Source::parse(path, text.to_owned()).expect("the sample parses")
}

fn place(source: &Source, snippet: &str) -> Position {
    source.position_of(
        source.text().find(snippet).unwrap_or_else(|| panic!("{snippet:?} is in the sample")),
    )
}

fn region(source: &Source, snippets: &[&str]) -> Region {
    let places: Vec<_> = snippets.iter().map(|snippet| place(source, snippet)).collect();
    source.region(&places).expect("the snippets are statements of one function")
}

fn plain() -> Guard {
    Guard::Statements { lock: "lock();".to_owned(), unlock: "unlock();".to_owned() }
}

fn scoped() -> Guard {
    Guard::Scoped {
        declaration: "std::unique_lock<std::mutex> hold(m);".to_owned(),
        release: "hold.unlock();".to_owned(),
        to_the_end: "std::lock_guard<std::mutex> hold(m);".to_owned(),
    }
}

fn guarded(path: &str, text: &str, snippets: &[&str], guard: &Guard) -> Result<String, PatchError> {
    let source = parse(path, text);
    let mut patch = Patch::new(&source);
    patch.guard(&region(&source, snippets), guard)?;
    patch.apply()
}

#[track_caller]
fn expect(path: &str, before: &str, snippets: &[&str], after: &str) {
    assert_eq!(guarded(path, before, snippets, &plain()).as_deref(), Ok(after));
}

#[track_caller]
fn expect_scoped(before: &str, snippets: &[&str], after: &str) {
    assert_eq!(guarded("a.cpp", before, snippets, &scoped()).as_deref(), Ok(after));
}

#[test]
fn whole_lines_keep_their_tabs_and_comments() {
    let before = "void f(void)\n{\n\ta = 1;\n\tb = 2; /* both */\n\tc = 3;\n}\n";
    let after =
        "void f(void)\n{\n\tlock();\n\ta = 1;\n\tb = 2; /* both */\n\tunlock();\n\tc = 3;\n}\n";
    expect("a.c", before, &["a = 1", "b = 2"], after);
}

#[test]
fn a_body_without_braces_gets_them() {
    let before = "void f(void) {\n  if (x)\n    a = 1;\n  else\n    b = 2;\n}\n";
    let first = "void f(void) {\n  if (x) {\n    lock();\n    a = 1;\n    unlock();\n  } else\n    b = 2;\n}\n";
    let second = "void f(void) {\n  if (x)\n    a = 1;\n  else {\n    lock();\n    b = 2;\n    unlock();\n  }\n}\n";
    expect("a.c", before, &["a = 1"], first);
    expect("a.c", before, &["b = 2"], second);
}

#[test]
fn braces_stand_apart_where_the_file_puts_them_apart() {
    let before = "void f(void)\n{\n    if (x)\n        a = 1;\n    else\n        b = 2;\n    while (y)\n    {\n        c();\n    }\n}\n";
    let after = "void f(void)\n{\n    if (x)\n    {\n        lock();\n        a = 1;\n        unlock();\n    }\n    else\n        b = 2;\n    while (y)\n    {\n        c();\n    }\n}\n";
    expect("a.c", before, &["a = 1"], after);
}

#[test]
fn bodies_of_loops_get_braces() {
    for header in ["for (i = 0; i < n; i++)", "while (x)", "for (i = 0;\n         i < n; i++)"] {
        let before = format!("void f(void) {{\n    {header}\n        a++;\n}}\n");
        let after = format!(
            "void f(void) {{\n    {header} {{\n        lock();\n        a++;\n        unlock();\n    }}\n}}\n"
        );
        expect("a.c", &before, &["a++;"], &after);
    }
    let before = "void f(void) {\n    do\n        a++;\n    while (x);\n}\n";
    let after = "void f(void) {\n    do {\n        lock();\n        a++;\n        unlock();\n    } while (x);\n}\n";
    expect("a.c", before, &["a++;"], after);
}

#[test]
fn statements_that_share_a_line_come_apart() {
    let before = "void f(void) {\n    a = 1; b = 2; c = 3;\n}\n";
    let after =
        "void f(void) {\n    a = 1;\n    lock();\n    b = 2;\n    unlock();\n    c = 3;\n}\n";
    expect("a.c", before, &["b = 2"], after);
    let before = "void f(void) {\n    if (x) a = 1; else b = 2;\n}\n";
    let after = "void f(void) {\n    if (x) {\n        lock();\n        a = 1;\n        unlock();\n    } else b = 2;\n}\n";
    expect("a.c", before, &["a = 1"], after);
    let before = "void f(void) {\n    for (;;) if (x) a = 1;\n}\n";
    let after = "void f(void) {\n    for (;;) {\n        if (x) {\n            lock();\n            a = 1;\n            unlock();\n        }\n    }\n}\n";
    expect("a.c", before, &["a = 1"], after);
}

#[test]
fn a_function_of_one_line_is_unfolded() {
    let before = "int get(void) { return x; }\nint main(void) { return get(); }";
    let after = "int get(void) {\n    lock();\n    int result = x;\n    unlock();\n    return result;\n}\nint main(void) { return get(); }";
    expect("a.c", before, &["return x"], after);
    let source = parse("a.c", before);
    let by_line =
        source.region(&[Position { line: 1, column: 0 }]).expect("the line has a statement");
    assert_eq!(by_line, region(&source, &["return x"]));
}

#[test]
fn an_else_if_belongs_to_its_chain() {
    let before = "void f(void) {\n    if (a)\n        x();\n    else if (b)\n        y();\n}\n";
    let after = "void f(void) {\n    lock();\n    if (a)\n        x();\n    else if (b)\n        y();\n    unlock();\n}\n";
    expect("a.c", before, &["b)"], after);
    let inner = "void f(void) {\n    if (a)\n        x();\n    else if (b) {\n        lock();\n        y();\n        unlock();\n    }\n}\n";
    expect("a.c", before, &["y()"], inner);
}

#[test]
fn every_return_unlocks_and_computes_its_value_first() {
    let before = "static char *f(int n) {\n    if (n)\n        return 0;\n    if (n > 1) {\n        return name(n);\n    }\n    n++;\n    return n;\n}\n";
    let after = "static char *f(int n) {\n    lock();\n    if (n) {\n        unlock();\n        return 0;\n    }\n    if (n > 1) {\n        char *result = name(n);\n        unlock();\n        return result;\n    }\n    n++;\n    unlock();\n    return n;\n}\n";
    expect("a.c", before, &["if (n)", "return n;"], after);
}

#[test]
fn a_local_whose_address_is_taken_is_not_private() {
    let before = "int f(void) {\n    int n = 0;\n    start(&n);\n    return n;\n}\n";
    let after = "int f(void) {\n    int n = 0;\n    start(&n);\n    lock();\n    int result = n;\n    unlock();\n    return result;\n}\n";
    expect("a.c", before, &["return n"], after);
}

#[test]
fn a_temporary_takes_no_name_that_is_used() {
    let before = "int f(void) {\n    int result = 1;\n    return result + x;\n}\n";
    let after = "int f(void) {\n    int result = 1;\n    lock();\n    int result_2 = result + x;\n    unlock();\n    return result_2;\n}\n";
    expect("a.c", before, &["return"], after);
}

#[test]
fn only_jumps_that_leave_the_region_unlock() {
    let before = "void f(void) {\n    while (a) {\n        while (b) {\n            if (c) break;\n        }\n        if (d)\n            continue;\n        e();\n    }\n}\n";
    let after = "void f(void) {\n    while (a) {\n        lock();\n        while (b) {\n            if (c) break;\n        }\n        if (d) {\n            unlock();\n            continue;\n        }\n        e();\n        unlock();\n    }\n}\n";
    expect("a.c", before, &["while (b)", "e()"], after);
}

#[test]
fn a_goto_unlocks_if_its_label_is_outside() {
    let before = "int f(void) {\n    a();\n    if (x)\n        goto out;\n    b();\nout:\n    return 0;\n}\n";
    let after = "int f(void) {\n    lock();\n    a();\n    if (x) {\n        unlock();\n        goto out;\n    }\n    b();\n    unlock();\nout:\n    return 0;\n}\n";
    expect("a.c", before, &["a()", "b()"], after);
    let inside = "int f(void) {\n    lock();\n    a();\n    if (x)\n        goto out;\n    b();\nout:\n    unlock();\n    return 0;\n}\n";
    expect("a.c", before, &["a()", "return"], inside);
}

#[test]
fn the_lock_comes_after_a_label_that_is_jumped_to_from_outside() {
    let before = "int f(void) {\n    if (x)\n        goto out;\n    a();\nout:\n    b();\n    return 0;\n}\n";
    let after = "int f(void) {\n    if (x)\n        goto out;\n    a();\nout:\n    lock();\n    b();\n    unlock();\n    return 0;\n}\n";
    expect("a.c", before, &["b()"], after);
    let refused = guarded("a.c", before, &["a()", "b()"], &plain());
    assert_eq!(refused, Err(PatchError::JumpInto { label: "out".to_owned(), line: 5 }));
}

#[test]
fn the_lock_comes_before_a_label_that_only_the_region_jumps_to() {
    let before = "void f(void) {\nagain:\n    a();\n    if (x)\n        goto again;\n}\n";
    let after = "void f(void) {\n    lock();\nagain:\n    a();\n    if (x)\n        goto again;\n    unlock();\n}\n";
    expect("a.c", before, &["a()", "if (x)"], after);
}

#[test]
fn statements_of_a_case_are_siblings() {
    let before = "int f(int k) {\n    switch (k) {\n    case 1: a(); break;\n    case 2:\n        b();\n        return g();\n    default:\n        c();\n    }\n}\n";
    let first = before.replace(
        "case 1: a(); break;",
        "case 1:\n        lock();\n        a();\n        unlock();\n        break;",
    );
    expect("a.c", before, &["a()"], &first);
    let second = before.replace(
        "        b();\n        return g();\n",
        "        lock();\n        b();\n        {\n            int result = g();\n            unlock();\n            return result;\n        }\n",
    );
    expect("a.c", before, &["b()", "return"], &second);
    let source = parse("a.c", before);
    let both = region(&source, &["a()", "b()"]);
    assert_eq!(
        (both.first_line, both.last_line),
        (2, 9),
        "statements of two cases are the whole switch"
    );
}

#[test]
fn a_switch_of_one_line_is_unfolded() {
    let before = "void f(int k) {\n    switch (k) { case 1: a(); break; default: return; }\n}\n";
    let after = "void f(int k) {\n    switch (k) {\n        case 1:\n            lock();\n            a();\n            unlock();\n            break;\n        default: return;\n    }\n}\n";
    expect("a.c", before, &["a()"], after);
}

#[test]
fn a_type_that_cannot_be_written_before_a_name_is_deduced() {
    let before = "int (*pick(void))(void) {\n    return chosen;\n}\n";
    let after = "int (*pick(void))(void) {\n    lock();\n    __auto_type result = chosen;\n    unlock();\n    return result;\n}\n";
    expect("a.c", before, &["return chosen"], after);
}

#[test]
fn line_endings_are_kept() {
    let before = "void f(void)\r\n{\r\n    a();\r\n}\r\n";
    expect(
        "a.c",
        before,
        &["a()"],
        "void f(void)\r\n{\r\n    lock();\r\n    a();\r\n    unlock();\r\n}\r\n",
    );
}

#[test]
fn directives_stay_at_the_margin() {
    let before = "void f(void) {\n    a();\n#ifdef X\n    b();\n#endif\n    c();\n}\n";
    let around = "void f(void) {\n    a();\n    lock();\n#ifdef X\n    b();\n#endif\n    c();\n    unlock();\n}\n";
    expect("a.c", before, &["b()", "c()"], around);
    let inside = "void f(void) {\n    a();\n#ifdef X\n    lock();\n    b();\n    unlock();\n#endif\n    c();\n}\n";
    expect("a.c", before, &["b()"], inside);
}

#[test]
fn regions_within_regions_unlock_from_the_inside() {
    let text = "int f(void) {\n    a();\n    if (x)\n        return g();\n    return 0;\n}\n";
    let source = parse("a.c", text);
    let mut patch = Patch::new(&source);
    let inner =
        Guard::Statements { lock: "lock_b();".to_owned(), unlock: "unlock_b();".to_owned() };
    patch.guard(&region(&source, &["a()", "return 0"]), &plain()).expect("it parses");
    patch.guard(&region(&source, &["return g()"]), &inner).expect("it parses");
    let after = "int f(void) {\n    lock();\n    a();\n    if (x) {\n        lock_b();\n        int result = g();\n        unlock_b();\n        unlock();\n        return result;\n    }\n    unlock();\n    return 0;\n}\n";
    assert_eq!(patch.apply().as_deref(), Ok(after));
}

#[test]
fn a_method_and_a_lambda_are_functions() {
    let before = "class C {\n    int get() const { return x; }\n    int x;\n};\n";
    let after = "class C {\n    int get() const {\n        lock();\n        int result = x;\n        unlock();\n        return result;\n    }\n    int x;\n};\n";
    expect("a.cpp", before, &["return x"], after);
    let before = "int main() {\n    std::thread t([&] { x++; });\n    t.join();\n}\n";
    let after = "int main() {\n    std::thread t([&] {\n        lock();\n        x++;\n        unlock();\n    });\n    t.join();\n}\n";
    expect("a.cpp", before, &["x++"], after);
    let source = parse("a.cpp", before);
    assert_eq!(
        source.region(&[place(&source, "x++"), place(&source, "t.join")]),
        None,
        "two functions have no region"
    );
}

#[test]
fn a_scoped_lock_needs_no_exits() {
    let before = "int f() {\n    a();\n    if (x) return g();\n    b();\n    c();\n}\n";
    let after = "int f() {\n    std::unique_lock<std::mutex> hold(m);\n    a();\n    if (x) return g();\n    b();\n    hold.unlock();\n    c();\n}\n";
    expect_scoped(before, &["a()", "b()"], after);
    let to_the_end = "int f() {\n    a();\n    if (x) return g();\n    std::lock_guard<std::mutex> hold(m);\n    b();\n    c();\n}\n";
    expect_scoped(before, &["b()", "c()"], to_the_end);
}

#[test]
fn a_scoped_lock_in_a_case_has_braces() {
    let before = "void f(int k) {\n    switch (k) {\n    case 1:\n        a();\n        break;\n    case 2:\n        break;\n    }\n}\n";
    let after = before.replace(
        "        a();\n",
        "        {\n            std::lock_guard<std::mutex> hold(m);\n            a();\n        }\n",
    );
    expect_scoped(before, &["a()"], &after);
    let used_after = before.replace("a();", "int n = a();\n        use(n);");
    let refused = guarded("a.cpp", &used_after, &["int n"], &scoped());
    assert_eq!(refused, Err(PatchError::NameEscapes { name: "n".to_owned() }));
}

#[test]
fn what_does_not_parse_is_not_edited() {
    let text = "void f(void) {\n    a();\n    b( = ;\n}\nvoid g(void) {\n    c();\n}\n";
    let source = parse("a.c", text);
    let mut patch = Patch::new(&source);
    let refused = patch.guard(&region(&source, &["a()", "b("]), &plain());
    assert!(matches!(refused, Err(PatchError::Unparsed { .. })), "{refused:?}");
    assert_eq!(patch.guard(&region(&source, &["c()"]), &plain()), Ok(()));
}
