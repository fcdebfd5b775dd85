//! Timers in virtual time: `alarm`, `setitimer`, `timer_create`. One that runs out sends its signal, or starts a thread.
//!
//! A timer that was set is a thread of its own, created by who set it first: it sleeps until the timer runs out
//! ([`crate::clock`]) and then does what the kernel (or the C library, of `SIGEV_THREAD`) would. So schedules decide about timers as
//! about sleeps: the earliest deadline first, and sooner if the others are late, which is a deviation. To set a timer again is
//! an event, because it may come before or after the timer runs out. Of a periodic timer, times that passed at once are one.
//!
//! A *watchdog*, a timer whose signal ends the process, runs out only when nobody can go on without it: that others are late
//! for so long is no bug but why it is there. Other moments are not tried, which runs say ([`unravel_trace::Note::TimerMoments`]),
//! and so do guided runs, in which no timer runs out.
//!
//! Inconclusive: timers of processor time. Timers behind descriptors are elsewhere ([`super::descriptors`]). Attributes of the threads that timers start are not looked at.

use unravel_trace::{EventKind, SiteId, ThreadId};

use super::{Args, Family, Flow, OK, fail_with_errno, signals, threads};
use crate::clock::SECOND;
use crate::delivery::Sent;
use crate::machine::{Machine, State};
use crate::thread::Need;

pub(crate) const MODELS: Family = &[
    ("alarm", |m, a| {
        let first = u64::from(a.word(0) as u32) * SECOND;
        let left = m.set_timer(ALARM, (first, false), 0, a.site());
        Flow::Return(left.0.div_ceil(SECOND))
    }),
    ("ualarm", |m, a| {
        let interval = u64::from(a.word(1) as u32) * 1000;
        let first = u64::from(a.word(0) as u32) * 1000;
        Flow::Return(m.set_timer(ALARM, (first, false), interval, a.site()).0 / 1000)
    }),
    ("setitimer", set_interval_timer),
    ("getitimer", get_interval_timer),
    ("timer_create", create),
    ("timer_settime", set_time),
    ("timer_gettime", |m, a| match m.timers.known(a.word(0)) {
        Some(id) => {
            let left = m.time_left(id);
            m.store_timer(a.word(1), left, 1);
            OK
        }
        None => fail_with_errno(libc::EINVAL),
    }),
    ("timer_getoverrun", |m, a| match m.timers.known(a.word(0)) {
        Some(_) => OK,
        None => fail_with_errno(libc::EINVAL),
    }),
    ("timer_delete", |m, a| match m.timers.known(a.word(0)) {
        Some(id) => {
            m.set_timer(id, (0, false), 0, a.site());
            m.timers.list[id].deleted = true;
            OK
        }
        None => fail_with_errno(libc::EINVAL),
    }),
    ("timerfd_create", |m, _| {
        m.finish_inconclusive("the program calls 'timerfd_create', which is not supported".into())
    }),
];

/// The timer of `alarm` and `setitimer`.
const ALARM: usize = 0;

/// The clock with the highest number.
pub(super) const CLOCK_TAI: i32 = 11;

/// Expirations in a row, with nobody else doing anything, after which nobody ever will.
const VAIN: u64 = 64;

/// What happens when a timer runs out.
#[derive(Clone, Copy, Debug)]
enum Notice {
    /// It can only be asked.
    None,
    /// A signal, for a thread or for the process.
    Signal { sent: Sent, target: Option<usize> },
    /// A thread calls the function.
    Thread { function: u64, value: u64 },
}

#[derive(Clone, Copy, Debug)]
struct Timer {
    /// When it runs out; 0 if it does not.
    deadline: u64,
    /// 0 if it runs out once.
    interval: u64,
    notice: Notice,
    /// The thread that waits for it, once it was set.
    thread: Option<usize>,
    deleted: bool,
}

impl Timer {
    fn new(notice: Notice) -> Timer {
        Timer { deadline: 0, interval: 0, notice, thread: None, deleted: false }
    }
}

/// The timers of a run.
#[derive(Debug)]
pub(crate) struct Timers {
    list: Vec<Timer>,
}

impl Timers {
    /// The timer of `timer_create` that has this number.
    fn known(&self, id: u64) -> Option<usize> {
        let index = usize::try_from(id).ok().filter(|index| *index != ALARM)?;
        self.list.get(index).filter(|timer| !timer.deleted).map(|_| index)
    }
}

impl Default for Timers {
    fn default() -> Timers {
        let sent = Sent { number: libc::SIGALRM, code: libc::SI_KERNEL, value: 0 };
        Timers { list: vec![Timer::new(Notice::Signal { sent, target: None })] }
    }
}

