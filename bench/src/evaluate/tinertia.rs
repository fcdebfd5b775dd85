//! Tinertia's tables 1 to 3: simpler failing runs, what they cost, and random search with simplification against context
//! bounding.

use super::claim::{Claim, Seen, judge, mean};
use super::lab::{Lab, Subject};
use super::page::Table;
use super::words::{NONE, fewer, or_why, seconds};
use crate::measure::{median, time};
use crate::search::paper::table_3 as against_chess;
use crate::simplify::{Answer, Paper, paper, simplify};
use xtask::corpus::{self, Failing};

/// Failing traces a program, each of another seed; the paper has 30.
const TRACES: u64 = 10;
/// Seeds of table 3.
const SEEDS: u64 = 5;
/// Executions after which a search is given up, as in the paper.
const LIMIT: &str = "10000";
/// Switches from the optimum that are near: the paper's measure.
const NEAR: u64 = 2;

/// The programs, by the names of the corpus.
#[rustfmt::skip] // One line a row.
const PROGRAMS: [Subject; 11] = [
    Subject { case: "atomicity/bbuf", args: &["5", "5", "2", "2"], events: 200 },
    Subject { case: "sync/blackscholes", args: &[], events: 23 },
    Subject { case: "data-race/bzip2smp", args: &["2", "8"], events: 75 },
    Subject { case: "deadlock/canneal", args: &["4"], events: 111 },
    Subject { case: "deadlock/ctrace", args: &["18"], events: 297 },
    Subject { case: "memory/dedup", args: &["12"], events: 78 },
    Subject { case: "real/pbzip2", args: &["-f", "-p", "5", "-b", "400", "-o", "/dev/null", "data/sample.txt"], events: 458 },
    Subject { case: "real/pfscan", args: &["-l", "-n", "8", "mutex", "data/notes"], events: 116 },
    Subject { case: "sync/streamcluster", args: &["100"], events: 1505 },
    Subject { case: "sync/swarm", args: &["200"], events: 828 },
    Subject { case: "sync/x264", args: &["25"], events: 659 },
];

fn name(subject: &Subject) -> &'static str {
    subject.case.rsplit('/').next().unwrap_or_default()
}

/// Tables 1 and 2.
pub fn table_1(lab: &Lab) -> Table {
    let rows = lab.rows(&PROGRAMS, |subject| Simplified::measure(lab, *subject));
    let cells = rows.iter().map(|row| {
        let paper = paper(name(&row.subject));
        let of_paper = |figure: fn(&Paper) -> String| paper.map_or(NONE.to_owned(), figure);
        let of = |figure: fn(&Answer) -> u64| row.mean(figure);
        vec![
            name(&row.subject).to_owned(),
            row.subject.events.to_string(),
            or_why(&row.small, |failing| failing.events.to_string()),
            row.problem.clone().unwrap_or_else(|| of(|a| a.before.events)),
            of_paper(|paper| format!("{} → {}", paper.before, paper.after)),
            format!("{} → {}", of(|a| a.before.switches.all()), of(|a| a.after.switches.all())),
            of(|a| a.at_least),
            of_paper(|paper| paper.preemptive.to_string()),
            of(|a| a.after.switches.preemptive),
            of_paper(|paper| paper.iterations.to_string()),
            of(|a| a.iterations),
            of_paper(|paper| paper.executions.to_string()),
            of(|a| a.executed),
            of(|a| a.evaluated),
            row.contributions(),
            format!("{} of {}", row.proved(), row.answers.len()),
            of_paper(|paper| seconds(paper.seconds)),
            seconds(row.seconds),
        ]
    });
    Table {
        id: "tinertia-1",
        title: "Tinertia, tables 1 and 2: simplification",
        about: "Failing runs of random search, one a seed, simplified by `unravel simplify`; all figures are means. *at least*: \
                so many switches are needed, proved. *evaluated*: candidates that were judged without an execution. \
                *contribution*: of the switches that went, those taken by remove last / consolidate up / consolidate down / what is ours \
                (coarse windows, stay, defer, exact search), in per cent.",
        columns: &[
            "program", "events, paper", "ours, small", "ours", "switches, paper", "ours", "at least", "preemptions, paper", "ours",
            "iterations, paper", "ours", "executions, paper", "ours", "evaluated", "contribution", "proved", "time, paper", "ours",
        ],
        rows: cells.collect(),
        remarks: vec![
            format!("{TRACES} traces a program, the paper 30."),
            "Of blackscholes, bzip2smp, canneal, ctrace, dedup, streamcluster, swarm and x264 only the skeleton of threads is re-created; \
             what they do is repeated until they are as long as the paper's, blackscholes as it is."
                .into(),
        ],
        claims: judge(&SIMPLIFIED, &rows),
        aims: judge(&TO_SIMPLIFY, &rows),
        seconds: 0.0,
    }
}

