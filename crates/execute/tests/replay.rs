//! Replay beyond the end of a schedule: who goes on, and who goes last.

use unravel_conformance::{Act, Toy};
use unravel_execute::{Laboratory, Replay};
use unravel_trace::*;

/// Two threads that each write twice, forked by a main thread that joins nobody and writes, too.
fn program() -> Toy {
    let body = vec![Act::Put(0, 1), Act::Put(0, 2)];
    let main = vec![Act::Fork(1), Act::Fork(2), Act::Put(0, 3), Act::Put(0, 4)];
    Toy::new(vec![main, body.clone(), body])
}

/// Whose events a run has, in order, after an empty schedule.
fn completed(last: Option<&ThreadName>) -> Vec<u32> {
    let mut toy = program();
    let visible = toy.sites().all().clone();
    let schedule = Schedule { visible: visible.clone(), ..Schedule::default() };
    let mut lab = Laboratory::new(&mut toy, Input::default(), visible);
    let run = match last {
        Some(last) => lab.complete_seen(&schedule, last, &mut (), Want::only(Detail::Outcome)),
        None => lab.replay(&schedule, Detail::Outcome),
    };
    assert_eq!(run.outcome, Outcome::Exited { code: 0 });
    let segments = run.schedule.segments.iter();
    segments.flat_map(|segment| vec![segment.thread; segment.events as usize]).collect()
}

fn position_of_last(order: &[u32], thread: u32) -> usize {
    order.iter().rposition(|who| *who == thread).expect("it did something")
}

#[test]
fn without_a_schedule_threads_go_on_without_preemption() {
    let order = completed(None);
    let switches = order.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert_eq!(switches, 2, "{order:?}");
}

#[test]
fn who_goes_last_waits_until_nobody_else_can_go_on() {
    // Main goes on where it alone can, to fork; whoever it has forked comes before what it does after that.
    let order = completed(Some(&ThreadName::main()));
    let last = |thread| position_of_last(&order, thread);
    assert!(last(1) < last(2) && last(2) < last(0), "{order:?}");

    let order = completed(Some(&ThreadName::main().child(1)));
    assert!(position_of_last(&order, 2) < position_of_last(&order, 1), "{order:?}");
}

#[test]
fn a_schedule_is_followed_to_its_end_whoever_goes_last() {
    let mut toy = program();
    let visible = toy.sites().all().clone();
    let mut lab = Laboratory::new(&mut toy, Input::default(), visible.clone());
    let whole = lab.replay(&Schedule { visible, ..Schedule::default() }, Detail::Outcome).schedule;
    let mut replay = Replay::new(&whole).with_last(&whole.threads[0]);
    let run = lab.run(&mut replay, &mut (), Want::only(Detail::Outcome));
    assert_eq!(replay.divergence(), None);
    assert_eq!(run.schedule, whole);
}
