//! The stepper: commands in, text out, the same at a position whichever way one came there.

mod support;

use std::time::{Duration, Instant};

use unravel_report::Sources;
use unravel_report::stepper::{Answer, AnswerKind, Stepper, Subject};
use unravel_report::terminal::Style;
use unravel_results::*;
use unravel_trace::*;

use support::{FILE, RunBuilder, failure};

const ENDING: &str = "assertion: it failed\n    at bank.c:31 in main (T0)\n";

fn stepper<'a>(run: &'a Observed, sources: &'a Sources) -> Stepper<'a> {
    let subject =
        Subject { trace: &run.trace, outcome: &run.outcome, ending: ENDING, order_known: true };
    Stepper::new(subject, sources, Style::default())
}

/// The answer to a command that is carried out.
fn say(stepper: &mut Stepper<'_>, command: &str) -> String {
    let Answer { text, kind } = stepper.execute(command);
    assert_eq!(kind, AnswerKind::Done, "{command}: {text}");
    text
}

fn refused(stepper: &mut Stepper<'_>, command: &str) -> String {
    let Answer { text, kind } = stepper.execute(command);
    assert_eq!(kind, AnswerKind::Refused, "{command}: {text}");
    text
}

fn contains(text: &str, all: &[&str]) {
    for part in all {
        assert!(text.contains(part), "'{part}' is not in:\n{text}");
    }
}

/// The positions that a command stops at until it moves no more.
fn stops(stepper: &mut Stepper<'_>, command: &str) -> Vec<usize> {
    let mut found = Vec::new();
    loop {
        let before = stepper.position();
        say(stepper, command);
        if stepper.position() == before {
            return found;
        }
        found.push(stepper.position());
    }
}

#[test]
fn a_step_shows_the_line_the_event_the_writer_and_the_switch() {
    let (diagnosis, sources) = support::lost_update();
    let mut stepper = stepper(&diagnosis.failing, &sources);
    contains(&stepper.here(), &[" 1/11  T0  bank.c:25 in worker", "total = 100;", "write total"]);
    let text = say(&mut stepper, "g 6");
    assert_eq!(
        text,
        "switch: T0.1 → T0.2, preempted before bank.c:13: T0.1 could go on\n \
         6/11  T0.2  bank.c:12 in worker         int seen = total;\n       \
         read total = 100                  (written by T0 at event 1, bank.c:25)\n"
    );
    contains(&say(&mut stepper, "n 2"), &["8/11", "was 200, written by T0.2 at event 7"]);
    contains(&say(&mut stepper, "end"), &["after 11 events", "assertion: it failed", "bank.c:31"]);
    contains(&say(&mut stepper, "n"), &["this is the end of the run"]);
}

#[test]
fn back_is_the_same_as_forward() {
    for (name, diagnosis, sources) in support::all() {
        let run = &diagnosis.failing;
        let mut stepper = stepper(run, &sources);
        let questions = ["info threads", "info locks", "info values", "info events", "where"];
        let ask = |stepper: &mut Stepper<'_>| {
            let answers = questions.map(|question| say(stepper, question)).concat();
            stepper.here() + &answers
        };
        let mut forward = vec![ask(&mut stepper)];
        for _ in 0..run.trace.events.len() {
            say(&mut stepper, "next");
            forward.push(ask(&mut stepper));
        }
        for position in (0..run.trace.events.len()).rev() {
            say(&mut stepper, "back");
            assert_eq!(stepper.position(), position);
            assert_eq!(ask(&mut stepper), forward[position], "{name}, position {position}");
        }
    }
}

/// What a variable holds before an event, found by walking all of them.
fn naive(trace: &Trace, name: &str, position: usize) -> Option<String> {
    let mut value = None;
    for event in &trace.events[..position] {
        let is_it = event.kind.location().is_some_and(|at| trace.location(at).name == name);
        match &event.kind {
            EventKind::Read { value: v, .. } | EventKind::Write { value: v, .. } if is_it => {
                value = Some(trace.location(event.kind.location().unwrap()).show(v));
            }
            EventKind::ReadModifyWrite { new, .. } if is_it => {
                value = Some(trace.location(event.kind.location().unwrap()).show(new))
            }
            _ => {}
        }
    }
    value
}

