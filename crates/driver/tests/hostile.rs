//! Damaged and hostile logs: an error or less of a log, never a crash and never endless work.

mod support;

use std::os::unix::fs::FileExt;

use support::{build_plain, source};
use unravel_instrument::OpenedLog;
use unravel_recording::{Objects, layout};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 24
    }
}

/// Opens and decodes, as far as it goes. Counted loops may claim any number of trips, so records are counted, not kept.
fn read(path: &std::path::Path) -> bool {
    let Ok(log) = OpenedLog::open(path) else { return false };
    for (_, stream) in log.threads() {
        log.decode_at_most(5_000_000, stream, &mut Objects::default(), |_| {});
    }
    true
}

#[test]
fn damaged_logs_are_read_or_refused() {
    let built = build_plain(&["-O2", &source("threads.c")]);
    let iterations =
        std::env::var("UNRAVEL_FUZZ_ITERS").ok().and_then(|n| n.parse().ok()).unwrap_or(60u64);
    for flight in [0, 1] {
        assert!(built.run(&["300"], flight).success());
        let original = built.folder.path().join("original");
        std::fs::copy(built.log(), &original).expect("a copy");
        let length = std::fs::metadata(&original).expect("it is there").len();
        let mut random = Random(7 + u64::from(flight));
        let (mut opened, mut refused) = (0, 0);
        for i in 0..iterations {
            let path = built.folder.path().join("damaged");
            std::fs::copy(&original, &path).expect("a copy");
            let file = std::fs::OpenOptions::new().write(true).open(&path).expect("it opens");
            let regions = [
                (0, 64),
                (layout::ENDING, 64),
                (layout::MODULE_TABLE, 16),
                (layout::THREAD_TABLE, 512),
                (layout::SLOTS, 64),
                (layout::SLOTS + layout::META, 4000),
            ];
            for _ in 0..1 + random.next() % 6 {
                let (start, size) = regions[(random.next() % 6) as usize];
                let byte = [random.next() as u8];
                file.write_at(&byte, start + random.next() % size).expect("written");
            }
            if i % 5 == 0 {
                file.set_len(random.next() % length).expect("cut short");
            }
            match read(&path) {
                true => opened += 1,
                false => refused += 1,
            }
        }
        assert!(opened > 0 && refused > 0, "{opened} opened, {refused} refused");
    }
}
