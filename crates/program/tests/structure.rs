//! What the VM relies on: the shape of the lowered code for particular constructs.

mod support;

use unravel_code::layout::{BLOCKS, BLOCKS_PER_FUNCTION, GLOBALS, RED_ZONE};
use unravel_code::{
    Abi, AccessKind, Body, Clause, FunctionId, Inst, Program, RelocationPlace, TypeInfo,
};

use support::{
    OBSERVED, OPTIMISED, body, calls_of, function, load_c, load_ir, load_text, site, traps,
};

/// Runs code of 32-bit additions, copies and jumps.
fn evaluate(program: &Program, name: &str, arguments: &[u64]) -> u64 {
    let body = body(program, name);
    let mut slots = vec![0u64; body.slots as usize];
    for ((slot, _), argument) in body.params.iter().zip(arguments) {
        slots[*slot as usize] = *argument;
    }
    slots[body.constants_at as usize..].copy_from_slice(&body.constants);
    let mut pc = 0;
    for _ in 0..10_000 {
        let inst = body.code[pc];
        pc += 1;
        match inst {
            Inst::Mov { dst, src } => slots[dst as usize] = slots[src as usize],
            Inst::MovN { dst, src, slots: count } => {
                slots.copy_within(src as usize..(src + count) as usize, dst as usize);
            }
            Inst::Add32 { dst, a, b } => {
                let sum = (slots[a as usize] as u32).wrapping_add(slots[b as usize] as u32);
                slots[dst as usize] = u64::from(sum);
            }
            Inst::Mul32 { dst, a, b } => {
                let product = (slots[a as usize] as u32).wrapping_mul(slots[b as usize] as u32);
                slots[dst as usize] = u64::from(product);
            }
            Inst::BranchSlt32 { a, b, then, other } => {
                let less = (slots[a as usize] as i32) < slots[b as usize] as i32;
                pc = if less { then } else { other } as usize;
            }
            Inst::Jump { to } => pc = to as usize,
            Inst::Return { src, .. } => return slots[src as usize],
            other => panic!("the test's evaluator lacks {other:?}"),
        }
    }
    panic!("{name} does not end")
}

#[test]
fn phis_take_their_values_at_once() {
    let text = "
        int swap(int n) {
            int a = 1, b = 2;
            for (int i = 0; i < n; i++) { int t = a; a = b; b = t; }
            return a * 10 + b;
        }
        int rotate(int n) {
            int a = 1, b = 2, c = 3, d = 4;
            for (int i = 0; i < n; i++) { int t = a; a = b; b = c; c = d; d = t; }
            return a * 1000 + b * 100 + c * 10 + d;
        }
        int shift(int n) {
            int a = 1, b = 2, c = 3;
            for (int i = 0; i < n; i++) { c = b; b = a; a = a + 1; }
            return a * 100 + b * 10 + c;
        }";
    let program = load_c(text, OBSERVED);
    let values = |name| [0, 1, 2, 3, 5].map(|n| evaluate(&program, name, &[n]));
    assert_eq!(values("swap"), [12, 21, 12, 21, 21]);
    assert_eq!(values("rotate"), [1234, 2341, 3412, 4123, 2341]);
    assert_eq!(values("shift"), [123, 212, 321, 432, 654]);
}

#[test]
fn a_value_that_takes_several_slots_is_copied_whole() {
    let text = "
        target triple = \"x86_64-pc-linux-gnu\"
        define i32 @f(i32 %n) {
        entry:
          br label %loop
        loop:
          %i = phi i32 [ 0, %entry ], [ %next, %loop ]
          %a = phi { i64, i32 } [ { i64 7, i32 1 }, %entry ], [ %b, %loop ]
          %b = phi { i64, i32 } [ { i64 8, i32 2 }, %entry ], [ %a, %loop ]
          %next = add i32 %i, 1
          %more = icmp slt i32 %next, %n
          br i1 %more, label %loop, label %done
        done:
          ret i32 0
        }";
    let program = load_ir(text);
    let copies =
        body(&program, "f").code.iter().filter(|inst| matches!(inst, Inst::MovN { slots: 2, .. }));
    // Two on entry, and three (one to save) on the way back.
    assert_eq!(copies.count(), 5);
}

