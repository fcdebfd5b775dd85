//! Segments that were cut off, changed or made up. `UNRAVEL_FUZZ_ITERS` sets how many are tried, `UNRAVEL_FUZZ_SEED`
//! where to begin.

use std::fs;
use std::path::{Path, PathBuf};

use unravel_database::{Database, TraceId};
use unravel_trace::{Rng, ThreadTrace, combine};

use crate::made_up::MadeUp;
use crate::{empty, expected, read, shown, written};

const SEGMENT_HEAD: usize = 20;
const FRAME_HEAD: usize = 20;

/// The only segment of a database.
fn segment(directory: &Path) -> PathBuf {
    let mut entries = fs::read_dir(directory.join("segments")).expect("there are segments");
    let entry = entries.next().expect("there is one").expect("it can be listed");
    assert!(entries.next().is_none(), "there is one only");
    entry.path()
}

/// The payloads of all records of a database with one segment.
pub fn payloads(directory: &Path) -> Vec<Vec<u8>> {
    let bytes = fs::read(segment(directory)).expect("it is there");
    let mut rest = &bytes[SEGMENT_HEAD..];
    let mut payloads = Vec::new();
    while !rest.is_empty() {
        let stored = u32::from_le_bytes([rest[4], rest[5], rest[6], rest[7]]) as usize;
        let body = &rest[FRAME_HEAD..FRAME_HEAD + stored];
        payloads.push(miniz_oxide::inflate::decompress_to_vec(body).expect("it inflates"));
        rest = &rest[FRAME_HEAD + stored..];
    }
    payloads
}

/// A record with right checksums, whatever is in it.
fn seal(payload: &[u8]) -> Vec<u8> {
    let body = miniz_oxide::deflate::compress_to_vec(payload, 1);
    let mut frame = b"\x8bREC".to_vec();
    frame.extend((body.len() as u32).to_le_bytes());
    frame.extend((payload.len() as u32).to_le_bytes());
    frame.extend(crc32fast::hash(&body).to_le_bytes());
    frame.extend(crc32fast::hash(&frame).to_le_bytes());
    frame.extend(body);
    frame
}

fn runs() -> Vec<MadeUp> {
    let mut runs: Vec<MadeUp> = [0, 1, 2].map(|way| MadeUp::new(&[&[way], &[1, way]], way)).into();
    runs.push(runs[0].clone());
    runs
}

/// Does with a database what a hunt does, so that an index that is out of range shows.
fn use_it(database: &Database) {
    for run in database.runs() {
        let trace = |id: &TraceId| database.trace(*id).expect("a known run has its traces");
        let parts: Vec<&ThreadTrace> = run.threads.iter().map(trace).collect();
        // Whether they fit together is for it to say.
        let _ = combine(&parts, &run.turns);
        for part in parts {
            let found = database.with_prefix(part.name(), &part.path, &run.schedule.visible);
            assert!(!found.is_empty(), "a run's traces are found by their paths");
        }
    }
    assert!(database.stats().distinct == database.runs().len());
}

#[test]
fn a_segment_cut_anywhere_loses_its_end_only() {
    let directory = empty();
    written(directory.path(), &runs());
    let file = segment(directory.path());
    let bytes = fs::read(&file).expect("it is there");
    let mut most = 0;
    for length in 0..=bytes.len() {
        fs::write(&file, &bytes[..length]).expect("it is written");
        let database = read(directory.path());
        use_it(&database);
        let found = shown(&database);
        let all = expected(&runs());
        assert!(found.iter().all(|(run, count)| *count <= all[run]), "{length}");
        assert!(found.len() >= most, "{length}: more bytes, fewer runs");
        most = found.len();
        let stats = database.stats();
        assert_eq!((stats.damage.records, stats.damage.segments), (0, 0), "{length}");
        assert!(stats.damage.torn <= 1, "{length}");
    }
    assert_eq!(shown(&read(directory.path())), expected(&runs()));
    // A database whose end is missing goes on as if nothing had happened.
    fs::write(&file, &bytes[..bytes.len() / 2]).expect("it is written");
    written(directory.path(), &runs());
    let found = shown(&read(directory.path()));
    assert!(expected(&runs()).iter().all(|(run, count)| found[run] >= *count));
}

#[test]
fn a_changed_byte_is_counted_and_costs_little() {
    let directory = empty();
    written(directory.path(), &runs());
    let file = segment(directory.path());
    let bytes = fs::read(&file).expect("it is there");
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x41;
        fs::write(&file, damaged).expect("it is written");
        let database = read(directory.path());
        use_it(&database);
        assert!(database.stats().damage.any(), "byte {at}");
        // A trace that two runs have costs two runs, anything else one.
        let left = if at < SEGMENT_HEAD { 0 } else { 2 };
        assert!(database.runs().len() >= left, "byte {at}: {} left", database.runs().len());
    }
}

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")),
        Err(_) => default,
    }
}

/// Damage under right checksums: only what is decoded can tell.
#[test]
fn made_up_records_are_survived() {
    let directory = empty();
    written(directory.path(), &runs());
    let file = segment(directory.path());
    let head = fs::read(&file).expect("it is there")[..SEGMENT_HEAD].to_vec();
    let payloads = payloads(directory.path());
    let first = setting("UNRAVEL_FUZZ_SEED", 1);
    let mut refused = 0;
    // Each one is a file: as many as a reader of bytes is tried with would take hours.
    for seed in first..first + setting("UNRAVEL_FUZZ_ITERS", 1000).min(20_000) {
        let mut rng = Rng::new(seed);
        let mut bytes = head.clone();
        let victim = rng.below(payloads.len() as u32) as usize;
        for (i, payload) in payloads.iter().enumerate() {
            let mut payload = payload.clone();
            if i == victim {
                for _ in 0..1 + rng.below(3) {
                    let at = rng.below(payload.len() as u32) as usize;
                    match rng.below(4) {
                        0 => payload[at] ^= 1 << rng.below(8),
                        1 => payload[at] = *rng.pick(&[0, 1, 0x7f, 0x80, 0xff]),
                        2 => payload.insert(at, *rng.pick(&[0, 1, 0x7f, 0x80, 0xff])),
                        _ => drop(payload.remove(at)),
                    }
                }
            }
            bytes.extend(seal(&payload));
        }
        fs::write(&file, bytes).expect("it is written");
        let database = read(directory.path());
        use_it(&database);
        refused += u64::from(database.stats().damage.any());
    }
    assert!(refused > 0, "no damage was noticed");
}
