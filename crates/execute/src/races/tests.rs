//! The detector on scripted events.

use unravel_trace::{Executed, Observer, Op, Operand, Pending, SiteId, ThreadId};

use super::{Collector, Detector, Race};

const X: u64 = 0x1000;
const LOCK: u64 = 0x2000;
const OTHER: u64 = 0x3000;

/// A run that is written down event by event. Thread 0 is there at first.
#[derive(Default)]
struct Script {
    detector: Detector,
    number: u64,
}

impl Script {
    /// Thread 0 has created threads 1 and 2.
    fn begin() -> Script {
        let mut script = Script::default();
        script.quiet(0, thread(Op::Fork, 1));
        script.quiet(0, thread(Op::Fork, 2));
        script
    }

    fn step(&mut self, by: u32, what: Pending) -> Option<Race> {
        self.number += 1;
        self.inside(by, what)
    }

    /// In the atomic section that the last step began.
    fn inside(&mut self, by: u32, what: Pending) -> Option<Race> {
        let thread = ThreadId(by);
        self.detector.first_race(&Executed {
            number: self.number,
            thread,
            what,
            repeats: false,
            names: &[],
        })
    }

    fn quiet(&mut self, by: u32, what: Pending) {
        assert_eq!(self.step(by, what), None, "event {} of thread {by}", self.number);
    }

    /// The thread of the access that this one races with.
    fn races(&mut self, by: u32, what: Pending) -> u32 {
        let race = self.step(by, what).expect("it races");
        assert!(race.earlier < self.number);
        race.thread.0
    }
}

fn event(op: Op, address: u64, bytes: u32) -> Pending {
    Pending {
        op,
        address,
        bytes,
        site: SiteId(op as u32),
        caller: None,
        operand: Operand::None,
        atomic: false,
    }
}

fn read() -> Pending {
    event(Op::Read, X, 4)
}

fn write() -> Pending {
    event(Op::Write, X, 4)
}

fn atomic(op: Op, address: u64) -> Pending {
    Pending { atomic: true, ..event(op, address, 4) }
}

fn sync(op: Op) -> Pending {
    event(op, LOCK, 40)
}

fn with(op: Op, address: u64, operand: Operand) -> Pending {
    Pending { operand, ..event(op, address, 48) }
}

fn thread(op: Op, other: u32) -> Pending {
    with(op, 0, Operand::Thread(ThreadId(other)))
}

#[test]
fn a_write_races_with_reads_and_writes_of_others_in_both_directions() {
    for (first, second) in [(write(), write()), (write(), read()), (read(), write())] {
        let mut run = Script::begin();
        run.quiet(1, first);
        let race = run.step(2, second).expect("nothing orders them");
        assert_eq!((race.earlier, race.thread), (3, ThreadId(1)));
        assert_eq!((race.what.op, race.what.site), (first.op, first.site));
    }
}

#[test]
fn reads_do_not_race_and_a_thread_not_with_itself() {
    let mut run = Script::begin();
    run.quiet(1, read());
    run.quiet(2, read());
    let mut run = Script::begin();
    run.quiet(1, write());
    run.quiet(1, write());
}

#[test]
fn a_write_races_with_each_of_several_unordered_readers() {
    let mut run = Script::begin();
    run.quiet(1, read());
    run.quiet(2, read());
    // The second reader hands on to thread 0, the first does not.
    run.quiet(2, sync(Op::Release));
    run.quiet(0, sync(Op::Acquire));
    assert_eq!(run.races(0, write()), 1);
}

#[test]
fn after_ordered_readers_only_the_last_counts() {
    let mut run = Script::begin();
    run.quiet(1, read());
    run.quiet(1, sync(Op::Release));
    run.quiet(2, sync(Op::Acquire));
    run.quiet(2, read());
    run.quiet(2, sync(Op::Release));
    run.quiet(0, sync(Op::Acquire));
    run.quiet(0, write());
    assert_eq!(run.races(1, read()), 0);
}

#[test]
fn bytes_are_told_apart() {
    let mut run = Script::begin();
    run.quiet(1, event(Op::Write, X, 1));
    run.quiet(2, event(Op::Write, X + 1, 1));
    run.quiet(1, event(Op::Write, X + 4, 4));
    run.quiet(2, event(Op::Write, X + 8, 8));
    assert_eq!(run.races(0, event(Op::Read, X + 7, 2)), 1);
}

