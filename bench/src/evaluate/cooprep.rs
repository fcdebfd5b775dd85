//! CoopREP's tables 3.2 and 3.6: the sizes of its programs. Attempts to replay and times are `cargo xtask bench coop`'s.

use super::claim::{Claim, Seen, judge};
use super::lab::{Lab, Subject};
use super::page::Table;
use super::words::or_why;
use crate::coop::paper::{Paper, ROWS};
use xtask::corpus::Failing;

/// Tables 3.2 and 3.6.
pub fn table(lab: &Lab) -> Table {
    let rows = lab.rows(&ROWS, |paper| Row {
        paper,
        small: lab.small(paper.case),
        sized: lab
            .sized(Subject { case: paper.case, args: paper.args, events: paper.accesses }, "pct"),
    });
    let cells = rows.iter().map(|row| {
        let events = |failing: &Failing| failing.events.to_string();
        vec![
            row.paper.program.to_owned(),
            row.paper.elements.to_string(),
            row.paper.accesses.to_string(),
            or_why(&row.small, events),
            or_why(&row.sized, events),
            format!("{} %", row.paper.rate),
        ]
    });
    Table {
        id: "cooprep",
        title: "CoopREP, tables 3.2 and 3.6: programs",
        about: "How long the programs are; events of ours are of a failing run that `find` found.",
        columns: &["program", "shared elements, paper", "accesses, paper", "events, ours, small", "ours", "failure rate, paper"],
        rows: cells.collect(),
        remarks: vec![
            "Partial logs, their merging and attempts to replay are measured by `cargo xtask bench coop`. What recording \
             access vectors costs in native programs is in [cooperative logs](cooperative.md#native-programs)."
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
                let least = row.paper.accesses as f64 * 0.7;
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
