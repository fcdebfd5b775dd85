//! ConcBugAssist's table 5.2, and which program of the corpus re-creates each row's.

/// A row of the table.
pub struct Row {
    /// Its name there.
    pub program: &'static str,
    /// `kind/name` in the corpus.
    pub case: &'static str,
    pub seconds: f64,
    /// Erroneous schedules that were blocked until none was left: the causes.
    pub iterations: u64,
    /// Orders in an erroneous schedule, on average.
    pub constraints: u32,
    /// Orders in a cause, on average.
    pub core: f64,
    /// Distinct orders in all causes.
    pub unique: u32,
}

impl Row {
    /// Its last column, in per cent: it follows from two others.
    pub fn ratio(&self) -> f64 {
        f64::from(self.unique) / f64::from(self.constraints) * 100.0
    }
}

const fn row(
    program: &'static str,
    case: &'static str,
    seconds: f64,
    iterations: u64,
    constraints: u32,
    core: f64,
    unique: u32,
) -> Row {
    Row { program, case, seconds, iterations, constraints, core, unique }
}

pub const ROWS: [Row; 34] = [
    row("boop", "atomicity/boop", 1.2, 1, 34, 2.0, 2),
    row("testc", "order/testc", 0.7, 1, 4, 2.0, 2),
    row("fibbench", "order/fibbench", 36.0, 2, 93, 7.5, 15),
    row("fibbench longer", "order/fibbench_longer", 106.6, 2, 123, 9.0, 18),
    row("reorder", "order/reorder", 19.9, 15, 30, 4.0, 9),
    row("account", "atomicity/account", 6.4, 3, 95, 1.3, 3),
    row("read write", "order/read_write", 121.0, 28, 76, 8.2, 27),
    row("barrier", "sync/barrier", 5.5, 9, 48, 1.6, 6),
    row("lazy01", "order/lazy01", 11.9, 2, 186, 2.0, 4),
    row("VectPrime02", "data-race/vectprime02", 2.39, 2, 31, 3.0, 3),
    row("lineEq2t01", "data-race/lineeq2t01", 4.83, 2, 30, 4.0, 7),
    row("linux-tg3", "real/linux-tg3", 5.6, 1, 98, 2.0, 2),
    row("linux-iio", "real/linux-iio", 2.5, 5, 31, 4.4, 8),
    row("mysql-169", "real/mysql-169", 1.1, 2, 10, 2.0, 2),
    row("mysql-12848", "real/mysql-12848", 2.5, 4, 10, 4.0, 4),
    row("mysql-3596", "real/mysql-3596", 1.1, 1, 13, 1.0, 1),
    row("mysql-644", "real/mysql-644", 1.0, 1, 7, 2.0, 2),
    row("apache-21287", "real/apache-21287", 1.7, 2, 23, 1.5, 3),
    row("apache-25520", "real/apache-25520", 7.9, 16, 23, 4.0, 4),
    row("freebsd-aa", "real/freebsd-aa", 22.4, 49, 27, 3.0, 12),
    row("cherokee-0.9.2", "real/cherokee-0.9.2", 6.9, 11, 34, 3.1, 4),
    row("llvm-8441", "real/llvm-8441", 17.4, 21, 46, 3.3, 10),
    row("gcc-25330", "real/gcc-25330", 1.2, 2, 21, 1.0, 2),
    row("gcc-3584", "real/gcc-3584", 1.8, 4, 19, 3.0, 3),
    row("gcc-21334", "real/gcc-21334", 6.4, 1, 244, 2.0, 2),
    row("gcc-40518", "real/gcc-40518", 1.4, 2, 27, 2.0, 4),
    row("transmission-1.42", "real/transmission-1.42", 1.2, 2, 8, 1.5, 2),
    row("glib-512624", "real/glib-512624", 8.7, 17, 32, 1.3, 4),
    row("jetty-1187", "real/jetty-1187", 1.8, 2, 33, 1.0, 1),
    row("mozilla-61369", "real/mozilla-61369", 0.8, 1, 5, 1.0, 1),
    row("hash table", "atomicity/hash_table", 112.0, 44, 94, 1.4, 4),
    row("list seq", "atomicity/list_seq", 13.6, 18, 60, 1.2, 4),
    row("counter seq", "data-race/counter_seq", 1.2, 2, 13, 3.0, 3),
    row("queue seq", "data-race/queue_seq", 7.6, 2, 135, 1.0, 1),
];

/// Whether a case of the corpus is one of the 34.
pub fn has(case: &str) -> bool {
    ROWS.iter().any(|row| row.case == case)
}

#[cfg(test)]
mod tests {
    use super::ROWS;

    /// The table's last line: a figure that was mistyped would show here.
    #[test]
    fn the_averages_are_those_that_the_paper_prints() {
        let average = |column: fn(&super::Row) -> f64| {
            ROWS.iter().map(column).sum::<f64>() / ROWS.len() as f64
        };
        for (seen, printed) in [
            (average(|row| row.seconds), 16.01),
            (average(|row| row.iterations as f64), 8.15),
            (average(|row| f64::from(row.constraints)), 51.85),
            (average(|row| row.core), 2.77),
            (average(|row| f64::from(row.unique)), 5.26),
        ] {
            assert!((seen - printed).abs() < 0.01, "{seen} for {printed}");
        }
    }
}
