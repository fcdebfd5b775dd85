//! Random C programs that compute: integers of all widths, floats, arrays, structs, pointers, calls, recursion and jumps.
//!
//! Functions call those before them, loops are counted, so that every program ends, though some fail on the way: by a
//! division, an index, a null pointer. Now and then two threads run the same code, unprotected. What was computed is printed.

use unravel_trace::Rng;

const HEAD: &str = "\
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct small { int a; short b; char c; };
struct large { double x; int64_t y; uint32_t z[5]; float w; };
static uint8_t bytes[61];
static uint32_t words[37];
static int64_t longs[16];
static double reals[9];
static int g;
static char h;
static struct small s;
static struct large l;
static jmp_buf back;
static int depth(int n, int *at) { int here = n; *at += here; return n < 1 ? *at : depth(n - 1, &here) + n; }
static struct small make(int a, int b) { struct small made = { a, (short)b, (char)(a ^ b) }; return made; }
static struct large grow(struct large from, int by) { from.y += by; from.z[by & 3] ^= (uint32_t)by; from.x *= 1.5; return from; }
static long take(struct small a, const struct large *b) { return a.a + a.b * 3 + a.c + (long)b->y + b->z[1]; }
";

/// Types of variables: name, and whether it is an integer.
const TYPES: [(&str, bool); 10] = [
    ("int8_t", true),
    ("uint8_t", true),
    ("int16_t", true),
    ("uint16_t", true),
    ("int32_t", true),
    ("uint32_t", true),
    ("int64_t", true),
    ("uint64_t", true),
    ("float", false),
    ("double", false),
];

struct Maker<'a> {
    rng: &'a mut Rng,
    /// Functions so far.
    functions: u32,
    /// How many loops are open, and how many statements may still be made.
    loops: u32,
    left: u32,
    /// Whether divisions and indices may go wrong.
    careless: bool,
}

/// A program that depends on nothing but the generator.
pub fn program(rng: &mut Rng) -> String {
    let careless = rng.below(6) == 0;
    let mut maker = Maker { rng, functions: 0, loops: 0, left: 0, careless };
    let mut source = HEAD.to_owned();
    for _ in 0..2 + maker.rng.below(4) {
        source += &maker.function();
    }
    let last = maker.functions - 1;
    source += &format!(
        "static void *work(void *a) {{ return (void *)(long)f{last}((int)(long)a, &g); }}\n"
    );
    source +=
        "int main(int argc, char **argv)\n{\n\tint n = argc + 3;\n\tlong sum = 0;\n\t(void)argv;\n";
    if maker.rng.below(3) == 0 {
        source += "\tpthread_t t[2];\n\tfor (long i = 0; i < 2; i++) pthread_create(&t[i], 0, work, (void *)(i + 2));\n";
        source += "\tfor (int i = 0; i < 2; i++) pthread_join(t[i], 0);\n";
    }
    for number in 0..maker.functions {
        source += &format!("\tsum = sum * 31 + f{number}(n + {number}, &n);\n");
    }
    source += "\tfor (int i = 0; i < 37; i++) sum = sum * 7 + words[i];\n";
    source += "\tfor (int i = 0; i < 61; i++) sum += bytes[i];\n";
    source += "\tprintf(\"%ld %d %d %g %ld\\n\", sum, g, h, reals[3] + l.x, longs[2] + s.b);\n";
    source + "\treturn (int)(sum & 63);\n}\n"
}