impl State {
    /// What is left of a timer, and its interval.
    fn time_left(&self, index: usize) -> (u64, u64) {
        let timer = &self.timers.list[index];
        let deadline = match (timer.notice, timer.interval) {
            // Nobody waits for it and sets it again.
            (Notice::None, 0) if timer.deadline <= self.clock.now => 0,
            (Notice::None, 1..) => self.next_expiry(timer),
            _ => timer.deadline,
        };
        match deadline {
            0 => (0, timer.interval),
            deadline => (deadline.saturating_sub(self.clock.now).max(1), timer.interval),
        }
    }

    /// When a timer runs out next, times that passed at once being one.
    fn next_expiry(&self, timer: &Timer) -> u64 {
        match (timer.deadline, timer.interval) {
            (0, _) | (_, 0) => timer.deadline,
            (deadline, _) if deadline > self.clock.now => deadline,
            (deadline, interval) => {
                let late = (self.clock.now - deadline) / interval;
                deadline.saturating_add(interval.saturating_mul(late + 1))
            }
        }
    }

    /// Whether a thread is that of a timer whose signal ends the process: a watchdog. That others are late is what it is
    /// there for, and no deviation that anybody wants to hear of.
    pub fn is_watchdog(&self, index: usize) -> bool {
        let Some(timer) = self.threads[index].timer else { return false };
        match self.timers.list[timer].notice {
            Notice::Signal { sent, target } => signals::ends_process(self, target, sent.number),
            _ => false,
        }
    }

    /// Lets the thread of a timer wait for its time, or for ever.
    fn await_expiry(&mut self, index: usize) {
        let Timer { deadline, thread: Some(thread), .. } = self.timers.list[index] else { return };
        let thread = &mut self.threads[thread];
        thread.need = if deadline == 0 { Need::Never } else { Need::Time };
        thread.timed = deadline != 0;
        thread.deadline = deadline;
    }
}

impl Machine {
    /// Sets a timer; what was left of it. Where others may run, that is an event.
    fn set_timer(
        &mut self,
        index: usize,
        (first, is_absolute): (u64, bool),
        interval: u64,
        site: SiteId,
    ) -> (u64, u64) {
        let notice = self.timers.list[index].notice;
        let is_guided = self.concolic.guide.is_on();
        let waits = !matches!(notice, Notice::None) && !is_guided;
        match self.timers.list[index].thread {
            Some(thread) if waits => {
                self.send_point(ThreadId(thread as u32), site);
                self.made_progress();
                self.record(site, EventKind::External { name: "setting a timer".into() });
            }
            None if waits && first != 0 => {
                let thread = threads::start_timer(self, index, site);
                self.timers.list[index].thread = Some(thread.index());
            }
            _ => {}
        }
        let before = self.time_left(index);
        let deadline = match (first, is_absolute) {
            (0, _) => 0,
            (first, true) => first,
            (first, false) => self.clock.now.saturating_add(first),
        };
        let timer = &mut self.timers.list[index];
        (timer.deadline, timer.interval) = (deadline, interval);
        let has_begun = timer.thread.is_some_and(|t| self.threads[t].last_event != 0);
        if has_begun {
            self.await_expiry(index);
        }
        let dies = matches!(notice, Notice::Signal { sent, target }
            if signals::ends_process(self, target, sent.number));
        if deadline != 0 && (is_guided || dies) {
            self.note(unravel_trace::Note::TimerMoments);
        }
        before
    }

    /// What the thread of a timer does.
    pub fn run_timer(&mut self, index: usize, site: SiteId) -> ! {
        self.start_event();
        loop {
            self.await_expiry(index);
            let need = self.threads[self.current].need;
            let me = ThreadId(self.current as u32);
            self.expiry_point(me, site, need);
            let timer = self.timers.list[index];
            let next = if timer.interval == 0 { 0 } else { self.next_expiry(&timer) };
            self.timers.list[index].deadline = next;
            self.made_progress();
            self.record(site, EventKind::External { name: "running out of a timer".into() });
            match timer.notice {
                Notice::None => {}
                Notice::Signal { sent, target } => {
                    self.end_if_vain();
                    signals::arrive(self, target, sent);
                }
                Notice::Thread { function, value } => {
                    let child = threads::fork(self, function, value, None, site);
                    self.threads[child.index()].detached = true;
                }
            }
        }
    }

    /// Ends a run in which timers run out again and again, and nobody takes notice or waits for a time of its own.
    fn end_if_vain(&mut self) {
        if self.threads_of_run().any(|thread| thread.timer.is_none() && thread.timed) {
            return;
        }
        let others = self.threads_of_run().filter(|thread| thread.timer.is_none());
        let last = others.map(|thread| thread.last_event).max().unwrap_or(0);
        if self.events - last > VAIN {
            self.deadlock();
        }
    }

