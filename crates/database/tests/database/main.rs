//! Databases as their users see them: what was added is found, on disk and in memory, whatever happens in between.

mod damage;
mod made_up;
mod writers;

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use unravel_database::{Database, DatabaseError, TraceId, path_text};
use unravel_files::ProgramRef;
use unravel_trace::{SiteId, ThreadId, ThreadName, VisibleSet};

use made_up::{MadeUp, part, program, visible};

/// Threads' paths, argument and visible sites tell runs apart; how often each was seen.
type Shown = BTreeMap<(Vec<Vec<u32>>, Vec<String>, Vec<SiteId>), u64>;

fn sites(visible: &VisibleSet) -> Vec<SiteId> {
    visible.iter().collect()
}

fn shown(database: &Database) -> Shown {
    let runs = database.runs().iter().map(|run| {
        let path = |id: &TraceId| database.trace(*id).expect("its trace is there").path.clone();
        let paths = run.threads.iter().map(path).collect();
        ((paths, run.input.args.clone(), sites(&run.schedule.visible)), run.count)
    });
    let all: Vec<_> = runs.collect();
    let distinct: Shown = all.iter().cloned().collect();
    assert_eq!(distinct.len(), all.len(), "each combination stands there once");
    distinct
}

/// The same, counted by hand.
fn expected(runs: &[MadeUp]) -> Shown {
    let mut all = Shown::new();
    for run in runs {
        let key = (run.paths.clone(), run.input().args, sites(&visible(run.set)));
        *all.entry(key).or_default() += 1;
    }
    all
}

fn written(directory: &Path, runs: &[MadeUp]) {
    let mut database = Database::open(directory, &program()).expect("it opens");
    for run in runs {
        run.add(&mut database);
    }
    database.finish().expect("it is written");
}

fn read(directory: &Path) -> Database {
    Database::read(directory).expect("it can be read")
}

fn empty() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

fn a_run() -> impl Strategy<Value = MadeUp> {
    let path = prop::collection::vec(0..2u32, 0..4);
    let paths = prop::collection::vec(path, 1..4);
    (paths, 0..2u32, 0..2u32, 0..4u32).prop_map(|(paths, argument, set, seed)| MadeUp {
        paths,
        argument,
        set,
        seed,
    })
}

fn some_runs() -> impl Strategy<Value = Vec<MadeUp>> {
    prop::collection::vec(a_run(), 0..12)
}

#[test]
fn nothing_is_stored_twice() {
    let mut database = Database::in_memory(program());
    let first = MadeUp::new(&[&[1, 0], &[1]], 7).add(&mut database);
    assert_eq!((first.new_run, first.new_traces), (true, 2));
    let again = MadeUp::new(&[&[1, 0], &[1]], 8).add(&mut database);
    assert_eq!((again.run, again.new_run, again.new_traces), (first.run, false, 0));
    let run = &database.runs()[again.run];
    assert_eq!((run.count, run.from.as_str()), (2, "seed 7"));
    assert_eq!(run.turns, MadeUp::new(&[&[1, 0], &[1]], 7).turns());
    let traces: Vec<_> = run.threads.iter().map(|id| database.trace(*id)).collect();
    assert_eq!(traces, [Some(&part(0, &[1, 0])), Some(&part(1, &[1]))]);
    let other = MadeUp::new(&[&[1, 0], &[0]], 9).add(&mut database);
    assert_eq!((other.new_run, other.new_traces), (true, 1));
    assert_eq!(database.runs().len(), 2);
}

