//! Inline assembly: understood, compiled to machine code, or trapped.

mod support;

use unravel_code::{Inst, MachineCode, Program};

use support::{
    OBSERVED, OPTIMISED, VECTORISED, access_paths, body, call_paths, load_c, load_ir, traps,
};

fn machine_codes(program: &Program) -> Vec<&MachineCode> {
    program.functions.iter().filter_map(|f| f.machine_code.as_ref()).collect()
}

#[test]
fn barriers_and_hints_are_understood() {
    let text = r#"
        int f(int x) {
            __asm__ volatile("" : "+r"(x) : : "memory");
            __asm__ volatile("mfence" ::: "memory");
            __asm__ volatile("pause");
            __asm__ volatile("prefetcht0 %0" : : "m"(x));
            return x;
        }"#;
    let program = load_c(text, OBSERVED);
    let code = &body(&program, "f").code;
    assert!(code.iter().any(|inst| matches!(inst, Inst::Fence { .. })));
    assert!(code.iter().any(|inst| matches!(inst, Inst::SpinHint { .. })));
    assert_eq!(traps(&program), Vec::<String>::new());
    assert_eq!(machine_codes(&program).len(), 0);
}

#[test]
fn everything_else_is_compiled_at_every_level() {
    let text = r#"
        #include <stdint.h>
        typedef float v4 __attribute__((vector_size(16)));
        int cas(int *p, int old, int new) {
            __asm__ volatile("lock; cmpxchgl %2, %1" : "+a"(old), "+m"(*p) : "r"(new) : "memory", "cc");
            return old;
        }
        void id(unsigned leaf, unsigned out[4]) {
            __asm__ volatile("cpuid" : "=a"(out[0]), "=b"(out[1]), "=c"(out[2]), "=d"(out[3]) : "0"(leaf), "2"(0));
        }
        void mixed(uint64_t x, char *a, short *b, int *c, uint64_t *d) {
            __asm__("movb %b4, %0\n\tmovw %w4, %1\n\tmovl %k4, %2\n\tmovq %4, %3"
                    : "=&q"(*a), "=&r"(*b), "=&r"(*c), "=&r"(*d) : "r"(x));
        }
        double root(double x) { __asm__("sqrtsd %0, %0" : "+x"(x)); return x; }
        long double tenth(void) { long double x; __asm__("fldlg2" : "=t"(x)); return x; }
        v4 square(v4 x) { __asm__("mulps %0, %0" : "+x"(x)); return x; }
        int shift(int x) { __asm__("shll %1, %0" : "+r"(x) : "I"(4) : "cc"); return x; }
        int carry(unsigned a, unsigned b) {
            int c;
            __asm__("addl %2, %1" : "=@ccc"(c), "+r"(a) : "r"(b));
            return c;
        }
        long loop(long n) {
            __asm__("1:\tdecq %0\n\tjnz 1b" : "+r"(n) : : "rbx", "r12", "r13", "r14", "r15", "cc");
            return n;
        }"#;
    for flags in [OBSERVED, OPTIMISED, VECTORISED] {
        let program = load_c(text, flags);
        assert_eq!(traps(&program), Vec::<String>::new(), "with {flags:?}");
        let codes = machine_codes(&program);
        assert_eq!(codes.len(), 9, "with {flags:?}");
        assert!(codes.iter().all(|code| code.bytes.ends_with(&[0xc3])), "all return");
    }
}

#[test]
fn other_dialects_and_wider_registers() {
    let text = r#"
        typedef int v8 __attribute__((vector_size(32)));
        v8 twice(v8 x) { __asm__("vpaddd %0, %0, %0" : "+x"(x)); return x; }
        int next(int x) { __asm__("inc %0" : "+r"(x)); return x; }"#;
    let program = load_c(text, &["-O0", "-mavx2", "-masm=intel", "-w"]);
    assert_eq!(traps(&program), Vec::<String>::new());
    assert_eq!(machine_codes(&program).len(), 2);
}

#[test]
fn equal_assembly_is_compiled_once() {
    let text = r#"
        #define ADD(to, by) __asm__ volatile("addl %1, %0" : "+m"(to) : "ri"(by) : "cc")
        void f(int *a, int *b, long *c, int n) {
            ADD(*a, n); ADD(*b, n);
            ADD(*a, 1); ADD(*b, 1); ADD(*b, 2);
            ADD(*c, n);
        }"#;
    let program = load_c(text, OBSERVED);
    assert_eq!(traps(&program), Vec::<String>::new());
    // By a variable, by 1, by 2, and to a long.
    assert_eq!(machine_codes(&program).len(), 4);
    let calls = call_paths(&program, "f");
    assert_eq!(calls.len(), 6);
    assert!(calls.iter().all(|(name, _)| name == "inline assembly"));
    assert_eq!(calls[1].1.as_deref(), Some("*b"));
    assert_eq!(access_paths(&program, "f"), Vec::<String>::new());
}

