//! The trace file: what is written is read again, and nothing else is ever taken for a trace.

mod arbitrary;
mod fuzz;
mod symbolic;

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use unravel_files::file::{HEADER_BYTES, MAGIC};
use unravel_files::*;
use unravel_trace::*;

use arbitrary::{every_kind, sample, trace_file};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn decoding_gives_back_what_was_encoded(file in trace_file()) {
        prop_assert_eq!(file.validate(), Ok(()));
        prop_assert_eq!(TraceFile::decode(&file.encode()), Ok(file));
    }

    #[test]
    fn a_part_is_noticed(file in trace_file(), length in any::<prop::sample::Index>()) {
        let bytes = file.encode();
        prop_assert!(TraceFile::decode(&bytes[..length.index(bytes.len())]).is_err());
    }

    #[test]
    fn a_flipped_bit_is_noticed(file in trace_file(), at in any::<prop::sample::Index>(), bit in 0..8) {
        let mut bytes = file.encode();
        let at = at.index(bytes.len());
        bytes[at] ^= 1u8 << bit;
        prop_assert!(TraceFile::decode(&bytes).is_err());
    }
}

#[test]
fn every_truncation_is_noticed() {
    let bytes = sample().encode();
    for length in 0..bytes.len() {
        let error = TraceFile::decode(&bytes[..length]).expect_err("a part is not the whole");
        let FormatError::Truncated { expected, actual } = error else {
            panic!("{length} of {} bytes give {error:?}", bytes.len());
        };
        assert_eq!(actual, length as u64);
        // Before the header is complete, the length of the whole is not known.
        let whole = if length < HEADER_BYTES { HEADER_BYTES } else { bytes.len() };
        assert_eq!(expected, whole as u64);
    }
}

/// If this fails, a stored type has changed. Files of the old format can no longer be read: raise
/// `FormatVersion::CURRENT`, write the new numbers here, and convert the old format
/// (`file/version5.rs` says how).
#[test]
fn the_format_is_pinned() {
    let outcomes = [
        Outcome::Exited { code: -1 },
        Outcome::Discarded,
        Outcome::Inconclusive { reason: "x".into(), at: None },
    ];
    let nondet = [Nondet::Seed(1), Nondet::List(vec![2]), Nondet::ByThread(Vec::new())];
    let bugs = symbolic::every_bug();
    let other = Note::Other("x".into());
    use Note::{CancellationDeferred, EndlessLoop, HeldBack, SignalsIgnored};
    let notes = [SignalsIgnored, CancellationDeferred, EndlessLoop, HeldBack, other];
    let stored = (sample(), every_kind(), outcomes, nondet, FailureKind::ALL, bugs, notes);
    let payload = postcard::to_stdvec(&stored).expect("encodes");
    let fingerprint = (FormatVersion::CURRENT.0, payload.len(), crc32fast::hash(&payload));
    assert_eq!(fingerprint, (8, 681, 1_586_207_944));
}

/// A run of `crates/cli/tests/data/version5.c`, in a file that an unravel of that time wrote.
const VERSION_5: &[u8] = include_bytes!("../data/version5.trace");

#[test]
fn a_file_of_format_5_is_read() {
    let file = TraceFile::decode(VERSION_5).expect("format 5 is read");
    assert_eq!(file.program.sources, ["version5.c"]);
    assert_eq!(file.run.notes, [Note::SignalsIgnored]);
    let failure = file.run.outcome.failure().expect("it failed");
    assert_eq!(failure.message, "assertion 'total == 2' failed");
    assert_eq!(failure.id().to_string(), "assertion at version5.c:25");
    assert_eq!(file.run.trace.events.len(), 15);
    // It is written as what it is now.
    let now = file.encode();
    assert_eq!(now[8..12], FormatVersion::CURRENT.0.to_le_bytes());
    assert_eq!(TraceFile::decode(&now), Ok(file));
}

/// The same program's, in a file of format 7.
const VERSION_7: &[u8] = include_bytes!("../data/version7.trace");