#[test]
fn traces_are_found_by_the_beginning_of_their_path() {
    let mut database = Database::in_memory(program());
    for path in [&[1, 0, 1][..], &[1, 0], &[0], &[1, 0, 0]] {
        MadeUp::new(&[&[], path], 0).add(&mut database);
    }
    MadeUp { set: 2, ..MadeUp::new(&[&[], &[1, 0]], 0) }.add(&mut database);
    let found = |prefix: &[u32], set| -> Vec<String> {
        let ids = database.with_prefix(&ThreadName::main().child(1), prefix, &visible(set));
        ids.iter().map(|id| path_text(&database.trace(*id).expect("it is there").path)).collect()
    };
    assert_eq!(found(&[1], 1), ["10", "100", "101"]);
    assert_eq!(found(&[1], 2), ["10"], "what was recorded with another set does not count");
    assert_eq!(found(&[1, 1], 1), [""; 0]);
    assert_eq!(found(&[], 3), [""; 0], "nothing was recorded with this set");
    let mut roomy = visible(1);
    roomy.insert(SiteId(5000));
    let mut far = VisibleSet::default();
    far.insert(SiteId(5000));
    let roomy = roomy.without(&far);
    assert_ne!(roomy, visible(1));
    let ids = database.with_prefix(&ThreadName::main(), &[], &roomy);
    assert_eq!(ids.len(), 1, "the same sites are the same set, however they are kept");
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let mut database = Database::in_memory(program());
    let run = MadeUp::new(&[&[1]], 0);
    let mut add =
        |parts, turns| database.add(parts, turns, Default::default(), run.input(), "a test".into());
    let mut wrong = part(0, &[1]);
    wrong.symbolic.steps[0].first = 7;
    assert!(matches!(add(vec![wrong], vec![]), Err(DatabaseError::Inconsistent(_))));
    let mut wrong = part(0, &[1]);
    wrong.thread = ThreadId(1);
    assert!(matches!(add(vec![wrong], vec![]), Err(DatabaseError::Inconsistent(_))));
    let mut wrong = part(0, &[1]);
    wrong.unscheduled = vec![2];
    assert!(matches!(add(vec![wrong], vec![]), Err(DatabaseError::Inconsistent(_))));
    let twice = vec![part(0, &[1]), part(0, &[])];
    assert!(matches!(add(twice, vec![]), Err(DatabaseError::TwiceTheThread(_))));
    let turns = vec![ThreadId(2)];
    assert!(matches!(add(vec![part(0, &[1])], turns), Err(DatabaseError::Turns { .. })));
    let turns = vec![ThreadId(0); 3];
    assert!(matches!(add(vec![part(0, &[1])], turns), Err(DatabaseError::Turns { .. })));
    assert!(add(vec![part(0, &[1])], vec![ThreadId(0); 2]).is_ok());
}

#[test]
fn another_program_is_refused() {
    let directory = empty();
    written(directory.path(), &[MadeUp::new(&[&[1]], 0)]);
    let changed = ProgramRef { fingerprint: 0x4321, ..program() };
    let error = Database::open(directory.path(), &changed).expect_err("it has changed");
    let said = error.to_string();
    assert!(said.contains("of another program") && said.contains("0000000000001234"), "{said}");
    let other = empty();
    let mut other = Database::open(other.path(), &changed).expect("it is new");
    assert!(matches!(other.merge(directory.path()), Err(DatabaseError::OtherProgram { .. })));
}

#[test]
fn what_is_no_database_is_refused() {
    let directory = empty();
    let there = |name: &str| directory.path().join(name);
    assert!(matches!(Database::read(&there("no")), Err(DatabaseError::NotFound { .. })));
    std::fs::write(there("thesis.txt"), "…").expect("a file is written");
    let opened = Database::open(directory.path(), &program());
    assert!(matches!(opened, Err(DatabaseError::NotEmpty { .. })));
    let opened = Database::read(directory.path());
    assert!(matches!(opened, Err(DatabaseError::NotADatabase { .. })));
    let database = Database::open(&there("db"), &program()).expect("it is made");
    database.finish().expect("nothing is written");
    let mut database = read(&there("db"));
    let parts = vec![part(0, &[])];
    let added = database.add(parts, vec![], Default::default(), Default::default(), String::new());
    assert!(matches!(added, Err(DatabaseError::ReadOnly { .. })));
}