    /// Stores a `struct itimerval` or `itimerspec`, whose parts of a second count in this unit.
    fn store_timer(&mut self, at: u64, (left, interval): (u64, u64), unit: u64) {
        self.check_sync(at, 32, true);
        let words =
            [interval / SECOND, interval % SECOND / unit, left / SECOND, left % SECOND / unit];
        // SAFETY: checked.
        unsafe { (at as *mut [u64; 4]).write_unaligned(words) };
    }

    /// The interval and the first time in such a structure, in nanoseconds; none if they are no times.
    fn timer_at(&mut self, at: u64, unit: u64) -> Option<(u64, u64)> {
        self.check_sync(at, 32, false);
        // SAFETY: checked.
        let [seconds, part, first, first_part] =
            unsafe { (at as *const [i64; 4]).read_unaligned() };
        let time = |seconds: i64, part: i64| {
            let part = u64::try_from(part).ok().filter(|part| *part < SECOND / unit)?;
            let seconds = u64::try_from(seconds).ok()?;
            Some(seconds.saturating_mul(SECOND).saturating_add(part * unit))
        };
        Some((time(seconds, part)?, time(first, first_part)?))
    }
}

/// `setitimer(which, new, old)`.
fn set_interval_timer(m: &mut Machine, a: Args) -> Flow {
    if a.int(0) != libc::ITIMER_REAL {
        m.finish_inconclusive(
            "the program sets a timer of processor time, which is not supported".into(),
        );
    }
    let Some((interval, first)) = m.timer_at(a.word(1), 1000) else {
        return fail_with_errno(libc::EINVAL);
    };
    let before = m.set_timer(ALARM, (first, false), interval, a.site());
    if a.word(2) != 0 {
        m.store_timer(a.word(2), before, 1000);
    }
    OK
}

fn get_interval_timer(m: &mut Machine, a: Args) -> Flow {
    let left = if a.int(0) == libc::ITIMER_REAL { m.time_left(ALARM) } else { (0, 0) };
    m.store_timer(a.word(1), left, 1000);
    OK
}

/// `timer_create(clock, event, id)`.
fn create(m: &mut Machine, a: Args) -> Flow {
    // Those of other threads and processes are negative.
    if a.int(0) < 0
        || matches!(a.int(0), libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID)
    {
        m.finish_inconclusive(
            "the program makes a timer of processor time, which is not supported".into(),
        );
    }
    if a.int(0) > CLOCK_TAI {
        return fail_with_errno(libc::EINVAL);
    }
    let id = m.timers.list.len() as u64;
    let sent = Sent { number: libc::SIGALRM, code: libc::SI_TIMER, value: id };
    let mut notice = Notice::Signal { sent, target: None };
    if a.word(1) != 0 {
        // In a `struct sigevent`: the value, the number, the kind, then the thread, or the function.
        m.check_sync(a.word(1), 24, false);
        // SAFETY: checked.
        let (value, number, kind, thread, function) = unsafe {
            let at = a.word(1);
            (
                (at as *const u64).read_unaligned(),
                ((at + 8) as *const i32).read_unaligned(),
                ((at + 12) as *const i32).read_unaligned(),
                ((at + 16) as *const i32).read_unaligned(),
                ((at + 16) as *const u64).read_unaligned(),
            )
        };
        let sent = Sent { number, code: libc::SI_TIMER, value };
        let target = match kind {
            libc::SIGEV_THREAD_ID => signals::thread_of_number(m, thread),
            _ => None,
        };
        notice = match kind {
            libc::SIGEV_NONE => Notice::None,
            libc::SIGEV_THREAD => Notice::Thread { function, value },
            _ if !signals::is_signal(number) => return fail_with_errno(libc::EINVAL),
            libc::SIGEV_SIGNAL => Notice::Signal { sent, target },
            libc::SIGEV_THREAD_ID if target.is_some() => Notice::Signal { sent, target },
            _ => return fail_with_errno(libc::EINVAL),
        };
    }
    m.check_sync(a.word(2), 8, true);
    m.timers.list.push(Timer::new(notice));
    // SAFETY: checked. `timer_t` is a pointer, which nobody looks behind.
    unsafe { (a.word(2) as *mut u64).write_unaligned(id) };
    OK
}

/// `timer_settime(id, flags, new, old)`.
fn set_time(m: &mut Machine, a: Args) -> Flow {
    let (Some(id), Some((interval, first))) = (m.timers.known(a.word(0)), m.timer_at(a.word(2), 1))
    else {
        return fail_with_errno(libc::EINVAL);
    };
    let absolute = a.int(1) & libc::TIMER_ABSTIME != 0;
    let before = m.set_timer(id, (first, absolute), interval, a.site());
    if a.word(3) != 0 {
        m.store_timer(a.word(3), before, 1);
    }
    OK
}
