//! How much is done at most in this room. `unravel doctor --budgets` lists it.

unravel_trace::budgets! {
    room "fleet";

    /// Bytes of a file that is looked at: a hundred times the log of the longest run of the evaluation.
    MOST_BYTES: u64 = 64 << 20;
    /// Elements of a log: programs have tens to hundreds.
    MOST_ELEMENTS: i64 = 65_536;
    /// Accesses of a log, all elements together: a hundred times the longest of the evaluation.
    MOST_ACCESSES: i64 = 16 << 20;
    /// Threads of a log.
    MOST_THREADS: usize = 8_192;
    /// Accesses of all logs that are compared with each other: those of 100,000 logs of the evaluation, a gigabyte.
    MOST_HELD: usize = 512 << 20;
    /// Row groups of a file: we write one.
    MOST_ROW_GROUPS: usize = 1;
    /// Bytes of memory that reading files of others may take, before it counts as hostile: a log of the most accesses fits.
    READER_BYTES: u64 = 2 << 30;
    /// Seconds of processor time that a reader has for a file.
    READER_SECONDS: u64 = 20;
    /// Files that one reader reads before another one takes over, since its time is counted for all of them.
    READER_FILES: usize = 64;
}