#[test]
fn other_versions_are_refused_with_advice() {
    let directory = empty();
    written(directory.path(), &[]);
    let file = directory.path().join("format");
    let bytes = std::fs::read(&file).expect("it is there");
    for (version, advice) in [(5, "update unravel"), (3, "record the runs again")] {
        let mut other = bytes.clone();
        other[8] = version;
        std::fs::write(&file, other).expect("it is written");
        let said = Database::read(directory.path()).expect_err("another version").to_string();
        assert!(said.contains(advice), "{said}");
    }
    for length in 0..bytes.len() {
        std::fs::write(&file, &bytes[..length]).expect("it is written");
        assert!(Database::read(directory.path()).is_err(), "cut after {length} bytes");
    }
}

#[test]
fn the_format_is_pinned() {
    let mut database = Database::in_memory(program());
    let added = MadeUp::new(&[&[1, 0]], 7).add(&mut database);
    let id = database.runs()[added.run].threads[0];
    let directory = empty();
    written(directory.path(), &[MadeUp::new(&[&[1, 0]], 7)]);
    let lengths: Vec<usize> =
        damage::payloads(directory.path()).iter().map(|payload| payload.len()).collect();
    let format = std::fs::read(directory.path().join("format")).expect("it is there").len();
    assert_eq!(
        (id.to_string().as_str(), &lengths[..], format),
        ("976a6a680930b48be2ea2d491fe2344c", &[147usize, 80][..], 49),
        "a stored type has changed: raise VERSION in crates/database/src/directory.rs, then pin it here"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_was_added_is_there(parts in prop::collection::vec(some_runs(), 1..4)) {
        let directory = empty();
        let mut memory = Database::in_memory(program());
        for runs in &parts {
            written(directory.path(), runs);
            for run in runs {
                run.add(&mut memory);
            }
        }
        let all = parts.concat();
        let mut disk = read(directory.path());
        prop_assert_eq!(shown(&disk), expected(&all));
        prop_assert_eq!(shown(&memory), expected(&all));
        let order = |database: &Database| -> Vec<Vec<TraceId>> {
            database.runs().iter().map(|run| run.threads.clone()).collect()
        };
        prop_assert_eq!(order(&disk), order(&memory), "the order is that of the content");
        let stats = disk.stats();
        prop_assert_eq!(stats.seen, all.len() as u64);
        prop_assert!(!stats.damage.any());
        // Compacting changes nothing that anybody sees.
        let before = disk.runs().to_vec();
        let mut database = Database::open(directory.path(), &program()).expect("it opens");
        database.compact().expect("it is compacted");
        prop_assert_eq!(database.runs(), &before[..]);
        disk = read(directory.path());
        prop_assert_eq!(disk.runs(), &before[..]);
        prop_assert!(disk.stats().segments <= 1);
    }

    #[test]
    fn merging_is_the_same_both_ways_and_twice(a in some_runs(), b in some_runs()) {
        let directory = empty();
        let [own, their, ab, ba] =
            ["own", "their", "ab", "ba"].map(|name| directory.path().join(name));
        written(&own, &a);
        written(&their, &b);
        let merge = |into: &Path, from: &Path| {
            let mut database = Database::open(into, &program()).expect("it opens");
            let merged = database.merge(from).expect("it is merged");
            database.finish().expect("it is written");
            merged
        };
        merge(&ab, &own);
        merge(&ab, &their);
        merge(&ba, &their);
        merge(&ba, &own);
        let all = [a.clone(), b.clone()].concat();
        prop_assert_eq!(shown(&read(&ab)), expected(&all));
        let before = read(&ab).runs().to_vec();
        prop_assert_eq!(&before, &read(&ba).runs().to_vec());
        let again = merge(&ab, &their);
        prop_assert_eq!((again.runs, again.traces, again.seen), (0, 0, 0));
        prop_assert_eq!(read(&ab).runs().to_vec(), before);
        let segments = read(&ab).stats().segments;
        prop_assert!(segments <= 2, "{} segments", segments);
    }
}
