//! SIGKILL at any moment, in both modes: the log opens, and what is decoded happened.

mod support;

use std::time::Duration;

use support::{Built, build, source};
use unravel_recording::Lost;

/// A path of `long.c` has fewer branches than this, and its one counted loop goes round at most 50 times.
const ONE_PATH: usize = 80;

fn kill_at(built: &Built, flight: u32, milliseconds: u64) -> bool {
    let mut child = built.command(&["100000"], flight).spawn().expect("the program starts");
    std::thread::sleep(Duration::from_millis(milliseconds));
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    if !built.log().exists() {
        return false; // It was killed before it began.
    }
    let log = built.opened();
    for (name, stream) in log.threads() {
        let truth = built.truth(stream.tid);
        let (branches, decoded) = built.decoded(&log, stream);
        let broken = |l: &Lost| matches!(l, Lost::Undecodable { .. });
        assert!(
            !decoded.lost.iter().any(broken),
            "{name} after {milliseconds} ms: {:?}",
            decoded.lost
        );
        // The slow trace writes a branch before the log does.
        assert!(branches.len() <= truth.len());
        let fewest = truth.len().saturating_sub(ONE_PATH).max(branches.len());
        let ends = (fewest..=truth.len()).find(|&end| truth[..end].ends_with(&branches));
        assert!(
            ends.is_some(),
            "{name} after {milliseconds} ms: {} of {}",
            branches.len(),
            truth.len()
        );
        if flight == 0 {
            assert_eq!(truth[..branches.len()], branches[..], "{name} after {milliseconds} ms");
        }
    }
    true
}

#[test]
fn every_log_opens_after_sigkill() {
    let built = build(&["-O2", &source("long.c")]);
    let moments = std::env::var("UNRAVEL_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(8);
    for flight in [0, 1] {
        let killed = (0..moments).filter(|i| kill_at(&built, flight, 15 + i * 37 % 211)).count();
        assert!(killed as u64 * 2 > moments, "most runs were killed while they recorded");
    }
}
