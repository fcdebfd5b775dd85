//! Measures woven into real code: on every path, what is inside of a span is guarded and nothing else is.

mod support;

use unravel_code::weave::{Measure, Span, WeaveError, weave};
use unravel_code::{Body, FunctionId, Inst, Program, disassemble};
use unravel_trace::{Rng, Site};

use support::{OBSERVED, OPTIMISED, check, load_c, load_file, load_ir, source};

/// The locks of these tests.
const LOCKS: [u32; 2] = [1, 2];
type Held = [bool; LOCKS.len()];

fn is_in(span: &Span, site: &Site) -> bool {
    let places = [&site.place].into_iter().chain(&site.inlined_at);
    places.into_iter().any(|place| {
        let at = (place.line, place.column);
        *place.file == *span.file && span.from <= at && at < span.to
    })
}

/// What is held at each instruction of a body, which must be the same on every path to it.
struct Paths<'p> {
    program: &'p Program,
    /// Functions from here on belong to the measures.
    first_own: u32,
    body: &'p Body,
    function: FunctionId,
    spans: &'p [Span],
    held: Vec<Option<Held>>,
    open: Vec<usize>,
}

impl Paths<'_> {
    fn context(&self) -> String {
        format!("{:?}\n{}", self.spans, disassemble(self.program, self.function))
    }

    fn go(&mut self, to: u32, held: Held) {
        match self.held[to as usize] {
            None => {
                self.held[to as usize] = Some(held);
                self.open.push(to as usize);
            }
            Some(before) => assert_eq!(before, held, "two ways to {to} of {}", self.context()),
        }
    }

    /// Follows every edge.
    fn walk(&mut self) {
        self.go(0, [false; LOCKS.len()]);
        while let Some(at) = self.open.pop() {
            let held = self.held[at].expect("was reached");
            self.step(at, held);
        }
    }

    fn step(&mut self, at: usize, held: Held) {
        let body = self.body;
        let thrown = body.unwind.iter().filter(|(call, _)| *call as usize == at);
        thrown.for_each(|(_, pad)| self.go(*pad, held));
        match body.code[at] {
            Inst::Jump { to } => self.go(to, held),
            Inst::Branch { then, other, .. }
            | Inst::BranchEq { then, other, .. }
            | Inst::BranchNe { then, other, .. }
            | Inst::BranchSlt32 { then, other, .. }
            | Inst::BranchSlt64 { then, other, .. }
            | Inst::BranchUlt { then, other, .. } => {
                self.go(then, held);
                self.go(other, held);
            }
            Inst::Switch { table, .. } => {
                let switch = &self.program.switches[table as usize];
                switch.cases.values().chain([&switch.default]).for_each(|to| self.go(*to, held));
            }
            Inst::IndirectJump { .. } => body.blocks.iter().for_each(|to| self.go(*to, held)),
            Inst::Return { .. } | Inst::ReturnVoid | Inst::Resume { .. } => {
                assert_eq!(held, [false; LOCKS.len()], "{at} returns: {}", self.context());
            }
            Inst::Unreachable | Inst::Trap { .. } => {}
            _ => {
                let held = self.after(at, held);
                self.go(at as u32 + 1, held);
            }
        }
    }

    fn after(&self, at: usize, mut held: Held) -> Held {
        let Some((takes, lock)) = self.act(at) else { return held };
        assert_eq!(held[lock], !takes, "{at} of {}", self.context());
        held[lock] = takes;
        held
    }

    /// Whether an instruction takes a lock or gives it back, and which.
    fn act(&self, at: usize) -> Option<(bool, usize)> {
        let Inst::CallExternal { function, call, .. } = self.body.code[at] else { return None };
        if function.0 < self.first_own {
            return None;
        }
        let slot = self.program.call(call).args[0].reg - self.body.constants_at;
        let global = self.program.global_at(self.body.constants[slot as usize]);
        let name = &global.expect("a lock is a variable").name;
        let lock = LOCKS.iter().position(|lock| *name == format!("repair lock {lock}"));
        let takes = self.program.function(function).name == "pthread_mutex_lock";
        Some((takes, lock.expect("one of the locks")))
    }
}

