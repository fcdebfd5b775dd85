//! Threads: creation, end, join, detach, thread-specific data. How a thread leaves by `pthread_exit` or a cancellation
//! is in [`super::cancellation`].

use unravel_code::FunctionId;
use unravel_code::layout::{STACK_SIZE, STACKS};
use unravel_trace::{EventKind, FailureKind, Op, SiteId, ThreadId};

use super::priorities::Scheduling;
use super::{Args, Family, Flow, OK, error, priorities};
use crate::machine::{Machine, State};
use crate::thread::Need;

pub(crate) const MODELS: Family = &[
    ("pthread_create", create),
    ("pthread_join", |m, a| join(m, a.word(0), a.word(1), a.site(), Patience::Endless)),
    ("pthread_timedjoin_np", |m, a| timed_join(m, a, a.word(2))),
    ("pthread_clockjoin_np", |m, a| timed_join(m, a, a.word(3))),
    ("pthread_tryjoin_np", try_join),
    ("pthread_detach", |m, a| detach(m, a.word(0))),
    ("pthread_self", |m, _| Flow::Return(m.threads[m.current].handle)),
    ("llvm.thread.pointer", |m, _| own_block(m)),
    (unravel_code::THREAD_BLOCK, thread_block),
    ("thrd_current", |m, _| Flow::Return(m.threads[m.current].handle)),
    ("thrd_equal", |_, a| Flow::Return(u64::from(a.word(0) == a.word(1)))),
    ("pthread_equal", |_, a| Flow::Return(u64::from(a.word(0) == a.word(1)))),
    ("pthread_key_create", key_create),
    ("__pthread_key_create", key_create),
    ("pthread_key_delete", key_delete),
    ("pthread_setspecific", set_specific),
    ("pthread_getspecific", get_specific),
    ("pthread_setconcurrency", |_, _| OK),
    ("pthread_setaffinity_np", |_, _| OK),
    ("pthread_getaffinity_np", |m, a| {
        m.check_sync(a.word(2), a.word(1), true);
        // SAFETY: checked.
        let failed =
            unsafe { libc::sched_getaffinity(0, a.word(1) as usize, a.word(2) as *mut _) } != 0;
        // SAFETY: errno of this native thread.
        error(if failed { unsafe { *libc::__errno_location() } } else { 0 })
    }),
    ("sched_setaffinity", |_, _| OK),
    ("pthread_setname_np", set_name),
    ("pthread_getname_np", get_name),
    ("prctl", prctl),
    ("pthread_getattr_np", get_attributes),
    ("pthread_atfork", |_, _| OK),
    ("sched_yield", yield_now),
    ("pthread_yield", yield_now),
    ("thrd_yield", yield_now),
];

/// `pthread_t` values: recognisable, never null, the same in every run.
const HANDLES: u64 = 0x7fff_f7d8_96c0;
/// How far apart they are: a stack of the usual size with its guard page lies between two.
const STACK: u64 = 0x80_1000;

/// Where the threads' own blocks begin, of which nothing is there but the address, and how far apart they are.
const OWN_BLOCKS: u64 = 0x6000_0000_0000;
const OWN_BLOCK: u64 = 0x1_0000;

/// Whether an address is in a thread's own block.
pub(crate) fn is_own_block(address: u64) -> bool {
    (OWN_BLOCKS - OWN_BLOCK..OWN_BLOCKS + (1 << 40)).contains(&address)
}

/// The address of the current thread's own block: another one for each thread, and the same for as long as it lives.
fn own_block(m: &State) -> Flow {
    Flow::Return(OWN_BLOCKS + m.current as u64 * OWN_BLOCK)
}

/// `%fs:0`, with the number of bytes behind the block's begin if it is not written in the assembly.
fn thread_block(m: &mut Machine, a: Args) -> Flow {
    match a.word(0) as i64 {
        0 => own_block(m),
        offset => m.finish_inconclusive(format!(
            "inline assembly reads %fs:{offset}, of which only %fs:0 is modelled"
        )),
    }
}

fn yield_now(m: &mut Machine, a: Args) -> Flow {
    m.yield_point(a.site());
    OK
}