#[test]
fn a_file_of_format_7_is_read() {
    let file = TraceFile::decode(VERSION_7).expect("format 7 is read");
    assert_eq!(file.program.sources, ["version5.c"]);
    assert!(!file.input.limits.lenient_locks);
    let failure = file.run.outcome.failure().expect("it failed");
    assert_eq!(failure.id().to_string(), "assertion at version5.c:25");
    let now = file.encode();
    assert_eq!(now[8..12], FormatVersion::CURRENT.0.to_le_bytes());
    assert_eq!(TraceFile::decode(&now), Ok(file));
}

/// Notes of format 5 are texts. Those that nobody knows any more stay what they are.
#[test]
fn an_unknown_note_of_format_5_is_kept() {
    let known = b"signals from outside are ignored";
    let mut payload = inflated(VERSION_5);
    let at = payload.windows(known.len()).position(|bytes| bytes == known).expect("the note");
    payload[at..at + known.len()].copy_from_slice(b"signals from inside  are ignored");
    let bytes = fuzz::seal_version(FormatVersion(5), &payload);
    let file = TraceFile::decode(&bytes).expect("is a trace");
    assert_eq!(file.run.notes, [Note::Other("signals from inside  are ignored".into())]);
}

/// The conversion trusts no byte either.
#[test]
fn a_damaged_file_of_format_5_is_an_error_or_another_trace() {
    let payload = inflated(VERSION_5);
    for at in 0..payload.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut damaged = payload.clone();
            damaged[at] = value;
            if let Ok(file) = TraceFile::decode(&fuzz::seal_version(FormatVersion(5), &damaged)) {
                file.validate().expect("what is read is checked");
            }
        }
    }
}

fn inflated(file: &[u8]) -> Vec<u8> {
    miniz_oxide::inflate::decompress_to_vec(&file[HEADER_BYTES..]).expect("inflates")
}

/// A directory for one test, and a sample written to a file in it.
fn written() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("temporary directory");
    let path = directory.path().join("bank.trace");
    sample().write(&path).expect("writes");
    (directory, path)
}

/// Changes the file and returns what reading it then says.
fn complaint(change: impl FnOnce(&mut Vec<u8>)) -> String {
    let (_directory, path) = written();
    let mut bytes = fs::read(&path).expect("was written");
    change(&mut bytes);
    fs::write(&path, bytes).expect("writes");
    let message = TraceFile::read(&path).expect_err("is damaged").to_string();
    assert!(message.contains("bank.trace"), "no path in: {message}");
    message
}

#[test]
fn a_file_is_read_again_and_leaves_no_temporary() {
    let (directory, path) = written();
    assert_eq!(TraceFile::read(&path).expect("reads"), sample());
    // Overwriting works too.
    let mut other = sample();
    other.seed = None;
    other.write(&path).expect("writes");
    assert_eq!(TraceFile::read(&path).expect("reads"), other);
    assert_eq!(fs::read_dir(directory.path()).expect("lists").count(), 1);
}

#[test]
fn a_failed_write_keeps_the_old_file() {
    let (directory, path) = written();
    let mut broken = sample();
    broken.run.trace.events[0].thread = ThreadId(99);
    let message = broken.write(&path).expect_err("refers to nothing").to_string();
    assert!(message.contains("event 0 refers to thread 99, but there are 2"), "{message}");
    assert_eq!(TraceFile::read(&path).expect("reads"), sample());
    let nowhere = directory.path().join("missing/x.trace");
    let message = sample().write(&nowhere).expect_err("no directory").to_string();
    assert!(message.contains("cannot write") && message.contains("missing/x.trace"), "{message}");
}

#[test]
fn a_missing_file_is_named() {
    let error = TraceFile::read("/nonexistent/x.trace").expect_err("does not exist");
    assert!(matches!(error, FileError::NotFound { .. }));
    assert_eq!(error.to_string(), "there is no trace file /nonexistent/x.trace");
    let directory = TraceFile::read("/tmp").expect_err("is a directory").to_string();
    assert!(directory.contains("/tmp: it is not a regular file"), "{directory}");
}

#[test]
fn another_file_is_not_a_trace() {
    let message = complaint(|bytes| *bytes = b"int main(void) { return 0; }\n".to_vec());
    assert!(message.contains("not an unravel trace file"), "{message}");
    let message = complaint(|bytes| *bytes = b"int".to_vec());
    assert!(message.contains("not an unravel trace file"), "{message}");
}

