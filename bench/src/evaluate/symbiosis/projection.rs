//! Table II: differential schedule projections.

use super::paper::{Paper, ROWS};
use crate::diagnose::measured::{Alternate, Measured, diagnose};
use crate::evaluate::claim::{Claim, Seen, judge, mean};
use crate::evaluate::lab::Lab;
use crate::evaluate::page::Table;
use crate::evaluate::words::{NONE, fewer, or_why, seconds};
use xtask::corpus::Failing;

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
            "pbzip2, bbuf and pfscan: the nearest passing run takes another path, of which nothing is proved; in pbzip2's much more stands \
             in the projection than the one data flow that differs. Why was not looked into."
                .into(),
        ],
        claims: judge(&PROJECTED, &rows),
        aims: judge(&TO_PROJECT, &rows),
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

const TO_PROJECT: [Claim<Projected>; 3] = [
    Claim {
        says: "of every program no more data flows differ than in the paper, or it is proved that none fewer can",
        of: |rows| {
            Seen::of_all(rows, Projected::name, |row| {
                row.alternate().is_some_and(|alternate| {
                    alternate.distance.data_flow <= row.paper.projected_flows
                        || alternate.minimality.proved
                })
            })
        },
    },
    Claim {
        says: "on average 96 % fewer data flows (the paper's average)",
        of: |rows| Seen::at_least(mean(rows.iter().filter_map(Projected::fewer_flows)), 96.0, " %"),
    },
    Claim {
        says: "on average 90 % fewer events (the paper's average)",
        of: |rows| {
            Seen::at_least(mean(rows.iter().filter_map(Projected::fewer_events)), 90.0, " %")
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