fn comparison(condition: &str) -> Inst {
    let text = format!(
        "void g(void); void f(int a, int b, unsigned u, unsigned v, long x, long y, char *p) {{ if ({condition}) g(); }}"
    );
    let program = load_c(&text, OBSERVED);
    let code = &body(&program, "f").code;
    let branch = code.iter().find(|inst| format!("{inst:?}").starts_with("Branch"));
    let branch = *branch.expect("a branch");
    // Nothing is left of the comparison itself.
    assert!(
        !code
            .iter()
            .any(|inst| matches!(inst, Inst::Eq { .. } | Inst::Slt32 { .. } | Inst::Ult { .. }))
    );
    branch
}

#[test]
fn comparisons_are_fused_with_branches() {
    // Parameters are in slots 0 to 6; `then` comes first in the code.
    assert!(matches!(comparison("a < b"), Inst::BranchSlt32 { a: 0, b: 1, then: 1, .. }));
    assert!(matches!(comparison("a > b"), Inst::BranchSlt32 { a: 1, b: 0, then: 1, .. }));
    assert!(matches!(comparison("a <= b"), Inst::BranchSlt32 { a: 1, b: 0, other: 1, .. }));
    assert!(matches!(comparison("a >= b"), Inst::BranchSlt32 { a: 0, b: 1, other: 1, .. }));
    assert!(matches!(comparison("u < v"), Inst::BranchUlt { a: 2, b: 3, then: 1, .. }));
    assert!(matches!(comparison("u >= v"), Inst::BranchUlt { a: 2, b: 3, other: 1, .. }));
    assert!(matches!(comparison("x > y"), Inst::BranchSlt64 { a: 5, b: 4, then: 1, .. }));
    assert!(matches!(comparison("a == b"), Inst::BranchEq { a: 0, b: 1, then: 1, .. }));
    assert!(matches!(comparison("p"), Inst::BranchNe { a: 6, .. }));
}

#[test]
fn an_index_is_extended_where_it_is_used() {
    let text = "int a[9]; int f(int i) { return a[i]; } long g(int i) { return a[i] + (long)i; }";
    let program = load_c(text, OBSERVED);
    let has = |name: &str, test: fn(&Inst) -> bool| body(&program, name).code.iter().any(test);
    assert!(has("f", |inst| matches!(inst, Inst::Index32 { scale: 4, index: 0, .. })));
    assert!(!has("f", |inst| matches!(inst, Inst::Sext { .. })));
    assert!(has("g", |inst| matches!(inst, Inst::Sext { from: 32, to: 64, .. })));
}

#[test]
fn private_locals_make_no_events() {
    let text = "
        void use(int *);
        int private(int n) {
            struct { int a, b[4]; } s = {0};
            int flat[8];
            for (int i = 0; i < 8; i++) flat[i] = i;
            s.a = flat[n & 7];
            s.b[n & 3] = 2;
            int *p = n ? &flat[1] : &flat[2];
            return s.a + s.b[1] + *p;
        }
        int shared(int n) { int flat[8]; use(flat); flat[n] = 1; return flat[0]; }";
    let program = load_c(text, OBSERVED);
    assert_eq!(body(&program, "private").code.iter().filter_map(site).count(), 0);
    assert!(body(&program, "private").code.iter().any(|i| matches!(i, Inst::PrivateStore { .. })));
    assert!(body(&program, "private").code.iter().any(|i| matches!(i, Inst::FrameLoad32 { .. })));
    assert_eq!(body(&program, "shared").code.iter().filter_map(site).count(), 2);
}

#[test]
fn optnone_functions_are_promoted_too() {
    let program = load_c("int f(int a) { int b = a + 1; return b; }", &["-O0", "-g"]);
    assert_eq!(body(&program, "f").code.len(), 2, "an addition and a return");
}

