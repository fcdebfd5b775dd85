//! Table 3 of the Tinertia paper: executions of Thrille (race-directed search and simplification) and of context bounding.

pub struct Paper {
    pub thrille: u32,
    /// `None`: nothing in 10,000 executions.
    pub chess: Option<u32>,
}

/// The row of a program. Names as in the corpus.
pub fn table_3(program: &str) -> Option<Paper> {
    let (thrille, chess) = match program {
        "bbuf" => (300, Some(2081)),
        "blackscholes" => (85, None),
        "bzip2smp" => (66, None),
        "canneal" => (464, None),
        "ctrace" => (252, Some(165)),
        "dedup" => (51, None),
        "pbzip2" => (83, Some(21)),
        "pfscan" => (110, None),
        "streamcluster" => (2591, Some(7)),
        "swarm" => (1334, None),
        "x264" => (193, None),
        _ => return None,
    };
    Some(Paper { thrille, chess })
}
