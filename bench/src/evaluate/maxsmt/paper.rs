//! Tables 1 and 2 of the MaxSMT paper: time and size of projections by algorithm, in the configurations of its table 3.

use crate::evaluate::lab::Subject;

/// The heuristic of Symbiosis or Cortex, then MaxSMT (WMax), lexico (MaxRes), progressive MaxSMT and progressive lexico (WMax, at
/// most 200,000 conflicts each).
pub const ALGORITHMS: usize = 5;

pub struct Paper {
    pub program: &'static str,
    pub subject: Subject,
    /// Seconds, or `TO` after three hours, or `FAIL`.
    pub seconds: [&'static str; ALGORITHMS],
    /// OP/DF/BS/CTX.
    pub sizes: [&'static str; ALGORITHMS],
}

impl Paper {
    /// The fewest data flows of all algorithms.
    pub fn fewest_flows(&self) -> Option<u32> {
        let flows = |size: &&str| size.split('/').nth(1)?.parse().ok();
        self.sizes.iter().filter_map(flows).min()
    }
}

const fn row(
    program: &'static str,
    (case, args, events): (&'static str, &'static [&'static str], u64),
    seconds: [&'static str; ALGORITHMS],
    sizes: [&'static str; ALGORITHMS],
) -> Paper {
    Paper { program, subject: Subject { case, args, events }, seconds, sizes }
}

const PBZIP2: &str = "real/pbzip2";
const CACHE4J: &str = "real/cache4j";

#[rustfmt::skip] // One line a row, as in the tables.
pub const ROWS: [Paper; 16] = [
    row("crasher", ("atomicity/crasher", &["4", "9"], 287), ["22.6", "4275", "4321", "0.5", "0.4"], ["9/1/1/2", "9/1/1/2", "9/1/0/3", "9/1/1/2", "9/1/0/3"]),
    row("pbzip2 S", (PBZIP2, &["-f", "-p", "7", "-b", "800", "-o", "/dev/null", "data/sample.txt"], 206), ["0.3", "19.9", "37.5", "0.2", "0.2"], ["7/1/2/1", "7/1/1/1", "7/1/1/1", "7/1/1/1", "7/1/1/1"]),
    row("pbzip2 M", (PBZIP2, &["-f", "-p", "7", "-b", "400", "-o", "/dev/null", "data/sample.txt"], 397), ["0.9", "112", "TO", "0.4", "0.3"], ["4/1/2/1", "3/1/1/1", "TO", "3/1/0/2", "3/1/0/2"]),
    row("pbzip2 L", (PBZIP2, &["-f", "-p", "7", "-b", "120", "-o", "/dev/null", "data/sample.txt"], 1223), ["28.7", "TO", "TO", "3.0", "2.1"], ["7/1/2/1", "TO", "TO", "7/1/1/1", "7/1/1/1"]),
    row("pfscan", ("real/pfscan", &["-l", "-n", "4", "mutex", "data/notes"], 93), ["0.2", "2.1", "0.2", "0.2", "0.1"], ["27/1/2/1", "27/1/1/1", "27/1/0/2", "27/1/0/2", "27/1/0/2"]),
    row("airline", ("atomicity/airline", &["7"], 58), ["0.2", "2.1", "11.7", "0.2", "0.1"], ["11/2/2/1", "3/1/1/1", "3/1/1/1", "8/2/1/1", "8/2/1/1"]),
    row("bank", ("atomicity/bank", &["3"], 124), ["FAIL", "3.3", "2.5", "1.1", "1.1"], ["FAIL", "6/1/1/2", "6/1/1/2", "54/2/2/1", "54/2/1/2"]),
    row("cache4j M", (CACHE4J, &["60"], 1257), ["114.1", "3508", "3489", "7.8", "7.0"], ["14/1/1/2", "3/1/1/2", "3/1/0/3", "43/1/1/2", "3/1/0/3"]),
    row("cache4j L", (CACHE4J, &["66"], 1422), ["343", "TO", "TO", "20.4", "99.6"], ["5/1/2/1", "TO", "TO", "3/1/1/2", "3/1/1/2"]),
    row("bufwriter", ("data-race/bufwriter", &["53"], 1245), ["5790", "8939", "3773", "33.0", "38.4"], ["724/88/7/6", "197/1/2/1", "35/1/1/2", "221/8/3/3", "221/8/3/3"]),
    row("critical", ("path-dependent/critical", &["4"], 36), ["0.5", "2.3", "0.1", "0.2", "0.6"], ["9/4/3/4", "7/4/2/2", "7/4/2/2", "7/4/2/2", "7/4/2/2"]),
    row("exMCR", ("path-dependent/exmcr", &[], 56), ["1.1", "0.2", "0.2", "0.6", "0.6"], ["22/8/8/12", "21/7/6/8", "21/7/5/9", "21/7/6/8", "21/7/5/9"]),
    row("garage", ("order/garage", &["5", "6", "100"], 284), ["13.4", "39.7", "62.9", "0.4", "0.4"], ["5/2/1/2", "3/1/2/1", "3/1/1/2", "5/2/0/3", "5/2/0/3"]),
    row("loader", ("path-dependent/loader", &["10", "9"], 386), ["55.8", "239", "130", "10.5", "31.2"], ["267/22/18/18", "48/21/3/2", "47/21/2/3", "48/21/4/2", "47/21/3/3"]),
    row("manager", ("atomicity/manager", &["3", "9"], 331), ["189", "TO", "TO", "1630", "1199"], ["120/46/58/147", "TO", "TO", "78/33/34/109", "57/32/9/70"]),
    row("ticketorder", ("path-dependent/ticketorder", &["3", "14"], 354), ["7.1", "373", "182", "3.6", "3.4"], ["178/4/5/5", "46/4/1/2", "46/4/1/2", "47/4/2/1", "46/4/1/2"]),
];

#[cfg(test)]
mod tests {
    use super::ROWS;

    #[test]
    fn the_fewest_flows_are_those_of_the_best_algorithm() {
        let of = |program| ROWS.iter().find(|row| row.program == program).map(|r| r.fewest_flows());
        assert_eq!(of("bufwriter"), Some(Some(1)));
        assert_eq!(of("manager"), Some(Some(32)));
    }
}