#[test]
fn another_version_is_named() {
    let next = FormatVersion::CURRENT.0 + 1;
    let message = complaint(|bytes| bytes[8..12].copy_from_slice(&next.to_le_bytes()));
    assert!(
        message.contains(&format!("format {next}")) && message.contains("update unravel"),
        "{message}"
    );
    let message = complaint(|bytes| bytes[8..12].copy_from_slice(&0u32.to_le_bytes()));
    assert!(message.contains("older unravel") && message.contains("format 0"), "{message}");
}

#[test]
fn a_short_file_is_truncated() {
    let whole = sample().encode().len();
    let message = complaint(|bytes| bytes.truncate(whole - 5));
    let expected = format!("{whole} bytes expected, {} there", whole - 5);
    assert!(message.contains(&expected), "{message}");
    let message = complaint(Vec::clear);
    assert!(message.contains("32 bytes expected, 0 there"), "{message}");
}

#[test]
fn damage_is_noticed() {
    let message = complaint(|bytes| bytes[40] ^= 1);
    assert!(message.contains("corrupt") && message.contains("checksum"), "{message}");
    let message = complaint(|bytes| bytes.push(0));
    assert!(message.contains("corrupt") && message.contains("should end"), "{message}");
}

#[test]
fn wrong_content_under_a_right_checksum_is_noticed() {
    let message = complaint(|bytes| *bytes = fuzz::seal(b"not deflated", 100));
    assert!(message.contains("cannot be decoded"), "{message}");
    // Right bytes, wrong declared length.
    let payload = postcard::to_stdvec(&sample()).expect("encodes");
    let body = miniz_oxide::deflate::compress_to_vec(&payload, 6);
    for wrong in [payload.len() - 1, payload.len() + 1] {
        let message = complaint(|bytes| *bytes = fuzz::seal(&body, wrong as u64));
        assert!(message.contains("cannot be decoded"), "{message}");
    }
    // A payload with something after its end.
    let mut longer = payload.clone();
    longer.push(0);
    let message = complaint(|bytes| *bytes = fuzz::seal_payload(&longer));
    assert!(message.contains("1 bytes are left over"), "{message}");
}

#[test]
fn a_contradiction_is_noticed() {
    type Break = fn(&mut Run);
    let breaks: [(Break, &str); 9] = [
        (|run| run.trace.threads.truncate(1), "thread 1, but there are 1"),
        (|run| run.trace.locations.clear(), "location 0, but there are 0"),
        (|run| run.trace.objects.clear(), "location 0 refers to object 0, but there are 0"),
        (|run| run.trace.sites.reverse(), "site 12 comes before site 10"),
        (|run| run.trace.sites.truncate(1), "refers to site 12"),
        (|run| run.trace.objects[0].site = Some(SiteId(5)), "object 0 refers to site 5"),
        (|run| run.schedule.segments[1].thread = 2, "segment 1 of the schedule"),
        (
            |run| {
                run.trace.events[0].kind =
                    EventKind::Wait { at: LocationId(0), mutex: LocationId(9) }
            },
            "event 0 refers to location 9",
        ),
        (
            |run| {
                run.trace.events[0].kind = EventKind::Wake {
                    at: LocationId(0),
                    mutex: LocationId(0),
                    by: WakeCause::Signal(ThreadId(7)),
                }
            },
            "event 0 refers to thread 7",
        ),
    ];
    for (change, expected) in breaks {
        let message = complaint(|bytes| {
            let mut file = sample();
            change(&mut file.run);
            *bytes = file.encode();
        });
        assert!(message.contains("contradicts itself"), "{message}");
        assert!(message.contains(expected), "'{expected}' is not in: {message}");
    }
}