#[test]
fn externals_are_relocated_everywhere() {
    let text = "
        #include <stdio.h>
        extern char **environ;
        FILE **pointer = &stdout;
        struct { int tag; FILE **inner; } nested = {1, &stderr};
        __thread char ***per_thread = &environ;
        int f(void) { return fputs(\"x\", stdout); }";
    let program = load_c(text, OBSERVED);
    let uses = |name: &str| {
        let found = program.external_data.iter().find(|data| data.name == name);
        found.unwrap_or_else(|| panic!("no {name}")).uses.clone()
    };
    let f = program.function_named("f").expect("f");
    let address = |name: &str| {
        program.globals.iter().find(|g| g.name == name).expect("a global").address - GLOBALS
    };
    let in_image = |name: &str, place: u64| {
        uses(name)
            .iter()
            .any(|use_| matches!(use_.place, RelocationPlace::Image(at) if at == place))
    };
    assert!(in_image("stdout", address("pointer")));
    assert!(in_image("stderr", address("nested") + 8));
    assert!(
        matches!(uses("environ")[..], [r] if matches!(r.place, RelocationPlace::ThreadLocals(0)))
    );
    let constant = |r: &unravel_code::Relocation| matches!(r.place, RelocationPlace::Constant(function, _) if function == f);
    assert_eq!(uses("stdout").iter().filter(|r| constant(r)).count(), 1);
}

#[test]
fn addresses_inside_externals_have_an_addend() {
    let text = "struct s { int a, b[4]; }; extern struct s there; int *p = &there.b[2];
                int f(void) { return there.b[3]; }";
    let program = load_c(text, OBSERVED);
    let addends: Vec<i64> = program.external_data[0].uses.iter().map(|r| r.addend).collect();
    assert_eq!(addends, [12, 16]);
}

#[test]
fn globals_have_red_zones_and_alignment() {
    let text =
        "char a = 1; _Alignas(256) char b = 2; long c = 3; char d[100]; static const int e = 4;
                const int *f(void) { return &e; }";
    let program = load_c(text, OBSERVED);
    assert!(program.globals.len() >= 5);
    for pair in program.globals.windows(2) {
        assert!(pair[0].address + pair[0].bytes + RED_ZONE <= pair[1].address);
    }
    let global = |name: &str| program.globals.iter().find(|g| g.name == name).expect("a global");
    assert_eq!(global("b").address % 256, 0);
    assert_eq!(global("c").address % 8, 0);
    let byte = |address: u64| program.image[(address - GLOBALS) as usize];
    assert_eq!((byte(global("a").address), byte(global("b").address)), (1, 2));
    assert!(global("e").constant && !global("c").constant);
}

#[test]
fn constants_are_exact() {
    let text = "
        long double quarter = 0.1L;
        __int128 wide = -((__int128)1 << 100) - 5;
        float not_a_number = __builtin_nanf(\"0x123\");
        unsigned _BitInt(65) odd = ((unsigned _BitInt(65))1 << 64) + 3;
        struct { char c; struct { short s; double d; } in[2]; } nested = {1, {{2, 3.5}, {4, 5.5}}};";
    let program = load_c(text, OBSERVED);
    let bytes = |name: &str| {
        let global = program.globals.iter().find(|g| g.name == name).expect("a global");
        let at = (global.address - GLOBALS) as usize;
        &program.image[at..at + global.bytes as usize]
    };
    let quarter = [0xcd, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xfb, 0x3f, 0, 0, 0, 0, 0, 0];
    assert_eq!(bytes("quarter"), quarter);
    assert_eq!(bytes("wide"), (-(1i128 << 100) - 5).to_le_bytes());
    assert_eq!(bytes("not_a_number"), 0x7fc0_0123u32.to_le_bytes());
    assert_eq!(bytes("odd")[..9], [3, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(bytes("nested")[8..24], [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0c, 0x40]);
}

#[test]
fn labels_are_numbered_tokens() {
    let text = "
        int f(int n) {
            static void *const table[] = {&&one, &&two};
            if (n < 0) return 0;
            goto *table[n];
        one: return 1;
        two: return 2;
        }";
    let program = load_c(text, OBSERVED);
    let f = program.function_named("f").expect("f");
    let table = program.globals.iter().find(|g| g.name == "table").expect("the table");
    let at = (table.address - GLOBALS) as usize;
    let entry = |i: usize| {
        let bytes = &program.image[at + 8 * i..at + 8 * i + 8];
        u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
    };
    let base = BLOCKS + u64::from(f.0) * BLOCKS_PER_FUNCTION;
    let Body { blocks, code, .. } = body(&program, "f");
    assert_eq!(blocks.len(), 2);
    for i in 0..2 {
        assert!((base..base + 2).contains(&entry(i)));
    }
    assert_ne!(entry(0), entry(1));
    assert!(code.iter().any(|inst| matches!(inst, Inst::IndirectJump { .. })));
}

#[test]
fn calls_carry_what_native_code_needs() {
    let text = "
        struct big { long w[4]; };
        int printf(const char *, ...);
        signed char take(struct big b, signed char c, unsigned short u, long double l);
        void f(struct big *b, short s) {
            take(*b, s, s, 1);
            printf(\"%d %f\", s, 1.0f);
        }";
    let program = load_c(text, OBSERVED);
    let take = calls_of(&program, "f", "take")[0];
    let abis: Vec<&Abi> = take.args.iter().map(|arg| &arg.abi).collect();
    assert_eq!(*abis[0], Abi::ByVal { bytes: 32, align: 8 });
    assert_eq!(*abis[1], Abi::Int { bits: 8, signed: true });
    assert_eq!(*abis[2], Abi::Int { bits: 16, signed: false });
    assert_eq!(*abis[3], Abi::F80);
    assert_eq!(take.result, Abi::Int { bits: 8, signed: true });
    let copied = |inst: &&Inst| matches!(inst, Inst::CopyToFrame { bytes: 32, .. });
    assert_eq!(body(&program, "f").code.iter().filter(copied).count(), 1);
    let printf = calls_of(&program, "f", "printf")[0];
    assert!(printf.variadic && printf.fixed == 1 && printf.args.len() == 3);
    assert_eq!(printf.args[2].abi, Abi::F64);
    assert!(function(&program, "printf").body.is_none());
    assert_eq!(function(&program, "take").signature.params[0], Abi::ByVal { bytes: 32, align: 8 });
}

#[test]
fn intrinsics_are_known_by_their_base_name() {
    let text = "
        int f(int a, long b, double d, char *p, char *q) {
            __builtin_memcpy(p, q, 10);
            int overflow; long wide;
            int one = __builtin_add_overflow(a, 3, &overflow);
            int two = __builtin_add_overflow(b, 3l, &wide);
            return one + two + __builtin_popcount(a) + __builtin_popcountl(b) + (int)__builtin_fabs(d);
        }";
    let program = load_c(text, OBSERVED);
    for name in ["llvm.memcpy", "llvm.sadd.with.overflow", "llvm.ctpop", "llvm.fabs"] {
        assert!(!calls_of(&program, "f", name).is_empty(), "{name}");
    }
    let widths: Vec<&Abi> =
        calls_of(&program, "f", "llvm.ctpop").iter().map(|c| &c.result).collect();
    assert_eq!(*widths[0], Abi::Int { bits: 32, signed: false });
    assert_eq!(*widths[1], Abi::Int { bits: 64, signed: false });
    let called = |c: &str| c.starts_with("llvm.dbg") || c.starts_with("llvm.lifetime");
    for (name, _) in support::call_paths(&program, "f") {
        assert!(!called(&name), "{name}");
    }
}

#[test]
fn vectors_of_intrinsics_are_taken_apart() {
    let text = "typedef float v4 __attribute__((vector_size(16)));
                v4 f(v4 a) { return __builtin_elementwise_sqrt(a); }";
    let program = load_c(text, OBSERVED);
    let calls = calls_of(&program, "f", "llvm.sqrt");
    assert_eq!(calls.len(), 4);
    assert!(calls.iter().all(|call| call.args[0].abi == Abi::F32 && call.result == Abi::F32));
}

#[test]
fn constructors_and_destructors_are_in_order() {
    let text = "
        __attribute__((constructor(300))) void c300(void) {}
        __attribute__((constructor(200))) void c200(void) {}
        __attribute__((constructor)) void last(void) {}
        __attribute__((destructor(200))) void d200(void) {}
        __attribute__((destructor(300))) void d300(void) {}
        __attribute__((destructor)) void first(void) {}";
    let program = load_c(text, OBSERVED);
    let names = |list: &[FunctionId]| -> Vec<String> {
        list.iter().map(|id| program.function(*id).name.clone()).collect()
    };
    assert_eq!(names(&program.constructors), ["c200", "c300", "last"]);
    assert_eq!(names(&program.destructors), ["first", "d300", "d200"]);
}

#[test]
fn functions_are_described() {
    let text = "
        int __VERIFIER_atomic_inc(void) { return 1; }
        void __VERIFIER_atomic_begin(void) {}
        extern int maybe(void) __attribute__((weak));
        static int called(void) { return 1; }
        static int taken(void) { return 2; }
        int renamed(void) __attribute__((alias(\"target\")));
        int target(void) { return 3; }
        int (*pointer)(void) = taken;
        int main(void) { return called() + (maybe ? maybe() : 0) + renamed(); }";
    let program = load_c(text, OBSERVED);
    assert!(body(&program, "__VERIFIER_atomic_inc").atomic);
    assert!(!body(&program, "__VERIFIER_atomic_begin").atomic);
    assert!(function(&program, "maybe").weak && function(&program, "maybe").body.is_none());
    // Whether it is defined, and where, only the VM can find out.
    let maybe = program.external_data.iter().find(|data| data.name == "maybe").expect("maybe");
    assert!(maybe.weak && !maybe.uses.is_empty());
    assert!(function(&program, "taken").address_taken);
    assert!(!function(&program, "called").address_taken);
    assert_eq!(program.function_named("renamed"), program.function_named("target"));
    assert_eq!(calls_of(&program, "main", "target").len(), 1);
    assert_eq!(program.main, program.function_named("main"));
    let address = program.function_named("taken").expect("taken").address();
    assert_eq!(program.function_at(address), program.function_named("taken"));
}

#[test]
fn thread_locals_are_offsets() {
    let text = "__thread int a = 5; __thread long b[2] = {6, 7}; extern __thread int there;
                int f(int i) { a++; there = 2; return (int)b[i]; } int *g(void) { return &a; }";
    let program = load_c(text, OBSERVED);
    let locals = &program.thread_local_globals;
    let (a, b) = (&locals[0], &locals[1]);
    assert_eq!((&*a.name, a.address, &*b.name, b.address), ("a", 0, "b", 16));
    assert_eq!((program.thread_locals[0], program.thread_locals[16]), (5, 6));
    let code = &body(&program, "f").code;
    assert!(code.iter().any(|inst| matches!(inst, Inst::ThreadLocal { offset: 0, .. })));
    assert!(code.iter().any(|inst| matches!(inst, Inst::ThreadLocal { offset: 16, .. })));
    let external = code.iter().find_map(|inst| match inst {
        Inst::ExternalThreadLocal { external, .. } => Some(*external),
        _ => None,
    });
    let external = external.expect("an access to a library's variable");
    assert_eq!(program.external_data[external as usize].name, "there");
}

#[test]
fn direct_uses_of_thread_locals_work() {
    let text = "
        target triple = \"x86_64-pc-linux-gnu\"
        @a = thread_local global [4 x i32] zeroinitializer
        @b = thread_local global i32 3
        define i32 @f() {
          store i32 1, ptr getelementptr inbounds ([4 x i32], ptr @a, i64 0, i64 2)
          %v = load i32, ptr @b
          ret i32 %v
        }";
    let program = load_ir(text);
    let code = &body(&program, "f").code;
    assert!(code.iter().any(|inst| matches!(inst, Inst::ThreadLocal { offset: 8, .. })));
    assert!(code.iter().any(|inst| matches!(inst, Inst::ThreadLocal { offset: 16, .. })));
}

#[test]
fn exceptions_land_with_their_clauses() {
    let text = "
        struct Own { int x; };
        void may();
        int f() {
            try { may(); } catch (Own &own) { return own.x; } catch (int i) { return i; }
            catch (...) { return 3; }
            return 4;
        }
        void strict() throw(int) { may(); }
        struct Guard { ~Guard(); };
        void cleaned() { Guard guard; may(); }";
    let mut flags = OBSERVED.to_vec();
    flags.push("-std=c++14");
    let program = load_text(text, "test.cpp", &flags);
    let pad = |name: &str| {
        let body = body(&program, name);
        let (_, landing) = body.unwind[0];
        match body.code[landing as usize] {
            Inst::LandingPad { pad, .. } => &program.landing_pads[pad as usize],
            other => panic!("{other:?} is no landing pad"),
        }
    };
    let catches = &pad("_Z1fv").clauses;
    assert!(matches!(catches[0], Clause::Catch(TypeInfo::At(address)) if address >= GLOBALS));
    let Clause::Catch(TypeInfo::External(int)) = catches[1] else { panic!("{catches:?}") };
    assert_eq!(program.external_data[int as usize].name, "_ZTIi");
    assert!(matches!(catches[2], Clause::Catch(TypeInfo::Any)));
    let filters = &pad("_Z6strictv").clauses;
    assert!(
        matches!(&filters[0], Clause::Filter(types) if matches!(types[..], [TypeInfo::External(_)]))
    );
    assert!(pad("_Z7cleanedv").cleanup);
}

#[test]
fn variadic_arguments_by_instruction() {
    let text = "
        target triple = \"x86_64-pc-linux-gnu\"
        define x86_fp80 @f(ptr %list) {
          %i = va_arg ptr %list, i32
          %l = va_arg ptr %list, x86_fp80
          ret x86_fp80 %l
        }";
    let program = load_ir(text);
    assert!(traps(&program).is_empty());
    let code = &body(&program, "f").code;
    // The list is read and written twice; the second argument is aligned.
    assert_eq!(code.iter().filter(|inst| matches!(inst, Inst::Store64 { .. })).count(), 2);
    assert!(code.iter().any(|inst| matches!(inst, Inst::LoadN { bytes: 10, .. })));
    assert!(code.iter().any(|inst| matches!(inst, Inst::And { .. })));
}

#[test]
fn atomics_keep_their_width_and_kind() {
    let text = "
        #include <stdatomic.h>
        _Atomic char c; _Atomic(int *) p; _Atomic long l; _Alignas(16) __int128 wide;
        void f(int *q) {
            int *expected = 0;
            c += 1;
            atomic_compare_exchange_strong(&p, &expected, q);
            l = atomic_load(&l);
            __sync_val_compare_and_swap(&wide, 1, 2);
        }";
    let program = load_c(text, OBSERVED);
    let code = &body(&program, "f").code;
    assert!(code.iter().any(|inst| matches!(inst, Inst::Rmw { bits: 8, .. })));
    assert!(code.iter().any(|inst| matches!(inst, Inst::CmpXchg { bits: 64, .. })));
    assert!(code.iter().any(|inst| matches!(inst, Inst::CmpXchg { bits: 128, .. })));
    for inst in code {
        if let (Inst::Load64 { .. } | Inst::Store64 { .. }, Some(site)) = (inst, site(inst)) {
            assert_eq!(program.accesses[site.index()].kind, AccessKind::Atomic);
        }
    }
}

#[test]
fn what_is_not_supported_traps_with_a_reason() {
    let text = "
        target triple = \"x86_64-pc-linux-gnu\"
        define i256 @wide(i256 %a) {
          %b = add i256 %a, %a
          ret i256 %b
        }
        define half @small(half %a) {
          %b = fmul half %a, %a
          ret half %b
        }";
    let program = load_ir(text);
    let traps = traps(&program);
    assert_eq!(traps.len(), 2);
    assert!(traps[0].contains("add") && traps[0].contains("i256"), "{traps:?}");
    assert!(traps[1].contains("fmul"), "{traps:?}");
}

#[test]
fn optimised_code_is_well_formed() {
    let text = "
        #include <stdlib.h>
        #include <string.h>
        long sum(const int *a, int n) { long s = 0; for (int i = 0; i < n; i++) s += a[i] > 3 ? a[i] : -1; return s; }
        void fill(float *a, int n) { for (int i = 0; i < n; i++) a[i] = i * 0.5f; }
        int count(const char *s) { int n = 0; for (; *s; s++) n += *s == 'x'; return n; }
        int max(const short *a, int n) { int m = -32768; for (int i = 0; i < n; i++) if (a[i] > m) m = a[i]; return m; }";
    for flags in [OPTIMISED, support::VECTORISED, &["-O3", "-mavx512f", "-mavx512vl"]] {
        let program = load_c(text, flags);
        assert_eq!(traps(&program), Vec::<String>::new(), "{flags:?}");
    }
}
