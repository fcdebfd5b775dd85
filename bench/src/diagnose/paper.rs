//! What the papers report of programs of the same names. Their programs and machines are others: sizes compare as a
//! guide, times as an order of magnitude.

/// A row of the papers' tables. Several sizes of one program are several rows.
pub struct Paper {
    pub program: &'static str,
    pub events: u32,
    /// Symbiosis or Cortex: events / data flows of the projection, and the time to the alternate.
    pub symbiosis: &'static str,
    /// The best of the MaxSMT algorithms: OP/DF/BS/CTX and its time (sizes and times may be of different ones).
    pub maxsmt: &'static str,
}

const fn row(
    program: &'static str,
    events: u32,
    symbiosis: &'static str,
    maxsmt: &'static str,
) -> Paper {
    Paper { program, events, symbiosis, maxsmt }
}

pub const ROWS: [Paper; 20] = [
    row("crasher", 287, "9/1 22.6 s", "9/1/0/3 0.4 s"),
    row("stringbuffer", 73, "15/1", "–"),
    row("bbuf", 157, "19/1", "–"),
    row("pfscan", 93, "16/1 0.2 s", "27/1/0/2 0.1 s"),
    row("pbzip2", 206, "4/1 0.3 s", "7/1/1/1 0.2 s"),
    row("pbzip2", 397, "3/1 0.9 s", "3/1/0/2 0.3 s"),
    row("pbzip2", 1223, "168/2 28.7 s", "7/1/1/1 2.1 s"),
    row("airline", 58, "6/2 0.2 s", "3/1/1/1 0.1 s"),
    row("bank", 124, "31/2 failed", "6/1/1/2 1.1 s"),
    row("twostage", 60, "3/1", "–"),
    row("cache4j", 39, "12/2", "–"),
    row("cache4j", 1257, "10/1 114 s", "3/1/0/3 5.3 s"),
    row("cache4j", 1422, "5/1 343 s", "3/1/1/2 16.2 s"),
    row("bufwriter", 1245, "5790 s", "35/1/1/2 32.9 s"),
    row("critical", 36, "0.5 s", "7/4/2/2 0.1 s"),
    row("exmcr", 56, "1.1 s", "21/7/5/9 0.2 s"),
    row("garage", 284, "13.4 s", "3/1/1/2 0.4 s"),
    row("loader", 386, "55.8 s", "47/21/2/3 10.5 s"),
    row("manager", 331, "189 s", "57/32/9/70 1199 s"),
    row("ticketorder", 354, "7.1 s", "46/4/1/2 3.3 s"),
];

/// The rows of a program.
pub fn of(program: &str) -> impl Iterator<Item = &'static Paper> {
    ROWS.iter().filter(move |row| row.program == program)
}
