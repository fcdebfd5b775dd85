//! The tiny programs of the suite: what each does in words, and as a toy program.

use unravel_trace::Executor;

use crate::{Act, Toy};

/// Makes executors. One at a time: the last one is gone when the next is asked for.
pub trait Engine {
    fn open(&mut self, sample: Sample) -> Box<dyn Executor>;
}

/// A tiny program. `main` creates the threads in the order in which they are named here and joins them in that order before
/// it does anything else, unless it says otherwise. Variables begin with 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sample {
    /// Two threads add one to the same plain variable, reading and then writing it. `main` then reads it and fails with
    /// an assertion if it is not 2.
    LostUpdate,
    /// Two threads take the same two locks in opposite orders and give them back.
    Deadlock,
    /// Two threads lock, wait on the same condition once, and unlock. `main` locks, signals and unlocks, twice, and joins
    /// them then. It takes a lucky schedule to end: none of the signals may come too early.
    Waiters,
    /// Two threads, each of which adds one to a variable atomically, loads another one atomically, stores 1 to it
    /// atomically, and writes a plain variable.
    Atomics,
    /// Two threads, each of which writes, in one atomic section, two plain variables; each reads the first one after it.
    Sections,
    /// Two threads in a function called `shares` add one to the same plain variable; a third one in a function called
    /// `keeps` writes a plain variable of its own and reads it.
    Sharing,
    /// One thread prints `one`, the other `two`, then `main` prints `end`, each with the end of a line.
    Prints,
    /// No threads: `main` writes a plain variable, reads it, and prints `alone`, with the end of a line.
    Alone,
}

impl Sample {
    pub const ALL: [Sample; 8] = {
        use Sample::*;
        [LostUpdate, Deadlock, Waiters, Atomics, Sections, Sharing, Prints, Alone]
    };

    /// The program for the toy executor.
    pub fn toy(self) -> Toy {
        use Act::*;
        let twice = |body: Vec<Act>| vec![body.clone(), body];
        let both = |a, b| vec![Lock(a), Lock(b), Unlock(b), Unlock(a)];
        let add = vec![Read(0), Put(0, 1)];
        match self {
            Sample::LostUpdate => Toy::joined(twice(add), vec![Expect(0, 2)]),
            Sample::Deadlock => Toy::joined(vec![both(0, 1), both(1, 0)], Vec::new()),
            Sample::Waiters => {
                let waits = vec![Lock(0), Wait(0, 0), Unlock(0)];
                let signals = vec![Lock(0), Signal(0), Unlock(0)];
                let (forks, joins) = (vec![Fork(1), Fork(2)], vec![Join(1), Join(2)]);
                let main = [forks, signals.clone(), signals, joins].concat();
                Toy::new(vec![main, waits.clone(), waits])
            }
            Sample::Atomics => {
                let body = vec![Update(0), Load(1), Store(1, 1), Write(2, 1)];
                Toy::joined(twice(body), Vec::new())
            }
            Sample::Sections => {
                let body = vec![Atomic(vec![Write(0, 1), Write(1, 1)]), Read(0)];
                Toy::joined(twice(body), Vec::new())
            }
            Sample::Sharing => {
                let keeps = vec![Write(1, 1), Read(1)];
                Toy::joined(vec![add.clone(), add, keeps], Vec::new())
                    .in_functions(&["main", "shares", "shares", "keeps"])
            }
            Sample::Prints => {
                let bodies = vec![vec![Print("one\n")], vec![Print("two\n")]];
                Toy::joined(bodies, vec![Print("end\n")])
            }
            Sample::Alone => Toy::new(vec![vec![Write(0, 1), Read(0), Print("alone\n")]]),
        }
    }
}