#[test]
fn a_range_races_wherever_it_overlaps() {
    let mut run = Script::begin();
    run.quiet(1, event(Op::Write, X, 100));
    assert_eq!(run.races(2, event(Op::Read, X + 99, 1)), 1);
    let mut run = Script::begin();
    run.quiet(1, event(Op::Write, X + 40, 4));
    assert_eq!(run.races(2, event(Op::Read, X, 100)), 1);
}

#[test]
fn creating_and_joining_a_thread_orders() {
    let mut run = Script::default();
    run.quiet(0, write());
    run.quiet(0, thread(Op::Fork, 1));
    run.quiet(0, thread(Op::Fork, 2));
    run.quiet(1, thread(Op::Start, 1));
    run.quiet(1, write());
    run.quiet(1, thread(Op::Exit, 1));
    run.quiet(0, thread(Op::Join, 1));
    run.quiet(0, write());
}

#[test]
fn what_the_creator_does_later_is_not_ordered() {
    let mut run = Script::begin();
    run.quiet(0, write());
    assert_eq!(run.races(1, read()), 0);
}

#[test]
fn a_join_that_ran_out_of_time_orders_nothing() {
    let mut run = Script::begin();
    run.quiet(1, write());
    run.quiet(0, thread(Op::Join, 1));
    assert_eq!(run.races(0, read()), 1);
}

#[test]
fn a_lock_orders_its_sections_and_nothing_else() {
    let mut run = Script::begin();
    run.quiet(1, sync(Op::Acquire));
    run.quiet(1, write());
    run.quiet(1, sync(Op::Release));
    run.quiet(1, event(Op::Write, OTHER, 4));
    run.quiet(2, sync(Op::Acquire));
    run.quiet(2, write());
    assert_eq!(run.races(2, event(Op::Read, OTHER, 4)), 1);
}

#[test]
fn different_locks_do_not_order() {
    let mut run = Script::begin();
    run.quiet(1, sync(Op::Acquire));
    run.quiet(1, write());
    run.quiet(1, sync(Op::Release));
    run.quiet(2, event(Op::Acquire, OTHER, 40));
    assert_eq!(run.races(2, write()), 1);
}

#[test]
fn readers_of_a_rwlock_are_ordered_with_writers_only() {
    let mut run = Script::begin();
    run.quiet(1, sync(Op::AcquireShared));
    run.quiet(1, write());
    run.quiet(1, sync(Op::Release));
    run.quiet(0, sync(Op::Acquire));
    run.quiet(0, write());
    run.quiet(0, sync(Op::Release));
    run.quiet(1, sync(Op::AcquireShared));
    run.quiet(1, write());
    run.quiet(1, sync(Op::Release));
    run.quiet(2, sync(Op::AcquireShared));
    assert_eq!(run.races(2, write()), 1);
}

#[test]
fn an_attempt_to_write_while_others_read_orders_nothing() {
    let mut run = Script::begin();
    run.quiet(1, sync(Op::AcquireShared));
    run.quiet(0, sync(Op::AcquireShared));
    run.quiet(1, write());
    run.quiet(1, sync(Op::Release));
    run.quiet(2, sync(Op::Acquire));
    assert_eq!(run.races(2, write()), 1);
}

#[test]
fn an_attempt_to_read_while_another_writes_orders_nothing() {
    let mut run = Script::begin();
    run.quiet(1, sync(Op::Acquire));
    run.quiet(1, write());
    run.quiet(2, sync(Op::AcquireShared));
    // Had it been counted as a reader, this would hand on to writers alone.
    run.quiet(1, sync(Op::Release));
    run.quiet(2, sync(Op::Acquire));
    run.quiet(2, write());
    run.quiet(2, sync(Op::Release));
    run.quiet(0, sync(Op::AcquireShared));
    run.quiet(0, read());
}

#[test]
fn a_condition_wait_gives_its_mutex_up_and_takes_it_again() {
    let mut run = Script::begin();
    run.quiet(1, sync(Op::Acquire));
    run.quiet(1, write());
    run.quiet(1, with(Op::Wait, OTHER, Operand::Mutex(LOCK)));
    run.quiet(2, sync(Op::Acquire));
    run.quiet(2, write());
    run.quiet(2, sync(Op::Release));
    run.quiet(1, with(Op::Acquire, OTHER, Operand::Mutex(LOCK)));
    run.quiet(1, read());
}