fn create(m: &mut Machine, a: Args) -> Flow {
    let (handle_at, attributes, start, argument) = (a.word(0), a.word(1), a.word(2), a.word(3));
    m.check_sync(handle_at, 8, true);
    let shadow = m.shadow_argument(a, 3);
    let detached = is_detached(attributes);
    let scheduling = match priorities::asked(attributes) {
        Ok(scheduling) => scheduling,
        Err(number) => return error(number),
    };
    let child = fork(m, start, argument, None, a.site());
    m.threads[child.index()].detached = detached;
    if let Some(scheduling) = scheduling {
        m.threads[child.index()].scheduling = scheduling;
    }
    m.shadow_start(child, shadow);
    // SAFETY: checked above.
    unsafe { (handle_at as *mut u64).write_unaligned(m.threads[child.index()].handle) };
    OK
}

/// Whether an attribute object, or null, asks for a detached thread.
pub(crate) fn is_detached(attributes: u64) -> bool {
    attributes != 0 && {
        let mut state = 0;
        // SAFETY: an attribute object that glibc itself set up.
        unsafe { pthread_attr_getdetachstate(attributes as *const _, &mut state) };
        state == libc::PTHREAD_CREATE_DETACHED
    }
}

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attributes: *const libc::c_void, state: *mut i32) -> i32;
}

/// Creates a thread that calls the function at `start` with one argument, and the one at `finish` afterwards.
pub(crate) fn fork(
    m: &mut Machine,
    start: u64,
    argument: u64,
    finish: Option<u64>,
    site: SiteId,
) -> ThreadId {
    let Some(function) = m.program.function_at(start) else {
        if start < 1 << 16 {
            m.fail(FailureKind::NullDereference, "a thread is started at a null function pointer");
        }
        m.finish_inconclusive("a thread is started in native code".into());
    };
    let body = move |machine: &mut Machine| run_thread(machine, function, argument, finish);
    begin_thread(m, function, site, body)
}

/// Creates the thread of a timer, which needs no function of the program.
pub(crate) fn start_timer(m: &mut Machine, timer: usize, site: SiteId) -> ThreadId {
    let function = m.program.main.expect("checked by new");
    let child = begin_thread(m, function, site, move |machine| machine.run_timer(timer, site));
    let thread = &mut m.threads[child.index()];
    thread.timer = Some(timer);
    thread.detached = true;
    thread.pending.site = site;
    child
}

fn begin_thread(
    m: &mut Machine,
    function: FunctionId,
    site: SiteId,
    body: impl FnOnce(&mut Machine) + 'static,
) -> ThreadId {
    m.point(Op::Fork, 0, 0, site, Need::Nothing);
    let parent = m.current_thread();
    parent.children += 1;
    let name = parent.name.child(parent.children);
    let (mask, scheduling): (_, Scheduling) = (parent.mask, parent.scheduling);
    let child = m.spawn(name, function, body);
    let thread = &mut m.threads[child.index()];
    thread.mask = mask;
    thread.scheduling = scheduling;
    thread.handle = HANDLES - u64::from(child.0) * STACK;
    m.made_progress();
    m.record(site, EventKind::Fork { child });
    m.guided_fork(child);
    child
}

fn run_thread(m: &mut Machine, function: FunctionId, argument: u64, finish: Option<u64>) {
    m.start_event();
    let result = m.call_to_end(function, &[argument]);
    m.shadow_thread_returned();
    if let Some(finish) = finish {
        m.call_address(finish, &[argument]);
    }
    m.end_thread(result)
}

impl Machine {
    /// The first event of a thread: it was chosen, so this needs no point.
    pub fn start_event(&mut self) {
        self.count_event();
        self.tell_scheduler();
        let events = self.events;
        let thread = self.current_thread();
        if thread.handle == 0 {
            thread.handle = HANDLES;
        }
        thread.last_event = events;
        let site = thread.pending.site;
        self.record(site, EventKind::Start);
    }

    /// Destructors of thread-local objects and of thread-specific data.
    pub fn run_thread_destructors(&mut self) {
        while let Some((function, object)) = self.current_thread().at_exit.pop() {
            self.call_address(function, &[object]);
        }
        self.do_at_end();
        // A destructor may set values again; POSIX gives them four rounds.
        for _ in 0..4 {
            let mut again = false;
            for key in 0..self.threads[self.current].keys.len() {
                let value = std::mem::take(&mut self.current_thread().keys[key]);
                let destructor = self.key_destructors.get(key).copied().flatten();
                if let (true, Some(function)) = (value != 0, destructor.filter(|f| *f != 0)) {
                    again = true;
                    self.call_address(function, &[value]);
                }
            }
            if !again {
                break;
            }
        }
    }

