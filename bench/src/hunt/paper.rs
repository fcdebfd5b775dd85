//! Cortex's tables 5.2, 5.3 and 5.4 (thesis chapter 5), and which program of the corpus re-creates each row's.

/// A program of the tables, or of a figure.
#[derive(Debug)]
pub struct Row {
    /// Its name there.
    pub program: &'static str,
    /// `kind/name` in the corpus.
    pub case: &'static str,
    /// What makes ours as long as the thesis' is; none if it is as the corpus has it.
    pub args: &'static [&'static str],
    /// The same where the benchmark leaves it as the corpus has it, and only `cargo xtask evaluate` hunts it at the thesis' size.
    pub sized: &'static [&'static str],
    /// The most attempts that the bug may take.
    pub at_most: u64,
    /// Whether the whole command has to end within [`super::QUICK_SECONDS`]: where Cortex' solver took hours.
    pub quick: bool,
    /// What the tables say; a figure has no row.
    pub cortex: Option<Cortex>,
}

/// A row of table 5.2, with those of the same program in tables 5.3 and 5.4.
#[derive(Clone, Copy, Debug)]
pub struct Cortex {
    /// Distinct production runs of 100.
    pub runs: u32,
    /// Of production-guided search; `None` where exploring the schedules of an observed run was enough.
    pub guided: Option<Guided>,
    /// Average time of a satisfiable question to the solver, as it stands there.
    pub solving: &'static str,
    /// Attempts of maximal causality reduction and of ICB-DPOR, where the table has them.
    pub systematic: Option<(u32, u32)>,
    pub conciseness: Conciseness,
}

#[derive(Clone, Copy, Debug)]
pub struct Guided {
    pub tries: u32,
    /// D and N.
    pub depth: u32,
    pub traces: u32,
    pub flipped: u32,
    pub synthesised: u32,
}

/// Table 5.4: data flows and events of the failing schedule, and of them in the projection.
#[derive(Clone, Copy, Debug)]
pub struct Conciseness {
    pub flows: u32,
    pub projected_flows: u32,
    pub events: u32,
    pub projected_events: u32,
}

impl Cortex {
    /// A bug that depends on the schedule only counts as one attempt (table 5.3).
    pub const fn attempts(&self) -> u32 {
        match self.guided {
            Some(guided) => guided.tries,
            None => 1,
        }
    }
}

const fn row(program: &'static str, case: &'static str, cortex: Cortex) -> Row {
    let at_most = cortex.attempts() as u64;
    Row { program, case, args: &[], sized: &[], at_most, quick: false, cortex: Some(cortex) }
}

const fn by_schedule(
    runs: u32,
    solving: &'static str,
    [flows, projected_flows, events, projected_events]: [u32; 4],
) -> Cortex {
    let conciseness = Conciseness { flows, projected_flows, events, projected_events };
    Cortex { runs, guided: None, solving, systematic: None, conciseness }
}

/// `guided`: tries, D, N, branches flipped, traces synthesised.
const fn by_path(
    runs: u32,
    guided: [u32; 5],
    solving: &'static str,
    conciseness: [u32; 4],
) -> Cortex {
    let [tries, depth, traces, flipped, synthesised] = guided;
    let guided = Some(Guided { tries, depth, traces, flipped, synthesised });
    Cortex { guided, ..by_schedule(runs, solving, conciseness) }
}

impl Cortex {
    const fn systematic(self, mcr: u32, icb_dpor: u32) -> Cortex {
        Cortex { systematic: Some((mcr, icb_dpor)), ..self }
    }
}

impl Row {
    const fn with(self, args: &'static [&'static str]) -> Row {
        Row { args, sized: args, ..self }
    }

    const fn sized(self, sized: &'static [&'static str]) -> Row {
        Row { sized, ..self }
    }

    const fn at_most(self, at_most: u64) -> Row {
        Row { at_most, ..self }
    }

    const fn quick(self) -> Row {
        Row { quick: true, ..self }
    }
}

/// The thesis' example.
const FIGURE: Row = Row {
    program: "figure 5.1",
    case: "figures/thesis-5.1",
    args: &[],
    sized: &[],
    at_most: 6,
    quick: false,
    cortex: None,
};

#[rustfmt::skip] // One line a row, as in the tables.
pub const ROWS: [Row; 18] = [
    row("Account", "atomicity/account", by_schedule(1, "29s", [139, 6, 244, 58]).systematic(2, 20)).sized(&["4", "4"]),
    row("Critical", "path-dependent/critical", by_path(23, [6, 2, 3, 2, 4], "<1s", [13, 7, 36, 13])).sized(&["4"]),
    row("ExMCR", "path-dependent/exmcr", by_path(1, [6, 4, 1, 6, 6], "<1s", [16, 8, 56, 39]).systematic(46, 3782)),
    row("PingPong", "atomicity/pingpong", by_schedule(39, "<1s", [16, 1, 66, 5]).systematic(2, 37)).sized(&["5", "6"]),
    row("Piper", "sync/piper", by_path(33, [1, 1, 1, 1, 1], "1s", [57, 2, 182, 51])).sized(&["4", "3"]),
    row("Airline", "atomicity/airline", by_schedule(3, "<1s", [29, 3, 77, 18]).systematic(9, 19)).sized(&["7"]),
    row("Garage", "order/garage", by_path(2, [9, 3, 4, 6, 6], "2s", [139, 26, 284, 235])).sized(&["5", "6", "100"]),
    row("BubbleSort", "atomicity/bubblesort", by_path(26, [4, 4, 1, 4, 4], "<1s", [69, 15, 161, 144]).systematic(4, 400)).sized(&["6"]),
    row("Manager", "atomicity/manager", by_path(39, [1, 1, 1, 1, 0], "9s", [142, 32, 331, 220])).sized(&["3", "9"]),
    row("Loader", "path-dependent/loader", by_path(1, [11, 11, 1, 11, 10], "25s", [179, 21, 386, 281])).sized(&["10", "9"]),
    row("StringBuf", "atomicity/stringbuffer", by_schedule(12, "9s", [115, 1, 331, 40]).systematic(2, 10)).sized(&["90"]),
    row("TicketOrder", "path-dependent/ticketorder", by_path(47, [1, 1, 1, 1, 0], "1s", [183, 45, 354, 290])).sized(&["3", "14"]),
    row("BufWriter", "data-race/bufwriter", by_schedule(57, "2h56m", [745, 95, 1245, 1216])).with(&["53"]).quick(),
    // MCR needs 3, and so may we.
    row("Pool", "real/pool", by_path(59, [17, 5, 4, 15, 8], "1s", [73, 34, 198, 123]).systematic(3, 6)).sized(&["9", "1"]).at_most(3),
    row("Cache4j (S)", "real/cache4j", by_schedule(11, "5s", [211, 1, 541, 11])).with(&["32"]),
    row("Cache4j (M)", "real/cache4j", by_schedule(29, "1h30m", [862, 3, 2364, 1371])).with(&["130"]),
    row("Cache4j (L)", "real/cache4j", by_schedule(37, "2h8m", [1139, 3, 3105, 1094])).with(&["172"]).quick(),
    FIGURE,
];
