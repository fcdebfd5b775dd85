//! What a person sees.

mod support;

use unicode_width::UnicodeWidthStr as _;
use unravel_report::terminal::{self, Style};
use unravel_report::{Sources, words};
use unravel_results::{Diagnosis, Observed};

const COMMAND: &str = "unravel replay a-directory-with-a-rather-long-name/out.trace";

fn text((diagnosis, sources): (Diagnosis, Sources), style: Style) -> String {
    terminal::diagnosis(&diagnosis, &sources, style, Some(COMMAND))
}

fn plain(case: (Diagnosis, Sources), width: usize) -> String {
    text(case, Style { width, ..Style::default() })
}

#[track_caller]
fn assert_has(text: &str, lines: &str) {
    let lines = lines.trim_matches('\n');
    assert!(text.contains(lines), "not found:\n{lines}\n\nin:\n{text}");
}

#[test]
fn a_brief_report_shows_what_the_cause_names_and_what_differs() {
    let text = text(support::lost_update(), Style { brief: true, ..Style::default() });
    assert_has(
        &text,
        "
  1  T0.1 reads total at bank.c:12 before T0.2 writes it at bank.c:13
  2  T0.2 reads total at bank.c:12 before T0.1 writes it at bank.c:13
",
    );
    // A row an event, and nothing that neither the cause names nor the runs differ in.
    let row = "│  │     │     ● 12 read total = 100 ◀─ T0:25 ✗";
    assert!(text.lines().any(|line| line.starts_with(row)), "{text}");
    assert!(!text.contains("⋮"), "{text}");
    assert!(text.contains(" of 11 events"), "{text}");
    for numbers in ["what differs", "effort", "In numbers"] {
        assert!(!text.contains(numbers), "{numbers}: {text}");
    }
    assert!(text.lines().count() <= 40, "{}", text.lines().count());
}

#[test]
fn a_lost_update_is_told_in_two_screens() {
    let text = plain(support::lost_update(), 100);
    assert!(text.starts_with(
        "✗ assertion 'total == 300' failed\n  bank.c:31 in main, thread T0, program bank\n"
    ));
    assert_has(&text, "  confirmed by execution\n");
    assert_has(&text, "Root cause: lost update\n  T0.1 and T0.2 both read total");
    assert_has(
        &text,
        "
  1  T0.1 reads total  bank.c:12   before   T0.2 writes total  bank.c:13
     int seen = total;                      total = seen + 100;
  2  T0.2 reads total  bank.c:12   before   T0.1 writes total  bank.c:13
     int seen = total;                      total = seen + 100;

  300 schedules that keep these orders: all fail; proved on the recorded path
  each is needed: with that one alone reversed the program passes (executed)
",
    );
    assert_has(
        &text,
        "
  reading and writing total should be one atomic step: from bank.c:12 to bank.c:13
  ┌─ bank.c:12  int seen = total;
  └─ bank.c:13  total = seen + 100;
",
    );
    assert_has(
        &text,
        "
✗ failing: 4 context switches                    ║ ✓ passing: 3 context switches
   T0    T0.1  T0.2                              ║    T0    T0.1  T0.2
   ├ 25: total = 100;                            ║    ⋮ 4 events
   │   write total := 100                        ║ ┌─ │     ● 12: int seen = total;
   ⋮ 3 events                                    ║ │  │     │   read total = 100
┌─ │     ● 12: int seen = total;                 ║ │  │     ● 13: total = seen + 100;
│  │     │   read total = 100                    ║ └─ │     │   write total := 200
│  │     │     ● 12: int seen = total;           ║    │     │     ● 12: int seen = total;
│  │     │     │   read total = 100 ◀─ T0:25 ✗   ║    │     │     │   read total = 200 ◀─ T0.1:13 ✓
",
    );
    assert_has(
        &text,
        "
  context switches  9 in the run given, 4 after reduction
  what differs      2 data flows of 4 (proved minimal), 7 events of 11, 1 segment, 2 switches
  effort            1204 schedules evaluated by the model, 312 executed, 4 queries to z3
  lines to look at  bank.c:12, bank.c:13, bank.c:25, bank.c:29, bank.c:31
",
    );
    assert!(text.ends_with(&format!("\nReplay\n  {COMMAND}\n")));
    assert_eq!(text.matches("sequential consistency").count(), 1);
    assert!(text.lines().count() <= 60, "{}", text.lines().count());
}

