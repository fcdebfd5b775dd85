//! The names a user reads: of sites, of what they access, of globals and of types.

mod support;

use unravel_code::names::Type;
use unravel_code::{AccessKind, Inst, Program};

use support::{
    OBSERVED, OPTIMISED, access_paths, body, call_paths, calls_of, function, load_c, load_file,
    site, source,
};

fn c() -> Program {
    load_file(&source("names.c"), OBSERVED)
}

fn cpp() -> Program {
    load_file(&source("names.cpp"), OBSERVED)
}

#[test]
fn array_elements_of_structs() {
    let expected = [
        "bank.accounts[from].balance",
        "bank.accounts[from].balance",
        "bank.accounts[to+1].balance",
        "bank.accounts[2].id",
        "bank.accounts[2].id",
        "bank.used",
    ];
    assert_eq!(access_paths(&c(), "transfer"), expected);
}

#[test]
fn fields_behind_a_parameter() {
    let expected = ["account->balance", "account->balance", "account->id", "*out", "out[3]"];
    assert_eq!(access_paths(&c(), "one"), expected);
}

#[test]
fn pointers_loaded_on_the_way() {
    let expected =
        ["head", "head->next", "head->next->value", "head", "n->value", "n->value", "n->next"];
    assert_eq!(access_paths(&c(), "list"), expected);
}

#[test]
fn the_lock_that_is_locked() {
    let program = c();
    let locks = |name| -> Vec<String> {
        let calls = call_paths(&program, name).into_iter();
        calls.filter(|(callee, _)| callee == "pthread_mutex_lock").filter_map(|(_, p)| p).collect()
    };
    // The mutex is the first field: the struct has the same address.
    assert_eq!(locks("transfer"), ["bank.lock"]);
    assert_eq!(locks("one"), ["account->lock"]);
    assert_eq!(locks("put"), ["fifo->mut"]);
    assert!(call_paths(&program, "others").contains(&("sem_wait".into(), Some("slots".into()))));
}

#[test]
fn unions_statics_thread_locals_and_library_variables() {
    let program = c();
    let put = access_paths(&program, "put");
    assert!(put.contains(&"fifo->items[fifo->tail]".to_owned()), "{put:?}");
    assert!(put.contains(&"fifo->last.number".to_owned()), "{put:?}");
    let expected = [
        "calls",
        "calls",
        "matrix[row][2]",
        "mine",
        "running",
        "ready",
        "stdout",
        "matrix[1][row]",
    ];
    assert_eq!(access_paths(&program, "others"), expected);
}

#[test]
fn kinds_of_access() {
    let program = c();
    let kind = |path: &str| {
        let code = &body(&program, "others").code;
        let access = code.iter().filter_map(site).map(|site| &program.accesses[site.index()]);
        access.filter(|a| a.path.as_deref() == Some(path)).map(|a| a.kind).next()
    };
    assert_eq!(kind("running"), Some(AccessKind::Volatile));
    assert_eq!(kind("ready"), Some(AccessKind::Atomic));
    assert_eq!(kind("mine"), Some(AccessKind::Plain));
    let call = calls_of(&program, "others", "sem_wait")[0];
    assert_eq!(program.accesses[call.site.index()].kind, AccessKind::Call);
}

#[test]
fn only_locals_that_escape_make_events() {
    let program = c();
    let paths = access_paths(&program, "escaping");
    assert_eq!(paths, ["shared.value", "shared.value"]);
    let locals: Vec<&str> = body(&program, "escaping").locals.iter().map(|l| &*l.name).collect();
    assert_eq!(locals, ["shared", "scratch"]);
}

#[test]
fn sites_have_file_line_and_column() {
    let program = c();
    let line = 1 + include_str!("programs/names.c")
        .lines()
        .position(|line| line.contains("bank.used = 1"))
        .expect("the line is there");
    let site = body(&program, "transfer")
        .code
        .iter()
        .filter_map(site)
        .find(|site| program.accesses[site.index()].path.as_deref() == Some("bank.used"))
        .expect("the access is there");
    let place = &program.sites[site.index()].place;
    assert_eq!((&*place.function, place.line as usize, place.column), ("transfer", line, 15));
    assert!(place.file.ends_with("tests/programs/names.c"), "{}", place.file);
    assert_eq!(place.short(), format!("names.c:{line}"));
}

