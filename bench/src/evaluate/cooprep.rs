//! CoopREP's tables 3.2 and 3.6: the sizes of its programs. Attempts to replay and times are `cargo xtask bench coop`'s.

use super::claim::{Claim, Seen, judge};
use super::lab::{Lab, Subject};
use super::page::Table;
use super::words::or_why;
use xtask::corpus::Failing;

struct Paper {
    program: &'static str,
    /// Its events are the paper's accesses to shared elements.
    subject: Subject,
    /// Shared program elements.
    elements: u32,
    rate: &'static str,
}

const fn row(
    program: &'static str,
    case: &'static str,
    args: &'static [&'static str],
    elements: u32,
    events: u64,
    rate: &'static str,
) -> Paper {
    Paper { program, subject: Subject { case, args, events }, elements, rate }
}

#[rustfmt::skip] // One line a row, as in the tables.
const ROWS: [Paper; 13] = [
    row("BoundedBuffer", "sync/boundedbuffer", &["30"], 15, 525, "1 %"),
    row("BubbleSort", "atomicity/bubblesort", &["100"], 11, 52495, "2 %"),
    row("BufferWriter", "data-race/bufwriter", &["5580"], 6, 130597, "35 %"),
    row("Deadlock", "deadlock/deadlock", &[], 4, 12, "12 %"),
    row("Manager", "atomicity/manager", &["4", "50"], 5, 2368, "28 %"),
    row("Piper", "sync/piper", &["4", "9"], 8, 580, "6 %"),
    row("ProducerConsumer", "data-race/producerconsumer", &["40", "40"], 8, 576, "15 %"),
    row("TicketOrder", "path-dependent/ticketorder", &["4", "205"], 9, 6662, "2 %"),
    row("TwoStage", "multi-variable/twostage", &["1500"], 5, 27103, "1 %"),
    row("Cache4j", "real/cache4j", &["8"], 4, 129, "15 %"),
    row("Derby 2861", "real/derby-2861", &["300"], 14, 2509, "5 %"),
    row("Tomcat 37458", "real/tomcat-37458", &["16"], 22, 89, "16 %"),
    row("Weblech", "real/weblech", &["2"], 5, 54, "1 %"),
];

/// Tables 3.2 and 3.6.
pub fn table(lab: &Lab) -> Table {
    let rows = lab.rows(&ROWS, |paper| Row {
        paper,
        small: lab.small(paper.subject.case),
        sized: lab.sized(paper.subject, "pct"),
    });
    let cells = rows.iter().map(|row| {
        let events = |failing: &Failing| failing.events.to_string();
        vec![
            row.paper.program.to_owned(),
            row.paper.elements.to_string(),
            row.paper.subject.events.to_string(),
            or_why(&row.small, events),
            or_why(&row.sized, events),
            row.paper.rate.to_owned(),
        ]
    });
    Table {
        id: "cooprep",
        title: "CoopREP, tables 3.2 and 3.6: programs",
        about: "How long the programs are; events of ours are of a failing run that `find` found.",
        columns: &["program", "shared elements, paper", "accesses, paper", "events, ours, small", "ours", "failure rate, paper"],
        rows: cells.collect(),
        remarks: vec![
            "Partial logs, their merging and attempts to replay are measured by `cargo xtask bench coop`. Not measured: the overhead of \
             recording access vectors, which native programs cannot do yet."
                .into(),
            "Deadlock has no argument: its two threads take two locks each, once, and a failing run ends there. The failing run nearest in length \
             counts, and it ends at the failure, which of BoundedBuffer and TwoStage comes early however much there is to do."
                .into(),
            "Not measured: the failure rate, which is that of native runs on the paper's machine.".into(),
        ],
        claims: judge(&CLAIMS, &rows),
        aims: judge(&AIMS, &rows),
        seconds: 0.0,
    }
}

const CLAIMS: [Claim<Row>; 1] = [Claim {
    says: "every bug is found, in the small program and at the size that it has here",
    of: |rows| {
        Seen::of_all(rows, |row| row.paper.program, |row| row.small.is_ok() && row.sized.is_ok())
    },
}];

const AIMS: [Claim<Row>; 1] = [Claim {
    says: "our runs have at least 70 % of the paper's accesses",
    of: |rows| {
        Seen::of_all(
            rows,
            |row| row.paper.program,
            |row| {
                let least = row.paper.subject.events as f64 * 0.7;
                row.sized.as_ref().is_ok_and(|failing| failing.events as f64 >= least)
            },
        )
    },
}];

struct Row {
    paper: &'static Paper,
    small: Result<Failing, String>,
    sized: Result<Failing, String>,
}
