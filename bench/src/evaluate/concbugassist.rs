//! ConcBugAssist's tables 5.1 and 5.2: every cause of a failure, as few orders each as make it fail.

use std::time::Instant;

use super::claim::{Claim, Seen, judge, mean};
use super::lab::Lab;
use super::page::Table;
use super::words::{or_why, seconds};
use crate::causes::notes;
use crate::causes::paper::{ROWS, Row as Paper};
use xtask::corpus::{self, Causes};

/// What one program may take.
const LIMITS: [&str; 2] = ["--time", "120s"];

/// Table 5.2, with the threads of 5.1.
pub fn table(lab: &Lab) -> Table {
    let rows = lab.rows(&ROWS, |paper| Row::measure(lab, paper));
    let cells = rows.iter().map(|row| {
        let Row { paper, causes, seconds: took } = row;
        let of = |figure: fn(&Causes) -> String| or_why(causes, figure);
        vec![
            paper.program.to_owned(),
            seconds(paper.seconds),
            seconds(*took),
            paper.iterations.to_string(),
            of(|causes| causes.counts.iterations.to_string()),
            paper.constraints.to_string(),
            of(|causes| format!("{:.1}", causes.counts.orders_a_schedule)),
            format!("{:.1}", paper.core),
            of(|causes| format!("{:.1}", causes.counts.orders_a_cause)),
            paper.unique.to_string(),
            of(|causes| causes.counts.unique.to_string()),
            format!("{:.1} %", paper.ratio()),
            of(|causes| format!("{:.1} %", causes.counts.reduction_ratio * 100.0)),
            of(|causes| if causes.extent.complete { "yes" } else { "no" }.to_owned()),
        ]
    });
    let remarks = rows.iter().filter_map(Row::remark);
    Table {
        id: "concbugassist",
        title: "ConcBugAssist, table 5.2: all causes",
        about: "The whole command `unravel causes`, once. *causes*: erroneous schedules that were blocked until none was left \
                (iterations). *ratio*: the distinct orders of all causes, of those of a schedule. *complete*: every class of schedules \
                of this input was explored, so that there is no other cause.",
        columns: &[
            "program",
            "time, paper",
            "ours",
            "causes, paper",
            "ours",
            "orders a schedule, paper",
            "ours",
            "orders a cause, paper",
            "ours",
            "unique, paper",
            "ours",
            "ratio, paper",
            "ours",
            "complete",
        ],
        rows: cells.collect(),
        remarks: std::iter::once(format!(
            "Where the number of causes differs ({}):",
            notes::PREFACE
        ))
        .chain(remarks)
        .collect(),
        claims: judge(&CLAIMS, &rows),
        aims: judge(&AIMS, &rows),
        seconds: 0.0,
    }
}

const CLAIMS: [Claim<Row>; 4] = [
    Claim {
        says: "all causes of every program are found: every class of schedules was explored",
        of: |rows| Seen::of_all(rows, Row::name, |row| row.is(|causes| causes.extent.complete)),
    },
    Claim {
        says: "every cause is minimal",
        of: |rows| Seen::of_all(rows, Row::name, |row| row.is(Causes::are_minimal)),
    },
    Claim {
        says: "on average less time than the paper's 16 s, by a factor of 5",
        of: |rows| Seen::at_most(mean(rows.iter().map(|row| row.seconds)), 16.0 / 5.0, " s"),
    },
    Claim {
        says: "where the number of causes is another than the paper's, it is said why",
        of: |rows| {
            Seen::of_all(rows, Row::name, |row| !row.differs() || notes::of(row.name()).is_some())
        },
    },
];

const AIMS: [Claim<Row>; 2] = [
    Claim {
        says: "less than 2 s on average",
        of: |rows| Seen::at_most(mean(rows.iter().map(|row| row.seconds)), 2.0, " s"),
    },
    Claim {
        says: "as many causes as in the paper",
        of: |rows| Seen::of_all(rows, Row::name, |row| !row.differs()),
    },
];

struct Row {
    paper: &'static Paper,
    causes: Result<Causes, String>,
    seconds: f64,
}

impl Row {
    fn measure(lab: &Lab, paper: &'static Paper) -> Row {
        let scratch = lab.scratch.path().join("causes").join(paper.case.replace('/', "-"));
        let started = Instant::now();
        let causes = std::fs::create_dir_all(&scratch)
            .map_err(|error| error.to_string())
            .and_then(|()| corpus::causes(&lab.tool, &lab.folder(paper.case), &scratch, &LIMITS));
        Row { paper, causes, seconds: started.elapsed().as_secs_f64() }
    }

    fn name(&self) -> &str {
        self.paper.program
    }

    fn is(&self, holds: impl Fn(&Causes) -> bool) -> bool {
        self.causes.as_ref().is_ok_and(holds)
    }

    fn differs(&self) -> bool {
        self.is(|causes| causes.counts.iterations != self.paper.iterations)
    }

    fn remark(&self) -> Option<String> {
        let note = notes::of(self.name()).filter(|_| self.differs())?;
        Some(format!("{}: {note}.", self.name()))
    }
}
