//! What is in a database, in numbers.

use std::collections::HashSet;

use unravel_files::ProgramRef;
use unravel_results::{Damage, Stats, ThreadStats};
use unravel_trace::ThreadName;

use crate::contents::Contents;
use crate::id::encode;

impl Contents {
    /// All but what concerns files.
    pub(crate) fn stats(&self, program: &ProgramRef) -> Stats {
        let inputs: HashSet<Vec<u8>> = self.runs.iter().map(|run| encode(&run.input)).collect();
        Stats {
            program: program.name.clone(),
            fingerprint: program.fingerprint,
            seen: self.runs.iter().fold(0, |sum: u64, run| sum.saturating_add(run.count)),
            distinct: self.runs.len(),
            traces: self.traces.len(),
            threads: self.tries.keys().map(|thread| self.thread_stats(thread)).collect(),
            visible_sets: self.sets.len(),
            inputs: inputs.len(),
            segments: 0,
            bytes: 0,
            damage: Damage {
                incomplete: self.incomplete.values().filter(|r| r.record.is_some()).count() as u64,
                ..Damage::default()
            },
        }
    }

    fn thread_stats(&self, thread: &ThreadName) -> ThreadStats {
        let stored = self.traces.values().filter(|stored| stored.trace.name() == thread);
        let paths: Vec<&[u32]> = stored.map(|stored| &stored.trace.path[..]).collect();
        let lengths = || paths.iter().map(|path| path.len());
        let tries = || self.tries.get(thread).into_iter().flat_map(|tries| tries.values());
        ThreadStats {
            thread: thread.clone(),
            traces: paths.len(),
            paths: paths.iter().collect::<HashSet<_>>().len(),
            shortest: lengths().min().unwrap_or(0),
            longest: lengths().max().unwrap_or(0),
            branches: lengths().sum(),
            stored: tries().map(|trie| trie.branches()).sum(),
            nodes: tries().map(|trie| trie.nodes()).sum(),
        }
    }
}

/// A path as the thesis writes it: `10`, `-` if there are no branches. Ways of a `switch` beyond the ninth are in
/// brackets. Of a long path the ends are shown, and how much is between them.
pub fn path_text(path: &[u32]) -> String {
    const FIRST: usize = 24;
    const LAST: usize = 8;
    let text = |path: &[u32]| -> String {
        path.iter()
            .map(|way| if *way < 10 { way.to_string() } else { format!("({way})") })
            .collect()
    };
    match path.len() {
        0 => "-".to_owned(),
        short if short <= FIRST + LAST => text(path),
        long => {
            let between = long - FIRST - LAST;
            format!("{}..{between}..{}", text(&path[..FIRST]), text(&path[long - LAST..]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_short_texts() {
        assert_eq!(path_text(&[]), "-");
        assert_eq!(path_text(&[1, 0, 12, 1]), "10(12)1");
        assert_eq!(path_text(&[1; 100]), format!("{}..68..{}", "1".repeat(24), "1".repeat(8)));
    }
}