    /// The end of a thread other than by the end of the process.
    pub fn end_thread(&mut self, result: u64) -> ! {
        self.give_up_onces();
        self.run_thread_destructors();
        let site = self.threads[self.current].pending.site;
        self.orphan_mutexes(site);
        self.point(Op::Exit, 0, 0, site, Need::Nothing);
        self.shadow_exit();
        self.record(site, EventKind::Exit);
        self.made_progress();
        let me = self.current;
        let thread = &mut self.threads[me];
        thread.ended = true;
        thread.result = result;
        thread.frames.clear();
        let (slot, base) = (thread.slot, thread.locals);
        self.alive -= 1;
        self.unjoined += 1;
        self.memory.set_stack_top(slot, base);
        self.release_slot(slot);
        if self.threads_of_run().all(|thread| thread.ended || thread.timer.is_some()) {
            // The last thread left by pthread_exit: the process ends well.
            self.threads[me].ended = false;
            self.exit_process(0);
        }
        self.update_flags();
        self.decide_after_end();
        self.leave_for_good()
    }

    pub fn find_thread(&self, handle: u64) -> Option<usize> {
        (0..self.thread_count).rev().find(|t| self.threads[*t].handle == handle)
    }
}

fn timed_join(m: &mut Machine, a: Args, time: u64) -> Flow {
    if !m.set_deadline(time) {
        return error(libc::EINVAL);
    }
    join(m, a.word(0), a.word(1), a.site(), Patience::Limited)
}

/// How long a thread waits for another to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Patience {
    Endless,
    /// Until a deadline.
    Limited,
    /// It has ended.
    None,
}

pub(crate) fn join(
    m: &mut Machine,
    handle: u64,
    result_at: u64,
    site: SiteId,
    patience: Patience,
) -> Flow {
    m.test_cancel();
    let Some(child) = m.find_thread(handle) else {
        if handle == 0 {
            m.fail(FailureKind::NullDereference, "pthread_join of a thread that was never created");
        }
        return error(libc::ESRCH);
    };
    if child == m.current {
        return error(libc::EDEADLK);
    }
    if m.threads[child].joined {
        return error(libc::ESRCH);
    }
    if m.threads[child].detached {
        return error(libc::EINVAL);
    }
    m.current_thread().timed = patience == Patience::Limited;
    m.current_thread().timed_out = false;
    m.join_point(ThreadId(child as u32), patience == Patience::Endless, site);
    m.test_cancel();
    if std::mem::take(&mut m.current_thread().timed_out) {
        return error(libc::ETIMEDOUT);
    }
    m.threads[child].joined = true;
    m.unjoined = m.unjoined.saturating_sub(1);
    if result_at != 0 {
        m.check_sync(result_at, 8, true);
        // SAFETY: checked.
        unsafe { (result_at as *mut u64).write_unaligned(m.threads[child].result) };
        m.shadow_join(child, result_at);
    }
    m.made_progress();
    m.record(site, EventKind::Join { child: ThreadId(child as u32) });
    OK
}

fn try_join(m: &mut Machine, a: Args) -> Flow {
    match m.find_thread(a.word(0)) {
        Some(child) if !m.threads[child].ended => {
            m.yield_point(a.site());
            error(libc::EBUSY)
        }
        _ => join(m, a.word(0), a.word(1), a.site(), Patience::None),
    }
}

pub(crate) fn detach(m: &mut Machine, handle: u64) -> Flow {
    match m.find_thread(handle).map(|thread| &mut m.threads[thread]) {
        Some(thread) if thread.joined => error(libc::ESRCH),
        Some(thread) if thread.detached => error(libc::EINVAL),
        Some(thread) => {
            thread.detached = true;
            OK
        }
        None => error(libc::ESRCH),
    }
}

/// The most bytes that the name of a thread takes, its end included.
const NAME_BYTES: usize = 16;

fn set_name(m: &mut Machine, a: Args) -> Flow {
    let name = m.c_string(a.word(1));
    match m.find_thread(a.word(0)) {
        None => error(libc::ESRCH),
        Some(_) if name.len() >= NAME_BYTES => error(libc::ERANGE),
        Some(thread) => {
            m.threads[thread].label = Some(name);
            OK
        }
    }
}