#[test]
fn values_are_those_of_a_walk_from_the_start() {
    for (_, diagnosis, sources) in [support::all().remove(0), support::all().remove(8)] {
        let trace = &diagnosis.failing.trace;
        let mut stepper = stepper(&diagnosis.failing, &sources);
        for position in 0..=trace.events.len() {
            say(&mut stepper, &format!("goto {}", position + 1));
            for location in &trace.locations {
                let text = say(&mut stepper, &format!("print {}", location.name));
                let expected = match naive(trace, &location.name, position) {
                    Some(value) => format!("{} = {value}", location.name),
                    None => format!("{}: no event has touched it yet", location.name),
                };
                assert_eq!(text.lines().next(), Some(&*expected), "at {position}");
            }
        }
    }
}

#[test]
fn print_tells_who_wrote_and_who_is_next() {
    let (diagnosis, sources) = support::lost_update();
    let mut stepper = stepper(&diagnosis.failing, &sources);
    say(&mut stepper, "g 7");
    let text = say(&mut stepper, "p total");
    contains(&text, &["total = 100", "written by T0 at event 1, bank.c:25"]);
    contains(&text, &["next read: T0 at event 11, bank.c:31: 200", "next write: T0.2 at event 7"]);
    let several = say(&mut stepper, "p *t*");
    contains(&several, &["total = 100", "rate = 7"]);
    contains(&refused(&mut stepper, "p otal"), &["there is total"]);
    contains(&refused(&mut stepper, "p nothing"), &["no event of this run touches 'nothing'"]);
    say(&mut stepper, "display total");
    contains(&say(&mut stepper, "n"), &["1: total = 200"]);
    say(&mut stepper, "undisplay 1");
    assert!(!say(&mut stepper, "n").contains("1: total"));
}

#[test]
fn breakpoints_stop_forward_and_back() {
    let (diagnosis, sources) = support::lost_update();
    let mut stepper = stepper(&diagnosis.failing, &sources);
    contains(&say(&mut stepper, "b bank.c:13"), &["breakpoint 1", "2 times", "event 7"]);
    say(&mut stepper, "watch total");
    contains(&say(&mut stepper, "info breaks"), &["1  breakpoint  bank.c:13", "2  watchpoint"]);
    contains(
        &say(&mut stepper, "c"),
        &["breakpoint 1, bank.c:13", "watchpoint 2, writes of total"],
    );
    say(&mut stepper, "start");
    let end = diagnosis.failing.trace.events.len();
    assert_eq!(stops(&mut stepper, "c"), [6, 7, end]);
    // The write of the first event too.
    assert_eq!(stops(&mut stepper, "rc"), [7, 6, 0]);
    say(&mut stepper, "delete 1");
    say(&mut stepper, "d 2");
    say(&mut stepper, "rwatch total thread T0.1");
    assert_eq!(stops(&mut stepper, "continue"), [4, end]);
    say(&mut stepper, "delete");
    contains(&refused(&mut stepper, "delete 1"), &["no breakpoint 1"]);
    assert_eq!(stops(&mut stepper, "rc"), [0]);
    say(&mut stepper, "b rate");
    contains(&say(&mut stepper, "info b"), &["watchpoint  writes of rate"]);
}

#[test]
fn a_line_without_events_is_refused_with_its_neighbours() {
    let (diagnosis, sources) = support::lost_update();
    let mut stepper = stepper(&diagnosis.failing, &sources);
    contains(&refused(&mut stepper, "b 20"), &["nearest lines with events are 13 and 25"]);
    contains(&refused(&mut stepper, "b bank.c:99"), &["nearest line with events is 31"]);
    contains(&refused(&mut stepper, "b other.c:5"), &["no event is in 'other.c'", FILE]);
    contains(&refused(&mut stepper, "b 12 thread T9"), &["there is no thread 'T9'"]);
    contains(&refused(&mut stepper, "b 12 thread T0"), &["no event of T0 is at line 12"]);
    say(&mut stepper, "b src/bank.c:12");
    contains(&say(&mut stepper, "b worker"), &["breakpoint 2, worker"]);
}

#[test]
fn a_line_stops_a_thread_once_each_time_it_comes() {
    // Twice round a loop whose one line reads and writes, in turn with another thread.
    let run = RunBuilder::new(&["T0", "T0.1"])
        .read("T0", 5, "x", 0)
        .write("T0", 5, "x", 1)
        .read("T0.1", 5, "x", 1)
        .read("T0", 5, "x", 1)
        .write("T0.1", 5, "x", 2)
        .write("T0", 5, "x", 2)
        .read("T0", 6, "x", 2)
        .read("T0", 5, "x", 2)
        .pass();
    let sources = Sources::none();
    let mut stepper = stepper(&run, &sources);
    say(&mut stepper, "b bank.c:5");
    say(&mut stepper, "c");
    assert_eq!(stepper.position(), 2);
    assert_eq!(stops(&mut stepper, "c"), [3, 7, 8]);
    assert_eq!(stops(&mut stepper, "rc"), [7, 3, 2, 0]);
}