#[test]
fn an_event_that_the_failing_run_lacks_is_shown_after_its_end() {
    let text = plain(support::order_violation(), 100);
    assert_has(
        &text,
        "
  1  T0 reads config  bank.c:41   before   T0.1 writes config  bank.c:20
     if (config->level > 2)                config = load_configuration();
                                           not reached in the failing run
",
    );
    assert_has(
        &text,
        "  bank.c:20  config = load_configuration();   ──▶   bank.c:41  if (config->level > 2)\n",
    );
    assert_has(
        &text,
        "
   ● 41: if (config->level > 2)                  ║ ┌─ │     ● 20: config = load_configuration();
   │   read config = 0 ◀─ initial value ✗        ║ │  │     │   write config := 0x100000004020
   ✗ null-dereference: null pointer is read      ║ └▶ ● 41: if (config->level > 2)
   │     ╳ 20: config = load_configuration();    ║    │   read config = 0x100000004020 ◀─ T0.1:20 ✓
   │         not reached                         ║    ├ 42: log_level(config->level);
                                                 ║    │   read config->level = 3
                                                 ║    │   ↯ other path
",
    );
    assert_has(
        &text,
        "↯ T0 takes another path after bank.c:41: it ends there in the failing run\n",
    );
    assert_has(&text, "(best found, gap at most 1), ");
    assert_has(&text, "Notes\n  • condition waits without a signal were not explored\n");
}

#[test]
fn a_deadlock_shows_who_waits_where() {
    let text = plain(support::deadlock(), 100);
    assert_has(
        &text,
        "
 T0.1  T0.2                                      ║  T0.1  T0.2
 ⋮ 2 events                                      ║  ⋮ 2 events
 ● 10: lock(&a);                                 ║  ● 10: lock(&a);
 │     ● 20: lock(&b);                           ║  ● 11: lock(&b);
 │     ╳ 21: lock(&a);                           ║  ├ 12: unlock b
 │         waits here for ever                   ║  ├ 13: unlock a
 ╳ 11: lock(&b);                                 ║  │     ● 20: lock(&b);
     waits here for ever                         ║  │     ● 21: lock(&a);
 ✗ deadlock: 2 threads wait for each other       ║  ⋮ 2 events
                                                 ║  ✓ passed
",
    );
    assert_has(&text, "  what differs      no data flow (proved minimal), ");
    assert_eq!(text.matches("T0.1 waits for mutex 'b', held by T0.2").count(), 1);
}

#[test]
fn many_threads_stand_one_below_the_other_and_then_in_a_list() {
    let text = plain(support::many(6, "sum", 1, 1), 100);
    assert_has(
        &text,
        "
✗ failing: 6 context switches
 T0    T0.1  T0.2  T0.3  T0.4  T0.5  T0.6
 │     ● 12: read sum = 1
",
    );
    assert_has(&text, "\n\n✓ passing: 6 context switches\n T0    T0.1");
    assert_has(
        &text,
        "Other runs that pass\n  2  1 data flow (proved minimal), 1 broken segment, 2 context switches; another path",
    );
    assert_has(&text, "     T0:99 reads sum from T0.1:13 instead of T0.6:13\n");
    let text = plain(support::many(6, "sum", 1, 1), 40);
    assert_has(&text, " T0.2\n ● 12: read sum = 1\n ● 13: write sum := 1\n T0.3\n");
}

#[test]
fn four_threads_stand_side_by_side_in_a_hundred_columns() {
    let text = plain(support::many(3, "sum", 1, 1), 100);
    assert_has(
        &text,
        " T0    T0.1  T0.2  T0.3                          ║  T0    T0.1  T0.2  T0.3\n",
    );
}

#[test]
fn what_is_inconclusive_says_why_and_shows_how_it_ended() {
    let text = plain(support::inconclusive(), 100);
    assert_has(&text, "  inconclusive because no passing run was found in 1000 schedules\n");
    assert_has(&text, "How it fails (bank.c); no run that passes was found\n");
    assert_has(&text, " ├ 31: assert(total == 300);\n │   read total = 200\n ✗ assertion");
    assert!(!text.contains("Root cause") && !text.contains("✓ passing"));
}

#[test]
fn without_debug_information_functions_name_the_places() {
    let text = plain(support::without_lines(), 100);
    assert_has(&text, "main (no line information), thread T0");
    assert_has(&text, "● worker: read total = 100 ◀─ T0 ✗");
    assert!(!text.contains("lines to look at"));
}