/// Every instruction holds exactly the locks in whose spans it lies. Returns how many hold one.
fn check_woven(original: &Program, woven: &Program, spans: &[Span]) -> usize {
    check(woven);
    let mut guarded = 0;
    for (index, function) in woven.functions.iter().enumerate() {
        let Some(body) = &function.body else { continue };
        let mut paths = Paths {
            program: woven,
            first_own: original.functions.len() as u32,
            body,
            function: FunctionId(index as u32),
            spans,
            held: vec![None; body.code.len()],
            open: Vec::new(),
        };
        paths.walk();
        for (at, held) in paths.held.iter().enumerate() {
            let site = &woven.sites[body.places[at].index()];
            let (Some(held), None) = (held, paths.act(at)) else { continue };
            // A return comes when all is given back. Detours end in a jump, and copies of landing pads begin some.
            let on_the_way = matches!(
                body.code[at],
                Inst::Jump { .. }
                    | Inst::LandingPad { .. }
                    | Inst::Return { .. }
                    | Inst::ReturnVoid
                    | Inst::Resume { .. }
            );
            if site.place.line == 0 || on_the_way {
                continue;
            }
            let wanted: Vec<bool> = spans.iter().map(|span| is_in(span, site)).collect();
            assert_eq!(held[..], wanted, "{at} of {}", paths.context());
            guarded += usize::from(wanted.contains(&true));
        }
    }
    guarded
}

/// A stretch between two places of a program's own code.
fn any_span(program: &Program, rng: &mut Rng) -> Span {
    let bodies = program.functions.iter().filter_map(|function| function.body.as_ref());
    let sites = bodies.flat_map(|body| &body.places).map(|site| &program.sites[site.index()]);
    let sites: Vec<&Site> = sites.filter(|site| site.place.line != 0).collect();
    let mut pick = || &sites[rng.word() as usize % sites.len()].place;
    let first = pick();
    // Mostly a few statements.
    let near = (0..20).map(|_| pick()).filter(|place| place.file == first.file);
    let distance = |line: u32| line.abs_diff(first.line);
    let second = near.min_by_key(|place| distance(place.line)).unwrap_or(first);
    let (a, b) = ((first.line, first.column), (second.line, second.column));
    let (line, column) = a.max(b);
    Span { file: first.file.to_string(), from: a.min(b), to: (line, column + 1) }
}

