//! Cortex' tables 5.2 to 5.4: failures that no run showed, exposed from runs that passed.

use super::claim::{Claim, Seen, judge, mean};
use super::lab::Lab;
use super::page::Table;
use super::words::{NONE, milliseconds};
use crate::hunt::Trial;
use crate::hunt::paper::{ROWS, Row as Paper};
use crate::hunt::table::{events, flows, ours};
use xtask::corpus::Exposed;

/// Tables 5.2 and 5.3, and what 5.4 says of the same failures.
pub fn table(lab: &Lab) -> Table {
    let papers: Vec<&'static Paper> = ROWS.iter().filter(|row| row.cortex.is_some()).collect();
    let rows = lab.rows(&papers, |paper| Row::measure(lab, paper));
    Table {
        id: "cortex",
        title: "Cortex, tables 5.2 to 5.4: failures exposed from runs that passed",
        about: "100 runs that passed, then `unravel hunt`; what it exposes was executed twice and is the bug of the corpus. *runs*: different \
                ones. *observed*: combinations of what threads did in runs that were asked about, which Cortex does not count as \
                attempts. *attempts*: executions that were synthesised and asked about, as Cortex counts (a failure of an observed \
                combination is one). *(D,N)*: branches flipped at once and combinations kept. *flows*, *events*: of the \
                differential path-schedule projection, of all.",
        columns: &[
            "program",
            "events, paper",
            "ours, small",
            "ours",
            "runs, paper",
            "ours",
            "observed",
            "depends on, paper",
            "ours",
            "attempts, Cortex",
            "MCR",
            "ICB-DPOR",
            "ours, small",
            "ours",
            "(D,N), paper",
            "ours",
            "flipped, paper",
            "ours",
            "made, paper",
            "ours",
            "solving, paper",
            "ours",
            "flows, paper",
            "ours",
            "events, paper",
            "ours",
            "twin",
        ],
        rows: rows.iter().map(Row::cells).collect(),
        remarks: rows.iter().flat_map(Row::remarks).chain(SIZES.map(str::to_owned)).collect(),
        claims: judge(&CLAIMS, &rows),
        aims: judge(&AIMS, &rows),
        seconds: 0.0,
    }
}

/// What sizes mean.
const SIZES: [&str; 2] = [
    "ExMCR is run as it was published: each thread a loop of two rounds. With three rounds it is as long as the paper's run, but another \
     program, whose bug takes 13 attempts.",
    "Pool is longer by users that each use one object once. Where a user uses objects again and again, the bug takes 7 attempts with 8 uses and 11 \
     with 14: fewer than Cortex' 17, but more than MCR's 3.",
];

const CLAIMS: [Claim<Row>; 5] = [
    Claim {
        says: "every bug is exposed and confirmed in the small program, in no more attempts than Cortex (Pool: than MCR)",
        of: |rows| Seen::of_all(rows, Row::name, |row| row.small.is_within()),
    },
    Claim {
        says: "the same at the paper's size",
        of: |rows| Seen::of_all(rows, Row::name, |row| row.sized.is_within()),
    },
    Claim {
        says: "nothing is exposed in any fixed twin",
        of: |rows| {
            Seen::of_all(rows, Row::name, |row| row.small.is_silent() && row.sized.is_silent())
        },
    },
    Claim {
        says: "on average at least 83 % fewer data flows than the failing run (the paper's average)",
        of: |rows| {
            let shares = rows.iter().filter_map(|row| ours(&row.sized));
            Seen::at_least(mean(shares.map(|(flows, _)| flows.fewer() * 100.0)), 83.0, " %")
        },
    },
    Claim {
        says: "no hunt of a buggy program takes longer than 60 s (the paper's solver alone: up to 2 h 56 min a question)",
        of: |rows| {
            Seen::of_all(rows, Row::name, |row| {
                row.sized.bug.as_ref().is_ok_and(|bug| bug.seconds <= 60.0)
            })
        },
    },
];

const AIMS: [Claim<Row>; 2] = [
    Claim {
        says: "on average 50 % fewer events than the failing run (the paper's average)",
        of: |rows| {
            let shares = rows.iter().filter_map(|row| ours(&row.sized));
            Seen::at_least(mean(shares.map(|(_, events)| events.fewer() * 100.0)), 50.0, " %")
        },
    },
    Claim {
        says: "our failing runs have at least 70 % of the paper's events",
        of: |rows| {
            Seen::of_all(rows, Row::name, |row| {
                let paper = row.paper.cortex.map_or(0, |cortex| cortex.conciseness.events);
                ours(&row.sized)
                    .is_some_and(|(_, events)| events.all as f64 >= f64::from(paper) * 0.7)
            })
        },
    },
];

