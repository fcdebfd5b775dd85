//! Random damage at three depths: the file, the body under a right checksum, and the payload under
//! a right checksum and compression, so that every layer of the reader meets it.
//!
//! `UNRAVEL_FUZZ_ITERS` sets how many files are tried, `UNRAVEL_FUZZ_SEED` where to begin.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use unravel_files::file::MAGIC;
use unravel_files::*;
use unravel_trace::*;

use crate::arbitrary::{sample, trace_file};

/// A file with this body, which is said to hold `payload` bytes, and a right checksum.
pub fn seal(body: &[u8], payload: u64) -> Vec<u8> {
    seal_as(FormatVersion::CURRENT, body, payload)
}

/// The same as a file of this version.
fn seal_as(version: FormatVersion, body: &[u8], payload: u64) -> Vec<u8> {
    let mut fields = version.0.to_le_bytes().to_vec();
    fields.extend((body.len() as u64).to_le_bytes());
    fields.extend(payload.to_le_bytes());
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&fields);
    hasher.update(body);
    let mut file = MAGIC.to_vec();
    file.extend(fields);
    file.extend(hasher.finalize().to_le_bytes());
    file.extend(body);
    file
}

/// A file that holds this payload.
pub fn seal_payload(payload: &[u8]) -> Vec<u8> {
    seal_version(FormatVersion::CURRENT, payload)
}

/// A file of this version that holds this payload.
pub fn seal_version(version: FormatVersion, payload: &[u8]) -> Vec<u8> {
    let body = miniz_oxide::deflate::compress_to_vec(payload, 1);
    seal_as(version, &body, payload.len() as u64)
}

/// Xorshift: the same seed makes the same files.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }

    /// Changes bytes, takes some out, puts some in, or cuts the end off; one to four times.
    fn damage(&mut self, bytes: &mut Vec<u8>) {
        const LOUD: [u8; 6] = [0x00, 0xff, 0x7f, 0x80, 0x01, 0x0f];
        for _ in 0..1 + self.below(4) {
            let at = self.below(bytes.len());
            let end = (at + 1 + self.below(8)).min(bytes.len());
            match self.below(6) {
                0 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
                1 if !bytes.is_empty() => bytes[at] = LOUD[self.below(LOUD.len())],
                2 if !bytes.is_empty() => drop(bytes.drain(at..end)),
                3 => bytes.insert(at, LOUD[self.below(LOUD.len())]),
                4 if !bytes.is_empty() => {
                    let copy = bytes[at..end].to_vec();
                    let to = self.below(bytes.len());
                    bytes.splice(to..to, copy);
                }
                _ if self.below(8) == 0 => bytes.truncate(at),
                _ => {}
            }
        }
    }
}

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")),
        Err(_) => default,
    }
}

/// Does with a trace what its readers do, so that an index that is out of range shows.
fn use_it(file: &TraceFile) {
    let trace = &file.run.trace;
    for event in &trace.events {
        assert!(!trace.thread_name(event.thread).to_string().is_empty());
        assert!(trace.site(event.site).is_some());
        if let Some(at) = event.kind.location() {
            let _object = &trace.objects[trace.location(at).object.0 as usize];
        }
        let _ = event.kind.verb();
    }
    let schedule = &file.run.schedule;
    for segment in &schedule.segments {
        let _name = &schedule.threads[segment.thread as usize];
    }
    let _ = (schedule.events(), schedule.context_switches());
    assert_eq!(schedule.visible.iter().count(), schedule.visible.len());
    assert_eq!(file.run.learned.iter().count(), file.run.learned.len());
    let _ = file.run.outcome.to_string();
    if let Some(symbolic) = &file.run.symbolic {
        use_symbolic(trace, symbolic);
    }
}

fn use_symbolic(trace: &Trace, symbolic: &Symbolic) {
    let exprs = &symbolic.exprs;
    let value =
        |id| exprs.evaluate(id, &|SymbolId(of)| symbolic.accesses[of as usize].address.into());
    for (_, shadow) in trace.events.iter().zip(&symbolic.shadows) {
        let end = shadow.first + shadow.reads + shadow.writes;
        if shadow.first < end {
            for access in &symbolic.accesses[shadow.first as usize..end as usize] {
                let _ = (value(access.value), access.address + u64::from(access.bytes));
            }
        }
    }
    for step in &symbolic.steps {
        assert!(trace.events[step.range()].iter().all(|event| event.thread == step.thread));
    }
    for condition in &symbolic.conditions {
        assert_eq!(trace.events[condition.after as usize].thread, condition.thread);
        assert!(value(condition.holds) <= 1);
    }
    if let Bug::Condition { fails, .. } = symbolic.bug {
        assert!(value(fails) <= 1);
    }
    // Who reads a graph may go on building it.
    let mut exprs = exprs.clone();
    let size = exprs.len();
    exprs.constant(0x0123_4567_89ab_cdef, 64);
    assert!(exprs.len() <= size + 1);
}

#[test]
fn fuzz_decode() {
    let iterations = setting("UNRAVEL_FUZZ_ITERS", 20_000);
    let mut random = Random(setting("UNRAVEL_FUZZ_SEED", 0x9e37_79b9_7f4a_7c15).max(1));
    let mut runner = TestRunner::deterministic();
    let mut originals = vec![sample()];
    for _ in 0..20 {
        originals.push(trace_file().new_tree(&mut runner).expect("generates").current());
    }
    let payloads: Vec<Vec<u8>> =
        originals.iter().map(|file| postcard::to_stdvec(file).expect("encodes")).collect();

    let mut accepted = 0u64;
    for nth in 0..iterations {
        let which = random.below(originals.len());
        let (original, payload) = (&originals[which], &payloads[which]);
        let depth = random.below(4);
        let bytes = match depth {
            0 => {
                let mut file = original.encode();
                random.damage(&mut file);
                file
            }
            1 => {
                let mut body = miniz_oxide::deflate::compress_to_vec(payload, 1);
                random.damage(&mut body);
                seal(&body, payload.len() as u64)
            }
            _ => {
                let mut payload = payload.clone();
                random.damage(&mut payload);
                seal_payload(&payload)
            }
        };
        let Ok(decoded) = TraceFile::decode(&bytes) else { continue };
        if depth == 0 {
            assert_eq!(&decoded, original, "iteration {nth}: damage went unnoticed");
        }
        accepted += 1;
        use_it(&decoded);
        assert_eq!(TraceFile::decode(&decoded.encode()), Ok(decoded), "iteration {nth}");
    }
    // A reader that refuses everything would pass the rest of this test.
    assert!(accepted > iterations / 100, "only {accepted} of {iterations} files were accepted");
}
