//! The programs of CoopREP's tables 3.2 and 3.6 at their sizes, and its best figures of tables 3.7 and 3.8.

/// A row.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    pub program: &'static str,
    /// `kind/name` in the corpus, and what makes it as long as the paper's.
    pub case: &'static str,
    pub args: &'static [&'static str],
    /// Shared program elements, and accesses to them.
    pub elements: u32,
    pub accesses: u64,
    /// Of a hundred runs so many fail, tables 3.2 and 3.6.
    pub rate: u32,
    /// Attempts of tables 3.7 (orders) and 3.8 (blocks), by coverage 25, 50 and 75 %: the better of both heuristics; 0: not replayed, or not
    /// applicable.
    pub orders: [u32; 3],
    pub blocks: [u32; 3],
    /// With a single element a log, tables 3.7 and 3.8.
    pub single: [u32; 2],
}

impl Paper {
    /// How long a native run takes. §3.5.5 gives two: BubbleSort's, which is the shortest of all, and Weblech's, the longest. Of the others
    /// the shortest is assumed, so that none is taken to be less dense than it may have been.
    pub fn seconds(&self) -> f64 {
        match self.program {
            "Weblech" => 1.2,
            _ => 0.01,
        }
    }

    /// Accesses to what is shared in a second, at most.
    pub fn density(&self) -> f64 {
        self.accesses as f64 / self.seconds()
    }
}

#[rustfmt::skip] // One line a row, as in the tables.
pub const ROWS: [Paper; 13] = [
    row("BoundedBuffer", "sync/boundedbuffer", &["30"], 15, 525, 1, [1, 1, 1], [1, 1, 1], [0, 1]),
    row("BubbleSort", "atomicity/bubblesort", &["100"], 11, 52495, 2, [1, 1, 1], [1, 1, 1], [0, 1]),
    row("BufferWriter", "data-race/bufwriter", &["5580"], 6, 130597, 35, [0, 0, 13], [10, 2, 1], [0, 0]),
    row("Deadlock", "deadlock/deadlock", &[], 4, 12, 12, [0, 1, 1], [0, 1, 1], [1, 1]),
    row("Manager", "atomicity/manager", &["4", "50"], 5, 2368, 28, [0, 0, 0], [0, 0, 0], [0, 0]),
    row("Piper", "sync/piper", &["4", "9"], 8, 580, 6, [0, 1, 1], [4, 1, 1], [0, 0]),
    row("ProducerConsumer", "data-race/producerconsumer", &["40", "40"], 8, 576, 15, [0, 1, 1], [1, 1, 1], [0, 0]),
    row("TicketOrder", "path-dependent/ticketorder", &["4", "205"], 9, 6662, 2, [0, 9, 1], [0, 6, 2], [0, 0]),
    row("TwoStage", "multi-variable/twostage", &["1500"], 5, 27103, 1, [0, 1, 1], [0, 0, 1], [0, 0]),
    row("Cache4j", "real/cache4j", &["8"], 4, 129, 15, [0, 1, 1], [1, 1, 1], [1, 0]),
    row("Derby 2861", "real/derby-2861", &["300"], 14, 2509, 5, [0, 0, 1], [0, 0, 0], [0, 0]),
    row("Tomcat 37458", "real/tomcat-37458", &["16"], 22, 89, 16, [1, 1, 1], [0, 0, 3], [1, 0]),
    row("Weblech", "real/weblech", &["2"], 5, 54, 1, [0, 1, 1], [1, 1, 1], [1, 0]),
];

#[expect(clippy::too_many_arguments, reason = "a row of a table")]
const fn row(
    program: &'static str,
    case: &'static str,
    args: &'static [&'static str],
    elements: u32,
    accesses: u64,
    rate: u32,
    orders: [u32; 3],
    blocks: [u32; 3],
    single: [u32; 2],
) -> Paper {
    Paper { program, case, args, elements, accesses, rate, orders, blocks, single }
}
