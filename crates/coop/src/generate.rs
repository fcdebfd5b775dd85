//! A fleet of any size out of recorded logs, for measuring how the analysis grows.
//!
//! A generated log is a recorded one with another id; of its elements it keeps a drawn half, and in one vector of three a drawn pair of
//! neighbouring entries changes places. So the elements, threads and lengths are those of real runs, and the number of distinct
//! vectors grows as it does where many instances run.

use unravel_trace::Rng;

use crate::log::{Log, LogId};

/// Log number `number` of a fleet that is made from these.
pub fn generate(from: &[Log], fleet: u64, number: u64) -> Log {
    let mut rng = Rng::new(Rng::derive(fleet, number));
    let mut log = rng.pick(from).clone();
    log.id = LogId::drawn(fleet, 0, number);
    let least = log.vectors.len().div_ceil(2);
    while log.vectors.len() > least {
        let at = rng.below(log.vectors.len() as u32) as usize;
        log.vectors.remove(at);
    }
    for (_, vector) in &mut log.vectors {
        if vector.len() > 1 && rng.below(3) == 0 {
            let at = rng.below(vector.len() as u32 - 1) as usize;
            vector.swap(at, at + 1);
        }
    }
    log
}
