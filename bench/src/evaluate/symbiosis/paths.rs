//! Table I: a failing schedule from paths alone.

use std::path::Path;
use std::process::{Command, Stdio};

use super::paper::{Paper, ROWS};
use crate::diagnose::measured::{Measured, diagnose};
use crate::evaluate::claim::{Claim, Seen, judge};
use crate::evaluate::lab::Lab;
use crate::evaluate::page::Table;
use crate::evaluate::words::{NONE, milliseconds, or_why};
use xtask::corpus::Failing;

/// What a question to a solver may take.
const TIME: [&str; 2] = ["--time", "20s"];
/// Least of the paper's events that a program has to reach at the paper's size.
const NEAR: f64 = 0.7;

/// Table I.
pub fn table_1(lab: &Lab) -> Table {
    let rows = lab.rows(&ROWS, |paper| Solved::measure(lab, paper));
    let cells = rows.iter().map(|row| {
        let Solved { paper, small, failing, found, question } = row;
        let of = |figure: fn(&Failing) -> String| or_why(failing, figure);
        vec![
            paper.program.to_owned(),
            paper.threads.to_string(),
            of(|failing| failing.threads.to_string()),
            paper.subject.events.to_string(),
            or_why(small, |failing| failing.events.to_string()),
            of(|failing| failing.events.to_string()),
            paper.constraints.to_string(),
            question.map_or(NONE.into(), |question| question.constraints.to_string()),
            paper.variables.to_string(),
            question.map_or(NONE.into(), |question| question.variables.to_string()),
            paper.solving.to_owned(),
            found.as_ref().map_or(NONE.into(), |found| milliseconds(found.timings.failing)),
        ]
    });
    let without = rows.iter().filter_map(|row| {
        Some(format!("{}, not found: {}.", row.name(), row.found.as_ref().err()?))
    });
    let mut remarks = vec![
        "Overhead and size of logs of path profiling are not in this table: `cargo xtask bench record` measures them, and \
         docs/recording.md says what came of it. Here the paths are taken from an execution of ours."
            .to_owned(),
        "`–` under constraints: a schedule was found by walking the paths at random or by steering executions along them, and no \
         question was asked, or none came so far."
            .to_owned(),
    ];
    remarks.extend(without);
    Table {
        id: "symbiosis-1",
        title: "Symbiosis, table I: a failing schedule from paths alone",
        about: "Of the failing run only each thread's branches are taken (`diagnose --paths-only`). Constraints and variables are those of \
                the first question in SMT-LIB, as `--dump-smt` writes it, with an encoding of ours: fewer than the paper's are no merit by themselves. *solved*: \
                from the paths to a schedule that was executed and failed.",
        columns: &[
            "program",
            "threads, paper",
            "ours",
            "events, paper",
            "ours, small",
            "ours",
            "constraints, paper",
            "ours",
            "variables, paper",
            "ours",
            "solved, paper",
            "ours",
        ],
        rows: cells.collect(),
        remarks,
        claims: judge(&SOLVED, &rows),
        aims: judge(&TO_SOLVE, &rows),
        seconds: 0.0,
    }
}

const SOLVED: [Claim<Solved>; 3] = [
    Claim {
        says: "every program fails at the paper's size, with at least 70 % of its events",
        of: |rows| Seen::of_all(rows, Solved::name, Solved::is_long),
    },
    Claim {
        says: "a failing schedule is found from paths alone, and fails when executed, but of pbzip2 L",
        of: |rows| {
            Seen::of_all(rows, Solved::name, |row| row.found.is_ok() || row.name() == "pbzip2 L")
        },
    },
    Claim {
        says: "whatever is found from paths is found in less than 20 s (the paper's longest: 15 h 15 min)",
        of: |rows| {
            Seen::of_all(rows, Solved::name, |row| {
                !row.found.as_ref().is_ok_and(|found| found.timings.failing >= 20.0)
            })
        },
    },
];

const TO_SOLVE: [Claim<Solved>; 1] = [Claim {
    says: "a failing schedule is found from paths alone of every program",
    of: |rows| Seen::of_all(rows, Solved::name, |row| row.found.is_ok()),
}];

/// A row of table I.
struct Solved {
    paper: &'static Paper,
    small: Result<Failing, String>,
    failing: Result<Failing, String>,
    found: Result<Measured, String>,
    question: Option<Question>,
}

impl Solved {
    fn measure(lab: &Lab, paper: &'static Paper) -> Solved {
        let small = lab.small(paper.subject.case);
        let failing = lab.sized(paper.subject, "pct");
        let found = failing.clone().and_then(|failing| {
            let flags = ["--paths-only", TIME[0], TIME[1]];
            diagnose(&lab.tool, &failing.trace, &flags).map_err(|error| error.to_string())
        });
        let question = failing.as_ref().ok().and_then(|failing| Question::of(lab, paper, failing));
        Solved { paper, small, failing, found, question }
    }

    fn name(&self) -> &str {
        self.paper.program
    }

    fn is_long(&self) -> bool {
        let least = self.paper.subject.events as f64 * NEAR;
        self.failing.as_ref().is_ok_and(|failing| failing.events as f64 >= least)
    }
}

/// How large the question is which schedule fails.
#[derive(Clone, Copy)]
struct Question {
    constraints: usize,
    variables: usize,
}

impl Question {
    fn of(lab: &Lab, paper: &Paper, failing: &Failing) -> Option<Question> {
        let folder = lab.scratch.path().join(format!("smt-{}", paper.program.replace(' ', "-")));
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", "120"]).arg(&lab.tool).arg("diagnose").arg(&failing.trace);
        command.args(["--paths-only", "--json", TIME[0], TIME[1], "--dump-smt"]).arg(&folder);
        command.stdin(Stdio::null()).output().ok()?;
        let text = first_file(&folder)?;
        let count = |word: &str| text.matches(word).count();
        Some(Question { constraints: count("(assert "), variables: count("(declare-") })
    }
}

/// The text of the first file of a folder, by name.
fn first_file(folder: &Path) -> Option<String> {
    let mut files: Vec<_> = std::fs::read_dir(folder).ok()?.filter_map(Result::ok).collect();
    files.sort_by_key(|file| file.file_name());
    std::fs::read_to_string(files.first()?.path()).ok()
}