#[test]
fn what_the_vm_must_know() {
    let text = r#"
        int bits(int x) { __asm__("bsfl %0, %0" : "+r"(x)); return x; }
        void memory(long *p, int n) { __asm__("xaddl %0, %1" : "+r"(n), "+m"(*p)); }
        void pointer(long *p) { __asm__ volatile("incq (%0)" : : "r"(p)); }
        void clobber(void) { __asm__ volatile("cpuid" ::: "eax", "ebx", "ecx", "edx", "memory"); }
        int time(void) { int x; __asm__ volatile("rdtsc" : "=a"(x) : : "edx"); return x; }"#;
    let program = load_c(text, OBSERVED);
    assert_eq!(traps(&program), Vec::<String>::new());
    let known: Vec<_> = machine_codes(&program)
        .iter()
        .map(|code| (code.memory.clone(), code.visible, code.reads_time))
        .collect();
    assert_eq!(known[0], (vec![0], false, false));
    // Read and written memory is two operands, with the number to add between them.
    assert_eq!(known[1], (vec![8, 0, 8], true, false));
    assert_eq!(known[2], (vec![0], true, false));
    assert_eq!(known[3], (vec![], true, false));
    assert_eq!(known[4], (vec![], false, true));
}

#[test]
fn what_cannot_be_compiled_traps() {
    let text = r#"
        extern int there;
        void symbol(void) { __asm__ volatile("incl there(%rip)"); }
        void call(void) { __asm__ volatile("call puts@PLT" ::: "memory"); }
        void data(void) { __asm__ volatile(".section .mine,\"a\"; .long 7; .previous; nop"); }
        void nonsense(void) { __asm__ volatile("frobnicate %rax"); }
        void greedy(void) { int x; __asm__ volatile("incl %0" : "=r"(x) : : "rax", "rbx", "rcx", "rdx", "rsi",
            "rdi", "rbp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"); }
        long kernel(long n) { __asm__ volatile("syscall" : "+a"(n) : : "rcx", "r11", "memory"); return n; }
        long chance(void) { long n; __asm__ volatile("rdrand %0" : "=r"(n)); return n; }
        void fine(void) { int x = 0; __asm__ volatile("incl %0" : "+r"(x)); }"#;
    let program = load_c(text, OBSERVED);
    let traps = traps(&program);
    let expected = [
        ("symbol: inline assembly 'incl there(%rip)'", "it refers to a symbol"),
        ("call: inline assembly 'call puts@PLT'", "it refers to a symbol"),
        ("data: inline assembly", "the section .mine"),
        ("nonsense: inline assembly 'frobnicate %rax'", "invalid instruction mnemonic"),
        ("greedy: inline assembly", "more registers than available"),
        ("kernel: inline assembly 'syscall'", "because of 'syscall'"),
        ("chance: inline assembly 'rdrand $0'", "because of 'rdrand'"),
    ];
    assert_eq!(traps.len(), expected.len(), "{traps:#?}");
    for (trap, (start, reason)) in traps.iter().zip(expected) {
        assert!(trap.starts_with(start) && trap.contains(reason), "{trap}");
    }
    // One that fails does not spoil the next.
    assert_eq!(machine_codes(&program).len(), 1);
}

#[test]
fn impossible_constraints_trap() {
    let text = r#"
        target triple = "x86_64-pc-linux-gnu"
        define i32 @f(i32 %x) {
          %y = call i32 asm "addl $1, $0", "=r,i,0"(i32 %x, i32 %x)
          ret i32 %y
        }
        define <8 x i1> @g(<8 x i1> %x) {
          %y = call <8 x i1> asm "knotb $0, $0", "=^Yk,0"(<8 x i1> %x)
          ret <8 x i1> %y
        }"#;
    let program = load_ir(text);
    let traps = traps(&program);
    assert_eq!(traps.len(), 2, "{traps:#?}");
    assert!(traps[0].contains("invalid operand for inline asm constraint 'i'"), "{traps:#?}");
    assert!(traps[1].contains("a vector whose elements are not whole bytes"), "{traps:#?}");
}
