//! What the tests of lowering share: compiling a source, finding things in the program, and the invariants
//! that every program has.
#![allow(dead_code, reason = "each test file uses a part")]

use std::path::{Path, PathBuf};
use std::process::Command;

use unravel_code::{
    Body, CallSite, Function, FunctionId, Inst, Program, RelocationPlace, disassemble,
};
use unravel_program::load;
use unravel_trace::SiteId;

/// How the driver compiles what it observes.
pub const OBSERVED: &[&str] =
    &["-O0", "-g", "-Xclang", "-disable-O0-optnone", "-fno-strict-return", "-mcx16", "-w"];
pub const OPTIMISED: &[&str] = &["-O1", "-g", "-mcx16", "-w"];
pub const VECTORISED: &[&str] = &["-O3", "-g", "-mcx16", "-w"];

/// A program of `tests/programs`.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

/// Compiles a file to bitcode.
pub fn bitcode(source: &Path, flags: &[&str]) -> Vec<u8> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let output = directory.path().join("out.bc");
    let cpp = source.extension().is_some_and(|e| e == "cpp");
    let mut clang = Command::new(if cpp { "clang++-19" } else { "clang-19" });
    if cpp {
        clang.arg("-std=c++20");
    }
    clang.args(flags).args(["-emit-llvm", "-c", "-o"]).arg(&output).arg(source);
    let status = clang.status().expect("clang-19 is installed");
    assert!(status.success(), "{clang:?} failed");
    std::fs::read(output).expect("clang wrote its output")
}

/// Compiles and loads a file, and checks the program's invariants.
pub fn load_file(source: &Path, flags: &[&str]) -> Program {
    let program = load(&bitcode(source, flags)).expect("the program loads");
    check(&program);
    program
}

/// Compiles and loads C text.
pub fn load_c(text: &str, flags: &[&str]) -> Program {
    load_text(text, "test.c", flags)
}

pub fn load_text(text: &str, name: &str, flags: &[&str]) -> Program {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join(name);
    std::fs::write(&file, text).expect("the source is written");
    load_file(&file, flags)
}

/// Assembles and loads LLVM's own language.
pub fn load_ir(text: &str) -> Program {
    load_text(text, "test.ll", &["-x", "ir", "-w", "-Wno-override-module"])
}

pub fn function<'p>(program: &'p Program, name: &str) -> &'p Function {
    let found = program.functions.iter().find(|f| f.name == name || f.display_name == name);
    found.unwrap_or_else(|| panic!("no function {name}"))
}

pub fn body<'p>(program: &'p Program, name: &str) -> &'p Body {
    function(program, name).body.as_ref().unwrap_or_else(|| panic!("{name} has no body"))
}

/// The reasons of all traps in a program, with the function they are in.
pub fn traps(program: &Program) -> Vec<String> {
    let mut found = Vec::new();
    for function in &program.functions {
        for inst in function.body.iter().flat_map(|body| &body.code) {
            if let Inst::Trap { reason } = inst {
                found.push(format!("{}: {}", function.name, program.traps[*reason as usize]));
            }
        }
    }
    found
}

/// The site of an instruction that makes an event.
pub fn site(inst: &Inst) -> Option<SiteId> {
    use Inst::*;
    match *inst {
        Load8 { site, .. }
        | Load16 { site, .. }
        | Load32 { site, .. }
        | Load64 { site, .. }
        | LoadN { site, .. }
        | Store8 { site, .. }
        | Store16 { site, .. }
        | Store32 { site, .. }
        | Store64 { site, .. }
        | StoreN { site, .. }
        | Rmw { site, .. }
        | CmpXchg { site, .. }
        | Fence { site }
        | SpinHint { site } => Some(site),
        _ => None,
    }
}

/// The paths of the accesses of a function, in order.
pub fn access_paths(program: &Program, name: &str) -> Vec<String> {
    let sites = body(program, name).code.iter().filter_map(site);
    sites.filter_map(|site| program.accesses[site.index()].path.clone()).collect()
}

/// The calls of a function: whom, and the path of the first argument.
pub fn call_paths(program: &Program, name: &str) -> Vec<(String, Option<String>)> {
    let calls = body(program, name).code.iter().filter_map(|inst| match inst {
        Inst::Call { function, call, .. } | Inst::CallExternal { function, call, .. } => {
            let site = program.call(*call).site;
            let path = program.accesses[site.index()].path.clone();
            Some((program.function(*function).name.clone(), path))
        }
        _ => None,
    });
    calls.collect()
}

/// The call sites of direct calls of `callee` in a function.
pub fn calls_of<'p>(program: &'p Program, name: &str, callee: &str) -> Vec<&'p CallSite> {
    let code = &body(program, name).code;
    let calls = code.iter().filter_map(|inst| match inst {
        Inst::Call { function, call, .. } | Inst::CallExternal { function, call, .. } => {
            (program.function(*function).name == callee).then(|| program.call(*call))
        }
        _ => None,
    });
    calls.collect()
}

