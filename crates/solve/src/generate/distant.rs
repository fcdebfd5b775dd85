//! A violation whose two ends are far apart.

use super::large::Run;
use super::*;

/// As [`super::large`], but the first thread reads the balance, and writes it only `apart` events later; the second
/// thread's whole update comes halfway between. All of them do other work meanwhile.
pub fn distant(events: usize, apart: usize, threads: usize, seed: u64) -> Generated {
    let threads = threads.max(2);
    let mut run = Run::new(events, threads, seed);
    run.recording.fork_all(threads);
    work_until(&mut run, events.saturating_sub(apart) / 2);
    let first = run.recording.trace.events.len();
    let seen = run.read_balance(1);
    work_until(&mut run, first + apart / 2);
    let theirs = run.read_balance(2);
    run.write_balance(2, theirs);
    work_until(&mut run, first + apart);
    run.write_balance(1, seen);
    work_until(&mut run, events);
    run.recording.join_all(threads);
    run.finds_too_little()
}

/// Everybody works, in turns, until the trace is this long.
fn work_until(run: &mut Run, events: usize) {
    while run.recording.trace.events.len() < events {
        let thread = 1 + run.rng.below(run.threads as u32) as usize;
        for _ in 0..1 + run.rng.below(4) {
            run.block(thread);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::acts::assert_fails;
    use super::*;

    #[test]
    fn the_ends_are_apart() {
        for (seed, apart) in [(1, 50), (2, 300), (3, 600)] {
            let generated = distant(800, apart, 3, seed);
            assert_fails(&generated);
            let accesses = (0..).zip(&generated.trace.events).filter(|(_, event)| {
                matches!(event.kind, EventKind::Read { at, .. } | EventKind::Write { at, .. }
                    if generated.trace.locations[at.0 as usize].offset == 0x1000)
            });
            let places: Vec<usize> = accesses.map(|(place, _)| place).collect();
            // Of the read, the other's read and write, and the write; the main thread's read comes last.
            assert_eq!(places.len(), 5, "seed {seed}");
            assert!(places[3] - places[0] >= apart, "seed {seed}: {places:?}");
        }
    }
}