#[test]
fn whatever_the_spans_every_path_enters_and_leaves_in_turn() {
    for (file, flags) in [
        ("features.c", OBSERVED),
        ("features.c", OPTIMISED),
        ("features.cpp", OBSERVED),
        ("names.cpp", OPTIMISED),
    ] {
        let program = load_file(&source(file), flags);
        let mut rng = Rng::new(7);
        let mut guarded = 0;
        for _ in 0..40 {
            let spans = LOCKS.map(|_| any_span(&program, &mut rng));
            let measures = [0, 1].map(|i| Measure::Hold { lock: LOCKS[i], span: spans[i].clone() });
            match weave(&program, &measures) {
                Ok(woven) => guarded += check_woven(&program, &woven, &spans),
                Err(WeaveError::IndirectJump { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        assert!(guarded > 300, "{file}: only {guarded} instructions were inside of a span");
    }
}

const SMALL: &str = "int x;\n\
    int f(int n) {\n\
    for (int i = 0; i < n; i++) {\n\
    if (x == i)\n\
    return i;\n\
    x += i;\n\
    }\n\
    return x ? x : n;\n\
    }\n";

/// Whole lines of the only file of a program.
fn lines(program: &Program, from: u32, to: u32) -> Span {
    let site = program.sites.iter().find(|site| site.place.line != 0).expect("has lines");
    Span { file: site.place.file.to_string(), from: (from, 1), to: (to + 1, 1) }
}

#[test]
fn sites_keep_their_numbers_and_the_fingerprint_does_not() {
    let program = load_c(SMALL, OBSERVED);
    let woven = weave(&program, &[Measure::Hold { lock: 1, span: lines(&program, 6, 6) }])
        .expect("there is code");
    assert_eq!(woven.sites[..program.sites.len()], program.sites[..]);
    assert_ne!(woven.fingerprint, program.fingerprint);
    let text = disassemble(&woven, woven.function_named("f").expect("it is there"));
    for name in ["pthread_mutex_lock", "pthread_mutex_unlock"] {
        assert_eq!(text.matches(name).count(), 1, "{text}");
    }
    assert!(text.contains("repair lock 1"), "{text}");
}

#[test]
fn a_span_without_code_is_an_error() {
    let program = load_c(SMALL, OBSERVED);
    let span = lines(&program, 70, 80);
    let error = weave(&program, &[Measure::Atomic { span: span.clone() }]).expect_err("no code");
    assert_eq!(error, WeaveError::NoCode { span });
    assert!(error.to_string().contains("test.c:70:1 and 81:1"), "{error}");
}

#[test]
fn what_was_inlined_lies_where_it_was_inlined_and_where_it_comes_from() {
    let source = "int x;\n\
        __attribute__((always_inline)) static inline void put(int n) {\n\
        x = n;\n\
        }\n\
        void f(void) {\n\
        put(1);\n\
        x++;\n\
        put(2);\n\
        }\n";
    let program = load_c(source, OBSERVED);
    for (line, times) in [(3, 2), (6, 1)] {
        let span = lines(&program, line, line);
        let woven = weave(&program, &[Measure::Hold { lock: 1, span: span.clone() }])
            .expect("there is code");
        assert!(check_woven_one(&program, &woven, &span) > 0);
        let text = disassemble(&woven, woven.function_named("f").expect("it is there"));
        assert_eq!(text.matches("pthread_mutex_lock").count(), times, "{text}");
    }
}

fn check_woven_one(original: &Program, woven: &Program, span: &Span) -> usize {
    let nowhere = Span { file: String::new(), ..span.clone() };
    check_woven(original, woven, &[span.clone(), nowhere])
}

#[test]
fn a_jump_to_labels_by_address_enters_and_leaves() {
    let source = "int x;\n\
        int f(int n) {\n\
        static void *where[] = { &&one, &&two };\n\
        goto *where[n];\n\
        one:\n\
        x = 1;\n\
        two:\n\
        return x;\n\
        }\n";
    let program = load_c(source, OBSERVED);
    let span = lines(&program, 6, 6);
    let woven = weave(&program, &[Measure::Hold { lock: 1, span: span.clone() }])
        .expect("the jump lies outside");
    assert!(check_woven_one(&program, &woven, &span) > 0);
}

#[test]
fn jumps_to_labels_by_address_from_both_sides_are_refused() {
    let program = load_ir(
        "@where = global [2 x ptr] [ptr blockaddress(@f, %a), ptr blockaddress(@f, %b)]\n\
         define void @f(ptr %p, i1 %c) !dbg !3 {\n\
         br i1 %c, label %a, label %b, !dbg !5\n\
         a:\n\
         indirectbr ptr %p, [label %a, label %b], !dbg !6\n\
         b:\n\
         indirectbr ptr %p, [label %a, label %b], !dbg !7\n\
         }\n\
         !llvm.dbg.cu = !{!1}\n\
         !llvm.module.flags = !{!0}\n\
         !0 = !{i32 2, !\"Debug Info Version\", i32 3}\n\
         !1 = distinct !DICompileUnit(language: DW_LANG_C99, file: !2, emissionKind: FullDebug)\n\
         !2 = !DIFile(filename: \"test.c\", directory: \"\")\n\
         !3 = distinct !DISubprogram(name: \"f\", file: !2, line: 1, type: !4, unit: !1, \
              spFlags: DISPFlagDefinition)\n\
         !4 = !DISubroutineType(types: !{})\n\
         !5 = !DILocation(line: 1, column: 2, scope: !3)\n\
         !6 = !DILocation(line: 2, column: 2, scope: !3)\n\
         !7 = !DILocation(line: 3, column: 2, scope: !3)\n",
    );
    let hold =
        |from, to| weave(&program, &[Measure::Hold { lock: 1, span: lines(&program, from, to) }]);
    let refused = hold(2, 2).expect_err("one jump is inside and one is not");
    assert_eq!(refused, WeaveError::IndirectJump { function: "f".into() });
    assert!(hold(2, 3).is_ok(), "both are inside");
}
