//! Symbiosis' tables I to III (TOSEM; the thesis' 4.1 to 4.3), and which program of the corpus re-creates each row's.

use crate::evaluate::lab::Subject;

pub struct Paper {
    pub program: &'static str,
    pub subject: Subject,
    pub threads: u32,
    /// Table I: the size of the question which schedule fails, and the time of its answer.
    pub constraints: u64,
    pub variables: u64,
    pub solving: &'static str,
    /// Table II: pairs that were reversed until a schedule passed; events and data flows of the projection, data flows in all.
    pub pairs: u32,
    pub projected_events: u32,
    pub flows: u32,
    pub projected_flows: u32,
    /// Table III: context switches before and after their reduction, and its time.
    pub switches: (u32, u32),
    pub reducing: &'static str,
}

/// `sizes`: threads, constraints, variables; `projection`: pairs, events, flows of all, flows.
const fn row(
    program: &'static str,
    (case, args, events): (&'static str, &'static [&'static str], u64),
    [threads, constraints, variables]: [u64; 3],
    solving: &'static str,
    [pairs, projected_events, flows, projected_flows]: [u32; 4],
    switches: (u32, u32),
    reducing: &'static str,
) -> Paper {
    Paper {
        program,
        subject: Subject { case, args, events },
        threads: threads as u32,
        constraints,
        variables,
        solving,
        pairs,
        projected_events,
        flows,
        projected_flows,
        switches,
        reducing,
    }
}

const PBZIP2: &str = "real/pbzip2";
const CACHE4J: &str = "real/cache4j";

#[rustfmt::skip] // One line a row, as in the tables.
pub const ROWS: [Paper; 13] = [
    row("crasher", ("atomicity/crasher", &["4", "9"], 287), [6, 22295, 400], "1m2s", [27, 9, 107, 1], (104, 34), "19m33s"),
    row("stringbuffer", ("atomicity/stringbuffer", &["20"], 73), [2, 423, 102], "1s", [9, 15, 28, 1], (7, 4), "2s"),
    row("bbuf", ("atomicity/bbuf", &["2", "2", "4", "4"], 157), [5, 2710, 239], "8s", [3, 19, 79, 1], (35, 10), "14s"),
    row("pfscan", ("real/pfscan", &["-l", "-n", "4", "mutex", "data/notes"], 93), [5, 678, 131], "1s", [5, 16, 32, 1], (23, 9), "9s"),
    row("pbzip2 S", (PBZIP2, &["-f", "-p", "7", "-b", "800", "-o", "/dev/null", "data/sample.txt"], 206), [9, 1361, 289], "1s", [1, 4, 29, 1], (74, 14), "14s"),
    row("pbzip2 M", (PBZIP2, &["-f", "-p", "7", "-b", "400", "-o", "/dev/null", "data/sample.txt"], 397), [9, 6771, 564], "26s", [1, 3, 82, 1], (151, 22), "4m58s"),
    row("pbzip2 L", (PBZIP2, &["-f", "-p", "7", "-b", "120", "-o", "/dev/null", "data/sample.txt"], 1223), [9, 514548, 2866], "15h15m", [2, 168, 264, 2], (292, 36), "5h11m"),
    row("airline", ("atomicity/airline", &["7"], 58), [8, 2670, 84], "1s", [1, 6, 25, 2], (28, 8), "5s"),
    row("bank", ("atomicity/bank", &["3"], 124), [3, 8250, 197], "2s", [181, 31, 72, 2], (6, 4), "6s"),
    row("twostage", ("multi-variable/twostage", &["3"], 60), [4, 264, 88], "1s", [14, 3, 27, 1], (16, 4), "2s"),
    row("cache4j S", (CACHE4J, &["2"], 39), [4, 122, 51], "1s", [1, 12, 11, 2], (4, 4), "<1s"),
    row("cache4j M", (CACHE4J, &["60"], 1257), [4, 303626, 1810], "51s", [1, 10, 552, 1], (21, 7), "6m50s"),
    row("cache4j L", (CACHE4J, &["66"], 1422), [4, 1142120, 2051], "1h25m", [1, 5, 628, 1], (29, 7), "16m19s"),
];
