//! The MaxSMT paper's tables: time and size of the projection by every algorithm.

mod paper;

use super::claim::{Claim, Seen, judge};
use super::lab::Lab;
use super::page::Table;
use super::words::{NONE, milliseconds, or_why};
use crate::diagnose::measured::{Alternate, Measured, diagnose};
use paper::{ALGORITHMS, Paper, ROWS};
use xtask::corpus::Failing;

/// The paper's algorithms as goals of ours, in its order; what is reversed pair by pair stands for the heuristic.
const GOALS: [&str; ALGORITHMS] = ["pair", "maxsmt", "lexico", "progressive", "progressive-lexico"];
/// A question may take so long, and so many conflicts: the paper's threshold.
const LIMITS: [&str; 4] = ["--time", "20s", "--conflict-limit", "200000"];

/// Tables 1 and 2.
pub fn table(lab: &Lab) -> Table {
    let rows = lab.rows(&ROWS, |paper| Row::measure(lab, paper));
    let mut cells = Vec::new();
    for row in &rows {
        let Row { paper, small, failing, local, goals } = row;
        let mut line = vec![
            paper.program.to_owned(),
            "paper".to_owned(),
            paper.subject.events.to_string(),
            NONE.to_owned(),
        ];
        line.extend((0..ALGORITHMS).map(|at| match paper.sizes[at] {
            word @ ("TO" | "FAIL") => word.to_owned(),
            size => format!("{size}, {} s", paper.seconds[at]),
        }));
        cells.push(line);
        let events = match (small, failing) {
            (Ok(small), Ok(failing)) => format!("{} (small {})", failing.events, small.events),
            (_, failing) => or_why(failing, |failing| failing.events.to_string()),
        };
        let mut line = vec![String::new(), "ours".to_owned(), events, cell(local, "local")];
        line.extend(goals.iter().zip(GOALS).map(|(measured, goal)| cell(measured, goal)));
        cells.push(line);
    }
    Table {
        id: "maxsmt",
        title: "MaxSMT, tables 1 and 2: minimal projections, by algorithm",
        about: "OP/DF/BS/CTX of the nearest passing schedule (operations, data flows, broken segments, context switches that differ) and the \
                time to find it. *local* is our default. At most 20 s and 200,000 conflicts a question (the paper: 3 hours, and \
                200,000 conflicts for the progressive ones). `*` no schedule on the path differs in fewer data flows, proved; \
                without it: the best that was found; `~` on another path; `–` no schedule that the goal can reach passes, or it gave up.",
        columns: &[
            "program", "", "events", "local", "Symbiosis/Cortex: pair", "MaxSMT", "lexico", "progressive", "progressive lexico",
        ],
        rows: cells,
        remarks: vec![
            "The failing schedules are ours: what is minimal beside them need not be what is minimal beside the paper's.".into(),
            "Goals but the default one look for schedules on the recorded path. Where the default goal's is on another (`~`), they found none \
             there."
                .into(),
            "pfscan: two data flows differ in what is executed to its end; in the nearest order of the recorded steps, as the paper counts, one \
             (Symbiosis, table II)."
                .into(),
        ],
        claims: judge(&CLAIMS, &rows),
        aims: judge(&AIMS, &rows),
        seconds: 0.0,
    }
}

/// Whose goals find no schedule although the default one does, which goes on after what was recorded. Behind the paper.
const UNANSWERED: [&str; 1] = ["garage"];

const CLAIMS: [Claim<Row>; 5] = [
    Claim {
        says: "every program has a passing schedule (the paper's heuristic fails on bank)",
        of: |rows| Seen::of_all(rows, Row::name, |row| row.nearest().is_some()),
    },
    Claim {
        says: "no more data flows differ than in the paper's best, or it is proved that none fewer can; of pfscan (behind the paper) in recorded steps only",
        of: |rows| {
            Seen::of_all(rows, Row::name, |row| {
                row.is_within() || row.name() == "pfscan" && row.is_within_recorded()
            })
        },
    },
    Claim {
        says: "the default goal needs at most as long as the paper's fastest algorithm, or 10 s",
        of: |rows| {
            Seen::of_all(rows, Row::name, |row| {
                let paper = row.paper.seconds.iter().filter_map(|text| text.parse::<f64>().ok());
                let fastest = paper.fold(f64::MAX, f64::min).max(10.0);
                row.local.as_ref().is_ok_and(|measured| measured.timings.alternate <= fastest)
            })
        },
    },
    Claim {
        says: "no goal finds a schedule with fewer data flows, or with as many and fewer broken segments, than the default one",
        of: |rows| Seen::of_all(rows, Row::name, Row::is_nearest),
    },
    Claim {
        says: "where the nearest schedule is on the recorded path, MaxSMT and lexico find one, too, in 20 s, but of garage (behind the paper)",
        of: |rows| {
            Seen::of_all_but(rows, &UNANSWERED, Row::name, |row| {
                row.nearest().is_some_and(|nearest| !nearest.same_path)
                    || row.goals[1..3].iter().zip(&GOALS[1..3]).all(|(measured, goal)| {
                        measured.as_ref().is_ok_and(|measured| found(measured, goal).is_some())
                    })
            })
        },
    },
];

