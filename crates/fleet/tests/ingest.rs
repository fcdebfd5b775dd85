//! Files of instances: each log is taken once, and what is none is set aside with the reason, without changing anything else.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use unravel_coop::{
    Coverage, Draw, Element, ElementId, ElementKind, Ending, FailureSite, Heuristic, Log, LogId,
    Metric, Mode, Profile, Ranked, Surveyed, Who,
};
use unravel_fleet::{Aside, Store, ingest, read, write};
use unravel_trace::{FailureKind, Rng, VisibleSet};

fn profile() -> Profile {
    let element = |id: u64| Element {
        id: ElementId(id),
        name: format!("e{id}"),
        kind: ElementKind::Data,
        accesses: id,
        shared: true,
    };
    let table: Vec<Element> = (1..=6).map(element).collect();
    let surveyed = Surveyed {
        seen: table.clone(),
        table,
        sites: Vec::new(),
        touching: Vec::new(),
        visible: VisibleSet::default(),
        runs: 1,
    };
    let what = (Coverage::Percent(50), Draw::Uniform);
    Profile::new(7, Mode::Orders, &surveyed, what, 4, 1)
}

fn log(profile: &Profile, number: u64) -> Log {
    let mut rng = Rng::new(number);
    let ending = match rng.below(3) {
        0 => Ending::Passed,
        _ => Ending::Failed(FailureSite { kind: FailureKind::Assertion, places: 99 }),
    };
    let vector = |rng: &mut Rng| {
        let length = rng.below(5);
        (0..length).map(|_| Who(u64::from(rng.below(3)))).collect()
    };
    let chosen = profile.chosen((number % 4) as usize);
    let vectors = chosen.into_iter().map(|element| (element, vector(&mut rng))).collect();
    Log { id: LogId::drawn(3, 0, number), build: profile.build(), ending, vectors }
}

fn bytes(log: &Log) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(log, &mut bytes).expect("a log is written");
    bytes
}

fn ranking(store: &Store, profile: &Profile) -> Vec<Ranked> {
    let collection = store.collection(profile).expect("the store is read").collection;
    let (failure, _) = collection.failures()[0];
    collection.group(failure).ranked(Heuristic::Sgm, Metric::Dhs)
}

#[test]
fn what_is_written_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let profile = profile();
    for number in 0..200 {
        let log = log(&profile, number);
        let path = Store::write(folder.path(), &log).expect("it is written");
        assert_eq!(read(fs::File::open(&path).expect("it is there")).expect("a log"), log);
        assert_eq!(fs::metadata(&path).expect("it is there").mode() & 0o777, 0o600);
    }
}

/// Nothing of the program but ids: neither names of its variables nor of its files are in a file.
#[test]
fn a_file_has_ids_only() {
    let profile = profile();
    let bytes = bytes(&log(&profile, 1));
    let text = String::from_utf8_lossy(&bytes);
    assert!(profile.elements.iter().all(|element| !text.contains(&format!("\"{}", element.name))));
    for word in ["e1", "e2", ".c:", "main"] {
        assert!(!text.contains(word), "{word}");
    }
}

#[test]
fn bad_files_change_nothing_and_each_is_accounted_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let (good, bad) = (folder.path().join("good"), folder.path().join("bad"));
    fs::create_dir_all(&bad).expect("a folder");
    let profile = profile();
    for number in 0..300 {
        Store::write(&good, &log(&profile, number)).expect("it is written");
    }
    let clean = Store::open(&folder.path().join("clean")).expect("a store");
    let ingested = ingest(&clean, &profile, std::slice::from_ref(&good)).expect("it is ingested");
    assert_eq!((ingested.taken, ingested.aside.len()), (300, 0));

    let put = |name: &str, bytes: &[u8]| fs::write(bad.join(name), bytes).expect("it is written");
    let one = bytes(&log(&profile, 1000));
    put("truncated", &one[..one.len() - 9]);
    put("empty", b"");
    put("text", b"hello, this is no log");
    put("duplicate", &bytes(&log(&profile, 5)));
    put("foreign", &bytes(&Log { build: 8, ..log(&profile, 1001) }));
    let mut unknown = log(&profile, 1002);
    unknown.vectors.push((ElementId(77), vec![Who(1)]));
    put("unknown-element", &bytes(&unknown));
    let mut backwards = log(&profile, 1003);
    backwards.vectors.reverse();
    put("backwards", &bytes(&backwards));
    fs::File::create(bad.join("huge")).and_then(|file| file.set_len(1 << 40)).expect("sparse");
    symlink("/etc/passwd", bad.join("link")).expect("a link");
    fs::create_dir(bad.join("folder")).expect("a folder");
    let both = Store::open(&folder.path().join("both")).expect("a store");
    let ingested = ingest(&both, &profile, &[good.clone(), bad.clone()]).expect("it is ingested");
    let counted = |why: Aside| ingested.aside.get(&why).copied().unwrap_or(0);
    assert_eq!(ingested.taken, 300);
    assert_eq!(counted(Aside::Truncated), 2, "{ingested:?}");
    assert_eq!(counted(Aside::NotParquet), 1, "{ingested:?}");
    assert_eq!(counted(Aside::Duplicate), 1, "{ingested:?}");
    assert_eq!(counted(Aside::ForeignBuild), 1, "{ingested:?}");
    assert_eq!(counted(Aside::Hostile), 2, "{ingested:?}");
    assert_eq!(counted(Aside::TooLarge), 1, "{ingested:?}");
    assert_eq!(counted(Aside::NotAFile), 2, "{ingested:?}");
    assert_eq!(ranking(&clean, &profile), ranking(&both, &profile));

    let again = ingest(&both, &profile, &[good, bad]).expect("it is ingested again");
    assert_eq!((again.taken, again.known, again.aside.len()), (0, 310, 0), "{again:?}");
}