#[test]
fn a_contradiction_in_the_symbolic_part_is_noticed() {
    type Break = fn(&mut Symbolic);
    fn request(wants: Wants) -> Bug {
        Bug::Deadlock { requests: vec![Request { thread: ThreadId(0), site: SiteId(10), wants }] }
    }
    let breaks: &[(Break, &str)] = &[
        (|s| s.shadows.truncate(4), "there are 5 events, but the accesses of 4"),
        (|s| s.shadows[3].writes = 2, "event 3 refers to access 3, but there are 3"),
        (|s| s.shadows[3].first = u32::MAX, "event 3 refers to access 4294967295"),
        (|s| s.shadows[3].reads = u32::MAX, "event 3 refers to access"),
        (|s| s.shadows[3].first = 1, "event 3 refers to access 1, which is an earlier event's"),
        (|s| s.shadows[2].reads = 1, "event 3 refers to access 2, which is an earlier"),
        (|s| s.accesses[0].bytes = 0, "access 0 has 0 bytes"),
        (|s| s.accesses[2].bytes = 17, "access 2 has 17 bytes"),
        (|s| s.accesses[1].bytes = 2, "access 1 of 2 bytes has a value of 32 bits"),
        (|s| s.accesses[1].value = ExprId(99), "access 1 refers to expression 99"),
        (|s| s.accesses[0].value = s.accesses[1].value, "access 0 is a read, but its value"),
        (|s| s.accesses[0].address = u64::MAX, "access 0 reaches beyond the end"),
        (
            |s| {
                s.exprs.symbol(SymbolId(3), 8);
            },
            "refers to access 3, but there are 3",
        ),
        (
            |s| {
                s.exprs.symbol(SymbolId(1), 32);
            },
            "access 1, which is not a read",
        ),
        (
            |s| {
                s.exprs.symbol(SymbolId(0), 8);
            },
            "has 8 bits, but its access has 4 bytes",
        ),
        (|s| s.steps.truncate(4), "event 4 is in no step"),
        (
            |s| {
                s.steps.remove(1);
            },
            "step 1 begins at event 2, but 1 is next",
        ),
        (|s| s.steps.swap(0, 2), "step 0 begins at event 2, but 0 is next"),
        (|s| s.steps[4].events = 2, "step 4 ends at event 6, but there are 5"),
        (|s| s.steps[4].events = u32::MAX, "step 4 ends at event 4294967299"),
        (|s| s.steps[0].events = 2, "step 0 of thread 0 has an event of thread 1"),
        (|s| s.steps[0].thread = ThreadId(2), "step 0 refers to thread 2, but there are 2"),
        (|s| s.conditions[0].after = 5, "condition 0 refers to event 5"),
        (|s| s.conditions[0].after = 2, "thread 1 after event 2, which is thread 0's"),
        (|s| s.conditions[0].thread = ThreadId(9), "condition 0 refers to thread 9"),
        (|s| s.conditions[0].holds = ExprId(99), "condition 0 refers to expression 99"),
        (|s| s.conditions[0].holds = ExprId(0), "condition 0 has 32 bits instead of one"),
        (|s| s.initial[0].bytes = 5, "initial value 1 overlaps the one before it"),
        (|s| s.initial.reverse(), "initial value 1 overlaps the one before it, or is out of order"),
        (|s| s.initial[0].bytes = 0, "initial value 0 has 0 bytes"),
        (|s| s.initial[0].value = Some(1 << 32), "initial value 0 does not fit into 4 bytes"),
        (|s| s.initial[1].address = u64::MAX, "initial value 1 reaches beyond"),
        (|s| s.sync[1].at = LocationId(4), "initial sync object 1 refers to location 4"),
        (
            |s| s.sync[2].state = SyncState::Held { by: ThreadId(4), shared: true },
            "initial sync object 2 refers to thread 4",
        ),
        (
            |s| s.bug = Bug::Condition { thread: ThreadId(0), after: 4, fails: ExprId(0) },
            "the bug has 32 bits",
        ),
        (
            |s| s.bug = Bug::Reached { thread: ThreadId(0), after: 3 },
            "the bug is decided by thread 0 after event 3, which is thread 1's",
        ),
        (
            |s| s.bug = request(Wants::Lock { at: LocationId(7), shared: false }),
            "the bug has a request 0 that refers to location 7, but there are 1",
        ),
        (
            |s| s.bug = request(Wants::Wake { at: LocationId(0), mutex: LocationId(7) }),
            "refers to location 7",
        ),
        (|s| s.bug = request(Wants::Join { child: ThreadId(7) }), "refers to thread 7"),
    ];
    for (change, expected) in breaks {
        let mut file = sample();
        change(file.run.symbolic.as_mut().expect("the sample has one"));
        let message = TraceFile::decode(&file.encode()).expect_err("is broken").to_string();
        assert!(message.contains("contradicts itself"), "{message}");
        assert!(message.contains(expected), "'{expected}' is not in: {message}");
    }
}

