//! A green thread: interpreted frames, a native stack to run on, and what it waits for.

use std::ops::{Index, IndexMut};
use std::ptr::NonNull;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};
use rustc_hash::{FxHashMap, FxHashSet};
use unravel_trace::{Op, Pending, SiteId, ThreadId, ThreadName};

use crate::delivery::{Sent, SetAside};
use crate::models::handlers::AtEnd;
use crate::models::priorities::Scheduling;

/// How a thread's coroutine ended: only a trap ends one; a thread that is done is never resumed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trapped {
    pub signal: i32,
    pub address: u64,
}

pub(crate) type Fiber = Coroutine<(), (), Trapped, DefaultStack>;
pub(crate) type FiberYielder = Yielder<(), ()>;

pub(crate) use unravel_code::compiled::{Cursor, Frame};

/// What the pending event of a thread needs in order to be executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Need {
    Nothing,
    Mutex(u64),
    ReadLock(u64),
    WriteLock(u64),
    Semaphore(u64),
    /// Everybody has arrived since this generation.
    Barrier(u64, u32),
    /// A signal, then the mutex.
    Wake {
        cond: u64,
        mutex: u64,
    },
    /// Nobody is running this initialiser.
    Once(u64),
    Ended(ThreadId),
    /// The word at this address differs from the value.
    Changed(u64, u32),
    /// A wake of this futex.
    Futex(u64),
    /// Time: its deadline.
    Time,
    /// What the thread waits for of descriptors ([`crate::models::descriptors`]).
    Descriptor,
    /// A signal of this set.
    Signal(u64),
    /// Nothing but the handler of a signal (`pause`, `sigsuspend`).
    Never,
}

/// The exception being thrown or handled.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Thrown {
    /// Its unwind header, which names it as in native landing pads.
    pub exception: u64,
    pub selector: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Cancellation {
    pub disabled: bool,
    pub requested: bool,
    /// Whether it need not wait for a cancellation point.
    pub asynchronous: bool,
    /// Jump buffers of the cleanup handlers, last pushed last.
    pub cleanup: Vec<u64>,
}

/// What a compare-exchange expects to find.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    pub site: SiteId,
    pub address: u64,
    pub bytes: usize,
    pub value: [u8; 16],
}

pub(crate) struct Thread {
    pub id: ThreadId,
    pub name: ThreadName,
    pub slot: usize,
    /// Its `pthread_t`.
    pub handle: u64,
    pub children: u32,
    /// The timer that it is the thread of, if any.
    pub timer: Option<usize>,
    /// What `pthread_setname_np` called it.
    pub label: Option<String>,

    pub frames: Vec<Frame>,
    /// For states: what the frames below each frame hold ([`Frame::known`]).
    pub below: Vec<crate::states::Words>,
    pub at: Cursor,
    pub registers: *mut u64,
    /// Where its native stack ends, which grows downwards.
    pub native_stack: u64,

    pub pending: Pending,
    pub need: Need,
    /// Of a pending compare-exchange.
    pub expected: Option<Expected>,
    /// Who woke it from its wait; set by signal, broadcast and the wake of a futex.
    pub woken_by: Option<ThreadId>,
    /// Its pending event may also be executed by running out of time.
    pub timed: bool,
    /// The states it was in since it last changed something, where spinning is pruned.
    pub idle_states: FxHashSet<u64>,
    /// The same with when that was, and how many steps ago it was in the present one, for [`crate::awaits`]; and how many steps it
    /// has taken.
    pub arrivals: FxHashMap<u64, crate::awaits::Arrival>,
    pub came_round: u32,
    /// How often it came back to one while time passed, since it last changed something.
    pub rounds_by_time: u32,
    /// It sleeps again and again and nothing happens in between: when this sleep is over, and how long each takes.
    pub period: Option<(u64, u64)>,
    pub steps: u32,
    /// How many it had taken when it last only let others go first.
    pub paused_at: Option<u32>,
    /// Where rounds are skipped: what it has done since anything changed, and whether all its stores are watched.
    pub round: crate::spin_rounds::Round,
    pub looks_for_spin: bool,
    /// And it has.
    pub timed_out: bool,
    /// When that is, on the virtual clock.
    pub deadline: u64,
    pub looks: crate::clock::Looks,
    /// How often it changed anything others can see; and whether its last sleep was over early.
    pub changes: u64,
    pub came_early: bool,
    /// How often it was asked whether the environment deviates.
    pub questions: u32,
    pub ended: bool,
    pub detached: bool,
    pub joined: bool,
    /// Value for `pthread_join`.
    pub result: u64,