const AIMS: [Claim<Row>; 3] = [
    Claim {
        says: "of every program no more data flows differ than in the paper's best, or it is proved that none fewer can",
        of: |rows| Seen::of_all(rows, Row::name, Row::is_within),
    },
    Claim {
        says: "the default goal finds its schedule in 0.1 s",
        of: |rows| {
            Seen::of_all(rows, Row::name, |row| {
                row.local.as_ref().is_ok_and(|measured| measured.timings.alternate <= 0.1)
            })
        },
    },
    Claim {
        says: "MaxSMT and lexico answer for every program",
        of: |rows| {
            Seen::of_all(rows, Row::name, |row| {
                row.goals[1..3].iter().zip(&GOALS[1..3]).all(|(measured, goal)| {
                    measured.as_ref().is_ok_and(|measured| found(measured, goal).is_some())
                })
            })
        },
    },
];

struct Row {
    paper: &'static Paper,
    small: Result<Failing, String>,
    failing: Result<Failing, String>,
    local: Result<Measured, String>,
    /// By goal.
    goals: Vec<Result<Measured, String>>,
}

impl Row {
    fn measure(lab: &Lab, paper: &'static Paper) -> Row {
        let small = lab.small(paper.subject.case);
        let failing = lab.sized(paper.subject, "pct");
        let with = |flags: &[&str]| {
            failing.clone().and_then(|failing| {
                diagnose(&lab.tool, &failing.trace, flags).map_err(|error| error.to_string())
            })
        };
        let local = with(&[]);
        let goals = GOALS.iter().map(|goal| with(&[&["--goal", goal][..], &LIMITS].concat()));
        let goals = goals.collect();
        Row { paper, small, failing, local, goals }
    }

    fn name(&self) -> &str {
        self.paper.program
    }

    /// As few data flows differ as in the paper, or as can.
    fn is_within(&self) -> bool {
        let paper = self.paper.fewest_flows().unwrap_or(0);
        self.nearest()
            .is_some_and(|nearest| nearest.distance.data_flow <= paper || nearest.minimality.proved)
    }

    /// The same of the recorded steps alone.
    fn is_within_recorded(&self) -> bool {
        let paper = self.paper.fewest_flows().unwrap_or(0);
        let recorded = self.local.as_ref().ok().and_then(|m| m.timings.flows_recorded.as_ref());
        recorded.is_some_and(|of| of.differ <= paper || of.proved)
    }

    /// No goal's schedule is nearer than that of the default one.
    fn is_nearest(&self) -> bool {
        let rank =
            |of: &Alternate| (!of.same_path, of.distance.data_flow, of.distance.broken_segments);
        let goals = self.goals.iter().zip(GOALS);
        let mut theirs = goals.filter_map(|(measured, goal)| found(measured.as_ref().ok()?, goal));
        self.nearest().is_some_and(|nearest| theirs.all(|their| rank(nearest) <= rank(their)))
    }

    /// What the default goal says, executed.
    fn nearest(&self) -> Option<&Alternate> {
        let diagnosis = &self.local.as_ref().ok()?.diagnosis;
        diagnosis.alternates.first().filter(|_| diagnosis.status.kind == "confirmed")
    }
}

/// The schedule that a goal found itself. Where it found none, it shows what the default goal finds, and says so.
fn found<'m>(measured: &'m Measured, goal: &str) -> Option<&'m Alternate> {
    let in_its_place =
        |note: &String| note.starts_with(&format!("--goal {goal}:")) && note.ends_with("by trying");
    let diagnosis = &measured.diagnosis;
    diagnosis.alternates.first().filter(|_| !diagnosis.notes.iter().any(in_its_place))
}

fn cell(measured: &Result<Measured, String>, goal: &str) -> String {
    let Ok(measured) = measured else { return "gave up".to_owned() };
    let Some(alternate) = found(measured, goal) else { return NONE.to_owned() };
    format!("{}, {}", crate::diagnose::size(alternate), milliseconds(measured.timings.alternate))
}
