//! One location that everybody accesses all the time: pairs of its writes are too many to list.

use super::acts::children;
use super::*;

const HOT: u64 = 0x1000;
const TICKET: u32 = 1_000;
/// Where a thread says whether it read its ticket back.
const FOUND: u64 = 0x2000;

/// About `accesses` reads and writes of one location by `threads` threads, without a lock; some of the reads decide
/// branches. In the middle the first thread writes its ticket and reads it back, and another thread's write comes
/// between. The main thread joins them and learns of it.
pub fn hot(accesses: usize, threads: usize, seed: u64) -> Generated {
    let mut rng = Rng::new(seed);
    let threads = threads.max(2);
    let all: Vec<ThreadId> = children(threads).collect();
    let mut recording = Recording::new(threads + 1);
    recording.fork_all(threads);
    let before = accesses.saturating_sub(3) / 2;
    (0..before).for_each(|_| access(&mut recording, &mut rng, &all));
    violate(&mut recording, all[0], all[1]);
    (0..accesses.saturating_sub(3 + before)).for_each(|_| access(&mut recording, &mut rng, &all));
    recording.join_all(threads);
    recording.fails_unless(FOUND, 1)
}

fn access(recording: &mut Recording, rng: &mut Rng, all: &[ThreadId]) {
    let thread = *rng.pick(all);
    if rng.below(2) == 0 {
        let value = recording.word(rng.below(16));
        recording.store_word(thread, HOT, value);
        return;
    }
    let seen = recording.load_word(thread, HOT);
    if rng.below(4) == 0 {
        let limit = recording.concrete(seen) as u32 + rng.below(8);
        let limit = recording.word(limit);
        let holds = recording.symbolic.exprs.compare(CompareOp::Ule, seen, limit);
        recording.condition(holds);
    }
}

fn violate(recording: &mut Recording, mine: ThreadId, other: ThreadId) {
    let ticket = recording.word(TICKET);
    recording.store_word(mine, HOT, ticket);
    let value = recording.word(7);
    recording.store_word(other, HOT, value);
    let back = recording.load_word(mine, HOT);
    let same = recording.equal(back, ticket);
    let same = recording.symbolic.exprs.zero_extend(same, 32);
    recording.store_word(mine, FOUND, same);
}

#[cfg(test)]
mod tests {
    use super::super::acts::assert_fails;
    use super::*;

    #[test]
    fn the_ticket_is_not_found_again() {
        for seed in 0..20 {
            let model = assert_fails(&hot(300, 4, seed));
            let hottest = model.cells().map(|cell| model.writes_of(cell).len()).max();
            assert!(hottest > Some(100), "seed {seed}: {hottest:?}");
        }
    }
}
