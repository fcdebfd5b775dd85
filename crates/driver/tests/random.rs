//! Random programs: what is decoded is what happened. `UNRAVEL_RANDOM_PROGRAMS` says how many.

mod support;

use std::fmt::Write;

use support::build;

/// xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// Functions that call those after them and themselves, with every kind of statement; a counter bounds the run.
struct Writer {
    random: Random,
    text: String,
    functions: u64,
    function: u64,
    /// Names that loops of the function have used.
    names: u32,
}

impl Writer {
    fn program(seed: u64) -> String {
        let random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut writer =
            Writer { random, text: String::new(), functions: 0, function: 0, names: 0 };
        writer.functions = 2 + writer.random.below(6);
        writer.text.push_str(
            "#include <pthread.h>\n#include <setjmp.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
             static __thread int fuel = 3000;\nstatic __thread unsigned seed = 1;\n\
             static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\nstatic volatile int data[16];\n\
             static unsigned next(void) { seed = seed * 1103515245u + 12345u; return seed >> 16; }\n\
             static int compare(const void *a, const void *b) { return *(const int *)a < *(const int *)b ? -1 : 1; }\n",
        );
        for f in 0..writer.functions {
            let kind = if writer.random.below(2) == 0 { "static " } else { "" };
            let _ = writeln!(writer.text, "{kind}int f{f}(int a, int b);");
        }
        for f in 0..writer.functions {
            writer.function = f;
            let kind = if writer.text.contains(&format!("static int f{f}(int a, int b);")) {
                "static "
            } else {
                ""
            };
            let _ = writeln!(
                writer.text,
                "{kind}int f{f}(int a, int b)\n{{\nif (fuel-- <= 0) return a;"
            );
            writer.block(3);
            writer.text.push_str("return a + b;\n}\n");
        }
        writer.text.push_str(
            "static void *run(void *n) { seed = (unsigned)(long)n + 1; \
             for (int i = 0; i < 30 && fuel > 0; i++) data[i & 15] += f0(i, (int)(long)n); return 0; }\n\
             int main(void) { pthread_t t[2]; for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, run, (void *)(i + 1)); \
             run(0); for (int i = 0; i < 2; i++) pthread_join(t[i], 0); printf(\"%d\\n\", data[3]); return 0; }\n",
        );
        writer.text
    }

    fn block(&mut self, depth: u32) {
        for _ in 0..1 + self.random.below(4) {
            self.statement(depth);
        }
    }

    fn condition(&mut self) -> String {
        match self.random.below(5) {
            0 => "a > b".to_owned(),
            1 => format!("a % {} == 0", 2 + self.random.below(5)),
            2 => "next() & 1".to_owned(),
            3 => format!("data[a & 15] > {}", self.random.below(50)),
            _ => "a < 100 && b != 3".to_owned(),
        }
    }

    fn statement(&mut self, depth: u32) {
        let kind = if depth == 0 { self.random.below(4) } else { self.random.below(13) };
        let name = self.names;
        let condition = self.condition();
        match kind {
            0 => self.text.push_str("a = a * 3 + (int)next() % 7;\n"),
            1 => self.text.push_str("b ^= data[(unsigned)a & 15];\n"),
            2 => self.text.push_str("data[(unsigned)b & 15] = a;\n"),
            3 => {
                let callee = self.random.below(self.functions);
                let _ = writeln!(self.text, "if (fuel > 0) a += f{callee}(b, a & 31);");
            }
            4 | 5 => {
                let _ = writeln!(self.text, "if ({condition}) {{");
                self.block(depth - 1);
                self.text.push_str("} else {\n");
                self.block(depth - 1);
                self.text.push_str("}\n");
            }
            6 => {
                self.names += 1;
                let most = 1 + self.random.below(9);
                let _ = writeln!(self.text, "for (int i{name} = 0; i{name} < {most}; i{name}++) {{");
                self.block(depth - 1);
                if self.random.below(3) == 0 {
                    let _ = writeln!(self.text, "if ({condition}) break;");
                }
                self.text.push_str("}\n");
            }
            7 => {
                self.names += 1;
                let _ = writeln!(self.text, "for (int i{name} = 0; i{name} < (a & 300); i{name}++) b += i{name} ^ (b >> 1);");
            }
            8 => {
                let _ = writeln!(self.text, "while (fuel-- > 0 && ({condition})) {{\na = (int)(next() % 200);");
                self.block(depth - 1);
                self.text.push_str("}\n");
            }
            9 => {
                // As in an interpreter: many short ways to the end of a loop.
                let dispatches = self.random.below(3) == 0;
                let cases = if dispatches { 8 } else { 2 } + self.random.below(4);
                if dispatches {
                    self.text.push_str("while (fuel-- > 0) {\na = (int)(next() % 200);\n");
                }
                let _ = writeln!(self.text, "switch ((unsigned)a % {}) {{", cases + 2);
                for case in 0..cases {
                    let _ = writeln!(self.text, "case {case}:");
                    self.block(if dispatches { depth.min(2) - 1 } else { depth - 1 });
                    if self.random.below(3) > 0 {
                        self.text.push_str("break;\n");
                    }
                }
                self.text.push_str("default: b++;\n}\n");
                if dispatches {
                    self.text.push_str("}\n");
                }
            }
            10 => self.text.push_str("pthread_mutex_lock(&lock); if (a & 1) b++; pthread_mutex_unlock(&lock);\n"),
            11 => self.text.push_str(
                "{ int s[6]; for (int i = 0; i < 6; i++) s[i] = (int)next() % 9; qsort(s, 6, sizeof s[0], compare); b += s[2]; }\n",
            ),
            _ => {
                self.names += 1;
                let _ = writeln!(
                    self.text,
                    "{{ jmp_buf j{name}; volatile int n{name} = 0; if (setjmp(j{name}) < 3) {{ n{name}++; \
                     if (n{name} < 4 && ({condition})) longjmp(j{name}, n{name}); }} else b--; }}"
                );
            }
        }
    }
}

#[test]
fn random_programs_decode_exactly() {
    let count =
        std::env::var("UNRAVEL_RANDOM_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    let first = std::env::var("UNRAVEL_RANDOM_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let mut branches = 0;
    for seed in first..first + count {
        let text = Writer::program(seed);
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("random.c");
        std::fs::write(&path, &text).expect("the program is written");
        let level = ["-O2", "-O1", "-O3", "-O0"][seed as usize % 4];
        let built = build(&[level, "-w", path.to_str().expect("plain")]);
        let status = built.run(&[], 0);
        assert!(status.success(), "seed {seed} {level}: {status}\n{text}");
        branches += built.assert_exact(&format!("seed {seed} {level}"));
    }
    println!("{count} programs, {branches} branches");
}
