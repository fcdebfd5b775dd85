//! Symbiosis' tables: from paths to a failing schedule, its projection on what differs, its reduction.

mod paper;

use std::path::Path;
use std::process::{Command, Stdio};

use super::claim::{Claim, Seen, judge, mean};
use super::lab::Lab;
use super::page::Table;
use super::words::{NONE, fewer, milliseconds, or_why, seconds};
use crate::diagnose::measured::{Alternate, Measured, diagnose};
use paper::{Paper, ROWS};
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
        "Not measured: overhead and size of logs of path profiling. There is no recording in production yet; \
         the paths are taken from an execution of ours."
            .to_owned(),
        "`–` under constraints: a schedule was found by walking the paths at random and no question was asked, or none came so far."
            .to_owned(),
    ];
    remarks.extend(without);
    Table {
        id: "symbiosis-1",
        title: "Symbiosis, table I: a failing schedule from paths alone",
        about: "Of the failing run only each thread's branches are taken (`diagnose --paths-only`). Constraints and variables are those of \
                the first question in SMT-LIB, as `--dump-smt` writes it; our own solver answers it without most of them. *solved*: \
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
        seconds: 0.0,
    }
}

/// Programs of which the paths alone lead to no failing schedule: branches depend on what library functions return. One that
/// is solved has to leave the list.
const UNSOLVED: [&str; 4] = ["pfscan", "pbzip2 S", "pbzip2 M", "pbzip2 L"];

