//! All causes and repairs, as a person at a terminal sees them.

mod support;

use support::{caused, explained};
use unicode_width::UnicodeWidthStr as _;
use unravel_report::Sources;
use unravel_report::terminal::{self, Style};
use unravel_results::{Causes, Explanation, Extent, Pattern, Repairs};
use unravel_trace::LeftOut;

fn causes((causes, sources): (Causes, Sources), style: Style) -> String {
    terminal::causes(&causes, &sources, style, Some("unravel-out/bank.html"))
}

fn plain(made: (Causes, Sources)) -> String {
    causes(made, Style::default())
}

fn repairs(repairs: &Repairs, style: Style) -> String {
    let patches = ["unravel-out/repair-1.diff".to_owned(), "an odd name/repair-2.diff".to_owned()];
    terminal::repairs(repairs, style, &patches, Some("unravel-out/bank.html"))
}

#[track_caller]
fn assert_has(text: &str, lines: &str) {
    let lines = lines.trim_matches('\n');
    assert!(text.contains(lines), "not found:\n{lines}\n\nin:\n{text}");
}

#[test]
fn the_two_causes_of_figure_3_2_are_two_graphs() {
    let text = plain(caused::figure_3_2());
    assert!(
        text.starts_with(
            "✗ assertion 'x == y' failed\n  bank.c:19 in main, thread T0, program bank\n  2 causes; 2 of 27 classes of \
             schedules fail\n  complete: all 27 classes of schedules of this input, up to 20,000,000 steps a run\n"
        ),
        "{text}"
    );
    assert_has(
        &text,
        "
Cause 1 of 2: atomicity violation
  T0.2 comes between two writes of T0.1

  T0.1                T0.2
  ● 5: x = 0; ───┐
  │   writes x   │
  │              └──▶ ● 10: x = 1;
  │                   │   writes x
  │              ┌─── ● 11: y = 1;
  │              │        writes y
  ● 6: y = 0; ◀──┘
      writes y

  no other thread should come between bank.c:5 and bank.c:6
  • 1 class of schedules fails so
  • each order is needed: with it alone reversed the program passes (executed)
",
    );
    assert_has(
        &text,
        "
  T0.1                T0.2
                 ┌─── ● 10: x = 1;
                 │    │   writes x
  ● 5: x = 0; ◀──┘    │
  │   writes x        │
  ● 6: y = 0; ───┐    │
      writes y   │    │
                 └──▶ ● 11: y = 1;
                          writes y
",
    );
    assert_has(&text, "  • the same two regions as cause 1, the other way round\n");
    assert_has(
        &text,
        "Orders between lines, of all causes\n  bank.c:5 ──▶ bank.c:10  x\n  bank.c:11 ──▶ bank.c:6  y\n",
    );
    assert_has(
        &text,
        "
  iterations 2, orders in a failing schedule 8.0, orders a cause 2.0, unique orders 4, reduction
  ratio 50.0%
",
    );
    assert!(
        text.ends_with(
            "
  replay     unravel replay unravel-out/bank-1.trace
  repair     unravel repair src/bank.c -- 3
  page       unravel-out/bank.html
"
        ),
        "{text}"
    );
}

#[test]
fn what_the_failing_run_did_not_reach_comes_last_and_says_why() {
    assert_has(
        &plain(caused::too_early()),
        "
  T0                                                           T0.1
                                                          ┌─── ● 20: use(session->band);
                                                          │        reads session->band
  ╳ 41: session->band = tr_bandwidthNew(session, NULL); ◀─┘
      writes session->band
      (not reached)
",
    );
    assert_has(
        &plain(caused::deadlocked()),
        "      locks b\n      (waits here for ever)\n\n  let all threads take these in the same order: a, b\n",
    );
}