#[test]
fn a_signal_orders_with_who_waited_then() {
    let mut run = Script::begin();
    run.quiet(2, write());
    run.quiet(1, with(Op::Wait, OTHER, Operand::Mutex(LOCK)));
    run.quiet(2, event(Op::Signal, OTHER, 48));
    run.quiet(1, with(Op::Acquire, OTHER, Operand::Mutex(LOCK)));
    run.quiet(1, read());

    let mut run = Script::begin();
    run.quiet(2, write());
    run.quiet(2, event(Op::Signal, OTHER, 48));
    run.quiet(1, with(Op::Wait, OTHER, Operand::Mutex(LOCK)));
    run.quiet(1, with(Op::Acquire, OTHER, Operand::Mutex(LOCK)));
    assert_eq!(run.races(1, read()), 2);
}

#[test]
fn a_post_orders_with_later_waits() {
    let mut run = Script::begin();
    run.quiet(1, write());
    run.quiet(1, sync(Op::Release));
    run.quiet(2, sync(Op::Acquire));
    run.quiet(2, write());
    run.quiet(2, sync(Op::Release));
    run.quiet(0, sync(Op::Acquire));
    run.quiet(0, read());
}

#[test]
fn a_barrier_orders_phases_and_a_quick_thread_not_with_the_slow() {
    let arrive = || event(Op::Wait, LOCK, 32);
    let leave = || event(Op::Acquire, LOCK, 32);
    let mut run = Script::begin();
    run.quiet(0, with(Op::Release, LOCK, Operand::Parties(2)));
    run.quiet(1, write());
    run.quiet(1, arrive());
    run.quiet(2, arrive());
    run.quiet(1, leave());
    // Thread 1 is in the second phase and arrives again before thread 2 has left the first.
    run.quiet(1, event(Op::Write, OTHER, 4));
    run.quiet(1, arrive());
    run.quiet(2, leave());
    run.quiet(2, read());
    assert_eq!(run.races(2, event(Op::Read, OTHER, 4)), 1);
    run.quiet(2, arrive());
    run.quiet(2, leave());
    run.quiet(1, leave());
    run.quiet(1, write());
}

#[test]
fn an_atomic_store_publishes_to_who_loads_it() {
    let mut run = Script::begin();
    run.quiet(1, write());
    run.quiet(1, atomic(Op::Write, OTHER));
    run.quiet(2, atomic(Op::Read, OTHER));
    run.quiet(2, read());
}

#[test]
fn that_a_load_came_first_orders_nothing() {
    let mut run = Script::begin();
    run.quiet(1, write());
    run.quiet(1, atomic(Op::Read, OTHER));
    run.quiet(2, atomic(Op::Write, OTHER));
    assert_eq!(run.races(2, read()), 1);
}

#[test]
fn updates_pass_on_what_others_released() {
    let mut run = Script::begin();
    run.quiet(1, write());
    run.quiet(1, atomic(Op::Update, OTHER));
    run.quiet(2, atomic(Op::Update, OTHER));
    run.quiet(2, event(Op::Free, X, 16));
}

#[test]
fn atomic_operations_race_with_plain_accesses_only() {
    let mut run = Script::begin();
    run.quiet(1, atomic(Op::Write, X));
    run.quiet(2, atomic(Op::Write, X));
    run.quiet(1, atomic(Op::Read, X));
    assert_eq!(run.races(0, read()), 1);
    let mut run = Script::begin();
    run.quiet(1, write());
    assert_eq!(run.races(2, atomic(Op::Write, X)), 1);
}

#[test]
fn an_initialiser_is_seen_by_who_finds_it_done() {
    let mut run = Script::begin();
    run.quiet(1, sync(Op::Acquire));
    run.quiet(1, write());
    run.quiet(1, sync(Op::Release));
    run.quiet(2, sync(Op::Acquire));
    run.quiet(2, read());
    // The guard of a static variable is looked at atomically first.
    let guard = Pending { atomic: true, ..event(Op::Read, LOCK, 1) };
    run.quiet(0, guard);
    run.quiet(0, read());
}

#[test]
fn the_wake_of_a_futex_orders() {
    let mut run = Script::begin();
    run.quiet(1, write());
    run.quiet(1, event(Op::Signal, OTHER, 4));
    run.quiet(2, event(Op::Acquire, OTHER, 4));
    run.quiet(2, read());
}