/// Programs whose long runs have no lower bound near what is found.
const UNPROVED: [&str; 4] = ["pbzip2", "pfscan", "streamcluster", "x264"];

const SIMPLIFIED: [Claim<Simplified>; 4] = [
    Claim {
        says: "every program's failing runs are simplified",
        of: |rows| Seen::of_all(rows, Simplified::name, |row| !row.answers.is_empty()),
    },
    Claim {
        says: "over 90 % of the results are within 2 switches of what is proved to be needed (the paper's measure), but of pbzip2, \
               pfscan, streamcluster and x264, of whose long runs little or nothing is proved",
        of: |rows| {
            let rows = rows.iter().filter(|row| !UNPROVED.contains(&row.name()));
            let all: Vec<&Answer> = rows.flat_map(|row| &row.answers).collect();
            let near = all.iter().filter(|a| a.after.switches.all() - a.at_least <= NEAR).count();
            Seen::at_least(near as f64 / all.len().max(1) as f64 * 100.0, 90.0, " %")
        },
    },
    Claim {
        says: "no more preemptions are left than in the paper, or one, but of x264 (behind the paper)",
        of: |rows| Seen::of_all_but(rows, &["x264"], Simplified::name, Simplified::is_unpreempted),
    },
    Claim {
        says: "no more executions than in the paper",
        of: |rows| {
            Seen::of_all(rows, Simplified::name, |row| {
                let ours = mean(row.answers.iter().map(|a| a.executed as f64));
                paper(row.name()).is_some_and(|paper| ours <= paper.executions as f64)
            })
        },
    },
];

const TO_SIMPLIFY: [Claim<Simplified>; 4] = [
    Claim {
        says: "of every program no more preemptions are left than in the paper, or one",
        of: |rows| Seen::of_all(rows, Simplified::name, Simplified::is_unpreempted),
    },
    Claim {
        says: "over 90 % of all results are within 2 switches of what is proved to be needed",
        of: |rows| {
            let all: Vec<&Answer> = rows.iter().flat_map(|row| &row.answers).collect();
            let near = all.iter().filter(|a| a.after.switches.all() - a.at_least <= NEAR).count();
            Seen::at_least(near as f64 / all.len().max(1) as f64 * 100.0, 90.0, " %")
        },
    },
    Claim {
        says: "92 % of the preemptions are removed on average (the paper: of every program)",
        of: |rows| {
            let all = rows.iter().flat_map(|row| &row.answers);
            let some = all.filter(|a| a.before.switches.preemptive > 0);
            let removed =
                some.map(|a| fewer(a.after.switches.preemptive, a.before.switches.preemptive));
            Seen::at_least(mean(removed), 92.0, " %")
        },
    },
    Claim {
        says: "our failing runs have at least 70 % of the paper's events",
        of: |rows| {
            Seen::of_all(rows, Simplified::name, |row| {
                let events = mean(row.answers.iter().map(|a| a.before.events as f64));
                events >= row.subject.events as f64 * 0.7
            })
        },
    },
];

/// A row of tables 1 and 2.
struct Simplified {
    subject: Subject,
    small: Result<Failing, String>,
    answers: Vec<Answer>,
    /// On average.
    seconds: f64,
    problem: Option<String>,
}

impl Simplified {
    fn measure(lab: &Lab, subject: Subject) -> Simplified {
        let small = lab.small(subject.case);
        let mut row =
            Simplified { subject, small, answers: Vec::new(), seconds: 0.0, problem: None };
        let folder = lab.folder(subject.case);
        let traces = if lab.quick { 1 } else { TRACES };
        for seed in 1..=traces {
            let scratch = lab.scratch.path().join(format!("simplify-{}-{seed}", name(&subject)));
            let simplified = std::fs::create_dir_all(&scratch)
                .map_err(|error| error.to_string())
                .and_then(|()| {
                    corpus::find_with_seed(&lab.tool, &folder, &scratch, subject.args, seed)
                })
                .and_then(|trace| {
                    time(|| simplify(&lab.tool, &trace)).map_err(|error| error.to_string())
                });
            match simplified {
                Ok((seconds, answer)) => {
                    row.seconds += seconds;
                    row.answers.push(answer);
                }
                Err(problem) => row.problem = Some(problem),
            }
        }
        row.seconds /= row.answers.len().max(1) as f64;
        if !row.answers.is_empty() {
            row.problem = None;
        }
        row
    }