#[test]
fn arrows_cross_lines_but_no_text() {
    assert_has(
        &plain(caused::crossing()),
        "
  T0.1                               T0.2
  ● 12: int seen = total; ────┐
  │   reads total             │
  │                           │ ┌─── ● 12: int seen = total;
  │                           │ │    │   reads total
  │                           └─┼──▶ ● 13: total = seen + 100;
  │                             │        writes total
  ● 13: total = seen + 100; ◀───┘
      writes total
",
    );
    let three = plain(caused::three_threads());
    assert_has(
        &three,
        "
  ● 5: ready = true; ──┐
      writes ready     │
                       └────────────────────────────▶ ● 30: if (ready)
",
    );
    assert_has(&three, "    updates done ────┐    │\n");
}

#[test]
fn a_narrow_terminal_gets_a_list_and_a_plain_one_letters() {
    let style = Style { width: 40, ..Style::default() };
    assert_has(
        &causes(caused::crossing(), style),
        "  1  T0.1 reads total bank.c:12\n       int seen = total;\n     before T0.2 writes total bank.c:13\n",
    );
    let ascii = Style { unicode: false, ..Style::default() };
    for (name, made, sources) in caused::all() {
        let text = causes((made, sources), ascii);
        assert!(text.is_ascii(), "{name}: {text}");
    }
    assert_has(
        &causes(caused::figure_3_2(), ascii),
        "  * 5: x = 0; ---+\n  |   writes x   |\n  |              +--> * 10: x = 1;\n",
    );
}

#[test]
fn no_line_but_commands_and_diffs_is_too_wide_and_nothing_is_obeyed() {
    for width in [40, 57, 80, 100, 160] {
        for unicode in [true, false] {
            let style = Style { width, unicode, ..Style::default() };
            for (name, made, sources) in caused::all() {
                let text = causes((made, sources), style);
                for line in text.lines().filter(|line| !line.contains("unravel re")) {
                    assert!(line.width() <= width, "{name}, {width}: {line}");
                }
                assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{name}");
            }
        }
    }
    let text = repairs(&caused::injected_repairs().0, Style::default());
    assert!(!text.contains(['\x1b', '\u{202e}']), "{text}");
}

#[test]
fn a_bug_of_every_schedule_is_no_bug_of_concurrency() {
    let (mut made, _) = caused::sequential();
    let text = plain((made.clone(), Sources::none()));
    assert_has(
        &text,
        "
  fails under every schedule: this is a sequential bug, not one of concurrency: debug it with gdb
  complete: all 27 classes of schedules of this input, up to 20,000,000 steps a run
",
    );
    assert!(!text.contains("unravel repair"), "{text}");
    made.extent.left_out = vec![LeftOut::Time];
    let text = plain((made, Sources::none()));
    assert_has(
        &text,
        "  all 27 classes of schedules that were seen fail: this looks like a sequential bug",
    );
    assert_has(&text, "  not complete: 27 classes of schedules seen in 31 schedules");
}

#[test]
fn what_holds_for_some_inputs_says_for_which() {
    let text = plain(caused::with_inputs());
    assert_has(&text, "  complete for the 3 inputs tried: all 27 classes of schedules, up to");
    assert_has(&text, "  • 1 class of schedules fails so, with the input 4711 (of 3 tried)\n");
    assert_has(
        &text,
        "  • 1 class of schedules fails so, with the inputs 4 and 4711 (of 3 tried)\n",
    );
    assert_has(
        &text,
        "  • tried with the inputs 4, 4711 and -1; with others it may fail in other ways\n",
    );
    assert_has(
        &text,
        "  • with the input -1 (of 3 tried) every schedule fails: that is no bug of concurrency\n",
    );
    let (mut all, sources) = caused::with_inputs();
    all.classes[0].inputs = vec![0, 1, 2];
    assert_has(&plain((all, sources)), "fails so, with all 3 inputs tried\n");
}

#[test]
fn a_sequential_bug_behind_an_input_names_it() {
    let (mut made, sources) = caused::sequential();
    made.inputs = caused::with_inputs().0.inputs;
    assert_has(
        &plain((made, sources)),
        "  with the input -1 (of 3 tried) it fails under every schedule: this is a sequential bug,",
    );
}