/// A thread that nobody named is called as the program is.
fn get_name(m: &mut Machine, a: Args) -> Flow {
    let Some(thread) = m.find_thread(a.word(0)) else { return error(libc::ESRCH) };
    if a.word(2) < NAME_BYTES as u64 {
        return error(libc::ERANGE);
    }
    write_name(m, thread, a.word(1))
}

fn write_name(m: &mut Machine, thread: usize, to: u64) -> Flow {
    m.check_sync(to, NAME_BYTES as u64, true);
    let mut name = [0u8; NAME_BYTES];
    let label = m.threads[thread].label.as_ref().unwrap_or(&m.options.program_name);
    name.iter_mut().zip(label.bytes().take(NAME_BYTES - 1)).for_each(|(to, from)| *to = from);
    // SAFETY: checked.
    unsafe { (to as *mut [u8; NAME_BYTES]).write_unaligned(name) };
    OK
}

/// Names of threads are the program's own affair. All else changes this process, and a later run would see it.
/// What `prctl` is asked without changing anything that a later run could notice.
const HARMLESS: [i32; 10] = [
    libc::PR_GET_DUMPABLE,
    libc::PR_GET_KEEPCAPS,
    libc::PR_GET_NO_NEW_PRIVS,
    libc::PR_GET_PDEATHSIG,
    libc::PR_GET_SECCOMP,
    libc::PR_GET_SECUREBITS,
    libc::PR_GET_THP_DISABLE,
    libc::PR_GET_TIMERSLACK,
    libc::PR_SET_THP_DISABLE,
    libc::PR_SET_VMA,
];

fn prctl(m: &mut Machine, a: Args) -> Flow {
    let thread = m.current;
    match a.int(0) {
        libc::PR_SET_NAME => {
            // A longer one is cut off.
            let name = m.c_string(a.word(1)).chars().take(NAME_BYTES - 1).collect();
            m.threads[thread].label = Some(name);
            OK
        }
        libc::PR_GET_NAME => write_name(m, thread, a.word(1)),
        what => {
            m.stained |= !HARMLESS.contains(&what);
            m.call_outside(a, "prctl")
        }
    }
}

fn get_attributes(m: &mut Machine, a: Args) -> Flow {
    let Some(thread) = m.find_thread(a.word(0)) else { return error(libc::ESRCH) };
    m.check_sync(a.word(1), size_of::<libc::pthread_attr_t>() as u64, true);
    let stack = STACKS + m.threads[thread].slot as u64 * STACK_SIZE;
    let attributes = a.word(1) as *mut libc::pthread_attr_t;
    // SAFETY: checked; glibc fills and changes an object of its own kind.
    unsafe {
        let made = libc::pthread_attr_init(attributes);
        if made != 0 {
            return error(made);
        }
        error(libc::pthread_attr_setstack(attributes, stack as *mut _, STACK_SIZE as usize))
    }
}

pub(crate) fn key_create(m: &mut Machine, a: Args) -> Flow {
    m.check_sync(a.word(0), 4, true);
    m.key_destructors.push(Some(a.word(1)));
    // SAFETY: checked.
    unsafe { (a.word(0) as *mut u32).write_unaligned(m.key_destructors.len() as u32 - 1) };
    OK
}

pub(crate) fn key_delete(m: &mut Machine, a: Args) -> Flow {
    match m.key_destructors.get_mut(a.word(0) as u32 as usize) {
        Some(key) => {
            *key = None;
            OK
        }
        None => error(libc::EINVAL),
    }
}

pub(crate) fn set_specific(m: &mut Machine, a: Args) -> Flow {
    let key = a.word(0) as u32 as usize;
    if m.key_destructors.get(key).is_none_or(Option::is_none) {
        return error(libc::EINVAL);
    }
    let keys = &mut m.current_thread().keys;
    if keys.len() <= key {
        keys.resize(key + 1, 0);
    }
    keys[key] = a.word(1);
    OK
}

pub(crate) fn get_specific(m: &mut Machine, a: Args) -> Flow {
    let key = a.word(0) as u32 as usize;
    Flow::Return(m.threads[m.current].keys.get(key).copied().unwrap_or(0))
}
