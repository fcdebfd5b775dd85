//! Several writers, and compactions in between.

use unravel_database::Database;

use crate::made_up::{MadeUp, program};
use crate::{empty, expected, read, shown, written};

#[test]
fn writers_do_not_get_into_each_others_way() {
    let directory = empty();
    let open = || Database::open(directory.path(), &program()).expect("it opens");
    let runs: Vec<MadeUp> = (0..20).map(|i| MadeUp::new(&[&[i % 3], &[i % 2, 1]], i)).collect();
    let mut writers = [open(), open()];
    for (i, run) in runs.iter().enumerate() {
        run.add(&mut writers[i % 2]);
    }
    for writer in writers {
        writer.finish().expect("it is written");
    }
    assert_eq!(shown(&read(directory.path())), expected(&runs));
}

#[test]
fn runs_outlive_a_writer_that_never_finished() {
    let directory = empty();
    let run = MadeUp::new(&[&[1], &[0]], 0);
    let mut writer = Database::open(directory.path(), &program()).expect("it opens");
    run.add(&mut writer);
    drop(writer);
    assert_eq!(shown(&read(directory.path())), expected(&[run]));
}

#[test]
fn compacting_leaves_living_writers_alone() {
    let directory = empty();
    let runs = [1, 2, 3, 4].map(|way| MadeUp::new(&[&[way], &[0]], way));
    written(directory.path(), &runs[..1]);
    written(directory.path(), &runs[1..2]);
    let mut living = Database::open(directory.path(), &program()).expect("it opens");
    runs[2].add(&mut living);
    let mut other = Database::open(directory.path(), &program()).expect("it opens");
    let compacted = other.compact().expect("it is compacted");
    assert_eq!((compacted.segments, compacted.live), (2, 1));
    runs[3].add(&mut living);
    living.finish().expect("its segment is still there");
    assert_eq!(shown(&read(directory.path())), expected(&runs));
    let compacted = other.compact().expect("it is compacted");
    assert_eq!((compacted.segments, compacted.live), (2, 0));
    assert_eq!(shown(&read(directory.path())), expected(&runs));
}

#[test]
fn beginnings_of_dead_writers_are_cleared_away() {
    let directory = empty();
    written(directory.path(), &[MadeUp::new(&[&[1]], 0)]);
    let left = directory.path().join("segments/0123.tmp");
    std::fs::write(&left, "half of a").expect("it is written");
    let mut database = Database::open(directory.path(), &program()).expect("it opens");
    assert_eq!(database.runs().len(), 1);
    database.compact().expect("it is compacted");
    assert!(!left.exists());
}

/// A segment that a reader has listed may vanish before it is read. Whatever the timing, nothing is ever missing.
#[test]
fn readers_see_everything_while_it_is_compacted() {
    let directory = empty();
    let runs: Vec<MadeUp> = (0..12).map(|i| MadeUp::new(&[&[i], &[0]], i)).collect();
    for run in &runs {
        written(directory.path(), std::slice::from_ref(run));
    }
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                let mut database = Database::open(directory.path(), &program()).expect("it opens");
                for _ in 0..10 {
                    database.compact().expect("it is compacted");
                }
            });
        }
        for _ in 0..30 {
            assert_eq!(shown(&read(directory.path())), expected(&runs));
        }
    });
    assert_eq!(shown(&read(directory.path())), expected(&runs));
}