    /// Events since this thread last changed anything others can see.
    pub idle: u32,
    /// The value of `Machine::progress` when it was last found spinning.
    pub spin_mark: u64,
    /// Number of the last event it executed.
    pub last_event: u64,
    /// Backward jumps since its last event.
    pub jumps: u32,
    /// Long loops in a row without any event: an endless loop that looks at nothing.
    pub empty_loops: u32,
    pub atomic: u32,
    /// What a copying function has read and not yet written.
    pub copied: Vec<u8>,

    /// The signals that it blocks, as a set.
    pub mask: u64,
    /// Those that were sent to it and have not arrived, oldest first.
    pub signals: Vec<Sent>,
    /// Its last wait was left because of a signal.
    pub interrupted: bool,
    /// What signal handlers interrupted, innermost last.
    pub set_aside: Vec<SetAside>,

    /// Base of its thread-local block.
    pub locals: u64,
    pub keys: Vec<u64>,
    /// Destructors of C++ thread-locals: function, object.
    pub at_exit: Vec<(u64, u64)>,
    /// What is to be done after those.
    pub at_end: Vec<AtEnd>,
    pub cancellation: Cancellation,
    pub scheduling: Scheduling,
    pub thrown: Thrown,

    /// Native thread state that is swapped when this thread runs.
    pub errno: i32,
    pub exception_globals: [u64; 2],
    pub native_locals: Vec<u8>,

    pub fiber: Option<Fiber>,
    pub yielder: *const FiberYielder,
}

/// The threads, each at an address of its own: the interpreter on a thread's stack keeps a pointer to it, while
/// others use it through this list and the list grows. All of them derive their access from the same pointer,
/// which a `Box` would not allow.
#[derive(Default)]
pub(crate) struct Threads(Vec<NonNull<Thread>>);

impl Threads {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn push(&mut self, thread: Thread) {
        self.0.push(NonNull::from(Box::leak(Box::new(thread))));
    }

    /// Where a thread is; it stays there as long as the list lives. Whoever uses the pointer holds it for no
    /// longer than a statement as a reference.
    #[inline]
    pub fn pointer(&self, index: usize) -> *mut Thread {
        self.0[index].as_ptr()
    }
}

impl Index<usize> for Threads {
    type Output = Thread;

    #[inline]
    fn index(&self, index: usize) -> &Thread {
        // SAFETY: made by `push` and freed with the list, which is borrowed; whoever keeps a pointer to the
        // thread does not use it meanwhile.
        unsafe { self.0[index].as_ref() }
    }
}

impl IndexMut<usize> for Threads {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut Thread {
        // SAFETY: as above.
        unsafe { self.0[index].as_mut() }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        for thread in &self.0 {
            // SAFETY: made from a box by `push`. The interpreters that pointed to it are gone.
            drop(unsafe { Box::from_raw(thread.as_ptr()) });
        }
    }
}

impl Thread {
    pub fn new(registers: *mut u64) -> Thread {
        Thread {
            id: ThreadId(0),
            name: ThreadName::main(),
            slot: 0,
            handle: 0,
            children: 0,
            timer: None,
            label: None,
            frames: Vec::new(),
            below: Vec::new(),
            at: Cursor::NOWHERE,
            registers,
            native_stack: 0,
            pending: Pending {
                op: Op::Start,
                address: 0,
                bytes: 0,
                site: SiteId(0),
                caller: None,
                operand: unravel_trace::Operand::None,
                atomic: false,
            },
            need: Need::Nothing,
            expected: None,
            woken_by: None,
            timed: false,
            idle_states: FxHashSet::default(),
            arrivals: FxHashMap::default(),
            came_round: 0,
            rounds_by_time: 0,
            period: None,
            steps: 0,
            paused_at: None,
            round: crate::spin_rounds::Round::default(),
            looks_for_spin: false,
            timed_out: false,
            deadline: 0,
            looks: crate::clock::Looks::default(),
            changes: 0,
            came_early: false,
            questions: 0,
            ended: false,
            detached: false,
            joined: false,
            result: 0,
            idle: 0,
            spin_mark: 0,
            last_event: 0,
            jumps: 0,
            empty_loops: 0,
            atomic: 0,
            copied: Vec::new(),
            mask: 0,
            signals: Vec::new(),
            interrupted: false,
            set_aside: Vec::new(),
            locals: 0,
            keys: Vec::new(),
            at_exit: Vec::new(),
            at_end: Vec::new(),
            cancellation: Cancellation::default(),
            scheduling: Scheduling::default(),
            thrown: Thrown::default(),
            errno: 0,
            exception_globals: [0; 2],
            native_locals: Vec::new(),
            fiber: None,
            yielder: std::ptr::null(),
        }
    }

    /// Makes a used thread like new, keeping its allocations.
    pub fn recycle(&mut self) {
        let (mut frames, below) =
            (std::mem::take(&mut self.frames), std::mem::take(&mut self.below));
        frames.clear();
        let fiber = self.fiber.take();
        *self = Thread { frames, below, fiber, ..Thread::new(self.registers) };
    }
}
