//! Table III: context-switch reduction.

use super::paper::{Paper, ROWS};
use crate::diagnose::measured::{Measured, diagnose};
use crate::evaluate::claim::{Claim, Seen, judge, mean};
use crate::evaluate::lab::Lab;
use crate::evaluate::page::Table;
use crate::evaluate::words::{fewer, milliseconds, or_why};

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
        remarks: rows
            .iter()
            .filter(|row| row.fewer() == Some(0.0))
            .map(Reduced::unchanged)
            .collect(),
        claims: judge(&REDUCED, &rows),
        aims: Vec::new(),
        seconds: 0.0,
    }
}

const REDUCED: [Claim<Reduced>; 2] = [
    Claim {
        says: "on average 63 % fewer context switches (the paper's average)",
        of: |rows| Seen::at_least(mean(rows.iter().filter_map(Reduced::fewer)), 63.0, " %"),
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

    /// Why it has as many switches as before.
    fn unchanged(&self) -> String {
        format!(
            "{}, behind the paper: the run is left as it was, since no order of its steps with fewer switches was found that is modelled \
             and fails when executed.",
            self.paper.program
        )
    }

    fn fewer(&self) -> Option<f64> {
        let switches = &self.measured.as_ref().ok()?.diagnosis.context_switches;
        Some(fewer(switches.reduced, switches.given))
    }
}