impl Maker<'_> {
    fn function(&mut self) -> String {
        self.left = 6 + self.rng.below(14);
        let mut text = format!("static long f{}(int n, int *p)\n{{\n", self.functions);
        for (number, (name, _)) in TYPES.iter().enumerate() {
            let first = self.rng.below(200);
            text += &format!("\t{name} v{number} = ({name}){first};\n");
        }
        text += "\tint local[8] = { 1, 2, 3 };\n\tint seen = 0, i0 = 0, i1 = 0, i2 = 0;\n";
        text += "\tstruct small a = make(n, 3);\n\tstruct large b = grow(l, n);\n";
        while self.left > 0 {
            text += &self.statement(1);
        }
        text += "\t(void)i0; (void)i1; (void)i2; (void)p;\n";
        text += "\treturn (long)(v0 + v1 + v2 + v3) + v4 + v5 + (long)v6 + (long)v7 + (long)v8 + seen + local[n & 7] + take(a, &b);\n}\n";
        self.functions += 1;
        text
    }

    fn statement(&mut self, indent: usize) -> String {
        self.left = self.left.saturating_sub(1);
        let tab = "\t".repeat(indent);
        let text = match self.rng.below(22) {
            0..=4 => self.assignment(),
            5 | 6 if self.loops < 3 => return self.counted_loop(indent),
            7 => {
                let (condition, then) = (self.condition(), self.block(indent));
                let other = self.block(indent);
                format!("if ({condition}) {then} else {other}")
            }
            8 => self.switch(),
            9 => {
                let (index, value) = (self.index(37), self.integer(2));
                format!("words[{index}] ^= (uint32_t){value};")
            }
            10 => {
                let (index, from) = (self.index(61), self.index(61));
                format!("bytes[{index}] = bytes[{from}] + (uint8_t)v{};", self.rng.below(8))
            }
            11 => {
                let (index, value) = (self.index(16), self.integer(2));
                format!("longs[{index}] += {value};")
            }
            12 => {
                let (index, value) = (self.index(9), self.real(2));
                format!("reals[{index}] = {value};")
            }
            13 => {
                let index = self.index(8);
                let value = self.integer(1);
                format!("local[{index}] += (int){value}; seen ^= local[(n + 1) & 7];")
            }
            14 => format!("g += (int){}; h = (char)(h + g);", self.integer(1)),
            15 if self.functions > 0 && self.loops < 2 => {
                let callee = self.rng.below(self.functions);
                let by = self.rng.below(5);
                format!("seen += (int)f{callee}(n - {by}, &seen);")
            }
            16 => format!("a = make((int){}, seen); seen += a.b;", self.integer(1)),
            17 => "b = grow(b, seen & 15); l = b; *p += (int)b.y;".into(),
            18 => format!(
                "seen += depth({}, &seen);",
                self.rng.below(if self.loops > 0 { 9 } else { 300 })
            ),
            19 => {
                let bytes = 8 + self.rng.below(40);
                format!(
                    "{{ char *m = malloc({bytes}); memset(m, seen, {bytes}); m[n & 7] = 1; seen += m[{}]; memcpy(bytes, m, 8); free(m); }}",
                    self.rng.below(8)
                )
            }
            20 => format!(
                "if (!setjmp(back)) {{ seen++; if ({}) longjmp(back, 1); }} else seen += 5;",
                self.condition()
            ),
            _ => {
                let value = self.integer(2);
                format!("*p = (int)({value}); v6 += *p;")
            }
        };
        format!("{tab}{text}\n")
    }

    fn block(&mut self, indent: usize) -> String {
        let mut text = "{\n".to_owned();
        for _ in 0..1 + self.rng.below(2) {
            text += &self.statement(indent + 1);
        }
        text + &"\t".repeat(indent) + "}"
    }

    fn counted_loop(&mut self, indent: usize) -> String {
        let tab = "\t".repeat(indent);
        let (variable, rounds) =
            (self.loops, 1 + self.rng.below(if self.loops == 0 { 60 } else { 9 }));
        self.loops += 1;
        let body = self.block(indent);
        self.loops -= 1;
        let leave = match self.rng.below(3) {
            0 => format!("\n{tab}\tif (v5 % 97 == {variable}) break;"),
            _ => String::new(),
        };
        let body = body.replacen('{', &format!("{{{leave}"), 1);
        format!("{tab}for (i{variable} = 0; i{variable} < {rounds}; i{variable}++) {body}\n")
    }

    fn switch(&mut self) -> String {
        let value = self.integer(1);
        let far = 1 + self.rng.below(1000);
        let (first, second) = (self.assignment(), self.assignment());
        format!(
            "switch ({value} & 7) {{ case 0: {first} break; case 1: seen++; /* falls */ case 5: {second} break; case {far} * 8 + 2: g--; break; default: seen ^= 3; }}"
        )
    }

    fn assignment(&mut self) -> String {
        let to = self.rng.below(TYPES.len() as u32) as usize;
        let (name, is_integer) = TYPES[to];
        let value = if is_integer { self.integer(3) } else { self.real(3) };
        format!("v{to} = ({name})({value});")
    }

    fn index(&mut self, length: u32) -> String {
        if self.careless && self.rng.below(9) == 0 {
            return format!("(v5 % {})", length + 3);
        }
        match self.rng.below(3) {
            0 => self.rng.below(length).to_string(),
            1 if self.loops > 0 && length > 8 => format!("(i{} % {length})", self.loops - 1),
            _ => format!("((unsigned)({}) % {length})", self.integer(1)),
        }
    }

    fn condition(&mut self) -> String {
        if self.rng.below(4) == 0 {
            let operator = *self.rng.pick(&["<", ">", "<=", ">=", "==", "!="]);
            return format!("{} {operator} {}", self.real(1), self.real(1));
        }
        let operator = *self.rng.pick(&["<", ">", "<=", ">=", "==", "!="]);
        let (name, _) = TYPES[self.rng.below(8) as usize];
        format!("({name})({}) {operator} ({name})({})", self.integer(1), self.integer(1))
    }

    /// An expression of some integer type.
    fn integer(&mut self, depth: u32) -> String {
        if depth == 0 || self.rng.below(4) == 0 {
            return match self.rng.below(9) {
                0 => self.rng.below(300).to_string(),
                1 => "n".into(),
                2 => format!("{}LL", i64::from(self.rng.below(u32::MAX)) << self.rng.below(31)),
                3 => "seen".into(),
                4 => format!("words[{}]", self.rng.below(37)),
                _ => format!("v{}", self.rng.below(8)),
            };
        }
        let (name, _) = TYPES[self.rng.below(8) as usize];
        let (a, b) = (self.integer(depth - 1), self.integer(depth - 1));
        match self.rng.below(16) {
            0..=2 => format!("(({name})({a}) + ({name})({b}))"),
            3 => format!("(({name})({a}) - ({name})({b}))"),
            4 | 5 => format!("(({name})({a}) * ({name})({b}))"),
            6 => format!("(({name})({a}) & ({name})({b}))"),
            7 => format!("(({name})({a}) ^ ({name})({b}))"),
            8 => format!("(({name})({a}) << (({b}) & {}))", if self.careless { 63 } else { 15 }),
            9 => format!("(({name})({a}) >> (({b}) & {}))", if self.careless { 63 } else { 15 }),
            10 | 11 => {
                let (operator, safe) =
                    (*self.rng.pick(&["/", "%"]), if self.careless { 0 } else { 1 });
                format!("(({name})({a}) {operator} ({name})(({b}) | {safe}))")
            }
            12 => format!("({} ? {a} : {b})", self.condition()),
            13 => format!("(({name})({}))", self.real(depth - 1)),
            14 => format!("(int64_t)(((__int128)({a}) * ({b})) >> 7)"),
            _ => format!("-({name})({a})"),
        }
    }

    /// An expression of a floating-point type.
    fn real(&mut self, depth: u32) -> String {
        let name = *self.rng.pick(&["float", "double", "double", "long double"]);
        if depth == 0 || self.rng.below(4) == 0 {
            return match self.rng.below(6) {
                0 => format!("{}.{}", self.rng.below(50), self.rng.below(100)),
                1 => "v8".into(),
                2 => "v9".into(),
                3 => format!("reals[{}]", self.rng.below(9)),
                4 => format!("({name})(v{})", self.rng.below(8)),
                _ => "l.w".into(),
            };
        }
        let (a, b) = (self.real(depth - 1), self.real(depth - 1));
        let name = if self.rng.below(8) == 0 { name } else { "double" };
        match self.rng.below(8) {
            0 | 1 => format!("(({name})({a}) + ({name})({b}))"),
            2 => format!("(({name})({a}) - ({name})({b}))"),
            3 | 4 => format!("(({name})({a}) * ({name})({b}))"),
            5 => format!("(({name})({a}) / ({name})({b}))"),
            6 => format!("-({a})"),
            _ => format!("(float)({a})"),
        }
    }
}