const SOLVED: [Claim<Solved>; 4] = [
    Claim {
        says: "every program fails at the paper's size, with at least 70 % of its events",
        of: |rows| Seen::of_all(rows, Solved::name, Solved::is_long),
    },
    Claim {
        says: "a failing schedule is found from paths alone, and fails when executed, but of pfscan and pbzip2",
        of: |rows| Seen::of_all(rows, Solved::name, |row| row.found.is_ok() || row.is_unsolved()),
    },
    Claim {
        says: "of these two none is found from paths alone",
        of: |rows| Seen::of_all(rows, Solved::name, |row| row.found.is_err() || !row.is_unsolved()),
    },
    Claim {
        says: "each of the others in less than 5 s (the paper's longest: 15 h 15 min)",
        of: |rows| {
            Seen::of_all(rows, Solved::name, |row| {
                row.found.as_ref().map_or(row.is_unsolved(), |found| found.timings.failing < 5.0)
            })
        },
    },
];

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

    fn is_unsolved(&self) -> bool {
        UNSOLVED.contains(&self.paper.program)
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

/// Table II.
pub fn table_2(lab: &Lab) -> Table {
    let rows = lab.rows(&ROWS, |paper| Projected::measure(lab, paper));
    let cells = rows.iter().map(|row| {
        let Projected { paper, small, failing, measured } = row;
        let of = |figure: fn(&Measured, &Alternate) -> String| match measured {
            Ok(measured) => {
                let first = measured.diagnosis.alternates.first();
                first.map_or(NONE.into(), |alternate| figure(measured, alternate))
            }
            Err(why) => why.clone(),
        };
        vec![
            paper.program.to_owned(),
            paper.subject.events.to_string(),
            or_why(small, |small| small.diagnosis.failing.events.to_string()),
            or_why(failing, |failing| failing.events.to_string()),
            of(|measured, _| measured.diagnosis.failing.events.to_string()),
            paper.pairs.to_string(),
            paper.projected_events.to_string(),
            of(|_, alternate| alternate.projection.failing.len().to_string()),
            paper.flows.to_string(),
            of(|_, alternate| alternate.projection.all_flows.to_string()),
            paper.projected_flows.to_string(),
            or_why(small, |small| small.diagnosis.alternates.first().map_or(NONE.into(), distance)),
            of(|_, alternate| distance(alternate)),
            of(|measured, _| seconds(measured.wall)),
        ]
    });
    Table {
        id: "symbiosis-2",
        title: "Symbiosis, table II: differential schedule projections",
        about: "Each failing run is diagnosed by default settings; the nearest passing schedule was executed and passed. *flows that \
                differ*: `*` no passing schedule on this path differs in fewer, proved; `~` the passing run takes another path.",
        columns: &[
            "program", "events, paper", "ours, small", "ours", "ours, as shown", "pairs tried, paper", "projected events, paper", "ours",
            "data flows, paper", "ours", "flows that differ, paper", "ours, small", "ours", "whole command",
        ],
        rows: cells.collect(),
        remarks: vec![
            "Pairs tried: ours tries none one by one; the passing schedule is looked for by what it changes (`--goal pair` does as the \
             paper, see the MaxSMT tables)."
                .into(),
            "*as shown*: the diagnosis first makes the failing run simple, which also ends it as early as the failure allows. Data \
             flows are those of that run, so that what differs is a larger share of them than of the paper's."
                .into(),
            "pbzip2: the nearest passing run takes another path, on which consumers do other blocks: one data flow differs, and many events \
             stand in the projection. bbuf and pfscan: passing runs take another path, on which nothing is proved."
                .into(),
        ],
        claims: judge(&PROJECTED, &rows),
        seconds: 0.0,
    }
}

/// How many flows differ, and what is known of that.
fn distance(alternate: &Alternate) -> String {
    format!(
        "{}{}{}",
        alternate.distance.data_flow,
        if alternate.minimality.proved { "*" } else { "" },
        if alternate.same_path { "" } else { "~" }
    )
}

const PROJECTED: [Claim<Projected>; 5] = [
    Claim {
        says: "every program has a passing schedule beside its failing one, both executed",
        of: |rows| Seen::of_all(rows, Projected::name, |row| row.alternate().is_some()),
    },
    Claim {
        says: "no more data flows differ than in the paper, or it is proved that none fewer can, but of bbuf and pfscan",
        of: |rows| {
            Seen::of_all_but(rows, &["bbuf", "pfscan"], Projected::name, |row| {
                row.alternate().is_some_and(|alternate| {
                    alternate.distance.data_flow <= row.paper.projected_flows
                        || alternate.minimality.proved
                })
            })
        },
    },
    Claim {
        says: "on average at least 75 % fewer data flows than the run that is shown (the paper, of the whole schedule: 96 %)",
        of: |rows| Seen::at_least(mean(rows.iter().filter_map(Projected::fewer_flows)), 75.0, " %"),
    },
    Claim {
        says: "on average at least 80 % fewer events than the failing run (the paper: 90 %)",
        of: |rows| {
            Seen::at_least(mean(rows.iter().filter_map(Projected::fewer_events)), 80.0, " %")
        },
    },
    Claim {
        says: "every diagnosis takes less than 30 s",
        of: |rows| {
            Seen::of_all(rows, Projected::name, |row| {
                row.measured.as_ref().is_ok_and(|measured| measured.wall < 30.0)
            })
        },
    },
];

/// A row of table II.
struct Projected {
    paper: &'static Paper,
    small: Result<Measured, String>,
    failing: Result<Failing, String>,
    measured: Result<Measured, String>,
}

impl Projected {
    fn measure(lab: &Lab, paper: &'static Paper) -> Projected {
        let diagnosed = |failing: Failing| {
            diagnose(&lab.tool, &failing.trace, &[]).map_err(|error| error.to_string())
        };
        let failing = lab.sized(paper.subject, "pct");
        Projected {
            paper,
            small: lab.small(paper.subject.case).and_then(diagnosed),
            measured: failing.clone().and_then(diagnosed),
            failing,
        }
    }

    fn name(&self) -> &str {
        self.paper.program
    }

    /// The nearest passing schedule, if it was executed.
    fn alternate(&self) -> Option<&Alternate> {
        let diagnosis = &self.measured.as_ref().ok()?.diagnosis;
        diagnosis.alternates.first().filter(|_| diagnosis.status.kind == "confirmed")
    }

    fn fewer_flows(&self) -> Option<f64> {
        let projection = &self.alternate()?.projection;
        Some(fewer(projection.flows.len() as u64, projection.all_flows))
    }

    fn fewer_events(&self) -> Option<f64> {
        let events = self.failing.as_ref().ok()?.events;
        Some(fewer(self.alternate()?.projection.failing.len() as u64, events))
    }
}

/// Table III.
pub fn table_3(lab: &Lab) -> Table {
    let rows = lab.rows(&ROWS, |paper| Reduced::measure(lab, paper));
    let cells = rows.iter().map(|row| {
        let Reduced { paper, measured } = row;
        let of = |figure: fn(&Measured) -> String| or_why(measured, figure);
        vec![
            paper.program.to_owned(),
            paper.subject.events.to_string(),
            of(|measured| measured.diagnosis.failing.events.to_string()),
            format!("{} → {}", paper.switches.0, paper.switches.1),
            of(|measured| {
                let switches = &measured.diagnosis.context_switches;
                format!("{} → {}", switches.given, switches.reduced)
            }),
            paper.reducing.to_owned(),
            of(|measured| milliseconds(measured.timings.reducing)),
        ]
    });
    Table {
        id: "symbiosis-3",
        title: "Symbiosis, table III: context-switch reduction",
        about: "Failing runs of random search, which switch often; what the diagnosis makes of them before it looks for a passing one.",
        columns: &[
            "program",
            "events, paper",
            "ours",
            "switches, paper",
            "ours",
            "time, paper",
            "ours",
        ],
        rows: cells.collect(),
        remarks: vec![
            "cache4j M and L: the reduction within a diagnosis leaves these runs as they are; why was not looked into. \
             `unravel simplify`, which `explain` does first, is not that reduction (Tinertia's tables)."
                .into(),
        ],
        claims: judge(&REDUCED, &rows),
        seconds: 0.0,
    }
}

const REDUCED: [Claim<Reduced>; 2] = [
    Claim {
        says: "on average at least 63 % fewer context switches (the paper's average), but of cache4j M and L",
        of: |rows| {
            let long = |row: &&Reduced| matches!(row.paper.program, "cache4j M" | "cache4j L");
            let rows = rows.iter().filter(|row| !long(row));
            Seen::at_least(mean(rows.filter_map(Reduced::fewer)), 63.0, " %")
        },
    },
    Claim {
        says: "no reduction takes longer than 5 s (the paper's longest: 5 h 11 min)",
        of: |rows| {
            Seen::of_all(
                rows,
                |row| row.paper.program,
                |row| row.measured.as_ref().is_ok_and(|measured| measured.timings.reducing < 5.0),
            )
        },
    },
];

/// A row of table III.
struct Reduced {
    paper: &'static Paper,
    measured: Result<Measured, String>,
}

impl Reduced {
    fn measure(lab: &Lab, paper: &'static Paper) -> Reduced {
        let measured = lab.sized(paper.subject, "random").and_then(|failing| {
            diagnose(&lab.tool, &failing.trace, &[]).map_err(|error| error.to_string())
        });
        Reduced { paper, measured }
    }

    fn fewer(&self) -> Option<f64> {
        let switches = &self.measured.as_ref().ok()?.diagnosis.context_switches;
        Some(fewer(switches.reduced, switches.given))
    }
}
