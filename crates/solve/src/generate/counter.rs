//! One counter that many threads update: long chains of read-modify-writes, the value of each a function of all
//! before it.

use super::acts::children;
use super::*;

const COUNTER: u64 = 0x1000;

/// `updates` updates of one counter by `threads` threads, each a read and a write without a lock. In `lost` of them
/// (at least one) another thread's update comes between. The main thread joins them and finds too little.
pub fn counter(threads: usize, updates: usize, lost: usize, seed: u64) -> Generated {
    let mut rng = Rng::new(seed);
    let (threads, lost) = (threads.max(2), lost.clamp(1, updates / 2));
    let mut recording = Recording::new(threads + 1);
    let before = recording.load(COUNTER, 4) as u32;
    recording.fork_all(threads);
    // A lost update takes the place of two: whose update is lost, and who comes between.
    let mut turns: Vec<bool> = (0..updates - lost).map(|turn| turn < lost).collect();
    shuffle(&mut turns, &mut rng);
    for is_lost in turns {
        let (mine, other) = two_of(threads, &mut rng);
        let seen = recording.load_word(mine, COUNTER);
        if is_lost {
            let theirs = recording.load_word(other, COUNTER);
            let more = recording.plus(theirs, 1);
            recording.store_word(other, COUNTER, more);
        }
        let more = recording.plus(seen, 1);
        recording.store_word(mine, COUNTER, more);
    }
    recording.join_all(threads);
    recording.fails_unless(COUNTER, before + updates as u32)
}

/// The same with atomic updates, but for one in the middle.
pub fn atomic_counter(threads: usize, updates: usize, seed: u64) -> Generated {
    let mut rng = Rng::new(seed);
    let (threads, updates) = (threads.max(2), updates.max(2));
    let mut recording = Recording::new(threads + 1);
    let before = recording.load(COUNTER, 4) as u32;
    recording.fork_all(threads);
    for turn in 0..updates - 1 {
        let (mine, other) = two_of(threads, &mut rng);
        if turn == updates / 2 {
            let seen = recording.load_word(mine, COUNTER);
            recording.add_at_once(other, COUNTER, 1);
            let more = recording.plus(seen, 1);
            recording.store_word(mine, COUNTER, more);
        } else {
            recording.add_at_once(mine, COUNTER, 1);
        }
    }
    recording.join_all(threads);
    recording.fails_unless(COUNTER, before + updates as u32)
}

fn two_of(threads: usize, rng: &mut Rng) -> (ThreadId, ThreadId) {
    let all: Vec<ThreadId> = children(threads).collect();
    let first = rng.below(all.len() as u32) as usize;
    let second = first + 1 + rng.below(all.len() as u32 - 1) as usize;
    (all[first], all[second % all.len()])
}

fn shuffle<T>(items: &mut [T], rng: &mut Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, rng.below(last as u32 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::super::acts::assert_fails;
    use super::*;

    #[test]
    fn updates_are_lost() {
        for seed in 0..20 {
            let model = assert_fails(&counter(4, 40, 1 + seed as usize, seed));
            assert_eq!(model.writes().len(), 40, "seed {seed}");
            let model = assert_fails(&atomic_counter(3, 40, seed));
            assert_eq!(model.reads().len(), 41, "seed {seed}");
        }
    }
}