struct Row {
    paper: &'static Paper,
    small: Trial,
    /// At the paper's size.
    sized: Trial,
}

impl Row {
    fn measure(lab: &Lab, paper: &'static Paper) -> Row {
        let scratch = lab.scratch.path().join("hunts").join(paper.program.replace(' ', "-"));
        let (small, sized) = (scratch.join("small"), scratch.join("sized"));
        for folder in [&small, &sized] {
            // If it cannot be made, the hunt says so.
            let _ = std::fs::create_dir_all(folder);
        }
        let trial = |args, scratch| Trial::new(&lab.tool, paper, args, scratch);
        Row { paper, small: trial(&[], &small), sized: trial(paper.sized, &sized) }
    }

    fn name(&self) -> &str {
        self.paper.program
    }

    fn cells(&self) -> Vec<String> {
        let cortex = self.paper.cortex.as_ref();
        let guided = cortex.and_then(|cortex| cortex.guided);
        let quarry = self.sized.quarry();
        let told = |text: Option<String>| text.unwrap_or(NONE.to_owned());
        let length = |trial: &Trial| {
            told(trial.quarry().and_then(|quarry| {
                quarry.derived.as_ref().map(|derived| derived.failing.events.to_string())
            }))
        };
        let attempt = |trial: &Trial| told(trial.quarry().map(|quarry| quarry.attempt.to_string()));
        let found = |figure: fn(&Exposed) -> String| told(quarry.map(figure));
        let kind = |by_path: bool| if by_path { "path" } else { "schedule" }.to_owned();
        let hunt = self.sized.bug.as_ref().ok().map(|bug| &bug.hunt);
        let conciseness = cortex.map(|cortex| cortex.conciseness);
        vec![
            self.name().to_owned(),
            told(cortex.map(|cortex| cortex.conciseness.events.to_string())),
            length(&self.small),
            length(&self.sized),
            told(cortex.map(|cortex| cortex.runs.to_string())),
            told(hunt.map(|hunt| hunt.runs.distinct.to_string())),
            told(hunt.map(|hunt| hunt.effort.observed.to_string())),
            told(cortex.map(|cortex| kind(cortex.guided.is_some()))),
            told(quarry.map(|quarry| kind(quarry.is_by_path()))),
            told(cortex.map(|cortex| cortex.attempts().to_string())),
            told(cortex.and_then(|cortex| cortex.systematic).map(|(mcr, _)| mcr.to_string())),
            told(cortex.and_then(|cortex| cortex.systematic).map(|(_, icb)| icb.to_string())),
            attempt(&self.small),
            attempt(&self.sized),
            told(guided.map(|guided| format!("({},{})", guided.depth, guided.traces))),
            told(
                quarry
                    .filter(|quarry| quarry.is_by_path())
                    .map(|quarry| format!("({},{})", quarry.depth, quarry.traces)),
            ),
            told(guided.map(|guided| guided.flipped.to_string())),
            found(|quarry| quarry.flipped.to_string()),
            told(guided.map(|guided| guided.synthesised.to_string())),
            found(|quarry| quarry.synthesised.to_string()),
            told(cortex.map(|cortex| cortex.solving.to_owned())),
            found(|quarry| milliseconds(quarry.seconds)),
            told(conciseness.map(|of| flows(of).to_string())),
            told(ours(&self.sized).map(|(flows, _)| flows.to_string())),
            told(conciseness.map(|of| events(of).to_string())),
            told(ours(&self.sized).map(|(_, events)| events.to_string())),
            if self.sized.is_silent() { "silent" } else { "ACCUSED or not hunted" }.to_owned(),
        ]
    }

    /// What does not hold, and why a bug is of another kind than in the thesis.
    fn remarks(&self) -> Vec<String> {
        let mut remarks: Vec<String> = Vec::new();
        for (size, trial) in [("small", &self.small), ("at the paper's size", &self.sized)] {
            let complaints = trial.complaints().into_iter();
            remarks.extend(complaints.map(|what| format!("{}, {size}: {what}.", self.name())));
        }
        remarks.extend(self.sized.note().map(|note| format!("{}: {note}.", self.name())));
        remarks
    }
}