/// Whatever is flipped, cut or put in, the reader says what it is, and nothing else happens.
#[test]
fn damaged_files_are_refused_or_are_logs() {
    let folder = tempfile::tempdir().expect("a folder");
    let inbox = folder.path().join("inbox");
    fs::create_dir(&inbox).expect("a folder");
    let profile = profile();
    let whole = bytes(&log(&profile, 4));
    let mut rng = Rng::new(5);
    let count: u32 =
        std::env::var("UNRAVEL_FUZZ_ITERS").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    for number in 0..count {
        let mut bytes = whole.clone();
        for _ in 0..1 + rng.below(4) {
            let at = rng.below(bytes.len() as u32) as usize;
            match rng.below(3) {
                0 => bytes[at] = rng.word() as u8,
                1 => bytes[at] ^= 1 << rng.below(8),
                _ => drop(bytes.remove(at)),
            }
        }
        fs::write(inbox.join(number.to_string()), bytes).expect("it is written");
    }
    let store = Store::open(&folder.path().join("store")).expect("a store");
    let ingested = ingest(&store, &profile, &[inbox]).expect("it is ingested");
    let aside: u64 = ingested.aside.values().sum();
    assert_eq!(ingested.taken + aside, u64::from(count), "{ingested:?}");
    assert!(aside > u64::from(count) / 2, "{ingested:?}");
    store.collection(&profile).expect("what was taken can be read");
    assert_eq!(aside_files(&store), aside);
}

/// A store that was used for another build before has logs of it.
#[test]
fn logs_of_other_builds_in_a_store_are_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, profile) = (Store::open(&folder.path().join("store")).expect("a store"), profile());
    let element = ElementId(1234);
    for number in 0..6 {
        let own = log(&profile, number);
        let foreign =
            Log { build: own.build + 1, vectors: vec![(element, vec![Who(1)])], ..own.clone() };
        let one = if number % 2 == 0 { own } else { foreign };
        Store::write(&store.logs(), &one).expect("it is written");
    }
    let collected = store.collection(&profile).expect("the store is read");
    assert_eq!((collected.collection.len(), collected.foreign), (3, 3));
}

/// A small file may hold millions of accesses, or of threads: whoever sends many of them takes neither memory nor its place from anybody.
#[test]
fn files_that_say_too_much_do_not_stop_the_analysis() {
    let folder = tempfile::tempdir().expect("a folder");
    let profile = profile();
    let good = folder.path().join("good");
    for number in 0..50 {
        Store::write(&good, &log(&profile, number)).expect("it is written");
    }
    let clean = Store::open(&folder.path().join("clean")).expect("a store");
    ingest(&clean, &profile, std::slice::from_ref(&good)).expect("it is ingested");

    let bad = folder.path().join("bad");
    let failed =
        (0..50).map(|number| log(&profile, number)).find(|log| log.ending != Ending::Passed);
    let failed = failed.expect("some failed");
    let put = |number: u64, vector: Vec<Who>| {
        let id = LogId::given(&[b"made up", &number.to_le_bytes()]);
        let vectors = vec![(profile.elements[0].id, vector)];
        let path =
            Store::write(&bad, &Log { id, vectors, ..failed.clone() }).expect("it is written");
        fs::metadata(path).expect("it is there").len()
    };
    let size = (0..40).map(|number| put(number, vec![Who(number % 3); 1 << 20])).max();
    assert!(size.is_some_and(|size| size < 20_000), "a million accesses in {size:?} bytes");
    put(40, (0..70_000).map(Who).collect());
    for number in 41..60 {
        put(number, (0..8_000).map(|at| Who(number << 32 | at)).collect());
    }
    let both = Store::open(&folder.path().join("both")).expect("a store");
    let ingested = ingest(&both, &profile, &[good, bad]).expect("it is ingested");
    assert_eq!(ingested.aside.get(&Aside::TooLarge), Some(&1), "the one with 70,000 threads");
    let collected = both.collection_within(&profile, 32 << 20).expect("the store is read");
    // Nine of those with a million accesses, because of the others there are some, too; eight times 8,000 threads fit.
    assert_eq!(collected.left_out.len(), 9 + 11, "{:?}", collected.left_out);
    let ids: Vec<LogId> =
        (0..collected.collection.len()).map(|at| collected.collection.id(at)).collect();
    let clean = clean.collection(&profile).expect("the store is read").collection;
    assert!(
        (0..clean.len()).all(|at| ids.contains(&clean.id(at))),
        "none of the others is missing"
    );
}

fn aside_files(store: &Store) -> u64 {
    let count = |path: &Path| fs::read_dir(path).expect("a folder").count() as u64;
    let reasons = fs::read_dir(store.folder().join("aside")).expect("a folder");
    reasons.map(|reason| count(&reason.expect("an entry").path())).sum()
}