#[test]
fn moves_by_thread_and_by_context_switch() {
    let (diagnosis, sources) = support::lost_update();
    let mut stepper = stepper(&diagnosis.failing, &sources);
    assert_eq!(stops(&mut stepper, "tc"), [4, 5, 7, 8]);
    assert_eq!(stops(&mut stepper, "rtc"), [7, 5, 4]);
    say(&mut stepper, "thread T0.2");
    assert_eq!(stepper.position(), 5);
    assert_eq!(stops(&mut stepper, "tn"), [6]);
    assert_eq!(stops(&mut stepper, "rtn"), [5]);
    say(&mut stepper, "until 31");
    assert_eq!(stepper.position(), 10);
    contains(&say(&mut stepper, "until bank.c:12"), &["does not come to bank.c:12 any more"]);
    contains(&refused(&mut stepper, "goto 99"), &["no event 99"]);
    contains(&refused(&mut stepper, "thread T7"), &["the threads are T0, T0.1, T0.2"]);
    say(&mut stepper, "start;n;n");
    assert_eq!(stepper.position(), 2);
    say(&mut stepper, "");
    assert_eq!(stepper.position(), 3);
    assert_eq!(stepper.execute("n;q;n").kind, AnswerKind::Quit);
    assert_eq!(stepper.position(), 4);
}

#[test]
fn a_deadlock_shows_who_holds_and_who_waits() {
    let (diagnosis, sources) = support::deadlock();
    let mut stepper = stepper(&diagnosis.failing, &sources);
    let early = say(&mut stepper, "g 4");
    // It could have gone on then; only at the end it waits.
    contains(&early, &["switch: T0.1 → T0.2, T0.1 has no further event; at the end it waits"]);
    contains(&say(&mut stepper, "info locks"), &["a  held by T0.1 since event 3", "free: b"]);
    say(&mut stepper, "end");
    let threads = say(&mut stepper, "info threads");
    contains(&threads, &["T0.1  bank.c:11 in worker  waits for mutex 'b', held by T0.2"]);
    contains(&threads, &["T0.2  bank.c:21 in worker  waits for mutex 'a', held by T0.1"]);
    contains(
        &say(&mut stepper, "p b"),
        &["b: held by T0.2 since event 4, bank.c:20", "next: none"],
    );
    contains(&say(&mut stepper, "list"), &["→    11  lock(&b);"]);
}

#[test]
fn waiting_is_worked_out_from_what_comes() {
    let word = |name: &str| {
        let mut builder = RunBuilder::new(&["T0"]);
        builder.location(name)
    };
    assert_eq!(word("m"), LocationId(0));
    let (lock, cond, sem, bar, once) =
        (LocationId(0), LocationId(1), LocationId(2), LocationId(3), LocationId(4));
    let mut builder = RunBuilder::new(&["T0", "T0.1"]);
    ["m", "c", "s", "bar", "o"].iter().for_each(|name| {
        builder.location(name);
    });
    use EventKind::*;
    let run = builder
        .event("T0", 1, SyncInit { at: sem, value: 0 })
        .event("T0", 2, SyncInit { at: bar, value: 2 })
        .fork("T0", 3, 1)
        .lock("T0.1", 4, "m")
        .lock("T0.1", 5, "m")
        .event("T0.1", 6, Wait { at: cond, mutex: lock })
        .lock("T0", 7, "m")
        .event("T0", 8, Signal { at: cond, woken: Some(ThreadId(1)) })
        .unlock("T0", 9, "m")
        .event("T0.1", 6, Wake { at: cond, mutex: lock, by: WakeCause::Signal(ThreadId(0)) })
        .event("T0.1", 10, SemPost { at: sem })
        .event("T0", 11, SemWait { at: sem })
        .event("T0", 12, BarrierArrive { at: bar })
        .event("T0.1", 13, BarrierArrive { at: bar })
        .event("T0.1", 13, BarrierLeave { at: bar })
        .event("T0", 12, BarrierLeave { at: bar })
        .event("T0", 14, Once { at: once, won: true })
        .event("T0.1", 15, Exit)
        .event("T0", 16, OnceDone { at: once })
        .join("T0", 17, 1)
        .pass();
    let sources = Sources::none();
    let mut stepper = stepper(&run, &sources);
    let mut at = |event: usize, question: &str, answers: &[&str]| {
        say(&mut stepper, &format!("goto {event}"));
        contains(&say(&mut stepper, question), answers);
    };
    at(3, "i threads", &["T0.1                      not created yet"]);
    at(6, "i locks", &["m    held (2 times) by T0.1 since event 4", "T0 waits for it"]);
    at(
        7,
        "i locks",
        &["c    waiting: T0.1 since event 6", "s    count 0", "bar  0 of 2", "free: m"],
    );
    at(7, "i threads", &["waits for a signal of c"]);
    at(9, "i threads", &["T0.1  bank.c:6 in worker  waits for m, held by T0"]);
    at(10, "i threads", &["waits for semaphore s"]);
    at(11, "where", &["bank.c:10 in worker (T0.1)"]);
    at(12, "i locks", &["s    count 1", "nobody waits"]);
    at(14, "i threads", &["T0    bank.c:12 in worker  waits for other threads at barrier bar"]);
    at(15, "i locks", &["bar  0 of 2"]);
    at(18, "p o", &["o: begun by T0 at event 17"]);
    at(20, "p o", &["o: done by T0 at event 19"]);
}