#[test]
fn a_check_says_how_many_of_the_inputs_it_stands_for() {
    let (mut made, _) = caused::repaired();
    made.causes = caused::with_inputs().0;
    made.repairs[0].checks[0].inputs = vec![1, 0];
    made.repairs[0].checks[1].inputs = vec![0, 1, 2];
    let text = repairs(&made, Style::default());
    assert_has(
        &text,
        "virtually: all 12 classes of schedules pass, with 2 of the 3 inputs tried\n",
    );
    assert_has(&text, "all 9 classes of schedules pass, with all 3 inputs tried\n");
}

#[test]
fn where_nothing_fails_it_says_what_was_explored() {
    let (mut made, _) = caused::nothing_fails();
    let text = terminal::causes(&made, &Sources::none(), Style::default(), None);
    assert_eq!(
        text,
        "bank: no failure: all 27 classes of schedules explored, in 31 schedules, 0.1 s (up to 14 events, up\n\
         to 20,000,000 steps a run; sequential consistency)\n"
    );
    made.extent.left_out = vec![LeftOut::PartsMissing];
    let text = terminal::causes(&made, &Sources::none(), Style::default(), None);
    assert_has(&text, "bank: no failure found in 31 schedules, 0.1 s");
    assert_has(&text.replace('\n', " "), "a run; left: parts are missing");
    made.extent = Extent::default();
    let text = terminal::causes(&made, &Sources::none(), Style::default(), None);
    assert_has(&text, "bank: inconclusive: no run came to its end (0 schedules, 0.1 s)");
}

#[test]
fn an_incomplete_search_says_what_it_left_and_what_it_is_not_sure_of() {
    let text = plain(caused::incomplete());
    assert_has(
        &text,
        "
  2 causes; 34 of 1,234 classes of schedules fail
  not complete: 1,234 classes of schedules seen in 5,000 schedules, up to 20,000,000 steps a run;
  left: parts are missing; what follows the creation of 128 threads
",
    );
    assert_has(
        &text,
        "
  • 6 classes of schedules fail so
  • also with T0.1 and T0.2 the other way round, with T0.1 and T0.3, with T0.3 and T0.4, 1 more and
    once at other turns of the same lines
  • it leads to assertion at bank.c:19 and abort at bank.c:12
  • not proved minimal: some of these orders may not be needed
",
    );
    assert_has(
        &text,
        "✗ abort was called\n  bank.c:12 in main, thread T0.2, program bank\n  3 classes",
    );
    assert_has(
        &text,
        "  • values of __VERIFIER_nondet_* were fixed: other inputs were not looked at\n",
    );
}

#[test]
fn of_very_many_causes_the_first_are_drawn() {
    let (mut made, sources) = caused::figure_3_2();
    made.classes = vec![made.classes[0].clone(); 30];
    made.classes[29].pattern = Pattern::Deadlock;
    let text = plain((made, sources));
    assert_has(&text, "Cause 12 of 30: atomicity violation\n");
    assert!(!text.contains("Cause 13 of 30"), "{text}");
    assert_has(&text, "\n  18 causes more\n");
}