#[test]
fn a_value_is_not_cut_off_for_a_long_name() {
    for (name, diagnosis, sources) in support::all() {
        if name == "long names" {
            let text = plain((diagnosis, sources), 100);
            assert_has(&text, "● 12: read ….balance = 0x7fff123456789abc ║");
            assert_has(&text, "├ 12: read …nsactions.balance\n");
            assert_has(&text, "= 0x7fff123456789abc\n");
        }
    }
}

#[test]
fn no_line_is_too_wide_and_nothing_of_the_program_is_obeyed() {
    for (name, diagnosis, sources) in support::all() {
        for width in [40, 47, 60, 80, 100, 121, 200] {
            for unicode in [false, true] {
                let style = Style { width, unicode, ..Style::default() };
                let text = terminal::diagnosis(&diagnosis, &sources, style, Some(COMMAND));
                for line in text.lines().filter(|line| line.trim() != COMMAND) {
                    assert!(line.width() <= width, "{name}, {width}: {line}");
                    assert_eq!(line, line.trim_end(), "{name}, {width}: blanks at the end");
                }
                let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
                assert!(!text.contains(bad), "{name}: {text:?}");
                assert!(unicode || text.is_ascii(), "{name}: {text}");
                assert!(text.contains(COMMAND));
            }
        }
    }
}

/// Whether a side of the schedules has all events of a projection, in their order.
fn assert_shows(name: &str, rows: &[String], run: &Observed, events: &[u32]) {
    let mut rows = rows.iter();
    for event in events {
        let phrase = words::phrase(&run.trace, &run.trace.events[*event as usize]).text();
        let phrase = phrase.replace('\n', "\\n");
        assert!(rows.any(|row| row.contains(&phrase)), "{name}: {phrase} is not shown");
    }
}

#[test]
fn every_event_of_the_projection_is_shown() {
    for (name, diagnosis, _) in support::all() {
        let Some(alternate) = diagnosis.alternates.first() else { continue };
        if ["large", "hostile"].contains(&name) {
            continue;
        }
        let text = plain((diagnosis.clone(), Sources::none()), 400);
        let rows = text.lines().filter_map(|line| line.split_once('║'));
        let (left, right): (Vec<String>, Vec<String>) =
            rows.map(|(left, right)| (left.to_owned(), right.to_owned())).unzip();
        assert_shows(name, &left, &diagnosis.failing, &alternate.projection.failing);
        assert_shows(name, &right, &alternate.run, &alternate.projection.alternate);
    }
}

#[test]
fn a_projection_that_nobody_can_read_is_shortened_and_says_so() {
    let text = plain(support::many(3, "sum", 1, 100), 100);
    assert_has(&text, "⋮ 541 events, 541 of the projection");
    assert!(text.matches('●').count() > 4 && text.contains("◀─ T0.3:13 ✗"));
    assert!(text.lines().count() < 110);
}

#[test]
fn colours_change_nothing_but_colours() {
    for (name, diagnosis, sources) in support::all() {
        let style = |color| Style { color, ..Style::default() };
        let without = terminal::diagnosis(&diagnosis, &sources, style(false), None);
        let with = terminal::diagnosis(&diagnosis, &sources, style(true), None);
        assert!(with.contains("\x1b[31m"), "{name}: nothing is red");
        let mut stripped = String::new();
        let mut rest = with.as_str();
        while let Some((before, after)) = rest.split_once('\x1b') {
            stripped += before;
            rest = after.split_once('m').unwrap().1;
        }
        assert_eq!(stripped + rest, without, "{name}");
    }
}

#[test]
fn a_search_of_long_runs_says_what_takes_them() {
    use std::time::Duration;
    use unravel_results::{LongRuns, Stopped};
    use unravel_trace::{Busiest, Place};
    let place = Place {
        function: "ring_test".into(),
        file: "test/ring.c".into(),
        line: 40,
        column: 1,
        wrapper: false,
    };
    let busiest = Some(Busiest { place, steps: 19_000, of: 20_500 });
    let one = Duration::from_millis(12_340);
    let mut explored = support::explained::explored(3, Stopped::Time);
    explored.long = Some(LongRuns { one, steps: 41_000_000, busiest });
    let said = unravel_report::searched::searched("ring", &explored, 0);
    let note = "one run: 12.3 s, 41 million instructions, 38 million of them in ring_test (ring.c:40); \
                a smaller input or a single test finds more";
    assert!(said.notes.iter().any(|said| said == note), "{:?}", said.notes);
}