#[test]
fn parts_and_wholes_of_a_structure_are_one_memory() {
    let mut run = RunBuilder::new(&["T0", "T0.1"])
        .write("T0", 1, "pair", 0x0000_0002_0000_0001)
        .write("T0.1", 2, "pair.high", 7)
        .read("T0", 3, "pair.low", 1)
        .pass();
    for (location, (offset, bytes)) in run.trace.locations.iter_mut().zip([(0, 8), (4, 4), (0, 4)])
    {
        (location.object, location.offset, location.bytes) = (ObjectId(0), offset, bytes);
    }
    let sources = Sources::none();
    let mut stepper = stepper(&run, &sources);
    say(&mut stepper, "g 2");
    contains(&say(&mut stepper, "p pair.high"), &["pair.high = 2", "written by T0 at event 1"]);
    say(&mut stepper, "g 3");
    let whole = (7u64 << 32) + 1;
    contains(
        &say(&mut stepper, "p pair"),
        &[&format!("pair = {whole}"), "next read: T0 at event 3"],
    );
    say(&mut stepper, "watch pair.low");
    assert_eq!(stops(&mut stepper, "rc"), [0]);
}

#[test]
fn what_changes_without_an_event_is_said() {
    let run = RunBuilder::new(&["T0", "T0.1"])
        .write("T0", 1, "x", 1)
        .read("T0.1", 2, "x", 5)
        .read("T0.1", 3, "x", 5)
        .pass();
    let sources = Sources::none();
    let mut stepper = stepper(&run, &sources);
    contains(
        &say(&mut stepper, "n"),
        &["(no event wrote that: last 1 by T0 at event 1, bank.c:1)"],
    );
    say(&mut stepper, "n");
    contains(&say(&mut stepper, "p x"), &["x = 5", "it has changed since without an event"]);
}

#[test]
fn nothing_that_depends_on_an_unknown_order_is_said() {
    let (diagnosis, sources) = support::lost_update();
    let run = &diagnosis.failing;
    let subject =
        Subject { trace: &run.trace, outcome: &run.outcome, ending: ENDING, order_known: false };
    let mut stepper = Stepper::new(subject, &sources, Style::default());
    let text = say(&mut stepper, "g 6; p total; info values");
    contains(&text, &["switch: T0.1 → T0.2\n", "read total = 100"]);
    assert!(!text.contains("written by") && !text.contains("could go on"), "{text}");
}

#[test]
fn runs_without_lines_and_without_events_can_be_stepped() {
    let (diagnosis, sources) = support::without_lines();
    let mut no_lines = stepper(&diagnosis.failing, &sources);
    contains(&say(&mut no_lines, "n"), &["2/11  T0  worker (no line information)"]);
    contains(&refused(&mut no_lines, "b 12"), &["which file"]);
    contains(&refused(&mut no_lines, "b bank.c:12"), &["no event of this run has a line"]);
    refused(&mut no_lines, "list");
    say(&mut no_lines, "watch total; c; where; end");

    let empty = RunBuilder::new(&["T0"]).fail(&failure(FailureKind::Crash, "crash", "T0", 3));
    let sources = Sources::none();
    let mut empty = stepper(&empty, &sources);
    for command in
        ["n", "c", "rn", "rc", "tc", "i threads", "i locks", "i values", "i events", "end"]
    {
        say(&mut empty, command);
    }
    contains(&empty.here(), &["after 0 events", "assertion: it failed"]);
    let nobody = Observed { trace: Trace::default(), ..RunBuilder::new(&[]).pass() };
    let mut nobody = stepper(&nobody, &sources);
    for command in ["n", "i threads", "where", "i events"] {
        say(&mut nobody, command);
    }
    refused(&mut nobody, "tn");
}