#[test]
fn cancellation_orders_with_what_the_cancelled_does_then() {
    let mut run = Script::begin();
    run.quiet(0, write());
    run.quiet(0, thread(Op::Cancel, 1));
    run.quiet(1, write());
    assert_eq!(run.races(2, write()), 1);
}

#[test]
fn atomic_sections_are_ordered_with_each_other() {
    let section = || event(Op::Fence, 0, 0);
    let mut run = Script::begin();
    run.quiet(1, section());
    assert_eq!(run.inside(1, write()), None);
    run.quiet(2, section());
    assert_eq!(run.inside(2, write()), None);
    assert_eq!(run.races(0, read()), 2);
}

#[test]
fn a_plain_access_races_with_a_section_also_after_it() {
    let mut run = Script::begin();
    run.quiet(1, write());
    run.quiet(2, event(Op::Fence, 0, 0));
    let race = run.inside(2, read()).expect("it races");
    assert_eq!(race.thread, ThreadId(1));
}

#[test]
fn fences_alone_order_nothing() {
    let mut run = Script::begin();
    run.quiet(1, write());
    run.quiet(1, event(Op::Fence, 0, 0));
    run.quiet(2, event(Op::Fence, 0, 0));
    assert_eq!(run.races(2, read()), 1);
}

#[test]
fn freeing_races_with_earlier_accesses_and_ends_what_was_there() {
    let free = event(Op::Free, X, 64);
    let mut run = Script::begin();
    run.quiet(1, event(Op::Read, X + 32, 8));
    assert_eq!(run.races(2, free), 1);
    // The memory is another object's now.
    run.quiet(0, write());
}

#[test]
fn the_stack_of_an_ended_thread_is_another_thing_for_the_next() {
    let start = |other| Pending { bytes: 4096, address: X, ..thread(Op::Start, other) };
    let mut run = Script::begin();
    run.quiet(1, start(1));
    run.quiet(1, write());
    run.quiet(1, thread(Op::Exit, 1));
    run.quiet(0, thread(Op::Fork, 3));
    run.quiet(3, start(3));
    run.quiet(3, write());
}

#[test]
fn the_last_thread_alive_may_have_looked_at_every_atomic_location() {
    for publishes in [true, false] {
        let mut run = Script::begin();
        run.quiet(1, write());
        if publishes {
            run.quiet(1, atomic(Op::Write, OTHER));
        }
        run.quiet(1, thread(Op::Exit, 1));
        run.quiet(2, thread(Op::Exit, 2));
        // What thread 0 does alone are no events.
        run.quiet(0, thread(Op::Fork, 3));
        assert_eq!(run.step(3, write()).is_some(), !publishes);
    }
}

#[test]
fn a_cleared_detector_has_forgotten() {
    let mut run = Script::begin();
    run.quiet(1, write());
    run.detector.clear();
    run.quiet(2, write());
}

#[test]
fn conflicts_are_collected_without_end() {
    let mut collector = Collector::default();
    let at = |site: u32, what: Pending| Pending { site: SiteId(site), ..what };
    let events = [
        (0, at(0, thread(Op::Fork, 1))),
        (0, at(7, sync(Op::Acquire))),
        (0, at(1, write())),
        (0, at(9, sync(Op::Release))),
        (1, at(3, write())),
        (1, at(5, sync(Op::Acquire))),
        (1, at(2, event(Op::Write, OTHER, 4))),
        (0, at(4, event(Op::Write, OTHER, 4))),
        (0, at(4, event(Op::Write, OTHER, 4))),
        (0, at(10, atomic(Op::Read, 0x4000))),
        (1, at(11, atomic(Op::Read, 0x4000))),
        (1, at(12, atomic(Op::Write, 0x4000))),
    ];
    for (number, (by, what)) in events.into_iter().enumerate() {
        let thread = ThreadId(by);
        collector.observe(&Executed {
            number: number as u64,
            thread,
            what,
            repeats: false,
            names: &[],
        });
    }
    let pair = |a, b| (SiteId(a), SiteId(b));
    let mut found = collector.finish();
    assert_eq!(found.pairs(), [pair(1, 3), pair(2, 4), pair(5, 7), pair(10, 12)]);
    found.merge(&found.clone());
    assert_eq!(found.pairs().len(), 4);
}