    fn name(&self) -> &str {
        name(&self.subject)
    }

    /// As few preemptions are left as in the paper, or one.
    fn is_unpreempted(&self) -> bool {
        let left = mean(self.answers.iter().map(|a| a.after.switches.preemptive as f64));
        paper(self.name()).is_some_and(|paper| left <= paper.preemptive.max(1.0))
    }

    fn mean(&self, figure: fn(&Answer) -> u64) -> String {
        format!("{:.1}", mean(self.answers.iter().map(|answer| figure(answer) as f64)))
    }

    fn proved(&self) -> usize {
        self.answers.iter().filter(|answer| answer.is_proved()).count()
    }

    /// Shares of the operations in what went, in per cent.
    fn contributions(&self) -> String {
        let sum = |figure: fn(&Answer) -> u64| self.answers.iter().map(figure).sum::<u64>();
        let parts = [
            sum(|a| a.removed.remove_last),
            sum(|a| a.removed.consolidate_up),
            sum(|a| a.removed.consolidate_down),
            sum(|a| a.removed.of_ours()),
        ];
        let all = parts.iter().sum::<u64>().max(1) as f64;
        parts.map(|part| format!("{:.0}", part as f64 / all * 100.0)).join(" / ")
    }
}

/// Table 3.
pub fn table_3(lab: &Lab) -> Table {
    let rows = lab.rows(&PROGRAMS, |subject| Searched::measure(lab, *subject));
    let cells = rows.iter().map(|row| {
        let paper = against_chess(name(&row.subject));
        let told = |figure: Option<f64>| figure.map_or("none".to_owned(), |n| format!("{n:.0}"));
        vec![
            name(&row.subject).to_owned(),
            paper.as_ref().map_or(NONE.to_owned(), |paper| paper.thrille.to_string()),
            told(row.simplified),
            paper.map_or(NONE.to_owned(), |paper| {
                paper.chess.map_or("none in 10000".to_owned(), |n| n.to_string())
            }),
            told(row.bounded),
        ]
    });
    Table {
        id: "tinertia-3",
        title: "Tinertia, table 3: random search and simplification against context bounding",
        about: "Executions until a simple failing run is there: race-directed search and `simplify` (median of 5 seeds), and context \
                bounding, whose first failing run is simple by itself; at most 10,000.",
        columns: &["program", "Thrille, paper", "ours", "CHESS, paper", "context bounding, ours"],
        rows: cells.collect(),
        remarks: Vec::new(),
        claims: judge(&SEARCHED, &rows),
        aims: Vec::new(),
        seconds: 0.0,
    }
}

const SEARCHED: [Claim<Searched>; 2] = [
    Claim {
        says: "race-directed search finds every bug (the paper's context bounding: 4 of 11)",
        of: |rows| Seen::of_all(rows, |row| name(&row.subject), |row| row.simplified.is_some()),
    },
    Claim {
        says: "no more executions than Thrille",
        of: |rows| {
            Seen::of_all(
                rows,
                |row| name(&row.subject),
                |row| {
                    let paper = against_chess(name(&row.subject));
                    row.simplified.zip(paper).is_some_and(|(ours, p)| ours <= f64::from(p.thrille))
                },
            )
        },
    },
];

/// A row of table 3: executions.
struct Searched {
    subject: Subject,
    simplified: Option<f64>,
    bounded: Option<f64>,
}

impl Searched {
    fn measure(lab: &Lab, subject: Subject) -> Searched {
        let folder = lab.folder(subject.case);
        let scratch = lab.scratch.path().join(format!("search-{}", name(&subject)));
        // If it cannot be made, nothing is found.
        let _ = std::fs::create_dir_all(&scratch);
        let search = |strategy: &str, seed: u64| {
            let seed = seed.to_string();
            let limits = ["--schedules", LIMIT, "--time", "20s", "--quiet"];
            let flags = [&["--strategy", strategy, "--seed", &seed][..], &limits].concat();
            corpus::search(&lab.tool, &folder, &scratch, &flags).ok()
        };
        let mut both = Vec::new();
        for seed in 1..=SEEDS {
            let Some(found) = search("race-directed", seed) else { continue };
            let (Some(schedule), Some(trace)) = (found.schedule, found.trace) else { continue };
            let executed = corpus::simplify(&lab.tool, &folder, &scratch, &trace);
            both.extend(executed.ok().map(|executed| (schedule + executed) as f64));
        }
        Searched {
            subject,
            simplified: (!both.is_empty()).then(|| median(both)),
            bounded: search("bounded", 1).and_then(|found| found.schedule).map(|n| n as f64),
        }
    }
}