/// Graphs that cannot be built, only written.
#[test]
fn a_contradiction_between_expressions_is_noticed() {
    let sum = |a, b| Node::Binary(BinaryOp::Add, ExprId(a), ExprId(b));
    let cases: [(Vec<Node>, Vec<u8>, &str); 9] = [
        (vec![Node::Const(1)], vec![], "without a width"),
        (vec![Node::Const(0)], vec![0], "impossible width"),
        (vec![Node::Const(0)], vec![129], "impossible width"),
        (vec![Node::Const(256)], vec![8], "operands do not fit"),
        (vec![sum(0, 0)], vec![8], "contains a later one"),
        (vec![Node::Const(1), sum(0, 7)], vec![8, 8], "contains a later one"),
        (vec![Node::Const(1), sum(0, 0)], vec![8, 9], "operands do not fit"),
        (vec![Node::Const(1), Node::Extract(ExprId(0), 1)], vec![8, 8], "operands do not fit"),
        (vec![Node::Const(1), Node::Const(1)], vec![8, 8], "is there twice"),
    ];
    for (nodes, bits, expected) in cases {
        let bytes = postcard::to_stdvec(&(nodes, bits)).expect("encodes");
        let mut file = sample();
        let exprs = postcard::from_bytes(&bytes).expect("decodes");
        file.run.symbolic = Some(Box::new(Symbolic { exprs, ..symbolic::sample() }));
        let message = TraceFile::decode(&file.encode()).expect_err("is broken").to_string();
        assert!(message.contains(expected), "'{expected}' is not in: {message}");
    }
}

#[test]
fn a_trace_without_a_program_cannot_be_executed() {
    let mut file = sample();
    assert!(file.is_executable());
    file.program.sources.clear();
    assert!(!file.is_executable());
    file.program.built = Some("bank.unravel".into());
    assert!(file.is_executable());
}

/// Sparse files of 100 MB and more: whoever reads them whole, or allocates what they declare,
/// takes visibly long or dies.
#[test]
fn a_huge_garbage_file_fails_fast() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let path = directory.path().join("huge.trace");
    let header = |stored: u64, payload: u64| {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(FormatVersion::CURRENT.0.to_le_bytes());
        bytes.extend(stored.to_le_bytes());
        bytes.extend(payload.to_le_bytes());
        bytes.extend(0u32.to_le_bytes());
        bytes
    };
    let size = 1u64 << 40;
    let body = size - HEADER_BYTES as u64;
    let cases = [
        (vec![], "not an unravel trace file"),
        (header(u64::MAX, 10), "truncated"),
        (header(10, 10), "should end after 42 bytes"),
        (header(body, u64::MAX), "too large"),
    ];
    for (start, expected) in cases {
        fs::write(&path, start).expect("writes");
        let file = fs::OpenOptions::new().write(true).open(&path).expect("opens");
        // Not every file system takes a sparse terabyte.
        if file.set_len(size).is_err() {
            return;
        }
        let begin = std::time::Instant::now();
        let message = TraceFile::read(&path).expect_err("is garbage").to_string();
        assert!(message.contains(expected), "'{expected}' is not in: {message}");
        assert!(begin.elapsed().as_secs() < 5, "took {:?}", begin.elapsed());
    }
    // A small file cannot make us allocate much either.
    let message = TraceFile::decode(&fuzz::seal(&[3, 0], 1 << 29)).expect_err("lies").to_string();
    assert!(message.contains("2 bytes cannot hold 536870912"), "{message}");
}

#[test]
fn a_device_is_written_to_and_not_replaced() {
    sample().write("/dev/null").expect("writes");
    let kind = fs::metadata("/dev/null").expect("is still there");
    assert!(!kind.is_file());
}