#[test]
fn names_are_shown_never_obeyed() {
    let (diagnosis, sources) = support::hostile();
    let run = &diagnosis.failing;
    let ending = "\x1b[2J\u{202e}\n    at \x07\n";
    let subject = Subject { trace: &run.trace, outcome: &run.outcome, ending, order_known: true };
    let mut stepper = Stepper::new(subject, &sources, Style::default());
    let mut text = String::new();
    let questions =
        ["i threads", "i values", "i locks", "i events", "where", "l", "p *", "b 12", "i b"];
    for _ in 0..=run.trace.events.len() {
        for question in questions {
            text += &stepper.execute(question).text;
        }
        text += &stepper.execute("n").text;
    }
    text += &stepper.execute("p \x1b[0m").text;
    text += &stepper.execute("watch \x1b]0;x").text;
    let obeyed: Vec<char> =
        text.chars().filter(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}').collect();
    assert!(obeyed.is_empty(), "{obeyed:?}");
    // Colour comes from us only, and only if asked for.
    let plain = Style { unicode: false, ..Style::default() };
    let (diagnosis, _) = support::lost_update();
    let run = &diagnosis.failing;
    let subject =
        Subject { trace: &run.trace, outcome: &run.outcome, ending: ENDING, order_known: true };
    let sources = Sources::none();
    assert!(say(&mut Stepper::new(subject, &sources, plain), "g 6").is_ascii());
    let colour = Style { color: true, ..plain };
    contains(&say(&mut Stepper::new(subject, &sources, colour), "g 6"), &["\x1b[31mswitch"]);
}

#[test]
fn lines_keep_within_the_width() {
    for (name, diagnosis, sources) in support::all() {
        let run = &diagnosis.failing;
        let subject =
            Subject { trace: &run.trace, outcome: &run.outcome, ending: "", order_known: true };
        let style = Style { width: 60, ..Style::default() };
        let mut stepper = Stepper::new(subject, &sources, style);
        for _ in 0..run.trace.events.len().min(20) {
            for line in say(&mut stepper, "n; i threads; i events; p *").lines() {
                assert!(line.chars().count() <= 60, "{name}: {line}");
            }
        }
    }
}

#[test]
fn a_hundred_thousand_events_are_no_distance() {
    let mut trace = RunBuilder::new(&["T0", "T0.1"]).write("T0", 1, "x", 0).pass().trace;
    let names = 500;
    trace.locations = (0..names)
        .map(|n| Location {
            object: ObjectId(0),
            offset: 8 * n,
            bytes: 8,
            name: format!("x[{n}]"),
            shape: Shape::Unknown,
        })
        .collect();
    let site = trace.events[0].site;
    trace.events = (0..100_000u64)
        .map(|n| {
            let at = LocationId((n * 7 % names) as u32);
            let value = Value::Word(n);
            Event {
                thread: ThreadId((n / 3 % 2) as u32),
                site,
                caller: None,
                kind: EventKind::Write { at, value },
            }
        })
        .collect();
    let run = Observed { trace, ..RunBuilder::new(&["T0", "T0.1"]).pass() };
    let sources = Sources::none();
    let begun = Instant::now();
    let mut stepper = stepper(&run, &sources);
    for n in 0..1000usize {
        let position = n * 7919 % 100_000;
        say(&mut stepper, &format!("goto {}; back; p x[3]; info threads; tc; rtn", position + 2));
    }
    say(&mut stepper, "watch x[3]; c; c; end; rc; info values");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn help_knows_every_command() {
    let (diagnosis, sources) = support::lost_update();
    let mut stepper = stepper(&diagnosis.failing, &sources);
    let text = say(&mut stepper, "help");
    contains(&text, &["next, n", "reverse-continue, rc", "break, b", "info, i", "quit, q"]);
    contains(&say(&mut stepper, "help b"), &["WHERE is LINE"]);
    refused(&mut stepper, "help dance");
    refused(&mut stepper, "dance");
}