#[test]
fn every_instruction_has_a_line() {
    let program = c();
    for name in ["transfer", "one", "list", "put", "others", "escaping", "main"] {
        for place in &body(&program, name).places {
            let site = &program.sites[place.index()];
            assert!(site.place.line > 0, "{name}");
            assert_eq!(&*site.place.function, name);
        }
    }
}

#[test]
fn inlined_code_knows_its_callers() {
    let text = "
        int shared;
        static inline void innermost(void) { shared++; }
        static inline void middle(void) { innermost(); }
        void outer(void) { middle(); }";
    let program = load_c(text, OPTIMISED);
    let access = body(&program, "outer").code.iter().find_map(site).expect("an access");
    let site = &program.sites[access.index()];
    assert_eq!((&*site.place.function, site.place.line), ("innermost", 3));
    let callers: Vec<_> = site.inlined_at.iter().map(|p| (&*p.function, p.line)).collect();
    assert_eq!(callers, [("middle", 4), ("outer", 5)]);
}

#[test]
fn globals_have_names_types_and_places() {
    let program = c();
    let bank = program.globals.iter().find(|g| g.name == "bank").expect("bank");
    let ty = bank.ty.expect("its type is known");
    assert_eq!(program.types.bytes(ty), bank.bytes);
    assert_eq!(program.types.member(ty, 40 + 2 * 56 + 8, 8), ".accounts[2].balance");
    assert!(matches!(program.types.get(ty), Type::Struct { name, .. } if name == "Bank"));
    let (file, line) = bank.place.as_ref().expect("its place is known");
    assert!(file.ends_with("names.c") && *line == 34, "{file}:{line}");
    assert_eq!(program.global_at(bank.address + 3).map(|g| &*g.name), Some("bank"));
    assert!(program.thread_local_globals.iter().any(|g| g.name == "mine" && g.bytes == 4));
    let calls = program.globals.iter().find(|g| g.name == "calls");
    assert!(calls.is_some_and(|g| !g.constant), "a static of a function");
}

#[test]
fn types_may_contain_themselves() {
    let program = c();
    let head = program.globals.iter().find(|g| g.name == "head").and_then(|g| g.ty).expect("head");
    let Type::Pointer { to: Some(node) } = program.types.get(head) else { panic!("no pointer") };
    let Type::Struct { name, fields, .. } = program.types.get(*node) else { panic!("no struct") };
    assert_eq!((name.as_str(), fields.len()), ("node", 2));
    let Type::Pointer { to: Some(next) } = program.types.get(fields[1].ty) else {
        panic!("no next")
    };
    assert_eq!(program.types.member(*next, 8, 8), ".next");
}

#[test]
fn members_of_classes_and_references() {
    let program = cpp();
    let expected = ["count", "items[count]", "count", "count", "priority"];
    assert_eq!(access_paths(&program, "jobs::Queue::push"), expected);
    let paths = access_paths(&program, "bump");
    for expected in ["counter.hits", "Counter::instances", "jobs::hidden"] {
        assert!(paths.contains(&expected.to_owned()), "{expected} in {paths:?}");
    }
    let calls = call_paths(&program, "jobs::Queue::push");
    assert_eq!(calls[0], ("_ZNSt5mutex4lockEv".into(), Some("mutex".into())));
    let calls = call_paths(&program, "bump");
    assert!(calls.contains(&("_ZN4jobs5Queue4pushEi".into(), Some("jobs::pending".into()))));
}

#[test]
fn functions_are_called_as_written() {
    let program = cpp();
    assert_eq!(function(&program, "_ZN4jobs5Queue4pushEi").display_name, "jobs::Queue::push");
    assert_eq!(function(&program, "_ZN4jobs3BoxIlE3setEl").display_name, "jobs::Box<long>::set");
    assert!(program.functions.iter().any(|f| f.display_name == "bump::(lambda)"));
    assert!(program.globals.iter().any(|g| g.name == "jobs::pending"));
}

#[test]
fn without_debug_information_there_are_still_names() {
    let program = load_c("int shared; void f(int *p) { shared = *p; }", &["-O0"]);
    let code = &body(&program, "f").code;
    let access = code.iter().find_map(site).expect("an access");
    let place = &program.sites[access.index()].place;
    assert_eq!((&*place.function, place.line), ("f", 0));
    assert!(program.globals.iter().any(|g| g.name == "shared" && g.ty.is_none()));
    assert!(code.iter().any(|inst| matches!(inst, Inst::Store32 { .. })));
}