/// The invariants of a program that the VM relies on without checking.
pub fn check(program: &Program) {
    assert_eq!(program.sites.len(), program.accesses.len());
    let mut owned = vec![false; program.sites.len()];
    for (index, function) in program.functions.iter().enumerate() {
        let id = FunctionId(index as u32);
        let Some(body) = &function.body else { continue };
        let context = || disassemble(program, id);
        assert!(!body.code.is_empty(), "{} is empty", function.name);
        assert_eq!(body.code.len(), body.places.len());
        assert_eq!(body.slots as usize, (body.constants_at as usize) + body.constants.len());
        assert_eq!(body.frame_bytes % 16, 0);
        assert_eq!(function.signature.params.len(), body.params.len());
        assert!(
            body.code.last().is_some_and(|inst| !inst.falls_through()),
            "falls off the end: {}",
            context()
        );
        assert!(body.places.iter().all(|place| place.index() < program.sites.len()));
        assert!(body.unwind.is_sorted(), "{}", context());
        let inside = |target: u32| (target as usize) < body.code.len();
        assert!(body.unwind.iter().all(|(from, to)| inside(*from) && inside(*to)));
        let lands = |to: u32| matches!(body.code[to as usize], Inst::LandingPad { .. });
        assert!(body.unwind.iter().all(|(_, to)| lands(*to)), "{}", context());
        assert!(body.blocks.iter().all(|target| inside(*target)));
        for local in &body.locals {
            assert!(local.offset + local.bytes <= body.frame_bytes);
        }
        for inst in &body.code {
            check_inst(program, body, inst, &context);
            if let Some(site) = site(inst) {
                assert!(!std::mem::replace(&mut owned[site.index()], true), "a site is shared");
            }
        }
    }
    for data in &program.external_data {
        for relocation in &data.uses {
            let inside = match relocation.place {
                RelocationPlace::Image(at) => at + 8 <= program.image.len() as u64,
                RelocationPlace::ThreadLocals(at) => at + 8 <= program.thread_locals.len() as u64,
                RelocationPlace::Constant(function, index) => {
                    let body = program.function(function).body.as_ref();
                    body.is_some_and(|body| (index as usize) < body.constants.len())
                }
            };
            assert!(inside, "a relocation of {} lies outside", data.name);
        }
    }
    let addresses: Vec<u64> = program.globals.iter().map(|global| global.address).collect();
    assert!(addresses.is_sorted());
}

/// Registers, targets and indices of one instruction are in range. Registers are found in the `Debug`
/// form, so that no kind of instruction is forgotten here.
fn check_inst(program: &Program, body: &Body, inst: &Inst, context: &dyn Fn() -> String) {
    const REGISTERS: [&str; 13] = [
        "dst", "src", "a", "b", "ptr", "cond", "value", "base", "index", "count", "lane",
        "expected", "new",
    ];
    let text = format!("{inst:?}");
    let fields = text.split_once('{').map_or("", |(_, fields)| fields.trim_end_matches('}'));
    for field in fields.split(',') {
        let Some((name, number)) = field.split_once(':') else { continue };
        let Ok(number) = number.trim().parse::<u32>() else { continue };
        match name.trim() {
            name if REGISTERS.contains(&name) => {
                assert!(number < body.slots, "{name} of {text}\n{}", context());
            }
            "then" | "other" | "to" if !text.starts_with("Sext") => {
                assert!((number as usize) < body.code.len(), "{text}\n{}", context());
            }
            _ => {}
        }
    }
    match inst {
        Inst::Call { call, function, .. } => {
            assert!(program.function(*function).body.is_some(), "{text}");
            check_call(body, program.call(*call), &text);
        }
        Inst::CallExternal { call, function, .. } => {
            assert!(program.function(*function).body.is_none(), "{text}");
            check_call(body, program.call(*call), &text);
        }
        Inst::CallIndirect { call, .. } => check_call(body, program.call(*call), &text),
        Inst::Switch { table, .. } => {
            let switch = &program.switches[*table as usize];
            let targets = switch.cases.values().chain([&switch.default]);
            assert!(targets.copied().all(|target| (target as usize) < body.code.len()));
        }
        Inst::FrameLoad64 { offset, .. } | Inst::FrameStore64 { offset, .. } => {
            assert!(offset + 8 <= body.frame_bytes, "{text}");
        }
        Inst::FrameAddr { offset, .. } => assert!(*offset <= body.frame_bytes, "{text}"),
        Inst::CopyToFrame { offset, bytes, .. } => {
            assert!(offset + bytes <= body.frame_bytes, "{text}");
        }
        Inst::ThreadLocal { offset, .. } => {
            assert!((*offset as usize) < program.thread_locals.len(), "{text}");
        }
        _ => {}
    }
}

fn check_call(body: &Body, call: &CallSite, text: &str) {
    for arg in &call.args {
        assert!(arg.reg + arg.slots <= body.slots, "an argument of {text}");
    }
    assert!(call.variadic || call.fixed as usize == call.args.len(), "the arity of {text}");
}