#[test]
fn each_repair_has_its_diff_what_was_checked_and_its_cost() {
    let (made, _) = caused::repaired();
    let text = repairs(&made, Style::default());
    assert_has(
        &text,
        "
Causes
  1  atomicity violation: bank.c:5 ──▶ bank.c:10, bank.c:11 ──▶ bank.c:6
  2  atomicity violation: bank.c:10 ──▶ bank.c:5, bank.c:6 ──▶ bank.c:11

2 repairs found, the best first

── Repair 1 of 2: new lock ─",
    );
    assert_has(
        &text,
        "
a new mutex around bank.c:5 to 6 and bank.c:10 to 11

  --- a/src/bank.c
  +++ b/src/bank.c
  @@ -4,4 +4,6 @@
   void *first(void *arg) {
  +    pthread_mutex_lock(&unravel_mutex);
     x = 0;
  -  y = 0; // slow
  +  y = 0;
  +    pthread_mutex_unlock(&unravel_mutex);
   }

  checked    virtually: all 12 classes of schedules pass
             patched and compiled: all 9 classes of schedules pass
  cost       4 lines added, 0 removed; keeps 6 of 8 passing classes; longest critical section 3
             lines
  rules out  both causes
  note       the mutex is in bank.c, other files cannot see it
  apply      patch -p1 < unravel-out/repair-1.diff
",
    );
    assert_has(
        &text,
        "
  checked    virtually: the only class of schedules passes
             patched and compiled: 2,000 schedules, none fails; not all: parts are missing
  cost       1 line added, 1 removed
  rules out  cause 2
  apply      patch -p1 < 'an odd name/repair-2.diff'
",
    );
    assert_has(
        &text,
        "
Tried, and no repair
  • take 'm' around bank.c:5: deadlocks: T0.1 waits for mutex 'm', which it holds
",
    );
    assert!(text.ends_with("\n  page       unravel-out/bank.html\n"), "{text}");
}

#[test]
fn a_diff_is_coloured_as_git_does() {
    let (made, _) = caused::repaired();
    let text = repairs(&made, Style { color: true, ..Style::default() });
    for line in [
        "  \x1b[1m--- a/src/bank.c\x1b[0m\n",
        "  \x1b[36m@@ -4,4 +4,6 @@\x1b[0m\n",
        "  \x1b[31m-  y = 0; // slow\x1b[0m\n",
        "  \x1b[32m+  y = 0;\x1b[0m\n",
        "     x = 0;\n",
    ] {
        assert_has(&text, line.trim_end());
    }
}

#[test]
fn where_there_is_no_repair_it_says_why() {
    let (mut made, _) = caused::unrepaired();
    assert_has(
        &repairs(&made, Style::default()),
        "No repair found: 1 candidate tried, none stood the checks\n\nTried, and no repair\n  • take 'm'",
    );
    made.rejected.clear();
    assert_has(&repairs(&made, Style::default()), "No repair found: there was no candidate\n");
    made.causes = caused::sequential().0;
    assert_has(
        &repairs(&made, Style::default()),
        "No repair: it fails under every schedule, so no order of events helps\n",
    );
    made.causes = caused::nothing_fails().0;
    assert_has(&repairs(&made, Style::default()), "Nothing fails, so there is nothing to repair\n");
}

#[test]
fn an_explanation_goes_on_with_all_causes_and_the_best_repair() {
    let (mut made, sources) = explained::repaired();
    let told = |made: &Explanation| terminal::explanation(made, &sources, Style::default(), None);
    let text = told(&made);
    assert_has(
        &text,
        "
2 causes; 2 of 27 classes of schedules fail
  1  atomicity violation: ",
    );
    assert_has(
        &text,
        "
  complete: all 27 classes of schedules of this input, up to 20,000,000 steps a run

Repair: new lock
a new mutex around bank.c:5 to 6 and bank.c:10 to 11

  --- a/src/bank.c
",
    );
    assert_has(
        &text,
        "
  apply      patch -p1 < unravel-out/bank-repair-1.diff
  1 more repair: unravel repair src/bank.c -- 3
  note: at most 3 repairs were looked for

bank: 1 bug found in 120 schedules",
    );
    assert!(!text.contains("T0.2 waits until T0.1 is done"), "the others are for `repair`: {text}");

    made.repairs.as_mut().expect("it has repairs").repairs.clear();
    assert_has(
        &told(&made),
        "
No repair found: 1 candidate tried, none stood the checks
  look longer: unravel repair src/bank.c -- 3
",
    );
    made.repairs.as_mut().expect("it has repairs").causes = caused::sequential().0;
    let text = told(&made);
    assert_has(
        &text,
        "\nFails under every schedule: this is a sequential bug, not one of concurrency",
    );
    assert!(!text.contains("unravel repair"), "nothing helps: {text}");
    made.repairs = None;
    assert!(!told(&made).contains("sequential bug"));
}
